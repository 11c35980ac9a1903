//! Submission: from a task's description to a node in its places.
//!
//! Everything that can be refused is checked before anything is changed, so
//! that an error has taken nothing. The steps are: check the fields, claim the
//! declared token if there is one, take the placing lock, resolve and check the
//! accesses, look for a cycle (only where a token bound late can close one),
//! take the places, link the explicit edges, let go.

use std::sync::atomic::Ordering;

use super::annex::{AnnexBody, MoreAccess, PrivateCopy};
use super::datum::{DataTable, Wanted, check_mode, merge_modes};
use super::graph::Graph;
use super::lane::{Lane, count};
use super::node::{GUARD, INLINE_SLOTS, Node, flag, kind, meta};
use super::timeline::{Joiner, ReduceTarget, Room, Timeline, node_flags, room_of};
use super::token::Token;
use crate::abi::status::{
    NORN_E_CLOSED, NORN_E_INVALID, NORN_E_STATE, NORN_E_UNCOVERED, NORN_E_UNSUPPORTED,
};
use crate::abi::types::*;
use crate::error::{Error, Result};

const KNOWN_FLAGS: u32 = NORN_HELD | NORN_CHILD | NORN_RUN_ALWAYS | NORN_COPY_ARG;
const COPY_LIMIT: u32 = 64;

