//! Random operations of the main thread: tasks in every style, promises, holds, groups, splits.

use crate::bodies::Outer;
use crate::generator::Generator;
use crate::program::{
    Access, Handle, Mode, Op, Piece, Promise, Reduction, Slot, Split, Step, Storage, Task, Token,
};

/// How a task of the main thread comes into being.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    /// Declared, its places reserved, submitted later.
    Late,
    /// Declared, then submitted at once.
    Declared,
    Held,
    HeldThenCancelled,
    Blocked,
    BlockedThenCancelled,
}

impl Generator {
    fn style(&mut self) -> Style {
        let features = self.features;
        match self.rng.u32(..100) {
            0..12 if features.late => Style::Late,
            12..18 if features.late => Style::Declared,
            18..30 if features.held => Style::Held,
            30..32 if features.cancels => Style::HeldThenCancelled,
            32..40 if features.promises => Style::Blocked,
            40..42 if features.cancels => Style::BlockedThenCancelled,
            _ => Style::Plain,
        }
    }

    pub(crate) fn task(&mut self) {
        let style = self.style();
        let known = self.pool.len();
        let mut task = self.plain_task();
        task.accesses = self.accesses(style == Style::Late);
        task.after = self.tokens(known, 3);
        let shared = task
            .accesses
            .iter()
            .any(|access| matches!(access.mode, Mode::Commute | Mode::Reduce));
        let cancelled = matches!(
            style,
            Style::HeldThenCancelled | Style::BlockedThenCancelled
        );
        task.always = self.features.always && !shared && !cancelled && self.chance(15);
        task.held = matches!(style, Style::Held | Style::HeldThenCancelled);
        task.declared =
            matches!(style, Style::Late | Style::Declared) || task.held && self.chance(25);
        if style != Style::Late {
            task.group = self
                .groups
                .last()
                .copied()
                .filter(|_| self.rng.u8(..) < 150);
        }
        let movable = task.held || task.declared;
        if movable && self.chance(50) {
            task.edges = std::mem::take(&mut task.after);
        }
        // May add a datum to the task's own, so it comes before its places are reserved.
        let id = self.program.tasks.len();
        self.program.tasks.push(task);
        self.body(
            id,
            Outer {
                known,
                commuting: false,
                depth: 0,
            },
        );
        let mut task = self.program.tasks[id].clone();
        if style != Style::Late {
            self.duplicate(&mut task.accesses);
        }

        let edges: Vec<Op> = task
            .edges
            .iter()
            .map(|token| Op::Edge(*token, id))
            .collect();
        let edges_first = task.declared && self.chance(50);
        if task.declared {
            self.program.script.push(Op::Declare(id));
        }
        if edges_first {
            self.program.script.extend(edges.iter().cloned());
        }
        let edges = if edges_first { vec![] } else { edges };
        match style {
            Style::Plain | Style::Declared => {
                self.program.script.extend(edges);
                self.program.script.push(Op::Submit(vec![id]));
            }
            Style::Late => {
                self.reserve(&mut task);
                let mut ops = edges;
                ops.push(Op::Submit(vec![id]));
                self.defer(ops);
            }
            Style::Held | Style::HeldThenCancelled => {
                self.program.script.push(Op::Submit(vec![id]));
                let mut ops = edges;
                ops.push(if style == Style::Held {
                    Op::Start(id)
                } else {
                    Op::Cancel(Token::Task(id))
                });
                self.defer(ops);
            }
            Style::Blocked | Style::BlockedThenCancelled => {
                let promise = self.program.promises.len();
                let fail =
                    (self.features.failures && self.chance(20)).then(|| self.rng.i32(1..1000));
                self.program.promises.push(Promise {
                    declared: false,
                    fail,
                });
                self.program.script.push(Op::Promise(promise));
                task.after.push(Token::Promise(promise));
                self.program.script.push(Op::Submit(vec![id]));
                let resolve = if self.chance(50) {
                    Op::Resolve(promise)
                } else {
                    Op::Foreign(promise)
                };
                let cancel =
                    (style == Style::BlockedThenCancelled).then_some(Op::Cancel(Token::Task(id)));
                self.defer(cancel.into_iter().chain([resolve]).collect());
            }
        }
        self.program.tasks[id] = task;
        self.pool.push(Token::Task(id));
    }

