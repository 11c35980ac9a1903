//! Declaring messages and collectives: from the arguments of a call to an exchange in the graph.

use std::sync::Arc;

use super::calls::{Elements, Failed};
use super::collective::{Collective, Part};
use super::engine::Engine;
use super::exchange::{Exchange, Message, Staging, What};
use super::stage::Envelope;
use super::table::*;
use super::world::{Note, World};
use crate::abi::datatype::{NORN_OF_MPI, norn_op, norn_type};
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_INVALID, NORN_E_THREAD, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::lower::slice::{Element, Layout, Side};
use crate::order::memory::Memory;
use crate::run::runtime::Runtime;

/// What a caller says about the operation beside what it is.
pub(crate) struct Manner<'a> {
    /// Of which name, priority, flags, group, place, stream and as are read.
    pub(crate) how: norn_task,
    pub(crate) accesses: &'a [norn_access],
    pub(crate) after: &'a [norn_token],
}

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

fn invalid(text: impl Into<String>) -> Error {
    Error::new(NORN_E_INVALID, text.into())
}

impl World {
    /// Declares a message.
    pub(crate) fn declare_message(
        self: &Arc<Self>,
        runtime: &Runtime,
        slice: &norn_slice,
        envelope: &Envelope,
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        self.declare_on_host(runtime, slice, envelope, manner, None)
    }

    /// Declares a message; one whose memory MPI does not take is staged. `staging`: what its slice lies in, to be kept
    /// until it has ended.
    pub(super) fn declare_on_host(
        self: &Arc<Self>,
        runtime: &Runtime,
        slice: &norn_slice,
        envelope: &Envelope,
        manner: &Manner<'_>,
        staging: Option<Arc<dyn Memory>>,
    ) -> Result<norn_token> {
        let &Envelope { send, peer, key } = envelope;
        self.check_open()?;
        if peer < 0 || peer >= self.size {
            return Err(invalid(format!(
                "peer is {peer}, the world has ranks 0 to {}",
                self.size - 1
            )));
        }
        if key != NORN_KEY_ORDER && (key < 0 || key as u64 >= self.tags) {
            return Err(invalid(format!(
                "key is {key}: keys are 0 to {} here (norn_world_info.key_limit), or NORN_KEY_ORDER",
                self.tags - 1
            )));
        }
        let (name, side) = if send {
            ("from", Side::Source)
        } else {
            ("to", Side::Target)
        };
        let layout = self.layout_of_any(runtime, slice, name, side)?;
        if i64::try_from(layout.bytes).is_err() {
            return Err(invalid(format!("{name}: a message of {} B", layout.bytes)));
        }
        if layout.place.kind == NORN_PLACE_DEVICE && !self.facts.device_aware {
            return self.declare_staged(runtime, slice, &layout, envelope, manner);
        }
        let turn = match key {
            NORN_KEY_ORDER => Some(self.lines.next_ordered(send, peer)?),
            _ => None,
        };
        let (wire, number) = match &turn {
            Some(turn) => (turn.wire, turn.number),
            None => (self.lines.wire_of_key(key), 0),
        };
        let own = peer == self.rank;
        let datum = slice.data.id;
        if own && self.lines.meets_itself(send, wire, datum) {
            return Err(invalid(format!(
                "{name}: both ends of a message from rank {peer} to itself are the same datum: neither could go before the other"
            )));
        }
        let mut message = Message {
            send,
            peer,
            wire,
            key,
            number,
            layout,
            datatype: slice.r#type,
            staging: Staging(staging),
        };
        if turn.is_none() && self.verify {
            message.number = self.lines.next_of_key(send, peer, key);
        }
        let accesses: Vec<norn_access> = manner
            .accesses
            .iter()
            .copied()
            .chain(layout.access)
            .collect();
        let token = self.submit(runtime, What::Message(message), &accesses, manner)?;
        if let Some(turn) = turn {
            turn.take();
        }
        if own {
            self.lines.enter_own(send, wire, datum);
        }
        Ok(token)
    }

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

    fn submit(
        self: &Arc<Self>,
        runtime: &Runtime,
        what: What,
        accesses: &[norn_access],
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        let mut how = manner.how;
        how.flags &= !NORN_UNGUARDED;
        let always = how.flags & NORN_RUN_ALWAYS != 0;
        let exchange = Exchange::new(self.clone(), what, always, how.name as usize);
        self.begun();
        self.lines.enter(&exchange);
        match runtime.submit_operation(&how, accesses, manner.after, exchange.clone()) {
            Ok(token) => {
                exchange.set_token(token.into());
                self.post_at_once(runtime);
                Ok(token)
            }
            Err(error) => {
                self.ended(&exchange);
                self.note(Note::Refused(exchange));
                runtime.offer_duty();
                Err(error)
            }
        }
    }

