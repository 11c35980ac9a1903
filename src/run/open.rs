//! Opening, draining and closing a runtime; submits that wait.
//!
//! *Draining.* A task counts in the phase it was submitted in, a child in its parent's. A
//! drain flips the phase and waits until as many have completed as were submitted in
//! the one before. Completions are read first: a child is counted before its parent
//! completes, so equal numbers mean that none is left. A task is counted before its
//! token shows complete (`order::complete`), so who has seen the token finds it counted.
//!
//! *Back-pressure.* A submit from outside that meets `max_live_tasks` waits until a
//! quarter of them have completed, but only while workers run something or may: what is
//! left could be waiting for what this very thread is about to submit or to fulfil. It
//! looks again every millisecond and needs no wake-up, so there is none to lose.
//!
//! *Closing.* Seal; let everything end or fail what cannot; stop the threads; bury what
//! cancelled tasks left in the queues; leave the table of handles; let waits end.

use crate::sync::atomic::{AtomicU64, Ordering};
use core::cell::Cell;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::config::Settings;
use super::home;
use super::runtime::Runtime;
use super::seat;
use super::wait::{Goal, Watching, deadline_of, timed_out};
use super::{environment, fork};
use crate::abi::status::{
    NORN_E_CLOSED, NORN_E_INVALID, NORN_E_STATE, NORN_E_TIMEOUT, NORN_E_VERSION,
};
use crate::abi::types::*;
use crate::asymmetric;
use crate::error::{Error, Result};
use crate::order::graph::Graph;
use crate::order::lane::Lane;
use crate::order::node::flag;

/// The lock of `home::SHARED`.
type SharedGuard = MutexGuard<'static, Option<(usize, usize)>>;

/// Opens a runtime.
///
/// # Safety
/// The strings and callbacks of `config` are what its documentation says.
pub(crate) unsafe fn open(
    header_version: i32,
    config: Option<norn_config>,
) -> Result<*mut norn_runtime> {
    check_version(header_version)?;
    // SAFETY: passed on.
    let settings = unsafe { Settings::resolve(config, &environment::of_this_process()) }?;
    if !settings.shared {
        return open_new(settings);
    }
    let shared = if seat::current_body().is_null() {
        Some(home::SHARED.lock())
    } else {
        // A body must not wait for a close that waits for it.
        home::SHARED.try_lock()
    };
    let Some(mut shared) = shared else {
        return Err(Error::new(NORN_E_CLOSED, "the shared runtime is closing"));
    };
    if let Some((number, opens)) = shared.as_mut() {
        *opens += 1;
        return Ok(home::handle(*number));
    }
    let handle = open_new(settings)?;
    *shared = Some((home::resolve(handle)?.number, 1));
    Ok(handle)
}

fn check_version(header_version: i32) -> Result<()> {
    let (major, minor) = (header_version / 1_000_000, header_version / 1_000 % 1_000);
    if header_version < 0 || major != NORN_VERSION_MAJOR || minor > NORN_VERSION_MINOR {
        return Err(Error::new(
            NORN_E_VERSION,
            format!(
                "the program was compiled with norn.h {major}.{minor}, this library is {NORN_VERSION_MAJOR}.{NORN_VERSION_MINOR}"
            ),
        ));
    }
    Ok(())
}

/// Opens a runtime under these environment variables alone.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) fn open_for_test(environment: &[(&str, &str)]) -> Result<*mut norn_runtime> {
    let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    let environment: Vec<_> = environment.iter().map(owned).collect();
    // SAFETY: no configuration, so no strings and no callbacks.
    open_new(unsafe { Settings::resolve(None, &environment) }?)
}

fn open_new(settings: Settings) -> Result<*mut norn_runtime> {
    fork::watch_forks();
    asymmetric::prepare();
    let reservation = home::reserve()?;
    reservation.home.graph.renew(settings.deterministic);
    let runtime = Box::into_raw(Box::new(Runtime::new(
        reservation.number,
        reservation.home,
        settings,
    )));
    // SAFETY: made just above; freed by `free` only.
    let opened = unsafe { &*runtime };
    if let Err(error) = equip(opened) {
        opened.stop_watchdog();
        opened.stop_threads();
        free(runtime);
        home::unreserve(reservation.number);
        return Err(error);
    }
    if opened.settings.caller_works && !opened.callers_run {
        seat::settle_in(opened, 0);
        if opened.queues.slots.len() == 1 {
            opened.graph().sole.claim();
        }
        opened.leave_slot_idle();
    }
    plant!("open.started");
    let handle = home::enter(reservation.number, runtime);
    plant!("open.entered");
    opened.settings.hooks.log.info(format_args!(
        "opened: {}",
        opened.settings.decisions.join("; ")
    ));
    Ok(handle)
}

