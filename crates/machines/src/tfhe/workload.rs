//! The work of a kernel program: bootstraps, key switches and linear layers. The ciphertexts that each of them reads and writes are
//! resolved through gathers and concatenations.

use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind, TableChoice, ValueId, ValueType};
use std::collections::HashMap;
use std::ops::Range;

/// One LWE ciphertext: item `element` of the value that operation `op` defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item {
    /// Operation that computes it.
    pub op: u32,
    /// Item of its result.
    pub element: u32,
}

/// Modulus switch, blind rotation and sample extraction of a batch, and the following key switch, if any.
#[derive(Clone, Debug)]
pub struct Bootstraps {
    /// The modulus switch, for reports.
    pub modulus_switch: u32,
    pub blind_rotation: u32,
    /// Input ciphertext of each element.
    pub sources: Vec<Item>,
    /// Table of each element.
    pub tables: Vec<u32>,
    /// Extracted ciphertext of each element, under the large key.
    pub extracted: Vec<Item>,
    /// Key-switched ciphertext of each element, under the small key.
    pub switched: Option<Vec<Item>>,
    /// Whether anything except that key switch reads the extracted ciphertexts.
    pub keeps_extracted: bool,
}

/// A separate key switch.
#[derive(Clone, Debug)]
pub struct KeySwitches {
    /// Ciphertexts under the large key.
    pub sources: Vec<Item>,
    /// Ciphertexts under the small key.
    pub results: Vec<Item>,
}

#[derive(Clone, Debug)]
pub struct LinearLayer {
    /// The operation, for its matrix and bias.
    pub op: u32,
    /// Ciphertext of each column.
    pub sources: Vec<Item>,
    /// Mask elements of the ciphertexts.
    pub dimension: usize,
}

/// A piece of work, in the program's order.
#[derive(Clone, Debug)]
pub enum Work {
    /// Lookups.
    Bootstraps(Bootstraps),
    KeySwitches(KeySwitches),
    /// Linear combinations.
    Linear(LinearLayer),
}

impl Work {
    /// The operation of the kernel program that identifies the work.
    pub fn operation(&self) -> u32 {
        match self {
            Self::Bootstraps(work) => work.blind_rotation,
            Self::KeySwitches(work) => work.results.first().map_or(0, |item| item.op),
            Self::Linear(layer) => layer.op,
        }
    }

    /// The ciphertexts from which elements `range` are computed; none for a linear layer, whose rows read many.
    pub fn sources(&self, range: Range<usize>) -> &[Item] {
        match self {
            Self::Bootstraps(work) => &work.sources[range],
            Self::KeySwitches(work) => &work.sources[range],
            Self::Linear(_) => &[],
        }
    }

    /// The computed ciphertexts: of lookups those after the key switch if `switched`, else those before it; none for a linear layer.
    pub fn results(&self, switched: bool) -> &[Item] {
        match self {
            Self::Bootstraps(work) => work.switched.as_ref().filter(|_| switched).unwrap_or(&work.extracted),
            Self::KeySwitches(work) => &work.results,
            Self::Linear(_) => &[],
        }
    }

    /// The tables of elements `range`; none except for lookups.
    pub fn tables(&self, range: Range<usize>) -> &[u32] {
        match self {
            Self::Bootstraps(work) => &work.tables[range],
            Self::KeySwitches(_) | Self::Linear(_) => &[],
        }
    }
}

/// The distinct tables of some ciphertexts, in order of first use.
pub fn distinct(tables: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    for &table in tables {
        if !found.contains(&table) {
            found.push(table);
        }
    }
    found
}

/// Why a program cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    #[error(
        "operation %{blind_rotation} (blind rotation) feeds {readers} sample extractions; its result goes to exactly \
         one: extract once and gather the copies"
    )]
    Extractions { blind_rotation: u32, readers: usize },
    #[error("operation %{blind_rotation} (blind rotation) reads %{operand}, which no modulus switch computes")]
    NotSwitched { blind_rotation: u32, operand: u32 },
    #[error(
        "the program is lowered with {unrolling} secret bits an iteration; the machine takes one: lower it with key_unrolling = 1"
    )]
    Unrolled { unrolling: u32 },
    #[error("operation %{operation} is a key switch, and set `{set}` has no key-switch key: choose a set that has one")]
    NoKeySwitchKey { operation: u32, set: String },
    #[error(
        "operation %{operation} is of circuit bootstrapping, for which the machine has no unit: give tables=\"lookups\" (--tables lookups), or run the program on the processor"
    )]
    Circuit { operation: u32 },
    #[error("the program `{name}` has no lookup, key switch or linear layer: there is nothing to time")]
    Empty { name: String },
}

/// Items of an operation's operands as one batch, with gathers resolved.
pub fn operand_items(program: &KernelProgram, operands: &[ValueId]) -> Vec<Item> {
    operands.iter().flat_map(|&value| value_items(program, value)).collect()
}

