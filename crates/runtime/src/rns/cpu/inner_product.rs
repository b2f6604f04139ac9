//! Inner products of digits with both halves of keys, several at a time.
//!
//! They proceed region by region. In a region, the transforms of digits are finished, and every set of digits is multiplied with all its keys while its words are in the
//! first-level cache. A key's words are read from memory once for all sets of digits.

use super::Executor;
use super::execute::{Buffers, Regions, Words, regions};
use super::schedule::Placed;
use crate::rns::steps::{Place, StepKind};
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::expander::UniformStream;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{BLOCK, Limb, Rows};
use polyfabric_schemes::rns::Part;
use std::ops::Range;
use std::sync::RwLockWriteGuard;

/// A digit of an inner product.
enum Digit<'b, 'a> {
    /// Its transform is not finished.
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

/// The factors of an inner product: one half of a key.
enum Factors<'b> {
    InBlocks {
        words: &'b [u64],
        width: usize,
        count: usize,
        rows: &'b [u16],
    },
    Apart(Vec<&'b [u64]>),
    /// Masks expanded region by region, into one region of words per row.
    Drawn {
        streams: Vec<UniformStream>,
        region: &'b mut [AlignedTorus<u64>],
    },
}

impl Factors<'_> {
    /// Part `part` of `parts` of the factors for the words `words`, to be prefetched.
    fn part(&self, words: &Range<usize>, part: usize, parts: usize) -> &[u64] {
        match self {
            Self::InBlocks { words: all, width, count, .. } => {
                let [start, length] = [words.start, words.len()].map(|words| words / BLOCK * count * width);
                &all[start + length * part / parts..start + length * (part + 1) / parts]
            }
            // Just made, or not yet made.
            Self::Apart(_) | Self::Drawn { .. } => &[],
        }
    }
}

/// Digits that are multiplied with one or several keys.
struct Digits<'b, 'a> {
    places: &'b [Place],
    digits: Vec<Digit<'b, 'a>>,
}

/// A key's rows.
struct Key<'b> {
    key: u32,
    rows: &'b [u16],
    halves: [Factors<'b>; 2],
    /// The region whose masks are expanded.
    drawn: Option<usize>,
}

impl Key<'_> {
    /// Expands the masks of the region `words`, once. Regions come in order.
    fn draw(&mut self, words: &Range<usize>) {
        if self.drawn == Some(words.start) {
            return;
        }
        self.drawn = Some(words.start);
        for half in &mut self.halves {
            if let Factors::Drawn { streams, region } = half {
                streams.iter_mut().zip(&mut **region).for_each(|(stream, row)| stream.fill(&mut row[..words.len()]));
            }
        }
    }
}

/// One of several inner products.
struct Member<'b, 'a> {
    /// Index of its set of digits.
    digits: usize,
    key: usize,
    sums: [RwLockWriteGuard<'b, &'a mut [u64]>; 2],
    next_use: NextUse,
}

impl Member<'_, '_> {
    /// The products of the words `words`.
    fn multiply(&mut self, limb: Limb, digits: &[Digit<'_, '_>], key: &Key<'_>, words: Range<usize>) {
        let digits: Vec<&[u64]> = digits.iter().map(|digit| &digit.words()[words.clone()]).collect();
        let apart = key.halves.each_ref().map(|factors| match factors {
            Factors::InBlocks { .. } => Vec::new(),
            Factors::Apart(rows) => rows.iter().map(|row| &row[words.clone()]).collect::<Vec<&[u64]>>(),
            Factors::Drawn { region, .. } => region.iter().map(|row| &row[..words.len()]).collect(),
        });
        let rows = [0, 1].map(|half| match key.halves[half] {
            Factors::InBlocks { words: all, width, count, rows } => {
                let [start, end] = [words.start, words.end].map(|word| word / BLOCK * count * width);
                Rows::InBlocks { words: &all[start..end], width, count, rows }
            }
            Factors::Apart(_) | Factors::Drawn { .. } => Rows::Apart(&apart[half]),
        });
        let [body, mask] = &mut self.sums;
        limb.inner_products([&mut body[words.clone()], &mut mask[words]], &digits, rows, self.next_use);
    }
}

/// Scratch of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// Buffers for words of keys that are not read as stored; aligned, so that no vector crosses two lines.
    keys: Vec<AlignedTorus<u64>>,
}

impl Scratch {
    /// Takes `count` buffers, each as long as in earlier uses; must be returned.
    fn take(&mut self, count: usize) -> Vec<AlignedTorus<u64>> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.resize_with(keys.len().max(count), || AlignedTorus::zeros(0));
        keys
    }
}

/// The first `count` words of `buffer`, which grows if necessary.
fn at_least(buffer: &mut AlignedTorus<u64>, count: usize) -> &mut [u64] {
    if buffer.len() < count {
        *buffer = AlignedTorus::zeros(count);
    }
    &mut buffer[..count]
}

impl Executor {
    /// Computes the inner products of `group`, which the schedule has grouped; those with one key are consecutive.
    pub(super) fn inner_products(&self, group: &[Placed], buffers: &Buffers<'_>, scratch: &mut Scratch) {
        if group.iter().all(|placed| self.is_read_by_regions(self.factors(placed).0)) {
            self.together(group, buffers, scratch);
            return;
        }
        // Keys that must be expanded take memory: process one at a time.
        for those in group.chunk_by(|a, b| self.factors(a).0 == self.factors(b).0) {
            self.together(those, buffers, scratch);
        }
    }

