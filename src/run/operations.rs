//! Operations: submitted to the graph, carried out by a lowering.

use std::sync::Arc;

use super::runtime::{MarkOnPanic, Runtime};
use super::seat;
use crate::abi::types::{norn_access, norn_task, norn_token};
use crate::error::Result;
use crate::order::body::Begin;
use crate::order::graph::Graph;
use crate::order::lane::count;
use crate::order::operation::{Operation, Outcome};
use crate::order::plain_operation::is_plain_operation;
use crate::order::token::Token;
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
        let mut operation = Some(operation);
        if let Some(token) = self.submit_plain_operation(how, accesses, after, &mut operation) {
            return Ok(token);
        }
        let body = self.body();
        match operation {
            Some(operation) => self
                .act(|graph, lane| {
                    graph.submit_operation(lane, body, how, accesses, after, operation)
                })
                .map(norn_token::from),
            None => unreachable!("an operation was taken and has no token"),
        }
    }

    /// As `submit_operation` on the straight path. None: it has to go the general way; nothing was done, and the operation is
    /// still there.
    fn submit_plain_operation(
        &self,
        how: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        operation: &mut Option<Arc<dyn Operation>>,
    ) -> Option<norn_token> {
        let plain = is_plain_operation(how, accesses, after);
        if self.one_thread || !plain || self.graph().defect.is_caught() {
            return None;
        }
        let slot = seat::slot_in(self);
        // SAFETY: this thread's, and no call around this one uses it.
        let lane = unsafe { self.free_lane(slot)?.as_mut() };
        let body = self.body();
        // Whoever lets changes end finds the operation with its lowering.
        count(&lane.counters.changes, 1);
        let bomb = MarkOnPanic(self);
        let graph = self.graph();
        let submitted = graph.submit_plain_operation(lane, body, how, accesses, after, operation);
        if submitted.as_ref().is_some_and(|new| new.runnable) {
            let node = submitted.as_ref().map_or(0, |new| new.token.index());
            // SAFETY: it has arrived, and is begun by its lowering only, which does not have it yet.
            if let Some(arrived) = unsafe { graph.own_operation(graph.nodes.get(node)) } {
                self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
                if !arrived.arrive_at_once(node) && arrived.clone().arrive(node) {
                    self.offer_duty();
                }
            }
        } else if !lane.ripple.arrivals.is_empty() {
            self.settle_submitted(lane);
        }
        core::mem::forget(bomb);
        count(&lane.counters.changes, 1);
        if slot.is_none() {
            self.wake_watchers_of_change();
        }
        submitted.map(|new| new.token.into())
    }

    /// Enters an operation that waits for nothing, and that the calling lowering carries out at once and ends: see
    /// `Graph::enter_begun_operation`. None: it has to go the general way; nothing was done.
    #[inline]
    pub(crate) fn enter_begun(
        &self,
        how: &norn_task,
        make: impl FnOnce() -> Arc<dyn Operation>,
    ) -> Option<Token> {
        if self.one_thread || self.graph().defect.is_caught() {
            return None;
        }
        let slot = seat::slot_in(self);
        // SAFETY: this thread's, and no call around this one uses it.
        let lane = unsafe { self.free_lane(slot)?.as_mut() };
        let body = self.body();
        count(&lane.counters.changes, 1);
        let bomb = MarkOnPanic(self);
        let token = self.graph().enter_begun_operation(lane, body, how, make);
        if token.is_some() {
            self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
        }
        core::mem::forget(bomb);
        count(&lane.counters.changes, 1);
        if slot.is_none() {
            self.wake_watchers_of_change();
        }
        token
    }

    /// Takes back an operation that the calling thread has submitted and nobody else knows of: it will not be begun, and
    /// leaves no failure. False: it was begun before, and has ended now.
    pub(crate) fn take_back(&self, token: norn_token) -> bool {
        let token = Token::from(token);
        if self.act(|graph, lane| graph.withdraw(lane, token)) {
            // Its lowering may still hold what is left of it.
            self.offer_duty();
            return true;
        }
        // Whoever has begun it, or cancelled it, is about to end it.
        while !self.graph().is_complete(token) {
            crate::sync::thread::yield_now();
        }
        false
    }

    /// Whether the operation of a token is issued or has ended.
    pub(crate) fn is_issued_or_complete(&self, token: norn_token) -> bool {
        let token = Token::from(token);
        self.graph().is_issued(token) || self.graph().is_complete(token)
    }

    /// Gives an operation that has arrived to its lowering. What `operation` refers to may be gone afterwards.
    pub(crate) fn hand_over(&self, node: u32, operation: &Arc<dyn Operation>) {
        self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
        if !operation.arrive_early(node) && operation.clone().arrive(node) {
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
                graph.end_any_operation(lane, node, &outcome);
                graph.settle(lane);
                ended += 1;
            }
        });
        if ended != 0 {
            self.note_ended(ended);
        }
    }

    /// Ends those of a list that `ending` has an outcome for, one after the other in one change, and takes them out of it.
    /// Each sees what the ends of those before it have brought. Gives their number; `ended` receives them.
    pub(crate) fn finish_operations<T>(
        &self,
        list: &mut Vec<T>,
        mut ended: impl FnMut(T),
        ending: impl for<'a> Fn(&Graph, &'a T) -> Option<(u32, Outcome<'a>)>,
    ) -> usize {
        let before = list.len();
        self.act(|graph, lane| {
            for one in core::mem::take(list) {
                let Some((node, outcome)) = ending(graph, &one) else {
                    list.push(one);
                    continue;
                };
                graph.end_any_operation(lane, node, &outcome);
                graph.settle(lane);
                ended(one);
            }
        });
        let ended = before - list.len();
        if ended != 0 {
            self.note_ended(ended);
        }
        ended
    }

    fn note_ended(&self, count: usize) {
        let lowerings = &self.lowerings;
        if lowerings.under_way.fetch_sub(count, Ordering::SeqCst) == count {
            // What was put off before is told with it. Read first: mostly there is nothing.
            if lowerings.untold.load(Ordering::SeqCst) {
                lowerings.untold.store(false, Ordering::SeqCst);
            }
            self.wake_watchers();
            return;
        }
        lowerings.untold.store(true, Ordering::SeqCst);
        if !lowerings.duty.load(Ordering::SeqCst) || lowerings.resting.0.load(Ordering::SeqCst) {
            self.tell_watchers();
        }
    }

    /// Whether operations are with their lowerings: then the graph can go on, whatever else rests.
    pub(crate) fn has_operations_under_way(&self) -> bool {
        self.lowerings.under_way.load(Ordering::SeqCst) != 0
    }
}
