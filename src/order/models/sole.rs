//! A graph that one thread alone has changed, and others that come to it. In each model the first lane is the sitter's.

use super::*;

/// A world whose sitter is the model's own thread.
fn claimed(before: [&'static [usize]; TASKS]) -> World {
    let world = World::new(before);
    world.graph.sole.claim();
    world
}

#[test]
fn an_edge_is_appended_by_another_while_the_sitter_ends_its_source() {
    explore(3, || {
        let world = Arc::new(claimed([&[], &[0], &[], &[], &[]]));
        let (mut lane, first) = runnable(&world, 0, &[]);
        let thread = beside(&world, Lane::default(), move |world, lane| {
            world.graph.share();
            world.submit(lane, 1, &[], &[first]);
            world.work(lane);
        });
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!((world.runs(0), world.runs(1)), (1, 1));
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn a_writer_comes_from_another_while_the_sitter_ends_a_reader() {
    explore(2, || {
        let mut world = claimed([&[], &[0], &[], &[], &[]]);
        world.uses = [NORN_READ, NORN_WRITE, 0, 0, 0];
        let mut lane = Lane::default();
        let data = world.register(&mut lane);
        let world = Arc::new(world);
        world.submit(&mut lane, 0, &[access(data, NORN_READ)], &[]);
        let thread = beside(&world, Lane::default(), move |world, lane| {
            world.graph.share();
            world.submit(lane, 1, &[access(data, NORN_WRITE)], &[]);
            world.work(lane);
        });
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!((world.runs(0), world.runs(1)), (1, 1));
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn a_task_of_the_sitters_waits_for_a_promise_that_another_keeps() {
    explore(3, || {
        let world = Arc::new(claimed([&[]; TASKS]));
        let mut lane = Lane::default();
        let promise = world.promise(&mut lane);
        let thread = beside(&world, Lane::default(), move |world, lane| {
            world.graph.share();
            world.fulfill(lane, promise);
            world.work(lane);
        });
        world.submit(&mut lane, 0, &[], &[promise]);
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(0), 1);
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn a_task_that_the_sitter_starts_is_run_or_cancelled_by_another() {
    explore(3, || {
        let world = Arc::new(claimed([&[]; TASKS]));
        let (mut lane, first) = runnable(&world, 0, &[]);
        let cancelled = Arc::new(Tally::new(0));
        let seen = cancelled.clone();
        let thread = beside(&world, Lane::default(), move |world, lane| {
            world.graph.share();
            seen.store(usize::from(world.cancel(lane, first)), Relaxed);
            world.work(lane);
        });
        world.work(&mut lane);
        let other = thread.join().unwrap();
        assert_eq!(world.runs(0) + cancelled.load(Relaxed), 1);
        world.close(&[&lane, &other], 0);
    });
}

#[test]
fn two_share_at_once_and_append_to_what_the_sitter_ends() {
    explore(1, || {
        let world = Arc::new(claimed([&[], &[0], &[0], &[], &[]]));
        let (mut lane, first) = runnable(&world, 0, &[]);
        let threads = [1, 2].map(|number| {
            beside(&world, Lane::default(), move |world, lane| {
                world.graph.share();
                world.submit(lane, number, &[], &[first]);
                world.work(lane);
            })
        });
        world.work(&mut lane);
        let [one, two] = threads.map(|thread| thread.join().unwrap());
        assert_eq!((world.runs(0), world.runs(1), world.runs(2)), (1, 1, 1));
        world.close(&[&lane, &one, &two], 0);
    });
}
