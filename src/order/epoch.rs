//! Epochs: the members of one reader, COMMUTE or REDUCE run of a timeline, as
//! one counter.
//!
//! # Protocol
//!
//! Members are counted by the timeline (plainly, under the placing lock), not
//! here. A member that ends subtracts 1 from `remaining`, which therefore runs
//! below zero while the epoch is open. Closing stores the one waiter and then
//! adds the number of members. `remaining` can be zero only after the closing
//! addition, and exactly one operation brings it there: either the addition
//! itself (all members had ended) or the last member's subtraction. That one
//! satisfies the waiter and frees the epoch. Both are acquire-release, so the
//! waiter sees what every member did, and the last member sees the waiter.

use crate::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use super::slab::Vacant;
use crate::sync::mutant;

/// See the module's text. A cache line each: its members end on other cores than the one that closes it, and
/// neighbours are in use at the same time.
#[repr(align(64))]
#[derive(Default)]
pub(crate) struct Epoch {
    remaining: AtomicI64,
    waiter: AtomicU32,
    cause: AtomicU32,
}

// SAFETY: all fields are atomics, for which zero is valid.
unsafe impl Vacant for Epoch {}

/// What an epoch's end brings.
pub(crate) struct Drained {
    /// Node that waited for it.
    pub(crate) waiter: u32,
    /// First failure among members that matters to those after them, 0 if none.
    pub(crate) cause: u32,
}

impl Epoch {
    /// Makes a free epoch ready for use.
    pub(crate) fn reset(&self) {
        self.remaining.store(0, Ordering::Relaxed);
        self.waiter.store(0, Ordering::Relaxed);
        self.cause.store(0, Ordering::Relaxed);
    }

    /// A member has ended. `cause`: its failure, if those behind must know, else 0.
    #[inline(always)]
    pub(crate) fn leave(&self, cause: u32) -> Option<Drained> {
        if cause != 0 {
            let _ = self
                .cause
                .compare_exchange(0, cause, Ordering::Relaxed, Ordering::Relaxed);
        }
        let order = if mutant!("unordered_epoch") {
            Ordering::Relaxed
        } else {
            Ordering::AcqRel
        };
        if self.remaining.fetch_sub(1, order) != 1 {
            return None;
        }
        Some(self.drained())
    }

    /// No more members; `waiter` waits for the `members` there are. Returns the end if it is now.
    #[inline(always)]
    pub(crate) fn close(&self, members: u64, waiter: u32) -> Option<Drained> {
        self.waiter.store(waiter, Ordering::Relaxed);
        let members = members as i64;
        if self.remaining.fetch_add(members, Ordering::AcqRel) != -members {
            return None;
        }
        Some(self.drained())
    }

    /// Whether all of `members` have ended while the epoch is still open.
    pub(crate) fn all_left(&self, members: u64) -> bool {
        self.remaining.load(Ordering::Acquire) == -(members as i64)
    }

    /// Node that waits for the epoch, 0 while it is open. For reports.
    pub(crate) fn waiter(&self) -> u32 {
        self.waiter.load(Ordering::Relaxed)
    }

    fn drained(&self) -> Drained {
        Drained {
            waiter: self.waiter.load(Ordering::Relaxed),
            cause: self.cause.load(Ordering::Relaxed),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_waiter_is_satisfied_once_whichever_comes_last() {
        for left_before_close in 0..=3 {
            let epoch = Epoch::default();
            for _ in 0..left_before_close {
                assert!(epoch.leave(0).is_none());
            }
            let mut ends = usize::from(epoch.close(3, 9).is_some());
            for _ in left_before_close..3 {
                ends += usize::from(epoch.leave(0).is_some_and(|end| end.waiter == 9));
            }
            assert_eq!(ends, 1);
        }
    }

    #[test]
    fn the_first_cause_stays() {
        let epoch = Epoch::default();
        assert!(epoch.leave(4).is_none());
        assert!(epoch.leave(5).is_none());
        assert_eq!(epoch.close(2, 1).map(|end| end.cause), Some(4));
    }
}
