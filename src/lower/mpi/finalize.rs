//! MPI_Finalize while a world is attached: norn lets go of MPI at once, and what was under way fails.
//!
//! MPI calls `mpi_ends` when MPI_Finalize begins, on the thread that called it and while MPI still works. Two threads in
//! MPI, one of them in MPI_Finalize, is what it is there to prevent: an MPI may have taken its locks away by then. So the
//! hook first makes all worlds its own (`finalizer`): it waits for each pass to leave MPI, and no other thread's begins,
//! for any of the worlds, before the hook itself calls MPI for the first of them.
//!
//! Then it fails the worlds on all ranks and takes the steps of a detach (`ending`) without waiting for work of this
//! rank: it says Bye, takes in what comes, joins agreements, and returns when every rank has said its last word. So
//! nothing is posted when MPI goes on, and nobody waits in vain for this rank. Ranks that have not come to their
//! end yet are waited for, as MPI_Finalize itself does. All worlds go on together: each rank may have them in another
//! order.
//!
//! After it no pass calls MPI. Tokens are completed by the next pass, as always; the hook runs nothing of the
//! application's.
//!
//! What no hook can mend: MPICH takes its locks away before it calls the hook. A thread that is inside MPI at this very
//! moment leaves a lock taken, and MPI_Finalize ends the program when it finds it so.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::control::{Control, Record};
use super::engine::{Engine, Finished};
use super::table::{NORN_MPI_ACTIVE, NORN_MPI_NO_HANDLE};
use super::world::{World, life, thread_number};
use super::worlds;
use crate::abi::status::{NORN_E_MPI, NORN_E_STATE};
use crate::error::{Error, Result};
use crate::run::home;
use crate::run::runtime::Runtime;

/// Between two passes that have brought nothing.
const PAUSE: Duration = Duration::from_micros(50);

/// MPI_Finalize begins. `comm`: of the communicator that a world was attached to, or of all.
pub(crate) unsafe extern "C" fn mpi_ends(comm: i32) {
    // Nothing may unwind into MPI.
    let ended = std::panic::catch_unwind(|| {
        let mut worlds = worlds::all();
        worlds.retain(|world| {
            (comm == NORN_MPI_NO_HANDLE || world.given == comm) && world.take_from_passes()
        });
        // Nobody but this thread calls MPI for them any more, hushed or not.
        for world in &worlds {
            world.end_hush();
        }
        let mut farewells: Vec<_> = worlds
            .iter()
            .filter_map(|world| world.begin_to_leave())
            .collect();
        see_all_off(&mut farewells);
        for farewell in farewells {
            farewell.end();
        }
    });
    if ended.is_err() {
        // What is half done is over anyway, and nobody waits for this thread.
        for world in worlds::all() {
            world.mpi_gone.store(true, Ordering::SeqCst);
            world.finalizer.store(0, Ordering::SeqCst);
        }
    }
}

/// A world that leaves MPI for good, on the thread that is in MPI_Finalize.
struct Farewell<'a> {
    world: &'a World,
    /// Held, so that a close on another thread does not free it.
    runtime: home::Kept,
    finished: Finished,
}

impl World {
    /// Whether MPI may be called by this thread. To be asked under the engine's lock, which is held until the call is over.
    pub(crate) fn has_mpi(&self) -> bool {
        !self.mpi_gone.load(Ordering::SeqCst)
            && !self.is_anothers()
            && self.calls.state() == NORN_MPI_ACTIVE
    }

    /// As `has_mpi`, with what a call into norn returns otherwise.
    pub(crate) fn check_mpi(&self) -> Result<()> {
        match self.has_mpi() {
            true => Ok(()),
            false => Err(Error::new(
                NORN_E_STATE,
                "MPI_Finalize has been called, or is being called by another thread",
            )),
        }
    }

    /// Whether another thread is in MPI_Finalize, and alone calls MPI.
    pub(crate) fn is_anothers(&self) -> bool {
        let finalizer = self.finalizer.load(Ordering::SeqCst);
        finalizer != 0 && finalizer != thread_number()
    }

    /// From here on only this thread calls MPI for the world. False: nobody will, the world has ended.
    fn take_from_passes(&self) -> bool {
        // A pass holds the lock as long as it may be inside MPI.
        let _engine = self.engine.lock();
        if self.life.load(Ordering::SeqCst) == life::OVER || !self.has_mpi() {
            return false;
        }
        self.finalizer.store(thread_number(), Ordering::SeqCst);
        true
    }

    /// Fails what is under way and says Bye.
    fn begin_to_leave(&self) -> Option<Farewell<'_>> {
        let handle = core::ptr::without_provenance_mut(self.runtime);
        let Ok(runtime) = home::resolve_waiting(handle) else {
            // Its runtime is gone, so nothing of it is under way.
            self.mpi_gone.store(true, Ordering::SeqCst);
            return None;
        };
        let mut finished = Finished::new();
        let mut engine = self.engine.lock();
        let record = self.too_early();
        self.complain(&runtime, &record.text);
        if engine.failed.is_none() {
            engine.tell_all(self.rank, &Control::Fail(record.clone()));
            engine.fail_world(self, record, &mut finished);
        }
        engine.say_bye(self);
        drop(engine);
        Some(Farewell {
            world: self,
            runtime,
            finished,
        })
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
        engine.post_held(self, runtime, finished);
        self.settled.store(true, Ordering::SeqCst);
        taken
    }
}

/// Passes until every rank has said its last word in every world.
fn see_all_off(farewells: &mut [Farewell<'_>]) {
    loop {
        let (mut over, mut went_on) = (true, false);
        for Farewell {
            world,
            runtime,
            finished,
        } in &mut *farewells
        {
            if !world.settled.load(Ordering::SeqCst) {
                over = false;
                went_on |= world.run_engine(runtime, true, finished);
            }
        }
        if over {
            return;
        }
        if !went_on {
            std::thread::sleep(PAUSE);
        }
    }
}

impl Farewell<'_> {
    /// Gives back what MPI holds. What is left is ended by the next pass of any thread.
    fn end(mut self) {
        let world = self.world;
        let mut engine = world.engine.lock();
        world.give_back_to_mpi(&self.runtime, &mut engine);
        world.mpi_gone.store(true, Ordering::SeqCst);
        world.finalizer.store(0, Ordering::SeqCst);
        world.held.lock().append(&mut self.finished);
        world.busy.store(1, Ordering::SeqCst);
        drop(engine);
        self.runtime.offer_duty();
    }
}
