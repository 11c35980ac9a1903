//! Ranks that seem to rest: what is still to come is beside the messages of their world.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::time::Duration;

use norn::abi::collective::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

/// Until nothing has been sent for a while: all ranks have told each other what they have to tell.
fn wait_for_silence(job: &sim::Job) {
    let mut before = u64::MAX;
    while before != job.counters().sends {
        before = job.counters().sends;
        std::thread::sleep(Duration::from_millis(50));
    }
}

unsafe extern "C" fn takes_its_time(_: *mut norn_self, job: *mut c_void) -> i32 {
    // SAFETY: the job outlives its ranks.
    wait_for_silence(unsafe { &*job.cast::<sim::Job>() });
    0
}

/// Rank 1 has reported that it rests in a barrier. Whether it still does it is asked when the barrier's agreement has ended and
/// it has not seen that: it sees both at once. A wrong answer would be acted upon while its body runs.
#[test]
fn what_ends_in_the_pass_that_is_asked_whether_its_rank_rests_ends_the_rest() {
    let declared = Barrier::new(2);
    let way = Way(NORN_MODE_ASYNC, 0);
    run_way_of_job(way, &config(), world_config(), &|rank: &Rank, job| {
        let mut memory = [0u8; 8];
        let mut barrier = norn_token::default();
        if rank.rank == 0 {
            declared.wait();
            wait_for_silence(job);
            job.hold(1, true);
        }
        // SAFETY: the output is writable.
        ok(unsafe { norn_barrier(rank.world, null(), &mut barrier) });
        let last = if rank.rank == 0 {
            rank.recv(&room(&mut memory), 1, 0, &[])
        } else {
            let mut task = how();
            task.run = Some(takes_its_time);
            task.arg = std::ptr::from_ref(job).cast_mut().cast();
            task.after = &barrier;
            task.after_count = 1;
            let mut ready = norn_token::default();
            // SAFETY: the pointers are of live variables.
            ok(unsafe { norn_submit(rank.rt, &task, &mut ready) });
            rank.send(&slice(&memory), 0, 0, &[ready])
        };
        // SAFETY: always safe.
        ok(unsafe { norn_seal(rank.rt) });
        let ended = std::thread::scope(|scope| {
            match rank.rank {
                1 => drop(declared.wait()),
                _ => drop(scope.spawn(|| {
                    wait_for_silence(job);
                    job.hold(1, false);
                })),
            }
            rank.wait(last)
        });
        ok(ended);
    });
}

/// It waits in a body for what does not come, and goes on when its time is over.
#[test]
fn a_rank_with_a_body_whose_wait_has_a_limit_does_not_rest() {
    struct Shared {
        rt: *mut norn_runtime,
        world: *mut norn_world,
        never: norn_token,
    }
    unsafe extern "C" fn body(_: *mut norn_self, arg: *mut c_void) -> i32 {
        // SAFETY: the rank waits for all.
        let shared = unsafe { &*arg.cast::<Shared>() };
        // SAFETY: the handles live, and the memory is static.
        unsafe {
            let waited = norn_await(shared.rt, shared.never, 300_000_000);
            let from = slice(b"from rank 1");
            let sent = norn_send(shared.world, &from, 0, 0, null(), null_mut());
            i32::from((waited, sent) != (NORN_E_TIMEOUT, NORN_OK))
        }
    }
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 11];
        let mut shared = Shared {
            rt: rank.rt,
            world: rank.world,
            never: norn_token::default(),
        };
        let last = if rank.rank == 0 {
            rank.recv(&room(&mut memory), 1, 0, &[])
        } else {
            // Rank 0 sends it when it has the other.
            shared.never = rank.recv(&room(&mut memory), 0, 1, &[]);
            let mut task = how();
            task.run = Some(body);
            task.arg = (&raw const shared).cast_mut().cast();
            // SAFETY: the pointers are of live variables.
            ok(unsafe { norn_submit(rank.rt, &task, null_mut()) });
            shared.never
        };
        if rank.rank == 0 {
            let _ = rank.send(&slice(&[7u8; 11]), 1, 1, &[last]);
        }
        // SAFETY: always safe.
        ok(unsafe { norn_seal(rank.rt) });
        ok(rank.wait(last));
        if rank.rank == 0 {
            assert_eq!(&memory, b"from rank 1");
        }
    });
}

