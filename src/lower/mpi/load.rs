//! Which table of MPI calls this process uses.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::table::norn_mpi_table;
use crate::abi::status::NORN_E_UNSUPPORTED;
use crate::error::{Error, Result};

static REGISTERED: AtomicPtr<norn_mpi_table> = AtomicPtr::new(core::ptr::null_mut());

/// The table to use.
pub(crate) fn find() -> Result<&'static norn_mpi_table> {
    // SAFETY: a registered table lives as long as the process, which `norn_mpi_register` demands.
    unsafe { REGISTERED.load(Ordering::Acquire).as_ref() }
        .ok_or_else(|| Error::new(NORN_E_UNSUPPORTED, "no table of MPI calls is registered"))
}

/// Uses this table from now on.
pub(crate) fn register(table: *const norn_mpi_table) {
    REGISTERED.store(table.cast_mut(), Ordering::Release);
}
