//! Bodies and callbacks as norn calls them, and the foreign thread.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering::*;
use std::sync::mpsc::Receiver;

use norn::abi::body::*;
use norn::abi::status::*;
use norn::abi::token::*;
use norn::abi::types::*;

use crate::context::{Arg, Context, Errand, last_error, status_text};
use crate::program::{self, Mode, Reduction, Step, Token, mix};

/// # Safety
/// `arg` is an `Arg` of a context that outlives the runtime.
unsafe fn argument<'a>(arg: *mut c_void) -> (&'a Context, usize) {
    // SAFETY: promised by the caller.
    let arg = unsafe { &*arg.cast::<Arg>() };
    // SAFETY: the context outlives the runtime.
    (unsafe { &*arg.context }, arg.index)
}

pub unsafe extern "C" fn body(self_: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: every task is submitted with such an argument.
    let (context, task) = unsafe { argument(arg) };
    let seen = &context.tasks[task];
    if seen.started.fetch_add(1, AcqRel) != 0 {
        context.complain(format!("t{task} ran twice"));
    }
    seen.in_body.store(1, Release);
    let code = context.perform(self_, task);
    seen.in_body.store(0, Release);
    code
}

pub unsafe extern "C" fn dropped(arg: *mut c_void) {
    // SAFETY: every task is submitted with such an argument.
    let (context, task) = unsafe { argument(arg) };
    let seen = &context.tasks[task];
    if seen.in_body.load(Acquire) != 0 {
        context.complain(format!("t{task}: drop during the body"));
    }
    if seen.drops.fetch_add(1, AcqRel) != 0 {
        context.complain(format!("t{task}: drop twice"));
    }
}

/// Counts the completions of a task.
pub unsafe extern "C" fn watched(arg: *mut c_void, _token: norn_token, status: norn_status) {
    // SAFETY: it is registered with a task's argument.
    let (context, task) = unsafe { argument(arg) };
    let seen = &context.tasks[task];
    seen.callback_status.store(status, Release);
    if seen.callbacks.fetch_add(1, AcqRel) != 0 {
        context.complain(format!("t{task}: completion callback twice"));
    }
    if seen.drops.load(Acquire) != 1 {
        context.complain(format!("t{task}: completion callback before drop"));
    }
}

/// Resolves a promise when some token completes.
pub unsafe extern "C" fn resolve(arg: *mut c_void, _token: norn_token, _status: norn_status) {
    // SAFETY: it is registered with a promise's argument.
    let (context, promise) = unsafe { argument(arg) };
    context.resolve(promise);
}

pub unsafe extern "C" fn identity(copy: *mut c_void, bytes: u64, arg: *mut c_void) {
    let reduction = reduction(arg);
    // SAFETY: norn passes a private copy of `bytes` bytes, a multiple of eight.
    let copy = unsafe { std::slice::from_raw_parts_mut(copy.cast::<u64>(), bytes as usize / 8) };
    for (word, value) in copy.iter_mut().enumerate() {
        *value = program::identity(reduction, word);
    }
}

pub unsafe extern "C" fn combine(
    into: *mut c_void,
    from: *const c_void,
    bytes: u64,
    arg: *mut c_void,
) {
    // SAFETY: norn passes two different copies of `bytes` bytes.
    let (into, from) = unsafe {
        (
            std::slice::from_raw_parts_mut(into.cast::<u64>(), bytes as usize / 8),
            std::slice::from_raw_parts(from.cast::<u64>(), bytes as usize / 8),
        )
    };
    program::combine(reduction(arg), into, from);
}

fn reduction(arg: *mut c_void) -> Reduction {
    if arg as usize == Reduction::Affine as usize {
        Reduction::Affine
    } else {
        Reduction::Tree
    }
}

pub unsafe extern "C" fn log(arg: *mut c_void, level: i32, text: *const c_char) {
    // SAFETY: the runtime is opened with its context, and passes a zero-terminated text.
    let (context, text) = unsafe { (&*arg.cast::<Context>(), CStr::from_ptr(text)) };
    if level <= NORN_LOG_WARN {
        context
            .log
            .lock()
            .expect("no panic holds it")
            .push(text.to_string_lossy().into_owned());
    }
}

