//! The timeline of a datum: its last writer, the run of members since, and how
//! the next access takes its place behind them.
//!
//! All of this is under the placing lock. What a place costs is edges to at most
//! two tokens (`writer`, `gate`) and membership in, or waiting for, one epoch.
//!
//! | access       | waits for                                | leaves behind            |
//! |--------------|------------------------------------------|--------------------------|
//! | READ         | writer                                   | a member of the readers  |
//! | WRITE, RW    | writer, gate, the readers' epoch         | itself as writer         |
//! | COMMUTE      | the base of its run                      | a member of the run      |
//! | REDUCE       | the base of its run                      | a member of the run      |
//!
//! The base of a COMMUTE run is the writer before it, or a gate node when there
//! were readers. Its end is a gate node that becomes the writer. A REDUCE run opens
//! with its COMBINE node already placed as the writer after its base; closing the
//! run lets that node wait for the members.
//!
//! Failures travel along the edges to READ, RW, COMMUTE and REDUCE accesses, not to
//! WRITE, which overwrites. A failed reader concerns nobody. `gate` only orders.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::epoch::MOST_MEMBERS;
use super::graph::Graph;
use super::joiner::{Joiner, Room};
use super::lane::Lane;
use super::node::{DATA_UNIT, flag, kind, meta};
use super::reduce::ReduceRun;
use super::sole::{Shared, Words};
use super::token::Token;
use crate::abi::types::{NORN_COMMUTE, NORN_READ, NORN_READ_WRITE, NORN_REDUCE, NORN_WRITE};
use crate::error::Result;
use crate::sync::mutant;

const READ: u32 = NORN_READ as u32;
const WRITE: u32 = NORN_WRITE as u32;
const READ_WRITE: u32 = NORN_READ_WRITE as u32;
const COMMUTE: u32 = NORN_COMMUTE as u32;
const REDUCE: u32 = NORN_REDUCE as u32;

/// What the members since the last writer are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Run {
    /// There are none.
    #[default]
    None,
    Readers,
    Commute,
    Reduce,
}

/// See the module's text. What reads and writes need comes first, in one cache line with the head of a datum.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Timeline {
    /// Last writer; its success or failure is the datum's.
    pub(crate) writer: Token,
    /// A further node that the next writer must wait for.
    pub(crate) gate: Token,
    /// Members of the open run so far.
    pub(crate) members: u64,
    /// Epoch of the open run, 0 if there is none.
    pub(crate) epoch: u32,
    /// The datum.
    pub(crate) datum: u32,
    pub(crate) run: Run,
    /// What members of an open COMMUTE or REDUCE run wait for.
    pub(crate) base: Token,
    pub(crate) reduction: Option<Arc<ReduceRun>>,
    /// COMBINE node of an open REDUCE run, still guarded.
    pub(crate) combiner: u32,
}

/// What is needed to open a REDUCE run.
pub(crate) struct ReduceTarget {
    pub(crate) operation: crate::abi::types::norn_reduction,
    pub(crate) address: usize,
    pub(crate) bytes: u64,
}

