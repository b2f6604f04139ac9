//! The key in the CPU's format, and the batched operations on it.

use super::blocks::{Blocks, glwe_len, product};
use crate::Progress;
use crate::tfhe::RunError;
use crate::tfhe::phases::switched;
use polyfabric_kernels::Torus;
use polyfabric_kernels::aligned::{AlignedTorus, AlignedVector};
use polyfabric_kernels::cancel;
use polyfabric_kernels::external_product::{ExternalProduct, LANE_BATCH};
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::key_switch::{KeySwitch, PackedKey};
use polyfabric_kernels::rotation::rotate;
use polyfabric_kernels::sample_extract::sample_extract;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{KeyUnrolling, LweBatch, LweDimension, Parameters, ServerKey};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A server key in the executors' format, shared by all executors of that key.
///
/// For the bootstrapping key, the output of [`ExternalProduct::transform_key`] for each iteration: for single ciphertexts, and for batches across lanes. Each is made when a
/// rotation first needs it, because many programs need only one. The key-switching key is packed when a batch first needs it.
#[derive(Debug, Default)]
pub struct TransformedKey {
    alone: OnceLock<AlignedVector>,
    together: OnceLock<AlignedVector>,
    key_switch: Arc<PackedKey>,
}

impl TransformedKey {
    /// Bytes allocated so far: for single ciphertexts 8 per number of the bootstrapping key, or 6 on the 32-bit torus; for batches across lanes 8; and for the packed key-switching
    /// key its own size.
    pub fn bytes(&self) -> u64 {
        let numbers: usize =
            [&self.alone, &self.together].into_iter().filter_map(OnceLock::get).map(|key| key.len()).sum();
        (numbers * size_of::<f64>()) as u64 + self.key_switch.bytes()
    }
}

/// Runs kernel programs for one server key on a fixed number of threads.
pub struct Executor<'k, T> {
    pub(super) key: &'k ServerKey<T>,
    parameters: Parameters,
    product: ExternalProduct<T>,
    pub(super) isa: Isa,
    blocks: Blocks,
    transformed: Arc<TransformedKey>,
    key_switch: Option<KeySwitch<'k, T>>,
    pub(super) pool: rayon::ThreadPool,
}

impl<'k, T: Torus> Executor<'k, T> {
    /// For programs under `key`; 0 `threads` means one per core. The first rotation transforms the bootstrapping key.
    ///
    /// # Errors
    /// [`RunError::TorusBits`] if the key's set does not have `T`'s width, [`RunError::Threads`] if the system cannot start the threads, [`RunError::Isa`] if the environment selects
    /// an absent instruction set.
    pub fn new(key: &'k ServerKey<T>, threads: usize) -> Result<Self, RunError> {
        Self::with_isa(key, threads, Isa::selected()?)
    }

    /// [`Self::new`], sharing the transforms of the same `key` with other executors.
    pub fn sharing(key: &'k ServerKey<T>, transformed: &Arc<TransformedKey>, threads: usize) -> Result<Self, RunError> {
        let own = Self::new(key, threads)?;
        let key_switch = own.key_switch.map(|key_switch| key_switch.sharing(&transformed.key_switch));
        Ok(Self { transformed: Arc::clone(transformed), key_switch, ..own })
    }

    /// [`Self::new`] with a given instruction set.
    ///
    /// # Errors
    /// As [`Self::new`], and [`RunError::Isa`] if the processor lacks `isa`.
    pub fn with_isa(key: &'k ServerKey<T>, threads: usize, isa: Isa) -> Result<Self, RunError> {
        let parameters = key.parameters().clone();
        if parameters.torus_bits() != T::BITS {
            return Err(RunError::TorusBits { program: parameters.torus_bits(), given: T::BITS });
        }
        let pool = pool(threads)?;
        let product = product(&parameters, isa)?;
        let blocks = Blocks::new(&parameters, &product, pool.current_num_threads());
        let (from, to) = (parameters.large_lwe_dimension(), parameters.lwe_dimension());
        let key_switch_key = key.key_switch_key().zip(parameters.key_switch_gadget());
        let transformed = Arc::<TransformedKey>::default();
        let key_switch = key_switch_key.map(|(key, gadget)| {
            KeySwitch::new(key, gadget, from.get(), to.get(), isa).sharing(&transformed.key_switch)
        });
        Ok(Self { key, parameters, product, isa, blocks, transformed, key_switch, pool })
    }

