//! The first half of a pass: operations that have arrived are put on streams.

use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::driver::Refused;
use super::event::Event;
use super::operation::{Arrived, Stage, Work};
use super::queues::{DeviceQueues, Discipline, Failed, InFlight};
use super::{Cuda, UnderWay};
use crate::abi::status::{NORN_E_DEVICE, NORN_E_TASK_FAILED};
use crate::order::body::Begin;
use crate::order::operation::Outcome;
use crate::run::runtime::Runtime;

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
        for arrived in arrived {
            let index = arrived.operation.device.number as usize;
            let priority = runtime.graph().nodes.get(arrived.node).priority();
            self.count.fetch_add(1, Ordering::SeqCst);
            guard.devices[index].wait_for_stream(priority, arrived);
        }
        let mut issued = 0;
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
        if matches!(arrived.operation.work, Work::Wait) {
            // Everything that it waited for is complete.
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
                self.settle_issued(runtime, guard, index, stream, in_flight);
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
        let queues = &mut guard.devices[index];
        if matches!(in_flight.operation.work, Work::Recorded(_)) {
            queues.give_back_if_empty(stream);
            queues.loose.push(in_flight);
            queues.under_way += 1;
        } else {
            queues.add(stream, in_flight);
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
            let failure = MutexGuard::unlocked(guard, || {
                runtime.run_enqueue(arrived.node, body, raw.cast())
            });
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
