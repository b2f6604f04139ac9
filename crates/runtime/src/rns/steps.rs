//! Translates a kernel program to steps on single limbs, for the CPU and for a card.
//!
//! A step defines one or several limbs of N words, in SSA form. Selecting and joining limbs is free: a value is a list of places. Composite operations become steps with more
//! sharing than in their bodies, but with the same words.

use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{Conversion, DigitWindow, KernelProgram, LimbSet, Op, OpKind, ValueId};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, Part, Ring};
use std::collections::HashMap;
use std::sync::Arc;

/// A limb defined by a step.
pub(crate) type Register = u32;

/// Location of N words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Defined by a step.
    Register(Register),
    /// A limb of an input: the input's index, and the limb.
    Input(u32, LimbId),
    /// A prepared limb of a public polynomial.
    Plaintext(u32),
}

/// The operation of a step. All except [`Self::Convert`] and [`Self::InnerProduct`] define one limb.
#[derive(Clone, Debug)]
pub(crate) enum StepKind {
    Copy,
    Add,
    Sub,
    Negate,
    Multiply,
    /// a·b + c.
    MultiplyAdd,
    Scale(u64),
    /// Added to all words, or to the first only.
    AddConstant(u64, Domain),
    Forward,
    Inverse,
    /// An automorphism of values: an index into [`Steps::permutations`].
    Permute(u32),
    /// An automorphism of coefficients.
    Substitute(GaloisElement),
    /// (a − b)·w.
    SubScale(u64),
    /// From the limb of another modulus: from [0, q), or from [−q/2, q/2).
    Reduce {
        from: Modulus,
        centred: bool,
    },
    /// A digit of a limb of any modulus.
    SubDigit(DigitWindow),
    /// One polynomial of a key: an index into [`Steps::keys`].
    Key {
        key: u32,
        row: u16,
        part: Part,
    },
    /// Two limbs: the inner products of digits with both halves of the key's rows.
    InnerProduct {
        key: u32,
        rows: Arc<[u16]>,
    },
    /// A source limb weighted for [`Self::Combine`].
    Weigh {
        converter: u32,
        source: u32,
        balanced: bool,
    },
    /// One limb from several weighted limbs of other moduli.
    Combine {
        converter: u32,
        target: u32,
        balanced: bool,
    },
    /// Several limbs from several: an index into [`Steps::converters`].
    Convert {
        converter: u32,
        conversion: Conversion,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub kind: StepKind,
    /// The limb of its results, which determines its task. Each [`StepKind::Convert`] is a separate task.
    pub limb: LimbId,
    pub operands: Vec<Place>,
    pub results: Vec<Register>,
}

/// A limb of a public polynomial, prepared once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlaintextLimb {
    pub plaintext: u32,
    pub limb: LimbId,
    pub domain: Domain,
}

/// One limb of a public polynomial.
pub(crate) fn plaintext(program: &KernelProgram, ring: &Ring, key: PlaintextLimb) -> AlignedTorus<u64> {
    let (polynomial, limb) = (&program.plaintexts[key.plaintext as usize], ring.limb(key.limb));
    let mut words =
        AlignedTorus::made(program.degree.get(), |start, piece| polynomial.residues_from(limb, start, piece));
    if key.domain == Domain::Evaluation {
        ring.ntt(key.limb).forward(&mut words);
    }
    words
}

/// For each limb of a public polynomial the largest k for which it is a polynomial in X^(2^k); 0 if its coefficients are needed.
pub(crate) fn log2_apart(program: &KernelProgram, limbs: &[PlaintextLimb]) -> Vec<u32> {
    let mut known = vec![None; program.plaintexts.len()];
    let apart = |limb: &PlaintextLimb| match limb.domain {
        Domain::Evaluation => {
            let plaintext = limb.plaintext as usize;
            *known[plaintext].get_or_insert_with(|| program.plaintexts[plaintext].log2_apart())
        }
        Domain::Coefficient => 0,
    };
    limbs.iter().map(apart).collect()
}

/// Writes [`plaintext`] of a polynomial in X^(2^`log2_apart`) to `words`, each value once.
pub(crate) fn write_plaintext(
    program: &KernelProgram,
    ring: &Ring,
    key: PlaintextLimb,
    log2_apart: u32,
    words: &mut [u64],
) {
    program.plaintexts[key.plaintext as usize].residues_apart(ring.limb(key.limb), log2_apart, words);
    if key.domain == Domain::Evaluation {
        ring.ntt_of_power(key.limb, log2_apart).forward(words);
    }
}

