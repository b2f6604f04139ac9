//! The encoding's transform between slots and coefficients as a product of sparse matrices.
//!
//! For n dividing N/2, n CKKS slots are the values w_j = Σ_k z_k·ζ^(5^j·k), ζ = e^(2πi/4n), of the n complex numbers
//! z_k = c_k + i·c_(k+n). They combine the 2n real coefficients c of a polynomial in X^(N/2n). The map z → w is a bit reversal R
//! followed by log2 n butterflies S_2, S_4, …, S_n: w = S_n ⋯ S_4·S_2·R·z (J. H. Cheon, A. Kim et al., ASIACRYPT 2017; K. Han,
//! M. Hhan and J. H. Cheon, IEEE Access 2019). Bootstrapping treats coefficients separately, so it omits R in both directions.
//! Merging consecutive butterflies gives a few matrices with few diagonals, which use few levels (J.-P. Bossuat et al.,
//! EUROCRYPT 2021, section 5).

use crate::rns::homomorphic::Complex;
use std::collections::BTreeMap;

/// A matrix by generalized diagonals, acting on vectors of period `period`: row i, column i + offset modulo the period.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Period of vectors and diagonals; a power of two.
    pub period: usize,
    /// By offset, from −period/2 to period/2; `period` entries each.
    pub diagonals: BTreeMap<i64, Vec<Complex>>,
}

impl Factor {
    /// The product with a vector of `period` entries.
    ///
    /// # Panics
    /// If the vector has another length.
    pub fn apply(&self, vector: &[Complex]) -> Vec<Complex> {
        assert_eq!(vector.len(), self.period, "a vector of one period");
        let mut result = vec![Complex::default(); self.period];
        for (&offset, diagonal) in &self.diagonals {
            for (row, (entry, target)) in diagonal.iter().zip(&mut result).enumerate() {
                let column = (row as i64 + offset).rem_euclid(self.period as i64) as usize;
                *target = *target + *entry * vector[column];
            }
        }
        result
    }
}

/// Packing of slots and coefficients for the transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// n = N/2: coefficients form complex numbers z; conjugation separates real and imaginary parts.
    Full,
    /// n < N/2: a vector of 2n entries contains both parts, so one modular reduction handles both. Slots to vector: (z | −i·z) plus its
    /// conjugate is 2·(Re z | Im z). Vector to slots: (x | y) maps to (S·x | i·S·y), which plus its rotation by n is S·(x + iy) twice.
    Sparse,
}

/// `constant` times the inverse transform from slots to z in bit-reversed order (without R), in at most `levels` factors, in order of
/// application.
pub fn coefficients_to_slots(slots: usize, packing: Packing, levels: usize, constant: f64) -> Vec<Factor> {
    let mut stages: Vec<Banded> = Banded::stages(slots).map(|len| Banded::butterfly(slots, len, true)).collect();
    stages.reverse();
    let halves = Complex::from(0.0) - Complex::new(0.0, 1.0);
    let groups = grouped(stages, slots, levels);
    let last = groups.len() - 1;
    let each = constant.powf(1.0 / groups.len() as f64);
    let wrap = |(index, group): (usize, Banded)| match packing {
        Packing::Sparse if index == last => {
            // The input has period n, so reduce offsets modulo n and double the rows.
            let single = group.wrapped(slots, each);
            let double = |entries: Vec<Complex>| {
                let second: Vec<Complex> = entries.iter().map(|&entry| entry * halves).collect();
                [entries, second].concat()
            };
            let diagonals = single.diagonals.into_iter().map(|(offset, entries)| (offset, double(entries))).collect();
            Factor { period: 2 * slots, diagonals }
        }
        _ => group.wrapped(slots, each),
    };
    groups.into_iter().enumerate().map(wrap).collect()
}

/// `constant` times the transform from z in bit-reversed order to slots (without R), in at most `levels` factors, in order of
/// application.
pub fn slots_to_coefficients(slots: usize, packing: Packing, levels: usize, constant: f64) -> Vec<Factor> {
    let stages: Vec<Banded> = Banded::stages(slots).map(|len| Banded::butterfly(slots, len, false)).collect();
    let mut groups = grouped(stages, slots, levels);
    let each = constant.powf(1.0 / groups.len() as f64);
    let first = groups.remove(0);
    let first = match packing {
        Packing::Full => first.wrapped(slots, each),
        Packing::Sparse => first.doubled().wrapped(2 * slots, each),
    };
    std::iter::once(first).chain(groups.into_iter().map(|group| group.wrapped(slots, each))).collect()
}

