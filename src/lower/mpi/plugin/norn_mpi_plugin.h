/*
 * The table of MPI calls that a plug-in of norn answers.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A plug-in is a shared library libnorn_mpi_FAMILY.so that exports
 *
 *     const norn_mpi_table *norn_mpi_plugin(void);
 *
 * and lies beside libnorn, or is named by NORN_MPI_PLUGIN. A program that is linked statically calls
 * norn_mpi_register(norn_mpi_plugin()) instead. plugin.c beside this file is one for every MPI.
 *
 * This file is generated from src/lower/mpi/table.rs; change it there.
 */


#ifndef NORN_MPI_PLUGIN_H
#define NORN_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

// Version of `norn_mpi_table`. A plug-in of another version is refused. Calls are only added at the end, where
// `struct_size` tells whether a plug-in has them.
#define NORN_MPI_TABLE_VERSION 1

// Success.
#define NORN_MPI_OK 0

// The plug-in got no memory. Nothing was posted.
#define NORN_MPI_NO_MEMORY -1

// This MPI has no such call or type.
#define NORN_MPI_UNSUPPORTED -2

// A communicator, type, operation, slot or kind that is none. Nothing was posted.
#define NORN_MPI_INVALID -3

// A count that this MPI cannot express, even by a derived type. Nothing was posted.
#define NORN_MPI_TOO_LARGE -4

// `requests_close` while slots are in use. Nothing was closed.
#define NORN_MPI_BUSY -5

// `MPI_Init` has not been called.
#define NORN_MPI_BEFORE_INIT 0

// Between `MPI_Init` and `MPI_Finalize`.
#define NORN_MPI_ACTIVE 1

// After `MPI_Finalize`.
#define NORN_MPI_FINALIZED 2

// `MPI_THREAD_SINGLE`.
#define NORN_MPI_THREAD_SINGLE 0

// `MPI_THREAD_FUNNELED`.
#define NORN_MPI_THREAD_FUNNELED 1

// `MPI_THREAD_SERIALIZED`.
#define NORN_MPI_THREAD_SERIALIZED 2

// `MPI_THREAD_MULTIPLE`.
#define NORN_MPI_THREAD_MULTIPLE 3

// Any rank, any tag, for `irecv` and `iprobe`.
#define NORN_MPI_ANY -1

// Count of bytes that MPI calls undefined.
#define NORN_MPI_UNDEFINED -1

// In place of the buffer that `MPI_IN_PLACE` stands for: `send`, of a scatter `recv`.
#define NORN_MPI_IN_PLACE -1

// In place of a handle: none.
#define NORN_MPI_NO_HANDLE INT32_MIN

// As it should.
#define NORN_MPI_DONE 0

// The message was longer than the buffer. What fitted may have been written.
#define NORN_MPI_TRUNCATED 1

// Cancelled: no message was received.
#define NORN_MPI_CANCELLED 2

// Any other error; `error` is MPI's code.
#define NORN_MPI_FAILED 3

// `MPI_Ibarrier`.
#define NORN_MPI_BARRIER 1

// `MPI_Ibcast`: `recv`, `recv_count`, `recv_type` are the buffer on every rank.
#define NORN_MPI_BCAST 2

// `MPI_Ireduce`: `recv_count`, `recv_type` and `op` on every rank, `recv` on the root.
#define NORN_MPI_REDUCE 3

// `MPI_Iallreduce`: `recv_count`, `recv_type` and `op`.
#define NORN_MPI_ALLREDUCE 4

// `MPI_Igather`.
#define NORN_MPI_GATHER 5

// `MPI_Igatherv`: `recv_counts` and `recv_displs`, on the root.
#define NORN_MPI_GATHERV 6

// `MPI_Iscatter`.
#define NORN_MPI_SCATTER 7

// `MPI_Iscatterv`: `send_counts` and `send_displs`, on the root.
#define NORN_MPI_SCATTERV 8

// `MPI_Iallgather`.
#define NORN_MPI_ALLGATHER 9

