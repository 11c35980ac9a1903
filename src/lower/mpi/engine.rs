//! The engine of a world: what MPI has of it. Used by one thread at a time, under its lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::balance::Balance;
use super::calls::{Calls, Requests};
use super::control::{Control, LARGEST, Record};
use super::exchange::{Exchange, What, stage};
pub(crate) use super::flights::{Cancelled, Fate, Flight, Looks};
use super::held::Held;
use super::kept::Kept;
use super::lane::Lane;
pub(crate) use super::outcome::{Finished, How, closed, gone};
use super::peers::Peers;
use super::rest::Resting;
use super::still::Still;
use super::table::*;
use super::verify::Verify;
use super::world::{Note, World};
use crate::order::body::Begin;
use crate::run::runtime::Runtime;

/// Exchanges a pass posts.
const MOST_POSTED: usize = 256;
/// Control messages a pass takes beyond the first.
const MOST_HEARD: usize = 64;

/// See the module's text.
pub(crate) struct Engine {
    pub(crate) requests: Requests,
    pub(crate) control: i32,
    /// Communicators of messages: of keys, then of ordered edges.
    pub(crate) message_lanes: Vec<i32>,
    pub(crate) lanes: Vec<Lane>,
    /// What other ranks have said of lanes that are not made here yet.
    pub(super) early: Vec<(i32, Control)>,
    pub(crate) byte: i32,
    /// This rank.
    pub(crate) rank: i32,
    pub(crate) peers: Peers,
    pub(crate) balance: Balance,
    pub(crate) kept: Kept,
    pub(crate) verify: Verify,
    pub(crate) resting: Resting,
    pub(crate) still: Still,
    /// Messages that arrive without a receive are taken in and dropped: this rank has no more receives to declare.
    pub(crate) sinks: bool,
    pub(crate) said_quit: bool,
    /// Some rank leaves.
    pub(crate) heard_leave: bool,
    pub(crate) said_bye: bool,
    pub(crate) said_fin: bool,
    /// MPI is gone, and what was under way was ended.
    pub(crate) forsaken: bool,
    /// Why everything unfinished fails, once it does.
    pub(crate) failed: Option<Record>,
    pub(crate) flights: Vec<Option<Flight>>,
    pub(crate) order: Vec<i32>,
    pub(crate) position: Vec<u32>,
    /// Flights that are receives of messages.
    pub(crate) receives: usize,
    /// Flights that MPI may move in parts.
    pub(crate) in_parts: usize,
    pub(crate) looks: Looks,
    /// Flights that end by themselves.
    pub(crate) ends: usize,
    /// Where the window begins.
    pub(crate) cursor: usize,
    pub(crate) control_slot: i32,
    pub(crate) control_buffer: Box<[u8; LARGEST]>,
    ready: VecDeque<Arc<Exchange>>,
    pub(super) held: Held,
    /// Memory for the inbox of the next pass; empty.
    pub(crate) notes: Vec<Note>,
    // Scratch of `test`.
    chosen: Vec<i32>,
    done: Vec<norn_mpi_done>,
    ended_flights: Vec<Option<Flight>>,
}

impl Engine {
    #[allow(clippy::too_many_arguments)] // made at one place, out of what attaching has found
    pub(crate) fn new(
        requests: Requests,
        control: i32,
        message_lanes: Vec<i32>,
        collective_lane: i32,
        byte: i32,
        size: i32,
        verify: Verify,
    ) -> Self {
        Self {
            requests,
            control,
            message_lanes,
            lanes: vec![Lane::new(collective_lane)],
            early: Vec::new(),
            byte,
            rank: verify.rank(),
            peers: Peers::new(size),
            balance: Balance::default(),
            kept: Kept::default(),
            verify,
            resting: Resting::default(),
            still: Still::default(),
            sinks: false,
            said_quit: false,
            heard_leave: false,
            said_bye: false,
            said_fin: false,
            forsaken: false,
            failed: None,
            flights: Vec::new(),
            order: Vec::new(),
            position: Vec::new(),
            receives: 0,
            in_parts: 0,
            looks: Looks::default(),
            ends: 0,
            cursor: 0,
            control_slot: -1,
            control_buffer: Box::new([0; LARGEST]),
            ready: VecDeque::new(),
            held: Held::default(),
            notes: Vec::new(),
            chosen: Vec::new(),
            done: Vec::new(),
            ended_flights: Vec::new(),
        }
    }

