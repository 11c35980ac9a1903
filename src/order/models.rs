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
use super::node::kind;
use super::observers::Notify;
use super::plain::is_plain;
use super::slab::{Magazine, Slab};
use super::token::Token;
use crate::abi::status::{
    NORN_E_CANCELLED, NORN_E_PROPAGATED, NORN_E_TASK_FAILED, NORN_E_TOO_LATE,
};
use crate::abi::types::*;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::thread::{JoinHandle, spawn};
use crate::sync::{self, Exclusive};

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
                lane.ripple.runnable.extend(submitted.runnable);
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
            if self.graph.begin_body(lane, index) == Begin::Run {
                self.body(index);
                if self.straight && self.graph.ended_plain(node, state) {
                    self.graph.complete_plain(lane, index, node, state);
                } else {
                    self.graph.end_body(lane, index, None);
                }
            }
        }
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

// ----- the successor word, the pending word -----

#[test]
fn an_edge_appended_while_its_source_completes_is_satisfied_once() {
    explore(3, || {
        let world = Arc::new(World::new([&[], &[0], &[], &[], &[]]));
        let (other, first) = runnable(&world, 0, &[]);
        let mut lane = Lane::default();
        let thread = beside(&world, other, |world, lane| world.work(lane));
        let second = world.submit(&mut lane, 1, &[], &[first]);
        world.work(&mut lane);
        world.shows_complete(first, 0);
        world.shows_complete(second, 1);
        let other = thread.join().unwrap();
        assert!(world.shows_complete(first, 0) && world.shows_complete(second, 1));
        assert_eq!((world.runs(0), world.runs(1)), (1, 1));
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn of_two_predecessors_that_end_together_one_releases_the_successor() {
    explore(3, || {
        let world = Arc::new(World::new([&[], &[], &[0, 1], &[], &[]]));
        let (mut first, one) = runnable(&world, 0, &[]);
        let (second, two) = runnable(&world, 1, &[]);
        world.submit(&mut first, 2, &[], &[one, two]);
        let thread = beside(&world, second, |world, lane| world.work(lane));
        world.work(&mut first);
        let second = thread.join().unwrap();
        assert_eq!(world.runs(2), 1);
        world.close(&[&first, &second], 0);
    });
}

#[test]
fn a_slot_used_again_takes_no_edge_of_its_former_token() {
    explore(3, || {
        let world = Arc::new(World::new([&[], &[0], &[], &[], &[]]));
        let (other, first) = runnable(&world, 0, &[]);
        let mut lane = Lane::default();
        let thread = beside(&world, other, |world, lane| {
            world.work(lane);
            // Takes the slot that has just become free.
            world.promise(lane);
        });
        world.submit(&mut lane, 1, &[], &[first]);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(1), 1, "a complete predecessor is waited for");
        assert!(world.shows_complete(first, 0));
        world.close(&[&lane, &other], 1);
    });
}

#[test]
fn slots_and_chunks_are_handed_out_once() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let take = |world: &World, lane: &mut Lane| {
            for _ in 0..3 {
                world.promise(lane);
            }
            for _ in 0..2 {
                let index = world.graph.take_node(lane, kind::GATE).unwrap();
                world.graph.free_node(lane, index);
            }
        };
        let thread = beside(&world, Lane::default(), take);
        let mut lane = Lane::default();
        take(&world, &mut lane);
        let other = thread.join().unwrap();
        world.close(&[&lane, &other], 6);
    });
}

// ----- timelines and epochs -----