/// The foreign thread: one that norn did not make.
pub fn foreign(context: &Context, errands: &Receiver<Errand>) {
    for errand in errands {
        context.pause();
        match errand {
            Errand::Resolve(promise) => context.resolve(promise),
            Errand::Unhold { task, token, holds } => {
                for left in (0..holds).rev() {
                    if left == 0 {
                        context.tasks[task].held.store(1, Release);
                    }
                    // SAFETY: always safe to call.
                    let status = unsafe { norn_unhold(context.rt(), token, 1) };
                    context.expect(
                        || format!("the foreign thread's norn_unhold(t{task})"),
                        status,
                        NORN_OK,
                    );
                }
            }
        }
    }
}

impl Context {
    fn perform(&self, self_: *mut norn_self, task: usize) -> i32 {
        // SAFETY: all zero is a valid value of this plain structure.
        let mut info: norn_self_info = unsafe { std::mem::zeroed() };
        info.struct_size = size_of::<norn_self_info>();
        // SAFETY: `info` says its own size.
        let status = unsafe { norn_self_get(self_, &mut info) };
        self.expect(|| format!("norn_self_get in t{task}"), status, NORN_OK);
        let known = self.tasks[task].token.load(Acquire);
        if info.token.id == 0 || known != 0 && known != info.token.id {
            self.complain(format!(
                "t{task} is {known:#x} and its body says {:#x}",
                info.token.id
            ));
        }
        if info.runtime != self.rt() || info.cancelled != 0 {
            self.complain(format!("t{task}: runtime or cancelled of norn_self_get"));
        }

        let plan = &self.program.tasks[task];
        let mut hash = mix(self.program.seed, task as u64 + 1);
        for token in plan.predecessors() {
            hash = mix(hash, self.seen(token));
        }
        let mut released = Vec::new();
        for step in &plan.steps {
            match step {
                Step::Touch => {
                    let open = self.merged[task]
                        .iter()
                        .filter(|access| !released.contains(&access.data));
                    let open: Vec<_> = open.copied().collect();
                    self.check_pointers(&open);
                    hash = self.touch(&format!("t{task}"), hash, &open);
                }
                Step::Await(token) => hash = self.awaited(hash, &[*token]),
                Step::AwaitAll(tokens) => hash = self.awaited(hash, tokens),
                Step::AwaitAny(tokens) => self.await_any(task, tokens),
                Step::Refused(nested) => {
                    // SAFETY: always safe to call.
                    let status =
                        unsafe { norn_await(self.rt(), self.token(Token::Task(*nested)), -1) };
                    self.expect(
                        || format!("t{task} awaits t{nested}, which waits for it: norn_await"),
                        status,
                        NORN_E_WOULD_DEADLOCK,
                    );
                }
                Step::Release(data) => {
                    released.push(*data);
                    if self.setup.plant == Some((task, *data)) {
                        continue;
                    }
                    // SAFETY: the body does not touch the datum again.
                    let status = unsafe { norn_self_release(self_, self.datum(*data)) };
                    self.expect(
                        || format!("norn_self_release(d{data}) in t{task}"),
                        status,
                        NORN_OK,
                    );
                }
                Step::Submit(nested) => {
                    self.submit(&[*nested]);
                }
                Step::Hold { holds, own } => self.hold(self_, task, info.token, *holds, *own),
                Step::Resolve(promise) => self.resolve(*promise),
                Step::Fail(code) => {
                    self.tasks[task].out.store(mix(hash, *code as u64), Release);
                    return match code & 2 {
                        0 => *code,
                        // SAFETY: the message is a zero-terminated constant.
                        _ => unsafe { norn_self_fail(self_, *code, c"as planned".as_ptr()) },
                    };
                }
            }
            self.pause();
        }
        self.tasks[task].out.store(hash, Release);
        0
    }

    /// The address norn gives for a whole datum is the one we know.
    fn check_pointers(&self, accesses: &[program::Access]) {
        for access in accesses.iter().filter(|access| access.mode != Mode::Reduce) {
            let handle = &self.program.handles[access.data];
            if handle.piece.is_some() || fastrand::u32(..4) != 0 {
                continue;
            }
            let root = &self.program.roots[handle.root];
            let expected = match root.storage {
                program::Storage::Name => (0, 0),
                _ => (self.bases[handle.root].load(Acquire), 8 * root.words as u64),
            };
            let pointer = self.pointer(access.data);
            if pointer != expected {
                self.complain(format!(
                    "norn_data_pointer(d{}): {pointer:x?}, not {expected:x?}",
                    access.data
                ));
            }
        }
    }

