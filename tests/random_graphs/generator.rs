//! Random programs from a seed.
//!
//! THE RULE. Equality between modes is promised for programs whose submission order
//! per datum does not depend on timing, so every program here keeps to this:
//!
//!  1. Shared data are submitted to by the main thread only, or by bodies for
//!     `NORN_CHILD` tasks, which are ordered inside their parent's access and nowhere else.
//!  2. A nested task that is no child uses data of its own submitter (one body, not
//!     its siblings' or descendants'), and constants, which nobody ever writes.
//!  3. There is a logical order of all tasks, that of the timelines. Edges go forward
//!     in it. A task may be submitted out of it only with a declared token and its places reserved
//!     (or as the first writer of an unwritten datum whose readers cannot lead to it).
//!  4. A body refers only to tokens that existed before its outermost ancestor was submitted, and to
//!     those of tasks it submitted itself. It awaits only what cannot wait for it.
//!  5. Nothing below a COMMUTE access waits for anything outside: a neighbour that
//!     wants the datum may be before or behind.
//!  6. In a COMMUTE epoch with a failing member the others may or may not run. They
//!     are then sinks: nobody looks at them. (`mend` turns the others' accesses into READ_WRITE.)
//!  7. Only what provably has not started and would not fail by itself is cancelled.
//!  8. The main thread blocks only where the rest can finish without it. (`mend` drops other blocking calls.)
//!
//! The oracle checks the rule by taking steps at random and comparing.

use fastrand::Rng;

use crate::program::{Access, Handle, Mode, Op, Program, Reduction, Root, Storage, Task, Token};

/// What a program may contain; each seed draws some of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    pub late: bool,
    pub held: bool,
    pub promises: bool,
    pub acquires: bool,
    pub awaits: bool,
    pub splits: bool,
    pub unwritten: bool,
    pub commutes: bool,
    pub reductions: bool,
    pub nested: bool,
    pub children: bool,
    pub body_awaits: bool,
    pub releases: bool,
    pub holds: bool,
    pub groups: bool,
    pub failures: bool,
    pub cancels: bool,
    pub always: bool,
    pub places: bool,
    pub opener: bool,
    pub duplicates: bool,
    pub batches: bool,
    pub abandons: bool,
}

impl Features {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let mut coin = || rng.u8(..) < 140;
        let mut features = Self {
            late: coin(),
            held: coin(),
            promises: coin(),
            acquires: coin(),
            awaits: coin(),
            splits: coin(),
            unwritten: coin(),
            commutes: coin(),
            reductions: coin(),
            nested: coin(),
            children: coin(),
            body_awaits: coin(),
            releases: coin(),
            holds: coin(),
            groups: coin(),
            failures: coin(),
            cancels: coin() && coin(),
            always: coin(),
            places: coin(),
            opener: coin() && coin(),
            duplicates: coin(),
            batches: coin(),
            abandons: coin(),
        };
        // A blocked body keeps its thread; were it the opener's, tasks placed there could never run.
        features.body_awaits &= !features.opener;
        features
    }
}

/// Longest run of COMMUTE or REDUCE neighbours is bounded by the program's size; programs beyond this have none.
pub const MOST_COPIES: usize = 96;

pub struct Generator {
    pub rng: Rng,
    pub features: Features,
    pub program: Program,
    /// Tokens that later tasks may wait for, oldest first.
    pub pool: Vec<Token>,
    /// Bodies that await so far; each may need a thread.
    pub awaiting: usize,
    pub budget: usize,
    /// Failing bodies in a hundred.
    pub failing: u32,
    pub constants: Vec<usize>,
    /// Splits whose pieces bodies name: never joined.
    pub pinned: Vec<usize>,
    pub deferred: Vec<(usize, Vec<Op>)>,
    pub clock: usize,
    pub shared: Vec<usize>,
    pub groups: Vec<usize>,
    /// By root: pool size when its first reader came; its writer comes later.
    pub unwritten: Vec<(usize, Option<usize>)>,
    /// Roots with places not yet filled, with the number of such tasks.
    pub reserved: Vec<usize>,
}

/// A random program that keeps to the rule, before `mend`.
pub fn generate(seed: u64) -> Program {
    generate_with(seed, None)
}

