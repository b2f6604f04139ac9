//! Evaluates a program at one place of its vectors: the expected value of each of its results.

use super::super::AuditError;
use super::{Function, KernelProgram, Labels, LeafSubpolynomial, Residue, Subpolynomials};
use crate::rns::leaf::Leaf;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::{Ntt, NttError};
use polyfabric_program::rns::kernel::{Body, Conversion, LimbSet, Op, OpId, OpKind, ValueId, ValueType};
use polyfabric_schemes::rns::{Domain, LimbId};
use std::collections::{HashMap, HashSet};

/// The values that a schedule must compute.
pub(super) struct Expected {
    /// The vectors of every output: limb by limb, subpolynomial by subpolynomial.
    pub outputs: Vec<Vec<Residue>>,
    /// Keys of the vectors that the program defines and some unit must compute.
    pub computed: Vec<u64>,
    /// Those of `computed` that the program never reads, with the number of definitions: limbs of a result that is dropped to a lower
    /// level.
    pub unread: HashMap<u64, usize>,
}

/// Receives the operations of a program.
trait Operations {
    /// `op` defines these vectors, and some unit must compute them.
    fn defines(&mut self, op: &Op, vectors: &[Residue]);
    /// An operation that some unit executes reads these vectors.
    fn reads(&mut self, vectors: &[Residue]);
}

/// Keys of the computed and of the read vectors.
#[derive(Default)]
struct Keys {
    computed: Vec<u64>,
    read: HashSet<u64>,
}

impl Operations for Keys {
    fn defines(&mut self, _: &Op, vectors: &[Residue]) {
        self.computed.extend(vectors.iter().map(|vector| vector.key()));
    }

    fn reads(&mut self, vectors: &[Residue]) {
        self.read.extend(vectors.iter().map(|vector| vector.key()));
    }
}

/// Finds the operation that defines the vector with a key.
struct Place {
    key: u64,
    subpolynomials: usize,
    found: Option<String>,
}

impl Operations for Place {
    fn defines(&mut self, op: &Op, vectors: &[Residue]) {
        if let (None, Some(place)) = (&self.found, vectors.iter().position(|vector| vector.key() == self.key)) {
            let (limb, subpolynomial) = (vectors[place].limb, place % self.subpolynomials);
            self.found =
                Some(format!("vector {subpolynomial} of limb {limb} of {} in step {}", op.kind.name(), op.step));
        }
    }

    fn reads(&mut self, _: &[Residue]) {}
}

/// Evaluates operations.
struct Evaluation<'a> {
    program: &'a KernelProgram,
    subpolynomials: Subpolynomials,
    inputs: usize,
    /// For each limb, the root ω of each subpolynomial: X^M modulo X^M − ω.
    roots: HashMap<u16, Vec<u64>>,
}

/// Values of a program or of a body.
#[derive(Clone, Copy)]
struct Given<'a> {
    types: &'a [ValueType],
    values: &'a [Vec<Residue>],
}

impl<'a> Given<'a> {
    fn type_of(&self, value: ValueId) -> &'a ValueType {
        &self.types[value.index()]
    }

    fn operand(&self, op: &Op, number: usize) -> &'a [Residue] {
        &self.values[op.operands[number].index()]
    }
}

impl Expected {
    /// Evaluates `program`. `labels` divides its polynomials into vectors, and decides whether composite operations stay whole.
    pub fn of(program: &KernelProgram, labels: &Labels) -> Result<Self, AuditError> {
        let mut keys = Keys::default();
        let outputs = evaluate(program, labels, &mut keys)?;
        keys.read.extend(outputs.iter().flatten().map(|vector| vector.key()));
        let mut unread = HashMap::new();
        for &key in keys.computed.iter().filter(|key| !keys.read.contains(key)) {
            *unread.entry(key).or_default() += 1;
        }
        Ok(Self { outputs, computed: keys.computed, unread })
    }

