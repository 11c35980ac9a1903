//! On a lowering of queues alone (`lowerings_tests`).

use std::time::{Duration, Instant};

use crate::order::operation::Outcome;
use crate::run::lowerings::tests::{WAYS, issued, open};
use crate::sync::atomic::Ordering;

#[test]
fn a_worker_with_nothing_to_do_hands_the_duty_on_to_who_waits() {
    for way in &WAYS[1..3] {
        let opened = open(way);
        *opened.queue.keeper.lock() = Some(std::thread::current().id());
        // At work first, then resting.
        for passes in [1, 200] {
            let step = opened.step(&[]);
            let begun = opened.queue.vain.load(Ordering::SeqCst);
            while opened.queue.vain.load(Ordering::SeqCst) < begun + passes {
                std::thread::yield_now();
            }
            let waited = opened.runtime.wait(step, 30_000_000_000);
            assert!(waited.is_ok(), "{way:?}: {waited:?}");
        }
        // The duty comes back: others' passes are made again.
        *opened.queue.keeper.lock() = None;
        opened.step(&[]);
        while opened.runtime.has_operations_under_way() {
            std::thread::yield_now();
        }
        opened.close();
    }
}

#[test]
fn who_rests_with_the_duty_is_called_when_something_comes() {
    for way in &WAYS[1..3] {
        let opened = open(way);
        let lowerings = &opened.runtime.lowerings;
        opened.queue.rests.store(true, Ordering::SeqCst);
        // A worker finds that it can do nothing.
        *opened.queue.keeper.lock() = Some(std::thread::current().id());
        opened.step(&[]);
        while !lowerings.resting.0.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        *opened.queue.keeper.lock() = None;
        opened.runtime.offer_duty();
        let until = Instant::now() + Duration::from_secs(30);
        while opened.runtime.has_operations_under_way() {
            assert!(Instant::now() < until, "{way:?}: it rests on");
            std::thread::yield_now();
        }
        opened.close();
    }
}

/// Who asks for the duty while another has it leaves it with that one.
#[test]
fn the_duty_for_a_moment_is_nobody_elses_meanwhile() {
    let opened = open(WAYS[0]);
    let step = opened.step(&[]);
    {
        let _moment = opened.runtime.take_duty_for_a_moment().unwrap();
        for _ in 0..2 {
            assert!(opened.runtime.take_duty_for_a_moment().is_none());
            assert!(opened.runtime.take_duty().is_none());
        }
    }
    {
        let _duty = opened.runtime.take_duty().unwrap();
        for _ in 0..2 {
            assert!(opened.runtime.take_duty_for_a_moment().is_none());
        }
    }
    assert!(opened.runtime.take_duty_for_a_moment().is_some());
    opened.wait(step).unwrap();
    opened.close();
}

/// Ends that the one with the duty puts off are told when it gives the duty back, when it finds nothing for long, before it
/// rests, and after many passes at the latest.
#[test]
fn ends_that_are_put_off_are_told_by_the_one_with_the_duty() {
    let opened = open(WAYS[0]);
    let runtime = opened.runtime;
    let is_untold = || runtime.lowerings.untold.load(Ordering::SeqCst);
    // It stays under way, so none of the others is the last.
    let (_, stays) = issued(&opened);
    let ends = || {
        let (_, node) = issued(&opened);
        runtime.finish_operation(node, &Outcome::Success);
    };
    opened.queue.shut.store(false, Ordering::SeqCst);
    ends();
    assert!(!is_untold(), "nobody has the duty");
    let duty = || {
        opened.queue.shut.store(false, Ordering::SeqCst);
        opened.step(&[]);
        let mut duty = runtime.take_duty().unwrap();
        while duty.pass() {}
        duty
    };
    let given_back = duty();
    ends();
    assert!(is_untold());
    drop(given_back);
    assert!(!is_untold(), "the duty was given back");
    let moment = runtime.take_duty_for_a_moment().unwrap();
    ends();
    assert!(is_untold());
    drop(moment);
    assert!(!is_untold(), "the moment is over");
    let mut late = duty();
    ends();
    while late.pause().is_none() {}
    assert!(is_untold());
    assert!(!late.pass() && !is_untold(), "nothing has come for long");
    ends();
    assert!(is_untold());
    late.rest(Some(Instant::now()));
    assert!(!is_untold(), "it rests");
    drop(late);
    let mut many = duty();
    ends();
    opened.queue.shut.store(false, Ordering::SeqCst);
    let told = (0..1000).any(|_| {
        opened.step(&[]);
        many.pass();
        !is_untold()
    });
    assert!(told, "it has made many passes");
    while many.pass() {}
    assert!(runtime.has_operations_under_way());
    ends();
    assert!(is_untold());
    runtime.finish_operation(stays, &Outcome::Success);
    assert!(!is_untold(), "it was the last");
    drop(many);
    opened.close();
}

#[test]
fn an_end_is_told_at_once_while_the_one_with_the_duty_rests() {
    let opened = open(WAYS[1]);
    let lowerings = &opened.runtime.lowerings;
    let (_, stays) = issued(&opened);
    let (_, ends) = issued(&opened);
    // The worker finds that it can do nothing with this one.
    opened.queue.shut.store(false, Ordering::SeqCst);
    opened.queue.rests.store(true, Ordering::SeqCst);
    *opened.queue.keeper.lock() = Some(std::thread::current().id());
    opened.step(&[]);
    while !lowerings.resting.0.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    opened.runtime.finish_operation(ends, &Outcome::Success);
    assert!(!lowerings.untold.load(Ordering::SeqCst));
    assert!(lowerings.resting.0.load(Ordering::SeqCst));
    *opened.queue.keeper.lock() = None;
    opened.runtime.finish_operation(stays, &Outcome::Success);
    opened.runtime.offer_duty();
    opened.runtime.drain(-1).unwrap();
    opened.close();
}
