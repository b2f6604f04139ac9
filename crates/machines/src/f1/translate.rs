//! Translates a kernel program to instructions on residue vectors (section 4.2).
//!
//! Composite operations are replaced by their bodies, and operations on several limbs by one instruction per
//! limb, or per vector if a polynomial has several. A residue that is lifted to another modulus needs no
//! separate instruction if its reader's unit reduces it; otherwise it is multiplied by 1.

use super::expand::value;
use super::graph::{Function, Graph, GraphBuilder, LeafClass, MOST, Vector};
use crate::rns::labels::Labels;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use crate::rns::step::Step;
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::automorphism::{GaloisElement, GaloisElementError};
use polyfabric_kernels::modular::{Modulus, PrimeForm};
use polyfabric_kernels::ntt::{Ntt, NttError};
use polyfabric_program::rns::kernel::{Conversion, KernelError, KernelProgram, LimbSet, Op, OpKind};
use polyfabric_schemes::rns::{Domain, LimbId};
use std::collections::HashMap;
use std::sync::Arc;

/// A result of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub name: Arc<str>,
    /// The power of the secret key.
    pub part: u16,
    /// Each limb with its vectors in order.
    pub limbs: Vec<(LimbId, Vec<Vector>)>,
    pub domain: Domain,
}

/// A program as a graph.
#[derive(Clone, Debug)]
pub struct Translation {
    pub graph: Graph,
    /// The meaning of its leaves, in order.
    pub leaves: Vec<LeafSubpolynomial>,
    /// The meaning of its results.
    pub outputs: Vec<Output>,
    /// Indexed by limb.
    pub moduli: Arc<[Modulus]>,
    /// For each instruction, the homomorphic operation that it belongs to; consecutive equal numbers are one
    /// operation.
    pub origins: Vec<u32>,
    /// For each instruction, its original number before reordering.
    pub numbers: Vec<u32>,
}

impl Translation {
    /// The meaning of the values in events; the number of a step is that of its function.
    pub fn labels(&self, subpolynomials: Subpolynomials) -> Labels {
        let (graph, result) = (&self.graph, |vector: &Vector| value(&self.graph, self.graph.number(*vector) as u32));
        let output = |output: &Output| output.limbs.iter().flat_map(|(_, vectors)| vectors).map(result).collect();
        Labels {
            steps: graph.functions().iter().map(|&function| Step::One(function)).collect(),
            composites: false,
            vectors: graph.values(),
            streams: HashMap::new(),
            first_leaf: graph.len(),
            leaves: self.leaves.iter().copied().map(Some).collect(),
            outputs: self.outputs.iter().map(output).collect(),
            subpolynomials,
        }
    }
}

