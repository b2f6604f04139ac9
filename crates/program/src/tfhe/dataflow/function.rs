//! Functions of lookups, and their test polynomials.
//!
//! In a component with step 1/P, unit m has the phase x = m · 2N / P after the modulus switch to 2N. The torus is divided into
//! slots, with boundaries midway between neighboring values. A boundary falls on an integer b = ceil(..): integer phases round to
//! the side of b - 1/2. The window of a table is the N consecutive phases from the lower boundary of the smallest value. The other
//! N phases give the negated results, because X^N = -1.

use crate::tfhe::homomorphic::{Range, steps::twice_sign_threshold};
use crate::tfhe::kernel::TestPolynomial;
use polyfabric_kernels::Torus;
use polyfabric_schemes::tfhe::encoding::TorusStep;

/// A function on torus units.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Function {
    /// The units that are read.
    pub domain: Range,
    /// P of the operand.
    pub step_in: u32,
    /// P of the result.
    pub step_out: u32,
    pub kind: FunctionKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FunctionKind {
    /// One result in units for each value of the domain, ascending; the domain fits in half the torus.
    Table(Vec<i64>),
    /// The same on a wider domain; values half a torus apart have negated results.
    Whole(Vec<i64>),
    /// +1 on the half torus from the threshold on, -1 on the other half.
    Sign,
}

impl Function {
    /// ceil(`twice` / 2 · 2N / P): the first integer phase not below the real one.
    fn boundary(&self, twice: i64, degree: usize) -> i64 {
        let numerator = i128::from(twice) * degree as i128;
        let step = i128::from(self.step_in);
        // Fits in i64: |twice| < 2^42 and degree ≤ 2^17.
        (numerator.div_euclid(step) + i128::from(numerator.rem_euclid(step) != 0)) as i64
    }

    fn window_start(&self, degree: usize) -> i64 {
        match self.kind {
            FunctionKind::Table(_) | FunctionKind::Whole(_) => {
                self.boundary(2 * self.domain.lo() - self.domain.slot(), degree)
            }
            FunctionKind::Sign => self.boundary(twice_sign_threshold(self.domain), degree),
        }
    }

    /// The test polynomial for ring degree N = `degree` and torus elements of `bits` bits.
    pub fn test_polynomial(&self, degree: usize, bits: u32) -> TestPolynomial {
        let unit = match bits {
            32 => u64::from(TorusStep { denominator: self.step_out }.unit::<u32>()),
            _ => TorusStep { denominator: self.step_out }.unit::<u64>(),
        };
        let mask = if bits == 32 { u64::from(u32::MAX) } else { u64::MAX };
        let torus = |units: i64| unit.wrapping_mul_signed(units) & mask;
        let start = self.window_start(degree);
        let mut window = vec![0; degree];
        match &self.kind {
            FunctionKind::Sign => window.fill(torus(1)),
            FunctionKind::Table(entries) => {
                let mut from = 0;
                for (entry, value) in entries.iter().zip(self.domain.values()) {
                    let end = self.boundary(2 * value + self.domain.slot(), degree) - start;
                    let last = value == self.domain.hi();
                    // Phases beyond the largest value round to it.
                    let end = if last { degree } else { (end.max(0) as usize).min(degree) };
                    window[from.min(end)..end].fill(torus(*entry));
                    from = from.max(end);
                }
            }
            FunctionKind::Whole(entries) => {
                // Fill half the torus from the lowest value. Values beyond it are negatives of values half a torus below, or have that
                // phase to themselves.
                for (entry, value) in entries.iter().zip(self.domain.values()) {
                    let from = self.boundary(2 * value - self.domain.slot(), degree) - start;
                    let end = self.boundary(2 * value + self.domain.slot(), degree) - start;
                    for phase in from.max(0)..end {
                        let turned = (phase as usize / degree) % 2 == 1;
                        window[phase as usize % degree] = torus(if turned { -*entry } else { *entry });
                    }
                }
            }
        }
        Self::placed(start, &window, mask)
    }

    /// The test polynomial of a [`FunctionKind::Sign`] with the results ±`value`.
    pub fn signs(&self, degree: usize, bits: u32, value: u64) -> TestPolynomial {
        let mask = if bits == 32 { u64::from(u32::MAX) } else { u64::MAX };
        Self::placed(self.window_start(degree), &vec![value; degree], mask)
    }

    /// Window index w is phase `start` + w; phases N..2N are negated coefficients.
    fn placed(start: i64, window: &[u64], mask: u64) -> TestPolynomial {
        let degree = window.len();
        let period = 2 * degree as i64;
        let mut coefficients = vec![0; degree];
        for (offset, &value) in window.iter().enumerate() {
            let phase = (start + offset as i64).rem_euclid(period) as usize;
            let negated = value.wrapping_neg() & mask;
            coefficients[phase % degree] = if phase < degree { value } else { negated };
        }
        TestPolynomial::from_coefficients(coefficients)
    }

