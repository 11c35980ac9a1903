//! When all ranks are closing, or sealed, and each waits for another: nobody will ever send what is waited for.
//!
//! A rank *rests* when it is closing or sealed, runs nothing and can run nothing, and all it could post is posted: only a message
//! can make it go on. `activity` counts everything that ends its rest. Resting ranks report to rank 0 how many messages
//! they have sent and received in all. When all have reported and the sums are equal, rank 0 keeps these reports and
//! asks each rank for the same once more (`Confirm`). If all answer what they had reported *then*, with the same
//! activity, nobody did anything between the last report and the first answer and nothing was on its way, so nothing
//! will ever happen (Mattern's four counters): receives whose messages nobody has declared fail first (`undeclared`). Where there are
//! none, rank 0 tells all (`Rested`), and each fails the receives it has posted. Whether a wider window of tags might
//! have helped is said with that, the same on all ranks: which of them hears it first is a matter of chance.
//!
//! Where the sums differ, a message may be there that no receive is posted for (of another key, say), and then it would
//! be on its way for ever. So rank 0 has all ranks take such messages in and keep them (`TakeIn`, see `kept`); this counts
//! as received, ends a long send, and is activity: those ranks report again. What has been kept is there for receives
//! that are posted later.
//!
//! A rank that rests may have requests that end by themselves, and which it has not yet seen end: sends whose messages have been
//! received, and calls of a lane that all ranks have made. Its report tells of them. While there are any, nothing is asked: their ends
//! are activity, and that rank reports again.
//!
//! What this lets go may rest again, and is found again. A newer report does not count for a question already asked: its
//! sums were not compared. A rank that answers otherwise has done something, and is asked again only when it has
//! reported a further rest; else rank 0 would ask without end while that rank runs a long body.

use core::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::control::Control;
use super::engine::{Cancelled, Engine, Finished, Flight};
use super::peers::Peer;
use super::undeclared::Undeclared;
use super::world::{Note, World, life};
use super::worlds;
use crate::run::lowering::Lowering;
use crate::run::runtime::Runtime;

/// How a rank rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) activity: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Messages that are ready wait behind others of their line.
    pub(crate) blocked: bool,
    /// Some of its messages under way end by themselves, once all that was sent has been received.
    pub(crate) ends: bool,
    /// Of the first lanes: how many calls it has made, and the first that is under way, 0 for none.
    pub(crate) lanes: [(u64, u64); LANES],
}

/// Lanes that are reported. On a further one, an end that its rank sees late is not waited for.
pub(crate) const LANES: usize = 16;

