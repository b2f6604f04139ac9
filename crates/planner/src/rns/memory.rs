//! Estimates memory: of planning, from the program, and of a run, from its plan before keys are generated.

use super::RnsPlan;
use crate::memory::{peak, threads};
use crate::{Fault, PlanError};
use polyfabric_program::rns::homomorphic::{Op as Step, Program, Values};
use polyfabric_program::rns::kernel::{KernelProgram, Op, OpKind, PublicPolynomial};
use polyfabric_runtime::rns::cpu;
use polyfabric_schemes::rns::Domain;

/// Bytes per operation of the program, for its kernel operations and noise.
const NODE_BYTES: u64 = 32 << 10;

/// The same per bootstrapping, without its matrices.
const BOOTSTRAP_BYTES: u64 = 32 << 20;

/// Diagonals of all matrices of a bootstrapping, encoded once per program.
const BOOTSTRAP_DIAGONALS: u64 = 400;

/// Magnitude of public values from which coefficients may need two words, since scales are below 2^60.
const WIDE: f64 = 8.0;

/// Upper bound of the bytes for planning `program` with ring degree `degree`: the encoded public vectors of all operations, and their
/// kernel operations.
pub fn planning_bytes(program: &Program, degree: usize) -> u64 {
    let encoded = |values: &Values| match values.is_scalar() {
        true => 0,
        false => (degree * if values.magnitude() < WIDE { size_of::<i64>() } else { size_of::<i128>() }) as u64,
    };
    let mut bootstrapped = 0;
    let bytes = program.nodes().iter().map(|node| match &node.op {
        Step::AddPlain | Step::SubPlain | Step::MulPlain | Step::MulPlainScaled { .. } => {
            let Step::Constant { values } = &program.node(node.operands[1]).op else { return NODE_BYTES };
            NODE_BYTES + encoded(values)
        }
        Step::Select => {
            let choices = node.operands[1..].iter().map(|&choice| match &program.node(choice).op {
                Step::Constant { values } => encoded(values),
                _ => 0,
            });
            NODE_BYTES + choices.sum::<u64>()
        }
        // Rotated for its giant step, then encoded.
        Step::LinearTransform { diagonals } => {
            let each = |values: &Values| NODE_BYTES + values.bytes() as u64 + encoded(values);
            diagonals.by_offset.values().map(each).sum()
        }
        Step::Polynomial { polynomial } => NODE_BYTES * polynomial.coefficients.len() as u64,
        // A lookup is a bootstrap with a table.
        Step::Bootstrap { .. } | Step::Lookup { .. } => {
            bootstrapped = BOOTSTRAP_DIAGONALS * (degree * size_of::<i64>()) as u64;
            BOOTSTRAP_BYTES
        }
        _ => NODE_BYTES,
    });
    bytes.sum::<u64>() + bootstrapped
}

/// Words of a prime's transform tables, as a fraction of N: N for stages within registers, N companions, N/4 for the other stages.
const TABLE_WORDS: [usize; 2] = [9, 4];

/// Working polynomials of key generation over all limbs, in words: both secrets and their sources.
const KEY_POLYNOMIALS: usize = 4;

/// Limbs that each thread needs in addition, while it generates or reads keys.
const THREAD_LIMBS: usize = 4;

/// Memory of a run, in bytes.
pub struct Memory {
    pub keys: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// Public polynomials as a run reads them: coefficients or transforms.
    pub plaintexts: usize,
    /// Peak total.
    pub peak: usize,
}

fn limb_bytes(kernel: &KernelProgram) -> usize {
    kernel.degree.get() * size_of::<u64>()
}

impl Memory {
    pub fn of(plan: &RnsPlan) -> Result<Self, PlanError> {
        let kernel = plan.kernel();
        let limb = limb_bytes(kernel);
        let threads = threads();
        let keys = plan.bytes_of_keys();
        let inputs = kernel.inputs().map(|(_, _, _, value)| value.limbs.len() * limb).sum();
        let outputs = kernel.outputs.iter().map(|output| kernel.value(output.value).limbs.len() * limb).sum();
        let coefficients: usize = kernel.plaintexts.iter().map(|polynomial| coefficient_bytes(polynomial)).sum();
        let plaintexts = if plan.compact_plaintexts() { coefficients } else { prepared_bytes(kernel) };
        // A run with transforms needs coefficients and transforms.
        let kept = if plan.compact_plaintexts() { 0 } else { plaintexts };
        let buffers = cpu::buffer_bytes(kernel, threads).map_err(PlanError::of(Fault::Internal))?;
        let tables = kernel.moduli.len() * limb * TABLE_WORDS[0] / TABLE_WORDS[1];
        let making = (KEY_POLYNOMIALS * kernel.moduli.len() + THREAD_LIMBS * threads) * limb;
        // The client decrypts copies of the outputs.
        let running = buffers + kept + inputs + 2 * outputs + THREAD_LIMBS * threads * limb;
        // The allocator retains the memory of key generation.
        let held = tables + coefficients + keys + making + running;
        Ok(Self { keys, inputs, outputs, plaintexts, peak: peak(held as u64) as usize })
    }
}

fn coefficient_bytes(polynomial: &PublicPolynomial) -> usize {
    match polynomial {
        PublicPolynomial::Narrow(coefficients) => size_of_val(&**coefficients),
        PublicPolynomial::Wide(coefficients) => size_of_val(&**coefficients),
    }
}

/// Bytes of the public polynomials' transforms; one in a power of X stores each value once.
pub fn prepared_bytes(kernel: &KernelProgram) -> usize {
    let mut known = vec![None; kernel.plaintexts.len()];
    let prepared = |op: &Op| {
        let OpKind::Plaintext { plaintext, value } = &op.kind else { return 0 };
        let place = *plaintext as usize;
        let apart = match value.domain {
            Domain::Evaluation => *known[place].get_or_insert_with(|| kernel.plaintexts[place].log2_apart()),
            Domain::Coefficient => 0,
        };
        (value.limbs.len() * limb_bytes(kernel)) >> apart
    };
    kernel.ops.iter().map(prepared).sum()
}
