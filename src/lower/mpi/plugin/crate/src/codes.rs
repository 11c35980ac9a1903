//! Codes of MPI and of the table.

use core::ffi::c_int;

use mpi_sys::MPI_SUCCESS;

/// A code that is not success: MPI's own, or one of the table's negative ones.
#[derive(Clone, Copy, Debug)]
pub struct Code(pub i32);

/// What MPI returned.
pub fn check(code: c_int) -> Result<(), Code> {
    if code == MPI_SUCCESS as c_int {
        Ok(())
    } else {
        Err(Code(code))
    }
}
