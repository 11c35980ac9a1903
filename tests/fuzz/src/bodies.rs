//! What tasks do when they run: touch their data, make calls, end with a code.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::*;
use std::sync::mpsc::{Sender, channel};

use norn::abi::body::*;
use norn::abi::data::norn_data_pointer;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;

use crate::fate;
use crate::model::{Kind, Node};
use crate::run::{Arg, Run, Track};
use crate::task;

/// Calls that a body makes. Numbers choose among what there is when it runs.
#[derive(Clone, Debug)]
pub enum Act {
    Release(usize),
    /// The body takes its holds off itself, or a thread does that norn has never seen.
    Hold {
        count: u32,
        own: bool,
    },
    Child {
        plan: Box<Plan>,
        datum: usize,
        mode: usize,
        after: Option<usize>,
        wait: bool,
    },
    Task {
        plan: Box<Plan>,
        datum: usize,
        mode: usize,
        after: Option<usize>,
    },
    AwaitShort(usize),
    Cancel(usize),
    Keep {
        promise: usize,
        fails: bool,
    },
    Ask(usize),
    /// Calls that are wrong inside a task.
    Wrong,
    StraySelf,
    Progress,
}

#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub code: i32,
    pub acts: Vec<Act>,
}

impl Plan {
    pub fn nests(&self) -> bool {
        self.acts.iter().any(|act| matches!(act, Act::Child { .. }))
    }
    pub fn submits(&self) -> bool {
        let submits = |act: &Act| matches!(act, Act::Child { .. } | Act::Task { .. });
        self.acts.iter().any(submits)
    }
    pub fn fails(&self) -> bool {
        let inner = |act: &Act| match act {
            Act::Child { plan, .. } | Act::Task { plan, .. } => plan.fails(),
            Act::Cancel(_) => true,
            Act::Keep { fails, .. } => *fails,
            _ => false,
        };
        self.code != 0 || self.acts.iter().any(inner)
    }
}

