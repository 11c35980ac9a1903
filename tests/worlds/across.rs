//! Ranks that wait for each other by way of several worlds of their runtimes.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;

/// A process, with its rank in each world that it is in.
struct Process {
    number: usize,
    rt: *mut norn_runtime,
    worlds: Vec<Option<Rank>>,
    memory: RefCell<Vec<Vec<u8>>>,
}

impl Process {
    fn of(&self, world: usize) -> &Rank {
        self.worlds[world].as_ref().expect("the test knows")
    }

    /// A receive of eight bytes that the process keeps.
    fn recv(&self, world: usize, peer: i32, key: i64, after: &[norn_token]) -> norn_token {
        let mut memory = vec![0u8; 8];
        let token = self
            .of(world)
            .recv(&room(memory.as_mut_slice()), peer, key, after);
        self.memory.borrow_mut().push(memory);
        token
    }

    fn send(&self, world: usize, peer: i32, key: i64, after: &[norn_token]) -> norn_token {
        self.of(world).send(&slice(&[1u8; 8]), peer, key, after)
    }

    fn barrier(&self, world: usize, after: &[norn_token]) -> norn_token {
        self.of(world).barrier(after)
    }

    /// A close without a limit.
    fn drains(&self) -> norn_status {
        // SAFETY: nothing uses the handle any more.
        unsafe { norn_close(self.rt) }
    }

    fn fails_to_drain(&self) {
        assert_eq!(self.drains(), NORN_E_CLOSED, "{}", last_error());
    }
}

/// Runs `body` on processes in every way. Each group is a world; who is in it has the rank of its place there.
fn on_processes(count: usize, groups: &[&[usize]], body: impl Fn(&Process) + Sync) {
    registered();
    for (way, verify) in WAYS.into_iter().zip([0, 1, 0, 1]) {
        let jobs: Vec<sim::Job> = (1..)
            .zip(groups)
            .map(|(seed, group)| {
                sim::Job::start(sim::Config {
                    size: group.len(),
                    seed,
                    ..config()
                })
            })
            .collect();
        let (jobs, body) = (&jobs, &body);
        std::thread::scope(|scope| {
            for number in 0..count {
                scope.spawn(move || {
                    let rt = open(way);
                    let attached = |(job, group): (&sim::Job, &&[usize])| {
                        let rank = group.iter().position(|process| *process == number)?;
                        let config = norn_world_config {
                            verify,
                            ..world_config()
                        };
                        Some(attach_with(rt, job, rank, &config))
                    };
                    let process = Process {
                        number,
                        rt,
                        worlds: jobs.iter().zip(groups).map(attached).collect(),
                        memory: RefCell::new(Vec::new()),
                    };
                    let ended = catch_unwind(AssertUnwindSafe(|| body(&process)));
                    if let Err(panic) = ended {
                        for rank in process.worlds.iter().flatten() {
                            // SAFETY: the text is zero-terminated.
                            let _ = unsafe { norn_world_fail(rank.world, 1, c"failed".as_ptr()) };
                        }
                        // SAFETY: nothing uses the handle any more.
                        let _ = unsafe { norn_close_with(rt, NORN_CANCEL, 5_000_000_000) };
                        resume_unwind(panic);
                    }
                    // SAFETY: nothing uses the handle any more.
                    let closed = unsafe { norn_close(rt) };
                    // NORN_E_INVALID: the test has closed it.
                    assert_ne!(closed, NORN_E_INTERNAL, "{way:?}: {}", last_error());
                });
            }
        });
        for job in jobs {
            assert_eq!(job.leftovers(), 0, "{way:?}: messages are left");
        }
    }
}

#[test]
fn closes_end_that_wait_in_each_of_two_worlds_for_what_nobody_sends() {
    on_processes(2, &[&[0, 1], &[0, 1]], |process| {
        let other = 1 - process.number as i32;
        let _ = process.recv(0, other, 0, &[]);
        let _ = process.recv(1, other, 0, &[]);
        process.fails_to_drain();
    });
}