impl Timeline {
    /// Whether the last accesses were writers and readers alone. Further ones do not change that.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.run, Run::None | Run::Readers) && self.gate.is_zero()
    }

    /// Whether its run takes one more member.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.members < MOST_MEMBERS
    }

    /// Takes the next place for an access of mode `mode`, whose slot is `room`. Returns the epoch it is a
    /// member of, 0 if none.
    #[inline]
    pub(crate) fn place(
        &mut self,
        joiner: &mut Joiner<'_>,
        lane: &mut Lane,
        room: Room,
        mode: u32,
        target: impl FnOnce() -> ReduceTarget,
    ) -> Result<u32> {
        joiner.datum = self.datum;
        match mode {
            READ => self.place_reader(joiner, lane, room),
            COMMUTE => {
                if self.run != Run::Commute {
                    self.open_commute(joiner.graph, lane)?;
                }
                self.members += 1;
                joiner.wait_for(
                    lane,
                    self.base,
                    room,
                    COMMUTE | meta::PROPAGATES | meta::WRITES,
                )?;
                Ok(self.epoch)
            }
            REDUCE => {
                if self.run != Run::Reduce {
                    self.open_reduce(joiner.graph, lane, target())?;
                }
                self.members += 1;
                joiner.wait_for(
                    lane,
                    self.base,
                    room,
                    REDUCE | meta::PROPAGATES | meta::WRITES,
                )?;
                Ok(self.epoch)
            }
            _ => {
                self.place_writer(joiner, lane, room, mode)?;
                Ok(0)
            }
        }
    }

    /// A READ: waits for the writer and becomes a member of the readers, whose epoch it gives.
    #[inline(always)]
    pub(crate) fn place_reader(
        &mut self,
        joiner: &mut Joiner<'_>,
        lane: &mut Lane,
        room: Room,
    ) -> Result<u32> {
        self.close_unless(joiner.graph, lane, Run::Readers)?;
        if self.members == MOST_MEMBERS {
            self.close_run(joiner.graph, lane, 0)?;
        }
        if self.run == Run::None {
            self.open(joiner.graph, lane, Run::Readers)?;
        }
        self.members += 1;
        if joiner.wait_for(lane, self.writer, room, READ | meta::PROPAGATES)? {
            self.writer = Token::COMPLETE;
        }
        Ok(self.epoch)
    }

    /// A WRITE or READ_WRITE: waits for everything before it and becomes the writer.
    #[inline(always)]
    pub(crate) fn place_writer(
        &mut self,
        joiner: &mut Joiner<'_>,
        lane: &mut Lane,
        room: Room,
        mode: u32,
    ) -> Result<()> {
        self.close_unless(joiner.graph, lane, Run::Readers)?;
        let propagates = if mode == WRITE { 0 } else { meta::PROPAGATES };
        joiner.wait_for(lane, self.writer, room, mode | propagates | meta::WRITES)?;
        if !self.gate.is_zero() {
            joiner.wait_for(lane, self.gate, Room::Record, READ)?;
            self.gate = Token::COMPLETE;
        }
        if self.run == Run::Readers {
            self.wait_for_members(joiner, lane);
        }
        self.writer = joiner.node.token(joiner.graph.id, joiner.index);
        Ok(())
    }

    /// Closes the open epoch with the joiner's node as its waiter.
    #[inline]
    fn wait_for_members(&mut self, joiner: &mut Joiner<'_>, lane: &mut Lane) {
        let at_issue = joiner.node.has(flag::ON_ISSUE);
        self.wait_for_members_at(joiner, lane, Shared, at_issue);
    }

    /// As `wait_for_members`. `at_issue`: whether the node joins at issue.
    #[inline(always)]
    pub(crate) fn wait_for_members_at(
        &mut self,
        joiner: &mut Joiner<'_>,
        lane: &mut Lane,
        words: impl Words,
        at_issue: bool,
    ) {
        let epoch = core::mem::take(&mut self.epoch);
        let members = core::mem::take(&mut self.members) - u64::from(mutant!("reader_left_out"));
        self.run = Run::None;
        // Counted before the epoch can satisfy it; the guard keeps the node.
        joiner.units = joiner.units.wrapping_add(DATA_UNIT);
        let entry = joiner.graph.epochs.get(epoch);
        let step = entry.close(words, members, joiner.index, at_issue);
        let mut over = step.over;
        if step.satisfied {
            joiner.units = joiner.units.wrapping_sub(DATA_UNIT);
            if entry.cause() != 0 {
                joiner.node.doom(entry.cause());
            }
            if at_issue {
                joiner.follow_members(lane, entry);
                over = entry.told();
            }
        }
        if over {
            joiner.graph.epochs.give(&mut lane.epochs, epoch);
        }
    }

    fn open(&mut self, graph: &Graph, lane: &mut Lane, run: Run) -> Result<()> {
        self.epoch = graph.take_epoch(lane)?;
        self.members = 0;
        self.run = run;
        Ok(())
    }

    fn open_commute(&mut self, graph: &Graph, lane: &mut Lane) -> Result<()> {
        self.close_unless(graph, lane, Run::Readers)?;
        if self.run == Run::Readers || !self.gate.is_zero() {
            // Several members cannot wait for one epoch: a gate does, for all.
            self.place_gate(graph, lane, READ_WRITE)?;
        }
        self.base = self.writer;
        self.open(graph, lane, Run::Commute)
    }

    fn open_reduce(&mut self, graph: &Graph, lane: &mut Lane, target: ReduceTarget) -> Result<()> {
        self.close_unless(graph, lane, Run::Readers)?;
        let base = self.writer;
        let run = Arc::new(ReduceRun::new(
            target.operation,
            target.address,
            target.bytes,
        ));
        let combiner = graph.new_internal(lane, kind::COMBINE)?;
        // SAFETY: the node was made just above and nobody else knows it.
        unsafe { graph.annex_of(lane, combiner)?.body() }.reduction = Some(run.clone());
        let mut joiner = Joiner::new(graph, combiner);
        joiner.datum = self.datum;
        self.place_writer(&mut joiner, lane, Room::Record, READ_WRITE)?;
        joiner.keep_guard();
        self.base = base;
        self.combiner = combiner;
        self.reduction = Some(run);
        self.open(graph, lane, Run::Reduce)
    }

    /// Places a node without a body that waits as `mode` does and becomes the writer.
    fn place_gate(&mut self, graph: &Graph, lane: &mut Lane, mode: u32) -> Result<()> {
        let gate = graph.new_internal(lane, kind::GATE)?;
        let mut joiner = Joiner::new(graph, gate);
        joiner.datum = self.datum;
        self.place_writer(&mut joiner, lane, Room::Slot(0), mode)?;
        joiner.let_go(lane);
        Ok(())
    }

    /// Closes an open run other than `keep`.
    #[inline]
    pub(crate) fn close_unless(&mut self, graph: &Graph, lane: &mut Lane, keep: Run) -> Result<()> {
        if self.run == Run::None || self.run == keep {
            return Ok(());
        }
        self.close_run(graph, lane, 0)
    }

    /// Closes a run of COMMUTE or REDUCE whose end a parent waits for as for a child.
    pub(crate) fn close_for(&mut self, graph: &Graph, lane: &mut Lane, parent: u32) -> Result<()> {
        match self.run {
            Run::None | Run::Readers => Ok(()),
            Run::Commute | Run::Reduce => self.close_run(graph, lane, parent),
        }
    }

    /// `parent`: who is told of the end, 0 for nobody.
    #[cold]
    fn close_run(&mut self, graph: &Graph, lane: &mut Lane, parent: u32) -> Result<()> {
        match self.run {
            Run::None => {}
            Run::Readers => {
                // Readers stay readers of the same writer; the gate waits for them.
                let writer = self.writer;
                self.place_gate(graph, lane, WRITE)?;
                self.gate = core::mem::replace(&mut self.writer, writer);
            }
            Run::Commute => {
                let end = graph.new_internal(lane, kind::GATE)?;
                let mut joiner = Joiner::new(graph, end);
                self.wait_for_members(&mut joiner, lane);
                self.base = Token::COMPLETE;
                self.writer = joiner.node.token(graph.id, end);
                let_end_go(graph, lane, joiner, parent);
            }
            Run::Reduce => {
                let combiner = core::mem::take(&mut self.combiner);
                graph.combining.fetch_add(1, Ordering::SeqCst);
                let mut joiner = Joiner::new(graph, combiner);
                self.wait_for_members(&mut joiner, lane);
                self.base = Token::COMPLETE;
                self.reduction = None;
                let_end_go(graph, lane, joiner, parent);
            }
        }
        Ok(())
    }

    /// The timeline of a piece at the moment of the split: what comes before the piece is what came before
    /// the whole.
    pub(crate) fn inherit(
        &mut self,
        graph: &Graph,
        lane: &mut Lane,
        datum: u32,
    ) -> Result<Timeline> {
        self.close_run(graph, lane, 0)?;
        Ok(Timeline {
            datum,
            writer: self.writer,
            gate: self.gate,
            ..Timeline::default()
        })
    }

    /// The timeline of a whole at the moment its pieces are joined.
    pub(crate) fn joined(
        graph: &Graph,
        lane: &mut Lane,
        datum: u32,
        pieces: &mut [Timeline],
    ) -> Result<Timeline> {
        let content = graph.new_internal(lane, kind::GATE)?;
        let order = graph.new_internal(lane, kind::GATE)?;
        let mut after_writers = Joiner::new(graph, content);
        let mut after_all = Joiner::new(graph, order);
        for piece in pieces {
            piece.close_run(graph, lane, 0)?;
            after_writers.datum = piece.datum;
            after_all.datum = piece.datum;
            after_writers.wait_for(lane, piece.writer, Room::Record, READ | meta::PROPAGATES)?;
            after_all.wait_for(lane, piece.writer, Room::Record, READ)?;
            after_all.wait_for(lane, piece.gate, Room::Record, READ)?;
        }
        let joined = Timeline {
            datum,
            writer: after_writers.node.token(graph.id, content),
            gate: after_all.node.token(graph.id, order),
            ..Timeline::default()
        };
        after_writers.let_go(lane);
        after_all.let_go(lane);
        Ok(joined)
    }

    /// Whether nothing placed so far is unfinished.
    pub(crate) fn is_quiet(&self, graph: &Graph) -> bool {
        graph.is_complete(self.writer)
            && graph.is_complete(self.gate)
            && (self.run == Run::None
                || (self.run != Run::Reduce && graph.epochs.get(self.epoch).all_left(self.members)))
    }

    /// Gives an open epoch back when the timeline ends. Only when quiet.
    pub(crate) fn retire(&mut self, graph: &Graph, lane: &mut Lane) {
        if self.run != Run::None {
            graph.epochs.give(&mut lane.epochs, self.epoch);
            self.run = Run::None;
            self.epoch = 0;
            self.members = 0;
        }
    }
}

/// Flags that an access of this mode gives its node.
#[inline(always)]
pub(crate) fn node_flags(mode: u32) -> u32 {
    match mode {
        COMMUTE => flag::COMMUTES,
        REDUCE => flag::REDUCES,
        _ => 0,
    }
}

/// Lets the end of a run go, for which `parent` waits, if there is one. It is told so first: the end may be over at once, on
/// another thread.
fn let_end_go(graph: &Graph, lane: &mut Lane, end: Joiner<'_>, parent: u32) {
    let index = end.index;
    if mutant!("late_hold") {
        end.let_go(lane);
        graph.hold_for(lane, parent, index);
        return;
    }
    graph.hold_for(lane, parent, index);
    end.let_go(lane);
}
