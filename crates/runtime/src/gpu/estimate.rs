//! What a bootstrap takes of a card at best: a bound from its multiply-adds of doubles, not a measurement.

use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};

/// A card by its maker's figures.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// Its name.
    pub name: &'static str,
    /// Shared memory that a block can have, in bytes.
    pub shared_bytes: usize,
    /// Multiply-adds of doubles of the whole card, a second.
    pub multiply_adds: f64,
    /// Bytes that its memory gives or takes, a second.
    pub memory_rate: f64,
    /// Products of 32 bits, each added to something, a second.
    pub multiply_rate: f64,
}

impl Card {
    /// NVIDIA's H200: 4.8 TB/s, 34 TFLOPS of f64 without tensor cores and 67 of f32 (H200 Tensor Core GPU data sheet), which are two a multiply-add; of
    /// integers it does half as many in a cycle as of f32, and a block can have 227 KiB (CUDA C++ Programming Guide, tables of compute capability 9.0).
    pub const H200: Self = Self {
        name: "H200",
        shared_bytes: 227 << 10,
        multiply_adds: 34e12 / 2.0,
        memory_rate: 4.8e12,
        multiply_rate: 67e12 / 2.0 / 2.0,
    };
}

/// Multiply-adds of doubles of one bootstrap of `set` with a key of `unrolling`, one or two bits an iteration, in the kernels' way: 6 a butterfly forwards and
/// 8 back, 4 a product, 1 for each coefficient's way to and from the transform; with two key bits at once three products a point of the key, and 15 for each row's
/// factors, which are two powers of X, their product, and 1 off each. Twiddle factors are not counted, nor that neighbouring points share a row's.
pub fn multiply_adds(set: &Parameters, unrolling: KeyUnrolling) -> usize {
    let points = set.ring_degree().get() / 2;
    let butterflies = points / 2 * points.ilog2() as usize;
    let columns = set.glwe_dimension().get() + 1;
    let rows = set.ggsw_rows();
    let transforms = rows * (6 * butterflies + 2 * points) + columns * (8 * butterflies + 2 * points);
    let products = if unrolling == KeyUnrolling::ONE { 4 * columns } else { 15 + 16 * columns };
    unrolling.iterations(set.lwe_dimension()) * (transforms + rows * products * points)
}

#[cfg(test)]
mod tests {
    //! Is the count what the kernels' loops come to?

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
