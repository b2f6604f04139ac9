//! Matrix-vector products in slots, with matrices given by their diagonals.
//!
//! M·x = Σ_d diagonal_d ⊙ rotate(x, d). With d = g + b for few *giant steps* g and few *baby steps* b,
//!
//! M·x = Σ_g rotate(Σ_b rotate(diagonal_(g+b), −g) ⊙ rotate(x, b), g)
//!
//! takes one rotation per b and per g (S. Halevi and V. Shoup, CRYPTO 2018). The diagonals are public and are rotated before encoding.
//! The diagonal method ([`StepRule::Diagonals`](super::StepRule)) has only the giant step 0. Hoisting determines the shared work:
//!
//! | hoisting | digits of x | ModDown |
//! |---|---|---|
//! | none | once per baby step | once per baby step and per giant step, for two polynomials |
//! | single | once | the same |
//! | double | once | once per giant step for one polynomial, and once at the end, together with the rescaling |
//!
//! With double hoisting (J.-P. Bossuat et al., EUROCRYPT 2021, algorithm 6) the rotated x stays over Q and P, diagonals are encoded over
//! Q and P, and sums are divided once. By default, operations are in the giant-step-centric order (Osiris, section V): one baby step
//! after the other, each added to the sums of all giant steps, so that a rotated x is used immediately.

mod plan;

pub use plan::{BabyStepCosts, StepChooser, Steps};

use super::{
    CiphertextValue, Hoisting, Lowering, LoweringError, MatrixProduct, Noise, Result, RnsLowering, RotationOrder,
    StepRates, StepRule, SumOrder,
};
use crate::rns::homomorphic::{Complex, Diagonals, Values};
use crate::rns::kernel::{LimbSet, ValueId};
use crate::rns::levels::Scale;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::rns::KeyErrors;
use std::collections::BTreeMap;

/// A matrix ready for the lowering: steps chosen, and diagonals rotated for their giant steps.
#[derive(Clone, Debug)]
pub struct PreparedTransform {
    steps: Steps,
    /// For each baby step, the giant steps and their diagonals.
    terms: BTreeMap<i64, Vec<(i64, Values)>>,
    /// Largest √Σ_d |entry|² and largest Σ_d |entry| of a row.
    row_deviation: f64,
    row_sum: f64,
    diagonals: usize,
    /// Period of all diagonals.
    period: usize,
}

impl PreparedTransform {
    /// Prepares `diagonals`, each with `period` values or a single one; `chooser` chooses the steps. Offsets are modulo the period.
    ///
    /// # Errors
    /// [`LoweringError::Encoding`] if the values are integers.
    pub fn new(diagonals: &Diagonals, period: usize, chooser: StepChooser<'_>) -> Result<Self> {
        let (whole, length) = (period as i64, common_period(diagonals, period));
        let mut by_offset = BTreeMap::<i64, Vec<Complex>>::new();
        for (&offset, values) in &diagonals.by_offset {
            let Values::Complex(entries) = values else {
                return Err(LoweringError::Encoding {
                    op: "linear_transform",
                    magnitude: values.magnitude(),
                    scale: "1".to_owned(),
                    problem: "a matrix of CKKS has real or complex entries; write them as such".to_owned(),
                });
            };
            let target =
                by_offset.entry(chooser.reduced(offset, whole)).or_insert_with(|| vec![Complex::default(); length]);
            for (entry, &more) in target.iter_mut().zip(entries.iter().cycle()) {
                *entry = *entry + more;
            }
        }
        by_offset.retain(|_, entries| entries.iter().any(|&entry| entry != Complex::default()));
        // A shorter period makes diagonals sparse polynomials: faster to encode, and with less rounding.
        let mut shortest = length;
        let repeats = |entries: &Vec<Complex>, half: usize| (half..2 * half).all(|i| entries[i] == entries[i - half]);
        while shortest.is_multiple_of(2) && by_offset.values().all(|entries| repeats(entries, shortest / 2)) {
            shortest /= 2;
            by_offset.values_mut().for_each(|entries| entries.truncate(shortest));
        }
        let rows = (0..shortest).map(|row| {
            let entries = by_offset.values().map(move |entries| entries[row].abs());
            entries.fold((0.0, 0.0), |(squares, sum), entry| (squares + entry * entry, sum + entry))
        });
        let (squares, row_sum) = rows.fold((0.0f64, 0.0f64), |(most, sum), (a, b)| (most.max(a), sum.max(b)));
        let steps = chooser.steps(&by_offset.keys().copied().collect::<Vec<_>>(), period);
        let mut terms = BTreeMap::<i64, Vec<(i64, Values)>>::new();
        let count = by_offset.len();
        for (offset, mut entries) in by_offset {
            let (giant, baby) = steps.split(offset);
            // Rotate by −g: entry i becomes the diagonal's entry i − g.
            entries.rotate_right(giant.rem_euclid(shortest as i64) as usize);
            terms.entry(baby).or_default().push((giant, Values::Complex(entries.into())));
        }
        Ok(Self { steps, terms, row_deviation: squares.sqrt(), row_sum, diagonals: count, period: shortest })
    }

    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Number of nonzero diagonals.
    pub fn diagonals(&self) -> usize {
        self.diagonals
    }

