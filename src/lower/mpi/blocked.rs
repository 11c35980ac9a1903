//! What does not come under a supposition, and who is told of it; see `still` for the whole.
//!
//! Of what waits for several things it is enough that one does not come. So what is said of a message or a lane relies only on the
//! waves of other worlds that this one thing does, the fewest there are. (Else ranks would soon rely on each other's words about everything, and
//! nothing that changed would ever leave these.)

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::across::Across;
use super::control::{Control, MOST_LANES, MOST_RELIES, MOST_WIRES, Relies, Wire};
use super::engine::{Engine, Flight};
use super::exchange::{Exchange, Line, Message, What};
use super::still::is_alone;
use super::table::{NORN_MPI_ALLGATHER, NORN_MPI_ALLREDUCE, NORN_MPI_ALLTOALL, NORN_MPI_BARRIER};
use super::world::World;
use crate::run::runtime::Runtime;

/// When a rank looks again although nothing is new: after so long, and so many times what a look takes.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_PER_LOOK: u32 = 20;

/// Whose supposition holds where nobody leads: none. What is said under it relies on waves of other worlds only.
const NOBODY: i32 = -1;

/// What a rank has said that it does not do under a supposition; each with the waves of other worlds that it relies on.
#[derive(Default)]
struct Blocked {
    wave: u64,
    /// It sends no more than so many messages, on these wires or on all.
    sent: u64,
    wires: HashMap<Wire, Relies>,
    all: Option<Relies>,
    /// It makes no more than so many calls of a lane.
    calls: HashMap<u32, (u64, Relies)>,
}

/// What this rank has said.
#[derive(Clone, PartialEq, Eq)]
struct Said {
    wave: u64,
    /// How many messages it had sent, or calls it had made.
    count: u64,
    relies: Relies,
}

/// What of this rank is blocked under a supposition.
#[derive(Default)]
pub(super) struct Found {
    /// Nodes that wait for what does not come, 0 for none, each with the waves of other worlds that this relies on.
    starts: Vec<(u32, Relies)>,
    /// Lanes of this world with an agreement that does not end; the same.
    lanes: Vec<(u32, Relies)>,
    /// Something is under way, and all of it is blocked.
    any: bool,
    all: bool,
}

impl Found {
    /// The waves on which it relies that all is blocked; None: not all is.
    pub(super) fn all_on(&self) -> Option<Relies> {
        let relies = self.starts.iter().flat_map(|(_, relies)| relies);
        (self.any && self.all).then(|| relies.copied().collect())
    }
}

/// What of this rank waits for what does not come; each with the waves of other worlds that this relies on.
#[derive(Default)]
struct Waiting {
    /// To whom, on which wire: the first of each.
    sends: Vec<(i32, Wire, Relies)>,
    lanes: Vec<(u32, Relies)>,
}

/// What was said.
#[derive(Default)]
pub(super) struct Words {
    /// By who leads, and who has said it.
    blocked: HashMap<(i32, i32), Blocked>,
    /// What this rank has said, by who leads, and whom of which wire (None: all).
    told: HashMap<(i32, i32, Option<Wire>), Said>,
    /// The same of lanes.
    told_frozen: HashMap<(i32, u32), Said>,
}

impl Words {
    pub(super) fn forget_all_but(&mut self, leader: i32, wave: u64) {
        self.told
            .retain(|(of, ..), said| *of != leader || said.wave == wave);
        self.told_frozen
            .retain(|(of, _), said| *of != leader || said.wave == wave);
    }

    /// What a rank has said under the supposition of a leader.
    fn said_by(&mut self, leader: i32, source: i32, wave: u64) -> &mut Blocked {
        let blocked = self.blocked.entry((leader, source)).or_default();
        if blocked.wave != wave {
            *blocked = Blocked {
                wave,
                ..Blocked::default()
            };
        }
        blocked
    }
}

/// A receive that is posted and waits for another rank's message.
fn awaited(flight: &Flight) -> Option<(&Exchange, &Message)> {
    match flight {
        Flight::Message {
            exchange,
            cancelled: None,
            kept: false,
            ..
        } => {
            let message = exchange.message().filter(|message| !message.send)?;
            Some((exchange, message))
        }
        _ => None,
    }
}

