//! What a random graph does, as plain data: the generator makes it, the oracle
//! interprets it, the runner performs it on norn, and the shrinker cuts it down.

use std::collections::BTreeSet;

/// A thing that completes and that others may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// `{0}`: complete from the start.
    Zero,
    Task(usize),
    Promise(usize),
    /// The `done` token of a group.
    Group(usize),
}

/// Access modes, numbered as in norn.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    Read = 1,
    Write = 2,
    ReadWrite = 3,
    Commute = 4,
    Reduce = 5,
}

impl Mode {
    pub fn writes(self) -> bool {
        self != Mode::Read
    }

    /// Whether a failed datum keeps a task with this access from running.
    pub fn needs_contents(self) -> bool {
        self != Mode::Write
    }

    /// What two accesses of one task to one datum amount to.
    pub fn merged(self, other: Mode) -> Mode {
        match (self.min(other), self.max(other)) {
            (a, b) if a == b => a,
            (Mode::Read, Mode::Commute) => Mode::Commute,
            (Mode::Reduce, _) | (_, Mode::Reduce) => unreachable!("never generated"),
            _ => Mode::ReadWrite,
        }
    }

    /// Whether the second of two accesses to the same words waits for the first.
    pub fn conflicts(self, other: Mode) -> bool {
        self != other || matches!(self, Mode::Write | Mode::ReadWrite)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub data: usize,
    pub mode: Mode,
    /// Index into `Program::slots` when the place was reserved.
    pub slot: Option<usize>,
}

/// One step of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Reads what the task reads and writes what it writes; once a task.
    Touch,
    Await(Token),
    AwaitAll(Vec<Token>),
    /// Must return as soon as one is complete; which one is not recorded.
    AwaitAny(Vec<Token>),
    /// Awaits a nested task that waits for this one: must be refused.
    Refused(usize),
    /// Early release of an access.
    Release(usize),
    /// Submits a nested task.
    Submit(usize),
    /// Takes holds; takes `own` of them off itself and leaves the rest to the foreign thread.
    Hold {
        holds: u32,
        own: u32,
    },
    /// Fulfils or fails a promise.
    Resolve(usize),
    /// Ends the body with this code.
    Fail(i32),
}

#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The task whose body submits this one.
    pub parent: Option<usize>,
    /// Flagged `NORN_CHILD`.
    pub child: bool,
    pub accesses: Vec<Access>,
    /// Given at submit.
    pub after: Vec<Token>,
    /// Given by `norn_edge` (the script has the calls).
    pub edges: Vec<Token>,
    /// Has a token from `norn_declare`.
    pub declared: bool,
    pub held: bool,
    pub always: bool,
    pub copy_arg: bool,
    pub group: Option<usize>,
    pub priority: i32,
    pub cpus: i32,
    pub place: (i32, i32),
    pub steps: Vec<Step>,
}

impl Task {
    /// Accesses merged per datum, in order of the data.
    pub fn merged(&self) -> Vec<Access> {
        let mut merged: Vec<Access> = Vec::new();
        for access in &self.accesses {
            match merged.iter_mut().find(|other| other.data == access.data) {
                Some(other) => other.mode = other.mode.merged(access.mode),
                None => merged.push(*access),
            }
        }
        merged.sort_by_key(|access| access.data);
        merged
    }

    pub fn predecessors(&self) -> impl Iterator<Item = Token> + '_ {
        self.after.iter().chain(&self.edges).copied()
    }
}

/// A token completed by hand.
#[derive(Clone, Debug)]
pub struct Promise {
    /// From `norn_declare` and never bound: it can only be cancelled.
    pub declared: bool,
    /// Code to fail with; `None`: fulfilled.
    pub fail: Option<i32>,
}

#[derive(Clone, Debug)]
pub struct Slot {
    pub data: usize,
    pub mode: Mode,
    pub abandoned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Registered,
    Allocated,
    /// No memory: a pure name. The test keeps the contents beside it.
    Name,
}

/// How a datum is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    None,
    /// Pairs of words compose as affine maps: associative, not commutative.
    Affine,
    /// Neither: shows the tree.
    Tree,
}

/// A datum of its own, not a piece.
#[derive(Clone, Debug)]
pub struct Root {
    pub handle: usize,
    pub words: usize,
    pub storage: Storage,
    pub reduction: Reduction,
    pub unwritten: bool,
    /// Only ever read: anybody may read it at any time.
    pub constant: bool,
}

/// A piece, in words.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub offset: usize,
    pub length: usize,
    pub rows: usize,
    pub stride: usize,
}

