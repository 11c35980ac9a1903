//! Completion, and everything that follows from it.
//!
//! `settle` draws all consequences of what a lane's ripple holds: nodes that
//! arrive, nodes that end. It works on lists, never by recursion, so that
//! neither a chain of ten million failures nor a deep graph uses stack.

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use super::epoch::Step;
use super::graph::Graph;
use super::group::Ended;
use super::lane::{Ending, Lane, count};
use super::node::{DATA_UNIT, INLINE_SLOTS, LinkId, Node, Successors, flag, kind, meta};
use super::release::Links;
use super::sole::{Shared, Words};
use super::token::Token;
use crate::abi::status::{NORN_E_CANCELLED, NORN_E_CLOSED};
use crate::abi::types::NORN_WRITE;
use crate::sync::mutant;

impl Graph {
    /// Draws all consequences of the lane's ripple. What may run is in `ripple.runnable` afterwards.
    #[inline]
    pub(crate) fn settle(&self, lane: &mut Lane) {
        loop {
            if let Some((index, ending)) = lane.ripple.endings.pop() {
                self.complete(lane, index, ending);
            } else if let Some(index) = lane.ripple.arrivals.pop() {
                self.arrive(lane, index);
            } else {
                return;
            }
        }
    }

    /// A node's last predecessor was satisfied.
    #[inline]
    fn arrive(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        if state & flag::CANCELLED != 0 {
            self.bury_cancelled(lane, index, node.set(flag::STARTED));
            return;
        }
        let cause = node.cause.load(Ordering::Relaxed);
        match state & kind::MASK {
            kind::TASK | kind::COMBINE | kind::CALLBACK => {
                if cause != 0 && state & flag::RUN_ALWAYS == 0 && !self.is_owed(node) {
                    let before = node.set(flag::STARTED);
                    if before & flag::CANCELLED != 0 {
                        self.bury_cancelled(lane, index, before);
                    } else {
                        lane.ripple.endings.push((index, Ending::Propagated(cause)));
                    }
                } else {
                    if state & kind::MASK == kind::CALLBACK {
                        // Counted from now on only: a drain does not wait for what the callback waits for.
                        let phase = usize::from(state & flag::ODD_PHASE != 0);
                        count(&lane.counters.submitted[phase], 1);
                    }
                    lane.ripple.runnable.push(index);
                }
            }
            kind::GATE => lane.ripple.endings.push((index, propagated(cause))),
            kind::PLACE => self.arrive_place(lane, index, cause),
            // A declared token, promise or group is completed by its owner, and
            // arrives here only when it was cancelled (above).
            _ => {}
        }
    }

    /// A place has been reached in its timelines.
    fn arrive_place(&self, lane: &mut Lane, index: u32, cause: u32) {
        let node = self.nodes.get(index);
        let before = node.state.fetch_or(flag::ARRIVED, Ordering::SeqCst);
        if before & flag::FILLED != 0 {
            let filler = self
                .annex(node)
                .map_or(0, |annex| annex.filled_by.load(Ordering::Relaxed));
            if filler != 0 {
                let overwrites = node.argument.load(Ordering::Relaxed) == NORN_WRITE as usize;
                if cause != 0 && !overwrites {
                    self.nodes.get(filler).doom(cause);
                }
                self.satisfy(lane, filler, DATA_UNIT);
            }
        }
        if before & flag::ABANDONED != 0 {
            lane.ripple.endings.push((index, propagated(cause)));
        }
    }

    /// Draws the consequences of a step of an epoch: satisfies the node that waits for it, frees it.
    #[inline(never)]
    pub(crate) fn epoch_stepped(&self, lane: &mut Lane, index: u32, step: Step) {
        let epoch = self.epochs.get(index);
        let mut over = step.over;
        if step.satisfied {
            let waiter = epoch.waiter();
            let node = self.nodes.get(waiter);
            let cause = epoch.cause();
            if cause != 0 {
                node.doom(cause);
            }
            // Only a waiter that joins at issue is told before the last member has ended.
            if !step.over {
                self.hand_notes(lane, waiter, epoch);
                over = epoch.told();
            }
            self.satisfy_node(lane, waiter, node, DATA_UNIT);
        }
        if over {
            self.epochs.give(&mut lane.epochs, index);
        }
    }

