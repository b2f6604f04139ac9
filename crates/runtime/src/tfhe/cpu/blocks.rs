//! Divides a batch of blind rotations into blocks, and a block into batches across lanes.

use crate::tfhe::RunError;
use polyfabric_kernels::Torus;
use polyfabric_kernels::external_product::{ExternalProduct, LANE_BATCH};
use polyfabric_kernels::isa::{Isa, IsaError};
use polyfabric_schemes::tfhe::Parameters;

/// Maximum bytes of accumulators and exponents of one block: half of a 1 MiB second-level cache; the rest is for the key row and the transforms.
const BLOCK_BYTES: usize = 384 << 10;

/// Maximum bytes of spectra of a batch across lanes.
const LANE_BATCH_BYTES: usize = 1 << 20;

/// Torus elements of a GLWE ciphertext.
pub(super) fn glwe_len(parameters: &Parameters) -> usize {
    parameters.glwe_dimension().ciphertext_polynomials() * parameters.ring_degree().get()
}

/// The external product of a set; an error if the processor lacks `isa`.
pub(super) fn product<T: Torus>(parameters: &Parameters, isa: Isa) -> Result<ExternalProduct<T>, RunError> {
    let k = parameters.glwe_dimension().get();
    let product = ExternalProduct::new(parameters.ring_degree(), parameters.bootstrap_gadget(), k, Some(isa));
    Ok(product.ok_or(IsaError::Absent { isa })?)
}

/// The sizes of blocks and batches across lanes for one parameter set.
pub(super) struct Blocks {
    /// Ciphertexts that fit the cache, at least one.
    fitting: usize,
    threads: usize,
    /// Whether batches across lanes are supported and their spectra fit the second-level cache.
    lane_batches: bool,
}

/// The forms of the transformed key that a batch reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    /// For single ciphertexts.
    pub alone: bool,
    /// For batches across lanes.
    pub together: bool,
}

impl Blocks {
    pub fn new<T: Torus>(parameters: &Parameters, product: &ExternalProduct<T>, threads: usize) -> Self {
        let exponents = parameters.lwe_dimension().ciphertext_len() * size_of::<u32>();
        let spectra = LANE_BATCH * product.rows() * parameters.ring_degree().get() * size_of::<f64>();
        Self {
            fitting: (BLOCK_BYTES / (glwe_len(parameters) * size_of::<T>() + exponents)).max(1),
            threads,
            lane_batches: product.lane_batches() && spectra <= LANE_BATCH_BYTES,
        }
    }

    /// Ciphertexts per block: as many as fit the cache, but at least one block per thread.
    pub fn of(&self, count: usize) -> usize {
        let share = count.div_ceil(self.threads);
        // Blocks of equal size: 64 ciphertexts in blocks of at most 40 are two of 32.
        let block = share.div_ceil(share.div_ceil(self.fitting).max(1)).max(1);
        if self.batched(block) > 0 { block.next_multiple_of(LANE_BATCH).min(share) } else { block }
    }

    /// Number of a block's `count` ciphertexts that are processed in batches across lanes.
    pub fn batched(&self, count: usize) -> usize {
        if self.lane_batches { count / LANE_BATCH * LANE_BATCH } else { 0 }
    }

    /// The forms of the key that a batch reads.
    pub fn forms(&self, count: usize) -> Forms {
        let block = self.of(count);
        let blocks = [block.min(count), count % block];
        Forms {
            alone: blocks.iter().any(|&count| self.batched(count) < count),
            together: blocks.iter().any(|&count| self.batched(count) > 0),
        }
    }
}
