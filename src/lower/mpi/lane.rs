//! Lanes: communicators on which each rank makes the same calls in the same order, and what becomes of a call that
//! some rank never makes.
//!
//! The calls of a lane are agreements (`agreement`) and collectives. MPI pairs the n-th call of one rank with the n-th of
//! all others, and a call that has begun cannot be taken back. So where a rank will not make a call, another one that
//! has made it must learn that it waits in vain:
//!
//! - *Who has calls under way* and learns that a rank makes calls only where it must (it leaves, or the world has
//!   failed, or all rest) tells it which call of the lane is its last (`Waits`).
//! - *Who hears that*, has not made that call and begins nothing more, makes it if it is the agreement that comes next on
//!   the lane: with "not entered". Any other call, an unguarded collective or what stands behind one, it cannot make;
//!   then it tells all the number of the first call that it does not make (`Ends`), and makes none from there on.
//! - *Who hears `Ends`* gives up its calls from that number on: their tokens fail with the record that came along, and
//!   MPI keeps the request, the communicator, and the memory, until MPI_Finalize. It makes no call from there on.
//!
//! A rank in whose collective MPI finds an error, or that cannot enter an unguarded one, ends the lane at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::control::{Control, Record};
use super::engine::{Engine, Finished, Flight, How};
use super::exchange::{Exchange, What};
use super::rest::LANES;
use super::world::World;
use crate::abi::status::NORN_E_CLOSED;
use parking_lot::Mutex;

/// Words of agreements that were given up: MPI may write them until it ends.
static GIVEN_UP: Mutex<Vec<Box<[i64]>>> = Mutex::new(Vec::new());

/// See the module's text.
pub(crate) struct Lane {
    pub(crate) comm: i32,
    /// Calls made, and those of them that are under way, each with its slot, in order.
    calls: u64,
    under_way: VecDeque<(u64, i32)>,
    /// The furthest call that another rank waits in, and which agreement it is, 0 for none.
    waited: Option<(u64, u64)>,
    /// The first call that some rank does not make, and why.
    end: Option<(u64, Record)>,
    /// Agreements begun, those included that other ranks have begun and this one has joined.
    pub(super) number: u64,
    /// Guarded collectives of this rank begun. The n-th belongs to the n-th agreement, which may have been joined before.
    pub(super) begun: u64,
    /// The collective being agreed on. None with `agreeing`: one that only other ranks have declared.
    pub(super) current: Option<Arc<Exchange>>,
    pub(super) agreeing: bool,
    /// What this rank says in an agreement, and what comes of all.
    pub(super) said: Box<[i64]>,
    /// The same of the counts of each rank, in verify mode.
    pub(super) counts: Box<[i64]>,
    /// Why collectives were not entered, told before the agreement ended here.
    pub(super) told: HashMap<u64, Record>,
    /// Collectives that were not entered and whose reason has not come. Whether it is that counts differ.
    pub(super) unexplained: HashMap<u64, (Arc<Exchange>, bool)>,
}

impl Lane {
    pub(crate) fn new(comm: i32) -> Self {
        Self {
            comm,
            calls: 0,
            under_way: VecDeque::new(),
            waited: None,
            end: None,
            number: 0,
            begun: 0,
            current: None,
            agreeing: false,
            said: Box::default(),
            counts: Box::default(),
            told: HashMap::new(),
            unexplained: HashMap::new(),
        }
    }

    /// The collectives being agreed on or not explained yet, when MPI is gone.
    pub(crate) fn forget(&mut self) -> Vec<Arc<Exchange>> {
        self.agreeing = false;
        self.under_way.clear();
        self.waited = None;
        let unexplained = self.unexplained.drain().map(|(_, (exchange, _))| exchange);
        self.current.take().into_iter().chain(unexplained).collect()
    }

    /// Calls made.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// The number of the call that a request under way is for.
    pub(super) fn call_in(&self, slot: i32) -> Option<u64> {
        let mut under_way = self.under_way.iter();
        let (call, _) = under_way.find(|(_, other)| *other == slot)?;
        Some(*call)
    }

    /// Why the next call is not made by any rank, if so.
    pub(super) fn ended(&self) -> Option<&Record> {
        let (first, record) = self.end.as_ref()?;
        (*first <= self.calls + 1).then_some(record)
    }

    /// Whether MPI still has calls that were given up: the communicator cannot be freed.
    pub(crate) fn has_given_up(&self) -> bool {
        let first = self.end.as_ref().map(|(first, _)| *first);
        first.is_some_and(|first| first <= self.calls)
    }

