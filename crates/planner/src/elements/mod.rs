//! Programs of TFHE: a program with the parameter set that carries it, the place of its key switch, its kernel program, and its noise.

mod cost;
mod memory;
mod set_choice;
mod widths;

#[cfg(test)]
mod tests;

pub use cost::{client_seconds, execution_seconds, key_switch_batches, rotation_batches};
pub use memory::Memory;
pub use widths::{DerivedWidths, derive_widths};

use crate::memory::expect_room;
use crate::{DEFAULT_FAILURE_LOG2, Fault, PlanError};
use polyfabric_machines::Described;
use polyfabric_machines::contract::torus;
use polyfabric_program::tfhe::builtin::{self, BuiltIn};
use polyfabric_program::tfhe::homomorphic::Program;
use polyfabric_program::tfhe::kernel::{KernelProgram, count};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::{Encryption, NoiseError, NoiseReport, expect_privacy_bits, report_encrypted};
use polyfabric_program::tfhe::planning_bytes;
use polyfabric_schemes::tfhe::noise::{Keys, Transform};
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};

/// Bytes that planning takes for a node, in addition to its combinations and look-ups. Measured: 340, where most are sums of two digits.
const NODE_BYTES: u64 = 400;

/// Places of the key switch, in the order in which they are tried.
const ORDERS: [KeySwitchOrder; 3] = [KeySwitchOrder::None, KeySwitchOrder::Before, KeySwitchOrder::After];

/// What is asked of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The set; without one the cheapest default set with which the program fails no more often than is accepted.
    pub parameters: Option<&'a Parameters>,
    /// Where the key switch of a set that is named stands; without it the first place with which the program stays in its budget.
    pub key_switch: Option<KeySwitchOrder>,
    /// What executes it; this computer without one.
    pub machine: Option<&'a Described>,
    /// log2 of the failure probability that is accepted.
    pub max_failure: f64,
    /// Secret bits that an iteration of blind rotation takes.
    pub unrolling: KeyUnrolling,
    /// With which key inputs are encrypted.
    pub encryption: Encryption,
    /// Bits with which every output hides how it was computed, by fresh noise of the server.
    pub circuit_privacy: Option<f64>,
    /// Most bytes that planning may take.
    pub memory: Option<u64>,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self {
            parameters: None,
            key_switch: None,
            machine: None,
            max_failure: DEFAULT_FAILURE_LOG2,
            unrolling: KeyUnrolling::ONE,
            encryption: Encryption::Secret,
            circuit_privacy: None,
            memory: None,
        }
    }
}

/// A program with the set that carries it.
#[derive(Clone, Debug)]
pub struct ElementPlan {
    /// What is executed: it has the set, and how it was lowered.
    pub kernel: KernelProgram,
    /// The noise of its look-ups and outputs, as they are lowered.
    pub noise: NoiseReport,
}

fn noisy(error: NoiseError) -> PlanError {
    PlanError::new(Fault::Noise, error)
}

/// How programs with a set are lowered for what executes them. Noise is that of this lowering, and of no other.
fn lowering(
    machine: Option<&Described>,
    parameters: &Parameters,
    order: KeySwitchOrder,
    unrolling: KeyUnrolling,
) -> Result<TfheLowering, PlanError> {
    let choice = match machine {
        None => TfheLowering::processor(order),
        Some(machine) => torus::lowering(machine, parameters, order).map_err(PlanError::of(Fault::Machine))?,
    };
    Ok(TfheLowering { key_unrolling: unrolling.bits(), ..choice })
}

impl Request<'_> {
    /// The noise with a set; with what hides outputs if that is asked for. Refused where the program fails more often than is accepted.
    fn noise(
        &self,
        program: &Program,
        parameters: &Parameters,
        choice: &TfheLowering,
        transform: Transform,
    ) -> Result<NoiseReport, PlanError> {
        let inputs = (Keys::Accepted, self.encryption);
        let report = report_encrypted(program, parameters, choice, transform, inputs).map_err(noisy)?;
        report.check(parameters, self.max_failure).map_err(noisy)?;
        let Some(bits) = self.circuit_privacy else { return Ok(report) };
        let hidden = report.with_circuit_privacy(parameters, bits, self.max_failure).map_err(noisy)?;
        hidden.check(parameters, self.max_failure).map_err(noisy)?;
        Ok(hidden)
    }
}

impl ElementPlan {
    /// Plans `program` as it is asked for.
    ///
    /// # Errors
    /// [`PlanError`]: what no set carries, what a set or a machine does not hold, with cause, place and remedy.
    pub fn new(program: &Program, request: &Request<'_>) -> Result<Self, PlanError> {
        if let Some(bits) = request.circuit_privacy {
            expect_privacy_bits(bits).map_err(PlanError::of(Fault::Input))?;
        }
        let nodes = NODE_BYTES * program.nodes().len() as u64;
        expect_room(program.name(), planning_bytes(program) + nodes, request.memory)?;
        match (request.parameters, request.key_switch) {
            (None, _) => set_choice::choose(program, request),
            (Some(parameters), None) => Self::first(program, parameters, request),
            (Some(parameters), Some(order)) => Self::with(program, parameters, order, request),
        }
    }

    /// With a set and a place of the key switch.
    fn with(
        program: &Program,
        parameters: &Parameters,
        order: KeySwitchOrder,
        request: &Request<'_>,
    ) -> Result<Self, PlanError> {
        let choice = lowering(request.machine, parameters, order, request.unrolling)?;
        let kernel = lower(program, parameters, &choice).map_err(PlanError::of(Fault::Program))?;
        let transform = choice.arithmetic.transform(parameters);
        let noise = request.noise(program, parameters, &choice, transform)?;
        Ok(Self { kernel, noise })
    }

    /// The first place of the key switch with which the program lowers and stays in its budget; else the first reason.
    fn first(program: &Program, parameters: &Parameters, request: &Request<'_>) -> Result<Self, PlanError> {
        let mut reason: Option<PlanError> = None;
        for order in ORDERS {
            match Self::with(program, parameters, order, request) {
                Err(error) if error.fault == Fault::Machine => return Err(error),
                // A noise budget says more than the need of a key switch, which only rules out the first order.
                Err(error) => match &reason {
                    Some(told) if told.fault == Fault::Noise || error.fault == Fault::Program => {}
                    _ => reason = Some(error),
                },
                plan => return plan,
            }
        }
        Err(reason.unwrap_or_else(|| PlanError::new(Fault::Internal, "there is no place for a key switch")))
    }
}

/// Real multiplications of all products of a kernel program: 4 for each complex one of transforms and products in the transform domain.
pub fn multiplications(kernel: &KernelProgram) -> f64 {
    let counts = count::program(kernel);
    let half = kernel.parameters.ring_degree().get() as f64 / 2.0;
    4.0 * half * (counts.transforms() as f64 * half.log2() / 2.0 + counts.multiplies as f64)
}

/// The built-in program `name` on `batch` ciphertexts, for a set and what executes it; the program decides the place of the key switch.
///
/// # Errors
/// [`PlanError`]: as [`builtin::build`]; what a machine does not hold.
pub fn built_in(
    name: &str,
    parameters: &Parameters,
    batch: usize,
    (machine, unrolling): (Option<&Described>, KeyUnrolling),
) -> Result<BuiltIn, PlanError> {
    let choice = lowering(machine, parameters, KeySwitchOrder::None, unrolling)?;
    let transform = choice.arithmetic.transform(parameters);
    builtin::build(name, parameters, batch, &choice, transform).map_err(PlanError::of(Fault::Program))
}