/// The steps of a program, in its order.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub steps: Vec<Step>,
    pub registers: u32,
    pub permutations: Vec<ValuePermutation>,
    pub converters: Vec<BaseConverter>,
    pub keys: Vec<KeyId>,
    pub plaintexts: Vec<PlaintextLimb>,
    /// The limbs of each output; all are distinct registers.
    pub outputs: Vec<Vec<Register>>,
}

/// Key of [`Translator::converters`]: source, target, t or 1.
type ConverterKey = (LimbSet, LimbSet, u64);

struct Translator<'a> {
    program: &'a KernelProgram,
    combine_bytes: usize,
    steps: Steps,
    /// The limbs of each value.
    values: Vec<Vec<Place>>,
    permutations: HashMap<usize, u32>,
    converters: HashMap<ConverterKey, u32>,
    keys: HashMap<KeyId, u32>,
    plaintexts: HashMap<PlaintextLimb, u32>,
    /// Inverse transforms made so far: several digits may use the same limb.
    inverses: HashMap<Place, Place>,
}

impl Steps {
    /// Translates a checked program. Base conversions whose source has more than `combine_bytes` bytes proceed column by column.
    pub(crate) fn new(program: &KernelProgram, combine_bytes: usize) -> Self {
        let mut translator = Translator {
            program,
            combine_bytes,
            steps: Self::default(),
            values: Vec::with_capacity(program.values.len()),
            permutations: HashMap::new(),
            converters: HashMap::new(),
            keys: HashMap::new(),
            plaintexts: HashMap::new(),
            inverses: HashMap::new(),
        };
        let mut inputs = 0;
        for op in &program.ops {
            if let OpKind::Input { value, .. } = &op.kind {
                translator.values.push(value.limbs.iter().map(|limb| Place::Input(inputs, limb)).collect());
                inputs += 1;
            } else {
                translator.op(op);
            }
        }
        translator.outputs();
        translator.steps
    }
}

/// The index of `key` in a list that grows with new keys.
fn number<K: std::hash::Hash + Eq, V>(
    known: &mut HashMap<K, u32>,
    list: &mut Vec<V>,
    key: K,
    make: impl FnOnce(&K) -> V,
) -> u32 {
    if let Some(&number) = known.get(&key) {
        return number;
    }
    let number = list.len() as u32;
    list.push(make(&key));
    known.insert(key, number);
    number
}

