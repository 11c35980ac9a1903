//! Streams that the application owns: tokens from what it has queued there, and waits of what it queues later.

use core::ffi::c_void;

use super::operation::Work;
use super::{Cuda, check_stream};
use crate::abi::types::{norn_place, norn_task, norn_token};
use crate::error::{Error, Result};
use crate::run::runtime::Runtime;

impl Cuda {
    /// `norn_stream_record`: all work queued so far on the stream, as a token.
    pub(crate) fn record(
        &self,
        runtime: &Runtime,
        device: norn_place,
        stream: *mut c_void,
    ) -> Result<norn_token> {
        let device = self.device(device, "device")?;
        device.check_alive()?;
        let stream = named(stream)?;
        let mut under_way = self.under_way.lock();
        let events = &mut under_way.devices[device.number as usize].events;
        let recorded = device.enter().and_then(|_entered| {
            let event = events.take(self.driver)?;
            // SAFETY: an event of this device; the application promises that its stream is one.
            if let Err(refused) = unsafe { self.driver.event_record(event.0, stream as *mut _) } {
                events.give(event);
                return Err(refused);
            }
            Ok(event)
        });
        drop(under_way);
        let event = recorded.map_err(Error::from)?;
        let operation = self.operation(device.number, Work::Recorded(event), stream, false);
        let submitted = runtime.submit_operation(&no_wishes(), &[], &[], operation);
        if submitted.is_err()
            && let Ok(_entered) = device.enter()
        {
            let events = &mut self.under_way.lock().devices[device.number as usize].events;
            events.discard(self.driver, event);
        }
        submitted
    }

    /// `norn_stream_wait`: later work on the stream waits for the token.
    pub(crate) fn wait(
        &self,
        runtime: &Runtime,
        token: norn_token,
        device: norn_place,
        stream: *mut c_void,
        timeout_ns: i64,
    ) -> Result<()> {
        let device = self.device(device, "device")?;
        let stream = named(stream)?;
        if runtime.test(token)? {
            return runtime.wait(token, 0);
        }
        let operation = self.operation(device.number, Work::Wait, stream, true);
        let waits = runtime.submit_operation(&no_wishes(), &[], &[token], operation)?;
        runtime.wait(waits, timeout_ns)
    }
}

/// A stream that is given as such: NULL is the legacy default stream, as it is to the driver.
fn named(stream: *mut c_void) -> Result<usize> {
    let stream = match stream as usize {
        0 => super::driver::LEGACY_STREAM,
        stream => stream,
    };
    check_stream(stream)?;
    Ok(stream)
}

/// A description that asks for nothing.
fn no_wishes() -> norn_task {
    // SAFETY: all-zero bytes are the empty description, as the C API says.
    unsafe { core::mem::zeroed() }
}
