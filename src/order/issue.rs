//! The second clock: operations of devices that are *issued*, and consumers that this satisfies.
//!
//! A producer is issued when its work is on its stream and its completion event is recorded behind it. A consumer whose
//! lowering can make its own stream wait for that event (flag ON_ISSUE) need not wait on the host for the producer's
//! end. Every other consumer waits for the end as before.
//!
//! # Protocol
//!
//! - *The producer's lowering* calls `issue` once, after it has recorded the event and before it ends the operation, on the
//!   thread that makes passes. One compare and swap on the successor word sets ISSUED and takes the list of links.
//!   Links to consumers that join are satisfied now, each after the consumer has noted the producer's token; the
//!   others are put back, in front of what was pushed meanwhile.
//! - *A consumer that comes later* finds ISSUED in the word on which it would push its link, and notes the token instead.
//!   So "is it issued" and "append a link" are one atomic decision on one word, as completion is (`node`).
//! - *Readers.* A READ of the producer's leaves its epoch in two steps: at issue, with its token as a note, and at its
//!   end. A writer that joins waits for the first step of all and gets the notes of those that have not ended (`epoch`).
//!   COMMUTE and REDUCE members, gates and places know one clock only, that of completion.
//! - *Notes* are tokens. When the consumer is issued in its turn, its lowering waits on the device for those that are not
//!   complete. The consumer ends after all it has noted have ended; if one of them has failed and the edge propagates, it
//!   ends as propagated.
//! - *What is satisfied at issue is not done yet.* The consumer's own successors are released when it ends, so nothing runs
//!   too early; but a consumer that ends without having been on the device must wait for its notes first. So one that
//!   is doomed by another predecessor goes to its lowering (`is_owed`) if it has any, and one that is cancelled must
//!   have none: `close_notes` decides that, together with every later `note`, under the lock of the operation's
//!   notes. A consumer that refuses a note keeps its link, or gets one, to the producer's end.

use std::sync::Arc;

use super::epoch::Epoch;
use super::graph::Graph;
use super::joiner::{Joiner, unit_of};
use super::lane::Lane;
use super::node::{INLINE_SLOTS, LinkId, LinkPlace, Node, Successors, flag, meta};
use super::operation::Operation;
use super::slab::prefetch_lines;
use super::token::Token;
use crate::abi::types::NORN_READ;
use crate::sync::atomic::Ordering;

