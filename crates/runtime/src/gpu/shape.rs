//! Layout of a parameter set on a multiprocessor.

use super::{GpuError, Source};
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};

/// Supported ring degrees.
const LOG2_DEGREES: std::ops::RangeInclusive<u32> = 9..=13;
/// Maximum number of polynomials of a GLWE ciphertext.
const MOST_COLUMNS: usize = 6;
/// Maximum number of secret bits per iteration, without and with blocks.
const MOST_KEY_BITS: u32 = 2;
const MOST_BLOCK_BITS: u32 = 3;
/// Registers of a multiprocessor, and the maximum per thread.
const REGISTERS: usize = 1 << 16;
const MOST_REGISTERS: usize = 255;

/// Layout of a parameter set's blind rotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    unrolling: KeyUnrolling,
    log2_degree: u32,
    /// log2 of the complex points per thread in a transform.
    pub(super) log2_held: u32,
    columns: usize,
    word_bytes: usize,
    /// Threads per ciphertext.
    threads: usize,
    /// The ciphertexts of a block are a multiple of this, so that it has whole warps.
    unit: usize,
    /// Maximum number of ciphertexts per block.
    pub(super) ciphertexts: usize,
}

impl Shape {
    /// Layout of `set` with a key of `unrolling`, on a multiprocessor with `shared_bytes` bytes of shared memory per block.
    ///
    /// # Errors
    /// [`GpuError::Ring`], [`GpuError::Unrolling`].
    pub fn new(set: &Parameters, unrolling: KeyUnrolling, shared_bytes: usize) -> Result<Self, GpuError> {
        let most = if unrolling.is_block() { MOST_BLOCK_BITS } else { MOST_KEY_BITS };
        if unrolling.bits() > most {
            return Err(GpuError::Unrolling { bits: unrolling.bits(), most });
        }
        let columns = set.glwe_dimension().get() + 1;
        let log2_degree = set.ring_degree().log2();
        // A group of threads computes the products of one or two columns. Eight points per thread complete 512 points in three passes and leave registers for twice
        // as many warps. Otherwise 16 save a pass, and the factors of an unrolled key use the registers.
        let groups = if columns <= 2 { 1 } else { columns };
        let log2_held = if log2_degree == 10 && groups == 1 && unrolling == KeyUnrolling::ONE { 3 } else { 4 };
        let threads = groups * ((set.ring_degree().get() / 2) >> log2_held);
        // Registers of a thread: points and products, four each, plus a third for everything else.
        let registers = (columns / groups + 1) * (4 << log2_held) * 4 / 3;
        let most = REGISTERS / registers.min(MOST_REGISTERS);
        let unit = if threads.is_multiple_of(32) { 1 } else { 2 };
        let shape = Self {
            unrolling,
            log2_degree,
            log2_held,
            columns,
            word_bytes: set.torus_bits() as usize / 8,
            threads,
            unit,
            ciphertexts: 0,
        };
        let ciphertexts = (shared_bytes / shape.ciphertext_bytes()).min(most / threads) / unit * unit;
        if ciphertexts > 0 && LOG2_DEGREES.contains(&log2_degree) && columns <= MOST_COLUMNS {
            return Ok(Self { ciphertexts, ..shape });
        }
        Err(GpuError::Ring {
            set: set.name().to_owned(),
            degree: 1 << log2_degree,
            given: columns,
            least: 1 << LOG2_DEGREES.start(),
            most: 1 << LOG2_DEGREES.end(),
            columns: MOST_COLUMNS,
            shared_bytes,
        })
    }

    /// Torus elements of a GLWE ciphertext.
    pub(super) fn glwe_len(&self) -> usize {
        self.columns << self.log2_degree
    }

    /// Bytes of the transformed bootstrapping key of `set`, the set of this layout, plus one row that is prefetched but not used. On the 32-bit torus numbers have 48 bits.
    pub fn bootstrap_key_bytes(&self, set: &Parameters) -> usize {
        let number = if self.word_bytes == 4 { 6 } else { size_of::<f64>() };
        let rows = self.unrolling.iterations(set.lwe_dimension()) * set.ggsw_rows();
        (rows + 1) * self.unrolling.patterns() * self.glwe_len() * number
    }

