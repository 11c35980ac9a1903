//! Registering data, holding them from outside tasks, and reserving places.

use core::ffi::c_void;

use super::guard::{guard, not_null, null, read, slice};
use super::handle;
use super::status::norn_status;
use super::types::*;

/// Registers memory of the caller as a datum (or, without memory, a pure name). The memory stays the caller's and
/// must live until `norn_data_unregister` returns. Errors: `NORN_E_OVERLAP` (the text names the other datum),
/// `NORN_E_INVALID`, `NORN_E_UNSUPPORTED` (device memory without a device), `NORN_E_RESOURCE`. Any thread; never blocks.
///
/// # Safety
/// `desc` is readable and its strings zero-terminated; `data` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_register(
    rt: *mut norn_runtime,
    desc: *const norn_data_desc,
    data: *mut norn_data,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let desc = unsafe { read(desc) }?;
        let data = not_null(data, "data")?;
        // SAFETY: the name is NULL or zero-terminated.
        let registered = unsafe { rt.data_register(&desc) }?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { data.write(registered) };
        Ok(())
    })
}

/// As `norn_data_register`, with `desc->bytes` bytes of norn's own memory, 64-byte aligned and zeroed; `desc->ptr`
/// must be NULL. It is freed when the datum is unregistered or the runtime closed. `desc->kind` says of what kind it is:
/// on a device (with its place), pinned, or such that transports of MPI can register it. Memory on a device is waited for
/// until it is zeroed. Errors: also `NORN_E_MEMORY`, `NORN_E_RESOURCE` (a ceiling; the text names it), `NORN_E_DEVICE`.
///
/// # Safety
/// As `norn_data_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_alloc(
    rt: *mut norn_runtime,
    desc: *const norn_data_desc,
    data: *mut norn_data,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let desc = unsafe { read(desc) }?;
        let data = not_null(data, "data")?;
        // SAFETY: the name is NULL or zero-terminated.
        let allocated = unsafe { rt.data_alloc(&desc) }?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { data.write(allocated) };
        Ok(())
    })
}

/// Splits a datum into `count` disjoint pieces, each a datum of its own in `parts`, ordered with their parent: what
/// was submitted to the parent before comes before them; a later access to the parent is an access to all of them.
/// Pieces may be split again. Errors: `NORN_E_INVALID` (outside the parent), `NORN_E_OVERLAP` (the text names two
/// pieces), `NORN_E_STATE` (split already). Any thread; never blocks.
///
/// # Safety
/// `pieces` points to `count` pieces, `parts` to room for `count` data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_split(
    rt: *mut norn_runtime,
    data: norn_data,
    pieces: *const norn_piece,
    count: u64,
    parts: *mut norn_data,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let pieces = unsafe { slice(pieces, count, "pieces") }?;
        let parts = not_null(parts, "parts")?;
        let made = rt.data_split(data, pieces)?;
        for (index, part) in made.iter().enumerate() {
            // SAFETY: the caller promises room for `count` data.
            unsafe { parts.add(index).write(*part) };
        }
        Ok(())
    })
}

/// Ends a split: later accesses to `data` come after those to its pieces, and the pieces' handles become invalid.
/// Errors: `NORN_E_STATE` (not split, or a piece is still split). Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_join(rt: *mut norn_runtime, data: norn_data) -> norn_status {
    guard(rt, || handle::runtime(rt)?.data_join(data))
}

/// Gives a datum a new address and length after its last access so far; the caller has moved the contents. Waits as
/// `norn_data_acquire` does; inside a task that holds it `NORN_E_WOULD_DEADLOCK`. Until it returns, submissions, places
/// and holds on the datum are refused with `NORN_E_STATE`. Errors: as `norn_data_register`;
/// `NORN_E_STATE` (split, a piece, or norn's own memory). Any thread; blocks.
///
/// # Safety
/// `ptr` points to `bytes` bytes that outlive the datum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_rebind(
    rt: *mut norn_runtime,
    data: norn_data,
    ptr: *mut c_void,
    bytes: u64,
) -> norn_status {
    guard(rt, || handle::waiting(rt)?.data_rebind(data, ptr, bytes))
}

