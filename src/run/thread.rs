//! norn's own threads.
//!
//! Made through POSIX attributes and not by the standard library, because the
//! bodies that run on them are the application's: they need a stack of the size
//! its OpenMP threads would have, a guard below it, the floating-point
//! environment of the thread that opened norn, and none of its signals.

// Under shuttle the threads are the checker's, and most of this file stands idle.
#![cfg_attr(shuttle, allow(dead_code, unused_imports))]

use core::cell::Cell;
use core::ffi::c_void;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::cpuset::CpuSet;
use super::defect::panic_text;
use super::hooks::ThreadHook;
use crate::abi::status::{NORN_E_RESOURCE, NORN_E_SYSTEM};
use crate::error::{Error, Result};

/// Bytes below the stack that fault when touched. More than the usual page: a
/// Fortran frame with automatic arrays may jump over one page.
const GUARD_BYTES: usize = 64 * 1024;

/// Longest thread name the kernel keeps.
const NAME_BYTES: usize = 15;

/// Told of the text of a panic.
pub(crate) type DefectTeller = Box<dyn Fn(&str) + Send>;

/// What a new thread is like.
pub(crate) struct ThreadSpec {
    /// Shown by debuggers and `top`, such as `norn:w3`; cut to 15 bytes.
    pub name: String,
    /// Usable stack.
    pub stack_bytes: usize,
    /// Where it may run; None or empty: where its creator may.
    pub cpus: Option<CpuSet>,
    /// Set before anything else runs on it.
    pub floating_point: FloatingPoint,
    /// Told of its start and end, on it.
    pub thread_hook: Option<ThreadHook>,
    /// Its number, for the hook.
    pub index: i32,
    /// Told, on the thread, of a panic that ended it.
    pub on_defect: Option<DefectTeller>,
}

std::thread_local! {
    /// Whether `spawn` has made this thread.
    static IS_NORNS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is a thread of norn's own, of whichever runtime.
pub(crate) fn is_norns() -> bool {
    IS_NORNS.get()
}

/// A running thread. Join it; one that is dropped instead goes on by itself.
#[derive(Debug)]
pub(crate) struct Thread {
    #[cfg(not(shuttle))]
    handle: libc::pthread_t,
    #[cfg(shuttle)]
    handle: shuttle::thread::JoinHandle<()>,
}

// SAFETY: a pthread_t names the thread process-wide; `join` consumes it.
#[cfg(not(shuttle))]
unsafe impl Send for Thread {}
// SAFETY: as above; shared access reads a number.
#[cfg(not(shuttle))]
unsafe impl Sync for Thread {}

#[cfg(shuttle)]
impl Thread {
    pub(crate) fn join(self) -> Result<()> {
        self.handle.join().unwrap();
        Ok(())
    }
}

#[cfg(not(shuttle))]
impl Thread {
    /// Waits for the end of the thread, hook included.
    ///
    /// Fails when called on the thread itself, which then goes on detached.
    pub(crate) fn join(self) -> Result<()> {
        // SAFETY: made joinable by `spawn`, neither joined nor detached yet.
        let rc = unsafe { libc::pthread_join(self.handle, ptr::null_mut()) };
        if rc != 0 {
            return Err(system("pthread_join", "", rc)); // drop detaches it
        }
        std::mem::forget(self);
        Ok(())
    }

    /// Whether this is the calling thread.
    #[allow(dead_code)] // for close, which must not wait for its own thread
    pub(crate) fn is_current(&self) -> bool {
        // SAFETY: the handle was neither joined nor detached, so it is valid.
        unsafe { libc::pthread_equal(self.handle, libc::pthread_self()) != 0 }
    }
}

#[cfg(not(shuttle))]
impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: neither joined nor detached yet.
        unsafe { libc::pthread_detach(self.handle) };
    }
}

/// What the new thread is given; owned by it from the moment it exists.
struct Start<F> {
    name: CString,
    cpus: Option<CpuSet>,
    floating_point: FloatingPoint,
    thread_hook: Option<ThreadHook>,
    index: i32,
    on_defect: Option<DefectTeller>,
    body: F,
}

