//! Counts an execution's work by kind from its steps, before anything is encrypted, and executes each kind in isolation for timing.
//!
//! Steps of one kind take about the same time anywhere in a program, so a program's time is the sum over the kinds. The caller measures times.

use super::Tuning;
use super::schedule::ExecutionPlan;
use crate::rns::RunError;
use crate::rns::steps::{Place, StepKind, Steps, log2_apart};
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::cancel;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{BLOCK, Rows, block_width};
use polyfabric_program::rns::kernel::{KernelProgram, PublicPolynomial};
use polyfabric_schemes::random::MaskSeed;
use polyfabric_schemes::rns::sample::fill_mask;
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, Ring};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A kind of work on the N words of one limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// A transform to values.
    Forward,
    /// A transform to coefficients.
    Inverse,
    /// A sum, a difference, a copy.
    Add,
    /// A product with another limb or a number, with or without a sum.
    Multiply,
    /// Residues of another modulus' words, or digits of them.
    Reduce,
    /// A permutation of the words.
    Permute,
    /// The contribution of a source limb to a target limb in a base conversion.
    Convert,
    /// A digit's products with both halves of a key's row, which is read from memory.
    KeyProduct,
    /// Masks of a key's row, expanded from its seed.
    Draw,
    /// Residues of a public polynomial with one-word coefficients, in newly allocated memory.
    Narrow,
    /// The same for two-word coefficients.
    Wide,
    /// Memory written for the first time, in the amount that is allocated.
    Fresh,
}

impl Effort {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Forward,
        Self::Inverse,
        Self::Add,
        Self::Multiply,
        Self::Reduce,
        Self::Permute,
        Self::Convert,
        Self::KeyProduct,
        Self::Draw,
        Self::Narrow,
        Self::Wide,
        Self::Fresh,
    ];

    /// Its name in data files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Inverse => "inverse",
            Self::Add => "add",
            Self::Multiply => "multiply",
            Self::Reduce => "reduce",
            Self::Permute => "permute",
            Self::Convert => "convert",
            Self::KeyProduct => "key_product",
            Self::Draw => "draw",
            Self::Narrow => "narrow",
            Self::Wide => "wide",
            Self::Fresh => "fresh",
        }
    }
}

/// The work of an execution of `program` on `threads` threads (0 for several), where the masks of `seeded` keys are expanded. With `compact_plaintexts`, public
/// polynomials are transformed at each use.
///
/// # Errors
/// [`RunError`] if the program is inconsistent.
pub fn efforts(
    program: &KernelProgram,
    threads: usize,
    compact_plaintexts: bool,
    seeded: impl Fn(KeyId) -> bool,
) -> Result<BTreeMap<Effort, u64>, RunError> {
    program.check()?;
    let tuning = Tuning::of(program);
    let steps = Steps::new(program, tuning.combine_bytes);
    let schedule = ExecutionPlan::new(&steps, tuning, threads != 1);
    let mut counts = BTreeMap::<Effort, u64>::new();
    let mut add = |effort: Effort, count: usize| *counts.entry(effort).or_default() += count as u64;
    let drawn: Vec<bool> = steps.keys.iter().map(|&key| seeded(key)).collect();
    for step in &steps.steps {
        match &step.kind {
            StepKind::Copy | StepKind::Add | StepKind::Sub | StepKind::Negate | StepKind::AddConstant(..) => {
                add(Effort::Add, 1)
            }
            StepKind::Multiply
            | StepKind::MultiplyAdd
            | StepKind::Scale(_)
            | StepKind::SubScale(_)
            | StepKind::Weigh { .. } => {
                add(Effort::Multiply, 1);
            }
            StepKind::Forward => add(Effort::Forward, 1),
            StepKind::Inverse => add(Effort::Inverse, 1),
            StepKind::Permute(_) | StepKind::Substitute(_) => add(Effort::Permute, 1),
            StepKind::Reduce { .. } | StepKind::SubDigit(_) => add(Effort::Reduce, 1),
            StepKind::Combine { .. } | StepKind::Convert { .. } => {
                add(Effort::Convert, step.operands.len() * step.results.len());
            }
            StepKind::InnerProduct { key, rows } => {
                add(Effort::KeyProduct, rows.len());
                if drawn[*key as usize] {
                    add(Effort::Draw, rows.len());
                }
            }
            StepKind::Key { .. } => add(Effort::Add, 1),
        }
    }
    let apart = log2_apart(program, &steps.plaintexts);
    let degree = program.degree.get();
    let mut words = BTreeMap::<Effort, usize>::new();
    let mut plaintext = |index: usize| {
        let limb = &steps.plaintexts[index];
        let wide = matches!(*program.plaintexts[limb.plaintext as usize], PublicPolynomial::Wide(_));
        let transform = (limb.domain == Domain::Evaluation).then_some(Effort::Forward);
        let made = if wide { Effort::Wide } else { Effort::Narrow };
        for effort in [Some(made), transform].into_iter().flatten() {
            *words.entry(effort).or_default() += degree >> apart[index];
        }
    };
    if compact_plaintexts {
        // A polynomial used with both parts of a ciphertext is made once for both.
        let mut last = HashMap::new();
        for step in &steps.steps {
            for place in &step.operands {
                if let Place::Plaintext(index) = place
                    && last.insert(step.limb, *index) != Some(*index)
                {
                    plaintext(*index as usize);
                }
            }
        }
    } else {
        (0..steps.plaintexts.len()).for_each(plaintext);
    }
    // A polynomial in a power of X counts as its fraction of a limb.
    words.into_iter().for_each(|(effort, words)| add(effort, words.div_ceil(degree)));
    add(Effort::Fresh, schedule.slots + steps.outputs.iter().map(Vec::len).sum::<usize>());
    Ok(counts)
}

