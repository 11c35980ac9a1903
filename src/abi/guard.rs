//! The boundary every exported function passes: no panic leaves, every error
//! becomes a status plus the calling thread's text, and structures of older
//! and newer headers are read safely.

use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::handle;
use super::status::{NORN_E_FORKED, NORN_E_INTERNAL, NORN_E_INVALID, NORN_E_VERSION, NORN_OK};
use super::status::{norn_status, status_text};
use super::types::norn_runtime;
use crate::error::{Error, Result};
use crate::lower::mpi::hush;
use crate::run::defect::{Unsound, panic_text};

thread_local! {
    /// Text of the last error of this thread. Kept until the next error, so that
    /// a pointer handed out by `norn_last_error` stays valid until then.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of an exported function on a runtime and turns its outcome into a status. A panic poisons the
/// runtime (`run::defect`): it may have left it half changed. From here on norn may call MPI again, if the application has had
/// it for itself.
#[inline(always)]
pub(crate) fn guard(rt: *mut norn_runtime, body: impl FnOnce() -> Result<()>) -> norn_status {
    if crate::run::fork::in_forked_child() {
        return report(&forked());
    }
    let body = || {
        hush::is_called(rt);
        body()
    };
    caught(body, |text| handle::poison(rt, text))
}

/// As `guard`, for the calls of a running body.
#[inline(always)]
pub(crate) fn guard_in_body(body: impl FnOnce() -> Result<()>) -> norn_status {
    if crate::run::fork::in_forked_child() {
        return report(&forked());
    }
    caught(body, handle::poison_current)
}

/// As `guard`, for the few calls that need no runtime and mean something in a forked child too. They do nothing, and so norn
/// goes on leaving MPI to the application where it does.
#[inline(always)]
pub(crate) fn guard_anywhere(body: impl FnOnce() -> Result<()>) -> norn_status {
    caught(body, |_| ())
}

#[cold]
fn forked() -> Error {
    Error::new(
        NORN_E_FORKED,
        "this process is a forked child; norn lives in its parent only",
    )
}

#[inline(always)]
fn caught(body: impl FnOnce() -> Result<()>, poison: impl FnOnce(&str)) -> norn_status {
    #[cfg(norn_forced_panic)]
    let body = crate::planted::around(body);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => NORN_OK,
        Ok(Err(error)) => report(&error),
        Err(payload) => panicked(payload, poison),
    }
}

#[cold]
fn panicked(payload: Box<dyn core::any::Any + Send>, poison: impl FnOnce(&str)) -> norn_status {
    let status = match (
        payload.downcast_ref::<Unsound>(),
        panic_text(payload.as_ref()),
    ) {
        (Some(unsound), _) => report(&unsound.0),
        (None, text) => {
            let text = format!("norn panicked: {}", text.unwrap_or_default());
            // Last resort: waking the others may meet the same defect.
            let _ = catch_unwind(AssertUnwindSafe(|| poison(&text)));
            report(&Error::new(NORN_E_INTERNAL, text))
        }
    };
    core::mem::forget(payload); // its destructor could panic again
    status
}

/// Stores the text for `norn_last_error` and gives the status back.
#[cold]
pub(crate) fn report(error: &Error) -> norn_status {
    let text = if error.text().is_empty() {
        status_text(error.status())
    } else {
        error.text()
    };
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    // A thread that is ending may have lost its text; the status is enough then.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
    error.status()
}

/// Pointer for `norn_last_error`.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR
        .try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Turns a NULL into the error that names the argument.
#[inline(always)]
pub(crate) fn not_null<T>(pointer: *mut T, name: &'static str) -> Result<*mut T> {
    if pointer.is_null() {
        return Err(null(name));
    }
    Ok(pointer)
}

#[cold]
pub(crate) fn null(name: &'static str) -> Error {
    Error::new(NORN_E_INVALID, format!("{name} is NULL"))
}

