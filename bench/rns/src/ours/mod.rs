//! Our side: lowered programs on the CPU runtime with one thread, or on a GPU. It has the same protocol as the peers.

mod bootstrapping;
mod place;
mod slots;
mod transform;

pub use place::Place;

use crate::protocol::{Answer, OnCard, Request, Scheme};
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

#[derive(Debug, thiserror::Error)]
pub enum OursError {
    #[error("no parameter set is prepared for {op:?}")]
    NothingPrepared { op: String },
    #[error("unknown {scheme} operation {op:?}")]
    UnknownOp { op: String, scheme: &'static str },
    #[error(
        "the set `{set}` has no bootstrapping; use one that `polyfabric params --scheme ckks` lists under bootstrap"
    )]
    NoBootstrapping { set: String },
    #[error("{batch} runs of the same inputs in one batch give different results on the GPU")]
    Differ { batch: usize },
    #[error(transparent)]
    Bootstrapping(#[from] polyfabric_program::rns::lowering::bootstrap::BootstrappingError),
    #[error(transparent)]
    Degree(#[from] polyfabric_kernels::RingDegreeError),
    #[error(transparent)]
    Prime(#[from] polyfabric_kernels::primes::PrimeShortage),
    #[error(transparent)]
    Modulus(#[from] polyfabric_kernels::modular::ModulusError),
    #[error(transparent)]
    Ntt(#[from] polyfabric_kernels::ntt::NttError),
    #[error(transparent)]
    CkksParameters(#[from] polyfabric_schemes::ckks::ParameterError),
    #[error(transparent)]
    CkksClient(#[from] polyfabric_schemes::ckks::ClientError),
    #[error(transparent)]
    CkksCiphertext(#[from] polyfabric_schemes::ckks::CiphertextError),
    #[error(transparent)]
    BgvParameters(#[from] polyfabric_schemes::bgv::ParameterError),
    #[error(transparent)]
    BgvClient(#[from] polyfabric_schemes::bgv::ClientError),
    #[error(transparent)]
    Bgv(#[from] polyfabric_program::rns::lowering::bgv::BgvError),
    #[error(transparent)]
    Chain(#[from] polyfabric_program::rns::levels::ChainError),
    #[error(transparent)]
    Lowering(#[from] polyfabric_program::rns::lowering::LoweringError),
    #[error(transparent)]
    Run(#[from] polyfabric_runtime::rns::RunError),
}

/// A prepared parameter set.
pub trait Prepared {
    /// Times `op` `repetitions` times and checks its result.
    fn measure(&mut self, op: &str, repetitions: usize, place: &Place) -> Result<Answer, OursError>;
}

/// Answers requests until the stream ends.
pub fn serve() -> std::io::Result<()> {
    let mut prepared: Option<Box<dyn Prepared>> = None;
    for line in stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => handle(&mut prepared, request, &Place::Processor).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let mut answer = answer.unwrap_or_else(|failure| Answer { failure: Some(failure), ..Answer::default() });
        answer.peak_gib = peak_gib();
        let mut output = stdout().lock();
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

/// Answers `request`; operations run at `place`.
pub fn handle(prepared: &mut Option<Box<dyn Prepared>>, request: Request, place: &Place) -> Result<Answer, OursError> {
    match request {
        Request::Hello => {
            Ok(Answer { version: Some(format!("Polyfabric {}", env!("CARGO_PKG_VERSION"))), ..Answer::default() })
        }
        Request::Prepare { scheme, log_n, chain, set, rotations, point, .. } => {
            let start = Instant::now();
            *prepared = None;
            let (made, answer): (Box<dyn Prepared>, Answer) = match scheme {
                Scheme::Ntt => transform::prepare(log_n, &chain)?,
                Scheme::Ckks => slots::ckks(&set, &rotations)?,
                Scheme::Bgv => slots::bgv(&set, &rotations)?,
                Scheme::Bootstrapping => bootstrapping::prepare(&set, &point)?,
            };
            *prepared = Some(made);
            Ok(Answer { seconds: start.elapsed().as_secs_f64(), ..answer })
        }
        Request::Measure { op, repetitions } => match prepared {
            Some(prepared) => prepared.measure(&op, repetitions, place),
            None => Err(OursError::NothingPrepared { op }),
        },
    }
}

/// Milliseconds of each call, after one warm-up call.
fn timed(repetitions: usize, mut work: impl FnMut()) -> Vec<f64> {
    work();
    let once = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..repetitions).map(once).collect()
}

/// The peak memory of this process.
fn peak_gib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = |line: &str| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok();
    status.lines().find_map(kib).unwrap_or(0.0) / f64::from(1 << 20)
}
