//! Runs inputs without a fuzzer.
//!
//!     replay FILE...              inputs that a fuzzer kept
//!     replay --seeds FROM TO      inputs made of random bytes, one a seed
//!     replay --corpus DIRECTORY   writes such inputs, for a fuzzer to begin with
//!
//! Ends with `fuzz: N passed, 0 failed`; a failure aborts and says which input it was.

use std::path::Path;
use std::process::exit;

/// Inputs of the corpus.
const CORPUS: u64 = 64;

/// The input of a seed.
fn input(seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let length = random.usize(16..1200);
    (0..length).map(|_| random.u8(..)).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut ran = 0;
    match words[..] {
        ["--seeds", from, to] => {
            let number = |text: &str| {
                text.parse::<u64>()
                    .unwrap_or_else(|_| panic!("{text} is no number"))
            };
            for seed in number(from)..number(to) {
                norn_fuzz::watch::named(format!("replay --seeds {seed} {}", seed + 1));
                norn_fuzz::run(&input(seed));
                ran += 1;
            }
        }
        ["--corpus", directory] => {
            for seed in 0..CORPUS {
                let path = Path::new(directory).join(format!("seed-{seed}"));
                std::fs::write(&path, input(seed))
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
            return;
        }
        [] => {
            eprintln!("replay FILE... | --seeds FROM TO | --corpus DIRECTORY");
            exit(2);
        }
        _ => {
            for file in &words {
                let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
                norn_fuzz::watch::named(format!("replay {file}"));
                norn_fuzz::run(&bytes);
                ran += 1;
            }
        }
    }
    println!("fuzz: {ran} passed, 0 failed");
}
