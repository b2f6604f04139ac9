//! Bootstrapping side by side: Polyfabric's CPU runtime and tfhe-rs, same sets, same cores, one run, taking turns.
//!
//! Prints a table and writes the rows as JSON. Every result of both sides is decrypted.

mod clock;
mod compare;
mod machine;
mod ours;
mod peer;
mod report;
mod set;
mod side;

use clap::Parser;
use clock::Clock;
use compare::{Configuration, compare};
use machine::Peak;
use polyfabric_schemes::tfhe::KeyUnrolling;
use set::Set;
use side::Side;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Bootstrapping side by side with tfhe-rs")]
struct Arguments {
    /// Only these sets; may be given more than once.
    #[arg(long = "set")]
    sets: Vec<String>,
    /// Single bootstraps and one batch, few repetitions.
    #[arg(long)]
    quick: bool,
    /// Check that small batches decrypt right on both sides; measures nothing.
    #[arg(long, conflicts_with_all = ["quick", "output"])]
    check: bool,
    /// Timed rounds of each configuration; the medians are reported.
    #[arg(long)]
    repetitions: Option<usize>,
    /// Processor time instead of time that passes, on one thread: for a look at a machine that is busy with other work.
    #[arg(long)]
    processor_time: bool,
    /// Where the rows go as JSON.
    #[arg(long)]
    output: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error("there is no set `{name}` here; the sets are {known}")]
    UnknownSet { name: String, known: String },
    #[error("{wrong} of {decrypted} results of {side} on {set} decrypt to another message")]
    Wrong { side: &'static str, set: String, wrong: usize, decrypted: usize },
    #[error("{path}: {source}")]
    Output { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Set(#[from] polyfabric_schemes::tfhe::ParameterError),
    #[error(transparent)]
    Ours(#[from] ours::OursError),
}

/// The unrolled keys that a set is measured with besides the plain one.
fn unrollings(set: &Set) -> &'static [KeyUnrolling] {
    match set.name.as_str() {
        "strix-I" => &[KeyUnrolling::TWO, KeyUnrolling::FOUR],
        // A plain key of 1 GB in the transform domain is enough.
        "strix-IV" => &[],
        _ => &[KeyUnrolling::TWO],
    }
}

/// The sets that fit a short run and cover both torus widths and k = 1 and 2.
const CHECKED: [&str; 3] = ["strix-I", "fpt-I", "morphling-IV"];

fn chosen(arguments: &Arguments) -> Result<Vec<Set>, BenchError> {
    if let Some(name) = arguments.sets.iter().find(|name| !set::NAMES.contains(&name.as_str())) {
        return Err(BenchError::UnknownSet { name: name.clone(), known: set::NAMES.join(", ") });
    }
    let names = if arguments.check { &CHECKED[..] } else { &set::NAMES[..] };
    let asked = |name: &&&str| arguments.sets.is_empty() || arguments.sets.iter().any(|set| set == **name);
    Ok(names.iter().filter(asked).map(|name| Set::named(name)).collect::<Result<_, _>>()?)
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn peer(set: &Set) -> Box<dyn Side> {
    match set.torus_bits {
        32 => Box::new(peer::Peer::<u32>::new(set)),
        _ => Box::new(peer::Peer::<u64>::new(set)),
    }
}

fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let sets = chosen(arguments)?;
    if arguments.check { check(&sets) } else { measure(arguments, &sets) }
}

/// Both sides on a small batch: every result must decrypt to its message.
fn check(sets: &[Set]) -> Result<(), BenchError> {
    let mut decrypted = 0;
    for set in sets {
        eprintln!("{}: keys and a batch of both sides", set.name);
        let keys = ours::Keys::generate(set, KeyUnrolling::ONE)?;
        let unrolled = ours::Keys::generate(set, KeyUnrolling::TWO)?;
        let sides = [
            ("tfhe-rs", peer(set)),
            ("Polyfabric", keys.side(set)),
            ("Polyfabric with an unrolled key", unrolled.side(set)),
        ];
        for (name, mut side) in sides {
            // Nine a thread: a bundle of eight that go side by side, and one that goes alone.
            side.prepare(18, 2);
            side.bootstrap();
            let errors = side.bootstrap_errors();
            decrypted += errors.0.len();
            if errors.wrong() > 0 {
                let (wrong, decrypted) = (errors.wrong(), errors.0.len());
                return Err(BenchError::Wrong { side: name, set: set.name.clone(), wrong, decrypted });
            }
        }
    }
    println!("benchmark check: {decrypted} results of {} sets decrypt right on both sides", sets.len());
    Ok(())
}

fn measure(arguments: &Arguments, sets: &[Set]) -> Result<(), BenchError> {
    eprintln!("measuring this machine's limits");
    let clock = if arguments.processor_time { Clock::Processor } else { Clock::Wall };
    let (processor, peak) = (report::processor_name(), Peak::measure(clock));
    report::print_peak(&processor, &peak);
    report::print_header();
    let mut rows = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        eprintln!("[{}/{}] {}: keys", index + 1, sets.len(), set.name);
        let mut peer = peer(set);
        let plain = configurations(set, arguments).into_iter().map(|configuration| (KeyUnrolling::ONE, configuration));
        let batch = Configuration { batch: 64, threads: 1 };
        let runs: Vec<_> = plain.chain(unrollings(set).iter().map(|&unrolling| (unrolling, batch))).collect();
        for runs in runs.chunk_by(|a, b| a.0 == b.0) {
            let unrolling = runs[0].0;
            let keys = ours::Keys::generate(set, unrolling)?;
            let mut ours = keys.side(set);
            for &(_, configuration) in runs {
                let Configuration { batch, threads } = configuration;
                eprintln!("[{}/{}] {}: batch {batch}, {threads} thread(s)", index + 1, sets.len(), set.name);
                let repetitions = arguments.repetitions.unwrap_or(match (arguments.quick, batch) {
                    (true, _) => 3,
                    (false, 1) => 15,
                    (false, _) => 5,
                });
                let unroll = unrolling.bits();
                for row in compare(set, ours.as_mut(), peer.as_mut(), configuration, repetitions, clock, &peak, unroll)
                {
                    // A key switch is the same with any bootstrapping key.
                    if unroll > 1 && row.operation == "keyswitch" {
                        continue;
                    }
                    report::print_row(&row);
                    rows.push(row);
                }
            }
        }
    }
    if let Some(path) = &arguments.output {
        let results = report::Results { peer: "tfhe-rs 1.8.2", processor, peak, rows };
        results.write(path).map_err(|source| BenchError::Output { path: path.clone(), source })?;
        println!("rows written to {}", path.display());
    }
    Ok(())
}

/// Single bootstraps for latency, batches for throughput, one core and two.
fn configurations(set: &Set, arguments: &Arguments) -> Vec<Configuration> {
    // A batch of 64 at this ring degree would take half a minute a round.
    let largest = if set.ring_degree > 8192 { 8 } else { 64 };
    let all = [(1, 1), (8, 1), (64, 1), (largest, 2)];
    all.into_iter()
        .filter(|&(batch, threads)| {
            batch <= largest
                && !(arguments.quick && batch == 8)
                && (threads == 1 || !(arguments.quick || arguments.processor_time))
        })
        .map(|(batch, threads)| Configuration { batch, threads })
        .collect()
}
