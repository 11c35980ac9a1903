//! Memory for slabs: zeroed, and in huge pages where it is large.
//!
//! Every task touches slots that lie far apart, so with ordinary pages a large graph misses in the processor's table of
//! pages as often as in its caches. The kernel is only asked: where it has no huge pages to give, or is told to give
//! none, the memory comes in ordinary ones.

use std::alloc::{Layout, handle_alloc_error};

/// Bytes of a huge page. A model's slots are few.
pub(super) const HUGE: usize = if cfg!(any(loom, shuttle)) { 1 } else { 2 << 20 };

/// For slots of any kind.
const ALIGN: usize = 128;

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, ALIGN).unwrap_or(Layout::new::<u128>())
}

/// Zeroed memory of `bytes` bytes, more than none. Ends the process if there is none, as any allocation does.
#[cfg(not(any(loom, shuttle)))]
pub(super) fn take(bytes: usize) -> *mut u8 {
    let huge = bytes >= HUGE;
    // What is aligned to a huge page is found in what is longer by one.
    let length = if huge { bytes + HUGE } else { bytes };
    let Some(start) = map(length) else {
        handle_alloc_error(layout(bytes));
    };
    if !huge {
        return start;
    }
    let before = start.align_offset(HUGE);
    let memory = start.wrapping_add(before);
    // SAFETY: both ends lie in the mapping made above, which nobody else knows, and `memory` and `bytes` are multiples
    // of a page; the advice changes nothing but the pages' size.
    unsafe {
        unmap(start, before);
        unmap(memory.wrapping_add(bytes), length - before - bytes);
        libc::madvise(memory.cast(), bytes, libc::MADV_HUGEPAGE);
    }
    memory
}

/// Gives memory back.
///
/// # Safety
/// It came from `take` with this length, and nothing refers to it.
#[cfg(not(any(loom, shuttle)))]
pub(super) unsafe fn give(memory: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { unmap(memory, bytes) };
}

#[cfg(not(any(loom, shuttle)))]
fn map(bytes: usize) -> Option<*mut u8> {
    // SAFETY: a new private mapping changes nothing that exists.
    let start = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

/// # Safety
/// Nothing refers to these bytes, which are part of a mapping.
#[cfg(not(any(loom, shuttle)))]
unsafe fn unmap(start: *mut u8, bytes: usize) {
    if bytes != 0 {
        // SAFETY: passed on. It cannot fail for a part of a mapping at its ends.
        unsafe { libc::munmap(start.cast(), bytes) };
    }
}

/// As above, for models.
#[cfg(any(loom, shuttle))]
pub(super) fn take(bytes: usize) -> *mut u8 {
    // SAFETY: the caller asks for more than no bytes.
    let memory = unsafe { std::alloc::alloc_zeroed(layout(bytes)) };
    if memory.is_null() {
        handle_alloc_error(layout(bytes));
    }
    memory
}

/// Gives memory back.
///
/// # Safety
/// It came from `take` with this length, and nothing refers to it.
#[cfg(any(loom, shuttle))]
pub(super) unsafe fn give(memory: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { std::alloc::dealloc(memory, layout(bytes)) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_aligned_to_huge_pages_and_all_of_it_can_be_used() {
        for bytes in [64 << 10, HUGE, 3 * HUGE] {
            let memory = take(bytes);
            if bytes >= HUGE {
                assert_eq!(memory as usize % HUGE, 0);
            }
            for at in [0, bytes / 2, bytes - 1] {
                // SAFETY: within what was taken.
                unsafe {
                    assert_eq!(memory.add(at).read(), 0);
                    memory.add(at).write(1);
                }
            }
            // SAFETY: taken above.
            unsafe { give(memory, bytes) };
        }
    }
}
