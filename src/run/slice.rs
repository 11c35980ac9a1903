//! From a slice of the C API to the bytes it means, checked against its datum.

use super::runtime::Runtime;
use crate::abi::datatype::*;
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::extent::Blocks;

/// Bytes of data in one element, and bytes from one element to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) bytes: u64,
    pub(crate) extent: u64,
}

impl Element {
    /// An element of a type that norn knows; None for a type of MPI's.
    pub(crate) fn of(datatype: norn_type) -> Option<Self> {
        let bytes = match datatype {
            NORN_BYTE | NORN_I8 | NORN_U8 => 1,
            NORN_I16 | NORN_U16 => 2,
            NORN_I32 | NORN_U32 | NORN_F32 => 4,
            NORN_I64 | NORN_U64 | NORN_F64 | NORN_C64 => 8,
            NORN_C128 => 16,
            _ => return None,
        };
        Some(Self {
            bytes,
            extent: bytes,
        })
    }
}

/// Bytes in memory: `planes` planes of `blocks` blocks of `count` elements. Distances are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: usize,
    /// Bytes of data in an element, and from one to the next: more, where a type of MPI's has gaps.
    pub(crate) element: u64,
    pub(crate) extent: u64,
    /// Elements in a block.
    pub(crate) count: u64,
    pub(crate) blocks: u64,
    pub(crate) stride: u64,
    pub(crate) planes: u64,
    pub(crate) plane_stride: u64,
    pub(crate) place: norn_place,
    /// One of `NORN_MEMORY_*`.
    pub(crate) kind: i32,
    /// The datum, `{0}` for memory of the caller.
    pub(crate) data: norn_data,
    /// It is the whole datum.
    pub(crate) covers: bool,
}

impl Slice {
    /// Bytes of data in a block.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.count * self.element
    }

    /// Bytes that a block extends over.
    fn block_extent(&self) -> u64 {
        self.count * self.extent
    }

    /// Bytes of data in all.
    pub(crate) fn bytes(&self) -> u64 {
        self.block_bytes() * self.blocks * self.planes
    }

    /// Bytes from the first to the last.
    pub(crate) fn span(&self) -> u64 {
        match self.bytes() {
            0 => 0,
            _ => {
                (self.planes - 1) * self.plane_stride
                    + (self.blocks - 1) * self.stride
                    + self.block_extent()
            }
        }
    }

    /// Its blocks, the first one `offset` bytes from the beginning of its datum.
    fn as_blocks(&self, offset: u64) -> Blocks {
        Blocks {
            offset,
            bytes: self.block_extent(),
            blocks: self.blocks,
            stride: self.stride,
            planes: self.planes,
            plane_stride: self.plane_stride,
        }
    }

    /// Whether it is one run of bytes.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.span() == self.bytes()
    }

    /// Starts of its rows, and the bytes in each. One run of bytes is one row. They ascend, because what is copied has its
    /// blocks and planes one behind the other (`resolve_copied`).
    fn rows(&self) -> (impl Iterator<Item = u64>, u64) {
        let (planes, blocks, bytes) = match self.is_contiguous() {
            true => (1, 1, self.bytes()),
            false => (self.planes, self.blocks, self.block_bytes()),
        };
        let (start, stride, plane_stride) = (self.start as u64, self.stride, self.plane_stride);
        let starts = (0..planes).flat_map(move |plane| {
            (0..blocks).map(move |block| start + plane * plane_stride + block * stride)
        });
        (starts, bytes)
    }

    /// Whether a byte is in both. Rows that interleave share none.
    pub(crate) fn shares_bytes_with(&self, other: &Self) -> bool {
        let end = |slice: &Self| slice.start as u64 + slice.span();
        let apart = end(self) <= other.start as u64 || end(other) <= self.start as u64;
        if apart || self.bytes() == 0 || other.bytes() == 0 {
            return false;
        }
        let ((mut these, bytes), (mut those, other_bytes)) = (self.rows(), other.rows());
        let (mut this, mut that) = (these.next(), those.next());
        while let (Some(start), Some(other_start)) = (this, that) {
            if start + bytes <= other_start {
                this = these.next();
            } else if other_start + other_bytes <= start {
                that = those.next();
            } else {
                return true;
            }
        }
        false
    }

    /// Whether it lies in the memory of a device.
    pub(crate) fn is_on_device(&self) -> bool {
        self.place.kind == NORN_PLACE_DEVICE
    }

    /// Whether it lies in ordinary host memory, which a device cannot reach by itself.
    pub(crate) fn is_pageable(&self) -> bool {
        !self.is_on_device() && self.kind != NORN_MEMORY_PINNED
    }

    /// The access that reading it makes, if it names a datum.
    pub(crate) fn access_as_source(&self) -> Option<norn_access> {
        self.access(NORN_READ)
    }

    /// The access that filling it makes, if it names a datum.
    pub(crate) fn access_as_target(&self) -> Option<norn_access> {
        self.access(if self.covers {
            NORN_WRITE
        } else {
            NORN_READ_WRITE
        })
    }

    pub(crate) fn access(&self, mode: i32) -> Option<norn_access> {
        (self.data.id != 0).then(|| norn_access {
            data: self.data,
            mode,
            ..norn_access::default()
        })
    }
}

