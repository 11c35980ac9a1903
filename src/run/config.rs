//! How a runtime is opened: the configuration, the environment and the machine
//! become one set of settings, and a sentence for each thing that was decided.

use std::path::PathBuf;
use std::time::Duration;

use super::allowance::Allowance;
use super::cpuset::CpuSet;
use super::environment::{self, ModeWish, Wishes};
pub(crate) use super::hooks::Hooks;
use super::openmp;
use super::thread::{default_stack_bytes, round_to_pages};
use super::topology::Topology;
use crate::abi::status::NORN_E_CONFIG;
use crate::abi::types::{
    NORN_CALLER_WORKS, NORN_DETERMINISTIC, NORN_MODE_ASYNC, NORN_MODE_DEFAULT_STREAM,
    NORN_MODE_SHUFFLE, NORN_MODE_SYNC, NORN_ON_FAILURE_ABORT, NORN_ON_FAILURE_CALL,
    NORN_ON_FAILURE_RETURN, NORN_PIN, NORN_SHARED, NORN_SUBMIT_HELPS, norn_config,
};
use crate::error::{Error, Result};
use crate::observe::log::{Level, Log};

/// More workers than any machine has cores; beyond it is a typing error.
const MAX_WORKERS: usize = 4096;
/// The kernel's customary ceiling on threads of a whole system.
const MAX_THREADS: usize = 32_768;
/// Threads beyond the workers, as spares for blocked bodies.
const SPARES: usize = 64;
/// The smallest stack norn supports: its own frames and a small body.
const MIN_STACK: u64 = 64 << 10;
/// Beyond it is a typing error.
const MAX_STACK: u64 = 1 << 40;
/// Time without a completion before the watchdog reports.
const WATCHDOG: Duration = Duration::from_secs(30);
/// How long an idle worker looks for work.
const SPIN: Duration = Duration::from_micros(20);

/// How bodies are run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// On worker threads, as soon as they may.
    Async,
    /// The sequential oracle.
    Sync,
    /// Device work on the legacy default stream, host work as in async mode.
    DefaultStream,
    /// One body at a time in pseudo-random order from a seed.
    Shuffle(u64),
}

impl Mode {
    /// Whether one body runs at a time, inside norn calls only.
    pub(crate) fn one_thread(self) -> bool {
        matches!(self, Self::Sync | Self::Shuffle(_))
    }

    /// The mode's number in the C API.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Async => NORN_MODE_ASYNC,
            Self::Sync => NORN_MODE_SYNC,
            Self::DefaultStream => NORN_MODE_DEFAULT_STREAM,
            Self::Shuffle(_) => NORN_MODE_SHUFFLE,
        }
    }

    /// As `NORN_MODE` takes it.
    fn text(self) -> String {
        match self {
            Self::Async => "async".into(),
            Self::Sync => "sync".into(),
            Self::DefaultStream => "default-stream".into(),
            Self::Shuffle(seed) => format!("shuffle:{seed}"),
        }
    }
}

/// What a failure does beyond failing its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// Nothing: the calls that ask return it.
    Return,
    /// The application's callback gets each first cause.
    Call,
    /// The process ends.
    Abort,
}

/// Everything that is decided at open.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How bodies are run.
    pub mode: Mode,
    /// Bodies that run at once, as far as the mode allows.
    pub workers: usize,
    /// The opener takes a worker's place inside await and drain.
    pub caller_works: bool,
    /// A submit that meets `max_live_tasks` may run bodies.
    pub submit_helps: bool,
    /// COMMUTE accesses run in submission order.
    pub deterministic: bool,
    /// One runtime a process.
    pub shared: bool,
    /// Workers have a core each.
    #[cfg_attr(not(test), expect(dead_code))]
    // used while the topology is seated; shown by tests
    pub pin: bool,
    /// Ceiling on the threads norn makes; at least `workers`.
    pub max_threads: usize,
    /// What a failure does.
    pub on_failure: OnFailure,
    /// Where norn's threads may run.
    pub cpus: CpuSet,
    /// The machine within `cpus`, with the places of the workers.
    pub topology: Topology,
    /// Advisory ceiling on live tasks; 0: none.
    pub max_live_tasks: u64,
    /// Stack of norn's threads.
    pub stack_bytes: usize,
    /// Ceiling on pinned host memory; 0: none.
    pub max_pinned_bytes: u64,
    /// Time without a completion before the watchdog reports; None: never.
    pub watchdog: Option<Duration>,
    /// How long an idle worker looks for work before it parks.
    pub spin: Duration,
    /// MPI tags used of each communicator; None: what the world's configuration says.
    pub tag_limit: Option<u64>,
    /// Whether ranks compare what they declare; None: what the world's configuration says.
    pub mpi_verify: Option<bool>,
    /// Hundredths of a core for late messages; None: what the world's configuration says.
    pub idle: Option<u32>,
    /// The application's callbacks.
    pub hooks: Hooks,
    /// What was decided and why, a sentence each.
    pub decisions: Vec<String>,
}

