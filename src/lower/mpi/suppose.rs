//! Which ranks are supposed not to go on, and what becomes of it when that is right; see `still` for the whole.
//!
//! The first of the ranks that stand still leads. It looks for the largest set of them in which all are stuck if none of them goes on:
//!
//! 1. It names all ranks that stand still, in a *wave* of that number (`Suppose`). Who stands still later is added to the wave;
//!    where one has gone on, a new wave begins. As long as no member is stuck, it only waits.
//! 2. When some are stuck and nothing was heard for a while, it names only these, in a new wave: what was said before relied on the
//!    others. And so on, until all are stuck or none is. In the latter case it begins with all again; with
//!    the same ranks stuck it does this later and later, and more slowly, for what was not said in time may still come.
//! 3. Where all are stuck, it tells them so (`Conclude`). Each member says `Never` to all ranks, and the receives that are
//!    posted for it fail: first those on wires on which it has declared no message. Who waits in a call of a lane
//!    says so (`Waits`), and the member makes it, with "not entered": first where it has declared no collective on that lane.
//!    All answer whether that has ended something (`Cut`), and the members tell the leader (`AllCut`). Where it has ended nothing, the
//!    others fail too: there, what members have declared is behind what they wait for.
//!
//! A wave may be too small, and then nothing comes of it; it cannot be wrong. So it does not matter if some lead at the same time, and
//! a rank takes the lead if those before it have not gone on for very long: they may be inside a body.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::across::{Fact, first_wave};
use super::control::{Control, MOST_MEMBERS, MOST_WIRES, Relies, Wire, gather, in_parts};
use super::engine::{Cancelled, Engine, Finished};
use super::still::long;
use super::world::World;
use super::worlds;

/// After how many rests before `Still` a rank leads where another stands still before it, for each such.
const LATER: u32 = 64;

/// Looks in such a rest.
const LOOKS: u32 = 16;

/// So many times as long is waited for other worlds, who look in the same way.
const OTHERS: u32 = 4;

/// The longest pause before the same is tried again, in such rests.
const LATEST: u32 = 64;

/// What all members have been told.
struct Concluded {
    when: Instant,
    /// Until it is told again, if it ends nothing.
    pause: Duration,
    /// What has declared something was spared.
    spares: bool,
    /// Members whose `Never` all have heard.
    heard: BTreeSet<i32>,
    /// It has ended something.
    cut: bool,
}

/// What this rank has concluded as a member.
pub(super) struct GivesUp {
    /// While nothing happens in any world of its runtime, it makes missing calls of lanes that others wait in.
    activity: u64,
    /// As the leader says: what it has declared is spared.
    spares: bool,
    leader: (i32, u64),
    /// Ranks that have answered, and whether something has ended.
    answers: usize,
    any: bool,
}

/// What this rank does as the leader.
struct Wave {
    members: BTreeMap<i32, u64>,
    /// Those that are stuck, each under these waves of other worlds too.
    stuck: BTreeMap<i32, Relies>,
    /// All these together, as they were last made known.
    known: Option<Fact>,
    /// All that stood still were named.
    is_whole: bool,
    /// When it began, or something was heard of it.
    changed: Instant,
    concluded: Option<Concluded>,
}

impl Wave {
    /// Some of its members, with their epochs.
    fn named_of(&self, ranks: &BTreeSet<i32>) -> BTreeMap<i32, u64> {
        let members = self.members.iter();
        members
            .filter(|(rank, _)| ranks.contains(rank))
            .map(|(rank, epoch)| (*rank, *epoch))
            .collect()
    }
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Lead {
    /// The number of the latest wave; 0: there was none.
    number: u64,
    wave: Option<Wave>,
    /// Of what a member says whose last part has not come.
    parts: HashMap<i32, Relies>,
    /// Ranks that stood still when all were last named.
    known: BTreeMap<i32, u64>,
    /// Those of them that were stuck when the others were last left out, and when that was.
    tried: Option<(BTreeSet<i32>, Instant)>,
    /// How often that came to nothing.
    failures: u32,
    /// Counts what was heard that is of no consequence but for who leads.
    pub(super) heard: u64,
    /// What had been heard when this rank last looked what to do, and when it looks again although that is all: it walks all
    /// ranks that stand still.
    looked: Option<(u64, Instant)>,
}

impl Lead {
    pub(super) fn leads(&self) -> bool {
        self.wave.is_some()
    }

