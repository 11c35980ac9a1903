//! What carries operations out (devices, MPI), and which thread makes them go on.
//!
//! A lowering has work only where a pass over it achieves something: requests to test, events to query. At most
//! one thread at a time makes passes, the one that has the *duty*. Whoever finds nothing else to do takes it: a worker
//! that searches, a thread that waits, a caller in zero-worker and one-thread modes. Workers that run bodies make a
//! pass between two of them where nobody has it.
//!
//! # Protocol
//!
//! `duty` is taken by an exchange and given back by a store. Nobody waits for it: who does not get it parks, and so
//! the duty must be offered again where it may be needed:
//!
//! - *Who gives it back* while passes are wanted wakes a sleeping worker, else a thread that waits (`Idlers`).
//! - *Who makes a lowering want passes* (`hand_over`, `want_pass`) does the same if nobody has the duty.
//!
//! *Who has the duty* rests between passes where nothing has come for long. It says so (`resting`) before it asks the
//! lowerings how long that may be, and whoever makes them want a pass at once looks for it afterwards and unparks it: so
//! either the want is seen, or the rest is cut short.
//!
//! *Whoever ends an operation* tells those that watch for the end of all work (a drain, a close). Each wake-up costs a system
//! call, so while more is under way it is put off (`untold`) until the duty's passes find nothing for long, or have found
//! much, or the duty is given back. The last operation under way is told of at once, and so is every one that ends while
//! nobody has the duty or its holder rests: `untold` is set before that look, and looked at after the duty is given
//! back and after the holder says that it rests.
//!
//! A thread that waits without a slot sees what it waits for soonest where it makes the passes itself: nobody need wake it then.
//! So a worker that has found nothing to do *hands the duty on* to one: `duty` stays taken, the thread's entry in
//! `idlers` says that it is its own now, and it either goes on with it or gives it back when it leaves the list.
//!
//! Against a lost offer: a thread enters the list of idlers, or the list of sleeping workers, before it looks a last time
//! whether the duty is free and passes are wanted, and parks only if not. Both lists are under locks, and the
//! second is counted before that look, so an offerer that finds neither to hold anybody made its want visible before that
//! last look. (Sequentially consistent accesses to `duty` and the want.)

use core::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::idle::Budget;
use super::lowering::Lowering;
use super::lowerings::List;
use super::runtime::Runtime;
use crate::sync::atomic::Ordering;
use crate::sync::mutant;
use crate::sync::thread::Thread as StdThread;

/// The right to make passes, while it lives.
pub(crate) struct Duty<'a> {
    runtime: &'a Runtime,
    /// The lowerings, and the version of that list.
    list: List,
    version: usize,
    /// When something last went on; none: just now. A clock is read only where nothing does.
    since: Cell<Option<Instant>>,
    /// How long it is looked for without a pause.
    patience: Duration,
    budget: Budget,
    /// Passes in which something went on.
    good_passes: u32,
    /// Another thread has it now.
    handed_on: bool,
}

/// Nanoseconds between two passes between bodies that have nothing to begin.
const BETWEEN_BODIES: i64 = 5000;

/// Passes in which operations may end before watchers are told.
const UNTOLD_PASSES: u32 = 64;

