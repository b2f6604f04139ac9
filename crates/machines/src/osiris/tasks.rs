//! A kernel program as work for the units: streams of residues, one limb of one polynomial each.
//!
//! Selecting limbs and putting them together only names residues, and so does the part of a raised digit that it had before. Composites stay
//! whole: a raise or a division is one stream through both NTT units and the array, an inner product one stream a limb.

use super::units::ShapeError;
use super::units::base_conversion::HeightError;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, LimbSet, Op, OpKind, ValueId};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId};
use std::collections::HashMap;

/// Number of a limb of a polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Residue(pub u32);

/// Where a limb comes from that no unit computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// An input of the program, by its number.
    Input {
        /// Number among the inputs.
        input: u32,
        /// Limb.
        limb: LimbId,
    },
    /// A public polynomial.
    Plaintext {
        /// Number among the program's.
        plaintext: u32,
        /// Limb.
        limb: LimbId,
    },
    /// The body of a row of a switching key.
    Body {
        /// The key.
        key: KeyId,
        /// The row.
        row: u16,
        /// Limb.
        limb: LimbId,
    },
}

/// What the Hadamard unit does to one limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointwise {
    /// a + b.
    Add,
    /// a − b.
    Subtract,
    /// −a.
    Negate,
    /// a·b.
    Multiply,
    /// a·b + c.
    MultiplyAdd,
    /// a·w.
    Scale(u64),
    /// a + w.
    AddConstant(u64),
}

/// What units do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Source limbs through both NTT units and the array to target limbs; and what is kept, less that, divided by the source's product.
    ModChange {
        /// Source limbs, with their residues.
        sources: Vec<(LimbId, Residue)>,
        /// Target limbs.
        targets: Vec<LimbId>,
        /// Whether the representative is balanced.
        balanced: bool,
        /// Residues that the remainder is taken from, by target.
        division: Option<Vec<Residue>>,
        /// By target.
        results: Vec<Residue>,
    },
    /// An inner product with rows of a key, of one limb.
    KeyProduct {
        /// The key.
        key: KeyId,
        /// The limb.
        limb: LimbId,
        /// Row, digit and body.
        terms: Vec<(u16, Residue, Residue)>,
        /// Of body and mask.
        results: [Residue; 2],
    },
    /// Point by point, of one limb.
    Pointwise {
        /// The limb.
        limb: LimbId,
        /// What is done.
        what: Pointwise,
        /// Operands.
        operands: Vec<Residue>,
        /// Result.
        result: Residue,
    },
    /// An automorphism of one limb.
    Automorphism {
        /// The limb.
        limb: LimbId,
        /// X → X^g.
        element: GaloisElement,
        /// Operand.
        operand: Residue,
        /// Result.
        result: Residue,
    },
}

impl Work {
    /// The residues that are read.
    pub fn operands(&self) -> Vec<Residue> {
        match self {
            Self::ModChange { sources, division, .. } => {
                sources.iter().map(|&(_, residue)| residue).chain(division.iter().flatten().copied()).collect()
            }
            Self::KeyProduct { terms, .. } => terms.iter().flat_map(|&(_, digit, body)| [digit, body]).collect(),
            Self::Pointwise { operands, .. } => operands.clone(),
            Self::Automorphism { operand, .. } => vec![*operand],
        }
    }
}

/// Work of one operation of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The operation.
    pub op: u32,
    /// What is done.
    pub work: Work,
}

/// A program as work.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasks {
    /// In the order of the program.
    pub tasks: Vec<Task>,
    /// By residue: where it comes from, unless a task computes it.
    pub leaves: Vec<Option<Leaf>>,
    /// Residues of each output, by limb.
    pub outputs: Vec<Vec<(LimbId, Residue)>>,
}

/// Why a program does not run on the machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MapError {
    /// The ring.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A conversion from more limbs than the array has rows.
    #[error("operation {op}: {cause}")]
    Height {
        /// Operation.
        op: u32,
        /// Cause.
        cause: HeightError,
    },
    /// A modulus that the words do not hold.
    #[error(
        "limb {limb} is modulo {modulus}, of {bits} bits, and the machine's words have {word_bits}: choose a set of smaller primes, such \
         as osiris-III"
    )]
    Word {
        /// Limb.
        limb: usize,
        /// Modulus.
        modulus: u64,
        /// Its width.
        bits: u32,
        /// The machine's.
        word_bits: u64,
    },
    /// More limbs in one stream than the delays interleave.
    #[error(
        "operation {op} interleaves {limbs} limbs, and the delays of the NTT units are made for {most}: choose a set of fewer limbs, or \
         longer delays in the machine file (`units.ntt.limbs`)"
    )]
    Interleaved {
        /// Operation.
        op: u32,
        /// Limbs.
        limbs: usize,
        /// What the delays are made for.
        most: usize,
    },
    /// More digits than a column of the Hadamard unit has cells.
    #[error(
        "operation {op} multiplies {digits} digits by a key, and the Hadamard unit's columns have {height} cells: choose a set of fewer \
         digits, or higher columns in the machine file (`units.hadamard.height`)"
    )]
    Digits {
        /// Operation.
        op: u32,
        /// Digits.
        digits: usize,
        /// Cells.
        height: usize,
    },
    /// An operation that the units do not do.
    #[error("operation {op}, `{name}`, {cause}: lower the program for this machine")]
    Operation {
        /// Operation.
        op: u32,
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// Not enough room for what is needed at once.
    #[error(
        "operation {op} needs more than the {frames} limbs of {bytes} bytes that the scratchpads hold: choose a smaller ring or level, or \
         enlarge them in the machine file (`memories.scratchpad.capacity`)"
    )]
    Capacity {
        /// Operation.
        op: u32,
        /// Limbs that fit.
        frames: usize,
        /// Bytes of a limb.
        bytes: u64,
    },
}

