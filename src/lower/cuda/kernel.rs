//! Modules, kernels, and launches of them.

use core::ffi::{CStr, c_void};
use std::collections::BTreeSet;
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction, CUmodule, CUstream};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::device::Device;
use super::driver::{Done, Driver, NOT_FOUND, Refused};
use super::nvrtc;
use crate::abi::device_types::*;
use crate::abi::status::{NORN_E_DEVICE, NORN_E_INVALID};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::run::runtime::Runtime;

/// CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.
const JIT_ERROR_LOG: i32 = 5;
const JIT_ERROR_LOG_BYTES: i32 = 6;
const LOG_BYTES: usize = 8192;

/// Bytes that one argument may have, which is what kernels take in all.
const MOST_ARGUMENT_BYTES: u64 = 4096;
/// The first bytes of a compiled image: an ELF file (cubin), or the header of a fatbin.
const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];
const FATBIN: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// A loaded module.
pub(crate) struct Module {
    device: Arc<Device>,
    raw: CUmodule,
}

// SAFETY: the driver lets any thread use a module; the pointer is only handed to it.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A kernel of a loaded module.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) device: Arc<Device>,
    /// Of its device, beside which counts lie that the thread that makes passes changes.
    pub(crate) number: i32,
    function: Function,
    pub(crate) name: &'static str,
}

#[derive(Clone, Copy)]
struct Function(CUfunction);

// SAFETY: as for modules.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The name of a kernel, kept for the life of the process: programs have few, and every launch names one.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.into());
    names.insert(new);
    new
}

/// What an image is.
fn is_source(image: &[u8]) -> bool {
    let compiled = image.starts_with(&ELF) || image.starts_with(&FATBIN);
    // PTX begins, after comments, with its version.
    let is_ptx = || {
        let text = String::from_utf8_lossy(image);
        let directive = |line: &str| line.trim_start().starts_with(".version");
        text.lines().any(directive)
    };
    !compiled && !is_ptx()
}

impl Module {
    /// Loads PTX, a cubin, a fatbin, or source, which NVRTC compiles for the device.
    pub(crate) fn load(device: &Arc<Device>, image: &[u8], options: Option<&CStr>) -> Result<Self> {
        device.check_alive()?;
        if image.is_empty() {
            return Err(Error::new(NORN_E_INVALID, "bytes is 0: there is no image"));
        }
        if is_source(image) {
            let compiled = nvrtc::compile(image, device.capability(), options)?;
            return Self::load_image(device, &compiled);
        }
        if options.is_some_and(|options| !options.is_empty()) {
            return Err(Error::new(
                NORN_E_INVALID,
                "options are for source; the image is compiled already",
            ));
        }
        Self::load_image(device, image)
    }

