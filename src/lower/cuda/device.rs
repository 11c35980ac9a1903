//! One open device: which of the visible ones it is, its primary context, and whether it still works.

use core::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use cudarc::driver::sys::{CUcontext, CUdevice, CUuuid};
use parking_lot::Mutex;

use super::context::{Context, Entered};
use super::driver::{Driver, INVALID_VALUE, Refused};
use super::event::Event;
use super::loss::Loss;
use super::memory::DeviceMemory;
use crate::abi::device_types::*;
use crate::abi::guard::string;
use crate::abi::status::{NORN_E_DEVICE, NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::error::{Error, Result};

const DEFAULT_STREAMS: i32 = 32;
const MOST_STREAMS: i32 = 1024;

/// CU_POINTER_ATTRIBUTE_MEMORY_TYPE and CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL; CU_MEMORYTYPE_DEVICE.
const POINTER_MEMORY_TYPE: i32 = 2;
const POINTER_IS_MANAGED: i32 = 8;
const POINTER_DEVICE_ORDINAL: i32 = 9;
const MEMORY_OF_DEVICE: i32 = 2;

const ATTRIBUTE_MAJOR: i32 = 75;
const ATTRIBUTE_MINOR: i32 = 76;
const ATTRIBUTE_POOLS: i32 = 115;
const ATTRIBUTE_PAGEABLE_ACCESS: i32 = 88;

/// Where launchers tell a process its rank on its node: Open MPI, MPICH and Intel MPI (Hydra), Slurm, PALS, Flux, MVAPICH.
const LOCAL_RANKS: [&str; 6] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "MV2_COMM_WORLD_LOCAL_RANK",
];

/// See the module's text.
pub(crate) struct Device {
    pub(crate) driver: &'static Driver,
    /// Index of its place.
    pub(crate) number: i32,
    /// Number among the visible devices.
    pub(crate) ordinal: i32,
    raw: CUdevice,
    pub(crate) context: Context,
    name: String,
    uuid: String,
    total_bytes: u64,
    capability: i32,
    /// Its kernels use ordinary memory of the host as it is.
    reaches_pageable: bool,
    pub(crate) memory: DeviceMemory,
    /// Streams in its pool.
    pub(crate) streams: usize,
    /// Events of the application's work whose operations have ended without a pass.
    pub(super) left_events: Mutex<Vec<Event>>,
    /// What ended it: a context that has met a fault refuses everything for ever.
    loss: OnceLock<Loss>,
    /// Written by the thread that makes passes, apart from what others read.
    pub(crate) counts: CachePadded<Counts>,
}

/// What was done on a device.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) issued: AtomicU64,
    pub(crate) waits: AtomicU64,
}

