//! The table of data: what is registered, where it lies, how it is split.
//!
//! Everything here is under the placing lock: a submission takes its places in
//! all timelines in one step, so it holds that lock anyway.

use core::ops::{Deref, DerefMut};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::CString;

use super::extent::Extent;
use super::memory::Memory;
use super::timeline::Timeline;
use super::token::{LAST_GENERATION, MAX_INDEX, Token};
use crate::abi::status::{NORN_E_INVALID, NORN_E_OVERLAP, NORN_E_RESOURCE, NORN_E_STATE};
use crate::abi::types::{NORN_MEMORY_HOST, norn_data, norn_place, norn_reduction};
use crate::error::{Error, Result};

/// A registered datum. What a submission looks at comes first, in one cache line; a table of data that is larger
/// than a cache is read at that rate.
#[repr(C, align(64))]
pub(crate) struct Datum {
    /// The handle by which `plain` has found it, and will again without looking: 0, which is no handle of this datum,
    /// once anybody may have changed something else than what plain accesses change (`get_mut`).
    plain: u64,
    /// Number of the last submission on the straight path that named it, so that one that names it twice is noticed. The
    /// numbers come round again, which makes such a submission go the general way for nothing.
    named_by: u32,
    pub(crate) generation: u32,
    pub(crate) timeline: Timeline,
    /// Place node that stands for the first writer of an unwritten datum, 0 if none.
    pub(crate) unwritten: Token,
    pub(crate) live: bool,
    /// An unregister or rebind is waiting; no further accesses.
    pub(crate) ending: bool,
    pub(crate) is_split: bool,
    description: Box<Description>,
}

/// What no submission looks at.
pub(crate) struct Description {
    pub(crate) memory: Extent,
    pub(crate) place: norn_place,
    pub(crate) flags: u32,
    pub(crate) name: Option<CString>,
    pub(crate) reduce: norn_reduction,
    /// One of `NORN_MEMORY_*`.
    pub(crate) kind: i32,
    /// The memory itself, where it is norn's own. Freed with the datum: all accesses have ended then.
    pub(crate) owned: Option<Box<dyn Memory>>,
    pub(crate) parent: u32,
    pub(crate) parts: Vec<u32>,
    /// Pieces of the last split that has been joined: tasks may still hold these.
    pub(crate) former: Vec<u32>,
}

impl Deref for Datum {
    type Target = Description;
    fn deref(&self) -> &Description {
        &self.description
    }
}

impl DerefMut for Datum {
    fn deref_mut(&mut self) -> &mut Description {
        &mut self.description
    }
}

impl Datum {
    /// Whether it is plain as long as nobody changes it, which is remembered.
    #[cold]
    fn becomes_plain(&mut self, runtime: u32, handle: norn_data) -> bool {
        let parts = Token(handle.id);
        let plain = self.live
            && !self.ending
            && !self.is_split
            && self.generation == parts.generation()
            && parts.runtime() == runtime
            && self.unwritten.is_zero()
            && self.timeline.is_plain();
        if plain {
            self.plain = handle.id;
        }
        plain
    }

    /// For messages.
    pub(crate) fn label(&self, index: u32) -> String {
        match &self.name {
            Some(name) => format!("datum \"{}\"", name.to_string_lossy()),
            None => format!("datum #{index}"),
        }
    }
}

/// All data of one runtime.
#[derive(Default)]
pub(crate) struct DataTable {
    data: Vec<Datum>,
    free: Vec<u32>,
    /// Submissions on the straight path so far.
    submissions: u32,
    /// Joined pieces, which tasks may still name, each with the token behind all accesses to them.
    joined: VecDeque<(u32, Token)>,
    /// Start of each datum without NORN_ALIAS that is no piece, to its end and index.
    occupied: BTreeMap<usize, (usize, u32)>,
    live: u64,
}

impl DataTable {
    /// Number of registered data, pieces included.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &Datum {
        &self.data[index as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut Datum {
        let datum = &mut self.data[index as usize];
        datum.plain = 0;
        datum
    }

    /// How many more data fit.
    pub(crate) fn len_limit(&self) -> usize {
        (MAX_INDEX as usize).saturating_sub(self.live as usize)
    }

    /// Whether an index is a registered datum.
    pub(crate) fn is_live(&self, index: u32) -> bool {
        self.data
            .get(index as usize)
            .is_some_and(|datum| datum.live)
    }

    /// Indices of all live data.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        (1..self.data.len() as u32).filter(|index| self.get(*index).live)
    }

    /// Handle of a datum.
    pub(crate) fn handle(&self, runtime: u32, index: u32) -> norn_data {
        norn_data {
            id: Token::new(runtime, index, self.get(index).generation).0,
        }
    }

