//! The worker's loop, and what it does with one task.

use core::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::duty::Duty;
use super::pace::{PATIENCE, SELDOM, doze};
use super::runtime::Runtime;
use super::seat;
use super::wait::park_on_duty;
use crate::abi::types::*;
use crate::order::body::Begin;
use crate::order::lane::{Lane, count};
use crate::order::node::{flag, kind};
use crate::order::token::Token;

/// Bodies between two looks at those who wait for a drain.
const LOOK_EVERY: u32 = 64;

/// Looks at the queues, twice as far apart each time, before a worker counts itself as searching.
const GLANCES: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 5 };

impl Runtime {
    /// Sits in `slot` and runs tasks until the slot goes to somebody else or the runtime stops.
    pub(crate) fn work(&self, slot: usize) {
        let saved = seat::sit(self, slot);
        // A body that awaited has come back in another slot than it began in.
        while let Some(slot) = seat::slot_in(self) {
            if self.stopping.load(Ordering::Relaxed) {
                break;
            }
            if self.blocked.maybe_ready() && self.blocked.resume_one(slot) {
                break;
            }
            if self.callers_run && self.give_back_caller_seat() {
                break;
            }
            if self.gang.wants() {
                self.gang.lend();
                continue;
            }
            if let Some(node) = self.next_task_of_worker(slot) {
                // A spare that sits in for an application's thread looks after each body whether that is back.
                self.run_task(slot, node, || self.callers_run);
                self.pass_by_the_way();
            } else if !self.search(slot, None, false, &|| false) {
                continue;
            }
        }
        seat::restore(saved);
    }

    /// The lane of a slot that this thread sits in.
    #[inline(always)]
    pub(crate) fn lane(&self, slot: usize) -> &Lane {
        // SAFETY: the thread sits in the slot, and no call that uses the lane exclusively is in progress.
        unsafe { &**self.queues.slot(slot).lane.get() }
    }

    /// The next task for the thread that sits in `slot`.
    #[inline(always)]
    pub(crate) fn next_task(&self, slot: usize) -> Option<u32> {
        if self.one_thread {
            return self.next_serial_task();
        }
        let lane = self.lane(slot);
        let own = self.queues.take_own(slot, lane);
        own.or_else(|| self.queues.find(slot, lane))
    }

    /// As `next_task`, for a worker, which leaves others' tasks to gather where they are small. Who waits for something
    /// takes what there is.
    #[inline(always)]
    fn next_task_of_worker(&self, slot: usize) -> Option<u32> {
        if self.one_thread {
            return self.next_serial_task();
        }
        let lane = self.lane(slot);
        let own = self.queues.take_own(slot, lane);
        own.or_else(|| {
            self.may_steal(slot, lane)
                .then(|| self.queues.find(slot, lane))?
        })
    }

    /// What comes from outside is delivered when nothing is runnable, one at a time. Tasks for the opener count only
    /// while it can come and run them: it may be inside a body that waits for this very delivery.
    fn next_serial_task(&self) -> Option<u32> {
        loop {
            if let Some(node) = self.serial.take(self.is_opener()) {
                return Some(node);
            }
            if self.opener_needs_seat(&self.caller_seat.lock()) || !self.deliver_external() {
                return None;
            }
        }
    }

    fn has_task(&self, slot: usize) -> bool {
        if self.one_thread {
            return self.serial.has_for(self.is_opener()) || self.serial.has_external();
        }
        self.queues.has_work_for(slot)
    }

