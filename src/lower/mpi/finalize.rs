//! MPI_Finalize while a world is attached: norn lets go of MPI at once, and what was under way fails.
//!
//! MPI calls `mpi_ends` when MPI_Finalize begins, on the thread that called it and while MPI still works. The hook fails
//! the world on all ranks and takes the steps of a detach (`ending`) without waiting for work of this rank: it says Bye,
//! takes in what comes, joins agreements, and returns when every rank has said its last word. So nothing is posted when
//! MPI goes on, and nobody waits in vain for this rank. Ranks that have not come to their end yet are waited for,
//! as MPI_Finalize itself does.
//!
//! After it no pass calls MPI: two threads in MPI, one of them in MPI_Finalize, is what the hook is there to prevent.
//! Tokens are completed by the next pass, as always; the hook runs nothing of the application's.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::control::{Control, Record};
use super::engine::{Engine, Finished};
use super::table::{NORN_MPI_ACTIVE, NORN_MPI_NO_HANDLE};
use super::world::{World, life};
use super::worlds;
use crate::abi::status::NORN_E_MPI;
use crate::run::home;
use crate::run::runtime::Runtime;

/// Between two passes that have brought nothing.
const PAUSE: Duration = Duration::from_micros(50);

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
        let handle = core::ptr::without_provenance_mut(self.runtime);
        // Held, so that a close on another thread does not free the runtime; none where it is gone already.
        let Ok(runtime) = home::resolve_waiting(handle) else {
            self.mpi_gone.store(true, Ordering::SeqCst);
            return;
        };
        let mut finished = Finished::new();
        {
            let mut engine = self.engine.lock();
            if self.life.load(Ordering::SeqCst) == life::OVER || !self.has_mpi() {
                return;
            }
            let record = self.too_early();
            self.complain(&runtime, &record.text);
            if engine.failed.is_none() {
                engine.tell_all(self.rank, &Control::Fail(record.clone()));
                engine.fail_world(self, record, &mut finished);
            }
            engine.say_bye(self);
        }
        self.see_all_off(&runtime, &mut finished);
        let mut engine = self.engine.lock();
        self.give_back_to_mpi(&runtime, &mut engine);
        self.mpi_gone.store(true, Ordering::SeqCst);
        self.held.lock().append(&mut finished);
        // The next pass ends what is left.
        self.busy.store(1, Ordering::SeqCst);
        drop(engine);
        runtime.offer_duty();
    }

    /// Passes until every rank has said its last word.
    fn see_all_off(&self, runtime: &Runtime, finished: &mut Finished) {
        while !self.settled.load(Ordering::SeqCst) {
            if !self.run_engine(runtime, true, finished) {
                std::thread::sleep(PAUSE);
            }
        }
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
            // Without a word before: an MPI that does not call the hook.
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
