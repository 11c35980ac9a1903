//! Worlds: communicators that norn uses, messages between ranks, collectives.

use core::ffi::c_char;

use super::datatype::norn_op;
use super::guard::{guard, not_null, null, read, slice, string, write};
use super::handle;
use super::how::check_streamless;
use super::slice::norn_slice;
use super::status::{NORN_E_INVALID, norn_status};
use super::types::*;
use crate::error::{Error, Result};
use crate::lower::mpi::attach;
use crate::lower::mpi::declare::Manner;
use crate::lower::mpi::declare_collective::Call;
use crate::lower::mpi::stage::Envelope;
use crate::lower::mpi::table::{
    NORN_MPI_ALLGATHER, NORN_MPI_ALLREDUCE, NORN_MPI_ALLTOALL, NORN_MPI_BARRIER, NORN_MPI_BCAST,
    NORN_MPI_GATHER, NORN_MPI_REDUCE, NORN_MPI_SCATTER,
};
use crate::lower::mpi::worlds::{self, Entry};
use crate::run::home;

/// Attaches a communicator, given by its Fortran integer (`MPI_Comm_c2f`; norn_mpi.h has `norn_world_attach` for an `MPI_Comm`).
/// Collective over it: returns when every rank has come, in the same order of attachments on every rank. norn works on
/// duplicates, so the application's own messages are never met; the communicator itself may be freed afterwards.
///
/// `config_or_null` is read during the call. Before any task that needs it, and before `norn_close`, MPI must be initialised
/// and stay so; norn never initialises or finalises it. Below MPI_THREAD_SERIALIZED messages go on only inside norn calls
/// of the thread that initialised MPI, which must also be the one that calls this.
/// Errors: `NORN_E_UNSUPPORTED` (no MPI in this process, no plug-in for it), `NORN_E_STATE` (not initialised, or
/// finalised), `NORN_E_THREAD`, `NORN_E_INVALID`, `NORN_E_MISMATCH` (ranks give different values), `NORN_E_MPI`,
/// `NORN_E_WOULD_DEADLOCK` (in a task). Application threads; blocks.
///
/// # Safety
/// The pointers are what their types say; `world` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_world_attach_f(
    rt: *mut norn_runtime,
    comm: i32,
    config_or_null: *const norn_world_config,
    world: *mut *mut norn_world,
) -> norn_status {
    guard(rt, || {
        let runtime = handle::runtime(rt)?;
        let world = not_null(world, "world")?;
        let config = if config_or_null.is_null() {
            norn_world_config {
                struct_size: size_of::<norn_world_config>(),
                tag_limit: 0,
                ordered_lanes: 0,
                verify: 0,
                idle_percent: 0,
                reserved: 0,
                flags: 0,
            }
        } else {
            // SAFETY: passed on from the caller.
            unsafe { read(config_or_null) }?
        };
        let attached = attach::attach(runtime, comm, &config)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { world.write(attached) };
        Ok(())
    })
}

/// Guards a call on a world; a panic poisons its runtime.
fn guard_world(
    world: *mut norn_world,
    body: impl FnOnce(&Entry, &home::Kept) -> Result<()>,
) -> norn_status {
    let entry = worlds::resolve(world);
    let rt = entry.as_ref().map_or(core::ptr::null_mut(), |entry| {
        core::ptr::without_provenance_mut(entry.world.runtime)
    });
    guard(rt, || {
        let entry = entry?;
        // Kept from being freed by a close meanwhile.
        let runtime = handle::waiting(rt)?;
        body(&entry, &runtime)
    })
}

/// What a world is. `info->struct_size` must be set. Errors: `NORN_E_INVALID`, `NORN_E_VERSION`. Any thread; never blocks.
///
/// # Safety
/// `info` is writable as far as its `struct_size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_world_get(
    world: *mut norn_world,
    info: *mut norn_world_info,
) -> norn_status {
    guard_world(world, |entry, _| {
        let filled = entry.world.info();
        // SAFETY: passed on from the caller.
        unsafe { write(info, &filled) }
    })
}

