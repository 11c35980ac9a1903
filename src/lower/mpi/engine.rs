//! The engine of a world: what MPI has of it. Used by one thread at a time, under its lock.
//!
//! `flights` holds what is known of each request, by slot; `order` lists the slots in use, so that a pass can test some
//! of them without walking the rest. A pass tests all when there are few; else the newest, which is what somebody waits
//! for in a ping-pong, and a window that moves on with each pass. Its cost does not depend on how many there are.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::balance::Balance;
use super::calls::{Address, Calls, Elements, Failed, Requests};
use super::collective::Lane;
use super::control::{Control, LARGEST, Record};
use super::exchange::{Exchange, Message, What, stage};
use super::table::*;
use super::verify::Verify;
use super::world::{Note, World};
use crate::abi::status::{NORN_E_CLOSED, NORN_E_MPI, norn_status};
use crate::order::body::Begin;
use crate::run::runtime::Runtime;

/// Requests a pass tests where there are more.
const WINDOW: usize = 64;
/// Of these, the newest.
const NEWEST: usize = 8;
/// Exchanges a pass posts.
const MOST_POSTED: usize = 256;

/// What a request is for.
pub(crate) enum Flight {
    /// A message of the graph.
    Message {
        exchange: Arc<Exchange>,
        /// In verify mode, its number on its wire.
        sequence: u64,
        /// Memory of a receive of nothing, which has room for a poison.
        #[allow(dead_code)] // written by MPI
        memory: Vec<u8>,
    },
    /// A poison, or a receive into scratch memory, which is kept here.
    Owed {
        peer: i32,
        receive: bool,
        wire: super::control::Wire,
        expected: u64,
        sequence: u64,
        #[allow(dead_code)] // read and written by MPI
        memory: Vec<u8>,
    },
    /// A message that nobody declared a receive for, on its way to nowhere.
    Sunk {
        peer: i32,
        #[allow(dead_code)] // written by MPI
        memory: Vec<u8>,
    },
    /// A control message of ours.
    Control {
        peer: i32,
        #[allow(dead_code)] // read by MPI
        bytes: Vec<u8>,
    },
    ControlReceive,
    /// The agreement on whether the head of this lane is entered.
    Guard(u32),
    Collective(Arc<Exchange>),
}

/// What is known of another rank.
#[derive(Clone, Default)]
pub(crate) struct Peer {
    /// Messages posted to it, poisons included.
    pub(crate) sent: u64,
    /// Messages received from it, whatever became of them.
    pub(crate) received: u64,
    /// How many it has sent in all, once it has said so.
    pub(crate) bye: Option<u64>,
    /// It has said its last word.
    pub(crate) fin: bool,
    /// MPI can reach it no more.
    pub(crate) lost: bool,
}

/// How an exchange ended.
pub(crate) enum How {
    Success,
    Failed {
        status: norn_status,
        code: i32,
        operation: &'static str,
        text: String,
    },
    /// Because of this cause on this rank.
    Propagated(u32),
    /// Because of what failed on another rank.
    Remote(Record),
}

/// Exchanges whose tokens are to be completed, when the engine's lock is given back.
pub(crate) type Finished = Vec<(Arc<Exchange>, u32, How)>;

