//! Random graphs in every mode against a sequential oracle.
//!
//! A seed makes a program (generator.rs says what, and the rule that makes its
//! outcome independent of timing), the oracle says what must come of it, and the runner
//! performs it through the C API in several modes. `NORN_TEST_SEED=n` repeats one seed,
//! `NORN_TEST_GRAPHS=n` sets how many are run, `NORN_TEST_FROM=n` where to begin; with
//! `NORN_TEST_KEEP_GOING=1` a failure does not end the run, and `NORN_TEST_SHRINK=n` seconds go into shrinking
//! it. With `NORN_TEST_TIMED=1` no body waits for ever: a hang inside a body's await is then shrunk too. `NORN_TEST_LONGEST=n`: seconds after
//! which a run counts as hung.

mod advance;
mod apart;
mod bodies;
mod calibrate;
mod compare;
mod context;
mod finish;
mod generator;
mod memory;
mod mend;
mod oracle;
mod perform;
mod program;
mod runner;
mod script;
mod selftest;
mod setups;
mod show;
mod shrink;
mod tasks;
mod timeline;
mod verdict;
mod watch;

use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use generator::MOST_COPIES;
use mend::{Fair, mend};
use norn::abi::types::*;
use program::Program;
use timeline::Tree;

/// Graphs of a normal run, each in about five setups. `make soak` runs fresh ones for as long as it is given.
const GRAPHS: u64 = 2000;

/// What the environment asks for. norn refuses `NORN_*` variables that it does not know, so they are taken out.
struct Wishes {
    /// What this process is to do for the one that started it.
    child: Option<String>,
    seed: Option<u64>,
    from: u64,
    graphs: u64,
    keep_going: bool,
    /// Bodies give up waiting, so that a hang can be shrunk.
    timed: bool,
    /// Seconds after which a run is given up.
    longest: u64,
    /// Seconds to spend on making a failure smaller.
    shrink: u64,
}

fn wishes() -> &'static Wishes {
    static WISHES: OnceLock<Wishes> = OnceLock::new();
    WISHES.get_or_init(|| {
        let take_text = |name: &str| {
            let value = std::env::var(name).ok();
            // SAFETY: every test comes here before it does anything else, and no runtime is open yet.
            unsafe { std::env::remove_var(name) };
            value
        };
        let take = |name: &str| {
            take_text(name).map(|value| {
                value
                    .parse()
                    .unwrap_or_else(|_| panic!("{name}={value} is no number"))
            })
        };
        Wishes {
            child: take_text(apart::CHILD),
            seed: take("NORN_TEST_SEED"),
            from: take("NORN_TEST_FROM").unwrap_or(0),
            graphs: take("NORN_TEST_GRAPHS").unwrap_or(GRAPHS),
            keep_going: take("NORN_TEST_KEEP_GOING").is_some(),
            timed: take("NORN_TEST_TIMED").is_some(),
            longest: take("NORN_TEST_LONGEST").unwrap_or(30),
            shrink: take("NORN_TEST_SHRINK").unwrap_or(40),
        }
    })
}

/// A run longer than this is given up, and the process with it.
fn longest() -> Duration {
    Duration::from_secs(wishes().longest)
}

/// One test at a time: they count threads.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    wishes();
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn trees() -> &'static [Tree] {
    static TREES: OnceLock<Vec<Tree>> = OnceLock::new();
    TREES.get_or_init(|| {
        calibrate::trees(MOST_COPIES).expect("reductions are combined in some tree")
    })
}

fn fair(seed: u64) -> Fair {
    let program = generator::generate(seed);
    mend(program, trees()).unwrap_or_else(|| panic!("seed {seed} makes no fair program"))
}

/// Does the work on a thread of its own, the opener, whose name unnamed threads would inherit.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("rg:run".into())
            .spawn_scoped(scope, work);
        thread
            .expect("a thread can be made")
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn graphs_agree_with_the_oracle() {
    let _alone = alone();
    let wishes = wishes();
    if let Some(job) = &wishes.child {
        apart::child(job);
    }
    let (mut from, to) = match wishes.seed {
        Some(seed) => (seed, seed + 1),
        None => (wishes.from, wishes.from + wishes.graphs),
    };
    let mut failures = 0;
    while from < to {
        let Some(failure) = apart::run(from, to) else {
            break;
        };
        failures += 1;
        from = failure.seed + 1;
        eprintln!("{}", apart::explain(failure));
        if !wishes.keep_going {
            break;
        }
    }
    assert_eq!(failures, 0, "failing seeds; the commands above repeat them");
}

/// A mistake in the application, an access that is touched and not declared, must show.
fn shows_under_shuffle(fair: &Fair, plant: (usize, usize)) -> bool {
    (0..12).any(|seed| {
        let mut setup = setups::setup(NORN_MODE_SHUFFLE, 2, seed);
        setup.plant = Some(plant);
        !runner::run(&fair.program, &fair.expected, &setup)
            .complaints
            .is_empty()
    })
}

/// The harness is live: an undeclared access is found in most programs where it can matter.
#[test]
fn graphs_show_an_undeclared_access() {
    let _alone = alone();
    on_own_thread(|| {
        let (mut planted, mut found) = (0, 0);
        for seed in 0..60 {
            let fair = fair(seed);
            let Some(plant) = selftest::plant(&fair.program, &fair.expected, trees()) else {
                continue;
            };
            planted += 1;
            found += u32::from(shows_under_shuffle(&fair, plant));
        }
        assert!(
            planted >= 10 && found * 2 >= planted,
            "{found} of {planted} planted mistakes were found"
        );
    });
}

/// The smallest case: a reader that forgot to say so.
#[test]
fn graphs_show_a_forgotten_reader() {
    let _alone = alone();
    on_own_thread(|| {
        let program: Program = selftest::write_read_write();
        let fair = mend(program, trees()).expect("a fair program");
        assert!(
            !shows_under_shuffle(&fair, (usize::MAX, 0)),
            "it is right when nothing is planted"
        );
        assert!(shows_under_shuffle(&fair, (1, 0)));
    });
}
