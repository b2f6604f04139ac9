//! Runs a schedule.

use super::schedule::{Level, Placed, Slot, Task};
use super::step::{Place, PlaintextLimb, Step, Work};
use super::{Arena, Executor};
use crate::Progress;
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::modular::Limb;
use polyfabric_kernels::prefetch::prefetch;
use polyfabric_program::rns::kernel::{Conversion, DigitWindow, KernelProgram};
use polyfabric_schemes::rns::{Domain, LimbId, Part, Ring, RnsPolynomial};
use rayon::prelude::*;
use std::ops::{Deref, Range};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Words of a conversion that one thread does at a time, a column of all limbs.
const CONVERSION_COLUMNS: usize = 4096;

/// One limb of a public polynomial.
pub(super) fn plaintext(program: &KernelProgram, ring: &Ring, key: PlaintextLimb) -> AlignedTorus<u64> {
    let mut words = AlignedTorus::zeros(program.degree.get());
    program.plaintexts[key.plaintext as usize].residues(ring.modulus(key.limb), &mut words);
    if key.domain == Domain::Evaluation {
        ring.ntt(key.limb).forward(&mut words);
    }
    words
}

/// The buffers of a run. Tasks of one level lock what they touch: the schedule gives no two of them one buffer to write, so no lock
/// waits, and one costs nothing beside an operation on N words.
struct Buffers<'a> {
    slots: Vec<RwLock<&'a mut [u64]>>,
    inputs: &'a [&'a RnsPolynomial],
}

/// N words to read.
enum Words<'b, 'a> {
    Slot(RwLockReadGuard<'b, &'a mut [u64]>),
    Slice(&'b [u64]),
    Owned(AlignedTorus<u64>),
}

impl Deref for Words<'_, '_> {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        match self {
            Self::Slot(guard) => guard,
            Self::Slice(words) => words,
            Self::Owned(words) => words,
        }
    }
}

impl<'a> Buffers<'a> {
    fn read(&self, slot: Slot) -> RwLockReadGuard<'_, &'a mut [u64]> {
        self.slots[slot as usize].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, slot: Slot) -> RwLockWriteGuard<'_, &'a mut [u64]> {
        self.slots[slot as usize].write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A digit of an inner product.
enum Digit<'b, 'a> {
    /// Its transform is yet to be finished.
    Open(RwLockWriteGuard<'b, &'a mut [u64]>),
    Done(Words<'b, 'a>),
}

impl Digit<'_, '_> {
    fn words(&self) -> &[u64] {
        match self {
            Self::Open(guard) => guard,
            Self::Done(words) => words,
        }
    }
}

/// A region of a limb, and the one after it (empty after the last).
struct Regions {
    this: Range<usize>,
    next: Range<usize>,
}

fn regions(count: usize, words: usize) -> impl Iterator<Item = Regions> {
    (0..count).step_by(words).map(move |start| {
        let end = start + words;
        Regions { this: start..end, next: end..(end + words).min(count) }
    })
}

/// What a thread works with beside the buffers.
#[derive(Default)]
struct Scratch {
    /// Room for the words of keys that are not stored as words.
    keys: Vec<Vec<u64>>,
}

impl Scratch {
    /// `count` pieces, each as long as it has been needed so far, to be given back.
    fn take(&mut self, count: usize) -> Vec<Vec<u64>> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.resize_with(keys.len().max(count), Vec::new);
        keys
    }
}

impl Executor {
    pub(super) fn execute(
        &self,
        inputs: &[&RnsPolynomial],
        outputs: &mut [RnsPolynomial],
        arena: &mut Arena,
        progress: &dyn Progress,
    ) {
        let words = self.program.degree.get();
        let slots = outputs.iter_mut().flat_map(|output| output.words_mut().chunks_exact_mut(words));
        let slots = slots.chain(arena.chunks_exact_mut(words)).map(RwLock::new).collect();
        let buffers = Buffers { slots, inputs };
        let total = self.schedule.levels.len() as u64;
        let mut scratch = Scratch::default();
        for (done, level) in self.schedule.levels.iter().enumerate() {
            progress.update("run", done as u64, total);
            self.level(level, &buffers, &mut scratch);
        }
        progress.update("run", total, total);
    }

