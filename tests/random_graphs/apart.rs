//! Runs seeds in a process of their own, so that a run that crashes or never ends
//! can be named, repeated and shrunk like any other failure.

use std::fmt::Write as _;
use std::process::{Command, exit};
use std::time::Duration;

use crate::context::Setup;
use crate::generator::MOST_COPIES;
use crate::mend::Fair;
use crate::shrink::{Edit, edited, shrink};
use crate::timeline::Tree;
use crate::{fair, on_own_thread, runner, setups, trees, watch, wishes};

/// The variable that tells a child what to do: `from..to`, or `seed:setup:edits`.
pub const CHILD: &str = "NORN_TEST_CHILD";

/// A failing run, as a child described it.
pub struct Failure {
    pub seed: u64,
    /// Index into the seed's setups.
    setup: usize,
    /// What a smaller program must still show.
    kind: String,
    text: String,
}

/// Does what `CHILD` says and ends the process.
pub fn child(job: &str) -> ! {
    let failed = on_own_thread(|| match job.split_once("..") {
        Some((from, to)) => {
            let number = |text: &str| text.parse().expect("a number");
            (number(from)..number(to)).any(|seed| run_seed(seed, None, &[], 1))
        }
        None => {
            let mut parts = job.split(':');
            let mut part = || parts.next().expect("seed:setup:edits");
            let (seed, setup, edits) = (part(), part(), part());
            let edits = edits.split(',').filter(|edit| !edit.is_empty());
            let edits: Vec<Edit> = edits.map(|edit| edit.parse().expect("an edit")).collect();
            let setup = setup.parse().expect("a number");
            run_seed(seed.parse().expect("a number"), Some(setup), &edits, 8)
        }
    });
    exit(i32::from(failed))
}

/// Whether a run failed; what was wrong is then printed.
fn run_seed(seed: u64, only: Option<usize>, edits: &[Edit], tries: u32) -> bool {
    let original = fair(seed);
    let setups = setups::setups(&original, wishes().timed);
    let fair = edited(seed, edits, trees()).expect("the parent has made it too");
    for (index, setup) in setups.iter().enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        for _ in 0..tries {
            watch::about(seed, index);
            let report = runner::run(&fair.program, &fair.expected, setup);
            if !report.complaints.is_empty() {
                println!("\n@failed {seed} {index} {}", kind_of(&report.complaints));
                println!("{}", describe(seed, setup, &report));
                return true;
            }
        }
    }
    false
}

/// The first complaint without its numbers.
fn kind_of(complaints: &[String]) -> String {
    let words = complaints.iter().flat_map(|line| line.split_whitespace());
    let words = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.take(5).collect::<Vec<_>>().join(" ")
}

fn describe(seed: u64, setup: &Setup, report: &runner::Report) -> String {
    let mut text = format!("seed {seed} in {setup:?}:\n");
    for line in report.complaints.iter().take(8).chain(&report.log) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Runs seeds in a child; the first failure.
pub fn run(from: u64, to: u64) -> Option<Failure> {
    spawn(&format!("{from}..{to}"), wishes().longest)
}

fn spawn(job: &str, longest: u64) -> Option<Failure> {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([
        "--exact",
        "graphs_agree_with_the_oracle",
        "--nocapture",
        "--test-threads=1",
    ]);
    command
        .env(CHILD, job)
        .env("NORN_TEST_LONGEST", longest.to_string());
    if wishes().timed {
        command.env("NORN_TEST_TIMED", "1");
    }
    let output = command.output().expect("this program can be started again");
    if output.status.success() {
        return None;
    }
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let text = format!("{out}\n{err}");
    // The last line that begins so: a run may print something before it crashes.
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("@failed "));
    let mut words = line.unwrap_or_default().splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (seed, setup, kind) = (word().parse(), word().parse(), word().to_string());
    let (Ok(seed), Ok(setup)) = (seed, setup) else {
        panic!(
            "a child ended with {} and without saying where:\n{text}",
            output.status
        );
    };
    Some(Failure {
        seed,
        setup,
        kind,
        text,
    })
}

/// The failure's own text, how to repeat it, and a smaller program with what that says.
pub fn explain(failure: Failure) -> String {
    let Failure {
        seed,
        setup,
        kind,
        text,
    } = failure;
    let mut report = format!("{text}\nrepeat with: {}\n", watch::command(seed));
    let plain: Vec<Tree> = (0..=MOST_COPIES).map(Tree::left_fold).collect();
    let original = edited(seed, &[], &plain).expect("it was a fair program");
    let (entangled, in_order) = (original.entangled, original.in_order);
    let mut last = None;
    let fails = |fair: &Fair, edits: &[Edit]| {
        let edits: Vec<String> = edits.iter().map(Edit::to_string).collect();
        let job = format!("{seed}:{setup}:{}", edits.join(","));
        let found = spawn(&job, 2)
            .filter(|found| found.kind == kind)
            .filter(|_| (entangled || !fair.entangled) && (!in_order || fair.in_order));
        let fails = found.is_some();
        if let Some(found) = found {
            last = Some((job, found.text));
        }
        fails
    };
    let (small, _) = shrink(
        original,
        &plain,
        Duration::from_secs(wishes().shrink),
        fails,
    );
    if let Some((job, text)) = last {
        let text: String = text
            .lines()
            .take(40)
            .map(|line| format!("    {line}\n"))
            .collect();
        report += &format!(
            "shrunk ({CHILD}={job}):\n{}which says:\n{text}",
            small.program
        );
    }
    report
}
