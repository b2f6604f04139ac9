//! LWE key switch: from the k·N-dimensional flattened GLWE key to the n-dimensional key.
//!
//! KS(c') = (0, .., 0, b') − Σ_{i,t} digit_t(a'_i) · KSK(i, t), with KSK(i, t) = LWE_n(s'_i · q / β^(t+1)) stored as `[i][t][n + 1]`.
//!
//! For a single ciphertext reading the key is the bottleneck: it is read row by row, and only the rows of nonzero digits. A batch is a matrix
//! product of small digits with wide words. If the processor has vector products of small integers (AVX-512 VNNI bytes, 16 bits in AVX2 and
//! NEON), a second copy of the key is stored in such pieces (`packed`).

mod packed;

use crate::aligned::elements;
use crate::cancel;
use crate::decompose::{Gadget, decompose_scalar};
use crate::isa::Isa;
use crate::memory;
use crate::torus::Torus;
use packed::Packed;
use std::sync::{Arc, OnceLock};

/// Switches one ciphertext, `input` (k·N + 1 elements), row by row. Returns n + 1 elements.
pub fn key_switch_reference<T: Torus>(input: &[T], key: &[T], gadget: Gadget, lwe_dimension: usize) -> Vec<T> {
    let size = lwe_dimension + 1;
    let levels = gadget.levels as usize;
    let (mask, body) = input.split_at(input.len() - 1);
    let mut output = vec![T::default(); size];
    output[lwe_dimension] = body[0];
    let mut digits = vec![0; levels];
    for (i, &a) in mask.iter().enumerate() {
        decompose_scalar(a, gadget, &mut digits);
        for (t, &digit) in digits.iter().enumerate() {
            let row = &key[(i * levels + t) * size..][..size];
            for (o, &r) in output.iter_mut().zip(row) {
                *o = o.wrapping_sub(r.wrapping_mul_signed(i64::from(digit)));
            }
        }
    }
    output
}

/// The sizes of a key switch.
#[derive(Clone, Copy, Debug)]
struct Shape {
    gadget: Gadget,
    /// k·N.
    input_dimension: usize,
    /// n + 1.
    size: usize,
}

impl Shape {
    fn levels(self) -> usize {
        self.gadget.levels as usize
    }
}

/// A copy of a key-switching key in small pieces, where supported; shared by all [`KeySwitch`]es of that key. Made for the first batch; single
/// ciphertexts read the key itself.
#[derive(Debug, Default)]
pub struct PackedKey(OnceLock<Option<Packed>>);

impl PackedKey {
    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        self.0.get().and_then(Option::as_ref).map_or(0, Packed::bytes)
    }
}

/// A key-switching key for batches.
#[derive(Debug)]
pub struct KeySwitch<'k, T> {
    shape: Shape,
    key: &'k [T],
    isa: Isa,
    packed: Arc<PackedKey>,
}

impl<'k, T: Torus> KeySwitch<'k, T> {
    /// `key` has k·N·l rows of n + 1 elements, with k·N = `input_dimension` and n = `lwe_dimension`. If `isa` has small products, the first batch copies
    /// the key.
    ///
    /// # Panics
    /// If the key has another length, or the processor lacks `isa`.
    pub fn new(key: &'k [T], gadget: Gadget, input_dimension: usize, lwe_dimension: usize, isa: Isa) -> Self {
        assert!(isa.is_present(), "the processor has no {isa:?}");
        let shape = Shape { gadget, input_dimension, size: lwe_dimension + 1 };
        assert_eq!(key.len(), elements(&[input_dimension, shape.levels(), shape.size]), "k·N·l rows of n + 1 elements");
        Self { shape, key, isa, packed: Arc::default() }
    }

    /// Shares the copy `packed` of the same key and `isa` with other instances.
    #[must_use]
    pub fn sharing(self, packed: &Arc<PackedKey>) -> Self {
        Self { packed: Arc::clone(packed), ..self }
    }

