//! The order of posting: numbers of ordered edges, and exchanges that share a tag or a lane.
//!
//! MPI matches messages of one pair of ranks, communicator and tag in the order in which they are posted. Both ranks
//! declare the edges of a tag in the same order, and so norn posts them in that order, on both sides: a line is the
//! queue of the exchanges of one tag (or of one lane of collectives) that are declared and not yet posted, and only
//! its head may be posted. No rank needs to know what has completed on another.
//!
//! That order is an edge of the graph: `followers` tells the deadlock search who waits behind whom.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap as HashMap;

use super::control::Wire;
use super::exchange::{Exchange, Line, stage};
use crate::abi::status::NORN_E_ORDER;
use crate::abi::types::NORN_KEY_ORDER;
use crate::error::{Error, Result};
use crate::order::token::Token;
use crate::sync::Mutex;

/// Lanes of keyed edges. MPI may look for a message's receive in one list for each communicator, so that many in flight on
/// one are matched slowly; each lane is a communicator more for every world.
pub(crate) const KEY_LANES: u32 = 4;

/// Empty queues that are kept.
const MOST_SPARE: usize = 64;

#[derive(Default)]
struct Pair {
    /// Number of the next ordered edge.
    next: u64,
    /// A thread is declaring one.
    declaring: bool,
}

#[derive(Default)]
struct Queues {
    lines: HashMap<Line, VecDeque<Arc<Exchange>>>,
    /// The only exchange of its line, which is not in `lines`: most are posted by the call that declares them and leave
    /// before another comes.
    alone: Option<Arc<Exchange>>,
    /// Empty queues for further lines: most lines come and go with one message.
    spare: Vec<VecDeque<Arc<Exchange>>>,
    /// Ordered edges, by whether this rank sends, and the peer.
    pairs: HashMap<(bool, i32), Pair>,
    /// Messages of this rank to itself of which one end is declared: whether that is the sending one, and its datum.
    own: HashMap<Wire, VecDeque<(bool, u64)>>,
    /// Verify mode: edges declared of each key.
    keys: HashMap<(bool, i32, i64), u64>,
}

impl Queues {
    /// All lines.
    fn all(&mut self) -> &mut HashMap<Line, VecDeque<Arc<Exchange>>> {
        if let Some(alone) = self.alone.take() {
            let spare = &mut self.spare;
            let fresh = || spare.pop().unwrap_or_default();
            let line = self.lines.entry(alone.line()).or_insert_with(fresh);
            line.push_back(alone);
        }
        &mut self.lines
    }
}

/// See the module's text.
pub(crate) struct Lines {
    queues: Mutex<Queues>,
    /// Exchanges that have entered a line; written under the lock.
    declared: AtomicUsize,
    /// Exchanges in all lines, for a look without the lock; written under it.
    waiting: AtomicUsize,
    /// Lanes of ordered edges, which come after those of keys.
    lanes: u32,
    /// Tags of each.
    tags: u64,
}

/// The right to declare the next ordered edge of a pair.
pub(crate) struct Turn<'a> {
    lines: &'a Lines,
    pair: (bool, i32),
    pub(crate) number: u64,
    pub(crate) wire: Wire,
    taken: bool,
}

impl Turn<'_> {
    /// The edge is declared: its number is used.
    pub(crate) fn take(mut self) {
        self.taken = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queues = self.lines.queues.lock();
        let pair = queues.pairs.entry(self.pair).or_default();
        pair.declaring = false;
        pair.next += u64::from(self.taken);
    }
}

impl Lines {
    pub(crate) fn new(lanes: u32, tags: u64) -> Self {
        Self {
            queues: Mutex::default(),
            declared: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            lanes,
            tags,
        }
    }

    /// Exchanges that were ever declared.
    pub(crate) fn declared(&self) -> usize {
        self.declared.load(Ordering::SeqCst)
    }

