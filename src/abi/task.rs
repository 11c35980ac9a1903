//! Submitting tasks and declaring edges.

use core::ffi::c_char;

use super::guard::{Sized0, guard, not_null, null, read, slice, string};
use super::handle;
use super::status::{NORN_E_VERSION, norn_status};
use super::types::*;
use crate::error::{Error, Result};
use crate::order::node::INLINE_SLOTS;
use crate::run::runtime::Runtime;

/// Most accesses or edges of a plain task.
const MOST_PLAIN: u64 = INLINE_SLOTS as u64;

/// Submits one task. It runs as soon as its tokens, its data and its place allow.
///
/// `task` is read during the call; the same description, with what differs changed, serves for the next task, and costs
/// less than a new one. `token_or_null` receives its token (the one in `task->as`, if given).
/// On success norn owns `arg` until it has called `drop`; on an error nothing was taken: the caller keeps
/// `arg`, `drop` is not called, no place in a timeline is used.
/// Errors: `NORN_E_INVALID` (the text names the field), `NORN_E_UNCOVERED` (child), `NORN_E_STATE` (`as` is
/// bound already), `NORN_E_DEADLOCK` (it would wait for what waits for `as`, its group, its parent or a place it
/// fills; the text shows the cycle), `NORN_E_UNSUPPORTED` (`enqueue` without a device), `NORN_E_CLOSED`,
/// `NORN_E_RESOURCE`, `NORN_E_MEMORY`.
/// Any thread, inside tasks too. Does not block, except above `max_live_tasks` outside tasks.
///
/// # Safety
/// The pointers in `task` are what its documentation says; body, `arg` and `drop` may be used on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_submit(
    rt: *mut norn_runtime,
    task: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime_to_submit(rt)?;
        // SAFETY: passed on from the caller.
        let token = match unsafe { submit_plain(rt, task) } {
            Some(token) => token,
            // SAFETY: passed on from the caller.
            None => unsafe { submit_one(rt, task) }?,
        };
        if !token_or_null.is_null() {
            // SAFETY: not NULL, and the caller promises it is writable.
            unsafe { token_or_null.write(token) };
        }
        Ok(())
    })
}

/// Submits a task of this version's size on the straight path, where it stands. None: not possible, nothing done.
///
/// # Safety
/// `task` is NULL or points to what `norn_submit` demands.
#[inline(always)]
unsafe fn submit_plain(rt: &Runtime, task: *const norn_task) -> Option<norn_token> {
    // SAFETY: NULL, or aligned and readable at least as far as its size, which is looked at first.
    if task.is_null() || unsafe { (*task).struct_size } != size_of::<norn_task>() {
        return None;
    }
    // SAFETY: readable in full, see above.
    let task = unsafe { &*task };
    // SAFETY: the caller promises the elements.
    let (accesses, after) = unsafe {
        (
            few(task.accesses, task.access_count)?,
            few(task.after, task.after_count)?,
        )
    };
    rt.submit_plain(task, accesses, after)
}

/// The elements of an array of the caller's. None: more than a plain task has, or NULL where there should be some.
///
/// # Safety
/// `pointer` is NULL or points to `count` elements.
#[inline(always)]
unsafe fn few<'a, T>(pointer: *const T, count: u64) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    if count > MOST_PLAIN || pointer.is_null() {
        return None;
    }
    // SAFETY: passed on from the caller.
    Some(unsafe { core::slice::from_raw_parts(pointer, count as usize) })
}

/// Submits any task. A function of its own, so that the straight path has the registers.
///
/// # Safety
/// As `norn_submit`.
#[inline(never)]
unsafe fn submit_one(rt: &'static Runtime, task: *const norn_task) -> Result<norn_token> {
    rt.share_unless_sitting();
    // SAFETY: passed on from the caller.
    let task = unsafe { read(task) }?;
    // SAFETY: passed on from the caller.
    let accesses = unsafe { slice(task.accesses, task.access_count, "task.accesses") }?;
    // SAFETY: passed on from the caller.
    let after = unsafe { slice(task.after, task.after_count, "task.after") }?;
    rt.submit(&task, accesses, after)
}

