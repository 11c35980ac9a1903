//! The end of a run: everything is served or left open, the runtime is closed, and all is checked.

use std::ffi::c_void;
use std::sync::atomic::Ordering::*;

use norn::abi::data::norn_reserve_abandon;
use norn::abi::group::norn_group_close;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::norn_start;
use norn::abi::token::norn_on_complete;
use norn::abi::types::*;

use crate::bodies::{cancel, keep};
use crate::driver::Driver;
use crate::fate::{CLOSED, FAILED, Fate, Fates, OK, of_status};
use crate::model::{Kind, Model};
use crate::values::{check_order, check_values};
use crate::watch;

impl Driver<'_> {
    pub fn finish(mut self) {
        let tidy = !self.choices.one_in(2);
        let cancels = self.choices.one_in(3);
        let holds: Vec<(usize, u64)> = {
            let model = self.run.model();
            let open = |node: &&(usize, &crate::model::Node)| {
                node.1.kind == Kind::Hold && node.1.resolved.is_none()
            };
            let nodes = model.nodes.iter().enumerate();
            nodes
                .filter(|node| open(&node))
                .map(|(index, node)| (index, node.id))
                .collect()
        };
        for (node, id) in holds {
            self.release_hold(node, id);
        }
        if tidy {
            self.serve();
            let served = Self::all_served(&self.run.model());
            if served {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_drain(self.rt(), -1) };
                self.run.expect("the last norn_drain", status, &[NORN_OK]);
                self.see_all();
            }
        }
        let flags = if cancels && !tidy {
            NORN_CANCEL
        } else {
            NORN_DRAIN
        };
        {
            let mut model = self.run.model();
            if !Self::all_served(&model) || flags == NORN_CANCEL {
                model.bad = true;
            }
            model.closing = Some(flags);
        }
        watch::note(|| crate::run::dump(self.rt(), NORN_DUMP_TEXT).unwrap_or_default());
        watch::note(|| self.announce_ends());
        // SAFETY: no other thread uses the runtime.
        let status = unsafe {
            match flags {
                NORN_DRAIN => norn_close(self.rt()),
                _ => norn_close_with(self.rt(), flags, -1),
            }
        };
        let model = self.run.model().clone();
        let mut fates = Fates::new(&model);
        let fates: Vec<Fate> = (0..model.nodes.len()).map(|node| fates.of(node)).collect();
        self.check_close(&model, &fates, status);
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_progress(self.rt()) };
        self.run
            .expect("norn_progress after close", status, &[NORN_E_INVALID]);
        self.check_tasks(&model, &fates);
        self.check_callbacks(&model, &fates);
        check_order(&self.run, &model);
        check_values(&self.run, &model);
        watch::rest();
    }

    /// For a trace: how every token ends, also at the close.
    fn announce_ends(&self) -> String {
        unsafe extern "C" fn end(node: *mut c_void, _: norn_token, status: norn_status) {
            let status = crate::run::name(status);
            watch::note(|| format!("node {} ends as {status}", node as usize));
        }
        let nodes: Vec<u64> = self.run.model().nodes.iter().map(|node| node.id).collect();
        for (node, id) in nodes.into_iter().enumerate().filter(|(_, id)| *id != 0) {
            // SAFETY: the argument is a number.
            unsafe {
                norn_on_complete(self.rt(), norn_token { id }, Some(end), node as *mut c_void)
            };
        }
        String::from("all ends are told")
    }

    /// Serves what waits for somebody outside the graph.
    fn serve(&mut self) {
        let count = self.run.model().nodes.len();
        for node in 0..count {
            let (it, sealed) = {
                let model = self.run.model();
                (model.nodes[node].clone(), model.sealed)
            };
            match it.kind {
                Kind::Promise if it.resolved.is_none() && !it.cancelled => {
                    keep(&self.run, node, it.id, false)
                }
                Kind::Declared if !it.cancelled => cancel(&self.run, node, it.id),
                Kind::Task if it.held && it.id != 0 && !sealed => {
                    let mut model = self.run.model();
                    // SAFETY: garbage gives a status.
                    let status = unsafe { norn_start(self.run.rt(), norn_token { id: it.id }) };
                    let allowed: &[norn_status] = if model.bad {
                        &[NORN_OK, NORN_E_STATE]
                    } else {
                        &[NORN_OK]
                    };
                    self.run
                        .expect(format_args!("norn_start of node {node}"), status, allowed);
                    model.nodes[node].held = false;
                }
                _ => {}
            }
        }
        let mut model = self.run.model();
        for place in 0..model.places.len() {
            let it = &mut model.places[place];
            if it.node.is_none() && !it.abandoned {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_reserve_abandon(self.run.rt(), it.slot) };
                self.run.expect("norn_reserve_abandon", status, &[NORN_OK]);
                it.abandoned = true;
            }
        }
        for group in (0..model.groups.len()).rev() {
            if !model.groups[group].closed {
                // SAFETY: garbage gives a status.
                let status = unsafe {
                    norn_group_close(
                        self.run.rt(),
                        norn_group {
                            id: model.groups[group].id,
                        },
                    )
                };
                let allowed: &[norn_status] = if model.bad || model.sealed {
                    &[NORN_OK, NORN_E_STATE, NORN_E_CLOSED]
                } else {
                    &[NORN_OK]
                };
                self.run.expect("norn_group_close", status, allowed);
                model.groups[group].closed = true;
            }
        }
    }

    fn check_close(&self, model: &Model, fates: &[Fate], status: norn_status) {
        let mut allowed = vec![NORN_OK];
        if fates.iter().any(|fate| fate & FAILED != 0) {
            allowed.push(NORN_E_TASK_FAILED);
        }
        if fates.iter().any(|fate| fate & CLOSED != 0)
            || model.bad && model.places.iter().any(|place| place.node.is_none())
        {
            allowed.push(NORN_E_CLOSED);
        }
        // A failure that nobody can have looked at.
        let looked = model.nodes.iter().any(|node| node.seen.is_some())
            || self
                .run
                .callbacks
                .iter()
                .any(|callback| callback.node.load(SeqCst) != 0)
            || model.nodes.iter().any(|node| node.nests);
        if !looked && fates.contains(&FAILED) {
            allowed.remove(0);
        }
        self.run.expect("the close", status, &allowed);
    }

    fn check_tasks(&self, model: &Model, fates: &[Fate]) {
        for (index, track) in self.run.tracks.iter().enumerate() {
            let (runs, drops) = (track.runs.load(SeqCst), track.drops.load(SeqCst));
            if track.accepted.load(SeqCst) == 0 {
                if runs + drops != 0 {
                    self.run.complain(format_args!(
                        "a refused task ran {runs} times, was dropped {drops} times"
                    ));
                }
                continue;
            }
            let node = track.node.load(SeqCst);
            let (it, fate) = (&model.nodes[node], fates[node]);
            if it.track != Some(index) || drops != 1 || runs > 1 {
                self.run.complain(format_args!(
                    "node {node} ran {runs} times and was dropped {drops} times"
                ));
            }
            let must = fate & !(OK | FAILED) == 0;
            let must_not = fate & (OK | FAILED) == 0 && !it.nests && it.children.is_empty();
            if must && runs == 0 || must_not && runs == 1 {
                self.run.complain(format_args!(
                    "node {node} ran {runs} times with fate {fate:#x}: {it:?}, all fates: {fates:x?}"
                ));
            }
        }
    }

    fn check_callbacks(&self, model: &Model, fates: &[Fate]) {
        for callback in &self.run.callbacks {
            let (node, calls) = (callback.node.load(SeqCst), callback.calls.load(SeqCst));
            if node == 0 {
                continue;
            }
            let status = callback.status.load(SeqCst);
            let allowed = if node == 1 { OK } else { fates[node - 2] };
            let seen = if node == 1 {
                None
            } else {
                model.nodes[node - 2].seen
            };
            if calls != 1
                || of_status(status) & allowed == 0
                || seen.is_some_and(|seen| seen != status)
            {
                self.run.complain(format_args!(
                    "the callback of node {} was called {calls} times, with {status}; fate {allowed:#x}, seen {seen:?}",
                    node as isize - 2
                ));
            }
        }
    }
}
