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

impl Engine {
    pub(crate) fn begin_message(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: &Arc<Exchange>,
        message: &Message,
        finished: &mut Finished,
    ) {
        let node = exchange.node();
        let mut finish = |how| {
            exchange.set_stage(stage::ENDED);
            if node != 0 {
                finished.push((exchange.clone(), node, how));
            } else {
                world.ended(exchange);
            }
        };
        if let Some(record) = &self.failed {
            finish(How::Remote(record.clone()));
            return;
        }
        if self.said_quit && (exchange.cause() == 0 || node == 0) {
            finish(quits(world.rank));
            return;
        }
        let peer = &self.peers[message.peer];
        let over = match message.send {
            true => peer.is_deaf(),
            // What comes from a rank that has quit is dropped as it comes, so what is there or being taken in may be a
            // later message's.
            false => peer.is_silent() && (peer.quit || !self.has_kept(message)),
        };
        let cause = exchange.cause();
        if over && (cause == 0 || node == 0) {
            finish(gone(message));
            return;
        }
        if cause != 0 || node == 0 {
            if !over && !self.said_quit {
                let record = world.record_of(runtime, cause);
                if message.send || !self.drop_kept(message) {
                    self.owe(message, &record);
                }
            }
            finish(How::Propagated(cause));
            return;
        }
        if self.waits_for_kept(message, Some(exchange)) {
            exchange.set_stage(stage::POSTED);
            return;
        }
        match self.post_message(world, exchange, message) {
            Ok(()) => exchange.set_stage(stage::POSTED),
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
                finish(How::Failed {
                    status: NORN_E_MPI,
                    code: failed.code,
                    operation: failed.call,
                    text,
                });
            }
        }
    }

    pub(crate) fn post_message(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        message: &Message,
    ) -> Result<(), Failed> {
        let (address, kept) = match self.hand_over(message)? {
            Some(address) => (address, true),
            None => (self.address_of(message), false),
        };
        if message.layout.bytes == 0 && !message.send {
            // Room for the poison of an empty message.
            let memory = vec![0u8; 1];
            return self.post_empty_receive(exchange, address, memory, kept);
        }
        let (what, made) = self.elements(&message.layout, message.datatype)?;
        let sequence = self.announce(world, exchange, message);
        // SAFETY: the memory is a datum's whose place in its timeline this operation holds until its token completes,
        // or the application's, which has promised the same.
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
        self.enter(
            slot,
            Flight::Message {
                exchange: exchange.clone(),
                sequence,
                cancelled: None,
                kept,
                memory: Vec::new(),
            },
        );
        Ok(())
    }

    pub(crate) fn post_empty_receive(
        &mut self,
        exchange: &Arc<Exchange>,
        address: Address,
        mut memory: Vec<u8>,
        kept: bool,
    ) -> Result<(), Failed> {
        let what = Elements {
            address: memory.as_mut_ptr() as usize,
            count: 1,
            datatype: self.byte,
        };
        // SAFETY: one byte on the heap, kept until the request is over.
        let slot = unsafe { self.requests.receive(what, address) }?;
        let sequence = match exchange.message() {
            Some(message) => self.next_sequence(message),
            None => 0,
        };
        let exchange = exchange.clone();
        self.enter(
            slot,
            Flight::Message {
                exchange,
                sequence,
                cancelled: None,
                kept,
                memory,
            },
        );
        Ok(())
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
