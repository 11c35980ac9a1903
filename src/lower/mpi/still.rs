//! A rank that closes, or is sealed, and waits by way of others for what it will never send.
//!
//! Rank A closes and waits for a message of rank B. B sends it only after one of A's, which A has not declared and, as long
//! as nothing comes, never will. Where all ranks close or are sealed, `rest` finds that; here B does neither, and A would
//! wait for ever.
//!
//! 1. A rank that has rested for a while says so to all (`Still`), with what it has sent to each. While its `epoch`, which is
//!    its activity, stays the same, it sends nothing more.
//! 2. A rank that has received all of that knows that none of the receives it has posted for A end. What waits for these, the
//!    deadlock search tells; sends among it, it tells to those that they go to (`Blocked`): the first of each wire, and
//!    with it all behind it. Who hears that goes on from there in the same way, again once all that was sent is here. For that
//!    ranks take in what no receive is posted for (`kept`), if it is not too much.
//!    A rank that rests itself, and waits for nothing that is not blocked, sends nothing at all while A stands still: to all it
//!    tells that all wires are.
//! 3. If A still rests and everything it waits for is blocked, nothing will ever come to it. It says `Never`, and the
//!    receives that are posted for it fail: first those on wires on which it has declared no message. While it rests on, it says
//!    so again, for what is posted meanwhile; and when that has ended nothing (`Cut`), the others fail too: there, what it
//!    has declared is behind what it waits for.
//!
//! A `Blocked` is true as long as A rests, for it follows from what A does not send and from edges of a graph, which stay.
//! (Only a cancel by the application breaks it: then what was blocked is sent as a poison, and receives that wait for a rank
//! that closes may fail at that very moment.) Where collectives are waited for, nothing is concluded.
//!
//! Not found: closing ranks of which each waits for several others of them, itself included (a knot). Each could say that all its wires are blocked
//! only after the others have; it takes a wave that asks all of them at once.
//!
//! To tell all costs a message a rank. It comes late, so that an end where all close is found without it.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::control::{Control, MOST_WIRES, Wire};
use super::engine::{Cancelled, Engine, Flight};
use super::exchange::{Exchange, Message};
use super::world::World;
use crate::run::runtime::Runtime;

/// How long a rank rests before it says so, and so much more for each rank.
const WHILE: Duration = Duration::from_millis(50);
const WHILE_A_RANK: Duration = Duration::from_millis(10);

/// When a rank looks again although nothing is new: after so long, and so many times what a look takes.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_PER_LOOK: u32 = 20;

/// The longest time between two `Never`, in rests before the first.
const LATEST: u32 = 64;

/// What a rank has said: it sends no more than `sent` messages, on these wires or on all, while another stands still.
struct Blocked {
    epoch: u64,
    sent: u64,
    wires: HashSet<Wire>,
    all: bool,
}

