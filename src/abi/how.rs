//! `how` of operations that norn carries out itself: a task without a body.

use super::guard::Sized0;
use super::status::NORN_E_INVALID;
use super::types::{NORN_COPY_ARG, norn_task};
use crate::error::{Error, Result};

/// Refuses what belongs to a body: left unread, it would be lost without a word (`drop` would never run).
#[inline]
pub(super) fn check_bodiless(how: &norn_task) -> Result<()> {
    let given = how.run.map_or(0, |run| run as usize)
        | how.enqueue.map_or(0, |enqueue| enqueue as usize)
        | how.arg as usize
        | how.drop.map_or(0, |drop| drop as usize)
        | (how.flags & NORN_COPY_ARG | how.arg_bytes) as usize;
    match given {
        0 => Ok(()),
        _ => Err(body_given(how)),
    }
}

/// Names the field of a body that was given.
#[cold]
fn body_given(how: &norn_task) -> Error {
    let body = [
        (how.run.is_some(), "run"),
        (how.enqueue.is_some(), "enqueue"),
        (!how.arg.is_null(), "arg"),
        (how.drop.is_some(), "drop"),
        (how.flags & NORN_COPY_ARG != 0, "flags (NORN_COPY_ARG)"),
        (how.arg_bytes != 0, "arg_bytes"),
    ];
    let field = body.iter().find(|(given, _)| *given);
    refusal(
        field.map_or("run", |(_, field)| field),
        "it belongs to the body of a task, and this operation has none",
    )
}

/// As `check_bodiless`, for operations between ranks, which no stream of the application's carries.
pub(super) fn check_streamless(how: &norn_task) -> Result<()> {
    check_bodiless(how)?;
    match how.stream.is_null() {
        true => Ok(()),
        false => Err(refusal(
            "stream",
            "messages and collectives go over no stream; make them wait for it with norn_stream_record",
        )),
    }
}

fn refusal(field: &str, why: &str) -> Error {
    Error::new(
        NORN_E_INVALID,
        format!("how: {}.{field} must be zero: {why}", norn_task::NAME),
    )
}
