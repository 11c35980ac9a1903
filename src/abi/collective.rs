//! Collectives.

use super::datatype::norn_op;
use super::guard::slice;
use super::slice::norn_slice;
use super::status::norn_status;
use super::types::*;
use super::world::{guard_declaring, with_manner};
use crate::error::Result;
use crate::lower::mpi::declare_collective::Call;
use crate::lower::mpi::table::{
    NORN_MPI_ALLGATHER, NORN_MPI_ALLREDUCE, NORN_MPI_ALLTOALL, NORN_MPI_BARRIER, NORN_MPI_BCAST,
    NORN_MPI_GATHER, NORN_MPI_REDUCE, NORN_MPI_SCATTER,
};
use crate::lower::mpi::worlds::Entry;
use crate::run::runtime::Runtime;

/// What a collective is, with the C API's pointers.
struct Arguments {
    kind: i32,
    root: i32,
    op: norn_op,
    from: *const norn_slice,
    to: *const norn_slice,
    counts: *const u64,
    counts_back: *const u64,
}

const NOTHING: Arguments = Arguments {
    kind: NORN_MPI_BARRIER,
    root: 0,
    op: 0,
    from: core::ptr::null(),
    to: core::ptr::null(),
    counts: core::ptr::null(),
    counts_back: core::ptr::null(),
};

/// # Safety
/// As the collective it is for.
unsafe fn collective(
    entry: &Entry,
    runtime: &Runtime,
    arguments: &Arguments,
    how: *const norn_task,
    token: *mut norn_token,
) -> Result<()> {
    let counts = |pointer: *const u64, name| match pointer.is_null() {
        true => Ok(None),
        // SAFETY: an element for each rank, which the caller promises.
        false => unsafe { slice(pointer, entry.world.size as u64, name) }.map(Some),
    };
    let call = Call {
        kind: arguments.kind,
        root: arguments.root,
        op: arguments.op,
        // SAFETY: NULL or readable, which the caller promises.
        from: unsafe { arguments.from.as_ref() },
        // SAFETY: as above.
        to: unsafe { arguments.to.as_ref() },
        counts: counts(arguments.counts, "counts")?,
        counts_back: counts(arguments.counts_back, "counts")?,
    };
    // SAFETY: passed on from the caller.
    let declared = unsafe {
        with_manner(how, |manner| {
            let world = &entry.world;
            world.declare_collective(runtime, entry.lane, &call, manner)
        })
    }?;
    if !token.is_null() {
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { token.write(declared) };
    }
    Ok(())
}

/// A barrier as an operation: its token completes when every rank's barrier has been reached by its predecessors.
///
/// Rules for all collectives: every rank declares the same ones in the same order on a lane, from one thread at a time;
/// they run in that order. Before each, the ranks agree on whether all can enter it: if a predecessor fails on one rank, or
/// it is cancelled there, it fails on all, with that rank's record (`NORN_UNGUARDED` in `how->flags` leaves the agreement
/// out). Where they have declared different kinds, roots, predefined operations or sizes, it fails on all with `NORN_E_MISMATCH`, and
/// none has entered. Once entered, an error of MPI's at its start on one rank fails the world (`norn_world_fail`), with its text:
/// the others are inside, and nobody can tell any more what matches what. `how_or_null`, slices, errors and threads as in `norn_send`; slices are one block.
///
/// # Safety
/// As `norn_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_barrier(
    world: *mut norn_world,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &NOTHING, how_or_null, token_or_null) }
    })
}

/// Broadcasts `buffer` from rank `root`, where it is read; elsewhere it is written. See `norn_barrier` for the rules.
///
/// # Safety
/// As `norn_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_bcast(
    world: *mut norn_world,
    buffer: *const norn_slice,
    root: i32,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_BCAST,
        root,
        to: buffer,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}

