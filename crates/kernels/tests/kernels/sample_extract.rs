//! Does the extracted ciphertext have the phase of its coefficient?
use crate::random::{LARGEST_LOG2, digit_vector, torus_vector};
use polyfabric_kernels::negacyclic::multiply_reference;
use polyfabric_kernels::sample_extract::*;

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
        let product = (0..dimension * degree).fold(0u32, |sum, i| sum.wrapping_add(lwe[i].wrapping_mul(key[i] as u32)));
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