/// The machine and process that settings are made for.
struct Surroundings {
    /// `/`, or a recorded tree.
    root: PathBuf,
    /// Mask of the calling thread.
    caller: CpuSet,
    /// Asks the OpenMP runtime of the process for its places.
    places: fn() -> Option<CpuSet>,
}

impl Settings {
    /// Makes settings out of the configuration (None: all defaults) and the
    /// environment, which wins.
    ///
    /// Errors: `NORN_E_CONFIG`, with the variable or field in the text.
    ///
    /// # Safety
    /// `config.cpus` is NULL or a zero-terminated string. The callbacks may be
    /// called, with their arguments, as their C documentation says, for as long
    /// as the settings or a clone of their hooks live.
    pub(crate) unsafe fn resolve(
        config: Option<norn_config>,
        environment: &[(String, String)],
    ) -> Result<Self> {
        let here = Surroundings {
            root: "/".into(),
            caller: CpuSet::of_thread(0).unwrap_or_default(),
            places: openmp::places_of_loaded_runtime,
        };
        // SAFETY: passed on.
        unsafe { Self::resolve_in(&here, config, environment) }
    }

    /// As `resolve`, in the given surroundings.
    ///
    /// # Safety
    /// As for `resolve`.
    unsafe fn resolve_in(
        here: &Surroundings,
        config: Option<norn_config>,
        environment: &[(String, String)],
    ) -> Result<Self> {
        let config = config.unwrap_or_else(defaults);
        let wishes = environment::read(environment)?;
        let mut decisions = Vec::new();
        if !wishes.seen.is_empty() {
            decisions.push(format!("the environment says {}", wishes.seen.join(" ")));
        }
        let mode = mode(&config, &wishes)?;
        decisions.push(format!("mode {}", mode.text()));
        let flags = flags(&config, &wishes)?;
        let has = |flag| flags & flag != 0;

        let allowance = Allowance::read(&here.root, environment, &here.caller, here.places);
        // SAFETY: passed on.
        let cpus = unsafe { chosen_cpus(&config, &wishes, &allowance, &mut decisions) }?;
        let mut topology = Topology::read(&here.root, &cpus);
        let (workers, max_threads) =
            counts(&config, &wishes, &topology, &allowance, &mut decisions)?;
        topology.seat(workers, has(NORN_PIN));
        decisions.push(match (has(NORN_PIN), topology.nodes()) {
            (true, _) => "each worker is bound to one core".into(),
            (false, 0 | 1) => "workers are bound to these CPUs as a whole".into(),
            (false, nodes) => format!("workers are bound to their NUMA node, of {nodes}"),
        });

        let (on_failure, hooks) = failure_policy(&config, &wishes)?;
        let stack_bytes = stack(&config, &wishes, environment, &mut decisions)?;
        let watchdog = wishes.watchdog.unwrap_or(match config.watchdog_ns {
            0 => Some(WATCHDOG),
            time => u64::try_from(time).ok().map(Duration::from_nanos),
        });
        let spin = wishes.spin.unwrap_or(match config.spin_ns {
            0 => SPIN,
            time => Duration::from_nanos(u64::try_from(time).unwrap_or(0)),
        });
        Ok(Self {
            mode,
            workers,
            caller_works: has(NORN_CALLER_WORKS),
            submit_helps: has(NORN_SUBMIT_HELPS),
            deterministic: has(NORN_DETERMINISTIC),
            shared: has(NORN_SHARED),
            pin: has(NORN_PIN),
            max_threads,
            on_failure,
            cpus,
            topology,
            max_live_tasks: wishes.max_live_tasks.unwrap_or(config.max_live_tasks),
            stack_bytes,
            max_pinned_bytes: wishes.max_pinned_bytes.unwrap_or(config.max_pinned_bytes),
            watchdog,
            spin,
            tag_limit: wishes.tag_limit,
            mpi_verify: wishes.mpi_verify,
            idle: wishes.idle,
            hooks,
            decisions,
        })
    }
}

/// What NULL means: the same as `NORN_CONFIG_INIT`.
fn defaults() -> norn_config {
    // SAFETY: every field is a number, a pointer or an optional function, and
    // each of these may be zero.
    let mut config: norn_config = unsafe { core::mem::zeroed() };
    config.struct_size = size_of::<norn_config>();
    config.workers = -1;
    config
}

