//! The CUDA lowering: device work ordered by the one graph.
//!
//! The driver is found at run time and nothing of it is linked. Each open device uses its primary context, so that the
//! application's streams, handles and pointers mean the same here.
//!
//! # How an operation passes through
//!
//! 1. Its predecessors are done: `DeviceOperation::arrive` puts it into the inbox.
//! 2. A pass takes it out and leases an idle stream for it, or lets it wait for one (`queues`).
//! 3. It is begun, its work is queued, and its completion event is recorded behind it (`issue`).
//! 4. A pass sees the event complete, gives event and stream back, and ends it (`completion`).
//!
//! # Rules
//!
//! - Passes are made by one thread at a time (`run::lowerings`). `under_way` belongs to that thread; the lock lets
//!   `norn_device_open` add a device beside it. It is not held while the graph is changed or a body runs: both may come
//!   back here.
//! - Every thread has the right context current while it calls the driver, and its own back afterwards (`context`).
//! - A producer on a device satisfies a consumer on one as soon as it is issued (`order::issue`). The consumer's stream
//!   waits for the producer's event, unless that is on the same stream, or older than the newest event of its stream that
//!   this one has waited for. A consumer whose producer is the newest work on its stream is put behind it there.
//! - The host learns of completions by looking, at the oldest event of each stream, and at its newest first where many
//!   operations were issued since the last look; when nothing has come for a while it asks for a host function on each busy
//!   stream and rests until one has rung (`bell`).
//! - A fault of the device ends it: everything on it and everything that comes later fails with the record of that fault.
//!   Any other refusal of a query ends the operation, but not before its work has ended (`loss`).
//!
//! | file | idea |
//! |---|---|
//! | `driver`, `nvrtc` | the libraries, found at run time |
//! | `device`, `context` | an open device; its context on the calling thread |
//! | `which_device` | the device that a place, a stream or a description names |
//! | `memory`, `described`, `staging` | device and pinned memory, and the ceilings on them; what descriptions ask for; pinned memory on the way to others |
//! | `operation`, `record` | operations, and the memory of those that have ended, for later ones |
//! | `queues`, `event` | the streams they are put on, the events behind them |
//! | `issue`, `put`, `completion`, `bell` | the two halves of a pass, and how norn is woken when it has stopped looking |
//! | `loss` | when a device is given up |
//! | `copy`, `kernel`, `provider` | what is queued; handles of cuBLAS and cuSOLVER |
//! | `copier` | the threads that copies of pageable memory wait in |
//! | `calls`, `application_stream` | the calls of the C API |

pub(crate) mod application_stream;
mod bell;
pub(crate) mod calls;
mod completion;
mod context;
mod copier;
mod copy;
mod described;
pub(crate) mod device;
mod driver;
mod event;
mod issue;
mod kernel;
mod loss;
mod memory;
mod nvrtc;
mod operation;
mod provider;
mod put;
mod queues;
mod record;
mod staging;
mod which_device;

use core::any::Any;
use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, RwLock};

use self::bell::Bell;
use self::described::is_for_devices;
use self::device::Device;
use self::driver::Driver;
use self::kernel::{Kernel, Module};
use self::memory::Ceiling;
use self::operation::{Arrived, DeviceOperation, Inbox, Work};
use self::provider::{Handles, Lease};
use self::queues::{DeviceQueues, Discipline, Flight, InFlight};
use self::staging::StagingPool;
use self::which_device::check_stream;
use crate::abi::device_types::norn_device_config;
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_RESOURCE, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::body::Begin;
use crate::order::failure::SpreadMap;
use crate::order::memory::Memory;
use crate::order::operation::Operation;
use crate::run::config::Mode;
use crate::run::lowering::{Lowering, StagedCopy};
use crate::run::runtime::Runtime;

/// How long completions are looked for before the bell is hung up. A host function costs the stream 5 us and tells of a
/// completion some 10 us later than a look does, so for shorter work looking is better.
const PATIENCE: Duration = Duration::from_micros(50);

/// How often completions are looked for after that, where a host function cannot tell of all of them.
const GLANCE: Duration = Duration::from_micros(100);
/// How often the devices are looked after while the bell hangs: after a fault no host function is called any more.
const ROUND: Duration = Duration::from_millis(20);

