//! What a rank that leaves has sent, and no receive was posted for yet; and the same of all ranks when all rest (`rest`).
//!
//! A rank that has said Bye sends nothing more. Which of the posted receives get nothing is known only when all that it
//! has sent has come; but what has come may wait for a receive that is posted only after one that gets nothing. So
//! messages without a posted receive are taken in and kept, in the order of their wire. When all are here, the posted
//! receives left are cancelled, and a receive declared later gets what was kept for it: by a message of this rank to
//! itself, so that MPI puts it where the receive's type says.
//!
//! A message is kept only where no receive of its wire is posted (MPI would have matched it), and a receive is posted only
//! where none is kept or being taken in, so the order on the wire stays.

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

/// See the module's text.
#[derive(Default)]
pub(crate) struct Kept {
    messages: PerWire<Vec<u8>>,
    /// Wires of which a message is being taken in; one at a time, or the second could be done before the first.
    coming: HashSet<(i32, Wire)>,
    /// Receives that get what is being taken in; None: one that takes nothing.
    waiting: HashMap<(i32, Wire), Option<Arc<Exchange>>>,
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
            Some(Some(exchange)) => return self.hand_to(world, exchange, bytes, finished),
            Some(None) => return,
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
        match self.post_message(world, &exchange, message) {
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

    /// Whether a receive gets what is being taken in; then it waits for that. None: one that takes nothing.
    pub(crate) fn waits_for_kept(
        &mut self,
        message: &Message,
        exchange: Option<&Arc<Exchange>>,
    ) -> bool {
        let key = (message.peer, message.wire);
        let waits = !message.send
            && self.kept.coming.contains(&key)
            && !self.kept.messages.contains_key(&key)
            && !self.kept.waiting.contains_key(&key);
        if waits {
            self.kept.waiting.insert(key, exchange.cloned());
        }
        waits
    }

    /// Receives that wait, when MPI is gone.
    pub(crate) fn forget_kept(&mut self) -> Vec<Arc<Exchange>> {
        let kept = core::mem::take(&mut self.kept);
        kept.waiting.into_values().flatten().collect()
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
        let Some(bytes) = self.take_kept(message) else {
            let comes = self.waits_for_kept(message, None);
            if comes {
                self.next_sequence(message);
            }
            return comes;
        };
        let sequence = self.next_sequence(message);
        if looks_like_poison(bytes.len() as i64, message.layout.bytes) {
            self.suspect(message.peer, message.wire, None, &mut Finished::new());
        } else {
            self.forget_identity(message.peer, message.wire, sequence);
        }
        true
    }
}
