//! A runtime: a graph, the queues, the threads, and the calls that change the
//! graph and then hand what has become runnable to the scheduler.

use crate::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicUsize, Ordering};
use crate::sync::thread::Thread as StdThread;
use std::collections::HashSet;
use std::ffi::CString;
use std::time::Instant;

use crate::sync::{Condvar, Mutex};
use crossbeam_utils::CachePadded;

use super::alerts::Alerts;
use super::blocked::BlockedBodies;
use super::config::{OnFailure, Settings};
use super::gang::Gang;
use super::home::{self, Home};
use super::lowerings::Lowerings;
use super::queues::Queues;
use super::seat;
use super::serial::SerialQueue;
use super::sleep::Sleep;
use super::thread::{FloatingPoint, Thread};
use crate::abi::status::NORN_E_WOULD_DEADLOCK;
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::graph::Graph;
use crate::order::lane::{Lane, count};
use crate::order::node::flag;

/// Who may sit in the slot that application threads take turns in.
#[derive(Default)]
pub(crate) struct CallerSeat {
    /// Somebody sits there (an application thread or a spare in its place).
    pub(crate) taken: bool,
    /// Application threads that wait for it.
    pub(crate) waiting: Vec<StdThread>,
}

/// See the module's text.
pub(crate) struct Runtime {
    pub(crate) number: usize,
    pub(crate) home: &'static Home,
    pub(crate) settings: Settings,
    /// Whether bodies run only inside calls of application threads (zero workers, one-thread modes).
    pub(crate) callers_run: bool,
    /// Whether one body runs at a time, in an order that does not depend on timing.
    pub(crate) one_thread: bool,
    /// Whether plain tasks may take the straight path (`run::plain`): nobody is told of each body.
    pub(crate) straight: bool,
    /// Whether workers have anything to look at beside their own queues.
    pub(crate) alerts: Alerts,
    pub(crate) queues: Queues,
    pub(crate) serial: SerialQueue,
    pub(crate) sleep: Sleep,
    pub(crate) blocked: BlockedBodies,
    pub(crate) gang: Gang,
    pub(crate) caller_seat: Mutex<CallerSeat>,
    /// Application threads inside a call that may run bodies.
    pub(crate) callers_inside: AtomicUsize,
    pub(crate) opener: StdThread,
    pub(crate) floating_point: FloatingPoint,
    pub(crate) threads: Mutex<Vec<Thread>>,
    pub(crate) thread_count: AtomicUsize,
    /// Norn's threads end.
    pub(crate) stopping: AtomicBool,
    /// Threads that wait for a drain or for quiescence, woken when a worker finds nothing to do.
    pub(crate) watchers: Mutex<Vec<StdThread>>,
    pub(crate) watcher_count: CachePadded<AtomicUsize>,
    /// The opener holds a slot and is outside of waits (NORN_CALLER_WORKS).
    pub(crate) opener_idle: AtomicBool,
    /// Waits in progress, which a close lets end before it frees the runtime.
    pub(crate) waits: AtomicUsize,
    /// Bodies being run at this moment in the one-thread modes or outside of all slots, blocked ones not counted.
    pub(crate) running: CachePadded<AtomicI64>,
    /// One drain at a time flips the phase.
    pub(crate) draining: Mutex<()>,
    /// Threads of norn's own that have not ended.
    pub(crate) living_threads: AtomicUsize,
    /// The task whose wait for its start is being timed (one in 64), and since when.
    pub(crate) sampled_node: CachePadded<AtomicU32>,
    pub(crate) sampled_since: CachePadded<AtomicI64>,
    pub(crate) opened: Instant,
    pub(crate) names: Mutex<HashSet<CString>>,
    pub(crate) watchdog: Mutex<Option<Thread>>,
    pub(crate) watchdog_bell: (Mutex<bool>, Condvar),
    /// What carries operations out.
    pub(crate) lowerings: Lowerings,
    /// Rank of this process in the first world that was attached; -1 without one.
    pub(crate) rank: AtomicI32,
    /// A NORN_SHARED runtime counts its opens in `home::SHARED`.
    pub(crate) shared: bool,
}

