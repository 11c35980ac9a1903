//! Ordering: what may run, and when. Knows nothing of threads, devices or MPI.
//!
//! | file | idea |
//! |---|---|
//! | `token` | numbers that name operations and never alias |
//! | `slab`, `blocks` | type-stable memory and per-lane magazines; where the memory comes from |
//! | `node` | one live operation in two cache lines, and its words |
//! | `epoch` | a run of readers, commuters or reducers as one counter |
//! | `timeline`, `joiner` | the order of accesses to one datum; how a node comes to wait for another |
//! | `extent` | where a datum lies; pieces in rows |
//! | `datum`, `registry` | what is registered, how it is split and joined |
//! | `submit`, `access`, `wanted`, `declare` | from a description to a node in its places; tokens bound late |
//! | `plain`, `plain_places` | the straight path of nearly all tasks, from submission to completion |
//! | `sole` | the words of a graph that one thread alone has changed so far |
//! | `plain_operation` | the same for the submission of operations |
//! | `complete`, `release` | completion and its consequences, iteratively |
//! | `cancel`, `failure` | failing before the start; records of first causes |
//! | `place` | reservations and holds |
//! | `commute`, `reduce`, `early`, `group` | one idea each |
//! | `cycle`, `cone` | the exact deadlock search; what waits for the end of a node |
//! | `edge` | edges added late, the start of held tasks |
//! | `observers` | threads that wait for a token |
//! | `defect` | whether any of it can still be trusted |
//! | `body` | start and end of bodies, holds, promises |
//! | `operation` | nodes that a lowering carries out instead of a body |
//! | `issue` | consumers on devices that need not wait for their producers' ends |
//! | `lane`, `annex`, `graph` | what a thread works with; what few nodes need; the tables |

pub(crate) mod access;
pub(crate) mod annex;
mod blocks;
pub(crate) mod body;
pub(crate) mod cancel;
pub(crate) mod commute;
pub(crate) mod complete;
mod cone;
pub(crate) mod cycle;
pub(crate) mod datum;
pub(crate) mod declare;
pub(crate) mod defect;
pub(crate) mod early;
pub(crate) mod edge;
pub(crate) mod epoch;
pub(crate) mod extent;
pub(crate) mod failure;
pub(crate) mod graph;
pub(crate) mod group;
pub(crate) mod issue;
pub(crate) mod joiner;
pub(crate) mod lane;
pub(crate) mod memory;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
pub(crate) mod node;
pub(crate) mod observers;
pub(crate) mod operation;
pub(crate) mod place;
pub(crate) mod plain;
pub(crate) mod plain_operation;
mod plain_places;
pub(crate) mod reduce;
pub(crate) mod registry;
pub(crate) mod release;
pub(crate) mod slab;
pub(crate) mod sole;
pub(crate) mod submit;
pub(crate) mod timeline;
pub(crate) mod token;
pub(crate) mod wanted;
