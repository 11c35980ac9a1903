//! Devices: opening them, copies and fills, kernels, and the application's own streams.

use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;

use super::device_types::*;
use super::guard::{guard, not_null, null, read, read_in_place, slice, string, write};
use super::handle;
use super::how::check_bodiless;
use super::slice::norn_slice;
use super::status::norn_status;
use super::types::*;
use crate::error::Result;
use crate::lower::cuda::Cuda;
use crate::lower::cuda::calls::{self, How};

/// Opens a device for this runtime; one that is open already is given again. Nothing of CUDA is called or loaded before the
/// first call of this function. norn uses the device's primary context, and so shares streams, handles and pointers with
/// the application.
///
/// `config`: NULL for the device that is current on this thread. Where the device is open already, its `max_bytes` and
/// `streams` stay as they were given first; others than 0 that differ are told to the log as a warning. `place` receives
/// the device as a place, for `norn_data_desc.place` and `norn_task.place`.
/// Errors: `NORN_E_UNSUPPORTED` (no driver or no device; the text says what is missing), `NORN_E_INVALID` (no such device),
/// `NORN_E_DEVICE` (the driver's text), `NORN_E_MEMORY`. Any thread; blocks while the driver starts.
///
/// # Safety
/// `config` is NULL or readable, and its strings zero-terminated; `place` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_device_open(
    rt: *mut norn_runtime,
    config: *const norn_device_config,
    place: *mut norn_place,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let place = not_null(place, "place")?;
        let config = if config.is_null() {
            // SAFETY: integers and a pointer, for which zero is valid.
            unsafe { core::mem::zeroed() }
        } else {
            // SAFETY: not NULL; the caller promises a readable structure.
            unsafe { read(config) }?
        };
        // SAFETY: passed on from the caller.
        let opened = unsafe { Cuda::of(rt)?.open(rt, &config) }?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { place.write(opened) };
        Ok(())
    })
}

/// Fills `info` with what is known of an open device. Set `info->struct_size` before (`NORN_DEVICE_INFO_INIT`).
/// Errors: `NORN_E_INVALID` (no open device of this runtime), `NORN_E_UNSUPPORTED` (none is open at all). Any thread; never
/// blocks.
///
/// # Safety
/// `info` points to a structure of the size its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_device_get(
    rt: *mut norn_runtime,
    place: norn_place,
    info: *mut norn_device_info,
) -> norn_status {
    guard(rt, || {
        let value = Cuda::opened(handle::runtime(rt)?)?.device_info(place)?;
        // SAFETY: passed on from the caller.
        unsafe { write(info, &value) }
    })
}

/// Copies elements as an operation of the graph: between any two places, in rows and planes too. Both sides hold the same
/// number of elements of the same size in the same arrangement; a side that is one run of elements is arranged as the
/// other one is. They share no memory (`NORN_E_INVALID`; rows that interleave are fine). It is carried out by the device of `how->place`, else by the target's, else by the source's; between two
/// slices of host memory by a worker.
///
/// `how`: name, accesses, after, priority, flags, group, place, stream and `as` are read; NULL for none of these. What belongs
/// to a body (`run`, `enqueue`, `arg`, `drop`, `NORN_COPY_ARG`) must not be given; `cpus` means nothing here.
/// `token_or_null` receives the token. Memory that no datum names must live until it has completed.
/// Errors: `NORN_E_INVALID` (the text names the field), `NORN_E_UNSUPPORTED` (no device), otherwise as `norn_submit`.
/// Any thread, inside tasks too; never blocks.
///
/// # Safety
/// The slices describe memory of their places; the pointers in `how` are what its documentation says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_copy(
    rt: *mut norn_runtime,
    from: *const norn_slice,
    to: *const norn_slice,
    how: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let (from, to) = unsafe { (plain(from, "from")?, plain(to, "to")?) };
        let mut own = MaybeUninit::uninit();
        // SAFETY: passed on from the caller.
        let how = unsafe { described(how, &mut own) }?;
        let token = calls::copy(rt, from, to, &how)?;
        // SAFETY: passed on from the caller.
        unsafe { give(token_or_null, token) };
        Ok(())
    })
}

