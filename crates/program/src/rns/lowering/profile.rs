//! Error propagation through a polynomial, at sample points of its variable.
//!
//! Bounds that take every intermediate value at its maximum are useless for polynomials. From T_k to T_2k an error grows by 4·|T_k|,
//! which is 4 only where |T_k| = 1, and errors of one source that arrive on several paths partly cancel. So within a polynomial the
//! first-order error is tracked exactly at points x: it is Σ_s D_s(x)·ε_s over the sources s, with independent ε_s of deviation 1, and
//! every operation transforms values and D_s as it transforms numbers. Second-order terms become a new source.
//!
//! The variable's own error ε may be large after a bootstrapping, and is treated without a Taylor expansion. The result for x + ε is
//! F(x + ε) plus the errors of its steps there. Points therefore cover every possible x + ε, including imaginary parts, and
//! |F(x + ε) − F(x)| is at most |ε| times the largest slope F'. So the steep middle of a sign is multiplied by the small x of a
//! rectifier there, instead of by the accumulated errors of the sign's squares.
//!
//! Compositions of several polynomials of one value are tracked as a whole too ([`super::regions`]).

use super::value::Rounding;
use crate::rns::homomorphic::{Complex, Values};
use polyfabric_kernels::cancel;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Sample points of the variable, and how errors at the points are summarized.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// Chebyshev points of an interval; the summary is the maximum over the whole interval.
    Interval {
        /// Ends of the interval.
        ends: (f64, f64),
        /// The slots behind the end of a vector, if they have a different function.
        behind: Option<Behind>,
        /// Number of points.
        count: usize,
        /// Maximum distance of the variable from the interval because of its error. The points lie on the border of all such numbers; the
        /// upper half suffices for functions with conjugate values at conjugate numbers.
        margin: f64,
        /// Whether the lower half is included too.
        whole: bool,
    },
    /// Random values of known probabilities, independent between slots; the summary is the mean square over a number of slots.
    Random {
        /// Values and their probabilities.
        values: Vec<(f64, f64)>,
        /// Number of slots.
        count: usize,
        /// −ln of the probability with which the mean square may be larger.
        beyond: f64,
    },
    /// All values that the variable has; the summary is the maximum over them.
    Each(Vec<Complex>),
}

/// Padding slots behind the end of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behind {
    /// The first of them.
    pub first: usize,
    /// The variable's interval there.
    pub ends: (f64, f64),
}

/// Up to this degree there are eight points per degree, above it four.
const FINE_DEGREE: usize = 256;

impl Points {
    /// Points for polynomials of degree `degree` on \[−1, 1].
    pub fn interval(degree: usize) -> Self {
        Self::between((-1.0, 1.0), None, degree)
    }

    /// Points for polynomials of degree `degree` on the interval `ends`.
    pub fn between(ends: (f64, f64), behind: Option<Behind>, degree: usize) -> Self {
        let each = if degree <= FINE_DEGREE { 8 } else { 4 };
        Self::Interval { ends, behind, count: each * degree.max(1), margin: 0.0, whole: false }
    }

    /// The points if the variable has errors up to `error`; `real` if the functions have conjugate values at conjugate numbers.
    pub fn around(mut self, error: f64, real: bool) -> Self {
        if let Self::Interval { margin, whole, .. } = &mut self {
            // An unknown error leads to no statement about any function.
            *margin = if error.is_finite() { error } else { 0.0 };
            *whole = !real;
        }
        self
    }

    fn places(&self) -> Vec<Complex> {
        match self {
            &Self::Interval { ends, behind, count, margin, whole } => {
                let on = |ends| border(ends, count, margin, whole);
                on(ends).into_iter().chain(behind.into_iter().flat_map(|behind| on(behind.ends))).collect()
            }
            Self::Random { values, .. } => values.iter().map(|&(value, _)| value.into()).collect(),
            Self::Each(values) => values.clone(),
        }
    }

    /// Bound of a polynomial of degree `degree` on the interval, from its magnitudes at the points; for other points, their maximum.
    ///
    /// On an interval, a polynomial of degree d is at most 1/cos(πd/2M) times its maximum over M points (H. Ehlich, K. Zeller, 1964).
    fn largest(&self, values: &[f64], degree: usize) -> f64 {
        let largest = largest_of(values);
        match self {
            &Self::Interval { count, .. } if degree < count => {
                largest / (std::f64::consts::FRAC_PI_2 * degree as f64 / count as f64).cos()
            }
            Self::Interval { .. } => f64::INFINITY,
            Self::Random { .. } | Self::Each(_) => largest,
        }
    }

