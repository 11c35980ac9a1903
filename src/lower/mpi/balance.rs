//! Communication stays balanced when something fails: every declared message is sent and received, whatever became of
//! the work around it.
//!
//! - A send whose input failed sends a *poison*: a message of a length that the receiver does not expect, 0 bytes, or 1
//!   byte where 0 were expected. The record of the failure goes ahead of it as a control message.
//! - A receive whose predecessor failed receives into scratch memory.
//!
//! The k-th poison of a wire belongs to the k-th record of that wire, and a record is sent before its poison, but on
//! another communicator: either may be seen first. A message that looks like a poison and has no record yet may also be
//! a disagreement about its size. So the receiver asks (`Query`); control messages of a pair of ranks keep their order,
//! and thus no record can come after the `Answer`: then it was none.

use std::collections::HashMap;
use std::sync::Arc;

use super::calls::{Address, Elements};
use super::control::{Control, Record, Wire};
use super::engine::{Cancelled, Engine, Fate, Finished, Flight, How, PerWire, closed, gone};
use super::exchange::{Exchange, Message, stage};
use super::quit::quits;
use super::table::*;
use super::world::World;
use crate::abi::status::{NORN_E_MISMATCH, NORN_E_MPI, NORN_E_TAGS};

/// A message that looks like a poison and whose record has not come. None: nobody wants to know.
struct Suspect {
    exchange: Option<Arc<Exchange>>,
    /// Number of the query about it.
    query: u64,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Balance {
    records: PerWire<Record>,
    suspects: PerWire<Suspect>,
    /// Queries asked and answered.
    queries: HashMap<(i32, Wire), (u64, u64)>,
}

pub(crate) fn looks_like_poison(bytes: i64, expected: u64) -> bool {
    bytes == i64::from(expected == 0)
}

impl Engine {
    /// Posts what the other rank counts on, in place of a message that will not be.
    pub(crate) fn owe(&mut self, message: &Message, record: &Record) {
        let expected = message.layout.bytes;
        let address = Address {
            peer: message.peer,
            tag: message.wire.tag,
            comm: self.message_lanes[message.wire.lane as usize],
        };
        let sequence = self.next_sequence(message);
        let length = match (message.send, expected) {
            (true, 0) => 1,
            (true, _) => 0,
            (false, bytes) => bytes.max(1),
        };
        let mut memory = vec![0u8; length as usize];
        let what = Elements {
            address: memory.as_mut_ptr() as usize,
            count: length,
            datatype: self.byte,
        };
        if message.send {
            self.tell(message.peer, &Control::Poison(message.wire, record.clone()));
            self.peers.sent_to(message.peer);
        }
        // SAFETY: the memory is on the heap and kept in the flight until the request is over.
        let posted = unsafe {
            if message.send {
                self.requests.send(what, address)
            } else {
                self.requests.receive(what, address)
            }
        };
        match posted {
            Ok(slot) => self.enter(
                slot,
                Flight::Owed {
                    peer: message.peer,
                    receive: !message.send,
                    wire: message.wire,
                    expected,
                    sequence,
                    memory,
                },
            ),
            Err(_) => self.peers.is_lost(message.peer),
        }
    }

    /// A message of the graph has been sent or received.
    pub(crate) fn message_ended(
        &mut self,
        world: &World,
        exchange: Arc<Exchange>,
        sequence: u64,
        fate: Fate,
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        let Some(message) = exchange.message() else {
            return;
        };
        let (peer, wire, expected) = (message.peer, message.wire, message.layout.bytes);
        let failed = |engine: &Self| {
            let call = if message.send {
                "MPI_Isend"
            } else {
                "MPI_Irecv"
            };
            How::Failed {
                status: NORN_E_MPI,
                code: done.error,
                operation: call,
                text: engine.calls().describe(super::calls::Failed {
                    call,
                    code: done.error,
                }),
            }
        };
        if message.send {
            let how = match (done.outcome, &self.failed) {
                (NORN_MPI_DONE, None) => How::Success,
                (NORN_MPI_DONE, Some(record)) => How::Remote(record.clone()),
                _ => failed(self),
            };
            finish(exchange, how, finished);
            return;
        }
        if done.outcome != NORN_MPI_CANCELLED && !fate.kept {
            self.peers.received_from(peer);
        }
        // MPI may have matched what was cancelled all the same, and not with its own message: one that came when an
        // earlier receive of its wire was cancelled already went to the next.
        let outcome = match fate.cancelled {
            Some(_) => NORN_MPI_CANCELLED,
            None => done.outcome,
        };
        let how = match outcome {
            NORN_MPI_DONE if looks_like_poison(done.bytes, expected) => {
                self.suspect(peer, wire, Some(exchange), finished);
                self.check_bye(peer);
                return;
            }
            NORN_MPI_DONE => {
                let as_said = done.bytes == NORN_MPI_UNDEFINED || done.bytes as u64 == expected;
                match self.verify_received(&exchange, sequence, done.bytes, as_said) {
                    Some(how) => how,
                    None => {
                        self.check_bye(peer);
                        return;
                    }
                }
            }
            NORN_MPI_TRUNCATED => match self.verify_received(&exchange, sequence, -1, false) {
                Some(how) => how,
                None => {
                    self.check_bye(peer);
                    return;
                }
            },
            NORN_MPI_CANCELLED => match fate.cancelled {
                Some(Cancelled::Failed) => How::Remote(self.failed.clone().unwrap_or_default()),
                Some(Cancelled::Rest { by_tags: true }) => How::Failed {
                    status: NORN_E_TAGS,
                    code: 0,
                    operation: "close",
                    text: format!(
                        "all ranks wait for each other, rank {peer} cannot send what is waited for, and messages that are ready wait behind others that share their tag: a larger NORN_TAG_LIMIT (norn_world_config.tag_limit) widens the window"
                    ),
                },
                Some(Cancelled::Rest { by_tags: false }) => closed(format!(
                    "all ranks are closing, and rank {peer} does not send what is waited for"
                )),
                Some(Cancelled::Never) => closed(format!(
                    "rank {peer} closes or is sealed, and waits itself for a message that is sent only after what is received here"
                )),
                Some(Cancelled::Quit) => quits(world.rank),
                Some(Cancelled::Left) | None => gone(message),
            },
            _ => failed(self),
        };
        let _ = world;
        finish(exchange, how, finished);
        self.check_bye(peer);
    }

