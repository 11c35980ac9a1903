//! Operations: submitted to the graph, carried out by a lowering.

use std::sync::Arc;

use super::runtime::Runtime;
use crate::abi::types::{norn_access, norn_task, norn_token};
use crate::error::Result;
use crate::order::body::Begin;
use crate::order::graph::Graph;
use crate::order::operation::{Operation, Outcome};
use crate::sync::atomic::Ordering;

/// Work goes on outside of the graph while this lives, so that nobody takes the runtime for stuck.
pub(crate) struct GoesOn<'a>(&'a Runtime);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.lowerings.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Runtime {
    /// Says that something goes on that no node of the graph shows.
    pub(crate) fn keep_going(&self) -> GoesOn<'_> {
        self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
        GoesOn(self)
    }

    /// Submits a task with an `enqueue` body.
    pub(crate) fn submit_enqueue(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Result<norn_token> {
        let operation = self.operation_of_task(task)?;
        self.submit_operation(task, accesses, after, operation)
    }

    /// The operation that a task with an `enqueue` body is.
    pub(crate) fn operation_of_task(&self, task: &norn_task) -> Result<Arc<dyn Operation>> {
        self.ask_lowerings(
            |lowering| lowering.operation_of_task(task),
            "task.enqueue: no device is open in this runtime (norn_device_open)",
        )
    }

    /// Submits an operation; see `Graph::submit_operation`.
    pub(crate) fn submit_operation(
        &self,
        how: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        operation: Arc<dyn Operation>,
    ) -> Result<norn_token> {
        let body = self.body();
        self.act(|graph, lane| graph.submit_operation(lane, body, how, accesses, after, operation))
            .map(norn_token::from)
    }

    /// Gives an operation that has arrived to its lowering.
    #[cold]
    pub(crate) fn hand_over(&self, node: u32, operation: Arc<dyn Operation>) {
        self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
        if operation.arrive(node) {
            self.offer_duty();
        }
    }

    /// A lowering is about to issue an operation that has arrived.
    pub(crate) fn begin_operation(&self, node: u32) -> Begin {
        let state = self.graph().nodes.get(node).load_state();
        let begin = self.begin(node, state);
        if begin == Begin::Skip {
            self.lowerings.under_way.fetch_sub(1, Ordering::SeqCst);
        }
        begin
    }

    /// An operation that was begun is on its stream, with its completion event behind it.
    pub(crate) fn issue_operation(&self, node: u32) {
        self.act(|graph, lane| graph.issue(lane, node));
    }

    /// An operation that was begun has ended.
    pub(crate) fn finish_operation(&self, node: u32, outcome: &Outcome<'_>) {
        self.act(|graph, lane| graph.end_operation(lane, node, outcome));
        self.note_ended(1);
    }

    /// Ends operations that were begun, one after the other in one change.
    pub(crate) fn finish_all<'a>(&self, ends: impl Iterator<Item = (u32, Outcome<'a>)>) {
        let mut ended = 0;
        self.act(|graph, lane| {
            for (node, outcome) in ends {
                graph.end_operation(lane, node, &outcome);
                graph.settle(lane);
                ended += 1;
            }
        });
        if ended != 0 {
            self.note_ended(ended);
        }
    }

    /// Ends those of a list that `ending` has an outcome for, one after the other in one change, and takes them out of it.
    /// Each sees what the ends of those before it have brought. Gives their number.
    pub(crate) fn finish_operations<T>(
        &self,
        list: &mut Vec<T>,
        ending: impl for<'a> Fn(&Graph, &'a T) -> Option<(u32, Outcome<'a>)>,
    ) -> usize {
        let before = list.len();
        self.act(|graph, lane| {
            list.retain(|one| match ending(graph, one) {
                Some((node, outcome)) => {
                    graph.end_operation(lane, node, &outcome);
                    graph.settle(lane);
                    false
                }
                None => true,
            });
        });
        let ended = before - list.len();
        if ended != 0 {
            self.note_ended(ended);
        }
        ended
    }

    fn note_ended(&self, count: usize) {
        let lowerings = &self.lowerings;
        let was_last = lowerings.under_way.fetch_sub(count, Ordering::SeqCst) == count;
        lowerings.untold.store(true, Ordering::SeqCst);
        if was_last
            || !lowerings.duty.load(Ordering::SeqCst)
            || lowerings.resting.0.load(Ordering::SeqCst)
        {
            self.tell_watchers();
        }
    }

    /// Whether operations are with their lowerings: then the graph can go on, whatever else rests.
    pub(crate) fn has_operations_under_way(&self) -> bool {
        self.lowerings.under_way.load(Ordering::SeqCst) != 0
    }
}