    /// The key of an inner product, and its rows.
    fn factors(&self, placed: &Placed) -> (u32, &[u16]) {
        let StepKind::InnerProduct { key, rows } = &self.prepared.steps.steps[placed.step as usize].kind else {
            unreachable!("a group of inner products")
        };
        (*key, rows)
    }

    /// Whether a key is read as stored, or expanded, region by region.
    fn is_read_by_regions(&self, key: u32) -> bool {
        let key = &self.keys[key as usize].0;
        let stored = |part| key.limb_in_blocks(part, 0).is_some();
        stored(Part::Body) && (stored(Part::Mask) || key.mask_stream(0, 0).is_some())
    }

    /// Inner products region by region: prefetches the next key words while transforms are finished, which takes as long.
    fn together(&self, group: &[Placed], buffers: &Buffers<'_>, scratch: &mut Scratch) {
        let step = |placed: &Placed| &self.prepared.steps.steps[placed.step as usize];
        let first = step(&group[0]).limb;
        let (ntt, limb) = (self.prepared.ring.ntt(first), self.prepared.ring.limb(first));
        let mut space = scratch.take(group.iter().map(|placed| 2 * self.factors(placed).1.len()).sum());
        let mut left = &mut space[..];
        let mut sets: Vec<Digits<'_, '_>> = Vec::new();
        let mut keys: Vec<Key<'_>> = Vec::new();
        let mut members: Vec<Member<'_, '_>> = Vec::with_capacity(group.len());
        for placed in group {
            let places = &step(placed).operands[..];
            let digits = sets.iter().position(|set| set.places == places).unwrap_or_else(|| {
                let digit = |operand: usize| match placed.operands[operand] {
                    Some(slot) if placed.finish[operand] => Digit::Open(buffers.write(slot)),
                    _ => Digit::Done(self.words(step(placed), placed, buffers, operand)),
                };
                sets.push(Digits { places, digits: (0..places.len()).map(digit).collect() });
                sets.len() - 1
            });
            let (id, rows) = self.factors(placed);
            let key = keys.iter().position(|key| (key.key, key.rows) == (id, rows)).unwrap_or_else(|| {
                let (own, rest) = std::mem::take(&mut left).split_at_mut(2 * rows.len());
                left = rest;
                keys.push(self.key(id, rows, first.index(), ntt.region(), own));
                keys.len() - 1
            });
            let sums = [0, 1].map(|half| buffers.write(placed.results[half]));
            members.push(Member { digits, key, sums, next_use: placed.next_use });
        }
        // A set of digits prefetches the next region of one key, or its share.
        let shares = sets.len().div_ceil(keys.len());
        for Regions { this, next } in regions(self.prepared.program.degree.get(), ntt.region()) {
            for (number, set) in sets.iter_mut().enumerate() {
                let (share, parts) = (number / keys.len(), set.digits.len());
                for (part, digit) in set.digits.iter_mut().enumerate() {
                    let Digit::Open(digit) = digit else { continue };
                    let halves = &keys[number % keys.len()].halves;
                    let [bodies, masks] =
                        halves.each_ref().map(|half| half.part(&next, share * parts + part, shares * parts));
                    let (begin, end) = digit.split_at_mut(next.start);
                    let of_digit = &end[..next.len()];
                    ntt.forward_end(&mut begin[this.clone()], this.start, &[bodies, masks, of_digit]);
                }
                for member in members.iter_mut().filter(|member| member.digits == number) {
                    keys[member.key].draw(&this);
                    member.multiply(limb, &set.digits, &keys[member.key], this.clone());
                }
            }
        }
        drop((members, keys));
        scratch.keys = space;
    }

    /// Rows of a key at limb `limb` of the ring, which has regions of `region` words.
    fn key<'b>(
        &'b self,
        id: u32,
        rows: &'b [u16],
        limb: usize,
        region: usize,
        space: &'b mut [AlignedTorus<u64>],
    ) -> Key<'b> {
        let (key, positions) = &self.keys[id as usize];
        // The limb exists: the keys have been checked.
        let position = positions[limb].unwrap_or(0);
        let (for_bodies, for_masks) = space.split_at_mut(rows.len());
        let half = |space: &'b mut [AlignedTorus<u64>], part| match key.limb_in_blocks(part, position) {
            Some((words, width)) => Factors::InBlocks { words, width, count: key.gadget().terms().len(), rows },
            None if part == Part::Mask && key.mask_stream(0, position).is_some() => {
                space.iter_mut().for_each(|row| _ = at_least(row, region));
                let stream = |&row: &u16| key.mask_stream(usize::from(row), position);
                Factors::Drawn { streams: rows.iter().filter_map(stream).collect(), region: space }
            }
            None => {
                let expand = |(&row, space): (&u16, &'b mut AlignedTorus<u64>)| {
                    key.limb(part, usize::from(row), position, at_least(space, self.prepared.program.degree.get()))
                };
                Factors::Apart(rows.iter().zip(space).map(expand).collect())
            }
        };
        Key { key: id, rows, halves: [half(for_bodies, Part::Body), half(for_masks, Part::Mask)], drawn: None }
    }
}
