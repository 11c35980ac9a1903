//! NVRTC, found at run time: kernels from source.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;
use std::sync::OnceLock;

use libloading::Library;

use super::driver::{load_first, unresolved};
use crate::abi::status::{NORN_E_DEVICE, NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::error::{Error, Result};

/// Names of the library, newest first.
const NAMES: [&str; 4] = [
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so",
    "libnvrtc.so.11.2",
];

type Program = *mut c_void;

/// The functions that are used, of whatever version: their types have never changed.
struct Compiler {
    name: &'static str,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Compiler {
    fn get() -> Result<&'static Self> {
        static COMPILER: OnceLock<core::result::Result<Compiler, String>> = OnceLock::new();
        COMPILER
            .get_or_init(Self::find)
            .as_ref()
            .map_err(|text| Error::new(NORN_E_UNSUPPORTED, text.clone()))
    }

    fn find() -> core::result::Result<Self, String> {
        let (library, name) = load_first(&NAMES)
            .map_err(|why| format!("kernels from source need NVRTC, which is not found: {why}"))?;
        Self::resolve(library, name)
            .map_err(|text| format!("kernels from source need another NVRTC than {name}: {text}"))
    }

    fn resolve(library: &Library, name: &'static str) -> core::result::Result<Self, String> {
        // SAFETY: for each call below, the function of this name has the type of its field.
        unsafe fn of<F: Copy>(library: &Library, name: &str) -> core::result::Result<F, String> {
            // SAFETY: passed on from the caller.
            unsafe { library.get::<F>(name.as_bytes()) }
                .map(|found| *found)
                .map_err(|error| unresolved(name, &error))
        }
        // SAFETY: as NVRTC's header declares them.
        unsafe {
            Ok(Self {
                name,
                create: of(library, "nvrtcCreateProgram")?,
                compile: of(library, "nvrtcCompileProgram")?,
                ptx_size: of(library, "nvrtcGetPTXSize")?,
                ptx: of(library, "nvrtcGetPTX")?,
                log_size: of(library, "nvrtcGetProgramLogSize")?,
                log: of(library, "nvrtcGetProgramLog")?,
                destroy: of(library, "nvrtcDestroyProgram")?,
                error: of(library, "nvrtcGetErrorString")?,
            })
        }
    }
}

/// A program being compiled.
struct Compilation {
    compiler: &'static Compiler,
    program: Program,
}

impl Drop for Compilation {
    fn drop(&mut self) {
        // SAFETY: created by `compile`, destroyed once.
        unsafe { (self.compiler.destroy)(&mut self.program) };
    }
}

impl Compilation {
    /// A text of the program's, of which `size` gives the length and `get` the characters.
    fn text(
        &self,
        size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
        get: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ) -> Vec<u8> {
        let mut length = 0;
        // SAFETY: writes the length, and then as many characters.
        unsafe {
            if size(self.program, &mut length) != 0 || length == 0 {
                return Vec::new();
            }
            let mut text = vec![0u8; length];
            if get(self.program, text.as_mut_ptr().cast()) != 0 {
                return Vec::new();
            }
            text.pop();
            text
        }
    }
}

/// Compiles source to PTX for a compute capability (10 times the major plus the minor). `options`: further options of
/// NVRTC's, with spaces between.
pub(crate) fn compile(source: &[u8], capability: i32, options: Option<&CStr>) -> Result<Vec<u8>> {
    let compiler = Compiler::get()?;
    let source = CString::new(source)
        .map_err(|_| Error::new(NORN_E_INVALID, "the source holds a character 0"))?;
    let given = options.unwrap_or_default().to_string_lossy();
    let mut arguments: Vec<CString> = given
        .split_whitespace()
        .filter_map(|option| CString::new(option).ok())
        .collect();
    if !given.contains("-arch") {
        arguments.extend(CString::new(format!(
            "--gpu-architecture=compute_{capability}"
        )));
    }
    let pointers: Vec<*const c_char> = arguments.iter().map(|option| option.as_ptr()).collect();
    let mut program = core::ptr::null_mut();
    // SAFETY: source and name are ended; no headers are given; writes the program.
    let created = unsafe {
        (compiler.create)(
            &mut program,
            source.as_ptr(),
            c"source.cu".as_ptr(),
            0,
            core::ptr::null(),
            core::ptr::null(),
        )
    };
    if created != 0 {
        return Err(refused(compiler, "nvrtcCreateProgram", created, ""));
    }
    let compilation = Compilation { compiler, program };
    // SAFETY: the options are ended and live.
    let compiled =
        unsafe { (compiler.compile)(program, pointers.len() as c_int, pointers.as_ptr()) };
    if compiled != 0 {
        let log = compilation.text(compiler.log_size, compiler.log);
        let log = String::from_utf8_lossy(&log);
        return Err(refused(compiler, "nvrtcCompileProgram", compiled, &log));
    }
    Ok(compilation.text(compiler.ptx_size, compiler.ptx))
}

fn refused(compiler: &Compiler, call: &str, code: c_int, log: &str) -> Error {
    // SAFETY: gives a static string for every number.
    let name = unsafe { (compiler.error)(code) };
    let name = if name.is_null() {
        "unknown error".into()
    } else {
        // SAFETY: not NULL, and ended.
        unsafe { CStr::from_ptr(name) }.to_string_lossy()
    };
    let separator = if log.is_empty() { "" } else { ":\n" };
    Error::new(
        NORN_E_DEVICE,
        format!(
            "{call} of {} gave {name} ({code}){separator}{}",
            compiler.name,
            log.trim_end()
        ),
    )
}