/// Whether a collective that all have agreed on, or that needs no agreement, ends on no rank before all have entered it.
fn needs_all(exchange: &Exchange) -> Option<u32> {
    let What::Collective(what) = &exchange.what else {
        return None;
    };
    let needs = match what.kind {
        NORN_MPI_BARRIER => true,
        NORN_MPI_ALLREDUCE | NORN_MPI_ALLGATHER | NORN_MPI_ALLTOALL => what.recv_count > 0,
        _ => false,
    };
    needs.then_some(what.lane)
}

impl Engine {
    /// What of this rank, in all worlds of its runtime, is blocked under the supposition of a leader of this one. In the others
    /// it is under that of their first leader.
    pub(super) fn find(&self, leader: i32, across: &Across<'_>) -> Found {
        let mut found = Found {
            all: true,
            ..Found::default()
        };
        let is_latest = |relies: &Relies| {
            let mut engines = across.engines().chain([self]);
            engines.all(|engine| engine.still.latest.are(relies))
        };
        // Of this leader all is supposed anyway.
        let own = self.wave_of(leader);
        self.find_here(leader, None, own, &is_latest, &mut found);
        let lanes = found.lanes.len();
        for other in across.engines() {
            let first = other.still.supposed.keys().min().copied();
            let first = first.unwrap_or(NOBODY);
            let further = other.wave_of(first);
            other.find_here(first, further, own, &is_latest, &mut found);
            found.lanes.truncate(lanes);
        }
        found
    }

    /// The part of a world. It relies on its wave `further` too, and not on `own`.
    fn find_here(
        &self,
        leader: i32,
        further: Option<u64>,
        own: Option<u64>,
        is_latest: &dyn Fn(&Relies) -> bool,
        found: &mut Found,
    ) {
        for slot in &self.order {
            let Some(flight) = &self.flights[*slot as usize] else {
                continue;
            };
            if matches!(
                flight,
                Flight::Control { .. } | Flight::Owed { receive: true, .. }
            ) {
                continue;
            }
            found.any = true;
            let mut relies: Relies = further.into_iter().collect();
            let node = self.stays(leader, *slot, flight, &mut relies);
            let Some(node) = node.filter(|_| is_latest(&relies)) else {
                found.all = false;
                continue;
            };
            if let Some(own) = own {
                relies.remove(&own);
            }
            if let Flight::Guard(lane) | Flight::Counts(lane) = flight {
                found.lanes.push((*lane, relies.clone())); // one agreement at a time
            }
            found.starts.push((node, relies));
        }
    }

    /// Whether what is under way does not end under the supposition of a leader; the node that waits for it, 0 for none.
    fn stays(&self, leader: i32, slot: i32, flight: &Flight, relies: &mut Relies) -> Option<u32> {
        if let Some((exchange, message)) = awaited(flight) {
            let blocked = self.is_blocked(leader, message.peer, message.wire, relies);
            return blocked.then(|| exchange.node());
        }
        let (lane, node) = match flight {
            Flight::Guard(lane) | Flight::Counts(lane) => {
                let current = self.lanes[*lane as usize].current.as_ref();
                (*lane, current.map_or(0, |exchange| exchange.node()))
            }
            Flight::Collective(exchange) => (needs_all(exchange)?, exchange.node()),
            _ => return None,
        };
        let call = self.lanes[lane as usize].call_in(slot)?;
        self.is_missing(leader, lane, call, relies).then_some(node)
    }

    /// Whether a peer sends nothing more on a wire under the supposition of a leader, and what that relies on.
    fn is_blocked(&self, leader: i32, peer: i32, wire: Wire, relies: &mut Relies) -> bool {
        let received = self.peers[peer].received;
        if let Some(stands) = self.stands(leader, peer) {
            return stands.sent == received;
        }
        let blocked = self.said_under(leader, peer);
        let said = blocked
            .filter(|blocked| blocked.sent == received)
            .and_then(|blocked| blocked.all.as_ref().or_else(|| blocked.wires.get(&wire)));
        relies.extend(said.into_iter().flatten());
        said.is_some()
    }

    /// Whether some rank does not make this call of a lane under the supposition of a leader, and what that relies on.
    fn is_missing(&self, leader: i32, lane: u32, call: u64, relies: &mut Relies) -> bool {
        let ranks = || 0..self.peers.size();
        let stands_before = |peer: i32| {
            let stands = self.stands(leader, peer);
            stands.is_some_and(|stands| {
                let made = stands.calls.get(lane as usize);
                made.is_some_and(|made| *made < call)
            })
        };
        if ranks().any(stands_before) {
            return true;
        }
        let said_before = |peer: i32| {
            let blocked = self.said_under(leader, peer)?;
            let (made, relies) = blocked.calls.get(&lane)?;
            (*made < call).then_some(relies)
        };
        // Of several, who relies on the fewest.
        let said = ranks().filter_map(said_before).min_by_key(|on| on.len());
        relies.extend(said.into_iter().flatten());
        said.is_some()
    }