/// Merges neighboring stages into `levels` products of nearly equal size. Smaller ones come first, at higher levels, where operations
/// cost more.
fn grouped(stages: Vec<Banded>, slots: usize, levels: usize) -> Vec<Banded> {
    let groups = levels.clamp(1, stages.len().max(1));
    let count = stages.len();
    let mut stages = stages.into_iter();
    let product = |group: usize| {
        let size = count * (group + 1) / groups - count * group / groups;
        stages.by_ref().take(size).fold(Banded::identity(slots), |product, stage| stage.multiply(&product))
    };
    (0..groups).map(product).collect()
}

/// A matrix by diagonals without wraparound: row i, column i + offset, both from 0 to size − 1.
struct Banded {
    size: usize,
    diagonals: BTreeMap<i64, Vec<Complex>>,
}

impl Banded {
    fn identity(size: usize) -> Self {
        Self { size, diagonals: BTreeMap::from([(0, vec![Complex::from(1.0); size])]) }
    }

    /// Lengths of the butterflies for `slots`: 2, 4, …, n.
    fn stages(slots: usize) -> impl Iterator<Item = usize> {
        (1..=slots.trailing_zeros()).map(|log| 1 << log)
    }

    /// S_len, or its inverse: on each block of `len`, (u, v) → (u + ω_j·v, u − ω_j·v) with ω_j = e^(2πi·5^j/4len).
    fn butterfly(size: usize, len: usize, inverse: bool) -> Self {
        let half = len / 2;
        let [mut same, mut ahead, mut behind] = [(); 3].map(|()| vec![Complex::default(); size]);
        let mut power = 1;
        for j in 0..half {
            let angle = std::f64::consts::TAU * power as f64 / (4 * len) as f64;
            let root = Complex::new(angle.cos(), angle.sin());
            for start in (0..size).step_by(len) {
                let (upper, lower) = (start + j, start + j + half);
                if inverse {
                    (same[upper], ahead[upper]) = (0.5.into(), 0.5.into());
                    let conjugate = root.conjugate() * 0.5.into();
                    (behind[lower], same[lower]) = (conjugate, -conjugate);
                } else {
                    (same[upper], ahead[upper]) = (1.0.into(), root);
                    (behind[lower], same[lower]) = (1.0.into(), -root);
                }
            }
            power = power * 5 % (4 * len);
        }
        let half = half as i64;
        Self { size, diagonals: BTreeMap::from([(0, same), (half, ahead), (-half, behind)]) }
    }

    /// The product self·other.
    fn multiply(&self, other: &Self) -> Self {
        let mut diagonals = BTreeMap::<i64, Vec<Complex>>::new();
        for (&left, entries) in &self.diagonals {
            for (&right, others) in &other.diagonals {
                let target = diagonals.entry(left + right).or_insert_with(|| vec![Complex::default(); self.size]);
                for (row, (entry, target)) in entries.iter().zip(target).enumerate() {
                    let column = row as i64 + left;
                    if (0..self.size as i64).contains(&column) {
                        *target = *target + *entry * others[column as usize];
                    }
                }
            }
        }
        diagonals.retain(|_, entries| entries.iter().any(|&entry| entry != Complex::default()));
        Self { size: self.size, diagonals }
    }

    /// The block matrix (self, 0; 0, i·self).
    fn doubled(self) -> Self {
        let double = |entries: Vec<Complex>| {
            let second: Vec<Complex> = entries.iter().map(|&entry| entry * Complex::new(0.0, 1.0)).collect();
            [entries, second].concat()
        };
        let diagonals = self.diagonals.into_iter().map(|(offset, entries)| (offset, double(entries))).collect();
        Self { size: 2 * self.size, diagonals }
    }

    /// `constant` times the matrix, with offsets modulo `period`, which equals its size.
    fn wrapped(self, period: usize, constant: f64) -> Factor {
        let mut diagonals = BTreeMap::<i64, Vec<Complex>>::new();
        let whole = period as i64;
        for (offset, entries) in self.diagonals {
            // Representative from −period/2 + 1 to period/2.
            let reduced = (offset + whole / 2 - 1).rem_euclid(whole) - whole / 2 + 1;
            let target = diagonals.entry(reduced).or_insert_with(|| vec![Complex::default(); period]);
            target.iter_mut().zip(entries).for_each(|(target, entry)| *target = *target + entry * constant.into());
        }
        Factor { period, diagonals }
    }
}

