//! Types and operations of messages, reductions and copies, as C names them.
//!
//! The numbers of predefined ones are part of the table that MPI plug-ins
//! answer (src/lower/mpi/table.rs): they are never changed, only added to.
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

/// Type of an element: one of the constants below, or `norn_type_of_mpi(MPI_Datatype)` of norn_mpi.h. 0: bytes.
pub type norn_type = i64;
/// Operation of a reduction: one of the constants below, or `norn_op_of_mpi(MPI_Op)` of norn_mpi.h. 0: the sum.
pub type norn_op = i64;

/// A byte; no reductions but the bitwise ones.
pub const NORN_BYTE: norn_type = 0;
/// `int8_t`.
pub const NORN_I8: norn_type = 1;
/// `uint8_t`.
pub const NORN_U8: norn_type = 2;
/// `int16_t`.
pub const NORN_I16: norn_type = 3;
/// `uint16_t`.
pub const NORN_U16: norn_type = 4;
/// `int32_t`.
pub const NORN_I32: norn_type = 5;
/// `uint32_t`.
pub const NORN_U32: norn_type = 6;
/// `int64_t`.
pub const NORN_I64: norn_type = 7;
/// `uint64_t`.
pub const NORN_U64: norn_type = 8;
/// `float`.
pub const NORN_F32: norn_type = 9;
/// `double`.
pub const NORN_F64: norn_type = 10;
/// `float _Complex`, `std::complex<float>`.
pub const NORN_C64: norn_type = 11;
/// `double _Complex`, `std::complex<double>`.
pub const NORN_C128: norn_type = 12;

/// Sum.
pub const NORN_SUM: norn_op = 0;
/// Product.
pub const NORN_PROD: norn_op = 1;
/// Minimum.
pub const NORN_MIN: norn_op = 2;
/// Maximum.
pub const NORN_MAX: norn_op = 3;
/// Logical and.
pub const NORN_LAND: norn_op = 4;
/// Logical or.
pub const NORN_LOR: norn_op = 5;
/// Logical exclusive or.
pub const NORN_LXOR: norn_op = 6;
/// Bitwise and.
pub const NORN_BAND: norn_op = 7;
/// Bitwise or.
pub const NORN_BOR: norn_op = 8;
/// Bitwise exclusive or.
pub const NORN_BXOR: norn_op = 9;

/// Marks a `norn_type` or `norn_op` as an MPI handle: its lower 32 bits are the handle's Fortran integer.
pub const NORN_OF_MPI: i64 = 4294967296;
