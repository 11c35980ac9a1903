//! The straight path of plain tasks: at most four accesses and edges, READ, WRITE
//! or READ_WRITE, and nothing else: no flags, group, place, `cpus`, parent. Nearly
//! every task of a large graph is one, so this path decides what norn costs.
//!
//! It does what `submit`, `access`, `timeline` and `complete` do for any task, step
//! for step in the same order and under the same lock, written out in one piece and
//! without the detours. Whatever does not fit is left to them, before anything
//! was changed: they also word the errors.

use crate::sync::atomic::Ordering;

use super::graph::Graph;
use super::lane::{Ending, Lane, count};
use super::node::{BODY_SHARE, GUARD, INLINE_SLOTS, LinkId, Node, Successors, flag, kind, meta};
use super::timeline::{Joiner, Room, Run, Timeline, unit_of};
use super::token::Token;
use crate::abi::types::*;

/// State bits that keep a task off the straight path.
pub(crate) const NOT_PLAIN: u32 = flag::PARTICULAR
    | flag::COMMUTES
    | flag::REDUCES
    | flag::CANCELLED
    | flag::CHILD
    | flag::RUN_ALWAYS
    | flag::MORE_ACCESSES;

/// A task that was submitted on the straight path.
pub(crate) struct Submitted {
    pub(crate) token: Token,
    /// Its node, if it may run at once; the caller schedules it.
    pub(crate) runnable: Option<u32>,
}

/// Where an access will take its place.
#[derive(Clone, Copy)]
struct Place {
    timeline: *mut Timeline,
    /// Node of the timeline's writer; anything if that is complete.
    writer: *const Node,
}

impl Place {
    const NOWHERE: Place = Place {
        timeline: core::ptr::null_mut(),
        writer: core::ptr::null(),
    };
}

impl Timeline {
    /// As `place`, for a plain timeline and a READ, WRITE or READ_WRITE whose link and membership go to a slot, so that
    /// nothing can fail: epochs are in stock. `writer` is the node of this timeline's writer.
    #[inline(always)]
    fn take_plain_place(
        &mut self,
        joiner: &mut Joiner<'_>,
        lane: &mut Lane,
        writer: *const Node,
        position: usize,
        mode: i32,
    ) {
        joiner.datum = self.datum;
        let slot = &joiner.node.slots[position];
        if mode == NORN_READ {
            if self.run == Run::None {
                self.epoch = joiner.graph.take_epoch(lane).unwrap_or(0);
                self.run = Run::Readers;
            }
            self.members += 1;
            slot.epoch.store(self.epoch, Ordering::Relaxed);
            let bits = NORN_READ as u32 | meta::PROPAGATES;
            if joiner.wait_in_slot(lane, writer, self.writer, position, bits) {
                self.writer = Token::COMPLETE;
            }
            return;
        }
        slot.epoch.store(0, Ordering::Relaxed);
        let propagates = if mode == NORN_WRITE {
            0
        } else {
            meta::PROPAGATES
        };
        let bits = mode as u32 | propagates | meta::WRITES;
        joiner.wait_in_slot(lane, writer, self.writer, position, bits);
        if self.run == Run::Readers {
            self.wait_for_members_at(joiner, lane, false);
        }
        self.writer = joiner.node.token(joiner.graph.id, joiner.index);
    }
}

impl Joiner<'_> {
    /// As `wait_for`, with the link in a slot. `predecessor` is the node of `token`, unless that is zero.
    #[inline(always)]
    fn wait_in_slot(
        &mut self,
        lane: &mut Lane,
        predecessor: *const Node,
        token: Token,
        position: usize,
        bits: u32,
    ) -> bool {
        let slot = &self.node.slots[position];
        slot.datum.store(self.datum, Ordering::Relaxed);
        slot.meta.store(bits, Ordering::Relaxed);
        if token.is_zero() {
            return true;
        }
        // SAFETY: the node of a token that is not zero, which the slab never frees.
        let predecessor = unsafe { &*predecessor };
        let word = predecessor.load_successors();
        if word.is_awaited(token.generation()) {
            slot.next.store(word.head().0, Ordering::Relaxed);
            let linked = predecessor.successors.compare_exchange_weak(
                word.0,
                word.with_head(LinkId::slot(self.index, position)).0,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if linked.is_ok() {
                self.units = self.units.wrapping_add(unit_of(bits));
                return false;
            }
        } else if word.generation() != token.generation() && !word.ever_failed() {
            return true;
        }
        self.wait_in_slot_slowly(lane, token, position, bits)
    }

    /// The predecessor is issued, has failed, or has changed meanwhile.
    #[cold]
    fn wait_in_slot_slowly(
        &mut self,
        lane: &mut Lane,
        token: Token,
        position: usize,
        bits: u32,
    ) -> bool {
        // A slot has room for the link, so this takes no memory and cannot fail.
        self.wait_for(lane, token, Room::Slot(position), bits)
            .unwrap_or(false)
    }
}

