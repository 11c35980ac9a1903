//! The oracle's data: one timeline of accesses a root (and one a parent for its
//! children), the words with their contents, and who is to blame for a failed word.
//! Pieces need nothing of their own here: an access covers words, and two accesses
//! are ordered when they share one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::program::{Mode, Program, Reduction, Token, combine};

/// First causes that may be named for a failure.
pub type Causes = BTreeSet<Token>;

/// Who holds a place in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Task(usize),
    Hold(usize),
    /// Reserved and not yet filled.
    Slot(usize),
    /// Where pieces are joined: comes after all of them, has no body.
    Gate,
    /// The first writer of an unwritten datum, not yet known.
    First,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Active,
    Done,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub owner: Owner,
    pub root: usize,
    /// The parent whose sub-timeline this is in.
    pub scope: Option<usize>,
    pub words: Vec<usize>,
    pub mode: Mode,
    pub state: State,
    /// For each word: neighbouring COMMUTE (or REDUCE) accesses share a number.
    epochs: Vec<u64>,
}

#[derive(Default)]
struct Line {
    /// Entries not done, in order.
    live: Vec<usize>,
    /// Mode and epoch of the last entry on each word.
    last: Vec<Option<(Mode, u64)>>,
}

#[derive(Clone, Debug, Default)]
pub struct Word {
    /// `None`: not determined, never compared.
    pub value: Option<u64>,
    /// Causes as of the epoch's start; empty: healthy.
    pub base: Causes,
    /// Causes that members of the running COMMUTE or REDUCE epoch added.
    current: Causes,
    epoch: u64,
}

/// In which order the private copies of a reduction are combined. Leaf 0 is the datum itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    Leaf(usize),
    Node(Box<Tree>, Box<Tree>),
}

impl Tree {
    /// The datum, then each copy in turn.
    pub fn left_fold(copies: usize) -> Tree {
        (1..=copies).fold(Tree::Leaf(0), |tree, leaf| {
            Tree::Node(Box::new(tree), Box::new(Tree::Leaf(leaf)))
        })
    }

    pub fn apply(&self, reduction: Reduction, leaves: &[Vec<u64>]) -> Vec<u64> {
        match self {
            Tree::Leaf(leaf) => leaves[*leaf].clone(),
            Tree::Node(left, right) => {
                let mut into = left.apply(reduction, leaves);
                combine(reduction, &mut into, &right.apply(reduction, leaves));
                into
            }
        }
    }

    /// Its leaves from left to right.
    pub fn leaves(&self, into: &mut Vec<usize>) {
        match self {
            Tree::Leaf(leaf) => into.push(*leaf),
            Tree::Node(left, right) => {
                left.leaves(into);
                right.leaves(into);
            }
        }
    }
}

/// What happens to the datum when an access ends.
pub enum Ending<'a> {
    /// Read, or given up.
    Nothing,
    Written,
    /// Written by a task whose children had the last word on failures.
    WrittenByFamily,
    Failed {
        causes: &'a Causes,
        family: bool,
    },
}

pub struct Timelines {
    pub entries: Vec<Entry>,
    pub words: Vec<Vec<Word>>,
    /// COMMUTE accesses wait for each other as READ_WRITE ones do (`NORN_DETERMINISTIC`).
    pub in_order: bool,
    /// By (root, word, epoch): the COMMUTE members and what each brought.
    pub commutes: BTreeMap<(usize, usize, u64), Vec<(usize, Causes)>>,
    lines: HashMap<(Option<usize>, usize), Line>,
    /// Contributions not yet combined, by root.
    pending: Vec<Vec<(usize, Vec<Option<u64>>)>>,
    reductions: Vec<Reduction>,
    trees: Vec<Tree>,
    epochs: u64,
}

