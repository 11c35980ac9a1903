//! Cuts a failing program down to what still fails.

use std::time::{Duration, Instant};

use crate::mend::{Fair, mend};
use crate::program::{Access, Op, Program, Step, Task, Token};
use crate::timeline::Tree;

/// Smallest fair program found for which `fails` still holds.
pub fn shrink(
    fair: Fair,
    trees: &[Tree],
    budget: Duration,
    mut fails: impl FnMut(&Fair) -> bool,
) -> Fair {
    let deadline = Instant::now() + budget;
    let mut best = fair;
    loop {
        let before = size(&best.program);
        let mut chunk = best.program.tasks.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < best.program.tasks.len() {
                let doomed: Vec<usize> = (at..(at + chunk).min(best.program.tasks.len())).collect();
                attempt(&mut best, trees, deadline, &mut fails, |program| {
                    doomed.iter().for_each(|task| drop_task(program, *task));
                });
                at += chunk;
            }
            chunk /= 2;
        }
        for at in (0..best.program.script.len()).rev() {
            attempt(&mut best, trees, deadline, &mut fails, |program| {
                drop_op(program, at)
            });
        }
        for task in 0..best.program.tasks.len() {
            simplify_task(&mut best, task, trees, deadline, &mut fails);
        }
        if size(&best.program) >= before || Instant::now() > deadline {
            return best;
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

fn attempt(
    best: &mut Fair,
    trees: &[Tree],
    deadline: Instant,
    fails: &mut impl FnMut(&Fair) -> bool,
    change: impl FnOnce(&mut Program),
) -> bool {
    if Instant::now() > deadline {
        return false;
    }
    let mut program = best.program.clone();
    change(&mut program);
    if size(&program) >= size(&best.program) {
        return false;
    }
    let Some(fair) = mend(program, trees) else {
        return false;
    };
    let better = fails(&fair);
    if better {
        *best = fair;
    }
    better
}

fn simplify_task(
    best: &mut Fair,
    task: usize,
    trees: &[Tree],
    deadline: Instant,
    fails: &mut impl FnMut(&Fair) -> bool,
) {
    let mut edit = |change: &dyn Fn(&mut Program)| attempt(best, trees, deadline, fails, change);
    edit(&|program| program.tasks[task].copy_arg = false);
    edit(&|program| {
        let plan = &mut program.tasks[task];
        (plan.priority, plan.cpus, plan.place) = (0, 0, (0, 0));
    });
    edit(&|program| program.tasks[task].always = false);
    edit(&|program| make_plain(program, task));
    for count in (0..8).rev() {
        edit(&|program| {
            if count < program.tasks[task].steps.len() {
                let step = program.tasks[task].steps.remove(count);
                if let Step::Submit(nested) = step {
                    drop_task(program, nested);
                }
            }
        });
        edit(&|program| {
            if count < program.tasks[task].accesses.len() {
                let access = program.tasks[task].accesses.remove(count);
                forget_slot(program, &access);
                let still = program.tasks[task]
                    .accesses
                    .iter()
                    .any(|other| other.data == access.data);
                program.tasks[task]
                    .steps
                    .retain(|step| still || *step != Step::Release(access.data));
            }
        });
        edit(&|program| {
            if count < program.tasks[task].after.len() {
                program.tasks[task].after.remove(count);
            }
        });
    }
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
