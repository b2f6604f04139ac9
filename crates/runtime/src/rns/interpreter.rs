//! Executes every operation literally, word by word: the reference for all other implementations.
//!
//! Composite operations are first replaced by their bodies ([`KernelProgram::expanded`]). Products use 128 bits and a remainder; the transform is the portable one, which is
//! tested against its definition.

use super::RunError;
use super::bind::{check_inputs, check_keys, check_ring};
use crate::Progress;
use polyfabric_kernels::cancel;
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::modular::{Modulus, reference};
use polyfabric_kernels::ntt::Ntt;
use polyfabric_program::rns::kernel::{Conversion, DigitWindow, KernelProgram, LimbSet, Op, OpKind, ValueType};
use polyfabric_schemes::rns::{Domain, KeySet, LimbId, RnsPolynomial};

/// A value: N words for each limb of its type.
type Value = Vec<Vec<u64>>;

/// Runs `program` on `inputs`, one polynomial per program input, and returns the outputs in order.
///
/// # Errors
/// [`RunError`] if the program is inconsistent, or keys or inputs do not match.
pub fn run(
    program: &KernelProgram,
    keys: &KeySet,
    inputs: &[&RnsPolynomial],
    progress: &dyn Progress,
) -> Result<Vec<RnsPolynomial>, RunError> {
    program.check()?;
    check_ring(program, keys.ring())?;
    check_keys(program, keys)?;
    check_inputs(program, keys.ring(), inputs)?;
    let program = program.expanded()?;
    let mut last_use = vec![0; program.values.len()];
    for (index, op) in program.ops.iter().enumerate() {
        op.operands.iter().for_each(|operand| last_use[operand.index()] = index);
    }
    program.outputs.iter().for_each(|output| last_use[output.value.index()] = usize::MAX);
    let machine = Interpreter { program: &program, keys };
    let mut values: Vec<Value> = vec![Vec::new(); program.values.len()];
    let mut inputs = inputs.iter();
    for (index, op) in program.ops.iter().enumerate() {
        cancel::check();
        progress.update("interpret", index as u64, program.ops.len() as u64);
        let operands: Vec<&Value> = op.operands.iter().map(|operand| &values[operand.index()]).collect();
        let input = matches!(op.kind, OpKind::Input { .. }).then(|| inputs.next()).flatten();
        let result = machine.execute(op, &operands, input.copied())?;
        values[op.results[0].index()] = result;
        for operand in &op.operands {
            if last_use[operand.index()] == index {
                values[operand.index()] = Vec::new();
            }
        }
    }
    Ok(program.outputs.iter().map(|output| machine.polynomial(&values[output.value.index()], output.value)).collect())
}

struct Interpreter<'a> {
    program: &'a KernelProgram,
    keys: &'a KeySet,
}

