//! Waiting: awaits of application threads and of bodies, holds, drains.
//!
//! An application thread that waits runs bodies only where it may: in the slot
//! that callers take turns in (zero workers, one-thread modes), in its own slot
//! (`NORN_CALLER_WORKS`), or OPENER tasks on the opener. Otherwise it parks. A body
//! that waits gives up its slot (`blocked`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Thread as StdThread;
use std::time::{Duration, Instant};

use super::blocked::{Grant, Resumed};
use super::runtime::{CallerSeat, Runtime};
use super::seat;
use crate::abi::status::{
    NORN_E_DEADLOCK, NORN_E_INVALID, NORN_E_RESOURCE, NORN_E_THREAD, NORN_E_TIMEOUT,
    NORN_E_WOULD_DEADLOCK,
};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::node::{flag, kind};
use crate::order::observers::Notify;
use crate::order::token::Token;

/// Wakes an application thread.
struct Waker(StdThread);

impl Notify for Waker {
    fn notify(&self) {
        self.0.unpark();
    }
}

/// Counts a wait, so that a close lets it end.
struct CountedWait<'a>(&'a Runtime);

impl<'a> CountedWait<'a> {
    fn new(runtime: &'a Runtime) -> Self {
        runtime.waits.fetch_add(1, Ordering::SeqCst);
        Self(runtime)
    }
}

impl Drop for CountedWait<'_> {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The moment a timeout passes; none for no limit. A limit beyond the clock's range is none too.
pub(crate) fn deadline_of(timeout_ns: i64) -> Option<Instant> {
    (timeout_ns >= 0)
        .then(|| Instant::now().checked_add(Duration::from_nanos(timeout_ns as u64)))
        .flatten()
}

fn timed_out() -> Error {
    Error::new(NORN_E_TIMEOUT, "the time given has passed")
}

impl Runtime {
    /// Waits for one token and says how it ended.
    pub(crate) fn wait(&self, token: norn_token, timeout_ns: i64) -> Result<()> {
        let token = Token::from(token);
        if self.graph().live_node(token)?.is_some() {
            self.wait_live(token, timeout_ns, deadline_of(timeout_ns))?;
        }
        self.graph().outcome(token)
    }

    /// Waits for all tokens; the first failed one in the array decides.
    pub(crate) fn wait_all(&self, tokens: &[norn_token], timeout_ns: i64) -> Result<()> {
        for token in tokens {
            self.graph().live_node(Token::from(*token))?;
        }
        let deadline = deadline_of(timeout_ns);
        for token in tokens {
            let token = Token::from(*token);
            if !self.graph().is_complete(token) {
                self.wait_live(token, timeout_ns, deadline)?;
            }
        }
        for token in tokens {
            self.graph().outcome(Token::from(*token))?;
        }
        Ok(())
    }

    /// Waits for one of the tokens; gives its position and how it ended.
    pub(crate) fn wait_any(
        &self,
        tokens: &[norn_token],
        timeout_ns: i64,
    ) -> Result<(u64, Result<()>)> {
        if tokens.is_empty() {
            return Err(Error::new(
                NORN_E_INVALID,
                "count is 0: none of no tokens ever completes",
            ));
        }
        for token in tokens {
            self.graph().live_node(Token::from(*token))?;
        }
        let first_complete = || {
            tokens
                .iter()
                .position(|token| self.graph().is_complete(Token::from(*token)))
        };
        if first_complete().is_none() {
            let all: Vec<Token> = tokens.iter().map(|token| Token::from(*token)).collect();
            self.wait_for(&all, timeout_ns, deadline_of(timeout_ns), &|| {
                first_complete().is_some()
            })?;
        }
        let position = first_complete().ok_or_else(timed_out)?;
        Ok((
            position as u64,
            self.graph().outcome(Token::from(tokens[position])),
        ))
    }

    fn wait_live(&self, token: Token, timeout_ns: i64, deadline: Option<Instant>) -> Result<()> {
        self.wait_for(&[token], timeout_ns, deadline, &|| {
            self.graph().is_complete(token)
        })
    }

