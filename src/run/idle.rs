//! How long the thread on duty sleeps between two passes when nothing comes: so long that looking costs at most the
//! given share of a core.
//!
//! What a look costs, with going to sleep and waking, is measured by the thread's own CPU clock and not assumed: it
//! differs by a factor of ten between machines. So is how much longer than asked for the time from look to look is: a sleep
//! ends late, by as much as it lasts on some machines, and what is not used then may be used by looking earlier. While it rests the thread asks the system for short sleeps to be kept to
//! the microsecond, and has its own setting back afterwards.

use core::cell::Cell;
use std::time::{Duration, Instant};

/// The sleep where no share is given, and the longest one.
const PLAIN: Duration = Duration::from_micros(100);
const LONGEST: Duration = Duration::from_millis(20);

/// What one look is taken to cost before it has been measured.
const FIRST_COST: Duration = Duration::from_micros(20);

/// A thread's budget for looking, while it has the duty.
#[derive(Default)]
pub(crate) struct Budget {
    /// CPU time of the thread at the last look of a rest, and when that was.
    seen: Option<(Duration, Instant)>,
    /// Mean cost of a look.
    cost: Option<Duration>,
    /// The last pause given, and by how much the time between two looks is longer in the mean.
    given: Cell<Duration>,
    beyond: Option<Duration>,
    /// The thread's own timer slack, to be restored.
    slack: Option<libc::c_int>,
}

impl Budget {
    /// How long to sleep before the next look. `share`: hundredths of a core; 0: none is given.
    pub(crate) fn pause(&self, share: u32) -> Duration {
        let pause = match share {
            0 => PLAIN,
            100.. => Duration::ZERO,
            share => {
                let cost = self.cost.unwrap_or(FIRST_COST);
                let beyond = self.beyond.unwrap_or(cost);
                // Not less than a look costs, or it would be no rest.
                let pause = (cost * 100 / share).saturating_sub(beyond).max(cost);
                pause.min(LONGEST)
            }
        };
        self.given.set(pause);
        pause
    }

    /// A look during a rest is over.
    pub(crate) fn looked(&mut self) {
        if self.slack.is_none() {
            self.slack = Some(own_slack());
            set_slack(1);
        }
        let (used, now) = (cpu_time(), Instant::now());
        if let Some((used_before, before)) = self.seen {
            let mean = |mean: Option<Duration>, new| mean.map_or(new, |mean| (mean * 7 + new) / 8);
            self.cost = Some(mean(self.cost, used.saturating_sub(used_before)));
            let beyond = (now - before).saturating_sub(self.given.get());
            self.beyond = Some(mean(self.beyond, beyond));
        }
        self.seen = Some((used, now));
    }

    /// Something has come: the next rest is measured anew.
    pub(crate) fn came(&mut self) {
        self.seen = None;
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        if let Some(slack) = self.slack {
            set_slack(slack);
        }
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec. It cannot fail for the own thread's clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn own_slack() -> libc::c_int {
    // SAFETY: takes no memory.
    unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }
}

fn set_slack(nanoseconds: libc::c_int) {
    // SAFETY: takes no memory; concerns this thread only.
    unsafe {
        libc::prctl(
            libc::PR_SET_TIMERSLACK,
            nanoseconds as libc::c_ulong,
            0,
            0,
            0,
        )
    };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_share_sleeps_longer_in_proportion() {
        let mut budget = Budget::default();
        budget.cost = Some(Duration::from_micros(10));
        assert_eq!(budget.pause(20), Duration::from_micros(40));
        assert_eq!(budget.pause(5), Duration::from_micros(190));
        assert_eq!(budget.pause(100), Duration::ZERO);
        assert_eq!(budget.pause(0), PLAIN);
        let mut dear = Budget::default();
        dear.cost = Some(Duration::from_secs(1));
        assert_eq!(dear.pause(1), LONGEST);
    }

    #[test]
    fn a_sleep_that_ends_late_is_made_shorter() {
        let late = |beyond| {
            let mut budget = Budget::default();
            budget.cost = Some(Duration::from_micros(10));
            budget.beyond = Some(Duration::from_micros(beyond));
            budget
        };
        assert_eq!(late(30).pause(20), Duration::from_micros(20));
        assert_eq!(late(30).pause(5), Duration::from_micros(170));
        // A pause it stays, however late sleeps end.
        assert_eq!(late(1000).pause(20), Duration::from_micros(10));
    }

    #[test]
    fn what_a_look_costs_and_how_late_it_comes_is_measured_within_a_rest() {
        let mut budget = Budget::default();
        budget.looked();
        assert!(budget.cost.is_none() && budget.beyond.is_none());
        std::thread::sleep(Duration::from_millis(2));
        budget.looked();
        // No pause was given: all of the time was beyond it, and more than the thread used of it.
        let (cost, beyond) = (budget.cost.unwrap(), budget.beyond.unwrap());
        assert!(beyond >= Duration::from_millis(2) && cost < beyond);
        budget.given.set(Duration::from_secs(3600));
        budget.looked();
        assert!(budget.beyond.unwrap() <= beyond * 7 / 8);
        // What comes between two rests is in neither.
        let of_rest = (budget.cost, budget.beyond);
        budget.came();
        budget.looked();
        assert_eq!((budget.cost, budget.beyond), of_rest);
    }

    #[test]
    fn the_threads_own_slack_comes_back() {
        let before = own_slack();
        let mut budget = Budget::default();
        budget.looked();
        assert_eq!(own_slack(), 1);
        budget.looked();
        drop(budget);
        assert_eq!(own_slack(), before);
        assert_ne!(before, 1, "the test shows nothing");
    }
}
