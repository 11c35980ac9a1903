//! What a runtime is opened with, what it calls, and what it tells: modes, flags, callbacks, records, counts.
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

use core::ffi::{c_char, c_void};

use super::status::norn_status;
use super::types::*;

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
