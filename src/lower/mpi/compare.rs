//! Verify mode, collectives: what each rank has declared, in full, and which of them do not fit together.
//!
//! There an agreement (`agreement`) is an allgather of a row of each rank, and not a reduction of a few words (`alike`). All
//! ranks see all rows and come to the same verdict, with the ranks and names of both ends.
//!
//! Counts of each rank would make rows as long as there are ranks. So a row has two sums over them instead: a mix of giver,
//! taker and bytes for each part that this rank gives, and the same for each that it takes. Where all counts fit, the sums
//! of all rows are equal. Where they are not, some two ranks differ. Then all ranks make a second call on the lane, an
//! alltoall of the counts of each pair: who finds a difference tells all (`Declined`), and the others wait for that.

use super::alike::{Facts, difference_in_words};
use super::calls::{Calls, Failed};
use super::collective::{Collective, Part};
use super::table::*;
use super::verify::{UNTYPED, in_words};

/// Bytes of a name that are told.
const NAME: usize = 64;

/// What one rank has declared.
#[repr(C)]
#[derive(Clone)]
pub(super) struct Row {
    /// As `Facts`.
    decliner: i64,
    facts: [i64; 4],
    /// Predefined types of what it gives and takes; `UNTYPED` where it does not, or where there is none to compare.
    gives: i64,
    takes: i64,
    /// The sums over its counts, of the v forms.
    given: i64,
    taken: i64,
    name: [u8; NAME],
}

/// Words of a row.
pub(super) const ROW: usize = size_of::<Row>() / size_of::<i64>();

impl Row {
    /// Of a rank that does not enter.
    pub(super) fn declining(rank: i32) -> Self {
        Self {
            decliner: i64::from(rank) + 1,
            facts: [0; 4],
            gives: UNTYPED,
            takes: UNTYPED,
            given: 0,
            taken: 0,
            name: [0; NAME],
        }
    }

    /// Of a rank that enters.
    pub(super) fn of(
        calls: &Calls,
        what: &Collective,
        (rank, ranks): (i32, i32),
        name: &str,
    ) -> Result<Self, Failed> {
        let facts = Facts::values(calls, what)?;
        let element = |part: &Option<Part>| match part {
            Some(part) if part.layout.bytes > 0 => calls.element_of(part.datatype),
            _ => UNTYPED,
        };
        let is_root = what.root == rank;
        let (gives, takes) = match what.kind {
            NORN_MPI_BARRIER => (UNTYPED, UNTYPED),
            NORN_MPI_BCAST if is_root => (element(&what.recv), UNTYPED),
            NORN_MPI_BCAST => (UNTYPED, element(&what.recv)),
            // All elements meet.
            NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE => (element(&what.recv), element(&what.recv)),
            NORN_MPI_GATHER | NORN_MPI_GATHERV if !is_root => (element(&what.send), UNTYPED),
            NORN_MPI_SCATTER | NORN_MPI_SCATTERV if !is_root => (UNTYPED, element(&what.recv)),
            _ if what.in_place && what.send.is_none() => (element(&what.recv), element(&what.recv)),
            _ => (element(&what.send), element(&what.recv)),
        };
        let sum = |of: &dyn Fn(i32) -> u64| {
            (0..ranks).fold(0i64, |sum, other| sum.wrapping_add(of(other) as i64))
        };
        let mut row = Self {
            decliner: 0,
            facts,
            gives,
            takes,
            given: sum(&|other| mix(rank, other, what.gives(rank, other))),
            taken: sum(&|other| mix(other, rank, what.takes(rank, other))),
            name: [0; NAME],
        };
        let mut length = name.len().min(NAME);
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        row.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        Ok(row)
    }

    pub(super) fn words(&self) -> [i64; ROW] {
        let mut words = [0; ROW];
        words[0] = self.decliner;
        words[1..5].copy_from_slice(&self.facts);
        words[5..9].copy_from_slice(&[self.gives, self.takes, self.given, self.taken]);
        for (word, bytes) in words[9..].iter_mut().zip(self.name.as_chunks::<8>().0) {
            *word = i64::from_ne_bytes(*bytes);
        }
        words
    }

    fn from_words(words: &[i64]) -> Self {
        let mut row = Self {
            decliner: words[0],
            facts: [words[1], words[2], words[3], words[4]],
            gives: words[5],
            takes: words[6],
            given: words[7],
            taken: words[8],
            name: [0; NAME],
        };
        for (bytes, word) in row.name.as_chunks_mut::<8>().0.iter_mut().zip(&words[9..]) {
            *bytes = word.to_ne_bytes();
        }
        row
    }
}

