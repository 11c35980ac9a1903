//! The queues of the thread that sits in a slot: of tasks that its bodies made runnable, which it takes newest first, and
//! of tasks that it submitted outside of bodies, which it takes oldest first.
//!
//! Where there are other workers they are deques that these steal from, and each task that the owner takes costs a locked
//! instruction, for the thief that may come. In a runtime with one slot none comes, and plain rings do.
//!
//! *Who may use the ring:* the thread that sits in the slot; the slot passes from thread to thread through locks. Others
//! read its two ends only. They are written after each change as a deque's are (release), so that what holds for a
//! deque between a push and a look at it holds here. The older end never goes back and is read first, so that the
//! other, whenever it is read, is not before it: a look may find tasks that have gone, never miss one that is there.

use core::cell::UnsafeCell;

use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};

/// See the module's text.
pub(super) enum OwnQueues {
    Shared {
        made: Worker<u32>,
        submitted: Worker<u32>,
    },
    Alone {
        made: Ring,
        submitted: Ring,
    },
}

/// How others steal from a slot's queues.
pub(super) struct Stealers {
    pub(super) made: Stealer<u32>,
    pub(super) submitted: Stealer<u32>,
}

/// Places of a new ring.
const FEW: usize = 64;

/// A queue of a slot that is the only one. A task's number, counted from the first push on, says its place.
pub(super) struct Ring {
    /// A power of two of places.
    places: UnsafeCell<Box<[u32]>>,
    /// Number of the oldest task.
    oldest: AtomicUsize,
    /// Number of the next task.
    next: AtomicUsize,
}

impl OwnQueues {
    /// Queues of a slot that is the only one.
    pub(super) fn alone() -> Self {
        Self::Alone {
            made: Ring::new(),
            submitted: Ring::new(),
        }
    }

    /// Queues of one slot of several, and how others steal from them.
    pub(super) fn shared() -> (Self, Stealers) {
        let (made, submitted) = (Worker::new_lifo(), Worker::new_fifo());
        let stealers = Stealers {
            made: made.stealer(),
            submitted: submitted.stealer(),
        };
        (Self::Shared { made, submitted }, stealers)
    }

    /// Adds a task that a body has made runnable. By the owner, as all but the last.
    #[inline(always)]
    pub(super) fn push_made(&self, node: u32) {
        match self {
            Self::Shared { made, .. } => made.push(node),
            Self::Alone { made, .. } => made.push(node),
        }
    }

    /// Adds a task that was submitted outside of bodies. Whether others may take it.
    #[inline(always)]
    pub(super) fn push_submitted(&self, node: u32) -> bool {
        match self {
            Self::Shared { submitted, .. } => {
                submitted.push(node);
                true
            }
            Self::Alone { submitted, .. } => {
                submitted.push(node);
                false
            }
        }
    }

    /// Takes a task.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<u32> {
        match self {
            Self::Shared { made, submitted } => made.pop().or_else(|| submitted.pop()),
            Self::Alone { made, submitted } => made.pop_newest().or_else(|| submitted.pop_oldest()),
        }
    }

    /// Takes the oldest of the tasks that were submitted, or else of the others; `stealer` is that of the others.
    pub(super) fn pop_oldest(&self, stealer: Option<&Stealer<u32>>) -> Option<u32> {
        match self {
            Self::Shared { submitted, .. } => {
                submitted.pop().or_else(|| stealer?.steal().success())
            }
            Self::Alone { made, submitted } => submitted.pop_oldest().or_else(|| made.pop_oldest()),
        }
    }

    /// Takes a task from the injector, and more for later where that saves locked instructions.
    pub(super) fn take_from(&self, injector: &Injector<u32>) -> Steal<u32> {
        match self {
            Self::Shared { made, .. } => injector.steal_batch_and_pop(made),
            Self::Alone { .. } => injector.steal(),
        }
    }

    /// Takes a task from another's queue, and more for later.
    pub(super) fn steal_from(&self, theirs: &Stealer<u32>) -> Steal<u32> {
        match self {
            Self::Shared { made, .. } => theirs.steal_batch_and_pop(made),
            Self::Alone { .. } => Steal::Empty,
        }
    }

    /// Tasks in the rings of a slot that is the only one; may count some that have gone. By anybody.
    pub(super) fn listed(&self) -> usize {
        match self {
            Self::Shared { .. } => 0,
            Self::Alone { made, submitted } => {
                // As a thief's look at a deque.
                fence(Ordering::SeqCst);
                made.length() + submitted.length()
            }
        }
    }
}

impl Ring {
    fn new() -> Self {
        Self {
            places: UnsafeCell::new(vec![0; FEW].into_boxed_slice()),
            oldest: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
        }
    }

    /// The places. By the owner.
    #[inline(always)]
    fn places(&self) -> *mut [u32] {
        // SAFETY: only the thread that sits in the slot comes here, and nothing that it calls meanwhile does.
        unsafe { &raw mut **self.places.get() }
    }

