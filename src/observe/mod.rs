//! Explaining: logs, counters, dumps of the live graph.

pub(crate) mod dump;
pub(crate) mod log;
pub(crate) mod stats;