    /// Shared-memory bytes per ciphertext: its accumulators, and the exchange area of its transforms.
    fn ciphertext_bytes(&self) -> usize {
        self.glwe_len() * self.word_bytes + self.exchange_bytes(self.threads)
    }

    /// Bytes of the exchange area for `threads` threads: one padding place for each thread's points.
    fn exchange_bytes(&self, threads: usize) -> usize {
        threads * ((1 << self.log2_held) + 1) * 2 * size_of::<f64>()
    }

    /// Ciphertexts of a full block, and so of a multiprocessor.
    pub fn most_ciphertexts(&self) -> usize {
        self.ciphertexts
    }

    /// Ciphertexts per block for `count` on `multiprocessors`: spread evenly before blocks are filled.
    pub(super) fn ciphertexts_of(&self, count: usize, multiprocessors: usize) -> usize {
        count.div_ceil(multiprocessors).next_multiple_of(self.unit).clamp(self.unit, self.ciphertexts)
    }

    /// Threads of a block of `ciphertexts`.
    pub(super) fn block_threads(&self, ciphertexts: usize) -> usize {
        ciphertexts * self.threads
    }

    /// Shared memory of a block of `ciphertexts`.
    pub(super) fn shared_bytes(&self, ciphertexts: usize) -> usize {
        ciphertexts * self.ciphertext_bytes()
    }

    /// Shared memory of a full block, in bytes.
    pub fn most_shared_bytes(&self) -> usize {
        self.shared_bytes(self.ciphertexts)
    }

    /// (threads, shared memory) of a block that transforms two key polynomials.
    pub(super) fn transform_block(&self) -> (usize, usize) {
        let threads = 2 * ((1 << (self.log2_degree - 1)) >> self.log2_held);
        (threads, self.exchange_bytes(threads))
    }

    /// The kernels of `set`, the set of this layout.
    ///
    /// # Errors
    /// [`GpuError::KeySwitch`].
    pub fn source(&self, set: &Parameters) -> Result<Source, GpuError> {
        let gadget = set.bootstrap_gadget();
        let rows = self.columns as f64 * f64::from(gadget.levels);
        // log2 of R · N · β/2 · q/2, the largest sum of products: adding a constant rounds up to 2^(51 + 2), as on the CPU. Each pattern of an unrolled key adds twice as much.
        let patterns = if self.unrolling == KeyUnrolling::ONE { 1 } else { 2 * self.unrolling.patterns() } as f64;
        let largest =
            (rows * patterns).log2() + f64::from(self.log2_degree + gadget.log2_base + set.torus_bits()) - 2.0;
        let rounding = (largest - 51.0).ceil().max(0.0) as u64;
        let reduces = set.torus_bits() == 64 || rounding > 2;
        let switch = set.key_switch_gadget();
        if let Some(switch) = switch {
            let terms = ((self.columns - 1) << self.log2_degree) as u64 * u64::from(switch.levels);
            let digit = 1u64 << (switch.log2_base - 1);
            if switch.log2_base > 8 || terms * digit * 255 >= 1 << 31 {
                return Err(GpuError::KeySwitch { set: set.name().to_owned(), terms, digit });
            }
        }
        Ok(Source::tfhe(vec![
            ("TORUS_BITS", set.torus_bits().into()),
            ("LOG2_DEGREE", self.log2_degree.into()),
            ("GLWE_DIMENSION", self.columns as u64 - 1),
            ("LEVELS", gadget.levels.into()),
            ("LOG2_BASE", gadget.log2_base.into()),
            ("REDUCES", reduces.into()),
            ("LOG2_ROUNDING", if reduces { 0 } else { rounding }),
            ("KEY_BITS", self.unrolling.bits().into()),
            ("BLOCKS", self.unrolling.is_block().into()),
            ("CHOICES", u64::from(set.secret().block()) + 1),
            ("LOG2_HELD", self.log2_held.into()),
            ("BLOCK_THREADS", self.block_threads(self.ciphertexts).max(self.transform_block().0) as u64),
            // Without a key switch, its kernels are compiled for a valid gadget and never launched.
            ("SWITCH_LEVELS", switch.map_or(1, |gadget| gadget.levels.into())),
            ("SWITCH_LOG2_BASE", switch.map_or(1, |gadget| gadget.log2_base.into())),
        ]))
    }
}
