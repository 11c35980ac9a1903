//! The CUDA driver, found at run time: the calls that norn makes, as a table of its functions.
//!
//! Nothing of it is linked. The library is looked for when the first device is asked for, and every function is resolved
//! then, so that what is missing is one error with its name and not a crash later. Types come from cudarc. Its calls are not
//! used: they resolve their symbol in the call and panic if it is missing, and they return an enumeration, for which a
//! status that a newer driver adds would be undefined behaviour.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUDA_MEMCPY2D, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUhostFn, CUmemPoolProps,
    CUmemoryPool, CUmodule, CUstream, CUuuid, culib, is_culib_present,
};

use libloading::Library;

use crate::abi::status::{NORN_E_DEVICE, NORN_E_MEMORY, NORN_E_UNSUPPORTED};
use crate::error::{Error, Result};

/// A call that the driver refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Name of the driver's function.
    pub(crate) call: &'static str,
    /// Its status.
    pub(crate) code: i32,
}

/// What a call gave.
pub(crate) type Done = core::result::Result<(), Refused>;

pub(crate) const OUT_OF_MEMORY: i32 = 2;
const DEINITIALIZED: i32 = 4;
const STUB_LIBRARY: i32 = 34;
const NO_DEVICE: i32 = 100;
pub(crate) const NOT_FOUND: i32 = 500;
/// What it answers for memory that it knows nothing of, for one.
pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const NOT_READY: i32 = 600;

/// The legacy default stream.
pub(crate) const LEGACY_STREAM: usize = 1;
/// The calling thread's default stream, which means another stream on each thread.
pub(crate) const PER_THREAD_STREAM: usize = 2;

impl Refused {
    /// Whether the context is beyond use: the fault came from earlier work, and every later call fails too.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(
            self.code,
            DEINITIALIZED | 201 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721
        )
    }

    /// The driver's name and sentence for the status.
    pub(crate) fn text(self) -> String {
        let Ok(driver) = Driver::get() else {
            return format!("{} gave {}", self.call, self.code);
        };
        driver.describe(self)
    }
}

/// What the loader says, with its reason.
pub(super) fn reason(error: &dyn core::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// That a library lacks a function.
pub(super) fn unresolved(symbol: &str, error: &dyn core::error::Error) -> String {
    format!("there is no {symbol} ({})", reason(error))
}

/// The first of these libraries that the loader finds, for the life of the process, with its name; else why it takes none.
pub(super) fn load_first(
    names: &[&'static str],
) -> core::result::Result<(&'static Library, &'static str), String> {
    let mut refusals = Vec::new();
    for name in names {
        // SAFETY: loads the library through the ordinary loader, which runs its initialisers.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok((Box::leak(Box::new(library)), name)),
            Err(error) => refusals.push(reason(&error)),
        }
    }
    Err(refusals.join("; "))
}

/// # Safety
/// `text` is NULL or zero-terminated.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: passed on from the caller.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let status = match refused.code {
            OUT_OF_MEMORY => NORN_E_MEMORY,
            NO_DEVICE | STUB_LIBRARY => NORN_E_UNSUPPORTED,
            _ => NORN_E_DEVICE,
        };
        Error::new(status, refused.text())
    }
}

