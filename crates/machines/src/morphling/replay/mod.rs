//! Replay of Morphling's events ([`crate::torus::replay`]).
//!
//! Data lives only where the schedule puts it: an event reads what lies at its places in the cycle of its reads, whatever the
//! mapper meant to be there, and what it writes is there from the cycle after its writes on. So a schedule with a wrong
//! order, a wrong buffer or a missing transfer gives wrong ciphertexts. The arithmetic is that of the interpreter's
//! primitives, with the machine's widths.

mod rows;
mod storage;
mod vector;

use super::emit::resources::Chip;
use super::software::Streams;
use crate::engine::schedule::{MemoryId, OpRef, Place, Placed, Resource, Schedule, Value};
use crate::torus::iteration::Forward;
use crate::torus::names::ciphertext;
use crate::torus::replay::datum::Datum;
use crate::torus::replay::{self as torus, Replay, ReplayError};
use crate::torus::workload::Item;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_runtime::Progress;
use polyfabric_runtime::tfhe::interpreter::Primitives;
use polyfabric_schemes::tfhe::{LweBatch, ServerKey};
use rayon::prelude::*;
use rows::{Entry, RowSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use storage::Storage;

/// What every event needs.
pub(crate) struct Context<'a> {
    pub chip: &'a Chip,
    pub program: &'a KernelProgram,
    pub streams: &'a Streams,
    pub primitives: Primitives<'a, u32>,
    pub tables: Vec<Vec<u32>>,
    forwards: HashMap<(u32, u32), &'a Forward>,
}

impl Context<'_> {
    /// The forward transform that `op` is part of.
    pub fn forward(&self, op: OpRef) -> Option<&Forward> {
        self.forwards.get(&(op.kernel_op, op.body_op)).copied()
    }
}

/// Entries that wait before the rows run, over all sets: bounds the memory of a replay.
const QUEUE: usize = 1 << 14;

struct Replayer<'a, 's> {
    context: Context<'a>,
    /// Set of rows of each unit and memory.
    unit_sets: HashMap<Resource, usize>,
    memory_sets: HashMap<MemoryId, usize>,
    sets: Vec<RowSet<'s>>,
    storage: Storage,
    off_chip: HashMap<Value, Datum>,
    /// Writes that are under way: cycle, order, place or value, content.
    agenda: BinaryHeap<Reverse<(i64, u64)>>,
    writes: HashMap<u64, Vec<(Place, Value, Datum)>>,
    next: u64,
    queued: usize,
}

/// Replays `schedule`, which `streams` were mapped to, on `inputs`.
///
/// # Errors
/// [`ReplayError::Run`] if program, key and inputs do not fit; any other if the schedule is wrong.
pub(crate) fn replay(
    program: &KernelProgram,
    streams: &Streams,
    schedule: &Schedule,
    chip: &Chip,
    key: &ServerKey<u32>,
    inputs: &BTreeMap<String, LweBatch<u32>>,
    progress: &dyn Progress,
) -> Result<Replay, ReplayError> {
    let torus::Context { program, primitives, tables } = torus::Context::new(program, key, inputs)?;
    let mut forwards = HashMap::new();
    for (&operation, &plan) in &streams.plan_of {
        let plan = &streams.plans[plan];
        forwards.extend(plan.forwards.iter().map(|forward| ((operation, forward.operation), forward)));
    }
    let context = Context { chip, program, streams, primitives, tables, forwards };
    let (unit_sets, memory_sets, count) = sets(chip);
    let named = |item: Item| ciphertext(program, chip.classes.ciphertexts(), item);
    let off_chip = torus::inputs(program, inputs).map(|(item, datum)| (named(item), datum)).collect();
    let mut replayer = Replayer {
        context,
        unit_sets,
        memory_sets,
        sets: (0..count).map(|_| RowSet::default()).collect(),
        storage: Storage::default(),
        off_chip,
        agenda: BinaryHeap::new(),
        writes: HashMap::new(),
        next: 0,
        queued: 0,
    };
    let total = schedule.event_count();
    for (number, placed) in schedule.events().enumerate() {
        replayer.event(placed)?;
        if number % 4096 == 0 {
            progress.update("replay", number as u64, total);
        }
    }
    replayer.flush(i64::MAX)?;
    replayer.write_until(i64::MAX);
    progress.update("replay", total, total);
    let outputs = replayer.outputs()?;
    Ok(Replay { outputs, saturations: replayer.context.primitives.saturations(), events: total })
}

type Sets = (HashMap<Resource, usize>, HashMap<MemoryId, usize>, usize);

/// Rows that share an FFT unit form a set.
fn sets(chip: &Chip) -> Sets {
    let (mut units, mut memories, mut count) = (HashMap::new(), HashMap::new(), 0);
    for row in chip.rows.iter().flatten() {
        let set = *units.entry(row.fft).or_insert_with(|| {
            count += 1;
            count - 1
        });
        for unit in [row.decomposition, row.vpe, row.ifft, row.accumulator] {
            units.insert(unit, set);
        }
        for memory in [row.bank, row.poly_acc, row.digits, row.spectrum, row.product] {
            memories.insert(memory, set);
        }
    }
    (units, memories, count)
}

