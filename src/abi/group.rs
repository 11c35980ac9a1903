//! Groups of tasks.

use core::ffi::c_char;

use super::guard::{guard, not_null};
use super::handle;
use super::status::norn_status;
use super::types::*;

/// Opens a group. `parent`: a group it is a member of, or `{0}`. `done` may be used at once: it completes after
/// `norn_group_close`, when all members have, and fails with the first member's failure. Cancelling `done` cancels
/// the members. `name` is borrowed as task names are; may be NULL. Errors: `NORN_E_CLOSED` (runtime or parent),
/// `NORN_E_RESOURCE`. Any thread; never blocks.
///
/// # Safety
/// `name` outlives the runtime; `group` and `done` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_group_open(
    rt: *mut norn_runtime,
    name: *const c_char,
    parent: norn_group,
    group: *mut norn_group,
    done: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let group = not_null(group, "group")?;
        let done = not_null(done, "done")?;
        let (opened, token) = rt.group_open(name, parent)?;
        // SAFETY: not NULL, and the caller promises both are writable.
        unsafe {
            group.write(opened);
            done.write(token);
        }
        Ok(())
    })
}

/// Says that no more members come from outside the group; members may still submit members of it while they run.
/// `done` completes when all have. Errors: `NORN_E_STATE` (closed before). Any thread; never blocks.
///
/// # Safety
/// Always safe to call; garbage gives a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_group_close(rt: *mut norn_runtime, group: norn_group) -> norn_status {
    guard(rt, || handle::runtime(rt)?.group_close(group))
}
