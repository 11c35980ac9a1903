//! One operation put on a stream: the waits before its work, the work, and the event behind it.

use parking_lot::MutexGuard;
use std::sync::Arc;

use super::copier::Job;
use super::device::Counts;
use super::driver::{Done, Refused};
use super::event::Event;
use super::operation::{Arrived, Work};
use super::queues::{Discipline, Failed};
use super::{Cuda, Enqueuing, UnderWay};
use crate::abi::status::NORN_E_TASK_FAILED;
use crate::run::enqueue::EnqueueBody;
use crate::run::runtime::Runtime;
use crate::sync::mutant;

type Guard<'a> = MutexGuard<'a, UnderWay>;

impl Cuda {
    /// Queues the work of an operation and records its event. Refused: by a fault of the device.
    pub(super) fn put_on_stream(
        &self,
        runtime: &Runtime,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        arrived: &Arrived,
    ) -> Result<Put, Refused> {
        let operation = arrived;
        let raw = guard.devices[index].streams[stream].raw();
        let driver = self.driver;
        if let Work::Recorded(recorded) = &operation.work {
            return Ok(Put::Behind {
                event: recorded.take(),
                failed: None,
            });
        }
        let entered = guard.devices[index].device.enter();
        let ready = entered.and_then(|entered| {
            self.wait_on_stream(guard, index, stream, arrived)?;
            Ok(entered)
        });
        let entered = match ready {
            Ok(entered) => entered,
            Err(refused) => {
                return Ok(Put::Nothing {
                    failed: failure_of(Err(refused))?,
                });
            }
        };
        if mutant!("event_before_work")
            && let Work::Launch(launch) = &operation.work
        {
            let event = guard.devices[index].events.take(driver)?;
            // SAFETY: as below.
            unsafe {
                driver.event_record(event.0, raw)?;
                launch.queue(driver, raw)?;
            }
            return Ok(Put::Behind {
                event: Some(event),
                failed: None,
            });
        }
        if let Work::Copy(plan) = &operation.work
            && self.discipline == Discipline::Leased
            && operation.stream == 0
        {
            let queues = &mut guard.devices[index];
            let device = queues.device.clone();
            let given = queues
                .copiers
                .give(self.runtime, &device, &self.bell, plan, raw);
            if let Some(job) = given {
                return Ok(Put::Given(job));
            }
        }
        let graph = runtime.graph();
        graph.fetch_for_issue(arrived.node, 1);
        // SAFETY: the operation's data are pinned until it completes, which the event tells; the context is current.
        let queued = unsafe {
            match &operation.work {
                Work::Wait => return Ok(Put::Waits),
                Work::Copy(plan) | Work::Staged { plan, .. } => plan.queue(driver, raw),
                Work::Fill(plan) => plan.queue(driver, raw),
                Work::Launch(launch) => launch.queue(driver, raw),
                Work::Enqueue(_) | Work::Recorded(_) => Ok(()),
            }
        };
        graph.fetch_for_issue(arrived.node, 2);
        // A part of it may be queued.
        let mut failed = failure_of(queued)?;
        if let Work::Enqueue(body) = operation.work {
            failed = self.run_body(runtime, guard, index, stream, arrived.node, body);
            // Without its context no event can be recorded; the stream tells when the work has ended.
            if let Some(shut_out) = failure_of(entered.again())? {
                return Ok(Put::Behind {
                    event: None,
                    failed: failed.or(Some(shut_out)),
                });
            }
        }
        if self.discipline == Discipline::Legacy {
            return Ok(Put::Behind {
                event: None,
                failed,
            });
        }
        let events = &mut guard.devices[index].events;
        let recorded = events.take(driver).and_then(|event| {
            if mutant!("issue_before_record") {
                return Ok(event);
            }
            // SAFETY: an event and a stream of this device, whose context is current.
            match unsafe { driver.event_record(event.0, raw) } {
                Ok(()) => Ok(event),
                Err(refused) => {
                    events.discard(driver, event);
                    Err(refused)
                }
            }
        });
        Ok(match recorded {
            Ok(event) => Put::Behind {
                event: Some(event),
                failed,
            },
            Err(refused) => Put::Behind {
                event: None,
                failed: failed.or(failure_of(Err(refused))?),
            },
        })
    }

    /// Runs an enqueue body. Gives its failure.
    fn run_body(
        &self,
        runtime: &Runtime,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        node: u32,
        body: EnqueueBody,
    ) -> Option<Failed> {
        let queues = &mut guard.devices[index];
        let raw = queues.streams[stream].raw();
        *self.enqueuing.lock() = Some(Enqueuing {
            stream: raw as usize,
            handles: core::mem::take(&mut queues.handles),
            leases: core::mem::take(&mut queues.streams[stream].leases),
        });
        let failure = MutexGuard::unlocked(guard, || runtime.run_enqueue(node, body, raw.cast()));
        if let Some(body) = self.enqueuing.lock().take() {
            guard.devices[index].handles = body.handles;
            guard.devices[index].streams[stream].leases = body.leases;
        }
        failure.map(|(code, text)| Failed {
            status: NORN_E_TASK_FAILED,
            code,
            call: "enqueue",
            text,
        })
    }

    /// Makes the stream wait for what the operation has noted and what is still under way. The device's context is current.
    fn wait_on_stream(
        &self,
        guard: &mut Guard<'_>,
        index: usize,
        stream: usize,
        arrived: &Arrived,
    ) -> Result<(), Refused> {
        let under_way = &mut **guard;
        for note in arrived.notes() {
            let Some(flight) = under_way.flights.get(&note.producer.0) else {
                continue;
            };
            if flight.device == index && flight.stream == Some(stream) {
                continue;
            }
            let queues = &mut under_way.devices[index];
            let entry = &mut queues.streams[stream];
            if !entry.must_wait_for(flight) || mutant!("wait_left_out") {
                continue;
            }
            Counts::add(&queues.device.counts.waits);
            // SAFETY: an event that is recorded, and a stream of this device or of the application's.
            unsafe {
                self.driver
                    .stream_wait_event(entry.raw(), flight.event.0, 0)?;
            }
            entry.has_waited_for(flight);
        }
        Ok(())
    }
}

/// What has become of an operation that was begun.
pub(super) enum Put {
    /// Its work is on the stream, or a part of it, and this event behind that. Without an event the stream tells when
    /// the work has ended.
    Behind {
        event: Option<Event>,
        failed: Option<Failed>,
    },
    /// A copier carries it out on the stream.
    Given(Arc<Job>),
    /// It has failed before anything was queued.
    Nothing { failed: Option<Failed> },
    /// The stream waits for what it has noted, which is all that was wanted.
    Waits,
}

/// How a call has failed an operation, if it has; refused: by a fault of the device, which fails everything.
fn failure_of(done: Done) -> Result<Option<Failed>, Refused> {
    match done {
        Ok(()) => Ok(None),
        Err(refused) if refused.is_terminal() => Err(refused),
        Err(refused) => Ok(Some(Failed::of_call(refused))),
    }
}
