//! Failures reach every dependant on every rank, and communication stays balanced.

use norn::abi::runtime::norn_close;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;

#[test]
fn a_send_whose_input_failed_fails_the_receive_with_the_record() {
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 64];
        for bytes in [64, 1, 0] {
            for key in [5, NORN_KEY_ORDER] {
                if rank.rank == 0 {
                    let failed = rank.task(9, &[]);
                    let sent = rank.send(&slice(&memory[..bytes]), 1, key, &[failed]);
                    assert_eq!(rank.wait(failed), NORN_E_TASK_FAILED);
                    assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
                    // What comes after it on the same key is another message.
                    ok(rank.wait(rank.send(&slice(&memory[..bytes]), 1, key, &[])));
                } else {
                    let received = rank.recv(&room(&mut memory[..bytes]), 0, key, &[]);
                    let next = rank.recv(&room(&mut memory[..bytes]), 0, key, &[]);
                    assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
                    let record = rank.record(received);
                    assert_eq!((record.rank, record.code), (0, 9));
                    assert_eq!(record.cause_status, NORN_E_TASK_FAILED);
                    assert_eq!(text(&record.task), "the task");
                    ok(rank.wait(next));
                }
            }
        }
    });
}

#[test]
fn a_receive_whose_predecessor_failed_takes_its_message_and_fails() {
    on_ranks(&config(), |rank| {
        let mut memory = vec![rank.rank as u8; 100_000];
        if rank.rank == 0 {
            ok(rank.wait(rank.send(&slice(&memory), 1, 5, &[])));
            ok(rank.wait(rank.send(&slice(&memory), 1, 5, &[])));
        } else {
            let failed = rank.task(9, &[]);
            let received = rank.recv(&room(&mut memory), 0, 5, &[failed]);
            assert_eq!(rank.wait(failed), NORN_E_TASK_FAILED);
            assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
            assert!(
                memory.iter().all(|byte| *byte == 1),
                "the buffer is not touched"
            );
            ok(rank.wait(rank.recv(&room(&mut memory), 0, 5, &[])));
            assert!(memory.iter().all(|byte| *byte == 0));
        }
    });
}

#[test]
fn cancelled_messages_are_owed() {
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 8];
        // SAFETY: always safe.
        let cancel = |token| ok(unsafe { norn_cancel(rank.rt, token) });
        let mut later = norn_token::default();
        // SAFETY: the output is writable.
        ok(unsafe { norn_promise(rank.rt, std::ptr::null(), &mut later) });
        if rank.rank == 0 {
            let sent = rank.send(&slice(&memory), 1, 5, &[later]);
            cancel(sent);
            assert_eq!(rank.wait(sent), NORN_E_CANCELLED);
            ok(rank.wait(rank.send(&slice(&memory), 1, 6, &[])));
        } else {
            let received = rank.recv(&room(&mut memory), 0, 5, &[]);
            assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
            assert_eq!(rank.record(received).cause_status, NORN_E_CANCELLED);
            let received = rank.recv(&room(&mut memory), 0, 6, &[later]);
            cancel(received);
            assert_eq!(rank.wait(received), NORN_E_CANCELLED);
        }
        // SAFETY: always safe.
        ok(unsafe { norn_fulfill(rank.rt, later) });
    });
}

#[test]
fn a_failure_goes_round_all_ranks() {
    let config = crate::sim::Config {
        size: 5,
        ..config()
    };
    on_ranks(&config, |rank| {
        let mut memory = [0u8; 8];
        let left = (rank.rank + rank.size - 1) % rank.size;
        let right = (rank.rank + 1) % rank.size;
        if rank.rank == 0 {
            let failed = rank.task(3, &[]);
            let sent = rank.send(&slice(&memory), right, 0, &[failed]);
            let back = rank.recv(&room(&mut memory), left, 0, &[]);
            assert_eq!(rank.wait(back), NORN_E_PROPAGATED);
            assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
            let record = rank.record(back);
            assert_eq!((record.rank, record.code), (0, 3));
        } else {
            let received = rank.recv(&room(&mut memory), left, 0, &[]);
            let sent = rank.send(&slice(&memory), right, 0, &[received]);
            assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
            assert_eq!(rank.record(sent).rank, 0);
        }
    });
}