    fn hold(&self, self_: *mut norn_self, task: usize, token: norn_token, holds: u32, own: u32) {
        // SAFETY: always safe to call.
        let status = unsafe { norn_self_hold(self_, holds) };
        if !self.expect(|| format!("norn_self_hold in t{task}"), status, NORN_OK) {
            return;
        }
        for _ in 0..own {
            // SAFETY: always safe to call.
            let status = unsafe { norn_unhold(self.rt(), token, 1) };
            self.expect(|| format!("norn_unhold in t{task}"), status, NORN_OK);
        }
        if holds > own {
            self.send(Errand::Unhold {
                task,
                token,
                holds: holds - own,
            });
        }
    }

    /// What an await says, as the oracle numbers it.
    fn class(&self, token: Token, status: norn_status) -> u64 {
        match (token, status) {
            (_, NORN_OK) => 0,
            (Token::Group(_), NORN_E_TASK_FAILED | NORN_E_PROPAGATED | NORN_E_CANCELLED) => 2,
            (_, NORN_E_TASK_FAILED) => 1,
            (_, NORN_E_PROPAGATED) => 2,
            (_, NORN_E_CANCELLED) => 3,
            _ => {
                self.complain(format!(
                    "awaiting {token} in a body: {} ({})",
                    status_text(status),
                    last_error()
                ));
                9
            }
        }
    }

    fn limit(&self) -> i64 {
        let patience = self.setup.body_patience;
        patience.map_or(-1, |patience| patience.as_nanos() as i64)
    }

    fn awaited(&self, mut hash: u64, tokens: &[Token]) -> u64 {
        let limit = self.limit();
        let ids: Vec<norn_token> = tokens.iter().map(|token| self.token(*token)).collect();
        // SAFETY: the array is as long as said.
        let status = unsafe {
            match ids.as_slice() {
                [token] => norn_await(self.rt(), *token, limit),
                many => norn_await_all(self.rt(), many.as_ptr(), many.len() as u64, limit),
            }
        };
        // How the first failed one in the array ended.
        let ends = tokens
            .iter()
            .zip(&ids)
            .map(|(token, id)| (*token, self.ended(*id)));
        let (token, end) = ends
            .into_iter()
            .find(|(_, end)| *end != NORN_OK)
            .unwrap_or((Token::Zero, NORN_OK));
        if end != status {
            self.complain(format!(
                "awaiting {tokens:?} said {}, not {}",
                status_text(status),
                status_text(end)
            ));
        }
        let class = self.class(token, end);
        for token in tokens {
            self.check_dropped(*token);
            hash = mix(hash, self.seen(*token));
        }
        mix(hash, class)
    }

    /// How a token that is complete ended.
    pub fn ended(&self, token: norn_token) -> norn_status {
        // SAFETY: always safe to call.
        unsafe { norn_await(self.rt(), token, 0) }
    }

    /// What shows complete has dropped its argument.
    pub fn check_dropped(&self, token: Token) {
        if let Token::Task(task) = token {
            let drops = self.tasks[task].drops.load(Acquire);
            if drops != 1 {
                self.complain(format!("t{task} shows complete after {drops} drops"));
            }
        }
    }

    fn await_any(&self, task: usize, tokens: &[Token]) {
        let ids: Vec<norn_token> = tokens.iter().map(|token| self.token(*token)).collect();
        let mut index = u64::MAX;
        // SAFETY: the array is as long as said, the index writable.
        let status = unsafe {
            norn_await_any(
                self.rt(),
                ids.as_ptr(),
                ids.len() as u64,
                self.limit(),
                &mut index,
            )
        };
        let Some(token) = tokens.get(index as usize) else {
            return self.complain(format!(
                "norn_await_any in t{task}: {} and index {index}",
                status_text(status)
            ));
        };
        if self.ended(ids[index as usize]) != status {
            self.complain(format!(
                "norn_await_any in t{task}: {token} did not end with {}",
                status_text(status)
            ));
        }
        self.check_dropped(*token);
    }
}
