//! How the oracle's tasks get on: submission, start, the steps of a body, completion.

use crate::oracle::{End, Foreign, Oracle, Stage};
use crate::program::{Mode, Step, Token, combine, contribution, identity, mix, stored};
use crate::timeline::{Causes, Ending, Owner};

impl Oracle<'_> {
    pub(crate) fn submit(&mut self, task: usize) {
        let plan = &self.program.tasks[task];
        let scope = plan.parent.filter(|_| plan.child);
        self.sequence[task] = self.submitted;
        self.submitted += 1;
        let mut places = Vec::new();
        for access in plan.merged() {
            let handle = &self.program.handles[access.data];
            let entry = if self.omit == Some((task, access.data)) {
                continue;
            } else if let Some(slot) = access.slot {
                self.lines.entries[self.slots[slot]].owner = Owner::Task(task);
                self.slots[slot]
            } else if let Some(first) = self
                .lines
                .first_writer(handle.root)
                .filter(|_| access.mode == Mode::Write)
            {
                self.lines.entries[first].owner = Owner::Task(task);
                first
            } else {
                self.lines.place(
                    scope,
                    handle.root,
                    handle.words.clone(),
                    access.mode,
                    Owner::Task(task),
                    false,
                )
            };
            places.push((access.data, access.mode, entry));
        }
        let run = &mut self.tasks[task];
        assert!(run.stage == Stage::Absent, "task {task} is submitted twice");
        run.stage = Stage::Waiting;
        run.places = places;
        if let Some(parent) = scope {
            self.tasks[parent].children += 1;
        }
        if let Some(group) = self.program.group_of(task) {
            self.groups[group].1 += 1;
        }
        self.check.push(task);
    }

    pub(crate) fn start(&mut self, (sequence, task): (usize, usize)) -> bool {
        self.ready.remove(&(sequence, task));
        let run = &self.tasks[task];
        let places = run.places.clone();
        // A COMMUTE neighbour may have been quicker, or a cancel.
        if run.stage != Stage::Waiting
            || !places.iter().all(|(_, _, entry)| self.lines.ready(*entry))
        {
            return true;
        }
        let plan = &self.program.tasks[task];
        let mut causes = Causes::new();
        for token in plan.predecessors() {
            causes.extend(self.causes_of(token));
        }
        for (_, mode, entry) in &places {
            self.lines.activate(*entry);
            if mode.needs_contents() {
                causes.extend(self.lines.failure(*entry));
            }
        }
        if !causes.is_empty() && !plan.always {
            self.complete(task, End::Propagated, causes);
            return true;
        }
        let mut hash = Some(mix(self.program.seed, task as u64 + 1));
        for token in plan.predecessors() {
            hash = hash
                .zip(self.seen(token))
                .map(|(hash, seen)| mix(hash, seen));
        }
        let run = &mut self.tasks[task];
        run.stage = Stage::Running;
        run.ran = true;
        run.hash = hash;
        self.running.insert(task);
        true
    }

    /// One step of a running body.
    pub(crate) fn step(&mut self, task: usize) -> bool {
        let plan = &self.program.tasks[task];
        let Some(step) = plan.steps.get(self.tasks[task].step) else {
            self.body_ended(task, End::Done);
            return true;
        };
        match step {
            Step::Touch => self.touch(task),
            Step::Await(token) => {
                if !self.awaited(task, &[*token], true) {
                    return true;
                }
            }
            Step::AwaitAll(tokens) => {
                if !self.awaited(task, tokens, true) {
                    return true;
                }
            }
            Step::AwaitAny(tokens) => {
                if !tokens.iter().any(|token| self.done(*token)) {
                    return self.block(task, tokens);
                }
            }
            Step::Refused(_) => {}
            Step::Release(data) => {
                let place = self.tasks[task]
                    .places
                    .iter()
                    .find(|(other, _, _)| other == data)
                    .copied();
                if let Some((_, _, entry)) = place {
                    self.end_place(task, entry, &Ending::Written);
                }
                self.tasks[task].released.insert(*data);
            }
            Step::Submit(nested) => self.submit(*nested),
            Step::Hold { holds, own } => {
                self.tasks[task].holds += holds - own;
                if holds > own {
                    self.foreign.push(Foreign::Unhold(task, holds - own));
                }
            }
            Step::Resolve(promise) => self.resolve(*promise),
            Step::Fail(code) => {
                self.body_ended(task, End::Failed(*code));
                return true;
            }
        }
        self.tasks[task].step += 1;
        true
    }

    /// True when all are complete; otherwise the body blocks.
    pub(crate) fn awaited(&mut self, task: usize, tokens: &[Token], all: bool) -> bool {
        debug_assert!(all);
        if !tokens.iter().all(|token| self.done(*token)) {
            self.block(task, tokens);
            return false;
        }
        let mut hash = self.tasks[task].hash;
        let mut class = 0;
        for token in tokens {
            hash = hash
                .zip(self.seen(*token))
                .map(|(hash, seen)| mix(hash, seen));
            class = if class == 0 {
                self.end_of(*token).class()
            } else {
                class
            };
        }
        self.tasks[task].hash = hash.map(|hash| mix(hash, class));
        true
    }

    pub(crate) fn block(&mut self, task: usize, tokens: &[Token]) -> bool {
        let open: Vec<&Token> = tokens.iter().filter(|token| !self.done(**token)).collect();
        for token in open {
            self.waiters.entry(*token).or_default().push(task);
        }
        self.running.remove(&task);
        true
    }

    pub(crate) fn touch(&mut self, task: usize) {
        let plan = &self.program.tasks[task];
        let hash = self.tasks[task].hash;
        let released = &self.tasks[task].released;
        let accesses = plan
            .merged()
            .into_iter()
            .filter(|access| !released.contains(&access.data));
        let accesses: Vec<(usize, Mode)> =
            accesses.map(|access| (access.data, access.mode)).collect();
        let hash = self.touch_words(hash, &accesses);
        for (data, mode, entry) in self.tasks[task].places.clone() {
            if mode == Mode::Reduce {
                let handle = &self.program.handles[data];
                let reduction = self.program.roots[handle.root].reduction;
                let mut copy: Vec<u64> = handle
                    .words
                    .iter()
                    .map(|word| identity(reduction, *word))
                    .collect();
                let words = hash.map(|hash| {
                    let adds: Vec<u64> = handle
                        .words
                        .iter()
                        .map(|word| contribution(hash, *word))
                        .collect();
                    combine(reduction, &mut copy, &adds);
                    copy
                });
                let words = match words {
                    Some(words) => words.into_iter().map(Some).collect(),
                    None => vec![None; handle.words.len()],
                };
                self.lines.contribute(entry, words);
            } else if mode == Mode::Write || plan.always && mode.writes() {
                self.lines.heal(entry);
            }
        }
        self.tasks[task].hash = hash;
    }

    pub(crate) fn touch_words(
        &mut self,
        mut hash: Option<u64>,
        accesses: &[(usize, Mode)],
    ) -> Option<u64> {
        for (data, mode) in accesses {
            let handle = &self.program.handles[*data];
            if matches!(mode, Mode::Read | Mode::ReadWrite) {
                for word in &handle.words {
                    let value = self.lines.words[handle.root][*word].value;
                    hash = hash.zip(value).map(|(hash, value)| mix(hash, value));
                }
            }
        }
        for (data, mode) in accesses {
            let handle = &self.program.handles[*data];
            for word in &handle.words {
                let value = &mut self.lines.words[handle.root][*word].value;
                let new = hash.map(|hash| stored(hash, *data, *word));
                match mode {
                    Mode::Write | Mode::ReadWrite => *value = new,
                    Mode::Commute => {
                        *value = value.zip(new).map(|(value, new)| value.wrapping_add(new))
                    }
                    Mode::Read | Mode::Reduce => {}
                }
            }
        }
        hash
    }

    pub(crate) fn body_ended(&mut self, task: usize, end: End) {
        self.running.remove(&task);
        let run = &mut self.tasks[task];
        run.stage = Stage::Ended;
        run.end = end;
        run.out = match end {
            End::Failed(code) => run.hash.map(|hash| mix(hash, code as u64)),
            _ => run.hash,
        };
        self.maybe_complete(task);
    }

    pub(crate) fn maybe_complete(&mut self, task: usize) {
        let run = &self.tasks[task];
        if run.stage == Stage::Ended && run.holds == 0 && run.children == 0 {
            let causes = if run.end.failed() {
                Causes::from([Token::Task(task)])
            } else {
                Causes::new()
            };
            self.complete(task, run.end, causes);
        }
    }

    /// Causes for which what a parent promised to write does not exist: a child was the last to write
    /// it, and failed.
    fn left_failed(&mut self, task: usize) -> Causes {
        let run = &self.tasks[task];
        let mut causes = Causes::new();
        for (data, _, entry) in &run.places {
            let root = self.lines.entries[*entry].root;
            if !run.released.contains(data) && self.lines.has_children(task, root) {
                self.lines
                    .settle(root, &self.lines.entries[*entry].words.clone());
                causes.extend(self.lines.failure(*entry));
            }
        }
        causes
    }

    pub(crate) fn complete(&mut self, task: usize, end: End, causes: Causes) {
        let (mut end, mut causes) = (end, causes);
        if end == End::Done {
            causes = self.left_failed(task);
            if !causes.is_empty() {
                end = End::Propagated;
            }
        }
        let run = &mut self.tasks[task];
        run.stage = Stage::Complete;
        run.end = end;
        run.causes = causes.clone();
        // A cancelled task's places are passed in their turn, by `look`.
        if end == End::Cancelled {
            self.check.push(task);
        } else {
            let released = run.released.clone();
            for (data, _, entry) in run.places.clone() {
                if released.contains(&data) {
                    continue;
                }
                let family = self
                    .lines
                    .has_children(task, self.lines.entries[entry].root);
                let ending = match (end, family) {
                    (End::Done, false) => Ending::Written,
                    (End::Done, true) => Ending::WrittenByFamily,
                    _ => Ending::Failed {
                        causes: &causes,
                        family,
                    },
                };
                self.end_place(task, entry, &ending);
            }
        }
        self.completed(Token::Task(task));
        let plan = &self.program.tasks[task];
        if let Some(parent) = plan.parent.filter(|_| plan.child) {
            self.tasks[parent].children -= 1;
            self.maybe_complete(parent);
        }
        if let Some(group) = self.program.group_of(task) {
            self.groups[group].2.extend(causes);
            self.member_done(group);
        }
    }

    pub(crate) fn end_place(&mut self, task: usize, entry: usize, ending: &Ending) {
        let ending = if self.lines.entries[entry].mode.writes() {
            ending
        } else {
            &Ending::Nothing
        };
        self.lines.end(entry, task, ending);
        self.passed(entry);
    }

    pub(crate) fn passed(&mut self, entry: usize) {
        for owner in self.lines.waiting_beside(entry) {
            if let Owner::Task(task) = owner {
                self.check.push(task);
            }
        }
    }
}
