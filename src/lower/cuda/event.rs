//! Completion events: one an operation, pooled per device.
//!
//! An event goes back to the pool only when the recording it was taken for has been seen complete, so that a later
//! recording never moves what somebody still waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::sys::CUevent;

use super::device::Device;
use super::driver::{Driver, Refused};

/// Without times, which would make recording dearer.
const DISABLE_TIMING: u32 = 2;

/// An event of the driver's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event(pub(crate) CUevent);

// SAFETY: the driver lets any thread use an event; the pointer is only handed to it.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

/// An event that was recorded on a stream of the application's. Until a pass takes it over it is the operation's, which may
/// end without having met one: it was cancelled, say. Then it is left with the device, for whoever has its context.
pub(crate) struct Recorded {
    pub(crate) event: Event,
    device: Arc<Device>,
    taken: AtomicBool,
}

impl Recorded {
    pub(crate) fn new(event: Event, device: &Arc<Device>) -> Self {
        Self {
            event,
            device: device.clone(),
            taken: AtomicBool::new(false),
        }
    }

    /// The event, which is the caller's from now on; None: it was taken before.
    pub(crate) fn take(&self) -> Option<Event> {
        (!self.taken.swap(true, Ordering::AcqRel)).then_some(self.event)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Some(event) = self.take() {
            self.device.left_events.lock().push(event);
        }
    }
}

/// Events of one device that nobody uses. Its context is current where its methods are called.
#[derive(Default)]
pub(crate) struct EventPool {
    free: Vec<Event>,
    made: usize,
}

impl EventPool {
    /// An event that no recording is under way for.
    pub(crate) fn take(&mut self, driver: &Driver) -> Result<Event, Refused> {
        if let Some(event) = self.free.pop() {
            return Ok(event);
        }
        let mut event = core::ptr::null_mut();
        // SAFETY: writes the new event.
        unsafe { driver.event_create(&mut event, DISABLE_TIMING) }?;
        self.made += 1;
        Ok(Event(event))
    }

    /// Takes an event back whose recording has been seen complete, or which was never recorded.
    pub(crate) fn give(&mut self, event: Event) {
        self.free.push(event);
    }

    /// Destroys an event that goes to nobody else: its recording may be under way, or the driver refuses it. The driver keeps
    /// what it needs of it until then.
    pub(crate) fn discard(&mut self, driver: &Driver, event: Event) {
        // SAFETY: made by `take`, in nobody's use any more, destroyed once.
        let _ = unsafe { driver.event_destroy(event.0) };
        self.made -= 1;
    }

    /// Destroys the events that operations have left with their device.
    pub(crate) fn discard_left(&mut self, device: &Device) {
        let left = core::mem::take(&mut *device.left_events.lock());
        for event in left {
            self.discard(device.driver, event);
        }
    }

    /// Destroys all events, when the device closes.
    pub(crate) fn destroy(&mut self, driver: &Driver) {
        for event in self.free.drain(..) {
            // SAFETY: made by `take`, in nobody's use, destroyed once.
            let _ = unsafe { driver.event_destroy(event.0) };
            self.made -= 1;
        }
    }
}
