//! A world: a communicator that norn uses, as a lowering.
//!
//! # Who may do what
//!
//! - Any thread declares exchanges (`declare`): it touches `lines`, the graph, and through it the inbox.
//! - Any thread that changes the graph leaves notes in the inbox.
//! - The thread with the duty makes passes: it alone locks `engine` for long, and it alone calls MPI, but for attaching,
//!   detaching and making lanes, which lock the engine between passes, and for a plain message (`straight`), which takes the
//!   lock only where nobody has it. Whoever calls MPI holds that lock.
//! - Under MPI_THREAD_SERIALIZED nobody calls it between a flush and the next call of the application's (`hush`).
//!
//! Tokens are completed after the engine's lock is given back: a destructor of the application's may run then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::calls::{Calls, Failed};
use super::control::Record;
use super::engine::{Engine, Finished};
use super::exchange::{Exchange, stage};
use super::lines::Lines;
use super::worlds;
use crate::abi::status::{NORN_E_CLOSED, NORN_E_MPI, NORN_E_TASK_FAILED, NORN_E_TIMEOUT};
use crate::abi::types::norn_world_info;
use crate::error::{Error, Result};
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

/// Complaints that are logged before they are only counted.
const MOST_COMPLAINTS: u32 = 20;

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
    pub(super) opener_is_main: bool,
    pub(crate) facts: Facts,
    pub(crate) lines: Lines,
    /// The log was told that device memory is staged.
    pub(crate) stages: AtomicBool,
    /// Something was declared whose device memory MPI reads and writes itself: from then on its calls are made where the driver
    /// takes calls, which a thread of norn's, or one that has never called the driver, is not by itself.
    pub(super) on_device: AtomicBool,
    pub(crate) engine: Mutex<Engine>,
    pub(super) control: i32,
    /// Thread inside a pass, as `thread_number` has it; 0 for none.
    pub(super) inside: AtomicU64,
    pub(super) inbox: Mutex<Vec<Note>>,
    pub(super) notes: AtomicUsize,
    pub(crate) busy: AtomicUsize,
    /// Exchanges that have ended.
    pub(super) ended: AtomicUsize,
    /// Exchanges that were declared on the straight path, and so are in no count of the lines; written under the engine's lock.
    straight: AtomicUsize,
    /// Messages and collectives that MPI has.
    pub(crate) in_flight: AtomicUsize,
    /// Exchanges that could be posted and are not.
    pub(super) unposted: AtomicUsize,
    /// Receives that are held back.
    pub(super) held_back: AtomicUsize,
    /// Calls that wait until all that is ready is posted.
    pub(super) flushing: AtomicUsize,
    /// Ends that are told later: in one-thread modes when nothing is runnable, and after MPI_Finalize.
    pub(crate) held: Mutex<Finished>,
    pub(crate) life: AtomicU8,
    /// MPI_Finalize has begun. Set under the engine's lock, so a pass finds MPI either usable until it ends, or gone.
    pub(crate) mpi_gone: AtomicBool,
    /// The thread that is in MPI_Finalize and alone calls MPI, as `thread_number` has it; 0 for none. Set under the
    /// engine's lock too.
    pub(super) finalizer: AtomicU64,
    /// Counts what ends a rest, and one more than what it was when this rank was last found at rest (`rest`).
    pub(super) activity: AtomicU64,
    /// As `activity`, of passes; written under the engine's lock only.
    pub(super) pass_activity: AtomicU64,
    pub(crate) rested_at: AtomicU64,
    /// The same of all worlds of the runtime together; 0 while the runtime is open.
    pub(crate) rested_together: AtomicU64,
    /// The ending has come so far that every rank has.
    pub(crate) settled: AtomicBool,
    /// `Note::Quit` was left.
    pub(crate) quits: AtomicBool,
    pub(crate) detaching: Mutex<()>,
    pub(super) complaints: AtomicU32,
    pub(super) made: Instant,
    /// When the last pass began, in nanoseconds since then; kept below MPI_THREAD_SERIALIZED only.
    pub(super) last_pass: AtomicU64,
}

