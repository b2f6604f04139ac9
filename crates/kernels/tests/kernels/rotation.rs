//! Does a rotation by blocks move and negate as defined?
use crate::random::{LARGEST_LOG2, torus_vector};
use polyfabric_kernels::rotation::*;

#[test]
fn blocks_equal_the_definition() {
    for log2_degree in 4..=LARGEST_LOG2 {
        let degree = 1usize << log2_degree;
        let polynomial = torus_vector::<u32>(degree, 7 + log2_degree);
        for exponent in [0, 1, 7, degree / 2, degree - 1, degree, degree + 3, 2 * degree - 1] {
            let expected = rotate_reference(&polynomial, exponent);
            let mut rotated = vec![0; degree];
            rotate(&polynomial, exponent, &mut rotated);
            assert_eq!(rotated, expected, "N {degree}, exponent {exponent}");
            rotate_subtract(&polynomial, exponent, &mut rotated);
            for c in 0..degree {
                assert_eq!(rotated[c], expected[c].wrapping_sub(polynomial[c]));
            }
        }
    }
}

#[test]
fn a_full_turn_is_the_identity_and_half_a_turn_negates() {
    let polynomial = torus_vector::<u64>(256, 3);
    let mut rotated = vec![0; 256];
    rotate(&polynomial, 512, &mut rotated);
    assert_eq!(rotated, polynomial);
    rotate(&polynomial, 256, &mut rotated);
    assert!(rotated.iter().zip(&polynomial).all(|(r, p)| *r == p.wrapping_neg()));
}