    /// Period of all diagonals.
    pub fn period(&self) -> usize {
        self.period
    }

    /// The rotations that need keys, ascending.
    pub fn rotations(&self) -> Vec<i64> {
        let babies = self.terms.keys().copied();
        let giants = self.terms.values().flatten().map(|&(giant, _)| giant);
        let mut all: Vec<i64> = babies.chain(giants).filter(|&steps| steps != 0).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// A common period of the `diagonals` as given, so that short ones are not expanded: `period`, divided by a power of two.
fn common_period(diagonals: &Diagonals, period: usize) -> usize {
    let lengths = || diagonals.by_offset.values().map(Values::len);
    let longest = lengths().max().unwrap_or(period).max(1);
    let halved = period.is_multiple_of(longest) && (period / longest).is_power_of_two();
    let common = lengths().all(|length| length > 0 && longest.is_multiple_of(length));
    if halved && common { longest } else { period }
}

/// The two parts of a sum, over limbs of Q and P, or of Q.
type Pair = [ValueId; 2];

impl Lowering<'_> {
    /// The matrix with `diagonals` times the slots of a, rescaled to its level's scale. Vectors have period `period`.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] at level 0, [`LoweringError::Encoding`].
    pub fn linear_transform(
        &mut self,
        a: &CiphertextValue,
        diagonals: &Diagonals,
        period: usize,
    ) -> Result<CiphertextValue> {
        let a = if a.parts.len() > 2 { self.relinearise(a)? } else { a.clone() };
        let a = if a.rescale_due { self.rescale(&a)? } else { a };
        if a.level == 0 {
            return Err(LoweringError::LevelExhausted { op: "linear_transform", top: self.chain().top() });
        }
        let prepared = PreparedTransform::new(diagonals, period, self.step_chooser(a.level))?;
        let scale = self.chain().scale(a.level - 1).real();
        self.transform(&a, &prepared, scale)
    }

    pub fn step_chooser(&self, level: usize) -> StepChooser<'_> {
        StepChooser::new(self.chain(), self.choice(), level)
    }

    /// The prepared matrix times the slots of a, rescaled, with exactly the scale `scale`.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] at level 0, [`LoweringError::Encoding`], [`LoweringError::NotLinear`].
    pub fn transform(
        &mut self,
        a: &CiphertextValue,
        prepared: &PreparedTransform,
        scale: f64,
    ) -> Result<CiphertextValue> {
        self.linear("linear_transform", a)?;
        if a.level == 0 {
            return Err(LoweringError::LevelExhausted { op: "linear_transform", top: self.chain().top() });
        }
        let encoding = scale * self.chain().dropped_product(a.level) / a.scale.real();
        let (a, encoding) = self.narrowed(a, prepared, encoding)?;
        let a = &a;
        // Double hoisting adds rotated ciphertexts over Q and P, so it needs the key switch before the automorphism.
        let double = self.choice().hoisting == Hoisting::Double
            && self.choice().rotation == RotationOrder::SwitchFirst
            && !self.special_limbs().is_empty();
        let parts = if double {
            self.transform_over_special(a, prepared, Scale::Real(encoding))?
        } else {
            self.transform_over_q(a, prepared, Scale::Real(encoding))?
        };
        let mut product = CiphertextValue { parts: parts.to_vec(), ..a.clone() };
        product.noise = self.transform_noise(a, prepared, encoding);
        let primes = self.chain().dropped(a.level).len() + if double { self.special_limbs().len() } else { 0 };
        let mut result = self.rescaled(product, a.level - 1, primes);
        result.scale = Scale::Real(scale);
        Ok(result)
    }

