//! The end of a world: told to all ranks, and waited for until nothing is under way anywhere.
//!
//! 1. All exchanges of this rank end.
//! 2. It tells every rank how many messages it has sent to it (`Bye`), and from now on takes in and drops what comes
//!    without a receive. A rank that has heard Bye and received that many messages fails its other receives from there.
//!    It also tells how many messages it takes from there: those that have come, and those whose receives have been posted
//!    but failed before (`balance`), so that their tokens are complete. Sends beyond these fail.
//! 3. When it has heard Bye from every rank, received all that was sent, and nothing of its own is under way, it says
//!    `Fin`, its last word. Until then it may have to answer or to join.
//! 4. When it has heard Fin from every rank, nothing can come any more, and the communicators are freed.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::control::Control;
use super::engine::{Engine, Finished, How};
use super::world::{World, life};
use super::worlds;
use crate::abi::status::{NORN_E_STATE, NORN_E_THREAD, NORN_E_TIMEOUT};
use crate::error::{Error, Result};
use crate::run::runtime::Runtime;
use crate::run::wait::{Goal, Watching, deadline_of};

impl World {
    /// `norn_world_detach`.
    pub(crate) fn detach(&self, runtime: &Runtime, timeout_ns: i64) -> Result<()> {
        runtime.refuse_in_body("detaching a world")?;
        self.end(runtime, deadline_of(timeout_ns))
    }

    /// Ends the world; an end that timed out goes on where it stopped.
    pub(crate) fn end(&self, runtime: &Runtime, deadline: Option<Instant>) -> Result<()> {
        if !self.may_call() {
            return Err(Error::new(
                NORN_E_THREAD,
                "below MPI_THREAD_SERIALIZED a world is detached by the thread that initialised MPI",
            ));
        }
        let Some(_turn) = self.detaching.try_lock() else {
            return Err(Error::new(
                NORN_E_STATE,
                "another thread is detaching this world",
            ));
        };
        if self.life.load(Ordering::SeqCst) == life::OVER {
            return Ok(());
        }
        self.life.store(life::ENDING, Ordering::SeqCst);
        let _open = runtime.keep_going();
        let _watching = Watching::new(runtime, true);
        let wait = |reached: &dyn Fn() -> bool, what: &dyn Fn() -> String| {
            runtime
                .wait_outside(
                    deadline,
                    Goal {
                        reached,
                        dear: false,
                    },
                )
                .map_err(|error| match error.status() {
                    NORN_E_TIMEOUT => Error::new(NORN_E_TIMEOUT, what()),
                    _ => error,
                })
        };
        // A close leaves all worlds, each as soon as it can: others may wait in any of them for this rank, and only then
        // leave the first.
        let closes = runtime.graph().closing.load(Ordering::SeqCst);
        let others = RefCell::new(match closes {
            true => worlds::others_of_runtime(self),
            false => Vec::new(),
        });
        for other in others.borrow().iter() {
            other.life.fetch_max(life::ENDING, Ordering::SeqCst);
        }
        let leave_others = || {
            let mut others = others.borrow_mut();
            others.retain(|other| !other.leave_if_done(runtime));
        };
        let done = || {
            leave_others();
            self.leave_if_done(runtime)
        };
        wait(&done, &|| self.under_way().unwrap_or_default())?;
        let settled = || {
            leave_others();
            self.settled.load(Ordering::SeqCst)
        };
        wait(&settled, &|| self.engine.lock().missing(self))?;
        self.release(runtime);
        worlds::leave(self);
        runtime.remove_lowering(self);
        Ok(())
    }

    /// Leaves where nothing is live any more, and says whether. All tokens may be complete and exchanges still live: cancelled
    /// ones that other ranks count on. Those may wait for this rank in turn, which must be found here as in any other rest.
    fn leave_if_done(&self, runtime: &Runtime) -> bool {
        let done = self.live() == 0;
        match done {
            true => self.leave(runtime),
            false => self.rest(runtime),
        }
        done
    }

    /// Tells all ranks that this one has nothing more to say.
    fn leave(&self, runtime: &Runtime) {
        let mut engine = self.engine_to_call();
        if self.has_mpi() && !self.is_over() {
            engine.say_bye(self);
        }
        drop(engine);
        self.stir(runtime);
    }

    /// What MPI still has to end, in words.
    pub(crate) fn under_way(&self) -> Option<String> {
        const SHOWN: usize = 4;
        let live = self.live();
        if live == 0 {
            return None;
        }
        // A function of the application's that MPI or the log calls in the middle of a pass may ask, too.
        let posted = match self.is_inside() {
            true => Vec::new(),
            false => self.engine.lock().posted(SHOWN),
        };
        let more = live.saturating_sub(posted.len());
        let mut words = posted;
        if more > 0 {
            words.push(format!("{more} more"));
        }
        Some(format!(
            "rank {}: {live} messages or collectives have not ended: {}",
            self.rank,
            words.join("; ")
        ))
    }