    fn level(&self, level: &Level, buffers: &Buffers<'_>, scratch: &mut Scratch) {
        if self.pool.is_none() {
            level.tasks.iter().for_each(|task| self.task(task, buffers, scratch));
        } else {
            level.tasks.par_iter().for_each_init(Scratch::default, |scratch, task| self.task(task, buffers, scratch));
        }
    }

    fn task(&self, task: &Task, buffers: &Buffers<'_>, scratch: &mut Scratch) {
        for placed in task {
            let step = &self.steps.steps[placed.step as usize];
            match &step.work {
                Work::Convert { converter, conversion } => {
                    self.convert(*converter as usize, *conversion, step, placed, buffers);
                }
                Work::InnerProduct { key, rows } => {
                    self.inner_product(*key as usize, rows, step, placed, buffers, scratch);
                }
                _ => self.step(step, placed, buffers, scratch),
            }
        }
    }

    /// The words of operand `operand`, whose buffer is not that of the result.
    fn words<'b, 'a>(
        &'b self,
        step: &Step,
        placed: &Placed,
        buffers: &'b Buffers<'a>,
        operand: usize,
    ) -> Words<'b, 'a> {
        match (placed.operands[operand], step.operands[operand]) {
            (Some(slot), _) => Words::Slot(buffers.read(slot)),
            (None, Place::Input(input, limb)) => {
                let input = buffers.inputs[input as usize];
                // The inputs have been checked: the limb is there.
                Words::Slice(input.limb(input.position(limb).unwrap_or(0)))
            }
            (None, Place::Plaintext(index)) => match self.plaintexts.get(index as usize) {
                Some(words) => Words::Slice(words),
                None => Words::Owned(plaintext(&self.program, &self.ring, self.steps.plaintexts[index as usize])),
            },
            // Every register has a buffer.
            (None, Place::Register(_)) => Words::Slice(&[]),
        }
    }

    fn step(&self, step: &Step, placed: &Placed, buffers: &Buffers<'_>, scratch: &mut Scratch) {
        let limb: Limb = self.ring.limb(step.limb);
        let mut result = buffers.write(placed.results[0]);
        let result: &mut [u64] = &mut result;
        let own = placed.operands.iter().position(|&slot| slot == Some(placed.results[0]));
        let words = |operand: usize| self.words(step, placed, buffers, operand);
        let load = |result: &mut [u64]| {
            if own.is_none() {
                result.copy_from_slice(&words(0));
            }
        };
        match &step.work {
            Work::Copy => load(result),
            Work::Add => match own {
                Some(own) => limb.add_assign(result, &words(1 - own)),
                None => limb.add(result, &words(0), &words(1)),
            },
            Work::Sub => match own {
                Some(0) => limb.sub_assign(result, &words(1)),
                Some(_) => limb.sub_from_assign(result, &words(0)),
                None => limb.sub(result, &words(0), &words(1)),
            },
            Work::Negate => {
                load(result);
                limb.neg_assign(result);
            }
            Work::Multiply => match own {
                Some(own) => limb.multiply_assign(result, &words(1 - own)),
                None => limb.multiply(result, &words(0), &words(1)),
            },
            Work::MultiplyAdd => match own {
                Some(_) => limb.multiply_add_assign(result, &words(0), &words(1)),
                None => limb.multiply_add(result, &words(0), &words(1), &words(2)),
            },
            Work::Scale(factor) => match own {
                Some(_) => limb.scale_assign(result, *factor),
                None => limb.scale(result, &words(0), *factor),
            },
            Work::AddConstant(addend, domain) => {
                load(result);
                let reach = if *domain == Domain::Evaluation { result.len() } else { 1 };
                limb.add_scalar_assign(&mut result[..reach], *addend);
            }
            Work::Forward => {
                load(result);
                let ntt = self.ring.ntt(step.limb);
                if placed.open { ntt.forward_begin(result) } else { ntt.forward(result) }
            }
            Work::Inverse => {
                load(result);
                self.ring.ntt(step.limb).inverse(result);
            }
            Work::Weigh { converter, source, balanced } => {
                load(result);
                self.steps.converters[*converter as usize].weigh(*source as usize, *balanced, result);
            }
            Work::Combine { converter, target, balanced } => {
                let weighed: Vec<Words<'_, '_>> = (0..step.operands.len()).map(words).collect();
                let weighed: Vec<&[u64]> = weighed.iter().map(|words| &words[..]).collect();
                self.steps.converters[*converter as usize].combine(*target as usize, *balanced, &weighed, result);
            }
            Work::Permute(index) => self.steps.permutations[*index as usize].apply(&words(0), result),
            Work::Substitute(element) => element.apply(limb.modulus(), &words(0), result),
            Work::SubScale(factor) if placed.finish[1] => {
                self.finish_sub_scale(*factor, own, step, placed, buffers, result);
            }
            Work::SubScale(factor) => match own {
                Some(0) => limb.sub_scale_assign(result, &words(1), *factor),
                Some(_) => limb.sub_from_scale_assign(result, &words(0), *factor),
                None => {
                    result.copy_from_slice(&words(0));
                    limb.sub_scale_assign(result, &words(1), *factor);
                }
            },
            Work::Reduce { from, centred: false } => limb.reduce_from(result, &words(0), *from),
            Work::Reduce { from, centred: true } => limb.reduce_centred_from(result, &words(0), *from),
            Work::SubDigit(window) => sub_digits(limb, *window, &words(0), result),
            Work::Key { key, row, part } => {
                let mut room = scratch.take(1);
                let words = self.key_limb(*key as usize, *part, *row, step.limb, &mut room[0]);
                result.copy_from_slice(words);
                scratch.keys = room;
            }
            // Done elsewhere.
            Work::InnerProduct { .. } | Work::Convert { .. } => {}
        }
    }

