//! Collectives: run in declaration order on their lane, in MPI.

use std::sync::Arc;

use core::ffi::c_void;

use super::calls::Failed;
use super::engine::{Engine, Finished, Flight, How};
use super::exchange::{Exchange, What, stage};
use super::layout::Layout;
use super::table::*;
use super::world::World;
use crate::abi::datatype::{NORN_OF_MPI, norn_op, norn_type};
use crate::abi::status::NORN_E_MPI;

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

/// Name of a kind as MPI has it.
pub(super) fn call_of(kind: i32) -> &'static str {
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
    /// Bytes that every rank must say the same of; 0 where each has its own.
    pub(super) fn bytes_of_each(&self) -> i64 {
        let bytes = |part: &Option<Part>, count: i64| match part {
            Some(part) => count.wrapping_mul(part.layout.element.bytes as i64),
            None => 0,
        };
        match self.kind {
            NORN_MPI_GATHER if !self.in_place => bytes(&self.send, self.send_count),
            NORN_MPI_SCATTER if self.recv.is_none() => bytes(&self.send, self.send_count),
            NORN_MPI_BARRIER | NORN_MPI_GATHERV | NORN_MPI_SCATTERV | NORN_MPI_ALLGATHERV
            | NORN_MPI_ALLTOALLV => 0,
            _ => bytes(&self.recv, self.recv_count),
        }
    }

    pub(crate) fn describe(&self, own_rank: i32) -> String {
        let name = call_of(self.kind).trim_start_matches("MPI_I");
        format!("{name} on lane {} of rank {own_rank}", self.lane)
    }
}

impl Engine {
    fn failure(&self, failed: Failed) -> How {
        How::Failed {
            status: NORN_E_MPI,
            code: failed.code,
            operation: failed.call,
            text: self.calls().describe(failed),
        }
    }

    pub(super) fn enter_collective(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        finished: &mut Finished,
    ) {
        let What::Collective(what) = &exchange.what else {
            return;
        };
        // Ended while all agreed: MPI has refused it on some rank.
        if let Some(record) = self.lanes[what.lane as usize].ended().cloned() {
            return self.end_collective(world, exchange, How::Remote(record), finished);
        }
        match self.post_collective(what) {
            Ok(slot) => {
                exchange.set_stage(stage::POSTED);
                self.called(what.lane, slot, Flight::Collective(exchange.clone()));
                self.leave_line(world, exchange);
            }
            Err(failed) => self.fail_lane(world, exchange, failed, finished),
        }
    }

    /// MPI has refused a call of a lane that the other ranks make: nobody can tell any more what matches what there.
    pub(super) fn fail_lane(
        &mut self,
        world: &World,
        exchange: &Arc<Exchange>,
        failed: Failed,
        finished: &mut Finished,
    ) {
        let What::Collective(what) = &exchange.what else {
            return;
        };
        let record = world.record_of_call(&self.calls(), failed);
        world.fail_from_inside(record.clone());
        self.end_lane(world, what.lane, record, finished);
        let how = self.failure(failed);
        self.end_collective(world, exchange, how, finished);
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
        super::balance::finish(exchange.clone(), how, finished);
    }

    /// A collective ends without having been entered.
    pub(super) fn end_collective(
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
}
