//! Which requests there are, and which of them a pass tests.
//!
//! `flights` holds what is known of each request, by slot; `order` lists the slots in use, so that a pass can test some
//! of them without walking the rest. A pass tests all when there are few, in the order of posting; else the newest, which is
//! what somebody waits for in a ping-pong, and a window that moves on with each pass. Its cost does not depend on how many
//! there are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::control::Wire;
use super::engine::Engine;
use super::exchange::Exchange;

/// Bytes of a message that is moved by more than a few looks.
const IN_PARTS: u64 = 128 << 10;

/// How long a look takes at least, and at most, in which MPI was at work; what takes longer has lost its core.
const AT_WORK: Duration = Duration::from_micros(3);
const AWAY: Duration = Duration::from_micros(500);

/// Requests a pass tests where there are more.
const WINDOW: usize = 64;
/// Of these, the newest.
const NEWEST: usize = 8;

/// What a request is for.
pub(crate) enum Flight {
    /// A message of the graph.
    Message {
        exchange: Arc<Exchange>,
        /// In verify mode, its number on its wire.
        sequence: u64,
        /// Why it was cancelled, once it was.
        cancelled: Option<Cancelled>,
        /// It was taken in before (`kept`), and counted then.
        kept: bool,
        /// Memory of a receive of nothing, which has room for a poison.
        #[allow(dead_code)] // written by MPI
        memory: Vec<u8>,
    },
    /// A poison, or a receive into scratch memory, which is kept here.
    Owed {
        peer: i32,
        receive: bool,
        wire: super::control::Wire,
        expected: u64,
        sequence: u64,
        #[allow(dead_code)] // read and written by MPI
        memory: Vec<u8>,
    },
    /// A message that nobody declared a receive for, on its way to nowhere.
    Sunk {
        peer: i32,
        wire: super::control::Wire,
        memory: Vec<u8>,
    },
    /// A message that was taken in, on its way to its receive.
    Handed {
        #[allow(dead_code)] // read by MPI
        memory: Vec<u8>,
    },
    /// A control message of ours.
    Control {
        peer: i32,
        #[allow(dead_code)] // read by MPI
        bytes: Vec<u8>,
    },
    ControlReceive,
    /// The agreement on whether the head of this lane is entered.
    Guard(u32),
    /// The counts of each rank of the head of this lane, which do not all fit.
    Counts(u32),
    Collective(Arc<Exchange>),
}

impl Flight {
    /// Whether it is the receive of a message that some rank sends for the graph.
    pub(crate) fn is_receive(&self) -> bool {
        match self {
            Self::Message { exchange, .. } => {
                exchange.message().is_some_and(|message| !message.send)
            }
            Self::Owed { receive, .. } => *receive,
            _ => false,
        }
    }

    /// Whether it ends although nothing more is sent, if all that was sent has been received.
    pub(crate) fn ends_by_itself(&self) -> bool {
        match self {
            Self::Message { exchange, kept, .. } => {
                *kept || exchange.message().is_some_and(|message| message.send)
            }
            Self::Owed { receive, .. } => !receive,
            Self::Sunk { .. } | Self::Handed { .. } => true,
            _ => false,
        }
    }

    /// Whether an MPI may move it in parts, a few in each look.
    fn may_come_in_parts(&self) -> bool {
        let bytes = match self {
            Self::Message { exchange, .. } => exchange.message().map_or(0, |m| m.layout.bytes),
            Self::Sunk { memory, .. } | Self::Handed { memory } => memory.len() as u64,
            _ => 0,
        };
        bytes > IN_PARTS
    }

    /// Whether it is a word between worlds, which ends no rest.
    pub(super) fn is_control(&self) -> bool {
        matches!(self, Self::Control { .. } | Self::ControlReceive)
    }
}

/// Why a receive was cancelled. Kept from that moment on: what is known of the other rank when it ends may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// The world has failed.
    Failed,
    /// The other rank has left, and all that it sent has come.
    Left,
    /// This rank closes and cancels.
    Quit,
    /// The other rank closes, and what it waits for waits, by way of other ranks, for it.
    Never,
    /// All ranks rest. `by_tags`: messages of some rank waited for others that share their tags.
    Rest { by_tags: bool },
}

