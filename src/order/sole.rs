//! A graph that one thread alone has changed so far, and its words without locked instructions.
//!
//! A runtime with one worker that is its opener (`NORN_CALLER_WORKS`) is changed by that thread, the *sitter*, alone until
//! another one makes a call: for good, in a program with one thread a rank. Until then the straight path changes the
//! words of nodes and epochs by a load and a store where it otherwise needs a locked instruction, eighteen of them in a
//! task of a stencil. Each lets all stores before it reach the cache first, so it costs more than itself.
//!
//! # Protocol
//!
//! `state` goes from SOLE to BEING_SHARED to SHARED (and to and fro between these two, where several share at once), and
//! back to SOLE only where a runtime is opened and nobody else knows it. A graph that was never claimed is SHARED.
//!
//! *The sitter* takes a step (a submission, a start or an end on the straight path) like this: it sets `inside`, passes
//! the light fence and reads `state`. If that is SOLE, the step is alone. It clears `inside` at the end of the step
//! (release), or when a panic leaves it. A step calls nothing of the application's, has no other inside it, and waits for
//! no thread that shares: those wait before they take any lock. The sitter's other changes, on the general path, are
//! locked instructions as always; one thread may mix the two.
//!
//! *Anybody else*, before it changes or locks anything of the graph, shares it (`share`): unless `state` is SHARED
//! (acquire), it sets BEING_SHARED, passes the heavy fence, waits until `inside` is clear (acquire), and sets SHARED
//! (release). Several may do this at once; each has waited itself or has seen SHARED from one that had.
//!
//! *No change is lost:* for each step, of its light fence and a sharer's heavy fence one comes first. If the step's is
//! first, the sharer sees `inside` set, by this step or by a later one, waits, and then sees all that the step has
//! written. If the sharer's is first, the step sees that the state is not SOLE, and is not alone; nor is any
//! after it, for the sitter's reads of one word do not go back. So no step is alone once a sharer goes on.
//!
//! # Who shares, and where
//!
//! - Every call that names a runtime, if its thread does not sit in that (`home::resolve`).
//! - Whoever sits down in the runtime or stands up (`seat`), so that the sitter is one thread: a body that waits gives up its
//!   seat first, a spare that takes it sits down.
//! - Whoever makes a thread for the runtime (`threads`) or adds a lowering (`lowerings`), which has handles, threads and
//!   calls of its own. The watchdog only reads, and shares before it reports.
//! - Each change by a thread without a seat once more (`Runtime::act`), in case a way in is added that is forgotten here.

use core::marker::PhantomData;

use crate::asymmetric;
use crate::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::sync::mutant;
use crossbeam_utils::CachePadded;

const SHARED: u32 = 0;
const BEING_SHARED: u32 = 1;
const SOLE: u32 = 2;

/// Looks at a step in progress before its thread is given the core.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// See the module's text.
#[derive(Default)]
pub(crate) struct Sole(CachePadded<State>);

#[derive(Default)]
struct State {
    state: AtomicU32,
    /// 1: the sitter takes a step that may be alone.
    inside: AtomicU32,
}

impl Sole {
    /// The calling thread will be the sitter. Nobody else knows the graph.
    pub(crate) fn claim(&self) {
        // With an ordinary fence in each step nothing would be gained.
        if asymmetric::is_cheap() {
            self.0.state.store(SOLE, Ordering::Release);
        }
    }

    /// Back to what it is without a claim. Nobody else knows the graph.
    pub(crate) fn renew(&self) {
        self.0.inside.store(0, Ordering::Relaxed);
        self.0.state.store(SHARED, Ordering::Release);
    }

    /// Whether everybody may change the graph. If not, all but the sitter share it first.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == SHARED
    }

    /// Afterwards no step is alone. Not from inside a step.
    #[inline(always)]
    pub(crate) fn share(&self) {
        if !self.is_shared() {
            self.share_now();
        }
    }

    #[cold]
    fn share_now(&self) {
        // One that is about to set SHARED does so after a wait of its own, and this one waits all the same.
        self.0.state.store(BEING_SHARED, Ordering::SeqCst);
        asymmetric::heavy();
        let mut looks = 0u32;
        while self.0.inside.load(Ordering::Acquire) != 0 && !mutant!("unawaited_step") {
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                crate::sync::thread::yield_now();
            } else {
                crate::sync::hint::spin_loop();
            }
        }
        self.0.state.store(SHARED, Ordering::Release);
    }

    /// Begins a step of the straight path that is alone. None: it is not, and begins by itself. By the sitter, or when the
    /// graph is shared.
    #[inline(always)]
    pub(crate) fn step(&self) -> Option<Step<'_>> {
        if self.0.state.load(Ordering::Relaxed) != SOLE {
            return None;
        }
        self.0.inside.store(1, Ordering::Relaxed);
        if !mutant!("unfenced_step") {
            asymmetric::light();
        }
        let step = Step(self);
        (self.0.state.load(Ordering::Relaxed) == SOLE).then_some(step)
    }
}

