/*
 * norn: asynchronous task graphs for HPC codes.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Three verbs: submit a task, declare an edge, await a token.
 *
 *     #include <norn.h>
 *     #include <stdio.h>
 *
 *     static int32_t hello(norn_self *self, void *arg) { (void)self; puts(arg); return 0; }
 *
 *     int main(void) {
 *         norn_runtime *rt;
 *         norn_token first, second;
 *         if (norn_open(NULL, &rt) != NORN_OK) { puts(norn_last_error()); return 1; }
 *
 *         norn_task task = NORN_TASK_INIT;
 *         task.run = hello;
 *         task.arg = "first";
 *         norn_submit(rt, &task, &first);
 *
 *         task.arg = "second";
 *         task.after = &first;
 *         task.after_count = 1;
 *         norn_submit(rt, &task, &second);
 *
 *         norn_await(rt, second, -1);
 *         return norn_close(rt);
 *     }
 *
 * Rules that hold everywhere:
 *   - Every function returns a norn_status: NORN_OK (0) or a negative NORN_E_* code; norn_last_error() is
 *     the sentence that belongs to it. Outputs are written only on success.
 *   - Every handle is a number: one that is stale, of another runtime or garbage gives NORN_E_INVALID.
 *   - Structures that begin with struct_size are filled from their _INIT macro, so that a program
 *     compiled with an older header runs with a newer library.
 *   - "Any thread" means: also one that norn did not make. Nothing here may be called from a signal handler.
 *   - In a forked child every call returns NORN_E_FORKED.
 *
 * This file is generated from src/abi; change it there.
 */
#ifndef NORN_H
#define NORN_H


#include <stddef.h>
#include <stdint.h>

// Marks a `norn_type` or `norn_op` as an MPI handle: its lower 32 bits are the handle's Fortran integer.
#define NORN_OF_MPI 4294967296

// The device that is current on the calling thread; the first one where none is.
#define NORN_DEVICE_CURRENT 0

// The device of this process's rank among those on its node, as the launcher says it, modulo the devices that are visible.
#define NORN_DEVICE_LOCAL_RANK 1

// The visible device with number `ordinal`.
#define NORN_DEVICE_ORDINAL 2

// The visible device with the UUID `uuid`.
#define NORN_DEVICE_UUID 3

// An argument is `bytes` bytes at `value`, copied in the call.
#define NORN_ARGUMENT_VALUE 0

// An argument is the device pointer of a datum, `offset` bytes from its start.
#define NORN_ARGUMENT_DATA 1

// A cuBLAS handle (`cublasHandle_t`).
#define NORN_PROVIDER_CUBLAS 1

// A dense cuSOLVER handle (`cusolverDnHandle_t`).
#define NORN_PROVIDER_CUSOLVER 2

// Major version of the API this header describes.
#define NORN_VERSION_MAJOR 0

// Minor version of the API this header describes. While the major version is 0, a new minor version may change the ABI.
#define NORN_VERSION_MINOR 1

// Patch version of the API this header describes.
#define NORN_VERSION_PATCH 0

// Anywhere (a task: any worker; a datum: host memory).
#define NORN_PLACE_ANY 0

// Host. A task with index `i >= 0` runs on worker `i` of the runtime. Index -1: any worker.
#define NORN_PLACE_CPU 1

// NUMA node with the operating system's number `index`. A task runs on a worker of that node.
#define NORN_PLACE_NUMA 2

// Device, as `norn_device_open` returned it.
#define NORN_PLACE_DEVICE 3

// The very thread that opened the runtime, inside its awaits, drains and progress calls.
#define NORN_PLACE_OPENER 4

// The thread that initialised MPI, inside its awaits, drains and progress calls.
#define NORN_PLACE_MPI 5

// Reads; runs beside other readers, after the writer before it.
#define NORN_READ 1

// Overwrites the whole datum without reading it; after everything before it. Heals a failed datum.
#define NORN_WRITE 2

// Reads and writes; after everything before it.
#define NORN_READ_WRITE 3

// Reads and writes in any order with the neighbouring COMMUTE accesses, one at a time. With `NORN_DETERMINISTIC`: in submission order.
#define NORN_COMMUTE 4

// Adds into a private copy; neighbouring REDUCE accesses run side by side and their copies are
// combined in a tree whose shape depends only on their number. The datum needs a `reduce` description.
// Inside the body `norn_data_pointer` gives the private copy.
#define NORN_REDUCE 5

// Starts only after `norn_start`; until then `norn_edge` may add predecessors.
#define NORN_HELD (1 << 0)

// A child of the calling task: its accesses must be covered by the parent's, it is ordered inside
// them, and the parent completes only after it. When a datum's last writing child has failed, so has the parent.
#define NORN_CHILD (1 << 1)

// Runs even when predecessors failed or were cancelled, and when the runtime is closed with NORN_CANCEL.
#define NORN_RUN_ALWAYS (1 << 2)

// `arg` points to `arg_bytes` (at most 64) bytes that are copied at submit; the body and `drop` get the copy.
#define NORN_COPY_ARG (1 << 3)

// For collectives: not preceded by the agreement of all ranks on whether it is entered. If one of them cannot enter
// it, the world fails. Who is inside already gives it up: its token fails, and MPI may still touch its memory until
// MPI_Finalize; the lane (`norn_world_lane`) carries nothing more.
#define NORN_UNGUARDED (1 << 4)

// In place of a key: the n-th such edge of an ordered pair of ranks matches the n-th on the other side.
#define NORN_KEY_ORDER -1

// `MPI_THREAD_SINGLE`.
#define NORN_THREAD_SINGLE 0

// `MPI_THREAD_FUNNELED`.
#define NORN_THREAD_FUNNELED 1

// `MPI_THREAD_SERIALIZED`.
#define NORN_THREAD_SERIALIZED 2

// `MPI_THREAD_MULTIPLE`.
#define NORN_THREAD_MULTIPLE 3

// Ordinary host memory.
#define NORN_MEMORY_HOST 0

// Host memory pinned for devices. norn pins what it allocates; what the application registers as such is pinned already
// (`NORN_E_INVALID` where the driver does not know it).
#define NORN_MEMORY_PINNED 1

// Device memory.
#define NORN_MEMORY_DEVICE 2

// Memory that MPI transports can register: on the host, ordinary memory; on a device, memory of no pool.
#define NORN_MEMORY_MPI 3

// The first writer may be declared after its readers: they wait for it.
#define NORN_UNWRITTEN (1 << 0)

// The memory may overlap other data; the application orders them itself.
#define NORN_ALIAS (1 << 1)

// Bodies run on worker threads as soon as they may.
#define NORN_MODE_ASYNC 0

// The sequential oracle: a topological order (the oldest ready task of the highest priority first), one body at a
// time, only inside norn calls.
#define NORN_MODE_SYNC 1

// Device work on the legacy default stream, without events; host work as in async mode.
#define NORN_MODE_DEFAULT_STREAM 2

// Pseudo-random order from `norn_config.seed`, one body at a time, only inside norn calls; replayable.
#define NORN_MODE_SHUFFLE 3

// Failures are returned by the calls that ask (default).
#define NORN_ON_FAILURE_RETURN 0

// As RETURN, and `failure` is called once for each first cause.
#define NORN_ON_FAILURE_CALL 1

// The first failure is printed and the process ends by `abort` (under MPI: MPI_Abort).
#define NORN_ON_FAILURE_ABORT 2

// The opener is one of the workers while inside await or drain; one thread fewer is made.
#define NORN_CALLER_WORKS (1 << 0)

// A submit that meets `max_live_tasks` may run ready bodies on the caller's stack.
#define NORN_SUBMIT_HELPS (1 << 1)

// COMMUTE accesses run in submission order.
#define NORN_DETERMINISTIC (1 << 2)

// One runtime a process: a second open returns the same one, counted; the last close closes it.
#define NORN_SHARED (1 << 3)

// Bind each worker to one core instead of the whole mask or NUMA node.
#define NORN_PIN (1 << 4)

// Level of a log line: a failure.
#define NORN_LOG_ERROR 1

// Level of a log line: something the user should look at (the watchdog speaks here).
#define NORN_LOG_WARN 2

// Level of a log line: what was decided at open, and why.
#define NORN_LOG_INFO 3

// Level of a log line: detail.
#define NORN_LOG_DEBUG 4

// Drain, then close.
#define NORN_DRAIN 0

// Cancel what has not started, then close; RUN_ALWAYS tasks still run.
#define NORN_CANCEL 1

// One line a blocked token: its name and what it waits for.
#define NORN_DUMP_TEXT 0

// The live graph in Graphviz's language.
#define NORN_DUMP_DOT 1

// A runtime. Not an address: any stale or foreign value gives `NORN_E_INVALID`.
typedef struct norn_runtime norn_runtime;

// What a running body knows of itself; valid in that body only, on its thread.
typedef struct norn_self norn_self;

// A communicator that norn may use. Not an address.
typedef struct norn_world norn_world;

// Result of every norn call: `NORN_OK` (0) or one of the negative `NORN_E_*`
// codes. Outputs are written only when the result is `NORN_OK`.
typedef int32_t norn_status;

// Names the completion of one operation. A plain number: copy it, keep it for
// ever, never free it. A token of a task that is long gone means "complete".
// `{0}` is a token that is already complete.
typedef struct norn_token {
  // Runtime, slot and generation; opaque.
  uint64_t id;
} norn_token;

// Names a group of tasks. `{0}` is the group of the submitter: of the calling task inside a task, none outside.
typedef struct norn_group {
  // Runtime, slot and generation; opaque.
  uint64_t id;
} norn_group;

// Where a task runs or a datum lives. `{0, 0}` is anywhere.
typedef struct norn_place {
  // One of `NORN_PLACE_*`.
  int32_t kind;
  // Which of its kind; see the kinds.
  int32_t index;
} norn_place;

// What a running body knows of itself.
typedef struct norn_self_info {
  // `sizeof(norn_self_info)`.
  size_t struct_size;
  // Its runtime.
  struct norn_runtime *runtime;
  // Its token.
  struct norn_token token;
  // Its group.
  struct norn_group group;
  // Its place; for an enqueue body that named none, the device that it queues its work on.
  struct norn_place place;
  // Its stream, or NULL.
  void *stream;
  // The worker that runs it; -1: an application thread that is none.
  int32_t worker;
  // 1 when a cancel arrived too late to keep the body from starting.
  int32_t cancelled;
} norn_self_info;

