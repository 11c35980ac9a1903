//! Blocked bodies, and the spare threads that take their places.
//!
//! A body that awaits keeps its thread and its stack and gives up its slot. A
//! spare thread sits in the slot meanwhile, so that as many bodies run at once
//! as there are slots, and no body ever starts on the stack of a blocked one.
//! When the awaited token completes, the body is entered in `ready`; the next
//! worker that comes between two bodies gives it its slot and becomes a spare.
//!
//! Slots pass from thread to thread only through `Grant`, under its lock.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::thread::Thread as StdThread;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::sync::Mutex;

use super::alerts::{Alerts, Watched};
use super::runtime::Runtime;
use super::seat;
use super::wait::Watching;
use crate::order::observers::Notify;
use crate::sync::mutant;

/// A slot on its way to a thread.
pub(crate) struct Grant {
    state: Mutex<(Granted, Option<StdThread>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Granted {
    Nothing,
    Slot(usize),
    /// The runtime closes.
    Stop,
}

impl Grant {
    /// A grant for whichever thread waits for it.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new((Granted::Nothing, None)),
        })
    }

    fn give(&self, granted: Granted) {
        let thread = {
            let mut state = self.state.lock();
            state.0 = granted;
            state.1.clone()
        };
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    /// The slot, if it has come.
    pub(crate) fn take(&self) -> Option<usize> {
        let mut state = self.state.lock();
        match state.0 {
            Granted::Slot(slot) => {
                state.0 = Granted::Nothing;
                Some(slot)
            }
            _ => None,
        }
    }

    /// From now on this thread is unparked when the slot comes.
    pub(crate) fn expect_here(&self) {
        self.state.lock().1 = Some(crate::sync::thread::current());
    }

    /// Waits for a slot; none when the runtime closes.
    pub(super) fn wait(&self) -> Option<usize> {
        if !mutant!("unnamed_waiter") {
            self.expect_here();
        }
        loop {
            if let Some(slot) = self.take() {
                return Some(slot);
            }
            if mutant!("unnamed_waiter") {
                self.expect_here();
            }
            if self.state.lock().0 == Granted::Stop {
                return None;
            }
            crate::sync::thread::park();
        }
    }

    /// As `wait`, until a deadline; None when it passes too.
    fn wait_until(&self, deadline: Instant) -> Option<usize> {
        self.expect_here();
        loop {
            if let Some(slot) = self.take() {
                return Some(slot);
            }
            let now = Instant::now();
            if now >= deadline || self.state.lock().0 == Granted::Stop {
                return None;
            }
            crate::sync::thread::park_timeout(deadline - now);
        }
    }
}

/// A body in an await.
pub(crate) struct BlockedBody {
    runtime: *const Runtime,
    grant: Arc<Grant>,
    /// Its node, where it waits without limit; for the deadlock search.
    node: u32,
    /// Told, or given up: set once, by whoever is first.
    told: AtomicBool,
}

// SAFETY: the runtime outlives its blocked bodies: a close waits for them.
unsafe impl Send for BlockedBody {}
// SAFETY: as above.
unsafe impl Sync for BlockedBody {}

impl Notify for BlockedBody {
    fn notify(&self) {
        if self.claim() {
            // SAFETY: the runtime outlives its blocked bodies.
            unsafe { &*self.runtime }.make_ready(self.grant.clone());
        }
    }

    fn waiting_body(&self) -> u32 {
        self.node
    }
}

impl BlockedBody {
    /// Whether the caller is the first to tell the body or to give its wait up.
    pub(crate) fn claim(&self) -> bool {
        !self.told.swap(true, Ordering::AcqRel)
    }
}

/// See the module's text.
pub(crate) struct BlockedBodies {
    /// Bodies that may go on, in the order their tokens completed.
    ready: Mutex<VecDeque<Arc<Grant>>>,
    ready_count: Watched,
    spares: Mutex<Vec<Arc<Grant>>>,
    /// Those of all threads of norn's own, wherever they are; a panic may lose one on its way.
    all_spares: Mutex<Vec<Arc<Grant>>>,
    /// Those of all bodies in an await, told or not; a panic may lose one on its way here too.
    waiting: Mutex<Vec<Arc<Grant>>>,
    blocked: AtomicUsize,
    /// Of these, bodies whose wait ends without this graph: it has a limit, or is for another runtime.
    limited: AtomicUsize,
    max_threads: usize,
    /// See `give_up`.
    given_up: AtomicBool,
}

impl BlockedBodies {
    pub(crate) fn new(max_threads: usize, alerts: &Alerts) -> Self {
        Self {
            ready: Mutex::new(VecDeque::new()),
            ready_count: Watched::new(alerts),
            spares: Mutex::new(Vec::new()),
            all_spares: Mutex::new(Vec::new()),
            waiting: Mutex::new(Vec::new()),
            blocked: AtomicUsize::new(0),
            limited: AtomicUsize::new(0),
            max_threads,
            given_up: AtomicBool::new(false),
        }
    }

