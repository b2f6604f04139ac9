//! The operations of a kernel program on the CPU.

use super::Executor;
use crate::Progress;
use crate::tfhe::RunError;
use crate::tfhe::circuit::{Circuit, Ggsw, TableShape};
use crate::tfhe::operations::{self, Batches, batch};
use polyfabric_kernels::Torus;
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{KernelProgram, TableChoice};
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{LweBatch, LweDimension};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl<T: Torus> Executor<'_, T> {
    /// Runs `program` on `inputs` with fused PBSs: results are within the transform's proven bound of the exact ones, in whichever domain its bodies accumulate.
    ///
    /// # Errors
    /// [`RunError`]; everything is checked before the run.
    pub fn run(
        &self,
        program: &KernelProgram,
        inputs: &BTreeMap<String, LweBatch<T>>,
        progress: &dyn Progress,
    ) -> Result<BTreeMap<String, LweBatch<T>>, RunError> {
        let circuit = Circuit::of(program, self.key, Some(self.isa))?;
        operations::run(&CpuRun { executor: self, progress, circuit }, program, self.key, inputs)
    }
}

/// One run and its progress receiver.
struct CpuRun<'e, 'k, T> {
    executor: &'e Executor<'k, T>,
    progress: &'e dyn Progress,
    circuit: Option<Circuit<'k, T>>,
}

impl<'k, T: Torus> CpuRun<'_, 'k, T> {
    fn circuit(&self) -> &Circuit<'k, T> {
        match &self.circuit {
            Some(circuit) => circuit,
            None => unreachable!("it is made for every program with circuit bootstrapping"),
        }
    }
}

impl<T: Torus> Batches<T> for CpuRun<'_, '_, T> {
    type Lwe = LweBatch<T>;
    type Exponents = Vec<u32>;
    type Glwe = AlignedTorus<T>;
    type Ggsw = Vec<Ggsw<T>>;

    fn bring(&self, batch: &LweBatch<T>) -> Result<Self::Lwe, RunError> {
        Ok(batch.clone())
    }

    fn fetch(&self, batch: &Self::Lwe) -> Result<LweBatch<T>, RunError> {
        Ok(batch.clone())
    }

    fn linear(
        &self,
        dimension: LweDimension,
        matrix: &Matrix,
        bias: &[u64],
        operands: &[Arc<Self::Lwe>],
    ) -> Result<Self::Lwe, RunError> {
        let length = dimension.ciphertext_len();
        let sources: Vec<&[T]> = operands.iter().flat_map(|batch| batch.data().chunks_exact(length)).collect();
        let mut data = vec![T::default(); matrix.rows() * length];
        self.executor.pool.install(|| {
            data.par_chunks_exact_mut(length).enumerate().for_each(|(row, output)| {
                cancel::check();
                for (column, weight) in matrix.row(row) {
                    for (out, &value) in output.iter_mut().zip(sources[column]) {
                        *out = out.wrapping_add(value.wrapping_mul_signed(weight.into()));
                    }
                }
                if let Some(body) = output.last_mut() {
                    *body = body.wrapping_add(T::from_u64(bias[row]));
                }
            });
        });
        Ok(batch(dimension, data))
    }

    fn gather(
        &self,
        dimension: LweDimension,
        operands: &[Arc<Self::Lwe>],
        indices: &[u32],
    ) -> Result<Self::Lwe, RunError> {
        let sources = operands.iter().map(|batch| batch.data());
        Ok(batch(dimension, gather(sources, dimension.ciphertext_len(), indices)))
    }

    fn gather_exponents(
        &self,
        operands: &[Arc<Self::Exponents>],
        indices: &[u32],
    ) -> Result<Self::Exponents, RunError> {
        let size = self.executor.parameters().lwe_dimension().ciphertext_len();
        Ok(gather(operands.iter().map(|exponents| exponents.as_slice()), size, indices))
    }

    fn key_switch(&self, inputs: &Self::Lwe) -> Result<Self::Lwe, RunError> {
        self.executor.key_switch(inputs, self.progress)
    }

    fn modulus_switch(
        &self,
        inputs: &Self::Lwe,
        rounding: PhaseRounding,
        log2_tables: u32,
    ) -> Result<Self::Exponents, RunError> {
        Ok(self.executor.modulus_switch_with(inputs, rounding, log2_tables))
    }

    fn blind_rotate(
        &self,
        exponents: &Self::Exponents,
        choice: &TableChoice,
        tables: &[Vec<T>],
    ) -> Result<Self::Glwe, RunError> {
        let table = |c: usize| tables[choice.get(c)].as_slice();
        Ok(self.executor.blind_rotate(exponents, table, self.progress))
    }

    fn circuit_bootstrap(&self, accumulators: &Self::Glwe) -> Result<Self::Ggsw, RunError> {
        let circuit = self.circuit();
        let each = self.executor.glwe_len();
        let (done, count) = (AtomicU64::new(0), (accumulators.len() / each) as u64);
        let make = |scratch: &mut Option<_>, accumulator: &[T]| {
            cancel::check();
            let made = circuit.ggsw(accumulator, scratch);
            self.progress.update("circuit bootstrap", done.fetch_add(1, Ordering::Relaxed) + 1, count);
            made
        };
        Ok(self
            .executor
            .pool
            .install(|| accumulators.par_chunks_exact(each).map_init(|| circuit.scratch(), make).collect()))
    }

    fn packed_lookup(
        &self,
        shape: TableShape,
        (given, bits): (&Self::Ggsw, &[u32]),
        choice: &TableChoice,
        tables: &[Vec<T>],
    ) -> Result<Self::Glwe, RunError> {
        let circuit = self.circuit();
        let (each, width) = (self.executor.glwe_len(), shape.width as usize);
        let mut results = AlignedTorus::zeros(bits.len() / width * each);
        self.executor.pool.install(|| {
            results.par_chunks_exact_mut(each).zip(bits.par_chunks_exact(width)).enumerate().for_each_init(
                || circuit.scratch(),
                |scratch, (index, (result, bits))| {
                    cancel::check();
                    let bits: Vec<&Ggsw<T>> = bits.iter().map(|&bit| &given[bit as usize]).collect();
                    result.copy_from_slice(&circuit.read(shape, &bits, &tables[choice.get(index)..], scratch));
                },
            );
        });
        Ok(results)
    }

    fn extract(&self, accumulators: &Self::Glwe, coefficients: usize) -> Result<Self::Lwe, RunError> {
        Ok(self.executor.coefficients_extract(accumulators, coefficients))
    }
}

/// Items `indices` of the concatenated `sources`, each of `length` elements.
fn gather<'a, E: Copy + 'a>(sources: impl Iterator<Item = &'a [E]>, length: usize, indices: &[u32]) -> Vec<E> {
    let items: Vec<&[E]> = sources.flat_map(|source| source.chunks_exact(length)).collect();
    indices.iter().flat_map(|&index| items[index as usize]).copied().collect()
}
