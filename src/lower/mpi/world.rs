//! A world: a communicator that norn uses, as a lowering.
//!
//! # Who may do what
//!
//! - Any thread declares exchanges (`declare`): it touches `lines`, the graph, and through it the inbox.
//! - Any thread that changes the graph leaves notes in the inbox.
//! - The thread with the duty makes passes: it alone locks `engine` for long, and it alone calls MPI, but for attaching,
//!   detaching and making lanes, which lock the engine between passes.
//!
//! Tokens are completed after the engine's lock is given back: a destructor of the application's may run then.
//!
//! # Whether a pass is wanted
//!
//! `notes` counts notes in the inbox and those that a pass acts on, `busy` is what the engine had left after its last pass, or
//! that somebody has stirred. A note is counted before the duty is offered. A pass clears `busy` before it looks at anything
//! and sets it again at its end where something is left, so a stir during a pass is not lost either. While it is clear in
//! between, the thread on duty is inside the pass, and it looks again before it gives the duty back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::calls::{Calls, Failed};
use super::control::Record;
use super::engine::{Engine, Finished, How};
use super::exchange::{Exchange, stage};
use super::lines::Lines;
use crate::abi::status::{NORN_E_CLOSED, NORN_E_MPI, NORN_E_TASK_FAILED, NORN_E_UNSUPPORTED};
use crate::abi::types::{NORN_PLACE_MPI, norn_place, norn_world_info};
use crate::error::{Error, Result};
use crate::order::operation::Outcome;
use crate::order::token::Token;
use crate::run::lowering::Lowering;
use crate::run::records::fill;
use crate::run::runtime::Runtime;
use crate::run::wait::{Goal, Watching, deadline_of};
use crate::sync::Mutex;
use crate::sync::thread::Thread as StdThread;

/// What the graph, or a call of the application's, wants from the next pass.
pub(crate) enum Note {
    /// A node has arrived.
    Arrived(u32, Arc<Exchange>),
    /// A token has ended with this cause before its exchange was begun.
    Cancelled(u32, Arc<Exchange>),
    /// A submission was refused after its exchange had entered its line.
    Refused(Arc<Exchange>),
    /// This rank closes and cancels, and only other ranks could make it go on.
    Quit,
    /// Everything unfinished fails.
    Fail(Record),
}

/// What a world is, for `norn_world_get`.
pub(crate) struct Facts {
    pub(crate) thread_level: i32,
    pub(crate) device_aware: bool,
    pub(crate) device_reason: String,
    pub(crate) library: String,
}

/// Lives of a world.
pub(crate) mod life {
    pub(crate) const OPEN: u8 = 0;
    /// Being detached: nothing new is declared.
    pub(crate) const ENDING: u8 = 1;
    pub(crate) const OVER: u8 = 2;
}

/// Without a pass for so long, the MPI thread is said to stay away.
const LONG_AWAY: Duration = Duration::from_millis(20);

/// Complaints that are logged before they are only counted.
const MOST_COMPLAINTS: u32 = 20;

/// How long a message that is late is looked for without a pause: longer than the pause that follows. Else two ranks
/// that answer each other both fall asleep over the other's pause, time after time.
const PATIENCE: Duration = Duration::from_micros(250);

/// See the module's text.
pub(crate) struct World {
    /// Handle of the runtime, as a number.
    pub(crate) runtime: usize,
    pub(crate) calls: Calls,
    /// The communicator it was attached to, as the application gave it.
    pub(crate) given: i32,
    pub(crate) rank: i32,
    pub(crate) size: i32,
    /// Keys.
    pub(crate) tags: u64,
    pub(crate) verify: bool,
    /// The thread that alone may call MPI, below MPI_THREAD_SERIALIZED.
    pub(crate) only: Option<StdThread>,
    /// The thread that opened the runtime is the one that initialised MPI.
    opener_is_main: bool,
    pub(crate) facts: Facts,
    pub(crate) lines: Lines,
    /// The log was told that device memory is staged.
    pub(crate) stages: AtomicBool,
    pub(crate) engine: Mutex<Engine>,
    control: i32,
    /// Thread inside a pass, as `thread_number` has it; 0 for none.
    inside: AtomicU64,
    inbox: Mutex<Vec<Note>>,
    notes: AtomicUsize,
    pub(crate) busy: AtomicUsize,
    /// Exchanges that have not ended.
    live: AtomicUsize,
    /// Messages and collectives that MPI has.
    pub(crate) in_flight: AtomicUsize,
    /// Exchanges that could be posted and are not.
    unposted: AtomicUsize,
    /// Ends that are told later: in one-thread modes when nothing is runnable, and after MPI_Finalize.
    pub(crate) held: Mutex<Finished>,
    pub(crate) life: AtomicU8,
    /// MPI_Finalize has begun. Set under the engine's lock, so a pass finds MPI either usable until it ends, or gone.
    pub(crate) mpi_gone: AtomicBool,
    /// Counts what ends a rest, and one more than what it was when this rank was last found at rest (`rest`).
    pub(crate) activity: AtomicU64,
    pub(crate) rested_at: AtomicU64,
    /// The ending has come so far that every rank has.
    pub(crate) settled: AtomicBool,
    /// `Note::Quit` was left.
    pub(crate) quits: AtomicBool,
    pub(crate) detaching: Mutex<()>,
    complaints: AtomicU32,
    made: Instant,
    /// When the last pass began, in nanoseconds since then; kept below MPI_THREAD_SERIALIZED only.
    last_pass: AtomicU64,
}

