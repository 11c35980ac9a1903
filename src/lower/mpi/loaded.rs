//! Which MPI this process has loaded.
//!
//! norn links none, so it looks among the loaded objects. An MPI that came in
//! with a module of some interpreter is often private to it (`RTLD_LOCAL`); it is
//! made global here, because a plug-in's calls are bound to what is global.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;
use std::path::Path;

use crate::abi::status::NORN_E_UNSUPPORTED;
use crate::error::{Error, Result};

/// The MPI of this process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    /// "openmpi", "mpich", "abi" or "other": the plug-in it needs.
    pub family: &'static str,
    /// Its own first line about itself.
    pub text: String,
    /// The file it was loaded from.
    pub file: String,
}

/// MPI's own name of the call comes second: a profiler may stand in front of it.
const MARKS: [&CStr; 2] = [c"PMPI_Get_library_version", c"MPI_Get_library_version"];

/// What an MPI says of itself has at most this many bytes (8192 in the standard ABI, less elsewhere).
const TEXT_SPACE: usize = 16384;

/// Looks for it. `None`: there is none.
pub(crate) fn look() -> Result<Option<Loaded>> {
    if let Some(mark) = symbol(libc::RTLD_DEFAULT) {
        return Ok(Some(describe(mark)));
    }
    let mut files = private_ones();
    files.dedup();
    match files.as_slice() {
        [] => Ok(None),
        [file] => {
            let handle = open(file, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL);
            // The handle is kept: what plug-ins are bound to must stay.
            let mark = handle.and_then(symbol).ok_or_else(|| {
                let file = file.to_string_lossy();
                Error::new(
                    NORN_E_UNSUPPORTED,
                    format!("{file} was loaded with RTLD_LOCAL and cannot be made global"),
                )
            })?;
            Ok(Some(describe(mark)))
        }
        [one, two, ..] => Err(Error::new(
            NORN_E_UNSUPPORTED,
            format!(
                "this process has loaded two MPIs, {} and {}, both with RTLD_LOCAL; name the plug-in of the right one in \
                 NORN_MPI_PLUGIN and load that MPI with RTLD_GLOBAL",
                one.to_string_lossy(),
                two.to_string_lossy()
            ),
        )),
    }
}

/// The function that marks an MPI, in the objects that a handle reaches.
fn symbol(handle: *mut c_void) -> Option<*mut c_void> {
    MARKS
        .iter()
        // SAFETY: the handle is open or RTLD_DEFAULT, and the name ends with a zero.
        .map(|name| unsafe { libc::dlsym(handle, name.as_ptr()) })
        .find(|found| !found.is_null())
}

fn has(name: &CStr) -> bool {
    // SAFETY: the name ends with a zero.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
}

/// `dlopen`, or None.
fn open(file: &CStr, flags: c_int) -> Option<*mut c_void> {
    // SAFETY: with RTLD_NOLOAD nothing is loaded, so no constructor runs.
    let handle = unsafe { libc::dlopen(file.as_ptr(), flags) };
    (!handle.is_null()).then_some(handle)
}

/// Files of the MPIs among the loaded objects.
fn private_ones() -> Vec<CString> {
    let mut objects: Vec<CString> = Vec::new();
    // SAFETY: the callback gets the vector it expects, and only during the call.
    unsafe { libc::dl_iterate_phdr(Some(add_name), (&raw mut objects).cast()) };
    let mut found: Vec<CString> = Vec::new();
    for object in objects {
        let Some(handle) = open(&object, libc::RTLD_LAZY | libc::RTLD_NOLOAD) else {
            continue;
        };
        // A handle reaches the object's dependencies too; the mark's own file is the MPI.
        if let Some(file) = symbol(handle).and_then(file_of)
            && !found.contains(&file)
        {
            found.push(file);
        }
        // SAFETY: opened above; the object stays, since it was loaded before.
        unsafe { libc::dlclose(handle) };
    }
    found
}

