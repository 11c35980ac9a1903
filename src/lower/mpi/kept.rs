//! What a rank that leaves has sent, and no receive was posted for yet; and the same of all ranks when all rest (`rest`).
//!
//! A rank that has said Bye sends nothing more. Which of the posted receives get nothing is known only when all that it
//! has sent has come; but what has come may wait for a receive that is posted only after one that gets nothing. So
//! messages without a posted receive are taken in and kept, in the order of their wire. When all are here, the posted
//! receives left are cancelled, and a receive declared later gets what was kept for it: by a message of this rank to
//! itself, so that MPI puts it where the receive's type says.
//!
//! A message is kept only where no receive of its wire is posted (MPI would have matched it), and a receive is posted only
//! where none is kept or being taken in, so the order on the wire stays. A receive that waits for what is being taken in has
//! its number on the wire (`verify`) from then on: those behind it are posted meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::balance::{finish, looks_like_poison};
use super::calls::{Address, Elements, Failed};
use super::control::Wire;
use super::engine::{Engine, Finished, Flight, How, PerWire};
use super::exchange::{Exchange, Message};
use super::world::World;
use crate::abi::status::NORN_E_MPI;

/// Tag of messages handed on, on the control communicator. Control messages have tag 0.
const HANDED: i32 = 1;

/// What waits for a message that is being taken in.
enum Waiter {
    Gets(Arc<Exchange>),
    /// A receive that takes nothing, of so many bytes.
    Drops {
        expected: u64,
    },
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Kept {
    messages: PerWire<Vec<u8>>,
    /// Wires of which a message is being taken in; one at a time, or the second could be done before the first.
    coming: HashSet<(i32, Wire)>,
    /// Receives that get what is being taken in, with their number on the wire.
    waiting: HashMap<(i32, Wire), (u64, Waiter)>,
}

impl Kept {
    /// Whether something that is being taken in is a receive's that waits for it.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Engine {
    /// Whether a message may be taken in; then it is being so.
    pub(crate) fn begin_keeping(&mut self, peer: i32, wire: Wire) -> bool {
        self.sinks || self.kept.coming.insert((peer, wire))
    }

    /// A message was taken in.
    pub(crate) fn keep(
        &mut self,
        world: &World,
        peer: i32,
        wire: Wire,
        bytes: Vec<u8>,
        finished: &mut Finished,
    ) {
        self.kept.coming.remove(&(peer, wire));
        match self.kept.waiting.remove(&(peer, wire)) {
            Some((sequence, Waiter::Gets(exchange))) => {
                return self.hand_to(world, exchange, sequence, bytes, finished);
            }
            Some((sequence, Waiter::Drops { expected })) => {
                return self.drop_message(peer, wire, sequence, bytes.len(), expected);
            }
            None => {}
        }
        let wanted = !self.sinks && !self.peers[peer].quit;
        if wanted {
            let list = self.kept.messages.entry((peer, wire)).or_default();
            list.push_back(bytes);
        }
    }

    fn hand_to(
        &mut self,
        world: &World,
        exchange: Arc<Exchange>,
        sequence: u64,
        bytes: Vec<u8>,
        finished: &mut Finished,
    ) {
        let Some(message) = exchange.message() else {
            return;
        };
        if let Some(record) = self.failed.clone() {
            return finish(exchange, How::Remote(record), finished);
        }
        let key = (message.peer, message.wire);
        self.kept.messages.entry(key).or_default().push_front(bytes);
        match self.post_message(world, &exchange, message, Some(sequence)) {
            Ok(posted) => self.enter_message(exchange, posted),
            Err(failed) => {
                let text = self.calls().describe(failed);
                let how = How::Failed {
                    status: NORN_E_MPI,
                    code: failed.code,
                    operation: failed.call,
                    text,
                };
                finish(exchange, how, finished);
            }
        }
    }

    /// Whether a receive gets what is being taken in; then it waits for that.
    pub(crate) fn waits_for_kept(&mut self, message: &Message, exchange: &Arc<Exchange>) -> bool {
        let waits = self.is_next_to_come(message);
        if waits {
            self.wait_for_kept(message, Waiter::Gets(exchange.clone()));
        }
        waits
    }

    /// Whether what is being taken in is a receive's.
    fn is_next_to_come(&self, message: &Message) -> bool {
        let key = (message.peer, message.wire);
        !message.send
            && self.kept.coming.contains(&key)
            && !self.kept.messages.contains_key(&key)
            && !self.kept.waiting.contains_key(&key)
    }

    fn wait_for_kept(&mut self, message: &Message, waiter: Waiter) {
        let sequence = self.next_sequence(message);
        let key = (message.peer, message.wire);
        self.kept.waiting.insert(key, (sequence, waiter));
    }

    /// Receives that wait, when MPI is gone.
    pub(crate) fn forget_kept(&mut self) -> Vec<Arc<Exchange>> {
        let kept = core::mem::take(&mut self.kept);
        let waiting = kept.waiting.into_values();
        let exchanges = waiting.filter_map(|(_, waiter)| match waiter {
            Waiter::Gets(exchange) => Some(exchange),
            Waiter::Drops { .. } => None,
        });
        exchanges.collect()
    }

    /// Whether a receive that is posted now gets what was taken in. What is being taken in goes to the one that waits for
    /// it already, if there is such a one.
    pub(crate) fn has_kept(&self, message: &Message) -> bool {
        let key = (message.peer, message.wire);
        let comes = self.kept.coming.contains(&key) && !self.kept.waiting.contains_key(&key);
        !message.send && (comes || self.kept.messages.contains_key(&key))
    }

    fn take_kept(&mut self, message: &Message) -> Option<Vec<u8>> {
        if message.send || self.kept.messages.is_empty() {
            return None;
        }
        let key = (message.peer, message.wire);
        let list = self.kept.messages.get_mut(&key)?;
        let bytes = list.pop_front();
        if list.is_empty() {
            self.kept.messages.remove(&key);
        }
        bytes
    }

    /// Sends a receive what was kept for it, and says where it comes from now.
    pub(crate) fn hand_over(&mut self, message: &Message) -> Result<Option<Address>, Failed> {
        let Some(memory) = self.take_kept(message) else {
            return Ok(None);
        };
        let address = Address {
            peer: self.rank,
            tag: HANDED,
            comm: self.control,
        };
        let what = Elements {
            address: memory.as_ptr() as usize,
            count: memory.len() as u64,
            datatype: self.byte,
        };
        // SAFETY: the memory is on the heap and kept in the flight until the request is over.
        let slot = unsafe { self.requests.send(what, address) }?;
        self.enter(slot, Flight::Handed { memory });
        Ok(Some(address))
    }

    /// A receive that takes nothing: drops what was kept for it. Whether there was anything.
    pub(crate) fn drop_kept(&mut self, message: &Message) -> bool {
        let expected = message.layout.bytes;
        if let Some(bytes) = self.take_kept(message) {
            let sequence = self.next_sequence(message);
            self.drop_message(message.peer, message.wire, sequence, bytes.len(), expected);
            return true;
        }
        let comes = self.is_next_to_come(message);
        if comes {
            self.wait_for_kept(message, Waiter::Drops { expected });
        }
        comes
    }

    fn drop_message(&mut self, peer: i32, wire: Wire, sequence: u64, bytes: usize, expected: u64) {
        if self.peers[peer].quit {
            // As in `scratch_ended`.
            return;
        }
        if looks_like_poison(bytes as i64, expected) {
            self.suspect(peer, wire, None, &mut Finished::new());
        } else {
            self.forget_identity(peer, wire, sequence);
        }
    }
}
