//! The arithmetic of F1's units.
//!
//! Products use the multiplier's algorithm (section 5.3). Transforms use the four-step unit's (section 5.2) if
//! a polynomial is one vector that the unit supports. Between instructions, vectors are in the order of the
//! kernels' transforms; [`super::units`] models the order in which units stream them.
//!
//! The multiplier computes a·b·R^-1. So values in the evaluation domain are in Montgomery form, x·R, on and off
//! the chip, and their product needs one multiplication. Coefficients are plain, as they are lifted to other
//! moduli. Transforms convert between the two forms, through the factors between their two networks. A
//! constant's form preserves the vector's form: constant factors are in Montgomery form, and constant addends
//! in the vector's. The host converts inputs and outputs.

use super::machine::{F1, Geometry};
use crate::rns::arithmetic::{Arithmetic, ReplayError, Words};
use crate::rns::function::Function;
use crate::rns::step::Step;
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::{Modulus, PrimeForm, PrimeFormError};
use polyfabric_kernels::ntt::four_step::FourStep;
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt};
use polyfabric_schemes::rns::{Domain, LimbId};

struct LimbUnits {
    modulus: Modulus,
    multiplier: PrimeForm,
    transform: Ntt<u64>,
    /// `None` if a polynomial is several vectors, or too short for the lanes.
    four_step: Option<FourStep>,
}

impl LimbUnits {
    fn forward(&self, subpolynomials: Subpolynomials, subpolynomial: usize, words: Vec<u64>) -> Vec<u64> {
        match &self.four_step {
            Some(unit) => {
                unit.order().convert(EvaluationOrder::BitReversed, self.transform.degree(), &unit.forward(&words))
            }
            None => subpolynomials.forward(&self.transform, subpolynomial, words),
        }
    }

    fn inverse(&self, subpolynomials: Subpolynomials, subpolynomial: usize, values: &[u64]) -> Vec<u64> {
        match &self.four_step {
            Some(unit) => {
                let degree = self.transform.degree();
                let values = EvaluationOrder::BitReversed.convert(unit.order(), degree, values);
                unit.order().convert(EvaluationOrder::Natural, degree, &unit.inverse(&values))
            }
            None => subpolynomials.inverse(&self.transform, subpolynomial, values.to_vec()),
        }
    }
}

/// The units for every limb of a program.
pub struct Units {
    degree: RingDegree,
    subpolynomials: Subpolynomials,
    limbs: Vec<LimbUnits>,
}

impl Units {
    pub fn new(machine: &F1, geometry: &Geometry, moduli: &[Modulus]) -> Result<Self, ReplayError> {
        let subpolynomials = geometry.subpolynomials();
        let limb = |&modulus: &Modulus| {
            let other = |error: PrimeFormError| ReplayError::Arithmetic(Box::new(error));
            let (multiplier, transform) = (PrimeForm::new(modulus).map_err(other)?, subpolynomials.transform(modulus)?);
            let four_step =
                (subpolynomials.count() == 1).then(|| FourStep::new(geometry.degree, modulus, machine.lanes).ok());
            Ok::<_, ReplayError>(LimbUnits { modulus, multiplier, transform, four_step: four_step.flatten() })
        };
        let limbs = moduli.iter().map(limb).collect::<Result<_, _>>()?;
        Ok(Self { degree: geometry.degree, subpolynomials, limbs })
    }
}

impl Units {
    /// The result of `function`. A unary function ignores `b`.
    fn function(&self, function: Function, a: &[u64], b: &[u64]) -> Result<Words, ReplayError> {
        let units = |limb: u16| &self.limbs[usize::from(limb)];
        let pairs = |f: &dyn Fn(u64, u64) -> u64| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
        Ok(match function {
            Function::ForwardNtt { limb, subpolynomial } => {
                let units = units(limb);
                let words: Vec<u64> = a.iter().map(|&word| units.modulus.reduce(word)).collect();
                let values = units.forward(self.subpolynomials, usize::from(subpolynomial), words);
                values.into_iter().map(|value| units.multiplier.enter(value)).collect()
            }
            Function::InverseNtt { limb, subpolynomial } => {
                let units = units(limb);
                let values: Vec<u64> = a.iter().map(|&value| units.multiplier.leave(value)).collect();
                units.inverse(self.subpolynomials, usize::from(subpolynomial), &values).into()
            }
            Function::Automorphism { limb, element, subpolynomial, values } => {
                let element = GaloisElement::new(self.degree, element as usize)?;
                match values {
                    true => self.subpolynomials.permute(element, usize::from(subpolynomial), a).into(),
                    false => {
                        let mut words = vec![0; a.len()];
                        element.apply(units(limb).modulus, a, &mut words);
                        words.into()
                    }
                }
            }
            Function::Multiply { limb } => {
                let multiplier = units(limb).multiplier;
                pairs(&|a, b| multiplier.multiply(a, b))
            }
            Function::MultiplyConstant { limb, constant } => {
                let multiplier = units(limb).multiplier;
                let entered = multiplier.enter(u64::from(constant));
                a.iter().map(|&word| multiplier.multiply(word, entered)).collect()
            }
            Function::Add { limb } => pairs(&|a, b| units(limb).modulus.add(a, b)),
            Function::Subtract { limb } => pairs(&|a, b| units(limb).modulus.sub(a, b)),
            Function::Negate { limb } => a.iter().map(|&word| units(limb).modulus.neg(word)).collect(),
            Function::AddConstant { limb, constant, values } => {
                let LimbUnits { modulus, multiplier, .. } = units(limb);
                let constant = u64::from(constant);
                let constant = if values { multiplier.enter(constant) } else { constant };
                // The adder subtracts the modulus at most once.
                let sum = |&word: &u64| (word + constant).checked_sub(modulus.value()).unwrap_or(word + constant);
                a.iter().map(sum).collect()
            }
        })
    }
}

impl Arithmetic for Units {
    fn execute(&self, step: &Step, operands: &[Words]) -> Result<Option<Vec<Words>>, ReplayError> {
        let (Step::One(function), [a, ..]) = (step, operands) else { return Ok(None) };
        Ok(Some(vec![self.function(*function, a, operands.get(1).unwrap_or(a))?]))
    }

    fn enter(&self, limb: LimbId, domain: Domain, residues: Words) -> Words {
        let multiplier = self.limbs[limb.index()].multiplier;
        match domain {
            Domain::Evaluation => residues.iter().map(|&residue| multiplier.enter(residue)).collect(),
            Domain::Coefficient => residues,
        }
    }

    fn leave(&self, limb: LimbId, domain: Domain, words: Words) -> Words {
        let multiplier = self.limbs[limb.index()].multiplier;
        match domain {
            Domain::Evaluation => words.iter().map(|&word| multiplier.leave(word)).collect(),
            Domain::Coefficient => words,
        }
    }
}
