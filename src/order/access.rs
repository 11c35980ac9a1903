//! The accesses of a submission: resolving and merging them, checking that a
//! parent covers them, and taking their places. All under the placing lock.

use std::sync::atomic::Ordering;

use super::annex::{MoreAccess, PrivateCopy};
use super::datum::DataTable;
use super::graph::Graph;
use super::joiner::{Joiner, Room, room_of};
use super::lane::Lane;
use super::node::{INLINE_SLOTS, Node, flag, meta};
use super::submit::invalid;
use super::timeline::{ReduceTarget, Timeline, node_flags};
use super::token::Token;
use super::wanted::{Wanted, check_mode, merge_modes};
use crate::abi::status::NORN_E_UNCOVERED;
use crate::abi::types::*;
use crate::error::{Error, Result};

/// Says which access of a call an error is about.
pub(crate) fn in_access(position: usize) -> impl Fn(Error) -> Error + Copy {
    move |error| {
        Error::new(
            error.status(),
            format!("accesses[{position}]: {}", error.text()),
        )
    }
}

impl Graph {
    /// Resolves and merges the accesses into `lane.wanted`, and checks them.
    pub(crate) fn resolve(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        parent: u32,
        accesses: &[norn_access],
    ) -> Result<()> {
        lane.wanted.clear();
        for (position, access) in accesses.iter().enumerate() {
            let at = in_access(position);
            let mode = check_mode(access.mode).map_err(at)?;
            if access.flags != 0 {
                return Err(at(invalid("flags is reserved and must be 0")));
            }
            // An unregister waits for the parent, and so for what happens inside its accesses.
            let index = match parent {
                0 => data.resolve_open(self.id, access.data),
                _ => data.resolve(self.id, access.data),
            }
            .map_err(at)?;
            let via = if access.slot == 0 {
                0
            } else {
                self.place_to_fill(Token(access.slot), index, mode)
                    .map_err(at)?
            };
            let datum = data.get(index);
            if mode == NORN_REDUCE as u32
                && (datum.reduce.identity.is_none() || datum.reduce.combine.is_none())
            {
                return Err(at(invalid(format!(
                    "{} has no reduction",
                    datum.label(index)
                ))));
            }
            if datum.is_split && via == 0 {
                let mut leaves = Vec::new();
                data.leaves(index, &mut leaves);
                for leaf in leaves {
                    self.want(data, lane, leaf, mode, 0).map_err(at)?;
                }
            } else {
                self.want(data, lane, index, mode, via).map_err(at)?;
            }
        }
        merge_wanted(&mut lane.wanted)?;
        if parent != 0 {
            for wanted in &lane.wanted {
                self.check_covered(data, parent, *wanted)?;
            }
        }
        Ok(())
    }

    /// Checks one access of a call that takes places itself: a reservation, a hold.
    pub(crate) fn resolve_whole(
        &self,
        data: &DataTable,
        access: &norn_access,
        taker: &str,
    ) -> Result<(u32, u32)> {
        let mode = check_mode(access.mode)?;
        if mode == NORN_REDUCE as u32 || access.slot != 0 || access.flags != 0 {
            return Err(invalid(format!(
                "{taker} takes no NORN_REDUCE, slot or flags"
            )));
        }
        Ok((data.resolve_open(self.id, access.data)?, mode))
    }

    pub(crate) fn want(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        index: u32,
        mut mode: u32,
        via: u32,
    ) -> Result<()> {
        if mode == NORN_COMMUTE as u32 && self.deterministic.load(Ordering::Relaxed) {
            mode = NORN_READ_WRITE as u32;
        }
        let datum = data.get(index);
        let mut via = via;
        let mut first_writer = false;
        if via == 0
            && !datum.unwritten.is_zero()
            && mode != NORN_READ as u32
            && !lane.first_written.contains(&index)
        {
            // The first writer takes the place that was kept for it.
            if mode == NORN_REDUCE as u32 {
                return Err(invalid(format!(
                    "{} is NORN_UNWRITTEN: a NORN_REDUCE cannot be its first writer",
                    datum.label(index)
                )));
            }
            via = datum.unwritten.index();
            first_writer = true;
        }
        lane.wanted.push(Wanted {
            datum: index,
            mode,
            via,
            first_writer,
        });
        Ok(())
    }

