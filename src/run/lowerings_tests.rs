//! A lowering of queues alone: what arrives is begun in the next pass and ended in the one after.

use super::*;
use crate::abi::status::*;
use crate::abi::types::*;
use crate::order::body::Begin;
use crate::order::operation::{Operation, Outcome};
use crate::run::home;
use crate::run::open::{close, open_for_test};
use core::ffi::c_void;
use std::time::Duration;

#[derive(Default)]
pub(in crate::run) struct Queue {
    pub(in crate::run) arrived: Mutex<Vec<(u32, Arc<Step>)>>,
    pub(in crate::run) begun: Mutex<Vec<(u32, Arc<Step>)>>,
    pub(in crate::run) cancelled: AtomicUsize,
    /// Passes achieve nothing while it is set.
    pub(in crate::run) shut: AtomicBool,
    /// The thread whose passes alone achieve something; none: all.
    pub(in crate::run) keeper: Mutex<Option<std::thread::ThreadId>>,
    /// Passes by other threads.
    pub(in crate::run) vain: AtomicUsize,
    /// Who finds nothing rests until it is told.
    pub(in crate::run) rests: AtomicBool,
}

pub(in crate::run) struct Step {
    queue: Arc<Queue>,
    fails: bool,
    owed: bool,
}

impl Operation for Step {
    fn arrive(self: Arc<Self>, node: u32) -> bool {
        let queue = self.queue.clone();
        queue.arrived.lock().push((node, self));
        true
    }
    fn cancelled(self: Arc<Self>, _cause: u32) {
        self.queue.cancelled.fetch_add(1, Ordering::SeqCst);
    }
    fn is_owed(&self) -> bool {
        self.owed
    }
    fn describe(&self) -> String {
        "a step".into()
    }
}

impl Lowering for Queue {
    fn pass(&self, runtime: &Runtime) -> bool {
        let me = std::thread::current().id();
        if self.keeper.lock().is_some_and(|keeper| keeper != me) {
            self.vain.fetch_add(1, Ordering::SeqCst);
            return false;
        }
        let begun = core::mem::take(&mut *self.begun.lock());
        let arrived = core::mem::take(&mut *self.arrived.lock());
        let went_on = !begun.is_empty() || !arrived.is_empty();
        for (node, step) in begun {
            let cause = runtime.graph().doom_of(node);
            let outcome = match (cause, step.fails) {
                (0, false) => Outcome::Success,
                (0, true) => Outcome::Failed {
                    status: NORN_E_TASK_FAILED,
                    code: 7,
                    operation: "step",
                    text: "as asked",
                },
                (cause, _) => Outcome::Propagated(cause),
            };
            runtime.finish_operation(node, &outcome);
        }
        for (node, step) in arrived {
            if runtime.begin_operation(node) == Begin::Run {
                self.begun.lock().push((node, step));
            }
        }
        went_on
    }
    fn may_bring(&self) -> bool {
        !self.begun.lock().is_empty() || !self.arrived.lock().is_empty()
    }
    fn wants_pass(&self) -> bool {
        let empty = self.arrived.lock().is_empty() && self.begun.lock().is_empty();
        !empty && !self.shut.load(Ordering::SeqCst)
    }
    fn pause(&self) -> Option<Duration> {
        let rests = self.rests.load(Ordering::SeqCst);
        rests.then_some(Duration::from_secs(3600))
    }
}

pub(in crate::run) struct Opened {
    pub(in crate::run) handle: *mut norn_runtime,
    pub(in crate::run) runtime: &'static Runtime,
    pub(in crate::run) queue: Arc<Queue>,
}

/// Every way of running: each test must hold in all of them.
pub(in crate::run) const WAYS: [&[(&str, &str)]; 5] = [
    &[("NORN_WORKERS", "0")],
    &[("NORN_WORKERS", "1")],
    &[("NORN_WORKERS", "3")],
    &[("NORN_MODE", "sync")],
    &[("NORN_MODE", "shuffle:5")],
];

