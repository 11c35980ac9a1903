//! Places: positions in timelines taken before the work that uses them is
//! known. A reservation is filled by a later task; a hold (`norn_data_acquire`)
//! is used by the calling thread itself.
//!
//! A place is a node that takes part in the timelines like a task. When it
//! arrives it does not run: it passes one data unit on to whoever fills it and
//! waits to be completed by that task's end (`end_fills`), by a release, or, when
//! given up, completes at once as if it had not been there. Its own links always
//! propagate failures, even for WRITE, because a place that is given up must
//! leave a failed datum failed; the filler decides whether it minds.
//!
//! FILLED and ABANDONED are set under the placing lock; ARRIVED is set by the
//! arrival without it. Both sides use fetch_or and look at what was there, so
//! exactly one of them passes the unit on.

use std::sync::atomic::Ordering;

use super::access::in_access;
use super::complete::propagated;
use super::datum::DataTable;
use super::graph::Graph;
use super::joiner::{Joiner, Room};
use super::lane::{Ending, Lane};
use super::node::{DATA_UNIT, Node, flag, kind, meta};
use super::submit::invalid;
use super::timeline::Run;
use super::token::Token;
use super::wanted::Wanted;
use crate::abi::status::{NORN_E_INVALID, NORN_E_STATE};
use crate::abi::types::{NORN_READ, NORN_READ_WRITE, NORN_WRITE, norn_access};
use crate::error::{Error, Result};

impl Graph {
    /// Takes places for `accesses`, one node each, all in one step.
    pub(crate) fn reserve(
        &self,
        lane: &mut Lane,
        body: u32,
        accesses: &[norn_access],
    ) -> Result<Vec<u64>> {
        self.check_open(body != 0, true)?;
        let mut data = self.data.lock();
        let mut named = Vec::with_capacity(accesses.len());
        for (position, access) in accesses.iter().enumerate() {
            let at = in_access(position);
            let (index, mode) = self
                .resolve_whole(&data, access, "a reservation")
                .map_err(at)?;
            if named.iter().any(|(other, _)| *other == index) {
                return Err(at(invalid("one datum is reserved twice in one call")));
            }
            named.push((index, mode));
        }
        let mut slots = Vec::with_capacity(named.len());
        for (index, mode) in named {
            let place = self.new_places(&mut data, lane, &[(index, mode)], 0)?;
            slots.push(self.nodes.get(place).token(self.id, place).0);
        }
        Ok(slots)
    }

    /// Makes places over several accesses, a node for each datum, so that one that fails or is given up says
    /// nothing about the others. Gives the first, which knows the rest. Under the placing lock.
    pub(crate) fn new_places(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        accesses: &[(u32, u32)],
        flags: u32,
    ) -> Result<u32> {
        let mut nodes = Vec::new();
        let mut leaves = Vec::new();
        for (datum, mode) in accesses {
            leaves.clear();
            data.leaves(*datum, &mut leaves);
            for leaf in &leaves {
                let named = if nodes.is_empty() { *datum } else { *leaf };
                nodes.push(self.new_place(data, lane, (named, *leaf), *mode, flags)?);
            }
        }
        let first = nodes[0];
        // SAFETY: under the placing lock, and nobody has been told of the places yet.
        unsafe { self.annex_of(lane, first)?.body() }.siblings = nodes.split_off(1);
        Ok(first)
    }

    /// One place for an access to the leaf of `(named, leaf)`.
    fn new_place(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        (named, leaf): (u32, u32),
        mode: u32,
        flags: u32,
    ) -> Result<u32> {
        // Links of a place always propagate, and a COMMUTE place keeps its position.
        let placed = if mode == NORN_READ as u32 {
            mode
        } else {
            NORN_READ_WRITE as u32
        };
        // The first writer of an unwritten datum may be a hold or a reservation.
        let kept = data.get(leaf).unwritten;
        lane.wanted.clear();
        lane.wanted.push(Wanted {
            datum: leaf,
            mode: placed,
            via: if mode == NORN_READ as u32 {
                0
            } else {
                kept.index()
            },
            first_writer: true,
        });
        let index = self.new_internal(lane, kind::PLACE | flags)?;
        let node = self.nodes.get(index);
        node.state.fetch_or(Node::slot_bits(1), Ordering::AcqRel);
        self.annex_of(lane, index)?;
        node.run.store(named as usize, Ordering::Relaxed);
        node.argument.store(mode as usize, Ordering::Relaxed);
        self.keep_fallbacks(data, lane, index)?;
        let mut joiner = Joiner::new(self, index);
        self.take_places(data, lane, &mut joiner, 0)?;
        joiner.let_go(lane);
        Ok(index)
    }

    /// A place and those made together with it.
    pub(crate) fn with_siblings(&self, first: u32) -> Vec<u32> {
        let mut nodes = vec![first];
        if let Some(annex) = self.annex(self.nodes.get(first)) {
            // SAFETY: siblings are set before the place is known and emptied when its node is freed; callers
            // hold the placing lock or the place itself.
            nodes.extend_from_slice(&unsafe { annex.body() }.siblings);
        }
        nodes
    }

