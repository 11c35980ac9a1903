//! Verify mode (NORN_MPI_VERIFY=1): the full identity of each message goes ahead of it, and the receiver compares.
//!
//! Both ranks number the messages of a wire in the order in which they post them, poisons and scratch receives
//! included. MPI matches in that order, so equal numbers are the same message, however late its identity comes.
//!
//! Of the elements' types, predefined ones are compared: norn's, and MPI's of the same number of bytes and meaning.
//! `NORN_BYTE` is memory as it lies, and so agrees with every type, and one that the application has made agrees too.
//!
//! Collectives are compared too (`compare`), before any rank enters.
//!
//! Messages of a rank to itself are compared always: there an MPI may not even tell that one was cut.

use std::collections::HashMap;
use std::sync::Arc;

use super::balance::finish;
use super::calls::Calls;
use super::control::{Control, Identity, Wire};
use super::engine::{Engine, Finished, How};
use super::exchange::{Exchange, Message};
use super::world::World;
use crate::abi::datatype::{NORN_BYTE, NORN_C128, NORN_OF_MPI, norn_type};
use crate::abi::status::NORN_E_MISMATCH;

/// The type of elements that agree with all.
pub(super) const UNTYPED: i64 = -1;

/// One message of one wire.
type Place = (i32, Wire, u64);

/// See the module's text.
#[derive(Default)]
pub(crate) struct Verify {
    /// Whether messages to other ranks are compared too.
    all: bool,
    /// This rank.
    rank: i32,
    /// Messages posted on a wire, by whether this rank sends.
    posted: HashMap<(bool, i32, Wire), u64>,
    /// Identities whose message has not been received.
    told: HashMap<Place, Identity>,
    /// Messages received whose identity has not come; None: nobody wants to know. The bytes that came, and whether
    /// these are what was expected.
    received: HashMap<Place, Option<(Arc<Exchange>, i64, bool)>>,
}

impl Verify {
    pub(crate) fn new(all: bool, rank: i32) -> Self {
        Self {
            all,
            rank,
            ..Self::default()
        }
    }

    /// Exchanges that wait for an identity, when none comes any more.
    pub(crate) fn forget(&mut self) -> Vec<Arc<Exchange>> {
        let waiting = self.received.drain().filter_map(|(_, waiting)| waiting);
        waiting.map(|(exchange, ..)| exchange).collect()
    }

    pub(crate) fn rank(&self) -> i32 {
        self.rank
    }

    /// Whether ranks compare what they have declared.
    pub(super) fn is_on(&self) -> bool {
        self.all
    }

    /// Whether an identity is waited for.
    pub(crate) fn waits(&self) -> bool {
        !self.received.is_empty()
    }
}

impl Engine {
    /// The number of a message on its wire; 0 where nobody counts.
    pub(crate) fn next_sequence(&mut self, message: &Message) -> u64 {
        let verify = &mut self.verify;
        if !verify.all && message.peer != verify.rank {
            return 0;
        }
        let posted = verify
            .posted
            .entry((message.send, message.peer, message.wire))
            .or_default();
        *posted += 1;
        *posted
    }

    /// Tells the receiver what a message is.
    pub(crate) fn announce(
        &mut self,
        world: &World,
        exchange: &Exchange,
        message: &Message,
    ) -> u64 {
        let sequence = self.next_sequence(message);
        if sequence != 0 && message.send {
            let identity = Identity {
                sequence,
                key: message.key,
                number: message.number,
                bytes: message.layout.bytes,
                element: self.calls().element_of(message.datatype),
                name: world.name_of(exchange),
            };
            if message.peer == world.rank {
                let place = (message.peer, message.wire, sequence);
                self.verify.told.insert(place, identity);
            } else {
                self.tell(message.peer, &Control::Declared(message.wire, identity));
            }
        }
        sequence
    }

