//! What a submission wants of one datum: the mode, and how several accesses of one task become one.

use crate::abi::status::NORN_E_INVALID;
use crate::abi::types::{NORN_COMMUTE, NORN_READ, NORN_READ_WRITE, NORN_REDUCE, NORN_WRITE};
use crate::error::{Error, Result};

/// One access of a submission after merging.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) datum: u32,
    /// One of `NORN_READ`...
    pub(crate) mode: u32,
    /// Node of the reserved place that it fills, 0 for none.
    pub(crate) via: u32,
    /// The place is the one kept for the first writer of an unwritten datum, whatever its mode.
    pub(crate) first_writer: bool,
}

/// The mode that covers two accesses of one task to the same datum.
pub(crate) fn merge_modes(first: u32, second: u32) -> u32 {
    const READ: u32 = NORN_READ as u32;
    const COMMUTE: u32 = NORN_COMMUTE as u32;
    match (first, second) {
        (a, b) if a == b => a,
        (READ, COMMUTE) | (COMMUTE, READ) => COMMUTE,
        // Reading and overwriting, or mixing an order-free mode with another,
        // needs the datum alone and with its content.
        _ => NORN_READ_WRITE as u32,
    }
}

/// Checks a mode from outside.
#[inline(always)]
pub(crate) fn check_mode(mode: i32) -> Result<u32> {
    match mode {
        NORN_READ | NORN_WRITE | NORN_READ_WRITE | NORN_COMMUTE | NORN_REDUCE => Ok(mode as u32),
        _ => Err(Error::new(
            NORN_E_INVALID,
            format!("access mode {mode} is none"),
        )),
    }
}