    pub(crate) fn calls(&self) -> Calls {
        self.requests.calls
    }

    /// Requests beside the control receive.
    pub(crate) fn in_flight(&self) -> usize {
        self.order.len()
    }

    /// Whether another pass can achieve something.
    pub(crate) fn is_busy(&self) -> bool {
        // Standing still takes its time, and nothing need be posted in this world.
        self.may_end() || self.still.since.is_some()
    }

    /// Whether a pass may end something.
    pub(crate) fn may_end(&self) -> bool {
        !self.order.is_empty()
            || !self.ready.is_empty()
            || self.held.len() != 0
            || self.takes_in()
            || self.has_leavers()
            || self.has_suspects()
            || self.has_unexplained()
            || self.verify.waits()
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    // ----- a pass -----

    /// Acts on what the graph has told.
    pub(crate) fn take_note(
        &mut self,
        world: &World,
        runtime: &Runtime,
        note: Note,
        finished: &mut Finished,
    ) {
        match note {
            Note::Arrived(node, exchange) => {
                if exchange.stage() != stage::DECLARED {
                    // Cancelled while it was on its way here: this only gives its node back.
                    let _ = runtime.begin_operation(node);
                    return;
                }
                exchange.set_node(node);
                exchange.set_stage(stage::ARRIVED);
                self.make_ready(exchange);
            }
            Note::Cancelled(cause, exchange) => {
                let node = exchange.node();
                exchange.set_cause(cause);
                exchange.set_stage(stage::OWED);
                if node != 0 {
                    exchange.set_node(0);
                    let _ = runtime.begin_operation(node);
                    if let Some(exchange) = self.stop_holding(&exchange) {
                        self.ready.push_back(exchange);
                    }
                } else {
                    self.make_ready(exchange);
                }
            }
            Note::Refused(exchange) => {
                // Its submission was refused; the one behind it may be the first now.
                exchange.set_stage(stage::ENDED);
                if let Some(next) = world.lines.leave(&exchange) {
                    self.ready.push_back(next);
                }
            }
            Note::Quit => self.quit(world, finished),
            Note::Fail(record) => {
                if self.failed.is_none() {
                    self.tell_all(world.rank, &Control::Fail(record.clone()));
                    self.fail_world(world, record, finished);
                }
            }
        }
    }

    fn make_ready(&mut self, exchange: Arc<Exchange>) {
        if exchange.is_first() {
            self.ready.push_back(exchange);
        }
    }

    /// Posts what is ready, in the order of each line. Returns whether there was any.
    pub(crate) fn post_ready(
        &mut self,
        world: &World,
        runtime: &Runtime,
        finished: &mut Finished,
    ) -> bool {
        let mut posted = 0;
        while posted < MOST_POSTED
            && let Some(exchange) = self.ready.pop_front()
        {
            posted += 1;
            let is_held = exchange.stage() == stage::ARRIVED
                && exchange
                    .message()
                    .is_some_and(|message| self.holds(world, runtime, message))
                && runtime.graph().doom_of(exchange.node()) == 0;
            match is_held {
                true => self.hold(exchange),
                false => self.post_one(world, runtime, exchange, finished),
            }
        }
        posted != 0
    }

    /// Posts what is ready.
    pub(super) fn post_one(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: Arc<Exchange>,
        finished: &mut Finished,
    ) {
        exchange.set_held(false);
        match exchange.stage() {
            stage::ARRIVED => {
                let node = exchange.node();
                exchange.set_node(0);
                if !exchange.has_begun() && runtime.begin_operation(node) == Begin::Skip {
                    // It waits for its turn at COMMUTE data and arrives again, or was cancelled, which is told.
                    exchange.set_stage(stage::DECLARED);
                    return;
                }
                let doom = if exchange.always {
                    0
                } else {
                    runtime.graph().doom_of(node)
                };
                exchange.set_cause(doom);
                self.begin(world, runtime, exchange, node, finished);
            }
            stage::OWED => self.begin(world, runtime, exchange, 0, finished),
            _ => {}
        }
    }

    /// Posts the first exchange of a line. `node`: its node, begun; 0: its token is complete, it is only owed.
    fn begin(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: Arc<Exchange>,
        node: u32,
        finished: &mut Finished,
    ) {
        exchange.set_node(node);
        self.goes_on();
        if let What::Collective(_) = &exchange.what {
            return self.begin_collective(world, runtime, &exchange, finished);
        }
        // The next one is not posted before the engine's lock is given back, or this loop comes to it.
        self.leave_line(world, &exchange);
        self.begin_message(world, runtime, exchange, finished);
    }

    /// An exchange gives its place in its line up to the next.
    pub(crate) fn leave_line(&mut self, world: &World, exchange: &Exchange) {
        if let Some(next) = world.lines.leave(exchange) {
            self.ready.push_back(next);
        }
    }

    /// Looks at some requests. Returns whether anything has ended.
    pub(crate) fn test(
        &mut self,
        world: &World,
        runtime: &Runtime,
        finished: &mut Finished,
    ) -> bool {
        let mut chosen = core::mem::take(&mut self.chosen);
        let mut done = core::mem::take(&mut self.done);
        self.choose(&mut chosen);
        let heard = self.control_slot;
        if let Err(failed) = self.requests.test(&chosen, &mut done) {
            world.complain(runtime, &self.calls().describe(failed));
        }
        // All are taken first: the slots are free, and what is posted meanwhile may get them.
        let mut flights = core::mem::take(&mut self.ended_flights);
        flights.extend(done.iter().map(|ended| self.take_ended(ended.slot)));
        if flights.iter().flatten().any(|flight| !flight.is_control()) {
            world.pass_is_active(self);
        }
        for (ended, flight) in done.iter().zip(flights.drain(..)) {
            if let Some(flight) = flight {
                self.ended(world, runtime, flight, ended, finished);
            }
        }
        self.ended_flights = flights;
        let went_on = !done.is_empty();
        if done.iter().any(|ended| ended.slot == heard) {
            self.hear_more(world, runtime, &mut done, finished);
        }
        self.chosen = chosen;
        self.done = done;
        went_on
    }

    /// Takes the control messages that have come behind one: where a thousand ranks leave, a pass for each would be most
    /// of the work.
    fn hear_more(
        &mut self,
        world: &World,
        runtime: &Runtime,
        done: &mut Vec<norn_mpi_done>,
        finished: &mut Finished,
    ) {
        for _ in 0..MOST_HEARD {
            let slot = self.control_slot;
            let tested = slot >= 0 && self.requests.test(&[slot], done).is_ok();
            let Some(ended) = done.first().filter(|_| tested) else {
                return;
            };
            if let Some(flight) = self.take(slot) {
                self.ended(world, runtime, flight, ended, finished);
            }
        }
    }

    fn ended(
        &mut self,
        world: &World,
        runtime: &Runtime,
        flight: Flight,
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        match flight {
            Flight::Message {
                exchange,
                sequence,
                cancelled,
                kept,
                ..
            } => {
                let fate = Fate { cancelled, kept };
                self.message_ended(world, exchange, sequence, fate, done, finished);
            }
            Flight::Owed {
                peer,
                receive,
                wire,
                expected,
                sequence,
                ..
            } => {
                if receive {
                    self.scratch_ended(peer, wire, expected, sequence, done);
                    self.check_bye(peer);
                }
            }
            Flight::Sunk { peer, wire, memory } => {
                self.keep(world, peer, wire, memory, finished);
                self.peers.received_from(peer);
                self.check_bye(peer);
            }
            Flight::Handed { .. } => {}
            Flight::Control { peer, .. } => {
                if done.outcome == NORN_MPI_FAILED {
                    self.peers.is_lost(peer);
                    self.check_bye(peer);
                }
            }
            Flight::ControlReceive => self.heard(world, runtime, done, finished),
            Flight::Guard(lane) => {
                self.agreement_ended(world, runtime, (lane, false), done, finished);
            }
            Flight::Counts(lane) => {
                self.agreement_ended(world, runtime, (lane, true), done, finished);
            }
            Flight::Collective(exchange) => self.collective_ended(&exchange, done, finished),
        }
    }

    /// Fails everything that is not finished. Receives end by a cancel; sends when the other ranks, which have failed
    /// too, take them in.
    pub(crate) fn fail_world(&mut self, world: &World, record: Record, finished: &mut Finished) {
        self.failed = Some(record.clone());
        self.sinks = true;
        self.cancel_receives(None, Cancelled::Failed);
        self.fail_lanes(world, &record, finished);
        self.balance_failed(&record, finished);
    }
}

/// Pending things of one wire of one peer.
pub(crate) type PerWire<T> = HashMap<(i32, super::control::Wire), VecDeque<T>>;