    fn key_limb<'b>(&'b self, key: usize, part: Part, row: u16, limb: LimbId, room: &'b mut Vec<u64>) -> &'b [u64] {
        let (key, positions) = &self.keys[key];
        if !key.holds_words(part) {
            room.resize(self.program.degree.get(), 0);
        }
        // The keys have been checked: the limb is there.
        key.limb(part, usize::from(row), positions[limb.index()].unwrap_or(0), room)
    }

    /// (a − b)·w, region by region: the transform of b is finished on the way.
    fn finish_sub_scale(
        &self,
        factor: u64,
        own: Option<usize>,
        step: &Step,
        placed: &Placed,
        buffers: &Buffers<'_>,
        result: &mut [u64],
    ) {
        let (ntt, limb) = (self.ring.ntt(step.limb), self.ring.limb(step.limb));
        let other = |operand| (own != Some(operand)).then(|| self.words(step, placed, buffers, operand));
        let a = other(0);
        // The buffer of b, if it is not that of the result.
        let mut b = placed.operands[1].filter(|_| own != Some(1)).map(|slot| buffers.write(slot));
        for Regions { this, next } in regions(result.len(), ntt.region()) {
            let result = &mut result[this.clone()];
            if let Some(a) = &a {
                prefetch(&a[next]);
            }
            match (&a, &mut b) {
                (Some(a), None) => {
                    ntt.forward_end(result, this.start);
                    limb.sub_from_scale_assign(result, &a[this], factor);
                }
                (a, Some(b)) => {
                    let b = &mut b[this.clone()];
                    ntt.forward_end(b, this.start);
                    if let Some(a) = a {
                        result.copy_from_slice(&a[this]);
                    }
                    limb.sub_scale_assign(result, b, factor);
                }
                // a and b are different registers, so one of them has a buffer of its own.
                (None, None) => {}
            }
        }
    }

