//! Does the fused step equal the exact external product within the proven bound, on every instruction set?
use crate::random::torus_vector;
use polyfabric_kernels::Gadget;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::Torus;
use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_kernels::decompose::decompose_level;
use polyfabric_kernels::external_product::*;
use polyfabric_kernels::fft::{error_deviation, key_error_deviation};
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_kernels::rotation::rotate_subtract;

fn exact<T: Torus>(degree: RingDegree, gadget: Gadget, ggsw: &[T], exponent: usize, accumulator: &mut [T]) {
    let n = degree.get();
    let columns = accumulator.len() / n;
    let multiplier = ExactMultiplier::new(degree);
    let before = accumulator.to_vec();
    let (mut lambda, mut digits) = (vec![T::default(); n], vec![0; n]);
    for (j, polynomial) in before.chunks_exact(n).enumerate() {
        rotate_subtract(polynomial, exponent, &mut lambda);
        for t in 0..gadget.levels {
            decompose_level(&lambda, gadget, t, &mut digits);
            let row = j * gadget.levels as usize + t as usize;
            for (c, sum) in accumulator.chunks_exact_mut(n).enumerate() {
                multiplier.multiply_add(&digits, &ggsw[(row * columns + c) * n..][..n], sum);
            }
        }
    }
}

fn check<T: Torus>(log2_degree: u32, k: usize, gadget: Gadget) {
    check_exponents::<T>(log2_degree, k, gadget, [0, 1, 333, (1 << log2_degree) + 8]);
}

fn check_exponents<T: Torus>(log2_degree: u32, k: usize, gadget: Gadget, exponents: impl IntoIterator<Item = usize>) {
    let degree = RingDegree::new(1 << log2_degree).unwrap();
    let ggsw = torus_vector::<T>(ExternalProduct::<T>::new(degree, gadget, k, None).unwrap().ggsw_len(), 1);
    let mut kinds: Vec<_> = ExternalProduct::<T>::kinds(degree, gadget, k)
        .map(|(product, kind)| {
            let mut key = AlignedVector::zeros(product.key_len(false));
            product.transform_key(&ggsw, false, &mut key);
            let workspace = product.workspace();
            (product, kind, key, workspace)
        })
        .collect();
    let start = torus_vector::<T>((k + 1) * degree.get(), 2);
    for exponent in exponents {
        let mut expected = start.clone();
        exact(degree, gadget, &ggsw, exponent, &mut expected);
        for (product, kind, key, workspace) in &mut kinds {
            let mut fused = start.clone();
            product.rotate_multiply_add(key, &[], exponent, &mut fused, None, workspace);
            let largest =
                fused.iter().zip(&expected).map(|(a, b)| a.wrapping_sub(*b).to_i64().unsigned_abs()).max().unwrap();
            let bound = product.error_bound();
            assert!(
                largest as f64 <= bound,
                "N 2^{log2_degree} k {k} {gadget:?} {kind} exponent {exponent}: {largest} > {bound}"
            );
            let base = 2f64.powi(gadget.log2_base as i32);
            let of_key = key_error_deviation(degree, base, product.rows(), T::BITS);
            let usual = error_deviation(degree, base, product.rows(), T::BITS).hypot(of_key);
            assert!(
                largest as f64 <= 8.0 * usual + product.rounding_unit(),
                "{largest} is far above the usual {usual}"
            );
        }
    }
}