    /// What another rank must know, if calls are under way.
    fn waits(&self, lane: u32) -> Option<Control> {
        let (last, _) = self.under_way.back()?;
        let is_agreement = self.agreeing && *last == self.calls;
        Some(Control::Waits {
            lane,
            call: *last,
            agreement: if is_agreement { self.number } else { 0 },
        })
    }
}

impl Engine {
    /// A call of a lane was made.
    pub(super) fn called(&mut self, lane: u32, slot: i32, flight: Flight) {
        self.enter(slot, flight);
        let room = &mut self.lanes[lane as usize];
        room.calls += 1;
        room.under_way.push_back((room.calls, slot));
        if !self.heard_leave {
            return;
        }
        for peer in 0..self.peers.size() {
            if self.peers[peer].leaves() {
                self.tell_waits(lane, Some(peer));
            }
        }
    }

    /// Takes a flight whose request has ended. A call of a lane is under way no more from here on: its slot may be
    /// another's before the end is acted upon.
    pub(crate) fn take_ended(&mut self, slot: i32) -> Option<Flight> {
        let flight = self.take(slot)?;
        let lane = match &flight {
            Flight::Guard(lane) | Flight::Counts(lane) => *lane,
            Flight::Collective(exchange) => match &exchange.what {
                What::Collective(what) => what.lane,
                What::Message(_) => return Some(flight),
            },
            _ => return Some(flight),
        };
        let under_way = &mut self.lanes[lane as usize].under_way;
        // Most end in their order.
        if let Some(at) = under_way.iter().position(|(_, other)| *other == slot) {
            under_way.remove(at);
        }
        Some(flight)
    }

    /// Tells a rank, or all others, what this one waits in.
    fn tell_waits(&mut self, lane: u32, peer: Option<i32>) {
        let Some(control) = self.lanes[lane as usize].waits(lane) else {
            return;
        };
        match peer {
            Some(peer) => self.tell(peer, &control),
            None => self.tell_all(self.rank, &control),
        }
    }

    /// A peer leaves: it must know what is waited for here.
    pub(crate) fn call_leaver(&mut self, peer: i32) {
        for lane in 0..self.lanes.len() as u32 {
            self.tell_waits(lane, Some(peer));
        }
    }

    /// This rank leaves, or all rest: others must know what is waited for here, and it answers what they wait for.
    pub(crate) fn call_all(&mut self, world: &World, finished: &mut Finished) {
        for lane in 0..self.lanes.len() as u32 {
            self.tell_waits(lane, None);
            self.answer_waits(world, lane, finished);
        }
    }

    /// The world has failed: what is under way on lanes must end everywhere.
    pub(crate) fn fail_lanes(&mut self, world: &World, record: &Record, finished: &mut Finished) {
        for room in &mut self.lanes {
            for (_, (exchange, _)) in room.unexplained.drain() {
                super::balance::finish(exchange, How::Remote(record.clone()), finished);
            }
        }
        self.call_all(world, finished);
    }

    /// Another rank waits in a call.
    fn waited_for(
        &mut self,
        world: &World,
        source: i32,
        lane: u32,
        (call, agreement): (u64, u64),
        finished: &mut Finished,
    ) {
        let room = &mut self.lanes[lane as usize];
        if let Some((first, record)) = room.end.clone()
            && first <= call
        {
            // It may not have heard it, or not from this rank.
            let control = Control::Ends {
                lane,
                call: first,
                record,
            };
            return self.tell(source, &control);
        }
        room.waited = room.waited.max(Some((call, agreement)));
        self.answer_waits(world, lane, finished);
    }

    /// Makes, or says that it will not make, the call that others wait in, if this rank begins nothing more itself.
    pub(super) fn answer_waits(&mut self, world: &World, lane: u32, finished: &mut Finished) {
        let room = &mut self.lanes[lane as usize];
        let Some((call, agreement)) = room.waited else {
            return;
        };
        // An agreement that is under way may end with one call more.
        if room.agreeing {
            return;
        }
        if call <= room.calls {
            room.waited = None;
            return;
        }
        if room.ended().is_some() {
            // Whoever has ended the lane has told all.
            room.waited = None;
            return;
        }
        let gives_up = self.gives_up(world, lane);
        if !self.sinks && !self.resting.over && !gives_up {
            return;
        }
        let room = &mut self.lanes[lane as usize];
        room.waited = None;
        if (call, agreement) != (room.calls + 1, room.number + 1) {
            let record = self.failed.clone().unwrap_or_else(|| left(world));
            self.end_lane(world, lane, record, finished);
        } else if let Err(failed) = self.agree(world, lane, false) {
            let record = world.record_of_call(&self.calls(), failed);
            world.fail_from_inside(record.clone());
            self.end_lane(world, lane, record, finished);
        }
    }

