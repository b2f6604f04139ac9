//! Functional bootstrapping: tables of integers, applied to all slots at once.
//!
//! The real and the imaginary part of a slot are integers v modulo p, as fractions v/p of a turn. In the order *slim*, slots become
//! coefficients at scale q_0, and raising the modulus adds integers I: v/p + I turns. The complex exponential w = e^(2πi·v/p) does not depend
//! on I. Each table is a [trigonometric polynomial](crate::rns::approximation::lookup) of w: 2·Re P(w). Several tables of one operand share
//! everything up to the powers of w (Y. Bae, J. Kim, D. Stehlé, E. Suvanto, "Bootstrapping Small Integers With CKKS", ASIACRYPT 2024;
//! A. Alexandru, A. Kim, Y. Polyakov, "General Functional Bootstrapping using CKKS", ePrint 2024/1623).
//!
//! Example, p = 4 and the table of squares modulo 4: the slot 3/4 + i·1/2 means (3, 2), and becomes 1/4 + i·0.
//!
//! *Errors.* An error of a slot, in turns, moves w along the circle; the table's polynomial is flat there, so only its square counts. Errors
//! from evaluating the exponential also change |w|, and these reach the result with the table's radial derivative. A squaring doubles both.

use super::transforms::Parts;
use super::{Bootstrapping, real};
use crate::rns::approximation::lookup::TablePolynomial;
use crate::rns::approximation::modular_reduction::Method;
use crate::rns::homomorphic::{Complex, Table};
use crate::rns::lowering::{CiphertextValue, Lowering, LoweringError, Noise, Points, Result};
use polyfabric_schemes::rns::KeyErrors;
use std::f64::consts::{SQRT_2, TAU};

/// e^(2πi·v/p) in every slot, and its relative error.
pub(super) struct Root {
    pub value: CiphertextValue,
    /// Deviation and bound of the systematic part of the error across the circle.
    pub radial: (f64, f64),
    /// Bound of the error along the circle, in radians, in addition to the radial bound.
    pub angle: f64,
}