/// Two readers end on two threads while a writer takes its place behind them.
#[test]
fn a_writer_waits_for_every_reader() {
    explore(2, || {
        let mut world = World::new([&[], &[], &[0, 1], &[], &[]]);
        world.uses = [NORN_READ, NORN_READ, NORN_WRITE, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (first, _) = runnable(&world, 0, &[access(datum, NORN_READ)]);
        let (second, _) = runnable(&world, 1, &[access(datum, NORN_READ)]);
        let one = beside(&world, first, |world, lane| world.work(lane));
        let two = beside(&world, second, |world, lane| world.work(lane));
        world.submit(&mut lane, 2, &[access(datum, NORN_WRITE)], &[]);
        world.work(&mut lane);
        let (one, two) = (one.join().unwrap(), two.join().unwrap());
        assert_eq!(world.runs(2), 1);
        world.close(&[&lane, &one, &two], 0);
    });
}

#[test]
fn a_reader_and_a_writer_that_register_together_never_meet() {
    explore(2, || {
        let mut world = World::new([&[]; TASKS]);
        world.uses = [NORN_WRITE, NORN_READ, NORN_READ_WRITE, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (writer, _) = runnable(&world, 0, &[access(datum, NORN_WRITE)]);
        let one = beside(&world, writer, |world, lane| world.work(lane));
        let two = beside(&world, Lane::default(), move |world, lane| {
            world.submit(lane, 1, &[access(datum, NORN_READ)], &[]);
            world.work(lane);
        });
        world.submit(&mut lane, 2, &[access(datum, NORN_READ_WRITE)], &[]);
        world.work(&mut lane);
        let (one, two) = (one.join().unwrap(), two.join().unwrap());
        assert_eq!([0, 1, 2].map(|number| world.runs(number)), [1, 1, 1]);
        world.close(&[&lane, &one, &two], 0);
    });
}

#[test]
fn commuting_tasks_take_turns() {
    explore(2, || {
        let mut world = World::new([&[]; TASKS]);
        world.uses = [NORN_COMMUTE, NORN_COMMUTE, 0, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (first, _) = runnable(&world, 0, &[access(datum, NORN_COMMUTE)]);
        let (mut second, _) = runnable(&world, 1, &[access(datum, NORN_COMMUTE)]);
        let thread = beside(&world, first, |world, lane| world.work(lane));
        world.work(&mut second);
        let first = thread.join().unwrap();
        assert_eq!((world.runs(0), world.runs(1)), (1, 1));
        world.close(&[&lane, &first, &second], 0);
    });
}

#[test]
fn an_access_released_early_lets_the_next_go_and_keeps_other_edges() {
    explore(2, || {
        let mut world = World::new([&[], &[], &[0], &[], &[]]);
        world.uses = [NORN_WRITE, NORN_READ, 0, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (mut other, first) = runnable(&world, 0, &[access(datum, NORN_WRITE)]);
        world.submit(&mut other, 1, &[access(datum, NORN_READ)], &[]);
        let thread = beside(&world, other, move |world, lane| {
            let index = lane.ripple.runnable.pop().unwrap();
            assert_eq!(world.graph.begin_body(lane, index), Begin::Run);
            world.datum.write();
            world.graph.release_early(lane, index, datum).unwrap();
            world.work(lane);
            assert_eq!(world.runs(1), 1, "the reader waits for the whole body");
            world.left[0].store(1, Relaxed);
            world.graph.end_body(lane, index, None);
            world.work(lane);
        });
        world.submit(&mut lane, 2, &[], &[first]);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(2), 1);
        world.close(&[&lane, &other], 0);
    });
}

// ----- places -----

#[test]
fn a_place_passes_its_arrival_on_once() {
    explore(2, || {
        let mut world = World::new([&[], &[0], &[], &[], &[]]);
        world.uses = [NORN_WRITE, NORN_WRITE, 0, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (writer, _) = runnable(&world, 0, &[access(datum, NORN_WRITE)]);
        let reserved = world
            .graph
            .reserve(&mut lane, 0, &[access(datum, NORN_WRITE)])
            .unwrap();
        let thread = beside(&world, writer, |world, lane| world.work(lane));
        let mut through = access(datum, NORN_WRITE);
        through.slot = reserved[0];
        world.submit(&mut lane, 1, &[through], &[]);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(1), 1);
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn a_place_given_up_while_it_arrives_ends_once() {
    explore(2, || {
        let mut world = World::new([&[], &[0], &[], &[], &[]]);
        world.uses = [NORN_WRITE, NORN_WRITE, 0, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (writer, _) = runnable(&world, 0, &[access(datum, NORN_WRITE)]);
        let reserved = world
            .graph
            .reserve(&mut lane, 0, &[access(datum, NORN_WRITE)])
            .unwrap();
        world.submit(&mut lane, 1, &[access(datum, NORN_WRITE)], &[]);
        let thread = beside(&world, writer, |world, lane| world.work(lane));
        world
            .graph
            .abandon_slot(&mut lane, Token(reserved[0]))
            .unwrap();
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(1), 1);
        world.close(&[&lane, &other], 0);
    });
}

// ----- promises, cancelling -----

#[test]
fn a_promise_is_kept_broken_or_cancelled_once() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let promise = world.promise(&mut lane);
        world.submit(&mut lane, 0, &[], &[promise]);
        let won = Arc::new(Tally::new(0));
        let (kept, broken) = (won.clone(), won.clone());
        let one = beside(&world, Lane::default(), move |world, lane| {
            if world.graph.keep_promise(lane, promise, None).is_ok() {
                kept.fetch_add(1, Relaxed);
            }
            world.work(lane);
        });
        let two = beside(&world, Lane::default(), move |world, lane| {
            if world
                .graph
                .keep_promise(lane, promise, Some((7, "")))
                .is_ok()
            {
                broken.fetch_add(10, Relaxed);
            }
            world.work(lane);
        });
        let cancelled = world.cancel(&mut lane, promise);
        world.work(&mut lane);
        let (one, two) = (one.join().unwrap(), two.join().unwrap());
        let failure = world
            .graph
            .failure_of(promise)
            .map(|failure| failure.status());
        match (won.load(Relaxed), cancelled) {
            (1, false) => assert_eq!((failure, world.runs(0)), (None, 1)),
            (10, false) => assert_eq!((failure, world.runs(0)), (Some(NORN_E_TASK_FAILED), 0)),
            (0, true) => assert_eq!((failure, world.runs(0)), (Some(NORN_E_CANCELLED), 0)),
            both => panic!("ended more or less than once: {both:?}"),
        }
        world.close(&[&lane, &one, &two], 0);
    });
}

#[test]
fn a_task_runs_or_is_cancelled() {
    explore(3, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let (other, token) = runnable(&world, 0, &[]);
        let mut lane = Lane::default();
        let thread = beside(&world, other, |world, lane| world.work(lane));
        let cancelled = world.cancel(&mut lane, token);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(0), usize::from(!cancelled));
        assert!(world.graph.is_complete(token));
        world.close(&[&lane, &other], 0);
    });
}

/// The writer behind a cancelled writer waits for the one before it all the same, and is released once.
#[test]
fn a_cancelled_writer_keeps_its_place_until_the_one_before_has_ended() {
    explore(2, || {
        let mut world = World::new([&[], &[], &[0], &[], &[]]);
        world.uses = [NORN_WRITE, NORN_WRITE, NORN_WRITE, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (first, _) = runnable(&world, 0, &[access(datum, NORN_WRITE)]);
        let second = world.submit(&mut lane, 1, &[access(datum, NORN_WRITE)], &[]);
        world.submit(&mut lane, 2, &[access(datum, NORN_WRITE)], &[]);
        let thread = beside(&world, first, |world, lane| world.work(lane));
        let cancelled = world.cancel(&mut lane, second);
        world.work(&mut lane);
        let first = thread.join().unwrap();
        assert_eq!(world.runs(1), usize::from(!cancelled));
        assert_eq!(world.runs(2), 1);
        world.close(&[&lane, &first], 0);
    });
}

/// The same with a member of an epoch: a cancelled reader leaves it when the writer before it has ended.
#[test]
fn a_cancelled_reader_leaves_its_epoch_once() {
    explore(2, || {
        let mut world = World::new([&[], &[], &[0], &[], &[]]);
        world.uses = [NORN_WRITE, NORN_READ, NORN_WRITE, 0, 0];
        let world = Arc::new(world);
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (first, _) = runnable(&world, 0, &[access(datum, NORN_WRITE)]);
        let second = world.submit(&mut lane, 1, &[access(datum, NORN_READ)], &[]);
        world.submit(&mut lane, 2, &[access(datum, NORN_WRITE)], &[]);
        let thread = beside(&world, first, |world, lane| world.work(lane));
        world.cancel(&mut lane, second);
        world.work(&mut lane);
        let first = thread.join().unwrap();
        assert_eq!(world.runs(2), 1);
        world.close(&[&lane, &first], 0);
    });
}

#[test]
fn a_cancel_never_reaches_the_next_token_of_the_slot() {
    explore(3, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let (other, token) = runnable(&world, 0, &[]);
        let mut lane = Lane::default();
        let thread = beside(&world, other, |world, lane| {
            world.work(lane);
            let next = world.promise(lane);
            world.fulfill(lane, next);
            world.work(lane);
            assert!(world.graph.failure_of(next).is_none());
        });
        world.cancel(&mut lane, token);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        world.close(&[&lane, &other], 0);
    });
}

/// Whoever cancels frees the slot and uses it for a held task, whose guard a mistaken submission would take.
#[test]
fn a_close_that_cancels_leaves_a_task_alone_that_is_being_submitted() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let thread = beside(&world, Lane::default(), |world, lane| {
            world.submit(lane, 0, &[], &[]);
            world.work(lane);
        });
        let mut lane = Lane::default();
        world
            .graph
            .cancel_all(&mut lane, crate::order::node::flag::RUN_ALWAYS);
        world.work(&mut lane);
        let held = world.submit_held(&mut lane, 1);
        let other = thread.join().unwrap();
        world.graph.start(&mut lane, held).unwrap();
        world.work(&mut lane);
        assert_eq!(world.runs(1), 1);
        world.close(&[&lane, &other], 0);
    });
}

