//! What norn says of each token, and what the bodies saw, against the oracle.

use std::ffi::CStr;
use std::sync::atomic::Ordering::*;

use norn::abi::runtime::norn_drain;
use norn::abi::status::*;
use norn::abi::token::norn_error;
use norn::abi::types::*;

use crate::context::{Context, status_text};
use crate::oracle::{End, Expected, TaskEnd};
use crate::program::Token;
use crate::timeline::Causes;

fn record(context: &Context, token: Token) -> Option<norn_error_info> {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut info: norn_error_info = unsafe { std::mem::zeroed() };
    info.struct_size = size_of::<norn_error_info>();
    // SAFETY: the structure says its own size.
    let status = unsafe { norn_error(context.rt(), context.token(token), &mut info) };
    let known = context.expect(|| format!("norn_error({token})"), status, NORN_OK);
    if known && info.token != context.token(token) {
        context.complain(format!("norn_error({token}) speaks of another token"));
    }
    known.then_some(info)
}

/// The records of all tokens, while the runtime is open.
pub fn tokens(context: &Context, expected: &Expected) {
    for (task, end) in expected
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, end)| end.end != End::Absent)
    {
        if !context.has(Token::Task(task)) {
            continue;
        }
        let record = record(context, Token::Task(task));
        if let Some(Err(text)) = record.map(|info| task_record(context, task, end, &info)) {
            context.complain(format!("t{task}: {text}"));
        }
    }
    for (promise, end) in expected.promises.iter().enumerate() {
        let token = Token::Promise(promise);
        if !context.has(token) {
            continue;
        }
        if let Some(info) = record(context, token) {
            let right = match end {
                End::Failed(code) => info.status == NORN_E_TASK_FAILED && info.code == *code,
                End::Cancelled => info.status == NORN_E_CANCELLED,
                _ => info.status == NORN_OK,
            };
            if !right {
                context.complain(format!(
                    "{token} ended with {}, code {}, not {end:?}",
                    status_text(info.status),
                    info.code
                ));
            }
        }
    }
    for (group, causes) in expected.groups.iter().enumerate() {
        let token = Token::Group(group);
        if !context.has(token) {
            continue;
        }
        if let Some(info) = record(context, token) {
            if causes.is_empty() != (info.status == NORN_OK) {
                context.complain(format!(
                    "{token} ended with {}, causes {causes:?}",
                    status_text(info.status)
                ));
            } else if let Err(text) = cause(context, causes, &info, expected) {
                context.complain(format!("{token}: {text}"));
            }
        }
    }
}

fn task_record(
    context: &Context,
    task: usize,
    expected: &TaskEnd,
    info: &norn_error_info,
) -> Result<(), String> {
    let token = Token::Task(task);
    let said = status_text(info.status);
    match (expected.end, info.status) {
        (End::Done, NORN_OK) => {}
        (End::Failed(code), NORN_E_TASK_FAILED) if info.code == code => {
            own_cause(context, token, info, NORN_E_TASK_FAILED)?;
        }
        (End::Cancelled, NORN_E_CANCELLED) => own_cause(context, token, info, NORN_E_CANCELLED)?,
        (End::Propagated, NORN_E_PROPAGATED) => {
            let causes = expected.causes.union(&expected.or_from).copied().collect();
            named(context, &causes, info)?;
        }
        (_, NORN_E_PROPAGATED) if !expected.or_from.is_empty() => {
            named(context, &expected.or_from, info)?
        }
        (end, _) => {
            return Err(format!(
                "ended with {said}, code {}, not {end:?} {:?}",
                info.code, expected.causes
            ));
        }
    }
    let seen = &context.tasks[task];
    let started = seen.started.load(Acquire);
    let loose = !expected.or_from.is_empty() && info.status == NORN_E_PROPAGATED;
    if started != u32::from(expected.ran) && !(loose && started == 0) {
        return Err(format!("{said}, and its body ran {started} times"));
    }
    Ok(())
}

fn own_cause(
    context: &Context,
    token: Token,
    info: &norn_error_info,
    status: norn_status,
) -> Result<(), String> {
    if info.cause != context.token(token) || info.cause_status != status {
        return Err(format!(
            "its own cause is given as {:?}, {}",
            info.cause,
            status_text(info.cause_status)
        ));
    }
    Ok(())
}