/// A number of the calling thread, never 0.
fn thread_number() -> u64 {
    std::thread_local! {
        static NUMBER: u64 = {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            NEXT.fetch_add(1, Ordering::Relaxed)
        };
    }
    NUMBER.try_with(|number| *number).unwrap_or(u64::MAX)
}

/// What attaching has found.
pub(crate) struct Found {
    pub(crate) runtime: usize,
    pub(crate) calls: Calls,
    pub(crate) given: i32,
    pub(crate) rank: i32,
    pub(crate) size: i32,
    pub(crate) tags: u64,
    /// Tags that ordered edges go round on each lane.
    pub(crate) window: u64,
    pub(crate) ordered_lanes: u32,
    pub(crate) verify: bool,
    pub(crate) only: Option<StdThread>,
    pub(crate) opener_is_main: bool,
    pub(crate) facts: Facts,
    pub(crate) engine: Engine,
}

impl World {
    pub(crate) fn new(found: Found) -> Self {
        Self {
            runtime: found.runtime,
            calls: found.calls,
            given: found.given,
            rank: found.rank,
            size: found.size,
            tags: found.tags,
            verify: found.verify,
            only: found.only,
            opener_is_main: found.opener_is_main,
            facts: found.facts,
            lines: Lines::new(found.ordered_lanes, found.window),
            control: found.engine.control,
            engine: Mutex::new(found.engine),
            inside: AtomicU64::new(0),
            inbox: Mutex::new(Vec::new()),
            notes: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            unposted: AtomicUsize::new(0),
            held: Mutex::new(Finished::new()),
            life: AtomicU8::new(life::OPEN),
            mpi_gone: AtomicBool::new(false),
            activity: AtomicU64::new(0),
            rested_at: AtomicU64::new(0),
            settled: AtomicBool::new(false),
            quits: AtomicBool::new(false),
            stages: AtomicBool::new(false),
            detaching: Mutex::new(()),
            complaints: AtomicU32::new(0),
            made: Instant::now(),
            last_pass: AtomicU64::new(0),
        }
    }

    // ----- told by others -----

    /// Leaves a note for the next pass. May be called in the middle of a change of the graph.
    pub(crate) fn note(&self, note: Note) {
        self.is_active();
        self.inbox.lock().push(note);
        self.notes.fetch_add(1, Ordering::SeqCst);
    }

    /// A pass is wanted although nothing was noted.
    pub(crate) fn stir(&self, runtime: &Runtime) {
        self.busy.store(1, Ordering::SeqCst);
        runtime.offer_duty();
    }

    /// A communicator that returns errors as codes, for calls in the middle of a pass.
    pub(crate) fn control_hint(&self) -> i32 {
        self.control
    }

    /// As a call into MPI or a message from another rank asks, in the middle of a pass.
    pub(crate) fn fail_from_inside(&self, record: Record) {
        self.note(Note::Fail(record));
    }

    /// An exchange is declared.
    pub(crate) fn begun(&self) {
        self.live.fetch_add(1, Ordering::SeqCst);
    }

    /// An exchange has ended, and its token is complete.
    pub(crate) fn ended(&self, exchange: &Exchange) {
        exchange.set_stage(stage::ENDED);
        self.live.fetch_sub(1, Ordering::SeqCst);
    }

