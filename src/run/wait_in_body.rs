//! Waits of bodies.
//!
//! A body that waits gives up its slot, in which a spare thread sits down, and gets one back when it is told (`blocked`).
//! One on a thread that is no worker (an OPENER task) has none to give, and only parks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::blocked::Resumed;
use super::runtime::Runtime;
use super::seat;
use super::wait::{CountedWait, Waker, Watching, park_until, timed_out};
use crate::abi::status::{NORN_E_RESOURCE, NORN_E_WOULD_DEADLOCK};
use crate::error::{Error, Result};
use crate::order::node::flag;
use crate::order::observers::Notify;
use crate::order::token::Token;
use crate::sync::atomic::AtomicBool;

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

impl Runtime {
    /// As `wait_for`, by the thread that runs `body`.
    pub(super) fn wait_in_body(
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
}
