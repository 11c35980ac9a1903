//! What the driver knows of the runtime: tokens, places in timelines, data, groups.

use std::ops::Range;

use norn::abi::status::*;
use norn::abi::types::*;

/// Words of one datum that is not a piece.
pub const WORDS: usize = 4;
/// Data that are not pieces.
pub const ROOTS: usize = 8;
/// Tasks of one run.
pub const TASKS: usize = 60;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Task,
    Declared,
    Promise,
    /// The done token of this group.
    Done(usize),
    /// A hold on data.
    Hold,
}

/// A token.
#[derive(Clone, Debug)]
pub struct Node {
    /// 0: it was not asked for.
    pub id: u64,
    pub kind: Kind,
    pub preds: Vec<usize>,
    pub places: Vec<usize>,
    /// What the body returns.
    pub code: i32,
    /// NORN_RUN_ALWAYS.
    pub always: bool,
    /// NORN_HELD and not started.
    pub held: bool,
    /// A promise: fulfilled or failed. A hold: released.
    pub resolved: Option<bool>,
    pub cancelled: bool,
    /// A group of it was cancelled.
    pub perhaps_cancelled: bool,
    pub group: Option<usize>,
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    /// Its body may submit children.
    pub nests: bool,
    /// Its body may submit tasks, which join its group.
    pub submits: bool,
    pub track: Option<usize>,
    /// How it ended, once norn has said so.
    pub seen: Option<norn_status>,
}

impl Node {
    pub fn new(kind: Kind) -> Self {
        Node {
            id: 0,
            kind,
            preds: Vec::new(),
            places: Vec::new(),
            code: 0,
            always: false,
            held: false,
            resolved: None,
            cancelled: false,
            perhaps_cancelled: false,
            group: None,
            parent: None,
            children: Vec::new(),
            nests: false,
            submits: false,
            track: None,
            seen: None,
        }
    }
}

/// A place in a timeline.
#[derive(Clone, Debug)]
pub struct Place {
    /// Order of places; a child's is its parent's and a number more.
    pub key: Vec<u32>,
    pub mode: i32,
    pub words: Vec<usize>,
    pub datum: usize,
    /// None: reserved and not filled.
    pub node: Option<usize>,
    pub slot: u64,
    /// COMMUTE is alone as a writer is: of a hold or a reservation, or with NORN_DETERMINISTIC.
    pub alone: bool,
    pub abandoned: bool,
    /// When it was released early.
    pub released: Option<u64>,
    /// What was read, once it was touched.
    pub saw: Option<Vec<u64>>,
}

#[derive(Clone, Debug)]
pub struct Datum {
    pub id: u64,
    pub root: usize,
    /// Of the words of all data.
    pub words: Range<usize>,
    pub parts: Vec<usize>,
    pub part_of: Option<usize>,
    pub alive: bool,
    /// With a reduction.
    pub reduces: bool,
    /// norn's own memory.
    pub owned: bool,
    /// Address of its first word.
    pub base: usize,
    pub was_split: bool,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub id: u64,
    pub done: usize,
    pub parent: Option<usize>,
    pub closed: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub nodes: Vec<Node>,
    pub places: Vec<Place>,
    pub data: Vec<Datum>,
    pub groups: Vec<Group>,
    /// Data that were unregistered, with their last values.
    pub ended: Vec<(usize, Vec<u64>)>,
    keys: u32,
    pub tracks: usize,
    /// NORN_DETERMINISTIC: COMMUTE accesses keep their order.
    pub deterministic: bool,
    /// Something failed, may fail, or was cancelled.
    pub bad: bool,
    pub sealed: bool,
    /// The flags of the close under way.
    pub closing: Option<u32>,
}

/// What stands where a token is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Node(usize),
    Zero,
    Wrong,
}

impl Model {
    pub fn next_key(&mut self) -> Vec<u32> {
        self.keys += 1;
        vec![self.keys]
    }

    /// The words that an access to a datum orders: those of its pieces while it is split.
    pub fn words_of(&self, datum: usize) -> Vec<usize> {
        let datum = &self.data[datum];
        if datum.parts.is_empty() {
            return datum.words.clone().collect();
        }
        let parts = datum.parts.iter();
        parts.flat_map(|part| self.words_of(*part)).collect()
    }

    /// Whether the later of two places waits for the earlier.
    pub fn conflict(&self, first: &Place, second: &Place) -> bool {
        let shares = first.words.iter().any(|word| second.words.contains(word));
        let same = first.mode == second.mode
            && (first.mode != NORN_COMMUTE || !first.alone && !second.alone)
            && matches!(first.mode, NORN_READ | NORN_COMMUTE | NORN_REDUCE);
        // A reduction works on its own copy: readers before it do not mind.
        let side_by_side = same || (first.mode == NORN_READ && second.mode == NORN_REDUCE);
        shares && !side_by_side && first.key < second.key && !first.abandoned
    }

    /// Places that a place waits for; not that of its parent, which it is part of.
    pub fn before(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let later = &self.places[place];
        (0..self.places.len()).filter(move |first| {
            let first = &self.places[*first];
            self.conflict(first, later) && self.apart(first, later)
        })
    }

