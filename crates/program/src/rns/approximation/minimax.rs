//! Composite minimax polynomials for the sign and for ReLU.
//!
//! An odd polynomial p_1 of small degree maps [−1, −τ] ∪ [τ, 1] near ±1, with error e_1; p_2 maps [1 − e_1, 1 + e_1] closer to 1, and
//! so on. This needs few multiplications for a large total degree (E. Lee, J.-W. Lee, J.-S. No and Y.-S. Kim, IEEE TDSC 2021). Each
//! p_i is the best odd polynomial of its degree, computed by the Remez exchange.

use super::chebyshev::check_parameter;
use super::{ApproximationError, ChebyshevSeries};

/// The sign on [−1, −τ] ∪ [τ, 1] as p_k ∘ … ∘ p_1, all odd.
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeSign {
    gap: f64,
    stages: Vec<ChebyshevSeries>,
    errors: Vec<f64>,
}

impl CompositeSign {
    /// Computes the polynomials of the odd `degrees`, in order of application, for τ = `gap`.
    ///
    /// # Errors
    /// [`ApproximationError`] if the gap is not in (0, 1), a degree is not odd from 1 to 63, or the exchange does not converge.
    pub fn new(gap: f64, degrees: &[usize]) -> Result<Self, ApproximationError> {
        check_parameter("gap around 0 of the sign", gap, 1e-9, 0.999)?;
        let (mut low, mut high) = (gap, 1.0f64);
        let (mut stages, mut errors) = (Vec::new(), Vec::new());
        for &degree in degrees {
            let (stage, error) = minimax_odd(low, high, degree)?;
            // 0 is as close to ±1: the exchange returned rounding noise because the degree is too high for the gap.
            if error >= 1.0 {
                return Err(ApproximationError::NoMinimax { degree, low, high, rounds: ROUNDS });
            }
            stages.push(stage);
            errors.push(error);
            (low, high) = (1.0 - error, 1.0 + error);
            // The remaining interval is empty up to rounding.
            if error < 1e-13 {
                break;
            }
        }
        Ok(Self { gap, stages, errors })
    }

    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// The polynomials in order of application, each in the basis of its interval [−(1 + e), 1 + e].
    pub fn stages(&self) -> &[ChebyshevSeries] {
        &self.stages
    }

    /// Largest deviation from ±1 after each polynomial.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// Largest deviation from the sign on [−1, −τ] ∪ [τ, 1].
    pub fn error(&self) -> f64 {
        self.errors.last().copied().unwrap_or(1.0)
    }

    /// The value at x in [−1, 1].
    pub fn evaluate(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |value, stage| stage.evaluate(value))
    }
}

/// Maximum rounds of an exchange.
const ROUNDS: usize = 60;