    /// Takes the places of `lane.wanted` and fills the slots. Under the placing lock.
    #[inline]
    pub(crate) fn take_places(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        joiner: &mut Joiner<'_>,
        parent: u32,
    ) -> Result<u32> {
        let mut flags = 0;
        let wanted = core::mem::take(&mut lane.wanted);
        for (position, wanted) in wanted.iter().enumerate() {
            flags |= node_flags(wanted.mode);
            self.take_place(data, lane, joiner, parent, position, *wanted)?;
        }
        lane.wanted = wanted;
        Ok(flags)
    }

    #[inline]
    pub(crate) fn take_place(
        &self,
        data: &mut DataTable,
        lane: &mut Lane,
        joiner: &mut Joiner<'_>,
        parent: u32,
        position: usize,
        wanted: Wanted,
    ) -> Result<()> {
        let Wanted {
            datum, mode, via, ..
        } = wanted;
        let mut bits = mode
            | if mode == NORN_READ as u32 {
                0
            } else {
                meta::WRITES
            };
        let room = room_of(position);
        if let Room::Slot(slot) = room {
            let slot = &joiner.node.slots[slot];
            slot.datum.store(datum, Ordering::Relaxed);
            slot.epoch.store(0, Ordering::Relaxed);
            slot.meta.store(bits, Ordering::Relaxed);
        }
        let mut epoch = 0;
        if via != 0 {
            bits |= meta::VIA_PLACE;
            if let Room::Slot(slot) = room {
                joiner.node.slots[slot].meta.store(bits, Ordering::Relaxed);
            }
            data.get_mut(datum).unwritten = match data.get(datum).unwritten {
                place if place.index() == via => Token::COMPLETE,
                other => other,
            };
            self.fill_place(lane, joiner, via, mode)?;
        } else {
            let (timeline, memory, reduce) = if parent == 0 {
                let datum = data.get_mut(datum);
                (&raw mut datum.timeline, datum.memory, datum.reduce)
            } else {
                let (memory, reduce) = (data.get(datum).memory, data.get(datum).reduce);
                (
                    self.child_timeline(data, lane, parent, datum)?,
                    memory,
                    reduce,
                )
            };
            // SAFETY: the timeline lies in the table or in the parent's domain, both under the placing
            // lock, which the caller holds; placing touches neither of the two containers.
            let timeline = unsafe { &mut *timeline };
            epoch = timeline.place(joiner, lane, room, mode, || ReduceTarget {
                operation: reduce,
                address: memory.start,
                bytes: memory.bytes,
            })?;
            if mode == NORN_REDUCE as u32
                && let Some(run) = &timeline.reduction
            {
                let member = timeline.members - 1;
                let run = run.clone();
                // SAFETY: the node is not let go yet, so it is ours.
                unsafe { self.annex_of(lane, joiner.index)?.body() }
                    .copies
                    .push(PrivateCopy {
                        datum,
                        run,
                        member,
                        memory: None,
                    });
            }
        }
        match room {
            Room::Slot(slot) => joiner.node.slots[slot]
                .epoch
                .store(epoch, Ordering::Relaxed),
            Room::Record => {
                // SAFETY: the node is not let go yet, so it is ours.
                unsafe { self.annex_of(lane, joiner.index)?.body() }
                    .more
                    .push(MoreAccess {
                        datum,
                        epoch,
                        meta: bits,
                    });
            }
        }
        Ok(())
    }

    /// The timeline of a datum among a parent's children, made when first touched.
    pub(crate) fn child_timeline(
        &self,
        data: &DataTable,
        lane: &mut Lane,
        parent: u32,
        datum: u32,
    ) -> Result<*mut Timeline> {
        let annex = self.annex_of(lane, parent)?;
        // SAFETY: the caller holds the placing lock; the reference ends with this function and its result
        // is used under the same lock.
        let domain = unsafe { annex.make_domain() };
        if !domain.contains_key(&datum) {
            // A piece begins where the whole it was cut from stands among these children.
            let mut ancestor = data.get(datum).parent;
            while ancestor != 0 && !domain.contains_key(&ancestor) {
                ancestor = data.get(ancestor).parent;
            }
            let timeline = match domain.get_mut(&ancestor) {
                Some(whole) if ancestor != 0 => whole.inherit(self, lane, datum)?,
                _ => Timeline {
                    datum,
                    ..Timeline::default()
                },
            };
            domain.insert(datum, timeline);
        }
        Ok(domain
            .get_mut(&datum)
            .map_or(core::ptr::null_mut(), |timeline| &raw mut *timeline))
    }