/// A wave of questions that is under way.
struct Asked {
    /// The reports that it is about.
    about: HashMap<i32, Rest>,
    answers: HashMap<i32, Option<Rest>>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Resting {
    /// What this rank has last reported.
    pub(super) reported: Option<Rest>,
    /// Rank 0: the latest reports.
    reports: HashMap<i32, Rest>,
    /// Rank 0: the number of the latest wave of questions, and the wave, while it is under way.
    wave: u64,
    asked: Option<Asked>,
    /// This rank takes in and keeps what no receive is posted for, until it posts something again.
    pub(crate) takes_in: bool,
    pub(super) undeclared: Undeclared,
    /// All ranks rest for good, as far as this one has heard.
    pub(crate) over: bool,
}

/// The rank that counts.
pub(super) const COUNTER: i32 = 0;

impl World {
    /// A thread that closes, or waits in a sealed runtime, finds that nothing runs here and nothing can.
    pub(crate) fn rest(&self, runtime: &Runtime) {
        // Read first: whatever happens from here on changes it, and the rest does not count.
        let together = worlds::activity_of_runtime(self) + 1;
        let now = self.activity() + 1;
        let is_quiet = runtime.is_quiescent()
            && !runtime.is_somebody_inside()
            && self.is_flushed()
            && !self.holds_ends();
        // What has started ends only with the others' help, who may wait for this rank in turn.
        let cancels = runtime.graph().cancelling.load(Ordering::SeqCst);
        if is_quiet && cancels && !self.quits.swap(true, Ordering::SeqCst) {
            self.note(Note::Quit);
            runtime.offer_duty();
            return;
        }
        if !is_quiet {
            return;
        }
        let graph = runtime.graph();
        if !graph.sealed.load(Ordering::SeqCst) && !graph.closing.load(Ordering::SeqCst) {
            // The world is detached, and takes nothing new. What has been declared may wait for anything.
            if !self.lines.has_waiting() {
                self.rests_at(now, &self.rested_at, runtime);
            }
            return;
        }
        let is_known = |rest: &AtomicU64, now: u64| rest.load(Ordering::SeqCst) == now;
        if is_known(&self.rested_together, together) && is_known(&self.rested_at, now) {
            return;
        }
        // Nothing that comes from elsewhere than a world: a kernel's end, a limit of time, a hold that somebody outside takes
        // off. None of these begins again before a message comes.
        let is_world = |lowering: &dyn Lowering| (lowering as &dyn Any).is::<Self>();
        if runtime.blocked.any_limited()
            || runtime.somebody_holds()
            || runtime.others_may_bring(self, |other| !is_world(other))
        {
            return;
        }
        let others = worlds::others_of_runtime(self);
        let is_quiet = |world: &Arc<Self>| world.is_flushed() && !world.holds_ends();
        if others.iter().all(is_quiet) {
            self.rests_at(together, &self.rested_together, runtime);
        }
        if !runtime.others_may_bring(self, is_world) {
            self.rests_at(now, &self.rested_at, runtime);
        }
    }

    fn rests_at(&self, now: u64, rest: &AtomicU64, runtime: &Runtime) {
        if rest.swap(now, Ordering::SeqCst) != now {
            self.stir(runtime);
        }
    }

    /// Something has happened here.
    pub(crate) fn is_active(&self) {
        self.activity.fetch_add(1, Ordering::SeqCst);
    }

    /// As `is_active`, under the engine's lock: in a counter of its own, for which that lock is enough. Who reads it without the
    /// lock may miss the latest; what is reported is read under the lock, and differs then.
    pub(crate) fn pass_is_active(&self, _engine: &Engine) {
        let counted = self.pass_activity.load(Ordering::Relaxed);
        self.pass_activity.store(counted + 1, Ordering::Release);
    }

    /// What both have counted. Neither goes back, so an equal sum means that nothing was counted in between.
    pub(crate) fn activity(&self) -> u64 {
        self.activity.load(Ordering::SeqCst) + self.pass_activity.load(Ordering::SeqCst)
    }
}

impl Resting {
    /// Whether something ends by itself on a rank, as all have reported.
    fn expects_an_end(&self) -> bool {
        let reports = || self.reports.values();
        let ends_on = |lane: usize| {
            let all_made = reports().map(|rest| rest.lanes[lane].0).min().unwrap_or(0);
            reports().any(|rest| (1..=all_made).contains(&rest.lanes[lane].1))
        };
        reports().any(|rest| rest.ends) || (0..LANES).any(ends_on)
    }

    /// Whether all have answered what they were asked about. Reports that have been used up are forgotten.
    fn judge(&mut self, asked: &Asked) -> bool {
        let stays = |rank: &i32| {
            asked.answers.get(rank).copied().flatten() == asked.about.get(rank).copied()
        };
        let all = asked.about.keys().all(stays);
        self.reports
            .retain(|rank, report| asked.about.get(rank) != Some(report) || (!all && stays(rank)));
        all
    }
}

impl Engine {
    /// Whether answers are waited for.
    pub(crate) fn asks(&self) -> bool {
        let asked = self.resting.asked.as_ref();
        let undeclared = &self.resting.undeclared;
        undeclared.awaits(|rank| !self.peers[rank].lost)
            || asked.is_some_and(|asked| {
                let silent =
                    |(rank, peer): (i32, &Peer)| !peer.lost && !asked.answers.contains_key(&rank);
                let fewest = self.peers.size() as usize - self.peers.lost();
                asked.answers.len() < fewest || self.peers.iter().any(silent)
            })
    }

