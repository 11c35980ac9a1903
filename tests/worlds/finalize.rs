//! MPI_Finalize while worlds are attached.

use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

/// MPI_Finalize on both ranks of a job while their worlds are attached; `body` before it, `after` behind it.
fn finalize_too_early(
    body: impl Fn(&Rank) -> Vec<norn_token> + Sync,
    after: impl Fn(&Rank, &[norn_token]) + Sync,
) {
    finalize_too_early_in(&config(), body, after);
}

fn finalize_too_early_in(
    config: &sim::Config,
    body: impl Fn(&Rank) -> Vec<norn_token> + Sync,
    after: impl Fn(&Rank, &[norn_token]) + Sync,
) {
    registered();
    for way in WAYS {
        let job = sim::Job::start(config.clone());
        let job = &job;
        std::thread::scope(|scope| {
            for rank in 0..2 {
                let (body, after) = (&body, &after);
                scope.spawn(move || {
                    job.initialise_here(rank);
                    let rt = open(way);
                    let mut world = null_mut();
                    // SAFETY: the pointers are of live variables.
                    ok(unsafe {
                        norn_world_attach_f(rt, job.comms[rank], std::ptr::null(), &mut world)
                    });
                    let here = Rank {
                        rt,
                        world,
                        rank: rank as i32,
                        size: 2,
                    };
                    let tokens = body(&here);
                    job.finalize(rank);
                    // From here on sim ends the process at any call of this rank's.
                    after(&here, &tokens);
                    // SAFETY: nothing uses the handle any more.
                    let closed = unsafe { norn_close_with(rt, NORN_DRAIN, 20_000_000_000) };
                    assert_ne!(closed, NORN_E_TIMEOUT, "{}", last_error());
                });
            }
        });
    }
}

#[test]
fn mpi_that_ends_first_fails_what_is_under_way_and_is_not_called_again() {
    finalize_too_early(
        |rank| {
            // Lives on: the rank's MPI may write it until its end.
            let memory = vec![0u8; 100_000].leak();
            let (given, got) = memory.split_at_mut(50_000);
            let received = rank.recv(&room(got), 1 - rank.rank, 0, &[]);
            let sent = rank.send(&slice(given), 1 - rank.rank, 1, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
            vec![received, sent]
        },
        |rank, tokens| {
            for (position, token) in tokens.iter().enumerate() {
                let ended = rank.wait(*token);
                // The other rank may have failed first, and taken in what was sent to it.
                if position == 1 && ended == NORN_OK {
                    continue;
                }
                assert_eq!(ended, NORN_E_PROPAGATED);
                let record = rank.record(*token);
                assert_eq!(record.cause_status, NORN_E_MPI);
                let told = text(&record.text);
                assert!(told.contains("MPI_Finalize was called on rank"), "{told}");
            }
            let memory = [0u8; 8];
            let later = rank.send(&slice(&memory), 1 - rank.rank, 2, &[]);
            assert_eq!(rank.wait(later), NORN_E_PROPAGATED);
        },
    );
}

#[test]
fn mpi_that_ends_in_a_hush_fails_what_is_under_way() {
    let config = sim::Config {
        level: sim::table::NORN_MPI_THREAD_SERIALIZED,
        ..config()
    };
    finalize_too_early_in(
        &config,
        |rank| {
            let received = rank.recv(&room(vec![0u8; 8].leak()), 1 - rank.rank, 0, &[]);
            // SAFETY: always safe.
            ok(unsafe { norn_world_flush(rank.world, -1) });
            vec![received]
        },
        |rank, tokens| assert_eq!(rank.wait(tokens[0]), NORN_E_PROPAGATED),
    );
}

#[test]
fn mpi_that_ends_first_leaves_an_idle_world_to_be_closed() {
    finalize_too_early(|_| Vec::new(), |_, _| {});
}

#[test]
fn what_is_declared_when_mpi_has_ended_fails_without_a_call_of_it() {
    finalize_too_early(
        |_| Vec::new(),
        |rank, _| {
            let mut memory = [0u8; 8];
            let peer = 1 - rank.rank;
            let received = rank.recv(&room(&mut memory), peer, 0, &[]);
            let sent = rank.send(&slice(&memory), peer, 0, &[]);
            for token in [received, sent] {
                assert_eq!(rank.wait(token), NORN_E_PROPAGATED, "{}", last_error());
                let told = text(&rank.record(token).text);
                assert!(told.contains("MPI_Finalize was called on rank"), "{told}");
            }
        },
    );
}

#[test]
fn a_rank_whose_mpi_ends_first_fails_what_others_wait_for_from_it() {
    finalize_too_early(
        |rank| {
            let memory = vec![0u8; 8].leak();
            if rank.rank == 0 {
                return Vec::new();
            }
            // Its MPI_Finalize comes only after this: the other rank, which is in its own, must not keep it waiting.
            let received = rank.recv(&room(memory), 0, 0, &[]);
            assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
            let told = text(&rank.record(received).text);
            assert!(told.contains("on rank 0"), "{told}");
            Vec::new()
        },
        |_, _| {},
    );
}

#[test]
fn threads_inside_mpi_leave_it_for_good_before_mpi_finalize_goes_on() {
    registered();
    for way in WAYS {
        let job = sim::Job::start(config());
        // The first rank to end fails the worlds of the other too.
        let (job, all_busy) = (&job, &Barrier::new(2));
        std::thread::scope(|scope| {
            for rank in 0..2 {
                scope.spawn(move || {
                    finalize_while_two_worlds_are_busy(way, job, rank, all_busy);
                });
            }
        });
    }
}

/// A world in each of two runtimes, and a thread for each that sends messages to itself until one fails.
fn finalize_while_two_worlds_are_busy(way: Way, job: &sim::Job, rank: usize, all_busy: &Barrier) {
    job.initialise_here(rank);
    let worlds = [(); 2].map(|()| {
        let rt = open(way);
        let mut world = null_mut();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_world_attach_f(rt, job.comms[rank], std::ptr::null(), &mut world) });
        Rank {
            rt,
            world,
            rank: rank as i32,
            size: 2,
        }
    });
    let rounds = [const { AtomicUsize::new(0) }; 2];
    std::thread::scope(|scope| {
        for (here, rounds) in worlds.iter().zip(&rounds) {
            scope.spawn(move || {
                // Lives on: the rank's MPI may write it until its end.
                let memory = vec![0u8; 128].leak();
                let (given, got) = memory.split_at_mut(64);
                loop {
                    let _ = here.send(&slice(given), here.rank, 0, &[]);
                    let received = here.recv(&room(got), here.rank, 0, &[]);
                    let ended = here.wait(received);
                    if ended != NORN_OK {
                        assert_eq!(ended, NORN_E_PROPAGATED);
                        break;
                    }
                    rounds.fetch_add(1, SeqCst);
                }
            });
        }
        while rounds.iter().any(|rounds| rounds.load(SeqCst) < 10) {
            std::thread::yield_now();
        }
        all_busy.wait();
        // sim ends the process at a call of any other thread while this one is in it, and at any call afterwards.
        job.finalize(rank);
    });
    for here in &worlds {
        // SAFETY: nothing uses the handle any more.
        let closed = unsafe { norn_close_with(here.rt, NORN_DRAIN, 20_000_000_000) };
        assert_ne!(closed, NORN_E_TIMEOUT, "{}", last_error());
    }
}
