//! The straight path of plain operations: what `plain` is for tasks. An operation is plain if it asks for nothing that a
//! plain task may not have, but for the place and the stream of its lowering.
//!
//! It differs from a plain task in its annex, which holds what its lowering carries out, and in that it may join at issue
//! (`issue`). From its arrival on it goes the way of all operations.

use std::sync::Arc;

use super::graph::Graph;
use super::lane::{Ending, Lane, count};
use super::node::{BODY_SHARE, GUARD, INLINE_SLOTS, Node, flag, kind};
use super::operation::{Operation, Outcome};
use super::plain::{NOT_PLAIN, Submitted};
use super::plain_places::{Entrant, Place};
use super::release::Links;
use super::sole::Shared;
use super::token::Token;
use crate::abi::types::*;
use crate::sync::atomic::Ordering;

/// Whether nothing in the description of an operation asks for more than the straight path does.
#[inline(always)]
pub(crate) fn is_plain_operation(
    how: &norn_task,
    accesses: &[norn_access],
    after: &[norn_token],
) -> bool {
    let wishes = u64::from(how.flags | how.arg_bytes)
        | how.group.id
        | how.r#as.id
        | how.run.map_or(0, |run| run as usize as u64);
    let has_argument = !how.arg.is_null() || how.drop.is_some();
    wishes == 0
        && how.cpus as u32 <= 1
        && matches!(how.place.kind, NORN_PLACE_ANY | NORN_PLACE_DEVICE)
        && (how.enqueue.is_some() || !has_argument)
        && accesses.len() + after.len() <= INLINE_SLOTS
}

impl Graph {
    /// Submits an operation for which `is_plain_operation` holds. None: something else about it is not; nothing was done,
    /// and `operation` is still there.
    #[inline(never)]
    pub(crate) fn submit_plain_operation(
        &self,
        lane: &mut Lane,
        body: u32,
        how: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        operation: &mut Option<Arc<dyn Operation>>,
    ) -> Option<Submitted> {
        let odd = self.plain_phase(body)?;
        for token in after {
            self.live_node(Token::from(*token)).ok()?;
        }
        let at_issue = operation.as_ref()?.joins_at_issue();
        let state = kind::TASK
            | flag::COUNTED
            | flag::PARTICULAR
            | Node::slot_bits(accesses.len() + after.len())
            | if odd { flag::ODD_PHASE } else { 0 }
            | if at_issue { flag::ON_ISSUE } else { 0 };
        let in_stock = self.nodes.stock(&mut lane.nodes, 1)
            && self.annexes.stock(&mut lane.annexes, 1)
            && self.epochs.stock(&mut lane.epochs, accesses.len());
        if !in_stock {
            return None;
        }
        // Where there is a lowering, the graph is shared.
        let words = Shared;
        let mut units = 0;
        let (entrant, token) = if accesses.is_empty() {
            self.enter_plain_operation(lane, how, (state, GUARD), operation.take()?)
        } else {
            let mut data = self.data.lock();
            let mut places = [Place::NOWHERE; INLINE_SLOTS];
            if !self.find_places(&mut data, accesses, &mut places) {
                return None;
            }
            let (entrant, token) =
                self.enter_plain_operation(lane, how, (state, GUARD), operation.take()?);
            for (position, (place, access)) in places.iter().zip(accesses).enumerate() {
                // SAFETY: found in the table just now, which stands still under the placing lock; all are different.
                let timeline = unsafe { &mut *place.timeline };
                let (writer, mode) = (place.writer, access.mode);
                units += entrant.take_place(
                    lane,
                    words,
                    (timeline, writer),
                    token,
                    (position, mode),
                    at_issue,
                );
            }
            (entrant, token)
        };
        if !after.is_empty() {
            units += self.come_after(lane, words, entrant.index, after, accesses.len());
        }
        Some(self.let_go_plain(lane, words, entrant, token, units, state))
    }

    /// Enters an operation that waits for nothing and that the caller carries out at once: it has begun, so it does not arrive
    /// and is not cancelled, and the caller owes its end. `make` gives it, once nothing can go wrong any more. None: it has to
    /// go the general way; nothing was done.
    #[inline]
    pub(crate) fn enter_begun_operation(
        &self,
        lane: &mut Lane,
        body: u32,
        how: &norn_task,
        make: impl FnOnce() -> Arc<dyn Operation>,
    ) -> Option<Token> {
        let odd = self.plain_phase(body)?;
        let in_stock =
            self.nodes.stock(&mut lane.nodes, 1) && self.annexes.stock(&mut lane.annexes, 1);
        if !in_stock {
            return None;
        }
        let state = kind::TASK
            | flag::COUNTED
            | flag::PARTICULAR
            | flag::STARTED
            | if odd { flag::ODD_PHASE } else { 0 };
        let (_, token) = self.enter_plain_operation(lane, how, (state, 0), make());
        count(&lane.counters.submitted[usize::from(odd)], 1);
        Some(token)
    }

    /// As `end_operation`, by the straight path where it may.
    #[inline]
    pub(crate) fn end_any_operation(&self, lane: &mut Lane, index: u32, outcome: &Outcome<'_>) {
        if !matches!(outcome, Outcome::Success) || !self.end_plain_operation(lane, index) {
            self.end_operation(lane, index, outcome);
        }
    }

    /// Completes an operation that was begun and has ended well: what `end_operation` and `complete` do for any, step for step
    /// in the same order, where nobody has asked more of it than is asked of a plain one. False: it has to go the general way;
    /// nothing was done.
    #[inline]
    fn end_plain_operation(&self, lane: &mut Lane, index: u32) -> bool {
        let node = self.nodes.get(index);
        let state = node.load_state();
        let is_plain = state & (kind::MASK | NOT_PLAIN) == kind::TASK | flag::PARTICULAR
            && node.holds.load(Ordering::Acquire) == BODY_SHARE
            && node.destroy.load(Ordering::Relaxed) == 0;
        if !is_plain {
            return false;
        }
        let Some(annex) = self.annex(node) else {
            return false;
        };
        if annex.is_used() || annex.has_domain() || annex.group.load(Ordering::Relaxed) != 0 {
            return false;
        }
        node.cause.store(0, Ordering::Relaxed);
        for slot in &node.slots[..Node::slots_in(state)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            if epoch != 0 {
                let bits = slot.meta.load(Ordering::Relaxed);
                self.leave_epoch(lane, Shared, epoch, bits, Ending::Success);
            }
        }
        let phase = usize::from(state & flag::ODD_PHASE != 0);
        count(&lane.counters.completed[phase], 1);
        self.end_token(lane, index, Ending::Success, Links::All);
        self.free_node(lane, index);
        true
    }

    /// A node in stock filled for an operation, with its annex, known to nobody yet. `state`: its state and pending words.
    #[inline(always)]
    fn enter_plain_operation(
        &self,
        lane: &mut Lane,
        how: &norn_task,
        (state, pending): (u32, u64),
        operation: Arc<dyn Operation>,
    ) -> (Entrant<'_>, Token) {
        let (entrant, token) = self.enter_plain(lane, how, state, 2, pending);
        let index = self.annexes.take_in_stock(&mut lane.annexes, 1);
        let annex = self.annexes.get(index);
        annex.occupy();
        annex.set_operation(operation);
        entrant.node.annex.store(index, Ordering::Release);
        (entrant, token)
    }
}
