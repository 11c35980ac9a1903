//! Memory as its description asks for it: norn's own, and the caller's, which must be what it is said to be.

use super::Cuda;
use crate::abi::status::{NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::memory::Memory;

/// Whether a description of memory is for a lowering of devices.
pub(super) fn is_for_devices(desc: &norn_data_desc) -> bool {
    desc.place.kind == NORN_PLACE_DEVICE
        || matches!(desc.kind, NORN_MEMORY_PINNED | NORN_MEMORY_DEVICE)
}

impl Cuda {
    /// Memory as a description asks for it.
    pub(super) fn allocate_as_described(&self, desc: &norn_data_desc) -> Result<Box<dyn Memory>> {
        let on_device = desc.place.kind == NORN_PLACE_DEVICE;
        match (desc.kind, on_device) {
            (NORN_MEMORY_DEVICE, true) => {
                let device = self.device(desc.place, "desc.place")?;
                device.allocate(desc.bytes.max(1), false)
            }
            (NORN_MEMORY_MPI, true) => {
                let device = self.device(desc.place, "desc.place")?;
                device.allocate(desc.bytes.max(1), true)
            }
            (NORN_MEMORY_PINNED, false) => {
                let devices = self.devices.read();
                let device = devices
                    .first()
                    .ok_or_else(|| Error::new(NORN_E_UNSUPPORTED, "no device is open"))?;
                device.allocate_pinned(desc.bytes.max(1), &self.pinned)
            }
            (kind, _) => Err(mismatch(kind, on_device)),
        }
    }

    /// Checks that the first and the last byte of host memory are such as devices reach by themselves.
    fn check_pinned(&self, address: u64, bytes: u64) -> Result<()> {
        let device = self.devices.read().first().cloned();
        let Some(device) = device.filter(|_| bytes != 0) else {
            return Ok(());
        };
        let last = address.saturating_add(bytes - 1);
        if device.knows(address)? && device.knows(last)? {
            return Ok(());
        }
        Err(Error::new(
            NORN_E_INVALID,
            format!(
                "desc.ptr {address:#x} is not pinned, all {bytes} bytes of it: pin it first (cudaHostRegister), let norn_data_alloc make it, or register it as NORN_MEMORY_HOST"
            ),
        ))
    }

    /// What is said to be the host's is refused if only a device can use it.
    pub(super) fn check_not_of_device(&self, desc: &norn_data_desc) -> Option<Result<()>> {
        let address = desc.ptr as u64;
        let device = self.devices.read().first().cloned()?;
        let ordinal = device.ordinal_of(address).filter(|_| desc.bytes != 0)?;
        if device.is_managed(address) {
            return None;
        }
        Some(Err(Error::new(
            NORN_E_INVALID,
            format!(
                "desc.ptr {address:#x} is memory of visible device {ordinal}: say desc.kind NORN_MEMORY_DEVICE and desc.place"
            ),
        )))
    }

    /// Checks that the caller's memory is what its description says.
    pub(super) fn check_foreign(&self, desc: &norn_data_desc) -> Result<()> {
        let on_device = desc.place.kind == NORN_PLACE_DEVICE;
        match (desc.kind, on_device) {
            (NORN_MEMORY_DEVICE | NORN_MEMORY_MPI, true) => {
                let device = self.device(desc.place, "desc.place")?;
                if desc.bytes == 0 {
                    return Ok(());
                }
                device.check_owns(desc.ptr as u64, desc.bytes)
            }
            (NORN_MEMORY_PINNED, false) => self.check_pinned(desc.ptr as u64, desc.bytes),
            (kind, _) => Err(mismatch(kind, on_device)),
        }
    }
}

fn mismatch(kind: i32, on_device: bool) -> Error {
    let place = if on_device { "a device" } else { "the host" };
    Error::new(
        NORN_E_INVALID,
        format!("desc.kind {kind} is no memory of {place}, which desc.place says"),
    )
}
