//! Random bodies: what a task does besides touching its data, and the tasks it submits.

use crate::generator::Generator;
use crate::program::{Access, Mode, Reduction, Step, Task, Token};

/// What surrounds a body.
#[derive(Clone, Copy)]
pub struct Outer {
    /// Size of the pool when its outermost ancestor was made.
    pub known: usize,
    /// An ancestor that completes after this task holds a COMMUTE access.
    pub commuting: bool,
    pub depth: usize,
}

/// Bodies that may be blocked at once, well below the cap on threads.
const MOST_AWAITING: usize = 24;

/// A nested task as its siblings see it.
struct Sibling {
    task: usize,
    child: bool,
    /// Does not wait for its parent.
    free: bool,
}

impl Generator {
    /// Fills in the steps of a task, and makes the tasks that these submit.
    pub fn body(&mut self, task: usize, outer: Outer) {
        let features = self.features;
        let plan = self.program.tasks[task].clone();
        let commuting = outer.commuting
            || plan
                .accesses
                .iter()
                .any(|access| access.mode == Mode::Commute);
        let code = self
            .chance(self.failing)
            .then(|| self.rng.i32(-500..500) | 1);
        let mut steps = Vec::new();
        if code.is_some() && self.chance(25) {
            steps.extend(code.map(Step::Fail));
            self.program.tasks[task].steps = steps;
            return;
        }
        if features.body_awaits && !commuting && self.chance(12) {
            self.outer_await(&mut steps, outer.known);
        }
        steps.push(Step::Touch);

        // A datum of this body's own, for its nested tasks; sometimes it holds it itself.
        let mut private = Vec::new();
        let parent_now = features.nested && !plan.always && outer.depth < 3 && self.chance(15);
        if parent_now {
            for _ in 0..self.rng.usize(1..=2) {
                private.push(self.make_root(false, Reduction::None, false));
            }
            // Late tasks reserve what they access, so the datum is added before that.
            if self.chance(50) && !plan.child {
                let data = self.program.roots[private[0]].handle;
                self.program.tasks[task].accesses.push(Access {
                    data,
                    mode: Mode::ReadWrite,
                    slot: None,
                });
            }
        }
        let plan = self.program.tasks[task].clone();
        let has_children = features.children && !plan.always && outer.depth < 3 && self.chance(20);

        let mut siblings: Vec<Sibling> = Vec::new();
        let mut released: Vec<usize> = Vec::new();
        let mut under_children: Vec<usize> = Vec::new();
        for _ in 0..self.rng.usize(0..=6) {
            match self.rng.u32(..10) {
                0..2 if features.releases => {
                    let free: Vec<usize> = plan
                        .merged()
                        .iter()
                        .map(|access| access.data)
                        .filter(|data| {
                            !released.contains(data)
                                && !under_children.contains(&self.program.handles[*data].root)
                        })
                        .collect();
                    if let Some(data) = self.pick(&free) {
                        self.pin(data);
                        released.push(data);
                        steps.push(Step::Release(data));
                    }
                }
                2..5 if has_children && self.program.tasks.len() < self.budget => {
                    let nested = self.child(
                        task,
                        outer,
                        commuting,
                        &plan,
                        &released,
                        &siblings,
                        &mut under_children,
                    );
                    steps.push(Step::Submit(nested));
                    siblings.push(Sibling {
                        task: nested,
                        child: true,
                        free: true,
                    });
                }
                5..7 if parent_now && self.program.tasks.len() < self.budget => {
                    let (nested, free) = self.nested(task, outer, &private, &plan, &siblings);
                    steps.push(Step::Submit(nested));
                    siblings.push(Sibling {
                        task: nested,
                        child: false,
                        free,
                    });
                    if !free
                        && self.chance(10)
                        && self.directly_behind(nested, &plan, &released)
                        && !self.features.opener
                    {
                        steps.push(Step::Refused(nested));
                    }
                }
                7..9 if features.body_awaits && !siblings.is_empty() => {
                    let tokens: Vec<Token> = siblings
                        .iter()
                        .filter(|sibling| sibling.free && (sibling.child || !commuting))
                        .map(|sibling| Token::Task(sibling.task))
                        .collect();
                    self.await_some(&mut steps, &tokens);
                }
                9 if features.holds => {
                    let holds = self.rng.u32(1..=3);
                    steps.push(Step::Hold {
                        holds,
                        own: self.rng.u32(0..=holds),
                    });
                }
                _ => {}
            }
        }
        if features.body_awaits && !commuting && self.chance(5) {
            self.outer_await(&mut steps, outer.known);
        }
        steps.extend(code.map(Step::Fail));
        self.program.tasks[task].steps = steps;
    }

    /// Whether a nested task needs a datum that its parent holds to its end.
    fn directly_behind(&self, nested: usize, parent: &Task, released: &[usize]) -> bool {
        let holds = |data: usize| {
            !released.contains(&data)
                && parent
                    .accesses
                    .iter()
                    .any(|access| access.data == data && access.mode.writes())
        };
        self.program.tasks[nested]
            .accesses
            .iter()
            .any(|access| holds(access.data))
    }

    fn outer_await(&mut self, steps: &mut Vec<Step>, known: usize) {
        let tokens = self.tokens(known, 3);
        self.await_some(steps, &tokens);
    }