    /// Distances from a value's phase to the nearest phases that decode wrongly, on the nearer and on the further side, minimized
    /// over values, as fractions of the torus. The first is the noise that the lookup tolerates; it is at most 0 if the ring is too
    /// small to distinguish the values.
    pub fn margins(&self, degree: usize) -> [f64; 2] {
        let period = 2.0 * degree as f64;
        let phase = |value: i64| value as f64 * period / f64::from(self.step_in);
        let edge = |twice: i64| self.boundary(twice, degree) as f64 - 0.5;
        let slot = self.domain.slot();
        let distances = match self.kind {
            FunctionKind::Table(_) | FunctionKind::Whole(_) => {
                let around = |value: i64| {
                    let up = edge(2 * value + slot) - phase(value);
                    let down = phase(value) - edge(2 * value - slot);
                    [up.min(down), up.max(down)]
                };
                self.domain.values().map(around).fold(UNBOUNDED, least)
            }
            FunctionKind::Sign => {
                let edge = edge(twice_sign_threshold(self.domain));
                let around = |value: i64| {
                    let offset = (phase(value) - edge).rem_euclid(degree as f64);
                    // Every value is at least half the window from one of the edges.
                    [offset.min(degree as f64 - offset), degree as f64 / 2.0]
                };
                // The minimum is attained at the outermost values or next to the threshold.
                let above = self.domain.lo().rem_euclid(slot);
                let candidates = [self.domain.lo(), self.domain.hi(), above - slot, above];
                let inside = candidates.into_iter().filter(|&value| self.domain.contains(value));
                inside.map(around).fold(UNBOUNDED, least)
            }
        };
        distances.map(|distance| distance / period)
    }
}

const UNBOUNDED: [f64; 2] = [f64::INFINITY; 2];

fn least(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].min(b[1])]
}

#[cfg(test)]
mod tests {
    //! Does the test polynomial give the function for every phase within the margin, and a different value just outside?

    use super::*;

    const DEGREE: usize = 64;

    /// The constant coefficient after a blind rotation by `phase`.
    fn read(polynomial: &[u32], phase: i64) -> u32 {
        let phase = phase.rem_euclid(2 * DEGREE as i64) as usize;
        if phase < DEGREE { polynomial[phase] } else { polynomial[phase - DEGREE].wrapping_neg() }
    }

    fn check(function: &Function, expected: impl Fn(i64) -> i64) {
        let polynomial = function.test_polynomial(DEGREE, 32).coefficients::<u32>();
        assert_eq!(polynomial.len(), DEGREE);
        let unit = TorusStep { denominator: function.step_out }.unit::<u32>();
        let [margin, further] = function.margins(DEGREE);
        assert!(0.0 < margin && margin <= further, "{function:?}");
        let period = 2.0 * DEGREE as f64;
        let mut tight = false;
        for value in function.domain.values() {
            let centre = value as f64 / f64::from(function.step_in);
            let want = unit.wrapping_mul_signed(expected(value));
            for noise in [-margin, -margin / 2.0, 0.0, margin / 2.0, margin] {
                // Just inside the margin.
                let phase = ((centre + noise * 0.999) * period).round() as i64;
                assert_eq!(read(&polynomial, phase), want, "{function:?} {value} {noise}");
            }
            // Up to the further distance on at least one side.
            let right = |side: f64| {
                let phase = ((centre + side * 0.999 * further) * period).round() as i64;
                read(&polynomial, phase) == want
            };
            assert!(right(-1.0) || right(1.0), "{function:?} {value} {further}");
            tight |= [-1.0, 1.0].iter().any(|side| {
                let phase = ((centre + side * (margin + 1.01 / period)) * period).round() as i64;
                read(&polynomial, phase) != want
            });
        }
        assert!(tight, "the margin is not tight: {function:?}");
    }

    #[test]
    fn tables_over_any_window() {
        for (lo, hi, stride) in [(0, 7, 1), (-5, 4, 1), (3, 9, 1), (-3, 3, 2), (-6, 3, 3)] {
            let domain = Range::with_stride(lo, hi, stride).unwrap();
            let required = crate::tfhe::homomorphic::steps::table_requirement(domain) as u32;
            for step_in in [required, required + 2, required.next_power_of_two()] {
                let entries: Vec<i64> = domain.values().map(|value| value * value - 3).collect();
                let kind = FunctionKind::Table(entries);
                check(&Function { domain, step_in, step_out: 256, kind }, |value| value * value - 3);
            }
        }
    }

    #[test]
    fn signs_over_the_whole_torus() {
        for (lo, hi, stride) in [(-7, 7, 2), (-4, 5, 1), (-6, 6, 4), (-9, 3, 3), (-5, 9, 2)] {
            let domain = Range::with_stride(lo, hi, stride).unwrap();
            let step_in = crate::tfhe::homomorphic::steps::sign_requirement(domain) as u32;
            let function = Function { domain, step_in, step_out: 8, kind: FunctionKind::Sign };
            check(&function, |value| if value >= 0 { 1 } else { -1 });
        }
    }

    #[test]
    fn odd_sums_have_twice_the_margin() {
        let margin = |stride, lo, hi| {
            let domain = Range::with_stride(lo, hi, stride).unwrap();
            Function { domain, step_in: 32, step_out: 8, kind: FunctionKind::Sign }.margins(1 << 14)[0] * 32.0
        };
        assert!((margin(2, -15, 15) - 1.0).abs() < 1e-2);
        assert!((margin(1, -15, 15) - 0.5).abs() < 1e-2);
    }
}
