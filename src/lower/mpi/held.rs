//! Receives that are held back.
//!
//! An MPI looks for the receive of a message in a list of all that are posted, of a communicator (Open MPI) or of the process
//! (MPICH over UCX): with a thousand posted, that walk is most of a small message. What has come without a receive is in a
//! list too, and its first can be asked for at once (MPI_Iprobe of any rank and tag). So where more than a few receives are posted,
//! further small ones are held back: each pass asks what has come and posts the receive of just that message, which both find
//! at the front. The matching is done here, by a hash of rank and wire.
//!
//! - A receive that is held back is ready and the first of its line, and stays there, so none of its line is posted before it.
//! - Whatever has come is seen: MPI_Iprobe finds it sooner or later, as MPI's progress rule says. What it finds may have no receive
//!   here: none is declared yet, or it waits for something else. It hides what came behind it, so all of its communicator are
//!   posted then, as if nothing were held back.
//! - Where few others are posted any more they are posted too, the oldest of a communicator first.
//! - A receive whose token fails whatever comes is not held back: its token would fail late.
//! - None is held back where it matters whether all that is ready is posted: in a flush, in a runtime that is sealed or closes, in
//!   a world that ends or fails, and once any rank leaves or stands still (`may_hold`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use super::control::Wire;
use super::engine::{Engine, Finished};
use super::exchange::{Exchange, Message};
use super::table::NORN_MPI_ANY;
use super::world::{World, life};
use crate::run::runtime::Runtime;

/// Receives that are posted whatever they are.
const ALWAYS_POSTED: usize = 32;

/// Bytes of a small message: one that MPI buffers where no receive is posted, and of which a further copy costs little.
const SMALL: u64 = 2048;

/// Messages that a pass asks for.
const MOST_ASKED: usize = 64;

/// Those of one communicator, by the rank they come from and their tag.
#[derive(Default)]
struct HeldOnLane {
    exchanges: FxHashMap<(i32, i32), Arc<Exchange>>,
    /// The keys of all in the order in which they came, among those of others that have left.
    order: VecDeque<(i32, i32)>,
}

impl HeldOnLane {
    fn remove_oldest(&mut self) -> Option<Arc<Exchange>> {
        while let Some(key) = self.order.pop_front() {
            if let Some(exchange) = self.exchanges.remove(&key) {
                return Some(exchange);
            }
        }
        None
    }
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Held {
    /// By the communicator of messages.
    lanes: Vec<HeldOnLane>,
    count: usize,
}

impl Held {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    fn insert(&mut self, (source, wire): (i32, Wire), exchange: Arc<Exchange>) {
        let lane = wire.lane as usize;
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, HeldOnLane::default);
        }
        let HeldOnLane { exchanges, order } = &mut self.lanes[lane];
        let key = (source, wire.tag);
        exchanges.insert(key, exchange);
        order.push_back(key);
        // Most leave because their message has come, and leave their keys.
        if order.len() > 2 * exchanges.len() + ALWAYS_POSTED {
            order.retain(|key| exchanges.contains_key(key));
        }
        self.count += 1;
    }

    fn remove(&mut self, (source, wire): (i32, Wire)) -> Option<Arc<Exchange>> {
        let lane = self.lanes.get_mut(wire.lane as usize)?;
        let exchange = lane.exchanges.remove(&(source, wire.tag))?;
        self.count -= 1;
        Some(exchange)
    }

    /// Takes the oldest of one communicator.
    fn remove_oldest(&mut self, lane: usize) -> Option<Arc<Exchange>> {
        let exchange = self.lanes.get_mut(lane)?.remove_oldest()?;
        self.count -= 1;
        Some(exchange)
    }

    fn is_empty_on(&self, lane: usize) -> bool {
        self.lanes
            .get(lane)
            .is_none_or(|lane| lane.exchanges.is_empty())
    }
}

impl Engine {
    /// Whether receives may be held back at all.
    fn may_hold(&self, world: &World, runtime: &Runtime) -> bool {
        let is_calm = self.failed.is_none()
            && !self.said_quit
            && !self.sinks
            && !self.heard_leave
            && !self.still.was_heard()
            && !self.resting.takes_in;
        is_calm
            && !runtime.one_thread
            && !world.verify
            && world.life.load(Ordering::SeqCst) == life::OPEN
            && world.rested_at.load(Ordering::SeqCst) == 0
            && world.flushing.load(Ordering::SeqCst) == 0
            && !runtime.graph().sealed.load(Ordering::SeqCst)
    }

    /// Whether a message that could be posted now is held back instead.
    pub(super) fn holds(&self, world: &World, runtime: &Runtime, message: &Message) -> bool {
        self.receives >= ALWAYS_POSTED
            && !message.send
            && message.layout.bytes <= SMALL
            && message.peer != world.rank
            && self.may_hold(world, runtime)
            && !self.has_kept(message)
    }

    /// Holds back the first of its line, which is ready.
    pub(super) fn hold(&mut self, exchange: Arc<Exchange>) {
        if let Some(message) = exchange.message() {
            let key = (message.peer, message.wire);
            exchange.set_held(true);
            self.held.insert(key, exchange);
        }
    }

    /// Gives an exchange that is to be posted at once, if it is held back.
    pub(super) fn stop_holding(&mut self, exchange: &Exchange) -> Option<Arc<Exchange>> {
        let message = exchange.message().filter(|_| exchange.is_held())?;
        self.held.remove((message.peer, message.wire))
    }

    /// Posts what need not, or must not, be held back any longer. Returns whether there was any.
    pub(super) fn post_held(
        &mut self,
        world: &World,
        runtime: &Runtime,
        finished: &mut Finished,
    ) -> bool {
        let before = self.held.len();
        if before == 0 {
            return false;
        }
        let may_hold = self.may_hold(world, runtime);
        for lane in 0..self.held.lanes.len() {
            let hidden = may_hold && self.post_what_has_come(lane, world, runtime, finished);
            // As many of each communicator as may be posted in any case, or all.
            while (hidden || !may_hold || self.receives < ALWAYS_POSTED)
                && let Some(exchange) = self.held.remove_oldest(lane)
            {
                self.post_one(world, runtime, exchange, finished);
            }
        }
        self.held.len() != before
    }

    /// Posts receives whose messages are there. Whether something has come that none is held back for, and hides the rest.
    fn post_what_has_come(
        &mut self,
        lane: usize,
        world: &World,
        runtime: &Runtime,
        finished: &mut Finished,
    ) -> bool {
        for _ in 0..MOST_ASKED {
            if self.held.is_empty_on(lane) {
                return false;
            }
            let comm = self.message_lanes[lane];
            let Ok(Some(message)) = self.calls().probe(NORN_MPI_ANY, comm) else {
                return false;
            };
            let wire = Wire {
                lane: lane as u32,
                tag: message.tag,
            };
            match self.held.remove((message.source, wire)) {
                Some(exchange) => self.post_one(world, runtime, exchange, finished),
                None => return true,
            }
        }
        false
    }
}
