//! The slot that callers take turns in: with zero workers and in one-thread
//! modes, bodies run only inside norn calls of application threads.
//!
//! At most one thread sits in the slot. Another caller waits in a list and is
//! unparked when the seat is free. When the sitting caller's body blocks, a
//! spare thread takes the seat, and gives it back when no caller is inside a call
//! any more, or when there is nothing that a spare may run and a caller wants to
//! look itself (tasks for the opener). The seat is never left empty while callers
//! are blocked in bodies: then a spare sits down, or nobody would run what they
//! wait for.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::duty::{Duty, Idle, Idler};
use super::runtime::{CallerSeat, Runtime};
use super::seat;
use super::wait::{CountedWait, Goal, Watching, park_until, timed_out};
use crate::error::Result;

impl Runtime {
    /// Takes turns in the callers' slot.
    pub(crate) fn wait_as_caller(&self, deadline: Option<Instant>, goal: Goal<'_>) -> Result<()> {
        let done = goal.reached;
        self.callers_inside.fetch_add(1, Ordering::SeqCst);
        let _watching = Watching::new(self, true);
        let waited = loop {
            if done() {
                break Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Err(timed_out());
            }
            if !self.take_caller_seat() {
                // Somebody else runs bodies. Parked until the seat is offered, a token completes, or time is up.
                if !park_until(deadline) && !done() {
                    self.forget_caller_seat();
                    break Err(timed_out());
                }
                continue;
            }
            let ended = self.sit_as_caller(deadline, goal);
            if let Some(ended) = ended {
                break ended;
            }
        };
        self.forget_caller_seat();
        self.callers_inside.fetch_sub(1, Ordering::SeqCst);
        waited
    }

