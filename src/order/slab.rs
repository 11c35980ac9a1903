//! Slabs: arrays of slots that grow in chunks, never move and are never
//! unmapped before the slab is, addressed by a 32-bit index; and the magazines through which each
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

use super::blocks;
use crate::sync::Mutex;
use crossbeam_utils::CachePadded;

/// Models have small ones: they make every atomic anew for every schedule.
const CHUNK_BITS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 12 };
const CHUNK: usize = 1 << CHUNK_BITS;
/// Slots a magazine exchanges with the depot at a time.
const BATCH: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };
/// Slots with which a magazine gives a batch back.
const MANY: usize = 2 * BATCH;
/// Slots a magazine has room for, a power of two: `MANY`, and a batch beside the few that one submission may need.
const ROOM: usize = if MANY > 8 { MANY } else { 8 };

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

/// Fetches lines that will be written soon. Nothing need be there.
#[inline(always)]
pub(crate) fn prefetch_lines(first: *const u8, lines: usize) {
    for line in 0..lines {
        prefetch_for_write(first.wrapping_add(64 * line));
    }
}

/// A type whose all-zero bytes are a valid, vacant value.
///
/// # Safety
/// Zeroed memory must be a valid value of the type, the same as its default, and it must need no drop.
pub(crate) unsafe trait Vacant: Sync + Default {}

/// The slots and the depot of free ones. What changes lies apart from `origins`, which every access reads.
pub(crate) struct Slab<T: Vacant> {
    /// For each chunk, where slot 0 of the slab would be if the slab were one array around that chunk: so an index
    /// leads to its slot without its place in the chunk being worked out. Written after `blocks`.
    origins: Box<[AtomicPtr<T>]>,
    /// The memory of each block, at its first chunk.
    blocks: Box<[AtomicPtr<T>]>,
    /// First index never handed out. Index 0 is not used: it means "none".
    next: CachePadded<AtomicU32>,
    /// Batches of free slots that lanes gave back.
    depot: CachePadded<Mutex<Vec<[u32; BATCH]>>>,
    limit: u32,
}

/// Free slots held by one lane: the one that came last goes first.
pub(crate) struct Magazine {
    free: [u32; ROOM],
    count: usize,
}

impl Default for Magazine {
    fn default() -> Self {
        Self {
            free: [0; ROOM],
            count: 0,
        }
    }
}

impl Magazine {
    #[cfg(all(test, any(loom, shuttle)))]
    fn held(&self) -> &[u32] {
        &self.free[..self.count]
    }

    /// There must be room. What is masked is less than `ROOM` anyway, but so it need not be compared.
    #[inline(always)]
    fn push(&mut self, index: u32) {
        debug_assert!(self.count < ROOM, "the magazine is full");
        self.free[self.count % ROOM] = index;
        self.count += 1;
    }

    /// There must be one.
    #[inline(always)]
    fn pop(&mut self) -> u32 {
        debug_assert!(self.count > 0, "the magazine is empty");
        self.count = self.count.wrapping_sub(1);
        self.free[self.count % ROOM]
    }
}

impl<T: Vacant> Slab<T> {
    /// A slab of at most `limit` slots.
    pub(crate) fn new(limit: u32) -> Self {
        #[cfg(any(loom, shuttle))]
        let limit = limit.min(1 << 6);
        let none = || {
            (0..(limit as usize).div_ceil(CHUNK))
                .map(|_| AtomicPtr::new(core::ptr::null_mut()))
                .collect()
        };
        Self {
            origins: none(),
            blocks: none(),
            next: CachePadded::new(AtomicU32::new(1)),
            depot: CachePadded::new(Mutex::new(Vec::new())),
            limit,
        }
    }

