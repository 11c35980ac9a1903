//! Releasing those who wait: a predecessor's end takes a unit off each consumer in its
//! list, and whoever brings a pending word to zero makes its node arrive (see `node`).

use std::sync::atomic::Ordering;

use super::graph::Graph;
use super::joiner::unit_of;
use super::lane::Lane;
use super::node::{CANCEL_MARK, DATA_MASK, DATA_UNIT, LinkId, LinkPlace, Node, meta};
use super::sole::Words;

/// Which successors to release.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    All,
    /// Those of explicit edges; the others wait until the node's own data predecessors are done.
    ExplicitOnly,
}

impl Graph {
    /// One predecessor of a node is satisfied.
    #[inline(always)]
    pub(crate) fn satisfy(&self, lane: &mut Lane, index: u32, unit: u64) {
        self.satisfy_node(lane, index, self.nodes.get(index), unit);
    }

    /// As `satisfy`, where the node of the index is at hand.
    #[inline(always)]
    pub(super) fn satisfy_node(&self, lane: &mut Lane, index: u32, node: &Node, unit: u64) {
        plant!("complete.satisfy");
        let left = node
            .pending
            .fetch_sub(unit, Ordering::AcqRel)
            .wrapping_sub(unit);
        if left == 0 {
            lane.ripple.arrivals.push(index);
        } else if left & CANCEL_MARK != 0 {
            self.satisfied_cancelled(lane, index, unit, left);
        }
    }

    /// A predecessor of a cancelled node is satisfied; `left` are the others.
    #[cold]
    fn satisfied_cancelled(&self, lane: &mut Lane, index: u32, unit: u64, left: u64) {
        if unit == DATA_UNIT && left & DATA_MASK == 0 {
            self.release_cancelled(lane, index);
        }
    }

    /// Satisfies the consumers in a list of links.
    #[inline]
    pub(crate) fn release_links(
        &self,
        lane: &mut Lane,
        first: LinkId,
        cause: u32,
        which: Links,
    ) -> LinkId {
        let mut link = first;
        let mut kept = LinkId::NONE;
        while link != LinkId::NONE {
            let (next, consumer, bits, record) = match link.place() {
                LinkPlace::Slot { consumer, slot } => {
                    let slot = &self.nodes.get(consumer).slots[slot];
                    (
                        slot.next.load(Ordering::Relaxed),
                        consumer,
                        slot.meta.load(Ordering::Relaxed),
                        None,
                    )
                }
                LinkPlace::Record(index) => {
                    let record = self.links.get(index);
                    (
                        record.next.load(Ordering::Relaxed),
                        record.consumer.load(Ordering::Relaxed),
                        record.meta.load(Ordering::Relaxed),
                        Some(index),
                    )
                }
            };
            if which == Links::ExplicitOnly && bits & meta::EXPLICIT == 0 {
                self.set_next(link, kept);
                kept = link;
            } else {
                if let Some(index) = record {
                    self.links.give(&mut lane.links, index);
                }
                if cause != 0 && bits & meta::PROPAGATES != 0 {
                    self.nodes.get(consumer).doom(cause);
                }
                self.satisfy(lane, consumer, unit_of(bits));
            }
            link = LinkId(next);
        }
        kept
    }

    /// As `release_links` of all links, where the predecessor has succeeded. What arrives goes to `arrive`, but for what
    /// waits with a link in a record: that goes to the ripple.
    #[inline(always)]
    pub(crate) fn release_well<'a>(
        &'a self,
        lane: &mut Lane,
        words: impl Words,
        first: LinkId,
        mut arrive: impl FnMut(&mut Lane, u32, &'a Node),
    ) {
        let mut link = first;
        while link != LinkId::NONE {
            let LinkPlace::Slot { consumer, slot } = link.place() else {
                self.release_links(lane, link, 0, Links::All);
                return;
            };
            let node = self.nodes.get(consumer);
            let slot = &node.slots[slot];
            // Read first: once satisfied, the consumer may be gone.
            link = LinkId(slot.next.load(Ordering::Relaxed));
            let unit = unit_of(slot.meta.load(Ordering::Relaxed));
            plant!("complete.satisfy");
            let left = words.subtract(&node.pending, unit).wrapping_sub(unit);
            if left == 0 {
                arrive(lane, consumer, node);
            } else if left & CANCEL_MARK != 0 {
                self.satisfied_cancelled(lane, consumer, unit, left);
            }
        }
    }

    pub(crate) fn set_next(&self, link: LinkId, next: LinkId) {
        match link.place() {
            LinkPlace::Slot { consumer, slot } => &self.nodes.get(consumer).slots[slot].next,
            LinkPlace::Record(index) => &self.links.get(index).next,
        }
        .store(next.0, Ordering::Relaxed);
    }
}
