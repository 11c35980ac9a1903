//! Cancelling: a node that fails before it has started.
//!
//! # Protocol
//!
//! CANCELLED and STARTED are set by fetch_or; the first one decides. A canceller
//! that wins completes the token at once, so that whoever waits for it, by an
//! await or an explicit edge, goes on. Two things must not happen at once:
//!
//! *Order.* What follows in the timelines of the node's data follows its
//! predecessors too, through it. So links of data successors are kept, and the
//! epochs not left, until the node's own data predecessors are done. The
//! canceller says so by adding CANCEL_MARK to `pending` after everything else. If
//! the data half of the word was zero then, the canceller releases the data;
//! otherwise the predecessor that brings it to zero sees the mark in the result of
//! its own subtraction and does. One word decides, so exactly one of them does.
//! The mark is subtracted after the release and keeps the node alive till then.
//!
//! *Memory.* Predecessors still hold links into the node, or a queue holds its
//! index. The canceller adds a unit of its own to `pending` first. If the word was
//! zero, the node has arrived and sits in a queue: the later of CANCEL_DONE (set by
//! the canceller) and STARTED (set by whoever takes it out of the queue) frees it.
//! If not, the node arrives when the last unit is gone, the canceller's included,
//! and is freed there; CANCEL_DONE is set by then.

use std::sync::atomic::Ordering;

use super::complete::propagated;
use super::graph::{Graph, not_a_token};
use super::joiner::{Joiner, Room};
use super::lane::{Ending, Lane};
use super::node::{CANCEL_MARK, DATA_MASK, EXPLICIT_UNIT, GUARD, LinkId, Node, flag, kind, meta};
use super::release::Links;
use super::timeline::Timeline;
use super::token::Token;
use crate::abi::status::{
    NORN_E_CANCELLED, NORN_E_CLOSED, NORN_E_INVALID, NORN_E_TOO_LATE, norn_status,
};
use crate::abi::types::NORN_READ;
use crate::error::{Error, Result};
use crate::sync::mutant;

impl Graph {
    /// Cancels a task that has not started, a declared token, a promise or a group.
    pub(crate) fn cancel(&self, lane: &mut Lane, token: Token) -> Result<()> {
        let Some((index, node)) = self.live_node(token)? else {
            return Err(too_late("it is complete"));
        };
        let Some(pin) = self.observers.pin(token, node) else {
            return Err(too_late("it is complete"));
        };
        if self.is_being_submitted(node) {
            return Err(not_a_token(token, "was never issued"));
        }
        match node.kind() {
            kind::TASK | kind::DECLARED | kind::PROMISE => {}
            kind::GROUP => {
                drop(pin);
                return self.cancel_group(lane, index);
            }
            _ => {
                return Err(Error::new(
                    NORN_E_INVALID,
                    format!(
                        "token {:#x} is a hold or a reserved place; release or abandon it",
                        token.0
                    ),
                ));
            }
        }
        if node.has(flag::ON_ISSUE)
            && let Some(operation) = self.operation_of(node)
            && !operation.close_notes(&|token| self.is_complete(token))
        {
            return Err(too_late("what it follows is under way on a device"));
        }
        let before = node.set(flag::CANCELLED);
        drop(pin);
        if before & flag::STARTED != 0 {
            return Err(too_late("it has started"));
        }
        if before & (flag::CANCELLED | flag::BINDING) == 0 {
            self.cancel_claimed(lane, index);
        }
        // Otherwise another canceller, or the submission that binds the token, completes it.
        Ok(())
    }

