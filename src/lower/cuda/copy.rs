//! Copies and fills: from slices to calls of the driver.
//!
//! Addresses are unified: the driver knows from an address where it lies, so one call serves every direction. A copy
//! between devices whose two sides are one run of bytes names both contexts, which works without peer access.

use core::ffi::c_void;

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUcontext, CUmemorytype, CUstream};

use super::copier::Direction;
use super::driver::{Done, Driver};
use crate::abi::status::NORN_E_INVALID;
use crate::error::{Error, Result};
use crate::run::slice::Slice;

/// Longest distance between rows that a 2D copy takes; longer ones go row by row.
const MAX_PITCH: u64 = (1 << 31) - 1;

/// The same rows on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyPlan {
    from: u64,
    to: u64,
    /// Bytes in a row.
    width: u64,
    rows: u64,
    planes: u64,
    from_pitch: u64,
    to_pitch: u64,
    from_plane: u64,
    to_plane: u64,
    /// Contexts of the two sides, where they are different devices.
    peers: Option<Peers>,
    /// Which way pageable memory is moved, if it is.
    pageable: Option<Direction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peers {
    from: usize,
    to: usize,
}

impl CopyPlan {
    /// Checks that both sides hold the same elements in the same arrangement and share no memory; one that is a single run of bytes is
    /// arranged as the other is.
    pub(crate) fn new(from: &Slice, to: &Slice) -> Result<Self> {
        let differ = |what: String| Err(Error::new(NORN_E_INVALID, what));
        if from.element != to.element {
            return differ(format!(
                "from.type has {} bytes, to.type {}",
                from.element, to.element
            ));
        }
        if from.bytes() != to.bytes() {
            return differ(format!(
                "from holds {} bytes, to {}",
                from.bytes(),
                to.bytes()
            ));
        }
        let shape = |slice: &Slice| (slice.count, slice.blocks, slice.planes);
        let (whole_from, whole_to) = (from.is_contiguous(), to.is_contiguous());
        let mut plan = Self {
            from: from.start as u64,
            to: to.start as u64,
            width: from.block_bytes(),
            rows: from.blocks,
            planes: from.planes,
            from_pitch: from.stride,
            to_pitch: to.stride,
            from_plane: from.plane_stride,
            to_plane: to.plane_stride,
            peers: None,
            pageable: if to.is_pageable() {
                Some(Direction::Down)
            } else {
                from.is_pageable().then_some(Direction::Up)
            },
        };
        if whole_from && whole_to {
            plan.width = from.bytes();
            (plan.rows, plan.planes) = (1, 1);
        } else if whole_from {
            plan.width = to.block_bytes();
            (plan.rows, plan.planes) = (to.blocks, to.planes);
            plan.from_pitch = plan.width;
            plan.from_plane = plan.width * plan.rows;
        } else if whole_to {
            plan.to_pitch = plan.width;
            plan.to_plane = plan.width * plan.rows;
        } else if shape(from) != shape(to) {
            return differ(format!(
                "from is {:?} elements by blocks by planes, to {:?}",
                shape(from),
                shape(to)
            ));
        }
        if from.shares_bytes_with(to) {
            return differ("from and to overlap in memory: copy by way of another datum".into());
        }
        Ok(plan)
    }

    /// The two sides are on different devices.
    pub(crate) fn between(mut self, from: CUcontext, to: CUcontext) -> Self {
        self.peers = Some(Peers {
            from: from as usize,
            to: to as usize,
        });
        self
    }

    /// Which way pageable memory is moved, if it is.
    pub(crate) fn pageable(&self) -> Option<Direction> {
        self.pageable
    }

    /// Bytes in all.
    pub(crate) fn bytes(&self) -> u64 {
        self.width * self.rows * self.planes
    }

    /// Queues the copy.
    ///
    /// # Safety
    /// Both sides stay valid until the stream has come that far; the stream's context is current.
    pub(crate) unsafe fn queue(&self, driver: &Driver, stream: CUstream) -> Done {
        if self.width == 0 || self.rows == 0 {
            return Ok(());
        }
        for plane in 0..self.planes {
            let (from, to) = (
                self.from + plane * self.from_plane,
                self.to + plane * self.to_plane,
            );
            // SAFETY: passed on from the caller.
            unsafe { self.queue_plane(driver, stream, from, to) }?;
        }
        Ok(())
    }

