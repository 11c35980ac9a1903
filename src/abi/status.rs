//! Status codes: one signed number for every call, and their names.
//!
//! Numbers are grouped by what is wrong, gaps are kept for growth, and a number
//! is never given a second meaning. The constants are written out because
//! cbindgen reads them; a test keeps the table of names complete.

use core::ffi::CStr;

/// Result of every norn call: `NORN_OK` (0) or one of the negative `NORN_E_*`
/// codes. Outputs are written only when the result is `NORN_OK`.
#[allow(non_camel_case_types)] // C spelling, read by cbindgen
pub type norn_status = i32;

// The call itself.

/// Success.
pub const NORN_OK: norn_status = 0;
/// A handle, pointer, token or value that norn never issued, of another runtime, or out of
/// range. The text of `norn_last_error` names the culprit.
pub const NORN_E_INVALID: norn_status = -1;
/// A right argument at the wrong time: an edge to a task that has already been let go, a
/// group closed twice, a promise fulfilled twice.
pub const NORN_E_STATE: norn_status = -2;
/// The memory overlaps another datum and NORN_ALIAS was not given.
pub const NORN_E_OVERLAP: norn_status = -3;
/// A NORN_CHILD task asks for an access that its parent does not hold.
pub const NORN_E_UNCOVERED: norn_status = -4;
/// The header the caller was compiled with is newer than this library, or a `struct_size`
/// is unknown to it.
pub const NORN_E_VERSION: norn_status = -5;
/// A malformed or unknown `NORN_*` environment variable, or a configuration field out of
/// range.
pub const NORN_E_CONFIG: norn_status = -6;
/// The call is not allowed from this thread.
pub const NORN_E_THREAD: norn_status = -7;

// What norn needs from its surroundings.

/// A limit of norn's own was reached: threads, live tokens, runtimes.
pub const NORN_E_RESOURCE: norn_status = -20;
/// The system gave no memory.
pub const NORN_E_MEMORY: norn_status = -21;
/// This build, machine or process lacks the part that the call needs (no device, no MPI).
pub const NORN_E_UNSUPPORTED: norn_status = -22;
/// The process is a forked child of the one that opened the runtime.
pub const NORN_E_FORKED: norn_status = -23;
/// The runtime, group or world is closed or closing; also the failure of tokens still
/// unbound at close.
pub const NORN_E_CLOSED: norn_status = -24;
/// A system call failed; the text holds its name and reason.
pub const NORN_E_SYSTEM: norn_status = -25;

// Waiting.

/// The time given has passed; nothing was changed.
pub const NORN_E_TIMEOUT: norn_status = -40;
/// The calling task waits for something that cannot come before the task itself ends.
pub const NORN_E_WOULD_DEADLOCK: norn_status = -41;
/// A cycle, or tokens that nobody can complete any more; the text lists them. The report
/// changes nothing.
pub const NORN_E_DEADLOCK: norn_status = -42;
/// The task has started, been issued or completed; a running body can see the request in
/// `norn_self_info.cancelled`.
pub const NORN_E_TOO_LATE: norn_status = -43;

// How a task ended.

/// The awaited task failed itself; `norn_error` has its record.
pub const NORN_E_TASK_FAILED: norn_status = -60;
/// What was awaited did not succeed because something it depends on failed, and as a task did not run; the record points
/// to the first cause.
pub const NORN_E_PROPAGATED: norn_status = -61;
/// The awaited task was cancelled before it started.
pub const NORN_E_CANCELLED: norn_status = -62;

// Worlds (MPI).

/// Two threads declared ordered edges of the same pair of ranks.
pub const NORN_E_ORDER: norn_status = -80;
/// A cycle runs through tags that two edges share; the text names the setting that widens
/// the window.
pub const NORN_E_TAGS: norn_status = -81;
/// An MPI call failed; the text is MPI's own.
pub const NORN_E_MPI: norn_status = -82;
/// Two ranks disagree about a message or a collective.
pub const NORN_E_MISMATCH: norn_status = -83;

// Devices.

/// A device call failed; the text is the driver's own.
pub const NORN_E_DEVICE: norn_status = -100;

// norn itself.