// ----- declared tokens, late edges, holds -----

#[test]
fn a_declared_token_is_bound_and_run_or_cancelled() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let token = world
            .graph
            .new_token(&mut lane, 0, kind::DECLARED, core::ptr::null())
            .unwrap();
        let thread = beside(&world, Lane::default(), move |world, lane| {
            let mut task = world.task(0);
            task.r#as = token.into();
            let _ = world.graph.submit(lane, 0, &task, &[], &[]);
            world.work(lane);
        });
        let cancelled = world.cancel(&mut lane, token);
        world.work(&mut lane);
        // May use the slot again, and needs its guard.
        let held = world.submit_held(&mut lane, 1);
        let other = thread.join().unwrap();
        world.graph.start(&mut lane, held).unwrap();
        world.work(&mut lane);
        assert!(world.graph.is_complete(token));
        assert_eq!((world.runs(0), world.runs(1)), (usize::from(!cancelled), 1));
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn a_binding_that_comes_too_late_leaves_the_next_token_alone() {
    explore(3, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let declare = |world: &World, lane: &mut Lane| {
            world
                .graph
                .new_token(lane, 0, kind::DECLARED, core::ptr::null())
                .unwrap()
        };
        let token = declare(&world, &mut lane);
        let thread = beside(&world, Lane::default(), move |world, lane| {
            let mut task = world.task(0);
            task.r#as = token.into();
            if let Ok(bound) = world.graph.submit(lane, 0, &task, &[], &[]) {
                assert_eq!(bound, token, "the task was bound to another token");
            }
            world.work(lane);
        });
        world.cancel(&mut lane, token);
        world.work(&mut lane);
        let next = declare(&world, &mut lane);
        assert!(world.cancel(&mut lane, next));
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert!(world.graph.is_complete(token) && world.graph.is_complete(next));
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn a_late_edge_a_start_and_a_cancel_agree() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let promise = world.promise(&mut lane);
        let held = world.submit_held(&mut lane, 0);
        let one = beside(&world, Lane::default(), move |world, lane| {
            let _ = world.graph.start(lane, held);
            world.work(lane);
        });
        let two = beside(&world, Lane::default(), move |world, lane| {
            let _ = world.graph.edge(lane, promise, held);
            world.work(lane);
        });
        let cancelled = world.cancel(&mut lane, held);
        world.work(&mut lane);
        let (one, two) = (one.join().unwrap(), two.join().unwrap());
        world.fulfill(&mut lane, promise);
        world.work(&mut lane);
        assert!(world.graph.is_complete(held));
        assert_eq!(world.runs(0), usize::from(!cancelled));
        world.close(&[&lane, &one, &two], 0);
    });
}

