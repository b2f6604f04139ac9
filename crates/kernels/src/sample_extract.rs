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
