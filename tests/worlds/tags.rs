//! The window of tags: reuse, order of posting, and cycles through it.

use std::ptr::null;

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;

fn narrow(tags: u64) -> norn_world_config {
    norn_world_config {
        tag_limit: tags,
        ordered_lanes: 1,
        ..world_config()
    }
}

/// The ways in which the window is as narrow as it is set: all but the oracle.
fn windowed() -> impl Iterator<Item = Way> {
    WAYS.into_iter().filter(|way| way.0 != NORN_MODE_SYNC)
}

#[test]
fn tags_are_used_again_and_never_mismatch() {
    let edges = 10_000;
    for way in WAYS {
        for in_flight in [64usize, 65, 200] {
            run_way(way, &config(), narrow(64), &|rank: &Rank| {
                let peer = 1 - rank.rank;
                let given: Vec<i64> = (0..edges as i64).collect();
                let mut got = vec![-1i64; edges];
                let mut tokens = Vec::new();
                for i in 0..edges {
                    tokens.push(rank.send(&slice(&given[i..=i]), peer, NORN_KEY_ORDER, &[]));
                    tokens.push(rank.recv(&room(&mut got[i..=i]), peer, NORN_KEY_ORDER, &[]));
                    if tokens.len() == 2 * in_flight {
                        tokens.drain(..).for_each(|token| ok(rank.wait(token)));
                    }
                }
                tokens.drain(..).for_each(|token| ok(rank.wait(token)));
                assert_eq!(got, given);
            });
        }
    }
}

#[test]
fn edges_of_one_tag_are_posted_in_the_order_of_their_declaration() {
    for way in WAYS {
        run_way(way, &config(), narrow(1), &|rank: &Rank| {
            let memory = [rank.rank as u8; 2];
            let mut got = [9u8; 2];
            if rank.rank == 0 {
                // The second one is ready first, and must not overtake.
                let mut gate = norn_token::default();
                // SAFETY: the output is writable.
                ok(unsafe { norn_promise(rank.rt, null(), &mut gate) });
                let first = rank.send(&slice(&memory[..1]), 1, NORN_KEY_ORDER, &[gate]);
                let second = rank.send(&slice(&memory), 1, NORN_KEY_ORDER, &[]);
                // SAFETY: always safe.
                ok(unsafe { norn_fulfill(rank.rt, gate) });
                ok(rank.wait(second));
                ok(rank.wait(first));
            } else {
                let first = rank.recv(&room(&mut got[..1]), 0, NORN_KEY_ORDER, &[]);
                let second = rank.recv(&room(&mut got), 0, NORN_KEY_ORDER, &[first]);
                ok(rank.wait(second));
                assert_eq!(got, [0, 0]);
            }
        });
    }
}

#[test]
fn a_message_that_is_ready_at_once_is_posted_behind_an_earlier_one_of_its_key() {
    // Beside none and one that waits with another key.
    for (way, beside) in WAYS.into_iter().flat_map(|way| [(way, 0), (way, 1)]) {
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            const KEY: i64 = 3;
            let memory = [rank.rank as u8; 2];
            let mut got = [9u8; 4];
            let peer = 1 - rank.rank;
            let others: Vec<i64> = (KEY + 1..).take(beside).collect();
            if rank.rank == 0 {
                let mut gate = norn_token::default();
                // SAFETY: the output is writable.
                ok(unsafe { norn_promise(rank.rt, null(), &mut gate) });
                let late = others
                    .iter()
                    .map(|key| rank.send(&slice(&memory[..1]), peer, *key, &[gate]));
                let mut all: Vec<norn_token> = late.collect();
                all.push(rank.send(&slice(&memory[..1]), peer, KEY, &[gate]));
                all.push(rank.send(&slice(&memory), peer, KEY, &[]));
                // SAFETY: always safe.
                ok(unsafe { norn_fulfill(rank.rt, gate) });
                all.into_iter().for_each(|token| ok(rank.wait(token)));
            } else {
                let (first, rest) = got.split_at_mut(1);
                let (second, third) = rest.split_at_mut(2);
                let late = others
                    .iter()
                    .map(|key| rank.recv(&room(third), peer, *key, &[]));
                let mut all: Vec<norn_token> = late.collect();
                all.push(rank.recv(&room(first), peer, KEY, &[]));
                all.push(rank.recv(&room(second), peer, KEY, &[]));
                all.into_iter().for_each(|token| ok(rank.wait(token)));
                assert_eq!(got, [0, 0, 0, if beside == 0 { 9 } else { 0 }]);
            }
        });
    }
}