    /// Lanes of ordered edges.
    pub(crate) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Begins to declare the next ordered edge of a pair of ranks.
    pub(crate) fn next_ordered(&self, send: bool, peer: i32) -> Result<Turn<'_>> {
        let mut queues = self.queues.lock();
        let pair = queues.pairs.entry((send, peer)).or_default();
        if pair.declaring {
            let way = if send { "to" } else { "from" };
            return Err(Error::new(
                NORN_E_ORDER,
                format!(
                    "two threads declare ordered edges {way} rank {peer} at once: their order is not defined; use keys, or one thread at a time"
                ),
            ));
        }
        pair.declaring = true;
        let number = pair.next;
        Ok(Turn {
            lines: self,
            pair: (send, peer),
            number,
            wire: self.wire_of(number),
            taken: false,
        })
    }

    /// Where the n-th ordered edge of a pair travels.
    fn wire_of(&self, number: u64) -> Wire {
        let lanes = u64::from(self.lanes);
        Wire {
            lane: KEY_LANES + (number % lanes) as u32,
            tag: (number / lanes % self.tags) as i32,
        }
    }

    /// Where the edges of a key travel.
    pub(crate) fn wire_of_key(&self, key: i64) -> Wire {
        Wire {
            lane: (key % i64::from(KEY_LANES)) as u32,
            tag: key as i32,
        }
    }

    /// Verify mode: the number of the next edge of a key.
    pub(crate) fn next_of_key(&self, send: bool, peer: i32, key: i64) -> u64 {
        let mut queues = self.queues.lock();
        let next = queues.keys.entry((send, peer, key)).or_default();
        *next += 1;
        *next - 1
    }

    /// Whether the other end of the next message of this rank to itself is declared and is the same datum.
    pub(crate) fn meets_itself(&self, send: bool, wire: Wire, datum: u64) -> bool {
        let queues = self.queues.lock();
        let other = queues.own.get(&wire).and_then(|ends| ends.front());
        datum != 0 && other == Some(&(!send, datum))
    }

    /// An end of a message of this rank to itself is declared.
    pub(crate) fn enter_own(&self, send: bool, wire: Wire, datum: u64) {
        let mut queues = self.queues.lock();
        let ends = queues.own.entry(wire).or_default();
        match ends.front() {
            Some((other, _)) if *other != send => {
                ends.pop_front();
                if ends.is_empty() {
                    queues.own.remove(&wire);
                }
            }
            _ => ends.push_back((send, datum)),
        }
    }

    /// Whether a line holds no exchange. What the calling thread, or one before it, has entered is seen; what another thread
    /// enters at this moment has no order with what is asked for.
    pub(crate) fn is_free(&self, line: &Line) -> bool {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return true;
        }
        let queues = self.queues.lock();
        let alone = queues.alone.as_ref();
        !queues.lines.contains_key(line) && alone.is_none_or(|alone| alone.line() != *line)
    }

    /// Puts an exchange at the end of its line.
    pub(crate) fn enter(&self, exchange: &Arc<Exchange>) {
        let queues = &mut *self.queues.lock();
        let declared = self.declared.load(Ordering::Relaxed);
        self.declared
            .store(declared.wrapping_add(1), Ordering::Release);
        let waiting = self.waiting.load(Ordering::Relaxed);
        self.waiting.store(waiting + 1, Ordering::Release);
        if queues.alone.is_none() && !queues.lines.contains_key(&exchange.line()) {
            exchange.set_first();
            queues.alone = Some(exchange.clone());
            return;
        }
        queues.all();
        let fresh = || queues.spare.pop().unwrap_or_default();
        let line = queues.lines.entry(exchange.line()).or_insert_with(fresh);
        if line.is_empty() {
            exchange.set_first();
        }
        line.push_back(exchange.clone());
    }

    /// Tokens of those before an exchange in its line.
    pub(crate) fn tokens_before(&self, exchange: &Exchange) -> Vec<Token> {
        let mut queues = self.queues.lock();
        let Some(line) = queues.all().get(&exchange.line()) else {
            return Vec::new();
        };
        line.iter()
            .take_while(|other| !core::ptr::eq(Arc::as_ptr(other), exchange))
            .map(|other| other.token())
            .filter(|token| !token.is_zero())
            .collect()
    }

    /// Takes an exchange out of its line. Returns the one that may be posted now because of that.
    pub(crate) fn leave(&self, exchange: &Exchange) -> Option<Arc<Exchange>> {
        let queues = &mut *self.queues.lock();
        let is_it = |alone: &mut Arc<Exchange>| core::ptr::eq(Arc::as_ptr(alone), exchange);
        if queues.alone.take_if(is_it).is_some() {
            self.count_left();
            return None;
        }
        let Entry::Occupied(mut entry) = queues.lines.entry(exchange.line()) else {
            return None;
        };
        let line = entry.get_mut();
        let position = line
            .iter()
            .position(|other| core::ptr::eq(Arc::as_ptr(other), exchange))?;
        line.remove(position);
        self.count_left();
        let Some(next) = line.front() else {
            let empty = entry.remove();
            if queues.spare.len() < MOST_SPARE {
                queues.spare.push(empty);
            }
            return None;
        };
        next.set_first();
        let is_ready = position == 0 && matches!(next.stage(), stage::ARRIVED | stage::OWED);
        is_ready.then(|| next.clone())
    }

    /// Under the lock: one has left.
    fn count_left(&self) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        self.waiting.store(waiting - 1, Ordering::Release);
    }

    /// Whether a message that is ready waits only for others that share its tag, and would not with more tags: not for those of
    /// its key.
    pub(crate) fn has_blocked(&self) -> bool {
        let mut queues = self.queues.lock();
        queues.all().values().any(|queue| {
            let key = |exchange: &Exchange| exchange.message().map(|message| message.key);
            let first = queue.front().and_then(|first| key(first));
            let shares = |other: &Exchange| key(other) != first || first == Some(NORN_KEY_ORDER);
            let mut others = queue.iter().skip(1);
            first.is_some() && others.any(|other| other.stage() == stage::ARRIVED && shares(other))
        })
    }

    /// The first exchange of each line, if it waits for the graph: the line, its node.
    pub(crate) fn first_unposted(&self) -> Vec<(Line, u32)> {
        let mut queues = self.queues.lock();
        let heads = queues.all().iter();
        let heads = heads.filter_map(|(line, queue)| Some((*line, queue.front()?)));
        let waits = |first: &Exchange| first.stage() == stage::DECLARED && !first.token().is_zero();
        let waiting = heads.filter(|(_, first)| waits(first));
        waiting
            .map(|(line, first)| (line, first.token().index()))
            .collect()
    }

    /// Whether collectives of a lane are declared that no call was made for.
    pub(crate) fn has_collectives(&self, lane: u32) -> bool {
        let mut queues = self.queues.lock();
        let line = queues.all().get(&Line::Collectives { lane });
        line.is_some_and(|queue| queue.iter().any(|other| other.stage() != stage::POSTED))
    }

    /// Whether some exchange waits for the graph.
    pub(crate) fn has_waiting(&self) -> bool {
        let mut queues = self.queues.lock();
        let mut lines = queues.all().values().flatten();
        lines.any(|exchange| exchange.stage() == stage::DECLARED)
    }

    /// Where sends are declared and not posted: to whom, on which wire.
    pub(crate) fn unposted_sends(&self) -> Vec<(i32, Wire)> {
        let mut queues = self.queues.lock();
        let lines = queues.all().keys();
        let sends = lines.filter_map(|line| match line {
            Line::Messages {
                send: true,
                peer,
                wire,
            } => Some((*peer, *wire)),
            _ => None,
        });
        sends.collect()
    }

    /// The exchange just before this one in its line, in words; for reports, which may come at any time.
    pub(crate) fn before(&self, exchange: &Exchange) -> Option<String> {
        let mut queues = self.queues.try_lock()?;
        let line = queues.all().get(&exchange.line())?;
        let position = line
            .iter()
            .position(|other| core::ptr::eq(Arc::as_ptr(other), exchange))?;
        let before = line.get(position.checked_sub(1)?)?;
        Some(before.title())
    }

    /// The exchange just behind this one in its line, while neither is posted.
    pub(crate) fn behind(&self, exchange: &Exchange) -> Option<Arc<Exchange>> {
        let mut queues = self.queues.lock();
        let line = queues.all().get(&exchange.line())?;
        let position = line
            .iter()
            .position(|other| core::ptr::eq(Arc::as_ptr(other), exchange))?;
        line.get(position + 1).cloned()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_declares_ordered_edges_of_a_pair() {
        let lines = Lines::new(2, 3);
        let turn = lines.next_ordered(true, 5).unwrap();
        let refused = lines.next_ordered(true, 5).map(|turn| turn.number);
        assert_eq!(refused.unwrap_err().status(), NORN_E_ORDER);
        // The other way and another peer are other pairs.
        assert_eq!(lines.next_ordered(false, 5).unwrap().number, 0);
        assert_eq!(lines.next_ordered(true, 6).unwrap().number, 0);
        turn.take();
        assert_eq!(lines.next_ordered(true, 5).unwrap().number, 1);
        // Not taken: the number is still free.
        assert_eq!(lines.next_ordered(true, 5).unwrap().number, 1);
    }

    #[test]
    fn ordered_edges_go_round_all_tags_of_all_lanes() {
        let lines = Lines::new(2, 3);
        let wires: Vec<Wire> = (0..7).map(|number| lines.wire_of(number)).collect();
        let distinct: std::collections::HashSet<_> = wires[..6].iter().copied().collect();
        assert_eq!(distinct.len(), 6);
        assert_eq!(wires[6], wires[0]);
        assert!(
            wires
                .iter()
                .all(|wire| wire.lane >= KEY_LANES && wire.tag < 3)
        );
    }

    #[test]
    fn a_key_has_one_place_apart_from_ordered_edges() {
        let lines = Lines::new(2, 3);
        let wires: Vec<Wire> = (0..9).map(|key| lines.wire_of_key(key)).collect();
        let distinct: std::collections::HashSet<_> = wires.iter().copied().collect();
        assert_eq!(distinct.len(), 9);
        assert!(wires.iter().all(|wire| wire.lane < KEY_LANES));
    }

    #[test]
    fn ends_of_own_messages_are_paired_in_order() {
        let lines = Lines::new(1, 1);
        let wire = Wire { lane: 0, tag: 0 };
        lines.enter_own(true, wire, 7);
        lines.enter_own(true, wire, 8);
        assert!(lines.meets_itself(false, wire, 7));
        assert!(!lines.meets_itself(false, wire, 8));
        lines.enter_own(false, wire, 9);
        assert!(lines.meets_itself(false, wire, 8));
        lines.enter_own(false, wire, 0);
        assert!(!lines.meets_itself(false, wire, 8));
        assert!(lines.queues.lock().own.is_empty());
    }
}
