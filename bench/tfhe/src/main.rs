//! Benchmark of bootstrapping: Polyfabric's CPU runtime and tfhe-rs on the same sets and cores, alternating in one run. Our side is built as the
//! package is; the peer is a separate program, built for this processor.
//!
//! Prints a table and writes the rows as JSON. Each result of both sides is decrypted.

mod clock;
mod compare;
mod errors;
mod gpu;
mod integers;
mod machine;
mod ours;
mod peer;
mod protocol;
mod report;
mod set;
mod side;

use clap::Parser;
use clock::Clock;
use compare::{Configuration, compare};
use errors::Errors;
use machine::Peak;
use peer::{Peer, PeerError};
use polyfabric_bench_common::{Measured, Origin};
use polyfabric_kernels::{Isa, IsaError};
use polyfabric_schemes::tfhe::KeyUnrolling;
use set::Set;
use side::Round;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
// Options before a subcommand would be ignored: each subcommand has its own.
#[command(about = "Benchmark of bootstrapping against tfhe-rs", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Default: bootstraps and key switches.
    #[command(subcommand)]
    subject: Option<Subject>,
    /// The peer's program; without it, our side runs alone.
    #[arg(long, global = true)]
    peer: Option<PathBuf>,
    /// Only these sets; can be repeated.
    #[arg(long = "set")]
    sets: Vec<String>,
    /// Measure single bootstraps and one batch with few repetitions.
    #[arg(long)]
    quick: bool,
    /// Check that small batches of each side decrypt correctly; measures nothing.
    #[arg(long, conflicts_with_all = ["quick", "output"])]
    check: bool,
    /// Timed rounds of each configuration; the medians are reported.
    #[arg(long)]
    repetitions: Option<NonZeroUsize>,
    /// Measure processor time on one thread instead of wall-clock time, for a machine that is busy with other work.
    #[arg(long)]
    processor_time: bool,
    /// The JSON file for the rows.
    #[arg(long, global = true)]
    output: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Subject {
    /// Operations on encrypted integers at a failure probability of 2^-128, in processor time and wall-clock time.
    Integers(integers::Arguments),
    /// Bootstraps and key switches on the GPU in batches of many sizes, also of the peer if it was built with its CUDA backend.
    Gpu(gpu::Arguments),
}

