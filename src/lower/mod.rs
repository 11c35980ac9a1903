//! The lowerings: what carries operations out that no worker's body does.

pub(crate) mod cuda;
pub(crate) mod mpi;
