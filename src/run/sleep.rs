//! Idle workers: how they go to sleep and how they are woken.
//!
//! # Protocol
//!
//! `counts` holds the number of sleeping workers (low half) and of searching ones
//! (high half): awake, with nothing found yet. It changes under the lock of `list`
//! except that a searcher counts itself in and out.
//!
//! *Sleeping.* A worker that has found nothing takes the lock, enters its slot in
//! `list` and moves itself from searching to sleeping; then passes the heavy fence;
//! then looks at all queues once more; and only then parks.
//!
//! *Waking.* Whoever makes a task runnable puts it into a queue, passes the light
//! fence, and reads `counts`. If somebody sleeps, it passes an ordinary fence and reads
//! `counts` again; if then nobody searches, it wakes one.
//!
//! *No wake-up is lost:* of the sleeper's heavy and the waker's light fence one comes
//! first. If the sleeper's is first, the waker sees the sleeper counted, and wakes it
//! unless a searcher is awake; if the waker's is first, the sleeper's second look finds
//! the task. A searcher relied upon either goes to sleep itself and looks again after
//! its fence, or finds something, this task or another. Then it counts itself out, and
//! the last searcher to do so while somebody sleeps passes an ordinary fence and looks
//! whether there is more, and if so wakes another. The two ordinary fences are what
//! makes that look see the task of a waker that still saw it searching: without, both
//! could look before the other's store, and the task would wait for a worker to come
//! by. They are not the asymmetric pair, because where workers sleep and tasks are
//! short both sides are frequent, and the heavy fence would stop every thread.
//!
//! A woken worker was moved to searching by its waker, so a burst of tasks
//! wakes one worker, which wakes the next: no thundering herd, no second wake
//! for the same task.

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use crate::sync::thread::Thread;

use crate::sync::Mutex;
use crossbeam_utils::CachePadded;

use crate::asymmetric;
use crate::sync::mutant;

const SLEEPING: u64 = 1;
const SEARCHING: u64 = 1 << 32;

/// The part of the protocol that belongs to one slot.
#[derive(Default)]
struct Bed {
    /// Set by the waker; the sleeper parks until it is.
    woken: AtomicBool,
    /// The thread that sleeps here.
    thread: Mutex<Option<Thread>>,
}

/// See the module's text.
pub(crate) struct Sleep {
    counts: CachePadded<AtomicU64>,
    list: Mutex<Vec<usize>>,
    beds: Vec<CachePadded<Bed>>,
    parks: AtomicU64,
    wakes: AtomicU64,
}

impl Sleep {
    /// All awake, none searching.
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            counts: CachePadded::new(AtomicU64::new(0)),
            list: Mutex::new(Vec::with_capacity(slots)),
            beds: (0..slots).map(|_| CachePadded::default()).collect(),
            parks: AtomicU64::new(0),
            wakes: AtomicU64::new(0),
        }
    }

    /// A task was made runnable.
    #[inline(always)]
    pub(crate) fn work_added(&self) {
        asymmetric::light();
        if self.counts.load(Ordering::Relaxed) & (SEARCHING - 1) != 0 {
            self.work_added_beside_sleepers();
        }
    }

    fn work_added_beside_sleepers(&self) {
        fence(Ordering::SeqCst);
        let counts = self.counts.load(Ordering::Relaxed);
        if counts != 0 && counts < SEARCHING {
            self.wake_one();
        }
    }

    /// Wakes a sleeping worker, if there is one.
    #[cold]
    pub(crate) fn wake_one(&self) {
        let slot = {
            let mut list = self.list.lock();
            let Some(slot) = list.pop() else {
                return;
            };
            self.counts
                .fetch_add(SEARCHING - SLEEPING, Ordering::SeqCst);
            slot
        };
        self.rouse(slot);
    }

    /// Wakes the worker of one slot, if it sleeps.
    pub(crate) fn wake_slot(&self, slot: usize) {
        asymmetric::light();
        {
            let mut list = self.list.lock();
            let Some(position) = list.iter().position(|other| *other == slot) else {
                return;
            };
            list.swap_remove(position);
            self.counts
                .fetch_add(SEARCHING - SLEEPING, Ordering::SeqCst);
        }
        self.rouse(slot);
    }

    /// Wakes all workers.
    pub(crate) fn wake_all(&self) {
        let slots = {
            let mut list = self.list.lock();
            let all = core::mem::take(&mut *list);
            self.counts.fetch_add(
                (SEARCHING - SLEEPING).wrapping_mul(all.len() as u64),
                Ordering::SeqCst,
            );
            all
        };
        for slot in slots {
            self.rouse(slot);
        }
    }

    fn rouse(&self, slot: usize) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        let bed = &self.beds[slot];
        // The thread is read before the flag is set: afterwards the sleeper may leave and another may come.
        let thread = bed.thread.lock().clone();
        bed.woken.store(true, Ordering::Release);
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    /// The calling worker begins to search. Gives the number of those who search already.
    pub(crate) fn begin_search(&self) -> usize {
        (self.counts.fetch_add(SEARCHING, Ordering::SeqCst) / SEARCHING) as usize
    }

    /// The calling worker has found something. `more`: whether there is more to find.
    pub(crate) fn end_search(&self, more: impl FnOnce() -> bool) {
        let before = self.counts.fetch_sub(SEARCHING, Ordering::SeqCst);
        let last_searcher = before < 2 * SEARCHING;
        if last_searcher && before & (SEARCHING - 1) != 0 {
            if !mutant!("silent_searcher") {
                fence(Ordering::SeqCst);
            }
            if more() && !mutant!("searcher_wakes_nobody") {
                self.wake_one();
            }
        }
    }

    /// Puts the calling worker, which searches, to sleep in `slot`. `look` looks once more whether there is a
    /// reason to stay awake; `rest` parks the thread once and says whether to give up (a deadline). Returns with
    /// the worker searching again.
    pub(crate) fn sleep(
        &self,
        slot: usize,
        look: impl Fn() -> bool,
        mut rest: impl FnMut() -> bool,
    ) {
        let bed = &self.beds[slot];
        bed.woken.store(false, Ordering::Relaxed);
        *bed.thread.lock() = Some(crate::sync::thread::current());
        {
            let mut list = self.list.lock();
            list.push(slot);
            self.counts
                .fetch_sub(SEARCHING - SLEEPING, Ordering::SeqCst);
        }
        asymmetric::heavy();
        if !mutant!("lost_wake_up") && look() && self.leave_bed(slot) {
            return;
        }
        let parks = self.parks.load(Ordering::Relaxed);
        self.parks.store(parks + 1, Ordering::Relaxed);
        loop {
            if bed.woken.load(Ordering::Acquire) {
                return;
            }
            if rest() && self.leave_bed(slot) {
                return;
            }
        }
    }

    /// Takes a sleeper out of the list itself; false if a waker did already.
    fn leave_bed(&self, slot: usize) -> bool {
        let mut list = self.list.lock();
        let Some(position) = list.iter().position(|other| *other == slot) else {
            return false;
        };
        list.swap_remove(position);
        self.counts
            .fetch_add(SEARCHING - SLEEPING, Ordering::SeqCst);
        true
    }

    /// Number of sleeping workers.
    pub(crate) fn sleeping(&self) -> usize {
        (self.counts.load(Ordering::SeqCst) & (SEARCHING - 1)) as usize
    }

    /// Times a worker slept and was woken.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (
            self.parks.load(Ordering::Relaxed),
            self.wakes.load(Ordering::Relaxed),
        )
    }
}
