//! How a token may end, from what is known of it and of what it waits for.

use norn::abi::status::*;
use norn::abi::types::*;

use crate::model::{Kind, Model};

/// A set of ends.
pub type Fate = u8;
pub const OK: Fate = 1;
pub const FAILED: Fate = 2;
pub const PROPAGATED: Fate = 4;
pub const CANCELLED: Fate = 8;
pub const CLOSED: Fate = 16;
/// It waits for what nobody has done yet.
pub const PENDING: Fate = 32;
const BAD: Fate = FAILED | PROPAGATED | CANCELLED | CLOSED;

pub fn of_status(status: norn_status) -> Fate {
    match status {
        NORN_OK => OK,
        NORN_E_TASK_FAILED => FAILED,
        NORN_E_PROPAGATED => PROPAGATED,
        NORN_E_CANCELLED => CANCELLED,
        NORN_E_CLOSED => CLOSED,
        _ => 0,
    }
}

/// Fates of one state of the model.
pub struct Fates<'a> {
    model: &'a Model,
    known: Vec<Option<Fate>>,
}

impl<'a> Fates<'a> {
    pub fn new(model: &'a Model) -> Self {
        Fates {
            model,
            known: vec![None; model.nodes.len()],
        }
    }

    pub fn of(&mut self, node: usize) -> Fate {
        if let Some(fate) = self.known[node] {
            return fate;
        }
        // What comes back to itself never goes on, unless by a wait that norn need not make.
        self.known[node] = Some(self.unserved() | BAD | OK);
        let fate = self.find(node);
        self.known[node] = Some(fate);
        fate
    }

    /// Of what waits for somebody outside the graph.
    fn unserved(&self) -> Fate {
        match self.model.closing {
            None => PENDING,
            Some(NORN_DRAIN) => CLOSED,
            Some(_) => CLOSED | CANCELLED,
        }
    }

    fn find(&mut self, node: usize) -> Fate {
        let it = &self.model.nodes[node];
        if let Some(seen) = it.seen {
            return of_status(seen);
        }
        if it.cancelled && !matches!(it.kind, Kind::Done(_)) {
            return CANCELLED;
        }
        let mut fate = match it.kind {
            Kind::Promise => match it.resolved {
                Some(true) => OK,
                Some(false) => FAILED,
                None => self.unserved(),
            },
            Kind::Hold => match it.resolved {
                Some(_) => OK,
                None => self.unserved() | OK,
            },
            Kind::Declared => {
                let from = self.before(node);
                self.unserved() | (from.bad & PROPAGATED)
            }
            Kind::Done(group) => self.of_group(group),
            Kind::Task => self.of_task(node),
        };
        if it.perhaps_cancelled || matches!(it.kind, Kind::Done(_)) && it.cancelled {
            fate |= CANCELLED;
        }
        // A cancel at close, except of what has happened already.
        if self.model.closing == Some(NORN_CANCEL) && !it.always && it.resolved.is_none() {
            fate |= CANCELLED;
        }
        fate
    }

    fn of_group(&mut self, group: usize) -> Fate {
        let mut fate = OK;
        if !self.model.groups[group].closed {
            fate = self.unserved() | (fate & if self.model.closing.is_some() { OK } else { 0 });
        }
        for member in self.model.members(group) {
            let of = self.of(member);
            fate |= of & PENDING;
            let it = &self.model.nodes[member];
            if it.submits && it.seen.is_none() && self.model.closing.is_none() {
                // Members that are not there yet.
                fate |= PENDING;
            }
            if of & BAD != 0 {
                fate |= PROPAGATED;
            }
        }
        // Members may still submit members.
        if self.model.nodes[self.model.groups[group].done].cancelled {
            fate |= PROPAGATED | CANCELLED;
        }
        fate | if self.model.bad { PROPAGATED } else { 0 }
    }