    fn load_image(device: &Arc<Device>, image: &[u8]) -> Result<Self> {
        // PTX is text and must be ended; the others do not mind.
        let mut ended = image.to_vec();
        ended.push(0);
        let mut log = vec![0u8; LOG_BYTES];
        let mut names = [JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        let mut raw = core::ptr::null_mut();
        let loaded = device.enter().and_then(|_entered| {
            // SAFETY: the image is ended, the log has the length that it is said to have, and both live.
            unsafe {
                device.driver.module_load(
                    &mut raw,
                    ended.as_ptr().cast(),
                    names.len() as u32,
                    names.as_mut_ptr(),
                    values.as_mut_ptr(),
                )
            }
        });
        loaded.map_err(|refused| {
            let length = log.iter().position(|byte| *byte == 0).unwrap_or(0);
            let log = String::from_utf8_lossy(&log[..length]);
            let separator = if log.is_empty() { "" } else { "\n" };
            Error::new(NORN_E_DEVICE, format!("{}{separator}{log}", refused.text()))
        })?;
        Ok(Self {
            device: device.clone(),
            raw,
        })
    }

    /// The kernel of this name.
    pub(crate) fn kernel(&self, name: &CStr) -> Result<Kernel> {
        let mut function = core::ptr::null_mut();
        let found = self.device.enter().and_then(|_entered| {
            // SAFETY: the module is loaded, the name ended; writes the function.
            unsafe {
                self.device
                    .driver
                    .module_get_function(&mut function, self.raw, name.as_ptr())
            }
        });
        found.map_err(|refused: Refused| {
            // Only this says that the name is wrong; anything else is the device's failure.
            let status = match refused.code {
                NOT_FOUND => NORN_E_INVALID,
                _ => Error::from(refused).status(),
            };
            Error::new(
                status,
                format!("kernel \"{}\": {}", name.to_string_lossy(), refused.text()),
            )
        })?;
        Ok(Kernel {
            device: self.device.clone(),
            number: self.device.number,
            function: Function(function),
            name: kept(&name.to_string_lossy()),
        })
    }

    /// Unloads it, when nothing of it runs any more.
    pub(crate) fn unload(&self) {
        if self.device.is_silent() {
            return;
        }
        if let Ok(_entered) = self.device.enter() {
            // SAFETY: loaded by `load_image`, unloaded once.
            let _ = unsafe { self.device.driver.module_unload(self.raw) };
        }
    }
}

/// Copies the value of an argument.
///
/// # Safety
/// The value has as many bytes as it says, and there is room for them from `to` on.
#[inline(always)]
unsafe fn copy_value(argument: &norn_argument, to: *mut u128) {
    // SAFETY: passed on from the caller; what a program has written does not overlap norn's own memory.
    unsafe {
        core::ptr::copy_nonoverlapping(
            argument.value.cast::<u8>(),
            to.cast(),
            argument.bytes as usize,
        );
    }
}

/// A size in which 0 stands for 1.
fn at_least_one([x, y, z]: [u32; 3]) -> [u32; 3] {
    [x.max(1), y.max(1), z.max(1)]
}

/// The accesses of a launch: those of the caller and of its arguments.
pub(crate) type Accesses = SmallVec<[norn_access; 8]>;

/// A launch with its arguments.
pub(crate) struct Launch {
    function: Function,
    pub(crate) name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    /// The values, each at a multiple of 16 bytes, and where each begins. Those of most kernels fit.
    values: SmallVec<[u128; 6]>,
    starts: SmallVec<[u32; 6]>,
}

impl Launch {
    /// A launch that is still without arguments.
    #[inline(always)]
    pub(crate) fn new(kernel: &Kernel, desc: &norn_launch_desc) -> Self {
        Self {
            function: kernel.function,
            name: kernel.name,
            grid: at_least_one(desc.grid),
            block: at_least_one(desc.block),
            shared_bytes: desc.shared_bytes,
            values: SmallVec::new(),
            starts: SmallVec::new(),
        }
    }

