//! Collectives as operations.

use std::ptr::{null, null_mut};

use norn::abi::datatype::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

fn four() -> sim::Config {
    sim::Config {
        size: 4,
        ..config()
    }
}

#[test]
fn every_collective_gives_what_mpi_gives() {
    on_ranks(&four(), |rank| {
        let (me, world) = (i64::from(rank.rank), rank.world);
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables, which outlive the waits.
        unsafe {
            ok(norn_barrier(world, null(), &mut token));
            ok(rank.wait(token));

            let mut buffer = [me * 10, me];
            ok(norn_bcast(
                world,
                &*room_of_numbers(&mut buffer),
                2,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(buffer, [20, 2]);

            let (from, mut to) = ([me, 1], [0i64; 2]);
            ok(norn_allreduce(
                world,
                &numbers(&from),
                &*room_of_numbers(&mut to),
                NORN_SUM,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(to, [6, 4]);
            let mut place = [me];
            ok(norn_allreduce(
                world,
                null(),
                &*room_of_numbers(&mut place),
                NORN_MAX,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(place, [3]);

            let mut root = [-1i64; 2];
            ok(norn_reduce(
                world,
                &numbers(&from),
                &*room_of_numbers(&mut root),
                NORN_SUM,
                1,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(root, if rank.rank == 1 { [6, 4] } else { [-1, -1] });

            let (own, mut gathered) = ([me], [-1i64; 4]);
            ok(norn_gather(
                world,
                &numbers(&own),
                &*room_of_numbers(&mut gathered),
                null(),
                3,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(
                gathered,
                if rank.rank == 3 {
                    [0, 1, 2, 3]
                } else {
                    [-1; 4]
                }
            );

            let (all, mut part) = ([5i64, 6, 7, 8], [0i64]);
            ok(norn_scatter(
                world,
                &numbers(&all),
                &*room_of_numbers(&mut part),
                null(),
                0,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(part, [5 + me]);

            // v forms: rank r has r elements.
            let counts = [0u64, 1, 2, 3];
            let mine = vec![me; rank.rank as usize];
            let mut to = [-1i64; 6];
            ok(norn_allgather(
                world,
                &numbers(&mine),
                &*room_of_numbers(&mut to),
                counts.as_ptr(),
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(to, [1, 2, 2, 3, 3, 3]);

            let from = [me * 4, me * 4 + 1, me * 4 + 2, me * 4 + 3];
            let mut to = [0i64; 4];
            ok(norn_alltoall(
                world,
                &numbers(&from),
                null(),
                &*room_of_numbers(&mut to),
                null(),
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            assert_eq!(to, [me, 4 + me, 8 + me, 12 + me]);
        }
    });
}

#[test]
fn a_rank_that_cannot_enter_fails_it_on_all_with_its_record() {
    on_ranks(&four(), |rank| {
        let mut memory = [1i64];
        let failed = rank.task(if rank.rank == 2 { 8 } else { 0 }, &[]);
        let mut how = how();
        how.after = &failed;
        how.after_count = 1;
        let mut token = norn_token::default();
        let mut next = norn_token::default();
        // SAFETY: the pointers are of live variables, which outlive the waits.
        unsafe {
            ok(norn_allreduce(
                rank.world,
                null(),
                &*room_of_numbers(&mut memory),
                NORN_SUM,
                &how,
                &mut token,
            ));
            ok(norn_allreduce(
                rank.world,
                null(),
                &*room_of_numbers(&mut memory),
                NORN_SUM,
                null(),
                &mut next,
            ));
        }
        assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
        let record = rank.record(token);
        assert_eq!((record.rank, record.code), (2, 8));
        ok(rank.wait(next));
        assert_eq!(memory, [4]);
        let _ = rank.wait(failed);
    });
}

#[test]
fn lanes_are_independent() {
    on_ranks(&config(), |rank| {
        let mut lane = null_mut();
        // SAFETY: the pointers are of live variables, which outlive the waits.
        unsafe {
            ok(norn_world_lane(rank.world, &mut lane));
            let mut gate = norn_token::default();
            ok(norn_promise(rank.rt, null(), &mut gate));
            let mut how = how();
            how.after = &gate;
            how.after_count = 1;
            let (mut late, mut early) = (norn_token::default(), norn_token::default());
            ok(norn_barrier(rank.world, &how, &mut late));
            ok(norn_barrier(lane, null(), &mut early));
            // The first one waits, and does not hold the other up.
            ok(rank.wait(early));
            ok(norn_fulfill(rank.rt, gate));
            ok(rank.wait(late));
        }
    });
}

#[test]
fn a_collective_with_a_rank_that_has_closed_fails() {
    on_ranks(&four(), |rank| {
        if rank.rank == 1 {
            return;
        }
        let mut token = norn_token::default();
        // SAFETY: the output is writable.
        ok(unsafe { norn_barrier(rank.world, null(), &mut token) });
        assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
        let record = rank.record(token);
        assert_eq!((record.rank, record.cause_status), (1, NORN_E_CLOSED));
    });
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    on_ranks(&four(), |rank| {
        let (three, four) = ([0i64; 3], [0i64; 4]);
        let counts = [1u64, 1, 1, 5];
        // SAFETY: the pointers are of live variables.
        unsafe {
            let status = norn_allreduce(
                rank.world,
                &numbers(&three),
                &numbers(&four),
                NORN_SUM,
                null(),
                null_mut(),
            );
            assert_eq!(status, NORN_E_INVALID);
            assert!(last_error().contains("3 elements"), "{}", last_error());
            let status = norn_scatter(
                rank.world,
                &numbers(&three),
                &numbers(&four),
                null(),
                rank.rank,
                null(),
                null_mut(),
            );
            assert_eq!(status, NORN_E_INVALID);
            assert!(last_error().contains("4 ranks"), "{}", last_error());
            let status = norn_allgather(
                rank.world,
                &numbers(&three),
                &numbers(&four),
                counts.as_ptr(),
                null(),
                null_mut(),
            );
            assert_eq!(status, NORN_E_INVALID);
            assert!(last_error().contains("add up to 8"), "{}", last_error());
            let status = norn_bcast(rank.world, &numbers(&four), 4, null(), null_mut());
            assert_eq!(status, NORN_E_INVALID);
            assert!(last_error().contains("root is 4"), "{}", last_error());
        }
    });
}
