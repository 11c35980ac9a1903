//! Waiting: what all waits have in common, and those of application threads (awaits, holds, drains).
//!
//! An application thread that waits runs bodies only where it may: in the slot
//! that callers take turns in (zero workers, one-thread modes), in its own slot
//! (`NORN_CALLER_WORKS`), or OPENER tasks on the opener. Otherwise it parks. A body
//! that waits gives up its slot (`wait_in_body`).

use crate::sync::thread::Thread as StdThread;
use core::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::duty::{Duty, Idle, Idler};
use super::runtime::Runtime;
use super::seat;
use crate::abi::status::{NORN_E_INVALID, NORN_E_THREAD, NORN_E_TIMEOUT, NORN_E_WOULD_DEADLOCK};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::node::kind;
use crate::order::observers::Notify;
use crate::order::token::Token;

/// How many bodies a thread runs before it asks again whether a goal is reached that takes long to find out.
pub(crate) const ASK_EVERY: u32 = 64;

/// What a wait is for.
#[derive(Clone, Copy)]
pub(crate) struct Goal<'a> {
    /// Whether it is reached.
    pub(crate) reached: &'a dyn Fn() -> bool,
    /// Whether that takes long to find out, so that a thread that runs bodies meanwhile asks once in 64 and when
    /// it finds nothing to run.
    pub(crate) dear: bool,
}

impl Goal<'_> {
    /// Whether it is reached, after `bodies` bodies since the thread last found nothing to run.
    #[inline(always)]
    pub(crate) fn reached_after(&self, bodies: u32) -> bool {
        (!self.dear || bodies.is_multiple_of(ASK_EVERY)) && (self.reached)()
    }
}

/// Wakes a thread that parks in its wait.
pub(super) struct Waker {
    pub(super) thread: StdThread,
    /// The body it runs, if that waits without limit; 0 for an application's wait.
    pub(super) body: u32,
}

impl Waker {
    fn of_this_thread(body: u32) -> Arc<dyn Notify> {
        let thread = crate::sync::thread::current();
        Arc::new(Self { thread, body })
    }
}

impl Notify for Waker {
    fn notify(&self) {
        self.thread.unpark();
    }

    fn waiting_body(&self) -> u32 {
        self.body
    }
}

/// Counts a wait, so that a close lets it end.
pub(crate) struct CountedWait<'a>(&'a Runtime);

