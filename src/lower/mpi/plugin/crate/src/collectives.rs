//! Nonblocking collectives, and counts that an int cannot hold in them.

use core::ffi::{c_int, c_void};

use mpi_sys::*;

use crate::codes::{Code, check};
use crate::quiet::Quiet;
use crate::requests::{Keep, Kind, answer, set_of};
use crate::table::*;
use crate::this_mpi::*;
use crate::types::large_type;

/// Which arguments a collective reads on this rank; on one that is not the root, MPI ignores some.
#[derive(Clone, Copy, Default)]
struct Reads {
    send: bool,
    recv: bool,
    send_v: bool,
    recv_v: bool,
    op: bool,
}

fn reads(what: &norn_mpi_collective, rank: c_int) -> Reads {
    let root = rank == what.root;
    let (send, recv, send_v, recv_v, op) = match what.kind {
        NORN_MPI_BCAST => (false, true, false, false, false),
        NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE => (false, true, false, false, true),
        NORN_MPI_GATHER => (true, root, false, false, false),
        NORN_MPI_GATHERV => (true, root, false, root, false),
        NORN_MPI_SCATTER => (root, true, false, false, false),
        NORN_MPI_SCATTERV => (root, true, root, false, false),
        NORN_MPI_ALLGATHER | NORN_MPI_ALLTOALL => (true, true, false, false, false),
        NORN_MPI_ALLGATHERV => (true, true, false, true, false),
        NORN_MPI_ALLTOALLV => (true, true, true, true, false),
        _ => Default::default(),
    };
    Reads {
        send,
        recv,
        send_v,
        recv_v,
        op,
    }
}

/// A collective on its way to MPI: handles found.
struct Call {
    kind: i32,
    root: c_int,
    comm: MPI_Comm,
    op: MPI_Op,
    send: *const c_void,
    recv: *mut c_void,
    sends: i64,
    recvs: i64,
    st: MPI_Datatype,
    rt: MPI_Datatype,
}

/// The arrays of the v forms, in the form that the call takes; null where there is none.
struct Arrays<C, D> {
    sc: *const C,
    sd: *const D,
    rc: *const C,
    rd: *const D,
}

impl Call {
    unsafe fn small(&self, a: &Arrays<c_int, c_int>, request: *mut MPI_Request) -> c_int {
        let Self {
            root,
            comm,
            op,
            send,
            recv,
            st,
            rt,
            ..
        } = *self;
        let (sends, recvs) = (self.sends as c_int, self.recvs as c_int);
        // SAFETY: passed on from the caller. Each call is given the arguments that its kind has; a null array only
        // where its kind or this rank reads none.
        unsafe {
            match self.kind {
                NORN_MPI_BARRIER => MPI_Ibarrier(comm, request),
                NORN_MPI_BCAST => MPI_Ibcast(recv, recvs, rt, root, comm, request),
                NORN_MPI_REDUCE => MPI_Ireduce(send, recv, recvs, rt, op, root, comm, request),
                NORN_MPI_ALLREDUCE => MPI_Iallreduce(send, recv, recvs, rt, op, comm, request),
                NORN_MPI_GATHER => {
                    MPI_Igather(send, sends, st, recv, recvs, rt, root, comm, request)
                }
                NORN_MPI_GATHERV => {
                    MPI_Igatherv(send, sends, st, recv, a.rc, a.rd, rt, root, comm, request)
                }
                NORN_MPI_SCATTER => {
                    MPI_Iscatter(send, sends, st, recv, recvs, rt, root, comm, request)
                }
                NORN_MPI_SCATTERV => {
                    MPI_Iscatterv(send, a.sc, a.sd, st, recv, recvs, rt, root, comm, request)
                }
                NORN_MPI_ALLGATHER => {
                    MPI_Iallgather(send, sends, st, recv, recvs, rt, comm, request)
                }
                NORN_MPI_ALLGATHERV => {
                    MPI_Iallgatherv(send, sends, st, recv, a.rc, a.rd, rt, comm, request)
                }
                NORN_MPI_ALLTOALL => MPI_Ialltoall(send, sends, st, recv, recvs, rt, comm, request),
                NORN_MPI_ALLTOALLV => {
                    MPI_Ialltoallv(send, a.sc, a.sd, st, recv, a.rc, a.rd, rt, comm, request)
                }
                _ => NORN_MPI_INVALID,
            }
        }
    }

