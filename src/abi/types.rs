//! Plain values and structures of the C API, laid out as C sees them.
//!
//! Five of them have a fixed size for ever (token, data, group, place, access);
//! the others begin with `struct_size` and only grow at the end.
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

use core::ffi::{c_char, c_void};

use super::status::norn_status;

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

/// Bodies run on worker threads as soon as they may.
pub const NORN_MODE_ASYNC: i32 = 0;
/// The sequential oracle: a topological order (the oldest ready task of the highest priority first), one body at a
/// time, only inside norn calls.
pub const NORN_MODE_SYNC: i32 = 1;
/// Device work on the legacy default stream, without events; host work as in async mode.
pub const NORN_MODE_DEFAULT_STREAM: i32 = 2;
/// Pseudo-random order from `norn_config.seed`, one body at a time, only inside norn calls; replayable.
pub const NORN_MODE_SHUFFLE: i32 = 3;

/// Failures are returned by the calls that ask (default).
pub const NORN_ON_FAILURE_RETURN: i32 = 0;
/// As RETURN, and `failure` is called once for each first cause.
pub const NORN_ON_FAILURE_CALL: i32 = 1;
/// The first failure is printed and the process ends by `abort` (under MPI: MPI_Abort).
pub const NORN_ON_FAILURE_ABORT: i32 = 2;

/// The opener is one of the workers while inside await or drain; one thread fewer is made.
pub const NORN_CALLER_WORKS: u64 = 1 << 0;
/// A submit that meets `max_live_tasks` may run ready bodies on the caller's stack.
pub const NORN_SUBMIT_HELPS: u64 = 1 << 1;
/// COMMUTE accesses run in submission order.
pub const NORN_DETERMINISTIC: u64 = 1 << 2;
/// One runtime a process: a second open returns the same one, counted; the last close closes it.
pub const NORN_SHARED: u64 = 1 << 3;
/// Bind each worker to one core instead of the whole mask or NUMA node.
pub const NORN_PIN: u64 = 1 << 4;

/// Level of a log line: a failure.
pub const NORN_LOG_ERROR: i32 = 1;
/// Level of a log line: something the user should look at (the watchdog speaks here).
pub const NORN_LOG_WARN: i32 = 2;
/// Level of a log line: what was decided at open, and why.
pub const NORN_LOG_INFO: i32 = 3;
/// Level of a log line: detail.
pub const NORN_LOG_DEBUG: i32 = 4;

/// Receives log lines, one at a time, from any thread; `text` is valid during the call. Must not call norn.
pub type norn_log_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, level: i32, text: *const c_char)>;
/// Receives the record of a first cause (not of what was cancelled or closed), on the thread where it failed. It
/// belongs to no task. May submit and fulfil, not await (`NORN_E_THREAD`). An await of the failed token may return before
/// it is called; a drain or close that covers the task returns afterwards, so hold no lock over it that this takes.
pub type norn_failure_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, info: *const norn_error_info)>;
/// Start (`begin` 1) and stop (0) of each worker and spare thread, on that thread. `index`: its number, workers first.
pub type norn_thread_fn = Option<unsafe extern "C" fn(arg: *mut c_void, index: i32, begin: i32)>;
/// Begin (`begin` 1) and end (0) of each body, on its thread. `name` may be NULL. Must not call norn.
pub type norn_task_event_fn = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        token: norn_token,
        name: *const c_char,
        worker: i32,
        begin: i32,
    ),
>;
/// Called once when a token completes: `status` as an await would return it. May submit and fulfil, not await.
pub type norn_complete_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, token: norn_token, status: norn_status)>;
/// Receives the text of `norn_dump` in pieces; `text` is not zero-terminated. Returns 0 to go on.
pub type norn_write_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, text: *const c_char, bytes: u64) -> i32>;

/// How a runtime is opened. Fill it from `NORN_CONFIG_INIT`; zero means the default everywhere except `workers` (-1).
/// Environment variables win over it: `NORN_MODE`, `NORN_WORKERS`, ... (README lists them).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_config {
    /// `sizeof(norn_config)`.
    pub struct_size: usize,
    /// One of `NORN_MODE_*`.
    pub mode: i32,
    /// Bodies that run at once. -1: the cores of the process's mask within its cgroup quota. 0: none; bodies run inside the calls of application threads.
    pub workers: i32,
    /// Ceiling on workers and spares for blocked bodies together; the watchdog's thread is one more. 0: workers + 64.
    pub max_threads: i32,
    /// One of `NORN_ON_FAILURE_*`.
    pub on_failure: i32,
    /// CPUs to use, as a list such as "0-3,8"; must lie within the process's mask. NULL: the mask.
    pub cpus: *const c_char,
    /// Advisory ceiling on live tasks: a submit outside tasks waits while there are more and bodies run. 0: none.
    pub max_live_tasks: u64,
    /// Stack of norn's threads. 0: OMP_STACKSIZE, else RLIMIT_STACK, at least 8 MiB.
    pub stack_bytes: u64,
    /// Ceiling on pinned host memory. 0: none.
    pub max_pinned_bytes: u64,
    /// The watchdog reports after this long without any completion while work is pending. 0: 30 s. Negative: never.
    pub watchdog_ns: i64,
    /// How long an idle worker looks for work before it parks. 0: 20 us. Negative: park at once.
    pub spin_ns: i64,
    /// `NORN_CALLER_WORKS`, `NORN_SUBMIT_HELPS`, `NORN_DETERMINISTIC`, `NORN_SHARED`, `NORN_PIN`.
    pub flags: u64,
    /// Seed of NORN_MODE_SHUFFLE.
    pub seed: u64,
    /// Log sink; NULL: standard error, warnings and errors only (`NORN_LOG` sets the level).
    pub log: norn_log_fn,
    /// Passed to `log`.
    pub log_arg: *mut c_void,
    /// For NORN_ON_FAILURE_CALL.
    pub failure: norn_failure_fn,
    /// Passed to `failure`.
    pub failure_arg: *mut c_void,
    /// Thread hook, or NULL.
    pub thread: norn_thread_fn,
    /// Passed to `thread`.
    pub thread_arg: *mut c_void,
    /// Task hook, or NULL.
    pub task_event: norn_task_event_fn,
    /// Passed to `task_event`.
    pub task_event_arg: *mut c_void,
}

