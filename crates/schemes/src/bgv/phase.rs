//! Reads a phase: recovers exact integers from residues, reduces them modulo t, and measures their size.
//!
//! A number v in [0, Q) is written in mixed radix, v = d_0 + d_1·q_0 + d_2·q_0·q_1 + … (H. Garner, 1959). Since (Q − 1)/2 has the
//! digits (q_i − 1)/2, a digit-wise comparison decides whether v or v − Q is the centred representative; Q − 1 − v has the digits
//! q_i − 1 − d_i. No big integers are needed.

use polyfabric_kernels::modular::Modulus;
use rayon::prelude::*;

/// Recovers numbers modulo Q = Π q_i from their residues.
#[derive(Debug)]
pub struct PhaseReader {
    moduli: Vec<Modulus>,
    /// (q_j)^-1 mod q_i for j < i, by i.
    inverses: Vec<Vec<u64>>,
    /// Π_(j < i) q_j modulo t, then Q modulo t.
    weights: Vec<u64>,
    plaintext: Modulus,
}

/// Coefficients of a phase, centred.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Each modulo t, in [0, t).
    pub residues: Vec<u64>,
    /// log2 of the largest absolute value; −∞ if all are 0.
    pub log2_largest: f64,
    /// log2 of the root of the mean square; −∞ if all are 0.
    pub log2_deviation: f64,
}

impl PhaseReader {
    /// Reads numbers modulo the product of `moduli`, distinct odd primes, and reduces them modulo t = `plaintext`.
    ///
    /// # Panics
    /// If two moduli have a common factor.
    pub fn new(moduli: &[Modulus], plaintext: Modulus) -> Self {
        let inverses = |(i, &modulus): (usize, &Modulus)| {
            let inverse = |other: &Modulus| modulus.inverse(other.value()).expect("moduli are distinct primes");
            moduli[..i].iter().map(inverse).collect()
        };
        let inverses = moduli.iter().enumerate().map(inverses).collect();
        let mut weights = vec![plaintext.reduce(1)];
        for modulus in moduli {
            let weight = plaintext.multiply(weights[weights.len() - 1], plaintext.reduce(modulus.value()));
            weights.push(weight);
        }
        Self { moduli: moduli.to_vec(), inverses, weights, plaintext }
    }

    /// Reads all coefficients; `limbs` are canonical residues in the order of the moduli.
    ///
    /// # Panics
    /// Unless there is a limb for each modulus, all of one length.
    pub fn read(&self, limbs: &[&[u64]]) -> Phase {
        assert_eq!(limbs.len(), self.moduli.len(), "a limb for each modulus");
        let count = limbs[0].len();
        let numbers: Vec<(u64, f64)> = (0..count).into_par_iter().map(|column| self.number(limbs, column)).collect();
        let largest = numbers.iter().map(|&(_, log2)| log2).fold(f64::NEG_INFINITY, f64::max);
        // Scaled by the largest so that the squares do not overflow.
        let mean = numbers.iter().map(|&(_, log2)| (2.0 * (log2 - largest)).exp2()).sum::<f64>() / count as f64;
        let log2_deviation = if largest == f64::NEG_INFINITY { largest } else { largest + mean.log2() / 2.0 };
        Phase {
            residues: numbers.into_iter().map(|(residue, _)| residue).collect(),
            log2_largest: largest,
            log2_deviation,
        }
    }

    /// The centred number in `column` modulo t, and log2 of its absolute value.
    fn number(&self, limbs: &[&[u64]], column: usize) -> (u64, f64) {
        let count = self.moduli.len();
        let mut digits = vec![0; count];
        for i in 0..count {
            let modulus = self.moduli[i];
            let mut digit = limbs[i][column];
            for (&lower, &inverse) in digits.iter().zip(&self.inverses[i]) {
                digit = modulus.multiply(modulus.sub(digit, modulus.reduce(lower)), inverse);
            }
            digits[i] = digit;
        }
        let half = |i: usize| (self.moduli[i].value() - 1) / 2;
        let negative = (0..count).rev().find(|&i| digits[i] != half(i)).is_some_and(|i| digits[i] > half(i));
        let t = self.plaintext;
        let residue = digits
            .iter()
            .zip(&self.weights)
            .fold(0, |sum, (&digit, &weight)| t.add(sum, t.multiply(t.reduce(digit), weight)));
        let residue = if negative { t.sub(residue, self.weights[count]) } else { residue };
        if negative {
            digits.iter_mut().zip(&self.moduli).for_each(|(digit, modulus)| *digit = modulus.value() - 1 - *digit);
        }
        (residue, self.log2(&digits, negative))
    }

