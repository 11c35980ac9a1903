//! What a device has under way: its streams, and the operations that wait for one.
//!
//! A stream of the pool is idle, or leased to an operation, or pending until that has completed; then it is idle again. Only
//! a stream that is seen to be idle is leased, so that unrelated operations never stand behind each other. When none is,
//! the operation waits here, and no thread does. Streams of the application's are used as they are found: whatever it
//! pins to one is put behind what it has queued there itself, in the order of arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use cudarc::driver::sys::CUstream;

use super::copier::{Copiers, Job};
use super::device::Device;
use super::driver::{LEGACY_STREAM, Refused};
use super::event::{Event, EventPool};
use super::operation::Arrived;
use super::provider::{Handles, Lease};
use crate::abi::status::NORN_E_DEVICE;
use crate::order::operation::Outcome;
use crate::order::token::Token;
use crate::sync::mutant;

/// Operations behind each other on a leased stream. More than the driver can queue would block in it.
const DEEPEST: usize = 128;

/// CU_STREAM_NON_BLOCKING.
const NON_BLOCKING: u32 = 1;

/// How an operation has failed that must still be waited for.
pub(crate) struct Failed {
    pub(crate) status: i32,
    pub(crate) code: i32,
    /// What was being done.
    pub(crate) call: &'static str,
    pub(crate) text: String,
}

/// An operation on a stream.
pub(crate) struct InFlight {
    pub(crate) token: Token,
    pub(crate) arrived: Arrived,
    /// Recorded behind it; none in default-stream mode, or where the driver refused that.
    pub(crate) event: Option<Event>,
    /// The copier that carries it out; then there is no event.
    pub(crate) job: Option<Arc<Job>>,
    /// Its position on the stream.
    pub(crate) position: u64,
    /// It has failed already, but what it queued may still use its memory.
    pub(crate) failed: Option<Box<Failed>>,
    /// Questions about it that the driver has refused to answer (`loss`).
    pub(crate) refusals: u32,
}

impl InFlight {
    /// The driver has refused to tell whether it is complete. The first refusal is its failure.
    pub(crate) fn refuse(&mut self, refused: Refused) {
        self.refusals += 1;
        self.failed
            .get_or_insert_with(|| Box::new(Failed::of_call(refused)));
    }
}

impl Failed {
    /// As the end of its operation.
    pub(crate) fn outcome(&self) -> Outcome<'_> {
        Outcome::Failed {
            status: self.status,
            code: self.code,
            operation: self.call,
            text: &self.text,
        }
    }

    /// A call of the driver was refused.
    pub(crate) fn of_call(refused: Refused) -> Self {
        Self {
            status: NORN_E_DEVICE,
            code: refused.code,
            call: refused.call,
            text: refused.text(),
        }
    }
}

/// Where an operation is that has an event behind it.
#[derive(Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) device: usize,
    /// Its stream; none for work that the application queued itself.
    pub(crate) stream: Option<usize>,
    pub(crate) position: u64,
    pub(crate) event: Event,
}

/// A stream, of the pool or of the application's.
pub(crate) struct Stream {
    raw: CUstream,
    /// Of the application's: neither leased nor destroyed.
    pub(crate) foreign: bool,
    /// Oldest first.
    pub(crate) in_flight: VecDeque<InFlight>,
    /// Operations put on it so far.
    pub(crate) issued: u64,
    /// Position behind which a host function waits, 0 if none does.
    pub(crate) armed: u64,
    /// Handles of providers that work on it uses. Its operations follow each other, so they may share one.
    pub(crate) leases: Vec<Lease>,
    /// What is on it does not complete as its events say, so nothing more is put behind that.
    pub(crate) doubtful: bool,
    /// For each device, and each of its streams, the newest position that this stream has waited for; 0: none.
    waited: Vec<Vec<u64>>,
}

// SAFETY: the driver lets any thread use a stream; the pointer is only handed to it.
unsafe impl Send for Stream {}

impl Stream {
    pub(crate) fn new(raw: CUstream, foreign: bool) -> Self {
        Self {
            raw,
            foreign,
            in_flight: VecDeque::new(),
            issued: 0,
            armed: 0,
            leases: Vec::new(),
            doubtful: false,
            waited: Vec::new(),
        }
    }

    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    /// Whether the stream must be made to wait for `flight`, which is not on it: it has waited for nothing as new
    /// there.
    pub(crate) fn must_wait_for(&self, flight: &Flight) -> bool {
        let Some(stream) = flight.stream else {
            return true;
        };
        let of_device = self.waited.get(flight.device);
        let newest = of_device.and_then(|streams| streams.get(stream));
        newest.is_none_or(|newest| *newest < flight.position)
    }