impl Timelines {
    /// `trees[n]`: the tree of n copies, as far as known.
    pub fn new(program: &Program, trees: &[Tree]) -> Self {
        let words = (0..program.roots.len()).map(|root| {
            let word = |word| Word {
                value: Some(program.initial(root, word)),
                ..Word::default()
            };
            (0..program.roots[root].words).map(word).collect()
        });
        let mut timelines = Self {
            entries: Vec::new(),
            words: words.collect(),
            in_order: false,
            commutes: BTreeMap::new(),
            lines: HashMap::new(),
            pending: vec![Vec::new(); program.roots.len()],
            reductions: program.roots.iter().map(|root| root.reduction).collect(),
            trees: trees.to_vec(),
            epochs: 0,
        };
        for (index, root) in program.roots.iter().enumerate() {
            if root.unwritten {
                timelines.place(
                    None,
                    index,
                    (0..root.words).collect(),
                    Mode::Write,
                    Owner::First,
                    false,
                );
            }
        }
        timelines
    }

    /// Takes the next place. A place that will be given up is no neighbour of anybody.
    pub fn place(
        &mut self,
        scope: Option<usize>,
        root: usize,
        words: Vec<usize>,
        mode: Mode,
        owner: Owner,
        given_up: bool,
    ) -> usize {
        let size = self.words[root].len();
        let line = self.lines.entry((scope, root)).or_default();
        line.last.resize(size, None);
        self.epochs += 1;
        let fresh = self.epochs;
        let mut epochs = Vec::with_capacity(words.len());
        for word in &words {
            let epoch = match line.last[*word] {
                Some((last, epoch)) if !last.conflicts(mode) && mode != Mode::Read => epoch,
                _ => fresh,
            };
            epochs.push(epoch);
            if !given_up {
                line.last[*word] = Some((mode, epoch));
            }
        }
        let id = self.entries.len();
        line.live.push(id);
        self.entries.push(Entry {
            owner,
            root,
            scope,
            words,
            mode,
            epochs,
            state: State::Waiting,
        });
        id
    }

    /// The phantom first writer of a root, if nobody has filled it yet.
    pub fn first_writer(&self, root: usize) -> Option<usize> {
        let line = self.lines.get(&(None, root))?;
        line.live
            .iter()
            .copied()
            .find(|entry| self.entries[*entry].owner == Owner::First)
    }

    pub fn ready(&self, id: usize) -> bool {
        let entry = &self.entries[id];
        if matches!(entry.owner, Owner::Slot(_) | Owner::First) {
            return false;
        }
        let shares = |other: &Entry| other.words.iter().any(|word| entry.words.contains(word));
        let line = &self.lines[&(entry.scope, entry.root)];
        let mut before = true;
        for other in line.live.iter().copied() {
            if other == id {
                before = false;
                if entry.mode != Mode::Commute {
                    break;
                }
                continue;
            }
            let other = &self.entries[other];
            let commutes = other.mode == Mode::Commute && entry.mode == Mode::Commute;
            let holds = commutes && other.state == State::Active;
            let ordered = other.mode.conflicts(entry.mode) || commutes && self.in_order;
            if (holds || before && ordered) && shares(other) {
                return false;
            }
        }
        true
    }

    /// The tasks and holds that wait in the timeline of an entry.
    pub fn waiting_beside(&self, id: usize) -> Vec<Owner> {
        let entry = &self.entries[id];
        let line = &self.lines[&(entry.scope, entry.root)];
        let waiting = line
            .live
            .iter()
            .filter(|other| self.entries[**other].state == State::Waiting);
        waiting.map(|other| self.entries[*other].owner).collect()
    }

    /// Whether children of `parent` have had accesses to `root`.
    pub fn has_children(&self, parent: usize, root: usize) -> bool {
        self.lines.contains_key(&(Some(parent), root))
    }

    /// Starts an access whose turn it is.
    pub fn activate(&mut self, id: usize) {
        self.entries[id].state = State::Active;
        self.turn(id);
    }

    /// Causes for which a task with this access must not run.
    pub fn failure(&self, id: usize) -> Causes {
        let entry = &self.entries[id];
        let words = entry.words.iter();
        words
            .flat_map(|word| &self.words[entry.root][*word].base)
            .copied()
            .collect()
    }

    /// Marks what is about to be overwritten as healthy, for the children to see.
    pub fn heal(&mut self, id: usize) {
        let entry = &self.entries[id];
        for word in &entry.words {
            self.words[entry.root][*word].base.clear();
        }
    }

