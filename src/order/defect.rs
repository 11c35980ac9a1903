//! Whether a defect was caught in the graph: a panic that may have left it half changed.
//!
//! Nothing trusts the graph afterwards: changes are refused, and every token counts as complete, so that
//! whoever waits looks, and learns from its outcome what happened. `run::defect` wakes them.

use crate::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::abi::status::NORN_E_INTERNAL;
use crate::error::Error;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Defect {
    caught: AtomicBool,
    text: OnceLock<Box<str>>,
}

impl Defect {
    /// Whether there was one. Relaxed: a waiter that must not miss it looks again after it has taken a lock that
    /// `run::defect` takes after `mark`.
    #[inline(always)]
    pub(crate) fn is_caught(&self) -> bool {
        self.caught.load(Ordering::Relaxed)
    }

    /// From now on there was one.
    pub(crate) fn mark(&self) {
        self.caught.store(true, Ordering::SeqCst);
    }

    /// Keeps the text of the first one. Whether this was it.
    pub(crate) fn describe(&self, text: &str) -> bool {
        self.mark();
        self.text.set(text.into()).is_ok()
    }

    /// What calls return from now on.
    #[cold]
    pub(crate) fn error(&self) -> Error {
        let text = self.text.get().map_or("being reported", |text| text);
        Error::new(
            NORN_E_INTERNAL,
            format!("a defect in norn was caught before ({text}); only norn_close remains useful"),
        )
    }
}
