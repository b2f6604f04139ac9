//! Lower bound on the time of a CKKS or BGV program on a card, from the kernels' reads, writes and products. A bootstrapping of 2^15 slots takes twice as long on an H200
//! (docs/gpu.md): not all launches fill the card, and transforms wait for factors.

use super::Needs;
use crate::gpu::Card;

/// 32-bit products per word product.
const OF_A_PRODUCT: f64 = 4.0;
/// 32-bit products per butterfly (`times_lazy` of `kernels/residues.h`): one upper word, and two lower words without the product of the upper halves.
const OF_A_BUTTERFLY: f64 = 4.0 + 2.0 * 3.0;

impl Card {
    /// Minimum seconds of a run unless caches avoid reads: the longer of memory and products; launches are ignored.
    pub fn seconds(&self, needs: &Needs) -> f64 {
        let products = needs.butterflies as f64 * OF_A_BUTTERFLY + needs.products as f64 * OF_A_PRODUCT;
        (needs.moved_bytes as f64 / self.memory_rate).max(products / self.multiply_rate)
    }
}

#[cfg(test)]
mod tests {
    //! Is the estimate the longer of the two?

    use super::*;

    #[test]
    fn the_longer_of_both_counts() {
        let reading = Needs { moved_bytes: 48_000_000_000, products: 1, ..Needs::default() };
        assert!((Card::H200.seconds(&reading) - 0.01).abs() < 1e-12);
        // 150 + 17.5 thousand million products at 16.75 million million a second.
        let multiplying =
            Needs { butterflies: 15_000_000_000, products: 4_375_000_000, moved_bytes: 8, ..Needs::default() };
        assert!((Card::H200.seconds(&multiplying) - 0.01).abs() < 1e-12);
    }
}
