//! The matrix product of a batched key switch in bytes, for AVX-512 with VNNI.
//!
//! A key word is Σ_p 2^(8p) · byte_p, so the sum over rows of digit · word is Σ_p 2^(8p) · Σ digit · byte_p, each plane p a sum
//! of products of signed and unsigned bytes: one instruction takes four rows of sixteen columns. The planes' sums of 32 bits wrap mod
//! 2^32, which is enough for a 32-bit torus; for a 64-bit one they must not wrap (k·N·l · β/2 · 255 < 2^31).

use super::Shape;
use crate::aligned::AlignedTorus;
use crate::decompose::DigitField;
use crate::isa::Isa;
use crate::torus::Torus;

/// Columns of a block: the 32-bit lanes of a register.
const COLUMNS: usize = 16;
/// Rows whose bytes share a lane.
const ROWS: usize = 4;
/// Bytes of the key that stay in the first-level cache while the batch passes.
const CHUNK_BYTES: usize = 16 << 10;
/// Ciphertexts that pass together, so that their sums stay there too.
const BATCH: usize = 64;

/// The key in bytes.
#[derive(Debug)]
pub(super) struct Packed {
    /// [column block][level][four mask coefficients][plane][column]: a byte of each of four rows.
    words: AlignedTorus<u32>,
}

/// Groups of four rows of one level.
fn groups(shape: Shape) -> usize {
    shape.input_dimension.div_ceil(ROWS)
}

impl Packed {
    /// Cuts `key`, or `None` if the processor or the digits do not allow it.
    pub fn new<T: Torus>(key: &[T], shape: Shape, isa: Isa) -> Option<Self> {
        let planes = T::BITS as usize / 8;
        let largest = (shape.input_dimension * shape.levels() * 255) as u64;
        let fits = shape.gadget.log2_base <= 8
            && (T::BITS == 32 || largest << (shape.gadget.log2_base - 1) < 1 << 31)
            && is_present(isa);
        if !fits {
            return None;
        }
        let Shape { input_dimension, size, .. } = shape;
        let (levels, groups) = (shape.levels(), groups(shape));
        let blocks = size.div_ceil(COLUMNS);
        let mut words = AlignedTorus::<u32>::zeros(blocks * levels * groups * planes * COLUMNS);
        for (row, values) in key.chunks_exact(size).enumerate() {
            let (i, level) = (row / levels, row % levels);
            debug_assert!(i < input_dimension);
            let (group, byte) = (level * groups + i / ROWS, 8 * (i % ROWS));
            for (block, values) in values.chunks(COLUMNS).enumerate() {
                let to = &mut words[(block * levels * groups + group) * planes * COLUMNS..][..planes * COLUMNS];
                for (lane, value) in values.iter().enumerate() {
                    for (plane, part) in value.to_u64().to_le_bytes().into_iter().take(planes).enumerate() {
                        to[plane * COLUMNS + lane] |= u32::from(part) << byte;
                    }
                }
            }
        }
        Some(Self { words })
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }

    /// `outputs` −= digits of `inputs` · key.
    pub fn subtract<T: Torus>(&self, shape: Shape, inputs: &[T], outputs: &mut [T]) {
        let inputs = inputs.chunks(BATCH * (shape.input_dimension + 1));
        for (inputs, outputs) in inputs.zip(outputs.chunks_mut(BATCH * shape.size)) {
            let digits = digit_words(shape, inputs);
            if T::BITS == 32 {
                self.subtract_batch::<T, 4>(shape, &digits, outputs);
            } else {
                self.subtract_batch::<T, 8>(shape, &digits, outputs);
            }
        }
    }

    fn subtract_batch<T: Torus, const PLANES: usize>(&self, shape: Shape, digits: &[u32], outputs: &mut [T]) {
        let count = outputs.len() / shape.size;
        let rows = shape.levels() * groups(shape);
        let mut sums = AlignedTorus::<u32>::zeros(count * PLANES * COLUMNS);
        let chunk = CHUNK_BYTES / (PLANES * COLUMNS * size_of::<u32>());
        for (block, key) in self.words.chunks_exact(rows * PLANES * COLUMNS).enumerate() {
            sums.fill(0);
            for (part, key) in key.chunks(chunk * PLANES * COLUMNS).enumerate() {
                multiply_add::<PLANES>(key, &digits[part * chunk..], rows, &mut sums);
            }
            let first = block * COLUMNS;
            for (output, sums) in outputs.chunks_exact_mut(shape.size).zip(sums.chunks_exact(PLANES * COLUMNS)) {
                for (lane, out) in output[first..].iter_mut().take(COLUMNS).enumerate() {
                    let sum = (0..PLANES).fold(0u64, |sum, plane| {
                        let part = sums[plane * COLUMNS + lane] as i32;
                        sum.wrapping_add((i64::from(part) as u64) << (8 * plane))
                    });
                    *out = out.wrapping_sub(T::from_u64(sum));
                }
            }
        }
    }
}

