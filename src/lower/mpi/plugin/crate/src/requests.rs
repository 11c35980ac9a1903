//! The pending requests of one user: sends, receives, duplicates of
//! communicators, and the test that ends every request.

use core::ffi::{c_int, c_void};

use mpi_sys::*;

use crate::codes::{Code, check};
use crate::quiet::Quiet;
use crate::table::*;
use crate::this_mpi::{Big, comm_of, newer, norn_mpi_byte, type_of};
use crate::types::{Made, large_type};

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Free,
    Send,
    Receive,
    CancelledReceive,
    Collective,
    Duplicate,
}

/// What a request needs until it is complete.
#[derive(Default)]
pub struct Keep {
    /// Where MPI writes a new communicator, one; empty of other requests. In a vector of its own, whose memory, unlike
    /// a box's, may be written through MPI's pointer after the owner has moved.
    pub comm: Vec<MPI_Comm>,
    /// Types made for large counts.
    pub types: Vec<Made>,
    /// Counts and displacements.
    pub ints: Vec<Vec<c_int>>,
    pub bigs: Vec<Vec<i64>>,
}

struct Slot {
    user: u64,
    kind: Kind,
    /// The last test that looked at it.
    pass: u32,
    keep: Option<Box<Keep>>,
}

/// A slot's request is MPI_REQUEST_NULL where it is free, and where MPI had nothing to wait for.
#[derive(Default)]
pub struct Requests {
    request: Vec<MPI_Request>,
    slot: Vec<Slot>,
    free: Vec<i32>,
    pass: u32,
    // Scratch of a test.
    tested: Vec<MPI_Request>,
    tested_slot: Vec<i32>,
    index: Vec<c_int>,
    status: Vec<MPI_Status>,
}

pub fn no_request() -> MPI_Request {
    // SAFETY: a constant that was filled in when the plug-in was loaded, which is after MPI.
    unsafe { RSMPI_REQUEST_NULL }
}

/// Room for so many more elements.
fn room<T>(vector: &mut Vec<T>, more: usize) -> Result<(), Code> {
    vector
        .try_reserve(more)
        .map_err(|_| Code(NORN_MPI_NO_MEMORY))
}