/// Sets every element of a slice to `*element` (of the slice's type; copied) as an operation of the graph. On the device
/// that the slice lies on; in host memory by a worker. `how`, `token_or_null`, errors and threads as `norn_copy`.
///
/// # Safety
/// As `norn_copy`; `element` points to one element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_fill(
    rt: *mut norn_runtime,
    to: *const norn_slice,
    element: *const c_void,
    how: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let to = unsafe { plain(to, "to") }?;
        if element.is_null() {
            return Err(null("element"));
        }
        let mut own = MaybeUninit::uninit();
        // SAFETY: passed on from the caller.
        let token = unsafe { calls::fill(rt, to, element, &described(how, &mut own)?) }?;
        // SAFETY: passed on from the caller.
        unsafe { give(token_or_null, token) };
        Ok(())
    })
}

/// A token for all work that the application has queued so far on a stream of its own. `stream`: a `CUstream` or
/// `cudaStream_t`; NULL is the legacy default stream.
/// Errors: `NORN_E_INVALID`, `NORN_E_UNSUPPORTED` (no device is open), `NORN_E_DEVICE`, `NORN_E_CLOSED`. Any thread, inside
/// tasks too; does not wait for the work. The stream is not used after this call has returned: it may be destroyed then.
///
/// # Safety
/// `stream` is a stream of the device's primary context; `token` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_stream_record(
    rt: *mut norn_runtime,
    device: norn_place,
    stream: *mut c_void,
    token: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let token = not_null(token, "token")?;
        let recorded = Cuda::opened(rt)?.record(rt, device, stream)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { token.write(recorded) };
        Ok(())
    })
}

/// Work that the application queues later on a stream of its own waits for the token. The host waits only until the
/// token's operation has been handed to its device (for other tokens: until it is complete). `stream` as for
/// `norn_stream_record`. Returns how the token ended if it has failed by then, `NORN_E_TIMEOUT` after `timeout_ns`,
/// `NORN_E_UNSUPPORTED` where no device is open, otherwise as `norn_await`. After an error nothing is left of the call, and
/// the stream is not used any more: it may be destroyed. Any thread; blocks; not inside an enqueue body or a callback
/// (`NORN_E_THREAD`), unless the token is complete.
///
/// # Safety
/// `stream` is a stream of the device's primary context, and lives until the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_stream_wait(
    rt: *mut norn_runtime,
    token: norn_token,
    device: norn_place,
    stream: *mut c_void,
    timeout_ns: i64,
) -> norn_status {
    guard(rt, || {
        let rt = handle::waiting(rt)?;
        Cuda::opened(&rt)?.wait(&rt, token, device, stream, timeout_ns)
    })
}

/// Loads kernels for one device: PTX, a cubin, a fatbin, or CUDA C++ source, which NVRTC compiles (`libnvrtc.so`, found at
/// run time). `options`: for source, options of NVRTC's with spaces between; NULL for none.
/// Errors: `NORN_E_DEVICE` (the text holds the compiler's log), `NORN_E_UNSUPPORTED` (no NVRTC; no device is open),
/// `NORN_E_INVALID`.
/// Any thread; blocks while it compiles. The image is copied; the module lives until the runtime closes.
///
/// # Safety
/// `image` points to `bytes` bytes; `options` is NULL or zero-terminated; `module` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_module_load(
    rt: *mut norn_runtime,
    device: norn_place,
    image: *const c_void,
    bytes: u64,
    options: *const c_char,
    module: *mut norn_module,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        // SAFETY: passed on from the caller.
        let image = unsafe { slice(image.cast::<u8>(), bytes, "image") }?;
        let module = not_null(module, "module")?;
        // SAFETY: passed on from the caller.
        let options = unsafe { string(options) };
        let loaded = Cuda::opened(rt)?.load_module(device, image, options)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { module.write(loaded) };
        Ok(())
    })
}

