//! Sample extraction: the LWE ciphertext of one coefficient of a GLWE ciphertext.
//!
//! For coefficient h, under the flattened key s'_{jN + c} = `S_j[c]`:
//! `a'_{jN + c} = A_j[h − c]` for c ≤ h and `−A_j[N + h − c]` above; `b' = B[h]`.

use crate::torus::Torus;

/// Extracts coefficient `index` of `glwe` ((k + 1) · N elements) by the formula. Returns k·N + 1 elements.
pub fn sample_extract_reference<T: Torus>(glwe: &[T], degree: usize, index: usize) -> Vec<T> {
    let dimension = glwe.len() / degree - 1;
    let mut lwe = Vec::with_capacity(dimension * degree + 1);
    for mask in glwe[..dimension * degree].chunks_exact(degree) {
        for c in 0..degree {
            lwe.push(if c <= index { mask[index - c] } else { mask[degree + index - c].wrapping_neg() });
        }
    }
    lwe.push(glwe[dimension * degree + index]);
    lwe
}

/// Extracts coefficient `index` of `glwe` ((k + 1) · N elements) into `lwe` (k·N + 1 elements).
pub fn sample_extract<T: Torus>(glwe: &[T], degree: usize, index: usize, lwe: &mut [T]) {
    let masks = glwe.len() - degree;
    assert_eq!(lwe.len(), masks + 1, "the extracted ciphertext has k·N + 1 elements");
    for (out, mask) in lwe.chunks_exact_mut(degree).zip(glwe[..masks].chunks_exact(degree)) {
        let (below, above) = mask.split_at(index + 1);
        let (same, negated) = out.split_at_mut(index + 1);
        for (o, &m) in same.iter_mut().zip(below.iter().rev()) {
            *o = m;
        }
        for (o, &m) in negated.iter_mut().zip(above.iter().rev()) {
            *o = m.wrapping_neg();
        }
    }
    lwe[masks] = glwe[masks + index];
}

#[cfg(test)]
mod tests {
    //! Does the extracted ciphertext have the phase of its coefficient?
    use super::*;
    use crate::negacyclic::multiply_reference;
    use crate::random::{LARGEST_LOG2, digit_vector, torus_vector};

    #[test]
    fn the_phase_is_the_coefficient_of_the_glwe_phase() {
        let (degree, dimension) = (if cfg!(miri) { 32 } else { 256 }, 2);
        let glwe = torus_vector::<u32>((dimension + 1) * degree, 5);
        let key: Vec<i32> = digit_vector(dimension * degree, 1, 6).iter().map(|d| d & 1).collect();
        let mut phase = glwe[dimension * degree..].to_vec();
        for j in 0..dimension {
            let range = j * degree..(j + 1) * degree;
            for (p, m) in phase.iter_mut().zip(multiply_reference(&key[range.clone()], &glwe[range])) {
                *p = p.wrapping_sub(m);
            }
        }
        for index in [0, 1, degree / 2 - 3, degree - 1] {
            let lwe = sample_extract_reference(&glwe, degree, index);
            let product =
                (0..dimension * degree).fold(0u32, |sum, i| sum.wrapping_add(lwe[i].wrapping_mul(key[i] as u32)));
            assert_eq!(lwe[dimension * degree].wrapping_sub(product), phase[index]);
        }
    }

    #[test]
    fn the_fast_form_equals_the_formula() {
        for log2_degree in 4..=LARGEST_LOG2 {
            let degree = 1 << log2_degree;
            let glwe = torus_vector::<u64>(3 * degree, log2_degree);
            let mut lwe = vec![0; 2 * degree + 1];
            for index in [0, 1, 7, degree - 1] {
                sample_extract(&glwe, degree, index, &mut lwe);
                assert_eq!(lwe, sample_extract_reference(&glwe, degree, index));
            }
        }
    }
}
