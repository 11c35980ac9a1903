//! What few tasks need, beside their node: a place, a group, a parent, more
//! than four accesses, a copied argument, private copies, children.

use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::cell::UnsafeCell;
use std::sync::Arc;

use super::failure::SpreadMap;
use super::operation::Operation;
use super::reduce::ReduceRun;
use super::slab::Vacant;
use super::timeline::Timeline;
use super::token::Token;
use crate::abi::types::{norn_complete_fn, norn_place};

/// An access beyond those in the node.
pub(crate) struct MoreAccess {
    pub(crate) datum: u32,
    pub(crate) epoch: u32,
    pub(crate) meta: u32,
}

/// A private copy of a datum under REDUCE.
pub(crate) struct PrivateCopy {
    pub(crate) datum: u32,
    pub(crate) run: Arc<ReduceRun>,
    /// Which member of the run this is.
    pub(crate) member: u64,
    /// Made when the body starts.
    pub(crate) memory: Option<Box<[u64]>>,
}

/// Timelines inside a task's accesses, for its children. Under the placing lock.
pub(crate) type Domain = SpreadMap<u32, Timeline>;

/// Content of an annex. Owned like the plain fields of its node, except `domain`.
#[derive(Default)]
pub(crate) struct AnnexBody {
    pub(crate) place: norn_place,
    pub(crate) cpus: i32,
    pub(crate) copied_argument: [u64; 8],
    pub(crate) more: Vec<MoreAccess>,
    /// Places made together with this one.
    pub(crate) siblings: Vec<u32>,
    /// Reserved places that this task fills.
    pub(crate) fills: Vec<u32>,
    pub(crate) copies: Vec<PrivateCopy>,
    /// For a place that writes behind readers: datum, and a gate behind the writer before them.
    pub(crate) fallbacks: Vec<(u32, Token)>,
    /// The reduction a COMBINE node finishes.
    pub(crate) reduction: Option<Arc<ReduceRun>>,
    /// Function of a CALLBACK node.
    pub(crate) callback: norn_complete_fn,
    /// Token a CALLBACK node speaks of.
    pub(crate) subject: u64,
}

/// The operation of a node. Its submitter and its last owner change it, reports read it at any time.
///
/// The content changes only where `is_set` is off and no reader has found it on: a reader counts itself and then looks at
/// `is_set`, the last owner turns that off and then looks at the count, and waits until nobody reads. All four are in one order
/// (sequentially consistent), so the reader finds it off or the owner finds the reader. (Not the checkers' words in a model:
/// no reader stops between its counts there.)
#[derive(Default)]
struct OperationCell {
    is_set: std::sync::atomic::AtomicBool,
    readers: std::sync::atomic::AtomicU32,
    content: UnsafeCell<Option<Arc<dyn Operation>>>,
}

impl OperationCell {
    fn read(&self) -> Option<Arc<dyn Operation>> {
        self.readers.fetch_add(1, Ordering::SeqCst);
        let operation = match self.is_set.load(Ordering::SeqCst) {
            // SAFETY: it stays as it is while this reader is counted, see above.
            true => unsafe { &*self.content.get() }.clone(),
            false => None,
        };
        self.readers.fetch_sub(1, Ordering::Release);
        operation
    }

    /// # Safety
    /// The caller is the only one to change it.
    unsafe fn fill(&self, operation: Arc<dyn Operation>) {
        // SAFETY: passed on from the caller. Then `is_set` is off, and whoever turned it off has waited for those who
        // found it on.
        unsafe {
            // There is one where an earlier submission for a declared token was refused.
            drop(self.take());
            *self.content.get() = Some(operation);
        }
        self.is_set.store(true, Ordering::Release);
    }

    /// # Safety
    /// The caller is the only one to change it.
    unsafe fn take(&self) -> Option<Arc<dyn Operation>> {
        if !self.is_set.load(Ordering::Relaxed) {
            return None;
        }
        self.is_set.swap(false, Ordering::SeqCst);
        while self.readers.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
        // SAFETY: the caller promises that nobody else changes it, and nobody reads it, see above.
        unsafe { &mut *self.content.get() }.take()
    }
}

/// A slot of the slab of annexes.
#[derive(Default)]
pub(crate) struct Annex {
    /// Node of the parent, 0 if the task is no child. Read by reports at any time.
    pub(crate) parent: AtomicU32,
    /// Group, 0 if none.
    pub(crate) group: AtomicU32,
    /// Task that fills this place. Read by reports at any time.
    pub(crate) filled_by: AtomicU32,
    /// Task that holds this place (an acquire inside a body), 0 if an application thread does.
    pub(crate) held_by: AtomicU32,
    /// What a lowering carries out, for a node that is an operation.
    operation: OperationCell,
    body: UnsafeCell<Option<Box<AnnexBody>>>,
    /// The present owner, or one before it, has asked for the content: else its lists are empty, and nobody need touch
    /// its lines, which the submitter's core has. Written by owners.
    is_used: AtomicBool,
    /// A child has touched data, so there is a domain to end. Set by the thread that runs the body, which the node's
    /// completion is ordered after; so whoever completes it can do without the placing lock where it is not.
    has_domain: AtomicBool,
    domain: UnsafeCell<Option<Box<Domain>>>,
}

