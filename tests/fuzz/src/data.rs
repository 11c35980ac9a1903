//! The main thread's calls on data.

use std::ptr::null_mut;
use std::sync::MutexGuard;

use norn::abi::data::*;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::bodies::{combine, identity};
use crate::driver::Driver;
use crate::model::{Datum, Kind, Model, Place, ROOTS, WORDS};
use crate::watch;

impl Driver<'_> {
    fn roots(model: &Model) -> usize {
        model
            .data
            .iter()
            .filter(|datum| datum.part_of.is_none())
            .count()
    }

    /// A datum that is alive.
    pub fn datum(&mut self) -> Option<usize> {
        let which = self.choices.below(64);
        let model = self.run.model();
        let alive: Vec<usize> = (0..model.data.len())
            .filter(|datum| model.data[*datum].alive)
            .collect();
        alive.get(which % alive.len().max(1)).copied()
    }

    pub fn register(&mut self) {
        let (own, reduces, wrong) = (
            self.choices.one_in(4),
            self.choices.one_in(4),
            self.choices.below(16),
        );
        let mut model = self.run.model();
        let root = Self::roots(&model);
        if root == ROOTS {
            return;
        }
        // SAFETY: zero is valid.
        let mut desc: norn_data_desc = unsafe { std::mem::zeroed() };
        desc.struct_size = size_of::<norn_data_desc>();
        desc.bytes = 8 * WORDS as u64;
        desc.name = c"datum".as_ptr();
        if reduces {
            desc.reduce.identity = Some(identity);
            desc.reduce.combine = Some(combine);
        }
        let memory = self.run.memory[root * WORDS].get();
        if !own {
            desc.ptr = memory.cast();
        }
        let mut allowed = vec![NORN_OK];
        match wrong {
            10 => (desc.struct_size, allowed) = (8, vec![NORN_E_VERSION]),
            11 => (desc.flags, allowed) = (1 << 9, vec![NORN_E_INVALID]),
            12 => (desc.kind, allowed) = (99, vec![NORN_E_INVALID]),
            13 => {
                (desc.bytes, allowed) = (
                    u64::MAX,
                    vec![NORN_E_INVALID, NORN_E_MEMORY, NORN_E_OVERLAP],
                )
            }
            14 => {
                (desc.place.kind, allowed) =
                    (NORN_PLACE_DEVICE, vec![NORN_E_UNSUPPORTED, NORN_E_INVALID]);
            }
            // The memory of another datum.
            15 if !own => {
                let other = |datum: &&Datum| datum.part_of.is_none() && datum.alive && !datum.owned;
                let Some(other) = model.data.iter().find(other) else {
                    return;
                };
                (desc.ptr, allowed) = (other.base as *mut _, vec![NORN_E_OVERLAP]);
            }
            _ => {}
        }
        let mut data = norn_data { id: 0 };
        // SAFETY: the memory lives as long as the run.
        let status = unsafe {
            match own {
                true => norn_data_alloc(self.run.rt(), &desc, &mut data),
                false => norn_data_register(self.run.rt(), &desc, &mut data),
            }
        };
        if model.sealed {
            allowed.push(NORN_E_CLOSED);
        }
        self.run.expect(
            format_args!(
                "a new datum {}, own {own}, reduces {reduces}",
                model.data.len()
            ),
            status,
            &allowed,
        );
        if status != NORN_OK {
            return;
        }
        let (mut base, mut bytes) = (null_mut(), 0);
        // SAFETY: the outputs are writable.
        let status = unsafe { norn_data_pointer(self.run.rt(), data, &mut base, &mut bytes) };
        self.run.expect("norn_data_pointer", status, &[NORN_OK]);
        if bytes != 8 * WORDS as u64 || base.is_null() || (!own && base != memory.cast()) {
            self.run.complain("norn_data_pointer gives another memory");
        }
        let own_index = model.data.len();
        model.data.push(Datum {
            id: data.id,
            root: own_index,
            words: root * WORDS..(root + 1) * WORDS,
            parts: Vec::new(),
            part_of: None,
            alive: true,
            reduces,
            owned: own,
            base: base as usize,
            was_split: false,
        });
    }

    pub fn split(&mut self) {
        let Some(whole) = self.datum() else { return };
        let (at, gap, wrong) = (
            self.choices.below(3),
            self.choices.one_in(3),
            self.choices.below(8),
        );
        let mut model = self.run.model();
        let it = model.data[whole].clone();
        let count = it.words.len();
        if it.reduces || count < 2 {
            return;
        }
        let middle = 1 + at % (count - 1);
        let piece = |from: usize, to: usize| norn_piece {
            offset: 8 * from as u64,
            bytes: 8 * (to - from) as u64,
            rows: 0,
            stride: 0,
        };
        let end = if gap && count - middle > 1 {
            count - 1
        } else {
            count
        };
        let mut pieces = [piece(0, middle), piece(middle, end)];
        let mut allowed = vec![NORN_OK];
        match wrong {
            5 => (pieces[1], allowed) = (piece(0, count), vec![NORN_E_OVERLAP]),
            6 => (pieces[1], allowed) = (piece(middle, count + 1), vec![NORN_E_INVALID]),
            7 => {
                (pieces[1].rows, pieces[1].stride, allowed) =
                    (u64::MAX, u64::MAX, vec![NORN_E_INVALID, NORN_E_OVERLAP])
            }
            _ => {}
        }
        if !it.parts.is_empty() {
            allowed = vec![NORN_E_STATE, NORN_E_INVALID, NORN_E_OVERLAP];
        }
        let mut parts = [norn_data { id: 0 }; 2];
        // SAFETY: two pieces, room for two parts.
        let status = unsafe {
            norn_data_split(
                self.run.rt(),
                norn_data { id: it.id },
                pieces.as_ptr(),
                2,
                parts.as_mut_ptr(),
            )
        };
        if model.sealed {
            allowed.push(NORN_E_CLOSED);
        }
        self.run.expect(
            format_args!("norn_data_split of {whole} at {middle}, {end}"),
            status,
            &allowed,
        );
        if status != NORN_OK {
            return;
        }
        model.data[it.root].was_split = true;
        for (part, (from, to)) in parts.iter().zip([(0, middle), (middle, end)]) {
            model.data.push(Datum {
                id: part.id,
                root: it.root,
                words: it.words.start + from..it.words.start + to,
                parts: Vec::new(),
                part_of: Some(whole),
                alive: true,
                reduces: false,
                owned: false,
                base: it.base + 8 * from,
                was_split: false,
            });
            let part = model.data.len() - 1;
            model.data[whole].parts.push(part);
        }
    }

    pub fn join(&mut self) {
        let which = self.choices.below(16);
        let mut model = self.run.model();
        let split: Vec<usize> = (0..model.data.len())
            .filter(|datum| {
                model.data[*datum].alive && (!model.data[*datum].parts.is_empty() || which == 15)
            })
            .collect();
        let Some(whole) = split.get(which % split.len().max(1)).copied() else {
            return;
        };
        let parts = model.data[whole].parts.clone();
        let unfilled = |place: &Place| {
            parts.contains(&place.datum) && place.node.is_none() && !place.abandoned
        };
        if model.places.iter().any(unfilled) {
            return;
        }
        let nested = parts.iter().any(|part| !model.data[*part].parts.is_empty());
        // SAFETY: garbage gives a status.
        let status = unsafe {
            norn_data_join(
                self.run.rt(),
                norn_data {
                    id: model.data[whole].id,
                },
            )
        };
        let mut allowed = vec![if parts.is_empty() || nested {
            NORN_E_STATE
        } else {
            NORN_OK
        }];
        if model.sealed {
            allowed.push(NORN_E_CLOSED);
        }
        self.run
            .expect(format_args!("norn_data_join of {whole}"), status, &allowed);
        if status == NORN_OK {
            for part in parts {
                model.data[part].alive = false;
            }
            model.data[whole].parts.clear();
        }
    }

    /// Rebind or unregister, where every access is over for certain; otherwise where it is refused.
    pub fn end_datum(&mut self) {
        let rebind = self.choices.one_in(2);
        let Some(datum) = self.datum() else { return };
        let model = self.run.model();
        let it = model.data[datum].clone();
        let handle = norn_data { id: it.id };
        let mut on = model
            .places
            .iter()
            .filter(|place| model.data[place.datum].root == it.root);
        let over = on.all(|place| {
            model.is_over(place)
                && (place
                    .node
                    .is_none_or(|node| model.nodes[node].kind != Kind::Hold))
        });
        let bank = ROOTS * WORDS;
        let other = &self.run.memory[it.words.start + bank];
        if it.part_of.is_some() || rebind && (it.owned || !it.parts.is_empty()) {
            // SAFETY: garbage gives a status; the memory lives as long as the run.
            let status = unsafe {
                match rebind {
                    true => norn_data_rebind(
                        self.run.rt(),
                        handle,
                        other.get().cast(),
                        8 * it.words.len() as u64,
                    ),
                    false => norn_data_unregister(self.run.rt(), handle),
                }
            };
            self.run.expect(
                format_args!("the end of {datum}, rebind {rebind}"),
                status,
                &[NORN_E_STATE],
            );
        } else if over && rebind && it.base == self.run.memory[it.words.start].get() as usize {
            for word in it.words.clone() {
                // SAFETY: both words are of the run, and nobody has an access.
                unsafe { *self.run.memory[word + bank].get() = *self.run.memory[word].get() };
            }
            let base: *mut u64 = other.get();
            let sealed = model.sealed;
            // SAFETY: the memory lives as long as the run.
            let status = self.ended(model, it.root, || unsafe {
                norn_data_rebind(self.run.rt(), handle, base.cast(), 8 * WORDS as u64)
            });
            let allowed: &[norn_status] = if sealed {
                &[NORN_OK, NORN_E_CLOSED]
            } else {
                &[NORN_OK]
            };
            self.run
                .expect(format_args!("norn_data_rebind of {datum}"), status, allowed);
            let mut model = self.run.model();
            if status == NORN_OK {
                model.data[datum].base = base as usize;
            }
            model.data[datum].alive = true;
        } else if over && !rebind {
            watch::note(|| format!("norn_data_unregister of {datum} begins"));
            let saved = crate::values::words(&it);
            // SAFETY: garbage gives a status.
            let status = self.ended(model, it.root, || unsafe {
                norn_data_unregister(self.run.rt(), handle)
            });
            self.run.expect(
                format_args!("norn_data_unregister of {datum}"),
                status,
                &[NORN_OK],
            );
            // What was reduced is combined only now.
            let saved = if it.owned {
                saved
            } else {
                crate::values::words(&it)
            };
            self.run.model().ended.push((datum, saved));
        }
    }

    /// A call that waits for the last access to a datum. Bodies run meanwhile, and need the model; for them the datum
    /// is gone.
    fn ended(
        &self,
        mut model: MutexGuard<'_, Model>,
        root: usize,
        call: impl FnOnce() -> norn_status,
    ) -> norn_status {
        for one in &mut model.data {
            one.alive &= one.root != root;
        }
        drop(model);
        call()
    }
}