    /// What a rank has said under the present supposition of a leader.
    fn said_under(&self, leader: i32, peer: i32) -> Option<&Blocked> {
        let wave = match leader {
            NOBODY => 0,
            _ => self.wave_of(leader)?,
        };
        let blocked = self.still.words.blocked.get(&(leader, peer))?;
        (blocked.wave == wave).then_some(blocked)
    }

    // ----- what others say -----

    pub(crate) fn blocked_told(
        &mut self,
        source: i32,
        (leader, wave): (i32, u64),
        sent: u64,
        (wires, relies): (Vec<Wire>, Relies),
    ) {
        self.still.latest.hear(&relies);
        self.still.news += 1;
        let blocked = self.still.words.said_by(leader, source, wave);
        if blocked.sent != sent {
            blocked.sent = sent;
            blocked.wires.clear();
            blocked.all = None;
        }
        for wire in &wires {
            blocked.wires.insert(*wire, relies.clone());
        }
        if wires.is_empty() {
            blocked.all = Some(relies);
        }
    }

    pub(crate) fn frozen_told(
        &mut self,
        source: i32,
        (leader, wave): (i32, u64),
        (lanes, relies): (Vec<(u32, u64)>, Relies),
    ) {
        self.still.latest.hear(&relies);
        self.still.news += 1;
        let blocked = self.still.words.said_by(leader, source, wave);
        for (lane, calls) in lanes {
            blocked.calls.insert(lane, (calls, relies.clone()));
        }
    }

    // ----- what this rank finds -----

    /// In a pass: says which messages and calls of this rank wait for ranks that stand still.
    pub(super) fn look_around(&mut self, world: &World, runtime: &Runtime, across: &Across<'_>) {
        let nothing_heard = self.still.supposed.is_empty() && !across.was_heard();
        if nothing_heard || self.said_bye || self.failed.is_some() {
            return;
        }
        let known = self.known(world, across);
        let began = Instant::now();
        let is_known = |(looked, again): (_, Instant)| looked == known && began < again;
        let idles = self.still.looked.is_some_and(|(looked, _)| looked == known);
        // While something runs here, more may come of it than the next look would find.
        if self.still.looked.is_some_and(is_known) || !runtime.is_quiescent() {
            return;
        }
        let peers = &self.peers;
        let has_gone = |rank: i32| peers[rank].leaves() || peers[rank].lost;
        self.still.supposed.retain(|leader, _| !has_gone(*leader));
        let rests = self.waits_in(world, across);
        let supposed = self.still.supposed.iter();
        let mut leaders: Vec<(i32, u64)> = supposed
            .filter(|(_, supposed)| {
                // Of a member all is supposed already.
                rests.is_none() || supposed.members.get(&self.rank) != rests.as_ref()
            })
            .map(|(leader, supposed)| (*leader, supposed.wave))
            .collect();
        if self.still.supposed.is_empty() {
            leaders.push((NOBODY, 0));
        }
        let alone = Across::default();
        let rests_alone = rests.is_some() && is_alone(world);
        let others = if rests_alone { &alone } else { across };
        for (leader, wave) in leaders {
            let found = self.find(leader, others);
            if let Some(relies) = found.all_on().filter(|_| rests.is_some()) {
                self.tell_all_blocked((leader, wave), &relies);
                continue;
            }
            let Some(waiting) = self.find_waiting(world, runtime, found) else {
                return; // somebody submits
            };
            self.tell_blocked((leader, wave), waiting.sends);
            self.tell_frozen((leader, wave), waiting.lanes);
        }
        let again = AGAIN.max(began.elapsed() * AGAIN_PER_LOOK);
        self.still.looked = Some((known, Instant::now() + again));
        // What has come and no receive is posted for then counts as received, and its sender need not wait. Not before
        // nothing has come for a while: others may be at work, and what they send costs a copy here.
        self.still.takes_in |= idles;
        // In those where nothing is posted no pass would look.
        for (other, _) in across.iter() {
            other.stir(runtime);
        }
    }