/// Reads an array argument; a NULL pointer is right only for zero elements.
///
/// # Safety
/// `pointer` is NULL or points to `count` readable elements for `'a`.
#[inline(always)]
pub(crate) unsafe fn slice<'a, T>(
    pointer: *const T,
    count: u64,
    name: &'static str,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    if count > (isize::MAX as u64) / (size_of::<T>().max(1) as u64) {
        return Err(Error::new(
            NORN_E_INVALID,
            format!("{name} has an impossible count {count}"),
        ));
    }
    // SAFETY: not NULL, the byte length fits isize, and the caller of the C
    // function promises `count` elements.
    Ok(unsafe { core::slice::from_raw_parts(pointer, count as usize) })
}

/// Reads an optional C string.
///
/// # Safety
/// `pointer` is NULL or a zero-terminated string that lives for `'a`.
pub(crate) unsafe fn string<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller promises a zero-terminated string.
    Some(unsafe { CStr::from_ptr(pointer) })
}

/// Structures that begin with `struct_size`.
///
/// # Safety
/// `repr(C)`, first field `struct_size: usize`, valid when all bytes are zero.
pub(crate) unsafe trait Sized0: Copy {
    /// Size in the first release; a smaller one was never right.
    const FIRST_SIZE: usize;
    /// Name in messages.
    const NAME: &'static str;
}

/// Reads a structure written by any header version: missing fields are zero,
/// unknown ones must be.
///
/// # Safety
/// `pointer` is NULL or points to as many readable bytes as its first field says.
#[inline(always)]
pub(crate) unsafe fn read<T: Sized0>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: every such structure begins with its size, which the caller owns.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: the caller's structure has exactly this layout.
        return Ok(unsafe { pointer.read() });
    }
    // SAFETY: passed on.
    unsafe { read_other_size(pointer, size) }
}

/// As `read`, without a copy where the caller's structure is this version's; else it is put into `own`.
///
/// # Safety
/// As `read`, for as long as the result is used.
#[inline(always)]
pub(crate) unsafe fn read_in_place<T: Sized0>(
    pointer: *const T,
    own: &mut MaybeUninit<T>,
) -> Result<&T> {
    if pointer.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: as in `read`.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: the caller's structure has exactly this layout, and stays as it is during the call.
        return Ok(unsafe { &*pointer });
    }
    // SAFETY: passed on.
    Ok(own.write(unsafe { read_other_size(pointer, size) }?))
}

#[cold]
unsafe fn read_other_size<T: Sized0>(pointer: *const T, size: usize) -> Result<T> {
    // A size beyond any structure of any release is garbage, not a newer header.
    if size < T::FIRST_SIZE || size > 64 * 1024 {
        return Err(Error::new(
            NORN_E_VERSION,
            format!(
                "{}.struct_size is {size}; this library knows {} to {}",
                T::NAME,
                T::FIRST_SIZE,
                size_of::<T>()
            ),
        ));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: the caller owns `size` bytes at `pointer`.
    let tail =
        unsafe { core::slice::from_raw_parts(pointer.cast::<u8>().add(known), size - known) };
    if tail.iter().any(|byte| *byte != 0) {
        return Err(Error::new(
            NORN_E_VERSION,
            format!("{} uses fields that this library does not know", T::NAME),
        ));
    }
    // SAFETY: `Sized0` promises that zero is a valid value, and `known` bytes
    // are readable there and writable here.
    unsafe {
        let mut value: T = core::mem::zeroed();
        core::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut value).cast::<u8>(), known);
        (&raw mut value).cast::<usize>().write(size_of::<T>());
        Ok(value)
    }
}