fn named(context: &Context, causes: &Causes, info: &norn_error_info) -> Result<(), String> {
    let Some(cause) = causes
        .iter()
        .find(|cause| context.token(**cause) == info.cause)
    else {
        let all = (0..context.tasks.len())
            .map(Token::Task)
            .chain((0..context.promises.len()).map(Token::Promise));
        let known = |token: &Token| match token {
            Token::Task(task) => context.tasks[*task].token.load(Acquire) == info.cause.id,
            Token::Promise(promise) => context.promises[*promise].load(Acquire) == info.cause.id,
            _ => false,
        };
        let named = all
            .into_iter()
            .find(known)
            .map_or("an unknown token".to_string(), |token| token.to_string());
        return Err(format!("blames {named}, not one of {causes:?}"));
    };
    if let Token::Task(task) = cause {
        // SAFETY: norn terminates the text within the array.
        let name = unsafe { CStr::from_ptr(info.task.as_ptr()) };
        if name != context.names[*task].as_c_str() {
            return Err(format!("blames {cause} and calls it {name:?}"));
        }
    }
    Ok(())
}

fn cause(
    context: &Context,
    causes: &Causes,
    info: &norn_error_info,
    expected: &Expected,
) -> Result<(), String> {
    if causes.is_empty() {
        return Ok(());
    }
    named(context, causes, info)?;
    let cancelled = |token: &Token| match token {
        Token::Task(task) => expected.tasks[*task].end == End::Cancelled,
        Token::Promise(promise) => expected.promises[*promise] == End::Cancelled,
        Token::Group(_) => true,
        Token::Zero => false,
    };
    let right = |token: &Token| {
        let status = if cancelled(token) {
            NORN_E_CANCELLED
        } else {
            NORN_E_TASK_FAILED
        };
        context.token(*token) == info.cause && info.cause_status == status
    };
    if causes.iter().any(right) {
        Ok(())
    } else {
        Err(format!("cause status {}", status_text(info.cause_status)))
    }
}

/// What the bodies saw and how often callbacks came, once the runtime is closed.
pub fn after_close(context: &Context, expected: &Expected, granted: &[(bool, u64, u64)]) {
    // A run that stopped halfway has complained already.
    if !context
        .complaints
        .lock()
        .expect("no panic holds it")
        .is_empty()
    {
        return;
    }
    for (task, end) in expected.tasks.iter().enumerate() {
        let seen = &context.tasks[task];
        let (started, drops, out) = (
            seen.started.load(Acquire),
            seen.drops.load(Acquire),
            seen.out.load(Acquire),
        );
        let submitted = end.end != End::Absent;
        let loose = !end.or_from.is_empty();
        if drops != u32::from(submitted) {
            context.complain(format!("t{task} ({:?}): {drops} drops", end.end));
        }
        if started != u32::from(end.ran) && !(loose && started == 0) {
            context.complain(format!("t{task} ({:?}) ran {started} times", end.end));
        } else if started == 1 && end.out.is_some_and(|right| right != out) {
            context.complain(format!("t{task} saw something else than in sequence"));
        }
        let main = context.program.tasks[task].parent.is_none();
        if context.setup.watch && main && submitted {
            let (count, status) = (
                seen.callbacks.load(Acquire),
                seen.callback_status.load(Acquire),
            );
            let right = match end.end {
                End::Failed(_) => NORN_E_TASK_FAILED,
                End::Propagated => NORN_E_PROPAGATED,
                End::Cancelled => NORN_E_CANCELLED,
                _ => NORN_OK,
            };
            if count != 1 || status != right && !loose {
                context.complain(format!(
                    "t{task}: {count} completion callbacks, the last with {}",
                    status_text(status)
                ));
            }
        }
    }
    for (hold, (right, found)) in expected.holds.iter().zip(granted).enumerate() {
        if right.0 != found.0 || found.0 && right.1.is_some_and(|value| value != found.1) {
            context.complain(format!(
                "h{hold} was granted: {}, expected: {}, or saw something else",
                found.0, right.0
            ));
        }
    }
    for (root, words) in expected.words.iter().enumerate() {
        for (word, (value, causes)) in words.iter().enumerate() {
            let found = context.own_contents(root, word);
            let wrong = found
                .zip(*value)
                .is_some_and(|(found, value)| found != value);
            if causes.is_empty() && wrong {
                context.complain(format!(
                    "d{}, word {word} is {found:x?} after close",
                    context.program.roots[root].handle
                ));
            }
        }
    }
    // SAFETY: always safe to call; a stale handle gives a status.
    let status = unsafe { norn_drain(context.rt(), 0) };
    context.expect(|| "norn_drain after close".into(), status, NORN_E_INVALID);
}
