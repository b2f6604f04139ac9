//! Steps on single limbs as what kernels do in one go.
//!
//! A value that is read once is not written where its reader can make it on the way: what a transform loads, sums and products of sums,
//! the weighing of a residue that comes out of a transform, the subtraction that ends a division. Such a value waits until its reader asks.

use crate::rns::steps::{Place, PlaintextLimb, Register, Step, Steps, Work};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{DigitWindow, KernelProgram};
use polyfabric_schemes::rns::{Domain, LimbId, Part};
use std::collections::HashMap;

/// Which memory a number of a [`Record`] is an index of; [`Space::Number`] for a number as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Number,
    /// What nodes define: a register here, a slot after planning.
    Register,
    Input,
    Plaintext,
    Key,
}

/// N words on the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub space: Space,
    pub index: u32,
}

/// One limb of one polynomial of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeyLimb {
    /// Index into [`Steps::keys`].
    pub key: u32,
    pub row: u16,
    pub part: Part,
    pub limb: LimbId,
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kernel {
    Inverse,
    Forward,
    InnerProducts,
    Sums,
    Loads,
    CentredConversions,
}

impl Kernel {
    pub(super) const ALL: [Self; 6] =
        [Self::Inverse, Self::Forward, Self::InnerProducts, Self::Sums, Self::Loads, Self::CentredConversions];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Inverse => "inverse",
            Self::Forward => "forward",
            Self::InnerProducts => "inner_products",
            Self::Sums => "sums",
            Self::Loads => "loads",
            Self::CentredConversions => "centred_conversions",
        }
    }
}

/// What a kernel is told: words, and what each is.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub words: Vec<u64>,
    pub spaces: Vec<Space>,
    /// Products of two words for each word of a limb, butterflies apart.
    pub products: usize,
}

impl Record {
    fn number(&mut self, word: u64) {
        self.words.push(word);
        self.spaces.push(Space::Number);
    }

    fn location(&mut self, location: Location) {
        self.words.push(u64::from(location.index));
        self.spaces.push(location.space);
    }

    fn limb(&mut self, limb: LimbId) {
        self.number(u64::from(limb.0));
    }
}

/// What one block, or several, compute.
#[derive(Debug)]
pub(super) struct Node {
    pub kernel: Kernel,
    /// Nodes of one number find the same constants or the same key in the cache.
    pub near: u32,
    pub record: Record,
    pub results: Vec<Register>,
}

impl Node {
    /// The registers that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = Register> {
        let registers =
            self.record.words.iter().zip(&self.record.spaces).filter(|(_, space)| **space == Space::Register);
        registers.map(|(&word, _)| word as Register).filter(|register| !self.results.contains(register))
    }
}

/// A program as nodes, in an order in which they can run.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub nodes: Vec<Node>,
    pub registers: u32,
    /// The limbs of inputs that are read: which input's.
    pub inputs: Vec<(u32, LimbId)>,
    pub plaintexts: Vec<PlaintextLimb>,
    pub keys: Vec<KeyLimb>,
    /// For each output its limbs.
    pub outputs: Vec<Vec<Register>>,
    /// Most residues of a centred conversion.
    pub most_sources: usize,
}

/// One summand: kinds as in `kernels/words.cu`.
#[derive(Clone, Copy, Debug)]
struct Term {
    factor: Factor,
    negative: bool,
    /// What the first factor goes through.
    element: Option<GaloisElement>,
}

#[derive(Clone, Copy, Debug)]
enum Factor {
    Word(Location),
    Product(Location, Location),
    Scaled(Location, u64),
    Constant(u64),
    /// At the first word alone.
    FirstConstant(u64),
}

/// How coefficients come out of other polynomials: as in `kernels/residues.h`.
#[derive(Clone, Debug)]
enum Load {
    Words(Location),
    Combined { constant: u64, sources: Vec<(Location, u64)> },
    Reduced { source: Location, from: Modulus, centred: bool },
    Digit { source: Location, window: DigitWindow },
    Substituted { source: Location, element: GaloisElement },
}

/// A value that is yet to be written.
#[derive(Debug)]
enum Waiting {
    Sum(Vec<Term>),
    Loaded(Load),
    Forward(Load),
    Inverse(Location),
}

