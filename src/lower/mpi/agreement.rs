//! Before a collective its lane agrees on whether it is entered: by all ranks or by none.
//!
//! The agreement is an allreduce of a few words (`alike`). Its first word is 0 where a rank is ready, and its number plus
//! one where it is not (a predecessor failed, it was cancelled). The largest wins, and its owner tells all others why
//! (`Declined`). Where all are ready and have declared different collectives, none enters, and each fails.
//! One agreement at a time on a lane, and the next one begins only when the collective has been posted, so that the order
//! of MPI calls on the lane's communicator is the same everywhere.
//! `NORN_UNGUARDED` leaves the agreement out; such a collective that cannot be entered fails the world and ends the lane.
//!
//! A rank that has left (Bye), or whose world has failed, still takes part in agreements that others have begun
//! (`lane`), always with "not entered", so that these end.

use std::sync::Arc;

use super::alike::{Facts, WORDS};
use super::calls::Failed;
use super::collective::call_of;
use super::control::{Control, Record};
use super::engine::{Engine, Finished, Flight, How};
use super::exchange::{Exchange, What, stage};
use super::lane::left;
use super::table::*;
use super::world::World;
use crate::abi::datatype::{NORN_I64, NORN_MAX};
use crate::abi::status::NORN_E_MISMATCH;
use crate::run::runtime::Runtime;

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
        let (lane, cause) = (what.lane, exchange.cause());
        if let Some(record) = self.failed.clone() {
            return self.end_collective(world, exchange, How::Remote(record), finished);
        }
        if let Some(record) = self.lanes[lane as usize].ended().cloned() {
            let how = match cause {
                0 => How::Remote(record),
                cause => How::Propagated(cause),
            };
            return self.end_collective(world, exchange, how, finished);
        }
        let enters = cause == 0 && exchange.node() != 0;
        if !what.guarded {
            if enters {
                return self.enter_collective(world, exchange, finished);
            }
            let record = world.record_of(runtime, cause);
            world.fail_from_inside(record.clone());
            self.end_lane(world, lane, record, finished);
            return self.end_collective(world, exchange, How::Propagated(cause), finished);
        }
        let room = &mut self.lanes[lane as usize];
        room.begun += 1;
        if room.begun < room.number || (room.begun == room.number && !room.agreeing) {
            // Others have begun it while this rank rested or was leaving, and this rank has said "not entered".
            let how = match cause {
                0 => How::Remote(left(world)),
                cause => How::Propagated(cause),
            };
            return self.end_collective(world, exchange, how, finished);
        }
        room.current = Some(exchange.clone());
        exchange.set_stage(stage::POSTED);
        if room.begun == room.number {
            // The agreement was joined and is under way: it ends as "not entered", and this exchange with it.
            return;
        }
        if let Err(failed) = self.agree(world, lane, enters) {
            self.lanes[lane as usize].current = None;
            self.fail_lane(world, exchange, failed, finished);
        }
    }

    /// Begins the agreement on the next collective of a lane.
    pub(super) fn agree(&mut self, world: &World, lane: u32, enters: bool) -> Result<(), Failed> {
        let calls = self.calls();
        let (datatype, op) = (calls.type_builtin(NORN_I64)?, calls.op_builtin(NORN_MAX)?);
        let room = &mut self.lanes[lane as usize];
        room.said[0] = match room.current.as_deref().map(|exchange| &exchange.what) {
            Some(What::Collective(what)) if enters => Facts::of(&calls, what)?,
            _ => Facts::declining(world.rank),
        };
        let what = norn_mpi_collective {
            kind: NORN_MPI_ALLREDUCE,
            comm: room.comm,
            root: 0,
            op,
            send: core::ptr::from_ref(&room.said[0]).cast(),
            recv: core::ptr::from_mut(&mut room.said[1]).cast(),
            send_count: WORDS,
            recv_count: WORDS,
            send_counts: core::ptr::null(),
            send_displs: core::ptr::null(),
            recv_counts: core::ptr::null(),
            recv_displs: core::ptr::null(),
            send_type: datatype,
            recv_type: datatype,
        };
        // SAFETY: the words are boxed, used for one agreement at a time, and kept where one is given up.
        let slot = unsafe { self.requests.collective("MPI_Iallreduce", &what) }?;
        let room = &mut self.lanes[lane as usize];
        room.agreeing = true;
        room.number += 1;
        self.called(lane, slot, Flight::Guard(lane));
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
        let told = room.told.remove(&number);
        let current = room.current.take();
        if done.outcome == NORN_MPI_DONE {
            let decliner = room.said[1].decliner as i32 - 1;
            let difference = room.said[1].difference();
            if decliner == world.rank {
                let record = match &current {
                    Some(exchange) if exchange.cause() != 0 || exchange.node() == 0 => {
                        world.record_of(runtime, exchange.cause())
                    }
                    _ => self.failed.clone().unwrap_or_else(|| left(world)),
                };
                let control = Control::Declined {
                    lane,
                    number,
                    record,
                };
                self.tell_all(world.rank, &control);
            }
            match (current, difference) {
                (None, _) => {}
                (Some(exchange), Some(difference)) if decliner < 0 => {
                    let how = mismatch(world, &exchange, &difference);
                    self.end_collective(world, &exchange, how, finished);
                }
                (Some(exchange), None) if decliner < 0 => {
                    self.enter_collective(world, &exchange, finished);
                }
                (Some(exchange), _) => {
                    self.not_entered(world, exchange, (number, decliner), told, finished);
                }
            }
        } else {
            let failed = Failed {
                call: "MPI_Iallreduce",
                code: done.error,
            };
            match current {
                Some(exchange) => self.fail_lane(world, &exchange, failed, finished),
                None => world.fail_from_inside(world.record_of_call(&self.calls(), failed)),
            }
        }
        self.answer_waits(world, lane, finished);
    }

    /// Some rank has not entered a collective, and so none has.
    fn not_entered(
        &mut self,
        world: &World,
        exchange: Arc<Exchange>,
        (number, decliner): (u64, i32),
        told: Option<Record>,
        finished: &mut Finished,
    ) {
        let cause = exchange.cause();
        let how = if cause != 0 || exchange.node() == 0 {
            How::Propagated(cause)
        } else if let Some(record) = told.or_else(|| self.failed.clone()) {
            How::Remote(record)
        } else if decliner == world.rank {
            // It came after this rank had joined: nobody else explains it.
            How::Remote(left(world))
        } else {
            self.leave_line(world, &exchange);
            let What::Collective(what) = &exchange.what else {
                return;
            };
            let room = &mut self.lanes[what.lane as usize];
            room.unexplained.insert(number, exchange);
            return;
        };
        self.end_collective(world, &exchange, how, finished);
    }

    /// Another rank says why a collective was not entered.
    pub(super) fn declined(
        &mut self,
        lane: u32,
        number: u64,
        record: Record,
        finished: &mut Finished,
    ) {
        let room = &mut self.lanes[lane as usize];
        if let Some(exchange) = room.unexplained.remove(&number) {
            super::balance::finish(exchange, How::Remote(record), finished);
        } else if number > room.number || (number == room.number && room.agreeing) {
            room.told.insert(number, record);
        }
    }
}

/// The ranks have declared different collectives, and none has entered.
fn mismatch(world: &World, exchange: &Exchange, difference: &str) -> How {
    let (operation, what) = match &exchange.what {
        What::Collective(what) => (call_of(what.kind), what.describe(world.rank)),
        What::Message(_) => ("", exchange.title()),
    };
    How::Failed {
        status: NORN_E_MISMATCH,
        code: 0,
        operation,
        text: format!("{what}: the ranks have declared different collectives: {difference}"),
    }
}
