//! How eagerly a worker that has run out of tasks takes those of others.
//!
//! A steal costs the owner of the queue more than a submission: lines of the queue and of the tasks travel. With small
//! bodies one submitter cannot keep many workers busy, and thieves that take each task as it comes slow it down until
//! that is all they do. So a worker whose bodies are small, and which was back soon, lets tasks gather: it
//! waits, twice as long each time in a row, and takes from a queue only what is worth its way, or what has stayed few
//! for long. Once its bodies are larger it looks at once again.
//!
//! Body times come from the sampled bodies (one in 64).

use std::time::{Duration, Instant};

use super::runtime::Runtime;
use crate::order::lane::Lane;
use crate::sync::atomic::Ordering;

/// Time that a submission costs, roughly, a share for the thieves' disturbance included. With `n` thieves and bodies
/// below `n` times that, one thread cannot keep all of them busy.
const SUBMISSION: Duration = Duration::from_nanos(128);

/// A worker that is back from its tasks sooner found few.
const SHORT_RUN: Duration = Duration::from_micros(20);

/// The first wait of a worker that was back soon, and how often it doubles.
const FIRST_WAIT: Duration = Duration::from_nanos(250);
const DOUBLINGS: u32 = 8;

/// The longest wait is this for each worker, so that all together look about as often, however many there are...
const LONGEST_WAIT: Duration = Duration::from_micros(2);

/// ...and less the longer the bodies are, in nanoseconds times nanoseconds: the fewer workers are too many.
const WAIT_TIMES_BODY: u64 = 400_000;

/// Waits until few are taken after all.
pub(crate) const PATIENCE: u32 = 4;

/// How often a worker looks while enough others search.
pub(crate) const SELDOM: Duration = Duration::from_micros(5);

/// Work in one queue that is worth a thief's way, who takes half of it; as many tasks at most.
const WORTH_A_STEAL: Duration = Duration::from_micros(4);
const MANY: u64 = 32;

impl Runtime {
    /// Whether this worker should let tasks gather before it takes some from others. Asked when it has run out.
    pub(crate) fn was_back_soon(&self, lane: &Lane) -> bool {
        let thieves = self.queues.slots.len() as u32 - 1;
        let small = lane
            .body_time
            .get()
            .is_some_and(|body| body < SUBMISSION * thieves);
        let runs = lane.short_runs.get();
        lane.short_runs.set(match lane.left_search.get() {
            _ if !small => 0,
            Some(left) if left.elapsed() < SHORT_RUN => (runs + 1).min(DOUBLINGS),
            _ => runs.saturating_sub(1),
        });
        lane.short_runs.get() != 0
    }

    /// How long a worker that was back soon leaves tasks to gather.
    pub(crate) fn gathering_time(&self, lane: &Lane) -> Duration {
        let workers = self.queues.slots.len() as u32;
        let longest = LONGEST_WAIT.min(Duration::from_nanos(WAIT_TIMES_BODY / body_ns(lane)));
        (FIRST_WAIT * (1 << lane.short_runs.get()) / 2).min(longest * workers)
    }

    /// Whether there is work that is worth the way of a worker that was back soon.
    pub(crate) fn has_much_work(&self, slot: usize, lane: &Lane) -> bool {
        let enough = (WORTH_A_STEAL.as_nanos() as u64 / body_ns(lane)).clamp(2, MANY);
        self.queues.has_much_work_for(slot, enough as usize)
    }

    /// Whether a worker that has run out may look into the others' queues, and not let tasks gather first.
    pub(crate) fn may_steal(&self, slot: usize, lane: &Lane) -> bool {
        lane.short_runs.get() == 0
            || lane.takes_few.replace(false)
            || self.has_much_work(slot, lane)
    }
}

fn body_ns(lane: &Lane) -> u64 {
    let body = lane.body_time.get().unwrap_or_default();
    (body.as_nanos() as u64).max(1)
}

/// Waits with the core in hand.
pub(crate) fn doze(runtime: &Runtime, time: Duration) {
    if cfg!(any(loom, shuttle)) {
        return crate::sync::hint::spin_loop();
    }
    let until = Instant::now() + time;
    while Instant::now() < until && !runtime.stopping.load(Ordering::Relaxed) {
        for _ in 0..8 {
            crate::sync::hint::spin_loop();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "pace_tests.rs"]
mod tests;
