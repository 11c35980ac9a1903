//! Operations of devices, from their arrival to the queue that they wait in for a stream.

use core::cell::Cell;
use core::ops::Deref;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::copy::{CopyPlan, FillPlan};
use super::event::Recorded;
use super::kernel::{Kernel, Launch};
use super::record;
use crate::abi::device_types::norn_launch_desc;
use crate::error::Result;
use crate::order::graph::Graph;
use crate::order::memory::Memory;
use crate::order::operation::Operation;
use crate::order::token::Token;
use crate::run::enqueue::EnqueueBody;

/// What is queued on a stream.
pub(crate) enum Work {
    Copy(CopyPlan),
    /// As `Copy`, from or to memory that lives as long.
    Staged {
        plan: CopyPlan,
        #[allow(dead_code)] // held, not read
        memory: Arc<dyn Memory>,
    },
    Fill(FillPlan),
    Launch(Launch),
    /// The application queues it itself.
    Enqueue(EnqueueBody),
    /// Nothing more: this event was recorded on a stream of the application's.
    Recorded(Recorded),
    /// Nothing: later work on the application's stream waits for what the operation waits for.
    Wait,
}

impl Work {
    /// Becomes the launch of a kernel, still without arguments.
    #[inline(always)]
    pub(crate) fn become_launch(
        &mut self,
        kernel: &Kernel,
        desc: &norn_launch_desc,
    ) -> &mut Launch {
        *self = Work::Launch(Launch::new(kernel, desc));
        match self {
            Work::Launch(launch) => launch,
            _ => unreachable!("it was made a launch just now"),
        }
    }

    fn name(&self) -> String {
        match self {
            Work::Copy(_) => "copy".into(),
            Work::Staged { .. } => "copy on the way to or from another rank".into(),
            Work::Fill(_) => "fill".into(),
            Work::Launch(launch) => format!("kernel {}", launch.name),
            Work::Enqueue(_) => "enqueue body".into(),
            Work::Recorded(_) => "work on the application's stream".into(),
            Work::Wait => "wait of the application's stream".into(),
        }
    }
}

/// How far an operation has come, for reports.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Stage {
    Submitted = 0,
    /// Waits for a stream.
    Arrived = 1,
    /// On a stream.
    Issued = 2,
}

/// An operation of one device. What the thread that makes passes looks at first comes first.
#[repr(C)]
pub(crate) struct DeviceOperation {
    inbox: &'static Inbox,
    /// Number of its device. It holds no count of anything that the submitter and the thread that makes passes share: each
    /// would take that line from the other for every operation.
    pub(crate) device: usize,
    /// Stream of the application's that it is pinned to, 0: a leased one.
    pub(crate) stream: usize,
    /// Its stream can wait for producers that are issued.
    joins: bool,
    stage: AtomicU8,
    notes: Mutex<Notes>,
    pub(crate) work: Work,
}

/// A producer that satisfied the operation when it was issued.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    pub(crate) producer: Token,
    /// Its failure fails the operation.
    pub(crate) propagates: bool,
}

/// The producers that an operation has noted.
type NoteList = SmallVec<[Note; FEW]>;

/// Notes that most operations have at most, without those of the same producer.
const FEW: usize = 4;

/// Whether all producers of a list have ended.
pub(crate) fn have_ended(notes: &[Note], graph: &Graph) -> bool {
    notes.iter().all(|note| graph.is_complete(note.producer))
}

/// The failure of a noted producer that fails the operation too, 0 if there is none so far.
pub(crate) fn cause_in(notes: &[Note], graph: &Graph) -> u32 {
    let propagating = notes.iter().filter(|note| note.propagates);
    propagating
        .map(|note| graph.cause_of_complete(note.producer))
        .find(|cause| *cause != 0)
        .unwrap_or(0)
}

/// See `order::issue`. The list grows only before the operation arrives.
#[derive(Default)]
struct Notes {
    list: NoteList,
    /// It takes no more: it is being cancelled.
    closed: Cell<bool>,
}

impl DeviceOperation {
    /// `put` puts its work where there is none; if it cannot, there is no operation.
    #[inline]
    pub(crate) fn new(
        inbox: &'static Inbox,
        device: usize,
        stream: usize,
        joins: bool,
        put: impl FnOnce(&mut Work) -> Result<()>,
    ) -> Result<Arc<Self>> {
        let mut record = record::take().unwrap_or_else(|| Arc::new(Self::vacant(inbox)));
        let Some(own) = Arc::get_mut(&mut record) else {
            unreachable!("a free record is in use");
        };
        // Field by field, where it lies: it is larger than all else that a submission writes together.
        own.inbox = inbox;
        own.device = device;
        own.stream = stream;
        own.joins = joins;
        match put(&mut own.work) {
            Ok(()) => Ok(record),
            Err(error) => {
                record::give_back(record);
                Err(error)
            }
        }
    }

    fn vacant(inbox: &'static Inbox) -> Self {
        Self {
            inbox,
            device: 0,
            stream: 0,
            joins: false,
            stage: AtomicU8::new(Stage::Submitted as u8),
            notes: Mutex::default(),
            work: Work::Wait,
        }
    }

    /// Lets go of what it holds, when it has ended, and is as a vacant one.
    pub(super) fn empty(&mut self) {
        *self.stage.get_mut() = Stage::Submitted as u8;
        let notes = self.notes.get_mut();
        notes.list.clear();
        notes.closed.set(false);
        self.work = Work::Wait;
    }

