//! The second half of a pass: what has completed is found and ended; and what happens when the device fails.

use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::bell;
use super::driver::NOT_READY;
use super::event::Event;
use super::loss::{Loss, MOST_REFUSALS};
use super::operation::{cause_in, have_ended};
use super::queues::{DeviceQueues, Discipline, InFlight, Stream};
use super::{Cuda, UnderWay};
use crate::order::body::Begin;
use crate::order::graph::Graph;
use crate::order::node::flag;
use crate::order::operation::Outcome;
use crate::run::runtime::Runtime;

/// What the driver tells of the work on a stream.
enum Answer {
    /// So many of the oldest operations have completed.
    Oldest(usize),
    /// Everything has.
    All,
    NotYet,
}

/// What an event tells.
enum Told {
    Complete,
    NotYet,
    /// The driver has refused to say, and the operation knows.
    Nothing,
}

/// Operations issued since the last look for which the newest event of a stream is asked first: most of what is on it has
/// completed then.
const MANY: usize = 16;

impl Cuda {
    /// Looks at the oldest operation of each stream, and ends what has completed. Returns whether anything has.
    pub(super) fn look_for_completions(&self, runtime: &Runtime) -> bool {
        if !self.has_any_under_way() {
            return false;
        }
        let mut guard = self.under_way.lock();
        let mut completed = core::mem::take(&mut guard.early);
        let many = core::mem::take(&mut guard.issued) >= MANY;
        for index in 0..guard.devices.len() {
            if guard.devices[index].under_way == 0 {
                continue;
            }
            if let Err(loss) = self.look_at(&mut guard.devices[index], many, &mut completed) {
                self.end_completed(runtime, &mut guard, &mut completed);
                self.end_device(runtime, &mut guard, index, loss, None);
                return true;
            }
        }
        let ended = self.end_completed(runtime, &mut guard, &mut completed);
        if ended {
            guard.since = Instant::now();
        }
        ended
    }

    /// Takes what has completed off the streams of one device.
    fn look_at(
        &self,
        queues: &mut DeviceQueues,
        many: bool,
        completed: &mut Vec<InFlight>,
    ) -> Result<(), Loss> {
        let device = queues.device.clone();
        let _entered = match device.enter() {
            Ok(entered) => entered,
            Err(refused) if refused.is_terminal() => return Err(Loss::Fault(refused)),
            Err(refused) => {
                queues.shut_out += 1;
                let goes_on = queues.shut_out < MOST_REFUSALS;
                return if goes_on {
                    Ok(())
                } else {
                    Err(Loss::Silence(refused))
                };
            }
        };
        queues.shut_out = 0;
        let mut position = queues.busy.len();
        while position > 0 {
            position -= 1;
            let stream = queues.busy[position];
            loop {
                match self.ask_stream(&mut queues.streams[stream], many)? {
                    Answer::Oldest(count) => {
                        for _ in 0..count {
                            completed.extend(queues.take_oldest(stream));
                        }
                    }
                    Answer::All => {
                        while let Some(done) = queues.take_oldest(stream) {
                            completed.push(done);
                        }
                    }
                    Answer::NotYet => break,
                }
            }
        }
        let mut position = 0;
        while position < queues.loose.len() {
            if !self.ask_loose(&mut queues.loose[position])? {
                position += 1;
                continue;
            }
            let done = queues.loose.swap_remove(position);
            if let Some(event) = done.event {
                queues.take_back(event, done.refusals == 0);
            }
            queues.under_way -= 1;
            completed.push(done);
        }
        Ok(())
    }

    /// Asks the event behind an operation. The device's context is current.
    fn ask_event(&self, in_flight: &mut InFlight, event: Event) -> Result<Told, Loss> {
        // SAFETY: an event recorded on a stream of this device, or by `norn_stream_record`.
        match unsafe { self.driver.event_query(event.0) } {
            Ok(()) => Ok(Told::Complete),
            Err(refused) if refused.code == NOT_READY => Ok(Told::NotYet),
            Err(refused) if refused.is_terminal() => Err(Loss::Fault(refused)),
            Err(refused) => {
                in_flight.refuse(refused);
                Ok(Told::Nothing)
            }
        }
    }

