//! Ranks that close and wait, by way of others, for what they will never send.

use norn::abi::collective::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::ranks::*;
use crate::sim;

/// A close without a limit.
fn drains(rank: &Rank) -> norn_status {
    // SAFETY: nothing uses the handle any more.
    unsafe { norn_close(rank.rt) }
}

/// In every way, in verify mode too.
fn on_so_many(size: usize, body: impl Fn(&Rank) + Sync) {
    for way in WAYS {
        for verify in [0, 1] {
            let config = sim::Config { size, ..config() };
            let world_config = norn_world_config {
                verify,
                ..world_config()
            };
            run_way(way, &config, world_config, &body);
        }
    }
}

fn waits_for_rank_0(rank: &Rank, token: norn_token) {
    assert_eq!(rank.wait(token), NORN_E_CLOSED, "{}", last_error());
    let told = text(&rank.record(token).text);
    assert!(told.contains("rank 0 closes or is sealed"), "{told}");
}

#[test]
fn a_close_ends_that_waits_for_the_answer_to_what_was_never_asked() {
    on_so_many(2, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let _ = rank.recv(&room(&mut memory), 1, 0, &[]);
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        let asked = rank.recv(&room(&mut memory), 0, 1, &[]);
        let answered = rank.send(&slice(&[1u8; 8]), 0, 0, &[asked]);
        waits_for_rank_0(rank, asked);
        assert_eq!(rank.wait(answered), NORN_E_PROPAGATED);
    });
}

