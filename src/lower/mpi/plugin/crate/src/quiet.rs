//! Keeps MPI's errors from ending the program.
//!
//! An error that MPI ties to no communicator goes to the handler of
//! MPI_COMM_SELF or, in older ones, of MPI_COMM_WORLD, which by default ends the
//! program. MPICH does so even with the error of one request.

use mpi_sys::*;

use crate::this_mpi::IS_MPICH;

/// While it lives, errors come back as codes. A handler that another thread sets meanwhile is lost; it would have to
/// do so within the microsecond.
pub struct Quiet {
    kept: [Option<(MPI_Comm, MPI_Errhandler)>; 3],
}

impl Quiet {
    /// For calls that have no communicator.
    pub fn new() -> Self {
        let mut quiet = Self { kept: [None; 3] };
        // SAFETY: constants that were filled in when the plug-in was loaded, which is after MPI.
        unsafe {
            quiet.kept[0] = keep(RSMPI_COMM_SELF);
            quiet.kept[1] = keep(RSMPI_COMM_WORLD);
        }
        quiet
    }

    /// For calls on a communicator of the application.
    pub fn with(comm: MPI_Comm) -> Self {
        let mut quiet = Self::new();
        quiet.kept[2] = keep(comm);
        quiet
    }

    /// For tests of requests: Open MPI sends the errors of messages to the handlers of their communicators, those of
    /// collectives to that of MPI_COMM_WORLD; MPICH has forgotten which those were.
    pub fn for_requests(collectives: bool) -> Self {
        if IS_MPICH {
            return Self::new();
        }
        // SAFETY: as in `new`.
        let world = collectives.then(|| keep(unsafe { RSMPI_COMM_WORLD }));
        Self {
            kept: [world.flatten(), None, None],
        }
    }
}

fn keep(comm: MPI_Comm) -> Option<(MPI_Comm, MPI_Errhandler)> {
    // SAFETY: MPI is active, as the table demands of every call that comes here, and `comm` is a communicator. The
    // handler that is found counts as one more use of it, and is freed in `drop`.
    unsafe {
        let mut old = RSMPI_ERRORS_RETURN;
        if MPI_Comm_get_errhandler(comm, &mut old) != MPI_SUCCESS as i32 {
            return None;
        }
        MPI_Comm_set_errhandler(comm, RSMPI_ERRORS_RETURN);
        Some((comm, old))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // The last first: MPI_COMM_WORLD may be there twice.
        for (comm, mut old) in self.kept.iter().rev().flatten().copied() {
            // SAFETY: the communicator outlives the call that this is for; `old` is the use that `keep` took, given
            // back once.
            unsafe {
                MPI_Comm_set_errhandler(comm, old);
                MPI_Errhandler_free(&mut old);
            }
        }
    }
}