/// Ends a datum after its last access so far, and its pieces with it. Waits for these; inside a task that holds it
/// `NORN_E_WOULD_DEADLOCK`. A failed datum is unregistered all the same and the call returns `NORN_OK`. Errors:
/// `NORN_E_DEADLOCK` (an access can never end), `NORN_E_STATE` (a piece: join instead; readers of a NORN_UNWRITTEN
/// datum wait for its first writer). Any thread; blocks and progresses.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_unregister(
    rt: *mut norn_runtime,
    data: norn_data,
) -> norn_status {
    guard(rt, || handle::waiting(rt)?.data_unregister(data))
}

/// Lets the calling thread touch data as a task would: takes its places in the timelines now and waits until they are
/// reached. `hold` receives what `norn_data_release` ends. `NORN_REDUCE` is not allowed here. `timeout_ns` as for
/// `norn_await`; after `NORN_E_TIMEOUT` the places are given up. A failed datum gives `NORN_E_PROPAGATED`, and nothing is
/// held. Any thread; blocks. Inside a task: `NORN_E_WOULD_DEADLOCK` when the task holds the datum itself.
///
/// # Safety
/// `accesses` points to `count` accesses, `hold` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_acquire(
    rt: *mut norn_runtime,
    accesses: *const norn_access,
    count: u64,
    timeout_ns: i64,
    hold: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::waiting(rt)?;
        // SAFETY: passed on from the caller.
        let accesses = unsafe { slice(accesses, count, "accesses") }?;
        let hold = not_null(hold, "hold")?;
        let token = rt.data_acquire(accesses, timeout_ns)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { hold.write(token) };
        Ok(())
    })
}

/// Ends a hold. Errors: `NORN_E_INVALID` (not a hold), `NORN_E_STATE` (released before). Any thread, beside a close
/// too; never blocks.
///
/// # Safety
/// The caller no longer touches the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_release(rt: *mut norn_runtime, hold: norn_token) -> norn_status {
    guard(rt, || handle::waiting(rt)?.data_release(hold))
}

/// Address and length of a datum; inside a body with a `NORN_REDUCE` access to it, of the private copy. Either
/// output may be NULL. Any thread; never blocks. Whoever touches the memory needs an access or a hold.
///
/// # Safety
/// The outputs are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_data_pointer(
    rt: *mut norn_runtime,
    data: norn_data,
    ptr: *mut *mut c_void,
    bytes: *mut u64,
) -> norn_status {
    guard(rt, || {
        let (address, length) = handle::runtime(rt)?.data_pointer(data)?;
        if !ptr.is_null() {
            // SAFETY: not NULL, and the caller promises it is writable.
            unsafe { ptr.write(address) };
        }
        if !bytes.is_null() {
            // SAFETY: not NULL, and the caller promises it is writable.
            unsafe { bytes.write(length) };
        }
        Ok(())
    })
}

/// Takes places in the timelines now, all in one step, for tasks submitted later: give `slots[i]` in the
/// `slot` of the access with the same datum and mode. Everything submitted in between comes after the places. Errors:
/// `NORN_E_INVALID` (`NORN_REDUCE`, or one datum twice), `NORN_E_CLOSED`. Any thread; never blocks.
///
/// # Safety
/// `accesses` points to `count` accesses, `slots` to room for `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_reserve(
    rt: *mut norn_runtime,
    accesses: *const norn_access,
    count: u64,
    slots: *mut u64,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let accesses = unsafe { slice(accesses, count, "accesses") }?;
        if accesses.is_empty() {
            return Ok(());
        }
        if slots.is_null() {
            return Err(null("slots"));
        }
        let made = rt.reserve(accesses)?;
        for (index, slot) in made.iter().enumerate() {
            // SAFETY: the caller promises room for `count` numbers.
            unsafe { slots.add(index).write(*slot) };
        }
        Ok(())
    })
}

/// Gives a reserved place up: those behind it go on as if it had not been taken (a COMMUTE or REDUCE run that it
/// stood in stays divided). Errors: `NORN_E_INVALID`,
/// `NORN_E_STATE` (filled or given up before). Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_reserve_abandon(rt: *mut norn_runtime, slot: u64) -> norn_status {
    guard(rt, || handle::runtime(rt)?.reserve_abandon(slot))
}
