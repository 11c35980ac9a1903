//! The table's calls with Rust's types: codes become errors, outputs become values.

use core::ffi::{CStr, c_char, c_void};

use parking_lot::MutexGuard;

use super::hush::{self, Process};
use super::table::*;
use crate::abi::status::{NORN_E_INVALID, NORN_E_MEMORY, NORN_E_MPI, NORN_E_UNSUPPORTED};
use crate::error::Error;

/// The calls of the MPI in this process.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    table: &'static norn_mpi_table,
    /// Whose calls they are.
    process: &'static Process,
    /// MPI takes one thread at a time.
    serialized: bool,
}

// SAFETY: the table is constant, and its functions and texts may be used from any thread that MPI's level allows.
unsafe impl Send for Calls {}
// SAFETY: as above.
unsafe impl Sync for Calls {}

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) call: &'static str,
    pub(crate) code: i32,
}

type Result<T> = core::result::Result<T, Failed>;

fn check(call: &'static str, code: i32) -> Result<()> {
    match code {
        NORN_MPI_OK => Ok(()),
        code => Err(Failed { call, code }),
    }
}

/// Reads a text that a call writes.
fn text(write: impl FnOnce(*mut c_char, usize) -> i32) -> String {
    let mut buffer = [0u8; 1024];
    if write(buffer.as_mut_ptr().cast(), buffer.len()) != NORN_MPI_OK {
        return String::new();
    }
    let length = buffer
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
}

// SAFETY of the calls below: the table outlives the process and its functions are what table.rs documents; outputs
// are live variables of the right type. That MPI is active and the thread may call it is seen to by `Engine`'s users.
impl Calls {
    /// `comm`: tells `sim` which rank calls.
    pub(crate) fn new(table: &'static norn_mpi_table, comm: i32) -> Self {
        // SAFETY: a static text, which ends with a zero.
        let is_sim = unsafe { CStr::from_ptr(table.family) } == c"sim";
        Self {
            table,
            process: match is_sim {
                true => hush::simulated(comm),
                false => hush::real(),
            },
            // Until the level is known.
            serialized: true,
        }
    }

    /// What MPI has provided; below MPI_THREAD_SERIALIZED the thread is always the same.
    pub(crate) fn set_level(&mut self, level: i32) {
        self.serialized = level == NORN_MPI_THREAD_SERIALIZED;
    }

    /// Whether MPI takes one thread at a time, and any.
    pub(crate) fn are_serialized(&self) -> bool {
        self.serialized
    }

