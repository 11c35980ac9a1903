//! Who waits for whom, followed forward: all that cannot end before a node does.
//!
//! It costs the size of the part of the graph that hangs on the start node.
//!
//! It is followed under the placing lock, so timelines, annex lists and places
//! stand still. Nodes may still complete: after each list is read, the node's
//! generation is looked at again, and if it has moved on the list is dropped
//! (a completed node delays nobody).

use std::sync::atomic::Ordering;

use super::failure::SpreadMap;
use super::graph::Graph;
use super::node::{CANCEL_MARK, LinkId, LinkPlace, Node, flag, kind, meta};
use super::token::Token;

/// Nodes that cannot end before the start nodes, each with the node through which it was found (itself for
/// a start node).
pub(crate) struct Cone {
    pub(super) found: SpreadMap<u32, u32>,
}

impl Cone {
    pub(crate) fn contains(&self, index: u32) -> bool {
        self.found.contains_key(&index)
    }

    /// A start node that `index` waits for.
    pub(crate) fn start_of(&self, index: u32) -> u32 {
        let mut at = index;
        while let Some(previous) = self.found.get(&at).filter(|previous| **previous != at) {
            at = *previous;
        }
        at
    }

    /// The way from the start node to `index`.
    pub(super) fn path(&self, index: u32) -> Vec<u32> {
        let mut path = vec![index];
        let mut at = index;
        while let Some(previous) = self.found.get(&at) {
            if *previous == at {
                break;
            }
            at = *previous;
            path.push(at);
        }
        path.reverse();
        path
    }
}

impl Graph {
    /// Everything that waits, directly or not, for the end of a start node. Under the placing lock.
    pub(crate) fn cone(&self, starts: &[u32]) -> Cone {
        self.cone_and_back(starts, 0).0
    }

    /// With the way to a start node that waits for one of them, if there is one other than `parent`.
    pub(super) fn cone_and_back(&self, starts: &[u32], parent: u32) -> (Cone, Option<Vec<u32>>) {
        let mut cone = Cone {
            found: starts.iter().map(|start| (*start, *start)).collect(),
        };
        let mut back = None;
        let mut stack = starts.to_vec();
        let mut next = Vec::new();
        while let Some(index) = stack.pop() {
            next.clear();
            self.dependants(index, &mut next);
            for dependant in &next {
                let dependant = *dependant;
                match cone.found.get(&dependant) {
                    None => {
                        cone.found.insert(dependant, index);
                        stack.push(dependant);
                    }
                    Some(through) if *through == dependant && back.is_none() => {
                        // Filled places and groups are found for the end of what they stand for.
                        let waits = self.nodes.get(dependant).kind() != kind::GROUP;
                        if waits && dependant != parent && self.filler(dependant) == 0 {
                            let mut path = cone.path(index);
                            path.push(dependant);
                            back = Some(path);
                        }
                    }
                    Some(_) => {}
                }
            }
        }
        (cone, back)
    }

    /// Nodes that cannot go on before `index` ends. Under the placing lock.
    pub(crate) fn dependants(&self, index: u32, into: &mut Vec<u32>) {
        let node = self.nodes.get(index);
        let word = node.load_successors();
        let start = into.len();
        if node.kind() == kind::FREE {
            return;
        }
        let same = || node.load_successors().generation() == word.generation();
        if !self.consumers(word.head(), same, into) {
            into.truncate(start);
            return;
        }
        if node.has(flag::CANCEL_DONE) && node.pending.load(Ordering::Acquire) & CANCEL_MARK != 0 {
            // A cancelled node whose data predecessors are not done keeps the links of those behind it, in its
            // argument. Whoever releases them takes them off there first.
            let kept = || LinkId(node.argument.load(Ordering::Acquire) as u32);
            let (first, before) = (kept(), into.len());
            if !self.consumers(first, || kept() == first && same(), into) {
                into.truncate(before);
            }
        }
        self.for_each_access(index, |_, bits, epoch| {
            if epoch != 0 && bits & meta::RELEASED == 0 {
                let waiter = self.epochs.get(epoch).waiter();
                if waiter != 0 {
                    self.who_waits(waiter, into);
                }
            }
        });
        let token = Token::new(self.id, index, word.generation());
        if word.is_observed() {
            into.extend(self.observers.waiting_bodies(token));
        }
        if let Some(annex) = self.annex(node) {
            if node.has(flag::CHILD) {
                into.push(annex.parent.load(Ordering::Relaxed));
            }
            let group = annex.group.load(Ordering::Relaxed);
            if group != 0 {
                into.push(self.groups.lock().done(group));
            }
            if annex.is_used() {
                // SAFETY: under the placing lock; `fills` changes under it only.
                into.extend_from_slice(&unsafe { annex.body() }.fills);
            }
        }
        if node.has(flag::COMMUTES) && node.has(flag::STARTED) {
            self.waits_for_turn_after(index, into);
        }
        if node.has(flag::ON_OPENER) {
            self.waits_for_opener(into);
        }
        into.extend(self.issued_behind(node));
        let holds = self.holds_of_bodies.lock().get(&index).cloned();
        into.extend(holds.unwrap_or_default());
        into.retain(|dependant| *dependant != 0);
        if node.load_successors().generation() != word.generation() {
            into.truncate(start);
        }
    }