// `MPI_Iallgatherv`: `recv_counts` and `recv_displs`.
#define NORN_MPI_ALLGATHERV 10

// `MPI_Ialltoall`.
#define NORN_MPI_ALLTOALL 11

// `MPI_Ialltoallv`: all four arrays.
#define NORN_MPI_ALLTOALLV 12

// The pending requests of one user: a dense array of slots. Opaque.
typedef struct norn_mpi_requests norn_mpi_requests;

// What `comm_info` tells.
typedef struct norn_mpi_comm_info {
  // Rank of the caller.
  int32_t rank;
  // Number of ranks.
  int32_t size;
  // Largest tag (`MPI_TAG_UB`), at least 32767.
  int32_t tag_ub;
  // 1: an intercommunicator, on which norn does not work.
  int32_t inter;
} norn_mpi_comm_info;

// What `type_info` tells, in bytes.
typedef struct norn_mpi_type_info {
  // Bytes of data in one element.
  int64_t size;
  // From one element to the next.
  int64_t extent;
  // From the buffer's address to the first byte touched.
  int64_t true_lb;
  // From the first byte touched to behind the last.
  int64_t true_extent;
} norn_mpi_type_info;

// One collective. Fields that its kind does not use are ignored. As in MPI, counts are in elements of the type, of
// one rank where there are several; displacements are in elements too, of 64 bits in every MPI.
typedef struct norn_mpi_collective {
  // One of `NORN_MPI_BARRIER` ... `NORN_MPI_ALLTOALLV`.
  int32_t kind;
  // Communicator.
  int32_t comm;
  // Root, where there is one.
  int32_t root;
  // Operation of a reduction.
  int32_t op;
  // Data sent, or `(void *)NORN_MPI_IN_PLACE`. May be NULL where nothing is sent.
  const void *send;
  // Data received. May be NULL where nothing is received.
  void *recv;
  // Elements sent.
  int64_t send_count;
  // Elements received.
  int64_t recv_count;
  // Elements sent to each rank; read during the call only.
  const int64_t *send_counts;
  // Where they begin; read during the call only.
  const int64_t *send_displs;
  // Elements received from each rank; read during the call only.
  const int64_t *recv_counts;
  // Where they begin; read during the call only.
  const int64_t *recv_displs;
  // Type of what is sent.
  int32_t send_type;
  // Type of what is received.
  int32_t recv_type;
} norn_mpi_collective;

// One finished request, or one message found by `iprobe`.
typedef struct norn_mpi_done {
  // What the posting call was given.
  uint64_t user;
  // Bytes received, or `NORN_MPI_UNDEFINED`. Of a send or collective: undefined.
  int64_t bytes;
  // The slot; it is free again. -1 from `iprobe`.
  int32_t slot;
  // One of `NORN_MPI_DONE`, `NORN_MPI_TRUNCATED`, `NORN_MPI_CANCELLED`, `NORN_MPI_FAILED`.
  int32_t outcome;
  // MPI's error code, for `error_text`; 0 for `NORN_MPI_DONE`.
  int32_t error;
  // Rank the message came from; receives and `iprobe` only.
  int32_t source;
  // Tag of the message; receives and `iprobe` only.
  int32_t tag;
  // `comm_idup`: the new communicator. 0 otherwise.
  int32_t comm;
} norn_mpi_done;

// What `at_finalize` has called.
typedef void (*norn_mpi_then_fn)(int32_t comm);