pub(in crate::run) fn open(way: &[(&str, &str)]) -> Opened {
    let handle = open_for_test(way).unwrap();
    let runtime = home::resolve(handle).unwrap();
    let queue = Arc::new(Queue::default());
    runtime.add_lowering(queue.clone());
    Opened {
        handle,
        runtime,
        queue,
    }
}

fn empty_task() -> norn_task {
    // SAFETY: all-zero bytes are the empty description, as the C API says.
    unsafe { core::mem::zeroed() }
}

impl Opened {
    fn step_of(
        &self,
        how: &norn_task,
        after: &[norn_token],
        fails: bool,
        owed: bool,
    ) -> norn_token {
        let step = Arc::new(Step {
            queue: self.queue.clone(),
            fails,
            owed,
        });
        self.runtime
            .submit_operation(how, &[], after, step)
            .unwrap()
    }

    pub(in crate::run) fn step(&self, after: &[norn_token]) -> norn_token {
        self.step_of(&empty_task(), after, false, false)
    }

    fn task(&self, after: &[norn_token], ran: &AtomicUsize) -> norn_token {
        unsafe extern "C" fn body(_: *mut norn_self, argument: *mut c_void) -> i32 {
            // SAFETY: the test keeps the counter until the runtime is closed.
            unsafe { &*argument.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
            0
        }
        let mut task = empty_task();
        task.run = Some(body);
        task.arg = core::ptr::from_ref(ran).cast_mut().cast();
        self.runtime.submit(&task, &[], after).unwrap()
    }

    pub(in crate::run) fn wait(&self, token: norn_token) -> Result<()> {
        self.runtime.wait(token, -1)
    }

    pub(in crate::run) fn close(self) {
        self.runtime.remove_lowering(&*self.queue);
        close(self.handle, NORN_DRAIN, -1).ok();
    }
}

#[test]
fn operations_and_tasks_order_each_other() {
    for way in WAYS {
        let opened = open(way);
        let ran = AtomicUsize::new(0);
        let mut last = norn_token::default();
        for _ in 0..100 {
            last = opened.step(&[last]);
            last = opened.task(&[last], &ran);
        }
        opened.wait(last).unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 100, "{way:?}");
        assert!(!opened.runtime.has_operations_under_way());
        opened.close();
    }
}

#[test]
fn a_failed_operation_fails_what_follows() {
    for way in WAYS {
        let opened = open(way);
        let ran = AtomicUsize::new(0);
        let failed = opened.step_of(&empty_task(), &[], true, false);
        let task = opened.task(&[failed], &ran);
        let behind = opened.step(&[task]);
        assert_eq!(
            opened.wait(failed).unwrap_err().status(),
            NORN_E_TASK_FAILED
        );
        assert_eq!(opened.wait(behind).unwrap_err().status(), NORN_E_PROPAGATED);
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        opened.close();
    }
}

#[test]
fn an_owed_operation_is_handed_on_with_its_cause() {
    for way in WAYS {
        let opened = open(way);
        let failed = opened.step_of(&empty_task(), &[], true, false);
        let owed = opened.step_of(&empty_task(), &[failed], false, true);
        assert_eq!(opened.wait(owed).unwrap_err().status(), NORN_E_PROPAGATED);
        opened.close();
    }
}

#[test]
fn a_cancelled_operation_is_told_and_never_begun() {
    for way in WAYS {
        let opened = open(way);
        let mut held = empty_task();
        held.flags = NORN_HELD;
        let step = opened.step_of(&held, &[], false, true);
        opened.runtime.cancel(step).unwrap();
        assert_eq!(opened.wait(step).unwrap_err().status(), NORN_E_CANCELLED);
        assert_eq!(opened.queue.cancelled.load(Ordering::SeqCst), 1);
        assert!(opened.queue.arrived.lock().is_empty());
        opened.close();
    }
}

