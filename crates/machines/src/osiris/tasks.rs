//! Translates a kernel program to kernels of the units: streams of residues, of one limb or of several
//! interleaved limbs.
//!
//! Selecting and joining limbs only renames residues, as does the original part of a raised digit. Composite
//! operations stay whole: a raise or a division is one stream through both NTT units and the array, and an
//! inner product is one stream per limb. Other arithmetic is one stream of all limbs. If both parts of a
//! ciphertext are multiplied by the same factor in sequence, the Hadamard unit's cells process them in parallel
//! (section IV-E).
//!
//! A public polynomial that is only a factor is loaded as one limb of coefficients, modulo the widest prime, if
//! they fit it. An NTT unit extends it to the other limbs on demand (on-the-fly limb extension, section V).
//!
//! A BGV division subtracts a multiple of t: the Hadamard unit multiplies the dropped limbs by 1/t, and the array's
//! table of constants contains t. An inner product of more digits than a column has cells is a sum of shorter ones.
//!
//! If there are more limbs than the delays of an NTT unit can interleave, they pass in several streams of
//! nearly equal size. A change of modulus then passes its source through the first NTT unit once per stream.
//!
//! Without interleaving, the array's order differs from that of the NTT units. A change of modulus is then
//! three tasks, with coefficients in the scratchpads between them.

use super::machine::{Dataflow, Osiris, Tiling};
use super::units::{HeightError, ShapeError};
use crate::rns::leaf::Leaf;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, LimbSet, Op, OpKind, ValueId};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, Part};
use std::borrow::Cow;
use std::collections::HashMap;

/// Index of a limb of a polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Residue(pub u32);

/// Operation of the Hadamard unit on one limb.
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

/// A unit of work that passes the units as a whole: a kernel of the paper, or one of its parts if limbs are not
/// interleaved.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    /// Source limbs through both NTT units and the array to target limbs, then optionally (kept − result) /
    /// (product of the source limbs).
    ModChange {
        /// With their residues.
        sources: Vec<(LimbId, Residue)>,
        targets: Vec<LimbId>,
        /// The representative, approximate or balanced.
        conversion: Conversion,
        /// Of the array's results, in its table: a BGV program's t, else 1.
        factor: u64,
        /// The kept residues, by target.
        division: Option<Vec<Residue>>,
        /// By target.
        results: Vec<Residue>,
    },
    /// Limbs in sequence through the first NTT unit, as input of the array.
    Inverse {
        /// With their residues.
        sources: Vec<(LimbId, Residue)>,
        /// Coefficients.
        results: Vec<Residue>,
    },
    Convert {
        /// With their coefficients.
        sources: Vec<(LimbId, Residue)>,
        targets: Vec<LimbId>,
        /// The representative, approximate or balanced.
        conversion: Conversion,
        /// Of the array's results.
        factor: u64,
        /// Coefficients, by target.
        results: Vec<Residue>,
    },
    /// Coefficients through the second NTT unit, limb by limb, then optionally (kept − result) / (product of
    /// the dropped limbs).
    Forward {
        /// With their coefficients.
        targets: Vec<(LimbId, Residue)>,
        /// The kept residues by limb, and the dropped limbs.
        division: Option<(Vec<Residue>, Vec<LimbId>)>,
        /// By limb.
        results: Vec<Residue>,
    },
    /// An inner product of one limb with rows of a key.
    KeyProduct {
        key: KeyId,
        limb: LimbId,
        /// Row, digit and body.
        terms: Vec<(u16, Residue, Residue)>,
        /// Body and mask.
        results: [Residue; 2],
    },
    /// Element-wise arithmetic on interleaved limbs.
    Pointwise {
        limbs: LimbSet,
        /// By limb.
        what: Vec<Pointwise>,
        /// The common factor, extended from one limb.
        diagonal: Option<Extended>,
        /// One polynomial, or two with a common factor.
        halves: Vec<Half>,
    },
    Automorphism {
        limb: LimbId,
        /// X → X^g.
        element: GaloisElement,
        operand: Residue,
        result: Residue,
    },
}

/// A public polynomial that is extended from one limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    /// Index among the program's plaintexts.
    pub plaintext: u32,
    /// The limb in memory, as coefficients.
    pub from: LimbId,
    /// The residue of that limb.
    pub source: Residue,
}

