//! The table's functions that make, test and end requests.
// SAFETY of the functions here: as in `calls`.
#![allow(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::ffi::c_void;

use super::collective::DUPLICATE;
use super::inside::Inside;
use super::message::{DEAD, Wanted};
use super::state::{Member, Request, Set, Slot, State, state};
use super::table::*;
use super::types;

/// Code of a call that fails by plan.
pub const PLANNED: i32 = 16;

pub fn index_of(set: *mut norn_mpi_requests) -> usize {
    (set as usize).wrapping_sub(1)
}

/// Prepares a request of a rank; the error otherwise.
fn begin(
    state: &mut State,
    set: *mut norn_mpi_requests,
    comm: i32,
    user: u64,
    call: &'static str,
) -> Result<(Member, Request), i32> {
    let member = state.member(comm).ok_or(NORN_MPI_INVALID)?;
    let job = state.comms[member.comm].job;
    if state.jobs[job].dead[member.rank] {
        return Err(DEAD);
    }
    if state.fails(job, member.rank, call) {
        return Err(PLANNED);
    }
    let request = state
        .new_request(index_of(set), user, member, call == "MPI_Isend")
        .ok_or(NORN_MPI_INVALID)?;
    Ok((member, request))
}

pub unsafe extern "C" fn comm_idup(
    set: *mut norn_mpi_requests,
    comm: i32,
    user: u64,
    slot: *mut i32,
) -> i32 {
    let _inside = Inside::of_comm(comm);
    let state = &mut *state();
    match begin(state, set, comm, user, "MPI_Comm_idup") {
        Err(code) => code,
        Ok((member, request)) => {
            let call = norn_mpi_collective {
                kind: DUPLICATE,
                ..std::mem::zeroed()
            };
            state.meet(member, &call, request);
            *slot = request.slot;
            NORN_MPI_OK
        }
    }
}

pub unsafe extern "C" fn requests_open(set: *mut *mut norn_mpi_requests) -> i32 {
    let state = &mut *state();
    let free = state.sets.iter().position(Option::is_none);
    let index = free.unwrap_or_else(|| {
        state.sets.push(None);
        state.sets.len() - 1
    });
    state.sets[index] = Some(Set::default());
    *set = (index + 1) as *mut norn_mpi_requests;
    NORN_MPI_OK
}

pub unsafe extern "C" fn requests_close(set: *mut norn_mpi_requests) -> i32 {
    let state = &mut *state();
    let Some(found) = state.sets.get_mut(index_of(set)) else {
        return NORN_MPI_INVALID;
    };
    let Some(known) = found else {
        return NORN_MPI_INVALID;
    };
    if known.slots.iter().any(|slot| !matches!(slot, Slot::Free)) {
        return NORN_MPI_BUSY;
    }
    *found = None;
    NORN_MPI_OK
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
    let _inside = Inside::of_comm(comm);
    let state = &mut *state();
    if types::info(&state.types, datatype).is_none() {
        return NORN_MPI_INVALID;
    }
    match begin(state, set, comm, user, "MPI_Isend") {
        Err(code) => code,
        Ok((member, request)) => {
            let data = types::pack(&state.types, buffer.cast(), datatype, count);
            state.send(member, dest, tag, data, request);
            *slot = request.slot;
            NORN_MPI_OK
        }
    }
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
    let _inside = Inside::of_comm(comm);
    let state = &mut *state();
    if types::info(&state.types, datatype).is_none() {
        return NORN_MPI_INVALID;
    }
    match begin(state, set, comm, user, "MPI_Irecv") {
        Err(code) => code,
        Ok((member, request)) => {
            state.now += 1;
            let wanted = Wanted {
                request,
                source,
                tag,
                address: buffer.cast(),
                count,
                datatype,
                number: state.now,
            };
            state.receive(member, wanted);
            *slot = request.slot;
            NORN_MPI_OK
        }
    }
}

pub unsafe extern "C" fn icollective(
    set: *mut norn_mpi_requests,
    what: *const norn_mpi_collective,
    user: u64,
    slot: *mut i32,
) -> i32 {
    let comm = (*what).comm;
    let _inside = Inside::of_comm(comm);
    let state = &mut *state();
    match begin(state, set, comm, user, "MPI_Icollective") {
        Err(code) => code,
        Ok((member, request)) => {
            state.meet(member, &*what, request);
            *slot = request.slot;
            NORN_MPI_OK
        }
    }
}

pub unsafe extern "C" fn count_limit(limit: *mut i64) -> i32 {
    *limit = i64::MAX;
    NORN_MPI_OK
}

pub unsafe extern "C" fn test(
    set: *mut norn_mpi_requests,
    slots: *const i32,
    slot_count: i32,
    done: *mut norn_mpi_done,
    done_count: *mut i32,
) -> i32 {
    let _inside = Inside::of_set(set);
    let state = &mut *state();
    state.tick();
    let Some(Some(found)) = state.sets.get_mut(index_of(set)) else {
        return NORN_MPI_INVALID;
    };
    let held = found.owner.is_some_and(|owner| {
        let job = &state.jobs[found.job];
        job.held[owner - job.first_owner]
    });
    let mut count = 0;
    for at in 0..slot_count as usize {
        let slot = *slots.add(at);
        let Some(entry) = found.slots.get_mut(slot as usize) else {
            continue;
        };
        if let Slot::Done {
            done: ended,
            is_send,
        } = entry
            && (*is_send || !held)
        {
            done.add(count).write(*ended);
            count += 1;
            *entry = Slot::Free;
            found.free.push(slot);
        }
    }
    *done_count = count as i32;
    if found.owner.is_some() {
        let job = found.job;
        let job = &mut state.jobs[job];
        job.in_flight -= count as u64;
        let counters = &mut job.counters;
        counters.tests += 1;
        counters.tested += slot_count as u64;
        counters.most_tested = counters.most_tested.max(slot_count as u64);
    }
    NORN_MPI_OK
}

pub unsafe extern "C" fn cancel(set: *mut norn_mpi_requests, slot: i32) -> i32 {
    let _inside = Inside::of_set(set);
    let request = Request {
        set: index_of(set),
        slot,
    };
    match state().cancel(request) {
        true => NORN_MPI_OK,
        false => NORN_MPI_INVALID,
    }
}
