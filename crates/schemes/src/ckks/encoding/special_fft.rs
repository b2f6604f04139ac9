//! The transform between a ring element's coefficients and its slots (the canonical embedding).
//!
//! A polynomial in X^(N/2n) has 2n real coefficients c. With u_i = c_i + i·c_{i+n} and ζ = e^(2πi/4n) its slot j is its value at ζ^(5^j):
//!
//! z_j = Σ_{i<n} u_i·ζ^(5^j·i), since ζ^(5^j·n) = i for every j.
//!
//! Split by the parity of i, z_j = E_j + ζ^(5^j)·O_j, where E and O are the same transform of half the size with ζ²; as
//! 5^(n/2) ≡ 1 + 2n mod 4n, slot j + n/2 is E_j − ζ^(5^j)·O_j. This is a radix-2 transform by decimation in time
//! (J. H. Cheon, K. Han et al., EUROCRYPT 2018) whose twiddles depend on the stage and j alone: one table serves every n.
//!
//! # Error
//! With ε = 2^-53: each butterfly of the inverse halves its outputs, so no value exceeds max |z|. Half a sum has an absolute error of at
//! most ε/2·2·max = ε·max (√2 from two parts included below). The product with a twiddle of error ε/√2·2 has a relative error of at
//! most (√5 + √2)·ε (R. Brent, C. Percival, P. Zimmermann, Math. Comp. 76, 2007). In total a stage adds less than 6·ε·max |z| and does
//! not amplify earlier errors, so |û_i − u_i| ≤ 6·log2(n)·ε·max |z|. A forward stage may double values and errors:
//! |ẑ_j − z_j| ≤ 6·log2(n)·ε·Σ|u_i|.

use super::complex::Complex;

/// Tables for up to some number of slots.
#[derive(Clone, Debug)]
pub struct SpecialFft {
    max_slots: usize,
    /// Index h + j, j < h: ζ^(5^j) of the stage that joins halves of h values.
    twiddles: Vec<Complex>,
}

impl SpecialFft {
    /// Makes tables for up to `max_slots`.
    ///
    /// # Panics
    /// Unless `max_slots` is a power of two.
    pub fn new(max_slots: usize) -> Self {
        assert!(max_slots.is_power_of_two(), "{max_slots} slots are no power of two");
        let mut twiddles = vec![Complex::from(1.0); max_slots.max(2)];
        let mut half = 1;
        while half < max_slots {
            // ζ has order 4·(2·half).
            let order = 8 * half;
            let mut power = 1;
            for twiddle in &mut twiddles[half..2 * half] {
                *twiddle = Complex::cis(std::f64::consts::TAU * power as f64 / order as f64);
                power = power * 5 % order;
            }
            half *= 2;
        }
        Self { max_slots, twiddles }
    }

    /// Largest number of slots.
    pub fn max_slots(&self) -> usize {
        self.max_slots
    }

    fn check(&self, count: usize) {
        assert!(count.is_power_of_two() && count <= self.max_slots, "a power of two of at most {}", self.max_slots);
    }

    /// u to z, in place.
    ///
    /// # Panics
    /// Unless there is a power of two of values, at most [`Self::max_slots`].
    pub fn forward(&self, values: &mut [Complex]) {
        self.check(values.len());
        bit_reverse(values);
        let mut half = 1;
        while half < values.len() {
            let twiddles = &self.twiddles[half..2 * half];
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((low, high), &twiddle) in low.iter_mut().zip(high).zip(twiddles) {
                    let product = *high * twiddle;
                    (*low, *high) = (*low + product, *low - product);
                }
            }
            half *= 2;
        }
    }

    /// z to u, in place.
    ///
    /// # Panics
    /// As [`Self::forward`].
    pub fn inverse(&self, values: &mut [Complex]) {
        self.check(values.len());
        let mut half = values.len() / 2;
        while half > 0 {
            let twiddles = &self.twiddles[half..2 * half];
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((low, high), &twiddle) in low.iter_mut().zip(high).zip(twiddles) {
                    let (sum, difference) = (*low + *high, *low - *high);
                    (*low, *high) = (sum.scale(0.5), difference.scale(0.5) * twiddle.conjugate());
                }
            }
            half /= 2;
        }
        bit_reverse(values);
    }

    /// Bounds the error of each u after [`Self::inverse`] of `count` values of absolute value up to `max`.
    pub fn inverse_error(count: usize, max: f64) -> f64 {
        6.0 * f64::from(count.max(1).ilog2()) * f64::EPSILON / 2.0 * max
    }

    /// Bounds the error of each z after [`Self::forward`] of `count` values whose absolute values add up to `sum`.
    pub fn forward_error(count: usize, sum: f64) -> f64 {
        Self::inverse_error(count, sum)
    }
}

fn bit_reverse(values: &mut [Complex]) {
    let bits = values.len().trailing_zeros();
    if bits == 0 {
        return;
    }
    for index in 0..values.len() {
        let other = index.reverse_bits() >> (usize::BITS - bits);
        if index < other {
            values.swap(index, other);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Does the transform match its definition for every size, within the error bound?

    use super::*;

    fn values(count: usize, seed: u64) -> Vec<Complex> {
        let mut stream = crate::random::Seeds::for_tests(seed).secret.stream(crate::random::Purpose::SecretKey, 0);
        (0..count).map(|_| Complex::new(stream.normal(), stream.normal())).collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        let fft = SpecialFft::new(512);
        for log2 in 0..=9 {
            let count = 1usize << log2;
            let u = values(count, log2);
            let mut z = u.clone();
            fft.forward(&mut z);
            let bound = SpecialFft::forward_error(count, u.iter().map(|u| u.abs()).sum());
            let mut power = 1;
            for z in &z {
                let order = 4 * count;
                let root = |i: usize| Complex::cis(std::f64::consts::TAU * (power * i % order) as f64 / order as f64);
                let expected = u.iter().enumerate().fold(Complex::default(), |sum, (i, &u)| sum + u * root(i));
                // The reference sum has an error too.
                assert!((*z - expected).abs() <= bound + count as f64 * 1e-15, "{count}");
                power = power * 5 % order;
            }
            let largest = z.iter().map(|z| z.abs()).fold(0.0, f64::max);
            let mut back = z.clone();
            fft.inverse(&mut back);
            for (back, u) in back.iter().zip(&u) {
                assert!((*back - *u).abs() <= bound + SpecialFft::inverse_error(count, largest), "{count}");
            }
        }
    }

    /// Round trip at a large size.
    #[test]
    fn inverse_stays_within_its_bound() {
        let count = 1 << 13;
        let fft = SpecialFft::new(count);
        let z = values(count, 1);
        let largest = z.iter().map(|z| z.abs()).fold(0.0, f64::max);
        let mut u = z.clone();
        fft.inverse(&mut u);
        let mut again = u.clone();
        fft.forward(&mut again);
        let bound = SpecialFft::forward_error(count, u.iter().map(|u| u.abs()).sum())
            + count as f64 * SpecialFft::inverse_error(count, largest);
        assert!(again.iter().zip(&z).all(|(again, z)| (*again - *z).abs() <= bound));
        // In mean square, slots and coefficients have the same error, far below the worst case.
        let square = |a: &[Complex], b: &[Complex]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (*a - *b).abs().powi(2)).sum::<f64>() / a.len() as f64
        };
        assert!(square(&again, &z).sqrt() < 1e-14);
    }
}