    /// The parameter set of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The output of [`ExternalProduct::transform_key`] for the whole key. A thread of the pool must not call this, because it waits for the others.
    fn transformed(&self, lane_batches: bool) -> &[f64] {
        let made = if lane_batches { &self.transformed.together } else { &self.transformed.alone };
        made.get_or_init(|| {
            let (ggsw, ggsw_len) = (self.key.bootstrap_key(), self.product.ggsw_len());
            let mut spectra = AlignedVector::zeros(ggsw.len() / ggsw_len * self.product.key_len(lane_batches));
            self.pool.install(|| {
                let ggsw = ggsw.par_chunks(self.key.unrolling().patterns() * ggsw_len);
                spectra.par_chunks_mut(self.iteration_len(lane_batches)).zip(ggsw).for_each(|(spectra, ggsw)| {
                    cancel::check();
                    self.product.transform_key(ggsw, lane_batches, spectra);
                });
            });
            spectra
        })
    }

    /// Numbers of the transformed key per iteration; the last one may have fewer patterns.
    fn iteration_len(&self, lane_batches: bool) -> usize {
        self.key.unrolling().patterns() * self.product.key_len(lane_batches)
    }

    /// round(x · 2N / q) mod 2N of every element: n + 1 exponents for each ciphertext of `inputs`, under the small key.
    pub fn modulus_switch(&self, inputs: &LweBatch<T>) -> Vec<u32> {
        self.modulus_switch_with(inputs, PhaseRounding::Nearest, 0)
    }

    /// The same with `rounding`, to multiples of 2^`log2_tables`.
    pub fn modulus_switch_with(&self, inputs: &LweBatch<T>, rounding: PhaseRounding, log2_tables: u32) -> Vec<u32> {
        inputs.iter().flat_map(|ciphertext| switched(&self.parameters, ciphertext, rounding, log2_tables)).collect()
    }

