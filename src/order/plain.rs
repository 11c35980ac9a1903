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
use super::node::{
    BODY_SHARE, EXPLICIT_UNIT, GUARD, INLINE_SLOTS, LinkId, LinkPlace, Node, Successors, flag,
    kind, meta,
};
use super::plain_places::Entrant;
use super::sole::{Shared, Words};
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
    pub(crate) index: u32,
    /// It may run at once; the caller schedules it.
    pub(crate) runnable: bool,
}

/// Whether nothing in the task itself asks for more than the straight path does.
#[inline(always)]
pub(crate) fn is_plain(task: &norn_task, accesses: &[norn_access], after: &[norn_token]) -> bool {
    // All in one word, so that there is one thing to ask.
    let wishes = u64::from(task.flags | task.arg_bytes)
        | task.place.kind as u64
        | task.group.id
        | task.r#as.id
        | task.stream as u64
        | task.enqueue.map_or(0, |enqueue| enqueue as usize as u64);
    if wishes != 0 || task.run.is_none() {
        return false;
    }
    // One comparison after the other: joined, they are worked out all.
    if task.cpus as u32 > 1 {
        return false;
    }
    accesses.len() + after.len() <= INLINE_SLOTS
}

impl Graph {
    /// Whether what `body` (0: none) submits now counts for the odd phase. None: it does not go the straight way.
    #[inline(always)]
    pub(super) fn plain_phase(&self, body: u32) -> Option<bool> {
        if self.sealed.load(Ordering::Relaxed) {
            return None;
        }
        if body == 0 {
            return Some(self.phase.load(Ordering::Relaxed) & 1 != 0);
        }
        let node = self.nodes.get(body);
        // It may be in a group, which its tasks are in too.
        (node.annex.load(Ordering::Relaxed) == 0).then(|| node.has(flag::ODD_PHASE))
    }

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
        let odd = self.plain_phase(body)?;
        if !self.nodes.stock(&mut lane.nodes, 1) {
            return None;
        }
        let state = kind::TASK | flag::COUNTED | if odd { flag::ODD_PHASE } else { 0 };
        if !accesses.is_empty() || !after.is_empty() {
            return self.join_plain(lane, task, accesses, after, state);
        }
        // Nothing to wait for, and nobody knows it, so nobody dooms it either: it has arrived.
        let (entrant, token) = self.enter_plain(lane, task, state, 1, 0);
        count(&lane.counters.submitted[usize::from(odd)], 1);
        Some(Submitted {
            token,
            index: entrant.index,
            runnable: true,
        })
    }

    /// Submits a task with accesses or tokens to wait for.
    ///
    /// The two it calls are functions of their own: inlined, each would keep the others' values out of the registers.
    #[inline(always)]
    fn join_plain(
        &self,
        lane: &mut Lane,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        state: u32,
    ) -> Option<Submitted> {
        for token in after {
            self.live_node(Token::from(*token)).ok()?;
        }
        let state = state | Node::slot_bits(accesses.len() + after.len());
        match self.sole.step() {
            Some(step) => self.submit_step(lane, step.words(), task, accesses, after, state),
            None => self.submit_step(lane, Shared, task, accesses, after, state),
        }
    }

    /// The step of `join_plain`, with the whole state.
    #[inline(always)]
    fn submit_step(
        &self,
        lane: &mut Lane,
        words: impl Words,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        state: u32,
    ) -> Option<Submitted> {
        let (entrant, mut units) = if accesses.is_empty() {
            (self.enter_plain(lane, task, state, 1, GUARD).0, 0)
        } else {
            let (index, units) = self.place_plain(lane, words, task, accesses, state)?;
            (self.entrant(index.get()), u64::from(units))
        };
        let index = entrant.index;
        let token = entrant.node.token(self.id, index);
        if !after.is_empty() {
            units += self.come_after(lane, words, index, after, accesses.len());
        }
        Some(self.let_go_plain(lane, words, entrant, token, units, state))
    }

    /// Lets a node go that is in its places and waits for `units`. `state`: its state so far.
    #[inline(always)]
    pub(super) fn let_go_plain(
        &self,
        lane: &mut Lane,
        words: impl Words,
        entrant: Entrant<'_>,
        token: Token,
        units: u64,
        state: u32,
    ) -> Submitted {
        let phase = usize::from(state & flag::ODD_PHASE != 0);
        count(&lane.counters.submitted[phase], 1);
        let index = entrant.index;
        let mut runnable = false;
        if units != 0 {
            count(&lane.counters.edges, super::submit::units_to_edges(units));
            let units = units.wrapping_sub(GUARD);
            if words.add(&entrant.node.pending, units).wrapping_add(units) == 0 {
                lane.ripple.arrivals.push(index);
            }
        } else {
            // No link leads to the node, so nobody else changes the word.
            entrant.node.pending.store(0, Ordering::Release);
            runnable = entrant.node.cause.load(Ordering::Relaxed) == 0;
            if !runnable {
                lane.ripple.arrivals.push(index);
            }
        }
        Submitted {
            token,
            index,
            runnable,
        }
    }

    /// Makes a node wait for tokens, with the links in its slots from number `first` on. Gives the units to add to its
    /// pending word.
    #[inline(never)]
    pub(super) fn come_after(
        &self,
        lane: &mut Lane,
        words: impl Words,
        index: u32,
        after: &[norn_token],
        first: usize,
    ) -> u64 {
        let entrant = self.entrant(index);
        let mut units = 0;
        for (position, token) in (first..).zip(after) {
            let slot = &entrant.node.slots[position];
            slot.datum.store(0, Ordering::Relaxed);
            slot.epoch.store(0, Ordering::Relaxed);
            let bits = meta::EXPLICIT | meta::PROPAGATES;
            slot.meta.store(bits, Ordering::Relaxed);
            let token = Token::from(*token);
            let predecessor: *const Node = self.nodes.get(token.index());
            let waited =
                entrant.wait_in_slot(lane, words, predecessor, token, position, EXPLICIT_UNIT);
            units += waited.units;
        }
        units
    }

    /// Fetches what the end of a task will change, while its body runs: the epochs that it leaves, and the consumer that
    /// has come last.
    #[inline(always)]
    pub(crate) fn prefetch_end(&self, node: &Node, state: u32) {
        for slot in &node.slots[..Node::slots_in(state)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            if epoch != 0 {
                self.epochs.prefetch_head(epoch);
            }
        }
        let head = Successors(node.successors.load(Ordering::Relaxed)).head();
        if let LinkPlace::Slot { consumer, .. } = head.place()
            && consumer != 0
        {
            self.nodes.prefetch(consumer, 2);
        }
    }

    /// Begins a plain task that may run, unless it is cancelled. Gives its state as it was. `SOLE`: the step may be alone.
    #[inline(always)]
    pub(crate) fn start_plain<const SOLE: bool>(&self, node: &Node) -> u32 {
        // An addition sets the flag: only who has taken the task out of its queue sets it, once.
        if SOLE && let Some(step) = self.sole.step() {
            return step.words().add_small(&node.state, flag::STARTED);
        }
        Shared.add_small(&node.state, flag::STARTED)
    }

    /// Whether a plain task that has run may be completed on the straight path.
    #[inline(always)]
    pub(crate) fn ended_plain(&self, node: &Node) -> bool {
        // The body may have taken holds or submitted children; only it could.
        node.annex.load(Ordering::Relaxed) == 0 && node.holds.load(Ordering::Acquire) == BODY_SHARE
    }

    /// Completes a plain task whose body has ended well and whose argument is destroyed. `state`: as it was before the
    /// body. Gives the links of those to release (`release_well`); what else follows is in the lane's ripple, and nothing
    /// does where the task had no slots.
    #[inline(always)]
    pub(crate) fn complete_plain(
        &self,
        lane: &mut Lane,
        words: impl Words,
        index: u32,
        node: &Node,
        state: u32,
    ) -> LinkId {
        for slot in &node.slots[..Node::slots_in(state)] {
            let epoch = slot.epoch.load(Ordering::Relaxed);
            if epoch != 0 {
                self.leave_epoch(lane, words, epoch, 0, Ending::Success);
            }
        }
        let phase = usize::from(state & flag::ODD_PHASE != 0);
        count(&lane.counters.completed[phase], 1);
        let now = node.load_successors();
        let taken = words.swap(&node.successors, now.0, now.moved_on(false).0);
        let taken = Successors(taken);
        if taken.is_observed() {
            self.observers
                .tell(Token::new(self.id, index, taken.generation()));
        }
        node.state.store(kind::FREE, Ordering::Release);
        if !Node::is_worn_out(taken.generation() + 1) {
            self.nodes.give(&mut lane.nodes, index);
        }
        taken.head()
    }

    /// Whether a node that has arrived may run and asks for nothing in particular.
    #[inline(always)]
    pub(crate) fn arrived_plain(&self, node: &Node) -> bool {
        node.load_state() & (kind::MASK | NOT_PLAIN) == kind::TASK
            && node.priority() == 0
            && node.cause.load(Ordering::Relaxed) == 0
    }
}