/// A part that one rank gives to another, as one number. Nothing counts as nothing.
fn mix(giver: i32, taker: i32, bytes: Option<u64>) -> u64 {
    let Some(bytes) = bytes.filter(|bytes| *bytes != 0) else {
        return 0;
    };
    let mut word = bytes
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(((giver as u64) << 32) | taker as u64);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// What comes of an agreement.
pub(super) struct Verdict {
    /// The last of those that do not enter; negative for none.
    pub(super) decliner: i32,
    /// How ranks that all enter differ, in words.
    pub(super) difference: Option<String>,
    /// Some counts of two ranks differ.
    pub(super) counts: bool,
}

/// The rows of all ranks, one behind the other.
pub(super) fn judge(words: &[i64]) -> Verdict {
    let rows: Vec<Row> = words.chunks_exact(ROW).map(Row::from_words).collect();
    let decliner = rows.iter().map(|row| row.decliner).max().unwrap_or(0) as i32 - 1;
    let mut verdict = Verdict {
        decliner,
        difference: None,
        counts: false,
    };
    if decliner < 0 {
        verdict.difference = facts_differ(&rows).or_else(|| types_differ(&rows));
        let sums = rows.iter().fold((0i64, 0i64), |(given, taken), row| {
            (given.wrapping_add(row.given), taken.wrapping_add(row.taken))
        });
        verdict.counts = verdict.difference.is_none() && sums.0 != sums.1;
    }
    verdict
}

fn facts_differ(rows: &[Row]) -> Option<String> {
    difference_in_words(|fact| {
        let first = rows.first()?.facts[fact];
        let other = rows.iter().position(|row| row.facts[fact] != first)?;
        let (first_rank, other_rank) = (rank_in_words(rows, 0), rank_in_words(rows, other));
        Some(((first, first_rank), (rows[other].facts[fact], other_rank)))
    })
}

/// A giver and a taker whose types differ.
fn types_differ(rows: &[Row]) -> Option<String> {
    let typed = |of: fn(&Row) -> i64| {
        let mut first: Vec<(i64, usize)> = Vec::new();
        for (rank, row) in rows.iter().enumerate() {
            let element = of(row);
            if element != UNTYPED && first.iter().all(|(known, _)| *known != element) {
                first.push((element, rank));
            }
        }
        first
    };
    let takers = typed(|row| row.takes);
    for (given, giver) in typed(|row| row.gives) {
        if let Some((taken, taker)) = takers.iter().find(|(taken, _)| *taken != given) {
            return Some(format!(
                "elements{} on {},{} on {}",
                in_words(given),
                rank_in_words(rows, giver),
                in_words(*taken),
                rank_in_words(rows, *taker)
            ));
        }
    }
    None
}

fn rank_in_words(rows: &[Row], rank: usize) -> String {
    let name = &rows[rank].name;
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
    match &name[..length] {
        [] => format!("rank {rank}"),
        name => format!("rank {rank} (\"{}\")", String::from_utf8_lossy(name)),
    }
}

/// The first pair of this rank and another whose counts differ. `words`: of each other rank what it gives this one and takes
/// from it, in bytes; negative: nothing to compare.
pub(super) fn counts_differ(
    rows: &[i64],
    what: &Collective,
    rank: i32,
    words: &[i64],
) -> Option<String> {
    let rows: Vec<Row> = rows.chunks_exact(ROW).map(Row::from_words).collect();
    let differs = |mine: Option<u64>, theirs: i64| {
        let theirs = u64::try_from(theirs).ok()?;
        mine.filter(|mine| *mine != theirs)
            .map(|mine| (mine, theirs))
    };
    let tell = |giver: i32, gives: u64, taker: i32, takes: u64| {
        format!(
            "{} gives {gives} B to {}, which takes {takes} B from it",
            rank_in_words(&rows, giver as usize),
            rank_in_words(&rows, taker as usize)
        )
    };
    (0..).zip(words.chunks_exact(2)).find_map(|(other, pair)| {
        if let Some((gives, takes)) = differs(what.gives(rank, other), pair[1]) {
            return Some(tell(rank, gives, other, takes));
        }
        let (takes, gives) = differs(what.takes(rank, other), pair[0])?;
        Some(tell(other, gives, rank, takes))
    })
}

/// What this rank says of its pairs.
pub(super) fn counts_of(what: &Collective, rank: i32, ranks: i32) -> Vec<i64> {
    let word = |bytes: Option<u64>| bytes.map_or(-1, |bytes| bytes as i64);
    (0..ranks)
        .flat_map(|other| [what.gives(rank, other), what.takes(rank, other)])
        .map(word)
        .collect()
}

impl Collective {
    fn bytes_of(part: &Option<Part>, count: i64) -> Option<u64> {
        let part = part.as_ref()?;
        Some((count as u64).wrapping_mul(part.layout.element.bytes))
    }

    /// Bytes that this rank gives to another in a v form; None where it gives nothing that anybody counts.
    fn gives(&self, rank: i32, other: i32) -> Option<u64> {
        let (at, is_root) = (other as usize, self.root == rank);
        match self.kind {
            NORN_MPI_GATHERV if other == self.root && !(is_root && self.in_place) => {
                Self::bytes_of(&self.send, self.send_count)
            }
            NORN_MPI_SCATTERV if is_root && !(other == rank && self.in_place) => {
                Self::bytes_of(&self.send, self.send_counts[at])
            }
            NORN_MPI_ALLGATHERV if self.in_place => {
                Self::bytes_of(&self.recv, self.recv_counts[rank as usize])
            }
            NORN_MPI_ALLGATHERV => Self::bytes_of(&self.send, self.send_count),
            NORN_MPI_ALLTOALLV if self.in_place => Self::bytes_of(&self.recv, self.recv_counts[at]),
            NORN_MPI_ALLTOALLV => Self::bytes_of(&self.send, self.send_counts[at]),
            _ => None,
        }
    }

    /// Bytes that this rank takes from another in a v form.
    fn takes(&self, rank: i32, other: i32) -> Option<u64> {
        let (at, is_root) = (other as usize, self.root == rank);
        match self.kind {
            NORN_MPI_GATHERV if is_root && !(other == rank && self.in_place) => {
                Self::bytes_of(&self.recv, self.recv_counts[at])
            }
            NORN_MPI_SCATTERV if other == self.root && !(is_root && self.in_place) => {
                Self::bytes_of(&self.recv, self.recv_count)
            }
            NORN_MPI_ALLGATHERV | NORN_MPI_ALLTOALLV => {
                Self::bytes_of(&self.recv, self.recv_counts[at])
            }
            _ => None,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn row(facts: [i64; 4], gives: i64, takes: i64, name: &str) -> Row {
        let mut row = Row {
            decliner: 0,
            facts,
            gives,
            takes,
            ..Row::declining(0)
        };
        row.name[..name.len()].copy_from_slice(name.as_bytes());
        row
    }

    fn told(rows: &[Row]) -> Verdict {
        let words: Vec<i64> = rows.iter().flat_map(Row::words).collect();
        judge(&words)
    }

    #[test]
    fn both_ranks_of_a_difference_are_named() {
        let rows = [
            row([2, 1, 0, 8], UNTYPED, UNTYPED, "ghosts"),
            row([2, 1, 0, 8], UNTYPED, UNTYPED, ""),
            row([2, 1, 0, 16], UNTYPED, UNTYPED, "haloes"),
        ];
        assert_eq!(
            told(&rows).difference.as_deref(),
            Some("bytes 8 on rank 0 (\"ghosts\"), 16 on rank 2 (\"haloes\")")
        );
    }

    #[test]
    fn a_giver_and_a_taker_of_other_types_are_named_and_bytes_go_with_all() {
        let facts = [2, 0, 0, 8];
        let alike = [
            row(facts, 10, UNTYPED, ""),
            row(facts, UNTYPED, 10, ""),
            row(facts, UNTYPED, UNTYPED, ""),
        ];
        assert!(told(&alike).difference.is_none());
        let differ = [
            row(facts, 10, UNTYPED, ""),
            row(facts, UNTYPED, 10, ""),
            row(facts, UNTYPED, 7, ""),
        ];
        assert_eq!(
            told(&differ).difference.as_deref(),
            Some("elements of NORN_F64 on rank 0, of NORN_I64 on rank 2")
        );
    }

    #[test]
    fn who_declines_decides() {
        let rows = [row([2, 1, 0, 8], 7, 7, ""), Row::declining(6)];
        let verdict = told(&rows);
        assert_eq!((verdict.decliner, verdict.difference), (6, None));
        assert!(!verdict.counts);
    }

    #[test]
    fn a_part_counts_by_giver_taker_and_bytes() {
        assert_eq!(mix(1, 2, Some(0)), 0);
        assert_eq!(mix(1, 2, None), 0);
        let parts = [
            mix(1, 2, Some(8)),
            mix(2, 1, Some(8)),
            mix(1, 3, Some(8)),
            mix(1, 2, Some(16)),
        ];
        for (at, part) in parts.iter().enumerate() {
            assert!(parts[..at].iter().all(|other| other != part));
        }
    }
}
