//! How exchanges end.

use std::sync::Arc;

use smallvec::SmallVec;

use super::control::Record;
use super::exchange::{Exchange, Message};
use crate::abi::status::{NORN_E_CLOSED, norn_status};
use crate::order::operation::Outcome;

/// How an exchange ended.
pub(crate) enum How {
    Success,
    Failed {
        status: norn_status,
        code: i32,
        operation: &'static str,
        text: String,
    },
    /// Because of this cause on this rank.
    Propagated(u32),
    /// Because of what failed on another rank.
    Remote(Record),
}

impl How {
    /// For the graph, which knows no other ranks: what failed there has been adopted before.
    pub(crate) fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Success => Outcome::Success,
            Self::Failed {
                status,
                code,
                operation,
                text,
            } => Outcome::Failed {
                status: *status,
                code: *code,
                operation,
                text,
            },
            Self::Propagated(cause) => Outcome::Propagated(*cause),
            Self::Remote(record) => Outcome::Failed {
                status: record.status,
                code: record.code,
                operation: "peer",
                text: &record.text,
            },
        }
    }
}

/// Exchanges whose tokens are to be completed, when the engine's lock is given back. A send and a receive often end in one pass.
pub(crate) type Finished = SmallVec<[(Arc<Exchange>, u32, How); 2]>;

/// The end of a message whose other rank has closed.
pub(crate) fn gone(message: &Message) -> How {
    let what = if message.send { "receives" } else { "sends" };
    closed(format!(
        "rank {} has left the world, and {what} nothing more",
        message.peer
    ))
}

/// The end of a message that nobody can bring about any more.
pub(crate) fn closed(text: String) -> How {
    How::Failed {
        status: NORN_E_CLOSED,
        code: 0,
        operation: "close",
        text,
    }
}