    /// Whether two places are of different tasks, neither a part of the other.
    fn apart(&self, first: &Place, later: &Place) -> bool {
        !later.key.starts_with(&first.key) && (first.node.is_none() || first.node != later.node)
    }

    /// Places that a place may wait for because one between them was given up, because a drain has ended a run of
    /// reductions, or because a split or join lies between them.
    pub fn before_across(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let later = &self.places[place];
        let shares =
            |one: &Place, other: &Place| one.words.iter().any(|word| other.words.contains(word));
        (0..self.places.len()).filter(move |first| {
            let first = &self.places[*first];
            let between = |place: &Place| {
                place.abandoned
                    && first.key < place.key
                    && place.key < later.key
                    && shares(place, later)
            };
            // A join and a split order all pieces, whatever their words.
            let root = self.data[later.datum].root;
            let split = self.data[root].was_split && self.data[first.datum].root == root;
            !first.abandoned
                && first.key < later.key
                && self.apart(first, later)
                && (split
                    || shares(first, later)
                        && (first.mode == NORN_REDUCE
                            || later.mode == NORN_REDUCE
                            || self.places.iter().any(between)))
        })
    }

    /// Tokens that must be complete before a token is; a missing one is a place that nobody fills.
    /// `across`: those too that it may wait for because a place between them was given up.
    pub fn waits_for(&self, node: usize, across: bool) -> Vec<Option<usize>> {
        let it = &self.nodes[node];
        let mut found = self.waits_in_order(node, across);
        found.extend(it.preds.iter().chain(&it.children).map(|node| Some(*node)));
        if let Kind::Done(group) = it.kind {
            found.extend(self.members(group).into_iter().map(Some));
        }
        found
    }

    /// Of these, what stands before its places. A token that failed early keeps this order all the same.
    pub fn waits_in_order(&self, node: usize, across: bool) -> Vec<Option<usize>> {
        let mut found = Vec::new();
        let mut places = self.nodes[node].places.clone();
        let mut next = 0;
        while let Some(place) = places.get(next).copied() {
            next += 1;
            let mut firsts: Vec<usize> = self.before(place).collect();
            if across {
                firsts.extend(self.before_across(place));
            }
            for first in firsts {
                let node = self.places[first].node;
                found.push(node);
                // A place that nobody has filled waits for what is before it.
                if node.is_none() && !places.contains(&first) {
                    places.push(first);
                }
            }
        }
        found
    }

    /// Tasks and done tokens that a group counts.
    pub fn members(&self, group: usize) -> Vec<usize> {
        let tasks = (0..self.nodes.len()).filter(|n| self.nodes[*n].group == Some(group));
        let inner = self
            .groups
            .iter()
            .filter(|inner| inner.parent == Some(group));
        tasks.chain(inner.map(|inner| inner.done)).collect()
    }

    /// Whether a token waits for itself.
    pub fn in_cycle(&self, node: usize, across: bool) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut open: Vec<usize> = self.waits_for(node, across).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if next == node {
                return true;
            }
            if std::mem::replace(&mut seen[next], true) {
                continue;
            }
            let it = &self.nodes[next];
            let cancelled = it.cancelled && !matches!(it.kind, Kind::Done(_));
            let failed = cancelled || it.seen.is_some_and(|seen| seen != NORN_OK);
            if failed && (across || cancelled) {
                open.extend(self.waits_in_order(next, across).into_iter().flatten());
            } else if it.seen.is_none() {
                open.extend(self.waits_for(next, across).into_iter().flatten());
            }
        }
        false
    }

    /// Whether a place is over for certain.
    pub fn is_over(&self, place: &Place) -> bool {
        // What did not run may still keep its place in order.
        let ran = |node: usize| matches!(self.nodes[node].seen, Some(NORN_OK | NORN_E_TASK_FAILED));
        place.abandoned || place.node.is_some_and(ran)
    }

    /// Whether a group may have been cancelled, and so takes no more members.
    pub fn has_ended(&self, group: usize) -> bool {
        let done = &self.nodes[self.groups[group].done];
        done.cancelled || done.perhaps_cancelled
    }

    /// Marks what the cancel of a group may have cancelled.
    pub fn cancel_group(&mut self, group: usize) {
        self.bad = true;
        for member in self.members(group) {
            self.nodes[member].perhaps_cancelled = true;
            if let Kind::Done(inner) = self.nodes[member].kind {
                self.cancel_group(inner);
            }
        }
    }

    /// The number of a token that nobody was given: a later generation of a right one.
    pub fn never_issued(&self, number: u64) -> u64 {
        let ids: Vec<u64> = self
            .nodes
            .iter()
            .map(|node| node.id)
            .filter(|id| *id != 0)
            .collect();
        match number % 4 {
            0 if !ids.is_empty() => ids[number as usize / 4 % ids.len()] ^ (1 << 27),
            1 if !ids.is_empty() => ids[number as usize / 4 % ids.len()] ^ (1 << 63),
            2 => u64::MAX,
            _ => number | 1 << 53,
        }
    }
}

/// The mode of two accesses of one task to the same datum.
pub fn merged(one: i32, other: i32) -> i32 {
    match (one, other) {
        _ if one == other => one,
        (NORN_READ, NORN_COMMUTE) | (NORN_COMMUTE, NORN_READ) => NORN_COMMUTE,
        _ => NORN_READ_WRITE,
    }
}
