//! The lowerings of a runtime.

use core::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crossbeam_utils::CachePadded;

use super::alerts::{Alerts, Watched};
use super::duty::Waiting;
use super::lowering::Lowering;
use super::runtime::Runtime;
use crate::abi::status::NORN_E_UNSUPPORTED;
use crate::abi::types::norn_place;
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::Thread as StdThread;
use crate::sync::{Mutex, RwLock};

pub(super) type List = Arc<[Arc<dyn Lowering>]>;

/// The lowerings of a runtime.
#[derive(Default)]
pub(crate) struct Lowerings {
    /// Replaced as a whole, so that a pass, during which one may be removed, takes it without copying.
    pub(super) list: CachePadded<RwLock<List>>,
    /// Length of the list, for a look without the lock.
    pub(super) count: Watched,
    /// Counts its replacements.
    pub(super) version: AtomicUsize,
    /// The lowering whose calls are frequent, for a look without the lock; it stays until the close.
    busiest: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// Somebody makes passes.
    pub(super) duty: AtomicBool,
    /// Operations that have arrived and not ended. Apart from what every submission looks at.
    pub(super) under_way: CachePadded<AtomicUsize>,
    /// Operations have ended that watchers were not told of.
    pub(super) untold: CachePadded<AtomicBool>,
    /// The thread that has the duty and rests, and whether there is one.
    pub(super) resting: (AtomicBool, Mutex<Option<StdThread>>),
    /// Threads that wait without a slot and would take the duty, and how many, for a look without the lock.
    pub(super) idlers: Mutex<Vec<Waiting>>,
    pub(super) idler_count: AtomicUsize,
    /// When the last pass between two bodies was, as `Runtime::now_ns` has it.
    pub(super) passed_at: AtomicI64,
    /// The longest patience of a lowering, in nanoseconds.
    pub(super) patience: AtomicU64,
    /// Some lowering's passes are made by one thread only.
    pub(super) bound: AtomicBool,
    /// Some lowering can tell whose memory an address is in.
    knows_addresses: AtomicBool,
    /// Hundredths of a core that may go into looking for what is late; 0: not said.
    pub(super) idle_share: AtomicU32,
}

impl Lowerings {
    /// None yet.
    pub(super) fn new(alerts: &Alerts) -> Self {
        Self {
            count: Watched::new(alerts),
            ..Self::default()
        }
    }

    /// Under the lock of the list: what of it is looked at without the lock.
    fn note_list(&self, list: &[Arc<dyn Lowering>]) {
        let patience = list.iter().map(|lowering| lowering.patience()).max();
        let patience = patience.unwrap_or_default().as_nanos() as u64;
        self.patience.store(patience, Ordering::Relaxed);
        let bound = list.iter().any(|lowering| lowering.is_bound());
        self.bound.store(bound, Ordering::SeqCst);
        let knows = list.iter().any(|lowering| lowering.knows_addresses());
        self.knows_addresses.store(knows, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
        self.count.set(list.len());
    }
}

impl Runtime {
    /// Adds a lowering, for as long as it is not removed.
    pub(crate) fn add_lowering(&self, lowering: Arc<dyn Lowering>) {
        // It has calls of its own that name no runtime.
        self.graph().share();
        let mut list = self.lowerings.list.write();
        *list = list.iter().cloned().chain([lowering]).collect();
        self.lowerings.note_list(&list);
    }

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

    /// Ends what the lowerings share with other processes.
    pub(super) fn detach_lowerings(&self, deadline: Option<Instant>) -> Result<()> {
        let list = self.lowerings.list.read().clone();
        list.iter()
            .try_for_each(|lowering| lowering.detach(self, deadline))
    }

    /// Whether some lowering is left alone by the application's will, and none has trouble.
    pub(super) fn lowerings_are_left_alone(&self) -> bool {
        let list = self.lowerings.list.read();
        list.iter().any(|lowering| lowering.is_left_alone())
            && list.iter().all(|lowering| lowering.trouble().is_none())
    }

    /// What keeps lowerings from going on, in words.
    pub(super) fn trouble_of_lowerings(&self) -> String {
        let list = self.lowerings.list.read();
        let trouble = list.iter().filter_map(|lowering| lowering.trouble());
        trouble.map(|text| format!("; {text}")).collect()
    }