impl Interpreter<'_> {
    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    fn polynomial(&self, value: &Value, id: polyfabric_program::rns::kernel::ValueId) -> RnsPolynomial {
        let ValueType { limbs, domain } = self.program.value(id);
        let mut polynomial = RnsPolynomial::zero(self.program.degree, limbs.as_slice(), *domain);
        for (position, words) in value.iter().enumerate() {
            polynomial.limb_mut(position).copy_from_slice(words);
        }
        polynomial
    }

    fn transform(&self, limb: LimbId, words: &[u64], forward: bool) -> Vec<u64> {
        let mut words = words.to_vec();
        // The keys' ring has a transform for each modulus, so this succeeds.
        if let Ok(ntt) = Ntt::<u64>::with_isa(self.program.degree, self.modulus(limb), Isa::Portable) {
            if forward { ntt.forward(&mut words) } else { ntt.inverse(&mut words) }
        }
        words
    }

    fn execute(&self, op: &Op, operands: &[&Value], input: Option<&RnsPolynomial>) -> Result<Value, RunError> {
        let ValueType { limbs, domain } = self.program.value(op.results[0]);
        let type_of = |operand: usize| self.program.value(op.operands[operand]);
        // `word` for each limb and place.
        let pointwise = |word: &dyn Fn(Modulus, usize, usize) -> u64| -> Value {
            let count = self.program.degree.get();
            let limb = |(position, limb)| (0..count).map(|at| word(self.modulus(limb), position, at)).collect();
            limbs.iter().enumerate().map(limb).collect()
        };
        let each_limb = |words: &dyn Fn(LimbId, &[u64]) -> Vec<u64>| -> Value {
            limbs.iter().zip(operands[0]).map(|(limb, operand)| words(limb, operand)).collect()
        };
        Ok(match &op.kind {
            OpKind::Input { .. } => {
                let place = |limb| input.and_then(|input| Some(input.limb(input.position(limb)?).to_vec()));
                limbs.iter().map(|limb| place(limb).unwrap_or_default()).collect()
            }
            OpKind::Plaintext { plaintext, value } => {
                let residues = |limb: LimbId| {
                    let mut words = vec![0; self.program.degree.get()];
                    self.program.plaintexts[*plaintext as usize].residues(self.modulus(limb), &mut words);
                    match value.domain {
                        Domain::Coefficient => words,
                        Domain::Evaluation => self.transform(limb, &words, true),
                    }
                };
                limbs.iter().map(residues).collect()
            }
            OpKind::Key { key, row, part, .. } => {
                let key = self.keys.get(*key)?;
                let words = |limb: LimbId| {
                    let mut scratch = vec![0; self.program.degree.get()];
                    let position = key.limbs().iter().position(|&other| other == limb);
                    position.map(|position| key.limb(*part, usize::from(*row), position, &mut scratch).to_vec())
                };
                limbs.iter().map(|limb| words(limb).unwrap_or_default()).collect()
            }
            OpKind::Add => pointwise(&|q, l, at| reference::add(q, operands[0][l][at], operands[1][l][at])),
            OpKind::Sub => pointwise(&|q, l, at| reference::sub(q, operands[0][l][at], operands[1][l][at])),
            OpKind::Negate => pointwise(&|q, l, at| reference::sub(q, 0, operands[0][l][at])),
            OpKind::Multiply => pointwise(&|q, l, at| reference::multiply(q, operands[0][l][at], operands[1][l][at])),
            OpKind::MultiplyAdd => pointwise(&|q, l, at| {
                reference::add(q, reference::multiply(q, operands[0][l][at], operands[1][l][at]), operands[2][l][at])
            }),
            OpKind::Scale { factors } => pointwise(&|q, l, at| reference::multiply(q, operands[0][l][at], factors[l])),
            OpKind::AddConstant { addends } => pointwise(&|q, l, at| match domain {
                Domain::Coefficient if at != 0 => operands[0][l][at],
                _ => reference::add(q, operands[0][l][at], addends[l]),
            }),
            OpKind::ForwardNtt => each_limb(&|limb, words| self.transform(limb, words, true)),
            OpKind::InverseNtt => each_limb(&|limb, words| self.transform(limb, words, false)),
            OpKind::Automorphism { element } => each_limb(&|limb, words| match domain {
                Domain::Coefficient => element.apply_reference(self.modulus(limb), words),
                Domain::Evaluation => {
                    let coefficients = self.transform(limb, words, false);
                    self.transform(limb, &element.apply_reference(self.modulus(limb), &coefficients), true)
                }
            }),
            OpKind::SelectLimbs { limbs } => {
                let of = &type_of(0).limbs;
                limbs.iter().filter_map(|limb| Some(operands[0][of.position(limb)?].clone())).collect()
            }
            OpKind::Concat => {
                let find = |limb: LimbId| {
                    let place = |operand: usize| Some((operand, type_of(operand).limbs.position(limb)?));
                    (0..operands.len()).find_map(place).map(|(operand, position)| operands[operand][position].clone())
                };
                limbs.iter().filter_map(find).collect()
            }
            OpKind::BaseConversion { to, conversion } => self.convert(&type_of(0).limbs, operands[0], to, *conversion),
            OpKind::SubDigit { window, .. } => {
                let words: Vec<i128> = operands[0][0].iter().map(|&word| sub_digit(word, window)).collect();
                pointwise(&|q, _, at| words[at].rem_euclid(i128::from(q.value())) as u64)
            }
            // `expanded` removes these.
            OpKind::ModUp { .. } | OpKind::InnerProduct { .. } | OpKind::ModDown { .. } => Vec::new(),
        })
    }

    fn convert(&self, from: &LimbSet, residues: &Value, to: &LimbSet, conversion: Conversion) -> Value {
        let moduli: Vec<Modulus> = from.iter().map(|limb| self.modulus(limb)).collect();
        let targets: Vec<Modulus> = to.iter().map(|limb| self.modulus(limb)).collect();
        let mut result = vec![vec![0; self.program.degree.get()]; targets.len()];
        for at in 0..self.program.degree.get() {
            let column: Vec<u64> = residues.iter().map(|words| words[at]).collect();
            for (target, &p) in result.iter_mut().zip(&targets) {
                target[at] = match conversion {
                    Conversion::Centred => centred(&moduli, &column, p),
                    Conversion::Approximate => weighted_sum(&moduli, &column, p, |_| 0),
                    Conversion::Balanced => weighted_sum(&moduli, &column, p, |q| q.value() / 2),
                };
            }
        }
        result
    }
}