/// Gives each slot its lane and starts the threads.
pub(super) fn equip(opened: &Runtime) -> Result<()> {
    for (slot, place) in opened.queues.slots.iter().enumerate() {
        // SAFETY: no thread sits in the slot yet.
        unsafe { *place.lane.get() = opened.home.take_lane(slot as i32) };
    }
    plant!("open.lanes_taken");
    opened.start_workers()?;
    opened.start_watchdog()
}

/// Frees a runtime whose threads have ended.
pub(super) fn free(runtime: *mut Runtime) {
    // SAFETY: made by `open_new` and freed once: by its failure, or by the one close that took it out of the table.
    let runtime = unsafe { Box::from_raw(runtime) };
    for place in &runtime.queues.slots {
        // SAFETY: no thread sits in the slot any more.
        runtime.home.give_lane(unsafe { *place.lane.get() });
    }
}

/// Closes a runtime; see `norn_close_with`.
pub(crate) fn close(handle: *mut norn_runtime, flags: u32, timeout_ns: i64) -> Result<()> {
    let runtime = home::resolve(handle)?;
    if flags != NORN_DRAIN && flags != NORN_CANCEL {
        return Err(Error::new(
            NORN_E_INVALID,
            format!("flags {flags:#x} is none"),
        ));
    }
    runtime.refuse_in_body("closing")?;
    // Held until the runtime is gone: who opens meanwhile gets a new one, not one that dies.
    let mut shared = runtime.shared.then(|| home::SHARED.lock());
    if let Some(shared) = &mut shared
        && let Some((number, opens)) = shared.as_mut()
        && *number == runtime.number
        && *opens > 1
    {
        *opens -= 1;
        return Ok(());
    }
    if runtime.graph().defect.is_caught() {
        return close_defective(runtime, shared, timeout_ns);
    }
    let Some(_closing) = runtime.draining.try_lock() else {
        return Err(Error::new(
            NORN_E_STATE,
            "another thread closes or drains the runtime",
        ));
    };
    let deadline = deadline_of(timeout_ns);
    runtime.finish_work(flags, deadline)?;
    if let Err(error) = runtime.detach_lowerings(deadline) {
        runtime.graph().closing.store(false, Ordering::SeqCst);
        return Err(error);
    }
    if runtime.graph().defect.is_caught() {
        drop(_closing);
        return close_defective(runtime, shared, timeout_ns);
    }
    if let Some(shared) = &mut shared {
        **shared = None;
    }
    plant!("close.work_over");
    runtime.stop_watchdog();
    runtime.stop_threads();
    plant!("close.threads_ended");
    let unseen = unseen_failure(runtime);
    runtime.act(|graph, lane| graph.remove_all_data(lane));
    runtime.close_lowerings();
    if seat::slot_in(runtime).is_some() {
        seat::stand();
    }
    home::leave(runtime.number);
    plant!("close.left");
    // A drain that queued behind this close goes on, and finds nothing left.
    drop(_closing);
    // Waits that the close has ended may still be on their way out.
    let number = runtime.number;
    home::let_waits_end(number);
    free(core::ptr::from_ref(runtime).cast_mut());
    home::vacate(number);
    unseen.map_or(Ok(()), Err)
}

/// What a close says of a failure that nobody has looked at. Put into words while the runtime is there: it keeps the
/// names that came from other ranks.
fn unseen_failure(runtime: &Runtime) -> Option<Error> {
    let cause = runtime.graph().failures.first_unseen()?;
    let failure = crate::order::failure::Failure {
        cause,
        propagated: false,
    };
    Some(Error::new(
        failure.cause.status,
        format!(
            "closed, but nobody looked at a failure: {}",
            crate::order::graph::describe(&failure)
        ),
    ))
}

/// The rest of a close after a defect. Waits as long as a drain or close is still on its way out.
fn close_defective(
    runtime: &'static Runtime,
    mut shared: Option<SharedGuard>,
    timeout_ns: i64,
) -> Result<()> {
    let deadline = deadline_of(timeout_ns);
    let closing = match deadline {
        None => Some(runtime.draining.lock()),
        Some(deadline) => runtime.draining.try_lock_until(deadline),
    };
    let Some(_closing) = closing else {
        return Err(timed_out());
    };
    let closed = runtime.close_unsound(deadline);
    if let Some(shared) = &mut shared
        && !matches!(&closed, Err(error) if error.status() == NORN_E_TIMEOUT)
    {
        **shared = None;
    }
    closed
}