/// See the module's text.
pub(crate) struct Cuda {
    /// Outlives it: a runtime lets go of its lowerings when it closes.
    runtime: &'static Runtime,
    driver: &'static Driver,
    discipline: Discipline,
    /// Another one for every lowering of the process.
    generation: u32,
    /// How long it looks for completions without a pause.
    patience: Duration,
    devices: RwLock<Vec<Arc<Device>>>,
    pinned: Arc<Ceiling>,
    staging_pool: Arc<StagingPool>,
    modules: RwLock<Vec<Module>>,
    /// Locked by every launch, so apart from what a pass changes.
    kernels: CachePadded<RwLock<Vec<Kernel>>>,
    inbox: &'static Inbox,
    bell: Arc<Bell>,
    under_way: CachePadded<Mutex<UnderWay>>,
    /// Operations on devices. Written by the thread that makes passes.
    count: CachePadded<AtomicUsize>,
    /// The bell rings when anything completes.
    asleep: AtomicBool,
    /// The enqueue body that runs, for what it asks of its device.
    enqueuing: Mutex<Option<Enqueuing>>,
}

/// An enqueue body that runs now, on the thread that makes passes.
struct Enqueuing {
    stream: usize,
    /// Handles of its device that nobody has on lease, while the body runs.
    handles: Handles,
    leases: Vec<Lease>,
}

/// What the thread that makes passes works with.
struct UnderWay {
    devices: Vec<DeviceQueues>,
    /// Every operation that is on a stream with an event behind it, by its token.
    flights: SpreadMap<u64, Flight>,
    /// Operations that end without having been on a stream, as soon as what they have noted has ended.
    doomed: Vec<Arrived>,
    /// Operations that have completed before the host has seen it of what they have noted.
    early: Vec<InFlight>,
    /// When something last went on.
    since: Instant,
    /// Operations put on streams since completions were last looked at.
    issued: usize,
    /// Somebody on the host waits for an operation that is on a stream.
    awaited: bool,
}

impl Cuda {
    /// The lowering of a runtime, made by the first call that asks for a device.
    pub(crate) fn of(runtime: &'static Runtime) -> Result<Arc<Self>> {
        static MAKING: Mutex<()> = Mutex::new(());
        if let Some(cuda) = runtime.lowering() {
            return Ok(cuda);
        }
        let _one_at_a_time = MAKING.lock();
        if let Some(cuda) = runtime.lowering() {
            return Ok(cuda);
        }
        let settings = &runtime.settings;
        let discipline = match settings.mode {
            Mode::Async => Discipline::Leased,
            Mode::DefaultStream => Discipline::Legacy,
            Mode::Sync | Mode::Shuffle(_) => Discipline::Synchronous,
        };
        let cuda = Arc::new(Self {
            runtime,
            driver: Driver::get()?,
            discipline,
            generation: next_generation()?,
            patience: if settings.spin.is_zero() {
                Duration::ZERO
            } else {
                PATIENCE.max(settings.spin)
            },
            devices: RwLock::default(),
            pinned: Arc::new(Ceiling::new(settings.max_pinned_bytes)),
            staging_pool: Arc::default(),
            modules: RwLock::default(),
            kernels: CachePadded::default(),
            inbox: Inbox::get(),
            bell: Bell::new(runtime),
            under_way: CachePadded::new(Mutex::new(UnderWay {
                devices: Vec::new(),
                flights: SpreadMap::default(),
                doomed: Vec::new(),
                early: Vec::new(),
                since: Instant::now(),
                issued: 0,
                awaited: false,
            })),
            count: CachePadded::new(AtomicUsize::new(0)),
            asleep: AtomicBool::new(false),
            enqueuing: Mutex::new(None),
        });
        runtime.add_lowering(cuda.clone());
        runtime.set_busiest_lowering(cuda.clone());
        Ok(cuda)
    }

    /// The lowering of a runtime in which a device is open.
    pub(crate) fn opened(runtime: &Runtime) -> Result<Arc<Self>> {
        runtime.lowering().ok_or_else(none_is_open)
    }

    /// As `opened`, without counting.
    #[inline(always)]
    pub(crate) fn opened_here(runtime: &Runtime) -> Result<&Self> {
        runtime.busiest_lowering().ok_or_else(none_is_open)
    }

