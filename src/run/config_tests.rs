use super::super::recorded::{Tree, set};
use super::*;
use crate::abi::types::norn_error_info;
use core::ffi::{CStr, c_char, c_void};

/// The recorded machine of two sockets, with this mask.
fn machine(mask: &str) -> (Tree, Surroundings) {
    let tree = Tree::two_sockets();
    let here = Surroundings {
        root: tree.root().to_owned(),
        caller: set(mask),
        places: || None,
    };
    (tree, here)
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    pairs.iter().map(owned).collect()
}

fn resolve(
    mask: &str,
    change: impl FnOnce(&mut norn_config),
    variables: &[(&str, &str)],
) -> Result<Settings> {
    let (_tree, here) = machine(mask);
    let mut config = defaults();
    change(&mut config);
    // SAFETY: the tests give strings and callbacks that are static.
    unsafe { Settings::resolve_in(&here, Some(config), &env(variables)) }
}

fn text(result: Result<Settings>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.status(), NORN_E_CONFIG);
    error.text().to_owned()
}

#[test]
fn null_means_the_defaults() {
    let (_tree, here) = machine("0-15");
    // SAFETY: no strings, no callbacks.
    let settings = unsafe { Settings::resolve_in(&here, None, &[]) }.unwrap();
    assert_eq!(settings.mode, Mode::Async);
    assert_eq!(settings.workers, 8, "cores, not siblings");
    assert_eq!(settings.max_threads, 8 + SPARES);
    assert_eq!(settings.cpus, set("0-15"));
    assert_eq!(settings.on_failure, OnFailure::Return);
    assert_eq!(settings.watchdog, Some(WATCHDOG));
    assert_eq!(settings.spin, SPIN);
    assert!(settings.stack_bytes >= 8 << 20);
    assert_eq!((settings.max_live_tasks, settings.max_pinned_bytes), (0, 0));
    let flags = [
        settings.caller_works,
        settings.submit_helps,
        settings.deterministic,
        settings.shared,
        settings.pin,
    ];
    assert_eq!(flags, [false; 5]);
    assert_eq!(settings.topology.binding(7), &set("4-7,12-15"));
    let told = settings.decisions.join("; ");
    assert!(told.contains("workers: 8, the cores") && told.contains("NUMA node, of 2"));
    assert!(settings.hooks.log.says(Level::Warn) && !settings.hooks.log.says(Level::Info));
}

#[test]
fn this_very_process_can_be_opened() {
    // SAFETY: no strings, no callbacks.
    let settings = unsafe { Settings::resolve(None, &[]) }.unwrap();
    assert!(settings.workers >= 1 && settings.workers <= settings.cpus.len());
    let own = CpuSet::of_thread(0).unwrap();
    assert!(settings.cpus.difference(&own).is_empty(), "{own}");
}

#[test]
fn the_environment_wins() {
    let settings = resolve(
        "0-15",
        |config| {
            config.mode = NORN_MODE_ASYNC;
            config.workers = 2;
            config.max_live_tasks = 5;
            config.stack_bytes = 1 << 20;
            config.max_pinned_bytes = 1;
            config.watchdog_ns = -1;
            config.spin_ns = -1;
            config.cpus = c"0-3".as_ptr();
            config.flags = NORN_CALLER_WORKS | NORN_DETERMINISTIC;
        },
        &[
            ("NORN_MODE", "shuffle:7"),
            ("NORN_WORKERS", "3"),
            ("NORN_MAX_THREADS", "5"),
            ("NORN_CPUS", "4-5"),
            ("NORN_MAX_LIVE_TASKS", "6"),
            ("NORN_STACK", "2M"),
            ("NORN_MAX_PINNED", "2"),
            ("NORN_WATCHDOG", "5s"),
            ("NORN_SPIN", "1ms"),
            ("NORN_ON_FAILURE", "abort"),
            ("NORN_LOG", "error"),
            ("NORN_FLAGS", "no-caller-works,pin"),
        ],
    )
    .unwrap();
    assert_eq!(settings.mode, Mode::Shuffle(7));
    assert_eq!((settings.workers, settings.max_threads), (3, 5));
    assert_eq!(settings.cpus, set("4-5"));
    assert_eq!(settings.max_live_tasks, 6);
    assert_eq!(settings.stack_bytes, 2 << 20);
    assert_eq!(settings.max_pinned_bytes, 2);
    assert_eq!(settings.watchdog, Some(Duration::from_secs(5)));
    assert_eq!(settings.spin, Duration::from_millis(1));
    assert_eq!(settings.on_failure, OnFailure::Abort);
    assert!(settings.deterministic && settings.pin && !settings.caller_works);
    assert!(!settings.hooks.log.says(Level::Warn));
    assert!(settings.decisions[0].contains("NORN_MODE=shuffle:7"));
    assert_eq!(settings.topology.binding(2), &set("4"), "pinned, in turn");
}

