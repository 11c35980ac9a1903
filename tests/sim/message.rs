//! Messages: from a send through their arrival to a receive.

use super::state::{Event, Member, Request, Slot, State};
use super::table::*;
use super::types;

/// Code of what a dead rank is part of.
pub const DEAD: i32 = 75;
/// Code of a truncated message.
const TRUNCATE: i32 = 15;

/// A message.
pub struct Envelope {
    pub source: i32,
    pub tag: i32,
    pub data: Vec<u8>,
    /// A send that ends when the message is received.
    pub sender: Option<Request>,
}

/// A posted receive.
pub struct Wanted {
    pub request: Request,
    pub source: i32,
    pub tag: i32,
    pub address: *mut u8,
    pub count: i64,
    pub datatype: i32,
    /// Order of posting.
    pub number: u64,
}

fn failed(error: i32) -> norn_mpi_done {
    norn_mpi_done {
        outcome: NORN_MPI_FAILED,
        error,
        bytes: NORN_MPI_UNDEFINED,
        ..norn_mpi_done::default()
    }
}

impl State {
    pub fn send(
        &mut self,
        member: Member,
        destination: i32,
        tag: i32,
        data: Vec<u8>,
        request: Request,
    ) {
        let job = self.comms[member.comm].job;
        self.jobs[job].counters.sends += 1;
        if self.jobs[job].dead[destination as usize] {
            self.end_soon(job, request, failed(DEAD));
            return;
        }
        let eager = data.len() <= self.jobs[job].config.eager;
        if eager {
            let done = norn_mpi_done {
                bytes: NORN_MPI_UNDEFINED,
                ..norn_mpi_done::default()
            };
            self.end_soon(job, request, done);
        }
        let way = (member.rank, destination as usize, tag);
        let soon = self.soon(job);
        let last = self.comms[member.comm].last_arrival.entry(way).or_default();
        let tick = soon.max(*last);
        *last = tick;
        self.schedule(
            tick,
            Event::Arrival {
                comm: member.comm,
                destination: destination as usize,
                envelope: Envelope {
                    source: member.rank as i32,
                    tag,
                    data,
                    sender: (!eager).then_some(request),
                },
            },
        );
    }

    pub fn arrive(&mut self, comm: usize, destination: usize, envelope: Envelope) {
        let job = self.comms[comm].job;
        if self.jobs[job].dead[destination] {
            if let Some(sender) = envelope.sender {
                self.end_soon(job, sender, failed(DEAD));
            }
            return;
        }
        let way = (destination, envelope.source, envelope.tag);
        let found = &mut self.comms[comm];
        let named = found
            .wanted
            .get(&way)
            .and_then(|list| list.front())
            .map(|wanted| wanted.number);
        let any = found.wanted_any.get(&destination).and_then(|list| {
            let at = list.iter().position(|wanted| {
                (wanted.source == NORN_MPI_ANY || wanted.source == envelope.source)
                    && (wanted.tag == NORN_MPI_ANY || wanted.tag == envelope.tag)
            })?;
            Some((at, list[at].number))
        });
        // Of the receives that fit, the one posted first.
        let wanted = match any {
            Some((at, number)) if named.is_none_or(|named| number < named) => found
                .wanted_any
                .get_mut(&destination)
                .and_then(|list| list.remove(at)),
            _ => {
                let first = found.wanted.get_mut(&way).and_then(|list| list.pop_front());
                if found.wanted.get(&way).is_some_and(|list| list.is_empty()) {
                    found.wanted.remove(&way);
                }
                first
            }
        };
        match wanted {
            Some(wanted) => self.deliver(comm, wanted, envelope),
            None => self.comms[comm]
                .arrived
                .entry(way)
                .or_default()
                .push_back(envelope),
        }
    }

    fn deliver(&mut self, comm: usize, wanted: Wanted, envelope: Envelope) {
        let job = self.comms[comm].job;
        let room = types::info(&self.types, wanted.datatype)
            .map_or(0, |info| (info.size * wanted.count) as usize);
        let fits = envelope.data.len() <= room;
        // SAFETY: the buffer belongs to a pending request, and so is writable.
        unsafe {
            types::unpack(
                &self.types,
                &envelope.data,
                wanted.address,
                wanted.datatype,
                wanted.count,
            );
        }
        let done = norn_mpi_done {
            bytes: envelope.data.len().min(room) as i64,
            outcome: if fits {
                NORN_MPI_DONE
            } else {
                NORN_MPI_TRUNCATED
            },
            error: if fits { 0 } else { TRUNCATE },
            source: envelope.source,
            tag: envelope.tag,
            ..norn_mpi_done::default()
        };
        self.end_soon(job, wanted.request, done);
        if let Some(sender) = envelope.sender {
            let done = norn_mpi_done {
                bytes: NORN_MPI_UNDEFINED,
                ..norn_mpi_done::default()
            };
            self.end_soon(job, sender, done);
        }
    }

