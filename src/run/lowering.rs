//! The interface of what carries operations out: devices, MPI.

use core::any::Any;
use core::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::runtime::Runtime;
use crate::abi::slice::norn_slice;
use crate::abi::types::{norn_access, norn_data_desc, norn_place, norn_task};
use crate::error::Result;
use crate::order::memory::Memory;
use crate::order::operation::Operation;
use crate::sync::thread::Thread as StdThread;

/// Keeps a device's queues or the network full; it never decides what may run.
pub(crate) trait Lowering: Any + Send + Sync {
    /// One bounded pass on the calling thread: begins what has arrived, looks at what is under way, ends what is done.
    /// Returns whether anything went on. One thread at a time, never inside a change of the graph.
    fn pass(&self, runtime: &Runtime) -> bool;

    /// Whether a pass by the calling thread could achieve something now or soon. False where everything waits for an
    /// arrival, or where another thread must make the passes.
    fn wants_pass(&self) -> bool;

    /// Where it wants a pass: whether at once, because something is to be begun, and not only looked at.
    fn is_pressing(&self) -> bool {
        true
    }

    /// Whether there is work that only a thread in a slot may do: it runs bodies.
    fn wants_worker(&self) -> bool {
        false
    }

    /// How long passes without a pause are worth their cost after something has gone on, if longer than a worker looks
    /// for tasks.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// How long the thread on duty may rest before its next pass, when nothing has come for long. Longer than a moment only
    /// where `offer_duty` is called when something comes. None: as the share of a core allows that looking may cost.
    fn pause(&self) -> Option<Duration> {
        None
    }

    /// Whether one thread alone may make passes, now or later.
    fn is_bound(&self) -> bool {
        false
    }

    /// That thread, while passes are wanted.
    fn only_thread(&self) -> Option<StdThread> {
        None
    }

    /// The runtime is closing or sealed, nothing runs and nothing can, and operations are under way: only what lowerings bring
    /// can make it go on. Told again and again.
    fn rest(&self, runtime: &Runtime) {
        let _ = runtime;
    }

    /// Whether something is under way with it, by whose end the graph may go on.
    fn may_bring(&self) -> bool;

    /// Ends what it shares with other processes, after all work is over and before the runtime is closed. May wait.
    fn detach(&self, runtime: &Runtime, deadline: Option<Instant>) -> Result<()> {
        let _ = (runtime, deadline);
        Ok(())
    }

    /// The process is about to abort: takes along those that cannot go on without it.
    fn abort(&self, code: i32) {
        let _ = code;
    }

    /// Whether nothing goes on with it because the application wants that, and nothing waits to be begun: no trouble, however
    /// long that lasts.
    fn is_left_alone(&self) -> bool {
        false
    }

    /// What keeps it from going on, if somebody outside has to do something about it; for the watchdog.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// What is still under way, in words, for who has waited for its end in vain. May lock, so never inside a pass.
    fn left(&self) -> Option<String> {
        None
    }

    /// Whether a place of its kind may be named. None: places of this kind are not its own.
    fn check_place(&self, _place: norn_place) -> Option<Result<()>> {
        None
    }

    /// Whether the caller's memory can be as described. None: it is not its kind, or of the host as far as it can tell.
    fn check_memory(&self, _desc: &norn_data_desc) -> Option<Result<()>> {
        None
    }

    /// Memory of its own as described, zeroed. None: not its kind.
    fn allocate(&self, _desc: &norn_data_desc) -> Option<Result<Box<dyn Memory>>> {
        None
    }

    /// Whether `place_of_address` may ever answer.
    fn knows_addresses(&self) -> bool {
        false
    }

    /// The place of its device whose memory holds an address. None: it knows of none.
    fn place_of_address(&self, _address: usize) -> Option<norn_place> {
        None
    }

    /// Host memory through which `bytes` bytes go between a device of its and somebody who takes no device memory. None: the
    /// place is none of its devices.
    fn staging(&self, _place: norn_place, _bytes: u64) -> Option<Result<Arc<dyn Memory>>> {
        None
    }

    /// Makes the calling thread one from which its driver takes calls, until what it gives is dropped: for a library that
    /// reads and writes its memory itself. None: it has no memory of its own.
    fn enter(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// The copy of a slice of its devices' memory to `staging`, or from there (`up`), as one run of bytes. It keeps that
    /// memory until it has ended. None: the slice is on none of its devices.
    fn copy_staged(
        &self,
        _runtime: &Runtime,
        _slice: &norn_slice,
        _staging: Arc<dyn Memory>,
        _up: bool,
    ) -> Option<Result<StagedCopy>> {
        None
    }

    /// The operation that a task with an `enqueue` body is. None: it has no streams.
    fn operation_of_task(&self, _task: &norn_task) -> Option<Result<Arc<dyn Operation>>> {
        None
    }

    /// A handle of a provider's for the enqueue body that runs on this thread with this stream. None: not its body.
    fn provider(&self, _kind: i32, _stream: *mut c_void) -> Option<Result<*mut c_void>> {
        None
    }

    /// The runtime closes: every operation has ended, the data are gone, and no pass is made any more.
    fn close(&self) {}
}

/// An operation that copies, and the access that it makes.
pub(crate) struct StagedCopy {
    pub(crate) operation: Arc<dyn Operation>,
    pub(crate) access: Option<norn_access>,
}
