//! Ranks that close, or are sealed, and wait by way of others for what they will never send.
//!
//! Rank A closes and waits for a message of rank B. B sends it only after one of A's, which A has not declared and, as long
//! as nothing comes, never will. Where all ranks close or are sealed, `rest` finds that; here B does neither, and A would
//! wait for ever. There may be several such ranks, and each wait for all of them.
//!
//! 1. A rank that has rested for a while says so to all (`Still`), with what it has sent to each and how many calls it has made
//!    on each lane. While its `epoch`, which is its activity, stays the same, it sends nothing more and makes no call.
//! 2. The first of those ranks leads (`suppose`): it names ranks that stand still, each in its epoch, and supposes that none of
//!    them goes on (`Suppose`).
//! 3. A rank that has received all that such a member has sent to it knows that none of the receives it has posted for that
//!    member end, under this supposition; nor an agreement of a lane for which a call of a member is missing. What waits for these,
//!    the deadlock search tells. Sends among it, it tells to those that they go to (`Blocked`): the first of each wire, and
//!    with it all behind it. Lanes on which it makes no further call, it tells to all (`Frozen`). Who hears that goes on from there
//!    in the same way, again once all that was sent is here. For that ranks take in what no receive is posted for (`kept`),
//!    if it is not too much. A rank that rests itself, and waits for nothing that is not blocked, sends nothing at all.
//! 4. A member for which everything it waits for is blocked tells the leader (`Stuck`). Where all members are stuck, nothing
//!    will ever come to any of them.
//!
//! The argument: all that is said holds on from the moment at which it is said, and is of the form "nothing beyond this number
//! comes here, unless something that is supposed or said to be blocked comes first"; for it follows from edges of a graph, which
//! stay, and from a rest, which only a message or an agreement ends. The numbers make sure that nothing was on its
//! way between what one rank says and another. So if all members of one supposition are stuck, the first thing that came against
//! what was said would need another one before it. It does not matter when each was said. (Only a cancel by the application breaks it:
//! then what was blocked is sent as a poison, and receives that wait for a rank that closes may fail at that very moment.)
//!
//! What is not concluded over: an unguarded collective that may end on this rank before all have entered it.
//!
//! To tell all costs a message a rank. It comes late, so that an end where all close is found without it.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::control::{Control, MOST_MEMBERS, MOST_WIRES, Wire};
use super::engine::{Engine, Flight};
use super::exchange::{Exchange, Line, Message, What};
use super::rest::LANES;
use super::suppose::{GivesUp, Lead};
use super::table::{NORN_MPI_ALLGATHER, NORN_MPI_ALLREDUCE, NORN_MPI_ALLTOALL, NORN_MPI_BARRIER};
use super::world::World;
use crate::run::runtime::Runtime;

/// How long a rank rests before it says so, and so much more for each rank.
const WHILE: Duration = Duration::from_millis(50);
const WHILE_A_RANK: Duration = Duration::from_millis(10);

/// When a rank looks again although nothing is new: after so long, and so many times what a look takes.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_PER_LOOK: u32 = 20;

/// A rank that stands still.
pub(super) struct Stands {
    pub(super) epoch: u64,
    /// What it has sent to this one.
    pub(super) sent: u64,
    /// The calls that it has made on each of the first lanes.
    calls: [u64; LANES],
}

/// Ranks that are supposed not to go on, each in its epoch.
pub(super) struct Supposed {
    pub(super) wave: u64,
    pub(super) members: HashMap<i32, u64>,
    /// This rank has said that it is stuck.
    pub(super) said_stuck: bool,
}

/// What a rank has said that it does not do under a supposition.
#[derive(Default)]
struct Blocked {
    wave: u64,
    /// It sends no more than so many messages, on these wires or on all.
    sent: u64,
    wires: HashSet<Wire>,
    all: bool,
    /// It makes no more than so many calls of a lane.
    calls: HashMap<u32, u64>,
}