impl Runtime {
    /// What a slice means that is copied or filled. `name` names it in messages.
    pub(crate) fn resolve_copied(&self, slice: &norn_slice, name: &str) -> Result<Slice> {
        let refuse = |text: String| Err(Error::new(NORN_E_INVALID, format!("{name}.{text}")));
        let Some(element) = Element::of(slice.r#type) else {
            if slice.r#type & NORN_OF_MPI == 0 {
                return refuse(format!("type {} is none", slice.r#type));
            }
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!("{name}.type: a type of MPI's can be sent and received, not copied"),
            ));
        };
        let resolved = self.resolve_slice(slice, name, element)?;
        if resolved.bytes() == 0 {
            return Ok(resolved);
        }
        if resolved.blocks > 1 && resolved.stride < resolved.block_bytes() {
            return refuse(format!(
                "stride {} is less than count {}",
                slice.stride, slice.count
            ));
        }
        let plane = (resolved.blocks - 1) * resolved.stride + resolved.block_bytes();
        if resolved.planes > 1 && resolved.plane_stride < plane {
            return refuse(format!(
                "plane_stride {} is less than a plane",
                slice.plane_stride
            ));
        }
        Ok(resolved)
    }

    /// What a slice means, whose blocks may overlap. `name` names it in messages; `element`: of its type.
    pub(crate) fn resolve_slice(
        &self,
        slice: &norn_slice,
        name: &str,
        element: Element,
    ) -> Result<Slice> {
        let refuse = |text: String| Err(Error::new(NORN_E_INVALID, format!("{name}.{text}")));
        for (reserved, field) in [(slice.flags, "flags"), (slice.reserved, "reserved")] {
            if reserved != 0 {
                return refuse(format!("{field} is reserved and must be 0"));
            }
        }
        let laid_out = lay_out(slice, element);
        let Some((offset, mut resolved)) = laid_out else {
            return refuse("count, blocks, stride and planes exceed the address space".into());
        };
        let empty = resolved.bytes() == 0;
        let end = offset + resolved.span();
        if slice.data.id == 0 {
            if slice.ptr.is_null() && !empty {
                return refuse("ptr is NULL and no datum is named".into());
            }
            if (slice.ptr as u64).checked_add(end).is_none() {
                return refuse("ptr: the slice exceeds the address space".into());
            }
            match slice.place.kind {
                NORN_PLACE_ANY | NORN_PLACE_CPU | NORN_PLACE_NUMA | NORN_PLACE_DEVICE => {}
                kind => {
                    return refuse(format!(
                        "place.kind {kind} is neither a device nor the host ({{0}})"
                    ));
                }
            }
            resolved.start = slice.ptr as usize + offset as usize;
            resolved.place = slice.place;
            if slice.place.kind == NORN_PLACE_DEVICE {
                resolved.kind = NORN_MEMORY_DEVICE;
            }
            return Ok(resolved);
        }
        if !slice.ptr.is_null() {
            return refuse("ptr and data are both set".into());
        }
        let (memory, place, kind) = self.graph().memory_of(slice.data).map_err(|error| {
            Error::new(error.status(), format!("{name}.data: {}", error.text()))
        })?;
        let span = memory.span().unwrap_or(0);
        if end > span {
            return refuse(format!(
                "data: the slice ends {end} bytes from the start of a datum of {span}"
            ));
        }
        resolved.start = memory.start.wrapping_add(offset as usize);
        resolved.place = place;
        resolved.kind = kind;
        resolved.data = slice.data;
        // A type with gaps may describe rows itself, and only MPI knows which: it is taken at its word.
        let gapless = element.bytes == element.extent;
        if !empty && gapless && !memory.has_in_rows(&resolved.as_blocks(offset)) {
            return refuse(format!(
                "data: the slice leaves the rows of {}; give blocks and stride",
                memory.describe_rows()
            ));
        }
        // Blocks of a target do not overlap and lie in the datum: all bytes are every byte.
        resolved.covers = gapless && resolved.bytes() == memory.own_bytes();
        Ok(resolved)
    }
}

