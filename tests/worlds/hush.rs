//! Between a flush and the application's next call into norn no thread of norn's calls MPI, under MPI_THREAD_SERIALIZED.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};

use norn::abi::datatype::*;
use norn::abi::runtime::*;
use norn::abi::slice::norn_slice;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::ranks::*;
use crate::sim;
use crate::sim::table::*;

/// Looks that another rank makes while one is quiet. Each of them gives a thread that is not the time to show it.
const LONG: u64 = 1000;

fn serialized() -> sim::Config {
    sim::Config {
        level: NORN_MPI_THREAD_SERIALIZED,
        ..config()
    }
}

/// Waits for what must come, without a call of norn's.
#[track_caller]
fn until(reached: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !reached() {
        assert!(begun.elapsed().as_secs() < 60, "it does not come");
        std::thread::yield_now();
    }
}

fn flush(rank: &Rank) {
    // SAFETY: always safe.
    ok(unsafe { norn_world_flush(rank.world, 20_000_000_000) });
}

/// A call that waits for nothing and does nothing.
fn any_call(rank: &Rank) {
    // SAFETY: integers.
    let mut stats = norn_runtime_stats {
        struct_size: size_of::<norn_runtime_stats>(),
        ..unsafe { std::mem::zeroed() }
    };
    // SAFETY: writable as far as its size says.
    ok(unsafe { norn_stats(rank.rt, &mut stats) });
}

/// Rank 1 keeps calling MPI until it has done so long, or this rank calls it, which must not be.
fn is_quiet(rank: &Rank, job: &sim::Job) {
    let (calls, others) = (job.calls(rank.rank as usize), job.calls(1));
    until(|| job.calls(1) >= others + LONG);
    assert_eq!(job.calls(rank.rank as usize), calls, "MPI was called");
}

/// Tests for a token until it is complete, and so makes pass after pass.
#[track_caller]
fn poll(rank: &Rank, token: norn_token) {
    until(|| {
        let mut done = 0;
        // SAFETY: always safe, and the output is writable.
        unsafe {
            ok(norn_progress(rank.rt));
            ok(norn_test(rank.rt, token, &mut done));
        }
        done != 0
    });
    ok(rank.wait(token));
}

const KEY_TO_0: i64 = 0;
const KEY_TO_1: i64 = 1;
const KEY_END: i64 = 2;

/// Rank 1, which is never quiet: sends, receives the answer, waits for the end that rank 0 says, and sends then at last if it
/// has not before.
fn never_quiet(rank: &Rank, sends: bool, sent: &Barrier) {
    let (mut answer, mut end) = ([0u8; 8], [0u8; 8]);
    let answered = rank.recv(&room(&mut answer), 0, KEY_TO_1, &[]);
    let ended = rank.recv(&room(&mut end), 0, KEY_END, &[]);
    sent.wait();
    if sends {
        ok(rank.wait(rank.send(&slice(&[7u8; 8]), 0, KEY_TO_0, &[])));
    }
    poll(rank, answered);
    poll(rank, ended);
    assert_eq!((answer, end), ([7; 8], [9; 8]));
    if !sends {
        ok(rank.wait(rank.send(&slice(&[7u8; 8]), 0, KEY_TO_0, &[])));
    }
}

/// Rank 0 answers what it receives of `never_quiet`.
fn receives_and_answers(rank: &Rank, memory: &mut [u8; 8]) -> norn_token {
    let received = rank.recv(&room(memory), 1, KEY_TO_0, &[]);
    rank.send(&slice(&[7u8; 8]), 1, KEY_TO_1, &[received])
}

fn say_end(rank: &Rank) {
    ok(rank.wait(rank.send(&slice(&[9u8; 8]), 1, KEY_END, &[])));
}

const PARALLEL: [Way; 3] = [
    Way(NORN_MODE_ASYNC, 0),
    Way(NORN_MODE_ASYNC, 1),
    Way(NORN_MODE_ASYNC, 2),
];

#[test]
fn nothing_calls_mpi_until_the_next_call_and_all_goes_on_then() {
    for way in WAYS.into_iter().chain(PARALLEL) {
        let quiet = Barrier::new(2);
        run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
            if rank.rank == 1 {
                return never_quiet(rank, true, &quiet);
            }
            let mut memory = [0u8; 8];
            let received = rank.recv(&room(&mut memory), 1, KEY_TO_0, &[]);
            let between = rank.task(0, &[received]);
            let answered = rank.send(&slice(&[7u8; 8]), 1, KEY_TO_1, &[between]);
            flush(rank);
            quiet.wait();
            is_quiet(rank, job);
            ok(rank.wait(answered));
            assert_eq!(memory, [7; 8]);
            say_end(rank);
        });
    }
}

