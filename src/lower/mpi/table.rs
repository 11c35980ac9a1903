//! The table of MPI calls: all that norn's MPI lowering knows of an MPI.
//!
//! libnorn links no MPI. A plug-in, built once for each MPI family, answers this
//! table out of the MPI that the process has loaded; `sim` answers it without
//! one. The header `plugin/norn_mpi_plugin.h` is generated from this file, so
//! the two cannot disagree.
//!
//! Only integers cross the table for communicators, types and operations. They
//! are what `MPI_Comm_c2f`, `MPI_Type_c2f` and `MPI_Op_c2f` give (`_toint` in
//! the standard ABI), so a handle that comes from Fortran needs no conversion.
//! Requests never cross it: a posting call answers the number of a slot.
// C spelling, read by cbindgen; the table is whole even where norn uses a part.
#![allow(non_camel_case_types, dead_code)]

use core::ffi::{c_char, c_void};

/// Version of `norn_mpi_table`. A plug-in of another version is refused. Calls are only added at the end, where
/// `struct_size` tells whether a plug-in has them.
pub const NORN_MPI_TABLE_VERSION: u32 = 1;

// What a call returns. MPI's own codes are positive; `error_text` knows them all.

/// Success.
pub const NORN_MPI_OK: i32 = 0;
/// The plug-in got no memory. Nothing was posted.
pub const NORN_MPI_NO_MEMORY: i32 = -1;
/// This MPI has no such call or type.
pub const NORN_MPI_UNSUPPORTED: i32 = -2;
/// A communicator, type, operation, slot or kind that is none. Nothing was posted.
pub const NORN_MPI_INVALID: i32 = -3;
/// A count that this MPI cannot express, even by a derived type. Nothing was posted.
pub const NORN_MPI_TOO_LARGE: i32 = -4;
/// `requests_close` while slots are in use. Nothing was closed.
pub const NORN_MPI_BUSY: i32 = -5;

// State of the MPI library.

/// `MPI_Init` has not been called.
pub const NORN_MPI_BEFORE_INIT: i32 = 0;
/// Between `MPI_Init` and `MPI_Finalize`.
pub const NORN_MPI_ACTIVE: i32 = 1;
/// After `MPI_Finalize`.
pub const NORN_MPI_FINALIZED: i32 = 2;

// Thread levels. The constants of the implementations differ; these never do, and they are in order.

/// `MPI_THREAD_SINGLE`.
pub const NORN_MPI_THREAD_SINGLE: i32 = 0;
/// `MPI_THREAD_FUNNELED`.
pub const NORN_MPI_THREAD_FUNNELED: i32 = 1;
/// `MPI_THREAD_SERIALIZED`.
pub const NORN_MPI_THREAD_SERIALIZED: i32 = 2;
/// `MPI_THREAD_MULTIPLE`.
pub const NORN_MPI_THREAD_MULTIPLE: i32 = 3;

/// Any rank, any tag, for `irecv` and `iprobe`.
pub const NORN_MPI_ANY: i32 = -1;
/// Count of bytes that MPI calls undefined.
pub const NORN_MPI_UNDEFINED: i64 = -1;
/// In place of the buffer that `MPI_IN_PLACE` stands for: `send`, of a scatter `recv`.
pub const NORN_MPI_IN_PLACE: isize = -1;
/// In place of a handle: none.
pub const NORN_MPI_NO_HANDLE: i32 = i32::MIN;

// How a request ended.

/// As it should.
pub const NORN_MPI_DONE: i32 = 0;
/// The message was longer than the buffer. What fitted may have been written.
pub const NORN_MPI_TRUNCATED: i32 = 1;
/// Cancelled: no message was received.
pub const NORN_MPI_CANCELLED: i32 = 2;
/// Any other error; `error` is MPI's code.
pub const NORN_MPI_FAILED: i32 = 3;

/// One finished request, or one message found by `iprobe`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct norn_mpi_done {
    /// What the posting call was given.
    pub user: u64,
    /// Bytes received, or `NORN_MPI_UNDEFINED`. Of a send or collective: undefined.
    pub bytes: i64,
    /// The slot; it is free again. -1 from `iprobe`.
    pub slot: i32,
    /// One of `NORN_MPI_DONE`, `NORN_MPI_TRUNCATED`, `NORN_MPI_CANCELLED`, `NORN_MPI_FAILED`.
    pub outcome: i32,
    /// MPI's error code, for `error_text`; 0 for `NORN_MPI_DONE`.
    pub error: i32,
    /// Rank the message came from; receives and `iprobe` only.
    pub source: i32,
    /// Tag of the message; receives and `iprobe` only.
    pub tag: i32,
    /// `comm_idup`: the new communicator. 0 otherwise.
    pub comm: i32,
}