    /// As `answer_waits`, on all lanes.
    pub(crate) fn answer_all(&mut self, world: &World, finished: &mut Finished) {
        for lane in 0..self.lanes.len() as u32 {
            self.answer_waits(world, lane, finished);
        }
    }

    /// This rank makes no call of a lane any more.
    pub(super) fn end_lane(
        &mut self,
        world: &World,
        lane: u32,
        record: Record,
        finished: &mut Finished,
    ) {
        let call = self.lanes[lane as usize].calls + 1;
        let control = Control::Ends {
            lane,
            call,
            record: record.clone(),
        };
        self.tell_all(world.rank, &control);
        self.lane_ended(world, lane, (call, record), finished);
    }

    /// Some rank does not make this call of a lane, nor any after it.
    fn lane_ended(
        &mut self,
        world: &World,
        lane: u32,
        (call, record): (u64, Record),
        finished: &mut Finished,
    ) {
        let room = &mut self.lanes[lane as usize];
        if room.end.as_ref().is_none_or(|(first, _)| call < *first) {
            room.end = Some((call, record.clone()));
        }
        let under_way = &mut room.under_way;
        let in_vain = under_way.split_off(under_way.partition_point(|(at, _)| *at < call));
        for (_, slot) in in_vain {
            self.give_up(world, slot, &record, finished);
        }
        self.answer_waits(world, lane, finished);
    }

    /// A call is never going to end: forgets it, and lets MPI keep all that it may still touch.
    fn give_up(&mut self, world: &World, slot: i32, record: &Record, finished: &mut Finished) {
        match self.take(slot) {
            Some(Flight::Collective(exchange)) => {
                super::balance::finish(exchange, How::Remote(record.clone()), finished);
            }
            Some(Flight::Guard(lane) | Flight::Counts(lane)) => {
                let room = &mut self.lanes[lane as usize];
                room.agreeing = false;
                let words = [&mut room.said, &mut room.counts].map(core::mem::take);
                GIVEN_UP.lock().extend(words);
                if let Some(exchange) = room.current.take() {
                    let how = match exchange.cause() {
                        0 => How::Remote(record.clone()),
                        cause => How::Propagated(cause),
                    };
                    self.end_collective(world, &exchange, how, finished);
                }
            }
            _ => {}
        }
    }

    /// A lane has been made. What other ranks have said of it before counts.
    pub(crate) fn open_lane(&mut self, world: &World, comm: i32, finished: &mut Finished) -> u32 {
        self.lanes.push(Lane::new(comm));
        for (source, control) in core::mem::take(&mut self.early) {
            self.obey_on_lane(world, source, control, finished);
        }
        self.lanes.len() as u32 - 1
    }

    /// Acts on what another rank says of a lane, when there is that lane.
    pub(crate) fn obey_on_lane(
        &mut self,
        world: &World,
        source: i32,
        control: Control,
        finished: &mut Finished,
    ) {
        let known = |lane: u32| (lane as usize) < self.lanes.len();
        match control {
            Control::Waits {
                lane,
                call,
                agreement,
            } if known(lane) => {
                self.waited_for(world, source, lane, (call, agreement), finished);
            }
            Control::Ends { lane, call, record } if known(lane) => {
                self.lane_ended(world, lane, (call, record), finished);
            }
            Control::Declined {
                lane,
                number,
                record,
            } if known(lane) => self.declined(world, lane, number, record, finished),
            early => self.early.push((source, early)),
        }
    }

    /// Of the first lanes, how many calls were made, and the first of them that is under way.
    pub(crate) fn calls_made(&self) -> [(u64, u64); LANES] {
        let of = |room: &Lane| {
            (
                room.calls,
                room.under_way.front().map_or(0, |(call, _)| *call),
            )
        };
        core::array::from_fn(|lane| self.lanes.get(lane).map_or((0, 0), of))
    }

    /// Whether a reason is waited for.
    pub(crate) fn has_unexplained(&self) -> bool {
        self.lanes.iter().any(|room| !room.unexplained.is_empty())
    }

    /// Whether an agreement is under way, or somebody has to be answered.
    pub(crate) fn has_agreements(&self) -> bool {
        self.lanes
            .iter()
            .any(|room| room.agreeing || room.waited.is_some())
    }
}

/// Why a rank that has left enters nothing.
pub(super) fn left(world: &World) -> Record {
    Record {
        status: NORN_E_CLOSED,
        rank: world.rank,
        worker: -1,
        operation: "close".into(),
        text: format!(
            "rank {} has left the world, and enters nothing more",
            world.rank
        ),
        ..Record::default()
    }
}
