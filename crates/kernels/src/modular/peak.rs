//! The processor's peak rate of word products, for comparison in benchmarks.

use std::hint::black_box;

/// Word products per round of [`word_products`]: sixteen independent chains of eight lanes, each of length eight.
pub const PRODUCTS_PER_ROUND: usize = 16 * 8 * 8;

/// Performs `rounds` times [`PRODUCTS_PER_ROUND`] IFMA products at the processor's peak rate. Returns `false` without IFMA.
pub fn word_products(rounds: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if crate::isa::multiplies_words() {
        // SAFETY: the set is present.
        unsafe { chains(rounds) };
        return true;
    }
    black_box(rounds);
    false
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512ifma")]
fn chains(rounds: usize) {
    use std::arch::x86_64::*;
    let factor = _mm512_set1_epi64(black_box(3));
    let mut sums = [factor; 16];
    for _ in 0..rounds {
        for _ in 0..8 {
            for sum in &mut sums {
                *sum = _mm512_madd52lo_epu64(*sum, factor, factor);
            }
        }
    }
    black_box(sums);
}
