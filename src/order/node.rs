//! A node: one token's operation while it lives, in two cache lines.
//!
//! # The successor word
//!
//! `successors` holds generation, flags and the head of the list of links to
//! the nodes that wait for this one:
//!
//! | bits  | content                                                     |
//! |-------|-------------------------------------------------------------|
//! | 0-31  | head of the list, 0 = empty (see `LinkId`)                   |
//! | 32    | EVER_FAILED: some token of this slot is in the failure table |
//! | 33    | OBSERVED: somebody waits for this token (see `observers`)    |
//! | 34    | ISSUED: on a device, with its completion event recorded (see `issue`) |
//! | 36-63 | generation                                                   |
//!
//! - *Anybody* with a token may push a link or set OBSERVED, by compare and
//!   swap, while the generation equals the token's (release, so that the link's
//!   content is visible to whoever takes the list).
//! - *Only the completer* changes the generation, by one swap that also takes
//!   the list (acquire-release). So "is it complete" and "append an edge" are one
//!   atomic decision on one word: an append either lands in the list that the
//!   swap takes or sees the new generation. A slot reused since fails the
//!   generation test, whatever its list looks like; 2^28 generations cannot pass
//!   between load and swap because the last one is never reused.
//! - EVER_FAILED is written by completers only, before the generation moves; ISSUED by the lowering that carries the
//!   operation out, before it completes it.
//!
//! # The pending word
//!
//! Predecessors not yet satisfied: data predecessors in bits 0-31, explicit
//! ones in bits 32-61, CANCEL_MARK (bit 62, see `cancel`), and GUARD (bit 63)
//! while the node is not let go
//! (submission in progress, held, or a declared token not yet bound). Whoever
//! brings the word to zero, by a subtraction with acquire-release order, and
//! nobody else, makes the node arrive; the order makes everything the
//! predecessors did visible to it. Links may be published before their units
//! are added, because the guard keeps the word away from zero: the sums are
//! taken modulo 2^64 and come out right.
//!
//! # The state word
//!
//! Kind and slot count are set before the node is visible. Of the flags,
//! STARTED and CANCELLED decide the race between running and cancelling: both
//! are set by fetch_or and the first one wins. A cancelled node's memory is
//! freed by the later of the canceller (CANCEL_DONE) and the natural arrival
//! (STARTED).
//!
//! # Who owns the rest
//!
//! `run`, `argument`, `destroy` and the access slots belong to the submitter
//! until the node is let go, then to whoever made it arrive, then to the thread
//! that runs and completes it; each hand-over goes through `pending` or a queue,
//! which order it. They are atomics, used relaxed, only because reports may
//! read them at any time.

use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use core::ffi::c_char;

use super::slab::Vacant;
use super::token::{LAST_GENERATION, Token};

/// Accesses (and the links that belong to them) inside the node.
pub(crate) const INLINE_SLOTS: usize = 4;

/// Kinds of node, in the low bits of the state.
pub(crate) mod kind {
    /// Not in use.
    pub(crate) const FREE: u32 = 0;
    /// A task with a body.
    pub(crate) const TASK: u32 = 1;
    /// A declared token without its task.
    pub(crate) const DECLARED: u32 = 2;
    /// A promise.
    pub(crate) const PROMISE: u32 = 3;
    /// Places in timelines taken by a reservation or held by an application thread.
    pub(crate) const PLACE: u32 = 4;
    /// The `done` token of a group.
    pub(crate) const GROUP: u32 = 5;
    /// No body: completes as soon as it arrives. Joins timelines.
    pub(crate) const GATE: u32 = 6;
    /// Combines the copies of a reduction; runs on a worker.
    pub(crate) const COMBINE: u32 = 7;
    /// Calls an `on_complete` function; runs on a worker.
    pub(crate) const CALLBACK: u32 = 8;
    /// Mask of the kind within the state.
    pub(crate) const MASK: u32 = 15;
}

