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
//! Against a lost offer: a thread enters the list of idlers, or the list of sleeping workers, before it looks a last time
//! whether the duty is free and passes are wanted, and parks only if not. Both lists are under locks, and the
//! second is counted before that look, so an offerer that finds neither to hold anybody made its want visible before that
//! last look. (Sequentially consistent accesses to `duty` and the want.)

use core::any::Any;
use core::cell::Cell;
use core::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::Thread as StdThread;
use crate::sync::{Mutex, RwLock};

use super::idle::Budget;
use super::runtime::Runtime;
use crate::abi::slice::norn_slice;
use crate::abi::status::NORN_E_UNSUPPORTED;
use crate::abi::types::{norn_access, norn_data_desc, norn_place, norn_task, norn_token};
use crate::error::{Error, Result};
use crate::order::body::Begin;
use crate::order::memory::Memory;
use crate::order::operation::{Operation, Outcome};

/// Keeps a device's queues or the network full; it never decides what may run.
pub(crate) trait Lowering: Any + Send + Sync {
    /// One bounded pass on the calling thread: begins what has arrived, looks at what is under way, ends what is done.
    /// Returns whether anything went on. One thread at a time, never inside a change of the graph.
    fn pass(&self, runtime: &Runtime) -> bool;

    /// Whether a pass by the calling thread could achieve something now or soon. False where everything waits for an
    /// arrival, or where another thread must make the passes.
    fn wants_pass(&self) -> bool;

    /// Whether there is work that only a thread in a slot may do: it runs bodies.
    fn wants_worker(&self) -> bool {
        false
    }

    /// How long passes without a pause are worth their cost after something has gone on, if longer than a worker looks
    /// for tasks.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// How long the thread on duty may rest before its next pass, when nothing has come for long. Longer than a moment only
    /// where `offer_duty` is called when something comes. None: as the share of a core allows that looking may cost.
    fn pause(&self) -> Option<Duration> {
        None
    }

    /// The thread that alone may make passes, if there is such a one.
    fn only_thread(&self) -> Option<StdThread> {
        None
    }

    /// The runtime is closing, nothing runs and nothing can, and operations are under way: only what this lowering
    /// brings can make it go on. Told again and again.
    fn rest(&self, runtime: &Runtime) {
        let _ = runtime;
    }

    /// Ends what it shares with other processes, after all work is over and before the runtime is closed. May wait.
    fn detach(&self, runtime: &Runtime, deadline: Option<Instant>) -> Result<()> {
        let _ = (runtime, deadline);
        Ok(())
    }

    /// The process is about to abort: takes along those that cannot go on without it.
    fn abort(&self, code: i32) {
        let _ = code;
    }

    /// What keeps it from going on, if somebody outside has to do something about it; for the watchdog.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Whether a place of its kind may be named. None: places of this kind are not its own.
    fn check_place(&self, _place: norn_place) -> Option<Result<()>> {
        None
    }

    /// Whether the caller's memory can be as described, which is not plain host memory. None: not its kind.
    fn check_memory(&self, _desc: &norn_data_desc) -> Option<Result<()>> {
        None
    }

    /// Memory of its own as described, zeroed. None: not its kind.
    fn allocate(&self, _desc: &norn_data_desc) -> Option<Result<Box<dyn Memory>>> {
        None
    }

    /// The place of its device whose memory holds an address. None: it knows of none.
    fn place_of_address(&self, _address: usize) -> Option<norn_place> {
        None
    }

    /// Host memory through which `bytes` bytes go between a device of its and somebody who takes no device memory. None: the
    /// place is none of its devices.
    fn staging(&self, _place: norn_place, _bytes: u64) -> Option<Result<Arc<dyn Memory>>> {
        None
    }

    /// The copy of a slice of its devices' memory to `staging`, or from there (`up`), as one run of bytes. It keeps that
    /// memory until it has ended. None: the slice is on none of its devices.
    fn copy_staged(
        &self,
        _runtime: &Runtime,
        _slice: &norn_slice,
        _staging: Arc<dyn Memory>,
        _up: bool,
    ) -> Option<Result<StagedCopy>> {
        None
    }

    /// The operation that a task with an `enqueue` body is. None: it has no streams.
    fn operation_of_task(&self, _task: &norn_task) -> Option<Result<Arc<dyn Operation>>> {
        None
    }

    /// A handle of a provider's for the enqueue body that runs on this thread with this stream. None: not its body.
    fn provider(&self, _kind: i32, _stream: *mut c_void) -> Option<Result<*mut c_void>> {
        None
    }

