//! The first half of a pass: operations that have arrived are put on streams.

use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::driver::Refused;
use super::event::Event;
use super::operation::{Arrived, Stage, Work};
use super::queues::{DeviceQueues, Discipline, Failed, Flight, InFlight};
use super::{Cuda, Enqueuing, UnderWay};
use crate::abi::status::{NORN_E_DEVICE, NORN_E_TASK_FAILED};
use crate::order::body::Begin;
use crate::order::node::flag;
use crate::order::operation::Outcome;
use crate::run::runtime::Runtime;
use crate::sync::mutant;

/// Operations put on streams before completions are looked at again.
const AT_ONCE: usize = 16;

type Guard<'a> = MutexGuard<'a, UnderWay>;

impl Cuda {
    /// Takes what has arrived and what waits for a stream, and puts on streams what finds one. Returns whether anything
    /// went on.
    pub(super) fn issue_arrived(&self, runtime: &Runtime) -> bool {
        let mut arrived = Vec::new();
        self.inbox.take(runtime.runs_bodies_here(), &mut arrived);
        let mut guard = self.under_way.lock();
        self.count.fetch_add(arrived.len(), Ordering::SeqCst);
        let mut issued = 0;
        for arrived in arrived {
            issued += usize::from(self.receive(runtime, &mut guard, arrived));
        }
        issued += self.end_doomed(runtime, &mut guard);
        for index in 0..guard.devices.len() {
            while issued < AT_ONCE {
                let Some((arrived, stream)) = self.next_with_stream(&mut guard.devices[index])
                else {
                    break;
                };
                self.begin_and_issue(runtime, &mut guard, index, stream, arrived);
                issued += 1;
            }
        }
        if issued > 0 {
            guard.since = Instant::now();
        }
        issued > 0
    }

    /// An operation has arrived: it is put behind a producer on its stream where that is possible; else it waits for a
    /// stream, or to end without one. Returns whether it was put on a stream.
    fn receive(&self, runtime: &Runtime, guard: &mut Guard<'_>, arrived: Arrived) -> bool {
        let index = arrived.operation.device.number as usize;
        let node = runtime.graph().nodes.get(arrived.node);
        if self.cause_of(runtime, &arrived) != 0 {
            guard.doomed.push(arrived);
            return false;
        }
        if arrived.operation.stream == 0 {
            let behind = arrived.operation.notes().iter().find_map(|note| {
                let flight = guard.flights.get(&note.producer.0)?;
                let here = flight.device == index;
                here.then(|| guard.devices[index].is_behind(flight))?
            });
            if let Some(stream) = behind {
                self.begin_and_issue(runtime, guard, index, stream, arrived);
                return true;
            }
        }
        guard.devices[index].wait_for_stream(node.priority(), arrived);
        false
    }

    /// Why an operation must not be put on a stream, 0 if it may be.
    fn cause_of(&self, runtime: &Runtime, arrived: &Arrived) -> u32 {
        let graph = runtime.graph();
        if graph.nodes.get(arrived.node).has(flag::RUN_ALWAYS) {
            return 0;
        }
        match graph.doom_of(arrived.node) {
            0 => arrived.operation.cause_in_notes(graph),
            cause => cause,
        }
    }

    /// Ends operations that a failure has kept off the streams, once what they would have followed has ended. Gives
    /// their number.
    fn end_doomed(&self, runtime: &Runtime, guard: &mut Guard<'_>) -> usize {
        if guard.doomed.is_empty() {
            return 0;
        }
        let graph = runtime.graph();
        let (free, kept) = core::mem::take(&mut guard.doomed)
            .into_iter()
            .partition(|arrived: &Arrived| arrived.operation.is_free(graph));
        guard.doomed = kept;
        let free: Vec<Arrived> = free;
        let ended = free.len();
        self.count.fetch_sub(ended, Ordering::SeqCst);
        MutexGuard::unlocked(guard, || {
            for arrived in free {
                if runtime.begin_operation(arrived.node) == Begin::Run {
                    let cause = self.cause_of(runtime, &arrived);
                    runtime.finish_operation(arrived.node, &Outcome::Propagated(cause));
                }
            }
        });
        ended
    }

    /// The next operation that can be put on a stream, with the stream.
    fn next_with_stream(&self, queues: &mut DeviceQueues) -> Option<(Arrived, usize)> {
        if !queues.has_waiting() {
            return None;
        }
        if let Some(arrived) = queues.next_pinned() {
            let stream = queues.foreign(arrived.operation.stream);
            return Some((arrived, stream));
        }
        if self.discipline == Discipline::Legacy {
            return queues.next_waiting().map(|arrived| (arrived, 0));
        }
        let stream = queues.lease()?;
        match queues.next_waiting() {
            Some(arrived) => Some((arrived, stream)),
            None => {
                queues.give_back(stream);
                None
            }
        }
    }