    /// [`PackedKey::bytes`] after a batch; arguments as for [`Self::new`].
    pub fn bytes_of(gadget: Gadget, input_dimension: usize, lwe_dimension: usize, isa: Isa) -> u64 {
        Packed::bytes_of::<T>(Shape { gadget, input_dimension, size: lwe_dimension + 1 }, isa)
    }

    /// Switches a batch: `inputs` is count × (k·N + 1), `outputs` count × (n + 1).
    pub fn switch(&self, inputs: &[T], outputs: &mut [T]) {
        let Shape { input_dimension, size, .. } = self.shape;
        let count = inputs.len() / (input_dimension + 1);
        assert_eq!(inputs.len(), count * (input_dimension + 1), "whole input ciphertexts");
        assert_eq!(outputs.len(), count * size, "one output for each input");
        for (input, output) in inputs.chunks_exact(input_dimension + 1).zip(outputs.chunks_exact_mut(size)) {
            output.fill(T::default());
            output[size - 1] = input[input_dimension];
        }
        let cut = || Packed::new(self.key, self.shape, self.isa);
        let packed = if count > 1 { self.packed.0.get_or_init(cut).as_ref() } else { None };
        match packed {
            Some(packed) => packed.subtract(self.shape, inputs, outputs),
            None => subtract(self.isa, self.shape, self.key, inputs, outputs),
        }
    }
}

