//! Programs of CKKS and BGV on a card.
//!
//! [`Executor::new`] prepares a program once. It translates it to the steps on single limbs that the CPU runtime also uses (`crate::rns::steps`), fuses steps (`fusion`),
//! schedules them in levels (`plan`), and uploads keys and public polynomials. A run uploads the inputs, starts the recording and downloads the outputs; nothing else
//! leaves the card. All arithmetic is exact and equal to the CPU's.

mod conversions;
mod estimate;
mod fusion;
mod plan;
mod records;
mod tables;
#[cfg(all(test, unix))]
mod tests;

use super::{Call, Device, GpuError, Launch, Source, bytes_of};
use crate::Progress;
use crate::rns::RunError;
use crate::rns::bind::{check_inputs, check_keys, check_ring};
use crate::rns::steps::plaintext;
use fusion::Kernel;
use plan::{Batch, Plan};
use polyfabric_kernels::{RingDegree, cancel};
use polyfabric_program::rns::kernel::{KernelProgram, ValueType};
use polyfabric_schemes::rns::{KeySet, LimbId, Ring, RnsPolynomial};
use rayon::prelude::*;
use records::{KeyLimb, Space};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of new limbs that end a window: memory for early nodes, per run of a batch. Halved while intermediate results exceed `MOST_VALUE_BYTES`.
const WINDOW_BYTES: usize = 16 << 30;
const MOST_VALUE_BYTES: usize = 4 << 30;
/// Fewest limbs of a window.
const WINDOW_LIMBS: usize = 64;
/// Levels started between checks for cancellation.
const LEVELS_AT_ONCE: usize = 256;
/// Bytes of keys or public polynomials uploaded at a time.
const PIECE_BYTES: usize = 256 << 20;
/// Maximum sources of a base conversion whose byte sums fit 32 bits (`kernels/conversions.cu`).
const MOST_SOURCES: usize = 31;

/// Smallest and largest ring degree, as powers of two.
const LOG2_DEGREES: (u32, u32) = (4, 17);
/// Largest ring that one block transforms. Larger ones need two passes, whose blocks fill a card with fewer polynomials.
const LOG2_WHOLE: u32 = 12;
/// Largest tile of rows, in words, of a ring that is transformed in two passes. A tile of columns has `LOG2_COLUMNS` of `kernels/ntt.cu`.
const LOG2_ROW_TILE: u32 = 11;
const LOG2_COLUMNS: u32 = 3;
/// Words per thread of a transform, and maximum threads of a block.
const HELD: usize = 16;
const MOST_THREADS: usize = 512;
/// Words and threads of a conversion block, and the distance of its numbers in shared memory.
const CONVERSION_WORDS: usize = 128;
const NUMBER_STRIDE: usize = CONVERSION_WORDS + 4;
/// Words and threads of a block of the other kernels.
const BLOCK_WORDS: usize = 512;
const WORD_THREADS: u32 = 256;

/// Tiling of a ring's transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    log2_degree: u32,
    /// Levels of the column pass; 0 if a block fits the whole ring.
    column_levels: u32,
    log2_row_tile: u32,
}

/// Shared-memory bytes of a tile, with one padding word per 16, and of the factors of `factors` levels of butterflies, 16 bytes each, with one padding factor per 8.
fn tile_bytes(log2_words: u32, factors: usize) -> usize {
    let words = 1usize << log2_words;
    (factors + factors / 8) * 2 * size_of::<u64>() + (words + words / 16) * size_of::<u64>()
}

/// Shared-memory bytes of a conversion block for `sources` moduli plus one, rounded up to fours.
fn conversion_bytes(sources: usize) -> usize {
    (sources + 1).next_multiple_of(4) * NUMBER_STRIDE * size_of::<u64>()
}

fn tile_threads(log2_words: u32) -> usize {
    ((1 << log2_words) / HELD).clamp(32, MOST_THREADS)
}

