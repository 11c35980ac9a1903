//! The calls of the C API that make operations of devices, and those that ask.

use core::ffi::{CStr, c_void};
use std::sync::Arc;

use super::Cuda;
use super::copy::{CopyPlan, FillPlan};
use super::device::Device;
use super::kernel::{Accesses, Module};
use super::operation::Work;
use crate::abi::device_types::*;
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_INVALID, NORN_E_RESOURCE};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::run::runtime::Runtime;
use crate::run::slice::Slice;

/// How an operation is submitted: the description, and its arrays.
pub(crate) struct How<'a> {
    pub(crate) task: &'a norn_task,
    pub(crate) accesses: &'a [norn_access],
    pub(crate) after: &'a [norn_token],
}

impl How<'_> {
    /// Its accesses and those that its slices and arguments make.
    fn accesses_and(&self, own: impl IntoIterator<Item = norn_access>) -> Vec<norn_access> {
        let mut accesses = self.accesses.to_vec();
        accesses.extend(own);
        accesses
    }

    /// Submits a plan as a task of the host's.
    fn submit_on_host<P>(
        &self,
        runtime: &Runtime,
        plan: P,
        run: unsafe extern "C" fn(*mut norn_self, *mut c_void) -> i32,
        accesses: &[norn_access],
    ) -> Result<norn_token> {
        unsafe extern "C" fn free<P>(plan: *mut c_void) {
            // SAFETY: from the box just below, dropped once, after the body.
            drop(unsafe { Box::from_raw(plan.cast::<P>()) });
        }
        let plan = Box::into_raw(Box::new(plan));
        let task = norn_task {
            run: Some(run),
            enqueue: None,
            arg: plan.cast(),
            drop: Some(free::<P>),
            ..*self.task
        };
        let submitted = runtime.submit(&task, accesses, self.after);
        if submitted.is_err() {
            // SAFETY: an error has taken nothing.
            drop(unsafe { Box::from_raw(plan) });
        }
        submitted
    }
}

impl Cuda {
    /// The device that a slice lies on, if it lies on one.
    fn device_of(&self, slice: &Slice, name: &str) -> Result<Option<Arc<Device>>> {
        if !slice.is_on_device() {
            return Ok(None);
        }
        self.device(slice.place, name).map(Some)
    }

    fn submit(
        &self,
        runtime: &Runtime,
        how: &How<'_>,
        accesses: &[norn_access],
        device: i32,
        work: Work,
        joins: bool,
    ) -> Result<norn_token> {
        let stream = how.task.stream as usize;
        let operation = self.operation(device, work, stream, joins);
        runtime.submit_operation(how.task, accesses, how.after, operation)
    }

    /// `norn_module_load`.
    pub(crate) fn load_module(
        &self,
        device: norn_place,
        image: &[u8],
        options: Option<&CStr>,
    ) -> Result<norn_module> {
        let device = self.device(device, "device")?;
        let module = Module::load(&device, image, options)?;
        let mut modules = self.modules.write();
        let id = self.next_handle(modules.len())?;
        modules.push(module);
        Ok(norn_module { id })
    }

    /// `norn_kernel_get`.
    pub(crate) fn get_kernel(&self, module: norn_module, name: &CStr) -> Result<norn_kernel> {
        let kernel = {
            let modules = self.modules.read();
            let module = self
                .position_of(module.id)
                .and_then(|position| modules.get(position))
                .ok_or_else(|| {
                    Error::new(
                        NORN_E_INVALID,
                        format!("module {:#x} is none of this runtime", module.id),
                    )
                })?;
            module.kernel(name)?
        };
        let mut kernels = self.kernels.write();
        let id = self.next_handle(kernels.len())?;
        kernels.push(kernel);
        Ok(norn_kernel { id })
    }

    /// The handle of the module or kernel that comes behind `before` others. The lowering is in the upper half, so that a
    /// handle of another runtime, or of one that has closed, is not taken for one of this. Position 0 is number 1: no
    /// handle is 0.
    fn next_handle(&self, before: usize) -> Result<u64> {
        match u32::try_from(before + 1) {
            Ok(number) => Ok((u64::from(self.generation) << 32) | u64::from(number)),
            Err(_) => Err(Error::new(
                NORN_E_RESOURCE,
                "the runtime has 2^32 modules or kernels: norn_kernel_get gives a new handle for each call",
            )),
        }
    }

    fn position_of(&self, handle: u64) -> Option<usize> {
        let own = handle >> 32 == u64::from(self.generation);
        (own && handle as u32 != 0).then(|| handle as u32 as usize - 1)
    }

