//! Sequences of C calls, right and wrong, made of bytes and compared with a model.
//!
//! The first bytes choose how the runtime is opened; the rest are calls of the main thread, and the plans of the
//! bodies that they submit. The model knows for each call which answers are right; at the end every accepted
//! task has run at most once and was dropped exactly once, ended as its predecessors allow, ran after what it
//! waits for, and read from its data what a sequential run leaves there. A hang, a wrong answer and a wrong
//! value abort the process, so that a fuzzer keeps the input.
//!
//! The model and the calls that do not wait are under one lock, so that both have the same order. Drops,
//! callbacks and reductions take no lock: norn may call them inside any call.

mod bodies;
mod choices;
mod data;
mod drafts;
mod driver;
mod fate;
mod finish;
mod holds;
mod model;
mod run;
mod task;
mod tokens;
mod values;
pub mod watch;
mod wrong;

/// One run.
pub fn run(bytes: &[u8]) {
    driver::Driver::open(bytes).drive();
}
