//! The main thread: opens a runtime, makes the calls that the bytes choose, closes it.

use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::*;

use norn::abi::group::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::choices::Choices;
use crate::fate::{Fates, PENDING};
use crate::model::{Group, Kind, Model, Named, Node};
use crate::run::{Run, dump};
use crate::watch;

pub const HEADER: i32 =
    NORN_VERSION_MAJOR * 1_000_000 + NORN_VERSION_MINOR * 1000 + NORN_VERSION_PATCH;
/// Calls of one run.
const CALLS: usize = 120;

pub struct Driver<'a> {
    pub run: Box<Run>,
    pub choices: Choices<'a>,
}

/// A token and a datum of a runtime that stays open beside all runs.
pub fn stranger() -> (norn_token, norn_data) {
    static STRANGER: OnceLock<(u64, u64)> = OnceLock::new();
    let (token, data) = *STRANGER.get_or_init(|| {
        // SAFETY: zero is valid; the outputs are writable.
        unsafe {
            let mut config: norn_config = std::mem::zeroed();
            config.struct_size = size_of::<norn_config>();
            config.watchdog_ns = -1;
            let mut desc: norn_data_desc = std::mem::zeroed();
            desc.struct_size = size_of::<norn_data_desc>();
            let (mut rt, mut token, mut data) =
                (null_mut(), norn_token { id: 0 }, norn_data { id: 0 });
            assert_eq!(norn_open_version(HEADER, &config, &mut rt), NORN_OK);
            assert_eq!(
                norn::abi::task::norn_promise(rt, c"stranger".as_ptr(), &mut token),
                NORN_OK
            );
            assert_eq!(
                norn::abi::data::norn_data_register(rt, &desc, &mut data),
                NORN_OK
            );
            (token.id, data.id)
        }
    });
    (norn_token { id: token }, norn_data { id: data })
}

impl<'a> Driver<'a> {
    pub fn open(bytes: &'a [u8]) -> Self {
        let mut choices = Choices::new(bytes);
        stranger();
        // SAFETY: zero is valid in every field.
        let mut config: norn_config = unsafe { std::mem::zeroed() };
        config.struct_size = size_of::<norn_config>();
        config.watchdog_ns = -1;
        let (mode, workers) = choices.pick(&[
            (NORN_MODE_SYNC, 1),
            (NORN_MODE_SHUFFLE, 1),
            (NORN_MODE_SYNC, 2),
            (NORN_MODE_SHUFFLE, 0),
            (NORN_MODE_ASYNC, 0),
            (NORN_MODE_ASYNC, 1),
            (NORN_MODE_ASYNC, 2),
            (NORN_MODE_DEFAULT_STREAM, 1),
        ]);
        config.mode = mode;
        config.workers = workers;
        config.seed = u64::from(choices.pick(&[1u8, 2, 3, 4]));
        config.spin_ns = choices.pick(&[0, -1]);
        config.stack_bytes = 256 << 10;
        if choices.one_in(4) {
            config.flags |= NORN_DETERMINISTIC;
        }
        let inside = workers == 0 || matches!(mode, NORN_MODE_SYNC | NORN_MODE_SHUFFLE);
        if !inside && choices.one_in(4) {
            config.flags |= NORN_CALLER_WORKS;
        }
        // With workers a submit would wait for bodies that wait for the model.
        if inside && choices.one_in(8) {
            config.max_live_tasks = 3;
        }
        let run = Run::new(inside, config.flags & NORN_CALLER_WORKS != 0);
        run.model().deterministic = config.flags & NORN_DETERMINISTIC != 0;
        let mut rt = null_mut();
        // SAFETY: the configuration is readable, the output writable.
        let status = unsafe { norn_open_version(HEADER, &config, &mut rt) };
        run.expect("norn_open_version", status, &[NORN_OK]);
        run.rt.store(rt, Release);
        watch::begin(rt);
        watch::note(|| format!("mode {mode}, workers {workers}, flags {:#x}", config.flags));
        Driver { run, choices }
    }