#[test]
fn an_mpi_error_is_told_with_its_text_and_to_the_other_rank() {
    // The fault hits the first send of rank 0 but for the declaration that goes ahead of it in verify mode: other control
    // messages come later.
    let first = u64::from(verify_is_asked_for());
    let config = crate::sim::Config {
        faults: vec![("MPI_Isend", 0, first)],
        ..config()
    };
    on_ranks(&config, |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let sent = rank.send(&slice(&memory), 1, 0, &[]);
            assert_eq!(rank.wait(sent), NORN_E_MPI);
            let told = text(&rank.record(sent).text);
            assert!(told.contains("failed as planned"), "{told}");
        } else {
            let received = rank.recv(&room(&mut memory), 0, 0, &[]);
            assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
            assert_eq!(rank.record(received).cause_status, NORN_E_MPI);
        }
    });
}

#[test]
fn a_failed_world_fails_everything_everywhere() {
    on_ranks(&config(), |rank| {
        let mut memory = vec![0u8; 100_000];
        let peer = 1 - rank.rank;
        // Nobody sends key 1; the large send of key 2 is never received.
        let received = rank.recv(&room(&mut memory), peer, 1, &[]);
        let sent = rank.send(&slice(&memory), peer, 2, &[]);
        if rank.rank == 0 {
            // SAFETY: the text is zero-terminated.
            ok(unsafe { norn_world_fail(rank.world, 42, c"no convergence".as_ptr()) });
        }
        assert_eq!(rank.wait(received), NORN_E_PROPAGATED);
        let record = rank.record(received);
        assert_eq!((record.rank, record.code), (0, 42));
        assert_eq!(text(&record.text), "no convergence");
        let ended = rank.wait(sent);
        assert!(ended == NORN_E_PROPAGATED || ended == NORN_OK, "{ended}");
        let later = rank.recv(&room(&mut memory), peer, 1, &[]);
        assert_eq!(rank.wait(later), NORN_E_PROPAGATED);
    });
}

#[test]
fn a_rank_that_dies_fails_what_the_others_have_with_it() {
    let job = crate::sim::Job::start(crate::sim::Config {
        size: 3,
        ..config()
    });
    registered();
    let gone = std::sync::Barrier::new(3);
    let (job, gone) = (&job, &gone);
    std::thread::scope(|scope| {
        for rank in 0..3 {
            scope.spawn(move || {
                job.initialise_here(rank);
                let rt = open(WAYS[1]);
                let mut world = std::ptr::null_mut();
                // SAFETY: the pointers are of live variables.
                ok(unsafe {
                    norn_world_attach_f(rt, job.comms[rank], std::ptr::null(), &mut world)
                });
                let here = Rank {
                    rt,
                    world,
                    rank: rank as i32,
                    size: 3,
                };
                let mut memory = vec![0u8; 100_000];
                if rank == 1 {
                    // Its process would be no more; here its runtime is left as it is.
                    gone.wait();
                    job.kill(1);
                    return;
                }
                let before = here.recv(&room(&mut memory), 1, 0, &[]);
                let large = here.send(&slice(&memory), 1, 0, &[]);
                gone.wait();
                assert_eq!(here.wait(before), NORN_E_MPI);
                let told = text(&here.record(before).text);
                assert!(told.contains("the other process has failed"), "{told}");
                assert_eq!(here.wait(large), NORN_E_MPI);
                // The living still reach each other.
                let other = 2 - here.rank;
                let received = here.recv(&room(&mut memory[..8]), other, 1, &[]);
                ok(here.wait(here.send(&slice(&memory[..8]), other, 1, &[])));
                ok(here.wait(received));
                // SAFETY: nothing uses the handle any more.
                ok(unsafe { norn_close(rt) });
            });
        }
    });
}

#[test]
fn a_close_names_what_failed_on_another_rank() {
    on_ranks(&config(), |rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 0 {
            let failed = rank.task(9, &[]);
            let sent = rank.send(&slice(&memory), 1, 5, &[failed]);
            assert_eq!(rank.wait(failed), NORN_E_TASK_FAILED);
            assert_eq!(rank.wait(sent), NORN_E_PROPAGATED);
        } else {
            rank.recv(&room(&mut memory), 0, 5, &[]);
            // Nobody looks but the close, which tells it when the runtime is gone and with it what it kept.
            // SAFETY: nothing uses the handle any more.
            assert_eq!(unsafe { norn_close(rank.rt) }, NORN_E_TASK_FAILED);
            let told = last_error();
            assert!(
                told.contains("\"the task\" failed with code 9 on rank 0"),
                "{told}"
            );
        }
    });
}