// The calls. No pointer is NULL.
//
// Threads: the caller sees to it that MPI's thread level allows the call. Calls on one `norn_mpi_requests` are made
// by one thread at a time. Unless said otherwise a call is legal only while MPI is active.
//
// Blocking: no call waits for another rank, except `abort`, which does not return, and `comm_free`, which an MPI may
// make wait until every rank of the communicator has come.
//
// Errors: no call ends the program, whatever error handlers the application has set; MPI's error comes back as a
// code. Where a code other than `NORN_MPI_OK` is returned, no output was written and nothing is posted.
//
// Ownership: buffers stay the caller's and must live until the request is reported by `test`. Texts are copied into
// the caller's buffer, cut to its size and ended by a zero byte.
typedef struct norn_mpi_table {
  // `NORN_MPI_TABLE_VERSION`.
  uint32_t version;
  // Bytes of this structure as the plug-in knows it.
  uint32_t struct_size;
  // Family it serves: "openmpi", "mpich", "abi" or "sim". Static.
  const char *family;
  // MPI it was compiled against, in words. Static.
  const char *built_for;
  // One of `NORN_MPI_BEFORE_INIT`, `NORN_MPI_ACTIVE`, `NORN_MPI_FINALIZED`.
  int32_t (*state)(int32_t *state);
  // First line of `MPI_Get_library_version`.
  int32_t (*library_text)(char *text, size_t size);
  // Text of a code that a call returned or a `norn_mpi_done` holds. MPI's own only while MPI is active.
  int32_t (*error_text)(int32_t error, char *text, size_t size);
  // Thread level provided, and whether the caller is the thread that initialised MPI (1 or 0). `comm` tells `sim`
  // which rank asks; an MPI ignores it.
  int32_t (*thread)(int32_t comm, int32_t *level, int32_t *is_main);
  // Rank and size of `MPI_COMM_WORLD`. `comm` as in `thread`.
  int32_t (*world)(int32_t comm, int32_t *rank, int32_t *size);
  // Whether this MPI takes device pointers: 1 yes, 0 no, -1 it does not say. The reason as text, with the name of
  // the query that answered.
  int32_t (*device_aware)(int32_t *answer, char *reason, size_t size);
  // `MPI_Abort`.
  void (*abort)(int32_t comm, int32_t code);
  // What a communicator is; `NORN_MPI_INVALID` for an integer that is none, as far as the MPI can tell.
  int32_t (*comm_info)(int32_t comm, struct norn_mpi_comm_info *info);
  // Begins to duplicate a communicator: collective over it, in the same order on every rank. `norn_mpi_done.comm`
  // is the new one. It returns errors as codes and has none of the hints of the old one; attributes of the old one
  // are copied as `MPI_Comm_idup` copies them.
  int32_t (*comm_idup)(struct norn_mpi_requests *set, int32_t comm, uint64_t user, int32_t *slot);
  // Frees a communicator from `comm_idup`. Collective; no request on it may be pending.
  int32_t (*comm_free)(int32_t comm);
  // Handle of a predefined type, by its number in norn.h (`NORN_BYTE` and so on). Nothing to free.
  int32_t (*type_builtin)(int32_t number, int32_t *handle);
  // Size and extent of a committed type; `NORN_MPI_INVALID` for an integer that is none, as far as the MPI can tell,
  // and MPI's own code for a type that is not committed. `comm`: any that returns errors as codes, which is where MPI
  // reports it.
  int32_t (*type_info)(int32_t comm, int32_t handle, struct norn_mpi_type_info *info);
  // Makes and commits the type of `planes` times `blocks` times `count` elements of `base`, the blocks `stride`
  // and the planes `plane_stride` elements apart. All counts at least 0; strides of any sign. `type_free` frees
  // it, which may be done while requests with it are pending.
  int32_t (*type_blocks)(int32_t base,
                         int64_t count,
                         int64_t blocks,
                         int64_t stride,
                         int64_t planes,
                         int64_t plane_stride,
                         int32_t *handle);
  // Frees a type made by `type_blocks`.
  int32_t (*type_free)(int32_t handle);
  // Handle of a predefined operation, by its number in norn.h (`NORN_SUM` and so on). Nothing to free.
  int32_t (*op_builtin)(int32_t number, int32_t *handle);
  // Makes an empty set of requests. Legal at any time.
  int32_t (*requests_open)(struct norn_mpi_requests **set);
  // Frees it; `NORN_MPI_BUSY` while it has requests. Legal at any time.
  int32_t (*requests_close)(struct norn_mpi_requests *set);
  // `MPI_Isend`. The slot is a small number, dense: a set that never had more than n requests at once uses 0 to
  // n-1 only.
  int32_t (*isend)(struct norn_mpi_requests *set,
                   const void *buffer,
                   int64_t count,
                   int32_t datatype,
                   int32_t dest,
                   int32_t tag,
                   int32_t comm,
                   uint64_t user,
                   int32_t *slot);
  // `MPI_Irecv`. `source` and `tag` may be `NORN_MPI_ANY`.
  int32_t (*irecv)(struct norn_mpi_requests *set,
                   void *buffer,
                   int64_t count,
                   int32_t datatype,
                   int32_t source,
                   int32_t tag,
                   int32_t comm,
                   uint64_t user,
                   int32_t *slot);
  // A nonblocking collective; as in MPI, in the same order on every rank of the communicator. The structure and
  // its arrays are read during the call only. `NORN_MPI_TOO_LARGE` for what `count_limit` forbids.
  int32_t (*icollective)(struct norn_mpi_requests *set,
                         const struct norn_mpi_collective *what,
                         uint64_t user,
                         int32_t *slot);
  // Largest count in a reduction, and largest count or displacement in a v form: `INT32_MAX`, or `INT64_MAX` where
  // the MPI has large counts. The ranks of a collective do not all know whether it is kept, so the caller looks
  // before anyone enters: it cuts a reduction into pieces, the same on every rank, and refuses a v form.
  // Everything else takes any count in any MPI.
  int32_t (*count_limit)(int64_t *limit);
  // Tests `slot_count` of the slots, in one go (`MPI_Testsome`), which lets MPI progress once. The cost follows
  // `slot_count`, never the number of requests pending; which ones to test is the caller's choice. Slots that are
  // free or listed twice are passed over. Writes the `done_count` that have finished to `done`, which has room for
  // `slot_count`; their slots are free from here on. An error of one request is told in its `norn_mpi_done` and does
  // not disturb the others. With no slots it does nothing.
  int32_t (*test)(struct norn_mpi_requests *set,
                  const int32_t *slots,
                  int32_t slot_count,
                  struct norn_mpi_done *done,
                  int32_t *done_count);
  // Cancels a receive. It is still to be tested, and ends soon, without another rank's help: as
  // `NORN_MPI_CANCELLED`, or as if nothing had been said where a message had already come. `NORN_MPI_INVALID` for a
  // slot that is no receive.
  int32_t (*cancel)(struct norn_mpi_requests *set, int32_t slot);
  // Whether a message could be received now: `found` 1 and what it is (`source`, `tag`, `bytes`), or 0. Lets MPI
  // progress.
  int32_t (*iprobe)(int32_t source, int32_t tag, int32_t comm, int32_t *found, struct norn_mpi_done *message);
  // `MPI_Alloc_mem`: memory that the transports may have registered. 0 bytes give NULL.
  int32_t (*alloc)(uint64_t bytes, void **address);
  // `MPI_Free_mem`, while MPI is active.
  int32_t (*free)(void *address);
  // Has `then` called when MPI_Finalize begins, on the thread that calls it, while all of MPI still works (as the
  // deletion of an attribute of MPI_COMM_SELF). May be called again with the same `then`, which changes nothing.
  // `then` is told `NORN_MPI_NO_HANDLE`: the end of every rank of this process; `sim`, which has many, tells the
  // communicator that was given here.
  int32_t (*at_finalize)(int32_t comm, norn_mpi_then_fn then);
  // Whether a reduction may have this operation on this type, predefined or the application's: `NORN_MPI_INVALID` for
  // an operation or type that is none, MPI's own code for two that do not go together. Calls no function of the
  // application's.
  int32_t (*op_check)(int32_t op, int32_t datatype);
} norn_mpi_table;

// What a plug-in exports under the name `norn_mpi_plugin`: its table, which lives as long as the process. NULL: the
// plug-in cannot work in this process.
typedef const struct norn_mpi_table *(*norn_mpi_plugin_fn)(void);

#endif  /* NORN_MPI_PLUGIN_H */
