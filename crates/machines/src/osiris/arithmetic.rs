//! The results of Osiris's units, limb by limb.
//!
//! Limbs are in the order in which the units stream them, on and off the chip: values in [`EvaluationOrder::Streaming`], coefficients in
//! [`StreamingNtt::coefficient_at`]'s order.

use super::schedule::Scheduled;
use crate::rns::arithmetic::{Arithmetic, ReplayError, Words};
use crate::rns::function::Function;
use crate::rns::step::{Step, Sum};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_kernels::ntt::streaming::StreamingNtt;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, LimbSet};
use polyfabric_schemes::rns::{Domain, LimbId};

/// The units for every limb of a program.
pub struct Units<'a> {
    program: &'a KernelProgram,
    /// By limb.
    transforms: Vec<StreamingNtt>,
    order: EvaluationOrder,
}

impl<'a> Units<'a> {
    pub fn new(scheduled: &Scheduled, program: &'a KernelProgram) -> Result<Self, ReplayError> {
        let lanes = scheduled.units.shape.lanes();
        let transforms = program.moduli.iter().map(|&modulus| StreamingNtt::new(program.degree, modulus, lanes));
        let transforms = transforms.collect::<Result<_, _>>().map_err(other)?;
        Ok(Self { program, transforms, order: EvaluationOrder::Streaming { lanes } })
    }

    fn transform(&self, limb: LimbId) -> &StreamingNtt {
        &self.transforms[limb.index()]
    }

    /// The operands modulo `limbs`: a wrong schedule may pass another limb.
    fn reduced(&self, operands: &[Words], limbs: &LimbSet) -> Vec<Vec<u64>> {
        let pairs = operands.iter().zip(limbs.iter());
        pairs.map(|(words, limb)| reduced(self.program.modulus(limb), words)).collect()
    }

    fn convert(
        &self,
        operands: &[Words],
        from: &LimbSet,
        to: &LimbSet,
        (balanced, factor): (bool, u64),
    ) -> Result<Vec<Words>, ReplayError> {
        let basis = |limbs: &LimbSet| RnsBasis::new(limbs.iter().map(|limb| self.program.modulus(limb)).collect());
        let converter = BaseConverter::new(basis(from).map_err(other)?, basis(to).map_err(other)?);
        let input = self.reduced(operands, from);
        let input: Vec<&[u64]> = input.iter().map(Vec::as_slice).collect();
        let mut output = vec![vec![0; self.program.degree.get()]; to.len()];
        let mut limbs: Vec<&mut [u64]> = output.iter_mut().map(Vec::as_mut_slice).collect();
        match balanced {
            true => converter.convert_balanced(&input, &mut limbs, NextUse::Soon),
            false => converter.convert(&input, &mut limbs, NextUse::Soon),
        }
        for (words, limb) in output.iter_mut().zip(to.iter()) {
            let modulus = self.program.modulus(limb);
            let factor = modulus.reduce(factor);
            words.iter_mut().for_each(|word| *word = modulus.multiply(*word, factor));
        }
        Ok(output.into_iter().map(Into::into).collect())
    }

    /// `None` if an operand is missing.
    fn sum(&self, sum: &Sum, operands: &[Words]) -> Option<Words> {
        let modulus = self.program.modulus(LimbId(sum.limb));
        let mut words = vec![modulus.reduce(sum.addend); self.program.degree.get()];
        for term in &sum.terms {
            let a = reduced(modulus, operands.get(term.a)?);
            match term.b {
                None => words.iter_mut().zip(&a).for_each(|(word, &a)| {
                    *word = modulus.add(*word, modulus.multiply(a, term.factor));
                }),
                Some(b) => {
                    words.iter_mut().zip(&a).zip(&reduced(modulus, operands.get(b)?)).for_each(|((word, &a), &b)| {
                        *word = modulus.add(*word, modulus.multiply(modulus.multiply(a, b), term.factor))
                    })
                }
            }
        }
        Some(words.into())
    }
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> ReplayError {
    ReplayError::Arithmetic(Box::new(error))
}

fn reduced(modulus: Modulus, words: &[u64]) -> Vec<u64> {
    words.iter().map(|&word| modulus.reduce(word)).collect()
}

impl Arithmetic for Units<'_> {
    fn execute(&self, step: &Step, operands: &[Words]) -> Result<Option<Vec<Words>>, ReplayError> {
        Ok(match (step, operands) {
            (Step::Transforms { inverse, limbs }, _) if operands.len() == limbs.len() => {
                let transformed = |(words, limb): (&Vec<u64>, LimbId)| match inverse {
                    true => self.transform(limb).inverse(words).into(),
                    false => self.transform(limb).forward(words).into(),
                };
                Some(self.reduced(operands, limbs).iter().zip(limbs.iter()).map(transformed).collect())
            }
            (Step::Conversion { from, to, conversion, factor }, _) if operands.len() == from.len() => {
                Some(self.convert(operands, from, to, (*conversion == Conversion::Balanced, *factor))?)
            }
            (Step::Sums(sums), _) => sums.iter().map(|sum| self.sum(sum, operands)).collect(),
            (Step::Extension { from, to, .. }, [coefficients]) => {
                let from = self.program.modulus(*from);
                let lifted = |limb: LimbId| -> Vec<u64> {
                    let to = self.program.modulus(limb);
                    coefficients.iter().map(|&word| to.reduce_signed(from.centre(from.reduce(word)))).collect()
                };
                Some(to.iter().map(|limb| self.transform(limb).forward(&lifted(limb)).into()).collect())
            }
            (Step::One(Function::Automorphism { element, .. }), [values]) => {
                let element = GaloisElement::new(self.program.degree, *element as usize)?;
                Some(vec![element.places(self.order).into_iter().map(|place| values[place]).collect()])
            }
            _ => None,
        })
    }

    fn enter(&self, limb: LimbId, domain: Domain, residues: Words) -> Words {
        match domain {
            Domain::Evaluation => {
                EvaluationOrder::BitReversed.convert(self.order, self.program.degree, &residues).into()
            }
            Domain::Coefficient => {
                let order = self.transform(limb);
                (0..residues.len()).map(|place| residues[order.coefficient_at(place)]).collect()
            }
        }
    }

    fn leave(&self, limb: LimbId, domain: Domain, words: Words) -> Words {
        match domain {
            Domain::Evaluation => self.order.convert(EvaluationOrder::BitReversed, self.program.degree, &words).into(),
            Domain::Coefficient => {
                let order = self.transform(limb);
                let mut residues = vec![0; words.len()];
                words.iter().enumerate().for_each(|(place, &word)| residues[order.coefficient_at(place)] = word);
                residues.into()
            }
        }
    }
}