/// Flags of the state word.
pub(crate) mod flag {
    pub(crate) const STARTED: u32 = 1 << 8;
    pub(crate) const CANCELLED: u32 = 1 << 9;
    pub(crate) const CANCEL_DONE: u32 = 1 << 10;
    /// An operation that is satisfied by predecessors which are issued (see `issue`).
    pub(crate) const ON_ISSUE: u32 = 1 << 11;
    pub(crate) const HELD: u32 = 1 << 12;
    /// A submission is at work on a node that others can reach already: a declared token, a member of a group,
    /// a held task. See `declare`.
    pub(crate) const BINDING: u32 = 1 << 13;
    pub(crate) const RUN_ALWAYS: u32 = 1 << 14;
    pub(crate) const CHILD: u32 = 1 << 15;
    pub(crate) const COMMUTES: u32 = 1 << 16;
    pub(crate) const REDUCES: u32 = 1 << 17;
    /// A place has been reached in its timelines.
    pub(crate) const ARRIVED: u32 = 1 << 18;
    /// A task fills this place.
    pub(crate) const FILLED: u32 = 1 << 19;
    /// The place was given up.
    pub(crate) const ABANDONED: u32 = 1 << 20;
    /// The COMMUTE accesses were granted by the previous holder.
    pub(crate) const GRANTED: u32 = 1 << 21;
    /// Parity of the drain that counts this node.
    pub(crate) const ODD_PHASE: u32 = 1 << 22;
    /// The body waits in an untimed await.
    pub(crate) const BLOCKED: u32 = 1 << 23;
    /// Has a place, `cpus` or another wish in its annex that the scheduler must look at.
    pub(crate) const PARTICULAR: u32 = 1 << 24;
    /// The body has ended; only holds keep the node.
    pub(crate) const ENDED: u32 = 1 << 25;
    /// Counted in the statistics and by drains.
    pub(crate) const COUNTED: u32 = 1 << 26;
    /// Accesses go on in the annex.
    pub(crate) const MORE_ACCESSES: u32 = 1 << 27;
    /// The place is held by an application thread (`norn_data_acquire`).
    pub(crate) const HOLD: u32 = 1 << 28;
    /// Queued for COMMUTE accesses that others hold.
    pub(crate) const QUEUED_COMMUTE: u32 = 1 << 29;
    /// The task may only run on the opener's thread.
    pub(crate) const AT_OPENER: u32 = 1 << 30;
    /// The body waits on the stack of the opener's thread, where nothing else runs meanwhile.
    pub(crate) const ON_OPENER: u32 = 1 << 31;
}
const SLOTS_SHIFT: u32 = 4;

/// One explicit predecessor in the pending word.
pub(crate) const EXPLICIT_UNIT: u64 = 1 << 32;
/// One data predecessor in the pending word.
pub(crate) const DATA_UNIT: u64 = 1;
/// Data predecessors in the pending word.
pub(crate) const DATA_MASK: u64 = EXPLICIT_UNIT - 1;
/// The node was cancelled and its data successors still wait for its data predecessors.
pub(crate) const CANCEL_MARK: u64 = 1 << 62;
/// Keeps a node from arriving before it is let go.
pub(crate) const GUARD: u64 = 1 << 63;

/// The body's own share of `holds`; the rest counts holds and children.
pub(crate) const BODY_SHARE: u32 = 1 << 31;

/// A pointer in a list of successors: an access slot of a node, or a link record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkId(pub(crate) u32);

/// Where a link lies.
pub(crate) enum LinkPlace {
    /// Access slot of a consumer.
    Slot { consumer: u32, slot: usize },
    /// Record in the slab of links.
    Record(u32),
}

impl LinkId {
    pub(crate) const NONE: LinkId = LinkId(0);
    const RECORD: u32 = 1 << 31;

    #[inline(always)]
    pub(crate) fn slot(consumer: u32, slot: usize) -> Self {
        LinkId((consumer << 2) | slot as u32)
    }

    #[inline(always)]
    pub(crate) fn record(index: u32) -> Self {
        LinkId(index | Self::RECORD)
    }

    #[inline(always)]
    pub(crate) fn place(self) -> LinkPlace {
        if self.0 & Self::RECORD != 0 {
            LinkPlace::Record(self.0 & !Self::RECORD)
        } else {
            LinkPlace::Slot {
                consumer: self.0 >> 2,
                slot: (self.0 & 3) as usize,
            }
        }
    }
}