    pub fn receive(&mut self, member: Member, wanted: Wanted) {
        let job = self.comms[member.comm].job;
        self.jobs[job].counters.receives += 1;
        let rank = member.rank;
        if wanted.source >= 0 && self.jobs[job].dead[wanted.source as usize] {
            self.end_soon(job, wanted.request, failed(DEAD));
            return;
        }
        if let Some(envelope) = self.take_arrived(member.comm, rank, wanted.source, wanted.tag) {
            self.deliver(member.comm, wanted, envelope);
            return;
        }
        let comm = &mut self.comms[member.comm];
        if wanted.source >= 0 && wanted.tag >= 0 {
            let way = (rank, wanted.source, wanted.tag);
            comm.wanted.entry(way).or_default().push_back(wanted);
        } else {
            comm.wanted_any.entry(rank).or_default().push_back(wanted);
        }
    }

    fn find_arrived(
        &self,
        comm: usize,
        rank: usize,
        source: i32,
        tag: i32,
    ) -> Option<(usize, i32, i32)> {
        let arrived = &self.comms[comm].arrived;
        if source >= 0 && tag >= 0 {
            let way = (rank, source, tag);
            return arrived.contains_key(&way).then_some(way);
        }
        // The lowest, so that a run does not depend on the order of a hash table.
        arrived
            .keys()
            .copied()
            .filter(|(to, from, with)| {
                *to == rank && (source < 0 || source == *from) && (tag < 0 || tag == *with)
            })
            .min()
    }

    fn take_arrived(
        &mut self,
        comm: usize,
        rank: usize,
        source: i32,
        tag: i32,
    ) -> Option<Envelope> {
        let way = self.find_arrived(comm, rank, source, tag)?;
        let arrived = &mut self.comms[comm].arrived;
        let list = arrived.get_mut(&way)?;
        let envelope = list.pop_front();
        if list.is_empty() {
            arrived.remove(&way);
        }
        envelope
    }

    pub fn probe(&self, member: Member, source: i32, tag: i32) -> Option<norn_mpi_done> {
        let way = self.find_arrived(member.comm, member.rank, source, tag)?;
        let envelope = self.comms[member.comm].arrived.get(&way)?.front()?;
        Some(norn_mpi_done {
            bytes: envelope.data.len() as i64,
            slot: -1,
            source: envelope.source,
            tag: envelope.tag,
            ..norn_mpi_done::default()
        })
    }

    /// Cancels a receive; false for what is none.
    pub fn cancel(&mut self, request: Request) -> bool {
        let Some(Some(set)) = self.sets.get(request.set) else {
            return false;
        };
        let comm = match set.slots.get(request.slot as usize) {
            Some(Slot::Pending { comm, .. }) => *comm,
            Some(Slot::Done(_)) => return true,
            _ => return false,
        };
        let found = &mut self.comms[comm];
        let mut job = None;
        for list in found
            .wanted
            .values_mut()
            .chain(found.wanted_any.values_mut())
        {
            if let Some(at) = list.iter().position(|wanted| wanted.request == request) {
                list.remove(at);
                job = Some(found.job);
                break;
            }
        }
        found.wanted.retain(|_, list| !list.is_empty());
        if let Some(job) = job {
            let done = norn_mpi_done {
                outcome: NORN_MPI_CANCELLED,
                bytes: NORN_MPI_UNDEFINED,
                ..norn_mpi_done::default()
            };
            self.end_soon(job, request, done);
        }
        true
    }

    pub fn kill(&mut self, job: usize, rank: usize) {
        self.jobs[job].dead[rank] = true;
        let mut ended = Vec::new();
        for comm in self.comms.iter_mut().filter(|comm| comm.job == job) {
            for ((_, source, _), list) in &mut comm.wanted {
                if *source == rank as i32 {
                    ended.extend(list.drain(..).map(|wanted| wanted.request));
                }
            }
            comm.wanted
                .retain(|(to, ..), list| *to != rank && !list.is_empty());
            comm.wanted_any.remove(&rank);
            for ((to, ..), list) in &mut comm.arrived {
                if *to == rank {
                    ended.extend(list.drain(..).filter_map(|envelope| envelope.sender));
                }
            }
            comm.arrived.retain(|(to, ..), _| *to != rank);
            for meeting in comm.meetings.values_mut() {
                ended.append(&mut meeting.abandon());
            }
        }
        for request in ended {
            self.end_soon(job, request, failed(DEAD));
        }
    }
}
