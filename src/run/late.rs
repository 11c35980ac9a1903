//! What a call says whose limit of time has passed: what is missing, and which other ranks have to do with it.

use super::runtime::Runtime;
use crate::abi::status::NORN_E_TIMEOUT;
use crate::error::{Error, Result};
use crate::order::token::Token;

/// Tokens that are named.
const SHOWN: usize = 4;

impl Runtime {
    /// As `waited`, the end of a wait for tokens, with those named that have not completed. Where the limit was 0 nobody
    /// has waited: such a call is made often, and must be cheap.
    pub(super) fn named<T>(
        &self,
        waited: Result<T>,
        tokens: impl IntoIterator<Item = Token>,
        timeout_ns: i64,
    ) -> Result<T> {
        match waited {
            Err(error) if timeout_ns != 0 && error.status() == NORN_E_TIMEOUT => {
                Err(self.await_was_late(tokens))
            }
            waited => waited,
        }
    }

    #[cold]
    fn await_was_late(&self, tokens: impl IntoIterator<Item = Token>) -> Error {
        let graph = self.graph();
        let (mut shown, mut late) = (Vec::new(), 0);
        for token in tokens {
            let Ok(Some(_)) = graph.live_node(token) else {
                continue;
            };
            late += 1;
            if shown.len() < SHOWN {
                let label = graph.label(token.index());
                shown.push(match graph.operation_of(graph.nodes.get(token.index())) {
                    Some(operation) => format!("{label}: {}", operation.describe()),
                    None => format!("{label} has not completed"),
                });
            }
        }
        if late > shown.len() {
            shown.push(format!("... and {} more", late - shown.len()));
        }
        self.error_of("the time given has passed", &shown.join(", "))
    }

    /// Of a call that waits for work of any kind. `what` has not come about.
    #[cold]
    pub(crate) fn work_was_late(&self, what: &str) -> Error {
        self.error_of(what, &self.blocked_summary())
    }

    fn error_of(&self, what: &str, missing: &str) -> Error {
        let colon = if missing.is_empty() { "" } else { ": " };
        let (left, trouble) = (self.left_of_lowerings(), self.trouble_of_lowerings());
        Error::new(
            NORN_E_TIMEOUT,
            format!("{what}{colon}{missing}{left}{trouble}"),
        )
    }
}
