//! `norn_open` to `norn_dump`: the life of a runtime.

use core::ffi::{c_char, c_void};

use super::guard::{guard, guard_anywhere, last_error, not_null, null, read, string, write};
use super::handle;
use super::status::{norn_status, status_name};
use super::types::*;

/// Version of the library that is loaded, which may be newer than the header.
/// Any pointer may be NULL. Any thread; never blocks.
///
/// # Safety
/// Each pointer is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_version(
    major: *mut i32,
    minor: *mut i32,
    patch: *mut i32,
) -> norn_status {
    guard_anywhere(|| {
        for (pointer, value) in [
            (major, NORN_VERSION_MAJOR),
            (minor, NORN_VERSION_MINOR),
            (patch, NORN_VERSION_PATCH),
        ] {
            if !pointer.is_null() {
                // SAFETY: not NULL, and the caller promises it is writable.
                unsafe { pointer.write(value) };
            }
        }
        Ok(())
    })
}

/// Name of a status, such as "NORN_E_INVALID". Never NULL; static. Any thread; never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn norn_status_name(status: norn_status) -> *const c_char {
    let mut name = c"".as_ptr();
    guard_anywhere(|| {
        name = status_name(status).as_ptr();
        Ok(())
    });
    name
}

/// Text of the calling thread's last error, "" if there was none. Valid until
/// that thread's next error. Never NULL. Any thread; never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn norn_last_error() -> *const c_char {
    let mut text = c"".as_ptr();
    guard_anywhere(|| {
        text = last_error();
        Ok(())
    });
    text
}

/// Opens a runtime: starts its workers and returns at once. Call it through
/// `norn_open`, which passes the version of the header.
///
/// `header_version`: `NORN_HEADER_VERSION`. `config`: NULL for the defaults.
/// `rt` receives the handle; the caller closes it with `norn_close`.
/// Errors: `NORN_E_INVALID`, `NORN_E_CONFIG` (the text names the variable or field),
/// `NORN_E_VERSION`, `NORN_E_RESOURCE` (1024 runtimes are open), `NORN_E_SYSTEM` (no threads).
/// Any thread, not inside a task of the same runtime; the calling thread becomes the opener.
///
/// # Safety
/// `config` is NULL or readable, `rt` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_open_version(
    header_version: i32,
    config: *const norn_config,
    rt: *mut *mut norn_runtime,
) -> norn_status {
    guard(core::ptr::null_mut(), || {
        let rt = not_null(rt, "rt")?;
        let config = if config.is_null() {
            None
        } else {
            // SAFETY: not NULL; the caller promises a readable structure.
            Some(unsafe { read(config) }?)
        };
        // SAFETY: strings inside the configuration are NULL or zero-terminated.
        let opened = unsafe { handle::open(header_version, config) }?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { rt.write(opened) };
        Ok(())
    })
}

/// Drains, then closes: `norn_close_with(rt, NORN_DRAIN, -1)`. Tokens still unbound, promises
/// not fulfilled and reservations not filled fail with `NORN_E_CLOSED` once nothing else can run.
/// Returns the status and text of the first failure that nobody looked at (`NORN_E_TASK_FAILED`, or
/// `NORN_E_CLOSED` for a task that never ran because of an unserved token; never for what the application
/// cancelled); the runtime is closed all the same. A hold of `norn_data_acquire` on which no task waits does
/// not delay it. With `NORN_SHARED`, only the last close closes.
/// After a defect (`NORN_E_INTERNAL`) it waits for running bodies only, returns that status again and keeps norn's memory.
/// With worlds it is collective over the ranks of each, as `norn_world_detach` is, and waits until all of them have come:
/// several runtimes (or worlds) over the same ranks are closed in the same order on every rank.
/// Any thread, not inside a task (`NORN_E_WOULD_DEADLOCK`); blocks.
/// The handle is invalid afterwards; memory of `norn_data_alloc` is freed.
///
/// # Safety
/// No other thread may be inside a call on `rt`, except a wait, which the close ends, and what the close itself may
/// wait for: `norn_fulfill`, `norn_fail`, `norn_unhold`, `norn_data_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_close(rt: *mut norn_runtime) -> norn_status {
    guard(rt, || handle::close(rt, NORN_DRAIN, -1))
}

