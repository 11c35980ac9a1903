//! Finds the table of MPI calls that this process is to use.
//!
//! In this order: the one the application registered, the plug-in that
//! NORN_MPI_PLUGIN names, the plug-in beside libnorn for the MPI that is loaded.

use core::ffi::{CStr, c_char, c_void};
use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, Ordering};

use parking_lot::Mutex;

use super::launcher::other_launcher;
use super::loaded::{self, Loaded};
use super::table::{
    NORN_MPI_ACTIVE, NORN_MPI_FINALIZED, NORN_MPI_OK, NORN_MPI_TABLE_VERSION, norn_mpi_plugin_fn,
    norn_mpi_table,
};
use crate::abi::status::{NORN_E_INVALID, NORN_E_STATE, NORN_E_UNSUPPORTED, NORN_E_VERSION};
use crate::error::{Error, Result};

/// Names a plug-in; read at each attach.
pub(crate) const PLUGIN_VARIABLE: &str = "NORN_MPI_PLUGIN";

/// The table an application has registered, or null.
static REGISTERED: AtomicPtr<norn_mpi_table> = AtomicPtr::new(core::ptr::null_mut());

/// Plug-ins opened so far: the loader's handle and the table. They are never closed, because worlds hold the tables,
/// and each is asked once for its table: it may look around in the process then, which is no business of two threads.
static OPENED: Mutex<Vec<(usize, &'static norn_mpi_table)>> = Mutex::new(Vec::new());

/// Uses this table for worlds attached from now on. NULL: none, and plug-ins are looked for again.
///
/// # Safety
/// `table` is NULL or a table that stays valid and unchanged as long as the process.
pub(crate) unsafe fn register(table: *const norn_mpi_table) -> Result<()> {
    if !table.is_null() {
        // SAFETY: as the caller promises.
        unsafe { check(table, "the registered table") }?;
    }
    REGISTERED.store(table.cast_mut(), Ordering::Release);
    Ok(())
}

/// The table to attach a world with. MPI is active and was started by its own launcher.
pub(crate) fn find() -> Result<&'static norn_mpi_table> {
    let table = chosen()?;
    active(table)?;
    own_launcher(table)?;
    Ok(table)
}

fn chosen() -> Result<&'static norn_mpi_table> {
    // SAFETY: `register` stores only what was promised to stay valid.
    if let Some(table) = unsafe { REGISTERED.load(Ordering::Acquire).as_ref() } {
        return Ok(table);
    }
    let named = std::env::var_os(PLUGIN_VARIABLE).filter(|name| !name.is_empty());
    // Before the plug-in is opened, because this makes a private MPI global. Of two private ones a name decides.
    let mpi = match loaded::look() {
        Err(error) if named.is_none() => return Err(error),
        mpi => mpi.unwrap_or_default(),
    };
    match (named, mpi) {
        (Some(name), mpi) => named_plugin(name, mpi.as_ref()),
        (None, Some(mpi)) => plugin_of(&mpi),
        (None, None) => Err(unsupported(
            "no MPI is loaded in this process: link the program with MPI; a program that is linked with MPI \
             statically calls norn_mpi_register first"
                .into(),
        )),
    }
}

/// The plug-in that NORN_MPI_PLUGIN names.
fn named_plugin(name: OsString, mpi: Option<&Loaded>) -> Result<&'static norn_mpi_table> {
    let path = PathBuf::from(name);
    let table = open(&path).map_err(|reason| {
        let hint = if mpi.is_none() {
            "; no MPI is loaded in this process"
        } else {
            ""
        };
        unsupported(format!(
            "{PLUGIN_VARIABLE}={}: {reason}{hint}",
            path.display()
        ))
    })??;
    // Without an MPI to compare with, what the plug-in calls must have come from somewhere: a program linked statically.
    if let Some(mpi) = mpi {
        fits(table, mpi, &path)?;
    }
    Ok(table)
}

/// The plug-in for the loaded MPI: beside libnorn, else where the loader looks.
fn plugin_of(mpi: &Loaded) -> Result<&'static norn_mpi_table> {
    let name = format!("libnorn_mpi_{}.so", mpi.family);
    let beside = beside_norn(&name);
    let found = beside.iter().find(|path| path.exists());
    let path = found.cloned().unwrap_or_else(|| PathBuf::from(&name));
    let table = open(&path).map_err(|reason| {
        if found.is_some() {
            return unsupported(format!("{}: {reason}", path.display()));
        }
        let looked: Vec<_> = beside.iter().map(|path| path.display().to_string()).collect();
        unsupported(format!(
            "no plug-in for the MPI of this process ({}, {}): looked for {}, then for {name} on the library path \
             ({reason}). Build norn with this MPI, or name the plug-in in {PLUGIN_VARIABLE}",
            mpi.text,
            mpi.file,
            looked.join(" and ")
        ))
    })??;
    fits(table, mpi, &path)?;
    Ok(table)
}