/// See the module's text.
pub(crate) struct Engine {
    pub(crate) requests: Requests,
    pub(crate) control: i32,
    /// Communicators of messages: of keys, then of ordered edges.
    pub(crate) message_lanes: Vec<i32>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) byte: i32,
    pub(crate) peers: Vec<Peer>,
    pub(crate) balance: Balance,
    pub(crate) verify: Verify,
    /// Messages that arrive without a receive are taken in and dropped: this rank has no more receives to declare.
    pub(crate) sinks: bool,
    pub(crate) said_bye: bool,
    pub(crate) said_fin: bool,
    /// Why everything unfinished fails, once it does.
    pub(crate) failed: Option<Record>,
    flights: Vec<Option<Flight>>,
    order: Vec<i32>,
    position: Vec<u32>,
    /// Where the window begins.
    cursor: usize,
    control_slot: i32,
    control_buffer: Box<[u8; LARGEST]>,
    ready: VecDeque<Arc<Exchange>>,
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
            byte,
            peers: vec![Peer::default(); size as usize],
            balance: Balance::default(),
            verify,
            sinks: false,
            said_bye: false,
            said_fin: false,
            failed: None,
            flights: Vec::new(),
            order: Vec::new(),
            position: Vec::new(),
            cursor: 0,
            control_slot: -1,
            control_buffer: Box::new([0; LARGEST]),
            ready: VecDeque::new(),
            chosen: Vec::new(),
            done: Vec::new(),
            ended_flights: Vec::new(),
        }
    }

    pub(crate) fn calls(&self) -> Calls {
        self.requests.calls
    }

    pub(crate) fn peer(&mut self, rank: i32) -> &mut Peer {
        &mut self.peers[rank as usize]
    }

    /// Requests beside the control receive.
    pub(crate) fn in_flight(&self) -> usize {
        self.order.len()
    }

    /// Whether another pass can achieve something.
    pub(crate) fn is_busy(&self) -> bool {
        !self.order.is_empty()
            || !self.ready.is_empty()
            || self.sinks
            || self.has_suspects()
            || self.has_unexplained()
            || self.verify.waits()
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    // ----- requests -----

    /// Notes what a slot is for.
    pub(crate) fn enter(&mut self, slot: i32, flight: Flight) {
        let index = slot as usize;
        if self.flights.len() <= index {
            self.flights.resize_with(index + 1, || None);
            self.position.resize(index + 1, 0);
        }
        if matches!(flight, Flight::ControlReceive) {
            self.control_slot = slot;
        } else {
            self.position[index] = self.order.len() as u32;
            self.order.push(slot);
        }
        self.flights[index] = Some(flight);
    }

    fn take(&mut self, slot: i32) -> Option<Flight> {
        let flight = self.flights.get_mut(slot as usize)?.take()?;
        if matches!(flight, Flight::ControlReceive) {
            self.control_slot = -1;
        } else {
            let position = self.position[slot as usize] as usize;
            self.order.swap_remove(position);
            if let Some(moved) = self.order.get(position) {
                self.position[*moved as usize] = position as u32;
            }
        }
        Some(flight)
    }

    /// Slots of posted receives of a peer (of all, for None).
    pub(crate) fn receives_from(&self, peer: Option<i32>) -> Vec<i32> {
        let of = |other: i32| peer.is_none_or(|peer| peer == other);
        self.order
            .iter()
            .copied()
            .filter(|slot| match &self.flights[*slot as usize] {
                Some(Flight::Message { exchange, .. }) => exchange
                    .message()
                    .is_some_and(|message| !message.send && of(message.peer)),
                Some(Flight::Owed { peer, receive, .. }) => *receive && of(*peer),
                _ => false,
            })
            .collect()
    }

    /// Posts the receive of the next control message.
    pub(crate) fn listen(&mut self) -> Result<(), Failed> {
        let what = Elements {
            address: self.control_buffer.as_mut_ptr() as usize,
            count: LARGEST as u64,
            datatype: self.byte,
        };
        let from = Address {
            peer: NORN_MPI_ANY,
            tag: 0,
            comm: self.control,
        };
        // SAFETY: the buffer is boxed, lives until the request is over (`close`), and is read in between two of them.
        let slot = unsafe { self.requests.receive(what, from) }?;
        self.enter(slot, Flight::ControlReceive);
        Ok(())
    }

    /// Sends a control message.
    pub(crate) fn tell(&mut self, peer: i32, control: &Control) {
        if self.peers[peer as usize].lost {
            return;
        }
        let bytes = control.encode();
        let what = Elements {
            address: bytes.as_ptr() as usize,
            count: bytes.len() as u64,
            datatype: self.byte,
        };
        let to = Address {
            peer,
            tag: 0,
            comm: self.control,
        };
        // SAFETY: the bytes move into the flight, which keeps them where they are until the request is over.
        match unsafe { self.requests.send(what, to) } {
            Ok(slot) => self.enter(slot, Flight::Control { peer, bytes }),
            Err(_) => self.peers[peer as usize].lost = true,
        }
    }

    /// Sends a control message to all other ranks.
    pub(crate) fn tell_all(&mut self, own_rank: i32, control: &Control) {
        for peer in 0..self.peers.len() as i32 {
            if peer != own_rank {
                self.tell(peer, control);
            }
        }
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
                self.make_ready(world, exchange);
            }
            Note::Cancelled(cause, exchange) => {
                let node = exchange.node();
                exchange.set_cause(cause);
                exchange.set_stage(stage::OWED);
                if node != 0 {
                    exchange.set_node(0);
                    let _ = runtime.begin_operation(node);
                } else {
                    self.make_ready(world, exchange);
                }
            }
            Note::Refused(exchange) => {
                // Its submission was refused; the one behind it may be the first now.
                exchange.set_stage(stage::ENDED);
                if let Some(next) = world.lines.leave(&exchange) {
                    self.ready.push_back(next);
                }
            }
            Note::Fail(record) => {
                if self.failed.is_none() {
                    self.tell_all(world.rank, &Control::Fail(record.clone()));
                    self.fail_world(world, record, finished);
                }
            }
        }
    }

    fn make_ready(&mut self, world: &World, exchange: Arc<Exchange>) {
        if world.lines.is_first(&exchange) {
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
            match exchange.stage() {
                stage::ARRIVED => {
                    let node = exchange.node();
                    exchange.set_node(0);
                    if runtime.begin_operation(node) == Begin::Skip {
                        // It waits for its turn at COMMUTE data and arrives again, or was cancelled, which is told.
                        exchange.set_stage(stage::DECLARED);
                        continue;
                    }
                    let doom = if exchange.always {
                        0
                    } else {
                        runtime.graph().doom_of(node)
                    };
                    exchange.set_cause(doom);
                    self.begin(world, runtime, &exchange, node, finished);
                }
                stage::OWED => self.begin(world, runtime, &exchange, 0, finished),
                _ => continue,
            }
        }
        posted != 0
    }

    /// Posts the first exchange of a line. `node`: its node, begun; 0: its token is complete, it is only owed.
    fn begin(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: &Arc<Exchange>,
        node: u32,
        finished: &mut Finished,
    ) {
        exchange.set_node(node);
        match &exchange.what {
            What::Collective(_) => {
                self.begin_collective(world, runtime, exchange, finished);
                return;
            }
            What::Message(message) => {
                self.begin_message(world, runtime, exchange, message, finished);
            }
        }
        self.leave_line(world, exchange);
    }

    /// An exchange gives its place in its line up to the next.
    pub(crate) fn leave_line(&mut self, world: &World, exchange: &Exchange) {
        if let Some(next) = world.lines.leave(exchange) {
            self.ready.push_back(next);
        }
    }

    fn begin_message(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: &Arc<Exchange>,
        message: &Message,
        finished: &mut Finished,
    ) {
        let node = exchange.node();
        let mut finish = |how| {
            exchange.set_stage(stage::ENDED);
            if node != 0 {
                finished.push((exchange.clone(), node, how));
            } else {
                world.ended(exchange);
            }
        };
        if let Some(record) = &self.failed {
            finish(How::Remote(record.clone()));
            return;
        }
        let peer = &self.peers[message.peer as usize];
        let over = match peer.bye {
            Some(sent) => message.send || peer.received >= sent,
            None => peer.lost,
        };
        let cause = exchange.cause();
        if over && (cause == 0 || node == 0) {
            finish(gone(message));
            return;
        }
        if cause != 0 || node == 0 {
            if !over {
                let record = world.record_of(runtime, cause);
                self.owe(message, &record);
            }
            finish(How::Propagated(cause));
            return;
        }
        match self.post_message(world, exchange, message) {
            Ok(()) => exchange.set_stage(stage::POSTED),
            Err(failed) => {
                let text = self.calls().describe(failed);
                let record = Record {
                    status: NORN_E_MPI,
                    code: failed.code,
                    rank: world.rank,
                    worker: -1,
                    name: world.name_of(exchange),
                    operation: failed.call.into(),
                    text: text.clone(),
                };
                self.owe(message, &record);
                finish(How::Failed {
                    status: NORN_E_MPI,
                    code: failed.code,
                    operation: failed.call,
                    text,
                });
            }
        }
    }

    fn post_message(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        message: &Message,
    ) -> Result<(), Failed> {
        let comm = self.message_lanes[message.wire.lane as usize];
        let address = Address {
            peer: message.peer,
            tag: message.wire.tag,
            comm,
        };
        if message.layout.bytes == 0 && !message.send {
            // Room for the poison of an empty message.
            let memory = vec![0u8; 1];
            return self.post_empty_receive(exchange, address, memory);
        }
        let (what, made) = self.elements(&message.layout, message.datatype)?;
        let sequence = self.announce(world, exchange, message);
        // SAFETY: the memory is a datum's whose place in its timeline this operation holds until its token completes,
        // or the application's, which has promised the same.
        let slot = unsafe {
            if message.send {
                self.requests.send(what, address)
            } else {
                self.requests.receive(what, address)
            }
        };
        if let Some(made) = made {
            self.calls().type_free(made);
        }
        let slot = slot?;
        if message.send {
            self.peer(message.peer).sent += 1;
        }
        self.enter(
            slot,
            Flight::Message {
                exchange: exchange.clone(),
                sequence,
                memory: Vec::new(),
            },
        );
        Ok(())
    }

    fn post_empty_receive(
        &mut self,
        exchange: &Arc<Exchange>,
        address: Address,
        mut memory: Vec<u8>,
    ) -> Result<(), Failed> {
        let what = Elements {
            address: memory.as_mut_ptr() as usize,
            count: 1,
            datatype: self.byte,
        };
        // SAFETY: one byte on the heap, kept until the request is over.
        let slot = unsafe { self.requests.receive(what, address) }?;
        let sequence = match exchange.message() {
            Some(message) => self.next_sequence(message),
            None => 0,
        };
        let exchange = exchange.clone();
        self.enter(
            slot,
            Flight::Message {
                exchange,
                sequence,
                memory,
            },
        );
        Ok(())
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
        if let Err(failed) = self.requests.test(&chosen, &mut done) {
            world.complain(runtime, &self.calls().describe(failed));
        }
        // All are taken first: the slots are free, and what is posted meanwhile may get them.
        let mut flights = core::mem::take(&mut self.ended_flights);
        flights.extend(done.iter().map(|ended| self.take(ended.slot)));
        for (ended, flight) in done.iter().zip(flights.drain(..)) {
            if let Some(flight) = flight {
                self.ended(world, runtime, flight, ended, finished);
            }
        }
        self.ended_flights = flights;
        let went_on = !done.is_empty();
        self.chosen = chosen;
        self.done = done;
        went_on
    }

    fn choose(&mut self, chosen: &mut Vec<i32>) {
        chosen.clear();
        if self.control_slot >= 0 {
            chosen.push(self.control_slot);
        }
        let length = self.order.len();
        if length <= WINDOW {
            chosen.extend_from_slice(&self.order);
            return;
        }
        let old = length - NEWEST;
        chosen.extend_from_slice(&self.order[old..]);
        let first = self.cursor % old;
        let until = (first + WINDOW - NEWEST).min(old);
        chosen.extend_from_slice(&self.order[first..until]);
        self.cursor = if until == old { 0 } else { until };
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
                exchange, sequence, ..
            } => {
                self.message_ended(world, exchange, sequence, done, finished);
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
            Flight::Sunk { peer, .. } => {
                self.peer(peer).received += 1;
                self.check_bye(peer);
            }
            Flight::Control { peer, .. } => {
                if done.outcome == NORN_MPI_FAILED {
                    self.peer(peer).lost = true;
                    self.check_bye(peer);
                }
            }
            Flight::ControlReceive => self.heard(world, runtime, done, finished),
            Flight::Guard(lane) => self.guard_ended(world, runtime, lane, done, finished),
            Flight::Collective(exchange) => self.collective_ended(world, &exchange, done, finished),
        }
    }

    fn heard(
        &mut self,
        world: &World,
        runtime: &Runtime,
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        if done.outcome == NORN_MPI_CANCELLED {
            return;
        }
        let length = usize::try_from(done.bytes).unwrap_or(0).min(LARGEST);
        let control = match done.outcome {
            NORN_MPI_DONE => Control::decode(&self.control_buffer[..length]),
            _ => None,
        };
        if let Err(failed) = self.listen() {
            world.complain(runtime, &self.calls().describe(failed));
        }
        match control {
            Some(control) => self.obey(world, runtime, done.source, control, finished),
            None if done.outcome == NORN_MPI_DONE => world.complain(
                runtime,
                &format!("rank {} sent a control message that this norn does not know; do all ranks run the same version?", done.source),
            ),
            None => {}
        }
    }

    fn obey(
        &mut self,
        world: &World,
        runtime: &Runtime,
        source: i32,
        control: Control,
        finished: &mut Finished,
    ) {
        match control {
            Control::Poison(wire, record) => self.poison_told(source, wire, record, finished),
            Control::Query(wire) => self.tell(source, &Control::Answer(wire)),
            Control::Answer(wire) => self.query_answered(world, source, wire, finished),
            Control::Bye { messages } => {
                self.peer(source).bye = Some(messages);
                self.check_bye(source);
                self.join_for(world, source);
            }
            Control::Declined {
                lane,
                number,
                record,
            } => self.declined(world, lane, number, record, finished),
            Control::Join { lane, number } => self.join(world, runtime, lane, number, finished),
            Control::Fin => self.peer(source).fin = true,
            Control::Fail(record) => {
                if self.failed.is_none() {
                    self.fail_world(world, record, finished);
                }
            }
            Control::Declared(wire, identity) => {
                self.identity_told(world, source, wire, identity, finished);
            }
        }
    }

    /// After Bye and all that was sent, nothing more comes from a peer: the receives left get nothing.
    pub(crate) fn check_bye(&mut self, peer: i32) {
        let known = &self.peers[peer as usize];
        let over = known.bye.is_some_and(|sent| known.received >= sent) || known.lost;
        if over {
            for slot in self.receives_from(Some(peer)) {
                self.requests.cancel(slot);
            }
        }
    }

    /// Takes in what no receive was declared for.
    pub(crate) fn sink(&mut self, world: &World, runtime: &Runtime) -> bool {
        let mut found = false;
        for index in 0..self.message_lanes.len() {
            let comm = self.message_lanes[index];
            let message = match self.calls().probe(comm) {
                Ok(Some(message)) => message,
                Ok(None) => continue,
                Err(failed) => {
                    world.complain(runtime, &self.calls().describe(failed));
                    continue;
                }
            };
            let mut memory = vec![0u8; usize::try_from(message.bytes).unwrap_or(0)];
            let what = Elements {
                address: memory.as_mut_ptr() as usize,
                count: memory.len() as u64,
                datatype: self.byte,
            };
            let from = Address {
                peer: message.source,
                tag: message.tag,
                comm,
            };
            // SAFETY: the memory is on the heap and kept in the flight until the request is over.
            if let Ok(slot) = unsafe { self.requests.receive(what, from) } {
                let peer = message.source;
                self.enter(slot, Flight::Sunk { peer, memory });
                found = true;
            }
        }
        found
    }

    /// Fails everything that is not finished. Receives end by a cancel; sends when the other ranks, which have failed
    /// too, take them in.
    fn fail_world(&mut self, world: &World, record: Record, finished: &mut Finished) {
        self.failed = Some(record.clone());
        self.sinks = true;
        for slot in self.receives_from(None) {
            self.requests.cancel(slot);
        }
        self.fail_lanes(world, &record, finished);
        self.balance_failed(&record, finished);
    }

    /// Forgets all requests, and gives the exchanges they were for.
    pub(crate) fn abandon_flights(&mut self) -> Vec<Arc<Exchange>> {
        self.order.clear();
        self.control_slot = -1;
        // Memory that MPI might still touch is given up, not freed.
        self.flights
            .drain(..)
            .flatten()
            .filter_map(|flight| match flight {
                Flight::Message {
                    exchange, memory, ..
                } => {
                    core::mem::forget(memory);
                    Some(exchange)
                }
                Flight::Collective(exchange) => Some(exchange),
                other => {
                    core::mem::forget(other);
                    None
                }
            })
            .chain(self.lanes.iter_mut().filter_map(|lane| lane.forget()))
            .collect()
    }

    /// Cancels the control receive, the last request of a world that ends.
    pub(crate) fn stop_listening(&mut self) {
        if self.control_slot >= 0 {
            self.requests.cancel(self.control_slot);
        }
    }

    pub(crate) fn is_listening(&self) -> bool {
        self.control_slot >= 0
    }
}

/// The end of a message whose other rank has closed.
pub(crate) fn gone(message: &Message) -> How {
    let what = if message.send { "receives" } else { "sends" };
    How::Failed {
        status: NORN_E_CLOSED,
        code: 0,
        operation: "close",
        text: format!(
            "rank {} has left the world, and {what} nothing more",
            message.peer
        ),
    }
}

/// Pending things of one wire of one peer.
pub(crate) type PerWire<T> = HashMap<(i32, super::control::Wire), VecDeque<T>>;
