//! Models of a whole small runtime, for shuttle: its workers, spares and callers, by
//! the shipped code from submit to close, under schedules chosen at random from a
//! fixed seed. loom cannot: there are too many.
//!
//! A thread that is never woken leaves a model without one that can go on, which
//! shuttle reports as a deadlock, except where the code polls.

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Tally, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use super::config::Settings;
use super::home::Home;
use super::open::{equip, free};
use super::runtime::Runtime;
use crate::abi::status::{NORN_E_CANCELLED, NORN_E_CLOSED, NORN_E_PROPAGATED};
use crate::abi::types::*;
use crate::order::body::Begin;
use crate::order::operation::{Operation, Outcome};
use crate::run::lowering::Lowering;
use crate::sync::atomic::AtomicUsize;
use crate::sync::{Condvar, Exclusive, Mutex, explore};

const NONE: (&str, &str) = ("NORN_WORKERS", "0");
const ONE: (&str, &str) = ("NORN_WORKERS", "1");
const TWO: (&str, &str) = ("NORN_WORKERS", "2");
const CEILING: (&str, &str) = ("NORN_MAX_LIVE_TASKS", "2");
const SYNC: (&str, &str) = ("NORN_MODE", "sync");

/// What the tasks of a model share with it.
struct World {
    runtime: *mut Runtime,
    promise: norn_token,
    ran: [Tally; 8],
    datum: Exclusive,
    device: Arc<Device>,
}

// SAFETY: the runtime is made for use from several threads, and freed when the others have ended.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// Argument of a body: its number, what it does, and the world, which outlives it.
struct Task<'a>(usize, Does, &'a World);

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Nothing,
    /// Is alone with its datum.
    Writes,
    Awaits,
    Fulfills,
    /// Goes on until an operation has ended, which norn is not asked for.
    Outlasts,
}

/// A lowering without a device: a pass ends what has arrived.
#[derive(Default)]
struct Device {
    arrived: Mutex<Vec<u32>>,
    count: AtomicUsize,
    /// Whether anything has ended, for those who wait for it behind norn's back. They must not look again and again: shuttle
    /// ends a park for no reason at times while any thread can go on, which would make up for a lost wake-up.
    ended: Mutex<bool>,
    bell: Condvar,
}

impl Device {
    fn wait_for_an_end(&self) {
        let mut ended = self.ended.lock();
        while !*ended {
            self.bell.wait(&mut ended);
        }
    }
}

struct Step(Arc<Device>);

impl Operation for Step {
    fn arrive(self: Arc<Self>, node: u32) -> bool {
        self.0.arrived.lock().push(node);
        self.0.count.fetch_add(1, SeqCst);
        true
    }
    fn cancelled(self: Arc<Self>, _cause: u32) {}
    fn describe(&self) -> String {
        "a step".into()
    }
}

impl Lowering for Device {
    fn pass(&self, runtime: &Runtime) -> bool {
        let arrived = core::mem::take(&mut *self.arrived.lock());
        self.count.fetch_sub(arrived.len(), SeqCst);
        for node in &arrived {
            if runtime.begin_operation(*node) == Begin::Run {
                runtime.finish_operation(*node, &Outcome::Success);
                *self.ended.lock() = true;
                self.bell.notify_all();
            }
        }
        !arrived.is_empty()
    }
    fn wants_pass(&self) -> bool {
        self.count.load(SeqCst) != 0
    }
    fn may_bring(&self) -> bool {
        self.wants_pass()
    }
}