#[test]
fn any_call_of_the_application_lets_workers_go_on_by_themselves() {
    for workers in [1, 2] {
        let (quiet, answered) = (Barrier::new(2), Barrier::new(2));
        let way = Way(NORN_MODE_ASYNC, workers);
        run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
            let (mut memory, mut end) = ([0u8; 8], [0u8; 8]);
            if rank.rank == 1 {
                let received = rank.recv(&room(&mut memory), 0, KEY_TO_1, &[]);
                let ended = rank.recv(&room(&mut end), 0, KEY_END, &[]);
                quiet.wait();
                ok(rank.wait(rank.send(&slice(&[7u8; 8]), 0, KEY_TO_0, &[])));
                poll(rank, received);
                answered.wait();
                return poll(rank, ended);
            }
            let received = rank.recv(&room(&mut memory), 1, KEY_TO_0, &[]);
            let _ = rank.send(&slice(&[7u8; 8]), 1, KEY_TO_1, &[received]);
            flush(rank);
            quiet.wait();
            is_quiet(rank, job);
            any_call(rank);
            answered.wait();
            say_end(rank);
        });
    }
}

#[test]
fn calls_that_name_no_runtime_do_not_end_it() {
    let way = Way(NORN_MODE_ASYNC, 2);
    let quiet = Barrier::new(2);
    run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
        if rank.rank == 1 {
            return never_quiet(rank, true, &quiet);
        }
        let mut memory = [0u8; 8];
        let answered = receives_and_answers(rank, &mut memory);
        flush(rank);
        let _ = norn_last_error();
        // SAFETY: each pointer may be NULL.
        ok(unsafe {
            norn_version(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        });
        quiet.wait();
        is_quiet(rank, job);
        ok(rank.wait(answered));
        say_end(rank);
    });
}

#[test]
fn where_any_thread_may_call_mpi_workers_go_on_after_a_flush() {
    let answered = Barrier::new(2);
    run_way(
        Way(NORN_MODE_ASYNC, 2),
        &config(),
        world_config(),
        &|rank: &Rank| {
            let mut memory = [0u8; 8];
            if rank.rank == 1 {
                ok(rank.wait(rank.send(&slice(&[7u8; 8]), 0, KEY_TO_0, &[])));
                ok(rank.wait(rank.recv(&room(&mut memory), 0, KEY_TO_1, &[])));
            } else {
                let received = rank.recv(&room(&mut memory), 1, KEY_TO_0, &[]);
                let _ = rank.send(&slice(&[7u8; 8]), 1, KEY_TO_1, &[received]);
                flush(rank);
            }
            answered.wait();
        },
    );
}

#[test]
fn a_flush_that_was_too_late_leaves_mpi_to_norn() {
    unsafe extern "C" fn until_told(_: *mut norn_self, arg: *mut c_void) -> i32 {
        // SAFETY: the flag outlives the task: the rank waits for it.
        let told = unsafe { &*arg.cast::<AtomicU32>() };
        while told.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        0
    }
    let answered = Barrier::new(2);
    let way = Way(NORN_MODE_ASYNC, 2);
    run_way(way, &serialized(), world_config(), &|rank: &Rank| {
        let mut memory = [0u8; 8];
        if rank.rank == 1 {
            ok(rank.wait(rank.send(&slice(&[7u8; 8]), 0, KEY_TO_0, &[])));
            ok(rank.wait(rank.recv(&room(&mut memory), 0, KEY_TO_1, &[])));
            answered.wait();
            return;
        }
        let told = AtomicU32::new(0);
        let mut task = how();
        task.run = Some(until_told);
        task.arg = (&raw const told).cast_mut().cast();
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_submit(rank.rt, &task, &mut token) });
        let received = rank.recv(&room(&mut memory), 1, KEY_TO_0, &[]);
        let _ = rank.send(&slice(&[7u8; 8]), 1, KEY_TO_1, &[received]);
        // SAFETY: always safe.
        let flushed = unsafe { norn_world_flush(rank.world, 1_000_000) };
        assert_eq!(flushed, NORN_E_TIMEOUT);
        answered.wait();
        told.store(1, SeqCst);
        ok(rank.wait(token));
    });
}

