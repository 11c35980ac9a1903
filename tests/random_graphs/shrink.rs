//! Cuts a failing program down to what still fails. A smaller program is named by
//! its seed and the edits that led to it, so that another process can make it too.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::generator::generate;
use crate::mend::{Fair, mend};
use crate::program::{Access, Op, Program, Step, Task, Token};
use crate::timeline::Tree;

/// One way to make a program smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edit {
    /// Tasks from the first number up to the second.
    Tasks(usize, usize),
    Op(usize),
    CopyArg(usize),
    Place(usize),
    Always(usize),
    Plain(usize),
    Step(usize, usize),
    Access(usize, usize),
    After(usize, usize),
}

impl Edit {
    fn parts(self) -> (char, usize, usize) {
        match self {
            Edit::Tasks(from, to) => ('t', from, to),
            Edit::Op(at) => ('o', at, 0),
            Edit::CopyArg(task) => ('c', task, 0),
            Edit::Place(task) => ('p', task, 0),
            Edit::Always(task) => ('w', task, 0),
            Edit::Plain(task) => ('n', task, 0),
            Edit::Step(task, at) => ('s', task, at),
            Edit::Access(task, at) => ('a', task, at),
            Edit::After(task, at) => ('f', task, at),
        }
    }

    fn apply(self, program: &mut Program) {
        match self {
            Edit::Tasks(from, to) => (from..to).for_each(|task| drop_task(program, task)),
            Edit::Op(at) => drop_op(program, at),
            Edit::CopyArg(task) => program.tasks[task].copy_arg = false,
            Edit::Place(task) => {
                let plan = &mut program.tasks[task];
                (plan.priority, plan.cpus, plan.place) = (0, 0, (0, 0));
            }
            Edit::Always(task) => program.tasks[task].always = false,
            Edit::Plain(task) => make_plain(program, task),
            Edit::Step(task, at) => {
                if at < program.tasks[task].steps.len() {
                    let step = program.tasks[task].steps.remove(at);
                    if let Step::Submit(nested) = step {
                        drop_task(program, nested);
                    }
                }
            }
            Edit::Access(task, at) => {
                if at < program.tasks[task].accesses.len() {
                    drop_access(program, task, at);
                }
            }
            Edit::After(task, at) => {
                if at < program.tasks[task].after.len() {
                    program.tasks[task].after.remove(at);
                }
            }
        }
    }
}

impl Display for Edit {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let (kind, first, second) = self.parts();
        write!(f, "{kind}{first}.{second}")
    }
}

impl FromStr for Edit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no edit");
        let numbers = text.get(1..).and_then(|rest| rest.split_once('.'));
        let (first, second) = numbers.ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (first, second) = (number(first)?, number(second)?);
        Ok(match text.as_bytes()[0] {
            b't' => Edit::Tasks(first, second),
            b'o' => Edit::Op(first),
            b'c' => Edit::CopyArg(first),
            b'p' => Edit::Place(first),
            b'w' => Edit::Always(first),
            b'n' => Edit::Plain(first),
            b's' => Edit::Step(first, second),
            b'a' => Edit::Access(first, second),
            b'f' => Edit::After(first, second),
            _ => return Err(wrong()),
        })
    }
}

/// The program of a seed after some edits. `None`: that is no fair program.
pub fn edited(seed: u64, edits: &[Edit], trees: &[Tree]) -> Option<Fair> {
    let mut fair = mend(generate(seed), trees)?;
    for edit in edits {
        edit.apply(&mut fair.program);
        fair = mend(fair.program, trees)?;
    }
    Some(fair)
}

/// Edits after which `fails` still holds, as many as can be found in the time.
pub fn shrink(
    fair: Fair,
    trees: &[Tree],
    budget: Duration,
    fails: impl FnMut(&Fair, &[Edit]) -> bool,
) -> (Fair, Vec<Edit>) {
    let deadline = Instant::now() + budget;
    let mut search = Search {
        best: fair,
        edits: Vec::new(),
        trees,
        deadline,
        fails,
    };
    loop {
        let before = size(&search.best.program);
        search.round();
        if size(&search.best.program) >= before || Instant::now() > deadline {
            return (search.best, search.edits);
        }
    }
}

struct Search<'t, F> {
    best: Fair,
    edits: Vec<Edit>,
    trees: &'t [Tree],
    deadline: Instant,
    fails: F,
}

