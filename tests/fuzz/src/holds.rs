//! The main thread's holds on data, and the places it takes before their tasks.

use norn::abi::data::*;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::bodies::touch;
use crate::driver::{Driver, stranger};
use crate::fate::Fates;
use crate::model::{Kind, Named, Node, Place};
use crate::watch;

/// Modes that a hold or a reservation may have.
const MODES: [i32; 4] = [NORN_READ, NORN_WRITE, NORN_READ_WRITE, NORN_COMMUTE];

impl Driver<'_> {
    pub fn acquire(&mut self) {
        // It would run bodies, which wait for the model, on the thread that holds it.
        if self.run.caller_works {
            return;
        }
        let mut wanted: Vec<(usize, i32)> = Vec::new();
        for _ in 0..1 + self.choices.below(2) {
            let Some(datum) = self.datum() else { return };
            let mode = self.choices.pick(&MODES);
            let model = self.run.model();
            let words = model.words_of(datum);
            let free = wanted.iter().all(|(other, _)| {
                model
                    .words_of(*other)
                    .iter()
                    .all(|word| !words.contains(word))
            });
            if free {
                wanted.push((datum, mode));
            }
        }
        let number = self.choices.below(4);
        let mut model = self.run.model();
        let own: Vec<norn_access> = wanted
            .iter()
            .map(|(datum, mode)| norn_access {
                data: norn_data {
                    id: model.data[*datum].id,
                },
                slot: 0,
                mode: *mode,
                flags: 0,
            })
            .collect();
        let mut node = Node::new(Kind::Hold);
        let index = model.nodes.len();
        for (datum, mode) in &wanted {
            let key = model.next_key();
            let words = model.words_of(*datum);
            node.places.push(model.places.len());
            model.places.push(Place {
                key,
                mode: *mode,
                words,
                datum: *datum,
                node: Some(index),
                slot: 0,
                alone: true,
                abandoned: false,
                released: None,
                saw: None,
            });
        }
        let places = node.places.clone();
        model.nodes.push(node);
        let served = !Fates::new(&model).waits(index);
        let (sealed, bad) = (model.sealed, model.bad);
        let mut allowed = vec![NORN_OK];
        // Bodies may submit meanwhile: with workers the places must be taken and looked at in one step.
        let limit = if self.run.inside && number > 1 && served {
            -1
        } else {
            allowed.push(NORN_E_TIMEOUT);
            if self.run.inside { 50_000 } else { 0 }
        };
        if bad {
            allowed.push(NORN_E_PROPAGATED);
        }
        if sealed {
            allowed.extend([NORN_E_CLOSED, NORN_E_DEADLOCK]);
        }
        let kept = if self.run.inside {
            drop(model);
            None
        } else {
            Some(model)
        };
        watch::note(|| {
            format!("norn_data_acquire of {wanted:?} as node {index} begins, limit {limit}")
        });
        let mut hold = norn_token { id: 0 };
        // SAFETY: the array is as long as said, the output writable.
        let status = unsafe {
            norn_data_acquire(
                self.run.rt(),
                own.as_ptr(),
                own.len() as u64,
                limit,
                &mut hold,
            )
        };
        self.run.expect(
            format_args!("norn_data_acquire of {wanted:?} as node {index}, limit {limit}"),
            status,
            &allowed,
        );
        let mut model = kept.unwrap_or_else(|| self.run.model());
        if status == NORN_OK {
            model.nodes[index].id = hold.id;
            drop(model);
            touch(&self.run, index);
        } else {
            // Nothing is held; the places are given up.
            model.nodes[index].resolved = Some(true);
            for place in places {
                model.places[place].abandoned = true;
            }
        }
    }

    pub fn release(&mut self) {
        let which = self.choices.below(16);
        let holds: Vec<(usize, u64)> = {
            let model = self.run.model();
            let holds = model
                .nodes
                .iter()
                .enumerate()
                .filter(|(_, node)| node.kind == Kind::Hold && node.id != 0);
            holds.map(|(index, node)| (index, node.id)).collect()
        };
        let Some((node, id)) = holds.get(which % holds.len().max(1)).copied() else {
            let (named, token) = self.token();
            // SAFETY: garbage gives a status.
            let status = unsafe { norn_data_release(self.rt(), token) };
            if named == Named::Zero {
                // What an acquire of nothing gives.
                return self
                    .run
                    .expect("norn_data_release of {0}", status, &[NORN_OK]);
            }
            return self
                .run
                .expect_error("norn_data_release of no hold", status);
        };
        self.release_hold(node, id);
    }

    pub fn release_hold(&mut self, node: usize, id: u64) {
        let places = {
            let model = self.run.model();
            if model.nodes[node].resolved.is_some() {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_data_release(self.rt(), norn_token { id }) };
                return self.run.expect(
                    format_args!("norn_data_release of {node}, again"),
                    status,
                    &[NORN_E_STATE],
                );
            }
            model.nodes[node].places.clone()
        };
        // Nobody has changed what is held.
        for place in places {
            let model = self.run.model();
            let (place, datum) = (&model.places[place], &model.data[model.places[place].datum]);
            let saw = place
                .saw
                .clone()
                .expect("it was touched when it was acquired");
            for (word, old) in place.words.iter().zip(saw) {
                let address = (datum.base + 8 * (word - datum.words.start)) as *const u64;
                // SAFETY: the word is inside the datum, and this thread holds it.
                let now = unsafe { address.read() };
                if now != crate::bodies::written(place.mode, old, node) {
                    self.run.complain(format_args!(
                        "word {word} changed while node {node} held it"
                    ));
                }
            }
        }
        let mut model = self.run.model();
        // SAFETY: the memory is not touched any more.
        let status = unsafe { norn_data_release(self.run.rt(), norn_token { id }) };
        self.run.expect(
            format_args!("norn_data_release of {node}"),
            status,
            &[NORN_OK],
        );
        model.nodes[node].resolved = Some(true);
    }

    pub fn reserve(&mut self) {
        let Some(datum) = self.datum() else { return };
        let (mode, wrong) = (self.choices.pick(&MODES), self.choices.below(8));
        let mut model = self.run.model();
        let mut allowed = vec![NORN_OK];
        let mut access = norn_access {
            data: norn_data {
                id: model.data[datum].id,
            },
            slot: 0,
            mode,
            flags: 0,
        };
        let mut count = 1;
        match wrong {
            4 => (access.mode, allowed) = (NORN_REDUCE, vec![NORN_E_INVALID]),
            5 => (access.data, allowed) = (stranger().1, vec![NORN_E_INVALID]),
            6 => (access.mode, allowed) = (77, vec![NORN_E_INVALID]),
            7 => (count, allowed) = (2, vec![NORN_E_INVALID]),
            _ => {}
        }
        if model.sealed {
            allowed = vec![NORN_E_CLOSED, NORN_E_INVALID];
        }
        let mut slots = [0; 2];
        // SAFETY: two accesses, room for two numbers.
        let status = unsafe {
            norn_reserve(
                self.run.rt(),
                [access, access].as_ptr(),
                count,
                slots.as_mut_ptr(),
            )
        };
        self.run.expect(
            format_args!("norn_reserve of {datum}, mode {mode}"),
            status,
            &allowed,
        );
        if status == NORN_OK {
            let key = model.next_key();
            let words = model.words_of(datum);
            model.places.push(Place {
                key,
                mode,
                words,
                datum,
                node: None,
                slot: slots[0],
                alone: true,
                abandoned: false,
                released: None,
                saw: None,
            });
        }
    }

    pub fn abandon(&mut self) {
        let which = self.choices.below(16);
        let wrong = self.choices.number();
        let mut model = self.run.model();
        let slots: Vec<usize> = (0..model.places.len())
            .filter(|place| model.places[*place].slot != 0)
            .collect();
        let Some(place) = slots
            .get(which % slots.len().max(1))
            .copied()
            .filter(|_| which != 15)
        else {
            let slot = model.never_issued(wrong);
            // SAFETY: garbage gives a status.
            let status = unsafe { norn_reserve_abandon(self.run.rt(), slot) };
            return self
                .run
                .expect_error("norn_reserve_abandon of garbage", status);
        };
        let it = &mut model.places[place];
        let allowed = if it.abandoned || it.node.is_some() {
            NORN_E_STATE
        } else {
            NORN_OK
        };
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_reserve_abandon(self.run.rt(), it.slot) };
        self.run.expect(
            format_args!("norn_reserve_abandon of place {place}"),
            status,
            &[allowed],
        );
        it.abandoned |= status == NORN_OK;
    }
}