    /// The oldest operation of a stream has completed: how many have, found by halves.
    fn count_completed(&self, stream: &mut Stream) -> Result<usize, Loss> {
        let (mut complete, mut open) = (1, stream.in_flight.len());
        while complete < open {
            let middle = complete + (open - complete) / 2;
            let in_flight = &mut stream.in_flight[middle];
            let Some(event) = in_flight.event else {
                break;
            };
            match self.ask_event(in_flight, event)? {
                Told::Complete => complete = middle + 1,
                Told::NotYet => open = middle,
                Told::Nothing => break,
            }
        }
        Ok(complete)
    }

    /// What the driver tells of the work on a stream; see `loss` for where it refuses. `many`: as `MANY` has it. The
    /// device's context is current.
    fn ask_stream(&self, stream: &mut Stream, many: bool) -> Result<Answer, Loss> {
        let raw = stream.raw();
        // A stream whose events are in doubt is asked from its front only.
        let several = stream.in_flight.len() > 1 && !stream.doubtful && !stream.foreign;
        if several
            && many
            && let Some(newest) = stream.in_flight.back_mut()
            && let Some(event) = newest.event
            && matches!(self.ask_event(newest, event)?, Told::Complete)
        {
            return Ok(Answer::All);
        }
        let Some(oldest) = stream.in_flight.front_mut() else {
            return Ok(Answer::NotYet);
        };
        if let Some(job) = &oldest.job {
            let Some(done) = job.answer() else {
                return Ok(Answer::NotYet);
            };
            oldest.job = None;
            match done {
                Ok(()) => return Ok(Answer::All),
                Err(refused) if refused.is_terminal() => return Err(Loss::Fault(refused)),
                Err(refused) => oldest.refuse(refused),
            }
        }
        if let Some(event) = oldest.event {
            match self.ask_event(oldest, event)? {
                Told::Complete if several && many => {
                    return self.count_completed(stream).map(Answer::Oldest);
                }
                Told::Complete => return Ok(Answer::Oldest(1)),
                Told::NotYet => return Ok(Answer::NotYet),
                Told::Nothing => {}
            }
        }
        stream.doubtful |= self.discipline == Discipline::Leased;
        // SAFETY: a stream of this device, or one of the application's, which lives while work is on it.
        match unsafe { self.driver.stream_query(raw) } {
            Ok(()) => return Ok(Answer::All),
            Err(refused) if refused.code == NOT_READY => return Ok(Answer::NotYet),
            Err(refused) if refused.is_terminal() => return Err(Loss::Fault(refused)),
            Err(refused) => oldest.refuse(refused),
        }
        if oldest.refusals < MOST_REFUSALS {
            return Ok(Answer::NotYet);
        }
        // SAFETY: as above.
        Loss::of_wait(unsafe { self.driver.stream_synchronize(raw) })?;
        Ok(Answer::All)
    }

    /// Whether the application's own work has completed. Its stream may be gone, so the event alone is asked.
    fn ask_loose(&self, loose: &mut InFlight) -> Result<bool, Loss> {
        let Some(event) = loose.event else {
            return Ok(true);
        };
        match self.ask_event(loose, event)? {
            Told::Complete => return Ok(true),
            Told::NotYet => return Ok(false),
            Told::Nothing => {}
        }
        if loose.refusals < MOST_REFUSALS {
            return Ok(false);
        }
        // SAFETY: waits for everything in the current context.
        Loss::of_wait(unsafe { self.driver.context_synchronize() })?;
        Ok(true)
    }

