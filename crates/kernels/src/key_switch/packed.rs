//! The matrix product of a batched key switch on pieces of the key's words.
//!
//! A key word is Σ_p 2^(wp) · part_p, so the sum over rows of digit · word is Σ_p 2^(wp) · Σ digit · part_p, where each plane p is a sum of products of
//! small integers. With AVX-512 VNNI, parts are unsigned bytes: one instruction multiplies four rows of sixteen columns. With AVX2, they are signed
//! 16-bit halves: one instruction multiplies two rows of eight columns, another adds. With NEON, one multiplies and adds a row of four columns. The
//! planes' 32-bit sums wrap mod 2^32, which suffices for a 32-bit torus. For a 64-bit one they must not wrap (k·N·l · β/2 · 2^(w − 1) < 2^31, or 2^w for
//! unsigned parts).

use super::Shape;
use crate::aligned::{AlignedTorus, elements};
use crate::cancel;
use crate::decompose::DigitField;
use crate::isa::Isa;
use crate::torus::Torus;

/// Format of the parts of key words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    /// Unsigned bytes.
    Bytes,
    /// Signed integers of 16 bits.
    Halves,
}

impl Parts {
    /// The parts that `isa` multiplies.
    fn of(isa: Isa) -> Option<Self> {
        if isa.multiplies_bytes() { Some(Self::Bytes) } else { (isa != Isa::Portable).then_some(Self::Halves) }
    }

    /// w.
    const fn bits(self) -> u32 {
        match self {
            Self::Bytes => 8,
            Self::Halves => 16,
        }
    }

    /// Columns of a block: the 32-bit lanes of a register, or with NEON of two.
    const fn columns(self) -> usize {
        match self {
            Self::Bytes => 16,
            Self::Halves => 8,
        }
    }

    /// Rows whose parts share a lane.
    const fn rows(self) -> usize {
        (32 / self.bits()) as usize
    }

    /// The largest absolute value of a part.
    const fn largest(self) -> u64 {
        match self {
            Self::Bytes => 255,
            Self::Halves => 1 << 15,
        }
    }

    /// Removes the lowest part from `rest`.
    fn cut(self, rest: &mut u64) -> u32 {
        let part = match self {
            Self::Bytes => *rest & 0xff,
            Self::Halves => *rest as i16 as u64,
        };
        *rest = rest.wrapping_sub(part) >> self.bits();
        (part & ((1 << self.bits()) - 1)) as u32
    }
}

/// Bytes of the key that stay in the first-level cache while the batch passes.
const CHUNK_BYTES: usize = 16 << 10;
/// Ciphertexts processed together, so that their sums stay cached too.
const BATCH: usize = 64;

/// The key in parts.
#[derive(Debug)]
pub(super) struct Packed {
    parts: Parts,
    /// [column block][level][group of mask coefficients][plane][column]: one part for each row of the group.
    words: AlignedTorus<u32>,
}

/// Groups of rows of one level that share lanes.
fn groups(shape: Shape, parts: Parts) -> usize {
    shape.input_dimension.div_ceil(parts.rows())
}

impl Packed {
    /// Format and number of words of the copy; `None` if the processor or the digits do not allow it.
    fn layout<T: Torus>(shape: Shape, isa: Isa) -> Option<(Parts, usize)> {
        let parts = Parts::of(isa)?;
        let log2_base = shape.gadget.log2_base;
        let largest = (shape.input_dimension * shape.levels()) as u64 * parts.largest();
        if log2_base > parts.bits() || (T::BITS == 64 && largest << (log2_base - 1) >= 1 << 31) {
            return None;
        }
        let (columns, planes) = (parts.columns(), (T::BITS / parts.bits()) as usize);
        let blocks = shape.size.div_ceil(columns);
        Some((parts, elements(&[blocks, shape.levels(), groups(shape, parts), planes, columns])))
    }

