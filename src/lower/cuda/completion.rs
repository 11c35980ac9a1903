//! The second half of a pass: what has completed is found and ended; and what happens when the device fails.

use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::bell;
use super::driver::{Done, NOT_READY, Refused};
use super::queues::{DeviceQueues, Discipline, InFlight};
use super::{Cuda, UnderWay};
use crate::abi::status::NORN_E_DEVICE;
use crate::order::body::Begin;
use crate::order::node::flag;
use crate::order::operation::Outcome;
use crate::run::runtime::Runtime;

impl Cuda {
    /// Looks at the oldest operation of each stream, and ends what has completed. Returns whether anything has.
    pub(super) fn look_for_completions(&self, runtime: &Runtime) -> bool {
        if !self.has_any_under_way() {
            return false;
        }
        let mut guard = self.under_way.lock();
        let mut completed = core::mem::take(&mut guard.early);
        let before = completed.len();
        for index in 0..guard.devices.len() {
            if guard.devices[index].under_way == 0 {
                continue;
            }
            if let Err(fault) = self.look_at(&mut guard.devices[index], &mut completed) {
                self.end_completed(runtime, &mut guard, &mut completed);
                self.end_device(runtime, &mut guard, index, fault, None);
                return true;
            }
        }
        let found = completed.len() > before;
        self.end_completed(runtime, &mut guard, &mut completed);
        if found {
            guard.since = Instant::now();
        }
        found
    }

    /// Takes what has completed off the streams of one device.
    fn look_at(&self, queues: &mut DeviceQueues, completed: &mut Vec<InFlight>) -> Done {
        let device = queues.device.clone();
        let _entered = device.enter()?;
        let mut position = queues.busy.len();
        while position > 0 {
            position -= 1;
            let stream = queues.busy[position];
            while let Some(oldest) = queues.streams[stream].in_flight.front() {
                let raw = queues.streams[stream].raw();
                // SAFETY: an event recorded on a stream of this device, or the stream itself.
                let answer = unsafe {
                    match oldest.event {
                        Some(event) => self.driver.event_query(event.0),
                        None => self.driver.stream_query(raw),
                    }
                };
                match answer {
                    Ok(()) if oldest.event.is_some() => {
                        completed.extend(queues.take_oldest(stream));
                    }
                    // The stream is empty: everything on it has completed.
                    Ok(()) => {
                        while let Some(done) = queues.take_oldest(stream) {
                            completed.push(done);
                        }
                    }
                    Err(refused) if refused.code == NOT_READY => break,
                    Err(refused) => return Err(refused),
                }
            }
        }
        let mut position = 0;
        while position < queues.loose.len() {
            let Some(event) = queues.loose[position].event else {
                position += 1;
                continue;
            };
            // SAFETY: an event recorded by `norn_stream_record`.
            match unsafe { self.driver.event_query(event.0) } {
                Ok(()) => {
                    queues.events.give(event);
                    completed.push(queues.loose.swap_remove(position));
                    queues.under_way -= 1;
                }
                Err(refused) if refused.code == NOT_READY => position += 1,
                Err(refused) => return Err(refused),
            }
        }
        Ok(())
    }

    /// Ends operations that have completed.
    fn end_completed(
        &self,
        runtime: &Runtime,
        guard: &mut MutexGuard<'_, UnderWay>,
        completed: &mut Vec<InFlight>,
    ) {
        for done in completed.iter() {
            guard.flights.remove(&done.token.0);
        }
        // Whoever sees an operation complete sees complete what it followed: those come first, and if the host has
        // not found one of them yet, the operation waits for the next look.
        let graph = runtime.graph();
        let mut left = core::mem::take(completed);
        while !left.is_empty() {
            let (free, kept): (Vec<InFlight>, Vec<InFlight>) = left
                .into_iter()
                .partition(|done| done.operation.is_free(graph));
            left = kept;
            if free.is_empty() {
                break;
            }
            self.count.fetch_sub(free.len(), Ordering::SeqCst);
            MutexGuard::unlocked(guard, || {
                for done in free {
                    end(runtime, &done);
                }
            });
        }
        guard.early.append(&mut left);
    }

