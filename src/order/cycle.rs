//! The deadlock search: a wait that would close a cycle is refused.
//!
//! A cycle can only be closed where something is made to wait late: a declared
//! token is bound, a group or a parent gets a member or child, an edge is added to a
//! held or declared token, a body awaits, or a task queues for COMMUTE data. At these places the search starts from the node
//! whose end the new wait delays, and looks for the node it would wait for, among all that wait for it in turn (`cone`). It
//! is skipped where nothing does or where the other side cannot be waiting for anything.

use std::sync::atomic::Ordering;

use super::datum::DataTable;
use super::graph::Graph;
use super::lane::Lane;
use super::node::{BODY_SHARE, GUARD, LinkId, flag, kind};
use super::timeline::Run;
use super::token::Token;
use crate::abi::status::{NORN_E_DEADLOCK, NORN_E_WOULD_DEADLOCK};
use crate::abi::types::{
    NORN_COMMUTE, NORN_PLACE_OPENER, NORN_READ, NORN_REDUCE, norn_task, norn_token,
};
use crate::error::{Error, Result};

impl Graph {
    /// The `done` node of a group, if something waits for it, so that a new member may close a cycle.
    pub(crate) fn done_if_awaited(&self, group: u32, after: &[norn_token]) -> Option<u32> {
        if group == 0 {
            return None;
        }
        let done = self.groups.lock().done(group);
        if done == 0 {
            return None;
        }
        let node = self.nodes.get(done);
        let word = node.load_successors();
        let token = Token::new(self.id, done, word.generation());
        let awaited = word.head() != LinkId::NONE
            || word.is_observed()
            || node.annex.load(Ordering::Relaxed) != 0
            || after.iter().any(|before| Token::from(*before) == token);
        awaited.then_some(done)
    }

    /// Refuses a task that would wait for what waits for it: because it binds a declared token, joins a group or is a
    /// child (`late`: the token, the group's end, the parent), or because it fills reserved places. The accesses are in
    /// `lane.wanted`. Under the placing lock.
    pub(crate) fn refuse_cycle(
        &self,
        data: &DataTable,
        late: Vec<u32>,
        lane: &mut Lane,
        parent: u32,
        task: &norn_task,
        after: &[norn_token],
    ) -> Result<()> {
        let places: Vec<u32> = lane
            .wanted
            .iter()
            .map(|wanted| wanted.via)
            .filter(|place| *place != 0)
            .flat_map(|place| self.with_siblings(place))
            .collect();
        let mut late = late;
        // A bound token may have edges already, and so wait for the group that the task joins.
        let mut has_edges = false;
        late.retain(|index| {
            let node = self.nodes.get(*index);
            let word = node.load_successors();
            let is_bound = node.kind() == kind::DECLARED;
            let waits = is_bound && self.may_wait(*index);
            has_edges |= waits;
            word.head() != LinkId::NONE
                || word.is_observed()
                || node.annex.load(Ordering::Relaxed) != 0
                || !is_bound
                || waits
        });
        if late.is_empty() && places.is_empty() {
            return Ok(());
        }
        let explicit: Vec<u32> = after
            .iter()
            .map(|token| Token::from(*token))
            .filter(|token| !self.is_complete(*token))
            .map(Token::index)
            .filter(|index| late.contains(index) || self.may_wait(*index))
            .collect();
        let at_opener = task.place.kind == NORN_PLACE_OPENER;
        let queued: Vec<u32> = lane
            .operation
            .as_ref()
            .map_or_else(Vec::new, |operation| operation.issued_after())
            .into_iter()
            .filter(|token| !self.is_complete(*token))
            .map(Token::index)
            .collect();
        // Each of its edges was searched when it was added: they matter only where there is another start to wait for.
        let waits_for_start = has_edges && late.len() + places.len() > 1;
        let nothing = explicit.is_empty() && lane.wanted.is_empty() && queued.is_empty();
        if nothing && !at_opener && !waits_for_start {
            return Ok(());
        }
        // The task waits for the arrival of its places, and as a bound token it may have edges already: one of the
        // start nodes may wait for another. (A group and a parent wait for the task, which is no harm.)
        let starts = [&late[..], &places[..]].concat();
        let (cone, back) = self.cone_and_back(&starts, parent);
        if let Some(path) = back {
            return Err(self.cycle_error(NORN_E_DEADLOCK, &path));
        }
        if at_opener {
            let occupies = |index: &&u32| self.nodes.get(**index).has(flag::ON_OPENER);
            if let Some(body) = cone.found.keys().find(occupies) {
                return Err(self.cycle_error(NORN_E_DEADLOCK, &cone.path(*body)));
            }
        }
        for predecessor in explicit {
            if cone.contains(predecessor) {
                return Err(self.cycle_error(NORN_E_DEADLOCK, &cone.path(predecessor)));
            }
        }
        for predecessor in queued {
            if cone.contains(predecessor) {
                let plain = self.cycle_error(NORN_E_DEADLOCK, &cone.path(predecessor));
                let operation = lane.operation.as_ref();
                return Err(operation.map_or(plain.clone(), |operation| {
                    order_error(operation.order_trouble(), &plain)
                }));
            }
        }
        for wanted in lane.wanted.iter().filter(|wanted| wanted.via == 0) {
            let timeline = if parent == 0 {
                &data.get(wanted.datum).timeline
            } else {
                let annex = self.annex(self.nodes.get(parent));
                // SAFETY: the placing lock is held.
                let domain = annex.and_then(|annex| unsafe { annex.domain() }.as_ref());
                match domain.and_then(|domain| domain.get(&wanted.datum)) {
                    Some(timeline) => timeline,
                    None => continue,
                }
            };
            // Members of one COMMUTE or REDUCE run do not wait for each other, only for what was before the run.
            let joins = (timeline.run == Run::Commute && wanted.mode == NORN_COMMUTE as u32)
                || (timeline.run == Run::Reduce && wanted.mode == NORN_REDUCE as u32);
            let waits_for_members = !joins
                && (wanted.mode != NORN_READ as u32
                    || timeline.run == Run::Commute
                    || timeline.run == Run::Reduce);
            let before = if joins {
                [timeline.base, Token::COMPLETE]
            } else {
                [timeline.writer, timeline.gate]
            };
            let mut blocker = before
                .into_iter()
                .find(|token| !self.is_complete(*token) && cone.contains(token.index()))
                .map(Token::index);
            if blocker.is_none() && waits_for_members && timeline.epoch != 0 {
                blocker = cone.found.keys().copied().find(|member| {
                    let mut is_member = false;
                    self.for_each_access(*member, |_, _, epoch| {
                        is_member |= epoch == timeline.epoch
                    });
                    is_member
                });
            }
            if let Some(blocker) = blocker {
                return Err(self.cycle_error(NORN_E_DEADLOCK, &cone.path(blocker)));
            }
        }
        Ok(())
    }