    fn begin_and_issue(
        &self,
        runtime: &Runtime,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        arrived: Arrived,
    ) {
        let node = arrived.node;
        if self.cause_of(runtime, &arrived) != 0 {
            // What it has noted has failed meanwhile.
            guard.devices[index].give_back_if_empty(stream);
            guard.doomed.push(arrived);
            return;
        }
        let begin = MutexGuard::unlocked(guard, || runtime.begin_operation(node));
        if begin == Begin::Skip {
            // Cancelled, or it waits for its turn at COMMUTE data and arrives again.
            guard.devices[index].give_back_if_empty(stream);
            self.count.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let device = arrived.operation.device.clone();
        if let Some(fault) = device.fault() {
            guard.devices[index].give_back_if_empty(stream);
            self.count.fetch_sub(1, Ordering::SeqCst);
            MutexGuard::unlocked(guard, || self.fail_by_fault(runtime, node, fault));
            return;
        }
        if matches!(arrived.operation.work, Work::Wait)
            && self.wait_on_stream(guard, index, stream, &arrived).is_ok()
        {
            // The stream waits; the operation is none of the device's.
            guard.devices[index].give_back_if_empty(stream);
            self.count.fetch_sub(1, Ordering::SeqCst);
            MutexGuard::unlocked(guard, || {
                runtime.finish_operation(node, &Outcome::Success);
            });
            return;
        }
        let put = self.put_on_stream(runtime, guard, index, stream, &arrived);
        let token = runtime
            .graph()
            .nodes
            .get(node)
            .token(runtime.graph().id, node);
        match put {
            Ok(Put { event, failed }) => {
                arrived.operation.set_stage(Stage::Issued);
                device.issued.fetch_add(1, Ordering::Relaxed);
                let in_flight = InFlight {
                    node,
                    token,
                    operation: arrived.operation,
                    event,
                    position: 0,
                    failed,
                };
                let goes_well = in_flight.failed.is_none();
                self.settle_issued(runtime, guard, index, stream, in_flight);
                if goes_well && self.discipline == Discipline::Leased {
                    MutexGuard::unlocked(guard, || runtime.issue_operation(node));
                }
            }
            Err(refused) => {
                // Nothing tells when its work has ended, so the stream is waited for; then it has failed.
                let raw = guard.devices[index].streams[stream].raw();
                if let Ok(_entered) = device.enter() {
                    // SAFETY: a stream of this device.
                    let _ = unsafe { self.driver.stream_synchronize(raw) };
                }
                guard.devices[index].give_back_if_empty(stream);
                self.count.fetch_sub(1, Ordering::SeqCst);
                if refused.is_terminal() {
                    self.end_device(runtime, guard, index, refused, Some(node));
                } else {
                    let text = refused.text();
                    MutexGuard::unlocked(guard, || {
                        let outcome = Outcome::Failed {
                            status: NORN_E_DEVICE,
                            code: refused.code,
                            operation: refused.call,
                            text: &text,
                        };
                        runtime.finish_operation(node, &outcome);
                    });
                }
            }
        }
    }

    /// Keeps what was issued until it completes; in one-thread modes it does so here.
    fn settle_issued(
        &self,
        runtime: &Runtime,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        in_flight: InFlight,
    ) {
        let (token, event) = (in_flight.token, in_flight.event);
        let queues = &mut guard.devices[index];
        let mut on = None;
        if matches!(in_flight.operation.work, Work::Recorded(_)) {
            queues.give_back_if_empty(stream);
            queues.loose.push(in_flight);
            queues.under_way += 1;
        } else {
            queues.add(stream, in_flight);
            on = Some(stream);
        }
        let position = on.map_or(0, |stream| queues.streams[stream].issued);
        if let Some(event) = event {
            let flight = Flight {
                device: index,
                stream: on,
                position,
                event,
            };
            guard.flights.insert(token.0, flight);
        }
        if self.discipline != Discipline::Synchronous {
            return;
        }
        let device = guard.devices[index].device.clone();
        let raw = guard.devices[index].streams[stream].raw();
        let waited = device.enter().and_then(|_entered| {
            // SAFETY: a stream of this device's.
            unsafe { self.driver.stream_synchronize(raw) }
        });
        if let Err(refused) = waited {
            self.end_device(runtime, guard, index, refused, None);
        }
    }

    /// Queues the work of an operation and records its event.
    fn put_on_stream(
        &self,
        runtime: &Runtime,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        arrived: &Arrived,
    ) -> Result<Put, Refused> {
        let operation = &arrived.operation;
        let entered = operation.device.enter()?;
        let raw = guard.devices[index].streams[stream].raw();
        let driver = self.driver;
        self.wait_on_stream(guard, index, stream, arrived)?;
        if mutant!("event_before_work") {
            let event = guard.devices[index].events.take(driver)?;
            // SAFETY: as below.
            unsafe { driver.event_record(event.0, raw) }?;
            if let Work::Launch(launch) = &operation.work {
                // SAFETY: as below.
                unsafe { launch.queue(driver, raw) }?;
                return Ok(Put {
                    event: Some(event),
                    failed: None,
                });
            }
            guard.devices[index].events.give(event);
        }
        // SAFETY: the operation's data are pinned until it completes, which the event tells; the context is current.
        let queued = unsafe {
            match &operation.work {
                Work::Recorded(event) => {
                    return Ok(Put {
                        event: Some(*event),
                        failed: None,
                    });
                }
                Work::Copy(plan) => plan.queue(driver, raw),
                Work::Fill(plan) => plan.queue(driver, raw),
                Work::Launch(launch) => launch.queue(driver, raw),
                Work::Wait | Work::Enqueue(_) => Ok(()),
            }
        };
        let mut failed = match queued {
            Ok(()) => None,
            Err(refused) if refused.is_terminal() => return Err(refused),
            // A part of it may be queued.
            Err(refused) => Some(Failed {
                status: NORN_E_DEVICE,
                code: refused.code,
                call: refused.call,
                text: refused.text(),
            }),
        };
        if let Work::Enqueue(body) = operation.work {
            let handles = core::mem::take(&mut guard.devices[index].handles);
            *self.enqueuing.lock() = Some(Enqueuing {
                stream: raw as usize,
                handles,
                leases: core::mem::take(&mut guard.devices[index].streams[stream].leases),
            });
            let failure = MutexGuard::unlocked(guard, || {
                runtime.run_enqueue(arrived.node, body, raw.cast())
            });
            if let Some(body) = self.enqueuing.lock().take() {
                guard.devices[index].handles = body.handles;
                guard.devices[index].streams[stream].leases = body.leases;
            }
            failed = failure.map(|(code, text)| Failed {
                status: NORN_E_TASK_FAILED,
                code,
                call: "enqueue",
                text,
            });
            entered.again()?;
        }
        if self.discipline == Discipline::Legacy {
            return Ok(Put {
                event: None,
                failed,
            });
        }
        let event = guard.devices[index].events.take(driver)?;
        // SAFETY: an event and a stream of this device, whose context is current.
        if let Err(refused) = unsafe { driver.event_record(event.0, raw) } {
            guard.devices[index].events.give(event);
            return Err(refused);
        }
        Ok(Put {
            event: Some(event),
            failed,
        })
    }

    /// Makes the stream wait for what the operation has noted and what is still under way.
    fn wait_on_stream(
        &self,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        arrived: &Arrived,
    ) -> Result<(), Refused> {
        let under_way = &mut **guard;
        for note in arrived.operation.notes() {
            let Some(flight) = under_way.flights.get(&note.producer.0) else {
                continue;
            };
            if flight.device == index && flight.stream == Some(stream) {
                continue;
            }
            let entry = &mut under_way.devices[index].streams[stream];
            if !entry.must_wait_for(flight) || mutant!("wait_left_out") {
                continue;
            }
            let device = &arrived.operation.device;
            device.waits.fetch_add(1, Ordering::Relaxed);
            let _entered = device.enter()?;
            // SAFETY: an event that is recorded, and a stream of this device or of the application's.
            unsafe {
                self.driver
                    .stream_wait_event(entry.raw(), flight.event.0, 0)?;
            }
        }
        Ok(())
    }

    /// Fails an operation that was begun after its device had ended.
    pub(super) fn fail_by_fault(&self, runtime: &Runtime, node: u32, fault: Refused) {
        let text = fault.text();
        let outcome = Outcome::Failed {
            status: NORN_E_DEVICE,
            code: fault.code,
            operation: fault.call,
            text: &text,
        };
        runtime.finish_operation(node, &outcome);
    }
}

/// What was put on a stream.
struct Put {
    event: Option<Event>,
    failed: Option<Failed>,
}
