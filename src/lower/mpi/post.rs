//! Posting messages.

use std::sync::Arc;

use super::calls::{Address, Elements, Failed};
use super::control::{Record, Wire};
use super::engine::{Engine, Finished, Flight, How, gone};
use super::exchange::{Exchange, Message, stage};
use super::quit::quits;
use super::world::World;
use crate::abi::status::NORN_E_MPI;
use crate::run::runtime::Runtime;

/// A message that MPI has.
pub(crate) struct Posted {
    slot: i32,
    /// See `Flight::Message`.
    sequence: u64,
    kept: bool,
    memory: Vec<u8>,
}

/// What has become of a message whose turn it is.
enum Begun {
    Posted(Posted),
    /// It gets what is being taken in.
    Waits,
    Ended(How),
}

impl Engine {
    /// Posts a message, or ends it. What it waits for has been: it has left its line.
    pub(crate) fn begin_message(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: Arc<Exchange>,
        finished: &mut Finished,
    ) {
        let Some(message) = exchange.message() else {
            return;
        };
        match self.try_message(world, runtime, &exchange, message) {
            Begun::Posted(posted) => {
                exchange.set_stage(stage::POSTED);
                self.enter_message(exchange, posted);
            }
            Begun::Waits => exchange.set_stage(stage::POSTED),
            Begun::Ended(how) => {
                exchange.set_stage(stage::ENDED);
                match exchange.node() {
                    0 => world.ended(&exchange),
                    node => finished.push((exchange, node, how)),
                }
            }
        }
    }

    fn try_message(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: &Arc<Exchange>,
        message: &Message,
    ) -> Begun {
        let node = exchange.node();
        if let Some(record) = &self.failed {
            return Begun::Ended(How::Remote(record.clone()));
        }
        let cause = exchange.cause();
        if self.said_quit && (cause == 0 || node == 0) {
            return Begun::Ended(quits(world.rank));
        }
        let peer = &self.peers[message.peer];
        let over = match message.send {
            true => peer.is_deaf(),
            // What comes from a rank that has quit is dropped as it comes, so what is there or being taken in may be a
            // later message's.
            false => peer.is_silent() && (peer.quit || !self.has_kept(message)),
        };
        if over && (cause == 0 || node == 0) {
            return Begun::Ended(gone(message));
        }
        if cause != 0 || node == 0 {
            if !over && !self.said_quit {
                let record = world.record_of(runtime, cause);
                if message.send || !self.drop_kept(message) {
                    self.owe(message, &record);
                }
            }
            return Begun::Ended(How::Propagated(cause));
        }
        if self.waits_for_kept(message, exchange) {
            return Begun::Waits;
        }
        match self.post_message(world, exchange, message, None) {
            Ok(posted) => Begun::Posted(posted),
            Err(failed) => {
                let text = self.calls().describe(failed);
                let record = Record {
                    status: NORN_E_MPI,
                    code: failed.code,
                    rank: world.rank,
                    worker: -1,
                    name: world.name_of(exchange),
                    operation: failed.call.into(),
                    text: text.clone(),
                };
                self.owe(message, &record);
                Begun::Ended(How::Failed {
                    status: NORN_E_MPI,
                    code: failed.code,
                    operation: failed.call,
                    text,
                })
            }
        }
    }

    /// Posts a message, which `enter_message` is to be told of. `counted`: its number on its wire, where it has one.
    pub(crate) fn post_message(
        &mut self,
        world: &World,
        exchange: &Exchange,
        message: &Message,
        counted: Option<u64>,
    ) -> Result<Posted, Failed> {
        let (address, kept) = match self.hand_over(message)? {
            Some(address) => (address, true),
            None => (self.address_of(message), false),
        };
        let mut memory = Vec::new();
        let (what, made) = if message.layout.bytes == 0 && !message.send {
            // Room for the poison of an empty message. On the heap, so it may move into the flight.
            memory = vec![0u8; 1];
            let what = Elements {
                address: memory.as_mut_ptr() as usize,
                count: 1,
                datatype: self.byte,
            };
            (what, None)
        } else {
            self.elements(&message.layout, message.datatype)?
        };
        let sequence = counted.unwrap_or_else(|| self.announce(world, exchange, message));
        // SAFETY: the memory is a datum's whose place in its timeline this operation holds until its token completes,
        // or the application's, which has promised the same, or what goes into the flight.
        let slot = unsafe {
            if message.send {
                self.requests.send(what, address)
            } else {
                self.requests.receive(what, address)
            }
        };
        if let Some(made) = made {
            self.calls().type_free(made);
        }
        let slot = slot?;
        if message.send {
            self.peers.sent_to(message.peer);
        }
        Ok(Posted {
            slot,
            sequence,
            kept,
            memory,
        })
    }

    /// A message of the graph is under way.
    pub(crate) fn enter_message(&mut self, exchange: Arc<Exchange>, posted: Posted) {
        self.enter(
            posted.slot,
            Flight::Message {
                exchange,
                sequence: posted.sequence,
                cancelled: None,
                kept: posted.kept,
                memory: posted.memory,
            },
        );
    }

    fn address_of(&self, message: &Message) -> Address {
        Address {
            peer: message.peer,
            tag: message.wire.tag,
            comm: self.message_lanes[message.wire.lane as usize],
        }
    }

    /// Takes in what no receive was posted for.
    pub(crate) fn sink(&mut self, world: &World, runtime: &Runtime) -> bool {
        // Where nothing may come any more, MPI is not asked.
        let lanes = match self.peers.has_awaited() {
            true => self.message_lanes.len(),
            false => 0,
        };
        let mut found = false;
        for index in 0..lanes {
            let comm = self.message_lanes[index];
            let message = match self.probe(comm) {
                Ok(Some(message)) => message,
                Ok(None) => continue,
                Err(failed) => {
                    world.complain(runtime, &self.calls().describe(failed));
                    continue;
                }
            };
            let wire = Wire {
                lane: index as u32,
                tag: message.tag,
            };
            if !self.begin_keeping(message.source, wire) {
                continue;
            }
            let mut memory = vec![0u8; usize::try_from(message.bytes).unwrap_or(0)];
            let what = Elements {
                address: memory.as_mut_ptr() as usize,
                count: memory.len() as u64,
                datatype: self.byte,
            };
            let from = Address {
                peer: message.source,
                tag: message.tag,
                comm,
            };
            // SAFETY: the memory is on the heap and kept in the flight until the request is over.
            if let Ok(slot) = unsafe { self.requests.receive(what, from) } {
                let peer = message.source;
                self.enter(slot, Flight::Sunk { peer, wire, memory });
                found = true;
            }
        }
        found
    }
}