impl<'a> CountedWait<'a> {
    pub(crate) fn new(runtime: &'a Runtime) -> Self {
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

pub(crate) fn timed_out() -> Error {
    Error::new(NORN_E_TIMEOUT, "the time given has passed")
}

impl Runtime {
    /// Waits for one token and says how it ended.
    pub(crate) fn wait(&self, token: norn_token, timeout_ns: i64) -> Result<()> {
        let token = Token::from(token);
        if self.graph().live_node(token)?.is_some() {
            let waited = self.wait_live(token, timeout_ns, deadline_of(timeout_ns));
            self.named(waited, [token], timeout_ns)?;
        }
        self.graph().outcome(token)
    }

    /// Waits for all tokens; the first failed one in the array decides.
    pub(crate) fn wait_all(&self, tokens: &[norn_token], timeout_ns: i64) -> Result<()> {
        for token in tokens {
            self.graph().live_node(Token::from(*token))?;
        }
        let deadline = deadline_of(timeout_ns);
        self.poll_for_all(tokens, timeout_ns, deadline);
        for token in tokens {
            let token = Token::from(*token);
            if !self.graph().is_complete(token) {
                let waited = self.wait_live(token, timeout_ns, deadline);
                self.named(
                    waited,
                    tokens.iter().map(|token| (*token).into()),
                    timeout_ns,
                )?;
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
            let waited = self.wait_for(&all, timeout_ns, deadline_of(timeout_ns), &|| {
                first_complete().is_some()
            });
            self.named(waited, all, timeout_ns)?;
        }
        let position = first_complete().ok_or_else(timed_out)?;
        Ok((
            position as u64,
            self.graph().outcome(Token::from(tokens[position])),
        ))
    }

    /// A wait for many tokens looks for all of them before it arranges to be woken for any: to begin and end a poll for each
    /// costs as much as a small message.
    fn poll_for_all(&self, tokens: &[norn_token], timeout_ns: i64, deadline: Option<Instant>) {
        let may_poll = tokens.len() > 1
            && timeout_ns != 0
            && self.has_lowerings()
            && seat::body_in(self) == 0
            && !seat::in_callback();
        if may_poll {
            let complete = Cell::new(0);
            let _ = self.poll_as_caller(deadline, &|| {
                let of_these = tokens[complete.get()..].iter();
                let more = of_these.take_while(|token| self.graph().is_complete((**token).into()));
                complete.set(complete.get() + more.count());
                complete.get() == tokens.len()
            });
        }
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
        if timeout_ns != 0 {
            self.refuse_in_callback()?;
        } else {
            // Never waits, but lets what is pending here be seen.
            self.progress_once();
            return if done() { Ok(()) } else { Err(timed_out()) };
        }
        if body != 0 {
            return self.wait_in_body(body, tokens, timeout_ns, deadline, done);
        }
        let mut idle = Idle::default();
        if self.has_lowerings() {
            if self.poll_as_caller(deadline, done) {
                return Ok(());
            }
            match self.poll_beside_workers(deadline, done) {
                Some(left) => idle = left,
                None => return Ok(()),
            }
        }
        let waker = Waker::of_this_thread(0);
        self.observe(tokens, &waker);
        plant!("wait.observing");
        let goal = Goal {
            reached: done,
            dear: tokens.len() > 1,
        };
        let waited = self.wait_on(deadline, goal, idle);
        self.leave_all(tokens, &waker);
        waited
    }

    /// Refuses to wait where nothing may.
    pub(crate) fn refuse_in_callback(&self) -> Result<()> {
        let body = seat::body_in(self);
        let in_callback = seat::in_callback()
            || (body != 0 && self.graph().nodes.get(body).kind() == kind::CALLBACK);
        match in_callback {
            false => Ok(()),
            true => Err(Error::new(
                NORN_E_THREAD,
                "a function given to norn_on_complete or norn_config.failure, and an enqueue body, must not wait",
            )),
        }
    }

    /// Enters an observer for each token that has not completed.
    pub(super) fn observe(&self, tokens: &[Token], observer: &Arc<dyn Notify>) {
        let graph = self.graph();
        for token in tokens {
            if !token.is_zero()
                && let Some(mut pin) = graph.observers.pin(*token, graph.nodes.get(token.index()))
            {
                pin.observe(observer.clone());
                graph.note_wait(graph.nodes.get(token.index()));
            }
        }
    }

    /// Takes it out again.
    pub(super) fn leave_all(&self, tokens: &[Token], observer: &Arc<dyn Notify>) {
        for token in tokens {
            self.graph().observers.leave(*token, observer);
        }
    }

    /// Waits outside any body until `done`; somebody unparks this thread when that may have changed.
    pub(crate) fn wait_outside(&self, deadline: Option<Instant>, goal: Goal<'_>) -> Result<()> {
        self.wait_on(deadline, goal, Idle::default())
    }

    /// As `wait_outside`, by a thread that may be an idler already, and have the duty.
    fn wait_on<'a>(
        &'a self,
        deadline: Option<Instant>,
        goal: Goal<'_>,
        idle: Idle<'a>,
    ) -> Result<()> {
        match seat::slot_elsewhere(self) {
            Some((other, slot)) if seat::body_in(other) != 0 => {
                other.step_aside(slot, || self.wait_here(deadline, goal, idle))
            }
            _ => self.wait_here(deadline, goal, idle),
        }
    }

    fn wait_here<'a>(
        &'a self,
        deadline: Option<Instant>,
        goal: Goal<'_>,
        idle: Idle<'a>,
    ) -> Result<()> {
        let done = goal.reached;
        let _counted = CountedWait::new(self);
        if self.callers_run {
            return self.wait_as_caller(deadline, goal);
        }
        let is_opener = self.is_opener();
        if is_opener && self.settings.caller_works {
            return self.wait_as_worker(deadline, goal);
        }
        let mut watching = Watching::new(self, is_opener);
        let idler_here = || self.has_lowerings().then(|| Idler::new(self));
        let Idle { mut duty, idler } = idle;
        let mut idler = idler.or_else(idler_here);
        loop {
            if self.graph().sealed.load(Ordering::SeqCst) {
                watching.watch();
            }
            if is_opener
                && !self.queues.opener.is_empty()
                && !done()
                && let Some(node) = self.queues.opener.pop()
            {
                // A body takes as long as it likes: others make the passes.
                drop((duty.take(), idler.take()));
                self.run_opener_task(node);
                idler = idler_here();
                continue;
            }
            let nothing_comes = self.is_stuck();
            // Last before the thread parks, as in `wait_watching`.
            if done() {
                return Ok(());
            }
            if nothing_comes {
                return Err(self.stuck_error());
            }
            if duty.is_none()
                && let Some(idler) = &idler
            {
                duty = idler.take_duty();
            }
            if !park_on_duty(&mut duty, deadline) {
                return if done() { Ok(()) } else { Err(timed_out()) };
            }
        }
    }
}

/// Whether to go on: makes one pass, after a pause where nothing has gone on for long, or parks where there is no duty.
/// False when the deadline has passed.
pub(crate) fn park_on_duty(duty: &mut Option<Duty<'_>>, deadline: Option<Instant>) -> bool {
    // A duty that nobody needs is given back first: whoever needs it next offers it, to this thread too.
    match duty.take_if(|duty| !duty.is_wanted()) {
        Some(unwanted) => drop(unwanted),
        None => {
            if let Some(duty) = duty {
                duty.rest(deadline);
                duty.pass();
                return deadline.is_none_or(|deadline| Instant::now() < deadline);
            }
        }
    }
    park_until(deadline)
}

/// Whether to go on: parks once, false when the deadline has passed.
pub(crate) fn park_until(deadline: Option<Instant>) -> bool {
    match deadline {
        None => {
            crate::sync::thread::park();
            true
        }
        Some(deadline) => {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            crate::sync::thread::park_timeout(deadline - now);
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
        runtime.watchers.lock().push(crate::sync::thread::current());
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
            crate::asymmetric::heavy();
        }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let me = crate::sync::thread::current().id();
        let mut watchers = self.runtime.watchers.lock();
        if let Some(position) = watchers.iter().position(|thread| thread.id() == me) {
            watchers.swap_remove(position);
        }
        if self.watches {
            self.runtime.watcher_count.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
