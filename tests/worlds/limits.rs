//! What a call with a limit says when the limit has passed, and what a second close makes of it.

use std::sync::Barrier;

use norn::abi::body::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

/// Enough for a rank to come as far as it can; what is asserted holds however far that is.
const LIMIT: i64 = 100_000_000;

fn close_in_vain(rt: *mut norn_runtime) -> String {
    // SAFETY: nothing else uses the handle.
    let closed = unsafe { norn_close_with(rt, NORN_DRAIN, LIMIT) };
    assert_eq!(closed, NORN_E_TIMEOUT, "{}", last_error());
    last_error()
}

#[test]
fn a_close_in_time_names_the_message_that_has_not_come() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [0i64; 2];
            if rank.rank == 0 {
                rank.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
                let told = close_in_vain(rank.rt);
                assert!(
                    told.contains("receive of 16 B from rank 1, key 7"),
                    "{told}"
                );
                both.wait();
            } else {
                both.wait();
                ok(rank.wait(rank.send(&numbers(&memory), 0, 7, &[])));
            }
            // Memory that is received into lives until the close is over.
            // SAFETY: nothing else uses the handle.
            ok(unsafe { norn_close(rank.rt) });
        });
    }
}

#[test]
fn a_close_in_time_names_the_rank_that_has_not_come() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            if rank.rank == 0 {
                let told = close_in_vain(rank.rt);
                assert!(told.contains("rank 1 has not detached or closed"), "{told}");
            }
            both.wait();
        });
    }
}

#[test]
fn runtimes_closed_in_opposite_orders_say_who_is_missing_and_close_in_one_order() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way_of_job(
            way,
            &config(),
            world_config(),
            &|rank: &Rank, job: &sim::Job| {
                let further = open(way);
                let comm = job.comms[rank.rank as usize];
                let mut world = std::ptr::null_mut();
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_world_attach_f(further, comm, &world_config(), &mut world) });
                let first = [rank.rt, further][rank.rank as usize];
                let told = close_in_vain(first);
                let other = 1 - rank.rank;
                assert!(
                    told.contains(&format!("rank {other} has not detached or closed")),
                    "{told}"
                );
                both.wait();
                // SAFETY: nothing else uses the handle.
                ok(unsafe { norn_close(further) });
            },
        );
    }
}

#[test]
fn an_await_in_time_names_the_message_that_has_not_come() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [0i64; 2];
            if rank.rank == 0 {
                let received = rank.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
                let behind = rank.task(0, &[received]);
                let tokens = [received, behind];
                let index = std::cell::Cell::new(0u64);
                // SAFETY: the pointers are of live variables.
                let awaits: [&dyn Fn() -> norn_status; 4] = unsafe {
                    [
                        &|| norn_await(rank.rt, received, LIMIT),
                        &|| norn_await(rank.rt, behind, LIMIT),
                        &|| norn_await_all(rank.rt, tokens.as_ptr(), 2, LIMIT),
                        &|| norn_await_any(rank.rt, tokens.as_ptr(), 2, LIMIT, index.as_ptr()),
                    ]
                };
                for (which, wait) in awaits.into_iter().enumerate() {
                    assert_eq!(wait(), NORN_E_TIMEOUT);
                    let told = last_error();
                    let edge = "receive of 16 B from rank 1, key 7";
                    assert!(told.contains(edge) && told.contains("rank 0"), "{told}");
                    let named = [
                        "posted, rank 1 has not sent it",
                        "\"the task\"",
                        "\"the task\"",
                        "posted, rank 1 has not sent it",
                    ];
                    assert!(told.contains(named[which]), "{which}: {told}");
                }
                assert_eq!(index.get(), 0, "an output is written only on success");
                both.wait();
                ok(rank.wait(behind));
            } else {
                both.wait();
                ok(rank.wait(rank.send(&numbers(&memory), 0, 7, &[])));
            }
        });
    }
}

#[test]
fn a_body_that_awaits_in_time_is_told_the_same() {
    unsafe extern "C" fn waits(itself: *mut norn_self, token: *mut std::ffi::c_void) -> i32 {
        // SAFETY: both live as long as the body.
        unsafe {
            let mut info: norn_self_info = std::mem::zeroed();
            info.struct_size = size_of::<norn_self_info>();
            ok(norn_self_get(itself, &mut info));
            let token = norn_token { id: token as u64 };
            assert_eq!(norn_await(info.runtime, token, LIMIT), NORN_E_TIMEOUT);
        }
        i32::from(!last_error().contains("receive of 16 B from rank 1, key 7"))
    }
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [0i64; 2];
            if rank.rank == 0 {
                let received = rank.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
                let mut task = how();
                task.run = Some(waits);
                task.arg = received.id as *mut std::ffi::c_void;
                let mut body = norn_token::default();
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_submit(rank.rt, &task, &mut body) });
                ok(rank.wait(body));
                both.wait();
                ok(rank.wait(received));
            } else {
                both.wait();
                ok(rank.wait(rank.send(&numbers(&memory), 0, 7, &[])));
            }
        });
    }
}