    /// Returns a and the scale of the diagonals. If the diagonals' coefficients exceed the lowering's limit, a is multiplied by a power of
    /// two and the scale divided by it. The product changes only in its rounding.
    fn narrowed(
        &mut self,
        a: &CiphertextValue,
        prepared: &PreparedTransform,
        encoding: f64,
    ) -> Result<(CiphertextValue, f64)> {
        let Some(bits) = self.choice().diagonal_bits else { return Ok((a.clone(), encoding)) };
        let mut largest = 0.0f64;
        for (_, values) in prepared.terms.values().flatten() {
            largest = largest.max(self.largest_coefficient("linear_transform", values, Scale::Real(encoding))?);
        }
        let excess = (largest.max(1.0).log2() - (f64::from(bits) - 1.0)).ceil().clamp(0.0, 100.0);
        if excess == 0.0 {
            return Ok((a.clone(), encoding));
        }
        let factor = excess.exp2();
        let mut larger = self.multiply_integer(a, factor as i128)?;
        larger.scale = Scale::Real(a.scale.real() * factor);
        larger.noise.magnitude = a.noise.magnitude;
        Ok((larger, encoding / factor))
    }

    /// The error before the rescaling: a's error in independent slots, the diagonals' rounding, and the key switches.
    fn transform_noise(&mut self, a: &CiphertextValue, prepared: &PreparedTransform, encoding: f64) -> Noise {
        let switched = self.switched_noise(&self.chain().limbs(a.level), KeyErrors::Drawn);
        // A diagonal is a polynomial with two coefficients per entry.
        let terms = 2.0 * (prepared.diagonals * prepared.period) as f64;
        let transforms = self.model.transform() * encoding * prepared.row_deviation;
        let rounding = (terms / 12.0).sqrt().hypot(transforms) * a.scale.real() * a.noise.magnitude;
        let giants = (prepared.steps.giants.len() as f64).sqrt() * switched;
        let moved = a.noise.clone().anywhere(self.ring_slots());
        let mut noise = moved.with_error(switched, self.source());
        noise.deviation = (noise.deviation * prepared.row_deviation * encoding).hypot(rounding).hypot(giants);
        noise.systematic *= prepared.row_sum * encoding;
        noise.concentrated *= prepared.row_sum * encoding;
        noise.magnitude *= prepared.row_sum;
        noise
    }

    /// The sums over Q, with no or single hoisting.
    fn transform_over_q(&mut self, a: &CiphertextValue, prepared: &PreparedTransform, scale: Scale) -> Result<Pair> {
        let limbs = self.chain().limbs(a.level);
        let mut babies = Vec::with_capacity(prepared.terms.len());
        let mut sums = BTreeMap::<i64, Pair>::new();
        for (&baby, terms) in &prepared.terms {
            let rotated = self.rotate(a, baby)?;
            let rotated = [rotated.parts[0], rotated.parts[1]];
            match self.choice().sums {
                SumOrder::ByBabySteps => self.accumulate(&mut sums, rotated, terms, scale, &limbs)?,
                SumOrder::ByGiantSteps => babies.push((rotated, terms)),
            }
        }
        self.accumulate_by_giants(&mut sums, &babies, scale, &limbs)?;
        let mut total: Option<CiphertextValue> = None;
        for (giant, parts) in sums {
            let sum = self.rotate(&CiphertextValue { parts: parts.to_vec(), ..a.clone() }, giant)?;
            total = Some(match total {
                None => sum,
                Some(total) => self.add(&total, &sum)?,
            });
        }
        let parts = match total {
            Some(total) => total.parts,
            None => self.multiply_integer(a, 0)?.parts,
        };
        let dropped = self.chain().dropped(a.level);
        Ok([self.divide(parts[0], &dropped)?, self.divide(parts[1], &dropped)?])
    }

