//! The straight path of plain tasks: at most four accesses and edges, READ, WRITE
//! or READ_WRITE, and nothing else: no flags, group, place, `cpus`, parent. Nearly
//! every task of a large graph is one, so this path decides what norn costs.
//!
//! It does what `submit`, `access`, `timeline` and `complete` do for any task, step
//! for step in the same order and under the same lock, written out in one piece and
//! without the detours. Whatever does not fit is left to them, before anything
//! was changed: they also word the errors.

use crate::sync::atomic::Ordering;

use super::complete::Links;
use super::datum::Datum;
use super::graph::Graph;
use super::lane::{Ending, Lane, count};
use super::node::{BODY_SHARE, GUARD, INLINE_SLOTS, LinkId, Node, Successors, flag, kind, meta};
use super::timeline::{Joiner, Room};
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
            let slot = accesses.len() + position;
            node.slots[slot].datum.store(0, Ordering::Relaxed);
            node.slots[slot].epoch.store(0, Ordering::Relaxed);
            // A slot has room for the link, so this takes no memory and cannot fail.
            let bits = meta::EXPLICIT | meta::PROPAGATES;
            let _ = joiner.wait_for(lane, Token::from(*token), Room::Slot(slot), bits);
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
        let mut placed = [core::ptr::null_mut::<Datum>(); INLINE_SLOTS];
        for (position, access) in accesses.iter().enumerate() {
            let known = matches!(access.mode, NORN_READ | NORN_WRITE | NORN_READ_WRITE);
            if !known || access.slot != 0 || access.flags != 0 {
                return None;
            }
            let datum: *mut Datum = data.plain(self.id, access.data)?;
            // Accesses to one datum are merged elsewhere.
            if placed[..position].contains(&datum) {
                return None;
            }
            placed[position] = datum;
            // What the places will be linked to lies in other cores' caches: fetch all of it at once.
            // SAFETY: found in the table just now, under the placing lock.
            let timeline = unsafe { &(*datum).timeline };
            self.nodes.prefetch_head(timeline.writer.index());
            if access.mode != NORN_READ {
                self.epochs.prefetch_head(timeline.epoch);
            }
        }
        let mut joiner = self.take_plain_node(lane, task, state)?;
        let node = joiner.node;
        for (position, access) in accesses.iter().enumerate() {
            // SAFETY: found in the table just now, which stands still under the placing lock; all are different.
            let timeline = unsafe { &mut (*placed[position]).timeline };
            let slot = &node.slots[position];
            let mode = access.mode as u32;
            let room = Room::Slot(position);
            slot.datum.store(timeline.datum, Ordering::Relaxed);
            joiner.datum = timeline.datum;
            // Neither can fail: the links lie in the slots, and the epochs are in stock.
            let epoch = if mode == NORN_READ as u32 {
                slot.meta.store(mode, Ordering::Relaxed);
                timeline.place_reader(&mut joiner, lane, room)
            } else {
                slot.meta.store(mode | meta::WRITES, Ordering::Relaxed);
                timeline
                    .place_writer(&mut joiner, lane, room, mode)
                    .map(|()| 0)
            };
            slot.epoch.store(epoch.unwrap_or(0), Ordering::Relaxed);
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
        if taken.head() != LinkId::NONE {
            self.release_links(lane, taken.head(), 0, Links::All);
        }
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
