//! The environment variables norn reads, in one table.
//!
//! They win over the configuration, because the person at the shell is the last
//! to decide. A variable that norn does not know, or a value it cannot read, is
//! an error at open: a typing error in a job script must not cost a night.

use std::time::Duration;

use super::config::{Mode, OnFailure};
use super::cpuset::CpuSet;
use super::quantity::{above_zero, bytes, duration, size, whole};
use crate::abi::status::NORN_E_CONFIG;
use crate::abi::types::{
    NORN_CALLER_WORKS, NORN_DETERMINISTIC, NORN_PIN, NORN_SHARED, NORN_SUBMIT_HELPS,
};
use crate::error::{Error, Result};
use crate::observe::log::Level;

/// What the environment asks for; None where it says nothing.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub mode: Option<ModeWish>,
    /// `Some(None)`: auto.
    pub workers: Option<Option<usize>>,
    pub max_threads: Option<usize>,
    pub cpus: Option<CpuSet>,
    pub max_live_tasks: Option<u64>,
    pub stack_bytes: Option<u64>,
    pub max_pinned_bytes: Option<u64>,
    /// `Some(None)`: off.
    pub watchdog: Option<Option<Duration>>,
    pub spin: Option<Duration>,
    pub on_failure: Option<OnFailure>,
    pub tag_limit: Option<u64>,
    pub mpi_verify: Option<bool>,
    /// Hundredths of a core.
    pub idle: Option<u32>,
    pub log: Option<Level>,
    /// `NORN_CALLER_WORKS` and so on, to add to the configuration's.
    pub flags_on: u64,
    /// Flags to take away from the configuration's.
    pub flags_off: u64,
    /// `NAME=value` of what was read, for the log.
    pub seen: Vec<String>,
}

/// A mode as the environment names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ModeWish {
    /// A whole mode.
    Mode(Mode),
    /// `shuffle` without a seed: the configuration's.
    Shuffle,
}

/// One environment variable.
pub(crate) struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may be, as shown to the user.
    pub values: &'static str,
    /// What it does; one line for the manual.
    #[allow(dead_code)] // the test of README reads it
    pub what: &'static str,
    /// Reads the value, already in lower case and without blanks around it.
    /// The error is shown after "NAME=value: "; an empty one means that the
    /// table's `values` say it all.
    read: fn(&mut Wishes, &str) -> std::result::Result<(), String>,
}

