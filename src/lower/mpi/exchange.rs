//! An exchange: one message or collective of this rank, as an operation of the graph.
//!
//! | stage    | since when                                     | who changes it |
//! |----------|------------------------------------------------|----------------|
//! | DECLARED | submitted                                      | the submitter  |
//! | ARRIVED  | its predecessors are done                      | the pass       |
//! | OWED     | cancelled; other ranks still count on it       | the pass       |
//! | POSTED   | MPI has it                                     | the pass       |
//! | ENDED    | its token is complete and nobody is owed       | the pass       |
//!
//! `arrive` and `cancelled` are called in the middle of a change of the graph and only leave a note in the world's
//! inbox; the next pass acts on it. "The pass" is whoever holds the engine's lock.
//!
//! Most exchanges arrive while the call that declares them is still at it. Then `early` keeps the node, no note is left, and that
//! call acts on the arrival itself. It leaves an empty `early` by an exchange, and an arrival that finds it has left leaves a
//! note: so each arrival is acted on once. (Where the node is there already, no further arrival can come.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::control::Wire;
use super::layout::Layout;
use super::world::{Note, World};
use crate::abi::datatype::norn_type;
use crate::abi::status::{NORN_E_DEADLOCK, NORN_E_TAGS, norn_status};
use crate::order::memory::Memory;
use crate::order::operation::Operation;
use crate::order::token::Token;

use super::collective::Collective;

/// Stages of an exchange.
pub(crate) mod stage {
    pub(crate) const DECLARED: u8 = 0;
    pub(crate) const ARRIVED: u8 = 1;
    pub(crate) const OWED: u8 = 2;
    pub(crate) const POSTED: u8 = 3;
    pub(crate) const ENDED: u8 = 4;
}

/// Exchanges of one line are posted in the order they were declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Line {
    Messages { send: bool, peer: i32, wire: Wire },
    Collectives { lane: u32 },
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) send: bool,
    pub(crate) peer: i32,
    pub(crate) wire: Wire,
    /// As declared: a key, or NORN_KEY_ORDER.
    pub(crate) key: i64,
    /// Number among the ordered edges of the pair; in verify mode, among the edges of the key.
    pub(crate) number: u64,
    pub(crate) layout: Layout,
    pub(crate) datatype: norn_type,
    #[allow(dead_code)] // held, not read
    pub(crate) staging: Staging,
}

/// Host memory of the device's lowering that a message goes through, kept until MPI has done with it.
#[derive(Clone, Default)]
pub(crate) struct Staging(#[allow(dead_code)] pub(crate) Option<Arc<dyn Memory>>); // held, not read

impl core::fmt::Debug for Staging {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(if self.0.is_some() { "staged" } else { "direct" })
    }
}

pub(crate) enum What {
    Message(Message),
    Collective(Box<Collective>),
}

/// In place of a node in `Exchange::early`.
const LEFT: u32 = u32::MAX;

/// See the module's text.
pub(crate) struct Exchange {
    pub(crate) world: Arc<World>,
    pub(crate) what: What,
    /// Runs although a predecessor has failed.
    pub(crate) always: bool,
    /// Name of the task, borrowed for the life of the runtime; 0 for none.
    pub(crate) name: usize,
    /// 0 until the submission is over.
    token: AtomicU64,
    /// Node that has arrived and not begun, else 0.
    node: AtomicU32,
    /// Node that has arrived during the declaring call; 0: none; `LEFT`: that call looks no more.
    early: AtomicU32,
    /// Why it is owed: number of the cause.
    cause: AtomicU32,
    stage: AtomicU8,
    /// It is the first of its line. Set under the lock of the lines, once.
    first: AtomicBool,
    /// Its node was begun when it was entered: it does not arrive. Set by the declaring call.
    begun: AtomicBool,
    /// It is held back (`held`). Written under the engine's lock.
    held: AtomicBool,
}

impl Exchange {
    pub(crate) fn new(world: Arc<World>, what: What, always: bool, name: usize) -> Arc<Self> {
        Arc::new(Self {
            world,
            what,
            always,
            name,
            token: AtomicU64::new(0),
            node: AtomicU32::new(0),
            early: AtomicU32::new(0),
            cause: AtomicU32::new(0),
            stage: AtomicU8::new(stage::DECLARED),
            first: AtomicBool::new(false),
            begun: AtomicBool::new(false),
            held: AtomicBool::new(false),
        })
    }

    /// Makes it another message of the same world, as if new.
    pub(super) fn renew(&mut self, message: Message, always: bool, name: usize) {
        self.what = What::Message(message);
        self.always = always;
        self.name = name;
        *self.token.get_mut() = 0;
        *self.node.get_mut() = 0;
        *self.early.get_mut() = 0;
        *self.cause.get_mut() = 0;
        *self.stage.get_mut() = stage::DECLARED;
        *self.first.get_mut() = false;
        *self.begun.get_mut() = false;
        *self.held.get_mut() = false;
    }

    pub(crate) fn line(&self) -> Line {
        match &self.what {
            What::Message(message) => message.line(),
            What::Collective(collective) => Line::Collectives {
                lane: collective.lane,
            },
        }
    }

    pub(crate) fn stage(&self) -> u8 {
        self.stage.load(Ordering::Acquire)
    }

    pub(crate) fn set_stage(&self, stage: u8) {
        self.stage.store(stage, Ordering::Release);
    }

    /// Whether it may be posted once it is ready.
    pub(crate) fn is_first(&self) -> bool {
        self.first.load(Ordering::Acquire)
    }

    pub(crate) fn set_first(&self) {
        self.first.store(true, Ordering::Release);
    }