    fn of_task(&mut self, node: usize) -> Fate {
        let it = &self.model.nodes[node];
        let own = if it.code == 0 { OK } else { FAILED };
        let from = self.before(node);
        let mut fate = from.pending;
        if it.always || !from.certain {
            fate |= own;
        }
        if from.bad != 0 && !it.always {
            fate |= PROPAGATED;
        }
        if it.held {
            fate = self.unserved() | (from.bad & PROPAGATED);
        }
        // A child that was to change a datum fails its parent.
        for child in &it.children {
            let of = self.of(*child);
            fate |= of & PENDING;
            if of & BAD != 0 {
                fate |= PROPAGATED;
            }
        }
        if it.nests {
            // Children that are not there yet.
            fate |= if self.model.closing.is_none() {
                PENDING
            } else {
                0
            };
            fate |= if self.model.bad { PROPAGATED } else { 0 };
        }
        fate
    }

    /// Whether a hold or task that is not there yet would wait for somebody outside the graph.
    pub fn waits(&mut self, node: usize) -> bool {
        self.before(node).pending != 0
    }

    /// A token that failed early leaves all its places together, when what stands before each is done.
    fn kept_by(&mut self, node: usize, seen: &mut Vec<usize>) -> Fate {
        if seen.contains(&node) {
            return 0;
        }
        seen.push(node);
        let mut pending = 0;
        for first in self.model.waits_in_order(node, true) {
            pending |= match first {
                None => self.unserved() & PENDING,
                Some(first) => self.of(first) & PENDING | self.kept_by(first, seen),
            };
        }
        pending
    }

    fn before(&mut self, node: usize) -> Before {
        let model = self.model;
        let it = &model.nodes[node];
        let mut from = Before::default();
        for pred in &it.preds {
            let of = self.of(*pred);
            from.pending |= of & PENDING;
            from.bad |= if of & BAD != 0 { BAD } else { 0 };
            from.certain |= of & (OK | PENDING) == 0;
        }
        for place in &it.places {
            let later = &model.places[*place];
            let mut nearest: Option<usize> = None;
            for first in model.before(*place) {
                let first_place = &model.places[first];
                let of = match first_place.node {
                    Some(writer) => self.of(writer),
                    None => self.unserved(),
                };
                if first_place.released.is_none() {
                    from.pending |= of & PENDING;
                }
                if let Some(first) = first_place.node.filter(|_| of & BAD != 0) {
                    from.pending |= self.kept_by(first, &mut vec![node]);
                }
                if first_place.mode == NORN_READ {
                    continue;
                }
                if later.mode != NORN_WRITE && of & BAD != 0 {
                    from.bad = BAD;
                }
                let nearer = |other: usize| model.places[other].key < first_place.key;
                if nearest.is_none_or(nearer) {
                    nearest = Some(first);
                }
            }
            for first in model.before_across(*place) {
                if let Some(first) = model.places[first].node {
                    let of = self.of(first);
                    from.pending |= of & PENDING;
                    if of & BAD != 0 {
                        from.pending |= self.kept_by(first, &mut vec![node]);
                    }
                }
            }
            // The last writer of the same whole datum decides.
            // (A neighbour of the same kind may have run all the same and made it good.)
            let decides = matches!(later.mode, NORN_READ | NORN_READ_WRITE);
            if let Some(first) = nearest.filter(|_| decides) {
                let first_place = &model.places[first];
                let whole = first_place.datum == later.datum
                    && !model.data[model.data[later.datum].root].was_split
                    && later.key.len() == 1
                    && first_place.key.len() == 1;
                let alone = matches!(first_place.mode, NORN_WRITE | NORN_READ_WRITE);
                if let Some(writer) = first_place.node
                    && whole
                    && alone
                    && first_place.released.is_none()
                    && !model.nodes[writer].nests
                {
                    from.certain |= self.of(writer) & (OK | PENDING) == 0;
                }
            }
            // Neighbours of the same kind may come first, and a joined datum is failed as a whole.
            let split = model.data[model.data[later.datum].root].was_split;
            if model.bad
                && (split && later.mode != NORN_WRITE
                    || matches!(later.mode, NORN_COMMUTE | NORN_REDUCE))
            {
                from.bad = BAD;
            }
        }
        from
    }
}

/// What the predecessors of a token do to it.
#[derive(Default)]
struct Before {
    pending: Fate,
    /// BAD: one of them may fail it.
    bad: Fate,
    /// One of them fails it for certain.
    certain: bool,
}
