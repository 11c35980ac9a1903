//! One run: the runtime, the model, and what bodies leave behind.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock};

use norn::abi::runtime::norn_dump;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::bodies::Plan;
use crate::model::{Model, ROOTS, TASKS, WORDS};
use crate::watch;

/// Callbacks of one run.
pub const CALLBACKS: usize = 32;

/// A task as its body and its drop see it.
#[derive(Default)]
pub struct Track {
    pub plan: OnceLock<Plan>,
    pub node: AtomicUsize,
    /// 1 once norn has taken it.
    pub accepted: AtomicU32,
    pub runs: AtomicU32,
    pub drops: AtomicU32,
    pub started: AtomicU64,
    pub ended: AtomicU64,
}

/// A function given to `norn_on_complete`.
#[derive(Default)]
pub struct Callback {
    pub node: AtomicUsize,
    pub id: AtomicU64,
    pub calls: AtomicU32,
    pub status: AtomicI32,
}

/// What a task's `arg` points to; 16 bytes, so that it may be copied too.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arg {
    pub run: *const Run,
    pub track: usize,
}

pub struct Run {
    pub rt: AtomicPtr<norn_runtime>,
    /// Bodies run inside the calls of the main thread only.
    pub inside: bool,
    /// Bodies run inside its calls too.
    pub caller_works: bool,
    pub model: Mutex<Model>,
    pub tracks: Vec<Track>,
    pub args: UnsafeCell<Vec<Arg>>,
    pub callbacks: Vec<Callback>,
    clock: AtomicU64,
    /// Two banks of words; a rebind moves a datum to the other one.
    pub memory: Vec<UnsafeCell<u64>>,
    /// Bodies inside each word: writers from the top, readers from the bottom.
    inside_word: Vec<AtomicU32>,
    /// The last `norn_self` a body published, to be misused.
    pub stray_self: AtomicPtr<norn_self>,
}

// SAFETY: the memory is what norn orders: a word is touched only by whoever holds an access to it, which
// `enter` checks; `args` is written before the first task is submitted.
unsafe impl Sync for Run {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Run {}

const WRITER: u32 = 1 << 16;

impl Run {
    pub fn new(inside: bool, caller_works: bool) -> Box<Run> {
        let run = Box::new(Run {
            rt: AtomicPtr::new(null_mut()),
            inside,
            caller_works,
            model: Mutex::default(),
            tracks: (0..TASKS).map(|_| Track::default()).collect(),
            args: UnsafeCell::default(),
            callbacks: (0..CALLBACKS).map(|_| Callback::default()).collect(),
            clock: AtomicU64::new(1),
            memory: (0..2 * ROOTS * WORDS).map(|_| UnsafeCell::new(0)).collect(),
            inside_word: (0..ROOTS * WORDS).map(|_| AtomicU32::new(0)).collect(),
            stray_self: AtomicPtr::new(null_mut()),
        });
        let args = (0..TASKS).map(|track| Arg { run: &*run, track });
        // SAFETY: nobody else knows the run yet.
        unsafe { *run.args.get() = args.collect() };
        run
    }

    pub fn rt(&self) -> *mut norn_runtime {
        self.rt.load(Acquire)
    }

    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(|held| held.into_inner())
    }

    pub fn arg(&self, track: usize) -> *mut c_void {
        // SAFETY: the vector was made with the run and stays as it is.
        unsafe { (&raw const (&(*self.args.get()))[track]).cast_mut().cast() }
    }

    pub fn tick(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    /// A body begins to touch a word; anybody else there is a mistake in the order.
    pub fn enter(&self, word: usize, writes: bool) {
        let before = self.inside_word[word].fetch_add(if writes { WRITER } else { 1 }, SeqCst);
        if before >= WRITER || (writes && before != 0) {
            self.complain(format_args!(
                "word {word} is touched by two bodies at once (writes: {writes}, inside: {before:#x})"
            ));
        }
    }

    pub fn leave(&self, word: usize, writes: bool) {
        self.inside_word[word].fetch_sub(if writes { WRITER } else { 1 }, SeqCst);
    }

    /// A call must answer with one of these.
    pub fn expect(&self, call: impl Display, got: norn_status, allowed: &[norn_status]) {
        watch::note(|| format!("{call} = {}", name(got)));
        if !allowed.contains(&got) {
            let allowed: Vec<String> = allowed.iter().map(|status| name(*status)).collect();
            self.complain(format_args!(
                "{call} gave {} (\"{}\"), allowed: {}",
                name(got),
                last_error(),
                allowed.join(", ")
            ));
        }
    }

    /// A wrong call must answer with an error of its own, never with success and never with a defect.
    pub fn expect_error(&self, call: impl Display, got: norn_status) {
        watch::note(|| format!("{call} = {}", name(got)));
        if got >= 0 || got == NORN_E_INTERNAL {
            self.complain(format_args!("{call} gave {}, an error was due", name(got)));
        }
    }

    /// Says what is wrong and ends the process, so that the fuzzer keeps the input.
    pub fn complain(&self, what: impl Display) -> ! {
        watch::end(&format!("{what}"), self.rt())
    }
}

/// Name of a status.
pub fn name(status: norn_status) -> String {
    // SAFETY: never NULL, static, zero-terminated.
    let text = unsafe { std::ffi::CStr::from_ptr(norn::abi::runtime::norn_status_name(status)) };
    format!("{} ({status})", text.to_string_lossy())
}

pub fn last_error() -> String {
    // SAFETY: never NULL, zero-terminated, and this thread makes no call meanwhile.
    let text = unsafe { std::ffi::CStr::from_ptr(norn::abi::runtime::norn_last_error()) };
    text.to_string_lossy().into_owned()
}

unsafe extern "C" fn collect(arg: *mut c_void, text: *const std::ffi::c_char, bytes: u64) -> i32 {
    // SAFETY: `dump` passes a vector; `text` has so many bytes during the call.
    unsafe {
        let piece = std::slice::from_raw_parts(text.cast::<u8>(), bytes as usize);
        (*arg.cast::<Vec<u8>>()).extend_from_slice(piece);
    }
    0
}

/// The live graph as text; the status of the call otherwise.
pub fn dump(rt: *mut norn_runtime, format: i32) -> Result<String, norn_status> {
    let mut text: Vec<u8> = Vec::new();
    // SAFETY: the vector outlives the call.
    let status = unsafe { norn_dump(rt, format, Some(collect), (&raw mut text).cast()) };
    match status {
        NORN_OK => Ok(String::from_utf8_lossy(&text).into_owned()),
        status => Err(status),
    }
}