    pub fn contribute(&mut self, id: usize, words: Vec<Option<u64>>) {
        let root = self.entries[id].root;
        self.pending[root].push((id, words));
    }

    /// Ends an access. COMMUTE members are kept in `commutes` under `task`.
    pub fn end(&mut self, id: usize, task: usize, ending: &Ending) {
        let (root, mode) = (self.entries[id].root, self.entries[id].mode);
        if matches!(
            ending,
            Ending::WrittenByFamily | Ending::Failed { family: true, .. }
        ) {
            self.settle(root, &self.entries[id].words.clone());
        } else if !matches!(ending, Ending::Nothing) {
            self.turn(id);
        }
        let shared = matches!(mode, Mode::Commute | Mode::Reduce);
        let entry = &mut self.entries[id];
        entry.state = State::Done;
        for (word, epoch) in entry.words.iter().zip(&entry.epochs) {
            let state = &mut self.words[root][*word];
            let mut brought = Causes::new();
            match ending {
                Ending::Nothing | Ending::WrittenByFamily => {}
                Ending::Written if shared => {}
                Ending::Written => state.base.clear(),
                Ending::Failed { causes, .. } if shared => {
                    brought = (*causes).clone();
                    state.current.extend(*causes);
                }
                Ending::Failed { causes, family } => {
                    if !family {
                        state.base.clear();
                    }
                    state.base.extend(*causes);
                }
            }
            if mode == Mode::Commute && !matches!(ending, Ending::Nothing) {
                self.commutes
                    .entry((root, *word, *epoch))
                    .or_default()
                    .push((task, brought));
            }
        }
        let line = self
            .lines
            .get_mut(&(entry.scope, entry.root))
            .expect("the entry is in it");
        line.live.retain(|other| *other != id);
    }

    /// Combines what has been added so far; later REDUCE accesses begin a new epoch.
    pub fn drain(&mut self) {
        for root in 0..self.words.len() {
            if self.reductions[root] != Reduction::None {
                self.settle(root, &(0..self.words[root].len()).collect::<Vec<_>>());
            }
        }
        for line in self.lines.values_mut() {
            for last in &mut line.last {
                *last = last.filter(|(mode, _)| *mode != Mode::Reduce);
            }
        }
    }

    /// Closes open COMMUTE and REDUCE epochs of these words.
    pub fn settle(&mut self, root: usize, words: &[usize]) {
        self.epochs += 1;
        for word in words {
            self.enter(root, *word, self.epochs);
        }
    }

    fn turn(&mut self, id: usize) {
        let entry = self.entries[id].clone();
        for (word, epoch) in entry.words.iter().zip(&entry.epochs) {
            self.enter(entry.root, *word, *epoch);
        }
    }

    fn enter(&mut self, root: usize, word: usize, epoch: u64) {
        if self.words[root][word].epoch == epoch {
            return;
        }
        // Reduced data are never split, so the first word that turns speaks for all.
        let contributions = std::mem::take(&mut self.pending[root]);
        if !contributions.is_empty() {
            self.reduce(root, contributions);
        }
        let state = &mut self.words[root][word];
        state.epoch = epoch;
        if !state.current.is_empty() {
            state.value = None;
            let current = std::mem::take(&mut state.current);
            state.base.extend(current);
        }
    }

    fn reduce(&mut self, root: usize, mut contributions: Vec<(usize, Vec<Option<u64>>)>) {
        contributions.sort_by_key(|(entry, _)| *entry);
        let datum: Option<Vec<u64>> = self.words[root].iter().map(|word| word.value).collect();
        let copies = contributions
            .iter()
            .map(|(_, words)| words.iter().copied().collect());
        let leaves: Option<Vec<Vec<u64>>> = std::iter::once(datum).chain(copies).collect();
        let tree = match (self.reductions[root], self.trees.get(contributions.len())) {
            (Reduction::Affine, _) => Some(Tree::left_fold(contributions.len())),
            (_, known) => known.cloned(),
        };
        let value = leaves
            .zip(tree)
            .map(|(leaves, tree)| tree.apply(self.reductions[root], &leaves));
        for (index, word) in self.words[root].iter_mut().enumerate() {
            word.value = value.as_ref().map(|value| value[index]);
        }
    }
}