    /// Ends operations that have completed. Returns whether there were any.
    fn end_completed(
        &self,
        runtime: &Runtime,
        guard: &mut MutexGuard<'_, UnderWay>,
        completed: &mut Vec<InFlight>,
    ) -> bool {
        let mut left = core::mem::take(completed);
        if left.is_empty() {
            return false;
        }
        for done in &left {
            guard.flights.remove(&done.token.0);
        }
        // Whoever sees an operation complete sees complete what it followed: those come first, and if the host has
        // not found one of them yet, the operation waits for the next look.
        // In the order in which they were on their streams, so that once is mostly enough.
        let ended = MutexGuard::unlocked(guard, || {
            let mut ended = 0;
            loop {
                let now = runtime.finish_operations(&mut left, |done| done.arrived.end(), ending);
                ended += now;
                if now == 0 || left.is_empty() {
                    return ended;
                }
            }
        });
        self.count.fetch_sub(ended, Ordering::SeqCst);
        guard.early.append(&mut left);
        ended > 0
    }

    /// The device is given up: everything under way on it fails, and what waits for it. `first`: the operation in
    /// whose call that showed itself; else it is the oldest one.
    pub(super) fn end_device(
        &self,
        runtime: &Runtime,
        guard: &mut MutexGuard<'_, UnderWay>,
        index: usize,
        loss: Loss,
        first: Option<u32>,
    ) {
        if loss.is_silence() {
            self.pinned.keep_all();
        }
        let queues = &mut guard.devices[index];
        queues.device.end_by(loss);
        let number = queues.device.number;
        let (mut in_flight, waiting) = queues.take_all();
        // Those on other devices that have followed these end when they are found complete.
        let (early, others) = core::mem::take(&mut guard.early)
            .into_iter()
            .partition(|done: &InFlight| done.arrived.device == index);
        guard.early = others;
        let early: Vec<InFlight> = early;
        in_flight.extend(early);
        for done in &in_flight {
            guard.flights.remove(&done.token.0);
        }
        self.count
            .fetch_sub(in_flight.len() + waiting.len(), Ordering::SeqCst);
        // The driver has let go of pageable memory when its copier has the answer, which a fault brings at once.
        for job in in_flight.iter().filter_map(|done| done.job.as_ref()) {
            job.wait();
        }
        for arrived in &waiting {
            self.discard_recorded(guard, index, arrived);
        }
        MutexGuard::unlocked(guard, || {
            runtime.settings.hooks.log.error(format_args!(
                "device {number} has failed, and everything on it: {}",
                loss.text()
            ));
            let begun = in_flight
                .into_iter()
                .map(|in_flight| in_flight.arrived.node);
            let mut cause = 0;
            for node in first.into_iter().chain(begun) {
                self.end_by_loss(runtime, node, loss, &mut cause);
            }
            for arrived in waiting {
                if runtime.begin_operation(arrived.node) == Begin::Run {
                    self.end_by_loss(runtime, arrived.node, loss, &mut cause);
                }
            }
        });
    }

    /// The first one is the cause, the others are propagated from it.
    fn end_by_loss(&self, runtime: &Runtime, node: u32, loss: Loss, cause: &mut u32) {
        if *cause != 0 {
            return runtime.finish_operation(node, &Outcome::Propagated(*cause));
        }
        let graph = runtime.graph();
        let token = graph.nodes.get(node).token(graph.id, node);
        self.fail_by_loss(runtime, node, loss);
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
                    self.driver.launch_host_function(
                        stream.raw(),
                        Some(bell::ring_from_device),
                        argument,
                    )
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

/// How an operation ends whose work has completed; none while the host has not found complete what it followed.
fn ending<'a>(graph: &Graph, done: &'a InFlight) -> Option<(u32, Outcome<'a>)> {
    let node = done.arrived.node;
    if !have_ended(done.arrived.notes(), graph) {
        return None;
    }
    if let Some(failed) = &done.failed {
        return Some((node, failed.outcome()));
    }
    let outcome = match cause_in(done.arrived.notes(), graph) {
        0 => Outcome::Success,
        _ if graph.nodes.get(node).has(flag::RUN_ALWAYS) => Outcome::Success,
        cause => Outcome::Propagated(cause),
    };
    Some((node, outcome))
}
