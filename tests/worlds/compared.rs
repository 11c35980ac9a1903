//! What ranks have declared of a collective, compared before any enters; in verify mode in full.

use std::ptr::null;

use norn::abi::collective::*;
use norn::abi::datatype::*;
use norn::abi::slice::norn_slice;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::collectives::{every_collective, four};
use crate::ranks::*;

#[test]
fn collectives_that_differ_between_ranks_fail_on_all_and_later_ones_go_on() {
    on_ranks(&config(), |rank| {
        let first = rank.rank == 0;
        let (world, mut memory) = (rank.world, [1i64; 4]);
        let all = room_of_numbers(&mut memory);
        let half = norn_slice { count: 2, ..*all };
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
                let differs = match verify_is_asked_for() {
                    false => [
                        "MPI_Ibarrier on one rank, MPI_Iallreduce on another",
                        "bytes 16 on one rank, 32 on another",
                        "bytes 16 on one rank, 32 on another",
                        "root 0 on one rank, 1 on another",
                        "operation ",
                    ],
                    true => [
                        "MPI_Ibarrier on rank 0, MPI_Iallreduce on rank 1",
                        "bytes 32 on rank 0, 16 on rank 1",
                        "bytes 32 on rank 0, 16 on rank 1",
                        "root 0 on rank 0, 1 on rank 1",
                        "operation ",
                    ],
                }[case];
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

/// A collective fails on this rank because the ranks differ: what is said, without what is alike on all.
fn difference(rank: &Rank, token: norn_token) -> String {
    assert_eq!(rank.wait(token), NORN_E_MISMATCH, "{}", last_error());
    let record = rank.record(token);
    let said = text(&record.text);
    let (_, difference) = said
        .split_once("the ranks have declared different collectives: ")
        .unwrap_or_else(|| panic!("{said}"));
    format!("{}: {difference}", text(&record.operation))
}

fn goes_on(rank: &Rank) {
    let mut token = norn_token::default();
    // SAFETY: the output is writable.
    ok(unsafe { norn_barrier(rank.world, null(), &mut token) });
    ok(rank.wait(token));
}

#[test]
fn collectives_that_are_alike_pass_the_comparison() {
    verifying(&four(), every_collective);
}

#[test]
fn v_forms_in_place_and_with_empty_parts_pass_the_comparison() {
    verifying(&four(), |rank| {
        let me = rank.rank as usize;
        let (counts, mut token) = ([0u64, 2, 0, 1], norn_token::default());
        let begin = [0, 0, 2, 2][me];
        let mine = vec![rank.rank as i64; counts[me] as usize];
        let mut all = [-1i64; 3];
        all[begin..begin + mine.len()].copy_from_slice(&mine);
        let mut place = all;
        let mut own = vec![0i64; mine.len()];
        let root = rank.rank == 3;
        let mut gathered = if root { all } else { [-1; 3] };
        // SAFETY: the memory outlives the waits.
        unsafe {
            let to = room_of_numbers(&mut place);
            let counts = counts.as_ptr();
            ok(norn_allgather(
                rank.world,
                null(),
                &*to,
                counts,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            let mine = numbers(&mine);
            let from = if root { null() } else { &raw const mine };
            let to = room_of_numbers(&mut gathered);
            ok(norn_gather(
                rank.world,
                from,
                &*to,
                counts,
                3,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            let from = numbers(&[1, 1, 3]);
            let to = room_of_numbers(&mut own);
            ok(norn_scatter(
                rank.world,
                &from,
                &*to,
                counts,
                0,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
            // What the root keeps for itself, it neither gives nor takes.
            let to = if me == 1 { null() } else { &raw const *to };
            ok(norn_scatter(
                rank.world,
                &from,
                to,
                counts,
                1,
                null(),
                &mut token,
            ));
            ok(rank.wait(token));
        }
        assert_eq!(place, [1, 1, 3]);
        assert_eq!(gathered, if root { [1, 1, 3] } else { [-1; 3] });
        assert_eq!(own, mine);
    });
}

#[test]
fn counts_of_two_ranks_that_differ_are_named_on_all() {
    verifying(&four(), |rank| {
        let (me, mut memory) = (rank.rank as usize, [0i64; 16]);
        let mut token = norn_token::default();
        let from = [7i64; 16];
        let gives = |count: u64| norn_slice {
            count,
            ..numbers(&from)
        };
        let told = |case: usize, token| {
            let both = [
                "MPI_Iallgatherv: rank 2 gives 16 B to rank 0, which takes 8 B from it",
                "MPI_Igatherv: rank 2 (\"two\") gives 16 B to rank 1, which takes 8 B from it",
                "MPI_Iscatterv: rank 1 gives 8 B to rank 2 (\"two\"), which takes 16 B from it",
                "MPI_Ialltoallv: rank 3 gives 24 B to rank 2, which takes 16 B from it",
            ];
            let said = difference(rank, token);
            // Each pair that differs may be told: the first case has one for each rank.
            let pair =
                case == 0 && said.contains("rank 2 gives 16 B") && said.contains("takes 8 B");
            assert!(pair || said.ends_with(both[case]), "case {case}: {said}");
            goes_on(rank);
        };
        let mut named = how();
        if me == 2 {
            named.name = c"two".as_ptr();
        }
        let ones = [1u64; 4];
        let mut counts = [2u64; 4];
        let room = room_of_numbers(&mut memory);
        let takes = |count: u64| norn_slice { count, ..*room };
        // SAFETY: the memory outlives the waits.
        unsafe {
            let mine = gives(if me == 2 { 2 } else { 1 });
            let ones = ones.as_ptr();
            ok(norn_allgather(
                rank.world,
                &mine,
                &takes(4),
                ones,
                null(),
                &mut token,
            ));
            told(0, token);
            ok(norn_gather(
                rank.world,
                &mine,
                &takes(4),
                ones,
                1,
                &named,
                &mut token,
            ));
            told(1, token);
            let to = takes(if me == 2 { 2 } else { 1 });
            ok(norn_scatter(
                rank.world,
                &gives(4),
                &to,
                ones,
                1,
                &named,
                &mut token,
            ));
            told(2, token);
            let back = [2u64; 4];
            if me == 3 {
                counts[2] = 3;
            }
            let from = gives(counts.iter().sum());
            let (counts, back) = (counts.as_ptr(), back.as_ptr());
            ok(norn_alltoall(
                rank.world,
                &from,
                counts,
                &takes(8),
                back,
                null(),
                &mut token,
            ));
            told(3, token);
        }
        assert_eq!(memory, [0; 16]);
    });
}

#[test]
fn types_that_differ_are_named_on_all_and_bytes_agree_with_every_type() {
    verifying(&four(), |rank| {
        let (odd, mut memory) = (rank.rank == 2, [1i64; 4]);
        let room = room_of_numbers(&mut memory);
        let of = |r#type| norn_slice { r#type, ..*room };
        let mine = of(if odd { NORN_F64 } else { NORN_I64 });
        let mut token = norn_token::default();
        // SAFETY: the memory outlives the waits.
        unsafe {
            ok(norn_allreduce(
                rank.world,
                null(),
                &mine,
                NORN_SUM,
                null(),
                &mut token,
            ));
            assert_eq!(
                difference(rank, token),
                "MPI_Iallreduce: elements of NORN_I64 on rank 0, of NORN_F64 on rank 2"
            );
            goes_on(rank);
            // One gives, and the others take: those that take need not agree, but for the giver.
            ok(norn_bcast(rank.world, &mine, 0, null(), &mut token));
            assert_eq!(
                difference(rank, token),
                "MPI_Ibcast: elements of NORN_I64 on rank 0, of NORN_F64 on rank 2"
            );
            goes_on(rank);
            let bytes = norn_slice {
                r#type: NORN_BYTE,
                count: 32,
                ..*room
            };
            let mine = if odd { &bytes } else { &*room };
            ok(norn_bcast(rank.world, mine, 0, null(), &mut token));
            ok(rank.wait(token));
        }
    });
}

#[test]
fn facts_that_differ_name_their_ranks_in_verify_mode() {
    verifying(&four(), |rank| {
        let mut memory = [1i64; 2];
        let mut token = norn_token::default();
        let mut how = how();
        how.name = c"mean".as_ptr();
        let room = room_of_numbers(&mut memory);
        // SAFETY: the memory outlives the waits.
        unsafe {
            let mine = norn_slice {
                count: if rank.rank == 3 { 1 } else { 2 },
                ..*room
            };
            ok(norn_allreduce(
                rank.world,
                null(),
                &mine,
                NORN_SUM,
                &how,
                &mut token,
            ));
        }
        assert_eq!(
            difference(rank, token),
            "MPI_Iallreduce: bytes 16 on rank 0 (\"mean\"), 8 on rank 3 (\"mean\")"
        );
        goes_on(rank);
    });
}

#[test]
fn a_rank_that_cannot_enter_fails_it_on_all_in_verify_mode_too() {
    verifying(&four(), |rank| {
        let failed = rank.task(if rank.rank == 1 { 9 } else { 0 }, &[]);
        let mut how = how();
        how.after = &failed;
        how.after_count = 1;
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_barrier(rank.world, &how, &mut token) });
        assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
        let record = rank.record(token);
        assert_eq!((record.rank, record.code), (1, 9));
        let _ = rank.wait(failed);
        goes_on(rank);
    });
}