    pub fn drive(mut self) {
        for _ in 0..CALLS {
            if self.choices.over() {
                break;
            }
            self.call();
        }
        self.finish();
    }

    fn call(&mut self) {
        match self.choices.below(32) {
            0..=5 => self.submit(false),
            6 => self.submit(true),
            7 => self.new_token(Kind::Declared),
            8 => self.new_token(Kind::Promise),
            9 => self.keep(),
            10 => self.edge(),
            11 => self.start(),
            12 | 13 => self.wait(),
            14 => self.wait_for_many(),
            15 => self.ask(),
            16 => self.cancel(),
            17 => self.on_complete(),
            18 | 19 => self.register(),
            20 => self.split(),
            21 => self.join(),
            22 => self.acquire(),
            23 => self.release(),
            24 => self.reserve(),
            25 => self.abandon(),
            26 => self.end_datum(),
            27 => self.group(),
            28 => self.look(),
            29 => self.drain(),
            30 => self.wrong(),
            _ => self.seldom(),
        }
    }

    pub fn rt(&self) -> *mut norn_runtime {
        self.run.rt()
    }

    /// A token; seldom one that is none.
    pub fn token(&mut self) -> (Named, norn_token) {
        let number = self.choices.below(256);
        let model = self.run.model();
        let known: Vec<usize> = (0..model.nodes.len())
            .filter(|node| model.nodes[*node].id != 0)
            .collect();
        match number {
            250 => (Named::Zero, norn_token { id: 0 }),
            251 => (Named::Wrong, stranger().0),
            252..=255 => {
                drop(model);
                let number = self.choices.number();
                let id = self.run.model().never_issued(number);
                (Named::Wrong, norn_token { id })
            }
            _ if known.is_empty() => (Named::Zero, norn_token { id: 0 }),
            // The newest are chosen most often by small numbers.
            _ => {
                let node = known[known.len() - 1 - number % known.len()];
                (
                    Named::Node(node),
                    norn_token {
                        id: model.nodes[node].id,
                    },
                )
            }
        }
    }

    fn group(&mut self) {
        let opens = self.choices.one_in(2);
        let (which, nests) = (self.choices.below(16), self.choices.one_in(2));
        let mut model = self.run.model();
        let rt = self.rt();
        if opens || model.groups.is_empty() {
            let parent = (nests && !model.groups.is_empty()).then(|| which % model.groups.len());
            let id = parent.map_or(0, |parent| model.groups[parent].id);
            let (mut group, mut done) = (norn_group { id: 0 }, norn_token { id: 0 });
            // SAFETY: the name is static and the outputs writable.
            let status = unsafe {
                norn_group_open(
                    rt,
                    c"group".as_ptr(),
                    norn_group { id },
                    &mut group,
                    &mut done,
                )
            };
            let closed = model.sealed || parent.is_some_and(|parent| model.groups[parent].closed);
            let ended = parent.is_some_and(|parent| model.has_ended(parent));
            let allowed: &[norn_status] = match (closed, ended) {
                (true, _) => &[NORN_E_CLOSED],
                (false, true) => &[NORN_OK, NORN_E_CLOSED],
                (false, false) => &[NORN_OK],
            };
            self.run.expect(
                format_args!("norn_group_open in {parent:?}"),
                status,
                allowed,
            );
            if status == NORN_OK {
                let mut node = Node::new(Kind::Done(model.groups.len()));
                node.id = done.id;
                model.nodes.push(node);
                let done = model.nodes.len() - 1;
                model.groups.push(Group {
                    id: group.id,
                    done,
                    parent,
                    closed: false,
                });
            }
        } else {
            let group = which % model.groups.len();
            // SAFETY: garbage gives a status.
            let status = unsafe {
                norn_group_close(
                    rt,
                    norn_group {
                        id: model.groups[group].id,
                    },
                )
            };
            let allowed: &[norn_status] = if model.groups[group].closed {
                &[NORN_E_STATE]
            } else if model.nodes[model.groups[group].done].cancelled
                || model.nodes[model.groups[group].done].perhaps_cancelled
                || model.sealed
            {
                &[NORN_OK, NORN_E_STATE, NORN_E_CLOSED]
            } else {
                &[NORN_OK]
            };
            self.run
                .expect(format_args!("norn_group_close of {group}"), status, allowed);
            model.groups[group].closed |= status == NORN_OK || status == NORN_E_STATE;
        }
    }