/// A step that is alone, until it is dropped.
pub(crate) struct Step<'a>(&'a Sole);

impl Step<'_> {
    /// How it changes words.
    #[inline(always)]
    pub(crate) fn words(&self) -> Alone<'_> {
        Alone(PhantomData)
    }
}

impl Drop for Step<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.0.inside.store(0, Ordering::Release);
    }
}

/// How a step changes words that others read, and may change too. What others do before their changes is seen after a
/// change here, and the other way round.
pub(crate) trait Words: Copy {
    /// Adds, and gives what was there before.
    fn add(self, word: &AtomicU64, by: u64) -> u64;
    /// Takes off, and gives what was there before.
    fn subtract(self, word: &AtomicU64, by: u64) -> u64;
    /// As `add`. `order`: of the change, where it can be said.
    fn add_signed(self, word: &AtomicI64, by: i64, order: Ordering) -> i64;
    /// As `add`.
    fn add_small(self, word: &AtomicU32, by: u32) -> u32;
    /// Puts `next` there, and gives what was there before; at the last look that was `seen`.
    fn swap(self, word: &AtomicU64, seen: u64, next: u64) -> u64;
    /// Puts `next` there if what was `seen` at the last look still is. It may fail all the same.
    fn replace(self, word: &AtomicU64, seen: u64, next: u64) -> bool;
}

/// Others may change them at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Shared;

impl Words for Shared {
    #[inline(always)]
    fn add(self, word: &AtomicU64, by: u64) -> u64 {
        word.fetch_add(by, Ordering::AcqRel)
    }

    #[inline(always)]
    fn subtract(self, word: &AtomicU64, by: u64) -> u64 {
        word.fetch_sub(by, Ordering::AcqRel)
    }

    #[inline(always)]
    fn add_signed(self, word: &AtomicI64, by: i64, order: Ordering) -> i64 {
        word.fetch_add(by, order)
    }

    #[inline(always)]
    fn add_small(self, word: &AtomicU32, by: u32) -> u32 {
        word.fetch_add(by, Ordering::AcqRel)
    }

    #[inline(always)]
    fn swap(self, word: &AtomicU64, _: u64, next: u64) -> u64 {
        word.swap(next, Ordering::AcqRel)
    }

    #[inline(always)]
    fn replace(self, word: &AtomicU64, seen: u64, next: u64) -> bool {
        word.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Nobody else changes them during the step that this came from.
#[derive(Clone, Copy)]
pub(crate) struct Alone<'a>(PhantomData<&'a ()>);

impl Words for Alone<'_> {
    #[inline(always)]
    fn add(self, word: &AtomicU64, by: u64) -> u64 {
        let before = word.load(Ordering::Relaxed);
        word.store(before.wrapping_add(by), Ordering::Release);
        before
    }

    #[inline(always)]
    fn subtract(self, word: &AtomicU64, by: u64) -> u64 {
        let before = word.load(Ordering::Relaxed);
        word.store(before.wrapping_sub(by), Ordering::Release);
        before
    }

    #[inline(always)]
    fn add_signed(self, word: &AtomicI64, by: i64, _: Ordering) -> i64 {
        let before = word.load(Ordering::Relaxed);
        word.store(before.wrapping_add(by), Ordering::Release);
        before
    }

    #[inline(always)]
    fn add_small(self, word: &AtomicU32, by: u32) -> u32 {
        let before = word.load(Ordering::Relaxed);
        word.store(before.wrapping_add(by), Ordering::Release);
        before
    }

    #[inline(always)]
    fn swap(self, word: &AtomicU64, seen: u64, next: u64) -> u64 {
        word.store(next, Ordering::Release);
        seen
    }

    #[inline(always)]
    fn replace(self, word: &AtomicU64, _: u64, next: u64) -> bool {
        word.store(next, Ordering::Release);
        true
    }
}
