//! The first half of a pass: operations that have arrived are put on streams.

use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::device::Counts;
use super::loss::Loss;
use super::operation::{Arrived, Stage, Work, cause_in, have_ended};
use super::put::Put;
use super::queues::{DeviceQueues, Discipline, Flight, InFlight};
use super::{Cuda, UnderWay};
use crate::abi::status::NORN_E_DEVICE;
use crate::order::body::Begin;
use crate::order::graph::Graph;
use crate::order::node::flag;
use crate::order::operation::Outcome;
use crate::run::runtime::Runtime;

/// Operations put on streams before completions are looked at again, where somebody on the host waits for one.
const AT_ONCE: usize = 16;
/// As `AT_ONCE`, where nobody does: then a look finds several on each stream, and asks the driver once for all of them.
const MOST_AT_ONCE: usize = 128;

type Guard<'a> = MutexGuard<'a, UnderWay>;

impl Cuda {
    /// Takes what has arrived and what waits for a stream, and puts on streams what finds one, and what that brings.
    /// Returns whether anything went on.
    pub(super) fn issue_arrived(&self, runtime: &Runtime) -> bool {
        let bodies = runtime.runs_bodies_here();
        let mut arrived = Vec::new();
        let (mut issued, mut limit) = (0, AT_ONCE);
        let mut guard = self.under_way.lock();
        // What an operation's issue satisfies arrives while this goes on, and needs no pass of its own.
        loop {
            self.inbox.take(bodies, &mut arrived);
            self.count.fetch_add(arrived.len(), Ordering::SeqCst);
            let before = issued;
            for arrived in arrived.drain(..) {
                issued += usize::from(self.receive(runtime, &mut guard, arrived));
            }
            issued += self.end_doomed(runtime, &mut guard);
            for index in 0..guard.devices.len() {
                while issued < limit {
                    let Some((arrived, stream)) = self.next_with_stream(&mut guard.devices[index])
                    else {
                        break;
                    };
                    self.begin_and_issue(runtime, &mut guard, index, stream, arrived);
                    issued += 1;
                }
            }
            if issued == before {
                break;
            }
            if issued >= limit {
                if issued >= MOST_AT_ONCE || self.is_any_awaited(runtime, &mut guard) {
                    break;
                }
                limit = issued + AT_ONCE;
            }
        }
        guard.issued += issued;
        if issued > 0 {
            guard.since = Instant::now();
        }
        issued > 0
    }

    /// Whether anybody on the host waits for an operation that is on a stream. A writer on the host behind readers on a
    /// device is not seen; it waits for the next look.
    fn is_any_awaited(&self, runtime: &Runtime, guard: &mut Guard<'_>) -> bool {
        let graph = runtime.graph();
        guard.awaited |= graph.was_wait_begun();
        // To look at all of them takes the lines that their submitter is about to change; so only while there is one.
        guard.awaited = guard.awaited && self.finds_awaited(graph, guard);
        guard.awaited
    }

    fn finds_awaited(&self, graph: &Graph, guard: &Guard<'_>) -> bool {
        guard.devices.iter().any(|queues| {
            let busy = queues.busy.iter();
            busy.flat_map(|stream| &queues.streams[*stream].in_flight)
                .chain(&queues.loose)
                .any(|in_flight| graph.is_awaited(in_flight.arrived.node))
        })
    }