    /// None: this MPI lacks the call.
    unsafe fn large(&self, a: &Arrays<Big, MPI_Aint>, request: *mut MPI_Request) -> Option<c_int> {
        let Self {
            root,
            comm,
            op,
            send,
            recv,
            sends,
            recvs,
            st,
            rt,
            ..
        } = *self;
        let new = newer();
        // SAFETY: as in `small`.
        Some(unsafe {
            match self.kind {
                NORN_MPI_BCAST => new.ibcast?(recv, recvs, rt, root, comm, request),
                NORN_MPI_REDUCE => new.ireduce?(send, recv, recvs, rt, op, root, comm, request),
                NORN_MPI_ALLREDUCE => new.iallreduce?(send, recv, recvs, rt, op, comm, request),
                NORN_MPI_GATHER => {
                    new.igather?(send, sends, st, recv, recvs, rt, root, comm, request)
                }
                NORN_MPI_GATHERV => {
                    new.igatherv?(send, sends, st, recv, a.rc, a.rd, rt, root, comm, request)
                }
                NORN_MPI_SCATTER => {
                    new.iscatter?(send, sends, st, recv, recvs, rt, root, comm, request)
                }
                NORN_MPI_SCATTERV => {
                    new.iscatterv?(send, a.sc, a.sd, st, recv, recvs, rt, root, comm, request)
                }
                NORN_MPI_ALLGATHER => {
                    new.iallgather?(send, sends, st, recv, recvs, rt, comm, request)
                }
                NORN_MPI_ALLGATHERV => {
                    new.iallgatherv?(send, sends, st, recv, a.rc, a.rd, rt, comm, request)
                }
                NORN_MPI_ALLTOALL => {
                    new.ialltoall?(send, sends, st, recv, recvs, rt, comm, request)
                }
                NORN_MPI_ALLTOALLV => {
                    new.ialltoallv?(send, a.sc, a.sd, st, recv, a.rc, a.rd, rt, comm, request)
                }
                _ => NORN_MPI_INVALID,
            }
        })
    }
}

fn too_many(count: i64) -> bool {
    c_int::try_from(count).is_err()
}

/// The four arrays of a collective, as far as it reads them: send counts and places, receive counts and places.
unsafe fn arrays(what: &norn_mpi_collective, reads: Reads, ranks: usize) -> [&[i64]; 4] {
    let array = |read: bool, pointer: *const i64| -> &[i64] {
        if read {
            // SAFETY: an array that this kind reads on this rank has an element for each rank and stays during the
            // call, as the table says.
            unsafe { core::slice::from_raw_parts(pointer, ranks) }
        } else {
            &[]
        }
    };
    [
        array(reads.send_v, what.send_counts),
        array(reads.send_v, what.send_displs),
        array(reads.recv_v, what.recv_counts),
        array(reads.recv_v, what.recv_displs),
    ]
}

unsafe fn post(
    mut call: Call,
    reads: Reads,
    arrays: [&[i64]; 4],
    keep: &mut Keep,
    request: *mut MPI_Request,
) -> Result<(), Code> {
    let v_fits = !arrays
        .iter()
        .any(|array| array.iter().any(|number| too_many(*number)));
    let mut large = !v_fits || too_many(call.sends) || too_many(call.recvs);
    if large && !has_large_counts() {
        // The other ranks cannot know that this one would need a derived type here, nor can an operation use one.
        if !v_fits || reads.op {
            return Err(Code(NORN_MPI_TOO_LARGE));
        }
        for (count, datatype) in [
            (&mut call.sends, &mut call.st),
            (&mut call.recvs, &mut call.rt),
        ] {
            if too_many(*count) {
                let made = large_type(*datatype, *count)?;
                (*count, *datatype) = (1, made.0);
                keep.types.push(made);
            }
        }
        large = false;
    }
    // MPI may read the arrays until the end.
    if large {
        keep.bigs = arrays.iter().map(|array| array.to_vec()).collect();
        let [sc, sd, rc, rd] = [0, 1, 2, 3].map(|at| keep.bigs[at].as_ptr());
        let arrays = Arrays {
            sc,
            sd: sd.cast(),
            rc,
            rd: rd.cast(),
        };
        // SAFETY: passed on from the caller; the arrays are kept until the request is complete.
        return check(unsafe { call.large(&arrays, request) }.unwrap_or(NORN_MPI_TOO_LARGE));
    }
    keep.ints = arrays
        .iter()
        .map(|array| array.iter().map(|number| *number as c_int).collect())
        .collect();
    let [sc, sd, rc, rd] = [0, 1, 2, 3].map(|at| keep.ints[at].as_ptr());
    // SAFETY: as above.
    check(unsafe { call.small(&Arrays { sc, sd, rc, rd }, request) })
}