/// Σ_u (X^{e_u} − 1) · (key_u ⊡ ACC), from exact products.
fn check_patterns<T: Torus>(log2_degree: u32, k: usize, gadget: Gadget, exponents: &[u32]) {
    let degree = RingDegree::new(1 << log2_degree).unwrap();
    let n = degree.get();
    let kinds: Vec<_> = ExternalProduct::<T>::kinds(degree, gadget, k).collect();
    let length = kinds[0].0.ggsw_len();
    let ggsw = torus_vector::<T>(length * exponents.len(), 1);
    let start = torus_vector::<T>((k + 1) * n, 2);
    let mut expected = start.clone();
    let multiplier = ExactMultiplier::new(degree);
    let (mut digits, mut change) = (vec![0; n], vec![T::default(); n]);
    for (ggsw, &exponent) in ggsw.chunks_exact(length).zip(exponents) {
        let mut sums = vec![T::default(); (k + 1) * n];
        for (row, row_key) in ggsw.chunks_exact((k + 1) * n).enumerate() {
            let (j, level) = (row / gadget.levels as usize, row as u32 % gadget.levels);
            decompose_level(&start[j * n..][..n], gadget, level, &mut digits);
            for (sum, key) in sums.chunks_exact_mut(n).zip(row_key.chunks_exact(n)) {
                multiplier.multiply_add(&digits, key, sum);
            }
        }
        for (sum, expected) in sums.chunks_exact(n).zip(expected.chunks_exact_mut(n)) {
            rotate_subtract(sum, exponent as usize, &mut change);
            expected.iter_mut().zip(&change).for_each(|(out, change)| *out = out.wrapping_add(*change));
        }
    }
    for (product, kind) in &kinds {
        let mut keys = AlignedVector::zeros(product.key_len(false) * exponents.len());
        product.transform_key(&ggsw, false, &mut keys);
        let mut fused = start.clone();
        product.patterns_multiply_add(&keys, &[], exponents, &mut fused, None, &mut product.workspace());
        // A monomial minus one at most doubles each pattern's product, and has its own error.
        let rows = 2 * product.rows() * exponents.len() + 4;
        let bound = product.bound_of(rows);
        let difference = |(a, b): (&T, &T)| a.wrapping_sub(*b).to_i64().unsigned_abs();
        let largest = fused.iter().zip(&expected).map(difference).max().unwrap();
        assert!(largest as f64 <= bound, "N {n} k {k} {kind}: {largest} > {bound}");
    }
}

/// Chosen and regular exponents, for each of `patterns`.
fn check_lane_batch(log2_degree: u32, k: usize, gadget: Gadget, patterns: usize) {
    let period = 2 << log2_degree;
    let exponents: Vec<u32> = (0..(LANE_BATCH * patterns) as u32)
        .map(|j| (j * 301 + 5 * j * j) % period)
        .map(|exponent| [0, 16, period / 2, period - 1].get(exponent as usize % 7).copied().unwrap_or(exponent))
        .collect();
    check_lane_batch_at(log2_degree, k, gadget, &exponents);
}

/// Do eight ciphertexts in a batch get bit-identical results to single ones?
fn check_lane_batch_at(log2_degree: u32, k: usize, gadget: Gadget, exponents: &[u32]) {
    let patterns = exponents.len() / LANE_BATCH;
    let degree = RingDegree::new(1 << log2_degree).unwrap();
    let glwe = (k + 1) * degree.get();
    for (product, kind) in ExternalProduct::<u32>::kinds(degree, gadget, k) {
        let ggsw = torus_vector::<u32>(product.ggsw_len() * patterns, 1);
        let mut key = AlignedVector::zeros(product.key_len(false) * patterns);
        let mut key_together = AlignedVector::zeros(product.key_len(true) * patterns);
        product.transform_key(&ggsw, false, &mut key);
        product.transform_key(&ggsw, true, &mut key_together);
        let start = torus_vector::<u32>(LANE_BATCH * glwe, 2);
        for unrolled in [false, true] {
            if !unrolled && patterns > 1 {
                continue;
            }
            let (mut alone, mut together) = (start.clone(), start.clone());
            let mut workspace = product.workspace();
            for (accumulator, exponents) in alone.chunks_exact_mut(glwe).zip(exponents.chunks_exact(patterns)) {
                if unrolled {
                    product.patterns_multiply_add(&key, &[], exponents, accumulator, None, &mut workspace);
                } else {
                    let exponent = exponents[0] as usize;
                    product.rotate_multiply_add(&key, &[], exponent, accumulator, None, &mut workspace);
                }
            }
            let mut workspace = product.lane_batch_workspace().unwrap();
            product.lane_batch_multiply_add(&key_together, &[], exponents, unrolled, &mut together, &mut workspace);
            assert!(alone == together, "N 2^{log2_degree} k {k} {gadget:?} {patterns} patterns {kind}");
        }
    }
}