// SAFETY: zero is None for both boxes and the operation (guaranteed null-pointer layout of Option<Box> and
// Option<Arc>), and valid for the atomics. A vacant slot holds none of them, see `clear`.
unsafe impl Vacant for Annex {}
// SAFETY: `body` is used only by the node's present owner and `domain` only
// under the placing lock; both hand over through synchronising operations. `operation`: see there.
unsafe impl Sync for Annex {}

impl Annex {
    /// Makes a vacant slot ready for use.
    pub(crate) fn occupy(&self) {
        self.parent.store(0, Ordering::Relaxed);
        self.group.store(0, Ordering::Relaxed);
        self.filled_by.store(0, Ordering::Relaxed);
        self.held_by.store(0, Ordering::Relaxed);
        self.has_domain.store(false, Ordering::Relaxed);
        self.is_used.store(false, Ordering::Relaxed);
        // SAFETY: a vacant slot has no other user.
        unsafe { (*self.body.get()).get_or_insert_with(Box::default) };
    }

    /// The content.
    ///
    /// # Safety
    /// The caller is the present owner of the annex's node, and drops the reference before it hands the node on.
    #[allow(clippy::mut_from_ref)] // exclusive by ownership of the node, not by borrow
    #[inline(always)]
    pub(crate) unsafe fn body(&self) -> &mut AnnexBody {
        // SAFETY: the caller promises exclusive use; `occupy` made the box.
        let body = unsafe { (*self.body.get()).get_or_insert_with(Box::default) };
        if !self.is_used() {
            self.is_used.store(true, Ordering::Relaxed);
            body.place = norn_place::default();
            body.cpus = 0;
        }
        body
    }

    /// Whether the lists of the content may hold anything. For the present owner.
    #[inline(always)]
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// The operation, if the node is one.
    pub(crate) fn operation(&self) -> Option<Arc<dyn Operation>> {
        self.operation.read()
    }

    /// As `operation`, without the lock and without counting.
    ///
    /// # Safety
    /// The caller keeps the node from ending while it uses the reference: as its submitter, as a predecessor that has not
    /// satisfied it, as its lowering.
    #[inline(always)]
    pub(crate) unsafe fn own_operation(&self) -> Option<&Arc<dyn Operation>> {
        // SAFETY: written by the submitter, before anybody else comes here, and by the node's last owner; the caller
        // promises to be ordered between the two. Reports only read.
        unsafe { &*self.operation.content.get() }.as_ref()
    }

    /// Makes the node an operation, before it is let go.
    pub(crate) fn set_operation(&self, operation: Arc<dyn Operation>) {
        // SAFETY: a slot that was vacant, of a node that its submitter alone has.
        unsafe { self.operation.fill(operation) };
    }

    /// Whether children have touched data. For the thread that runs the body or completes the node.
    #[inline(always)]
    pub(crate) fn has_domain(&self) -> bool {
        self.has_domain.load(Ordering::Relaxed)
    }

    /// The children's timelines, which from now on there are.
    ///
    /// # Safety
    /// As `domain`; on the thread that runs the body.
    #[allow(clippy::mut_from_ref)] // exclusive by the placing lock
    pub(crate) unsafe fn make_domain(&self) -> &mut Domain {
        self.has_domain.store(true, Ordering::Relaxed);
        // SAFETY: the caller holds the lock that guards it.
        unsafe { (*self.domain.get()).get_or_insert_with(Box::default) }
    }

    /// The children's timelines, if there are any.
    ///
    /// # Safety
    /// The caller holds the placing lock and drops the reference before it gives the lock back.
    #[allow(clippy::mut_from_ref)] // exclusive by the placing lock
    pub(crate) unsafe fn domain(&self) -> &mut Option<Box<Domain>> {
        // SAFETY: the caller holds the lock that guards it.
        unsafe { &mut *self.domain.get() }
    }

    /// Empties the slot before it is given back, but for the domain: that is not this owner's to touch without the placing lock,
    /// under which whoever joins pieces looks at all of them. Only a body makes one, and it is taken when the body's node
    /// completes.
    ///
    /// # Safety
    /// The caller is the last owner of the annex's node.
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: the caller promises exclusive use.
        unsafe {
            drop(self.operation.take());
            if self.is_used()
                && let Some(body) = &mut *self.body.get()
            {
                body.more.clear();
                body.fills.clear();
                body.siblings.clear();
                body.copies.clear();
                body.fallbacks.clear();
                body.reduction = None;
                body.callback = None;
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    struct Nothing;

    impl Operation for Nothing {
        fn arrive(self: Arc<Self>, _: u32) -> bool {
            false
        }

        fn cancelled(self: Arc<Self>, _: u32) {}

        fn describe(&self) -> String {
            "nothing".into()
        }
    }

    #[test]
    fn reports_read_operations_that_come_and_go() {
        const READS: u32 = 1_000;
        let operation: Arc<Nothing> = Arc::new(Nothing);
        let annex = Annex::default();
        let reads = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while reads.load(Ordering::Relaxed) < READS {
                    if let Some(read) = annex.operation() {
                        assert_eq!(read.describe(), "nothing");
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            while reads.load(Ordering::Relaxed) < READS {
                annex.set_operation(operation.clone());
                // SAFETY: nobody else changes the slot.
                unsafe { annex.clear() };
                assert!(annex.operation().is_none());
            }
        });
        assert_eq!(Arc::strong_count(&operation), 1);
    }
}