#[test]
fn who_has_nothing_left_leaves_all_worlds_although_others_wait_in_one() {
    on_processes(2, &[&[0, 1], &[0, 1]], |process| {
        if process.number == 0 {
            ok(process.drains());
        } else {
            let _ = process.recv(1, 0, 0, &[]);
            process.fails_to_drain();
        }
    });
}

#[test]
fn closes_end_that_wait_for_each_other_across_two_worlds() {
    on_processes(2, &[&[0, 1], &[1, 0]], |process| {
        // Each sends in the world in which the other waits, after what comes in the one in which it waits itself.
        let (waits, sends) = (process.number, 1 - process.number);
        let received = process.recv(waits, 1 - process.of(waits).rank, 0, &[]);
        let _ = process.send(sends, 1 - process.of(sends).rank, 0, &[received]);
        process.fails_to_drain();
    });
}

/// Each process is in two of the worlds and waits in one of them for the next process.
#[test]
fn closes_end_that_wait_in_a_ring_of_worlds() {
    on_processes(4, &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]], |process| {
        let waits = process.number;
        let sends = (waits + 3) % 4;
        let received = process.recv(waits, 1, 0, &[]);
        let _ = process.send(sends, 0, 0, &[received]);
        process.fails_to_drain();
    });
}

/// Process 1 is open. It answers process 0 in one world after what process 2, in the other, sends after its own answer.
#[test]
fn closes_end_that_wait_by_way_of_an_open_rank_of_both_their_worlds() {
    on_processes(3, &[&[0, 1], &[1, 2], &[2, 0]], |process| {
        match process.number {
            0 => {
                let received = process.recv(0, 1, 0, &[]);
                let _ = process.send(2, 0, 0, &[received]);
                process.fails_to_drain();
            }
            1 => {
                let received = process.recv(1, 1, 0, &[]);
                let sent = process.send(0, 0, 0, &[received]);
                let ended = process.of(0).wait(sent);
                assert_eq!(ended, NORN_E_PROPAGATED, "{}", last_error());
            }
            _ => {
                let received = process.recv(2, 1, 0, &[]);
                let _ = process.send(1, 0, 0, &[received]);
                process.fails_to_drain();
            }
        }
    });
}

/// As above, by way of two open ranks and a world in which no rank closes.
#[test]
fn closes_end_that_wait_by_way_of_a_world_where_all_are_open() {
    on_processes(3, &[&[0, 1], &[1, 2], &[2, 0]], |process| {
        let number = process.number;
        let received = process.recv(number, 1, 0, &[]);
        let sent = process.send((number + 2) % 3, 0, 0, &[received]);
        if number == 0 {
            process.fails_to_drain();
        } else {
            let ended = process.of(number).wait(sent);
            assert_eq!(ended, NORN_E_PROPAGATED, "{}", last_error());
        }
    });
}

/// Process 0 enters the barrier of one world after what process 1 sends in the other, after that barrier.
#[test]
fn closes_end_that_wait_across_a_collective() {
    on_processes(2, &[&[0, 1], &[0, 1]], |process| {
        if process.number == 0 {
            let received = process.recv(1, 1, 0, &[]);
            let _ = process.barrier(0, &[received]);
        } else {
            let entered = process.barrier(0, &[]);
            let _ = process.send(1, 0, 0, &[entered]);
        }
        process.fails_to_drain();
    });
}

/// The ring of worlds, but process 3 is open and sends at last.
#[test]
fn closes_that_wait_for_an_open_rank_by_way_of_several_worlds_go_on() {
    on_processes(4, &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]], |process| {
        let waits = process.number;
        let sends = (waits + 3) % 4;
        if process.number == 3 {
            a_while();
            ok(process.of(2).wait(process.send(2, 0, 0, &[])));
            ok(process.of(3).wait(process.recv(3, 1, 0, &[])));
            return;
        }
        let received = process.recv(waits, 1, 0, &[]);
        let _ = process.send(sends, 0, 0, &[received]);
        ok(process.drains());
    });
}