    /// Whether its node has begun although it was never begun as one that has arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// It is ready, and begun by the call that declares it.
    pub(super) fn set_begun(&self) {
        self.begun.store(true, Ordering::Relaxed);
        self.set_stage(stage::ARRIVED);
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    pub(super) fn set_held(&self, held: bool) {
        self.held.store(held, Ordering::Relaxed);
    }

    /// The declaring call looks no more. Gives the node that has arrived during it, which nobody else acts on.
    pub(crate) fn leave_declaration(&self) -> Option<u32> {
        let mut node = self.early.load(Ordering::Acquire);
        if node == 0 {
            node = self.early.swap(LEFT, Ordering::AcqRel);
        } else {
            // It arrives again only if whoever acts on this arrival lets it, which is behind this.
            self.early.store(LEFT, Ordering::Release);
        }
        (node != 0).then_some(node)
    }

    pub(crate) fn token(&self) -> Token {
        Token(self.token.load(Ordering::Acquire))
    }

    pub(crate) fn set_token(&self, token: Token) {
        self.token.store(token.0, Ordering::Release);
    }

    pub(crate) fn node(&self) -> u32 {
        self.node.load(Ordering::Acquire)
    }

    pub(crate) fn cause(&self) -> u32 {
        self.cause.load(Ordering::Acquire)
    }

    pub(crate) fn set_cause(&self, cause: u32) {
        self.cause.store(cause, Ordering::Release);
    }

    pub(crate) fn message(&self) -> Option<&Message> {
        match &self.what {
            What::Message(message) => Some(message),
            What::Collective(_) => None,
        }
    }

    pub(crate) fn set_node(&self, node: u32) {
        self.node.store(node, Ordering::Release);
    }
}

impl Message {
    pub(crate) fn line(&self) -> Line {
        Line::Messages {
            send: self.send,
            peer: self.peer,
            wire: self.wire,
        }
    }

    /// "send of 8 B to rank 3, key 7".
    pub(crate) fn describe(&self, own_rank: i32) -> String {
        let (verb, preposition) = if self.send {
            ("send", "to")
        } else {
            ("receive", "from")
        };
        let which = if self.key < 0 {
            format!("ordered edge {}", self.number)
        } else {
            format!("key {}", self.key)
        };
        format!(
            "{verb} of {} B {preposition} rank {}, {which} (lane {}, tag {}), on rank {own_rank}",
            self.layout.bytes, self.peer, self.wire.lane, self.wire.tag
        )
    }
}

impl Exchange {
    /// What it is, without how far it is.
    pub(crate) fn title(&self) -> String {
        match &self.what {
            What::Message(message) => message.describe(self.world.rank),
            What::Collective(collective) => collective.describe(self.world.rank),
        }
    }
}

impl Operation for Exchange {
    fn arrive(self: Arc<Self>, node: u32) -> bool {
        if self.arrive_early(node) {
            return false;
        }
        let world = self.world.clone();
        world.note(Note::Arrived(node, self));
        true
    }

    fn arrive_early(&self, node: u32) -> bool {
        self.early.load(Ordering::Relaxed) == 0
            && self
                .early
                .compare_exchange(0, node, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }

    fn arrive_at_once(&self, node: u32) -> bool {
        self.early.store(node, Ordering::Relaxed);
        true
    }

    fn cancelled(self: Arc<Self>, cause: u32) {
        let world = self.world.clone();
        world.note(Note::Cancelled(cause, self));
    }

    fn is_owed(&self) -> bool {
        true
    }

    fn issued_before(&self) -> Option<Token> {
        // Who has left the line holds nobody up. A collective stays in it while the ranks agree on it.
        self.world.lines.behind(self).map(|next| next.token())
    }

    fn issued_after(&self) -> Vec<Token> {
        self.world.lines.tokens_before(self)
    }

    fn order_trouble(&self) -> (norn_status, &'static str) {
        match &self.what {
            What::Message(message) if message.key < 0 => (
                NORN_E_TAGS,
                "; messages on this way share a tag and are posted in the order they were declared in: a larger NORN_TAG_LIMIT (norn_world_config.tag_limit) widens the window",
            ),
            What::Message(_) => (
                NORN_E_TAGS,
                "; messages on this way have the same key and are posted in the order they were declared in: use different keys",
            ),
            What::Collective(_) => (
                NORN_E_DEADLOCK,
                "; collectives of a lane run in the order they were declared in: norn_world_lane makes another lane",
            ),
        }
    }

    fn describe(&self) -> String {
        let how_far = match self.stage() {
            stage::DECLARED => "declared",
            stage::ARRIVED => match self.world.lines.before(self) {
                Some(before) => {
                    return format!(
                        "{}: ready, but posted after {before}, which shares its tag",
                        self.title()
                    );
                }
                None => match &self.what {
                    What::Message(message) if self.is_held() => {
                        return format!(
                            "{}: ready, rank {} has not sent it",
                            self.title(),
                            message.peer
                        );
                    }
                    _ => "about to be posted",
                },
            },
            stage::OWED => "cancelled, owed to the other side",
            stage::POSTED => match &self.what {
                What::Message(message) if message.send => {
                    return format!(
                        "{}: posted, rank {} has not received it",
                        self.title(),
                        message.peer
                    );
                }
                What::Message(message) => {
                    return format!(
                        "{}: posted, rank {} has not sent it",
                        self.title(),
                        message.peer
                    );
                }
                What::Collective(_) => "entered, other ranks have not come",
            },
            _ => "ended",
        };
        format!("{}: {how_far}", self.title())
    }
}
