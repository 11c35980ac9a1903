//! Tokens: 10 bits of runtime, 26 of slot index, 28 of generation.
//!
//! A token is complete exactly when its slot has moved on to a later
//! generation. Generations start at 1 and a slot whose generation reaches its
//! top is retired, so a token never names anything but its own operation and
//! never equals `{0}`. Data and groups use the same shape over their own tables.

use crate::abi::types::norn_token;

/// Bits of the slot index.
pub(crate) const INDEX_BITS: u32 = 26;
/// Bits of the generation.
pub(crate) const GENERATION_BITS: u32 = 28;
/// Slots of one runtime.
pub(crate) const MAX_INDEX: u32 = (1 << INDEX_BITS) - 1;
/// Last generation; a slot that reaches it is never reused.
pub(crate) const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;
/// Runtimes of one process.
pub(crate) const MAX_RUNTIMES: usize = 1 << 10;

/// A token taken apart. `Token(0)` is complete from the start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Token(pub(crate) u64);

impl Token {
    /// The token that is complete from the start.
    pub(crate) const COMPLETE: Token = Token(0);

    #[inline(always)]
    pub(crate) fn new(runtime: u32, index: u32, generation: u32) -> Self {
        debug_assert!(index <= MAX_INDEX && generation <= LAST_GENERATION);
        Token(
            (u64::from(runtime) << (INDEX_BITS + GENERATION_BITS))
                | (u64::from(index) << GENERATION_BITS)
                | u64::from(generation),
        )
    }

    #[inline(always)]
    pub(crate) fn runtime(self) -> u32 {
        (self.0 >> (INDEX_BITS + GENERATION_BITS)) as u32
    }

    #[inline(always)]
    pub(crate) fn index(self) -> u32 {
        (self.0 >> GENERATION_BITS) as u32 & MAX_INDEX
    }

    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        self.0 as u32 & LAST_GENERATION
    }

    #[inline(always)]
    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<norn_token> for Token {
    #[inline(always)]
    fn from(token: norn_token) -> Self {
        Token(token.id)
    }
}

impl From<Token> for norn_token {
    #[inline(always)]
    fn from(token: Token) -> Self {
        norn_token { id: token.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_parts_survive_at_their_limits() {
        for (runtime, index, generation) in
            [(0, 0, 1), (1023, MAX_INDEX, LAST_GENERATION), (5, 77, 9)]
        {
            let token = Token::new(runtime, index, generation);
            assert_eq!(
                (token.runtime(), token.index(), token.generation()),
                (runtime, index, generation)
            );
        }
    }
}