/// One polynomial of an element-wise operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Half {
    /// By operand, then by limb; without the factor from an NTT unit.
    pub operands: Vec<Vec<Residue>>,
    /// By limb.
    pub results: Vec<Residue>,
}

impl Kernel {
    /// Number of limbs if they pass in sequence; `None` if they are interleaved.
    pub fn in_turn(&self, tiling: Tiling) -> Option<usize> {
        let limbs = match self {
            Self::Inverse { sources, .. } => sources.len(),
            Self::Forward { targets, .. } => targets.len(),
            Self::Pointwise { limbs, diagonal: Some(_), .. } => limbs.len(),
            Self::ModChange { .. }
            | Self::Convert { .. }
            | Self::KeyProduct { .. }
            | Self::Pointwise { diagonal: None, .. }
            | Self::Automorphism { .. } => return None,
        };
        (tiling == Tiling::LimbByLimb).then_some(limbs)
    }

    /// Whether a Hadamard unit executes it; either one can.
    pub fn on_a_hadamard_unit(&self) -> bool {
        match self {
            Self::KeyProduct { .. } | Self::Pointwise { .. } => true,
            Self::ModChange { .. }
            | Self::Inverse { .. }
            | Self::Convert { .. }
            | Self::Forward { .. }
            | Self::Automorphism { .. } => false,
        }
    }

    /// The part for limb `limb` alone, of a kernel with limbs in sequence.
    pub fn part(&self, limb: usize) -> Self {
        let one = |residues: &[Residue]| residues.get(limb).copied().into_iter().collect::<Vec<_>>();
        match self {
            Self::Inverse { sources, results } => Self::Inverse { sources: vec![sources[limb]], results: one(results) },
            Self::Forward { targets, division, results } => Self::Forward {
                targets: vec![targets[limb]],
                division: division.as_ref().map(|(kept, dropped)| (one(kept), dropped.clone())),
                results: one(results),
            },
            Self::Pointwise { limbs, what, diagonal, halves } => {
                let half = |half: &Half| Half {
                    operands: half.operands.iter().map(|list| one(list)).collect(),
                    results: one(&half.results),
                };
                Self::Pointwise {
                    limbs: LimbSet::new(limbs.as_slice().get(limb).copied()),
                    what: vec![what[limb]],
                    diagonal: *diagonal,
                    halves: halves.iter().map(half).collect(),
                }
            }
            Self::ModChange { .. } | Self::Convert { .. } | Self::KeyProduct { .. } | Self::Automorphism { .. } => {
                self.clone()
            }
        }
    }

    /// The computation of an event with part `part`.
    pub fn of_event(&self, tiling: Tiling, part: u32) -> Option<Cow<'_, Self>> {
        match self.in_turn(tiling) {
            None => Some(Cow::Borrowed(self)),
            Some(limbs) => ((part as usize) < limbs).then(|| Cow::Owned(self.part(part as usize))),
        }
    }

    /// Its limb, if it computes one limb from operands of that limb only.
    pub fn single_limb(&self) -> Option<LimbId> {
        match self {
            Self::KeyProduct { limb, .. } | Self::Automorphism { limb, .. } => Some(*limb),
            Self::Pointwise { limbs, .. } if limbs.len() == 1 => limbs.iter().next(),
            _ => None,
        }
    }

    /// Residues read from the scratchpads, without duplicates.
    pub fn operands(&self) -> Vec<Residue> {
        match self {
            Self::ModChange { sources, division, .. } => {
                sources.iter().map(|&(_, residue)| residue).chain(division.iter().flatten().copied()).collect()
            }
            Self::Inverse { sources, .. } | Self::Convert { sources, .. } => {
                sources.iter().map(|&(_, residue)| residue).collect()
            }
            Self::Forward { targets, division, .. } => {
                let kept = division.iter().flat_map(|(kept, _)| kept.iter().copied());
                targets.iter().map(|&(_, residue)| residue).chain(kept).collect()
            }
            Self::KeyProduct { terms, .. } => terms.iter().flat_map(|&(_, digit, body)| [digit, body]).collect(),
            Self::Pointwise { diagonal, halves, .. } => {
                diagonal.iter().map(|diagonal| diagonal.source).chain(read_at_once(halves)).collect()
            }
            Self::Automorphism { operand, .. } => vec![*operand],
        }
    }

    pub fn results(&self) -> Vec<Residue> {
        match self {
            Self::ModChange { results, .. }
            | Self::Inverse { results, .. }
            | Self::Convert { results, .. }
            | Self::Forward { results, .. } => results.clone(),
            Self::KeyProduct { results, .. } => results.to_vec(),
            Self::Pointwise { halves, .. } => halves.iter().flat_map(|half| half.results.iter().copied()).collect(),
            Self::Automorphism { result, .. } => vec![*result],
        }
    }
}

