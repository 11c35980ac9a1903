//! Detaching and closing.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::{AtomicI32, Ordering};

use norn::abi::collective::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;
use crate::sim::table::NORN_MPI_THREAD_FUNNELED;

#[test]
fn a_receive_from_a_rank_that_has_closed_fails() {
    on_ranks(&config(), |rank| {
        let mut memory = vec![0u8; 100_000];
        if rank.rank == 0 {
            let received = rank.recv(&room(&mut memory[..8]), 1, 0, &[]);
            assert_eq!(rank.wait(received), NORN_E_CLOSED);
            let told = text(&rank.record(received).text);
            assert!(told.contains("rank 1 has left"), "{told}");
            let later = rank.recv(&room(&mut memory[..8]), 1, 3, &[]);
            assert_eq!(rank.wait(later), NORN_E_CLOSED);
            let later = rank.send(&slice(&memory), 1, 3, &[]);
            assert_eq!(rank.wait(later), NORN_E_CLOSED);
        }
    });
}

#[test]
fn a_send_to_a_rank_that_has_left_goes_where_its_receive_was_declared_and_failed() {
    on_ranks(&config(), |rank| {
        let mut memory = [7i64];
        if rank.rank == 1 {
            let failed = rank.task(3, &[]);
            let received = rank.recv(&room_of_numbers(&mut memory), 0, 5, &[failed]);
            assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
            return;
        }
        // Rank 1 is heard to have left before anything is sent to it.
        let never = rank.recv(&room_of_numbers(&mut memory), 1, 0, &[]);
        assert_eq!(rank.wait(never), NORN_E_CLOSED);
        ok(rank.wait(rank.send(&numbers(&memory), 1, 5, &[])));
        let beyond = rank.send(&numbers(&memory), 1, 5, &[]);
        assert_eq!(rank.wait(beyond), NORN_E_CLOSED);
    });
}

#[test]
fn ranks_that_close_while_each_waits_for_the_other_end() {
    for size in [2usize, 3, 7] {
        on_ranks(&sim::Config { size, ..config() }, |rank| {
            let mut memory = [0u8; 8];
            let next = (rank.rank + 1) % rank.size;
            // Nobody sends before it has received.
            let received = rank.recv(&room(&mut memory), next, 0, &[]);
            let before = (rank.rank + rank.size - 1) % rank.size;
            let _ = rank.send(&slice(&memory), before, 0, &[received]);
            // SAFETY: always safe.
            let closed = unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) };
            assert_eq!(closed, NORN_E_CLOSED, "{}", last_error());
            assert!(
                last_error().contains("all ranks are closing"),
                "{}",
                last_error()
            );
        });
    }
}

#[test]
fn a_rank_that_still_works_is_waited_for_by_those_that_close() {
    on_ranks(
        &sim::Config {
            size: 3,
            ..config()
        },
        |rank| {
            let memory = [rank.rank as u8; 8];
            let mut got = [9u8; 8];
            if rank.rank == 2 {
                std::thread::sleep(std::time::Duration::from_millis(30));
                ok(rank.wait(rank.send(&slice(&memory), 0, 0, &[])));
                std::thread::sleep(std::time::Duration::from_millis(30));
                ok(rank.wait(rank.send(&slice(&memory), 1, 0, &[])));
            } else {
                let received = rank.recv(&room(&mut got), 2, 0, &[]);
                // SAFETY: always safe.
                ok(unsafe { norn_close(rank.rt) });
                assert_eq!(got, [2; 8]);
                let _ = received;
            }
        },
    );
}

