//! Collectives: run in declaration order on their lane, and entered by all ranks or by none.
//!
//! Before each collective its lane agrees, by an allreduce of one word, on whether it is entered: the word is 0 where
//! this rank is ready, and its rank plus one where it is not (a predecessor failed, it was cancelled). The largest
//! word wins, and its owner tells all others why. One agreement at a time on a lane, and the next one begins only
//! when the collective has been posted, so that the order of MPI calls on the lane's communicator is the same everywhere.
//! `NORN_UNGUARDED` leaves the agreement out; such a collective that cannot be entered fails the world.
//!
//! A rank that has left (Bye), or whose world has failed, still takes part in agreements that others have begun
//! (`Join`), always with "not entered", so that these end.

use std::collections::HashMap;
use std::sync::Arc;

use core::ffi::c_void;

use super::calls::Failed;
use super::control::{Control, Record};
use super::engine::{Engine, Finished, Flight, How};
use super::exchange::{Exchange, What, stage};
use super::table::*;
use super::world::World;
use crate::abi::datatype::{NORN_I64, NORN_MAX, NORN_OF_MPI, norn_op, norn_type};
use crate::abi::status::{NORN_E_CLOSED, NORN_E_MPI};
use crate::lower::slice::Layout;
use crate::run::runtime::Runtime;

/// Memory of a collective on this rank.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) layout: Layout,
    pub(crate) datatype: norn_type,
}

/// One collective, as declared.
pub(crate) struct Collective {
    pub(crate) lane: u32,
    /// One of `NORN_MPI_BARRIER`...
    pub(crate) kind: i32,
    pub(crate) root: i32,
    pub(crate) op: norn_op,
    pub(crate) send: Option<Part>,
    pub(crate) recv: Option<Part>,
    /// `send` stands for MPI_IN_PLACE (`recv`, of a scatter).
    pub(crate) in_place: bool,
    pub(crate) send_count: i64,
    pub(crate) recv_count: i64,
    pub(crate) send_counts: Vec<i64>,
    pub(crate) send_displs: Vec<i64>,
    pub(crate) recv_counts: Vec<i64>,
    pub(crate) recv_displs: Vec<i64>,
    pub(crate) guarded: bool,
}

/// A communicator that collectives run on, one after another.
pub(crate) struct Lane {
    pub(crate) comm: i32,
    /// Agreements begun.
    number: u64,
    /// The collective being agreed on. None with `agreeing`: one that only other ranks have declared.
    current: Option<Arc<Exchange>>,
    agreeing: bool,
    /// Take part in agreements up to this number.
    joined: u64,
    /// What this rank says, and what all say.
    words: Box<[i64; 2]>,
    /// Why collectives were not entered, told before the agreement ended here.
    told: HashMap<u64, Record>,
    /// Collectives that were not entered and whose reason has not come.
    unexplained: HashMap<u64, Arc<Exchange>>,
}

impl Lane {
    /// The collectives being agreed on or not explained yet, when MPI is gone.
    pub(crate) fn forget(&mut self) -> Vec<Arc<Exchange>> {
        self.agreeing = false;
        self.joined = 0;
        let unexplained = self.unexplained.drain().map(|(_, exchange)| exchange);
        self.current.take().into_iter().chain(unexplained).collect()
    }

    pub(crate) fn new(comm: i32) -> Self {
        Self {
            comm,
            number: 0,
            current: None,
            agreeing: false,
            joined: 0,
            words: Box::new([0; 2]),
            told: HashMap::new(),
            unexplained: HashMap::new(),
        }
    }
}

/// Name of a kind as MPI has it.
fn call_of(kind: i32) -> &'static str {
    match kind {
        NORN_MPI_BARRIER => "MPI_Ibarrier",
        NORN_MPI_BCAST => "MPI_Ibcast",
        NORN_MPI_REDUCE => "MPI_Ireduce",
        NORN_MPI_ALLREDUCE => "MPI_Iallreduce",
        NORN_MPI_GATHER => "MPI_Igather",
        NORN_MPI_GATHERV => "MPI_Igatherv",
        NORN_MPI_SCATTER => "MPI_Iscatter",
        NORN_MPI_SCATTERV => "MPI_Iscatterv",
        NORN_MPI_ALLGATHER => "MPI_Iallgather",
        NORN_MPI_ALLGATHERV => "MPI_Iallgatherv",
        NORN_MPI_ALLTOALL => "MPI_Ialltoall",
        _ => "MPI_Ialltoallv",
    }
}