    /// The operation that is issued only after this one.
    pub(super) fn issued_behind(&self, node: &Node) -> Option<u32> {
        let next = self.operation_of(node)?.issued_before()?;
        (!next.is_zero() && !self.is_complete(next)).then(|| next.index())
    }

    /// Tasks that only the opener's thread may run, and that have not begun. A cancelled one needs no thread.
    fn waits_for_opener(&self, into: &mut Vec<u32>) {
        let begun = flag::STARTED | flag::CANCELLED;
        into.extend(
            self.at_opener
                .lock()
                .iter()
                .filter(|index| !self.nodes.get(**index).has(begun)),
        );
    }

    /// Who waits through a list of links. False: the list did not stay `same` meanwhile, and what was found is void.
    fn consumers(&self, first: LinkId, same: impl Fn() -> bool, into: &mut Vec<u32>) -> bool {
        let mut link = first;
        while link != LinkId::NONE {
            let (next, consumer, bits) = match link.place() {
                LinkPlace::Slot { consumer, slot } => {
                    let slot = &self.nodes.get(consumer).slots[slot];
                    let next = slot.next.load(Ordering::Acquire);
                    (next, consumer, slot.meta.load(Ordering::Acquire))
                }
                LinkPlace::Record(index) => {
                    let record = self.links.get(index);
                    let next = record.next.load(Ordering::Acquire);
                    let consumer = record.consumer.load(Ordering::Acquire);
                    (next, consumer, record.meta.load(Ordering::Acquire))
                }
            };
            if !same() {
                return false;
            }
            // A cancelled task keeps its places in order; for its explicit predecessors it waits no more.
            let over = self.nodes.get(consumer).has(flag::CANCELLED);
            if bits & meta::EXPLICIT == 0 || !over {
                self.who_waits(consumer, into);
            }
            link = LinkId(next);
        }
        true
    }

    /// Tasks that need a COMMUTE datum which `index` holds, whether they have asked for it yet or not.
    fn waits_for_turn_after(&self, index: u32, into: &mut Vec<u32>) {
        let held: Vec<u64> = {
            let commutes = self.commutes.lock();
            self.commute_keys(index)
                .into_iter()
                .filter(|key| commutes.is_holder(index, *key))
                .collect()
        };
        if held.is_empty() {
            return;
        }
        for other in self.nodes.indices() {
            let node = self.nodes.get(other);
            let generation = node.load_successors().generation();
            let waits = |state: u32| {
                state & kind::MASK == kind::TASK
                    && state & flag::COMMUTES != 0
                    && state & (flag::STARTED | flag::CANCELLED) == 0
            };
            if other != index
                && waits(node.load_state())
                && self
                    .commute_keys(other)
                    .iter()
                    .any(|key| held.contains(key))
                && waits(node.load_state())
                && node.load_successors().generation() == generation
            {
                into.push(other);
            }
        }
    }

    /// Behind the arrival of a place stands the task that fills it, and the place itself is found through that
    /// task: it then stands for its end. A place without a task keeps its order all the same: whoever fills it,
    /// or gives it up, lets those behind it go only after its arrival. So does a hold, which a gate waits for.
    fn who_waits(&self, consumer: u32, into: &mut Vec<u32>) {
        let filler = self.filler(consumer);
        if filler != 0 {
            into.push(filler);
        }
        if filler == 0 || self.nodes.get(consumer).has(flag::HOLD) {
            into.push(consumer);
        }
    }

    /// What a place passes its arrival to: the task that fills it, or the gate of a hold. 0: nothing, or no place,
    /// or one that was given up.
    fn filler(&self, index: u32) -> u32 {
        let node = self.nodes.get(index);
        if node.kind() != kind::PLACE || node.has(flag::ABANDONED) {
            return 0;
        }
        self.annex(node)
            .map_or(0, |annex| annex.filled_by.load(Ordering::Acquire))
    }
}
