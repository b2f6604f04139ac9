//! Bodies of composite operations, which define their meaning.
//!
//! | operation | body |
//! |---|---|
//! | `mod_up` of digit D to limbs T | D's limbs to coefficients, base conversion to T − D, transform; concatenate D's limbs unchanged |
//! | `mod_up` with a window | the one limb to coefficients, its sub-digit modulo T, transform |
//! | `inner_product` | key, multiply; then key, multiply-add for each digit; for b and for a |
//! | `mod_down` of limbs D | D's limbs (times t^-1) to coefficients, base conversion to the rest, (times t,) transform; subtract, times B^-1 |
//!
//! Sources: hybrid key switching, K. Han and D. Ki, CT-RSA 2020, sections 3 and 4; rescaling in residues, J. H. Cheon et al.,
//! SAC 2018, sections 3 and 4; the correction modulo t, C. Gentry, S. Halevi and N. Smart, CRYPTO 2012, appendix D.

use super::{
    Conversion, DigitWindow, KernelBuilder, KernelError, KernelProgram, LimbSet, Op, OpId, OpKind, ValueId, ValueType,
};
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, Part};

/// The body of a composite operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Number of operands: values 0 to `operands` − 1 of the body.
    pub operands: usize,
    /// Types of the operands, then of the operations' results.
    pub values: Vec<ValueType>,
    /// None of them composite.
    pub ops: Vec<Op>,
    /// The results of the composite operation.
    pub yields: Vec<ValueId>,
}

/// The product of the moduli of `limbs` modulo `modulus`.
pub(super) fn product_modulo(moduli: &[Modulus], limbs: &LimbSet, modulus: Modulus) -> u64 {
    let values = limbs.iter().map(|limb| moduli[limb.index()].value());
    values.fold(1, |product, value| modulus.multiply(product, modulus.reduce(value)))
}

/// For each limb of `of`, the inverse of `number(modulus)`, which [`super::check`] has verified to exist.
fn inverses(moduli: &[Modulus], of: &LimbSet, number: impl Fn(Modulus) -> u64) -> Vec<u64> {
    let inverse = |limb: LimbId| {
        let modulus = moduli[limb.index()];
        modulus.inverse(number(modulus)).unwrap_or(0)
    };
    of.iter().map(inverse).collect()
}

fn mod_up(
    builder: &mut KernelBuilder,
    a: ValueId,
    digit: &LimbSet,
    window: Option<DigitWindow>,
    to: &LimbSet,
    conversion: Conversion,
) -> Result<ValueId, KernelError> {
    let own = builder.select_limbs(a, digit.clone())?;
    let given = builder.value(own).domain;
    let coefficients = match given {
        Domain::Coefficient => own,
        Domain::Evaluation => builder.inverse_ntt(own)?,
    };
    if let Some(window) = window {
        let digit = builder.sub_digit(coefficients, window, to.clone())?;
        return builder.forward_ntt(digit);
    }
    let values = match given {
        Domain::Coefficient => builder.forward_ntt(own)?,
        Domain::Evaluation => own,
    };
    let rest = to.difference(digit);
    if rest.is_empty() {
        return Ok(values);
    }
    let raised = builder.base_conversion(coefficients, rest, conversion)?;
    let raised = builder.forward_ntt(raised)?;
    builder.concat(&[values, raised])
}

fn inner_product(
    builder: &mut KernelBuilder,
    digits: &[ValueId],
    key: KeyId,
    rows: &[u16],
    part: Part,
) -> Result<ValueId, KernelError> {
    let mut sum = None;
    for (&digit, &row) in digits.iter().zip(rows) {
        let limbs = builder.limbs(digit).clone();
        let factor = builder.key(key, row, part, limbs)?;
        sum = Some(builder.accumulate(digit, factor, sum)?);
    }
    // The check ensures that there is a digit.
    Ok(sum.unwrap_or(ValueId(0)))
}

