//! When all ranks are closing, or sealed, and each waits for another: nobody will ever send what is waited for.
//!
//! A rank *rests* when it is closing or sealed, runs nothing and can run nothing, and all it could post is posted: only a message
//! can make it go on. `activity` counts everything that ends its rest. Resting ranks report to rank 0 how many messages
//! they have sent and received in all. When all have reported and the sums are equal, rank 0 asks each for the same
//! once more (`Confirm`). If all still rest with the same activity, then between the last report and the first
//! answer nobody did anything and nothing was on its way, so nothing will ever happen (Mattern's four counters): rank 0
//! tells all (`Rested`), and each fails the receives it has posted. What this lets go may rest again, and is found again.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::control::Control;
use super::engine::Engine;
use super::world::{World, life};
use crate::run::runtime::Runtime;

/// How a rank rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) activity: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Resting {
    /// What this rank has last reported.
    reported: Option<Rest>,
    /// Rank 0: the latest reports.
    reports: HashMap<i32, Rest>,
    /// Rank 0: the number of the wave of questions, and the answers to it; None: none is under way.
    wave: u64,
    answers: Option<HashMap<i32, Option<Rest>>>,
    /// All ranks rest for good, as far as this one has heard.
    pub(crate) over: bool,
    /// Then messages of this rank waited for others that share their tags.
    pub(crate) by_tags: bool,
}

/// The rank that counts.
const COUNTER: i32 = 0;

impl World {
    /// A thread that closes, or waits in a sealed runtime, finds that nothing runs here and nothing can.
    pub(crate) fn rest(&self, runtime: &Runtime) {
        // Read first: whatever happens from here on changes it, and the rest does not count.
        let now = self.activity.load(Ordering::SeqCst) + 1;
        let rests = runtime.is_quiescent()
            && !runtime.is_somebody_inside()
            && self.is_flushed()
            && !self.holds_ends();
        if rests && self.rested_at.swap(now, Ordering::SeqCst) != now {
            self.stir(runtime);
        }
    }

    /// Something has happened here.
    pub(crate) fn is_active(&self) {
        self.activity.fetch_add(1, Ordering::SeqCst);
    }
}

impl Resting {
    /// Whether answers are waited for.
    pub(crate) fn asks(&self) -> bool {
        self.answers.is_some()
    }
}

impl Engine {
    /// How this rank rests, if it does.
    fn own_rest(&self, world: &World) -> Option<Rest> {
        let activity = world.activity.load(Ordering::SeqCst);
        let ending = world.life.load(Ordering::SeqCst) != life::OPEN && world.live() == 0;
        let rests = ending || world.rested_at.load(Ordering::SeqCst) == activity + 1;
        rests.then(|| Rest {
            activity,
            sent: self.peers.iter().map(|peer| peer.sent).sum(),
            received: self.peers.iter().map(|peer| peer.received).sum(),
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
                if let Some(answers) = &mut resting.answers {
                    answers.insert(source, rest);
                }
            }
            _ => return,
        }
        self.count_rests();
    }

    fn count_rests(&mut self) {
        let size = self.peers.len();
        let resting = &mut self.resting;
        if let Some(answers) = &resting.answers {
            if answers.len() < size {
                return;
            }
            let same = answers
                .iter()
                .all(|(rank, rest)| rest.is_some() && *rest == resting.reports.get(rank).copied());
            resting.answers = None;
            // A rank that did something will report again; the present reports have been used up.
            if same {
                resting.reports.clear();
                self.tell_every(&Control::Rested);
                return;
            }
        }
        // Where all have left, the end takes its way. After that question no further one may come.
        let all_left = self.peers.iter().all(|peer| peer.bye.is_some());
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
        // Unequal: something is on its way, and who receives it reports again.
        if sent == received {
            resting.wave += 1;
            resting.answers = Some(HashMap::new());
            let wave = resting.wave;
            self.tell_every(&Control::Confirm { wave });
        }
    }

    /// All ranks rest for good.
    pub(crate) fn all_rest(&mut self, world: &World) {
        self.resting.over = true;
        self.resting.by_tags |= world.lines.has_blocked();
        for slot in self.receives_from(None) {
            self.requests.cancel(slot);
        }
        self.call_to_agreements(world);
    }

    /// Tells all ranks, this one too.
    pub(crate) fn tell_every(&mut self, control: &Control) {
        for rank in 0..self.peers.len() as i32 {
            self.tell(rank, control);
        }
    }
}