// Names a datum: one allocation at one place, whose accesses norn orders. `{0}` is no datum.
typedef struct norn_data {
  // Runtime, slot and generation; opaque.
  uint64_t id;
} norn_data;

// How a datum is combined under NORN_REDUCE. All three are called on norn threads, possibly several at once for different copies.
typedef struct norn_reduction {
  // Fills `bytes` bytes at `copy` with the neutral element.
  void (*identity)(void *copy, uint64_t bytes, void *arg);
  // `into = into (+) from`. `into` holds the earlier operands, so the operation need not commute.
  void (*combine)(void *into, const void *from, uint64_t bytes, void *arg);
  // Passed to both; borrowed until the datum is unregistered.
  void *arg;
} norn_reduction;

// Describes a datum. Fill it from `NORN_DATA_DESC_INIT`. `ptr` NULL with `bytes` 0 is a pure name to order things by.
typedef struct norn_data_desc {
  // `sizeof(norn_data_desc)`.
  size_t struct_size;
  // First byte of the memory.
  void *ptr;
  // Length in bytes.
  uint64_t bytes;
  // Where it lives.
  struct norn_place place;
  // One of `NORN_MEMORY_*`.
  int32_t kind;
  // `NORN_UNWRITTEN`, `NORN_ALIAS`.
  uint32_t flags;
  // Shown in reports; copied. May be NULL.
  const char *name;
  // For NORN_REDUCE; all NULL otherwise.
  struct norn_reduction reduce;
} norn_data_desc;

// One piece of a datum, in bytes from its start: `rows` runs of `bytes` bytes, `stride` apart. `rows` 0 and 1 mean one contiguous run.
// What lies between the runs is not of the piece: neither a slice of it nor a piece of it may touch that.
typedef struct norn_piece {
  // Offset of the first byte.
  uint64_t offset;
  // Length of a run.
  uint64_t bytes;
  // Number of runs.
  uint64_t rows;
  // Distance between the starts of two runs.
  uint64_t stride;
} norn_piece;

// One access of a task to a datum. Accesses of one task to the same datum are merged, the strongest mode wins.
typedef struct norn_access {
  // The datum.
  struct norn_data data;
  // A place taken before by `norn_reserve`, or 0: take the place at submit.
  uint64_t slot;
  // One of `NORN_READ`, `NORN_WRITE`, `NORN_READ_WRITE`, `NORN_COMMUTE`, `NORN_REDUCE`.
  int32_t mode;
  // Reserved, 0.
  uint32_t flags;
} norn_access;

// Which device to open and how. Fill it from `NORN_DEVICE_CONFIG_INIT`; zero means the default everywhere.
typedef struct norn_device_config {
  // `sizeof(norn_device_config)`.
  size_t struct_size;
  // How the device is named: one of `NORN_DEVICE_*`.
  int32_t select;
  // For NORN_DEVICE_ORDINAL.
  int32_t ordinal;
  // For NORN_DEVICE_UUID: "GPU-" and the groups of digits, or the digits alone. Copied.
  const char *uuid;
  // Ceiling on the device memory that norn allocates. 0: none.
  uint64_t max_bytes;
  // Streams that operations are put on: how many independent ones are on the device at once. 0: 32.
  int32_t streams;
  // Reserved, 0.
  uint32_t flags;
} norn_device_config;

// What is known of an open device. Set `struct_size` before the call that fills it (`NORN_DEVICE_INFO_INIT`).
typedef struct norn_device_info {
  // `sizeof(norn_device_info)`.
  size_t struct_size;
  // Number among the devices that this process sees.
  int32_t ordinal;
  // Streams of the pool.
  int32_t streams;
  // Compute capability, 10 times the major number plus the minor.
  int32_t capability;
  // 1 after a fault: everything on the device fails, and only closing the runtime is left.
  int32_t failed;
  // Memory of the device.
  uint64_t total_bytes;
  // Of this, what norn's data take.
  uint64_t used_bytes;
  // Pinned host memory that norn's data take, of all devices.
  uint64_t pinned_bytes;
  // Operations handed to the device so far.
  uint64_t issued;
  // Waits between streams so far.
  uint64_t waits;
  // Its name.
  char name[128];
  // Its UUID as text, "GPU-..." .
  char uuid[48];
} norn_device_info;

// Type of an element: one of the constants below, or `norn_type_of_mpi(MPI_Datatype)` of norn_mpi.h. 0: bytes.
typedef int64_t norn_type;

// Elements in memory: `planes` planes, `plane_stride` apart, of `blocks` blocks, `stride` apart, of `count` elements. All
// lengths and distances are in elements of `type`. A slice that names a datum adds its access to the operation: a source
// READ; a target WRITE where it covers the whole datum, else READ_WRITE. Zero everywhere is an empty slice of nothing.
//
// Every byte of it belongs to the datum. A datum that is a piece in rows (`norn_piece.rows`) has only its rows: a slice that
// touches what lies between them is `NORN_E_INVALID`. Such a piece is described whole by the `count` of one row, `blocks` the
// rows, and `stride` their distance. (An MPI datatype with gaps is taken at its word.)
//
// Blocks of a target do not overlap. In `norn_copy` and `norn_fill` those of a source do not either, and on both sides one
// block begins behind the one before it, and one plane behind the whole one before it; else `NORN_E_INVALID`.
typedef struct norn_slice {
  // The datum that holds the elements, or `{0}`: `ptr` points to memory of the caller, which norn does not order and
  // which must live until the operation has completed.
  struct norn_data data;
  // The memory, where no datum is named; else NULL.
  void *ptr;
  // Where `ptr` lies: a device, or the host (`{0}`). Not read where a datum is named.
  struct norn_place place;
  // Type of the elements; 0: bytes.
  norn_type type;
  // Reserved, 0.
  uint32_t flags;
  // Reserved, 0.
  uint32_t reserved;
  // Elements from the beginning of the memory to the first one.
  uint64_t offset;
  // Elements in a block.
  uint64_t count;
  // Blocks in a plane; 0 means 1.
  uint64_t blocks;
  // Elements from the start of a block to the start of the next; 0 means `count`.
  uint64_t stride;
  // Planes; 0 means 1.
  uint64_t planes;
  // Elements from the start of a plane to the start of the next; 0 means `blocks` times `stride`.
  uint64_t plane_stride;
} norn_slice;

// Body of a host task. Returns 0 for success, anything else is the application's own failure code.
// No C++ exception may leave it.
typedef int32_t (*norn_task_fn)(struct norn_self *self_, void *arg);

// Body of a device task: queues work on `stream`, never synchronises.
typedef int32_t (*norn_enqueue_fn)(struct norn_self *self_, void *stream, void *arg);

// Destroys the argument of a task: once, after completion and before the token shows complete,
// on the thread that completed it, inside the norn call or between two bodies there. May call what never waits
// (submit, fulfil, fail, cancel, unhold, closing a group), not await, drain, acquire, unregister or close.
typedef void (*norn_drop_fn)(void *arg);

// A task. Fill it from `NORN_TASK_INIT`. Exactly one of `run` and `enqueue` is set.
typedef struct norn_task {
  // `sizeof(norn_task)`.
  size_t struct_size;
  // Host body.
  norn_task_fn run;
  // Device body.
  norn_enqueue_fn enqueue;
  // Passed to the body.
  void *arg;
  // Destroys `arg`, or NULL.
  norn_drop_fn drop;
  // Borrowed for the life of the runtime: a string literal or the result of `norn_intern`. May be NULL.
  const char *name;
  // `access_count` accesses; read during the call only.
  const struct norn_access *accesses;
  // Number of accesses; any.
  uint64_t access_count;
  // `after_count` tokens that must complete first; read during the call only.
  const struct norn_token *after;
  // Number of tokens; any.
  uint64_t after_count;
  // Higher runs earlier among the ready. Values beyond -32768..32767 are taken as those.
  int32_t priority;
  // Workers this body holds while it runs (an OpenMP region inside); 0 and 1 mean one. More than the runtime has: all of them.
  int32_t cpus;
  // `NORN_HELD`, `NORN_CHILD`, `NORN_RUN_ALWAYS`, `NORN_COPY_ARG`.
  uint32_t flags;
  // Bytes to copy with `NORN_COPY_ARG`, else 0.
  uint32_t arg_bytes;
  // Where the body runs.
  struct norn_place place;
  // The application's own stream for `enqueue`, of the device that `place` names where it names one, or NULL: a leased one.
  // Always NULL beside `run`.
  void *stream;
  // Group of the task.
  struct norn_group group;
  // A token from `norn_declare` that this task completes, or `{0}`: a new one.
  struct norn_token as;
} norn_task;

// A module of kernels on one device. `{0}` is none. It lives until the runtime closes.
typedef struct norn_module {
  // Opaque.
  uint64_t id;
} norn_module;

// A kernel of a module. `{0}` is none. It lives until the runtime closes.
typedef struct norn_kernel {
  // Opaque.
  uint64_t id;
} norn_kernel;

// One argument of a kernel.
typedef struct norn_argument {
  // `NORN_ARGUMENT_VALUE` or `NORN_ARGUMENT_DATA`.
  int32_t kind;
  // For a datum: the access that the kernel makes (`NORN_READ`, `NORN_WRITE`, `NORN_READ_WRITE`, `NORN_COMMUTE`), which is
  // added to those of the operation; 0: none is added.
  int32_t mode;
  // For a value: its size, at most 4096.
  uint64_t bytes;
  // For a value: where it is.
  const void *value;
  // For a datum: the datum.
  struct norn_data data;
  // For a datum: bytes from its start to where the pointer shall point, which is a byte of it or its end. What lies between
  // the rows of a piece is not of it.
  uint64_t offset;
} norn_argument;

// A kernel launch. Fill it from `NORN_LAUNCH_INIT`. Zero in `grid` and `block` means 1.
typedef struct norn_launch_desc {
  // `sizeof(norn_launch_desc)`.
  size_t struct_size;
  // The kernel.
  struct norn_kernel kernel;
  // Blocks in the grid.
  uint32_t grid[3];
  // Threads in a block.
  uint32_t block[3];
  // Dynamic shared memory of a block in bytes.
  uint32_t shared_bytes;
  // Reserved, 0.
  uint32_t flags;
  // `argument_count` arguments in the kernel's order; read during the call only.
  const struct norn_argument *arguments;
  // Number of arguments.
  uint64_t argument_count;
} norn_launch_desc;

