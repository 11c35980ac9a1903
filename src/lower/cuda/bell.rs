//! The bell: how a device wakes norn when nobody polls it.
//!
//! A host function behind the work on a stream rings it. The driver runs that on a thread of its own, where no call of the
//! driver is allowed and no lock may be taken that is held during one. So ringing sets a flag and offers the duty, whose
//! locks are never held around a driver call; completions are found by the pass that follows.

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::run::runtime::Runtime;
use crate::sync::mutant;

/// See the module's text.
pub(crate) struct Bell {
    rung: AtomicBool,
    /// None once the runtime closes: a host function may come later than the completion it was for.
    runtime: Mutex<Option<&'static Runtime>>,
}

impl Bell {
    pub(crate) fn new(runtime: &'static Runtime) -> Arc<Self> {
        Arc::new(Self {
            rung: AtomicBool::new(false),
            runtime: Mutex::new(Some(runtime)),
        })
    }

    /// Argument of one host function, to be given to `ring_from_device`.
    pub(crate) fn argument(self: &Arc<Self>) -> *mut c_void {
        Arc::into_raw(self.clone()).cast_mut().cast()
    }

    /// Whether it was rung since it was last silenced.
    pub(crate) fn is_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst)
    }

    /// Silences it, before a look for what it rang for.
    pub(crate) fn silence(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }

    /// Something has come that a pass will find.
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        if let Some(runtime) = *self.runtime.lock() {
            runtime.offer_duty();
        }
    }

    /// No more offers: the runtime closes.
    pub(crate) fn unhang(&self) {
        *self.runtime.lock() = None;
    }
}

/// The host function.
///
/// # Safety
/// `argument` is one of `Bell::argument`, and is given once.
pub(crate) unsafe extern "C" fn ring_from_device(argument: *mut c_void) {
    // SAFETY: from `argument`, which the caller promises.
    let bell: Arc<Bell> = unsafe { Arc::from_raw(argument.cast()) };
    if mutant!("callback_calls_driver")
        && let Ok(driver) = super::driver::Driver::get()
    {
        // SAFETY: it is not, here; that is the defect.
        let _ = unsafe { driver.stream_query(super::driver::LEGACY_STREAM as *mut _) };
    }
    bell.ring();
}

/// Takes an argument back that no host function was given.
///
/// # Safety
/// `argument` is one of `Bell::argument`, and is taken back once.
pub(crate) unsafe fn take_back(argument: *mut c_void) {
    // SAFETY: from `argument`, which the caller promises.
    drop(unsafe { Arc::<Bell>::from_raw(argument.cast()) });
}