    /// Blind rotations: for each ciphertext's n + 1 `exponents`, a GLWE ciphertext of k + 1 polynomials that starts from X^(−b~) · (0, .., 0, v) with v = `table(ciphertext)`, N
    /// coefficients.
    pub fn blind_rotate<'t>(
        &self,
        exponents: &[u32],
        table: impl Fn(usize) -> &'t [T] + Sync,
        progress: &dyn Progress,
    ) -> AlignedTorus<T> {
        let size = self.parameters.lwe_dimension().ciphertext_len();
        let count = exponents.len() / size;
        let glwe = self.glwe_len();
        let mut accumulators = AlignedTorus::zeros(count * glwe);
        let block = self.blocks.of(count);
        let forms = self.blocks.forms(count);
        let keys = Keys {
            alone: if forms.alone { self.transformed(false) } else { &[] },
            together: if forms.together { self.transformed(true) } else { &[] },
        };
        let done = AtomicU64::new(0);
        self.pool.install(|| {
            let blocks = accumulators.par_chunks_mut(block * glwe).zip(exponents.par_chunks(block * size));
            blocks.enumerate().for_each(|(index, (accumulators, exponents))| {
                cancel::check();
                self.rotate_block(keys, accumulators, exponents, |c| table(index * block + c));
                let rotated = (accumulators.len() / glwe) as u64;
                let total = done.fetch_add(rotated, Ordering::Relaxed) + rotated;
                progress.update("blind rotation", total, count as u64);
            });
        });
        accumulators
    }

    /// All iterations of one block, which reads the key once.
    fn rotate_block<'t>(
        &self,
        keys: Keys<'_>,
        accumulators: &mut [T],
        exponents: &[u32],
        table: impl Fn(usize) -> &'t [T],
    ) {
        let degree = self.parameters.ring_degree().get();
        let size = self.parameters.lwe_dimension().ciphertext_len();
        let glwe = self.glwe_len();
        for (c, (accumulator, exponents)) in
            accumulators.chunks_exact_mut(glwe).zip(exponents.chunks_exact(size)).enumerate()
        {
            let body = &mut accumulator[glwe - degree..];
            rotate(table(c), 2 * degree - exponents[size - 1] as usize, body);
        }
        let count = exponents.len() / size;
        let batched = self.blocks.batched(count);
        let mut workspace = self.product.workspace();
        let mut lane_batch_workspace = if batched > 0 { self.product.lane_batch_workspace() } else { None };
        let unrolling = self.key.unrolling();
        let bits = unrolling.bits() as usize;
        let mut patterns = Vec::with_capacity(LANE_BATCH * unrolling.patterns());
        // The last group of secret bits may be smaller and have fewer patterns.
        let (of_lane_batches, of_one) = (self.iteration_len(true), self.iteration_len(false));
        let (mut keys_together, mut keys_alone) = (keys.together.chunks(of_lane_batches), keys.alone.chunks(of_one));
        let lone = count - batched == 1;
        for (index, first) in (0..size - 1).step_by(bits).enumerate() {
            cancel::check();
            let group = first..(first + bits).min(size - 1);
            let key_together = keys_together.next().unwrap_or(&[]);
            let key_alone = keys_alone.next().unwrap_or(&[]);
            // Each batch across lanes, and each single ciphertext, prefetches its share of the next key. A single one in its block reads the key in the middle of an iteration, so it
            // prefetches only a part ahead: otherwise two whole keys would be in the second-level cache.
            let next = (index + 1) * of_lane_batches;
            let mut shares_together = shares(keys.together, next..next + of_lane_batches, batched / LANE_BATCH);
            let next = index * of_one + if lone { of_one / 4 } else { of_one };
            let mut shares_alone = shares(keys.alone, next..next + of_one, count - batched);
            let (together, alone) = accumulators.split_at_mut(batched * glwe);
            let (exponents_together, exponents_alone) = exponents.split_at(batched * size);
            if let Some(workspace) = &mut lane_batch_workspace {
                let lane_batches = together.chunks_exact_mut(LANE_BATCH * glwe);
                for (accumulators, exponents) in lane_batches.zip(exponents_together.chunks_exact(LANE_BATCH * size)) {
                    let next = shares_together.next().unwrap_or(&[]);
                    patterns.clear();
                    for exponents in exponents.chunks_exact(size) {
                        pattern_exponents(unrolling, &exponents[group.clone()], &mut patterns);
                    }
                    self.product.lane_batch_multiply_add(
                        key_together,
                        next,
                        &patterns,
                        bits > 1,
                        accumulators,
                        workspace,
                    );
                }
            }
            for (c, exponents) in exponents_alone.chunks_exact(size).enumerate() {
                let next = shares_alone.next().unwrap_or(&[]);
                let (head, rest) = alone.split_at_mut((c + 1) * glwe);
                let (accumulator, following) = (&mut head[c * glwe..], rest.get(..glwe));
                if bits == 1 {
                    // X^0 · ACC − ACC is 0.
                    if exponents[first] != 0 {
                        let exponent = exponents[first] as usize;
                        let workspace = &mut workspace;
                        self.product.rotate_multiply_add(key_alone, next, exponent, accumulator, following, workspace);
                    }
                    continue;
                }
                patterns.clear();
                pattern_exponents(unrolling, &exponents[group.clone()], &mut patterns);
                self.product.patterns_multiply_add(key_alone, next, &patterns, accumulator, following, &mut workspace);
            }
        }
    }

    /// The constant coefficient of each GLWE ciphertext, under the large key.
    pub fn sample_extract(&self, accumulators: &[T]) -> LweBatch<T> {
        self.coefficients_extract(accumulators, 1)
    }

    /// The first `coefficients` coefficients of each GLWE ciphertext, under the large key.
    pub fn coefficients_extract(&self, accumulators: &[T], coefficients: usize) -> LweBatch<T> {
        let dimension = self.parameters.large_lwe_dimension();
        let count = accumulators.len() / self.glwe_len() * coefficients;
        let mut outputs = LweBatch::zeros(dimension, count);
        let wanted =
            accumulators.chunks_exact(self.glwe_len()).flat_map(|glwe| (0..coefficients).map(move |c| (glwe, c)));
        for ((glwe, coefficient), output) in wanted.zip(outputs.iter_mut()) {
            sample_extract(glwe, self.parameters.ring_degree().get(), coefficient, output);
        }
        outputs
    }

    /// Programmable bootstrapping of `inputs` (under the small key) with one test polynomial: modulus switch, blind rotation, sample extraction. Results are under the large key.
    ///
    /// # Errors
    /// [`RunError::Dimension`] if `inputs` are not under the small key.
    pub fn bootstrap(
        &self,
        inputs: &LweBatch<T>,
        test_polynomial: &[T],
        progress: &dyn Progress,
    ) -> Result<LweBatch<T>, RunError> {
        self.check_dimension("bootstrapping", inputs, self.parameters.lwe_dimension())?;
        let exponents = self.modulus_switch(inputs);
        Ok(self.sample_extract(&self.blind_rotate(&exponents, |_| test_polynomial, progress)))
    }

    /// Key switch of `inputs` (under the large key) to the small key.
    ///
    /// # Errors
    /// [`RunError::Dimension`] if `inputs` are not under the large key, [`RunError::NoKeySwitchKey`] if there is none.
    pub fn key_switch(&self, inputs: &LweBatch<T>, progress: &dyn Progress) -> Result<LweBatch<T>, RunError> {
        let (from, to) = (self.parameters.large_lwe_dimension(), self.parameters.lwe_dimension());
        self.check_dimension("key switch", inputs, from)?;
        let Some(key_switch) = &self.key_switch else {
            return Err(RunError::NoKeySwitchKey { set: self.parameters.name().to_owned() });
        };
        let count = inputs.len();
        let mut outputs = LweBatch::zeros(to, count);
        let block = switched_together(count, self.threads());
        let (input_len, output_len) = (from.ciphertext_len(), to.ciphertext_len());
        let done = AtomicU64::new(0);
        self.pool.install(|| {
            let inputs = inputs.data().par_chunks(block * input_len);
            outputs.data_mut().par_chunks_mut(block * output_len).zip(inputs).for_each(|(outputs, inputs)| {
                cancel::check();
                key_switch.switch(inputs, outputs);
                let switched = (outputs.len() / output_len) as u64;
                let total = done.fetch_add(switched, Ordering::Relaxed) + switched;
                progress.update("key switch", total, count as u64);
            });
        });
        Ok(outputs)
    }

    fn check_dimension(
        &self,
        what: &'static str,
        inputs: &LweBatch<T>,
        expected: LweDimension,
    ) -> Result<(), RunError> {
        if inputs.dimension() == expected {
            Ok(())
        } else {
            Err(RunError::Dimension { what, found: inputs.dimension().get(), expected: expected.get() })
        }
    }

    /// Torus elements of a GLWE ciphertext.
    pub(super) fn glwe_len(&self) -> usize {
        glwe_len(&self.parameters)
    }
}