    /// The next wave has this number.
    fn count(&mut self) -> u64 {
        self.number = match self.number {
            0 => first_wave() + 1,
            number => number + 1,
        };
        self.number
    }

    /// How long nothing is heard until it is taken that nothing more is said.
    fn patience(&self, long: Duration) -> Duration {
        (long * (1 << self.failures.min(16))).min(long * LATEST)
    }
}

impl Engine {
    /// In a pass of a rank that stands still.
    pub(super) fn lead(&mut self, world: &World) {
        let (long, now) = (long(world), Instant::now());
        let news = self.still.news + self.still.lead.heard;
        let looked = self.still.lead.looked;
        if looked.is_some_and(|(heard, again)| heard == news && now < again) {
            return;
        }
        self.still.lead.looked = Some((news, now + long / LOOKS));
        let known = self.known_still();
        if !known.contains_key(&self.rank) {
            return; // it has not heard itself yet
        }
        let before = known.range(..self.rank).count() as u32;
        let rested = self
            .still
            .since
            .map_or(Duration::ZERO, |(_, since)| since.elapsed());
        if before != 0 && rested < long * LATER * before {
            return self.lead_no_more();
        }
        if known != self.still.lead.known || self.still.lead.wave.is_none() {
            return self.name_all(known, long);
        }
        let lead = &mut self.still.lead;
        let patience = lead.patience(long);
        let Some(wave) = &mut lead.wave else { return };
        let quiet = wave.changed.elapsed();
        if let Some(concluded) = &wave.concluded {
            let since = concluded.when.elapsed();
            let all_heard = concluded.heard.len() == wave.members.len();
            let none_cut = !concluded.cut && (all_heard || since >= long * LATEST);
            if concluded.cut && since >= long {
                self.name_all(known, Duration::ZERO);
            } else if none_cut && concluded.spares {
                self.conclude(false, long);
            } else if none_cut && since >= concluded.pause {
                let pause = (concluded.pause * 2).min(long * LATEST);
                self.conclude(true, pause);
            }
        } else if wave.stuck.len() == wave.members.len() {
            self.conclude_if_closed(long, known);
        } else if quiet < patience {
            // More may be heard.
        } else if !wave.stuck.is_empty() {
            let stuck: BTreeSet<i32> = wave.stuck.keys().copied().collect();
            let tried = lead.tried.as_ref().filter(|(tried, _)| *tried == stuck);
            if wave.is_whole && tried.is_some_and(|(_, when)| when.elapsed() < patience * 4) {
                return;
            }
            let members = wave.named_of(&stuck);
            if wave.is_whole {
                lead.tried = Some((stuck, Instant::now()));
            }
            self.name(members, false);
        } else if !wave.is_whole {
            lead.failures += 1;
            self.name(known, true);
        }
    }

    /// All members are stuck: concludes, unless they are only under waves of other worlds of which this rank does not know as much.
    /// For that it waits, and tells what it knows itself.
    fn conclude_if_closed(&mut self, long: Duration, known: BTreeMap<i32, u64>) {
        let lead = &mut self.still.lead;
        let number = lead.number;
        let Some(wave) = &mut lead.wave else { return };
        let relies: Relies = wave.stuck.values().flatten().copied().collect();
        let closed = self.still.facts.closed_with(number);
        let is_closed = |relies: &Relies| relies.iter().all(|on| closed.contains(on));
        let concludes = is_closed(&relies);
        let version = wave.known.as_ref().map_or(0, |fact| fact.version) + 1;
        if !relies.is_empty() && wave.known.as_ref().is_none_or(|fact| fact.relies != relies) {
            let fact = Fact { version, relies };
            wave.known = Some(fact.clone());
            // Even if it concludes: others that rely on this wave then do, too.
            self.make_known(number, &fact);
        } else if !concludes {
            self.leave_out_open(&closed, long, known);
        }
        if concludes {
            self.conclude(true, long);
        }
    }