/// The latest `Never` of this rank.
struct Said {
    epoch: u64,
    when: Instant,
    /// How long until the next.
    pause: Duration,
    /// It has ended receives.
    cut: bool,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Still {
    /// Since when this rank has rested, and in which epoch.
    since: Option<(u64, Instant)>,
    /// The epoch of which this rank has said `Still`.
    said_still: Option<u64>,
    never: Option<Said>,
    /// Ranks that stand still: their epoch, and what they have sent to this one.
    ranks: HashMap<i32, (u64, u64)>,
    /// By who stands still, and who has said it.
    blocked: HashMap<(i32, i32), Blocked>,
    /// What this rank has said, by who stands still, and whom of which wire (None: all): the epoch, and how much it had sent.
    told: HashMap<(i32, i32, Option<Wire>), (u64, u64)>,
    /// Of a `Never` whose last part has not come: by who says it.
    spared: HashMap<i32, HashSet<Wire>>,
    /// Counts what was heard.
    news: u64,
    /// This rank takes in and keeps what no receive is posted for, until it posts something again.
    pub(crate) takes_in: bool,
    /// What was known when this rank last looked, and when to look again although that is all: an edge may have been added.
    looked: Option<((u64, u64, usize), Instant)>,
}

impl Still {
    /// Whether any rank has ever stood still.
    pub(crate) fn was_heard(&self) -> bool {
        self.news != 0
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

impl Engine {
    /// In a pass of a rank that rests: says so after a while, and concludes.
    pub(crate) fn stand_still(&mut self, world: &World) {
        if self.said_bye || self.failed.is_some() || self.resting.over {
            return;
        }
        let Some(epoch) = self.waits_in(world) else {
            self.still.since = None;
            return;
        };
        let long = WHILE + WHILE_A_RANK * world.size.unsigned_abs();
        match self.still.since {
            Some((since, began)) if since == epoch => {
                if self.still.said_still != Some(epoch) && began.elapsed() >= long {
                    self.say_still(epoch);
                }
            }
            _ => self.still.since = Some((epoch, Instant::now())),
        }
        if self.still.said_still != Some(epoch) {
            return;
        }
        let said = self.still.never.as_ref().filter(|said| said.epoch == epoch);
        if said.is_some_and(|said| said.when.elapsed() < said.pause)
            || !self.waits_only_for(self.rank, epoch)
        {
            return;
        }
        // Where the last has ended nothing, there may be nothing more to end: later and later.
        let (spares, pause) = match said {
            Some(said) if !said.cut => (false, (said.pause * 2).min(long * LATEST)),
            _ => (true, long),
        };
        self.still.never = Some(Said {
            epoch,
            when: Instant::now(),
            pause,
            cut: false,
        });
        match spares {
            true => self.say_never(epoch, &world.lines.unposted_sends()),
            false => self.say_never(epoch, &[]),
        }
    }

    fn say_still(&mut self, epoch: u64) {
        self.still.said_still = Some(epoch);
        for rank in 0..self.peers.size() {
            let sent = self.peers[rank].sent;
            self.tell(rank, &Control::Still { epoch, sent });
        }
    }

    fn say_never(&mut self, epoch: u64, declared: &[(i32, Wire)]) {
        for rank in 0..self.peers.size() {
            let of_rank = declared.iter().filter(|(peer, _)| *peer == rank);
            let spares: Vec<Wire> = of_rank.map(|(_, wire)| *wire).collect();
            let mut parts = spares.chunks(MOST_WIRES).peekable();
            loop {
                let part = parts.next().unwrap_or_default();
                let last = parts.peek().is_none();
                let never = Control::Never {
                    epoch,
                    spares: part.to_vec(),
                    last,
                };
                self.tell(rank, &never);
                if last {
                    break;
                }
            }
        }
    }

    /// The epoch in which this rank rests and waits for something.
    fn waits_in(&self, world: &World) -> Option<u64> {
        let rest = self.own_rest(world).filter(|_| world.live() != 0)?;
        Some(rest.activity)
    }

    /// Whether everything that could make this rank go on, which rests, is blocked while `still` stands still.
    fn waits_only_for(&self, still: i32, epoch: u64) -> bool {
        if self.verify.waits() || self.has_suspects() || self.kept.is_waited_for() {
            return false;
        }
        let (mut all, mut any) = (true, false);
        for slot in &self.order {
            let Some(flight) = &self.flights[*slot as usize] else {
                continue;
            };
            match awaited(flight) {
                Some((_, message)) => {
                    any = true;
                    all &= self.is_blocked(still, epoch, message.peer, message.wire);
                }
                None => {
                    all &= matches!(
                        flight,
                        Flight::Control { .. } | Flight::Owed { receive: true, .. }
                    );
                }
            }
        }
        any && all
    }

    /// Whether a peer sends nothing more on a wire while `still` stands still in its epoch.
    fn is_blocked(&self, still: i32, epoch: u64, peer: i32, wire: Wire) -> bool {
        let received = self.peers[peer].received;
        if peer == still {
            return match still == self.rank {
                true => self.peers[peer].sent == received,
                false => self.still.ranks.get(&still) == Some(&(epoch, received)),
            };
        }
        let blocked = self.still.blocked.get(&(still, peer));
        blocked.is_some_and(|blocked| {
            (blocked.epoch, blocked.sent) == (epoch, received)
                && (blocked.all || blocked.wires.contains(&wire))
        })
    }

    // ----- what others say -----

    pub(crate) fn still_told(&mut self, source: i32, epoch: u64, sent: u64) {
        self.still.news += 1;
        self.still.ranks.insert(source, (epoch, sent));
        self.still
            .told
            .retain(|(still, ..), (of, _)| *still != source || *of == epoch);
    }

    pub(crate) fn blocked_told(
        &mut self,
        source: i32,
        (still, epoch): (i32, u64),
        sent: u64,
        wires: Vec<Wire>,
    ) {
        self.still.news += 1;
        let fresh = || Blocked {
            epoch,
            sent,
            wires: HashSet::new(),
            all: false,
        };
        let blocked = self.still.blocked.entry((still, source));
        let blocked = blocked.or_insert_with(fresh);
        if (blocked.epoch, blocked.sent) != (epoch, sent) {
            *blocked = fresh();
        }
        blocked.all |= wires.is_empty();
        blocked.wires.extend(wires);
    }

    pub(crate) fn never_told(&mut self, source: i32, epoch: u64, spares: Vec<Wire>, last: bool) {
        self.still.spared.entry(source).or_default().extend(spares);
        if !last {
            return;
        }
        let spared = self.still.spared.remove(&source).unwrap_or_default();
        let received = self.peers[source].received;
        if self.still.ranks.get(&source) == Some(&(epoch, received))
            && self.cancel_receives_but(Some(source), Cancelled::Never, &spared)
        {
            self.tell(source, &Control::Cut { epoch });
        }
    }

    pub(crate) fn cut_told(&mut self, epoch: u64) {
        if let Some(said) = &mut self.still.never {
            said.cut |= said.epoch == epoch;
        }
    }

    // ----- what this rank finds -----

    /// In a pass: says which messages of this rank wait for a rank that stands still.
    pub(crate) fn look_around(&mut self, world: &World, runtime: &Runtime) {
        if self.still.ranks.is_empty() || self.said_bye || self.failed.is_some() {
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
        let received = |engine: &Self, rank: i32| engine.peers[rank].received;
        let gone_on = |engine: &Self, rank: i32, sent: u64| received(engine, rank) > sent;
        let ranks: Vec<(i32, u64)> = self
            .still
            .ranks
            .iter()
            .filter(|(rank, (_, sent))| !gone_on(self, **rank, *sent))
            .map(|(rank, (epoch, _))| (*rank, *epoch))
            .collect();
        for &(still, epoch) in &ranks {
            let Some(found) = self.blocked_sends(world, runtime, still, epoch) else {
                return; // somebody submits
            };
            self.tell_blocked((still, epoch), found);
            if still != self.rank
                && self.waits_in(world).is_some()
                && self.waits_only_for(still, epoch)
            {
                self.tell_all_blocked((still, epoch));
            }
        }
        self.still
            .ranks
            .retain(|rank, _| ranks.iter().any(|(other, _)| other == rank));
        let again = AGAIN.max(began.elapsed() * AGAIN_PER_LOOK);
        self.still.looked = Some((known, Instant::now() + again));
        // What has come and no receive is posted for then counts as received, and its sender need not wait. Not before
        // nothing has come for a while: others may be at work, and what they send costs a copy here.
        self.still.takes_in |= idles;
    }

    /// Sends of this rank, the first of each wire, that wait for what does not come while a rank stands still.
    fn blocked_sends(
        &self,
        world: &World,
        runtime: &Runtime,
        still: i32,
        epoch: u64,
    ) -> Option<Vec<(i32, Wire)>> {
        let flights = self.order.iter().map(|slot| &self.flights[*slot as usize]);
        let starts: Vec<u32> = flights
            .filter_map(|flight| awaited(flight.as_ref()?))
            .filter(|(_, message)| self.is_blocked(still, epoch, message.peer, message.wire))
            .map(|(exchange, _)| exchange.node())
            .filter(|node| *node != 0)
            .collect();
        if starts.is_empty() {
            return Some(Vec::new());
        }
        let graph = runtime.graph();
        let placing = graph.data.try_lock()?;
        let cone = graph.cone(&starts);
        let sends = world.lines.first_unposted_sends();
        drop(placing);
        let blocked = sends.into_iter().filter(|(.., node)| cone.contains(*node));
        Some(blocked.map(|(peer, wire, _)| (peer, wire)).collect())
    }

    fn tell_blocked(&mut self, (still, epoch): (i32, u64), found: Vec<(i32, Wire)>) {
        let mut by_peer: HashMap<i32, Vec<Wire>> = HashMap::new();
        for (peer, wire) in found {
            if self.is_new((still, epoch), peer, Some(wire)) {
                by_peer.entry(peer).or_default().push(wire);
            }
        }
        for (peer, wires) in by_peer {
            for some in wires.chunks(MOST_WIRES) {
                self.say_blocked((still, epoch), peer, some);
            }
        }
    }

    fn tell_all_blocked(&mut self, (still, epoch): (i32, u64)) {
        for peer in 0..self.peers.size() {
            if self.is_new((still, epoch), peer, None) {
                self.say_blocked((still, epoch), peer, &[]);
            }
        }
    }

    /// Whether a peer was not told that, since this rank has sent to it last. It is told now.
    fn is_new(&mut self, (still, epoch): (i32, u64), peer: i32, wire: Option<Wire>) -> bool {
        let now = (epoch, self.peers[peer].sent);
        self.still.told.insert((still, peer, wire), now) != Some(now)
    }

    fn say_blocked(&mut self, (still, epoch): (i32, u64), peer: i32, wires: &[Wire]) {
        let blocked = Control::Blocked {
            still,
            epoch,
            sent: self.peers[peer].sent,
            wires: wires.to_vec(),
        };
        self.tell(peer, &blocked);
    }
}