/// The record of a failed token. Set `struct_size` before the call that fills it (`NORN_ERROR_INFO_INIT`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_error_info {
    /// `sizeof(norn_error_info)`.
    pub struct_size: usize,
    /// How the token ended: `NORN_OK`, `NORN_E_TASK_FAILED`, `NORN_E_PROPAGATED`, `NORN_E_CANCELLED`, `NORN_E_CLOSED`...
    pub status: norn_status,
    /// Code of the first cause: what its body returned or was passed to `norn_fail`.
    pub code: i32,
    /// The token asked about.
    pub token: norn_token,
    /// The token that failed first; equals `token` unless propagated.
    pub cause: norn_token,
    /// Status of the first cause: `NORN_E_TASK_FAILED`, `NORN_E_CANCELLED`, `NORN_E_CLOSED`, `NORN_E_DEVICE`, `NORN_E_MPI`...
    pub cause_status: norn_status,
    /// Rank of the first cause; -1 without a world.
    pub rank: i32,
    /// Worker that ran it; -1: none.
    pub worker: i32,
    /// Device; -1: none.
    pub device: i32,
    /// Name of the task that failed first.
    pub task: [c_char; 64],
    /// What it was doing ("body", "promise", or the call of a lowering).
    pub operation: [c_char; 64],
    /// Its text.
    pub text: [c_char; 256],
}

/// What a running body knows of itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_self_info {
    /// `sizeof(norn_self_info)`.
    pub struct_size: usize,
    /// Its runtime.
    pub runtime: *mut norn_runtime,
    /// Its token.
    pub token: norn_token,
    /// Its group.
    pub group: norn_group,
    /// Its place; for an enqueue body that named none, the device that it queues its work on.
    pub place: norn_place,
    /// Its stream, or NULL.
    pub stream: *mut c_void,
    /// The worker that runs it; -1: an application thread that is none.
    pub worker: i32,
    /// 1 when a cancel arrived too late to keep the body from starting.
    pub cancelled: i32,
}

/// Counters of a runtime since it was opened. Taken without stopping anything: exact when it is quiet.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct norn_runtime_stats {
    /// `sizeof(norn_runtime_stats)`.
    pub struct_size: usize,
    /// Tasks submitted.
    pub submitted: u64,
    /// Tasks completed, however they ended.
    pub completed: u64,
    /// Of these, failed themselves.
    pub failed: u64,
    /// Of these, failed because a predecessor did.
    pub propagated: u64,
    /// Of these, cancelled or closed.
    pub cancelled: u64,
    /// Submitted and not yet complete.
    pub live: u64,
    /// Predecessor relations that a task had to wait for.
    pub edges: u64,
    /// Bodies taken from another worker's queue.
    pub steals: u64,
    /// Times a worker went to sleep.
    pub parks: u64,
    /// Times a sleeping worker was woken.
    pub wakes: u64,
    /// Registered data.
    pub data: u64,
    /// Bytes held for tasks, data and edges.
    pub memory_bytes: u64,
    /// Bodies whose time was taken (one in 64).
    pub sampled_bodies: u64,
    /// Sum of their times in nanoseconds.
    pub sampled_body_ns: u64,
    /// Sum of the times these spent ready but not yet running, in nanoseconds.
    pub sampled_wait_ns: u64,
    /// Bodies that may run at once: 0 with no workers, 1 in one-thread modes.
    pub workers: i32,
    /// Workers and spare threads at this moment; the watchdog's is not counted.
    pub threads: i32,
    /// Bodies blocked in an await at this moment.
    pub blocked_bodies: i32,
    /// Mode.
    pub mode: i32,
}

/// Drain, then close.
pub const NORN_DRAIN: u32 = 0;
/// Cancel what has not started, then close; RUN_ALWAYS tasks still run.
pub const NORN_CANCEL: u32 = 1;

/// One line a blocked token: its name and what it waits for.
pub const NORN_DUMP_TEXT: i32 = 0;
/// The live graph in Graphviz's language.
pub const NORN_DUMP_DOT: i32 = 1;

// SAFETY: plain C data; the pointers inside are only carried. Whoever follows
// them says why that is sound at that place.
unsafe impl Send for norn_config {}
// SAFETY: as above.
unsafe impl Sync for norn_config {}
// SAFETY: as above.
unsafe impl Send for norn_reduction {}
// SAFETY: as above.
unsafe impl Sync for norn_reduction {}