/// The Hadamard unit's reads for the operands of `halves`, without duplicates, in order of first use.
pub fn read_at_once(halves: &[Half]) -> Vec<Residue> {
    read_with_places(halves).map(|(_, residue)| residue).collect()
}

/// The same with each limb's position. A residue has the same position in every polynomial that contains it.
pub fn read_with_places(halves: &[Half]) -> impl Iterator<Item = (usize, Residue)> {
    let lists = halves.iter().flat_map(|half| &half.operands);
    lists.clone().enumerate().flat_map(move |(number, list)| {
        let before = lists.clone().take(number);
        let first = move |&(place, residue): &(usize, Residue)| {
            before.clone().all(|list: &Vec<Residue>| list.get(place) != Some(&residue))
        };
        list.iter().copied().enumerate().filter(first)
    })
}

/// A kernel for one operation of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub op: u32,
    pub kernel: Kernel,
}

/// A program as kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasks {
    /// In program order.
    pub tasks: Vec<Task>,
    /// By residue, its source unless a task computes it.
    pub leaves: Vec<Option<Leaf>>,
    pub outputs: Vec<Vec<(LimbId, Residue)>>,
}

/// Why a program does not run on the machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MapError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("operation {op}: {cause}")]
    Height { op: u32, cause: HeightError },
    #[error(
        "limb {limb} is modulo {modulus}, of {bits} bits, and the machine's words have {word_bits}: choose a set of smaller primes, such \
         as osiris-III"
    )]
    Word { limb: usize, modulus: u64, bits: u32, word_bits: u64 },
    #[error(
        "operation {op} interleaves {limbs} limbs, but the delays of the NTT units support {most}: choose a set with fewer limbs, or \
         longer delays in the machine file (`units.ntt.limbs`)"
    )]
    Interleaved { op: u32, limbs: usize, most: usize },
    #[error(
        "operation {op}, `{name}`, {cause}: run the program on the processor, or on another machine (`polyfabric machines`)"
    )]
    Operation { op: u32, name: &'static str, cause: &'static str },
    #[error(
        "operation {op} needs more than the {frames} limbs of {bytes} bytes that fit the scratchpads: choose a smaller ring or level, or \
         enlarge them in the machine file (`memories.scratchpad.capacity`)"
    )]
    Capacity { op: u32, frames: usize, bytes: u64 },
}

/// State while a program is translated.
struct Reader<'a> {
    program: &'a KernelProgram,
    tiling: Tiling,
    /// Maximum number of limbs per stream.
    most: usize,
    /// Cells of a Hadamard unit's column: terms of an inner product.
    cells: usize,
    /// By value, whether its limbs stay in one stream.
    streamed: Vec<bool>,
    /// The limb from which others are extended.
    source: LimbId,
    tasks: Tasks,
    /// By value, the residue of each limb.
    values: Vec<Vec<Residue>>,
    known: HashMap<Leaf, Residue>,
    inputs: usize,
    /// By value, whether it is only a factor.
    factors: Vec<bool>,
    /// Public polynomials that are extended from one limb, by value.
    extended: HashMap<ValueId, Extended>,
    /// By address of the coefficients, whether they fit `source`. Placeholder plaintexts share coefficients.
    narrow: HashMap<usize, bool>,
}