#[test]
fn the_configuration_alone() {
    let settings = resolve(
        "0-15",
        |config| {
            config.mode = NORN_MODE_SHUFFLE;
            config.seed = 9;
            config.workers = 0;
            config.max_threads = 3;
            config.cpus = c"8-9".as_ptr();
            config.watchdog_ns = 1_000_000_000;
            config.spin_ns = -5;
            config.stack_bytes = MIN_STACK + 1;
            config.flags = NORN_SHARED | NORN_SUBMIT_HELPS;
        },
        &[],
    )
    .unwrap();
    assert_eq!(settings.mode, Mode::Shuffle(9));
    assert_eq!((settings.workers, settings.max_threads), (0, 3));
    assert_eq!(settings.watchdog, Some(Duration::from_secs(1)));
    assert_eq!(settings.spin, Duration::ZERO);
    assert!(settings.stack_bytes > MIN_STACK as usize && settings.stack_bytes % 4096 == 0);
    assert!(settings.shared && settings.submit_helps);
    let never = resolve("0", |config| config.watchdog_ns = -1, &[]).unwrap();
    assert_eq!(never.watchdog, None);
    let seed = |config: &mut norn_config| config.seed = 11;
    let replayed = resolve("0", seed, &[("NORN_MODE", "shuffle")]).unwrap();
    assert_eq!(replayed.mode, Mode::Shuffle(11));
}

#[test]
fn workers_by_default_stay_within_mask_quota_and_ceiling() {
    let workers = |mask, variables: &[(&str, &str)]| {
        let settings = resolve(mask, |_| (), variables).unwrap();
        assert!(settings.max_threads >= settings.workers);
        settings.workers
    };
    assert_eq!(workers("1", &[]), 1);
    assert_eq!(workers("1,9", &[]), 1);
    assert_eq!(workers("0-3,5", &[]), 5);
    assert_eq!(workers("0-7", &[("NORN_MAX_THREADS", "2")]), 2);
    let auto = resolve("0-7", |c| c.workers = 3, &[("NORN_WORKERS", "auto")]);
    assert_eq!(auto.unwrap().workers, 8);

    let (tree, here) = machine("0-7");
    tree.file("proc/self/cgroup", "0::/\n");
    let mount = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n";
    tree.file("proc/self/mountinfo", mount);
    tree.file("sys/fs/cgroup/cpu.max", "150000 100000\n");
    // SAFETY: no strings, no callbacks.
    let settings = unsafe { Settings::resolve_in(&here, None, &[]) }.unwrap();
    assert_eq!(settings.workers, 2);
    let told = settings.decisions.join("; ");
    assert!(told.contains("workers: 2, the cgroup quota of 1.5 CPUs, over 8 cores"));
}

#[test]
fn openmps_places_widen_a_bound_main_thread() {
    let (tree, mut here) = machine("0");
    tree.status("self", 7, "0");
    tree.status("7", 1, "0-15");
    here.places = || Some(set("0-3"));
    let bound = env(&[("OMP_PROC_BIND", "true")]);
    // SAFETY: no strings, no callbacks.
    let settings = unsafe { Settings::resolve_in(&here, None, &bound) }.unwrap();
    assert_eq!((settings.workers, settings.cpus), (4, set("0-3")));
}

#[test]
fn fields_out_of_range_are_named() {
    type Change = fn(&mut norn_config);
    let wrong: [(&str, Change); 14] = [
        ("norn_config.mode", |c| c.mode = 4),
        ("norn_config.mode", |c| c.mode = -1),
        ("norn_config.workers", |c| c.workers = -2),
        ("norn_config.workers", |c| c.workers = i32::MAX),
        ("norn_config.max_threads", |c| c.max_threads = -1),
        ("norn_config.max_threads", |c| c.max_threads = i32::MAX),
        ("norn_config.on_failure", |c| c.on_failure = 3),
        ("norn_config.failure", |c| {
            c.on_failure = NORN_ON_FAILURE_CALL
        }),
        ("norn_config.cpus", |c| c.cpus = c"0-x".as_ptr()),
        ("norn_config.cpus", |c| c.cpus = c"".as_ptr()),
        ("norn_config.cpus", |c| c.cpus = c"7-8".as_ptr()),
        ("norn_config.stack_bytes", |c| c.stack_bytes = 1000),
        ("norn_config.stack_bytes", |c| c.stack_bytes = u64::MAX),
        ("norn_config.flags", |c| c.flags = 1 << 60),
    ];
    for (name, change) in wrong {
        let text = text(resolve("0-7", change, &[]));
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
    }
    // A wrong program is wrong even when the environment would win.
    let hidden = resolve("0", |c| c.mode = 4, &[("NORN_MODE", "sync")]);
    assert!(text(hidden).starts_with("norn_config.mode"));
}