impl Tiles {
    /// Tiling for a ring of `degree`.
    ///
    /// # Errors
    /// [`GpuError::RnsRing`] if the kernels do not support it.
    pub fn new(degree: RingDegree) -> Result<Self, GpuError> {
        let log2_degree = degree.log2();
        let (least, most) = LOG2_DEGREES;
        if !(least..=most).contains(&log2_degree) {
            return Err(GpuError::RnsRing { degree: degree.get(), least: 1 << least, most: 1 << most });
        }
        Ok(if log2_degree <= LOG2_WHOLE {
            Self { log2_degree, column_levels: 0, log2_row_tile: log2_degree }
        } else {
            Self { log2_degree, column_levels: log2_degree / 2, log2_row_tile: LOG2_ROW_TILE }
        })
    }

    /// The kernels for this tiling.
    pub fn source(self) -> Source {
        let definitions = vec![
            ("LOG2_DEGREE", u64::from(self.log2_degree)),
            ("COLUMN_LEVELS", u64::from(self.column_levels)),
            ("LOG2_ROW_TILE", u64::from(self.log2_row_tile)),
            ("ROW_THREADS", tile_threads(self.log2_row_tile) as u64),
            ("COLUMN_THREADS", tile_threads(self.column_levels + LOG2_COLUMNS) as u64),
        ];
        Source::rns(definitions, self.column_levels > 0)
    }

    /// Maximum shared memory of a transform block, in bytes.
    pub fn most_shared_bytes(self) -> usize {
        self.row_bytes().max(if self.column_levels > 0 { self.column_bytes() } else { 0 })
    }

    fn row_bytes(self) -> usize {
        tile_bytes(self.log2_row_tile, 1 << self.log2_row_tile)
    }

    fn column_bytes(self) -> usize {
        tile_bytes(self.column_levels + LOG2_COLUMNS, 1 << self.column_levels)
    }

    /// The launches for `batch`.
    fn launches(self, batch: Batch) -> Vec<Launch> {
        let of_tiles = |kernel, log2_tile: u32, shared_bytes: usize| Launch {
            kernel,
            blocks: (batch.count << (self.log2_degree - log2_tile)) as u32,
            threads: tile_threads(log2_tile) as u32,
            shared_bytes: shared_bytes as u32,
        };
        let blocks = |words| (batch.count * (1usize << self.log2_degree).div_ceil(words)) as u32;
        let of_words = |kernel| Launch { kernel, blocks: blocks(BLOCK_WORDS), threads: WORD_THREADS, shared_bytes: 0 };
        let rows = |kernel| of_tiles(kernel, self.log2_row_tile, self.row_bytes());
        let columns = |kernel| of_tiles(kernel, self.column_levels + LOG2_COLUMNS, self.column_bytes());
        let in_columns = self.column_levels > 0;
        match batch.kernel {
            Kernel::Forward if in_columns => vec![columns("forward_columns"), rows("forward_rows")],
            Kernel::Inverse if in_columns => vec![rows("inverse_rows"), columns("inverse_columns")],
            Kernel::Forward => vec![rows("forward_rows")],
            Kernel::Inverse => vec![rows("inverse_rows")],
            Kernel::InnerProducts => vec![of_words("inner_products")],
            Kernel::Sums => vec![of_words("sums")],
            Kernel::Loads => vec![of_words("loads")],
            Kernel::Conversions => vec![Launch {
                kernel: "conversions",
                blocks: blocks(CONVERSION_WORDS),
                threads: CONVERSION_WORDS as u32,
                shared_bytes: conversion_bytes(batch.sources) as u32,
            }],
        }
    }
}

/// Resources of a program on a card, known before keys exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Launches per run.
    pub launches: usize,
    /// Levels, each of which waits for the previous one.
    pub levels: usize,
    /// Single-limb polynomials computed by launches.
    pub nodes: usize,
    /// Bytes of intermediate results, inputs and outputs.
    pub value_bytes: usize,
    pub key_bytes: usize,
    /// Bytes of public polynomials.
    pub plaintext_bytes: usize,
    /// Bytes of kernel records.
    pub record_bytes: usize,
    /// Bytes read and written by kernels, whether cached or not.
    pub moved_bytes: usize,
    /// Butterflies of transforms: each a product with a constant, a sum and a difference.
    pub butterflies: usize,
    /// Other word products: inner products with keys, sums, constants; for base conversions those outside the tensor cores.
    pub products: usize,
}

