//! A rank closes and cancels (`NORN_CANCEL`).
//!
//! Cancelling ends what has not started. A message that MPI has cannot be taken back, and the other rank may take it in
//! only after something that this rank will never do. So, when nothing else is left here, it says `Quit` to all: its
//! receives are cancelled, and the others fail all that they have with it, whatever has come, and take in and drop what
//! it has sent. Between the other ranks nothing changes. Bye and Fin come later, as in any end.

use super::calls::Failed;
use super::control::Control;
use super::engine::{Cancelled, Engine, Finished, How, closed};
use super::table::{NORN_MPI_ANY, norn_mpi_done};
use super::world::World;

/// Most bytes that are kept because some rank stands still (`still`).
const MOST_KEPT: usize = 64 << 20;

impl Engine {
    /// This rank closes and cancels.
    pub(crate) fn quit(&mut self, world: &World, finished: &mut Finished) {
        if self.said_quit || self.said_bye || self.failed.is_some() {
            return;
        }
        self.said_quit = true;
        self.sinks = true;
        self.tell_all(world.rank, &Control::Quit);
        self.cancel_receives(None, Cancelled::Quit);
        self.call_all(world, finished);
    }

    /// Another rank does.
    pub(crate) fn has_quit(&mut self, peer: i32) {
        self.heard_leave = true;
        self.peers.quits(peer);
        self.check_bye(peer);
        self.call_leaver(peer);
    }

    /// Whether there are ranks that leave and whose messages have not all come.
    pub(crate) fn has_leavers(&self) -> bool {
        self.peers.has_leavers()
    }

    /// This rank posts something: what comes now may have its receive soon, and need not be copied.
    pub(crate) fn goes_on(&mut self) {
        self.resting.takes_in = false;
        self.still.takes_in = false;
    }

    /// Whether what no receive is posted for is taken in, from all ranks.
    pub(crate) fn takes_in(&self) -> bool {
        self.sinks || self.resting.takes_in || self.still.takes_in
    }

    /// A message that no receive was posted for, of those that are taken in.
    pub(crate) fn probe(&self, comm: i32) -> Result<Option<norn_mpi_done>, Failed> {
        if self.sinks || self.resting.takes_in {
            return self.calls().probe(NORN_MPI_ANY, comm);
        }
        if self.still.takes_in {
            // Others may be at work: what they send is not to fill this rank's memory.
            let room = MOST_KEPT.saturating_sub(self.kept.bytes()) as i64;
            let found = self.calls().probe(NORN_MPI_ANY, comm)?;
            if let Some(message) = found.filter(|message| message.bytes <= room) {
                return Ok(Some(message));
            }
        }
        for (rank, peer) in self.peers.iter() {
            if peer.is_leaver()
                && let Some(message) = self.calls().probe(rank, comm)?
            {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}

/// The end of a message of a rank that has quit.
pub(crate) fn quits(rank: i32) -> How {
    closed(format!("rank {rank} closes and cancels"))
}