    /// Whether a submission is still at work on a task that nobody can know of: one that finds it does so by a
    /// scan of all nodes, or by a guess. It must be left alone, for the submission does not look for others.
    fn is_being_submitted(&self, node: &Node) -> bool {
        // Acquire: who sees the kind sees the guard that was set before it.
        let state = node.state.load(Ordering::Acquire);
        let reachable = flag::HELD | flag::BINDING | flag::STARTED | flag::CANCELLED;
        // The units of predecessors that are quicker than the submission may borrow from GUARD, but then the
        // bit below it is set.
        state & (kind::MASK | reachable) == kind::TASK
            && node.pending.load(Ordering::Acquire) & (GUARD | CANCEL_MARK) != 0
            && !mutant!("cancelled_in_submission")
    }

    fn cancel_group(&self, lane: &mut Lane, done: u32) -> Result<()> {
        let Some(group) = self.groups.lock().of_done(done) else {
            return Err(too_late("the group has ended"));
        };
        let cause = self.new_cause(lane, done, NORN_E_CANCELLED, 0, "cancel", "");
        let (members, ended) = {
            let mut groups = self.groups.lock();
            (groups.members(group), groups.cancel(group, cause))
        };
        for member in members {
            // A member that has started or ended is left alone.
            let _ = self.cancel(lane, member);
        }
        self.end_group(lane, ended);
        Ok(())
    }

    /// Completes a node that this thread has cancelled before it started.
    pub(crate) fn cancel_claimed(&self, lane: &mut Lane, index: u32) {
        let cause = self.new_cause(lane, index, NORN_E_CANCELLED, 0, "cancel", "");
        self.end_unstarted(lane, index, Ending::Failed(cause));
    }

    /// Ends what nobody can complete any more with a status of its own (close, seal).
    pub(crate) fn end_abandoned(
        &self,
        lane: &mut Lane,
        token: Token,
        status: norn_status,
        text: &str,
    ) {
        let Ok(Some((index, node))) = self.live_node(token) else {
            return;
        };
        let Some(pin) = self.observers.pin(token, node) else {
            return;
        };
        let before = node.set(flag::CANCELLED);
        drop(pin);
        if before & (flag::STARTED | flag::CANCELLED | flag::BINDING) == 0 {
            let cause = self.new_cause(lane, index, status, 0, "close", text);
            self.end_unstarted(lane, index, Ending::Failed(cause));
        }
    }

    /// Takes back a task that its submitter alone knows of and that nothing follows, before it has started: it ends without a
    /// failure. False: it has started, or was cancelled; then it ends by itself, or has.
    pub(crate) fn withdraw(&self, lane: &mut Lane, token: Token) -> bool {
        let Ok(Some((index, node))) = self.live_node(token) else {
            return false;
        };
        let Some(pin) = self.observers.pin(token, node) else {
            return false;
        };
        if let Some(operation) = self.operation_of(node) {
            // Nothing follows it, so it need not wait for what it has noted.
            operation.close_notes(&|_| true);
        }
        let before = node.set(flag::CANCELLED);
        drop(pin);
        let is_ours = before & (flag::STARTED | flag::CANCELLED) == 0;
        if is_ours {
            self.end_unstarted(lane, index, Ending::Success);
        }
        is_ours
    }