/// A kernel of a module by the name that it has there (`extern "C"`, or the mangled one).
/// Errors: `NORN_E_INVALID` (no such module or kernel), `NORN_E_UNSUPPORTED` (no device is open). Any thread; never blocks.
///
/// # Safety
/// `name` is zero-terminated, `kernel` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_kernel_get(
    rt: *mut norn_runtime,
    module: norn_module,
    name: *const c_char,
    kernel: *mut norn_kernel,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let kernel = not_null(kernel, "kernel")?;
        // SAFETY: passed on from the caller.
        let name = unsafe { string(name) }.ok_or_else(|| null("name"))?;
        let found = Cuda::opened(rt)?.get_kernel(module, name)?;
        // SAFETY: not NULL, and the caller promises it is writable.
        unsafe { kernel.write(found) };
        Ok(())
    })
}

/// Launches a kernel as an operation of the graph. Number, order and sizes of the arguments must be the kernel's: norn
/// cannot check them. `how`, `token_or_null` and threads as `norn_copy`. Errors: `NORN_E_INVALID` (the text names the
/// argument; a datum in ordinary memory of the host is one, where the device cannot reach it, and one on another device),
/// `NORN_E_UNSUPPORTED` (no device is open), otherwise as `norn_submit`; what the driver refuses (a block that is too
/// large, say) fails the token.
///
/// # Safety
/// `launch` and what it points to are what its documentation says; the pointers in `how` too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norn_launch(
    rt: *mut norn_runtime,
    launch: *const norn_launch_desc,
    how: *const norn_task,
    token_or_null: *mut norn_token,
) -> norn_status {
    guard(rt, || {
        let rt = handle::runtime(rt)?;
        let (mut own_launch, mut own) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: passed on from the caller.
        let launch = unsafe { read_in_place(launch, &mut own_launch) }?;
        let arguments =
            // SAFETY: passed on from the caller.
            unsafe { slice(launch.arguments, launch.argument_count, "launch.arguments") }?;
        let cuda = Cuda::opened_here(rt)?;
        // SAFETY: passed on from the caller.
        let token = unsafe { cuda.launch(rt, launch, arguments, &described(how, &mut own)?) }?;
        // SAFETY: passed on from the caller.
        unsafe { give(token_or_null, token) };
        Ok(())
    })
}

/// # Safety
/// `pointer` is NULL or points to a structure without a size.
unsafe fn plain<'a>(pointer: *const norn_slice, name: &'static str) -> Result<&'a norn_slice> {
    // SAFETY: passed on from the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// How an operation is submitted. `own`: where the description is put if it cannot stay where it is.
///
/// # Safety
/// `how` is NULL or a task whose arrays are readable, for `'a`.
#[inline(always)]
unsafe fn described<'a>(
    how: *const norn_task,
    own: &'a mut MaybeUninit<norn_task>,
) -> Result<How<'a>> {
    if how.is_null() {
        return Ok(How {
            // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
            task: own.write(unsafe { core::mem::zeroed() }),
            accesses: &[],
            after: &[],
        });
    }
    // SAFETY: not NULL; passed on from the caller.
    let task = unsafe { read_in_place(how, own) }?;
    check_bodiless(task)?;
    Ok(How {
        task,
        // SAFETY: passed on from the caller.
        accesses: unsafe { slice(task.accesses, task.access_count, "how.accesses") }?,
        // SAFETY: passed on from the caller.
        after: unsafe { slice(task.after, task.after_count, "how.after") }?,
    })
}

/// # Safety
/// `token_or_null` is NULL or writable.
unsafe fn give(token_or_null: *mut norn_token, token: norn_token) {
    if !token_or_null.is_null() {
        // SAFETY: passed on from the caller.
        unsafe { token_or_null.write(token) };
    }
}