impl Tasks {
    pub fn of(program: &KernelProgram, machine: &Osiris) -> Result<Self, MapError> {
        let tiling = machine.tiling;
        let tasks = Self { tasks: Vec::new(), leaves: Vec::new(), outputs: Vec::new() };
        let mut factors = vec![machine.limb_extension; program.values.len()];
        for op in &program.ops {
            let factor = matches!(op.kind, OpKind::Multiply | OpKind::MultiplyAdd);
            for (place, operand) in op.operands.iter().enumerate() {
                factors[operand.index()] &= factor && place == 1 && op.operands[0] != *operand;
            }
        }
        program.outputs.iter().for_each(|output| factors[output.value.index()] = false);
        let widest =
            (0..).zip(program.moduli.iter()).max_by_key(|(limb, modulus)| (modulus.bits(), std::cmp::Reverse(*limb)));
        let mut reader = Reader {
            program,
            tiling,
            most: if tiling == Tiling::Interleaved { machine.limbs } else { usize::MAX },
            cells: machine.hadamard_height,
            streamed: match machine.dataflow {
                Dataflow::LimbGroups => streamed(program),
                Dataflow::GiantsInTurn | Dataflow::BabySteps => vec![true; program.values.len()],
            },
            source: LimbId(widest.map_or(0, |(limb, _)| limb)),
            tasks,
            values: Vec::with_capacity(program.values.len()),
            known: HashMap::new(),
            inputs: 0,
            factors,
            extended: HashMap::new(),
            narrow: HashMap::new(),
        };
        let mut index = 0;
        while let Some(op) = program.ops.get(index) {
            let second = program.ops.get(index + 1).filter(|second| shares_its_factor(op, second));
            match second {
                Some(second) => {
                    let results = reader.both(index as u32, [op, second])?;
                    reader.values.extend(results);
                    index += 2;
                }
                None => {
                    let results = reader.op(index as u32, op)?;
                    reader.values.extend(results);
                    index += 1;
                }
            }
        }
        let output = |value: ValueId| {
            let limbs = program.value(value).limbs.iter();
            limbs.zip(reader.values[value.index()].iter().copied()).collect()
        };
        let outputs = program.outputs.iter().map(|named| output(named.value)).collect();
        Ok(Self { outputs, ..reader.tasks })
    }
}

/// By value, whether it enters a change of modulus, also after further sums and products. The limbs of all other
/// sums and products can be separate tasks, as those of an inner product or an automorphism. So a few limbs of a
/// key and of a rotated ciphertext suffice at a time.
fn streamed(program: &KernelProgram) -> Vec<bool> {
    let (mut streamed, mut public) = (vec![false; program.values.len()], vec![false; program.values.len()]);
    for op in &program.ops {
        op.results.iter().for_each(|result| public[result.index()] = matches!(op.kind, OpKind::Plaintext { .. }));
    }
    for op in program.ops.iter().rev() {
        let stream = match op.kind {
            OpKind::ModUp { .. } | OpKind::ModDown { .. } => true,
            OpKind::InnerProduct { .. } | OpKind::Automorphism { .. } => false,
            OpKind::Multiply | OpKind::MultiplyAdd if public[op.operands[1].index()] => {
                streamed[op.results[0].index()] = false;
                false
            }
            _ => op.results.iter().any(|result| streamed[result.index()]),
        };
        op.operands.iter().for_each(|operand| streamed[operand.index()] |= stream);
    }
    streamed
}

