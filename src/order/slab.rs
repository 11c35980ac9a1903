//! Slabs: arrays of slots that grow in chunks, never move and are never
//! unmapped, addressed by a 32-bit index; and the magazines through which each
//! lane takes and returns free slots without a lock.
//!
//! Because memory is type-stable, a reader with a stale index reads an old or a
//! newer occupant of the slot, never foreign memory. Whoever needs to know
//! which checks the generation.
//!
//! *Who may use a slot:* the taker, until it is given back. A free slot lies in one
//! magazine, which one thread at a time uses, or in the depot, under its lock; so a slot
//! passes from its last user to its next one in order, and the next one finds what the
//! last one wrote. New slots come from `next`, by compare and swap, each range to one
//! lane. A slot is given back only after its generation has moved on.

use crate::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use crate::sync::Mutex;
use crossbeam_utils::CachePadded;

/// Models have small ones: they make every atomic anew for every schedule.
const CHUNK_BITS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 12 };
const CHUNK: usize = 1 << CHUNK_BITS;
/// Slots a magazine exchanges with the depot at a time.
const BATCH: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// How many takes ahead a slot is fetched.
const AHEAD: usize = 6;

/// Asks for a cache line in a state that can be written.
#[inline(always)]
fn prefetch_for_write(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch touches nothing, and an x86-64 that lacks PREFETCHW takes it for a no-op.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// A type whose all-zero bytes are a valid, vacant value.
///
/// # Safety
/// Zeroed memory must be a valid value of the type, the same as its default, and it must need no drop.
pub(crate) unsafe trait Vacant: Sync + Default {}

/// The slots and the depot of free ones. What changes lies apart from `chunks`, which every access reads.
pub(crate) struct Slab<T: Vacant> {
    chunks: Box<[AtomicPtr<T>]>,
    /// First index never handed out. Index 0 is not used: it means "none".
    next: CachePadded<AtomicU32>,
    /// Batches of free slots that lanes gave back.
    depot: CachePadded<Mutex<Vec<Vec<u32>>>>,
    limit: u32,
}

/// Free slots held by one lane.
#[derive(Default)]
pub(crate) struct Magazine {
    free: Vec<u32>,
}

impl<T: Vacant> Slab<T> {
    /// A slab of at most `limit` slots.
    pub(crate) fn new(limit: u32) -> Self {
        #[cfg(any(loom, shuttle))]
        let limit = limit.min(1 << 6);
        let chunks = (limit as usize).div_ceil(CHUNK);
        Self {
            chunks: (0..chunks)
                .map(|_| AtomicPtr::new(core::ptr::null_mut()))
                .collect(),
            next: CachePadded::new(AtomicU32::new(1)),
            depot: CachePadded::new(Mutex::new(Vec::new())),
            limit,
        }
    }

    /// The slot of an index that this slab has handed out at some time.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &T {
        let chunk = self.chunk_of(index);
        debug_assert!(!chunk.is_null(), "slab index {index} was never handed out");
        // SAFETY: a handed-out index lies in an existing chunk of CHUNK slots,
        // chunks live as long as the slab, and zeroed slots are valid (Vacant).
        unsafe { &*chunk.add(index as usize & (CHUNK - 1)) }
    }

    /// The chunk of an index that this slab has handed out at some time, or NULL for one of 0.
    #[inline(always)]
    fn chunk_of(&self, index: u32) -> *mut T {
        debug_assert!(index < self.limit, "slab index {index} is beyond the limit");
        // SAFETY: an index that was handed out is less than `limit`, as is 0, and there is a cell for each chunk below
        // it. Every task passes here some thirty times, so the bounds are not checked again.
        let cell = unsafe { self.chunks.get_unchecked(index as usize >> CHUNK_BITS) };
        // Relaxed is enough: whoever handed us the index was ordered after the
        // chunk's creation, and the address carries the dependency.
        cell.load(Ordering::Relaxed)
    }

    /// Fetches the first line of a slot that will be changed at once; index 0 fetches nothing of use.
    #[inline(always)]
    pub(crate) fn prefetch_head(&self, index: u32) {
        let slot = self
            .chunk_of(index)
            .wrapping_add(index as usize & (CHUNK - 1));
        prefetch_for_write(slot.cast());
    }

    /// Fetches a slot that will be written soon into this core's cache: it may lie in another's.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32) {
        let slot = self
            .chunk_of(index)
            .wrapping_add(index as usize & (CHUNK - 1));
        for line in 0..size_of::<T>().div_ceil(64) {
            prefetch_for_write(slot.cast::<u8>().wrapping_add(64 * line));
        }
    }

    /// As `get`, for an index from outside that may never have been handed out.
    pub(crate) fn get_checked(&self, index: u32) -> Option<&T> {
        (index != 0 && index < self.next.load(Ordering::Acquire)).then(|| self.get(index))
    }

    /// Takes a free slot; none only when all `limit` are in use.
    #[inline(always)]
    pub(crate) fn take(&self, magazine: &mut Magazine) -> Option<u32> {
        match magazine.free.pop() {
            Some(index) => {
                if let Some(soon) = magazine.free.len().checked_sub(AHEAD) {
                    self.prefetch(magazine.free[soon]);
                }
                Some(index)
            }
            None => self.refill(magazine),
        }
    }

    /// Sees to it that the next `count` takes, few, will succeed; false if they might not.
    #[inline(always)]
    pub(crate) fn stock(&self, magazine: &mut Magazine, count: usize) -> bool {
        magazine.free.len() >= count || self.stock_slowly(magazine, count)
    }

    #[cold]
    fn stock_slowly(&self, magazine: &mut Magazine, count: usize) -> bool {
        let mut kept = core::mem::take(&mut magazine.free);
        let filled = self.refill(magazine);
        magazine.free.extend(filled);
        magazine.free.append(&mut kept);
        magazine.free.len() >= count
    }

    #[cold]
    fn refill(&self, magazine: &mut Magazine) -> Option<u32> {
        if let Some(batch) = self.depot.lock().pop() {
            magazine.free = batch;
            return magazine.free.pop();
        }
        let first = self
            .next
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |next| {
                let end = next.saturating_add(BATCH as u32).min(self.limit);
                if end <= next {
                    return None;
                }
                // The chunks exist before the index range becomes visible.
                self.make_chunks(next, end);
                Some(end)
            })
            .ok()?;
        let end = first.saturating_add(BATCH as u32).min(self.limit);
        magazine.free.extend((first..end).rev());
        magazine.free.pop()
    }

    fn make_chunks(&self, first: u32, end: u32) {
        for chunk in first as usize >> CHUNK_BITS..=(end as usize - 1) >> CHUNK_BITS {
            let cell = &self.chunks[chunk];
            if !cell.load(Ordering::Acquire).is_null() {
                continue;
            }
            let layout = Self::chunk_layout();
            // SAFETY: the layout is not empty (no zero-sized type is Vacant here).
            let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            #[cfg(any(loom, shuttle))] // a checker's atomics are more than their value
            for slot in 0..CHUNK {
                // SAFETY: allocated just above, with room for CHUNK slots.
                unsafe { memory.add(slot).write(T::default()) };
            }
            if cell
                .compare_exchange(
                    core::ptr::null_mut(),
                    memory,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                )
                .is_err()
            {
                // SAFETY: allocated just above with this layout and never shared.
                unsafe { std::alloc::dealloc(memory.cast(), layout) };
            }
        }
    }

    fn chunk_layout() -> Layout {
        Layout::array::<T>(CHUNK).unwrap_or(Layout::new::<T>())
    }

    /// Gives a slot back.
    #[inline(always)]
    pub(crate) fn give(&self, magazine: &mut Magazine, index: u32) {
        magazine.free.push(index);
        if magazine.free.len() >= 2 * BATCH {
            self.spill(magazine);
        }
    }

    #[cold]
    fn spill(&self, magazine: &mut Magazine) {
        // The older half goes, the slots just used stay warm here.
        let mut kept = Vec::with_capacity(2 * BATCH);
        kept.extend_from_slice(&magazine.free[BATCH..]);
        magazine.free.truncate(BATCH);
        let batch = core::mem::replace(&mut magazine.free, kept);
        self.depot.lock().push(batch);
    }

    /// All indices handed out so far; their slots may be vacant.
    pub(crate) fn indices(&self) -> core::ops::Range<u32> {
        1..self.next.load(Ordering::Acquire)
    }

    /// For models: the free slots in the depot and in these magazines; none is there twice.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn free_slots(&self, magazines: &[&Magazine]) -> usize {
        let depot = self.depot.lock();
        let mut free: Vec<u32> = depot.iter().flatten().copied().collect();
        free.extend(magazines.iter().flat_map(|magazine| &magazine.free));
        let count = free.len();
        free.sort_unstable();
        free.dedup();
        assert_eq!(free.len(), count, "a slot is free twice");
        count
    }

    /// Bytes of the chunks made so far.
    pub(crate) fn bytes(&self) -> u64 {
        let chunks = self
            .chunks
            .iter()
            .filter(|chunk| !chunk.load(Ordering::Relaxed).is_null())
            .count();
        (chunks * CHUNK * size_of::<T>()) as u64
    }
}