    /// What lowerings still have under way, in words.
    pub(super) fn left_of_lowerings(&self) -> String {
        let list = self.lowerings.list.read().clone();
        let left = list.iter().filter_map(|lowering| lowering.left());
        left.map(|text| format!("; {text}")).collect()
    }

    /// See `Lowering::enter`.
    pub(crate) fn enter_device(&self) -> Option<Box<dyn Any>> {
        let list = self.lowerings.list.read();
        list.iter().find_map(|lowering| lowering.enter())
    }

    /// Whether another lowering than this one, of those that are meant, may make the graph go on.
    pub(crate) fn others_may_bring<L: Lowering>(
        &self,
        lowering: &L,
        is_meant: impl Fn(&dyn Lowering) -> bool,
    ) -> bool {
        let list = self.lowerings.list.read().clone();
        let others = list
            .iter()
            .filter(|other| !core::ptr::addr_eq(Arc::as_ptr(other), lowering));
        let mut meant = others.filter(|other| is_meant(&***other));
        meant.any(|other| other.may_bring())
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

    /// Makes a lowering that was added the one that `busiest_lowering` gives. The first one stays it.
    pub(crate) fn set_busiest_lowering<L: Lowering>(&self, lowering: Arc<L>) {
        let _ = self.lowerings.busiest.set(lowering);
    }

    /// As `lowering`, for the one that was made the busiest.
    #[inline]
    pub(crate) fn busiest_lowering<L: Lowering>(&self) -> Option<&L> {
        self.lowerings.busiest.get()?.downcast_ref()
    }

    /// What the first lowering answers that has something to do with a question.
    pub(crate) fn ask_lowerings<A>(
        &self,
        question: impl Fn(&dyn Lowering) -> Option<Result<A>>,
        nobody: &'static str,
    ) -> Result<A> {
        self.first_answer(question)
            .unwrap_or_else(|| Err(Error::new(NORN_E_UNSUPPORTED, nobody)))
    }

    /// As `ask_lowerings`; None if none has anything to do with the question.
    pub(crate) fn first_answer<A>(
        &self,
        question: impl Fn(&dyn Lowering) -> Option<A>,
    ) -> Option<A> {
        let list = self.lowerings.list.read().clone();
        list.iter().find_map(|lowering| question(&**lowering))
    }

    /// Whether some lowering can tell whose memory an address is in.
    pub(crate) fn knows_addresses(&self) -> bool {
        self.lowerings.knows_addresses.load(Ordering::SeqCst)
    }

    /// The place of the device whose memory holds an address, if a device is open and it is one's.
    pub(crate) fn place_of_address(&self, address: usize) -> Option<norn_place> {
        if !self.knows_addresses() {
            return None;
        }
        let list = self.lowerings.list.read();
        list.iter()
            .find_map(|lowering| lowering.place_of_address(address))
    }

    /// Lets all lowerings end; see `Lowering::close`.
    pub(crate) fn close_lowerings(&self) {
        let list = {
            let mut list = self.lowerings.list.write();
            let list = core::mem::take(&mut *list);
            self.lowerings.note_list(&[]);
            list
        };
        self.let_pass_end();
        for lowering in list.iter() {
            lowering.close();
        }
    }

    /// Waits for the last pass, once nobody takes the duty any more: a thread whose wait the close has ended may be in one.
    fn let_pass_end(&self) {
        let lowerings = &self.lowerings;
        while lowerings.duty.load(Ordering::SeqCst) {
            if let Some(resting) = &*lowerings.resting.1.lock() {
                resting.unpark();
            }
            crate::sync::thread::yield_now();
        }
    }

    /// Whether there is more than one lowering.
    pub(crate) fn has_several_lowerings(&self) -> bool {
        self.lowerings.count.get(Ordering::Relaxed) > 1
    }

    /// Whether there is any lowering.
    #[inline(always)]
    pub(crate) fn has_lowerings(&self) -> bool {
        self.lowerings.count.get(Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "lowerings_tests.rs"]
pub(super) mod tests;
