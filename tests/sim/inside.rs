//! Which thread may be inside a call on a rank: what no MPI allows at its thread level stops the process.

use std::sync::atomic::Ordering::SeqCst;

use super::requests::index_of;
use super::state::{OWNERS, state, thread_number, violation};
use super::table::*;

/// Checks that a thread may call MPI on a rank, while it does. With the rank, whether it is the only one inside.
pub struct Inside(Option<(usize, bool)>);

impl Inside {
    fn of(owner: Option<usize>) -> Self {
        let Some(owner) = owner else {
            return Self(None);
        };
        let rank = &OWNERS[owner];
        let me = thread_number();
        if rank.ended.load(SeqCst) != 0 {
            violation("a call after MPI_Finalize");
        }
        let others = rank.calls.fetch_add(1, SeqCst);
        rank.made.fetch_add(1, SeqCst);
        if rank.finalizer.load(SeqCst) == me {
            rank.leaves.store(1, SeqCst);
            if others != 0 {
                violation(
                    "MPI_Finalize calls norn, which calls MPI while another thread is inside",
                );
            }
        } else if rank.leaves.load(SeqCst) != 0 {
            violation("a call while another thread is in MPI_Finalize");
        }
        match rank.level.load(SeqCst) as i32 {
            NORN_MPI_THREAD_MULTIPLE => return Self(Some((owner, false))),
            NORN_MPI_THREAD_SERIALIZED => {}
            _ if rank.main.load(SeqCst) == me => {}
            level => violation(&format!(
                "thread level {level}: a call from another thread than the one that initialised MPI"
            )),
        }
        if rank.inside.swap(me, SeqCst) != 0 {
            violation("MPI_THREAD_SERIALIZED: two threads are in MPI at once");
        }
        Self(Some((owner, true)))
    }

    pub fn of_comm(handle: i32) -> Self {
        let owner = {
            let state = state();
            state.member(handle).map(|_| state.owner_of(handle))
        };
        Self::of(owner)
    }

    pub fn of_set(set: *mut norn_mpi_requests) -> Self {
        let owner = state()
            .sets
            .get(index_of(set))
            .and_then(|set| set.as_ref()?.owner);
        Self::of(owner)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some((owner, alone)) = self.0 {
            if alone {
                OWNERS[owner].inside.store(0, SeqCst);
            }
            OWNERS[owner].calls.fetch_sub(1, SeqCst);
        }
    }
}