impl Collective {
    pub(crate) fn describe(&self, own_rank: i32) -> String {
        let name = call_of(self.kind).trim_start_matches("MPI_I");
        format!("{name} on lane {} of rank {own_rank}", self.lane)
    }
}

impl Engine {
    /// The first collective of its lane is ready, or is owed.
    pub(crate) fn begin_collective(
        &mut self,
        world: &World,
        runtime: &Runtime,
        exchange: &Arc<Exchange>,
        finished: &mut Finished,
    ) {
        let What::Collective(what) = &exchange.what else {
            return;
        };
        if let Some(record) = self.failed.clone() {
            return self.end_collective(world, exchange, How::Remote(record), finished);
        }
        let cause = exchange.cause();
        let enters = cause == 0 && exchange.node() != 0;
        if !what.guarded {
            if enters {
                return self.enter_collective(world, exchange, finished);
            }
            let record = world.record_of(runtime, cause);
            world.fail_from_inside(record);
            return self.end_collective(world, exchange, How::Propagated(cause), finished);
        }
        let lane = what.lane;
        self.lanes[lane as usize].current = Some(exchange.clone());
        exchange.set_stage(stage::POSTED);
        if let Err(failed) = self.agree(world, lane, enters) {
            self.lanes[lane as usize].current = None;
            let how = self.failure(failed);
            world.fail_from_inside(world.record_of_call(&self.calls(), failed));
            self.end_collective(world, exchange, how, finished);
        }
    }

    fn failure(&self, failed: Failed) -> How {
        How::Failed {
            status: NORN_E_MPI,
            code: failed.code,
            operation: failed.call,
            text: self.calls().describe(failed),
        }
    }

    /// Begins the agreement on the next collective of a lane.
    fn agree(&mut self, world: &World, lane: u32, enters: bool) -> Result<(), Failed> {
        let word = if enters { 0 } else { i64::from(world.rank) + 1 };
        let calls = self.calls();
        let (datatype, op) = (calls.type_builtin(NORN_I64)?, calls.op_builtin(NORN_MAX)?);
        let room = &mut self.lanes[lane as usize];
        room.words[0] = word;
        room.words[1] = 0;
        let what = norn_mpi_collective {
            kind: NORN_MPI_ALLREDUCE,
            comm: room.comm,
            root: 0,
            op,
            send: core::ptr::from_ref(&room.words[0]).cast(),
            recv: core::ptr::from_mut(&mut room.words[1]).cast(),
            send_count: 1,
            recv_count: 1,
            send_counts: core::ptr::null(),
            send_displs: core::ptr::null(),
            recv_counts: core::ptr::null(),
            recv_displs: core::ptr::null(),
            send_type: datatype,
            recv_type: datatype,
        };
        // SAFETY: the words are boxed, and used for one agreement at a time.
        let slot = unsafe { self.requests.collective("MPI_Iallreduce", &what) }?;
        self.lanes[lane as usize].agreeing = true;
        self.lanes[lane as usize].number += 1;
        let number = self.lanes[lane as usize].number;
        self.enter(slot, Flight::Guard(lane));
        for peer in 0..self.peers.len() as i32 {
            if self.peers[peer as usize].leaves() {
                self.tell(peer, &Control::Join { lane, number });
            }
        }
        Ok(())
    }