// Receives log lines, one at a time, from any thread; `text` is valid during the call. Must not call norn.
typedef void (*norn_log_fn)(void *arg, int32_t level, const char *text);

// The record of a failed token. Set `struct_size` before the call that fills it (`NORN_ERROR_INFO_INIT`).
typedef struct norn_error_info {
  // `sizeof(norn_error_info)`.
  size_t struct_size;
  // How the token ended: `NORN_OK`, `NORN_E_TASK_FAILED`, `NORN_E_PROPAGATED`, `NORN_E_CANCELLED`, `NORN_E_CLOSED`...
  norn_status status;
  // Code of the first cause: what its body returned or was passed to `norn_fail`.
  int32_t code;
  // The token asked about.
  struct norn_token token;
  // The token that failed first; equals `token` unless propagated.
  struct norn_token cause;
  // Status of the first cause: `NORN_E_TASK_FAILED`, `NORN_E_CANCELLED`, `NORN_E_CLOSED`, `NORN_E_DEVICE`, `NORN_E_MPI`...
  norn_status cause_status;
  // Rank of the first cause; -1 without a world.
  int32_t rank;
  // Worker that ran it; -1: none.
  int32_t worker;
  // Device; -1: none.
  int32_t device;
  // Name of the task that failed first.
  char task[64];
  // What it was doing ("body", "promise", or the call of a lowering).
  char operation[64];
  // Its text.
  char text[256];
} norn_error_info;

// Receives the record of a first cause (not of what was cancelled or closed), on the thread where it failed. It
// belongs to no task. May submit and fulfil, not await (`NORN_E_THREAD`). An await of the failed token may return before
// it is called; a drain or close that covers the task returns afterwards, so hold no lock over it that this takes.
typedef void (*norn_failure_fn)(void *arg, const struct norn_error_info *info);

// Start (`begin` 1) and stop (0) of each worker and spare thread, on that thread. `index`: its number, workers first.
typedef void (*norn_thread_fn)(void *arg, int32_t index, int32_t begin);

// Begin (`begin` 1) and end (0) of each body, on its thread. `name` may be NULL. Must not call norn.
typedef void (*norn_task_event_fn)(void *arg, struct norn_token token, const char *name, int32_t worker, int32_t begin);

// How a runtime is opened. Fill it from `NORN_CONFIG_INIT`; zero means the default everywhere except `workers` (-1).
// Environment variables win over it: `NORN_MODE`, `NORN_WORKERS`, ... (README lists them).
typedef struct norn_config {
  // `sizeof(norn_config)`.
  size_t struct_size;
  // One of `NORN_MODE_*`.
  int32_t mode;
  // Bodies that run at once. -1: the cores of the process's mask within its cgroup quota. 0: none; bodies run inside the calls of application threads.
  int32_t workers;
  // Ceiling on workers and spares for blocked bodies together; the watchdog's thread is one more. 0: workers + 64.
  int32_t max_threads;
  // One of `NORN_ON_FAILURE_*`.
  int32_t on_failure;
  // CPUs to use, as a list such as "0-3,8"; must lie within the process's mask. NULL: the mask.
  const char *cpus;
  // Advisory ceiling on live tasks: a submit outside tasks waits while there are more and bodies run. 0: none.
  uint64_t max_live_tasks;
  // Stack of norn's threads. 0: OMP_STACKSIZE, else RLIMIT_STACK, at least 8 MiB.
  uint64_t stack_bytes;
  // Ceiling on pinned host memory. 0: none.
  uint64_t max_pinned_bytes;
  // The watchdog reports after this long without any completion while work is pending. 0: 30 s. Negative: never.
  int64_t watchdog_ns;
  // How long an idle worker looks for work before it parks. 0: 20 us. Negative: park at once.
  int64_t spin_ns;
  // `NORN_CALLER_WORKS`, `NORN_SUBMIT_HELPS`, `NORN_DETERMINISTIC`, `NORN_SHARED`, `NORN_PIN`.
  uint64_t flags;
  // Seed of NORN_MODE_SHUFFLE.
  uint64_t seed;
  // Log sink; NULL: standard error, warnings and errors only (`NORN_LOG` sets the level).
  norn_log_fn log;
  // Passed to `log`.
  void *log_arg;
  // For NORN_ON_FAILURE_CALL.
  norn_failure_fn failure;
  // Passed to `failure`.
  void *failure_arg;
  // Thread hook, or NULL.
  norn_thread_fn thread;
  // Passed to `thread`.
  void *thread_arg;
  // Task hook, or NULL.
  norn_task_event_fn task_event;
  // Passed to `task_event`.
  void *task_event_arg;
} norn_config;

// Counters of a runtime since it was opened. Taken without stopping anything: exact when it is quiet.
typedef struct norn_runtime_stats {
  // `sizeof(norn_runtime_stats)`.
  size_t struct_size;
  // Tasks submitted.
  uint64_t submitted;
  // Tasks completed, however they ended.
  uint64_t completed;
  // Of these, failed themselves.
  uint64_t failed;
  // Of these, failed because a predecessor did.
  uint64_t propagated;
  // Of these, cancelled or closed.
  uint64_t cancelled;
  // Submitted and not yet complete.
  uint64_t live;
  // Predecessor relations that a task had to wait for.
  uint64_t edges;
  // Bodies taken from another worker's queue.
  uint64_t steals;
  // Times a worker went to sleep.
  uint64_t parks;
  // Times a sleeping worker was woken.
  uint64_t wakes;
  // Registered data.
  uint64_t data;
  // Bytes held for tasks, data and edges.
  uint64_t memory_bytes;
  // Bodies whose time was taken (one in 64).
  uint64_t sampled_bodies;
  // Sum of their times in nanoseconds.
  uint64_t sampled_body_ns;
  // Sum of the times these spent ready but not yet running, in nanoseconds.
  uint64_t sampled_wait_ns;
  // Bodies that may run at once: 0 with no workers, 1 in one-thread modes.
  int32_t workers;
  // Workers and spare threads at this moment; the watchdog's is not counted.
  int32_t threads;
  // Bodies blocked in an await at this moment.
  int32_t blocked_bodies;
  // Mode.
  int32_t mode;
} norn_runtime_stats;

// Receives the text of `norn_dump` in pieces; `text` is not zero-terminated. Returns 0 to go on.
typedef int32_t (*norn_write_fn)(void *arg, const char *text, uint64_t bytes);

// Called once when a token completes: `status` as an await would return it. May submit and fulfil, not await.
typedef void (*norn_complete_fn)(void *arg, struct norn_token token, norn_status status);

// How a world is attached. Fill it from `NORN_WORLD_CONFIG_INIT`; zero means the default everywhere. The environment
// wins over it. All ranks give the same values, except `tag_limit`, of which the least counts, and `idle_percent`.
typedef struct norn_world_config {
  // `sizeof(norn_world_config)`.
  size_t struct_size;
  // Tags used of each communicator, at most; also the number of keys. 0: all that MPI has. `NORN_TAG_LIMIT`.
  uint64_t tag_limit;
  // Communicators that ordered edges are spread over, 1 to 64. 0: 4.
  int32_t ordered_lanes;
  // 1: ranks compare what they declared of each message and collective, types and the counts of each rank included; a
  // difference is `NORN_E_MISMATCH` and names both ends. For a search, not for every day: each collective then
  // begins with an allgather. `NORN_MPI_VERIFY`.
  int32_t verify;
  // Hundredths of a core that may go into looking for late messages, 1 to 100. 0: 20. `NORN_IDLE`. Of several worlds
  // of a runtime the last attached decides.
  int32_t idle_percent;
  // Reserved, 0.
  int32_t reserved;
  // Reserved, 0.
  uint64_t flags;
} norn_world_config;

// What a world is. Set `struct_size` before the call that fills it (`NORN_WORLD_INFO_INIT`).
typedef struct norn_world_info {
  // `sizeof(norn_world_info)`.
  size_t struct_size;
  // Rank of this process.
  int32_t rank;
  // Number of ranks.
  int32_t size;
  // One of `NORN_THREAD_*`: what MPI provides.
  int32_t thread_level;
  // 1: MPI takes device memory, on every rank.
  int32_t device_aware;
  // Keys are below this.
  int64_t key_limit;
  // Messages and collectives that MPI has at this moment.
  uint64_t in_flight;
  // Messages and collectives declared that have not ended.
  uint64_t live;
  // 1 in verify mode.
  int32_t verify;
  // Lanes of ordered edges.
  int32_t ordered_lanes;
  // Why device memory is taken or not.
  char device_reason[128];
  // First line of what MPI says about itself.
  char library[256];
} norn_world_info;

// Operation of a reduction: one of the constants below, or `norn_op_of_mpi(MPI_Op)` of norn_mpi.h. 0: the sum.
typedef int64_t norn_op;

// A byte; no reductions but the bitwise ones.
#define NORN_BYTE 0

// `int8_t`.
#define NORN_I8 1

// `uint8_t`.
#define NORN_U8 2

// `int16_t`.
#define NORN_I16 3

// `uint16_t`.
#define NORN_U16 4

// `int32_t`.
#define NORN_I32 5

// `uint32_t`.
#define NORN_U32 6

// `int64_t`.
#define NORN_I64 7

// `uint64_t`.
#define NORN_U64 8

// `float`.
#define NORN_F32 9

// `double`.
#define NORN_F64 10

// `float _Complex`, `std::complex<float>`.
#define NORN_C64 11

// `double _Complex`, `std::complex<double>`.
#define NORN_C128 12

// Sum.
#define NORN_SUM 0

// Product.
#define NORN_PROD 1

// Minimum.
#define NORN_MIN 2

// Maximum.
#define NORN_MAX 3

// Logical and.
#define NORN_LAND 4

// Logical or.
#define NORN_LOR 5

// Logical exclusive or.
#define NORN_LXOR 6

// Bitwise and.
#define NORN_BAND 7

// Bitwise or.
#define NORN_BOR 8

// Bitwise exclusive or.
#define NORN_BXOR 9

// Success.
#define NORN_OK 0

