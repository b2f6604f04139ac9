//! Prints kernel programs as `.fhetch`: one instruction for each limb of each operation, on polynomials modulo one prime at numbered addresses.
//!
//! ```text
//! m[1] 0x3001
//! m[2] 0x4801
//! sr_mulp %3, %1, %2, m=1
//! sr_intt %4, %3, m=1, omega=7
//! ```
//!
//! m[0] is no prime: limb i is m[i + 1]. No address is written twice. Composite operations are replaced by their bodies, and a base conversion is what OpenFHE makes of
//! it: residues times constants, moved to each prime, and added. Four instructions move a polynomial by its representative nearest to 0; residues are moved as they are by a
//! scaling modulo the other prime.

use crate::rns::kernel::{Conversion, KernelError, KernelProgram, LimbSet, Op, OpKind, PublicPolynomial, ValueId};
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::{Ntt, NttError};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, Part};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use thiserror::Error;

/// Why a program cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FhetchError {
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Ntt(#[from] NttError),
    #[error(
        "{operation}: no instruction of .fhetch takes a digit smaller than a limb; choose a key switch whose digits are whole limbs"
    )]
    Digit {
        /// The operation's name.
        operation: &'static str,
    },
    #[error(
        "{operation} of {limbs} limbs to the representative nearest to 0: no instruction of .fhetch compares numbers of several limbs; choose a key switch with digits of one limb"
    )]
    Centred { operation: &'static str, limbs: usize },
    #[error("more than {most} instructions; write a part of the program")]
    Long { most: usize },
}

/// A polynomial that a program does not compute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Given {
    /// Part of an input.
    Input { name: Arc<str>, part: u16 },
    /// A public polynomial, by its index; whether by its evaluations.
    Plaintext { plaintext: u32, evaluation: bool },
    /// Part of a row of a switching key; whether of its a.
    Key { key: KeyId, row: u16, mask: bool },
}

/// A program in `.fhetch`, and what its manifest says of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fhetch {
    pub text: String,
    /// Given polynomials, each with its limb and address, in the order of first use.
    pub given: Vec<(Given, LimbId, u64)>,
    /// Name, part and the addresses of the limbs of each output.
    pub outputs: Vec<(Arc<str>, u16, Vec<u64>)>,
}

impl Fhetch {
    /// Writes `program` with `most` instructions at most.
    ///
    /// # Errors
    /// [`FhetchError`] if the format lacks an operation of it.
    pub fn of(program: &KernelProgram, most: usize) -> Result<Self, FhetchError> {
        let program = program.expanded()?;
        let roots = program.moduli.iter().map(|&modulus| Ok(Ntt::<u64>::new(program.degree, modulus)?.root()));
        let mut writer = Writer {
            roots: roots.collect::<Result<_, NttError>>()?,
            text: String::new(),
            program: &program,
            next: 1,
            instructions: 0,
            most,
            known: HashMap::new(),
            given: Vec::new(),
            at: Vec::with_capacity(program.values.len()),
        };
        let table = [u64::MAX].into_iter().chain(program.moduli.iter().map(|modulus| modulus.value()));
        let _ = writeln!(writer.text, "modulus_count {}", program.moduli.len() + 1);
        for (index, modulus) in table.enumerate() {
            let _ = writeln!(writer.text, "m[{index}] {modulus:#X}");
        }
        for op in &program.ops {
            let addresses = writer.op(op)?;
            writer.at.push(addresses);
        }
        let mut outputs = Vec::with_capacity(program.outputs.len());
        for output in &program.outputs {
            // A copy, because a given polynomial is not the result of an instruction.
            let limbs = program.value(output.value).limbs.clone();
            let held = writer.at[output.value.index()].clone();
            let copied = limbs.iter().zip(held).map(|(limb, from)| writer.scale(limb, from, 1));
            outputs.push((output.name.clone(), output.part, copied.collect::<Result<_, _>>()?));
        }
        writer.text.push_str("halt\n");
        let Writer { text, given, .. } = writer;
        Ok(Self { text, given, outputs })
    }
}

struct Writer<'a> {
    program: &'a KernelProgram,
    /// ψ by limb.
    roots: Vec<u64>,
    text: String,
    /// The next address.
    next: u64,
    instructions: usize,
    most: usize,
    /// Addresses of what is given.
    known: HashMap<(Given, LimbId), u64>,
    given: Vec<(Given, LimbId, u64)>,
    /// Addresses of each value's limbs.
    at: Vec<Vec<u64>>,
}

