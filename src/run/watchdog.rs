//! The watchdog: says so when nothing has completed for long although work is pending and no body runs.
//!
//! It looks several times in the time given, so that time in which nothing was pending does not count: what is submitted just
//! before a look is not late by all that went before it.

use std::time::Duration;

use super::runtime::Runtime;
use super::thread::spawn;
use crate::error::Result;
use crate::order::node::{flag, kind};

/// Looks in the time after which it speaks: it may speak late by one of these parts.
const LOOKS: u32 = 8;

/// What the watchdog has seen, look after look.
#[derive(Default)]
struct Silence {
    /// Tasks completed at the last look.
    completed: u64,
    /// Whether anything was pending then.
    pending: bool,
    /// Looks without a break between each and the one before.
    looks: u32,
    reported: bool,
}

impl Silence {
    /// A look. Whether something has been pending and nothing has completed for all the time, and nobody was told yet.
    fn look(&mut self, completed: u64, pending: bool) -> bool {
        let lasts = pending && self.pending && completed == self.completed;
        (self.completed, self.pending) = (completed, pending);
        if !lasts {
            self.is_broken();
            return false;
        }
        self.looks += 1;
        self.looks >= LOOKS && !self.reported
    }

    /// Something goes on after all.
    fn is_broken(&mut self) {
        self.looks = 0;
        self.reported = false;
    }
}

impl Runtime {
    /// Starts the thread that reports when nothing completes for long.
    pub(crate) fn start_watchdog(&self) -> Result<()> {
        let Some(period) = self.settings.watchdog else {
            return Ok(());
        };
        struct Carried(*const Runtime);
        // SAFETY: the runtime joins this thread before it is freed.
        unsafe impl Send for Carried {}
        impl Carried {
            fn get(&self) -> &Runtime {
                // SAFETY: as above.
                unsafe { &*self.0 }
            }
        }
        let carried = Carried(self);
        let spec = self.without_bodies("norn:dog".into());
        let thread = spawn(spec, move || carried.get().watch(period))?;
        *self.watchdog.lock() = Some(thread);
        Ok(())
    }

    /// Ends the watchdog.
    pub(crate) fn stop_watchdog(&self) {
        *self.watchdog_bell.0.lock() = true;
        self.watchdog_bell.1.notify_all();
        if let Some(thread) = self.watchdog.lock().take() {
            let _ = thread.join();
        }
    }

    /// The watchdog's life.
    fn watch(&self, period: Duration) {
        let mut silence = Silence::default();
        loop {
            {
                let mut stop = self.watchdog_bell.0.lock();
                if *stop {
                    return;
                }
                self.watchdog_bell.1.wait_for(&mut stop, period / LOOKS);
                if *stop {
                    return;
                }
            }
            let completed = self.completed_tasks();
            let pending = self.live_tasks() != 0 && !self.lowerings_are_left_alone();
            if !silence.look(completed, pending) {
                continue;
            }
            if self.runs_something() {
                silence.is_broken();
                continue;
            }
            silence.reported = true;
            self.graph().share();
            self.settings.hooks.log.warn(format_args!(
                "nothing has completed for {period:?} and nothing runs: {}{}",
                self.blocked_summary(),
                self.trouble_of_lowerings()
            ));
        }
    }

    /// Whether some body is running or about to (blocked ones do not count).
    fn runs_something(&self) -> bool {
        let graph = self.graph();
        graph.nodes.indices().any(|index| {
            let node = graph.nodes.get(index);
            let state = node.load_state();
            state & kind::MASK == kind::TASK
                && state & flag::STARTED != 0
                && state & (flag::BLOCKED | flag::ENDED | flag::CANCELLED) == 0
                // A message that is posted is what others have to do something about.
                && graph.operation_of(node).is_none()
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Looks until it speaks; none within three times as many as it takes.
    fn looks_until_it_speaks(silence: &mut Silence, completed: u64) -> Option<u32> {
        (1..=3 * LOOKS).find(|_| silence.look(completed, true))
    }

    #[test]
    fn time_in_which_nothing_was_pending_does_not_count() {
        let mut silence = Silence::default();
        for _ in 0..3 * LOOKS {
            assert!(!silence.look(5, false));
        }
        // The first finds that something is pending, and not since when.
        assert_eq!(looks_until_it_speaks(&mut silence, 5), Some(LOOKS + 1));
    }

    #[test]
    fn what_completes_breaks_the_silence() {
        let mut silence = Silence::default();
        for look in 0..3 * LOOKS {
            assert!(!silence.look(u64::from(look / (LOOKS - 1)), true));
        }
        silence.look(100, true);
        assert_eq!(looks_until_it_speaks(&mut silence, 100), Some(LOOKS));
    }

    #[test]
    fn it_speaks_once_and_again_after_something_has_gone_on() {
        let mut silence = Silence::default();
        silence.look(5, true);
        assert_eq!(looks_until_it_speaks(&mut silence, 5), Some(LOOKS));
        silence.reported = true;
        assert_eq!(looks_until_it_speaks(&mut silence, 5), None);
        silence.look(6, true);
        assert_eq!(looks_until_it_speaks(&mut silence, 6), Some(LOOKS));
    }

    #[test]
    fn a_body_that_runs_breaks_the_silence() {
        let mut silence = Silence::default();
        silence.look(5, true);
        assert_eq!(looks_until_it_speaks(&mut silence, 5), Some(LOOKS));
        silence.is_broken();
        assert_eq!(looks_until_it_speaks(&mut silence, 5), Some(LOOKS));
    }
}
