//! The context of a device on the calling thread: made current for a while, and the thread's own put back.

use cudarc::driver::sys::CUcontext;

use super::driver::{Driver, Refused};

/// A device's primary context, which the runtime API, cuBLAS and the application's own code share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context(pub(crate) CUcontext);

// SAFETY: the driver lets any thread use a context; the pointer is only handed to it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// The context is current on this thread while this lives; then the one before is again.
pub(crate) struct Entered {
    driver: &'static Driver,
    context: Context,
    before: CUcontext,
}

impl Context {
    /// Makes the context current on this thread.
    pub(crate) fn enter(self, driver: &'static Driver) -> Result<Entered, Refused> {
        let mut before = core::ptr::null_mut();
        // SAFETY: writes the thread's current context, NULL if it has none.
        unsafe { driver.context_get_current(&mut before) }?;
        if before != self.0 {
            // SAFETY: a context that its device retains.
            unsafe { driver.context_set_current(self.0) }?;
        }
        Ok(Entered {
            driver,
            context: self,
            before,
        })
    }
}

impl Entered {
    /// Makes the context current again after code of the application's has run.
    pub(crate) fn again(&self) -> Result<(), Refused> {
        let mut now = core::ptr::null_mut();
        // SAFETY: writes the thread's current context.
        unsafe { self.driver.context_get_current(&mut now) }?;
        if now == self.context.0 {
            return Ok(());
        }
        // SAFETY: a context that its device retains.
        unsafe { self.driver.context_set_current(self.context.0) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.before != self.context.0 {
            // A context that has failed refuses this too; then there is nothing to put back.
            // SAFETY: what was current before, or NULL, which leaves the thread without one.
            let _ = unsafe { self.driver.context_set_current(self.before) };
        }
    }
}