    fn await_some(&mut self, steps: &mut Vec<Step>, tokens: &[Token]) {
        if tokens.is_empty() || self.awaiting >= MOST_AWAITING {
            return;
        }
        self.awaiting += 1;
        steps.push(match self.rng.u32(..4) {
            0 => Step::AwaitAll(tokens.to_vec()),
            1 => Step::AwaitAny(tokens.to_vec()),
            _ => Step::Await(tokens[self.rng.usize(..tokens.len())]),
        });
    }

    /// Keeps the handle of a piece valid for ever: bodies name it at their own time.
    fn pin(&mut self, handle: usize) {
        let mut at = handle;
        while let Some(split) = self
            .program
            .splits
            .iter()
            .position(|split| split.parts.contains(&at))
        {
            self.pinned.push(split);
            at = self.program.splits[split].data;
        }
    }

    /// A NORN_CHILD task inside what the parent still holds.
    #[allow(clippy::too_many_arguments)] // one caller; a struct would only rename them
    fn child(
        &mut self,
        parent: usize,
        outer: Outer,
        commuting: bool,
        plan: &Task,
        released: &[usize],
        siblings: &[Sibling],
        under_children: &mut Vec<usize>,
    ) -> usize {
        let mut task = self.plain_task();
        task.parent = Some(parent);
        task.child = true;
        let mut covers: Vec<Access> = plan.merged();
        covers.retain(|access| {
            let open = !matches!(access.mode, Mode::Commute | Mode::Reduce);
            open && !released.contains(&access.data)
        });
        self.rng.shuffle(&mut covers);
        covers.truncate(self.rng.usize(0..=2));
        for cover in covers {
            let reduction = self.program.roots[self.program.handles[cover.data].root].reduction;
            let mode = match (cover.mode, self.rng.u32(..10)) {
                (Mode::ReadWrite, 0..3) if reduction != Reduction::None => Mode::Reduce,
                (Mode::ReadWrite, 3..5) if self.features.commutes => Mode::Commute,
                (Mode::ReadWrite, 5..7) => Mode::Read,
                (Mode::ReadWrite, 7) => Mode::Write,
                (mode, _) => mode,
            };
            let mut data = cover.data;
            if let Some(split) = self.split_of(data).filter(|_| self.rng.bool()) {
                let parts = self.program.splits[split].parts.clone();
                data = self.pick(&parts).expect("a split has pieces");
            }
            self.pin(data);
            under_children.push(self.program.handles[data].root);
            task.accesses.push(Access {
                data,
                mode,
                slot: None,
            });
        }
        for sibling in siblings
            .iter()
            .filter(|sibling| sibling.child || sibling.free && !commuting)
        {
            if self.rng.u8(..) < 40 {
                task.after.push(Token::Task(sibling.task));
            }
        }
        if !commuting && self.chance(20) {
            task.after.extend(self.tokens(outer.known, 1));
        }
        let shared = task
            .accesses
            .iter()
            .any(|access| matches!(access.mode, Mode::Commute | Mode::Reduce));
        task.always = self.features.always && !shared && self.chance(10);
        self.duplicate(&mut task.accesses);
        self.add_nested(
            task,
            Outer {
                commuting,
                depth: outer.depth + 1,
                ..outer
            },
        )
    }

    /// A nested task that is no child, on data of this body alone. Whether it is free of its parent.
    fn nested(
        &mut self,
        parent: usize,
        outer: Outer,
        private: &[usize],
        plan: &Task,
        siblings: &[Sibling],
    ) -> (usize, bool) {
        let mut task = self.plain_task();
        task.parent = Some(parent);
        for root in private {
            if self.chance(60) {
                let mode = match self.rng.u32(..10) {
                    0..2 if self.features.commutes => Mode::Commute,
                    0..5 => Mode::Read,
                    5..7 => Mode::Write,
                    _ => Mode::ReadWrite,
                };
                task.accesses.push(Access {
                    data: self.program.roots[*root].handle,
                    mode,
                    slot: None,
                });
            }
        }
        let held = |access: &Access| plan.accesses.iter().any(|other| other.data == access.data);
        // Even when the parent has released the datum: it did so at its own time.
        let mut free = !task.accesses.iter().any(held);
        // A sibling before it on the same datum may itself wait for the parent.
        for sibling in siblings
            .iter()
            .filter(|sibling| !sibling.child && !sibling.free)
        {
            let other = &self.program.tasks[sibling.task];
            free &= !other
                .accesses
                .iter()
                .any(|access| task.accesses.iter().any(|own| own.data == access.data));
        }
        task.accesses.extend(self.constant());
        for sibling in siblings {
            if self.rng.u8(..) < 40 {
                task.after.push(Token::Task(sibling.task));
                free &= sibling.free;
            }
        }
        if self.chance(20) {
            task.after.extend(self.tokens(outer.known, 2));
        }
        let shared = task
            .accesses
            .iter()
            .any(|access| access.mode == Mode::Commute);
        task.always = self.features.always && !shared && self.chance(10);
        self.duplicate(&mut task.accesses);
        (
            self.add_nested(
                task,
                Outer {
                    commuting: false,
                    depth: outer.depth + 1,
                    ..outer
                },
            ),
            free,
        )
    }

    fn add_nested(&mut self, task: Task, outer: Outer) -> usize {
        let id = self.program.tasks.len();
        self.program.tasks.push(task);
        self.body(id, outer);
        id
    }
}