#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error("unknown set `{name}`; the sets are {known}")]
    UnknownSet { name: String, known: String },
    #[error("{wrong} of {decrypted} results of {side} on {set} decrypt to another message")]
    Wrong { side: &'static str, set: String, wrong: usize, decrypted: usize },
    #[error("nothing was measured: {0}")]
    Nothing(String),
    #[error("the error of these butterflies exceeds its bound: {0}")]
    Inexact(Box<gpu::Transform>),
    #[error("{path}: {source}")]
    Output { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Set(#[from] polyfabric_schemes::tfhe::ParameterError),
    #[error(transparent)]
    Isa(#[from] IsaError),
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error(transparent)]
    Ours(#[from] ours::OursError),
    #[error(transparent)]
    Integers(#[from] integers::OwnError),
    #[error(transparent)]
    Unrolling(#[from] polyfabric_schemes::tfhe::UnrollingError),
    #[error(transparent)]
    Gpu(#[from] polyfabric_runtime::gpu::GpuError),
}

/// Unrolled keys that are measured besides the plain key.
fn unrollings(set: &Set) -> &'static [KeyUnrolling] {
    match set.name.as_str() {
        "strix-I" => &[KeyUnrolling::TWO, KeyUnrolling::FOUR],
        // The plain key has 1 GB in the transform domain already.
        "strix-IV" => &[],
        _ if !set.parameters.secret().is_binary() => &[],
        _ => &[KeyUnrolling::TWO],
    }
}

/// Sets for a short run, which cover both torus widths and k = 1 and 2.
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

fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let isa = Isa::selected()?;
    match &arguments.subject {
        Some(Subject::Integers(asked)) => return integers(arguments, asked, isa),
        Some(Subject::Gpu(asked)) => return on_card(arguments, asked),
        None => {}
    }
    let sets = chosen(arguments)?;
    let peer = peer(arguments)?;
    if arguments.check { check(&sets, peer) } else { measure(arguments, isa, &sets, peer) }
}

fn peer(arguments: &Arguments) -> Result<Option<Peer>, PeerError> {
    arguments.peer.as_deref().map(Peer::start).transpose()
}

/// Measures operations on encrypted integers; every result must decrypt to the correct number.
fn integers(arguments: &Arguments, asked: &integers::Arguments, isa: Isa) -> Result<(), BenchError> {
    let peer = peer(arguments)?;
    let repetitions = asked.repetitions.get();
    let mut results = report::IntegerResults {
        peer: peer.as_ref().map(|peer| peer.version.clone()),
        peak: Peak::measure(isa, Clock::Processor),
        time: polyfabric_bench_common::now(),
        repetitions,
        rows: Vec::new(),
    };
    let origin = Origin::here(isa.description());
    report::print_place(&origin, results.peer.as_deref(), &results.peak);
    report::print_integer_header();
    let each = |row: integers::Row| {
        report::print_integer(&row);
        results.rows.push(origin.with(row));
    };
    integers::measure(asked, repetitions, &results.peak, peer, each)?;
    report::print_bars(&results.rows, report::integer_bar);
    if let Some(path) = &arguments.output {
        polyfabric_bench_common::write(&results, path)
            .map_err(|source| BenchError::Output { path: path.clone(), source })?;
        println!("rows written to {}", path.display());
    }
    for Measured { row, .. } in &results.rows {
        for (side, wrong) in [("Polyfabric", row.wrong), ("tfhe-rs", row.peer.map_or(0, |peer| peer.wrong))] {
            if wrong > 0 {
                let set = format!("{} of {} bits", row.operation.name(), row.bits);
                return Err(BenchError::Wrong { side, set, wrong, decrypted: row.decrypted });
            }
        }
    }
    Ok(())
}

/// Measures all requested sets on the first GPU.
fn on_card(arguments: &Arguments, asked: &gpu::Arguments) -> Result<(), BenchError> {
    let results = gpu::measure(asked, arguments.peer.as_deref())?;
    if let Some(path) = &arguments.output {
        polyfabric_bench_common::write(&results, path)
            .map_err(|source| BenchError::Output { path: path.clone(), source })?;
        println!("rows written to {}", path.display());
    }
    results.expect_rows()?;
    if let Some(transform) = results.transforms.iter().find(|transform| !transform.is_right()) {
        return Err(BenchError::Inexact(Box::new(transform.clone())));
    }
    let ours = results.rows.iter().map(|row| ("Polyfabric on the GPU", &row.set, row.wrong, row.batch));
    let peers = results.peer_rows.iter().map(|row| ("tfhe-rs on the GPU", &row.set, row.wrong, row.batch));
    match ours.chain(peers).find(|&(_, _, wrong, _)| wrong > 0) {
        Some((side, set, wrong, batch)) => {
            Err(BenchError::Wrong { side, set: set.clone(), wrong, decrypted: batch * (asked.runs.get() + 1) })
        }
        None => Ok(()),
    }
}

/// Checks that every result of a small batch of each side decrypts to its message.
fn check(sets: &[Set], mut peer: Option<Peer>) -> Result<(), BenchError> {
    // Nine per thread: eight that are processed together, and one alone.
    let (batch, threads, clock) = (18, 2, Clock::Wall);
    let mut decrypted = 0;
    let mut judge = |side: &'static str, set: &Set, round: Round| {
        let errors = Errors(round.bootstrap_errors);
        decrypted += errors.0.len();
        match errors.wrong() {
            0 => Ok(()),
            wrong => Err(BenchError::Wrong { side, set: set.name.clone(), wrong, decrypted: errors.0.len() }),
        }
    };
    for set in sets {
        eprintln!("{}: keys and a batch of each side", set.name);
        if let Some(peer) = &mut peer {
            peer.keys(&set.peer)?;
            judge("tfhe-rs", set, peer.round(batch, threads, clock)?)?;
        }
        for (side, unrolling) in
            [("Polyfabric", KeyUnrolling::ONE), ("Polyfabric with an unrolled key", KeyUnrolling::TWO)]
        {
            let keys = ours::Keys::generate(set, unrolling)?;
            judge(side, set, keys.side(set, None).round(batch, threads, clock))?;
        }
    }
    let sides = if peer.is_some() { "both sides" } else { "our side" };
    println!("benchmark check: {decrypted} results of {} sets decrypt correctly on {sides}", sets.len());
    Ok(())
}

fn measure(arguments: &Arguments, isa: Isa, sets: &[Set], mut peer: Option<Peer>) -> Result<(), BenchError> {
    eprintln!("measuring this machine's peak rates");
    let clock = if arguments.processor_time { Clock::Processor } else { Clock::Wall };
    let mut results = report::Results {
        peer: peer.as_ref().map(|peer| peer.version.clone()),
        clock,
        time: polyfabric_bench_common::now(),
        peak: Peak::measure(isa, clock),
        rows: Vec::new(),
    };
    let origin = Origin::here(isa.description());
    report::print_place(&origin, results.peer.as_deref(), &results.peak);
    report::print_header();
    for (index, set) in sets.iter().enumerate() {
        eprintln!("[{}/{}] {}: keys", index + 1, sets.len(), set.name);
        if let Some(peer) = &mut peer {
            peer.keys(&set.peer)?;
        }
        let own = KeyUnrolling::of(set.parameters.secret());
        let plain = configurations(set, arguments).into_iter().map(|configuration| (own, configuration));
        let unrolled = |&unrolling| [1, 64].map(|batch| (unrolling, Configuration { batch, threads: 1 }));
        let runs: Vec<_> = plain.chain(unrollings(set).iter().flat_map(unrolled)).collect();
        for runs in runs.chunk_by(|a, b| a.0 == b.0) {
            let unrolling = runs[0].0;
            let keys = ours::Keys::generate(set, unrolling)?;
            let mut ours = keys.side(set, None);
            for &(_, configuration) in runs {
                let Configuration { batch, threads } = configuration;
                eprintln!("[{}/{}] {}: batch {batch}, {threads} thread(s)", index + 1, sets.len(), set.name);
                let repetitions = arguments.repetitions.map_or(
                    match (arguments.quick, batch) {
                        (true, _) => 3,
                        (false, 1) => 15,
                        (false, _) => 5,
                    },
                    NonZeroUsize::get,
                );
                let (peak, peer) = (&results.peak, peer.as_mut());
                let rows = compare(set, ours.as_mut(), peer, configuration, repetitions, clock, peak, unrolling)?;
                for row in rows {
                    // A key switch does not depend on the bootstrapping key.
                    if unrolling != own && row.operation == "keyswitch" {
                        continue;
                    }
                    report::print_row(&row);
                    results.rows.push(origin.with(row));
                }
            }
        }
    }
    report::print_bars(&results.rows, report::bar);
    if let Some(path) = &arguments.output {
        polyfabric_bench_common::write(&results, path)
            .map_err(|source| BenchError::Output { path: path.clone(), source })?;
        println!("rows written to {}", path.display());
    }
    match results.rows.iter().find_map(|Measured { row, .. }| Some((row, row.wrong_side()?))) {
        Some((row, (side, wrong))) => {
            let set = format!("{}, {} in batches of {}", row.set, row.operation, row.batch);
            Err(BenchError::Wrong { side, set, wrong, decrypted: row.decrypted })
        }
        None => Ok(()),
    }
}

/// Single bootstraps for latency, batches for throughput, one core and two.
fn configurations(set: &Set, arguments: &Arguments) -> Vec<Configuration> {
    // A batch of 64 at this ring degree would take half a minute per round.
    let largest = if set.dimensions.ring_degree > 8192 { 8 } else { 64 };
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
