//! Declaring collectives: which memory and counts each kind has on this rank.

use std::sync::Arc;

use super::calls::Failed;
use super::collective::{Collective, Part};
use super::declare::{Manner, invalid};
use super::exchange::What;
use super::layout::Side;
use super::table::*;
use super::world::World;
use crate::abi::datatype::{
    NORN_BAND, NORN_BXOR, NORN_BYTE, NORN_C64, NORN_C128, NORN_F32, NORN_F64, NORN_MAX,
    NORN_OF_MPI, NORN_PROD, NORN_SUM, norn_op, norn_type,
};
use crate::abi::slice::norn_slice;
use crate::abi::status::NORN_E_UNSUPPORTED;
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::run::runtime::Runtime;

/// The arguments of a collective, as its kind has them.
pub(crate) struct Call<'a> {
    /// One of `NORN_MPI_BARRIER`... without a v form.
    pub(crate) kind: i32,
    pub(crate) root: i32,
    pub(crate) op: norn_op,
    /// What this rank gives; None: in place, or nothing.
    pub(crate) from: Option<&'a norn_slice>,
    pub(crate) to: Option<&'a norn_slice>,
    /// Elements of each rank, on the side that has a part for each: the v form.
    pub(crate) counts: Option<&'a [u64]>,
    /// The other side's, of an alltoall.
    pub(crate) counts_back: Option<&'a [u64]>,
}

impl World {
    /// Declares a collective on a lane.
    pub(crate) fn declare_collective(
        self: &Arc<Self>,
        runtime: &Runtime,
        lane: u32,
        call: &Call<'_>,
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        self.check_open()?;
        let rooted = matches!(
            call.kind,
            NORN_MPI_BCAST | NORN_MPI_REDUCE | NORN_MPI_GATHER | NORN_MPI_SCATTER
        );
        if rooted && (call.root < 0 || call.root >= self.size) {
            return Err(invalid(format!(
                "root is {}, the world has ranks 0 to {}",
                call.root,
                self.size - 1
            )));
        }
        let (collective, accesses) = self.collective_of(runtime, lane, call, manner)?;
        self.submit(
            runtime,
            What::Collective(Box::new(collective)),
            &accesses,
            manner,
        )
    }

    fn collective_of(
        &self,
        runtime: &Runtime,
        lane: u32,
        call: &Call<'_>,
        manner: &Manner<'_>,
    ) -> Result<(Collective, Vec<norn_access>)> {
        let is_root = call.root == self.rank;
        let mut accesses = manner.accesses.to_vec();
        let mut part = |slice: Option<&norn_slice>, name: &str, side: Side| match slice {
            None => Ok(None),
            Some(slice) => {
                let layout = self.layout_of(runtime, slice, name, side)?;
                if layout.blocks != 1 || layout.planes != 1 {
                    return Err(Error::new(
                        NORN_E_UNSUPPORTED,
                        format!("{name}: a collective takes one block; use a type of MPI for more"),
                    ));
                }
                accesses.extend(layout.access);
                Ok(Some(Part {
                    layout,
                    datatype: slice.r#type,
                }))
            }
        };
        let in_place_allowed = !matches!(call.kind, NORN_MPI_BARRIER | NORN_MPI_BCAST);
        let (send, recv) = match call.kind {
            NORN_MPI_BARRIER => (None, None),
            NORN_MPI_BCAST => {
                let side = if is_root { Side::Source } else { Side::Target };
                (None, part(call.to, "buffer", side)?)
            }
            _ => {
                let in_place = call.from.is_none();
                let target = if in_place { Side::Both } else { Side::Target };
                let from = part(call.from, "from", Side::Source)?;
                (from, part(call.to, "to", target)?)
            }
        };
        let mut collective = Collective {
            lane,
            kind: call.kind,
            root: call.root,
            op: call.op,
            in_place: in_place_allowed && (send.is_none() || recv.is_none()),
            send_count: count_of(&send),
            recv_count: count_of(&recv),
            send_counts: Vec::new(),
            send_displs: Vec::new(),
            recv_counts: Vec::new(),
            recv_displs: Vec::new(),
            guarded: manner.how.flags & NORN_UNGUARDED == 0,
            send,
            recv,
        };
        check_apart(&collective, is_root)?;
        self.shape(&mut collective, call, is_root)?;
        Ok((collective, accesses))
    }

