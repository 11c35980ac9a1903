//! MPI under the one scheduler: edges between ranks and collectives as tasks.

// Plug-ins have a header of their own, and norn.h must not repeat it.
/// cbindgen:ignore
pub mod table;