/// What of this rank waits for what does not come.
#[derive(Default)]
struct Waiting {
    /// To whom, on which wire: the first of each.
    sends: Vec<(i32, Wire)>,
    lanes: Vec<u32>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Still {
    /// Since when this rank has rested, and in which epoch.
    pub(super) since: Option<(u64, Instant)>,
    /// The epoch of which this rank has said `Still`.
    pub(super) said_still: Option<u64>,
    /// Ranks that stand still.
    pub(super) ranks: HashMap<i32, Stands>,
    /// By who leads.
    pub(super) supposed: HashMap<i32, Supposed>,
    /// By who leads, and who has said it.
    blocked: HashMap<(i32, i32), Blocked>,
    /// What this rank has said, by who leads, and whom of which wire (None: all): the wave, and how much it had sent.
    told: HashMap<(i32, i32, Option<Wire>), (u64, u64)>,
    /// The same of lanes: the wave, and how many calls it had made.
    told_frozen: HashMap<(i32, u32), (u64, u64)>,
    pub(super) lead: Lead,
    pub(super) gives_up: Option<GivesUp>,
    /// Of a `Never` whose last part has not come: by who says it.
    pub(super) spared: HashMap<i32, HashSet<Wire>>,
    /// Counts what was heard.
    pub(super) news: u64,
    /// This rank takes in and keeps what no receive is posted for, until it posts something again.
    pub(crate) takes_in: bool,
    /// What was known when this rank last looked, and when to look again although that is all: an edge may have been added.
    looked: Option<((u64, u64, usize), Instant)>,
    /// The same of whether it is stuck.
    judged: Option<(u64, u64)>,
}

impl Still {
    /// Whether any rank has ever stood still.
    pub(crate) fn was_heard(&self) -> bool {
        self.news != 0
    }

    /// A rank names others anew: what was said under its earlier supposition counts no more.
    /// No members: it leads no more.
    pub(super) fn suppose_told(&mut self, leader: i32, wave: u64, members: Vec<(i32, u64)>) {
        self.news += 1;
        if members.is_empty() {
            self.supposed.remove(&leader);
            return self.forget_all_but(leader, wave);
        }
        let fresh = || Supposed {
            wave,
            members: HashMap::new(),
            said_stuck: false,
        };
        let supposed = self.supposed.entry(leader).or_insert_with(fresh);
        if supposed.wave != wave {
            *supposed = fresh();
        }
        // More of the same wave: with more ranks that do not go on, all that was said still holds.
        supposed.members.extend(members);
        self.forget_all_but(leader, wave);
    }

    fn forget_all_but(&mut self, leader: i32, wave: u64) {
        self.told
            .retain(|(of, ..), (when, _)| *of != leader || *when == wave);
        self.told_frozen
            .retain(|(of, _), (when, _)| *of != leader || *when == wave);
    }

