//! Records of operations that have ended, kept for later ones.
//!
//! A record is filled by the thread that submits and emptied by the thread that makes passes. With an allocator between the two
//! every operation would be freed on another core than it was allocated on, which costs more than all that is written into
//! it. Here each thread has a stack of free records and exchanges whole batches with the others.

use core::cell::RefCell;
use std::sync::Arc;

use parking_lot::Mutex;

use super::operation::DeviceOperation;
use crate::order::slab::prefetch_lines;

type Batch = Vec<Arc<DeviceOperation>>;

/// Records that a thread exchanges with the others at a time.
const BATCH: usize = 64;

/// Batches that are kept; what is more goes back to the allocator.
const MOST_BATCHES: usize = 512;

/// How many takes ahead a record is fetched, which the thread that makes passes has had last, and how much of it.
const AHEAD: usize = 4;
const LINES: usize = size_of::<DeviceOperation>().div_ceil(64);

/// Batches of free records. Nobody else holds any of these.
static DEPOT: Mutex<Vec<Batch>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Batch> = const { RefCell::new(Vec::new()) };
}

/// Keeps the record of an operation that has ended, unless a report still looks at it.
pub(super) fn give_back(mut record: Arc<DeviceOperation>) {
    let Some(free) = Arc::get_mut(&mut record) else {
        return;
    };
    free.empty();
    // A thread that is ending has no stack any more; then it goes back to the allocator.
    let _ = OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        own.push(record);
        if own.len() >= 2 * BATCH {
            spill(&mut own);
        }
    });
}

/// A free record, vacant and held by nobody else, if there is one.
pub(super) fn take() -> Option<Arc<DeviceOperation>> {
    OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        if own.is_empty()
            && let Some(batch) = DEPOT.lock().pop()
        {
            *own = batch;
        }
        let record = own.pop();
        if let Some(soon) = own.len().checked_sub(AHEAD) {
            prefetch_lines(Arc::as_ptr(&own[soon]).cast(), LINES);
        }
        record
    })
    .ok()?
}

#[cold]
fn spill(own: &mut Batch) {
    // The older half goes: what was just used stays in this core's cache.
    let kept = own.split_off(BATCH);
    let batch = core::mem::replace(own, kept);
    let mut depot = DEPOT.lock();
    if depot.len() < MOST_BATCHES {
        depot.push(batch);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use core::ffi::c_void;
    use std::sync::OnceLock;

    use super::*;
    use crate::abi::types::norn_self;
    use crate::error::Error;
    use crate::lower::cuda::operation::{Inbox, Work};
    use crate::order::operation::Operation;
    use crate::order::token::Token;

    unsafe extern "C" fn body(_: *mut norn_self, _: *mut c_void, _: *mut c_void) -> i32 {
        0
    }

    /// One for all, so that none is left when a test ends.
    fn inbox() -> &'static Inbox {
        static INBOX: OnceLock<&Inbox> = OnceLock::new();
        INBOX.get_or_init(Inbox::get)
    }

    fn operation() -> Arc<DeviceOperation> {
        DeviceOperation::new(inbox(), 3, 5, true, |work| {
            *work = Work::Enqueue(body);
            Ok(())
        })
        .unwrap()
    }

    #[test]
    fn a_record_is_used_again_and_remembers_nothing() {
        let first = operation();
        assert!(first.note(Token::new(1, 7, 2), true));
        assert!(!first.close_notes(&|_| false));
        let place = Arc::as_ptr(&first);
        give_back(first);
        let second = operation();
        assert_eq!(Arc::as_ptr(&second), place);
        assert!(!second.is_owed() && second.describe().ends_with("not issued"));
        assert!(second.close_notes(&|_| false), "it has noted nothing");
    }

    #[test]
    fn a_record_that_a_report_looks_at_is_not_used_again() {
        let first = operation();
        let report = first.clone();
        give_back(first);
        assert_ne!(Arc::as_ptr(&operation()), Arc::as_ptr(&report));
    }

    #[test]
    fn the_record_of_what_cannot_be_put_is_used_again() {
        let refused = DeviceOperation::new(inbox(), 0, 0, false, |_| Err(Error::new(-1, "no")));
        assert!(refused.is_err());
        assert!(take().is_some());
    }
}
