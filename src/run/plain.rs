//! Submitting and running plain tasks (see `order::plain`), and the hand-over from
//! a task to its successor.
//!
//! A task that a worker has just made ready is run next by that worker, without a
//! queue in between: its data are in this cache. It is seen by no thief for the
//! time between two bodies only. Every `FAIR_EVERY` bodies it goes through the
//! queue all the same, so that a chain without end starves nobody.

use core::ffi::c_void;
use core::ptr::NonNull;

use super::queues::FAIR_EVERY;
use super::runtime::{MarkOnPanic, Runtime};
use super::seat;
use crate::abi::types::*;
use crate::order::lane::{Lane, count};
use crate::order::node::{Node, clamp_priority, flag, kind};
use crate::order::plain::{NOT_PLAIN, Submitted, is_plain};
use crate::sync::atomic::Ordering;

/// A plain task that may run, and its state when that was seen.
#[derive(Clone, Copy)]
struct Runnable {
    index: u32,
    node: &'static Node,
    state: u32,
}

impl Runtime {
    /// Submits a task on the straight path. None: it has to go the general way; nothing was done.
    #[inline(always)]
    pub(crate) fn submit_plain(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Option<norn_token> {
        if self.one_thread || !is_plain(task, accesses, after) {
            return None;
        }
        let slot = seat::slot_in(self);
        // SAFETY: this thread's, and no call around this one uses it.
        let lane = unsafe { self.free_lane(slot)?.as_mut() };
        let body = self.body();
        if self.settings.max_live_tasks != 0 && body == 0 {
            // At nothing left the general way looks, and waits if it must.
            lane.headroom = lane.headroom.checked_sub(1)?;
        }
        // A thread in a slot is seen to be awake; another one must be seen to be at work until the task is queued.
        let seen = slot.is_some();
        if !seen {
            count(&lane.counters.changes, 1);
        }
        let bomb = MarkOnPanic(self);
        let submitted = self.graph().submit_plain(lane, body, task, accesses, after);
        core::mem::forget(bomb);
        let Some(Submitted { token, runnable }) = submitted else {
            if !seen {
                count(&lane.counters.changes, 1);
            }
            return None;
        };
        if runnable {
            let node = token.index();
            lane.schedules = lane.schedules.wrapping_add(1);
            if lane.schedules.is_multiple_of(64) {
                self.sample_from_here(node);
            }
            let priority = clamp_priority(task.priority);
            match slot {
                Some(slot) if body == 0 => self.queues.push_submitted(slot, priority, node),
                _ => self.queues.push(slot, priority, node),
            }
            self.sleep.work_added();
        } else if !lane.ripple.arrivals.is_empty() {
            self.settle_submitted(lane, slot);
        }
        if !seen {
            count(&lane.counters.changes, 1);
            self.wake_watchers_of_change();
        }
        Some(token.into())
    }

    /// A task that was doomed by a predecessor ends in its submission, or has arrived meanwhile.
    #[inline(never)]
    pub(super) fn settle_submitted(&self, lane: &mut Lane, slot: Option<usize>) {
        // Its destructor, which may call norn, gets another lane.
        lane.busy = true;
        self.graph().settle(lane);
        lane.busy = false;
        if !lane.ripple.runnable.is_empty() {
            self.schedule(lane, slot);
        }
    }

    /// The lane of this thread, which sits in `slot`, if no call around this one uses it.
    #[inline(always)]
    pub(super) fn free_lane(&self, slot: Option<usize>) -> Option<NonNull<Lane>> {
        let lane = match slot {
            // SAFETY: the lane cell belongs to the thread that sits in the slot, which is this one.
            Some(slot) => unsafe { *self.queues.slot(slot).lane.get() },
            None => seat::own_lane(self)?,
        };
        // SAFETY: a lane belongs to one thread at a time; `busy` is read and written by that thread only.
        NonNull::new(lane).filter(|lane| !unsafe { lane.as_ref() }.busy)
    }

    /// Runs one runnable task, or finds that it need not run; and then what it has made ready and what waits in the queues
    /// of the slot, one after the other, until `leave` or until this thread has other duties.
    #[inline]
    pub(crate) fn run_task(&self, slot: usize, node: u32, leave: impl Fn() -> bool) {
        let (mut slot, mut node) = (slot, node);
        let mut found = self.plain_task(node);
        loop {
            let Some(task) = found else {
                return self.run_any_task(slot, node);
            };
            let next = self.run_plain_task(slot, task);
            // Messages and devices are not left alone for as long as there is one task after the other.
            self.pass_by_the_way();
            let now = seat::slot_in(self);
            match now {
                Some(now) if !self.has_other_duties(now) && !leave() => slot = now,
                _ => {
                    if let Some(next) = next {
                        self.queues.push(now, 0, next.index);
                        self.sleep.work_added();
                    }
                    return;
                }
            }
            found = match next {
                Some(_) => next,
                None => match self.queues.take_from_own(slot) {
                    Some(own) => {
                        node = own;
                        self.plain_task(own)
                    }
                    None => return,
                },
            };
        }
    }

    /// A runnable task, if it is plain.
    #[inline(always)]
    fn plain_task(&self, index: u32) -> Option<Runnable> {
        // The line comes from the submitter's cache, and at once for the change that follows.
        self.graph().nodes.prefetch_head(index);
        let node = self.graph().nodes.get(index);
        let state = node.load_state();
        let plain = state & (kind::MASK | NOT_PLAIN) == kind::TASK
            && !self.one_thread
            && self.settings.hooks.task_event.is_none();
        plain.then_some(Runnable { index, node, state })
    }

    /// Whether the thread that sits in `slot` should look around before it runs another task.
    #[inline(always)]
    fn has_other_duties(&self, slot: usize) -> bool {
        self.lane(slot).bodies.is_multiple_of(FAIR_EVERY)
            || self.stopping.load(Ordering::Relaxed)
            || self.blocked.maybe_ready()
            || self.gang.wants()
            || self.callers_run
            || self.queues.has_urgent_work(slot)
    }

    /// Runs a plain task. Gives a task that became ready by its end, if there is one; the others are queued.
    #[inline(always)]
    fn run_plain_task(&self, slot: usize, task: Runnable) -> Option<Runnable> {
        let Runnable {
            index: node,
            node: entry,
            state,
        } = task;
        // An addition sets the flag: only who has taken the task out of its queue sets it, once.
        let before = entry.state.fetch_add(flag::STARTED, Ordering::AcqRel);
        if before & flag::CANCELLED != 0 {
            self.act(|graph, lane| graph.bury_cancelled(lane, node, before));
            return None;
        }
        let sample = self.sample_begins(Some(slot), node);
        self.graph().prefetch_end(entry, state);
        let run = entry.run.load(Ordering::Relaxed);
        let argument = entry.argument.load(Ordering::Relaxed) as *mut c_void;
        let body = seat::Body::new(self, node, 0);
        let entered = body.enter();
        // SAFETY: the number came from a `norn_task_fn` at submit, and the application promised that body
        // and argument fit and may be used on this thread.
        let code = unsafe {
            let run: unsafe extern "C" fn(*mut norn_self, *mut c_void) -> i32 =
                core::mem::transmute(run);
            run((&raw const body).cast_mut().cast(), argument)
        };
        if let Some(started) = sample {
            self.sample_ends(started);
        }
        if code != 0 {
            let text = body.failure_text.take();
            self.finish_body(node, Some((code, text.as_deref().unwrap_or(""))));
            return None;
        }
        drop(entered);
        let slot = seat::slot_in(self);
        match self.free_lane(slot) {
            // After a defect the general way refuses.
            Some(lane)
                if self.graph().ended_plain(entry, state) && !self.graph().defect.is_caught() =>
            {
                // SAFETY: this thread's, and no call around this one uses it.
                let lane = unsafe { &mut *lane.as_ptr() };
                self.complete_plain_task(lane, slot, task)
            }
            _ => {
                self.finish_body(node, None);
                None
            }
        }
    }

    #[inline(always)]
    fn complete_plain_task(
        &self,
        lane: &mut Lane,
        slot: Option<usize>,
        task: Runnable,
    ) -> Option<Runnable> {
        let graph = self.graph();
        lane.busy = true;
        count(&lane.counters.changes, 1);
        let bomb = MarkOnPanic(self);
        graph.complete_plain(lane, task.index, task.node, task.state);
        let mut next: Option<Runnable> = None;
        let mut pushed = false;
        while let Some(arrived) = lane.ripple.arrivals.pop() {
            let Some((node, state)) = graph.arrived_plain(arrived) else {
                lane.ripple.arrivals.push(arrived);
                graph.settle(lane);
                break;
            };
            let arrived = Runnable {
                index: arrived,
                node,
                state,
            };
            if let Some(other) = next.replace(arrived) {
                self.queues.push(slot, 0, other.index);
                pushed = true;
            }
        }
        if !lane.ripple.endings.is_empty() {
            graph.settle(lane);
        }
        core::mem::forget(bomb);
        if pushed {
            self.sleep.work_added();
        }
        if !lane.ripple.runnable.is_empty() {
            self.schedule(lane, slot);
        }
        if !lane.ripple.new_causes.is_empty() {
            self.tell_failures(core::mem::take(&mut lane.ripple.new_causes));
        }
        count(&lane.counters.changes, 1);
        lane.busy = false;
        next
    }
}
