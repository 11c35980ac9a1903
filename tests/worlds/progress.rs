//! Who makes messages go on.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use norn::abi::body::norn_self_get;
use norn::abi::runtime::norn_drain;
use norn::abi::status::NORN_OK;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;

use crate::ranks::*;

/// Tasks that each make the next one ready, until the message is there.
struct Chain<'a> {
    rt: *mut norn_runtime,
    message: norn_token,
    bodies: &'a AtomicU32,
}

/// A chain that long has not seen the message.
const TOO_LONG: u32 = 1000;

unsafe extern "C" fn link(this: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: the chain outlives its tasks: the rank waits for all.
    let chain = unsafe { &*arg.cast::<Chain<'_>>() };
    let bodies = chain.bodies.fetch_add(1, Ordering::SeqCst) + 1;
    let mut done = 0;
    // SAFETY: the output is writable.
    ok(unsafe { norn_test(chain.rt, chain.message, &mut done) });
    if done == 0 && bodies < TOO_LONG {
        // SAFETY: integers and pointers.
        let mut info = norn_self_info {
            struct_size: size_of::<norn_self_info>(),
            ..unsafe { std::mem::zeroed() }
        };
        // SAFETY: the body's own handle, and a writable output.
        ok(unsafe { norn_self_get(this, &mut info) });
        submit(chain, &[info.token]);
        std::thread::sleep(Duration::from_millis(1));
    }
    NORN_OK
}

fn submit(chain: &Chain<'_>, after: &[norn_token]) {
    let mut task = how();
    task.run = Some(link);
    task.arg = std::ptr::from_ref(chain).cast_mut().cast();
    task.after = after.as_ptr();
    task.after_count = after.len() as u64;
    // SAFETY: the pointers are of live variables.
    ok(unsafe { norn_submit(chain.rt, &task, std::ptr::null_mut()) });
}

#[test]
fn a_message_comes_although_one_task_always_makes_the_next_ready() {
    for workers in [0, 1] {
        let bodies = AtomicU32::new(0);
        let way = Way(NORN_MODE_ASYNC, workers);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [rank.rank as u8; 8];
            if rank.rank == 1 {
                // Not before the waiting thread has done with what it does at first.
                while bodies.load(Ordering::SeqCst) < 100 {
                    std::thread::yield_now();
                }
                let sent = rank.send(&slice(&memory), 0, 0, &[]);
                ok(rank.wait(sent));
                return;
            }
            let chain = Chain {
                rt: rank.rt,
                message: rank.recv(&room(&mut memory), 1, 0, &[]),
                bodies: &bodies,
            };
            submit(&chain, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_drain(rank.rt, 60_000_000_000) });
            assert!(bodies.load(Ordering::SeqCst) < TOO_LONG, "{way:?}");
        });
    }
}

/// Runs until the message has gone on, or for so long that it will not.
unsafe extern "C" fn long_body(_: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: the counters outlive the task: the rank waits for all.
    let (running, back) = unsafe { &*arg.cast::<(AtomicU32, AtomicU32)>() };
    running.fetch_add(1, Ordering::SeqCst);
    let came = (0..20_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        back.load(Ordering::SeqCst) != 0
    });
    i32::from(!came)
}

/// The thread that waits makes the passes then.
#[test]
fn a_message_is_sent_on_while_every_worker_runs_a_long_body() {
    for workers in [1, 2] {
        let state = (AtomicU32::new(0), AtomicU32::new(0));
        let (running, back) = &state;
        let way = Way(NORN_MODE_ASYNC, workers);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [rank.rank as u8; 8];
            if rank.rank == 0 {
                while running.load(Ordering::SeqCst) != workers as u32 {
                    std::thread::yield_now();
                }
                ok(rank.wait(rank.send(&slice(&memory), 1, 0, &[])));
                ok(rank.wait(rank.recv(&room(&mut memory), 1, 1, &[])));
                back.store(1, Ordering::SeqCst);
                return;
            }
            let mut task = how();
            task.run = Some(long_body);
            task.arg = std::ptr::from_ref(&state).cast_mut().cast();
            for _ in 0..workers {
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_submit(rank.rt, &task, std::ptr::null_mut()) });
            }
            let received = rank.recv(&room(&mut memory), 0, 0, &[]);
            let _ = rank.send(&slice(&memory), 0, 1, &[received]);
            // SAFETY: always safe.
            ok(unsafe { norn_drain(rank.rt, 60_000_000_000) });
            assert_eq!(memory, [0; 8]);
        });
    }
}

/// A receive that is there before its message comes costs a fraction of one that comes later.
#[test]
fn a_message_that_nothing_is_in_front_of_is_posted_by_the_call_that_declares_it() {
    let both = std::sync::Barrier::new(2);
    let way = Way(NORN_MODE_ASYNC, 0);
    run_way_of_job(way, &config(), world_config(), &|rank: &Rank, job| {
        let mut memory = [0u8; 8];
        let token;
        if rank.rank == 1 {
            both.wait();
            let before = job.counters().receives;
            token = rank.recv(&room(&mut memory), 0, 0, &[]);
            let posted = job.counters().receives;
            both.wait();
            assert_eq!(posted, before + 1);
        } else {
            both.wait();
            both.wait();
            let before = job.counters().sends;
            token = rank.send(&slice(&[5u8; 8]), 1, 0, &[]);
            assert!(job.counters().sends > before);
        }
        ok(rank.wait(token));
        assert_eq!(memory, [5 * rank.rank as u8; 8]);
    });
}

/// Nothing is under way but what every world has posted for what other ranks may tell it: no thread of norn's looks for that
/// again and again.
#[test]
fn nobody_looks_while_nothing_but_the_control_receive_is_posted() {
    for workers in [0, 1, 2] {
        let both = std::sync::Barrier::new(2);
        let way = Way(NORN_MODE_ASYNC, workers);
        run_way_of_job(way, &config(), world_config(), &|rank: &Rank, job| {
            let (given, mut got) = ([rank.rank as u8; 8], [9u8; 8]);
            let peer = 1 - rank.rank;
            let sent = rank.send(&slice(&given), peer, 0, &[]);
            ok(rank.wait(rank.recv(&room(&mut got), peer, 0, &[])));
            ok(rank.wait(sent));
            both.wait();
            // Those who have just had something to do may still look around; then comes a time without any look, which a
            // timed one would end, however seldom.
            let quiet = rank.rank != 0
                || (0..30).any(|_| {
                    let before = job.counters().tests;
                    std::thread::sleep(Duration::from_millis(300));
                    job.counters().tests == before
                });
            both.wait();
            assert!(quiet, "{way:?}: {:?}", job.counters());
        });
    }
}