/// Most terms of a sum: what they read has to be kept until then.
const MOST_TERMS: usize = 24;

struct Fusion<'a> {
    program: &'a KernelProgram,
    steps: &'a Steps,
    nodes: Nodes,
    uses: Vec<u32>,
    waiting: HashMap<Register, (LimbId, Waiting)>,
    /// Registers that are somewhere else.
    elsewhere: HashMap<Register, Location>,
    inputs: HashMap<(u32, LimbId), u32>,
    keys: HashMap<KeyLimb, u32>,
    /// 1/N modulo each limb.
    inverse_degrees: Vec<u64>,
}

/// ⌊w · 2^64/q⌋.
pub(super) fn quotient(factor: u64, modulus: Modulus) -> u64 {
    ((u128::from(factor) << 64) / u128::from(modulus.value())) as u64
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
        // Outputs are written whatever else reads them.
        steps.outputs.iter().flatten().for_each(|&register| uses[register as usize] = u32::MAX);
        let degree = program.degree.get() as u64;
        let inverse = |modulus: &Modulus| modulus.inverse(modulus.reduce(degree)).unwrap_or(0);
        let mut fusion = Fusion {
            program,
            steps,
            nodes: Self { registers: steps.registers, plaintexts: steps.plaintexts.clone(), ..Self::default() },
            uses,
            waiting: HashMap::new(),
            elsewhere: HashMap::new(),
            inputs: HashMap::new(),
            keys: HashMap::new(),
            inverse_degrees: program.moduli.iter().map(inverse).collect(),
        };
        steps.steps.iter().for_each(|step| fusion.step(step));
        fusion.nodes.outputs = steps.outputs.clone();
        fusion.nodes
    }

    /// Words of all records.
    pub(super) fn words(&self) -> usize {
        self.nodes.iter().map(|node| node.record.words.len()).sum()
    }

    /// The same of `batch` sets of `inputs` polynomials each, with the same keys and public polynomials. Each node stands beside its likes, which run together.
    pub(super) fn batched(self, batch: u32, inputs: u32) -> Self {
        let (registers, input_limbs) = (self.registers, self.inputs.len() as u64);
        let node = |node: &Node, of: u32| {
            let mut record = Record { spaces: node.record.spaces.clone(), ..Record::default() };
            record.products = node.record.products;
            let words = node.record.words.iter().zip(&node.record.spaces);
            record.words.extend(words.map(|(&word, space)| match space {
                Space::Register => word + u64::from(of * registers),
                Space::Input => word + u64::from(of) * input_limbs,
                Space::Number | Space::Plaintext | Space::Key => word,
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

    /// Where the words of `place` are, written now if they are not.
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

    /// What waits at `place`, if `wanted` takes it.
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

    /// `place` as terms of a sum, at most `most` of them.
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
        // One factor may go through an automorphism.
        let ((first, element), (second, other)) = if a.1.is_some() { (a, b) } else { (b, a) };
        let second = match other {
            Some(other) => self.written(step.limb, second, other),
            None => second,
        };
        Term { factor: Factor::Product(first, second), negative: false, element }
    }

    /// `source` through `element`, in memory of its own.
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

    /// What waits, or is written if several read it.
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
        let value = match &step.work {
            Work::Copy => Waiting::Sum(self.terms(operands[0], MOST_TERMS)),
            Work::Add => {
                let mut terms = self.terms(operands[0], MOST_TERMS - 1);
                terms.extend(self.terms(operands[1], MOST_TERMS - terms.len()));
                Waiting::Sum(terms)
            }
            Work::Sub => {
                let mut terms = self.terms(operands[0], MOST_TERMS - 1);
                let subtracted = self.terms(operands[1], MOST_TERMS - terms.len());
                terms.extend(subtracted.into_iter().map(|term| self.negated(term, limb)));
                Waiting::Sum(terms)
            }
            Work::Negate => {
                let terms = self.terms(operands[0], MOST_TERMS);
                Waiting::Sum(terms.into_iter().map(|term| self.negated(term, limb)).collect())
            }
            Work::Multiply => Waiting::Sum(vec![self.product(step)]),
            Work::MultiplyAdd => {
                let mut terms = vec![self.product(step)];
                terms.extend(self.terms(operands[2], MOST_TERMS - 1));
                Waiting::Sum(terms)
            }
            Work::Scale(factor) => {
                let (location, element) = self.factor(operands[0]);
                Waiting::Sum(vec![Term { factor: Factor::Scaled(location, *factor), negative: false, element }])
            }
            Work::AddConstant(addend, domain) => {
                let factor = match domain {
                    Domain::Evaluation => Factor::Constant(*addend),
                    Domain::Coefficient => Factor::FirstConstant(*addend),
                };
                let mut terms = self.terms(operands[0], MOST_TERMS - 1);
                terms.push(Term { factor, negative: false, element: None });
                Waiting::Sum(terms)
            }
            Work::Forward => Waiting::Forward(self.load(operands[0])),
            Work::Inverse => Waiting::Inverse(self.location(operands[0])),
            Work::Permute(index) => {
                let element = self.steps.permutations[*index as usize].element();
                // A sum of a few words goes through it word by word.
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
            Work::Substitute(element) => {
                Waiting::Loaded(Load::Substituted { source: self.location(operands[0]), element: *element })
            }
            Work::SubScale(factor) => {
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
            Work::Reduce { from, centred } => {
                let source = self.location(operands[0]);
                Waiting::Loaded(Load::Reduced { source, from: *from, centred: *centred })
            }
            Work::SubDigit(window) => {
                Waiting::Loaded(Load::Digit { source: self.location(operands[0]), window: *window })
            }
            Work::Key { key, row, part } => {
                let location = self.key(KeyLimb { key: *key, row: *row, part: *part, limb });
                let word = Term { factor: Factor::Word(location), negative: false, element: None };
                if self.uses[step.results[0] as usize] != u32::MAX {
                    self.elsewhere.insert(step.results[0], location);
                    return;
                }
                Waiting::Sum(vec![word])
            }
            Work::InnerProduct { key, rows } => {
                self.inner_product(step, *key, rows);
                return;
            }
            Work::Weigh { converter, source, balanced } => {
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
            Work::Combine { converter, target, balanced } => {
                let (factors, shift) = self.steps.converters[*converter as usize].combination(*target as usize);
                let sources = operands.iter().map(|&place| self.location(place)).zip(factors.iter().copied());
                let (sources, constant) = (sources.collect(), if *balanced { shift } else { 0 });
                Waiting::Loaded(Load::Combined { constant, sources })
            }
            Work::Convert { converter, .. } => {
                self.convert(step, *converter as usize);
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
            // The first factor is subtracted from q.
            factor => return Term { factor, negative: !term.negative, element: term.element },
        };
        Term { factor, ..term }
    }

    fn inner_product(&mut self, step: &Step, key: u32, rows: &[u16]) {
        let digits: Vec<Location> = step.operands.iter().map(|&place| self.location(place)).collect();
        let mut record = Record::default();
        record.limb(step.limb);
        step.results.iter().for_each(|&index| record.location(Location { space: Space::Register, index }));
        record.number(digits.len() as u64);
        for (digit, &row) in digits.into_iter().zip(rows) {
            record.location(digit);
            for part in [Part::Body, Part::Mask] {
                let location = self.key(KeyLimb { key, row, part, limb: step.limb });
                record.location(location);
                record.products += 1;
            }
        }
        let near = key << 8 | u32::from(step.limb.0);
        self.nodes.nodes.push(Node { kernel: Kernel::InnerProducts, near, record, results: step.results.clone() });
    }

    /// The mixed radix of a centred conversion: see `kernels/words.cu`.
    fn convert(&mut self, step: &Step, converter: usize) {
        let sources: Vec<Location> = step.operands.iter().map(|&place| self.location(place)).collect();
        let converter = &self.steps.converters[converter];
        let (from, to, t) = (converter.from().moduli(), converter.to().moduli(), converter.multiple());
        let limb_of = |modulus: Modulus| {
            let position = self.program.moduli.iter().position(|&other| other == modulus);
            LimbId(position.unwrap_or(0) as u16)
        };
        let inverse = |modulus: Modulus, number: u64| modulus.inverse(modulus.reduce(number)).unwrap_or(0);
        // t · b_0 · b_1 ⋯ b_(count − 1).
        let product = |modulus: Modulus, t: u64, count: usize| {
            let factors = from[..count].iter();
            factors.fold(modulus.reduce(t), |product, q| modulus.multiply(product, modulus.reduce(q.value())))
        };
        let mut record = Record::default();
        record.number(from.len() as u64);
        record.number(to.len() as u64);
        for (index, (&q, source)) in from.iter().zip(sources).enumerate() {
            record.location(source);
            record.limb(limb_of(q));
            record.number(inverse(q, t));
            record.number(inverse(q, product(q, 1, index)));
            record.number((q.value() - 1) / 2);
            (0..index).for_each(|earlier| record.number(product(q, 1, earlier)));
            record.products += 2 + index;
        }
        for (&p, &index) in to.iter().zip(&step.results) {
            record.location(Location { space: Space::Register, index });
            record.limb(limb_of(p));
            record.number(p.neg(product(p, t, from.len())));
            (0..from.len()).for_each(|earlier| record.number(product(p, t, earlier)));
            record.products += from.len();
        }
        self.nodes.most_sources = self.nodes.most_sources.max(from.len());
        let kernel = Kernel::CentredConversions;
        self.nodes.nodes.push(Node { kernel, near: 0, record, results: step.results.clone() });
    }

    fn begin(limb: LimbId, result: Register) -> Record {
        let mut record = Record::default();
        record.limb(limb);
        record.location(Location { space: Space::Register, index: result });
        record
    }

    fn push(&mut self, kernel: Kernel, limb: LimbId, result: Register, record: Record) {
        self.nodes.nodes.push(Node { kernel, near: u32::from(limb.0), record, results: vec![result] });
    }

    fn write(&mut self, register: Register, limb: LimbId, value: Waiting) {
        match value {
            Waiting::Sum(terms) => {
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

    /// A transform to values; with `from` a and w, (a − values) · w.
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

    /// `factor` times the coefficients, plus `addend`.
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

impl Term {
    /// Whether it is a polynomial's words, plain.
    fn is_word(&self) -> bool {
        matches!(self.factor, Factor::Word(_) | Factor::Scaled(..)) && self.element.is_none()
    }

    fn through(self, element: GaloisElement) -> Self {
        Self { element: Some(element), ..self }
    }

    fn record(self, record: &mut Record) {
        let kind = match self.factor {
            Factor::Word(a) => {
                record.location(a);
                record.number(0);
                0
            }
            Factor::Product(a, b) => {
                record.location(a);
                record.location(b);
                record.products += 1;
                1
            }
            Factor::Scaled(a, constant) => {
                record.location(a);
                record.number(constant);
                record.products += 1;
                2
            }
            Factor::Constant(constant) => {
                record.number(0);
                record.number(constant);
                3
            }
            Factor::FirstConstant(constant) => {
                record.number(0);
                record.number(constant);
                4
            }
        };
        let element = self.element.map_or(0, |element| element.value() as u64);
        record.number(kind | u64::from(self.negative) << 4 | element << 8);
    }
}

impl Load {
    /// For coefficients modulo `modulus`.
    fn record(self, record: &mut Record, modulus: Modulus) {
        match self {
            Self::Words(location) => {
                record.number(0);
                record.location(location);
            }
            Self::Combined { constant, sources } => {
                record.number(1);
                record.number(sources.len() as u64);
                record.number(constant);
                record.products += sources.len();
                for (location, factor) in sources {
                    record.location(location);
                    record.number(factor);
                }
            }
            Self::Reduced { source, from, centred } => {
                record.number(2);
                record.location(source);
                record.number(if centred { from.value().div_ceil(2) } else { u64::MAX });
                record.number(modulus.reduce(from.value()));
            }
            Self::Digit { source, window: DigitWindow { bits, index, count } } => {
                let half = 1u64 << (bits - 1);
                let last = index == count - 1;
                record.number(3);
                record.location(source);
                record.number((0..count - 1).map(|digit| half << (digit * bits)).sum());
                record.number(u64::from(index * bits));
                record.number(if last { u64::MAX } else { (half << 1) - 1 });
                record.number(if last { 0 } else { modulus.reduce(half) });
            }
            Self::Substituted { source, element } => {
                record.number(4);
                record.location(source);
                record.number(element.inverse().value() as u64);
            }
        }
    }
}
