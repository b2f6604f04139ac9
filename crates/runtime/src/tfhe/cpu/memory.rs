//! Predicts the memory of a run.

use super::blocks::{Blocks, Forms, product};
use super::executor::{pool, switched_together};
use crate::tfhe::RunError;
use crate::tfhe::operations::last_uses;
use polyfabric_kernels::Torus;
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::key_switch::KeySwitch;
use polyfabric_program::tfhe::kernel::{KernelProgram, Op, OpKind, ValueType};
use polyfabric_schemes::tfhe::KeyUnrolling;

/// Bytes of an executor and a run in addition to the server key, the inputs and the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// The bootstrapping key in the transform domain, in each form that the program's batches read, and the packed key-switching key where it is used.
    pub keys: u64,
    /// Peak of intermediate results, including inputs.
    pub values: u64,
}

impl Buffers {
    /// For a program run by [`super::Executor`] with a key of `unrolling` on `threads` threads (0 as in the executor), in the selected instruction set.
    ///
    /// # Errors
    /// [`RunError::Isa`] if the environment selects an absent instruction set, [`RunError::Threads`] if the default threads cannot be started.
    pub fn of(program: &KernelProgram, unrolling: KeyUnrolling, threads: usize) -> Result<Self, RunError> {
        let threads = if threads == 0 { pool(0)?.current_num_threads() } else { threads };
        match program.parameters.torus_bits() {
            32 => Self::on::<u32>(program, unrolling, threads),
            _ => Self::on::<u64>(program, unrolling, threads),
        }
    }

    fn on<T: Torus>(program: &KernelProgram, unrolling: KeyUnrolling, threads: usize) -> Result<Self, RunError> {
        let (set, isa) = (&program.parameters, Isa::selected()?);
        let product = product::<T>(set, isa)?;
        let blocks = Blocks::new(set, &product, threads);
        let mut forms = Forms::default();
        for op in &program.ops {
            if let (OpKind::BlindRotation { .. }, count) = (&op.kind, op.result.count()) {
                let own = blocks.forms(count);
                forms = Forms { alone: forms.alone || own.alone, together: forms.together || own.together };
            }
        }
        let ggsws = unrolling.ggsw_ciphertexts(set.lwe_dimension()) as u64;
        let form = |taken: bool, together| if taken { product.key_len(together) as u64 } else { 0 };
        let numbers = ggsws * (form(forms.alone, false) + form(forms.together, true));
        let in_batches = |op: &Op| switched_together(op.result.count(), threads) > 1;
        let switches = program.ops.iter().any(|op| matches!(op.kind, OpKind::KeySwitch { .. }) && in_batches(op));
        let switch = set.key_switch_gadget().filter(|_| switches).map_or(0, |gadget| {
            let (from, to) = (set.large_lwe_dimension().get(), set.lwe_dimension().get());
            KeySwitch::<T>::bytes_of(gadget, from, to, isa)
        });
        Ok(Self { keys: numbers * size_of::<f64>() as u64 + switch, values: most_at_once(program) })
    }
}

/// Peak bytes of live values, each from its operation to its last use.
fn most_at_once(program: &KernelProgram) -> u64 {
    let last_use = last_uses(program);
    let (mut held, mut most) = (0, 0);
    for (index, op) in program.ops.iter().enumerate() {
        held += value_bytes(program, op.result);
        most = most.max(held);
        let mut operands = op.operands.clone();
        operands.sort_unstable();
        operands.dedup();
        let dying = operands.iter().filter(|operand| last_use[operand.index()] == index);
        held -= dying.map(|operand| value_bytes(program, program.op(*operand).result)).sum::<u64>();
    }
    most
}

fn value_bytes(program: &KernelProgram, value: ValueType) -> u64 {
    let set = &program.parameters;
    let word = u64::from(set.torus_bits() / 8);
    let (elements, bytes) = match value {
        ValueType::Lwe { dimension, .. } => (dimension + 1, word),
        ValueType::Indices { dimension, .. } => (dimension + 1, size_of::<u32>() as u64),
        ValueType::Glwe { .. } => (super::blocks::glwe_len(set), word),
        // In the transform domain.
        ValueType::Ggsw { .. } => {
            let rows = set.circuit().map_or(0, |circuit| 2 * circuit.ggsw.levels as usize);
            (rows * super::blocks::glwe_len(set), size_of::<f64>() as u64)
        }
    };
    value.count() as u64 * elements as u64 * bytes
}