/// Whether nothing in the task itself asks for more than the straight path does.
#[inline(always)]
pub(crate) fn is_plain(task: &norn_task, accesses: &[norn_access], after: &[norn_token]) -> bool {
    let wishes = task.flags
        | task.arg_bytes
        | task.place.kind as u32
        | u32::from(task.cpus as u32 > 1)
        | u32::from(task.run.is_none())
        | u32::from(task.enqueue.is_some());
    wishes == 0
        && task.group.id | task.r#as.id | task.stream as u64 == 0
        && accesses.len() + after.len() <= INLINE_SLOTS
}

impl Graph {
    /// Submits a task for which `is_plain` holds. None: something else about it is not; nothing was done.
    #[inline(always)]
    pub(crate) fn submit_plain(
        &self,
        lane: &mut Lane,
        body: u32,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Option<Submitted> {
        if self.sealed.load(Ordering::Relaxed) {
            return None;
        }
        let odd = if body == 0 {
            self.phase.load(Ordering::Relaxed) & 1 != 0
        } else {
            let node = self.nodes.get(body);
            if node.annex.load(Ordering::Relaxed) != 0 {
                return None;
            }
            node.has(flag::ODD_PHASE)
        };
        for token in after {
            self.live_node(Token::from(*token)).ok()?;
        }
        if !self.epochs.stock(&mut lane.epochs, accesses.len()) {
            return None;
        }
        let slots = accesses.len() + after.len();
        let state = kind::TASK
            | flag::COUNTED
            | Node::slot_bits(slots)
            | if odd { flag::ODD_PHASE } else { 0 };
        let mut joiner = if accesses.is_empty() {
            self.take_plain_node(lane, task, state)?
        } else {
            self.place_plain(lane, task, accesses, state)?
        };
        let (index, node) = (joiner.index, joiner.node);
        let generation = node.load_successors().generation();
        joiner.datum = 0;
        for (position, token) in after.iter().enumerate() {
            let position = accesses.len() + position;
            node.slots[position].epoch.store(0, Ordering::Relaxed);
            let token = Token::from(*token);
            let predecessor: *const Node = self.nodes.get(token.index());
            let bits = meta::EXPLICIT | meta::PROPAGATES;
            joiner.wait_in_slot(lane, predecessor, token, position, bits);
        }
        count(&lane.counters.submitted[usize::from(odd)], 1);
        let token = Token::new(self.id, index, generation);
        if joiner.units != 0 {
            count(
                &lane.counters.edges,
                super::submit::units_to_edges(joiner.units),
            );
            joiner.let_go(lane);
            return Some(Submitted {
                token,
                runnable: None,
            });
        }
        // No link leads to the node, so nobody else changes the word.
        node.pending.store(0, Ordering::Release);
        if node.cause.load(Ordering::Relaxed) == 0 {
            return Some(Submitted {
                token,
                runnable: Some(index),
            });
        }
        lane.ripple.arrivals.push(index);
        Some(Submitted {
            token,
            runnable: None,
        })
    }

    /// A node filled for a plain task, known to nobody yet, ready to join its predecessors.
    #[inline(always)]
    fn take_plain_node(&self, lane: &mut Lane, task: &norn_task, state: u32) -> Option<Joiner<'_>> {
        let index = self.nodes.take(&mut lane.nodes)?;
        let node = self.nodes.get(index);
        if node.successors.load(Ordering::Relaxed) == 0 {
            node.successors
                .store(Successors::first().0, Ordering::Relaxed);
        }
        node.pending.store(GUARD, Ordering::Relaxed);
        node.holds.store(BODY_SHARE, Ordering::Relaxed);
        node.cause.store(0, Ordering::Relaxed);
        node.annex.store(0, Ordering::Relaxed);
        let run = task.run.map_or(0, |run| run as usize);
        node.run.store(run, Ordering::Relaxed);
        node.argument.store(task.arg as usize, Ordering::Relaxed);
        let destroy = task.drop.map_or(0, |drop| drop as usize);
        node.destroy.store(destroy, Ordering::Relaxed);
        node.set_name_priority(task.name, task.priority);
        // Release: reports that see the kind see the fields above.
        node.state.store(state, Ordering::Release);
        Some(Joiner {
            graph: self,
            index,
            node,
            units: 0,
            datum: 0,
        })
    }