/// In a model, a thread is the checker's.
#[cfg(shuttle)]
pub(crate) fn spawn<F: FnOnce() + Send + 'static>(_: ThreadSpec, body: F) -> Result<Thread> {
    let handle = shuttle::thread::spawn(body);
    Ok(Thread { handle })
}

/// Starts a thread that runs `body` between the two calls of the hook.
///
/// A panic of `body` ends the thread, not the process: `on_defect` is told, or
/// standard error, and the hook still sees the end. Errors: `NORN_E_RESOURCE`
/// when the system has no room for a thread, `NORN_E_SYSTEM` otherwise.
#[cfg(not(shuttle))]
pub(crate) fn spawn<F: FnOnce() + Send + 'static>(spec: ThreadSpec, body: F) -> Result<Thread> {
    let name = short_name(&spec.name);
    let mut attributes = Attributes::new()?;
    attributes.stack(spec.stack_bytes, &spec.name)?;
    let cpus = match spec.cpus.filter(|cpus| !cpus.is_empty()) {
        Some(cpus) => attributes.bind(cpus, &spec.name)?,
        None => None,
    };
    let start = Box::into_raw(Box::new(Start {
        name,
        cpus,
        floating_point: spec.floating_point,
        thread_hook: spec.thread_hook,
        index: spec.index,
        on_defect: spec.on_defect,
        body,
    }));
    let mut handle = MaybeUninit::uninit();
    let rc = {
        // The new thread inherits the mask, so that there is no moment in which
        // a signal could reach it.
        let _blocked = SignalsBlocked::new();
        // SAFETY: the attributes are initialised; `start` is a leaked box of the
        // type that this instance of `run` takes back.
        unsafe { libc::pthread_create(handle.as_mut_ptr(), &attributes.0, run::<F>, start.cast()) }
    };
    if rc != 0 {
        // SAFETY: no thread was made, so the box is still ours alone.
        drop(unsafe { Box::from_raw(start) });
        return Err(match rc {
            libc::EAGAIN => Error::new(
                NORN_E_RESOURCE,
                format!(
                    "no room for thread {} with {} bytes of stack (limits on processes or memory)",
                    spec.name, spec.stack_bytes
                ),
            ),
            _ => system("pthread_create", &spec.name, rc),
        });
    }
    // SAFETY: written by a successful pthread_create.
    let handle = unsafe { handle.assume_init() };
    Ok(Thread { handle })
}

/// First function of a new thread.
extern "C" fn run<F: FnOnce() + Send + 'static>(start: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` leaked this box for this thread.
    let start = *unsafe { Box::from_raw(start.cast::<Start<F>>()) };
    // SAFETY: a zero-terminated name for the calling thread.
    unsafe { libc::prctl(libc::PR_SET_NAME, start.name.as_ptr()) };
    IS_NORNS.set(true);
    start.floating_point.apply();
    if let Some(cpus) = start.cpus {
        // Only where attributes cannot bind; the creator's mask is the fallback.
        let _ = cpus.apply_to_current_thread();
    }
    // What the steps leave goes away with them, or is shared and guarded by
    // whoever wrote them.
    let survive = |step: &mut dyn FnMut()| {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(step)) {
            if let Some(text) = panic_text(payload.as_ref()) {
                match &start.on_defect {
                    Some(tell) => tell(text),
                    None => eprintln!(
                        "norn: error: thread {} ended by a defect in norn: {text}",
                        start.name.to_string_lossy()
                    ),
                }
            }
            std::mem::forget(payload); // its destructor could panic again
        }
    };
    let told = |begin: bool| {
        if let Some(hook) = start.thread_hook {
            survive(&mut || hook.call(start.index, begin));
        }
    };
    told(true);
    let mut body = Some(start.body);
    survive(&mut || {
        if let Some(body) = body.take() {
            body();
        }
    });
    told(false);
    ptr::null_mut()
}

