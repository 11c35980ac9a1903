//! Many small receives, most of which are held back until their message is there.

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

/// Far more than are posted in any case.
const MANY: usize = 100;
const GO: i64 = 1000;

/// Receives of one number each from rank 1 or 0, with keys 0 to MANY - 1, in that order.
fn receive_all(rank: &Rank, got: &mut [i64], after: &[norn_token]) -> Vec<norn_token> {
    let keys = 0..;
    keys.zip(got.chunks_mut(1))
        .map(|(key, one)| rank.recv(&room_of_numbers(one), 1 - rank.rank, key, after))
        .collect()
}

fn wait_for_all(rank: &Rank, tokens: Vec<norn_token>) {
    tokens.into_iter().for_each(|token| ok(rank.wait(token)));
}

/// Receives that are posted until the other rank is told to send for them, more than are posted in any case.
fn keep_posted_ones(rank: &Rank, peer: i32) -> Vec<norn_token> {
    let mut nothing = [0i64; 0];
    let keys = GO + 1..GO + 1 + MANY as i64;
    keys.map(|key| rank.recv(&room_of_numbers(&mut nothing), peer, key, &[]))
        .collect()
}

fn let_posted_ones_go(rank: &Rank, peer: i32, tokens: Vec<norn_token>) {
    ok(rank.wait(rank.send(&numbers(&[1]), peer, GO, &[])));
    wait_for_all(rank, tokens);
}

/// The other rank's part in the two.
fn pass_posted_ones(rank: &Rank, peer: i32) {
    let mut go = [0i64];
    ok(rank.wait(rank.recv(&room_of_numbers(&mut go), peer, GO, &[])));
    let keys = GO + 1..GO + 1 + MANY as i64;
    let sends = keys.map(|key| rank.send(&numbers(&[]), peer, key, &[]));
    wait_for_all(rank, sends.collect());
}

fn in_flight(rank: &Rank) -> u64 {
    // SAFETY: integers and arrays of them.
    let mut info: norn_world_info = unsafe { std::mem::zeroed() };
    info.struct_size = size_of::<norn_world_info>();
    // SAFETY: `info` is writable.
    ok(unsafe { norn_world_get(rank.world, &mut info) });
    info.in_flight
}

/// The ways in which receives are held back.
fn holding() -> impl Iterator<Item = Way> {
    WAYS.into_iter().filter(|way| way.0 == NORN_MODE_ASYNC)
}

#[test]
fn many_receives_get_their_own_messages_in_whatever_order_they_come() {
    let orders: [fn(usize) -> usize; 3] = [|i| i, |i| MANY - 1 - i, |i| i * 37 % MANY];
    for (order, after_a_task) in orders.into_iter().zip([false, true, false]) {
        on_ranks(&config(), |rank| {
            let given: Vec<i64> = (0..MANY as i64).map(|key| 7 * key + 1).collect();
            let mut got = vec![0; MANY];
            let task = after_a_task.then(|| rank.task(0, &[]));
            let mut tokens = receive_all(rank, &mut got, task.as_slice());
            for i in (0..MANY).map(order) {
                let from = numbers(&given[i..=i]);
                tokens.push(rank.send(&from, 1 - rank.rank, i as i64, &[]));
            }
            wait_for_all(rank, tokens);
            assert_eq!(got, given);
        });
    }
}

#[test]
fn messages_of_one_key_keep_their_order_where_their_receives_are_many() {
    on_ranks(&config(), |rank| {
        let given: Vec<i64> = (0..MANY as i64).collect();
        let mut got = vec![-1; MANY];
        let mut tokens = Vec::new();
        for i in 0..MANY {
            let key = (i % 60) as i64;
            tokens.push(rank.recv(&room_of_numbers(&mut got[i..=i]), 1 - rank.rank, key, &[]));
        }
        for keys in [0..60usize, 0..MANY - 60] {
            let first = if keys.end == 60 { 0 } else { 60 };
            for key in keys.rev() {
                let from = numbers(&given[first + key..=first + key]);
                tokens.push(rank.send(&from, 1 - rank.rank, key as i64, &[]));
            }
        }
        wait_for_all(rank, tokens);
        assert_eq!(got, given);
    });
}

#[test]
fn a_message_without_a_receive_hides_none_of_those_behind_it() {
    on_ranks(&config(), |rank| {
        // Of the same communicator as key 0.
        const UNDECLARED: i64 = 400;
        let given: Vec<i64> = (0..MANY as i64).collect();
        let mut got = vec![-1; MANY];
        let mut late = [0i64];
        let send_all = || {
            let sends = (0..MANY).map(|i| rank.send(&numbers(&given[i..=i]), 1, i as i64, &[]));
            sends.collect()
        };
        if rank.rank == 0 {
            ok(rank.wait(rank.send(&numbers(&[GO]), 1, UNDECLARED, &[])));
            wait_for_all(rank, send_all());
            pass_posted_ones(rank, 1);
        } else {
            let others = keep_posted_ones(rank, 0);
            let tokens = receive_all(rank, &mut got, &[]);
            wait_for_all(rank, tokens);
            ok(rank.wait(rank.recv(&room_of_numbers(&mut late), 0, UNDECLARED, &[])));
            assert_eq!((got, late), (given, [GO]));
            let_posted_ones_go(rank, 0, others);
        }
    });
}