/// What `comm_info` tells.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct norn_mpi_comm_info {
    /// Rank of the caller.
    pub rank: i32,
    /// Number of ranks.
    pub size: i32,
    /// Largest tag (`MPI_TAG_UB`), at least 32767.
    pub tag_ub: i32,
    /// 1: an intercommunicator, on which norn does not work.
    pub inter: i32,
}

/// What `type_info` tells, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct norn_mpi_type_info {
    /// Bytes of data in one element.
    pub size: i64,
    /// From one element to the next.
    pub extent: i64,
    /// From the buffer's address to the first byte touched.
    pub true_lb: i64,
    /// From the first byte touched to behind the last.
    pub true_extent: i64,
}

// Kinds of collectives.

/// `MPI_Ibarrier`.
pub const NORN_MPI_BARRIER: i32 = 1;
/// `MPI_Ibcast`: `recv`, `recv_count`, `recv_type` are the buffer on every rank.
pub const NORN_MPI_BCAST: i32 = 2;
/// `MPI_Ireduce`: `recv_count`, `recv_type` and `op` on every rank, `recv` on the root.
pub const NORN_MPI_REDUCE: i32 = 3;
/// `MPI_Iallreduce`: `recv_count`, `recv_type` and `op`.
pub const NORN_MPI_ALLREDUCE: i32 = 4;
/// `MPI_Igather`.
pub const NORN_MPI_GATHER: i32 = 5;
/// `MPI_Igatherv`: `recv_counts` and `recv_displs`, on the root.
pub const NORN_MPI_GATHERV: i32 = 6;
/// `MPI_Iscatter`.
pub const NORN_MPI_SCATTER: i32 = 7;
/// `MPI_Iscatterv`: `send_counts` and `send_displs`, on the root.
pub const NORN_MPI_SCATTERV: i32 = 8;
/// `MPI_Iallgather`.
pub const NORN_MPI_ALLGATHER: i32 = 9;
/// `MPI_Iallgatherv`: `recv_counts` and `recv_displs`.
pub const NORN_MPI_ALLGATHERV: i32 = 10;
/// `MPI_Ialltoall`.
pub const NORN_MPI_ALLTOALL: i32 = 11;
/// `MPI_Ialltoallv`: all four arrays.
pub const NORN_MPI_ALLTOALLV: i32 = 12;

/// One collective. Fields that its kind does not use are ignored. As in MPI, counts are in elements of the type, of
/// one rank where there are several; displacements are in elements too, of 64 bits in every MPI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct norn_mpi_collective {
    /// One of `NORN_MPI_BARRIER` ... `NORN_MPI_ALLTOALLV`.
    pub kind: i32,
    /// Communicator.
    pub comm: i32,
    /// Root, where there is one.
    pub root: i32,
    /// Operation of a reduction.
    pub op: i32,
    /// Data sent, or `(void *)NORN_MPI_IN_PLACE`. May be NULL where nothing is sent.
    pub send: *const c_void,
    /// Data received. May be NULL where nothing is received.
    pub recv: *mut c_void,
    /// Elements sent.
    pub send_count: i64,
    /// Elements received.
    pub recv_count: i64,
    /// Elements sent to each rank; read during the call only.
    pub send_counts: *const i64,
    /// Where they begin; read during the call only.
    pub send_displs: *const i64,
    /// Elements received from each rank; read during the call only.
    pub recv_counts: *const i64,
    /// Where they begin; read during the call only.
    pub recv_displs: *const i64,
    /// Type of what is sent.
    pub send_type: i32,
    /// Type of what is received.
    pub recv_type: i32,
}

/// The pending requests of one user: a dense array of slots. Opaque.
pub struct norn_mpi_requests {
    _opaque: (),
}

