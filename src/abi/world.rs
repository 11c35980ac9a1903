//! Worlds: communicators that norn uses, and messages between ranks.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use super::guard::{guard, not_null, null, read, read_in_place, slice, string, write};
use super::handle;
use super::how::check_streamless;
use super::slice::norn_slice;
use super::status::{NORN_E_INVALID, norn_status};
use super::types::*;
use crate::error::{Error, Result};
use crate::lower::mpi::attach;
use crate::lower::mpi::declare::Manner;
use crate::lower::mpi::stage::Envelope;
use crate::lower::mpi::worlds::{self, Entry};
use crate::run::runtime::Runtime;

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

/// Guards a call on a world that a close ends or waits for; a panic poisons its runtime.
pub(super) fn guard_world(
    world: *mut norn_world,
    body: impl FnOnce(&Entry, &Runtime) -> Result<()>,
) -> norn_status {
    guard_entry(world, |entry, rt| {
        // Kept from being freed by a close meanwhile.
        let runtime = handle::waiting(rt)?;
        body(entry, &runtime)
    })
}

/// As `guard_world`, for calls that no close may run beside, as it may not beside `norn_submit`.
pub(super) fn guard_declaring(
    world: *mut norn_world,
    body: impl FnOnce(&Entry, &Runtime) -> Result<()>,
) -> norn_status {
    guard_entry(world, |entry, rt| body(entry, handle::runtime(rt)?))
}

#[inline(always)]
fn guard_entry(
    world: *mut norn_world,
    body: impl FnOnce(&Entry, *mut norn_runtime) -> Result<()>,
) -> norn_status {
    match worlds::resolve(world) {
        Ok(resolved) => {
            let entry = &resolved.entry;
            let rt = core::ptr::without_provenance_mut(entry.world.runtime);
            let status = guard(rt, || body(entry, rt));
            worlds::give_back(resolved);
            status
        }
        Err(error) => guard(core::ptr::null_mut(), || Err(error)),
    }
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
/// Below MPI_THREAD_MULTIPLE it leaves MPI to the application: from its return without an error until the application's next
/// call into norn, no thread of norn's calls MPI. So under MPI_THREAD_SERIALIZED flush before MPI calls of your own, unless nothing of norn's
/// is under way. Calls of task bodies and of callbacks are not the application's; any other is, of whichever thread and on whichever runtime, but for
/// `norn_version`, `norn_status_name`, `norn_last_error` and `norn_mpi_register`. `norn_progress` will do.
/// Until then tasks run on, but nothing is posted, nothing completes that MPI must be asked about, and what calls of other threads wait for does
/// not come: do not wait in MPI for a rank that may wait for such a message. A task that declares a message or reduction with
/// a type or an operation of MPI's waits in that call, since MPI must be asked. In a process with several runtimes this holds for the worlds of all, but only
/// those of this one are flushed: flush one of each. Called in a task of another runtime, it only flushes.
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

/// What NULL means for `how_or_null`.
const NO_WISHES: norn_task = norn_task {
    struct_size: size_of::<norn_task>(),
    // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
    ..unsafe { core::mem::zeroed() }
};

/// Reads `how_or_null` and hands it on with its arrays.
///
/// # Safety
/// The pointers in `how` are what norn_task's documentation says.
pub(super) unsafe fn with_manner<R>(
    how: *const norn_task,
    call: impl FnOnce(&Manner<'_>) -> Result<R>,
) -> Result<R> {
    let mut own = MaybeUninit::uninit();
    let how = match how.is_null() {
        true => &NO_WISHES,
        // SAFETY: passed on from the caller, who changes nothing during the call.
        false => unsafe { read_in_place(how, &mut own) }?,
    };
    check_streamless(how)?;
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
    runtime: &Runtime,
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
/// `NORN_E_CLOSED`, and those of `norn_submit`. Any thread, inside tasks too; does not block, but in a task for a type of
/// MPI's, after `norn_world_flush`.
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
    guard_declaring(world, |entry, runtime| {
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
/// covered, else read and written. The receive is posted as soon as its predecessors are done; where many are, a small one may
/// be posted only when its message is there, or something asks for it (`norn_world_flush`). If one of them fails, the
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
    guard_declaring(world, |entry, runtime| {
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