/// What a writer makes of a word.
pub fn written(mode: i32, old: u64, node: usize) -> u64 {
    let own = (node as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match mode {
        NORN_READ => old,
        NORN_WRITE => own,
        NORN_READ_WRITE => old.wrapping_mul(31).wrapping_add(own),
        _ => old.wrapping_add(own),
    }
}

pub unsafe extern "C" fn identity(copy: *mut c_void, bytes: u64, _: *mut c_void) {
    // SAFETY: norn passes so many bytes.
    unsafe { copy.cast::<u8>().write_bytes(0, bytes as usize) };
}

pub unsafe extern "C" fn combine(
    into: *mut c_void,
    from: *const c_void,
    bytes: u64,
    _: *mut c_void,
) {
    for word in 0..bytes as usize / 8 {
        // SAFETY: both have so many bytes, aligned as the words of the datum are.
        unsafe {
            let sum = (*into.cast::<u64>().add(word)).wrapping_add(*from.cast::<u64>().add(word));
            into.cast::<u64>().add(word).write(sum);
        }
    }
}

pub unsafe extern "C" fn dropped(arg: *mut c_void) {
    // SAFETY: every task's argument is an `Arg` of a run that is not over.
    let (run, track) = unsafe { &*arg.cast::<Arg>() }.parts();
    if track.drops.fetch_add(1, SeqCst) != 0 {
        run.complain("a drop ran twice");
    }
    if track.started.load(SeqCst) != 0 && track.ended.load(SeqCst) == 0 {
        run.complain("a drop ran before the end of its body");
    }
}

impl Arg {
    fn parts(&self) -> (&Run, &Track) {
        // SAFETY: a run outlives its runtime.
        let run = unsafe { &*self.run };
        (run, &run.tracks[self.track])
    }
}

pub unsafe extern "C" fn body(self_: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: as in `dropped`.
    let (run, track) = unsafe { &*arg.cast::<Arg>() }.parts();
    if track.runs.fetch_add(1, SeqCst) != 0 {
        run.complain("a body ran twice");
    }
    if track.drops.load(SeqCst) != 0 {
        run.complain("a body ran after its drop");
    }
    track.started.store(run.tick(), SeqCst);
    // The submitter holds the model until it knows the token.
    drop(run.model());
    let node = track.node.load(SeqCst);
    touch(run, node);
    let plan = track.plan.get().expect("it was set before the submit");
    crate::watch::note(|| format!("node {node} runs: {plan:?}"));
    let mut released = Vec::new();
    for act in &plan.acts {
        perform(run, self_, node, act, &mut released);
    }
    track.ended.store(run.tick(), SeqCst);
    crate::watch::note(|| format!("node {node} ends with {}", plan.code));
    if plan.code == 0 {
        return 0;
    }
    // SAFETY: the body's own handle, on its thread.
    unsafe { norn_self_fail(self_, plan.code, c"asked to fail".as_ptr()) }
}

/// Reads and writes what the task has declared.
pub fn touch(run: &Run, node: usize) {
    let places = run.model().nodes[node].places.clone();
    for place in places {
        let (place_now, datum) = {
            let model = run.model();
            let place = model.places[place].clone();
            let datum = model.data[place.datum].clone();
            (place, datum)
        };
        let mode = place_now.mode;
        let mut base = datum.base;
        if datum.alive && datum.id != 0 {
            let (mut pointer, mut bytes) = (null_mut(), 0);
            // SAFETY: the outputs are writable.
            let status = unsafe {
                norn_data_pointer(
                    run.rt(),
                    norn_data { id: datum.id },
                    &mut pointer,
                    &mut bytes,
                )
            };
            // The handle of a piece may be joined away meanwhile, in another thread.
            run.expect(
                "norn_data_pointer in a body",
                status,
                &[NORN_OK, NORN_E_INVALID],
            );
            if status == NORN_OK && mode == NORN_REDUCE {
                base = pointer as usize;
            } else if status == NORN_OK && pointer as usize != base {
                run.complain("norn_data_pointer gives another address");
            } else if status != NORN_OK && mode == NORN_REDUCE {
                run.complain("a datum under reduction has no address");
            }
        }
        let mut saw = Vec::new();
        for word in &place_now.words {
            let address = (base + 8 * (word - datum.words.start)) as *mut u64;
            let alone = mode != NORN_REDUCE;
            if alone {
                run.enter(*word, mode != NORN_READ);
            }
            // SAFETY: the word is inside the datum, and norn has given this body the access.
            unsafe {
                let old = if mode == NORN_WRITE {
                    0
                } else {
                    address.read()
                };
                saw.push(old);
                if mode != NORN_READ {
                    address.write(written(mode, old, node));
                }
            }
            if alone {
                run.leave(*word, mode != NORN_READ);
            }
        }
        run.model().places[place].saw = Some(saw);
    }
}

/// Takes holds off tasks, on a thread that norn has never seen.
fn foreign() -> &'static Sender<(usize, u64, u32)> {
    static FOREIGN: OnceLock<Sender<(usize, u64, u32)>> = OnceLock::new();
    FOREIGN.get_or_init(|| {
        let (sender, orders) = channel();
        std::thread::spawn(move || {
            for (rt, id, count) in orders {
                // SAFETY: garbage gives a status.
                let status =
                    unsafe { norn_unhold(rt as *mut norn_runtime, norn_token { id }, count) };
                if status != NORN_OK {
                    let said = crate::run::last_error();
                    let what = format!("norn_unhold from a foreign thread gave {status} ({said})");
                    crate::watch::end(&what, rt as *mut norn_runtime);
                }
            }
        });
        sender
    })
}

fn self_info(run: &Run, self_: *mut norn_self) -> norn_self_info {
    // SAFETY: numbers and pointers, for which zero is valid.
    let mut info: norn_self_info = unsafe { std::mem::zeroed() };
    info.struct_size = size_of::<norn_self_info>();
    // SAFETY: the structure is as long as it says.
    let status = unsafe { norn_self_get(self_, &mut info) };
    run.expect("norn_self_get", status, &[NORN_OK]);
    info
}

/// What a body may hear from a wait that has a limit.
const WAITS: [norn_status; 9] = [
    NORN_OK,
    NORN_E_TASK_FAILED,
    NORN_E_PROPAGATED,
    NORN_E_CANCELLED,
    NORN_E_CLOSED,
    NORN_E_TIMEOUT,
    NORN_E_WOULD_DEADLOCK,
    NORN_E_DEADLOCK,
    NORN_E_RESOURCE,
];

