//! Tests of the test: the oracle against a plain loop, itself in random order, and planted mistakes.

use crate::generator::{Features, MOST_COPIES, generate, generate_with};
use crate::mend::mend;
use crate::oracle::{End, Expected, Oracle, Order};
use crate::program::{
    Access, Handle, Mode, Op, Program, Reduction, Root, Step, Storage, Task, Token, combine,
    contribution, identity, mix, stored,
};
use crate::timeline::Tree;

/// Trees of our own, so that these tests need no norn.
fn plain_trees() -> Vec<Tree> {
    (0..=MOST_COPIES).map(Tree::left_fold).collect()
}

/// Accesses of tasks that only their data order, to what others write.
fn candidates(program: &Program, expected: &Expected) -> Vec<(usize, usize)> {
    let writes = |data: usize, but: usize| {
        let others = program
            .tasks
            .iter()
            .enumerate()
            .filter(|(task, _)| *task != but && expected.tasks[*task].ran);
        others
            .flat_map(|(_, task)| task.merged())
            .any(|access| access.data == data && access.mode.writes())
    };
    let mut found = Vec::new();
    for (index, task) in program.tasks.iter().enumerate() {
        let free = task.parent.is_none() && task.predecessors().next().is_none();
        if free && expected.tasks[index].end == End::Done {
            let reads = |access: &&Access| {
                matches!(access.mode, Mode::Read | Mode::ReadWrite) && access.slot.is_none()
            };
            let merged = task.merged();
            let accesses = merged
                .iter()
                .filter(reads)
                .filter(|access| writes(access.data, index));
            found.extend(accesses.map(|access| (index, access.data)));
        }
    }
    found
}

/// An access that changes the outcome of some order when it is left out of the timelines.
pub fn plant(program: &Program, expected: &Expected, trees: &[Tree]) -> Option<(usize, usize)> {
    candidates(program, expected)
        .into_iter()
        .take(4)
        .find(|plant| {
            (0..12).any(|again| {
                let order = Order::Random(fastrand::Rng::with_seed(program.seed * 12 + again));
                let mut oracle = Oracle::new(program, trees, order);
                oracle.omit = Some(*plant);
                oracle.laggard = Some(plant.0).filter(|_| again % 2 == 0);
                oracle.run().as_ref() != Ok(expected)
            })
        })
}

/// t0 writes, t1 reads, t2 writes again.
pub fn write_read_write() -> Program {
    let task = |mode| Task {
        accesses: vec![Access {
            data: 0,
            mode,
            slot: None,
        }],
        steps: vec![Step::Touch],
        ..Task::default()
    };
    Program {
        seed: 1,
        roots: vec![Root {
            handle: 0,
            words: 2,
            storage: Storage::Registered,
            reduction: Reduction::None,
            unwritten: false,
            constant: false,
        }],
        handles: vec![Handle {
            root: 0,
            piece: None,
            words: vec![0, 1],
        }],
        tasks: [Mode::Write, Mode::Read, Mode::Write].map(task).into(),
        script: (0..3).map(|task| Op::Submit(vec![task])).collect(),
        ..Program::default()
    }
}

/// The outcome does not depend on the order of steps: the programs keep to the rule.
#[test]
fn graphs_have_one_outcome() {
    let _alone = crate::alone();
    let trees = plain_trees();
    for seed in 0..400 {
        let fair = mend(generate(seed), &trees)
            .unwrap_or_else(|| panic!("seed {seed} makes no fair program"));
        for again in 0..3 {
            let order = Order::Random(fastrand::Rng::with_seed(seed * 3 + again));
            let outcome = Oracle::new(&fair.program, &trees, order).run();
            assert!(
                outcome.as_ref() == Ok(&fair.expected),
                "seed {seed} has two outcomes:\n{}",
                fair.program
            );
        }
    }
}

/// An access left out of the timelines changes the outcome of some order.
#[test]
fn graphs_depend_on_their_accesses() {
    let _alone = crate::alone();
    let trees = plain_trees();
    let (mut could, mut does) = (0, 0);
    for seed in 0..200 {
        let fair = mend(generate(seed), &trees).expect("a fair program");
        could += u32::from(!candidates(&fair.program, &fair.expected).is_empty());
        does += u32::from(plant(&fair.program, &fair.expected, &trees).is_some());
    }
    assert!(could > 50 && does * 2 >= could, "{does} of {could} show");
}

/// Programs that only submit and acquire, against a loop that does one thing after the other.
#[test]
fn graphs_equal_a_plain_loop() {
    let _alone = crate::alone();
    let trees = plain_trees();
    let features = Features {
        acquires: true,
        splits: true,
        commutes: true,
        reductions: true,
        failures: true,
        always: true,
        duplicates: true,
        releases: true,
        ..Features::default()
    };
    for seed in 0..600 {
        let fair = mend(generate_with(seed, Some(features)), &trees).expect("a fair program");
        let (outs, words) = plain_loop(&fair.program);
        for (task, out) in outs.iter().enumerate() {
            let expected = &fair.expected.tasks[task];
            let loose = !expected.or_from.is_empty();
            let same = expected.ran == out.is_some()
                && (!expected.ran || expected.out.is_none() || expected.out == *out);
            assert!(
                loose || same,
                "seed {seed}, t{task}: {expected:?}, in the loop {out:x?}\n{}",
                fair.program
            );
        }
        for (root, words) in words.iter().enumerate() {
            for (word, value) in words.iter().enumerate() {
                let (expected, causes) = &fair.expected.words[root][word];
                let same = if causes.is_empty() {
                    expected.is_none() || *expected == *value
                } else {
                    value.is_none()
                };
                assert!(
                    same,
                    "seed {seed}, root {root}, word {word}\n{}",
                    fair.program
                );
            }
        }
    }
}

