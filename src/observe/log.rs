//! Log lines: to the application's sink, or to standard error.
//!
//! Lines of one runtime leave one at a time, under a lock of their own. A sink
//! may not call norn, so the lock cannot be taken twice by one thread; nobody
//! logs while it holds another lock that a sink could want.

use core::ffi::c_void;
use std::ffi::CString;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::abi::types::{NORN_LOG_DEBUG, NORN_LOG_ERROR, NORN_LOG_INFO, NORN_LOG_WARN};

/// The application's sink, with what to pass to it.
pub(crate) type Sink = (
    unsafe extern "C" fn(arg: *mut c_void, level: i32, text: *const core::ffi::c_char),
    *mut c_void,
);

/// How loud a line is; a lower number is more urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub(crate) enum Level {
    /// A failure.
    Error = NORN_LOG_ERROR,
    /// Something the user should look at.
    Warn = NORN_LOG_WARN,
    /// What was decided, and why.
    Info = NORN_LOG_INFO,
    /// Detail.
    Debug = NORN_LOG_DEBUG,
}

/// Where the lines of one runtime go. Clones share the sink and its lock.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// None: standard error.
    sink: Option<Sink>,
    /// Lines above this level are dropped before they are formatted.
    level: Level,
    /// Held while a line leaves.
    turn: Mutex<()>,
}

// SAFETY: the argument is only handed back to the sink. The application promises
// at open that the sink may be called with it from any thread; `turn` keeps
// calls apart.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Log {
    /// A log to standard error that says `level` and what is more urgent.
    pub(crate) fn to_stderr(level: Level) -> Self {
        Self::with(None, level)
    }

    /// A log to the application's sink.
    ///
    /// # Safety
    /// The sink may be called with its argument from any thread until the last
    /// clone is gone.
    pub(crate) unsafe fn to_sink(sink: Sink, level: Level) -> Self {
        Self::with(Some(sink), level)
    }

    fn with(sink: Option<Sink>, level: Level) -> Self {
        Self {
            shared: Arc::new(Shared {
                sink,
                level,
                turn: Mutex::new(()),
            }),
        }
    }

    /// Whether a line of this level would go anywhere.
    pub(crate) fn says(&self, level: Level) -> bool {
        level <= self.shared.level
    }

    /// A failure.
    pub(crate) fn error(&self, text: impl fmt::Display) {
        self.line(Level::Error, text);
    }

    /// Something the user should look at.
    pub(crate) fn warn(&self, text: impl fmt::Display) {
        self.line(Level::Warn, text);
    }

    /// What was decided, and why.
    pub(crate) fn info(&self, text: impl fmt::Display) {
        self.line(Level::Info, text);
    }

    /// Detail.
    pub(crate) fn debug(&self, text: impl fmt::Display) {
        self.line(Level::Debug, text);
    }

    /// One line of the given level. `text` is formatted before the lock is
    /// taken, and only when somebody will see it.
    pub(crate) fn line(&self, level: Level, text: impl fmt::Display) {
        if !self.says(level) {
            return;
        }
        match self.shared.sink {
            Some((sink, arg)) => {
                let text = CString::new(text.to_string().replace('\0', "?")).unwrap_or_default();
                let _turn = self.shared.turn.lock();
                plant!("log.call");
                // SAFETY: `to_sink` was promised that this call is allowed from
                // any thread; the text is zero-terminated and outlives the call.
                unsafe { sink(arg, level as i32, text.as_ptr()) };
                plant!("log.called");
            }
            None => {
                let line = stderr_line(level, &text.to_string());
                let _turn = self.shared.turn.lock();
                // One write a line, so that ranks sharing a terminal do not mix
                // within lines. A closed standard error is nobody's failure.
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        }
    }
}

/// A line as standard error shows it.
fn stderr_line(level: Level, text: &str) -> String {
    let label = match level {
        Level::Error => "error: ",
        Level::Warn => "warning: ",
        Level::Info => "",
        Level::Debug => "debug: ",
    };
    format!("norn: {label}{}\n", text.trim_end().replace('\0', "?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::{CStr, c_char};

    type Lines = Mutex<Vec<(i32, String)>>;

    unsafe extern "C" fn collect(arg: *mut c_void, level: i32, text: *const c_char) {
        // SAFETY: the tests pass a `Lines` that outlives the log, and the log a string.
        let (lines, text) = unsafe { (&*arg.cast::<Lines>(), CStr::from_ptr(text)) };
        lines
            .try_lock()
            .expect("one line at a time")
            .push((level, text.to_string_lossy().into_owned()));
    }

    fn log_into(lines: &Lines, level: Level) -> Log {
        let arg = (&raw const *lines).cast_mut().cast();
        // SAFETY: `collect` locks, and every test keeps `lines` until the log is gone.
        unsafe { Log::to_sink((collect, arg), level) }
    }

    #[test]
    fn a_sink_gets_the_levels_it_asked_for() {
        let lines = Lines::default();
        let log = log_into(&lines, Level::Info);
        log.error("e");
        log.warn(format_args!("{}", 'w'));
        log.info(String::from("i\0j"));
        log.debug("unseen");
        assert!(log.says(Level::Info) && !log.says(Level::Debug));
        assert_eq!(
            lines.into_inner(),
            [
                (NORN_LOG_ERROR, "e".into()),
                (NORN_LOG_WARN, "w".into()),
                (NORN_LOG_INFO, "i?j".into())
            ]
        );
    }

    #[test]
    fn a_line_nobody_sees_is_not_formatted() {
        struct Never;
        impl fmt::Display for Never {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                unreachable!()
            }
        }
        Log::to_stderr(Level::Error).warn(Never);
    }

    #[test]
    fn lines_of_many_threads_do_not_overlap() {
        let lines = Lines::default();
        let log = log_into(&lines, Level::Debug);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let log = log.clone();
                scope.spawn(move || (0..100).for_each(|line| log.debug(line)));
            }
        });
        assert_eq!(lines.lock().len(), 400);
    }

    #[test]
    fn standard_error_shows_the_level() {
        assert_eq!(
            stderr_line(Level::Warn, "slow\0\n"),
            "norn: warning: slow?\n"
        );
        assert_eq!(stderr_line(Level::Error, "x"), "norn: error: x\n");
        assert_eq!(stderr_line(Level::Info, "x"), "norn: x\n");
        assert_eq!(stderr_line(Level::Debug, "x"), "norn: debug: x\n");
    }
}