/// A task of a runtime without worlds, which fulfils a promise of another one when it is told to: as a call that a body
/// makes, it leaves MPI to the application.
struct Fulfiller {
    rt: *mut norn_runtime,
    of: *mut norn_runtime,
    promise: norn_token,
    told: AtomicU32,
}

unsafe extern "C" fn fulfil_when_told(_: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: it outlives the task: its runtime is closed first.
    let this = unsafe { &*arg.cast::<Fulfiller>() };
    while this.told.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    // SAFETY: always safe.
    unsafe { norn_fulfill(this.of, this.promise) }
}

impl Fulfiller {
    fn new(rank: &Rank) -> Box<Self> {
        let rt = open(Way(NORN_MODE_ASYNC, 1));
        let mut promise = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_promise(rank.rt, c"told".as_ptr(), &mut promise) });
        let this = Box::new(Self {
            rt,
            of: rank.rt,
            promise,
            told: AtomicU32::new(0),
        });
        let mut task = how();
        task.run = Some(fulfil_when_told);
        task.arg = (&raw const *this).cast_mut().cast();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_submit(this.rt, &task, std::ptr::null_mut()) });
        this
    }

    fn close(&self) {
        // SAFETY: nothing uses the handle any more.
        ok(unsafe { norn_close(self.rt) });
    }
}

/// A task that declares a message, in a hush.
struct Declaring {
    world: *mut norn_world,
    memory: norn_slice,
    begun: AtomicU32,
    ended: AtomicU32,
}

unsafe extern "C" fn declare(_: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: it outlives the task: the rank waits for it.
    let this = unsafe { &*arg.cast::<Declaring>() };
    this.begun.store(1, SeqCst);
    // SAFETY: the slice is of memory that lives as long.
    let status = unsafe {
        norn_send(
            this.world,
            &this.memory,
            1,
            KEY_TO_1,
            std::ptr::null(),
            std::ptr::null_mut(),
        )
    };
    this.ended.store(1, SeqCst);
    status
}

/// A body that declares a message of this type in a hush, which is begun then at least.
fn a_body_declares(datatype: norn_type, is_declared_at_once: bool) {
    for workers in [1, 2] {
        let quiet = Barrier::new(2);
        let way = Way(NORN_MODE_ASYNC, workers);
        run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
            if rank.rank == 1 {
                return never_quiet(rank, false, &quiet);
            }
            let fulfiller = Fulfiller::new(rank);
            let given = [7u8; 8];
            let declaring = Declaring {
                world: rank.world,
                memory: norn_slice {
                    r#type: datatype,
                    count: if datatype == NORN_BYTE { 8 } else { 1 },
                    ..slice(&given)
                },
                begun: AtomicU32::new(0),
                ended: AtomicU32::new(0),
            };
            let mut task = how();
            task.run = Some(declare);
            task.arg = (&raw const declaring).cast_mut().cast();
            task.after = &raw const fulfiller.promise;
            task.after_count = 1;
            let mut token = norn_token::default();
            // SAFETY: the pointers are of live variables.
            ok(unsafe { norn_submit(rank.rt, &task, &mut token) });
            // Something is looked for: a worker that did would not come to run the body.
            let mut memory = [0u8; 8];
            let received = rank.recv(&room(&mut memory), 1, KEY_TO_0, &[]);
            flush(rank);
            quiet.wait();
            let calls = job.calls(0);
            fulfiller.told.store(1, SeqCst);
            let reached = match is_declared_at_once {
                true => &declaring.ended,
                false => &declaring.begun,
            };
            until(|| reached.load(SeqCst) != 0);
            is_quiet(rank, job);
            assert_eq!(job.calls(0), calls, "MPI was called");
            // The message goes on, whichever call comes.
            ok(rank.wait(token));
            say_end(rank);
            ok(rank.wait(received));
            fulfiller.close();
        });
    }
}

#[test]
fn a_message_that_a_body_declares_meanwhile_is_posted_afterwards() {
    a_body_declares(NORN_BYTE, true);
}

/// Of a type of MPI's, which has to be asked about it: the body waits.
#[test]
fn a_message_of_an_mpi_type_that_a_body_declares_meanwhile_is_posted_afterwards() {
    a_body_declares(NORN_OF_MPI | (100 + NORN_F64), false);
}

