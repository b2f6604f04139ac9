//! Interleaves residues of several rows, in the least number of whole bytes that fits their modulus.

use super::Modulus;

/// Residues of a row in a block.
pub const BLOCK: usize = 8;

/// Words of [`BLOCK`] residues of `modulus`: as many as a residue has bytes.
pub fn block_width(modulus: Modulus) -> usize {
    modulus.bits().div_ceil(8) as usize
}

/// Packs [`BLOCK`] `residues` into `block`, whose number of words is the bytes per residue.
///
/// # Panics
/// Unless there are [`BLOCK`] residues, and one to eight words.
pub fn pack_block(residues: &[u64], block: &mut [u64]) {
    assert!(residues.len() == BLOCK && (1..=8).contains(&block.len()), "eight residues of up to eight bytes");
    let bits = 8 * block.len();
    block.fill(0);
    for (place, &residue) in residues.iter().enumerate() {
        let (word, shift) = (place * bits / 64, place * bits % 64);
        block[word] |= residue << shift;
        if shift + bits > 64 {
            block[word + 1] |= residue >> (64 - shift);
        }
    }
}

/// Residue `place` of a block.
#[inline]
pub fn in_block(block: &[u64], place: usize) -> u64 {
    let bits = 8 * block.len();
    let (word, shift) = (place * bits / 64, place * bits % 64);
    let rest = if shift + bits > 64 { block[word + 1] << (64 - shift) } else { 0 };
    (block[word] >> shift | rest) & (u64::MAX >> (64 - bits))
}

/// Layout of the factors of a sum.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Words of a block's factors: one to eight, the bytes of each factor.
    pub width: usize,
    /// Words from one block to the next.
    pub stride: usize,
}