/// Where `name` would lie beside the file norn is in: as it was loaded, and behind its symbolic links.
fn beside_norn(name: &str) -> Vec<PathBuf> {
    let Some(file) = loaded::file_of(find as *mut c_void) else {
        return Vec::new();
    };
    let file = PathBuf::from(OsString::from_vec(file.into_bytes()));
    let real = file.canonicalize().unwrap_or_else(|_| file.clone());
    let mut paths: Vec<PathBuf> = [file, real]
        .iter()
        .filter_map(|file| Some(file.parent()?.join(name)))
        .collect();
    paths.dedup();
    paths
}

/// Opens a plug-in. The outer error is the loader's reason, the inner one that of a file which is no right plug-in.
fn open(path: &Path) -> std::result::Result<Result<&'static norn_mpi_table>, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "a zero byte in the name")?;
    let mut opened = OPENED.lock();
    // RTLD_NOW: a call that this MPI lacks is an error here, not in the middle of a run.
    // SAFETY: runs the constructors of a file that the user named or installed beside norn.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(loader_error());
    }
    if let Some((_, table)) = opened.iter().find(|(known, _)| *known == handle as usize) {
        return Ok(Ok(table));
    }
    let table = ask(handle, path);
    if let Ok(table) = table {
        opened.push((handle as usize, table));
    }
    Ok(table)
}

/// Reason of the last failure of the loader on this thread.
fn loader_error() -> String {
    // SAFETY: the text is valid until the next call of the loader on this thread.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "unknown reason".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

/// Gets and checks the table of an opened plug-in.
fn ask(handle: *mut c_void, path: &Path) -> Result<&'static norn_mpi_table> {
    let path = path.display();
    // SAFETY: the handle is open.
    let entry = unsafe { libc::dlsym(handle, c"norn_mpi_plugin".as_ptr()) };
    if entry.is_null() {
        return Err(unsupported(format!(
            "{path} is no MPI plug-in of norn: it has no norn_mpi_plugin"
        )));
    }
    // SAFETY: the header of plug-ins fixes the type of the function with this name.
    let entry = unsafe { core::mem::transmute::<*mut c_void, norn_mpi_plugin_fn>(entry) };
    // SAFETY: one thread at a time (OPENED), which is all it asks for.
    let table = unsafe { entry() };
    if table.is_null() {
        return Err(unsupported(format!("{path} cannot work in this process")));
    }
    // SAFETY: a plug-in's table lives as long as the plug-in, which is never closed.
    unsafe { check(table, &path.to_string()) }
}

/// Makes sure that a table is whole and of this version before anything of it is used.
///
/// # Safety
/// `table` begins with a version and a size, is as long as it says, and lives as long as the process.
unsafe fn check(table: *const norn_mpi_table, whose: &str) -> Result<&'static norn_mpi_table> {
    if !table.is_aligned() {
        return Err(Error::new(
            NORN_E_INVALID,
            format!("{whose} is no table of MPI calls"),
        ));
    }
    // SAFETY: the caller promises these two.
    let (version, bytes) = unsafe {
        (
            (&raw const (*table).version).read(),
            (&raw const (*table).struct_size).read(),
        )
    };
    if version != NORN_MPI_TABLE_VERSION || (bytes as usize) < size_of::<norn_mpi_table>() {
        return Err(Error::new(
            NORN_E_VERSION,
            format!(
                "{whose} has version {version} and {bytes} bytes; this norn needs version {NORN_MPI_TABLE_VERSION} and \
                 {} bytes. Build the plug-in from the same source as norn",
                size_of::<norn_mpi_table>()
            ),
        ));
    }
    // Everything behind the two numbers is a pointer, and none may be NULL. Read as numbers, because a function
    // pointer that is NULL must not even exist.
    let words = size_of::<norn_mpi_table>() / size_of::<usize>();
    for word in 1..words {
        // SAFETY: inside the structure, whose size was checked, and aligned as it is.
        if unsafe { table.cast::<usize>().add(word).read() } == 0 {
            return Err(Error::new(
                NORN_E_INVALID,
                format!("{whose} has a NULL at byte {}", word * size_of::<usize>()),
            ));
        }
    }
    // SAFETY: whole, and lives as long as the process.
    Ok(unsafe { &*table })
}

/// A plug-in of one family calls another MPI with the wrong handles.
fn fits(table: &norn_mpi_table, mpi: &Loaded, path: &Path) -> Result<()> {
    let family = words(table.family);
    if family == mpi.family || family == "sim" {
        return Ok(());
    }
    Err(unsupported(format!(
        "{} is the plug-in for \"{family}\" ({}), but the MPI of this process is \"{}\" ({}, {})",
        path.display(),
        words(table.built_for),
        mpi.family,
        mpi.text,
        mpi.file
    )))
}