    /// The node of a reserved place that was neither filled nor given up.
    fn open_place(&self, slot: Token) -> Result<(u32, &Node)> {
        let no_place = || {
            Error::new(
                NORN_E_INVALID,
                format!("slot {:#x} is no reserved place", slot.0),
            )
        };
        let used = || {
            Error::new(
                NORN_E_STATE,
                format!("the reserved place {:#x} was filled or given up", slot.0),
            )
        };
        if slot.is_zero() {
            return Err(no_place());
        }
        let Some((index, node)) = self.live_node(slot).map_err(|_| no_place())? else {
            return Err(used());
        };
        let state = node.load_state();
        if state & kind::MASK != kind::PLACE || state & flag::HOLD != 0 {
            return Err(no_place());
        }
        if state & (flag::FILLED | flag::ABANDONED) != 0 {
            return Err(used());
        }
        Ok((index, node))
    }

    /// Checks a slot named in an access and gives its node.
    pub(crate) fn place_to_fill(&self, slot: Token, datum: u32, mode: u32) -> Result<u32> {
        let (index, node) = self.open_place(slot)?;
        if node.run.load(Ordering::Relaxed) != datum as usize {
            return Err(invalid("the reserved place belongs to another datum"));
        }
        if node.argument.load(Ordering::Relaxed) != mode as usize {
            return Err(invalid("the place was reserved with another mode"));
        }
        Ok(index)
    }

    /// Lets the joiner's task use a place. Under the placing lock, after `place_to_fill`.
    pub(crate) fn fill_place(
        &self,
        lane: &mut Lane,
        joiner: &mut Joiner<'_>,
        place: u32,
        mode: u32,
    ) -> Result<()> {
        for node in self.with_siblings(place) {
            // SAFETY: the task is not let go yet, so it is ours.
            unsafe { self.annex_of(lane, joiner.index)?.body() }
                .fills
                .push(node);
            self.pass_arrival(joiner, node, mode);
        }
        Ok(())
    }

    /// Makes the joiner's node wait for the arrival of a place.
    pub(crate) fn pass_arrival(&self, joiner: &mut Joiner<'_>, place: u32, mode: u32) {
        let node = self.nodes.get(place);
        if let Some(annex) = self.annex(node) {
            annex.filled_by.store(joiner.index, Ordering::Release);
        }
        // The kind of filler decides whether a failure before the place matters to it.
        node.argument.store(mode as usize, Ordering::Relaxed);
        joiner.units = joiner.units.wrapping_add(DATA_UNIT);
        if node.state.fetch_or(flag::FILLED, Ordering::AcqRel) & flag::ARRIVED != 0 {
            joiner.units = joiner.units.wrapping_sub(DATA_UNIT);
            let cause = node.cause.load(Ordering::Relaxed);
            if cause != 0 && mode != NORN_WRITE as u32 {
                joiner.node.doom(cause);
            }
        }
    }

    /// Gives a reserved place up.
    pub(crate) fn abandon_slot(&self, lane: &mut Lane, slot: Token) -> Result<()> {
        let mut data = self.data.lock();
        let (index, _) = self.open_place(slot)?;
        for node in self.with_siblings(index) {
            self.abandon_place(&mut data, lane, node);
        }
        Ok(())
    }

    /// A place that writes behind readers keeps a gate behind the writer before them, so that readers behind
    /// the place can go on beside those before it when the place is given up.
    fn keep_fallbacks(&self, data: &mut DataTable, lane: &mut Lane, index: u32) -> Result<()> {
        let wanted = core::mem::take(&mut lane.wanted);
        let mut kept = Vec::new();
        for wanted in &wanted {
            let timeline = &data.get(wanted.datum).timeline;
            let writes = wanted.mode != NORN_READ as u32 && wanted.via == 0;
            // An open run of commuters or reducers comes after `writer`, and nobody may pass it.
            let behind_readers = match timeline.run {
                Run::Readers => true,
                Run::None => !timeline.gate.is_zero(),
                Run::Commute | Run::Reduce => false,
            };
            if !writes || !behind_readers {
                continue;
            }
            let writer = timeline.writer;
            let gate = self.new_internal(lane, kind::GATE)?;
            let mut joiner = Joiner::new(self, gate);
            joiner.datum = wanted.datum;
            joiner.wait_for(
                lane,
                writer,
                Room::Slot(0),
                NORN_READ as u32 | meta::PROPAGATES,
            )?;
            kept.push((wanted.datum, joiner.node.token(self.id, gate)));
            joiner.let_go(lane);
        }
        lane.wanted = wanted;
        // SAFETY: the place is not let go yet, so it is ours.
        unsafe { self.annex_of(lane, index)?.body() }.fallbacks = kept;
        Ok(())
    }