// A handle, pointer, token or value that norn never issued, of another runtime, or out of
// range. The text of `norn_last_error` names the culprit.
#define NORN_E_INVALID -1

// A right argument at the wrong time: an edge to a task that has already been let go, a
// group closed twice, a promise fulfilled twice.
#define NORN_E_STATE -2

// The memory overlaps another datum and NORN_ALIAS was not given.
#define NORN_E_OVERLAP -3

// A NORN_CHILD task asks for an access that its parent does not hold.
#define NORN_E_UNCOVERED -4

// The header the caller was compiled with is newer than this library, or a `struct_size`
// is unknown to it.
#define NORN_E_VERSION -5

// A malformed or unknown `NORN_*` environment variable, or a configuration field out of
// range.
#define NORN_E_CONFIG -6

// The call is not allowed from this thread.
#define NORN_E_THREAD -7

// A limit of norn's own was reached: threads, live tokens, runtimes.
#define NORN_E_RESOURCE -20

// The system gave no memory.
#define NORN_E_MEMORY -21

// This build, machine or process lacks the part that the call needs (no device, no MPI).
#define NORN_E_UNSUPPORTED -22

// The process is a forked child of the one that opened the runtime.
#define NORN_E_FORKED -23

// The runtime, group or world is closed or closing; also the failure of tokens still
// unbound at close.
#define NORN_E_CLOSED -24

// A system call failed; the text holds its name and reason.
#define NORN_E_SYSTEM -25

// The time given has passed; nothing was changed.
#define NORN_E_TIMEOUT -40

// The calling task waits for something that cannot come before the task itself ends.
#define NORN_E_WOULD_DEADLOCK -41

// A cycle, or tokens that nobody can complete any more; the text lists them. The report
// changes nothing.
#define NORN_E_DEADLOCK -42

// The task has started, been issued or completed; a running body can see the request in
// `norn_self_info.cancelled`.
#define NORN_E_TOO_LATE -43

// The awaited task failed itself; `norn_error` has its record.
#define NORN_E_TASK_FAILED -60

// What was awaited did not succeed because something it depends on failed, and as a task did not run; the record points
// to the first cause.
#define NORN_E_PROPAGATED -61

// The awaited task was cancelled before it started.
#define NORN_E_CANCELLED -62

// Two threads declared ordered edges of the same pair of ranks.
#define NORN_E_ORDER -80

// A cycle runs through tags that two edges share; the text names the setting that widens
// the window.
#define NORN_E_TAGS -81

// An MPI call failed; the text is MPI's own.
#define NORN_E_MPI -82

// Two ranks disagree about a message or a collective.
#define NORN_E_MISMATCH -83

// A device call failed; the text is the driver's own.
#define NORN_E_DEVICE -100

// A defect in norn was caught at the boundary; the runtime is poisoned and only
// `norn_close` remains useful: waits end with this status, eventfds become readable,
// nothing more runs or is dropped. Please report the text.
#define NORN_E_INTERNAL -120

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Fills `info` with what the body knows of itself. Set `info->struct_size` before (`NORN_SELF_INFO_INIT`).
// Only in the body, on its thread (`NORN_E_THREAD`); never blocks.
//
// # Safety
// `info` points to a structure of the size its first field says.
norn_status norn_self_get(struct norn_self *self_, struct norn_self_info *info);

// Ends the body's access to `data` now instead of at its end: later tasks may use it. What was written is
// committed, whatever becomes of the task. Errors: `NORN_E_INVALID` (the task has no such access), `NORN_E_STATE`
// (released before, or a child still uses it; always in an enqueue body, whose accesses end with the work that it has
// queued). Only in the body, on its thread; never blocks.
//
// # Safety
// The body no longer touches the memory.
norn_status norn_self_release(struct norn_self *self_, struct norn_data data);

// Sets the text of the failure record and returns `code`, so that a body can end with
// `return norn_self_fail(self, 7, "pivot is zero")`. `message` is copied. Only in the body, on its thread.
//
// # Safety
// `message` is NULL or zero-terminated.
int32_t norn_self_fail(struct norn_self *self_, int32_t code, const char *message);

// Adds `k` holds: the task completes when its body has ended and its holds are zero. Only in the body,
// on its thread; never blocks. Errors: `NORN_E_INVALID` (k is 0 or over 2^30 in all).
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_self_hold(struct norn_self *self_, uint32_t k);

// Takes `k` holds off a task, inside its body or after it. Errors: `NORN_E_STATE` (more than it has).
// Any thread, also one that norn has never seen, and beside a close, which waits for it; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_unhold(struct norn_runtime *rt, struct norn_token token, uint32_t k);

// A leased handle of cuBLAS or cuSOLVER (`kind`: `NORN_PROVIDER_*`) with the body's stream set, for the calls that the
// body makes; norn takes it back when they have completed. The same one each time the body asks. The library is found
// at run time. Only in an enqueue body, on its thread. Errors: `NORN_E_UNSUPPORTED` (no such library, or not in an enqueue
// body), `NORN_E_INVALID`, `NORN_E_DEVICE`. May take long the first time, when the handle is made.
//
// # Safety
// `handle` is writable; the handle is neither destroyed nor kept.
norn_status norn_self_provider(struct norn_self *self_,
                               int32_t kind,
                               void **handle);

// Registers memory of the caller as a datum (or, without memory, a pure name). The memory stays the caller's and
// must live until `norn_data_unregister` returns. Errors: `NORN_E_OVERLAP` (the text names the other datum),
// `NORN_E_INVALID`, `NORN_E_UNSUPPORTED` (device memory without a device), `NORN_E_RESOURCE`. Any thread; never blocks.
//
// # Safety
// `desc` is readable and its strings zero-terminated; `data` is writable.
norn_status norn_data_register(struct norn_runtime *rt, const struct norn_data_desc *desc, struct norn_data *data);

// As `norn_data_register`, with `desc->bytes` bytes of norn's own memory, 64-byte aligned and zeroed; `desc->ptr`
// must be NULL. It is freed when the datum is unregistered or the runtime closed. `desc->kind` says of what kind it is:
// on a device (with its place), pinned, or such that transports of MPI can register it. Memory on a device is waited for
// until it is zeroed. Errors: also `NORN_E_MEMORY`, `NORN_E_RESOURCE` (a ceiling; the text names it), `NORN_E_DEVICE`.
//
// # Safety
// As `norn_data_register`.
norn_status norn_data_alloc(struct norn_runtime *rt,
                            const struct norn_data_desc *desc,
                            struct norn_data *data);

// Splits a datum into `count` disjoint pieces, each a datum of its own in `parts`, ordered with their parent: what
// was submitted to the parent before comes before them; a later access to the parent is an access to all of them.
// Pieces may be split again. Errors: `NORN_E_INVALID` (outside the parent, or between its rows), `NORN_E_OVERLAP` (the text names two
// pieces), `NORN_E_STATE` (split already). Any thread; never blocks.
//
// # Safety
// `pieces` points to `count` pieces, `parts` to room for `count` data.
norn_status norn_data_split(struct norn_runtime *rt,
                            struct norn_data data,
                            const struct norn_piece *pieces,
                            uint64_t count,
                            struct norn_data *parts);

// Ends a split: later accesses to `data` come after those to its pieces, and the pieces' handles become invalid.
// Errors: `NORN_E_STATE` (not split, or a piece is still split). Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_data_join(struct norn_runtime *rt, struct norn_data data);

// Gives a datum a new address and length after its last access so far; the caller has moved the contents. Waits as
// `norn_data_acquire` does; inside a task that holds it `NORN_E_WOULD_DEADLOCK`. Until it returns, submissions, places
// and holds on the datum are refused with `NORN_E_STATE`. Errors: as `norn_data_register`;
// `NORN_E_STATE` (split, a piece, or norn's own memory). Any thread; blocks.
//
// # Safety
// `ptr` points to `bytes` bytes that outlive the datum.
norn_status norn_data_rebind(struct norn_runtime *rt, struct norn_data data, void *ptr, uint64_t bytes);

// Ends a datum after its last access so far, and its pieces with it. Waits for these; inside a task that holds it
// `NORN_E_WOULD_DEADLOCK`. A failed datum is unregistered all the same and the call returns `NORN_OK`. Errors:
// `NORN_E_DEADLOCK` (an access can never end), `NORN_E_STATE` (a piece: join instead; readers of a NORN_UNWRITTEN
// datum wait for its first writer). Any thread; blocks and progresses.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_data_unregister(struct norn_runtime *rt, struct norn_data data);

// Lets the calling thread touch data as a task would: takes its places in the timelines now and waits until they are
// reached. `hold` receives what `norn_data_release` ends. `NORN_REDUCE` is not allowed here. `timeout_ns` as for
// `norn_await`; after `NORN_E_TIMEOUT` the places are given up. A failed datum gives `NORN_E_PROPAGATED`, and nothing is
// held. Any thread; blocks. Inside a task: `NORN_E_WOULD_DEADLOCK` when the task holds the datum itself.
//
// # Safety
// `accesses` points to `count` accesses, `hold` is writable.
norn_status norn_data_acquire(struct norn_runtime *rt,
                              const struct norn_access *accesses,
                              uint64_t count,
                              int64_t timeout_ns,
                              struct norn_token *hold);

// Ends a hold. Errors: `NORN_E_INVALID` (not a hold), `NORN_E_STATE` (released before). Any thread, beside a close
// too; never blocks.
//
// # Safety
// The caller no longer touches the memory.
norn_status norn_data_release(struct norn_runtime *rt, struct norn_token hold);

// Address and length of a datum; inside a body with a `NORN_REDUCE` access to it, of the private copy. Either
// output may be NULL. Any thread; never blocks. Whoever touches the memory needs an access or a hold.
//
// # Safety
// The outputs are NULL or writable.
norn_status norn_data_pointer(struct norn_runtime *rt, struct norn_data data, void **ptr, uint64_t *bytes);

// Takes places in the timelines now, all in one step, for tasks submitted later: give `slots[i]` in the
// `slot` of the access with the same datum and mode. Everything submitted in between comes after the places. Errors:
// `NORN_E_INVALID` (`NORN_REDUCE`, or one datum twice), `NORN_E_CLOSED`. Any thread; never blocks.
//
// # Safety
// `accesses` points to `count` accesses, `slots` to room for `count` numbers.
norn_status norn_reserve(struct norn_runtime *rt, const struct norn_access *accesses, uint64_t count, uint64_t *slots);

