//! Hushes: below MPI_THREAD_MULTIPLE the application has MPI for itself from the return of `norn_world_flush` until it calls
//! norn again.
//!
//! Under MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED that is so anyway: one thread alone calls MPI. Under MPI_THREAD_SERIALIZED
//! norn's threads take turns (`Process::turn`), and between two norn calls they go on as long as anything is under way. An
//! application that calls MPI then has no turn to take, so a flush that has succeeded leaves the process *hushed*.
//!
//! MPI is one per process, and so is a hush: it holds for all worlds of all runtimes. Any call of the application's ends it,
//! but for the few that name no runtime and mean nothing (`guard_anywhere`). Calls that bodies and callbacks make do not:
//! norn has called those, and the application may be inside MPI meanwhile.
//!
//! # Protocol
//!
//! *Flush* locks the engines of all worlds of the process, looks once more whether all that is ready is posted, and sets
//! `hushed` under the process's turn. So
//!
//! - no pass is in the middle of its work then, and each one that comes finds `hushed` when it has its engine's lock, and leaves
//!   everything as it is. What wants a pass wants it still, but no thread of norn's does (`wants_pass`): who has the duty gives it
//!   back and parks, and nobody looks again and again.
//! - what would call MPI beside the passes leaves a note in place of it (`post_at_once`, `straight`), or waits for the end of the
//!   hush before it locks the engine (`engine_to_call`): detaching, making lanes, and asking MPI about a type or an operation of
//!   its own, which the body that declares with it waits for. Nobody waits with an engine's lock, but for a pass over a world
//!   that was attached by another thread while the flush locked the engines of the others.
//! - whoever calls MPI without an engine's lock (attaching), or was overlooked, has a turn or waits for one, and a turn is given
//!   only outside of a hush. This alone is what the promise rests on: under the lock of the turn, no call is under way when
//!   `hushed` is set, and none begins before it is taken back. The rest keeps threads from being stopped in the middle.
//!
//! *The next call* takes `hushed` back under the turn, wakes who waits for that, and offers the duty: as for any other want of a
//! pass, the want (`hushed` is gone) can be seen before the offer is made (`run::duty`). It needs no engine's lock, so it
//! waits for nobody. It finds a hush by one relaxed look at `HUSHED`: the application itself orders its call behind the
//! flush's return, by being the same thread or by what its threads tell each other, and who is ordered so sees what the flush
//! has stored.
//!
//! Not in turn are `MPI_Abort`, after which nothing matters, and what every MPI takes from any thread at any time
//! (`MPI_Finalized`); passes do not ask even that in a hush.
//!
//! `sim` has many ranks in one process, and hushes each for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::engine::Engine;
use super::table::NORN_MPI_NO_HANDLE;
use super::world::World;
use super::worlds;
use crate::abi::types::norn_runtime;
use crate::run::{home, seat};

/// What MPI takes for one process.
pub(crate) struct Process {
    /// In `sim`, the communicator that its worlds were attached to.
    comm: i32,
    /// Held in each call under MPI_THREAD_SERIALIZED. Each world has a lock of its own, and a process may have several; no call
    /// waits for another rank, so none is held up for long.
    turn: Mutex<()>,
    /// A hush is over.
    over: Condvar,
    /// Written under `turn`.
    hushed: AtomicBool,
}

/// The process itself.
static REAL: Process = Process::new(NORN_MPI_NO_HANDLE);

/// What `sim` takes for processes. Few enough to stay.
static SIMULATED: Mutex<Vec<&'static Process>> = Mutex::new(Vec::new());

/// Processes that are hushed. Looked at by every call of the application's, and alone in its line of the cache for that.
static HUSHED: CachePadded<AtomicUsize> = CachePadded::new(AtomicUsize::new(0));

/// The process that calls MPI.
pub(crate) fn real() -> &'static Process {
    &REAL
}

/// A process of `sim`'s.
pub(crate) fn simulated(comm: i32) -> &'static Process {
    let mut known = SIMULATED.lock();
    if let Some(process) = known.iter().find(|process| process.comm == comm) {
        return process;
    }
    let process: &Process = Box::leak(Box::new(Process::new(comm)));
    known.push(process);
    process
}

