//! After a defect: a panic was caught at the boundary or at the top of one of norn's threads.
//!
//! The graph may be half changed, so nothing of it is used again: `act` unwinds with `Unsound` to the next
//! boundary, tokens count as complete (`order::defect`), norn's threads end after the body they run. What this
//! module does is to wake everybody who waits, in this order: the mark is set, then each list of waiters is
//! walked under its lock. Who enters a list later finds the mark when it looks whether to wait.
//!
//! A close then ends the threads and gives the handle up. The memory is kept, and the number is never used
//! again: calls that were under way may still hold pieces of it.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::runtime::Runtime;
use super::wait::timed_out;
use super::{home, seat};
use crate::error::{Error, Result};

/// Payload of the unwinding that leaves a call on an unsound runtime. Not a defect of its own.
pub(crate) struct Unsound(pub(crate) Error);

/// What a caught panic says; none for `Unsound`.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> Option<&str> {
    if payload.is::<Unsound>() {
        return None;
    }
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Some(text.unwrap_or("a panic without text"))
}

impl Runtime {
    /// A defect was caught: ends all waits and norn's threads.
    pub(crate) fn poison(&self, text: &str) {
        let first = self.graph().defect.describe(text);
        self.let_all_go();
        if first {
            // The sink is called as ever; a defect in that has nowhere left to go.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                self.settings.hooks.log.error(format_args!(
                    "a defect in norn was caught: {text}; nothing runs any more, please report it"
                ));
            }));
        }
    }

    fn let_all_go(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        for observer in self.graph().observers.take_all() {
            observer.notify();
        }
        self.blocked.give_up();
        self.gang.give_up();
        self.sleep.wake_all();
        for thread in self.watchers.lock().iter() {
            thread.unpark();
        }
        self.offer_caller_seat();
        self.opener.unpark();
    }

    /// Leaves a call that would use the graph after a defect.
    #[cold]
    pub(crate) fn leave_unsound(&self) -> ! {
        resume_unwind(Box::new(Unsound(self.graph().defect.error())))
    }

    /// Closes after a defect: waits for bodies that run and calls that wait, and for nothing else.
    pub(crate) fn close_unsound(&self, deadline: Option<Instant>) -> Result<()> {
        let error = self.graph().defect.error();
        // A call that was under way at the defect may have begun to wait since.
        self.let_all_go();
        while self.living_threads.load(Ordering::SeqCst) > 0 {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(timed_out());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        self.stop_watchdog();
        self.stop_threads();
        if seat::slot_in(self).is_some() {
            seat::stand();
        }
        home::leave(self.number);
        home::let_waits_end(self.number);
        Err(Error::new(
            error.status(),
            format!("closed: {}", error.text()),
        ))
    }
}
