//! What a close with a limit says when the limit has passed, and what a second close makes of it.

use std::sync::Barrier;

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

/// Enough for a rank to come as far as it can; what is asserted holds however far that is.
const LIMIT: i64 = 100_000_000;

fn close_in_vain(rt: *mut norn_runtime) -> String {
    // SAFETY: nothing else uses the handle.
    let closed = unsafe { norn_close_with(rt, NORN_DRAIN, LIMIT) };
    assert_eq!(closed, NORN_E_TIMEOUT, "{}", last_error());
    last_error()
}

#[test]
fn a_close_in_time_names_the_message_that_has_not_come() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [0i64; 2];
            if rank.rank == 0 {
                rank.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
                let told = close_in_vain(rank.rt);
                assert!(
                    told.contains("receive of 16 B from rank 1, key 7"),
                    "{told}"
                );
                both.wait();
            } else {
                both.wait();
                ok(rank.wait(rank.send(&numbers(&memory), 0, 7, &[])));
            }
            // Memory that is received into lives until the close is over.
            // SAFETY: nothing else uses the handle.
            ok(unsafe { norn_close(rank.rt) });
        });
    }
}

#[test]
fn a_close_in_time_names_the_rank_that_has_not_come() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            if rank.rank == 0 {
                let told = close_in_vain(rank.rt);
                assert!(told.contains("rank 1 has not detached or closed"), "{told}");
            }
            both.wait();
        });
    }
}

#[test]
fn runtimes_closed_in_opposite_orders_say_who_is_missing_and_close_in_one_order() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way_of_job(
            way,
            &config(),
            world_config(),
            &|rank: &Rank, job: &sim::Job| {
                let further = open(way);
                let comm = job.comms[rank.rank as usize];
                let mut world = std::ptr::null_mut();
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_world_attach_f(further, comm, &world_config(), &mut world) });
                let first = [rank.rt, further][rank.rank as usize];
                let told = close_in_vain(first);
                let other = 1 - rank.rank;
                assert!(
                    told.contains(&format!("rank {other} has not detached or closed")),
                    "{told}"
                );
                both.wait();
                // SAFETY: nothing else uses the handle.
                ok(unsafe { norn_close(further) });
            },
        );
    }
}
