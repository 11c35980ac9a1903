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
//! 5. A runtime may have several worlds, and a rank stands still in all of them or in none. What is said in one may rely on what is
//!    supposed in others, and on what is said there in turn (`across`).
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
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::across::{ANY_STANDS, Across, Facts, Latest};
use super::blocked::Words;
use super::control::{Control, MOST_RELIES, Relies, Wire, in_parts};
use super::engine::Engine;
use super::rest::LANES;
use super::suppose::{GivesUp, Lead};
use super::world::World;
use super::worlds;

/// How long a rank rests before it says so, and so much more for each rank.
const WHILE: Duration = Duration::from_millis(50);
const WHILE_A_RANK: Duration = Duration::from_millis(10);

/// A rank that stands still.
pub(super) struct Stands {
    pub(super) epoch: u64,
    /// What it has sent to this one.
    pub(super) sent: u64,
    /// The calls that it has made on each of the first lanes.
    pub(super) calls: [u64; LANES],
}

/// Ranks that are supposed not to go on, each in its epoch.
pub(super) struct Supposed {
    pub(super) wave: u64,
    pub(super) members: HashMap<i32, u64>,
    /// This rank has said that it is stuck, under these waves of other worlds too.
    pub(super) said_stuck: Option<Relies>,
}

/// What was known when this rank last looked, of all worlds of its runtime: what happened, was heard and was declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    activity: u64,
    news: u64,
    declared: usize,
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
    pub(super) words: Words,
    pub(super) latest: Latest,
    pub(super) facts: Facts,
    /// Counts those heard, and how many other worlds had heard when this one last took theirs in.
    pub(super) facts_heard: u64,
    pub(super) facts_taken: u64,
    /// When other worlds of the runtime are next let hear what is told there.
    pub(super) others_listen: Option<Instant>,
    pub(super) lead: Lead,
    pub(super) gives_up: Option<GivesUp>,
    /// Of a `Never` whose last part has not come: by who says it.
    pub(super) spared: HashMap<i32, HashSet<Wire>>,
    /// Counts what was heard that changes what this rank may find.
    pub(super) news: u64,
    /// This rank takes in and keeps what no receive is posted for, until it posts something again.
    pub(crate) takes_in: bool,
    /// What was known when this rank last looked, and when to look again although that is all: an edge may have been added.
    pub(super) looked: Option<(Known, Instant)>,
    /// The same of whether it is stuck.
    judged: Option<Known>,
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
        self.latest.hear([&wave]);
        if members.is_empty() {
            self.supposed.remove(&leader);
            return self.words.forget_all_but(leader, wave);
        }
        let fresh = || Supposed {
            wave,
            members: HashMap::new(),
            said_stuck: None,
        };
        let supposed = self.supposed.entry(leader).or_insert_with(fresh);
        if supposed.wave != wave {
            *supposed = fresh();
        }
        // More of the same wave: with more ranks that do not go on, all that was said still holds.
        supposed.members.extend(members);
        self.words.forget_all_but(leader, wave);
    }
}

/// How long a rank of this world rests before it says so.
pub(super) fn long(world: &World) -> Duration {
    WHILE + WHILE_A_RANK * world.size.unsigned_abs()
}

/// Whether a rank that rests does so in this world alone: it detaches it from an open runtime, and nothing that is declared
/// waits here, so what happens in other worlds changes nothing in this one.
pub(super) fn is_alone(world: &World) -> bool {
    world.rested_together.load(Ordering::SeqCst) == 0
}

impl Engine {
    /// In a pass of a rank that rests: says so after a while, and what follows for it.
    pub(super) fn stand_still(&mut self, world: &World, across: &Across<'_>) {
        let ends = self.said_bye || self.failed.is_some() || self.resting.over;
        let Some(epoch) = self.waits_in(world, across).filter(|_| !ends) else {
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
            self.judge_itself(world, epoch, across);
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

    /// Tells leaders who name this rank whether it is stuck.
    fn judge_itself(&mut self, world: &World, epoch: u64, across: &Across<'_>) {
        let known = self.known(world, across);
        if self.still.judged == Some(known) {
            return;
        }
        self.still.judged = Some(known);
        let supposed = self.still.supposed.iter();
        let named: Vec<(i32, u64)> = supposed
            .filter(|(_, supposed)| supposed.members.get(&self.rank) == Some(&epoch))
            .map(|(leader, supposed)| (*leader, supposed.wave))
            .collect();
        let alone = Across::default();
        let across = if is_alone(world) { &alone } else { across };
        for (leader, wave) in named {
            let stuck = self.find(leader, across).all_on();
            let Some(supposed) = self.still.supposed.get_mut(&leader) else {
                continue;
            };
            if supposed.said_stuck == stuck {
                continue;
            }
            supposed.said_stuck.clone_from(&stuck);
            let relies: Vec<u64> = stuck.iter().flatten().copied().collect();
            for (part, last) in in_parts(&relies, MOST_RELIES) {
                let said = Control::Stuck {
                    wave,
                    is_stuck: stuck.is_some(),
                    relies: part.iter().copied().collect(),
                    last,
                };
                self.tell(leader, &said);
            }
        }
    }

    pub(super) fn known(&self, world: &World, across: &Across<'_>) -> Known {
        let others = || across.iter();
        let news: u64 = others().map(|(_, engine)| engine.still.news).sum();
        let declared: usize = others().map(|(world, _)| world.lines.declared()).sum();
        Known {
            activity: worlds::activity_of_runtime(world),
            news: self.still.news + news,
            declared: world.lines.declared() + declared,
        }
    }

    /// The epoch in which this rank rests and waits for something.
    pub(super) fn waits_in(&self, world: &World, across: &Across<'_>) -> Option<u64> {
        let together = world.rested_together.load(Ordering::SeqCst);
        if is_alone(world) {
            let rest = self.own_rest(world).filter(|_| world.live() != 0)?;
            return Some(rest.activity);
        }
        let epoch = worlds::activity_of_runtime(world);
        let waits = || world.live() != 0 || across.iter().any(|(other, _)| other.live() != 0);
        let expects = || self.expects_words() || across.engines().any(Self::expects_words);
        (together == epoch + 1 && waits() && !expects()).then_some(epoch)
    }

    /// How a rank stands still, if a leader names it so.
    pub(super) fn stands(&self, leader: i32, peer: i32) -> Option<&Stands> {
        let epoch = self.still.supposed.get(&leader)?.members.get(&peer)?;
        let stands = self.still.ranks.get(&peer)?;
        (stands.epoch == *epoch).then_some(stands)
    }

    /// The wave of a leader.
    pub(super) fn wave_of(&self, leader: i32) -> Option<u64> {
        let supposed = self.still.supposed.get(&leader)?;
        Some(supposed.wave)
    }

    pub(crate) fn still_told(&mut self, source: i32, epoch: u64, sent: u64, calls: [u64; LANES]) {
        ANY_STANDS.store(true, Ordering::Relaxed);
        self.still.news += 1;
        let stands = Stands { epoch, sent, calls };
        self.still.ranks.insert(source, stands);
    }
}