/// Cuts a name to what the kernel keeps, at a character's end.
fn short_name(name: &str) -> CString {
    let mut short = String::new();
    for letter in name.chars().filter(|letter| *letter != '\0') {
        if short.len() + letter.len_utf8() > NAME_BYTES {
            break;
        }
        short.push(letter);
    }
    CString::new(short).unwrap_or_default()
}

/// POSIX thread attributes, destroyed with the value.
struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn new() -> Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the pointer is writable.
        match unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } {
            // SAFETY: just initialised.
            0 => Ok(Self(unsafe { attributes.assume_init() })),
            rc => Err(system("pthread_attr_init", "", rc)),
        }
    }

    /// Sets the stack and the guard below it.
    fn stack(&mut self, bytes: usize, name: &str) -> Result<()> {
        // Old C libraries take the guard out of the stack, new ones add it.
        let bytes = round_to_pages(bytes.saturating_add(GUARD_BYTES));
        // SAFETY: initialised attributes.
        let rc = unsafe { libc::pthread_attr_setstacksize(&mut self.0, bytes) };
        if rc != 0 {
            return Err(system("pthread_attr_setstacksize", name, rc));
        }
        // SAFETY: initialised attributes.
        match unsafe { libc::pthread_attr_setguardsize(&mut self.0, GUARD_BYTES) } {
            0 => Ok(()),
            rc => Err(system("pthread_attr_setguardsize", name, rc)),
        }
    }

    /// Binds the thread before it runs; gives the set back where only the
    /// thread itself can do it.
    #[cfg(target_env = "gnu")]
    fn bind(&mut self, cpus: CpuSet, name: &str) -> Result<Option<CpuSet>> {
        let (words, bytes) = cpus.raw();
        // SAFETY: `words` has `bytes` readable bytes, which are copied.
        match unsafe { libc::pthread_attr_setaffinity_np(&mut self.0, bytes, words) } {
            0 => Ok(None),
            rc => Err(system("pthread_attr_setaffinity_np", name, rc)),
        }
    }

    #[cfg(not(target_env = "gnu"))]
    fn bind(&mut self, cpus: CpuSet, _name: &str) -> Result<Option<CpuSet>> {
        Ok(Some(cpus))
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised, destroyed once.
        unsafe { libc::pthread_attr_destroy(&mut self.0) };
    }
}

#[cold]
fn system(call: &str, thread: &str, errno: i32) -> Error {
    let reason = io::Error::from_raw_os_error(errno);
    let of = if thread.is_empty() {
        ""
    } else {
        " for thread "
    };
    Error::new(NORN_E_SYSTEM, format!("{call}{of}{thread}: {reason}"))
}

/// Signals that a thread causes itself, by what it executes: they must reach
/// the application's handler, on whatever thread.
const SYNCHRONOUS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// Signals left as the creator has them: caused by the thread's own write, or
/// a profiler's clock, which would not see bodies if norn's threads hid from it.
const AS_THE_CREATOR: [i32; 3] = [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGPROF];

/// While alive, the calling thread receives no asynchronous signal.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn new() -> Self {
        let mut before = MaybeUninit::uninit();
        let mut block = MaybeUninit::uninit();
        // SAFETY: all sets are initialised before they are read: `before` by the
        // first call (which cannot fail: its arguments are right), `block` by sigfillset.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), before.as_mut_ptr());
            let before = before.assume_init();
            libc::sigfillset(block.as_mut_ptr());
            let mut block = block.assume_init();
            for signal in SYNCHRONOUS {
                libc::sigdelset(&mut block, signal);
            }
            for signal in AS_THE_CREATOR {
                if libc::sigismember(&before, signal) == 0 {
                    libc::sigdelset(&mut block, signal);
                }
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &block, ptr::null_mut());
            Self(before)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the mask that was read before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
    }
}