/// The calls. No pointer is NULL.
///
/// Threads: the caller sees to it that MPI's thread level allows the call. Calls on one `norn_mpi_requests` are made
/// by one thread at a time. Unless said otherwise a call is legal only while MPI is active.
///
/// Blocking: no call waits for another rank, except `abort`, which does not return, and `comm_free`, which an MPI may
/// make wait until every rank of the communicator has come.
///
/// Errors: no call ends the program, whatever error handlers the application has set; MPI's error comes back as a
/// code. Where a code other than `NORN_MPI_OK` is returned, no output was written and nothing is posted.
///
/// Ownership: buffers stay the caller's and must live until the request is reported by `test`. Texts are copied into
/// the caller's buffer, cut to its size and ended by a zero byte.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct norn_mpi_table {
    /// `NORN_MPI_TABLE_VERSION`.
    pub version: u32,
    /// Bytes of this structure as the plug-in knows it.
    pub struct_size: u32,
    /// Family it serves: "openmpi", "mpich", "abi" or "sim". Static.
    pub family: *const c_char,
    /// MPI it was compiled against, in words. Static.
    pub built_for: *const c_char,

    // The library. These three may be called at any time, from any thread.
    /// One of `NORN_MPI_BEFORE_INIT`, `NORN_MPI_ACTIVE`, `NORN_MPI_FINALIZED`.
    pub state: unsafe extern "C" fn(state: *mut i32) -> i32,
    /// First line of `MPI_Get_library_version`.
    pub library_text: unsafe extern "C" fn(text: *mut c_char, size: usize) -> i32,
    /// Text of a code that a call returned or a `norn_mpi_done` holds. MPI's own only while MPI is active.
    pub error_text: unsafe extern "C" fn(error: i32, text: *mut c_char, size: usize) -> i32,
    /// Thread level provided, and whether the caller is the thread that initialised MPI (1 or 0). `comm` tells `sim`
    /// which rank asks; an MPI ignores it.
    pub thread: unsafe extern "C" fn(comm: i32, level: *mut i32, is_main: *mut i32) -> i32,
    /// Rank and size of `MPI_COMM_WORLD`. `comm` as in `thread`.
    pub world: unsafe extern "C" fn(comm: i32, rank: *mut i32, size: *mut i32) -> i32,
    /// Whether this MPI takes device pointers: 1 yes, 0 no, -1 it does not say. The reason as text, with the name of
    /// the query that answered.
    pub device_aware:
        unsafe extern "C" fn(answer: *mut i32, reason: *mut c_char, size: usize) -> i32,
    /// `MPI_Abort`.
    pub abort: unsafe extern "C" fn(comm: i32, code: i32),

    // Communicators.
    /// What a communicator is; `NORN_MPI_INVALID` for an integer that is none, as far as the MPI can tell.
    pub comm_info: unsafe extern "C" fn(comm: i32, info: *mut norn_mpi_comm_info) -> i32,
    /// Begins to duplicate a communicator: collective over it, in the same order on every rank. `norn_mpi_done.comm`
    /// is the new one. It returns errors as codes and has none of the hints of the old one; attributes of the old one
    /// are copied as `MPI_Comm_idup` copies them.
    pub comm_idup: unsafe extern "C" fn(
        set: *mut norn_mpi_requests,
        comm: i32,
        user: u64,
        slot: *mut i32,
    ) -> i32,
    /// Frees a communicator from `comm_idup`. Collective; no request on it may be pending.
    pub comm_free: unsafe extern "C" fn(comm: i32) -> i32,

    // Types and operations.
    /// Handle of a predefined type, by its number in norn.h (`NORN_BYTE` and so on). Nothing to free.
    pub type_builtin: unsafe extern "C" fn(number: i32, handle: *mut i32) -> i32,
    /// Size and extent of a committed type; `NORN_MPI_INVALID` for an integer that is none, as far as the MPI can tell,
    /// and MPI's own code for a type that is not committed. `comm`: any that returns errors as codes, which is where MPI
    /// reports it.
    pub type_info:
        unsafe extern "C" fn(comm: i32, handle: i32, info: *mut norn_mpi_type_info) -> i32,
    /// Makes and commits the type of `planes` times `blocks` times `count` elements of `base`, the blocks `stride`
    /// and the planes `plane_stride` elements apart. All counts at least 0; strides of any sign. `type_free` frees
    /// it, which may be done while requests with it are pending.
    pub type_blocks: unsafe extern "C" fn(
        base: i32,
        count: i64,
        blocks: i64,
        stride: i64,
        planes: i64,
        plane_stride: i64,
        handle: *mut i32,
    ) -> i32,
    /// Frees a type made by `type_blocks`.
    pub type_free: unsafe extern "C" fn(handle: i32) -> i32,
    /// Handle of a predefined operation, by its number in norn.h (`NORN_SUM` and so on). Nothing to free.
    pub op_builtin: unsafe extern "C" fn(number: i32, handle: *mut i32) -> i32,

    // Requests.
    /// Makes an empty set of requests. Legal at any time.
    pub requests_open: unsafe extern "C" fn(set: *mut *mut norn_mpi_requests) -> i32,
    /// Frees it; `NORN_MPI_BUSY` while it has requests. Legal at any time.
    pub requests_close: unsafe extern "C" fn(set: *mut norn_mpi_requests) -> i32,
    /// `MPI_Isend`. The slot is a small number, dense: a set that never had more than n requests at once uses 0 to
    /// n-1 only.
    pub isend: unsafe extern "C" fn(
        set: *mut norn_mpi_requests,
        buffer: *const c_void,
        count: i64,
        datatype: i32,
        dest: i32,
        tag: i32,
        comm: i32,
        user: u64,
        slot: *mut i32,
    ) -> i32,
    /// `MPI_Irecv`. `source` and `tag` may be `NORN_MPI_ANY`.
    pub irecv: unsafe extern "C" fn(
        set: *mut norn_mpi_requests,
        buffer: *mut c_void,
        count: i64,
        datatype: i32,
        source: i32,
        tag: i32,
        comm: i32,
        user: u64,
        slot: *mut i32,
    ) -> i32,
    /// A nonblocking collective; as in MPI, in the same order on every rank of the communicator. The structure and
    /// its arrays are read during the call only. `NORN_MPI_TOO_LARGE` for what `count_limit` forbids.
    pub icollective: unsafe extern "C" fn(
        set: *mut norn_mpi_requests,
        what: *const norn_mpi_collective,
        user: u64,
        slot: *mut i32,
    ) -> i32,
    /// Largest count in a reduction, and largest count or displacement in a v form: `INT32_MAX`, or `INT64_MAX` where
    /// the MPI has large counts. The ranks of a collective do not all know whether it is kept, so the caller looks
    /// before anyone enters: it cuts a reduction into pieces, the same on every rank, and refuses a v form.
    /// Everything else takes any count in any MPI.
    pub count_limit: unsafe extern "C" fn(limit: *mut i64) -> i32,
    /// Tests `slot_count` of the slots, in one go (`MPI_Testsome`), which lets MPI progress once. The cost follows
    /// `slot_count`, never the number of requests pending; which ones to test is the caller's choice. Slots that are
    /// free or listed twice are passed over. Writes the `done_count` that have finished to `done`, which has room for
    /// `slot_count`; their slots are free from here on. An error of one request is told in its `norn_mpi_done` and does
    /// not disturb the others. With no slots it does nothing.
    pub test: unsafe extern "C" fn(
        set: *mut norn_mpi_requests,
        slots: *const i32,
        slot_count: i32,
        done: *mut norn_mpi_done,
        done_count: *mut i32,
    ) -> i32,
    /// Cancels a receive. It is still to be tested, and ends soon, without another rank's help: as
    /// `NORN_MPI_CANCELLED`, or as if nothing had been said where a message had already come. `NORN_MPI_INVALID` for a
    /// slot that is no receive.
    pub cancel: unsafe extern "C" fn(set: *mut norn_mpi_requests, slot: i32) -> i32,
    /// Whether a message could be received now: `found` 1 and what it is (`source`, `tag`, `bytes`), or 0. Lets MPI
    /// progress.
    pub iprobe: unsafe extern "C" fn(
        source: i32,
        tag: i32,
        comm: i32,
        found: *mut i32,
        message: *mut norn_mpi_done,
    ) -> i32,

    // Memory.
    /// `MPI_Alloc_mem`: memory that the transports may have registered. 0 bytes give NULL.
    pub alloc: unsafe extern "C" fn(bytes: u64, address: *mut *mut c_void) -> i32,
    /// `MPI_Free_mem`, while MPI is active.
    pub free: unsafe extern "C" fn(address: *mut c_void) -> i32,

    // The end.
    /// Has `then` called when MPI_Finalize begins, on the thread that calls it, while all of MPI still works (as the
    /// deletion of an attribute of MPI_COMM_SELF). May be called again with the same `then`, which changes nothing.
    /// `then` is told `NORN_MPI_NO_HANDLE`: the end of every rank of this process; `sim`, which has many, tells the
    /// communicator that was given here.
    pub at_finalize: unsafe extern "C" fn(comm: i32, then: norn_mpi_then_fn) -> i32,

    // Operations.
    /// Whether a reduction may have this operation on this type, predefined or the application's: `NORN_MPI_INVALID` for
    /// an operation or type that is none, MPI's own code for two that do not go together. Calls no function of the
    /// application's.
    pub op_check: unsafe extern "C" fn(op: i32, datatype: i32) -> i32,
}

/// What `at_finalize` has called.
pub type norn_mpi_then_fn = unsafe extern "C" fn(comm: i32);

// SAFETY: a table is never changed, and its texts are static. Which thread may call what is the caller's duty, above.
unsafe impl Send for norn_mpi_table {}
// SAFETY: as for Send.
unsafe impl Sync for norn_mpi_table {}

/// What a plug-in exports under the name `norn_mpi_plugin`: its table, which lives as long as the process. NULL: the
/// plug-in cannot work in this process.
pub type norn_mpi_plugin_fn = unsafe extern "C" fn() -> *const norn_mpi_table;