    /// Nothing was found: looks again for a while, then sleeps. Returns whether there may be something now;
    /// false after the deadline or when `done`. `expected`: somebody waits for this thread to see that it is done.
    pub(crate) fn search(
        &self,
        slot: usize,
        deadline: Option<Instant>,
        expected: bool,
        done: &dyn Fn() -> bool,
    ) -> bool {
        let lane = self.lane(slot);
        let hasty = !expected && self.was_back_soon(lane);
        // A task often comes in a moment: only who has waited that long is counted as searching, which costs
        // every thread that makes tasks runnable a look at the changed count.
        if !hasty {
            for glance in 0..GLANCES {
                if self.has_task(slot) {
                    lane.left_search.set(Some(Instant::now()));
                    return true;
                }
                for _ in 0..1 << glance {
                    crate::sync::hint::spin_loop();
                }
            }
        }
        let wait = if hasty {
            self.gathering_time(lane)
        } else {
            Duration::ZERO
        };
        if hasty {
            if self.has_much_work(slot, lane) {
                lane.left_search.set(Some(Instant::now()));
                return true;
            }
            // Neither searching nor asleep: it costs nobody a wake-up or a look.
            doze(self, wait);
        }
        // A few searchers are enough. Each further one would only disturb whoever makes tasks runnable by looking; but
        // to sleep at once, and be woken in a moment, would disturb more: it looks seldom.
        let crowded = self.sleep.begin_search() >= (self.queues.slots.len() / 4).max(1);
        plant!("worker.search");
        // Nothing to do here may be the end that somebody waits for.
        self.wake_watchers();
        let until = Instant::now() + self.settings.spin.max(wait * PATIENCE);
        let reason = |task: &dyn Fn() -> bool| {
            task()
                || self.blocked.any_ready()
                || self.gang.wants()
                || self.stopping.load(Ordering::SeqCst)
                || done()
                || (self.callers_run && self.caller_seat_wanted())
        };
        let mut duty = self.take_duty();
        let mut rounds = 0u32;
        let found = loop {
            // Small tasks are left to gather, or each would cost its submitter more than it is worth.
            let worth_it = || {
                if hasty {
                    self.has_much_work(slot, lane)
                } else {
                    self.has_task(slot)
                }
            };
            if reason(&worth_it) {
                break true;
            }
            if !expected {
                duty = duty.and_then(Duty::hand_on);
            }
            if let Some(duty) = &mut duty
                && duty.pass()
            {
                // Whoever gives the duty back offers it to another thread, which costs more than an operation: so it is
                // kept while operations follow each other.
                if self.has_task(slot) || !duty.is_wanted() {
                    break true;
                }
                continue;
            }
            rounds += 1;
            if let Some(duty) = &duty {
                if duty.pause().is_some() {
                    break self.has_task(slot);
                }
                continue;
            }
            if (crowded || hasty || rounds.is_multiple_of(16)) && Instant::now() >= until {
                // A few that never become many are taken in the end.
                break self.has_task(slot);
            }
            if crowded || hasty {
                doze(self, SELDOM.max(wait));
            } else {
                for _ in 0..32 {
                    crate::sync::hint::spin_loop();
                }
            }
        };
        if !found {
            let mut told = false;
            let on_duty = duty.is_some();
            let look = || reason(&|| self.has_task(slot)) || (!on_duty && self.duty_is_free());
            self.sleep.sleep(slot, look, || {
                // Once: this thread may be a watcher itself, and would wake itself for ever.
                if !core::mem::replace(&mut told, true) && self.last_one_asleep() {
                    self.wake_watchers();
                }
                if !expected {
                    duty = duty.take().and_then(Duty::hand_on);
                }
                !park_on_duty(&mut duty, deadline) || done()
            });
        }
        self.sleep.end_search(|| self.queues.has_shared_work());
        drop(duty);
        lane.takes_few.set(true);
        lane.left_search.set(Some(Instant::now()));
        true
    }

    fn last_one_asleep(&self) -> bool {
        self.watcher_count.load(Ordering::SeqCst) != 0
            && self.sleep.sleeping() == self.queues.slots.len()
    }

