//! Submitting: a draft becomes part of the model first, and leaves it again when norn refuses it.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;

use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::types::*;

use crate::bodies::{Plan, body, dropped};
use crate::model::{Kind, Model, Node, Place, TASKS, merged};
use crate::run::Run;

/// A place that a task asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub datum: usize,
    pub mode: i32,
    /// The place of the parent that a child's is a part of: the beginning of its key.
    pub within: Vec<u32>,
    /// A reserved place to fill.
    pub fills: Option<usize>,
}

/// A task to be submitted.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub plan: Plan,
    pub wanted: Vec<Wanted>,
    pub after: Vec<usize>,
    /// Tokens that are no tokens.
    pub wrong_after: Vec<u64>,
    pub wrong_accesses: Vec<norn_access>,
    pub flags: u32,
    pub place: norn_place,
    pub priority: i32,
    pub cpus: i32,
    pub group: Option<usize>,
    /// A group by number, where it is none of ours.
    pub wrong_group: u64,
    pub parent: Option<usize>,
    pub binds: Option<usize>,
    pub wrong_as: u64,
    /// The size it says it has; 0: the right one.
    pub size: usize,
    pub no_body: bool,
    pub no_token: bool,
    /// What a refusal may say; empty: it is right.
    pub errors: Vec<norn_status>,
    /// The parent has its access through pieces of the datum, or of the whole: it may cover the child or not.
    pub covered_in_pieces: bool,
}

impl Draft {
    /// Puts the task into the model.
    fn enter(&self, model: &mut Model) -> usize {
        let index = match self.binds {
            Some(index) => index,
            None => {
                model.nodes.push(Node::new(Kind::Task));
                model.nodes.len() - 1
            }
        };
        let mut places = Vec::new();
        for wanted in &self.wanted {
            let same = |place: &usize| model.places[*place].datum == wanted.datum;
            if let Some(place) = places.iter().copied().find(same) {
                let place: &mut Place = &mut model.places[place];
                place.mode = merged(place.mode, wanted.mode);
            } else if let Some(place) = wanted.fills {
                model.places[place].node = Some(index);
                places.push(place);
            } else {
                // In the order of the submits, which the lock keeps.
                let key = [&wanted.within[..], &model.next_key()].concat();
                model.places.push(Place {
                    key,
                    mode: wanted.mode,
                    words: model.words_of(wanted.datum),
                    datum: wanted.datum,
                    node: Some(index),
                    slot: 0,
                    alone: model.deterministic,
                    abandoned: false,
                    released: None,
                    saw: None,
                });
                places.push(model.places.len() - 1);
            }
        }
        if let Some(parent) = self.parent.filter(|_| self.flags & NORN_CHILD != 0) {
            model.nodes[parent].children.push(index);
        }
        let track = model.tracks;
        model.tracks += 1;
        model.bad |= self.plan.fails();
        let node = &mut model.nodes[index];
        node.kind = Kind::Task;
        node.preds.extend(&self.after);
        node.places = places;
        node.code = self.plan.code;
        node.always = self.flags & NORN_RUN_ALWAYS != 0;
        node.held = self.flags & NORN_HELD != 0;
        node.group = self.group;
        node.parent = self.parent;
        node.nests = self.plan.nests();
        node.submits = self.plan.submits();
        node.track = Some(track);
        index
    }

    /// Whether a predecessor may wait for the turn at a COMMUTE datum that a parent of the task has until the end.
    fn may_wait_for_a_turn(&self, model: &Model) -> bool {
        let has_turn = |node: usize| {
            let mut places = model.nodes[node].places.iter();
            places.any(|place| model.places[*place].mode == NORN_COMMUTE)
        };
        let is_child = self.flags & NORN_CHILD != 0;
        let parent = self.parent.filter(|_| is_child && !self.after.is_empty());
        std::iter::successors(parent, |node| model.nodes[*node].parent).any(has_turn)
    }

    /// The accesses as norn reads them.
    fn accesses(&self, model: &Model) -> Vec<norn_access> {
        let access = |wanted: &Wanted| norn_access {
            data: norn_data {
                id: model.data[wanted.datum].id,
            },
            slot: wanted.fills.map_or(0, |place| model.places[place].slot),
            mode: wanted.mode,
            flags: 0,
        };
        let right = self.wanted.iter().map(access);
        right.chain(self.wrong_accesses.iter().copied()).collect()
    }
}