fn value_items(program: &KernelProgram, value: ValueId) -> Vec<Item> {
    cancel::check();
    let op = program.op(value);
    match &op.kind {
        OpKind::Gather { indices } => {
            let items = operand_items(program, &op.operands);
            indices.iter().map(|&index| items[index as usize]).collect()
        }
        _ => (0..op.result.count() as u32).map(|element| Item { op: value.0, element }).collect(),
    }
}

/// For each operation, the operations that read its value directly, with the offset of the value in their operands.
fn readers(program: &KernelProgram) -> HashMap<u32, Vec<(u32, u32)>> {
    let mut readers: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    for (index, op) in program.ops.iter().enumerate() {
        let mut offset = 0;
        for &operand in &op.operands {
            readers.entry(operand.0).or_default().push((index as u32, offset));
            offset += program.op(operand).result.count() as u32;
        }
    }
    readers
}

/// The work of `program`, in its order.
pub fn read(program: &KernelProgram) -> Result<Vec<Work>, WorkloadError> {
    if program.choice.key_unrolling != 1 {
        return Err(WorkloadError::Unrolled { unrolling: program.choice.key_unrolling });
    }
    let circuit = program.ops.iter().position(|op| matches!(op.result, ValueType::Ggsw { .. }));
    if let Some(operation) = circuit {
        return Err(WorkloadError::Circuit { operation: operation as u32 });
    }
    let switch = program.ops.iter().position(|op| matches!(op.kind, OpKind::KeySwitch { .. }));
    if let (Some(operation), None) = (switch, program.parameters.key_switch_gadget()) {
        let set = program.parameters.name().to_owned();
        return Err(WorkloadError::NoKeySwitchKey { operation: operation as u32, set });
    }
    let readers = readers(program);
    let none = Vec::new();
    let read_by = |op: u32| readers.get(&op).unwrap_or(&none);
    let is_output = |op: u32| program.outputs.iter().any(|output| output.value.0 == op);
    let mut fused: Vec<u32> = Vec::new();
    let mut works = Vec::new();
    for (index, op) in program.ops.iter().enumerate() {
        let index = index as u32;
        match &op.kind {
            OpKind::BlindRotation { tables, .. } => {
                let bootstraps = bootstraps(program, index, tables, read_by, is_output)?;
                if let Some(switched) = bootstraps.switched.as_ref().and_then(|items| items.first()) {
                    fused.push(switched.op);
                }
                works.push(Work::Bootstraps(bootstraps));
            }
            OpKind::KeySwitch { .. } if !fused.contains(&index) => {
                works.push(Work::KeySwitches(KeySwitches {
                    sources: operand_items(program, &op.operands),
                    results: value_items(program, ValueId(index)),
                }));
            }
            OpKind::Linear { .. } => works.push(Work::Linear(LinearLayer {
                op: index,
                sources: operand_items(program, &op.operands),
                dimension: match op.result {
                    ValueType::Lwe { dimension, .. } => dimension,
                    _ => 0,
                },
            })),
            _ => {}
        }
    }
    if works.is_empty() {
        return Err(WorkloadError::Empty { name: program.name.to_string() });
    }
    Ok(works)
}

fn bootstraps<'a>(
    program: &KernelProgram,
    index: u32,
    tables: &TableChoice,
    read_by: impl Fn(u32) -> &'a Vec<(u32, u32)>,
    is_output: impl Fn(u32) -> bool,
) -> Result<Bootstraps, WorkloadError> {
    let op = &program.ops[index as usize];
    let rotated = operand_items(program, &op.operands);
    let mut modulus_switch = 0;
    let mut sources = Vec::with_capacity(rotated.len());
    let mut switched: HashMap<u32, Vec<Item>> = HashMap::new();
    for item in &rotated {
        let producer = &program.ops[item.op as usize];
        if producer.kind != OpKind::PLAIN_SWITCH {
            return Err(WorkloadError::NotSwitched { blind_rotation: index, operand: item.op });
        }
        modulus_switch = item.op;
        let items = switched.entry(item.op).or_insert_with(|| operand_items(program, &producer.operands));
        sources.push(items[item.element as usize]);
    }
    let count = sources.len() as u32;
    let items = |op: u32, offset: u32| (offset..offset + count).map(|element| Item { op, element }).collect::<Vec<_>>();
    let &[(extraction, offset)] = read_by(index).as_slice() else {
        return Err(WorkloadError::Extractions { blind_rotation: index, readers: read_by(index).len() });
    };
    let extracted = items(extraction, offset);
    // A key switch follows in the same instruction stream if it alone reads the whole extraction of this rotation.
    let next = match read_by(extraction).as_slice() {
        &[(next, next_offset)] if program.ops[extraction as usize].operands.len() == 1 => {
            matches!(program.ops[next as usize].kind, OpKind::KeySwitch { .. })
                .then(|| program.ops[next as usize].operands.len() == 1)
                .filter(|&whole| whole)
                .map(|_| items(next, next_offset))
        }
        _ => None,
    };
    Ok(Bootstraps {
        modulus_switch,
        blind_rotation: index,
        tables: (0..count).map(|element| tables.get(element as usize) as u32).collect(),
        sources,
        keeps_extracted: next.is_none() || is_output(extraction),
        extracted,
        switched: next,
    })
}
