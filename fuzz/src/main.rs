//! Do all readers of files and texts reject damaged input with an error, without a panic, a hang or a large allocation?
//!
//! `cargo run -p polyfabric-fuzz -- [--seconds S | --inputs N] [--target NAME] [--seed N] [--one N]`. Valid samples are mutated: bits, bytes and lengths change, and
//! words are moved, cut and duplicated. Half of the time the checksum of a file is corrected, to reach the code behind the check. Inputs are determined by the seed and a
//! counter; a finding is printed with the options that reproduce it.

mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Reading input of this size for longer is a finding.
const SLOW: Duration = Duration::from_secs(5);

/// Allocating more than this at once is a finding.
const LARGE_MIB: f32 = 64.0;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

struct Options {
    /// Time for all targets together.
    seconds: f64,
    /// Number of inputs per target, instead of a time.
    inputs: Option<u64>,
    target: Option<String>,
    seed: u64,
    /// Runs only this input of the target.
    one: Option<u64>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 20.0, inputs: None, target: None, seed: 1, one: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} {value}: give a number"));
        match name.as_str() {
            "--seconds" => options.seconds = value.parse().map_err(|_| format!("{name} {value}: give a number"))?,
            "--inputs" => options.inputs = Some(number()?),
            "--target" => options.target = Some(value),
            "--seed" => options.seed = number()?,
            "--one" => options.one = Some(number()?),
            _ => return Err(format!("{name}: give --seconds, --inputs, --target, --seed or --one")),
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
    let (mut findings, mut inputs, mut largest) = (0, 0, 0f32);
    for target in &mut targets {
        // A rejected sample would hide all code behind the rejection.
        for (number, sample) in (0..).zip(&target.samples) {
            if !(target.read)(sample) {
                findings += 1;
                eprintln!("fuzz: {} rejects its undamaged sample {number}", target.name);
            }
        }
        let start = Instant::now();
        let mut read = 0;
        let counts = options.one.map_or(0..options.inputs.unwrap_or(u64::MAX), |one| one..one + 1);
        for count in counts {
            if options.one.or(options.inputs).is_none() && start.elapsed() >= share {
                break;
            }
            let mut random = ChaCha8Rng::seed_from_u64(options.seed.wrapping_mul(1 << 40) ^ count);
            let input = mutate::mutated(&target.samples, target.form, &mut random);
            let (before, held) = (Instant::now(), MEMORY.current_usage_as_mb());
            MEMORY.reset_peak_usage();
            let mut outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(&input)));
            let mut slow = before.elapsed() > SLOW;
            if slow && outcome.is_ok() {
                // Others may have had the processor: twice is no accident.
                let again = Instant::now();
                outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(&input)));
                slow = again.elapsed() > SLOW;
            }
            let panicked = outcome.is_err();
            read += u64::from(outcome.unwrap_or(false));
            inputs += 1;
            let taken = MEMORY.peak_usage_as_mb() - held;
            largest = largest.max(taken);
            if panicked || slow || taken > LARGE_MIB {
                findings += 1;
                let what = match () {
                    () if panicked => "panicked".to_owned(),
                    () if taken > LARGE_MIB => format!("took {taken:.0} MiB"),
                    () => "took long".to_owned(),
                };
                let (name, seed) = (target.name, options.seed);
                eprintln!("fuzz: {name} {what}; repeat with --target {name} --seed {seed} --one {count}");
            }
        }
        println!("{:<24} {read} inputs were read as valid", target.name);
    }
    println!("fuzz: {inputs} inputs to {} readers, {largest:.1} MiB at most, {findings} findings", targets.len());
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