#[test]
fn a_message_nobody_receives_is_taken_in_at_the_end() {
    on_ranks(&config(), |rank| {
        let memory = vec![0u8; 100_000];
        if rank.rank == 0 {
            let _ = rank.send(&slice(&memory), 1, 0, &[]);
            let _ = rank.send(&slice(&memory[..8]), 1, 1, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
        }
        // SAFETY: always safe.
        ok(unsafe { norn_drain(rank.rt, 0) }.max(0));
    });
}

#[test]
fn detach_and_attach_again_leaves_nothing() {
    let job = sim::Job::start(sim::Config {
        size: 3,
        ..config()
    });
    let rounds = if std::env::var_os("NORN_TEST_SOAK").is_some() {
        5000
    } else {
        200
    };
    registered();
    let job = &job;
    std::thread::scope(|scope| {
        for rank in 0..3 {
            scope.spawn(move || {
                job.initialise_here(rank);
                let rt = open(WAYS[0]);
                for _ in 0..rounds {
                    let mut world = null_mut();
                    // SAFETY: the pointers are of live variables.
                    unsafe {
                        ok(norn_world_attach_f(
                            rt,
                            job.comms[rank],
                            std::ptr::null(),
                            &mut world,
                        ));
                        ok(norn_barrier(world, std::ptr::null(), null_mut()));
                        ok(norn_world_detach(world, -1));
                        assert_eq!(norn_world_detach(world, -1), NORN_E_INVALID);
                    }
                    assert!(last_error().contains("was detached"));
                }
                // SAFETY: nothing uses the handle any more.
                ok(unsafe { norn_close(rt) });
            });
        }
    });
    assert_eq!(job.communicators(), 0);
}

#[test]
fn a_thread_that_has_used_a_world_learns_that_another_has_detached_it() {
    let job = sim::Job::start(sim::Config {
        size: 1,
        ..config()
    });
    registered();
    job.initialise_here(0);
    let rt = open(WAYS[0]);
    let mut world = null_mut();
    // SAFETY: the pointers are of live variables.
    ok(unsafe { norn_world_attach_f(rt, job.comms[0], std::ptr::null(), &mut world) });
    let handle = world as usize;
    let turn = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        let turn = &turn;
        scope.spawn(move || {
            // SAFETY: integers and characters, for all of which zero is valid.
            let mut info: norn_world_info = unsafe { std::mem::zeroed() };
            info.struct_size = size_of::<norn_world_info>();
            // SAFETY: writable, as its size says.
            let mut asks = || unsafe { norn_world_get(handle as *mut norn_world, &mut info) };
            ok(asks());
            turn.wait();
            turn.wait();
            assert_eq!(asks(), NORN_E_INVALID);
            assert!(last_error().contains("was detached"));
        });
        turn.wait();
        // SAFETY: always safe.
        ok(unsafe { norn_world_detach(world, -1) });
        turn.wait();
    });
    // SAFETY: nothing uses the handle any more.
    ok(unsafe { norn_close(rt) });
}

#[test]
fn two_worlds_of_a_runtime_do_not_meet() {
    let first = sim::Job::start(config());
    let second = sim::Job::start(sim::Config {
        seed: 2,
        ..config()
    });
    registered();
    let jobs = [&first, &second];
    std::thread::scope(|scope| {
        for rank in 0..2 {
            scope.spawn(move || {
                let rt = open(WAYS[1]);
                let worlds = jobs.map(|job| attach(rt, job, rank));
                let peer = 1 - rank as i32;
                let given = [[rank as u8; 8], [rank as u8 + 10; 8]];
                let mut got = [[9u8; 8], [9u8; 8]];
                let mut tokens = Vec::new();
                for (i, world) in worlds.iter().enumerate() {
                    tokens.push(world.recv(&room(&mut got[i]), peer, 0, &[]));
                    tokens.push(world.send(&slice(&given[i]), peer, 0, &[]));
                }
                for token in tokens {
                    ok(worlds[0].wait(token));
                }
                assert_eq!(got, [[peer as u8; 8], [peer as u8 + 10; 8]]);
                // SAFETY: nothing uses the handle any more.
                ok(unsafe { norn_close(rt) });
            });
        }
    });
}