impl<'s> Replayer<'_, 's> {
    fn event(&mut self, placed: Placed<'s>) -> Result<(), ReplayError> {
        self.write_until(placed.start);
        let event = placed.event;
        if let Some(&set) = self.unit_sets.get(&event.resource) {
            let mut key = None;
            for read in event.reads.iter().filter(|read| self.context.chip.key_wires.contains(&read.place.memory)) {
                match self.storage.get(read.place, placed.start)? {
                    Datum::BootstrapKey(iteration, polynomials) => key = Some((iteration, polynomials)),
                    other => {
                        let (expected, found) = ("bootstrapping key", other.name());
                        return Err(ReplayError::Kind { cycle: placed.start, expected, found });
                    }
                }
            }
            self.twiddles(placed)?;
            self.sets[set].push(Entry::Event(placed, key));
            self.queued += 1;
            if self.queued >= QUEUE {
                self.flush(placed.start)?;
            }
            return Ok(());
        }
        if event.reads.iter().any(|read| self.memory_sets.contains_key(&read.place.memory)) {
            self.flush(placed.start)?;
        }
        let operands: Result<Vec<Datum>, ReplayError> = event
            .reads
            .iter()
            .map(|read| self.read(read.place, read.value.shifted(placed.shift), placed.start))
            .collect();
        let results = vector::compute(&self.context, placed, &operands?)?;
        let mut now: HashMap<i64, Vec<(Place, Value, Datum)>> = HashMap::new();
        for (write, datum) in event.writes.iter().zip(results) {
            let value = write.value.shifted(placed.shift);
            now.entry(placed.start + i64::from(write.first)).or_default().push((write.place, value, datum));
        }
        for (cycle, writes) in now {
            self.next += 1;
            self.writes.insert(self.next, writes);
            self.agenda.push(Reverse((cycle, self.next)));
        }
        Ok(())
    }

    /// Holds that the twiddle factors that a transform takes are those of the ring.
    fn twiddles(&self, placed: Placed<'s>) -> Result<(), ReplayError> {
        let Context { chip, streams, .. } = &self.context;
        for read in placed.event.reads.iter().filter(|read| chip.twiddles.contains(&read.place.memory)) {
            let found = self.storage.get(read.place, placed.start)?;
            if !matches!(found, Datum::Twiddles(degree) if u64::from(degree) == streams.layout.sizes.ring_degree) {
                let (expected, found) = ("twiddle factors of the ring", found.name());
                return Err(ReplayError::Kind { cycle: placed.start, expected, found });
            }
        }
        Ok(())
    }

    fn read(&self, place: Place, value: Value, cycle: i64) -> Result<Datum, ReplayError> {
        if place.memory == self.context.chip.hbm {
            if let Some(datum) = self.off_chip.get(&value) {
                return Ok(datum.clone());
            }
            let classes = &self.context.chip.classes;
            return match value.class {
                class if class == classes.table => Ok(Datum::Table(value.index)),
                class if class == classes.bootstrap_key => {
                    Ok(Datum::BootstrapKey(value.iteration, [(value.index >> 8, value.index & 0xff)].into()))
                }
                class if class == classes.twiddles => Ok(Datum::Twiddles(value.index)),
                class if class == classes.key_switch_key => Ok(Datum::Tile(value.iteration)),
                class if class == classes.words => Ok(Datum::Words),
                _ => Err(ReplayError::Missing { value, cycle }),
            };
        }
        if place.memory == self.context.chip.scheduler {
            return Ok(Datum::Words);
        }
        match self.memory_sets.get(&place.memory) {
            Some(&set) => self.sets[set].get(place, cycle),
            None => self.storage.get(place, cycle),
        }
    }

    /// Lets writes before cycle `until` happen; those to the rows' banks are handed on with their cycle.
    fn write_until(&mut self, until: i64) {
        while let Some(&Reverse((cycle, id))) = self.agenda.peek()
            && cycle < until
        {
            self.agenda.pop();
            for (place, value, datum) in self.writes.remove(&id).unwrap_or_default() {
                if place.memory == self.context.chip.hbm {
                    self.off_chip.insert(value, datum);
                } else if let Some(&set) = self.memory_sets.get(&place.memory) {
                    self.sets[set].push(Entry::Write(cycle, place, datum));
                } else if place.memory != self.context.chip.scheduler {
                    self.storage.put(place, datum);
                }
            }
        }
    }

    fn flush(&mut self, until: i64) -> Result<(), ReplayError> {
        let context = &self.context;
        self.queued = 0;
        self.sets.par_iter_mut().try_for_each(|set| set.run(context, until))
    }

    fn outputs(&self) -> Result<BTreeMap<String, LweBatch<u32>>, ReplayError> {
        let (program, classes) = (self.context.program, &self.context.chip.classes);
        torus::outputs(program, |item| {
            let value = ciphertext(program, classes.ciphertexts(), item);
            (value, self.off_chip.get(&value))
        })
    }
}
