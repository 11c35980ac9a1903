//! Before a collective its lane agrees on whether it is entered: by all ranks or by none.
//!
//! The agreement is an allreduce of a few words (`alike`). Its first word is 0 where a rank is ready, and its number plus
//! one where it is not (a predecessor failed, it was cancelled). The largest wins, and its owner tells all others why
//! (`Declined`). Where all are ready and have declared different collectives, none enters, and each fails.
//! One agreement at a time on a lane, and the next one begins only when the collective has been posted, so that the order
//! of MPI calls on the lane's communicator is the same everywhere.
//! In verify mode it is an allgather of all that each rank has declared, and a second call may follow it (`compare`).
//! `NORN_UNGUARDED` leaves the agreement out; such a collective that cannot be entered fails the world and ends the lane.
//!
//! A rank that has left (Bye), or whose world has failed, still takes part in agreements that others have begun
//! (`lane`), always with "not entered", so that these end.

use std::sync::Arc;

use super::alike::{Facts, WORDS};
use super::calls::{Failed, Requests};
use super::collective::{Collective, call_of};
use super::compare::{self, ROW, Row, Verdict};
use super::control::{Control, Record};
use super::engine::{Engine, Finished, Flight, How};
use super::exchange::{Exchange, What, stage};
use super::lane::left;
use super::table::*;
use super::world::World;
use crate::abi::datatype::{NORN_I64, NORN_MAX};
use crate::abi::status::NORN_E_MISMATCH;
use crate::run::runtime::Runtime;

/// A call of a lane that has ended.
struct Over {
    lane: u32,
    /// Of the agreement.
    number: u64,
    /// What another rank has said of it.
    told: Option<Record>,
    /// The collective that it was for; none where this rank has only joined, or the lane has ended meanwhile.
    current: Option<Arc<Exchange>>,
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
        let room = &mut self.lanes[lane as usize];
        let declared = match room.current.as_deref() {
            Some(exchange) if enters => match &exchange.what {
                What::Collective(what) => Some((exchange, what)),
                What::Message(_) => None,
            },
            _ => None,
        };
        let slot = if self.verify.is_on() {
            let row = match declared {
                Some((exchange, what)) => {
                    let name = world.name_of(exchange);
                    Row::of(&calls, what, (world.rank, world.size), &name)?
                }
                None => Row::declining(world.rank),
            };
            if room.said.is_empty() {
                room.said = vec![0; ROW * (1 + world.size as usize)].into();
            }
            room.said[..ROW].copy_from_slice(&row.words());
            let (kind, comm) = (NORN_MPI_ALLGATHER, room.comm);
            let (mine, all) = room.said.split_at_mut(ROW);
            call_of_words(&mut self.requests, comm, (kind, ROW), mine, all)?
        } else {
            let facts = match declared {
                Some((_, what)) => Facts::of(&calls, what)?,
                None => Facts::declining(world.rank),
            };
            if room.said.is_empty() {
                room.said = vec![0; 2 * WORDS].into();
            }
            room.said[..WORDS].copy_from_slice(&facts.words());
            let (kind, comm) = (NORN_MPI_ALLREDUCE, room.comm);
            let (mine, all) = room.said.split_at_mut(WORDS);
            call_of_words(&mut self.requests, comm, (kind, WORDS), mine, all)?
        };
        let room = &mut self.lanes[lane as usize];
        room.agreeing = true;
        room.number += 1;
        self.called(lane, slot, Flight::Guard(lane));
        Ok(())
    }

    /// An agreement has ended, or the comparison of counts that may follow it (`of_counts`).
    pub(crate) fn agreement_ended(
        &mut self,
        world: &World,
        runtime: &Runtime,
        (lane, of_counts): (u32, bool),
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        let room = &mut self.lanes[lane as usize];
        room.agreeing = false;
        let over = Over {
            lane,
            number: room.number,
            told: room.told.remove(&room.number),
            current: room.current.take(),
        };
        if done.outcome == NORN_MPI_DONE {
            match of_counts {
                false => self.act_on_agreement(world, runtime, over, finished),
                true => self.compare_counts(world, over, finished),
            }
        } else {
            let failed = Failed {
                call: match (of_counts, self.verify.is_on()) {
                    (true, _) => "MPI_Ialltoall",
                    (false, true) => "MPI_Iallgather",
                    (false, false) => "MPI_Iallreduce",
                },
                code: done.error,
            };
            match over.current {
                Some(exchange) => self.fail_lane(world, &exchange, failed, finished),
                None => world.fail_from_inside(world.record_of_call(&self.calls(), failed)),
            }
        }
        self.answer_waits(world, lane, finished);
    }

    /// What all ranks have said is here.
    fn act_on_agreement(
        &mut self,
        world: &World,
        runtime: &Runtime,
        over: Over,
        finished: &mut Finished,
    ) {
        let (lane, number) = (over.lane, over.number);
        let said = &self.lanes[lane as usize].said;
        let Verdict {
            decliner,
            difference,
            counts,
        } = verdict(said, self.verify.is_on());
        if decliner == world.rank {
            let record = match &over.current {
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
        let Some(exchange) = over.current else { return };
        match difference {
            _ if decliner >= 0 => {
                self.not_entered(world, exchange, (number, decliner), over.told, finished);
            }
            Some(difference) => {
                let how = mismatch(world, &exchange, &difference);
                self.end_collective(world, &exchange, how, finished);
            }
            None if counts => self.ask_for_counts(world, lane, exchange, finished),
            None => self.enter_collective(world, &exchange, finished),
        }
    }

    /// All ranks enter and some counts differ: each pair compares its own. Every rank does so, and at once.
    fn ask_for_counts(
        &mut self,
        world: &World,
        lane: u32,
        exchange: Arc<Exchange>,
        finished: &mut Finished,
    ) {
        let What::Collective(what) = &exchange.what else {
            return;
        };
        let room = &mut self.lanes[lane as usize];
        // Ended while all agreed, as in `enter_collective`.
        if let Some(record) = room.ended().cloned() {
            return self.end_collective(world, &exchange, How::Remote(record), finished);
        }
        let mut words = compare::counts_of(what, world.rank, world.size);
        let length = words.len();
        words.resize(2 * length, 0);
        room.counts = words.into();
        let (mine, all) = room.counts.split_at_mut(length);
        let call = (NORN_MPI_ALLTOALL, 2);
        match call_of_words(&mut self.requests, room.comm, call, mine, all) {
            Ok(slot) => {
                room.agreeing = true;
                room.current = Some(exchange);
                self.called(lane, slot, Flight::Counts(lane));
            }
            Err(failed) => self.fail_lane(world, &exchange, failed, finished),
        }
    }

    /// What the other ranks say of their counts is here.
    fn compare_counts(&mut self, world: &World, over: Over, finished: &mut Finished) {
        let (lane, number) = (over.lane, over.number);
        let room = &mut self.lanes[lane as usize];
        let words = core::mem::take(&mut room.counts);
        let Some(exchange) = over.current else { return };
        let What::Collective(what) = &exchange.what else {
            return;
        };
        let (rows, theirs) = (&room.said[ROW..], &words[words.len() / 2..]);
        let found = compare::counts_differ(rows, what, world.rank, theirs);
        let difference = match (found, over.told) {
            (Some(difference), _) => {
                let control = Control::Declined {
                    lane,
                    number,
                    record: counts_record(world, &exchange, what, &difference),
                };
                self.tell_all(world.rank, &control);
                difference
            }
            (None, Some(record)) => record.text,
            (None, None) => {
                self.leave_line(world, &exchange);
                let room = &mut self.lanes[lane as usize];
                room.unexplained.insert(number, (exchange, true));
                return;
            }
        };
        let how = mismatch(world, &exchange, &difference);
        self.end_collective(world, &exchange, how, finished);
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
            room.unexplained.insert(number, (exchange, false));
            return;
        };
        self.end_collective(world, &exchange, how, finished);
    }

    /// Another rank says why a collective was not entered.
    pub(super) fn declined(
        &mut self,
        world: &World,
        lane: u32,
        number: u64,
        record: Record,
        finished: &mut Finished,
    ) {
        let room = &mut self.lanes[lane as usize];
        if let Some((exchange, of_counts)) = room.unexplained.remove(&number) {
            let how = match of_counts {
                true => mismatch(world, &exchange, &record.text),
                false => How::Remote(record),
            };
            super::balance::finish(exchange, how, finished);
        } else if number > room.number || (number == room.number && room.agreeing) {
            room.told.insert(number, record);
        }
    }
}