/// Reduces `from` of all ranks into `to` of rank `root`, element by element. `from_or_null`: NULL on the root: `to` holds its
/// own part. `to_or_null`: not read elsewhere. See `norn_barrier` for the rules.
///
/// # Safety
/// As `norn_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_reduce(
    world: *mut norn_world,
    from_or_null: *const norn_slice,
    to_or_null: *const norn_slice,
    op: norn_op,
    root: i32,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_REDUCE,
        root,
        op,
        from: from_or_null,
        to: to_or_null,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}

/// Reduces `from` of all ranks into `to` of all ranks. `from_or_null`: NULL: in place, on every rank. See `norn_barrier` for the rules.
/// `NORN_E_INVALID`: `op` is none, or one that a predefined type has not (bytes have the bitwise ones only, floating-point
/// numbers sum, product, minimum and maximum, complex ones sum and product), here and in `norn_reduce`; `from` and `to`
/// share memory, in any collective that has both.
///
/// # Safety
/// As `norn_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_allreduce(
    world: *mut norn_world,
    from_or_null: *const norn_slice,
    to: *const norn_slice,
    op: norn_op,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_ALLREDUCE,
        op,
        from: from_or_null,
        to,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}

/// Gathers `from` of all ranks into `to` of rank `root`, by rank. `counts_or_null`: elements from each rank, read on the root,
/// given on every rank or on none; NULL: equal parts. `from_or_null`: NULL on the root: its part is in place.
/// `to_or_null`: not read elsewhere. See `norn_barrier` for the rules.
///
/// # Safety
/// As `norn_send`; `counts_or_null` has an element for each rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_gather(
    world: *mut norn_world,
    from_or_null: *const norn_slice,
    to_or_null: *const norn_slice,
    counts_or_null: *const u64,
    root: i32,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_GATHER,
        root,
        from: from_or_null,
        to: to_or_null,
        counts: counts_or_null,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}

/// Scatters `from` of rank `root` over `to` of all ranks, by rank. `counts_or_null`: elements for each rank, read on the root, given
/// on every rank or on none; NULL: equal parts. `from_or_null`: not read elsewhere. `to_or_null`: NULL on the root: its
/// part stays in place. See `norn_barrier` for the rules.
///
/// # Safety
/// As `norn_gather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_scatter(
    world: *mut norn_world,
    from_or_null: *const norn_slice,
    to_or_null: *const norn_slice,
    counts_or_null: *const u64,
    root: i32,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_SCATTER,
        root,
        from: from_or_null,
        to: to_or_null,
        counts: counts_or_null,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}

/// Gathers `from` of all ranks into `to` of all ranks, by rank. `counts_or_null`: elements from each rank, the same on every rank;
/// NULL: equal parts. `from_or_null`: NULL on every rank: in place. See `norn_barrier` for the rules.
///
/// # Safety
/// As `norn_gather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_allgather(
    world: *mut norn_world,
    from_or_null: *const norn_slice,
    to: *const norn_slice,
    counts_or_null: *const u64,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_ALLGATHER,
        from: from_or_null,
        to,
        counts: counts_or_null,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}

/// Sends the r-th part of `from` to rank r, and receives rank r's into the r-th part of `to`. `send_counts_or_null`,
/// `recv_counts_or_null`: elements of each part, given both, on every rank, or neither: equal parts. `from_or_null`: NULL on
/// every rank: in place. See `norn_barrier` for the rules.
///
/// # Safety
/// As `norn_gather`, for both arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_alltoall(
    world: *mut norn_world,
    from_or_null: *const norn_slice,
    send_counts_or_null: *const u64,
    to: *const norn_slice,
    recv_counts_or_null: *const u64,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    let arguments = Arguments {
        kind: NORN_MPI_ALLTOALL,
        from: from_or_null,
        to,
        counts: send_counts_or_null,
        counts_back: recv_counts_or_null,
        ..NOTHING
    };
    guard_declaring(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}