macro_rules! driver {
    ($($(#[$about:meta])* $symbol:ident: $name:ident($($argument:ident: $type:ty),*);)+) => {
        #[allow(non_snake_case)] // the driver's spelling
        struct Table {
            $($symbol: unsafe extern "C" fn($($type),*) -> c_int,)+
        }

        impl Table {
            fn resolve() -> core::result::Result<Self, String> {
                // SAFETY: the library is there, which `Driver::find` has seen.
                let library = unsafe { culib() };
                Ok(Self {
                    $($symbol: {
                        let name = concat!(stringify!($symbol), "\0");
                        // SAFETY: the driver's function of this name has this type.
                        let found = unsafe { library.get(name.as_bytes()) };
                        *found.map_err(|error| unresolved(stringify!($symbol), &error))?
                    },)+
                })
            }
        }

        impl Driver {
            $($(#[$about])*
            #[inline]
            #[allow(clippy::too_many_arguments)] // the driver's own parameters
            pub(crate) unsafe fn $name(&self $(, $argument: $type)*) -> Done {
                // SAFETY: passed on from the caller, who knows the driver's rules for this function.
                match unsafe { (self.table.$symbol)($($argument),*) } {
                    0 => Ok(()),
                    code => Err(Refused { call: stringify!($symbol), code }),
                }
            })+
        }
    };
}

driver! {
    cuInit: init(flags: c_uint);
    cuDriverGetVersion: get_version(version: *mut c_int);
    cuGetErrorName: get_error_name(code: c_int, name: *mut *const c_char);
    cuGetErrorString: get_error_string(code: c_int, text: *mut *const c_char);

    cuDeviceGetCount: device_get_count(count: *mut c_int);
    cuDeviceGet: device_get(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName: device_get_name(name: *mut c_char, length: c_int, device: CUdevice);
    cuDeviceGetUuid_v2: device_get_uuid(uuid: *mut CUuuid, device: CUdevice);
    cuDeviceTotalMem_v2: device_total_mem(bytes: *mut usize, device: CUdevice);
    cuDeviceGetAttribute: device_get_attribute(value: *mut c_int, attribute: c_int, device: CUdevice);
    cuDevicePrimaryCtxRetain: primary_context_retain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2: primary_context_release(device: CUdevice);

    cuCtxGetCurrent: context_get_current(context: *mut CUcontext);
    cuCtxSetCurrent: context_set_current(context: CUcontext);
    cuCtxGetDevice: context_get_device(device: *mut CUdevice);
    cuCtxSynchronize: context_synchronize();

    cuStreamCreateWithPriority: stream_create(stream: *mut CUstream, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2: stream_destroy(stream: CUstream);
    cuStreamQuery: stream_query(stream: CUstream);
    cuStreamSynchronize: stream_synchronize(stream: CUstream);
    cuStreamWaitEvent: stream_wait_event(stream: CUstream, event: CUevent, flags: c_uint);
    cuStreamGetCtx: stream_get_context(stream: CUstream, context: *mut CUcontext);
    cuLaunchHostFunc: launch_host_function(stream: CUstream, function: CUhostFn, argument: *mut c_void);

    cuEventCreate: event_create(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2: event_destroy(event: CUevent);
    cuEventRecord: event_record(event: CUevent, stream: CUstream);
    cuEventQuery: event_query(event: CUevent);
    cuEventSynchronize: event_synchronize(event: CUevent);

    cuMemAlloc_v2: memory_alloc(address: *mut CUdeviceptr, bytes: usize);
    cuMemFree_v2: memory_free(address: CUdeviceptr);
    cuMemAllocFromPoolAsync: memory_alloc_from_pool(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemFreeAsync: memory_free_async(address: CUdeviceptr, stream: CUstream);
    cuMemPoolCreate: pool_create(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    cuMemPoolDestroy: pool_destroy(pool: CUmemoryPool);
    cuMemPoolSetAttribute: pool_set_attribute(pool: CUmemoryPool, attribute: c_int, value: *mut c_void);
    cuMemHostAlloc: host_alloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemFreeHost: host_free(address: *mut c_void);
    cuPointerGetAttribute: pointer_get_attribute(value: *mut c_void, attribute: c_int, address: CUdeviceptr);

    cuMemcpyAsync: copy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync: copy_peer(to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream);
    cuMemcpy2DAsync_v2: copy_2d(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemsetD8Async: fill_8(to: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    cuMemsetD16Async: fill_16(to: CUdeviceptr, value: u16, count: usize, stream: CUstream);
    cuMemsetD32Async: fill_32(to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    cuMemsetD2D8Async: fill_2d_8(to: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize, stream: CUstream);
    cuMemsetD2D16Async: fill_2d_16(to: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize, stream: CUstream);
    cuMemsetD2D32Async: fill_2d_32(to: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize, stream: CUstream);

    cuModuleLoadDataEx: module_load(module: *mut CUmodule, image: *const c_void, options: c_uint, names: *mut c_int, values: *mut *mut c_void);
    cuModuleUnload: module_unload(module: CUmodule);
    cuModuleGetFunction: module_get_function(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuLaunchKernel: launch(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void);
}

/// See the module's text.
pub(crate) struct Driver {
    table: Table,
    /// 1000 times the major plus 10 times the minor version of CUDA that the driver speaks.
    version: i32,
}

impl Driver {
    /// The driver of this process, found and initialised by the first call.
    pub(crate) fn get() -> Result<&'static Self> {
        static DRIVER: OnceLock<core::result::Result<Driver, (i32, String)>> = OnceLock::new();
        DRIVER
            .get_or_init(Self::find)
            .as_ref()
            .map_err(|(status, text)| Error::new(*status, text.clone()))
    }

    fn find() -> core::result::Result<Self, (i32, String)> {
        let missing = |text: String| (NORN_E_UNSUPPORTED, format!("no device: {text}"));
        // SAFETY: loads the library through the ordinary loader, which runs its initialisers; any program that uses
        // CUDA does the same.
        if !unsafe { is_culib_present() } {
            return Err(missing(
                "the CUDA driver (libcuda.so.1) is not on this machine or not on the loader's path"
                    .into(),
            ));
        }
        let table = Table::resolve()
            .map_err(|text| missing(format!("the CUDA driver is too old for norn: {text}")))?;
        let mut driver = Self { table, version: 0 };
        let mut version = 0;
        // SAFETY: the first call of the driver, as it demands, and one that writes an integer.
        let started = unsafe {
            driver
                .init(0)
                .and_then(|()| driver.get_version(&mut version))
        };
        started.map_err(|refused| missing(driver.describe(refused)))?;
        driver.version = version;
        Ok(driver)
    }

    /// The driver's name and sentence for a status.
    fn describe(&self, refused: Refused) -> String {
        let (mut name, mut sentence) = (core::ptr::null(), core::ptr::null());
        // SAFETY: both are written on success only, with static strings.
        unsafe {
            let _ = self.get_error_name(refused.code, &mut name);
            let _ = self.get_error_string(refused.code, &mut sentence);
            let (name, sentence) = (text_of(name), text_of(sentence));
            format!(
                "{} gave {name} ({}): {sentence}",
                refused.call, refused.code
            )
        }
    }

    /// Version of CUDA that the driver speaks, such as 12040.
    pub(crate) fn version(&self) -> i32 {
        self.version
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_named_with_the_loaders_reason() {
        let why = load_first(&["libnorn_none.so.1", "libnorn_none.so.2"]).map(|_| ());
        let why = why.unwrap_err();
        for name in ["libnorn_none.so.1: ", "libnorn_none.so.2: "] {
            assert!(why.contains(name), "{why}");
        }
    }

    #[test]
    fn a_function_that_is_missing_is_named() {
        // SAFETY: every process here has it already.
        let library = unsafe { Library::new("libc.so.6") }.unwrap();
        // SAFETY: never called, for there is none.
        let error = unsafe { library.get::<unsafe extern "C" fn()>(b"norn_none") }.map(|_| ());
        let text = unresolved("norn_none", &error.unwrap_err());
        assert!(text.starts_with("there is no norn_none ("), "{text}");
        assert!(
            text.len() > "there is no norn_none (dlsym failed)".len(),
            "{text}"
        );
    }
}
