//! Where a datum lies, and whether blocks of bytes stay inside it.

/// A run of bytes: `rows` rows of `bytes`, `stride` apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) stride: u64,
}

/// Planes of blocks of bytes, as a slice describes them. `offset` is from the beginning of the datum. None of the numbers
/// of blocks is 0, and the end of the last block is a `u64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    pub(crate) offset: u64,
    /// Bytes in a block.
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) stride: u64,
    pub(crate) planes: u64,
    pub(crate) plane_stride: u64,
}

impl Extent {
    /// Bytes from the first to the last.
    pub(crate) fn span(&self) -> Option<u64> {
        if self.bytes == 0 || self.rows <= 1 {
            return Some(self.bytes);
        }
        (self.rows - 1)
            .checked_mul(self.stride)?
            .checked_add(self.bytes)
    }

    /// Bytes that belong to it: what lies between its rows does not.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.bytes.saturating_mul(self.rows.max(1))
    }

    /// Whether blocks that end within the span touch nothing of what lies between the rows, which is another piece's. Looks
    /// at each row that they touch, and not at each block.
    pub(crate) fn has_in_rows(&self, blocks: &Blocks) -> bool {
        let between = self.rows > 1 && self.stride > self.bytes;
        if !between || blocks.bytes == 0 {
            return true;
        }
        // The last place in a row at which a block may begin.
        let Some(last) = self.bytes.checked_sub(blocks.bytes) else {
            return false;
        };
        // Blocks whole rows apart lie alike in their rows.
        let distinct = |number, stride: u64| match stride % self.stride {
            0 => 1,
            _ => number,
        };
        let planes = distinct(blocks.planes, blocks.plane_stride);
        let number = distinct(blocks.blocks, blocks.stride);
        (0..planes).all(|plane| {
            let mut at = blocks.offset + plane * blocks.plane_stride;
            let mut left = number;
            loop {
                let Some(room) = last.checked_sub(at % self.stride) else {
                    return false;
                };
                // Those of the same row.
                let fit = (1 + room / blocks.stride.max(1)).min(left);
                left -= fit;
                if left == 0 {
                    return true;
                }
                at += fit * blocks.stride;
            }
        })
    }

    /// Whether the byte at an offset is one of its own, or the offset is that of its end.
    pub(crate) fn has_or_ends_at(&self, offset: u64) -> bool {
        let byte = Blocks {
            offset,
            bytes: 1,
            blocks: 1,
            stride: 0,
            planes: 1,
            plane_stride: 0,
        };
        let span = self.span().unwrap_or(0);
        offset == span || (offset < span && self.has_in_rows(&byte))
    }

    /// How its rows are told to whoever has left them.
    pub(crate) fn describe_rows(&self) -> String {
        format!(
            "a piece of {} rows of {} bytes, {} apart: what lies between them is not of the piece",
            self.rows, self.bytes, self.stride
        )
    }
}

/// Names two runs of bytes that overlap, if any do. Rows of all pieces are laid out and sorted.
pub(crate) fn find_overlap(pieces: &[Extent]) -> Option<(usize, usize)> {
    let mut rows: Vec<(u64, u64, usize)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        for row in 0..piece.rows.max(1) {
            let start = piece.start as u64 + row * piece.stride;
            rows.push((start, start + piece.bytes, index));
        }
    }
    rows.retain(|(start, end, _)| end > start);
    rows.sort_unstable();
    rows.windows(2)
        .find(|pair| pair[0].1 > pair[1].0)
        .map(|pair| (pair[0].2, pair[1].2))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The same question, asked of each byte.
    fn has_each_byte(extent: &Extent, blocks: &Blocks) -> bool {
        (0..blocks.planes).all(|plane| {
            (0..blocks.blocks).all(|block| {
                let start = blocks.offset + plane * blocks.plane_stride + block * blocks.stride;
                (start..start + blocks.bytes).all(|byte| byte % extent.stride < extent.bytes)
            })
        })
    }

    #[test]
    fn blocks_stay_in_rows_exactly_where_each_byte_does() {
        let (mut inside, mut outside) = (0, 0);
        for (bytes, row_stride) in [(1, 2), (3, 5), (4, 6), (5, 5), (2, 7)] {
            let extent = Extent {
                start: 0,
                bytes,
                rows: 9,
                stride: row_stride,
            };
            for number in 0..8u64.pow(5) {
                let digit = |place| number / 8u64.pow(place) % 8;
                let blocks = Blocks {
                    offset: digit(0),
                    bytes: digit(1) % 5,
                    blocks: 1 + digit(2) % 4,
                    stride: digit(3),
                    planes: 1 + digit(2) / 4,
                    plane_stride: 2 * digit(4),
                };
                let expected = has_each_byte(&extent, &blocks);
                assert_eq!(
                    extent.has_in_rows(&blocks),
                    expected,
                    "{extent:?} {blocks:?}"
                );
                match expected {
                    true => inside += 1,
                    false => outside += 1,
                }
            }
        }
        assert!(inside > 1000 && outside > 1000);
    }

    #[test]
    fn many_blocks_of_one_row_are_one_step() {
        let extent = Extent {
            start: 0,
            bytes: 1 << 50,
            rows: 2,
            stride: 1 << 51,
        };
        let mut blocks = Blocks {
            offset: 0,
            bytes: 1,
            blocks: 1 << 49,
            stride: 2,
            planes: 1,
            plane_stride: 0,
        };
        assert!(extent.has_in_rows(&blocks));
        blocks.offset = 2;
        assert!(!extent.has_in_rows(&blocks));
    }

    #[test]
    fn rows_of_two_pieces_may_interleave_but_not_touch() {
        let column = |start, bytes| Extent {
            start,
            bytes,
            rows: 3,
            stride: 10,
        };
        assert_eq!(find_overlap(&[column(0, 5), column(5, 5)]), None);
        assert_eq!(find_overlap(&[column(0, 6), column(5, 5)]), Some((0, 1)));
    }
}
