//! Worlds over `sim`: one behaviour a test, each in several modes. A test is one function of a rank, run by as many
//! threads as there are ranks.

#[path = "../sim/mod.rs"]
mod sim;

mod across;
mod collectives;
mod compared;
mod edges;
mod ending;
mod failure;
mod finalize;
mod held;
mod hush;
mod limits;
mod progress;
mod ranks;
mod seeming;
mod still;
mod tags;
mod threads;
