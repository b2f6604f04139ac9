//! Key unrolling: several secret bits per iteration of a blind rotation.
//!
//! The n bits of the small key are cut into groups of m; the last may be smaller. For a group with bits s and mask indices a~,
//! X^⟨a~,s⟩ = 1 + Σ_u (X^⟨a~,u⟩ − 1) · [s = u] over the nonzero patterns u. The bootstrapping key has GGSW([s = u]) for each:
//! 2^m − 1 ciphertexts instead of m, for 1/m of the iterations (Zhou et al., "Faster bootstrapping with multiple addends", IEEE Access
//! 2018; Bourse et al., CRYPTO 2018, for m = 2). A group of a block-binary key has no patterns with two bits ([`Secret`]).

use thiserror::Error;

use super::dimension::LweDimension;
use super::secret::Secret;

/// The secret bits that one iteration consumes, and the patterns that they take: 1, 2 or 4 bits in any pattern, or a block of a block-binary
/// key, of which at most one bit is 1.
///
/// A block of l bits has the l patterns of a single 1, so the bootstrapping key has one ciphertext per bit, as without unrolling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyUnrolling {
    bits: u32,
    /// Whether at most one of the bits is 1.
    single: bool,
}

/// An unsupported number of secret bits per iteration.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum UnrollingError {
    #[error(
        "key unrolling {0} is not available; keys are made for 1, 2 or 4 secret bits per iteration, so choose one of these"
    )]
    Bits(u32),
    #[error(
        "key unrolling {bits} is not available for a block-binary key with blocks of {block}; leave the unrolling out for {block} secret bits per iteration, or give 1"
    )]
    Block { bits: u32, block: u32 },
}

impl KeyUnrolling {
    /// One bit per iteration: the smallest key.
    pub const ONE: Self = Self { bits: 1, single: false };
    /// Two bits: half the iterations, 1.5 times the bootstrapping key.
    pub const TWO: Self = Self { bits: 2, single: false };
    /// Four bits: a quarter of the iterations, 3.75 times the bootstrapping key.
    pub const FOUR: Self = Self { bits: 4, single: false };

    /// The fewest iterations for keys of `secret` without a larger key: one block, or one uniform bit, each.
    pub fn of(secret: Secret) -> Self {
        Self { bits: secret.block(), single: !secret.is_binary() }
    }

    /// `bits` secret bits per iteration of a key of `secret`; by default [`Self::of`] it.
    ///
    /// # Errors
    /// [`UnrollingError`] unless `bits` is 1, the bits of a block, or for uniform bits 2 or 4.
    pub fn new(bits: Option<u32>, secret: Secret) -> Result<Self, UnrollingError> {
        let own = Self::of(secret);
        match bits {
            None => Ok(own),
            Some(1) => Ok(Self::ONE),
            Some(bits) if bits == own.bits => Ok(own),
            Some(bits) if own.single => Err(UnrollingError::Block { bits, block: own.bits }),
            Some(bits @ (2 | 4)) => Ok(Self { bits, single: false }),
            Some(bits) => Err(UnrollingError::Bits(bits)),
        }
    }

    /// m.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Whether at most one bit of a group is 1.
    pub fn is_block(self) -> bool {
        self.single
    }

    /// Number of nonzero patterns of a whole group: 2^m − 1, or m.
    pub fn patterns(self) -> usize {
        self.patterns_of(self.bits as usize)
    }

    pub(crate) fn patterns_of(self, bits: usize) -> usize {
        if self.single { bits } else { (1 << bits) - 1 }
    }

    /// The nonzero patterns of a whole group, in the key's order. Bit j of one stands for secret bit i·m + j.
    pub fn masks(self) -> impl Iterator<Item = u32> {
        (0..self.patterns() as u32).map(move |index| if self.single { 1 << index } else { index + 1 })
    }

    /// Groups of n bits, ⌈n/m⌉: iterations of a blind rotation.
    pub fn iterations(self, dimension: LweDimension) -> usize {
        dimension.get().div_ceil(self.bits as usize)
    }

    /// GGSW ciphertexts of a bootstrapping key: one per pattern of each group.
    pub fn ggsw_ciphertexts(self, dimension: LweDimension) -> usize {
        let (whole, rest) = self.groups_of(dimension.get());
        whole * self.patterns() + self.patterns_of(rest as usize)
    }

    /// Of n bits, the number of whole groups, and bits of the smaller last one (0 if none).
    pub(crate) fn groups_of(self, dimension: usize) -> (usize, u32) {
        let bits = self.bits as usize;
        (dimension / bits, (dimension % bits) as u32)
    }

    /// Maximum number of groups spanned by the last `bits` bits of the key.
    pub(crate) fn groups_within(self, bits: usize) -> usize {
        let groups = bits.div_ceil(self.bits as usize);
        // Blocks and single bits end where the key does; another last group may be smaller.
        if self.single || self == Self::ONE { groups } else { groups + 1 }
    }

