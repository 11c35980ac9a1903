//! Early release: one access of a running body ends before the body does.
//!
//! Only the body itself asks for this, so the node cannot end meanwhile. Data
//! edges are added under the placing lock, which is held here, so the node's
//! list can be taken, sorted and put back without missing one; explicit edges may be
//! pushed meanwhile and stay.

use std::sync::atomic::Ordering;

use super::datum::DataTable;
use super::graph::Graph;
use super::joiner::unit_of;
use super::lane::{Ending, Lane};
use super::node::{INLINE_SLOTS, LinkId, LinkPlace, Node, Successors, flag, meta};
use super::sole::Shared;
use super::submit::invalid;
use super::timeline::Timeline;
use super::token::Token;
use crate::abi::status::NORN_E_STATE;
use crate::abi::types::{NORN_COMMUTE, NORN_REDUCE, norn_data};
use crate::error::{Error, Result};

/// An access found in a node: where its meta word and epoch are.
struct Found {
    datum: u32,
    bits: u32,
    epoch: u32,
}

impl Graph {
    /// Ends the body's access to a datum; what was written is committed.
    pub(crate) fn release_early(
        &self,
        lane: &mut Lane,
        body: u32,
        handle: norn_data,
    ) -> Result<()> {
        if self.operation_of(self.nodes.get(body)).is_some() {
            return Err(Error::new(
                NORN_E_STATE,
                "an enqueue body's accesses end with the work that it has queued",
            ));
        }
        let mut data = self.data.lock();
        let datum = data.resolve(self.id, handle)?;
        let mut any = false;
        let mut open = false;
        self.for_each_access(body, |accessed, bits, _| {
            if data.lies_within(accessed, datum) {
                any = true;
                open |= bits & meta::RELEASED == 0;
            }
        });
        if !any {
            return Err(invalid(format!(
                "the task has no access to {}",
                data.get(datum).label(datum)
            )));
        }
        if !open {
            return Err(Error::new(NORN_E_STATE, "the access was released before"));
        }
        self.refuse_if_children_use(&data, body, datum)?;
        let keys: Vec<u64> = self.commute_keys(body);
        let found = self.mark_released(&data, body, datum);
        let node = self.nodes.get(body);
        let parent = self.parent_of(node);
        let token = node.token(self.id, body);
        for access in &found {
            match (access.bits & meta::MODE) as i32 {
                NORN_COMMUTE => {
                    let key = super::commute::key(parent, access.datum);
                    if keys.contains(&key) {
                        self.release_commute(lane, body, key);
                    }
                }
                NORN_REDUCE => self.deposit_early(node, access.datum),
                _ => {}
            }
            if access.epoch != 0 {
                self.leave_epoch(lane, Shared, access.epoch, 0, Ending::Success);
            }
            if access.bits & meta::VIA_PLACE != 0 {
                self.end_fill_early(&data, lane, node, access.datum);
            }
        }
        let forget = |timeline: &mut Timeline| {
            if timeline.writer == token {
                timeline.writer = Token::COMPLETE;
            }
            if timeline.base == token {
                timeline.base = Token::COMPLETE;
            }
        };
        let below: Vec<u32> = data
            .indices()
            .filter(|index| data.lies_within(*index, datum))
            .collect();
        for index in below {
            if parent == 0 {
                forget(&mut data.get_mut(index).timeline);
            } else if let Some(annex) = self.annex(self.nodes.get(parent)) {
                // SAFETY: the placing lock is held.
                if let Some(timeline) = unsafe { annex.domain() }
                    .as_mut()
                    .and_then(|domain| domain.get_mut(&index))
                {
                    forget(timeline);
                }
            }
        }
        self.release_links_of(&data, lane, body, datum);
        Ok(())
    }

    fn parent_of(&self, node: &Node) -> u32 {
        if !node.has(flag::CHILD) {
            return 0;
        }
        self.annex(node)
            .map_or(0, |annex| annex.parent.load(Ordering::Relaxed))
    }

    fn refuse_if_children_use(&self, data: &DataTable, body: u32, datum: u32) -> Result<()> {
        let Some(annex) = self.annex(self.nodes.get(body)) else {
            return Ok(());
        };
        // SAFETY: the placing lock is held (`data` is its content).
        let Some(domain) = (unsafe { annex.domain() }) else {
            return Ok(());
        };
        for (index, timeline) in domain.iter() {
            if data.lies_within(*index, datum) && !timeline.is_quiet(self) {
                return Err(Error::new(
                    NORN_E_STATE,
                    format!("a child still uses {}", data.get(*index).label(*index)),
                ));
            }
        }
        Ok(())
    }

    /// Marks the accesses released and takes their epochs.
    fn mark_released(&self, data: &DataTable, body: u32, datum: u32) -> Vec<Found> {
        let node = self.nodes.get(body);
        let state = node.load_state();
        let mut found = Vec::new();
        for slot in &node.slots[..Node::slots_in(state).min(INLINE_SLOTS)] {
            let accessed = slot.datum.load(Ordering::Relaxed);
            let bits = slot.meta.load(Ordering::Relaxed);
            if accessed != 0 && bits & meta::RELEASED == 0 && data.lies_within(accessed, datum) {
                slot.meta.store(bits | meta::RELEASED, Ordering::Relaxed);
                let epoch = slot.epoch.swap(0, Ordering::Relaxed);
                found.push(Found {
                    datum: accessed,
                    bits,
                    epoch,
                });
            }
        }
        if state & flag::MORE_ACCESSES != 0
            && let Some(annex) = self.annex(node)
        {
            // SAFETY: the running body owns the node.
            for more in &mut unsafe { annex.body() }.more {
                if more.meta & meta::RELEASED == 0 && data.lies_within(more.datum, datum) {
                    let bits = more.meta;
                    more.meta |= meta::RELEASED;
                    found.push(Found {
                        datum: more.datum,
                        bits,
                        epoch: core::mem::take(&mut more.epoch),
                    });
                }
            }
        }
        found
    }