    /// Bytes of the copy; 0 if there is none.
    pub fn bytes_of<T: Torus>(shape: Shape, isa: Isa) -> u64 {
        Self::layout::<T>(shape, isa).map_or(0, |(_, words)| (words * size_of::<u32>()) as u64)
    }

    /// Copies `key` in parts; `None` if the processor or the digits do not allow it.
    pub fn new<T: Torus>(key: &[T], shape: Shape, isa: Isa) -> Option<Self> {
        let (parts, words) = Self::layout::<T>(shape, isa)?;
        let mut words = AlignedTorus::<u32>::zeros(words);
        let Shape { input_dimension, size, .. } = shape;
        let (levels, groups) = (shape.levels(), groups(shape, parts));
        let (columns, rows, planes) = (parts.columns(), parts.rows(), (T::BITS / parts.bits()) as usize);
        for (row, values) in key.chunks_exact(size).enumerate() {
            cancel::check();
            let (i, level) = (row / levels, row % levels);
            debug_assert!(i < input_dimension);
            let (group, place) = (level * groups + i / rows, parts.bits() * (i % rows) as u32);
            for (block, values) in values.chunks(columns).enumerate() {
                let to = &mut words[(block * levels * groups + group) * planes * columns..][..planes * columns];
                for (lane, value) in values.iter().enumerate() {
                    let mut rest = value.to_u64();
                    for plane in 0..planes {
                        to[plane * columns + lane] |= parts.cut(&mut rest) << place;
                    }
                }
            }
        }
        Some(Self { parts, words })
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }

    /// `outputs` −= digits of `inputs` · key.
    pub fn subtract<T: Torus>(&self, shape: Shape, inputs: &[T], outputs: &mut [T]) {
        let inputs = inputs.chunks(BATCH * (shape.input_dimension + 1));
        for (inputs, outputs) in inputs.zip(outputs.chunks_mut(BATCH * shape.size)) {
            let digits = digit_words(shape, self.parts, inputs);
            match (self.parts, T::BITS) {
                (Parts::Bytes, 32) => self.subtract_batch::<T, 4, 16>(shape, &digits, outputs),
                (Parts::Bytes, _) => self.subtract_batch::<T, 8, 16>(shape, &digits, outputs),
                (Parts::Halves, 32) => self.subtract_batch::<T, 2, 8>(shape, &digits, outputs),
                (Parts::Halves, _) => self.subtract_batch::<T, 4, 8>(shape, &digits, outputs),
            }
        }
    }

    fn subtract_batch<T: Torus, const PLANES: usize, const COLUMNS: usize>(
        &self,
        shape: Shape,
        digits: &[u32],
        outputs: &mut [T],
    ) {
        let count = outputs.len() / shape.size;
        let rows = shape.levels() * groups(shape, self.parts);
        let mut sums = AlignedTorus::<u32>::zeros(count * PLANES * COLUMNS);
        let chunk = CHUNK_BYTES / (PLANES * COLUMNS * size_of::<u32>());
        for (block, key) in self.words.chunks_exact(rows * PLANES * COLUMNS).enumerate() {
            cancel::check();
            sums.fill(0);
            for (part, key) in key.chunks(chunk * PLANES * COLUMNS).enumerate() {
                multiply_add::<PLANES, COLUMNS>(key, &digits[part * chunk..], rows, &mut sums);
            }
            let first = block * COLUMNS;
            for (output, sums) in outputs.chunks_exact_mut(shape.size).zip(sums.chunks_exact(PLANES * COLUMNS)) {
                for (lane, out) in output[first..].iter_mut().take(COLUMNS).enumerate() {
                    let sum = (0..PLANES).fold(0u64, |sum, plane| {
                        let part = sums[plane * COLUMNS + lane] as i32;
                        sum.wrapping_add((i64::from(part) as u64) << (self.parts.bits() as usize * plane))
                    });
                    *out = out.wrapping_sub(T::from_u64(sum));
                }
            }
        }
    }
}