impl Requests {
    fn take(&mut self) -> Result<i32, Code> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        let slot = i32::try_from(self.slot.len()).map_err(|_| Code(NORN_MPI_NO_MEMORY))?;
        room(&mut self.slot, 1)?;
        room(&mut self.request, 1)?;
        // Giving a slot back must not fail.
        let slots = self.slot.len() + 1 - self.free.len();
        room(&mut self.free, slots)?;
        self.request.push(no_request());
        self.slot.push(Slot {
            user: 0,
            kind: Kind::Free,
            pass: 0,
            keep: None,
        });
        Ok(slot)
    }

    fn give_back(&mut self, slot: i32) {
        let at = slot as usize;
        self.request[at] = no_request();
        self.slot[at].kind = Kind::Free;
        self.slot[at].keep = None;
        self.free.push(slot);
    }

    /// Posts a request, or leaves everything as it was.
    pub fn post(
        &mut self,
        kind: Kind,
        user: u64,
        mut keep: Option<Box<Keep>>,
        call: impl FnOnce(&mut Option<Box<Keep>>, *mut MPI_Request) -> Result<(), Code>,
    ) -> Result<i32, Code> {
        let slot = self.take()?;
        if let Err(code) = call(&mut keep, &mut self.request[slot as usize]) {
            drop(keep);
            self.give_back(slot);
            return Err(code);
        }
        let entry = &mut self.slot[slot as usize];
        (entry.user, entry.kind, entry.keep) = (user, kind, keep);
        Ok(slot)
    }

    /// Describes a finished request and frees its slot. `status` None: MPI had nothing to wait for.
    fn finish(&mut self, slot: i32, code: c_int, status: Option<MPI_Status>) -> norn_mpi_done {
        let entry = &self.slot[slot as usize];
        let mut done = norn_mpi_done {
            user: entry.user,
            bytes: NORN_MPI_UNDEFINED,
            slot,
            outcome: NORN_MPI_DONE,
            ..Default::default()
        };
        if check(code).is_err() {
            let truncated = class_of(code) == MPI_ERR_TRUNCATE as c_int;
            done.outcome = if truncated {
                NORN_MPI_TRUNCATED
            } else {
                NORN_MPI_FAILED
            };
            done.error = code;
        }
        match (entry.kind, status) {
            (Kind::CancelledReceive, Some(status)) if cancelled(&status) => {
                (done.outcome, done.error) = (NORN_MPI_CANCELLED, 0);
            }
            (Kind::Receive | Kind::CancelledReceive, Some(status)) => {
                read_message(&status, &mut done)
            }
            (Kind::Duplicate, _) if done.outcome == NORN_MPI_DONE => {
                let made = entry.keep.as_ref().and_then(|keep| keep.comm.first());
                if let Some(&comm) = made {
                    // SAFETY: the request is complete, so MPI has written the new communicator, and writes it no
                    // more.
                    unsafe {
                        MPI_Comm_set_errhandler(comm, RSMPI_ERRORS_RETURN);
                        done.comm = RSMPI_Comm_c2f(comm);
                    }
                }
            }
            _ => (),
        }
        self.give_back(slot);
        done
    }

    /// Collects the requests to test; those that MPI has nothing to wait for are done at once.
    fn collect(&mut self, slots: &[i32], done: &mut impl FnMut(norn_mpi_done)) {
        self.pass = self.pass.wrapping_add(1);
        self.tested.clear();
        self.tested_slot.clear();
        for &slot in slots {
            let Some(entry) = usize::try_from(slot)
                .ok()
                .and_then(|at| self.slot.get_mut(at))
            else {
                continue;
            };
            if entry.kind == Kind::Free || entry.pass == self.pass {
                continue;
            }
            entry.pass = self.pass;
            let request = self.request[slot as usize];
            if request == no_request() {
                done(self.finish(slot, MPI_SUCCESS as c_int, None));
                continue;
            }
            self.tested.push(request);
            self.tested_slot.push(slot);
        }
    }

    fn test(&mut self, slots: &[i32], mut done: impl FnMut(norn_mpi_done)) -> Result<(), Code> {
        let scratch = slots.len();
        room(&mut self.tested, scratch)?;
        room(&mut self.tested_slot, scratch)?;
        if self.status.len() < scratch {
            let more = scratch - self.status.len();
            room(&mut self.status, more)?;
            room(&mut self.index, more)?;
            // SAFETY: a status is integers, for all of which zero is valid.
            self.status.resize(scratch, unsafe { core::mem::zeroed() });
            self.index.resize(scratch, 0);
        }
        self.collect(slots, &mut done);
        let count = self.tested.len();
        if count == 0 {
            return Ok(());
        }
        let mut finished: c_int = 0;
        let code = {
            let collectives = self.tested_slot.iter().any(|slot| {
                matches!(
                    self.slot[*slot as usize].kind,
                    Kind::Collective | Kind::Duplicate
                )
            });
            let _quiet = Quiet::for_requests(collectives);
            // SAFETY: `tested` holds `count` active requests; `index` and `status` have room for as many.
            let mut test_some = |finished: &mut c_int| unsafe {
                MPI_Testsome(
                    count as c_int,
                    self.tested.as_mut_ptr(),
                    finished,
                    self.index.as_mut_ptr(),
                    self.status.as_mut_ptr(),
                )
            };
            let code = test_some(&mut finished);
            // Open MPI looks, then lets messages go on, and does not look again.
            if check(code).is_ok() && finished == 0 {
                test_some(&mut finished)
            } else {
                code
            }
        };
        let failed = check(code).is_err();
        if failed && class_of(code) != MPI_ERR_IN_STATUS as c_int {
            // No statuses then. What MPI gave up has failed; where it gave up nothing, the call itself has.
            let mut any = false;
            for at in 0..count {
                if self.tested[at] == no_request() {
                    any = true;
                    done(self.finish(self.tested_slot[at], code, None));
                }
            }
            return if any { Ok(()) } else { Err(Code(code)) };
        }
        for at in 0..usize::try_from(finished).unwrap_or(0) {
            let status = self.status[at];
            // Only where the call itself has failed are the errors in the statuses defined.
            let code = if failed {
                status.MPI_ERROR
            } else {
                MPI_SUCCESS as c_int
            };
            let slot = self.tested_slot[self.index[at] as usize];
            done(self.finish(slot, code, Some(status)));
        }
        Ok(())
    }
}

fn class_of(code: c_int) -> c_int {
    let mut class = code;
    // SAFETY: any code may be asked about; `class` is writable.
    unsafe { MPI_Error_class(code, &mut class) };
    class
}

fn cancelled(status: &MPI_Status) -> bool {
    let mut flag = 0;
    // SAFETY: the status of a finished request, and a writable flag.
    unsafe { MPI_Test_cancelled(status, &mut flag) };
    flag != 0
}

