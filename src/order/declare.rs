//! Declared tokens and promises, and the binding of a declared token to its task.
//!
//! BINDING is set by compare and swap by the one submission that claims the token;
//! while it is set, a cancel only leaves its flag, and the submission acts on it
//! when it ends. A submission that becomes a member of a group, or leaves its task
//! held, carries the flag for the same reason: the cancel of the group, or a close,
//! can reach the task before the submission has ended. Any other task is out of
//! reach while its guard is on. A cancel sets its flag under a pin (`observers`), and so:
//!
//! - The claim sets BINDING under a pin too. Without, the token could complete and its
//!   slot serve another one in between, whose cancel would then be left to nobody.
//! - The end of the binding clears BINDING and takes the guard off under one pin. A
//!   cancel between the two would find the guard and take it off a second time.

use std::sync::atomic::Ordering;

use super::graph::Graph;
use super::lane::Lane;
use super::node::{GUARD, flag, kind};
use super::token::Token;
use crate::abi::status::{NORN_E_CLOSED, NORN_E_STATE};
use crate::error::{Error, Result};
use crate::sync::mutant;

impl Graph {
    /// The binding of a declared token is complete: from now on a cancel acts itself.
    pub(crate) fn end_binding(&self, lane: &mut Lane, index: u32, held: bool) {
        let node = self.nodes.get(index);
        // Nobody completes the token while it is being bound, so there is a pin to have.
        let mut pin = self.observers.pin(node.token(self.id, index), node);
        let cancelled = node.clear(flag::BINDING) & flag::CANCELLED != 0;
        if mutant!("unpinned_binding") {
            pin = None;
        }
        if !cancelled && !held && node.pending.fetch_sub(GUARD, Ordering::AcqRel) == GUARD {
            lane.ripple.arrivals.push(index);
        }
        drop(pin);
        if cancelled {
            self.cancel_claimed(lane, index);
        }
    }

    /// Claims a declared token for one task.
    pub(crate) fn claim_declared(&self, token: Token) -> Result<u32> {
        let Some((index, node)) = self.live_node(token)? else {
            return Err(self.cannot_bind(token));
        };
        let mut pin = self.observers.pin(token, node);
        if pin.is_none() {
            return Err(self.cannot_bind(token));
        }
        if mutant!("unpinned_claim") {
            pin = None;
        }
        let claimed = node
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & kind::MASK == kind::DECLARED
                    && state & (flag::BINDING | flag::CANCELLED) == 0)
                    .then_some(state | flag::BINDING)
            });
        drop(pin);
        match claimed {
            Ok(_) => Ok(index),
            Err(_) => Err(self.cannot_bind(token)),
        }
    }

    #[cold]
    pub(crate) fn cannot_bind(&self, token: Token) -> Error {
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

    pub(crate) fn unclaim_declared(&self, lane: &mut Lane, index: u32) {
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
        self.check_open(body != 0, true)?;
        let index = self.take_node(lane, node_kind)?;
        let node = self.nodes.get(index);
        node.set_name_priority(name, 0);
        Ok(node.token(self.id, index))
    }

    /// Takes a task that was refused after all off its declared token, which stays claimed.
    pub(crate) fn make_declared_again(&self, index: u32) {
        let node = self.nodes.get(index);
        node.destroy.store(0, Ordering::Relaxed);
        let _ = node
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                Some((now & (flag::CANCELLED | flag::BINDING)) | kind::DECLARED)
            });
    }
}