/// Words processed between reads of the clock: about ten milliseconds.
const ROUND_WORDS: usize = 1 << 20;

/// Maximum bytes of the limbs used in turn: more than the caches.
const POOL_BYTES: usize = 64 << 20;

/// Target limbs of a rehearsed conversion.
const TARGETS: usize = 4;

/// Buffers for executing each kind of work, in the ring and with as many limbs as an execution.
#[derive(Debug)]
pub struct Rehearsal {
    ring: Arc<Ring>,
    pool: Vec<AlignedTorus<u64>>,
    permutation: ValuePermutation,
    /// `None` in a ring of one limb.
    converter: Option<BaseConverter>,
    /// Digits of a key switch.
    digits: usize,
    /// Both halves of a key's limb for each key switch of a round, consecutive in memory as in an execution.
    keys: Vec<[AlignedTorus<u64>; 2]>,
}

impl Rehearsal {
    /// For a ring, conversions of `sources` limbs, key switches of `digits` digits, and an execution with `buffers` buffers.
    pub fn new(ring: Arc<Ring>, sources: usize, digits: usize, buffers: usize) -> Self {
        let (degree, moduli) = (ring.degree(), ring.moduli());
        let (from, rest) = moduli.split_at(sources.clamp(1, (moduli.len() - 1).max(1)));
        let basis = |moduli: &[_]| RnsBasis::new(moduli.to_vec()).ok().filter(|_| !moduli.is_empty());
        let bases = basis(from).zip(basis(&rest[..rest.len().min(TARGETS)]));
        let converter = bases.map(|(from, to)| BaseConverter::new(from, to));
        let least = (from.len() + TARGETS).max(digits + 2).max(4);
        let most = (POOL_BYTES / (degree.get() * size_of::<u64>())).max(least);
        let buffer = |_| AlignedTorus::made(degree.get(), |_, piece| piece.fill(1));
        let pool = (0..buffers.clamp(least, most)).map(buffer).collect();
        let permutation = ValuePermutation::new(GaloisElement::rotation(degree, 1));
        let digits = digits.max(1);
        let half = |width| AlignedTorus::made(digits * degree.get() / BLOCK * width, |_, piece| piece.fill(0));
        let width = |number: usize| block_width(moduli[number % moduli.len()]);
        let keys = (0..(ROUND_WORDS / degree.get()).div_ceil(digits)).map(|number| [0, 1].map(|_| half(width(number))));
        let keys = keys.collect();
        Self { ring, pool, permutation, converter, digits, keys }
    }

