//! Running: the threads, and who runs what when. Knows `order`; knows nothing of
//! the C API beyond its plain values.
//!
//! | file | idea |
//! |---|---|
//! | `config`, `environment`, `quantity`, `hooks` | what the user wants; numbers and times as text |
//! | `allowance`, `cgroup`, `openmp`, `cpuset`, `topology` | what the machine and the launcher allow |
//! | `thread`, `threads` | norn's own threads |
//! | `home` | memory that outlives a runtime; the table of handles |
//! | `runtime`, `calls` | one runtime; the calls that change its graph |
//! | `open` | opening, draining, closing |
//! | `queues`, `own_queue`, `serial` | runnable tasks, in parallel and in one-thread modes |
//! | `plain`, `alerts` | plain tasks, one after the other; what interrupts them |
//! | `worker`, `sleep` | the worker's loop; going to sleep and waking |
//! | `seat`, `blocked` | which thread sits where; bodies in an await and their spares |
//! | `wait`, `wait_in_body`, `hold` | waiting for tokens and for data |
//! | `turns`, `opener` | application threads that run bodies while they wait |
//! | `idle` | how often to look for what is late |
//! | `lowering`, `lowerings` | what carries operations out: its interface; those of a runtime |
//! | `operations` | work that a lowering carries out |
//! | `duty` | which thread makes lowerings go on |
//! | `pace` | how eagerly a worker takes the tasks of others |
//! | `enqueue` | bodies that queue device work |
//! | `gang` | bodies that hold several workers |
//! | `slice` | described memory, checked against its datum |
//! | `late` | what a call says whose limit of time has passed |
//! | `stuck`, `watchdog` | what is left when nothing goes on; who says so |
//! | `batch`, `records`, `fork` | one idea each |

pub(crate) mod alerts;
mod allowance;
pub(crate) mod batch;
pub(crate) mod blocked;
pub(crate) mod body;
pub(crate) mod calls;
mod cgroup;
pub(crate) mod config;
mod cpuset;
pub(crate) mod defect;
mod duty;
pub(crate) mod enqueue;
mod environment;
pub(crate) mod fork;
pub(crate) mod gang;
pub(crate) mod hold;
pub(crate) mod home;
mod hooks;
mod idle;
mod late;
pub(crate) mod lowering;
pub(crate) mod lowerings;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
pub(crate) mod open;
pub(crate) mod opener;
mod openmp;
mod operations;
mod own_queue;
mod pace;
pub(crate) mod plain;
mod quantity;
pub(crate) mod queues;
#[cfg(test)]
mod recorded;
pub(crate) mod records;
pub(crate) mod runtime;
pub(crate) mod seat;
pub(crate) mod serial;
pub(crate) mod sleep;
pub(crate) mod slice;
pub(crate) mod stuck;
pub(crate) mod thread;
pub(crate) mod threads;
mod topology;
pub(crate) mod turns;
pub(crate) mod wait;
mod wait_in_body;
mod watchdog;
#[cfg(all(test, shuttle))]
mod whole;
pub(crate) mod worker;