impl Graph {
    /// Checks the fields of a task that need no look at the graph.
    #[inline]
    pub(crate) fn check_task(
        &self,
        body: u32,
        task: &norn_task,
        after: &[norn_token],
    ) -> Result<()> {
        self.check_open(body != 0)?;
        if task.run.is_none() || task.enqueue.is_some() {
            return Err(wrong_body(task));
        }
        if task.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid(format!(
                "task.flags has unknown bits {:#x}",
                task.flags & !KNOWN_FLAGS
            )));
        }
        if task.flags & NORN_COPY_ARG != 0 {
            if task.arg_bytes > COPY_LIMIT {
                return Err(invalid(format!(
                    "task.arg_bytes is {}, NORN_COPY_ARG copies at most {COPY_LIMIT}",
                    task.arg_bytes
                )));
            }
            if task.arg.is_null() && task.arg_bytes > 0 {
                return Err(invalid("task.arg is NULL with NORN_COPY_ARG"));
            }
        } else if task.arg_bytes != 0 {
            return Err(invalid("task.arg_bytes is set without NORN_COPY_ARG"));
        }
        if task.cpus < 0 {
            return Err(invalid(format!("task.cpus is {}", task.cpus)));
        }
        if task.flags & NORN_CHILD != 0 && body == 0 {
            return Err(invalid("NORN_CHILD outside a task"));
        }
        for token in after {
            if token.id != 0 {
                self.live_node(Token::from(*token))?;
                if token.id == task.r#as.id {
                    return Err(invalid("task.after names the task's own token"));
                }
            }
        }
        Ok(())
    }

    /// Checks the accesses of a task without taking their places.
    pub(crate) fn check_accesses(
        &self,
        body: u32,
        task: &norn_task,
        accesses: &[norn_access],
    ) -> Result<()> {
        let data = self.data.lock();
        let parent = if task.flags & NORN_CHILD != 0 {
            body
        } else {
            0
        };
        let mut scratch = Lane::default();
        self.resolve(&data, &mut scratch, parent, accesses)
    }

    /// Submits one task. `body`: the node of the calling body, 0 outside tasks. The consequences are in the
    /// lane's ripple afterwards.
    #[inline]
    pub(crate) fn submit(
        &self,
        lane: &mut Lane,
        body: u32,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Result<Token> {
        self.check_task(body, task, after)?;
        let bound = if task.r#as.id == 0 {
            None
        } else {
            Some(self.claim_declared(Token::from(task.r#as))?)
        };
        let submitted = self.submit_claimed(lane, body, task, accesses, after, bound);
        if let (Err(_), Some(index)) = (&submitted, bound) {
            self.unclaim_declared(lane, index);
        }
        submitted
    }

    fn submit_claimed(
        &self,
        lane: &mut Lane,
        body: u32,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        bound: Option<u32>,
    ) -> Result<Token> {
        let group = self.group_for(body, task.group)?;
        let plain = accesses.is_empty() && group == 0 && bound.is_none();
        if plain {
            let index = self.prepare(lane, body, task, 0, None)?;
            let token = self.nodes.get(index).token(self.id, index);
            let mut joiner = Joiner::new(self, index);
            let state = self.link(lane, &mut joiner, after, 0)?;
            self.go(lane, joiner, task, state);
            return Ok(token);
        }
        let mut data = self.data.lock();
        let parent = if task.flags & NORN_CHILD != 0 {
            body
        } else {
            0
        };
        self.resolve(&data, lane, parent, accesses)?;
        if bound.is_some() || lane.wanted.iter().any(|wanted| wanted.via != 0) {
            self.refuse_cycle(&data, bound, lane, parent, after)?;
        }
        let index = self.prepare(lane, body, task, lane.wanted.len(), bound)?;
        let token = self.nodes.get(index).token(self.id, index);
        if group != 0
            && let Err(error) = self.join_group(lane, index, group, token, body)
        {
            if bound.is_none() {
                self.free_node(lane, index);
            }
            return Err(error);
        }
        let mut joiner = Joiner::new(self, index);
        let flags = self.take_places(&mut data, lane, &mut joiner, parent)?;
        if bound.is_none() {
            drop(data);
            let state = self.link(lane, &mut joiner, after, flags)?;
            self.go(lane, joiner, task, state);
        } else {
            // Search and links are one step, or two bindings could close a cycle that neither sees.
            let state = self.link(lane, &mut joiner, after, flags)?;
            drop(data);
            self.go(lane, joiner, task, state);
        }
        Ok(token)
    }

    /// The group a task belongs to: the one named, else that of the calling body.
    fn group_for(&self, body: u32, named: norn_group) -> Result<u32> {
        if named.id != 0 {
            return self.groups.lock().resolve(self.id, named.id);
        }
        if body == 0 {
            return Ok(0);
        }
        Ok(self
            .annex(self.nodes.get(body))
            .map_or(0, |annex| annex.group.load(Ordering::Relaxed)))
    }

    fn join_group(
        &self,
        lane: &mut Lane,
        index: u32,
        group: u32,
        token: Token,
        body: u32,
    ) -> Result<()> {
        let of_body = if body == 0 {
            0
        } else {
            self.annex(self.nodes.get(body))
                .map_or(0, |annex| annex.group.load(Ordering::Relaxed))
        };
        self.groups
            .lock()
            .join(group, token, of_body == group, |token| {
                self.is_complete(token)
            })?;
        self.annex_of(lane, index)?
            .group
            .store(group, Ordering::Release);
        Ok(())
    }

    /// Fills the node of a task, which nobody else uses yet.
    #[inline]
    fn prepare(
        &self,
        lane: &mut Lane,
        body: u32,
        task: &norn_task,
        accesses: usize,
        bound: Option<u32>,
    ) -> Result<u32> {
        let mut state = kind::TASK | flag::COUNTED | Node::slot_bits(accesses.min(INLINE_SLOTS));
        if task.flags & NORN_RUN_ALWAYS != 0 {
            state |= flag::RUN_ALWAYS;
        }
        if task.flags & NORN_HELD != 0 {
            state |= flag::HELD;
        }
        let odd = if body == 0 {
            self.phase.load(Ordering::Relaxed) & 1 != 0
        } else {
            self.nodes.get(body).has(flag::ODD_PHASE)
        };
        if odd {
            state |= flag::ODD_PHASE;
        }
        let index = match bound {
            None => self.take_node(lane, state)?,
            Some(index) => index,
        };
        let node = self.nodes.get(index);
        let mut argument = task.arg as usize;
        if task.flags & (NORN_CHILD | NORN_COPY_ARG) != 0
            || accesses > INLINE_SLOTS
            || task.cpus > 1
            || task.place.kind != NORN_PLACE_ANY
        {
            let annex = self.annex_of(lane, index)?;
            if task.flags & NORN_CHILD != 0 {
                annex.parent.store(body, Ordering::Release);
                state |= flag::CHILD;
            }
            // SAFETY: the node is not let go yet, so it is ours.
            let content = unsafe { annex.body() };
            if task.flags & NORN_COPY_ARG != 0 {
                argument = copy_argument(content, task);
            }
            if task.cpus > 1 || task.place.kind != NORN_PLACE_ANY {
                content.cpus = task.cpus;
                content.place = task.place;
                state |= flag::PARTICULAR;
            }
            if accesses > INLINE_SLOTS {
                state |= flag::MORE_ACCESSES;
            }
        }
        node.run
            .store(task.run.map_or(0, |run| run as usize), Ordering::Relaxed);
        node.argument.store(argument, Ordering::Relaxed);
        node.destroy
            .store(task.drop.map_or(0, |drop| drop as usize), Ordering::Relaxed);
        node.set_name_priority(task.name, task.priority);
        if bound.is_some() {
            // A concurrent cancel may set its flag at any time; keep it.
            let _ = node
                .state
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                    Some((now & (flag::CANCELLED | flag::BINDING)) | state)
                });
        } else {
            node.state.store(state, Ordering::Release);
        }
        Ok(index)
    }

    /// Resolves and merges the accesses into `lane.wanted`, and checks them.
    fn resolve(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        parent: u32,
        accesses: &[norn_access],
    ) -> Result<()> {
        lane.wanted.clear();
        for (position, access) in accesses.iter().enumerate() {
            let at = |error: Error| {
                Error::new(
                    error.status(),
                    format!("accesses[{position}]: {}", error.text()),
                )
            };
            let mode = check_mode(access.mode).map_err(at)?;
            if access.flags != 0 {
                return Err(at(invalid("flags is reserved and must be 0")));
            }
            let index = data.resolve(self.id, access.data).map_err(at)?;
            let via = if access.slot == 0 {
                0
            } else {
                self.place_to_fill(Token(access.slot), index, mode)
                    .map_err(at)?
            };
            let datum = data.get(index);
            if datum.ending {
                return Err(at(Error::new(
                    NORN_E_STATE,
                    format!("{} is being unregistered", datum.label(index)),
                )));
            }
            if mode == NORN_REDUCE as u32
                && (datum.reduce.identity.is_none() || datum.reduce.combine.is_none())
            {
                return Err(at(invalid(format!(
                    "{} has no reduction",
                    datum.label(index)
                ))));
            }
            if datum.is_split && via == 0 {
                let mut leaves = Vec::new();
                data.leaves(index, &mut leaves);
                for leaf in leaves {
                    self.want(data, lane, leaf, mode, 0).map_err(at)?;
                }
            } else {
                self.want(data, lane, index, mode, via).map_err(at)?;
            }
        }
        merge_wanted(&mut lane.wanted)?;
        if parent != 0 {
            for wanted in &lane.wanted {
                self.check_covered(data, parent, *wanted)?;
            }
        }
        Ok(())
    }

    fn want(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        index: u32,
        mut mode: u32,
        via: u32,
    ) -> Result<()> {
        if mode == NORN_COMMUTE as u32 && self.deterministic.load(Ordering::Relaxed) {
            mode = NORN_READ_WRITE as u32;
        }
        let datum = data.get(index);
        let mut via = via;
        if via == 0 && !datum.unwritten.is_zero() && mode != NORN_READ as u32 {
            // The first writer takes the place that was kept for it.
            if mode == NORN_REDUCE as u32 {
                return Err(invalid(format!(
                    "{} is NORN_UNWRITTEN: a NORN_REDUCE cannot be its first writer",
                    datum.label(index)
                )));
            }
            via = datum.unwritten.index();
        }
        lane.wanted.push(Wanted {
            datum: index,
            mode,
            via,
        });
        Ok(())
    }

    /// Takes the places of `lane.wanted` and fills the slots. Under the placing lock.
    #[inline]
    pub(crate) fn take_places(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        joiner: &mut Joiner<'_>,
        parent: u32,
    ) -> Result<u32> {
        let mut flags = 0;
        let wanted = core::mem::take(&mut lane.wanted);
        for (position, wanted) in wanted.iter().enumerate() {
            flags |= node_flags(wanted.mode);
            self.take_place(data, lane, joiner, parent, position, *wanted)?;
        }
        lane.wanted = wanted;
        Ok(flags)
    }

    #[inline]
    fn take_place(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        joiner: &mut Joiner<'_>,
        parent: u32,
        position: usize,
        wanted: Wanted,
    ) -> Result<()> {
        let Wanted { datum, mode, via } = wanted;
        let mut bits = mode
            | if mode == NORN_READ as u32 {
                0
            } else {
                meta::WRITES
            };
        let room = room_of(position);
        if let Room::Slot(slot) = room {
            let slot = &joiner.node.slots[slot];
            slot.datum.store(datum, Ordering::Relaxed);
            slot.epoch.store(0, Ordering::Relaxed);
            slot.meta.store(bits, Ordering::Relaxed);
        }
        let mut epoch = 0;
        if via != 0 {
            bits |= meta::VIA_PLACE;
            if let Room::Slot(slot) = room {
                joiner.node.slots[slot].meta.store(bits, Ordering::Relaxed);
            }
            data.get_mut(datum).unwritten = match data.get(datum).unwritten {
                place if place.index() == via => Token::COMPLETE,
                other => other,
            };
            self.fill_place(lane, joiner, via, mode)?;
        } else {
            let (timeline, memory, reduce) = if parent == 0 {
                let datum = data.get_mut(datum);
                (&raw mut datum.timeline, datum.memory, datum.reduce)
            } else {
                let (memory, reduce) = (data.get(datum).memory, data.get(datum).reduce);
                (
                    self.child_timeline(data, lane, parent, datum)?,
                    memory,
                    reduce,
                )
            };
            // SAFETY: the timeline lies in the table or in the parent's domain, both under the placing
            // lock, which the caller holds; placing touches neither of the two containers.
            let timeline = unsafe { &mut *timeline };
            epoch = timeline.place(joiner, lane, room, mode, || ReduceTarget {
                operation: reduce,
                address: memory.start,
                bytes: memory.bytes,
            })?;
            if mode == NORN_REDUCE as u32
                && let Some(run) = &timeline.reduction
            {
                let member = timeline.members - 1;
                let run = run.clone();
                // SAFETY: the node is not let go yet, so it is ours.
                unsafe { self.annex_of(lane, joiner.index)?.body() }
                    .copies
                    .push(PrivateCopy {
                        datum,
                        run,
                        member,
                        memory: None,
                    });
            }
        }
        match room {
            Room::Slot(slot) => joiner.node.slots[slot]
                .epoch
                .store(epoch, Ordering::Relaxed),
            Room::Record => {
                // SAFETY: the node is not let go yet, so it is ours.
                unsafe { self.annex_of(lane, joiner.index)?.body() }
                    .more
                    .push(MoreAccess {
                        datum,
                        epoch,
                        meta: bits,
                    });
            }
        }
        Ok(())
    }

    /// The timeline of a datum among a parent's children, made when first touched.
    pub(crate) fn child_timeline(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        parent: u32,
        datum: u32,
    ) -> Result<*mut Timeline> {
        let annex = self.annex_of(lane, parent)?;
        // SAFETY: the caller holds the placing lock; the reference ends with this function and its result
        // is used under the same lock.
        let domain = unsafe { annex.domain() }.get_or_insert_with(Box::default);
        if !domain.contains_key(&datum) {
            // A piece begins where the whole it was cut from stands among these children.
            let mut ancestor = data.get(datum).parent;
            while ancestor != 0 && !domain.contains_key(&ancestor) {
                ancestor = data.get(ancestor).parent;
            }
            let timeline = match domain.get_mut(&ancestor) {
                Some(whole) if ancestor != 0 => whole.inherit(self, lane, datum)?,
                _ => Timeline {
                    datum,
                    ..Timeline::default()
                },
            };
            domain.insert(datum, timeline);
        }
        Ok(domain
            .get_mut(&datum)
            .map_or(core::ptr::null_mut(), |timeline| &raw mut *timeline))
    }

    /// Whether a parent's accesses allow this access of a child.
    fn check_covered(&self, data: &DataTable, parent: u32, wanted: Wanted) -> Result<()> {
        let mut covered = false;
        // A whole that was joined meanwhile is covered by accesses to all its pieces.
        let former = &data.get(wanted.datum).former;
        let mut pieces = 0;
        self.for_each_access(parent, |datum, bits, _| {
            let enough = bits & meta::RELEASED == 0
                && match (bits & meta::MODE) as i32 {
                    NORN_READ => wanted.mode == NORN_READ as u32,
                    NORN_REDUCE => false,
                    _ => true,
                };
            covered |= enough && data.lies_within(wanted.datum, datum);
            pieces += usize::from(enough && former.contains(&datum));
        });
        covered |= !former.is_empty() && pieces == former.len();
        if covered {
            return Ok(());
        }
        Err(Error::new(
            NORN_E_UNCOVERED,
            format!(
                "the parent task {} holds no access that covers mode {} on {}",
                self.label(parent),
                wanted.mode,
                data.get(wanted.datum).label(wanted.datum)
            ),
        ))
    }

    /// Calls `see(datum, meta, epoch)` for each access of a node.
    pub(crate) fn for_each_access(&self, index: u32, mut see: impl FnMut(u32, u32, u32)) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        for slot in &node.slots[..Node::slots_in(state).min(INLINE_SLOTS)] {
            let datum = slot.datum.load(Ordering::Relaxed);
            if datum != 0 {
                see(
                    datum,
                    slot.meta.load(Ordering::Relaxed),
                    slot.epoch.load(Ordering::Relaxed),
                );
            }
        }
        if state & flag::MORE_ACCESSES != 0
            && let Some(annex) = self.annex(node)
        {
            // SAFETY: `more` is written before the node is let go; callers own the node or hold the placing
            // lock while it is alive.
            for more in &unsafe { annex.body() }.more {
                see(more.datum, more.meta, more.epoch);
            }
        }
    }

    /// Links the explicit edges. Returns the state.
    #[inline]
    fn link(
        &self,
        lane: &mut Lane,
        joiner: &mut Joiner<'_>,
        after: &[norn_token],
        flags: u32,
    ) -> Result<u32> {
        let node = joiner.node;
        let mut state = node.load_state();
        let first_free = Node::slots_in(state);
        let mut used = first_free;
        joiner.datum = 0;
        for token in after {
            let room = room_of(used);
            if let Room::Slot(slot) = room {
                node.slots[slot].datum.store(0, Ordering::Relaxed);
                node.slots[slot].epoch.store(0, Ordering::Relaxed);
            }
            let done = joiner.wait_for(
                lane,
                Token::from(*token),
                room,
                meta::EXPLICIT | meta::PROPAGATES,
            )?;
            // A slot whose link is in no list can take the next edge.
            used += usize::from(!done && used < INLINE_SLOTS);
        }
        if used != first_free || flags != 0 {
            let bits = Node::slot_bits(used) ^ Node::slot_bits(first_free);
            state = node.state.fetch_xor(bits | flags, Ordering::AcqRel) ^ (bits | flags);
        }
        Ok(state)
    }

    /// Counts the task and lets it go, or keeps it held.
    #[inline]
    fn go(&self, lane: &mut Lane, joiner: Joiner<'_>, task: &norn_task, state: u32) {
        let (index, node) = (joiner.index, joiner.node);
        if joiner.units != 0 {
            count(&lane.counters.edges, units_to_edges(joiner.units));
        }
        let phase = usize::from(state & flag::ODD_PHASE != 0);
        count(&lane.counters.submitted[phase], 1);
        if state & flag::CHILD != 0 {
            let parent = self
                .annex(node)
                .map_or(0, |annex| annex.parent.load(Ordering::Relaxed));
            self.nodes.get(parent).holds.fetch_add(1, Ordering::Relaxed);
        }
        let held = task.flags & NORN_HELD != 0;
        if state & flag::BINDING != 0 {
            joiner.keep_guard();
            self.end_binding(lane, index, held);
        } else if held {
            joiner.keep_guard();
        } else {
            joiner.let_go(lane);
        }
    }

    /// The binding of a declared token is complete: from now on a cancel acts itself.
    fn end_binding(&self, lane: &mut Lane, index: u32, held: bool) {
        let node = self.nodes.get(index);
        let before = node.clear(flag::BINDING);
        if before & flag::CANCELLED != 0 {
            self.cancel_claimed(lane, index);
        } else if !held && node.pending.fetch_sub(GUARD, Ordering::AcqRel) == GUARD {
            lane.ripple.arrivals.push(index);
        }
    }

    /// Claims a declared token for one task.
    pub(crate) fn claim_declared(&self, token: Token) -> Result<u32> {
        let Some((index, node)) = self.live_node(token)? else {
            return Err(self.cannot_bind(token));
        };
        let claimed = node
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & kind::MASK == kind::DECLARED
                    && state & (flag::BINDING | flag::CANCELLED) == 0)
                    .then_some(state | flag::BINDING)
            });
        // The generation cannot move while BINDING is set, but may have before.
        match claimed {
            Ok(_) if node.load_successors().generation() == token.generation() => Ok(index),
            Ok(_) => {
                node.clear(flag::BINDING);
                Err(self.cannot_bind(token))
            }
            Err(_) => Err(self.cannot_bind(token)),
        }
    }

    #[cold]
    fn cannot_bind(&self, token: Token) -> Error {
        if let Some(failure) = self.failure_of(token)
            && failure.cause.status == NORN_E_CLOSED
        {
            return Error::new(NORN_E_CLOSED, "task.as was closed");
        }
        Error::new(
            NORN_E_STATE,
            format!("task.as {:#x} is no declared token without a task", token.0),
        )
    }

    fn unclaim_declared(&self, lane: &mut Lane, index: u32) {
        let before = self.nodes.get(index).clear(flag::BINDING);
        if before & flag::CANCELLED != 0 {
            self.cancel_claimed(lane, index);
        }
    }

    /// Declares a token whose task comes later, or promises one.
    pub(crate) fn new_token(
        &self,
        lane: &mut Lane,
        body: u32,
        node_kind: u32,
        name: *const core::ffi::c_char,
    ) -> Result<Token> {
        self.check_open(body != 0)?;
        let index = self.take_node(lane, node_kind)?;
        let node = self.nodes.get(index);
        node.set_name_priority(name, 0);
        Ok(node.token(self.id, index))
    }
}