/// Some wait for each other across two worlds; another one, that closes too, waits for an open rank.
#[test]
fn who_waits_for_an_open_rank_goes_on_beside_those_who_wait_for_each_other() {
    let all: &[usize] = &[0, 1, 2, 3];
    on_processes(4, &[all, all], |process| {
        match process.number {
            0 | 1 => {
                let world = process.number;
                let other = 1 - process.number as i32;
                let received = process.recv(world, other, 0, &[]);
                let _ = process.send(1 - world, other, 0, &[received]);
                process.fails_to_drain();
            }
            2 => {
                let received = process.recv(0, 3, 0, &[]);
                let _ = process.send(1, 3, 0, &[received]);
                ok(process.drains());
            }
            _ => {
                a_while();
                ok(process.of(0).wait(process.send(0, 2, 0, &[])));
                ok(process.of(1).wait(process.recv(1, 2, 0, &[])));
            }
        };
    });
}

#[test]
fn a_detach_ends_although_something_is_waited_for_in_another_world() {
    on_processes(2, &[&[0, 1], &[0, 1]], |process| {
        let other = 1 - process.number as i32;
        let left = process.recv(0, other, 0, &[]);
        let waits = process.recv(1, other, 0, &[]);
        // SAFETY: nothing uses the handle any more.
        ok(unsafe { norn_world_detach(process.of(0).world, -1) });
        let ended = process.of(0).wait(left);
        assert_eq!(ended, NORN_E_CLOSED, "{}", last_error());
        let sent = process.send(1, other, 0, &[]);
        ok(process.of(1).wait(sent));
        ok(process.of(1).wait(waits));
    });
}

/// As above; process 1 answers what is waited for in that world after what process 0 never asks, and detaches later.
#[test]
fn a_detach_ends_that_waits_by_way_of_an_open_rank_beside_another_world() {
    on_processes(2, &[&[0, 1], &[0, 1]], |process| {
        let other = 1 - process.number as i32;
        let waits = process.recv(1, other, 0, &[]);
        // SAFETY: nothing uses the handle any more.
        let detaches = || ok(unsafe { norn_world_detach(process.of(0).world, -1) });
        if process.number == 0 {
            let left = process.recv(0, other, 0, &[]);
            detaches();
            let ended = process.of(0).wait(left);
            assert_eq!(ended, NORN_E_PROPAGATED, "{}", last_error());
        } else {
            let asked = process.recv(0, other, 1, &[]);
            let _ = process.send(0, other, 0, &[asked]);
            let ended = process.of(0).wait(asked);
            assert_eq!(ended, NORN_E_CLOSED, "{}", last_error());
            detaches();
        }
        ok(process.of(1).wait(process.send(1, other, 0, &[])));
        ok(process.of(1).wait(waits));
    });
}

#[test]
fn sealed_ranks_that_wait_in_each_of_two_worlds_are_told() {
    on_processes(2, &[&[0, 1], &[0, 1]], |process| {
        let other = 1 - process.number as i32;
        let waits = [0, 1].map(|world| process.recv(world, other, 0, &[]));
        // SAFETY: always safe.
        ok(unsafe { norn_seal(process.rt) });
        for token in waits {
            assert_eq!(process.of(0).wait(token), NORN_E_CLOSED, "{}", last_error());
        }
    });
}

/// Process 2 closes and cancels; what it has declared is still live then, for process 0 counts on it. Process 0 waits for it too.
#[test]
fn who_closes_and_cancels_leaves_all_worlds_in_time() {
    let all: &[usize] = &[0, 1, 2];
    on_processes(3, &[all, all], |process| {
        if process.number == 2 {
            let asked = process.recv(1, 0, 0, &[]);
            let _ = process.barrier(1, &[asked]);
            // SAFETY: nothing uses the handle any more.
            let _ = unsafe { norn_close_with(process.rt, NORN_CANCEL, -1) };
            return;
        }
        if process.number == 0 {
            let _ = process.send(1, 2, 0, &[]);
        }
        let _ = process.barrier(1, &[]);
        if process.number == 0 {
            let _ = process.recv(1, 2, 1, &[]);
        }
        // What the barrier ends with is a matter of who comes first.
        let ended = process.drains();
        assert!(
            process.number == 1 || ended == NORN_E_CLOSED,
            "{}",
            last_error()
        );
    });
}