#[test]
fn a_close_ends_that_waits_for_itself_by_way_of_all_ranks() {
    on_so_many(5, |rank| {
        let mut memory = [0u8; 8];
        let (next, before) = ((rank.rank + 1) % rank.size, rank.rank - 1);
        let received = rank.recv(&room(&mut memory), next, 0, &[]);
        if rank.rank == 0 {
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        let worked = rank.task(0, &[received]);
        let sent = rank.send(&slice(&[1u8; 8]), before, 0, &[worked]);
        if next == 0 {
            waits_for_rank_0(rank, received);
        }
        assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
    });
}

#[test]
fn what_nobody_has_received_yet_is_no_reason_to_wait() {
    on_so_many(2, |rank| {
        let (mut memory, mut got) = ([0u8; 8], [0u8; 8]);
        if rank.rank == 0 {
            let _ = rank.recv(&room(&mut memory), 1, 0, &[]);
            let _ = rank.send(&slice(&[7u8; 8]), 1, 2, &[]);
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        // Sent, and never received.
        let _ = rank.send(&slice(&[1u8; 8]), 0, 3, &[]);
        let asked = rank.recv(&room(&mut memory), 0, 1, &[]);
        let _ = rank.send(&slice(&[1u8; 8]), 0, 0, &[asked]);
        waits_for_rank_0(rank, asked);
        ok(rank.wait(rank.recv(&room(&mut got), 0, 2, &[])));
        assert_eq!(got, [7; 8]);
    });
}

#[test]
fn who_closes_and_still_gets_something_from_a_third_rank_is_waited_for() {
    on_so_many(3, |rank| {
        let mut memory = [[0u8; 8]; 2];
        let [first, second] = memory.each_mut();
        match rank.rank {
            0 => {
                let from_2 = rank.recv(&room(first), 2, 0, &[]);
                let _ = rank.send(&slice(&[3u8; 8]), 1, 1, &[from_2]);
                let _ = rank.recv(&room(second), 1, 0, &[]);
                ok(drains(rank));
            }
            1 => {
                let asked = rank.recv(&room(first), 0, 1, &[]);
                let answered = rank.send(&slice(&[1u8; 8]), 0, 0, &[asked]);
                ok(rank.wait(answered));
            }
            _ => {
                a_while();
                ok(rank.wait(rank.send(&slice(&[2u8; 8]), 0, 0, &[])));
            }
        }
    });
}

#[test]
fn who_closes_and_waits_for_what_an_open_rank_may_yet_send_is_waited_for() {
    on_so_many(2, |rank| {
        let mut memory = [[0u8; 8]; 2];
        let [first, second] = memory.each_mut();
        if rank.rank == 0 {
            let _ = rank.recv(&room(first), 1, 0, &[]);
            let _ = rank.recv(&room(second), 1, 2, &[]);
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            assert_eq!((*first, *second), ([0; 8], [2; 8]));
            return;
        }
        let asked = rank.recv(&room(first), 0, 1, &[]);
        let _ = rank.send(&slice(&[1u8; 8]), 0, 0, &[asked]);
        a_while();
        // The other message that rank 0 waits for was declared by nobody until now.
        ok(rank.wait(rank.send(&slice(&[2u8; 8]), 0, 2, &[])));
        waits_for_rank_0(rank, asked);
    });
}

/// Every rank but one waits for all others but itself, declares nothing for them, and closes. The one that is open waits
/// for the first.
#[test]
fn closing_ranks_end_that_each_wait_for_several_of_them() {
    on_so_many(4, |rank| {
        let mut memory = [[0u8; 8]; 4];
        let open = 1;
        if rank.rank == open {
            let [first, ..] = memory.each_mut();
            // With what the others conclude, or when rank 0 leaves after that.
            let ended = rank.wait(rank.recv(&room(first), 0, 1, &[]));
            assert_eq!(ended, NORN_E_CLOSED, "{}", last_error());
            return;
        }
        for (from, memory) in (0..).zip(&mut memory) {
            if from != rank.rank && from != open {
                let _ = rank.recv(&room(memory), from, 0, &[]);
            }
        }
        assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
    });
}

/// As above, with messages to themselves and from the open rank, which sends them after what it waits for.
#[test]
fn closing_ranks_end_that_wait_for_each_other_by_way_of_an_open_one() {
    on_so_many(3, |rank| {
        let mut memory = [[0u8; 8]; 3];
        if rank.rank == 1 {
            let [first, ..] = memory.each_mut();
            let asked = rank.recv(&room(first), 0, 1, &[]);
            let answers = [0, 2].map(|to| rank.send(&slice(&[1u8; 8]), to, 0, &[asked]));
            waits_for_rank_0(rank, asked);
            for answer in answers {
                assert_eq!(rank.wait(answer), NORN_E_PROPAGATED);
            }
            return;
        }
        for (from, memory) in (0..).zip(&mut memory) {
            let _ = rank.recv(&room(memory), from, 0, &[]);
        }
        assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
    });
}

#[test]
fn what_closing_ranks_have_declared_comes_although_they_wait_for_each_other() {
    on_so_many(3, |rank| {
        let mut memory = [[0u8; 8]; 2];
        let [first, second] = memory.each_mut();
        if rank.rank == 1 {
            // Rank 0 sends it when it has what rank 2 never sends.
            let behind = rank.recv(&room(first), 0, 3, &[]);
            assert_eq!(rank.wait(behind), NORN_E_PROPAGATED, "{}", last_error());
            let declared = rank.recv(&room(second), 2, 3, &[]);
            ok(rank.wait(declared));
            return;
        }
        let other = 2 - rank.rank;
        let asked = rank.recv(&room(first), other, 0, &[]);
        let after = if rank.rank == 0 { &[asked][..] } else { &[] };
        let _ = rank.send(&slice(&[3u8; 8]), 1, 3, after);
        assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
    });
}

/// Rank 0 closes without the barrier that the others are in; they would send afterwards.
#[test]
fn a_close_ends_that_waits_for_what_comes_after_a_collective_that_it_never_enters() {
    on_so_many(3, |rank| {
        let mut memory = [[0u8; 8]; 3];
        if rank.rank == 0 {
            for (from, memory) in (1..3).zip(&mut memory) {
                let _ = rank.recv(&room(memory), from, 0, &[]);
            }
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        let entered = rank.barrier(&[]);
        let sent = rank.send(&slice(&[1u8; 8]), 0, 0, &[entered]);
        assert_eq!(rank.wait(entered), NORN_E_PROPAGATED, "{}", last_error());
        let told = text(&rank.record(entered).text);
        assert!(told.contains("rank 0"), "{told}");
        assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
    });
}

/// Rank 0 closes in a barrier that rank 1 enters only after what rank 0 never sends.
#[test]
fn a_close_in_a_collective_ends_that_another_rank_enters_after_what_never_comes() {
    on_so_many(2, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let _ = rank.barrier(&[]);
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        let asked = rank.recv(&room(&mut memory), 0, 1, &[]);
        let entered = rank.barrier(&[asked]);
        waits_for_rank_0(rank, asked);
        assert_eq!(rank.wait(entered), NORN_E_PROPAGATED);
    });
}

/// The same by way of a second collective of the lane, which waits behind the first.
#[test]
fn a_close_ends_that_waits_for_what_comes_after_a_later_collective() {
    on_so_many(3, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let _ = rank.recv(&room(&mut memory), 1, 0, &[]);
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        let _first = rank.barrier(&[]);
        let second = rank.barrier(&[]);
        let sent = rank.send(&slice(&[1u8; 8]), 0, 0, &[second]);
        assert_eq!(rank.wait(second), NORN_E_PROPAGATED, "{}", last_error());
        assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
    });
}

/// Rank 0 closes, and has declared the barrier, behind what rank 1 sends: nothing is concluded.
#[test]
fn who_closes_and_enters_a_collective_later_is_waited_for() {
    on_so_many(2, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let first = rank.recv(&room(&mut memory), 1, 0, &[]);
            let _ = rank.barrier(&[first]);
            ok(drains(rank));
            return;
        }
        let entered = rank.barrier(&[]);
        a_while();
        ok(rank.wait(rank.send(&slice(&[1u8; 8]), 0, 0, &[])));
        ok(rank.wait(entered));
    });
}

/// As the first of these, with a barrier that needs no agreement: nobody leaves it before all are in.
#[test]
fn a_close_ends_that_waits_for_what_comes_after_an_unguarded_barrier_that_it_never_enters() {
    on_so_many(3, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let _ = rank.recv(&room(&mut memory), 1, 0, &[]);
            assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
            return;
        }
        let mut entered = norn_token::default();
        let mut how = how();
        how.flags = NORN_UNGUARDED;
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_barrier(rank.world, &how, &mut entered) });
        let sent = rank.send(&slice(&[1u8; 8]), 0, 0, &[entered]);
        assert_eq!(rank.wait(entered), NORN_E_PROPAGATED, "{}", last_error());
        assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
    });
}