/// A static text of a table.
fn words(text: *const c_char) -> String {
    // SAFETY: `check` has seen that it is not NULL; the table's header says that it is static.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// First line of the MPI's text about itself.
pub(crate) fn library_text(table: &norn_mpi_table) -> String {
    let mut text = [0 as c_char; 256];
    // SAFETY: the buffer has the size that is passed, and the call ends it with a zero.
    match unsafe { (table.library_text)(text.as_mut_ptr(), text.len()) } {
        NORN_MPI_OK => words(text.as_ptr()),
        _ => words(table.built_for),
    }
}

/// MPI must be between MPI_Init and MPI_Finalize, neither of which norn calls.
fn active(table: &norn_mpi_table) -> Result<()> {
    let mut state = 0;
    // SAFETY: legal at any time; the output is writable.
    let code = unsafe { (table.state)(&raw mut state) };
    let text = match (code, state) {
        (NORN_MPI_OK, NORN_MPI_ACTIVE) => return Ok(()),
        (NORN_MPI_OK, NORN_MPI_FINALIZED) => "has been finalised: attach before MPI_Finalize",
        (NORN_MPI_OK, _) => {
            "is not initialised: call MPI_Init or MPI_Init_thread first, norn never does"
        }
        _ => "does not tell whether it is initialised",
    };
    let library = library_text(table);
    Err(Error::new(NORN_E_STATE, format!("MPI ({library}) {text}")))
}

/// Refuses where every process would be rank 0 of 1. The sim has no launcher.
fn own_launcher(table: &norn_mpi_table) -> Result<()> {
    if words(table.family) == "sim" {
        return Ok(());
    }
    let (mut rank, mut size) = (0, 0);
    // SAFETY: MPI is active; the outputs are writable; only the sim looks at the communicator.
    let code = unsafe { (table.world)(0, &raw mut rank, &raw mut size) };
    let variable = |name: &str| std::env::var(name).ok();
    match other_launcher(size, variable, &library_text(table)) {
        Some(text) if code == NORN_MPI_OK => Err(unsupported(text)),
        _ => Ok(()),
    }
}

fn unsupported(text: String) -> Error {
    Error::new(NORN_E_UNSUPPORTED, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a table that looks right and is never called.
    fn words_of_a_table() -> Vec<usize> {
        let count = size_of::<norn_mpi_table>() / size_of::<usize>();
        let mut words = vec![c"test".as_ptr() as usize; count];
        words[0] = NORN_MPI_TABLE_VERSION as usize | size_of::<norn_mpi_table>() << 32;
        words
    }

    fn checked(words: &[usize]) -> Result<()> {
        // SAFETY: as long as it says, and the result is not kept.
        unsafe { check(words.as_ptr().cast(), "the test's") }.map(|_| ())
    }

    #[test]
    fn a_right_table_is_taken_and_a_longer_one_too() {
        let mut words = words_of_a_table();
        assert!(checked(&words).is_ok());
        words.push(0);
        words[0] += size_of::<usize>() << 32;
        assert!(checked(&words).is_ok());
    }

    #[test]
    fn another_version_or_a_shorter_table_names_both_sides() {
        let mut words = words_of_a_table();
        words[0] += 1;
        let error = checked(&words).unwrap_err();
        assert_eq!(error.status(), NORN_E_VERSION);
        assert!(
            error.text().contains("the test's has version 2"),
            "{}",
            error.text()
        );
        let mut words = words_of_a_table();
        words[0] -= size_of::<usize>() << 32;
        assert_eq!(checked(&words).unwrap_err().status(), NORN_E_VERSION);
    }

    #[test]
    fn a_null_in_any_place_is_refused_with_the_place() {
        for word in 1..words_of_a_table().len() {
            let mut words = words_of_a_table();
            words[word] = 0;
            let error = checked(&words).unwrap_err();
            assert_eq!(error.status(), NORN_E_INVALID);
            assert!(
                error.text().contains(&format!("at byte {}", 8 * word)),
                "{}",
                error.text()
            );
        }
    }

    #[test]
    fn a_file_that_is_no_plug_in_is_named() {
        let error = open(Path::new("/nowhere/libnorn_mpi_x.so")).unwrap_err();
        assert!(error.contains("/nowhere/libnorn_mpi_x.so"), "{error}");
        // Loaded already, and surely no plug-in.
        let error = open(Path::new("libc.so.6")).unwrap().unwrap_err();
        assert_eq!(error.status(), NORN_E_UNSUPPORTED);
        assert!(
            error.text().starts_with("libc.so.6 is no MPI plug-in"),
            "{}",
            error.text()
        );
    }

    #[test]
    fn the_plug_in_is_looked_for_beside_this_very_file() {
        let paths = beside_norn("libnorn_mpi_x.so");
        let own = std::env::current_exe().unwrap();
        assert!(
            paths.contains(&own.with_file_name("libnorn_mpi_x.so")),
            "{paths:?}"
        );
    }
}