    /// What of this rank waits for what does not come. None: the graph is changing.
    fn find_waiting(&self, world: &World, runtime: &Runtime, found: Found) -> Option<Waiting> {
        let mut waiting = Waiting {
            lanes: found.lanes,
            ..Waiting::default()
        };
        let mut starts = found.starts;
        starts.retain(|(node, _)| *node != 0);
        if starts.is_empty() {
            return Some(waiting);
        }
        // The last one is followed first, and finds what waits for several: it relies on the least.
        starts.sort_by_key(|(_, relies)| core::cmp::Reverse(relies.len()));
        let nodes: Vec<u32> = starts.iter().map(|(node, _)| *node).collect();
        let relies: HashMap<u32, Relies> = starts.into_iter().collect();
        let graph = runtime.graph();
        let placing = graph.data.try_lock()?;
        let cone = graph.cone(&nodes);
        let heads = world.lines.first_unposted();
        drop(placing);
        for (line, node) in heads {
            let start = cone.start_of(node);
            let Some(relies) = relies.get(&start).filter(|_| cone.contains(node)) else {
                continue;
            };
            let relies = relies.clone();
            match line {
                Line::Messages { send, peer, wire } if send => {
                    waiting.sends.push((peer, wire, relies));
                }
                Line::Messages { .. } => {}
                Line::Collectives { lane } => waiting.lanes.push((lane, relies)),
            }
        }
        Some(waiting)
    }

    fn tell_blocked(&mut self, (leader, wave): (i32, u64), found: Vec<(i32, Wire, Relies)>) {
        let mut by_peer: HashMap<(i32, Relies), Vec<Wire>> = HashMap::new();
        for (peer, wire, relies) in found {
            if self.is_new((leader, wave), peer, Some(wire), &relies) {
                by_peer.entry((peer, relies)).or_default().push(wire);
            }
        }
        for ((peer, relies), wires) in by_peer {
            for some in wires.chunks(MOST_WIRES) {
                self.say_blocked((leader, wave), peer, some, &relies);
            }
        }
    }

    fn tell_all_blocked(&mut self, (leader, wave): (i32, u64), relies: &Relies) {
        for peer in 0..self.peers.size() {
            if self.is_new((leader, wave), peer, None, relies) {
                self.say_blocked((leader, wave), peer, &[], relies);
            }
        }
        let lanes = 0..self.lanes.len() as u32;
        let lanes = lanes.map(|lane| (lane, relies.clone())).collect();
        self.tell_frozen((leader, wave), lanes);
    }

    fn tell_frozen(&mut self, (leader, wave): (i32, u64), lanes: Vec<(u32, Relies)>) {
        let mut fresh: HashMap<Relies, Vec<(u32, u64)>> = HashMap::new();
        for (lane, relies) in lanes {
            let made = self.lanes[lane as usize].calls();
            let now = Said {
                wave,
                count: made,
                relies: relies.clone(),
            };
            let told = &mut self.still.words.told_frozen;
            if told.insert((leader, lane), now.clone()) != Some(now) {
                fresh.entry(relies).or_default().push((lane, made));
            }
        }
        fresh.retain(|relies, _| relies.len() <= MOST_RELIES);
        for (relies, lanes) in fresh {
            for some in lanes.chunks(MOST_LANES) {
                let lanes = some.to_vec();
                self.tell_every(&Control::Frozen {
                    leader,
                    wave,
                    lanes,
                    relies: relies.clone(),
                });
            }
        }
    }

    /// Whether a peer was not told that, since this rank has sent to it last. It is told now.
    fn is_new(
        &mut self,
        (leader, wave): (i32, u64),
        peer: i32,
        wire: Option<Wire>,
        relies: &Relies,
    ) -> bool {
        let now = Said {
            wave,
            count: self.peers[peer].sent,
            relies: relies.clone(),
        };
        let told = &mut self.still.words.told;
        told.insert((leader, peer, wire), now.clone()) != Some(now)
    }

    fn say_blocked(
        &mut self,
        (leader, wave): (i32, u64),
        peer: i32,
        wires: &[Wire],
        relies: &Relies,
    ) {
        if relies.len() > MOST_RELIES {
            return; // no message has room for them
        }
        let blocked = Control::Blocked {
            leader,
            wave,
            sent: self.peers[peer].sent,
            wires: wires.to_vec(),
            relies: relies.clone(),
        };
        self.tell(peer, &blocked);
    }
}
