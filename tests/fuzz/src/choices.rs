//! Bytes as choices. When they run out every choice is the first one.

use arbitrary::Unstructured;

pub struct Choices<'a>(Unstructured<'a>);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Choices(Unstructured::new(bytes))
    }

    pub fn over(&self) -> bool {
        self.0.is_empty()
    }

    /// 0 to `count - 1`.
    pub fn below(&mut self, count: usize) -> usize {
        self.0.int_in_range(0..=count - 1).unwrap_or(0)
    }

    /// True for one value of so many; false when the bytes have run out.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn number(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or(0)
    }
}
