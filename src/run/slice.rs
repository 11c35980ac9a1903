//! From a slice of the C API to the bytes it means, checked against its datum.

use super::runtime::Runtime;
use crate::abi::datatype::*;
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};

/// Bytes in memory: `planes` planes of `blocks` blocks of `count` elements. Distances are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: usize,
    /// Bytes in an element.
    pub(crate) element: u64,
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
    /// Bytes in a block.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.count * self.element
    }

    /// Bytes in all.
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
                    + self.block_bytes()
            }
        }
    }

    /// Whether it is one run of bytes.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.span() == self.bytes()
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

    fn access(&self, mode: i32) -> Option<norn_access> {
        (self.data.id != 0).then(|| norn_access {
            data: self.data,
            mode,
            ..norn_access::default()
        })
    }
}

/// Bytes in an element of a type that norn knows.
pub(crate) fn size_of_type(of: norn_type) -> Option<u64> {
    Some(match of {
        NORN_BYTE | NORN_I8 | NORN_U8 => 1,
        NORN_I16 | NORN_U16 => 2,
        NORN_I32 | NORN_U32 | NORN_F32 => 4,
        NORN_I64 | NORN_U64 | NORN_F64 | NORN_C64 => 8,
        NORN_C128 => 16,
        _ => return None,
    })
}

impl Runtime {
    /// What a slice means. `name` names it in messages. `element`: bytes in an element of a type of MPI's, which only
    /// MPI knows; None where such a type cannot be used.
    pub(crate) fn resolve_slice(
        &self,
        slice: &norn_slice,
        name: &str,
        element: Option<u64>,
    ) -> Result<Slice> {
        let refuse = |text: String| Err(Error::new(NORN_E_INVALID, format!("{name}.{text}")));
        if slice.flags != 0 || slice.reserved != 0 {
            return refuse("flags is reserved and must be 0".into());
        }
        let element = match (size_of_type(slice.r#type), element) {
            (Some(element), _) => element,
            (None, Some(element)) if slice.r#type & NORN_OF_MPI != 0 => element,
            (None, _) if slice.r#type & NORN_OF_MPI != 0 => {
                return Err(Error::new(
                    NORN_E_UNSUPPORTED,
                    format!("{name}.type: a type of MPI's can be sent and received, not copied"),
                ));
            }
            _ => return refuse(format!("type {} is none", slice.r#type)),
        };
        let laid_out = lay_out(slice, element);
        let Some((offset, mut resolved)) = laid_out else {
            return refuse("count, blocks, stride and planes exceed the address space".into());
        };
        let empty = resolved.bytes() == 0;
        if !empty && resolved.blocks > 1 && resolved.stride < resolved.block_bytes() {
            return refuse(format!(
                "stride {} is less than count {}",
                slice.stride, slice.count
            ));
        }
        let plane = (resolved.blocks.max(1) - 1) * resolved.stride + resolved.block_bytes();
        if !empty && resolved.planes > 1 && resolved.plane_stride < plane {
            return refuse(format!(
                "plane_stride {} is less than a plane",
                slice.plane_stride
            ));
        }
        let end = offset + resolved.span();
        if slice.data.id == 0 {
            if slice.ptr.is_null() && !empty {
                return refuse("ptr is NULL and no datum is named".into());
            }
            resolved.start = (slice.ptr as usize).wrapping_add(offset as usize);
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
        // A piece in rows is covered by a slice of the same rows.
        let all = memory.bytes.saturating_mul(memory.rows.max(1));
        let same_rows = memory.rows <= 1
            || (resolved.blocks == memory.rows
                && resolved.stride == memory.stride
                && resolved.planes == 1);
        resolved.covers = offset == 0 && resolved.bytes() == all && same_rows;
        Ok(resolved)
    }
}

/// Offset and layout in bytes, unless a number overflows.
fn lay_out(slice: &norn_slice, element: u64) -> Option<(u64, Slice)> {
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
        element,
        count: slice.count,
        blocks,
        stride: stride.checked_mul(element)?,
        planes,
        plane_stride: plane_stride.checked_mul(element)?,
        place: norn_place::default(),
        kind: NORN_MEMORY_HOST,
        data: norn_data::default(),
        covers: false,
    };
    let offset = slice.offset.checked_mul(element)?;
    // So that no later sum or product can overflow.
    let block = slice.count.checked_mul(element)?;
    block.checked_mul(blocks)?.checked_mul(planes)?;
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
        let (offset, resolved) = lay_out(&slice, 8).unwrap();
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
        let (offset, resolved) = lay_out(&slice, 8).unwrap();
        assert_eq!((offset, resolved.bytes(), resolved.span()), (16, 96, 192));
        assert!(!resolved.is_contiguous());
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
            assert!(lay_out(&slice, 8).is_none());
        }
        let (_, resolved) = lay_out(
            &norn_slice {
                blocks: 7,
                stride: 3,
                ..empty()
            },
            8,
        )
        .unwrap();
        assert_eq!((resolved.bytes(), resolved.span()), (0, 0));
    }
}