fn read_message(status: &MPI_Status, done: &mut norn_mpi_done) {
    done.source = status.MPI_SOURCE;
    done.tag = status.MPI_TAG;
    let mut bytes: Big = 0;
    // SAFETY: the status of a finished or probed message; bytes are a type of every message's; `bytes` is writable.
    let code = unsafe {
        match newer().get_count {
            Some(call) => call(status, norn_mpi_byte(), &mut bytes),
            None => MPI_Get_elements_x(status, norn_mpi_byte(), &mut bytes),
        }
    };
    // SAFETY: as in `no_request`.
    if check(code).is_ok() && bytes != Big::from(unsafe { RSMPI_UNDEFINED }) {
        done.bytes = bytes;
    }
}

/// Writes the slot of what was posted, or returns the code.
///
/// # Safety
/// `slot` is writable.
pub unsafe fn answer(posted: Result<i32, Code>, slot: *mut i32) -> i32 {
    match posted {
        // SAFETY: passed on from the caller.
        Ok(at) => unsafe { slot.write(at) },
        Err(code) => return code.0,
    }
    NORN_MPI_OK
}

pub unsafe extern "C" fn requests_open(set: *mut *mut norn_mpi_requests) -> i32 {
    // SAFETY: `set` is writable, as the table says.
    unsafe { set.write(Box::into_raw(Box::<Requests>::default()).cast()) };
    NORN_MPI_OK
}

pub unsafe extern "C" fn requests_close(set: *mut norn_mpi_requests) -> i32 {
    let set: *mut Requests = set.cast();
    // SAFETY: a set from `requests_open`, used by one thread at a time, as the table demands.
    let busy = unsafe { (*set).free.len() != (*set).slot.len() };
    if busy {
        return NORN_MPI_BUSY;
    }
    // SAFETY: as above. It has no requests, and the caller forgets it.
    drop(unsafe { Box::from_raw(set) });
    NORN_MPI_OK
}

/// The set behind the table's opaque pointer.
pub unsafe fn set_of<'a>(set: *mut norn_mpi_requests) -> &'a mut Requests {
    // SAFETY: passed on from the caller.
    unsafe { &mut *set.cast() }
}

pub unsafe extern "C" fn isend(
    set: *mut norn_mpi_requests,
    buffer: *const c_void,
    count: i64,
    datatype: i32,
    dest: i32,
    tag: i32,
    comm: i32,
    user: u64,
    slot: *mut i32,
) -> i32 {
    let (Some(comm), Some(datatype), 0..) = (comm_of(comm), type_of(datatype), count) else {
        return NORN_MPI_INVALID;
    };
    // SAFETY: a set of the table's, for this call only. MPI is active; the handles are none of the null ones; the
    // buffer has `count` elements and lives until the request is reported, as the table says; `request` is a slot's
    // place. A type made for a large count may be freed while a request uses it.
    let posted = unsafe { set_of(set) }.post(Kind::Send, user, None, |_, request| unsafe {
        match (c_int::try_from(count), newer().isend) {
            (Ok(count), _) => check(MPI_Isend(buffer, count, datatype, dest, tag, comm, request)),
            (_, Some(call)) => check(call(buffer, count, datatype, dest, tag, comm, request)),
            _ => {
                let large = large_type(datatype, count)?;
                check(MPI_Isend(buffer, 1, large.0, dest, tag, comm, request))
            }
        }
    });
    // SAFETY: writable, as the table says.
    unsafe { answer(posted, slot) }
}

pub unsafe extern "C" fn irecv(
    set: *mut norn_mpi_requests,
    buffer: *mut c_void,
    count: i64,
    datatype: i32,
    source: i32,
    tag: i32,
    comm: i32,
    user: u64,
    slot: *mut i32,
) -> i32 {
    let (Some(comm), Some(datatype), 0..) = (comm_of(comm), type_of(datatype), count) else {
        return NORN_MPI_INVALID;
    };
    let (source, tag) = any(source, tag);
    // SAFETY: as in `isend`.
    let posted = unsafe { set_of(set) }.post(Kind::Receive, user, None, |_, request| unsafe {
        match (c_int::try_from(count), newer().irecv) {
            (Ok(count), _) => check(MPI_Irecv(
                buffer, count, datatype, source, tag, comm, request,
            )),
            (_, Some(call)) => check(call(buffer, count, datatype, source, tag, comm, request)),
            _ => {
                let large = large_type(datatype, count)?;
                check(MPI_Irecv(buffer, 1, large.0, source, tag, comm, request))
            }
        }
    });
    // SAFETY: writable, as the table says.
    unsafe { answer(posted, slot) }
}

