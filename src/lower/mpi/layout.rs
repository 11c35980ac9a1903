//! How MPI takes a slice: elements in as few dimensions as they need, and the access that a side of an operation makes.

use crate::abi::status::NORN_E_INVALID;
use crate::abi::types::{NORN_READ_WRITE, norn_access, norn_place};
use crate::error::{Error, Result};
use crate::run::slice::{Element, Slice};

/// Which side of an operation a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Target,
    /// Read and written, as the buffer of a reduction in place.
    Both,
}

/// See the module's text. Distances are in elements.
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
    /// `name`: of the argument, for messages.
    pub(crate) fn of(slice: &Slice, name: &str, side: Side) -> Result<Self> {
        let element = Element {
            bytes: slice.element,
            extent: slice.extent,
        };
        let in_elements = |bytes: u64| bytes.checked_div(slice.extent).unwrap_or(0);
        let (mut count, mut blocks, mut planes) = (slice.count, slice.blocks, slice.planes);
        let (mut stride, plane_stride) =
            (in_elements(slice.stride), in_elements(slice.plane_stride));
        if count == 0 || slice.extent == 0 {
            (count, blocks, planes) = (count * blocks * planes, 1, 1);
        }
        // One block directly behind another is one block.
        if blocks == 1 && planes > 1 {
            (blocks, stride, planes) = (planes, plane_stride, 1);
        }
        if blocks > 1 && stride == count && (planes == 1 || plane_stride == count * blocks) {
            (count, blocks, planes) = (count * blocks * planes, 1, 1);
        }
        if side != Side::Source && overlaps(count, blocks, stride, planes, plane_stride) {
            return Err(Error::new(
                NORN_E_INVALID,
                format!(
                    "{name}: blocks of a target must not overlap: stride is less than count, or plane_stride less than a plane"
                ),
            ));
        }
        Ok(Self {
            address: slice.start,
            place: slice.place,
            count,
            blocks,
            stride,
            planes,
            plane_stride,
            element,
            bytes: slice.bytes(),
            access: match side {
                Side::Source => slice.access_as_source(),
                Side::Target => slice.access_as_target(),
                Side::Both => slice.access(NORN_READ_WRITE),
            },
        })
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
