//! Submitting and running plain tasks (see `order::plain`), and the hand-over from
//! a task to its successor.
//!
//! A task that a worker has just made ready is run next by that worker, without a
//! queue in between: its data are in this cache. It is seen by no thief for the
//! time between two bodies only. Every `FAIR_EVERY` bodies it goes through the
//! queue all the same, so that a chain without end starves nobody.
//!
//! Plain tasks run in a burst: what is the same for all of them (slot, lane, frame) is looked up once, and between two
//! of them there is one look for everything else that a worker has to do (`alerts`). A task that asks for more ends it.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::time::Instant;

use super::queues::{FAIR_EVERY, Slot};
use super::runtime::{MarkOnPanic, Runtime};
use super::seat;
use crate::abi::types::*;
use crate::order::lane::{Lane, count};
use crate::order::node::{LinkId, Node, clamp_priority, flag, kind};
use crate::order::plain::{NOT_PLAIN, Submitted, is_plain};
use crate::order::sole::{Shared, Words};
use crate::sync::atomic::Ordering;

/// A plain task that may run.
#[derive(Clone, Copy)]
struct Runnable {
    index: u32,
    node: &'static Node,
}

/// Where a burst of plain tasks stands after one of them.
struct After {
    /// The thread sits where it did, and the straight way has ended the task. If not, it looks around first.
    here: bool,
    /// A task that the end has made ready.
    next: Option<Runnable>,
}

