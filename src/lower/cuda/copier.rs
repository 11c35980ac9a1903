//! Copies from and to pageable memory, on threads of their own.
//!
//! The driver moves pageable memory with the thread that asks for it, and lets that wait until the device has come so
//! far. The thread that makes passes must not: it keeps every other stream and every other lowering going. So such a copy
//! is put on its leased stream by a thread of the device's, one for each direction, which begins with the first copy that
//! needs it. Nothing else uses the stream meanwhile, and no event is behind the copy: the thread itself tells that it
//! has ended.

use std::collections::VecDeque;
use std::sync::Arc;

use cudarc::driver::sys::CUstream;
use parking_lot::{Condvar, Mutex};

use super::bell::Bell;
use super::copy::CopyPlan;
use super::device::Device;
use super::driver::Done;
use crate::error::Result;
use crate::run::runtime::Runtime;
use crate::run::thread::Thread;

/// Which way pageable memory is moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From it.
    Up,
    /// To it.
    Down,
}

/// Bytes up to which the driver takes a copy from pageable memory over at once, and lets nobody wait.
const TAKEN_OVER: u64 = 64 << 10;

/// A copy that a copier has been given.
pub(crate) struct Job {
    plan: CopyPlan,
    stream: usize,
    answer: Mutex<Option<Done>>,
    answered: Condvar,
}

impl Job {
    /// How it has ended, if it has.
    pub(crate) fn answer(&self) -> Option<Done> {
        *self.answer.lock()
    }

    /// Waits until the driver has let go of the memory.
    pub(crate) fn wait(&self) {
        let mut answer = self.answer.lock();
        while answer.is_none() {
            self.answered.wait(&mut answer);
        }
    }

    fn tell(&self, done: Done) {
        *self.answer.lock() = Some(done);
        self.answered.notify_all();
    }
}

/// What a copier and those that give it work share.
struct Desk {
    jobs: Mutex<(VecDeque<Arc<Job>>, bool)>,
    changed: Condvar,
}

/// One thread that copies.
pub(crate) struct Copier {
    desk: Arc<Desk>,
    thread: Thread,
}

impl Copier {
    fn start(
        runtime: &'static Runtime,
        device: &Arc<Device>,
        bell: &Arc<Bell>,
        direction: Direction,
    ) -> Result<Self> {
        let desk = Arc::new(Desk {
            jobs: Mutex::default(),
            changed: Condvar::new(),
        });
        let way = match direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        let name = format!("norn:{way}{}", device.number);
        let (own, device, bell) = (desk.clone(), device.clone(), bell.clone());
        let thread = runtime.spawn_for_lowering(name, move || own.work(&device, &bell))?;
        Ok(Self { desk, thread })
    }

    /// Lets it end, when it has nothing to do any more.
    fn stop(self) {
        self.desk.jobs.lock().1 = true;
        self.desk.changed.notify_all();
        // Only the thread itself cannot join it, and it does not close runtimes.
        let _ = self.thread.join();
    }
}

impl Desk {
    fn work(&self, device: &Device, bell: &Bell) {
        loop {
            let job = {
                let mut jobs = self.jobs.lock();
                loop {
                    if let Some(job) = jobs.0.pop_front() {
                        break job;
                    }
                    if jobs.1 {
                        return;
                    }
                    self.changed.wait(&mut jobs);
                }
            };
            job.tell(carry_out(device, &job));
            bell.ring();
        }
    }
}

fn carry_out(device: &Device, job: &Job) -> Done {
    let _entered = device.enter()?;
    let stream = job.stream as CUstream;
    // SAFETY: the operation's data are pinned until its answer is seen; its stream is leased to it alone.
    unsafe {
        let queued = job.plan.queue(device.driver, stream);
        let waited = device.driver.stream_synchronize(stream);
        queued.and(waited)
    }
}

/// The copiers of one device.
#[derive(Default)]
pub(crate) struct Copiers {
    up: Option<Copier>,
    down: Option<Copier>,
}

impl Copiers {
    /// Gives a copy to its copier. None: it holds up nobody, or there is no thread for it.
    pub(crate) fn give(
        &mut self,
        runtime: &'static Runtime,
        device: &Arc<Device>,
        bell: &Arc<Bell>,
        plan: &CopyPlan,
        stream: CUstream,
    ) -> Option<Arc<Job>> {
        let direction = plan.pageable()?;
        if direction == Direction::Up && plan.bytes() <= TAKEN_OVER {
            return None;
        }
        let place = match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        };
        if place.is_none() {
            *place = Copier::start(runtime, device, bell, direction).ok();
        }
        let copier = place.as_ref()?;
        let job = Arc::new(Job {
            plan: *plan,
            stream: stream as usize,
            answer: Mutex::new(None),
            answered: Condvar::new(),
        });
        copier.desk.jobs.lock().0.push_back(job.clone());
        copier.desk.changed.notify_one();
        Some(job)
    }

    /// Ends the threads, when every operation has ended.
    pub(crate) fn stop(&mut self) {
        for copier in [self.up.take(), self.down.take()].into_iter().flatten() {
            copier.stop();
        }
    }
}
