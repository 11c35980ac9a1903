//! Thread levels: sim stops the process at a call that the level does not allow.

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;
use crate::sim::table::*;

fn exchange(rank: &Rank) {
    let peer = 1 - rank.rank;
    let given = vec![rank.rank as u8; 300];
    let mut got = vec![9u8; 300];
    let mut tokens = Vec::new();
    for i in 0..100 {
        let task = rank.task(0, &[]);
        let part = i * 3..i * 3 + 3;
        tokens.push(rank.send(&slice(&given[part.clone()]), peer, i as i64, &[task]));
        tokens.push(rank.recv(&room(&mut got[part]), peer, i as i64, &[task]));
    }
    let last = rank.task(0, &tokens);
    ok(rank.wait(last));
    assert_eq!(got, vec![peer as u8; 300]);
}

#[test]
fn every_level_is_kept() {
    for level in [
        NORN_MPI_THREAD_SINGLE,
        NORN_MPI_THREAD_FUNNELED,
        NORN_MPI_THREAD_SERIALIZED,
        NORN_MPI_THREAD_MULTIPLE,
    ] {
        on_ranks(&sim::Config { level, ..config() }, |rank| {
            // SAFETY: integers and arrays of them.
            let mut info = norn_world_info {
                struct_size: size_of::<norn_world_info>(),
                ..unsafe { std::mem::zeroed() }
            };
            // SAFETY: writable as far as its size says.
            ok(unsafe { norn_world_get(rank.world, &mut info) });
            assert_eq!(info.thread_level, level);
            exchange(rank);
        });
    }
}

#[test]
fn under_serialized_two_runtimes_take_turns_in_mpi() {
    let config = sim::Config {
        level: NORN_MPI_THREAD_SERIALIZED,
        ..config()
    };
    for way in [Way(NORN_MODE_ASYNC, 0), Way(NORN_MODE_ASYNC, 2)] {
        run_way_of_job(
            way,
            &config,
            world_config(),
            &|rank: &Rank, job: &sim::Job| {
                let rt = open(way);
                let mut world = std::ptr::null_mut();
                let comm = job.comms[rank.rank as usize];
                // SAFETY: the output is writable.
                ok(unsafe { norn_world_attach_f(rt, comm, std::ptr::null(), &mut world) });
                let (rt, world) = (rt as usize, world as usize);
                std::thread::scope(|scope| {
                    scope.spawn(move || {
                        let other = Rank {
                            rt: rt as _,
                            world: world as _,
                            ..*rank
                        };
                        (0..10).for_each(|_| exchange(&other));
                    });
                    (0..10).for_each(|_| exchange(rank));
                });
                // SAFETY: nothing uses the handle any more.
                ok(unsafe { norn_close(rt as _) });
            },
        );
    }
}

#[test]
fn below_serialized_another_thread_declares_and_the_mpi_thread_makes_it_go_on() {
    let config = sim::Config {
        level: NORN_MPI_THREAD_FUNNELED,
        ..config()
    };
    on_ranks(&config, |rank| {
        struct Carried<'a>(&'a Rank);
        // SAFETY: handles may be used from any thread.
        unsafe impl Sync for Carried<'_> {}
        // SAFETY: as above.
        unsafe impl Send for Carried<'_> {}
        let carried = Carried(rank);
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let carried = &carried;
                exchange(carried.0);
                over.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                // SAFETY: always safe.
                ok(unsafe { norn_progress(rank.rt) });
                std::thread::yield_now();
            }
        });
    });
}

#[test]
fn below_serialized_only_the_mpi_thread_attaches_and_detaches() {
    let config = sim::Config {
        level: NORN_MPI_THREAD_FUNNELED,
        ..config()
    };
    on_ranks(&config, |rank| {
        let world = rank.world as usize;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // SAFETY: always safe.
                let status = unsafe { norn_world_detach(world as *mut norn_world, -1) };
                assert_eq!(status, NORN_E_THREAD);
                assert!(
                    last_error().contains("MPI_THREAD_SERIALIZED"),
                    "{}",
                    last_error()
                );
            });
        });
    });
}

#[test]
fn the_watchdog_says_when_the_mpi_thread_stays_away() {
    use std::sync::Mutex;
    registered();
    let job = sim::Job::start(sim::Config {
        size: 1,
        level: NORN_MPI_THREAD_FUNNELED,
        ..config()
    });
    job.initialise_here(0);
    let lines = Mutex::new(String::new());
    let rt = open_with_watchdog(&lines);
    let rank = attach(rt, &job, 0);
    let mut memory = [0u8; 8];
    // A task in between: what waits for it comes from a worker, and only the MPI thread may post it.
    let task = rank.task(0, &[]);
    let sent = rank.send(&slice(&memory), 0, 0, &[task]);
    let received = rank.recv(&room(&mut memory), 0, 0, &[task]);
    let said = || {
        let lines = lines.lock().expect("no panic holds it");
        lines.contains("has not been inside norn")
    };
    while !said() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    ok(rank.wait(received));
    ok(rank.wait(sent));
    // SAFETY: nothing uses the handle any more.
    ok(unsafe { norn_close(rt) });
}

#[test]
fn a_pass_costs_the_same_with_ten_or_a_hundred_thousand_requests() {
    for in_flight in [10usize, 1_000, 100_000] {
        let config = sim::Config {
            delay: 0,
            // A key for each.
            tag_ub: 1 << 17,
            ..config()
        };
        let counters = run_way(WAYS[0], &config, world_config(), &|rank: &Rank| {
            let mut memory = vec![0u8; in_flight];
            let tokens: Vec<_> = (0..in_flight)
                .map(|i| {
                    // Matched in reverse.
                    let key = match rank.rank {
                        0 => i,
                        _ => in_flight - 1 - i,
                    };
                    match rank.rank {
                        0 => rank.recv(&room(&mut memory[i..=i]), 1, key as i64, &[]),
                        _ => rank.send(&slice(&memory[i..=i]), 0, key as i64, &[]),
                    }
                })
                .collect();
            tokens.into_iter().for_each(|token| ok(rank.wait(token)));
        });
        // How many passes there are is a matter of time; what each may test is not.
        assert!(counters.most_tested <= 66, "{counters:?}");
        if in_flight > 1000 {
            assert!(counters.most_in_flight > 1000, "{counters:?}");
        }
    }
}

#[test]
fn a_task_at_mpi_runs_on_the_thread_that_initialised_it() {
    on_ranks(&config(), |rank| {
        unsafe extern "C" fn body(_: *mut norn_self, arg: *mut std::ffi::c_void) -> i32 {
            i32::from(sim::thread_number() != arg as u64)
        }
        let mut task = how();
        task.run = Some(body);
        task.arg = sim::thread_number() as usize as *mut std::ffi::c_void;
        task.place.kind = NORN_PLACE_MPI;
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn::abi::task::norn_submit(rank.rt, &task, &mut token) });
        ok(rank.wait(token));
    });
}
