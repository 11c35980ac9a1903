//! What ranks that stand still rely on in other worlds of their runtimes; see `still` for the whole.
//!
//! What comes in one world of a runtime may make its rank go on in another. So a rank stands still in none of its worlds unless it
//! does in all, its epoch counts what happens in all, and it is stuck if what it waits for is blocked in each of them. Under
//! which supposition, each world decides for itself: what a rank says in one may rely on waves of others, and says on which. Their
//! numbers differ everywhere. An open rank passes on in one world what is blocked in another, also where nobody leads.
//!
//! A leader all of whose members are stuck, but not without waves of other worlds, makes this known: a *fact*, "under these
//! waves too, no member of mine goes on". Facts pass from world to world where a rank has both: it takes in what its other worlds
//! have heard, and tells it the leaders of this one, who tell all. A leader concludes when it knows such a fact of each wave that its
//! own relies on, of each wave that these rely on, and so on.
//!
//! The argument is that of `still`, over all those waves together: each fact holds on from when it was found, of whatever moment it is;
//! so the first of all their members that went on would need another one before it. (What the end of one knot lets
//! go may still be on its way when another one is found that relied on it. It then ends as if both had been one.)

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::control::{Control, MOST_RELIES, Relies, gather, in_parts};
use super::engine::Engine;
use super::world::World;
use super::worlds;
use crate::run::runtime::Runtime;
use crate::sync::MutexGuard;

/// Whether any rank of a world of this process has ever stood still.
pub(super) static ANY_STANDS: AtomicBool = AtomicBool::new(false);

/// How often a world is heard in which nothing is posted.
const LISTENS: Duration = Duration::from_millis(100);

/// Facts that are kept. More is known only where many waves came to nothing; those that still hold are found again.
const MOST_FACTS: usize = 4096;

/// That all members of a wave are stuck under these others too.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) version: u64,
    pub(crate) relies: Relies,
}

/// Facts by the number of their wave.
#[derive(Default)]
pub(super) struct Facts {
    known: HashMap<u64, Fact>,
    /// Of one whose last part has not come: by who tells it.
    parts: HashMap<i32, Relies>,
}

/// The other worlds of a world's runtime, with the locks of their engines.
#[derive(Default)]
pub(super) struct Across<'a>(Vec<(&'a World, MutexGuard<'a, Engine>)>);

/// Below these bits of the number of a wave, its leader counts; above, no other leader of any world has the same, but for a chance of one
/// in very many.
const COUNTS: u32 = 24;

/// The latest waves of leaders that were heard of. What relies on an earlier one may still be true, and is taken for nothing:
/// else ranks that wait for each other could go on saying it for ever because others do.
#[derive(Default)]
pub(super) struct Latest(HashMap<u64, u64>);

/// A number from which a leader counts its waves.
pub(super) fn first_wave() -> u64 {
    RandomState::new().hash_one(0) >> COUNTS << COUNTS
}

impl Latest {
    pub(super) fn hear<'a>(&mut self, waves: impl IntoIterator<Item = &'a u64>) {
        for wave in waves {
            let latest = self.0.entry(*wave >> COUNTS).or_default();
            *latest = (*latest).max(*wave);
        }
    }

    /// Whether no later ones of the same leaders were heard of.
    pub(super) fn are(&self, waves: &Relies) -> bool {
        let is_latest = |wave: &u64| {
            self.0
                .get(&(*wave >> COUNTS))
                .is_none_or(|latest| wave >= latest)
        };
        waves.iter().all(is_latest)
    }
}

impl Facts {
    /// Whether it was new.
    pub(super) fn learn(&mut self, wave: u64, fact: &Fact) -> bool {
        if self.known.len() >= MOST_FACTS {
            self.known.clear();
        }
        let is_old = |known: &Fact| known.version >= fact.version;
        if self.known.get(&wave).is_some_and(is_old) {
            return false;
        }
        self.known.insert(wave, fact.clone());
        true
    }

    /// Of what a wave may rely on: those waves of which a fact is known, all of whose further waves are among them in turn.
    pub(super) fn closed_with(&self, wave: u64) -> HashSet<u64> {
        let mut closed: HashSet<u64> = self.known.keys().copied().chain([wave]).collect();
        loop {
            let is_open = |other: &u64| {
                let relies = self.known.get(other).map(|fact| &fact.relies);
                *other != wave
                    && relies.is_some_and(|relies| relies.iter().any(|on| !closed.contains(on)))
            };
            let open: Vec<u64> = closed.iter().copied().filter(is_open).collect();
            if open.is_empty() {
                return closed;
            }
            for other in open {
                closed.remove(&other);
            }
        }
    }
}

impl World {
    /// None: one of these worlds is being used.
    pub(super) fn look_across<R>(&self, look: impl FnOnce(&Across<'_>) -> R) -> Option<R> {
        let others = worlds::others_of_runtime(self);
        // Tried only: whoever has one of these locks may be after this world's.
        let locked = others.iter().filter(|other| !other.is_over()).map(|other| {
            let engine = other.engine.try_lock()?;
            Some((&**other, engine))
        });
        let across = Across(locked.collect::<Option<_>>()?);
        Some(look(&across))
    }
}

impl Across<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&World, &Engine)> {
        self.0.iter().map(|(world, engine)| (*world, &**engine))
    }

    pub(super) fn engines(&self) -> impl Iterator<Item = &Engine> {
        self.iter().map(|(_, engine)| engine)
    }

    /// Whether anything was heard in these worlds.
    pub(super) fn was_heard(&self) -> bool {
        self.engines().any(|engine| engine.still.was_heard())
    }
}