    /// The device has met a fault: everything under way on it fails, and what waits for it. `first`: the operation in
    /// whose call the fault showed itself; else it is the oldest one.
    pub(super) fn end_device(
        &self,
        runtime: &Runtime,
        guard: &mut MutexGuard<'_, UnderWay>,
        index: usize,
        fault: Refused,
        first: Option<u32>,
    ) {
        let queues = &mut guard.devices[index];
        queues.device.end_by(fault);
        let number = queues.device.number;
        let (mut in_flight, waiting) = queues.take_all();
        // Those on other devices that have followed these end when they are found complete.
        let (early, others) = core::mem::take(&mut guard.early)
            .into_iter()
            .partition(|done: &InFlight| done.operation.device.number == number);
        guard.early = others;
        let early: Vec<InFlight> = early;
        in_flight.extend(early);
        for done in &in_flight {
            guard.flights.remove(&done.token.0);
        }
        self.count
            .fetch_sub(in_flight.len() + waiting.len(), Ordering::SeqCst);
        MutexGuard::unlocked(guard, || {
            runtime.settings.hooks.log.error(format_args!(
                "device {number} has failed, and everything on it: {}",
                fault.text()
            ));
            let begun = in_flight.into_iter().map(|in_flight| in_flight.node);
            let mut cause = 0;
            for node in first.into_iter().chain(begun) {
                self.end_by_fault(runtime, node, fault, &mut cause);
            }
            for arrived in waiting {
                if runtime.begin_operation(arrived.node) == Begin::Run {
                    self.end_by_fault(runtime, arrived.node, fault, &mut cause);
                }
            }
        });
    }

    /// The first one is the cause, the others are propagated from it.
    fn end_by_fault(&self, runtime: &Runtime, node: u32, fault: Refused, cause: &mut u32) {
        if *cause != 0 {
            return runtime.finish_operation(node, &Outcome::Propagated(*cause));
        }
        let graph = runtime.graph();
        let token = graph.nodes.get(node).token(graph.id, node);
        let text = fault.text();
        let outcome = Outcome::Failed {
            status: NORN_E_DEVICE,
            code: fault.code,
            operation: fault.call,
            text: &text,
        };
        runtime.finish_operation(node, &outcome);
        *cause = graph.failures.cause_of(token);
    }

    /// Nothing has gone on for long: asks for a host function behind the newest work of each busy stream, and stops
    /// looking until one has rung. Where several operations are on one stream, the older ones may matter to the host
    /// too: then it goes on looking, with pauses.
    pub(super) fn hang_up_bell(&self) {
        let mut guard = self.under_way.lock();
        if guard.since.elapsed() < self.patience || self.discipline == Discipline::Synchronous {
            return;
        }
        let mut all_armed = true;
        for queues in &mut guard.devices {
            all_armed &= queues.loose.is_empty();
            if queues.under_way == 0 {
                continue;
            }
            let device = queues.device.clone();
            let Ok(_entered) = device.enter() else {
                return;
            };
            for position in 0..queues.busy.len() {
                let stream = &mut queues.streams[queues.busy[position]];
                // A host function would hold up a stream of the application's.
                all_armed &= stream.in_flight.len() == 1 && !stream.foreign;
                if stream.armed == stream.issued || stream.foreign {
                    continue;
                }
                let argument = self.bell.argument();
                // SAFETY: the function takes its argument over, once; the stream is one of this device.
                let armed = unsafe {
                    self.driver
                        .launch_host_function(stream.raw(), Some(bell::ring), argument)
                };
                match armed {
                    Ok(()) => stream.armed = stream.issued,
                    Err(_) => {
                        // The next look finds out why.
                        all_armed = false;
                        // SAFETY: the driver has not taken it.
                        unsafe { bell::take_back(argument) };
                    }
                }
            }
        }
        if all_armed {
            self.asleep.store(true, Ordering::SeqCst);
        }
    }
}

/// Ends an operation whose work has completed.
fn end(runtime: &Runtime, done: &InFlight) {
    if let Some(failed) = &done.failed {
        let outcome = Outcome::Failed {
            status: failed.status,
            code: failed.code,
            operation: failed.call,
            text: &failed.text,
        };
        return runtime.finish_operation(done.node, &outcome);
    }
    let graph = runtime.graph();
    let always = graph.nodes.get(done.node).has(flag::RUN_ALWAYS);
    let outcome = match done.operation.cause_in_notes(graph) {
        0 => Outcome::Success,
        _ if always => Outcome::Success,
        cause => Outcome::Propagated(cause),
    };
    runtime.finish_operation(done.node, &outcome);
}
