//! Memory described: for copies, messages and collectives.
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

use super::datatype::norn_type;
use super::types::{norn_data, norn_place};
use core::ffi::c_void;

/// Elements in memory: `planes` planes, `plane_stride` apart, of `blocks` blocks, `stride` apart, of `count` elements. All
/// lengths and distances are in elements of `type`. A slice that names a datum adds its access to the operation: a source
/// READ; a target WRITE where it covers the whole datum, else READ_WRITE. Zero everywhere is an empty slice of nothing.
///
/// Every byte of it belongs to the datum. A datum that is a piece in rows (`norn_piece.rows`) has only its rows: a slice that
/// touches what lies between them is `NORN_E_INVALID`. Such a piece is described whole by the `count` of one row, `blocks` the
/// rows, and `stride` their distance. (An MPI datatype with gaps is taken at its word.)
///
/// Blocks of a target do not overlap. In `norn_copy` and `norn_fill` those of a source do not either, and on both sides one
/// block begins behind the one before it, and one plane behind the whole one before it; else `NORN_E_INVALID`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct norn_slice {
    /// The datum that holds the elements, or `{0}`: `ptr` points to memory of the caller, which norn does not order and
    /// which must live until the operation has completed.
    pub data: norn_data,
    /// The memory, where no datum is named; else NULL.
    pub ptr: *mut c_void,
    /// Where `ptr` lies: a device, or the host (`{0}`). Not read where a datum is named.
    pub place: norn_place,
    /// Type of the elements; 0: bytes.
    pub r#type: norn_type,
    /// Reserved, 0.
    pub flags: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Elements from the beginning of the memory to the first one.
    pub offset: u64,
    /// Elements in a block.
    pub count: u64,
    /// Blocks in a plane; 0 means 1.
    pub blocks: u64,
    /// Elements from the start of a block to the start of the next; 0 means `count`.
    pub stride: u64,
    /// Planes; 0 means 1.
    pub planes: u64,
    /// Elements from the start of a plane to the start of the next; 0 means `blocks` times `stride`.
    pub plane_stride: u64,
}
