//! MPI_Finalize while a world is attached: norn lets go of MPI at once, and what was under way fails.
//!
//! MPI calls `mpi_ends` when MPI_Finalize begins, on the thread that called it. The hook waits for a pass that is under
//! way (the engine's lock), and after it no pass calls MPI any more: two threads in MPI, one of them in MPI_Finalize, is
//! what the hook is there to prevent. While MPI still works it tells the other ranks, which would wait for this one, and
//! takes back the posted receives. Tokens are completed by the next pass, as always; the hook runs nothing of the
//! application's.

use std::sync::atomic::Ordering;

use super::control::{Control, Record};
use super::engine::{Cancelled, Engine, Finished};
use super::table::{NORN_MPI_ACTIVE, NORN_MPI_NO_HANDLE};
use super::world::{World, life};
use super::worlds;
use crate::abi::status::NORN_E_MPI;
use crate::run::runtime::Runtime;

/// Looks at the requests that are given up, so that what is said to the others goes out. No more, because what depends
/// on another rank may not be waited for here.
const LAST_LOOKS: usize = 100;

/// MPI_Finalize begins. `comm`: of the communicator that a world was attached to, or of all.
pub(crate) unsafe extern "C" fn mpi_ends(comm: i32) {
    // Nothing may unwind into MPI; what is half done here is over anyway.
    let _ = std::panic::catch_unwind(|| {
        for world in worlds::all() {
            if comm == NORN_MPI_NO_HANDLE || world.given == comm {
                world.let_go_of_mpi();
            }
        }
    });
}

impl World {
    /// Whether MPI may be called.
    pub(crate) fn has_mpi(&self) -> bool {
        !self.mpi_gone.load(Ordering::SeqCst) && self.calls.state() == NORN_MPI_ACTIVE
    }

    fn let_go_of_mpi(&self) {
        let mut engine = self.engine.lock();
        if self.life.load(Ordering::SeqCst) == life::OVER || !self.has_mpi() {
            return;
        }
        if engine.failed.is_none() {
            engine.tell_all(self.rank, &Control::Fail(self.too_early()));
        }
        engine.cancel_receives(None, Cancelled::Failed);
        engine.stop_listening();
        engine.look_a_last_time();
        self.mpi_gone.store(true, Ordering::SeqCst);
        // The next pass ends what is left.
        self.busy.store(1, Ordering::SeqCst);
    }

    fn too_early(&self) -> Record {
        Record {
            status: NORN_E_MPI,
            rank: self.rank,
            worker: -1,
            operation: "MPI_Finalize".into(),
            text: format!(
                "MPI_Finalize was called on rank {} before norn_close or norn_world_detach",
                self.rank
            ),
            ..Record::default()
        }
    }

    /// MPI is gone, and so is everything that was under way. Returns as `take_notes`.
    pub(crate) fn outlive_mpi(
        &self,
        runtime: &Runtime,
        engine: &mut Engine,
        finished: &mut Finished,
    ) -> usize {
        if engine.failed.is_none() {
            let record = self.too_early();
            self.complain(runtime, &record.text);
            engine.failed = Some(record);
        }
        if !engine.forsaken {
            engine.forsaken = true;
            engine.forsake(finished);
        }
        let taken = self.take_notes(runtime, engine, finished);
        engine.post_ready(self, runtime, finished);
        self.settled.store(true, Ordering::SeqCst);
        taken
    }
}

impl Engine {
    fn look_a_last_time(&mut self) {
        let mut done = Vec::new();
        let slots = self.slots();
        for _ in 0..LAST_LOOKS {
            if self.requests.test(&slots, &mut done).is_err() {
                return;
            }
        }
    }
}
