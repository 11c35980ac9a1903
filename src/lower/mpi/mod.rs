//! MPI under the one scheduler: edges between ranks and collectives as tasks.

mod launcher;
#[allow(dead_code)] // until worlds are attached
pub(crate) mod load;
mod loaded;
// Plug-ins have a header of their own, and norn.h must not repeat it.
/// cbindgen:ignore
pub mod table;