    /// After a while: leaves out who relies on waves of other worlds of which too little is known.
    fn leave_out_open(&mut self, closed: &HashSet<u64>, long: Duration, known: BTreeMap<i32, u64>) {
        let lead = &mut self.still.lead;
        let patience = lead.patience(long);
        let Some(wave) = &mut lead.wave else { return };
        if wave.changed.elapsed() < patience * OTHERS {
            return;
        }
        let stuck = wave.stuck.iter();
        let closed: BTreeSet<i32> = stuck
            .filter(|(_, relies)| relies.iter().all(|on| closed.contains(on)))
            .map(|(rank, _)| *rank)
            .collect();
        let members = wave.named_of(&closed);
        if members.is_empty() {
            lead.failures += 1;
            self.name(known, true);
        } else {
            self.name(members, false);
        }
    }

    /// Ranks that stand still and have not been heard of since.
    fn known_still(&self) -> BTreeMap<i32, u64> {
        let ranks = self.still.ranks.iter();
        let stays = |rank: i32, sent: u64| {
            let peer = &self.peers[rank];
            !peer.leaves() && !peer.lost && peer.received <= sent
        };
        ranks
            .filter(|(rank, stands)| stays(**rank, stands.sent))
            .map(|(rank, stands)| (*rank, stands.epoch))
            .collect()
    }

    /// Other ranks stand still than before. `pause`: how long after the last change, for they come one after the other.
    fn name_all(&mut self, known: BTreeMap<i32, u64>, pause: Duration) {
        let lead = &mut self.still.lead;
        if let Some(wave) = &mut lead.wave {
            if wave.changed.elapsed() < pause {
                return;
            }
            let stay = |(rank, epoch): (&i32, &u64)| known.get(rank) == Some(epoch);
            if wave.is_whole && wave.concluded.is_none() && wave.members.iter().all(stay) {
                let fresh = known
                    .iter()
                    .filter(|(rank, _)| !wave.members.contains_key(rank));
                let fresh: Vec<(i32, u64)> = fresh.map(|(rank, epoch)| (*rank, *epoch)).collect();
                wave.members.clone_from(&known);
                wave.changed = Instant::now();
                lead.known = known;
                return self.tell_members(&fresh);
            }
        }
        lead.known.clone_from(&known);
        lead.tried = None;
        lead.failures = 0;
        self.name(known, true);
    }

    /// Begins a wave.
    fn name(&mut self, members: BTreeMap<i32, u64>, is_whole: bool) {
        let lead = &mut self.still.lead;
        lead.count();
        let named: Vec<(i32, u64)> = members
            .iter()
            .map(|(rank, epoch)| (*rank, *epoch))
            .collect();
        lead.wave = Some(Wave {
            members,
            stuck: BTreeMap::new(),
            known: None,
            is_whole,
            changed: Instant::now(),
            concluded: None,
        });
        self.tell_members(&named);
    }

    fn tell_members(&mut self, members: &[(i32, u64)]) {
        let wave = self.still.lead.number;
        for some in members.chunks(MOST_MEMBERS) {
            let members = some.to_vec();
            self.tell_every(&Control::Suppose { wave, members });
        }
    }

    /// This rank goes on, or another one leads.
    pub(super) fn lead_no_more(&mut self) {
        let lead = &mut self.still.lead;
        if lead.wave.take().is_none() {
            return;
        }
        let wave = lead.count();
        lead.known.clear();
        self.tell_every(&Control::Suppose {
            wave,
            members: Vec::new(),
        });
    }

    /// All members are stuck.
    fn conclude(&mut self, spares: bool, pause: Duration) {
        let lead = &mut self.still.lead;
        let number = lead.number;
        let Some(wave) = &mut lead.wave else { return };
        wave.concluded = Some(Concluded {
            when: Instant::now(),
            pause,
            spares,
            heard: BTreeSet::new(),
            cut: false,
        });
        let members: Vec<i32> = wave.members.keys().copied().collect();
        for member in members {
            let wave = number;
            self.tell(member, &Control::Conclude { wave, spares });
        }
    }

    // ----- what others say -----

    /// `relies`: None where it is not stuck after all.
    pub(crate) fn stuck_told(
        &mut self,
        source: i32,
        number: u64,
        relies: Option<Relies>,
        last: bool,
    ) {
        self.still.lead.heard += 1;
        let is_stuck = relies.is_some();
        let part = relies.unwrap_or_default();
        self.still.latest.hear(&part);
        let lead = &mut self.still.lead;
        let Some(relies) = gather(&mut lead.parts, source, part, last) else {
            return;
        };
        if let Some(wave) = lead.wave.as_mut().filter(|_| lead.number == number) {
            wave.changed = Instant::now();
            match is_stuck {
                true => wave.stuck.insert(source, relies),
                false => wave.stuck.remove(&source),
            };
        }
    }

