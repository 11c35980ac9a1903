//! What a worker that was back soon leaves to gather, and what it takes.

use core::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use super::*;
use crate::abi::types::*;
use crate::run::home;
use crate::run::open::{close, open_for_test};

/// A lane of a worker with bodies of that mean length, which left its last search a moment ago.
fn lane_of(body: Duration) -> Lane {
    let lane = Lane::default();
    lane.body_time.set(Some(body));
    // In the future: no time has passed, however slow the machine.
    lane.left_search
        .set(Some(Instant::now() + Duration::from_secs(3600)));
    lane
}

const SMALL: Duration = Duration::from_nanos(100);

fn with_workers(workers: &str, check: impl FnOnce(&Runtime)) {
    let handle = open_for_test(&[("NORN_WORKERS", workers)]).unwrap();
    check(home::resolve(handle).unwrap());
    close(handle, NORN_DRAIN, -1).unwrap();
}

#[test]
fn a_worker_with_small_bodies_that_is_back_soon_waits_twice_as_long_each_time() {
    with_workers("4", |runtime| {
        let lane = lane_of(SMALL);
        let mut waits = Vec::new();
        for _ in 0..6 {
            assert!(runtime.was_back_soon(&lane));
            waits.push(runtime.gathering_time(&lane));
        }
        // Four workers look about as often together as one that waits a quarter as long.
        let expected = [250, 500, 1000, 2000, 4000, 8000].map(Duration::from_nanos);
        assert_eq!(waits, expected);
        assert!(runtime.was_back_soon(&lane));
        assert_eq!(runtime.gathering_time(&lane), LONGEST_WAIT * 4);
        // Longer bodies than that keep a worker busy for as long as others wait.
        lane.body_time.set(Some(Duration::from_nanos(300)));
        let fewer = Duration::from_nanos(WAIT_TIMES_BODY / 300) * 4;
        assert_eq!(runtime.gathering_time(&lane), fewer);
    });
}

#[test]
fn a_worker_that_was_long_away_waits_less_again() {
    with_workers("4", |runtime| {
        let lane = lane_of(SMALL);
        for _ in 0..2 {
            assert!(runtime.was_back_soon(&lane));
        }
        let long_ago = Instant::now().checked_sub(Duration::from_millis(1));
        lane.left_search.set(long_ago);
        assert!(runtime.was_back_soon(&lane));
        assert_eq!(runtime.gathering_time(&lane), FIRST_WAIT);
        assert!(!runtime.was_back_soon(&lane));
    });
}

#[test]
fn a_worker_with_large_bodies_or_without_others_looks_at_once() {
    with_workers("4", |runtime| {
        let lane = lane_of(SMALL);
        assert!(runtime.was_back_soon(&lane));
        lane.body_time.set(Some(SUBMISSION * 3));
        assert!(!runtime.was_back_soon(&lane));
        lane.body_time.set(None);
        assert!(!runtime.was_back_soon(&lane));
    });
    with_workers("1", |runtime| {
        assert!(!runtime.was_back_soon(&lane_of(SMALL)));
    });
}

/// What two bodies share that keep both workers: one of them submits as many tasks as wanted.
struct Busy<'a> {
    runtime: &'a Runtime,
    running: AtomicUsize,
    wanted: AtomicUsize,
    submitted: AtomicUsize,
    over: AtomicBool,
}

/// The first one submits, the others stay.
unsafe extern "C" fn body(_: *mut norn_self, argument: *mut c_void) -> i32 {
    // SAFETY: the test keeps it until all tasks have ended.
    let busy = unsafe { &*argument.cast::<Busy<'_>>() };
    let submits = busy.running.fetch_add(1, Ordering::SeqCst) == 0;
    while !busy.over.load(Ordering::SeqCst) {
        if submits && busy.submitted.load(Ordering::SeqCst) < busy.wanted.load(Ordering::SeqCst) {
            busy.submit();
            busy.submitted.fetch_add(1, Ordering::SeqCst);
        }
        std::thread::yield_now();
    }
    0
}

impl Busy<'_> {
    fn submit(&self) {
        // SAFETY: all-zero bytes are the empty description, as the C API says.
        let mut task: norn_task = unsafe { core::mem::zeroed() };
        task.run = Some(body);
        task.arg = core::ptr::from_ref(self).cast_mut().cast();
        self.runtime.submit(&task, &[], &[]).unwrap();
    }

    /// So many tasks lie in the queue of the worker that submits.
    fn has(&self, tasks: u64) {
        self.wanted.store(tasks as usize, Ordering::SeqCst);
        while self.submitted.load(Ordering::SeqCst) != tasks as usize {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_worker_that_was_back_soon_takes_much_work_or_few_in_the_end() {
    with_workers("2", |runtime| {
        let busy = Busy {
            runtime,
            running: AtomicUsize::new(0),
            wanted: AtomicUsize::new(0),
            submitted: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        };
        for running in 1..=2 {
            busy.submit();
            while busy.running.load(Ordering::SeqCst) < running {
                std::thread::yield_now();
            }
        }
        let small = lane_of(SMALL);
        small.short_runs.set(1);
        // Two large bodies are worth the way, and many small ones.
        let larger = lane_of(WORTH_A_STEAL);
        busy.has(1);
        assert!(!runtime.has_much_work(0, &larger));
        busy.has(2);
        assert!(runtime.has_much_work(0, &larger));
        busy.has(MANY - 1);
        assert!(!runtime.may_steal(0, &small));
        small.takes_few.set(true);
        assert!(runtime.may_steal(0, &small));
        assert!(!runtime.may_steal(0, &small), "few are taken once");
        assert!(
            runtime.may_steal(0, &lane_of(SMALL)),
            "it was not back soon"
        );
        busy.has(MANY);
        assert!(runtime.may_steal(0, &small));
        busy.over.store(true, Ordering::SeqCst);
        runtime.drain(-1).unwrap();
    });
}
