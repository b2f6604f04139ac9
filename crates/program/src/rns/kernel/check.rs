//! Consistency checks of kernel programs, for the builder's results and parsed text alike.

use super::{DigitWindow, KernelProgram, LimbSet, Op, OpId, OpKind, ValueId, ValueType};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::cancel;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::{Domain, LimbId};
use std::collections::HashSet;
use thiserror::Error;

/// An inconsistency of a kernel program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KernelError {
    #[error("modulus {index} of the table: {problem}; correct the moduli")]
    Moduli { index: usize, problem: String },
    #[error("operation {at} ({op}): operand {operand} is not defined before it; order the operations")]
    Undefined { at: OpId, op: &'static str, operand: ValueId },
    #[error("operation {at} ({op}): {found} operands, but it takes {needed}; correct its operands")]
    OperandCount { at: OpId, op: &'static str, found: usize, needed: &'static str },
    #[error(
        "operation {at} ({op}): operand {operand} is in the {found:?} domain, {needed:?} is needed; transform it first"
    )]
    Domain { at: OpId, op: &'static str, operand: ValueId, found: Domain, needed: Domain },
    #[error(
        "operation {at} ({op}): operand {operand} has the limbs {found}, the first operand has {first}; select or drop limbs first"
    )]
    DifferentLimbs { at: OpId, op: &'static str, operand: ValueId, found: LimbSet, first: LimbSet },
    #[error("operation {at} ({op}): {problem}; correct its limbs")]
    Limbs { at: OpId, op: &'static str, problem: String },
    #[error("operation {at} ({op}): {problem}; correct the parameter")]
    Parameter { at: OpId, op: &'static str, problem: String },
    #[error("operation {at} ({op}): {problem}; correct its results")]
    Result { at: OpId, op: &'static str, problem: String },
    #[error("plaintext {plaintext} has {found} coefficients, the ring degree is {degree}; give {degree}")]
    Plaintext {
        plaintext: usize,
        found: usize,
        /// N.
        degree: usize,
    },
    #[error("output {name:?} is {value}, which is no value of the program; name one")]
    Output { name: String, value: ValueId },
    #[error("part {part} of the {what} {name:?} is given twice; rename one")]
    Name {
        /// "input" or "output".
        what: &'static str,
        name: String,
        part: u16,
    },
}

/// Checks the moduli: odd, 1 modulo 2N, distinct, and fewer than 2^16.
pub(super) fn check_moduli(degree: RingDegree, moduli: &[Modulus]) -> Result<(), KernelError> {
    if moduli.len() > usize::from(u16::MAX) {
        let problem = format!("the table has {} moduli, but at most {} are possible", moduli.len(), u16::MAX);
        return Err(KernelError::Moduli { index: moduli.len(), problem });
    }
    let mut seen = HashSet::new();
    for (index, modulus) in moduli.iter().enumerate() {
        let (value, order) = (modulus.value(), 2 * degree.get() as u64);
        if value % order != 1 {
            let problem = format!("{value} is not 1 modulo 2N = {order}, so it has no transform");
            return Err(KernelError::Moduli { index, problem });
        }
        if !seen.insert(value) {
            return Err(KernelError::Moduli { index, problem: format!("{value} occurs twice") });
        }
    }
    Ok(())
}

/// Context of an operation's types.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub degree: RingDegree,
    pub moduli: &'a [Modulus],
    pub plaintexts: usize,
}

/// An operation under check.
struct Site<'a> {
    context: Context<'a>,
    at: OpId,
    op: &'static str,
    operands: &'a [ValueId],
    types: Vec<&'a ValueType>,
}

impl Site<'_> {
    fn limbs_error(&self, problem: String) -> KernelError {
        KernelError::Limbs { at: self.at, op: self.op, problem }
    }

    fn parameter_error(&self, problem: String) -> KernelError {
        KernelError::Parameter { at: self.at, op: self.op, problem }
    }

    fn count(&self, fits: bool, needed: &'static str) -> Result<(), KernelError> {
        let error = KernelError::OperandCount { at: self.at, op: self.op, found: self.types.len(), needed };
        if fits { Ok(()) } else { Err(error) }
    }

    fn exactly<const N: usize>(&self) -> Result<[&ValueType; N], KernelError> {
        let needed = ["none", "one", "two", "three"][N];
        self.count(self.types.len() == N, needed)?;
        Ok(std::array::from_fn(|index| self.types[index]))
    }

    fn domain(&self, needed: Domain) -> Result<(), KernelError> {
        for (&operand, value) in self.operands.iter().zip(&self.types) {
            if value.domain != needed {
                return Err(KernelError::Domain { at: self.at, op: self.op, operand, found: value.domain, needed });
            }
        }
        Ok(())
    }

    /// Checks that all operands have the first one's type.
    fn same(&self) -> Result<ValueType, KernelError> {
        let first = self.types[0];
        self.domain(first.domain)?;
        for (&operand, value) in self.operands.iter().zip(&self.types) {
            if value.limbs != first.limbs {
                let (found, first) = (value.limbs.clone(), first.limbs.clone());
                return Err(KernelError::DifferentLimbs { at: self.at, op: self.op, operand, found, first });
            }
        }
        Ok(first.clone())
    }

    /// Checks that there is a limb, and that all are in the table.
    fn in_table(&self, limbs: &LimbSet) -> Result<(), KernelError> {
        match limbs.last() {
            None => Err(self.limbs_error("a value without limbs".to_owned())),
            Some(LimbId(last)) if usize::from(last) >= self.context.moduli.len() => {
                let problem = format!("limb {last} is beyond the table of {} moduli", self.context.moduli.len());
                Err(self.limbs_error(problem))
            }
            Some(_) => Ok(()),
        }
    }

    fn subset(&self, limbs: &LimbSet, of: &LimbSet, what: &str) -> Result<(), KernelError> {
        if limbs.is_subset(of) {
            return Ok(());
        }
        Err(self.limbs_error(format!("the limbs {limbs} are not among the limbs {of} of the {what}")))
    }

    fn residues(&self, residues: &[u64], limbs: &LimbSet) -> Result<(), KernelError> {
        if residues.len() != limbs.len() {
            return Err(self.parameter_error(format!("{} residues for the limbs {limbs}", residues.len())));
        }
        for (&residue, LimbId(limb)) in residues.iter().zip(limbs.iter()) {
            let modulus = self.context.moduli[usize::from(limb)];
            if !modulus.holds(residue) {
                let problem = format!("residue {residue} of limb {limb} is not below its modulus {}", modulus.value());
                return Err(self.parameter_error(problem));
            }
        }
        Ok(())
    }

    fn window(&self, window: &DigitWindow, limb: LimbId) -> Result<(), KernelError> {
        let &DigitWindow { bits, index, count } = window;
        let width = self.context.moduli[usize::from(limb.0)].bits();
        if index >= count {
            return Err(self.parameter_error(format!("digit {index} of {count}")));
        }
        // All digits before the last must lie within the limb, so that the last one is not negative.
        if !(1..=60).contains(&bits) || u64::from(count - 1) * u64::from(bits) >= u64::from(width) {
            return Err(self.parameter_error(format!("{count} digits of {bits} bits for a limb of {width} bits")));
        }
        Ok(())
    }

    fn automorphism(&self, element: GaloisElement) -> Result<ValueType, KernelError> {
        let [operand] = self.exactly()?;
        if element.degree() != self.context.degree {
            let (found, degree) = (element.degree().get(), self.context.degree.get());
            return Err(self.parameter_error(format!("an automorphism of degree {found} in a ring of {degree}")));
        }
        Ok(operand.clone())
    }

    fn concat(&self) -> Result<ValueType, KernelError> {
        self.count(!self.operands.is_empty(), "at least one")?;
        let domain = self.types[0].domain;
        self.domain(domain)?;
        let limbs: LimbSet = self.types.iter().flat_map(|value| value.limbs.iter()).collect();
        if limbs.len() != self.types.iter().map(|value| value.limbs.len()).sum::<usize>() {
            return Err(self.limbs_error("a limb occurs in two operands".to_owned()));
        }
        Ok(ValueType { limbs, domain })
    }

    fn base_conversion(&self, to: &LimbSet) -> Result<ValueType, KernelError> {
        let [operand] = self.exactly()?;
        self.domain(Domain::Coefficient)?;
        self.in_table(to)?;
        if !to.is_disjoint(&operand.limbs) {
            return Err(self.limbs_error(format!("the limbs {to} and the operand's {} overlap", operand.limbs)));
        }
        Ok(ValueType::coefficient(to.clone()))
    }

    fn sub_digit(&self, window: &DigitWindow, to: &LimbSet) -> Result<ValueType, KernelError> {
        let [operand] = self.exactly()?;
        self.domain(Domain::Coefficient)?;
        self.in_table(to)?;
        let &[limb] = operand.limbs.as_slice() else {
            return Err(self.limbs_error(format!("the operand has the limbs {}, not one", operand.limbs)));
        };
        self.window(window, limb)?;
        Ok(ValueType::coefficient(to.clone()))
    }

    fn mod_up(&self, digit: &LimbSet, window: Option<&DigitWindow>, to: &LimbSet) -> Result<ValueType, KernelError> {
        let [operand] = self.exactly()?;
        self.in_table(to)?;
        self.in_table(digit)?;
        self.subset(digit, &operand.limbs, "operand")?;
        self.subset(digit, to, "result")?;
        if let Some(window) = window {
            let &[limb] = digit.as_slice() else {
                return Err(self.limbs_error(format!("the digit has the limbs {digit}, but windows are of one limb")));
            };
            self.window(window, limb)?;
        }
        Ok(ValueType::evaluation(to.clone()))
    }

    fn mod_down(&self, drop: &LimbSet, plaintext_modulus: Option<u64>) -> Result<ValueType, KernelError> {
        let [operand] = self.exactly()?;
        self.domain(Domain::Evaluation)?;
        self.in_table(drop)?;
        self.subset(drop, &operand.limbs, "operand")?;
        let rest = operand.limbs.difference(drop);
        if rest.is_empty() {
            return Err(self.limbs_error(format!("it drops {drop}, all limbs of the operand")));
        }
        if let Some(t) = plaintext_modulus {
            let coprime = |LimbId(limb)| {
                let modulus = self.context.moduli[usize::from(limb)];
                modulus.inverse(modulus.reduce(t)).is_some()
            };
            if t < 2 || !drop.iter().all(coprime) {
                return Err(
                    self.parameter_error(format!("plaintext modulus {t} has no inverse modulo the limbs {drop}"))
                );
            }
        }
        Ok(ValueType::evaluation(rest))
    }

    fn plaintext(&self, plaintext: u32) -> Result<(), KernelError> {
        if plaintext as usize >= self.context.plaintexts {
            return Err(self.parameter_error(format!("plaintext {plaintext} of {}", self.context.plaintexts)));
        }
        Ok(())
    }
}