/// Waits until everything submitted so far that can run without another rank's help has run, and all messages and
/// collectives that this makes ready are posted. Call it before a blocking MPI call of your own whose peers may wait for
/// them. Errors: `NORN_E_TIMEOUT` (the text names what keeps it), `NORN_E_WOULD_DEADLOCK` (in a task). Application threads; blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_world_flush(world: *mut norn_world, timeout_ns: i64) -> norn_status {
    guard_world(world, |entry, runtime| {
        entry.world.flush(runtime, timeout_ns)
    })
}

/// Fails all unfinished messages and collectives of the world on every rank, with the application's `code` (not 0) and
/// a `message` (copied; may be NULL), and what depends on them with them. The world is then good for detaching only. Other
/// ranks learn of it in their next pass. Errors: `NORN_E_INVALID`. Any thread; never blocks.
///
/// # Safety
/// `message` is NULL or zero-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_world_fail(
    world: *mut norn_world,
    code: i32,
    message: *const c_char,
) -> norn_status {
    guard_world(world, |entry, runtime| {
        if code == 0 {
            return Err(Error::new(NORN_E_INVALID, "code is 0, which means success"));
        }
        // SAFETY: passed on from the caller.
        let text = unsafe { string(message) };
        let text = text.map(|text| text.to_string_lossy()).unwrap_or_default();
        entry.world.fail(runtime, code, &text);
        Ok(())
    })
}

/// Detaches a world. Collective: returns when all its messages and collectives have ended and every rank has come. Then
/// nothing is posted, nothing is on its way, and all its communicators are freed; its handle and those of its lanes are
/// invalid. What another rank still waits for from this one fails there with `NORN_E_CLOSED`. `norn_close` detaches what
/// is still attached. After a timeout the world takes nothing new, and the call may be repeated.
/// Errors: `NORN_E_TIMEOUT` (the text says what is missing), `NORN_E_STATE` (another thread detaches it), `NORN_E_THREAD`,
/// `NORN_E_WOULD_DEADLOCK` (in a task). Application threads, below MPI_THREAD_SERIALIZED the one that initialised MPI; blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_world_detach(world: *mut norn_world, timeout_ns: i64) -> norn_status {
    guard_world(world, |entry, runtime| {
        entry.world.detach(runtime, timeout_ns)
    })
}

/// A further lane of the world: collectives of different lanes are independent of each other, those of one run in the
/// order they were declared in. `lane` may be given wherever a world is; it is detached with the world. Collective, in the same
/// order on every rank; makes a communicator. Errors: `NORN_E_MPI`, `NORN_E_THREAD`, `NORN_E_CLOSED`,
/// `NORN_E_WOULD_DEADLOCK` (in a task). Application threads; blocks.
///
/// # Safety
/// `lane` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_world_lane(
    world: *mut norn_world,
    lane: *mut *mut norn_world,
) -> norn_status {
    guard_world(world, |entry, runtime| {
        let lane = not_null(lane, "lane")?;
        let made = entry.world.add_lane(runtime)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { lane.write(made) };
        Ok(())
    })
}