/// What happened to a receive on its way.
#[derive(Clone, Copy)]
pub(crate) struct Fate {
    pub(crate) cancelled: Option<Cancelled>,
    pub(crate) kept: bool,
}

/// How long looks take that end nothing.
pub(crate) struct Looks {
    /// The shortest of late.
    quickest: Duration,
}

impl Default for Looks {
    fn default() -> Self {
        Self { quickest: AWAY }
    }
}

impl Looks {
    /// Whether MPI has moved something in a look that took so long and ended nothing. Where it copies a large message through
    /// shared memory or a socket, it does so in parts, in looks of either rank, and says nothing of it; but such a look
    /// takes longer than one that finds nothing. Who paused between them would have the message at a fraction of its speed.
    pub(crate) fn was_at_work(&mut self, took: Duration) -> bool {
        // Forgotten slowly: what was once the shortest may have been so by chance.
        let more = self.quickest / 1024 + Duration::from_nanos(1);
        self.quickest = took.min(self.quickest + more);
        took > AT_WORK && took > 4 * self.quickest && took < AWAY
    }
}

impl Engine {
    /// Notes what a slot is for.
    pub(crate) fn enter(&mut self, slot: i32, flight: Flight) {
        let index = slot as usize;
        if self.flights.len() <= index {
            self.flights.resize_with(index + 1, || None);
            self.position.resize(index + 1, 0);
        }
        if matches!(flight, Flight::ControlReceive) {
            self.control_slot = slot;
        } else {
            self.order.push(slot);
            // Positions are kept of many only.
            let first = match self.order.len() {
                ..=WINDOW => self.order.len(),
                length if length == WINDOW + 1 => 0,
                length => length - 1,
            };
            for (position, slot) in self.order.iter().enumerate().skip(first) {
                self.position[*slot as usize] = position as u32;
            }
        }
        self.receives += usize::from(flight.is_receive());
        self.ends += usize::from(flight.ends_by_itself());
        self.in_parts += usize::from(flight.may_come_in_parts());
        self.flights[index] = Some(flight);
    }

    pub(crate) fn take(&mut self, slot: i32) -> Option<Flight> {
        let flight = self.flights.get_mut(slot as usize)?.take()?;
        self.receives -= usize::from(flight.is_receive());
        self.ends -= usize::from(flight.ends_by_itself());
        self.in_parts -= usize::from(flight.may_come_in_parts());
        if matches!(flight, Flight::ControlReceive) {
            self.control_slot = -1;
        } else {
            self.leave_order(slot);
        }
        Some(flight)
    }

    /// Few stay in the order in which they were posted, which is much the order in which they end: so the one that ends is
    /// found at once, and a plug-in may go on behind the last that has ended.
    fn leave_order(&mut self, slot: i32) {
        if self.order.len() > WINDOW {
            let position = self.position[slot as usize] as usize;
            self.order.swap_remove(position);
            if let Some(moved) = self.order.get(position) {
                self.position[*moved as usize] = position as u32;
            }
        } else if let Some(position) = self.order.iter().position(|other| *other == slot) {
            self.order.remove(position);
        }
    }

    /// Cancels the posted receives of a peer (of all, for None). They are still to end, each in its own time.
    pub(crate) fn cancel_receives(&mut self, peer: Option<i32>, why: Cancelled) {
        self.cancel_receives_but(peer, why, &HashSet::new());
    }

    /// As `cancel_receives`, but for those on some wires. Returns whether there were any.
    pub(crate) fn cancel_receives_but(
        &mut self,
        peer: Option<i32>,
        why: Cancelled,
        spared: &HashSet<Wire>,
    ) -> bool {
        // Each of a thousand ranks that leave comes by here, and each of as many requests may be a word to one of them.
        if self.receives == 0 {
            return false;
        }
        let mut any = false;
        let of = |other: i32| peer.is_none_or(|peer| peer == other);
        for at in 0..self.order.len() {
            let slot = self.order[at];
            let found = match &mut self.flights[slot as usize] {
                Some(Flight::Message {
                    exchange,
                    cancelled,
                    kept: false, // what was kept for a receive comes
                    ..
                }) => {
                    let receives = exchange.message().is_some_and(|message| {
                        !message.send && of(message.peer) && !spared.contains(&message.wire)
                    });
                    receives && cancelled.replace(cancelled.unwrap_or(why)).is_none()
                }
                Some(Flight::Owed {
                    peer,
                    receive,
                    wire,
                    ..
                }) => *receive && of(*peer) && !spared.contains(wire),
                _ => false,
            };
            if found {
                any = true;
                self.requests.cancel(slot);
            }
        }
        any
    }

