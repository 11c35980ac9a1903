//! Epochs: the members of one reader, COMMUTE or REDUCE run of a timeline, as
//! one counter.
//!
//! # Protocol
//!
//! Members are counted by the timeline (plainly, under the placing lock), not
//! here. The word `counts` holds two counters, each of which runs below zero while the epoch is open: members that have
//! not *ended* (low half) and members that are not *issued* (high half, see `issue`). A member that ends subtracts 1 from
//! both; one that is issued first subtracts 1 from the high half then and from the low half when it ends.
//!
//! Closing stores the one waiter and then adds the number of members to both. A half can be zero only after the
//! closing addition, and exactly one operation brings it there: either the addition itself or the last member's
//! subtraction. All are acquire-release, so the waiter sees what every member did, and the last member sees the waiter.
//!
//! - An ordinary waiter waits for the low half. Whoever brings that to zero satisfies it and frees the epoch.
//! - A waiter that joins at issue waits for the high half. Whoever brings that to zero hands it the members that were
//!   issued and have not ended (`notes`, each entered before its subtraction) and satisfies it. The closing
//!   addition gives such an epoch one member more in the low half, which whoever does this takes off afterwards: so
//!   the epoch is not freed under its hands. Whoever brings the low half to zero only frees it.

use crate::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, Ordering};

use smallvec::SmallVec;

use super::slab::{Vacant, prefetch_lines};
use super::sole::{Shared, Words};
use super::token::Token;
use crate::sync::mutant;

/// A member in the low half of the word.
const ENDED: i64 = 1;
/// A member in the high half.
const ISSUED: i64 = 1 << 32;

/// Most members of one epoch, so that neither half overflows into the other.
pub(crate) const MOST_MEMBERS: u64 = 1 << 30;

/// Notes after which those of members that have ended are looked for the first time.
const FEW_NOTES: usize = 64;

/// The members of an epoch that were issued; those of most epochs lie in one cache line with the lock.
pub(crate) type Members = SmallVec<[Token; 4]>;

/// Members that were issued, and how many there may be before the ended ones are taken out.
#[repr(align(64))]
struct Notes {
    list: parking_lot::Mutex<(Members, usize)>,
}

/// See the module's text. Half a cache line: its members end on other cores than the one that closes it, so slots that
/// are taken one after the other are not neighbours (`Slab::refill`).
#[repr(align(32))]
#[derive(Default)]
pub(crate) struct Epoch {
    counts: AtomicI64,
    waiter: AtomicU32,
    cause: AtomicU32,
    /// Made by the first member that enters something, before its subtraction, and kept for those of later epochs.
    notes: AtomicPtr<Notes>,
    /// 1: the waiter joins at issue.
    at_issue: AtomicU32,
    /// 1: something was entered into the notes, and not taken out.
    noted: AtomicU32,
}

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<Epoch>() == 32);

// SAFETY: zero is valid for the atomics. A slab goes with its process, and the notes with it.
unsafe impl Vacant for Epoch {}

/// What a step of an epoch has brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Step {
    /// The waiter is satisfied: all members have ended, or are issued where it joins at issue.
    pub(crate) satisfied: bool,
    /// The epoch is over and is to be freed, after its waiter has been told.
    pub(crate) over: bool,
}

impl Step {
    /// The last member has ended, and the waiter is an ordinary one.
    const LAST: Step = Step {
        satisfied: true,
        over: true,
    };
}

/// The two halves of the word: not issued, not ended.
fn halves(counts: i64) -> (i32, i32) {
    let not_ended = counts as i32;
    (((counts - i64::from(not_ended)) >> 32) as i32, not_ended)
}

impl Epoch {
    /// Makes a free epoch ready for use.
    #[inline(always)]
    pub(crate) fn reset(&self) {
        self.counts.store(0, Ordering::Relaxed);
        self.waiter.store(0, Ordering::Relaxed);
        self.cause.store(0, Ordering::Relaxed);
        self.at_issue.store(0, Ordering::Relaxed);
        if self.noted.load(Ordering::Relaxed) != 0 {
            // An ordinary waiter had no use for them.
            drop(self.take_notes());
        }
    }

    /// The notes, if any were ever made.
    fn known_notes(&self) -> Option<&Notes> {
        // SAFETY: made by `Box::into_raw` in `entered_notes`, and freed with the epoch.
        unsafe { self.notes.load(Ordering::Acquire).as_ref() }
    }

