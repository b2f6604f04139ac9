//! The audit of RNS programs.
//!
//! Program and schedule are both evaluated at one place of every vector. Sums, products, constants and conversions between moduli act on
//! each place alike, so they are exact there. Transforms and automorphisms mix places. They are treated as unknown functions: the result is
//! a hash of the function and of its operand's value. The program, evaluated operation by operation, gives a residue for every limb of
//! every value. The schedule, evaluated event by event, gives a residue for every vector. Two values that are computed differently agree
//! only by chance, with probability 1/q for modulus q. The order in which a machine adds the terms of a conversion does not matter. Neither
//! does the order of butterflies between the vectors of a polynomial.
//!
//! If a machine's units execute composite operations as a whole, its events have several vectors ([`Step`]). The audit then checks the
//! results of such an operation, but no values within its body.

mod expected;

use super::AuditError;
use crate::rns::function::Function;
use crate::rns::labels::Labels;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use crate::rns::step::{Step, Sum};
use crate::rns::subpolynomials::Subpolynomials;
use expected::{Expected, converted};
use polyfabric_kernels::cancel;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{KernelProgram, LimbSet};
use polyfabric_schemes::rns::{LimbId, Part};
use polyfabric_sim::function::Function as Allowed;
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{Access, Event, MemoryKind, OpKind, Resources, Traffic, Value};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::{ControlFlow, Range};

/// A vector's residue at the evaluated place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Residue {
    word: u64,
    limb: u16,
    /// Whether the vector's words are only congruent to the residue.
    unreduced: bool,
}

impl Residue {
    fn new(word: u64, limb: u16) -> Self {
        Self { word, limb, unreduced: false }
    }

    /// Whether the vector has residues modulo a limb.
    fn is_of(self, limb: u16) -> bool {
        self.limb == limb && !self.unreduced
    }

    /// Whether a unit accepts such a vector. A word that is not reduced modulo its limb has no meaning modulo another limb.
    fn suits(self, function: Function) -> bool {
        let limb = function.limb();
        self.is_of(limb) || function.takes_any_word() && (self.limb == limb || !self.unreduced)
    }

    /// The result of a unit for this operand. It may be unreduced, too.
    fn led_to(self, function: Function, result: Self) -> Self {
        Self { unreduced: function.leaves_unreduced() && !self.is_of(function.limb()), ..result }
    }

    fn hashed(of: impl Hash, limb: u16, moduli: &[Modulus]) -> Self {
        // The hasher's keys are fixed, so that equal schedules give equal results.
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        Self::new(moduli[usize::from(limb)].reduce(hasher.finish() >> 1), limb)
    }

    fn leaf(leaf: LeafSubpolynomial, moduli: &[Modulus]) -> Self {
        Self::hashed(("leaf", leaf), leaf.leaf.limb().0, moduli)
    }

    /// A function that mixes places.
    fn mixed(function: Function, operand: u64, moduli: &[Modulus]) -> Self {
        Self::hashed((function, operand), function.limb(), moduli)
    }

