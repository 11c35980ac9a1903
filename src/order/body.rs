//! The start and the end of bodies, their holds, and promises.
//!
//! *Starting, keeping, breaking and cancelling* are decided by one word: whoever sets
//! STARTED or CANCELLED in the state first owns the node's end; the others see its flag
//! in what their own fetch_or returns, and leave the node alone. A call that names a token
//! sets its flag under a pin (`observers`), so that it never meets the slot's next token.
//!
//! *Holds.* `holds` is BODY_SHARE while the body runs, plus one for each hold and child.
//! Only the body's thread adds; whoever brings it to zero completes the node. Acquire and
//! release, so that the completer sees what every holder did.

use std::sync::atomic::Ordering;

use super::graph::Graph;
use super::lane::{Ending, Lane};
use super::node::{BODY_SHARE, flag, kind};
use super::submit::invalid;
use super::token::Token;
use crate::abi::status::{NORN_E_INVALID, NORN_E_STATE, NORN_E_TASK_FAILED};
use crate::abi::types::norn_complete_fn;
use crate::error::{Error, Result};
use crate::sync::mutant;

/// What to do with a runnable node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// Run its body; the caller owns it now.
    Run,
    /// Nothing: it waits for COMMUTE data, or was cancelled.
    Skip,
}

/// Ceiling on holds of one task.
const MAX_HOLDS: u32 = 1 << 30;

