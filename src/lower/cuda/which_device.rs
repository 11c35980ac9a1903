//! Which open device is meant: by a place, by a stream of the application's, or by what describes an operation.

use std::sync::Arc;

use super::Cuda;
use super::device::Device;
use super::driver::PER_THREAD_STREAM;
use crate::abi::status::{NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};

impl Cuda {
    /// The open device of a place.
    pub(crate) fn device(&self, place: norn_place, name: &str) -> Result<Arc<Device>> {
        let devices = self.devices.read();
        let wanted = usize::try_from(place.index).ok();
        match wanted.and_then(|index| devices.get(index)) {
            Some(device) if place.kind == NORN_PLACE_DEVICE => Ok(device.clone()),
            _ => Err(Error::new(
                NORN_E_INVALID,
                format!(
                    "{name} {{{}, {}}} is no open device",
                    place.kind, place.index
                ),
            )),
        }
    }

    /// The only open device.
    pub(super) fn only_device(&self, name: &str) -> Result<Arc<Device>> {
        match &self.devices.read()[..] {
            [device] => Ok(device.clone()),
            [] => Err(Error::new(NORN_E_UNSUPPORTED, "no device is open")),
            several => Err(Error::new(
                NORN_E_INVALID,
                format!(
                    "{name}: {} devices are open, and none is named",
                    several.len()
                ),
            )),
        }
    }

    /// The device that an operation is for which is described by `how`: the one of its place, else that of its stream, else
    /// the one that `otherwise` gives. Place and stream name the same one where both are given.
    pub(super) fn device_for(
        &self,
        how: &norn_task,
        otherwise: impl FnOnce() -> Result<Arc<Device>>,
    ) -> Result<Arc<Device>> {
        match how.place.kind {
            NORN_PLACE_DEVICE if how.stream.is_null() => self.device(how.place, "place"),
            NORN_PLACE_DEVICE => {
                let device = self.device(how.place, "place")?;
                let own = || Ok(device.clone());
                let of_stream = self.device_of_stream(how.stream as usize, own)?;
                match of_stream.number == device.number {
                    true => Ok(device),
                    false => Err(Error::new(
                        NORN_E_INVALID,
                        format!(
                            "stream: it is of device {}, and place names device {}",
                            of_stream.number, device.number
                        ),
                    )),
                }
            }
            NORN_PLACE_ANY if !how.stream.is_null() => {
                self.device_of_stream(how.stream as usize, otherwise)
            }
            NORN_PLACE_ANY => otherwise(),
            kind => Err(Error::new(
                NORN_E_INVALID,
                format!("place.kind {kind} is no device"),
            )),
        }
    }

    fn device_of_stream(
        &self,
        stream: usize,
        otherwise: impl FnOnce() -> Result<Arc<Device>>,
    ) -> Result<Arc<Device>> {
        check_stream(stream)?;
        if stream <= PER_THREAD_STREAM {
            return otherwise();
        }
        let devices = self.devices.read();
        let mut context = core::ptr::null_mut();
        // The driver answers where some context is current, and the caller's thread need not have one. One that has
        // failed answers nothing.
        let alive = devices.iter().find(|device| device.check_alive().is_ok());
        if let Some(any) = alive.or(devices.first()) {
            any.enter()
                .and_then(|_entered| {
                    // SAFETY: the application promises that its stream is one; writes the stream's context.
                    unsafe {
                        self.driver
                            .stream_get_context(stream as *mut _, &mut context)
                    }
                })
                .map_err(Error::from)?;
        }
        let found = devices.iter().find(|device| device.context.0 == context);
        found.cloned().ok_or_else(|| {
            Error::new(
                NORN_E_INVALID,
                format!("stream {stream:#x} belongs to no open device's primary context"),
            )
        })
    }
}

/// Refuses streams that mean another one on every thread.
pub(super) fn check_stream(stream: usize) -> Result<()> {
    if stream == PER_THREAD_STREAM {
        return Err(Error::new(
            NORN_E_INVALID,
            "stream: the per-thread default stream is another one on each thread; name a stream, or the legacy default stream",
        ));
    }
    Ok(())
}