/// What is collected while a program is read.
struct Reader<'a> {
    program: &'a KernelProgram,
    tasks: Tasks,
    /// By value: the residue of each of its limbs.
    values: Vec<Vec<Residue>>,
    known: HashMap<Leaf, Residue>,
    inputs: u32,
}

impl Tasks {
    /// The work of `program`.
    ///
    /// # Errors
    /// [`MapError::Operation`] for what the units do not do.
    pub fn of(program: &KernelProgram) -> Result<Self, MapError> {
        let tasks = Self { tasks: Vec::new(), leaves: Vec::new(), outputs: Vec::new() };
        let mut reader = Reader { program, tasks, values: Vec::new(), known: HashMap::new(), inputs: 0 };
        for (index, op) in program.ops.iter().enumerate() {
            let results = reader.op(index as u32, op)?;
            reader.values.extend(results);
        }
        let output = |value: ValueId| {
            let limbs = program.value(value).limbs.iter();
            limbs.zip(reader.values[value.index()].iter().copied()).collect()
        };
        let outputs = program.outputs.iter().map(|named| output(named.value)).collect();
        Ok(Self { outputs, ..reader.tasks })
    }
}

impl Reader<'_> {
    fn residue(&mut self, leaf: Option<Leaf>) -> Residue {
        if let Some(&known) = leaf.and_then(|leaf| self.known.get(&leaf)) {
            return known;
        }
        let residue = Residue(self.tasks.leaves.len() as u32);
        self.tasks.leaves.push(leaf);
        leaf.map(|leaf| self.known.insert(leaf, residue));
        residue
    }

    fn limbs(&self, value: ValueId) -> &LimbSet {
        &self.program.value(value).limbs
    }

    /// The residue of one limb of a value.
    fn of(&self, value: ValueId, limb: LimbId) -> Option<Residue> {
        self.values[value.index()].get(self.limbs(value).position(limb)?).copied()
    }

    fn all(&self, value: ValueId, limbs: &LimbSet) -> Vec<Residue> {
        limbs.iter().filter_map(|limb| self.of(value, limb)).collect()
    }

    fn task(&mut self, op: u32, work: Work) {
        self.tasks.tasks.push(Task { op, work });
    }

    /// The residues of what `op` defines.
    fn op(&mut self, index: u32, op: &Op) -> Result<Vec<Vec<Residue>>, MapError> {
        let refuse = |cause| Err(MapError::Operation { op: index, name: op.kind.name(), cause });
        let value = |result: usize| self.program.value(op.results[result]);
        if value(0).domain != Domain::Evaluation {
            return refuse("gives coefficients, which no unit of the machine gives by itself");
        }
        let limbs = value(0).limbs.clone();
        let leaves = |reader: &mut Self, leaf: &dyn Fn(LimbId) -> Leaf| -> Vec<Residue> {
            limbs.iter().map(|limb| reader.residue(Some(leaf(limb)))).collect()
        };
        let balanced = |conversion: Conversion| match conversion {
            Conversion::Approximate => Some(false),
            Conversion::Balanced => Some(true),
            Conversion::Centred => None,
        };
        let no_exact = "asks for the exact representative, and the array gives the approximate or the balanced one";
        let constants =
            |factors: &[u64], what: fn(u64) -> Pointwise| factors.iter().map(|&w| what(w)).collect::<Vec<_>>();
        let result = match &op.kind {
            OpKind::Input { .. } => {
                let input = self.inputs;
                self.inputs += 1;
                leaves(self, &|limb| Leaf::Input { input, limb })
            }
            OpKind::Plaintext { plaintext, .. } => {
                leaves(self, &|limb| Leaf::Plaintext { plaintext: *plaintext, limb })
            }
            OpKind::SelectLimbs { .. } => self.all(op.operands[0], &limbs),
            OpKind::Concat => {
                let of = |limb| op.operands.iter().find_map(|&operand| self.of(operand, limb));
                limbs.iter().filter_map(of).collect()
            }
            OpKind::Add => self.pointwise(index, op, &limbs, &vec![Pointwise::Add; limbs.len()]),
            OpKind::Sub => self.pointwise(index, op, &limbs, &vec![Pointwise::Subtract; limbs.len()]),
            OpKind::Negate => self.pointwise(index, op, &limbs, &vec![Pointwise::Negate; limbs.len()]),
            OpKind::Multiply => self.pointwise(index, op, &limbs, &vec![Pointwise::Multiply; limbs.len()]),
            OpKind::MultiplyAdd => self.pointwise(index, op, &limbs, &vec![Pointwise::MultiplyAdd; limbs.len()]),
            OpKind::Scale { factors } => self.pointwise(index, op, &limbs, &constants(factors, Pointwise::Scale)),
            OpKind::AddConstant { addends } => {
                self.pointwise(index, op, &limbs, &constants(addends, Pointwise::AddConstant))
            }
            OpKind::Automorphism { element } => {
                let operands = self.all(op.operands[0], &limbs);
                let one = |(limb, operand): (LimbId, Residue)| {
                    let result = self.residue(None);
                    self.task(index, Work::Automorphism { limb, element: *element, operand, result });
                    result
                };
                limbs.iter().zip(operands).map(one).collect()
            }
            OpKind::ModUp { digit, window: None, conversion, .. } => {
                let Some(balanced) = balanced(*conversion) else { return refuse(no_exact) };
                if self.program.value(op.operands[0]).domain != Domain::Evaluation {
                    return refuse("raises coefficients, and the stream begins with an inverse transform");
                }
                let targets = limbs.difference(digit);
                let raised = self.mod_change(index, (op.operands[0], digit), &targets, balanced, None);
                let of = |limb| match targets.position(limb) {
                    Some(place) => raised.get(place).copied(),
                    None => self.of(op.operands[0], limb),
                };
                limbs.iter().filter_map(of).collect()
            }
            OpKind::ModDown { drop, conversion, plaintext_modulus: None } => {
                let Some(balanced) = balanced(*conversion) else { return refuse(no_exact) };
                let kept = self.all(op.operands[0], &limbs);
                self.mod_change(index, (op.operands[0], drop), &limbs, balanced, Some(kept))
            }
            OpKind::InnerProduct { key, rows } => return Ok(self.key_product(index, op, *key, rows, &limbs)),
            OpKind::ModDown { .. } => return refuse("keeps a message modulo t, which is BGV's"),
            OpKind::ModUp { .. } | OpKind::SubDigit { .. } => {
                return refuse("cuts a limb into bits, and no unit does");
            }
            OpKind::Key { .. } | OpKind::ForwardNtt | OpKind::InverseNtt | OpKind::BaseConversion { .. } => {
                return refuse("is part of a composite operation, which the units take whole");
            }
        };
        Ok(vec![result])
    }

    fn pointwise(&mut self, index: u32, op: &Op, limbs: &LimbSet, what: &[Pointwise]) -> Vec<Residue> {
        let one = |(limb, &what): (LimbId, &Pointwise)| {
            let operands = op.operands.iter().filter_map(|&operand| self.of(operand, limb)).collect();
            let result = self.residue(None);
            self.task(index, Work::Pointwise { limb, what, operands, result });
            result
        };
        limbs.iter().zip(what).map(one).collect()
    }

    fn mod_change(
        &mut self,
        index: u32,
        (operand, from): (ValueId, &LimbSet),
        targets: &LimbSet,
        balanced: bool,
        division: Option<Vec<Residue>>,
    ) -> Vec<Residue> {
        if targets.is_empty() {
            return Vec::new();
        }
        let sources = from.iter().zip(self.all(operand, from)).collect();
        let results: Vec<Residue> = (0..targets.len()).map(|_| self.residue(None)).collect();
        let targets = targets.as_slice().to_vec();
        self.task(index, Work::ModChange { sources, targets, balanced, division, results: results.clone() });
        results
    }

    fn key_product(&mut self, index: u32, op: &Op, key: KeyId, rows: &[u16], limbs: &LimbSet) -> Vec<Vec<Residue>> {
        let mut halves = vec![Vec::new(), Vec::new()];
        for limb in limbs.iter() {
            let mut terms = Vec::new();
            for (&row, &operand) in rows.iter().zip(&op.operands) {
                let body = self.residue(Some(Leaf::Body { key, row, limb }));
                terms.extend(self.of(operand, limb).map(|digit| (row, digit, body)));
            }
            let results = [self.residue(None), self.residue(None)];
            self.task(index, Work::KeyProduct { key, limb, terms, results });
            halves.iter_mut().zip(results).for_each(|(half, result)| half.push(result));
        }
        halves
    }
}

/// The factor of a division by the product of `drop`, modulo `modulus`.
pub(super) fn inverse_of_product(modulus: Modulus, drop: impl Iterator<Item = Modulus>) -> u64 {
    let product = drop.fold(1, |product, prime| modulus.multiply(product, modulus.reduce(prime.value())));
    // Distinct primes: there is an inverse.
    modulus.inverse(product).unwrap_or(0)
}
