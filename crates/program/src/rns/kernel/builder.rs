//! Builds kernel programs and checks each operation.

use super::check::{check_moduli, result_types};
use super::{
    Body, Conversion, DigitWindow, KernelError, KernelProgram, LimbSet, Op, OpId, OpKind, Output, PublicPolynomial,
    ValueId, ValueType,
};
use crate::rns::homomorphic::NodeId;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::cancel;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::{KeyId, LimbId, Part};
use std::collections::HashMap;
use std::sync::Arc;

/// A kernel program under construction, with one method per [`OpKind`], which documents the operation.
///
/// Methods that add an operation return its value, or a [`KernelError`] if its operands are invalid.
#[derive(Debug)]
pub struct KernelBuilder {
    program: KernelProgram,
    origin: Option<NodeId>,
    step: u32,
    /// Plaintexts by address, so that one used at two levels is stored once.
    known: HashMap<*const PublicPolynomial, u32>,
}

impl KernelBuilder {
    /// An empty program over the ring of `degree` with the moduli `moduli`.
    ///
    /// # Errors
    /// [`KernelError::Moduli`] unless the moduli are distinct and 1 modulo 2N.
    pub fn new(name: impl Into<Arc<str>>, degree: RingDegree, moduli: &[Modulus]) -> Result<Self, KernelError> {
        check_moduli(degree, moduli)?;
        let program = KernelProgram {
            name: name.into(),
            degree,
            moduli: moduli.into(),
            plaintexts: Vec::new(),
            values: Vec::new(),
            ops: Vec::new(),
            outputs: Vec::new(),
        };
        Ok(Self { program, origin: None, step: 0, known: HashMap::new() })
    }

    /// For the body of an operation: the moduli of `program`, no plaintexts, and undefined values for the operands.
    pub(super) fn body_of(program: &KernelProgram, operands: impl Iterator<Item = ValueType>) -> Self {
        let program = KernelProgram {
            name: program.name.clone(),
            degree: program.degree,
            moduli: program.moduli.clone(),
            plaintexts: Vec::new(),
            values: operands.collect(),
            ops: Vec::new(),
            outputs: Vec::new(),
        };
        Self { program, origin: None, step: 0, known: HashMap::new() }
    }

    /// For a transformed `program`: its moduli and plaintexts.
    pub(super) fn like(program: &KernelProgram) -> Self {
        let mut builder = Self::body_of(program, std::iter::empty());
        builder.program.plaintexts.clone_from(&program.plaintexts);
        builder
    }

    /// The operations so far as a body with `operands` undefined values.
    pub(super) fn into_body(self, operands: usize, yields: Vec<ValueId>) -> Body {
        Body { operands, values: self.program.values, ops: self.program.ops, yields }
    }

    /// Sets the origin of the following operations, and starts a step.
    pub fn set_origin(&mut self, origin: Option<NodeId>) {
        self.origin = origin;
        self.next_step();
    }

    /// Starts the next operation on ciphertexts.
    pub fn next_step(&mut self) {
        self.step += 1;
    }

    /// Sets the origin and step of the following operations.
    pub(crate) fn set_place(&mut self, origin: Option<NodeId>, step: u32) {
        (self.origin, self.step) = (origin, step);
    }

    pub fn degree(&self) -> RingDegree {
        self.program.degree
    }

    pub fn moduli(&self) -> &[Modulus] {
        &self.program.moduli
    }

    /// The type of a value.
    ///
    /// If `value` belongs to another program.
    /// If `value` is of another program.
    pub fn value(&self, value: ValueId) -> &ValueType {
        self.program.value(value)
    }

    /// The limbs of a value.
    ///
    /// If `value` belongs to another program.
    /// If `value` is of another program.
    pub fn limbs(&self, value: ValueId) -> &LimbSet {
        &self.value(value).limbs
    }

    /// The residues of an integer modulo `limbs`, for [`Self::scale`] and [`Self::add_constant`].
    ///
    /// # Panics
    /// If a limb is not in the table.
    pub fn residues(&self, integer: i128, limbs: &LimbSet) -> Vec<u64> {
        let residue = |LimbId(limb): LimbId| {
            integer.rem_euclid(i128::from(self.program.moduli[usize::from(limb)].value())) as u64
        };
        limbs.iter().map(residue).collect()
    }

    /// Adds an operation of any kind and returns the values it defines.
    ///
    /// # Errors
    /// [`KernelError`] if the operands or parameters are invalid.
    pub fn push(&mut self, kind: OpKind, operands: &[ValueId]) -> Result<Vec<ValueId>, KernelError> {
        cancel::check();
        let at = OpId(self.program.ops.len() as u32);
        let types = result_types(self.program.context(), &self.program.values, at, &kind, operands)?;
        let first = self.program.values.len() as u32;
        let results: Vec<ValueId> = (first..first + types.len() as u32).map(ValueId).collect();
        self.program.values.extend(types);
        let (origin, step) = (self.origin, self.step);
        self.program.ops.push(Op { kind, operands: operands.to_vec(), results: results.clone(), origin, step });
        Ok(results)
    }