    /// The notes, made by whoever needs them first.
    fn entered_notes(&self) -> &Notes {
        let mut notes = self.notes.load(Ordering::Acquire);
        if notes.is_null() {
            let new = Box::into_raw(Box::new(Notes {
                list: parking_lot::Mutex::new((Members::new(), FEW_NOTES)),
            }));
            notes = match self.notes.compare_exchange(
                core::ptr::null_mut(),
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => new,
                Err(theirs) => {
                    // SAFETY: made just above and shown to nobody.
                    drop(unsafe { Box::from_raw(new) });
                    theirs
                }
            };
        }
        // SAFETY: made as above, and freed with the epoch.
        unsafe { &*notes }
    }

    /// A member has ended, and was not issued before. `cause`: its failure, if those behind must know, else 0.
    #[inline(always)]
    pub(crate) fn leave(&self, words: impl Words, cause: u32) -> Step {
        self.note_cause(cause);
        let now = self.subtract(words, ISSUED + ENDED);
        if now as i32 == 0 {
            // A waiter that joins at issue is told after this member, at the earliest, and until then it keeps the low
            // half above zero: this one is ordinary.
            return Step::LAST;
        }
        let high = now >> 32;
        if high == 0 || high == -1 {
            // The high half is zero, or below it and one too low because the low half is below zero.
            return self.step(now, true, true);
        }
        Step::default()
    }

    /// A member that was issued has ended.
    pub(crate) fn leave_issued(&self, cause: u32) -> Step {
        self.note_cause(cause);
        let now = self.subtract(Shared, ENDED);
        self.step(now, false, true)
    }

    /// A member was issued. `is_complete`: to forget members that have ended meanwhile.
    pub(crate) fn issue(&self, member: Token, is_complete: impl Fn(Token) -> bool) -> Step {
        {
            let mut notes = self.entered_notes().list.lock();
            let (tokens, limit) = &mut *notes;
            if tokens.len() >= *limit {
                tokens.retain(|token| !is_complete(*token));
                *limit = (2 * tokens.len()).max(FEW_NOTES);
            }
            tokens.push(member);
            self.noted.store(1, Ordering::Relaxed);
        }
        let now = self.subtract(Shared, ISSUED);
        self.step(now, true, false)
    }