    unsafe fn queue_plane(&self, driver: &Driver, stream: CUstream, from: u64, to: u64) -> Done {
        if self.rows == 1 {
            // SAFETY: passed on from the caller.
            return unsafe { self.queue_row(driver, stream, from, to) };
        }
        if self.from_pitch > MAX_PITCH || self.to_pitch > MAX_PITCH || self.peers.is_some() {
            for row in 0..self.rows {
                let (from, to) = (from + row * self.from_pitch, to + row * self.to_pitch);
                // SAFETY: passed on from the caller.
                unsafe { self.queue_row(driver, stream, from, to) }?;
            }
            return Ok(());
        }
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            srcHost: core::ptr::null(),
            srcDevice: from,
            srcArray: core::ptr::null_mut(),
            srcPitch: self.from_pitch as usize,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            dstHost: core::ptr::null_mut(),
            dstDevice: to,
            dstArray: core::ptr::null_mut(),
            dstPitch: self.to_pitch as usize,
            WidthInBytes: self.width as usize,
            Height: self.rows as usize,
        };
        // SAFETY: the description is read in the call; the memory is the caller's promise.
        unsafe { driver.copy_2d(&copy, stream) }
    }

    unsafe fn queue_row(&self, driver: &Driver, stream: CUstream, from: u64, to: u64) -> Done {
        let bytes = self.width as usize;
        // SAFETY: passed on from the caller; the contexts are retained by their devices.
        unsafe {
            match self.peers {
                Some(peers) => driver.copy_peer(
                    to,
                    peers.to as CUcontext,
                    from,
                    peers.from as CUcontext,
                    bytes,
                    stream,
                ),
                None => driver.copy(to, from, bytes, stream),
            }
        }
    }

    /// Copies on the host, at once.
    ///
    /// # Safety
    /// Both sides are host memory that nobody else uses meanwhile; they do not overlap.
    pub(crate) unsafe fn run_on_host(&self) {
        for plane in 0..self.planes {
            for row in 0..self.rows {
                let from = self.from + plane * self.from_plane + row * self.from_pitch;
                let to = self.to + plane * self.to_plane + row * self.to_pitch;
                // SAFETY: within the slices, which are the caller's promise.
                unsafe {
                    core::ptr::copy_nonoverlapping(
                        from as *const u8,
                        to as *mut u8,
                        self.width as usize,
                    );
                }
            }
        }
    }
}

/// One element everywhere in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FillPlan {
    to: u64,
    element: [u8; 16],
    /// Bytes in the element.
    size: u64,
    /// Elements in a row.
    count: u64,
    rows: u64,
    pitch: u64,
    planes: u64,
    plane: u64,
}

impl FillPlan {
    /// `element` is one element, `to.element` bytes of it.
    pub(crate) fn new(to: &Slice, element: &[u8]) -> Self {
        let mut plan = Self {
            to: to.start as u64,
            element: [0; 16],
            size: to.element,
            count: to.count,
            rows: to.blocks,
            pitch: to.stride,
            planes: to.planes,
            plane: to.plane_stride,
        };
        plan.element[..element.len()].copy_from_slice(element);
        if to.is_contiguous() {
            plan.count = to.count * to.blocks * to.planes;
            (plan.rows, plan.planes) = (1, 1);
        }
        plan
    }

