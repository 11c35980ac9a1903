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
//!
//! `mutant!("name")` marks a line that a planted defect changes. It is `false` in
//! every build for use; a model build asks the variable `NORN_MUTANT`, so that
//! `tests/models/run.sh` can show that each planted defect is caught. So does a build with `--cfg norn_mutants`, whose
//! defects are in the device lowering and are caught on the stand-in driver (`tests/cuda/mutants.sh`).

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
        pub(crate) use std::thread::{Thread, current, park, park_timeout, sleep, yield_now};
    }
    pub(crate) mod hint {
        pub(crate) use core::hint::spin_loop;
    }
    pub(crate) use std::thread_local;
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
        #[cfg(test)]
        pub(crate) use super::checker::thread::{JoinHandle, spawn};
        pub(crate) use super::checker::thread::{Thread, current, park, yield_now};

        /// A timeout may end at any moment, so also at once; a wake-up that has come before is used up all the same.
        pub(crate) fn park_timeout(_: core::time::Duration) {
            current().unpark();
            park();
            yield_now();
        }

        /// Takes no time, and no wake-up.
        pub(crate) fn sleep(_: core::time::Duration) {
            yield_now();
        }
    }
    pub(crate) mod hint {
        pub(crate) use super::checker::hint::spin_loop;
    }
    #[cfg(loom)] // no model for loom has threads of norn's own
    pub(crate) use std::thread_local;

    /// A checker's threads share a thread of the system, so what is local to a thread is the checker's too.
    #[cfg(shuttle)]
    macro_rules! local {
        ($($(#[$attribute:meta])* static $name:ident: $type:ty = const { $value:expr };)*) => {$(
            $(#[$attribute])*
            static $name: $crate::sync::Local<$type> = {
                shuttle::thread_local! { static INNER: $type = $value }
                $crate::sync::Local(&INNER)
            };
        )*};
    }
    #[cfg(shuttle)]
    pub(crate) use local as thread_local;

    #[cfg(shuttle)]
    pub(crate) struct Local<T: 'static>(pub(crate) &'static shuttle::thread::LocalKey<T>);

    #[cfg(shuttle)]
    impl<T: 'static> Local<T> {
        pub(crate) fn try_with<R>(
            &'static self,
            call: impl FnOnce(&T) -> R,
        ) -> Result<R, shuttle::thread::AccessError> {
            self.0.try_with(call)
        }
    }

    #[cfg(shuttle)]
    impl<T: Copy + 'static> Local<core::cell::Cell<T>> {
        pub(crate) fn get(&'static self) -> T {
            self.0.with(|cell| cell.get())
        }

        pub(crate) fn set(&'static self, value: T) {
            self.0.with(|cell| cell.set(value));
        }

        pub(crate) fn replace(&'static self, value: T) -> T {
            self.0.with(|cell| cell.replace(value))
        }
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

    impl<T: Default> Default for RwLock<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> checker::sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap()
        }

        pub(crate) fn try_read(&self) -> Option<checker::sync::RwLockReadGuard<'_, T>> {
            match self.0.try_read() {
                Ok(guard) => Some(guard),
                Err(TryLockError::WouldBlock) => None,
                Err(TryLockError::Poisoned(error)) => panic!("{error}"),
            }
        }

        pub(crate) fn write(&self) -> checker::sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap()
        }
    }
}

/// See the module's text.
#[cfg(not(any(loom, shuttle, norn_mutants)))]
macro_rules! mutant {
    ($name:literal) => {
        false
    };
}
#[cfg(any(loom, shuttle, norn_mutants))]
macro_rules! mutant {
    ($name:literal) => {
        $crate::sync::is_planted($name)
    };
}
pub(crate) use mutant;

#[cfg(any(loom, shuttle, norn_mutants))]
pub(crate) fn is_planted(name: &str) -> bool {
    static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    // The second name is for a build that opens runtimes, which refuse names of norn's that they do not know.
    let named = |name| std::env::var(name).ok();
    let planted = PLANTED.get_or_init(|| named("NORN_MUTANT").or_else(|| named("MUTANT_OF_NORN")));
    planted.as_deref() == Some(name)
}

/// Runs a model under every schedule with at most `preemptions` switches away from a thread that could go
/// on. Most defects of this kind need one or two, and the numbers of schedules grow too fast for more.
/// `NORN_MODEL_DEPTH` adds to the bound.
///
/// loom leaves out schedules that it takes to be the same as one seen. It remembers the last access to each
/// atomic only, so it sometimes leaves out too many; the models run with shuttle too for that reason.
#[cfg(all(test, loom))]
pub(crate) fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions + setting("NORN_MODEL_DEPTH", 0));
    builder.max_branches = 100_000;
    let schedules = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = schedules.clone();
    builder.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    println!("{schedules:?} schedules");
}

/// Runs a model under `NORN_MODEL_SCHEDULES` schedules from the seed `NORN_MODEL_SEED`: half of them keep to one
/// order of the threads and change it at a few chosen accesses, which finds what needs a thread to stop for
/// long, and most defects soon; the other half switch at any access.
#[cfg(all(test, shuttle))]
pub(crate) fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    let model = std::sync::Arc::new(model);
    let again = model.clone();
    let half = setting("NORN_MODEL_SCHEDULES", 1000) / 2;
    let seed = setting("NORN_MODEL_SEED", 1) as u64;
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 18;
    let few = PctScheduler::new_from_seed(seed, preemptions, half);
    shuttle::Runner::new(few, config.clone()).run(move || model());
    let anywhere = RandomScheduler::new_from_seed(seed, half);
    shuttle::Runner::new(anywhere, config).run(move || again());
}

#[cfg(all(test, any(loom, shuttle)))]
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Something that one thread at a time may write and that none may write while others read; the uses must be
/// ordered by something else.
#[cfg(all(test, loom))]
#[derive(Default)]
pub(crate) struct Exclusive(loom::cell::UnsafeCell<()>);

#[cfg(all(test, loom))]
impl Exclusive {
    pub(crate) fn read(&self) {
        self.0.with(|_| ());
    }

    pub(crate) fn write(&self) {
        self.0.with_mut(|_| ());
    }
}

// SAFETY: loom reports uses that are not ordered.
#[cfg(all(test, loom))]
unsafe impl Sync for Exclusive {}
// SAFETY: as above.
#[cfg(all(test, loom))]
unsafe impl Send for Exclusive {}

/// As above: the number of readers, or -1 for a writer. shuttle knows overlaps only.
#[cfg(all(test, shuttle))]
#[derive(Default)]
pub(crate) struct Exclusive(std::sync::atomic::AtomicIsize);

#[cfg(all(test, shuttle))]
impl Exclusive {
    pub(crate) fn read(&self) {
        let before = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert!(before >= 0, "a reader meets a writer");
        shuttle::thread::yield_now();
        self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn write(&self) {
        let before = self.0.swap(-1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(before, 0, "a writer meets another user");
        shuttle::thread::yield_now();
        self.0.store(0, std::sync::atomic::Ordering::Relaxed);
    }
}