/// A call of a lane by which the ranks tell each other words: so many (the second of `call`) to each.
fn call_of_words(
    requests: &mut Requests,
    comm: i32,
    (kind, count): (i32, usize),
    mine: &[i64],
    all: &mut [i64],
) -> Result<i32, Failed> {
    let calls = requests.calls;
    let datatype = calls.type_builtin(NORN_I64)?;
    let what = norn_mpi_collective {
        kind,
        comm,
        root: 0,
        op: match kind {
            NORN_MPI_ALLREDUCE => calls.op_builtin(NORN_MAX)?,
            _ => NORN_MPI_NO_HANDLE,
        },
        send: mine.as_ptr().cast(),
        recv: all.as_mut_ptr().cast(),
        send_count: count as i64,
        recv_count: count as i64,
        send_counts: core::ptr::null(),
        send_displs: core::ptr::null(),
        recv_counts: core::ptr::null(),
        recv_displs: core::ptr::null(),
        send_type: datatype,
        recv_type: datatype,
    };
    // SAFETY: the words are boxed, used for one call at a time, and kept where one is given up.
    unsafe { requests.collective(call_of(kind), &what) }
}

/// What has come of an agreement.
fn verdict(said: &[i64], verifies: bool) -> Verdict {
    if verifies {
        return compare::judge(&said[ROW..]);
    }
    let all = Facts::from_words(&said[WORDS..]);
    Verdict {
        decliner: all.decliner as i32 - 1,
        difference: all.difference(),
        counts: false,
    }
}

fn counts_record(
    world: &World,
    exchange: &Exchange,
    what: &Collective,
    difference: &str,
) -> Record {
    Record {
        status: NORN_E_MISMATCH,
        rank: world.rank,
        worker: -1,
        name: world.name_of(exchange),
        operation: call_of(what.kind).into(),
        text: difference.into(),
        ..Record::default()
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