    /// Executes work of one kind and returns how often: 0 if the ring has none of it.
    pub fn run(&mut self, effort: Effort) -> usize {
        let degree = self.ring.degree().get();
        let count = (ROUND_WORDS / degree).max(4);
        match effort {
            Effort::Convert => self.convert(count),
            Effort::KeyProduct => self.key_products(),
            Effort::Narrow | Effort::Wide => self.plaintexts(effort, count),
            Effort::Fresh => {
                let mut fresh = AlignedTorus::<u64>::zeros(count * degree);
                fresh.fill(1);
                std::hint::black_box(&fresh[..]);
                count
            }
            _ => {
                // Valid residues of every modulus.
                self.pool[1].fill(1);
                (0..count).for_each(|number| self.one(effort, number));
                count
            }
        }
    }

    /// The limb with this number, cyclically.
    fn limb(&self, number: usize) -> LimbId {
        LimbId((number % self.ring.moduli().len()) as u16)
    }

    /// Executes one unit on the next buffers. A sum or product combines an operand from memory with a recent result, as most do.
    fn one(&mut self, effort: Effort, number: usize) {
        cancel::check();
        let id = self.limb(number);
        let (ring, pool) = (Arc::clone(&self.ring), &mut self.pool);
        let (limb, ntt) = (ring.limb(id), ring.ntt(id));
        let [b, result, others @ ..] = &mut pool[..] else { return };
        let a = &others[number % others.len()];
        match effort {
            Effort::Forward => {
                result.copy_from_slice(a);
                ntt.forward(result);
            }
            Effort::Inverse => ntt.inverse_of(a, result),
            // All of one modulus, because each continues from the last.
            Effort::Add => ring.limb(LimbId(0)).add_assign(result, a),
            Effort::Multiply => ring.limb(LimbId(0)).multiply_add_assign(result, a, b),
            Effort::Reduce => limb.reduce_centred_from(result, a, ring.modulus(LimbId(0))),
            Effort::Permute => self.permutation.apply(a, result, NextUse::Soon),
            Effort::Draw => fill_mask(&ring, &MaskSeed([7; 32]), number as u32, id, result),
            // Handled by the caller.
            Effort::Convert | Effort::KeyProduct | Effort::Narrow | Effort::Wide | Effort::Fresh => {}
        }
    }

    fn convert(&mut self, count: usize) -> usize {
        let Some(converter) = &self.converter else { return 0 };
        let (from, to) = (converter.from().moduli().len(), converter.to().moduli().len());
        let rounds = count.div_ceil(from * to);
        for _ in 0..rounds {
            cancel::check();
            self.pool.rotate_left(1);
            let (sources, targets) = self.pool.split_at_mut(from);
            let sources: Vec<&[u64]> = sources.iter().map(|words| &words[..]).collect();
            let mut targets: Vec<&mut [u64]> = targets.iter_mut().take(to).map(|words| &mut words[..]).collect();
            converter.convert_balanced(&sources, &mut targets, NextUse::Soon);
        }
        rounds * from * to
    }

    fn key_products(&mut self) -> usize {
        let (ring, digits) = (Arc::clone(&self.ring), self.digits);
        let rows: Vec<u16> = (0..digits as u16).collect();
        for number in 0..self.keys.len() {
            cancel::check();
            let id = self.limb(number);
            let (limb, width, halves) = (ring.limb(id), block_width(ring.modulus(id)), &self.keys[number]);
            self.pool.rotate_left(1);
            let [body, mask, sources @ ..] = &mut self.pool[..] else { return 0 };
            let sources: Vec<&[u64]> = sources.iter().take(digits).map(|words| &words[..]).collect();
            let factors = |half: usize| Rows::InBlocks { words: &halves[half], width, count: digits, rows: &rows };
            limb.inner_products([body, mask], &sources, [0, 1].map(factors), NextUse::Soon);
        }
        self.keys.len() * digits
    }

    fn plaintexts(&self, effort: Effort, count: usize) -> usize {
        let degree = self.ring.degree().get();
        let polynomial = match effort {
            Effort::Wide => PublicPolynomial::Wide((0..degree as i128).map(|index| index << 64).collect()),
            _ => PublicPolynomial::Narrow((0..degree as i64).collect()),
        };
        let made = |number| {
            cancel::check();
            let limb = self.ring.limb(self.limb(number));
            AlignedTorus::made(degree, |start, piece| polynomial.residues_from(limb, start, piece))
        };
        let all: Vec<AlignedTorus<u64>> = (0..count).map(made).collect();
        std::hint::black_box(&all).len()
    }
}