    /// How a receive ends by what came. None: its identity is waited for.
    pub(crate) fn verify_received(
        &mut self,
        exchange: &Arc<Exchange>,
        sequence: u64,
        bytes: i64,
        as_expected: bool,
    ) -> Option<How> {
        let world = &exchange.world;
        if sequence == 0 {
            return Some(match as_expected {
                true => How::Success,
                false => super::balance::mismatch(world, exchange, bytes),
            });
        }
        let verify = &mut self.verify;
        let message = exchange.message()?;
        let place = (message.peer, message.wire, sequence);
        match verify.told.remove(&place) {
            Some(identity) => Some(compare(exchange, bytes, as_expected, &identity)),
            None => {
                let waiting = Some((exchange.clone(), bytes, as_expected));
                verify.received.insert(place, waiting);
                None
            }
        }
    }

    /// A message was received that nobody compares.
    pub(crate) fn forget_identity(&mut self, peer: i32, wire: Wire, sequence: u64) {
        if sequence == 0 {
            return;
        }
        let place = (peer, wire, sequence);
        if self.verify.told.remove(&place).is_none() {
            self.verify.received.insert(place, None);
        }
    }

    pub(crate) fn identity_told(
        &mut self,
        _world: &World,
        peer: i32,
        wire: Wire,
        identity: Identity,
        finished: &mut Finished,
    ) {
        let verify = &mut self.verify;
        let place = (peer, wire, identity.sequence);
        match verify.received.remove(&place) {
            Some(Some((exchange, bytes, as_expected))) => {
                let how = compare(&exchange, bytes, as_expected, &identity);
                finish(exchange, how, finished);
            }
            Some(None) => {}
            None => {
                verify.told.insert(place, identity);
            }
        }
    }
}

fn compare(exchange: &Exchange, bytes: i64, as_expected: bool, identity: &Identity) -> How {
    let Some(message) = exchange.message() else {
        return How::Success;
    };
    let same = as_expected
        && identity.bytes == message.layout.bytes
        && identity.key == message.key
        && identity.number == message.number;
    let element = exchange.world.calls.element_of(message.datatype);
    let untyped = [identity.element, element].contains(&UNTYPED);
    if same && (untyped || identity.element == element) {
        return How::Success;
    }
    let named = match identity.name.as_str() {
        "" => String::new(),
        name => format!(" \"{name}\""),
    };
    let _ = bytes;
    How::Failed {
        status: NORN_E_MISMATCH,
        code: 0,
        operation: "MPI_Irecv",
        text: format!(
            "rank {} declared{named} send of {} B{}, {}; this rank: {}{}, {}",
            message.peer,
            identity.bytes,
            in_words(identity.element),
            which(identity.key, identity.number),
            exchange.title(),
            in_words(element),
            which(message.key, message.number),
        ),
    }
}

/// Which of the edges between the two ranks it is, in the order in which each rank has declared them.
fn which(key: i64, number: u64) -> String {
    match key {
        ..0 => format!("ordered edge {number}"),
        key => format!("number {} of the edges with key {key}", number + 1),
    }
}

/// " of NORN_F64", or nothing.
pub(super) fn in_words(element: i64) -> String {
    const NAMES: [&str; 13] = [
        "BYTE", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "F32", "F64", "C64", "C128",
    ];
    let name = usize::try_from(element).ok().and_then(|at| NAMES.get(at));
    name.map_or_else(String::new, |name| format!(" of NORN_{name}"))
}

impl Calls {
    /// The predefined type that a type is, under whichever name; `UNTYPED` for bytes and for what is none.
    pub(super) fn element_of(&self, datatype: norn_type) -> i64 {
        let predefined = NORN_BYTE + 1..=NORN_C128;
        if datatype & NORN_OF_MPI == 0 {
            return if predefined.contains(&datatype) {
                datatype
            } else {
                UNTYPED
            };
        }
        let handle = datatype as i32;
        let mut names = predefined;
        names
            .find(|number| self.type_builtin(*number) == Ok(handle))
            .unwrap_or(UNTYPED)
    }
}
