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