    pub(super) fn push_ready(&self, grant: Arc<Grant>) {
        {
            let mut ready = self.ready.lock();
            plant!("wait.ready_locked");
            ready.push_back(grant);
            self.ready_count.set(ready.len());
        }
        if self.given_up.load(Ordering::SeqCst) {
            self.give_up();
        }
    }

    /// After a defect: bodies go on without a slot, now and whenever they are told; spares end.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        {
            let mut ready = self.ready.lock();
            self.ready_count.set(0);
            for grant in ready.drain(..) {
                grant.give(Granted::Stop);
            }
        }
        for body in self.waiting.lock().iter() {
            body.give(Granted::Stop);
        }
        for spare in self.all_spares.lock().iter() {
            spare.give(Granted::Stop);
        }
        self.stop_spares();
    }

    /// Enters the grant of a thread that is or will be a spare, before the thread is made.
    pub(crate) fn add_spare(&self, grant: &Arc<Grant>) {
        self.all_spares.lock().push(grant.clone());
        if self.given_up.load(Ordering::SeqCst) {
            grant.give(Granted::Stop);
        }
    }

    /// A body begins to wait for its grant.
    fn begin_wait(&self, grant: &Arc<Grant>) {
        self.blocked.fetch_add(1, Ordering::SeqCst);
        self.waiting.lock().push(grant.clone());
        if self.given_up.load(Ordering::SeqCst) {
            grant.give(Granted::Stop);
        }
    }

    /// It has the slot.
    fn end_wait(&self, grant: &Arc<Grant>) {
        {
            let mut waiting = self.waiting.lock();
            if let Some(place) = waiting.iter().rposition(|other| Arc::ptr_eq(other, grant)) {
                waiting.swap_remove(place);
            }
        }
        self.blocked.fetch_sub(1, Ordering::SeqCst);
    }

    /// Takes a grant out again; false if a slot was or is being given to it.
    pub(crate) fn withdraw(&self, grant: &Arc<Grant>) -> bool {
        let mut ready = self.ready.lock();
        let before = ready.len();
        ready.retain(|other| !Arc::ptr_eq(other, grant));
        self.ready_count.set(ready.len());
        ready.len() < before
    }

    /// Whether a body waits for a slot to go on in.
    #[inline(always)]
    pub(crate) fn any_ready(&self) -> bool {
        self.ready_count.get(Ordering::SeqCst) != 0
    }

    /// Whether a blocked body may go on although nothing in this graph does.
    pub(crate) fn any_limited(&self) -> bool {
        self.limited.load(Ordering::SeqCst) != 0
    }

    /// Cheap form of `any_ready` for the worker's loop.
    #[inline(always)]
    pub(crate) fn maybe_ready(&self) -> bool {
        self.ready_count.get(Ordering::Relaxed) != 0
    }

    /// Gives `slot` to the body that has waited longest for one. False if there is none.
    pub(crate) fn resume_one(&self, slot: usize) -> bool {
        let grant = {
            let mut ready = self.ready.lock();
            let grant = ready.pop_front();
            self.ready_count.set(ready.len());
            grant
        };
        match grant {
            Some(grant) => {
                grant.give(Granted::Slot(slot));
                true
            }
            None => false,
        }
    }

    /// Gives a slot to a spare.
    pub(crate) fn give_slot(&self, spare: &Grant, slot: usize) {
        spare.give(Granted::Slot(slot));
    }

    /// Keeps a spare until it is needed.
    pub(super) fn keep_spare_of(&self, spare: Arc<Grant>) {
        self.spares.lock().push(spare);
    }

    /// Bodies in an await.
    pub(crate) fn count(&self) -> usize {
        self.blocked.load(Ordering::SeqCst)
    }

    /// Sends all spares home.
    pub(crate) fn stop_spares(&self) {
        for spare in self.spares.lock().drain(..) {
            spare.give(Granted::Stop);
        }
    }
}

/// What a blocked body's wait came to.
pub(crate) enum Resumed {
    /// It was told, and sits in this slot.
    Told(usize),
    /// The deadline passed, or without one what it awaits can never come; it sits in this slot.
    TimedOut(usize),
}

impl Runtime {
    /// An observer through which the calling body is resumed. `node`: its node if it waits without limit.
    pub(crate) fn blocked_body(&self, node: u32) -> Arc<BlockedBody> {
        Arc::new(BlockedBody {
            runtime: self,
            grant: Grant::new(),
            node,
            told: AtomicBool::new(false),
        })
    }

    /// A thread wants a slot to go on in.
    pub(crate) fn make_ready(&self, grant: Arc<Grant>) {
        self.blocked.push_ready(grant);
        self.sleep.wake_one();
        if self.callers_run {
            self.offer_caller_seat();
        }
    }

