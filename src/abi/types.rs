//! Plain values and structures of the C API, laid out as C sees them.
//!
//! Five of them have a fixed size for ever (token, data, group, place, access);
//! the others begin with `struct_size` and only grow at the end.
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

use core::ffi::{c_char, c_void};

pub use super::runtime_types::*;

/// Major version of the API this header describes.
pub const NORN_VERSION_MAJOR: i32 = 0;
/// Minor version of the API this header describes. While the major version is 0, a new minor version may change the ABI.
pub const NORN_VERSION_MINOR: i32 = 1;
/// Patch version of the API this header describes.
pub const NORN_VERSION_PATCH: i32 = 0;

/// Names the completion of one operation. A plain number: copy it, keep it for
/// ever, never free it. A token of a task that is long gone means "complete".
/// `{0}` is a token that is already complete.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct norn_token {
    /// Runtime, slot and generation; opaque.
    pub id: u64,
}

/// Names a datum: one allocation at one place, whose accesses norn orders. `{0}` is no datum.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct norn_data {
    /// Runtime, slot and generation; opaque.
    pub id: u64,
}

/// Names a group of tasks. `{0}` is the group of the submitter: of the calling task inside a task, none outside.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct norn_group {
    /// Runtime, slot and generation; opaque.
    pub id: u64,
}

/// Where a task runs or a datum lives. `{0, 0}` is anywhere.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct norn_place {
    /// One of `NORN_PLACE_*`.
    pub kind: i32,
    /// Which of its kind; see the kinds.
    pub index: i32,
}

/// Anywhere (a task: any worker; a datum: host memory).
pub const NORN_PLACE_ANY: i32 = 0;
/// Host. A task with index `i >= 0` runs on worker `i` of the runtime. Index -1: any worker.
pub const NORN_PLACE_CPU: i32 = 1;
/// NUMA node with the operating system's number `index`. A task runs on a worker of that node.
pub const NORN_PLACE_NUMA: i32 = 2;
/// Device, as `norn_device_open` returned it.
pub const NORN_PLACE_DEVICE: i32 = 3;
/// The very thread that opened the runtime, inside its awaits, drains and progress calls.
pub const NORN_PLACE_OPENER: i32 = 4;
/// The thread that initialised MPI, inside its awaits, drains and progress calls.
pub const NORN_PLACE_MPI: i32 = 5;

/// One access of a task to a datum. Accesses of one task to the same datum are merged, the strongest mode wins.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct norn_access {
    /// The datum.
    pub data: norn_data,
    /// A place taken before by `norn_reserve`, or 0: take the place at submit.
    pub slot: u64,
    /// One of `NORN_READ`, `NORN_WRITE`, `NORN_READ_WRITE`, `NORN_COMMUTE`, `NORN_REDUCE`.
    pub mode: i32,
    /// Reserved, 0.
    pub flags: u32,
}

/// Reads; runs beside other readers, after the writer before it.
pub const NORN_READ: i32 = 1;
/// Overwrites the whole datum without reading it; after everything before it. Heals a failed datum.
pub const NORN_WRITE: i32 = 2;
/// Reads and writes; after everything before it.
pub const NORN_READ_WRITE: i32 = 3;
/// Reads and writes in any order with the neighbouring COMMUTE accesses, one at a time. With `NORN_DETERMINISTIC`: in submission order.
pub const NORN_COMMUTE: i32 = 4;
/// Adds into a private copy; neighbouring REDUCE accesses run side by side and their copies are
/// combined in a tree whose shape depends only on their number. The datum needs a `reduce` description.
/// Inside the body `norn_data_pointer` gives the private copy.
pub const NORN_REDUCE: i32 = 5;

/// A runtime. Not an address: any stale or foreign value gives `NORN_E_INVALID`.
pub struct norn_runtime {
    _opaque: (),
}

/// A communicator that norn may use. Not an address.
pub struct norn_world {
    _opaque: (),
}

/// What a running body knows of itself; valid in that body only, on its thread.
pub struct norn_self {
    _opaque: (),
}

/// Body of a host task. Returns 0 for success, anything else is the application's own failure code.
/// No C++ exception may leave it.
pub type norn_task_fn =
    Option<unsafe extern "C" fn(self_: *mut norn_self, arg: *mut c_void) -> i32>;
/// Body of a device task: queues work on `stream`, never synchronises.
pub type norn_enqueue_fn = Option<
    unsafe extern "C" fn(self_: *mut norn_self, stream: *mut c_void, arg: *mut c_void) -> i32,