/// The best approximation Σ over odd k of c_k·T_k(x/high) of 1 on \[low, high\], and its largest error.
///
/// The (degree + 1)/2 odd functions are a Haar system on an interval without 0. So the best approximation is the one with alternating
/// errors ±e at (degree + 3)/2 points. The exchange solves for it on a set of points, then replaces them by the positions of the
/// largest errors, until both agree (E. Remez, 1934; M. J. D. Powell, Approximation Theory and Methods, chapter 8).
fn minimax_odd(low: f64, high: f64, degree: usize) -> Result<(ChebyshevSeries, f64), ApproximationError> {
    check_parameter("odd degree of a stage of the sign", degree as f64, 1.0, 63.0)?;
    if degree.is_multiple_of(2) {
        return Err(ApproximationError::Parameter {
            what: "odd degree of a stage of the sign",
            value: degree as f64,
            low: 1.0,
            high: 63.0,
        });
    }
    let unknowns = degree.div_ceil(2);
    let points = unknowns + 1;
    let place = |part: f64| low.midpoint(high) - (high - low) / 2.0 * (std::f64::consts::PI * part).cos();
    let mut reference: Vec<f64> = (0..points).map(|i| place(i as f64 / unknowns as f64)).collect();
    // The grid is dense in the angle and near the lower end.
    let grid: Vec<f64> = (0..=400 * points).map(|i| place(i as f64 / (400 * points) as f64)).collect();
    for _ in 0..ROUNDS {
        let (coefficients, level) = solve_alternation(&reference, high, unknowns)
            .ok_or(ApproximationError::NoMinimax { degree, low, high, rounds: ROUNDS })?;
        let mut all = vec![0.0; degree + 1];
        coefficients.iter().enumerate().for_each(|(k, &c)| all[2 * k + 1] = c);
        let series = ChebyshevSeries::new(-high, high, all)?;
        let deviation = |x: f64| series.evaluate(x) - 1.0;
        let mut extrema = alternating_extrema(&grid, deviation, points);
        extrema.iter_mut().for_each(|x| *x = highest_between(&grid, *x, |x| deviation(x).abs()));
        let largest = extrema.iter().map(|&x| deviation(x).abs()).fold(0.0, f64::max);
        if extrema.len() < points || largest - level.abs() <= 1e-9 * largest + 4e-15 {
            return Ok((series, largest * (1.0 + 1e-8) + 1e-15));
        }
        reference = extrema;
    }
    Err(ApproximationError::NoMinimax { degree, low, high, rounds: ROUNDS })
}

/// Refines `x`, a point of the ascending `grid`, to the maximum of `height` between its neighbors; the grid's ends stay. For a small
/// gap, the error of a stage is near 1, and 1 minus the error is far smaller than the discretization error of the maximum.
fn highest_between(grid: &[f64], x: f64, height: impl Fn(f64) -> f64) -> f64 {
    let place = grid.partition_point(|&point| point < x);
    if place == 0 || place + 1 >= grid.len() {
        return x;
    }
    let (mut low, mut high) = (grid[place - 1], grid[place + 1]);
    for _ in 0..ROUNDS {
        let (first, second) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if height(first) < height(second) { low = first } else { high = second }
    }
    let found = low.midpoint(high);
    if height(found) > height(x) { found } else { x }
}

/// Solves Σ c_k·T_(2k+1)(x_i/high) + (−1)^i·e = 1 for c and e, by elimination with pivoting.
fn solve_alternation(reference: &[f64], high: f64, unknowns: usize) -> Option<(Vec<f64>, f64)> {
    let size = unknowns + 1;
    let row = |(i, &x): (usize, &f64)| -> Vec<f64> {
        let angle = (x / high).clamp(-1.0, 1.0).acos();
        let mut row: Vec<f64> = (0..unknowns).map(|k| ((2 * k + 1) as f64 * angle).cos()).collect();
        row.push(if i.is_multiple_of(2) { 1.0 } else { -1.0 });
        row.push(1.0);
        row
    };
    let mut rows: Vec<Vec<f64>> = reference.iter().enumerate().map(row).collect();
    for column in 0..size {
        let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let head = rows[column].clone();
        if head[column].abs() < 1e-300 {
            return None;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / head[column];
                row.iter_mut().zip(&head).skip(column).for_each(|(entry, pivot)| *entry -= factor * pivot);
            }
        }
    }
    let mut solution: Vec<f64> = (0..size).map(|i| rows[i][size] / rows[i][i]).collect();
    let level = solution.pop()?;
    Some((solution, level))
}

/// Positions of the largest error in each run of equal sign, reduced to `points` alternating neighbors that include the largest of
/// all.
fn alternating_extrema(grid: &[f64], deviation: impl Fn(f64) -> f64, points: usize) -> Vec<f64> {
    let mut extrema: Vec<(f64, f64)> = Vec::new();
    for &x in grid {
        let value = deviation(x);
        match extrema.last_mut() {
            Some(last) if (last.1 > 0.0) == (value > 0.0) => {
                if value.abs() > last.1.abs() {
                    *last = (x, value);
                }
            }
            _ => extrema.push((x, value)),
        }
    }
    while extrema.len() > points {
        // Removing an end keeps the alternation.
        let (first, last) = (extrema[0].1.abs(), extrema[extrema.len() - 1].1.abs());
        if first < last {
            extrema.remove(0);
        } else {
            extrema.pop();
        }
    }
    extrema.into_iter().map(|(x, _)| x).collect()
}

