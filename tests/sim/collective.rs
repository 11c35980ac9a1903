//! Collectives: the k-th call of each rank on a communicator belongs to the k-th of all others. The root of a broadcast does not
//! wait for them.

use super::state::{Member, Request, State, violation};
use super::table::*;
use super::types;

/// Kind of a duplication, beside those of the table.
pub const DUPLICATE: i32 = 100;

/// What one rank brings.
pub struct Part {
    pub request: Request,
    pub rank: usize,
    pub call: norn_mpi_collective,
    send_counts: Vec<i64>,
    send_displs: Vec<i64>,
    recv_counts: Vec<i64>,
    recv_displs: Vec<i64>,
    /// What the root of a broadcast gives: its request has ended already, and its memory is its own again.
    given: Option<Vec<u8>>,
}

/// A collective that not all ranks have called yet.
#[derive(Default)]
pub struct Meeting {
    parts: Vec<Part>,
    abandoned: bool,
}

impl Meeting {
    /// Whether a rank waits in it.
    pub fn holds(&self, rank: usize) -> bool {
        self.parts.iter().any(|part| part.rank == rank)
    }

    /// A rank has died: gives the requests that end because of it.
    pub fn abandon(&mut self) -> Vec<Request> {
        self.abandoned = true;
        let waits = self.parts.drain(..).filter(|part| part.given.is_none());
        waits.map(|part| part.request).collect()
    }
}

/// A collective has ended. `comm`: what it has made.
fn done(comm: i32) -> norn_mpi_done {
    norn_mpi_done {
        bytes: NORN_MPI_UNDEFINED,
        comm,
        ..norn_mpi_done::default()
    }
}

impl State {
    /// A rank calls its next collective.
    ///
    /// # Safety
    /// The arrays of `call` have an element for each rank where they are not NULL.
    pub unsafe fn meet(&mut self, member: Member, call: &norn_mpi_collective, request: Request) {
        let comm = &mut self.comms[member.comm];
        let (size, job) = (comm.size, comm.job);
        self.jobs[job].counters.collectives += 1;
        let number = comm.calls[member.rank];
        comm.calls[member.rank] += 1;
        let array = |pointer: *const i64| match pointer.is_null() {
            true => Vec::new(),
            // SAFETY: passed on from the caller.
            false => unsafe { std::slice::from_raw_parts(pointer, size) }.to_vec(),
        };
        let mut part = Part {
            request,
            rank: member.rank,
            call: *call,
            send_counts: array(call.send_counts),
            send_displs: array(call.send_displs),
            recv_counts: array(call.recv_counts),
            recv_displs: array(call.recv_displs),
            given: None,
        };
        let meeting = comm.meetings.entry(number).or_default();
        let dead = meeting.abandoned || self.jobs[job].dead.contains(&true);
        if dead {
            let done = norn_mpi_done {
                outcome: NORN_MPI_FAILED,
                error: super::message::DEAD,
                ..norn_mpi_done::default()
            };
            self.end_soon(job, request, done);
            return;
        }
        if let Some(first) = meeting.parts.first()
            && (first.call.kind != call.kind || first.call.root != call.root)
        {
            violation(&format!(
                "rank {} calls collective {} with root {}, rank {} calls {} with root {}",
                first.rank, first.call.kind, first.call.root, member.rank, call.kind, call.root
            ));
        }
        let is_giver = call.kind == NORN_MPI_BCAST && call.root == member.rank as i32;
        if is_giver {
            part.given = Some(self.read(call.recv as usize, call.recv_type, 0, call.recv_count));
            self.end_soon(job, request, done(0));
        }
        let comm = &mut self.comms[member.comm];
        let meeting = comm.meetings.entry(number).or_default();
        meeting.parts.push(part);
        if meeting.parts.len() < size {
            return;
        }
        let Some(mut meeting) = comm.meetings.remove(&number) else {
            return;
        };
        meeting.parts.sort_by_key(|part| part.rank);
        let mut new = None;
        if call.kind == DUPLICATE {
            let made = self.new_comm(job);
            new = Some(self.comms[made].handles.clone());
        } else {
            self.exchange(&meeting.parts);
        }
        for part in meeting
            .parts
            .into_iter()
            .filter(|part| part.given.is_none())
        {
            let comm = new.as_ref().map_or(0, |handles| handles[part.rank]);
            self.end_soon(job, part.request, done(comm));
        }
    }

    /// Elements of a rank's memory, as bytes.
    fn read(&self, address: usize, datatype: i32, first: i64, count: i64) -> Vec<u8> {
        let extent = types::info(&self.types, datatype).map_or(0, |info| info.extent);
        let at = (address as i64 + first * extent) as usize as *const u8;
        // SAFETY: the memory belongs to a pending collective.
        unsafe { types::pack(&self.types, at, datatype, count) }
    }

    fn write(&self, bytes: &[u8], address: usize, datatype: i32, first: i64, count: i64) {
        let extent = types::info(&self.types, datatype).map_or(0, |info| info.extent);
        let at = (address as i64 + first * extent) as usize as *mut u8;
        // SAFETY: the memory belongs to a pending collective.
        unsafe { types::unpack(&self.types, bytes, at, datatype, count) };
    }

