//! Is the fast product bit-exact, up to the largest rings and digits?
use crate::random::{digit_vector, torus_vector};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::Torus;
use polyfabric_kernels::internals::piece_bits;
use polyfabric_kernels::negacyclic::*;

fn check<T: Torus>(log2_degree: u32, bound: i32) {
    let degree = 1 << log2_degree;
    let digits = digit_vector(degree, bound, log2_degree);
    let polynomial = torus_vector::<T>(degree, 50 + log2_degree);
    let fast = ExactMultiplier::new(RingDegree::new(degree).unwrap()).multiply(&digits, &polynomial);
    assert!(fast == multiply_reference(&digits, &polynomial), "N {degree}, digits to {bound}");
}

#[test]
fn equals_the_definition() {
    for log2_degree in 4..=13 {
        check::<u32>(log2_degree, 512);
        check::<u64>(log2_degree, 1 << 22);
    }
    check::<u32>(16, 1 << 15);
    check::<u64>(14, i32::MAX);
}

#[test]
fn is_exact_for_the_worst_signs() {
    // All products of one sign give the largest coefficient within the bound.
    let digits = vec![-(1 << 22); 4096];
    let polynomial = vec![u64::MAX / 2; 4096];
    let fast = multiply_exact(&digits, &polynomial).unwrap();
    assert_eq!(fast, multiply_reference(&digits, &polynomial));
}

#[test]
fn falls_back_where_no_piece_is_small_enough() {
    assert_eq!(piece_bits(RingDegree::new(RingDegree::MAX).unwrap(), 2f64.powi(31)), None);
    assert_eq!(piece_bits(RingDegree::new(1024).unwrap(), 512.0), Some(23));
}