    /// Takes a node and its places in all timelines, in one step.
    #[inline(always)]
    fn place_plain(
        &self,
        lane: &mut Lane,
        task: &norn_task,
        accesses: &[norn_access],
        state: u32,
    ) -> Option<Joiner<'_>> {
        let mut data = self.data.lock();
        data.begin_plain();
        let mut places = [Place::NOWHERE; INLINE_SLOTS];
        for (place, access) in places.iter_mut().zip(accesses) {
            let known = matches!(access.mode, NORN_READ | NORN_WRITE | NORN_READ_WRITE);
            if !known || access.slot != 0 || access.flags != 0 {
                return None;
            }
            // Accesses to one datum are merged elsewhere.
            let timeline = &mut data.plain(self.id, access.data)?.timeline;
            // What the places will be linked to lies in other cores' caches: fetch all of it at once.
            let writer = self.nodes.prefetch_head(timeline.writer.index());
            if access.mode != NORN_READ {
                self.epochs.prefetch_head(timeline.epoch);
            }
            *place = Place { timeline, writer };
        }
        let mut joiner = self.take_plain_node(lane, task, state)?;
        for (position, (place, access)) in places.iter().zip(accesses).enumerate() {
            // SAFETY: found in the table just now, which stands still under the placing lock; all are different.
            let timeline = unsafe { &mut *place.timeline };
            timeline.take_plain_place(&mut joiner, lane, place.writer, position, access.mode);
        }
        Some(joiner)
    }

    /// Fetches what the end of a task will change, while its body runs.
    #[inline(always)]
    pub(crate) fn prefetch_end(&self, node: &Node, state: u32) {
        for slot in &node.slots[..Node::slots_in(state)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            if epoch != 0 {
                self.epochs.prefetch_head(epoch);
            }
        }
    }

    /// Whether a task that has run may be completed on the straight path. `state`: as it was before the body.
    #[inline(always)]
    pub(crate) fn ended_plain(&self, node: &Node, state: u32) -> bool {
        // The body may have taken holds or submitted children; only it could.
        state & NOT_PLAIN == 0
            && node.annex.load(Ordering::Relaxed) == 0
            && node.holds.load(Ordering::Acquire) == BODY_SHARE
    }

    /// Completes a plain task whose body has ended well. What follows is in the lane's ripple.
    #[inline(always)]
    pub(crate) fn complete_plain(&self, lane: &mut Lane, index: u32, node: &Node, state: u32) {
        self.destroy_argument(node);
        for slot in &node.slots[..Node::slots_in(state)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            if epoch != 0 {
                self.leave_epoch(lane, epoch, 0, Ending::Success);
            }
        }
        let phase = usize::from(state & flag::ODD_PHASE != 0);
        count(&lane.counters.completed[phase], 1);
        let now = node.load_successors();
        let taken = node
            .successors
            .swap(now.moved_on(false).0, Ordering::AcqRel);
        let taken = Successors(taken);
        self.release_well(lane, taken.head());
        if taken.is_observed() {
            self.observers
                .tell(Token::new(self.id, index, taken.generation()));
        }
        node.state.store(kind::FREE, Ordering::Release);
        if !Node::is_worn_out(taken.generation() + 1) {
            self.nodes.give(&mut lane.nodes, index);
        }
    }

    /// Whether a node that has arrived may run and asks for nothing in particular.
    #[inline(always)]
    pub(crate) fn arrived_plain(&self, index: u32) -> bool {
        let node = self.nodes.get(index);
        let state = node.load_state();
        state & (kind::MASK | NOT_PLAIN) == kind::TASK
            && node.priority() == 0
            && node.cause.load(Ordering::Relaxed) == 0
    }
}
