//! Joining a node to its predecessors, before it is let go: for each, one decision on
//! the predecessor's successor word (see `node`), and a unit in the node's pending word.

use std::sync::atomic::Ordering;

use super::epoch::Epoch;
use super::graph::Graph;
use super::lane::Lane;
use super::node::{DATA_UNIT, EXPLICIT_UNIT, GUARD, INLINE_SLOTS, LinkId, Node, flag, meta};
use super::token::Token;
use crate::abi::types::NORN_READ;
use crate::error::Result;
use crate::sync::mutant;

/// Where the link of an edge may be put.
#[derive(Clone, Copy)]
pub(crate) enum Room {
    /// This access slot of the consumer, whose link is free.
    Slot(usize),
    /// A record of its own.
    Record,
}

/// Collects the predecessors of one node that is not let go yet.
pub(crate) struct Joiner<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) index: u32,
    pub(crate) node: &'a Node,
    /// Units to add to the node's pending word.
    pub(crate) units: u64,
    /// Datum whose timeline is at work, 0 for explicit edges.
    pub(crate) datum: u32,
}

impl<'a> Joiner<'a> {
    pub(crate) fn new(graph: &'a Graph, index: u32) -> Self {
        Self {
            graph,
            index,
            node: graph.nodes.get(index),
            units: 0,
            datum: 0,
        }
    }

    /// Makes the node wait for `token`. Satisfied at once, and the doom taken over, where that is
    /// complete. `bits`: what the link means. Returns whether the token was complete and well.
    #[inline(always)]
    pub(crate) fn wait_for(
        &mut self,
        lane: &mut Lane,
        token: Token,
        room: Room,
        bits: u32,
    ) -> Result<bool> {
        if token.is_zero() {
            return Ok(true);
        }
        let predecessor = self.graph.nodes.get(token.index());
        let mut word = predecessor.load_successors();
        if word.generation() != token.generation() {
            return Ok(self.take_over(word.ever_failed(), token, bits));
        }
        if word.is_issued() && self.joins_issued(token, bits) {
            return Ok(false);
        }
        let (link, next) = match room {
            Room::Slot(slot) => {
                let slot_ref = &self.node.slots[slot];
                slot_ref.datum.store(self.datum, Ordering::Relaxed);
                slot_ref.meta.store(bits, Ordering::Relaxed);
                (LinkId::slot(self.index, slot), &slot_ref.next)
            }
            Room::Record => {
                let record = self.graph.take_link(lane)?;
                let link = self.graph.links.get(record);
                link.consumer.store(self.index, Ordering::Relaxed);
                link.meta.store(bits, Ordering::Relaxed);
                link.datum.store(self.datum, Ordering::Relaxed);
                (LinkId::record(record), &link.next)
            }
        };
        loop {
            next.store(word.head().0, Ordering::Relaxed);
            match predecessor.successors.compare_exchange_weak(
                word.0,
                word.with_head(link).0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    self.units = self.units.wrapping_add(unit_of(bits));
                    if word.is_issued() {
                        self.graph.note_wait(predecessor);
                    }
                    return Ok(false);
                }
                Err(now) => word = super::node::Successors(now),
            }
            if word.is_issued()
                && word.generation() == token.generation()
                && self.joins_issued(token, bits)
            {
                if let super::node::LinkPlace::Record(record) = link.place() {
                    self.graph.links.give(&mut lane.links, record);
                }
                return Ok(false);
            }
            if word.generation() != token.generation() && !mutant!("edge_after_close") {
                if let super::node::LinkPlace::Record(record) = link.place() {
                    self.graph.links.give(&mut lane.links, record);
                }
                return Ok(self.take_over(word.ever_failed(), token, bits));
            }
        }
    }

    /// Makes the node wait for the members of an epoch that are issued, as far as it does not just note them.
    pub(crate) fn follow_members(&mut self, lane: &mut Lane, epoch: &Epoch) {
        for member in epoch.take_notes() {
            // Without memory for a link the order is lost; there is nothing better to do here.
            let _ = self.wait_for(lane, member, Room::Record, NORN_READ as u32);
        }
    }

    /// The predecessor is issued: whether that satisfies the node, which has noted it then.
    #[cold]
    fn joins_issued(&self, token: Token, bits: u32) -> bool {
        // SAFETY: the node is not let go, or waits for the epoch whose end hands it this token.
        self.node.has(flag::ON_ISSUE)
            && unsafe { self.graph.own_operation(self.node) }
                .is_some_and(|operation| operation.note(token, bits & meta::PROPAGATES != 0))
    }

    /// The predecessor is complete: take its failure over. True if there was none.
    #[inline(always)]
    fn take_over(&self, ever_failed: bool, token: Token, bits: u32) -> bool {
        !ever_failed || self.take_over_failure(token, bits)
    }

    #[cold]
    fn take_over_failure(&self, token: Token, bits: u32) -> bool {
        let cause = self.graph.failures.cause_of(token);
        if cause != 0 && bits & meta::PROPAGATES != 0 {
            self.node.doom(cause);
        }
        cause == 0
    }

    /// Adds the collected units and lets the node go; it may arrive at once.
    #[inline]
    pub(crate) fn let_go(self, lane: &mut Lane) {
        let before = self
            .node
            .pending
            .fetch_add(self.units.wrapping_sub(GUARD), Ordering::AcqRel);
        if before.wrapping_add(self.units.wrapping_sub(GUARD)) == 0 {
            lane.ripple.arrivals.push(self.index);
        }
    }

    /// Adds the collected units; the guard stays.
    pub(crate) fn keep_guard(self) {
        self.node.pending.fetch_add(self.units, Ordering::AcqRel);
    }
}

/// What one satisfied link is worth in the pending word.
#[inline(always)]
pub(crate) fn unit_of(bits: u32) -> u64 {
    if bits & meta::EXPLICIT != 0 {
        EXPLICIT_UNIT
    } else {
        DATA_UNIT
    }
}

/// Room for the link of access number `position`.
#[inline(always)]
pub(crate) fn room_of(position: usize) -> Room {
    if position < INLINE_SLOTS {
        Room::Slot(position)
    } else {
        Room::Record
    }
}