    /// The runtime closes: every operation has ended, the data are gone, and no pass is made any more.
    fn close(&self) {}
}

/// An operation that copies, and the access that it makes.
pub(crate) struct StagedCopy {
    pub(crate) operation: Arc<dyn Operation>,
    pub(crate) access: Option<norn_access>,
}

/// Work goes on outside of the graph while this lives, so that nobody takes the runtime for stuck.
pub(crate) struct GoesOn<'a>(&'a Runtime);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.lowerings.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

type List = Arc<[Arc<dyn Lowering>]>;

/// The lowerings of a runtime.
#[derive(Default)]
pub(crate) struct Lowerings {
    /// Replaced as a whole, so that a pass, during which one may be removed, takes it without copying.
    list: RwLock<List>,
    /// Length of the list, for a look without the lock.
    count: AtomicUsize,
    /// Counts its replacements.
    version: AtomicUsize,
    /// Somebody makes passes.
    duty: AtomicBool,
    /// Operations that have arrived and not ended.
    under_way: AtomicUsize,
    /// Operations have ended that watchers were not told of.
    untold: AtomicBool,
    /// The thread that has the duty and rests, and whether there is one.
    resting: (AtomicBool, Mutex<Option<StdThread>>),
    /// Threads that wait without a slot and would take the duty, and how many, for a look without the lock.
    idlers: Mutex<Vec<StdThread>>,
    idler_count: AtomicUsize,
    /// The longest patience of a lowering, in nanoseconds.
    patience: AtomicU64,
    /// Hundredths of a core that may go into looking for what is late; 0: not said.
    idle_share: AtomicU32,
}

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

impl Lowerings {
    /// Under the lock of the list: what of it is looked at without the lock.
    fn note_list(&self, list: &[Arc<dyn Lowering>]) {
        let patience = list.iter().map(|lowering| lowering.patience()).max();
        let patience = patience.unwrap_or_default().as_nanos() as u64;
        self.patience.store(patience, Ordering::Relaxed);
        self.version.fetch_add(1, Ordering::SeqCst);
        self.count.store(list.len(), Ordering::SeqCst);
    }
}

impl Runtime {
    /// Adds a lowering, for as long as it is not removed.
    pub(crate) fn add_lowering(&self, lowering: Arc<dyn Lowering>) {
        let mut list = self.lowerings.list.write();
        *list = list.iter().cloned().chain([lowering]).collect();
        self.lowerings.note_list(&list);
    }

    #[cfg_attr(not(test), allow(dead_code))] // for worlds, which detach
    /// Removes a lowering; no pass over it begins afterwards, one may still end.
    pub(crate) fn remove_lowering<L: Lowering>(&self, lowering: &L) {
        let mut list = self.lowerings.list.write();
        *list = list
            .iter()
            .filter(|other| !core::ptr::addr_eq(Arc::as_ptr(other), lowering))
            .cloned()
            .collect();
        self.lowerings.note_list(&list);
    }

    /// How much of a core may go into looking for what is late.
    pub(crate) fn set_idle_share(&self, hundredths: u32) {
        let share = &self.lowerings.idle_share;
        share.store(hundredths, Ordering::Relaxed);
    }

