//! Promises, and cancelling against everything else.

use super::*;

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