/// Reads `how_or_null` and hands it on with its arrays.
///
/// # Safety
/// The pointers in `how` are what norn_task's documentation says.
unsafe fn with_manner<R>(
    how: *const norn_task,
    call: impl FnOnce(&Manner<'_>) -> Result<R>,
) -> Result<R> {
    let how = if how.is_null() {
        norn_task {
            struct_size: size_of::<norn_task>(),
            // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
            ..unsafe { core::mem::zeroed() }
        }
    } else {
        // SAFETY: passed on from the caller.
        unsafe { read(how) }?
    };
    check_streamless(&how)?;
    // SAFETY: passed on from the caller.
    let accesses = unsafe { slice(how.accesses, how.access_count, "how.accesses") }?;
    // SAFETY: passed on from the caller.
    let after = unsafe { slice(how.after, how.after_count, "how.after") }?;
    call(&Manner {
        how,
        accesses,
        after,
    })
}

/// # Safety
/// As `norn_send`.
unsafe fn message(
    entry: &Entry,
    runtime: &home::Kept,
    (send, memory): (bool, *const norn_slice),
    (peer, key): (i32, i64),
    how: *const norn_task,
    token: *mut norn_token,
) -> Result<()> {
    // SAFETY: NULL or readable, which the caller promises.
    let memory =
        unsafe { memory.as_ref() }.ok_or_else(|| null(if send { "from" } else { "to" }))?;
    // SAFETY: passed on from the caller.
    let declared = unsafe {
        with_manner(how, |manner| {
            let world = &entry.world;
            let envelope = Envelope { send, peer, key };
            world.declare_message(runtime, memory, &envelope, manner)
        })
    }?;
    if !token.is_null() {
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { token.write(declared) };
    }
    Ok(())
}

/// Declares the sending end of an edge between ranks: when its predecessors are done, `from` is sent to rank `peer`.
///
/// `key`: 0 to `key_limit` - 1 (`norn_world_get`): edges of the same pair of ranks and the same key match in the order they were
/// declared in, as MPI's tags do; or `NORN_KEY_ORDER`: the n-th such edge from this rank to that one matches the n-th there.
/// Both sides give the same number of bytes; a difference is `NORN_E_MISMATCH` of the receiver's token.
/// `how_or_null`: name, accesses, after, priority, flags, group and as are read. What belongs to a body (`run`, `enqueue`, `arg`,
/// `drop`, `NORN_COPY_ARG`) and `stream` must not be given; `place` and `cpus` mean nothing here. A datum in `from` is read. `from` is read during
/// the call; what it describes must stay until the token completes, which is when MPI is done with it.
///
/// Device memory is sent by MPI itself where it can (`norn_world_info.device_aware`), else through pinned host memory, by a copy
/// that norn makes: then what is described is read when the copy's predecessors are done, the memory counts against
/// `norn_config.max_pinned_bytes` (`NORN_E_RESOURCE`), and of `how`, `as` and `NORN_HELD` are `NORN_E_STATE`: what would be
/// added to such a token comes too late for the copy. Rows and planes are packed; types of MPI's are `NORN_E_UNSUPPORTED`.
///
/// The other rank always gets its message: if a predecessor fails or the token is cancelled, its receive fails as
/// propagated, with the record of the first cause.
/// Errors: `NORN_E_INVALID` (the text names the argument), `NORN_E_ORDER` (another thread declares an ordered edge of
/// this pair at this moment), `NORN_E_TAGS` (binding `how->as` would close a cycle through edges that share a tag),
/// `NORN_E_INVALID` too where both ends of a message of a rank to itself are the same datum, `NORN_E_UNSUPPORTED`,
/// `NORN_E_CLOSED`, and those of `norn_submit`. Any thread, inside tasks too; does not block.
///
/// # Safety
/// As `norn_submit`; `from` is readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_send(
    world: *mut norn_world,
    from: *const norn_slice,
    peer: i32,
    key: i64,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard_world(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe {
            message(
                entry,
                runtime,
                (true, from),
                (peer, key),
                how_or_null,
                token_or_null,
            )
        }
    })
}

/// Declares the receiving end of an edge between ranks; see `norn_send`. A datum in `to` is overwritten if all of it is
/// covered, else read and written. The receive is posted as soon as its predecessors are done. If one of them fails, the
/// message is still received, into memory of norn's, and the token fails. When rank `peer` has closed or detached and sent
/// nothing for it, the token fails with `NORN_E_CLOSED`. For device memory that MPI does not take the token is that of the copy
/// to the device; `as` and `NORN_HELD` are as usual, and the receive is posted at once.
///
/// # Safety
/// As `norn_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_recv(
    world: *mut norn_world,
    to: *const norn_slice,
    peer: i32,
    key: i64,
    how_or_null: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard_world(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe {
            message(
                entry,
                runtime,
                (false, to),
                (peer, key),
                how_or_null,
                token_or_null,
            )
        }
    })
}

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
    runtime: &home::Kept,
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
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
    guard_world(world, |entry, runtime| {
        // SAFETY: passed on from the caller.
        unsafe { collective(entry, runtime, &arguments, how_or_null, token_or_null) }
    })
}