#[test]
fn what_a_rank_has_sent_before_it_left_is_received_behind_what_it_never_sends() {
    on_ranks(&config(), |rank| {
        let given: Vec<i64> = (0..100).collect();
        if rank.rank == 0 {
            // Eager, so that it can leave.
            ok(rank.wait(rank.send(&numbers(&given), 1, 0, &[])));
            ok(rank.wait(rank.send(&numbers(&given[..0]), 1, 2, &[])));
            return;
        }
        let (mut never, mut got) = ([0i64; 1], vec![0i64; 200]);
        let first = rank.recv(&room_of_numbers(&mut never), 0, 1, &[]);
        assert_eq!(rank.wait(first), NORN_E_CLOSED);
        // Every other element: MPI puts it there.
        let part = room_of_numbers(&mut got);
        let spread = Room::from_parts(&part, 1, 100, 2);
        ok(rank.wait(rank.recv(&spread, 0, 0, &[])));
        let expected: Vec<i64> = (0..200)
            .map(|i| if i % 2 == 0 { i / 2 } else { 0 })
            .collect();
        assert_eq!(got, expected);
        ok(rank.wait(rank.recv(&room_of_numbers(&mut got[..0]), 0, 2, &[])));
        let none = rank.recv(&room_of_numbers(&mut never), 0, 2, &[]);
        assert_eq!(rank.wait(none), NORN_E_CLOSED);
    });
}

/// Rank 0 does something and leaves; rank 1 makes so many passes once it has heard `sends` messages of that, so that in some
/// of these runs a message is just being taken in when rank 1 goes on.
/// It is given a task that has failed with 5.
fn while_taken_in(
    sends: u64,
    rank_0: impl Fn(&Rank) + Sync,
    rank_1: impl Fn(&Rank, norn_token) + Sync,
) {
    for passes in 0..8 {
        let config = sim::Config {
            level: NORN_MPI_THREAD_FUNNELED,
            delay: 0,
            ..config()
        };
        let verifying = norn_world_config {
            verify: 1,
            ..world_config()
        };
        run_way_of_job(
            Way(NORN_MODE_ASYNC, 2),
            &config,
            verifying,
            &|rank: &Rank, job| {
                if rank.rank == 0 {
                    return rank_0(rank);
                }
                let failed = rank.task(5, &[]);
                assert_eq!(rank.wait(failed), NORN_E_TASK_FAILED);
                while job.counters().sends < sends {
                    std::thread::yield_now();
                }
                // A world with nothing posted does not look.
                let mut memory = [0u8; 8];
                let never = rank.recv(&room(&mut memory), 0, 9, &[]);
                for _ in 0..passes {
                    // SAFETY: always safe.
                    ok(unsafe { norn_progress(rank.rt) });
                }
                rank_1(rank, failed);
                assert_eq!(rank.wait(never), NORN_E_CLOSED);
            },
        );
    }
}

#[test]
fn a_receive_that_waits_for_what_is_taken_in_is_compared_with_its_own_message() {
    // The message, what it is, and that rank 0 leaves, to both.
    while_taken_in(
        4,
        |rank| ok(rank.wait(rank.send(&numbers(&[7]), 1, 0, &[]))),
        |rank, _| {
            let (mut got, mut never) = ([0i64; 1], [0i64; 1]);
            let first = rank.recv(&room_of_numbers(&mut got), 0, 0, &[]);
            let second = rank.recv(&room_of_numbers(&mut never), 0, 0, &[]);
            ok(rank.wait(first));
            assert_eq!(rank.wait(second), NORN_E_CLOSED);
            assert_eq!((got, never), ([7], [0]));
        },
    );
}

