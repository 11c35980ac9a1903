//! Panics on demand, for the tests of what norn does after a defect of its own (`tests/panics`). Only in a build
//! with `--cfg norn_forced_panic`; in any other, `plant!` is nothing and this module is empty.

/// A point at which a test may plant a panic.
#[cfg(norn_forced_panic)]
macro_rules! plant {
    ($point:literal) => {
        crate::planted::reached($point)
    };
}
#[cfg(not(norn_forced_panic))]
macro_rules! plant {
    ($point:literal) => {};
}

#[cfg(norn_forced_panic)]
pub use forced::*;

#[cfg(norn_forced_panic)]
#[allow(missing_docs)] // no part of the library
mod forced {
    use core::ffi::{CStr, c_char};
    use std::sync::atomic::{AtomicU64, Ordering};

    use parking_lot::Mutex;

    /// The point, and how often it is still to be passed, the panic included. 0: no more.
    static PLANTED: Mutex<(String, u64)> = Mutex::new((String::new(), 0));
    static FIRED: AtomicU64 = AtomicU64::new(0);

    /// Plants one panic: when `point` is reached for the `nth` time from now on, by whichever thread.
    ///
    /// # Safety
    /// `point` is zero-terminated.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn plant_panic(point: *const c_char, nth: u64) {
        // SAFETY: as promised.
        let point = unsafe { CStr::from_ptr(point) };
        *PLANTED.lock() = (point.to_string_lossy().into_owned(), nth);
    }

    /// How many planted panics there were.
    #[unsafe(no_mangle)]
    pub extern "C" fn planted_panics() -> u64 {
        FIRED.load(Ordering::SeqCst)
    }

    pub(crate) fn reached(point: &str) {
        {
            let mut planted = PLANTED.lock();
            if planted.1 == 0 || planted.0 != point {
                return;
            }
            planted.1 -= 1;
            if planted.1 > 0 {
                return;
            }
        }
        FIRED.fetch_add(1, Ordering::SeqCst);
        panic!("planted panic at {point}");
    }

    /// Points at both ends of an exported function: its name, and `name.end`.
    pub(crate) fn around<R, F: FnOnce() -> R>(body: F) -> impl FnOnce() -> R {
        move || {
            // norn::abi::token::norn_await::{{closure}}
            let name = core::any::type_name::<F>()
                .rsplit("::")
                .find(|part| part.starts_with("norn_"))
                .unwrap_or_default();
            reached(name);
            let result = body();
            reached(&format!("{name}.end"));
            result
        }
    }
}
