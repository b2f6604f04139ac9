//! Plans TFHE programs: parameter set, key-switch order, kernel program, and noise.

mod cost;
mod memory;
mod set_choice;
mod widths;

#[cfg(test)]
mod tests;

pub use cost::{client_seconds, execution_seconds, key_switch_batches, rotation_batches};
pub use memory::Memory;
pub use widths::{DerivedWidths, derive_widths};

use crate::memory::expect_memory;
use crate::{DEFAULT_FAILURE_LOG2, Fault, PlanError};
use polyfabric_machines::Machine;
use polyfabric_machines::contract::tfhe;
use polyfabric_program::tfhe::builtin::{self, BuiltIn};
use polyfabric_program::tfhe::homomorphic::{Op, Program};
use polyfabric_program::tfhe::kernel::{KernelProgram, count};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::{Encryption, NoiseError, NoiseReport, expect_privacy_bits, report_encrypted};
use polyfabric_program::tfhe::planning_bytes;
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_schemes::tfhe::noise::{Keys, Transform};

/// Bytes of planning per node, in addition to combinations and lookups. Measured: 340 if most nodes are sums of two digits.
const NODE_BYTES: u64 = 400;

/// Key-switch orders, in the order of trial.
const ORDERS: [KeySwitchOrder; 3] = [KeySwitchOrder::None, KeySwitchOrder::Before, KeySwitchOrder::After];

/// Options of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The set; `None` for the cheapest default set with an acceptable failure probability.
    pub parameters: Option<&'a Parameters>,
    /// Key-switch order with a given set; `None` for the first order within the noise budget.
    pub key_switch: Option<KeySwitchOrder>,
    /// The machine; `None` for this computer.
    pub machine: Option<&'a Machine>,
    /// log2 of the accepted failure probability.
    pub max_failure: f64,
    /// Secret bits per blind-rotation iteration; by default a block of a block-binary key on this computer, otherwise one.
    pub unrolling: Option<u32>,
    /// Without a set, whether to choose one with block-binary keys, otherwise one with uniform keys.
    pub blocks: bool,
    /// The key that encrypts inputs.
    pub encryption: Encryption,
    /// Bits of circuit privacy of every output, by the server's fresh noise.
    pub circuit_privacy: Option<f64>,
    /// Maximum bytes for planning.
    pub memory: Option<u64>,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self {
            parameters: None,
            key_switch: None,
            machine: None,
            max_failure: DEFAULT_FAILURE_LOG2,
            unrolling: None,
            blocks: false,
            encryption: Encryption::Secret,
            circuit_privacy: None,
            memory: None,
        }
    }
}

/// A TFHE program planned for a parameter set.
#[derive(Clone, Debug)]
pub struct TfhePlan {
    /// The kernel program, with its set and lowering.
    pub kernel: KernelProgram,
    /// Noise of the lookups and outputs of this lowering.
    pub noise: NoiseReport,
}

fn noisy(error: NoiseError) -> PlanError {
    PlanError::new(Fault::Noise, error)
}

/// The lowering for the machine, or for this computer. The noise analysis is valid only for this lowering.
fn lowering(
    machine: Option<&Machine>,
    parameters: &Parameters,
    order: KeySwitchOrder,
    unrolling: Option<u32>,
) -> Result<TfheLowering, PlanError> {
    // Machines multiply by X^a − 1 in the coefficient domain alone, hence one bit at a time.
    let bits = unrolling.or(machine.map(|_| 1));
    let unrolling = parameters.unrolling(bits).map_err(PlanError::of(Fault::Program))?;
    let choice = match machine {
        None => TfheLowering::processor(order),
        Some(machine) => tfhe::lowering(machine, parameters, order).map_err(PlanError::of(Fault::Machine))?,
    };
    Ok(TfheLowering { key_unrolling: unrolling.bits(), ..choice })
}

impl Request<'_> {
    /// The noise with a set, including circuit privacy if requested. Fails if the failure probability is not acceptable.
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

impl TfhePlan {
    /// Plans `program` with the options of `request`.
    ///
    /// # Errors
    /// [`PlanError`]: no set supports the program, or a set or machine does not; with cause, location and fix.
    pub fn new(program: &Program, request: &Request<'_>) -> Result<Self, PlanError> {
        if let Some(bits) = request.circuit_privacy {
            expect_privacy_bits(bits).map_err(PlanError::of(Fault::Input))?;
        }
        let wide = program.nodes().iter().find(|node| matches!(node.op, Op::LookupWide { .. }));
        if let (Some(machine), Some(node)) = (request.machine, wide) {
            let place = node.location.as_ref().map_or(String::new(), |location| format!("{location}: "));
            let (name, machine) = (program.name(), machine.name());
            let message = format!(
                "{place}{name} reads a wide table by circuit bootstrapping, for which {machine} has no unit; give \
                 tables=\"lookups\" (--tables lookups), or run it on the processor"
            );
            return Err(PlanError::new(Fault::Machine, message));
        }
        let nodes = NODE_BYTES * program.nodes().len() as u64;
        expect_memory(program.name(), planning_bytes(program) + nodes, request.memory)?;
        match (request.parameters, request.key_switch) {
            (None, _) => set_choice::choose(program, request),
            (Some(parameters), None) => Self::first(program, parameters, request),
            (Some(parameters), Some(order)) => Self::with(program, parameters, order, request),
        }
    }

    /// Plans with a given set and key-switch order.
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

    /// The first key-switch order within the noise budget; otherwise the first error.
    fn first(program: &Program, parameters: &Parameters, request: &Request<'_>) -> Result<Self, PlanError> {
        let mut reason: Option<PlanError> = None;
        for order in ORDERS {
            match Self::with(program, parameters, order, request) {
                Err(error) if error.fault == Fault::Machine => return Err(error),
                // A noise error is more informative than a missing key switch, which only excludes the first order.
                Err(error) => match &reason {
                    Some(known) if known.fault == Fault::Noise || error.fault == Fault::Program => {}
                    _ => reason = Some(error),
                },
                plan => return plan,
            }
        }
        Err(reason.unwrap_or_else(|| PlanError::new(Fault::Internal, "there is no key-switch order")))
    }
}

/// Real multiplications of a kernel program: 4 per complex product, in transforms and in the transform domain.
pub fn multiplications(kernel: &KernelProgram) -> f64 {
    let counts = count::program(kernel);
    let half = kernel.parameters.ring_degree().get() as f64 / 2.0;
    4.0 * half * (counts.transforms() as f64 * half.log2() / 2.0 + counts.multiplies as f64)
}

/// Plans the built-in program `name` on `batch` ciphertexts, for a set and a machine; the program determines the key-switch order.
///
/// # Errors
/// [`PlanError`]: as [`builtin::build`], or the machine does not support it.
pub fn built_in(
    name: &str,
    parameters: &Parameters,
    batch: usize,
    (machine, unrolling): (Option<&Machine>, Option<u32>),
) -> Result<BuiltIn, PlanError> {
    let choice = lowering(machine, parameters, KeySwitchOrder::None, unrolling)?;
    let transform = choice.arithmetic.transform(parameters);
    builtin::build(name, parameters, batch, &choice, transform).map_err(PlanError::of(Fault::Program))
}
