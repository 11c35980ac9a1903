//! The table of MPI calls of a program that is linked statically.

use core::ffi::c_void;

use super::guard::guard_anywhere;
use super::status::norn_status;
use crate::lower::mpi::load;

/// Uses this table of MPI calls for the worlds attached from now on, in place of a plug-in that is looked for: for
/// programs that are linked with MPI statically, `norn_mpi_register(norn_mpi_plugin())`, with norn's plugin.c linked
/// in. `table`: a `const norn_mpi_table *` of norn_mpi_plugin.h, which must stay as it is until the process ends;
/// NULL: plug-ins are looked for again. Worlds that are attached keep theirs.
/// Errors: `NORN_E_VERSION` (made for another norn), `NORN_E_INVALID` (a call is missing). Any thread; never blocks.
///
/// # Safety
/// `table` is NULL or such a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_mpi_register(table: *const c_void) -> norn_status {
    // SAFETY: the caller's promise is passed on.
    guard_anywhere(|| unsafe { load::register(table.cast()) })
}