/// What the link or access means, in `Slot::meta` and `Link::meta`.
pub(crate) mod meta {
    /// Access mode in the low three bits; 0 for an explicit edge.
    pub(crate) const MODE: u32 = 7;
    /// A failure of the predecessor fails the consumer.
    pub(crate) const PROPAGATES: u32 = 1 << 3;
    /// An explicit edge: counts in the upper half of `pending`.
    pub(crate) const EXPLICIT: u32 = 1 << 4;
    /// The access was released early.
    pub(crate) const RELEASED: u32 = 1 << 5;
    /// The access goes through a reserved place, which holds the timeline.
    pub(crate) const VIA_PLACE: u32 = 1 << 6;
    /// The access leaves a failed datum behind when its task fails.
    pub(crate) const WRITES: u32 = 1 << 7;
    /// The operation was issued, and its epoch knows.
    pub(crate) const ISSUED: u32 = 1 << 8;
}

/// One access of a task, and the link that lets the task wait for the access's predecessor.
#[derive(Default)]
pub(crate) struct Slot {
    /// Index of the datum; 0 for an explicit edge.
    pub(crate) datum: AtomicU32,
    /// Next link in the predecessor's list.
    pub(crate) next: AtomicU32,
    /// Epoch of which this access is a member, 0 if none.
    pub(crate) epoch: AtomicU32,
    /// See `meta`.
    pub(crate) meta: AtomicU32,
}

/// See the module's text.
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) successors: AtomicU64,
    pub(crate) pending: AtomicU64,
    pub(crate) state: AtomicU32,
    /// `BODY_SHARE` until the body has ended, plus one for each hold and child.
    pub(crate) holds: AtomicU32,
    /// First cause that doomed this node, 0 if none. Set once by compare and swap.
    pub(crate) cause: AtomicU32,
    /// Annex with what few tasks need, 0 if none.
    pub(crate) annex: AtomicU32,
    pub(crate) run: AtomicUsize,
    pub(crate) argument: AtomicUsize,
    pub(crate) destroy: AtomicUsize,
    /// Name pointer in the upper 48 bits, priority in the lower 16.
    name_priority: AtomicU64,
    pub(crate) slots: [Slot; INLINE_SLOTS],
}

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<Node>() == 128);

// SAFETY: all fields are atomics, for which zero is valid; zero is kind FREE.
unsafe impl Vacant for Node {}

/// A link that found no room in its consumer's slots.
#[derive(Default)]
pub(crate) struct Link {
    pub(crate) next: AtomicU32,
    pub(crate) consumer: AtomicU32,
    pub(crate) meta: AtomicU32,
    /// Datum whose timeline made the edge, 0 for an explicit one.
    pub(crate) datum: AtomicU32,
}

// SAFETY: all fields are atomics, for which zero is valid.
unsafe impl Vacant for Link {}

/// The successor word taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Successors(pub(crate) u64);

impl Successors {
    const EVER_FAILED: u64 = 1 << 32;
    const OBSERVED: u64 = 1 << 33;
    /// The flags between this one and the generation: there are none but this.
    const ISSUED_BIT: u32 = 34;
    const ISSUED: u64 = 1 << Self::ISSUED_BIT;
    const GENERATION_SHIFT: u32 = 36;

    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> Self::GENERATION_SHIFT) as u32
    }

    #[inline(always)]
    pub(crate) fn head(self) -> LinkId {
        LinkId(self.0 as u32)
    }

    #[inline(always)]
    pub(crate) fn with_head(self, head: LinkId) -> Self {
        Successors((self.0 & !0xffff_ffff) | u64::from(head.0))
    }

    #[inline(always)]
    pub(crate) fn ever_failed(self) -> bool {
        self.0 & Self::EVER_FAILED != 0
    }

    #[inline(always)]
    pub(crate) fn is_observed(self) -> bool {
        self.0 & Self::OBSERVED != 0
    }

    #[inline(always)]
    pub(crate) fn observed(self) -> Self {
        Successors(self.0 | Self::OBSERVED)
    }

    #[inline(always)]
    pub(crate) fn is_issued(self) -> bool {
        self.0 & Self::ISSUED != 0
    }

    /// Whether the token of this generation is neither complete nor issued.
    #[inline(always)]
    pub(crate) fn is_awaited(self, generation: u32) -> bool {
        self.0 >> Self::ISSUED_BIT
            == u64::from(generation) << (Self::GENERATION_SHIFT - Self::ISSUED_BIT)
    }

    pub(crate) fn issued(self) -> Self {
        Successors(self.0 | Self::ISSUED)
    }

    /// The word after completion: next generation, empty list, nobody observing.
    #[inline(always)]
    pub(crate) fn moved_on(self, failed: bool) -> Self {
        Successors(
            (u64::from(self.generation() + 1) << Self::GENERATION_SHIFT)
                | (self.0 & Self::EVER_FAILED)
                | if failed { Self::EVER_FAILED } else { 0 },
        )
    }

    /// The word of a slot that has never been used.
    pub(crate) fn first() -> Self {
        Successors(1 << Self::GENERATION_SHIFT)
    }
}

