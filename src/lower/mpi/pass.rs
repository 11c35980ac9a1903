//! Passes over a world: notes are acted on, what is ready is posted, what MPI has is tested, and tokens are completed.
//!
//! # Whether a pass is wanted
//!
//! `notes` counts notes in the inbox and those that a pass acts on, `busy` is what the engine had left after its last pass, or
//! that somebody has stirred. A note is counted before the duty is offered. A pass clears `busy` before it looks at anything
//! and sets it again at its end where something is left, so a stir during a pass is not lost either. While it is clear in
//! between, the thread on duty is inside the pass, and it looks again before it gives the duty back.

use core::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::control::Record;
use super::engine::{Engine, Finished, How};
use super::exchange::{Exchange, stage};
use super::record;
use super::world::{Note, World, life, thread_number};
use crate::abi::status::NORN_E_UNSUPPORTED;
use crate::abi::types::{NORN_PLACE_MPI, norn_place};
use crate::error::{Error, Result};
use crate::order::token::Token;
use crate::run::lowering::Lowering;
use crate::run::runtime::Runtime;
use crate::sync::thread::Thread as StdThread;

/// Without a pass for so long, the MPI thread is said to stay away.
const LONG_AWAY: Duration = Duration::from_millis(20);

/// How long a message that is late is looked for without a pause: longer than the pause that follows. Else two ranks
/// that answer each other both fall asleep over the other's pause, time after time.
const PATIENCE: Duration = Duration::from_micros(250);

impl World {
    /// Acts on an arrival during the declaring call: posts the exchange, if it is its turn and nobody else is about to make a
    /// pass. A receive that is posted before its message comes is matched in a fraction of the time.
    pub(crate) fn post_at_once(&self, runtime: &Runtime, node: u32, exchange: Arc<Exchange>) {
        let note = Note::Arrived(node, exchange);
        if !runtime.one_thread
            && !self.is_inside()
            && self.may_call()
            && !self.is_hushed()
            && let Some(_duty) = runtime.take_duty_for_a_moment()
        {
            let mut finished = Finished::new();
            if self.take_one_note(runtime, note, &mut finished) {
                self.deliver(runtime, &mut finished);
            }
            return;
        }
        self.note(note);
        runtime.offer_duty();
    }

    /// As much of a pass as one note wants. Whether there is anything to deliver.
    fn take_one_note(&self, runtime: &Runtime, note: Note, finished: &mut Finished) -> bool {
        let mut engine = self.engine.lock();
        if self.is_over() || self.is_hushed() || !self.has_mpi() {
            // Left to a pass, which knows what becomes of it.
            drop(engine);
            self.note(note);
            return false;
        }
        self.pass_is_active(&engine);
        let _device = self.enter_device(runtime);
        let previous = self.inside.load(Ordering::Relaxed);
        self.inside.store(thread_number(), Ordering::Relaxed);
        engine.take_note(self, runtime, note, finished);
        engine.post_ready(self, runtime, finished);
        self.show(&engine);
        self.inside.store(previous, Ordering::Relaxed);
        !finished.is_empty()
    }

    /// What the thread that is about to call MPI holds meanwhile, where MPI reads and writes device memory itself.
    fn enter_device(&self, runtime: &Runtime) -> Option<Box<dyn Any>> {
        let on_device = self.on_device.load(Ordering::Relaxed);
        on_device.then(|| runtime.enter_device()).flatten()
    }

    /// What the engine has left, for those who look without its lock.
    pub(super) fn show(&self, engine: &Engine) {
        let unposted = usize::from(engine.has_ready());
        if self.unposted.load(Ordering::Relaxed) != unposted {
            self.unposted.store(unposted, Ordering::SeqCst);
        }
        let held_back = engine.held.len();
        if self.held_back.load(Ordering::Relaxed) != held_back {
            self.held_back.store(held_back, Ordering::SeqCst);
        }
        self.in_flight.store(engine.in_flight(), Ordering::Relaxed);
        if engine.is_busy() && self.busy.load(Ordering::SeqCst) == 0 {
            self.busy.store(1, Ordering::SeqCst);
        }
    }