impl Runtime {
    /// The graph.
    #[inline(always)]
    pub(crate) fn graph(&self) -> &'static Graph {
        &self.home.graph
    }

    /// A runtime without threads yet.
    pub(crate) fn new(number: usize, home: &'static Home, settings: Settings) -> Self {
        let one_thread = settings.mode.one_thread();
        let callers_run = one_thread || settings.workers == 0;
        let slots = if callers_run { 1 } else { settings.workers };
        let mut node_numbers: Vec<i32> = Vec::new();
        let places = (0..slots)
            .map(|slot| {
                let node = settings.topology.node(slot);
                if !node_numbers.contains(&node) {
                    node_numbers.push(node);
                }
                let mut victims = settings.topology.steal_order(slot);
                victims.retain(|victim| *victim != slot && *victim < slots);
                (node, victims)
            })
            .collect();
        let max_threads = settings.max_threads;
        let alerts = Alerts::default();
        Self {
            number,
            home,
            callers_run,
            one_thread,
            straight: !one_thread && settings.hooks.task_event.is_none(),
            queues: Queues::new(places, node_numbers, &alerts),
            serial: SerialQueue::new(settings.mode),
            sleep: Sleep::new(slots),
            blocked: BlockedBodies::new(max_threads, &alerts),
            gang: Gang::new(&alerts),
            caller_seat: Mutex::new(CallerSeat::default()),
            callers_inside: AtomicUsize::new(0),
            opener: crate::sync::thread::current(),
            floating_point: FloatingPoint::of_this_thread(),
            threads: Mutex::new(Vec::new()),
            thread_count: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            watchers: Mutex::new(Vec::new()),
            watcher_count: CachePadded::new(AtomicUsize::new(0)),
            opener_idle: AtomicBool::new(false),
            waits: AtomicUsize::new(0),
            running: CachePadded::new(AtomicI64::new(0)),
            draining: Mutex::new(()),
            living_threads: AtomicUsize::new(0),
            sampled_node: CachePadded::new(AtomicU32::new(0)),
            sampled_since: CachePadded::new(AtomicI64::new(0)),
            opened: Instant::now(),
            names: Mutex::new(HashSet::new()),
            watchdog: Mutex::new(None),
            watchdog_bell: (Mutex::new(false), Condvar::new()),
            lowerings: Lowerings::new(&alerts),
            alerts,
            rank: AtomicI32::new(-1),
            shared: settings.shared,
            settings,
        }
    }

    // ----- changing the graph -----

    /// A thread that does not sit here is about to use the graph; see `order::sole`.
    #[inline(always)]
    pub(crate) fn share_unless_sitting(&self) {
        if !self.graph().sole.is_shared() && seat::slot_in(self).is_none() {
            self.graph().share();
        }
    }

    /// Changes the graph with this thread's lane, draws the consequences, and schedules what may run.
    #[inline]
    pub(crate) fn act<R>(&self, change: impl FnOnce(&Graph, &mut Lane) -> R) -> R {
        if self.graph().defect.is_caught() {
            self.leave_unsound();
        }
        let slot = seat::slot_in(self);
        let lane = match slot {
            // SAFETY: the lane cell belongs to the thread that sits in the slot, which is this one.
            Some(slot) => unsafe { *self.queues.slot(slot).lane.get() },
            None => {
                self.graph().share();
                seat::own_lane(self).unwrap_or(core::ptr::null_mut())
            }
        };
        // SAFETY: a lane belongs to one thread at a time; `busy` is read and written by that thread only.
        if lane.is_null() || unsafe { (*lane).busy } {
            return self.act_with_spare_lane(change);
        }
        // SAFETY: as above, and `busy` keeps a call from inside this one from using it too.
        let lane = unsafe { &mut *lane };
        self.act_with(lane, change)
    }

    /// A call from inside another one (a destructor that calls norn), or from a thread that is ending.
    #[cold]
    fn act_with_spare_lane<R>(&self, change: impl FnOnce(&Graph, &mut Lane) -> R) -> R {
        let lane = self.home.take_lane(-1);
        // SAFETY: taken just above, so it is ours alone.
        let result = self.act_with(unsafe { &mut *lane }, change);
        self.home.give_lane(lane);
        result
    }

    #[inline]
    fn act_with<R>(&self, lane: &mut Lane, change: impl FnOnce(&Graph, &mut Lane) -> R) -> R {
        lane.busy = true;
        count(&lane.counters.changes, 1);
        let bomb = MarkOnPanic(self);
        plant!("change.begin");
        let result = change(self.graph(), lane);
        plant!("change.made");
        self.graph().settle(lane);
        plant!("change.settled");
        core::mem::forget(bomb);
        // After it: a destructor may have waited, against the rule, and the thread sits elsewhere then.
        let slot = seat::slot_in(self);
        // Still a part of the change: who lets changes end finds the tasks in their queues.
        if !lane.ripple.runnable.is_empty() {
            self.schedule(lane, slot);
        }
        // And a drain does not return before the application was told of what has failed.
        if !lane.ripple.new_causes.is_empty() {
            self.tell_failures(core::mem::take(&mut lane.ripple.new_causes));
        }
        count(&lane.counters.changes, 1);
        lane.busy = false;
        if slot.is_none() {
            self.wake_watchers_of_change();
        }
        result
    }

    /// A thread that holds no slot has changed the graph. The other side of `Watching::watch`: that sees this
    /// change, or is seen here.
    #[inline(always)]
    pub(crate) fn wake_watchers_of_change(&self) {
        crate::asymmetric::light();
        if self.watcher_count.load(Ordering::Relaxed) != 0 {
            self.wake_watchers();
        }
    }

    /// Puts the lane's runnable tasks where they will be found.
    #[inline]
    pub(crate) fn schedule(&self, lane: &mut Lane, slot: Option<usize>) {
        let mut runnable = core::mem::take(&mut lane.ripple.runnable);
        plant!("schedule");
        lane.schedules = lane.schedules.wrapping_add(1);
        if lane.schedules.is_multiple_of(64) {
            self.sample_from_here(runnable[0]);
        }
        let mut for_workers = self.one_thread;
        if self.one_thread {
            // The list was walked from the last successor to the first.
            for node in runnable.drain(..).rev() {
                self.schedule_serial(node);
            }
        } else {
            for node in runnable.drain(..) {
                let entry = self.graph().nodes.get(node);
                if entry.load_state() & flag::PARTICULAR != 0 {
                    for_workers |= self.schedule_particular(slot, node);
                } else {
                    self.queues.push(slot, entry.priority(), node);
                    for_workers = true;
                }
            }
        }
        lane.ripple.runnable = runnable;
        plant!("scheduled");
        // What lowerings were given needs nobody but the thread that makes passes.
        if for_workers {
            self.sleep.work_added();
        }
    }

    /// Times how long a task that has just become runnable waits for its start; one task at a time.
    #[cold]
    pub(crate) fn sample_from_here(&self, node: u32) {
        if self.sampled_node.load(Ordering::Relaxed) == 0 {
            self.sampled_since.store(self.now_ns(), Ordering::Relaxed);
            self.sampled_node.store(node, Ordering::Release);
        }
    }

    fn schedule_serial(&self, node: u32) {
        let entry = self.graph().nodes.get(node);
        let opener = entry.load_state() & flag::PARTICULAR != 0
            && self.place_of(node).kind == NORN_PLACE_OPENER;
        self.serial.push(node, entry.priority(), opener);
        if opener {
            self.opener.unpark();
        }
    }

    /// The place a task asks for.
    pub(crate) fn place_of(&self, node: u32) -> norn_place {
        match self.graph().annex(self.graph().nodes.get(node)) {
            // SAFETY: the task is runnable and not yet begun, so whoever schedules it owns it.
            Some(annex) => unsafe { annex.body() }.place,
            None => norn_place::default(),
        }
    }

    /// A task with a place or with a wish for several workers, or an operation. Returns whether it is for a worker.
    #[cold]
    pub(crate) fn schedule_particular(&self, slot: Option<usize>, node: u32) -> bool {
        let entry = self.graph().nodes.get(node);
        // SAFETY: it has arrived, and is begun by its lowering only, which does not have it yet.
        if let Some(operation) = unsafe { self.graph().own_operation(entry) } {
            self.hand_over(node, operation);
            return false;
        }
        let place = self.place_of(node);
        match place.kind {
            NORN_PLACE_OPENER => {
                self.queues.opener.push(node);
                self.opener.unpark();
                self.wake_watchers();
            }
            NORN_PLACE_CPU if place.index >= 0 && !self.callers_run => {
                let slot = place.index as usize;
                self.queues.slots[slot].here.push(node);
                self.sleep.wake_slot(slot);
            }
            NORN_PLACE_NUMA if !self.callers_run => {
                let position = self
                    .queues
                    .nodes
                    .iter()
                    .position(|(number, _)| *number == place.index);
                self.queues.nodes[position.unwrap_or(0)].1.push(node);
                self.sleep.wake_all();
            }
            _ => {
                let priority = self.graph().nodes.get(node).priority();
                self.queues.push(slot, priority, node);
            }
        }
        true
    }

    /// Applies the failure policy to new first causes.
    #[cold]
    pub(crate) fn tell_failures(&self, causes: Vec<u32>) {
        for number in causes {
            let cause = self.graph().failures.cause(number);
            match self.settings.on_failure {
                OnFailure::Return => {}
                OnFailure::Call => {
                    let record = self.record_of_cause(cause.token, &cause);
                    // The failed node may be gone already: the callback belongs to no task.
                    seat::outside_bodies(|| self.settings.hooks.failed(&record));
                }
                OnFailure::Abort => {
                    let failure = crate::order::failure::Failure {
                        cause,
                        propagated: false,
                    };
                    let text = crate::order::graph::describe(&failure);
                    self.settings
                        .hooks
                        .log
                        .error(format_args!("{text}; aborting, as on_failure asks"));
                    self.abort_lowerings();
                    std::process::abort();
                }
            }
        }
    }

    /// Wakes those who wait for a drain or quiescence, to look again.
    pub(crate) fn wake_watchers(&self) {
        if self.watcher_count.load(Ordering::SeqCst) == 0 {
            return;
        }
        for thread in self.watchers.lock().iter() {
            thread.unpark();
        }
    }

    // ----- what a call may do here -----

    /// Refuses calls that would make a task wait for itself.
    pub(crate) fn refuse_in_body(&self, what: &str) -> Result<()> {
        if self.body() != 0 || seat::in_callback() {
            return Err(Error::new(
                NORN_E_WOULD_DEADLOCK,
                format!("{what} inside a task or callback would wait for that task"),
            ));
        }
        Ok(())
    }

    /// Refuses to go on after a defect.
    #[inline(always)]
    pub(crate) fn check_sound(&self) -> Result<()> {
        if self.graph().defect.is_caught() {
            return Err(self.graph().defect.error());
        }
        Ok(())
    }

    /// Whether this is the thread that opened the runtime.
    pub(crate) fn is_opener(&self) -> bool {
        crate::sync::thread::current().id() == self.opener.id()
    }

    /// The handle of this runtime.
    pub(crate) fn handle(&self) -> *mut norn_runtime {
        home::handle(self.number)
    }

    /// Nanoseconds since the runtime was opened.
    pub(crate) fn now_ns(&self) -> i64 {
        self.opened.elapsed().as_nanos() as i64
    }
}

/// Marks the graph as half changed when a change is left by a panic, before anybody else takes the locks that the
/// panic has let go. Whoever catches it wakes the others.
pub(crate) struct MarkOnPanic<'a>(pub(crate) &'a Runtime);

impl Drop for MarkOnPanic<'_> {
    fn drop(&mut self) {
        self.0.graph().defect.mark();
    }
}