/// The product of `moduli` except number `except`, modulo p.
fn product(moduli: &[Modulus], except: usize, p: Modulus) -> u64 {
    let others = moduli.iter().enumerate().filter(|&(index, _)| index != except);
    others.fold(1, |product, (_, q)| reference::multiply(p, product, q.value() % p.value()))
}

/// Σ z_i·(B/b_i) modulo p, z_i ≡ x·(B/b_i)^-1 mod b_i, in [−h, b_i − h) with h = `shift`(b_i).
fn weighted_sum(moduli: &[Modulus], residues: &[u64], p: Modulus, shift: impl Fn(Modulus) -> u64) -> u64 {
    let mut sum = 0;
    for (index, (&q, &residue)) in moduli.iter().zip(residues).enumerate() {
        let inverse = q.inverse(product(moduli, index, q)).unwrap_or(0);
        let (y, h) = (reference::multiply(q, residue, inverse), shift(q));
        let z = i128::from((y + h) % q.value()) - i128::from(h);
        let z = z.rem_euclid(i128::from(p.value())) as u64;
        sum = reference::add(p, sum, reference::multiply(p, z, product(moduli, index, p)));
    }
    sum
}

/// The representative of x in [−B/2, B/2) modulo p. B is odd.
///
/// x = d_0 + d_1·b_0 + d_2·b_0·b_1 + …, 0 ≤ d_i < b_i (H. L. Garner's mixed radix). (B − 1)/2 has the digits (b_i − 1)/2, so digits are compared from the last to the first.
fn centred(moduli: &[Modulus], residues: &[u64], p: Modulus) -> u64 {
    let mut digits: Vec<u64> = Vec::new();
    for (index, (&q, &residue)) in moduli.iter().zip(residues).enumerate() {
        let (mut known, mut weight) = (0, 1);
        for (&digit, earlier) in digits.iter().zip(moduli) {
            known = reference::add(q, known, reference::multiply(q, digit, weight));
            weight = reference::multiply(q, weight, earlier.value() % q.value());
        }
        assert_eq!(weight, product(&moduli[..index], usize::MAX, q));
        let rest = reference::sub(q, residue, known);
        digits.push(reference::multiply(q, rest, q.inverse(weight).unwrap_or(0)));
    }
    let halves = moduli.iter().map(|q| (q.value() - 1) / 2);
    let negative = digits.iter().rev().copied().gt(halves.rev());
    let (mut sum, mut weight) = (0, 1);
    for (&digit, q) in digits.iter().zip(moduli) {
        sum = reference::add(p, sum, reference::multiply(p, digit % p.value(), weight));
        weight = reference::multiply(p, weight, q.value() % p.value());
    }
    if negative { reference::sub(p, sum, weight) } else { sum }
}

/// The digit of `word`; see [`DigitWindow`].
fn sub_digit(word: u64, window: &DigitWindow) -> i128 {
    let &DigitWindow { bits, index, count } = window;
    let half = 1i128 << (bits - 1);
    let offset: i128 = (0..count - 1).map(|digit| half << (digit * bits)).sum();
    let shifted = (i128::from(word) + offset) >> (index * bits);
    if index == count - 1 { shifted } else { shifted % (1 << bits) - half }
}
