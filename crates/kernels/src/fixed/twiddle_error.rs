//! Error of an external product due to quantised twiddle factors, computed from the quantised tables.
//!
//! A factor w stored as w + δ multiplies its data by 1 + ε, ε = δ/w. To first order, coefficient p reaches point j multiplied by the sum of the ε on its
//! path. These sums are not white noise, so the variance of δ does not determine their effect:
//! - the mean over p is an error of the point itself. It is the same for all data that the digits', the key's and the inverse transform multiply at
//!   that point, and adds up over the three: with equal tables, to more than the sum of their separate contributions;
//! - the rest mixes points, and coincides with the secret and the mean of the digits at the few points where both are large.
//!
//! The digits' mean of −1/2 is not random either: its effect is followed point by point.

use super::factors::{Factors, quantised};
use super::spec::{FixedFftSpec, TransformSpec, twiddle_fraction_bits};
use super::structure::Structure;
use crate::decompose::Gadget;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Points next to 1 that are followed individually: they have 97 % of the energy of 1 + X + … + X^(N−1).
const FOLLOWED: usize = 16;

type Complex = (f64, f64);

/// An error of a product's points, relative to the energy of a white product without the digits' mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Relative {
    /// Mean square over the points.
    pub energy: f64,
    /// The same times its concentration: see [`super::ProductError::concentration`].
    pub concentrated: f64,
}

/// A transform in f64 with the first-order effect of quantised factors.
struct Dual {
    points: usize,
    /// Exact factors, and the differences of the quantised ones.
    factors: Factors<Complex>,
    errors: Factors<Complex>,
    /// For each point the mean of the relative errors on the paths to it, and their variance.
    coherent: Vec<Complex>,
    incoherent: Vec<f64>,
}

impl Dual {
    fn new(spec: &FixedFftSpec, transform: &TransformSpec) -> Self {
        let points = spec.ring_degree.get() / 2;
        let factors = Factors::exact(spec.structure, points);
        let bits = twiddle_fraction_bits(transform.twiddle_bits);
        let scale = (1u64 << bits) as f64;
        let off = |part: f64| quantised(part, bits) as f64 / scale - part;
        let errors = factors.map(|&(re, im)| (off(re), off(im)));
        let mut dual =
            Self { points, factors, errors, coherent: vec![(0.0, 0.0); points], incoherent: vec![0.0; points] };
        dual.sum_up();
        dual
    }

    fn log2_points(&self) -> u32 {
        self.points.ilog2()
    }

    /// Sums the means and variances of all relative errors. After u stages a position's low u bits are those of the point that it contributes to; all
    /// positions that agree in them are on paths to it.
    fn sum_up(&mut self) {
        let mut add = |outputs: u32, relative: &dyn Fn(usize) -> Complex| {
            let (ends, ways) = (1usize << outputs, self.points >> outputs);
            for end in 0..ends {
                let (mut mean, mut square) = ((0.0, 0.0), 0.0);
                for way in 0..ways {
                    let error = relative(way << outputs | end);
                    mean = complex::sum(mean, error);
                    square += complex::square(error);
                }
                let mean = complex::scaled(mean, 1.0 / ways as f64);
                let variance = square / ways as f64 - complex::square(mean);
                // The first stage's bit is the highest of a point.
                for point in end * ways..(end + 1) * ways {
                    self.coherent[point] = complex::sum(self.coherent[point], mean);
                    self.incoherent[point] += variance;
                }
            }
        };
        // Division by a factor is multiplication by its conjugate.
        let relative = |error: Complex, factor: Complex| complex::product(error, complex::conjugate(factor));
        match (&self.factors, &self.errors) {
            (Factors::Merged(factors), Factors::Merged(errors)) => {
                for ((outputs, factors), errors) in (0..).zip(factors).zip(errors) {
                    let half = self.points / 2;
                    add(outputs, &|position| match position.checked_sub(half) {
                        Some(at) => relative(errors[at], factors[at]),
                        None => (0.0, 0.0),
                    });
                }
            }
            (
                Factors::Twisted { twist, rotations },
                Factors::Twisted { twist: twist_errors, rotations: rotation_errors },
            ) => {
                add(0, &|position| relative(twist_errors[position], twist[position]));
                for ((outputs, factors), errors) in (1..).zip(rotations).zip(rotation_errors) {
                    if let (Some(factors), Some(errors)) = (factors, errors) {
                        add(outputs, &|position| relative(errors[position], factors[position]));
                    }
                }
            }
            _ => unreachable!("both are tables of one structure"),
        }
    }