    /// Exchanges that have not ended.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }

    /// Whether all that could be posted has been.
    pub(crate) fn is_flushed(&self) -> bool {
        self.notes.load(Ordering::SeqCst) == 0 && self.unposted.load(Ordering::SeqCst) == 0
    }

    /// Refuses what comes after a detach has begun.
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.life.load(Ordering::SeqCst) {
            life::OPEN => Ok(()),
            _ => Err(Error::new(NORN_E_CLOSED, "the world is being detached")),
        }
    }

    /// Whether this thread may call MPI at all.
    pub(crate) fn may_call(&self) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| only.id() == crate::sync::thread::current().id())
    }

    /// Whether this thread is in the middle of a pass, so that it holds the engine's lock already.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.load(Ordering::Relaxed) == thread_number()
    }

    // ----- calls -----

    /// `norn_world_get`.
    pub(crate) fn info(&self) -> norn_world_info {
        let mut info = norn_world_info {
            struct_size: size_of::<norn_world_info>(),
            rank: self.rank,
            size: self.size,
            thread_level: self.facts.thread_level,
            device_aware: i32::from(self.facts.device_aware),
            key_limit: self.tags as i64,
            in_flight: self.in_flight.load(Ordering::Relaxed) as u64,
            live: self.live() as u64,
            verify: i32::from(self.verify),
            ordered_lanes: self.lines.lanes() as i32,
            device_reason: [0; 128],
            library: [0; 256],
        };
        fill(&mut info.device_reason, &self.facts.device_reason);
        fill(&mut info.library, &self.facts.library);
        info
    }

    /// `norn_world_flush`.
    pub(crate) fn flush(&self, runtime: &Runtime, timeout_ns: i64) -> Result<()> {
        runtime.refuse_in_body("flushing a world")?;
        let _open = runtime.keep_going();
        let _watching = Watching::new(runtime, true);
        let reached =
            || runtime.is_quiescent() && !runtime.is_somebody_inside() && self.is_flushed();
        let goal = Goal {
            reached: &reached,
            dear: true,
        };
        runtime.wait_outside(deadline_of(timeout_ns), goal)
    }

    /// `norn_world_fail`.
    pub(crate) fn fail(&self, runtime: &Runtime, code: i32, text: &str) {
        self.note(Note::Fail(Record {
            status: NORN_E_TASK_FAILED,
            code,
            rank: self.rank,
            worker: -1,
            name: String::new(),
            operation: "norn_world_fail".into(),
            text: text.into(),
        }));
        runtime.offer_duty();
    }

    // ----- records -----

    /// The record of a cause on this rank, for other ranks.
    pub(crate) fn record_of(&self, runtime: &Runtime, cause: u32) -> Record {
        if cause == 0 {
            return Record {
                status: NORN_E_TASK_FAILED,
                rank: self.rank,
                worker: -1,
                ..Record::default()
            };
        }
        let cause = runtime.graph().failures.cause(cause);
        // SAFETY: names outlive the runtime, which the manual demands.
        let name = unsafe { crate::abi::guard::string(cause.name()) };
        Record {
            status: cause.status,
            code: cause.code,
            rank: if cause.rank < 0 {
                self.rank
            } else {
                cause.rank
            },
            worker: cause.worker,
            name: name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            operation: cause.operation.to_string(),
            text: cause.text.to_string(),
        }
    }

    /// The record of a failed call.
    pub(crate) fn record_of_call(&self, calls: &Calls, failed: Failed) -> Record {
        Record {
            status: NORN_E_MPI,
            code: failed.code,
            rank: self.rank,
            worker: -1,
            name: String::new(),
            operation: failed.call.into(),
            text: calls.describe(failed),
        }
    }

    pub(crate) fn name_of(&self, exchange: &Exchange) -> String {
        // SAFETY: names outlive the runtime, which the manual demands.
        let name = unsafe { crate::abi::guard::string(exchange.name as *const core::ffi::c_char) };
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Logs what no token can tell.
    pub(crate) fn complain(&self, runtime: &Runtime, text: &str) {
        if self.complaints.fetch_add(1, Ordering::Relaxed) < MOST_COMPLAINTS {
            let log = &runtime.settings.hooks.log;
            log.warn(format_args!("rank {}: {text}", self.rank));
        }
    }

    // ----- passes -----

    /// Posts what is ready, if nobody else is about to: a receive that is posted before its message comes is matched in
    /// a fraction of the time.
    pub(crate) fn post_at_once(&self, runtime: &Runtime) {
        let ready = self.notes.load(Ordering::SeqCst) != 0;
        if !ready || runtime.one_thread || self.is_inside() || !self.may_call() {
            return;
        }
        if let Some(_duty) = runtime.take_duty() {
            let mut finished = Finished::new();
            self.run_engine(runtime, false, &mut finished);
            self.deliver(runtime, finished);
        }
    }

    pub(crate) fn run_engine(
        &self,
        runtime: &Runtime,
        tests: bool,
        finished: &mut Finished,
    ) -> bool {
        let mut engine = self.engine.lock();
        if self.life.load(Ordering::SeqCst) == life::OVER {
            self.busy.store(0, Ordering::SeqCst);
            return false;
        }
        // Written under the engine's lock only.
        let previous = self.inside.load(Ordering::Relaxed);
        self.inside.store(thread_number(), Ordering::Relaxed);
        // From here on whoever stirs is heard by the next pass, if this one does not.
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
            if tests {
                went_on |= engine.test(self, runtime, finished);
            }
            if self.rested_at.load(Ordering::Relaxed) != 0 || engine.said_bye {
                engine.report_rest(self);
            }
            if engine.sinks || engine.resting.takes_in || engine.has_leavers() {
                went_on |= engine.sink(self, runtime);
            }
            if engine.sinks {
                engine.join_all(self);
                self.settle(&mut engine);
            }
        } else {
            taken = self.outlive_mpi(runtime, &mut engine, finished);
            went_on |= taken != 0;
        }
        let unposted = usize::from(engine.has_ready());
        if self.unposted.load(Ordering::Relaxed) != unposted {
            self.unposted.store(unposted, Ordering::SeqCst);
        }
        self.in_flight.store(engine.in_flight(), Ordering::Relaxed);
        if engine.is_busy() {
            self.busy.store(1, Ordering::SeqCst);
        }
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
    fn deliver(&self, runtime: &Runtime, mut finished: Finished) -> bool {
        if !runtime.one_thread {
            if self.mpi_gone.load(Ordering::SeqCst) {
                finished.append(&mut self.held.lock());
            }
            let any = !finished.is_empty();
            for (exchange, node, how) in finished {
                self.complete(runtime, &exchange, node, how);
            }
            return any;
        }
        let mut held = self.held.lock();
        held.append(&mut finished);
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
        let (exchange, node, how) = held.swap_remove(next);
        drop(held);
        self.complete(runtime, &exchange, node, how);
        true
    }

    fn complete(&self, runtime: &Runtime, exchange: &Exchange, node: u32, how: How) {
        self.is_active();
        match how {
            How::Success => runtime.finish_operation(node, &Outcome::Success),
            How::Failed {
                status,
                code,
                operation,
                text,
            } => runtime.finish_operation(
                node,
                &Outcome::Failed {
                    status,
                    code,
                    operation,
                    text: &text,
                },
            ),
            How::Propagated(cause) => {
                runtime.finish_operation(node, &Outcome::Propagated(cause));
            }
            How::Remote(record) => {
                let cause = self.adopt(runtime, exchange.token(), record);
                runtime.finish_operation(node, &Outcome::Propagated(cause));
            }
        }
        self.ended(exchange);
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
        went_on |= self.deliver(runtime, finished);
        if runtime.one_thread && self.holds_ends() {
            self.busy.store(1, Ordering::SeqCst);
        }
        // Who looks whether this rank rests looks again: what a pass has posted or taken in without an end of any
        // operation may have been all that was missing, and nobody else tells.
        let looks = || {
            self.life.load(Ordering::Relaxed) != life::OPEN
                || runtime.graph().sealed.load(Ordering::Relaxed)
        };
        if went_on && looks() {
            runtime.wake_watchers();
        }
        went_on
    }

    fn wants_pass(&self) -> bool {
        self.notes.load(Ordering::SeqCst) | self.busy.load(Ordering::SeqCst) != 0 && self.may_call()
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn only_thread(&self) -> Option<StdThread> {
        let wanted = self.notes.load(Ordering::SeqCst) | self.busy.load(Ordering::SeqCst) != 0;
        self.only.clone().filter(|_| wanted)
    }

    fn trouble(&self) -> Option<String> {
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
