//! Key unrolling: several secret bits per iteration of a blind rotation.
//!
//! The n bits of the small key are cut into groups of m; the last may be smaller. For a group with bits s and mask indices a~,
//! X^⟨a~,s⟩ = 1 + Σ_u (X^⟨a~,u⟩ − 1) · [s = u] over the nonzero patterns u. The bootstrapping key has GGSW([s = u]) for each:
//! 2^m − 1 ciphertexts instead of m, for 1/m of the iterations (Zhou et al., "Faster bootstrapping with multiple addends", IEEE Access
//! 2018; Bourse et al., CRYPTO 2018, for m = 2).

use thiserror::Error;

use super::dimension::LweDimension;

/// Secret bits per iteration: 1, 2 or 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyUnrolling(u32);

/// An unsupported number of secret bits per iteration.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "key unrolling {0} is not available; keys are made for 1, 2 or 4 secret bits per iteration, so choose one of these"
)]
pub struct UnrollingError(pub u32);

impl KeyUnrolling {
    /// One bit per iteration: the smallest key.
    pub const ONE: Self = Self(1);
    /// Two bits: half the iterations, 1.5 times the bootstrapping key.
    pub const TWO: Self = Self(2);
    /// Four bits: a quarter of the iterations, 3.75 times the bootstrapping key.
    pub const FOUR: Self = Self(4);

    /// `bits` secret bits per iteration.
    ///
    /// # Errors
    /// [`UnrollingError`] unless `bits` is 1, 2 or 4.
    pub fn new(bits: u32) -> Result<Self, UnrollingError> {
        if matches!(bits, 1 | 2 | 4) { Ok(Self(bits)) } else { Err(UnrollingError(bits)) }
    }

    /// m.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Nonzero patterns of a whole group, 2^m − 1. Pattern u has number u − 1; its bit j stands for secret bit i·m + j.
    pub fn patterns(self) -> usize {
        (1 << self.0) - 1
    }

    /// Groups of n bits, ⌈n/m⌉: iterations of a blind rotation.
    pub fn iterations(self, dimension: LweDimension) -> usize {
        dimension.get().div_ceil(self.0 as usize)
    }

    /// GGSW ciphertexts of a bootstrapping key: 2^b − 1 for each group of b bits.
    pub fn ggsw_ciphertexts(self, dimension: LweDimension) -> usize {
        let (whole, rest) = self.groups(dimension);
        whole * self.patterns() + ((1 << rest) - 1)
    }

    /// Number of whole groups, and bits of the smaller last one (0 if none).
    pub(crate) fn groups(self, dimension: LweDimension) -> (usize, u32) {
        self.groups_of(dimension.get())
    }

    /// [`Self::groups`] of n bits.
    pub(crate) fn groups_of(self, dimension: usize) -> (usize, u32) {
        let bits = self.0 as usize;
        (dimension / bits, (dimension % bits) as u32)
    }

    /// Maximum number of groups spanned by the last `bits` bits of the key.
    pub(crate) fn groups_within(self, bits: usize) -> usize {
        if self == Self::ONE { bits } else { bits.div_ceil(self.0 as usize) + 1 }
    }

    /// The first GGSW ciphertext of the last group with a set bit: no later iteration rotates the iterations from there on.
    pub(crate) fn first_unturned(self, selectors: &[u8]) -> usize {
        // Reads all selectors without a branch, because they are secret.
        let chosen =
            |last: usize, (at, &selector): (usize, &u8)| last ^ ((last ^ at) & usize::from(selector).wrapping_neg());
        let last = selectors.iter().enumerate().fold(0, chosen);
        last - last % self.patterns()
    }

    /// Messages of the GGSW ciphertexts, in the key's order: for each group [s = u] for u = 1, 2, ….
    pub(crate) fn selectors(self, secret: &[u8]) -> Vec<u8> {
        let groups = secret.chunks(self.0 as usize);
        // Reserves all bytes at once: a reallocation would leave bits unwiped.
        let mut selectors = Vec::with_capacity(groups.map(|group| (1 << group.len()) - 1).sum());
        for group in secret.chunks(self.0 as usize) {
            let pattern = group.iter().rev().fold(0usize, |pattern, &bit| pattern << 1 | usize::from(bit));
            selectors.extend((1..1usize << group.len()).map(|u| u8::from(u == pattern)));
        }
        selectors
    }
}

impl std::fmt::Display for KeyUnrolling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
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
    fn sizes() {
        for n in 1..=9 {
            let dimension = LweDimension::new(n).expect("small");
            for unrolling in [KeyUnrolling::ONE, KeyUnrolling::TWO, KeyUnrolling::FOUR] {
                assert_eq!(unrolling.selectors(&vec![0; n]).len(), unrolling.ggsw_ciphertexts(dimension));
                assert_eq!(unrolling.iterations(dimension), n.div_ceil(unrolling.bits() as usize));
            }
        }
        assert!(KeyUnrolling::new(3).is_err_and(|error| error.to_string().contains("1, 2 or 4")));
    }
}