    /// The spectrum of `points`, and its error.
    fn forward(&self, points: &[Complex]) -> (Vec<Complex>, Vec<Complex>) {
        let (mut values, mut off) = (points.to_vec(), vec![(0.0, 0.0); self.points]);
        let turn = |values: &mut [Complex], off: &mut [Complex], factors: &[Complex], errors: &[Complex]| {
            for (((value, off), &factor), &error) in values.iter_mut().zip(off).zip(factors).zip(errors) {
                *off = complex::sum(complex::product(*off, factor), complex::product(*value, error));
                *value = complex::product(*value, factor);
            }
        };
        if let (Factors::Twisted { twist, .. }, Factors::Twisted { twist: errors, .. }) = (&self.factors, &self.errors)
        {
            turn(&mut values, &mut off, twist, errors);
        }
        let half = self.points / 2;
        for stage in 0..self.log2_points() as usize {
            if let (Factors::Merged(factors), Factors::Merged(errors)) = (&self.factors, &self.errors) {
                turn(&mut values[half..], &mut off[half..], &factors[stage], &errors[stage]);
            }
            let butterflies = |from: &[Complex]| {
                let (a, b) = from.split_at(half);
                a.iter().zip(b).flat_map(|(&a, &b)| [complex::sum(a, b), complex::difference(a, b)]).collect()
            };
            (values, off) = (butterflies(&values), butterflies(&off));
            if let (Factors::Twisted { rotations, .. }, Factors::Twisted { rotations: errors, .. }) =
                (&self.factors, &self.errors)
                && let (Some(factors), Some(errors)) = (&rotations[stage], &errors[stage])
            {
                turn(&mut values, &mut off, factors, errors);
            }
        }
        (values, off)
    }

    /// The factor of each of the M inputs on its path to `point`, conjugated, and its error.
    fn ways_to(&self, point: usize) -> (Vec<Complex>, Vec<Complex>) {
        let (mut values, mut off) = (vec![(0.0, 0.0); self.points], vec![(0.0, 0.0); self.points]);
        values[point] = (1.0, 0.0);
        let turn = |values: &mut [Complex], off: &mut [Complex], factors: &[Complex], errors: &[Complex]| {
            for (((value, off), &factor), &error) in values.iter_mut().zip(off).zip(factors).zip(errors) {
                let (factor, error) = (complex::conjugate(factor), complex::conjugate(error));
                *off = complex::sum(complex::product(*off, factor), complex::product(*value, error));
                *value = complex::product(*value, factor);
            }
        };
        let half = self.points / 2;
        for stage in (0..self.log2_points() as usize).rev() {
            if let (Factors::Twisted { rotations, .. }, Factors::Twisted { rotations: errors, .. }) =
                (&self.factors, &self.errors)
                && let (Some(factors), Some(errors)) = (&rotations[stage], &errors[stage])
            {
                turn(&mut values, &mut off, factors, errors);
            }
            let butterflies = |from: &[Complex]| -> Vec<Complex> {
                let pairs = from.chunks_exact(2);
                let sums = pairs.clone().map(|pair| complex::sum(pair[0], pair[1]));
                sums.chain(pairs.map(|pair| complex::difference(pair[0], pair[1]))).collect()
            };
            (values, off) = (butterflies(&values), butterflies(&off));
            if let (Factors::Merged(factors), Factors::Merged(errors)) = (&self.factors, &self.errors) {
                turn(&mut values[half..], &mut off[half..], &factors[stage], &errors[stage]);
            }
        }
        if let (Factors::Twisted { twist, .. }, Factors::Twisted { twist: errors, .. }) = (&self.factors, &self.errors)
        {
            turn(&mut values, &mut off, twist, errors);
        }
        (values, off)
    }

    /// Computes the variance at `point` from its own paths, on which errors at different stages may be dependent. The sum over stages is right only on
    /// average.
    fn follow(&mut self, point: usize) {
        let square = self.ways_to(point).1.into_iter().map(complex::square).sum::<f64>() / self.points as f64;
        self.incoherent[point] = square - complex::square(self.coherent[point]);
    }
}

/// Arrangement, points, and bits of the factors for digits, key and inverse.
type Tables = (Structure, usize, [u32; 3]);

/// Cached results per tables, because searches for widths or sets repeat the same tables.
static KNOWN: LazyLock<Mutex<HashMap<Tables, [Relative; 2]>>> = LazyLock::new(Mutex::default);

/// The error of an external product's points due to quantised twiddle factors of `spec`, for uniform digits of `gadget` and a uniform key, relative
/// to the energy of a product of digits without a mean.
///
/// Let P_j = D_j K_j be a point of digits and key, C_j and I_j a transform's means and variances, and κ and T the mixing of points in the forward and
/// inverse transform. Point j errs by (C_j^d + C_j^k + C̄_j^i) P_j, by the mixing in the digits (I_j^d) and in the key (I_j^k), and by Σ T_jl P_l. For
/// random digits and key these are independent. The digits' mean, of spectrum O, is the same in all: point j errs by K_j times
/// δO_j + (C_j^k + C̄_j^i) O_j, and by K_l times κ_jl O_j + T_jl O_l. A column l of κ is the first-order error of the input that transforms to 1 at
/// point l, and a row of T is the conjugate of one.
pub fn relative_error(spec: &FixedFftSpec, gadget: Gadget) -> Relative {
    let points = spec.ring_degree.get() / 2;
    let tables = (spec.structure, points, [&spec.digits, &spec.key, &spec.inverse].map(|of| of.twiddle_bits));
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&tables).copied();
    let [random, of_mean] = known.unwrap_or_else(|| {
        let parts = parts(spec);
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(tables, parts);
        parts
    });
    // The energy of −(1 + i)/2 at each point, as a share of the random digits' energy.
    let mean = 3.0 / (4f64.powi(gadget.log2_base as i32) - 1.0) / points as f64;
    Relative {
        energy: random.energy + mean * of_mean.energy,
        concentrated: random.concentrated + mean * of_mean.concentrated,
    }
}

