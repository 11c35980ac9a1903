//! Memory of norn's own on a device, and pinned host memory.
//!
//! Device memory comes from a stream-ordered pool of the device's own. It is allocated and freed on a stream that serves
//! nothing else: an allocation is waited for, so that the memory may be used on any stream; a free is queued when every
//! access to the datum has completed, and so has nothing to wait for. What MPI may register does not come from the pool,
//! because transports cannot. All device memory counts against the device's ceiling, pinned memory against the runtime's.
//!
//! Once a device has gone silent (`loss`), nothing that it may still use is given back: its own memory, and all pinned
//! memory. What the driver refuses to take back stays counted.

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cudarc::driver::sys::{
    CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUmemoryPool, CUstream,
};

use super::device::Device;
use super::driver::{Done, Driver, Refused};
use crate::abi::status::{NORN_E_MEMORY, NORN_E_RESOURCE};
use crate::error::{Error, Result};
use crate::order::memory::Memory;

/// CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: bytes that the pool keeps for later allocations.
const RELEASE_THRESHOLD: i32 = 4;
/// CU_MEMHOSTALLOC_PORTABLE: pinned for every context.
const PORTABLE: u32 = 1;
/// CU_STREAM_NON_BLOCKING.
const NON_BLOCKING: u32 = 1;

/// Bytes in use, and the ceiling on them; 0: none.
#[derive(Default)]
pub(crate) struct Ceiling {
    used: AtomicU64,
    limit: u64,
    /// Nothing is given back any more.
    keeps: AtomicBool,
}

impl Ceiling {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            used: AtomicU64::new(0),
            limit,
            keeps: AtomicBool::new(false),
        }
    }

    /// From now on nothing of it is given back: a device may still use it, and nobody can tell.
    pub(crate) fn keep_all(&self) {
        self.keeps.store(true, Ordering::SeqCst);
    }

    fn keeps(&self) -> bool {
        self.keeps.load(Ordering::SeqCst)
    }

    /// The most that may be in use; 0: there is no ceiling.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes` more, unless that exceeds the ceiling. `what` and `setting` word the error.
    fn take(&self, bytes: u64, what: &str, setting: &str) -> Result<()> {
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let used = used.checked_add(bytes)?;
                (self.limit == 0 || used <= self.limit).then_some(used)
            });
        match taken {
            Ok(_) => Ok(()),
            Err(used) if used.checked_add(bytes).is_none() => Err(Error::new(
                NORN_E_MEMORY,
                format!("{bytes} bytes of {what}: more than can be addressed, with {used} in use"),
            )),
            Err(used) => Err(Error::new(
                NORN_E_RESOURCE,
                format!(
                    "{bytes} bytes of {what}: {used} of {} are in use ({setting})",
                    self.limit
                ),
            )),
        }
    }

    fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// As `give`, once the driver has taken the memory back. After a fault of the device it takes nothing any more: the
    /// memory goes with the context.
    fn give_if(&self, given: Done, bytes: u64) {
        if given.is_ok() || given.is_err_and(Refused::is_terminal) {
            self.give(bytes);
        }
    }
}

/// Where a device's memory comes from.
pub(crate) struct DeviceMemory {
    pub(crate) ceiling: Ceiling,
    /// NULL where the device has no pools.
    pool: CUmemoryPool,
    /// Allocations and frees are queued here, and nothing else.
    stream: CUstream,
}

// SAFETY: the driver lets any thread use a pool and a stream; the pointers are only handed to it.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    /// For device `ordinal`, whose context is current.
    pub(crate) fn new(
        driver: &Driver,
        ordinal: i32,
        pools: bool,
        limit: u64,
    ) -> core::result::Result<Self, Refused> {
        let (mut pool, mut stream) = (core::ptr::null_mut(), core::ptr::null_mut());
        // SAFETY: writes the new stream.
        unsafe { driver.stream_create(&mut stream, NON_BLOCKING, 0) }?;
        if pools {
            // SAFETY: plain data, for which zero is valid and means the defaults.
            let mut properties: CUmemPoolProps = unsafe { core::mem::zeroed() };
            properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            properties.handleTypes = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
            properties.location = CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: ordinal,
            };
            // Memory once obtained is kept for the next datum.
            let mut keep = u64::MAX;
            // SAFETY: reads the properties, writes the new pool; the attribute's value is a cuuint64_t.
            let made = unsafe {
                driver.pool_create(&mut pool, &properties).and_then(|()| {
                    driver.pool_set_attribute(pool, RELEASE_THRESHOLD, (&raw mut keep).cast())
                })
            };
            if let Err(refused) = made {
                // SAFETY: made above, unused.
                let _ = unsafe { driver.stream_destroy(stream) };
                return Err(refused);
            }
        }
        Ok(Self {
            ceiling: Ceiling::new(limit),
            pool,
            stream,
        })
    }

    /// Gives pool and stream back, when the device closes. Its context is current.
    pub(crate) fn destroy(&self, driver: &Driver) {
        // SAFETY: both were made by `new`, and all memory has gone back.
        unsafe {
            let _ = driver.stream_synchronize(self.stream);
            let _ = driver.stream_destroy(self.stream);
            if !self.pool.is_null() {
                let _ = driver.pool_destroy(self.pool);
            }
        }
    }
}

/// A block of device memory.
struct DeviceBlock {
    device: Arc<Device>,
    address: u64,
    bytes: u64,
    /// From the pool; else from the driver's plain allocator.
    pooled: bool,
}

