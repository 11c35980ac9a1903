//! A queue of the thread that sits in a slot.
//!
//! Where there are other workers it is a deque that they steal from, and each task that its owner takes costs a locked
//! instruction, for the thief that may come. In a runtime with one slot none comes, and a plain list does.
//!
//! *Who may use the list:* the thread that sits in the slot; the slot passes from thread to thread through locks. Others
//! read its length only, which is written after each change as a deque's end is (release), so that what holds for a
//! deque between a push and a look at it holds here.

use core::cell::UnsafeCell;
use std::collections::VecDeque;

use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};

/// See the module's text.
pub(super) enum OwnQueue {
    Shared(Worker<u32>),
    Alone(List),
}

/// The queue of a slot that is the only one.
#[derive(Default)]
pub(super) struct List {
    tasks: UnsafeCell<VecDeque<u32>>,
    length: AtomicUsize,
    /// Which end its owner takes from.
    newest_first: bool,
}

impl OwnQueue {
    /// A queue from which its owner takes the newest or the oldest, and how others steal from it, if there are others.
    pub(super) fn new(newest_first: bool, alone: bool) -> (Self, Option<Stealer<u32>>) {
        if alone {
            let list = List {
                newest_first,
                ..List::default()
            };
            return (Self::Alone(list), None);
        }
        let deque = if newest_first {
            Worker::new_lifo()
        } else {
            Worker::new_fifo()
        };
        let stealer = deque.stealer();
        (Self::Shared(deque), Some(stealer))
    }

    /// Adds a task. By the owner.
    #[inline(always)]
    pub(super) fn push(&self, node: u32) {
        match self {
            Self::Shared(deque) => deque.push(node),
            Self::Alone(list) => list.change(|tasks| tasks.push_back(node)),
        }
    }

    /// Takes a task. By the owner.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<u32> {
        match self {
            Self::Shared(deque) => deque.pop(),
            Self::Alone(list) if list.length.load(Ordering::Relaxed) == 0 => None,
            Self::Alone(list) if list.newest_first => list.change(VecDeque::pop_back),
            Self::Alone(list) => list.change(VecDeque::pop_front),
        }
    }

    /// Takes the oldest task. By the owner; `stealer` is this queue's.
    pub(super) fn pop_oldest(&self, stealer: Option<&Stealer<u32>>) -> Option<u32> {
        match self {
            Self::Shared(_) => stealer?.steal().success(),
            Self::Alone(list) => list.change(VecDeque::pop_front),
        }
    }

    /// Takes a task from the injector, and more for later where that saves locked instructions. By the owner.
    pub(super) fn take_from(&self, injector: &Injector<u32>) -> Steal<u32> {
        match self {
            Self::Shared(deque) => injector.steal_batch_and_pop(deque),
            Self::Alone(_) => injector.steal(),
        }
    }

    /// Takes a task from another's queue, and more for later. By the owner.
    pub(super) fn steal_from(&self, theirs: &Stealer<u32>) -> Steal<u32> {
        match self {
            Self::Shared(deque) => theirs.steal_batch_and_pop(deque),
            Self::Alone(_) => Steal::Empty,
        }
    }

    /// Tasks in the list of a slot that is the only one. By anybody.
    pub(super) fn listed(&self) -> usize {
        match self {
            Self::Shared(_) => 0,
            Self::Alone(list) => {
                // As a thief's look at a deque.
                fence(Ordering::SeqCst);
                list.length.load(Ordering::Acquire)
            }
        }
    }
}

impl List {
    #[inline(always)]
    fn change<R>(&self, change: impl FnOnce(&mut VecDeque<u32>) -> R) -> R {
        // SAFETY: only the thread that sits in the slot comes here, and `change` calls nothing of norn's.
        let tasks = unsafe { &mut *self.tasks.get() };
        let result = change(tasks);
        self.length.store(tasks.len(), Ordering::Release);
        result
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_queue_gives_its_tasks_in_the_same_order_alone_and_shared() {
        for newest_first in [true, false] {
            let orders = [true, false].map(|alone| {
                let (queue, stealer) = OwnQueue::new(newest_first, alone);
                (1..=5).for_each(|node| queue.push(node));
                let oldest = queue.pop_oldest(stealer.as_ref());
                let rest: Vec<u32> = core::iter::from_fn(|| queue.pop()).collect();
                (oldest, rest)
            });
            assert_eq!(orders[0], orders[1]);
            assert_eq!(orders[0].0, Some(1));
        }
    }

    #[test]
    fn a_list_says_how_long_it_is_and_takes_from_the_injector() {
        let (queue, _) = OwnQueue::new(true, true);
        let injector = Injector::new();
        injector.push(7);
        assert_eq!(queue.take_from(&injector).success(), Some(7));
        assert_eq!(queue.listed(), 0);
        queue.push(8);
        assert_eq!(queue.listed(), 1);
        assert_eq!(queue.pop(), Some(8));
        assert_eq!(queue.pop(), None);
    }
}