    /// Frees what MPI holds for the world.
    fn release(&self, runtime: &Runtime) {
        let mut engine = self.engine_to_call();
        // Under the lock: no pass uses what is freed below.
        self.life.store(life::OVER, Ordering::SeqCst);
        if !self.has_mpi() {
            return;
        }
        self.give_back_to_mpi(runtime, &mut engine);
    }

    /// Frees what MPI holds. Nothing is under way any more but the control receive, or MPI ends anyway.
    pub(crate) fn give_back_to_mpi(&self, runtime: &Runtime, engine: &mut Engine) {
        engine.stop_listening();
        let mut finished = Finished::new();
        while engine.is_listening() {
            engine.test(self, runtime, &mut finished);
            std::thread::yield_now();
        }
        if engine.in_flight() > 0 {
            return;
        }
        let mut comms = vec![engine.control];
        comms.append(&mut engine.message_lanes);
        let (kept, free): (Vec<_>, Vec<_>) =
            engine.lanes.drain(..).partition(|lane| lane.has_given_up());
        comms.extend(free.iter().map(|lane| lane.comm));
        for comm in comms {
            if let Err(failed) = self.calls.comm_free(comm) {
                self.complain(runtime, &self.calls.describe(failed));
            }
        }
        // What was given up stays with MPI until MPI_Finalize.
        if !engine.requests.close() && kept.is_empty() {
            self.complain(runtime, "requests were left when the world was detached");
        }
    }

    /// In a pass of a world that ends: whether it has.
    pub(crate) fn settle(&self, engine: &mut Engine) {
        if engine.said_bye && !engine.said_fin && engine.has_received_all() {
            engine.say_fin(self);
        }
        if engine.said_fin && engine.is_done() {
            self.settled.store(true, Ordering::SeqCst);
        }
    }
}

impl Engine {
    /// Tells all ranks that this one has nothing more to say.
    pub(crate) fn say_bye(&mut self, world: &World) {
        if self.said_bye {
            return;
        }
        self.said_bye = true;
        self.sinks = true;
        let owed = self.owed_receives();
        for rank in 0..world.size {
            // To itself too, behind what it has told itself.
            let peer = &self.peers[rank];
            let messages = peer.sent;
            let takes = peer.received + owed.get(&rank).copied().unwrap_or(0);
            self.tell(rank, &Control::Bye { messages, takes });
        }
    }

    fn say_fin(&mut self, world: &World) {
        self.said_fin = true;
        self.tell_every(&Control::Fin);
        let _ = world;
    }

    /// Whether every rank has left and nothing is on its way to here, or from here.
    fn has_received_all(&self) -> bool {
        self.in_flight() == 0
            && !self.has_suspects()
            && !self.asks()
            && !self.has_agreements()
            && !self.peers.has_awaited()
    }

    fn is_done(&self) -> bool {
        self.in_flight() == 0 && !self.peers.has_unfinished()
    }

    /// What an end waits for, in words.
    pub(crate) fn missing(&self, world: &World) -> String {
        const SHOWN: usize = 8;
        let waiting: Vec<String> = self
            .peers
            .iter()
            .filter(|(_, peer)| !peer.lost && !peer.fin)
            .map(|(rank, peer)| match peer.bye {
                None => format!("rank {rank} has not detached or closed"),
                Some(messages) if peer.received < messages => format!(
                    "{} of {messages} messages from rank {rank} have come",
                    peer.received
                ),
                Some(_) => format!("rank {rank} still waits for others"),
            })
            .collect();
        let more = waiting.len().saturating_sub(SHOWN);
        let mut text = waiting[..waiting.len().min(SHOWN)].join("; ");
        if more > 0 {
            text = format!("{text}; ... and {more} more");
        }
        format!(
            "rank {} cannot leave yet, {} requests are in flight: {text}",
            world.rank,
            self.in_flight()
        )
    }

    /// MPI is gone: forgets its requests and ends what they were for.
    pub(crate) fn forsake(&mut self, finished: &mut Finished) {
        let record = self.failed.clone().unwrap_or_default();
        for exchange in self.abandon_flights() {
            super::balance::finish(exchange, How::Remote(record.clone()), finished);
        }
        self.balance_failed(&record, finished);
        self.forget_queries();
        for exchange in self.forget_kept() {
            super::balance::finish(exchange, How::Remote(record.clone()), finished);
        }
        for exchange in self.verify.forget() {
            super::balance::finish(exchange, How::Remote(record.clone()), finished);
        }
        self.sinks = false;
    }
}