    fn one(&mut self, kind: OpKind, operands: &[ValueId]) -> Result<ValueId, KernelError> {
        Ok(self.push(kind, operands)?[0])
    }

    /// [`OpKind::Input`]: part `part` of the ciphertext `name`.
    ///
    /// # Errors
    /// [`KernelError`] if the limbs are not in the table.
    pub fn input(&mut self, name: impl Into<Arc<str>>, part: u16, value: ValueType) -> Result<ValueId, KernelError> {
        self.one(OpKind::Input { name: name.into(), part, value }, &[])
    }

    /// [`OpKind::Plaintext`]: a public polynomial. The same `Arc` is stored once.
    ///
    /// # Errors
    /// [`KernelError`] unless it has N coefficients and the limbs are in the table.
    pub fn plaintext(&mut self, polynomial: &Arc<PublicPolynomial>, value: ValueType) -> Result<ValueId, KernelError> {
        let plaintext = self.hold(polynomial)?;
        self.one(OpKind::Plaintext { plaintext, value }, &[])
    }

    /// The index of a public polynomial, which is added to the program if it is new.
    pub(crate) fn hold(&mut self, polynomial: &Arc<PublicPolynomial>) -> Result<u32, KernelError> {
        let (found, degree) = (polynomial.len(), self.program.degree.get());
        let next = self.program.plaintexts.len();
        if found != degree {
            return Err(KernelError::Plaintext { plaintext: next, found, degree });
        }
        let plaintext = *self.known.entry(Arc::as_ptr(polynomial)).or_insert(next as u32);
        if plaintext as usize == next {
            // The program keeps the `Arc` alive, so its address stays unique.
            self.program.plaintexts.push(Arc::clone(polynomial));
        }
        Ok(plaintext)
    }

    /// [`OpKind::Key`]: one polynomial of a switching key.
    ///
    /// # Errors
    /// [`KernelError`] if the limbs are not in the table.
    pub fn key(&mut self, key: KeyId, row: u16, part: Part, limbs: LimbSet) -> Result<ValueId, KernelError> {
        self.one(OpKind::Key { key, row, part, limbs }, &[])
    }