impl<T: Vacant> Drop for Slab<T> {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            let memory = chunk.load(Ordering::Acquire);
            if !memory.is_null() {
                // SAFETY: allocated by `make_chunks` with this layout; `&mut self`
                // means nobody holds a reference into it.
                unsafe { std::alloc::dealloc(memory.cast(), Self::chunk_layout()) };
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicU64;

    // SAFETY: zero is a valid AtomicU64, which needs no drop.
    unsafe impl Vacant for AtomicU64 {}

    #[test]
    fn no_index_is_handed_out_twice_and_zero_never() {
        let slab = Slab::<AtomicU64>::new(10_000);
        let taken: Vec<u32> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut magazine = Magazine::default();
                        (0..2_000)
                            .filter_map(|_| slab.take(&mut magazine))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        let distinct: HashSet<u32> = taken.iter().copied().collect();
        assert_eq!(distinct.len(), 8_000);
        assert!(!distinct.contains(&0));
    }

    #[test]
    fn a_full_slab_says_so_and_a_returned_slot_is_taken_again() {
        let slab = Slab::<AtomicU64>::new(3);
        let mut magazine = Magazine::default();
        assert_eq!(slab.take(&mut magazine), Some(1));
        assert_eq!(slab.take(&mut magazine), Some(2));
        assert_eq!(slab.take(&mut magazine), None);
        slab.give(&mut magazine, 1);
        assert_eq!(slab.take(&mut magazine), Some(1));
    }

    #[test]
    fn slots_given_back_by_one_lane_reach_another() {
        let slab = Slab::<AtomicU64>::new(1_000);
        let (mut first, mut second) = (Magazine::default(), Magazine::default());
        let taken: Vec<u32> = (0..999).filter_map(|_| slab.take(&mut first)).collect();
        assert_eq!(slab.take(&mut second), None);
        for index in taken {
            slab.give(&mut second, index);
        }
        assert!(
            slab.take(&mut first).is_some(),
            "more than two batches went to the depot"
        );
    }
}