fn perform(run: &Run, self_: *mut norn_self, node: usize, act: &Act, released: &mut Vec<usize>) {
    let rt = run.rt();
    match act {
        Act::Release(which) => {
            let mut model = run.model();
            let places = model.nodes[node].places.clone();
            let Some(place) = places.get(which % (places.len() + 1)).copied() else {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_self_release(self_, norn_data { id: 3 }) };
                return run.expect_error("norn_self_release of garbage", status);
            };
            let datum = model.places[place].datum;
            let used = model.nodes[node].children.iter().any(|child| {
                model.nodes[*child].places.iter().any(|inner| {
                    let inner = &model.places[*inner].words;
                    inner
                        .iter()
                        .any(|word| model.places[place].words.contains(word))
                })
            });
            let allowed: &[norn_status] = if released.contains(&place) {
                &[NORN_E_STATE]
            } else if !model.data[datum].alive || model.places[place].mode == NORN_COMMUTE {
                &[NORN_OK, NORN_E_INVALID, NORN_E_STATE]
            } else if used {
                &[NORN_OK, NORN_E_STATE]
            } else {
                &[NORN_OK]
            };
            let stamp = run.tick();
            // SAFETY: the body touches the words no more.
            let status = unsafe {
                norn_self_release(
                    self_,
                    norn_data {
                        id: model.data[datum].id,
                    },
                )
            };
            run.expect(
                format_args!("norn_self_release of place {place}"),
                status,
                allowed,
            );
            if status == NORN_OK {
                released.push(place);
                model.places[place].released = Some(stamp);
            }
        }
        Act::Hold { count, own } => {
            let id = self_info(run, self_).token.id;
            // SAFETY: the body's own handle, on its thread.
            let status = unsafe { norn_self_hold(self_, *count) };
            let allowed = if *count == 0 { NORN_E_INVALID } else { NORN_OK };
            run.expect("norn_self_hold", status, &[allowed]);
            if status == NORN_OK && *own {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_unhold(rt, norn_token { id }, *count) };
                run.expect("norn_unhold of its own", status, &[NORN_OK]);
            } else if status == NORN_OK {
                foreign()
                    .send((rt as usize, id, *count))
                    .expect("the thread is there");
            }
        }
        Act::Child {
            plan,
            datum,
            mode,
            after,
            wait,
        } => {
            let submitted = task::nested(run, node, plan, *datum, *mode, *after, true, released);
            if let Some((child, id)) = submitted.filter(|_| *wait) {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_await(rt, norn_token { id }, -1) };
                let ends: Vec<norn_status> = WAITS
                    .iter()
                    .copied()
                    .filter(|status| *status != NORN_E_TIMEOUT)
                    .collect();
                run.expect(
                    format_args!("a body's await of its child {child}"),
                    status,
                    &ends,
                );
                if fate::of_status(status) != 0 {
                    see(run, child, status);
                }
            }
        }
        Act::Task {
            plan,
            datum,
            mode,
            after,
        } => {
            task::nested(run, node, plan, *datum, *mode, *after, false, released);
        }
        Act::AwaitShort(which) => {
            let Some((other, id)) = choose(run, *which, |_| true) else {
                return;
            };
            let limit = if which % 2 == 0 { 0 } else { 50_000 };
            // SAFETY: garbage gives a status.
            let status = unsafe { norn_await(rt, norn_token { id }, limit) };
            run.expect(
                format_args!("a body's await of node {other}"),
                status,
                &WAITS,
            );
            if fate::of_status(status) != 0 {
                see(run, other, status);
            }
        }
        Act::Cancel(which) => {
            let Some((other, id)) = choose(run, *which, |node| node.kind != Kind::Hold) else {
                return;
            };
            cancel(run, other, id);
        }
        Act::Keep { promise, fails } => {
            let Some((other, id)) = choose(run, *promise, |node| node.kind == Kind::Promise) else {
                return;
            };
            keep(run, other, id, *fails);
        }
        Act::Ask(which) => {
            let info = self_info(run, self_);
            let expected = run.model().nodes[node].id;
            if info.runtime != rt || (expected != 0 && info.token.id != expected) {
                run.complain("norn_self_get gives another runtime or token");
            }
            let Some((other, id)) = choose(run, *which, |_| true) else {
                return;
            };
            let mut done = 0;
            // SAFETY: the output is writable.
            let status = unsafe { norn_test(rt, norn_token { id }, &mut done) };
            run.expect(
                format_args!("a body's norn_test of node {other}"),
                status,
                &[NORN_OK],
            );
            if other == node && done != 0 {
                run.complain("a running task shows complete");
            }
        }
        Act::Wrong => {
            let own = self_info(run, self_).token;
            // SAFETY: garbage gives a status; the pointers are NULL.
            unsafe {
                run.expect(
                    "a body's drain",
                    norn_drain(rt, -1),
                    &[NORN_E_WOULD_DEADLOCK],
                );
                let status = norn_close_with(rt, NORN_CANCEL, -1);
                run.expect("a body's close", status, &[NORN_E_WOULD_DEADLOCK]);
                let status = norn_await(rt, own, -1);
                run.expect("a body's await of itself", status, &[NORN_E_WOULD_DEADLOCK]);
                run.expect_error("norn_submit of NULL", norn_submit(rt, null(), null_mut()));
                run.expect(
                    "a cancel of itself",
                    norn_cancel(rt, own),
                    &[NORN_E_TOO_LATE],
                );
                run.expect_error("an unhold too many", norn_unhold(rt, own, 1 << 31));
            }
        }
        Act::StraySelf => run.stray_self.store(self_, SeqCst),
        Act::Progress => {
            // SAFETY: garbage gives a status.
            let status = unsafe { norn_progress(rt) };
            run.expect("a body's norn_progress", status, &[NORN_OK]);
        }
    }
}

