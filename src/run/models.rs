//! Models of the threads' protocols, each by itself.
//!
//! A worker that is never woken leaves a model without a thread that can go on, which
//! the checker reports as a deadlock. A body is as long as can be: a worker that has begun
//! one does not come back, so no model is saved by a worker that comes by later.

use std::sync::Arc;

use crate::run::alerts::{Alerts, Watched};
use crate::run::blocked::{BlockedBodies, Grant};
use crate::run::gang::Gang;
use crate::run::sleep::Sleep;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use crate::sync::{Exclusive, Mutex, explore, thread};

/// A queue with no ordering of its own: the protocol must do with any.
#[derive(Default)]
struct Queue(AtomicUsize);

impl Queue {
    fn push(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn has_work(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    fn take(&self) -> bool {
        self.0
            .fetch_update(Relaxed, Relaxed, |tasks| tasks.checked_sub(1))
            .is_ok()
    }
}

/// What `Runtime::search` does when spinning has found nothing.
fn search(sleep: &Sleep, slot: usize, reason: impl Fn() -> bool, more: impl Fn() -> bool) {
    sleep.begin_search();
    if !reason() {
        sleep.sleep(slot, &reason, || {
            thread::park();
            false
        });
    }
    sleep.end_search(more);
}

#[test]
fn a_task_wakes_the_worker_that_falls_asleep() {
    explore(3, || {
        let shared = Arc::new((Sleep::new(1), Queue::default()));
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, queue) = &*shared;
                while !queue.take() {
                    search(sleep, 0, || queue.has_work(), || queue.has_work());
                }
            })
        };
        let (sleep, queue) = &*shared;
        queue.push();
        sleep.work_added();
        worker.join().unwrap();
        assert_eq!(sleep.sleeping(), 0);
    });
}

#[test]
fn two_tasks_wake_two_workers() {
    explore(2, || {
        let shared = Arc::new((Sleep::new(2), Queue::default()));
        let workers = [0, 1].map(|slot| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, queue) = &*shared;
                while !queue.take() {
                    search(sleep, slot, || queue.has_work(), || queue.has_work());
                }
            })
        });
        let (sleep, queue) = &*shared;
        for _ in 0..2 {
            queue.push();
            sleep.work_added();
        }
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(sleep.sleeping(), 0);
    });
}

/// Worker 0 is awake and leaves with a task that only it may take. A task for all that comes at that moment
/// relies on it, and worker 1 sleeps.
#[test]
fn a_searcher_that_leaves_wakes_another_for_what_relied_on_it() {
    explore(2, || {
        let shared = Arc::new((Sleep::new(2), Queue::default(), Queue::default()));
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, queue, _) = &*shared;
                while !queue.take() {
                    search(sleep, 1, || queue.has_work(), || queue.has_work());
                }
            })
        };
        let searcher = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, queue, own) = &*shared;
                own.push();
                let reason = || own.has_work() || queue.has_work();
                search(sleep, 0, reason, || queue.has_work());
                assert!(own.take());
            })
        };
        let (sleep, queue, _) = &*shared;
        queue.push();
        sleep.work_added();
        searcher.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn a_wake_up_for_one_slot_is_not_lost() {
    explore(3, || {
        let shared = Arc::new((Sleep::new(1), Queue::default()));
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, queue) = &*shared;
                while !queue.take() {
                    search(sleep, 0, || queue.has_work(), || false);
                }
            })
        };
        let (sleep, queue) = &*shared;
        queue.push();
        sleep.wake_slot(0);
        worker.join().unwrap();
    });
}

#[test]
fn all_wake_when_the_runtime_stops() {
    explore(2, || {
        let shared = Arc::new((Sleep::new(2), AtomicBool::new(false)));
        let workers = [0, 1].map(|slot| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, stop) = &*shared;
                while !stop.load(Relaxed) {
                    search(sleep, slot, || stop.load(Relaxed), || false);
                }
            })
        });
        let (sleep, stop) = &*shared;
        stop.store(true, Relaxed);
        sleep.wake_all();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// A body that awaits gives its slot to a spare and comes back when it is told. The slot has one user at a time,
/// ordered by the grants alone.
#[test]
fn a_slot_goes_to_the_spare_and_back() {
    struct Shared {
        blocked: BlockedBodies,
        sleep: Sleep,
        slot: Exclusive,
    }
    explore(2, || {
        let shared = Arc::new(Shared {
            blocked: BlockedBodies::new(8, &Alerts::default()),
            sleep: Sleep::new(1),
            slot: Exclusive::default(),
        });
        let (body, spare) = (Grant::new(), Grant::new());
        let sitting = {
            let (shared, grant) = (shared.clone(), spare.clone());
            thread::spawn(move || {
                let slot = grant.wait().unwrap();
                shared.slot.write();
                // As `Runtime::work` does between two bodies.
                while !(shared.blocked.maybe_ready() && shared.blocked.resume_one(slot)) {
                    let ready = || shared.blocked.any_ready();
                    search(&shared.sleep, slot, ready, || false);
                }
            })
        };
        let teller = {
            let (shared, grant) = (shared.clone(), body.clone());
            thread::spawn(move || {
                shared.blocked.push_ready(grant);
                shared.sleep.wake_one();
            })
        };
        shared.slot.write();
        shared.blocked.give_slot(&spare, 0);
        assert_eq!(body.wait(), Some(0));
        shared.slot.write();
        sitting.join().unwrap();
        teller.join().unwrap();
    });
}

#[test]
fn a_spare_that_waits_is_sent_home() {
    explore(3, || {
        let blocked = Arc::new(BlockedBodies::new(8, &Alerts::default()));
        let spare = Grant::new();
        blocked.keep_spare_of(spare.clone());
        let thread = thread::spawn(move || spare.wait());
        blocked.stop_spares();
        assert_eq!(thread.join().unwrap(), None);
    });
}

#[test]
fn a_body_gathers_the_worker_that_comes_by_and_lets_it_go() {
    explore(3, || {
        let gang = Arc::new(Gang::default());
        let lender = {
            let gang = gang.clone();
            thread::spawn(move || {
                while !gang.wants() {
                    thread::yield_now();
                }
                gang.lend();
            })
        };
        assert!(gang.gather(1, 1, || ()));
        assert!(gang.finish().is_empty());
        lender.join().unwrap();
    });
}

#[test]
fn a_source_is_an_alert_exactly_while_it_has_something() {
    explore(3, || {
        let alerts = Alerts::default();
        let source = Arc::new(Mutex::new((0, Watched::new(&alerts))));
        let change = |source: &Mutex<(usize, Watched)>, alerts: &Alerts, by: isize| {
            let mut source = source.lock();
            source.0 = source.0.saturating_add_signed(by);
            source.1.set(source.0);
            assert!(source.0 == 0 || alerts.any());
        };
        let others = [1, -1].map(|by| {
            let (source, alerts) = (source.clone(), alerts.clone());
            thread::spawn(move || change(&source, &alerts, by))
        });
        change(&source, &alerts, 1);
        for other in others {
            other.join().unwrap();
        }
        // One may have been taken away before there was any.
        let left = source.lock().0;
        assert_eq!(alerts.any(), left != 0);
        change(&source, &alerts, -2);
        assert!(!alerts.any());
    });
}