impl Graph {
    /// The operation of a node was issued: releases the consumers that this satisfies.
    pub(crate) fn issue(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let word = self.mark_issued(node);
        let token = Token::new(self.id, index, word.generation());
        self.issue_readings(lane, index, token);
        let mut link = word.head();
        let mut kept = LinkId::NONE;
        let mut last = LinkId::NONE;
        while link != LinkId::NONE {
            let (next, consumer, bits) = self.link_parts(link);
            if self.takes_note(consumer, token, bits) {
                if let LinkPlace::Record(record) = link.place() {
                    self.links.give(&mut lane.links, record);
                }
                self.satisfy(lane, consumer, unit_of(bits));
            } else {
                if kept == LinkId::NONE {
                    last = link;
                }
                self.set_next(link, kept);
                kept = link;
            }
            link = next;
        }
        if kept != LinkId::NONE {
            self.put_back(node, kept, last);
        }
        if kept != LinkId::NONE || word.is_observed() {
            self.awaits_issued.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the operation of a token is issued, and has not ended.
    pub(crate) fn is_issued(&self, token: Token) -> bool {
        let word = self.nodes.get(token.index()).load_successors();
        word.is_issued() && word.generation() == token.generation()
    }

    /// Somebody waits for the end of a node's operation from now on. The other side of the look in `issue`: that has seen the
    /// wait in the successor word, or is seen there.
    pub(crate) fn note_wait(&self, node: &Node) {
        if node.load_successors().is_issued() {
            self.awaits_issued.store(true, Ordering::Relaxed);
        }
    }

    /// Whether anybody has begun to wait for the end of an issued operation since this was last asked.
    pub(crate) fn was_wait_begun(&self) -> bool {
        self.awaits_issued.load(Ordering::Relaxed)
            && self.awaits_issued.swap(false, Ordering::Relaxed)
    }

    /// Fetches what the issue of an operation will touch and the submitter's core has written: its three newest consumers,
    /// and the epochs that it reads in. `step`: 0, 1 and 2, each some time after the one before, for what a step reads the
    /// one before has fetched: a consumer's node, then its annex, then its operation; an epoch, then its notes. The last
    /// step begins the first one for the newest consumer.
    pub(crate) fn fetch_for_issue(&self, index: u32, step: usize) {
        let node = self.nodes.get(index);
        let mut link = node.load_successors().head();
        for depth in (0..=step).rev() {
            let LinkPlace::Slot { consumer, slot } = link.place() else {
                break;
            };
            if link == LinkId::NONE {
                break;
            }
            let entry = self.nodes.get(consumer);
            match depth {
                0 => {
                    // What comes behind it is told by the very line that is fetched.
                    self.nodes.prefetch(consumer, 2);
                    break;
                }
                1 => self
                    .annexes
                    .prefetch(entry.annex.load(Ordering::Relaxed), 2),
                _ => {
                    // One that is bound late may be written just now.
                    let joins = entry.has(flag::ON_ISSUE);
                    if let Some(annex) = self.annex(entry).filter(|_| joins) {
                        // SAFETY: it was an operation before its link led here, and waits for this one, so it does not end.
                        let operation = unsafe { annex.own_operation() };
                        operation.inspect(|operation| prefetch_shared(operation));
                    }
                    self.fetch_for_issue(consumer, 0);
                }
            }
            link = LinkId(entry.slots[slot].next.load(Ordering::Relaxed));
        }
        if step == 0 {
            return;
        }
        for slot in &node.slots[..Node::slots_in(node.load_state()).min(INLINE_SLOTS)] {
            match slot.epoch.load(Ordering::Relaxed) {
                0 => {}
                epoch if step == 1 => {
                    self.epochs.prefetch_head(epoch);
                }
                epoch => self.epochs.get(epoch).fetch_notes(),
            }
        }
    }

    /// Whether anybody waits for the end of an operation that is issued and has not ended: what joins at issue has left
    /// its list.
    pub(crate) fn is_awaited(&self, index: u32) -> bool {
        let word = self.nodes.get(index).load_successors();
        word.is_observed() || word.head() != LinkId::NONE
    }

    /// Sets ISSUED and takes the list of links, in one step. Gives the word before.
    fn mark_issued(&self, node: &Node) -> Successors {
        let mut word = node.load_successors();
        loop {
            let issued = word.issued().with_head(LinkId::NONE);
            match node.successors.compare_exchange_weak(
                word.0,
                issued.0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return word,
                Err(now) => word = Successors(now),
            }
        }
    }

    /// Puts a chain of links from `first` to `last` in front of the list.
    fn put_back(&self, node: &Node, first: LinkId, last: LinkId) {
        let mut word = node.load_successors();
        loop {
            self.set_next(last, word.head());
            match node.successors.compare_exchange_weak(
                word.0,
                word.with_head(first).0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return,
                Err(now) => word = Successors(now),
            }
        }
    }

    fn link_parts(&self, link: LinkId) -> (LinkId, u32, u32) {
        match link.place() {
            LinkPlace::Slot { consumer, slot } => {
                let slot = &self.nodes.get(consumer).slots[slot];
                let next = slot.next.load(Ordering::Relaxed);
                (LinkId(next), consumer, slot.meta.load(Ordering::Relaxed))
            }
            LinkPlace::Record(index) => {
                let record = self.links.get(index);
                let next = record.next.load(Ordering::Relaxed);
                let consumer = record.consumer.load(Ordering::Relaxed);
                (LinkId(next), consumer, record.meta.load(Ordering::Relaxed))
            }
        }
    }

    /// Whether a consumer, which the link keeps from arriving, joins the producer at issue.
    fn takes_note(&self, consumer: u32, producer: Token, bits: u32) -> bool {
        let node = self.nodes.get(consumer);
        // SAFETY: the link is not satisfied, so its consumer has not arrived.
        node.has(flag::ON_ISSUE)
            && unsafe { self.own_operation(node) }
                .is_some_and(|operation| operation.note(producer, bits & meta::PROPAGATES != 0))
    }

    /// The first step of leaving the epochs that the operation reads in.
    fn issue_readings(&self, lane: &mut Lane, index: u32, token: Token) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        for slot in &node.slots[..Node::slots_in(state).min(INLINE_SLOTS)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            let bits = slot.meta.load(Ordering::Relaxed);
            if epoch != 0 && bits & meta::MODE == NORN_READ as u32 {
                slot.meta.store(bits | meta::ISSUED, Ordering::Relaxed);
                self.issue_reading(lane, epoch, token);
            }
        }
        if state & flag::MORE_ACCESSES != 0
            && let Some(annex) = self.annex(node)
        {
            // SAFETY: the lowering's thread owns the node until it ends the operation.
            for more in &mut unsafe { annex.body() }.more {
                if more.epoch != 0 && more.meta & meta::MODE == NORN_READ as u32 {
                    more.meta |= meta::ISSUED;
                    self.issue_reading(lane, more.epoch, token);
                }
            }
        }
    }

    fn issue_reading(&self, lane: &mut Lane, epoch: u32, token: Token) {
        let step = self
            .epochs
            .get(epoch)
            .issue(token, |member| self.is_complete(member));
        self.epoch_stepped(lane, epoch, step);
    }

    /// Hands the members of an epoch that are issued to the node that waits for it, before that is satisfied. Those it
    /// does not note it waits for as others do.
    pub(crate) fn hand_notes(&self, lane: &mut Lane, waiter: u32, epoch: &Epoch) {
        let mut joiner = Joiner::new(self, waiter);
        joiner.follow_members(lane, epoch);
        if joiner.units != 0 {
            joiner.keep_guard();
        }
    }

    /// How a noted producer has failed, 0 if it has not or is not complete.
    pub(crate) fn cause_of_complete(&self, token: Token) -> u32 {
        let word = self.nodes.get(token.index()).load_successors();
        if word.generation() == token.generation() || !word.ever_failed() {
            return 0;
        }
        self.failures.cause_of(token)
    }
}

/// Fetches an operation and its counts.
fn prefetch_shared(operation: &Arc<dyn Operation>) {
    /// Lines of an operation that are looked at before its work is queued, and those of most kernels' arguments.
    const LINES: usize = 6;
    let content = Arc::as_ptr(operation).cast::<u8>();
    // The counts lie in front.
    prefetch_lines(content.wrapping_sub(2 * size_of::<usize>()), LINES);
}
