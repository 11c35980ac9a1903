//! What a rank that leaves has sent, and no receive was posted for yet.
//!
//! A rank that has said Bye sends nothing more. Which of the posted receives get nothing is known only when all that it
//! has sent has come; but what has come may wait for a receive that is posted only after one that gets nothing. So
//! messages without a posted receive are taken in and kept, in the order of their wire. When all are here, the posted
//! receives left are cancelled, and a receive declared later gets what was kept for it: by a message of this rank to
//! itself, so that MPI puts it where the receive's type says.
//!
//! A message is kept only where no receive of its wire is posted (MPI would have matched it), and a receive is posted only
//! where none is kept, so the order on the wire stays.

use super::balance::looks_like_poison;
use super::calls::{Address, Elements, Failed};
use super::control::Wire;
use super::engine::{Engine, Flight, PerWire};
use super::exchange::Message;

/// Tag of messages handed on, on the control communicator. Control messages have tag 0.
const HANDED: i32 = 1;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Kept {
    messages: PerWire<Vec<u8>>,
}

impl Engine {
    /// A message was taken in.
    pub(crate) fn keep(&mut self, peer: i32, wire: Wire, bytes: Vec<u8>) {
        let wanted = !self.sinks && !self.peers[peer as usize].quit;
        if wanted {
            let list = self.kept.messages.entry((peer, wire)).or_default();
            list.push_back(bytes);
        }
    }

    pub(crate) fn has_kept(&self, message: &Message) -> bool {
        let key = (message.peer, message.wire);
        !message.send && self.kept.messages.contains_key(&key)
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
            return false;
        };
        let sequence = self.next_sequence(message);
        if looks_like_poison(bytes.len() as i64, message.layout.bytes) {
            self.suspect(message.peer, message.wire, None, &mut Vec::new());
        } else {
            self.forget_identity(message.peer, message.wire, sequence);
        }
        true
    }
}
