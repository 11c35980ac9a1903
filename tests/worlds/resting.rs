//! Ranks that close, and do not rest although they look like it.

use std::ffi::c_void;

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

fn drains(rank: &Rank) -> norn_status {
    // SAFETY: nothing uses the handle any more.
    unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) }
}

#[test]
fn a_body_in_a_wait_with_a_limit_goes_on() {
    struct Await(*mut norn_runtime, norn_token);
    unsafe extern "C" fn body(_: *mut norn_self, arg: *mut c_void) -> i32 {
        // SAFETY: given below, and alive until the close.
        let what = unsafe { &*arg.cast::<Await>() };
        // SAFETY: the runtime lives.
        let ended = unsafe { norn_await(what.0, what.1, 200_000_000) };
        assert_eq!(ended, NORN_E_TIMEOUT, "{}", last_error());
        0
    }
    on_ranks(&config(), |rank| {
        let mut memory = [[0u8; 8]; 2];
        let [first, second] = memory.each_mut();
        if rank.rank == 1 {
            let _ = rank.recv(&room(first), 0, 0, &[]);
            ok(drains(rank));
            assert_eq!(*first, [1; 8]);
            return;
        }
        let never = rank.recv(&room(second), 1, 5, &[]);
        let what = Await(rank.rt, never);
        let mut task = how();
        task.run = Some(body);
        task.arg = std::ptr::from_ref(&what).cast_mut().cast();
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_submit(rank.rt, &task, &mut token) });
        let _ = rank.send(&slice(&[1u8; 8]), 1, 0, &[token]);
        assert_eq!(drains(rank), NORN_E_CLOSED, "{}", last_error());
    });
}

#[test]
fn what_is_declared_in_a_world_that_is_detached_may_wait_for_a_promise() {
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 8];
        let (mut promise, name) = (norn_token::default(), c"later");
        let peer = 1 - rank.rank;
        // SAFETY: the output is writable, the name zero-terminated.
        ok(unsafe { norn_promise(rank.rt, name.as_ptr(), &mut promise) });
        if rank.rank == 0 {
            let _ = rank.send(&slice(&[1u8; 8]), peer, 0, &[promise]);
            let _ = rank.recv(&room(&mut memory), peer, 0, &[]);
        } else {
            let received = rank.recv(&room(&mut memory), peer, 0, &[]);
            let _ = rank.send(&slice(&[1u8; 8]), peer, 0, &[received]);
        }
        let runtime = rank.rt as usize;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(300));
                // SAFETY: the runtime is closed only after the detach.
                ok(unsafe { norn_fulfill(runtime as *mut norn_runtime, promise) });
            });
            // SAFETY: nothing uses the handle any more.
            ok(unsafe { norn_world_detach(rank.world, 20_000_000_000) });
        });
        assert_eq!(memory, [1; 8]);
    });
}

#[test]
fn a_message_of_another_world_of_the_runtime_makes_a_rank_go_on() {
    registered();
    // Messages of the second world are slow.
    for (seed, way) in (0..).zip(WAYS.into_iter().cycle().take(8)) {
        let jobs = [0, 400].map(|delay| {
            sim::Job::start(sim::Config {
                seed,
                delay,
                ..config()
            })
        });
        let jobs = &jobs;
        std::thread::scope(|scope| {
            for rank in 0..2 {
                scope.spawn(move || {
                    let rt = open(way);
                    let worlds = jobs.each_ref().map(|job| attach(rt, job, rank));
                    let mut memory = [[0u8; 8]; 2];
                    let [first, second] = memory.each_mut();
                    if rank == 0 {
                        let came = worlds[1].recv(&room(first), 1, 0, &[]);
                        let _ = worlds[0].send(&slice(&[1u8; 8]), 1, 0, &[came]);
                        // It listens in the first world too.
                        let _ = worlds[0].recv(&room(second), 1, 0, &[]);
                    } else {
                        let _ = worlds[1].send(&slice(&[1u8; 8]), 0, 0, &[]);
                        let came = worlds[0].recv(&room(first), 0, 0, &[]);
                        let _ = worlds[0].send(&slice(&[1u8; 8]), 0, 0, &[came]);
                    }
                    ok(drains(&worlds[0]));
                    assert_eq!(memory[0], [1; 8]);
                    assert_eq!(memory[1], [1 - rank as u8; 8]);
                });
            }
        });
    }
}