#[test]
fn a_cycle_through_a_shared_tag_is_refused_and_names_the_setting() {
    for way in windowed() {
        run_way(way, &config(), narrow(1), &|rank: &Rank| {
            let mut memory = [0u8; 1];
            let peer = 1 - rank.rank;
            let mut later = norn_token::default();
            // SAFETY: the pointers are of live variables.
            unsafe {
                ok(norn_declare(rank.rt, c"later".as_ptr(), &mut later));
            }
            // The first waits for the declared token, the second is posted behind it.
            let first = rank.send(&slice(&memory), peer, NORN_KEY_ORDER, &[later]);
            let second = rank.send(&slice(&memory), peer, NORN_KEY_ORDER, &[]);
            // Now the token may not wait for the second.
            // SAFETY: always safe.
            let status = unsafe { norn_edge(rank.rt, second, later) };
            assert_eq!(status, NORN_E_TAGS, "{}", last_error());
            assert!(last_error().contains("NORN_TAG_LIMIT"), "{}", last_error());
            let mut task = how();
            task.r#as = later;
            // SAFETY: the description is of live variables.
            unsafe {
                unsafe extern "C" fn nothing(_: *mut norn_self, _: *mut std::ffi::c_void) -> i32 {
                    0
                }
                task.run = Some(nothing);
                ok(norn_submit(rank.rt, &task, std::ptr::null_mut()));
            }
            ok(rank.wait(rank.recv(&room(&mut memory), peer, NORN_KEY_ORDER, &[])));
            ok(rank.wait(rank.recv(&room(&mut memory), peer, NORN_KEY_ORDER, &[])));
            ok(rank.wait(first));
            ok(rank.wait(second));
        });
    }
}

#[test]
fn a_message_that_binds_a_token_is_refused_where_that_closes_a_cycle() {
    for way in windowed() {
        run_way(way, &config(), narrow(1), &|rank: &Rank| {
            let mut memory = [0u8; 1];
            let peer = 1 - rank.rank;
            let mut later = norn_token::default();
            // SAFETY: the output is writable.
            ok(unsafe { norn_declare(rank.rt, c"later".as_ptr(), &mut later) });
            let first = rank.send(&slice(&memory), peer, NORN_KEY_ORDER, &[later]);
            let mut how = how();
            how.r#as = later;
            // SAFETY: the pointers are of live variables.
            let status = unsafe {
                norn_send(
                    rank.world,
                    &slice(&memory),
                    peer,
                    NORN_KEY_ORDER,
                    &how,
                    std::ptr::null_mut(),
                )
            };
            assert_eq!(status, NORN_E_TAGS, "{}", last_error());
            // No number was used: the next one is the second edge.
            // SAFETY: always safe.
            ok(unsafe { norn_cancel(rank.rt, later) });
            assert_eq!(rank.wait(first), NORN_E_PROPAGATED);
            let received = rank.recv(&room(&mut memory), peer, NORN_KEY_ORDER, &[]);
            assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
            ok(rank.wait(rank.send(&slice(&memory), peer, NORN_KEY_ORDER, &[])));
            ok(rank.wait(rank.recv(&room(&mut memory), peer, NORN_KEY_ORDER, &[])));
        });
    }
}

#[test]
fn a_cycle_over_two_ranks_is_found_once_nothing_more_can_come() {
    for way in windowed() {
        run_way(way, &config(), narrow(1), &|rank: &Rank| {
            let mut memory = [0u8; 1];
            let mut tokens = Vec::new();
            if rank.rank == 0 {
                let reply = rank.recv(&room(&mut memory), 1, 0, &[]);
                tokens.push(reply);
                tokens.push(rank.send(&slice(&memory), 1, NORN_KEY_ORDER, &[reply]));
                // The reply comes only after this one, which is posted only after the one before.
                tokens.push(rank.send(&slice(&memory), 1, NORN_KEY_ORDER, &[]));
            } else {
                tokens.push(rank.recv(&room(&mut memory), 0, NORN_KEY_ORDER, &[]));
                let second = rank.recv(&room(&mut memory), 0, NORN_KEY_ORDER, &[]);
                tokens.push(second);
                tokens.push(rank.send(&slice(&memory), 0, 0, &[second]));
            }
            // SAFETY: always safe.
            ok(unsafe { norn_seal(rank.rt) });
            let ends: Vec<_> = tokens.iter().map(|token| rank.wait(*token)).collect();
            if rank.rank == 0 {
                // Or the reply has failed, because the other rank was told first.
                assert!(
                    matches!(ends[0], NORN_E_TAGS | NORN_E_PROPAGATED),
                    "{}",
                    ends[0]
                );
                let record = rank.record(tokens[0]);
                assert_eq!(record.cause_status, NORN_E_TAGS);
                let told = text(&record.text);
                assert!(told.contains("NORN_TAG_LIMIT"), "{told}");
            }
            assert!(!ends.contains(&NORN_E_TIMEOUT));
        });
    }
}

