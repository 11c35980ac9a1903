//! Handles of cuBLAS and cuSOLVER, found at run time, leased to enqueue bodies with their stream set.
//!
//! A handle has workspace that the work of one stream at a time may use. So it is leased to a stream, when the first body
//! on it asks, and goes back when the stream is idle again; there are no more than streams.

use core::ffi::{c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use super::driver::{load_first, unresolved};
use crate::abi::device_types::{NORN_PROVIDER_CUBLAS, NORN_PROVIDER_CUSOLVER};
use crate::abi::status::{NORN_E_DEVICE, NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::error::{Error, Result};

/// One of the two libraries: its name, the names of its files, newest first, and of its functions.
struct Names {
    library: &'static str,
    files: [&'static str; 4],
    create: &'static str,
    set_stream: &'static str,
    destroy: &'static str,
}

const CUBLAS: Names = Names {
    library: "cuBLAS",
    files: [
        "libcublas.so.13",
        "libcublas.so.12",
        "libcublas.so",
        "libcublas.so.11",
    ],
    create: "cublasCreate_v2",
    set_stream: "cublasSetStream_v2",
    destroy: "cublasDestroy_v2",
};

const CUSOLVER: Names = Names {
    library: "cuSOLVER",
    files: [
        "libcusolver.so.12",
        "libcusolver.so.11",
        "libcusolver.so",
        "libcusolver.so.10",
    ],
    create: "cusolverDnCreate",
    set_stream: "cusolverDnSetStream",
    destroy: "cusolverDnDestroy",
};

/// The functions of a library that is loaded for the life of the process.
struct Provider {
    names: &'static Names,
    create: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
    set_stream: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl Provider {
    fn get(kind: i32) -> Result<&'static Self> {
        type Found = OnceLock<core::result::Result<Provider, String>>;
        static BLAS: Found = OnceLock::new();
        static SOLVER: Found = OnceLock::new();
        let (found, names) = match kind {
            NORN_PROVIDER_CUBLAS => (&BLAS, &CUBLAS),
            NORN_PROVIDER_CUSOLVER => (&SOLVER, &CUSOLVER),
            _ => {
                return Err(Error::new(
                    NORN_E_INVALID,
                    format!("provider kind {kind} is none"),
                ));
            }
        };
        found
            .get_or_init(|| Self::find(names))
            .as_ref()
            .map_err(|text| Error::new(NORN_E_UNSUPPORTED, text.clone()))
    }

    fn find(names: &'static Names) -> core::result::Result<Self, String> {
        let (library, file) = load_first(&names.files)
            .map_err(|why| format!("{} is not found: {why}", names.library))?;
        Self::resolve(library, names)
            .map_err(|text| format!("{file} is no {} that norn can use: {text}", names.library))
    }

    fn resolve(library: &Library, names: &'static Names) -> core::result::Result<Self, String> {
        // SAFETY: for each call below, the function of this name has the type of its field.
        unsafe fn of<F: Copy>(library: &Library, name: &str) -> core::result::Result<F, String> {
            // SAFETY: passed on from the caller.
            unsafe { library.get::<F>(name.as_bytes()) }
                .map(|found| *found)
                .map_err(|error| unresolved(name, &error))
        }
        // SAFETY: as the library's header declares them; handle and stream are pointers.
        unsafe {
            Ok(Self {
                names,
                create: of(library, names.create)?,
                set_stream: of(library, names.set_stream)?,
                destroy: of(library, names.destroy)?,
            })
        }
    }

    fn check(&self, code: c_int, call: &str) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(Error::new(
                NORN_E_DEVICE,
                format!("{call} of {} gave {code}", self.names.library),
            )),
        }
    }
}

/// A handle on lease.
pub(crate) struct Lease {
    kind: i32,
    handle: *mut c_void,
}

// SAFETY: a handle may be used by any thread, one at a time; whoever has the lease is the only one.
unsafe impl Send for Lease {}

/// Handles of one device that nobody has on lease. Its context is current where its methods are called.
#[derive(Default)]
pub(crate) struct Handles {
    free: Vec<Lease>,
}

impl Handles {
    /// A handle with its stream set.
    pub(crate) fn lease(&mut self, kind: i32, stream: *mut c_void) -> Result<Lease> {
        let provider = Provider::get(kind)?;
        let position = self.free.iter().position(|lease| lease.kind == kind);
        let lease = match position {
            Some(position) => self.free.swap_remove(position),
            None => {
                let mut handle = core::ptr::null_mut();
                // SAFETY: writes the new handle, in the current context.
                let code = unsafe { (provider.create)(&mut handle) };
                provider.check(code, provider.names.create)?;
                Lease { kind, handle }
            }
        };
        // SAFETY: a handle of this library and a stream of the same context.
        let code = unsafe { (provider.set_stream)(lease.handle, stream) };
        match provider.check(code, provider.names.set_stream) {
            Ok(()) => Ok(lease),
            Err(error) => {
                self.free.push(lease);
                Err(error)
            }
        }
    }

    /// Takes handles back whose work has completed.
    pub(crate) fn give_back(&mut self, leases: Vec<Lease>) {
        self.free.extend(leases);
    }

    /// Destroys all, when the device closes.
    pub(crate) fn destroy(&mut self) {
        for lease in self.free.drain(..) {
            if let Ok(provider) = Provider::get(lease.kind) {
                // SAFETY: created by `lease`, in nobody's use, destroyed once.
                unsafe { (provider.destroy)(lease.handle) };
            }
        }
    }
}

impl Lease {
    pub(crate) fn kind(&self) -> i32 {
        self.kind
    }

    pub(crate) fn handle(&self) -> *mut c_void {
        self.handle
    }
}
