//! Registering, splitting and joining data.

use std::ffi::CString;
use std::sync::atomic::Ordering;

use super::datum::{DataTable, Datum, unregistered};
use super::extent::{Blocks, Extent, find_overlap};
use super::graph::Graph;
use super::lane::Lane;
use super::memory::{HostMemory, Memory};
use super::submit::invalid;
use super::timeline::Timeline;
use super::token::Token;
use crate::abi::status::{NORN_E_INVALID, NORN_E_OVERLAP, NORN_E_RESOURCE, NORN_E_STATE};
use crate::abi::types::*;
use crate::error::{Error, Result};

impl Graph {
    /// Registers the caller's memory.
    ///
    /// # Safety
    /// The name is NULL or zero-terminated.
    pub(crate) unsafe fn register(
        &self,
        lane: &mut Lane,
        desc: &norn_data_desc,
    ) -> Result<norn_data> {
        // SAFETY: passed on.
        unsafe { self.add_datum(lane, desc, None) }
    }

    /// Registers memory of norn's own: `memory`, else ordinary host memory.
    ///
    /// # Safety
    /// As `register`.
    pub(crate) unsafe fn allocate(
        &self,
        lane: &mut Lane,
        desc: &norn_data_desc,
        memory: Option<Box<dyn Memory>>,
    ) -> Result<norn_data> {
        if !desc.ptr.is_null() {
            return Err(invalid(
                "desc.ptr must be NULL: norn_data_alloc brings its own memory",
            ));
        }
        check_desc(desc)?;
        let memory: Option<Box<dyn Memory>> = match (memory, desc.bytes) {
            (_, 0) => None,
            (Some(memory), _) => Some(memory),
            (None, bytes) => Some(Box::new(HostMemory::new(bytes)?)),
        };
        let address = memory.as_ref().map_or(0, |memory| memory.address());
        let desc = norn_data_desc {
            ptr: address as *mut core::ffi::c_void,
            ..*desc
        };
        // SAFETY: passed on.
        unsafe { self.add_datum(lane, &desc, memory) }
    }

    unsafe fn add_datum(
        &self,
        lane: &mut Lane,
        desc: &norn_data_desc,
        owned: Option<Box<dyn Memory>>,
    ) -> Result<norn_data> {
        check_desc(desc)?;
        if desc.ptr.is_null() && desc.bytes != 0 {
            return Err(invalid("desc.ptr is NULL but desc.bytes is not 0"));
        }
        self.check_open(true, true)?;
        let mut datum = unregistered(Extent {
            start: desc.ptr as usize,
            bytes: desc.bytes,
            rows: 1,
            stride: desc.bytes,
        });
        datum.place = desc.place;
        datum.kind = desc.kind;
        datum.flags = desc.flags;
        datum.reduce = desc.reduce;
        datum.owned = owned;
        // SAFETY: passed on from the caller.
        datum.name = unsafe { crate::abi::guard::string(desc.name) }.map(CString::from);
        let mut data = self.data.lock();
        data.recycle_pieces(|token| self.is_complete(token));
        let index = data.add(datum, desc.flags & NORN_ALIAS == 0)?;
        data.get_mut(index).timeline.datum = index;
        if desc.flags & NORN_UNWRITTEN != 0 {
            match self.new_places(&mut data, lane, &[(index, NORN_WRITE as u32)], 0) {
                Ok(place) => {
                    data.get_mut(index).unwritten = self.nodes.get(place).token(self.id, place);
                }
                Err(error) => {
                    data.remove(index);
                    return Err(error);
                }
            }
        }
        Ok(data.handle(self.id, index))
    }