// Gives a reserved place up: those behind it go on as if it had not been taken (a COMMUTE or REDUCE run that it
// stood in stays divided). Errors: `NORN_E_INVALID`,
// `NORN_E_STATE` (filled or given up before). Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_reserve_abandon(struct norn_runtime *rt, uint64_t slot);

// Opens a device for this runtime; one that is open already is given again. Nothing of CUDA is called or loaded before the
// first call of this function. norn uses the device's primary context, and so shares streams, handles and pointers with
// the application.
//
// `config`: NULL for the device that is current on this thread. Where the device is open already, its `max_bytes` and
// `streams` stay as they were given first; others than 0 that differ are told to the log as a warning. `place` receives
// the device as a place, for `norn_data_desc.place` and `norn_task.place`.
// Errors: `NORN_E_UNSUPPORTED` (no driver or no device; the text says what is missing), `NORN_E_INVALID` (no such device),
// `NORN_E_DEVICE` (the driver's text), `NORN_E_MEMORY`. Any thread; blocks while the driver starts.
//
// # Safety
// `config` is NULL or readable, and its strings zero-terminated; `place` is writable.
norn_status norn_device_open(struct norn_runtime *rt,
                             const struct norn_device_config *config,
                             struct norn_place *place);

// Fills `info` with what is known of an open device. Set `info->struct_size` before (`NORN_DEVICE_INFO_INIT`).
// Errors: `NORN_E_INVALID` (no open device of this runtime), `NORN_E_UNSUPPORTED` (none is open at all). Any thread; never
// blocks.
//
// # Safety
// `info` points to a structure of the size its first field says.
norn_status norn_device_get(struct norn_runtime *rt,
                            struct norn_place place,
                            struct norn_device_info *info);

// Copies elements as an operation of the graph: between any two places, in rows and planes too. Both sides hold the same
// number of elements of the same size in the same arrangement; a side that is one run of elements is arranged as the
// other one is. They share no memory (`NORN_E_INVALID`; rows that interleave are fine). It is carried out by the device of `how->place`, else by the target's, else by the source's; between two
// slices of host memory by a worker.
//
// `how`: name, accesses, after, priority, flags, group, place, stream and `as` are read; NULL for none of these. What belongs
// to a body (`run`, `enqueue`, `arg`, `drop`, `NORN_COPY_ARG`) must not be given; `cpus` means nothing here.
// `token_or_null` receives the token. Memory that no datum names must live until it has completed.
// Errors: `NORN_E_INVALID` (the text names the field), `NORN_E_UNSUPPORTED` (no device), otherwise as `norn_submit`.
// Any thread, inside tasks too; never blocks.
//
// # Safety
// The slices describe memory of their places; the pointers in `how` are what its documentation says.
norn_status norn_copy(struct norn_runtime *rt,
                      const struct norn_slice *from,
                      const struct norn_slice *to,
                      const struct norn_task *how,
                      struct norn_token *token_or_null);

// Sets every element of a slice to `*element` (of the slice's type; copied) as an operation of the graph. On the device
// that the slice lies on; in host memory by a worker. `how`, `token_or_null`, errors and threads as `norn_copy`.
//
// # Safety
// As `norn_copy`; `element` points to one element.
norn_status norn_fill(struct norn_runtime *rt,
                      const struct norn_slice *to,
                      const void *element,
                      const struct norn_task *how,
                      struct norn_token *token_or_null);

// A token for all work that the application has queued so far on a stream of its own. `stream`: a `CUstream` or
// `cudaStream_t`; NULL is the legacy default stream.
// Errors: `NORN_E_INVALID`, `NORN_E_UNSUPPORTED` (no device is open), `NORN_E_DEVICE`, `NORN_E_CLOSED`. Any thread, inside
// tasks too; does not wait for the work. The stream is not used after this call has returned: it may be destroyed then.
//
// # Safety
// `stream` is a stream of the device's primary context; `token` is writable.
norn_status norn_stream_record(struct norn_runtime *rt,
                               struct norn_place device,
                               void *stream,
                               struct norn_token *token);

// Work that the application queues later on a stream of its own waits for the token. The host waits only until the
// token's operation has been handed to its device (for other tokens: until it is complete). `stream` as for
// `norn_stream_record`. Returns how the token ended if it has failed by then, `NORN_E_TIMEOUT` after `timeout_ns`,
// `NORN_E_UNSUPPORTED` where no device is open, otherwise as `norn_await`. After an error nothing is left of the call, and
// the stream is not used any more: it may be destroyed. Any thread; blocks; not inside an enqueue body or a callback
// (`NORN_E_THREAD`), unless the token is complete.
//
// # Safety
// `stream` is a stream of the device's primary context, and lives until the call returns.
norn_status norn_stream_wait(struct norn_runtime *rt,
                             struct norn_token token,
                             struct norn_place device,
                             void *stream,
                             int64_t timeout_ns);

// Loads kernels for one device: PTX, a cubin, a fatbin, or CUDA C++ source, which NVRTC compiles (`libnvrtc.so`, found at
// run time). `options`: for source, options of NVRTC's with spaces between; NULL for none.
// Errors: `NORN_E_DEVICE` (the text holds the compiler's log), `NORN_E_UNSUPPORTED` (no NVRTC; no device is open),
// `NORN_E_INVALID`.
// Any thread; blocks while it compiles. The image is copied; the module lives until the runtime closes.
//
// # Safety
// `image` points to `bytes` bytes; `options` is NULL or zero-terminated; `module` is writable.
norn_status norn_module_load(struct norn_runtime *rt,
                             struct norn_place device,
                             const void *image,
                             uint64_t bytes,
                             const char *options,
                             struct norn_module *module);

// A kernel of a module by the name that it has there (`extern "C"`, or the mangled one).
// Errors: `NORN_E_INVALID` (no such module or kernel), `NORN_E_UNSUPPORTED` (no device is open). Any thread; never blocks.
//
// # Safety
// `name` is zero-terminated, `kernel` is writable.
norn_status norn_kernel_get(struct norn_runtime *rt,
                            struct norn_module module,
                            const char *name,
                            struct norn_kernel *kernel);

// Launches a kernel as an operation of the graph. Number, order and sizes of the arguments must be the kernel's: norn
// cannot check them. `how`, `token_or_null` and threads as `norn_copy`. Errors: `NORN_E_INVALID` (the text names the
// argument; a datum in ordinary memory of the host is one, where the device cannot reach it, and one on another device),
// `NORN_E_UNSUPPORTED` (no device is open), otherwise as `norn_submit`; what the driver refuses (a block that is too
// large, say) fails the token.
//
// # Safety
// `launch` and what it points to are what its documentation says; the pointers in `how` too.
norn_status norn_launch(struct norn_runtime *rt,
                        const struct norn_launch_desc *launch,
                        const struct norn_task *how,
                        struct norn_token *token_or_null);

// Opens a group. `parent`: a group it is a member of, or `{0}`. `done` may be used at once: it completes after
// `norn_group_close`, when all members have, and fails with the first member's failure. Cancelling `done` cancels
// the members. `name` is borrowed as task names are; may be NULL. Errors: `NORN_E_CLOSED` (runtime or parent),
// `NORN_E_RESOURCE`. Any thread; never blocks.
//
// # Safety
// `name` outlives the runtime; `group` and `done` are writable.
norn_status norn_group_open(struct norn_runtime *rt,
                            const char *name,
                            struct norn_group parent,
                            struct norn_group *group,
                            struct norn_token *done);

// Says that no more members come from outside the group; members may still submit members of it while they run.
// `done` completes when all have. Errors: `NORN_E_STATE` (closed before). Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_group_close(struct norn_runtime *rt, struct norn_group group);

// Uses this table of MPI calls for the worlds attached from now on, in place of a plug-in that is looked for: for
// programs that are linked with MPI statically, `norn_mpi_register(norn_mpi_plugin())`, with norn's plugin.c linked
// in. `table`: a `const norn_mpi_table *` of norn_mpi_plugin.h, which must stay as it is until the process ends;
// NULL: plug-ins are looked for again. Worlds that are attached keep theirs.
// Errors: `NORN_E_VERSION` (made for another norn), `NORN_E_INVALID` (a call is missing). Any thread; never blocks.
//
// # Safety
// `table` is NULL or such a table.
norn_status norn_mpi_register(const void *table);

// Version of the library that is loaded, which may be newer than the header.
// Any pointer may be NULL. Any thread; never blocks.
//
// # Safety
// Each pointer is NULL or writable.
norn_status norn_version(int32_t *major, int32_t *minor, int32_t *patch);

// Name of a status, such as "NORN_E_INVALID". Never NULL; static. Any thread; never blocks.
const char *norn_status_name(norn_status status);

// Text of the calling thread's last error, "" if there was none. Valid until
// that thread's next error. Never NULL. Any thread; never blocks.
const char *norn_last_error(void);

// Opens a runtime: starts its workers and returns at once. Call it through
// `norn_open`, which passes the version of the header.
//
// `header_version`: `NORN_HEADER_VERSION`. `config`: NULL for the defaults.
// `rt` receives the handle; the caller closes it with `norn_close`.
// Errors: `NORN_E_INVALID`, `NORN_E_CONFIG` (the text names the variable or field),
// `NORN_E_VERSION`, `NORN_E_RESOURCE` (1024 runtimes are open), `NORN_E_SYSTEM` (no threads).
// Any thread, not inside a task of the same runtime; the calling thread becomes the opener.
//
// # Safety
// `config` is NULL or readable, `rt` is writable.
norn_status norn_open_version(int32_t header_version, const struct norn_config *config, struct norn_runtime **rt);