    /// The overall deviation, from squared deviations at the points, which are polynomials of degree `degree`.
    fn deviation(&self, squares: &[f64], degree: usize) -> f64 {
        let largest = largest_of(squares);
        match self {
            Self::Interval { .. } | Self::Each(_) => self.largest(squares, degree).sqrt(),
            Self::Random { values, count, beyond } => {
                // Bernstein's inequality for the mean of independent numbers in [0, largest].
                let mean: f64 =
                    values.iter().zip(squares).map(|(&(_, probability), square)| probability * square).sum();
                let count = *count as f64;
                let above = (2.0 * mean * largest * beyond / count).sqrt() + largest * beyond / (1.5 * count);
                largest.min(mean + above).sqrt()
            }
        }
    }

    /// Number of points for slots before the end, and the first slot behind it.
    fn end(&self) -> Option<(usize, usize)> {
        match self {
            &Self::Interval { ends, behind, count, margin, whole } => {
                behind.map(|behind| (border(ends, count, margin, whole).len(), behind.first))
            }
            Self::Random { .. } | Self::Each(_) => None,
        }
    }

    /// The public vector `values` at each point, if it is constant before the end and behind it.
    fn of_vector(&self, values: &Values) -> Option<Vec<Complex>> {
        let Values::Complex(values) = values else { return None };
        let count = self.places().len();
        let (inside, first) = self.end().unwrap_or((count, values.len()));
        let first = first.min(values.len());
        let (own, rest) = values.split_at(first);
        let one = |part: &[Complex]| part.first().copied().filter(|number| part.iter().all(|other| other == number));
        let own = one(own)?;
        let behind = if rest.is_empty() { own } else { one(rest)? };
        Some((0..count).map(|point| if point < inside { own } else { behind }).collect())
    }
}

/// The maximum. NaN results from numbers that overflow, so it counts as infinite.
fn largest_of(magnitudes: &[f64]) -> f64 {
    let larger = |largest: f64, &one: &f64| if one.is_nan() { f64::INFINITY } else { largest.max(one) };
    magnitudes.iter().fold(0.0, larger)
}

/// Sample points on the border of the rectangle that contains all numbers within `margin` of an interval: the upper half, or both with
/// `whole`. By the maximum principle, polynomials and sums of squares of polynomials are not larger inside. Without a margin, the
/// interval's own points.
///
/// A long side has `count` Chebyshev points. A short side has several times the effective degree there: at distance u beyond the end, in
/// half intervals, T_d grows as cosh(d·√(2u)) and so varies with d·√(2u).
fn border(ends: (f64, f64), count: usize, margin: f64, whole: bool) -> Vec<Complex> {
    let nodes = |count: usize| (0..count).map(move |i| (std::f64::consts::PI * (i as f64 + 0.5) / count as f64).cos());
    let (lo, hi) = (ends.0 - margin, ends.1 + margin);
    let mut places: Vec<Complex> =
        nodes(count).map(|u| Complex::new((lo + hi + (hi - lo) * u) / 2.0, margin)).collect();
    if margin > 0.0 {
        let changes = count as f64 * (4.0 * margin / (hi - lo)).sqrt();
        let side = (SIDE + 2 * changes.ceil() as usize).min(count).next_multiple_of(2);
        for end in [lo, hi] {
            // The nodes are symmetric; the first half is the upper one.
            places.extend(nodes(side).take(side / 2).map(|u| Complex::new(end, margin * u)));
        }
    }
    if whole {
        let lower: Vec<Complex> = places.iter().map(|place| place.conjugate()).collect();
        places.extend(lower);
    }
    places
}

/// Minimum number of points on a short side.
const SIDE: usize = 16;

/// The variable's own error.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// Deviation, and bounds of the systematic and the concentrated error, in units of the variable's phase.
    errors: [f64; 3],
    /// Derivative of the value's phase by the variable's, at the points.
    slope: Vec<Complex>,
}

/// A value and its error at the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    points: Arc<Points>,
    /// The message, not scaled.
    values: Vec<Complex>,
    /// D_s by source, in units of the phase.
    terms: BTreeMap<u64, Vec<Complex>>,
    /// The variable's own error if the points are those of an interval; otherwise it is one of the sources.
    entry: Option<Entry>,
    /// Degree of the message as a polynomial in the variable.
    degree: usize,
    /// Degree of the D_s.
    term_degree: usize,
}

