//! Lower bound on the time of a bootstrap on a card, from its multiply-adds of doubles; not a measurement.

use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};

/// A card by its manufacturer's figures.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    pub name: &'static str,
    /// Maximum shared memory of a block, in bytes.
    pub shared_bytes: usize,
    /// Double-precision multiply-adds of the whole card per second.
    pub multiply_adds: f64,
    /// Memory bandwidth in bytes per second.
    pub memory_rate: f64,
    /// 32-bit multiply-adds of integers per second.
    pub multiply_rate: f64,
}

impl Card {
    /// NVIDIA's H200: 4.8 TB/s, 34 TFLOPS of f64 without tensor cores and 67 of f32 (H200 Tensor Core GPU data sheet), counting two per multiply-add. Integer
    /// throughput is half that of f32, and a block can have 227 KiB (CUDA C++ Programming Guide, tables of compute capability 9.0).
    pub const H200: Self = Self {
        name: "H200",
        shared_bytes: 227 << 10,
        multiply_adds: 34e12 / 2.0,
        memory_rate: 4.8e12,
        multiply_rate: 67e12 / 2.0 / 2.0,
    };
}

/// Double-precision multiply-adds of one bootstrap of `set` with a key of `unrolling`, as the kernels compute it: 6 per forward
/// butterfly and 8 per inverse one, 4 per product, 1 for each coefficient's conversion to and from the transform. With several key bits: a product per
/// point and pattern of the key, and 5 for each row and pattern, a power of X and 1 subtracted from it. Ignores twiddle factors and the sharing of a
/// row's factors between neighbouring points.
pub fn multiply_adds(set: &Parameters, unrolling: KeyUnrolling) -> usize {
    let points = set.ring_degree().get() / 2;
    let butterflies = points / 2 * points.ilog2() as usize;
    let columns = set.glwe_dimension().get() + 1;
    let rows = set.ggsw_rows();
    let transforms = rows * (6 * butterflies + 2 * points) + columns * (8 * butterflies + 2 * points);
    let patterns = unrolling.patterns();
    let products = if patterns == 1 { 4 * columns } else { 5 * patterns + 4 * (patterns + 1) * columns };
    unrolling.iterations(set.lwe_dimension()) * (transforms + rows * products * points)
}

#[cfg(test)]
mod tests {
    //! Does the count match the kernels' loops?

    use super::*;
    use polyfabric_schemes::tfhe::sets;

    #[test]
    fn multiply_adds_are_those_of_set_i_by_hand() {
        // n = 500, N = 1024, k = 1, l = 2: 512 points, nine levels of 256 butterflies; four rows of two columns.
        let set = Parameters::check(sets::literal("morphling-I").unwrap()).unwrap();
        let (forward, back) = (9 * 256 * 6 + 1024, 9 * 256 * 8 + 1024);
        let plain = 500 * (4 * forward + 2 * back + 4 * 2 * 512 * 4);
        assert_eq!(multiply_adds(&set, KeyUnrolling::ONE), plain);
        let unrolled = 250 * (4 * forward + 2 * back + 4 * 512 * (2 * (4 + 3 * 4) + 15));
        assert_eq!(multiply_adds(&set, KeyUnrolling::TWO), unrolled);
    }
}