    /// An operation has arrived: it is put behind a producer on its stream where that is possible; else it waits for a
    /// stream, or to end without one. Returns whether it was put on a stream.
    fn receive(&self, runtime: &Runtime, guard: &mut Guard<'_>, arrived: Arrived) -> bool {
        let index = arrived.device;
        let graph = runtime.graph();
        graph.fetch_for_issue(arrived.node, 0);
        let node = graph.nodes.get(arrived.node);
        let is_lost = guard.devices[index].device.loss().is_some();
        if is_lost || self.cause_of(runtime, &arrived) != 0 {
            guard.doomed.push(arrived);
            return false;
        }
        if arrived.stream == 0 {
            let behind = arrived.notes().iter().find_map(|note| {
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
            0 => cause_in(arrived.notes(), graph),
            cause => cause,
        }
    }

    /// Ends operations that a failure, or the loss of their device, has kept off the streams, once what they would have followed has ended. Gives
    /// their number.
    fn end_doomed(&self, runtime: &Runtime, guard: &mut Guard<'_>) -> usize {
        if guard.doomed.is_empty() {
            return 0;
        }
        let graph = runtime.graph();
        let (free, kept) = core::mem::take(&mut guard.doomed)
            .into_iter()
            .partition(|arrived: &Arrived| have_ended(arrived.notes(), graph));
        guard.doomed = kept;
        let free: Vec<Arrived> = free;
        let ended = free.len();
        let mut losses = Vec::with_capacity(ended);
        for arrived in &free {
            let index = arrived.device;
            self.discard_recorded(guard, index, arrived);
            losses.push(guard.devices[index].device.loss());
        }
        self.count.fetch_sub(ended, Ordering::SeqCst);
        MutexGuard::unlocked(guard, || {
            for (arrived, loss) in free.into_iter().zip(losses) {
                if runtime.begin_operation(arrived.node) != Begin::Run {
                    continue;
                }
                let cause = self.cause_of(runtime, &arrived);
                match loss {
                    Some(loss) if cause == 0 => self.fail_by_loss(runtime, arrived.node, loss),
                    _ => runtime.finish_operation(arrived.node, &Outcome::Propagated(cause)),
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
            let stream = queues.foreign(arrived.stream);
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
            self.discard_recorded(guard, index, &arrived);
            self.count.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let loss = guard.devices[index].device.loss();
        if let Some(loss) = loss {
            guard.devices[index].give_back_if_empty(stream);
            self.discard_recorded(guard, index, &arrived);
            self.count.fetch_sub(1, Ordering::SeqCst);
            MutexGuard::unlocked(guard, || self.fail_by_loss(runtime, node, loss));
            return;
        }
        let put = match self.put_on_stream(runtime, guard, index, stream, &arrived) {
            Ok(put) => put,
            Err(fault) => {
                guard.devices[index].give_back_if_empty(stream);
                self.count.fetch_sub(1, Ordering::SeqCst);
                self.end_device(runtime, guard, index, Loss::Fault(fault), Some(node));
                return;
            }
        };
        let token = runtime
            .graph()
            .nodes
            .get(node)
            .token(runtime.graph().id, node);
        let mut in_flight = InFlight {
            token,
            arrived,
            event: None,
            job: None,
            position: 0,
            failed: None,
            refusals: 0,
        };
        match put {
            Put::Behind { event, failed } => {
                in_flight.event = event;
                in_flight.failed = failed.map(Box::new);
            }
            Put::Given(job) => in_flight.job = Some(job),
            Put::Nothing { failed } => {
                guard.devices[index].give_back_if_empty(stream);
                if matches!(in_flight.arrived.work, Work::Wait)
                    && let Some(failed) = &failed
                {
                    // Nothing follows it, and who waits for it must not wait for what it has noted.
                    self.count.fetch_sub(1, Ordering::SeqCst);
                    let outcome = failed.outcome();
                    MutexGuard::unlocked(guard, || runtime.finish_operation(node, &outcome));
                    return;
                }
                in_flight.failed = failed.map(Box::new);
                // Ends as soon as all it has noted has ended.
                guard.early.push(in_flight);
                return;
            }
            Put::Waits => {
                // The stream waits; the operation is none of the device's.
                guard.devices[index].give_back_if_empty(stream);
                self.count.fetch_sub(1, Ordering::SeqCst);
                MutexGuard::unlocked(guard, || {
                    runtime.finish_operation(node, &Outcome::Success);
                });
                return;
            }
        };
        in_flight.arrived.set_stage(Stage::Issued);
        Counts::add(&guard.devices[index].device.counts.issued);
        // Consumers on devices can wait for its event, if it has one.
        let can_be_joined = in_flight.event.is_some() && in_flight.failed.is_none();
        self.settle_issued(runtime, guard, index, stream, in_flight);
        if can_be_joined && self.discipline == Discipline::Leased {
            MutexGuard::unlocked(guard, || runtime.issue_operation(node));
        } else {
            // Nothing tells of who waits for one that is not issued.
            guard.awaited = true;
        }
    }

    /// The event of work of the application's, if it is such, when nobody is going to ask it.
    pub(super) fn discard_recorded(&self, guard: &mut Guard<'_>, index: usize, arrived: &Arrived) {
        if let Work::Recorded(recorded) = &arrived.work
            && let Some(event) = recorded.take()
            && let Ok(_entered) = guard.devices[index].device.enter()
        {
            guard.devices[index].events.discard(self.driver, event);
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
        if matches!(in_flight.arrived.work, Work::Recorded(_)) {
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
        let waited = device.enter().and_then(|_entered| match (on, event) {
            // SAFETY: a stream of this device's, or one of the application's, which lives while work is on it.
            (Some(stream), _) => unsafe {
                let raw = guard.devices[index].streams[stream].raw();
                self.driver.stream_synchronize(raw)
            },
            // The application's stream, which may be gone since `norn_stream_record`: its event alone is waited for.
            // SAFETY: an event of this device's that was recorded.
            (None, Some(event)) => unsafe { self.driver.event_synchronize(event.0) },
            (None, None) => Ok(()),
        });
        // Any other refusal says nothing about the work; the next look at its event does.
        if let Err(refused) = waited
            && refused.is_terminal()
        {
            self.end_device(runtime, guard, index, Loss::Fault(refused), None);
        }
    }

    /// Fails an operation that was begun, because its device was given up.
    pub(super) fn fail_by_loss(&self, runtime: &Runtime, node: u32, loss: Loss) {
        let text = loss.text();
        let outcome = Outcome::Failed {
            status: NORN_E_DEVICE,
            code: loss.refused().code,
            operation: loss.refused().call,
            text: &text,
        };
        runtime.finish_operation(node, &outcome);
    }
}