impl<F: FnMut(&Fair, &[Edit]) -> bool> Search<'_, F> {
    fn round(&mut self) {
        let tasks = self.best.program.tasks.len();
        let mut chunk = tasks.div_ceil(2);
        while chunk > 0 {
            for from in (0..tasks).step_by(chunk) {
                self.attempt(Edit::Tasks(from, (from + chunk).min(tasks)));
            }
            chunk /= 2;
        }
        for at in (0..self.best.program.script.len()).rev() {
            self.attempt(Edit::Op(at));
        }
        for task in 0..tasks {
            self.attempt(Edit::CopyArg(task));
            self.attempt(Edit::Place(task));
            self.attempt(Edit::Always(task));
            self.attempt(Edit::Plain(task));
            let most = |list: usize| (0..list).rev();
            for at in most(self.best.program.tasks[task].steps.len()) {
                self.attempt(Edit::Step(task, at));
            }
            for at in most(self.best.program.tasks[task].accesses.len()) {
                self.attempt(Edit::Access(task, at));
            }
            for at in most(self.best.program.tasks[task].after.len()) {
                self.attempt(Edit::After(task, at));
            }
        }
    }

    fn attempt(&mut self, edit: Edit) {
        if Instant::now() > self.deadline {
            return;
        }
        let mut program = self.best.program.clone();
        edit.apply(&mut program);
        if size(&program) >= size(&self.best.program) {
            return;
        }
        let Some(fair) = mend(program, self.trees) else {
            return;
        };
        self.edits.push(edit);
        if (self.fails)(&fair, &self.edits) {
            self.best = fair;
        } else {
            self.edits.pop();
        }
    }
}

/// A rough measure of how much there is to read.
fn size(program: &Program) -> usize {
    let task = |task: &Task| {
        let flags = [
            task.held,
            task.declared,
            task.always,
            task.copy_arg,
            task.place != (0, 0),
            task.cpus != 0,
            task.priority != 0,
        ];
        let flags = flags.into_iter().filter(|flag| *flag).count();
        task.accesses.len() + task.after.len() + task.edges.len() + 3 * task.steps.len() + flags
    };
    program.tasks.iter().map(task).sum::<usize>() + program.script.len()
}

fn drop_access(program: &mut Program, task: usize, at: usize) {
    let access = program.tasks[task].accesses.remove(at);
    forget_slot(program, &access);
    let plan = &mut program.tasks[task];
    let still = plan.accesses.iter().any(|other| other.data == access.data);
    plan.steps
        .retain(|step| still || *step != Step::Release(access.data));
}

/// Submits a held, late or declared task in the ordinary way, at its place in the timelines.
fn make_plain(program: &mut Program, task: usize) {
    let plan = &mut program.tasks[task];
    if plan.parent.is_some() || !(plan.held || plan.declared) {
        return;
    }
    let edges = std::mem::take(&mut plan.edges);
    plan.after.extend(edges);
    (plan.held, plan.declared) = (false, false);
    for access in plan.accesses.clone() {
        forget_slot(program, &access);
    }
    program.tasks[task]
        .accesses
        .iter_mut()
        .for_each(|access| access.slot = None);
    let mut script = Vec::new();
    let mut submitted = false;
    for op in std::mem::take(&mut program.script) {
        match op {
            Op::Declare(other) if other == task => {
                submitted = true;
                script.push(Op::Submit(vec![task]));
            }
            Op::Edge(_, other) | Op::Start(other) if other == task => {}
            Op::Submit(mut tasks) if submitted => {
                tasks.retain(|other| *other != task);
                if !tasks.is_empty() {
                    script.push(Op::Submit(tasks));
                }
            }
            other => script.push(other),
        }
    }
    program.script = script;
}

/// Takes the slot of an access out of its reservation.
fn forget_slot(program: &mut Program, access: &Access) {
    let Some(slot) = access.slot else { return };
    for op in &mut program.script {
        if let Op::Reserve(slots) = op {
            slots.retain(|other| *other != slot);
        }
    }
    program
        .script
        .retain(|op| *op != Op::Reserve(vec![]) && *op != Op::Abandon(slot));
}

fn forget_token(program: &mut Program, token: Token) {
    for task in &mut program.tasks {
        task.after.retain(|other| *other != token);
        task.edges.retain(|other| *other != token);
        task.steps.retain_mut(|step| match step {
            Step::Await(other) => *other != token,
            Step::AwaitAll(tokens) | Step::AwaitAny(tokens) => {
                tokens.retain(|other| *other != token);
                !tokens.is_empty()
            }
            Step::Refused(task) => Token::Task(*task) != token,
            _ => true,
        });
    }
    for op in &mut program.script {
        match op {
            Op::Callback(other, promise) if *other == token => *op = Op::Resolve(*promise),
            _ => {}
        }
    }
    program.script.retain(|op| match op {
        Op::Edge(other, _) | Op::Cancel(other) | Op::Await(other) => *other != token,
        _ => true,
    });
}

