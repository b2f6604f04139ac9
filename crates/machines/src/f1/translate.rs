//! From a kernel program to instructions on residue vectors (section 4.2, translation).
//!
//! Composite operations are replaced by their bodies, operations on several limbs by one instruction a limb. A residue that is
//! lifted to another modulus needs no instruction of its own: the unit that takes it next reduces it.

use super::graph::{Function, Graph, GraphBuilder, LeafClass, Vector};
use polyfabric_kernels::modular::{Modulus, PrimeForm};
use polyfabric_program::rns::kernel::{Conversion, KernelError, KernelProgram, LimbSet, Op, OpKind};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, Part};
use std::collections::HashMap;
use std::sync::Arc;

/// What a leaf of the graph holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// A limb of an input of the program.
    Input {
        /// Which of [`KernelProgram::inputs`].
        index: usize,
        /// Limb.
        limb: LimbId,
    },
    /// A limb of a public polynomial.
    Plaintext {
        /// Index into [`KernelProgram::plaintexts`].
        plaintext: u32,
        /// Limb.
        limb: LimbId,
        /// Whether values are wanted instead of coefficients.
        values: bool,
    },
    /// A limb of a switching key: a vector of a hint.
    Hint {
        /// Key.
        key: KeyId,
        /// Row.
        row: u16,
        /// Half of the row.
        part: Part,
        /// Limb.
        limb: LimbId,
    },
}

/// A result of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Name of the output.
    pub name: Arc<str>,
    /// Which power of the secret key.
    pub part: u16,
    /// Its limbs, with the vector of each.
    pub limbs: Vec<(LimbId, Vector)>,
    /// Domain of the vectors.
    pub domain: Domain,
}

/// A program as a graph.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The graph.
    pub graph: Graph,
    /// What its leaves are, in order.
    pub leaves: Vec<Leaf>,
    /// What its results are.
    pub outputs: Vec<Output>,
    /// The moduli that limbs index.
    pub moduli: Arc<[Modulus]>,
    /// For each instruction, which homomorphic operation it serves: a run of equal numbers is one.
    pub origins: Vec<u32>,
    /// For each instruction, which one it was before any was moved.
    pub numbers: Vec<u32>,
}

/// Why a program has no translation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TranslationError {
    /// A modulus that the multiplier does not serve.
    #[error(
        "limb {limb} is modulo {modulus}; F1's multipliers serve primes below 2^32 that are 1 modulo 2^16: choose a set of \
         that class"
    )]
    Modulus {
        /// Limb.
        limb: usize,
        /// Its modulus.
        modulus: u64,
    },
    /// An operation that no unit does.
    #[error("operation `{op}`: {what}; lower the program with another choice")]
    Operation {
        /// Name of the operation.
        op: &'static str,
        /// What no unit does.
        what: &'static str,
    },
    /// The program is not consistent.
    #[error(transparent)]
    Program(#[from] KernelError),
}

struct Translator<'a> {
    program: &'a KernelProgram,
    builder: GraphBuilder,
    leaves: Vec<Leaf>,
    known: HashMap<Leaf, Vector>,
    /// The vectors of each value, in the order of its limbs.
    values: Vec<Vec<Vector>>,
    reduced: Vec<bool>,
}

/// Translates `program`.
///
/// # Errors
/// [`TranslationError`] for moduli that are not F1's, or operations that its units do not have.
pub fn translate(program: &KernelProgram) -> Result<Translation, TranslationError> {
    for (limb, modulus) in program.moduli.iter().enumerate() {
        if modulus.bits() > 32 || PrimeForm::new(*modulus).is_err() {
            return Err(TranslationError::Modulus { limb, modulus: modulus.value() });
        }
    }
    let program = program.expanded()?;
    let mut translator = Translator {
        program: &program,
        builder: GraphBuilder::default(),
        leaves: Vec::new(),
        known: HashMap::new(),
        values: Vec::with_capacity(program.values.len()),
        reduced: reduced_by_readers(&program),
    };
    let mut inputs = 0;
    let mut origins = Vec::new();
    for op in &program.ops {
        let vectors = translator.op(op, &mut inputs)?;
        translator.values.push(vectors);
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
            limbs: value.limbs.iter().zip(vectors.iter().copied()).collect(),
            domain: value.domain,
        });
    }
    let Translator { builder, leaves, .. } = translator;
    let numbers = (0..builder.len() as u32).collect();
    Ok(Translation { graph: builder.finish(), leaves, outputs, moduli: program.moduli.clone(), origins, numbers })
}