#[test]
fn a_drain_in_time_names_the_message_that_has_not_come() {
    for way in WAYS {
        let both = Barrier::new(2);
        run_way(way, &config(), world_config(), &|rank: &Rank| {
            let mut memory = [0i64; 2];
            if rank.rank == 0 {
                rank.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
                // SAFETY: always safe.
                let drained = unsafe { norn_drain(rank.rt, LIMIT) };
                assert_eq!(drained, NORN_E_TIMEOUT);
                let told = last_error();
                let edge = "receive of 16 B from rank 1, key 7";
                assert!(told.contains(edge) && told.contains("on rank 0"), "{told}");
                assert!(told.contains("posted, rank 1 has not sent it"), "{told}");
                both.wait();
                // SAFETY: always safe.
                ok(unsafe { norn_drain(rank.rt, -1) });
            } else {
                both.wait();
                ok(rank.wait(rank.send(&numbers(&memory), 0, 7, &[])));
            }
        });
    }
}

#[test]
fn a_flush_in_time_names_the_task_that_runs_and_the_message_under_way() {
    static RUNS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    unsafe extern "C" fn stays(_: *mut norn_self, _: *mut std::ffi::c_void) -> i32 {
        while RUNS.load(std::sync::atomic::Ordering::SeqCst) {
            std::thread::yield_now();
        }
        0
    }
    let both = Barrier::new(2);
    let body = |rank: &Rank| {
        let mut memory = [0i64; 2];
        if rank.rank == 0 {
            let received = rank.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
            RUNS.store(true, std::sync::atomic::Ordering::SeqCst);
            let mut task = how();
            task.run = Some(stays);
            task.name = c"stays".as_ptr();
            // SAFETY: the pointers are of live variables.
            unsafe {
                ok(norn_submit(rank.rt, &task, std::ptr::null_mut()));
                assert_eq!(norn_world_flush(rank.world, LIMIT), NORN_E_TIMEOUT);
            }
            let told = last_error();
            RUNS.store(false, std::sync::atomic::Ordering::SeqCst);
            assert!(told.contains("not all that is ready is posted"), "{told}");
            assert!(told.contains("\"stays\""), "{told}");
            assert!(
                told.contains("receive of 16 B from rank 1, key 7"),
                "{told}"
            );
            both.wait();
            ok(rank.wait(received));
        } else {
            both.wait();
            ok(rank.wait(rank.send(&numbers(&memory), 0, 7, &[])));
        }
    };
    run_way(
        Way(norn::abi::types::NORN_MODE_ASYNC, 2),
        &config(),
        world_config(),
        &body,
    );
}

#[test]
fn the_watchdog_names_the_rank_the_edge_and_both_ends() {
    use std::ffi::{CStr, c_char, c_void};
    use std::sync::Mutex;
    unsafe extern "C" fn keep(arg: *mut c_void, _: i32, text: *const c_char) {
        // SAFETY: the test's lines, and a zero-terminated text.
        unsafe {
            let lines = &*arg.cast::<Mutex<String>>();
            let mut lines = lines.lock().expect("no panic holds it");
            lines.push_str(&CStr::from_ptr(text).to_string_lossy());
        }
    }
    // In the other modes bodies and passes are made inside calls only, so nothing is posted before the await.
    for workers in [0, 2] {
        let both = Barrier::new(2);
        let way = Way(norn::abi::types::NORN_MODE_ASYNC, workers);
        run_way_of_job(
            way,
            &config(),
            world_config(),
            &|rank: &Rank, job: &sim::Job| {
                let lines = Mutex::new(String::new());
                let config = norn_config {
                    struct_size: size_of::<norn_config>(),
                    workers,
                    watchdog_ns: if rank.rank == 0 { 20_000_000 } else { -1 },
                    log: Some(keep),
                    log_arg: (&raw const lines).cast_mut().cast(),
                    // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
                    ..unsafe { std::mem::zeroed() }
                };
                let (mut rt, mut world) = (std::ptr::null_mut(), std::ptr::null_mut());
                let comm = job.comms[rank.rank as usize];
                // SAFETY: the pointers are of live variables.
                unsafe {
                    ok(norn_open_version(HEADER, &config, &mut rt));
                    ok(norn_world_attach_f(rt, comm, &world_config(), &mut world));
                }
                let watched = Rank { rt, world, ..*rank };
                let mut memory = [0i64; 2];
                if rank.rank == 0 {
                    let received = watched.recv(&room_of_numbers(&mut memory), 1, 7, &[]);
                    let said = || {
                        let lines = lines.lock().expect("no panic holds it");
                        lines
                            .contains("nothing has completed")
                            .then(|| lines.clone())
                    };
                    let told = loop {
                        // SAFETY: always safe.
                        ok(unsafe { norn_progress(rt) });
                        match said() {
                            Some(told) => break told,
                            None => std::thread::sleep(std::time::Duration::from_millis(5)),
                        }
                    };
                    for part in [
                        "receive of 16 B from rank 1, key 7",
                        "on rank 0",
                        "rank 1 has not sent it",
                    ] {
                        assert!(told.contains(part), "{told}");
                    }
                    both.wait();
                    ok(watched.wait(received));
                } else {
                    both.wait();
                    ok(watched.wait(watched.send(&numbers(&memory), 0, 7, &[])));
                }
                // SAFETY: nothing uses the handle any more.
                ok(unsafe { norn_close(rt) });
            },
        );
    }
}
