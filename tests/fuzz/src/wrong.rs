//! Calls that no model is needed for: they are wrong whatever the state, and must say so.

use std::ptr::{null, null_mut};

use norn::abi::body::*;
use norn::abi::data::*;
use norn::abi::group::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;

use crate::driver::{Driver, HEADER, stranger};
use crate::run::dump;
use crate::task::{Draft, submit};

impl Driver<'_> {
    pub fn wrong(&mut self) {
        match self.choices.below(4) {
            0 => self.wrong_runtime(),
            1 => self.wrong_values(),
            2 => self.wrong_data(),
            _ => self.wrong_task(),
        }
    }

    /// A runtime that is none.
    fn wrong_runtime(&mut self) {
        let rt = match self.choices.below(4) {
            0 => null_mut(),
            1 => usize::MAX as *mut norn_runtime,
            2 => (self.rt() as usize ^ 1 << 20) as *mut norn_runtime,
            // An address of something else.
            _ => (&raw const *self.run).cast_mut().cast(),
        };
        let (_, token) = self.token();
        let access = norn_access {
            data: stranger().1,
            slot: 0,
            mode: NORN_READ,
            flags: 0,
        };
        let (mut number, mut out) = (0, token);
        let run = &self.run;
        // SAFETY: what is not garbage is as long as it says; garbage gives a status.
        let statuses = unsafe {
            match self.choices.below(12) {
                0 => norn_await(rt, token, -1),
                1 => norn_cancel(rt, token),
                2 => norn_drain(rt, -1),
                3 => norn_close(rt),
                4 => norn_close_with(rt, NORN_CANCEL, -1),
                5 => norn_seal(rt),
                6 => norn_declare(rt, null(), &mut out),
                7 => norn_reserve(rt, &access, 1, &mut number),
                8 => norn_data_acquire(rt, &access, 1, -1, &mut out),
                9 => dump(rt, NORN_DUMP_TEXT).err().unwrap_or(NORN_OK),
                10 => norn_await_any(rt, &token, 1, -1, &mut number),
                _ => norn_unhold(rt, token, 1),
            }
        };
        run.expect_error("a call on no runtime", statuses);
        if out != token || number != 0 {
            run.complain("a call that failed wrote an output");
        }
    }

    /// NULL, and values out of range, on the right runtime.
    fn wrong_values(&mut self) {
        let rt = self.rt();
        let (_, token) = self.token();
        // SAFETY: garbage gives a status; zero is valid; nothing is read beyond what a size says.
        let status = unsafe {
            match self.choices.below(16) {
                0 => norn_submit(rt, null(), null_mut()),
                1 => norn_declare(rt, null(), null_mut()),
                2 => norn_test(rt, token, null_mut()),
                3 => norn_error(rt, token, null_mut()),
                4 => norn_await_all(rt, null(), 1, -1),
                5 => norn_await_any(rt, &token, u64::MAX, 0, &mut 0),
                6 => norn_on_complete(rt, token, None, null_mut()),
                7 => norn_dump(rt, 7, None, null_mut()),
                8 => norn_close_with(rt, 2, -1),
                9 => norn_intern(rt, null(), null_mut()),
                10 => norn_stats(rt, null_mut()),
                11 => norn_fail(rt, token, 0, null()),
                12 => norn_open_version(HEADER, null(), null_mut()),
                13 => norn_self_get(rt.cast(), null_mut()),
                14 => norn_unhold(rt, token, 0),
                _ => {
                    let mut config: norn_config = std::mem::zeroed();
                    config.struct_size = size_of::<norn_config>();
                    match self.choices.below(4) {
                        0 => config.mode = 9,
                        1 => config.workers = -7,
                        2 => config.struct_size = 16,
                        _ => config.cpus = c"no cpus".as_ptr(),
                    }
                    norn_open_version(HEADER, &config, &mut null_mut())
                }
            }
        };
        self.run.expect_error("a call with a wrong value", status);
    }

    /// A datum or group that is none, or no more.
    fn wrong_data(&mut self) {
        let number = self.choices.number();
        let rt = self.rt();
        let which = self.choices.below(10);
        let model = self.run.model();
        let dead: Vec<u64> = model
            .data
            .iter()
            .filter(|datum| !datum.alive)
            .map(|datum| datum.id)
            .collect();
        let id = match number % 3 {
            0 if !dead.is_empty() => dead[number as usize / 3 % dead.len()],
            1 => stranger().1.id,
            _ => model.never_issued(number),
        };
        drop(model);
        let data = norn_data { id };
        let access = norn_access {
            data,
            slot: 0,
            mode: NORN_READ,
            flags: 0,
        };
        let piece = norn_piece {
            offset: 0,
            bytes: 8,
            rows: 0,
            stride: 0,
        };
        let mut part = norn_data { id: 7 };
        let (mut token, mut slot) = (norn_token { id: 7 }, 7);
        // SAFETY: garbage gives a status; the arrays have one element.
        let status = unsafe {
            match which {
                0 => norn_data_split(rt, data, &piece, 1, &mut part),
                1 => norn_data_join(rt, data),
                2 => norn_data_rebind(rt, data, null_mut(), 8),
                3 => norn_data_unregister(rt, data),
                4 => norn_data_acquire(rt, &access, 1, -1, &mut token),
                5 => norn_reserve(rt, &access, 1, &mut slot),
                6 => norn_data_pointer(rt, data, null_mut(), null_mut()),
                7 => norn_group_close(
                    rt,
                    norn_group {
                        id: stranger().0.id,
                    },
                ),
                8 => norn_group_close(
                    rt,
                    norn_group {
                        id: number | 1 << 53,
                    },
                ),
                _ => norn_data_register(rt, null(), &mut part),
            }
        };
        self.run
            .expect_error(format_args!("a call on no datum, {which}"), status);
        if part.id != 7 || token.id != 7 || slot != 7 {
            self.run.complain("a call that failed wrote an output");
        }
    }

    /// A task with one wrong field; nothing of it may be taken.
    fn wrong_task(&mut self) {
        let mut draft = Draft::default();
        let number = self.choices.number();
        let which = self.choices.below(12);
        let mut model = self.run.model();
        let access = norn_access {
            data: stranger().1,
            slot: 0,
            mode: NORN_READ,
            flags: 0,
        };
        let alive = model
            .data
            .iter()
            .find(|datum| datum.alive)
            .map(|datum| norn_data { id: datum.id });
        let own = alive.map(|data| norn_access { data, ..access });
        draft.errors = vec![NORN_E_INVALID];
        match which {
            0 => (draft.size, draft.errors) = (8, vec![NORN_E_VERSION]),
            1 => (draft.size, draft.errors) = (1 << 20, vec![NORN_E_VERSION]),
            2 => draft.no_body = true,
            3 => draft.flags = 1 << 12,
            4 => draft.cpus = -1,
            5 => draft.place = norn_place { kind: 77, index: 0 },
            6 => {
                draft.place = norn_place {
                    kind: NORN_PLACE_CPU,
                    index: 999,
                }
            }
            7 => {
                (draft.place, draft.errors) = (
                    norn_place {
                        kind: NORN_PLACE_DEVICE,
                        index: 0,
                    },
                    vec![NORN_E_UNSUPPORTED],
                )
            }
            8 => draft.wrong_accesses.push(access),
            9 => match own {
                Some(own) => draft.wrong_accesses.push(norn_access { mode: 6, ..own }),
                None => draft.wrong_accesses.push(access),
            },
            10 => match own {
                Some(own) => {
                    draft.wrong_accesses.push(norn_access {
                        slot: model.never_issued(number),
                        ..own
                    });
                    draft.errors.push(NORN_E_STATE);
                }
                None => draft.wrong_accesses.push(access),
            },
            _ => draft.wrong_group = stranger().0.id,
        }
        // A child of no task is wrong as well.
        if number.is_multiple_of(7) {
            draft.flags |= NORN_CHILD;
            draft
                .errors
                .extend([NORN_E_UNCOVERED, NORN_E_STATE, NORN_E_THREAD]);
        }
        if model.sealed {
            draft.errors.push(NORN_E_CLOSED);
        }
        submit(&self.run, &mut model, &[draft], number.is_multiple_of(2));
    }
}