#[test]
fn the_oracle_uses_no_tag_twice() {
    run_way(
        Way(NORN_MODE_SYNC, 1),
        &config(),
        narrow(1),
        &|rank: &Rank| {
            // As in the test before: what no window of one tag can do.
            let mut memory = [0u8; 3];
            let [a, b, c] = &mut memory;
            let (a, b, c) = (
                std::slice::from_mut(a),
                std::slice::from_mut(b),
                std::slice::from_mut(c),
            );
            let tokens = if rank.rank == 0 {
                let reply = rank.recv(&room(a), 1, 0, &[]);
                [
                    reply,
                    rank.send(&slice(b), 1, NORN_KEY_ORDER, &[reply]),
                    rank.send(&slice(c), 1, NORN_KEY_ORDER, &[]),
                ]
            } else {
                let first = rank.recv(&room(a), 0, NORN_KEY_ORDER, &[]);
                let second = rank.recv(&room(b), 0, NORN_KEY_ORDER, &[]);
                [first, second, rank.send(&slice(c), 0, 0, &[second])]
            };
            for token in tokens {
                ok(rank.wait(token));
            }
        },
    );
}

#[test]
fn the_dump_shows_who_waits_behind_a_tag() {
    for way in windowed() {
        run_way(way, &config(), narrow(1), &|rank: &Rank| {
            let mut memory = [0u8; 1];
            let peer = 1 - rank.rank;
            let mut gate = norn_token::default();
            // SAFETY: the output is writable.
            ok(unsafe { norn_promise(rank.rt, c"gate".as_ptr(), &mut gate) });
            let first = rank.send(&slice(&memory), peer, NORN_KEY_ORDER, &[gate]);
            let second = rank.send(&slice(&memory), peer, NORN_KEY_ORDER, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
            let mut text = Vec::<u8>::new();
            unsafe extern "C" fn append(
                arg: *mut std::ffi::c_void,
                text: *const std::ffi::c_char,
                bytes: u64,
            ) -> i32 {
                // SAFETY: the vector of the caller, and as many bytes as said.
                unsafe {
                    (*arg.cast::<Vec<u8>>())
                        .extend_from_slice(std::slice::from_raw_parts(text.cast(), bytes as usize));
                }
                0
            }
            // SAFETY: the vector outlives the call.
            ok(unsafe {
                norn_dump(
                    rank.rt,
                    NORN_DUMP_TEXT,
                    Some(append),
                    (&raw mut text).cast(),
                )
            });
            let text = String::from_utf8_lossy(&text);
            let shown =
                text.contains("posted after send of 1 B") && text.contains("shares its tag");
            assert!(shown, "{text}");
            // SAFETY: always safe.
            ok(unsafe { norn_fulfill(rank.rt, gate) });
            ok(rank.wait(rank.recv(&room(&mut memory), peer, NORN_KEY_ORDER, &[])));
            ok(rank.wait(rank.recv(&room(&mut memory), peer, NORN_KEY_ORDER, &[])));
            ok(rank.wait(first));
            ok(rank.wait(second));
        });
    }
}

/// A message that waits behind one of its own key would do so with any number of tags.
#[test]
fn what_waits_behind_its_own_key_is_no_matter_of_tags() {
    on_ranks(&config(), |rank| {
        let mut memory = [[0u8; 8]; 2];
        let [first, second] = memory.each_mut();
        let tokens = if rank.rank == 0 {
            let never = rank.recv(&room(first), 1, 5, &[]);
            let _ = rank.send(&slice(&[1u8; 8]), 1, 0, &[never]);
            let _ = rank.send(&slice(&[2u8; 8]), 1, 0, &[]);
            vec![(never, NORN_E_CLOSED)]
        } else {
            vec![
                (rank.recv(&room(first), 0, 0, &[]), NORN_E_PROPAGATED),
                (rank.recv(&room(second), 0, 0, &[]), NORN_OK),
            ]
        };
        // SAFETY: always safe.
        ok(unsafe { norn_seal(rank.rt) });
        for (token, expected) in tokens {
            assert_eq!(rank.wait(token), expected, "{}", last_error());
        }
    });
}
