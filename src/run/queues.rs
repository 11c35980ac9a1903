//! The queues of runnable tasks.
//!
//! What becomes runnable inside a worker's bodies goes to its deque (last in, first
//! out: the data are still in its cache) and is stolen from the other end. What the
//! opener submits from outside while it holds a slot goes to a second deque of that
//! slot, first in, first out: pushing there takes no locked instruction, and thieves
//! take a whole batch with one. In a runtime with one slot both are plain rings (`own_queue`).
//! Everybody else submits to the injector. Tasks with a priority go to two heaps, one for
//! above and one for below normal, looked at through a counter that is read-mostly, so that
//! programs without priorities pay one load. Tasks with a place go to that place's queue.
//! One-thread modes use a single list instead of all of these.

use crate::sync::atomic::Ordering;
use core::cell::UnsafeCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::sync::Mutex;
use crossbeam_deque::{Injector, Steal, Stealer};
use crossbeam_utils::{Backoff, CachePadded};

use super::alerts::{Alerts, Watched};
use super::own_queue::OwnQueues;
use crate::order::lane::{Lane, count};

/// Once in so many tasks, a worker takes the oldest instead of the newest.
pub(crate) const FAIR_EVERY: u32 = 61;

/// A heap of tasks by priority, then age.
#[derive(Default)]
pub(crate) struct PriorityQueue {
    size: Watched,
    heap: Mutex<Heap>,
}

#[derive(Default)]
struct Heap {
    /// Tasks pushed so far.
    age: u64,
    entries: BinaryHeap<(i16, Reverse<u64>, u32)>,
}

impl PriorityQueue {
    fn new(alerts: &Alerts) -> Self {
        Self {
            size: Watched::new(alerts),
            heap: Mutex::default(),
        }
    }

    fn push(&self, priority: i16, node: u32) {
        let mut heap = self.heap.lock();
        heap.age += 1;
        let age = heap.age;
        heap.entries.push((priority, Reverse(age), node));
        self.size.set(heap.entries.len());
    }

    #[inline(always)]
    fn pop(&self) -> Option<u32> {
        if self.size.get(Ordering::Relaxed) == 0 {
            return None;
        }
        self.pop_locked()
    }

    fn pop_locked(&self) -> Option<u32> {
        let mut heap = self.heap.lock();
        let popped = heap.entries.pop();
        self.size.set(heap.entries.len());
        popped.map(|(_, _, node)| node)
    }

    fn is_empty(&self) -> bool {
        self.size.get(Ordering::SeqCst) == 0
    }
}

/// A first-in first-out queue for one place.
#[derive(Default)]
pub(crate) struct PlaceQueue {
    size: Watched,
    queue: Mutex<VecDeque<u32>>,
}

impl PlaceQueue {
    fn new(alerts: &Alerts) -> Self {
        Self {
            size: Watched::new(alerts),
            queue: Mutex::default(),
        }
    }

    /// Adds a task.
    pub(crate) fn push(&self, node: u32) {
        let mut queue = self.queue.lock();
        queue.push_back(node);
        self.size.set(queue.len());
    }

    /// Takes the oldest.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<u32> {
        if self.size.get(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut queue = self.queue.lock();
        let popped = queue.pop_front();
        self.size.set(queue.len());
        popped
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.size.get(Ordering::SeqCst) == 0
    }
}

/// What belongs to one worker's place in the runtime, whichever thread sits there.
pub(crate) struct Slot {
    /// Used by the thread that sits here only.
    own: OwnQueues,
    /// Used by the sitting thread only.
    pub(crate) lane: UnsafeCell<*mut Lane>,
    pub(crate) here: PlaceQueue,
    /// That of the NUMA node that the slot is on, one of `Queues::nodes`.
    near: Arc<PlaceQueue>,
    victims: Vec<usize>,
}

// SAFETY: `own` and `lane` are used only by the thread that sits in the
// slot; the slot passes from thread to thread through locks.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

/// All queues of one runtime.
pub(crate) struct Queues {
    pub(crate) slots: Vec<CachePadded<Slot>>,
    stealers: Vec<Stealer<u32>>,
    submitted: Vec<Stealer<u32>>,
    injector: Injector<u32>,
    above: CachePadded<PriorityQueue>,
    below: CachePadded<PriorityQueue>,
    /// One queue for each NUMA node, by its number.
    pub(crate) nodes: Vec<(i32, Arc<PlaceQueue>)>,
    /// Tasks for the thread that opened the runtime. No alert: they concern one thread, which looks here by itself.
    pub(crate) opener: PlaceQueue,
}