impl Duty<'_> {
    /// One pass over all lowerings.
    pub(crate) fn pass(&mut self) -> bool {
        let lowerings = &self.runtime.lowerings;
        if lowerings.version.load(Ordering::SeqCst) != self.version {
            let list = lowerings.list.read();
            self.list = list.clone();
            self.version = lowerings.version.load(Ordering::SeqCst);
        }
        // Outside of the lock: a pass may run whatever removes a lowering.
        let mut went_on = false;
        for lowering in self.list.iter() {
            went_on |= lowering.wants_pass() && lowering.pass(self.runtime);
        }
        if went_on {
            self.since.set(None);
            self.budget.came();
            self.good_passes += 1;
            if self.good_passes.is_multiple_of(UNTOLD_PASSES) {
                self.runtime.tell_watchers();
            }
        } else if self.is_late() {
            self.runtime.tell_watchers();
            self.budget.looked();
        }
        went_on
    }

    /// Whether nothing has come for so long that passes without a pause are not worth their cost.
    fn is_late(&self) -> bool {
        match self.since.get() {
            Some(since) => since.elapsed() >= self.patience,
            None => {
                self.since.set(Some(Instant::now()));
                self.patience.is_zero()
            }
        }
    }

    /// Whether passes by this thread can achieve anything, and none is needed by one that runs bodies instead.
    pub(crate) fn is_wanted(&self) -> bool {
        self.runtime.wants_pass()
            && (self.runtime.runs_bodies_here() || !self.runtime.wants_worker())
    }

    /// Gives the duty to a thread that waits without a slot, where there is one and work needs no slot. Returns it else.
    pub(crate) fn hand_on(mut self) -> Option<Self> {
        let lowerings = &self.runtime.lowerings;
        if lowerings.idler_count.load(Ordering::SeqCst) == 0 || self.runtime.wants_worker() {
            return Some(self);
        }
        let mut idlers = lowerings.idlers.lock();
        let Some(idler) = idlers.last_mut() else {
            drop(idlers);
            return Some(self);
        };
        idler.given = Some(self.since.get());
        idler.thread.unpark();
        drop(idlers);
        self.handed_on = true;
        None
    }

    /// How long the thread may sleep; none where passes without a pause are worth their cost.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.is_late().then(|| self.pause_now())
    }

    fn pause_now(&self) -> Duration {
        let share = self.runtime.lowerings.idle_share.load(Ordering::Relaxed);
        self.runtime.pause_of_lowerings(self.budget.pause(share))
    }

    /// Rests as long as no pass is worth its cost, until the deadline at most.
    pub(crate) fn rest(&self, deadline: Option<Instant>) {
        if self.pause().is_none() {
            return;
        }
        let (resting, thread) = &self.runtime.lowerings.resting;
        *thread.lock() = Some(crate::sync::thread::current());
        resting.store(true, Ordering::SeqCst);
        self.runtime.tell_watchers();
        // Asked again: what came before this thread could be seen to rest is found now.
        let until = Instant::now() + self.pause_now();
        super::wait::park_until(Some(deadline.map_or(until, |deadline| deadline.min(until))));
        resting.store(false, Ordering::SeqCst);
        *thread.lock() = None;
    }
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        if self.handed_on {
            return;
        }
        let lowerings = &self.runtime.lowerings;
        lowerings.duty.store(false, Ordering::SeqCst);
        self.runtime.tell_watchers();
        // One that was added meanwhile has found the duty taken.
        if lowerings.version.load(Ordering::SeqCst) == self.version {
            self.runtime.offer_duty_of(&self.list);
        } else {
            self.runtime.offer_duty();
        }
    }
}

/// The duty, for less than a pass.
pub(crate) struct Moment<'a>(&'a Runtime);

impl Drop for Moment<'_> {
    fn drop(&mut self) {
        let lowerings = &self.0.lowerings;
        lowerings.duty.store(false, Ordering::SeqCst);
        self.0.tell_watchers();
        // Most often there is nobody to offer it to. The order is that of `offer_duty_of`.
        if lowerings.bound.load(Ordering::Relaxed)
            || self.0.sleep.sleeping() != 0
            || lowerings.idler_count.load(Ordering::SeqCst) != 0
        {
            self.0.offer_duty();
        }
    }
}

impl Runtime {
    /// How much of a core may go into looking for what is late.
    pub(crate) fn set_idle_share(&self, hundredths: u32) {
        let share = &self.lowerings.idle_share;
        share.store(hundredths, Ordering::Relaxed);
    }

    /// Tells those that watch for the end of all work that operations have ended, if any have.
    pub(super) fn tell_watchers(&self) {
        let untold = &self.lowerings.untold;
        if untold.load(Ordering::SeqCst) && untold.swap(false, Ordering::SeqCst) {
            self.wake_watchers();
        }
    }

    /// Whether a pass by this thread could achieve something.
    #[inline(always)]
    pub(crate) fn wants_pass(&self) -> bool {
        self.lowerings.count.get(Ordering::SeqCst) != 0 && self.any_lowering_wants_pass()
    }

    #[cold]
    fn any_lowering_wants_pass(&self) -> bool {
        let list = self.lowerings.list.read();
        list.iter().any(|lowering| lowering.wants_pass())
    }