    /// Takes the places of a task that is submitted later.
    pub(crate) fn reserve(&mut self, task: &mut Task) {
        let mut slots = Vec::new();
        for access in &mut task.accesses {
            let root = self.program.handles[access.data].root;
            if self.program.roots[root].constant {
                continue;
            }
            access.slot = Some(self.program.slots.len());
            slots.push(self.program.slots.len());
            self.program.slots.push(Slot {
                data: access.data,
                mode: access.mode,
                abandoned: false,
            });
            self.reserved.push(root);
        }
        if !slots.is_empty() {
            self.program.script.push(Op::Reserve(slots));
        }
    }

    /// Places that are given up later.
    pub(crate) fn abandon(&mut self) {
        let accesses = self.accesses(true);
        let mut task = Task {
            accesses,
            ..Task::default()
        };
        task.accesses.retain(|access| {
            self.program.roots[self.program.handles[access.data].root].reduction == Reduction::None
        });
        self.reserve(&mut task);
        for slot in task.accesses.iter().filter_map(|access| access.slot) {
            self.program.slots[slot].abandoned = true;
            self.defer(vec![Op::Abandon(slot)]);
        }
    }

    /// The first writer of a datum whose readers have come already: nothing it waits for is younger than they.
    pub(crate) fn first_write(&mut self) {
        let Some((root, since)) = self.unwritten.pop() else {
            return;
        };
        let known = since.unwrap_or(self.pool.len());
        let mut task = self.plain_task();
        task.accesses = vec![Access {
            data: self.program.roots[root].handle,
            mode: Mode::Write,
            slot: None,
        }];
        task.accesses.extend(self.constant());
        task.after = self.tokens(known, 2);
        let fails = self.chance(self.failing);
        task.steps = vec![Step::Touch];
        task.steps.extend(fails.then_some(Step::Fail(77)));
        let id = self.program.tasks.len();
        self.program.tasks.push(task);
        self.program.script.push(Op::Submit(vec![id]));
        self.pool.push(Token::Task(id));
    }

    pub(crate) fn promise(&mut self) {
        let known = self.pool.len();
        let promise = self.program.promises.len();
        let declared = self.features.cancels && self.chance(10);
        let fail = (self.features.failures && self.chance(15)).then(|| self.rng.i32(1..1000));
        self.program.promises.push(Promise { declared, fail });
        self.program.script.push(Op::Promise(promise));
        self.pool.push(Token::Promise(promise));
        if declared || self.features.cancels && self.chance(10) {
            return self.defer(vec![Op::Cancel(Token::Promise(promise))]);
        }
        match self.rng.u32(..4) {
            0 => self.defer(vec![Op::Resolve(promise)]),
            1 => self.defer(vec![Op::Foreign(promise)]),
            2 if known > 0 => {
                let token = self.recent(known).expect("not empty");
                self.defer(vec![Op::Callback(token, promise)]);
            }
            _ => {
                let mut task = self.plain_task();
                task.after = self.tokens(known, 2);
                task.always = true;
                task.steps = vec![Step::Touch, Step::Resolve(promise)];
                let id = self.program.tasks.len();
                self.program.tasks.push(task);
                self.defer(vec![Op::Submit(vec![id])]);
            }
        }
    }

    pub(crate) fn acquire(&mut self) {
        let mut accesses = self.accesses(true);
        if self.chance(50) {
            accesses.truncate(1);
        } else {
            accesses
                .iter_mut()
                .for_each(|access| access.mode = Mode::Read);
        }
        accesses
            .iter_mut()
            .filter(|access| access.mode == Mode::Commute)
            .for_each(|access| access.mode = Mode::ReadWrite);
        accesses.sort_by_key(|access| access.data);
        if accesses.is_empty() {
            return;
        }
        let hold = self.program.holds.len();
        self.program.holds.push(accesses);
        self.program.script.push(Op::Acquire(hold));
        if self.chance(50) {
            self.program.script.push(Op::Release(hold));
        } else {
            self.defer(vec![Op::Release(hold)]);
        }
    }