impl Queues {
    /// Queues for slots with the given node numbers and steal orders. What comes before the slots' own tasks is an alert.
    pub(crate) fn new(
        places: Vec<(i32, Vec<usize>)>,
        node_numbers: Vec<i32>,
        alerts: &Alerts,
    ) -> Self {
        let mut stealers = Vec::new();
        let mut submitted_stealers = Vec::new();
        let mut slots = Vec::new();
        let alone = places.len() == 1;
        let nodes: Vec<(i32, Arc<PlaceQueue>)> = node_numbers
            .into_iter()
            .map(|number| (number, Arc::new(PlaceQueue::new(alerts))))
            .collect();
        for (node, victims) in places {
            let own = if alone {
                OwnQueues::alone()
            } else {
                let (own, others) = OwnQueues::shared();
                stealers.push(others.made);
                submitted_stealers.push(others.submitted);
                own
            };
            let near = nodes.iter().find(|(number, _)| *number == node);
            slots.push(CachePadded::new(Slot {
                own,
                lane: UnsafeCell::new(core::ptr::null_mut()),
                here: PlaceQueue::new(alerts),
                near: near.map_or_else(Arc::default, |(_, queue)| queue.clone()),
                victims,
            }));
        }
        Self {
            slots,
            stealers,
            submitted: submitted_stealers,
            injector: Injector::new(),
            above: CachePadded::new(PriorityQueue::new(alerts)),
            below: CachePadded::default(),
            nodes,
            opener: PlaceQueue::default(),
        }
    }

    /// The slot that a thread sits in (`seat`).
    #[inline(always)]
    pub(crate) fn slot(&self, slot: usize) -> &Slot {
        debug_assert!(slot < self.slots.len(), "there is no slot {slot}");
        // SAFETY: the number comes from the seat of a thread in this runtime, which has that slot. Every task passes here
        // several times, so it is not checked again.
        unsafe { self.slots.get_unchecked(slot) }
    }

    /// Adds a task without a place. `slot`: where the calling thread sits.
    #[inline(always)]
    pub(crate) fn push(&self, slot: Option<usize>, priority: i16, node: u32) {
        if priority != 0 {
            self.push_prioritised(priority, node);
            return;
        }
        match slot {
            Some(slot) => self.slot(slot).own.push_made(node),
            None => self.injector.push(node),
        }
    }

    /// Adds a task without place and priority that the thread which sits in `slot` has submitted outside of bodies. Whether
    /// others may take it.
    #[inline(always)]
    pub(crate) fn push_submitted(&self, slot: usize, node: u32) -> bool {
        self.slot(slot).own.push_submitted(node)
    }

    #[cold]
    fn push_prioritised(&self, priority: i16, node: u32) {
        if priority > 0 {
            self.above.push(priority, node);
        } else {
            self.below.push(priority, node);
        }
    }

    /// The next task for the thread that sits in `slot`, of those that need no steal.
    #[inline(always)]
    pub(crate) fn take_own(&self, slot: usize, lane: &Lane) -> Option<u32> {
        let own = self.slot(slot);
        if let Some(node) = self.above.pop() {
            return Some(node);
        }
        if let Some(node) = own.here.pop() {
            return Some(node);
        }
        if let Some(node) = own.near.pop() {
            return Some(node);
        }
        if lane.bodies.is_multiple_of(FAIR_EVERY)
            && let Some(node) = self.take_oldest(slot)
        {
            return Some(node);
        }
        self.take_from_own(own)
    }

    /// As `take_own`, where nothing comes before the slot's own tasks (`has_urgent_work`).
    #[inline(always)]
    pub(crate) fn take_from_own(&self, own: &Slot) -> Option<u32> {
        own.own.pop()
    }

    /// Whether something waits that comes before the own tasks of a worker that sits in `own`.
    pub(crate) fn has_urgent_work(&self, own: &Slot) -> bool {
        self.above.size.get(Ordering::Relaxed) != 0
            || own.here.size.get(Ordering::Relaxed) != 0
            || own.near.size.get(Ordering::Relaxed) != 0
    }

    /// What has waited longest: a task that keeps submitting its successor must not starve the others.
    #[cold]
    fn take_oldest(&self, slot: usize) -> Option<u32> {
        if let Steal::Success(node) = self.injector.steal() {
            return Some(node);
        }
        self.slots[slot].own.pop_oldest(self.stealers.get(slot))
    }