    /// Runs one runnable task of any kind, or finds that it need not run.
    pub(crate) fn run_any_task(&self, slot: usize, node: u32) {
        let graph = self.graph();
        let entry = graph.nodes.get(node);
        let state = entry.load_state();
        if state & flag::PARTICULAR != 0
            && let Some(operation) = graph.operation_of(entry)
        {
            // Its turn has come in a one-thread mode.
            return self.hand_over(node, &operation);
        }
        let others = if state & flag::PARTICULAR != 0 {
            self.extra_workers(node)
        } else {
            0
        };
        if others > 0 && !self.gang.gather(node, others, || self.sleep.wake_all()) {
            return;
        }
        let begin = self.begin(node, state);
        if begin == Begin::Run {
            self.run_body(Some(slot), node, others);
        }
        if others > 0 {
            self.give_workers_back();
        }
    }

    /// Lets the workers go that were lent to a body, and schedules the tasks that waited for that.
    pub(crate) fn give_workers_back(&self) {
        for deferred in self.gang.finish() {
            self.schedule_particular(seat::slot_in(self), deferred);
        }
        self.wake_watchers();
        self.sleep.work_added();
    }

    /// Claims a runnable task, whose state was `state` just now.
    #[inline(always)]
    pub(crate) fn begin(&self, node: u32, state: u32) -> Begin {
        if state & (flag::COMMUTES | flag::CANCELLED) != 0 {
            return self.act(|graph, lane| graph.begin_body(lane, node));
        }
        let before = self.graph().nodes.get(node).set(flag::STARTED);
        if before & flag::CANCELLED == 0 {
            return Begin::Run;
        }
        self.act(|graph, lane| graph.bury_cancelled(lane, node, before));
        Begin::Skip
    }

    /// Workers that the task wants besides the one that runs it.
    fn extra_workers(&self, node: u32) -> usize {
        if self.callers_run {
            return 0;
        }
        match self.graph().annex(self.graph().nodes.get(node)) {
            Some(annex) => {
                // SAFETY: the task was taken out of a queue and is not begun, so this thread owns it.
                let wanted = unsafe { annex.body() }.cpus;
                (wanted.max(1) as usize - 1).min(self.queues.slots.len() - 1)
            }
            None => 0,
        }
    }

    /// Runs a begun task on this thread. `slot`: where the thread sits, none for an OPENER task on a thread that
    /// is no worker.
    #[inline]
    pub(crate) fn run_body(&self, slot: Option<usize>, node: u32, lent: usize) {
        let graph = self.graph();
        let entry = graph.nodes.get(node);
        if self.one_thread {
            self.running.fetch_add(1, Ordering::AcqRel);
        }
        let kind_of = entry.kind();
        if kind_of == kind::TASK {
            self.run_task_body(slot, node, lent);
        } else {
            self.run_internal_body(node, kind_of);
        }
        if self.one_thread {
            self.running.fetch_sub(1, Ordering::AcqRel);
        }
    }

    #[inline]
    fn run_task_body(&self, slot: Option<usize>, node: u32, lent: usize) {
        let graph = self.graph();
        let entry = graph.nodes.get(node);
        if entry.has(flag::REDUCES) {
            self.make_private_copies(node);
        }
        let sample = self.sample_begins(slot, node);
        let token = entry.token(graph.id, node);
        let hooked = self.settings.hooks.task_event.is_some();
        let worker = slot.map_or(-1, |slot| slot as i32);
        if hooked {
            self.settings
                .hooks
                .task_event(token.into(), entry.name(), worker, true);
        }
        let run = entry.run.load(Ordering::Relaxed);
        let argument = entry.argument.load(Ordering::Relaxed) as *mut c_void;
        seat::as_body(self, node, lent, |body| {
            plant!("body.call");
            // SAFETY: the number came from a `norn_task_fn` at submit, and the application promised that body
            // and argument fit and may be used on this thread.
            let code = unsafe {
                let run: unsafe extern "C" fn(*mut norn_self, *mut c_void) -> i32 =
                    core::mem::transmute(run);
                run((&raw const *body).cast_mut().cast(), argument)
            };
            plant!("body.called");
            if hooked {
                self.settings
                    .hooks
                    .task_event(token.into(), entry.name(), worker, false);
            }
            if let Some(started) = sample {
                self.sample_ends(started);
            }
            let text = body.failure_text.take();
            let failure = (code != 0).then(|| (code, text.as_deref().unwrap_or("")));
            self.finish_body(node, failure);
        });
    }

