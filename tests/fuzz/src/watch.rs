//! The end of a run that goes wrong: a hang becomes a crash that shows where.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

use norn::abi::types::*;

use crate::run::dump;

/// Seconds after which a run counts as hung; `FUZZ_LIMIT` sets another.
const LIMIT: u64 = 10;

static TRACE: AtomicBool = AtomicBool::new(false);
static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Start of the run under way, and its runtime as a number.
static RUNNING: Mutex<Option<(Instant, usize)>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|held| held.into_inner())
}

/// How to repeat the run under way.
static NAME: Mutex<String> = Mutex::new(String::new());

/// Says how the next runs are repeated.
pub fn named(name: String) {
    *lock(&NAME) = name;
}

/// Keep every call of a run, to be shown when it goes wrong.
pub fn trace() {
    TRACE.store(true, Relaxed);
}

/// Keeps a line of the run.
pub fn note(line: impl FnOnce() -> String) {
    if TRACE.load(Relaxed) {
        let line = format!("{:?} {}", std::thread::current().id(), line());
        lock(&NOTES).push(line);
    }
}

/// A run begins.
pub fn begin(rt: *mut norn_runtime) {
    static START: Once = Once::new();
    START.call_once(|| {
        if std::env::var_os("FUZZ_TRACE").is_some() {
            trace();
        }
        let limit = std::env::var("FUZZ_LIMIT")
            .ok()
            .and_then(|text| text.parse().ok());
        let limit = Duration::from_secs(limit.unwrap_or(LIMIT));
        let thread = std::thread::Builder::new().name("fuzz:watch".into());
        let _ = thread
            .spawn(move || watch(limit))
            .expect("a thread can be made");
    });
    lock(&NOTES).clear();
    *lock(&RUNNING) = Some((Instant::now(), rt as usize));
}

/// The run is over. `FUZZ_TRACE=all` shows the calls of a run that went well too.
pub fn rest() {
    *lock(&RUNNING) = None;
    if std::env::var_os("FUZZ_TRACE").is_some_and(|wanted| wanted == "all") {
        for line in lock(&NOTES).iter() {
            eprintln!("  {line}");
        }
    }
}

fn watch(limit: Duration) {
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let running = *lock(&RUNNING);
        if let Some((since, rt)) = running
            && since.elapsed() > limit
        {
            end(&format!("no end after {limit:?}"), rt as *mut norn_runtime);
        }
    }
}

/// Shows what there is and aborts.
pub fn end(what: &str, rt: *mut norn_runtime) -> ! {
    // The first one speaks.
    static SPEAKS: AtomicBool = AtomicBool::new(false);
    if SPEAKS.swap(true, SeqCst) {
        std::thread::sleep(Duration::from_secs(5));
    }
    let mut err = std::io::stderr().lock();
    for line in lock(&NOTES).iter() {
        let _ = writeln!(err, "  {line}");
    }
    let _ = writeln!(err, "norn fuzz: {what}");
    let _ = writeln!(
        err,
        "norn fuzz: FUZZ_TRACE=1 shows the calls; {}",
        lock(&NAME)
    );
    // The dump may hang as well.
    let (done, wait) = std::sync::mpsc::channel();
    let rt = rt as usize;
    std::thread::spawn(move || done.send(dump(rt as *mut norn_runtime, NORN_DUMP_TEXT)));
    if let Ok(Ok(text)) = wait.recv_timeout(Duration::from_secs(1)) {
        let _ = writeln!(err, "{text}");
    }
    std::process::abort()
}