    /// Splits a datum into disjoint pieces.
    pub(crate) fn split(
        &self,
        lane: &mut Lane,
        handle: norn_data,
        pieces: &[norn_piece],
    ) -> Result<Vec<norn_data>> {
        if pieces.is_empty() {
            return Err(invalid(
                "count is 0: a datum is split into at least one piece",
            ));
        }
        let mut data = self.data.lock();
        data.recycle_pieces(|token| self.is_complete(token));
        let whole = data.resolve(self.id, handle)?;
        {
            let datum = data.get(whole);
            if datum.is_split || datum.ending {
                return Err(Error::new(
                    NORN_E_STATE,
                    format!("{} is split or being unregistered", datum.label(whole)),
                ));
            }
            if !datum.unwritten.is_zero() {
                return Err(Error::new(
                    NORN_E_STATE,
                    format!("{} has no writer yet (NORN_UNWRITTEN)", datum.label(whole)),
                ));
            }
        }
        let extents = lay_out(&data, whole, pieces)?;
        let mut timeline = core::mem::take(&mut data.get_mut(whole).timeline);
        let mut parts = Vec::with_capacity(extents.len());
        let mut failed = None;
        for extent in extents {
            let add =
                |data: &mut DataTable, lane: &mut Lane, timeline: &mut Timeline| -> Result<u32> {
                    let mut piece = unregistered(extent);
                    piece.parent = whole;
                    piece.place = data.get(whole).place;
                    piece.kind = data.get(whole).kind;
                    piece.flags = data.get(whole).flags & !NORN_UNWRITTEN;
                    piece.reduce = data.get(whole).reduce;
                    piece.name = data.get(whole).name.clone();
                    let index = data.add(piece, false)?;
                    data.get_mut(index).timeline = timeline.inherit(self, lane, index)?;
                    Ok(index)
                };
            match add(&mut data, lane, &mut timeline) {
                Ok(index) => parts.push(index),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        data.get_mut(whole).timeline = timeline;
        if let Some(error) = failed {
            for part in parts {
                data.remove(part);
            }
            return Err(error);
        }
        let handles = parts
            .iter()
            .map(|part| data.handle(self.id, *part))
            .collect();
        let datum = data.get_mut(whole);
        datum.parts = parts;
        datum.is_split = true;
        Ok(handles)
    }

    /// Ends a split.
    pub(crate) fn join(&self, lane: &mut Lane, handle: norn_data) -> Result<()> {
        let mut data = self.data.lock();
        let whole = data.resolve(self.id, handle)?;
        let datum = data.get(whole);
        if !datum.is_split {
            return Err(Error::new(
                NORN_E_STATE,
                format!("{} is not split", datum.label(whole)),
            ));
        }
        if datum.parts.iter().any(|part| data.get(*part).is_split) {
            return Err(Error::new(
                NORN_E_STATE,
                format!("a piece of {} is still split", datum.label(whole)),
            ));
        }
        self.join_pieces(&mut data, lane, whole)
    }

    fn join_pieces(&self, data: &mut DataTable, lane: &mut Lane, whole: u32) -> Result<()> {
        let parts = data.get(whole).parts.clone();
        let mut timelines: Vec<Timeline> = parts
            .iter()
            .map(|part| core::mem::take(&mut data.get_mut(*part).timeline))
            .collect();
        let joined = Timeline::joined(self, lane, whole, &mut timelines)?;
        self.join_in_domains(lane, whole, &parts)?;
        for part in &parts {
            data.retire_piece(*part, joined.gate);
        }
        let datum = data.get_mut(whole);
        datum.timeline = joined;
        datum.former = parts;
        datum.is_split = false;
        datum.parts = Vec::new();
        Ok(())
    }

    /// Joins the pieces among the children of running tasks too.
    fn join_in_domains(&self, lane: &mut Lane, whole: u32, parts: &[u32]) -> Result<()> {
        for index in self.annexes.indices() {
            // SAFETY: the placing lock is held.
            let Some(domain) = (unsafe { self.annexes.get(index).domain() }) else {
                continue;
            };
            let mut timelines: Vec<Timeline> = parts
                .iter()
                .filter_map(|part| domain.remove(part))
                .collect();
            if timelines.is_empty() {
                continue;
            }
            if let Some(before) = domain.remove(&whole) {
                // Pieces that no child has touched stand where the whole stood.
                timelines.push(before);
            }
            let joined = Timeline::joined(self, lane, whole, &mut timelines)?;
            domain.insert(whole, joined);
        }
        Ok(())
    }

    /// Where the bytes of a datum lie: its extent, place and kind of memory.
    pub(crate) fn memory_of(&self, handle: norn_data) -> Result<(Extent, norn_place, i32)> {
        let mut memory = Err(Error::new(NORN_E_INVALID, ""));
        self.memories_of([handle], |found| memory = found);
        memory
    }

    /// As `memory_of` for several data, as they are at one moment. `each` is called under the placing lock, so it only
    /// keeps what it is told.
    pub(crate) fn memories_of(
        &self,
        handles: impl IntoIterator<Item = norn_data>,
        mut each: impl FnMut(Result<(Extent, norn_place, i32)>),
    ) {
        let mut handles = handles.into_iter().peekable();
        // Most launches name none, and need not wait for the lock.
        if handles.peek().is_none() {
            return;
        }
        let data = self.data.lock();
        for handle in handles {
            each(data.resolve(self.id, handle).map(|index| {
                let datum = data.get(index);
                (datum.memory, datum.place, datum.kind)
            }));
        }
    }

    /// Address and length of a datum.
    pub(crate) fn pointer(&self, handle: norn_data) -> Result<(u32, usize, u64)> {
        let data = self.data.lock();
        let index = data.resolve(self.id, handle)?;
        let memory = data.get(index).memory;
        Ok((index, memory.start, memory.span().unwrap_or(0)))
    }

    /// Takes the place after everything so far and refuses further accesses. Returns the place and a gate that
    /// completes when it is reached.
    pub(crate) fn begin_ending(
        &self,
        lane: &mut Lane,
        handle: norn_data,
        whole_only: bool,
    ) -> Result<(u32, u32, Token)> {
        let mut data = self.data.lock();
        let index = data.resolve(self.id, handle)?;
        let datum = data.get(index);
        if datum.ending {
            return Err(Error::new(
                NORN_E_STATE,
                "the datum is being unregistered or rebound already",
            ));
        }
        if datum.parent != 0 {
            return Err(Error::new(NORN_E_STATE, "a piece: join its datum instead"));
        }
        if whole_only && (datum.is_split || datum.owned.is_some()) {
            return Err(Error::new(
                NORN_E_STATE,
                "the datum is split or in norn's own memory",
            ));
        }
        if !datum.unwritten.is_zero() {
            // Nobody has written. If nobody reads either, the kept place simply goes.
            if datum.timeline.run != super::timeline::Run::None {
                return Err(Error::new(
                    NORN_E_STATE,
                    format!(
                        "{} has readers that wait for its first writer",
                        datum.label(index)
                    ),
                ));
            }
            let place = datum.unwritten;
            data.get_mut(index).unwritten = Token::COMPLETE;
            self.abandon_place(&mut data, lane, place.index());
        }
        let (place, gate) = self.hold_place(&mut data, lane, &[(index, NORN_WRITE as u32)], 0)?;
        data.get_mut(index).ending = true;
        Ok((index, place, gate))
    }

    /// A hold and a gate that completes when the hold is reached. Under the placing lock.
    pub(crate) fn hold_place(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        accesses: &[(u32, u32)],
        body: u32,
    ) -> Result<(u32, Token)> {
        let place = self.new_places(data, lane, accesses, super::node::flag::HOLD)?;
        let gate = self.new_internal(lane, super::node::kind::GATE)?;
        let mut joiner = super::joiner::Joiner::new(self, gate);
        for node in self.with_siblings(place) {
            let mode = self.nodes.get(node).argument.load(Ordering::Relaxed) as u32;
            self.pass_arrival(&mut joiner, node, mode);
            if let Some(annex) = self.annex(self.nodes.get(node)) {
                annex.held_by.store(body, Ordering::Release);
            }
            self.note_hold_of_body(body, node);
        }
        let token = joiner.node.token(self.id, gate);
        joiner.let_go(lane);
        Ok((place, token))
    }

    /// Ends `begin_ending`: removes the datum, or only allows accesses again.
    pub(crate) fn end_ending(&self, index: u32, remove: bool) {
        let mut data = self.data.lock();
        if !remove {
            data.get_mut(index).ending = false;
            return;
        }
        let mut below = vec![index];
        let mut next = 0;
        while next < below.len() {
            below.extend(data.get(below[next]).parts.iter());
            next += 1;
        }
        let removed: Vec<Datum> = below
            .into_iter()
            .rev()
            .map(|index| data.remove(index))
            .collect();
        // Freeing may take long: outside of the lock.
        drop(data);
        drop(removed);
    }

    /// Closes the open REDUCE runs of all data, so that a drain sees their results.
    pub(crate) fn close_reductions(&self, lane: &mut Lane) {
        let mut data = self.data.lock();
        let open: Vec<u32> = data
            .indices()
            .filter(|index| data.get(*index).timeline.run == super::timeline::Run::Reduce)
            .collect();
        for index in open {
            let _ = data.get_mut(index).timeline.close_unless(
                self,
                lane,
                super::timeline::Run::Readers,
            );
        }
    }

    /// Removes all data at close and frees norn's memory.
    pub(crate) fn remove_all_data(&self, lane: &mut Lane) {
        let mut data = self.data.lock();
        data.recycle_pieces(|_| true);
        let mut removed = data.remove_all();
        for datum in &mut removed {
            datum.timeline.retire(self, lane);
        }
        drop(data);
        drop(removed);
    }
}

fn check_desc(desc: &norn_data_desc) -> Result<()> {
    if desc.flags & !(NORN_UNWRITTEN | NORN_ALIAS) != 0 {
        return Err(invalid(format!(
            "desc.flags has unknown bits {:#x}",
            desc.flags
        )));
    }
    if !(NORN_MEMORY_HOST..=NORN_MEMORY_MPI).contains(&desc.kind) {
        return Err(invalid(format!("desc.kind {} is none", desc.kind)));
    }
    match desc.place.kind {
        NORN_PLACE_ANY | NORN_PLACE_CPU | NORN_PLACE_NUMA | NORN_PLACE_DEVICE => {}
        kind => {
            return Err(invalid(format!(
                "desc.place.kind {kind} is no place of memory"
            )));
        }
    }
    if desc.reduce.identity.is_some() && desc.kind == NORN_MEMORY_DEVICE {
        return Err(invalid(
            "desc.reduce: NORN_REDUCE combines on the host, which device memory is not for",
        ));
    }
    if desc.reduce.identity.is_some() != desc.reduce.combine.is_some() {
        return Err(invalid("desc.reduce needs both identity and combine"));
    }
    Ok(())
}

/// Addresses of the pieces, checked to lie inside the whole and to be disjoint.
fn lay_out(data: &DataTable, whole: u32, pieces: &[norn_piece]) -> Result<Vec<Extent>> {
    let memory = data.get(whole).memory;
    let span = memory.span().unwrap_or(0);
    if data.len_limit() < pieces.len() {
        return Err(Error::new(NORN_E_RESOURCE, "2^26 data are registered"));
    }
    let mut extents = Vec::with_capacity(pieces.len());
    for (position, piece) in pieces.iter().enumerate() {
        let outside = || {
            invalid(format!(
                "pieces[{position}] reaches outside {}",
                data.get(whole).label(whole)
            ))
        };
        if piece.rows > 1 && piece.stride < piece.bytes {
            return Err(invalid(format!(
                "pieces[{position}]: stride is less than bytes"
            )));
        }
        let extent = Extent {
            start: memory
                .start
                .checked_add(usize::try_from(piece.offset).map_err(|_| outside())?)
                .ok_or_else(outside)?,
            bytes: piece.bytes,
            rows: piece.rows.max(1),
            stride: piece.stride,
        };
        let end = extent
            .span()
            .and_then(|length| piece.offset.checked_add(length))
            .ok_or_else(outside)?;
        if end > span {
            return Err(outside());
        }
        let rows = Blocks {
            offset: piece.offset,
            bytes: extent.bytes,
            blocks: extent.rows,
            stride: extent.stride,
            planes: 1,
            plane_stride: 0,
        };
        if !memory.has_in_rows(&rows) {
            return Err(invalid(format!(
                "pieces[{position}] leaves the rows of {}, {}",
                data.get(whole).label(whole),
                memory.describe_rows()
            )));
        }
        extents.push(extent);
    }
    if let Some((first, second)) = find_overlap(&extents) {
        return Err(Error::new(
            NORN_E_OVERLAP,
            format!("pieces[{first}] and pieces[{second}] overlap"),
        ));
    }
    Ok(extents)
}