impl Graph {
    /// Claims a runnable node for its body. What follows is in the lane's ripple.
    #[inline]
    pub(crate) fn begin_body(&self, lane: &mut Lane, index: u32) -> Begin {
        let node = self.nodes.get(index);
        let state = node.load_state();
        let waits_for_turn =
            state & (flag::COMMUTES | flag::GRANTED | flag::CANCELLED) == flag::COMMUTES;
        if waits_for_turn && !self.take_commute_turns(index) {
            return Begin::Skip;
        }
        let started = node
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & flag::CANCELLED == 0).then_some(state | flag::STARTED)
            });
        if started.is_ok() {
            return Begin::Run;
        }
        // The turns go back first: once STARTED is set, the canceller may free the node.
        if state & flag::COMMUTES != 0 {
            for key in self.commute_keys(index) {
                self.release_commute(lane, index, key);
            }
        }
        self.bury_cancelled(lane, index, node.set(flag::STARTED));
        Begin::Skip
    }

    /// Takes all COMMUTE data of a node, or queues it.
    fn take_commute_turns(&self, index: u32) -> bool {
        let keys = self.commute_keys(index);
        let mut commutes = self.commutes.lock();
        // Set before it can be granted by another thread, which clears it.
        self.nodes.get(index).set(flag::QUEUED_COMMUTE);
        match commutes.acquire(index, &keys) {
            Ok(()) => {
                self.nodes.get(index).clear(flag::QUEUED_COMMUTE);
                true
            }
            Err(_) => false,
        }
    }

    /// A body has ended. `failure`: its code and text, if it failed.
    #[inline]
    pub(crate) fn end_body(&self, lane: &mut Lane, index: u32, failure: Option<(i32, &str)>) {
        let node = self.nodes.get(index);
        let cause = match failure {
            None => 0,
            Some((code, text)) => {
                self.new_cause(lane, index, NORN_E_TASK_FAILED, code, "body", text)
            }
        };
        // A RUN_ALWAYS task ends by its own result, not by its predecessors'.
        node.cause.store(cause, Ordering::Relaxed);
        if node.annex.load(Ordering::Relaxed) != 0 {
            self.end_body_with_annex(lane, index, cause);
        }
        // Only this thread adds to the holds while the body runs, so reading the bare share means nobody
        // else can complete the node.
        if node.holds.load(Ordering::Acquire) == BODY_SHARE {
            lane.ripple.endings.push((index, self.own_ending(node)));
        } else {
            node.set(flag::ENDED);
            self.drop_holds(lane, index, BODY_SHARE);
        }
    }

    pub(crate) fn end_body_with_annex(&self, lane: &mut Lane, index: u32, cause: u32) {
        let node = self.nodes.get(index);
        let Some(annex) = self.annex(node) else {
            return;
        };
        if node.has(flag::REDUCES) {
            // SAFETY: the body has just ended on this thread, which owns the node.
            for copy in unsafe { annex.body() }.copies.drain(..) {
                if let (0, Some(memory)) = (cause, copy.memory) {
                    copy.run.deposit(copy.member, memory);
                }
            }
        }
        if !annex.has_domain() {
            return;
        }
        let _data = self.data.lock();
        // SAFETY: the placing lock is held.
        if let Some(domain) = unsafe { annex.domain() } {
            let mut data_indices: Vec<u32> = domain.keys().copied().collect();
            data_indices.sort_unstable();
            for datum in data_indices {
                let Some(timeline) = domain.get_mut(&datum) else {
                    continue;
                };
                // The parent must outlive the combining, and see a failed member. Without memory for the end of the run
                // it does not wait for it.
                let _ = timeline.close_for(self, lane, index);
            }
        }
    }

    /// Makes `parent`, if there is one, wait for an internal node as for a child. That node has not been let go yet, so
    /// its end finds it marked.
    pub(crate) fn hold_for(&self, lane: &mut Lane, parent: u32, child: u32) {
        if parent != 0
            && let Ok(annex) = self.annex_of(lane, child)
        {
            annex.parent.store(parent, Ordering::Release);
            self.nodes.get(parent).holds.fetch_add(1, Ordering::Relaxed);
            self.nodes.get(child).set(flag::CHILD);
        }
    }

    /// Adds holds to the running body.
    pub(crate) fn hold(&self, body: u32, holds: u32) -> Result<()> {
        let node = self.nodes.get(body);
        let now = node.holds.load(Ordering::Relaxed) & !BODY_SHARE;
        if holds == 0 || holds > MAX_HOLDS || now + holds > MAX_HOLDS {
            return Err(invalid(format!("k is {holds}, with {now} holds already")));
        }
        node.holds.fetch_add(holds, Ordering::Relaxed);
        Ok(())
    }

    /// Takes holds off a task, from any thread.
    pub(crate) fn unhold(&self, lane: &mut Lane, token: Token, holds: u32) -> Result<()> {
        let too_many = || {
            Error::new(
                NORN_E_STATE,
                format!("the task has fewer than {holds} holds"),
            )
        };
        let Some((index, node)) = self.live_node(token)? else {
            return Err(too_many());
        };
        if holds == 0 {
            return Err(invalid("k is 0"));
        }
        let Some(pin) = self.observers.pin(token, node) else {
            return Err(too_many());
        };
        if node.kind() != kind::TASK {
            return Err(Error::new(NORN_E_INVALID, "the token is no task"));
        }
        let left = node
            .holds
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                ((now & !BODY_SHARE) >= holds).then(|| now - holds)
            })
            .map_err(|_| too_many())?
            - holds;
        drop(pin);
        if left == 0 {
            self.complete_ended(lane, index);
        }
        Ok(())
    }

    /// Completes a promise.
    pub(crate) fn keep_promise(
        &self,
        lane: &mut Lane,
        token: Token,
        failure: Option<(i32, &str)>,
    ) -> Result<()> {
        let index = self.claim_promise(token)?;
        self.end_promise(lane, index, failure);
        Ok(())
    }

    /// Makes the caller the only one who may end a promise, and gives its node.
    pub(crate) fn claim_promise(&self, token: Token) -> Result<u32> {
        let not_open = || {
            Error::new(
                NORN_E_STATE,
                format!(
                    "token {:#x} is complete: a promise is kept or broken once",
                    token.0
                ),
            )
        };
        let Some((index, node)) = self.live_node(token)? else {
            return Err(not_open());
        };
        let Some(_pin) = self.observers.pin(token, node) else {
            return Err(not_open());
        };
        if node.kind() != kind::PROMISE {
            return Err(Error::new(
                NORN_E_INVALID,
                format!("token {:#x} is no promise", token.0),
            ));
        }
        let over = flag::STARTED
            | if mutant!("kept_after_cancel") {
                0
            } else {
                flag::CANCELLED
            };
        if node.set(flag::STARTED) & over != 0 {
            return Err(not_open());
        }
        Ok(index)
    }

    /// Ends a promise that the caller has claimed.
    pub(crate) fn end_promise(&self, lane: &mut Lane, index: u32, failure: Option<(i32, &str)>) {
        let ending = match failure {
            None => Ending::Success,
            Some((code, text)) => Ending::Failed(self.new_cause(
                lane,
                index,
                NORN_E_TASK_FAILED,
                code,
                "promise",
                text,
            )),
        };
        lane.ripple.endings.push((index, ending));
    }

    /// A node that calls `call` when `token` has completed.
    pub(crate) fn new_callback(
        &self,
        lane: &mut Lane,
        token: Token,
        call: norn_complete_fn,
        argument: usize,
    ) -> Result<()> {
        self.live_node(token)?;
        let index =
            self.new_internal(lane, kind::CALLBACK | super::graph::ALWAYS | flag::COUNTED)?;
        let node = self.nodes.get(index);
        let odd = self.phase.load(Ordering::Relaxed) & 1 != 0;
        if odd {
            node.set(flag::ODD_PHASE);
        }
        // SAFETY: the node is not let go yet, so it is ours.
        let content = unsafe { self.annex_of(lane, index)?.body() };
        content.callback = call;
        content.subject = token.0;
        node.argument.store(argument, Ordering::Relaxed);
        let mut joiner = super::joiner::Joiner::new(self, index);
        joiner.wait_for(
            lane,
            token,
            super::joiner::Room::Record,
            super::node::meta::EXPLICIT,
        )?;
        joiner.let_go(lane);
        Ok(())
    }

    /// Opens a group, a member of `parent` if that is given.
    pub(crate) fn open_group(
        &self,
        lane: &mut Lane,
        body: u32,
        name: *const core::ffi::c_char,
        parent: u64,
    ) -> Result<(u64, Token)> {
        self.check_open(body != 0, true)?;
        let parent = if parent == 0 {
            0
        } else {
            self.groups.lock().resolve(self.id, parent)?
        };
        let done = self.take_node(lane, kind::GROUP)?;
        let node = self.nodes.get(done);
        node.set_name_priority(name, 0);
        let token = node.token(self.id, done);
        if parent != 0 {
            let annex = self.annex_of(lane, done)?;
            let joined = self
                .groups
                .lock()
                .join(parent, token, false, |token| self.is_complete(token));
            if let Err(error) = joined {
                self.free_node(lane, done);
                return Err(error);
            }
            annex.group.store(parent, Ordering::Release);
        }
        let mut groups = self.groups.lock();
        let group = groups.open(done);
        Ok((groups.handle(self.id, group), token))
    }

    /// Closes a group to members from outside.
    pub(crate) fn close_group(&self, lane: &mut Lane, handle: u64) -> Result<()> {
        let ended = self.groups.lock().close(self.id, handle)?;
        self.end_group(lane, ended);
        Ok(())
    }
}