    /// Refuses an edge whose target already delays its source. Under the placing lock.
    pub(crate) fn refuse_edge_cycle(&self, before: Token, after: u32) -> Result<()> {
        if self.is_complete(before) || !self.may_wait(before.index()) {
            return Ok(());
        }
        let cone = self.cone(&[after]);
        if cone.contains(before.index()) {
            return Err(self.cycle_error(NORN_E_DEADLOCK, &cone.path(before.index())));
        }
        Ok(())
    }

    /// Refuses an untimed await of `token` by a body when the token waits for that body.
    pub(crate) fn refuse_await_cycle(&self, body: u32, token: Token) -> Result<()> {
        if self.is_complete(token) {
            return Ok(());
        }
        if token.index() == body {
            return Err(Error::new(
                NORN_E_WOULD_DEADLOCK,
                "the task awaits its own token",
            ));
        }
        if !self.may_wait(token.index()) {
            return Ok(());
        }
        let _data = self.data.lock();
        let cone = self.cone(&[body]);
        if !cone.contains(token.index()) || self.is_complete(token) {
            return Ok(());
        }
        let path = cone.path(token.index());
        // Through another body's await it is a deadlock of several; else the caller waits for itself.
        let others = path[1..]
            .iter()
            .any(|index| self.nodes.get(*index).has(flag::BLOCKED));
        let status = if others {
            NORN_E_DEADLOCK
        } else {
            NORN_E_WOULD_DEADLOCK
        };
        Err(self.cycle_error(status, &path))
    }

    /// Whether a node can be waiting for anything at this moment.
    fn may_wait(&self, index: u32) -> bool {
        let node = self.nodes.get(index);
        let pending = node.pending.load(Ordering::Acquire);
        let state = node.load_state();
        pending & !GUARD != 0
            || state & kind::MASK == kind::GROUP
            || state & (flag::AT_OPENER | flag::STARTED) == flag::AT_OPENER
            || state & (flag::COMMUTES | flag::STARTED) == flag::COMMUTES
            || state & (flag::BLOCKED | flag::ENDED | flag::QUEUED_COMMUTE) != 0
            || node.holds.load(Ordering::Acquire) & !BODY_SHARE != 0
            || (state & (flag::PARTICULAR | flag::STARTED) == flag::PARTICULAR
                && self
                    .operation_of(node)
                    .is_some_and(|operation| !operation.issued_after().is_empty()))
    }

    /// The error that shows a cycle.
    fn cycle_error(&self, status: i32, path: &[u32]) -> Error {
        const SHOWN: usize = 12;
        let mut names: Vec<String> = path
            .iter()
            .take(SHOWN)
            .map(|index| self.label(*index))
            .collect();
        if path.len() > SHOWN {
            names.push(format!("... ({} more)", path.len() - SHOWN));
        }
        if let Some(first) = names.first().cloned() {
            names.push(first);
        }
        let error = Error::new(status, format!("cycle: {}", names.join(" -> ")));
        let through_order = path.windows(2).find_map(|pair| {
            let node = self.nodes.get(pair[0]);
            let behind = self.issued_behind(node) == Some(pair[1]);
            self.operation_of(node)
                .filter(|_| behind)
                .map(|operation| operation.order_trouble())
        });
        match through_order {
            Some(trouble) => order_error(trouble, &error),
            None => error,
        }
    }
}

/// A cycle through the order in which operations are issued.
fn order_error((status, advice): (i32, &'static str), cycle: &Error) -> Error {
    Error::new(status, format!("{}{advice}", cycle.text()))
}