    /// A rank has heard this one's `Never`, and this one has heard before what calls that one waits in.
    pub(crate) fn cut_told(&mut self, leader: (i32, u64), any: bool) {
        let all = self.peers.size() as usize - self.peers.lost();
        let Some(gives_up) = self.still.gives_up.as_mut() else {
            return;
        };
        if gives_up.leader != leader {
            return;
        }
        gives_up.answers += 1;
        gives_up.any |= any;
        // After its last word this rank says nothing more, and nobody needs to hear it.
        if gives_up.answers == all && !self.said_fin {
            let (rank, wave) = leader;
            let any = gives_up.any;
            self.tell(rank, &Control::AllCut { wave, any });
        }
    }

    pub(crate) fn all_cut_told(&mut self, source: i32, number: u64, any: bool) {
        let lead = &mut self.still.lead;
        lead.heard += 1;
        if let Some(wave) = lead.wave.as_mut().filter(|_| lead.number == number)
            && let Some(concluded) = &mut wave.concluded
        {
            concluded.heard.insert(source);
            concluded.cut |= any;
        }
    }

    /// This rank, and all that were named with it, wait for each other.
    pub(crate) fn conclude_told(
        &mut self,
        world: &World,
        leader: (i32, u64),
        spares: bool,
        finished: &mut Finished,
    ) {
        // Where another world is being used, the leader says it again.
        let epoch = world.look_across(|across| self.waits_in(world, across));
        let Some(epoch) = epoch.flatten() else {
            return;
        };
        let holds = self.still.supposed.get(&leader.0).is_some_and(|supposed| {
            supposed.wave == leader.1
                && supposed.said_stuck.is_some()
                && supposed.members.get(&self.rank) == Some(&epoch)
        });
        if !holds {
            return;
        }
        let declared = match spares {
            true => world.lines.unposted_sends(),
            false => Vec::new(),
        };
        self.still.gives_up = Some(GivesUp {
            activity: worlds::activity_of_runtime(world),
            spares,
            leader,
            answers: 0,
            any: false,
        });
        self.say_never((leader, epoch), &declared);
        self.answer_all(world, finished);
    }

    fn say_never(&mut self, (leader, epoch): ((i32, u64), u64), declared: &[(i32, Wire)]) {
        let (leader, wave) = leader;
        for rank in 0..self.peers.size() {
            let of_rank = declared.iter().filter(|(peer, _)| *peer == rank);
            let spares: Vec<Wire> = of_rank.map(|(_, wire)| *wire).collect();
            for (part, last) in in_parts(&spares, MOST_WIRES) {
                let never = Control::Never {
                    leader,
                    wave,
                    epoch,
                    spares: part.to_vec(),
                    last,
                };
                self.tell(rank, &never);
            }
        }
    }

    pub(crate) fn never_told(
        &mut self,
        source: i32,
        (leader, wave): (i32, u64),
        epoch: u64,
        spares: Vec<Wire>,
        last: bool,
    ) {
        let Some(spared) = gather(&mut self.still.spared, source, spares, last) else {
            return;
        };
        let received = self.peers[source].received;
        let stands = self.still.ranks.get(&source);
        let holds = stands.is_some_and(|stands| (stands.epoch, stands.sent) == (epoch, received));
        let any = holds && self.cancel_receives_but(Some(source), Cancelled::Never, &spared);
        // Before the answer: it is acted upon when that is heard.
        self.call_leaver(source);
        self.tell(source, &Control::Cut { leader, wave, any });
    }

    /// Whether this rank makes a call of a lane that others wait in, because nothing else will ever come of it.
    pub(super) fn gives_up(&mut self, world: &World, lane: u32) -> bool {
        let Some(gives_up) = &mut self.still.gives_up else {
            return false;
        };
        let spared = gives_up.spares && world.lines.has_collectives(lane);
        let does = gives_up.activity == worlds::activity_of_runtime(world) && !spared;
        gives_up.any |= does;
        does
    }
}