    pub(crate) fn process(&self) -> &'static Process {
        self.process
    }

    fn turn(&self) -> Option<MutexGuard<'static, ()>> {
        self.serialized.then(|| self.process.turn())
    }

    pub(crate) fn state(&self) -> i32 {
        let mut state = NORN_MPI_BEFORE_INIT;
        // SAFETY: see above.
        unsafe { (self.table.state)(&mut state) };
        state
    }

    pub(crate) fn library_text(&self) -> String {
        let _turn = self.turn();
        // SAFETY: see above.
        text(|buffer, size| unsafe { (self.table.library_text)(buffer, size) })
    }

    /// MPI's text for a code, with the name of the call.
    pub(crate) fn describe(&self, failed: Failed) -> String {
        let _turn = self.turn();
        // SAFETY: see above.
        let text =
            text(|buffer, size| unsafe { (self.table.error_text)(failed.code, buffer, size) });
        format!("{}: {text} (code {})", failed.call, failed.code)
    }

    /// The error for the caller of norn.
    pub(crate) fn error(&self, failed: Failed) -> Error {
        let status = match failed.code {
            NORN_MPI_NO_MEMORY => NORN_E_MEMORY,
            NORN_MPI_UNSUPPORTED | NORN_MPI_TOO_LARGE => NORN_E_UNSUPPORTED,
            NORN_MPI_INVALID => NORN_E_INVALID,
            _ => NORN_E_MPI,
        };
        Error::new(status, self.describe(failed))
    }

    /// Thread level, and whether this thread initialised MPI.
    pub(crate) fn thread(&self, comm: i32) -> Result<(i32, bool)> {
        let _turn = self.turn();
        let (mut level, mut is_main) = (0, 0);
        // SAFETY: see above.
        check("MPI_Query_thread", unsafe {
            (self.table.thread)(comm, &mut level, &mut is_main)
        })?;
        Ok((level, is_main != 0))
    }

    pub(crate) fn device_aware(&self) -> (i32, String) {
        let _turn = self.turn();
        let mut answer = -1;
        // SAFETY: see above.
        let reason =
            text(|buffer, size| unsafe { (self.table.device_aware)(&mut answer, buffer, size) });
        (answer, reason)
    }

    /// Not in turn: whoever holds it may never go on.
    pub(crate) fn abort(&self, comm: i32, code: i32) {
        // SAFETY: see above.
        unsafe { (self.table.abort)(comm, code) };
    }

    /// See the table.
    pub(crate) fn at_finalize(&self, comm: i32, then: norn_mpi_then_fn) -> Result<()> {
        let _turn = self.turn();
        // SAFETY: see above; `then` is a function of the library's, which is never unloaded.
        check("MPI_Comm_set_attr", unsafe {
            (self.table.at_finalize)(comm, then)
        })
    }

    pub(crate) fn comm_info(&self, comm: i32) -> Result<norn_mpi_comm_info> {
        let _turn = self.turn();
        let mut info = norn_mpi_comm_info::default();
        // SAFETY: see above.
        check("MPI_Comm_size", unsafe {
            (self.table.comm_info)(comm, &mut info)
        })?;
        Ok(info)
    }

    pub(crate) fn comm_free(&self, comm: i32) -> Result<()> {
        let _turn = self.turn();
        // SAFETY: see above.
        check("MPI_Comm_free", unsafe { (self.table.comm_free)(comm) })
    }

    pub(crate) fn type_builtin(&self, number: i64) -> Result<i32> {
        let _turn = self.turn();
        let mut handle = 0;
        // SAFETY: see above.
        check("MPI_Type", unsafe {
            (self.table.type_builtin)(number as i32, &mut handle)
        })?;
        Ok(handle)
    }

    pub(crate) fn type_info(&self, comm: i32, handle: i32) -> Result<norn_mpi_type_info> {
        let _turn = self.turn();
        let mut info = norn_mpi_type_info::default();
        // SAFETY: see above.
        check("MPI_Pack", unsafe {
            (self.table.type_info)(comm, handle, &mut info)
        })?;
        Ok(info)
    }

    pub(crate) fn type_blocks(
        &self,
        base: i32,
        count: u64,
        (blocks, stride): (u64, u64),
        (planes, plane_stride): (u64, u64),
    ) -> Result<i32> {
        let _turn = self.turn();
        let mut handle = 0;
        // SAFETY: see above.
        check("MPI_Type_create_hvector", unsafe {
            (self.table.type_blocks)(
                base,
                count as i64,
                blocks as i64,
                stride as i64,
                planes as i64,
                plane_stride as i64,
                &mut handle,
            )
        })?;
        Ok(handle)
    }

    pub(crate) fn type_free(&self, handle: i32) {
        let _turn = self.turn();
        // SAFETY: see above. A type that cannot be freed is lost, which hurts nobody.
        unsafe { (self.table.type_free)(handle) };
    }

    pub(crate) fn op_builtin(&self, number: i64) -> Result<i32> {
        let _turn = self.turn();
        let mut handle = 0;
        // SAFETY: see above.
        check("MPI_Op", unsafe {
            (self.table.op_builtin)(number as i32, &mut handle)
        })?;
        Ok(handle)
    }

    /// See the table.
    pub(crate) fn op_check(&self, op: i32, datatype: i32) -> Result<()> {
        let _turn = self.turn();
        // SAFETY: see above.
        check("MPI_Reduce_local", unsafe {
            (self.table.op_check)(op, datatype)
        })
    }

    /// Not in turn: no plug-in asks MPI about it, and tasks that declare collectives do.
    pub(crate) fn count_limit(&self) -> i64 {
        let mut limit = i64::from(i32::MAX);
        // SAFETY: see above.
        unsafe { (self.table.count_limit)(&mut limit) };
        limit
    }

    /// The message that could be received now on a communicator from a rank (`NORN_MPI_ANY`: any).
    pub(crate) fn probe(&self, source: i32, comm: i32) -> Result<Option<norn_mpi_done>> {
        let _turn = self.turn();
        let (mut found, mut message) = (0, norn_mpi_done::default());
        // SAFETY: see above.
        check("MPI_Iprobe", unsafe {
            (self.table.iprobe)(source, NORN_MPI_ANY, comm, &mut found, &mut message)
        })?;
        Ok((found != 0).then_some(message))
    }

    /// An empty set of requests.
    pub(crate) fn requests(&self) -> Result<Requests> {
        let _turn = self.turn();
        let mut set = core::ptr::null_mut();
        // SAFETY: see above.
        check("requests_open", unsafe {
            (self.table.requests_open)(&mut set)
        })?;
        Ok(Requests { calls: *self, set })
    }
}