    /// Receives into scratch memory that have not ended, by peer.
    pub(crate) fn owed_receives(&self) -> HashMap<i32, u64> {
        let mut owed = HashMap::new();
        // What is under way may be a word to each of a thousand ranks.
        let flights = self.order.iter().map(|slot| &self.flights[*slot as usize]);
        for flight in flights.take_while(|_| self.receives != 0) {
            if let Some(Flight::Owed {
                peer,
                receive: true,
                ..
            }) = flight
            {
                *owed.entry(*peer).or_default() += 1;
            }
        }
        owed
    }

    pub(crate) fn choose(&mut self, chosen: &mut Vec<i32>) {
        chosen.clear();
        if self.control_slot >= 0 {
            chosen.push(self.control_slot);
        }
        let length = self.order.len();
        if length <= WINDOW {
            chosen.extend_from_slice(&self.order);
            return;
        }
        let old = length - NEWEST;
        chosen.extend_from_slice(&self.order[old..]);
        let first = self.cursor % old;
        let until = (first + WINDOW - NEWEST).min(old);
        chosen.extend_from_slice(&self.order[first..until]);
        self.cursor = if until == old { 0 } else { until };
    }

    /// Some of what is posted for the graph, in words.
    pub(crate) fn posted(&self, most: usize) -> Vec<String> {
        let flights = self.order.iter().map(|slot| &self.flights[*slot as usize]);
        let titles = flights.filter_map(|flight| match flight {
            Some(Flight::Message { exchange, .. } | Flight::Collective(exchange)) => {
                Some(exchange.title())
            }
            _ => None,
        });
        titles.take(most).collect()
    }

    /// Forgets all requests, and gives the exchanges they were for.
    pub(crate) fn abandon_flights(&mut self) -> Vec<Arc<Exchange>> {
        self.order.clear();
        self.receives = 0;
        self.ends = 0;
        self.in_parts = 0;
        self.control_slot = -1;
        // Memory that MPI might still touch is given up, not freed.
        self.flights
            .drain(..)
            .flatten()
            .filter_map(|flight| match flight {
                Flight::Message {
                    exchange, memory, ..
                } => {
                    core::mem::forget(memory);
                    Some(exchange)
                }
                Flight::Collective(exchange) => Some(exchange),
                other => {
                    core::mem::forget(other);
                    None
                }
            })
            .chain(self.lanes.iter_mut().flat_map(|lane| lane.forget()))
            .collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn micros(times: &[u64]) -> Vec<bool> {
        let mut looks = Looks::default();
        let told = |time: &u64| looks.was_at_work(Duration::from_micros(*time));
        times.iter().map(told).collect()
    }

    #[test]
    fn a_look_that_takes_much_longer_than_one_that_finds_nothing_was_work() {
        assert_eq!(micros(&[1, 20, 1, 499]), [false, true, false, true]);
    }

    #[test]
    fn looks_that_are_always_slow_were_none() {
        assert_eq!(micros(&[20, 25, 60]), [false; 3]);
    }

    #[test]
    fn a_look_without_a_core_was_none() {
        assert_eq!(micros(&[1, 600, 5000]), [false; 3]);
    }

    #[test]
    fn a_look_that_was_quick_by_chance_is_forgotten() {
        let mut looks = Looks::default();
        looks.was_at_work(Duration::from_nanos(100));
        let mut slow = || looks.was_at_work(Duration::from_micros(10));
        assert!(slow());
        assert!((0..10_000).any(|_| !slow()));
    }
}