    /// One number for limb and word.
    fn key(self) -> u64 {
        self.word ^ u64::from(self.limb).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Audits `list` against `program`.
pub fn audit(program: &KernelProgram, list: &dyn EventList, labels: &Labels) -> Result<(), AuditError> {
    let expected = Expected::of(program, labels)?;
    let mut audit = Audit {
        program,
        resources: list.resources(),
        labels,
        vector: (program.degree.get() / labels.subpolynomials.count()) as u64,
        known: vec![None; labels.vectors],
        seen: vec![Seen::default(); labels.vectors],
        computed: Vec::with_capacity(expected.computed.len()),
        fitting: HashMap::new(),
        operands: Vec::new(),
        results: Vec::new(),
    };
    let mut found = Ok(());
    list.visit(&mut |event| {
        found = audit.event(event);
        if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found?;
    audit.finish(expected)
}

/// The history of a value.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    computed: bool,
    used: bool,
    stored: bool,
}

struct Audit<'a> {
    program: &'a KernelProgram,
    resources: &'a Resources,
    labels: &'a Labels,
    /// Elements of a vector.
    vector: u64,
    known: Vec<Option<Residue>>,
    seen: Vec<Seen>,
    /// Keys of the computed values.
    computed: Vec<u64>,
    /// Whether public polynomials, by address, fit the limb from which they are extended.
    fitting: HashMap<(usize, LimbId), bool>,
    /// Scratch for the vectors that an event reads and writes.
    operands: Vec<Residue>,
    results: Vec<Residue>,
}

impl Audit<'_> {
    fn event(&mut self, event: &Event) -> Result<(), AuditError> {
        cancel::check();
        self.sized(event)?;
        match self.resources.kinds[usize::from(event.op.kind.0)].function {
            Allowed::Move { .. } => self.moved(event),
            function => self.compute(event, function),
        }
    }

    /// Checks that values are moved whole, and that their places are large enough.
    fn sized(&self, event: &Event) -> Result<(), AuditError> {
        for access in event.reads.iter().chain(&event.writes) {
            let memory = &self.resources.memories[usize::from(access.place.memory.0)].kind;
            let bits = u64::from(self.resources.value_classes[usize::from(access.value.class.0)].bits);
            let needed = (self.labels.count(access.value) as u64 * self.vector * bits).div_ceil(8);
            let given = match memory {
                MemoryKind::Scoreboard => continue,
                MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => access.bytes.min(access.place.bytes),
                MemoryKind::OffChip | MemoryKind::Wire { .. } => access.bytes,
            };
            if given < needed {
                let value = format!("value {}", access.value.index);
                return Err(AuditError::Size { event: self.name(event), value, given, needed });
            }
        }
        Ok(())
    }

    fn off_chip(&self, memory: u16) -> bool {
        self.resources.memories[usize::from(memory)].kind == MemoryKind::OffChip
    }

    /// Whether the memory is on the chip and holds values.
    fn holds(&self, memory: u16) -> bool {
        let kind = &self.resources.memories[usize::from(memory)].kind;
        matches!(kind, MemoryKind::OnChip { .. } | MemoryKind::Lines(_))
    }

    /// Indices of a value's vectors.
    fn numbers(&self, event: &Event, value: Value) -> Result<Range<usize>, AuditError> {
        // Its class decides whether it counts as given, and as a key.
        let class = &self.resources.value_classes[usize::from(value.class.0)];
        let leaf = self.labels.leaf(value).map(|of| of.leaf);
        let key = matches!(leaf, Some(Leaf::Hint { .. }));
        let as_claimed = (class.input, class.traffic == Traffic::KeySwitchKey) == (leaf.is_some(), key);
        let known = self.labels.numbers(value).filter(|_| as_claimed);
        known.ok_or_else(|| self.operand(event, format!("value {}", value.index), "a meaning of its name"))
    }

    fn moved(&mut self, event: &Event) -> Result<(), AuditError> {
        for read in &event.reads {
            let number = self.numbers(event, read.value)?.start;
            if self.off_chip(read.place.memory.0)
                && let Some(leaf) = self.labels.leaf(read.value)
            {
                self.known[number].get_or_insert_with(|| Residue::leaf(leaf, &self.program.moduli));
            }
        }
        let kind = &self.resources.kinds[usize::from(event.op.kind.0)];
        let slower = |other: &&OpKind| other.class == kind.class && other.latency > kind.latency;
        if let (Some(slower), true) = (
            self.resources.kinds.iter().find(slower),
            event.writes.iter().any(|write| self.holds(write.place.memory.0)),
        ) {
            return Err(AuditError::Faster { event: self.name(event), kind: slower.name.clone() });
        }
        for write in &event.writes {
            if !event.reads.iter().any(|read| read.value == write.value) {
                let result = format!("value {}", write.value.index);
                return Err(self.operand(event, result.clone(), result));
            }
            let stored = self.off_chip(write.place.memory.0);
            let numbers = self.numbers(event, write.value)?;
            self.seen[numbers].iter_mut().for_each(|seen| seen.stored |= stored);
        }
        let channel = self.resources.as_channel(event.resource).is_some();
        let needed = if channel { event.reads.iter().map(|read| read.bytes).sum() } else { self.vector };
        self.work(event, needed)
    }

    fn compute(&mut self, event: &Event, allowed: Allowed) -> Result<(), AuditError> {
        let result = event.writes.first().map_or(u32::MAX, |write| write.value.index);
        let named = format!("value {result}");
        let may = |step: &&Step| match (allowed, step) {
            (Allowed::Compute(names), _) => names.contains(&step.name()),
            (Allowed::Interleaved { name, .. }, _) => name == step.name(),
            (Allowed::Conversion { sources }, Step::Conversion { from, .. }) => from.len() == sources,
            (Allowed::Sums { together, terms, products }, Step::Sums(sums)) => {
                let one = |sum: &Sum| {
                    let found = sum.terms.iter().filter(|term| term.b.is_some());
                    // A unit multiplies once for a term.
                    sum.terms.len() <= terms
                        && found.clone().count() <= products
                        && found.clone().all(|term| term.factor == 1)
                };
                sums.len().is_multiple_of(together)
                    && sums.chunks(together).all(|of| of.iter().all(|sum| sum.limb == of[0].limb && one(sum)))
            }
            _ => false,
        };
        let Some(step) = self.labels.step(event.op).filter(may) else {
            let (event, kind) = (self.name(event), self.kind(event));
            return Err(AuditError::Step { event, result: named, kind, step: "another function".to_owned() });
        };
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        for read in &event.reads {
            for number in self.numbers(event, read.value)? {
                let Some(residue) = self.known[number] else {
                    return Err(self.operand(event, named, format!("value {}", read.value.index)));
                };
                self.seen[number].used = true;
                operands.push(residue);
            }
        }
        let mut results = std::mem::take(&mut self.results);
        results.clear();
        let places = match &step {
            Step::One(function) => {
                results.push(self.one(*function, &operands).map_err(|missing| self.operand(event, &*named, missing))?);
                1
            }
            step => {
                let found = self.several(step, &operands, &mut results);
                found.map_err(|missing| self.operand(event, &*named, missing))?;
                match allowed {
                    Allowed::Sums { together, .. } => results.len() / together,
                    _ => results.len(),
                }
            }
        };
        self.interleaved(event, allowed, operands.len().max(results.len()))?;
        let same = matches!(step, Step::One(_));
        let mut next = 0;
        for write in &event.writes {
            let numbers = self.numbers(event, write.value)?;
            for number in numbers {
                let leaf = self.labels.leaf(write.value).is_some();
                if leaf || std::mem::replace(&mut self.seen[number].computed, true) {
                    return Err(AuditError::Times { what: named, times: "more than once".to_owned() });
                }
                let Some(&residue) = results.get(if same { 0 } else { next }) else {
                    return Err(self.operand(event, &*named, "a result for every vector that is written"));
                };
                next += 1;
                self.known[number] = Some(residue);
                self.computed.push(residue.key());
            }
        }
        if next == 0 || (!same && next != results.len()) {
            return Err(self.operand(event, &*named, "a place for every result"));
        }
        (self.operands, self.results) = (operands, results);
        self.work(event, places as u64 * self.vector)
    }

    /// Checks the pace of a unit that takes parts of `vectors` vectors in turn: as many as it is set up for, and from a
    /// memory on the chip each vector evenly over the event's cycles.
    fn interleaved(&self, event: &Event, allowed: Allowed, vectors: usize) -> Result<(), AuditError> {
        let rate = self.resources.kinds[usize::from(event.op.kind.0)].elements_per_cycle;
        // Cycles between two parts of a vector.
        let parts = (self.vector as f64 / rate).ceil() as u64;
        let (turns, cycles) = (u64::from(event.occupancy) / parts.max(1), u64::from(event.occupancy));
        let fits = match allowed {
            Allowed::Interleaved { limbs, .. } => turns == limbs as u64 && vectors <= limbs,
            Allowed::Conversion { .. } => vectors as u64 <= turns,
            _ => true,
        };
        let evenly = |access: &&Access| {
            let memory = &self.resources.memories[usize::from(access.place.memory.0)].kind;
            let on_chip = matches!(memory, MemoryKind::OnChip { .. });
            !on_chip || u64::from(access.last - access.first) + turns >= cycles
        };
        if fits && event.reads.iter().chain(&event.writes).all(|access| evenly(&access)) {
            return Ok(());
        }
        Err(AuditError::Interleaved { event: self.name(event), vectors, turns })
    }

    /// The result of a unit for one or two vectors, at the evaluated place. The error says what is missing.
    fn one(&self, function: Function, operands: &[Residue]) -> Result<Residue, String> {
        let Some(&first) = operands.first().filter(|_| operands.len() <= function.operands()) else {
            return Err(format!("{} operands", function.operands()));
        };
        if !operands.iter().all(|residue| residue.suits(function)) {
            return Err(format!("an operand modulo limb {}", function.limb()));
        }
        let result = self.evaluate(function, [first.word, operands.last().unwrap_or(&first).word]);
        Ok(first.led_to(function, result))
    }

    /// The results of a unit that takes several vectors at once. The error says what is missing.
    fn several(&mut self, step: &Step, operands: &[Residue], results: &mut Vec<Residue>) -> Result<(), String> {
        let moduli = &self.program.moduli;
        if self.labels.subpolynomials.count() != 1 {
            return Err("polynomials of one vector".to_owned());
        }
        let of_limbs = |limbs: &LimbSet| {
            let same = operands.len() == limbs.len()
                && operands.iter().zip(limbs.iter()).all(|(residue, limb)| residue.is_of(limb.0));
            if same { Ok(()) } else { Err(format!("the limbs {limbs}")) }
        };
        match step {
            Step::Transforms { inverse, limbs } => {
                of_limbs(limbs)?;
                let transform = |residue: &Residue| match inverse {
                    true => Function::InverseNtt { limb: residue.limb, subpolynomial: 0 },
                    false => Function::ForwardNtt { limb: residue.limb, subpolynomial: 0 },
                };
                results.extend(operands.iter().map(|residue| self.evaluate(transform(residue), [residue.word; 2])));
            }
            Step::Conversion { from, to, conversion, factor } => {
                of_limbs(from)?;
                let digits: Vec<u64> = operands.iter().map(|residue| residue.word).collect();
                results.extend(to.iter().map(|limb| {
                    let (found, modulus) =
                        (converted(moduli, from, &digits, limb, *conversion), self.program.modulus(limb));
                    Residue { word: modulus.multiply(found.word, modulus.reduce(*factor)), ..found }
                }));
            }
            Step::Sums(sums) => {
                for sum in sums {
                    results.push(self.sum(sum, operands)?);
                }
            }
            Step::Extension { plaintext, from, to } => {
                let leaf = |limb, values| {
                    let leaf = Leaf::Plaintext { plaintext: *plaintext, limb, values };
                    Residue::leaf(LeafSubpolynomial { leaf, subpolynomial: 0 }, moduli)
                };
                let polynomial = self.program.plaintexts.get(*plaintext as usize);
                let fits = polynomial.is_some_and(|polynomial| {
                    let modulus = self.program.modulus(*from);
                    *self.fitting.entry((polynomial.address(), *from)).or_insert_with(|| polynomial.fits(modulus))
                });
                if !fits || operands != [leaf(*from, false)] {
                    return Err(format!("limb {from} of plaintext {plaintext}, which its coefficients fit"));
                }
                results.extend(to.iter().map(|limb| leaf(limb, true)));
            }
            Step::Generated(leaf) => {
                // The rest of a key, and the user's inputs, come from outside.
                if !matches!(leaf.leaf, Leaf::Hint { part: Part::Mask, .. }) {
                    return Err("a mask of a key, which a seed gives".to_owned());
                }
                if !operands.is_empty() {
                    return Err("no operand".to_owned());
                }
                results.push(Residue::leaf(*leaf, moduli));
            }
            Step::One(function) => results.push(self.one(*function, operands)?),
        }
        Ok(())
    }

    fn sum(&self, sum: &Sum, operands: &[Residue]) -> Result<Residue, String> {
        let modulus = self.program.moduli[usize::from(sum.limb)];
        let operand = |place: usize| {
            let residue = operands.get(place).filter(|residue| residue.is_of(sum.limb));
            residue.map(|residue| residue.word).ok_or_else(|| format!("an operand modulo limb {}", sum.limb))
        };
        let mut word = modulus.reduce(sum.addend);
        for term in &sum.terms {
            let product = modulus.multiply(operand(term.a)?, modulus.reduce(term.factor));
            let product = match term.b {
                Some(b) => modulus.multiply(product, operand(b)?),
                None => product,
            };
            word = modulus.add(word, product);
        }
        Ok(Residue::new(word, sum.limb))
    }

    /// The result of a unit at the evaluated place.
    fn evaluate(&self, function: Function, [a, b]: [u64; 2]) -> Residue {
        let moduli = &self.program.moduli;
        let limb = function.limb();
        let modulus = moduli[usize::from(limb)];
        let word = match function {
            Function::ForwardNtt { .. } => return Residue::mixed(function, modulus.reduce(a), moduli),
            Function::InverseNtt { .. } | Function::Automorphism { .. } => return Residue::mixed(function, a, moduli),
            Function::Multiply { .. } => modulus.multiply(a, b),
            Function::MultiplyConstant { constant, .. } => modulus.multiply(modulus.reduce(a), constant.into()),
            Function::Add { .. } => modulus.add(a, b),
            Function::Subtract { .. } => modulus.sub(a, b),
            Function::Negate { .. } => modulus.neg(a),
            Function::AddConstant { constant, .. } => modulus.add(modulus.reduce(a), modulus.reduce(constant.into())),
        };
        Residue::new(word, limb)
    }

    fn work(&self, event: &Event, needed: u64) -> Result<(), AuditError> {
        match event.work == needed {
            true => Ok(()),
            false => Err(AuditError::Work { event: self.name(event), given: event.work, needed }),
        }
    }

    fn kind(&self, event: &Event) -> String {
        self.resources.kinds.get(event.op.kind.0 as usize).map_or_else(String::new, |kind| kind.name.clone())
    }

    fn name(&self, event: &Event) -> String {
        format!("{} on {} in cycle {}", self.kind(event), self.resources.name(event.resource), event.start)
    }

    fn operand(&self, event: &Event, result: impl Into<String>, missing: impl Into<String>) -> AuditError {
        AuditError::Operand { event: self.name(event), result: result.into(), missing: missing.into() }
    }

    /// Checks that the whole program was computed and its results were stored. Only values that the program itself never reads may be
    /// unused.
    fn finish(mut self, mut expected: Expected) -> Result<(), AuditError> {
        for (output, limbs) in expected.outputs.iter().enumerate() {
            for (place, &wanted) in limbs.iter().enumerate() {
                let (position, subpolynomial) =
                    (place / self.labels.subpolynomials.count(), place % self.labels.subpolynomials.count());
                let what = || {
                    let name = &self.program.outputs[output].name;
                    format!(
                        "vector {subpolynomial} of limb {position} of part {} of `{name}`",
                        self.program.outputs[output].part
                    )
                };
                let value = self.labels.output(output, position, subpolynomial);
                let Some((value, number)) = value.and_then(|value| Some((value, self.labels.numbers(value)?.start)))
                else {
                    return Err(AuditError::Lost { what: what() });
                };
                let found = match self.labels.leaf(value) {
                    Some(leaf) => Some(Residue::leaf(leaf, &self.program.moduli)),
                    None if !self.seen[number].stored => return Err(AuditError::Lost { what: what() }),
                    None => self.known[number],
                };
                if found != Some(wanted) {
                    return Err(AuditError::Output { what: what() });
                }
                self.seen[number].used = true;
            }
        }
        for (number, _) in self.seen.iter().enumerate().filter(|(_, seen)| seen.computed && !seen.used) {
            let left = self.known[number].and_then(|found| expected.unread.get_mut(&found.key()));
            match left.filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => return Err(AuditError::InVain { what: format!("value {number}") }),
            }
        }
        // Each value of the program must have been computed, as often as the program defines it.
        self.computed.sort_unstable();
        expected.computed.sort_unstable();
        let mut found = self.computed.iter().copied().peekable();
        for key in expected.computed.iter().copied() {
            while found.next_if(|&other| other < key).is_some() {}
            if found.next_if_eq(&key).is_none() {
                let what = expected.place_of(key, self.program, self.labels)?;
                return Err(AuditError::Times { what, times: "too seldom".to_owned() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Do unreduced words go only to units that reduce them?
    use super::*;

    #[test]
    fn a_sum_with_a_constant_is_reduced_if_its_operand_is() {
        let sum = |limb| Function::AddConstant { limb, constant: 3, values: false };
        let lifts =
            |limb| [Function::ForwardNtt { limb, subpolynomial: 0 }, Function::MultiplyConstant { limb, constant: 1 }];
        let others =
            |limb| [Function::Add { limb }, Function::Negate { limb }, Function::InverseNtt { limb, subpolynomial: 0 }];
        let digit = Residue::new(5, 0);
        let own = digit.led_to(sum(0), Residue::new(8, 0));
        assert!(own.is_of(0) && others(0).into_iter().all(|function| own.suits(function)));
        assert!(own.suits(sum(1)));
        let other = own.led_to(sum(1), Residue::new(11, 1));
        assert!(other.unreduced && other.suits(sum(1)) && other.led_to(sum(1), other).unreduced);
        assert!(others(1).into_iter().all(|function| !other.suits(function)));
        for (function, another) in lifts(1).into_iter().zip(lifts(2)) {
            assert!(other.suits(function) && !other.suits(another));
            assert!(other.led_to(function, Residue::new(11, 1)).is_of(1));
        }
    }
}
