//! Samples ternary secrets from secret streams and masks from public seeds. [`crate::gaussian`] samples noise.

use polyfabric_kernels::expander::UniformStream;
use zeroize::{Zeroize, Zeroizing};

use super::limb::{Domain, LimbId};
use super::polynomial::RnsPolynomial;
use super::ring::Ring;
use crate::random::{MaskSeed, Stream};

/// `count` coefficients, −1, 0 and 1 equally likely: reads two bits at a time and skips the fourth value.
pub fn uniform_ternary(stream: &mut Stream, count: usize) -> Zeroizing<Vec<i8>> {
    let mut coefficients = Zeroizing::new(Vec::with_capacity(count));
    while coefficients.len() < count {
        let mut word = stream.word();
        for _ in 0..32 {
            let draw = (word & 3) as i8;
            word >>= 2;
            if draw < 3 && coefficients.len() < count {
                coefficients.push(draw - 1);
            }
        }
    }
    coefficients
}

/// `count` coefficients of which exactly `weight` are ±1, every such choice equally likely. Each coefficient is set with probability
/// (remaining to set)/(remaining coefficients) (C. Fan, M. Muller, I. Rezucha, J. Am. Stat. Assoc. 57, 1962), and draws a sign whether
/// it is set or not. No address or branch depends on the samples.
///
/// # Panics
/// If `weight` is above `count`.
pub fn sparse_ternary(stream: &mut Stream, count: usize, weight: usize) -> Zeroizing<Vec<i8>> {
    assert!(weight <= count, "{weight} of {count} coefficients cannot be set");
    let mut coefficients = Zeroizing::new(vec![0i8; count]);
    let signs = Zeroizing::new(stream.bits(count));
    let mut wanted = weight as u64;
    for (place, (coefficient, &sign)) in coefficients.iter_mut().zip(signs.iter()).enumerate() {
        let set = u64::from(stream.below((count - place) as u64) < wanted);
        wanted -= set;
        *coefficient = set as i8 * (1 - 2 * sign as i8);
    }
    coefficients
}

/// words ← coefficients·factor modulo `limb`'s prime, transformed to `domain`.
pub(crate) fn write_signed(
    ring: &Ring,
    limb: LimbId,
    domain: Domain,
    coefficients: &[i64],
    factor: u64,
    words: &mut [u64],
) {
    let modulus = ring.modulus(limb);
    // Noise and secrets are below every modulus except in toys, so no division is needed.
    let q = modulus.value() as i64;
    for (word, &coefficient) in words.iter_mut().zip(coefficients) {
        *word = if -q < coefficient && coefficient < q {
            (coefficient + (q & (coefficient >> 63))) as u64
        } else {
            modulus.reduce_signed(coefficient)
        };
    }
    if factor != 1 {
        ring.limb(limb).scale_assign(words, modulus.reduce(factor));
    }
    if domain == Domain::Evaluation {
        ring.ntt(limb).forward(words);
    }
}

/// A polynomial of small signed coefficients over `limbs`, wiped when dropped.
pub fn signed_polynomial(ring: &Ring, limbs: &[LimbId], domain: Domain, coefficients: &[i64]) -> RnsPolynomial {
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, domain);
    polynomial.for_each_limb(|limb, _, words| write_signed(ring, limb, domain, coefficients, 1, words));
    polynomial
}

/// Limb `limb` of mask number `row` of `seed`: uniform residues; each limb has its own stream.
pub fn fill_mask(ring: &Ring, seed: &MaskSeed, row: u32, limb: LimbId, words: &mut [u64]) {
    mask_stream(ring, seed, row, limb).fill(words);
}

/// The words of [`fill_mask`] as a stream.
pub fn mask_stream(ring: &Ring, seed: &MaskSeed, row: u32, limb: LimbId) -> UniformStream {
    UniformStream::new(&seed.0, u64::from(row) << 16 | u64::from(limb.0), ring.modulus(limb))
}

/// Mask number `row` of `seed` over `limbs`: uniform in either domain.
pub fn mask(ring: &Ring, seed: &MaskSeed, row: u32, limbs: &[LimbId], domain: Domain) -> RnsPolynomial {
    let mut mask = RnsPolynomial::zero(ring.degree(), limbs, domain);
    mask.for_each_limb(|limb, _, words| fill_mask(ring, seed, row, limb, words));
    mask
}

/// Overwrites a secret polynomial.
pub(crate) fn wipe(polynomial: &mut RnsPolynomial) {
    polynomial.words_mut().zeroize();
}

#[cfg(test)]
mod tests {
    //! Do secrets have the documented distribution?

    use super::*;
    use crate::random::{Purpose, Seeds};

    fn stream(seed: u64) -> Stream {
        Seeds::for_tests(seed).secret.stream(Purpose::SecretKey, 0)
    }

    #[test]
    fn ternary_coefficients_are_equally_likely() {
        let count = 90_001;
        let coefficients = uniform_ternary(&mut stream(1), count);
        assert_eq!(coefficients.len(), count);
        for value in [-1, 0, 1] {
            let share = coefficients.iter().filter(|&&coefficient| coefficient == value).count() as f64;
            // Five standard deviations of √(n·2/9).
            assert!((share - count as f64 / 3.0).abs() < 5.0 * (count as f64 * 2.0 / 9.0).sqrt(), "{value}: {share}");
        }
    }

    /// Every place is set equally often, with either sign: 3,000 secrets of weight 16 in 64.
    #[test]
    fn sparse_secrets_have_their_weight_everywhere() {
        let (count, weight, draws) = (64, 16, 3_000);
        let mut stream = stream(2);
        let (mut set, mut sum) = (vec![0f64; count], vec![0f64; count]);
        for _ in 0..draws {
            let secret = sparse_ternary(&mut stream, count, weight);
            assert_eq!(secret.iter().filter(|&&coefficient| coefficient != 0).count(), weight);
            for (place, &coefficient) in secret.iter().enumerate() {
                set[place] += f64::from(coefficient.abs());
                sum[place] += f64::from(coefficient);
            }
        }
        let share = weight as f64 / count as f64;
        let expected = f64::from(draws) * share;
        let (spread, signs) = ((expected * (1.0 - share)).sqrt(), expected.sqrt());
        assert!(set.iter().all(|&times| (times - expected).abs() < 5.0 * spread), "{set:?}");
        assert!(sum.iter().all(|&sum| sum.abs() < 5.0 * signs), "{sum:?}");
        assert_eq!(sparse_ternary(&mut stream, 16, 16).iter().filter(|&&coefficient| coefficient != 0).count(), 16);
        assert!(sparse_ternary(&mut stream, 16, 0).iter().all(|&coefficient| coefficient == 0));
    }
}
