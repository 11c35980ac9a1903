//! The second clock: issue, notes, and epochs that have two ends.

use super::*;
use crate::order::operation::{Operation, Outcome};
use crate::order::plain_operation::is_plain_operation;
use std::sync::Mutex;

/// An operation of a lowering that has no streams: it is issued and ended by the thread that meets it.
struct Step {
    joins: bool,
    notes: Mutex<(Vec<Token>, bool)>,
}

impl Step {
    fn new(joins: bool) -> Arc<Self> {
        Arc::new(Self {
            joins,
            notes: Mutex::default(),
        })
    }

    fn notes(&self) -> Vec<Token> {
        self.notes.lock().unwrap().0.clone()
    }
}

impl Operation for Step {
    fn arrive(self: Arc<Self>, _node: u32) -> bool {
        true
    }
    fn cancelled(self: Arc<Self>, _cause: u32) {}
    fn is_owed(&self) -> bool {
        !self.notes.lock().unwrap().0.is_empty()
    }
    fn joins_at_issue(&self) -> bool {
        self.joins
    }
    fn note(&self, producer: Token, _propagates: bool) -> bool {
        let mut notes = self.notes.lock().unwrap();
        if !notes.1 {
            notes.0.push(producer);
        }
        !notes.1
    }
    fn close_notes(&self, is_complete: &dyn Fn(Token) -> bool) -> bool {
        let mut notes = self.notes.lock().unwrap();
        notes.1 |= notes.0.iter().all(|token| is_complete(*token));
        notes.1
    }
    fn describe(&self) -> String {
        "a step".into()
    }
}

impl World {
    fn submit_step(
        &self,
        lane: &mut Lane,
        step: &Arc<Step>,
        data: &[norn_access],
        after: &[Token],
    ) -> Token {
        let after: Vec<norn_token> = after.iter().map(|token| (*token).into()).collect();
        let how = norn_task {
            run: None,
            ..self.task(0)
        };
        let mut operation: Option<Arc<dyn Operation>> = Some(step.clone());
        assert!(is_plain_operation(&how, data, &after));
        let submitted =
            self.graph
                .submit_plain_operation(lane, 0, &how, data, &after, &mut operation);
        if let Some(submitted) = submitted {
            if submitted.runnable {
                lane.ripple.runnable.push(submitted.token.index());
            }
            return submitted.token;
        }
        // As the scheduler does: nothing was done, and the general way has more patience.
        let operation = operation.unwrap();
        self.graph
            .submit_operation(lane, 0, &how, data, &after, operation)
            .unwrap()
    }

    /// Settles, and gives what may run next.
    fn arrived(&self, lane: &mut Lane) -> Option<u32> {
        self.graph.settle(lane);
        lane.ripple.runnable.pop()
    }

    /// Begins an operation that has arrived and issues it.
    fn begin_and_issue(&self, lane: &mut Lane, index: u32) {
        assert!(self.graph.begin_body(lane, index) == Begin::Run);
        self.graph.issue(lane, index);
    }

    fn end(&self, lane: &mut Lane, index: u32) {
        self.graph.end_operation(lane, index, &Outcome::Success);
    }
}

/// A producer is issued and ends while two consumers come: one that joins, and a task that must not run before its end.
#[test]
fn consumers_that_come_during_issue_and_end_are_satisfied_once_and_in_time() {
    explore(2, || {
        // The task must find what the producer has left.
        let world = Arc::new(World::new([&[], &[0], &[], &[], &[]]));
        let mut producer = Lane::default();
        let producing = Step::new(true);
        let first = world.submit_step(&mut producer, &producing, &[], &[]);
        let index = world.arrived(&mut producer).unwrap();
        let thread = beside(&world, producer, move |world, lane| {
            world.begin_and_issue(lane, index);
            world.graph.settle(lane);
            let joined = core::mem::take(&mut lane.ripple.runnable);
            world.left[0].store(1, Relaxed);
            world.end(lane, index);
            lane.ripple.runnable.extend(joined);
            world.graph.settle(lane);
        });
        let mut lane = Lane::default();
        let joining = Step::new(true);
        let second = world.submit_step(&mut lane, &joining, &[], &[first]);
        world.submit(&mut lane, 1, &[], &[first]);
        world.graph.settle(&mut lane);
        let mut other = thread.join().unwrap();
        let mut steps = 0;
        for lane in [&mut lane, &mut other] {
            while let Some(index) = world.arrived(lane) {
                let token = Token::new(
                    0,
                    index,
                    world.graph.nodes.get(index).load_successors().generation(),
                );
                if token == second {
                    steps += 1;
                    world.begin_and_issue(lane, index);
                    world.end(lane, index);
                } else {
                    world.run_one(lane, index);
                }
            }
        }
        assert_eq!((steps, world.runs(1)), (1, 1));
        assert!(joining.notes().iter().all(|token| *token == first));
        world.close(&[&lane, &other], 0);
    });
}