/// The mask digits of each ciphertext in the parts' width, [level][group of mask coefficients]; missing coefficients are zero.
fn digit_words<T: Torus>(shape: Shape, parts: Parts, inputs: &[T]) -> Vec<u32> {
    let (groups, rows) = (groups(shape, parts), parts.rows());
    let (add, flip) = shape.gadget.preparation::<T>();
    let (add, flip, spare) = (add.to_u64(), flip.to_u64(), 64 - T::BITS);
    let mask = (1u64 << parts.bits()) - 1;
    let mut words = Vec::with_capacity(inputs.len() / (shape.input_dimension + 1) * shape.levels() * groups);
    for input in inputs.chunks_exact(shape.input_dimension + 1) {
        for level in 0..shape.gadget.levels {
            let DigitField { left, right } = shape.gadget.field::<T>(level);
            let (left, right) = (left + spare, right + spare);
            words.extend(input[..shape.input_dimension].chunks(rows).map(|values| {
                let mut word = 0;
                for (place, value) in values.iter().enumerate() {
                    let prepared = value.to_u64().wrapping_add(add) ^ flip;
                    let digit = ((prepared << left) as i64) >> right;
                    word |= ((digit as u64 & mask) as u32) << (parts.bits() * place as u32);
                }
                word
            }));
        }
    }
    words
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn multiply_add<const PLANES: usize, const COLUMNS: usize>(_: &[u32], _: &[u32], _: usize, _: &mut [u32]) {
    unreachable!("no key is packed without the instructions")
}

/// For each ciphertext of `sums` ([ciphertext][plane][column]), adds the products of its digits, `rows` words apart in `digits`, with `key`
/// ([group][plane][column]): bytes for sixteen columns, otherwise halves.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn multiply_add<const PLANES: usize, const COLUMNS: usize>(key: &[u32], digits: &[u32], rows: usize, sums: &mut [u32]) {
    let groups = key.len() / (PLANES * COLUMNS);
    let count = sums.len() / (PLANES * COLUMNS);
    assert!(count == 0 || digits.len() >= (count - 1) * rows + groups, "a digit word for each group of rows");
    // As many ciphertexts as keep their sums in registers: 24 of 32, or 12 of 16; 24 of 32 in NEON, where a sum needs two.
    let together = if COLUMNS == 16 { 24 } else { 12 } / PLANES;
    for first in (0..count).step_by(together) {
        let digits = digits[first * rows..].as_ptr();
        let sums = sums[first * PLANES * COLUMNS..].as_mut_ptr();
        let key = key.as_ptr();
        /// The products of `$count` ciphertexts.
        macro_rules! of {
            ($count:literal) => {
                match COLUMNS {
                    #[cfg(target_arch = "x86_64")]
                    16 => x86::multiply_add_bytes::<$count, PLANES>(key, groups, digits, rows, sums),
                    #[cfg(target_arch = "x86_64")]
                    _ => x86::multiply_add_halves::<$count, PLANES>(key, groups, digits, rows, sums),
                    #[cfg(target_arch = "aarch64")]
                    _ => neon::multiply_add_halves::<$count, PLANES>(key, groups, digits, rows, sums),
                }
            };
        }
        // SAFETY: a key is only packed if the instructions are present; the lengths were checked.
        unsafe {
            match (count - first).min(together) {
                1 => of!(1),
                2 => of!(2),
                3 => of!(3),
                4 => of!(4),
                5 => of!(5),
                _ => of!(6),
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// A function that multiplies for `B` ciphertexts.
    macro_rules! multiply_add {
        ($name:ident, $feature:literal, $columns:literal, $zero:ident, $load:ident, $store:ident, $splat:ident, |$sum:ident, $parts:ident, $digit:ident| $product:expr) => {
            /// Adds the products of `B` ciphertexts. SAFETY: the instructions are present; the key has `groups` groups, and each ciphertext has that many digit
            /// words, `rows` words after the previous ciphertext's, and its sums.
            #[target_feature(enable = $feature)]
            pub unsafe fn $name<const B: usize, const PLANES: usize>(
                key: *const u32,
                groups: usize,
                digits: *const u32,
                rows: usize,
                sums: *mut u32,
            ) {
                // SAFETY: this function's contract.
                unsafe {
                    let mut accumulators = [[$zero(); PLANES]; B];
                    for b in 0..B {
                        for plane in 0..PLANES {
                            accumulators[b][plane] = $load(sums.add((b * PLANES + plane) * $columns).cast());
                        }
                    }
                    for group in 0..groups {
                        for plane in 0..PLANES {
                            let $parts = $load(key.add((group * PLANES + plane) * $columns).cast());
                            for b in 0..B {
                                let $digit = $splat(*digits.add(b * rows + group) as i32);
                                let $sum = accumulators[b][plane];
                                accumulators[b][plane] = $product;
                            }
                        }
                    }
                    for b in 0..B {
                        for plane in 0..PLANES {
                            $store(sums.add((b * PLANES + plane) * $columns).cast(), accumulators[b][plane]);
                        }
                    }
                }
            }
        };
    }

    multiply_add!(
        multiply_add_bytes,
        "avx512f,avx512vnni",
        16,
        _mm512_setzero_si512,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_set1_epi32,
        |sum, bytes, digits| _mm512_dpbusd_epi32(sum, bytes, digits)
    );
    multiply_add!(
        multiply_add_halves,
        "avx2",
        8,
        _mm256_setzero_si256,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_set1_epi32,
        |sum, halves, digits| _mm256_add_epi32(sum, _mm256_madd_epi16(halves, digits))
    );
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    /// Adds the products of `B` ciphertexts. SAFETY: the set is present; the key has `groups` groups, and each ciphertext as many digit words from `rows`
    /// words after the last's, and its sums.
    #[target_feature(enable = "neon")]
    pub unsafe fn multiply_add_halves<const B: usize, const PLANES: usize>(
        key: *const u32,
        groups: usize,
        digits: *const u32,
        rows: usize,
        sums: *mut u32,
    ) {
        const COLUMNS: usize = 8;
        // SAFETY: this function's contract.
        unsafe {
            let mut accumulators = [[[vdupq_n_s32(0); 2]; PLANES]; B];
            for (b, planes) in accumulators.iter_mut().enumerate() {
                for (plane, [lower, upper]) in planes.iter_mut().enumerate() {
                    let sums = sums.add((b * PLANES + plane) * COLUMNS).cast::<i32>();
                    (*lower, *upper) = (vld1q_s32(sums), vld1q_s32(sums.add(4)));
                }
            }
            for group in 0..groups {
                for plane in 0..PLANES {
                    let key = key.add((group * PLANES + plane) * COLUMNS).cast::<i16>();
                    let (lower, upper) = (vld1q_s16(key), vld1q_s16(key.add(8)));
                    // The columns of the group's first row, and of its second.
                    let (first, second) = (vuzp1q_s16(lower, upper), vuzp2q_s16(lower, upper));
                    for (b, planes) in accumulators.iter_mut().enumerate() {
                        let digits = *digits.add(b * rows + group);
                        let [lower, upper] = &mut planes[plane];
                        for (row, digit) in [(first, digits as i16), (second, (digits >> 16) as i16)] {
                            *lower = vmlal_n_s16(*lower, vget_low_s16(row), digit);
                            *upper = vmlal_high_n_s16(*upper, row, digit);
                        }
                    }
                }
            }
            for (b, planes) in accumulators.iter().enumerate() {
                for (plane, &[lower, upper]) in planes.iter().enumerate() {
                    let sums = sums.add((b * PLANES + plane) * COLUMNS).cast::<i32>();
                    vst1q_s32(sums, lower);
                    vst1q_s32(sums.add(4), upper);
                }
            }
        }
    }
}