impl Counts {
    /// Adds one. For the one thread that makes passes.
    pub(crate) fn add(counter: &AtomicU64) {
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Which device a configuration names, as number among the visible ones.
///
/// # Safety
/// `uuid` is NULL or zero-terminated.
pub(crate) unsafe fn select(driver: &Driver, config: &norn_device_config) -> Result<i32> {
    let mut visible = 0;
    // SAFETY: writes an integer.
    unsafe { driver.device_get_count(&mut visible) }.map_err(Error::from)?;
    if visible == 0 {
        return Err(Error::new(
            NORN_E_UNSUPPORTED,
            "no device: the driver sees none (CUDA_VISIBLE_DEVICES may hide them)",
        ));
    }
    match config.select {
        NORN_DEVICE_CURRENT => current(driver),
        NORN_DEVICE_LOCAL_RANK => Ok(local_rank()? % visible),
        NORN_DEVICE_ORDINAL if (0..visible).contains(&config.ordinal) => Ok(config.ordinal),
        NORN_DEVICE_ORDINAL => Err(Error::new(
            NORN_E_INVALID,
            format!(
                "config.ordinal is {}, but {visible} devices are visible",
                config.ordinal
            ),
        )),
        NORN_DEVICE_UUID => {
            // SAFETY: passed on from the caller.
            let wanted = unsafe { string(config.uuid) }
                .ok_or_else(|| Error::new(NORN_E_INVALID, "config.uuid is NULL"))?
                .to_string_lossy();
            by_uuid(driver, visible, &wanted)
        }
        other => Err(Error::new(
            NORN_E_INVALID,
            format!("config.select {other} is none"),
        )),
    }
}

/// Checks what a configuration says of the device, whichever it is. `select` has checked the rest.
pub(crate) fn check(config: &norn_device_config) -> Result<()> {
    if !(0..=MOST_STREAMS).contains(&config.streams) {
        return Err(Error::new(
            NORN_E_INVALID,
            format!(
                "config.streams is {}: 1 to {MOST_STREAMS}, or 0 for {DEFAULT_STREAMS}",
                config.streams
            ),
        ));
    }
    if config.flags != 0 {
        return Err(Error::new(
            NORN_E_INVALID,
            "config.flags is reserved and must be 0",
        ));
    }
    Ok(())
}

fn current(driver: &Driver) -> Result<i32> {
    let mut context: CUcontext = core::ptr::null_mut();
    // SAFETY: writes the thread's current context, NULL if it has none.
    unsafe { driver.context_get_current(&mut context) }.map_err(Error::from)?;
    if context.is_null() {
        return Ok(0);
    }
    let mut device = 0;
    // SAFETY: a context is current, as just seen.
    unsafe { driver.context_get_device(&mut device) }.map_err(Error::from)?;
    // The driver numbers devices as it shows them.
    Ok(device)
}

fn local_rank() -> Result<i32> {
    for name in LOCAL_RANKS {
        if let Ok(text) = std::env::var(name) {
            return match text.parse::<i32>() {
                Ok(rank) if rank >= 0 => Ok(rank),
                _ => Err(Error::new(
                    NORN_E_INVALID,
                    format!("config.select: {name} is \"{text}\", which is no rank"),
                )),
            };
        }
    }
    // Without a launcher the process is alone.
    Ok(0)
}

fn by_uuid(driver: &Driver, visible: i32, wanted: &str) -> Result<i32> {
    let digits = |text: &str| -> String {
        text.trim_start_matches("GPU-")
            .chars()
            .filter(char::is_ascii_hexdigit)
            .collect::<String>()
            .to_lowercase()
    };
    let mut seen = Vec::new();
    for ordinal in 0..visible {
        let uuid = uuid_of(driver, ordinal).map_err(Error::from)?;
        if digits(&uuid) == digits(wanted) {
            return Ok(ordinal);
        }
        seen.push(uuid);
    }
    Err(Error::new(
        NORN_E_INVALID,
        format!(
            "config.uuid \"{wanted}\" is none of the visible devices: {}",
            seen.join(", ")
        ),
    ))
}

fn uuid_of(driver: &Driver, ordinal: i32) -> core::result::Result<String, Refused> {
    let mut device = 0;
    // SAFETY: zero bytes are a UUID; both calls write what they are given.
    let uuid = unsafe {
        let mut uuid: CUuuid = core::mem::zeroed();
        driver.device_get(&mut device, ordinal)?;
        driver.device_get_uuid(&mut uuid, device)?;
        uuid
    };
    let digits: String = uuid
        .bytes
        .iter()
        .map(|byte| format!("{:02x}", *byte as u8))
        .collect();
    Ok(format!(
        "GPU-{}-{}-{}-{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..]
    ))
}

impl Device {
    /// What a later configuration asks for and does not get, in words; 0 asks for nothing.
    pub(crate) fn differs_from(&self, config: &norn_device_config) -> Option<String> {
        let limit = self.memory.ceiling.limit();
        let numbers = [
            ("max_bytes", config.max_bytes, limit),
            ("streams", config.streams as u64, self.streams as u64),
        ];
        let differing = numbers
            .iter()
            .filter(|(_, wanted, has)| *wanted != 0 && wanted != has)
            .map(|(field, wanted, has)| format!("{field} stays {has}, not {wanted}"))
            .collect::<Vec<_>>();
        (!differing.is_empty()).then(|| differing.join(", "))
    }

    /// Opens visible device `ordinal` as place `number`, with a configuration that was checked.
    pub(crate) fn open(
        driver: &'static Driver,
        number: i32,
        ordinal: i32,
        config: &norn_device_config,
    ) -> Result<Self> {
        let streams = match config.streams {
            0 => DEFAULT_STREAMS,
            streams => streams,
        };
        Self::retain(driver, number, ordinal, streams as usize, config.max_bytes)
            .map_err(Error::from)
    }

    fn retain(
        driver: &'static Driver,
        number: i32,
        ordinal: i32,
        streams: usize,
        limit: u64,
    ) -> core::result::Result<Self, Refused> {
        let mut raw = 0;
        // SAFETY: writes the device.
        unsafe { driver.device_get(&mut raw, ordinal) }?;
        let mut name = [0; 128];
        let mut total = 0;
        // SAFETY: the name fits its length; the others write a number.
        unsafe {
            driver.device_get_name(name.as_mut_ptr(), name.len() as i32, raw)?;
            driver.device_total_mem(&mut total, raw)?;
        }
        let attribute = |attribute: i32| {
            let mut value = 0;
            // SAFETY: writes an integer.
            unsafe { driver.device_get_attribute(&mut value, attribute, raw) }.map(|()| value)
        };
        let capability = attribute(ATTRIBUTE_MAJOR)? * 10 + attribute(ATTRIBUTE_MINOR)?;
        // An older driver does not know the attribute, and has no pools.
        let pools = attribute(ATTRIBUTE_POOLS).unwrap_or(0) != 0;
        let reaches_pageable = attribute(ATTRIBUTE_PAGEABLE_ACCESS).unwrap_or(0) != 0;
        let uuid = uuid_of(driver, ordinal)?;
        let mut context = core::ptr::null_mut();
        // SAFETY: writes the context, which is released once, by `close` or just below.
        unsafe { driver.primary_context_retain(&mut context, raw) }?;
        let context = Context(context);
        let memory = context
            .enter(driver)
            .and_then(|_entered| DeviceMemory::new(driver, ordinal, pools, limit));
        let memory = match memory {
            Ok(memory) => memory,
            Err(refused) => {
                // SAFETY: retained just above.
                let _ = unsafe { driver.primary_context_release(raw) };
                return Err(refused);
            }
        };
        // SAFETY: the driver ends the name.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Ok(Self {
            driver,
            number,
            ordinal,
            raw,
            context,
            name: name.to_string_lossy().into_owned(),
            uuid,
            total_bytes: total as u64,
            capability,
            reaches_pageable,
            memory,
            streams,
            left_events: Mutex::default(),
            loss: OnceLock::new(),
            counts: CachePadded::default(),
        })
    }

