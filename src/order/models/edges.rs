//! The successor word, the pending word, slots and those who are told.

use super::*;

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