/// Marks a source of systematic error, which is equal in every run: known up to a factor in [−1, 1].
const SYSTEMATIC: u64 = 1 << 61;
/// Marks the source of [`super::Noise::concentrated`].
const CONCENTRATED: u64 = 1 << 60;
/// Both marks.
const MARKS: u64 = SYSTEMATIC | CONCENTRATED;
/// Marks the conjugate of a source's error, which is uncorrelated with it.
const CONJUGATE: u64 = 1 << 62;

impl Profile {
    /// The variable itself, with an error from `source`: deviation, and bounds of the systematic and the concentrated error.
    pub fn variable(points: Points, errors: [f64; 3], source: u64) -> Self {
        let values = points.places();
        let constant = |value: f64| vec![Complex::from(value); values.len()];
        let (mut terms, mut entry) = (BTreeMap::new(), None);
        if let Points::Interval { .. } = points {
            entry = Some(Entry { errors, slope: constant(1.0) });
        } else {
            let marks = [0, SYSTEMATIC, CONCENTRATED].into_iter().zip(errors).filter(|&(_, error)| error != 0.0);
            terms = marks.map(|(mark, error)| (source | mark, constant(error))).collect();
        }
        Self { points: Arc::new(points), values, terms, entry, degree: 1, term_degree: 0 }
    }

    /// Whether the message is in [−1, 1] at all points, up to `slack`.
    pub fn is_within_one(&self, slack: f64) -> bool {
        self.values.iter().all(|value| value.abs() <= 1.0 + slack)
    }

    pub fn sources(&self) -> impl Iterator<Item = u64> {
        self.terms.keys().copied()
    }

    /// Merges, for each kind of error, the sources that are not in `kept` into the one source `source`. No other value has these sources, so
    /// independent errors merge into one of equal deviation at each point.
    pub fn compacted(mut self, kept: &BTreeSet<u64>, source: u64) -> Self {
        for (marks, power) in [(0, 2), (SYSTEMATIC, 1), (CONCENTRATED, 1)] {
            let own = |found: u64| found & MARKS == marks && !kept.contains(&found);
            let mut sums = vec![0.0; self.values.len()];
            let mut count = 0;
            self.terms.retain(|&found, term| {
                if own(found) {
                    sums.iter_mut().zip(&*term).for_each(|(sum, value)| *sum += value.abs().powi(power));
                    count += 1;
                }
                !own(found)
            });
            if count > 0 {
                let root = |sum: f64| if power == 2 { sum.sqrt() } else { sum };
                self.terms.insert(source | marks, sums.into_iter().map(|sum| root(sum).into()).collect());
            }
        }
        self
    }

    /// Σ_s |D_s|^`power` at the points, over the sources with exactly these marks.
    fn sums(&self, marks: u64, power: i32) -> Vec<f64> {
        let mut sums = vec![0.0; self.values.len()];
        for term in self.marked(marks) {
            sums.iter_mut().zip(term).for_each(|(sum, value)| *sum += value.abs().powi(power));
        }
        sums
    }

    /// Bounds of the errors at the points, with `tail` deviations for random ones.
    fn bounds(&self, tail: f64) -> Vec<f64> {
        let mut bounds: Vec<f64> = self.sums(0, 2).iter().map(|square| tail * square.sqrt()).collect();
        for marks in [SYSTEMATIC, CONCENTRATED] {
            bounds.iter_mut().zip(self.sums(marks, 1)).for_each(|(sum, own)| *sum += own);
        }
        bounds
    }

    /// Bound of the variable's error of one kind (an index into [`Entry::errors`]) in the value: the error times the largest slope.
    fn entered(&self, kind: usize) -> f64 {
        let Some(Entry { errors, slope }) = self.entry.as_ref().filter(|entry| entry.errors[kind] != 0.0) else {
            return 0.0;
        };
        let slopes: Vec<f64> = slope.iter().map(|slope| slope.abs()).collect();
        errors[kind] * self.points.largest(&slopes, self.term_degree)
    }

    /// Deviation of the random errors.
    pub fn deviation(&self) -> f64 {
        let own = self.points.deviation(&self.sums(0, 2), 2 * self.term_degree).hypot(self.fluctuation());
        own.hypot(self.entered(0))
    }

    /// Bound of the systematic error. For random points it is the mean over the points; the rest counts as random.
    pub fn systematic(&self) -> f64 {
        match &*self.points {
            Points::Interval { .. } | Points::Each(_) => {
                self.points.largest(&self.sums(SYSTEMATIC, 1), self.term_degree) + self.entered(1)
            }
            Points::Random { values, .. } => self.marked(SYSTEMATIC).map(|term| mean(values, term).abs()).sum(),
        }
    }