    pub(crate) fn run_engine(
        &self,
        runtime: &Runtime,
        tests: bool,
        finished: &mut Finished,
    ) -> bool {
        let mut engine = self.engine.lock();
        if self.is_over() {
            self.busy.store(0, Ordering::SeqCst);
            return false;
        }
        if self.is_anothers() || self.is_hushed() {
            return false;
        }
        let _device = self.enter_device(runtime);
        // Written under the engine's lock only.
        let previous = self.inside.load(Ordering::Relaxed);
        self.inside.store(thread_number(), Ordering::Relaxed);
        // From here on whoever stirs is heard by the next pass, if this one does not. An exchange and no store: it reads the
        // stir that it clears, and so this pass sees what was stirred for.
        if self.busy.load(Ordering::SeqCst) != 0 {
            self.busy.swap(0, Ordering::SeqCst);
        }
        if self.only.is_some() {
            let now = self.made.elapsed().as_nanos() as u64;
            self.last_pass.store(now, Ordering::Relaxed);
        }
        let mut went_on = false;
        let taken;
        if self.has_mpi() {
            taken = self.take_notes(runtime, &mut engine, finished);
            went_on |= taken != 0;
            went_on |= engine.post_ready(self, runtime, finished);
            went_on |= engine.post_held(self, runtime, finished);
            if tests {
                let began = (engine.in_parts != 0).then(Instant::now);
                let ended = engine.test(self, runtime, finished);
                if let Some(began) = began
                    && !ended
                {
                    went_on |= engine.looks.was_at_work(began.elapsed());
                }
                // A rank that has said Bye hears from each of the others. Looked for without a pause, that would cost it a
                // moment of its core each time, and a thousand ranks on few cores most of their time.
                went_on |= ended && !engine.said_bye;
            }
            if self.rested_at.load(Ordering::Relaxed) != 0 || engine.said_bye {
                engine.report_rest(self);
            }
            if !went_on {
                engine.let_others_listen(self, runtime);
            }
            engine.look_for_knots(self, runtime);
            if engine.takes_in() || engine.has_leavers() {
                went_on |= engine.sink(self, runtime);
            }
            if engine.sinks {
                engine.answer_all(self, finished);
                self.settle(&mut engine);
            }
        } else {
            taken = self.outlive_mpi(runtime, &mut engine, finished);
            went_on |= taken != 0;
        }
        self.show(&engine);
        // Last: what they have left behind can be seen by now.
        if taken != 0 {
            self.notes.fetch_sub(taken, Ordering::SeqCst);
        }
        self.inside.store(previous, Ordering::Relaxed);
        went_on
    }

    /// Acts on what has been noted. Returns how many notes that were; they count until the pass is over.
    pub(crate) fn take_notes(
        &self,
        runtime: &Runtime,
        engine: &mut Engine,
        finished: &mut Finished,
    ) -> usize {
        if self.notes.load(Ordering::SeqCst) == 0 {
            return 0;
        }
        let mut notes = core::mem::take(&mut engine.notes);
        core::mem::swap(&mut *self.inbox.lock(), &mut notes);
        let taken = notes.len();
        for note in notes.drain(..) {
            engine.take_note(self, runtime, note, finished);
        }
        engine.notes = notes;
        taken
    }

    /// Completes tokens. In one-thread modes everything that can be posted is posted first; then, when nothing is
    /// runnable, one at a time, the lowest token of those that have ended first.
    pub(super) fn deliver(&self, runtime: &Runtime, finished: &mut Finished) -> bool {
        if !runtime.one_thread {
            if self.mpi_gone.load(Ordering::SeqCst) {
                finished.append(&mut self.held.lock());
            }
            let any = !finished.is_empty();
            if any {
                self.complete(runtime, finished);
            }
            return any;
        }
        let mut held = self.held.lock();
        held.append(finished);
        let waits =
            !runtime.serial.is_quiet() || runtime.is_somebody_inside() || !self.is_flushed();
        if held.is_empty() || waits {
            return false;
        }
        let next = held
            .iter()
            .enumerate()
            .min_by_key(|(_, (exchange, ..))| exchange.token())
            .map_or(0, |(position, _)| position);
        let mut next: Finished = [held.swap_remove(next)].into_iter().collect();
        drop(held);
        self.complete(runtime, &mut next);
        true
    }

    fn complete(&self, runtime: &Runtime, finished: &mut Finished) {
        self.is_active();
        for (exchange, _, how) in finished.iter_mut() {
            if let How::Remote(record) = how {
                let record = core::mem::take(record);
                *how = How::Propagated(self.adopt(runtime, exchange.token(), record));
            }
        }
        runtime.finish_all(finished.iter().map(|(_, node, how)| (*node, how.outcome())));
        self.count_ended(finished.len());
        for (exchange, ..) in finished.drain(..) {
            exchange.set_stage(stage::ENDED);
            record::give_back(exchange);
        }
    }

