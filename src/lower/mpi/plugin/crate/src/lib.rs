//! The MPI plug-in of norn in Rust: answers the table of `src/lower/mpi/table.rs`
//! out of the MPI that mpi-sys finds, as `plugin.c` does in C. Both pass the same
//! tests (tests/mpi/conformance).
//!
//! The functions of the table are called by norn with pointers that are right,
//! as the table's documentation says; they are C functions, not Rust's.
#![allow(
    clippy::missing_safety_doc, // the table's documentation has it, once for both plug-ins
    clippy::too_many_arguments, // as many as the table's calls have
    clippy::unnecessary_cast    // constants of MPI's have other types in other MPIs
)]

// norn.h's numbers.
#[path = "../../../../../abi/datatype.rs"]
#[allow(dead_code)] // the mark of a handle of MPI's (NORN_OF_MPI) is not for plug-ins
mod datatype;
#[path = "../../../table.rs"]
mod table;

mod codes;
mod collectives;
mod quiet;
mod requests;
mod this_mpi;
mod types;

use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, OnceLock};

use mpi_sys::*;

use codes::check;
use quiet::Quiet;
use table::*;
use this_mpi::{FAMILY, comm_of};

/// Longer than any MPI's texts.
const TEXT_SPACE: usize = 16384;

/// Copies a text, cut to the size of the buffer and ended by a zero.
///
/// # Safety
/// `to` has room for `size` bytes.
unsafe fn copy_text(from: &[u8], to: *mut c_char, size: usize) -> i32 {
    if size > 0 {
        let length = from.len().min(size - 1);
        // SAFETY: passed on from the caller; the text is cut so that its zero fits.
        unsafe {
            core::ptr::copy_nonoverlapping(from.as_ptr().cast(), to, length);
            to.add(length).write(0);
        }
    }
    NORN_MPI_OK
}