impl Writer<'_> {
    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    fn address(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// One instruction, `rest` being what follows its result; returns the result's address.
    fn write(&mut self, name: &str, limb: LimbId, rest: &str) -> Result<u64, FhetchError> {
        if self.instructions == self.most {
            return Err(FhetchError::Long { most: self.most });
        }
        self.instructions += 1;
        let (target, place) = (self.address(), limb.index() + 1);
        let more = match name {
            "sr_ntt" | "sr_intt" => format!(", omega={}", self.roots[limb.index()]),
            _ => String::new(),
        };
        let _ = writeln!(self.text, "{name} %{target}, {rest}, m={place}{more}");
        Ok(target)
    }

    fn scale(&mut self, limb: LimbId, from: u64, factor: u64) -> Result<u64, FhetchError> {
        self.write("sr_mulps", limb, &format!("%{from}, {factor}"))
    }

    /// The address of something given.
    fn take(&mut self, given: Given, limb: LimbId) -> u64 {
        if let Some(&known) = self.known.get(&(given.clone(), limb)) {
            return known;
        }
        let address = self.address();
        self.known.insert((given.clone(), limb), address);
        self.given.push((given, limb, address));
        address
    }

    /// An instruction for each limb, from the addresses of the operands' limbs.
    fn each(&mut self, op: &Op, name: &str, rest: impl Fn(usize, &[u64]) -> String) -> Result<Vec<u64>, FhetchError> {
        let limbs = self.program.value(op.results[0]).limbs.clone();
        let write = |(position, limb)| {
            let operands: Vec<u64> = op.operands.iter().map(|&operand| self.at[operand.index()][position]).collect();
            self.write(name, limb, &rest(position, &operands))
        };
        limbs.iter().enumerate().map(write).collect()
    }

    /// The addresses of limbs that the values have.
    fn select(&self, values: &[ValueId], limbs: &LimbSet) -> Vec<u64> {
        let address = |limb, value: &ValueId| {
            let position = self.program.value(*value).limbs.position(limb)?;
            Some(self.at[value.index()][position])
        };
        limbs.iter().filter_map(|limb| values.iter().find_map(|value| address(limb, value))).collect()
    }

    /// The addresses of the results, none of which is composite.
    fn op(&mut self, op: &Op) -> Result<Vec<u64>, FhetchError> {
        let value = self.program.value(op.results[0]).clone();
        let evaluation = value.domain == Domain::Evaluation;
        let one = |_: usize, of: &[u64]| format!("%{}", of[0]);
        let two = |_: usize, of: &[u64]| format!("%{}, %{}", of[0], of[1]);
        let given = |writer: &mut Self, given: Given| {
            Ok(value.limbs.iter().map(|limb| writer.take(given.clone(), limb)).collect())
        };
        match &op.kind {
            OpKind::Input { name, part, .. } => given(self, Given::Input { name: name.clone(), part: *part }),
            OpKind::Key { key, row, part, .. } => {
                given(self, Given::Key { key: *key, row: *row, mask: *part == Part::Mask })
            }
            OpKind::Plaintext { plaintext, .. } => match constant(&self.program.plaintexts[*plaintext as usize]) {
                None => given(self, Given::Plaintext { plaintext: *plaintext, evaluation }),
                Some(number) => value.limbs.iter().map(|limb| self.constant(limb, number, evaluation)).collect(),
            },
            OpKind::Add => self.each(op, "sr_addp", two),
            OpKind::Sub => self.each(op, "sr_subp", two),
            OpKind::Negate => self.each(op, "sr_negp", one),
            OpKind::Multiply => self.each(op, "sr_mulp", two),
            OpKind::MultiplyAdd => {
                let products = self.each(op, "sr_mulp", two)?;
                self.each(op, "sr_addp", |position, of| format!("%{}, %{}", products[position], of[2]))
            }
            OpKind::Scale { factors } => {
                self.each(op, "sr_mulps", |position, of| format!("%{}, {}", of[0], factors[position]))
            }
            OpKind::AddConstant { addends } => {
                let name = if evaluation { "sr_addps" } else { "sr_addps_coeff" };
                self.each(op, name, |position, of| format!("%{}, {}", of[0], addends[position]))
            }
            OpKind::ForwardNtt => self.each(op, "sr_ntt", one),
            OpKind::InverseNtt => self.each(op, "sr_intt", one),
            OpKind::Automorphism { element } => {
                let name = if evaluation { "sr_automorph_eval" } else { "sr_automorph_coeff" };
                self.each(op, name, |_, of| format!("%{}, k={}", of[0], element.value()))
            }
            OpKind::SelectLimbs { .. } | OpKind::Concat => Ok(self.select(&op.operands, &value.limbs)),
            OpKind::BaseConversion { to, conversion } => self.convert(op, to, *conversion),
            kind @ (OpKind::SubDigit { .. }
            | OpKind::ModUp { .. }
            | OpKind::InnerProduct { .. }
            | OpKind::ModDown { .. }) => Err(FhetchError::Digit { operation: kind.name() }),
        }
    }

    /// A constant polynomial.
    fn constant(&mut self, limb: LimbId, number: i128, evaluation: bool) -> Result<u64, FhetchError> {
        let zero = self.next;
        let zero = self.scale(limb, zero, 0)?;
        match number.rem_euclid(i128::from(self.modulus(limb).value())) {
            0 => Ok(zero),
            number => {
                let name = if evaluation { "sr_addps" } else { "sr_addps_coeff" };
                self.write(name, limb, &format!("%{zero}, {number}"))
            }
        }
    }

    /// Σ y_i·(B/b_i) for each limb of `to`.
    fn convert(&mut self, op: &Op, to: &LimbSet, conversion: Conversion) -> Result<Vec<u64>, FhetchError> {
        let from = self.program.value(op.operands[0]).limbs.clone();
        if conversion == Conversion::Centred && from.len() > 1 {
            return Err(FhetchError::Centred { operation: op.kind.name(), limbs: from.len() });
        }
        let others = |limb: LimbId, modulus: Modulus| {
            let rest = from.iter().filter(|&other| other != limb);
            let values = rest.map(|other| modulus.reduce(self.program.modulus(other).value()));
            values.fold(1, |product, value| modulus.multiply(product, value))
        };
        let inverse = |limb| {
            let modulus = self.program.modulus(limb);
            modulus.inverse(others(limb, modulus)).unwrap_or(0)
        };
        let inverses: Vec<u64> = from.iter().map(inverse).collect();
        let target = |target| {
            let weight = |limb| others(limb, self.program.modulus(target));
            (target, from.iter().map(weight).collect::<Vec<u64>>())
        };
        let weights: Vec<(LimbId, Vec<u64>)> = to.iter().map(target).collect();
        let mut digits = Vec::with_capacity(from.len());
        for (position, (limb, factor)) in from.iter().zip(inverses).enumerate() {
            // By 1, the instruction still says the prime.
            digits.push(self.scale(limb, self.at[op.operands[0].index()][position], factor)?);
        }
        let mut results = Vec::with_capacity(to.len());
        for (target, weights) in weights {
            let mut sum = None;
            for ((limb, &digit), weight) in from.iter().zip(&digits).zip(weights) {
                let moved = match conversion {
                    Conversion::Approximate => self.scale(target, digit, weight)?,
                    Conversion::Balanced | Conversion::Centred => {
                        let nearest = self.nearest(limb, digit, target)?;
                        if weight == 1 { nearest } else { self.scale(target, nearest, weight)? }
                    }
                };
                sum = Some(match sum {
                    None => moved,
                    Some(sum) => self.write("sr_addp", target, &format!("%{sum}, %{moved}"))?,
                });
            }
            results.extend(sum);
        }
        Ok(results)
    }

    /// The representative nearest to 0 modulo another prime: half of the prime is added before, and subtracted afterwards.
    fn nearest(&mut self, limb: LimbId, digit: u64, target: LimbId) -> Result<u64, FhetchError> {
        let (old, new) = (self.modulus(limb).value(), self.modulus(target));
        let half = (old - 1) / 2;
        let back = new.reduce_signed(-(half as i64));
        let place = |limb: LimbId| limb.index() + 1;
        if self.instructions + 4 > self.most {
            return Err(FhetchError::Long { most: self.most });
        }
        self.instructions += 4;
        let at = self.address();
        let (limb, target) = (place(limb), place(target));
        let _ = writeln!(
            self.text,
            "sr_mulps %{at}, %{digit}, 1, m={limb}\nsr_addps %{at}, %{at}, {half}, m={limb}\nsr_mulps %{at}, %{at}, 1, m={target}\nsr_addps %{at}, %{at}, {back}, m={target}"
        );
        Ok(at)
    }
}

/// The number that a constant polynomial is.
fn constant(polynomial: &PublicPolynomial) -> Option<i128> {
    match polynomial {
        PublicPolynomial::Narrow(all) => {
            all[1..].iter().all(|&coefficient| coefficient == 0).then(|| i128::from(all[0]))
        }
        PublicPolynomial::Wide(all) => all[1..].iter().all(|&coefficient| coefficient == 0).then(|| all[0]),
    }
}