#[test]
fn the_last_hold_completes_the_task_whichever_comes_last() {
    explore(3, || {
        let world = Arc::new(World::new([&[], &[0], &[], &[], &[]]));
        let (mut other, token) = runnable(&world, 0, &[]);
        world.submit(&mut other, 1, &[], &[token]);
        let index = other.ripple.runnable.pop().unwrap();
        assert_eq!(world.graph.begin_body(&mut other, index), Begin::Run);
        world.graph.hold(index, 1).unwrap();
        let thread = beside(&world, other, move |world, lane| {
            world.left[0].store(1, Relaxed);
            world.graph.end_body(lane, index, None);
            world.work(lane);
        });
        let mut lane = Lane::default();
        world.graph.unhold(&mut lane, token, 1).unwrap();
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(1), 1);
        world.close(&[&lane, &other], 0);
    });
}

// ----- observers -----

struct Waker(crate::sync::thread::Thread, Tally);

impl Notify for Waker {
    fn notify(&self) {
        self.1.fetch_add(1, Relaxed);
        self.0.unpark();
    }
}

/// A lost wake-up would leave this model without a thread that can go on, which loom reports.
#[test]
fn whoever_waits_for_a_token_is_told() {
    explore(3, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let (other, token) = runnable(&world, 0, &[]);
        let thread = beside(&world, other, |world, lane| world.work(lane));
        let waker = Arc::new(Waker(crate::sync::thread::current(), Tally::new(0)));
        let node = world.graph.nodes.get(token.index());
        let pinned = world.graph.observers.pin(token, node);
        let observed = pinned.is_some();
        if let Some(mut pin) = pinned {
            pin.observe(waker.clone());
            drop(pin);
            while !world.shows_complete(token, 0) {
                crate::sync::thread::park();
            }
        }
        let other = thread.join().unwrap();
        assert!(world.shows_complete(token, 0));
        assert_eq!(waker.1.load(Relaxed), usize::from(observed));
        world.close(&[&other], 0);
    });
}