    /// What `from` gives to `to`, and where `to` puts it.
    fn exchange(&self, parts: &[Part]) {
        let in_place = NORN_MPI_IN_PLACE as usize;
        let first = &parts[0].call;
        match first.kind {
            NORN_MPI_BARRIER => {}
            NORN_MPI_BCAST => {
                let root = &parts[first.root as usize];
                let data = root.given.clone().unwrap_or_default();
                for part in parts.iter().filter(|part| part.rank as i32 != first.root) {
                    let call = &part.call;
                    self.write(
                        &data,
                        call.recv as usize,
                        call.recv_type,
                        0,
                        call.recv_count,
                    );
                }
            }
            NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE => {
                let mut sum: Option<Vec<u8>> = None;
                for part in parts {
                    let call = &part.call;
                    let from = if call.send as usize == in_place {
                        call.recv as usize
                    } else {
                        call.send as usize
                    };
                    let data = self.read(from, call.recv_type, 0, call.recv_count);
                    match &mut sum {
                        None => sum = Some(data),
                        Some(sum) => {
                            if sum.len() != data.len()
                                || !types::reduce(sum, &data, call.recv_type, call.op)
                            {
                                violation(
                                    "a reduction of different lengths, or of a type without the operation",
                                );
                            }
                        }
                    }
                }
                let sum = sum.unwrap_or_default();
                let all = first.kind == NORN_MPI_ALLREDUCE;
                for part in parts
                    .iter()
                    .filter(|part| all || part.rank as i32 == first.root)
                {
                    let call = &part.call;
                    self.write(&sum, call.recv as usize, call.recv_type, 0, call.recv_count);
                }
            }
            kind => {
                // All is read before anything is written: in place, they are the same memory.
                let mut moves = Vec::new();
                for to in parts {
                    for from in parts {
                        if let Some(data) = self.given(kind, from, to) {
                            moves.push((to, from.rank, data));
                        }
                    }
                }
                for (to, from, data) in moves {
                    self.take(kind, to, from, &data);
                }
            }
        }
    }

    fn given(&self, kind: i32, from: &Part, to: &Part) -> Option<Vec<u8>> {
        let call = &from.call;
        let root = call.root as usize;
        let in_place = call.send as usize == NORN_MPI_IN_PLACE as usize;
        let rank = to.rank as i64;
        match kind {
            NORN_MPI_GATHER | NORN_MPI_GATHERV if to.rank != root => None,
            NORN_MPI_SCATTER | NORN_MPI_SCATTERV if from.rank != root => None,
            NORN_MPI_SCATTER | NORN_MPI_SCATTERV
                if to.call.recv as usize == NORN_MPI_IN_PLACE as usize =>
            {
                None
            }
            NORN_MPI_GATHER | NORN_MPI_GATHERV if in_place => None,
            NORN_MPI_ALLGATHER | NORN_MPI_ALLGATHERV if in_place && from.rank == to.rank => None,
            NORN_MPI_ALLGATHER if in_place => Some(self.read(
                call.recv as usize,
                call.recv_type,
                from.rank as i64 * call.recv_count,
                call.recv_count,
            )),
            NORN_MPI_ALLGATHERV if in_place => Some(self.read(
                call.recv as usize,
                call.recv_type,
                from.recv_displs[from.rank],
                from.recv_counts[from.rank],
            )),
            NORN_MPI_ALLTOALL if in_place => Some(self.read(
                call.recv as usize,
                call.recv_type,
                rank * call.recv_count,
                call.recv_count,
            )),
            NORN_MPI_ALLTOALLV if in_place => Some(self.read(
                call.recv as usize,
                call.recv_type,
                from.recv_displs[to.rank],
                from.recv_counts[to.rank],
            )),
            NORN_MPI_SCATTERV | NORN_MPI_ALLTOALLV => Some(self.read(
                call.send as usize,
                call.send_type,
                from.send_displs[to.rank],
                from.send_counts[to.rank],
            )),
            NORN_MPI_SCATTER | NORN_MPI_ALLTOALL => Some(self.read(
                call.send as usize,
                call.send_type,
                rank * call.send_count,
                call.send_count,
            )),
            _ => Some(self.read(call.send as usize, call.send_type, 0, call.send_count)),
        }
    }

    fn take(&self, kind: i32, to: &Part, from: usize, data: &[u8]) {
        let call = &to.call;
        let (first, count) = match kind {
            NORN_MPI_SCATTER | NORN_MPI_SCATTERV => (0, call.recv_count),
            NORN_MPI_GATHERV | NORN_MPI_ALLGATHERV | NORN_MPI_ALLTOALLV => {
                (to.recv_displs[from], to.recv_counts[from])
            }
            _ => (from as i64 * call.recv_count, call.recv_count),
        };
        self.write(data, call.recv as usize, call.recv_type, first, count);
    }
}