    /// Where the task of a number lies. By the owner.
    #[inline(always)]
    fn place(&self, number: usize) -> *mut u32 {
        let places = self.places();
        let mask = places.len() - 1;
        // SAFETY: there is a power of two of places, so what the mask leaves is the number of one.
        unsafe { places.cast::<u32>().add(number & mask) }
    }

    #[inline(always)]
    fn push(&self, node: u32) {
        let next = self.next.load(Ordering::Relaxed);
        let oldest = self.oldest.load(Ordering::Relaxed);
        if next.wrapping_sub(oldest) == self.places().len() {
            self.grow(oldest, next);
        }
        // SAFETY: a place of the ring, which is free and the owner's.
        unsafe { self.place(next).write(node) };
        self.next.store(next.wrapping_add(1), Ordering::Release);
    }

    #[inline(always)]
    fn pop_oldest(&self) -> Option<u32> {
        let oldest = self.oldest.load(Ordering::Relaxed);
        if oldest == self.next.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: a place of the ring, which `push` has filled.
        let node = unsafe { self.place(oldest).read() };
        self.oldest.store(oldest.wrapping_add(1), Ordering::Release);
        Some(node)
    }

    #[inline(always)]
    fn pop_newest(&self) -> Option<u32> {
        let next = self.next.load(Ordering::Relaxed);
        if next == self.oldest.load(Ordering::Relaxed) {
            return None;
        }
        let newest = next.wrapping_sub(1);
        self.next.store(newest, Ordering::Release);
        // SAFETY: a place of the ring, which `push` has filled; only the owner fills it again.
        Some(unsafe { self.place(newest).read() })
    }

    /// How many tasks there are, by anybody; see the module's text.
    fn length(&self) -> usize {
        let oldest = self.oldest.load(Ordering::Acquire);
        self.next.load(Ordering::Acquire).wrapping_sub(oldest)
    }

    /// Makes twice as many places, for a ring that is full.
    #[cold]
    fn grow(&self, oldest: usize, next: usize) {
        // SAFETY: as in `place`.
        let places = unsafe { &mut *self.places.get() };
        let mut more = vec![0; 2 * places.len()].into_boxed_slice();
        let (few, many) = (places.len() - 1, more.len() - 1);
        let mut number = oldest;
        while number != next {
            more[number & many] = places[number & few];
            number = number.wrapping_add(1);
        }
        *places = more;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn taken(queues: &OwnQueues) -> Vec<u32> {
        core::iter::from_fn(|| queues.pop()).collect()
    }

    #[test]
    fn queues_give_their_tasks_in_the_same_order_alone_and_shared() {
        let (shared, stealers) = OwnQueues::shared();
        let orders =
            [(OwnQueues::alone(), None), (shared, Some(stealers))].map(|(queues, others)| {
                (1..=5).for_each(|node| queues.push_made(node));
                for node in 6..=9 {
                    queues.push_submitted(node);
                }
                let stealer = others.as_ref().map(|others| &others.made);
                let mut order = vec![queues.pop_oldest(stealer).unwrap()];
                order.extend(taken(&queues));
                queues.push_made(10);
                queues.push_made(11);
                order.extend(queues.pop_oldest(stealer));
                order
            });
        assert_eq!(orders[0], orders[1]);
        assert_eq!(orders[0], [6, 5, 4, 3, 2, 1, 7, 8, 9, 10]);
    }

    #[test]
    fn a_ring_that_is_full_grows_and_keeps_its_order() {
        let queues = OwnQueues::alone();
        // Begins in the middle, so that the tasks lie around the end of the ring.
        for node in 0..FEW as u32 / 2 {
            queues.push_submitted(node);
            queues.push_made(node);
            assert_eq!(queues.pop_oldest(None), Some(node));
            assert_eq!(queues.pop_oldest(None), Some(node));
        }
        let many = 3 * FEW as u32;
        for node in 0..many {
            queues.push_submitted(node);
        }
        assert_eq!(queues.listed(), many as usize);
        assert_eq!(taken(&queues), (0..many).collect::<Vec<u32>>());
        (0..many).for_each(|node| queues.push_made(node));
        assert_eq!(taken(&queues), (0..many).rev().collect::<Vec<u32>>());
        assert_eq!(queues.listed(), 0);
    }

    #[test]
    fn queues_say_how_long_they_are_and_take_from_the_injector() {
        let queues = OwnQueues::alone();
        let injector = Injector::new();
        injector.push(7);
        assert_eq!(queues.take_from(&injector).success(), Some(7));
        assert_eq!(queues.listed(), 0);
        queues.push_made(8);
        queues.push_submitted(9);
        assert_eq!(queues.listed(), 2);
        assert_eq!(taken(&queues), [8, 9]);
    }
}