/// A defect in norn was caught at the boundary; the runtime is poisoned and only
/// `norn_close` remains useful: waits end with this status, eventfds become readable,
/// nothing more runs or is dropped. Please report the text.
pub const NORN_E_INTERNAL: norn_status = -120;

/// Every status with its C name and one sentence, in the order of the numbers.
pub(crate) const STATUSES: &[(norn_status, &CStr, &str)] = &[
    (NORN_OK, c"NORN_OK", "success"),
    (NORN_E_INVALID, c"NORN_E_INVALID", "invalid argument"),
    (NORN_E_STATE, c"NORN_E_STATE", "not possible in this state"),
    (
        NORN_E_OVERLAP,
        c"NORN_E_OVERLAP",
        "memory overlaps another datum",
    ),
    (
        NORN_E_UNCOVERED,
        c"NORN_E_UNCOVERED",
        "access not covered by the parent task",
    ),
    (
        NORN_E_VERSION,
        c"NORN_E_VERSION",
        "header and library do not fit",
    ),
    (NORN_E_CONFIG, c"NORN_E_CONFIG", "bad configuration"),
    (NORN_E_THREAD, c"NORN_E_THREAD", "wrong thread"),
    (NORN_E_RESOURCE, c"NORN_E_RESOURCE", "limit reached"),
    (NORN_E_MEMORY, c"NORN_E_MEMORY", "out of memory"),
    (
        NORN_E_UNSUPPORTED,
        c"NORN_E_UNSUPPORTED",
        "not supported here",
    ),
    (NORN_E_FORKED, c"NORN_E_FORKED", "called in a forked child"),
    (NORN_E_CLOSED, c"NORN_E_CLOSED", "closed"),
    (NORN_E_SYSTEM, c"NORN_E_SYSTEM", "system call failed"),
    (NORN_E_TIMEOUT, c"NORN_E_TIMEOUT", "timed out"),
    (
        NORN_E_WOULD_DEADLOCK,
        c"NORN_E_WOULD_DEADLOCK",
        "the caller would wait for itself",
    ),
    (NORN_E_DEADLOCK, c"NORN_E_DEADLOCK", "deadlock"),
    (NORN_E_TOO_LATE, c"NORN_E_TOO_LATE", "too late"),
    (NORN_E_TASK_FAILED, c"NORN_E_TASK_FAILED", "task failed"),
    (
        NORN_E_PROPAGATED,
        c"NORN_E_PROPAGATED",
        "a predecessor failed",
    ),
    (NORN_E_CANCELLED, c"NORN_E_CANCELLED", "cancelled"),
    (
        NORN_E_ORDER,
        c"NORN_E_ORDER",
        "ordered edges declared by two threads",
    ),
    (
        NORN_E_TAGS,
        c"NORN_E_TAGS",
        "tag window too small for this graph",
    ),
    (NORN_E_MPI, c"NORN_E_MPI", "MPI error"),
    (NORN_E_MISMATCH, c"NORN_E_MISMATCH", "ranks disagree"),
    (NORN_E_DEVICE, c"NORN_E_DEVICE", "device error"),
    (NORN_E_INTERNAL, c"NORN_E_INTERNAL", "internal error"),
];

/// Name of a status; `NORN_E_UNKNOWN` for a number that is none.
pub(crate) fn status_name(status: norn_status) -> &'static CStr {
    STATUSES
        .iter()
        .find(|(code, ..)| *code == status)
        .map_or(c"NORN_E_UNKNOWN", |(_, name, _)| name)
}

/// One sentence for a status, used where a call has nothing better to say.
pub(crate) fn status_text(status: norn_status) -> &'static str {
    STATUSES
        .iter()
        .find(|(code, ..)| *code == status)
        .map_or("unknown status", |(_, _, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_constant_of_this_file_once() {
        let constants = include_str!("status.rs")
            .lines()
            .filter(|line| line.starts_with("pub const NORN_"))
            .count();
        assert_eq!(constants, STATUSES.len());
        assert!(
            STATUSES.windows(2).all(|pair| pair[0].0 > pair[1].0),
            "numbers fall, none twice"
        );
    }
}
