//! What a program on residue polynomials takes of a card at best: an estimate from what its kernels read, write and multiply. A bootstrapping of
//! 2^15 slots takes twice as long on an H200 (docs/gpu.md): its launches do not all fill the card, and its transforms wait for factors.

use super::Needs;
use crate::gpu::Card;

/// 32-bit products of a product of two words: of their halves with one another.
const OF_A_PRODUCT: f64 = 4.0;
/// Those of a butterfly (`times_lazy` of `kernels/residues.h`): of a whole product the upper word, and of two the lower one, which lacks that of the upper halves.
const OF_A_BUTTERFLY: f64 = 4.0 + 2.0 * 3.0;

impl Card {
    /// Seconds that a run takes at least unless caches spare reads: of memory or of products alone, the longer; of launches nothing.
    pub fn seconds(&self, needs: &Needs) -> f64 {
        let products = needs.butterflies as f64 * OF_A_BUTTERFLY + needs.products as f64 * OF_A_PRODUCT;
        (needs.moved_bytes as f64 / self.memory_rate).max(products / self.multiply_rate)
    }
}

#[cfg(test)]
mod tests {
    //! Is the estimate what the longer of both takes?

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