    /// [`OpKind::Add`].
    ///
    /// # Errors
    /// [`KernelError`] unless both have the same limbs and domain.
    pub fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::Add, &[a, b])
    }

    /// [`OpKind::Sub`].
    ///
    /// # Errors
    /// [`KernelError`] unless both have the same limbs and domain.
    pub fn sub(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::Sub, &[a, b])
    }

    /// [`OpKind::Negate`].
    ///
    /// # Errors
    /// [`KernelError`] if the operand belongs to another program.
    pub fn negate(&mut self, a: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::Negate, &[a])
    }

    /// [`OpKind::Multiply`].
    ///
    /// # Errors
    /// [`KernelError`] unless both have the same limbs, in the evaluation domain.
    pub fn multiply(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::Multiply, &[a, b])
    }

    /// [`OpKind::MultiplyAdd`]: a·b + c.
    ///
    /// # Errors
    /// [`KernelError`] unless all have the same limbs, in the evaluation domain.
    pub fn multiply_add(&mut self, a: ValueId, b: ValueId, c: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::MultiplyAdd, &[a, b, c])
    }

    /// a·b + `sum`, or a·b without a sum yet: a step of a key switch's inner product.
    ///
    /// # Errors
    /// As [`Self::multiply_add`].
    pub fn accumulate(&mut self, a: ValueId, b: ValueId, sum: Option<ValueId>) -> Result<ValueId, KernelError> {
        match sum {
            None => self.multiply(a, b),
            Some(sum) => self.multiply_add(a, b, sum),
        }
    }

    /// [`OpKind::Scale`] by the integer with the residues `factors`, one for each limb.
    ///
    /// # Errors
    /// [`KernelError`] unless there is a canonical residue for each limb.
    pub fn scale(&mut self, a: ValueId, factors: &[u64]) -> Result<ValueId, KernelError> {
        self.one(OpKind::Scale { factors: factors.into() }, &[a])
    }

    /// [`OpKind::AddConstant`] of the integer with the residues `addends`, one for each limb.
    ///
    /// # Errors
    /// [`KernelError`] unless there is a canonical residue for each limb.
    pub fn add_constant(&mut self, a: ValueId, addends: &[u64]) -> Result<ValueId, KernelError> {
        self.one(OpKind::AddConstant { addends: addends.into() }, &[a])
    }

    /// [`OpKind::ForwardNtt`].
    ///
    /// # Errors
    /// [`KernelError`] unless the operand is in the coefficient domain.
    pub fn forward_ntt(&mut self, a: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::ForwardNtt, &[a])
    }

    /// [`OpKind::InverseNtt`].
    ///
    /// # Errors
    /// [`KernelError`] unless the operand is in the evaluation domain.
    pub fn inverse_ntt(&mut self, a: ValueId) -> Result<ValueId, KernelError> {
        self.one(OpKind::InverseNtt, &[a])
    }

    /// [`OpKind::Automorphism`].
    ///
    /// # Errors
    /// [`KernelError`] if the element is of another degree.
    pub fn automorphism(&mut self, a: ValueId, element: GaloisElement) -> Result<ValueId, KernelError> {
        self.one(OpKind::Automorphism { element }, &[a])
    }

    /// [`OpKind::SelectLimbs`]. Returns the operand itself if it has exactly these limbs.
    ///
    /// # Errors
    /// [`KernelError`] unless the limbs are a subset of the operand's.
    pub fn select_limbs(&mut self, a: ValueId, limbs: LimbSet) -> Result<ValueId, KernelError> {
        if self.program.values.get(a.index()).is_some_and(|value| value.limbs == limbs) {
            return Ok(a);
        }
        self.one(OpKind::SelectLimbs { limbs }, &[a])
    }

    /// [`OpKind::Concat`].
    ///
    /// # Errors
    /// [`KernelError`] unless the operands' limbs are disjoint and in one domain.
    pub fn concat(&mut self, operands: &[ValueId]) -> Result<ValueId, KernelError> {
        self.one(OpKind::Concat, operands)
    }

    /// [`OpKind::BaseConversion`].
    ///
    /// # Errors
    /// [`KernelError`] unless the operand is in the coefficient domain and `to` is disjoint from its limbs.
    pub fn base_conversion(&mut self, a: ValueId, to: LimbSet, conversion: Conversion) -> Result<ValueId, KernelError> {
        self.one(OpKind::BaseConversion { to, conversion }, &[a])
    }

    /// [`OpKind::SubDigit`].
    ///
    /// # Errors
    /// [`KernelError`] unless the operand is a single limb in the coefficient domain, wide enough for the window.
    pub fn sub_digit(&mut self, a: ValueId, window: DigitWindow, to: LimbSet) -> Result<ValueId, KernelError> {
        self.one(OpKind::SubDigit { window, to }, &[a])
    }

    /// [`OpKind::ModUp`] of the digit with the limbs `digit`.
    ///
    /// # Errors
    /// [`KernelError`] unless operand and result contain the digit's limbs.
    pub fn mod_up(
        &mut self,
        a: ValueId,
        digit: LimbSet,
        to: LimbSet,
        conversion: Conversion,
    ) -> Result<ValueId, KernelError> {
        self.one(OpKind::ModUp { digit, window: None, to, conversion }, &[a])
    }

    /// [`OpKind::ModUp`] of a digit smaller than the limb `limb`.
    ///
    /// # Errors
    /// [`KernelError`] unless operand and result contain the limb, and it is wide enough for the window.
    pub fn mod_up_window(
        &mut self,
        a: ValueId,
        limb: LimbId,
        window: DigitWindow,
        to: LimbSet,
    ) -> Result<ValueId, KernelError> {
        let kind =
            OpKind::ModUp { digit: LimbSet::one(limb), window: Some(window), to, conversion: Conversion::Centred };
        self.one(kind, &[a])
    }

    /// [`OpKind::InnerProduct`] with the first rows of `key`, one per digit: (Σ d_i·b_i, Σ d_i·a_i).
    ///
    /// # Errors
    /// [`KernelError`] unless there is a digit, and all have the same limbs, in the evaluation domain.
    pub fn inner_product(&mut self, key: KeyId, digits: &[ValueId]) -> Result<(ValueId, ValueId), KernelError> {
        let rows: Vec<u16> = (0..digits.len().min(usize::from(u16::MAX)) as u16).collect();
        self.inner_product_of_rows(key, &rows, digits)
    }

    /// [`OpKind::InnerProduct`] with row `rows[i]` of `key` for digit i.
    ///
    /// # Errors
    /// [`KernelError`] unless there is one row per digit, and all have the same limbs, in the evaluation domain.
    pub fn inner_product_of_rows(
        &mut self,
        key: KeyId,
        rows: &[u16],
        digits: &[ValueId],
    ) -> Result<(ValueId, ValueId), KernelError> {
        let results = self.push(OpKind::InnerProduct { key, rows: rows.into() }, digits)?;
        Ok((results[0], results[1]))
    }

    /// [`OpKind::ModDown`]: divides by the product of the limbs `drop`; a rescaling if they are limbs of Q.
    ///
    /// # Errors
    /// [`KernelError`] unless the operand has the limbs to drop and others, in the evaluation domain, and `plaintext_modulus` is
    /// coprime to them.
    pub fn mod_down(
        &mut self,
        a: ValueId,
        drop: LimbSet,
        conversion: Conversion,
        plaintext_modulus: Option<u64>,
    ) -> Result<ValueId, KernelError> {
        self.one(OpKind::ModDown { drop, conversion, plaintext_modulus }, &[a])
    }

    /// Declares `value` as part `part` of the output ciphertext `name`.
    pub fn output(&mut self, name: impl Into<Arc<str>>, part: u16, value: ValueId) {
        self.program.outputs.push(Output { name: name.into(), part, value });
    }

    /// Checks and returns the program.
    ///
    /// # Errors
    /// [`KernelError`] if an output is not a value, or an input or output occurs twice.
    pub fn finish(self) -> Result<KernelProgram, KernelError> {
        self.program.check()?;
        Ok(self.program)
    }
}