impl Needs {
    /// Total bytes, without the ring's constants, which take a few limbs of memory per limb.
    pub fn bytes(&self) -> usize {
        self.value_bytes + self.key_bytes + self.plaintext_bytes + self.record_bytes
    }

    fn of(plan: &Plan, program: &KernelProgram, tiles: Tiles) -> Self {
        let degree = program.degree.get();
        let limbs = |count: usize| count * degree * size_of::<u64>();
        let named = plan
            .spaces
            .iter()
            .filter(|&&space| matches!(space, Space::Register | Space::Input | Space::Plaintext))
            .count();
        let keys = plan.words.iter().zip(&plan.spaces).filter(|(_, space)| **space == Space::Key);
        let keys: usize = keys.map(|(&word, _)| plan.keys[word as usize].bytes(program.degree)).sum();
        let batches = plan.levels.iter().flatten();
        let of_transforms = batches.filter(|batch| matches!(batch.kernel, Kernel::Forward | Kernel::Inverse));
        let transforms: usize = of_transforms.map(|batch| batch.count).sum();
        Self {
            moved_bytes: keys + limbs(named + if tiles.column_levels > 0 { 2 * transforms } else { 0 }),
            butterflies: transforms * degree / 2 * program.degree.log2() as usize,
            products: plan.products * degree,
            launches: plan.levels.iter().flatten().map(|&batch| tiles.launches(batch).len()).sum(),
            levels: plan.levels.len(),
            nodes: plan.starts.len(),
            value_bytes: limbs(plan.slots + plan.inputs.len()),
            key_bytes: plan.keys.iter().map(|limb| limb.bytes(program.degree)).sum(),
            plaintext_bytes: limbs(plan.plaintexts.len()),
            record_bytes: [&plan.words, &plan.tables].map(|words| size_of_val(&words[..])).iter().sum::<usize>()
                + size_of_val(&plan.starts[..]),
        }
    }
}

fn planned(program: &KernelProgram, batch: usize) -> Result<(Plan, Tiles), RunError> {
    program.check()?;
    let tiles = Tiles::new(program.degree)?;
    let limb_bytes = program.degree.get() * size_of::<u64>();
    let mut window = (WINDOW_BYTES / limb_bytes).max(WINDOW_LIMBS).saturating_mul(batch);
    let mut plan = Plan::new(program, batch, window)?;
    while plan.slots * limb_bytes / batch > MOST_VALUE_BYTES && window > WINDOW_LIMBS {
        window = (window / 2).max(WINDOW_LIMBS);
        plan = Plan::new(program, batch, window)?;
    }
    let most = plan.levels.iter().flatten().map(|batch| batch.sources).max().unwrap_or(0);
    if most > MOST_SOURCES {
        return Err(GpuError::Conversion { limbs: most, most: MOST_SOURCES }.into());
    }
    Ok((plan, tiles))
}

/// The resources of a run of `program` on a card.
///
/// # Errors
/// [`RunError`] if the program is inconsistent or unsupported.
pub fn needs(program: &KernelProgram) -> Result<Needs, RunError> {
    let (plan, tiles) = planned(program, 1)?;
    Ok(Needs::of(&plan, program, tiles))
}

/// A kernel program on a card, with its keys.
pub struct Executor<D: Device> {
    device: Arc<D>,
    program: KernelProgram,
    ring: Arc<Ring>,
    needs: Needs,
    /// Number of simultaneous runs.
    batch: usize,
    inputs: Vec<(u32, LimbId)>,
    outputs: Vec<ValueType>,
    recordings: Vec<D::Recording>,
    kernels: D::Kernels,
    /// The same launches individually, for timing.
    batches: Vec<(Batch, Vec<Call>)>,
    /// Locked by a run.
    memory: Mutex<Memory<D>>,
    /// Buffers that recordings read.
    _held: Vec<D::Buffer>,
}

/// Buffers that a run writes.
struct Memory<D: Device> {
    inputs: D::Buffer,
    slots: D::Buffer,
    /// Host memory: the inputs' limbs before a run, the outputs' after it.
    pinned: D::Pinned,
}