/// Takes a task, and what its body submits, out of the program. Its number stays.
fn drop_task(program: &mut Program, task: usize) {
    let plan = std::mem::take(&mut program.tasks[task]);
    if plan.steps.is_empty() {
        program.tasks[task] = plan;
        return;
    }
    forget_token(program, Token::Task(task));
    for access in &plan.accesses {
        forget_slot(program, access);
    }
    let mut script = Vec::new();
    for op in std::mem::take(&mut program.script) {
        match op {
            Op::Declare(other) | Op::Edge(_, other) | Op::Start(other) if other == task => {}
            Op::Submit(mut tasks) if tasks.contains(&task) => {
                tasks.retain(|other| *other != task);
                if !tasks.is_empty() {
                    script.push(Op::Submit(tasks));
                }
                // What it would have resolved, the main thread resolves.
                script.extend(plan.steps.iter().filter_map(|step| match step {
                    Step::Resolve(promise) => Some(Op::Resolve(*promise)),
                    _ => None,
                }));
            }
            other => script.push(other),
        }
    }
    program.script = script;
    for step in &plan.steps {
        if let Step::Submit(nested) = step {
            drop_task(program, *nested);
        }
    }
    if let Some(parent) = plan.parent {
        program.tasks[parent]
            .steps
            .retain(|step| *step != Step::Submit(task));
    }
}

/// Takes an operation out, with all that would make no sense without it.
fn drop_op(program: &mut Program, at: usize) {
    let Some(op) = program.script.get(at).cloned() else {
        return;
    };
    match op {
        Op::Await(_) | Op::Drain | Op::Progress | Op::Join(_) | Op::Cancel(Token::Group(_)) => {
            program.script.remove(at);
        }
        Op::Acquire(hold) => program
            .script
            .retain(|op| *op != Op::Acquire(hold) && *op != Op::Release(hold)),
        Op::Reserve(slots) => {
            let abandoned: Vec<usize> = slots
                .into_iter()
                .filter(|slot| program.slots[*slot].abandoned)
                .collect();
            for slot in abandoned {
                let access = Access {
                    data: 0,
                    mode: program.slots[slot].mode,
                    slot: Some(slot),
                };
                forget_slot(program, &access);
            }
        }
        Op::Promise(promise) => {
            forget_token(program, Token::Promise(promise));
            program.script.retain(|op| {
                !matches!(op, Op::Promise(other) | Op::Resolve(other) | Op::Foreign(other) | Op::Callback(_, other) if *other == promise)
            });
            for task in &mut program.tasks {
                task.steps.retain(|step| *step != Step::Resolve(promise));
            }
        }
        Op::GroupOpen(group) => {
            forget_token(program, Token::Group(group));
            let outer = program.groups[group];
            program
                .groups
                .iter_mut()
                .filter(|parent| **parent == Some(group))
                .for_each(|parent| *parent = outer);
            program
                .tasks
                .iter_mut()
                .filter(|task| task.group == Some(group))
                .for_each(|task| task.group = outer);
            program.groups[group] = None;
            program
                .script
                .retain(|op| *op != Op::GroupOpen(group) && *op != Op::GroupClose(group));
        }
        Op::Split(split) => {
            let parts = program.splits[split].parts.clone();
            let used = |data: usize| parts.contains(&data);
            let in_tasks = program
                .tasks
                .iter()
                .flat_map(|task| &task.accesses)
                .any(|access| used(access.data));
            let in_holds = program
                .holds
                .iter()
                .flatten()
                .any(|access| used(access.data));
            let in_slots = program.slots.iter().any(|slot| used(slot.data));
            let in_splits = program.splits.iter().any(|split| used(split.data));
            if !(in_tasks || in_holds || in_slots || in_splits) {
                program
                    .script
                    .retain(|op| *op != Op::Split(split) && *op != Op::Join(split));
            }
        }
        Op::Foreign(promise) => program.script[at] = Op::Resolve(promise),
        Op::Submit(tasks) if tasks.len() > 1 => {
            program.script.splice(
                at..=at,
                tasks.into_iter().map(|task| Op::Submit(vec![task])),
            );
        }
        _ => {}
    }
}