/// What each task saw (`None`: it did not run) and the contents of each word (`None`: failed).
/// Reductions are folded from the left.
fn plain_loop(program: &Program) -> (Vec<Option<u64>>, Vec<Vec<Option<u64>>>) {
    let mut memory: Vec<Vec<u64>> = Vec::new();
    for (index, root) in program.roots.iter().enumerate() {
        memory.push(
            (0..root.words)
                .map(|word| program.initial(index, word))
                .collect(),
        );
    }
    let mut healthy: Vec<Vec<bool>> = memory.iter().map(|words| vec![true; words.len()]).collect();
    // Members of one REDUCE epoch do not see each other's failures.
    let mut reducing: Vec<Option<bool>> = vec![None; memory.len()];
    let mut outs: Vec<Option<u64>> = vec![None; program.tasks.len()];
    let mut failed = vec![false; program.tasks.len()];
    for op in &program.script {
        let (task, accesses) = match op {
            Op::Submit(tasks) => (Some(tasks[0]), program.tasks[tasks[0]].merged()),
            Op::Acquire(hold) => (None, program.holds[*hold].clone()),
            _ => continue,
        };
        let words = |access: &Access| {
            let handle = &program.handles[access.data];
            (handle.root, handle.words.clone())
        };
        for access in &accesses {
            let (root, _) = words(access);
            if access.mode != Mode::Reduce {
                reducing[root] = None;
            } else if reducing[root].is_none() {
                reducing[root] = Some(healthy[root].iter().all(|ok| *ok));
            }
        }
        let sound = |access: &Access| {
            let (root, words) = words(access);
            match access.mode {
                Mode::Write => true,
                Mode::Reduce => reducing[root] == Some(true),
                _ => words.iter().all(|word| healthy[root][*word]),
            }
        };
        let sound = accesses.iter().all(sound);
        let plan = task.map(|task| &program.tasks[task]);
        let after = plan.is_none_or(|plan| {
            plan.predecessors()
                .all(|token| !matches!(token, Token::Task(task) if failed[task]))
        });
        let runs = sound && after || plan.is_some_and(|plan| plan.always);
        let steps = plan.map_or(&[Step::Touch][..], |plan| &plan.steps);
        let mut hash = match (task, plan) {
            (Some(task), Some(plan)) => {
                plan.predecessors()
                    .fold(mix(program.seed, task as u64 + 1), |hash, token| {
                        let Token::Task(before) = token else {
                            return mix(hash, 0);
                        };
                        mix(hash, mix(0, outs[before].unwrap_or(0)))
                    })
            }
            _ => match op {
                Op::Acquire(hold) => mix(program.seed, !(*hold as u64)),
                _ => 0,
            },
        };
        let mut code = None;
        let mut kept = accesses.clone();
        for step in steps.iter().filter(|_| runs) {
            match step {
                Step::Touch => touch(program, &mut memory, &mut hash, &accesses),
                // Committed, whatever becomes of the task.
                Step::Release(data) => {
                    for access in kept
                        .iter()
                        .filter(|access| access.data == *data && access.mode.writes())
                    {
                        let (root, words) = words(access);
                        words.iter().for_each(|word| {
                            healthy[root][*word] |=
                                !matches!(access.mode, Mode::Commute | Mode::Reduce)
                        });
                    }
                    kept.retain(|access| access.data != *data);
                }
                Step::Fail(value) => {
                    code = Some(*value);
                    break;
                }
                other => unreachable!("{other:?} is not in a plain program"),
            }
        }
        let done = runs && code.is_none();
        for access in kept
            .iter()
            .filter(|access| access.mode.writes() && (task.is_some() || runs))
        {
            let (root, words) = words(access);
            for word in words {
                healthy[root][word] = match access.mode {
                    Mode::Commute | Mode::Reduce => healthy[root][word] && done,
                    _ => done,
                };
            }
        }
        if let Some(task) = task {
            failed[task] = !done;
            outs[task] = runs.then(|| code.map_or(hash, |code| mix(hash, code as u64)));
        }
    }
    let value = |(word, ok): (&u64, &bool)| ok.then_some(*word);
    let words = memory
        .iter()
        .zip(&healthy)
        .map(|(words, ok)| words.iter().zip(ok).map(value).collect());
    (outs, words.collect())
}

fn touch(program: &Program, memory: &mut [Vec<u64>], hash: &mut u64, accesses: &[Access]) {
    for access in accesses
        .iter()
        .filter(|access| matches!(access.mode, Mode::Read | Mode::ReadWrite))
    {
        let handle = &program.handles[access.data];
        *hash = handle
            .words
            .iter()
            .fold(*hash, |hash, word| mix(hash, memory[handle.root][*word]));
    }
    for access in accesses {
        let handle = &program.handles[access.data];
        let reduction = program.roots[handle.root].reduction;
        if access.mode == Mode::Reduce {
            let mut copy: Vec<u64> = handle
                .words
                .iter()
                .map(|word| identity(reduction, *word))
                .collect();
            let adds: Vec<u64> = handle
                .words
                .iter()
                .map(|word| contribution(*hash, *word))
                .collect();
            combine(reduction, &mut copy, &adds);
            combine(reduction, &mut memory[handle.root], &copy);
            continue;
        }
        for word in &handle.words {
            let new = stored(*hash, access.data, *word);
            let cell = &mut memory[handle.root][*word];
            match access.mode {
                Mode::Write | Mode::ReadWrite => *cell = new,
                Mode::Commute => *cell = cell.wrapping_add(new),
                Mode::Read | Mode::Reduce => {}
            }
        }
    }
}