/// The factors that depend on the tables only: the error without the digits' mean, and the addition per share of energy in that mean.
fn parts(spec: &FixedFftSpec) -> [Relative; 2] {
    let [mut digits, mut key, inverse] = [&spec.digits, &spec.key, &spec.inverse].map(|of| Dual::new(spec, of));
    let points = digits.points;
    let (ones, ones_off) = digits.forward(&vec![(1.0, 0.0); points]);
    let size: Vec<f64> = ones.iter().map(|&one| complex::square(one)).collect();

    let mut largest: Vec<usize> = (0..points).collect();
    largest.sort_unstable_by(|&a, &b| size[b].total_cmp(&size[a]));
    largest.truncate(FOLLOWED);
    let columns: Vec<[Vec<Complex>; 2]> = largest
        .iter()
        .map(|&point| {
            digits.follow(point);
            key.follow(point);
            // The input that transforms to 1 at this point.
            let ways = digits.ways_to(point).0;
            let one: Vec<Complex> = ways.into_iter().map(|way| complex::scaled(way, 1.0 / points as f64)).collect();
            [&key, &inverse].map(|transform| transform.forward(&one).1)
        })
        .collect();
    // Mixing of the inverse into point j, for random digits and for their mean.
    let mixed = |at: usize| {
        let others = columns[at][1].iter().zip(&size).enumerate().filter(|(other, _)| *other != largest[at]);
        others.fold((0.0, 0.0), |(random, mean), (_, (&row, &size))| {
            let square = complex::square(row);
            (random + square, mean + square * size)
        })
    };
    let followed: Vec<(f64, f64)> = (0..largest.len()).map(mixed).collect();
    // The energy that does not reach the followed points is spread equally over the others.
    let rest = {
        let total = inverse
            .incoherent
            .iter()
            .zip(&size)
            .fold((0.0, 0.0), |(random, mean), (&variance, &size)| (random + variance, mean + variance * size));
        let found = followed.iter().fold((0.0, 0.0), |sum, &one| (sum.0 + one.0, sum.1 + one.1));
        let others = (points - largest.len()).max(1) as f64;
        ((total.0 - found.0) / others, (total.1 - found.1) / others)
    };

    let mut errors = [Relative::default(); 2];
    for point in 0..points {
        let at = largest.iter().position(|&other| other == point);
        let (into_random, into_mean) = at.map_or(rest, |at| followed[at]);
        let later = complex::sum(key.coherent[point], complex::conjugate(inverse.coherent[point]));
        let all = complex::sum(digits.coherent[point], later);
        let random = complex::square(all) + digits.incoherent[point] + key.incoherent[point] + into_random;
        let own = complex::sum(ones_off[point], complex::product(later, ones[point]));
        // κ_jl O_j and T_jl O_l are multiplied by the same K_l.
        let crossed: f64 = at.map_or(0.0, |at| {
            let others = largest.iter().zip(&columns).filter(|(other, _)| **other != point);
            let terms = others.map(|(&other, [column, _])| {
                let of_key = complex::product(column[point], ones[point]);
                let of_inverse = complex::product(complex::conjugate(columns[at][1][other]), ones[other]);
                2.0 * (of_key.0 * of_inverse.0 + of_key.1 * of_inverse.1)
            });
            terms.sum()
        });
        let of_mean = complex::square(own) + size[point] * key.incoherent[point] + into_mean + crossed;
        for (error, part) in errors.iter_mut().zip([random, of_mean]) {
            let energy = part / points as f64;
            error.energy += energy;
            error.concentrated += energy * (size[point] / points as f64 - 1.0);
        }
    }
    errors
}

/// Arithmetic of complex numbers.
mod complex {
    use super::Complex;

    pub fn sum(a: Complex, b: Complex) -> Complex {
        (a.0 + b.0, a.1 + b.1)
    }

    pub fn difference(a: Complex, b: Complex) -> Complex {
        (a.0 - b.0, a.1 - b.1)
    }

    pub fn product(a: Complex, b: Complex) -> Complex {
        (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
    }

    pub fn scaled(a: Complex, by: f64) -> Complex {
        (a.0 * by, a.1 * by)
    }

    pub fn conjugate(a: Complex) -> Complex {
        (a.0, -a.1)
    }

    /// |a|².
    pub fn square(a: Complex) -> f64 {
        a.0 * a.0 + a.1 * a.1
    }
}