pub(super) fn result_types(
    context: Context<'_>,
    values: &[ValueType],
    at: OpId,
    kind: &OpKind,
    operands: &[ValueId],
) -> Result<Vec<ValueType>, KernelError> {
    let op = kind.name();
    if let Some(&operand) = operands.iter().find(|operand| operand.index() >= values.len()) {
        return Err(KernelError::Undefined { at, op, operand });
    }
    let types = operands.iter().map(|operand| &values[operand.index()]).collect();
    let site = Site { context, at, op, operands, types };
    let one = |value: ValueType| Ok(vec![value]);
    match kind {
        OpKind::Input { value, .. } => {
            site.exactly::<0>()?;
            site.in_table(&value.limbs)?;
            one(value.clone())
        }
        OpKind::Plaintext { plaintext, value } => {
            site.exactly::<0>()?;
            site.in_table(&value.limbs)?;
            site.plaintext(*plaintext)?;
            one(value.clone())
        }
        OpKind::Key { limbs, .. } => {
            site.exactly::<0>()?;
            site.in_table(limbs)?;
            one(ValueType::evaluation(limbs.clone()))
        }
        OpKind::Add | OpKind::Sub => {
            site.exactly::<2>()?;
            one(site.same()?)
        }
        OpKind::Negate => {
            site.exactly::<1>()?;
            one(site.same()?)
        }
        OpKind::Multiply => {
            site.exactly::<2>()?;
            site.domain(Domain::Evaluation)?;
            one(site.same()?)
        }
        OpKind::MultiplyAdd => {
            site.exactly::<3>()?;
            site.domain(Domain::Evaluation)?;
            one(site.same()?)
        }
        OpKind::Scale { factors: residues } | OpKind::AddConstant { addends: residues } => {
            let [operand] = site.exactly()?;
            site.residues(residues, &operand.limbs)?;
            one(operand.clone())
        }
        OpKind::ForwardNtt => {
            let [operand] = site.exactly()?;
            site.domain(Domain::Coefficient)?;
            one(ValueType::evaluation(operand.limbs.clone()))
        }
        OpKind::InverseNtt => {
            let [operand] = site.exactly()?;
            site.domain(Domain::Evaluation)?;
            one(ValueType::coefficient(operand.limbs.clone()))
        }
        OpKind::Automorphism { element } => one(site.automorphism(*element)?),
        OpKind::SelectLimbs { limbs } => {
            let [operand] = site.exactly()?;
            site.in_table(limbs)?;
            site.subset(limbs, &operand.limbs, "operand")?;
            one(ValueType { limbs: limbs.clone(), domain: operand.domain })
        }
        OpKind::Concat => one(site.concat()?),
        OpKind::BaseConversion { to, .. } => one(site.base_conversion(to)?),
        OpKind::SubDigit { window, to } => one(site.sub_digit(window, to)?),
        OpKind::ModUp { digit, window, to, .. } => one(site.mod_up(digit, window.as_ref(), to)?),
        OpKind::InnerProduct { rows, .. } => {
            site.count(!operands.is_empty(), "at least one")?;
            site.count(operands.len() == rows.len(), "one per row of the key")?;
            site.domain(Domain::Evaluation)?;
            let value = site.same()?;
            Ok(vec![value.clone(), value])
        }
        OpKind::ModDown { drop, plaintext_modulus, .. } => one(site.mod_down(drop, *plaintext_modulus)?),
    }
}