/// A text that MPI writes into a buffer.
fn text_of(call: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> Result<Vec<u8>, codes::Code> {
    let mut space = vec![0_u8; TEXT_SPACE];
    let mut length = 0;
    check(call(space.as_mut_ptr().cast(), &mut length))?;
    let end = space.iter().position(|byte| *byte == 0).unwrap_or(0);
    space.truncate(end);
    Ok(space)
}

unsafe extern "C" fn state(out: *mut i32) -> i32 {
    let (mut begun, mut ended) = (0, 0);
    // SAFETY: both calls are legal at any time and write to these variables; `out` is writable, as the table says.
    unsafe {
        for code in [MPI_Finalized(&mut ended), MPI_Initialized(&mut begun)] {
            if let Err(code) = check(code) {
                return code.0;
            }
        }
        out.write(match (begun, ended) {
            (_, 1..) => NORN_MPI_FINALIZED,
            (0, _) => NORN_MPI_BEFORE_INIT,
            _ => NORN_MPI_ACTIVE,
        });
    }
    NORN_MPI_OK
}

unsafe extern "C" fn library_text(text: *mut c_char, size: usize) -> i32 {
    // SAFETY: legal at any time; `text_of` has room for MPI_MAX_LIBRARY_VERSION_STRING.
    match text_of(|space, length| unsafe { MPI_Get_library_version(space, length) }) {
        Ok(all) => {
            let line = all.split(|byte| *byte == b'\n').next().unwrap_or_default();
            // SAFETY: the caller's buffer of so many bytes, as the table says.
            unsafe { copy_text(line, text, size) }
        }
        Err(code) => code.0,
    }
}

unsafe extern "C" fn error_text(error: i32, text: *mut c_char, size: usize) -> i32 {
    let own = match error {
        NORN_MPI_OK => "success",
        NORN_MPI_NO_MEMORY => "out of memory",
        NORN_MPI_UNSUPPORTED => "this MPI has no such call or type",
        NORN_MPI_INVALID => "no such communicator, type, operation, slot or kind",
        NORN_MPI_TOO_LARGE => "count too large for this MPI",
        NORN_MPI_BUSY => "requests are pending",
        _ => "",
    };
    if !own.is_empty() {
        // SAFETY: as in `library_text`.
        return unsafe { copy_text(own.as_bytes(), text, size) };
    }
    let mut now = NORN_MPI_BEFORE_INIT;
    // SAFETY: `now` is writable.
    if unsafe { state(&mut now) } == NORN_MPI_OK && now == NORN_MPI_ACTIVE {
        let _quiet = Quiet::new();
        // SAFETY: MPI is active; `text_of` has room for MPI_MAX_ERROR_STRING.
        if let Ok(all) = text_of(|space, length| unsafe { MPI_Error_string(error, space, length) })
        {
            // SAFETY: as in `library_text`.
            return unsafe { copy_text(&all, text, size) };
        }
    }
    // SAFETY: as in `library_text`.
    unsafe { copy_text(format!("MPI error {error}").as_bytes(), text, size) }
}

unsafe extern "C" fn thread(_comm: i32, level: *mut i32, is_main: *mut i32) -> i32 {
    let (mut provided, mut mine) = (0, 0);
    // SAFETY: MPI is active, as the table demands of the caller, and both outputs are writable. The levels are
    // constants that were filled in when the plug-in was loaded, which is after MPI.
    unsafe {
        for code in [
            MPI_Query_thread(&mut provided),
            MPI_Is_thread_main(&mut mine),
        ] {
            if let Err(code) = check(code) {
                return code.0;
            }
        }
        let known = if provided >= RSMPI_THREAD_MULTIPLE {
            NORN_MPI_THREAD_MULTIPLE
        } else if provided >= RSMPI_THREAD_SERIALIZED {
            NORN_MPI_THREAD_SERIALIZED
        } else if provided >= RSMPI_THREAD_FUNNELED {
            NORN_MPI_THREAD_FUNNELED
        } else {
            NORN_MPI_THREAD_SINGLE
        };
        level.write(known);
        is_main.write(i32::from(mine != 0));
    }
    NORN_MPI_OK
}

unsafe extern "C" fn world(_comm: i32, rank: *mut i32, size: *mut i32) -> i32 {
    let (mut r, mut s) = (0, 0);
    // SAFETY: as in `thread`.
    unsafe {
        for code in [
            MPI_Comm_rank(RSMPI_COMM_WORLD, &mut r),
            MPI_Comm_size(RSMPI_COMM_WORLD, &mut s),
        ] {
            if let Err(code) = check(code) {
                return code.0;
            }
        }
        rank.write(r);
        size.write(s);
    }
    NORN_MPI_OK
}

/// What MPI 4.1 lists as kinds of memory on MPI_COMM_WORLD.
fn memory_kinds() -> Option<String> {
    let mut space = vec![0_u8; TEXT_SPACE];
    let mut set = 0;
    // SAFETY: MPI is active. `space` holds more than the 255 bytes asked for and their zero; `info` is a copy that
    // MPI has made for us, and is freed once.
    unsafe {
        let mut info = RSMPI_INFO_NULL;
        check(MPI_Comm_get_info(RSMPI_COMM_WORLD, &mut info)).ok()?;
        MPI_Info_get(
            info,
            c"mpi_memory_alloc_kinds".as_ptr(),
            // Open MPI's own limit; MPICH's is larger.
            255,
            space.as_mut_ptr().cast(),
            &mut set,
        );
        MPI_Info_free(&mut info);
    }
    let text = CStr::from_bytes_until_nul(&space).ok()?;
    (set != 0).then(|| text.to_string_lossy().into_owned())
}

unsafe extern "C" fn device_aware(answer: *mut i32, reason: *mut c_char, size: usize) -> i32 {
    let _quiet = Quiet::new();
    // SAFETY: the name ends with a zero; looking up a symbol runs no code.
    let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let gpu: Option<unsafe extern "C" fn(c_int, *mut c_int) -> c_int> =
        // SAFETY: NULL is None, and the only implementations with this name have this type in their headers.
        unsafe { core::mem::transmute(find(c"MPIX_GPU_query_support")) };
    let cuda: Option<unsafe extern "C" fn() -> c_int> =
        // SAFETY: as above.
        unsafe { core::mem::transmute(find(c"MPIX_Query_cuda_support")) };
    let word = |yes| if yes { "yes" } else { "no" };
    let mut flag = 0;
    let (found, text) = if let Some(gpu) = gpu
        // Its kind of device for CUDA is 0.
        // SAFETY: MPI is active, and the flag is writable.
        && check(unsafe { gpu(0, &mut flag) }).is_ok()
    {
        (
            i32::from(flag != 0),
            format!("MPIX_GPU_query_support says {}", word(flag != 0)),
        )
    } else if let Some(cuda) = cuda {
        // SAFETY: as above; it takes nothing.
        let yes = unsafe { cuda() } == 1;
        (
            i32::from(yes),
            format!("MPIX_Query_cuda_support says {}", word(yes)),
        )
    } else if let Some(kinds) = memory_kinds() {
        let yes = kinds.contains("cuda");
        let word = if yes { "lists" } else { "does not list" };
        (
            i32::from(yes),
            format!("mpi_memory_alloc_kinds {word} cuda"),
        )
    } else if let Ok(value) = std::env::var("MPICH_GPU_SUPPORT_ENABLED") {
        (
            i32::from(value == "1"),
            format!("MPICH_GPU_SUPPORT_ENABLED is {value}"),
        )
    } else {
        (-1, "this MPI has no query for it".to_string())
    };
    // SAFETY: writable, and a buffer of so many bytes, as the table says.
    unsafe {
        answer.write(found);
        copy_text(text.as_bytes(), reason, size)
    }
}

unsafe extern "C" fn abort(comm: i32, code: i32) {
    // SAFETY: MPI is active; MPI takes any communicator here, and the constant was filled in at loading.
    unsafe { MPI_Abort(comm_of(comm).unwrap_or(RSMPI_COMM_WORLD), code) };
}

unsafe extern "C" fn comm_info(comm: i32, info: *mut norn_mpi_comm_info) -> i32 {
    let Some(comm) = comm_of(comm) else {
        return NORN_MPI_INVALID;
    };
    let _quiet = Quiet::new();
    let mut found = norn_mpi_comm_info {
        tag_ub: 32767,
        ..Default::default()
    };
    let (mut tag_ub, mut set): (*mut c_int, c_int) = (core::ptr::null_mut(), 0);
    // SAFETY: `comm` is no null handle and MPI is active. The attribute, where it is set, is a pointer to an int that
    // lives as long as the communicator; `info` is writable.
    unsafe {
        let codes = [
            MPI_Comm_test_inter(comm, &mut found.inter),
            MPI_Comm_rank(comm, &mut found.rank),
            MPI_Comm_size(comm, &mut found.size),
            MPI_Comm_get_attr(
                comm,
                MPI_TAG_UB as c_int,
                (&raw mut tag_ub).cast(),
                &mut set,
            ),
        ];
        if codes.iter().any(|code| check(*code).is_err()) {
            return NORN_MPI_INVALID;
        }
        if set != 0 {
            found.tag_ub = tag_ub.read();
        }
        found.inter = i32::from(found.inter != 0);
        info.write(found);
    }
    NORN_MPI_OK
}

unsafe extern "C" fn comm_free(comm: i32) -> i32 {
    let Some(mut comm) = comm_of(comm) else {
        return NORN_MPI_INVALID;
    };
    let _quiet = Quiet::new();
    // SAFETY: a communicator from `comm_idup`, freed once, with no request pending: the caller promises that.
    unsafe { MPI_Comm_free(&mut comm) }
}

/// What is called when MPI_Finalize begins.
static THEN: OnceLock<norn_mpi_then_fn> = OnceLock::new();

unsafe extern "C" fn copies_nothing(
    _comm: MPI_Comm,
    _key: c_int,
    _extra: *mut c_void,
    _from: *mut c_void,
    _to: *mut c_void,
    copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI calls this with a flag to be written.
    unsafe { copied.write(0) };
    0
}

unsafe extern "C" fn finalize_begins(
    _comm: MPI_Comm,
    _key: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    if let Some(then) = THEN.get() {
        // SAFETY: norn's function, which lives as long as the process, and is called as the table says: when
        // MPI_Finalize begins.
        unsafe { then(NORN_MPI_NO_HANDLE) };
    }
    0
}

/// An attribute of MPI_COMM_SELF is deleted first of all in MPI_Finalize.
unsafe extern "C" fn at_finalize(_comm: i32, then: norn_mpi_then_fn) -> i32 {
    static SET: Mutex<bool> = Mutex::new(false);
    let mut set = SET.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if *set {
        return NORN_MPI_OK;
    }
    let _ = THEN.set(then);
    let _quiet = Quiet::new();
    let mut key = 0;
    // SAFETY: MPI is active; the functions have the types that MPI calls them by, and are never unloaded, since norn
    // keeps its plug-ins. The key is freed once, which leaves the attribute where it is.
    let made = unsafe {
        check(MPI_Comm_create_keyval(
            Some(copies_nothing),
            Some(finalize_begins),
            &mut key,
            core::ptr::null_mut(),
        ))
        .and_then(|()| {
            let set = check(MPI_Comm_set_attr(
                RSMPI_COMM_SELF,
                key,
                core::ptr::null_mut(),
            ));
            let _ = MPI_Comm_free_keyval(&mut key);
            set
        })
    };
    match made {
        Ok(()) => {
            *set = true;
            NORN_MPI_OK
        }
        Err(code) => code.0,
    }
}

unsafe extern "C" fn alloc(bytes: u64, address: *mut *mut c_void) -> i32 {
    let mut got: *mut c_void = core::ptr::null_mut();
    let Ok(size) = MPI_Aint::try_from(bytes) else {
        return NORN_MPI_NO_MEMORY;
    };
    if size > 0 {
        let _quiet = Quiet::new();
        if let Err(code) =
            // SAFETY: MPI is active and writes the address to `got`.
            check(unsafe { MPI_Alloc_mem(size, RSMPI_INFO_NULL, (&raw mut got).cast()) })
        {
            return code.0;
        }
    }
    // SAFETY: writable, as the table says.
    unsafe { address.write(got) };
    NORN_MPI_OK
}

unsafe extern "C" fn free(address: *mut c_void) -> i32 {
    if address.is_null() {
        return NORN_MPI_OK;
    }
    let _quiet = Quiet::new();
    // SAFETY: an address from `alloc`, freed once, while MPI is active: the caller promises that.
    unsafe { MPI_Free_mem(address) }
}

static TABLE: norn_mpi_table = norn_mpi_table {
    version: NORN_MPI_TABLE_VERSION,
    struct_size: size_of::<norn_mpi_table>() as u32,
    family: FAMILY.as_ptr(),
    built_for: c"the MPI that mpi-sys was built with".as_ptr(),
    state,
    library_text,
    error_text,
    thread,
    world,
    device_aware,
    abort,
    comm_info,
    comm_idup: requests::comm_idup,
    comm_free,
    type_builtin: types::type_builtin,
    type_info: types::type_info,
    type_blocks: types::type_blocks,
    type_free: types::type_free,
    op_builtin: types::op_builtin,
    requests_open: requests::requests_open,
    requests_close: requests::requests_close,
    isend: requests::isend,
    irecv: requests::irecv,
    icollective: collectives::icollective,
    count_limit: collectives::count_limit,
    test: requests::test,
    cancel: requests::cancel,
    iprobe: requests::iprobe,
    alloc,
    free,
    at_finalize,
    op_check: types::op_check,
};

/// What norn asks a plug-in for.
#[unsafe(no_mangle)]
pub extern "C" fn norn_mpi_plugin() -> *const norn_mpi_table {
    &TABLE
}
