//! What the oracle's main thread and foreign thread do, and what follows for promises and groups.

use crate::oracle::{End, Fault, Foreign, Oracle, Order, Stage};
use crate::program::{Mode, Op, Token, mix};
use crate::timeline::{Causes, Ending, Owner};

impl Oracle<'_> {
    pub(crate) fn main_can(&self) -> bool {
        match self.program.script.get(self.script_at) {
            None => false,
            Some(Op::Await(token)) => self.done(*token),
            Some(Op::Drain) => !self.tasks.iter().any(|run| run.live()),
            Some(Op::Acquire(hold)) if self.acquiring => self.holds[*hold]
                .0
                .iter()
                .all(|entry| self.lines.ready(*entry)),
            Some(_) => true,
        }
    }

    pub(crate) fn act_main(&mut self) -> bool {
        let op = &self.program.script[self.script_at];
        if matches!(op, Op::Await(_) | Op::Acquire(_) | Op::Drain | Op::Progress)
            && matches!(self.order, Order::Submission)
        {
            // Everybody else has come as far as possible, so a body that runs is blocked.
            self.entangled |= self.tasks.iter().any(|run| run.stage == Stage::Running);
        }
        match op {
            Op::Declare(_)
            | Op::Promise(_)
            | Op::Edge(..)
            | Op::Split(_)
            | Op::Progress
            | Op::Await(_) => {}
            Op::Reserve(slots) => {
                for slot in slots {
                    let plan = &self.program.slots[*slot];
                    let handle = &self.program.handles[plan.data];
                    let (words, owner) = (handle.words.clone(), Owner::Slot(*slot));
                    // All that comes in between comes after the place: it has no neighbours.
                    let mode = match plan.mode {
                        Mode::Commute => Mode::ReadWrite,
                        mode => mode,
                    };
                    self.slots[*slot] =
                        self.lines
                            .place(None, handle.root, words, mode, owner, plan.abandoned);
                }
            }
            Op::Abandon(slot) => {
                self.lines.end(self.slots[*slot], 0, &Ending::Nothing);
                self.passed(self.slots[*slot]);
            }
            Op::Submit(tasks) => tasks.iter().for_each(|task| self.submit(*task)),
            Op::Start(task) => {
                self.tasks[*task].started = true;
                self.check.push(*task);
            }
            Op::Drain => self.lines.drain(),
            Op::Join(split) => {
                let handle = &self.program.handles[self.program.splits[*split].data];
                let (root, words) = (handle.root, handle.words.clone());
                let gate = self
                    .lines
                    .place(None, root, words, Mode::ReadWrite, Owner::Gate, false);
                self.gates.push(gate);
            }
            Op::Cancel(Token::Task(task)) => self.cancel(*task),
            Op::Cancel(Token::Group(group)) => {
                self.groups[*group].2.insert(Token::Group(*group));
                for member in self.members[*group].clone() {
                    if self.tasks[member].stage != Stage::Absent {
                        self.cancel(member);
                    }
                }
            }
            Op::Cancel(Token::Promise(promise)) => {
                self.promises[*promise] = Some(End::Cancelled);
                self.completed(Token::Promise(*promise));
            }
            Op::Cancel(Token::Zero) => unreachable!("never generated"),
            Op::Resolve(promise) => self.resolve(*promise),
            Op::Foreign(promise) => self.foreign.push(Foreign::Resolve(*promise)),
            Op::Callback(token, promise) if self.done(*token) => {
                self.foreign.push(Foreign::Resolve(*promise))
            }
            Op::Callback(token, promise) => {
                self.callbacks.entry(*token).or_default().push(*promise)
            }
            Op::GroupOpen(group) => {
                self.groups[*group].0 = true;
                if let Some(parent) = self.program.groups[*group] {
                    self.groups[parent].1 += 1;
                }
            }
            Op::GroupClose(group) => {
                self.groups[*group].0 = false;
                self.maybe_close(*group);
            }
            Op::Acquire(hold) if !self.acquiring => {
                for access in &self.program.holds[*hold] {
                    let handle = &self.program.handles[access.data];
                    let (words, owner) = (handle.words.clone(), Owner::Hold(*hold));
                    let entry =
                        self.lines
                            .place(None, handle.root, words, access.mode, owner, false);
                    self.holds[*hold].0.push(entry);
                }
                self.acquiring = true;
                return true;
            }
            Op::Acquire(hold) => self.acquired(*hold),
            Op::Release(hold) => {
                if self.holds[*hold].1 {
                    self.end_hold(*hold, &Ending::Written);
                }
            }
        }
        self.script_at += 1;
        true
    }

    fn cancel(&mut self, task: usize) {
        if self.tasks[task].stage == Stage::Waiting {
            let causes = Causes::from([Token::Task(task)]);
            self.complete(task, End::Cancelled, causes);
        } else {
            self.faults.push(Fault::Cancel(task));
        }
    }

    pub(crate) fn acquired(&mut self, hold: usize) {
        self.acquiring = false;
        let mut causes = Causes::new();
        for entry in self.holds[hold].0.clone() {
            self.lines.activate(entry);
            let failure = self.lines.failure(entry);
            if self.lines.entries[entry].mode == Mode::Write && !failure.is_empty() {
                self.faults.push(Fault::Overwrite(hold));
            }
            causes.extend(failure);
        }
        if !causes.is_empty() {
            self.end_hold(hold, &Ending::Nothing);
            return;
        }
        let accesses: Vec<_> = self.program.holds[hold]
            .iter()
            .map(|access| (access.data, access.mode))
            .collect();
        let hash = Some(mix(self.program.seed, !(hold as u64)));
        self.holds[hold].2 = self.touch_words(hash, &accesses);
        self.holds[hold].1 = true;
    }

    pub(crate) fn end_hold(&mut self, hold: usize, ending: &Ending) {
        for entry in self.holds[hold].0.clone() {
            self.end_place(usize::MAX, entry, ending);
        }
    }

    pub(crate) fn act_foreign(&mut self, index: usize) -> bool {
        match self.foreign.remove(index) {
            Foreign::Resolve(promise) => self.resolve(promise),
            Foreign::Unhold(task, holds) => {
                self.tasks[task].holds -= holds;
                self.tasks[task].held = true;
                self.maybe_complete(task);
            }
        }
        true
    }

    pub(crate) fn resolve(&mut self, promise: usize) {
        let end = self.program.promises[promise]
            .fail
            .map_or(End::Done, End::Failed);
        assert!(
            self.promises[promise].is_none(),
            "promise {promise} is resolved twice"
        );
        self.promises[promise] = Some(end);
        self.completed(Token::Promise(promise));
    }

    pub(crate) fn member_done(&mut self, group: usize) {
        self.groups[group].1 -= 1;
        self.maybe_close(group);
    }

    pub(crate) fn maybe_close(&mut self, group: usize) {
        let (open, live, causes, _) = self.groups[group].clone();
        if open || live > 0 {
            return;
        }
        self.groups[group].3 = true;
        self.completed(Token::Group(group));
        if let Some(parent) = self.program.groups[group] {
            self.groups[parent].2.extend(causes);
            self.member_done(parent);
        }
    }
}