    /// Deviation of the systematic errors at random points from their means.
    fn fluctuation(&self) -> f64 {
        let Points::Random { values, .. } = &*self.points else { return 0.0 };
        let variance = |term: &Vec<Complex>| {
            let centre = mean(values, term);
            values
                .iter()
                .zip(term)
                .map(|(&(_, probability), &value)| probability * (value - centre).abs().powi(2))
                .sum::<f64>()
        };
        self.marked(SYSTEMATIC).map(variance).sum::<f64>().sqrt()
    }

    fn marked(&self, marks: u64) -> impl Iterator<Item = &Vec<Complex>> {
        self.terms.iter().filter(move |(source, _)| **source & MARKS == marks).map(|(_, term)| term)
    }

    /// Bound of [`super::Noise::concentrated`].
    pub fn concentrated(&self) -> f64 {
        self.points.largest(&self.sums(CONCENTRATED, 1), self.term_degree) + self.entered(2)
    }

    /// Bound of the message.
    pub fn magnitude(&self) -> f64 {
        self.points.largest(&self.values.iter().map(|value| value.abs()).collect::<Vec<_>>(), self.degree)
    }

    /// The sum with `sign` times `other`; `None` if that has another variable.
    pub fn plus(&self, other: &Self, sign: f64) -> Option<Self> {
        if !Arc::ptr_eq(&self.points, &other.points) {
            return None;
        }
        let sign = Complex::from(sign);
        let mut sum = self.clone();
        sum.values.iter_mut().zip(&other.values).for_each(|(a, &b)| *a = *a + b * sign);
        for (source, term) in &other.terms {
            cancel::check();
            let zero = || vec![Complex::default(); term.len()];
            let own = sum.terms.entry(*source).or_insert_with(zero);
            own.iter_mut().zip(term).for_each(|(a, &b)| *a = *a + b * sign);
        }
        if let Some((own, added)) = sum.entry.as_mut().zip(other.entry.as_ref()) {
            own.slope.iter_mut().zip(&added.slope).for_each(|(a, &b)| *a = *a + b * sign);
        }
        sum.degree = self.degree.max(other.degree);
        sum.term_degree = self.term_degree.max(other.term_degree);
        Some(sum)
    }

    /// Adds `sign` times a public vector, if it is constant before the end and behind it.
    pub fn plus_vector(mut self, vector: &Values, sign: f64) -> Option<Self> {
        let numbers = self.points.of_vector(vector)?;
        self.values.iter_mut().zip(numbers).for_each(|(value, number)| *value = *value + number * sign.into());
        Some(self)
    }

    /// The product with a public vector at `scale`, if it is constant before the end and behind it. Its rounding, the error of `source`, is
    /// random in every slot.
    pub fn times_vector(self, vector: &Values, scale: f64, rounding: Rounding, source: u64) -> Option<Self> {
        let numbers = self.points.of_vector(vector)?;
        let off = |(&value, bound): (&Complex, f64)| rounding.error * (rounding.scale * value.abs() + bound);
        let term: Vec<Complex> =
            self.values.iter().zip(self.bounds(rounding.tail)).map(|pair| off(pair).into()).collect();
        let mut product = self;
        product.values.iter_mut().zip(&numbers).for_each(|(value, &number)| *value = *value * number);
        let slope = product.entry.iter_mut().map(|entry| &mut entry.slope);
        for own in product.terms.values_mut().chain(slope) {
            own.iter_mut().zip(&numbers).for_each(|(value, &number)| *value = *value * number * scale.into());
        }
        product.terms.insert(source, term);
        product.term_degree = product.term_degree.max(product.degree);
        Some(product)
    }

    pub fn plus_number(mut self, number: Complex) -> Self {
        self.values.iter_mut().for_each(|value| *value = *value + number);
        self
    }

    /// The message times `message`, and the phase and its error times `phase`.
    pub fn times(mut self, message: Complex, phase: Complex) -> Self {
        self.values.iter_mut().for_each(|value| *value = *value * message);
        let slope = self.entry.iter_mut().map(|entry| &mut entry.slope);
        self.terms.values_mut().chain(slope).flatten().for_each(|value| *value = *value * phase);
        self
    }

    /// Adds a random error of deviation `deviation`.
    pub fn with_error(mut self, deviation: f64, source: u64) -> Self {
        self.terms.insert(source, vec![deviation.into(); self.values.len()]);
        self
    }