    fn look(&mut self) {
        let rt = self.rt();
        let what = self.choices.below(4);
        // SAFETY: zero is valid; the structure is as long as it says; the outputs are writable.
        unsafe {
            match what {
                0 => {
                    let mut stats: norn_runtime_stats = std::mem::zeroed();
                    stats.struct_size = size_of::<norn_runtime_stats>();
                    self.run
                        .expect("norn_stats", norn_stats(rt, &mut stats), &[NORN_OK]);
                    if stats.completed > stats.submitted {
                        self.run.complain("more tasks completed than submitted");
                    }
                }
                1 | 2 => {
                    let format = [NORN_DUMP_TEXT, NORN_DUMP_DOT][what - 1];
                    let status = dump(rt, format).err().unwrap_or(NORN_OK);
                    self.run.expect("norn_dump", status, &[NORN_OK]);
                }
                _ => {
                    let (mut one, mut two) = (std::ptr::null(), std::ptr::null());
                    self.run.expect(
                        "norn_intern",
                        norn_intern(rt, c"name".as_ptr(), &mut one),
                        &[NORN_OK],
                    );
                    self.run.expect(
                        "norn_intern",
                        norn_intern(rt, c"name".as_ptr(), &mut two),
                        &[NORN_OK],
                    );
                    if one != two {
                        self.run.complain("the same name was interned twice");
                    }
                }
            }
        }
    }

    /// Whether nothing waits for somebody outside the graph.
    pub fn all_served(model: &Model) -> bool {
        let mut fates = Fates::new(model);
        let tokens = (0..model.nodes.len()).all(|node| fates.of(node) & PENDING == 0);
        tokens
            && model
                .places
                .iter()
                .all(|place| place.node.is_some() || place.abandoned)
    }

    fn drain(&mut self) {
        let number = self.choices.below(3);
        let (served, sealed, held) = {
            let model = self.run.model();
            (Self::all_served(&model), model.sealed, Self::holds(&model))
        };
        let (limit, mut allowed) = match number {
            0 if served => (-1, vec![NORN_OK]),
            0 if sealed && !held => (-1, vec![NORN_OK, NORN_E_DEADLOCK]),
            1 => (0, vec![NORN_OK, NORN_E_TIMEOUT]),
            _ => (100_000, vec![NORN_OK, NORN_E_TIMEOUT]),
        };
        if sealed || !served {
            allowed.push(NORN_E_DEADLOCK);
        }
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_drain(self.rt(), limit) };
        self.run
            .expect(format_args!("norn_drain({limit})"), status, &allowed);
        if status == NORN_OK && limit < 0 && served {
            self.see_all();
        }
    }

    /// Whether the main thread holds data.
    pub fn holds(model: &Model) -> bool {
        model
            .nodes
            .iter()
            .any(|node| node.kind == Kind::Hold && node.resolved.is_none())
    }

    fn seldom(&mut self) {
        let rt = self.rt();
        match self.choices.below(4) {
            0 | 1 => {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_progress(rt) };
                self.run.expect("norn_progress", status, &[NORN_OK]);
            }
            2 if self.choices.one_in(4) => {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_seal(rt) };
                self.run.expect("norn_seal", status, &[NORN_OK]);
                self.run.model().sealed = true;
            }
            _ => self.stray_self(),
        }
    }
}