// Drains, then closes: `norn_close_with(rt, NORN_DRAIN, -1)`. Tokens still unbound, promises
// not fulfilled and reservations not filled fail with `NORN_E_CLOSED` once nothing else can run.
// Returns the status and text of the first failure that nobody looked at (`NORN_E_TASK_FAILED`, or
// `NORN_E_CLOSED` for a task that never ran because of an unserved token; never for what the application
// cancelled); the runtime is closed all the same. A hold of `norn_data_acquire` on which no task waits does
// not delay it. With `NORN_SHARED`, only the last close closes.
// After a defect (`NORN_E_INTERNAL`) it waits for running bodies only, returns that status again and keeps norn's memory.
// With worlds it is collective over the ranks of each, as `norn_world_detach` is, and waits until all of them have come:
// several runtimes (or worlds) over the same ranks are closed in the same order on every rank.
// Any thread, not inside a task (`NORN_E_WOULD_DEADLOCK`); blocks.
// The handle is invalid afterwards; memory of `norn_data_alloc` is freed.
//
// # Safety
// No other thread may be inside a call on `rt`, except a wait, which the close ends, and what the close itself may
// wait for: `norn_fulfill`, `norn_fail`, `norn_unhold`, `norn_data_release`.
norn_status norn_close(struct norn_runtime *rt);

// As `norn_close`, with a choice and a limit.
//
// `flags`: `NORN_DRAIN` or `NORN_CANCEL` (what has not started fails as cancelled; RUN_ALWAYS tasks
// run, but for held ones, which fail with `NORN_E_CLOSED`; bodies that still run may submit RUN_ALWAYS
// tasks only, others get `NORN_E_CLOSED`). `timeout_ns`: negative: no limit; when it passes,
// `NORN_E_TIMEOUT`, with a text that names what has not ended and which ranks have not come, and the runtime stays open
// but takes no more submissions from outside; this close does not count, and a `NORN_SHARED` open gives this same runtime. Thread rules as `norn_close`.
//
// # Safety
// As `norn_close`.
norn_status norn_close_with(struct norn_runtime *rt,
                            uint32_t flags,
                            int64_t timeout_ns);

// Waits until everything submitted so far by anyone has completed, children included, and combines
// open reductions. `timeout_ns`: negative: no limit; 0: never waits, makes one pass as `norn_progress` does and looks. Failures are not reported here.
// Errors: `NORN_E_TIMEOUT` (after a limit above 0 the text names what is left); `NORN_E_DEADLOCK` when what is left can never run (a cycle; after
// `norn_seal` also what nobody can complete), the text lists it; inside a task `NORN_E_WOULD_DEADLOCK`.
// Any thread; blocks; runs bodies where this thread may.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_drain(struct norn_runtime *rt,
                       int64_t timeout_ns);

// One bounded pass: delivers completions and messages, and runs a ready body where this thread may
// (zero workers, one-thread modes, `NORN_CALLER_WORKS` in the opener). Never waits, except for the one operation of a device or of MPI that it has begun, in the one-thread modes.
// Any thread; inside a task it only delivers.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_progress(struct norn_runtime *rt);

// Says that no more submissions, bindings, fulfilments or fillings come from outside tasks. From now on
// what has no producer is a deadlock, and waits for it return `NORN_E_DEADLOCK` instead of waiting.
// Later submissions from outside a task return `NORN_E_CLOSED`. Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_seal(struct norn_runtime *rt);

// Counters. Set `stats->struct_size` before (`NORN_RUNTIME_STATS_INIT`). Any thread; never blocks.
//
// # Safety
// `stats` points to a structure of the size its first field says.
norn_status norn_stats(struct norn_runtime *rt, struct norn_runtime_stats *stats);

// Writes the live graph: every token that is not complete, its name, its state and what it waits for.
// `format`: `NORN_DUMP_TEXT` or `NORN_DUMP_DOT`. `write` gets the text in pieces on this thread and
// must not call norn; when it returns non-zero the dump stops with `NORN_E_SYSTEM`. Any thread;
// does not stop the workers: a snapshot of a running graph may miss what changes meanwhile.
//
// # Safety
// `write_fn` may be called with `arg`.
norn_status norn_dump(struct norn_runtime *rt, int32_t format, norn_write_fn write_fn, void *arg);

// Copies a name so that it lives as long as the runtime; the same text gives the same pointer.
// `name` receives the pointer. Any thread; takes a lock.
//
// # Safety
// `text` is zero-terminated, `name` is writable.
norn_status norn_intern(struct norn_runtime *rt, const char *text, const char **name);

// Submits one task. It runs as soon as its tokens, its data and its place allow.
//
// `task` is read during the call; the same description, with what differs changed, serves for the next task, and costs
// less than a new one. `token_or_null` receives its token (the one in `task->as`, if given).
// On success norn owns `arg` until it has called `drop`; on an error nothing was taken: the caller keeps
// `arg`, `drop` is not called, no place in a timeline is used.
// Errors: `NORN_E_INVALID` (the text names the field), `NORN_E_UNCOVERED` (child), `NORN_E_STATE` (`as` is
// bound already), `NORN_E_DEADLOCK` (it would wait for what waits for `as`, its group, its parent or a place it
// fills; the text shows the cycle), `NORN_E_UNSUPPORTED` (`enqueue` without a device), `NORN_E_CLOSED`,
// `NORN_E_RESOURCE`, `NORN_E_MEMORY`.
// Any thread, inside tasks too. Does not block, except above `max_live_tasks` outside tasks.
//
// # Safety
// The pointers in `task` are what its documentation says; body, `arg` and `drop` may be used on another thread.
norn_status norn_submit(struct norn_runtime *rt, const struct norn_task *task, struct norn_token *token_or_null);

// Submits `count` tasks, all or nothing (except when memory for tokens runs out, or a task closes a cycle through data
// of earlier ones of the batch: those are then cancelled and dropped). The distance between two elements is the first one's
// `struct_size`; all must be equal. Later elements may name tokens declared before, not each other's
// new tokens. `tokens_or_null` receives `count` tokens. Errors and thread rules as `norn_submit`;
// the text names the index of the culprit.
//
// # Safety
// As `norn_submit`, for each element.
norn_status norn_submit_many(struct norn_runtime *rt,
                             const struct norn_task *tasks,
                             uint64_t count,
                             struct norn_token *tokens_or_null);

// A token whose task comes later, in `norn_task.as`. Edges, `after` and awaits may use it at once, so a
// consumer can be declared before its producer. `name`: shown in reports; borrowed as task names are; may be NULL.
// Errors: `NORN_E_CLOSED`, `NORN_E_RESOURCE`. Any thread; never blocks.
//
// # Safety
// `name` outlives the runtime, `token` is writable.
norn_status norn_declare(struct norn_runtime *rt, const char *name, struct norn_token *token);

// A token that foreign code completes, by `norn_fulfill` or `norn_fail`, from any thread.
// `name` as for `norn_declare`. Errors: `NORN_E_CLOSED`, `NORN_E_RESOURCE`. Any thread; never blocks.
//
// # Safety
// `name` outlives the runtime, `token` is writable.
norn_status norn_promise(struct norn_runtime *rt, const char *name, struct norn_token *token);

// Completes a promise. Errors: `NORN_E_INVALID` (a live token that is no promise, or `{0}`), `NORN_E_STATE` (a token that
// has completed before, whatever it was: also by `norn_fail`, a cancel or a close).
// Any thread, also one that norn has never seen, inside callbacks too, and beside a close; never blocks; not from
// a signal handler.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_fulfill(struct norn_runtime *rt,
                         struct norn_token promise);

// Fails a promise with the application's `code` (not 0) and a `message` (copied; may be NULL). As `norn_fulfill` otherwise.
//
// # Safety
// `message` is NULL or zero-terminated.
norn_status norn_fail(struct norn_runtime *rt,
                      struct norn_token promise,
                      int32_t code,
                      const char *message);

// Declares that `after` runs only after `before` has completed. `after` is a declared token not yet bound,
// or a task submitted `NORN_HELD` and not yet started; anything else is `NORN_E_STATE`, every time. A `before` that
// is complete is satisfied at once; one that failed fails `after` as propagated. A declared `after` waits for its
// task even then: binding it succeeds, and only then it fails (or runs, if the task is `NORN_RUN_ALWAYS`). An edge that would close a
// cycle is refused with `NORN_E_DEADLOCK`, and the text shows the cycle. `before == after` is `NORN_E_INVALID`.
// Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_edge(struct norn_runtime *rt,
                      struct norn_token before,
                      struct norn_token after);

// Lets a task submitted `NORN_HELD` go. Errors: `NORN_E_STATE` (not held, or started before). Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_start(struct norn_runtime *rt, struct norn_token token);

// Waits until a token completes and says how it ended.
//
// `timeout_ns`: negative: no limit; 0: never waits, makes one pass as `norn_progress` does and looks. Returns `NORN_OK`, `NORN_E_TASK_FAILED`, `NORN_E_PROPAGATED`,
// `NORN_E_CANCELLED`, `NORN_E_CLOSED` (how it ended; `norn_error` has the record), `NORN_E_TIMEOUT` (after
// a limit above 0 the text names what has not completed, and of messages the other rank),
// `NORN_E_DEADLOCK` (it can never complete; the text says why), `NORN_E_WOULD_DEADLOCK` (it waits for the calling
// task), `NORN_E_RESOURCE` (no further thread to take this body's place). Any thread; blocks. Inside a task the
// body is blocked alone: another thread runs further bodies meanwhile. Outside, runs bodies only where this thread may.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_await(struct norn_runtime *rt,
                       struct norn_token token,
                       int64_t timeout_ns);

// Waits until all tokens have completed; zero tokens: at once. Returns how the first failed one in the
// array ended, else `NORN_OK`; otherwise as `norn_await`.
//
// # Safety
// `tokens` points to `count` tokens.
norn_status norn_await_all(struct norn_runtime *rt,
                           const struct norn_token *tokens,
                           uint64_t count,
                           int64_t timeout_ns);

// Waits until one of the tokens has completed; `index` receives which (the first in the array, if several).
// The result says how that one ended; `index` is then written for failures too. Zero tokens: `NORN_E_INVALID`.
// Otherwise as `norn_await`.
//
// # Safety
// `tokens` points to `count` tokens, `index` is writable.
norn_status norn_await_any(struct norn_runtime *rt,
                           const struct norn_token *tokens,
                           uint64_t count,
                           int64_t timeout_ns,
                           uint64_t *index);

// Whether a token has completed, in whatever way. `done` receives 1 or 0. Any thread; never blocks.
//
// # Safety
// `done` is writable.
norn_status norn_test(struct norn_runtime *rt, struct norn_token token, int32_t *done);

