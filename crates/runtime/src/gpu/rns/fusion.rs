//! Fuses steps on single limbs into kernel nodes.
//!
//! A value with a single reader is not written if the reader can compute it: the input of a transform, sums and products of sums, the weighting of a residue after a
//! transform, the final subtraction of a ModDown or rescaling. Such a value waits until its reader requests it.

use super::conversions::{Which, products, table, weight};
use super::records::{Factor, KeyLimb, Load, Location, Record, Space, Term, quotient, upper_bytes};
use crate::rns::steps::{Place, PlaintextLimb, Register, Step, StepKind, Steps};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::{Domain, LimbId, Part};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kernel {
    Inverse,
    Forward,
    InnerProducts,
    Sums,
    Loads,
    Conversions,
}

impl Kernel {
    pub(super) const ALL: [Self; 6] =
        [Self::Inverse, Self::Forward, Self::InnerProducts, Self::Sums, Self::Loads, Self::Conversions];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Inverse => "inverse",
            Self::Forward => "forward",
            Self::InnerProducts => "inner_products",
            Self::Sums => "sums",
            Self::Loads => "loads",
            Self::Conversions => "conversions",
        }
    }
}

/// The work of one or several blocks.
#[derive(Debug)]
pub(super) struct Node {
    pub kernel: Kernel,
    /// Nodes with close numbers share constants, digits or keys in the cache.
    pub near: u32,
    pub record: Record,
    pub results: Vec<Register>,
}

impl Node {
    pub(super) fn reads(&self) -> impl Iterator<Item = Register> {
        let registers =
            self.record.words.iter().zip(&self.record.spaces).filter(|(_, space)| **space == Space::Register);
        registers.map(|(&word, _)| word as Register).filter(|register| !self.results.contains(register))
    }
}

/// A program as nodes, in executable order.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub nodes: Vec<Node>,
    pub registers: u32,
    /// The limbs of inputs that are read, with the input's index.
    pub inputs: Vec<(u32, LimbId)>,
    pub plaintexts: Vec<PlaintextLimb>,
    pub keys: Vec<KeyLimb>,
    /// The limbs of each output.
    pub outputs: Vec<Vec<Register>>,
    /// Constants of base conversions.
    pub tables: Vec<u64>,
}

/// A value that is not written yet.
#[derive(Debug)]
enum Waiting {
    Sum(Vec<Term>),
    Loaded(Load),
    Forward(Load),
    Inverse(Location),
}

/// A node that is emitted later and absorbs steps until then.
enum Later {
    Products(Products),
    Conversion(Conversion),
}

/// A base conversion with missing targets.
struct Conversion {
    converter: u32,
    which: Which,
    sources: Vec<Location>,
    /// The result of each target, in order.
    results: Vec<Register>,
}

/// An inner product, which absorbs the only reader of its sums.
struct Products {
    limb: LimbId,
    near: u32,
    /// The upper bytes of the key's words, the number of digits, and each digit with its key row.
    rows: Record,
    halves: [Half; 2],
}

/// The bodies or the masks of an inner product.
struct Half {
    result: Register,
    /// An added polynomial and its factor.
    added: Option<(Location, u64)>,
    /// An automorphism applied to the total.
    element: Option<GaloisElement>,
}

/// Maximum terms of a sum; its inputs stay alive until it is computed.
const MOST_TERMS: usize = 24;

struct Fusion<'a> {
    program: &'a KernelProgram,
    steps: &'a Steps,
    nodes: Nodes,
    uses: Vec<u32>,
    waiting: HashMap<Register, (LimbId, Waiting)>,
    /// In order; emitted ones are removed.
    later: Vec<Option<Later>>,
    /// Which of them defines a register.
    later_of: HashMap<Register, usize>,
    /// Start of each converter's constants.
    tables: HashMap<(u32, Which), u32>,
    /// Registers with another location.
    elsewhere: HashMap<Register, Location>,
    inputs: HashMap<(u32, LimbId), u32>,
    keys: HashMap<KeyLimb, u32>,
    /// 1/N modulo each limb.
    inverse_degrees: Vec<u64>,
}