/// A priority as it is kept.
#[inline(always)]
pub(crate) fn clamp_priority(priority: i32) -> i16 {
    // Nearly every one is.
    if priority == 0 {
        return 0;
    }
    priority.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

impl Node {
    /// What every node begins with: guarded, with its body's share of the holds, and well. By who has taken its slot.
    #[inline(always)]
    pub(crate) fn begin(&self) {
        self.begin_with(GUARD);
    }

    /// As `begin`, with what its pending word shall be. Gives the generation.
    #[inline(always)]
    pub(crate) fn begin_with(&self, pending: u64) -> u32 {
        let mut successors = Successors(self.successors.load(Ordering::Relaxed));
        if successors.0 == 0 {
            successors = Successors::first();
            self.successors.store(successors.0, Ordering::Relaxed);
        }
        self.pending.store(pending, Ordering::Relaxed);
        self.holds.store(BODY_SHARE, Ordering::Relaxed);
        self.cause.store(0, Ordering::Relaxed);
        self.annex.store(0, Ordering::Relaxed);
        successors.generation()
    }

    #[inline(always)]
    pub(crate) fn load_successors(&self) -> Successors {
        Successors(self.successors.load(Ordering::Acquire))
    }

    /// The token of the node's present generation.
    #[inline(always)]
    pub(crate) fn token(&self, runtime: u32, index: u32) -> Token {
        Token::new(runtime, index, self.load_successors().generation())
    }

    #[inline(always)]
    pub(crate) fn load_state(&self) -> u32 {
        self.state.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn kind(&self) -> u32 {
        self.load_state() & kind::MASK
    }

    #[inline(always)]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.load_state() & flags != 0
    }

    /// Sets flags and returns the state before.
    #[inline(always)]
    pub(crate) fn set(&self, flags: u32) -> u32 {
        self.state.fetch_or(flags, Ordering::AcqRel)
    }

    pub(crate) fn clear(&self, flags: u32) -> u32 {
        self.state.fetch_and(!flags, Ordering::AcqRel)
    }

    /// Slots in use, of a state word.
    #[inline(always)]
    pub(crate) fn slots_in(state: u32) -> usize {
        (state >> SLOTS_SHIFT & 7) as usize
    }

    /// State bits that say how many slots are in use.
    #[inline(always)]
    pub(crate) fn slot_bits(slots: usize) -> u32 {
        (slots as u32) << SLOTS_SHIFT
    }

    #[inline(always)]
    pub(crate) fn set_name_priority(&self, name: *const c_char, priority: i32) {
        let priority = clamp_priority(priority) as u16;
        self.name_priority.store(
            ((name as u64) << 16) | u64::from(priority),
            Ordering::Relaxed,
        );
    }

    #[inline(always)]
    pub(crate) fn priority(&self) -> i16 {
        self.name_priority.load(Ordering::Relaxed) as u16 as i16
    }

    /// Name as the submitter gave it, NULL if none.
    pub(crate) fn name(&self) -> *const c_char {
        (self.name_priority.load(Ordering::Relaxed) >> 16) as usize as *const c_char
    }

    /// Notes the first cause that dooms the node; later ones are ignored.
    #[inline(always)]
    pub(crate) fn doom(&self, cause: u32) {
        // Relaxed: published by the subtraction from `pending` that follows.
        let _ = self
            .cause
            .compare_exchange(0, cause, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether the generation after this one may not be used.
    pub(crate) fn is_worn_out(generation: u32) -> bool {
        generation >= LAST_GENERATION
    }
}