#[test]
fn a_poison_that_is_taken_in_for_nobody_takes_its_record_with_it() {
    // Two poisons and their records, and that rank 0 leaves, to both.
    while_taken_in(
        6,
        |rank| {
            for code in [3, 4] {
                let failed = rank.task(code, &[]);
                let sent = rank.send(&numbers(&[7]), 1, 0, &[failed]);
                assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
            }
        },
        |rank, failed| {
            let mut memory = [[0i64; 1]; 2];
            let [first, second] = memory.each_mut();
            let first = rank.recv(&room_of_numbers(first), 0, 0, &[failed]);
            let second = rank.recv(&room_of_numbers(second), 0, 0, &[]);
            for (token, code) in [(first, 5), (second, 4)] {
                assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
                assert_eq!(rank.record(token).code, code);
            }
        },
    );
}

#[test]
fn a_rank_that_cancels_keeps_nobody_waiting_for_what_it_has_posted() {
    let config = sim::Config {
        eager: 0,
        ..config()
    };
    on_ranks(&config, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let _ = rank.send(&slice(&memory), 1, 0, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
            // SAFETY: nothing uses the handle any more.
            let closed = unsafe { norn_close_with(rank.rt, NORN_CANCEL, 20_000_000_000) };
            assert_ne!(closed, NORN_E_TIMEOUT, "{}", last_error());
            return;
        }
        // Received only after what never comes, and sent what is never received.
        let never = rank.recv(&room(&mut memory), 0, 1, &[]);
        let unheard = rank.send(&slice(&[1u8]), 0, 2, &[]);
        assert_eq!(rank.wait(never), NORN_E_CLOSED);
        let ended = rank.wait(unheard);
        assert!(matches!(ended, NORN_OK | NORN_E_CLOSED), "{ended}");
    });
}

/// In every way, where rank `receives` has two receives of a key posted, and the other rank has sent one message, which comes
/// while the receives are cancelled: after the first, so that MPI matches the second with what the first was posted for.
fn matched_while_cancelled(receives: i32, ends: impl Fn(&Rank, [norn_token; 2]) + Sync) {
    const KEY: i32 = 5;
    for way in WAYS {
        let (posted, sent) = (Barrier::new(2), Barrier::new(2));
        let config = sim::Config {
            delay: 0,
            ..config()
        };
        run_way_of_job(way, &config, world_config(), &|rank: &Rank, job| {
            let mut memory = [[0u8; 8]; 2];
            let mut tokens = [norn_token::default(); 2];
            let peer = 1 - rank.rank;
            if rank.rank == receives {
                for (token, memory) in tokens.iter_mut().zip(&mut memory) {
                    *token = rank.recv(&room(memory), peer, KEY.into(), &[]);
                }
                // SAFETY: always safe.
                ok(unsafe { norn_world_flush(rank.world, -1) });
                job.withhold(rank.rank as usize, KEY);
            }
            posted.wait();
            if rank.rank != receives {
                // When its end is seen, so would be its arrival.
                ok(rank.wait(rank.send(&slice(&[7u8; 8]), peer, KEY.into(), &[])));
            }
            sent.wait();
            ends(rank, tokens);
        });
    }
}

fn cancels(rank: &Rank) {
    // SAFETY: nothing uses the handle any more.
    let closed = unsafe { norn_close_with(rank.rt, NORN_CANCEL, 20_000_000_000) };
    assert_ne!(closed, NORN_E_TIMEOUT, "{}", last_error());
}

#[test]
fn a_receive_that_is_matched_while_its_rank_quits_ends_as_cancelled() {
    unsafe extern "C" fn note(arg: *mut c_void, _: norn_token, status: norn_status) {
        // SAFETY: given below, and alive until the close.
        unsafe { &*arg.cast::<AtomicI32>() }.store(status, Ordering::SeqCst);
    }
    matched_while_cancelled(0, |rank, tokens| {
        if rank.rank == 0 {
            let ended = [AtomicI32::new(1), AtomicI32::new(1)];
            for (token, ended) in tokens.iter().zip(&ended) {
                let arg = std::ptr::from_ref(ended).cast_mut().cast();
                // SAFETY: the function takes this argument, which outlives the close.
                ok(unsafe { norn_on_complete(rank.rt, *token, Some(note), arg) });
            }
            cancels(rank);
            let ended = ended.map(AtomicI32::into_inner);
            assert_eq!(ended, [NORN_E_CLOSED; 2]);
        }
    });
}