    /// Runs bodies and makes passes for a moment, as a caller that would find in the end that no wake-up was needed: an
    /// answer from another rank comes in less time than it takes to arrange for one. Whether it is done.
    pub(crate) fn poll_as_caller(
        &self,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> bool {
        if !self.callers_run || self.one_thread || self.caller_seat.lock().taken {
            return false;
        }
        let spin = self.settings.spin;
        let is_short = deadline.is_some_and(|deadline| deadline < Instant::now() + spin);
        if is_short || !self.take_caller_seat() {
            return false;
        }
        let _counted = CountedWait::new(self);
        self.callers_inside.fetch_add(1, Ordering::SeqCst);
        let saved = seat::sit(self, 0);
        let mut duty = self.take_duty();
        let mut rounds = 0u32;
        // The clock is read only where nothing comes for a while, or somebody has given a limit.
        let mut until = None;
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let reached = loop {
            if done() {
                break true;
            }
            rounds += 1;
            let is_over = rounds.is_multiple_of(32) && {
                let now = Instant::now();
                now >= *until.get_or_insert_with(|| now + spin)
            };
            if self.blocked.any_ready() || is_over {
                break false;
            }
            let passed = match &mut duty {
                Some(duty) => duty.pass(),
                None => {
                    duty = self.take_duty();
                    false
                }
            };
            let has_task = self.queues.has_work_for(0) || !self.queues.opener.is_empty();
            let ran = has_task && self.run_one(0);
            if passed {
                until = None;
            }
            if (passed || ran) && is_late() {
                break false;
            }
        };
        drop(duty);
        seat::restore(saved);
        self.release_caller_seat();
        self.callers_inside.fetch_sub(1, Ordering::SeqCst);
        reached
    }

    /// As `poll_as_caller` where workers run the bodies: makes passes, unless a thread that has something else to do does.
    /// Gives what this thread goes on waiting with; none if it is done.
    pub(crate) fn poll_beside_workers(
        &self,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Option<Idle<'_>> {
        if self.callers_run || self.settings.caller_works {
            return Some(Idle::default());
        }
        let _counted = CountedWait::new(self);
        let mut idle = Idle {
            duty: self.take_duty(),
            idler: None,
        };
        if idle.duty.is_none() && self.duty_is_at_work() {
            let idler = idle.idler.insert(Idler::new(self));
            idle.duty = self.take_duty_from_searcher(idler, done);
        }
        loop {
            if done() {
                return None;
            }
            let Some(duty) = &mut idle.duty else {
                return Some(idle);
            };
            // Work that a worker must do, or that takes longer, is waited for as any other.
            let opener_has_task = self.is_opener() && !self.queues.opener.is_empty();
            if duty.pause().is_some()
                || !duty.is_wanted()
                || opener_has_task
                || deadline.is_some_and(|deadline| Instant::now() >= deadline)
            {
                return Some(idle);
            }
            duty.pass();
        }
    }

    /// The duty, which a worker that searches hands on in a moment.
    fn take_duty_from_searcher<'a>(
        &self,
        idler: &Idler<'a>,
        done: &dyn Fn() -> bool,
    ) -> Option<Duty<'a>> {
        let mut rounds = 0u32;
        let mut until = None;
        loop {
            if let Some(duty) = idler.take_duty() {
                return Some(duty);
            }
            rounds += 1;
            let is_over = rounds.is_multiple_of(32) && {
                let now = Instant::now();
                now >= *until.get_or_insert_with(|| now + self.settings.spin)
            };
            if is_over || done() || !self.duty_is_at_work() {
                return None;
            }
            crate::sync::hint::spin_loop();
        }
    }

    /// Runs bodies in the callers' slot until done; None when the slot went to a blocked body.
    pub(crate) fn sit_as_caller(
        &self,
        deadline: Option<Instant>,
        goal: Goal<'_>,
    ) -> Option<Result<()>> {
        let done = goal.reached;
        let mut bodies = 0u32;
        let saved = seat::sit(self, 0);
        let ended = loop {
            if self.blocked.any_ready() && self.blocked.resume_one(0) {
                seat::restore(saved);
                return None;
            }
            if goal.reached_after(bodies) {
                break Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Err(timed_out());
            }
            if self.run_one(0) {
                bodies = bodies.wrapping_add(1);
                self.pass_by_the_way();
                continue;
            }
            bodies = 0;
            if goal.dear && done() {
                break Ok(());
            }
            if self.opener_needs_seat(&self.caller_seat.lock()) {
                seat::restore(saved);
                self.release_caller_seat();
                return None;
            }
            if self.is_stuck() {
                break if done() {
                    Ok(())
                } else {
                    Err(self.stuck_error())
                };
            }
            let is_opener = self.is_opener();
            let wake =
                || done() || (is_opener && !self.queues.opener.is_empty()) || self.may_be_stuck();
            self.search(0, deadline, true, &wake);
        };
        seat::restore(saved);
        self.release_caller_seat();
        Some(ended)
    }

    /// Runs one task in the slot this thread sits in.
    pub(crate) fn run_one(&self, slot: usize) -> bool {
        if !self.one_thread
            && self.is_opener()
            && let Some(node) = self.queues.opener.pop()
        {
            self.run_opener_task(node);
            return true;
        }
        match self.next_task(slot) {
            Some(node) => {
                self.run_task(slot, node, || true);
                true
            }
            None => false,
        }
    }

    /// One bounded pass, where this thread may run something.
    pub(crate) fn progress_once(&self) {
        if seat::body_in(self) != 0 || seat::in_callback() {
            return;
        }
        self.pass_now();
        if self.callers_run {
            let _counted = CountedWait::new(self);
            self.callers_inside.fetch_add(1, Ordering::SeqCst);
            if self.take_caller_seat() {
                let saved = seat::sit(self, 0);
                let resumed = self.blocked.any_ready() && self.blocked.resume_one(0);
                if !resumed {
                    self.run_one(0);
                    // In the slot, for what runs bodies.
                    self.pass_now();
                }
                seat::restore(saved);
                if !resumed {
                    self.release_caller_seat();
                }
            }
            self.forget_caller_seat();
            self.callers_inside.fetch_sub(1, Ordering::SeqCst);
        } else if self.is_opener() {
            if let Some(node) = self.queues.opener.pop() {
                self.run_opener_task(node);
            } else if self.settings.caller_works
                && let Some(slot) = seat::slot_in(self)
                && let Some(node) = self.next_task(slot)
            {
                self.run_task(slot, node, || true);
            }
        }
    }

    /// `norn_progress`.
    pub(crate) fn progress(&self) -> Result<()> {
        self.progress_once();
        Ok(())
    }

    /// Sits down if nobody does; otherwise this thread is told when the seat is free.
    pub(crate) fn take_caller_seat(&self) -> bool {
        let mut seat = self.caller_seat.lock();
        plant!("wait.seat_locked");
        if seat.taken || self.opener_needs_seat(&seat) {
            let me = crate::sync::thread::current();
            if !seat.waiting.iter().any(|thread| thread.id() == me.id()) {
                seat.waiting.push(me);
            }
            drop(seat);
            // A spare that sleeps there with nothing to do may leave.
            self.sleep.wake_one();
            return false;
        }
        seat.taken = true;
        // Who sits waits no more: while its body is blocked, an offer would reach nobody.
        let me = crate::sync::thread::current().id();
        seat.waiting.retain(|thread| thread.id() != me);
        true
    }

    /// Whether another thread should leave the seat to the opener: what is left to run must run there, and it
    /// waits for the seat.
    pub(crate) fn opener_needs_seat(&self, seat: &CallerSeat) -> bool {
        if self.is_opener() {
            return false;
        }
        let has_work = if self.one_thread {
            self.serial.has_for(true) && !self.serial.has_for(false)
        } else {
            !self.queues.opener.is_empty()
        };
        has_work
            && seat
                .waiting
                .iter()
                .any(|thread| thread.id() == self.opener.id())
    }

    pub(crate) fn release_caller_seat(&self) {
        let mut seat = self.caller_seat.lock();
        seat.taken = false;
        self.offer_free_seat(&mut seat);
    }

    /// The seat is free: offers it to the callers that wait for it. If none does, but callers are blocked in
    /// bodies, a spare sits down, or nobody would run what they wait for.
    pub(crate) fn offer_free_seat(&self, seat: &mut CallerSeat) {
        for thread in &seat.waiting {
            thread.unpark();
        }
        if seat.waiting.is_empty()
            && self.blocked.count() > 0
            && let Some(spare) = self.find_spare()
        {
            seat.taken = true;
            self.blocked.give_slot(&spare, 0);
        }
    }

    pub(crate) fn forget_caller_seat(&self) {
        let me = crate::sync::thread::current().id();
        let mut seat = self.caller_seat.lock();
        seat.waiting.retain(|thread| thread.id() != me);
        if !seat.taken {
            // An offer meant for this thread must not be lost.
            self.offer_free_seat(&mut seat);
        }
    }

    /// There is something to do: whoever waits for the seat may look.
    pub(crate) fn offer_caller_seat(&self) {
        for thread in &self.caller_seat.lock().waiting {
            thread.unpark();
        }
    }

    /// Whether the spare that sits in the callers' slot should leave it: no caller is inside a call any more,
    /// or there is nothing a spare can do and a caller wants to look itself.
    pub(crate) fn caller_seat_wanted(&self) -> bool {
        super::threads::is_thread_of(self)
            && seat::body_in(self) == 0
            && (self.callers_inside.load(Ordering::SeqCst) == 0
                || (!self.has_common_task() && !self.caller_seat.lock().waiting.is_empty()))
    }

    /// A spare gives the callers' slot back when no caller is inside, or when only callers can go on.
    pub(crate) fn give_back_caller_seat(&self) -> bool {
        if !self.caller_seat_wanted() {
            return false;
        }
        self.release_caller_seat();
        true
    }

    pub(crate) fn has_common_task(&self) -> bool {
        if self.one_thread {
            self.serial.has_for(false)
        } else {
            self.queues.has_work_for(0)
        }
    }
}