/// Totals of all launches of one kernel, each started after the previous one has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The kernel; both passes of two-pass transforms.
    pub kernel: &'static str,
    pub launches: usize,
    /// Single-limb polynomials computed; pairs for inner products.
    pub polynomials: usize,
    /// Seconds, including launch and wait.
    pub seconds: f64,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The program's outputs, in order.
    pub outputs: Vec<RnsPolynomial>,
    /// Time from the arrival of the inputs on the card to the completion of the outputs.
    pub on_card: Duration,
}

impl<D: Device> Executor<D> {
    /// Prepares `program` for `keys`, and uploads its constants to `device`.
    ///
    /// # Errors
    /// [`RunError`] if the program is inconsistent, keys are missing, or the card does not support or fit it.
    pub fn new(device: &Arc<D>, program: &KernelProgram, keys: &KeySet) -> Result<Self, RunError> {
        Self::batched(device, program, keys, 1)
    }

    /// Prepares `batch` simultaneous runs of `program` on separate inputs: the launches of one run, each with `batch` times as many polynomials.
    ///
    /// # Errors
    /// As [`Self::new`], and for an empty batch.
    pub fn batched(device: &Arc<D>, program: &KernelProgram, keys: &KeySet, batch: usize) -> Result<Self, RunError> {
        let (plan, tiles) = planned(program, batch)?;
        let ring = Arc::clone(keys.ring());
        check_ring(program, &ring)?;
        check_keys(program, keys)?;
        let kernels = device.compile(&tiles.source())?;
        let words = program.degree.get();
        let limb_bytes = words * size_of::<u64>();
        let limbs = program.moduli.len();
        // The allocation most likely to fail comes first.
        let slots = device.allocate(plan.slots * limb_bytes, "intermediate results")?;
        let inputs = device.allocate(plan.inputs.len() * limb_bytes, "inputs")?;
        let key = |&KeyLimb { key, row, part, limb, upper_bytes }: &KeyLimb, bytes: &mut [u8]| {
            let mut scratch = vec![0; words];
            // Key and limb exist: the keys have been checked.
            let Ok(key) = keys.get(plan.key_ids[key as usize]) else { return };
            let position = key.limbs().iter().position(|&other| other == limb).unwrap_or(0);
            parted(key.limb(part, usize::from(row), position, &mut scratch), upper_bytes, bytes);
        };
        let key_starts = plan.key_starts(program.degree);
        let keys = brought(&**device, &plan.keys, |limb| limb.bytes(program.degree), "keys", key)?;
        let public = |&limb: &_, bytes: &mut [u8]| bytes.copy_from_slice(bytes_of(&plaintext(program, &ring, limb)));
        let plaintexts = brought(&**device, &plan.plaintexts, |_| limb_bytes, "public polynomials", public)?;
        let constants = "constants of the ring";
        let moduli = device.upload(bytes_of(&tables::moduli(&ring, limbs)), constants)?;
        let factors = [false, true].map(|inverse| tables::factors(&ring, limbs, inverse));
        let [forward, inverse] = &factors;
        let [forward, inverse] =
            [device.upload(bytes_of(forward), constants)?, device.upload(bytes_of(inverse), constants)?];
        drop(factors);
        let addresses = [&slots, &inputs, &plaintexts, &keys].map(|buffer| device.address(buffer));
        let tables = device.upload(bytes_of(&plan.tables), "constants of base conversions")?;
        let tables_at = device.address(&tables);
        let placed = |(&word, space): (&u64, &Space)| {
            let base = match space {
                Space::Number => return word,
                Space::Table => return tables_at + word * size_of::<u64>() as u64,
                Space::Register => addresses[0],
                Space::Input => addresses[1],
                Space::Plaintext => addresses[2],
                Space::Key => return addresses[3] + key_starts[word as usize],
            };
            base + word * limb_bytes as u64
        };
        let records: Vec<u64> = plan.words.iter().zip(&plan.spaces).map(placed).collect();
        let what = "kernel records";
        let records = device.upload(bytes_of(&records), what)?;
        let starts = device.upload(bytes_of(&plan.starts), what)?;
        let [records_at, starts_at, moduli_at] = [&records, &starts, &moduli].map(|buffer| device.address(buffer));
        let [forward_at, inverse_at] = [&forward, &inverse].map(|buffer| device.address(buffer));
        let calls = |batch: &Batch| {
            let first = starts_at + (batch.first * size_of::<u32>()) as u64;
            let mut arguments = vec![records_at, first, moduli_at];
            match batch.kernel {
                Kernel::Forward => arguments.push(forward_at),
                Kernel::Inverse => arguments.push(inverse_at),
                _ => {}
            }
            let launches = tiles.launches(*batch).into_iter();
            launches.map(|launch| Call { launch, arguments: arguments.clone() }).collect::<Vec<_>>()
        };
        let levels: Vec<Vec<Vec<Call>>> = plan.levels.iter().map(|level| level.iter().map(calls).collect()).collect();
        // SAFETY: records name limbs of buffers that this executor owns, and everything that a node reads was written in an earlier level.
        let record = |levels: &[Vec<Vec<Call>>]| unsafe { device.record(&kernels, levels) };
        let recordings = levels.chunks(LEVELS_AT_ONCE).map(record).collect::<Result<_, _>>()?;
        let of_one = || program.outputs.iter().map(|output| program.value(output.value).clone());
        let outputs: Vec<ValueType> = (0..batch).flat_map(|_| of_one()).collect();
        let output_limbs: usize = outputs.iter().map(|value| value.limbs.len()).sum();
        let pinned = device.pinned(plan.inputs.len().max(output_limbs) * limb_bytes)?;
        Ok(Self {
            needs: Needs::of(&plan, program, tiles),
            batch,
            outputs,
            inputs: plan.inputs,
            batches: plan.levels.iter().flatten().copied().zip(levels.into_iter().flatten()).collect(),
            kernels,
            device: Arc::clone(device),
            program: program.clone(),
            ring,
            recordings,
            memory: Mutex::new(Memory { inputs, slots, pinned }),
            _held: vec![keys, plaintexts, moduli, forward, inverse, tables, records, starts],
        })
    }

