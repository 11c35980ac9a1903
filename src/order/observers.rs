//! Who waits for a token without being a node: blocked threads and eventfds.
//!
//! Kept beside the nodes, under sharded locks, because such waits are rare
//! against edges, may be given up again (timeouts), and must not make nodes
//! larger. A node says only that somebody observes it (`OBSERVED`).
//!
//! Protocol: whoever enters an observer holds the shard's lock, sets OBSERVED by
//! compare and swap on the successor word (which fails if the token has
//! completed), and adds the entry. The completer's swap returns the flag; if it is
//! set, the completer takes the same lock before it goes on.
//!
//! That makes the lock a *pin*: while somebody holds it with OBSERVED set, the
//! node's slot cannot be reused. Cancelling, holds and late edges use it so, to
//! change a live node's words without the risk of meeting its successor.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::sync::{Mutex, MutexGuard};

use super::failure::SpreadMap;
use super::node::{Node, Successors};
use super::token::Token;

/// Told once when a token completes. Called on the completing thread, inside norn: must be short and
/// must not complete anything itself.
pub(crate) trait Notify: Send + Sync {
    /// The token has completed.
    fn notify(&self);
    /// Node of the body that waits without limit, 0 if it is no such wait. For the deadlock search.
    fn waiting_body(&self) -> u32 {
        0
    }
}

const SHARDS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

type Shard = SpreadMap<u64, Vec<Arc<dyn Notify>>>;

/// The observers of one runtime.
pub(crate) struct Observers {
    shards: [Mutex<Shard>; SHARDS],
}

/// A live node that stays so while this is held.
pub(crate) struct Pin<'a> {
    shard: MutexGuard<'a, Shard>,
    token: Token,
}

impl Observers {
    pub(crate) fn new() -> Self {
        Self {
            shards: core::array::from_fn(|_| Mutex::new(Shard::default())),
        }
    }

    fn shard(&self, token: Token) -> &Mutex<Shard> {
        &self.shards[token.index() as usize % SHARDS]
    }

    /// Pins a token's node; none if the token has completed.
    pub(crate) fn pin(&self, token: Token, node: &Node) -> Option<Pin<'_>> {
        let shard = self.shard(token).lock();
        let mut word = node.load_successors();
        while word.generation() == token.generation() {
            match node.successors.compare_exchange_weak(
                word.0,
                word.observed().0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(Pin { shard, token }),
                Err(now) => word = Successors(now),
            }
        }
        None
    }

    /// Takes one observer out; false if it was told already.
    pub(crate) fn leave(&self, token: Token, observer: &Arc<dyn Notify>) -> bool {
        let mut shard = self.shard(token).lock();
        let Some(list) = shard.get_mut(&token.0) else {
            return false;
        };
        let before = list.len();
        list.retain(|other| !Arc::ptr_eq(other, observer));
        let left = list.len() < before;
        if list.is_empty() {
            shard.remove(&token.0);
        }
        left
    }

    /// Tells all observers of a token that has completed. Waits for pins. Should a panic end it, those not told
    /// yet are entered again, so that `take_all` finds them.
    pub(crate) fn tell(&self, token: Token) {
        let list = self
            .shard(token)
            .lock()
            .remove(&token.0)
            .unwrap_or_default();
        let mut untold = Untold {
            observers: self,
            token,
            list: list.into_iter(),
        };
        for observer in untold.list.by_ref() {
            observer.notify();
        }
    }

    /// Takes out all observers of all tokens.
    pub(crate) fn take_all(&self) -> Vec<Arc<dyn Notify>> {
        self.shards
            .iter()
            .flat_map(|shard| core::mem::take(&mut *shard.lock()))
            .flat_map(|(_, observers)| observers)
            .collect()
    }

    /// Bodies that wait without limit for a token.
    pub(crate) fn waiting_bodies(&self, token: Token) -> Vec<u32> {
        self.shard(token)
            .lock()
            .get(&token.0)
            .map(|list| {
                list.iter()
                    .map(|observer| observer.waiting_body())
                    .filter(|body| *body != 0)
                    .collect()
            })
            .unwrap_or_default()
    }
}

/// Observers on their way to be told.
struct Untold<'a> {
    observers: &'a Observers,
    token: Token,
    list: std::vec::IntoIter<Arc<dyn Notify>>,
}

impl Drop for Untold<'_> {
    fn drop(&mut self) {
        if self.list.len() != 0 {
            let mut shard = self.observers.shard(self.token).lock();
            shard
                .entry(self.token.0)
                .or_default()
                .extend(self.list.by_ref());
        }
    }
}

impl Pin<'_> {
    /// Enters an observer of the pinned token.
    pub(crate) fn observe(&mut self, observer: Arc<dyn Notify>) {
        self.shard.entry(self.token.0).or_default().push(observer);
    }
}