/// A call that waits until all that is ready is posted.
struct Flushing<'a>(&'a World);

impl<'a> Flushing<'a> {
    fn new(world: &'a World, runtime: &Runtime) -> Self {
        world.flushing.fetch_add(1, Ordering::SeqCst);
        if world.held_back.load(Ordering::SeqCst) != 0 {
            world.stir(runtime);
        }
        Self(world)
    }
}

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        self.0.flushing.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A number of the calling thread, never 0.
pub(super) fn thread_number() -> u64 {
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
            ended: AtomicUsize::new(0),
            straight: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            unposted: AtomicUsize::new(0),
            held_back: AtomicUsize::new(0),
            flushing: AtomicUsize::new(0),
            held: Mutex::new(Finished::new()),
            life: AtomicU8::new(life::OPEN),
            mpi_gone: AtomicBool::new(false),
            finalizer: AtomicU64::new(0),
            activity: AtomicU64::new(0),
            pass_activity: AtomicU64::new(0),
            rested_at: AtomicU64::new(0),
            rested_together: AtomicU64::new(0),
            settled: AtomicBool::new(false),
            quits: AtomicBool::new(false),
            stages: AtomicBool::new(false),
            on_device: AtomicBool::new(false),
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

    /// An exchange has ended, and its token is complete.
    pub(crate) fn ended(&self, exchange: &Exchange) {
        exchange.set_stage(stage::ENDED);
        self.count_ended(1);
    }

    /// So many exchanges have ended, and their tokens are complete.
    pub(super) fn count_ended(&self, exchanges: usize) {
        self.ended.fetch_add(exchanges, Ordering::SeqCst);
    }

    /// One is declared on the straight path.
    pub(super) fn count_straight(&self, _engine: &Engine) {
        let declared = self.straight.load(Ordering::Relaxed);
        self.straight
            .store(declared.wrapping_add(1), Ordering::Release);
    }

    /// Exchanges that have not ended.
    pub(crate) fn live(&self) -> usize {
        // In this order: what has ended was declared before.
        let ended = self.ended.load(Ordering::SeqCst);
        let straight = self.straight.load(Ordering::SeqCst);
        let declared = self.lines.declared().wrapping_add(straight);
        declared.wrapping_sub(ended)
    }

    /// Whether all that could be posted has been.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.has_to_post() && self.held_back.load(Ordering::SeqCst) == 0
    }

    /// Whether the next pass has something to post, or to look at for that.
    pub(super) fn has_to_post(&self) -> bool {
        self.notes.load(Ordering::SeqCst) != 0 || self.unposted.load(Ordering::SeqCst) != 0
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
        // Where norn leaves MPI alone afterwards, it leaves nothing behind in any world that this wait makes go on.
        let others = match self.calls.are_serialized() {
            true => worlds::others_of_runtime(self),
            false => Vec::new(),
        };
        let flushed = || others.iter().map(Arc::as_ref).chain([self]);
        let _flushing: Vec<_> = flushed()
            .map(|world| Flushing::new(world, runtime))
            .collect();
        let reached = || {
            runtime.is_quiescent()
                && !runtime.is_somebody_inside()
                && flushed().all(|world| world.is_flushed() || world.is_over())
        };
        let goal = Goal {
            reached: &reached,
            dear: true,
        };
        let deadline = deadline_of(timeout_ns);
        loop {
            let waited = runtime.wait_outside(deadline, goal);
            waited.map_err(|error| match error.status() {
                NORN_E_TIMEOUT => runtime.work_was_late("not all that is ready is posted"),
                _ => error,
            })?;
            if self.leave_mpi_alone(&reached) {
                return Ok(());
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.life.load(Ordering::SeqCst) == life::OVER
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
}