impl Runtime {
    /// Tasks submitted in a drain phase that have not completed.
    fn live_in_phase(&self, phase: usize) -> u64 {
        let read = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        // Completed first: a child is counted as submitted before its parent is counted as completed, so
        // equality means that none of the phase is left.
        let completed = self.home.sum(|counters| read(&counters.completed[phase]));
        let submitted = self.home.sum(|counters| read(&counters.submitted[phase]));
        submitted.saturating_sub(completed)
    }

    /// Tasks that have not completed.
    pub(crate) fn live_tasks(&self) -> u64 {
        self.live_in_phase(0) + self.live_in_phase(1)
    }

    /// Tasks that have completed since the runtime was opened.
    pub(crate) fn completed_tasks(&self) -> u64 {
        self.home.sum(|counters| {
            let phases = counters.completed.iter();
            phases.map(|count| count.load(Ordering::Acquire)).sum()
        })
    }

    /// `norn_drain`.
    pub(crate) fn drain(&self, timeout_ns: i64) -> Result<()> {
        self.refuse_in_body("draining")?;
        let deadline = deadline_of(timeout_ns);
        let _turn = match deadline {
            None => self.draining.lock(),
            Some(deadline) => self
                .draining
                .try_lock_until(deadline)
                .ok_or_else(|| Error::new(NORN_E_TIMEOUT, "another drain is in progress"))?,
        };
        self.act(|graph, lane| graph.close_reductions(lane));
        // What the phase before left behind (a drain that timed out) was submitted earlier and comes first.
        // Then the phase is flipped, and what was submitted until now is alone in its own.
        let flipped = Cell::new(None);
        let _watching = Watching::new(self, true);
        plant!("drain.watching");
        let combined = || {
            if self.graph().defect.is_caught() {
                return true;
            }
            if flipped.get().is_none() {
                let phase = self.graph().phase.load(Ordering::SeqCst) & 1;
                if self.live_in_phase(phase as usize ^ 1) != 0 {
                    return false;
                }
                self.graph().phase.fetch_xor(1, Ordering::SeqCst);
                flipped.set(Some(phase as usize));
            }
            flipped
                .get()
                .is_some_and(|phase| self.live_in_phase(phase) == 0)
                && !self.combining()
        };
        if timeout_ns == 0 {
            self.progress_once();
            if !combined() {
                return Err(Error::new(NORN_E_TIMEOUT, "work is left"));
            }
        } else {
            // A change in progress may still bring a callback: look again when all have ended.
            loop {
                let goal = Goal {
                    reached: &combined,
                    dear: true,
                };
                let waited = self.wait_outside(deadline, goal);
                waited.map_err(|error| match error.status() {
                    NORN_E_TIMEOUT => self.work_was_late("work is left"),
                    _ => error,
                })?;
                self.home.let_changes_end();
                if combined() {
                    break;
                }
            }
        }
        self.home.let_changes_end();
        self.check_sound()
    }

    /// Whether a reduction is still being combined.
    fn combining(&self) -> bool {
        self.graph().combining.load(Ordering::SeqCst) != 0
    }