    /// Index of a handle.
    #[inline(always)]
    pub(crate) fn resolve(&self, runtime: u32, handle: norn_data) -> Result<u32> {
        let parts = Token(handle.id);
        match self.data.get(parts.index() as usize) {
            Some(datum)
                if datum.live
                    && datum.generation == parts.generation()
                    && parts.runtime() == runtime =>
            {
                Ok(parts.index())
            }
            _ => Err(not_a_datum(runtime, handle)),
        }
    }

    /// Begins a submission that names its data by `plain`.
    #[inline(always)]
    pub(crate) fn begin_plain(&mut self) {
        self.submissions = self.submissions.wrapping_add(1);
    }

    /// The timeline of a handle, if nothing but the datum's readers and writers has to be thought of, there is room for
    /// one more, and the submission has not named it before.
    #[inline(always)]
    pub(crate) fn plain(&mut self, runtime: u32, handle: norn_data) -> Option<&mut Timeline> {
        let index = Token(handle.id).index() as usize;
        let datum = self.data.get_mut(index)?;
        if datum.plain != handle.id && !datum.becomes_plain(runtime, handle) {
            return None;
        }
        let named_by = core::mem::replace(&mut datum.named_by, self.submissions);
        (named_by != self.submissions && datum.timeline.has_room()).then_some(&mut datum.timeline)
    }

    /// Index of a handle whose datum takes further accesses.
    #[inline(always)]
    pub(crate) fn resolve_open(&self, runtime: u32, handle: norn_data) -> Result<u32> {
        let index = self.resolve(runtime, handle)?;
        let datum = self.get(index);
        if datum.ending {
            return Err(Error::new(
                NORN_E_STATE,
                format!("{} is being unregistered or rebound", datum.label(index)),
            ));
        }
        Ok(index)
    }

    /// Adds a datum and gives its index.
    pub(crate) fn add(&mut self, datum: Datum, check_overlap: bool) -> Result<u32> {
        let span = datum.memory.span().ok_or_else(|| {
            Error::new(
                NORN_E_INVALID,
                "the length of the datum exceeds the address space",
            )
        })?;
        let start = datum.memory.start;
        let end = usize::try_from(span)
            .ok()
            .and_then(|span| start.checked_add(span))
            .ok_or_else(|| {
                Error::new(
                    NORN_E_INVALID,
                    "the length of the datum exceeds the address space",
                )
            })?;
        if check_overlap && end > start {
            self.check_overlap(start, end, None)?;
        }
        if self.data.is_empty() {
            // Index 0 stands for none. The handle {0}, which leads here, must not look like one that was found before.
            self.data.push(Datum {
                plain: u64::MAX,
                ..vacant(0)
            });
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                if self.data.len() as u64 > u64::from(MAX_INDEX) {
                    return Err(Error::new(NORN_E_RESOURCE, "2^26 data are registered"));
                }
                self.data.push(vacant(0));
                self.data.len() as u32 - 1
            }
        };
        let generation = self.get(index).generation + 1;
        *self.get_mut(index) = datum;
        self.get_mut(index).generation = generation;
        self.get_mut(index).live = true;
        self.live += 1;
        if check_overlap && end > start {
            self.occupied.insert(start, (end, index));
        }
        Ok(index)
    }

    /// Says which datum overlaps `start..end`, other than `except`.
    pub(crate) fn check_overlap(
        &self,
        start: usize,
        end: usize,
        except: Option<u32>,
    ) -> Result<()> {
        let before = self.occupied.range(..end).next_back();
        // Ranges are disjoint, so the last one that starts before `end` is the
        // only one that can reach past `start`, unless it is the excepted one.
        let candidates = before
            .into_iter()
            .chain(self.occupied.range(..start).next_back());
        for (_, (other_end, other)) in candidates {
            if *other_end > start && Some(*other) != except {
                return Err(Error::new(
                    NORN_E_OVERLAP,
                    format!("the memory overlaps {}", self.get(*other).label(*other)),
                ));
            }
        }
        Ok(())
    }

    /// Moves a datum to other memory.
    pub(crate) fn rebind(&mut self, index: u32, start: usize, bytes: u64) -> Result<()> {
        let old = self.get(index).memory.start;
        let checked = self
            .occupied
            .get(&old)
            .is_some_and(|(_, owner)| *owner == index);
        let unchecked_before = self.get(index).memory.bytes == 0
            && self.get(index).flags & crate::abi::types::NORN_ALIAS == 0;
        let end = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| start.checked_add(bytes))
            .ok_or_else(|| Error::new(NORN_E_INVALID, "bytes exceeds the address space"))?;
        if (checked || unchecked_before) && end > start {
            self.check_overlap(start, end, Some(index))?;
        }
        if checked {
            self.occupied.remove(&old);
        }
        if (checked || unchecked_before) && end > start {
            self.occupied.insert(start, (end, index));
        }
        self.get_mut(index).memory = Extent {
            start,
            bytes,
            rows: 1,
            stride: bytes,
        };
        Ok(())
    }

    /// Takes a datum out. Its memory is the caller's to free.
    pub(crate) fn remove(&mut self, index: u32) -> Datum {
        let start = self.get(index).memory.start;
        if self
            .occupied
            .get(&start)
            .is_some_and(|(_, owner)| *owner == index)
        {
            self.occupied.remove(&start);
        }
        let generation = self.get(index).generation;
        let removed = core::mem::replace(self.get_mut(index), vacant(generation));
        self.live -= 1;
        if generation < LAST_GENERATION {
            self.free.push(index);
        }
        removed
    }

    /// Ends a piece whose accesses are over when `over` is complete. Its index keeps its meaning until then.
    pub(crate) fn retire_piece(&mut self, index: u32, over: Token) {
        self.get_mut(index).live = false;
        self.live -= 1;
        self.joined.push_back((index, over));
    }

    /// Gives the indices of retired pieces back whose accesses are over.
    pub(crate) fn recycle_pieces(&mut self, is_complete: impl Fn(Token) -> bool) {
        while let Some((index, over)) = self.joined.front().copied() {
            if !is_complete(over) {
                return;
            }
            self.joined.pop_front();
            let (parent, generation) = (self.get(index).parent, self.get(index).generation);
            self.get_mut(parent).former.retain(|piece| *piece != index);
            *self.get_mut(index) = vacant(generation);
            if generation < LAST_GENERATION {
                self.free.push(index);
            }
        }
    }

    /// Takes all data out, when the runtime closes. Generations stay, so that old handles stay invalid.
    pub(crate) fn remove_all(&mut self) -> Vec<Datum> {
        let live: Vec<u32> = self.indices().collect();
        live.into_iter().map(|index| self.remove(index)).collect()
    }

    /// The data that an access to `index` touches: itself, or all pieces below it.
    pub(crate) fn leaves(&self, index: u32, into: &mut Vec<u32>) {
        let mut stack = vec![index];
        while let Some(index) = stack.pop() {
            let datum = self.get(index);
            if datum.is_split {
                stack.extend(datum.parts.iter().rev());
            } else {
                into.push(index);
            }
        }
    }

    /// Whether `ancestor` is `index` or a datum it is a piece of.
    pub(crate) fn lies_within(&self, mut index: u32, ancestor: u32) -> bool {
        loop {
            if index == ancestor {
                return true;
            }
            index = self.get(index).parent;
            if index == 0 {
                return false;
            }
        }
    }
}