/// Traps, rounding and flush-to-zero of a thread, without the flags raised so
/// far: results of bodies must not depend on which thread runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatingPoint {
    #[cfg(target_arch = "x86_64")]
    mxcsr: u32,
    #[cfg(target_arch = "x86_64")]
    x87: u16,
    #[cfg(target_arch = "aarch64")]
    fpcr: u64,
    /// A `fenv_t`, at most this long on every Linux.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    environment: [u64; 16],
}

#[cfg(target_arch = "x86_64")]
impl FloatingPoint {
    /// The lower six bits of MXCSR are the exceptions raised so far.
    const RAISED: u32 = 0x3f;

    /// Reads the calling thread's.
    pub(crate) fn of_this_thread() -> Self {
        let (mut mxcsr, mut x87) = (0_u32, 0_u16);
        // SAFETY: both store a control register into the variable named.
        unsafe {
            core::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack));
            core::arch::asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack));
        }
        Self {
            mxcsr: mxcsr & !Self::RAISED,
            x87,
        }
    }

    /// Gives it to the calling thread.
    pub(crate) fn apply(&self) {
        // SAFETY: values read from the same registers. The code of this thread
        // is the application's, which chose them for its own; norn computes
        // nothing in floating point whose outcome matters.
        unsafe {
            core::arch::asm!("fnclex", "fldcw [{}]", in(reg) &raw const self.x87, options(nostack));
            core::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack));
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FloatingPoint {
    /// Reads the calling thread's.
    pub(crate) fn of_this_thread() -> Self {
        let fpcr;
        // SAFETY: reads a control register.
        unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, nomem)) };
        Self { fpcr }
    }

    /// Gives it to the calling thread.
    pub(crate) fn apply(&self) {
        // SAFETY: a value read from the same register; see the other architecture.
        unsafe { core::arch::asm!("msr fpcr, {}", in(reg) self.fpcr, options(nostack)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe extern "C" {
    fn fegetenv(environment: *mut c_void) -> i32;
    fn fesetenv(environment: *const c_void) -> i32;
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl FloatingPoint {
    /// Reads the calling thread's.
    pub(crate) fn of_this_thread() -> Self {
        let mut environment = [0; 16];
        // SAFETY: room for the largest fenv_t.
        unsafe { fegetenv(environment.as_mut_ptr().cast()) };
        Self { environment }
    }

    /// Gives it to the calling thread.
    pub(crate) fn apply(&self) {
        // SAFETY: written by fegetenv.
        unsafe { fesetenv(self.environment.as_ptr().cast()) };
    }
}

/// Least stack that is the default.
const LEAST_DEFAULT_STACK: usize = 8 << 20;

/// The stack of norn's threads where the configuration says nothing: what the
/// user gave OpenMP's threads, else the limit of the main thread, and 8 MiB at least.
pub(crate) fn default_stack_bytes(environment: &[(String, String)]) -> usize {
    let openmp = environment
        .iter()
        .find(|(name, _)| name == "OMP_STACKSIZE")
        .and_then(|(_, value)| super::openmp::stack_size(value));
    round_to_pages(
        openmp
            .or_else(stack_limit)
            .unwrap_or(0)
            .max(LEAST_DEFAULT_STACK),
    )
}

/// RLIMIT_STACK; None when unlimited.
fn stack_limit() -> Option<usize> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the pointer is writable, and read only after success.
    unsafe {
        (libc::getrlimit(libc::RLIMIT_STACK, limit.as_mut_ptr()) == 0)
            .then(|| limit.assume_init().rlim_cur)
            .filter(|bytes| *bytes != libc::RLIM_INFINITY)
            .and_then(|bytes| usize::try_from(bytes).ok())
    }
}

/// Rounds up to whole pages, or down where up does not fit.
pub(crate) fn round_to_pages(bytes: usize) -> usize {
    // SAFETY: asks for a constant of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    bytes
        .checked_next_multiple_of(page)
        .unwrap_or(usize::MAX / page * page)
}

#[cfg(all(test, not(shuttle)))]
#[path = "thread_tests.rs"]
mod tests;
