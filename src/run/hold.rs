//! Calls that wait for data: acquire, unregister, rebind.

use core::ffi::c_void;

use super::runtime::Runtime;
use super::seat;
use crate::abi::status::{NORN_E_INVALID, NORN_E_PROPAGATED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::access::in_access;
use crate::order::token::Token;
use crate::order::wanted::merge_modes;
use crate::sync::mutant;

impl Runtime {
    /// `norn_data_acquire`.
    pub(crate) fn data_acquire(
        &self,
        accesses: &[norn_access],
        timeout_ns: i64,
    ) -> Result<norn_token> {
        let body = seat::body_in(self);
        self.graph().check_open(body != 0, true)?;
        let placed = self.act(|graph, lane| -> Result<Option<(u32, Token)>> {
            let mut data = graph.data.lock();
            let mut wanted: Vec<(u32, u32)> = Vec::with_capacity(accesses.len());
            for (position, access) in accesses.iter().enumerate() {
                let (index, mode) = graph
                    .resolve_whole(&data, access, "a hold")
                    .map_err(in_access(position))?;
                // A hold is alone on its data as a writer is.
                let mode = if mode == NORN_COMMUTE as u32 {
                    NORN_READ_WRITE as u32
                } else {
                    mode
                };
                match wanted.iter_mut().find(|(other, _)| *other == index) {
                    Some((_, first)) => *first = merge_modes(*first, mode),
                    None => wanted.push((index, mode)),
                }
            }
            if wanted.is_empty() {
                return Ok(None);
            }
            graph.hold_place(&mut data, lane, &wanted, body).map(Some)
        })?;
        let Some((place, gate)) = placed else {
            return Ok(norn_token::default());
        };
        self.wait_for_place(place, gate, timeout_ns)?;
        Ok(self
            .graph()
            .nodes
            .get(place)
            .token(self.graph().id, place)
            .into())
    }

    /// Waits until a hold is reached; gives it up if the wait fails.
    fn wait_for_place(&self, place: u32, gate: Token, timeout_ns: i64) -> Result<()> {
        let waited = if self.graph().is_complete(gate) {
            self.graph().outcome(gate)
        } else {
            self.wait(gate.into(), timeout_ns)
        };
        if waited.is_err() {
            self.act(|graph, lane| {
                let mut data = graph.data.lock();
                for node in graph.with_siblings(place) {
                    graph.abandon_place(&mut data, lane, node);
                }
            });
        }
        waited
    }

    /// `norn_data_unregister`.
    pub(crate) fn data_unregister(&self, data: norn_data) -> Result<()> {
        let (index, place, gate) = self.act(|graph, lane| graph.begin_ending(lane, data, false))?;
        if !mutant!("memory_freed_early") {
            self.wait_for_ending(index, place, gate)?;
        }
        self.graph().end_ending(index, true);
        Ok(())
    }

    /// `norn_data_rebind`.
    pub(crate) fn data_rebind(&self, data: norn_data, ptr: *mut c_void, bytes: u64) -> Result<()> {
        if ptr.is_null() && bytes != 0 {
            return Err(Error::new(NORN_E_INVALID, "ptr is NULL but bytes is not 0"));
        }
        let (_, place, kind) = self.graph().memory_of(data)?;
        let desc = norn_data_desc {
            struct_size: size_of::<norn_data_desc>(),
            ptr,
            bytes,
            place,
            kind,
            flags: 0,
            name: core::ptr::null(),
            reduce: norn_reduction {
                identity: None,
                combine: None,
                arg: core::ptr::null_mut(),
            },
        };
        self.check_memory(&desc).map_err(|error| {
            // What a description calls desc.ptr is an argument here.
            Error::new(
                error.status(),
                error.text().trim_start_matches("desc.").to_owned(),
            )
        })?;
        let (index, place, gate) = self.act(|graph, lane| graph.begin_ending(lane, data, true))?;
        self.wait_for_ending(index, place, gate)?;
        let rebound = self.graph().data.lock().rebind(index, ptr as usize, bytes);
        self.graph().end_ending(index, false);
        rebound
    }

    /// Waits for the last access to a datum. A failed one has ended too.
    fn wait_for_ending(&self, index: u32, place: u32, gate: Token) -> Result<()> {
        match self.wait_for_place(place, gate, -1) {
            Ok(()) => {
                self.act(|graph, lane| graph.release_hold_keeping_failure(lane, place));
                Ok(())
            }
            Err(error) if error.status() == NORN_E_PROPAGATED => Ok(()),
            Err(error) => {
                self.graph().end_ending(index, false);
                Err(error)
            }
        }
    }
}