    /// A receive into scratch memory has ended.
    pub(crate) fn scratch_ended(
        &mut self,
        peer: i32,
        wire: Wire,
        expected: u64,
        sequence: u64,
        done: &norn_mpi_done,
    ) {
        if done.outcome == NORN_MPI_CANCELLED {
            return;
        }
        self.peers.received_from(peer);
        if self.peers[peer].quit {
            // As in `message_ended`: it may be another message's, and nobody wants to know.
            return;
        }
        if done.outcome == NORN_MPI_DONE && looks_like_poison(done.bytes, expected) {
            self.suspect(peer, wire, None, &mut Finished::new());
        } else {
            self.forget_identity(peer, wire, sequence);
        }
    }

    /// A message looks like a poison.
    pub(crate) fn suspect(
        &mut self,
        peer: i32,
        wire: Wire,
        exchange: Option<Arc<Exchange>>,
        finished: &mut Finished,
    ) {
        if let Some(record) = take_first(&mut self.balance.records, (peer, wire)) {
            if let Some(exchange) = exchange {
                finish(exchange, How::Remote(record), finished);
            }
            return;
        }
        let (asked, _) = self.balance.queries.entry((peer, wire)).or_default();
        *asked += 1;
        let query = *asked;
        self.balance
            .suspects
            .entry((peer, wire))
            .or_default()
            .push_back(Suspect { exchange, query });
        self.tell(peer, &Control::Query(wire));
    }

    /// The record of a poison has come.
    pub(crate) fn poison_told(
        &mut self,
        peer: i32,
        wire: Wire,
        record: Record,
        finished: &mut Finished,
    ) {
        match take_first(&mut self.balance.suspects, (peer, wire)) {
            Some(suspect) => {
                if let Some(exchange) = suspect.exchange {
                    finish(exchange, How::Remote(record), finished);
                }
            }
            None => self
                .balance
                .records
                .entry((peer, wire))
                .or_default()
                .push_back(record),
        }
    }

    /// All records sent before a query have come.
    pub(crate) fn query_answered(
        &mut self,
        world: &World,
        peer: i32,
        wire: Wire,
        finished: &mut Finished,
    ) {
        let Some((asked, answered)) = self.balance.queries.get_mut(&(peer, wire)) else {
            return;
        };
        *answered += 1;
        let answered_now = *answered;
        if *asked == answered_now {
            self.balance.queries.remove(&(peer, wire));
        }
        while let Some(first) = self
            .balance
            .suspects
            .get(&(peer, wire))
            .and_then(|list| list.front())
            && first.query <= answered_now
        {
            if let Some(exchange) = take_first(&mut self.balance.suspects, (peer, wire))
                .and_then(|suspect| suspect.exchange)
            {
                let bytes = i64::from(
                    exchange
                        .message()
                        .is_some_and(|message| message.layout.bytes == 0),
                );
                let how = mismatch(world, &exchange, bytes);
                finish(exchange, how, finished);
            }
        }
    }

    /// The world has failed: no records are waited for any more.
    pub(crate) fn balance_failed(&mut self, record: &Record, finished: &mut Finished) {
        self.balance.records.clear();
        for suspect in self.balance.suspects.drain().flat_map(|(_, list)| list) {
            if let Some(exchange) = suspect.exchange {
                finish(exchange, How::Remote(record.clone()), finished);
            }
        }
    }

    /// No answer comes any more.
    pub(crate) fn forget_queries(&mut self) {
        self.balance.queries.clear();
    }

    /// Whether an answer is waited for. It comes even where the record has come meanwhile.
    pub(crate) fn has_suspects(&self) -> bool {
        self.balance
            .queries
            .keys()
            .any(|(peer, _)| !self.peers[*peer].lost)
    }
}

/// Notes the end of an exchange that MPI is done with.
pub(crate) fn finish(exchange: Arc<Exchange>, how: How, finished: &mut Finished) {
    exchange.set_stage(stage::ENDED);
    let node = exchange.node();
    finished.push((exchange, node, how));
}

fn take_first<T>(lists: &mut PerWire<T>, key: (i32, Wire)) -> Option<T> {
    let list = lists.get_mut(&key)?;
    let first = list.pop_front();
    if list.is_empty() {
        lists.remove(&key);
    }
    first
}

/// The failure of a receive whose sender sent another size. `bytes`: what came; negative: more than expected.
pub(crate) fn mismatch(world: &World, exchange: &Exchange, bytes: i64) -> How {
    let came = match bytes {
        ..0 => "more came".to_owned(),
        bytes => format!("{bytes} B came"),
    };
    let hint = if world.verify {
        ""
    } else {
        "; NORN_MPI_VERIFY=1 shows what the other rank declared"
    };
    How::Failed {
        status: NORN_E_MISMATCH,
        code: 0,
        operation: "MPI_Irecv",
        text: format!("{}: {came}{hint}", exchange.title()),
    }
}
