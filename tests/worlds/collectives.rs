//! Collectives as operations.

use std::ptr::{null, null_mut};

use norn::abi::collective::*;
use norn::abi::datatype::*;
use norn::abi::runtime::*;
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

#[test]
fn operations_that_a_type_has_not_are_refused_at_the_call() {
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 64];
        let reduce = |datatype, op| {
            let slice = norn::abi::slice::norn_slice {
                r#type: datatype,
                count: 2,
                ..*room(&mut [0u8; 64])
            };
            // SAFETY: refused, so nothing touches the memory later.
            let status =
                unsafe { norn_allreduce(rank.world, null(), &slice, op, null(), null_mut()) };
            assert_eq!(status, NORN_E_INVALID, "op {op} on type {datatype}");
            assert!(last_error().contains("op "), "{}", last_error());
        };
        for op in [-1, 10, 99, NORN_OF_MPI, i64::MIN, i64::MAX] {
            reduce(NORN_I64, op);
        }
        for op in NORN_SUM..NORN_BAND {
            reduce(NORN_BYTE, op);
        }
        for op in NORN_LAND..=NORN_BXOR {
            reduce(NORN_F32, op);
            reduce(NORN_F64, op);
        }
        for op in NORN_MIN..=NORN_BXOR {
            reduce(NORN_C64, op);
            reduce(NORN_C128, op);
        }
        // The world goes on.
        let mut token = norn_token::default();
        // SAFETY: the memory outlives the wait.
        unsafe {
            let bytes = room(&mut memory);
            ok(norn_allreduce(
                rank.world,
                null(),
                &*bytes,
                NORN_BOR,
                null(),
                &mut token,
            ));
        }
        ok(rank.wait(token));
    });
}

#[test]
fn a_source_that_is_also_the_target_is_refused_at_the_call() {
    on_ranks(&config(), |rank| {
        let mut memory = [0i64; 4];
        let all = room_of_numbers(&mut memory);
        let part = |first: u64, count: u64| norn::abi::slice::norn_slice {
            ptr: all.ptr.wrapping_byte_add(8 * first as usize),
            count,
            ..*all
        };
        let reduce = |from: &_, to: &_, token: *mut norn_token| {
            // SAFETY: the memory outlives the wait.
            unsafe { norn_allreduce(rank.world, from, to, NORN_SUM, null(), token) }
        };
        for (from, to) in [(part(0, 4), part(0, 4)), (part(0, 2), part(1, 2))] {
            assert_eq!(reduce(&from, &to, null_mut()), NORN_E_INVALID);
            assert!(last_error().contains("share memory"), "{}", last_error());
        }
        let mut token = norn_token::default();
        ok(reduce(&part(0, 2), &part(2, 2), &mut token));
        ok(rank.wait(token));
    });
}

#[test]
fn collectives_that_differ_between_ranks_fail_on_all_and_later_ones_go_on() {
    on_ranks(&config(), |rank| {
        let first = rank.rank == 0;
        let (world, mut memory) = (rank.world, [1i64; 4]);
        let all = room_of_numbers(&mut memory);
        let half = norn::abi::slice::norn_slice { count: 2, ..*all };
        let mine = if first { &*all } else { &half };
        for case in 0..5usize {
            let mut token = norn_token::default();
            // SAFETY: the memory outlives the waits.
            unsafe {
                ok(match case {
                    0 if first => norn_barrier(world, null(), &mut token),
                    0 | 1 => norn_allreduce(world, null(), mine, NORN_SUM, null(), &mut token),
                    2 => norn_bcast(world, mine, 0, null(), &mut token),
                    3 => norn_bcast(world, &*all, rank.rank, null(), &mut token),
                    _ => {
                        let op = if first { NORN_SUM } else { NORN_MAX };
                        norn_allreduce(world, null(), &*all, op, null(), &mut token)
                    }
                });
                assert_eq!(rank.wait(token), NORN_E_MISMATCH, "case {case}");
                let said = text(&rank.record(token).text);
                let differs = [
                    "MPI_Ibarrier on one rank, MPI_Iallreduce on another",
                    "bytes 16 on one rank, 32 on another",
                    "bytes 16 on one rank, 32 on another",
                    "root 0 on one rank, 1 on another",
                    "operation ",
                ][case];
                assert!(said.contains(differs), "case {case}: {said}");
                ok(norn_allreduce(
                    world,
                    null(),
                    &*all,
                    NORN_MAX,
                    null(),
                    &mut token,
                ));
                ok(rank.wait(token));
            }
        }
        assert_eq!(memory, [1; 4]);
    });
}

/// An unguarded barrier on a lane, after `after`.
fn unguarded_barrier(world: *mut norn_world, after: &[norn_token]) -> norn_token {
    let mut how = how();
    how.flags = NORN_UNGUARDED;
    how.after = after.as_ptr();
    how.after_count = after.len() as u64;
    let mut token = norn_token::default();
    // SAFETY: the pointers are of live variables.
    ok(unsafe { norn_barrier(world, &how, &mut token) });
    token
}

