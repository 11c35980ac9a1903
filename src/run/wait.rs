//! Waiting: awaits of application threads and of bodies, holds, drains.
//!
//! An application thread that waits runs bodies only where it may: in the slot
//! that callers take turns in (zero workers, one-thread modes), in its own slot
//! (`NORN_CALLER_WORKS`), or OPENER tasks on the opener. Otherwise it parks. A body
//! that waits gives up its slot (`blocked`).

use crate::sync::atomic::AtomicBool;
use crate::sync::thread::Thread as StdThread;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::blocked::Resumed;
use super::duty::{Duty, Idle, Idler};
use super::runtime::Runtime;
use super::seat;
use crate::abi::status::{
    NORN_E_INVALID, NORN_E_RESOURCE, NORN_E_THREAD, NORN_E_TIMEOUT, NORN_E_WOULD_DEADLOCK,
};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::node::{flag, kind};
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
struct Waker {
    thread: StdThread,
    /// The body it runs, if that waits without limit; 0 for an application's wait.
    body: u32,
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

/// A body that waits in no slot. It counts as running again from the moment it is told, not only when its thread
/// wakes: in between, nobody may take the runtime for quiescent.
struct PlainBody {
    runtime: *const Runtime,
    waker: Waker,
    counted: AtomicBool,
}

// SAFETY: the runtime outlives its bodies: a close waits for them.
unsafe impl Send for PlainBody {}
// SAFETY: as above.
unsafe impl Sync for PlainBody {}

impl PlainBody {
    /// Counts it as running, once.
    fn count(&self) {
        // SAFETY: called by the waiting body, and by who changes the graph of the runtime.
        let runtime = unsafe { &*self.runtime };
        // First up, then down again if that was one too many: never too few.
        runtime.running.fetch_add(1, Ordering::SeqCst);
        if self.counted.swap(true, Ordering::SeqCst) {
            runtime.running.fetch_sub(1, Ordering::SeqCst);
            runtime.wake_watchers();
        }
    }
}

impl Notify for PlainBody {
    fn notify(&self) {
        self.count();
        self.waker.notify();
    }

    fn waiting_body(&self) -> u32 {
        self.waker.waiting_body()
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
        for token in tokens {
            self.graph().observers.leave(*token, &waker);
        }
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
    fn observe(&self, tokens: &[Token], observer: &Arc<dyn Notify>) {
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
        let waits = match (untimed, self.is_opener()) {
            (true, true) => flag::BLOCKED | flag::ON_OPENER,
            (true, false) => flag::BLOCKED,
            (false, true) => flag::ON_OPENER,
            (false, false) => 0,
        };
        let Some(slot) = seat::slot_in(self) else {
            // An OPENER task on a thread that is no worker: it gives up nothing.
            node.set(waits);
            let waited = self.wait_plainly(body, tokens, untimed, deadline, done);
            node.clear(waits);
            return waited;
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
            node.set(waits);
            self.observe(tokens, &observer);
            plant!("wait.body_observing");
            // From here the token may complete and make this body ready at any time.
            let refused = self.refuse_await(body, tokens, untimed).err();
            if (refused.is_some() || done()) && blocked.claim() {
                self.leave_all(tokens, &observer);
                node.clear(waits);
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
            node.clear(waits);
            self.leave_all(tokens, &observer);
            match resumed {
                Resumed::Told(slot) => seat::settle_in(self, slot),
                Resumed::TimedOut(slot) => {
                    seat::settle_in(self, slot);
                    return match deadline {
                        _ if done() => Ok(()),
                        Some(_) => Err(timed_out()),
                        None => Err(self.stuck_error()),
                    };
                }
            }
        }
        Ok(())
    }

    /// Refuses the await of one token that waits for the awaiting body. With a limit the await is no edge for
    /// others, but what waits for this very body cannot come in time.
    fn refuse_await(&self, body: u32, tokens: &[Token], untimed: bool) -> Result<()> {
        let [token] = tokens else { return Ok(()) };
        match self.graph().refuse_await_cycle(body, *token) {
            Err(error) if untimed || error.status() == NORN_E_WOULD_DEADLOCK => Err(error),
            _ => Ok(()),
        }
    }

    fn leave_all(&self, tokens: &[Token], observer: &Arc<dyn Notify>) {
        for token in tokens {
            self.graph().observers.leave(*token, observer);
        }
    }

    /// Parks this thread, which runs `body`, until `done`, without running anything.
    fn wait_plainly(
        &self,
        body: u32,
        tokens: &[Token],
        untimed: bool,
        deadline: Option<Instant>,
        done: &dyn Fn() -> bool,
    ) -> Result<()> {
        let waiting = Arc::new(PlainBody {
            runtime: self,
            waker: Waker {
                thread: crate::sync::thread::current(),
                body: if untimed { body } else { 0 },
            },
            counted: AtomicBool::new(false),
        });
        let observer: Arc<dyn Notify> = waiting.clone();
        // Unparked after a defect, and when nothing goes on.
        let _watching = Watching::new(self, deadline.is_none());
        self.observe(tokens, &observer);
        let refused = self.refuse_await(body, tokens, untimed);
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.wake_watchers();
        let waited = loop {
            if refused.is_err() && !done() {
                break refused;
            }
            let nothing_comes = deadline.is_none() && !done() && self.sees_that_nothing_comes();
            // Last before the thread parks, as in `wait_watching`.
            if done() {
                break Ok(());
            }
            if nothing_comes {
                break Err(self.stuck_error());
            }
            if !park_until(deadline) {
                break if done() { Ok(()) } else { Err(timed_out()) };
            }
        };
        waiting.count();
        self.leave_all(tokens, &observer);
        waited
    }

    // ----- application threads -----

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
