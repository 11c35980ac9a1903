//! Timelines, epochs and reserved places.

use super::*;

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

#[test]
fn a_parent_waits_for_the_end_of_its_childrens_run() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (mut own, parent) = runnable(&world, 0, &[access(datum, NORN_READ_WRITE)]);
        let index = own.ripple.runnable.pop().unwrap();
        assert_eq!(world.graph.begin_body(&mut own, index), Begin::Run);
        world.body(index);
        let mut task = world.task(1);
        task.flags = NORN_CHILD;
        let mut child = Lane::default();
        let commute = [access(datum, NORN_COMMUTE)];
        let submitted = world.graph.submit(&mut child, index, &task, &commute, &[]);
        submitted.unwrap();
        world.graph.settle(&mut child);
        let thread = beside(&world, child, |world, lane| world.work(lane));
        // The child, the only member of its run, may end before or after the run does.
        world.graph.end_body(&mut own, index, None);
        world.work(&mut own);
        let child = thread.join().unwrap();
        assert_eq!(world.runs(1), 1);
        assert!(world.shows_complete(parent, 0));
        world.close(&[&lane, &own, &child], 0);
    });
}