impl Nodes {
    pub(super) fn new(program: &KernelProgram, steps: &Steps) -> Self {
        let mut uses = vec![0; steps.registers as usize];
        let operands = steps.steps.iter().flat_map(|step| &step.operands);
        for operand in operands {
            if let Place::Register(register) = *operand {
                uses[register as usize] += 1;
            }
        }
        // Outputs are always written.
        steps.outputs.iter().flatten().for_each(|&register| uses[register as usize] = u32::MAX);
        let degree = program.degree.get() as u64;
        let inverse = |modulus: &Modulus| modulus.inverse(modulus.reduce(degree)).unwrap_or(0);
        let mut fusion = Fusion {
            program,
            steps,
            nodes: Self { registers: steps.registers, plaintexts: steps.plaintexts.clone(), ..Self::default() },
            uses,
            waiting: HashMap::new(),
            later: Vec::new(),
            later_of: HashMap::new(),
            tables: HashMap::new(),
            elsewhere: HashMap::new(),
            inputs: HashMap::new(),
            keys: HashMap::new(),
            inverse_degrees: program.moduli.iter().map(inverse).collect(),
        };
        steps.steps.iter().for_each(|step| fusion.step(step));
        (0..fusion.later.len()).for_each(|index| fusion.write_later(index));
        fusion.nodes.outputs = steps.outputs.clone();
        fusion.nodes
    }

    /// Total words of the records.
    pub(super) fn words(&self) -> usize {
        self.nodes.iter().map(|node| node.record.words.len()).sum()
    }

    /// `batch` copies for separate sets of `inputs` polynomials, with the same keys and public polynomials. Copies of a node are adjacent and run together.
    pub(super) fn batched(self, batch: u32, inputs: u32) -> Self {
        let (registers, input_limbs) = (self.registers, self.inputs.len() as u64);
        let node = |node: &Node, of: u32| {
            let mut record = Record { spaces: node.record.spaces.clone(), ..Record::default() };
            record.products = node.record.products;
            let words = node.record.words.iter().zip(&node.record.spaces);
            record.words.extend(words.map(|(&word, space)| match space {
                Space::Register => word + u64::from(of * registers),
                Space::Input => word + u64::from(of) * input_limbs,
                Space::Number | Space::Plaintext | Space::Key | Space::Table => word,
            }));
            let results = node.results.iter().map(|&register| register + of * registers).collect();
            Node { kernel: node.kernel, near: node.near, record, results }
        };
        let node = &node;
        let nodes = self.nodes.iter().flat_map(|each| (0..batch).map(move |of| node(each, of))).collect();
        let of_input = |of: u32| self.inputs.iter().map(move |&(input, limb)| (of * inputs + input, limb));
        let moved = |limbs: &Vec<Register>, of: u32| limbs.iter().map(|&limb| limb + of * registers).collect();
        let of_output = |of: u32| self.outputs.iter().map(move |limbs| moved(limbs, of));
        let (read, written) = ((0..batch).flat_map(of_input).collect(), (0..batch).flat_map(of_output).collect());
        Self { nodes, registers: registers * batch, inputs: read, outputs: written, ..self }
    }
}