    #[inline(always)]
    fn note_cause(&self, cause: u32) {
        if cause != 0 {
            let _ = self
                .cause
                .compare_exchange(0, cause, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn subtract(&self, words: impl Words, units: i64) -> i64 {
        let order = if mutant!("unordered_epoch") {
            Ordering::Relaxed
        } else {
            Ordering::AcqRel
        };
        words
            .add_signed(&self.counts, -units, order)
            .wrapping_sub(units)
    }

    /// No more members; `waiter` waits for the `members` there are.
    #[inline(always)]
    pub(crate) fn close(
        &self,
        words: impl Words,
        members: u64,
        waiter: u32,
        at_issue: bool,
    ) -> Step {
        self.waiter.store(waiter, Ordering::Relaxed);
        let mut units = (members as i64) * (ISSUED + ENDED);
        if at_issue {
            self.at_issue.store(1, Ordering::Relaxed);
            units += ENDED;
        }
        let now = words
            .add_signed(&self.counts, units, Ordering::AcqRel)
            .wrapping_add(units);
        match now as i32 {
            _ if at_issue => self.step(now, true, true),
            0 => Step::LAST,
            _ => Step::default(),
        }
    }

    /// What it means that the word is `now`. `issued`, `ended`: this step has changed the high half, the low one.
    #[inline(never)]
    fn step(&self, now: i64, issued: bool, ended: bool) -> Step {
        let (not_issued, not_ended) = halves(now);
        let over = ended && not_ended == 0;
        if self.at_issue.load(Ordering::Relaxed) != 0 {
            return Step {
                satisfied: issued && not_issued == 0,
                over,
            };
        }
        Step {
            satisfied: over,
            over,
        }
    }

    /// The waiter that joined at issue has been told: whether the epoch is over now.
    pub(crate) fn told(&self) -> bool {
        self.waiter.store(0, Ordering::Relaxed);
        let now = self.subtract(Shared, ENDED);
        self.step(now, false, true).over
    }

    /// Members that were issued, for a waiter that joins at issue.
    #[inline(never)]
    pub(crate) fn take_notes(&self) -> Members {
        self.noted.store(0, Ordering::Relaxed);
        let Some(notes) = self.known_notes() else {
            return Members::new();
        };
        let mut notes = notes.list.lock();
        notes.1 = FEW_NOTES;
        core::mem::take(&mut notes.0)
    }

    /// Fetches the notes, which another core may have written last, before something is entered.
    pub(crate) fn fetch_notes(&self) {
        prefetch_lines(self.notes.load(Ordering::Relaxed).cast(), 1);
    }

    /// First failure among members that matters to those after them, 0 if none.
    pub(crate) fn cause(&self) -> u32 {
        self.cause.load(Ordering::Relaxed)
    }

    /// Whether all of `members` have ended while the epoch is still open.
    pub(crate) fn all_left(&self, members: u64) -> bool {
        halves(self.counts.load(Ordering::Acquire)).1 == -(members as i32)
    }

    /// Node that waits for the epoch, 0 while it is open. For reports.
    pub(crate) fn waiter(&self) -> u32 {
        self.waiter.load(Ordering::Relaxed)
    }
}

// loom's atomics must not be looked at outside of a model, where it drops what it has kept.
#[cfg(not(any(loom, shuttle)))]
impl Drop for Epoch {
    fn drop(&mut self) {
        let notes = *self.notes.get_mut();
        if !notes.is_null() {
            // SAFETY: made by `Box::into_raw` in `entered_notes`; nobody else has the epoch any more.
            drop(unsafe { Box::from_raw(notes) });
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
                assert_eq!(epoch.leave(Shared, 0), Step::default());
            }
            let mut ends = usize::from(epoch.close(Shared, 3, 9, false).satisfied);
            for _ in left_before_close..3 {
                ends += usize::from(epoch.leave(Shared, 0).satisfied && epoch.waiter() == 9);
            }
            assert_eq!(ends, 1);
        }
    }

    /// Every order of the steps of two members, of which one is issued first, and the closing.
    #[test]
    fn a_waiter_that_joins_at_issue_is_told_once_and_the_epoch_ends_once() {
        let member = Token::new(1, 5, 1);
        // Of the first member: issue (0) and end (1); of the second: end (2); the closing (3).
        for order in [
            [0, 1, 2, 3],
            [0, 1, 3, 2],
            [0, 2, 1, 3],
            [0, 2, 3, 1],
            [0, 3, 1, 2],
            [0, 3, 2, 1],
            [2, 0, 1, 3],
            [2, 0, 3, 1],
            [2, 3, 0, 1],
            [3, 0, 1, 2],
            [3, 0, 2, 1],
            [3, 2, 0, 1],
        ] {
            let epoch = Epoch::default();
            let (mut told, mut over) = (0, 0);
            let mut under_way = 0;
            for what in order {
                let step = match what {
                    0 => {
                        under_way += 1;
                        epoch.issue(member, |_| false)
                    }
                    1 => epoch.leave_issued(0),
                    2 => epoch.leave(Shared, 0),
                    _ => epoch.close(Shared, 2, 9, true),
                };
                over += usize::from(step.over);
                if step.satisfied {
                    told += 1;
                    assert_eq!(under_way, 1, "{order:?}");
                    assert_eq!(epoch.take_notes()[..], [member]);
                    over += usize::from(epoch.told());
                }
            }
            assert_eq!((told, over), (1, 1), "{order:?}");
        }
    }

    #[test]
    fn the_first_cause_stays() {
        let epoch = Epoch::default();
        assert!(!epoch.leave(Shared, 4).satisfied);
        assert!(!epoch.leave(Shared, 5).satisfied);
        assert!(epoch.close(Shared, 2, 1, false).satisfied);
        assert_eq!(epoch.cause(), 4);
    }

    #[test]
    fn an_epoch_taken_again_knows_nothing_of_its_former_members() {
        let epoch = Epoch::default();
        epoch.issue(Token::new(1, 5, 1), |_| false);
        epoch.close(Shared, 1, 9, true);
        epoch.reset();
        assert!(epoch.take_notes().is_empty());
        assert!(epoch.close(Shared, 0, 9, false).over);
    }

    #[test]
    fn notes_of_members_that_have_ended_are_forgotten() {
        let epoch = Epoch::default();
        for number in 1..10_000 {
            epoch.issue(Token::new(1, number, 1), |_| true);
            epoch.leave_issued(0);
        }
        assert!(epoch.take_notes().len() <= FEW_NOTES + 1);
    }
}