    /// The duty, if passes by this thread are wanted and nobody has it.
    #[inline(always)]
    pub(crate) fn take_duty(&self) -> Option<Duty<'_>> {
        if self.lowerings.count.get(Ordering::SeqCst) == 0 {
            return None;
        }
        self.take_wanted_duty()
    }

    fn take_wanted_duty(&self) -> Option<Duty<'_>> {
        let list = self.lowerings.list.read();
        let wanted = list.iter().any(|lowering| lowering.wants_pass());
        if !wanted || self.lowerings.duty.swap(true, Ordering::SeqCst) {
            return None;
        }
        Some(self.duty_over(&list, None))
    }

    /// The duty for less than a pass, whether or not passes are wanted, if nobody has it.
    pub(crate) fn take_duty_for_a_moment(&self) -> Option<Moment<'_>> {
        // Made only when it is taken: it gives the duty back when it is dropped.
        let taken = self.lowerings.duty.swap(true, Ordering::SeqCst);
        (!taken).then(|| Moment(self))
    }

    /// The duty, which this thread has taken or been given. `since`: see there.
    fn duty_over(&self, list: &List, since: Option<Instant>) -> Duty<'_> {
        Duty {
            runtime: self,
            list: list.clone(),
            version: self.lowerings.version.load(Ordering::SeqCst),
            since: Cell::new(since),
            patience: self.patience(),
            budget: Budget::default(),
            good_passes: 0,
            handed_on: false,
        }
    }

    /// The shortest pause of those that want passes; `usual`: of those that say none.
    fn pause_of_lowerings(&self, usual: Duration) -> Duration {
        let list = self.lowerings.list.read();
        let wanted = list.iter().filter(|lowering| lowering.wants_pass());
        wanted
            .map(|lowering| lowering.pause().unwrap_or(usual))
            .min()
            .unwrap_or(usual)
    }

    pub(super) fn patience(&self) -> Duration {
        let patience = self.lowerings.patience.load(Ordering::Relaxed);
        Duration::from_nanos(patience).max(self.settings.spin)
    }

    /// Whether there is work of a lowering's that only a thread in a slot may do.
    fn wants_worker(&self) -> bool {
        let list = self.lowerings.list.read();
        list.iter().any(|lowering| lowering.wants_worker())
    }

    /// Whether this thread may run bodies.
    pub(crate) fn runs_bodies_here(&self) -> bool {
        super::seat::slot_in(self).is_some()
    }

    /// Whether a thread that is about to park should take the duty instead.
    pub(crate) fn duty_is_free(&self) -> bool {
        self.wants_pass() && !self.lowerings.duty.load(Ordering::SeqCst)
    }

    /// Whether somebody makes passes without a pause.
    pub(crate) fn duty_is_at_work(&self) -> bool {
        self.lowerings.duty.load(Ordering::SeqCst)
            && !self.lowerings.resting.0.load(Ordering::SeqCst)
    }

    /// One pass, where nobody has the duty.
    pub(crate) fn pass_now(&self) {
        if let Some(mut duty) = self.take_duty() {
            duty.pass();
        }
    }

    /// One pass between two bodies, where nobody has the duty and something is to be begun, or the last one was some time ago:
    /// a pass that finds nothing costs as much as a few small bodies.
    #[inline(always)]
    pub(crate) fn pass_by_the_way(&self) {
        if self.has_lowerings() {
            self.pass_between_bodies();
        }
    }

    fn pass_between_bodies(&self) {
        let lowerings = &self.lowerings;
        if lowerings.duty.load(Ordering::Relaxed) {
            return;
        }
        let (mut wanted, mut pressing) = (false, false);
        for lowering in lowerings.list.read().iter() {
            let wants = lowering.wants_pass();
            wanted |= wants;
            pressing |= wants && lowering.is_pressing();
        }
        if !wanted {
            return;
        }
        let now = self.now_ns();
        if pressing || now - lowerings.passed_at.load(Ordering::Relaxed) >= BETWEEN_BODIES {
            lowerings.passed_at.store(now, Ordering::Relaxed);
            self.pass_now();
        }
    }

    /// Passes are wanted: wakes somebody to make them, if nobody does.
    #[cold]
    pub(crate) fn offer_duty(&self) {
        if self.lowerings.count.get(Ordering::SeqCst) == 0 {
            return;
        }
        // Whoever has it finds what is wanted without being told.
        let bound = self.lowerings.bound.load(Ordering::SeqCst);
        if !bound && (self.duty_is_at_work() || self.nobody_takes_duty()) {
            return;
        }
        self.offer_duty_of(&self.lowerings.list.read());
    }

    /// Whether there is nobody to offer the duty to, as `offer_duty_of` would find: all threads run bodies, or are about to look.
    fn nobody_takes_duty(&self) -> bool {
        !self.lowerings.duty.load(Ordering::SeqCst)
            && self.sleep.sleeping() == 0
            && self.lowerings.idler_count.load(Ordering::SeqCst) == 0
    }

    fn offer_duty_of(&self, list: &[Arc<dyn Lowering>]) {
        let mut anybody = false;
        for lowering in list.iter() {
            match lowering.only_thread() {
                Some(thread) => thread.unpark(),
                None => anybody |= lowering.wants_pass() || lowering.wants_worker(),
            }
        }
        if !anybody {
            return;
        }
        if self.lowerings.duty.load(Ordering::SeqCst) {
            let (resting, thread) = &self.lowerings.resting;
            if resting.load(Ordering::SeqCst)
                && let Some(thread) = &*thread.lock()
            {
                thread.unpark();
            }
            return;
        }
        if self.sleep.sleeping() != 0 {
            self.sleep.wake_one();
        } else if self.lowerings.idler_count.load(Ordering::SeqCst) != 0
            && let Some(idler) = self.lowerings.idlers.lock().last()
        {
            idler.thread.unpark();
        }
    }
}