impl Translator<'_> {
    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    fn limbs(&self, value: ValueId) -> &LimbSet {
        &self.program.value(value).limbs
    }

    /// The place of a value's limb, which must exist.
    fn place(&self, value: ValueId, limb: LimbId) -> Place {
        let position = self.limbs(value).position(limb).unwrap_or(0);
        self.values[value.index()][position]
    }

    fn registers(&mut self, count: usize) -> Vec<Register> {
        let first = self.steps.registers;
        self.steps.registers += count as u32;
        (first..self.steps.registers).collect()
    }

    fn step(&mut self, kind: StepKind, limb: LimbId, operands: Vec<Place>) -> Place {
        let results = self.registers(1);
        let place = Place::Register(results[0]);
        self.steps.steps.push(Step { kind, limb, operands, results });
        place
    }

    /// A value whose limbs are each defined by one step on the same limbs of the operands.
    fn each_limb(&mut self, op: &Op, kind: impl Fn(usize, LimbId) -> StepKind) {
        let limbs = self.limbs(op.results[0]).clone();
        let step = |(position, limb)| {
            let operands = op.operands.iter().map(|&operand| self.place(operand, limb)).collect();
            self.step(kind(position, limb), limb, operands)
        };
        let places = limbs.iter().enumerate().map(step).collect();
        self.values.push(places);
    }

    fn inverse(&mut self, place: Place, limb: LimbId) -> Place {
        if let Some(&known) = self.inverses.get(&place) {
            return known;
        }
        let result = self.step(StepKind::Inverse, limb, vec![place]);
        self.inverses.insert(place, result);
        result
    }

    /// Coefficients modulo `to` from coefficients modulo `from`.
    fn convert(
        &mut self,
        from: &LimbSet,
        sources: Vec<Place>,
        to: &LimbSet,
        conversion: Conversion,
        t: u64,
    ) -> Vec<Place> {
        if let (&[limb], &[source], 1) = (from.as_slice(), &sources[..], t) {
            let kind = StepKind::Reduce { from: self.modulus(limb), centred: conversion != Conversion::Approximate };
            return to.iter().map(|limb| self.step(kind.clone(), limb, vec![source])).collect();
        }
        let program = self.program;
        let make = |(from, to, t): &ConverterKey| {
            // The table's moduli are distinct primes, because the ring has a transform for each.
            let basis = |limbs: &LimbSet| RnsBasis::new(limbs.iter().map(|limb| program.modulus(limb)).collect());
            match (basis(from), basis(to)) {
                (Ok(from), Ok(to)) => BaseConverter::multiples_of(*t, from, to),
                _ => unreachable!("distinct primes are a basis"),
            }
        };
        let key = (from.clone(), to.clone(), t);
        let converter = number(&mut self.converters, &mut self.steps.converters, key, make);
        let bytes = sources.len() * self.program.degree.get() * size_of::<u64>();
        if conversion != Conversion::Centred && bytes <= self.combine_bytes {
            let balanced = conversion == Conversion::Balanced;
            let weigh = |((source, limb), place): ((usize, LimbId), &Place)| {
                self.step(StepKind::Weigh { converter, source: source as u32, balanced }, limb, vec![*place])
            };
            let weighed: Vec<Place> = from.iter().enumerate().zip(&sources).map(weigh).collect();
            let combine = |(target, limb)| {
                self.step(StepKind::Combine { converter, target: target as u32, balanced }, limb, weighed.clone())
            };
            return to.iter().enumerate().map(combine).collect();
        }
        let results = self.registers(to.len());
        let places = results.iter().map(|&register| Place::Register(register)).collect();
        let kind = StepKind::Convert { converter, conversion };
        self.steps.steps.push(Step { kind, limb: LimbId(u16::MAX), operands: sources, results });
        places
    }

    fn op(&mut self, op: &Op) {
        match &op.kind {
            OpKind::Input { .. } => {}
            OpKind::Plaintext { plaintext, value } => {
                let places = value.limbs.iter().map(|limb| {
                    let key = PlaintextLimb { plaintext: *plaintext, limb, domain: value.domain };
                    Place::Plaintext(number(&mut self.plaintexts, &mut self.steps.plaintexts, key, |&key| key))
                });
                let places = places.collect();
                self.values.push(places);
            }
            OpKind::Key { key, row, part, .. } => {
                let key = number(&mut self.keys, &mut self.steps.keys, *key, |&key| key);
                self.each_limb(op, |_, _| StepKind::Key { key, row: *row, part: *part });
            }
            OpKind::Add => self.each_limb(op, |_, _| StepKind::Add),
            OpKind::Sub => self.each_limb(op, |_, _| StepKind::Sub),
            OpKind::Negate => self.each_limb(op, |_, _| StepKind::Negate),
            OpKind::Multiply => self.each_limb(op, |_, _| StepKind::Multiply),
            OpKind::MultiplyAdd => self.each_limb(op, |_, _| StepKind::MultiplyAdd),
            OpKind::Scale { factors } => self.each_limb(op, |position, _| StepKind::Scale(factors[position])),
            OpKind::AddConstant { addends } => {
                let domain = self.program.value(op.results[0]).domain;
                self.each_limb(op, |position, _| StepKind::AddConstant(addends[position], domain));
            }
            OpKind::ForwardNtt => self.each_limb(op, |_, _| StepKind::Forward),
            OpKind::InverseNtt => {
                let limbs = self.limbs(op.results[0]).clone();
                let places = limbs.iter().map(|limb| self.inverse(self.place(op.operands[0], limb), limb)).collect();
                self.values.push(places);
            }
            OpKind::Automorphism { element } => match self.program.value(op.results[0]).domain {
                Domain::Coefficient => self.each_limb(op, |_, _| StepKind::Substitute(*element)),
                Domain::Evaluation => {
                    let make = |_: &usize| ValuePermutation::new(*element);
                    let permutation =
                        number(&mut self.permutations, &mut self.steps.permutations, element.value(), make);
                    self.each_limb(op, |_, _| StepKind::Permute(permutation));
                }
            },
            OpKind::SelectLimbs { limbs } => {
                let places = limbs.iter().map(|limb| self.place(op.operands[0], limb)).collect();
                self.values.push(places);
            }
            OpKind::Concat => {
                let limbs = self.limbs(op.results[0]).clone();
                let find = |limb| {
                    let holds = |&&operand: &&ValueId| self.limbs(operand).contains(limb);
                    op.operands.iter().find(holds).map(|&operand| self.place(operand, limb))
                };
                let places = limbs.iter().filter_map(find).collect();
                self.values.push(places);
            }
            OpKind::BaseConversion { to, conversion } => {
                let from = self.limbs(op.operands[0]).clone();
                let places = self.convert(&from, self.values[op.operands[0].index()].clone(), to, *conversion, 1);
                self.values.push(places);
            }
            OpKind::SubDigit { window, to } => {
                let source = self.values[op.operands[0].index()][0];
                let places = to.iter().map(|limb| self.step(StepKind::SubDigit(*window), limb, vec![source])).collect();
                self.values.push(places);
            }
            OpKind::ModUp { digit, window, to, conversion } => {
                let places = self.mod_up(op.operands[0], digit, *window, to, *conversion);
                self.values.push(places);
            }
            OpKind::InnerProduct { key, rows } => self.inner_product(op, *key, rows),
            OpKind::ModDown { drop, conversion, plaintext_modulus } => {
                let places = self.mod_down(op.operands[0], drop, *conversion, *plaintext_modulus);
                self.values.push(places);
            }
        }
    }

    fn mod_up(
        &mut self,
        a: ValueId,
        digit: &LimbSet,
        window: Option<DigitWindow>,
        to: &LimbSet,
        conversion: Conversion,
    ) -> Vec<Place> {
        let given = self.program.value(a).domain;
        let own: Vec<Place> = digit.iter().map(|limb| self.place(a, limb)).collect();
        let coefficients: Vec<Place> = match given {
            Domain::Coefficient => own.clone(),
            Domain::Evaluation => digit.iter().zip(&own).map(|(limb, &place)| self.inverse(place, limb)).collect(),
        };
        let rest = if window.is_some() { to.clone() } else { to.difference(digit) };
        let raised = match window {
            Some(window) => {
                let cut = |limb| self.step(StepKind::SubDigit(window), limb, vec![coefficients[0]]);
                rest.iter().map(cut).collect()
            }
            None if rest.is_empty() => Vec::new(),
            None => self.convert(digit, coefficients, &rest, conversion, 1),
        };
        let raised: Vec<Place> =
            rest.iter().zip(raised).map(|(limb, place)| self.step(StepKind::Forward, limb, vec![place])).collect();
        let place = |limb: LimbId| match (rest.position(limb), digit.position(limb)) {
            (Some(position), _) => raised[position],
            (None, position) => match given {
                Domain::Evaluation => own[position.unwrap_or(0)],
                Domain::Coefficient => self.step(StepKind::Forward, limb, vec![own[position.unwrap_or(0)]]),
            },
        };
        to.iter().map(place).collect()
    }

    fn inner_product(&mut self, op: &Op, key: KeyId, rows: &Arc<[u16]>) {
        let key = number(&mut self.keys, &mut self.steps.keys, key, |&key| key);
        let limbs = self.limbs(op.results[0]).clone();
        let (mut bodies, mut masks) = (Vec::new(), Vec::new());
        for limb in limbs.iter() {
            let operands = op.operands.iter().map(|&operand| self.place(operand, limb)).collect();
            let results = self.registers(2);
            bodies.push(Place::Register(results[0]));
            masks.push(Place::Register(results[1]));
            let kind = StepKind::InnerProduct { key, rows: Arc::clone(rows) };
            self.steps.steps.push(Step { kind, limb, operands, results });
        }
        self.values.extend([bodies, masks]);
    }

    fn mod_down(&mut self, a: ValueId, drop: &LimbSet, conversion: Conversion, t: Option<u64>) -> Vec<Place> {
        let rest = self.limbs(a).difference(drop);
        let dropped = drop.iter().map(|limb| self.inverse(self.place(a, limb), limb)).collect();
        let remainder = self.convert(drop, dropped, &rest, conversion, t.unwrap_or(1));
        let divide = |(limb, remainder)| {
            let modulus = self.modulus(limb);
            let values = drop.iter().map(|limb| self.modulus(limb).value());
            let product = values.fold(1, |product, value| modulus.multiply(product, modulus.reduce(value)));
            // Another prime is coprime to this one.
            let inverse = modulus.inverse(product).unwrap_or(0);
            let remainder = self.step(StepKind::Forward, limb, vec![remainder]);
            self.step(StepKind::SubScale(inverse), limb, vec![self.place(a, limb), remainder])
        };
        rest.iter().zip(remainder).map(divide).collect()
    }

    fn outputs(&mut self) {
        let mut taken = std::collections::HashSet::new();
        for output in &self.program.outputs {
            let mut registers = Vec::new();
            let limbs = self.limbs(output.value).clone();
            for (limb, place) in limbs.iter().zip(self.values[output.value.index()].clone()) {
                let place = match place {
                    Place::Register(register) if !taken.contains(&register) => place,
                    _ => self.step(StepKind::Copy, limb, vec![place]),
                };
                if let Place::Register(register) = place {
                    taken.insert(register);
                    registers.push(register);
                }
            }
            self.steps.outputs.push(registers);
        }
    }
}