/// The transformed key for each method used by a block; empty if unused.
#[derive(Clone, Copy)]
struct Keys<'e> {
    alone: &'e [f64],
    together: &'e [f64],
}

/// The part `range` of `keys`, in at most `count` shares of whole cache lines.
fn shares(keys: &[f64], range: Range<usize>, count: usize) -> impl Iterator<Item = &[f64]> {
    let part = &keys[range.start.min(keys.len())..range.end.min(keys.len())];
    part.chunks(part.len().div_ceil(count.max(1)).next_multiple_of(8).max(8))
}

/// Appends ⟨a, u⟩ for the nonzero patterns u of the bits that `exponents` belong to, in key order, to `patterns`. They are reduced mod 2N at their use.
fn pattern_exponents(unrolling: KeyUnrolling, exponents: &[u32], patterns: &mut Vec<u32>) {
    if unrolling.is_block() {
        return patterns.extend_from_slice(exponents);
    }
    let start = patterns.len();
    for (bit, &exponent) in exponents.iter().enumerate() {
        patterns.push(exponent);
        for lower in 0..(1 << bit) - 1 {
            patterns.push(patterns[start + lower].wrapping_add(exponent));
        }
    }
}

/// A pool of `threads` threads, 0 for one per core, with this thread's token.
pub(super) fn pool(threads: usize) -> Result<rayon::ThreadPool, RunError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(cancel::Token::on_threads())
        .build()
        .map_err(|error| RunError::Threads { threads, cause: error.to_string() })
}

/// Number of `count` ciphertexts that one of `threads` switches at once.
pub(super) fn switched_together(count: usize, threads: usize) -> usize {
    count.div_ceil(threads).clamp(1, 64)
}
