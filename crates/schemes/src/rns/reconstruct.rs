//! Reconstructs integers from residues: the centred representative modulo the product of the primes.

use polyfabric_kernels::modular::{Modulus, ShoupFactor};

/// x in \[−Q/2, Q/2), as sign and magnitude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedInteger {
    /// Whether x < 0.
    pub negative: bool,
    /// |x|, least significant word first; the length depends on the basis only.
    pub magnitude: Vec<u64>,
}

impl SignedInteger {
    /// x ≈ f·2^e as (f, e), with relative error 2^-52, for integers beyond the range of f64.
    pub fn to_scaled(&self) -> (f64, i32) {
        let Some(top) = self.magnitude.iter().rposition(|&word| word != 0) else {
            return (0.0, 0);
        };
        let shift = self.magnitude[top].leading_zeros();
        let below = if top > 0 { self.magnitude[top - 1] } else { 0 };
        let leading =
            if shift == 0 { self.magnitude[top] } else { self.magnitude[top] << shift | below >> (64 - shift) };
        let value = leading as f64;
        (if self.negative { -value } else { value }, 64 * top as i32 - shift as i32)
    }

    /// x as an f64, infinite beyond its range.
    pub fn to_f64(&self) -> f64 {
        let (value, exponent) = self.to_scaled();
        // Two factors, since one may exceed the range.
        value * f64::from(exponent / 2).exp2() * f64::from(exponent - exponent / 2).exp2()
    }

    /// x, if it fits.
    pub fn to_i128(&self) -> Option<i128> {
        let low = u128::from(*self.magnitude.first()?) | u128::from(self.magnitude.get(1).copied().unwrap_or(0)) << 64;
        let small = self.magnitude.iter().skip(2).all(|&word| word == 0) && low < 1 << 127;
        small.then_some(if self.negative { -(low as i128) } else { low as i128 })
    }

    /// x modulo `modulus`.
    pub fn residue(&self, modulus: Modulus) -> u64 {
        let whole = self
            .magnitude
            .iter()
            .rev()
            .fold(0, |residue: u64, &word| modulus.reduce_wide(u128::from(residue) << 64 | u128::from(word)));
        if self.negative { modulus.neg(whole) } else { whole }
    }
}

/// The constants of one basis: x = Σ y_i·(Q/q_i) − v·Q with y_i = x_i·(Q/q_i)^-1 mod q_i (Chinese remainder theorem).
#[derive(Clone, Debug)]
pub struct Reconstruction {
    moduli: Vec<Modulus>,
    inverses: Vec<ShoupFactor>,
    /// Q/q_i, least significant word first.
    cofactors: Vec<Vec<u64>>,
    /// Q, and half of Q rounded up.
    product: Vec<u64>,
    half: Vec<u64>,
}

/// sum += words·factor.
fn add_scaled(sum: &mut [u64], words: &[u64], factor: u64) {
    let mut carry = 0u128;
    for (sum, &word) in sum.iter_mut().zip(words) {
        carry += u128::from(word) * u128::from(factor) + u128::from(*sum);
        *sum = carry as u64;
        carry >>= 64;
    }
}

/// sum −= words·factor, wrapping; whether it wrapped.
fn subtract_scaled(sum: &mut [u64], words: &[u64], factor: u64) -> bool {
    let mut carry = 0u128;
    for (sum, &word) in sum.iter_mut().zip(words) {
        carry += u128::from(word) * u128::from(factor);
        let (difference, borrow) = sum.overflowing_sub(carry as u64);
        *sum = difference;
        carry = (carry >> 64) + u128::from(borrow);
    }
    carry != 0
}