#[test]
fn variables_out_of_range_are_named() {
    for (name, value) in [
        ("NORN_WORKERS", "4097"),
        ("NORN_MAX_THREADS", "40000"),
        ("NORN_CPUS", "8"),
        ("NORN_STACK", "1K"),
        ("NORN_STACK", "4096G"),
        ("NORN_ON_FAILURE", "call"),
        ("NORN_MODUS", "sync"),
    ] {
        let text = text(resolve("0-7", |_| (), &[(name, value)]));
        assert!(text.starts_with(name), "{text}");
    }
    let outside = text(resolve("0-7", |_| (), &[("NORN_CPUS", "6-9")]));
    assert!(outside.contains("CPUs 8-9 are outside") && outside.contains("(0-7)"));
}

#[test]
fn a_ceiling_below_the_workers_is_an_error_unless_the_shell_cannot_know_it() {
    let both = |config: &mut norn_config| {
        config.workers = 4;
        config.max_threads = 4;
    };
    let low = resolve("0", both, &[("NORN_MAX_THREADS", "2")]);
    assert_eq!(
        text(low),
        "NORN_MAX_THREADS: 2 is below the 4 of norn_config.workers"
    );
    let raised = resolve("0", both, &[("NORN_WORKERS", "6")]).unwrap();
    assert_eq!((raised.workers, raised.max_threads), (6, 6));
    assert!(raised.decisions.join(";").contains("at most 6"));
}

unsafe extern "C" fn failure(_: *mut c_void, _: *const norn_error_info) {}
unsafe extern "C" fn sink(arg: *mut c_void, _: i32, text: *const c_char) {
    // SAFETY: the test passes a list of its own thread, the log a string.
    let (lines, text) = unsafe { (&mut *arg.cast::<Vec<String>>(), CStr::from_ptr(text)) };
    lines.push(text.to_string_lossy().into_owned());
}

#[test]
fn the_failure_callback_is_kept_only_where_it_is_wanted() {
    let given = |config: &mut norn_config| {
        config.failure = Some(failure);
        config.on_failure = NORN_ON_FAILURE_CALL;
    };
    let settings = resolve("0", given, &[]).unwrap();
    assert_eq!(settings.on_failure, OnFailure::Call);
    assert!(settings.hooks.failure.is_some());
    let quiet = resolve("0", given, &[("NORN_ON_FAILURE", "return")]).unwrap();
    assert!(quiet.hooks.failure.is_none());
    let unused = resolve("0", |c| c.failure = Some(failure), &[]).unwrap();
    assert!(unused.hooks.failure.is_none());
    let asked = resolve(
        "0",
        |c| c.failure = Some(failure),
        &[("NORN_ON_FAILURE", "call")],
    );
    assert!(asked.unwrap().hooks.failure.is_some());
}

#[test]
fn a_sink_of_the_application_hears_decisions() {
    let mut lines = Vec::<String>::new();
    let arg = (&raw mut lines).cast::<c_void>();
    let given = |config: &mut norn_config| {
        config.log = Some(sink);
        config.log_arg = arg;
    };
    let settings = resolve("0", given, &[]).unwrap();
    settings.hooks.log.info(&settings.decisions[0]);
    settings.hooks.log.debug("unheard");
    drop(settings);
    let louder = resolve("0", given, &[("NORN_LOG", "debug")]).unwrap();
    louder.hooks.log.debug("heard");
    drop(louder);
    assert_eq!(lines, ["mode async", "heard"]);
}

#[test]
fn modes_have_their_numbers() {
    let modes = [
        (Mode::Async, NORN_MODE_ASYNC, false),
        (Mode::Sync, NORN_MODE_SYNC, true),
        (Mode::DefaultStream, NORN_MODE_DEFAULT_STREAM, false),
        (Mode::Shuffle(1), NORN_MODE_SHUFFLE, true),
    ];
    for (mode, code, one_thread) in modes {
        assert_eq!((mode.code(), mode.one_thread()), (code, one_thread));
    }
}