    /// The first GGSW ciphertext of the last group with a set bit: no later iteration rotates the iterations from there on.
    pub(crate) fn first_unturned(self, selectors: &[u8]) -> usize {
        // Reads all selectors without a branch, because they are secret.
        let chosen =
            |last: usize, (at, &selector): (usize, &u8)| last ^ ((last ^ at) & usize::from(selector).wrapping_neg());
        let last = selectors.iter().enumerate().fold(0, chosen);
        last - last % self.patterns()
    }

    /// Messages of the GGSW ciphertexts, in the key's order: [s = u] for each pattern u of each group.
    pub(crate) fn selectors(self, secret: &[u8]) -> Vec<u8> {
        if self.single {
            return secret.to_vec();
        }
        let groups = secret.chunks(self.bits as usize);
        // Reserves all bytes at once: a reallocation would leave bits unwiped.
        let mut selectors = Vec::with_capacity(groups.map(|group| self.patterns_of(group.len())).sum());
        for group in secret.chunks(self.bits as usize) {
            let pattern = group.iter().rev().fold(0usize, |pattern, &bit| pattern << 1 | usize::from(bit));
            selectors.extend((1..1usize << group.len()).map(|u| u8::from(u == pattern)));
        }
        selectors
    }
}

impl std::fmt::Display for KeyUnrolling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bits.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    //! Do the selectors match each group's pattern, and are sizes right for any n?
    use super::*;

    #[test]
    fn selectors() {
        assert_eq!(KeyUnrolling::ONE.selectors(&[1, 0, 1]), [1, 0, 1]);
        // Patterns 1 (s = 1, 0), 0, then the last group's single bit.
        assert_eq!(KeyUnrolling::TWO.selectors(&[1, 0, 0, 0, 1]), [1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(KeyUnrolling::TWO.first_unturned(&[1, 0, 0, 0, 1, 0, 0, 0, 0]), 3);
        assert_eq!([KeyUnrolling::ONE.first_unturned(&[1, 0, 1]), KeyUnrolling::ONE.first_unturned(&[0, 0])], [2, 0]);
        let four = KeyUnrolling::FOUR.selectors(&[0, 1, 1, 0, 1, 1]);
        assert_eq!(four.iter().map(|&selector| usize::from(selector)).sum::<usize>(), 2);
        assert_eq!((four[0b0110 - 1], four[15 + 0b11 - 1]), (1, 1));
        for (secret, one, two) in [([1, 0, 1, 0, 0], 2, 3), ([0, 1, 0, 0, 0], 1, 0), ([1, 1, 0, 0, 1], 4, 6)] {
            assert_eq!(KeyUnrolling::ONE.first_unturned(&KeyUnrolling::ONE.selectors(&secret)), one);
            assert_eq!(KeyUnrolling::TWO.first_unturned(&KeyUnrolling::TWO.selectors(&secret)), two);
        }
        assert_eq!([KeyUnrolling::ONE, KeyUnrolling::TWO, KeyUnrolling::FOUR].map(|u| u.groups_within(8)), [8, 5, 3]);
    }

    #[test]
    fn blocks_have_a_pattern_per_bit() {
        let (secret, dimension) = (Secret::Block(3), LweDimension::new(12).expect("small"));
        let block = KeyUnrolling::new(None, secret).expect("its own");
        assert_eq!((block.patterns(), block.iterations(dimension), block.ggsw_ciphertexts(dimension)), (3, 4, 12));
        assert_eq!(block.masks().collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(KeyUnrolling::TWO.masks().collect::<Vec<_>>(), [1, 2, 3]);
        let bits = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!((&block.selectors(&bits)[..], block.first_unturned(&bits)), (&bits[..], 6));
        assert_eq!(block.groups_within(secret.turning_bits()), 4);
        assert_eq!(KeyUnrolling::new(Some(3), secret), Ok(block));
        assert_eq!(KeyUnrolling::new(Some(1), secret), Ok(KeyUnrolling::ONE));
        assert_eq!(KeyUnrolling::new(Some(2), secret), Err(UnrollingError::Block { bits: 2, block: 3 }));
        assert_ne!(KeyUnrolling::new(Some(2), Secret::Block(2)), Ok(KeyUnrolling::TWO));
    }

    #[test]
    fn sizes() {
        for n in 1..=9 {
            let dimension = LweDimension::new(n).expect("small");
            for unrolling in [KeyUnrolling::ONE, KeyUnrolling::TWO, KeyUnrolling::FOUR] {
                assert_eq!(unrolling.selectors(&vec![0; n]).len(), unrolling.ggsw_ciphertexts(dimension));
                assert_eq!(unrolling.iterations(dimension), n.div_ceil(unrolling.bits() as usize));
            }
        }
        assert_eq!(KeyUnrolling::new(Some(3), Secret::Binary), Err(UnrollingError::Bits(3)));
        assert_eq!(KeyUnrolling::new(None, Secret::Binary), Ok(KeyUnrolling::ONE));
    }
}