impl KernelProgram {
    pub(super) fn context(&self) -> Context<'_> {
        Context { degree: self.degree, moduli: &self.moduli, plaintexts: self.plaintexts.len() }
    }

    /// Checks the table, operands, types, parameters and names.
    ///
    /// # Errors
    /// The first [`KernelError`], in program order.
    pub fn check(&self) -> Result<(), KernelError> {
        check_moduli(self.degree, &self.moduli)?;
        let degree = self.degree.get();
        if let Some((plaintext, polynomial)) = self.plaintexts.iter().enumerate().find(|(_, p)| p.len() != degree) {
            return Err(KernelError::Plaintext { plaintext, found: polynomial.len(), degree });
        }
        let mut defined = 0;
        for (index, op) in self.ops.iter().enumerate() {
            cancel::check();
            let at = OpId(index as u32);
            self.check_op(at, op, defined)?;
            defined += op.results.len();
        }
        if defined != self.values.len() {
            let (at, op) = (OpId(self.ops.len() as u32), "end");
            let problem = format!("{} values are declared, {defined} defined", self.values.len());
            return Err(KernelError::Result { at, op, problem });
        }
        let mut names = HashSet::new();
        if let Some((name, part, ..)) = self.inputs().find(|&(name, part, ..)| !names.insert((name, part))) {
            return Err(KernelError::Name { what: "input", name: name.to_owned(), part });
        }
        names.clear();
        for output in &self.outputs {
            if output.value.index() >= self.values.len() {
                return Err(KernelError::Output { name: output.name.to_string(), value: output.value });
            }
            if !names.insert((&output.name, output.part)) {
                return Err(KernelError::Name { what: "output", name: output.name.to_string(), part: output.part });
            }
        }
        Ok(())
    }

    fn check_op(&self, at: OpId, op: &Op, defined: usize) -> Result<(), KernelError> {
        let name = op.kind.name();
        let known = self.values.get(..defined).unwrap_or(&self.values);
        let expected = result_types(self.context(), known, at, &op.kind, &op.operands)?;
        let numbered = op.results.iter().enumerate().all(|(index, result)| result.index() == defined + index);
        if !numbered || op.results.len() != expected.len() {
            let problem = format!("its results are {:?}, not {} values from %{defined}", op.results, expected.len());
            return Err(KernelError::Result { at, op: name, problem });
        }
        for (result, expected) in op.results.iter().zip(expected) {
            let found = self.values.get(result.index());
            if found != Some(&expected) {
                let problem = format!("{result} is {found:?}, but the operation gives {expected:?}");
                return Err(KernelError::Result { at, op: name, problem });
            }
        }
        Ok(())
    }
}
