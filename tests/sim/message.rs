//! Messages: from a send through their arrival to a receive.

use std::collections::{HashMap, VecDeque};

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
        let way = (envelope.source, envelope.tag);
        let mailbox = &mut self.comms[comm].mailboxes[destination];
        let named = mailbox
            .wanted
            .get(&way)
            .and_then(|list| list.front())
            .map(|wanted| wanted.number);
        let at = mailbox.wanted_any.iter().position(|wanted| {
            (wanted.source == NORN_MPI_ANY || wanted.source == envelope.source)
                && (wanted.tag == NORN_MPI_ANY || wanted.tag == envelope.tag)
        });
        let any = at.map(|at| (at, mailbox.wanted_any[at].number));
        // Of the receives that fit, the one posted first.
        let wanted = match any {
            Some((at, number)) if named.is_none_or(|named| number < named) => {
                mailbox.wanted_any.remove(at)
            }
            _ => take_first(&mut mailbox.wanted, way),
        };
        match wanted {
            Some(wanted) => self.deliver(comm, wanted, envelope),
            None => mailbox.arrived.entry(way).or_default().push_back(envelope),
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
        let mailbox = &mut self.comms[member.comm].mailboxes[rank];
        if wanted.source >= 0 && wanted.tag >= 0 {
            let way = (wanted.source, wanted.tag);
            mailbox.wanted.entry(way).or_default().push_back(wanted);
        } else {
            mailbox.wanted_any.push_back(wanted);
        }
    }

    fn find_arrived(&self, comm: usize, rank: usize, source: i32, tag: i32) -> Option<(i32, i32)> {
        let arrived = &self.comms[comm].mailboxes[rank].arrived;
        let fits = |(from, with): &(i32, i32)| {
            (source < 0 || source == *from) && (tag < 0 || tag == *with)
        };
        match source >= 0 && tag >= 0 {
            true => arrived
                .contains_key(&(source, tag))
                .then_some((source, tag)),
            false => arrived.keys().copied().find(fits),
        }
    }

    fn take_arrived(
        &mut self,
        comm: usize,
        rank: usize,
        source: i32,
        tag: i32,
    ) -> Option<Envelope> {
        let way = self.find_arrived(comm, rank, source, tag)?;
        let arrived = &mut self.comms[comm].mailboxes[rank].arrived;
        let list = arrived.get_mut(&way)?;
        let envelope = list.pop_front();
        if list.is_empty() {
            arrived.remove(&way);
        }
        envelope
    }

    pub fn probe(&self, member: Member, source: i32, tag: i32) -> Option<norn_mpi_done> {
        let way = self.find_arrived(member.comm, member.rank, source, tag)?;
        let mailbox = &self.comms[member.comm].mailboxes[member.rank];
        let envelope = mailbox.arrived.get(&way)?.front()?;
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
        let member = match set.slots.get(request.slot as usize) {
            Some(Slot::Pending { member, .. }) => *member,
            Some(Slot::Done { .. }) => return true,
            _ => return false,
        };
        let mailbox = &mut self.comms[member.comm].mailboxes[member.rank];
        let lists = mailbox.wanted.values_mut();
        let mut found = false;
        for list in lists.chain([&mut mailbox.wanted_any]) {
            if let Some(at) = list.iter().position(|wanted| wanted.request == request) {
                list.remove(at);
                found = true;
                break;
            }
        }
        mailbox.wanted.retain(|_, list| !list.is_empty());
        if found {
            let job = self.comms[member.comm].job;
            let done = norn_mpi_done {
                outcome: NORN_MPI_CANCELLED,
                bytes: NORN_MPI_UNDEFINED,
                ..norn_mpi_done::default()
            };
            self.end_soon(job, request, done);
            self.release(job, member.rank);
        }
        true
    }

    /// What was withheld from a rank arrives, in its order.
    fn release(&mut self, job: usize, rank: usize) {
        let state = &mut self.jobs[job];
        state.withheld[rank] = None;
        let late = core::mem::take(&mut state.late);
        let (now, later) = late.into_iter().partition(|(_, to, _)| *to == rank);
        state.late = later;
        let now: Vec<_> = now;
        for (comm, destination, envelope) in now {
            self.arrive(comm, destination, envelope);
        }
    }

    pub fn kill(&mut self, job: usize, rank: usize) {
        self.jobs[job].dead[rank] = true;
        let mut ended = Vec::new();
        for comm in self.comms.iter_mut().filter(|comm| comm.job == job) {
            for mailbox in &mut comm.mailboxes {
                for ((source, _), list) in &mut mailbox.wanted {
                    if *source == rank as i32 {
                        ended.extend(list.drain(..).map(|wanted| wanted.request));
                    }
                }
                mailbox.wanted.retain(|_, list| !list.is_empty());
            }
            // A communicator that all have freed has none.
            if let Some(mailbox) = comm.mailboxes.get_mut(rank) {
                mailbox.wanted.clear();
                mailbox.wanted_any.clear();
                let arrived = core::mem::take(&mut mailbox.arrived).into_values();
                ended.extend(arrived.flatten().filter_map(|envelope| envelope.sender));
            }
            for meeting in comm.meetings.values_mut() {
                ended.append(&mut meeting.abandon());
            }
        }
        for request in ended {
            self.end_soon(job, request, failed(DEAD));
        }
    }
}

/// Takes the first of what waits for a way.
fn take_first(
    lists: &mut HashMap<(i32, i32), VecDeque<Wanted>>,
    way: (i32, i32),
) -> Option<Wanted> {
    let list = lists.get_mut(&way)?;
    let first = list.pop_front();
    if list.is_empty() {
        lists.remove(&way);
    }
    first
}