    /// Waits until `done`, which one of `tokens` brings about.
    fn wait_for(
        &self,
        tokens: &[Token],
        timeout_ns: i64,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Result<()> {
        let body = seat::body_in(self);
        if body != 0 && tokens.len() == 1 && tokens[0].index() == body && !done() {
            return Err(Error::new(
                NORN_E_WOULD_DEADLOCK,
                "the task awaits its own token",
            ));
        }
        let in_callback = seat::in_callback()
            || (body != 0 && self.graph().nodes.get(body).kind() == kind::CALLBACK);
        if in_callback && timeout_ns != 0 {
            return Err(Error::new(
                NORN_E_THREAD,
                "a function given to norn_on_complete or norn_config.failure must not wait",
            ));
        }
        if timeout_ns == 0 {
            // Only looks; but lets what is pending here be seen.
            self.progress_once();
            return if done() { Ok(()) } else { Err(timed_out()) };
        }
        if body != 0 {
            return self.wait_in_body(body, tokens, timeout_ns, deadline, done);
        }
        let waker: Arc<dyn Notify> = Arc::new(Waker(std::thread::current()));
        self.observe(tokens, &waker);
        let waited = self.wait_outside(deadline, done);
        for token in tokens {
            self.graph().observers.leave(*token, &waker);
        }
        waited
    }

    /// Enters an observer for each token that has not completed.
    fn observe(&self, tokens: &[Token], observer: &Arc<dyn Notify>) {
        let graph = self.graph();
        for token in tokens {
            if !token.is_zero()
                && let Some(mut pin) = graph.observers.pin(*token, graph.nodes.get(token.index()))
            {
                pin.observe(observer.clone());
            }
        }
    }

    // ----- bodies -----

    fn wait_in_body(
        &self,
        body: u32,
        tokens: &[Token],
        timeout_ns: i64,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Result<()> {
        let _counted = CountedWait::new(self);
        let graph = self.graph();
        let untimed = timeout_ns < 0 && tokens.len() == 1;
        let node = graph.nodes.get(body);
        let Some(slot) = seat::slot_in(self) else {
            // An OPENER task on a thread that is no worker: it gives up nothing.
            return self.wait_plainly(tokens, deadline, done);
        };
        while !done() {
            let Some(spare) = self.find_spare() else {
                return Err(Error::new(
                    NORN_E_RESOURCE,
                    "no further thread may take this body's place (max_threads)",
                ));
            };
            let blocked = self.blocked_body(if untimed { body } else { 0 });
            let observer: Arc<dyn Notify> = blocked.clone();
            if untimed {
                node.set(flag::BLOCKED);
            }
            self.observe(tokens, &observer);
            // From here the token may complete and make this body ready at any time.
            let refused = if untimed {
                graph.refuse_await_cycle(body, tokens[0]).err()
            } else {
                None
            };
            if (refused.is_some() || done()) && blocked.claim() {
                self.leave_all(tokens, &observer);
                node.clear(flag::BLOCKED);
                self.keep_spare(spare);
                match refused {
                    Some(error) => return Err(error),
                    None => continue,
                }
            }
            // Told already, or to be told: either way a slot comes back through the grant.
            let slot_now = seat::slot_in(self).unwrap_or(slot);
            seat::stand();
            let lent = seat::lent_in(self);
            if lent > 0 {
                self.give_workers_back();
            }
            let resumed = self.block(&blocked, &spare, slot_now, deadline);
            if lent > 0 {
                self.gang.gather_again(lent, || self.sleep.wake_all());
            }
            node.clear(flag::BLOCKED);
            self.leave_all(tokens, &observer);
            match resumed {
                Resumed::Told(slot) => seat::settle_in(self, slot),
                Resumed::TimedOut(slot) => {
                    seat::settle_in(self, slot);
                    return if done() { Ok(()) } else { Err(timed_out()) };
                }
            }
        }
        Ok(())
    }

    fn leave_all(&self, tokens: &[Token], observer: &Arc<dyn Notify>) {
        for token in tokens {
            self.graph().observers.leave(*token, observer);
        }
    }

    /// Parks this thread until `done`, without running anything.
    fn wait_plainly(
        &self,
        tokens: &[Token],
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Result<()> {
        let waker: Arc<dyn Notify> = Arc::new(Waker(std::thread::current()));
        self.observe(tokens, &waker);
        let waited = loop {
            if done() {
                break Ok(());
            }
            if !park_until(deadline) {
                break if done() { Ok(()) } else { Err(timed_out()) };
            }
        };
        self.leave_all(tokens, &waker);
        waited
    }

    // ----- application threads -----

    /// Waits outside any body until `done`; somebody unparks this thread when that may have changed.
    pub(crate) fn wait_outside(
        &self,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Result<()> {
        let _counted = CountedWait::new(self);
        if self.callers_run {
            return self.wait_as_caller(deadline, done);
        }
        let is_opener = self.is_opener();
        if is_opener && self.settings.caller_works {
            return self.wait_as_worker(deadline, done);
        }
        let mut watching = Watching::new(self, is_opener);
        loop {
            if done() {
                return Ok(());
            }
            if self.graph().sealed.load(Ordering::SeqCst) {
                watching.watch();
            }
            if is_opener && let Some(node) = self.queues.opener.pop() {
                self.run_opener_task(node);
                continue;
            }
            if self.is_stuck() {
                return if done() {
                    Ok(())
                } else {
                    Err(self.stuck_error())
                };
            }
            if !park_until(deadline) {
                return if done() { Ok(()) } else { Err(timed_out()) };
            }
        }
    }

    /// Runs an OPENER task on the opener, which sits in no slot.
    fn run_opener_task(&self, node: u32) {
        let before = self.graph().nodes.get(node).load_state();
        if self.begin(node, before) == crate::order::body::Begin::Run {
            self.run_body(seat::slot_in(self), node, 0);
        }
    }

    /// The opener works, in a slot that it keeps between its waits.
    fn wait_as_worker(&self, deadline: Option<Instant>, done: &dyn Fn() -> bool) -> Result<()> {
        self.opener_idle.store(false, Ordering::SeqCst);
        self.gang.opener_comes();
        let _watching = Watching::new(self, true);
        let grant = Grant::new();
        grant.expect_here();
        let mut waits_for_slot = false;
        // Only what was lent before this call: in here the opener lends itself.
        let mut may_be_lent = true;
        let waited = loop {
            if done() {
                break Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Err(timed_out());
            }
            let Some(slot) = seat::slot_in(self) else {
                // The slot went to a body that was blocked; another comes when a worker has one to spare.
                if !waits_for_slot {
                    waits_for_slot = true;
                    self.make_ready(grant.clone());
                }
                if let Some(slot) = grant.take() {
                    waits_for_slot = false;
                    seat::settle_in(self, slot);
                } else if let Some(node) = self.queues.opener.pop() {
                    self.run_opener_task(node);
                } else if self.is_stuck() {
                    break if done() {
                        Ok(())
                    } else {
                        Err(self.stuck_error())
                    };
                } else {
                    park_until(deadline);
                }
                continue;
            };
            if self.blocked.any_ready() && self.blocked.resume_one(slot) {
                seat::stand();
                continue;
            }
            if self.gang.wants() {
                self.gang.lend();
                continue;
            }
            if let Some(node) = self.queues.opener.pop() {
                self.run_opener_task(node);
                continue;
            }
            if may_be_lent {
                if self.gang.holds_opener() {
                    park_until(deadline);
                    continue;
                }
                may_be_lent = false;
            }
            if let Some(node) = self.next_task(slot) {
                self.run_task(slot, node);
                continue;
            }
            if self.is_stuck() {
                break if done() {
                    Ok(())
                } else {
                    Err(self.stuck_error())
                };
            }
            let wake = || done() || !self.queues.opener.is_empty() || self.may_be_stuck();
            self.search(slot, deadline, &wake);
        };
        if waits_for_slot && !self.blocked.withdraw(&grant) {
            // A slot is on its way and must not be lost.
            let slot = loop {
                match grant.take() {
                    Some(slot) => break slot,
                    None => std::thread::park_timeout(Duration::from_millis(1)),
                }
            };
            seat::settle_in(self, slot);
        }
        self.leave_slot_idle();
        waited
    }

    /// The opener goes outside with the slot it holds.
    pub(crate) fn leave_slot_idle(&self) {
        let holds_slot = seat::slot_in(self).is_some();
        self.opener_idle.store(holds_slot, Ordering::SeqCst);
        if holds_slot {
            self.gang.opener_goes();
        }
    }

    /// Takes turns in the callers' slot.
    fn wait_as_caller(&self, deadline: Option<Instant>, done: &dyn Fn() -> bool) -> Result<()> {
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
            let ended = self.sit_as_caller(deadline, done);
            if let Some(ended) = ended {
                break ended;
            }
        };
        self.forget_caller_seat();
        self.callers_inside.fetch_sub(1, Ordering::SeqCst);
        waited
    }

    /// Runs bodies in the callers' slot until done; None when the slot went to a blocked body.
    fn sit_as_caller(
        &self,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Option<Result<()>> {
        let saved = seat::sit(self, 0);
        let ended = loop {
            if self.blocked.any_ready() && self.blocked.resume_one(0) {
                seat::restore(saved);
                return None;
            }
            if done() {
                break Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Err(timed_out());
            }
            if self.run_one(0) {
                continue;
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
            self.search(0, deadline, &wake);
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
                self.run_task(slot, node);
                true
            }
            None => false,
        }
    }

    /// One bounded pass, where this thread may run something.
    pub(crate) fn progress_once(&self) {
        if seat::body_in(self) != 0 {
            return;
        }
        if self.callers_run {
            let _counted = CountedWait::new(self);
            self.callers_inside.fetch_add(1, Ordering::SeqCst);
            if self.take_caller_seat() {
                let saved = seat::sit(self, 0);
                let resumed = self.blocked.any_ready() && self.blocked.resume_one(0);
                if !resumed {
                    self.run_one(0);
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
                self.run_task(slot, node);
            }
        }
    }

    /// `norn_progress`.
    pub(crate) fn progress(&self) -> Result<()> {
        self.check_sound()?;
        self.progress_once();
        Ok(())
    }

    // ----- the seat of callers -----

    /// Sits down if nobody does; otherwise this thread is told when the seat is free.
    fn take_caller_seat(&self) -> bool {
        let mut seat = self.caller_seat.lock();
        if seat.taken || self.opener_needs_seat(&seat) {
            let me = std::thread::current();
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
        let me = std::thread::current().id();
        seat.waiting.retain(|thread| thread.id() != me);
        true
    }

    /// Whether another thread should leave the seat to the opener: what is left to run must run there, and it
    /// waits for the seat.
    fn opener_needs_seat(&self, seat: &CallerSeat) -> bool {
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

    fn release_caller_seat(&self) {
        let mut seat = self.caller_seat.lock();
        seat.taken = false;
        self.offer_free_seat(&mut seat);
    }

    /// The seat is free: offers it to the callers that wait for it. If none does, but callers are blocked in
    /// bodies, a spare sits down, or nobody would run what they wait for.
    fn offer_free_seat(&self, seat: &mut CallerSeat) {
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

    fn forget_caller_seat(&self) {
        let me = std::thread::current().id();
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

    fn has_common_task(&self) -> bool {
        if self.one_thread {
            self.serial.has_for(false)
        } else {
            self.queues.has_work_for(0)
        }
    }

    // ----- deadlock -----

    /// Quick test for `is_stuck`, for a sleeper's look.
    fn may_be_stuck(&self) -> bool {
        self.graph().sealed.load(Ordering::SeqCst)
            && !self.graph().closing.load(Ordering::SeqCst)
            && self.is_stuck()
    }

    /// Whether what is left can never go on: the runtime is sealed, nothing runs, nothing can run.
    fn is_stuck(&self) -> bool {
        let graph = self.graph();
        graph.sealed.load(Ordering::SeqCst)
            && !graph.closing.load(Ordering::SeqCst)
            && self.is_quiescent()
            && !self.somebody_holds()
    }

    /// Nothing runs and nothing is runnable, as far as this thread can see while it waits.
    pub(crate) fn is_quiescent(&self) -> bool {
        if self.blocked.any_ready() || (self.one_thread && !self.serial.is_quiet()) {
            return false;
        }
        if !self.one_thread && self.queues.has_any_work() {
            return false;
        }
        if self.callers_run {
            // This thread sits in the only slot, or nobody does.
            return seat::slot_in(self).is_some() || !self.caller_seat.lock().taken;
        }
        self.workers_sleep()
    }

    /// Whether every worker sleeps, but for this thread and an opener outside of norn.
    fn workers_sleep(&self) -> bool {
        let own = usize::from(seat::slot_in(self).is_some());
        let opener_away = usize::from(own == 0 && self.opener_idle.load(Ordering::SeqCst));
        self.sleep.sleeping() + own + opener_away >= self.queues.slots.len()
    }

    /// Whether workers run something or are about to. (Tasks for the opener do not count: they wait for it.)
    pub(crate) fn workers_are_busy(&self) -> bool {
        self.blocked.any_ready()
            || self.queues.has_work_for_workers(seat::slot_in(self))
            || !self.workers_sleep()
    }

    fn stuck_error(&self) -> Error {
        Error::new(
            NORN_E_DEADLOCK,
            format!("nothing can run any more: {}", self.blocked_summary()),
        )
    }
}

/// Whether to go on: parks once, false when the deadline has passed.
fn park_until(deadline: Option<Instant>) -> bool {
    match deadline {
        None => {
            std::thread::park();
            true
        }
        Some(deadline) => {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            std::thread::park_timeout(deadline - now);
            true
        }
    }
}

/// This thread is in the list of those to unpark when workers find nothing to do (if it watches), or when
/// the runtime is sealed (always).
pub(crate) struct Watching<'a> {
    runtime: &'a Runtime,
    watches: bool,
}

impl<'a> Watching<'a> {
    pub(crate) fn new(runtime: &'a Runtime, wanted: bool) -> Self {
        runtime.watchers.lock().push(std::thread::current());
        let mut watching = Self {
            runtime,
            watches: false,
        };
        if wanted {
            watching.watch();
        }
        watching
    }

    /// From now on, told when a worker finds nothing to do.
    pub(crate) fn watch(&mut self) {
        if !self.watches {
            self.watches = true;
            self.runtime.watcher_count.fetch_add(1, Ordering::SeqCst);
            super::asymmetric::heavy();
        }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let me = std::thread::current().id();
        let mut watchers = self.runtime.watchers.lock();
        if let Some(position) = watchers.iter().position(|thread| thread.id() == me) {
            watchers.swap_remove(position);
        }
        if self.watches {
            self.runtime.watcher_count.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