    /// The sums over Q and P: one ModDown per giant step, and one for both parts at the end.
    fn transform_over_special(
        &mut self,
        a: &CiphertextValue,
        prepared: &PreparedTransform,
        scale: Scale,
    ) -> Result<Pair> {
        let q = self.chain().limbs(a.level);
        let raised = self.raised_limbs(&q);
        let special = self.special_limbs().clone();
        let digits = self.digits(a.parts[1])?;
        let body = self.times_special(a.parts[0])?;
        // Rotated vectors are over Q and P, except b = 0: P·a is 0 modulo P. It comes last and is added to the existing sum of its giant step.
        // Only a giant step without other sums has one over Q.
        let (mut sums, mut plain) = (BTreeMap::<i64, Pair>::new(), BTreeMap::<i64, Pair>::new());
        let mut babies = Vec::with_capacity(prepared.terms.len());
        for (&baby, terms) in prepared.terms.iter().filter(|&(&baby, _)| baby != 0) {
            let element = GaloisElement::rotation(self.chain().degree(), baby);
            let key = self.galois_key(element);
            let (switched, mask) = self.inner_product(&digits, key)?;
            let switched = self.add_to_some(switched, body, &q)?;
            let rotated = [self.permute(switched, element)?, self.permute(mask, element)?];
            match self.choice().sums {
                SumOrder::ByBabySteps => self.accumulate(&mut sums, rotated, terms, scale, &raised)?,
                SumOrder::ByGiantSteps => babies.push((rotated, terms)),
            }
        }
        self.accumulate_by_giants(&mut sums, &babies, scale, &raised)?;
        if let Some(terms) = prepared.terms.get(&0) {
            let unrotated = [body, self.times_special(a.parts[1])?];
            for (giant, values) in terms {
                let Some(sum) = sums.get(giant).copied() else {
                    self.accumulate(&mut plain, unrotated, &[(*giant, values.clone())], scale, &q)?;
                    continue;
                };
                let plaintext = self.plaintext("linear_transform", values, scale, &q)?;
                let kept = [self.select(sum[0], &q)?, self.select(sum[1], &q)?];
                let more = [
                    self.builder.multiply_add(unrotated[0], plaintext, kept[0])?,
                    self.builder.multiply_add(unrotated[1], plaintext, kept[1])?,
                ];
                let rest = [self.select(sum[0], &special)?, self.select(sum[1], &special)?];
                let joined = [self.builder.concat(&[more[0], rest[0]])?, self.builder.concat(&[more[1], rest[1]])?];
                sums.insert(*giant, joined);
            }
        }
        let giants: Vec<i64> = sums.keys().chain(plain.keys()).copied().collect();
        let giants: std::collections::BTreeSet<i64> = giants.into_iter().collect();
        let mut total: Option<Pair> = None;
        let mut total_plain: Option<Pair> = None;
        for giant in giants {
            let (sum, rest) = (sums.get(&giant).copied(), plain.get(&giant).copied());
            if giant == 0 {
                total = self.add_pairs(total, sum)?;
                total_plain = self.add_pairs(total_plain, rest)?;
                continue;
            }
            let whole = self.joined(sum, rest, &q)?;
            let Some([body, mask]) = whole else { continue };
            // P·x without limbs of P: P divides it, but this is the rare case of a single baby step.
            let over_special = self.builder.limbs(body).len() > q.len();
            let element = GaloisElement::rotation(self.chain().degree(), giant);
            let key = self.galois_key(element);
            let mask = if over_special { self.divide(mask, &special)? } else { self.divided_by_special(mask)? };
            let digits = self.digits(mask)?;
            let (more, mask) = self.inner_product(&digits, key)?;
            let body = if over_special { self.builder.add(body, more)? } else { self.add_to_some(more, body, &q)? };
            let rotated = [self.permute(body, element)?, self.permute(mask, element)?];
            total = self.add_pairs(total, Some(rotated))?;
        }
        let dropped = self.chain().dropped(a.level);
        let Some([body, mask]) = self.joined(total, total_plain, &q)? else {
            let zero = self.multiply_integer(a, 0)?;
            return Ok([self.divide(zero.parts[0], &dropped)?, self.divide(zero.parts[1], &dropped)?]);
        };
        if self.builder.limbs(body).len() > q.len() {
            let drop = dropped.union(&special);
            return Ok([self.divide(body, &drop)?, self.divide(mask, &drop)?]);
        }
        let (body, mask) = (self.divided_by_special(body)?, self.divided_by_special(mask)?);
        Ok([self.divide(body, &dropped)?, self.divide(mask, &dropped)?])
    }

