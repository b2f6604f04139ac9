//! LWE key switch: from the k·N-dimensional flattened GLWE key to the n-dimensional key.
//!
//! KS(c') = (0, .., 0, b') − Σ_{i,t} digit_t(a'_i) · KSK(i, t), KSK(i, t) = LWE_n(s'_i · q / β^(t+1)),
//! stored as `[i][t][n + 1]`.

use crate::decompose::{Gadget, decompose_scalar};
use crate::torus::Torus;

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

/// Ciphertexts of the batch whose outputs are kept together while rows of the key pass.
const CIPHERTEXTS: usize = 8;
/// Rows of the key that one block of ciphertexts consumes before the next block does.
const ROWS: usize = 64;

/// Switches a batch as one blocked integer matrix product: digits (count × k·N·l) times key
/// (k·N·l × (n + 1)). `inputs` is count × (k·N + 1), `outputs` count × (n + 1).
pub fn key_switch<T: Torus>(
    inputs: &[T],
    input_dimension: usize,
    key: &[T],
    gadget: Gadget,
    lwe_dimension: usize,
    outputs: &mut [T],
) {
    let (input_size, size) = (input_dimension + 1, lwe_dimension + 1);
    let levels = gadget.levels as usize;
    let count = inputs.len() / input_size;
    assert_eq!(inputs.len(), count * input_size, "whole input ciphertexts");
    assert_eq!(outputs.len(), count * size, "one output for each input");
    assert_eq!(key.len(), input_dimension * levels * size, "k·N·l rows of n + 1 elements");
    for (input, output) in inputs.chunks_exact(input_size).zip(outputs.chunks_exact_mut(size)) {
        output.fill(T::default());
        output[lwe_dimension] = input[input_dimension];
    }
    let coefficients = (ROWS / levels).max(1);
    let mut digits = vec![0i32; CIPHERTEXTS * coefficients * levels];
    for first in (0..input_dimension).step_by(coefficients) {
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
                subtract_rows(output, digits, block);
            }
        }
    }
}

/// `output` −= Σ_r digits[r] · row r, four rows at a pass so that the output is loaded once for four.
fn subtract_rows<T: Torus>(output: &mut [T], digits: &[i32], rows: &[T]) {
    let size = output.len();
    let mut fours = digits.chunks_exact(4);
    for (four, rows) in (&mut fours).zip(rows.chunks_exact(4 * size)) {
        let (d0, d1, d2, d3) = (i64::from(four[0]), i64::from(four[1]), i64::from(four[2]), i64::from(four[3]));
        let (r0, rest) = rows.split_at(size);
        let (r1, rest) = rest.split_at(size);
        let (r2, r3) = rest.split_at(size);
        for ((((o, &a), &b), &c), &d) in output.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
            let low = a.wrapping_mul_signed(d0).wrapping_add(b.wrapping_mul_signed(d1));
            let high = c.wrapping_mul_signed(d2).wrapping_add(d.wrapping_mul_signed(d3));
            *o = o.wrapping_sub(low.wrapping_add(high));
        }
    }
    let done = digits.len() / 4 * 4;
    for (&digit, row) in fours.remainder().iter().zip(rows[done * size..].chunks_exact(size)) {
        for (o, &r) in output.iter_mut().zip(row) {
            *o = o.wrapping_sub(r.wrapping_mul_signed(i64::from(digit)));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Is the blocked matrix product the key switch, for every block remainder?
    use super::*;
    use crate::random::torus_vector;

    fn check<T: Torus>(input_dimension: usize, lwe_dimension: usize, gadget: Gadget, count: usize) {
        let levels = gadget.levels as usize;
        let inputs = torus_vector::<T>(count * (input_dimension + 1), 1);
        let key = torus_vector::<T>(input_dimension * levels * (lwe_dimension + 1), 2);
        let mut outputs = vec![T::from_u64(9); count * (lwe_dimension + 1)];
        key_switch(&inputs, input_dimension, &key, gadget, lwe_dimension, &mut outputs);
        for c in 0..count {
            let input = &inputs[c * (input_dimension + 1)..][..input_dimension + 1];
            assert_eq!(
                outputs[c * (lwe_dimension + 1)..][..lwe_dimension + 1],
                key_switch_reference(input, &key, gadget, lwe_dimension),
                "ciphertext {c} of {count}, {gadget:?}"
            );
        }
    }

    #[test]
    fn the_matrix_product_equals_the_rows() {
        for count in [1, 2, 7, 8, 9, 17] {
            check::<u32>(256, 61, Gadget { log2_base: 2, levels: 8 }, count);
            check::<u32>(100, 33, Gadget { log2_base: 2, levels: 5 }, count);
            check::<u64>(130, 47, Gadget { log2_base: 3, levels: 5 }, count);
        }
        check::<u32>(1024, 500, Gadget { log2_base: 2, levels: 8 }, 3);
        check::<u64>(2048, 742, Gadget { log2_base: 3, levels: 5 }, 2);
    }
}