    /// Draws the consequences of a body's end, and keeps one new task for this worker's next step.
    #[inline]
    pub(crate) fn finish_body(&self, node: u32, failure: Option<(i32, &str)>) {
        self.act(|graph, lane| graph.end_body(lane, node, failure));
    }

    fn run_internal_body(&self, node: u32, kind_of: u32) {
        let graph = self.graph();
        let entry = graph.nodes.get(node);
        let Some(annex) = graph.annex(entry) else {
            return;
        };
        if kind_of == kind::COMBINE {
            // SAFETY: the node was begun by this thread, which owns it now.
            if let Some(run) = unsafe { annex.body() }.reduction.take() {
                run.finish();
            }
        } else {
            // SAFETY: as above.
            let (call, subject) = unsafe { (annex.body().callback, Token(annex.body().subject)) };
            let argument = entry.argument.load(Ordering::Relaxed) as *mut c_void;
            let status = graph
                .failure_of(subject)
                .map_or(0, |failure| failure.status());
            if let Some(call) = call {
                // It counts as a body: it may submit and fulfil, and an await in it is an await in a task.
                seat::as_body(self, node, 0, |_| {
                    plant!("on_complete.call");
                    // SAFETY: the application gave this function for this argument to norn_on_complete.
                    unsafe { call(argument, subject.into(), status) };
                    plant!("on_complete.called");
                });
            }
        }
        self.finish_body(node, None);
    }

    fn make_private_copies(&self, node: u32) {
        let graph = self.graph();
        if let Some(annex) = graph.annex(graph.nodes.get(node)) {
            // SAFETY: the node was begun by this thread, which owns it now.
            for copy in &mut unsafe { annex.body() }.copies {
                copy.memory = Some(copy.run.make_copy());
            }
        }
    }

    // ----- sampled times -----

    #[inline(always)]
    pub(crate) fn sample_begins(&self, slot: Option<usize>, node: u32) -> Option<Instant> {
        // SAFETY: the thread sits in the slot, and nothing else uses the lane at this moment.
        let lane = unsafe { &mut **self.queues.slot(slot?).lane.get() };
        self.sample_begins_in(lane, node)
    }

    /// As `sample_begins`, with the lane of this thread's slot.
    #[inline(always)]
    pub(super) fn sample_begins_in(&self, lane: &mut Lane, node: u32) -> Option<Instant> {
        lane.bodies = lane.bodies.wrapping_add(1);
        if self.sampled_node.load(Ordering::Relaxed) == node {
            self.sample_wait(lane, node);
        }
        if !lane.bodies.is_multiple_of(LOOK_EVERY) {
            return None;
        }
        self.wake_watchers();
        Some(Instant::now())
    }

    #[cold]
    fn sample_wait(&self, lane: &Lane, node: u32) {
        if self
            .sampled_node
            .compare_exchange(node, 0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            let waited = self.now_ns() - self.sampled_since.load(Ordering::Relaxed);
            count(&lane.counters.sampled_wait_ns, waited.max(0) as u64);
        }
    }

    #[cold]
    pub(crate) fn sample_ends(&self, started: Instant) {
        let took: Duration = started.elapsed();
        if let Some(slot) = seat::slot_in(self) {
            let lane = self.lane(slot);
            count(&lane.counters.sampled_bodies, 1);
            count(&lane.counters.sampled_body_ns, took.as_nanos() as u64);
            let mean = lane.body_time.get().map_or(took, |mean| (mean + took) / 2);
            lane.body_time.set(Some(mean));
        }
    }
}