    fn end_unstarted(&self, lane: &mut Lane, index: u32, ending: Ending) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        let arrived = node.pending.fetch_add(EXPLICIT_UNIT, Ordering::AcqRel) == 0;
        if node.pending.load(Ordering::Acquire) & DATA_MASK != 0 {
            self.keep_order(lane, index);
        }
        self.destroy_argument(node);
        node.cause.store(ending.cause(), Ordering::Relaxed);
        if state & flag::COUNTED != 0 {
            self.count_ending(lane, state, ending);
        }
        let kept = self.end_token(lane, index, ending, Links::ExplicitOnly);
        // Kept links hang on the argument word, which nothing uses any more.
        node.argument.store(kept.0 as usize, Ordering::Relaxed);
        if let Some(annex) = self.annex(node) {
            if let Some(operation) = annex.operation() {
                operation.cancelled(ending.cause());
            }
            let group = annex.group.load(Ordering::Relaxed);
            if group != 0 {
                let ended = self.groups.lock().leave(group, ending.cause());
                self.end_group(lane, ended);
            }
        }
        if matches!(state & kind::MASK, kind::PROMISE | kind::GROUP) {
            // These have no predecessors, and arrive nowhere.
            self.release_kept_links(lane, index);
            self.free_node(lane, index);
            return;
        }
        let before = node.pending.fetch_add(CANCEL_MARK, Ordering::AcqRel);
        if before & DATA_MASK == 0 || mutant!("double_release") {
            self.release_data_of_cancelled(lane, index);
            node.pending.fetch_sub(CANCEL_MARK, Ordering::AcqRel);
        }
        let done = node.set(flag::CANCEL_DONE);
        if arrived {
            if done & flag::STARTED != 0 {
                self.free_cancelled(lane, index);
            }
            return;
        }
        // Held, declared and just bound nodes still have their guard, which nobody else will take.
        let units = EXPLICIT_UNIT + (before & GUARD);
        if node.pending.fetch_sub(units, Ordering::AcqRel) == units {
            lane.ripple.arrivals.push(index);
        }
    }

    /// The token is about to show complete although its data predecessors are not done. Later accesses must not
    /// take that for the end of its place: a gate behind the place becomes the writer they wait for.
    fn keep_order(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let token = node.token(self.id, index);
        let mut data = self.data.lock();
        let parent = if node.has(flag::CHILD) {
            self.annex(node)
                .map_or(0, |annex| annex.parent.load(Ordering::Relaxed))
        } else {
            0
        };
        let mut written = Vec::new();
        self.for_each_access(index, |datum, bits, _| {
            if bits & meta::WRITES != 0 && bits & meta::VIA_PLACE == 0 {
                written.push(datum);
            }
        });
        for datum in written {
            // Without memory for a gate the order of later accesses is lost; the token fails all the same.
            let Ok(gate) = self.new_internal(lane, kind::GATE) else {
                return;
            };
            let mut joiner = Joiner::new(self, gate);
            joiner.datum = datum;
            let _ = joiner.wait_for(
                lane,
                token,
                Room::Slot(0),
                NORN_READ as u32 | meta::PROPAGATES,
            );
            let behind = joiner.node.token(self.id, gate);
            joiner.let_go(lane);
            let replace = |timeline: &mut Timeline| {
                if timeline.writer == token {
                    timeline.writer = behind;
                }
                if timeline.base == token {
                    timeline.base = behind;
                }
            };
            // Pieces cut from the datum since have inherited its writer.
            let below: Vec<u32> = data
                .indices()
                .filter(|other| data.lies_within(*other, datum))
                .collect();
            for other in below {
                if parent == 0 {
                    replace(&mut data.get_mut(other).timeline);
                } else if let Some(annex) = self.annex(self.nodes.get(parent)) {
                    // SAFETY: the placing lock is held.
                    let domain = unsafe { annex.domain() };
                    if let Some(timeline) =
                        domain.as_mut().and_then(|domain| domain.get_mut(&other))
                    {
                        replace(timeline);
                    }
                }
            }
        }
    }

    /// The last data predecessor of a cancelled node is done.
    #[cold]
    pub(crate) fn release_cancelled(&self, lane: &mut Lane, index: u32) {
        self.release_data_of_cancelled(lane, index);
        let node = self.nodes.get(index);
        if node.pending.fetch_sub(CANCEL_MARK, Ordering::AcqRel) == CANCEL_MARK {
            lane.ripple.arrivals.push(index);
        }
    }

    fn release_data_of_cancelled(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let ending = propagated(node.cause.load(Ordering::Relaxed));
        self.release_accesses(lane, index, ending);
        self.end_fills(lane, node, ending);
        self.release_kept_links(lane, index);
    }

    fn release_kept_links(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let kept = LinkId(node.argument.swap(0, Ordering::AcqRel) as u32);
        self.release_links(lane, kept, node.cause.load(Ordering::Relaxed), Links::All);
    }

    /// A cancelled node was met where it would have run. `before`: its state before STARTED was set.
    #[cold]
    pub(crate) fn bury_cancelled(&self, lane: &mut Lane, index: u32, before: u32) {
        if before & flag::CANCEL_DONE != 0 {
            self.free_cancelled(lane, index);
        }
    }

    fn free_cancelled(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        if node.has(flag::CHILD)
            && let Some(annex) = self.annex(node)
        {
            let parent = annex.parent.load(Ordering::Relaxed);
            self.drop_holds(lane, parent, 1);
        }
        self.free_node(lane, index);
    }

    /// Tokens that only somebody outside the graph can complete: promises, declared tokens without a task,
    /// held tasks, reserved places not filled.
    pub(crate) fn unserved(&self) -> Vec<(Token, u32)> {
        self.nodes
            .indices()
            .filter_map(|index| {
                let node = self.nodes.get(index);
                let token = node.token(self.id, index);
                let state = node.load_state();
                let unserved = match state & kind::MASK {
                    kind::DECLARED | kind::PROMISE => true,
                    kind::TASK => state & flag::HELD != 0,
                    kind::PLACE => state & (flag::FILLED | flag::HOLD) == 0,
                    _ => false,
                };
                let over = flag::CANCELLED | flag::STARTED;
                (unserved && state & over == 0).then_some((token, state))
            })
            .collect()
    }

    /// Fails everything that only somebody outside could complete. Returns whether there was any.
    pub(crate) fn close_unserved(&self, lane: &mut Lane) -> bool {
        let unserved = self.unserved();
        for (token, state) in &unserved {
            match state & kind::MASK {
                kind::PLACE => {
                    let cause = self.new_cause(
                        lane,
                        token.index(),
                        NORN_E_CLOSED,
                        0,
                        "close",
                        &format!(
                            "the first writer or reserved place of {} is missing",
                            self.place_label(token.index())
                        ),
                    );
                    self.fail_place(lane, *token, cause);
                }
                kind_of => {
                    let text = match kind_of {
                        kind::DECLARED => "declared, but no task was ever bound to it",
                        kind::PROMISE => "promised, but never fulfilled",
                        _ => "held, but never started",
                    };
                    self.end_abandoned(lane, *token, NORN_E_CLOSED, text);
                }
            }
        }
        let open: Vec<u32> = self.groups.lock().open_ones();
        for group in &open {
            let done = self.groups.lock().done(*group);
            let cause = self.new_cause(
                lane,
                done,
                NORN_E_CLOSED,
                0,
                "close",
                "the group was never closed",
            );
            let ended = self.groups.lock().cancel(*group, cause);
            self.end_group(lane, ended);
        }
        !unserved.is_empty() || !open.is_empty()
    }

    /// Cancels every task that has not started, except those with `spared` flags.
    pub(crate) fn cancel_all(&self, lane: &mut Lane, spared: u32) {
        self.cancel_tasks(lane, |node| !node.has(spared));
    }

    /// Cancels the tasks that somebody awaits, except cleanup.
    pub(crate) fn cancel_awaited(&self, lane: &mut Lane) {
        self.cancel_tasks(lane, |node| {
            node.load_successors().is_observed() && !node.has(flag::RUN_ALWAYS)
        });
    }

    fn cancel_tasks(&self, lane: &mut Lane, which: impl Fn(&Node) -> bool) {
        for index in self.nodes.indices() {
            let node = self.nodes.get(index);
            let token = node.token(self.id, index);
            let state = node.load_state();
            if state & kind::MASK == kind::TASK
                && state & (flag::STARTED | flag::CANCELLED) == 0
                && which(node)
            {
                let _ = self.cancel(lane, token);
                self.settle(lane);
            }
        }
    }
}

#[cold]
fn too_late(why: &str) -> Error {
    Error::new(NORN_E_TOO_LATE, format!("cannot cancel: {why}"))
}