    /// Moves readers behind a place that was given up to where they would stand without it.
    fn pass_readers(&self, data: &mut DataTable, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let Some(annex) = self.annex(node) else {
            return;
        };
        let place = node.token(self.id, index);
        // SAFETY: nobody else uses the annex of a place that is neither filled nor given up, and both are done under
        // the placing lock, which the caller holds. That it arrives meanwhile does not matter.
        let fallbacks = core::mem::take(&mut unsafe { annex.body() }.fallbacks);
        for (datum, gate) in fallbacks {
            let timeline = &mut data.get_mut(datum).timeline;
            // An open run of commuters waits for the place, and what comes next waits for them.
            if timeline.writer == place && timeline.run != Run::Commute {
                timeline.writer = gate;
                if timeline.gate.is_zero() {
                    timeline.gate = place;
                }
            }
            let readers = self.take_links(node, |bits, of| {
                bits & meta::EXPLICIT == 0
                    && bits & meta::MODE == NORN_READ as u32
                    && bits & meta::PROPAGATES != 0
                    && data.lies_within(of, datum)
            });
            for link in readers {
                self.move_link(lane, link, gate);
            }
        }
    }

    /// Lets a place pass as if it had never been taken. Under the placing lock.
    pub(crate) fn abandon_place(&self, data: &mut DataTable, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        self.forget_hold_of_body(index);
        let past = flag::ARRIVED | flag::ABANDONED | flag::STARTED;
        // First: once the place is given up, whoever makes it arrive ends it.
        if node.load_state() & past == 0 {
            self.pass_readers(data, lane, index);
        }
        let before = node
            .state
            .fetch_or(flag::FILLED | flag::ABANDONED, Ordering::AcqRel);
        if before & past == flag::ARRIVED {
            let cause = node.cause.load(Ordering::Relaxed);
            lane.ripple.endings.push((index, propagated(cause)));
        }
    }

    /// Notes that a body holds a place.
    pub(crate) fn note_hold_of_body(&self, body: u32, place: u32) {
        if body != 0 {
            self.holds_of_bodies
                .lock()
                .entry(body)
                .or_default()
                .push(place);
        }
    }

    fn forget_hold_of_body(&self, place: u32) {
        let body = self
            .annex(self.nodes.get(place))
            .map_or(0, |annex| annex.held_by.load(Ordering::Relaxed));
        if body != 0 {
            let mut holds = self.holds_of_bodies.lock();
            if let Some(places) = holds.get_mut(&body) {
                places.retain(|other| *other != place);
                if places.is_empty() {
                    holds.remove(&body);
                }
            }
        }
    }

    /// Fails a place that nobody has filled.
    pub(crate) fn fail_place(&self, lane: &mut Lane, slot: Token, cause: u32) {
        let mut data = self.data.lock();
        let Ok(Some((index, node))) = self.live_node(slot) else {
            return;
        };
        if node.load_state() & (flag::FILLED | flag::ABANDONED) == 0 {
            node.cause.store(cause, Ordering::Relaxed);
            // Those behind must see the failure, so they stay behind.
            if let Some(annex) = self.annex(node) {
                // SAFETY: under the placing lock, not arrived or arrived and idle: nobody else uses the annex.
                unsafe { annex.body() }.fallbacks.clear();
            }
            self.abandon_place(&mut data, lane, index);
        }
    }

    /// Ends a hold of `norn_data_acquire`.
    pub(crate) fn release_hold(&self, lane: &mut Lane, hold: Token) -> Result<()> {
        let no_hold = || Error::new(NORN_E_INVALID, format!("token {:#x} is no hold", hold.0));
        let used = || {
            Error::new(
                NORN_E_STATE,
                format!("the hold {:#x} was released before", hold.0),
            )
        };
        if hold.is_zero() {
            return Ok(());
        }
        let Some((index, node)) = self.live_node(hold).map_err(|_| no_hold())? else {
            return Err(used());
        };
        let Some(pin) = self.observers.pin(hold, node) else {
            return Err(used());
        };
        let state = node.load_state();
        if state & kind::MASK != kind::PLACE || state & flag::HOLD == 0 {
            return Err(no_hold());
        }
        if state & flag::ABANDONED != 0 || node.set(flag::STARTED) & flag::STARTED != 0 {
            return Err(used());
        }
        drop(pin);
        for node in self.with_siblings(index) {
            self.forget_hold_of_body(node);
            if node == index || self.nodes.get(node).set(flag::STARTED) & flag::STARTED == 0 {
                lane.ripple.endings.push((node, Ending::Success));
            }
        }
        Ok(())
    }

    /// As `release_hold`, for a hold that changed nothing: a failed datum stays failed.
    pub(crate) fn release_hold_keeping_failure(&self, lane: &mut Lane, first: u32) {
        for index in self.with_siblings(first) {
            let node = self.nodes.get(index);
            if node.set(flag::STARTED) & flag::STARTED == 0 {
                let ending = propagated(node.cause.load(Ordering::Relaxed));
                lane.ripple.endings.push((index, ending));
            }
        }
    }
}