/// Offset and layout in bytes, unless a number overflows.
fn lay_out(slice: &norn_slice, element: Element) -> Option<(u64, Slice)> {
    let (blocks, planes) = (slice.blocks.max(1), slice.planes.max(1));
    let stride = match slice.stride {
        0 => slice.count,
        stride => stride,
    };
    let plane_stride = match slice.plane_stride {
        0 => stride.checked_mul(blocks)?,
        stride => stride,
    };
    let resolved = Slice {
        start: 0,
        element: element.bytes,
        extent: element.extent,
        count: slice.count,
        blocks,
        stride: stride.checked_mul(element.extent)?,
        planes,
        plane_stride: plane_stride.checked_mul(element.extent)?,
        place: norn_place::default(),
        kind: NORN_MEMORY_HOST,
        data: norn_data::default(),
        covers: false,
    };
    let offset = slice.offset.checked_mul(element.extent)?;
    // So that no later sum or product can overflow.
    let data = slice.count.checked_mul(blocks)?.checked_mul(planes)?;
    data.checked_mul(element.bytes)?;
    let block = slice.count.checked_mul(element.extent)?;
    let span = (planes - 1)
        .checked_mul(resolved.plane_stride)?
        .checked_add((blocks - 1).checked_mul(resolved.stride)?)?
        .checked_add(block)?;
    let end = offset.checked_add(span)?;
    (end <= isize::MAX as u64).then_some((offset, resolved))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const BYTE: Element = Element {
        bytes: 1,
        extent: 1,
    };
    const DOUBLE: Element = Element {
        bytes: 8,
        extent: 8,
    };

    fn empty() -> norn_slice {
        // SAFETY: all-zero bytes are the empty slice, as the C API says.
        unsafe { core::mem::zeroed() }
    }

    #[test]
    fn defaults_fill_in_strides() {
        let slice = norn_slice {
            r#type: NORN_F64,
            count: 4,
            blocks: 3,
            planes: 2,
            ..empty()
        };
        let (offset, resolved) = lay_out(&slice, DOUBLE).unwrap();
        assert_eq!(offset, 0);
        assert_eq!((resolved.stride, resolved.plane_stride), (32, 96));
        assert_eq!((resolved.bytes(), resolved.span()), (192, 192));
        assert!(resolved.is_contiguous());
    }

    #[test]
    fn a_matrix_within_a_larger_one_is_not_contiguous() {
        let slice = norn_slice {
            count: 4,
            blocks: 3,
            stride: 10,
            offset: 2,
            ..empty()
        };
        let (offset, resolved) = lay_out(&slice, DOUBLE).unwrap();
        assert_eq!((offset, resolved.bytes(), resolved.span()), (16, 96, 192));
        assert!(!resolved.is_contiguous());
    }

    #[test]
    fn rows_that_interleave_share_no_byte() {
        let at = |offset, count, blocks, planes| {
            let slice = norn_slice {
                offset,
                count,
                blocks,
                stride: 10,
                planes,
                plane_stride: 100,
                ..empty()
            };
            let (offset, resolved) = lay_out(&slice, BYTE).unwrap();
            Slice {
                start: 1000 + offset as usize,
                ..resolved
            }
        };
        let column = at(0, 4, 5, 3);
        assert!(column.shares_bytes_with(&column));
        for (other, expected) in [
            (at(4, 6, 5, 3), false),
            (at(4, 7, 4, 3), true),
            (at(3, 1, 1, 1), true),
            (at(243, 1, 1, 1), true),
            (at(244, 6, 1, 1), false),
            (at(50, 50, 1, 1), false),
            (at(50, 51, 1, 1), true),
            (at(244, 0, 1, 1), false),
            (at(50, 10, 5, 2), false),
        ] {
            assert_eq!(column.shares_bytes_with(&other), expected, "{other:?}");
            assert_eq!(other.shares_bytes_with(&column), expected, "{other:?}");
        }
    }

    #[test]
    fn what_overflows_is_refused_and_nothing_is_empty() {
        for slice in [
            norn_slice {
                count: u64::MAX,
                ..empty()
            },
            norn_slice {
                count: 1 << 40,
                blocks: 1 << 30,
                ..empty()
            },
            norn_slice {
                count: 1,
                offset: u64::MAX / 8,
                ..empty()
            },
            norn_slice {
                count: 1,
                planes: 1 << 20,
                plane_stride: 1 << 50,
                ..empty()
            },
        ] {
            assert!(lay_out(&slice, DOUBLE).is_none());
        }
        let (_, resolved) = lay_out(
            &norn_slice {
                blocks: 7,
                stride: 3,
                ..empty()
            },
            DOUBLE,
        )
        .unwrap();
        assert_eq!((resolved.bytes(), resolved.span()), (0, 0));
    }
}
