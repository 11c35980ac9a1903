//! The main thread's submits: which tasks, and what their bodies do.

use norn::abi::status::*;
use norn::abi::types::*;

use crate::bodies::{Act, Plan};
use crate::driver::Driver;
use crate::model::{Kind, Named};
use crate::task::{Draft, Wanted, submit};

impl Driver<'_> {
    /// `awaited`: by a body, whose thread may be the one that serves what is waited for.
    fn plan(&mut self, depth: usize, awaited: bool) -> Plan {
        let mut plan = Plan {
            code: if self.choices.one_in(8) { 7 } else { 0 },
            acts: Vec::new(),
        };
        let acts = if self.choices.one_in(3) {
            1 + self.choices.below(3)
        } else {
            0
        };
        for _ in 0..acts {
            let act = self.act(depth, awaited);
            plan.acts.push(act);
        }
        plan
    }

    fn act(&mut self, depth: usize, awaited: bool) -> Act {
        let choices = &mut self.choices;
        let which = choices.below(64);
        match choices.below(if depth < 2 { 13 } else { 9 }) {
            0 => Act::Release(which),
            1 => Act::Hold {
                count: 1 + which as u32 % 3,
                own: which.is_multiple_of(2),
            },
            2 => Act::AwaitShort(which),
            3 => Act::Cancel(which),
            4 => Act::Keep {
                promise: which,
                fails: which.is_multiple_of(5),
            },
            5 => Act::Ask(which),
            6 => Act::Wrong,
            7 => Act::StraySelf,
            8 => Act::Progress,
            9 | 10 => {
                let (datum, mode, wait) = (which, choices.below(4), choices.one_in(2));
                // Such a child has no datum, or an awaited one could wait for it.
                let after = (!wait && !awaited && which % 8 == 7).then_some(which / 8);
                Act::Child {
                    plan: Box::new(self.plan(depth + 1, awaited || wait)),
                    datum,
                    mode,
                    after,
                    wait,
                }
            }
            _ => {
                let (datum, mode) = (which, choices.below(4));
                let after = choices.one_in(3).then_some(which / 2);
                Act::Task {
                    plan: Box::new(self.plan(depth + 1, false)),
                    datum,
                    mode,
                    after,
                }
            }
        }
    }

    pub fn submit(&mut self, many: bool) {
        let count = if many { 1 + self.choices.below(4) } else { 1 };
        let mut drafts: Vec<Draft> = (0..count).map(|_| self.draft()).collect();
        if count > 1 {
            // The stride is one for all, and what one element fills or binds is gone for the next.
            let size = drafts[0].size;
            for index in 1..count {
                drafts[index].size = size;
                drafts[index].no_token = drafts[0].no_token;
                let same = |other: &Draft| {
                    other.binds.is_some() && other.binds == drafts[index].binds
                        || other.wanted.iter().any(|one| {
                            one.fills.is_some()
                                && drafts[index]
                                    .wanted
                                    .iter()
                                    .any(|two| two.fills == one.fills)
                        })
                };
                if drafts[..index].iter().any(same) {
                    return;
                }
            }
        }
        let mut model = self.run.model();
        if model.sealed {
            drafts[0].errors.push(NORN_E_CLOSED);
        }
        submit(&self.run, &mut model, &drafts, many);
    }

    fn draft(&mut self) -> Draft {
        let mut draft = Draft {
            plan: self.plan(0, false),
            ..Draft::default()
        };
        for _ in 0..self.choices.pick(&[1, 0, 2, 3, 1]) {
            self.want(&mut draft);
        }
        for _ in 0..self.choices.pick(&[0, 1, 0, 2, 3]) {
            match self.token() {
                (Named::Node(node), _) => draft.after.push(node),
                (Named::Zero, token) => draft.wrong_after.push(token.id),
                (Named::Wrong, token) => {
                    draft.wrong_after.push(token.id);
                    draft.errors.push(NORN_E_INVALID);
                }
            }
        }
        if self.choices.one_in(8) {
            draft.flags |= NORN_HELD;
        }
        if self.choices.one_in(8) {
            draft.flags |= NORN_RUN_ALWAYS;
        }
        if self.choices.one_in(4) {
            draft.flags |= NORN_COPY_ARG;
        }
        draft.priority = self.choices.pick(&[0, 0, 1, -1, i32::MAX, i32::MIN]);
        draft.no_token = self.choices.one_in(16);
        let model = self.run.model();
        let declared: Vec<usize> = (0..model.nodes.len())
            .filter(|n| model.nodes[*n].kind == Kind::Declared)
            .collect();
        let groups = model.groups.len();
        if !declared.is_empty() && self.choices.one_in(3) {
            let node = declared[self.choices.below(declared.len())];
            if model.nodes[node].cancelled || model.nodes[node].seen.is_some() {
                draft.wrong_as = model.nodes[node].id;
                draft.errors.push(NORN_E_STATE);
                if draft.after.contains(&node) {
                    draft.errors.push(NORN_E_INVALID);
                }
            } else if draft.after.contains(&node) {
                draft.binds = Some(node);
                draft.errors.extend([NORN_E_INVALID, NORN_E_DEADLOCK]);
            } else {
                draft.binds = Some(node);
            }
        }
        if groups != 0 && self.choices.one_in(3) {
            let group = self.choices.below(groups);
            draft.group = Some(group);
            if model.groups[group].closed {
                draft.errors.push(NORN_E_CLOSED);
            }
        }
        draft
    }

    fn want(&mut self, draft: &mut Draft) {
        let (which, mode, fill) = (
            self.choices.below(64),
            self.choices.below(4),
            self.choices.one_in(2),
        );
        let model = self.run.model();
        let alive: Vec<usize> = (0..model.data.len())
            .filter(|d| model.data[*d].alive)
            .collect();
        if alive.is_empty() {
            return;
        }
        let datum = alive[which % alive.len()];
        let words = model.words_of(datum);
        // Parent and piece in one task: not in the model.
        let other = |wanted: &Wanted| {
            wanted.datum != datum
                && model
                    .words_of(wanted.datum)
                    .iter()
                    .any(|word| words.contains(word))
        };
        if draft.wanted.iter().any(other) {
            return;
        }
        let same = draft.wanted.iter().any(|wanted| wanted.datum == datum);
        let mut mode = [NORN_READ, NORN_WRITE, NORN_READ_WRITE, NORN_COMMUTE][mode];
        if model.data[datum].reduces && which % 3 != 0 {
            mode = NORN_REDUCE;
        }
        let unfilled = |place: &usize| {
            let place = &model.places[*place];
            place.slot != 0 && place.node.is_none() && !place.abandoned && place.datum == datum
        };
        let reserved = (0..model.places.len())
            .find(unfilled)
            .filter(|_| fill && !same);
        let taken = draft
            .wanted
            .iter()
            .any(|wanted| wanted.datum == datum && wanted.fills.is_some());
        if taken {
            return;
        }
        let within = Vec::new();
        match reserved {
            Some(place) => draft.wanted.push(Wanted {
                datum,
                mode: model.places[place].mode,
                within,
                fills: Some(place),
            }),
            None => draft.wanted.push(Wanted {
                datum,
                mode,
                within,
                fills: None,
            }),
        }
    }
}