    /// Looks everywhere else.
    pub(crate) fn find(&self, slot: usize, lane: &Lane) -> Option<u32> {
        let own = &self.slots[slot];
        // Thieves that meet at one queue step back, each longer: a failed attempt too takes the cache line from the
        // owner, who needs it for each push.
        let backoff = Backoff::new();
        loop {
            let mut again = false;
            match own.own.take_from(&self.injector) {
                Steal::Success(node) => return Some(node),
                Steal::Retry => again = true,
                Steal::Empty => {}
            }
            for victim in &own.victims {
                for theirs in [&self.submitted[*victim], &self.stealers[*victim]] {
                    match own.own.steal_from(theirs) {
                        Steal::Success(node) => {
                            count(&lane.counters.steals, 1);
                            return Some(node);
                        }
                        Steal::Retry => again = true,
                        Steal::Empty => {}
                    }
                }
            }
            if !again {
                return self.below.pop();
            }
            backoff.spin();
        }
    }

    /// Whether the thread that sits in `slot` would find something. May say yes falsely, never no.
    pub(crate) fn has_work_for(&self, slot: usize) -> bool {
        self.has_placed_work(slot) || self.has_shared_work()
    }

    /// As `has_work_for`, but tasks in workers' queues count only where `enough` have gathered in one.
    pub(crate) fn has_much_work_for(&self, slot: usize, enough: usize) -> bool {
        let mut queues = self.stealers.iter().chain(&self.submitted);
        self.has_placed_work(slot)
            || self.has_work_of_nobody()
            || queues.any(|stealer| stealer.len() >= enough)
            || self.listed() != 0
    }

    /// Whether there is a task that any worker may take.
    pub(crate) fn has_shared_work(&self) -> bool {
        let mut queues = self.stealers.iter().chain(&self.submitted);
        self.has_work_of_nobody() || queues.any(|stealer| !stealer.is_empty()) || self.listed() != 0
    }

    /// Tasks in the rings of a slot that is the only one.
    fn listed(&self) -> usize {
        match &self.slots[..] {
            [only] => only.own.listed(),
            _ => 0,
        }
    }

    /// Whether there is a task for this slot or its NUMA node.
    fn has_placed_work(&self, slot: usize) -> bool {
        let own = &self.slots[slot];
        !own.here.is_empty() || !own.near.is_empty()
    }

    /// Whether there is a task that is in no worker's queue, for any of them.
    fn has_work_of_nobody(&self) -> bool {
        !self.above.is_empty() || !self.below.is_empty() || !self.injector.is_empty()
    }

    /// What is queued where, for reports.
    pub(crate) fn summary(&self) -> String {
        let here: usize = self
            .slots
            .iter()
            .map(|slot| slot.here.size.get(Ordering::Relaxed))
            .sum();
        let nodes: usize = self
            .nodes
            .iter()
            .map(|(_, queue)| queue.size.get(Ordering::Relaxed))
            .sum();
        let deques: usize = self
            .stealers
            .iter()
            .chain(&self.submitted)
            .map(Stealer::len)
            .sum::<usize>()
            + self.listed();
        format!(
            "{} with priority, {} in workers' queues, {} from outside, {} below, {} for the opener, {} for a place",
            self.above.size.get(Ordering::Relaxed),
            deques,
            self.injector.len(),
            self.below.size.get(Ordering::Relaxed),
            self.opener.size.get(Ordering::Relaxed),
            here + nodes
        )
    }

    /// Whether there is a task that some worker other than the one in `except` may take.
    pub(crate) fn has_work_for_workers(&self, except: Option<usize>) -> bool {
        self.has_shared_work()
            || self.nodes.iter().any(|(_, queue)| !queue.is_empty())
            || self
                .slots
                .iter()
                .enumerate()
                .any(|(index, slot)| Some(index) != except && !slot.here.is_empty())
    }

    /// Takes everything out, when the threads have ended.
    pub(crate) fn take_all(&self) -> Vec<u32> {
        let mut all: Vec<u32> = core::iter::from_fn(|| self.above.pop()).collect();
        all.extend(core::iter::from_fn(|| self.below.pop()));
        all.extend(core::iter::from_fn(|| self.opener.pop()));
        for (_, queue) in &self.nodes {
            all.extend(core::iter::from_fn(|| queue.pop()));
        }
        for slot in &self.slots {
            all.extend(core::iter::from_fn(|| slot.here.pop()));
        }
        if let [only] = &self.slots[..] {
            all.extend(core::iter::from_fn(|| only.own.pop()));
        }
        all.extend(core::iter::from_fn(|| steal_next(|| self.injector.steal())));
        for stealer in self.stealers.iter().chain(&self.submitted) {
            all.extend(core::iter::from_fn(|| steal_next(|| stealer.steal())));
        }
        all
    }

    /// Whether there is any task at all.
    pub(crate) fn has_any_work(&self) -> bool {
        self.has_work_for_workers(None) || !self.opener.is_empty()
    }
}

/// The next one; steals may ask to be tried again.
fn steal_next(steal: impl Fn() -> Steal<u32>) -> Option<u32> {
    loop {
        match steal() {
            Steal::Success(node) => return Some(node),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
