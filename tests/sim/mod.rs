//! `sim`: MPI inside one process, behind the table that every MPI plug-in answers. For tests only, so it lies here
//! and not in the library: `tests/random_worlds` compiles it in, and C tests load it as a plug-in (`plugin.rs`).
//!
//! A job is a set of ranks; each of its ranks is a runtime of norn, driven by a thread of its own. A communicator's
//! integer stands for one rank of one communicator, so that the table's calls know who calls.
//!
//! Time is a counter that each test of requests moves on. A message arrives a random number of ticks after it was
//! sent, but never before an earlier one of the same way and tag, which is all the order that MPI promises to
//! receives that name both. Sends up to `eager` bytes end soon; longer ones when they are received. Everything
//! random comes from the job's seed; which thread calls when does not.
//!
//! What an MPI would leave undefined stops the process here, with the reason: a call that the thread level does not
//! allow, two threads in one set of requests, a communicator freed while requests on it are pending.

mod calls;
mod collective;
mod inside;
mod message;
mod requests;
mod state;
#[allow(missing_docs)] // the library has them in its own build
#[path = "../../src/lower/mpi/table.rs"]
pub mod table;
mod types;

pub use calls::table;
#[allow(unused_imports)] // not by every test that compiles this in
pub use state::{Config, Counters, thread_number};

use std::sync::atomic::Ordering::SeqCst;

use state::{OWNERS, state};

/// A running job.
pub struct Job {
    number: usize,
    /// A communicator of all ranks, for each rank.
    pub comms: Vec<i32>,
}

impl Job {
    pub fn start(config: Config) -> Self {
        let (number, comms) = state().start(config);
        Self { number, comms }
    }

    /// Makes the calling thread the one that has initialised MPI on a rank.
    pub fn initialise_here(&self, rank: usize) {
        let owner = state().owner_of(self.comms[rank]);
        let me = state::thread_number();
        OWNERS[owner].main.store(me, SeqCst);
    }

    /// MPI_Finalize on a rank: tells who asked for it, and from then on each call of that rank stops the process. So
    /// does a call of another thread of the rank once the one that was told has begun to call.
    pub fn finalize(&self, rank: usize) {
        let comm = self.comms[rank];
        let then = state().then.get(&comm).copied();
        let owner = &OWNERS[state().owner_of(comm)];
        owner.finalizer.store(state::thread_number(), SeqCst);
        if let Some(then) = then {
            // SAFETY: what was given to `at_finalize`.
            unsafe { then(comm) };
        }
        owner.ended.store(1, SeqCst);
    }

    /// Whether any rank has called MPI_Finalize.
    pub fn has_ended(&self) -> bool {
        let ended = |comm: &i32| {
            let owner = state().owner_of(*comm);
            OWNERS[owner].ended.load(SeqCst) != 0
        };
        self.comms.iter().any(ended)
    }

    /// The rank dies: its calls fail, and so does what others have under way with it.
    pub fn kill(&self, rank: usize) {
        state().kill(self.number, rank);
    }

    /// Whether the rank's tests of requests show the ends of sends only: the others are shown in one batch when it is let
    /// go.
    pub fn hold(&self, rank: usize, held: bool) {
        state().jobs[self.number].held[rank] = held;
    }

    /// Messages of a tag to the rank do not arrive before it cancels a receive: between the cancel of one and the next.
    #[allow(dead_code)] // not by every test that compiles this in
    pub fn withhold(&self, rank: usize, tag: i32) {
        state().jobs[self.number].withheld[rank] = Some(tag);
    }

    pub fn counters(&self) -> Counters {
        state().jobs[self.number].counters.clone()
    }

    /// Calls that a rank has made, of those that name a communicator or a set of requests.
    #[allow(dead_code)] // not by every test that compiles this in
    pub fn calls(&self, rank: usize) -> u64 {
        let owner = state().owner_of(self.comms[rank]);
        OWNERS[owner].made.load(SeqCst)
    }

    /// Communicators that exist, the job's own not counted, over all ranks.
    pub fn communicators(&self) -> usize {
        state().communicators(self.number) - self.comms.len()
    }

    /// Communicators as `communicators` counts them in which some rank waits in a collective that not all have called.
    pub fn stuck_communicators(&self) -> usize {
        state().stuck_communicators(self.number)
    }

    /// Messages that nobody has received.
    pub fn leftovers(&self) -> usize {
        state().leftovers(self.number)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        state().forget(self.number);
    }
}
