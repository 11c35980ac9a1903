//! Failures: the records of first causes, and the table that maps failed
//! tokens to them.
//!
//! A token that failed costs one entry of 16 bytes here, whether it failed
//! itself or was propagated; its slot is reused like any other. The table is
//! consulted only where a slot says that some token of it has failed.

use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::ffi::c_char;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::sync::{Mutex, RwLock};

use super::token::Token;
use crate::abi::status::{NORN_E_CANCELLED, NORN_E_CLOSED, NORN_E_PROPAGATED, norn_status};

/// What failed first, and how. Shared by every token it dooms.
pub(crate) struct Cause {
    /// The token that failed.
    pub(crate) token: Token,
    /// `NORN_E_TASK_FAILED`, `NORN_E_CANCELLED`, `NORN_E_CLOSED` or a lowering's status.
    pub(crate) status: norn_status,
    /// The application's code.
    pub(crate) code: i32,
    /// Name of the task: borrowed for the life of the runtime, as names are.
    pub(crate) name: usize,
    /// Rank it failed on, where that is another one; -1 otherwise.
    pub(crate) rank: i32,
    /// What it was doing.
    pub(crate) operation: Cow<'static, str>,
    /// Its text.
    pub(crate) text: Box<str>,
    /// Worker that ran it, -1 if none.
    pub(crate) worker: i32,
    /// Device that it ran on, -1 if none.
    pub(crate) device: i32,
    /// Whether somebody has looked at this failure or at one propagated from it.
    pub(crate) looked_at: AtomicBool,
    /// Whether a task did not run because of it.
    pub(crate) doomed_a_task: AtomicBool,
}

impl Cause {
    /// Name as the submitter gave it.
    pub(crate) fn name(&self) -> *const c_char {
        self.name as *const c_char
    }
}

/// How a token ended, if it failed.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) cause: Arc<Cause>,
    pub(crate) propagated: bool,
}

impl Failure {
    /// What an await returns for the token.
    pub(crate) fn status(&self) -> norn_status {
        if self.propagated {
            NORN_E_PROPAGATED
        } else {
            self.cause.status
        }
    }
}

/// Multiplies by a large odd constant (Knuth's multiplicative hashing): tokens are distinct already,
/// they only need to be spread.
#[derive(Default)]
pub(crate) struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        let spread = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 32);
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
}

/// Map keyed by a token or index.
pub(crate) type SpreadMap<K, V> = HashMap<K, V, BuildHasherDefault<SpreadHasher>>;

const SHARDS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };
const PROPAGATED: u32 = 1 << 31;

/// All failures of one runtime.
pub(crate) struct Failures {
    causes: RwLock<Vec<Arc<Cause>>>,
    table: [Mutex<SpreadMap<u64, u32>>; SHARDS],
    /// Number of causes, to skip the lock where nothing has ever failed.
    count: AtomicU32,
}

impl Failures {
    pub(crate) fn new() -> Self {
        Self {
            causes: RwLock::new(Vec::new()),
            table: core::array::from_fn(|_| Mutex::new(SpreadMap::default())),
            count: AtomicU32::new(0),
        }
    }

    /// Keeps a first cause and gives its number, which is never 0.
    pub(crate) fn add_cause(&self, cause: Cause) -> u32 {
        let mut causes = self.causes.write();
        causes.push(Arc::new(cause));
        let number = causes.len() as u32;
        self.count.store(number, Ordering::Release);
        number
    }

    /// The record behind a number.
    pub(crate) fn cause(&self, number: u32) -> Arc<Cause> {
        self.causes.read()[number as usize - 1].clone()
    }

    fn shard(&self, token: Token) -> &Mutex<SpreadMap<u64, u32>> {
        &self.table[(token.index() as usize) % SHARDS]
    }

    /// Notes that a token failed. Before its generation moves on.
    pub(crate) fn insert(&self, token: Token, cause: u32, propagated: bool) {
        let entry = cause | if propagated { PROPAGATED } else { 0 };
        self.shard(token).lock().insert(token.0, entry);
    }

    /// Number of the first cause of a token, 0 if it did not fail.
    pub(crate) fn cause_of(&self, token: Token) -> u32 {
        self.shard(token)
            .lock()
            .get(&token.0)
            .map_or(0, |entry| entry & !PROPAGATED)
    }

    /// How a complete token failed, if it did.
    pub(crate) fn get(&self, token: Token) -> Option<Failure> {
        let entry = *self.shard(token).lock().get(&token.0)?;
        Some(Failure {
            cause: self.cause(entry & !PROPAGATED),
            propagated: entry & PROPAGATED != 0,
        })
    }

    /// The first cause that nobody has looked at.
    pub(crate) fn first_unseen(&self) -> Option<Arc<Cause>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.causes
            .read()
            .iter()
            .find(|cause| {
                // What was closed matters if a task waited for it; what was cancelled was asked for.
                !cause.looked_at.load(Ordering::Relaxed)
                    && match cause.status {
                        NORN_E_CANCELLED => false,
                        NORN_E_CLOSED => cause.doomed_a_task.load(Ordering::Relaxed),
                        _ => true,
                    }
            })
            .cloned()
    }

    /// Notes that a task did not run because of a cause.
    pub(crate) fn dooms_task(&self, cause: u32) {
        let causes = self.causes.read();
        let cause = &causes[cause as usize - 1];
        if !cause.doomed_a_task.load(Ordering::Relaxed) {
            cause.doomed_a_task.store(true, Ordering::Relaxed);
        }
    }

    /// Bytes held, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        let entries: usize = self.table.iter().map(|shard| shard.lock().capacity()).sum();
        (entries * 16) as u64
    }

    /// Forgets everything, when the runtime's memory is used again.
    pub(crate) fn clear(&self) {
        self.causes.write().clear();
        for shard in &self.table {
            *shard.lock() = SpreadMap::default();
        }
        self.count.store(0, Ordering::Release);
    }
}