#[test]
fn unguarded_collectives_run_in_their_order_beside_guarded_ones() {
    on_ranks(&four(), |rank| {
        let mut sums = [[i64::from(rank.rank)]; 6];
        let tokens: Vec<norn_token> = (0..)
            .zip(&mut sums)
            .map(|(at, sum)| {
                let mut how = how();
                how.flags = if at % 2 == 0 { NORN_UNGUARDED } else { 0 };
                let mut token = norn_token::default();
                let memory = room_of_numbers(sum);
                // SAFETY: the memory outlives the waits.
                unsafe {
                    let (to, op) = (&*memory, if at < 3 { NORN_SUM } else { NORN_MAX });
                    ok(norn_allreduce(rank.world, null(), to, op, &how, &mut token));
                }
                token
            })
            .collect();
        tokens.into_iter().for_each(|token| ok(rank.wait(token)));
        assert_eq!(sums, [[6], [6], [6], [3], [3], [3]]);
    });
}

#[test]
fn an_unguarded_collective_that_one_rank_cannot_enter_fails_on_all_with_its_record() {
    on_ranks(&four(), |rank| {
        let failed = rank.task(if rank.rank == 2 { 8 } else { 0 }, &[]);
        let token = unguarded_barrier(rank.world, &[failed]);
        // What stands behind it on the lane, guarded or not, cannot be entered either.
        let behind = unguarded_barrier(rank.world, &[]);
        let mut guarded = norn_token::default();
        // SAFETY: the output is writable.
        ok(unsafe { norn_barrier(rank.world, null(), &mut guarded) });
        for token in [token, behind, guarded] {
            assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
            let record = rank.record(token);
            assert_eq!((record.rank, record.code), (2, 8));
        }
        let _ = rank.wait(failed);
    });
}

#[test]
fn an_unguarded_collective_with_a_rank_that_leaves_without_it_fails() {
    on_ranks(&four(), |rank| {
        if rank.rank == 1 {
            return;
        }
        let token = unguarded_barrier(rank.world, &[]);
        assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
        let record = rank.record(token);
        assert_eq!((record.rank, record.cause_status), (1, NORN_E_CLOSED));
    });
}

#[test]
fn a_lane_that_has_ended_leaves_the_other_lanes_alone() {
    on_ranks(&four(), |rank| {
        let mut lane = null_mut();
        // SAFETY: the output is writable.
        ok(unsafe { norn_world_lane(rank.world, &mut lane) });
        let missed = (rank.rank != 3).then(|| unguarded_barrier(lane, &[]));
        let other = unguarded_barrier(rank.world, &[]);
        ok(rank.wait(other));
        if let Some(missed) = missed {
            // Rank 3 closes now, and enters nothing more.
            assert_eq!(rank.wait(missed), NORN_E_PROPAGATED);
            assert_eq!(rank.record(missed).rank, 3);
        }
    });
}

#[test]
fn ranks_that_all_close_in_different_unguarded_collectives_end() {
    on_ranks(&four(), |rank| {
        let mut lane = null_mut();
        // SAFETY: the output is writable.
        ok(unsafe { norn_world_lane(rank.world, &mut lane) });
        let first = [rank.world, lane][rank.rank as usize % 2];
        unguarded_barrier(first, &[]);
        // SAFETY: the handle is used no more.
        let status = unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) };
        assert!(status != NORN_OK && status != NORN_E_TIMEOUT, "{status}");
    });
}

#[test]
fn broadcasts_that_end_at_their_root_while_a_rank_leaves_do_not_take_others_along() {
    for seed in 0..40 {
        let config = sim::Config {
            size: 3,
            seed,
            delay: [0, 3][seed as usize % 2],
            ..config()
        };
        run_way(
            Way(NORN_MODE_ASYNC, 2),
            &config,
            world_config(),
            &|rank: &Rank| {
                let mut memory = [[0i64]; 40];
                let mine = if rank.rank == 2 { 10 } else { 40 };
                let tokens: Vec<norn_token> = (0..)
                    .zip(&mut memory[..mine])
                    .map(|(at, buffer)| {
                        let before = (at % 3 == rank.rank).then(|| rank.task(0, &[]));
                        let mut how = how();
                        how.flags = NORN_UNGUARDED;
                        how.after = before.as_slice().as_ptr();
                        how.after_count = before.as_slice().len() as u64;
                        let mut token = norn_token::default();
                        let room = room_of_numbers(buffer);
                        // SAFETY: the memory outlives the waits.
                        ok(unsafe { norn_bcast(rank.world, &*room, at % 2, &how, &mut token) });
                        token
                    })
                    .collect();
                for (at, token) in tokens.into_iter().enumerate() {
                    let status = rank.wait(token);
                    // Beyond the tenth a root may have been done before it heard that rank 2 will not come.
                    let may_be_done = at < 10 || at as i32 % 2 == rank.rank;
                    let must_be_done = at < 10;
                    assert!(
                        if status == NORN_OK {
                            may_be_done
                        } else {
                            !must_be_done
                        },
                        "seed {seed}: {at} ended with {status}"
                    );
                }
            },
        );
    }
}
