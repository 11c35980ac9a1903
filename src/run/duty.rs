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
//! - *Who gives it back* while passes are wanted calls the workers that search; where none does, it wakes a sleeping worker,
//!   else a thread that waits (`Idlers`).
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
//! *Searching workers* cost no system call: `called` is set, which they look at all the time, and the first one takes the duty
//! at once. The flag is set before the look for somebody who searches; a worker that leaves its search counts itself out and
//! then looks at the flag, and where the duty is still free it offers it in its turn. So either it is seen to search and sees
//! the call, or the offerer wakes another one; and a worker that has found a task instead leaves nothing unattended. Who takes
//! the duty clears the flag before its first pass, which finds what was wanted before.
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
}

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
        self.lowerings.count.load(Ordering::SeqCst) != 0 && self.any_lowering_wants_pass()
    }

    #[cold]
    fn any_lowering_wants_pass(&self) -> bool {
        let list = self.lowerings.list.read();
        list.iter().any(|lowering| lowering.wants_pass())
    }

    /// The duty, if passes by this thread are wanted and nobody has it.
    #[inline(always)]
    pub(crate) fn take_duty(&self) -> Option<Duty<'_>> {
        if self.lowerings.count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.take_wanted_duty()
    }

    fn take_wanted_duty(&self) -> Option<Duty<'_>> {
        let list = self.lowerings.list.read();
        let is_wanted = || list.iter().any(|lowering| lowering.wants_pass());
        if !is_wanted() {
            // The call was answered. One that comes now may be cleared with it, so what it is for is looked for again.
            if self.lowerings.called.swap(false, Ordering::SeqCst) && is_wanted() {
                self.lowerings.called.store(true, Ordering::SeqCst);
            }
            return None;
        }
        if self.lowerings.duty.swap(true, Ordering::SeqCst) {
            return None;
        }
        self.lowerings.called.store(false, Ordering::SeqCst);
        Some(Duty {
            runtime: self,
            list: list.clone(),
            version: self.lowerings.version.load(Ordering::SeqCst),
            since: Cell::new(None),
            patience: self.patience(),
            budget: Budget::default(),
            good_passes: 0,
        })
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

    /// Whether the duty was offered to the workers that search, and is free.
    #[inline(always)]
    pub(crate) fn is_called_to_duty(&self) -> bool {
        self.lowerings.called.load(Ordering::SeqCst) && !self.lowerings.duty.load(Ordering::SeqCst)
    }

    /// Whether passes are made, one after the other.
    pub(super) fn duty_is_busy(&self) -> bool {
        self.lowerings.duty.load(Ordering::SeqCst)
            && !self.lowerings.resting.0.load(Ordering::SeqCst)
    }

    /// One pass between other work, where nobody has the duty.
    #[inline(always)]
    pub(crate) fn pass_by_the_way(&self) {
        if self.has_lowerings()
            && let Some(mut duty) = self.take_duty()
        {
            duty.pass();
        }
    }

    /// Passes are wanted: wakes somebody to make them, if nobody does.
    #[cold]
    pub(crate) fn offer_duty(&self) {
        if self.lowerings.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        // Whoever has it finds what is wanted without being told.
        if self.duty_is_busy() && !self.lowerings.some_bound.load(Ordering::SeqCst) {
            return;
        }
        self.offer_duty_of(&self.lowerings.list.read());
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
        self.lowerings.called.store(true, Ordering::SeqCst);
        if self.sleep.anybody_searches() {
            return;
        }
        if self.sleep.sleeping() != 0 {
            self.sleep.wake_one();
        } else if self.lowerings.idler_count.load(Ordering::SeqCst) != 0
            && let Some(thread) = self.lowerings.idlers.lock().last()
        {
            thread.unpark();
        }
    }
}

/// This thread waits without a slot and takes the duty where it is offered.
pub(crate) struct Idler<'a>(&'a Runtime);

impl<'a> Idler<'a> {
    pub(crate) fn new(runtime: &'a Runtime) -> Self {
        let me = crate::sync::thread::current();
        runtime.lowerings.idlers.lock().push(me);
        runtime.lowerings.idler_count.fetch_add(1, Ordering::SeqCst);
        Self(runtime)
    }
}

impl Drop for Idler<'_> {
    fn drop(&mut self) {
        let me = crate::sync::thread::current().id();
        let mut idlers = self.0.lowerings.idlers.lock();
        if let Some(position) = idlers.iter().position(|thread| thread.id() == me) {
            idlers.swap_remove(position);
            self.0.lowerings.idler_count.fetch_sub(1, Ordering::SeqCst);
        }
        drop(idlers);
        // An offer made to this thread must not be lost.
        self.0.offer_duty();
    }
}