    /// Describes the operation of the program that defines the vector with `key`.
    pub fn place_of(&self, key: u64, program: &KernelProgram, labels: &Labels) -> Result<String, AuditError> {
        let mut place = Place { key, subpolynomials: labels.subpolynomials.count(), found: None };
        evaluate(program, labels, &mut place)?;
        Ok(place.found.unwrap_or_else(|| "a value of the program".to_owned()))
    }
}

/// Evaluates `program` and reports to `operations` the vectors that each operation defines and reads. A composite operation is replaced by
/// its body, unless `labels` keeps it whole. A residue that is used unchanged modulo another limb counts as read.
fn evaluate(
    program: &KernelProgram,
    labels: &Labels,
    operations: &mut impl Operations,
) -> Result<Vec<Vec<Residue>>, AuditError> {
    let cause = |error: &dyn std::fmt::Display| AuditError::Program { cause: error.to_string() };
    let mut last_use = vec![0; program.values.len()];
    for (index, op) in program.ops.iter().enumerate() {
        op.operands.iter().for_each(|operand| last_use[operand.index()] = index);
    }
    program.outputs.iter().for_each(|output| last_use[output.value.index()] = usize::MAX);
    let mut values = vec![Vec::new(); program.values.len()];
    let mut evaluation =
        Evaluation { program, subpolynomials: labels.subpolynomials, inputs: 0, roots: HashMap::new() };
    for (index, op) in program.ops.iter().enumerate() {
        if matches!(op.kind, OpKind::ModUp { .. } | OpKind::InnerProduct { .. } | OpKind::ModDown { .. }) {
            let body = program.body(OpId(index as u32)).map_err(|error| cause(&error))?;
            let Some(body) = body else { return Err(cause(&"a composite operation has no body")) };
            let counted = labels.composites.then(|| ends(&body));
            let mut inner = vec![Vec::new(); body.values.len()];
            for (place, operand) in inner.iter_mut().zip(&op.operands) {
                place.clone_from(&values[operand.index()]);
                if counted.is_some() {
                    operations.reads(place);
                }
            }
            for part in &body.ops {
                let given = Given { types: &body.values, values: &inner };
                let result = evaluation.op(part, given).map_err(|error| cause(&error))?;
                let own = counted.as_ref().is_none_or(|ends| ends.contains(&part.results[0]));
                if own && computes(part, &body.values) {
                    operations.defines(if counted.is_some() { op } else { part }, &result);
                }
                if counted.is_none() && !names(part) {
                    part.operands.iter().for_each(|operand| operations.reads(&inner[operand.index()]));
                }
                inner[part.results[0].index()] = result;
            }
            for (result, value) in op.results.iter().zip(&body.yields) {
                values[result.index()].clone_from(&inner[value.index()]);
            }
        } else {
            let given = Given { types: &program.values, values: &values };
            let result = evaluation.op(op, given).map_err(|error| cause(&error))?;
            if computes(op, &program.values) {
                operations.defines(op, &result);
            }
            if !names(op) {
                op.operands.iter().for_each(|operand| operations.reads(&values[operand.index()]));
            }
            values[op.results[0].index()] = result;
        }
        for operand in &op.operands {
            if last_use[operand.index()] == index {
                values[operand.index()] = Vec::new();
            }
        }
    }
    Ok(program.outputs.iter().map(|output| values[output.value.index()].clone()).collect())
}

/// The values that form a body's results.
fn ends(body: &Body) -> HashSet<ValueId> {
    let mut open = body.yields.clone();
    let mut ends = HashSet::new();
    while let Some(value) = open.pop() {
        let definition = body.ops.iter().find(|op| op.results.contains(&value));
        match definition.filter(|op| names(op)) {
            Some(op) => open.extend(&op.operands),
            None => _ = ends.insert(value),
        }
    }
    ends
}

/// Whether the operation only renames limbs.
fn names(op: &Op) -> bool {
    matches!(op.kind, OpKind::SelectLimbs { .. } | OpKind::Concat)
}