    /// Completes a node whose STARTED flag (or kind) makes the caller its only owner.
    #[inline]
    fn complete(&self, lane: &mut Lane, index: u32, ending: Ending) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        let mut ending = ending;
        self.destroy_argument(node);
        let has_annex = node.annex.load(Ordering::Relaxed) != 0;
        if has_annex {
            ending = self.end_domain(lane, node, ending);
        }
        self.release_accesses(lane, index, ending);
        plant!("complete.accesses_released");
        if has_annex {
            self.end_fills(lane, node, ending);
        }
        if state & flag::COUNTED != 0 {
            self.count_ending(lane, state, ending);
        }
        if mutant!("early_reuse") {
            self.nodes.give(&mut lane.nodes, index);
        }
        let late = self.end_token(lane, index, ending, Links::All);
        debug_assert_eq!(late, LinkId::NONE);
        if has_annex {
            self.leave_family(lane, node, state, ending);
        }
        if state & kind::MASK == kind::COMBINE {
            self.combining.fetch_sub(1, Ordering::SeqCst);
        }
        self.free_node(lane, index);
    }

    /// Runs the application's destructor of the argument, once.
    #[inline]
    pub(crate) fn destroy_argument(&self, node: &Node) {
        let destroy = node.destroy.load(Ordering::Relaxed);
        if destroy != 0 {
            node.destroy.store(0, Ordering::Relaxed);
            let argument = node.argument.load(Ordering::Relaxed) as *mut c_void;
            plant!("drop.call");
            // SAFETY: the number came from a `norn_drop_fn` at submit, and the application promised that it
            // fits the argument. The node's only owner calls it once.
            unsafe {
                let destroy: unsafe extern "C" fn(*mut c_void) = core::mem::transmute(destroy);
                destroy(argument);
            }
            plant!("drop.called");
        }
    }

    /// Ends the accesses of a node: epochs, COMMUTE turns, private copies that were not deposited.
    #[inline]
    pub(crate) fn release_accesses(&self, lane: &mut Lane, index: u32, ending: Ending) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        for slot in &node.slots[..Node::slots_in(state).min(INLINE_SLOTS)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            if epoch != 0 {
                let bits = slot.meta.load(Ordering::Relaxed);
                self.leave_epoch(lane, Shared, epoch, bits, ending);
            }
        }
        if state & (flag::MORE_ACCESSES | flag::COMMUTES) != 0 {
            self.release_special(lane, index, state, ending);
        }
    }

    #[inline(always)]
    pub(crate) fn leave_epoch(
        &self,
        lane: &mut Lane,
        words: impl Words,
        epoch: u32,
        bits: u32,
        ending: Ending,
    ) {
        let cause = if bits & meta::WRITES != 0 {
            ending.cause()
        } else {
            0
        };
        let step = if bits & meta::ISSUED == 0 {
            self.epochs.get(epoch).leave(words, cause)
        } else {
            self.epochs.get(epoch).leave_issued(cause)
        };
        if step != Step::default() {
            self.epoch_stepped(lane, epoch, step);
        }
    }

    fn release_special(&self, lane: &mut Lane, index: u32, state: u32, ending: Ending) {
        let node = self.nodes.get(index);
        if state & flag::COMMUTES != 0 {
            for key in self.commute_keys(index) {
                self.release_commute(lane, index, key);
            }
        }
        if state & flag::MORE_ACCESSES != 0
            && let Some(annex) = self.annex(node)
        {
            // SAFETY: the caller owns the node.
            for more in &unsafe { annex.body() }.more {
                if more.epoch != 0 && more.meta & meta::RELEASED == 0 {
                    self.leave_epoch(lane, Shared, more.epoch, more.meta, ending);
                }
            }
        }
    }

    /// Hands a COMMUTE datum to the next who can take it.
    pub(crate) fn release_commute(&self, lane: &mut Lane, index: u32, key: u64) {
        let mut granted = Vec::new();
        self.commutes
            .lock()
            .release(index, key, |queued| self.commute_keys(queued), &mut granted);
        for next in granted {
            let node = self.nodes.get(next);
            node.set(flag::GRANTED);
            node.clear(flag::QUEUED_COMMUTE);
            lane.ripple.runnable.push(next);
        }
    }

    /// What a node must hold alone before its body starts.
    pub(crate) fn commute_keys(&self, index: u32) -> Vec<u64> {
        let node = self.nodes.get(index);
        let domain = if node.has(flag::CHILD) {
            self.annex(node)
                .map_or(0, |annex| annex.parent.load(Ordering::Relaxed))
        } else {
            0
        };
        let mut keys = Vec::new();
        self.for_each_access(index, |datum, bits, _| {
            if bits & meta::MODE == crate::abi::types::NORN_COMMUTE as u32
                && bits & meta::RELEASED == 0
            {
                keys.push(super::commute::key(domain, datum));
            }
        });
        keys
    }

    /// Ends the timelines of a node's children. A datum that the last writing child left failed fails the
    /// parent too: its declared result does not exist.
    fn end_domain(&self, lane: &mut Lane, node: &Node, ending: Ending) -> Ending {
        let Some(annex) = self.annex(node).filter(|annex| annex.has_domain()) else {
            return ending;
        };
        let data = self.data.lock();
        plant!("complete.domain_locked");
        // SAFETY: the placing lock is held.
        let Some(mut domain) = unsafe { annex.domain() }.take() else {
            return ending;
        };
        let mut cause = 0;
        let mut data_indices: Vec<u32> = domain.keys().copied().collect();
        data_indices.sort_unstable();
        for datum in data_indices {
            if let Some(timeline) = domain.get_mut(&datum) {
                if cause == 0 && !timeline.writer.is_zero() {
                    cause = self.cause_of_writer(timeline.writer);
                }
                timeline.retire(self, lane);
            }
        }
        drop(data);
        if ending == Ending::Success && cause != 0 {
            Ending::Propagated(cause)
        } else {
            ending
        }
    }

    /// The cause that the last writer of a domain leaves behind, 0 if none. All children are done; but where pieces were
    /// joined meanwhile the writer is a gate, which whoever joined them may not have completed yet. What it is doomed by
    /// was set before the last child's end.
    fn cause_of_writer(&self, writer: Token) -> u32 {
        let node = self.nodes.get(writer.index());
        let doom = node.cause.load(Ordering::Acquire);
        if node.load_successors().generation() == writer.generation() {
            return doom;
        }
        // Entered before the generation moves on.
        self.failures.cause_of(writer)
    }

    /// Completes the reserved places that a task filled.
    pub(crate) fn end_fills(&self, lane: &mut Lane, node: &Node, ending: Ending) {
        let Some(annex) = self.annex(node).filter(|annex| annex.is_used()) else {
            return;
        };
        // SAFETY: the caller owns the node.
        let fills = &unsafe { annex.body() }.fills;
        for place in fills.iter().rev() {
            let ended = self.nodes.get(*place).set(flag::STARTED);
            if ended & flag::STARTED == 0 {
                lane.ripple
                    .endings
                    .push((*place, propagated(ending.cause())));
            }
        }
    }

    /// Moves the token on and releases those that waited for it. Returns the links kept for later.
    #[inline]
    pub(crate) fn end_token(
        &self,
        lane: &mut Lane,
        index: u32,
        ending: Ending,
        which: Links,
    ) -> LinkId {
        let node = self.nodes.get(index);
        let cause = ending.cause();
        let now = node.load_successors();
        if cause != 0 {
            let token = Token::new(self.id, index, now.generation());
            self.failures
                .insert(token, cause, matches!(ending, Ending::Propagated(_)));
        }
        // EVER_FAILED is written by the completer alone and the generation too, so both are still as
        // loaded; the head and OBSERVED come out of the swap.
        let next = now.moved_on(cause != 0);
        let taken = Successors(node.successors.swap(next.0, Ordering::AcqRel));
        plant!("complete.token_moved_on");
        let kept = self.release_links(lane, taken.head(), cause, which);
        plant!("complete.links_released");
        if taken.is_observed() {
            self.observers
                .tell(Token::new(self.id, index, taken.generation()));
        }
        kept
    }

    #[inline]
    pub(crate) fn count_ending(&self, lane: &Lane, state: u32, ending: Ending) {
        match ending {
            Ending::Success => {}
            Ending::Failed(cause) => match self.failures.cause(cause).status {
                NORN_E_CANCELLED => count(&lane.counters.cancelled, 1),
                NORN_E_CLOSED => {
                    self.failures.dooms_task(cause);
                    count(&lane.counters.cancelled, 1);
                }
                _ => count(&lane.counters.failed, 1),
            },
            Ending::Propagated(cause) => {
                self.failures.dooms_task(cause);
                count(&lane.counters.propagated, 1);
            }
        }
        let phase = usize::from(state & flag::ODD_PHASE != 0);
        count(&lane.counters.completed[phase], 1);
    }

    /// Tells group and parent.
    fn leave_family(&self, lane: &mut Lane, node: &Node, state: u32, ending: Ending) {
        let Some(annex) = self.annex(node) else {
            return;
        };
        let group = annex.group.load(Ordering::Relaxed);
        if group != 0 {
            let ended = self.groups.lock().leave(group, ending.cause());
            self.end_group(lane, ended);
        }
        if state & flag::CHILD != 0 {
            let parent = annex.parent.load(Ordering::Relaxed);
            self.drop_holds(lane, parent, 1);
        }
    }

    /// Completes the `done` token of a group that has ended.
    pub(crate) fn end_group(&self, lane: &mut Lane, ended: Option<Ended>) {
        if let Some(ended) = ended
            && self.nodes.get(ended.done).set(flag::STARTED) & flag::STARTED == 0
        {
            // A group that was cancelled or closed itself is its own first cause. (An older failure may have been
            // of the same slot.)
            let done = self.nodes.get(ended.done).token(self.id, ended.done);
            let own = ended.cause != 0 && self.failures.cause(ended.cause).token == done;
            let ending = if own {
                Ending::Failed(ended.cause)
            } else {
                propagated(ended.cause)
            };
            lane.ripple.endings.push((ended.done, ending));
        }
    }

    /// Takes holds off a node; the last one completes it.
    pub(crate) fn drop_holds(&self, lane: &mut Lane, index: u32, holds: u32) {
        let node = self.nodes.get(index);
        if node.holds.fetch_sub(holds, Ordering::AcqRel) == holds {
            self.complete_ended(lane, index);
        }
    }

    /// The body has ended and the last hold is gone.
    pub(crate) fn complete_ended(&self, lane: &mut Lane, index: u32) {
        let ending = self.own_ending(self.nodes.get(index));
        lane.ripple.endings.push((index, ending));
    }

    /// How a node ends by its own `cause`, which its body's end has set.
    pub(crate) fn own_ending(&self, node: &Node) -> Ending {
        match node.cause.load(Ordering::Relaxed) {
            0 => Ending::Success,
            cause => {
                // An operation may end by another one's failure.
                let failed = self.failures.cause(cause).token;
                let own = core::ptr::eq(self.nodes.get(failed.index()), node)
                    && failed.generation() == node.load_successors().generation();
                if own {
                    Ending::Failed(cause)
                } else {
                    Ending::Propagated(cause)
                }
            }
        }
    }
}

pub(crate) fn propagated(cause: u32) -> Ending {
    if cause == 0 {
        Ending::Success
    } else {
        Ending::Propagated(cause)
    }
}