    /// The inner products with both halves of a key, region by region: transforms of digits are finished on the way, and the key's next
    /// region is fetched meanwhile, which takes as long.
    fn inner_product(
        &self,
        key: usize,
        rows: &[u16],
        step: &Step,
        placed: &Placed,
        buffers: &Buffers<'_>,
        scratch: &mut Scratch,
    ) {
        let (ntt, limb) = (self.ring.ntt(step.limb), self.ring.limb(step.limb));
        let digit = |operand: usize| match placed.operands[operand] {
            Some(slot) if placed.finish[operand] => Digit::Open(buffers.write(slot)),
            _ => Digit::Done(self.words(step, placed, buffers, operand)),
        };
        let mut digits: Vec<Digit<'_, '_>> = (0..rows.len()).map(digit).collect();
        let mut room = scratch.take(2 * rows.len());
        let (for_bodies, for_masks) = room.split_at_mut(rows.len());
        let half = |room, part| self.key_limbs(key, part, rows, step.limb, room);
        let (bodies, masks) = (half(for_bodies, Part::Body), half(for_masks, Part::Mask));
        let (mut body, mut mask) = (buffers.write(placed.results[0]), buffers.write(placed.results[1]));
        for Regions { this, next } in regions(self.program.degree.get(), ntt.region()) {
            for ((digit, body), mask) in digits.iter_mut().zip(&bodies).zip(&masks) {
                prefetch(&body[next.clone()]);
                prefetch(&mask[next.clone()]);
                if let Digit::Open(words) = digit {
                    ntt.forward_end(&mut words[this.clone()], this.start);
                }
            }
            let of_digits: Vec<&[u64]> = digits.iter().map(|digit| &digit.words()[this.clone()]).collect();
            let of_bodies: Vec<&[u64]> = bodies.iter().map(|words| &words[this.clone()]).collect();
            let of_masks: Vec<&[u64]> = masks.iter().map(|words| &words[this.clone()]).collect();
            let sums = [&mut body[this.clone()], &mut mask[this.clone()]];
            limb.inner_products(sums, &of_digits, [&of_bodies, &of_masks]);
        }
        drop((bodies, masks));
        scratch.keys = room;
    }

    /// One half of the rows `rows` of a key.
    fn key_limbs<'b>(
        &'b self,
        key: usize,
        part: Part,
        rows: &[u16],
        limb: LimbId,
        room: &'b mut [Vec<u64>],
    ) -> Vec<&'b [u64]> {
        rows.iter().zip(room).map(|(&row, room)| self.key_limb(key, part, row, limb, room)).collect()
    }

    fn convert(&self, converter: usize, conversion: Conversion, step: &Step, placed: &Placed, buffers: &Buffers<'_>) {
        let converter = &self.steps.converters[converter];
        let sources: Vec<Words<'_, '_>> =
            (0..step.operands.len()).map(|operand| self.words(step, placed, buffers, operand)).collect();
        let mut targets: Vec<_> = placed.results.iter().map(|&slot| buffers.write(slot)).collect();
        // Columns of all limbs, for the threads.
        let columns = self.program.degree.get().div_ceil(CONVERSION_COLUMNS);
        let mut chunks: Vec<Vec<&mut [u64]>> = (0..columns).map(|_| Vec::with_capacity(targets.len())).collect();
        for target in &mut targets {
            let target: &mut [u64] = target;
            target.chunks_mut(CONVERSION_COLUMNS).zip(&mut chunks).for_each(|(chunk, column)| column.push(chunk));
        }
        let run = |(index, targets): (usize, &mut Vec<&mut [u64]>)| {
            let start = index * CONVERSION_COLUMNS;
            let end = (start + CONVERSION_COLUMNS).min(self.program.degree.get());
            let sources: Vec<&[u64]> = sources.iter().map(|source| &source[start..end]).collect();
            match conversion {
                Conversion::Approximate => converter.convert(&sources, targets),
                Conversion::Balanced => converter.convert_balanced(&sources, targets),
                Conversion::Centred => converter.convert_exact(&sources, targets),
            }
        };
        if self.pool.is_some() {
            chunks.par_iter_mut().enumerate().for_each(run);
        } else {
            chunks.iter_mut().enumerate().for_each(run);
        }
    }
}

/// The digit of each word: see [`DigitWindow`].
fn sub_digits(limb: Limb, window: DigitWindow, source: &[u64], target: &mut [u64]) {
    let DigitWindow { bits, index, count } = window;
    let modulus = limb.modulus();
    let half = 1u64 << (bits - 1);
    // Below 2^((count−1)·bits) ≤ the source's modulus, so the sum fits a word.
    let offset: u64 = (0..count - 1).map(|digit| half << (digit * bits)).sum();
    let (mask, shift) = ((half << 1) - 1, index * bits);
    let last = index == count - 1;
    let lift = if last { 0 } else { modulus.reduce(half) };
    for (target, &word) in target.iter_mut().zip(source) {
        let shifted = (word + offset) >> shift;
        let digit = if last { shifted } else { shifted & mask };
        *target = modulus.sub(modulus.reduce(digit), lift);
    }
}
