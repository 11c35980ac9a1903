//! A lane: what one thread at a time needs to change the graph without locks:
//! magazines of free slots, counters, and the lists of a ripple.

use crate::sync::atomic::{AtomicU64, Ordering};
use core::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::operation::Operation;
use super::slab::Magazine;
use super::wanted::Wanted;

/// How a node ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// It succeeded.
    Success,
    /// It is a first cause with this number.
    Failed(u32),
    /// It failed because of this cause.
    Propagated(u32),
}

impl Ending {
    /// Number of the cause, 0 for success.
    #[inline(always)]
    pub(crate) fn cause(self) -> u32 {
        match self {
            Ending::Success => 0,
            Ending::Failed(cause) | Ending::Propagated(cause) => cause,
        }
    }
}

/// The consequences of an operation that are still to be drawn. Lists, not recursion: a chain of any
/// length uses no stack.
#[derive(Default)]
pub(crate) struct Ripple {
    /// Nodes whose last predecessor was satisfied.
    pub(crate) arrivals: Vec<u32>,
    /// Nodes to complete.
    pub(crate) endings: Vec<(u32, Ending)>,
    /// Tasks that may run: the result, for the scheduler.
    pub(crate) runnable: Vec<u32>,
    /// First causes found meanwhile, for the failure policy.
    pub(crate) new_causes: Vec<u32>,
}

impl Ripple {
    /// Whether nothing is left to be done.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.arrivals.len() + self.endings.len() + self.runnable.len() + self.new_causes.len() == 0
    }
}

/// Counters of one lane. Written by the lane's thread alone, several times a task, and read by anybody; so they share
/// no cache line with another lane's.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Counters {
    /// Tasks submitted, by parity of the drain phase.
    pub(crate) submitted: [AtomicU64; 2],
    /// Tasks completed, by the phase they were submitted in. Counted before the token shows complete, so that
    /// whoever has seen it complete finds it counted.
    pub(crate) completed: [AtomicU64; 2],
    /// Odd while the lane's thread changes the graph. A drain that has found all tasks counted lets the changes
    /// in progress end, and so finds their tokens complete too.
    pub(crate) changes: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) propagated: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) edges: AtomicU64,
    pub(crate) steals: AtomicU64,
    pub(crate) sampled_bodies: AtomicU64,
    pub(crate) sampled_body_ns: AtomicU64,
    pub(crate) sampled_wait_ns: AtomicU64,
}

/// Adds to a counter that only this thread writes: a load and a store, no locked instruction.
#[inline(always)]
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Release);
}

/// See the module's text. Shares no cache line with another.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Lane {
    pub(crate) nodes: Magazine,
    pub(crate) links: Magazine,
    pub(crate) epochs: Magazine,
    pub(crate) annexes: Magazine,
    pub(crate) ripple: Ripple,
    pub(crate) counters: Arc<Counters>,
    /// Accesses of the task being submitted, merged and resolved.
    pub(crate) wanted: Vec<Wanted>,
    /// What makes the task being submitted an operation.
    pub(crate) operation: Option<Arc<dyn Operation>>,
    /// Unwritten data whose first writer is found already: an earlier task of the batch that is being checked.
    pub(crate) first_written: HashSet<u32>,
    /// In use by a call of its thread; a call from inside that one takes another lane.
    pub(crate) busy: bool,
    /// Index of this lane for the statistics; -1 for lanes of application threads.
    pub(crate) worker: i32,
    /// Bodies run, to sample one in 64.
    pub(crate) bodies: u32,
    /// How long the bodies take that this worker runs, of those that are sampled; none before the first.
    pub(crate) body_time: Cell<Option<Duration>>,
    /// When the worker last left a search, and how often in a row it was back soon.
    pub(crate) left_search: Cell<Option<Instant>>,
    pub(crate) short_runs: Cell<u32>,
    /// Takes a few tasks from others the next time, although it was back soon.
    pub(crate) takes_few: Cell<bool>,
    /// Times tasks were made runnable, to sample one in 64.
    pub(crate) schedules: u32,
    /// Tasks that its thread may submit before it looks at `max_live_tasks` again.
    pub(crate) headroom: u64,
}