    pub(crate) fn group(&mut self) {
        if self.groups.len() < 3 && self.chance(55) {
            let group = self.program.groups.len();
            let parent = if self.chance(60) {
                self.groups.last().copied()
            } else {
                None
            };
            self.program.groups.push(parent);
            self.groups.push(group);
            self.program.script.push(Op::GroupOpen(group));
            if self.chance(30) {
                // A consumer of the whole group before its first member.
                let mut task = self.plain_task();
                task.after = vec![Token::Group(group)];
                task.steps = vec![Step::Touch];
                let id = self.program.tasks.len();
                self.program.tasks.push(task);
                self.program.script.push(Op::Submit(vec![id]));
            }
        } else if !self.groups.is_empty() {
            self.close_group();
        }
    }

    /// A group whose members are all held, cancelled by its `done`.
    pub(crate) fn cancelled_group(&mut self) {
        let group = self.program.groups.len();
        self.program.groups.push(None);
        self.program.script.push(Op::GroupOpen(group));
        for _ in 0..self.rng.usize(1..4) {
            let known = self.pool.len();
            let mut task = self.plain_task();
            task.accesses = self.accesses(false);
            task.after = self.tokens(known, 1);
            task.held = true;
            task.group = Some(group);
            task.steps = vec![Step::Touch];
            let id = self.program.tasks.len();
            self.program.tasks.push(task);
            self.program.script.push(Op::Submit(vec![id]));
            self.pool.push(Token::Task(id));
        }
        let mut end = [Op::Cancel(Token::Group(group)), Op::GroupClose(group)];
        self.rng.shuffle(&mut end);
        self.program.script.extend(end);
        self.pool.push(Token::Group(group));
    }

    pub(crate) fn close_group(&mut self) {
        if let Some(group) = self.groups.pop() {
            self.program.script.push(Op::GroupClose(group));
            self.pool.push(Token::Group(group));
        }
    }

    pub(crate) fn split_or_join(&mut self) {
        let Some(root) = self.pick(&self.shared.clone()) else {
            return;
        };
        let plan = &self.program.roots[root];
        if plan.reduction != Reduction::None || plan.unwritten || plan.storage == Storage::Name {
            return;
        }
        let handle = self.part_of(root);
        let Some(split) = self.split_of(handle) else {
            return self.split(handle);
        };
        let inner = self.program.splits[split]
            .parts
            .iter()
            .any(|part| self.split_of(*part).is_some());
        if !inner && !self.pinned.contains(&split) && !self.reserved.contains(&root) {
            self.program.script.push(Op::Join(split));
        }
    }

    pub(crate) fn split(&mut self, handle: usize) {
        let whole = self.program.handles[handle].clone();
        let size = whole.words.len();
        let contiguous = whole.words.windows(2).all(|pair| pair[1] == pair[0] + 1);
        if size < 2 || !contiguous {
            return;
        }
        let mut pieces = Vec::new();
        if size.is_multiple_of(2) && size >= 4 && self.chance(40) {
            // Two rows; cut between columns.
            let columns = size / 2;
            let cut = self.rng.usize(1..columns);
            pieces.push(Piece {
                offset: 0,
                length: cut,
                rows: 2,
                stride: columns,
            });
            pieces.push(Piece {
                offset: cut,
                length: columns - cut,
                rows: 2,
                stride: columns,
            });
        } else {
            let mut at = 0;
            while at < size {
                let length = self.rng.usize(1..=(size - at).min(3));
                pieces.push(Piece {
                    offset: at,
                    length,
                    rows: self.rng.usize(0..=1),
                    stride: 0,
                });
                at += length;
            }
            // What no piece covers is in no datum for a while, so it would not say whether it is failed.
            let well = !self.features.failures && !self.features.cancels;
            if pieces.len() > 2 && well && self.chance(30) {
                pieces.remove(1);
            }
        }
        let split = self.program.splits.len();
        let mut parts = Vec::new();
        for piece in pieces {
            let row = |row: usize| {
                (0..piece.length).map(move |word| piece.offset + row * piece.stride + word)
            };
            let words = (0..piece.rows.max(1))
                .flat_map(row)
                .map(|word| whole.words[word])
                .collect();
            parts.push(self.program.handles.len());
            self.program.handles.push(Handle {
                root: whole.root,
                piece: Some(piece),
                words,
            });
        }
        self.program.splits.push(Split {
            data: handle,
            parts,
        });
        self.program.script.push(Op::Split(split));
    }
}