/// Writes an output structure into the caller's, cut to the size it knows.
///
/// # Safety
/// `pointer` is NULL or points to as many writable bytes as its first field says.
pub(crate) unsafe fn write<T: Sized0>(pointer: *mut T, value: &T) -> Result<()> {
    if pointer.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: every such structure begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < T::FIRST_SIZE || size > 64 * 1024 {
        return Err(Error::new(
            NORN_E_VERSION,
            format!("{}.struct_size is {size}", T::NAME),
        ));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes exist on both sides; the size field is put back.
    unsafe {
        core::ptr::copy_nonoverlapping(
            (&raw const *value).cast::<u8>(),
            pointer.cast::<u8>(),
            known,
        );
        pointer.cast::<usize>().write(size);
    }
    Ok(())
}

macro_rules! sized {
    ($($type:ident since $last:ident: $last_type:ty;)+) => {$(
        // SAFETY: repr(C), begins with struct_size, and holds only integers, raw pointers and optional
        // functions, for all of which zero is valid.
        unsafe impl Sized0 for super::types::$type {
            const FIRST_SIZE: usize =
                core::mem::offset_of!(super::types::$type, $last) + size_of::<$last_type>();
            const NAME: &'static str = stringify!($type);
        }
    )+};
}

// Each with the last field it had in the first release.
sized! {
    norn_config since task_event_arg: *mut core::ffi::c_void;
    norn_task since r#as: super::types::norn_token;
    norn_data_desc since reduce: super::types::norn_reduction;
    norn_error_info since text: [c_char; 256];
    norn_self_info since cancelled: i32;
    norn_runtime_stats since mode: i32;
    norn_world_config since flags: u64;
    norn_world_info since library: [c_char; 256];
}

macro_rules! sized_of_devices {
    ($($type:ident since $last:ident: $last_type:ty;)+) => {$(
        // SAFETY: repr(C), begins with struct_size, and holds only integers and raw pointers, for which zero is valid.
        unsafe impl Sized0 for super::device_types::$type {
            const FIRST_SIZE: usize =
                core::mem::offset_of!(super::device_types::$type, $last) + size_of::<$last_type>();
            const NAME: &'static str = stringify!($type);
        }
    )+};
}

sized_of_devices! {
    norn_device_config since flags: u32;
    norn_device_info since uuid: [c_char; 48];
    norn_launch_desc since argument_count: u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_text() -> String {
        // SAFETY: `last_error` gives a zero-terminated text of this thread.
        unsafe { CStr::from_ptr(last_error()) }
            .to_string_lossy()
            .into_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_and_a_text() {
        let status = guard(core::ptr::null_mut(), || panic!("planted {}", 7));
        assert_eq!(status, NORN_E_INTERNAL);
        assert!(last_text().contains("planted 7"), "{}", last_text());
    }

    #[test]
    fn a_panic_while_the_graph_changes_poisons_the_runtime_and_close_still_works() {
        let config = super::super::types::norn_config {
            struct_size: size_of::<super::super::types::norn_config>(),
            // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
            ..unsafe { core::mem::zeroed() }
        };
        // SAFETY: no strings, no callbacks.
        let rt = unsafe { super::super::handle::open(0, Some(config)) }.unwrap();
        let status = guard(rt, || {
            super::super::handle::runtime(rt)?.act(|_, _| panic!("planted in the core"));
            Ok(())
        });
        assert_eq!(status, NORN_E_INTERNAL);
        // SAFETY: the handle is good; nothing else uses it.
        unsafe {
            assert_eq!(super::super::runtime::norn_seal(rt), NORN_E_INTERNAL);
            assert_eq!(super::super::runtime::norn_close(rt), NORN_E_INTERNAL);
            assert!(
                last_text().contains("planted in the core"),
                "{}",
                last_text()
            );
            assert_eq!(super::super::runtime::norn_close(rt), NORN_E_INVALID);
        }
    }

    #[test]
    fn a_smaller_structure_is_filled_up_with_zeros_and_a_larger_one_must_be_zero_there() {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Grown {
            struct_size: usize,
            first: u64,
            second: u64,
        }
        // SAFETY: begins with its size; integers only.
        unsafe impl Sized0 for Grown {
            const FIRST_SIZE: usize = 16;
            const NAME: &'static str = "grown";
        }
        let mut value = Grown {
            struct_size: 16,
            first: 5,
            second: 9,
        };
        // SAFETY: the structure has at least as many bytes as it says.
        let read_back = unsafe { read(&raw const value) }.unwrap();
        assert_eq!((read_back.first, read_back.second), (5, 0));
        value.struct_size = 8;
        // SAFETY: as above.
        assert!(unsafe { read(&raw const value) }.is_err());
        let larger = [24 + 8, 5, 9, 0u64];
        // SAFETY: 32 bytes, as it says.
        assert!(unsafe { read(larger.as_ptr().cast::<Grown>()) }.is_ok());
        let unknown = [24 + 8, 5, 9, 1u64];
        // SAFETY: as above.
        assert!(unsafe { read(unknown.as_ptr().cast::<Grown>()) }.is_err());
    }
}
