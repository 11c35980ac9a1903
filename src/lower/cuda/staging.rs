//! Pinned host memory between a device and somebody who takes no device memory (MPI, where it is not device-aware).
//!
//! A block belongs to whoever stages through it until the last one lets go of it, which is after every copy and every message
//! that uses it has ended. Then it is kept for the next one: pinning costs more than the copy. Kept blocks count against the
//! runtime's ceiling as those in use do, and are freed when that is reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Cuda;
use super::copy::CopyPlan;
use super::device::Device;
use super::memory::{Ceiling, PinnedBlock};
use super::operation::Work;
use crate::abi::slice::norn_slice;
use crate::abi::status::NORN_E_RESOURCE;
use crate::abi::types::*;
use crate::error::Result;
use crate::order::memory::Memory;
use crate::run::lowering::StagedCopy;
use crate::run::runtime::Runtime;
use crate::run::slice::Slice;

/// Smaller blocks are not worth telling apart.
const SMALLEST: u64 = 64 << 10;

#[derive(Default)]
struct Kept {
    blocks: BTreeMap<u64, Vec<PinnedBlock>>,
    closed: bool,
}

/// Blocks that nobody stages through.
#[derive(Default)]
pub(crate) struct StagingPool {
    kept: Mutex<Kept>,
}

/// A block that somebody stages through.
struct Staging {
    pool: Arc<StagingPool>,
    block: Option<PinnedBlock>,
}

impl StagingPool {
    fn take(
        self: &Arc<Self>,
        device: &Arc<Device>,
        ceiling: &Arc<Ceiling>,
        bytes: u64,
    ) -> Result<Arc<dyn Memory>> {
        let size = bytes
            .max(SMALLEST)
            .checked_next_power_of_two()
            .unwrap_or(bytes);
        let kept = self
            .kept
            .lock()
            .blocks
            .get_mut(&size)
            .and_then(|blocks| blocks.pop());
        let block = match kept {
            Some(block) => block,
            None => match device.pin(size, ceiling) {
                Err(error) if error.status() == NORN_E_RESOURCE => {
                    // What is only kept makes room, and the rounding goes.
                    self.free_kept();
                    device.pin(bytes.max(1), ceiling)?
                }
                pinned => pinned?,
            },
        };
        Ok(Arc::new(Staging {
            pool: self.clone(),
            block: Some(block),
        }))
    }

    fn free_kept(&self) {
        let blocks = core::mem::take(&mut self.kept.lock().blocks);
        drop(blocks);
    }

    /// Frees what is kept, before the devices close.
    pub(crate) fn close(&self) {
        self.kept.lock().closed = true;
        self.free_kept();
    }

    fn give(&self, block: PinnedBlock) {
        let mut kept = self.kept.lock();
        if kept.closed {
            // Its context is gone, and the memory with it.
            core::mem::forget(block);
        } else if !block.is_kept_for_ever() {
            kept.blocks.entry(block.bytes()).or_default().push(block);
        }
    }
}

impl Memory for Staging {
    fn address(&self) -> usize {
        self.block.as_ref().map_or(0, Memory::address)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.pool.give(block);
        }
    }
}

impl Cuda {
    /// See `Lowering::staging`.
    pub(super) fn take_staging(&self, place: norn_place, bytes: u64) -> Result<Arc<dyn Memory>> {
        let device = self.device(place, "place")?;
        self.staging_pool.take(&device, &self.pinned, bytes)
    }

    /// See `Lowering::copy_staged`.
    pub(super) fn staged_copy(
        &self,
        runtime: &Runtime,
        slice: &norn_slice,
        memory: Arc<dyn Memory>,
        up: bool,
    ) -> Result<StagedCopy> {
        let name = if up { "to" } else { "from" };
        let on_device = runtime.resolve_copied(slice, name)?;
        let device = self.device(on_device.place, name)?;
        let on_host = Slice {
            start: memory.address(),
            count: on_device.count * on_device.blocks * on_device.planes,
            blocks: 1,
            stride: 0,
            planes: 1,
            plane_stride: 0,
            place: norn_place::default(),
            kind: NORN_MEMORY_PINNED,
            data: norn_data::default(),
            covers: false,
            ..on_device
        };
        let (plan, access) = if up {
            let plan = CopyPlan::new(&on_host, &on_device)?;
            (plan, on_device.access_as_target())
        } else {
            let plan = CopyPlan::new(&on_device, &on_host)?;
            (plan, on_device.access_as_source())
        };
        let work = Work::Staged { plan, memory };
        Ok(StagedCopy {
            operation: self.operation(device.number, work, 0, true),
            access,
        })
    }

    /// The place of the open device whose memory an address is in.
    pub(super) fn device_of_address(&self, address: usize) -> Option<norn_place> {
        let devices = self.devices.read();
        let first = devices.first()?;
        let ordinal = first.ordinal_of(address as u64)?;
        let device = devices.iter().find(|device| device.ordinal == ordinal)?;
        Some(norn_place {
            kind: NORN_PLACE_DEVICE,
            index: device.number,
        })
    }
}
