//! Assigns each node a level and its results slots of the card's memory.
//!
//! Each node is put into the earliest level after all its inputs, within windows of a bounded number of new limbs, which bounds the memory. All nodes of a level on one
//! kernel are one launch, for any limbs, polynomials and operations.

use super::GpuError;
use super::fusion::{Kernel, Nodes};
use super::records::{KeyLimb, Space};
use crate::rns::steps::{PlaintextLimb, Register, Steps};
use polyfabric_kernels::RingDegree;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::{KeyId, LimbId};

/// N words that nodes write at different times.
type Slot = u32;

/// Nodes of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub kernel: Kernel,
    /// Their first index in [`Plan::starts`].
    pub first: usize,
    pub count: usize,
    /// Maximum sources of a conversion among them; 0 if there is none.
    pub sources: usize,
}

/// The schedule of a program.
#[derive(Debug)]
pub(super) struct Plan {
    /// All records, consecutively; a value of a space other than [`Space::Number`] is an index of N words there.
    pub words: Vec<u64>,
    pub spaces: Vec<Space>,
    /// Start of each node's record.
    pub starts: Vec<u32>,
    pub levels: Vec<Vec<Batch>>,
    /// The first ones are the outputs' limbs, in order.
    pub slots: usize,
    pub inputs: Vec<(u32, LimbId)>,
    pub plaintexts: Vec<PlaintextLimb>,
    pub key_ids: Vec<KeyId>,
    pub keys: Vec<KeyLimb>,
    /// Constants of base conversions.
    pub tables: Vec<u64>,
    /// Word products per word of a limb, without butterflies.
    pub products: usize,
}

impl Plan {
    /// Plans a checked program for `batch` sets of inputs, with windows of `window` new limbs.
    ///
    /// # Errors
    /// [`GpuError::Batch`] if the sets need numbers above 32 bits.
    pub(super) fn new(program: &KernelProgram, batch: usize, window: usize) -> Result<Self, GpuError> {
        // Conversions are per target: a card's transforms compute their inputs while loading.
        let steps = Steps::new(program, usize::MAX);
        let nodes = Nodes::new(program, &steps);
        // Every register occurs in a record.
        let most = u32::MAX as usize / nodes.words().max(1);
        if batch == 0 || batch > most {
            return Err(GpuError::Batch { batch, most });
        }
        let nodes = nodes.batched(batch as u32, program.inputs().count() as u32);
        let levels = levels(&nodes, window);
        let slots = slots(&nodes, &levels);
        let mut plan = Self {
            words: Vec::new(),
            spaces: Vec::new(),
            starts: Vec::new(),
            levels: Vec::new(),
            slots: slots.count as usize,
            inputs: nodes.inputs,
            plaintexts: nodes.plaintexts,
            key_ids: steps.keys,
            keys: nodes.keys,
            tables: nodes.tables,
            products: nodes.nodes.iter().map(|node| node.record.products).sum(),
        };
        for mut level in levels {
            let mut batches = Vec::new();
            for kernel in Kernel::ALL {
                let first = plan.starts.len();
                let mut sources = 0;
                let mut of_kernel: Vec<usize> =
                    level.extract_if(.., |&mut index| nodes.nodes[index].kernel == kernel).collect();
                of_kernel.sort_by_key(|&index| nodes.nodes[index].near);
                for index in of_kernel {
                    let record = &nodes.nodes[index].record;
                    if kernel == Kernel::Conversions {
                        sources = sources.max(record.words[0] as usize);
                    }
                    // Records are word-aligned and have fewer than 2^32 words.
                    plan.starts.push(plan.words.len() as u32);
                    plan.words.extend(record.words.iter().zip(&record.spaces).map(|(&word, space)| match space {
                        Space::Register => u64::from(slots.of[word as usize]),
                        _ => word,
                    }));
                    plan.spaces.extend(&record.spaces);
                }
                let count = plan.starts.len() - first;
                if count > 0 {
                    batches.push(Batch { kernel, first, count, sources });
                }
            }
            plan.levels.push(batches);
        }
        Ok(plan)
    }
}

impl Plan {
    /// Byte offsets of the keys' limbs, in a ring of `degree`.
    pub(super) fn key_starts(&self, degree: RingDegree) -> Vec<u64> {
        let start = |next: &mut u64, limb: &KeyLimb| {
            let start = *next;
            *next += limb.bytes(degree) as u64;
            Some(start)
        };
        self.keys.iter().scan(0, start).collect()
    }
}

fn levels(nodes: &Nodes, window: usize) -> Vec<Vec<usize>> {
    let mut defined = vec![0; nodes.registers as usize];
    let (mut floor, mut fresh) = (0, 0);
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (index, node) in nodes.nodes.iter().enumerate() {
        let level = node.reads().map(|register| defined[register as usize] + 1).fold(floor, usize::max);
        node.results.iter().for_each(|&register| defined[register as usize] = level);
        if levels.len() <= level {
            levels.resize_with(level + 1, Vec::new);
        }
        levels[level].push(index);
        fresh += node.results.len();
        if fresh > window {
            (floor, fresh) = (levels.len(), 0);
        }
    }
    levels
}

struct Slots {
    /// The slot of each register.
    of: Vec<Slot>,
    count: Slot,
}

/// Assigns slots to all registers. The outputs' limbs come first and are never freed; other slots are free from the level after their last read.
fn slots(nodes: &Nodes, levels: &[Vec<usize>]) -> Slots {
    const NEVER: usize = usize::MAX;
    let mut last = vec![0; nodes.registers as usize];
    for (level, indices) in levels.iter().enumerate() {
        for node in indices.iter().map(|&index| &nodes.nodes[index]) {
            node.reads().chain(node.results.iter().copied()).for_each(|register| last[register as usize] = level);
        }
    }
    let mut slots = Slots { of: vec![0; nodes.registers as usize], count: 0 };
    for &register in nodes.outputs.iter().flatten() {
        last[register as usize] = NEVER;
        slots.of[register as usize] = slots.count;
        slots.count += 1;
    }
    let mut dying: Vec<Vec<Register>> = vec![Vec::new(); levels.len()];
    let mut free: Vec<Slot> = Vec::new();
    for (level, indices) in levels.iter().enumerate() {
        let results = indices.iter().flat_map(|&index| &nodes.nodes[index].results);
        for &register in results.filter(|&&register| last[register as usize] != NEVER) {
            slots.of[register as usize] = free.pop().unwrap_or_else(|| {
                slots.count += 1;
                slots.count - 1
            });
            dying[last[register as usize]].push(register);
        }
        free.extend(dying[level].iter().map(|&register| slots.of[register as usize]));
    }
    slots
}
