//! How a plain task (see `plain`) gets its node and takes its places in the timelines: what `submit`, `access` and
//! `timeline` do for any task, without what a plain one cannot need.
//!
//! First all data are looked at, so that a task which is not plain after all is left to the others with nothing changed;
//! meanwhile the nodes that it will be linked to, which lie in other cores' caches, are fetched all at once. Then it
//! takes its places. Everything here passes what it has looked up on: each line of memory is looked for once a task.

use core::num::NonZeroU32;

use crate::sync::atomic::Ordering;

use super::datum::DataTable;
use super::graph::Graph;
use super::joiner::{Joiner, Room};
use super::lane::Lane;
use super::node::{DATA_UNIT, GUARD, INLINE_SLOTS, LinkId, Node, meta};
use super::sole::Words;
use super::timeline::{Run, Timeline};
use super::token::Token;
use crate::abi::types::*;

/// Where an access will take its place.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) timeline: *mut Timeline,
    /// Node of the timeline's writer; anything if that is complete.
    pub(super) writer: *const Node,
}

impl Place {
    pub(super) const NOWHERE: Place = Place {
        timeline: core::ptr::null_mut(),
        writer: core::ptr::null(),
    };
}

/// What waiting for a token has come to.
pub(super) struct Waited {
    /// To add to the node's pending word.
    pub(super) units: u64,
    /// The token was complete and well.
    well: bool,
}

/// A node that is being submitted. A `Joiner` without what changes, so that it need not lie in memory.
#[derive(Clone, Copy)]
pub(super) struct Entrant<'a> {
    pub(super) graph: &'a Graph,
    pub(super) index: u32,
    pub(super) node: &'a Node,
}

impl<'a> Entrant<'a> {
    /// With the units collected so far, at work on a datum.
    pub(super) fn joiner(self, units: u64, datum: u32) -> Joiner<'a> {
        Joiner {
            graph: self.graph,
            index: self.index,
            node: self.node,
            units,
            datum,
        }
    }

    /// As `Joiner::wait_for`, with the link in a slot of which datum and meaning are set. `predecessor` is the node of
    /// `token`, unless that is zero; `unit` is what the link counts for.
    #[inline(always)]
    pub(super) fn wait_in_slot(
        self,
        lane: &mut Lane,
        words: impl Words,
        predecessor: *const Node,
        token: Token,
        position: usize,
        unit: u64,
    ) -> Waited {
        let slot = &self.node.slots[position];
        let well = Waited {
            units: 0,
            well: true,
        };
        if token.is_zero() {
            return well;
        }
        // SAFETY: the node of a token that is not zero, which the slab never frees.
        let predecessor = unsafe { &*predecessor };
        let word = predecessor.load_successors();
        if word.is_awaited(token.generation()) {
            slot.next.store(word.head().0, Ordering::Relaxed);
            let next = word.with_head(LinkId::slot(self.index, position));
            if words.replace(&predecessor.successors, word.0, next.0) {
                return Waited {
                    units: unit,
                    well: false,
                };
            }
        } else if word.generation() != token.generation() && !word.ever_failed() {
            return well;
        }
        self.graph
            .wait_in_slot_slowly(lane, self.index, token, position)
    }

    /// As `Timeline::place`, for a plain timeline and a READ, WRITE or READ_WRITE whose link and membership go to a
    /// slot, so that nothing can fail: epochs are in stock. `writer` is the node of the timeline's writer, `token` the
    /// entrant's own, `at_issue`: the node joins at issue. Gives the units to add to the pending word.
    #[inline(always)]
    pub(super) fn take_place(
        self,
        lane: &mut Lane,
        words: impl Words,
        (timeline, writer): (&mut Timeline, *const Node),
        token: Token,
        (position, mode): (usize, i32),
        at_issue: bool,
    ) -> u64 {
        let slot = &self.node.slots[position];
        slot.datum.store(timeline.datum, Ordering::Relaxed);
        if mode == NORN_READ {
            if timeline.run == Run::None {
                timeline.epoch = self.graph.take_epoch_in_stock(lane);
                timeline.run = Run::Readers;
            }
            timeline.members += 1;
            slot.epoch.store(timeline.epoch, Ordering::Relaxed);
            let bits = NORN_READ as u32 | meta::PROPAGATES;
            slot.meta.store(bits, Ordering::Relaxed);
            let waited =
                self.wait_in_slot(lane, words, writer, timeline.writer, position, DATA_UNIT);
            if waited.well {
                timeline.writer = Token::COMPLETE;
            }
            return waited.units;
        }
        slot.epoch.store(0, Ordering::Relaxed);
        let propagates = if mode == NORN_WRITE {
            0
        } else {
            meta::PROPAGATES
        };
        let bits = mode as u32 | propagates | meta::WRITES;
        slot.meta.store(bits, Ordering::Relaxed);
        let waited = self.wait_in_slot(lane, words, writer, timeline.writer, position, DATA_UNIT);
        let mut units = waited.units;
        if timeline.run == Run::Readers {
            let mut joiner = self.joiner(units, timeline.datum);
            timeline.wait_for_members_at(&mut joiner, lane, words, at_issue);
            units = joiner.units;
        }
        timeline.writer = token;
        units
    }
}