#[test]
fn an_operation_that_has_arrived_can_still_be_cancelled() {
    for way in WAYS {
        let opened = open(way);
        opened.queue.shut.store(true, Ordering::SeqCst);
        let step = opened.step(&[]);
        // In one-thread modes it arrives inside a call.
        while opened.queue.arrived.lock().is_empty() {
            opened.runtime.progress().unwrap();
        }
        opened.runtime.cancel(step).unwrap();
        opened.queue.shut.store(false, Ordering::SeqCst);
        opened.runtime.offer_duty();
        opened.runtime.drain(-1).unwrap();
        assert_eq!(opened.wait(step).unwrap_err().status(), NORN_E_CANCELLED);
        while opened.runtime.has_operations_under_way() {
            opened.runtime.progress().unwrap();
        }
        opened.close();
    }
}

#[test]
fn a_declared_token_is_bound_to_an_operation() {
    for way in WAYS {
        let opened = open(way);
        let ran = AtomicUsize::new(0);
        let later = opened.runtime.declare(core::ptr::null()).unwrap();
        let task = opened.task(&[later], &ran);
        let mut how = empty_task();
        how.r#as = later;
        opened.step_of(&how, &[], false, false);
        opened.wait(task).unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
        opened.close();
    }
}

#[test]
fn an_operation_under_way_is_no_deadlock() {
    for way in WAYS {
        let opened = open(way);
        opened.queue.shut.store(true, Ordering::SeqCst);
        let step = opened.step(&[]);
        opened.runtime.seal().unwrap();
        assert_eq!(
            opened.runtime.wait(step, 20_000_000).unwrap_err().status(),
            NORN_E_TIMEOUT
        );
        opened.queue.shut.store(false, Ordering::SeqCst);
        opened.runtime.offer_duty();
        opened.wait(step).unwrap();
        opened.close();
    }
}

#[test]
fn a_drain_waits_for_operations() {
    for way in WAYS {
        let opened = open(way);
        let steps: Vec<_> = (0..50).map(|_| opened.step(&[])).collect();
        opened.runtime.drain(-1).unwrap();
        for step in steps {
            assert!(opened.runtime.test(step).unwrap());
        }
        opened.close();
    }
}

/// An operation that has arrived, begun and issued by the test itself, which one-thread modes let nobody do.
pub(in crate::run) fn issued(opened: &Opened) -> (norn_token, u32) {
    opened.queue.shut.store(true, Ordering::SeqCst);
    let token = opened.step(&[]);
    let (node, _step) = opened.queue.arrived.lock().pop().unwrap();
    assert!(opened.runtime.begin_operation(node) == Begin::Run);
    opened.runtime.issue_operation(node);
    (token, node)
}

#[test]
fn an_issued_operation_shows_who_waits_on_the_host() {
    for way in &WAYS[..3] {
        let opened = open(way);
        let graph = opened.runtime.graph();
        let ran = AtomicUsize::new(0);
        let (token, node) = issued(&opened);
        assert!(!graph.is_awaited(node), "{way:?}");
        let task = opened.task(&[token], &ran);
        assert!(graph.is_awaited(node), "{way:?}");
        let (other, unobserved) = issued(&opened);
        assert!(opened.runtime.wait(other, 1).is_err());
        assert!(graph.is_awaited(unobserved), "{way:?}");
        for node in [node, unobserved] {
            opened.runtime.finish_operation(node, &Outcome::Success);
        }
        opened.wait(task).unwrap();
        opened.close();
    }
}

#[test]
fn operations_of_a_list_end_in_its_order_and_the_others_stay() {
    for way in &WAYS[..3] {
        let opened = open(way);
        let graph = opened.runtime.graph();
        let (first, second, third) = (issued(&opened), issued(&opened), issued(&opened));
        let mut list = vec![first, third, second];
        // The second one sees the end of the first; the third is left.
        let ended = opened
            .runtime
            .finish_operations(&mut list, drop, |graph, one| {
                let free = *one != third && (*one == first || graph.is_complete(first.0.into()));
                free.then_some((one.1, Outcome::Success))
            });
        assert_eq!((ended, &list[..]), (2, &[third][..]), "{way:?}");
        assert!(graph.is_complete(second.0.into()) && !graph.is_complete(third.0.into()));
        opened.runtime.finish_operation(third.1, &Outcome::Success);
        opened.wait(third.0).unwrap();
        opened.close();
    }
}
