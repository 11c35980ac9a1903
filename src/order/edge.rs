//! What still changes a node after its submission: edges added to a declared or
//! held one, and the start of a held one.

use crate::sync::atomic::Ordering;

use super::graph::Graph;
use super::joiner::{Joiner, Room};
use super::lane::{Lane, count};
use super::node::{EXPLICIT_UNIT, GUARD, flag, kind, meta};
use super::token::Token;
use crate::abi::status::{NORN_E_INVALID, NORN_E_STATE};
use crate::error::{Error, Result};
use crate::sync::mutant;

impl Graph {
    /// Adds an explicit edge to a declared or held node.
    pub(crate) fn edge(&self, lane: &mut Lane, before: Token, after: Token) -> Result<()> {
        if before == after {
            return Err(Error::new(NORN_E_INVALID, "an edge from a token to itself"));
        }
        self.live_node(before)?;
        let not_open = || {
            Error::new(
                NORN_E_STATE,
                format!(
                    "token {:#x} is neither declared without a task nor held",
                    after.0
                ),
            )
        };
        let Some((index, node)) = self.live_node(after)? else {
            return Err(not_open());
        };
        let takes_edges = |state: u32| {
            let over = flag::BINDING | flag::CANCELLED | flag::STARTED;
            state & over == 0
                && (state & kind::MASK == kind::DECLARED
                    || state & (kind::MASK | flag::HELD) == kind::TASK | flag::HELD)
        };
        if !takes_edges(node.load_state()) {
            return Err(not_open());
        }
        // The placing lock makes search and link one step against other late edges.
        let _data = self.data.lock();
        self.refuse_edge_cycle(before, index)?;
        let Some(pin) = self.observers.pin(after, node) else {
            return Err(not_open());
        };
        // The unit comes first, and only while the guard is on: whoever lets the node go does so later and finds
        // the unit, so the node cannot arrive before the edge is satisfied. Without the guard the node may have
        // arrived, and a cancel that saw the unit would take it for one that has not.
        let unit = EXPLICIT_UNIT;
        node.pending
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |pending| {
                (pending & GUARD != 0 || mutant!("unit_without_guard")).then(|| pending + unit)
            })
            .map_err(|_| not_open())?;
        let mut linked = Ok(true);
        let open = takes_edges(node.load_state());
        if open {
            let mut joiner = Joiner::new(self, index);
            linked = joiner.wait_for(
                lane,
                before,
                Room::Record,
                meta::EXPLICIT | meta::PROPAGATES,
            );
            if joiner.units != 0 {
                // In a list now: the predecessor takes the unit off.
                drop(pin);
                count(&lane.counters.edges, 1);
                return Ok(());
            }
        }
        drop(pin);
        // Satisfied at once, or refused: take the unit back. If the node was let go meanwhile and waits for
        // nothing else, this subtraction is what makes it arrive.
        if node.pending.fetch_sub(unit, Ordering::AcqRel) == unit {
            lane.ripple.arrivals.push(index);
        }
        linked?;
        if open { Ok(()) } else { Err(not_open()) }
    }

    /// Lets a held task go.
    pub(crate) fn start(&self, lane: &mut Lane, token: Token) -> Result<()> {
        let not_held = || Error::new(NORN_E_STATE, format!("token {:#x} is not held", token.0));
        let Some((index, node)) = self.live_node(token)? else {
            return Err(not_held());
        };
        let Some(_pin) = self.observers.pin(token, node) else {
            return Err(not_held());
        };
        node.state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & flag::HELD != 0 && state & (flag::CANCELLED | flag::BINDING) == 0)
                    .then_some(state & !flag::HELD)
            })
            .map_err(|_| not_held())?;
        if node.pending.fetch_sub(GUARD, Ordering::AcqRel) == GUARD {
            lane.ripple.arrivals.push(index);
        }
        Ok(())
    }
}