    fn word(&self, number: usize) -> u32 {
        let bytes = &self.element[number * 4..][..4];
        u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Queues the fill.
    ///
    /// # Safety
    /// As `CopyPlan::queue`.
    pub(crate) unsafe fn queue(&self, driver: &Driver, stream: CUstream) -> Done {
        if self.count == 0 {
            return Ok(());
        }
        for plane in 0..self.planes {
            let to = self.to + plane * self.plane;
            // SAFETY: passed on from the caller.
            unsafe { self.queue_plane(driver, stream, to) }?;
        }
        Ok(())
    }

    unsafe fn queue_plane(&self, driver: &Driver, stream: CUstream, to: u64) -> Done {
        let words = (self.size / 4) as usize;
        let uniform = words > 1 && (1..words).all(|number| self.word(number) == self.word(0));
        if words > 1 && !uniform {
            // Each word of the elements is a column of its own, `size` apart.
            for row in 0..self.rows {
                for number in 0..words {
                    let start = to + row * self.pitch + 4 * number as u64;
                    let (pitch, height) = (self.size as usize, self.count as usize);
                    // SAFETY: passed on from the caller.
                    unsafe {
                        driver.fill_2d_32(start, pitch, self.word(number), 1, height, stream)
                    }?;
                }
            }
            return Ok(());
        }
        let width = self.count as usize * words.max(1);
        let (height, pitch) = (self.rows as usize, self.pitch as usize);
        let half = u16::from_ne_bytes([self.element[0], self.element[1]]);
        // SAFETY: passed on from the caller.
        unsafe {
            match (self.size, self.rows) {
                (1, 1) => driver.fill_8(to, self.element[0], width, stream),
                (2, 1) => driver.fill_16(to, half, width, stream),
                (_, 1) => driver.fill_32(to, self.word(0), width, stream),
                (1, _) => driver.fill_2d_8(to, pitch, self.element[0], width, height, stream),
                (2, _) => driver.fill_2d_16(to, pitch, half, width, height, stream),
                (_, _) => driver.fill_2d_32(to, pitch, self.word(0), width, height, stream),
            }
        }
    }

    /// Fills on the host, at once.
    ///
    /// # Safety
    /// The slice is host memory that nobody else uses meanwhile.
    pub(crate) unsafe fn run_on_host(&self) {
        let element = &self.element[..self.size as usize];
        for plane in 0..self.planes {
            for row in 0..self.rows {
                let mut at = (self.to + plane * self.plane + row * self.pitch) as *mut c_void;
                for _ in 0..self.count {
                    // SAFETY: within the slice, which is the caller's promise.
                    unsafe {
                        core::ptr::copy_nonoverlapping(element.as_ptr(), at.cast(), element.len());
                        at = at.byte_add(element.len());
                    }
                }
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::abi::types::*;

    fn slice(memory: &[u8], count: u64, blocks: u64, stride: u64) -> Slice {
        Slice {
            start: memory.as_ptr() as usize,
            element: 1,
            extent: 1,
            count,
            blocks,
            stride,
            planes: 1,
            plane_stride: blocks * stride,
            place: norn_place::default(),
            kind: NORN_MEMORY_HOST,
            data: norn_data::default(),
            covers: false,
        }
    }

    #[test]
    fn rows_are_packed_into_one_run_and_back() {
        let matrix: Vec<u8> = (0..20).collect();
        let packed = vec![0u8; 6];
        let (rows, run) = (slice(&matrix, 2, 3, 5), slice(&packed, 6, 1, 6));
        // SAFETY: vectors of this test, large enough for the slices.
        unsafe { CopyPlan::new(&rows, &run).unwrap().run_on_host() };
        assert_eq!(packed, [0, 1, 5, 6, 10, 11]);
        let other = vec![9u8; 20];
        let target = slice(&other, 2, 3, 5);
        // SAFETY: as above.
        unsafe { CopyPlan::new(&run, &target).unwrap().run_on_host() };
        assert_eq!(other[..7], [0, 1, 9, 9, 9, 5, 6]);
    }

    #[test]
    fn sides_that_differ_are_refused() {
        let memory = vec![0u8; 64];
        let rows = slice(&memory, 2, 3, 5);
        assert!(CopyPlan::new(&rows, &slice(&memory, 3, 2, 8)).is_err());
        assert!(CopyPlan::new(&rows, &slice(&memory, 7, 1, 7)).is_err());
        let mut doubles = slice(&memory, 6, 1, 6);
        (doubles.element, doubles.extent) = (8, 8);
        assert!(CopyPlan::new(&rows, &doubles).is_err());
    }

    #[test]
    fn a_fill_leaves_the_gaps_alone() {
        let memory = vec![7u8; 12];
        let plan = FillPlan::new(&slice(&memory, 2, 3, 4), &[1]);
        // SAFETY: the vector of this test, large enough for the slice.
        unsafe { plan.run_on_host() };
        assert_eq!(memory, [1, 1, 7, 7, 1, 1, 7, 7, 1, 1, 7, 7]);
    }
}