    /// For the log: "NVIDIA H200 (GPU-..., 139 GiB, 9.0), ordinal 0".
    pub(crate) fn describe(&self) -> String {
        format!(
            "{} ({}, {} MiB, capability {}.{}), visible as {}",
            self.name,
            self.uuid,
            self.total_bytes >> 20,
            self.capability / 10,
            self.capability % 10,
            self.ordinal
        )
    }

    /// Checks that all of some memory, which is not empty, is this device's: its first and its last byte are.
    pub(crate) fn check_owns(&self, address: u64, bytes: u64) -> Result<()> {
        for (which, byte) in [
            ("", address),
            ("the last byte of ", address.saturating_add(bytes - 1)),
        ] {
            let not_its = |whose: String| {
                Err(Error::new(
                    NORN_E_INVALID,
                    format!("desc.ptr {address:#x}: {which}its {bytes} bytes {whose}"),
                ))
            };
            match self.owner_of(byte) {
                Ok(Some(ordinal)) if ordinal == self.ordinal => {}
                Ok(Some(ordinal)) => {
                    return not_its(format!(
                        "is not memory of device {} (visible as {}), but of visible device {ordinal}",
                        self.number, self.ordinal
                    ));
                }
                Err(refused) if refused.is_terminal() => return Err(refused.into()),
                _ => return not_its("is no memory that the device knows".into()),
            }
        }
        Ok(())
    }

