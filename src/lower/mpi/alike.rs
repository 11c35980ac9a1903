//! What all ranks must say alike of a collective, and whether they do.
//!
//! An agreement is an allreduce with MPI_MAX of a few words. Of each fact its value and its negative are among them: so the
//! largest and the smallest value come out, and they are the same where all ranks have said the same.

use super::calls::{Calls, Failed};
use super::collective::{Collective, call_of};
use super::table::*;
use crate::abi::datatype::{NORN_BXOR, NORN_OF_MPI, NORN_SUM, norn_op};

/// What one rank says before a collective, or what comes of all.
#[repr(C)]
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// 0 where the rank enters, else its number plus one.
    pub(super) decliner: i64,
    /// Kind, root, operation and bytes, each 0 where the kind has none. Not the type: MPI has several for the same element.
    largest: [i64; 4],
    /// Their negatives.
    smallest: [i64; 4],
}

/// Words of which an agreement is made.
pub(super) const WORDS: usize = size_of::<Facts>() / size_of::<i64>();

impl Facts {
    /// Of a rank that does not enter. What it would have said does not count.
    pub(super) fn declining(rank: i32) -> Self {
        Self {
            decliner: i64::from(rank) + 1,
            largest: [i64::MIN; 4],
            smallest: [i64::MIN; 4],
        }
    }

    /// Of a rank that enters.
    pub(super) fn of(calls: &Calls, what: &Collective) -> Result<Self, Failed> {
        let largest = Self::values(calls, what)?;
        Ok(Self {
            decliner: 0,
            largest,
            smallest: largest.map(i64::wrapping_neg),
        })
    }

    pub(super) fn words(&self) -> [i64; WORDS] {
        let mut words = [0; WORDS];
        words[0] = self.decliner;
        words[1..5].copy_from_slice(&self.largest);
        words[5..].copy_from_slice(&self.smallest);
        words
    }

    pub(super) fn from_words(words: &[i64]) -> Self {
        Self {
            decliner: words[0],
            largest: core::array::from_fn(|fact| words[1 + fact]),
            smallest: core::array::from_fn(|fact| words[5 + fact]),
        }
    }

    /// Kind, root, operation and bytes.
    pub(super) fn values(calls: &Calls, what: &Collective) -> Result<[i64; 4], Failed> {
        let has_root = matches!(
            what.kind,
            NORN_MPI_BCAST
                | NORN_MPI_REDUCE
                | NORN_MPI_GATHER
                | NORN_MPI_GATHERV
                | NORN_MPI_SCATTER
                | NORN_MPI_SCATTERV
        );
        let reduces = matches!(what.kind, NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE);
        Ok([
            i64::from(what.kind),
            if has_root { i64::from(what.root) } else { 0 },
            if reduces {
                shared_op(calls, what.op)?
            } else {
                0
            },
            what.bytes_of_each(),
        ])
    }

    /// How ranks that all enter differ, in words.
    pub(super) fn difference(&self) -> Option<String> {
        difference_in_words(|fact| {
            let (low, high) = (self.smallest[fact].wrapping_neg(), self.largest[fact]);
            (low != high).then(|| ((low, "one rank".into()), (high, "another".into())))
        })
    }
}

/// The facts that differ, in words. `values`: two values of a fact, and on which ranks.
pub(super) fn difference_in_words(
    values: impl Fn(usize) -> Option<((i64, String), (i64, String))>,
) -> Option<String> {
    if let Some(((first, on_first), (other, on_other))) = values(0) {
        let (first, other) = (call_of(first as i32), call_of(other as i32));
        return Some(format!("{first} on {on_first}, {other} on {on_other}"));
    }
    let named = ["", "root", "operation", "bytes"];
    let differing = (1..named.len()).filter_map(|fact| {
        let ((first, on_first), (other, on_other)) = values(fact)?;
        let name = named[fact];
        Some(format!(
            "{name} {first} on {on_first}, {other} on {on_other}"
        ))
    });
    let all: Vec<String> = differing.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// An operation as all ranks know it: a predefined one by its number, however it was named. The handles of others may
/// differ between ranks, so they all count as one.
fn shared_op(calls: &Calls, op: norn_op) -> Result<i64, Failed> {
    if op & NORN_OF_MPI == 0 {
        return Ok(op);
    }
    for number in NORN_SUM..=NORN_BXOR {
        if calls.op_builtin(number)? == op as i32 {
            return Ok(number);
        }
    }
    Ok(-1)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn saying(facts: [i64; 4]) -> Facts {
        Facts {
            decliner: 0,
            largest: facts,
            smallest: facts.map(i64::wrapping_neg),
        }
    }

    fn all(ranks: &[Facts]) -> Facts {
        let max = |a: [i64; 4], b: [i64; 4]| core::array::from_fn(|i| a[i].max(b[i]));
        ranks
            .iter()
            .cloned()
            .reduce(|a, b| Facts {
                decliner: a.decliner.max(b.decliner),
                largest: max(a.largest, b.largest),
                smallest: max(a.smallest, b.smallest),
            })
            .unwrap_or_default()
    }

    #[test]
    fn ranks_that_say_the_same_do_not_differ() {
        let ranks = [saying([4, 1, 0, 1 << 40]), saying([4, 1, 0, 1 << 40])];
        assert_eq!(all(&ranks).difference(), None);
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let ranks = [
            saying([2, 1, 0, 8]),
            saying([2, 3, 0, 8]),
            saying([2, 1, 0, 16]),
        ];
        assert_eq!(
            all(&ranks).difference().as_deref(),
            Some("root 1 on one rank, 3 on another; bytes 8 on one rank, 16 on another")
        );
    }

    #[test]
    fn another_kind_is_all_that_is_said() {
        let ranks = [
            saying([i64::from(NORN_MPI_BARRIER), 0, 0, 0]),
            saying([i64::from(NORN_MPI_ALLREDUCE), 0, 1, 8]),
        ];
        let text = all(&ranks).difference().unwrap_or_default();
        assert!(
            text.contains("MPI_Ibarrier") && text.contains("MPI_Iallreduce"),
            "{text}"
        );
    }

    #[test]
    fn who_declines_says_nothing_of_the_facts() {
        let ranks = [saying([2, 1, 0, 8]), Facts::declining(6)];
        let all = all(&ranks);
        assert_eq!((all.decliner, all.difference()), (7, None));
    }
}