    /// Counts of one rank, or of each, as the kind has them.
    fn shape(&self, what: &mut Collective, call: &Call<'_>, is_root: bool) -> Result<()> {
        let ranks = self.size as u64;
        match what.kind {
            NORN_MPI_BARRIER => Ok(()),
            NORN_MPI_BCAST => need(&what.recv, "buffer"),
            NORN_MPI_REDUCE | NORN_MPI_ALLREDUCE => self.shape_reduction(what, is_root),
            NORN_MPI_GATHER => {
                if is_root {
                    need(&what.recv, "to")?;
                    self.spread(what, call.counts, ranks, Spread::Receives)?;
                } else {
                    need(&what.send, "from")?;
                    what.in_place = false;
                    if call.counts.is_some() {
                        what.kind = NORN_MPI_GATHERV;
                    }
                }
                Ok(())
            }
            NORN_MPI_SCATTER => {
                if is_root {
                    need(&what.send, "from")?;
                    self.spread(what, call.counts, ranks, Spread::Sends)?;
                } else {
                    need(&what.recv, "to")?;
                    what.in_place = false;
                    if call.counts.is_some() {
                        what.kind = NORN_MPI_SCATTERV;
                    }
                }
                Ok(())
            }
            NORN_MPI_ALLGATHER => {
                need(&what.recv, "to")?;
                self.spread(what, call.counts, ranks, Spread::Receives)
            }
            _ => {
                need(&what.recv, "to")?;
                if call.counts.is_some() != call.counts_back.is_some() && !what.in_place {
                    return Err(invalid(
                        "send_counts and recv_counts are given both or neither",
                    ));
                }
                self.spread(what, call.counts_back, ranks, Spread::Receives)?;
                if !what.in_place {
                    self.spread(what, call.counts, ranks, Spread::Sends)?;
                }
                Ok(())
            }
        }
    }

