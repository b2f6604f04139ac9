//! Are sums of products within the transform's proven bound of the definition?
use crate::random::torus_vector;
use polyfabric_kernels::fft::{FoldedFft, error_bound};
use polyfabric_kernels::row_product::*;
use polyfabric_kernels::{Gadget, RingDegree, Torus};

fn check<T: Torus>(log2_degree: u32, gadget: Gadget, columns: usize) {
    let degree = 1 << log2_degree;
    let ring = RingDegree::new(degree).unwrap();
    let polynomial = torus_vector::<T>(degree, log2_degree);
    let rows = torus_vector::<T>(gadget.levels as usize * columns * degree, 90 + log2_degree);
    let exact = multiply_rows_reference(gadget, &polynomial, &rows);
    let digit = 2f64.powi(gadget.log2_base as i32 - 1);
    let bound = error_bound(ring, digit, gadget.levels as usize, T::BITS) + 0.5;
    for (fft, kind) in FoldedFft::kinds(ring) {
        let product = RowProduct::new(fft);
        let mut spectra = vec![0.0; rows.len()];
        product.transform(&rows, &mut spectra);
        // Adds to what is there.
        let start = torus_vector::<T>(columns * degree, 7);
        let mut sum = start.clone();
        product.multiply_add(gadget, &polynomial, &spectra, &mut sum, &mut product.scratch(columns));
        let worst = sum
            .iter()
            .zip(&start)
            .zip(&exact)
            .map(|((&sum, &start), &exact)| sum.wrapping_sub(start).wrapping_sub(exact).to_i64().unsigned_abs());
        let worst = worst.max().unwrap() as f64;
        assert!(worst <= bound, "N {degree}, {gadget:?}, {kind}: {worst:e} of {bound:e}");
    }
}

#[test]
fn is_within_the_bound_of_the_definition() {
    for log2_degree in 8..=11 {
        check::<u32>(log2_degree, Gadget { log2_base: 8, levels: 2 }, 2);
        check::<u64>(log2_degree, Gadget { log2_base: 7, levels: 6 }, 2);
        check::<u64>(log2_degree, Gadget { log2_base: 15, levels: 1 }, 3);
    }
}