    /// sums\[g\] += rotated ⊙ diagonal, for the giant steps of one baby step.
    fn accumulate(
        &mut self,
        sums: &mut BTreeMap<i64, Pair>,
        rotated: Pair,
        terms: &[(i64, Values)],
        scale: Scale,
        limbs: &LimbSet,
    ) -> Result<()> {
        for (giant, values) in terms {
            let plaintext = self.plaintext("linear_transform", values, scale, limbs)?;
            let sum = match sums.get(giant).copied() {
                None => [self.builder.multiply(rotated[0], plaintext)?, self.builder.multiply(rotated[1], plaintext)?],
                Some([body, mask]) => [
                    self.builder.multiply_add(rotated[0], plaintext, body)?,
                    self.builder.multiply_add(rotated[1], plaintext, mask)?,
                ],
            };
            sums.insert(*giant, sum);
        }
        Ok(())
    }

    /// The same for all baby steps, one giant step after the other.
    fn accumulate_by_giants(
        &mut self,
        sums: &mut BTreeMap<i64, Pair>,
        babies: &[(Pair, &Vec<(i64, Values)>)],
        scale: Scale,
        limbs: &LimbSet,
    ) -> Result<()> {
        let all = babies.iter().flat_map(|(_, terms)| terms.iter().map(|&(giant, _)| giant));
        for giant in all.collect::<std::collections::BTreeSet<i64>>() {
            for &(rotated, terms) in babies {
                for term in terms.iter().filter(|term| term.0 == giant) {
                    self.accumulate(sums, rotated, std::slice::from_ref(term), scale, limbs)?;
                }
            }
        }
        Ok(())
    }

    /// `whole` over Q and P plus `part` over Q, which is 0 modulo P.
    fn add_to_some(&mut self, whole: ValueId, part: ValueId, q: &LimbSet) -> Result<ValueId> {
        let special = self.special_limbs().clone();
        let kept = self.select(whole, q)?;
        let kept = self.builder.add(kept, part)?;
        let rest = self.select(whole, &special)?;
        Ok(self.builder.concat(&[kept, rest])?)
    }

    fn joined(&mut self, whole: Option<Pair>, part: Option<Pair>, q: &LimbSet) -> Result<Option<Pair>> {
        match (whole, part) {
            (Some(whole), Some(part)) => {
                Ok(Some([self.add_to_some(whole[0], part[0], q)?, self.add_to_some(whole[1], part[1], q)?]))
            }
            (one, other) => Ok(one.or(other)),
        }
    }

    fn add_pairs(&mut self, a: Option<Pair>, b: Option<Pair>) -> Result<Option<Pair>> {
        match (a, b) {
            (Some(a), Some(b)) => Ok(Some([self.builder.add(a[0], b[0])?, self.builder.add(a[1], b[1])?])),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// Maps P·x to x modulo limbs of Q.
    fn divided_by_special(&mut self, value: ValueId) -> Result<ValueId> {
        let factors: Vec<u64> = self
            .builder
            .limbs(value)
            .iter()
            .map(|limb| {
                let modulus = self.chain.modulus(limb);
                let primes = self.special.iter().map(|special| modulus.reduce(self.chain.modulus(special).value()));
                let product = primes.fold(1, |product, prime| modulus.multiply(product, prime));
                // The inverse exists because the primes are distinct.
                modulus.inverse(product).unwrap_or(0)
            })
            .collect();
        Ok(self.builder.scale(value, &factors)?)
    }
}