    /// Gives the slot of the calling body to `spare` and waits until `body` is told, or the deadline.
    pub(crate) fn block(
        &self,
        body: &BlockedBody,
        spare: &Grant,
        slot: usize,
        deadline: Option<Instant>,
    ) -> Resumed {
        self.blocked.begin_wait(&body.grant);
        let limited = usize::from(deadline.is_some());
        self.blocked.limited.fetch_add(limited, Ordering::SeqCst);
        let counted = i64::from(self.one_thread);
        self.running.fetch_sub(counted, Ordering::SeqCst);
        spare.give(Granted::Slot(slot));
        plant!("wait.slot_given");
        let in_time = match deadline {
            None if super::threads::is_thread_of(self) => body.grant.wait(),
            None => self.wait_watching(&body.grant),
            Some(deadline) => body.grant.wait_until(deadline),
        };
        let resumed = match in_time {
            Some(slot) => Resumed::Told(slot),
            None => {
                let gave_up = body.claim();
                if gave_up {
                    self.make_ready(body.grant.clone());
                }
                // A body's grant is stopped only after a defect, when slots mean nothing any more: a close waits
                // for all bodies first.
                let slot = body.grant.wait().unwrap_or(slot);
                if gave_up {
                    Resumed::TimedOut(slot)
                } else {
                    Resumed::Told(slot)
                }
            }
        };
        self.running.fetch_add(counted, Ordering::SeqCst);
        self.blocked.limited.fetch_sub(limited, Ordering::SeqCst);
        self.blocked.end_wait(&body.grant);
        resumed
    }

    /// As `Grant::wait`, on a thread of the application, which has come here from a wait, drain or close of its own.
    /// None too when what the body awaits can never come.
    fn wait_watching(&self, grant: &Grant) -> Option<usize> {
        let _watching = Watching::new(self, true);
        grant.expect_here();
        loop {
            let nothing_comes = self.sees_that_nothing_comes();
            // Last before the thread parks: what it looked at, the application's destructors for one, may have waited
            // for something else, and used up the wake-up that came with the slot.
            if let Some(slot) = grant.take() {
                return Some(slot);
            }
            if nothing_comes || grant.state.lock().0 == Granted::Stop {
                return None;
            }
            crate::sync::thread::park();
        }
    }

    /// Lets a spare sit in `slot`, which the calling body holds, while the body waits for another runtime.
    pub(crate) fn step_aside<R>(&self, slot: usize, wait: impl FnOnce() -> R) -> R {
        let Some(spare) = self.find_spare() else {
            // No thread may take the place: the slot stays empty meanwhile.
            return wait();
        };
        let grant = Grant::new();
        self.blocked.begin_wait(&grant);
        self.blocked.limited.fetch_add(1, Ordering::SeqCst);
        let counted = i64::from(self.one_thread);
        self.running.fetch_sub(counted, Ordering::SeqCst);
        seat::stand();
        spare.give(Granted::Slot(slot));
        let result = wait();
        self.make_ready(grant.clone());
        if let Some(slot) = grant.wait() {
            seat::settle_in(self, slot);
        }
        self.running.fetch_add(counted, Ordering::SeqCst);
        self.blocked.limited.fetch_sub(1, Ordering::SeqCst);
        self.blocked.end_wait(&grant);
        result
    }

    /// Gives back a spare that was not needed.
    pub(crate) fn keep_spare(&self, spare: Arc<Grant>) {
        self.blocked.keep_spare_of(spare);
    }

    /// A spare thread that waits for a slot, made if there is none and the limit allows.
    pub(crate) fn find_spare(&self) -> Option<Arc<Grant>> {
        if let Some(spare) = self.blocked.spares.lock().pop() {
            return Some(spare);
        }
        let made = self.thread_count.fetch_add(1, Ordering::SeqCst);
        if made >= self.blocked.max_threads {
            self.thread_count.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        let grant = Grant::new();
        self.blocked.add_spare(&grant);
        if let Err(error) = self.spawn_spare(made, grant.clone()) {
            self.thread_count.fetch_sub(1, Ordering::SeqCst);
            self.settings.hooks.log.warn(format_args!(
                "no spare thread for a blocked body: {}",
                error.text()
            ));
            return None;
        }
        Some(grant)
    }

    /// Life of a thread of norn's own: sit in a slot, work, wait for the next slot.
    pub(crate) fn thread_life(&self, first: Option<usize>, grant: Arc<Grant>) {
        let mut slot = match first {
            Some(slot) => Some(slot),
            None => grant.wait(),
        };
        while let Some(sitting) = slot {
            self.work(sitting);
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            {
                let mut spares = self.blocked.spares.lock();
                // Looked at under the lock: `stop_spares` comes later and finds the grant, or has come.
                if self.stopping.load(Ordering::SeqCst) && !mutant!("late_spare") {
                    return;
                }
                spares.push(grant.clone());
            }
            slot = grant.wait();
        }
    }
}