/// Whether some unit must compute the operation's result. Values in memory, renamed limbs, and a residue that is used unchanged modulo
/// another limb need no unit.
fn computes(op: &Op, types: &[ValueType]) -> bool {
    match op.kind {
        OpKind::Input { .. } | OpKind::Plaintext { .. } | OpKind::Key { .. } => false,
        OpKind::SelectLimbs { .. } | OpKind::Concat => false,
        OpKind::BaseConversion { conversion, .. } => {
            types[op.operands[0].index()].limbs.len() > 1 || conversion != Conversion::Approximate
        }
        _ => true,
    }
}

impl Evaluation<'_> {
    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    /// The vectors of each limb.
    fn each(&self, limbs: &LimbSet, of: impl Fn(usize, LimbId, u16) -> Residue) -> Vec<Residue> {
        let count = self.subpolynomials.count();
        let vectors =
            limbs.iter().enumerate().flat_map(|limb| (0..count as u16).map(move |subpolynomial| (limb, subpolynomial)));
        vectors
            .map(|((position, limb), subpolynomial)| {
                of(position * count + usize::from(subpolynomial), limb, subpolynomial)
            })
            .collect()
    }

    fn op(&mut self, op: &Op, given: Given<'_>) -> Result<Vec<Residue>, NttError> {
        let ValueType { limbs, domain } = given.type_of(op.results[0]);
        let values = *domain == Domain::Evaluation;
        Ok(match &op.kind {
            OpKind::Input { .. } => {
                let index = self.inputs;
                self.inputs += 1;
                self.leaves(limbs, |limb| Leaf::Input { index, limb })
            }
            &OpKind::Plaintext { plaintext, .. } => {
                self.leaves(limbs, |limb| Leaf::Plaintext { plaintext, limb, values })
            }
            &OpKind::Key { key, row, part, .. } => self.leaves(limbs, |limb| Leaf::Hint { key, row, part, limb }),
            OpKind::Add => self.pointwise(op, given, |q, [a, b, _], _| q.add(a, b)),
            OpKind::Sub => self.pointwise(op, given, |q, [a, b, _], _| q.sub(a, b)),
            OpKind::Negate => self.pointwise(op, given, |q, [a, ..], _| q.neg(a)),
            OpKind::Multiply => self.pointwise(op, given, |q, [a, b, _], _| q.multiply(a, b)),
            OpKind::MultiplyAdd => self.pointwise(op, given, |q, [a, b, c], _| q.add(q.multiply(a, b), c)),
            OpKind::Scale { factors } => self.pointwise(op, given, |q, [a, ..], limb| q.multiply(a, factors[limb])),
            OpKind::AddConstant { addends } if values => {
                self.pointwise(op, given, |q, [a, ..], limb| q.add(a, addends[limb]))
            }
            OpKind::AddConstant { addends } => self.each(limbs, |place, limb, subpolynomial| {
                // To coefficient 0, which is in the first subpolynomial.
                let old = given.operand(op, 0)[place];
                let addend = addends[place / self.subpolynomials.count()];
                let added = || Residue::hashed(("coefficient", addend, old.word), limb.0, &self.program.moduli);
                if subpolynomial == 0 { added() } else { old }
            }),
            OpKind::ForwardNtt | OpKind::InverseNtt => {
                for limb in limbs.iter() {
                    self.root(limb)?;
                }
                self.transformed(op, given)
            }
            &OpKind::Automorphism { element } => self.permuted(op, element, given),
            OpKind::SelectLimbs { .. } | OpKind::Concat => self.named(op, given),
            OpKind::BaseConversion { conversion, .. } => {
                let from = &given.type_of(op.operands[0]).limbs;
                let count = self.subpolynomials.count();
                self.each(limbs, |_, limb, subpolynomial| {
                    let digit =
                        |position: usize| given.operand(op, 0)[position * count + usize::from(subpolynomial)].word;
                    let digits: Vec<u64> = (0..from.len()).map(digit).collect();
                    converted(&self.program.moduli, from, &digits, limb, *conversion)
                })
            }
            OpKind::SubDigit { window, .. } => self.each(limbs, |_, limb, subpolynomial| {
                let old = given.operand(op, 0)[usize::from(subpolynomial)].word;
                Residue::hashed(("digit", window, old), limb.0, &self.program.moduli)
            }),
            // Composite operations were replaced by their bodies.
            OpKind::ModUp { .. } | OpKind::InnerProduct { .. } | OpKind::ModDown { .. } => Vec::new(),
        })
    }

    fn leaves(&self, limbs: &LimbSet, leaf: impl Fn(LimbId) -> Leaf) -> Vec<Residue> {
        self.each(limbs, |_, limb, subpolynomial| {
            Residue::leaf(LeafSubpolynomial { leaf: leaf(limb), subpolynomial }, &self.program.moduli)
        })
    }

    /// A result computed residue by residue. `word` takes the modulus, the words of up to three operands and the limb's position.
    fn pointwise(&self, op: &Op, given: Given<'_>, word: impl Fn(Modulus, [u64; 3], usize) -> u64) -> Vec<Residue> {
        let count = self.subpolynomials.count();
        self.each(&given.type_of(op.results[0]).limbs, |place, limb, _| {
            let mut words = [0; 3];
            for (number, operand) in words.iter_mut().enumerate().take(op.operands.len()) {
                *operand = given.operand(op, number)[place].word;
            }
            Residue::new(word(self.modulus(limb), words, place / count), limb.0)
        })
    }

    /// Coefficients to values, or values to coefficients. [`Self::root`] must have found the limbs' roots.
    fn transformed(&self, op: &Op, given: Given<'_>) -> Vec<Residue> {
        let (count, moduli) = (self.subpolynomials.count(), &self.program.moduli);
        self.each(&given.type_of(op.results[0]).limbs, |place, limb, subpolynomial| {
            let first = place - usize::from(subpolynomial);
            let polynomial = &given.operand(op, 0)[first..first + count];
            if op.kind == OpKind::ForwardNtt {
                let remainder = self.remainder(limb, usize::from(subpolynomial), polynomial);
                return Residue::mixed(Function::ForwardNtt { limb: limb.0, subpolynomial }, remainder, moduli);
            }
            let remainder = |(number, value): (u16, &Residue)| {
                Residue::mixed(Function::InverseNtt { limb: limb.0, subpolynomial: number }, value.word, moduli).word
            };
            let remainders: Vec<u64> = (0..).zip(polynomial).map(remainder).collect();
            Residue::new(self.coefficients(limb, usize::from(subpolynomial), &remainders), limb.0)
        })
    }

    fn permuted(&self, op: &Op, element: GaloisElement, given: Given<'_>) -> Vec<Residue> {
        let ValueType { limbs, domain } = given.type_of(op.results[0]);
        let values = *domain == Domain::Evaluation;
        self.each(limbs, |place, limb, subpolynomial| {
            let source = match values {
                true => self.subpolynomials.source(element, usize::from(subpolynomial)),
                false => usize::from(subpolynomial),
            };
            let old = given.operand(op, 0)[place - usize::from(subpolynomial) + source];
            let function =
                Function::Automorphism { limb: limb.0, element: element.value() as u32, subpolynomial, values };
            Residue::mixed(function, old.word, &self.program.moduli)
        })
    }

    /// The operands' limbs under other names.
    fn named(&self, op: &Op, given: Given<'_>) -> Vec<Residue> {
        let count = self.subpolynomials.count();
        self.each(&given.type_of(op.results[0]).limbs, |_, limb, subpolynomial| {
            let held = |&operand: &ValueId| {
                let position = given.type_of(operand).limbs.position(limb)?;
                Some(given.values[operand.index()][position * count + usize::from(subpolynomial)])
            };
            // The program's check ensures that an operand has each limb.
            op.operands.iter().find_map(held).unwrap_or(Residue::new(0, limb.0))
        })
    }

    /// Computes X^M for each subpolynomial of a limb, once.
    fn root(&mut self, limb: LimbId) -> Result<(), NttError> {
        let subpolynomials = self.subpolynomials;
        if subpolynomials.count() > 1 && !self.roots.contains_key(&limb.0) {
            let transform: Ntt<u64> = subpolynomials.transform(self.modulus(limb))?;
            let roots = (0..subpolynomials.count())
                .map(|subpolynomial| subpolynomials.power(&transform, subpolynomial, 1))
                .collect();
            self.roots.insert(limb.0, roots);
        }
        Ok(())
    }

    /// The unit's operand for one subpolynomial: the polynomial modulo X^M − ω.
    fn remainder(&self, limb: LimbId, subpolynomial: usize, polynomial: &[Residue]) -> u64 {
        let modulus = self.modulus(limb);
        let Some(roots) = self.roots.get(&limb.0) else { return modulus.reduce(polynomial[0].word) };
        let horner = |sum, vector: &Residue| {
            modulus.add(modulus.multiply(sum, roots[subpolynomial]), modulus.reduce(vector.word))
        };
        polynomial.iter().rev().fold(0, horner)
    }

    /// One subpolynomial of the coefficients of the polynomial with `remainders`: Σ_k r_k·ω_k^-j over the number of subpolynomials.
    fn coefficients(&self, limb: LimbId, subpolynomial: usize, remainders: &[u64]) -> u64 {
        let modulus = self.modulus(limb);
        let Some(roots) = self.roots.get(&limb.0) else { return remainders[0] };
        let inverse = |value| modulus.inverse(value).unwrap_or(0);
        let terms = remainders
            .iter()
            .zip(roots)
            .map(|(&remainder, &root)| modulus.multiply(remainder, modulus.power(inverse(root), subpolynomial as u64)));
        let sum = terms.fold(0, |sum, term| modulus.add(sum, term));
        modulus.multiply(sum, inverse(modulus.reduce(remainders.len() as u64)))
    }
}

