//! Does every reader of files and texts end damaged input in an error, without a panic, a hang or a large allocation?
//!
//! `cargo run -p polyfabric-fuzz -- [--seconds S] [--target NAME] [--seed N] [--one]`. Valid samples are mutated (bits, bytes, lengths, words moved, cut and
//! doubled), the checksum of files made right again half of the time so that what is behind it is reached. Inputs follow from the seed and a
//! count: a finding is printed with what repeats it. Run it under a limit of memory (`make fuzz` does), so that a large allocation is a finding too.

mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A reader that takes longer with input of this size is a finding.
const SLOW: Duration = Duration::from_secs(5);

struct Options {
    seconds: f64,
    target: Option<String>,
    seed: u64,
    /// Only this one of the target's inputs.
    one: Option<u64>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 20.0, target: None, seed: 1, one: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} {value}: give a number"));
        match name.as_str() {
            "--seconds" => options.seconds = value.parse().map_err(|_| format!("{name} {value}: give a number"))?,
            "--target" => options.target = Some(value),
            "--seed" => options.seed = number()?,
            "--one" => options.one = Some(number()?),
            _ => return Err(format!("{name}: give --seconds, --target, --seed or --one")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("fuzz: {message}");
            return ExitCode::from(2);
        }
    };
    let mut targets = targets::all();
    if let Some(name) = &options.target {
        targets.retain(|target| target.name == name);
        if targets.is_empty() {
            eprintln!("fuzz: there is no target {name}; there are {}", targets::names().join(", "));
            return ExitCode::from(2);
        }
    }
    let share = Duration::from_secs_f64(options.seconds / targets.len() as f64);
    let (mut findings, mut inputs) = (0, 0);
    for target in &mut targets {
        // A sample that is refused as it is would leave all behind its fault untried.
        for (number, sample) in (0..).zip(&target.samples) {
            if !(target.read)(sample) {
                findings += 1;
                eprintln!("fuzz: {} refuses its sample {number} before it is damaged", target.name);
            }
        }
        let start = Instant::now();
        let mut read = 0;
        for count in options.one.map_or(0..u64::MAX, |one| one..one + 1) {
            if options.one.is_none() && start.elapsed() >= share {
                break;
            }
            let mut random = ChaCha8Rng::seed_from_u64(options.seed.wrapping_mul(1 << 40) ^ count);
            let input = mutate::mutated(&target.samples, target.form, &mut random);
            let before = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(&input)));
            let panicked = outcome.is_err();
            read += u64::from(outcome.unwrap_or(false));
            inputs += 1;
            if panicked || before.elapsed() > SLOW {
                findings += 1;
                let (what, name, seed) = (if panicked { "panicked" } else { "took long" }, target.name, options.seed);
                eprintln!("fuzz: {name} {what}; repeat with --target {name} --seed {seed} --one {count}");
            }
        }
        println!("{:<24} {read} inputs were read as valid", target.name);
    }
    println!("fuzz: {inputs} inputs to {} readers, {findings} findings", targets.len());
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