/// As `norn_close`, with a choice and a limit.
///
/// `flags`: `NORN_DRAIN` or `NORN_CANCEL` (what has not started fails as cancelled; RUN_ALWAYS tasks
/// run, but for held ones, which fail with `NORN_E_CLOSED`; bodies that still run may submit RUN_ALWAYS
/// tasks only, others get `NORN_E_CLOSED`). `timeout_ns`: negative: no limit; when it passes,
/// `NORN_E_TIMEOUT`, with a text that names what has not ended and which ranks have not come, and the runtime stays open
/// but takes no more submissions from outside; this close does not count, and a `NORN_SHARED` open gives this same runtime. Thread rules as `norn_close`.
///
/// # Safety
/// As `norn_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_close_with(
    rt: *mut norn_runtime,
    flags: u32,
    timeout_ns: i64,
) -> norn_status {
    guard(rt, || handle::close(rt, flags, timeout_ns))
}

/// Waits until everything submitted so far by anyone has completed, children included, and combines
/// open reductions. `timeout_ns`: negative: no limit; 0: never waits, makes one pass as `norn_progress` does and looks. Failures are not reported here.
/// Errors: `NORN_E_TIMEOUT` (after a limit above 0 the text names what is left); `NORN_E_DEADLOCK` when what is left can never run (a cycle; after
/// `norn_seal` also what nobody can complete), the text lists it; inside a task `NORN_E_WOULD_DEADLOCK`.
/// Any thread; blocks; runs bodies where this thread may.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_drain(rt: *mut norn_runtime, timeout_ns: i64) -> norn_status {
    guard(rt, || handle::waiting(rt)?.drain(timeout_ns))
}

/// One bounded pass: delivers completions and messages, and runs a ready body where this thread may
/// (zero workers, one-thread modes, `NORN_CALLER_WORKS` in the opener). Never waits, except for the one operation of a device or of MPI that it has begun, in the one-thread modes.
/// Any thread; inside a task it only delivers.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_progress(rt: *mut norn_runtime) -> norn_status {
    guard(rt, || handle::runtime(rt)?.progress())
}

/// Says that no more submissions, bindings, fulfilments or fillings come from outside tasks. From now on
/// what has no producer is a deadlock, and waits for it return `NORN_E_DEADLOCK` instead of waiting.
/// Later submissions from outside a task return `NORN_E_CLOSED`. Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_seal(rt: *mut norn_runtime) -> norn_status {
    guard(rt, || handle::runtime(rt)?.seal())
}

/// Counters. Set `stats->struct_size` before (`NORN_RUNTIME_STATS_INIT`). Any thread; never blocks.
///
/// # Safety
/// `stats` points to a structure of the size its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_stats(
    rt: *mut norn_runtime,
    stats: *mut norn_runtime_stats,
) -> norn_status {
    guard(rt, || {
        let value = handle::runtime(rt)?.stats();
        // SAFETY: passed on from the caller.
        unsafe { write(stats, &value) }
    })
}

/// Writes the live graph: every token that is not complete, its name, its state and what it waits for.
/// `format`: `NORN_DUMP_TEXT` or `NORN_DUMP_DOT`. `write` gets the text in pieces on this thread and
/// must not call norn; when it returns non-zero the dump stops with `NORN_E_SYSTEM`. Any thread;
/// does not stop the workers: a snapshot of a running graph may miss what changes meanwhile.
///
/// # Safety
/// `write_fn` may be called with `arg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_dump(
    rt: *mut norn_runtime,
    format: i32,
    write_fn: norn_write_fn,
    arg: *mut c_void,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let write_fn = write_fn.ok_or_else(|| null("write_fn"))?;
        let text = rt.dump(format)?;
        for piece in text.as_bytes().chunks(4096) {
            plant!("write.call");
            // SAFETY: the caller gave this function for this argument.
            let stop = unsafe { write_fn(arg, piece.as_ptr().cast(), piece.len() as u64) };
            plant!("write.called");
            if stop != 0 {
                return Err(crate::error::Error::new(
                    super::status::NORN_E_SYSTEM,
                    format!("the write function stopped the dump with {stop}"),
                ));
            }
        }
        Ok(())
    })
}

/// Copies a name so that it lives as long as the runtime; the same text gives the same pointer.
/// `name` receives the pointer. Any thread; takes a lock.
///
/// # Safety
/// `text` is zero-terminated, `name` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_intern(
    rt: *mut norn_runtime,
    text: *const c_char,
    name: *mut *const c_char,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let text = unsafe { string(text) }.ok_or_else(|| null("text"))?;
        let name = not_null(name, "name")?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { name.write(rt.intern(text)) };
        Ok(())
    })
}
