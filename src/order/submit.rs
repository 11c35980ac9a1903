//! Submission: from a task's description to a node in its places.
//!
//! Everything that can be refused is checked before anything is changed, so
//! that an error has taken nothing. The steps are: check the fields, claim the
//! declared token if there is one, take the placing lock, resolve and check the
//! accesses, look for a cycle (only where a token bound late can close one),
//! take the places, link the explicit edges, let go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::annex::AnnexBody;
use super::datum::DataTable;
use super::graph::Graph;
use super::joiner::{Joiner, Room, room_of};
use super::lane::{Lane, count};
use super::node::{INLINE_SLOTS, Node, flag, kind, meta};
use super::operation::Operation;
use super::token::Token;
use crate::abi::status::NORN_E_INVALID;
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
        if task.run.is_some() == task.enqueue.is_some() {
            return Err(wrong_body(task));
        }
        if task.run.is_some() && !task.stream.is_null() {
            return Err(invalid(
                "task.stream is for enqueue bodies; a host body has none",
            ));
        }
        self.check_description(body, task, after)
    }

    /// Checks everything in a task's description but its body.
    #[inline]
    fn check_description(&self, body: u32, task: &norn_task, after: &[norn_token]) -> Result<()> {
        self.check_open(body != 0, task.flags & NORN_RUN_ALWAYS != 0)?;
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
        self.submit_checked(lane, body, task, accesses, after, None)
    }

    /// Submits an operation as `how` says, of which `arg` and `drop` are read only where it has an `enqueue` body:
    /// the operation calls that with the node's argument.
    pub(crate) fn submit_operation(
        &self,
        lane: &mut Lane,
        body: u32,
        how: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        operation: Arc<dyn Operation>,
    ) -> Result<Token> {
        let mut task = norn_task { run: None, ..*how };
        if task.enqueue.take().is_none() {
            task.arg = core::ptr::null_mut();
            task.drop = None;
        }
        self.check_description(body, &task, after)?;
        if accesses.iter().any(|access| access.mode == NORN_REDUCE) {
            return Err(invalid("NORN_REDUCE is for tasks with a body"));
        }
        self.submit_checked(lane, body, &task, accesses, after, Some(operation))
    }

    #[inline]
    fn submit_checked(
        &self,
        lane: &mut Lane,
        body: u32,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        operation: Option<Arc<dyn Operation>>,
    ) -> Result<Token> {
        let bound = if task.r#as.id == 0 {
            None
        } else {
            Some(self.claim_declared(Token::from(task.r#as))?)
        };
        lane.operation = operation;
        let submitted = self.submit_claimed(lane, body, task, accesses, after, bound);
        lane.operation = None;
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
        let parent = if task.flags & NORN_CHILD != 0 {
            body
        } else {
            0
        };
        // Whether somebody waits for the task from now on, so that its edges can close a cycle.
        let is_part = group != 0 || parent != 0;
        let plain = accesses.is_empty()
            && group == 0
            && bound.is_none()
            && (parent == 0 || after.is_empty());
        if plain {
            let index = self.prepare(lane, body, task, 0, None, 0)?;
            let token = self.nodes.get(index).token(self.id, index);
            let mut joiner = Joiner::new(self, index);
            let state = self.link(lane, &mut joiner, after, 0)?;
            self.go(lane, joiner, task, state);
            return Ok(token);
        }
        let mut data = self.data.lock();
        plant!("submit.placing_locked");
        self.admit(&data, lane, parent, group, bound, task, accesses, after)?;
        let index = self.prepare(lane, body, task, lane.wanted.len(), bound, group)?;
        let token = self.nodes.get(index).token(self.id, index);
        if group != 0
            && let Err(error) = self.join_group(lane, index, group, token, body)
        {
            match bound {
                None => self.free_node(lane, index),
                Some(index) => self.make_declared_again(index),
            }
            return Err(error);
        }
        let mut joiner = Joiner::new(self, index);
        let flags = self.take_places(&mut data, lane, &mut joiner, parent)?;
        plant!("submit.places_taken");
        if bound.is_none() && (after.is_empty() || !is_part) {
            drop(data);
            let state = self.link(lane, &mut joiner, after, flags)?;
            self.go(lane, joiner, task, state);
        } else {
            // Search and links are one step, or two submissions could close a cycle that neither sees.
            let state = self.link(lane, &mut joiner, after, flags)?;
            drop(data);
            self.go(lane, joiner, task, state);
        }
        Ok(token)
    }

    /// Resolves the accesses into `lane.wanted` and refuses a task that would close a cycle. Changes nothing in the
    /// graph. `bound`: the declared token that the task binds. Under the placing lock.
    #[allow(clippy::too_many_arguments)] // what a submission is, for its two callers; a struct would only rename it
    pub(crate) fn admit(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        parent: u32,
        group: u32,
        bound: Option<u32>,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Result<()> {
        self.resolve(data, lane, parent, accesses)?;
        let done = self.done_if_awaited(group, after);
        // The parent waits for its child; for what comes before that by data it never waits itself.
        let parent_waits = parent != 0 && (bound.is_some() || !after.is_empty());
        let filled = lane.wanted.iter().any(|wanted| wanted.via != 0);
        if bound.is_some() || done.is_some() || parent_waits || filled {
            let waiting_parent = parent_waits.then_some(parent);
            let late = [bound, done, waiting_parent].into_iter().flatten();
            self.refuse_cycle(data, late.collect(), lane, parent, task, after)?;
        }
        Ok(())
    }

    /// The group a task belongs to: the one named, else that of the calling body.
    fn group_for(&self, body: u32, named: norn_group) -> Result<u32> {
        if named.id != 0 {
            return self.groups.lock().resolve(self.id, named.id);
        }
        Ok(self.group_of_body(body))
    }

    fn group_of_body(&self, body: u32) -> u32 {
        if body == 0 {
            return 0;
        }
        self.annex(self.nodes.get(body))
            .map_or(0, |annex| annex.group.load(Ordering::Relaxed))
    }

    /// Whether a submit of a task that binds `bound` would be refused as the graph is now. Takes nothing.
    pub(crate) fn check_admission(
        &self,
        scratch: &mut Lane,
        body: u32,
        bound: Option<u32>,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Result<()> {
        let group = self.group_for(body, task.group)?;
        if group != 0 {
            let of_member = self.group_of_body(body) == group;
            self.groups.lock().check_joinable(group, of_member)?;
        }
        let parent = if task.flags & NORN_CHILD != 0 {
            body
        } else {
            0
        };
        let data = self.data.lock();
        self.admit(&data, scratch, parent, group, bound, task, accesses, after)
    }

    fn join_group(
        &self,
        lane: &mut Lane,
        index: u32,
        group: u32,
        token: Token,
        body: u32,
    ) -> Result<()> {
        let of_member = self.group_of_body(body) == group;
        self.groups
            .lock()
            .join(group, token, of_member, |token| self.is_complete(token))?;
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
        group: u32,
    ) -> Result<u32> {
        let mut state = kind::TASK | flag::COUNTED | Node::slot_bits(accesses.min(INLINE_SLOTS));
        if task.flags & NORN_RUN_ALWAYS != 0 {
            state |= flag::RUN_ALWAYS;
        }
        if task.flags & NORN_HELD != 0 {
            state |= flag::HELD | flag::BINDING;
        }
        if group != 0 {
            state |= flag::BINDING;
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
            || lane.operation.is_some()
        {
            let operation = lane.operation.take();
            let annex = self.annex_of(lane, index)?;
            if let Some(operation) = operation {
                // A held one may never be let go, and a close must be able to end it at once. A declared token can be
                // cancelled by who does not see yet what it has become.
                let late = bound.is_some() || task.flags & NORN_HELD != 0;
                if operation.joins_at_issue() && !late {
                    state |= flag::ON_ISSUE;
                }
                annex.set_operation(operation);
                state |= flag::PARTICULAR;
            }
            if task.flags & NORN_CHILD != 0 {
                annex.parent.store(body, Ordering::Release);
                state |= flag::CHILD;
            }
            if task.flags & NORN_COPY_ARG != 0 {
                // SAFETY: the node is not let go yet, so it is ours.
                argument = copy_argument(unsafe { annex.body() }, task);
            }
            if task.cpus > 1 || task.place.kind != NORN_PLACE_ANY {
                // SAFETY: as above.
                let content = unsafe { annex.body() };
                content.cpus = task.cpus;
                content.place = task.place;
                state |= flag::PARTICULAR;
            }
            if task.place.kind == NORN_PLACE_OPENER {
                state |= flag::AT_OPENER;
                self.at_opener.lock().insert(index);
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
        plant!("submit.linked");
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
}

pub(crate) fn units_to_edges(units: u64) -> u64 {
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

#[cold]
fn wrong_body(task: &norn_task) -> Error {
    if task.run.is_some() {
        invalid("task.run and task.enqueue are both set")
    } else {
        invalid("task.run and task.enqueue are both NULL")
    }
}

#[cold]
pub(crate) fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(NORN_E_INVALID, text)
}
