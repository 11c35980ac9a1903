//! Memory described: what copies, messages and collectives work on.
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

use core::ffi::c_void;

use super::datatype::norn_type;
use super::types::{norn_data, norn_place};

/// A part of a datum, or of plain memory: `planes` planes of `blocks` blocks of `count` elements. All zero is empty.
///
/// With `data`, the memory is that datum's, and the operation adds its own access to it: READ where it reads, WRITE
/// where it overwrites the whole datum, READ_WRITE where it writes a part. Without, it is `ptr`'s, which the
/// application keeps alive and untouched until the token completes. A piece of a split datum is a datum too.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct norn_slice {
    /// The datum, or `{0}`: plain memory at `ptr`.
    pub data: norn_data,
    /// Plain memory; NULL with `data`, and allowed to be NULL where there are no elements.
    pub ptr: *mut c_void,
    /// Where `ptr` lies; not read with `data`.
    pub place: norn_place,
    /// Type of an element.
    pub r#type: norn_type,
    /// Reserved, 0.
    pub flags: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Elements to skip before the first one.
    pub offset: u64,
    /// Elements of a block.
    pub count: u64,
    /// Blocks of a plane; 0 is 1.
    pub blocks: u64,
    /// Elements from one block to the next, not read for one block. A target's blocks must not overlap.
    pub stride: u64,
    /// Planes; 0 is 1.
    pub planes: u64,
    /// Elements from one plane to the next, not read for one plane.
    pub plane_stride: u64,
}
