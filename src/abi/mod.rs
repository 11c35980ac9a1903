//! The C API. This layer translates and guards; it holds no logic.
//!
//! `include/norn.h` is generated from these files by cbindgen and committed.

pub(crate) mod guard;
pub(crate) mod handle;

pub mod body;
pub mod data;
pub mod datatype;
pub mod device;
pub mod device_types;
pub mod group;
mod how;
pub mod mpi;
pub mod runtime;
pub mod slice;
pub mod status;
pub mod task;
pub mod token;
pub mod types;

// The header keeps the order of these lines: the types of runtimes behind the others, the collectives last.
pub mod runtime_types;
pub mod world;

pub mod collective;