#[test]
fn a_failure_reaches_the_successor_appended_meanwhile() {
    explore(3, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let promise = world.promise(&mut lane);
        let thread = beside(&world, Lane::default(), move |world, lane| {
            world
                .graph
                .keep_promise(lane, promise, Some((7, "")))
                .unwrap();
            world.work(lane);
        });
        let token = world.submit(&mut lane, 0, &[], &[promise]);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        let failure = world
            .graph
            .failure_of(token)
            .map(|failure| failure.status());
        assert_eq!((failure, world.runs(0)), (Some(NORN_E_PROPAGATED), 0));
        world.close(&[&lane, &other], 0);
    });
}

// ----- groups, counters -----

#[test]
fn a_group_ends_once_and_after_its_members() {
    explore(3, || {
        let world = Arc::new(World::new([&[], &[0], &[], &[], &[]]));
        let mut other = Lane::default();
        let (group, done) = world
            .graph
            .open_group(&mut other, 0, core::ptr::null(), 0)
            .unwrap();
        let mut task = world.task(0);
        task.group = norn_group { id: group };
        world.graph.submit(&mut other, 0, &task, &[], &[]).unwrap();
        world.submit(&mut other, 1, &[], &[done]);
        let thread = beside(&world, other, |world, lane| world.work(lane));
        let mut lane = Lane::default();
        world.graph.close_group(&mut lane, group).unwrap();
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!((world.runs(0), world.runs(1)), (1, 1));
        world.close(&[&lane, &other], 0);
    });
}

/// A drain trusts the counters: what shows complete is counted.
#[test]
fn a_task_is_counted_before_its_token_shows_complete() {
    explore(3, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let (other, token) = runnable(&world, 0, &[]);
        let counters = other.counters.clone();
        let thread = beside(&world, other, |world, lane| world.work(lane));
        if world.shows_complete(token, 0) {
            assert_eq!(counters.completed[0].load(Relaxed), 1);
        }
        let other = thread.join().unwrap();
        world.close(&[&other], 0);
    });
}