    /// An agreement has ended.
    pub(crate) fn guard_ended(
        &mut self,
        world: &World,
        runtime: &Runtime,
        lane: u32,
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        let room = &mut self.lanes[lane as usize];
        room.agreeing = false;
        let number = room.number;
        let decliner = room.words[1] as i32 - 1;
        let told = room.told.remove(&number);
        let current = room.current.take();
        if done.outcome != NORN_MPI_DONE {
            let failed = Failed {
                call: "MPI_Iallreduce",
                code: done.error,
            };
            world.fail_from_inside(world.record_of_call(&self.calls(), failed));
            if let Some(exchange) = current {
                let how = self.failure(failed);
                self.end_collective(world, &exchange, how, finished);
            }
            return;
        }
        if decliner == world.rank {
            let record = match &current {
                Some(exchange) => world.record_of(runtime, exchange.cause()),
                None => self.failed.clone().unwrap_or_else(|| left(world)),
            };
            let control = Control::Declined {
                lane,
                number,
                record,
            };
            self.tell_all(world.rank, &control);
        }
        match current {
            None => {}
            Some(exchange) if decliner < 0 => self.enter_collective(world, &exchange, finished),
            Some(exchange) => {
                let cause = exchange.cause();
                if cause != 0 || exchange.node() == 0 {
                    self.end_collective(world, &exchange, How::Propagated(cause), finished);
                } else if let Some(record) = told.or_else(|| self.failed.clone()) {
                    self.end_collective(world, &exchange, How::Remote(record), finished);
                } else {
                    self.leave_line(world, &exchange);
                    let room = &mut self.lanes[lane as usize];
                    room.unexplained.insert(number, exchange);
                }
            }
        }
        self.go_on_joining(world, lane);
    }

    /// Another rank says why a collective was not entered.
    pub(crate) fn declined(
        &mut self,
        world: &World,
        lane: u32,
        number: u64,
        record: Record,
        finished: &mut Finished,
    ) {
        let Some(room) = self.lanes.get_mut(lane as usize) else {
            return;
        };
        if let Some(exchange) = room.unexplained.remove(&number) {
            super::balance::finish(exchange, How::Remote(record), finished);
        } else if number > room.number || (number == room.number && room.agreeing) {
            room.told.insert(number, record);
        }
        let _ = world;
    }

    fn enter_collective(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        finished: &mut Finished,
    ) {
        let What::Collective(what) = &exchange.what else {
            return;
        };
        match self.post_collective(what) {
            Ok(slot) => {
                exchange.set_stage(stage::POSTED);
                self.enter(slot, Flight::Collective(exchange.clone()));
                self.leave_line(world, exchange);
            }
            Err(failed) => {
                // The others have entered it: nobody can tell any more what matches what on this lane.
                let how = self.failure(failed);
                world.fail_from_inside(world.record_of_call(&self.calls(), failed));
                self.end_collective(world, exchange, how, finished);
            }
        }
    }

    fn post_collective(&mut self, what: &Collective) -> Result<i32, Failed> {
        let calls = self.calls();
        let datatype = |part: &Option<Part>| match part {
            Some(part) if part.datatype & NORN_OF_MPI != 0 => Ok(part.datatype as i32),
            Some(part) => calls.type_builtin(part.datatype),
            None => Ok(NORN_MPI_NO_HANDLE),
        };
        let op = match what.kind {
            NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE if what.op & NORN_OF_MPI != 0 => what.op as i32,
            NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE => calls.op_builtin(what.op)?,
            _ => NORN_MPI_NO_HANDLE,
        };
        let address = |part: &Option<Part>| part.as_ref().map_or(0, |part| part.layout.address);
        let array = |list: &[i64]| match list {
            [] => core::ptr::null(),
            list => list.as_ptr(),
        };
        let in_place = NORN_MPI_IN_PLACE as usize as *mut c_void;
        let scatters = matches!(what.kind, NORN_MPI_SCATTER | NORN_MPI_SCATTERV);
        let (mut send, mut recv) = (
            address(&what.send) as *mut c_void,
            address(&what.recv) as *mut c_void,
        );
        match (what.in_place, scatters) {
            (true, true) => recv = in_place,
            (true, false) => send = in_place,
            _ => {}
        }
        let call = norn_mpi_collective {
            kind: what.kind,
            comm: self.lanes[what.lane as usize].comm,
            root: what.root,
            op,
            send,
            recv,
            send_count: what.send_count,
            recv_count: what.recv_count,
            send_counts: array(&what.send_counts),
            send_displs: array(&what.send_displs),
            recv_counts: array(&what.recv_counts),
            recv_displs: array(&what.recv_displs),
            send_type: datatype(&what.send)?,
            recv_type: datatype(&what.recv)?,
        };
        // SAFETY: the memory is a datum's whose place this operation holds until its token completes, or the
        // application's, which has promised the same.
        unsafe { self.requests.collective(call_of(what.kind), &call) }
    }

