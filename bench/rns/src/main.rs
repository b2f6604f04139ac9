//! Benchmark of CKKS and BGV: Polyfabric's CPU runtime, Lattigo and OpenFHE on the same ring and moduli, alternating
//! on one core. Prints a table and writes the rows as JSON. Each measured result is decrypted.

mod case;
mod compare;
mod gpu;
mod machine;
mod ours;
mod protocol;
mod report;
mod side;

use case::Case;
use clap::{Parser, Subcommand};
use polyfabric_kernels::{Isa, IsaError};
use side::Launch;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
// Options before a subcommand would be ignored: each subcommand has its own.
#[command(about = "Benchmark of CKKS and BGV against Lattigo and OpenFHE", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// The built Lattigo program; without it, Lattigo is left out.
    #[arg(long)]
    lattigo: Option<PathBuf>,
    /// A Python interpreter with OpenFHE's wheel; without it, OpenFHE is left out.
    #[arg(long)]
    openfhe: Option<PathBuf>,
    /// Only cases whose name begins with this; can be repeated.
    #[arg(long = "case", global = true)]
    cases: Vec<String>,
    /// Measure few rounds.
    #[arg(long)]
    quick: bool,
    /// Check our results on small versions of the cases; measures nothing and needs no peer.
    #[arg(long, conflicts_with_all = ["quick", "output"])]
    check: bool,
    /// The JSON file for the rows.
    #[arg(long, global = true)]
    output: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Answer requests as our side; the harness starts it.
    #[command(hide = true)]
    Serve,
    /// Measure only this computer's NVIDIA GPU.
    Gpu {
        /// Timed runs of each operation; the medians are reported.
        #[arg(long, default_value = "10")]
        runs: NonZeroUsize,
        /// Number of operations at once; times are per operation.
        #[arg(long, default_value = "1")]
        batch: NonZeroUsize,
        /// Use the small versions of the cases.
        #[arg(long)]
        small: bool,
    },
}

#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error("unknown case `{name}`; the cases are {known}")]
    UnknownCase { name: String, known: String },
    #[error("{side}, {op} of {case}: a decrypted result has the error {error:e}, more than {tolerance:e}")]
    Wrong { side: String, op: String, case: String, error: f64, tolerance: f64 },
    #[error("nothing was measured: {0}")]
    Nothing(String),
    #[error("{path}: {source}")]
    Output { path: PathBuf, source: std::io::Error },
    #[error("this program's own path is unknown: {0}")]
    Itself(std::io::Error),
    #[error("serving ended: {0}")]
    Served(std::io::Error),
    #[error(transparent)]
    Isa(#[from] IsaError),
    #[error(transparent)]
    Side(#[from] side::SideError),
    #[error(transparent)]
    Card(#[from] polyfabric_runtime::gpu::GpuError),
    #[error(transparent)]
    Ours(#[from] ours::OursError),
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
    if let Some(Action::Serve) = arguments.action {
        return ours::serve().map_err(BenchError::Served);
    }
    if let Some(Action::Gpu { runs, batch, small }) = arguments.action {
        let cases = chosen(&arguments.cases, small)?;
        return gpu::measure(&cases, runs.get(), batch.get(), arguments.output.as_deref());
    }
    let isa = Isa::selected()?;
    let cases = chosen(&arguments.cases, arguments.check)?;
    let itself = std::env::current_exe().map_err(BenchError::Itself)?;
    let ours = Launch {
        name: "Polyfabric".to_owned(),
        program: itself.to_string_lossy().into_owned(),
        arguments: vec!["serve".to_owned()],
    };
    if arguments.check {
        check(&cases, &ours)
    } else {
        compare::measure(arguments, isa, &cases, &ours, &peers(arguments))
    }
}

/// The cases whose names begin with one of `asked`, or all; `small` selects their small versions.
fn chosen(asked: &[String], small: bool) -> Result<Vec<Case>, BenchError> {
    let all = if small { case::small() } else { case::full() };
    let begins = |name: &str| asked.is_empty() || asked.iter().any(|asked| name.starts_with(asked));
    if let Some(name) = asked.iter().find(|asked| !all.iter().any(|case| case.name.starts_with(*asked))) {
        let known: Vec<_> = all.iter().map(|case| case.name).collect();
        return Err(BenchError::UnknownCase { name: name.clone(), known: known.join(", ") });
    }
    Ok(all.into_iter().filter(|case| begins(case.name)).collect())
}

fn peers(arguments: &Arguments) -> Vec<Launch> {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let lattigo = arguments.lattigo.as_ref().map(|path| Launch {
        name: "Lattigo".to_owned(),
        program: text(path),
        arguments: vec![],
    });
    let openfhe = arguments.openfhe.as_ref().map(|path| Launch {
        name: "OpenFHE".to_owned(),
        program: text(path),
        arguments: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/openfhe/peer.py").to_owned()],
    });
    lattigo.into_iter().chain(openfhe).collect()
}

/// Checks our results on small versions of the cases.
fn check(cases: &[Case], ours: &Launch) -> Result<(), BenchError> {
    let mut side = ours.start()?;
    let mut checked = 0;
    for case in cases {
        eprintln!("{}: keys and every operation once", case.name);
        for op in case.ops {
            side.ask(&case.prepare(op))?;
            compare::measured(&mut side, case, op, 1)?;
            checked += 1;
        }
    }
    println!("benchmark check: {checked} operations of {} RNS cases are correct", cases.len());
    Ok(())
}