/// A reader is issued and ends, another one just ends, while a writer that joins takes its place behind them.
#[test]
fn a_writer_that_joins_gets_the_readers_that_have_not_ended() {
    explore(2, || {
        let world = Arc::new(World::new([&[]; TASKS]));
        let mut lane = Lane::default();
        let datum = world.register(&mut lane);
        let (host, _) = runnable(&world, 0, &[access(datum, NORN_READ)]);
        let mut device = Lane::default();
        let reading = Step::new(true);
        let reader = world.submit_step(&mut device, &reading, &[access(datum, NORN_READ)], &[]);
        let index = world.arrived(&mut device).unwrap();
        let one = beside(&world, host, |world, lane| world.work_or_keep(lane));
        let two = beside(&world, device, move |world, lane| {
            world.begin_and_issue(lane, index);
            world.graph.settle(lane);
            world.end(lane, index);
            world.graph.settle(lane);
        });
        let writing = Step::new(true);
        world.submit_step(&mut lane, &writing, &[access(datum, NORN_WRITE)], &[]);
        world.graph.settle(&mut lane);
        let (mut one, mut two) = (one.join().unwrap(), two.join().unwrap());
        let mut writes = 0;
        for lane in [&mut lane, &mut one, &mut two] {
            while let Some(index) = world.arrived(lane) {
                writes += 1;
                assert_eq!(world.runs(0), 1, "the task that reads has ended");
                world.begin_and_issue(lane, index);
                world.end(lane, index);
            }
        }
        assert_eq!(writes, 1);
        assert!(writing.notes().iter().all(|token| *token == reader));
        world.close(&[&lane, &one, &two], 0);
    });
}

/// A consumer is cancelled while its producer is issued: it is refused, or what is behind it waits for the producer's end.
#[test]
fn a_cancel_beside_an_issue_is_refused_or_keeps_the_order() {
    explore(2, || {
        let mut world = World::new([&[]; TASKS]);
        world.before[1] = &[0];
        let world = Arc::new(world);
        let mut device = Lane::default();
        let datum = world.register(&mut device);
        let producing = Step::new(true);
        world.submit_step(&mut device, &producing, &[access(datum, NORN_WRITE)], &[]);
        let index = world.arrived(&mut device).unwrap();
        let consuming = Step::new(true);
        let update = [access(datum, NORN_READ_WRITE)];
        let consumer = world.submit_step(&mut device, &consuming, &update, &[]);
        // Overwrites, so that it runs whatever becomes of the consumer; but after the producer.
        world.submit(&mut device, 1, &[access(datum, NORN_WRITE)], &[]);
        world.graph.settle(&mut device);
        let thread = beside(&world, device, move |world, lane| {
            world.begin_and_issue(lane, index);
            world.graph.settle(lane);
            let joined = core::mem::take(&mut lane.ripple.runnable);
            world.left[0].store(1, Relaxed);
            world.end(lane, index);
            world.graph.settle(lane);
            lane.ripple.runnable.extend(joined);
        });
        let mut lane = Lane::default();
        world.cancel(&mut lane, consumer);
        world.work_tasks(&mut lane);
        let mut device = thread.join().unwrap();
        world.work_tasks(&mut device);
        world.work_tasks(&mut lane);
        assert_eq!(world.runs(1), 1);
        world.close(&[&lane, &device], 0);
    });
}

impl World {
    /// As `work`, but operations that have arrived stay in the lane.
    fn work_or_keep(&self, lane: &mut Lane) {
        let mut kept = Vec::new();
        while let Some(index) = self.arrived(lane) {
            if self
                .graph
                .operation_of(self.graph.nodes.get(index))
                .is_some()
            {
                kept.push(index);
                continue;
            }
            self.run_one(lane, index);
        }
        lane.ripple.runnable.extend(kept);
    }

    /// As `work`, and operations that have arrived are issued and ended.
    fn work_tasks(&self, lane: &mut Lane) {
        while let Some(index) = self.arrived(lane) {
            if self
                .graph
                .operation_of(self.graph.nodes.get(index))
                .is_none()
            {
                self.run_one(lane, index);
            } else if self.graph.begin_body(lane, index) == Begin::Run {
                self.graph.issue(lane, index);
                self.end(lane, index);
            }
        }
    }

    fn run_one(&self, lane: &mut Lane, index: u32) {
        if self.graph.begin_body(lane, index) == Begin::Run {
            self.body(index);
            self.graph.end_body(lane, index, None);
        }
    }
}