    /// The card.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Its resources on the card, for the whole batch.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Checks `inputs` and uploads them.
    fn bring(&self, inputs: &[&RnsPolynomial], memory: &mut Memory<D>) -> Result<(), RunError> {
        let of_one = self.program.inputs().count();
        if inputs.len() != of_one * self.batch {
            return Err(RunError::InputCount { given: inputs.len(), needed: of_one * self.batch });
        }
        inputs.chunks(of_one.max(1)).try_for_each(|inputs| check_inputs(&self.program, &self.ring, inputs))?;
        let bytes = self.inputs.len() * self.limb_bytes();
        let places = memory.pinned[..bytes].par_chunks_exact_mut(self.limb_bytes());
        places.zip(&self.inputs).for_each(|(place, &(input, limb))| {
            let input = inputs[input as usize];
            // The limb exists.
            place.copy_from_slice(bytes_of(input.limb(input.position(limb).unwrap_or(0))));
        });
        Ok(self.device.write(&memory.inputs, 0, &memory.pinned[..bytes])?)
    }

    /// Downloads the outputs.
    fn fetch(&self, memory: &mut Memory<D>) -> Result<Vec<RnsPolynomial>, RunError> {
        let zero = |value: &ValueType| RnsPolynomial::zero(self.program.degree, value.limbs.as_slice(), value.domain);
        let mut outputs: Vec<RnsPolynomial> = self.outputs.iter().map(zero).collect();
        let bytes: usize = outputs.iter().map(RnsPolynomial::bytes).sum();
        self.device.read(&memory.slots, 0, &mut memory.pinned[..bytes])?;
        let mut rest = &memory.pinned[..bytes];
        for output in &mut outputs {
            let words = output.words_mut();
            let (own, after) = rest.split_at(size_of_val(&*words));
            let own = own.par_chunks_exact(size_of::<u64>());
            words.par_iter_mut().zip(own).with_min_len(BLOCK_WORDS).for_each(|(word, bytes)| {
                *word = u64::from_ne_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]));
            });
            rest = after;
        }
        Ok(outputs)
    }

    fn limb_bytes(&self) -> usize {
        self.program.degree.get() * size_of::<u64>()
    }

    /// Runs the program on `inputs`, one polynomial per program input, in order; for a batch, consecutive sets of inputs and outputs.
    ///
    /// # Errors
    /// [`RunError`] if the inputs do not match or the card fails.
    pub fn run(&self, inputs: &[&RnsPolynomial], progress: &dyn Progress) -> Result<Ran, RunError> {
        let device = &*self.device;
        let memory = &mut *self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        self.bring(inputs, memory)?;
        let start = Instant::now();
        let total = self.recordings.len() as u64;
        for (done, recording) in self.recordings.iter().enumerate() {
            cancel::check();
            progress.update("run", done as u64, total);
            // SAFETY: this executor owns the recording's buffers, and no other run uses its memory.
            unsafe { device.play(recording)? };
            device.finish()?;
        }
        progress.update("run", total, total);
        let on_card = start.elapsed();
        Ok(Ran { outputs: self.fetch(memory)?, on_card })
    }

    /// The time of a run on `inputs`, by kernel.
    pub fn shares(&self, inputs: &[&RnsPolynomial]) -> Result<Vec<Share>, RunError> {
        let memory = &mut *self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        self.bring(inputs, memory)?;
        let mut shares =
            Kernel::ALL.map(|kernel| Share { kernel: kernel.name(), launches: 0, polynomials: 0, seconds: 0.0 });
        for (batch, calls) in &self.batches {
            cancel::check();
            let start = Instant::now();
            for call in calls {
                // SAFETY: as for the recording, which has the same launches.
                unsafe { self.device.launch(&self.kernels, call.launch, &call.arguments)? };
            }
            self.device.finish()?;
            let share = &mut shares[batch.kernel as usize];
            share.launches += calls.len();
            share.polynomials += batch.count;
            share.seconds += start.elapsed().as_secs_f64();
        }
        Ok(shares.into_iter().filter(|share| share.launches > 0).collect())
    }
}