#[test]
fn a_receive_that_is_matched_when_the_other_rank_has_quit_ends_as_cancelled() {
    matched_while_cancelled(1, |rank, tokens| {
        if rank.rank == 0 {
            // What is still posted makes its end a Quit.
            let mut memory = [0u8; 8];
            let _ = rank.recv(&room(&mut memory), 1, 6, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
            return cancels(rank);
        }
        for token in tokens {
            assert_eq!(rank.wait(token), NORN_E_CLOSED, "{}", last_error());
            let told = text(&rank.record(token).text);
            assert!(told.contains("rank 0 has left"), "{told}");
        }
    });
}

#[test]
fn what_a_detach_waits_for_is_told() {
    on_ranks(&config(), |rank| {
        if rank.rank == 0 {
            // SAFETY: always safe.
            let status = unsafe { norn_world_detach(rank.world, 20_000_000) };
            // Rank 1 may have come already.
            assert!(
                status == NORN_E_TIMEOUT || status == NORN_OK,
                "{}",
                last_error()
            );
            if status == NORN_E_TIMEOUT {
                assert!(last_error().contains("rank 1"), "{}", last_error());
            }
        } else {
            std::thread::sleep(std::time::Duration::from_millis(60));
        }
    });
}

/// A message is there that nobody receives, and its sender or its receiver waits: eager, and long.
fn another_key(ends: impl Fn(&Rank, norn_token) + Sync) {
    for eager in [1 << 16, 0] {
        let config = sim::Config { eager, ..config() };
        on_ranks(&config, |rank| {
            let mut memory = [0u8; 64];
            let token = match rank.rank {
                0 => rank.send(&slice(&memory), 1, 3, &[]),
                _ => rank.recv(&room(&mut memory), 0, 4, &[]),
            };
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
            ends(rank, token);
        });
    }
}

#[test]
fn ranks_that_close_over_different_keys_end() {
    another_key(|rank, _| {
        // SAFETY: nothing uses the handle any more.
        let closed = unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) };
        let expected = if rank.rank == 0 {
            NORN_OK
        } else {
            NORN_E_CLOSED
        };
        assert_eq!(closed, expected, "{}", last_error());
    });
}

#[test]
fn ranks_that_are_sealed_over_different_keys_end() {
    another_key(|rank, token| {
        // SAFETY: always safe.
        ok(unsafe { norn_seal(rank.rt) });
        let ended = rank.wait(token);
        let expected = if rank.rank == 0 {
            NORN_OK
        } else {
            NORN_E_CLOSED
        };
        assert_eq!(ended, expected, "{}", last_error());
    });
}

#[test]
fn a_cycle_of_ranks_through_a_barrier_ends() {
    for seed in 0..40 {
        let config = sim::Config { seed, ..config() };
        on_ranks(&config, |rank| {
            let mut memory = [0u8; 8];
            let mut how = how();
            let mut barrier = norn_token::default();
            // Rank 0 comes to the barrier behind what rank 1 sends behind it.
            if rank.rank == 0 {
                let received = rank.recv(&room(&mut memory), 1, 0, &[]);
                how.after = &received;
                how.after_count = 1;
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_barrier(rank.world, &how, &mut barrier) });
            } else {
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_barrier(rank.world, &how, &mut barrier) });
                let _ = rank.send(&slice(&memory), 0, 0, &[barrier]);
            }
            // SAFETY: nothing uses the handle any more.
            let closed = unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) };
            assert_eq!(closed, NORN_E_CLOSED, "{}", last_error());
        });
    }
}