/// The application calls norn, or something that norn has called does. `rt`: the runtime that it names, if any.
#[inline(always)]
pub(crate) fn is_called(rt: *mut norn_runtime) {
    if HUSHED.load(Ordering::Relaxed) != 0 {
        is_called_in_hush(rt);
    }
}

#[cold]
fn is_called_in_hush(rt: *mut norn_runtime) {
    if seat::is_called_by_norn() {
        return;
    }
    REAL.end_hush();
    let simulated: Vec<_> = SIMULATED.lock().iter().copied().collect();
    for process in simulated {
        let is_named = |world: &Arc<World>| world.runtime == rt as usize;
        if process.is_hushed() && process.worlds().iter().any(is_named) {
            process.end_hush();
        }
    }
}

impl Process {
    const fn new(comm: i32) -> Self {
        Self {
            comm,
            turn: Mutex::new(()),
            over: Condvar::new(),
            hushed: AtomicBool::new(false),
        }
    }

    /// The right to call MPI, while it is kept. Waits for the end of a hush.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        let mut turn = self.turn.lock();
        self.over
            .wait_while(&mut turn, |()| self.hushed.load(Ordering::Relaxed));
        turn
    }

    /// Whether norn leaves MPI to the application. Of a world, stays as it is while its engine is locked, but where it was
    /// attached at that very moment.
    pub(crate) fn is_hushed(&self) -> bool {
        self.hushed.load(Ordering::SeqCst)
    }

    fn worlds(&self) -> Vec<Arc<World>> {
        let mut worlds = worlds::all();
        worlds.retain(|world| core::ptr::eq(world.process(), self));
        worlds
    }

    /// From here on norn leaves MPI to the application, if `is_flushed` holds while no pass is under way. Returns whether.
    fn hush(&self, is_flushed: &dyn Fn() -> bool) -> bool {
        let mut worlds = self.worlds();
        // Two flushes lock them in the same order.
        worlds.sort_by_key(|world| Arc::as_ptr(world).addr());
        let _engines: Vec<_> = worlds.iter().map(|world| world.engine.lock()).collect();
        if !is_flushed() {
            return false;
        }
        let _turn = self.turn.lock();
        if !self.hushed.swap(true, Ordering::SeqCst) {
            HUSHED.fetch_add(1, Ordering::SeqCst);
        }
        true
    }

    /// norn calls MPI again.
    fn end_hush(&self) {
        let was_hushed = {
            let _turn = self.turn.lock();
            self.hushed.swap(false, Ordering::SeqCst)
        };
        if !was_hushed {
            return;
        }
        HUSHED.fetch_sub(1, Ordering::SeqCst);
        self.over.notify_all();
        for world in self.worlds() {
            let handle = core::ptr::without_provenance_mut(world.runtime);
            if let Ok(runtime) = home::resolve_waiting(handle) {
                runtime.offer_duty();
            }
        }
    }
}

impl World {
    fn process(&self) -> &'static Process {
        self.calls.process()
    }

    /// Whether norn leaves MPI to the application. To be asked again under the engine's lock by who would call MPI.
    pub(crate) fn is_hushed(&self) -> bool {
        self.process().is_hushed()
    }

    /// A flush has posted all that is ready, as `is_flushed` says: leaves MPI to the application, where it needs that. False:
    /// something has become ready meanwhile.
    pub(super) fn leave_mpi_alone(&self, is_flushed: &dyn Fn() -> bool) -> bool {
        // A task of another runtime's calls on after the flush, and none of its calls would end the hush.
        let needs_it = self.calls.are_serialized() && !seat::is_called_by_norn();
        !needs_it || self.process().hush(is_flushed)
    }

    /// Its process calls MPI again.
    pub(super) fn end_hush(&self) {
        self.process().end_hush();
    }

    /// The engine, for a call of MPI's that cannot be left to a pass. Waits for the end of a hush.
    pub(super) fn engine_to_call(&self) -> crate::sync::MutexGuard<'_, Engine> {
        loop {
            if self.is_hushed() {
                drop(self.process().turn());
            }
            let engine = self.engine.lock();
            if !self.is_hushed() {
                return engine;
            }
        }
    }
}