impl Engine {
    /// In a pass: worlds of the runtime where nothing is posted, but something declared waits, hear from time to time what is told
    /// there. It may be about what they wait for in this one.
    pub(crate) fn let_others_listen(&mut self, world: &World, runtime: &Runtime) {
        if !runtime.has_several_lowerings() || self.order.is_empty() {
            return;
        }
        let now = Instant::now();
        if self.still.others_listen.is_some_and(|next| now < next) {
            return;
        }
        self.still.others_listen = Some(now + LISTENS);
        for other in worlds::others_of_runtime(world) {
            if !other.is_over() && other.lines.has_waiting() {
                other.stir(runtime);
            }
        }
    }

    /// In a pass: what becomes of it that ranks stand still, this one or others.
    pub(crate) fn look_for_knots(&mut self, world: &World, runtime: &Runtime) {
        let may_stand = world.rested_at.load(Ordering::Relaxed) != 0
            || world.rested_together.load(Ordering::Relaxed) != 0
            || self.said_bye;
        if !may_stand && (!ANY_STANDS.load(Ordering::Relaxed) || !runtime.is_quiescent()) {
            return;
        }
        // Where another world is being used, a later pass looks.
        let _ = world.look_across(|across| {
            self.hear_across(across);
            if may_stand {
                self.stand_still(world, across);
            }
            self.look_around(world, runtime, across);
        });
    }

    /// Takes in the facts that other worlds of the runtime have heard.
    fn hear_across(&mut self, across: &Across<'_>) {
        let heard = across
            .engines()
            .map(|engine| engine.still.facts_heard)
            .sum();
        if core::mem::replace(&mut self.still.facts_taken, heard) == heard {
            return;
        }
        for engine in across.engines() {
            for (wave, fact) in &engine.still.facts.known {
                self.learn(*wave, fact, true);
            }
        }
    }

    fn learn(&mut self, wave: u64, fact: &Fact, is_from_elsewhere: bool) {
        if !self.still.facts.learn(wave, fact) {
            return;
        }
        self.still.latest.hear(fact.relies.iter().chain([&wave]));
        self.still.lead.heard += 1;
        self.still.facts_heard += 1;
        if self.said_bye {
            return; // nobody listens after the last word
        }
        let leaders: Vec<i32> = self.still.supposed.keys().copied().collect();
        if self.still.lead.leads() || (is_from_elsewhere && leaders.is_empty()) {
            for rank in 0..self.peers.size() {
                self.tell_fact(rank, wave, fact);
            }
        } else if is_from_elsewhere {
            for leader in leaders {
                self.tell_fact(leader, wave, fact);
            }
        }
    }

    /// As a leader: all its members are stuck.
    pub(super) fn make_known(&mut self, wave: u64, fact: &Fact) {
        self.learn(wave, fact, false);
    }

    fn tell_fact(&mut self, rank: i32, wave: u64, fact: &Fact) {
        let relies: Vec<u64> = fact.relies.iter().copied().collect();
        for (part, last) in in_parts(&relies, MOST_RELIES) {
            let fact = Control::Fact {
                wave,
                version: fact.version,
                relies: part.iter().copied().collect(),
                last,
            };
            self.tell(rank, &fact);
        }
    }

    pub(crate) fn fact_told(&mut self, source: i32, wave: u64, fact: Fact, last: bool) {
        let parts = &mut self.still.facts.parts;
        let Some(relies) = gather(parts, source, fact.relies, last) else {
            return;
        };
        let version = fact.version;
        self.learn(wave, &Fact { version, relies }, false);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn known(facts: &[(u64, &[u64])]) -> Facts {
        let mut known = Facts::default();
        for (wave, relies) in facts {
            let relies = relies.iter().copied().collect();
            known.learn(*wave, &Fact { version: 1, relies });
        }
        known
    }

    fn closed(facts: &[(u64, &[u64])]) -> Vec<u64> {
        let mut closed: Vec<u64> = known(facts).closed_with(1).into_iter().collect();
        closed.sort_unstable();
        closed
    }

    #[test]
    fn waves_that_rely_on_each_other_are_closed() {
        assert_eq!(closed(&[(2, &[3]), (3, &[1, 2])]), [1, 2, 3]);
    }

    #[test]
    fn a_wave_is_open_that_relies_on_an_open_one() {
        assert_eq!(closed(&[(2, &[3]), (3, &[4]), (5, &[1])]), [1, 5]);
    }

    #[test]
    fn a_later_version_replaces_a_fact_and_an_earlier_one_does_not() {
        let mut facts = known(&[(2, &[])]);
        let fact = |version, on: u64| Fact {
            version,
            relies: [on].into(),
        };
        assert!(facts.learn(2, &fact(3, 7)));
        assert!(!facts.learn(2, &fact(2, 1)));
        assert_eq!(facts.closed_with(1), [1].into());
    }

    #[test]
    fn an_earlier_wave_of_a_leader_is_not_the_latest() {
        let (one, other) = (7 << COUNTS, 8 << COUNTS);
        let mut latest = Latest::default();
        latest.hear(&[one + 2, one + 1, other + 1]);
        assert!(latest.are(&[one + 2, other + 1, 9 << COUNTS].into()));
        assert!(latest.are(&[one + 3].into()));
        assert!(!latest.are(&[one + 1, other + 1].into()));
    }
}