    /// `norn_launch`.
    ///
    /// # Safety
    /// The arguments are what their documentation says.
    pub(crate) unsafe fn launch(
        &self,
        runtime: &Runtime,
        desc: &norn_launch_desc,
        arguments: &[norn_argument],
        how: &How<'_>,
    ) -> Result<norn_token> {
        let kernels = self.kernels.read();
        let kernel = self
            .position_of(desc.kernel.id)
            .and_then(|position| kernels.get(position))
            .ok_or_else(|| {
                Error::new(
                    NORN_E_INVALID,
                    format!(
                        "launch.kernel {:#x} is none of this runtime",
                        desc.kernel.id
                    ),
                )
            })?;
        let number = kernel.number;
        if how.task.place.kind != NORN_PLACE_ANY || !how.task.stream.is_null() {
            let wanted = self.device_for(how.task, || Ok(kernel.device.clone()))?;
            if wanted.number != number {
                return Err(Error::new(
                    NORN_E_INVALID,
                    format!(
                        "place: kernel \"{}\" is of device {}, the place or stream of device {}",
                        kernel.name, number, wanted.number
                    ),
                ));
            }
        }
        let mut own = Accesses::new();
        let stream = how.task.stream as usize;
        let operation = self.operation_of(number, stream, true, |work| {
            let launch = work.become_launch(kernel, desc);
            // SAFETY: passed on from the caller.
            unsafe { launch.take_arguments(runtime, kernel, desc, arguments, &mut own) }
        })?;
        // A submission may call the application, which may ask for further kernels.
        drop(kernels);
        if own.is_empty() {
            return runtime.submit_operation(how.task, how.accesses, how.after, operation);
        }
        own.insert_from_slice(0, how.accesses);
        runtime.submit_operation(how.task, &own, how.after, operation)
    }

    /// `norn_device_get`.
    pub(crate) fn device_info(&self, place: norn_place) -> Result<norn_device_info> {
        Ok(self.device(place, "place")?.info(self.pinned.used()))
    }
}

/// `norn_copy`.
pub(crate) fn copy(
    runtime: &'static Runtime,
    from: &norn_slice,
    to: &norn_slice,
    how: &How<'_>,
) -> Result<norn_token> {
    let from = runtime.resolve_copied(from, "from")?;
    let to = runtime.resolve_copied(to, "to")?;
    let plan = CopyPlan::new(&from, &to)?;
    let own = [from.access_as_source(), to.access_as_target()];
    let accesses = how.accesses_and(own.into_iter().flatten());
    let on_host = !from.is_on_device() && !to.is_on_device();
    if on_host && how.task.place.kind != NORN_PLACE_DEVICE && how.task.stream.is_null() {
        unsafe extern "C" fn run(_: *mut norn_self, plan: *mut c_void) -> i32 {
            // SAFETY: the plan of this task, whose accesses keep others off the memory.
            unsafe { (*plan.cast::<CopyPlan>()).run_on_host() };
            0
        }
        return how.submit_on_host(runtime, plan, run, &accesses);
    }
    let cuda = Cuda::of(runtime)?;
    let source = cuda.device_of(&from, "from.place")?;
    let target = cuda.device_of(&to, "to.place")?;
    let plan = match (&source, &target) {
        (Some(source), Some(target)) if source.number != target.number => {
            plan.between(source.context.0, target.context.0)
        }
        _ => plan,
    };
    let device = cuda.device_for(how.task, || match target.or(source) {
        Some(device) => Ok(device),
        None => cuda.only_device("place"),
    })?;
    // The driver makes the host wait for a copy of pageable memory, and for what is before it on the stream.
    let joins = !from.is_pageable() && !to.is_pageable();
    cuda.submit(
        runtime,
        how,
        &accesses,
        device.number,
        Work::Copy(plan),
        joins,
    )
}

/// `norn_fill`. `element`: where one element is.
///
/// # Safety
/// `element` points to one element of the slice's type.
pub(crate) unsafe fn fill(
    runtime: &'static Runtime,
    to: &norn_slice,
    element: *const c_void,
    how: &How<'_>,
) -> Result<norn_token> {
    let to = runtime.resolve_copied(to, "to")?;
    // SAFETY: the caller promises as many bytes as the type has.
    let element = unsafe { core::slice::from_raw_parts(element.cast::<u8>(), to.element as usize) };
    let plan = FillPlan::new(&to, element);
    let accesses = how.accesses_and(to.access_as_target());
    let plain_place = how.task.place.kind != NORN_PLACE_DEVICE && how.task.stream.is_null();
    if !to.is_on_device() && plain_place {
        unsafe extern "C" fn run(_: *mut norn_self, plan: *mut c_void) -> i32 {
            // SAFETY: the plan of this task, whose accesses keep others off the memory.
            unsafe { (*plan.cast::<FillPlan>()).run_on_host() };
            0
        }
        return how.submit_on_host(runtime, plan, run, &accesses);
    }
    let cuda = Cuda::of(runtime)?;
    let Some(target) = cuda.device_of(&to, "to.place")? else {
        return Err(Error::new(
            NORN_E_INVALID,
            "place: a device fills its own memory; host memory is filled by the host",
        ));
    };
    let device = cuda.device_for(how.task, || Ok(target))?;
    cuda.submit(
        runtime,
        how,
        &accesses,
        device.number,
        Work::Fill(plan),
        true,
    )
}