    fn deposit_early(&self, node: &Node, datum: u32) {
        if let Some(annex) = self.annex(node) {
            // SAFETY: the running body owns the node.
            let copies = &mut unsafe { annex.body() }.copies;
            if let Some(position) = copies.iter().position(|copy| copy.datum == datum) {
                let copy = copies.swap_remove(position);
                if let Some(memory) = copy.memory {
                    copy.run.deposit(copy.member, memory);
                }
            }
        }
    }

    /// Completes the reserved place through which the body accessed a datum.
    fn end_fill_early(&self, data: &DataTable, lane: &mut Lane, node: &Node, datum: u32) {
        if let Some(annex) = self.annex(node) {
            // SAFETY: the running body owns the node.
            unsafe { annex.body() }.fills.retain(|place| {
                let mut named = false;
                self.for_each_access(*place, |accessed, _, _| {
                    named |= data.lies_within(accessed, datum);
                });
                if named && self.nodes.get(*place).set(flag::STARTED) & flag::STARTED == 0 {
                    lane.ripple.endings.push((*place, Ending::Success));
                }
                !named
            });
        }
    }

    /// Satisfies the data edges of one datum and keeps all others.
    fn release_links_of(&self, data: &DataTable, lane: &mut Lane, body: u32, datum: u32) {
        let node = self.nodes.get(body);
        let taken = self.take_links(node, |bits, of| {
            bits & meta::EXPLICIT == 0 && of != 0 && data.lies_within(of, datum)
        });
        for link in taken {
            let (consumer, bits) = self.read_link(link);
            self.free_link(lane, link);
            self.satisfy(lane, consumer, unit_of(bits));
        }
    }

    /// Takes the links out of a live node's list for which `wanted(meta, datum)`. Data links are added under
    /// the placing lock only, which the caller holds, so none is missed.
    pub(crate) fn take_links(&self, node: &Node, wanted: impl Fn(u32, u32) -> bool) -> Vec<LinkId> {
        let mut word = node.load_successors();
        while word.head() != LinkId::NONE {
            match node.successors.compare_exchange_weak(
                word.0,
                word.with_head(LinkId::NONE).0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(now) => word = Successors(now),
            }
        }
        let (mut taken, mut kept) = (Vec::new(), Vec::new());
        let mut link = word.head();
        while link != LinkId::NONE {
            let (next, bits, datum) = match link.place() {
                LinkPlace::Slot { consumer, slot } => {
                    let slot = &self.nodes.get(consumer).slots[slot];
                    (&slot.next, &slot.meta, &slot.datum)
                }
                LinkPlace::Record(index) => {
                    let record = self.links.get(index);
                    (&record.next, &record.meta, &record.datum)
                }
            };
            if wanted(bits.load(Ordering::Relaxed), datum.load(Ordering::Relaxed)) {
                taken.push(link);
            } else {
                kept.push(link);
            }
            link = LinkId(next.load(Ordering::Relaxed));
        }
        for link in kept.into_iter().rev() {
            let back = self.push_link(node, link, word.generation());
            debug_assert!(back.is_ok(), "the caller keeps the node from completing");
        }
        taken
    }

    /// Consumer and meaning of a link.
    pub(crate) fn read_link(&self, link: LinkId) -> (u32, u32) {
        match link.place() {
            LinkPlace::Slot { consumer, slot } => {
                let slot = &self.nodes.get(consumer).slots[slot];
                (consumer, slot.meta.load(Ordering::Relaxed))
            }
            LinkPlace::Record(index) => {
                let record = self.links.get(index);
                (
                    record.consumer.load(Ordering::Relaxed),
                    record.meta.load(Ordering::Relaxed),
                )
            }
        }
    }

    /// Gives a link's record back, if it has one.
    pub(crate) fn free_link(&self, lane: &mut Lane, link: LinkId) {
        if let LinkPlace::Record(index) = link.place() {
            self.links.give(&mut lane.links, index);
        }
    }

    /// Puts a link that was taken out of one list into another node's, or satisfies it.
    pub(crate) fn move_link(&self, lane: &mut Lane, link: LinkId, to: Token) {
        let node = self.nodes.get(to.index());
        let Err(word) = self.push_link(node, link, to.generation()) else {
            return;
        };
        let (consumer, bits) = self.read_link(link);
        self.free_link(lane, link);
        let cause = if word.ever_failed() {
            self.failures.cause_of(to)
        } else {
            0
        };
        if cause != 0 && bits & meta::PROPAGATES != 0 {
            self.nodes.get(consumer).doom(cause);
        }
        self.satisfy(lane, consumer, unit_of(bits));
    }

    /// Puts a link into the list of a node, unless the generation has moved on; then gives the word as it is.
    fn push_link(
        &self,
        node: &Node,
        link: LinkId,
        generation: u32,
    ) -> core::result::Result<(), Successors> {
        let mut word = node.load_successors();
        while word.generation() == generation {
            self.set_next(link, word.head());
            match node.successors.compare_exchange_weak(
                word.0,
                word.with_head(link).0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Ok(()),
                Err(now) => word = Successors(now),
            }
        }
        Err(word)
    }
}