/// Bytes enough for a task of any size that is not refused at once.
type Buffer = Vec<u64>;

/// Submits drafts together; on success their nodes. `many`: by `norn_submit_many`.
pub fn submit(run: &Run, model: &mut Model, drafts: &[Draft], many: bool) -> Option<Vec<usize>> {
    if model.tracks + drafts.len() > TASKS {
        return None;
    }
    let before = model.clone();
    let arrays: Vec<(Vec<norn_access>, Vec<norn_token>)> = drafts
        .iter()
        .map(|draft| {
            let after = draft.after.iter().map(|node| model.nodes[*node].id);
            let after = after.chain(draft.wrong_after.iter().copied());
            (
                draft.accesses(model),
                after.map(|id| norn_token { id }).collect(),
            )
        })
        .collect();
    let nodes: Vec<usize> = drafts.iter().map(|draft| draft.enter(model)).collect();
    let mut allowed: Vec<norn_status> = drafts
        .iter()
        .flat_map(|draft| draft.errors.iter().copied())
        .collect();
    let ended = |group: usize| model.has_ended(group);
    let late = model.sealed
        || model.closing.is_some()
        || drafts.iter().any(|draft| draft.group.is_some_and(ended));
    // Where a place was given up, norn may keep the order of what stands on both sides.
    let perhaps_in_cycle = nodes.iter().any(|node| model.in_cycle(*node, true));
    if many && perhaps_in_cycle {
        // Found in the middle, it leaves the earlier elements cancelled instead of not submitted.
        let tracks = model.tracks;
        *model = before;
        model.tracks = tracks;
        return None;
    }
    if !allowed.is_empty() {
        // What else is wrong may be found first.
        if perhaps_in_cycle {
            allowed.push(NORN_E_DEADLOCK);
        }
        if late {
            allowed.push(NORN_E_CLOSED);
        }
    } else {
        allowed.push(NORN_OK);
        for (draft, node) in drafts.iter().zip(&nodes) {
            if model.in_cycle(*node, false) {
                let fills = draft.wanted.iter().any(|wanted| wanted.fills.is_some());
                // Who stands behind a place released early waits for its task no more.
                let released = model.places.iter().any(|place| place.released.is_some());
                let child = draft.flags & NORN_CHILD != 0 && !released;
                // Failed members of a cycle no longer wait.
                if (draft.binds.is_some() || fills || child) && !model.bad && !many {
                    allowed.clear();
                }
                allowed.push(NORN_E_DEADLOCK);
            }
        }
        if perhaps_in_cycle || drafts.iter().any(|draft| draft.may_wait_for_a_turn(model)) {
            allowed.push(NORN_E_DEADLOCK);
        }
        if late {
            allowed.push(NORN_E_CLOSED);
        }
        if drafts.iter().any(|draft| draft.covered_in_pieces) {
            allowed.push(NORN_E_UNCOVERED);
        }
    }
    let stride = drafts[0]
        .size
        .max(size_of::<norn_task>())
        .next_multiple_of(8)
        .min(4096);
    let mut buffer: Buffer = vec![0; stride / 8 * drafts.len()];
    for (index, draft) in drafts.iter().enumerate() {
        let track = model.nodes[nodes[index]].track.expect("a task has one");
        let _ = run.tracks[track].plan.set(draft.plan.clone());
        run.tracks[track].node.store(nodes[index], SeqCst);
        let (accesses, after) = &arrays[index];
        let copies = draft.flags & NORN_COPY_ARG != 0;
        let group = draft.group.filter(|_| draft.parent.is_none());
        let task = norn_task {
            struct_size: if draft.size == 0 { stride } else { draft.size },
            run: (!draft.no_body).then_some(body as _),
            enqueue: None,
            arg: run.arg(track),
            drop: Some(dropped),
            name: c"task".as_ptr(),
            accesses: accesses.as_ptr(),
            access_count: accesses.len() as u64,
            after: after.as_ptr(),
            after_count: after.len() as u64,
            priority: draft.priority,
            cpus: draft.cpus,
            flags: draft.flags,
            arg_bytes: if copies { 16 } else { 0 },
            place: draft.place,
            stream: null_mut(),
            group: norn_group {
                id: group.map_or(draft.wrong_group, |group| model.groups[group].id),
            },
            r#as: norn_token {
                id: draft
                    .binds
                    .map_or(draft.wrong_as, |node| before.nodes[node].id),
            },
        };
        // SAFETY: each element has `stride` bytes, at least those of a task.
        unsafe {
            buffer
                .as_mut_ptr()
                .cast::<u8>()
                .add(index * stride)
                .cast::<norn_task>()
                .write(task)
        };
    }
    let mut tokens = vec![norn_token { id: 0 }; drafts.len()];
    let out = if drafts[0].no_token {
        null_mut()
    } else {
        tokens.as_mut_ptr()
    };
    // SAFETY: the arrays are as long as said; the arguments live as long as the run.
    let status = unsafe {
        match many {
            true => norn_submit_many(run.rt(), buffer.as_ptr().cast(), drafts.len() as u64, out),
            false => norn_submit(run.rt(), buffer.as_ptr().cast(), out),
        }
    };
    run.expect(
        format_args!("submit of {nodes:?} {drafts:?}"),
        status,
        &allowed,
    );
    if status != NORN_OK {
        let tracks = model.tracks;
        *model = before;
        model.tracks = tracks;
        return None;
    }
    for (index, node) in nodes.iter().enumerate() {
        let it = &mut model.nodes[*node];
        if tokens[index].id != 0 {
            if it.id != 0 && it.id != tokens[index].id {
                run.complain("a bound task got another token");
            }
            it.id = tokens[index].id;
        }
        run.tracks[it.track.expect("a task has one")]
            .accepted
            .store(1, SeqCst);
    }
    Some(nodes)
}