/// As `generate`, with these features instead of drawn ones.
pub fn generate_with(seed: u64, features: Option<Features>) -> Program {
    let mut rng = Rng::with_seed(seed);
    let budget = match rng.u32(..1000) {
        0..2 => 2000,
        2..30 => rng.usize(200..400),
        30..330 => rng.usize(3..15),
        _ => rng.usize(5..60),
    };
    let drawn = Features::draw(&mut rng);
    let mut features = features.unwrap_or(drawn);
    if budget > 2 * MOST_COPIES {
        features.reductions = false;
    }
    let mut generator = Generator {
        rng,
        features,
        program: Program {
            seed,
            ..Program::default()
        },
        pool: Vec::new(),
        awaiting: 0,
        budget,
        failing: 0,
        constants: Vec::new(),
        pinned: Vec::new(),
        deferred: Vec::new(),
        clock: 0,
        shared: Vec::new(),
        groups: Vec::new(),
        unwritten: Vec::new(),
        reserved: Vec::new(),
    };
    generator.failing = if features.failures {
        generator.rng.u32(1..=8)
    } else {
        0
    };
    generator.make_roots();
    generator.run();
    generator.program
}

impl Generator {
    /// True with `percent` in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(..100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.rng.usize(..from.len())])
    }

    pub fn make_root(&mut self, constant: bool, reduction: Reduction, unwritten: bool) -> usize {
        let words = 2 * self.rng.usize(1..=4);
        let storage = match self.rng.u32(..10) {
            0..2 if reduction == Reduction::None => Storage::Name,
            0..5 => Storage::Allocated,
            _ => Storage::Registered,
        };
        let (root, handle) = (self.program.roots.len(), self.program.handles.len());
        self.program.roots.push(Root {
            handle,
            words,
            storage,
            reduction,
            unwritten,
            constant,
        });
        self.program.handles.push(Handle {
            root,
            piece: None,
            words: (0..words).collect(),
        });
        root
    }

    pub(crate) fn make_roots(&mut self) {
        for _ in 0..self.rng.usize(1..=8) {
            let reduction = match self.rng.u32(..6) {
                0 if self.features.reductions => Reduction::Affine,
                1 if self.features.reductions => Reduction::Tree,
                _ => Reduction::None,
            };
            let unwritten = self.features.unwritten && self.chance(25);
            let root = self.make_root(false, reduction, unwritten);
            self.shared.push(root);
            if unwritten {
                self.unwritten.push((root, None));
            }
        }
        for _ in 0..self.rng.usize(0..=2) {
            let constant = self.make_root(true, Reduction::None, false);
            self.constants.push(constant);
        }
    }

    pub(crate) fn run(&mut self) {
        while self.program.tasks.len() < self.budget {
            self.clock += 1;
            self.flush(false);
            let features = self.features;
            match self.rng.u32(..100) {
                0..4 if features.splits => self.split_or_join(),
                4..9 if features.groups => self.group(),
                9..14 if features.promises => self.promise(),
                14..17 if features.acquires => self.acquire(),
                17..20 if features.awaits => {
                    if let Some(token) = self.recent(self.pool.len()) {
                        self.program.script.push(Op::Await(token));
                    }
                }
                20..23 if features.abandons => self.abandon(),
                23..26 if features.unwritten => self.first_write(),
                26 => self.program.script.push(Op::Progress),
                27 if features.awaits => self.program.script.push(Op::Drain),
                28 if features.groups && features.cancels => self.cancelled_group(),
                _ => self.task(),
            }
        }
        while !self.unwritten.is_empty() {
            self.first_write();
        }
        self.flush(true);
        while !self.groups.is_empty() {
            self.close_group();
        }
        if self.features.batches {
            crate::mend::batch(&mut self.program, &mut self.rng);
        }
    }

    /// Emits what has been put off, in random order.
    pub(crate) fn flush(&mut self, all: bool) {
        self.rng.shuffle(&mut self.deferred);
        let (due, later) = std::mem::take(&mut self.deferred)
            .into_iter()
            .partition(|(due, _)| all || *due <= self.clock);
        self.deferred = later;
        for (_, ops) in due {
            for op in &ops {
                let slots = match op {
                    Op::Submit(tasks) => tasks
                        .iter()
                        .flat_map(|task| &self.program.tasks[*task].accesses)
                        .filter_map(|access| access.slot)
                        .collect(),
                    Op::Abandon(slot) => vec![*slot],
                    _ => vec![],
                };
                for slot in slots {
                    let root = self.program.handles[self.program.slots[slot].data].root;
                    let at = self
                        .reserved
                        .iter()
                        .position(|other| *other == root)
                        .expect("was reserved");
                    self.reserved.swap_remove(at);
                }
            }
            self.program.script.extend(ops);
        }
    }

    pub(crate) fn defer(&mut self, ops: Vec<Op>) {
        let due = self.clock + self.rng.usize(1..=12);
        self.deferred.push((due, ops));
    }

    /// A token among the first `known` of the pool, rather a young one.
    pub fn recent(&mut self, known: usize) -> Option<Token> {
        if known == 0 {
            return None;
        }
        let reach = if self.chance(70) { known.min(8) } else { known };
        Some(self.pool[known - 1 - self.rng.usize(..reach)])
    }

    pub fn tokens(&mut self, known: usize, most: usize) -> Vec<Token> {
        let mut tokens = Vec::new();
        for _ in 0..self.rng.usize(0..=most) {
            tokens.extend(self.recent(known));
        }
        if self.features.duplicates && self.chance(10) {
            tokens.extend(tokens.first().copied());
            tokens.push(Token::Zero);
        }
        tokens
    }

    /// A root or, if it is split, perhaps one of its pieces.
    pub(crate) fn part_of(&mut self, root: usize) -> usize {
        let mut handle = self.program.roots[root].handle;
        while let Some(split) = self.split_of(handle) {
            if self.chance(25) {
                break;
            }
            let parts = self.program.splits[split].parts.clone();
            handle = self.pick(&parts).expect("a split has pieces");
        }
        handle
    }

    /// The split of a handle that has not been joined, as of now.
    pub fn split_of(&self, handle: usize) -> Option<usize> {
        let split = self
            .program
            .splits
            .iter()
            .rposition(|split| split.data == handle)?;
        let joined = self.program.script.iter().rev().find_map(|op| match op {
            Op::Split(other) if *other == split => Some(false),
            Op::Join(other) if *other == split => Some(true),
            _ => None,
        });
        (joined == Some(false)).then_some(split)
    }

    /// Random accesses to shared data and constants, at most one a root.
    pub(crate) fn accesses(&mut self, late: bool) -> Vec<Access> {
        let mut roots = self.shared.clone();
        self.rng.shuffle(&mut roots);
        roots.truncate(self.rng.usize(0..=3));
        let mut accesses = Vec::new();
        for root in roots {
            let known = self.pool.len();
            if let Some((_, since)) = self.unwritten.iter_mut().find(|(other, _)| *other == root) {
                if !late {
                    since.get_or_insert(known);
                    accesses.push(Access {
                        data: self.program.roots[root].handle,
                        mode: Mode::Read,
                        slot: None,
                    });
                }
                continue;
            }
            let reduction = self.program.roots[root].reduction;
            let mode = match self.rng.u32(..100) {
                0..45 if reduction != Reduction::None && !late => Mode::Reduce,
                0..30
                    if self.features.commutes && reduction == Reduction::None && root % 2 == 0 =>
                {
                    Mode::Commute
                }
                0..55 => Mode::Read,
                55..70 => Mode::Write,
                _ => Mode::ReadWrite,
            };
            let data = self.part_of(root);
            accesses.push(Access {
                data,
                mode,
                slot: None,
            });
        }
        accesses.extend(self.constant());
        accesses
    }

    pub fn constant(&mut self) -> Option<Access> {
        let root = if self.chance(15) {
            self.pick(&self.constants.clone())
        } else {
            None
        };
        root.map(|root| Access {
            data: self.program.roots[root].handle,
            mode: Mode::Read,
            slot: None,
        })
    }

    /// Names some datum twice, so that the accesses must be merged.
    pub fn duplicate(&mut self, accesses: &mut Vec<Access>) {
        if !self.features.duplicates || !self.chance(20) {
            return;
        }
        if let Some(access) = self.pick(accesses) {
            let mode = match access.mode {
                Mode::ReadWrite => self.pick(&[Mode::Read, Mode::Write, Mode::ReadWrite]),
                Mode::Commute => self.pick(&[Mode::Read, Mode::Commute]),
                same => Some(same),
            };
            accesses.push(Access {
                mode: mode.unwrap_or(access.mode),
                ..access
            });
            self.rng.shuffle(accesses);
        }
    }

    /// What every task has: priority, place and so on.
    pub fn plain_task(&mut self) -> Task {
        let place = match self.rng.u32(..12) {
            0 if self.features.places => (1, self.rng.i32(-1..8)),
            1 if self.features.places => (2, 0),
            2 | 3 if self.features.opener => (4, 0),
            _ => (0, 0),
        };
        Task {
            priority: if self.chance(30) {
                self.rng.i32(-40000..40000)
            } else {
                0
            },
            cpus: if self.features.places && self.chance(10) {
                self.rng.i32(0..4)
            } else {
                0
            },
            copy_arg: self.chance(30),
            place,
            ..Task::default()
        }
    }
}