    /// Opens a device, or finds it open.
    ///
    /// # Safety
    /// `config.uuid` is NULL or zero-terminated.
    pub(crate) unsafe fn open(
        self: &Arc<Self>,
        runtime: &Runtime,
        config: &norn_device_config,
    ) -> Result<norn_place> {
        // SAFETY: passed on from the caller.
        let ordinal = unsafe { device::select(self.driver, config) }?;
        device::check(config)?;
        let mut devices = self.devices.write();
        let place = |index: i32| norn_place {
            kind: NORN_PLACE_DEVICE,
            index,
        };
        if let Some(open) = devices.iter().find(|device| device.ordinal == ordinal) {
            let (number, differing) = (open.number, open.differs_from(config));
            // The sink of the log is the application's, and may come back here.
            drop(devices);
            if let Some(what) = differing {
                let log = &runtime.settings.hooks.log;
                log.warn(format_args!("device {number} is open already: {what}"));
            }
            return Ok(place(number));
        }
        let number = devices.len() as i32;
        let device = Arc::new(Device::open(self.driver, number, ordinal, config)?);
        let queues = device
            .enter()
            .and_then(|_entered| DeviceQueues::new(&device, self.discipline));
        match queues {
            Ok(queues) => self.under_way.lock().devices.push(queues),
            Err(refused) => {
                device.close();
                return Err(Error::from(refused));
            }
        }
        devices.push(device.clone());
        drop(devices);
        runtime.settings.hooks.log.info(format_args!(
            "opened device {number}: {}; the driver speaks CUDA {}.{}",
            device.describe(),
            self.driver.version() / 1000,
            self.driver.version() % 1000 / 10
        ));
        Ok(place(number))
    }

    /// An operation of a device. `joins`: producers that are issued are enough for it, where the mode has streams to wait.
    fn operation(
        &self,
        device: i32,
        work: Work,
        stream: usize,
        joins: bool,
    ) -> Arc<DeviceOperation> {
        match self.operation_of(device, stream, joins, |place| {
            *place = work;
            Ok(())
        }) {
            Ok(operation) => operation,
            Err(_) => unreachable!("work that is there can be put"),
        }
    }

    /// As `operation`; `put` puts its work where there is none.
    #[inline]
    fn operation_of(
        &self,
        device: i32,
        stream: usize,
        joins: bool,
        put: impl FnOnce(&mut Work) -> Result<()>,
    ) -> Result<Arc<DeviceOperation>> {
        let joins = joins && self.discipline == Discipline::Leased;
        DeviceOperation::new(self.inbox, device as usize, stream, joins, put)
    }

    /// Buries the operations that were cancelled when they had arrived and that no pass has met since, for which a close does
    /// not wait. Their records and nodes are needed again, and the events of the application's work would be lost.
    fn bury_cancelled(&self) {
        let mut left = Vec::new();
        self.inbox.take(true, &mut left);
        let mut guard = self.under_way.lock();
        left.append(&mut guard.doomed);
        for queues in &mut guard.devices {
            left.append(&mut queues.take_waiting());
        }
        for arrived in &left {
            self.discard_recorded(&mut guard, arrived.device, arrived);
        }
        drop(guard);
        for arrived in left {
            let begun = self.runtime.begin_operation(arrived.node);
            debug_assert_eq!(begun, Begin::Skip, "an operation was left behind");
            arrived.end();
        }
    }

    /// Operations that are on devices or wait for a stream.
    fn has_any_under_way(&self) -> bool {
        self.count.load(Ordering::SeqCst) != 0
    }
}

fn next_generation() -> Result<u32> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let next = |last: u32| last.checked_add(1);
    match LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
        Ok(last) => Ok(last + 1),
        Err(_) => Err(Error::new(
            NORN_E_RESOURCE,
            "the process has opened devices in 2^32 runtimes",
        )),
    }
}

#[cold]
fn none_is_open() -> Error {
    Error::new(
        NORN_E_UNSUPPORTED,
        "no device is open in this runtime (norn_device_open)",
    )
}