#[test]
fn a_flush_posts_what_is_held_back() {
    for way in holding().filter(|_| !verify_is_asked_for()) {
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let given: Vec<i64> = (0..MANY as i64).collect();
            let mut got = vec![-1; MANY];
            let mut go = [0i64];
            if rank.rank == 0 {
                ok(rank.wait(rank.recv(&room_of_numbers(&mut go), 1, GO, &[])));
                let sends = (0..MANY).map(|i| rank.send(&numbers(&given[i..=i]), 1, i as i64, &[]));
                wait_for_all(rank, sends.collect());
            } else {
                let tokens = receive_all(rank, &mut got, &[]);
                assert!(in_flight(rank) < MANY as u64);
                // SAFETY: always safe.
                ok(unsafe { norn_world_flush(rank.world, 10_000_000_000) });
                assert_eq!(in_flight(rank), MANY as u64);
                ok(rank.wait(rank.send(&numbers(&[1]), 0, GO, &[])));
                wait_for_all(rank, tokens);
                assert_eq!(got, given);
            }
        });
    }
}

#[test]
fn a_receive_that_fails_whatever_comes_fails_before_its_message_comes() {
    on_ranks(&config(), |rank| {
        let given: Vec<i64> = (0..MANY as i64).collect();
        let mut got = vec![-1; MANY];
        let (mut go, mut never) = ([0i64], [0i64]);
        if rank.rank == 0 {
            // All that the other rank waits for comes after this.
            ok(rank.wait(rank.recv(&room_of_numbers(&mut go), 1, GO, &[])));
            let sends = (0..MANY).map(|i| rank.send(&numbers(&given[i..=i]), 1, i as i64, &[]));
            let mut sends: Vec<_> = sends.collect();
            sends.push(rank.send(&numbers(&[1]), 1, GO + 1, &[]));
            wait_for_all(rank, sends);
        } else {
            let tokens = receive_all(rank, &mut got, &[]);
            let failed = rank.task(3, &[]);
            let doomed = rank.recv(&room_of_numbers(&mut never), 0, GO + 1, &[failed]);
            assert_eq!(rank.wait(doomed), NORN_E_PROPAGATED);
            ok(rank.wait(rank.send(&numbers(&[1]), 0, GO, &[])));
            wait_for_all(rank, tokens);
            assert_eq!(got, given);
        }
    });
}

#[test]
fn a_cancelled_receive_takes_its_message_away_from_the_next_of_its_key() {
    on_ranks(&config(), |rank| {
        let given: Vec<i64> = (0..MANY as i64).collect();
        let mut got = vec![-1; MANY];
        let (mut go, mut first, mut second) = ([0i64], [0i64], [0i64]);
        if rank.rank == 0 {
            ok(rank.wait(rank.recv(&room_of_numbers(&mut go), 1, GO, &[])));
            let sends = (0..MANY).map(|i| rank.send(&numbers(&given[i..=i]), 1, i as i64, &[]));
            let mut sends: Vec<_> = sends.collect();
            sends.push(rank.send(&numbers(&[1]), 1, GO + 1, &[]));
            sends.push(rank.send(&numbers(&[2]), 1, GO + 1, &[]));
            wait_for_all(rank, sends);
        } else {
            let mut tokens = receive_all(rank, &mut got, &[]);
            let done = rank.task(0, &[]);
            let cancelled = rank.recv(&room_of_numbers(&mut first), 0, GO + 1, &[done]);
            tokens.push(rank.recv(&room_of_numbers(&mut second), 0, GO + 1, &[done]));
            ok(rank.wait(done));
            // SAFETY: always safe. It may be posted, and then it is too late.
            let was_cancelled = unsafe { norn_cancel(rank.rt, cancelled) } == NORN_OK;
            ok(rank.wait(rank.send(&numbers(&[1]), 0, GO, &[])));
            match was_cancelled {
                true => assert_eq!(rank.wait(cancelled), NORN_E_CANCELLED),
                false => ok(rank.wait(cancelled)),
            }
            wait_for_all(rank, tokens);
            assert_eq!((got, second), (given, [2]));
        }
    });
}

#[test]
fn receives_that_are_held_back_fail_when_their_rank_has_left() {
    on_ranks(
        &sim::Config {
            size: 3,
            ..config()
        },
        |rank| {
            let mut got = vec![-1; MANY];
            if rank.rank == 1 {
                let others = keep_posted_ones(rank, 2);
                for token in receive_all(rank, &mut got, &[]) {
                    assert_eq!(rank.wait(token), NORN_E_CLOSED);
                }
                let_posted_ones_go(rank, 2, others);
            } else if rank.rank == 2 {
                pass_posted_ones(rank, 1);
            }
        },
    );
}

#[test]
fn what_is_held_back_when_all_close_ends() {
    on_ranks(&config(), |rank| {
        let mut got = vec![-1; MANY];
        receive_all(rank, &mut got, &[]);
        // SAFETY: nothing uses the handle any more.
        let closed = unsafe { norn_close(rank.rt) };
        assert_eq!(closed, NORN_E_CLOSED, "{}", last_error());
    });
}