/// Whether the Hadamard unit can merge two operations: the same operation on two polynomials with a common
/// factor.
fn shares_its_factor(first: &Op, second: &Op) -> bool {
    if first.kind != second.kind || second.operands.contains(&first.results[0]) {
        return false;
    }
    match &first.kind {
        OpKind::Multiply | OpKind::MultiplyAdd => first.operands[1] == second.operands[1],
        OpKind::Add | OpKind::Sub | OpKind::Negate | OpKind::Scale { .. } => true,
        _ => false,
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

    fn of(&self, value: ValueId, limb: LimbId) -> Option<Residue> {
        self.values[value.index()].get(self.limbs(value).position(limb)?).copied()
    }

    fn all(&self, value: ValueId, limbs: &LimbSet) -> Vec<Residue> {
        limbs.iter().filter_map(|limb| self.of(value, limb)).collect()
    }

    fn task(&mut self, op: u32, kernel: Kernel) {
        self.tasks.tasks.push(Task { op, kernel });
    }

    fn op(&mut self, index: u32, op: &Op) -> Result<Vec<Vec<Residue>>, MapError> {
        let refuse = |cause| Err(MapError::Operation { op: index, name: op.kind.name(), cause });
        let value = |result: usize| self.program.value(op.results[result]);
        if value(0).domain != Domain::Evaluation {
            return refuse("yields coefficients, which no unit of the machine can output by itself");
        }
        let limbs = value(0).limbs.clone();
        let leaves = |reader: &mut Self, leaf: &dyn Fn(LimbId) -> Leaf| -> Vec<Residue> {
            limbs.iter().map(|limb| reader.residue(Some(leaf(limb)))).collect()
        };
        let no_exact = "needs the exact representative, but the array computes the approximate or the balanced one";
        let result = match &op.kind {
            OpKind::Input { .. } => {
                let index = self.inputs;
                self.inputs += 1;
                leaves(self, &|limb| Leaf::Input { index, limb })
            }
            &OpKind::Plaintext { plaintext, .. } => {
                if self.factors[op.results[0].index()] && self.is_narrow(plaintext) {
                    let source = self.residue(Some(Leaf::Plaintext { plaintext, limb: self.source, values: false }));
                    self.extended.insert(op.results[0], Extended { plaintext, from: self.source, source });
                    Vec::new()
                } else {
                    leaves(self, &|limb| Leaf::Plaintext { plaintext, limb, values: true })
                }
            }
            OpKind::SelectLimbs { .. } => self.all(op.operands[0], &limbs),
            OpKind::Concat => {
                let of = |limb| op.operands.iter().find_map(|&operand| self.of(operand, limb));
                limbs.iter().filter_map(of).collect()
            }
            OpKind::Add
            | OpKind::Sub
            | OpKind::Negate
            | OpKind::Multiply
            | OpKind::MultiplyAdd
            | OpKind::Scale { .. }
            | OpKind::AddConstant { .. } => return self.pointwise(index, &[op]),
            OpKind::Automorphism { element } => {
                let operands = self.all(op.operands[0], &limbs);
                let one = |(limb, operand): (LimbId, Residue)| {
                    let result = self.residue(None);
                    self.task(index, Kernel::Automorphism { limb, element: *element, operand, result });
                    result
                };
                limbs.iter().zip(operands).map(one).collect()
            }
            OpKind::ModUp { digit, window: None, conversion, .. } => {
                // For one limb, the balanced representative is the exact one.
                let conversion = if digit.len() == 1 { one_limb(*conversion) } else { *conversion };
                if conversion == Conversion::Centred {
                    return refuse(no_exact);
                }
                if self.program.value(op.operands[0]).domain != Domain::Evaluation {
                    return refuse("raises coefficients, but the stream begins with an inverse transform");
                }
                let targets = limbs.difference(digit);
                let sources = digit.iter().zip(self.all(op.operands[0], digit)).collect();
                let raised = self.mod_change(index, sources, &targets, (conversion, 1), None);
                let of = |limb| match targets.position(limb) {
                    Some(place) => raised.get(place).copied(),
                    None => self.of(op.operands[0], limb),
                };
                limbs.iter().filter_map(of).collect()
            }
            OpKind::ModDown { drop, conversion, plaintext_modulus } => {
                let conversion = if drop.len() == 1 { one_limb(*conversion) } else { *conversion };
                if conversion == Conversion::Centred {
                    return refuse(no_exact);
                }
                let (kept, mut dropped) = (self.all(op.operands[0], &limbs), self.all(op.operands[0], drop));
                if let Some(t) = *plaintext_modulus {
                    dropped = self.divided_by(index, drop, dropped, t);
                }
                let sources = drop.iter().zip(dropped).collect();
                self.mod_change(index, sources, &limbs, (conversion, plaintext_modulus.unwrap_or(1)), Some(kept))
            }
            OpKind::InnerProduct { key, rows } => return Ok(self.key_product(index, op, *key, rows, &limbs)),
            OpKind::ModUp { .. } | OpKind::SubDigit { .. } => {
                return refuse("splits a limb into bits, which no unit supports");
            }
            OpKind::Key { .. } | OpKind::ForwardNtt | OpKind::InverseNtt | OpKind::BaseConversion { .. } => {
                return refuse("is part of a composite operation, which the units execute only as a whole");
            }
        };
        Ok(vec![result])
    }

    /// Whether a plaintext's coefficients are between −q/2 and q/2 for the limb from which others are extended.
    fn is_narrow(&mut self, plaintext: u32) -> bool {
        let (program, modulus) = (self.program, self.program.modulus(self.source));
        let plaintext = &program.plaintexts[plaintext as usize];
        *self.narrow.entry(plaintext.address()).or_insert_with(|| plaintext.fits(modulus))
    }

    /// Two operations on polynomials with the same limbs; executed separately if their limbs differ.
    fn both(&mut self, index: u32, ops: [&Op; 2]) -> Result<Vec<Vec<Residue>>, MapError> {
        let limbs = ops.map(|op| self.program.value(op.results[0]));
        if limbs[0] == limbs[1] {
            return self.pointwise(index, &ops);
        }
        let first = self.op(index, ops[0])?;
        let second = self.op(index + 1, ops[1])?;
        Ok(first.into_iter().chain(second).collect())
    }

    /// One stream for operations of one kind.
    fn pointwise(&mut self, index: u32, ops: &[&Op]) -> Result<Vec<Vec<Residue>>, MapError> {
        let value = self.program.value(ops[0].results[0]);
        let limbs = value.limbs.clone();
        if value.domain != Domain::Evaluation {
            let cause = "yields coefficients, which no unit of the machine can output by itself";
            return Err(MapError::Operation { op: index, name: ops[0].kind.name(), cause });
        }
        let what = match &ops[0].kind {
            OpKind::Add => vec![Pointwise::Add; limbs.len()],
            OpKind::Sub => vec![Pointwise::Subtract; limbs.len()],
            OpKind::Negate => vec![Pointwise::Negate; limbs.len()],
            OpKind::MultiplyAdd => vec![Pointwise::MultiplyAdd; limbs.len()],
            OpKind::Scale { factors } => factors.iter().map(|&factor| Pointwise::Scale(factor)).collect(),
            OpKind::AddConstant { addends } => addends.iter().map(|&addend| Pointwise::AddConstant(addend)).collect(),
            OpKind::Multiply => vec![Pointwise::Multiply; limbs.len()],
            other => unreachable!("{} is not element-wise", other.name()),
        };
        let factor = ops[0].operands.get(1).filter(|_| matches!(what[0], Pointwise::Multiply | Pointwise::MultiplyAdd));
        let diagonal = factor.and_then(|factor| self.extended.get(factor).copied());
        let mut halves = Vec::new();
        for op in ops {
            let operand = |(place, &operand): (usize, &ValueId)| match place {
                1 if diagonal.is_some() => Vec::new(),
                _ => self.all(operand, &limbs),
            };
            let operands = op.operands.iter().enumerate().map(operand).collect();
            let results: Vec<Residue> = limbs.iter().map(|_| self.residue(None)).collect();
            halves.push(Half { operands, results });
        }
        let results = halves.iter().map(|half| half.results.clone()).collect();
        let what = &what;
        let streamed = ops.iter().any(|op| self.streamed[op.results[0].index()]);
        for range in streams(limbs.len(), if streamed { self.most } else { 1 }) {
            let part =
                |residues: &Vec<Residue>| residues.get(range.clone()).map(<[Residue]>::to_vec).unwrap_or_default();
            let halves = halves
                .iter()
                .map(|half| Half { operands: half.operands.iter().map(part).collect(), results: part(&half.results) });
            let kernel = Kernel::Pointwise {
                limbs: LimbSet::new(limbs.as_slice()[range.clone()].iter().copied()),
                what: what[range.clone()].to_vec(),
                diagonal,
                halves: halves.collect(),
            };
            self.task(index, kernel);
        }
        Ok(results)
    }

    /// One stream that multiplies `limbs` by 1/t.
    fn divided_by(&mut self, index: u32, limbs: &LimbSet, operands: Vec<Residue>, t: u64) -> Vec<Residue> {
        let results: Vec<Residue> = operands.iter().map(|_| self.residue(None)).collect();
        let inverse = |limb| {
            let modulus = self.program.modulus(limb);
            // A BGV program's t is coprime to all primes.
            Pointwise::Scale(modulus.inverse(modulus.reduce(t)).unwrap_or(0))
        };
        let what: Vec<Pointwise> = limbs.iter().map(inverse).collect();
        for range in streams(limbs.len(), self.most) {
            let limbs = LimbSet::new(limbs.as_slice()[range.clone()].iter().copied());
            let (operands, results) = (vec![operands[range.clone()].to_vec()], results[range.clone()].to_vec());
            let (what, halves) = (what[range].to_vec(), vec![Half { operands, results }]);
            self.task(index, Kernel::Pointwise { limbs, what, diagonal: None, halves });
        }
        results
    }

    /// `sources` converted to `targets`, by a representative and a factor of the results.
    fn mod_change(
        &mut self,
        index: u32,
        sources: Vec<(LimbId, Residue)>,
        targets: &LimbSet,
        (conversion, factor): (Conversion, u64),
        division: Option<Vec<Residue>>,
    ) -> Vec<Residue> {
        if targets.is_empty() {
            return Vec::new();
        }
        let from = &LimbSet::new(sources.iter().map(|&(limb, _)| limb));
        let results: Vec<Residue> = (0..targets.len()).map(|_| self.residue(None)).collect();
        if self.tiling == Tiling::LimbByLimb {
            let mut waiting = |limbs: &LimbSet| -> Vec<Residue> { limbs.iter().map(|_| self.residue(None)).collect() };
            let (coefficients, converted) = (waiting(from), waiting(targets));
            let sources_of =
                |residues: &[Residue], limbs: &LimbSet| limbs.iter().zip(residues.iter().copied()).collect();
            self.task(index, Kernel::Inverse { sources, results: coefficients.clone() });
            let kernel = Kernel::Convert {
                sources: sources_of(&coefficients, from),
                targets: targets.as_slice().to_vec(),
                conversion,
                factor,
                results: converted.clone(),
            };
            self.task(index, kernel);
            let division = division.map(|kept| (kept, from.as_slice().to_vec()));
            let targets = sources_of(&converted, targets);
            self.task(index, Kernel::Forward { targets, division, results: results.clone() });
            return results;
        }
        for range in streams(targets.len(), self.most) {
            let kernel = Kernel::ModChange {
                sources: sources.clone(),
                targets: targets.as_slice()[range.clone()].to_vec(),
                conversion,
                factor,
                division: division.as_ref().map(|kept| kept[range.clone()].to_vec()),
                results: results[range].to_vec(),
            };
            self.task(index, kernel);
        }
        results
    }

    fn key_product(&mut self, index: u32, op: &Op, key: KeyId, rows: &[u16], limbs: &LimbSet) -> Vec<Vec<Residue>> {
        let mut halves = vec![Vec::new(), Vec::new()];
        for limb in limbs.iter() {
            let mut terms = Vec::new();
            for (&row, &operand) in rows.iter().zip(&op.operands) {
                let body = self.residue(Some(Leaf::Hint { key, row, part: Part::Body, limb }));
                terms.extend(self.of(operand, limb).map(|digit| (row, digit, body)));
            }
            let mut sum: Option<[Residue; 2]> = None;
            for terms in terms.chunks(self.cells) {
                let results = [self.residue(None), self.residue(None)];
                self.task(index, Kernel::KeyProduct { key, limb, terms: terms.to_vec(), results });
                sum = Some(sum.map_or(results, |sum| self.sum_of_both(index, limb, sum, results)));
            }
            halves.iter_mut().zip(sum.into_iter().flatten()).for_each(|(half, result)| half.push(result));
        }
        halves
    }

    /// The sums of one limb of two pairs of polynomials.
    fn sum_of_both(&mut self, index: u32, limb: LimbId, a: [Residue; 2], b: [Residue; 2]) -> [Residue; 2] {
        let results = [self.residue(None), self.residue(None)];
        let half = |part: usize| Half { operands: vec![vec![a[part]], vec![b[part]]], results: vec![results[part]] };
        let (limbs, halves) = (LimbSet::one(limb), vec![half(0), half(1)]);
        self.task(index, Kernel::Pointwise { limbs, what: vec![Pointwise::Add], diagonal: None, halves });
        results
    }
}

/// Splits `limbs` limbs into the fewest streams of at most `most`, of nearly equal size.
fn streams(limbs: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = limbs.div_ceil(most.max(1)).max(1);
    (0..count).map(move |number| number * limbs / count..(number + 1) * limbs / count)
}

/// The factor of a division by the product of `drop`, modulo `modulus`.
pub(super) fn inverse_of_product(modulus: Modulus, drop: impl Iterator<Item = Modulus>) -> u64 {
    let product = drop.fold(1, |product, prime| modulus.multiply(product, modulus.reduce(prime.value())));
    // Distinct primes, so there is an inverse.
    modulus.inverse(product).unwrap_or(0)
}

/// The conversion from a single limb in the array: balanced is exact there.
fn one_limb(conversion: Conversion) -> Conversion {
    if conversion == Conversion::Centred { Conversion::Balanced } else { conversion }
}