impl Lowering for Cuda {
    fn pass(&self, runtime: &Runtime) -> bool {
        // Silenced before the look: what rings later is found by the next.
        self.bell.silence();
        self.asleep.store(false, Ordering::SeqCst);
        // Once for the whole pass; with one device every further entry finds its context current.
        let first = self.devices.read().first().cloned();
        let _entered = first.as_ref().and_then(|device| device.enter().ok());
        let mut went_on = self.look_for_completions(runtime);
        went_on |= self.issue_arrived(runtime);
        if !went_on {
            self.hang_up_bell();
        }
        went_on
    }

    fn wants_pass(&self) -> bool {
        self.inbox.has(self.runtime.runs_bodies_here()) || self.has_any_under_way()
    }

    fn wants_worker(&self) -> bool {
        self.inbox.has_bodies()
    }

    fn may_bring(&self) -> bool {
        // Under the lock what arrives becomes what is under way.
        let looked_at = self.under_way.try_lock();
        looked_at.is_none() || self.inbox.has(true) || self.has_any_under_way()
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn pause(&self) -> Option<Duration> {
        Some(
            if self.bell.is_rung() || self.inbox.has(self.runtime.runs_bodies_here()) {
                Duration::ZERO
            } else if self.asleep.load(Ordering::SeqCst) {
                ROUND
            } else {
                GLANCE
            },
        )
    }

    fn check_place(&self, place: norn_place) -> Option<Result<()>> {
        (place.kind == NORN_PLACE_DEVICE).then(|| self.device(place, "task.place").map(|_| ()))
    }

    fn check_memory(&self, desc: &norn_data_desc) -> Option<Result<()>> {
        if is_for_devices(desc) {
            Some(self.check_foreign(desc))
        } else {
            self.check_not_of_device(desc)
        }
    }

    fn allocate(&self, desc: &norn_data_desc) -> Option<Result<Box<dyn Memory>>> {
        is_for_devices(desc).then(|| self.allocate_as_described(desc))
    }

    fn knows_addresses(&self) -> bool {
        true
    }

    fn place_of_address(&self, address: usize) -> Option<norn_place> {
        self.device_of_address(address)
    }

    fn enter(&self) -> Option<Box<dyn Any>> {
        let first = self.devices.read().first().cloned()?;
        Some(Box::new(first.enter().ok()?))
    }

    fn staging(&self, place: norn_place, bytes: u64) -> Option<Result<Arc<dyn Memory>>> {
        (place.kind == NORN_PLACE_DEVICE).then(|| self.take_staging(place, bytes))
    }

    fn copy_staged(
        &self,
        runtime: &Runtime,
        slice: &norn_slice,
        staging: Arc<dyn Memory>,
        up: bool,
    ) -> Option<Result<StagedCopy>> {
        (slice.place.kind == NORN_PLACE_DEVICE)
            .then(|| self.staged_copy(runtime, slice, staging, up))
    }

    fn operation_of_task(&self, task: &norn_task) -> Option<Result<Arc<dyn Operation>>> {
        let body = task.enqueue?;
        let operation = check_stream(task.stream as usize)
            .and_then(|()| self.device_for(task, || self.only_device("task.place")))
            .map(|device| {
                self.operation(
                    device.number,
                    Work::Enqueue(body),
                    task.stream as usize,
                    true,
                ) as Arc<dyn Operation>
            });
        Some(operation)
    }

    fn provider(&self, kind: i32, stream: *mut c_void) -> Option<Result<*mut c_void>> {
        let mut enqueuing = self.enqueuing.lock();
        let body = enqueuing
            .as_mut()
            .filter(|body| body.stream == stream as usize)?;
        let leased = body.leases.iter().find(|lease| lease.kind() == kind);
        if let Some(lease) = leased {
            return Some(Ok(lease.handle()));
        }
        Some(body.handles.lease(kind, stream).map(|lease| {
            let handle = lease.handle();
            body.leases.push(lease);
            handle
        }))
    }

    fn close(&self) {
        self.bell.unhang();
        self.bury_cancelled();
        for module in self.modules.write().drain(..) {
            module.unload();
        }
        for mut queues in self.under_way.lock().devices.drain(..) {
            queues.copiers.stop();
            let device = queues.device.clone();
            if !device.is_silent()
                && let Ok(_entered) = device.enter()
            {
                queues.destroy();
            }
        }
        self.staging_pool.close();
        for device in self.devices.write().drain(..) {
            device.close();
        }
        self.inbox.give_back();
    }
}