impl Fusion<'_> {
    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    /// The location of `place`, written now if necessary.
    fn location(&mut self, place: Place) -> Location {
        match place {
            Place::Register(register) => {
                if let Some((limb, value)) = self.waiting.remove(&register) {
                    self.write(register, limb, value);
                }
                let here = Location { space: Space::Register, index: register };
                self.elsewhere.get(&register).copied().unwrap_or(here)
            }
            Place::Input(input, limb) => {
                let list = &mut self.nodes.inputs;
                let index = *self.inputs.entry((input, limb)).or_insert_with(|| {
                    list.push((input, limb));
                    list.len() as u32 - 1
                });
                Location { space: Space::Input, index }
            }
            Place::Plaintext(index) => Location { space: Space::Plaintext, index },
        }
    }

    fn key(&mut self, limb: KeyLimb) -> Location {
        let list = &mut self.nodes.keys;
        let index = *self.keys.entry(limb).or_insert_with(|| {
            list.push(limb);
            list.len() as u32 - 1
        });
        Location { space: Space::Key, index }
    }

    /// Removes the waiting value at `place` if `wanted` accepts it.
    fn taken<T>(&mut self, place: Place, wanted: impl FnOnce(Waiting) -> Result<T, Waiting>) -> Option<T> {
        let Place::Register(register) = place else { return None };
        let (limb, value) = self.waiting.remove(&register)?;
        match wanted(value) {
            Ok(taken) => Some(taken),
            Err(value) => {
                self.waiting.insert(register, (limb, value));
                None
            }
        }
    }

    /// `place` as at most `most` terms of a sum.
    fn terms(&mut self, place: Place, most: usize) -> Vec<Term> {
        let taken = self.taken(place, |value| match value {
            Waiting::Sum(terms) if terms.len() <= most => Ok(terms),
            other => Err(other),
        });
        taken.unwrap_or_else(|| {
            vec![Term { factor: Factor::Word(self.location(place)), negative: false, element: None }]
        })
    }

    /// `place` as the first factor of a product.
    fn factor(&mut self, place: Place) -> (Location, Option<GaloisElement>) {
        let taken = self.taken(place, |value| match value {
            Waiting::Sum(terms) => match terms[..] {
                [Term { factor: Factor::Word(location), negative: false, element }] => Ok((location, element)),
                _ => Err(Waiting::Sum(terms)),
            },
            other => Err(other),
        });
        taken.unwrap_or_else(|| (self.location(place), None))
    }

    fn product(&mut self, step: &Step) -> Term {
        let [a, b] = [step.operands[0], step.operands[1]].map(|place| self.factor(place));
        // Only one factor may have an automorphism.
        let ((first, element), (second, other)) = if a.1.is_some() { (a, b) } else { (b, a) };
        let second = match other {
            Some(other) => self.written(step.limb, second, other),
            None => second,
        };
        Term { factor: Factor::Product(first, second), negative: false, element }
    }

    /// Writes `source` with `element` applied.
    fn written(&mut self, limb: LimbId, source: Location, element: GaloisElement) -> Location {
        let register = self.nodes.registers;
        self.nodes.registers += 1;
        let term = Term { factor: Factor::Word(source), negative: false, element: Some(element) };
        self.write(register, limb, Waiting::Sum(vec![term]));
        Location { space: Space::Register, index: register }
    }

    fn load(&mut self, place: Place) -> Load {
        let taken = self.taken(place, |value| match value {
            Waiting::Loaded(load) => Ok(load),
            other => Err(other),
        });
        taken.unwrap_or_else(|| Load::Words(self.location(place)))
    }

    /// Defines a waiting value; writes it if it has several readers.
    fn define(&mut self, step: &Step, value: Waiting) {
        let register = step.results[0];
        match self.uses[register as usize] {
            0 => {}
            1 => drop(self.waiting.insert(register, (step.limb, value))),
            _ => self.write(register, step.limb, value),
        }
    }

    fn step(&mut self, step: &Step) {
        let operands = &step.operands[..];
        let limb = step.limb;
        let value = match &step.kind {
            StepKind::Copy => Waiting::Sum(self.terms(operands[0], MOST_TERMS)),
            StepKind::Add => {
                let mut terms = self.terms(operands[0], MOST_TERMS - 1);
                terms.extend(self.terms(operands[1], MOST_TERMS - terms.len()));
                Waiting::Sum(terms)
            }
            StepKind::Sub => {
                let mut terms = self.terms(operands[0], MOST_TERMS - 1);
                let subtracted = self.terms(operands[1], MOST_TERMS - terms.len());
                terms.extend(subtracted.into_iter().map(|term| self.negated(term, limb)));
                Waiting::Sum(terms)
            }
            StepKind::Negate => {
                let terms = self.terms(operands[0], MOST_TERMS);
                Waiting::Sum(terms.into_iter().map(|term| self.negated(term, limb)).collect())
            }
            StepKind::Multiply => Waiting::Sum(vec![self.product(step)]),
            StepKind::MultiplyAdd => {
                let mut terms = vec![self.product(step)];
                terms.extend(self.terms(operands[2], MOST_TERMS - 1));
                Waiting::Sum(terms)
            }
            StepKind::Scale(factor) => {
                let (location, element) = self.factor(operands[0]);
                Waiting::Sum(vec![Term { factor: Factor::Scaled(location, *factor), negative: false, element }])
            }
            StepKind::AddConstant(addend, domain) => {
                let factor = match domain {
                    Domain::Evaluation => Factor::Constant(*addend),
                    Domain::Coefficient => Factor::FirstConstant(*addend),
                };
                let mut terms = self.terms(operands[0], MOST_TERMS - 1);
                terms.push(Term { factor, negative: false, element: None });
                Waiting::Sum(terms)
            }
            StepKind::Forward => Waiting::Forward(self.load(operands[0])),
            StepKind::Inverse => Waiting::Inverse(self.location(operands[0])),
            StepKind::Permute(index) => {
                let element = self.steps.permutations[*index as usize].element();
                // A short sum absorbs the automorphism word by word.
                let taken = self.taken(operands[0], |value| match value {
                    Waiting::Sum(terms) if terms.len() <= 2 && terms.iter().all(Term::is_word) => Ok(terms),
                    other => Err(other),
                });
                let terms = taken.unwrap_or_else(|| {
                    let word = Factor::Word(self.location(operands[0]));
                    vec![Term { factor: word, negative: false, element: None }]
                });
                Waiting::Sum(terms.into_iter().map(|term| term.through(element)).collect())
            }
            StepKind::Substitute(element) => {
                Waiting::Loaded(Load::Substituted { source: self.location(operands[0]), element: *element })
            }
            StepKind::SubScale(factor) => {
                let transform = self.taken(operands[1], |value| match value {
                    Waiting::Forward(load) => Ok(load),
                    other => Err(other),
                });
                if let Some(load) = transform {
                    let from = self.location(operands[0]);
                    self.forward(step.results[0], limb, load, Some((from, *factor)));
                    return;
                }
                let [a, b] = [operands[0], operands[1]].map(|place| self.location(place));
                let scaled =
                    |location, negative| Term { factor: Factor::Scaled(location, *factor), negative, element: None };
                Waiting::Sum(vec![scaled(a, false), scaled(b, true)])
            }
            StepKind::Reduce { from, centred } => {
                let source = self.location(operands[0]);
                Waiting::Loaded(Load::Reduced { source, from: *from, centred: *centred })
            }
            StepKind::SubDigit(window) => {
                Waiting::Loaded(Load::Digit { source: self.location(operands[0]), window: *window })
            }
            StepKind::Key { key, row, part } => {
                let location = self.key(KeyLimb { key: *key, row: *row, part: *part, limb, upper_bytes: 0 });
                let word = Term { factor: Factor::Word(location), negative: false, element: None };
                if self.uses[step.results[0] as usize] != u32::MAX {
                    self.elsewhere.insert(step.results[0], location);
                    return;
                }
                Waiting::Sum(vec![word])
            }
            StepKind::InnerProduct { key, rows } => {
                self.inner_product(step, *key, rows);
                return;
            }
            StepKind::Weigh { converter, source, balanced } => {
                let (weight, shift) = self.steps.converters[*converter as usize].weight(*source as usize);
                let addend = if *balanced { shift } else { 0 };
                let values = self.taken(operands[0], |value| match value {
                    Waiting::Inverse(location) => Ok(location),
                    other => Err(other),
                });
                if let Some(location) = values {
                    self.inverse(step.results[0], limb, location, weight, addend);
                    return;
                }
                let scaled = Factor::Scaled(self.location(operands[0]), weight);
                let term = |factor| Term { factor, negative: false, element: None };
                Waiting::Sum(vec![term(scaled), term(Factor::Constant(addend))])
            }
            StepKind::Combine { converter, target, balanced } => {
                // Steps for all targets are consecutive.
                if *target > 0
                    && let Some(Some(Later::Conversion(conversion))) = self.later.last_mut()
                {
                    conversion.results.push(step.results[0]);
                    self.later_of.insert(step.results[0], self.later.len() - 1);
                    return;
                }
                self.convert(step, *converter, Which::Sum { balanced: *balanced });
                return;
            }
            StepKind::Convert { converter, .. } => {
                self.convert(step, *converter, Which::Centred);
                return;
            }
        };
        self.define(step, value);
    }

    fn negated(&self, term: Term, limb: LimbId) -> Term {
        let modulus = self.modulus(limb);
        let factor = match term.factor {
            Factor::Constant(constant) => Factor::Constant(modulus.neg(constant)),
            Factor::FirstConstant(constant) => Factor::FirstConstant(modulus.neg(constant)),
            // The first factor becomes q minus itself.
            factor => return Term { factor, negative: !term.negative, element: term.element },
        };
        Term { factor, ..term }
    }

    fn inner_product(&mut self, step: &Step, key: u32, rows: &[u16]) {
        let digits: Vec<Location> = step.operands.iter().map(|&place| self.location(place)).collect();
        let mut record = Record::default();
        let upper_bytes = upper_bytes(self.modulus(step.limb));
        record.number(upper_bytes as u64);
        record.number(digits.len() as u64);
        for (digit, &row) in digits.into_iter().zip(rows) {
            record.location(digit);
            for part in [Part::Body, Part::Mask] {
                let location = self.key(KeyLimb { key, row, part, limb: step.limb, upper_bytes });
                record.location(location);
                record.products += 1;
            }
        }
        let half = |index: usize| Half { result: step.results[index], added: None, element: None };
        let halves = [half(0), half(1)];
        let near = u32::from(step.limb.0) << 16 | key;
        self.postpone(Later::Products(Products { limb: step.limb, near, rows: record, halves }));
    }

    fn convert(&mut self, step: &Step, converter: u32, which: Which) {
        let of = &self.steps.converters[converter as usize];
        let weigh = |(source, &place): (usize, &Place)| match which {
            Which::Sum { .. } => self.location(place),
            Which::Centred => self.weighed(place, of.from().moduli()[source], weight(of, source)),
        };
        let sources = step.operands.iter().enumerate().map(weigh).collect();
        self.postpone(Later::Conversion(Conversion { converter, which, sources, results: step.results.clone() }));
    }

    /// Writes `factor` times `place`.
    fn weighed(&mut self, place: Place, modulus: Modulus, factor: u64) -> Location {
        let limb = self.limb_of(modulus);
        let values = self.taken(place, |value| match value {
            Waiting::Inverse(location) => Ok(location),
            other => Err(other),
        });
        let index = self.nodes.registers;
        self.nodes.registers += 1;
        match values {
            Some(location) => self.inverse(index, limb, location, factor, 0),
            None => {
                let factor = Factor::Scaled(self.location(place), factor);
                self.write(index, limb, Waiting::Sum(vec![Term { factor, negative: false, element: None }]));
            }
        }
        Location { space: Space::Register, index }
    }

    fn limb_of(&self, modulus: Modulus) -> LimbId {
        let position = self.program.moduli.iter().position(|&other| other == modulus);
        LimbId(position.unwrap_or(0) as u16)
    }

    fn postpone(&mut self, later: Later) {
        let index = self.later.len();
        match &later {
            Later::Products(products) => {
                self.later_of.extend(products.halves.iter().map(|half| (half.result, index)));
            }
            Later::Conversion(conversion) => {
                self.later_of.extend(conversion.results.iter().map(|&register| (register, index)));
            }
        }
        self.later.push(Some(later));
    }

    /// Absorbs the sum for `register` into the inner product whose only reader it is, if there is one: its result plus at most one more polynomial, all under one
    /// automorphism.
    fn joined(&mut self, register: Register, terms: &[Term]) -> bool {
        let (term, other) = match terms {
            [only] => (only, None),
            [one, two] if one.element == two.element && self.sum_of_product(one).is_some() => (one, Some(two)),
            [one, two] if one.element == two.element => (two, Some(one)),
            _ => return false,
        };
        let Some((result, product)) = self.sum_of_product(term) else { return false };
        let added = match other.map(|term| (term.factor, term.negative)) {
            None => None,
            Some((Factor::Word(location), false)) => Some((location, 1)),
            Some((Factor::Scaled(location, factor), false)) => Some((location, factor)),
            Some(_) => return false,
        };
        if let Some((Location { space: Space::Register, index }, _)) = added
            && let Some(&owner) = self.later_of.get(&index)
        {
            // The addend must be computed before, so it cannot depend on the inner product.
            if owner == product {
                return false;
            }
            self.write_later(owner);
        }
        // Emitting it may have emitted this one.
        let Some(Later::Products(products)) = &mut self.later[product] else { return false };
        for half in products.halves.iter_mut().filter(|half| half.result == result) {
            *half = Half { result: register, added, element: term.element };
        }
        self.later_of.remove(&result);
        self.later_of.insert(register, product);
        true
    }

    /// If `term` is an inner product's plain result without other readers: the result and the index of the inner product.
    fn sum_of_product(&self, term: &Term) -> Option<(Register, usize)> {
        let Factor::Word(Location { space: Space::Register, index }) = term.factor else { return None };
        let &product = self.later_of.get(&index)?;
        let Some(Later::Products(products)) = &self.later[product] else { return None };
        let plain = |half: &Half| half.result == index && half.added.is_none() && half.element.is_none();
        let is_plain = products.halves.iter().any(plain);
        (is_plain && !term.negative && self.uses.get(index as usize) == Some(&1)).then_some((index, product))
    }

    /// Emits a postponed node in its current form.
    fn write_later(&mut self, index: usize) {
        match self.later[index].take() {
            Some(Later::Products(products)) => self.write_products(products),
            Some(Later::Conversion(conversion)) => self.write_conversion(conversion),
            None => {}
        }
    }

    fn write_products(&mut self, Products { limb, near, rows, halves }: Products) {
        let mut record = Record::default();
        record.limb(limb);
        for half in &halves {
            self.later_of.remove(&half.result);
            record.location(Location { space: Space::Register, index: half.result });
            match half.added {
                Some((location, factor)) => {
                    record.location(location);
                    record.number(factor);
                    record.products += 1;
                }
                None => (0..2).for_each(|_| record.number(0)),
            }
            record.number(half.element.map_or(0, |element| element.inverse().value() as u64));
        }
        record.extend(&rows);
        let results = halves.iter().map(|half| half.result).collect();
        self.node(Node { kernel: Kernel::InnerProducts, near, record, results });
    }

    fn write_conversion(&mut self, conversion: Conversion) {
        let Conversion { converter, which, sources, results } = conversion;
        let of = &self.steps.converters[converter as usize];
        let index = match self.tables.get(&(converter, which)) {
            Some(&index) => index,
            None => {
                let start = self.nodes.tables.len() as u32;
                let table = table(of, which, |modulus| u64::from(self.limb_of(modulus).0));
                self.nodes.tables.extend(table);
                self.tables.insert((converter, which), start);
                start
            }
        };
        let mut record = Record { products: products(of), ..Record::default() };
        record.number(sources.len() as u64);
        record.number(results.len() as u64);
        record.number(u64::from(which == Which::Centred));
        record.location(Location { space: Space::Table, index });
        sources.into_iter().for_each(|source| record.location(source));
        for &index in &results {
            self.later_of.remove(&index);
            record.location(Location { space: Space::Register, index });
        }
        self.node(Node { kernel: Kernel::Conversions, near: converter, record, results });
    }

    /// Emits `node` after the postponed nodes that it reads.
    fn node(&mut self, node: Node) {
        let mut read: Vec<usize> = node.reads().filter_map(|register| self.later_of.get(&register).copied()).collect();
        read.dedup();
        read.into_iter().for_each(|later| self.write_later(later));
        self.nodes.nodes.push(node);
    }

    fn begin(limb: LimbId, result: Register) -> Record {
        let mut record = Record::default();
        record.limb(limb);
        record.location(Location { space: Space::Register, index: result });
        record
    }

    fn push(&mut self, kernel: Kernel, limb: LimbId, result: Register, record: Record) {
        self.node(Node { kernel, near: u32::from(limb.0), record, results: vec![result] });
    }

    fn write(&mut self, register: Register, limb: LimbId, value: Waiting) {
        match value {
            Waiting::Sum(terms) => {
                if self.joined(register, &terms) {
                    return;
                }
                let mut record = Self::begin(limb, register);
                record.number(terms.len() as u64);
                terms.into_iter().for_each(|term| term.record(&mut record));
                self.push(Kernel::Sums, limb, register, record);
            }
            Waiting::Loaded(load) => {
                let mut record = Self::begin(limb, register);
                load.record(&mut record, self.modulus(limb));
                self.push(Kernel::Loads, limb, register, record);
            }
            Waiting::Forward(load) => self.forward(register, limb, load, None),
            Waiting::Inverse(location) => self.inverse(register, limb, location, 1, 0),
        }
    }

    /// A forward transform; with `from` = (a, w), computes (a − values) · w.
    fn forward(&mut self, register: Register, limb: LimbId, load: Load, from: Option<(Location, u64)>) {
        let modulus = self.modulus(limb);
        let mut record = Self::begin(limb, register);
        match from {
            Some((location, factor)) => {
                record.location(location);
                record.number(factor);
                record.number(quotient(factor, modulus));
                record.products += 1;
            }
            None => (0..3).for_each(|_| record.number(0)),
        }
        load.record(&mut record, modulus);
        self.push(Kernel::Forward, limb, register, record);
    }

    /// An inverse transform: `factor` times the coefficients, plus `addend`.
    fn inverse(&mut self, register: Register, limb: LimbId, source: Location, factor: u64, addend: u64) {
        let modulus = self.modulus(limb);
        let factor = modulus.multiply(factor, self.inverse_degrees[limb.index()]);
        let mut record = Self::begin(limb, register);
        record.location(source);
        record.number(factor);
        record.number(quotient(factor, modulus));
        record.number(addend);
        record.products += 1;
        self.push(Kernel::Inverse, limb, register, record);
    }
}
