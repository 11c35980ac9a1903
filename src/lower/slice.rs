//! From a description of memory to addresses: what a slice touches, checked against its datum.

use crate::abi::slice::norn_slice;
use crate::abi::status::NORN_E_INVALID;
use crate::abi::types::{NORN_READ, NORN_READ_WRITE, NORN_WRITE, norn_access, norn_place};
use crate::error::{Error, Result};
use crate::order::graph::Graph;

/// Bytes of one element, and from one element to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) bytes: u64,
    pub(crate) extent: u64,
}

impl Element {
    /// A predefined type, by its number; None for a type of MPI's.
    pub(crate) fn builtin(number: i64) -> Option<Self> {
        const BYTES: [u64; 13] = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16];
        let bytes = *BYTES.get(usize::try_from(number).ok()?)?;
        Some(Self {
            bytes,
            extent: bytes,
        })
    }
}

/// Which side of an operation a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Target,
    /// Read and written, as the buffer of a reduction in place.
    Both,
}

/// A slice, resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// First byte.
    pub(crate) address: usize,
    pub(crate) place: norn_place,
    /// Elements of a block, blocks of a plane, planes: none is 0 unless all is empty.
    pub(crate) count: u64,
    pub(crate) blocks: u64,
    pub(crate) stride: u64,
    pub(crate) planes: u64,
    pub(crate) plane_stride: u64,
    pub(crate) element: Element,
    /// Bytes of data in all of it.
    pub(crate) bytes: u64,
    /// What the operation does to the datum, if there is one.
    pub(crate) access: Option<norn_access>,
}

impl Layout {
    /// Resolves a slice. `name`: of the argument, for messages.
    pub(crate) fn of(
        graph: &Graph,
        slice: &norn_slice,
        name: &str,
        element: Element,
        side: Side,
    ) -> Result<Self> {
        let invalid = |what: String| Error::new(NORN_E_INVALID, format!("{name}: {what}"));
        if slice.flags != 0 || slice.reserved != 0 {
            return Err(invalid("flags and reserved must be 0".into()));
        }
        let too_large = || invalid("the slice exceeds the address space".into());
        let blocks = slice.blocks.max(1);
        let planes = slice.planes.max(1);
        let elements = slice
            .count
            .checked_mul(blocks)
            .and_then(|all| all.checked_mul(planes))
            .ok_or_else(too_large)?;
        let bytes = elements.checked_mul(element.bytes).ok_or_else(too_large)?;
        // One block directly behind another is one block.
        let (mut count, mut blocks) = (slice.count, blocks);
        let mut stride = match slice.stride {
            0 => count,
            stride => stride,
        };
        let mut planes = planes;
        let plane_stride = match slice.plane_stride {
            0 => stride.checked_mul(blocks).ok_or_else(too_large)?,
            stride => stride,
        };
        if elements == 0 {
            (count, blocks, planes) = (0, 1, 1);
        }
        if blocks == 1 && planes > 1 {
            (blocks, stride, planes) = (planes, plane_stride, 1);
        }
        if blocks > 1 && stride == count && (planes == 1 || plane_stride == count * blocks) {
            (count, blocks, planes) = (count * blocks * planes, 1, 1);
        }
        if side != Side::Source && overlaps(count, blocks, stride, planes, plane_stride) {
            return Err(invalid(
                "blocks of a target must not overlap: stride is less than count, or plane_stride less than a plane"
                    .into(),
            ));
        }
        let last = (planes - 1)
            .checked_mul(if planes > 1 { plane_stride } else { 0 })
            .and_then(|at| {
                at.checked_add((blocks - 1).checked_mul(if blocks > 1 { stride } else { 0 })?)
            })
            .and_then(|at| at.checked_add(count))
            .ok_or_else(too_large)?;
        let in_bytes = |elements: u64| elements.checked_mul(element.extent);
        let begin = in_bytes(slice.offset).ok_or_else(too_large)?;
        let end = slice
            .offset
            .checked_add(last)
            .and_then(in_bytes)
            .ok_or_else(too_large)?;
        let mut layout = Self {
            address: 0,
            place: slice.place,
            count,
            blocks,
            stride,
            planes,
            plane_stride,
            element,
            bytes,
            access: None,
        };
        if slice.data.id == 0 {
            if slice.ptr.is_null() && bytes != 0 {
                return Err(invalid("neither data nor ptr is given".into()));
            }
            layout.address = (slice.ptr as usize)
                .checked_add(usize::try_from(begin).map_err(|_| too_large())?)
                .filter(|_| (slice.ptr as usize).checked_add(end as usize).is_some())
                .ok_or_else(too_large)?;
            return Ok(layout);
        }
        if !slice.ptr.is_null() {
            return Err(invalid("data and ptr are both given".into()));
        }
        // Rows of a 2D piece count with what is between them.
        let (memory, place, _) = graph.memory_of(slice.data)?;
        let (start, held) = (memory.start, memory.span().unwrap_or(0));
        if end > held {
            return Err(invalid(format!(
                "it ends at byte {end} of a datum of {held} bytes"
            )));
        }
        layout.place = place;
        layout.address = start + begin as usize;
        let covers = bytes == held && element.bytes == element.extent;
        layout.access = Some(norn_access {
            data: slice.data,
            slot: 0,
            mode: match side {
                Side::Source => NORN_READ,
                Side::Target if covers => NORN_WRITE,
                Side::Target | Side::Both => NORN_READ_WRITE,
            },
            flags: 0,
        });
        Ok(layout)
    }

    /// One run of bytes.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.blocks == 1 && self.planes == 1 && self.element.bytes == self.element.extent
    }
}

/// Whether two blocks share an element. Either dimension may be the inner one.
fn overlaps(count: u64, blocks: u64, stride: u64, planes: u64, plane_stride: u64) -> bool {
    let mut dimensions = [(stride, blocks), (plane_stride, planes)];
    dimensions.sort_unstable();
    let mut reach = count;
    for (stride, number) in dimensions {
        if number > 1 {
            if stride < reach {
                return true;
            }
            reach = stride.saturating_mul(number - 1).saturating_add(reach);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_target_overlap_when_a_stride_is_short() {
        assert!(!overlaps(4, 3, 4, 1, 0));
        assert!(overlaps(4, 3, 3, 1, 0));
        assert!(!overlaps(2, 3, 10, 5, 30));
        assert!(overlaps(2, 3, 10, 5, 21));
        // Planes inside blocks.
        assert!(!overlaps(2, 3, 10, 5, 2));
        assert!(overlaps(2, 3, 9, 5, 2));
        assert!(overlaps(1, u64::MAX, 1, 2, 5));
    }
}