/// What accesses name: a root or a piece.
#[derive(Clone, Debug)]
pub struct Handle {
    pub root: usize,
    /// Relative to the handle that was split.
    pub piece: Option<Piece>,
    /// Words of the root it covers.
    pub words: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Split {
    pub data: usize,
    pub parts: Vec<usize>,
}

/// An operation of the main thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Declare(usize),
    Promise(usize),
    Reserve(Vec<usize>),
    Abandon(usize),
    /// One task: `norn_submit`; several: `norn_submit_many`.
    Submit(Vec<usize>),
    Edge(Token, usize),
    Start(usize),
    Cancel(Token),
    /// Fulfils or fails a promise.
    Resolve(usize),
    /// Asks the foreign thread to.
    Foreign(usize),
    /// Resolves a promise from the completion callback of a token.
    Callback(Token, usize),
    GroupOpen(usize),
    GroupClose(usize),
    Split(usize),
    Join(usize),
    /// `norn_data_acquire` and a touch. Skipped with its release when the datum has failed.
    Acquire(usize),
    Release(usize),
    Await(Token),
    Drain,
    Progress,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub seed: u64,
    pub roots: Vec<Root>,
    pub handles: Vec<Handle>,
    pub splits: Vec<Split>,
    pub slots: Vec<Slot>,
    pub promises: Vec<Promise>,
    /// Parent of each group.
    pub groups: Vec<Option<usize>>,
    pub tasks: Vec<Task>,
    /// Accesses of each hold of the main thread.
    pub holds: Vec<Vec<Access>>,
    pub script: Vec<Op>,
}

impl Program {
    /// The task's group, inherited from the submitter when it names none.
    pub fn group_of(&self, task: usize) -> Option<usize> {
        let mut at = task;
        loop {
            if let Some(group) = self.tasks[at].group {
                return Some(group);
            }
            at = self.tasks[at].parent?;
        }
    }

    /// For each task: itself and its NORN_CHILD descendants, what its completion includes.
    pub fn families(&self) -> Vec<Vec<usize>> {
        let mut families: Vec<Vec<usize>> = (0..self.tasks.len()).map(|task| vec![task]).collect();
        for task in 0..self.tasks.len() {
            let mut at = task;
            while let (true, Some(parent)) = (self.tasks[at].child, self.tasks[at].parent) {
                families[parent].push(task);
                at = parent;
            }
        }
        families
    }

    /// For each group: its members and theirs.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.groups.len()];
        for task in 0..self.tasks.len() {
            let mut at = self.group_of(task);
            while let Some(group) = at {
                members[group].push(task);
                at = self.groups[group];
            }
        }
        members
    }

    /// Tokens that something in the program waits for or looks at.
    pub fn looked_at(&self) -> BTreeSet<Token> {
        let mut tokens = BTreeSet::new();
        for task in &self.tasks {
            tokens.extend(task.predecessors());
            for step in &task.steps {
                match step {
                    Step::Await(token) => {
                        tokens.insert(*token);
                    }
                    Step::AwaitAll(many) | Step::AwaitAny(many) => tokens.extend(many),
                    _ => {}
                }
            }
        }
        for op in &self.script {
            if let Op::Await(token) | Op::Callback(token, _) | Op::Edge(token, _) = op {
                tokens.insert(*token);
            }
        }
        tokens
    }

    /// Whether any body awaits.
    pub fn bodies_await(&self) -> bool {
        self.tasks.iter().flat_map(|task| &task.steps).any(|step| {
            matches!(
                step,
                Step::Await(_) | Step::AwaitAll(_) | Step::AwaitAny(_) | Step::Refused(_)
            )
        })
    }

    /// Contents of a word before anything runs.
    pub fn initial(&self, root: usize, word: usize) -> u64 {
        match self.roots[root].storage {
            Storage::Allocated => 0,
            _ => mix(self.seed ^ 0x1717, ((root as u64) << 32) | word as u64),
        }
    }
}

/// Mixes two words into one.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(23) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `into (+) from` of a reduced datum, over words.
pub fn combine(reduction: Reduction, into: &mut [u64], from: &[u64]) {
    match reduction {
        Reduction::None => {}
        Reduction::Affine => {
            for (into, from) in into.chunks_exact_mut(2).zip(from.chunks_exact(2)) {
                into[1] = from[0].wrapping_mul(into[1]).wrapping_add(from[1]);
                into[0] = from[0].wrapping_mul(into[0]);
            }
        }
        Reduction::Tree => {
            for (into, from) in into.iter_mut().zip(from) {
                *into = match (*into, *from) {
                    (0, value) | (value, 0) => value,
                    (a, b) => mix(a, b) | 1,
                };
            }
        }
    }
}

/// The neutral element, word by word.
pub fn identity(reduction: Reduction, word: usize) -> u64 {
    u64::from(reduction == Reduction::Affine && word.is_multiple_of(2))
}

/// What a task with hash `hash` adds to word `word` of a reduced datum.
pub fn contribution(hash: u64, word: usize) -> u64 {
    mix(hash, 0x4EDu64 << 32 | word as u64) | 1
}

/// What a task with hash `hash` stores into, or adds to, a word.
pub fn stored(hash: u64, data: usize, word: usize) -> u64 {
    mix(hash, ((data as u64) << 32) | word as u64)
}