    pub(crate) fn collective_ended(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        let What::Collective(what) = &exchange.what else {
            return;
        };
        let how = match done.outcome {
            NORN_MPI_DONE => How::Success,
            _ => self.failure(Failed {
                call: call_of(what.kind),
                code: done.error,
            }),
        };
        let _ = world;
        super::balance::finish(exchange.clone(), how, finished);
    }

    /// A collective ends without having been entered.
    fn end_collective(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        how: How,
        finished: &mut Finished,
    ) {
        exchange.set_stage(stage::ENDED);
        self.leave_line(world, exchange);
        match exchange.node() {
            0 => world.ended(exchange),
            node => finished.push((exchange.clone(), node, how)),
        }
    }

    // ----- ranks that have left -----

    /// A peer has left: it must join the agreements that have begun here.
    pub(crate) fn join_for(&mut self, world: &World, peer: i32) {
        let _ = world;
        for lane in 0..self.lanes.len() {
            let room = &self.lanes[lane];
            if room.agreeing {
                let number = room.number;
                let lane = lane as u32;
                self.tell(peer, &Control::Join { lane, number });
            }
        }
    }

    /// Another rank waits in an agreement.
    pub(crate) fn join(
        &mut self,
        world: &World,
        _runtime: &Runtime,
        lane: u32,
        number: u64,
        _finished: &mut Finished,
    ) {
        let Some(room) = self.lanes.get_mut(lane as usize) else {
            return;
        };
        room.joined = room.joined.max(number);
        self.go_on_joining(world, lane);
    }

    fn go_on_joining(&mut self, world: &World, lane: u32) {
        let room = &self.lanes[lane as usize];
        if (self.sinks || self.resting.over)
            && room.number < room.joined
            && !room.agreeing
            && let Err(failed) = self.agree(world, lane, false)
        {
            let record = world.record_of_call(&self.calls(), failed);
            world.fail_from_inside(record);
        }
    }

    /// Whether a reason is waited for.
    pub(crate) fn has_unexplained(&self) -> bool {
        self.lanes.iter().any(|room| !room.unexplained.is_empty())
    }

    /// Whether an agreement is under way, or has to be joined.
    pub(crate) fn has_agreements(&self) -> bool {
        self.lanes
            .iter()
            .any(|room| room.agreeing || room.number < room.joined)
    }

    /// This rank has left, or its world has failed: from now on it only joins.
    pub(crate) fn join_all(&mut self, world: &World) {
        for lane in 0..self.lanes.len() as u32 {
            self.go_on_joining(world, lane);
        }
    }

    /// Those who wait in an agreement call all others to join it.
    pub(crate) fn call_to_agreements(&mut self, world: &World) {
        for lane in 0..self.lanes.len() as u32 {
            let room = &self.lanes[lane as usize];
            if room.agreeing {
                let number = room.number;
                self.tell_all(world.rank, &Control::Join { lane, number });
            }
            self.go_on_joining(world, lane);
        }
    }

    /// The world has failed: agreements that have begun must end everywhere.
    pub(crate) fn fail_lanes(&mut self, world: &World, record: &Record, finished: &mut Finished) {
        for lane in 0..self.lanes.len() as u32 {
            let room = &mut self.lanes[lane as usize];
            let unexplained: Vec<_> = room.unexplained.drain().collect();
            if room.agreeing {
                let number = room.number;
                self.tell_all(world.rank, &Control::Join { lane, number });
            }
            for (_, exchange) in unexplained {
                super::balance::finish(exchange, How::Remote(record.clone()), finished);
            }
            self.go_on_joining(world, lane);
        }
    }
}

fn left(world: &World) -> Record {
    Record {
        status: NORN_E_CLOSED,
        rank: world.rank,
        worker: -1,
        operation: "close".into(),
        text: format!(
            "rank {} has left the world, and enters nothing more",
            world.rank
        ),
        ..Record::default()
    }
}
