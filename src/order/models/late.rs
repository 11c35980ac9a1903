//! Declared tokens, late edges, holds.

use super::*;

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