    /// The stream waits for `flight` now.
    pub(crate) fn has_waited_for(&mut self, flight: &Flight) {
        let Some(stream) = flight.stream else {
            return;
        };
        if self.waited.len() <= flight.device {
            self.waited.resize_with(flight.device + 1, Vec::new);
        }
        let streams = &mut self.waited[flight.device];
        if streams.len() <= stream {
            streams.resize(stream + 1, 0);
        }
        streams[stream] = streams[stream].max(flight.position);
    }
}

/// An operation that waits for a stream: the higher priority first, then the older one.
struct Waiting {
    order: (i16, Reverse<u64>),
    arrived: Arrived,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

/// Everything under way on one device. Used by the thread that makes the pass.
pub(crate) struct DeviceQueues {
    pub(crate) device: Arc<Device>,
    pub(crate) streams: Vec<Stream>,
    /// Streams of the pool that nothing is on.
    idle: Vec<usize>,
    /// Streams that something is on.
    pub(crate) busy: Vec<usize>,
    /// Entries of `streams` that are free for a stream of the application's.
    vacant: Vec<usize>,
    pub(crate) events: EventPool,
    /// Handles of cuBLAS and cuSOLVER.
    pub(crate) handles: Handles,
    /// Completions of the application's own work, each behind an event of its own.
    pub(crate) loose: Vec<InFlight>,
    /// Threads for copies of pageable memory.
    pub(crate) copiers: Copiers,
    waiting: BinaryHeap<Waiting>,
    /// Operations for streams of the application's, which need not wait for one.
    pinned: VecDeque<Arrived>,
    arrivals: u64,
    /// Operations on streams, and loose ones.
    pub(crate) under_way: usize,
    /// Looks in a row in which its context could not be made current.
    pub(crate) shut_out: u32,
}

/// How streams are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Discipline {
    /// A leased stream an operation.
    Leased,
    /// One stream, and every operation is waited for.
    Synchronous,
    /// The legacy default stream, without events.
    Legacy,
}

impl DeviceQueues {
    /// Makes the pool. The device's context is current.
    pub(crate) fn new(device: &Arc<Device>, discipline: Discipline) -> Result<Self, Refused> {
        let mut queues = Self {
            device: device.clone(),
            streams: Vec::new(),
            idle: Vec::new(),
            busy: Vec::new(),
            vacant: Vec::new(),
            events: EventPool::default(),
            handles: Handles::default(),
            loose: Vec::new(),
            copiers: Copiers::default(),
            waiting: BinaryHeap::new(),
            pinned: VecDeque::new(),
            arrivals: 0,
            under_way: 0,
            shut_out: 0,
        };
        let count = match discipline {
            Discipline::Leased => device.streams,
            Discipline::Synchronous => 1,
            Discipline::Legacy => {
                queues
                    .streams
                    .push(Stream::new(LEGACY_STREAM as CUstream, true));
                0
            }
        };
        for number in 0..count {
            let mut raw = core::ptr::null_mut();
            // SAFETY: writes the new stream.
            if let Err(refused) = unsafe { device.driver.stream_create(&mut raw, NON_BLOCKING, 0) }
            {
                queues.destroy();
                return Err(refused);
            }
            queues.streams.push(Stream::new(raw, false));
            queues.idle.push(number);
        }
        Ok(queues)
    }

    /// Leases an idle stream, if there is one.
    pub(crate) fn lease(&mut self) -> Option<usize> {
        self.idle.pop()
    }

    /// A stream that nothing is on any more.
    pub(crate) fn give_back(&mut self, stream: usize) {
        let leases = core::mem::take(&mut self.streams[stream].leases);
        self.handles.give_back(leases);
        self.streams[stream].doubtful = false;
        if !self.streams[stream].foreign {
            self.idle.push(stream);
        } else if self.streams[stream].raw as usize != LEGACY_STREAM {
            self.vacant.push(stream);
        }
    }

    /// As `give_back`, unless something else is on it (a stream of the application's).
    pub(crate) fn give_back_if_empty(&mut self, stream: usize) {
        if self.streams[stream].in_flight.is_empty() {
            self.give_back(stream);
        }
    }