    /// The slot of an index that this slab has handed out at some time.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &T {
        let slot = self.locate(index);
        debug_assert!(!slot.is_null(), "slab index {index} was never handed out");
        // SAFETY: a handed-out index lies in an existing chunk of CHUNK slots,
        // chunks live as long as the slab, and zeroed slots are valid (Vacant).
        unsafe { &*slot }
    }

    /// Where the slot of an index is that this slab has handed out at some time; nowhere for one of 0.
    #[inline(always)]
    fn locate(&self, index: u32) -> *mut T {
        debug_assert!(index < self.limit, "slab index {index} is beyond the limit");
        // SAFETY: an index that was handed out is less than `limit`, as is 0, and there is a cell for each chunk below
        // it. Every task passes here some thirty times, so the bounds are not checked again.
        let cell = unsafe { self.origins.get_unchecked(index as usize >> CHUNK_BITS) };
        // Relaxed is enough: whoever handed us the index was ordered after the
        // chunk's creation, and the address carries the dependency.
        cell.load(Ordering::Relaxed).wrapping_add(index as usize)
    }

    /// As `get`, of a slot that will be changed at once and may lie in another core's cache: it is fetched for that, and
    /// not first to be read and then again.
    #[inline(always)]
    pub(crate) fn get_to_change(&self, index: u32) -> &T {
        let slot = self.get(index);
        prefetch_for_write(core::ptr::from_ref(slot).cast());
        slot
    }

    /// Fetches the first line of a slot that will be changed at once, and says where it is. Index 0 fetches nothing of
    /// use and is nowhere.
    #[inline(always)]
    pub(crate) fn prefetch_head(&self, index: u32) -> *const T {
        let slot = self.locate(index);
        prefetch_for_write(slot.cast());
        slot
    }

    /// Fetches the first lines of a slot that will be written soon into this core's cache: it may lie in another's.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32, lines: usize) {
        prefetch_lines(self.locate(index).cast(), lines);
    }

    /// As `get`, for an index from outside that may never have been handed out.
    pub(crate) fn get_checked(&self, index: u32) -> Option<&T> {
        (index != 0 && index < self.next.load(Ordering::Acquire)).then(|| self.get(index))
    }

    /// Takes a free slot; none only when all `limit` are in use.
    #[inline(always)]
    pub(crate) fn take(&self, magazine: &mut Magazine) -> Option<u32> {
        if magazine.count == 0 {
            return self.refill(magazine);
        }
        Some(self.take_in_stock(magazine, size_of::<T>().div_ceil(64)))
    }

    /// Takes a free slot of which `stock` has said that there is one. Soon one is taken of which `lines` lines are used.
    #[inline(always)]
    pub(crate) fn take_in_stock(&self, magazine: &mut Magazine, lines: usize) -> u32 {
        let index = magazine.pop();
        if let Some(soon) = magazine.count.checked_sub(AHEAD) {
            self.prefetch(magazine.free[soon % ROOM], lines);
        }
        index
    }

    /// Sees to it that the next `count` takes, few, will succeed; false if they might not.
    #[inline(always)]
    pub(crate) fn stock(&self, magazine: &mut Magazine, count: usize) -> bool {
        magazine.count >= count || self.stock_slowly(magazine, count)
    }

    #[cold]
    fn stock_slowly(&self, magazine: &mut Magazine, count: usize) -> bool {
        if let Some(index) = self.refill(magazine) {
            magazine.push(index);
        }
        magazine.count >= count
    }

    #[cold]
    fn refill(&self, magazine: &mut Magazine) -> Option<u32> {
        if let Some(batch) = self.depot.lock().pop() {
            batch.iter().for_each(|index| magazine.push(*index));
            return Some(magazine.pop());
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
        let last_first = || (first..end).rev();
        if size_of::<T>() < 64 {
            // Every other one first: two that share a cache line are in use by different threads if they are taken one after
            // the other.
            let order = last_first()
                .skip(1)
                .step_by(2)
                .chain(last_first().step_by(2));
            order.for_each(|index| magazine.push(index));
        } else {
            last_first().for_each(|index| magazine.push(index));
        }
        Some(magazine.pop())
    }

    fn make_chunks(&self, first: u32, end: u32) {
        for chunk in first as usize >> CHUNK_BITS..=(end as usize - 1) >> CHUNK_BITS {
            while self.origins[chunk].load(Ordering::Acquire).is_null() {
                self.make_block(chunk);
            }
        }
    }

    /// Makes the block that a chunk lies in, if nobody else has.
    fn make_block(&self, chunk: usize) {
        let chunks = Self::block_of(chunk);
        let (first, bytes) = (chunks.start, chunks.len() * CHUNK * size_of::<T>());
        let memory: *mut T = blocks::take(bytes).cast();
        #[cfg(any(loom, shuttle))] // a checker's atomics are more than their value
        for slot in 0..CHUNK * chunks.len() {
            // SAFETY: taken just above, with room for that many slots.
            unsafe { memory.add(slot).write(T::default()) };
        }
        let made = self.blocks[first].compare_exchange(
            core::ptr::null_mut(),
            memory,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        let memory = match made {
            Ok(_) => memory,
            Err(theirs) => {
                // SAFETY: taken just above with this length and never shared.
                unsafe { blocks::give(memory.cast(), bytes) };
                theirs
            }
        };
        // Whoever comes second writes the same, lest it hand out an index before the first has come to this.
        let origin = memory.wrapping_sub(first << CHUNK_BITS);
        for chunk in chunks {
            if let Some(cell) = self.origins.get(chunk) {
                cell.store(origin, Ordering::Release);
            }
        }
    }

    /// The chunks that lie in one block with this one: the first is alone, so that few slots take little memory, the
    /// others fill huge pages.
    fn block_of(chunk: usize) -> core::ops::Range<usize> {
        if chunk == 0 {
            return 0..1;
        }
        let chunks = (blocks::HUGE / (CHUNK * size_of::<T>())).max(1);
        let first = (chunk - 1) / chunks * chunks + 1;
        first..first + chunks
    }

    /// Gives a slot back.
    #[inline(always)]
    pub(crate) fn give(&self, magazine: &mut Magazine, index: u32) {
        magazine.push(index);
        if magazine.count >= MANY {
            self.spill(magazine);
        }
    }

    #[cold]
    fn spill(&self, magazine: &mut Magazine) {
        // The older half goes, the slots just used stay warm here.
        let mut batch = [0; BATCH];
        batch.copy_from_slice(&magazine.free[..BATCH]);
        magazine.free.copy_within(BATCH.., 0);
        magazine.count -= BATCH;
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
        free.extend(magazines.iter().flat_map(|magazine| magazine.held()));
        let count = free.len();
        free.sort_unstable();
        free.dedup();
        assert_eq!(free.len(), count, "a slot is free twice");
        count
    }

    /// Bytes of the blocks made so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.made_blocks().map(|(_, bytes)| bytes as u64).sum()
    }

    /// The blocks made so far, each with its bytes.
    fn made_blocks(&self) -> impl Iterator<Item = (*mut u8, usize)> {
        self.blocks.iter().enumerate().filter_map(|(chunk, block)| {
            let memory = block.load(Ordering::Acquire);
            let bytes = Self::block_of(chunk).len() * CHUNK * size_of::<T>();
            (!memory.is_null()).then_some((memory.cast(), bytes))
        })
    }
}

impl<T: Vacant> Drop for Slab<T> {
    fn drop(&mut self) {
        for (memory, bytes) in self.made_blocks() {
            // SAFETY: taken by `make_block` with this length; `&mut self` means nobody holds a reference into it.
            unsafe { blocks::give(memory, bytes) };
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
        let mut taken = [slab.take(&mut magazine), slab.take(&mut magazine)];
        taken.sort_unstable();
        assert_eq!(taken, [Some(1), Some(2)]);
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