/// `outputs` −= digits of `inputs` · key, compiled for `isa`.
fn subtract<T: Torus>(isa: Isa, shape: Shape, key: &[T], inputs: &[T], outputs: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
        fn avx512<T: Torus>(shape: Shape, key: &[T], inputs: &[T], outputs: &mut [T]) {
            subtract_any(shape, key, inputs, outputs);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<T: Torus>(shape: Shape, key: &[T], inputs: &[T], outputs: &mut [T]) {
            subtract_any(shape, key, inputs, outputs);
        }
        match isa {
            // SAFETY: `new` checked that the processor has the set.
            Isa::Avx512 => return unsafe { avx512(shape, key, inputs, outputs) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(shape, key, inputs, outputs) },
            Isa::Neon | Isa::Portable => {}
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = isa;
    subtract_any(shape, key, inputs, outputs);
}

#[inline(always)]
fn subtract_any<T: Torus>(shape: Shape, key: &[T], inputs: &[T], outputs: &mut [T]) {
    if outputs.len() == shape.size {
        subtract_one(shape, key, inputs, outputs);
    } else {
        subtract_blocks(shape, key, inputs, outputs);
    }
}

/// A single ciphertext: the rows of its nonzero digits, four at a time. Each row is read once from memory. Hardware prefetching does not follow
/// across skipped rows, so later rows are prefetched explicitly.
#[inline(always)]
fn subtract_one<T: Torus>(shape: Shape, key: &[T], input: &[T], output: &mut [T]) {
    let Shape { gadget, input_dimension, size } = shape;
    let levels = shape.levels();
    let mut digits = vec![0; levels];
    let mut rows = vec![(0, 0); input_dimension * levels];
    let mut count = 0;
    for (i, a) in input[..input_dimension].iter().enumerate() {
        decompose_scalar(*a, gadget, &mut digits);
        for (level, &digit) in digits.iter().enumerate() {
            // Branch-free, because zero digits are unpredictable: the next row overwrites theirs.
            rows[count] = (digit, (i * levels + level) * size);
            count += usize::from(digit != 0);
        }
    }
    let rows = &rows[..count];
    let whole = count / AT_ONCE * AT_ONCE;
    let row = |(digit, at): (i32, usize)| (i64::from(digit), &key[at..][..size]);
    for (first, four) in rows[..whole].chunks_exact(AT_ONCE).enumerate() {
        let four = [row(four[0]), row(four[1]), row(four[2]), row(four[3])];
        match rows.get((first + AHEAD) * AT_ONCE..).and_then(|rows| rows.first_chunk::<AT_ONCE>()) {
            Some(ahead) => subtract_four_fetching(output, four, ahead.map(|(_, at)| key[at..].as_ptr())),
            None => subtract_four(output, four),
        }
    }
    for &last in &rows[whole..] {
        let (digit, row) = row(last);
        subtract_row(output, digit, row);
    }
}

/// Prefetch distance, in groups of four rows.
const AHEAD: usize = 2;

/// [`subtract_four`] with prefetching of the rows at `ahead` into the second-level cache, which supports more outstanding misses than the first-level
/// one.
#[inline(always)]
fn subtract_four_fetching<T: Torus>(output: &mut [T], rows: [(i64, &[T]); AT_ONCE], ahead: [*const T; AT_ONCE]) {
    // Two cache lines: shorter loops have more overhead.
    let step = 128 / size_of::<T>();
    for (index, output) in output.chunks_mut(step).enumerate() {
        let (start, end) = (index * step, index * step + output.len());
        for ahead in ahead {
            memory::fetch_line(ahead.wrapping_add(start));
            memory::fetch_line(ahead.wrapping_add(start + step / 2));
        }
        let [a, b, c, d] = rows;
        subtract_four(
            output,
            [(a.0, &a.1[start..end]), (b.0, &b.1[start..end]), (c.0, &c.1[start..end]), (d.0, &d.1[start..end])],
        );
    }
}

/// Rows per pass over the output.
const AT_ONCE: usize = 4;
/// Ciphertexts whose outputs stay cached while rows of the key pass.
const CIPHERTEXTS: usize = 8;
/// Rows of the key processed for one block of ciphertexts before the next block.
const ROWS: usize = 64;

/// A batch as a blocked integer matrix product: digits (count × k·N·l) times key (k·N·l × (n + 1)).
#[inline(always)]
fn subtract_blocks<T: Torus>(shape: Shape, key: &[T], inputs: &[T], outputs: &mut [T]) {
    let Shape { gadget, input_dimension, size } = shape;
    let (input_size, levels) = (input_dimension + 1, shape.levels());
    let coefficients = (ROWS / levels).max(1);
    let mut digits = vec![0i32; CIPHERTEXTS * coefficients * levels];
    for first in (0..input_dimension).step_by(coefficients) {
        cancel::check();
        let last = (first + coefficients).min(input_dimension);
        let rows = (last - first) * levels;
        let block = &key[first * levels * size..][..rows * size];
        for (batch, outputs) in outputs.chunks_mut(CIPHERTEXTS * size).enumerate() {
            let ciphertexts = outputs.len() / size;
            for c in 0..ciphertexts {
                let input = &inputs[(batch * CIPHERTEXTS + c) * input_size..];
                for (a, out) in input[first..last].iter().zip(digits[c * rows..].chunks_exact_mut(levels)) {
                    decompose_scalar(*a, gadget, out);
                }
            }
            for (output, digits) in outputs.chunks_exact_mut(size).zip(digits.chunks_exact(rows)) {
                let mut fours = digits.chunks_exact(AT_ONCE);
                let mut rows = block.chunks_exact(size);
                for four in &mut fours {
                    let mut next = |digit: i32| (i64::from(digit), rows.next().unwrap_or(&[]));
                    subtract_four(output, [next(four[0]), next(four[1]), next(four[2]), next(four[3])]);
                }
                for (&digit, row) in fours.remainder().iter().zip(rows) {
                    subtract_row(output, i64::from(digit), row);
                }
            }
        }
    }
}

/// `output` −= Σ digit · row, loading the output once for four rows.
#[inline(always)]
fn subtract_four<T: Torus>(output: &mut [T], [a, b, c, d]: [(i64, &[T]); AT_ONCE]) {
    for ((((o, &p), &q), &r), &s) in output.iter_mut().zip(a.1).zip(b.1).zip(c.1).zip(d.1) {
        let low = p.wrapping_mul_signed(a.0).wrapping_add(q.wrapping_mul_signed(b.0));
        let high = r.wrapping_mul_signed(c.0).wrapping_add(s.wrapping_mul_signed(d.0));
        *o = o.wrapping_sub(low.wrapping_add(high));
    }
}

#[inline(always)]
fn subtract_row<T: Torus>(output: &mut [T], digit: i64, row: &[T]) {
    for (o, &r) in output.iter_mut().zip(row) {
        *o = o.wrapping_sub(r.wrapping_mul_signed(digit));
    }
}