fn units_to_edges(units: u64) -> u64 {
    (units & super::node::DATA_MASK) + (units >> 32)
}

/// Copies the argument into the annex and gives its address there.
fn copy_argument(content: &mut AnnexBody, task: &norn_task) -> usize {
    let target = (&raw mut content.copied_argument).cast::<u8>();
    // SAFETY: the caller of norn_submit promises `arg_bytes` readable bytes, and the annex has room for 64.
    unsafe {
        core::ptr::copy_nonoverlapping(task.arg.cast::<u8>(), target, task.arg_bytes as usize);
    }
    target as usize
}

/// Merges accesses to the same datum; the strongest mode wins.
fn merge_wanted(wanted: &mut Vec<Wanted>) -> Result<()> {
    if wanted.len() > 16 {
        // Long lists are sorted; the order of places within one submission does not matter.
        wanted.sort_by_key(|wanted| wanted.datum);
        let mut merged: Vec<Wanted> = Vec::with_capacity(wanted.len());
        for next in wanted.drain(..) {
            match merged.last_mut() {
                Some(last) if last.datum == next.datum => merge_into(last, next)?,
                _ => merged.push(next),
            }
        }
        *wanted = merged;
        return Ok(());
    }
    let mut kept = 0;
    for position in 0..wanted.len() {
        let next = wanted[position];
        match wanted[..kept]
            .iter()
            .position(|other| other.datum == next.datum)
        {
            Some(first) => merge_into(&mut wanted[first], next)?,
            None => {
                wanted[kept] = next;
                kept += 1;
            }
        }
    }
    wanted.truncate(kept);
    Ok(())
}

fn merge_into(first: &mut Wanted, second: Wanted) -> Result<()> {
    if first.via != 0 && second.via != 0 && first.via != second.via {
        return Err(invalid("one datum is accessed through two reserved places"));
    }
    let mode = merge_modes(first.mode, second.mode);
    let via = first.via.max(second.via);
    if via != 0 && (first.mode != second.mode) {
        return Err(invalid(
            "a datum with a reserved place is accessed in two modes",
        ));
    }
    first.mode = mode;
    first.via = via;
    Ok(())
}

#[cold]
fn wrong_body(task: &norn_task) -> Error {
    if task.run.is_some() && task.enqueue.is_some() {
        invalid("task.run and task.enqueue are both set")
    } else if task.enqueue.is_some() {
        Error::new(
            NORN_E_UNSUPPORTED,
            "task.enqueue: this build of norn has no device lowering",
        )
    } else {
        invalid("task.run is NULL")
    }
}

#[cold]
pub(crate) fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(NORN_E_INVALID, text)
}