    fn shape_reduction(&self, what: &mut Collective, is_root: bool) -> Result<()> {
        for part in what.send.iter().chain(&what.recv) {
            check_op(what.op, part.datatype)?;
            self.ask_about_op(what.op, part.datatype)?;
        }
        let all = what.kind == NORN_MPI_ALLREDUCE;
        if all || is_root {
            need(&what.recv, "to")?;
        } else {
            need(&what.send, "from")?;
            what.in_place = false;
            what.recv_count = what.send_count;
            what.recv = what.send;
        }
        if let Some(send) = &what.send
            && (what.send_count != what.recv_count
                || Some(send.datatype) != what.recv.as_ref().map(|recv| recv.datatype))
        {
            return Err(invalid(format!(
                "from has {} elements and to has {}: a reduction needs the same number of the same type",
                what.send_count, what.recv_count
            )));
        }
        if what.recv_count > self.calls.count_limit() {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!(
                    "{} elements: this MPI reduces at most {} in one call",
                    what.recv_count,
                    self.calls.count_limit()
                ),
            ));
        }
        Ok(())
    }

    /// Asks MPI about an operation or a type of its own, where the calling thread may; where it may not, MPI says it when
    /// the collective is entered.
    fn ask_about_op(&self, op: norn_op, datatype: norn_type) -> Result<()> {
        if (op | datatype) & NORN_OF_MPI == 0 || !self.may_call() {
            return Ok(());
        }
        // Until MPI has said all, its text too. In the middle of a pass it is held already.
        let _engine = (!self.is_inside()).then(|| self.engine_to_call());
        self.check_open()?;
        self.check_mpi()?;
        let calls = &self.calls;
        let handle =
            |number: i64, builtin: &dyn Fn() -> core::result::Result<i32, Failed>| match number
                & NORN_OF_MPI
            {
                0 => builtin().map_err(|failed| calls.error(failed)),
                _ => Ok(number as i32),
            };
        let handle_of_op = handle(op, &|| calls.op_builtin(op))?;
        let handle_of_type = handle(datatype, &|| calls.type_builtin(datatype))?;
        calls
            .op_check(handle_of_op, handle_of_type)
            .map_err(|failed| match failed.code {
                NORN_MPI_INVALID => {
                    invalid("op is no operation of MPI's: MPI_OP_NULL, or one that was freed")
                }
                _ => invalid(format!(
                    "MPI does not take op on this type: {}",
                    calls.describe(failed)
                )),
            })
    }

    /// Divides the memory of the side that has a part for each rank.
    fn spread(
        &self,
        what: &mut Collective,
        counts: Option<&[u64]>,
        ranks: u64,
        side: Spread,
    ) -> Result<()> {
        let (total, name) = match side {
            Spread::Sends => (what.send_count as u64, "from"),
            Spread::Receives => (what.recv_count as u64, "to"),
        };
        let Some(counts) = counts else {
            if !total.is_multiple_of(ranks) {
                return Err(invalid(format!(
                    "{name} has {total} elements, which {ranks} ranks cannot share equally; give counts"
                )));
            }
            let each = (total / ranks) as i64;
            match side {
                Spread::Sends => what.send_count = each,
                Spread::Receives => what.recv_count = each,
            }
            return Ok(());
        };
        let most = self.calls.count_limit();
        if i64::try_from(total).map_or(true, |total| total > most) {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!("{name} has {total} elements: this MPI takes at most {most} in a v form"),
            ));
        }
        let mut displacements = Vec::with_capacity(counts.len());
        let mut sum = 0u64;
        for count in counts {
            displacements.push(sum as i64);
            sum = sum
                .checked_add(*count)
                .ok_or_else(|| invalid("the sum of counts exceeds 64 bits"))?;
        }
        if sum != total {
            return Err(invalid(format!(
                "counts add up to {sum}, {name} has {total} elements"
            )));
        }
        let counts: Vec<i64> = counts.iter().map(|count| *count as i64).collect();
        what.kind = match what.kind {
            NORN_MPI_GATHER => NORN_MPI_GATHERV,
            NORN_MPI_SCATTER => NORN_MPI_SCATTERV,
            NORN_MPI_ALLGATHER => NORN_MPI_ALLGATHERV,
            NORN_MPI_ALLTOALL => NORN_MPI_ALLTOALLV,
            other => other,
        };
        match side {
            Spread::Sends => (what.send_counts, what.send_displs) = (counts, displacements),
            Spread::Receives => (what.recv_counts, what.recv_displs) = (counts, displacements),
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Spread {
    Sends,
    Receives,
}

/// Refuses an operation that is none, and a predefined one that this predefined type has not. Of others MPI knows more.
fn check_op(op: norn_op, datatype: norn_type) -> Result<()> {
    if op & NORN_OF_MPI != 0 && op >> 32 == 1 {
        return Ok(());
    }
    if !(NORN_SUM..=NORN_BXOR).contains(&op) {
        return Err(invalid(format!("op {op} is none")));
    }
    let (has, kind) = match datatype {
        NORN_BYTE => (op >= NORN_BAND, "bytes have the bitwise operations only"),
        NORN_F32 | NORN_F64 => (
            op <= NORN_MAX,
            "floating-point numbers have no logical and no bitwise operations",
        ),
        NORN_C64 | NORN_C128 => (
            op <= NORN_PROD,
            "complex numbers have the sum and the product only",
        ),
        _ => (true, ""),
    };
    match has {
        true => Ok(()),
        false => Err(invalid(format!("op {op} on type {datatype}: {kind}"))),
    }
}

/// MPI takes no memory as both source and target of a call.
fn check_apart(what: &Collective, is_root: bool) -> Result<()> {
    let rooted = matches!(
        what.kind,
        NORN_MPI_REDUCE | NORN_MPI_GATHER | NORN_MPI_SCATTER
    );
    let (Some(from), Some(to)) = (&what.send, &what.recv) else {
        return Ok(());
    };
    if rooted && !is_root {
        return Ok(());
    }
    let span = |part: &Part| {
        let layout = &part.layout;
        let bytes = layout.count.saturating_mul(layout.element.extent) as usize;
        (layout.address, layout.address.saturating_add(bytes))
    };
    let (from, to) = (span(from), span(to));
    // An empty side begins and ends at the same byte, and meets nothing.
    if from.0.max(to.0) < from.1.min(to.1) {
        let which = if what.kind == NORN_MPI_SCATTER {
            "to"
        } else {
            "from"
        };
        return Err(invalid(format!(
            "from and to share memory; {which} is NULL where the operation is in place"
        )));
    }
    Ok(())
}

fn need(part: &Option<Part>, name: &str) -> Result<()> {
    match part {
        Some(_) => Ok(()),
        None => Err(invalid(format!("{name} is NULL"))),
    }
}

fn count_of(part: &Option<Part>) -> i64 {
    part.as_ref().map_or(0, |part| part.layout.count as i64)
}