/// Writes `words` in the kernels' key format: the lower 32 bits of all, if they are separate, followed by the rest, in `upper_bytes` bytes each.
fn parted(words: &[u64], upper_bytes: usize, bytes: &mut [u8]) {
    if upper_bytes == 0 {
        bytes.copy_from_slice(bytes_of(words));
        return;
    }
    let (lower, upper) = bytes.split_at_mut(size_of_val(words) / 2);
    for ((word, lower), upper) in words.iter().zip(lower.chunks_exact_mut(4)).zip(upper.chunks_exact_mut(upper_bytes)) {
        let [first, above] = [*word as u32, (word >> 32) as u32].map(u32::to_le_bytes);
        lower.copy_from_slice(&first);
        upper.copy_from_slice(&above[..upper_bytes]);
    }
}

/// Computes each of `limbs` by `make` on all cores, and uploads them consecutively.
fn brought<D: Device, L: Sync>(
    device: &D,
    limbs: &[L],
    bytes: impl Fn(&L) -> usize,
    what: &'static str,
    make: impl Fn(&L, &mut [u8]) + Sync,
) -> Result<D::Buffer, GpuError> {
    let buffer = device.allocate(limbs.iter().map(&bytes).sum(), what)?;
    let mut piece = Vec::new();
    let (mut rest, mut offset) = (limbs, 0);
    while !rest.is_empty() {
        cancel::check();
        let mut end = 0;
        let fit = rest.iter().take_while(|limb| {
            end += bytes(limb);
            end <= PIECE_BYTES
        });
        let (now, after) = rest.split_at(fit.count().max(1));
        piece.resize(now.iter().map(&bytes).sum(), 0);
        let mut left = &mut piece[..];
        let mut places = Vec::with_capacity(now.len());
        for limb in now {
            let (place, others) = left.split_at_mut(bytes(limb));
            places.push((limb, place));
            left = others;
        }
        places.into_par_iter().for_each(|(limb, place)| make(limb, place));
        device.write(&buffer, offset, &piece)?;
        offset += piece.len();
        rest = after;
    }
    Ok(buffer)
}