/// Every variable, in the order of the manual.
pub(crate) const VARIABLES: &[Variable] = &[
    Variable {
        name: "NORN_MODE",
        values: "async | sync | default-stream | shuffle[:SEED]",
        what: "how bodies are run",
        read: |wishes, value| {
            wishes.mode = Some(match value {
                "async" => ModeWish::Mode(Mode::Async),
                "sync" => ModeWish::Mode(Mode::Sync),
                "default-stream" => ModeWish::Mode(Mode::DefaultStream),
                "shuffle" => ModeWish::Shuffle,
                _ => {
                    let seed = value.strip_prefix("shuffle:").ok_or("")?;
                    ModeWish::Mode(Mode::Shuffle(whole(seed)?))
                }
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_WORKERS",
        values: "a number | auto",
        what: "bodies that run at once",
        read: |wishes, value| {
            wishes.workers = Some(match value {
                "auto" => None,
                _ => Some(size(value)?),
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_MAX_THREADS",
        values: "a number above 0",
        what: "ceiling on the threads norn makes, spares for blocked bodies included",
        read: |wishes, value| {
            wishes.max_threads = Some(size(value).and_then(above_zero)?);
            Ok(())
        },
    },
    Variable {
        name: "NORN_CPUS",
        values: "a list of CPUs such as 0-3,8",
        what: "CPUs to use, within those of the process",
        read: |wishes, value| {
            let cpus = CpuSet::parse(value)?;
            if cpus.is_empty() {
                return Err("the list is empty".into());
            }
            wishes.cpus = Some(cpus);
            Ok(())
        },
    },
    Variable {
        name: "NORN_MAX_LIVE_TASKS",
        values: "a number; 0 is no ceiling",
        what: "advisory ceiling on live tasks",
        read: |wishes, value| {
            wishes.max_live_tasks = Some(whole(value)?);
            Ok(())
        },
    },
    Variable {
        name: "NORN_STACK",
        values: "bytes above 0, with K, M or G if wanted",
        what: "stack of norn's threads",
        read: |wishes, value| {
            wishes.stack_bytes = Some(bytes(value).and_then(above_zero)?);
            Ok(())
        },
    },
    Variable {
        name: "NORN_MAX_PINNED",
        values: "bytes, with K, M or G if wanted; 0 is no ceiling",
        what: "ceiling on pinned host memory",
        read: |wishes, value| {
            wishes.max_pinned_bytes = Some(bytes(value)?);
            Ok(())
        },
    },
    Variable {
        name: "NORN_WATCHDOG",
        values: "a time such as 30s or 500ms | off",
        what: "time without any completion, with work pending, before the watchdog reports",
        read: |wishes, value| {
            wishes.watchdog = Some(match value {
                "off" => None,
                _ => match duration(value)? {
                    Duration::ZERO => return Err(String::new()),
                    time => Some(time),
                },
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_SPIN",
        values: "a time such as 20us | off",
        what: "how long an idle worker looks for work before it parks",
        read: |wishes, value| {
            wishes.spin = Some(match value {
                "off" | "0" => Duration::ZERO,
                _ => duration(value)?,
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_ON_FAILURE",
        values: "return | abort | call (only where the program has a callback)",
        what: "what the first failure does",
        read: |wishes, value| {
            wishes.on_failure = Some(match value {
                "return" => OnFailure::Return,
                "call" => OnFailure::Call,
                "abort" => OnFailure::Abort,
                _ => return Err(String::new()),
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_TAG_LIMIT",
        values: "a number above 0",
        what: "MPI tags used of each communicator, at most",
        read: |wishes, value| {
            wishes.tag_limit = Some(whole(value).and_then(above_zero)?);
            Ok(())
        },
    },
    Variable {
        name: "NORN_MPI_VERIFY",
        values: "0 | 1",
        what: "whether ranks compare all that they declared of each message and collective",
        read: |wishes, value| {
            wishes.mpi_verify = Some(match value {
                "0" => false,
                "1" => true,
                _ => return Err(String::new()),
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_IDLE",
        values: "a share of a core such as 20%",
        what: "how much of a core may go into looking for late messages",
        read: |wishes, value| {
            let number = value.strip_suffix('%').unwrap_or(value).trim();
            wishes.idle = Some(match whole(number)? {
                share @ 1..=100 => share as u32,
                _ => return Err("1% to 100%".into()),
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_LOG",
        values: "error | warn | info | debug",
        what: "what is logged",
        read: |wishes, value| {
            wishes.log = Some(match value {
                "error" => Level::Error,
                "warn" => Level::Warn,
                "info" => Level::Info,
                "debug" => Level::Debug,
                _ => return Err(String::new()),
            });
            Ok(())
        },
    },
    Variable {
        name: "NORN_FLAGS",
        values: "a comma-separated list of caller-works, submit-helps, deterministic, shared, pin; no-NAME takes one away",
        what: "flags added to, or taken from, the program's own",
        read: |wishes, value| {
            for item in value.split(',').map(str::trim).filter(|i| !i.is_empty()) {
                let (name, on) = match item.strip_prefix("no-") {
                    Some(name) => (name, false),
                    None => (item, true),
                };
                let flag = match name {
                    "caller-works" => NORN_CALLER_WORKS,
                    "submit-helps" => NORN_SUBMIT_HELPS,
                    "deterministic" => NORN_DETERMINISTIC,
                    "shared" => NORN_SHARED,
                    "pin" => NORN_PIN,
                    _ => return Err(format!("\"{item}\" is no flag")),
                };
                let (set, cleared) = if on {
                    (&mut wishes.flags_on, &mut wishes.flags_off)
                } else {
                    (&mut wishes.flags_off, &mut wishes.flags_on)
                };
                *set |= flag;
                *cleared &= !flag;
            }
            Ok(())
        },
    },
    Variable {
        name: "NORN_MPI_PLUGIN",
        values: "the file of a plug-in",
        what: "calls MPI through this plug-in, not the one beside libnorn",
        // Read where a world is attached (lower/mpi/load.rs), as it is written.
        read: |_, _| Ok(()),
    },
];

/// Prefix of variables that belong to tests.
const TEST_PREFIX: &str = "NORN_TEST_";

/// Variables about where norn is installed, which build tools read and module
/// systems set; they say nothing to a running program.
const INSTALLATION: &[&str] = &[
    "NORN_BASE",
    "NORN_BIN",
    "NORN_DIR",
    "NORN_HOME",
    "NORN_INC",
    "NORN_INCLUDE",
    "NORN_INCLUDE_DIR",
    "NORN_LIB",
    "NORN_LIB_DIR",
    "NORN_LIBRARY",
    "NORN_PREFIX",
    "NORN_ROOT",
    "NORN_VERSION",
];

/// Environment of this process. Bytes that are no UTF-8 become replacement
/// characters, which no variable of norn's accepts.
pub(crate) fn of_this_process() -> Vec<(String, String)> {
    let text = |bytes: std::ffi::OsString| bytes.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// Reads norn's variables out of an environment.
pub(crate) fn read(environment: &[(String, String)]) -> Result<Wishes> {
    let mut wishes = Wishes::default();
    for (name, value) in environment {
        if !name.starts_with("NORN_")
            || name.starts_with(TEST_PREFIX)
            || INSTALLATION.contains(&name.as_str())
        {
            continue;
        }
        let Some(variable) = VARIABLES.iter().find(|variable| variable.name == name) else {
            return Err(error(format!("{name} is no environment variable of norn")));
        };
        let clean = value.trim().to_ascii_lowercase();
        (variable.read)(&mut wishes, &clean).map_err(|reason| {
            let colon = if reason.is_empty() { "" } else { ": " };
            let right = variable.values;
            error(format!(
                "{name}=\"{value}\"{colon}{reason}; it takes {right}"
            ))
        })?;
        wishes.seen.push(format!("{name}={value}"));
    }
    Ok(wishes)
}

/// A configuration error that ends with the list of the known variables.
#[cold]
fn error(what: String) -> Error {
    let known: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    Error::new(
        NORN_E_CONFIG,
        format!("{what} (known variables: {})", known.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        pairs.iter().map(owned).collect()
    }

    fn one(name: &str, value: &str) -> Wishes {
        read(&env(&[(name, value)])).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn every_variable_is_read() {
        let wishes = read(&env(&[
            ("NORN_MODE", "shuffle:42"),
            ("NORN_WORKERS", "3"),
            ("NORN_MAX_THREADS", "9"),
            ("NORN_CPUS", "0-3,8"),
            ("NORN_MAX_LIVE_TASKS", "1000"),
            ("NORN_STACK", "16M"),
            ("NORN_MAX_PINNED", "2g"),
            ("NORN_WATCHDOG", "500ms"),
            ("NORN_SPIN", "20us"),
            ("NORN_ON_FAILURE", "abort"),
            ("NORN_TAG_LIMIT", "64"),
            ("NORN_MPI_VERIFY", "1"),
            ("NORN_IDLE", "20%"),
            ("NORN_LOG", "DEBUG"),
            ("NORN_FLAGS", "pin, no-caller-works,shared"),
            ("NORN_MPI_PLUGIN", "/opt/Norn/x.so"),
            ("PATH", "/bin"),
            ("NORN_TEST_SOAK", "1"),
            ("NORN_ROOT", "/opt/norn"),
        ]))
        .unwrap();
        assert_eq!(wishes.mode, Some(ModeWish::Mode(Mode::Shuffle(42))));
        assert_eq!(wishes.workers, Some(Some(3)));
        assert_eq!(wishes.max_threads, Some(9));
        assert_eq!(wishes.cpus.unwrap().to_string(), "0-3,8");
        assert_eq!(wishes.max_live_tasks, Some(1000));
        assert_eq!(wishes.stack_bytes, Some(16 << 20));
        assert_eq!(wishes.max_pinned_bytes, Some(2 << 30));
        assert_eq!(wishes.watchdog, Some(Some(Duration::from_millis(500))));
        assert_eq!(wishes.spin, Some(Duration::from_micros(20)));
        assert_eq!(wishes.on_failure, Some(OnFailure::Abort));
        assert_eq!(wishes.log, Some(Level::Debug));
        assert_eq!(wishes.flags_on, NORN_PIN | NORN_SHARED);
        assert_eq!(wishes.flags_off, NORN_CALLER_WORKS);
        assert_eq!(wishes.seen.len(), VARIABLES.len(), "all of the table");
    }

    #[test]
    fn special_values() {
        assert_eq!(one("NORN_MODE", "shuffle").mode, Some(ModeWish::Shuffle));
        let default_stream = Some(ModeWish::Mode(Mode::DefaultStream));
        assert_eq!(one("NORN_MODE", "default-stream").mode, default_stream);
        assert_eq!(one("NORN_WORKERS", "auto").workers, Some(None));
        assert_eq!(one("NORN_WORKERS", " 0 ").workers, Some(Some(0)));
        assert_eq!(one("NORN_WATCHDOG", "off").watchdog, Some(None));
        let two_minutes = Some(Some(Duration::from_secs(120)));
        assert_eq!(one("NORN_WATCHDOG", "2 min").watchdog, two_minutes);
        assert_eq!(one("NORN_SPIN", "off").spin, Some(Duration::ZERO));
        assert_eq!(one("NORN_SPIN", "0").spin, Some(Duration::ZERO));
        assert_eq!(one("NORN_STACK", "65536").stack_bytes, Some(65536));
        assert_eq!(one("NORN_MAX_PINNED", "0").max_pinned_bytes, Some(0));
        let flags = one("NORN_FLAGS", "pin,no-pin,");
        assert_eq!((flags.flags_on, flags.flags_off), (0, NORN_PIN));
        assert_eq!(one("NORN_FLAGS", "").flags_on, 0);
    }

    #[test]
    fn malformed_values_name_variable_value_and_choice() {
        for (name, value) in [
            ("NORN_MODE", "fast"),
            ("NORN_MODE", "shuffle:"),
            ("NORN_MODE", "shuffle:-1"),
            ("NORN_MODE", "shuffle:99999999999999999999"),
            ("NORN_WORKERS", ""),
            ("NORN_WORKERS", "-1"),
            ("NORN_WORKERS", "four"),
            ("NORN_MAX_THREADS", "0"),
            ("NORN_CPUS", "0-"),
            ("NORN_CPUS", ""),
            ("NORN_MAX_LIVE_TASKS", "1e6"),
            ("NORN_STACK", "0"),
            ("NORN_STACK", "8MiB"),
            ("NORN_STACK", "99999999999999G"),
            ("NORN_MAX_PINNED", "K"),
            ("NORN_WATCHDOG", "30"),
            ("NORN_WATCHDOG", "0s"),
            ("NORN_WATCHDOG", "30 days"),
            ("NORN_WATCHDOG", "-5s"),
            ("NORN_WATCHDOG", "99999999999999999s"),
            ("NORN_SPIN", "1.5us"),
            ("NORN_ON_FAILURE", "ignore"),
            ("NORN_LOG", "3"),
            ("NORN_FLAGS", "pin,fast"),
            ("NORN_CPUS", "\u{fffd}"),
        ] {
            let error = read(&env(&[(name, value)])).unwrap_err();
            assert_eq!(error.status(), NORN_E_CONFIG);
            let values = VARIABLES.iter().find(|v| v.name == name).unwrap().values;
            for part in [format!("{name}=\"{value}\""), values.into()] {
                assert!(error.text().contains(&part), "{}", error.text());
            }
        }
    }

    #[test]
    fn an_unknown_variable_is_named_with_the_known_ones() {
        let error = read(&env(&[("NORN_WORKER", "4")])).unwrap_err();
        assert_eq!(error.status(), NORN_E_CONFIG);
        assert!(error.text().starts_with("NORN_WORKER is no environment"));
        for variable in VARIABLES {
            assert!(error.text().contains(variable.name));
            assert!(!variable.what.is_empty() && !variable.values.is_empty());
        }
    }
}