unsafe extern "C" fn body(_: *mut norn_self, argument: *mut c_void) -> i32 {
    // SAFETY: the model keeps the task until the runtime is closed.
    let Task(number, does, world) = unsafe { &*argument.cast::<Task<'_>>() };
    assert_eq!(
        world.ran[*number].fetch_add(1, Relaxed),
        0,
        "task {number} ran twice"
    );
    let runtime = world.runtime();
    match does {
        Does::Nothing => {}
        Does::Writes => world.datum.write(),
        Does::Awaits => {
            let _ = runtime.wait(world.promise, -1);
        }
        Does::Fulfills => {
            let _ = runtime.fulfill(world.promise);
        }
        Does::Outlasts => world.device.wait_for_an_end(),
    }
    0
}

impl World {
    /// A runtime under these environment variables; no time is spent on spinning.
    fn new(environment: &[(&str, &str)]) -> World {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let environment: Vec<_> = environment.iter().map(owned).collect();
        // SAFETY: no configuration, so no strings and no callbacks.
        let mut settings = unsafe { Settings::resolve(None, &environment) }.unwrap();
        settings.max_threads = 8;
        settings.spin = Duration::ZERO;
        settings.watchdog = None;
        // Lives on, as every home does: it is small in a model.
        let home: &'static Home = Box::leak(Box::new(Home::new(1)));
        home.graph.renew(settings.deterministic);
        let runtime = Box::into_raw(Box::new(Runtime::new(1, home, settings)));
        // SAFETY: made just above; freed by `close`.
        equip(unsafe { &*runtime }).unwrap();
        // SAFETY: as above.
        let promise = unsafe { &*runtime }.promise(core::ptr::null()).unwrap();
        World {
            runtime,
            promise,
            ran: core::array::from_fn(|_| Tally::new(0)),
            datum: Exclusive::default(),
            device: Arc::default(),
        }
    }

    fn runtime(&self) -> &Runtime {
        // SAFETY: freed by `close` only, when all else has ended.
        unsafe { &*self.runtime }
    }

    fn submit(
        &self,
        number: usize,
        does: Does,
        data: &[norn_access],
        after: &[norn_token],
    ) -> norn_token {
        // SAFETY: all-zero bytes are the empty description, as the C API says.
        let mut task: norn_task = unsafe { core::mem::zeroed() };
        task.run = Some(body);
        // Lives on: the body may run at any time until the close.
        task.arg = core::ptr::from_ref(Box::leak(Box::new(Task(number, does, self))))
            .cast_mut()
            .cast();
        self.runtime().submit(&task, data, after).unwrap()
    }

    /// An operation of the device.
    fn step(&self, after: &[norn_token]) -> norn_token {
        // SAFETY: all-zero bytes are the empty description, as the C API says.
        let how: norn_task = unsafe { core::mem::zeroed() };
        let step = Arc::new(Step(self.device.clone()));
        let step = self.runtime().submit_operation(&how, &[], after, step);
        step.unwrap()
    }

    fn register(&self) -> norn_data {
        // SAFETY: all-zero bytes are an empty description without strings.
        unsafe {
            let desc: norn_data_desc = core::mem::zeroed();
            self.runtime().data_register(&desc).unwrap()
        }
    }

    fn runs(&self) -> Vec<usize> {
        self.ran.iter().map(|ran| ran.load(Relaxed)).collect()
    }

    /// Ends all work as `norn_close` does.
    fn close(&self, flags: u32) {
        let runtime = self.runtime();
        runtime.finish_work(flags, None).unwrap();
        runtime.stop_threads();
        assert_eq!(runtime.live_tasks(), 0);
        assert_eq!(runtime.blocked.count(), 0);
        assert!(!runtime.queues.has_any_work());
        free(self.runtime);
    }
}

fn write(data: norn_data) -> norn_access {
    norn_access {
        data,
        mode: NORN_WRITE,
        ..norn_access::default()
    }
}

fn beside(
    world: &Arc<World>,
    step: impl FnOnce(&World) + Send + 'static,
) -> shuttle::thread::JoinHandle<()> {
    let world = world.clone();
    shuttle::thread::spawn(move || step(&world))
}

#[test]
fn two_workers_run_what_two_threads_submit() {
    explore(3, || {
        let world = Arc::new(World::new(&[TWO]));
        let datum = world.register();
        let other = beside(&world, move |world| {
            world.submit(0, Does::Writes, &[write(datum)], &[]);
            world.submit(1, Does::Nothing, &[], &[world.promise]);
        });
        let last = world.submit(2, Does::Writes, &[write(datum)], &[]);
        world.submit(3, Does::Fulfills, &[], &[last]);
        world.runtime().wait(last, -1).unwrap();
        other.join().unwrap();
        world.runtime().drain(-1).unwrap();
        assert_eq!(world.runs()[..4], [1, 1, 1, 1]);
        world.close(NORN_DRAIN);
    });
}

/// Nobody waits in norn, so one of the two workers makes the pass, whichever of them was called to it first. `asleep`: both
/// sleep before.
fn an_operation_beside_a_body(asleep: bool) {
    explore(3, move || {
        let world = Arc::new(World::new(&[TWO]));
        world.runtime().add_lowering(world.device.clone());
        while asleep && world.runtime().sleep.sleeping() != 2 {
            shuttle::thread::yield_now();
        }
        world.step(&[]);
        world.submit(0, Does::Outlasts, &[], &[]);
        world.device.wait_for_an_end();
        world.runtime().drain(-1).unwrap();
        world.runtime().remove_lowering(&*world.device);
        assert_eq!(world.runs()[0], 1);
        world.close(NORN_DRAIN);
    });
}

#[test]
fn an_operation_is_carried_out_while_a_body_waits_for_it_behind_norns_back() {
    an_operation_beside_a_body(false);
}

#[test]
fn a_worker_that_is_called_to_an_operation_and_takes_a_body_leaves_it_to_another() {
    an_operation_beside_a_body(true);
}

/// Two threads wait without a slot, and one of them leaves when the operation comes that the other waits for. `kept`: the one
/// worker is in a body meanwhile.
fn one_of_two_waiting_threads_leaves(kept: bool) {
    explore(3, move || {
        let world = Arc::new(World::new(&[ONE]));
        world.runtime().add_lowering(world.device.clone());
        let promise = world.promise;
        let step = world.step(&[promise]);
        if kept {
            world.submit(0, Does::Outlasts, &[], &[]);
        }
        let until = |reached: &dyn Fn() -> bool| {
            while !reached() {
                shuttle::thread::yield_now();
            }
        };
        until(&|| !kept || world.runs()[0] == 1);
        let idlers = |count| {
            let idlers = &world.runtime().lowerings.idler_count;
            until(&|| idlers.load(SeqCst) == count);
        };
        let stays = beside(&world, move |world| {
            world.runtime().wait(step, -1).unwrap();
        });
        idlers(1);
        // The last in the list: it is called, and handed the duty, first.
        let leaves = beside(&world, move |world| {
            world.runtime().wait(promise, -1).unwrap();
        });
        idlers(2);
        world.runtime().fulfill(promise).unwrap();
        leaves.join().unwrap();
        stays.join().unwrap();
        world.runtime().drain(-1).unwrap();
        world.runtime().remove_lowering(&*world.device);
        world.close(NORN_DRAIN);
    });
}

#[test]
fn a_thread_that_leaves_its_wait_leaves_the_duty_that_it_was_handed() {
    one_of_two_waiting_threads_leaves(false);
}

#[test]
fn a_thread_that_leaves_its_wait_leaves_the_call_to_the_duty_to_another() {
    one_of_two_waiting_threads_leaves(true);
}

#[test]
fn a_body_that_awaits_gives_its_slot_to_a_spare_and_gets_one_back() {
    explore(3, || {
        let world = Arc::new(World::new(&[ONE]));
        let waits = world.submit(0, Does::Awaits, &[], &[]);
        world.submit(1, Does::Nothing, &[], &[waits]);
        world.submit(2, Does::Fulfills, &[], &[]);
        world.runtime().drain(-1).unwrap();
        assert_eq!(world.runs()[..3], [1, 1, 1]);
        world.close(NORN_DRAIN);
    });
}

#[test]
fn a_body_is_told_whether_its_promise_is_kept_or_cancelled() {
    explore(3, || {
        let world = Arc::new(World::new(&[ONE]));
        let other = beside(&world, |world| {
            let _ = world.runtime().cancel(world.promise);
        });
        world.submit(0, Does::Awaits, &[], &[]);
        let _ = world.runtime().fulfill(world.promise);
        other.join().unwrap();
        world.runtime().drain(-1).unwrap();
        assert_eq!(world.runs()[0], 1);
        world.close(NORN_DRAIN);
    });
}

#[test]
fn a_close_that_cancels_ends_what_waits_for_ever() {
    explore(3, || {
        let world = Arc::new(World::new(&[TWO]));
        let datum = world.register();
        world.submit(0, Does::Awaits, &[write(datum)], &[]);
        let behind = world.submit(1, Does::Writes, &[write(datum)], &[]);
        let never = world.submit(2, Does::Nothing, &[], &[world.promise]);
        world.runtime().finish_work(NORN_CANCEL, None).unwrap();
        assert!(world.runs()[0] <= 1 && world.runs()[2] == 0);
        for token in [behind, never] {
            let status = world
                .runtime()
                .wait(token, 0)
                .map_err(|error| error.status());
            let ended = [NORN_E_CANCELLED, NORN_E_CLOSED, NORN_E_PROPAGATED].map(Err);
            assert!(status == Ok(()) && token == behind || ended.contains(&status));
        }
        world.close(NORN_CANCEL);
    });
}

#[test]
fn a_submit_above_the_ceiling_goes_on_when_bodies_have_ended() {
    explore(3, || {
        let world = Arc::new(World::new(&[ONE, CEILING]));
        for number in 0..6 {
            world.submit(number, Does::Nothing, &[], &[]);
            assert!(
                world.runtime().live_tasks() <= 2,
                "the worker is awake: the ceiling holds"
            );
        }
        world.runtime().drain(-1).unwrap();
        assert_eq!(world.runs()[..6], [1; 6]);
        world.close(NORN_DRAIN);
    });
}

/// What is left waits for a promise that only the submitting thread keeps: waiting for room would be for ever.
#[test]
fn a_submit_above_the_ceiling_does_not_wait_for_what_cannot_run() {
    explore(3, || {
        let world = Arc::new(World::new(&[ONE, CEILING]));
        for number in 0..4 {
            world.submit(number, Does::Nothing, &[], &[world.promise]);
        }
        world.runtime().fulfill(world.promise).unwrap();
        world.runtime().drain(-1).unwrap();
        assert_eq!(world.runs()[..4], [1; 4]);
        world.close(NORN_DRAIN);
    });
}

#[test]
fn callers_take_turns_and_a_spare_sits_in_for_a_blocked_one() {
    explore(3, || {
        let world = Arc::new(World::new(&[NONE]));
        let first = world.submit(0, Does::Awaits, &[], &[]);
        let other = beside(&world, |world| {
            let second = world.submit(1, Does::Fulfills, &[], &[]);
            world.runtime().wait(second, -1).unwrap();
        });
        world.runtime().wait(first, -1).unwrap();
        other.join().unwrap();
        assert_eq!(world.runs()[..2], [1, 1]);
        world.close(NORN_DRAIN);
    });
}

/// The thread that closes looks, while its body waits, whether anything goes on, and waits for that for changes to end.
#[test]
fn a_look_of_a_close_leaves_the_wake_up_that_its_body_is_owed() {
    explore(3, || {
        let world = Arc::new(World::new(&[NONE]));
        world.submit(0, Does::Awaits, &[], &[]);
        let other = beside(&world, |world| {
            let _ = world.runtime().fulfill(world.promise);
        });
        world.runtime().finish_work(NORN_DRAIN, None).unwrap();
        other.join().unwrap();
        assert_eq!(world.runs()[0], 1);
        world.close(NORN_DRAIN);
    });
}

#[test]
fn in_the_sequential_mode_two_callers_take_turns() {
    explore(3, || {
        let world = Arc::new(World::new(&[SYNC]));
        let datum = world.register();
        let other = beside(&world, move |world| {
            let token = world.submit(0, Does::Writes, &[write(datum)], &[]);
            world.runtime().wait(token, -1).unwrap();
        });
        let token = world.submit(1, Does::Writes, &[write(datum)], &[]);
        world.runtime().wait(token, -1).unwrap();
        other.join().unwrap();
        assert_eq!(world.runs()[..2], [1, 1]);
        world.close(NORN_DRAIN);
    });
}