// Cancels a task that has not started, a declared token, a promise, or (through its `done` token) every member
// of a group. Its token fails with `NORN_E_CANCELLED`, dependants as propagated, `drop` is called. Errors:
// `NORN_E_TOO_LATE` (running, or complete; a running body sees it in `norn_self_info.cancelled`). Any thread; never blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_cancel(struct norn_runtime *rt,
                        struct norn_token token);

// The record of a token: how it ended and what failed first. Set `info->struct_size` before
// (`NORN_ERROR_INFO_INIT`). A token that succeeded gives status `NORN_OK` in the record. Errors: `NORN_E_STATE` (not
// complete yet). Looking never turns a failure into success. Any thread; never blocks; the record is a copy.
//
// # Safety
// `info` points to a structure of the size its first field says.
norn_status norn_error(struct norn_runtime *rt, struct norn_token token, struct norn_error_info *info);

// Calls `fn_` once when the token completes, in whatever way, on the norn worker that completed it or (with no
// workers) inside another norn call; never inside this call, even when the token is complete already. It may
// submit and fulfil, not wait: an await of a token that is not complete gives `NORN_E_THREAD` there (a limit of 0
// only looks), a drain or close `NORN_E_WOULD_DEADLOCK`. Any thread; never blocks.
//
// # Safety
// `fn_` may be called with `arg` on another thread until the token completes.
norn_status norn_on_complete(struct norn_runtime *rt, struct norn_token token, norn_complete_fn fn_, void *arg);

// An eventfd that becomes readable when the token completes, for `poll` and event loops. `fd` receives it;
// the caller closes it, before or after. It may become readable a moment after `norn_test` or another thread's await
// has shown the token complete: poll it, do not take it for the state. Errors: `NORN_E_SYSTEM`. Any thread; never blocks.
//
// # Safety
// `fd` is writable.
norn_status norn_eventfd(struct norn_runtime *rt,
                         struct norn_token token,
                         int32_t *fd);

// Attaches a communicator, given by its Fortran integer (`MPI_Comm_c2f`; norn_mpi.h has `norn_world_attach` for an `MPI_Comm`).
// Collective over it: returns when every rank has come, in the same order of attachments on every rank. norn works on
// duplicates, so the application's own messages are never met; the communicator itself may be freed afterwards.
//
// `config_or_null` is read during the call. Before any task that needs it, and before `norn_close`, MPI must be initialised
// and stay so; norn never initialises or finalises it. Below MPI_THREAD_SERIALIZED messages go on only inside norn calls
// of the thread that initialised MPI, which must also be the one that calls this.
// Errors: `NORN_E_UNSUPPORTED` (no MPI in this process, no plug-in for it), `NORN_E_STATE` (not initialised, or
// finalised), `NORN_E_THREAD`, `NORN_E_INVALID`, `NORN_E_MISMATCH` (ranks give different values), `NORN_E_MPI`,
// `NORN_E_WOULD_DEADLOCK` (in a task). Application threads; blocks.
//
// # Safety
// The pointers are what their types say; `world` is writable.
norn_status norn_world_attach_f(struct norn_runtime *rt,
                                int32_t comm,
                                const struct norn_world_config *config_or_null,
                                struct norn_world **world);

// What a world is. `info->struct_size` must be set. Errors: `NORN_E_INVALID`, `NORN_E_VERSION`. Any thread; never blocks.
//
// # Safety
// `info` is writable as far as its `struct_size` says.
norn_status norn_world_get(struct norn_world *world,
                           struct norn_world_info *info);

// Waits until everything submitted so far that can run without another rank's help has run, and all messages and
// collectives that this makes ready are posted. Call it before a blocking MPI call of your own whose peers may wait for
// them. Errors: `NORN_E_TIMEOUT` (the text names what keeps it), `NORN_E_WOULD_DEADLOCK` (in a task). Application threads; blocks.
//
// Below MPI_THREAD_MULTIPLE it leaves MPI to the application: from its return without an error until the application's next
// call into norn, no thread of norn's calls MPI. So under MPI_THREAD_SERIALIZED flush before MPI calls of your own, unless nothing of norn's
// is under way. Calls of task bodies and of callbacks are not the application's; any other is, of whichever thread and on whichever runtime, but for
// `norn_version`, `norn_status_name`, `norn_last_error` and `norn_mpi_register`. `norn_progress` will do.
// Until then tasks run on, but nothing is posted, nothing completes that MPI must be asked about, and what calls of other threads wait for does
// not come: do not wait in MPI for a rank that may wait for such a message. A task that declares a message or reduction with
// a type or an operation of MPI's waits in that call, since MPI must be asked. In a process with several runtimes this holds for the worlds of all, but only
// those of this one are flushed: flush one of each. Called in a task of another runtime, it only flushes.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_world_flush(struct norn_world *world,
                             int64_t timeout_ns);

// Fails all unfinished messages and collectives of the world on every rank, with the application's `code` (not 0) and
// a `message` (copied; may be NULL), and what depends on them with them. The world is then good for detaching only. Other
// ranks learn of it in their next pass. Errors: `NORN_E_INVALID`. Any thread; never blocks.
//
// # Safety
// `message` is NULL or zero-terminated.
norn_status norn_world_fail(struct norn_world *world,
                            int32_t code,
                            const char *message);

// Detaches a world. Collective: returns when all its messages and collectives have ended and every rank has come. Then
// nothing is posted, nothing is on its way, and all its communicators are freed; its handle and those of its lanes are
// invalid. What another rank still waits for from this one fails there with `NORN_E_CLOSED`. `norn_close` detaches what
// is still attached. After a timeout the world takes nothing new, and the call may be repeated.
// Errors: `NORN_E_TIMEOUT` (the text says what is missing), `NORN_E_STATE` (another thread detaches it), `NORN_E_THREAD`,
// `NORN_E_WOULD_DEADLOCK` (in a task). Application threads, below MPI_THREAD_SERIALIZED the one that initialised MPI; blocks.
//
// # Safety
// Always safe to call; garbage gives a status.
norn_status norn_world_detach(struct norn_world *world,
                              int64_t timeout_ns);

// A further lane of the world: collectives of different lanes are independent of each other, those of one run in the
// order they were declared in. `lane` may be given wherever a world is; it is detached with the world. Collective, in the same
// order on every rank; makes a communicator. Errors: `NORN_E_MPI`, `NORN_E_THREAD`, `NORN_E_CLOSED`,
// `NORN_E_WOULD_DEADLOCK` (in a task). Application threads; blocks.
//
// # Safety
// `lane` is writable.
norn_status norn_world_lane(struct norn_world *world,
                            struct norn_world **lane);

// Declares the sending end of an edge between ranks: when its predecessors are done, `from` is sent to rank `peer`.
//
// `key`: 0 to `key_limit` - 1 (`norn_world_get`): edges of the same pair of ranks and the same key match in the order they were
// declared in, as MPI's tags do; or `NORN_KEY_ORDER`: the n-th such edge from this rank to that one matches the n-th there.
// Both sides give the same number of bytes; a difference is `NORN_E_MISMATCH` of the receiver's token.
// `how_or_null`: name, accesses, after, priority, flags, group and as are read. What belongs to a body (`run`, `enqueue`, `arg`,
// `drop`, `NORN_COPY_ARG`) and `stream` must not be given; `place` and `cpus` mean nothing here. A datum in `from` is read. `from` is read during
// the call; what it describes must stay until the token completes, which is when MPI is done with it.
//
// Device memory is sent by MPI itself where it can (`norn_world_info.device_aware`), else through pinned host memory, by a copy
// that norn makes: then what is described is read when the copy's predecessors are done, the memory counts against
// `norn_config.max_pinned_bytes` (`NORN_E_RESOURCE`), and of `how`, `as` and `NORN_HELD` are `NORN_E_STATE`: what would be
// added to such a token comes too late for the copy. Rows and planes are packed; types of MPI's are `NORN_E_UNSUPPORTED`.
//
// The other rank always gets its message: if a predecessor fails or the token is cancelled, its receive fails as
// propagated, with the record of the first cause.
// Errors: `NORN_E_INVALID` (the text names the argument), `NORN_E_ORDER` (another thread declares an ordered edge of
// this pair at this moment), `NORN_E_TAGS` (binding `how->as` would close a cycle through edges that share a tag),
// `NORN_E_INVALID` too where both ends of a message of a rank to itself are the same datum, `NORN_E_UNSUPPORTED`,
// `NORN_E_CLOSED`, and those of `norn_submit`. Any thread, inside tasks too; does not block, but in a task for a type of
// MPI's, after `norn_world_flush`.
//
// # Safety
// As `norn_submit`; `from` is readable.
norn_status norn_send(struct norn_world *world,
                      const struct norn_slice *from,
                      int32_t peer,
                      int64_t key,
                      const struct norn_task *how_or_null,
                      struct norn_token *token_or_null);

// Declares the receiving end of an edge between ranks; see `norn_send`. A datum in `to` is overwritten if all of it is
// covered, else read and written. The receive is posted as soon as its predecessors are done; where many are, a small one may
// be posted only when its message is there, or something asks for it (`norn_world_flush`). If one of them fails, the
// message is still received, into memory of norn's, and the token fails. When rank `peer` has closed or detached and sent
// nothing for it, the token fails with `NORN_E_CLOSED`. For device memory that MPI does not take the token is that of the copy
// to the device; `as` and `NORN_HELD` are as usual, and the receive is posted at once.
//
// # Safety
// As `norn_send`.
norn_status norn_recv(struct norn_world *world,
                      const struct norn_slice *to,
                      int32_t peer,
                      int64_t key,
                      const struct norn_task *how_or_null,
                      struct norn_token *token_or_null);

// A barrier as an operation: its token completes when every rank's barrier has been reached by its predecessors.
//
// Rules for all collectives: every rank declares the same ones in the same order on a lane, from one thread at a time;
// they run in that order. Before each, the ranks agree on whether all can enter it: if a predecessor fails on one rank, or
// it is cancelled there, it fails on all, with that rank's record (`NORN_UNGUARDED` in `how->flags` leaves the agreement
// out). Where they have declared different kinds, roots, predefined operations or sizes, it fails on all with `NORN_E_MISMATCH`, and
// none has entered. Once entered, an error of MPI's at its start on one rank fails the world (`norn_world_fail`), with its text:
// the others are inside, and nobody can tell any more what matches what. `how_or_null`, slices, errors and threads as in `norn_send`; slices are one block.
//
// # Safety
// As `norn_send`.
norn_status norn_barrier(struct norn_world *world,
                         const struct norn_task *how_or_null,
                         struct norn_token *token_or_null);