/// The transform by definition, w_j = Σ_k z_k·e^(2πi·5^j·k/4n). Slow; a reference for tests.
pub fn reference(values: &[Complex]) -> Vec<Complex> {
    let order = 4 * values.len();
    let mut power = 1;
    let mut slots = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let term = |(k, &value): (usize, &Complex)| {
            let angle = std::f64::consts::TAU * (power * k % order) as f64 / order as f64;
            value * Complex::new(angle.cos(), angle.sin())
        };
        slots.push(values.iter().enumerate().map(term).fold(Complex::default(), |sum, term| sum + term));
        power = power * 5 % order;
    }
    slots
}

/// Permutes the entries by bit reversal of their indices. The length is a power of two.
pub fn bit_reverse<T>(values: &mut [T]) {
    let bits = values.len().trailing_zeros();
    if bits == 0 {
        return;
    }
    for index in 0..values.len() {
        let reversed = index.reverse_bits() >> (usize::BITS - bits);
        if index < reversed {
            values.swap(index, reversed);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Is the product of the factors the transform, or its inverse, for every packing and number of levels?

    use super::*;

    fn random(count: usize, seed: u64) -> Vec<Complex> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 2f64.powi(52) - 1.0
        };
        (0..count).map(|_| Complex::new(next(), next())).collect()
    }

    fn run(factors: &[Factor], input: &[Complex]) -> Vec<Complex> {
        let mut values = input.to_vec();
        for factor in factors {
            // Extend a vector to a longer period.
            values = if values.len() < factor.period { [values.clone(), values].concat() } else { values };
            if values.len() > factor.period {
                values.truncate(factor.period);
            }
            values = factor.apply(&values);
        }
        values
    }

    fn distance(a: &[Complex], b: &[Complex]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(&a, &b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn full_packing() {
        for log in 1..=8 {
            let slots = 1usize << log;
            let values = random(slots, log as u64);
            let wanted = reference(&values);
            let mut reversed = values.clone();
            bit_reverse(&mut reversed);
            for levels in 1..=log {
                let factors = slots_to_coefficients(slots, Packing::Full, levels, 3.0);
                assert_eq!(factors.len(), levels);
                let scaled: Vec<Complex> = wanted.iter().map(|&value| value * 3.0.into()).collect();
                assert!(distance(&run(&factors, &reversed), &scaled) < 1e-11 * slots as f64);
                let factors = coefficients_to_slots(slots, Packing::Full, levels, 0.25);
                let scaled: Vec<Complex> = reversed.iter().map(|&value| value * 0.25.into()).collect();
                assert!(distance(&run(&factors, &wanted), &scaled) < 1e-12 * slots as f64);
            }
        }
    }

    #[test]
    fn sparse_packing() {
        for log in 0..=6 {
            let slots = 1usize << log;
            let values = random(slots, 77 + log as u64);
            let mut reversed = values.clone();
            bit_reverse(&mut reversed);
            for levels in 1..=log.max(1) {
                let factors = coefficients_to_slots(slots, Packing::Sparse, levels, 1.0);
                let both = run(&factors, &reference(&values));
                let parts: Vec<Complex> = both.iter().map(|&value| value + value.conjugate()).collect();
                let wanted: Vec<Complex> = reversed.iter().map(|value| (2.0 * value.re).into()).collect();
                let wanted = [wanted, reversed.iter().map(|value| (2.0 * value.im).into()).collect()].concat();
                assert!(distance(&parts, &wanted) < 1e-11 * slots as f64);
                let factors = slots_to_coefficients(slots, Packing::Sparse, levels, 1.0);
                // Add the rotation after the first factor, as the lowering does.
                let halves = factors[0].apply(&parts);
                let folded: Vec<Complex> = (0..slots).map(|i| halves[i] + halves[i + slots]).collect();
                let wanted: Vec<Complex> = reference(&values).iter().map(|&value| value * 2.0.into()).collect();
                assert!(distance(&run(&factors[1..], &folded), &wanted) < 1e-10 * slots as f64);
            }
        }
    }

    #[test]
    fn diagonals_are_few() {
        // 15 butterflies in 4 and in 3 matrices: 2^(k+1) − 1 diagonals each, half of them where offsets wrap.
        let count = |factors: &[Factor]| factors.iter().map(|factor| factor.diagonals.len()).collect::<Vec<_>>();
        assert_eq!(count(&coefficients_to_slots(1 << 15, Packing::Full, 4, 1.0)), [8, 31, 31, 31]);
        assert_eq!(count(&slots_to_coefficients(1 << 15, Packing::Full, 3, 1.0)), [63, 63, 32]);
    }
}