/// Why a program has no translation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TranslationError {
    #[error(
        "limb {limb} is modulo {modulus}; the machine's multipliers support primes below 2^32 that are 1 modulo 2^16: choose a set of \
         that class, in a file `primes = \"1-mod-2^16\"`"
    )]
    Modulus { limb: usize, modulus: u64 },
    #[error("operation `{op}`: {what}; lower the program with another choice")]
    Operation { op: &'static str, what: &'static str },
    #[error(
        "the program has {count} {what} or more, but F1's compiler supports {MOST}: split it into programs that run in sequence"
    )]
    Large { what: &'static str, count: usize },
    #[error(transparent)]
    Program(#[from] KernelError),
    #[error(transparent)]
    Ntt(#[from] NttError),
    #[error(transparent)]
    Element(#[from] GaloisElementError),
}

struct Translator<'a> {
    program: &'a KernelProgram,
    subpolynomials: Subpolynomials,
    builder: GraphBuilder,
    leaves: Vec<LeafSubpolynomial>,
    known: HashMap<LeafSubpolynomial, Vector>,
    /// The transforms that provide the subpolynomials' roots, by limb.
    transforms: HashMap<u16, Ntt<u64>>,
    /// The vectors of each value, limb by limb in order.
    values: Vec<Vec<Vector>>,
    reduced: Vec<bool>,
}

/// Translates `program`; its polynomials are split into `subpolynomials`.
pub fn translate(program: &KernelProgram, subpolynomials: Subpolynomials) -> Result<Translation, TranslationError> {
    for (limb, modulus) in program.moduli.iter().enumerate() {
        if modulus.bits() > 32 || PrimeForm::new(*modulus).is_err() {
            return Err(TranslationError::Modulus { limb, modulus: modulus.value() });
        }
    }
    let program = program.expanded()?;
    let mut translator = Translator {
        program: &program,
        subpolynomials,
        builder: GraphBuilder::default(),
        leaves: Vec::new(),
        known: HashMap::new(),
        transforms: HashMap::new(),
        values: Vec::with_capacity(program.values.len()),
        reduced: reduced_by_readers(&program, subpolynomials),
    };
    let mut inputs = 0;
    let mut origins = Vec::new();
    for op in &program.ops {
        let vectors = translator.op(op, &mut inputs)?;
        translator.values.push(vectors);
        numbered("instructions", translator.builder.len(), MOST)?;
        numbered("vectors in memory", translator.leaves.len(), MOST)?;
        origins.resize(translator.builder.len(), op.step);
    }
    let mut outputs = Vec::new();
    for output in &program.outputs {
        let value = program.value(output.value);
        let vectors = &translator.values[output.value.index()];
        vectors.iter().for_each(|&vector| translator.builder.output(vector));
        outputs.push(Output {
            name: output.name.clone(),
            part: output.part,
            limbs: value.limbs.iter().zip(vectors.chunks(subpolynomials.count()).map(<[_]>::to_vec)).collect(),
            domain: value.domain,
        });
    }
    let Translator { builder, leaves, .. } = translator;
    let numbers = (0..builder.len() as u32).collect();
    Ok(Translation { graph: builder.finish(), leaves, outputs, moduli: program.moduli.clone(), origins, numbers })
}

/// Checks that `count` does not exceed the numbering.
fn numbered(what: &'static str, count: usize, most: usize) -> Result<(), TranslationError> {
    if count > most { Err(TranslationError::Large { what, count }) } else { Ok(()) }
}

impl Translator<'_> {
    /// The vectors of the leaves of several limbs.
    fn leaves(&mut self, limbs: &LimbSet, leaf: impl Fn(LimbId) -> Leaf) -> Vec<Vector> {
        let Self { builder, leaves, known, subpolynomials, .. } = self;
        let of_limb = |limb| (0..subpolynomials.count() as u16).map(move |subpolynomial| (limb, subpolynomial));
        let vector = |(limb, subpolynomial)| {
            let of = LeafSubpolynomial { leaf: leaf(limb), subpolynomial };
            *known.entry(of).or_insert_with(|| {
                leaves.push(of);
                let hint = matches!(of.leaf, Leaf::Hint { .. });
                builder.leaf(if hint { LeafClass::Hint } else { LeafClass::Input })
            })
        };
        limbs.iter().flat_map(of_limb).map(vector).collect()
    }

    /// One instruction for each vector of each limb.
    fn each(&mut self, op: &Op, limbs: &LimbSet, function: impl Fn(usize, u16) -> Function) -> Vec<Vector> {
        let (values, builder, subpolynomials) = (&self.values, &mut self.builder, self.subpolynomials.count());
        let instruction = |place: usize| {
            let function = function(place / subpolynomials, limbs.as_slice()[place / subpolynomials].0);
            let operands: Vec<Vector> = op.operands.iter().map(|value| values[value.index()][place]).collect();
            builder.push(function, &operands[..function.operands()])
        };
        (0..limbs.len() * subpolynomials).map(instruction).collect()
    }

    /// Maps each limb's vectors to equally many others.
    fn polynomials(
        &mut self,
        op: &Op,
        limbs: &LimbSet,
        lead: impl Fn(&mut Self, u16, &mut [Vector]) -> Result<(), TranslationError>,
    ) -> Result<Vec<Vector>, TranslationError> {
        let mut vectors = self.values[op.operands[0].index()].clone();
        for (polynomial, limb) in vectors.chunks_mut(self.subpolynomials.count()).zip(limbs.iter()) {
            lead(self, limb.0, polynomial)?;
        }
        Ok(vectors)
    }

    /// Coefficients to values.
    fn forward(&mut self, limb: u16, polynomial: &mut [Vector]) -> Result<(), TranslationError> {
        let mut width = polynomial.len();
        while width > 1 {
            let half = width / 2;
            for first in (0..polynomial.len()).step_by(width) {
                let constant = self.root(limb, first, half)? as u32;
                for low in first..first + half {
                    let factor = Function::MultiplyConstant { limb, constant };
                    let high = self.builder.push(factor, &[polynomial[low + half]]);
                    let pair = [polynomial[low], high];
                    polynomial[low] = self.builder.push(Function::Add { limb }, &pair);
                    polynomial[low + half] = self.builder.push(Function::Subtract { limb }, &pair);
                }
            }
            width = half;
        }
        for (subpolynomial, vector) in (0..).zip(polynomial) {
            *vector = self.builder.push(Function::ForwardNtt { limb, subpolynomial }, &[*vector]);
        }
        Ok(())
    }

    /// Values to coefficients: the same butterflies in reverse; the last layer divides by the number of
    /// subpolynomials.
    fn inverse(&mut self, limb: u16, polynomial: &mut [Vector]) -> Result<(), TranslationError> {
        for (subpolynomial, vector) in (0..).zip(&mut *polynomial) {
            *vector = self.builder.push(Function::InverseNtt { limb, subpolynomial }, &[*vector]);
        }
        let modulus = self.program.modulus(LimbId(limb));
        let inverse = |value| modulus.inverse(value).unwrap_or(0);
        let mut width = 2;
        while width <= polynomial.len() {
            let half = width / 2;
            let share = if width == polynomial.len() { inverse(width as u64) } else { 1 };
            for first in (0..polynomial.len()).step_by(width) {
                let back = modulus.multiply(inverse(self.root(limb, first, half)?), share) as u32;
                for low in first..first + half {
                    let pair = [polynomial[low], polynomial[low + half]];
                    let sum = self.builder.push(Function::Add { limb }, &pair);
                    let difference = self.builder.push(Function::Subtract { limb }, &pair);
                    let scaled = |constant| Function::MultiplyConstant { limb, constant };
                    polynomial[low] = if share == 1 { sum } else { self.builder.push(scaled(share as u32), &[sum]) };
                    polynomial[low + half] = self.builder.push(scaled(back), &[difference]);
                }
            }
            width *= 2;
        }
        Ok(())
    }

    /// X^(`half`·M) modulo each of the `half` subpolynomials from `first` on.
    fn root(&mut self, limb: u16, first: usize, half: usize) -> Result<u64, TranslationError> {
        if !self.transforms.contains_key(&limb) {
            self.transforms.insert(limb, self.subpolynomials.transform(self.program.modulus(LimbId(limb)))?);
        }
        Ok(self.subpolynomials.power(&self.transforms[&limb], first, half))
    }

    /// An automorphism permutes each vector, and the vectors.
    fn automorphism(
        &mut self,
        limb: u16,
        element: GaloisElement,
        values: bool,
        polynomial: &mut [Vector],
    ) -> Result<(), TranslationError> {
        if !values && polynomial.len() > 1 {
            let what = "an automorphism of coefficients that are several vectors mixes them";
            return Err(TranslationError::Operation { op: "automorphism", what });
        }
        let before = polynomial.to_vec();
        for (subpolynomial, vector) in (0..).zip(polynomial) {
            let function = Function::Automorphism { limb, element: element.value() as u32, subpolynomial, values };
            *vector =
                self.builder.push(function, &[before[self.subpolynomials.source(element, usize::from(subpolynomial))]]);
        }
        Ok(())
    }

    fn op(&mut self, op: &Op, inputs: &mut usize) -> Result<Vec<Vector>, TranslationError> {
        let result = self.program.value(op.results[0]).clone();
        let limbs = &result.limbs;
        let values = result.domain == Domain::Evaluation;
        let refuse = |what| Err(TranslationError::Operation { op: op.kind.name(), what });
        Ok(match &op.kind {
            OpKind::Input { .. } => {
                *inputs += 1;
                let index = *inputs - 1;
                self.leaves(limbs, |limb| Leaf::Input { index, limb })
            }
            OpKind::Plaintext { plaintext, .. } => {
                self.leaves(limbs, |limb| Leaf::Plaintext { plaintext: *plaintext, limb, values })
            }
            OpKind::Key { key, row, part, .. } => {
                self.leaves(limbs, |limb| Leaf::Hint { key: *key, row: *row, part: *part, limb })
            }
            OpKind::Add => self.each(op, limbs, |_, limb| Function::Add { limb }),
            OpKind::Sub => self.each(op, limbs, |_, limb| Function::Subtract { limb }),
            OpKind::Negate => self.each(op, limbs, |_, limb| Function::Negate { limb }),
            OpKind::Multiply => self.each(op, limbs, |_, limb| Function::Multiply { limb }),
            OpKind::MultiplyAdd => {
                let products = self.each(op, limbs, |_, limb| Function::Multiply { limb });
                let addends = self.values[op.operands[2].index()].clone();
                let subpolynomials = self.subpolynomials.count();
                let sum = |(place, (&product, &addend)): (usize, (&Vector, &Vector))| {
                    let limb = limbs.as_slice()[place / subpolynomials].0;
                    self.builder.push(Function::Add { limb }, &[product, addend])
                };
                products.iter().zip(&addends).enumerate().map(sum).collect()
            }
            OpKind::Scale { factors } => self.each(op, limbs, |position, limb| Function::MultiplyConstant {
                limb,
                constant: factors[position] as u32,
            }),
            OpKind::AddConstant { addends } if values => self.each(op, limbs, |position, limb| Function::AddConstant {
                limb,
                constant: addends[position] as u32,
                values,
            }),
            OpKind::AddConstant { .. } => return refuse("a constant is added to one coefficient"),
            OpKind::ForwardNtt => self.polynomials(op, limbs, Self::forward)?,
            OpKind::InverseNtt => self.polynomials(op, limbs, Self::inverse)?,
            OpKind::Automorphism { element } => self.polynomials(op, limbs, |this, limb, polynomial| {
                this.automorphism(limb, *element, values, polynomial)
            })?,
            OpKind::SelectLimbs { .. } | OpKind::Concat => {
                let (program, vectors, subpolynomials) = (self.program, &self.values, self.subpolynomials.count());
                let held = |limb: LimbId| {
                    op.operands.iter().find_map(|&operand| {
                        let position = program.value(operand).limbs.position(limb)?;
                        Some(&vectors[operand.index()][position * subpolynomials..][..subpolynomials])
                    })
                };
                // The program has been checked, so an operand has each limb.
                limbs.iter().filter_map(held).flatten().copied().collect()
            }
            OpKind::BaseConversion { conversion, .. } => return self.base_conversion(op, limbs, *conversion),
            OpKind::SubDigit { .. } => return refuse("no unit cuts bits out of residues"),
            OpKind::ModUp { .. } | OpKind::InnerProduct { .. } | OpKind::ModDown { .. } => {
                return refuse("it is composite and has not been replaced by its body");
            }
        })
    }

    /// Σ y_i·(B/b_i) modulo each target; for balanced representatives, y_i is shifted by half of b_i and back.
    fn base_conversion(
        &mut self,
        op: &Op,
        targets: &LimbSet,
        conversion: Conversion,
    ) -> Result<Vec<Vector>, TranslationError> {
        let operand = op.operands[0];
        let source = self.program.value(operand).limbs.clone();
        let single = source.len() == 1;
        if conversion == Conversion::Centred && !single {
            let what = "an exact conversion from several limbs needs their quotient";
            return Err(TranslationError::Operation { op: op.kind.name(), what });
        }
        let shifted = conversion != Conversion::Approximate;
        let reduced = self.reduced[op.results[0].index()];
        // The program has been checked, so these are coefficients.
        let values = false;
        let moduli = &self.program.moduli;
        let modulus = |limb: LimbId| moduli[limb.index()];
        // B/b_i modulo another modulus.
        let cofactor = |of: LimbId, to: Modulus| {
            let others = source.iter().filter(|&limb| limb != of).map(|limb| modulus(limb).value());
            others.fold(1, |product, value| to.multiply(product, to.reduce(value)))
        };
        let (builder, subpolynomials) = (&mut self.builder, self.subpolynomials.count());
        let mut digits = self.values[operand.index()].clone();
        for (polynomial, limb) in digits.chunks_mut(subpolynomials).zip(source.iter()) {
            for digit in polynomial {
                if !single {
                    // The moduli are distinct primes, so the inverse exists.
                    let inverse = modulus(limb).inverse(cofactor(limb, modulus(limb))).unwrap_or(0) as u32;
                    *digit = builder.push(Function::MultiplyConstant { limb: limb.0, constant: inverse }, &[*digit]);
                }
                if shifted {
                    let constant = (modulus(limb).value() / 2) as u32;
                    let half = Function::AddConstant { limb: limb.0, constant, values };
                    *digit = builder.push(half, &[*digit]);
                }
            }
        }
        let mut results = Vec::with_capacity(targets.len() * subpolynomials);
        for (target, subpolynomial) in
            targets.iter().flat_map(|target| (0..subpolynomials).map(move |subpolynomial| (target, subpolynomial)))
        {
            let (to, limb) = (modulus(target), target.0);
            let mut sum = None;
            let mut shift = 0;
            for (polynomial, from) in digits.chunks(subpolynomials).zip(source.iter()) {
                let digit = polynomial[subpolynomial];
                let factor = cofactor(from, to);
                shift = to.add(shift, to.multiply(factor, to.reduce(modulus(from).value() / 2)));
                let constant = factor as u32;
                // The factor of a single digit is 1. Neither the sum with a constant nor every reader reduces
                // it.
                let term = match single && reduced {
                    true => digit,
                    false => builder.push(Function::MultiplyConstant { limb, constant }, &[digit]),
                };
                sum = Some(sum.map_or(term, |sum| builder.push(Function::Add { limb }, &[sum, term])));
            }
            // A value has at least one limb.
            let Some(mut sum) = sum else { continue };
            if shifted {
                let constant = to.neg(shift) as u32;
                sum = builder.push(Function::AddConstant { limb, constant, values }, &[sum]);
            }
            results.push(sum);
        }
        Ok(results)
    }
}

/// For each value, whether all its readers reduce their operand: products with constants, and transforms
/// without preceding butterflies between vectors.
fn reduced_by_readers(program: &KernelProgram, subpolynomials: Subpolynomials) -> Vec<bool> {
    let mut reduced = vec![true; program.values.len()];
    for op in &program.ops {
        let reduces = match op.kind {
            OpKind::ForwardNtt => subpolynomials.count() == 1,
            OpKind::Scale { .. } => true,
            _ => false,
        };
        if !reduces {
            op.operands.iter().for_each(|operand| reduced[operand.index()] = false);
        }
    }
    program.outputs.iter().for_each(|output| reduced[output.value.index()] = false);
    reduced
}

#[cfg(test)]
mod tests {
    //! Is a program that exceeds the numbering rejected with a fix?
    use super::*;

    #[test]
    fn too_large_programs_are_rejected() {
        assert_eq!(numbered("instructions", 7, 7), Ok(()));
        let refused = numbered("instructions", 8, 7).expect_err("one too many");
        assert_eq!(refused, TranslationError::Large { what: "instructions", count: 8 });
        assert!(refused.to_string().contains("split it into programs"), "{refused}");
    }
}