fn vacant(generation: u32) -> Datum {
    Datum {
        plain: 0,
        named_by: 0,
        generation,
        timeline: Timeline::default(),
        unwritten: Token::COMPLETE,
        live: false,
        ending: false,
        is_split: false,
        description: Box::new(Description {
            memory: Extent::default(),
            place: norn_place::default(),
            flags: 0,
            name: None,
            reduce: norn_reduction {
                identity: None,
                combine: None,
                arg: core::ptr::null_mut(),
            },
            kind: NORN_MEMORY_HOST,
            owned: None,
            parent: 0,
            parts: Vec::new(),
            former: Vec::new(),
        }),
    }
}

/// A datum that is in no table yet.
pub(crate) fn unregistered(memory: Extent) -> Datum {
    let mut datum = vacant(0);
    datum.memory = memory;
    datum
}

#[cold]
fn not_a_datum(runtime: u32, handle: norn_data) -> Error {
    let why = if handle.id == 0 {
        "is {0}, which is no datum"
    } else if Token(handle.id).runtime() != runtime {
        "belongs to another runtime"
    } else {
        "is not a registered datum"
    };
    Error::new(NORN_E_INVALID, format!("norn_data {:#x} {why}", handle.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_with(ranges: &[(usize, u64)]) -> Result<DataTable> {
        let mut table = DataTable::default();
        for (start, bytes) in ranges {
            let memory = Extent {
                start: *start,
                bytes: *bytes,
                rows: 1,
                stride: *bytes,
            };
            table.add(unregistered(memory), true)?;
        }
        Ok(table)
    }

    #[test]
    fn touching_ranges_do_not_overlap() {
        assert!(table_with(&[(100, 10), (110, 10), (90, 10)]).is_ok());
    }

    #[test]
    fn every_kind_of_overlap_is_found() {
        for second in [(95, 10), (105, 10), (100, 10), (90, 30), (102, 3)] {
            assert!(table_with(&[(100, 10), second]).is_err(), "{second:?}");
        }
    }

    #[test]
    fn a_handle_dies_with_its_datum_and_the_slot_is_used_again() {
        let mut table = table_with(&[(100, 10)]).unwrap();
        let handle = table.handle(3, 1);
        assert_eq!(table.resolve(3, handle).unwrap(), 1);
        assert!(table.resolve(4, handle).is_err());
        table.remove(1);
        assert!(table.resolve(3, handle).is_err());
        let again = table.add(unregistered(Extent::default()), true).unwrap();
        assert_eq!(again, 1);
        assert!(table.resolve(3, handle).is_err());
    }
}