/// The collective in MPI's terms.
fn call_of(what: &norn_mpi_collective) -> Result<(Call, Reads, usize), Code> {
    const INVALID: Code = Code(NORN_MPI_INVALID);
    let comm = comm_of(what.comm).ok_or(INVALID)?;
    if !(NORN_MPI_BARRIER..=NORN_MPI_ALLTOALLV).contains(&what.kind) {
        return Err(INVALID);
    }
    let (mut rank, mut ranks) = (0, 0);
    // SAFETY: MPI is active, `comm` is a communicator, and the outputs are writable.
    unsafe {
        check(MPI_Comm_rank(comm, &mut rank))?;
        check(MPI_Comm_size(comm, &mut ranks))?;
    }
    let mut reads = reads(what, rank);
    let (mut send, mut recv) = (what.send, what.recv);
    if send as isize == NORN_MPI_IN_PLACE {
        send = norn_mpi_in_place();
        (reads.send, reads.send_v) = (false, false);
    }
    if recv as isize == NORN_MPI_IN_PLACE {
        recv = norn_mpi_in_place();
        (reads.recv, reads.recv_v) = (false, false);
    }
    let datatype = |read: bool, integer| {
        if read {
            type_of(integer)
        } else {
            Some(norn_mpi_byte())
        }
    };
    let count = |read: bool, count| if read { count } else { 0 };
    let call = Call {
        kind: what.kind,
        root: what.root,
        comm,
        op: if reads.op {
            op_of(what.op).ok_or(INVALID)?
        } else {
            norn_mpi_op_null()
        },
        send,
        recv,
        sends: count(reads.send && !reads.send_v, what.send_count),
        recvs: count(reads.recv && !reads.recv_v, what.recv_count),
        st: datatype(reads.send, what.send_type).ok_or(INVALID)?,
        rt: datatype(reads.recv, what.recv_type).ok_or(INVALID)?,
    };
    if call.sends < 0 || call.recvs < 0 {
        return Err(INVALID);
    }
    Ok((call, reads, ranks as usize))
}

pub unsafe extern "C" fn icollective(
    set: *mut norn_mpi_requests,
    what: *const norn_mpi_collective,
    user: u64,
    slot: *mut i32,
) -> i32 {
    // SAFETY: readable during the call, as the table says.
    let what = unsafe { &*what };
    let (call, reads, ranks) = match call_of(what) {
        Ok(found) => found,
        Err(code) => return code.0,
    };
    let keep = Box::<Keep>::default();
    // SAFETY: a set of the table's, used by one thread at a time, for this call only.
    let posted = unsafe { set_of(set) }.post(
        Kind::Collective,
        user,
        Some(keep),
        |keep, request| match keep {
            // Open MPI sends some errors of arguments to MPI_COMM_WORLD's handler, whatever the communicator.
            // SAFETY: the buffers and arrays are as the table says of this kind; `keep` goes with the slot and lives
            // until the request is complete; `request` is a slot's place.
            Some(keep) => unsafe {
                let _quiet = Quiet::new();
                post(call, reads, arrays(what, reads, ranks), keep, request)
            },
            None => Err(Code(NORN_MPI_INVALID)),
        },
    );
    // SAFETY: writable, as the table says.
    unsafe { answer(posted, slot) }
}

pub unsafe extern "C" fn count_limit(limit: *mut i64) -> i32 {
    // SAFETY: writable, as the table says.
    unsafe {
        limit.write(if has_large_counts() {
            i64::MAX
        } else {
            i64::from(i32::MAX)
        })
    };
    NORN_MPI_OK
}
