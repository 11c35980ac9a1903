//! Operations: nodes without a body of the application's, carried out by a lowering (a device's queues, the network).
//!
//! An operation is a TASK whose `run` is 0 and whose annex holds an `Operation`: everything that holds for tasks
//! (edges, accesses, groups, late binding, cancel, reports) holds for it. What differs is who carries it out:
//!
//! 1. Its last predecessor is satisfied: it *arrives*. The scheduler hands its node to `Operation::arrive`,
//!    which only queues it.
//! 2. Its lowering begins it (`Runtime::begin_operation`) in the moment before it is issued: from then on it
//!    cannot be cancelled. The answer may be that it was cancelled, or that it waits for its turn at COMMUTE
//!    data; then it arrives again.
//! 3. Its lowering ends it (`Runtime::finish_operation`) when its effects are visible, from any thread.
//!
//! In between, an operation of a device is *issued*: consumers on devices need not wait for its end (`issue`).
//!
//! An operation whose predecessor has failed ends as propagated without arriving, unless it `is_owed`: somebody else
//! (another rank) counts on it, so its lowering gets it and finds the cause with `Graph::doom_of`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::graph::Graph;
use super::lane::{Ending, Lane};
use super::node::{BODY_SHARE, Node, flag, kind};
use super::token::Token;
use crate::abi::status::{NORN_E_DEADLOCK, norn_status};

/// What a lowering carries out. Dropped when its node is given back, however it ended.
pub(crate) trait Operation: Send + Sync {
    /// All predecessors are done, and nothing has begun. Queues `node` for the lowering, and does nothing else: it is
    /// called in the middle of a change of the graph, by any thread. Returns whether a pass is wanted for it: not where the
    /// thread that declares it is about to begin it itself.
    fn arrive(self: Arc<Self>, node: u32) -> bool;

    /// As `arrive`, where that is known to the thread that declares it and nothing is queued. False: nothing was done, it is to
    /// `arrive`.
    fn arrive_early(&self, _node: u32) -> bool {
        false
    }

    /// As `arrive_early`, by that very thread: nothing has kept it from arriving, and nobody else has it.
    fn arrive_at_once(&self, _node: u32) -> bool {
        false
    }

    /// The token was cancelled or closed before the operation was begun; it will not arrive any more. Queues what is
    /// owed to others, and does nothing else, as `arrive`.
    fn cancelled(self: Arc<Self>, cause: u32);

    /// Whether it is handed to its lowering even if a predecessor has failed.
    fn is_owed(&self) -> bool {
        false
    }

    /// The operation that is issued only after this one has been, although no edge of the graph says so: they share a
    /// queue of the lowering's. For the deadlock search; called under the placing lock.
    fn issued_before(&self) -> Option<Token> {
        None
    }

    /// The operations that must be issued before this one; asked while it is being submitted.
    fn issued_after(&self) -> Vec<Token> {
        Vec::new()
    }

    /// What a cycle through that order is, and what helps against it.
    fn order_trouble(&self) -> (norn_status, &'static str) {
        (NORN_E_DEADLOCK, "")
    }

    /// Whether its lowering can make it wait, on the device, for a producer that is issued; see `issue`.
    fn joins_at_issue(&self) -> bool {
        false
    }

    /// A producer that it would wait for is issued. True: it waits for that on the device, and ends as propagated if
    /// the producer fails and `propagates`. False: it takes no more notes. Does nothing else, as `arrive`.
    fn note(&self, _producer: Token, _propagates: bool) -> bool {
        false
    }

    /// It is about to be cancelled and takes no more notes. False: it has noted a producer that is not complete, and
    /// cannot be cancelled.
    fn close_notes(&self, _is_complete: &dyn Fn(Token) -> bool) -> bool {
        true
    }

    /// Index of the device that carries it out, for the record of its failure; -1: none.
    fn device(&self) -> i32 {
        -1
    }

    /// What it is and what it waits for, for dumps and the watchdog: "send of 8 B to rank 3, key 7: posted".
    fn describe(&self) -> String;
}

/// How an operation has ended.
pub(crate) enum Outcome<'a> {
    Success,
    /// It is a first cause of its own.
    Failed {
        status: norn_status,
        code: i32,
        /// What failed, for the record: "MPI_Isend".
        operation: &'static str,
        text: &'a str,
    },
    /// It failed because of this cause.
    Propagated(u32),
}

impl Graph {
    /// The operation of a node that lives, if it is one.
    pub(crate) fn operation_of(&self, node: &Node) -> Option<Arc<dyn Operation>> {
        let state = node.load_state();
        if state & (kind::MASK | flag::PARTICULAR) != kind::TASK | flag::PARTICULAR
            || node.run.load(Ordering::Relaxed) != 0
        {
            return None;
        }
        self.annex(node)?.operation()
    }

    /// As `operation_of`, for who keeps the node from ending.
    ///
    /// # Safety
    /// As `Annex::own_operation`.
    #[inline(always)]
    pub(crate) unsafe fn own_operation(&self, node: &Node) -> Option<&Arc<dyn Operation>> {
        let state = node.load_state();
        if state & (kind::MASK | flag::PARTICULAR) != kind::TASK | flag::PARTICULAR
            || node.run.load(Ordering::Relaxed) != 0
        {
            return None;
        }
        // SAFETY: passed on from the caller.
        unsafe { self.annex(node)?.own_operation() }
    }

    /// The cause that dooms an operation which has arrived, 0 if none.
    pub(crate) fn doom_of(&self, node: u32) -> u32 {
        self.nodes.get(node).cause.load(Ordering::Relaxed)
    }

    /// Whether a doomed node is handed on all the same.
    #[cold]
    pub(crate) fn is_owed(&self, node: &Node) -> bool {
        // SAFETY: the caller makes it arrive, and is its only owner.
        unsafe { self.own_operation(node) }.is_some_and(|operation| operation.is_owed())
    }

    /// An operation that was begun has ended.
    pub(crate) fn end_operation(&self, lane: &mut Lane, index: u32, outcome: &Outcome<'_>) {
        let node = self.nodes.get(index);
        let ending = match *outcome {
            Outcome::Success => Ending::Success,
            Outcome::Failed {
                status,
                code,
                operation,
                text,
            } => Ending::Failed(self.new_cause(lane, index, status, code, operation, text)),
            Outcome::Propagated(cause) => Ending::Propagated(cause),
        };
        node.cause.store(ending.cause(), Ordering::Relaxed);
        // An enqueue body may have left holds and children.
        self.end_body_with_annex(lane, index, ending.cause());
        if node.holds.load(Ordering::Acquire) == BODY_SHARE {
            lane.ripple.endings.push((index, ending));
        } else {
            node.set(flag::ENDED);
            self.drop_holds(lane, index, BODY_SHARE);
        }
    }
}
