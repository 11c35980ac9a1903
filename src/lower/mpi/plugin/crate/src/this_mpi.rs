//! Which MPI this is, and what only newer ones have.

use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use mpi_sys::*;

/// The plug-in's family. MPICH's handles are integers, Open MPI's are pointers.
pub const FAMILY: &CStr = if size_of::<MPI_Comm>() == size_of::<c_int>() {
    c"mpich"
} else {
    c"openmpi"
};

/// Whether this is MPICH or built on it.
pub const IS_MPICH: bool = size_of::<MPI_Comm>() == size_of::<c_int>();

// SAFETY: constants.c has these functions with these types. They read constants and compare handles, and look into none.
unsafe extern "C" {
    pub safe fn norn_mpi_byte() -> MPI_Datatype;
    pub safe fn norn_mpi_in_place() -> *mut c_void;
    pub safe fn norn_mpi_op_null() -> MPI_Op;
    pub safe fn norn_mpi_is_comm(comm: MPI_Comm) -> c_int;
    pub safe fn norn_mpi_is_type(datatype: MPI_Datatype) -> c_int;
    pub safe fn norn_mpi_is_op(op: MPI_Op) -> c_int;
    pub safe fn norn_mpi_is_real(datatype: MPI_Datatype) -> c_int;
    pub safe fn norn_mpi_is_logical(op: MPI_Op) -> c_int;
}

pub type Big = MPI_Count;
// Arrays of displacements and large counts are passed on as they are.
const _: () = assert!(size_of::<MPI_Count>() == 8 && size_of::<MPI_Aint>() == 8);
type Data = *const c_void;
type Space = *mut c_void;
type Numbers = *const Big;
type Places = *const MPI_Aint;
type Request = *mut MPI_Request;

/// Declares the table of calls and how it is filled: `None` where this MPI has no such call.
macro_rules! newer_calls {
    ($($field:ident = $name:literal: fn($($parameter:ty),*);)*) => {
        /// Calls of newer MPIs.
        pub struct Newer {
            $(pub $field: Option<unsafe extern "C" fn($($parameter),*) -> c_int>,)*
        }
        impl Newer {
            fn look() -> Self {
                Self {
                    // SAFETY: NULL is None; the standard fixes the type of the function with this name.
                    $($field: unsafe {
                        core::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($parameter),*) -> c_int>>(
                            libc::dlsym(libc::RTLD_DEFAULT, $name.as_ptr()),
                        )
                    },)*
                }
            }
        }
    };
}
newer_calls! {
    get_count = c"MPI_Get_count_c": fn(*const MPI_Status, MPI_Datatype, *mut Big);
    idup_with_info = c"MPI_Comm_idup_with_info": fn(MPI_Comm, MPI_Info, *mut MPI_Comm, Request);
    isend = c"MPI_Isend_c": fn(Data, Big, MPI_Datatype, c_int, c_int, MPI_Comm, Request);
    irecv = c"MPI_Irecv_c": fn(Space, Big, MPI_Datatype, c_int, c_int, MPI_Comm, Request);
    ibcast = c"MPI_Ibcast_c": fn(Space, Big, MPI_Datatype, c_int, MPI_Comm, Request);
    ireduce = c"MPI_Ireduce_c": fn(Data, Space, Big, MPI_Datatype, MPI_Op, c_int, MPI_Comm, Request);
    iallreduce = c"MPI_Iallreduce_c": fn(Data, Space, Big, MPI_Datatype, MPI_Op, MPI_Comm, Request);
    igather = c"MPI_Igather_c": fn(Data, Big, MPI_Datatype, Space, Big, MPI_Datatype, c_int, MPI_Comm, Request);
    iscatter = c"MPI_Iscatter_c": fn(Data, Big, MPI_Datatype, Space, Big, MPI_Datatype, c_int, MPI_Comm, Request);
    iallgather = c"MPI_Iallgather_c": fn(Data, Big, MPI_Datatype, Space, Big, MPI_Datatype, MPI_Comm, Request);
    ialltoall = c"MPI_Ialltoall_c": fn(Data, Big, MPI_Datatype, Space, Big, MPI_Datatype, MPI_Comm, Request);
    igatherv = c"MPI_Igatherv_c": fn(Data, Big, MPI_Datatype, Space, Numbers, Places, MPI_Datatype, c_int, MPI_Comm, Request);
    iscatterv = c"MPI_Iscatterv_c": fn(Data, Numbers, Places, MPI_Datatype, Space, Big, MPI_Datatype, c_int, MPI_Comm, Request);
    iallgatherv = c"MPI_Iallgatherv_c": fn(Data, Big, MPI_Datatype, Space, Numbers, Places, MPI_Datatype, MPI_Comm, Request);
    ialltoallv = c"MPI_Ialltoallv_c": fn(Data, Numbers, Places, MPI_Datatype, Space, Numbers, Places, MPI_Datatype, MPI_Comm, Request);
}

/// What this MPI has.
pub fn newer() -> &'static Newer {
    static NEWER: OnceLock<Newer> = OnceLock::new();
    NEWER.get_or_init(Newer::look)
}

/// All large counts come with the same version of MPI, so one answers for all.
pub fn has_large_counts() -> bool {
    newer().ialltoallv.is_some()
}

/// MPICH ends the program at an integer that cannot be a handle, but its integers tell what they are: bits 30 and 31
/// how it is stored (0: not), bits 26 to 29 of which kind of object (1: communicator, 3: type).
pub fn cannot_be(integer: i32, mpich_kind: u32) -> bool {
    let bits = integer as u32;
    let stored = bits >> 30;
    IS_MPICH
        && (stored == 0
            || bits >> 26 & 15 != mpich_kind
            // Beyond MPI_COMM_WORLD and MPI_COMM_SELF.
            || mpich_kind == 1 && stored == 1 && bits & 0x3ff_ffff > 1)
}

/// A communicator from its integer; `None` for one that is none.
pub fn comm_of(integer: i32) -> Option<MPI_Comm> {
    if cannot_be(integer, 1) {
        return None;
    }
    // SAFETY: MPI is active, which Open MPI's table of handles needs; it answers NULL for an integer that is none.
    // MPICH's handles are the integers, and nothing is looked up.
    let comm = unsafe { RSMPI_Comm_f2c(integer) };
    (norn_mpi_is_comm(comm) != 0).then_some(comm)
}

/// A type from its integer; `None` for one that is none.
pub fn type_of(integer: i32) -> Option<MPI_Datatype> {
    if cannot_be(integer, 3) {
        return None;
    }
    // SAFETY: as in `comm_of`.
    let datatype = unsafe { RSMPI_Type_f2c(integer) };
    (norn_mpi_is_type(datatype) != 0).then_some(datatype)
}

/// An operation from its integer; `None` for one that is none.
pub fn op_of(integer: i32) -> Option<MPI_Op> {
    // SAFETY: as in `comm_of`.
    let op = unsafe { RSMPI_Op_f2c(integer) };
    (norn_mpi_is_op(op) != 0).then_some(op)
}