>;
/// Destroys the argument of a task: once, after completion and before the token shows complete,
/// on the thread that completed it, inside the norn call or between two bodies there. May call what never waits
/// (submit, fulfil, fail, cancel, unhold, closing a group), not await, drain, acquire, unregister or close.
pub type norn_drop_fn = Option<unsafe extern "C" fn(arg: *mut c_void)>;

/// Starts only after `norn_start`; until then `norn_edge` may add predecessors.
pub const NORN_HELD: u32 = 1 << 0;
/// A child of the calling task: its accesses must be covered by the parent's, it is ordered inside
/// them, and the parent completes only after it. When a datum's last writing child has failed, so has the parent.
pub const NORN_CHILD: u32 = 1 << 1;
/// Runs even when predecessors failed or were cancelled, and when the runtime is closed with NORN_CANCEL.
pub const NORN_RUN_ALWAYS: u32 = 1 << 2;
/// `arg` points to `arg_bytes` (at most 64) bytes that are copied at submit; the body and `drop` get the copy.
pub const NORN_COPY_ARG: u32 = 1 << 3;

/// For collectives: not preceded by the agreement of all ranks on whether it is entered. If one of them cannot enter
/// it, the world fails. Who is inside already gives it up: its token fails, and MPI may still touch its memory until
/// MPI_Finalize; the lane (`norn_world_lane`) carries nothing more.
pub const NORN_UNGUARDED: u32 = 1 << 4;

/// In place of a key: the n-th such edge of an ordered pair of ranks matches the n-th on the other side.
pub const NORN_KEY_ORDER: i64 = -1;

/// How a world is attached. Fill it from `NORN_WORLD_CONFIG_INIT`; zero means the default everywhere. The environment
/// wins over it. All ranks give the same values, except `tag_limit`, of which the least counts, and `idle_percent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_world_config {
    /// `sizeof(norn_world_config)`.
    pub struct_size: usize,
    /// Tags used of each communicator, at most; also the number of keys. 0: all that MPI has. `NORN_TAG_LIMIT`.
    pub tag_limit: u64,
    /// Communicators that ordered edges are spread over, 1 to 64. 0: 4.
    pub ordered_lanes: i32,
    /// 1: ranks compare what they declared of each message and collective, types and the counts of each rank included; a
    /// difference is `NORN_E_MISMATCH` and names both ends. For a search, not for every day: each collective then
    /// begins with an allgather. `NORN_MPI_VERIFY`.
    pub verify: i32,
    /// Hundredths of a core that may go into looking for late messages, 1 to 100. 0: 20. `NORN_IDLE`. Of several worlds
    /// of a runtime the last attached decides.
    pub idle_percent: i32,
    /// Reserved, 0.
    pub reserved: i32,
    /// Reserved, 0.
    pub flags: u64,
}

/// `MPI_THREAD_SINGLE`.
pub const NORN_THREAD_SINGLE: i32 = 0;
/// `MPI_THREAD_FUNNELED`.
pub const NORN_THREAD_FUNNELED: i32 = 1;
/// `MPI_THREAD_SERIALIZED`.
pub const NORN_THREAD_SERIALIZED: i32 = 2;
/// `MPI_THREAD_MULTIPLE`.
pub const NORN_THREAD_MULTIPLE: i32 = 3;

/// What a world is. Set `struct_size` before the call that fills it (`NORN_WORLD_INFO_INIT`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_world_info {
    /// `sizeof(norn_world_info)`.
    pub struct_size: usize,
    /// Rank of this process.
    pub rank: i32,
    /// Number of ranks.
    pub size: i32,
    /// One of `NORN_THREAD_*`: what MPI provides.
    pub thread_level: i32,
    /// 1: MPI takes device memory, on every rank.
    pub device_aware: i32,
    /// Keys are below this.
    pub key_limit: i64,
    /// Messages and collectives that MPI has at this moment.
    pub in_flight: u64,
    /// Messages and collectives declared that have not ended.
    pub live: u64,
    /// 1 in verify mode.
    pub verify: i32,
    /// Lanes of ordered edges.
    pub ordered_lanes: i32,
    /// Why device memory is taken or not.
    pub device_reason: [c_char; 128],
    /// First line of what MPI says about itself.
    pub library: [c_char; 256],
}

