//! MPI under the one scheduler: edges between ranks and collectives as tasks.
//!
//! All logic is here, on plain integers; the calls of an MPI are a table that a plug-in answers.
//!
//! | file | idea |
//! |---|---|
//! | `table`, `load`, `calls` | the calls; which MPI answers them; the same with Rust's types |
//! | `attach`, `ending`, `worlds` | a world's first and last steps; handles |
//! | `world`, `pass` | who may do what; the lowering: when a pass is wanted, and what it does |
//! | `declare`, `declare_collective`, `exchange` | from a call to an operation of the graph |
//! | `layout` | how MPI takes described memory |
//! | `straight`, `record` | plain messages, posted by the call that declares them; exchanges that are used again |
//! | `stage` | messages from device memory that MPI takes none of |
//! | `lines` | the order of posting; numbers and tags |
//! | `engine`, `flights`, `post` | what MPI has; which requests are tested; posting |
//! | `hush` | the application calls MPI itself, and norn leaves it alone |
//! | `held` | small receives that are posted when their message is there |
//! | `outcome` | how exchanges end |
//! | `peers` | what is known of the other ranks |
//! | `control`, `told` | what ranks tell each other beside the data, and how |
//! | `kept` | what a rank that leaves has sent and nobody has received yet |
//! | `quit` | a rank closes and cancels while others wait for it |
//! | `finalize` | MPI_Finalize while a world is attached |
//! | `rest`, `undeclared` | all ranks close, and each waits for another |
//! | `still`, `blocked`, `suppose` | some ranks close, and wait by way of others for each other |
//! | `across` | the same where their runtimes have several worlds |
//! | `balance` | poisons and scratch receives, when something fails |
//! | `verify` | the full identity of each message |
//! | `lane`, `collective` | where collectives run, and what becomes of one that some rank never enters |
//! | `agreement`, `alike` | which collectives all ranks enter, and whether they mean the same |
//! | `compare` | the same in verify mode, in full: ranks, types, the counts of each |

mod across;
mod agreement;
mod alike;
pub(crate) mod attach;
mod balance;
mod blocked;
mod calls;
mod collective;
mod compare;
mod control;
pub(crate) mod declare;
pub(crate) mod declare_collective;
mod ending;
mod engine;
mod exchange;
mod finalize;
mod flights;
mod held;
pub(crate) mod hush;
mod kept;
mod lane;
mod launcher;
mod layout;
mod lines;
pub(crate) mod load;
mod loaded;
mod outcome;
mod pass;
mod peers;
mod post;
mod quit;
mod record;
mod rest;
pub(crate) mod stage;
mod still;
mod straight;
mod suppose;
// Plug-ins have a header of their own, and norn.h must not repeat it.
/// cbindgen:ignore
pub mod table;
mod told;
mod undeclared;
mod verify;
pub(crate) mod world;
pub(crate) mod worlds;