#[test]
fn a_rank_whose_hold_another_thread_takes_off_does_not_rest() {
    unsafe extern "C" fn holds(this: *mut norn_self, _: *mut c_void) -> i32 {
        // SAFETY: the body's own handle.
        unsafe { norn::abi::body::norn_self_hold(this, 1) }
    }
    on_ranks(&config(), |rank| {
        let mut memory = [9u8; 8];
        let peer = 1 - rank.rank;
        let mut task = how();
        task.run = Some(holds);
        let mut held = norn_token::default();
        if rank.rank == 1 {
            // SAFETY: the pointers are of live variables.
            ok(unsafe { norn_submit(rank.rt, &task, &mut held) });
            let _ = rank.send(&slice(&[1u8; 8]), peer, 0, &[held]);
            let _ = rank.recv(&room(&mut memory), peer, 1, &[]);
        } else {
            let received = rank.recv(&room(&mut memory), peer, 0, &[]);
            let _ = rank.send(&slice(&[2u8; 8]), peer, 1, &[received]);
        }
        std::thread::scope(|scope| {
            if rank.rank == 1 {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(300));
                    // SAFETY: always safe.
                    ok(unsafe { norn::abi::body::norn_unhold(rank.rt, held, 1) });
                });
            }
            // SAFETY: nothing else uses the handle.
            let closed = unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) };
            ok(closed);
        });
        assert_eq!(memory, [2 - peer as u8; 8]);
    });
}

/// So many requests that a rank begins to wait, and says that it rests, before it has looked at each.
const MANY: usize = 60_000;

/// What is sent and received.
struct Memory {
    numbers: Vec<u8>,
    long: Vec<u8>,
    short: [u8; 8],
}

/// Rank 0 makes its first pass when rank 1 has told that it rests.
fn rank_0_comes_late(body: impl Fn(&Rank, &mut Memory) -> Vec<norn_token> + Sync) {
    let declared = Barrier::new(2);
    let config = sim::Config {
        delay: 0,
        ..config()
    };
    let way = Way(NORN_MODE_ASYNC, 0);
    run_way_of_job(way, &config, world_config(), &|rank: &Rank, job| {
        let mut memory = Memory {
            numbers: vec![0; MANY],
            long: vec![7; 100_000],
            short: [1; 8],
        };
        let tokens = body(rank, &mut memory);
        // SAFETY: always safe.
        ok(unsafe { norn_seal(rank.rt) });
        declared.wait();
        if rank.rank == 0 {
            wait_for_silence(job);
        }
        for token in tokens {
            ok(rank.wait(token));
        }
    });
}

/// Receives of rank 0, in the midst of which it does something else.
fn many_receives(rank: &Rank, numbers: &mut [u8], between: impl FnOnce()) -> Vec<norn_token> {
    let (before, behind) = numbers.split_at_mut(MANY - 100);
    let receive = |number| rank.recv(&room(std::slice::from_mut(number)), 1, 1, &[]);
    let mut tokens: Vec<_> = before.iter_mut().map(receive).collect();
    between();
    tokens.extend(behind.iter_mut().map(receive));
    tokens
}

/// What rank 0 receives, behind a message of its own.
fn many_sends(rank: &Rank, short: &mut [u8], after: &[norn_token]) -> Vec<norn_token> {
    let received = rank.recv(&room(short), 0, 2, after);
    let send = |_| rank.send(&slice(&[1u8]), 0, 1, &[received]);
    (0..MANY).map(send).collect()
}

/// Rank 1 has the long message, and waits for what rank 0 sends behind it.
#[test]
fn a_rank_that_has_not_seen_the_end_of_a_send_does_not_rest() {
    rank_0_comes_late(|rank, memory| {
        let (long, short) = (&mut memory.long, &mut memory.short);
        if rank.rank == 1 {
            let first = rank.recv(&room(long), 0, 0, &[]);
            let mut tokens = many_sends(rank, short, &[]);
            tokens.push(first);
            return tokens;
        }
        let mut first = norn_token::default();
        let mut tokens = many_receives(rank, &mut memory.numbers, || {
            first = rank.send(&slice(long), 1, 0, &[])
        });
        tokens.push(rank.send(&slice(short), 1, 2, &[first]));
        tokens
    });
}

/// Rank 1 has come out of the barrier's agreement.
#[test]
fn a_rank_that_has_not_seen_the_end_of_an_agreement_does_not_rest() {
    rank_0_comes_late(|rank, memory| {
        let short = &mut memory.short;
        let mut barrier = norn_token::default();
        // SAFETY: the output is writable.
        let mut enter = || ok(unsafe { norn_barrier(rank.world, null(), &mut barrier) });
        if rank.rank == 1 {
            enter();
            return many_sends(rank, short, &[barrier]);
        }
        let mut tokens = many_receives(rank, &mut memory.numbers, enter);
        tokens.push(rank.send(&slice(short), 1, 2, &[barrier]));
        tokens
    });
}

fn drains(rank: &Rank) -> norn_status {
    // SAFETY: nothing uses the handle any more.
    unsafe { norn_close_with(rank.rt, NORN_DRAIN, 20_000_000_000) }
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