    /// Adds a systematic error up to `bound`.
    pub fn with_systematic(mut self, bound: f64, source: u64) -> Self {
        self.terms.insert(source | SYSTEMATIC, vec![bound.into(); self.values.len()]);
        self
    }

    /// Adds up to `bound` of [`super::Noise::concentrated`].
    pub fn with_concentrated(mut self, bound: f64, source: u64) -> Self {
        self.terms.insert(source | CONCENTRATED, vec![bound.into(); self.values.len()]);
        self
    }

    /// The product with a public number at `scale`.
    pub fn times_rounded(self, number: Complex, scale: f64, rounding: Rounding, source: u64) -> Self {
        let off =
            |(&value, bound): (&Complex, f64)| Complex::from(rounding.error * (rounding.scale * value.abs() + bound));
        let term = self.values.iter().zip(self.bounds(rounding.tail)).map(off).collect();
        let mut product = self.times(number, number * Complex::from(scale));
        product.terms.insert(source | SYSTEMATIC, term);
        product.term_degree = product.term_degree.max(product.degree);
        product
    }

    pub fn conjugate(mut self) -> Self {
        self.values.iter_mut().for_each(|value| *value = value.conjugate());
        let conjugated = |(source, mut term): (u64, Vec<Complex>)| {
            term.iter_mut().for_each(|value| *value = value.conjugate());
            (source ^ CONJUGATE, term)
        };
        self.terms = self.terms.into_iter().map(conjugated).collect();
        self.entry.iter_mut().flat_map(|entry| &mut entry.slope).for_each(|slope| *slope = slope.conjugate());
        self
    }

    /// The product, for phases with scales `scales`; errors stay below `tail` deviations. `None` if `other` has another variable.
    pub fn product(&self, other: &Self, scales: (f64, f64), tail: f64, source: u64) -> Option<Self> {
        if !Arc::ptr_eq(&self.points, &other.points) {
            return None;
        }
        let times = |term: &[Complex], values: &[Complex], scale: f64| -> Vec<Complex> {
            term.iter().zip(values).map(|(&term, &value)| term * value * Complex::from(scale)).collect()
        };
        let mut terms: BTreeMap<u64, Vec<Complex>> =
            self.terms.iter().map(|(&source, term)| (source, times(term, &other.values, scales.1))).collect();
        for (source, term) in &other.terms {
            cancel::check();
            let term = times(term, &self.values, scales.0);
            let zero = || vec![Complex::default(); term.len()];
            let own = terms.entry(*source).or_insert_with(zero);
            own.iter_mut().zip(&term).for_each(|(a, &b)| *a = *a + b);
        }
        let entry = self.entry.as_ref().zip(other.entry.as_ref()).map(|(own, others)| {
            let mut slope = times(&own.slope, &other.values, scales.1);
            let others = times(&others.slope, &self.values, scales.0);
            slope.iter_mut().zip(others).for_each(|(a, b)| *a = *a + b);
            Entry { errors: own.errors, slope }
        });
        // The product of both errors is at most that of their bounds.
        let both = self.bounds(tail).into_iter().zip(other.bounds(tail)).map(|(a, b)| (a * b / tail).into()).collect();
        terms.insert(source, both);
        let values = self.values.iter().zip(&other.values).map(|(&a, &b)| a * b).collect();
        let degree = self.degree + other.degree;
        let crossed = (self.term_degree + other.degree).max(other.term_degree + self.degree);
        let term_degree = crossed.max(self.term_degree + other.term_degree);
        Some(Self { points: Arc::clone(&self.points), values, terms, entry, degree, term_degree })
    }
}

/// Expected value of `term` over the points.
fn mean(values: &[(f64, f64)], term: &[Complex]) -> Complex {
    let weighted = values.iter().zip(term).map(|(&(_, probability), &value)| value * Complex::from(probability));
    weighted.fold(Complex::default(), |sum, value| sum + value)
}

#[cfg(test)]
mod tests {
    //! Is the maximum on the border, and is the effect of the variable's error bounded tightly?

    use super::*;

    const SOURCE: u64 = 1;

    /// Arbitrary numbers from [−1, 1].
    fn number(index: usize) -> f64 {
        (index as f64 * 0.754_877_666).fract() * 2.0 - 1.0
    }