// Broadcasts `buffer` from rank `root`, where it is read; elsewhere it is written. See `norn_barrier` for the rules.
//
// # Safety
// As `norn_send`.
norn_status norn_bcast(struct norn_world *world,
                       const struct norn_slice *buffer,
                       int32_t root,
                       const struct norn_task *how_or_null,
                       struct norn_token *token_or_null);

// Reduces `from` of all ranks into `to` of rank `root`, element by element. `from_or_null`: NULL on the root: `to` holds its
// own part. `to_or_null`: not read elsewhere. See `norn_barrier` for the rules.
//
// # Safety
// As `norn_send`.
norn_status norn_reduce(struct norn_world *world,
                        const struct norn_slice *from_or_null,
                        const struct norn_slice *to_or_null,
                        norn_op op,
                        int32_t root,
                        const struct norn_task *how_or_null,
                        struct norn_token *token_or_null);

// Reduces `from` of all ranks into `to` of all ranks. `from_or_null`: NULL: in place, on every rank. See `norn_barrier` for the rules.
// `NORN_E_INVALID`: `op` is none, or one that a predefined type has not (bytes have the bitwise ones only, floating-point
// numbers sum, product, minimum and maximum, complex ones sum and product), here and in `norn_reduce`; `from` and `to`
// share memory, in any collective that has both.
//
// # Safety
// As `norn_send`.
norn_status norn_allreduce(struct norn_world *world,
                           const struct norn_slice *from_or_null,
                           const struct norn_slice *to,
                           norn_op op,
                           const struct norn_task *how_or_null,
                           struct norn_token *token_or_null);

// Gathers `from` of all ranks into `to` of rank `root`, by rank. `counts_or_null`: elements from each rank, read on the root,
// given on every rank or on none; NULL: equal parts. `from_or_null`: NULL on the root: its part is in place.
// `to_or_null`: not read elsewhere. See `norn_barrier` for the rules.
//
// # Safety
// As `norn_send`; `counts_or_null` has an element for each rank.
norn_status norn_gather(struct norn_world *world,
                        const struct norn_slice *from_or_null,
                        const struct norn_slice *to_or_null,
                        const uint64_t *counts_or_null,
                        int32_t root,
                        const struct norn_task *how_or_null,
                        struct norn_token *token_or_null);

// Scatters `from` of rank `root` over `to` of all ranks, by rank. `counts_or_null`: elements for each rank, read on the root, given
// on every rank or on none; NULL: equal parts. `from_or_null`: not read elsewhere. `to_or_null`: NULL on the root: its
// part stays in place. See `norn_barrier` for the rules.
//
// # Safety
// As `norn_gather`.
norn_status norn_scatter(struct norn_world *world,
                         const struct norn_slice *from_or_null,
                         const struct norn_slice *to_or_null,
                         const uint64_t *counts_or_null,
                         int32_t root,
                         const struct norn_task *how_or_null,
                         struct norn_token *token_or_null);

// Gathers `from` of all ranks into `to` of all ranks, by rank. `counts_or_null`: elements from each rank, the same on every rank;
// NULL: equal parts. `from_or_null`: NULL on every rank: in place. See `norn_barrier` for the rules.
//
// # Safety
// As `norn_gather`.
norn_status norn_allgather(struct norn_world *world,
                           const struct norn_slice *from_or_null,
                           const struct norn_slice *to,
                           const uint64_t *counts_or_null,
                           const struct norn_task *how_or_null,
                           struct norn_token *token_or_null);

// Sends the r-th part of `from` to rank r, and receives rank r's into the r-th part of `to`. `send_counts_or_null`,
// `recv_counts_or_null`: elements of each part, given both, on every rank, or neither: equal parts. `from_or_null`: NULL on
// every rank: in place. See `norn_barrier` for the rules.
//
// # Safety
// As `norn_gather`, for both arrays.
norn_status norn_alltoall(struct norn_world *world,
                          const struct norn_slice *from_or_null,
                          const uint64_t *send_counts_or_null,
                          const struct norn_slice *to,
                          const uint64_t *recv_counts_or_null,
                          const struct norn_task *how_or_null,
                          struct norn_token *token_or_null);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* Version of this header, as norn_open passes it. */
#define NORN_HEADER_VERSION (NORN_VERSION_MAJOR * 1000000 + NORN_VERSION_MINOR * 1000 + NORN_VERSION_PATCH)

/* Initial values: `norn_task task = NORN_TASK_INIT;`. In C they are constant expressions. */
#ifdef __cplusplus
#define NORN_DEFINE_INIT_(type) static inline type type##_init_(void) { type v = type(); v.struct_size = sizeof v; return v; }
NORN_DEFINE_INIT_(norn_task)
NORN_DEFINE_INIT_(norn_data_desc)
NORN_DEFINE_INIT_(norn_error_info)
NORN_DEFINE_INIT_(norn_self_info)
NORN_DEFINE_INIT_(norn_runtime_stats)
NORN_DEFINE_INIT_(norn_device_config)
NORN_DEFINE_INIT_(norn_device_info)
NORN_DEFINE_INIT_(norn_launch_desc)
NORN_DEFINE_INIT_(norn_world_config)
NORN_DEFINE_INIT_(norn_world_info)
static inline norn_slice norn_slice_init_(void) { return norn_slice(); }
static inline norn_config norn_config_init_(void) { norn_config v = norn_config(); v.struct_size = sizeof v; v.workers = -1; return v; }
#undef NORN_DEFINE_INIT_
#define NORN_CONFIG_INIT norn_config_init_()
#define NORN_TASK_INIT norn_task_init_()
#define NORN_DATA_DESC_INIT norn_data_desc_init_()
#define NORN_ERROR_INFO_INIT norn_error_info_init_()
#define NORN_SELF_INFO_INIT norn_self_info_init_()
#define NORN_RUNTIME_STATS_INIT norn_runtime_stats_init_()
#define NORN_DEVICE_CONFIG_INIT norn_device_config_init_()
#define NORN_DEVICE_INFO_INIT norn_device_info_init_()
#define NORN_LAUNCH_INIT norn_launch_desc_init_()
#define NORN_WORLD_CONFIG_INIT norn_world_config_init_()
#define NORN_WORLD_INFO_INIT norn_world_info_init_()
#define NORN_SLICE_INIT norn_slice_init_()
#else
#define NORN_CONFIG_INIT {.struct_size = sizeof(norn_config), .workers = -1}
#define NORN_TASK_INIT {.struct_size = sizeof(norn_task)}
#define NORN_DATA_DESC_INIT {.struct_size = sizeof(norn_data_desc)}
#define NORN_ERROR_INFO_INIT {.struct_size = sizeof(norn_error_info)}
#define NORN_SELF_INFO_INIT {.struct_size = sizeof(norn_self_info)}
#define NORN_RUNTIME_STATS_INIT {.struct_size = sizeof(norn_runtime_stats)}
#define NORN_DEVICE_CONFIG_INIT {.struct_size = sizeof(norn_device_config)}
#define NORN_DEVICE_INFO_INIT {.struct_size = sizeof(norn_device_info)}
#define NORN_LAUNCH_INIT {.struct_size = sizeof(norn_launch_desc)}
#define NORN_WORLD_CONFIG_INIT {.struct_size = sizeof(norn_world_config)}
#define NORN_WORLD_INFO_INIT {.struct_size = sizeof(norn_world_info)}
#define NORN_SLICE_INIT {.ptr = NULL}
#endif

#ifndef NORN_DL_H /* which has one that needs no linked libnorn */
/* Opens a runtime; see norn_open_version. `config`: NULL for the defaults. */
static inline norn_status norn_open(const norn_config *config, norn_runtime **rt) {
    return norn_open_version(NORN_HEADER_VERSION, config, rt);
}
#endif

/* One access, for the arrays in norn_task, norn_reserve and norn_data_acquire. */
static inline norn_access norn_access_of(norn_data data, int32_t mode) {
    norn_access access;
    access.data = data;
    access.slot = 0;
    access.mode = mode;
    access.flags = 0;
    return access;
}
static inline norn_access norn_read(norn_data data) { return norn_access_of(data, NORN_READ); }
static inline norn_access norn_write(norn_data data) { return norn_access_of(data, NORN_WRITE); }
static inline norn_access norn_update(norn_data data) { return norn_access_of(data, NORN_READ_WRITE); }
static inline norn_access norn_commute(norn_data data) { return norn_access_of(data, NORN_COMMUTE); }
static inline norn_access norn_reduce_into(norn_data data) { return norn_access_of(data, NORN_REDUCE); }

/* A place, for norn_task.place and norn_data_desc.place. */
static inline norn_place norn_place_of(int32_t kind, int32_t index) {
    norn_place place;
    place.kind = kind;
    place.index = index;
    return place;
}

/* The first `count` elements of a datum, one behind the other, for copies, fills, messages and collectives. A piece in rows
   needs `blocks` and `stride` too, unless this ends within its first row. */
static inline norn_slice norn_slice_of(norn_data data, norn_type type, uint64_t count) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.data = data;
    slice.type = type;
    slice.count = count;
    return slice;
}
/* As norn_slice_of, for memory of the caller on the host. */
static inline norn_slice norn_slice_at(void *ptr, norn_type type, uint64_t count) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = ptr;
    slice.type = type;
    slice.count = count;
    return slice;
}

/* Arguments of a kernel, for norn_launch_desc.arguments: bytes that are copied, and a datum as its device pointer. */
static inline norn_argument norn_value(const void *value, uint64_t bytes) {
    norn_argument argument;
    argument.kind = NORN_ARGUMENT_VALUE;
    argument.mode = 0;
    argument.bytes = bytes;
    argument.value = value;
    argument.data.id = 0;
    argument.offset = 0;
    return argument;
}
static inline norn_argument norn_pointer(norn_data data, int32_t mode) {
#ifdef __cplusplus
    norn_argument argument = norn_argument();
#else
    norn_argument argument = {.offset = 0};
#endif
    argument.kind = NORN_ARGUMENT_DATA;
    argument.mode = mode;
    argument.data = data;
    return argument;
}

#endif /* NORN_H */