/// A thread in the list of those that wait without a slot.
pub(super) struct Waiting {
    thread: StdThread,
    /// It has been given the duty, by a thread for which something last went on then.
    given: Option<Option<Instant>>,
}

/// This thread waits without a slot and takes the duty where it is offered.
pub(crate) struct Idler<'a>(&'a Runtime);

/// What a thread waits with where it sits in no slot: its entry in the list, and the duty, if it has them.
#[derive(Default)]
pub(crate) struct Idle<'a> {
    pub(crate) duty: Option<Duty<'a>>,
    pub(crate) idler: Option<Idler<'a>>,
}

impl<'a> Idler<'a> {
    pub(crate) fn new(runtime: &'a Runtime) -> Self {
        let thread = crate::sync::thread::current();
        let given = None;
        let mut idlers = runtime.lowerings.idlers.lock();
        idlers.push(Waiting { thread, given });
        runtime.lowerings.idler_count.fetch_add(1, Ordering::SeqCst);
        drop(idlers);
        Self(runtime)
    }

    /// The duty, if it was handed on to this thread or is wanted and nobody has it.
    pub(crate) fn take_duty(&self) -> Option<Duty<'a>> {
        let me = crate::sync::thread::current().id();
        let mut idlers = self.0.lowerings.idlers.lock();
        let mut mine = idlers.iter_mut().filter(|idler| idler.thread.id() == me);
        let given = mine.find_map(|idler| idler.given.take());
        drop(idlers);
        match given {
            Some(since) => Some(self.0.duty_over(&self.0.lowerings.list.read(), since)),
            None => self.0.take_duty(),
        }
    }
}

impl Drop for Idler<'_> {
    fn drop(&mut self) {
        let lowerings = &self.0.lowerings;
        let me = crate::sync::thread::current().id();
        let mut idlers = lowerings.idlers.lock();
        let position = idlers.iter().position(|idler| idler.thread.id() == me);
        let left = position.map(|position| idlers.swap_remove(position));
        if left.is_some() {
            lowerings.idler_count.fetch_sub(1, Ordering::SeqCst);
        }
        drop(idlers);
        // Neither the duty, nor an offer made to this thread, must be lost.
        match left.and_then(|left| left.given) {
            Some(_) if mutant!("duty_leaves_with_idler") => {}
            None if mutant!("offer_leaves_with_idler") => {}
            Some(since) => drop(self.0.duty_over(&lowerings.list.read(), since)),
            None => self.0.offer_duty(),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "duty_tests.rs"]
mod tests;