    /// Whether this rank goes on when another one has said what it has to say.
    pub(super) fn expects_words(&self) -> bool {
        self.has_suspects()
            || self.has_unexplained()
            || self.verify.waits()
            || self.kept.is_waited_for()
    }

    /// Whether receives that were given up are still to end.
    fn has_cancelled(&self) -> bool {
        let is_cancelled = |slot: &i32| {
            let flight = self.flights[*slot as usize].as_ref();
            let why = |flight: &Flight| match flight {
                Flight::Message { cancelled, .. } => *cancelled,
                _ => None,
            };
            flight.and_then(why).is_some()
        };
        self.order.iter().any(is_cancelled)
    }

    /// How this rank rests, if it does.
    pub(super) fn own_rest(&self, world: &World) -> Option<Rest> {
        let activity = world.activity();
        let ending = world.life.load(Ordering::SeqCst) != life::OPEN && world.live() == 0;
        let rests = ending
            || (world.rested_at.load(Ordering::SeqCst) == activity + 1 && !self.expects_words());
        let (sent, received) = self.peers.totals();
        let same =
            |rest: &Rest| (rest.activity, rest.sent, rest.received) == (activity, sent, received);
        rests.then(|| match self.resting.reported.filter(same) {
            // Asked for in each pass: the lines are not walked again.
            Some(known) => known,
            None => Rest {
                activity,
                sent,
                received,
                blocked: world.lines.has_blocked(),
                ends: self.ends != 0 || self.has_cancelled(),
                lanes: self.calls_made(),
            },
        })
    }

    /// In a pass of a world that closes: reports a rest that has not been.
    pub(crate) fn report_rest(&mut self, world: &World) {
        if self.said_fin {
            return;
        }
        let Some(rest) = self.own_rest(world) else {
            return;
        };
        if self.resting.reported != Some(rest) {
            self.resting.reported = Some(rest);
            self.tell(
                COUNTER,
                &Control::Rest {
                    wave: 0,
                    rest: Some(rest),
                },
            );
        }
    }

    /// Rank 0 asks.
    pub(crate) fn confirm_rest(&mut self, world: &World, wave: u64) {
        let rest = self.own_rest(world);
        self.tell(COUNTER, &Control::Rest { wave, rest });
    }

    /// A rank reports or answers, to rank 0.
    pub(crate) fn rest_told(&mut self, source: i32, wave: u64, rest: Option<Rest>) {
        let resting = &mut self.resting;
        match (wave, rest) {
            (0, Some(rest)) => {
                resting.reports.insert(source, rest);
            }
            (wave, rest) if wave == resting.wave => {
                if let Some(asked) = &mut resting.asked {
                    asked.answers.insert(source, rest);
                }
            }
            _ => return,
        }
        self.count_rests();
    }

    pub(super) fn count_rests(&mut self) {
        if self.asks() {
            return;
        }
        let size = self.peers.size() as usize;
        let resting = &mut self.resting;
        if let Some(asked) = resting.asked.take()
            && resting.judge(&asked)
        {
            let by_tags = asked.about.values().any(|rest| rest.blocked);
            return self.begin_asking(by_tags);
        }
        // Where all have left, the end takes its way. After that question no further one may come.
        let all_left = self.peers.have_all_left();
        let resting = &mut self.resting;
        if resting.reports.len() < size || all_left || self.said_fin {
            return;
        }
        let (sent, received) = resting
            .reports
            .values()
            .fold((0, 0), |(sent, received), rest| {
                (sent + rest.sent, received + rest.received)
            });
        // Unequal: something is on its way, or there already and no receive is posted for it. Who takes it in reports again.
        if sent != received {
            self.tell_every(&Control::TakeIn);
        } else if !resting.expects_an_end() {
            resting.wave += 1;
            resting.asked = Some(Asked {
                about: resting.reports.clone(),
                answers: HashMap::new(),
            });
            let wave = resting.wave;
            self.tell_every(&Control::Confirm { wave });
        }
    }