#[test]
fn batches_equal_single_ciphertexts() {
    check_lane_batch(8, 1, Gadget { log2_base: 8, levels: 2 }, 1);
    check_lane_batch(8, 1, Gadget { log2_base: 8, levels: 2 }, 3);
    check_lane_batch(9, 2, Gadget { log2_base: 8, levels: 2 }, 3);
    check_lane_batch(9, 3, Gadget { log2_base: 7, levels: 3 }, 1);
    check_lane_batch(10, 1, Gadget { log2_base: 10, levels: 2 }, 1);
    check_lane_batch(10, 2, Gadget { log2_base: 10, levels: 2 }, 15);
    check_lane_batch(11, 1, Gadget { log2_base: 8, levels: 3 }, 1);
    check_lane_batch(12, 1, Gadget { log2_base: 6, levels: 4 }, 1);
    check_lane_batch(14, 1, Gadget { log2_base: 15, levels: 2 }, 1);
}

/// Every exponent of a small ring: one wrong digit is an error of the size of the key, far above the bound.
#[test]
fn rotated_digits_are_the_digits_of_the_rotated_difference() {
    check_exponents::<u32>(6, 1, Gadget { log2_base: 10, levels: 2 }, 0..128);
    check_exponents::<u32>(6, 1, Gadget { log2_base: 7, levels: 3 }, 0..128);
    check_exponents::<u64>(6, 1, Gadget { log2_base: 23, levels: 1 }, 0..128);
    check_exponents::<u64>(6, 1, Gadget { log2_base: 8, levels: 4 }, 0..128);
}

/// Eight polynomials of few steps, each read from another position.
#[test]
fn eight_polynomials_are_read_rotated() {
    // Whole steps of sixteen words, a step across the boundary, the first and last place, and beyond X^N.
    let exponents = [0, 1, 16, 21, 255, 256, 273, 511];
    check_lane_batch_at(8, 1, Gadget { log2_base: 8, levels: 1 }, &exponents);
}

#[test]
fn patterns_equal_the_exact_products_within_the_bound() {
    check_patterns::<u32>(4, 1, Gadget { log2_base: 8, levels: 2 }, &[5, 31, 4]);
    check_patterns::<u32>(8, 1, Gadget { log2_base: 10, levels: 2 }, &[0, 300, 511]);
    check_patterns::<u32>(9, 2, Gadget { log2_base: 8, levels: 2 }, &[1, 1000, 1001]);
    check_patterns::<u64>(10, 1, Gadget { log2_base: 22, levels: 1 }, &(0..15).map(|u| 131 * u).collect::<Vec<_>>());
}

#[test]
fn equals_the_exact_product_within_the_bound() {
    for log2_degree in 8..=12 {
        check::<u32>(log2_degree, 1, Gadget { log2_base: 10, levels: 2 });
        check::<u64>(log2_degree, 1, Gadget { log2_base: 22, levels: 1 });
    }
    check::<u32>(14, 1, Gadget { log2_base: 15, levels: 2 });
    check::<u32>(16, 1, Gadget { log2_base: 16, levels: 2 });
    check::<u32>(9, 2, Gadget { log2_base: 8, levels: 2 });
    check::<u32>(9, 3, Gadget { log2_base: 7, levels: 3 });
    check::<u64>(10, 2, Gadget { log2_base: 8, levels: 4 });
    check::<u32>(8, 5, Gadget { log2_base: 10, levels: 1 });
}