/// A task submitted by the body of `parent`; its node and token.
#[allow(clippy::too_many_arguments)] // what a nested task is, one by one; a struct would only rename them
pub fn nested(
    run: &Run,
    parent: usize,
    plan: &Plan,
    datum: usize,
    mode: usize,
    after: Option<usize>,
    child: bool,
    released: &[usize],
) -> Option<(usize, u64)> {
    let mut model = run.model();
    let mut draft = Draft {
        plan: plan.clone(),
        parent: Some(parent),
        flags: if child { NORN_CHILD } else { 0 },
        group: model.nodes[parent].group,
        ..Draft::default()
    };
    let modes = [NORN_READ, NORN_WRITE, NORN_READ_WRITE, NORN_COMMUTE];
    let mode = modes[mode % modes.len()];
    if child {
        let places = model.nodes[parent].places.clone();
        // A reduction's copy is the body's own, and a COMMUTE datum is shared in turns: no part of the model.
        let usable = |place: &usize| {
            let place = &model.places[*place];
            model.data[place.datum].alive && !matches!(place.mode, NORN_REDUCE | NORN_COMMUTE)
        };
        let usable: Vec<usize> = places.iter().copied().filter(usable).collect();
        if !usable.is_empty() && datum % 4 != 3 {
            let place = usable[datum % usable.len()];
            let within = model.places[place].key.clone();
            let datum = model.places[place].datum;
            if model.places[place].mode == NORN_READ && mode != NORN_READ {
                draft.errors.push(NORN_E_UNCOVERED);
            }
            if released.contains(&place) {
                draft
                    .errors
                    .extend([NORN_E_UNCOVERED, NORN_E_STATE, NORN_E_INVALID]);
            }
            let root = model.data[datum].root;
            draft.covered_in_pieces = model.data[root].was_split;
            draft.wanted.push(Wanted {
                datum,
                mode,
                within,
                fills: None,
            });
        }
    } else {
        let free = |index: &usize| {
            let datum = &model.data[*index];
            datum.alive && datum.id != 0 && !datum.reduces
        };
        let alive: Vec<usize> = (0..model.data.len()).filter(free).collect();
        if !alive.is_empty() && datum % 4 != 3 {
            let datum = alive[datum % alive.len()];
            draft.wanted.push(Wanted {
                datum,
                mode,
                within: Vec::new(),
                fills: None,
            });
        }
    }
    let known: Vec<usize> = (0..model.nodes.len())
        .filter(|node| model.nodes[*node].id != 0)
        .collect();
    if let Some(after) = after
        && !known.is_empty()
    {
        // A child's choice begins with the newest: among them is its parent.
        let after = after % known.len();
        let position = if child {
            known.len() - 1 - after
        } else {
            after
        };
        draft.after.push(known[position]);
    }
    let nodes = submit(run, &mut model, &[draft], false)?;
    Some((nodes[0], model.nodes[nodes[0]].id))
}
