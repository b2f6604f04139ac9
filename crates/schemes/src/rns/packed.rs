//! Limbs packed into 32, 40, 50 or 60 bits per residue, the first that fits the prime.

use polyfabric_kernels::modular::Modulus;

/// Bits of a stored residue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackedBits {
    /// Primes below 2^32: 4 bytes a residue.
    B32,
    /// Primes below 2^40: 5 bytes.
    B40,
    /// Primes below 2^50: 6.25 bytes.
    B50,
    /// Primes below 2^60: 7.5 bytes.
    B60,
    /// Any prime: 8 bytes.
    B64,
}

/// Evaluates `$body` with the number of bits as a constant.
macro_rules! with_bits {
    ($bits:expr, $B:ident => $body:expr) => {
        match $bits {
            PackedBits::B32 => {
                const $B: usize = 32;
                $body
            }
            PackedBits::B40 => {
                const $B: usize = 40;
                $body
            }
            PackedBits::B50 => {
                const $B: usize = 50;
                $body
            }
            PackedBits::B60 => {
                const $B: usize = 60;
                $body
            }
            PackedBits::B64 => {
                const $B: usize = 64;
                $body
            }
        }
    };
}

impl PackedBits {
    /// The smallest packing for residues of `modulus`.
    pub fn of(modulus: Modulus) -> Self {
        match modulus.bits() {
            ..=32 => Self::B32,
            33..=40 => Self::B40,
            41..=50 => Self::B50,
            51..=60 => Self::B60,
            _ => Self::B64,
        }
    }

    /// Bits a residue.
    pub fn get(self) -> usize {
        with_bits!(self, B => B)
    }

    /// Bytes of `count` residues, a multiple of 8: eight residues occupy as many bytes as one has bits.
    pub fn bytes(self, count: usize) -> usize {
        count / 8 * self.get()
    }

    /// Packs canonical residues into `bytes`, of length [`Self::bytes`].
    ///
    /// # Panics
    /// If the number of residues is not a multiple of 8, or the lengths do not match.
    pub fn pack(self, residues: &[u64], bytes: &mut [u8]) {
        assert_eq!((residues.len() % 8, bytes.len()), (0, self.bytes(residues.len())), "eight residues at a time");
        with_bits!(self, B => pack::<B>(residues, bytes));
    }

    /// Unpacks `bytes` into residues.
    ///
    /// # Panics
    /// As [`Self::pack`].
    pub fn unpack(self, bytes: &[u8], residues: &mut [u64]) {
        assert_eq!((residues.len() % 8, bytes.len()), (0, self.bytes(residues.len())), "eight residues at a time");
        with_bits!(self, B => unpack::<B>(bytes, residues));
    }
}

/// Residue j of a group of eight has bits jB to (j + 1)B − 1 of the group's B bytes.
fn pack<const B: usize>(residues: &[u64], bytes: &mut [u8]) {
    for (residues, bytes) in residues.as_chunks::<8>().0.iter().zip(bytes.as_chunks_mut::<B>().0) {
        bytes.fill(0);
        for (index, &residue) in residues.iter().enumerate() {
            let (start, shift) = (index * B / 8, index * B % 8);
            // B + 7 ≤ 67 bits.
            let wide = (u128::from(residue) << shift).to_le_bytes();
            let end = B.min(start + 9);
            bytes[start..end].iter_mut().zip(wide).for_each(|(byte, part)| *byte |= part);
        }
    }
}

fn unpack<const B: usize>(bytes: &[u8], residues: &mut [u64]) {
    for (residues, bytes) in residues.as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks::<B>().0) {
        for (index, residue) in residues.iter_mut().enumerate() {
            let (start, shift) = (index * B / 8, index * B % 8);
            // A residue of B ≤ 60 bits ends by bit 64 of its eight bytes (50 + 6, 60 + 4). At the group's end these would exceed the
            // group, so they start earlier.
            let early = (start + 8).saturating_sub(B);
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[start - early..start - early + 8]);
            *residue = u64::from_le_bytes(word) >> (shift + 8 * early) & (u64::MAX >> (64 - B));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Do residues of every size survive a round trip in the documented number of bytes?

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_a_residue() {
        let of = |value: u64| PackedBits::of(Modulus::new(value).unwrap()).bytes(1024) as f64 / 1024.0;
        let limits = [(32, 4.0, 5.0), (40, 5.0, 6.25), (50, 6.25, 7.5), (60, 7.5, 8.0)];
        for (bits, below, above) in limits {
            assert_eq!((of((1 << bits) - 1), of(1 << bits)), (below, above));
        }
    }

    proptest! {
        #[test]
        fn unpacking_undoes_packing(words in prop::collection::vec(any::<u64>(), 64)) {
            for bits in [PackedBits::B32, PackedBits::B40, PackedBits::B50, PackedBits::B60, PackedBits::B64] {
                let residues: Vec<u64> = words.iter().map(|word| word >> (64 - bits.get())).collect();
                let mut bytes = vec![0xff; bits.bytes(residues.len())];
                bits.pack(&residues, &mut bytes);
                let mut back = vec![u64::MAX; residues.len()];
                bits.unpack(&bytes, &mut back);
                prop_assert_eq!(&back, &residues);
            }
        }
    }
}
