//! Models of the ordering core: the shipped code under many schedules, and with loom
//! also with every stale value that the memory orderings allow.
//!
//! What a body leaves behind is written without any ordering of its own, and a
//! datum is something in which loom reports unordered uses, so a model that passes
//! shows that the protocol alone orders them. Each model ends with `World::close`:
//! nothing is left, and no slot is free twice.
//!
//! Worlds are kept small, because every atomic is made anew for every schedule.

use core::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Tally;

use super::body::Begin;
use super::graph::Graph;
use super::lane::Lane;
use super::node::{flag, kind};
use super::observers::Notify;
use super::plain::{NOT_PLAIN, is_plain};
use super::slab::{Magazine, Slab};
use super::sole::{Shared, Words};
use super::token::Token;
use crate::abi::status::{
    NORN_E_CANCELLED, NORN_E_PROPAGATED, NORN_E_TASK_FAILED, NORN_E_TOO_LATE,
};
use crate::abi::types::*;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::thread::{JoinHandle, spawn};
use crate::sync::{self, Exclusive};

mod edges;
mod endings;
mod issue;
mod late;
mod sole;
mod timelines;

const TASKS: usize = 5;

std::thread_local! {
    /// Not of the checker: what the model that this thread runs is about.
    static STRAIGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs a model on the general path of tasks and on the straight one.
fn explore(preemptions: usize, model: fn()) {
    for straight in [false, true] {
        STRAIGHT.set(straight);
        sync::explore(preemptions, model);
    }
}

/// A graph, and what the bodies of its tasks do. Tasks are known by a number, their argument.
struct World {
    graph: Graph,
    /// Plain tasks take the straight path (`plain`).
    straight: bool,
    /// How often each body ran. Not of the checker, so it orders nothing.
    ran: [Tally; TASKS],
    /// What each body leaves behind.
    left: [AtomicUsize; TASKS],
    /// Tasks that must have ended before each.
    before: [&'static [usize]; TASKS],
    datum: Exclusive,
    /// How each task uses the datum.
    uses: [i32; TASKS],
}

unsafe extern "C" fn unused(_: *mut norn_self, _: *mut core::ffi::c_void) -> i32 {
    0
}

impl World {
    fn new(before: [&'static [usize]; TASKS]) -> World {
        World {
            graph: Graph::new(0),
            straight: STRAIGHT.get(),
            ran: core::array::from_fn(|_| Tally::new(0)),
            left: core::array::from_fn(|_| AtomicUsize::new(0)),
            before,
            datum: Exclusive::default(),
            uses: [0; TASKS],
        }
    }

    /// The task's description.
    fn task(&self, number: usize) -> norn_task {
        // SAFETY: all-zero bytes are the empty description, as the C API says.
        let mut task: norn_task = unsafe { core::mem::zeroed() };
        task.run = Some(unused);
        task.arg = core::ptr::without_provenance_mut(number);
        task
    }

    /// Submits a task, with no consequences drawn yet.
    fn submit(
        &self,
        lane: &mut Lane,
        number: usize,
        data: &[norn_access],
        after: &[Token],
    ) -> Token {
        let after: Vec<norn_token> = after.iter().map(|token| (*token).into()).collect();
        let task = self.task(number);
        if self.straight && is_plain(&task, data, &after) {
            let submitted = self.graph.submit_plain(lane, 0, &task, data, &after);
            if let Some(submitted) = submitted {
                if submitted.runnable {
                    lane.ripple.runnable.push(submitted.token.index());
                }
                return submitted.token;
            }
        }
        self.graph.submit(lane, 0, &task, data, &after).unwrap()
    }

    fn submit_held(&self, lane: &mut Lane, number: usize) -> Token {
        let mut task = self.task(number);
        task.flags = NORN_HELD;
        self.graph.submit(lane, 0, &task, &[], &[]).unwrap()
    }

    /// A promise, whose fulfilment is what lets the model's tasks go.
    fn promise(&self, lane: &mut Lane) -> Token {
        self.graph
            .new_token(lane, 0, kind::PROMISE, core::ptr::null())
            .unwrap()
    }

    fn fulfill(&self, lane: &mut Lane, promise: Token) {
        self.graph.keep_promise(lane, promise, None).unwrap();
    }

    /// Cancels, unless it is too late; nothing else may be said about a token that was issued.
    fn cancel(&self, lane: &mut Lane, token: Token) -> bool {
        match self.graph.cancel(lane, token) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.status(), NORN_E_TOO_LATE, "{}", error.text());
                false
            }
        }
    }

    /// A datum.
    fn register(&self, lane: &mut Lane) -> norn_data {
        // SAFETY: all-zero bytes are an empty description without strings.
        unsafe {
            let mut desc: norn_data_desc = core::mem::zeroed();
            desc.kind = NORN_MEMORY_HOST;
            self.graph.register(lane, &desc).unwrap()
        }
    }

    /// Draws all consequences and runs what may run, until nothing is left for this thread.
    fn work(&self, lane: &mut Lane) {
        loop {
            self.graph.settle(lane);
            let Some(index) = lane.ripple.runnable.pop() else {
                return;
            };
            let node = self.graph.nodes.get(index);
            let state = node.load_state();
            let plain = self.straight && state & NOT_PLAIN == 0;
            if self.begin(lane, index, plain) == Begin::Run {
                self.body(index);
                if plain && self.graph.ended_plain(node) {
                    match self.graph.sole.step() {
                        Some(step) => self.end_plain(lane, step.words(), index, state),
                        None => self.end_plain(lane, Shared, index, state),
                    }
                } else {
                    self.graph.end_body(lane, index, None);
                }
            }
        }
    }

    fn begin(&self, lane: &mut Lane, index: u32, plain: bool) -> Begin {
        if !plain {
            return self.graph.begin_body(lane, index);
        }
        let before = self.graph.start_plain::<true>(self.graph.nodes.get(index));
        if before & flag::CANCELLED == 0 {
            return Begin::Run;
        }
        self.graph.bury_cancelled(lane, index, before);
        Begin::Skip
    }

    fn end_plain(&self, lane: &mut Lane, words: impl Words, index: u32, state: u32) {
        let node = self.graph.nodes.get(index);
        let links = self.graph.complete_plain(lane, words, index, node, state);
        self.graph
            .release_well(lane, words, links, |lane, index, _| {
                lane.ripple.arrivals.push(index);
            });
    }

    /// What a body does.
    fn body(&self, index: u32) {
        let number = self.graph.nodes.get(index).argument.load(Relaxed);
        assert_eq!(
            self.ran[number].fetch_add(1, Relaxed),
            0,
            "task {number} ran twice"
        );
        for before in self.before[number] {
            assert_eq!(
                self.left[*before].load(Relaxed),
                1,
                "task {number} ran before task {before}"
            );
        }
        match self.uses[number] {
            0 => {}
            NORN_READ => self.datum.read(),
            _ => self.datum.write(),
        }
        self.left[number].store(1, Relaxed);
    }

    /// Whether a token shows complete; its task's body must then be seen whole.
    fn shows_complete(&self, token: Token, number: usize) -> bool {
        let complete = self.graph.is_complete(token);
        if complete && self.graph.failure_of(token).is_none() {
            assert_eq!(
                self.left[number].load(Relaxed),
                1,
                "task {number} shows complete, but has not ended"
            );
        }
        complete
    }

    fn runs(&self, number: usize) -> usize {
        self.ran[number].load(Relaxed)
    }

    /// All is over: all nodes and links are free, each once.
    fn close(&self, lanes: &[&Lane], live: usize) {
        fn used<T: super::slab::Vacant>(slab: &Slab<T>, magazines: &[&Magazine]) -> usize {
            slab.indices().len() - slab.free_slots(magazines)
        }
        let of = |pick: fn(&Lane) -> &Magazine| -> Vec<&Magazine> {
            lanes.iter().map(|lane| pick(lane)).collect()
        };
        assert_eq!(
            used(&self.graph.nodes, &of(|lane| &lane.nodes)),
            live,
            "nodes in use"
        );
        assert_eq!(
            used(&self.graph.links, &of(|lane| &lane.links)),
            0,
            "links in use"
        );
        used(&self.graph.epochs, &of(|lane| &lane.epochs));
        used(&self.graph.annexes, &of(|lane| &lane.annexes));
        for lane in lanes {
            let ripple = &lane.ripple;
            assert!(
                ripple.arrivals.is_empty()
                    && ripple.endings.is_empty()
                    && ripple.runnable.is_empty()
            );
        }
    }
}

/// Runs `step` on a thread of its own with `lane`, which comes back.
fn beside(
    world: &Arc<World>,
    mut lane: Lane,
    step: impl FnOnce(&World, &mut Lane) + Send + 'static,
) -> JoinHandle<Lane> {
    let world = world.clone();
    spawn(move || {
        step(&world, &mut lane);
        lane
    })
}

fn access(data: norn_data, mode: i32) -> norn_access {
    norn_access {
        data,
        mode,
        ..norn_access::default()
    }
}

/// A task that is runnable: its lane is to be given to the thread that runs it.
fn runnable(world: &World, number: usize, data: &[norn_access]) -> (Lane, Token) {
    let mut lane = Lane::default();
    let token = world.submit(&mut lane, number, data, &[]);
    world.graph.settle(&mut lane);
    assert_eq!(lane.ripple.runnable.len(), 1);
    (lane, token)
}