    /// What it has noted.
    ///
    /// # Safety
    /// It has arrived.
    unsafe fn noted(&self) -> &[Note] {
        // SAFETY: nobody notes anything any more: every producer that it waited for has done so before it was
        // satisfied, and the operation has arrived behind all of them. Until it is emptied the list is only read.
        unsafe { &(*self.notes.data_ptr()).list }
    }

    pub(crate) fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    fn is_body(&self) -> bool {
        matches!(self.work, Work::Enqueue(_))
    }
}

impl Operation for DeviceOperation {
    fn arrive(self: Arc<Self>, node: u32) -> bool {
        self.set_stage(Stage::Arrived);
        let inbox = self.inbox;
        inbox.push(Arrived {
            node,
            operation: self,
        });
        true
    }

    fn cancelled(self: Arc<Self>, _cause: u32) {
        // Nobody outside counts on it. One that has arrived is found cancelled when it is begun.
    }

    /// What it would follow may still be under way: its lowering waits for that before it ends it.
    fn is_owed(&self) -> bool {
        !self.notes.lock().list.is_empty()
    }

    fn joins_at_issue(&self) -> bool {
        self.joins
    }

    fn note(&self, producer: Token, propagates: bool) -> bool {
        let mut notes = self.notes.lock();
        if notes.closed.get() {
            return false;
        }
        // What reads three data that another one has written comes after that one three times.
        let known = notes.list.iter_mut().take(FEW);
        match known.into_iter().find(|note| note.producer == producer) {
            Some(note) => note.propagates |= propagates,
            None => notes.list.push(Note {
                producer,
                propagates,
            }),
        }
        true
    }

    fn close_notes(&self, is_complete: &dyn Fn(Token) -> bool) -> bool {
        let notes = self.notes.lock();
        // Nothing follows a wait of the application's stream, so it may end before what it has noted.
        let is_wait = matches!(self.work, Work::Wait);
        if is_wait || notes.list.iter().all(|note| is_complete(note.producer)) {
            notes.closed.set(true);
        }
        notes.closed.get()
    }

    fn device(&self) -> i32 {
        self.device as i32
    }

    fn describe(&self) -> String {
        let stage = match self.stage.load(Ordering::Relaxed) {
            0 => "not issued",
            1 => "waits for a stream",
            _ => "issued, not complete",
        };
        format!("{} on device {}: {stage}", self.work.name(), self.device)
    }
}

/// An operation all of whose predecessors are done. Made by `arrive` alone.
pub(crate) struct Arrived {
    pub(crate) node: u32,
    operation: Arc<DeviceOperation>,
}

impl Arrived {
    /// What it has noted.
    #[inline(always)]
    pub(crate) fn notes(&self) -> &[Note] {
        // SAFETY: it has arrived.
        unsafe { self.operation.noted() }
    }

    /// Lets go of what only reports still need, when it has ended.
    pub(crate) fn end(self) {
        record::give_back(self.operation);
    }
}

impl Deref for Arrived {
    type Target = DeviceOperation;
    #[inline(always)]
    fn deref(&self) -> &DeviceOperation {
        &self.operation
    }
}

/// Operations that have arrived and that no pass has seen. Any thread puts them in, in the middle of a change of the graph.
#[derive(Default)]
pub(crate) struct Inbox {
    /// Those that any thread may issue.
    plain: Mutex<VecDeque<Arrived>>,
    plain_count: AtomicUsize,
    /// Those with a body of the application's, which runs only where bodies may.
    bodies: Mutex<VecDeque<Arrived>>,
    body_count: AtomicUsize,
}

/// Inboxes of lowerings that have closed, for the next ones: operations name theirs without counting.
static SPARE: Mutex<Vec<&'static Inbox>> = Mutex::new(Vec::new());

impl Inbox {
    /// An empty one.
    pub(crate) fn get() -> &'static Self {
        let spare = SPARE.lock().pop();
        spare.unwrap_or_else(|| Box::leak(Box::default()))
    }

    /// Gives it back when every operation has ended.
    pub(crate) fn give_back(&'static self) {
        SPARE.lock().push(self);
    }

    fn push(&self, arrived: Arrived) {
        let (queue, count) = if arrived.operation.is_body() {
            (&self.bodies, &self.body_count)
        } else {
            (&self.plain, &self.plain_count)
        };
        let mut queue = queue.lock();
        queue.push_back(arrived);
        // Sequentially consistent, as the duty's protocol demands of a want.
        count.store(queue.len(), Ordering::SeqCst);
    }

    /// Takes everything that this thread may issue. `bodies`: it may run bodies.
    pub(crate) fn take(&self, bodies: bool, into: &mut Vec<Arrived>) {
        let mut take = |queue: &Mutex<VecDeque<Arrived>>, count: &AtomicUsize| {
            if count.load(Ordering::SeqCst) != 0 {
                let mut queue = queue.lock();
                into.extend(queue.drain(..));
                count.store(0, Ordering::SeqCst);
            }
        };
        take(&self.plain, &self.plain_count);
        if bodies {
            take(&self.bodies, &self.body_count);
        }
    }

    /// Whether there are bodies to run.
    pub(crate) fn has_bodies(&self) -> bool {
        self.body_count.load(Ordering::SeqCst) != 0
    }

    /// Whether there is anything for a thread that may run bodies, or may not.
    pub(crate) fn has(&self, bodies: bool) -> bool {
        self.plain_count.load(Ordering::SeqCst) != 0
            || (bodies && self.body_count.load(Ordering::SeqCst) != 0)
    }
}