#[test]
fn a_wait_that_has_begun_before_goes_on_afterwards() {
    for way in PARALLEL {
        let quiet = Barrier::new(2);
        run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
            if rank.rank == 1 {
                return never_quiet(rank, true, &quiet);
            }
            let mut memory = [0u8; 8];
            let answered = receives_and_answers(rank, &mut memory);
            let waits = AtomicU32::new(0);
            std::thread::scope(|scope| {
                let waits = &waits;
                scope.spawn(move || {
                    waits.store(1, SeqCst);
                    ok(rank.wait(answered));
                });
                until(|| waits.load(SeqCst) != 0);
                // It is most often inside its wait by then. If it comes later, it ends the hush, as any call.
                std::thread::sleep(std::time::Duration::from_millis(20));
                flush(rank);
                quiet.wait();
                is_quiet(rank, job);
                any_call(rank);
                if way.1 == 0 {
                    ok(rank.wait(answered));
                }
            });
            say_end(rank);
        });
    }
}

#[test]
fn a_flush_holds_for_the_worlds_of_other_runtimes() {
    for way in [Way(NORN_MODE_ASYNC, 1), Way(NORN_MODE_ASYNC, 2)] {
        let quiet = Barrier::new(2);
        run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
            let other = attach(open(way), job, rank.rank as usize);
            if rank.rank == 1 {
                never_quiet(&other, true, &quiet);
            } else {
                let mut memory = [0u8; 8];
                let received = other.recv(&room(&mut memory), 1, KEY_TO_0, &[]);
                let answered = other.send(&slice(&[7u8; 8]), 1, KEY_TO_1, &[received]);
                flush(&other);
                flush(rank);
                quiet.wait();
                is_quiet(rank, job);
                any_call(rank);
                ok(other.wait(answered));
                say_end(&other);
            }
            // SAFETY: nothing uses the handle any more.
            ok(unsafe { norn_close(other.rt) });
        });
    }
}

/// Or the ranks that wait for it would wait as long as the application calls MPI.
#[test]
fn a_flush_posts_what_is_ready_in_all_worlds_of_the_runtime() {
    if verify_is_asked_for() {
        return;
    }
    const MANY: usize = 100;
    for way in PARALLEL {
        let done = Barrier::new(2);
        run_way_of_job(way, &serialized(), world_config(), &|rank: &Rank, job| {
            let other = attach(rank.rt, job, rank.rank as usize);
            let mut memory = [0u8; MANY];
            if rank.rank == 0 {
                let before = job.counters().receives;
                let tokens: Vec<_> = memory
                    .iter_mut()
                    .enumerate()
                    .map(|(key, byte)| {
                        other.recv(&room(std::slice::from_mut(byte)), 1, key as i64, &[])
                    })
                    .collect();
                flush(rank);
                let posted = job.counters().receives - before;
                done.wait();
                assert!(posted >= MANY as u64, "{posted} of {MANY}, {way:?}");
                tokens.into_iter().for_each(|token| ok(other.wait(token)));
            } else {
                done.wait();
                for key in 0..MANY {
                    ok(other.wait(other.send(&slice(&memory[..1]), 0, key as i64, &[])));
                }
            }
        });
    }
}

#[test]
fn the_watchdog_is_silent_until_something_waits_to_be_posted() {
    registered();
    let job = sim::Job::start(sim::Config {
        size: 1,
        ..serialized()
    });
    let lines = Mutex::new(String::new());
    let rt = open_with_watchdog(&lines);
    let rank = attach(rt, &job, 0);
    let says = |part: &str| {
        let lines = lines.lock().expect("no panic holds it");
        lines.contains(part)
    };
    let fulfiller = Fulfiller::new(&rank);
    let mut memory = [0u8; 8];
    let received = rank.recv(&room(&mut memory), 0, 0, &[]);
    let sent = rank.send(&slice(&[7u8; 8]), 0, 0, &[fulfiller.promise]);
    flush(&rank);
    // It may have been about to speak, of a promise that nobody fulfils.
    std::thread::sleep(std::time::Duration::from_millis(100));
    lines.lock().expect("no panic holds it").clear();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!says("nothing has completed"), "{lines:?}");
    fulfiller.told.store(1, SeqCst);
    until(|| says("something has become ready since norn_world_flush"));
    ok(rank.wait(sent));
    ok(rank.wait(received));
    // SAFETY: nothing uses the handle any more.
    ok(unsafe { norn_close(rt) });
    fulfiller.close();
}