impl Device {
    /// `bytes` bytes of device memory, zeroed. `registrable`: transports of MPI may register it.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        bytes: u64,
        registrable: bool,
    ) -> Result<Box<dyn Memory>> {
        self.check_alive()?;
        let memory = &self.memory;
        let what = format!("memory on device {}", self.number);
        memory
            .ceiling
            .take(bytes, &what, "norn_device_config.max_bytes")?;
        let pooled = !registrable && !memory.pool.is_null();
        match self.obtain(bytes, pooled) {
            Ok(address) => Ok(Box::new(DeviceBlock {
                device: self.clone(),
                address,
                bytes,
                pooled,
            })),
            Err(refused) => {
                memory.ceiling.give(bytes);
                let error = Error::from(refused);
                Err(match error.status() {
                    NORN_E_MEMORY => Error::new(
                        NORN_E_MEMORY,
                        format!("{bytes} bytes of {what}: {}", error.text()),
                    ),
                    _ => error,
                })
            }
        }
    }

    fn obtain(&self, bytes: u64, pooled: bool) -> core::result::Result<u64, Refused> {
        let _entered = self.enter()?;
        let (driver, memory) = (self.driver, &self.memory);
        let size = bytes as usize;
        let mut address = 0;
        // SAFETY: writes the address; the block is filled and waited for on the stream that it was allocated on.
        unsafe {
            if pooled {
                driver.memory_alloc_from_pool(&mut address, size, memory.pool, memory.stream)?;
            } else {
                driver.memory_alloc(&mut address, size)?;
            }
            let filled = driver.fill_8(address, 0, size, memory.stream);
            let waited = driver.stream_synchronize(memory.stream);
            if let Err(refused) = filled.and(waited) {
                // From the pool it goes behind the fill; the plain allocator must know that the fill has ended.
                if pooled || waited.is_ok() || driver.stream_synchronize(memory.stream).is_ok() {
                    let _ = self.put_back(address, pooled);
                }
                return Err(refused);
            }
        }
        Ok(address)
    }

    /// # Safety
    /// The block is one of `obtain`, and nothing uses it. The context is current.
    unsafe fn put_back(&self, address: u64, pooled: bool) -> Done {
        // SAFETY: passed on from the caller.
        unsafe {
            if pooled {
                self.driver.memory_free_async(address, self.memory.stream)
            } else {
                self.driver.memory_free(address)
            }
        }
    }
}

impl Memory for DeviceBlock {
    fn address(&self) -> usize {
        self.address as usize
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        let ceiling = &self.device.memory.ceiling;
        if ceiling.keeps() {
            return;
        }
        let given = self.device.enter().and_then(|_entered| {
            // SAFETY: from `obtain`; a datum's memory is dropped after its last access has completed.
            unsafe { self.device.put_back(self.address, self.pooled) }
        });
        ceiling.give_if(given, self.bytes);
    }
}

/// Pinned host memory.
pub(crate) struct PinnedBlock {
    device: Arc<Device>,
    ceiling: Arc<Ceiling>,
    address: *mut c_void,
    bytes: u64,
}

// SAFETY: it owns the block, and gives away no more than its address.
unsafe impl Send for PinnedBlock {}
// SAFETY: as above.
unsafe impl Sync for PinnedBlock {}

impl Device {
    /// `bytes` bytes of host memory, pinned for every device and zeroed.
    pub(crate) fn allocate_pinned(
        self: &Arc<Self>,
        bytes: u64,
        ceiling: &Arc<Ceiling>,
    ) -> Result<Box<dyn Memory>> {
        let block = self.pin(bytes, ceiling)?;
        // SAFETY: the block is this long, and nobody else's.
        unsafe { block.address.cast::<u8>().write_bytes(0, bytes as usize) };
        Ok(Box::new(block))
    }

    /// As `allocate_pinned`, with whatever is in it.
    pub(crate) fn pin(self: &Arc<Self>, bytes: u64, ceiling: &Arc<Ceiling>) -> Result<PinnedBlock> {
        self.check_alive()?;
        ceiling.take(bytes, "pinned memory", "max_pinned_bytes, NORN_MAX_PINNED")?;
        let mut address = core::ptr::null_mut();
        let obtained = self.enter().and_then(|_entered| {
            // SAFETY: writes the address of a block of `bytes` bytes.
            unsafe {
                self.driver
                    .host_alloc(&mut address, bytes as usize, PORTABLE)
            }
        });
        if let Err(refused) = obtained {
            ceiling.give(bytes);
            return Err(Error::from(refused));
        }
        Ok(PinnedBlock {
            device: self.clone(),
            ceiling: ceiling.clone(),
            address,
            bytes,
        })
    }
}

impl PinnedBlock {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A device may use it for ever, and nobody can tell.
    pub(crate) fn is_kept_for_ever(&self) -> bool {
        self.ceiling.keeps()
    }
}

impl Memory for PinnedBlock {
    fn address(&self) -> usize {
        self.address as usize
    }
}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        if self.ceiling.keeps() {
            return;
        }
        let given = self.device.enter().and_then(|_entered| {
            // SAFETY: from `allocate_pinned`; a datum's memory is dropped after its last access has completed.
            unsafe { self.device.driver.host_free(self.address) }
        });
        self.ceiling.give_if(given, self.bytes);
    }
}