fn mod_down(
    builder: &mut KernelBuilder,
    a: ValueId,
    drop: &LimbSet,
    conversion: Conversion,
    plaintext_modulus: Option<u64>,
) -> Result<ValueId, KernelError> {
    let rest = builder.limbs(a).difference(drop);
    let moduli: Vec<Modulus> = builder.moduli().to_vec();
    let mut dropped = builder.select_limbs(a, drop.clone())?;
    if let Some(t) = plaintext_modulus {
        dropped = builder.scale(dropped, &inverses(&moduli, drop, |modulus| modulus.reduce(t)))?;
    }
    let dropped = builder.inverse_ntt(dropped)?;
    let mut remainder = builder.base_conversion(dropped, rest.clone(), conversion)?;
    if let Some(t) = plaintext_modulus {
        remainder = builder.scale(remainder, &builder.residues(i128::from(t), &rest))?;
    }
    let remainder = builder.forward_ntt(remainder)?;
    let kept = builder.select_limbs(a, rest.clone())?;
    let difference = builder.sub(kept, remainder)?;
    let inverse = inverses(&moduli, &rest, |modulus| product_modulo(&moduli, drop, modulus));
    builder.scale(difference, &inverse)
}

/// Adds the body of `kind` on `operands` to `builder` and returns its results; `None` if the operation is not composite.
fn expand(
    builder: &mut KernelBuilder,
    kind: &OpKind,
    operands: &[ValueId],
) -> Result<Option<Vec<ValueId>>, KernelError> {
    Ok(Some(match kind {
        OpKind::ModUp { digit, window, to, conversion } => {
            vec![mod_up(builder, operands[0], digit, *window, to, *conversion)?]
        }
        OpKind::InnerProduct { key, rows } => {
            let body = inner_product(builder, operands, *key, rows, Part::Body)?;
            vec![body, inner_product(builder, operands, *key, rows, Part::Mask)?]
        }
        OpKind::ModDown { drop, conversion, plaintext_modulus } => {
            vec![mod_down(builder, operands[0], drop, *conversion, *plaintext_modulus)?]
        }
        _ => return Ok(None),
    }))
}

impl KernelProgram {
    /// The body of the operation `op`, or `None` if it is not composite.
    ///
    /// # Errors
    /// [`KernelError`] if the program is inconsistent ([`KernelProgram::check`]).
    ///
    /// # Panics
    /// If `op` does not exist.
    pub fn body(&self, op: OpId) -> Result<Option<Body>, KernelError> {
        let op = &self.ops[op.index()];
        let operands = op.operands.len();
        let mut builder = KernelBuilder::body_of(self, op.operands.iter().map(|&operand| self.value(operand).clone()));
        builder.set_place(op.origin, op.step);
        let places: Vec<ValueId> = (0..operands as u32).map(ValueId).collect();
        let yields = expand(&mut builder, &op.kind, &places)?;
        Ok(yields.map(|yields| builder.into_body(operands, yields)))
    }

    /// The same program with each composite operation replaced by its body. Output names are kept; value numbers change.
    ///
    /// # Errors
    /// [`KernelError`] if the program is inconsistent.
    pub fn expanded(&self) -> Result<Self, KernelError> {
        let mut builder = KernelBuilder::like(self);
        let mut place: Vec<ValueId> = Vec::with_capacity(self.values.len());
        for op in &self.ops {
            builder.set_place(op.origin, op.step);
            let operands: Vec<ValueId> = op.operands.iter().map(|operand| place[operand.index()]).collect();
            let results = match expand(&mut builder, &op.kind, &operands)? {
                Some(results) => results,
                None => builder.push(op.kind.clone(), &operands)?,
            };
            place.extend(results);
        }
        for output in &self.outputs {
            builder.output(output.name.clone(), output.part, place[output.value.index()]);
        }
        builder.finish()
    }
}