    /// Σ c_k·T_k(z).
    fn series(coefficients: &[f64], z: Complex) -> Complex {
        let (mut before, mut now, mut sum) = (z, Complex::from(1.0), Complex::default());
        for &coefficient in coefficients {
            sum = sum + now * coefficient.into();
            (before, now) = (now, now * z * 2.0.into() + before * (-1.0).into());
        }
        sum
    }

    #[test]
    fn a_polynomial_is_largest_on_the_border() {
        for (degree, margin) in [(1, 0.5), (7, 0.0), (7, 1e-3), (15, 0.03), (63, 1e-4), (63, 1e-2), (300, 1e-5)] {
            for trial in 0..4 {
                let coefficients: Vec<f64> = (0..=degree).map(|k| number(1 + k + 1000 * trial)).collect();
                let points = Points::interval(degree).around(margin, true);
                let on: Vec<f64> = points.places().into_iter().map(|z| series(&coefficients, z).abs()).collect();
                let bound = points.largest(&on, degree);
                let within = (0..4000).map(|i| {
                    let (x, y) = (number(3 * i + 1), number(7 * i + 2));
                    series(&coefficients, Complex::new(x * (1.0 + margin), y * margin)).abs()
                });
                let largest = within.fold(0.0, f64::max);
                assert!(largest <= bound, "degree {degree}, margin {margin}: {largest} above {bound}");
            }
        }
    }

    #[test]
    fn any_error_of_the_variable_is_tracked() {
        for error in [1e-6, 1e-3, 0.03, 0.2] {
            let points = Points::interval(8).around(error, true);
            let x = Profile::variable(points, [0.0, error, 0.0], SOURCE);
            let mut power = x;
            for source in 0..3 {
                power = power.product(&power, (1.0, 1.0), 1.0, SOURCE + 1 + source).expect("one variable");
            }
            let found = power.systematic();
            // The maximum is beyond the end of the interval.
            let largest = (1.0 + error).powi(8) - 1.0;
            assert!(largest <= found, "{error}: {largest} above {found}");
            assert!(
                found <= largest * 1.1 * ((1.0 + error).powi(2) + error * error).powi(4),
                "{error}: {found} for {largest}"
            );
        }
    }

    #[test]
    fn overflow_counts_as_infinite() {
        let squared = |error: f64, times: usize| {
            let x = Profile::variable(Points::interval(1 << times).around(error, true), [error, 0.0, 0.0], SOURCE);
            let square = |x: Profile, source| {
                let product = x.product(&x, (1.0, 1.0), 1.0, SOURCE + 1 + source).expect("one variable");
                product.plus(&x, -1.0).expect("one variable")
            };
            (0..times as u64).fold(x, square)
        };
        let near = squared(1e-3, 5);
        assert!(near.deviation() < 1.0 && near.magnitude() < 10.0, "{} {}", near.deviation(), near.magnitude());
        // Differences of infinities on the border.
        let far = squared(1e100, 5);
        assert!(far.values.iter().any(|value| value.abs().is_nan()));
        assert_eq!((far.deviation(), far.magnitude()), (f64::INFINITY, f64::INFINITY));
        // An unknown error stays unknown.
        for points in [Points::interval(2), Points::Random { values: vec![(0.5, 1.0)], count: 8, beyond: 20.0 }] {
            let unknown = Profile::variable(points, [f64::NAN, 0.0, 0.0], SOURCE);
            assert!(unknown.deviation().is_nan() || unknown.deviation() == f64::INFINITY);
        }
    }

    #[test]
    fn a_steep_factor_counts_where_the_other_is_small() {
        // T_63 is steep at the ends, where 1 − x² is small.
        let error = 1e-4;
        let points = Points::interval(65).around(error, true);
        let x = Profile::variable(points, [0.0, error, 0.0], SOURCE);
        let square = x.product(&x, (1.0, 1.0), 1.0, 2).expect("one variable");
        let small = square.clone().times((-1.0).into(), (-1.0).into()).plus_number(1.0.into());
        let (mut before, mut now) = (x.clone(), square.times(2.0.into(), 2.0.into()).plus_number((-1.0).into()));
        for source in 0..61 {
            let product = now.product(&x, (1.0, 1.0), 1.0, 3 + source).expect("one variable");
            let twice = product.times(2.0.into(), 2.0.into());
            (before, now) = (now, twice.plus(&before, -1.0).expect("one variable"));
        }
        let steep = now.systematic();
        let product = now.product(&small, (1.0, 1.0), 1.0, 100).expect("one variable").systematic();
        assert!(steep > 3900.0 * error && product < steep / 20.0, "{steep}, {product}");
    }
}
