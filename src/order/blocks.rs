//! Memory for slabs: zeroed, and in huge pages where it is large.
//!
//! Every task touches slots that lie far apart, so with ordinary pages a large graph misses in the processor's table of
//! pages as often as in its caches. The kernel is only asked: where it has no huge pages to give, or is told to give
//! none, the memory comes in ordinary ones.
//!
//! What is large comes from the kernel itself: it is zero already, and no page of the allocator's own goes with it. So does
//! what is for small slots, which are links: most graphs need few, and only the pages that are used are ever there.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Bytes of a huge page. A model's slots are few.
pub(super) const HUGE: usize = if cfg!(any(loom, shuttle)) { 1 } else { 2 << 20 };

/// Alignment below which slots are small.
const SMALL: usize = 32;

/// Whether memory comes from the kernel.
fn is_mapped(bytes: usize, align: usize) -> bool {
    cfg!(not(any(loom, shuttle))) && (bytes >= HUGE || align < SMALL)
}

fn layout(bytes: usize, align: usize) -> Layout {
    Layout::from_size_align(bytes, align).unwrap_or(Layout::new::<u128>())
}

/// Zeroed memory of `bytes` bytes, more than none, for slots that are aligned to `align`. Ends the process if there is none,
/// as any allocation does.
pub(super) fn take(bytes: usize, align: usize) -> *mut u8 {
    let layout = layout(bytes, align);
    let memory = if is_mapped(bytes, align) {
        map(bytes)
    } else {
        // SAFETY: the layout is not empty.
        unsafe { alloc_zeroed(layout) }
    };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory
}

/// Gives memory back.
///
/// # Safety
/// It came from `take` with this length and alignment, and nothing refers to it.
pub(super) unsafe fn give(memory: *mut u8, bytes: usize, align: usize) {
    if is_mapped(bytes, align) {
        tell_leak_checker(c"__lsan_unregister_root_region", memory, bytes);
        // SAFETY: mapped by `map` with this length, and passed on.
        unsafe { libc::munmap(memory.cast(), bytes) };
    } else {
        // SAFETY: passed on.
        unsafe { dealloc(memory, layout(bytes, align)) };
    }
}

/// Fresh pages that begin where a huge one does; null if there are none.
fn map(bytes: usize) -> *mut u8 {
    let reserved = bytes + HUGE;
    // SAFETY: asks for pages anywhere; nothing else is touched.
    let start = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            reserved,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return core::ptr::null_mut();
    }
    let before = start.align_offset(HUGE);
    let memory = start.wrapping_byte_add(before);
    // SAFETY: both ends are whole pages of what was mapped just above, and nobody has them; an end may be empty, which is
    // refused and changes nothing. The advice is for what is left, before it is touched, and changes its contents no more.
    unsafe {
        libc::munmap(start, before);
        libc::munmap(memory.wrapping_byte_add(bytes), reserved - before - bytes);
        libc::madvise(memory, bytes, libc::MADV_HUGEPAGE);
    }
    tell_leak_checker(c"__lsan_register_root_region", memory.cast(), bytes);
    memory.cast()
}

/// A leak checker in the process, if there is one, looks for pointers in what came from an allocator only, and would take
/// what slots alone point to, tasks' arguments among it, for lost.
fn tell_leak_checker(function: &core::ffi::CStr, memory: *const u8, bytes: usize) {
    // SAFETY: looks a name up.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr()) };
    if !function.is_null() {
        // SAFETY: the checker's function of that name takes a region, and these pages are one.
        unsafe {
            let function: unsafe extern "C" fn(*const u8, usize) = core::mem::transmute(function);
            function(memory, bytes);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_aligned_to_huge_pages_and_all_of_it_is_zero() {
        for (bytes, align) in [(64 << 10, 4), (64 << 10, 128), (HUGE, 128), (3 * HUGE, 128)] {
            let memory = take(bytes, align);
            let aligned = if is_mapped(bytes, align) { HUGE } else { align };
            assert_eq!(memory as usize % aligned, 0);
            for at in [0, bytes / 2, bytes - 1] {
                // SAFETY: within what was taken.
                unsafe {
                    assert_eq!(memory.add(at).read(), 0);
                    memory.add(at).write(1);
                }
            }
            // SAFETY: taken above.
            unsafe { give(memory, bytes, align) };
        }
    }
}
