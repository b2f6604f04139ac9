//! Distributions of the small key's bits.
//!
//! A block-binary key (Lee, Min, Seo, Song, "Faster TFHE bootstrapping with block binary keys", AsiaCCS 2023) has blocks of l bits with at most
//! one 1 each, so that one iteration of a blind rotation handles a block. A uniform key has blocks of one bit: all formulas here hold for both.
//! Example: n = 6 with l = 3 has 4² keys, such as 010 000.

use serde::{Deserialize, Serialize};

use super::noise::SHARED_ITERATIONS;

/// The distribution of the small key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Secret {
    /// Uniform bits.
    #[default]
    Binary,
    /// Blocks of this many bits: all 0, or exactly one 1, with equal probability.
    Block(u32),
}

impl Secret {
    /// Block sizes with a security estimate.
    pub const BLOCKS: [u32; 2] = [2, 3];

    /// Blocks of `bits` bits; 1 stands for uniform bits.
    pub fn of_block(bits: u32) -> Self {
        if bits == 1 { Self::Binary } else { Self::Block(bits) }
    }

    /// l, the bits of a block; 1 for uniform bits.
    pub fn block(self) -> u32 {
        match self {
            Self::Binary => 1,
            Self::Block(bits) => bits,
        }
    }

    /// Whether it is serialized by leaving it out.
    pub fn is_binary(&self) -> bool {
        *self == Self::Binary
    }

    /// The mean of a bit, 1/(l + 1).
    pub fn mean(self) -> f64 {
        1.0 / f64::from(self.block() + 1)
    }

    /// Maximum number of 1s of an accepted key: two deviations above the mean, n/(l + 1) + 2·√n/(l + 1).
    pub fn most_weight(self, bits: usize) -> usize {
        (self.mean() * (bits as f64 + 2.0 * (bits as f64).sqrt())).floor() as usize
    }

    /// An accepted key has a 1 among this many last bits: the fewest whole blocks that are all 0 in at most one key of 2^[`SHARED_ITERATIONS`].
    pub fn turning_bits(self) -> usize {
        let choices = u64::from(self.block()) + 1;
        let blocks = (1..).find(|&blocks| choices.saturating_pow(blocks) >= 1 << SHARED_ITERATIONS);
        blocks.unwrap_or(1) as usize * self.block() as usize
    }

    /// Whether the key `bits` is neither heavier than the noise formulas assume, nor ends in more zeros; see `noise::Keys`.
    pub(crate) fn accepts(self, bits: &[u8]) -> bool {
        self.is_light(bits) && self.turns(bits)
    }

    pub(crate) fn is_light(self, bits: &[u8]) -> bool {
        weight(bits) <= self.most_weight(bits.len())
    }

    /// Whether one of the last iterations of a rotation randomises the earlier ones.
    pub(crate) fn turns(self, bits: &[u8]) -> bool {
        weight(&bits[bits.len().saturating_sub(self.turning_bits())..]) > 0
    }

    /// Whether no block of `bits` has two 1s.
    pub(crate) fn has(self, bits: &[u8]) -> bool {
        bits.chunks(self.block() as usize).map(weight).max() <= Some(1)
    }
}

/// The number of 1s.
pub(crate) fn weight(bits: &[u8]) -> usize {
    bits.iter().map(|&bit| usize::from(bit)).sum()
}

#[cfg(test)]
mod tests {
    //! Do the formulas give a uniform key's figures for blocks of one bit, and a count of all keys for others?
    use super::*;

    #[test]
    fn uniform_bits_are_blocks_of_one() {
        assert_eq!(Secret::of_block(1), Secret::Binary);
        assert_eq!((Secret::Binary.mean(), Secret::Binary.turning_bits()), (0.5, SHARED_ITERATIONS));
        assert_eq!(Secret::Binary.most_weight(1024), 512 + 32);
        assert_eq!(Secret::BLOCKS.map(|bits| Secret::Block(bits).turning_bits()), [12, 12]);
    }

    #[test]
    fn keys_of_blocks() {
        let secret = Secret::Block(3);
        let keys: Vec<[u8; 6]> = (0..64u8).map(|key| std::array::from_fn(|bit| key >> bit & 1)).collect();
        let own: Vec<&[u8; 6]> = keys.iter().filter(|key| secret.has(&key[..])).collect();
        assert_eq!(own.len(), 16);
        let ones: usize = own.iter().map(|key| weight(&key[..])).sum();
        assert_eq!(ones as f64 / (16.0 * 6.0), secret.mean());
        // 5.25 in 12 bits are two deviations of √(4·3/16) above the mean of 3.
        assert_eq!(secret.most_weight(12), 4);
        let mut key = [0; 24];
        key[11] = 1;
        assert!(!secret.turns(&key));
        key[12] = 1;
        assert!(secret.turns(&key) && secret.accepts(&key));
    }
}
