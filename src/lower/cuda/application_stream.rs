//! Streams that the application owns: tokens from what it has queued there, and waits of what it queues later.

use core::ffi::c_void;
use std::time::Duration;

use super::Cuda;
use super::event::Recorded;
use super::operation::Work;
use super::queues::Discipline;
use super::which_device::check_stream;
use crate::abi::status::NORN_E_TIMEOUT;
use crate::abi::types::{norn_place, norn_task, norn_token};
use crate::error::{Error, Result};
use crate::run::runtime::Runtime;
use crate::run::wait::timed_out;

/// How long a wait whose time is over is still left for the next pass, where that is all it needs: else a thread that asks
/// again and again without a limit would take each of them back before one is made.
const LAST_PASS: Duration = Duration::from_millis(1);

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
            events.discard_left(&device);
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
        // What is refused leaves its event with the device.
        let recorded = Recorded::new(event, &device);
        let operation = self.operation(device.number, Work::Recorded(recorded), stream, false);
        runtime.submit_operation(&no_wishes(), &[], &[], operation)
    }

    /// `norn_stream_wait`: later work on the stream waits for the token. An error leaves nothing behind that could still use
    /// the stream, which the application may destroy then.
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
        runtime.refuse_in_callback()?;
        if timeout_ns == 0 {
            runtime.progress_once();
            if !self.can_be_told_of(runtime, token) {
                return Err(timed_out());
            }
        }
        let operation = self.operation(device.number, Work::Wait, stream, true);
        let waits = runtime.submit_operation(&no_wishes(), &[], &[token], operation)?;
        let mut waited = runtime.wait(waits, timeout_ns);
        if waited
            .as_ref()
            .is_err_and(|error| error.status() == NORN_E_TIMEOUT)
            && self.can_be_told_of(runtime, token)
        {
            waited = runtime.wait(waits, LAST_PASS.as_nanos() as i64);
        }
        match waited {
            Err(error) if runtime.take_back(waits) => Err(error),
            Err(_) => runtime.wait(waits, 0),
            Ok(()) => Ok(()),
        }
    }

    /// Whether a pass is all that a stream's wait for the token still needs.
    fn can_be_told_of(&self, runtime: &Runtime, token: norn_token) -> bool {
        match self.discipline {
            Discipline::Leased => runtime.is_issued_or_complete(token),
            _ => runtime.test(token).unwrap_or(true),
        }
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
