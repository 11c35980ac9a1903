//! Memory of norn's own behind a datum.

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use crate::abi::status::NORN_E_MEMORY;
use crate::error::{Error, Result};
use crate::order::submit::invalid;

/// Alignment of host memory: a cache line, and any vector register.
const ALIGNMENT: usize = 64;

/// Freed when it is dropped; whoever drops it knows that nothing uses it any more.
pub(crate) trait Memory: Send + Sync {
    /// Its first byte, which the host may not be able to touch.
    fn address(&self) -> usize;
}

/// Ordinary host memory, zeroed.
pub(crate) struct HostMemory {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns the block, and gives away no more than its address.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `bytes` is not 0.
    pub(crate) fn new(bytes: u64) -> Result<Self> {
        let layout = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| Layout::from_size_align(bytes, ALIGNMENT).ok())
            .ok_or_else(|| invalid(format!("desc.bytes {bytes} exceeds the address space")))?;
        // SAFETY: the layout is not empty.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or_else(|| Error::new(NORN_E_MEMORY, format!("no memory for {bytes} bytes")))?;
        Ok(Self { pointer, layout })
    }
}

impl Memory for HostMemory {
    fn address(&self) -> usize {
        self.pointer.as_ptr() as usize
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout, and freed once.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) };
    }
}
