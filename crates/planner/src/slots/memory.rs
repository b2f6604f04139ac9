//! What a run takes of memory, told from its plan before a key is made.

use super::SlotPlan;
use crate::memory::{peak, threads};
use crate::{Fault, PlanError};
use polyfabric_program::rns::kernel::{KernelProgram, Op, OpKind, PublicPolynomial};
use polyfabric_runtime::rns::cpu;
use polyfabric_schemes::rns::Domain;

/// Words of a prime's transform tables: N for the stages within registers, as many companions, a quarter of N for the others.
const TABLE_WORDS: [usize; 2] = [9, 4];

/// Polynomials over all limbs that the making of a key works with, in words: both secrets and what they come from.
const KEY_POLYNOMIALS: usize = 4;

/// Limbs that a thread works with beside the polynomials, while it makes or reads keys.
const THREAD_LIMBS: usize = 4;

/// Bytes by what they are for.
pub struct Memory {
    pub keys: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// Public polynomials as a run reads them: their coefficients, or their transforms.
    pub plaintexts: usize,
    /// All of it at its peak.
    pub peak: usize,
}

fn limb_bytes(kernel: &KernelProgram) -> usize {
    kernel.degree.get() * size_of::<u64>()
}

impl Memory {
    pub fn of(plan: &SlotPlan) -> Result<Self, PlanError> {
        let kernel = plan.kernel();
        let limb = limb_bytes(kernel);
        let threads = threads();
        let keys = plan.bytes_of_keys();
        let inputs = kernel.inputs().map(|(_, _, _, value)| value.limbs.len() * limb).sum();
        let outputs = kernel.outputs.iter().map(|output| kernel.value(output.value).limbs.len() * limb).sum();
        let coefficients: usize = kernel.plaintexts.iter().map(|polynomial| coefficient_bytes(polynomial)).sum();
        let plaintexts = if plan.compact_plaintexts() { coefficients } else { prepared_bytes(kernel) };
        // Both are there while a run has the transforms.
        let kept = if plan.compact_plaintexts() { 0 } else { plaintexts };
        let buffers = cpu::buffer_bytes(kernel, threads).map_err(PlanError::of(Fault::Internal))?;
        let tables = kernel.moduli.len() * limb * TABLE_WORDS[0] / TABLE_WORDS[1];
        let making = (KEY_POLYNOMIALS * kernel.moduli.len() + THREAD_LIMBS * threads) * limb;
        // The client decrypts copies of the outputs.
        let running = buffers + kept + inputs + 2 * outputs + THREAD_LIMBS * threads * limb;
        // The allocator keeps what the making of keys gave back.
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

/// Bytes of the public polynomials' transforms: of one in a power of X, each value once.
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