    /// log2 of Σ d_i·Π_(j<i) q_j, plus 1 if `more`, summed from the highest digit to the precision of f64.
    fn log2(&self, digits: &[u64], more: bool) -> f64 {
        let value = |i: usize| self.moduli[i].value() as f64;
        let Some(top) = digits.iter().rposition(|&digit| digit != 0) else {
            return if more { 0.0 } else { f64::NEG_INFINITY };
        };
        let low = top.saturating_sub(3);
        let lead = (low..=top).rev().fold(0.0, |sum, i| sum * value(i) + digits[i] as f64);
        let lead = if low == 0 && more { lead + 1.0 } else { lead };
        lead.log2() + (0..low).map(|i| value(i).log2()).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    //! Does the reader recover a number and its size from residues?

    use super::*;
    use polyfabric_kernels::RingDegree;
    use polyfabric_kernels::primes::PrimeClass;
    use proptest::prelude::*;

    fn moduli(bits: u32, count: usize) -> Vec<Modulus> {
        let class = PrimeClass::of_degree(RingDegree::new(16).unwrap());
        class.of_bits(bits, count).unwrap().into_iter().map(|q| Modulus::new(q).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn small_and_large_numbers(number in any::<i64>(), shift in 0u32..63, t in 2u64..1 << 60, bits in 20u32..61) {
            let number = number >> shift;
            let moduli = moduli(bits, 200usize.div_ceil(bits as usize));
            let t = Modulus::new(t).unwrap();
            let limbs: Vec<Vec<u64>> = moduli.iter().map(|q| vec![q.reduce_signed(number); 2]).collect();
            let limbs: Vec<&[u64]> = limbs.iter().map(|limb| &limb[..]).collect();
            let phase = PhaseReader::new(&moduli, t).read(&limbs);
            prop_assert_eq!(&phase.residues, &vec![t.reduce_signed(number); 2]);
            let log2 = (number.unsigned_abs() as f64).log2();
            prop_assert!(phase.log2_largest == log2 || (phase.log2_largest - log2).abs() < 1e-9);
            prop_assert!(number == 0 || (phase.log2_deviation - log2).abs() < 1e-9);
        }

        #[test]
        fn products_of_all_moduli_but_a_few(scale in -1000i64..1000, kept in 1usize..6, t in 2u64..1 << 40) {
            // scale·q_0·…·q_(kept−1) exceeds a word by far; compare with the same sum modulo t.
            let (moduli, t) = (moduli(40, 7), Modulus::new(t).unwrap());
            let of = |modulus: Modulus| {
                moduli[..kept].iter().fold(modulus.reduce_signed(scale), |product, q| modulus.multiply(product, modulus.reduce(q.value())))
            };
            let limbs: Vec<Vec<u64>> = moduli.iter().map(|&q| vec![of(q)]).collect();
            let limbs: Vec<&[u64]> = limbs.iter().map(|limb| &limb[..]).collect();
            let phase = PhaseReader::new(&moduli, t).read(&limbs);
            prop_assert_eq!(phase.residues[0], of(t));
            let log2 = (scale.unsigned_abs() as f64).log2() + moduli[..kept].iter().map(|q| (q.value() as f64).log2()).sum::<f64>();
            prop_assert!(scale == 0 || (phase.log2_largest - log2).abs() < 1e-6);
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        let (moduli, t) = (moduli(30, 3), Modulus::new(1 << 20).unwrap());
        let q: u128 = moduli.iter().map(|q| u128::from(q.value())).product();
        let reader = PhaseReader::new(&moduli, t);
        let read = |number: u128| {
            let limbs: Vec<Vec<u64>> = moduli.iter().map(|m| vec![(number % u128::from(m.value())) as u64]).collect();
            reader.read(&limbs.iter().map(|limb| &limb[..]).collect::<Vec<_>>()).residues[0]
        };
        let modulo = |number: i128| number.rem_euclid(1 << 20) as u64;
        assert_eq!(read(q / 2), modulo((q / 2) as i128));
        assert_eq!(read(q / 2 + 1), modulo((q / 2 + 1) as i128 - q as i128));
        assert_eq!(read(q - 1), modulo(-1));
        assert_eq!(read(0), 0);
    }
}
