//! The straight path of plain messages: those of memory that belongs to no datum, with nothing to wait for and no wishes.
//!
//! Such a message is ready when it is declared, and the call that declares it posts it, if it may: it does what `declare`,
//! `Graph::submit_operation` and a pass over the arrival do, step for step, without what a message cannot need that nobody
//! else knows of until it is posted. The engine's lock is held from before it exists until MPI has it, and its line is empty then.
//! So it is the next of its line, whatever else is declared meanwhile is posted behind it, and it enters no line.
//! What does not fit is left to `declare`, before anything was changed; errors are worded there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::declare::Manner;
use super::engine::Finished;
use super::exchange::{Message, Staging};
use super::layout::Layout;
use super::record;
use super::stage::Envelope;
use super::world::{World, life, thread_number};
use crate::abi::slice::norn_slice;
use crate::abi::types::*;
use crate::order::plain_operation::is_plain_operation;
use crate::order::token::Token;
use crate::run::runtime::Runtime;
use crate::run::slice::Element;

impl World {
    /// Declares a plain message and posts it. None: it has to go the general way; nothing was done.
    pub(super) fn declare_straight(
        self: &Arc<Self>,
        runtime: &Runtime,
        slice: &norn_slice,
        envelope: &Envelope,
        manner: &Manner<'_>,
    ) -> Option<norn_token> {
        let &Envelope { send, peer, key } = envelope;
        let how = manner.how;
        let is_plain = is_plain_operation(how, manner.accesses, manner.after)
            && manner.accesses.is_empty()
            && manner.after.is_empty()
            && how.enqueue.is_none()
            && how.place.kind == NORN_PLACE_ANY;
        // A message of a rank to itself may have the same datum at both ends, ordered edges are counted, and verify mode
        // counts all.
        let is_simple = (0..self.size).contains(&peer)
            && peer != self.rank
            && (0..self.tags as i64).contains(&key)
            && !self.verify
            && !runtime.knows_addresses();
        if !is_plain || !is_simple || runtime.one_thread || !self.may_call() {
            return None;
        }
        let layout = Layout::of_one_block(slice, Element::of(slice.r#type)?)?;
        if layout.place.kind == NORN_PLACE_DEVICE || self.on_device.load(Ordering::Relaxed) {
            return None;
        }
        let message = Message {
            send,
            peer,
            wire: self.lines.wire_of_key(key),
            key,
            number: 0,
            layout,
            datatype: slice.r#type,
            staging: Staging(None),
        };
        let mut finished = Finished::new();
        let token = self.post_straight(runtime, how, message, &mut finished)?;
        if !finished.is_empty() {
            self.deliver(runtime, &mut finished);
        }
        runtime.offer_duty();
        Some(token.into())
    }

    /// As much of it as needs the engine.
    #[inline]
    fn post_straight(
        self: &Arc<Self>,
        runtime: &Runtime,
        how: &norn_task,
        message: Message,
        finished: &mut Finished,
    ) -> Option<Token> {
        // Nobody waits for a thread that is in a pass, which may be this one.
        let mut engine = self.engine.try_lock()?;
        let is_open =
            self.life.load(Ordering::SeqCst) == life::OPEN && !self.is_hushed() && self.has_mpi();
        if !is_open || !self.lines.is_free(&message.line()) {
            return None;
        }
        let is_held = engine.holds(self, runtime, &message);
        let exchange = record::take(self, message, false, how.name as usize);
        let token = runtime.enter_begun(how, || exchange.clone())?;
        exchange.set_token(token);
        exchange.set_node(token.index());
        if is_held {
            exchange.set_begun();
            self.lines.enter(&exchange);
            engine.hold(exchange);
            self.pass_is_active(&engine);
            self.show(&engine);
            return Some(token);
        }
        self.count_straight(&engine);
        self.pass_is_active(&engine);
        let previous = self.inside.load(Ordering::Relaxed);
        self.inside.store(thread_number(), Ordering::Relaxed);
        engine.goes_on();
        engine.begin_message(self, runtime, exchange, finished);
        self.show(&engine);
        self.inside.store(previous, Ordering::Relaxed);
        Some(token)
    }
}