    /// Copies the arguments that a launch is given and adds the accesses that they make.
    ///
    /// # Safety
    /// `arguments` are what their documentation says.
    pub(crate) unsafe fn take_arguments(
        &mut self,
        runtime: &Runtime,
        kernel: &Kernel,
        desc: &norn_launch_desc,
        arguments: &[norn_argument],
        accesses: &mut Accesses,
    ) -> Result<()> {
        if desc.flags != 0 {
            return Err(Error::new(
                NORN_E_INVALID,
                "launch.flags is reserved and must be 0",
            ));
        }
        if arguments.is_empty() {
            return Ok(());
        }
        let named = |argument: &&norn_argument| argument.kind == NORN_ARGUMENT_DATA;
        let named = arguments.iter().filter(named).map(|argument| argument.data);
        let mut memories: SmallVec<[_; 4]> = SmallVec::new();
        runtime
            .graph()
            .memories_of(named, |memory| memories.push(memory));
        let mut memories = memories.into_iter();
        for (position, argument) in arguments.iter().enumerate() {
            let at =
                |text: String| Error::new(NORN_E_INVALID, format!("arguments[{position}].{text}"));
            self.starts.push(self.values.len() as u32);
            match argument.kind {
                NORN_ARGUMENT_VALUE => {
                    if argument.value.is_null() {
                        return Err(at("value is NULL".into()));
                    }
                    if argument.bytes == 0 {
                        return Err(at("bytes is 0".into()));
                    }
                    if argument.bytes > MOST_ARGUMENT_BYTES {
                        return Err(at(format!(
                            "bytes is {}, more than {MOST_ARGUMENT_BYTES}",
                            argument.bytes
                        )));
                    }
                    let words = argument.bytes.div_ceil(16) as usize;
                    if words == 1 {
                        let mut word = 0u128;
                        // SAFETY: the caller promises the bytes of the value, 16 at most.
                        unsafe { copy_value(argument, &mut word) };
                        self.values.push(word);
                        continue;
                    }
                    let start = self.values.len();
                    self.values.resize(start + words, 0);
                    // SAFETY: the caller promises the bytes of the value; there is room for them.
                    unsafe { copy_value(argument, self.values[start..].as_mut_ptr()) };
                }
                NORN_ARGUMENT_DATA => {
                    let Some(memory) = memories.next() else {
                        return Err(at("kind has changed during the call".into()));
                    };
                    let (memory, place, memory_kind) =
                        memory.map_err(|error| at(format!("data: {}", error.text())))?;
                    if !(0..=NORN_COMMUTE).contains(&argument.mode) {
                        return Err(at(format!("mode {} is none of a kernel's", argument.mode)));
                    }
                    let span = memory.span().unwrap_or(0);
                    if argument.offset > span {
                        return Err(at(format!(
                            "offset {} is beyond the end of a datum of {span} bytes",
                            argument.offset
                        )));
                    }
                    if !memory.has_or_ends_at(argument.offset) {
                        return Err(at(format!(
                            "offset {} leaves the rows of {}",
                            argument.offset,
                            memory.describe_rows()
                        )));
                    }
                    let address = memory.start as u64 + argument.offset;
                    if place.kind == NORN_PLACE_DEVICE && place.index != kernel.number {
                        return Err(at(format!(
                            "data: the datum is on device {}, the kernel on device {}, which does not reach it; copy it there (norn_copy)",
                            place.index, kernel.number
                        )));
                    }
                    let of_host = place.kind != NORN_PLACE_DEVICE
                        && memory_kind != NORN_MEMORY_PINNED
                        && span != 0;
                    if of_host && !kernel.device.reaches(memory.start as u64)? {
                        return Err(at(
                            "data: the datum is ordinary memory of the host, which kernels of this device cannot reach"
                                .into(),
                        ));
                    }
                    self.values.push(u128::from(address));
                    if argument.mode != 0 {
                        accesses.push(norn_access {
                            data: argument.data,
                            mode: argument.mode,
                            ..norn_access::default()
                        });
                    }
                }
                kind => return Err(at(format!("kind {kind} is none"))),
            }
        }
        Ok(())
    }

    /// Queues the kernel.
    ///
    /// # Safety
    /// What the arguments point to stays valid until the stream has come that far; the stream's context is current.
    pub(crate) unsafe fn queue(&self, driver: &Driver, stream: CUstream) -> Done {
        let mut pointers: SmallVec<[*mut c_void; 16]> = self
            .starts
            .iter()
            .map(|start| {
                (&raw const self.values[*start as usize])
                    .cast_mut()
                    .cast::<c_void>()
            })
            .collect();
        let ([x, y, z], [bx, by, bz]) = (self.grid, self.block);
        // SAFETY: the driver copies the arguments in the call, and only reads them; their number and sizes are what
        // the application said of its kernel.
        unsafe {
            driver.launch(
                self.function.0,
                x,
                y,
                z,
                bx,
                by,
                bz,
                self.shared_bytes,
                stream,
                pointers.as_mut_ptr(),
                core::ptr::null_mut(),
            )
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_told_from_source() {
        assert!(is_source(b"extern \"C\" __global__ void f() {}"));
        assert!(!is_source(
            b"// made by hand\n\n.version 8.0\n.target sm_70\n"
        ));
        assert!(!is_source(b"\x7fELF\x02"));
        assert!(!is_source(&FATBIN));
    }
}
