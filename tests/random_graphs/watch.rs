//! Looks after the runs: threads that stay behind, runs that never end, crashes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

use norn::abi::runtime::norn_dump;
use norn::abi::types::*;

use crate::context::Setup;
use crate::program::Program;
use crate::runner::collect;

struct Running {
    since: Instant,
    text: String,
    name: String,
    program: &'static Program,
    rt: usize,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// What the crash handler prints. Written by one thread at a time, read only when all is lost.
static mut LAST_WORDS: [u8; 1024] = [0; 1024];
static MAIN_AT: AtomicUsize = AtomicUsize::new(0);
static LAST_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// The command that repeats a seed.
pub fn command(seed: u64) -> String {
    format!("NORN_TEST_SEED={seed} cargo test --release --test random_graphs -- --nocapture")
}

/// Threads of this process with their names.
pub fn threads() -> BTreeMap<u64, String> {
    let mut threads = BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let id = entry.file_name().to_string_lossy().parse().unwrap_or(0);
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        threads.insert(id, name.trim().to_string());
    }
    threads
}

/// Threads that were not there before and do not go away. The test harness's own carry the names of tests.
pub fn leaked(before: &BTreeMap<u64, String>) -> Option<String> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let mut new = threads();
        new.retain(|id, name| {
            let harness = name.starts_with("graphs") || name.starts_with("selftest");
            !before.contains_key(id) && !harness
        });
        if new.is_empty() {
            return None;
        }
        if Instant::now() > deadline {
            return Some(format!("threads left after close: {:?}", new.values()));
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// `norn_dump` as text.
pub fn dump(rt: *mut norn_runtime) -> String {
    let mut text: Vec<u8> = Vec::new();
    // SAFETY: `collect` takes the vector, which outlives the call.
    unsafe { norn_dump(rt, NORN_DUMP_TEXT, Some(collect), (&raw mut text).cast()) };
    String::from_utf8_lossy(&text).into_owned()
}

static ABOUT: Mutex<(u64, usize)> = Mutex::new((0, 0));

/// Which setup of which seed is run next.
pub fn about(seed: u64, setup: usize) {
    *ABOUT.lock().expect("no panic holds it") = (seed, setup);
}

/// A run begins on the calling thread.
pub fn running(program: &'static Program, setup: &Setup, rt: *mut norn_runtime) {
    let seed = program.seed;
    static START: Once = Once::new();
    START.call_once(|| {
        std::thread::Builder::new()
            .name("graphs:watch".into())
            .spawn(watch)
            .expect("a thread can be made");
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL] {
            let handler = crashed as *const () as libc::sighandler_t;
            // SAFETY: the handler only writes and restores the default.
            unsafe { libc::signal(signal, handler) };
        }
    });
    let (about, setup_index) = *ABOUT.lock().expect("no panic holds it");
    let text = format!("{setup:?}\n  {}", command(seed));
    let name = format!("@failed {about} {setup_index}");
    let mut words = String::new();
    let _ = writeln!(words, "\n{name} crash\nseed {seed} crashed in {text}");
    let length = words.len().min(1024);
    // SAFETY: one run at a time, so one writer; the reader is a crash handler.
    unsafe {
        (&raw mut LAST_WORDS)
            .cast::<u8>()
            .copy_from_nonoverlapping(words.as_ptr(), length)
    };
    LAST_LENGTH.store(length, Release);
    *RUNNING.lock().expect("no panic holds it") = Some(Running {
        since: Instant::now(),
        text,
        name,
        program,
        rt: rt as usize,
    });
}

/// The main thread begins this operation of its script (`usize::MAX`: the end).
pub fn at(op: usize) {
    MAIN_AT.store(op, Relaxed);
}

/// The run is over.
pub fn rest() {
    *RUNNING.lock().expect("no panic holds it") = None;
}

fn watch() {
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let running = RUNNING.lock().expect("no panic holds it");
        let Some(run) = running
            .as_ref()
            .filter(|run| run.since.elapsed() > crate::longest())
        else {
            continue;
        };
        let (text, name, program) = (&run.text, &run.name, run.program);
        eprintln!("{name} hang\nno end after {:?} in {text}", crate::longest());
        let at = MAIN_AT.load(Relaxed) as isize;
        eprintln!("main thread at operation {at} of\n{program}");
        // The dump may hang as well.
        let rt = run.rt;
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            eprintln!("{}", dump(rt as *mut norn_runtime));
            let _ = done.send(());
        });
        let _ = wait.recv_timeout(Duration::from_secs(1));
        std::process::exit(1);
    }
}

extern "C" fn crashed(signal: libc::c_int) {
    // SAFETY: `write`, `signal` and `raise` may be called here; the text is as long as said.
    unsafe {
        libc::write(2, (&raw const LAST_WORDS).cast(), LAST_LENGTH.load(Acquire));
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