impl Translator<'_> {
    fn leaf(&mut self, leaf: Leaf) -> Vector {
        let Self { builder, leaves, known, .. } = self;
        *known.entry(leaf).or_insert_with(|| {
            leaves.push(leaf);
            let hint = matches!(leaf, Leaf::Hint { .. });
            builder.leaf(if hint { LeafClass::Hint } else { LeafClass::Input })
        })
    }

    /// One instruction a limb on the vectors of the operands.
    fn each(&mut self, op: &Op, limbs: &LimbSet, function: impl Fn(usize, u16) -> Function) -> Vec<Vector> {
        let (values, builder) = (&self.values, &mut self.builder);
        let instruction = |(position, limb): (usize, LimbId)| {
            let function = function(position, limb.0);
            let operands: Vec<Vector> = op.operands.iter().map(|value| values[value.index()][position]).collect();
            builder.push(function, &operands[..function.operands()])
        };
        limbs.iter().enumerate().map(instruction).collect()
    }

    fn op(&mut self, op: &Op, inputs: &mut usize) -> Result<Vec<Vector>, TranslationError> {
        let result = self.program.value(op.results[0]).clone();
        let limbs = &result.limbs;
        let values = result.domain == Domain::Evaluation;
        let refuse = |what| Err(TranslationError::Operation { op: op.kind.name(), what });
        Ok(match &op.kind {
            OpKind::Input { .. } => {
                *inputs += 1;
                limbs.iter().map(|limb| self.leaf(Leaf::Input { index: *inputs - 1, limb })).collect()
            }
            OpKind::Plaintext { plaintext, .. } => {
                let leaf = |limb| Leaf::Plaintext { plaintext: *plaintext, limb, values };
                limbs.iter().map(|limb| self.leaf(leaf(limb))).collect()
            }
            OpKind::Key { key, row, part, .. } => {
                let leaf = |limb| Leaf::Hint { key: *key, row: *row, part: *part, limb };
                limbs.iter().map(|limb| self.leaf(leaf(limb))).collect()
            }
            OpKind::Add => self.each(op, limbs, |_, limb| Function::Add { limb }),
            OpKind::Sub => self.each(op, limbs, |_, limb| Function::Subtract { limb }),
            OpKind::Negate => self.each(op, limbs, |_, limb| Function::Negate { limb }),
            OpKind::Multiply => self.each(op, limbs, |_, limb| Function::Multiply { limb }),
            OpKind::MultiplyAdd => {
                let products = self.each(op, limbs, |_, limb| Function::Multiply { limb });
                let addends = self.values[op.operands[2].index()].clone();
                let sums = products.iter().zip(&addends).zip(limbs.iter());
                sums.map(|((&p, &a), limb)| self.builder.push(Function::Add { limb: limb.0 }, &[p, a])).collect()
            }
            OpKind::Scale { factors } => self.each(op, limbs, |position, limb| Function::MultiplyConstant {
                limb,
                constant: factors[position] as u32,
            }),
            OpKind::AddConstant { addends } if values => self
                .each(op, limbs, |position, limb| Function::AddConstant { limb, constant: addends[position] as u32 }),
            OpKind::AddConstant { .. } => return refuse("a constant is added to one coefficient"),
            OpKind::ForwardNtt => self.each(op, limbs, |_, limb| Function::ForwardNtt { limb }),
            OpKind::InverseNtt => self.each(op, limbs, |_, limb| Function::InverseNtt { limb }),
            OpKind::Automorphism { element } => {
                let element = element.value() as u32;
                self.each(op, limbs, |_, limb| Function::Automorphism { limb, element, values })
            }
            OpKind::SelectLimbs { .. } | OpKind::Concat => {
                let (program, vectors) = (self.program, &self.values);
                let held = |limb: LimbId| {
                    op.operands.iter().find_map(|&operand| {
                        let position = program.value(operand).limbs.position(limb)?;
                        Some(vectors[operand.index()][position])
                    })
                };
                // The program's check has seen that an operand has each limb.
                limbs.iter().filter_map(held).collect()
            }
            OpKind::BaseConversion { conversion, .. } => return self.base_conversion(op, limbs, *conversion),
            OpKind::SubDigit { .. } => return refuse("no unit cuts bits out of residues"),
            OpKind::ModUp { .. } | OpKind::InnerProduct { .. } | OpKind::ModDown { .. } => {
                return refuse("it is composite and has not been replaced by its body");
            }
        })
    }

    /// Σ y_i·(B/b_i) modulo each target, y_i shifted by half of b_i and back where the representatives are balanced.
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
        let moduli = &self.program.moduli;
        let modulus = |limb: LimbId| moduli[limb.index()];
        // B/b_i modulo another modulus.
        let cofactor = |of: LimbId, to: Modulus| {
            let others = source.iter().filter(|&limb| limb != of).map(|limb| modulus(limb).value());
            others.fold(1, |product, value| to.multiply(product, to.reduce(value)))
        };
        let builder = &mut self.builder;
        let mut digits = self.values[operand.index()].clone();
        for (digit, limb) in digits.iter_mut().zip(source.iter()) {
            if !single {
                // The moduli are distinct primes, so the inverse exists.
                let inverse = modulus(limb).inverse(cofactor(limb, modulus(limb))).unwrap_or(0) as u32;
                *digit = builder.push(Function::MultiplyConstant { limb: limb.0, constant: inverse }, &[*digit]);
            }
            if shifted {
                let half = (modulus(limb).value() / 2) as u32;
                *digit = builder.push(Function::AddConstant { limb: limb.0, constant: half }, &[*digit]);
            }
        }
        let mut results = Vec::new();
        for target in targets.iter() {
            let (to, limb) = (modulus(target), target.0);
            let mut sum = None;
            let mut shift = 0;
            for (&digit, from) in digits.iter().zip(source.iter()) {
                let factor = cofactor(from, to);
                shift = to.add(shift, to.multiply(factor, to.reduce(modulus(from).value() / 2)));
                let constant = factor as u32;
                let term =
                    if single { digit } else { builder.push(Function::MultiplyConstant { limb, constant }, &[digit]) };
                sum = Some(sum.map_or(term, |sum| builder.push(Function::Add { limb }, &[sum, term])));
            }
            // A value has at least one limb.
            let Some(mut sum) = sum else { continue };
            if shifted {
                sum = builder.push(Function::AddConstant { limb, constant: to.neg(shift) as u32 }, &[sum]);
            } else if single && !self.reduced[op.results[0].index()] {
                // Whoever reads it next would not reduce it.
                sum = builder.push(Function::AddConstant { limb, constant: 0 }, &[sum]);
            }
            results.push(sum);
        }
        Ok(results)
    }
}

/// For each value whether all that reads it reduces what it takes in: transforms and products with constants.
fn reduced_by_readers(program: &KernelProgram) -> Vec<bool> {
    let mut reduced = vec![true; program.values.len()];
    for op in &program.ops {
        if !matches!(op.kind, OpKind::ForwardNtt | OpKind::Scale { .. }) {
            op.operands.iter().for_each(|operand| reduced[operand.index()] = false);
        }
    }
    program.outputs.iter().for_each(|output| reduced[output.value.index()] = false);
    reduced
}
