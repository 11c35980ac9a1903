//! When all ranks rest: receives whose messages nobody has declared fail first.
//!
//! Of receives that wait for ever many may only wait because of others: what is sent after one that fails may come then. So when rank 0
//! finds that all rest (`rest`), it has each rank ask those it waits for (`Asks`) on which wires they have declared messages for
//! it. These are spared, the others fail, and all goes on from there. Each rank tells rank 0 whether anything has ended
//! (`Asked`). Where nothing has, on no rank, they wait for each other, and all fail (`Rested`).
//!
//! Who has gone on in the meantime, or has sent something that is still on its way, spares everything: it rests again, and is
//! asked again.

use std::collections::{HashMap, HashSet};

use super::control::{Control, MOST_WIRES, Wire, gather, in_parts};
use super::engine::{Cancelled, Engine, Flight};
use super::rest::COUNTER;
use super::world::World;

/// See the module's text.
#[derive(Default)]
pub(super) struct Undeclared {
    /// Ranks that have not answered this one.
    unanswered: HashSet<i32>,
    any: bool,
    /// Of an answer whose last part has not come: by who gives it.
    spared: HashMap<i32, HashSet<Wire>>,
    /// Rank 0: ranks that have not told whether anything has ended; whether on any something has; and whether a
    /// wider window of tags might have helped.
    untold: HashSet<i32>,
    any_told: bool,
    by_tags: bool,
}

impl Undeclared {
    /// Whether words of one of these ranks are waited for. Until then nobody leaves: who is asked hears it before the other's Bye.
    pub(super) fn awaits(&self, of: impl Fn(i32) -> bool) -> bool {
        let mut ranks = self.unanswered.iter().chain(&self.untold);
        ranks.any(|rank| of(*rank))
    }
}

impl Engine {
    /// Rank 0: all rest.
    pub(super) fn begin_asking(&mut self, by_tags: bool) {
        let undeclared = &mut self.resting.undeclared;
        undeclared.untold = (0..self.peers.size()).collect();
        undeclared.any_told = false;
        undeclared.by_tags = by_tags;
        self.tell_every(&Control::Ask);
    }

    /// Asks whom this rank waits for.
    pub(crate) fn ask_awaited(&mut self) {
        // If it rests on, rank 0 is to know.
        self.resting.reported = None;
        let awaited =
            self.order
                .iter()
                .filter_map(|slot| match self.flights[*slot as usize].as_ref()? {
                    Flight::Message { exchange, .. } => {
                        let message = exchange.message().filter(|message| !message.send)?;
                        Some(message.peer)
                    }
                    Flight::Owed { peer, receive, .. } => receive.then_some(*peer),
                    _ => None,
                });
        let awaited: HashSet<i32> = awaited.filter(|peer| !self.peers[*peer].lost).collect();
        self.resting.undeclared.any = false;
        self.resting.undeclared.unanswered.clone_from(&awaited);
        for peer in awaited {
            self.tell(peer, &Control::Asks);
        }
        self.tell_asked();
    }

    /// Another rank waits for this one.
    pub(crate) fn answer_asked(&mut self, world: &World, source: i32) {
        let rests = self.own_rest(world).is_some();
        let sent = self.peers[source].sent;
        let declared = world.lines.unposted_sends();
        let of_source = declared.iter().filter(|(peer, _)| *peer == source);
        let wires: Vec<Wire> = of_source.map(|(_, wire)| *wire).collect();
        for (part, last) in in_parts(&wires, MOST_WIRES) {
            let answer = Control::Answers {
                rests,
                sent,
                wires: part.to_vec(),
                last,
            };
            self.tell(source, &answer);
        }
    }

    pub(crate) fn asked_answered(
        &mut self,
        world: &World,
        source: i32,
        (rests, sent): (bool, u64),
        wires: Vec<Wire>,
        last: bool,
    ) {
        let undeclared = &mut self.resting.undeclared;
        let spared: Option<HashSet<Wire>> = gather(&mut undeclared.spared, source, wires, last);
        let Some(spared) = spared.filter(|_| undeclared.unanswered.remove(&source)) else {
            return;
        };
        let goes_on = !rests || sent != self.peers[source].received;
        let why = Cancelled::Rest { by_tags: false };
        let cuts = !goes_on && self.cancel_receives_but(Some(source), why, &spared);
        if cuts {
            // What this rank has reported is not how it rests any more: the cancelled ones end.
            world.pass_is_active(self);
        }
        self.resting.undeclared.any |= goes_on || cuts;
        self.tell_asked();
    }

    /// All have answered. It is told after the last word too: rank 0 listens, and has not said its own.
    fn tell_asked(&mut self) {
        let undeclared = &self.resting.undeclared;
        if undeclared.unanswered.is_empty() {
            let any = undeclared.any;
            self.tell(COUNTER, &Control::Asked { any });
        }
    }

    /// Rank 0 hears it.
    pub(crate) fn asked_told(&mut self, source: i32, any: bool) {
        let undeclared = &mut self.resting.undeclared;
        undeclared.any_told |= any;
        if !undeclared.untold.remove(&source) || !undeclared.untold.is_empty() {
            return;
        }
        let by_tags = undeclared.by_tags;
        match undeclared.any_told {
            true => self.count_rests(),
            false => self.tell_every(&Control::Rested { by_tags }),
        }
    }
}