/// MPI's own wildcards for the table's.
fn any(source: i32, tag: i32) -> (c_int, c_int) {
    // SAFETY: as in `no_request`.
    unsafe {
        (
            if source == NORN_MPI_ANY {
                RSMPI_ANY_SOURCE
            } else {
                source
            },
            if tag == NORN_MPI_ANY {
                RSMPI_ANY_TAG
            } else {
                tag
            },
        )
    }
}

pub unsafe extern "C" fn comm_idup(
    set: *mut norn_mpi_requests,
    comm: i32,
    user: u64,
    slot: *mut i32,
) -> i32 {
    let Some(comm) = comm_of(comm) else {
        return NORN_MPI_INVALID;
    };
    let keep = Box::new(Keep {
        // SAFETY: as in `no_request`.
        comm: vec![unsafe { RSMPI_COMM_NULL }],
        ..Keep::default()
    });
    let posted =
        // SAFETY: as in `isend`. MPI writes the new communicator at any time until the request is complete; its place
        // is on the heap, and kept with the slot until then.
        unsafe { set_of(set) }.post(Kind::Duplicate, user, Some(keep), |keep, request| unsafe {
            let Some(keep) = keep else { return Ok(()) };
            let made = keep.comm.as_mut_ptr();
            let _quiet = Quiet::with(comm);
            match newer().idup_with_info {
                Some(call) => check(call(comm, RSMPI_INFO_NULL, made, request)),
                None => check(MPI_Comm_idup(comm, made, request)),
            }
        });
    // SAFETY: writable, as the table says.
    unsafe { answer(posted, slot) }
}

pub unsafe extern "C" fn cancel(set: *mut norn_mpi_requests, slot: i32) -> i32 {
    // SAFETY: as in `isend`.
    let set = unsafe { set_of(set) };
    let Some(at) = usize::try_from(slot).ok().filter(|at| *at < set.slot.len()) else {
        return NORN_MPI_INVALID;
    };
    match set.slot[at].kind {
        Kind::CancelledReceive => return NORN_MPI_OK,
        Kind::Receive => (),
        _ => return NORN_MPI_INVALID,
    }
    if set.request[at] != no_request()
        // SAFETY: an active receive, and MPI is active.
        && let Err(code) = check(unsafe { MPI_Cancel(&mut set.request[at]) })
    {
        return code.0;
    }
    set.slot[at].kind = Kind::CancelledReceive;
    NORN_MPI_OK
}

pub unsafe extern "C" fn test(
    set: *mut norn_mpi_requests,
    slots: *const i32,
    slot_count: i32,
    done: *mut norn_mpi_done,
    done_count: *mut i32,
) -> i32 {
    let slots = match usize::try_from(slot_count) {
        // SAFETY: the caller gives `slot_count` slots, which nobody writes during the call.
        Ok(count) if count > 0 => unsafe { core::slice::from_raw_parts(slots, count) },
        _ => &[],
    };
    let mut written = 0;
    // SAFETY: as in `isend`.
    let result = unsafe { set_of(set) }.test(slots, |one| {
        // SAFETY: room for as many as there are slots, and each slot ends once.
        unsafe { done.add(written).write(one) };
        written += 1;
    });
    match result {
        // What is told already must not be lost; the call will fail again.
        Err(code) if written == 0 => return code.0,
        // SAFETY: writable, as the table says.
        _ => unsafe { done_count.write(written as i32) },
    }
    NORN_MPI_OK
}

pub unsafe extern "C" fn iprobe(
    source: i32,
    tag: i32,
    comm: i32,
    found: *mut i32,
    message: *mut norn_mpi_done,
) -> i32 {
    let Some(comm) = comm_of(comm) else {
        return NORN_MPI_INVALID;
    };
    let (source, tag) = any(source, tag);
    let mut flag = 0;
    // SAFETY: as in `Requests::test`.
    let mut status: MPI_Status = unsafe { core::mem::zeroed() };
    // SAFETY: MPI is active, `comm` is a communicator, and the outputs are writable.
    if let Err(code) = check(unsafe { MPI_Iprobe(source, tag, comm, &mut flag, &mut status) }) {
        return code.0;
    }
    if flag != 0 {
        let mut done = norn_mpi_done {
            slot: -1,
            bytes: NORN_MPI_UNDEFINED,
            ..Default::default()
        };
        read_message(&status, &mut done);
        // SAFETY: writable, as the table says.
        unsafe { message.write(done) };
    }
    // SAFETY: as above.
    unsafe { found.write(i32::from(flag != 0)) };
    NORN_MPI_OK
}