    /// Ends all work before a close.
    pub(super) fn finish_work(&self, flags: u32, deadline: Option<Instant>) -> Result<()> {
        let graph = self.graph();
        graph.sealed.store(true, Ordering::SeqCst);
        graph.closing.store(true, Ordering::SeqCst);
        self.seal()?;
        self.act(|graph, lane| graph.close_reductions(lane));
        if flags == NORN_CANCEL {
            graph.cancelling.store(true, Ordering::SeqCst);
            self.act(|graph, lane| graph.cancel_all(lane, flag::RUN_ALWAYS));
            self.offer_duty();
        }
        let _watching = Watching::new(self, true);
        let over = || {
            graph.defect.is_caught()
                || (self.live_tasks() == 0 && !self.combining() && self.blocked.count() == 0)
        };
        loop {
            let quiet = || {
                if over() {
                    return true;
                }
                if !self.is_quiescent() || self.is_somebody_inside() {
                    return false;
                }
                let under_way = self.has_operations_under_way();
                if under_way {
                    self.rest();
                }
                !under_way
            };
            let goal = Goal {
                reached: &quiet,
                dear: true,
            };
            let waited = self.wait_outside(deadline, goal);
            if let Err(error) = waited {
                graph.closing.store(false, Ordering::SeqCst);
                return Err(match error.status() {
                    NORN_E_TIMEOUT => self.work_was_late("work is left"),
                    _ => error,
                });
            }
            if graph.defect.is_caught() {
                return Ok(());
            }
            if !self.stays(&quiet) {
                continue;
            }
            let closed = self.act(|graph, lane| graph.close_unserved(lane));
            if closed {
                self.offer_duty();
                continue;
            }
            // Not in the middle of a change that counts a task as complete before it counts the callback that follows.
            if self.stays(&over) {
                return Ok(());
            }
            if self.stays(&|| self.rests()) && self.break_ring() {
                continue;
            }
            // Quiet, yet something lives: bodies in a wait with a limit, and bodies that have ended and wait for
            // holds, which only somebody outside can take off. Their memory is in use until then, so there is
            // nothing to do but wait.
            self.settings.hooks.log.debug("closing: waiting for holds");
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                graph.closing.store(false, Ordering::SeqCst);
                return Err(self.work_was_late("work is left"));
            }
            crate::sync::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// A step of a close whose thread is blocked in a body that it runs there.
    pub(crate) fn end_what_is_left(&self) {
        let quiet = || self.is_quiescent() && !self.is_somebody_inside();
        if self.has_operations_under_way() && quiet() {
            // Whether another rank still sends what is waited for, its lowering finds out.
            self.rest();
            return;
        }
        let unserved = || self.act(|graph, lane| graph.close_unserved(lane));
        if self.stays(&quiet) && !unserved() && self.stays(&|| self.rests()) {
            self.break_ring();
        }
    }

    /// What is left at a close waits for itself (a ring through a body's `norn_await_any`, say), and nobody can end it
    /// but the close. What bodies await goes first: what is only behind it can run then. Cleanup goes last: it cannot
    /// run in a ring. Returns whether anything has ended.
    fn break_ring(&self) -> bool {
        // Not the live ones: callbacks begin to count among these when what they are about ends.
        let before = self.completed_tasks();
        let ended = |cancel: &dyn Fn(&Graph, &mut Lane)| {
            self.act(|graph, lane| cancel(graph, lane));
            // Lowerings may owe something for what was cancelled.
            self.offer_duty();
            self.completed_tasks() != before
        };
        ended(&|graph, lane| graph.cancel_awaited(lane))
            || ended(&|graph, lane| graph.cancel_all(lane, flag::RUN_ALWAYS))
            || ended(&|graph, lane| graph.cancel_all(lane, 0))
    }

    /// A body runs on a thread that sits in no slot (OPENER tasks, one-thread modes).
    pub(crate) fn is_somebody_inside(&self) -> bool {
        self.running.load(Ordering::SeqCst) > 0
    }

    /// Above `max_live_tasks`: lets running bodies finish before more is submitted. Gives how many tasks this thread
    /// may submit before it comes again: part of the room, since other threads may submit too.
    #[cold]
    pub(crate) fn back_pressure(&self) -> u64 {
        let ceiling = self.settings.max_live_tasks;
        let mut live = self.live_tasks();
        if live >= ceiling {
            self.wait_for_room(ceiling);
            live = self.live_tasks();
        }
        ceiling.saturating_sub(live) / 4
    }

    fn wait_for_room(&self, ceiling: u64) {
        // Room for one at least, or a small ceiling would be passed.
        let room = (ceiling - ceiling / 4).min(ceiling - 1);
        if self.callers_run || (self.settings.submit_helps && self.is_opener()) {
            // Nobody else runs bodies. Without leave to run them here, waiting would be for ever.
            if self.settings.submit_helps {
                let _ = self.wait_outside(
                    None,
                    Goal {
                        reached: &|| self.live_tasks() <= room || self.is_quiescent(),
                        dear: true,
                    },
                );
            }
            return;
        }
        if self.settings.caller_works && self.queues.slots.len() == 1 {
            return;
        }
        let mut watching = Watching::new(self, true);
        watching.watch();
        while self.live_tasks() > room
            && self.workers_are_busy()
            && !self.graph().defect.is_caught()
        {
            crate::sync::thread::park_timeout(Duration::from_millis(1));
        }
    }
}
