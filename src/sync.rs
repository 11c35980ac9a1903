//! Where `order` and `run` take their atomics, fences, locks and parking from.
//!
//! In the library that is shipped these are the types of the standard library and
//! of parking_lot themselves: this file only gives them a second name. A build with
//! `--cfg loom` or `--cfg shuttle` puts the checkers' own in their place, so that
//! the model tests run the shipped code, line by line, under every schedule (loom)
//! or under many chosen ones (shuttle).
//!
//! - loom explores what the orderings of the code allow, stale reads included; it
//!   finds an ordering that is too weak. Small programs only.
//! - shuttle takes every access as sequentially consistent, and so goes as far as a
//!   small runtime with its workers; it finds interleavings that were overlooked.
//!
//! What neither replaces: `std::sync::Arc` (its counts order nothing that norn
//! relies on), crossbeam's deques (proven where they come from), statics that
//! outlive a model, and time.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use self::shipped::*;
#[cfg(any(loom, shuttle))]
pub(crate) use self::substituted::*;

#[cfg(all(loom, shuttle))]
compile_error!("a build is for loom or for shuttle, not for both");

#[cfg(not(any(loom, shuttle)))]
mod shipped {
    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
    pub(crate) use std::sync::atomic;
    pub(crate) mod thread {
        pub(crate) use std::thread::{Thread, current, park, park_timeout};
    }
    pub(crate) mod hint {
        pub(crate) use core::hint::spin_loop;
    }
}

/// The checkers' types behind the interface of parking_lot's.
#[cfg(any(loom, shuttle))]
mod substituted {
    use core::ops::{Deref, DerefMut};
    use std::sync::TryLockError;
    use std::time::{Duration, Instant};

    #[cfg(loom)]
    use loom as checker;
    #[cfg(shuttle)]
    use shuttle as checker;

    pub(crate) use checker::sync::atomic;

    pub(crate) mod thread {
        pub(crate) use super::checker::thread::{Thread, current, park};

        /// A timeout may end at any moment, so also at once.
        pub(crate) fn park_timeout(_: core::time::Duration) {
            super::checker::thread::yield_now();
        }
    }
    pub(crate) mod hint {
        pub(crate) use super::checker::hint::spin_loop;
    }

    #[derive(Default)]
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    /// Empty only inside a wait.
    pub(crate) struct MutexGuard<'a, T>(Option<checker::sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap()))
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(MutexGuard(Some(guard))),
                Err(TryLockError::WouldBlock) => None,
                Err(TryLockError::Poisoned(error)) => panic!("{error}"),
            }
        }

        /// As after a deadline that has passed.
        pub(crate) fn try_lock_until(&self, _: Instant) -> Option<MutexGuard<'_, T>> {
            self.try_lock()
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0.as_ref().unwrap()
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().unwrap()
        }
    }

    pub(crate) struct Condvar(checker::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(checker::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            guard.0 = guard.0.take().map(|guard| self.0.wait(guard).unwrap());
        }

        /// Ends by a notification only.
        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
            self.wait(guard);
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    pub(crate) struct RwLock<T>(checker::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> checker::sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap()
        }

        pub(crate) fn write(&self) -> checker::sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap()
        }
    }
}