impl Lowering<'_> {
    /// Every table of `tables` applied to the real and the imaginary parts of a, at [`Bootstrapping::output_level`]. Their result is exact up
    /// to the stated error, which is that of the lookup: the operand's error is not added to it. The tables have one [`Table::reading`]. If
    /// this rounds, the second result is the distance from a border, in steps, up to which a number may be rounded either way.
    ///
    /// # Errors
    /// [`LoweringError::LevelRaised`] if the operand's level is below the input level, [`LoweringError::NotLowered`] if the parameters have
    /// no tables, [`LoweringError::Table`] if a table is longer than they support or the error may reach another integer.
    pub fn lookup(
        &mut self,
        a: &CiphertextValue,
        plan: &Bootstrapping,
        tables: &[&Table],
    ) -> Result<(Vec<CiphertextValue>, f64)> {
        let Method::Tables { levels } = plan.literal().reduction.method else {
            let problem =
                "the parameters have no lookup tables; omit the set, or name one with tables, as ckks-lookup-762";
            return Err(LoweringError::NotLowered { op: "lookup", problem });
        };
        let a = if a.rescale_due { self.relinearise_and_rescale(a)? } else { a.clone() };
        let mut start = self.drop_to(&a, plan.input_level())?;
        let mut error = a.noise.bound(self.model().tail()) / real(a.scale);
        let mut border = 0.0;
        if let Some((stages, entries)) = tables.first().map(|table| table.reading()).filter(|reading| reading.0 > 0) {
            let rounded = self.rounded(&start, plan, entries, stages, 1 << levels)?;
            border = rounded.border + error * entries as f64;
            (start, error) = (rounded.value, rounded.error);
        }
        let most = 1usize << levels;
        for table in tables {
            if table.len() > most {
                let problem = format!("the parameters support tables of {most} entries at most; choose a set for more");
                return Err(LoweringError::Table { entries: table.len(), problem });
            }
            expect_distinct("operand", error, table.len())?;
        }
        let parts = self.raised_parts(&start, plan)?;
        let fractions: Vec<Vec<f64>> = tables.iter().map(|table| table.fractions()).collect();
        let polynomials: Vec<TablePolynomial> = fractions.iter().map(|table| TablePolynomial::new(table)).collect();
        let mut sums = vec![Vec::new(); tables.len()];
        for part in parts.iter() {
            let root = self.root(part, plan, error)?;
            for (sum, value) in sums.iter_mut().zip(self.tables(&root, levels as usize, &polynomials)?) {
                sum.push(value);
            }
        }
        let mut results = Vec::new();
        for (sum, table) in sums.iter().zip(tables) {
            let mut result = self.twice_real_parts(&sum[0], &sum[1])?;
            result.noise.magnitude = table.largest_fraction() * SQRT_2;
            let error = result.noise.bound(self.model().tail()) / real(result.scale);
            expect_distinct("result", error, table.modulus() as usize)?;
            results.push(result);
        }
        Ok((results, border))
    }

    /// The real and the imaginary parts of the slots of a, in turns, plus integers.
    pub(super) fn raised_parts(&mut self, a: &CiphertextValue, plan: &Bootstrapping) -> Result<[CiphertextValue; 2]> {
        // The transforms return the operand's error unchanged to its slot, so they are followed without it.
        let start = CiphertextValue { noise: Noise { magnitude: a.noise.magnitude, ..Noise::none() }, ..a.clone() };
        let coefficients = self.slots_to_coefficients(&start, plan)?;
        let raised = self.raise_modulus(&coefficients, plan)?;
        let target = plan.transformed_scale(self.chain(), real(coefficients.scale));
        let Parts::Two(parts) = self.coefficients_to_slots(raised, plan, target)? else {
            let problem =
                "the bootstrapping is for fewer slots than the ring has; shorter vectors repeat, so take one for all";
            return Err(LoweringError::NotLowered { op: "lookup", problem });
        };
        Ok(*parts)
    }

    /// e^(2πiK·t) for a part t of slots v/p + I in K turns, where v/p has an error up to `error` turns.
    pub(super) fn root(&mut self, part: &CiphertextValue, plan: &Bootstrapping, error: f64) -> Result<Root> {
        let tail = self.model().tail();
        let reduction = plan.reduction();
        let radians = TAU * reduction.literal().range as f64 / real(part.scale);
        let angle = radians * part.noise.bound(tail) + TAU * error;
        // A part is a sum of conjugates, so that its errors are real, except that of the switch after the conjugation.
        let imaginary = radians * self.switched_noise(&self.chain().limbs(part.level), KeyErrors::Drawn);
        let mut variable = part.clone();
        variable.noise = Noise { magnitude: 1.0, ..Noise::none() };
        let coefficients = super::parameters::base_coefficients(reduction);
        let level = plan.table_level();
        let goal = self.chain().scale(level).real();
        let scale = plan.scale_above(self.chain(), goal, level, level + reduction.literal().doublings);
        let mut value = self.chebyshev(&variable, &coefficients, scale)?;
        for _ in 0..reduction.literal().doublings {
            value.noise.magnitude = 1.0;
            let square = self.square(&value)?;
            value = self.relinearise_and_rescale(&square)?;
        }
        let scale = real(value.scale);
        let deviation = (value.noise.deviation / scale).hypot(imaginary);
        let systematic = value.noise.systematic / scale + reduction.circle_error();
        Ok(Root { value, radial: (deviation, systematic), angle })
    }

    /// P(w) for each of `polynomials`, `levels` levels below w, with the error that 2·Re P(w) has in a slot of two such parts.
    fn tables(&mut self, root: &Root, levels: usize, polynomials: &[TablePolynomial]) -> Result<Vec<CiphertextValue>> {
        let tail = self.model().tail();
        // All take the levels of the longest, so that results have one level.
        let least = (1 << levels) / 2 + 1;
        let padded = |polynomial: &TablePolynomial| {
            let mut coefficients = polynomial.coefficients().to_vec();
            coefficients.resize(coefficients.len().max(least), Complex::default());
            coefficients
        };
        let padded: Vec<Vec<Complex>> = polynomials.iter().map(padded).collect();
        let slices: Vec<&[Complex]> = padded.iter().map(Vec::as_slice).collect();
        let mut variable = root.value.clone();
        let roots = polynomials.iter().flat_map(|polynomial| {
            let p = polynomial.coefficients().len();
            (0..p).map(move |k| (TAU * k as f64 / p as f64).sin_cos())
        });
        let points = Points::Each(roots.map(|(sine, cosine)| Complex::new(cosine, sine)).collect());
        variable.noise = Noise { magnitude: 1.0, ..Noise::none() }.at_points(points, self.source());
        let scale = self.chain().scale(root.value.level - levels).real();
        let mut values = self.power_sums(&variable, &slices, scale)?;
        // The errors of w are common to all tables.
        let common = self.source();
        for (value, polynomial) in values.iter_mut().zip(polynomials) {
            let (deviation, systematic) = root.radial;
            let linear = tail * deviation + systematic;
            // |ln(1 + x)| ≤ |x|/(1 − |x|).
            let radial = if linear < 0.5 { linear / (1.0 - linear) } else { f64::INFINITY };
            let derivative = match self.model().failure_log2 {
                Some(_) => polynomial.radial(),
                None => polynomial.radial_deviation(),
            };
            let rest = derivative * (systematic + radial - linear)
                + polynomial.second_order(radial, radial + root.angle)
                + 2.0 * value.noise.systematic / scale;
            // An error of deviation σ in w has a real part of deviation σ/√2, and a slot has two such errors. A slot of two errors of at most x
            // has at most √2·x.
            let own = 2.0 * value.noise.deviation / scale;
            value.noise = Noise {
                deviation: scale * (derivative * deviation).hypot(own),
                systematic: SQRT_2 * scale * rest,
                ..Noise::new(0.0, 1.0, common)
            };
        }
        Ok(values)
    }

    /// 2·Re x + i·2·Re y, at the scale of both.
    pub(super) fn twice_real_parts(&mut self, x: &CiphertextValue, y: &CiphertextValue) -> Result<CiphertextValue> {
        let imaginary = self.times_imaginary(y, false)?;
        let (plus, minus) = (self.add(x, &imaginary)?, self.sub(x, &imaginary)?);
        let conjugate = self.conjugate(&minus)?;
        let mut sum = self.add(&plus, &conjugate)?;
        let switched = self.switched_noise(&self.chain().limbs(sum.level), KeyErrors::Drawn);
        sum.noise = x.noise.clone().with_error(switched, self.source());
        let expected = self.chain().scale(sum.level);
        if self.chain().alike(sum.scale, expected) {
            sum.scale = expected;
        }
        Ok(sum)
    }
}

/// Rejects an error, in turns, that may lead to another integer modulo `modulus`.
fn expect_distinct(what: &str, error: f64, modulus: usize) -> Result<()> {
    let steps = error * modulus as f64;
    if steps < 0.5 {
        return Ok(());
    }
    let problem = format!(
        "the error of its {what} is up to {steps:.3} for integers modulo {modulus}, so that they would be wrong; look it up earlier, or choose a \
         set with more bits"
    );
    Err(LoweringError::Table { entries: modulus, problem })
}