    /// What a rank has said under the supposition of a leader.
    fn said_by(&mut self, leader: i32, source: i32, wave: u64) -> &mut Blocked {
        self.news += 1;
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

/// How long a rank of this world rests before it says so.
pub(super) fn long(world: &World) -> Duration {
    WHILE + WHILE_A_RANK * world.size.unsigned_abs()
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
    /// In a pass of a rank that rests: says so after a while, and what follows for it.
    pub(crate) fn stand_still(&mut self, world: &World) {
        let ends = self.said_bye || self.failed.is_some() || self.resting.over;
        let Some(epoch) = self.waits_in(world).filter(|_| !ends) else {
            self.still.since = None;
            return self.lead_no_more();
        };
        match self.still.since {
            Some((since, began)) if since == epoch => {
                if self.still.said_still != Some(epoch) && began.elapsed() >= long(world) {
                    self.say_still(epoch);
                }
            }
            _ => {
                self.still.since = Some((epoch, Instant::now()));
                self.lead_no_more();
            }
        }
        if self.still.said_still == Some(epoch) {
            self.judge_itself(epoch);
            self.lead(world);
        }
    }

    fn say_still(&mut self, epoch: u64) {
        self.still.said_still = Some(epoch);
        let calls = self.calls_made().map(|(made, _)| made);
        for rank in 0..self.peers.size() {
            let sent = self.peers[rank].sent;
            self.tell(rank, &Control::Still { epoch, sent, calls });
        }
    }

    /// Tells leaders who name this rank that it is stuck.
    fn judge_itself(&mut self, epoch: u64) {
        let known = (epoch, self.still.news);
        if self.still.judged == Some(known) {
            return;
        }
        self.still.judged = Some(known);
        let named: Vec<(i32, u64)> = self
            .still
            .supposed
            .iter()
            .filter(|(_, supposed)| {
                !supposed.said_stuck && supposed.members.get(&self.rank) == Some(&epoch)
            })
            .map(|(leader, supposed)| (*leader, supposed.wave))
            .collect();
        for (leader, wave) in named {
            if self.waits_only_for(leader) {
                if let Some(supposed) = self.still.supposed.get_mut(&leader) {
                    supposed.said_stuck = true;
                }
                self.tell(leader, &Control::Stuck { wave });
            }
        }
    }

    /// The epoch in which this rank rests and waits for something.
    pub(super) fn waits_in(&self, world: &World) -> Option<u64> {
        let rest = self.own_rest(world).filter(|_| world.live() != 0)?;
        Some(rest.activity)
    }

    /// Whether everything that could make this rank go on, which rests, is blocked under the supposition of a leader.
    fn waits_only_for(&self, leader: i32) -> bool {
        let mut any = false;
        let stays = |slot: &i32| {
            let Some(flight) = &self.flights[*slot as usize] else {
                return true;
            };
            match flight {
                Flight::Control { .. } | Flight::Owed { receive: true, .. } => true,
                flight => {
                    any = true;
                    self.stays(leader, *slot, flight).is_some()
                }
            }
        };
        self.order.iter().all(stays) && any
    }

    /// Whether what is under way does not end under the supposition of a leader; the node that waits for it, 0 for none.
    fn stays(&self, leader: i32, slot: i32, flight: &Flight) -> Option<u32> {
        if let Some((exchange, message)) = awaited(flight) {
            let blocked = self.is_blocked(leader, message.peer, message.wire);
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
        self.is_missing(leader, lane, call).then_some(node)
    }

    /// Whether a peer sends nothing more on a wire under the supposition of a leader.
    fn is_blocked(&self, leader: i32, peer: i32, wire: Wire) -> bool {
        let received = self.peers[peer].received;
        if let Some(stands) = self.stands(leader, peer) {
            return stands.sent == received;
        }
        let blocked = self.said_under(leader, peer);
        blocked.is_some_and(|blocked| {
            blocked.sent == received && (blocked.all || blocked.wires.contains(&wire))
        })
    }

    /// Whether some rank does not make this call of a lane under the supposition of a leader.
    fn is_missing(&self, leader: i32, lane: u32, call: u64) -> bool {
        (0..self.peers.size()).any(|peer| {
            let made = match self.stands(leader, peer) {
                Some(stands) => stands.calls.get(lane as usize),
                None => self
                    .said_under(leader, peer)
                    .and_then(|blocked| blocked.calls.get(&lane)),
            };
            made.is_some_and(|made| *made < call)
        })
    }

    /// How a rank stands still, if a leader names it so.
    fn stands(&self, leader: i32, peer: i32) -> Option<&Stands> {
        let epoch = self.still.supposed.get(&leader)?.members.get(&peer)?;
        let stands = self.still.ranks.get(&peer)?;
        (stands.epoch == *epoch).then_some(stands)
    }

    /// What a rank has said under the present supposition of a leader.
    fn said_under(&self, leader: i32, peer: i32) -> Option<&Blocked> {
        let wave = self.still.supposed.get(&leader)?.wave;
        let blocked = self.still.blocked.get(&(leader, peer))?;
        (blocked.wave == wave).then_some(blocked)
    }

    // ----- what others say -----

    pub(crate) fn still_told(&mut self, source: i32, epoch: u64, sent: u64, calls: [u64; LANES]) {
        self.still.news += 1;
        let stands = Stands { epoch, sent, calls };
        self.still.ranks.insert(source, stands);
    }

    pub(crate) fn blocked_told(
        &mut self,
        source: i32,
        (leader, wave): (i32, u64),
        sent: u64,
        wires: Vec<Wire>,
    ) {
        let blocked = self.still.said_by(leader, source, wave);
        if blocked.sent != sent {
            blocked.sent = sent;
            blocked.wires.clear();
            blocked.all = false;
        }
        blocked.all |= wires.is_empty();
        blocked.wires.extend(wires);
    }

    pub(crate) fn frozen_told(
        &mut self,
        source: i32,
        (leader, wave): (i32, u64),
        lanes: Vec<(u32, u64)>,
    ) {
        let blocked = self.still.said_by(leader, source, wave);
        blocked.calls.extend(lanes);
    }

    // ----- what this rank finds -----

    /// In a pass: says which messages and calls of this rank wait for ranks that stand still.
    pub(crate) fn look_around(&mut self, world: &World, runtime: &Runtime) {
        if self.still.supposed.is_empty() || self.said_bye || self.failed.is_some() {
            return;
        }
        let known = (world.activity(), self.still.news, world.lines.declared());
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
        let rests = self.waits_in(world);
        let supposed = self.still.supposed.iter();
        let leaders: Vec<(i32, u64)> = supposed
            .filter(|(_, supposed)| {
                // Of a member all is supposed already.
                rests.is_none() || supposed.members.get(&self.rank) != rests.as_ref()
            })
            .map(|(leader, supposed)| (*leader, supposed.wave))
            .collect();
        for (leader, wave) in leaders {
            if rests.is_some() && self.waits_only_for(leader) {
                self.tell_all_blocked((leader, wave));
                continue;
            }
            let Some(found) = self.find_blocked(world, runtime, leader) else {
                return; // somebody submits
            };
            self.tell_blocked((leader, wave), found.sends);
            self.tell_frozen((leader, wave), found.lanes);
        }
        let again = AGAIN.max(began.elapsed() * AGAIN_PER_LOOK);
        self.still.looked = Some((known, Instant::now() + again));
        // What has come and no receive is posted for then counts as received, and its sender need not wait. Not before
        // nothing has come for a while: others may be at work, and what they send costs a copy here.
        self.still.takes_in |= idles;
    }

    /// What of this rank waits for what does not come under the supposition of a leader. None: the graph is changing.
    fn find_blocked(&self, world: &World, runtime: &Runtime, leader: i32) -> Option<Waiting> {
        let mut starts = Vec::new();
        let mut found = Waiting::default();
        for slot in &self.order {
            if let Some(flight) = &self.flights[*slot as usize]
                && let Some(node) = self.stays(leader, *slot, flight)
            {
                starts.extend(Some(node).filter(|node| *node != 0));
                if let Flight::Guard(lane) | Flight::Counts(lane) = flight {
                    found.lanes.push(*lane); // one agreement at a time
                }
            }
        }
        if starts.is_empty() {
            return Some(found);
        }
        let graph = runtime.graph();
        let placing = graph.data.try_lock()?;
        let cone = graph.cone(&starts);
        let heads = world.lines.first_unposted();
        drop(placing);
        for (line, node) in heads {
            match line {
                _ if !cone.contains(node) => {}
                Line::Messages { send, peer, wire } if send => found.sends.push((peer, wire)),
                Line::Messages { .. } => {}
                Line::Collectives { lane } => found.lanes.push(lane),
            }
        }
        Some(found)
    }

    fn tell_blocked(&mut self, (leader, wave): (i32, u64), found: Vec<(i32, Wire)>) {
        let mut by_peer: HashMap<i32, Vec<Wire>> = HashMap::new();
        for (peer, wire) in found {
            if self.is_new((leader, wave), peer, Some(wire)) {
                by_peer.entry(peer).or_default().push(wire);
            }
        }
        for (peer, wires) in by_peer {
            for some in wires.chunks(MOST_WIRES) {
                self.say_blocked((leader, wave), peer, some);
            }
        }
    }

    fn tell_all_blocked(&mut self, (leader, wave): (i32, u64)) {
        for peer in 0..self.peers.size() {
            if self.is_new((leader, wave), peer, None) {
                self.say_blocked((leader, wave), peer, &[]);
            }
        }
        let lanes = self.lanes.len() as u32;
        self.tell_frozen((leader, wave), (0..lanes).collect());
    }

    fn tell_frozen(&mut self, (leader, wave): (i32, u64), lanes: Vec<u32>) {
        let mut fresh = Vec::new();
        for lane in lanes {
            let made = self.lanes[lane as usize].calls();
            let now = (wave, made);
            if self.still.told_frozen.insert((leader, lane), now) != Some(now) {
                fresh.push((lane, made));
            }
        }
        for some in fresh.chunks(MOST_MEMBERS) {
            let lanes = some.to_vec();
            self.tell_every(&Control::Frozen {
                leader,
                wave,
                lanes,
            });
        }
    }

    /// Whether a peer was not told that, since this rank has sent to it last. It is told now.
    fn is_new(&mut self, (leader, wave): (i32, u64), peer: i32, wire: Option<Wire>) -> bool {
        let now = (wave, self.peers[peer].sent);
        self.still.told.insert((leader, peer, wire), now) != Some(now)
    }

    fn say_blocked(&mut self, (leader, wave): (i32, u64), peer: i32, wires: &[Wire]) {
        let blocked = Control::Blocked {
            leader,
            wave,
            sent: self.peers[peer].sent,
            wires: wires.to_vec(),
        };
        self.tell(peer, &blocked);
    }
}
