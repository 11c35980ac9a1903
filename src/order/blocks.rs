//! Memory for slabs: zeroed, and in huge pages where it is large.
//!
//! Every task touches slots that lie far apart, so with ordinary pages a large graph misses in the processor's table of
//! pages as often as in its caches. The kernel is only asked: where it has no huge pages to give, or is told to give
//! none, the memory comes in ordinary ones.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// Bytes of a huge page. A model's slots are few.
pub(super) const HUGE: usize = if cfg!(any(loom, shuttle)) { 1 } else { 2 << 20 };

/// What is large begins where a huge page does; the rest is aligned for slots of any kind.
fn layout(bytes: usize) -> Layout {
    let align = if bytes >= HUGE { HUGE.max(128) } else { 128 };
    Layout::from_size_align(bytes, align).unwrap_or(Layout::new::<u128>())
}

/// Zeroed memory of `bytes` bytes, more than none. Ends the process if there is none, as any allocation does.
pub(super) fn take(bytes: usize) -> *mut u8 {
    let layout = layout(bytes);
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    if cfg!(not(any(loom, shuttle))) && bytes >= HUGE {
        // Before the memory is touched, or it has its pages already.
        // SAFETY: these pages are all within what was allocated; the advice changes nothing but the size of those to come.
        unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    // SAFETY: allocated just above with this length.
    unsafe { memory.write_bytes(0, bytes) };
    memory
}

/// Gives memory back.
///
/// # Safety
/// It came from `take` with this length, and nothing refers to it.
pub(super) unsafe fn give(memory: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { dealloc(memory, layout(bytes)) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_aligned_to_huge_pages_and_all_of_it_is_zero() {
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