    /// The entry of a stream of the application's.
    pub(crate) fn foreign(&mut self, raw: usize) -> usize {
        let known = self.busy.iter().copied().find(|stream| {
            self.streams[*stream].foreign && self.streams[*stream].raw as usize == raw
        });
        if let Some(known) = known {
            return known;
        }
        if raw == LEGACY_STREAM
            && let Some(legacy) = self.streams.first()
            && legacy.raw as usize == raw
        {
            return 0;
        }
        let stream = Stream::new(raw as CUstream, true);
        match self.vacant.pop() {
            Some(vacant) => {
                // Positions go on: others may have waited for some of the entry's former stream.
                let issued = self.streams[vacant].issued;
                self.streams[vacant] = stream;
                self.streams[vacant].issued = issued;
                vacant
            }
            None => {
                self.streams.push(stream);
                self.streams.len() - 1
            }
        }
    }

    /// Whether what is put on a stream next would be right behind `flight`.
    pub(crate) fn is_behind(&self, flight: &Flight) -> Option<usize> {
        let stream = flight.stream?;
        let entry = &self.streams[stream];
        let newest = entry.issued == flight.position && !entry.foreign && !entry.doubtful;
        (newest && entry.in_flight.len() < DEEPEST).then_some(stream)
    }

    /// Something was put on a stream.
    pub(crate) fn add(&mut self, stream: usize, mut in_flight: InFlight) {
        let entry = &mut self.streams[stream];
        entry.issued += 1;
        in_flight.position = entry.issued;
        if in_flight.job.is_some() {
            // The copier rings, and no other operation may come onto its stream.
            entry.armed = entry.issued;
            entry.doubtful = true;
        }
        if entry.in_flight.is_empty() {
            self.busy.push(stream);
        }
        entry.in_flight.push_back(in_flight);
        if mutant!("stream_returned_at_submit") && !entry.foreign {
            self.idle.push(stream);
        }
        self.under_way += 1;
    }

    /// The oldest operation of a stream has completed.
    pub(crate) fn take_oldest(&mut self, stream: usize) -> Option<InFlight> {
        let oldest = self.streams[stream].in_flight.pop_front()?;
        self.under_way -= 1;
        if let Some(event) = oldest.event {
            self.take_back(event, oldest.refusals == 0);
        }
        if self.streams[stream].in_flight.is_empty() {
            self.busy.retain(|busy| *busy != stream);
            self.give_back(stream);
        }
        Some(oldest)
    }

    /// An event whose recording has ended. `sound`: the driver has never refused to ask it.
    pub(crate) fn take_back(&mut self, event: Event, sound: bool) {
        if sound {
            self.events.give(event);
        } else {
            self.events.discard(self.device.driver, event);
        }
    }

    /// An operation has arrived: it waits until a stream is idle, if it needs one of the pool.
    pub(crate) fn wait_for_stream(&mut self, priority: i16, arrived: Arrived) {
        if arrived.stream != 0 {
            return self.pinned.push_back(arrived);
        }
        self.arrivals += 1;
        self.waiting.push(Waiting {
            order: (priority, Reverse(self.arrivals)),
            arrived,
        });
    }

    /// The next operation that waits for a stream.
    pub(crate) fn next_waiting(&mut self) -> Option<Arrived> {
        self.waiting.pop().map(|waiting| waiting.arrived)
    }

    /// The next operation for a stream of the application's.
    pub(crate) fn next_pinned(&mut self) -> Option<Arrived> {
        self.pinned.pop_front()
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.pinned.is_empty()
    }

    /// Takes everything out when the device is given up: what was on streams, and what waits for one. Streams and events
    /// go to nobody: nothing is put on the device any more.
    pub(crate) fn take_all(&mut self) -> (Vec<InFlight>, Vec<Arrived>) {
        let mut in_flight = Vec::new();
        for stream in core::mem::take(&mut self.busy) {
            in_flight.extend(self.streams[stream].in_flight.drain(..));
        }
        in_flight.append(&mut self.loose);
        self.under_way = 0;
        (in_flight, self.take_waiting())
    }

    /// Takes out what waits for a stream.
    pub(crate) fn take_waiting(&mut self) -> Vec<Arrived> {
        let mut waiting: Vec<Arrived> = self.pinned.drain(..).collect();
        while let Some(arrived) = self.next_waiting() {
            waiting.push(arrived);
        }
        waiting
    }

    /// Destroys streams and events, when nothing is under way any more. The device's context is current.
    pub(crate) fn destroy(&mut self) {
        let driver = self.device.driver;
        self.handles.destroy();
        for stream in self.streams.drain(..) {
            if !stream.foreign {
                // SAFETY: made by `new`; destroyed once. A host function that is still to come runs first.
                unsafe {
                    let _ = driver.stream_synchronize(stream.raw);
                    let _ = driver.stream_destroy(stream.raw);
                }
            }
        }
        self.events.discard_left(&self.device);
        self.events.destroy(driver);
    }
}