    /// All ranks rest for good.
    pub(crate) fn all_rest(&mut self, world: &World, by_tags: bool, finished: &mut Finished) {
        self.resting.over = true;
        self.resting.takes_in = false;
        self.cancel_receives(None, Cancelled::Rest { by_tags });
        self.call_all(world, finished);
    }

    /// Tells all ranks, this one too.
    pub(crate) fn tell_every(&mut self, control: &Control) {
        for rank in 0..self.peers.size() {
            self.tell(rank, control);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn rest(activity: u64, sent: u64, received: u64) -> Rest {
        Rest {
            activity,
            sent,
            received,
            blocked: false,
            ends: false,
            lanes: [(0, 0); LANES],
        }
    }

    fn asked(about: &[Rest], answers: &[Option<Rest>]) -> Asked {
        Asked {
            about: (0..).zip(about.iter().copied()).collect(),
            answers: (0..).zip(answers.iter().copied()).collect(),
        }
    }

    fn judged(asked: &Asked, reports: &[Rest]) -> (bool, Vec<i32>) {
        let mut resting = Resting {
            reports: (0..).zip(reports.iter().copied()).collect(),
            ..Resting::default()
        };
        let all = resting.judge(asked);
        let mut left: Vec<i32> = resting.reports.into_keys().collect();
        left.sort_unstable();
        (all, left)
    }

    #[test]
    fn all_rest_where_each_answers_what_it_was_asked_about() {
        let about = [rest(3, 1, 0), rest(5, 0, 1)];
        let asked = asked(&about, &about.map(Some));
        assert_eq!(judged(&asked, &about), (true, Vec::new()));
    }

    #[test]
    fn an_end_is_expected_of_sends_and_of_calls_that_all_have_made() {
        let expects = |reports: [Rest; 2]| {
            let resting = Resting {
                reports: (0..).zip(reports).collect(),
                ..Resting::default()
            };
            resting.expects_an_end()
        };
        let plain = rest(1, 0, 0);
        let in_lane = |made: u64, waits: u64| Rest {
            lanes: core::array::from_fn(|lane| if lane == 1 { (made, waits) } else { (0, 0) }),
            ..plain
        };
        assert!(!expects([plain, plain]));
        assert!(expects([
            plain,
            Rest {
                ends: true,
                ..plain
            }
        ]));
        assert!(
            !expects([in_lane(2, 0), in_lane(3, 3)]),
            "not made by the first"
        );
        assert!(expects([in_lane(3, 0), in_lane(3, 3)]));
        assert!(
            expects([in_lane(2, 2), in_lane(3, 3)]),
            "the second call ends"
        );
    }

    #[test]
    fn a_newer_report_does_not_confirm_an_older_one() {
        // Rank 0 has sent one more since, which is on its way to rank 1; it has reported that before it answered.
        let about = [rest(3, 1, 0), rest(5, 0, 1)];
        let newer = rest(4, 2, 0);
        let asked = asked(&about, &[Some(newer), Some(about[1])]);
        assert_eq!(judged(&asked, &[newer, about[1]]), (false, vec![0, 1]));
    }

    #[test]
    fn a_rank_that_rests_no_more_must_report_again() {
        let about = [rest(3, 1, 0), rest(5, 0, 1)];
        let asked = asked(&about, &[None, Some(about[1])]);
        assert_eq!(judged(&asked, &about), (false, vec![1]));
    }
}
