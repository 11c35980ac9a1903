//! What a worker that runs one plain task after the other has to know between two of them: whether there is anything
//! for it beside its own queues. That is one look for all, at a count of the sources that are not empty.
//!
//! *Protocol.* A source (a queue of tasks with a priority or a place, the bodies that may go on, the workers wanted by
//! a gathering body, the lowerings) says how much it has under its own lock, through `Watched::set`. So the changes
//! between nothing and something come in order, and each is counted once: up before the source shows that it has
//! something, down after it shows that it has nothing. A worker that finds the count zero found every source empty at
//! some moment since the task before. It may look late, as at each source by itself: that nobody sleeps beside a task
//! is the sleep protocol's affair. What it finds above zero may be for others, so it then looks at the sources.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::mutant;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

/// The count of a runtime; its clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Alerts(Arc<CachePadded<AtomicUsize>>);

impl Alerts {
    /// Whether any source has something.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// How much one source has.
#[derive(Default)]
pub(crate) struct Watched {
    amount: AtomicUsize,
    alerts: Alerts,
}

impl Watched {
    /// Of an empty source.
    pub(crate) fn new(alerts: &Alerts) -> Self {
        Self {
            amount: AtomicUsize::new(0),
            alerts: alerts.clone(),
        }
    }

    /// Under the lock of the source.
    pub(crate) fn set(&self, amount: usize) {
        let before = self.amount.load(Ordering::Relaxed);
        if before == 0 && amount != 0 {
            self.alerts.0.fetch_add(1, Ordering::SeqCst);
        }
        self.amount.store(amount, Ordering::SeqCst);
        if before != 0 && amount == 0 && !mutant!("alert_for_ever") {
            self.alerts.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Without the lock.
    #[inline(always)]
    pub(crate) fn get(&self, ordering: Ordering) -> usize {
        self.amount.load(ordering)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_alert_while_any_source_has_something() {
        let alerts = Alerts::default();
        let sources = [Watched::new(&alerts), Watched::new(&alerts)];
        assert!(!alerts.any());
        sources[0].set(3);
        sources[0].set(1);
        sources[1].set(1);
        sources[0].set(0);
        assert!(alerts.any());
        sources[0].set(0);
        assert!(alerts.any());
        sources[1].set(0);
        assert!(!alerts.any());
    }
}