/// Σ z_i·(B/b_i) modulo a limb, z_i ≡ x·(B/b_i)^-1 mod b_i from 0 up, or balanced.
pub(super) fn converted(
    moduli: &[Modulus],
    from: &LimbSet,
    digits: &[u64],
    to: LimbId,
    conversion: Conversion,
) -> Residue {
    if conversion == Conversion::Centred && from.len() > 1 {
        return Residue::hashed(("centred", digits), to.0, moduli);
    }
    let modulus_of = |limb: LimbId| moduli[usize::from(limb.0)];
    let target = modulus_of(to);
    let cofactor = |except: LimbId, modulus: Modulus| {
        let others = from.iter().filter(|&limb| limb != except).map(|limb| modulus_of(limb).value());
        others.fold(1, |product, value| modulus.multiply(product, modulus.reduce(value)))
    };
    let mut sum = 0;
    for (limb, &digit) in from.iter().zip(digits) {
        let modulus = modulus_of(limb);
        let inverse = modulus.inverse(cofactor(limb, modulus)).unwrap_or(0);
        let half = if conversion == Conversion::Approximate { 0 } else { modulus.value() / 2 };
        let y = modulus.multiply(digit, inverse);
        let z = i128::from(modulus.add(y, half)) - i128::from(half);
        let z = z.rem_euclid(i128::from(target.value())) as u64;
        sum = target.add(sum, target.multiply(z, cofactor(limb, target)));
    }
    // A single residue that is converted approximately stays unchanged until a unit reduces it.
    match conversion {
        Conversion::Approximate if from.len() == 1 => Residue::new(target.reduce(digits[0]), to.0),
        _ => Residue::new(sum, to.0),
    }
}