/// Collects names only: the loader holds its lock meanwhile.
unsafe extern "C" fn add_name(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    objects: *mut c_void,
) -> c_int {
    // SAFETY: `private_ones` passes its vector; the loader gives a valid record.
    let (info, objects) = unsafe { (&*info, &mut *objects.cast::<Vec<CString>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: the loader's names end with a zero.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        if !name.is_empty() {
            objects.push(name.to_owned());
        }
    }
    0
}

/// The file that an address was loaded from.
pub(crate) fn file_of(address: *mut c_void) -> Option<CString> {
    // SAFETY: all zero is a valid Dl_info, which dladdr fills in.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: any address may be asked about.
    let known = unsafe { libc::dladdr(address, &raw mut info) } != 0 && !info.dli_fname.is_null();
    // SAFETY: the loader's names end with a zero.
    known.then(|| unsafe { CStr::from_ptr(info.dli_fname) }.to_owned())
}

fn describe(mark: *mut c_void) -> Loaded {
    let file = file_of(mark).map_or_else(String::new, |file| file.to_string_lossy().into_owned());
    let text = own_text(mark);
    Loaded {
        family: family(&file, has(c"ompi_mpi_comm_world"), &text),
        text,
        file,
    }
}

/// First line of what the MPI says of itself. It may be asked before it is initialised, from any thread.
fn own_text(mark: *mut c_void) -> String {
    type GetLibraryVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    // SAFETY: the standard fixes the type of the function with this name.
    let get = unsafe { core::mem::transmute::<*mut c_void, GetLibraryVersion>(mark) };
    let mut text = vec![0_u8; TEXT_SPACE];
    let mut length: c_int = 0;
    // SAFETY: the buffer is larger than any MPI's MPI_MAX_LIBRARY_VERSION_STRING; its last byte stays zero.
    let code = unsafe { get(text.as_mut_ptr().cast(), &raw mut length) };
    let end = text.iter().position(|byte| *byte == 0 || *byte == b'\n');
    match (code, end) {
        (0, Some(end)) => String::from_utf8_lossy(&text[..end]).trim_end().into(),
        _ => String::new(),
    }
}

/// The family, from the name of the file, whether Open MPI's own handles are there, and the MPI's text. The file
/// comes first: the standard fixes the name of the ABI's library, and an implementation may lie behind it.
fn family(file: &str, open_mpi_handles: bool, text: &str) -> &'static str {
    let name = Path::new(file).file_name().unwrap_or_default();
    if name.to_string_lossy().starts_with("libmpi_abi.") {
        "abi"
    } else if open_mpi_handles {
        "openmpi"
    } else if ["MPICH", "Intel(R) MPI", "MVAPICH"]
        .iter()
        .any(|mark| text.contains(mark))
    {
        "mpich"
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_apart() {
        for (file, handles, text, right) in [
            (
                "/usr/lib/libmpi.so.40",
                true,
                "Open MPI v4.1.4, package: x",
                "openmpi",
            ),
            (
                "/usr/lib/libmpich.so.12",
                false,
                "MPICH Version:\t4.0.2",
                "mpich",
            ),
            (
                "/opt/intel/libmpi.so.12",
                false,
                "Intel(R) MPI Library 2021.9 for Linux* OS",
                "mpich",
            ),
            (
                "libmpi_gnu_91.so.12",
                false,
                "MPI VERSION    : CRAY MPICH version 8.1.25",
                "mpich",
            ),
            (
                "/x/libmpi.so.12",
                false,
                "MVAPICH2 Version      :\t2.3.7",
                "mpich",
            ),
            ("/x/libmpi_abi.so.1", false, "MPICH Version: 5.0.2", "abi"),
            ("/x/libmpi_abi.so.0", true, "Open MPI v6.0.0", "abi"),
            ("/x/libmpi_abiding.so", false, "", "other"),
            ("", false, "Some MPI 1.0", "other"),
        ] {
            assert_eq!(family(file, handles, text), right, "{file} {text}");
        }
    }

    #[test]
    fn a_process_without_mpi_has_none() {
        assert_eq!(look().unwrap(), None);
    }

    #[test]
    fn an_address_tells_its_file() {
        let file = file_of(file_of as *mut c_void).unwrap();
        assert!(!file.is_empty());
        assert_eq!(file_of(core::ptr::null_mut()), None);
    }
}