    // ----- memory -----

    /// On whichever side of a device; the application's own address may be a device's without saying so.
    fn layout_of_any(
        &self,
        runtime: &Runtime,
        slice: &norn_slice,
        name: &str,
        side: Side,
    ) -> Result<Layout> {
        let element = self.element_of(slice, name)?;
        let mut layout = Layout::of(runtime.graph(), slice, name, element, side)?;
        if slice.data.id == 0
            && layout.bytes != 0
            && layout.place.kind != NORN_PLACE_DEVICE
            && let Some(place) = runtime.place_of_address(layout.address)
        {
            layout.place = place;
        }
        Ok(layout)
    }

    fn layout_of(
        &self,
        runtime: &Runtime,
        slice: &norn_slice,
        name: &str,
        side: Side,
    ) -> Result<Layout> {
        let layout = self.layout_of_any(runtime, slice, name, side)?;
        if layout.place.kind == NORN_PLACE_DEVICE && !self.facts.device_aware {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!(
                    "{name}: device memory, and MPI takes none ({}); copy it to the host first",
                    self.facts.device_reason
                ),
            ));
        }
        Ok(layout)
    }

    fn element_of(&self, slice: &norn_slice, name: &str) -> Result<Element> {
        let datatype = slice.r#type;
        if let Some(element) = Element::builtin(datatype) {
            return Ok(element);
        }
        if datatype & !0xffff_ffff != NORN_OF_MPI {
            return Err(invalid(format!("{name}: type {datatype} is none")));
        }
        let info = self.ask_about_type(datatype as i32)?.map_err(|failed| {
            invalid(format!(
                "{name}: not a committed MPI type: {}",
                self.calls.describe(failed)
            ))
        })?;
        let inside = info.true_lb >= 0 && info.true_lb + info.true_extent <= info.extent;
        if info.extent < 0 || info.size < 0 || (slice.data.id != 0 && !inside) {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!("{name}: a type that reaches outside its extent; name its memory by ptr"),
            ));
        }
        Ok(Element {
            bytes: info.size as u64,
            extent: info.extent as u64,
        })
    }

    /// Asks MPI about a type, where the calling thread may.
    fn ask_about_type(
        &self,
        handle: i32,
    ) -> Result<core::result::Result<norn_mpi_type_info, Failed>> {
        if !self.may_call() {
            return Err(Error::new(
                NORN_E_THREAD,
                "below MPI_THREAD_SERIALIZED only the thread that initialised MPI may use types of MPI",
            ));
        }
        if self.is_inside() {
            let control = self.control_hint();
            return Ok(self.calls.type_info(control, handle));
        }
        let engine = self.engine.lock();
        Ok(self.calls.type_info(engine.control, handle))
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

fn need(part: &Option<Part>, name: &str) -> Result<()> {
    match part {
        Some(_) => Ok(()),
        None => Err(invalid(format!("{name} is NULL"))),
    }
}

fn count_of(part: &Option<Part>) -> i64 {
    part.as_ref().map_or(0, |part| part.layout.count as i64)
}

impl Engine {
    /// A layout as MPI takes it, with the type made for it, if one had to be made.
    pub(crate) fn elements(
        &self,
        layout: &Layout,
        datatype: norn_type,
    ) -> core::result::Result<(Elements, Option<i32>), Failed> {
        let calls = self.calls();
        let address = layout.address;
        let predefined = datatype & NORN_OF_MPI == 0;
        if predefined && layout.is_contiguous() {
            let what = Elements {
                address,
                count: layout.bytes,
                datatype: self.byte,
            };
            return Ok((what, None));
        }
        let base = if predefined {
            calls.type_builtin(datatype)?
        } else {
            datatype as i32
        };
        if layout.blocks == 1 && layout.planes == 1 {
            let what = Elements {
                address,
                count: layout.count,
                datatype: base,
            };
            return Ok((what, None));
        }
        let made = calls.type_blocks(
            base,
            layout.count,
            (layout.blocks, layout.stride),
            (layout.planes, layout.plane_stride),
        )?;
        let what = Elements {
            address,
            count: 1,
            datatype: made,
        };
        Ok((what, Some(made)))
    }
}