    /// An integer that the driver knows of an address; None: it does not know the memory.
    fn attribute(
        &self,
        attribute: i32,
        address: u64,
    ) -> core::result::Result<Option<i32>, Refused> {
        let mut value = 0i32;
        let asked = self.enter().and_then(|_entered| {
            // SAFETY: the attributes that are asked for are integers.
            unsafe {
                self.driver
                    .pointer_get_attribute((&raw mut value).cast(), attribute, address)
            }
        });
        match asked {
            Ok(()) => Ok(Some(value)),
            Err(refused) if refused.code == INVALID_VALUE => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// The ordinal of the device whose memory holds an address; None: it is no memory of a device.
    fn owner_of(&self, address: u64) -> core::result::Result<Option<i32>, Refused> {
        if self.attribute(POINTER_MEMORY_TYPE, address)? != Some(MEMORY_OF_DEVICE) {
            return Ok(None);
        }
        self.attribute(POINTER_DEVICE_ORDINAL, address)
    }

    /// Whether the driver knows the memory at an address: a device's, managed, or pinned by whomever.
    pub(crate) fn knows(&self, address: u64) -> Result<bool> {
        Ok(self
            .attribute(POINTER_MEMORY_TYPE, address)?
            .is_some_and(|kind| kind != 0))
    }

    /// Whether an address is of managed memory, which the host uses as well.
    pub(crate) fn is_managed(&self, address: u64) -> bool {
        matches!(self.attribute(POINTER_IS_MANAGED, address), Ok(Some(1..)))
    }

    /// Whether its kernels can use what is at an address of the host's.
    pub(crate) fn reaches(&self, address: u64) -> Result<bool> {
        Ok(self.reaches_pageable || self.knows(address)?)
    }

    /// As `owner_of`, where it can be asked.
    pub(crate) fn ordinal_of(&self, address: u64) -> Option<i32> {
        self.owner_of(address).ok()?
    }

    /// Makes its context current on this thread.
    pub(crate) fn enter(&self) -> core::result::Result<Entered, Refused> {
        self.context.enter(self.driver)
    }

    /// Compute capability, 10 times the major number plus the minor.
    pub(crate) fn capability(&self) -> i32 {
        self.capability
    }

    /// Why the device was given up, if it was.
    pub(super) fn loss(&self) -> Option<Loss> {
        self.loss.get().copied()
    }

    /// Gives the device up. The first loss stays, but silence also keeps the memory.
    pub(super) fn end_by(&self, loss: Loss) {
        if loss.is_silence() {
            self.memory.ceiling.keep_all();
        }
        let _ = self.loss.set(loss);
    }

    /// Whether work may still be under way on it that nobody can see the end of.
    pub(super) fn is_silent(&self) -> bool {
        self.loss().is_some_and(Loss::is_silence)
    }

    /// Refuses work for a device that was given up.
    pub(crate) fn check_alive(&self) -> Result<()> {
        match self.loss() {
            None => Ok(()),
            Some(loss) => Err(Error::new(
                NORN_E_DEVICE,
                format!("device {} has failed: {}", self.number, loss.text()),
            )),
        }
    }

    /// `norn_device_get`.
    pub(crate) fn info(&self, pinned_bytes: u64) -> norn_device_info {
        let mut info = norn_device_info {
            struct_size: size_of::<norn_device_info>(),
            ordinal: self.ordinal,
            streams: self.streams as i32,
            capability: self.capability,
            failed: i32::from(self.loss().is_some()),
            total_bytes: self.total_bytes,
            used_bytes: self.memory.ceiling.used(),
            pinned_bytes,
            issued: self.counts.issued.load(Ordering::Relaxed),
            waits: self.counts.waits.load(Ordering::Relaxed),
            name: [0; 128],
            uuid: [0; 48],
        };
        crate::run::records::fill(&mut info.name, &self.name);
        crate::run::records::fill(&mut info.uuid, &self.uuid);
        info
    }

    /// Releases the context, when nothing of norn's is left in it.
    pub(crate) fn close(&self) {
        if self.is_silent() {
            return;
        }
        if let Ok(_entered) = self.enter() {
            self.memory.destroy(self.driver);
        }
        // SAFETY: retained by `retain`, released once.
        let _ = unsafe { self.driver.primary_context_release(self.raw) };
    }
}
