//! Turns a program that the oracle finds unfair into a fair one, by taking out what makes it so.

use fastrand::Rng;

use crate::oracle::{Expected, Fault, Oracle, Order};
use crate::program::{Mode, Op, Program, Step, Token};
use crate::timeline::Tree;

/// A fair program, what must come of it, and whether a body waits for the main thread while that blocks.
pub struct Fair {
    pub program: Program,
    pub expected: Expected,
    /// Whether it also comes to its end when COMMUTE accesses wait for each other.
    pub in_order: bool,
    pub entangled: bool,
}

/// Mends until the oracle is content. `None`: it cannot be.
pub fn mend(mut program: Program, trees: &[Tree]) -> Option<Fair> {
    for _ in 0..1000 {
        let mut oracle = Oracle::new(&program, trees, Order::Submission);
        let outcome = oracle.run();
        let entangled = oracle.entangled;
        match outcome {
            Ok(expected) => {
                let mut ordered = Oracle::new(&program, trees, Order::Submission);
                ordered.lines.in_order = true;
                let in_order = !matches!(ordered.run(), Err(faults) if faults.iter().any(|fault| matches!(fault, Fault::Stuck(_))));
                return Some(Fair {
                    in_order,
                    program,
                    expected,
                    entangled,
                });
            }
            Err(mut faults) => {
                // From the back, so that positions in the script stay right.
                faults.sort_by_key(|fault| match fault {
                    Fault::Stuck(at) => std::cmp::Reverse(*at),
                    _ => std::cmp::Reverse(0),
                });
                for fault in faults {
                    remove(&mut program, fault)?;
                }
            }
        }
    }
    None
}

fn remove(program: &mut Program, fault: Fault) -> Option<()> {
    match fault {
        Fault::Stuck(at) => {
            match program.script.get(at)? {
                Op::Await(_) | Op::Drain => {
                    program.script.remove(at);
                }
                Op::Acquire(hold) => {
                    let hold = *hold;
                    program.script.retain(|op| !matches!(op, Op::Acquire(other) | Op::Release(other) if *other == hold));
                }
                _ => return None,
            }
        }
        Fault::Cancel(task) => {
            let held = program.tasks[task].held;
            let group = program.tasks[task].group;
            if let Some(group) = group {
                start_instead(program, group);
            }
            for op in &mut program.script {
                if *op == Op::Cancel(Token::Task(task)) {
                    *op = if held { Op::Start(task) } else { Op::Progress };
                }
            }
        }
        Fault::Overwrite(hold) => {
            program.holds[hold]
                .iter_mut()
                .for_each(|access| access.mode = Mode::Read);
        }
        Fault::Loose(task, root) => {
            for access in &mut program.tasks[task].accesses {
                if program.handles[access.data].root == root && access.mode == Mode::Commute {
                    access.mode = Mode::ReadWrite;
                    if let Some(slot) = access.slot {
                        program.slots[slot].mode = Mode::ReadWrite;
                    }
                }
            }
        }
    }
    Some(())
}

/// Starts the members of a group that would have been cancelled.
fn start_instead(program: &mut Program, group: usize) {
    let cancel = Op::Cancel(Token::Group(group));
    if let Some(at) = program.script.iter().position(|op| *op == cancel) {
        let members =
            (0..program.tasks.len()).filter(|task| program.tasks[*task].group == Some(group));
        let starts: Vec<Op> = members.map(Op::Start).collect();
        program.script.splice(at..=at, starts);
    }
}

/// Joins neighbouring submissions into batches. A batch may not name its own new tokens.
pub fn batch(program: &mut Program, rng: &mut Rng) {
    let mut script: Vec<Op> = Vec::new();
    for op in std::mem::take(&mut program.script) {
        if let (Some(Op::Submit(batch)), Op::Submit(tasks)) = (script.last_mut(), &op) {
            let names = |task: &usize| names_any(program, *task, batch);
            if rng.bool() && !tasks.iter().any(names) {
                batch.extend(tasks);
                continue;
            }
        }
        script.push(op);
    }
    program.script = script;
}

/// Whether a task, or one that its body submits, names the token of one of `others`.
fn names_any(program: &Program, task: usize, others: &[usize]) -> bool {
    let plan = &program.tasks[task];
    let named = |token: &Token| matches!(token, Token::Task(task) if others.contains(task));
    let named_in_step = |step: &Step| match step {
        Step::Await(token) => named(token),
        Step::AwaitAll(tokens) | Step::AwaitAny(tokens) => tokens.iter().any(named),
        Step::Submit(nested) => names_any(program, *nested, others),
        _ => false,
    };
    plan.predecessors().any(|token| named(&token)) || plan.steps.iter().any(named_in_step)
}