impl Graph {
    /// The node of an index that is being submitted.
    #[inline(always)]
    pub(super) fn entrant(&self, index: u32) -> Entrant<'_> {
        Entrant {
            graph: self,
            index,
            node: self.nodes.get(index),
        }
    }

    /// A node in stock filled for a plain task, with its token, which nobody knows yet. `lines`: how many of its cache
    /// lines are used. `pending`: its pending word.
    #[inline(always)]
    pub(super) fn enter_plain(
        &self,
        lane: &mut Lane,
        task: &norn_task,
        state: u32,
        lines: usize,
        pending: u64,
    ) -> (Entrant<'_>, Token) {
        let entrant = self.entrant(self.nodes.take_in_stock(&mut lane.nodes, lines));
        let node = entrant.node;
        let generation = node.begin_with(pending);
        let run = task.run.map_or(0, |run| run as usize);
        node.run.store(run, Ordering::Relaxed);
        node.argument.store(task.arg as usize, Ordering::Relaxed);
        let destroy = task.drop.map_or(0, |drop| drop as usize);
        node.destroy.store(destroy, Ordering::Relaxed);
        node.set_name_priority(task.name, task.priority);
        // Release: reports that see the kind see the fields above.
        node.state.store(state, Ordering::Release);
        let token = Token::new(self.id, entrant.index, generation);
        (entrant, token)
    }

    /// Takes a node in stock and its places in all timelines, in one step. Gives its index and the units to add to its
    /// pending word.
    #[inline(never)]
    pub(super) fn place_plain(
        &self,
        lane: &mut Lane,
        words: impl Words,
        task: &norn_task,
        accesses: &[norn_access],
        state: u32,
    ) -> Option<(NonZeroU32, u32)> {
        if !self.epochs.stock(&mut lane.epochs, accesses.len()) {
            return None;
        }
        let mut data = self.data.lock();
        let mut places = [Place::NOWHERE; INLINE_SLOTS];
        if !self.find_places(&mut data, accesses, &mut places) {
            return None;
        }
        let (entrant, token) = self.enter_plain(lane, task, state, 2, GUARD);
        let mut units = 0;
        for (position, (place, access)) in places.iter().zip(accesses).enumerate() {
            // SAFETY: found in the table just now, which stands still under the placing lock; all are different.
            let timeline = unsafe { &mut *place.timeline };
            units += entrant.take_place(
                lane,
                words,
                (timeline, place.writer),
                token,
                (position, access.mode),
                false,
            );
        }
        Some((NonZeroU32::new(entrant.index)?, units as u32))
    }

    /// Looks at the data of a plain task. False: there is more to them than its places.
    #[inline(always)]
    pub(super) fn find_places(
        &self,
        data: &mut DataTable,
        accesses: &[norn_access],
        places: &mut [Place; INLINE_SLOTS],
    ) -> bool {
        const { assert!(NORN_READ == 1 && NORN_WRITE == 2 && NORN_READ_WRITE == 3) };
        data.begin_plain();
        for (place, access) in places.iter_mut().zip(accesses) {
            // One of those three modes and no flag: one word, compared once.
            let how = u64::from(access.mode as u32) | u64::from(access.flags) << 32;
            if how.wrapping_sub(1) > 2 || access.slot != 0 {
                return false;
            }
            let Some(timeline) = data.plain(self.id, access.data) else {
                return false;
            };
            let writer = self.nodes.prefetch_head(timeline.writer.index());
            if access.mode != NORN_READ {
                self.epochs.prefetch_head(timeline.epoch);
            }
            *place = Place { timeline, writer };
        }
        true
    }

    /// The rest of `wait_in_slot`: the predecessor is issued, has failed, or has changed meanwhile.
    #[cold]
    fn wait_in_slot_slowly(
        &self,
        lane: &mut Lane,
        index: u32,
        token: Token,
        position: usize,
    ) -> Waited {
        let mut joiner = Joiner::new(self, index);
        let slot = &joiner.node.slots[position];
        joiner.datum = slot.datum.load(Ordering::Relaxed);
        let bits = slot.meta.load(Ordering::Relaxed);
        // A slot has room for the link, so this takes no memory and cannot fail.
        let waited = joiner.wait_for(lane, token, Room::Slot(position), bits);
        Waited {
            units: joiner.units,
            well: waited.unwrap_or(false),
        }
    }
}