fn less(a: &[u64], b: &[u64]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

impl Reconstruction {
    /// Reconstructs from residues modulo each of `moduli`, distinct primes.
    pub fn new(moduli: &[Modulus]) -> Self {
        // One word more than Q: the sum is below the number of primes times Q.
        let words = moduli.iter().map(|modulus| modulus.bits() as usize).sum::<usize>().div_ceil(64) + 1;
        let multiply_all = |skip: usize| {
            let mut product = vec![0; words];
            product[0] = 1;
            for (_, modulus) in moduli.iter().enumerate().filter(|&(index, _)| index != skip) {
                let mut next = vec![0; words];
                add_scaled(&mut next, &product, modulus.value());
                product = next;
            }
            product
        };
        let inverse = |(index, &modulus): (usize, &Modulus)| {
            let others = moduli.iter().enumerate().filter(|&(other, _)| other != index);
            let cofactor = others.fold(1 % modulus.value(), |product, (_, other)| {
                modulus.multiply(product, modulus.reduce(other.value()))
            });
            // Exists for distinct primes.
            ShoupFactor::new(modulus, modulus.inverse(cofactor).unwrap_or(0))
        };
        let product = multiply_all(usize::MAX);
        // Odd primes have an odd Q; (Q + 1)/2 is the smallest that counts as negative.
        let mut half = product.clone();
        let mut carry = 0;
        for word in half.iter_mut().rev() {
            (*word, carry) = (*word >> 1 | carry << 63, *word & 1);
        }
        if carry == 1 {
            let mut one = vec![0; words];
            one[0] = 1;
            add_scaled(&mut half, &one, 1);
        }
        Self {
            inverses: moduli.iter().enumerate().map(inverse).collect(),
            cofactors: (0..moduli.len()).map(multiply_all).collect(),
            moduli: moduli.to_vec(),
            product,
            half,
        }
    }

    /// The integer with these canonical residues, one per modulus.
    pub fn integer(&self, residues: impl Iterator<Item = u64>) -> SignedInteger {
        let mut sum = vec![0; self.product.len()];
        let mut quotient = 0.0;
        for ((residue, inverse), (modulus, cofactor)) in
            residues.zip(&self.inverses).zip(self.moduli.iter().zip(&self.cofactors))
        {
            let y = inverse.multiply(*modulus, residue);
            quotient += y as f64 / modulus.value() as f64;
            add_scaled(&mut sum, cofactor, y);
        }
        // v is the floor of a sum of fewer than 256 terms, each with error 2^-51: off by at most one, and only near an integer.
        if subtract_scaled(&mut sum, &self.product, quotient as u64) {
            add_scaled(&mut sum, &self.product, 1);
        } else if !less(&sum, &self.product) {
            subtract_scaled(&mut sum, &self.product, 1);
        }
        let negative = !less(&sum, &self.half);
        if negative {
            // Q − x, computed as −(x − Q) in two's complement.
            subtract_scaled(&mut sum, &self.product, 1);
            let mut carry = true;
            for word in &mut sum {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        SignedInteger { negative, magnitude: sum }
    }
}

#[cfg(test)]
mod tests {
    //! Do the residues of an integer reconstruct it, its f64 and its residues?

    use super::*;
    use polyfabric_kernels::primes::PrimeClass;
    use proptest::prelude::*;

    fn moduli(count: usize, bits: u32) -> Vec<Modulus> {
        let primes = PrimeClass::ONE_MOD_WORD.of_bits(bits, count).expect("primes");
        primes.into_iter().map(|prime| Modulus::new(prime).expect("a modulus")).collect()
    }

    proptest! {
        #[test]
        fn integers_come_back(value in any::<i128>(), shift in 0u32..127, bits in 30u32..=61) {
            let value = value >> shift;
            let moduli = moduli(132usize.div_ceil(bits as usize - 1).max(3), bits);
            let residues = moduli.iter().map(|q| value.rem_euclid(i128::from(q.value())) as u64);
            let integer = Reconstruction::new(&moduli).integer(residues);
            prop_assert_eq!(integer.to_i128(), Some(value).filter(|&value| value != i128::MIN));
            let error = (integer.to_f64() - value as f64).abs();
            prop_assert!(error <= (value as f64).abs() * 2.0 * f64::EPSILON);
            let other = Modulus::new(1_000_003).expect("a modulus");
            prop_assert_eq!(i128::from(integer.residue(other)), value.rem_euclid(1_000_003));
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        for bits in [30, 45, 61] {
            let moduli = moduli(2, bits);
            let product = moduli.iter().map(|q| i128::from(q.value())).product::<i128>();
            let reconstruction = Reconstruction::new(&moduli);
            for value in [0, 1, -1, product / 2, -(product / 2), product / 2 - 1, 1 - product / 2] {
                let residues = moduli.iter().map(|q| value.rem_euclid(i128::from(q.value())) as u64);
                assert_eq!(reconstruction.integer(residues).to_i128(), Some(value), "{bits} bits, {value}");
            }
        }
    }

    #[test]
    fn one_modulus_and_many() {
        let one = moduli(1, 40);
        assert_eq!(Reconstruction::new(&one).integer([5].into_iter()).to_i128(), Some(5));
        assert_eq!(Reconstruction::new(&one).integer([one[0].value() - 5].into_iter()).to_i128(), Some(-5));
        // 40 primes of 61 bits exceed the range of f64.
        let many = moduli(40, 61);
        let residues = many.iter().enumerate().map(|(index, q)| if index == 0 { 1 } else { q.value() - q.value() });
        let large = Reconstruction::new(&many).integer(residues);
        let (fraction, exponent) = large.to_scaled();
        assert!(fraction.abs() >= 2f64.powi(62) && exponent > 1_000, "{fraction} {exponent}");
        assert!(large.to_f64().is_infinite());
        assert_eq!(large.residue(many[0]), 1);
        assert_eq!(large.residue(many[1]), 0);
    }
}
