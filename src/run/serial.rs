//! The list of runnable tasks of the one-thread modes, and the order in which
//! they are taken: by age (sync) or pseudo-randomly from a seed (shuffle).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sync::Mutex;

use super::config::Mode;
use crate::error::Result;
use crate::order::token::Token;

/// Runnable tasks for one kind of thread. Exactly one of the two is used.
#[derive(Default)]
struct Runnable {
    /// By priority, then age.
    ordered: BinaryHeap<(i16, Reverse<u64>, u32)>,
    /// In an order that depends on what was taken before, hence on the seed only.
    shuffled: Vec<u32>,
}

#[derive(Default)]
struct Serial {
    any: Runnable,
    opener: Runnable,
    /// Tasks pushed so far.
    age: u64,
    /// State of the generator of shuffle mode.
    random: u64,
    /// Completions from outside, delivered when nothing is runnable, lowest token first.
    external: Vec<Kept>,
}

/// A completion from outside: the promise, and its failure's code and text.
pub(crate) type Kept = (Token, Option<(i32, Box<str>)>);

/// See the module's text.
pub(crate) struct SerialQueue {
    inner: Mutex<Serial>,
    shuffled: bool,
}

impl SerialQueue {
    /// An empty list for a mode.
    pub(crate) fn new(mode: Mode) -> Self {
        let (shuffled, random) = match mode {
            Mode::Shuffle(seed) => (true, seed),
            _ => (false, 0),
        };
        Self {
            inner: Mutex::new(Serial {
                random,
                ..Serial::default()
            }),
            shuffled,
        }
    }

    /// Adds a task that has become runnable. `opener`: it must run on the thread that opened the runtime.
    pub(crate) fn push(&self, node: u32, priority: i16, opener: bool) {
        let mut inner = self.inner.lock();
        inner.age += 1;
        let age = inner.age;
        let list = if opener {
            &mut inner.opener
        } else {
            &mut inner.any
        };
        if self.shuffled {
            list.shuffled.push(node);
        } else {
            list.ordered.push((priority, Reverse(age), node));
        }
    }

    /// Takes the next task that this thread may run.
    pub(crate) fn take(&self, is_opener: bool) -> Option<u32> {
        let inner = &mut *self.inner.lock();
        if self.shuffled {
            let common = inner.any.shuffled.len();
            let choices = common
                + if is_opener {
                    inner.opener.shuffled.len()
                } else {
                    0
                };
            if choices == 0 {
                return None;
            }
            let choice = (next_random(&mut inner.random) % choices as u64) as usize;
            return Some(if choice < common {
                inner.any.shuffled.swap_remove(choice)
            } else {
                inner.opener.shuffled.swap_remove(choice - common)
            });
        }
        let list = if is_opener && inner.opener.ordered.peek() > inner.any.ordered.peek() {
            &mut inner.opener
        } else {
            &mut inner.any
        };
        list.ordered.pop().map(|(_, _, node)| node)
    }

    /// Whether nothing is runnable on any thread.
    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.inner.lock();
        [&inner.any, &inner.opener]
            .iter()
            .all(|list| list.ordered.is_empty() && list.shuffled.is_empty())
    }

    /// Whether `take` would find something.
    pub(crate) fn has_for(&self, is_opener: bool) -> bool {
        let inner = self.inner.lock();
        let has = |list: &Runnable| !list.ordered.is_empty() || !list.shuffled.is_empty();
        has(&inner.any) || (is_opener && has(&inner.opener))
    }

    /// Whether there is nothing to run or deliver.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_empty() && self.inner.lock().external.is_empty()
    }

    /// Whether a completion is kept.
    pub(crate) fn has_external(&self) -> bool {
        !self.inner.lock().external.is_empty()
    }

    /// Keeps a completion from outside until nothing is runnable. In one step with the `claim` of its promise: who
    /// finds that claimed finds it here, or delivered.
    pub(crate) fn defer(
        &self,
        token: Token,
        failure: Option<(i32, Box<str>)>,
        claim: impl FnOnce() -> Result<u32>,
    ) -> Result<()> {
        let mut inner = self.inner.lock();
        claim()?;
        inner.external.push((token, failure));
        Ok(())
    }

    /// The kept completion with the lowest token.
    pub(crate) fn take_external(&self) -> Option<Kept> {
        let mut inner = self.inner.lock();
        let position = inner
            .external
            .iter()
            .enumerate()
            .min_by_key(|(_, (token, _))| *token)
            .map(|(position, _)| position)?;
        Some(inner.external.swap_remove(position))
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): every seed, 0 included, gives a full-period sequence.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
