//! What a running body may ask and do: the calls on `norn_self`.

use core::ffi::{c_char, c_void};

use super::guard::{guard, guard_in_body, not_null, string, write};
use super::handle;
use super::status::norn_status;
use super::types::*;

/// Fills `info` with what the body knows of itself. Set `info->struct_size` before (`NORN_SELF_INFO_INIT`).
/// Only in the body, on its thread (`NORN_E_THREAD`); never blocks.
///
/// # Safety
/// `info` points to a structure of the size its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_self_get(
    self_: *mut norn_self,
    info: *mut norn_self_info,
) -> norn_status {
    guard_in_body(|| {
        let value = handle::body(self_)?.info();
        // SAFETY: passed on from the caller.
        unsafe { write(info, &value) }
    })
}

/// Ends the body's access to `data` now instead of at its end: later tasks may use it. What was written is
/// committed, whatever becomes of the task. Errors: `NORN_E_INVALID` (the task has no such access), `NORN_E_STATE`
/// (released before, or a child still uses it; always in an enqueue body, whose accesses end with the work that it has
/// queued). Only in the body, on its thread; never blocks.
///
/// # Safety
/// The body no longer touches the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_self_release(self_: *mut norn_self, data: norn_data) -> norn_status {
    guard_in_body(|| handle::body(self_)?.release(data))
}

/// Sets the text of the failure record and returns `code`, so that a body can end with
/// `return norn_self_fail(self, 7, "pivot is zero")`. `message` is copied. Only in the body, on its thread.
///
/// # Safety
/// `message` is NULL or zero-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_self_fail(
    self_: *mut norn_self,
    code: i32,
    message: *const c_char,
) -> i32 {
    let _ = guard_in_body(|| {
        // SAFETY: passed on from the caller.
        let message = unsafe { string(message) };
        handle::body(self_)?.set_failure_text(message);
        Ok(())
    });
    code
}

/// Adds `k` holds: the task completes when its body has ended and its holds are zero. Only in the body,
/// on its thread; never blocks. Errors: `NORN_E_INVALID` (k is 0 or over 2^30 in all).
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_self_hold(self_: *mut norn_self, k: u32) -> norn_status {
    guard_in_body(|| handle::body(self_)?.hold(k))
}

/// Takes `k` holds off a task, inside its body or after it. Errors: `NORN_E_STATE` (more than it has).
/// Any thread, also one that norn has never seen, and beside a close, which waits for it; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_unhold(
    rt: *mut norn_runtime,
    token: norn_token,
    k: u32,
) -> norn_status {
    guard(rt, || handle::waiting(rt)?.unhold(token, k))
}

/// A leased handle of cuBLAS or cuSOLVER (`kind`: `NORN_PROVIDER_*`) with the body's stream set, for the calls that the
/// body makes; norn takes it back when they have completed. The same one each time the body asks. The library is found
/// at run time. Only in an enqueue body, on its thread. Errors: `NORN_E_UNSUPPORTED` (no such library, or not in an enqueue
/// body), `NORN_E_INVALID`, `NORN_E_DEVICE`. May take long the first time, when the handle is made.
///
/// # Safety
/// `handle` is writable; the handle is neither destroyed nor kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_self_provider(
    self_: *mut norn_self,
    kind: i32,
    handle: *mut *mut c_void,
) -> norn_status {
    guard_in_body(|| {
        let body = handle::body(self_)?;
        let handle = not_null(handle, "handle")?;
        let leased = body.provider(kind)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { handle.write(leased) };
        Ok(())
    })
}