/// Where a message comes from or goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    pub(crate) comm: i32,
}

/// Elements at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    pub(crate) address: usize,
    pub(crate) count: u64,
    pub(crate) datatype: i32,
}

/// The pending requests of a world.
pub(crate) struct Requests {
    pub(crate) calls: Calls,
    set: *mut norn_mpi_requests,
}

// SAFETY: used under the lock of the engine it belongs to, by one thread at a time, as the table demands.
unsafe impl Send for Requests {}

impl Requests {
    /// Begins to duplicate a communicator.
    pub(crate) fn duplicate(&mut self, comm: i32) -> Result<i32> {
        let _turn = self.calls.turn();
        let mut slot = 0;
        // SAFETY: see `Calls`.
        check("MPI_Comm_idup", unsafe {
            (self.calls.table.comm_idup)(self.set, comm, 0, &mut slot)
        })?;
        Ok(slot)
    }

    /// Posts a send.
    ///
    /// # Safety
    /// The elements live and stay as they are until the request is reported by `test`.
    pub(crate) unsafe fn send(&mut self, what: Elements, to: Address) -> Result<i32> {
        let _turn = self.calls.turn();
        let mut slot = 0;
        // SAFETY: passed on from the caller.
        check("MPI_Isend", unsafe {
            (self.calls.table.isend)(
                self.set,
                what.address as *const c_void,
                what.count as i64,
                what.datatype,
                to.peer,
                to.tag,
                to.comm,
                0,
                &mut slot,
            )
        })?;
        Ok(slot)
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// The elements live and are touched by nobody else until the request is reported by `test`.
    pub(crate) unsafe fn receive(&mut self, what: Elements, from: Address) -> Result<i32> {
        let _turn = self.calls.turn();
        let mut slot = 0;
        // SAFETY: passed on from the caller.
        check("MPI_Irecv", unsafe {
            (self.calls.table.irecv)(
                self.set,
                what.address as *mut c_void,
                what.count as i64,
                what.datatype,
                from.peer,
                from.tag,
                from.comm,
                0,
                &mut slot,
            )
        })?;
        Ok(slot)
    }

    /// Posts a collective.
    ///
    /// # Safety
    /// As `send` and `receive`, for what it reads and writes.
    pub(crate) unsafe fn collective(
        &mut self,
        call: &'static str,
        what: &norn_mpi_collective,
    ) -> Result<i32> {
        let _turn = self.calls.turn();
        let mut slot = 0;
        // SAFETY: passed on from the caller.
        check(call, unsafe {
            (self.calls.table.icollective)(self.set, what, 0, &mut slot)
        })?;
        Ok(slot)
    }

    /// Tests some requests; those that have ended are in `done`.
    pub(crate) fn test(&mut self, slots: &[i32], done: &mut Vec<norn_mpi_done>) -> Result<()> {
        let _turn = self.calls.turn();
        done.clear();
        done.reserve(slots.len());
        let mut count = 0;
        // SAFETY: as many slots and as much room as said.
        let code = unsafe {
            (self.calls.table.test)(
                self.set,
                slots.as_ptr(),
                slots.len() as i32,
                done.as_mut_ptr(),
                &mut count,
            )
        };
        if code == NORN_MPI_OK {
            // SAFETY: the call has written so many, and each slot ends once at most.
            unsafe { done.set_len((count as usize).min(slots.len())) };
        }
        check("MPI_Testsome", code)
    }

    /// Cancels a receive, which is still to be tested.
    pub(crate) fn cancel(&mut self, slot: i32) {
        let _turn = self.calls.turn();
        // SAFETY: see `Calls`. A slot that is no receive is refused without harm.
        unsafe { (self.calls.table.cancel)(self.set, slot) };
    }

    /// Frees the set; false while requests are pending.
    pub(crate) fn close(&mut self) -> bool {
        if self.set.is_null() {
            return true;
        }
        let _turn = self.calls.turn();
        // SAFETY: see `Calls`; forgotten afterwards.
        let closed = unsafe { (self.calls.table.requests_close)(self.set) } == NORN_MPI_OK;
        if closed {
            self.set = core::ptr::null_mut();
        }
        closed
    }
}