    /// Whether a parent's accesses allow this access of a child.
    pub(crate) fn check_covered(
        &self,
        data: &DataTable,
        parent: u32,
        wanted: Wanted,
    ) -> Result<()> {
        let mut covered = false;
        // A whole that was joined meanwhile is covered by accesses to all its pieces.
        let former = &data.get(wanted.datum).former;
        let mut pieces = 0;
        self.for_each_access(parent, |datum, bits, _| {
            let enough = bits & meta::RELEASED == 0
                && match (bits & meta::MODE) as i32 {
                    NORN_READ => wanted.mode == NORN_READ as u32,
                    NORN_REDUCE => false,
                    _ => true,
                };
            covered |= enough && data.lies_within(wanted.datum, datum);
            pieces += usize::from(enough && former.contains(&datum));
        });
        covered |= !former.is_empty() && pieces == former.len();
        if covered {
            return Ok(());
        }
        Err(Error::new(
            NORN_E_UNCOVERED,
            format!(
                "the parent task {} holds no access that covers mode {} on {}",
                self.label(parent),
                wanted.mode,
                data.get(wanted.datum).label(wanted.datum)
            ),
        ))
    }

    /// Calls `see(datum, meta, epoch)` for each access of a node.
    pub(crate) fn for_each_access(&self, index: u32, mut see: impl FnMut(u32, u32, u32)) {
        let node = self.nodes.get(index);
        let state = node.load_state();
        for slot in &node.slots[..Node::slots_in(state).min(INLINE_SLOTS)] {
            let datum = slot.datum.load(Ordering::Relaxed);
            if datum != 0 {
                see(
                    datum,
                    slot.meta.load(Ordering::Relaxed),
                    slot.epoch.load(Ordering::Relaxed),
                );
            }
        }
        if state & flag::MORE_ACCESSES != 0
            && let Some(annex) = self.annex(node)
        {
            // SAFETY: `more` is written before the node is let go; callers own the node or hold the placing
            // lock while it is alive.
            for more in &unsafe { annex.body() }.more {
                see(more.datum, more.meta, more.epoch);
            }
        }
    }
}

/// Merges accesses to the same datum; the strongest mode wins.
fn merge_wanted(wanted: &mut Vec<Wanted>) -> Result<()> {
    if wanted.len() > 16 {
        // Long lists are sorted; the order of places within one submission does not matter.
        wanted.sort_by_key(|wanted| wanted.datum);
        let mut merged: Vec<Wanted> = Vec::with_capacity(wanted.len());
        for next in wanted.drain(..) {
            match merged.last_mut() {
                Some(last) if last.datum == next.datum => merge_into(last, next)?,
                _ => merged.push(next),
            }
        }
        *wanted = merged;
        return Ok(());
    }
    let mut kept = 0;
    for position in 0..wanted.len() {
        let next = wanted[position];
        match wanted[..kept]
            .iter()
            .position(|other| other.datum == next.datum)
        {
            Some(first) => merge_into(&mut wanted[first], next)?,
            None => {
                wanted[kept] = next;
                kept += 1;
            }
        }
    }
    wanted.truncate(kept);
    Ok(())
}

fn merge_into(first: &mut Wanted, second: Wanted) -> Result<()> {
    if first.via != 0 && second.via != 0 && first.via != second.via {
        return Err(invalid("one datum is accessed through two reserved places"));
    }
    let mode = merge_modes(first.mode, second.mode);
    let via = first.via.max(second.via);
    first.first_writer |= second.first_writer;
    if via != 0 && first.mode != second.mode && !first.first_writer {
        return Err(invalid(
            "a datum with a reserved place is accessed in two modes",
        ));
    }
    first.mode = mode;
    first.via = via;
    Ok(())
}
