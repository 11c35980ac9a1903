//! Awaiting tokens, and everything else one can ask a token.

use core::ffi::c_void;

use super::guard::{guard, not_null, null, slice, write};
use super::handle;
use super::status::norn_status;
use super::types::*;

/// Waits until a token completes and says how it ended.
///
/// `timeout_ns`: negative: no limit; 0: never waits, makes one pass as `norn_progress` does and looks. Returns `NORN_OK`, `NORN_E_TASK_FAILED`, `NORN_E_PROPAGATED`,
/// `NORN_E_CANCELLED`, `NORN_E_CLOSED` (how it ended; `norn_error` has the record), `NORN_E_TIMEOUT` (after
/// a limit above 0 the text names what has not completed, and of messages the other rank),
/// `NORN_E_DEADLOCK` (it can never complete; the text says why), `NORN_E_WOULD_DEADLOCK` (it waits for the calling
/// task), `NORN_E_RESOURCE` (no further thread to take this body's place). Any thread; blocks. Inside a task the
/// body is blocked alone: another thread runs further bodies meanwhile. Outside, runs bodies only where this thread may.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_await(
    rt: *mut norn_runtime,
    token: norn_token,
    timeout_ns: i64,
) -> norn_status {
    guard(rt, || handle::waiting(rt)?.wait(token, timeout_ns))
}

/// Waits until all tokens have completed; zero tokens: at once. Returns how the first failed one in the
/// array ended, else `NORN_OK`; otherwise as `norn_await`.
///
/// # Safety
/// `tokens` points to `count` tokens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_await_all(
    rt: *mut norn_runtime,
    tokens: *const norn_token,
    count: u64,
    timeout_ns: i64,
) -> norn_status {
    guard(rt, || {
        // SAFETY: passed on from the caller.
        let tokens = unsafe { slice(tokens, count, "tokens") }?;
        handle::waiting(rt)?.wait_all(tokens, timeout_ns)
    })
}

/// Waits until one of the tokens has completed; `index` receives which (the first in the array, if several).
/// The result says how that one ended; `index` is then written for failures too. Zero tokens: `NORN_E_INVALID`.
/// Otherwise as `norn_await`.
///
/// # Safety
/// `tokens` points to `count` tokens, `index` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_await_any(
    rt: *mut norn_runtime,
    tokens: *const norn_token,
    count: u64,
    timeout_ns: i64,
    index: *mut u64,
) -> norn_status {
    guard(rt, || {
        // SAFETY: passed on from the caller.
        let tokens = unsafe { slice(tokens, count, "tokens") }?;
        let index = not_null(index, "index")?;
        let (which, outcome) = handle::waiting(rt)?.wait_any(tokens, timeout_ns)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { index.write(which) };
        outcome
    })
}

/// Whether a token has completed, in whatever way. `done` receives 1 or 0. Any thread; never blocks.
///
/// # Safety
/// `done` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_test(
    rt: *mut norn_runtime,
    token: norn_token,
    done: *mut i32,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let done = not_null(done, "done")?;
        let complete = rt.test(token)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { done.write(i32::from(complete)) };
        Ok(())
    })
}

/// Cancels a task that has not started, a declared token, a promise, or (through its `done` token) every member
/// of a group. Its token fails with `NORN_E_CANCELLED`, dependants as propagated, `drop` is called. Errors:
/// `NORN_E_TOO_LATE` (running, or complete; a running body sees it in `norn_self_info.cancelled`). Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_cancel(rt: *mut norn_runtime, token: norn_token) -> norn_status {
    guard(rt, || handle::runtime(rt)?.cancel(token))
}

/// The record of a token: how it ended and what failed first. Set `info->struct_size` before
/// (`NORN_ERROR_INFO_INIT`). A token that succeeded gives status `NORN_OK` in the record. Errors: `NORN_E_STATE` (not
/// complete yet). Looking never turns a failure into success. Any thread; never blocks; the record is a copy.
///
/// # Safety
/// `info` points to a structure of the size its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_error(
    rt: *mut norn_runtime,
    token: norn_token,
    info: *mut norn_error_info,
) -> norn_status {
    guard(rt, || {
        let record = handle::runtime(rt)?.error_record(token)?;
        // SAFETY: passed on from the caller.
        unsafe { write(info, &record) }
    })
}

/// Calls `fn_` once when the token completes, in whatever way, on the norn worker that completed it or (with no
/// workers) inside another norn call; never inside this call, even when the token is complete already. It may
/// submit and fulfil, not wait: an await of a token that is not complete gives `NORN_E_THREAD` there (a limit of 0
/// only looks), a drain or close `NORN_E_WOULD_DEADLOCK`. Any thread; never blocks.
///
/// # Safety
/// `fn_` may be called with `arg` on another thread until the token completes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_on_complete(
    rt: *mut norn_runtime,
    token: norn_token,
    fn_: norn_complete_fn,
    arg: *mut c_void,
) -> norn_status {
    guard(rt, || {
        let fn_ = fn_.ok_or_else(|| null("fn"))?;
        handle::runtime(rt)?.on_complete(token, fn_, arg)
    })
}

/// An eventfd that becomes readable when the token completes, for `poll` and event loops. `fd` receives it;
/// the caller closes it, before or after. It may become readable a moment after `norn_test` or another thread's await
/// has shown the token complete: poll it, do not take it for the state. Errors: `NORN_E_SYSTEM`. Any thread; never blocks.
///
/// # Safety
/// `fd` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_eventfd(
    rt: *mut norn_runtime,
    token: norn_token,
    fd: *mut i32,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let fd = not_null(fd, "fd")?;
        let opened = rt.event_fd(token)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { fd.write(opened) };
        Ok(())
    })
}
