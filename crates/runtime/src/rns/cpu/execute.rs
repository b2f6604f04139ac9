//! Runs a schedule.

use super::inner_product::Scratch;
use super::public::InUse;
use super::schedule::{Ahead, Level, Placed, Slot, Task};
use super::{Arena, Executor};
use crate::Progress;
use crate::rns::steps::{Place, Step, StepKind};
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::cancel;
use polyfabric_kernels::modular::Limb;
use polyfabric_program::rns::kernel::{Conversion, DigitWindow};
use polyfabric_schemes::rns::{Domain, RnsPolynomial};
use rayon::prelude::*;
use std::ops::{Deref, Range};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Words of a conversion per task, a column of all limbs.
const CONVERSION_COLUMNS: usize = 4096;

/// The buffers of a run. Tasks of one level lock the buffers they touch. The schedule never lets two of them write one buffer, so no lock waits, and locking is cheap
/// compared with an operation on N words.
pub(super) struct Buffers<'a> {
    slots: Vec<RwLock<&'a mut [u64]>>,
    inputs: &'a [&'a RnsPolynomial],
}

/// N words to read.
pub(super) enum Words<'b, 'a> {
    Slot(RwLockReadGuard<'b, &'a mut [u64]>),
    Slice(&'b [u64]),
    /// A public polynomial made at its use.
    Made(InUse<'b>),
    /// A public polynomial with repeated values.
    Repeated(AlignedTorus<u64>),
}

impl Deref for Words<'_, '_> {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        match self {
            Self::Slot(guard) => guard,
            Self::Slice(words) => words,
            Self::Made(limb) => limb,
            Self::Repeated(words) => words,
        }
    }
}

impl<'a> Buffers<'a> {
    fn read(&self, slot: Slot) -> RwLockReadGuard<'_, &'a mut [u64]> {
        self.slots[slot as usize].read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, slot: Slot) -> RwLockWriteGuard<'_, &'a mut [u64]> {
        self.slots[slot as usize].write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A region of a limb and the next one (empty after the last).
pub(super) struct Regions {
    pub this: Range<usize>,
    pub next: Range<usize>,
}

pub(super) fn regions(count: usize, words: usize) -> impl Iterator<Item = Regions> {
    (0..count).step_by(words).map(move |start| {
        let end = start + words;
        Regions { this: start..end, next: end..(end + words).min(count) }
    })
}

impl Executor {
    pub(super) fn execute(
        &self,
        inputs: &[&RnsPolynomial],
        outputs: &mut [RnsPolynomial],
        arena: &mut Arena,
        progress: &dyn Progress,
    ) {
        let words = self.prepared.program.degree.get();
        let slots = outputs.iter_mut().flat_map(|output| output.words_mut().chunks_exact_mut(words));
        let slots = slots.chain(arena.chunks_exact_mut(words)).map(RwLock::new).collect();
        let buffers = Buffers { slots, inputs };
        let total = self.prepared.schedule.levels.len() as u64;
        let mut scratch = Scratch::default();
        for (done, level) in self.prepared.schedule.levels.iter().enumerate() {
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
        let mut rest = &task[..];
        while let [placed, after @ ..] = rest {
            cancel::check();
            rest = after;
            let step = &self.prepared.steps.steps[placed.step as usize];
            match &step.kind {
                StepKind::Convert { converter, conversion } => {
                    self.convert(*converter as usize, *conversion, step, placed, buffers);
                }
                StepKind::InnerProduct { .. } => {
                    let joined = after.iter().take_while(|other| other.joined).count();
                    rest = &after[joined..];
                    let group = &task[task.len() - after.len() - 1..task.len() - rest.len()];
                    self.inner_products(group, buffers, scratch);
                }
                _ => self.step(step, placed, buffers),
            }
        }
    }

    /// The words of operand `operand`, whose buffer differs from that of the result.
    pub(super) fn words<'b, 'a>(
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
                // The limb exists: the inputs have been checked.
                Words::Slice(input.limb(input.position(limb).unwrap_or(0)))
            }
            (None, Place::Plaintext(index)) => self.whole(index),
            // Every register has a buffer.
            (None, Place::Register(_)) => Words::Slice(&[]),
        }
    }

    /// The words to prefetch during a step; possibly empty.
    fn ahead<'b, 'a>(&self, placed: &Placed, buffers: &'b Buffers<'a>) -> Words<'b, 'a> {
        match placed.ahead {
            Some(Ahead::Slot(slot)) => Words::Slot(buffers.read(slot)),
            Some(Ahead::Input(input, limb)) => {
                let input = buffers.inputs[input as usize];
                Words::Slice(input.limb(input.position(limb).unwrap_or(0)))
            }
            None => Words::Slice(&[]),
        }
    }

    fn step(&self, step: &Step, placed: &Placed, buffers: &Buffers<'_>) {
        let limb: Limb = self.prepared.ring.limb(step.limb);
        let mut result = buffers.write(placed.results[0]);
        let result: &mut [u64] = &mut result;
        let own = placed.operands.iter().position(|&slot| slot == Some(placed.results[0]));
        if let Some(factor) = self.repeated_factor(step) {
            return self.repeated_product(factor, step, placed, buffers, result);
        }
        let words = |operand: usize| self.words(step, placed, buffers, operand);
        let load = |result: &mut [u64]| {
            if own.is_none() {
                result.copy_from_slice(&words(0));
            }
        };
        match &step.kind {
            StepKind::Copy => load(result),
            StepKind::Add => match own {
                Some(own) => limb.add_assign(result, &words(1 - own)),
                None => limb.add(result, &words(0), &words(1)),
            },
            StepKind::Sub => match own {
                Some(0) => limb.sub_assign(result, &words(1)),
                Some(_) => limb.sub_from_assign(result, &words(0)),
                None => limb.sub(result, &words(0), &words(1)),
            },
            StepKind::Negate => {
                load(result);
                limb.neg_assign(result);
            }
            StepKind::Multiply => match own {
                Some(own) => limb.multiply_assign(result, &words(1 - own)),
                None => limb.multiply(result, &words(0), &words(1)),
            },
            StepKind::MultiplyAdd => match own {
                Some(_) => limb.multiply_add_assign(result, &words(0), &words(1)),
                None => limb.multiply_add(result, &words(0), &words(1), &words(2)),
            },
            StepKind::Scale(factor) => match own {
                Some(_) => limb.scale_assign(result, *factor),
                None => limb.scale(result, &words(0), *factor),
            },
            StepKind::AddConstant(addend, domain) => {
                load(result);
                let reach = if *domain == Domain::Evaluation { result.len() } else { 1 };
                limb.add_scalar_assign(&mut result[..reach], *addend);
            }
            StepKind::Forward => {
                load(result);
                let ntt = self.prepared.ring.ntt(step.limb);
                let ahead = self.ahead(placed, buffers);
                if placed.open { ntt.forward_begin(result, &[&ahead]) } else { ntt.forward(result) }
            }
            StepKind::Inverse => {
                let ntt = self.prepared.ring.ntt(step.limb);
                if own.is_some() { ntt.inverse(result) } else { ntt.inverse_of(&words(0), result) }
            }
            StepKind::Weigh { converter, source, balanced } => {
                load(result);
                self.prepared.steps.converters[*converter as usize].weigh(*source as usize, *balanced, result);
            }
            StepKind::Combine { converter, target, balanced } => {
                let weighed: Vec<Words<'_, '_>> = (0..step.operands.len()).map(words).collect();
                let weighed: Vec<&[u64]> = weighed.iter().map(|words| &words[..]).collect();
                self.prepared.steps.converters[*converter as usize].combine(
                    *target as usize,
                    *balanced,
                    &weighed,
                    result,
                );
            }
            StepKind::Permute(index) => {
                self.prepared.steps.permutations[*index as usize].apply(&words(0), result, placed.next_use)
            }
            StepKind::Substitute(element) => element.apply(limb.modulus(), &words(0), result),
            StepKind::SubScale(factor) if placed.finish[1] => {
                self.finish_sub_scale(*factor, own, step, placed, buffers, result);
            }
            StepKind::SubScale(factor) => match own {
                Some(0) => limb.sub_scale_assign(result, &words(1), *factor),
                Some(_) => limb.sub_from_scale_assign(result, &words(0), *factor),
                None => limb.sub_scale(result, &words(0), &words(1), *factor, placed.next_use),
            },
            StepKind::Reduce { from, centred: false } => limb.reduce_from(result, &words(0), *from),
            StepKind::Reduce { from, centred: true } => limb.reduce_centred_from(result, &words(0), *from),
            StepKind::SubDigit(window) => sub_digits(limb, *window, &words(0), result),
            StepKind::Key { key, row, part } => {
                let (key, positions) = &self.keys[*key as usize];
                key.limb(*part, usize::from(*row), positions[step.limb.index()].unwrap_or(0), result);
            }
            // Handled by the caller.
            StepKind::InnerProduct { .. } | StepKind::Convert { .. } => {}
        }
    }

    /// (a − b)·w, region by region, which also finishes the transform of b.
    fn finish_sub_scale(
        &self,
        factor: u64,
        own: Option<usize>,
        step: &Step,
        placed: &Placed,
        buffers: &Buffers<'_>,
        result: &mut [u64],
    ) {
        let (ntt, limb) = (self.prepared.ring.ntt(step.limb), self.prepared.ring.limb(step.limb));
        let other = |operand| (own != Some(operand)).then(|| self.words(step, placed, buffers, operand));
        let a = other(0);
        // The buffer of b, unless it is that of the result.
        let mut b = placed.operands[1].filter(|_| own != Some(1)).map(|slot| buffers.write(slot));
        let (ahead, count) = (self.ahead(placed, buffers), result.len());
        for Regions { this, next } in regions(count, ntt.region()) {
            let result = &mut result[this.clone()];
            let share = ahead.len() * this.start / count..ahead.len() * this.end / count;
            let next = [a.as_ref().map_or(&[][..], |a| &a[next]), &ahead[share]];
            match (&a, &mut b) {
                (Some(a), None) => {
                    ntt.forward_end(result, this.start, &next);
                    limb.sub_from_scale_assign(result, &a[this], factor);
                }
                (Some(a), Some(b)) => {
                    let b = &mut b[this.clone()];
                    ntt.forward_end(b, this.start, &next);
                    limb.sub_scale(result, &a[this], b, factor, placed.next_use);
                }
                (None, Some(b)) => {
                    let b = &mut b[this.clone()];
                    ntt.forward_end(b, this.start, &next);
                    limb.sub_scale_assign(result, b, factor);
                }
                // a and b are different registers, so one of them has a separate buffer.
                (None, None) => {}
            }
        }
    }

    fn convert(&self, converter: usize, conversion: Conversion, step: &Step, placed: &Placed, buffers: &Buffers<'_>) {
        let converter = &self.prepared.steps.converters[converter];
        let sources: Vec<Words<'_, '_>> =
            (0..step.operands.len()).map(|operand| self.words(step, placed, buffers, operand)).collect();
        let mut targets: Vec<_> = placed.results.iter().map(|&slot| buffers.write(slot)).collect();
        // Columns of all limbs, distributed over threads.
        let columns = self.prepared.program.degree.get().div_ceil(CONVERSION_COLUMNS);
        let mut chunks: Vec<Vec<&mut [u64]>> = (0..columns).map(|_| Vec::with_capacity(targets.len())).collect();
        for target in &mut targets {
            let target: &mut [u64] = target;
            target.chunks_mut(CONVERSION_COLUMNS).zip(&mut chunks).for_each(|(chunk, column)| column.push(chunk));
        }
        let run = |(index, targets): (usize, &mut Vec<&mut [u64]>)| {
            let start = index * CONVERSION_COLUMNS;
            let end = (start + CONVERSION_COLUMNS).min(self.prepared.program.degree.get());
            let sources: Vec<&[u64]> = sources.iter().map(|source| &source[start..end]).collect();
            match conversion {
                Conversion::Approximate => converter.convert(&sources, targets, placed.next_use),
                Conversion::Balanced => converter.convert_balanced(&sources, targets, placed.next_use),
                Conversion::Centred => converter.convert_exact(&sources, targets, placed.next_use),
            }
        };
        if self.pool.is_some() {
            chunks.par_iter_mut().enumerate().for_each(run);
        } else {
            chunks.iter_mut().enumerate().for_each(run);
        }
    }
}

/// The digit of each word; see [`DigitWindow`].
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