    /// Makes another rank's first cause one of this rank's failures' causes.
    fn adopt(&self, runtime: &Runtime, token: Token, record: Record) -> u32 {
        let name = match record.name.as_str() {
            "" => core::ptr::null(),
            name => {
                std::ffi::CString::new(name).map_or(core::ptr::null(), |name| runtime.intern(&name))
            }
        };
        runtime
            .graph()
            .failures
            .add_cause(crate::order::failure::Cause {
                token,
                status: record.status,
                code: record.code,
                rank: record.rank,
                name: name as usize,
                operation: record.operation.into(),
                text: record.text.into(),
                worker: record.worker,
                device: -1,
                looked_at: Default::default(),
                doomed_a_task: Default::default(),
            })
    }

    pub(crate) fn holds_ends(&self) -> bool {
        !self.held.lock().is_empty()
    }
}

impl Lowering for World {
    fn pass(&self, runtime: &Runtime) -> bool {
        let mut finished = Finished::new();
        let mut went_on = self.run_engine(runtime, true, &mut finished);
        went_on |= self.deliver(runtime, &mut finished);
        if runtime.one_thread && self.holds_ends() {
            self.busy.store(1, Ordering::SeqCst);
        }
        // Who looks whether this rank rests looks again: what a pass has posted or taken in without an end of any
        // operation may have been all that was missing, and nobody else tells.
        let looks = || {
            self.life.load(Ordering::Relaxed) != life::OPEN
                || runtime.graph().sealed.load(Ordering::Relaxed)
        };
        // Control messages alone settle an end, and they do not count above.
        if (went_on || self.settled.load(Ordering::SeqCst)) && looks() {
            runtime.wake_watchers();
        }
        went_on
    }

    fn wants_pass(&self) -> bool {
        // What is left when another thread has done with MPI_Finalize, or a hush is over, is offered then.
        self.notes.load(Ordering::SeqCst) | self.busy.load(Ordering::SeqCst) != 0
            && self.may_call()
            && !self.is_anothers()
            && !self.is_hushed()
    }

    fn is_pressing(&self) -> bool {
        self.has_to_post()
    }

    fn may_bring(&self) -> bool {
        let passes = || self.engine.try_lock().is_none_or(|engine| engine.may_end());
        let has_any = || !self.is_flushed() || self.holds_ends() || passes();
        self.live() != 0 && !self.is_over() && has_any()
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn only_thread(&self) -> Option<StdThread> {
        let wanted = self.notes.load(Ordering::SeqCst) | self.busy.load(Ordering::SeqCst) != 0;
        self.only.clone().filter(|_| wanted)
    }

    fn is_bound(&self) -> bool {
        self.only.is_some()
    }

    fn left(&self) -> Option<String> {
        self.under_way()
    }

    fn is_left_alone(&self) -> bool {
        self.is_hushed() && !self.has_to_post()
    }

    fn trouble(&self) -> Option<String> {
        if self.is_hushed() && self.has_to_post() {
            return Some(format!(
                "rank {}: something has become ready since norn_world_flush, and MPI, which provides MPI_THREAD_SERIALIZED, is the application's until that calls norn again (norn_progress will do)",
                self.rank
            ));
        }
        if self.life.load(Ordering::SeqCst) == life::ENDING && !self.settled.load(Ordering::SeqCst)
        {
            // A pass that is under way may be what waits for this report's reader.
            let engine = self.engine.try_lock()?;
            return engine.said_bye.then(|| engine.missing(self));
        }
        self.only.as_ref()?;
        let wanted = self.notes.load(Ordering::SeqCst) | self.busy.load(Ordering::SeqCst) != 0;
        let last = Duration::from_nanos(self.last_pass.load(Ordering::Relaxed));
        let away = self.made.elapsed().saturating_sub(last);
        (wanted && away > LONG_AWAY).then(|| {
            format!(
                "rank {}: the thread that initialised MPI, which alone may call it here, has not been inside norn for {away:.1?} (norn_progress, an await, a drain)",
                self.rank
            )
        })
    }

    fn check_place(&self, place: norn_place) -> Option<Result<()>> {
        (place.kind == NORN_PLACE_MPI).then(|| match self.opener_is_main {
            true => Ok(()),
            false => Err(Error::new(
                NORN_E_UNSUPPORTED,
                "task.place: the thread that initialised MPI has neither opened the runtime nor attached the world",
            )),
        })
    }

    fn rest(&self, runtime: &Runtime) {
        World::rest(self, runtime);
    }

    fn detach(&self, runtime: &Runtime, deadline: Option<Instant>) -> Result<()> {
        self.end(runtime, deadline)
    }

    fn abort(&self, code: i32) {
        if self.has_mpi() {
            self.calls.abort(self.control, code);
        }
    }
}