    /// Says that something goes on that no node of the graph shows.
    pub(crate) fn keep_going(&self) -> GoesOn<'_> {
        self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
        GoesOn(self)
    }

    /// Ends what the lowerings share with other processes.
    pub(super) fn detach_lowerings(&self, deadline: Option<Instant>) -> Result<()> {
        let list = self.lowerings.list.read().clone();
        list.iter()
            .try_for_each(|lowering| lowering.detach(self, deadline))
    }

    /// What keeps lowerings from going on, in words.
    pub(super) fn trouble_of_lowerings(&self) -> String {
        let list = self.lowerings.list.read();
        let trouble = list.iter().filter_map(|lowering| lowering.trouble());
        trouble.map(|text| format!("; {text}")).collect()
    }

    /// See `Lowering::rest`.
    pub(super) fn rest(&self) {
        let list = self.lowerings.list.read().clone();
        for lowering in list.iter() {
            lowering.rest(self);
        }
    }

    /// The process is about to abort.
    #[cold]
    pub(super) fn abort_lowerings(&self) {
        if let Some(list) = self.lowerings.list.try_read() {
            for lowering in list.iter() {
                lowering.abort(1);
            }
        }
    }

    /// The lowering of one type, if it was added.
    pub(crate) fn lowering<L: Lowering>(&self) -> Option<Arc<L>> {
        if !self.has_lowerings() {
            return None;
        }
        let list = self.lowerings.list.read();
        list.iter().find_map(|lowering| {
            let lowering: Arc<dyn Any + Send + Sync> = lowering.clone();
            lowering.downcast().ok()
        })
    }

    /// What the first lowering answers that has something to do with a question.
    pub(crate) fn ask_lowerings<A>(
        &self,
        question: impl Fn(&dyn Lowering) -> Option<Result<A>>,
        nobody: &'static str,
    ) -> Result<A> {
        let list = self.lowerings.list.read().clone();
        list.iter()
            .find_map(|lowering| question(&**lowering))
            .unwrap_or_else(|| Err(Error::new(NORN_E_UNSUPPORTED, nobody)))
    }

    /// The place of the device whose memory holds an address, if a device is open and it is one's.
    pub(crate) fn place_of_address(&self, address: usize) -> Option<norn_place> {
        let list = self.lowerings.list.read();
        list.iter()
            .find_map(|lowering| lowering.place_of_address(address))
    }

    /// Lets all lowerings end; see `Lowering::close`.
    pub(crate) fn close_lowerings(&self) {
        let list = core::mem::take(&mut *self.lowerings.list.write());
        self.lowerings.count.store(0, Ordering::SeqCst);
        for lowering in list.iter() {
            lowering.close();
        }
    }

    /// Submits a task with an `enqueue` body.
    pub(crate) fn submit_enqueue(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Result<norn_token> {
        let operation = self.operation_of_task(task)?;
        self.submit_operation(task, accesses, after, operation)
    }

    /// The operation that a task with an `enqueue` body is.
    pub(crate) fn operation_of_task(&self, task: &norn_task) -> Result<Arc<dyn Operation>> {
        self.ask_lowerings(
            |lowering| lowering.operation_of_task(task),
            "task.enqueue: no device is open in this runtime (norn_device_open)",
        )
    }

    /// Submits an operation; see `Graph::submit_operation`.
    pub(crate) fn submit_operation(
        &self,
        how: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
        operation: Arc<dyn Operation>,
    ) -> Result<norn_token> {
        let body = self.body();
        self.act(|graph, lane| graph.submit_operation(lane, body, how, accesses, after, operation))
            .map(norn_token::from)
    }

    /// Gives an operation that has arrived to its lowering.
    #[cold]
    pub(crate) fn hand_over(&self, node: u32, operation: Arc<dyn Operation>) {
        self.lowerings.under_way.fetch_add(1, Ordering::SeqCst);
        operation.arrive(node);
        self.offer_duty();
    }

    /// A lowering is about to issue an operation that has arrived.
    pub(crate) fn begin_operation(&self, node: u32) -> Begin {
        let state = self.graph().nodes.get(node).load_state();
        let begin = self.begin(node, state);
        if begin == Begin::Skip {
            self.lowerings.under_way.fetch_sub(1, Ordering::SeqCst);
        }
        begin
    }

    /// An operation that was begun is on its stream, with its completion event behind it.
    pub(crate) fn issue_operation(&self, node: u32) {
        self.act(|graph, lane| graph.issue(lane, node));
    }

    /// An operation that was begun has ended.
    pub(crate) fn finish_operation(&self, node: u32, outcome: &Outcome<'_>) {
        self.act(|graph, lane| graph.end_operation(lane, node, outcome));
        let lowerings = &self.lowerings;
        let was_last = lowerings.under_way.fetch_sub(1, Ordering::SeqCst) == 1;
        lowerings.untold.store(true, Ordering::SeqCst);
        if was_last
            || !lowerings.duty.load(Ordering::SeqCst)
            || lowerings.resting.0.load(Ordering::SeqCst)
        {
            self.tell_watchers();
        }
    }

    /// Tells those that watch for the end of all work that operations have ended, if any have.
    fn tell_watchers(&self) {
        let untold = &self.lowerings.untold;
        if untold.load(Ordering::SeqCst) && untold.swap(false, Ordering::SeqCst) {
            self.wake_watchers();
        }
    }

    /// Whether operations are with their lowerings: then the graph can go on, whatever else rests.
    pub(crate) fn has_operations_under_way(&self) -> bool {
        self.lowerings.under_way.load(Ordering::SeqCst) != 0
    }

    /// Whether there is any lowering.
    #[inline(always)]
    pub(crate) fn has_lowerings(&self) -> bool {
        self.lowerings.count.load(Ordering::Relaxed) != 0
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
        let wanted = list.iter().any(|lowering| lowering.wants_pass());
        if !wanted || self.lowerings.duty.swap(true, Ordering::SeqCst) {
            return None;
        }
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

    fn patience(&self) -> Duration {
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

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "lowerings_tests.rs"]
mod tests;