/// Submits `count` tasks, all or nothing (except when memory for tokens runs out, or a task closes a cycle through data
/// of earlier ones of the batch: those are then cancelled and dropped). The distance between two elements is the first one's
/// `struct_size`; all must be equal. Later elements may name tokens declared before, not each other's
/// new tokens. `tokens_or_null` receives `count` tokens. Errors and thread rules as `norn_submit`;
/// the text names the index of the culprit.
///
/// # Safety
/// As `norn_submit`, for each element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_submit_many(
    rt: *mut norn_runtime,
    tasks: *const norn_task,
    count: u64,
    tokens_or_null: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        if count == 0 {
            return Ok(());
        }
        if tasks.is_null() {
            return Err(null("tasks"));
        }
        // SAFETY: not NULL, and every task begins with its size.
        let stride = unsafe { tasks.cast::<usize>().read() };
        if stride < norn_task::FIRST_SIZE || !stride.is_multiple_of(align_of::<norn_task>()) {
            return Err(Error::new(
                NORN_E_VERSION,
                format!("tasks[0].struct_size is {stride}"),
            ));
        }
        let mut batch = rt.begin_batch()?;
        for index in 0..count {
            let mut add = || -> Result<()> {
                let offset = usize::try_from(index)
                    .ok()
                    .and_then(|index| index.checked_mul(stride))
                    .ok_or_else(|| {
                        Error::new(super::status::NORN_E_INVALID, "count is impossible")
                    })?;
                // SAFETY: the caller promises `count` elements of `stride` bytes.
                let task = unsafe { tasks.cast::<u8>().add(offset).cast::<norn_task>() };
                // SAFETY: as above; each element begins with its size.
                if unsafe { task.cast::<usize>().read() } != stride {
                    return Err(Error::new(
                        NORN_E_VERSION,
                        "struct_size differs from tasks[0]'s",
                    ));
                }
                // SAFETY: passed on from the caller.
                let task = unsafe { read(task) }?;
                // SAFETY: passed on from the caller.
                let accesses = unsafe { slice(task.accesses, task.access_count, "accesses") }?;
                // SAFETY: passed on from the caller.
                let after = unsafe { slice(task.after, task.after_count, "after") }?;
                batch.check(&task, accesses, after)
            };
            add().map_err(|error| {
                Error::new(error.status(), format!("tasks[{index}]: {}", error.text()))
            })?;
        }
        let tokens = batch.submit()?;
        if !tokens_or_null.is_null() {
            for (index, token) in tokens.iter().enumerate() {
                // SAFETY: the caller promises room for `count` tokens.
                unsafe { tokens_or_null.add(index).write(*token) };
            }
        }
        Ok(())
    })
}

/// A token whose task comes later, in `norn_task.as`. Edges, `after` and awaits may use it at once, so a
/// consumer can be declared before its producer. `name`: shown in reports; borrowed as task names are; may be NULL.
/// Errors: `NORN_E_CLOSED`, `NORN_E_RESOURCE`. Any thread; never blocks.
///
/// # Safety
/// `name` outlives the runtime, `token` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_declare(
    rt: *mut norn_runtime,
    name: *const c_char,
    token: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let token = not_null(token, "token")?;
        let declared = rt.declare(name)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { token.write(declared) };
        Ok(())
    })
}

/// A token that foreign code completes, by `norn_fulfill` or `norn_fail`, from any thread.
/// `name` as for `norn_declare`. Errors: `NORN_E_CLOSED`, `NORN_E_RESOURCE`. Any thread; never blocks.
///
/// # Safety
/// `name` outlives the runtime, `token` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_promise(
    rt: *mut norn_runtime,
    name: *const c_char,
    token: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let token = not_null(token, "token")?;
        let promised = rt.promise(name)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { token.write(promised) };
        Ok(())
    })
}

/// Completes a promise. Errors: `NORN_E_INVALID` (a live token that is no promise, or `{0}`), `NORN_E_STATE` (a token that
/// has completed before, whatever it was: also by `norn_fail`, a cancel or a close).
/// Any thread, also one that norn has never seen, inside callbacks too, and beside a close; never blocks; not from
/// a signal handler.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_fulfill(rt: *mut norn_runtime, promise: norn_token) -> norn_status {
    guard(rt, || handle::waiting(rt)?.fulfill(promise))
}

/// Fails a promise with the application's `code` (not 0) and a `message` (copied; may be NULL). As `norn_fulfill` otherwise.
///
/// # Safety
/// `message` is NULL or zero-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_fail(
    rt: *mut norn_runtime,
    promise: norn_token,
    code: i32,
    message: *const c_char,
) -> norn_status {
    guard(rt, || {
        // SAFETY: passed on from the caller.
        let message = unsafe { string(message) };
        handle::waiting(rt)?.fail_promise(promise, code, message)
    })
}

/// Declares that `after` runs only after `before` has completed. `after` is a declared token not yet bound,
/// or a task submitted `NORN_HELD` and not yet started; anything else is `NORN_E_STATE`, every time. A `before` that
/// is complete is satisfied at once; one that failed fails `after` as propagated. A declared `after` waits for its
/// task even then: binding it succeeds, and only then it fails (or runs, if the task is `NORN_RUN_ALWAYS`). An edge that would close a
/// cycle is refused with `NORN_E_DEADLOCK`, and the text shows the cycle. `before == after` is `NORN_E_INVALID`.
/// Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_edge(
    rt: *mut norn_runtime,
    before: norn_token,
    after: norn_token,
) -> norn_status {
    guard(rt, || handle::runtime(rt)?.edge(before, after))
}

/// Lets a task submitted `NORN_HELD` go. Errors: `NORN_E_STATE` (not held, or started before). Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_start(rt: *mut norn_runtime, token: norn_token) -> norn_status {
    guard(rt, || handle::runtime(rt)?.start(token))
}
