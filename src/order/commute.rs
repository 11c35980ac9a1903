//! COMMUTE: one holder at a time, granted all or nothing.
//!
//! A task whose other predecessors are satisfied asks for all its COMMUTE data
//! at once, under one lock. If one is taken it queues at that datum and holds
//! nothing, so holders never wait for each other. A datum that becomes free is
//! offered to its queue in order; who needs another taken datum moves to that
//! datum's queue.

use std::collections::VecDeque;

use super::failure::SpreadMap;

/// A datum as a certain set of tasks sees it: children of one parent have their own.
pub(crate) type Key = u64;

/// Key of a datum in the timelines of `domain` (parent node, 0 for the root).
pub(crate) fn key(domain: u32, datum: u32) -> Key {
    (u64::from(domain) << 32) | u64::from(datum)
}

#[derive(Default)]
struct Turn {
    holder: u32,
    queue: VecDeque<u32>,
}

/// Who holds and who waits, of one runtime.
#[derive(Default)]
pub(crate) struct Commutes {
    turns: SpreadMap<Key, Turn>,
}

impl Commutes {
    /// Gives `node` all of `keys`, or queues it at the first that is taken and says who holds that.
    pub(crate) fn acquire(&mut self, node: u32, keys: &[Key]) -> Result<(), u32> {
        for key in keys {
            if let Some(turn) = self.turns.get_mut(key)
                && turn.holder != 0
            {
                turn.queue.push_back(node);
                return Err(turn.holder);
            }
        }
        for key in keys {
            self.turns.entry(*key).or_default().holder = node;
        }
        Ok(())
    }

    /// Ends `node`'s turn at `key`; tasks that now hold all they need are added to `granted`. `keys_of`
    /// tells what a queued task needs.
    pub(crate) fn release(
        &mut self,
        node: u32,
        key: Key,
        keys_of: impl Fn(u32) -> Vec<Key>,
        granted: &mut Vec<u32>,
    ) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        if turn.holder != node {
            return;
        }
        turn.holder = 0;
        loop {
            let Some(turn) = self.turns.get_mut(&key) else {
                return;
            };
            if turn.holder != 0 {
                return;
            }
            let Some(next) = turn.queue.pop_front() else {
                // Nobody waits: forget the datum, so that the map stays small.
                self.turns.remove(&key);
                return;
            };
            if self.acquire(next, &keys_of(next)).is_ok() {
                granted.push(next);
            }
        }
    }

    /// Whether `node` has its turn at `key`.
    pub(crate) fn is_holder(&self, node: u32, key: Key) -> bool {
        self.turns.get(&key).is_some_and(|turn| turn.holder == node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_waits_holds_nothing() {
        let mut commutes = Commutes::default();
        assert!(commutes.acquire(1, &[10]).is_ok());
        assert_eq!(commutes.acquire(2, &[11, 10]), Err(1));
        assert!(commutes.acquire(3, &[11]).is_ok(), "2 must not hold 11");
    }

    #[test]
    fn a_free_datum_goes_to_the_first_that_can_take_all() {
        let mut commutes = Commutes::default();
        assert!(commutes.acquire(1, &[10]).is_ok());
        assert!(commutes.acquire(4, &[11]).is_ok());
        assert_eq!(commutes.acquire(2, &[10, 11]), Err(1));
        assert_eq!(commutes.acquire(3, &[10]), Err(1));
        let keys_of = |node| if node == 2 { vec![10, 11] } else { vec![10] };
        let mut granted = Vec::new();
        commutes.release(1, 10, keys_of, &mut granted);
        assert_eq!(granted, [3]);
        commutes.release(3, 10, keys_of, &mut granted);
        assert_eq!(granted, [3]);
        commutes.release(4, 11, keys_of, &mut granted);
        assert_eq!(granted, [3, 2]);
    }

    #[test]
    fn nothing_is_kept_when_nobody_holds_or_waits() {
        let mut commutes = Commutes::default();
        assert!(commutes.acquire(1, &[10, 11]).is_ok());
        commutes.release(1, 10, |_| vec![], &mut Vec::new());
        commutes.release(1, 11, |_| vec![], &mut Vec::new());
        assert!(commutes.turns.is_empty());
    }
}