/// An error that names its field or variable.
#[cold]
fn wrong(name: &str, what: impl std::fmt::Display) -> Error {
    Error::new(NORN_E_CONFIG, format!("{name}: {what}"))
}

/// A count of the configuration: zero or more, -1 where it stands for a default.
fn count(name: &str, number: i32, least: i32, most: usize) -> Result<Option<usize>> {
    if number < least || usize::try_from(number).is_ok_and(|number| number > most) {
        return Err(wrong(
            name,
            format!("{number} is not within {least} to {most}"),
        ));
    }
    Ok(usize::try_from(number).ok())
}

fn mode(config: &norn_config, wishes: &Wishes) -> Result<Mode> {
    // The program's own mode is looked at even where the environment wins: a
    // program that is wrong is wrong every time.
    let own = match config.mode {
        NORN_MODE_ASYNC => Mode::Async,
        NORN_MODE_SYNC => Mode::Sync,
        NORN_MODE_DEFAULT_STREAM => Mode::DefaultStream,
        NORN_MODE_SHUFFLE => Mode::Shuffle(config.seed),
        other => {
            return Err(wrong(
                "norn_config.mode",
                format!("{other} is no NORN_MODE_*"),
            ));
        }
    };
    Ok(match wishes.mode {
        None => own,
        Some(ModeWish::Mode(mode)) => mode,
        Some(ModeWish::Shuffle) => Mode::Shuffle(config.seed),
    })
}

fn flags(config: &norn_config, wishes: &Wishes) -> Result<u64> {
    const KNOWN: u64 =
        NORN_CALLER_WORKS | NORN_SUBMIT_HELPS | NORN_DETERMINISTIC | NORN_SHARED | NORN_PIN;
    if config.flags & !KNOWN != 0 {
        let unknown = config.flags & !KNOWN;
        return Err(wrong(
            "norn_config.flags",
            format!("unknown bits {unknown:#x}"),
        ));
    }
    Ok((config.flags | wishes.flags_on) & !wishes.flags_off)
}

/// The CPUs to use: those named, else all that are allowed.
///
/// # Safety
/// `config.cpus` is NULL or a zero-terminated string.
unsafe fn chosen_cpus(
    config: &norn_config,
    wishes: &Wishes,
    allowance: &Allowance,
    decisions: &mut Vec<String>,
) -> Result<CpuSet> {
    const FIELD: &str = "norn_config.cpus";
    let own = if config.cpus.is_null() {
        None
    } else {
        // SAFETY: not NULL, so the caller promises a string.
        let text = unsafe { std::ffi::CStr::from_ptr(config.cpus) }.to_string_lossy();
        let cpus = CpuSet::parse(&text).map_err(|reason| wrong(FIELD, reason))?;
        if cpus.is_empty() {
            return Err(wrong(FIELD, "the list is empty"));
        }
        Some((cpus, FIELD))
    };
    let named = wishes.cpus.clone().map(|cpus| (cpus, "NORN_CPUS"));
    let Some((cpus, name)) = named.or(own) else {
        decisions.push(allowance.why.clone());
        return Ok(allowance.mask.clone());
    };
    let outside = cpus.difference(&allowance.limit);
    if !outside.is_empty() {
        let limit = &allowance.limit;
        return Err(wrong(
            name,
            format!("CPUs {outside} are outside the mask of this process ({limit})"),
        ));
    }
    decisions.push(format!("CPUs {cpus}: named by {name}"));
    Ok(cpus)
}