impl After {
    const ELSEWHERE: After = After {
        here: false,
        next: None,
    };
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
        if accesses.is_empty() && after.is_empty() {
            return self.submit_plain_here(task, &[], &[]);
        }
        self.submit_plain_joined(task, accesses, after)
    }

    /// As `submit_plain`. A function of its own, so that a task that waits for nothing has the registers.
    #[inline(never)]
    fn submit_plain_joined(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Option<norn_token> {
        self.submit_plain_here(task, accesses, after)
    }

    /// As `submit_plain`.
    #[inline(always)]
    fn submit_plain_here(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Option<norn_token> {
        if self.one_thread || !is_plain(task, accesses, after) {
            return None;
        }
        let Some(slot) = seat::slot_in(self) else {
            return self.submit_plain_from_outside(task, accesses, after);
        };
        // SAFETY: this thread's, and no call around this one uses it.
        let lane = unsafe { self.free_lane(Some(slot))?.as_mut() };
        let body = self.body();
        if body == 0 {
            self.take_room(lane)?;
        }
        let bomb = MarkOnPanic(self);
        let submitted = self.graph().submit_plain(lane, body, task, accesses, after);
        core::mem::forget(bomb);
        let Submitted {
            token,
            index,
            runnable,
        } = submitted?;
        if runnable {
            self.note_schedule(lane, index);
            let priority = clamp_priority(task.priority);
            let for_others = if priority == 0 && body == 0 {
                self.queues.push_submitted(slot, index)
            } else {
                self.queues.push(Some(slot), priority, index);
                true
            };
            if for_others {
                self.sleep.work_added();
            }
        } else if !lane.ripple.arrivals.is_empty() {
            self.settle_submitted(lane);
        }
        Some(token.into())
    }

    /// As `submit_plain`, by a thread that sits in no slot. A thread in a slot is seen to be awake; this one must be seen to
    /// be at work until the task is queued.
    #[inline(never)]
    fn submit_plain_from_outside(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Option<norn_token> {
        // SAFETY: this thread's, and no call around this one uses it.
        let lane = unsafe { self.free_lane(None)?.as_mut() };
        let body = self.body();
        if body == 0 {
            self.take_room(lane)?;
        }
        count(&lane.counters.changes, 1);
        let bomb = MarkOnPanic(self);
        let submitted = self.graph().submit_plain(lane, body, task, accesses, after);
        core::mem::forget(bomb);
        let Some(Submitted {
            token,
            index,
            runnable,
        }) = submitted
        else {
            count(&lane.counters.changes, 1);
            return None;
        };
        if runnable {
            self.note_schedule(lane, index);
            let priority = clamp_priority(task.priority);
            self.queues.push(None, priority, index);
            self.sleep.work_added();
        } else if !lane.ripple.arrivals.is_empty() {
            self.settle_submitted(lane);
        }
        count(&lane.counters.changes, 1);
        self.wake_watchers_of_change();
        Some(token.into())
    }

    /// Takes a task's share of the room below `max_live_tasks`. None is left: the general way looks, and waits if it must.
    #[inline(always)]
    fn take_room(&self, lane: &mut Lane) -> Option<()> {
        if self.settings.max_live_tasks != 0 {
            lane.headroom = lane.headroom.checked_sub(1)?;
        }
        Some(())
    }

    /// A task was made runnable: one in 64 is timed.
    #[inline(always)]
    fn note_schedule(&self, lane: &mut Lane, node: u32) {
        lane.schedules = lane.schedules.wrapping_add(1);
        if lane.schedules.is_multiple_of(64) {
            self.sample_from_here(node);
        }
    }

    /// A task that was doomed by a predecessor ends in its submission, or has arrived meanwhile.
    #[inline(never)]
    pub(super) fn settle_submitted(&self, lane: &mut Lane) {
        // Its destructor, which may call norn, gets another lane.
        lane.busy = true;
        self.graph().settle(lane);
        lane.busy = false;
        if !lane.ripple.runnable.is_empty() {
            // Read after the destructor, which may have waited, against the rule.
            self.schedule(lane, seat::slot_in(self));
        }
    }

    /// The lane of this thread, which sits in `slot`, if no call around this one uses it.
    #[inline(always)]
    pub(super) fn free_lane(&self, slot: Option<usize>) -> Option<NonNull<Lane>> {
        let lane = match slot {
            // SAFETY: the lane cell belongs to the thread that sits in the slot, which is this one.
            Some(slot) => unsafe { *self.queues.slot(slot).lane.get() },
            None => {
                self.graph().share();
                seat::own_lane(self)?
            }
        };
        // SAFETY: a lane belongs to one thread at a time; `busy` is read and written by that thread only.
        NonNull::new(lane).filter(|lane| !unsafe { lane.as_ref() }.busy)
    }

    /// Runs one runnable task, or finds that it need not run; and then what it has made ready and what waits in the queues
    /// of the slot, one after the other, until `leave` or until this thread has other duties.
    #[inline(always)]
    pub(crate) fn run_task(&self, slot: usize, node: u32, leave: impl Fn() -> bool) {
        if self.graph().sole.is_shared() {
            self.run_burst::<false>(slot, node, leave);
        } else {
            self.run_burst::<true>(slot, node, leave);
        }
    }

    /// As `run_task`. `SOLE`: its steps may be alone (`order::sole`). If not, they never are: what is shared stays so.
    ///
    /// A function of its own, so that it has the registers.
    #[inline(never)]
    fn run_burst<const SOLE: bool>(&self, slot: usize, node: u32, leave: impl Fn() -> bool) {
        let own = self.queues.slot(slot);
        // SAFETY: the cell belongs to the thread that sits in the slot, which is this one.
        let lane = unsafe { *own.lane.get() };
        // SAFETY: a lane belongs to one thread at a time; `busy` is read and written by that thread only. It stays as it
        // is for as long as the thread sits here: a body's calls, and a destructor's, leave it as they found it.
        if !self.straight || unsafe { (*lane).busy } {
            return self.run_any_task(slot, node);
        }
        let mut node = node;
        let mut found = self.plain_task(node);
        // One for all, one after the other: only its node changes.
        let body = seat::Body::new(self, node, 0);
        loop {
            let Some(task) = found else {
                return self.run_any_task(slot, node);
            };
            body.node.set(task.index);
            let After { here, next } = self.run_plain_task::<SOLE>(slot, lane, &body, task);
            if !here
                || self.alerts.any() && self.has_other_duties(slot, own)
                // SAFETY: this thread's, and no call uses it now.
                || unsafe { (*lane).bodies }.is_multiple_of(FAIR_EVERY)
                || leave()
            {
                self.push_kept(next);
                return;
            }
            found = match next {
                Some(_) => next,
                None => match self.queues.take_from_own(own) {
                    Some(taken) => {
                        node = taken;
                        self.plain_task(taken)
                    }
                    None => return,
                },
            };
        }
    }

    /// A runnable task, if it is plain.
    #[inline(always)]
    fn plain_task(&self, index: u32) -> Option<Runnable> {
        let node = self.graph().nodes.get_to_change(index);
        let plain = node.load_state() & (kind::MASK | NOT_PLAIN) == kind::TASK;
        plain.then_some(Runnable { index, node })
    }

    /// Whether the thread that sits in `slot` should look around before it runs another task. (Where the runtime stops
    /// after a defect, no task ends here.)
    #[inline(never)]
    fn has_other_duties(&self, slot: usize, own: &Slot) -> bool {
        // Messages and devices are not left alone for as long as there is one task after the other.
        self.pass_by_the_way();
        !seat::sits_in(self, slot)
            || self.blocked.maybe_ready()
            || self.gang.wants()
            || self.queues.has_urgent_work(own)
    }

    /// Runs a plain task in `slot`, whose lane no call uses now, as `body`.
    #[inline(always)]
    fn run_plain_task<const SOLE: bool>(
        &self,
        slot: usize,
        lane: *mut Lane,
        body: &seat::Body,
        task: Runnable,
    ) -> After {
        let Runnable {
            index: node,
            node: entry,
        } = task;
        let state = self.graph().start_plain::<SOLE>(entry);
        if state & flag::CANCELLED != 0 {
            self.act(|graph, lane| graph.bury_cancelled(lane, node, state));
            return After::ELSEWHERE;
        }
        // SAFETY: this thread's, and no call uses it now.
        let sample = self.sample_begins_in(unsafe { &mut *lane }, node);
        self.graph().prefetch_end(entry, state);
        let run = entry.run.load(Ordering::Relaxed);
        let argument = entry.argument.load(Ordering::Relaxed) as *mut c_void;
        let entered = body.enter();
        let call = || {
            // SAFETY: the number came from a `norn_task_fn` at submit, and the application promised that body
            // and argument fit and may be used on this thread.
            unsafe {
                let run: unsafe extern "C" fn(*mut norn_self, *mut c_void) -> i32 =
                    core::mem::transmute(run);
                run(core::ptr::from_ref(body).cast_mut().cast(), argument)
            }
        };
        let code = match sample {
            None => call(),
            Some(started) => self.sampled(started, call),
        };
        if code != 0 {
            let text = body.failure_text.take();
            self.finish_body(node, Some((code, text.as_deref().unwrap_or(""))));
            return After::ELSEWHERE;
        }
        // What it may have said of a failure all the same, lest the next one says it.
        drop(body.failure_text.take());
        drop(entered);
        // After a wait in the body (or, against the rule, in the destructor) the thread may sit elsewhere; after a defect
        // the general way refuses.
        let mut here = seat::sits_in(self, slot)
            && self.graph().ended_plain(entry)
            && !self.graph().defect.is_caught();
        if here && entry.destroy.load(Ordering::Relaxed) != 0 {
            self.graph().destroy_argument(entry);
            here = seat::sits_in(self, slot);
        }
        if !here {
            self.finish_body(node, None);
            return After::ELSEWHERE;
        }
        // SAFETY: this thread's, and no call uses it now.
        self.complete_plain_task::<SOLE>(unsafe { &mut *lane }, slot, task, state)
    }

    /// Calls a body and notes how long it takes.
    #[cold]
    fn sampled(&self, started: Instant, call: impl FnOnce() -> i32) -> i32 {
        let code = call();
        self.sample_ends(started);
        code
    }

    /// Completes a plain task that has run in `slot`. `state`: as it was before the body.
    #[inline(always)]
    fn complete_plain_task<const SOLE: bool>(
        &self,
        lane: &mut Lane,
        slot: usize,
        task: Runnable,
        state: u32,
    ) -> After {
        lane.busy = true;
        count(&lane.counters.changes, 1);
        let bomb = MarkOnPanic(self);
        let (links, next) = if !SOLE {
            self.end_and_release(lane, Shared, task, state)
        } else if let Some(step) = self.graph().sole.step() {
            self.end_and_release(lane, step.words(), task, state)
        } else {
            self.end_in_company(lane, task, state)
        };
        let mut after = After { here: true, next };
        if (links != LinkId::NONE || Node::slots_in(state) != 0) && !lane.ripple.is_quiet() {
            after.next = self.draw_consequences(lane, slot, after.next);
            // A destructor may have waited, against the rule.
            after.here = seat::sits_in(self, slot);
        }
        core::mem::forget(bomb);
        count(&lane.counters.changes, 1);
        lane.busy = false;
        after
    }

    /// The step of `complete_plain_task`: ends the task and releases those who wait for it. Gives the links that it had,
    /// and the task that it keeps.
    #[inline(always)]
    fn end_and_release(
        &self,
        lane: &mut Lane,
        words: impl Words,
        task: Runnable,
        state: u32,
    ) -> (LinkId, Option<Runnable>) {
        let graph = self.graph();
        let links = graph.complete_plain(lane, words, task.index, task.node, state);
        (links, self.release_plain(lane, words, links))
    }

    /// As `end_and_release`, in a burst that has begun before the graph was shared.
    #[cold]
    fn end_in_company(
        &self,
        lane: &mut Lane,
        task: Runnable,
        state: u32,
    ) -> (LinkId, Option<Runnable>) {
        self.end_and_release(lane, Shared, task, state)
    }

    /// Releases those who wait for a plain task. The first that became ready is kept, if it is plain; the others are in the
    /// lane's ripple.
    #[inline(always)]
    fn release_plain(&self, lane: &mut Lane, words: impl Words, links: LinkId) -> Option<Runnable> {
        let graph = self.graph();
        let mut next = None;
        graph.release_well(lane, words, links, |lane, index, node| {
            if next.is_none() && graph.arrived_plain(node) {
                next = Some(Runnable { index, node });
            } else {
                lane.ripple.arrivals.push(index);
            }
        });
        next
    }

    /// What else the end of a plain task has brought about: more tasks than one, or one that is not plain. `next` is kept, or
    /// else one of those that are plain. The others are queued so that this thread takes them in the order of the list.
    #[inline(never)]
    fn draw_consequences(
        &self,
        lane: &mut Lane,
        slot: usize,
        mut next: Option<Runnable>,
    ) -> Option<Runnable> {
        let graph = self.graph();
        let mut pushed = false;
        while let Some(index) = lane.ripple.arrivals.pop() {
            let node = graph.nodes.get(index);
            if !graph.arrived_plain(node) {
                lane.ripple.arrivals.push(index);
                break;
            }
            if next.is_none() {
                next = Some(Runnable { index, node });
            } else {
                self.queues.push(Some(slot), 0, index);
                pushed = true;
            }
        }
        if pushed {
            self.sleep.work_added();
        }
        if !lane.ripple.is_quiet() {
            graph.settle(lane);
            let slot = seat::slot_in(self);
            if !lane.ripple.runnable.is_empty() {
                self.schedule(lane, slot);
            }
            if !lane.ripple.new_causes.is_empty() {
                self.tell_failures(core::mem::take(&mut lane.ripple.new_causes));
            }
        }
        next
    }

    /// This thread, which may sit in another slot now, does not go on with a task that it has kept.
    #[cold]
    fn push_kept(&self, next: Option<Runnable>) {
        if let Some(next) = next {
            self.queues.push(seat::slot_in(self), 0, next.index);
            self.sleep.work_added();
        }
    }
}