/// A task. Fill it from `NORN_TASK_INIT`. Exactly one of `run` and `enqueue` is set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_task {
    /// `sizeof(norn_task)`.
    pub struct_size: usize,
    /// Host body.
    pub run: norn_task_fn,
    /// Device body.
    pub enqueue: norn_enqueue_fn,
    /// Passed to the body.
    pub arg: *mut c_void,
    /// Destroys `arg`, or NULL.
    pub drop: norn_drop_fn,
    /// Borrowed for the life of the runtime: a string literal or the result of `norn_intern`. May be NULL.
    pub name: *const c_char,
    /// `access_count` accesses; read during the call only.
    pub accesses: *const norn_access,
    /// Number of accesses; any.
    pub access_count: u64,
    /// `after_count` tokens that must complete first; read during the call only.
    pub after: *const norn_token,
    /// Number of tokens; any.
    pub after_count: u64,
    /// Higher runs earlier among the ready. Values beyond -32768..32767 are taken as those.
    pub priority: i32,
    /// Workers this body holds while it runs (an OpenMP region inside); 0 and 1 mean one. More than the runtime has: all of them.
    pub cpus: i32,
    /// `NORN_HELD`, `NORN_CHILD`, `NORN_RUN_ALWAYS`, `NORN_COPY_ARG`.
    pub flags: u32,
    /// Bytes to copy with `NORN_COPY_ARG`, else 0.
    pub arg_bytes: u32,
    /// Where the body runs.
    pub place: norn_place,
    /// The application's own stream for `enqueue`, of the device that `place` names where it names one, or NULL: a leased one.
    /// Always NULL beside `run`.
    pub stream: *mut c_void,
    /// Group of the task.
    pub group: norn_group,
    /// A token from `norn_declare` that this task completes, or `{0}`: a new one.
    pub r#as: norn_token,
}

/// How a datum is combined under NORN_REDUCE. All three are called on norn threads, possibly several at once for different copies.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_reduction {
    /// Fills `bytes` bytes at `copy` with the neutral element.
    pub identity: Option<unsafe extern "C" fn(copy: *mut c_void, bytes: u64, arg: *mut c_void)>,
    /// `into = into (+) from`. `into` holds the earlier operands, so the operation need not commute.
    pub combine: Option<
        unsafe extern "C" fn(into: *mut c_void, from: *const c_void, bytes: u64, arg: *mut c_void),
    >,
    /// Passed to both; borrowed until the datum is unregistered.
    pub arg: *mut c_void,
}

/// Ordinary host memory.
pub const NORN_MEMORY_HOST: i32 = 0;
/// Host memory pinned for devices. norn pins what it allocates; what the application registers as such is pinned already
/// (`NORN_E_INVALID` where the driver does not know it).
pub const NORN_MEMORY_PINNED: i32 = 1;
/// Device memory.
pub const NORN_MEMORY_DEVICE: i32 = 2;
/// Memory that MPI transports can register: on the host, ordinary memory; on a device, memory of no pool.
pub const NORN_MEMORY_MPI: i32 = 3;

/// The first writer may be declared after its readers: they wait for it.
pub const NORN_UNWRITTEN: u32 = 1 << 0;
/// The memory may overlap other data; the application orders them itself.
pub const NORN_ALIAS: u32 = 1 << 1;

/// Describes a datum. Fill it from `NORN_DATA_DESC_INIT`. `ptr` NULL with `bytes` 0 is a pure name to order things by.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_data_desc {
    /// `sizeof(norn_data_desc)`.
    pub struct_size: usize,
    /// First byte of the memory.
    pub ptr: *mut c_void,
    /// Length in bytes.
    pub bytes: u64,
    /// Where it lives.
    pub place: norn_place,
    /// One of `NORN_MEMORY_*`.
    pub kind: i32,
    /// `NORN_UNWRITTEN`, `NORN_ALIAS`.
    pub flags: u32,
    /// Shown in reports; copied. May be NULL.
    pub name: *const c_char,
    /// For NORN_REDUCE; all NULL otherwise.
    pub reduce: norn_reduction,
}

/// One piece of a datum, in bytes from its start: `rows` runs of `bytes` bytes, `stride` apart. `rows` 0 and 1 mean one contiguous run.
/// What lies between the runs is not of the piece: neither a slice of it nor a piece of it may touch that.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct norn_piece {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length of a run.
    pub bytes: u64,
    /// Number of runs.
    pub rows: u64,
    /// Distance between the starts of two runs.
    pub stride: u64,
}