/// One of the tokens of a kind.
fn choose(run: &Run, which: usize, of: impl Fn(&Node) -> bool) -> Option<(usize, u64)> {
    let model = run.model();
    let nodes = model.nodes.iter().enumerate();
    let fitting: Vec<_> = nodes.filter(|(_, node)| node.id != 0 && of(node)).collect();
    let (index, node) = fitting.get(which % fitting.len().max(1))?;
    Some((*index, node.id))
}

/// A token has ended so: it must be a way it can end, and the same as before.
pub fn see(run: &Run, node: usize, status: norn_status) {
    let mut model = run.model();
    let allowed = fate::Fates::new(&model).of(node);
    let seen = model.nodes[node].seen;
    if fate::of_status(status) & allowed == 0 || seen.is_some_and(|seen| seen != status) {
        let it = model.nodes[node].clone();
        drop(model);
        run.complain(format_args!(
            "node {node} ended with {}, which is not in {allowed:#x}: {it:?}",
            crate::run::name(status)
        ));
    }
    model.nodes[node].seen = Some(status);
}

/// Cancels a token; the model learns what came of it.
pub fn cancel(run: &Run, node: usize, id: u64) {
    let mut model = run.model();
    let fate = fate::Fates::new(&model).of(node);
    let it = &model.nodes[node];
    // A group that was cancelled may still have running members.
    let cancelled = it.cancelled && !matches!(it.kind, Kind::Done(_));
    let over = it.seen.is_some() || cancelled || it.resolved.is_some();
    let waits = fate == fate::PENDING && !model.bad;
    let allowed: &[norn_status] = match it.kind {
        Kind::Hold => &[NORN_E_INVALID, NORN_E_TOO_LATE],
        _ if over => &[NORN_E_TOO_LATE],
        // A task's body, once it waits for children only, has started.
        Kind::Declared | Kind::Promise => &[NORN_OK, NORN_E_TOO_LATE],
        _ if waits && it.held => &[NORN_OK],
        _ => &[NORN_OK, NORN_E_TOO_LATE],
    };
    model.bad = true;
    // SAFETY: garbage gives a status.
    let status = unsafe { norn_cancel(run.rt(), norn_token { id }) };
    run.expect(format_args!("norn_cancel of node {node}"), status, allowed);
    if status == NORN_OK {
        model.nodes[node].cancelled = true;
        if let Kind::Done(group) = model.nodes[node].kind {
            model.cancel_group(group);
        }
    }
}

/// Fulfils or fails a promise.
pub fn keep(run: &Run, node: usize, id: u64, fails: bool) {
    let mut model = run.model();
    let it = &model.nodes[node];
    let allowed: &[norn_status] = match it.kind {
        Kind::Promise if it.resolved.is_some() || it.cancelled => &[NORN_E_STATE],
        Kind::Promise => &[NORN_OK],
        _ => &[NORN_E_INVALID, NORN_E_STATE],
    };
    // At close whoever is first wins.
    let allowed = if model.closing.is_some() {
        &[NORN_OK, NORN_E_STATE][..]
    } else {
        allowed
    };
    // SAFETY: garbage gives a status.
    let status = unsafe {
        if fails {
            norn_fail(run.rt(), norn_token { id }, 5, c"failed by hand".as_ptr())
        } else {
            norn_fulfill(run.rt(), norn_token { id })
        }
    };
    run.expect(
        format_args!("keeping promise {node}, fails: {fails}"),
        status,
        allowed,
    );
    if status == NORN_OK {
        model.nodes[node].resolved = Some(!fails);
        model.bad |= fails;
    }
}