#[cfg(test)]
mod tests {
    //! Is the composition within its stated error of the sign, and is each stage optimal?

    use super::*;

    fn grid(gap: f64) -> impl Iterator<Item = f64> {
        (0..=100_000).map(move |i| gap * (1.0 / gap).powf(i as f64 / 100_000.0))
    }

    #[test]
    fn degrees_beyond_f64_precision_are_rejected() {
        for (gap, degrees) in [(0.009_884_169_884_169_885, vec![63]), (1e-6, vec![59]), (1e-3, vec![61, 7])] {
            let error = CompositeSign::new(gap, &degrees).unwrap_err();
            assert!(
                matches!(error, ApproximationError::NoMinimax { low, .. } if low == gap),
                "{gap}, {degrees:?}: {error}"
            );
        }
    }

    #[test]
    fn keeps_its_stated_error() {
        for (bits, degrees) in [
            (7, vec![7, 7]),
            (9, vec![7, 15, 27]),
            (12, vec![15, 15, 15]),
            (13, vec![7, 7, 13, 13, 27]),
            (24, vec![7; 12]),
        ] {
            let sign = CompositeSign::new(2f64.powi(-bits), &degrees).unwrap();
            let measured = grid(sign.gap()).map(|x| (sign.evaluate(x) - 1.0).abs()).fold(0.0, f64::max);
            let odd = grid(sign.gap()).map(|x| (sign.evaluate(x) + sign.evaluate(-x)).abs()).fold(0.0, f64::max);
            println!(
                "gap 2^-{bits}, degrees {degrees:?}: error 2^{:.1}, stated 2^{:.1}",
                measured.log2(),
                sign.error().log2()
            );
            assert!(measured <= sign.error() && odd < 1e-12, "{measured} {odd}");
            assert!(measured > 0.99 * sign.error() || sign.error() < 1e-12, "the stated error is reached");
            // ReLU as x·(1 + sign x)/2.
            let relu = |x: f64| x * (1.0 + sign.evaluate(x)) / 2.0;
            let largest = grid(sign.gap()).map(|x| (relu(x) - x).abs().max(relu(-x).abs())).fold(0.0, f64::max);
            assert!(largest <= sign.error());
        }
    }

    #[test]
    fn no_polynomial_of_the_degree_is_closer() {
        // The known optimum for degree 1: 2x/(low + high), with error (high − low)/(high + low).
        let (series, error) = minimax_odd(0.25, 1.0, 1).unwrap();
        assert!((series.evaluate(1.0) - 1.6).abs() < 1e-9 && (error - 0.6).abs() < 1e-3);
        // De la Vallée-Poussin: optimal if the number of alternating errors of the stated size is one more than the unknowns.
        for degree in [7, 15, 27] {
            let (series, error) = minimax_odd(0.01, 1.0, degree).unwrap();
            let deviations: Vec<f64> = grid(0.01).map(|x| series.evaluate(x) - 1.0).collect();
            let mut signs: Vec<bool> = Vec::new();
            for value in deviations.iter().filter(|value| value.abs() > 0.999 * error) {
                if signs.last() != Some(&(*value > 0.0)) {
                    signs.push(*value > 0.0);
                }
            }
            assert!(signs.len() > degree.div_ceil(2), "degree {degree}: {} alternations", signs.len());
        }
    }

    #[test]
    fn errors_name_the_parameter() {
        assert!(CompositeSign::new(0.0, &[7]).is_err());
        assert!(CompositeSign::new(0.1, &[8]).is_err());
    }
}
