//! How MPI takes a slice: elements in as few dimensions as they need, and the access that a side of an operation makes.

use crate::abi::slice::norn_slice;
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
        // Most are one block, whose distances mean nothing and are not divided.
        let in_elements = |bytes: u64, of: u64| match of {
            1 => 0,
            _ => bytes.checked_div(slice.extent).unwrap_or(0),
        };
        let (mut count, mut blocks, mut planes) = (slice.count, slice.blocks, slice.planes);
        let mut stride = in_elements(slice.stride, blocks);
        let plane_stride = in_elements(slice.plane_stride, planes);
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

    /// What most slices are: one block of the application's memory. None: it is more, or not right.
    pub(crate) fn of_one_block(slice: &norn_slice, element: Element) -> Option<Self> {
        let apart = slice.stride | slice.plane_stride | slice.offset;
        let plain = slice.data.id == 0
            && slice.flags == 0
            && slice.reserved == 0
            && apart == 0
            && slice.blocks <= 1
            && slice.planes <= 1
            && !slice.ptr.is_null();
        let bytes = slice.count.checked_mul(element.bytes)?;
        let extent = slice.count.checked_mul(element.extent)?;
        let fits = extent <= isize::MAX as u64
            && (slice.ptr as usize).checked_add(extent as usize).is_some();
        (plain && fits && extent != 0).then_some(Self {
            address: slice.ptr as usize,
            place: slice.place,
            count: slice.count,
            blocks: 1,
            stride: 0,
            planes: 1,
            plane_stride: 0,
            element,
            bytes,
            access: None,
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
    use crate::abi::types::norn_data;

    const ELEMENT: Element = Element {
        bytes: 8,
        extent: 8,
    };

    /// What the general way makes of elements of 8 bytes; distances in elements. Count, blocks, stride, planes and plane stride.
    fn laid_out(
        count: u64,
        (blocks, stride): (u64, u64),
        (planes, plane_stride): (u64, u64),
    ) -> [u64; 5] {
        let slice = Slice {
            start: 4096,
            element: 8,
            extent: 8,
            count,
            blocks,
            stride: stride * 8,
            planes,
            plane_stride: plane_stride * 8,
            place: norn_place::default(),
            kind: 0,
            data: norn_data::default(),
            covers: false,
        };
        let layout = Layout::of(&slice, "to", Side::Target).unwrap();
        assert_eq!(layout.bytes, count * blocks * planes * 8);
        let dense = layout.blocks * layout.planes == 1;
        assert_eq!(layout.is_contiguous(), dense);
        [
            layout.count,
            layout.blocks,
            layout.stride,
            layout.planes,
            layout.plane_stride,
        ]
    }

    #[test]
    fn blocks_that_follow_each_other_are_one_and_others_stay() {
        assert_eq!(laid_out(4, (1, 0), (1, 0)), [4, 1, 0, 1, 0]);
        assert_eq!(laid_out(4, (3, 4), (1, 0))[..4], [12, 1, 4, 1]);
        assert_eq!(laid_out(4, (3, 4), (2, 12))[..4], [24, 1, 4, 1]);
        assert_eq!(laid_out(4, (3, 5), (1, 0))[..4], [4, 3, 5, 1]);
        // Dense planes that lie apart.
        assert_eq!(laid_out(4, (3, 4), (2, 20)), [4, 3, 4, 2, 20]);
        assert_eq!(laid_out(4, (3, 5), (2, 15)), [4, 3, 5, 2, 15]);
        // Planes of one block are blocks, and may follow each other.
        assert_eq!(laid_out(4, (1, 0), (3, 9))[..4], [4, 3, 9, 1]);
        assert_eq!(laid_out(4, (1, 0), (3, 4))[..4], [12, 1, 4, 1]);
        // Nothing is one block of nothing.
        assert_eq!(laid_out(0, (3, 5), (2, 15))[..2], [0, 1]);
    }

    #[test]
    fn one_block_of_plain_memory_is_what_the_general_way_makes_of_it() {
        let element = ELEMENT;
        let memory = [0f64; 4];
        // SAFETY: numbers and pointers, for which zero is valid.
        let mut slice: norn_slice = unsafe { core::mem::zeroed() };
        slice.ptr = memory.as_ptr().cast_mut().cast();
        slice.count = 4;
        let layout = Layout::of_one_block(&slice, element).unwrap();
        assert_eq!((layout.address, layout.bytes), (slice.ptr as usize, 32));
        assert!(layout.is_contiguous());
        let shape = [
            layout.count,
            layout.blocks,
            layout.stride,
            layout.planes,
            layout.plane_stride,
        ];
        assert_eq!(shape, laid_out(4, (1, 0), (1, 0)));
        for spoil in [
            |slice: &mut norn_slice| slice.blocks = 2,
            |slice: &mut norn_slice| slice.planes = 2,
            |slice: &mut norn_slice| slice.offset = 1,
            |slice: &mut norn_slice| slice.stride = 4,
            |slice: &mut norn_slice| slice.plane_stride = 4,
            |slice: &mut norn_slice| slice.flags = 1,
            |slice: &mut norn_slice| slice.reserved = 1,
            |slice: &mut norn_slice| slice.count = 0,
            |slice: &mut norn_slice| slice.count = u64::MAX / 8,
            // Eight times that is 32 again.
            |slice: &mut norn_slice| slice.count = (1 << 61) + 4,
            |slice: &mut norn_slice| slice.ptr = core::ptr::null_mut(),
            |slice: &mut norn_slice| slice.data.id = 1,
        ] {
            let mut other = slice;
            spoil(&mut other);
            assert!(Layout::of_one_block(&other, element).is_none());
        }
        // Its bytes can be counted, but not what they extend over, of which 64 would be left.
        let sparse = Element {
            bytes: 8,
            extent: 16,
        };
        slice.count = (1 << 60) + 4;
        assert!(Layout::of_one_block(&slice, sparse).is_none());
    }

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