#[test]
fn a_body_that_awaits_what_nobody_sends_ends_with_the_close() {
    struct Await(*mut norn_runtime, norn_token);
    unsafe extern "C" fn body(_: *mut norn_self, arg: *mut c_void) -> i32 {
        // SAFETY: given below, and alive until the close.
        let what = unsafe { &*arg.cast::<Await>() };
        // SAFETY: the runtime lives.
        let ended = unsafe { norn_await(what.0, what.1, -1) };
        assert_eq!(ended, NORN_E_CLOSED, "{}", last_error());
        0
    }
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 8];
        let never = rank.recv(&room(&mut memory), 1 - rank.rank, 0, &[]);
        let what = Await(rank.rt, never);
        let mut task = how();
        task.run = Some(body);
        task.arg = std::ptr::from_ref(&what).cast_mut().cast();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_submit(rank.rt, &task, null_mut()) });
        // SAFETY: nothing uses the handle any more.
        let closed = unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) };
        // The body has looked at the failure.
        ok(closed);
    });
}

#[test]
fn a_rank_that_cancels_lets_those_go_who_wait_for_it_before_a_collective() {
    on_ranks(&config(), |rank| {
        let mut memory = [0i64];
        let room = room_of_numbers(&mut memory);
        let before = match rank.rank {
            0 => {
                let mut never = norn_token::default();
                // SAFETY: the output is writable.
                ok(unsafe { norn_promise(rank.rt, std::ptr::null(), &mut never) });
                never
            }
            _ => rank.recv(&room, 0, 5, &[]),
        };
        let mut how = how();
        how.after = &before;
        how.after_count = 1;
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_barrier(rank.world, &how, &mut token) });
        if rank.rank == 0 {
            // Its barrier is cancelled, and rank 1 does not come to it before it has what rank 0 will never send.
            // SAFETY: the handle is used no more.
            let status = unsafe { norn_close_with(rank.rt, NORN_CANCEL, 20_000_000_000) };
            assert_ne!(status, NORN_E_TIMEOUT, "{}", last_error());
        } else {
            assert_eq!(rank.wait(before), NORN_E_CLOSED);
            assert_eq!(rank.wait(token), NORN_E_PROPAGATED);
            assert_eq!(rank.record(token).cause_status, NORN_E_CLOSED);
        }
    });
}

/// All close, or are sealed, and one waits for what nobody has declared. What it sends when that has failed comes.
#[test]
fn what_is_sent_after_a_receive_that_fails_comes_although_all_wait() {
    unsafe extern "C" fn nothing(_: *mut norn_self, _: *mut c_void) -> i32 {
        0
    }
    for size in [2, 4] {
        let config = sim::Config { size, ..config() };
        on_ranks(&config, |rank| {
            let mut memory = [0u8; 8];
            let last = rank.size - 1;
            let waits = if rank.rank == 0 {
                let never = rank.recv(&room(&mut memory), last, 0, &[]);
                let mut cleanup = how();
                cleanup.run = Some(nothing);
                cleanup.flags = NORN_RUN_ALWAYS;
                cleanup.after = &never;
                cleanup.after_count = 1;
                let mut done = norn_token::default();
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_submit(rank.rt, &cleanup, &mut done) });
                let _ = rank.send(&slice(&[7u8; 8]), 1, 1, &[done]);
                never
            } else {
                let came = rank.recv(&room(&mut memory), rank.rank - 1, 1, &[]);
                if rank.rank != last {
                    let _ = rank.send(&slice(&[7u8; 8]), rank.rank + 1, 1, &[came]);
                }
                came
            };
            // SAFETY: always safe.
            ok(unsafe { norn_seal(rank.rt) });
            let expected = if rank.rank == 0 {
                NORN_E_CLOSED
            } else {
                NORN_OK
            };
            assert_eq!(rank.wait(waits), expected, "{}", last_error());
            assert_eq!(memory, [if rank.rank == 0 { 0 } else { 7 }; 8]);
        });
    }
}
