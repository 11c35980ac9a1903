//! norn runs the host work, device work and MPI messages of an existing HPC
//! code as one asynchronous task graph.
//!
//! The folders are the design: `order` owns what may run and when, `run` owns
//! the threads that run it, `lower` holds the device and MPI lowerings,
//! `observe` explains what is going on, and [`abi`] is the C API over all of it.

#[macro_use]
mod planted;

pub mod abi;
mod asymmetric;
pub mod error;
mod lower;
mod observe;
mod order;
mod run;
mod sync;