/// For each ciphertext the digits of its mask as bytes, [level][four mask coefficients]; missing coefficients are zero.
fn digit_words<T: Torus>(shape: Shape, inputs: &[T]) -> Vec<u32> {
    let groups = groups(shape);
    let (add, flip) = shape.gadget.preparation::<T>();
    let (add, flip, spare) = (add.to_u64(), flip.to_u64(), 64 - T::BITS);
    let mut words = Vec::with_capacity(inputs.len() / (shape.input_dimension + 1) * shape.levels() * groups);
    let mut bytes = vec![0u8; ROWS * groups];
    for input in inputs.chunks_exact(shape.input_dimension + 1) {
        for level in 0..shape.gadget.levels {
            let DigitField { left, right } = shape.gadget.field::<T>(level);
            let (left, right) = (left + spare, right + spare);
            for (byte, value) in bytes.iter_mut().zip(&input[..shape.input_dimension]) {
                let prepared = value.to_u64().wrapping_add(add) ^ flip;
                *byte = (((prepared << left) as i64) >> right) as u8;
            }
            words.extend(bytes.chunks_exact(ROWS).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        }
    }
    words
}

/// Whether bytes are multiplied where `isa` is in use.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn is_present(_isa: Isa) -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply_add<const PLANES: usize>(_key: &[u32], _digits: &[u32], _rows: usize, _sums: &mut [u32]) {
    unreachable!("no key is packed without the instructions")
}

/// Whether bytes are multiplied where `isa` is in use.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_present(isa: Isa) -> bool {
    isa == Isa::Avx512 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

/// For each ciphertext of `sums` ([ciphertext][plane][column]) adds the products of its digits, `rows` words apart in `digits`, with
/// `key` ([group][plane][column]).
#[cfg(target_arch = "x86_64")]
fn multiply_add<const PLANES: usize>(key: &[u32], digits: &[u32], rows: usize, sums: &mut [u32]) {
    let groups = key.len() / (PLANES * COLUMNS);
    let count = sums.len() / (PLANES * COLUMNS);
    assert!(count == 0 || digits.len() >= (count - 1) * rows + groups, "a digit word for each group of rows");
    // As many ciphertexts as leave their sums in registers: 24 of 32.
    let together = 24 / PLANES;
    for first in (0..count).step_by(together) {
        let digits = digits[first * rows..].as_ptr();
        let sums = sums[first * PLANES * COLUMNS..].as_mut_ptr();
        let key = key.as_ptr();
        // SAFETY: a key is only packed if the instructions are present; the lengths were checked.
        unsafe {
            match (count - first).min(together) {
                1 => x86::multiply_add::<1, PLANES>(key, groups, digits, rows, sums),
                2 => x86::multiply_add::<2, PLANES>(key, groups, digits, rows, sums),
                3 => x86::multiply_add::<3, PLANES>(key, groups, digits, rows, sums),
                4 => x86::multiply_add::<4, PLANES>(key, groups, digits, rows, sums),
                5 => x86::multiply_add::<5, PLANES>(key, groups, digits, rows, sums),
                _ => x86::multiply_add::<6, PLANES>(key, groups, digits, rows, sums),
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::COLUMNS;
    use std::arch::x86_64::*;

    /// `B` ciphertexts. SAFETY: AVX-512 F and VNNI are present; the key has `groups` groups, and each ciphertext as many digit words
    /// from `rows` words after the last's, and its sums.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub unsafe fn multiply_add<const B: usize, const PLANES: usize>(
        key: *const u32,
        groups: usize,
        digits: *const u32,
        rows: usize,
        sums: *mut u32,
    ) {
        // SAFETY: this function's contract.
        unsafe {
            let at = |b: usize, plane: usize| sums.add((b * PLANES + plane) * COLUMNS);
            let mut accumulators = [[_mm512_setzero_si512(); PLANES]; B];
            for (b, planes) in accumulators.iter_mut().enumerate() {
                for (plane, sum) in planes.iter_mut().enumerate() {
                    *sum = _mm512_loadu_si512(at(b, plane).cast());
                }
            }
            for group in 0..groups {
                let mut digit = [_mm512_setzero_si512(); B];
                for (b, digit) in digit.iter_mut().enumerate() {
                    *digit = _mm512_set1_epi32(*digits.add(b * rows + group) as i32);
                }
                for plane in 0..PLANES {
                    let bytes = _mm512_loadu_si512(key.add((group * PLANES + plane) * COLUMNS).cast());
                    for (planes, digit) in accumulators.iter_mut().zip(digit) {
                        planes[plane] = _mm512_dpbusd_epi32(planes[plane], bytes, digit);
                    }
                }
            }
            for (b, planes) in accumulators.iter().enumerate() {
                for (plane, sum) in planes.iter().enumerate() {
                    _mm512_storeu_si512(at(b, plane).cast(), *sum);
                }
            }
        }
    }
}