/// Workers and the ceiling on threads.
fn counts(
    config: &norn_config,
    wishes: &Wishes,
    topology: &Topology,
    allowance: &Allowance,
    decisions: &mut Vec<String>,
) -> Result<(usize, usize)> {
    let own_workers = count("norn_config.workers", config.workers, -1, MAX_WORKERS)?;
    let own_threads = count(
        "norn_config.max_threads",
        config.max_threads,
        0,
        MAX_THREADS,
    )?
    .filter(|threads| *threads > 0);
    for (name, wish, most) in [
        ("NORN_WORKERS", wishes.workers.flatten(), MAX_WORKERS),
        ("NORN_MAX_THREADS", wishes.max_threads, MAX_THREADS),
    ] {
        if let Some(number) = wish.filter(|number| *number > most) {
            return Err(wrong(name, format!("{number} is above {most}")));
        }
    }
    let (asked, workers_from) = match wishes.workers {
        Some(wish) => (wish, "NORN_WORKERS"),
        None => (own_workers, "norn_config.workers"),
    };
    let (ceiling, ceiling_from) = match wishes.max_threads {
        Some(threads) => (Some(threads), "NORN_MAX_THREADS"),
        None => (own_threads, "norn_config.max_threads"),
    };
    let cores = topology.cores().max(1);
    let Some(workers) = asked else {
        let mut workers = cores.min(MAX_WORKERS);
        let mut why = format!("the cores of these CPUs ({cores}, SMT siblings counted once)");
        if let Some(quota) = allowance.quota.as_ref().filter(|q| q.cpus < workers) {
            workers = quota.cpus;
            why = format!(
                "the cgroup quota of {} CPUs, over {cores} cores",
                quota.exact
            );
        }
        if let Some(ceiling) = ceiling.filter(|ceiling| *ceiling < workers) {
            workers = ceiling;
            why = format!("{ceiling_from}, over {cores} cores");
        }
        decisions.push(format!("workers: {workers}, {why}"));
        return Ok((workers, ceiling.unwrap_or(workers + SPARES)));
    };
    let cores = match workers {
        0 => "bodies run inside calls of application threads".into(),
        _ => format!("on {cores} cores"),
    };
    decisions.push(format!("workers: {workers} by {workers_from}, {cores}"));
    let threads = match ceiling {
        None => workers + SPARES,
        Some(ceiling) if ceiling >= workers => ceiling,
        // The person at the shell cannot know the program's own ceiling.
        Some(ceiling) if wishes.workers.is_some() && wishes.max_threads.is_none() => {
            decisions.push(format!(
                "threads: at most {workers}, because {workers_from} is above {ceiling_from} ({ceiling})"
            ));
            workers
        }
        Some(ceiling) => {
            return Err(wrong(
                ceiling_from,
                format!("{ceiling} is below the {workers} of {workers_from}"),
            ));
        }
    };
    Ok((workers, threads))
}

/// What a failure does, and the callbacks, of which `failure` stays only where it is wanted.
fn failure_policy(config: &norn_config, wishes: &Wishes) -> Result<(OnFailure, Hooks)> {
    let own = match config.on_failure {
        NORN_ON_FAILURE_RETURN => OnFailure::Return,
        NORN_ON_FAILURE_CALL => OnFailure::Call,
        NORN_ON_FAILURE_ABORT => OnFailure::Abort,
        other => {
            let what = format!("{other} is no NORN_ON_FAILURE_*");
            return Err(wrong("norn_config.on_failure", what));
        }
    };
    if own == OnFailure::Call && config.failure.is_none() {
        let what = "NULL, but on_failure is NORN_ON_FAILURE_CALL";
        return Err(wrong("norn_config.failure", what));
    }
    let chosen = wishes.on_failure.unwrap_or(own);
    if chosen == OnFailure::Call && config.failure.is_none() {
        let what = "\"call\" needs a callback, and this program gives none";
        return Err(wrong("NORN_ON_FAILURE", what));
    }
    let mut hooks = Hooks::new(config, log(config, wishes));
    if chosen != OnFailure::Call {
        hooks.failure = None;
    }
    Ok((chosen, hooks))
}

/// The application's sink hears decisions too; standard error only what is
/// wrong; `NORN_LOG` sets the level of either.
fn log(config: &norn_config, wishes: &Wishes) -> Log {
    match config.log {
        // SAFETY: whoever calls `resolve` promises the sink for the life of the settings.
        Some(sink) => unsafe {
            Log::to_sink((sink, config.log_arg), wishes.log.unwrap_or(Level::Info))
        },
        None => Log::to_stderr(wishes.log.unwrap_or(Level::Warn)),
    }
}

fn stack(
    config: &norn_config,
    wishes: &Wishes,
    environment: &[(String, String)],
    decisions: &mut Vec<String>,
) -> Result<usize> {
    let (name, bytes) = match wishes.stack_bytes {
        Some(bytes) => ("NORN_STACK", bytes),
        None => ("norn_config.stack_bytes", config.stack_bytes),
    };
    if bytes == 0 {
        let bytes = default_stack_bytes(environment);
        decisions.push(format!("stacks of {} KiB: the default", bytes >> 10));
        return Ok(bytes);
    }
    if !(MIN_STACK..=MAX_STACK).contains(&bytes) {
        let what = format!("{bytes} is not within {MIN_STACK} to {MAX_STACK} bytes");
        return Err(wrong(name, what));
    }
    let bytes = usize::try_from(bytes).map_err(|_| wrong(name, "more than this machine has"))?;
    let bytes = round_to_pages(bytes);
    decisions.push(format!("stacks of {} KiB: {name}", bytes >> 10));
    Ok(bytes)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
