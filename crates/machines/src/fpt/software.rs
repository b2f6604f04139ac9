//! Splits a program's work into batches that fill the pipeline (section 3.2), and writes each batch as tasks with
//! dependences.
//!
//! The host switches the modulus of a batch of lookups and sends the rotation amounts over the link to HBM. They are
//! loaded into the input FIFO while the pipeline processes the previous batch. The batch passes the pipeline once per
//! key element and returns the same way. The host switches keys and computes linear layers. Test polynomials stay in
//! their RAM until their place is reused.

use super::machine::{AMOUNT_BYTES, ELEMENT_BYTES, Fpt, Shape, ShapeError};
use crate::tfhe::dispatcher::{Priority, Task as Scheduled, Wait};
use crate::tfhe::iteration::{PlanError, plan};
use crate::tfhe::sizes::Ring;
use crate::tfhe::steps::{Steps, WholeError, accumulated};
use crate::tfhe::workload::{Bootstraps, Item, KeySwitches, LinearLayer, Work, WorkloadError, distinct, read};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// A resource that executes one task at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    Host,
    HostMemory,
    LinkIn,
    LinkOut,
    /// The HBM pseudo-channel for ciphertexts and test polynomials.
    Hbm,
    Cmux,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Modulus switch of a batch, on the host.
    ModulusSwitch,
    /// Rotation amounts of a batch, host to HBM.
    Send,
    /// Rotation amounts, HBM to input FIFO.
    Prefetch,
    /// A test polynomial, HBM to its RAM.
    LoadTable,
    /// Blind rotation and sample extraction of a batch.
    Rotate,
    /// Extracted ciphertexts, output buffer to HBM.
    Drain,
    /// Extracted ciphertexts, HBM to host.
    Return,
    /// Key switch of a batch, on the host.
    KeySwitch,
    /// Rows of a linear layer, on the host.
    Linear,
    /// Results of the host, to its memory.
    Store,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub action: Action,
    pub unit: Unit,
    /// Entry of the host's buffer, or of the test polynomials' RAM.
    pub entry: u64,
    /// Index of the test polynomial.
    pub table: u32,
    pub waits: Vec<Wait>,
    /// Cycles per ciphertext on the host; total bytes of a transfer.
    pub amount: u64,
}

impl Scheduled for Task {
    type Unit = Unit;

    fn unit(&self) -> Unit {
        self.unit
    }

    fn priority(&self) -> Priority {
        match self.action {
            Action::ModulusSwitch | Action::Send | Action::Prefetch | Action::LoadTable => Priority::Rotation,
            _ => Priority::Rest,
        }
    }
}

/// Ciphertexts processed together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Index of its work.
    pub work: usize,
    /// First element of the work, or first row of a linear layer.
    pub first: u32,
    pub count: u32,
    /// Number of earlier batches of lookups in the program; selects entries and key buffers.
    pub sequence: u64,
    pub tasks: Range<u32>,
    /// Test polynomials, with their places in the RAM.
    pub tables: Vec<(u32, u64)>,
}

impl Batch {
    pub fn elements(&self) -> Range<u32> {
        self.first..self.first + self.count
    }

    /// [`Self::elements`] as indices.
    pub fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// A program's tasks, and the data to dispatch them.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub shape: Shape,
    pub works: Vec<Work>,
    /// The steps of each blind rotation.
    pub steps: HashMap<u32, Steps>,
    /// Entries of the host's buffer.
    pub host: Ring,
    /// In program order.
    pub tasks: Vec<Task>,
    /// In program order.
    pub batches: Vec<Batch>,
}

/// Why a program does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoftwareError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Sums(#[from] WholeError),
}

/// Entries of each double buffer.
pub const BUFFERS: u64 = 2;

struct Writer<'a> {
    machine: &'a Fpt,
    tasks: Tasks,
    /// The task that stores each item; inputs have none.
    stored: HashMap<Item, u32>,
    /// For each entry of the host's buffer, the completion that frees it.
    host_users: HashMap<u64, Wait>,
    host_next: u64,
    /// Test polynomials in the RAM, oldest first: polynomial, place, loading task.
    tables: VecDeque<(u32, u64, u32)>,
    /// The last blind rotation that uses each place of the RAM.
    table_users: HashMap<u64, u32>,
    /// Prefetch, blind rotation, drain and return of the last batches of lookups.
    last: VecDeque<[u32; 4]>,
    sequence: u64,
    key_switch_work: u64,
}

pub fn schedule(machine: &Fpt, program: &KernelProgram) -> Result<Tasks, SoftwareError> {
    let works = read(program)?;
    let parameters = &program.parameters;
    let shape = machine.shape(parameters)?;
    fits(machine, &shape, parameters.name())?;
    let mut steps = HashMap::new();
    let mut tables_needed = 1;
    for work in &works {
        if let Work::Bootstraps(work) = work {
            let OpKind::BlindRotation { body, .. } = &program.ops[work.blind_rotation as usize].kind else {
                continue;
            };
            let plan = plan(body, shape.polynomials as u32)?;
            let own = accumulated(&plan, shape.side_rows as usize, shape.side as usize)?;
            steps.insert(work.blind_rotation, own);
            let chunks = work.tables.chunks(shape.in_flight as usize).map(|tables| distinct(tables).len() as u64);
            tables_needed = chunks.max().unwrap_or(1).max(tables_needed);
        }
    }
    if tables_needed * shape.polynomial > machine.tables {
        let (figure, content) = ("memories.tables.capacity", "the test polynomials of one batch");
        let (available, needed) = (machine.tables, tables_needed * shape.polynomial);
        return Err(ShapeError::Memory { figure, available, needed, content, set: parameters.name().to_owned() }.into());
    }
    let entry_bytes = shape.in_flight * shape.large().max(shape.small());
    let host = Ring { offset: 0, entry_bytes, entries: machine.host_buffer / entry_bytes };
    let levels = parameters.key_switch_gadget().map_or(0, |gadget| u64::from(gadget.levels));
    // Digits, and their products with the key.
    let key_switch_work = shape.large_dimension * levels * (shape.lwe_dimension + 2);
    let mut writer = Writer {
        machine,
        tasks: Tasks { shape, works: works.clone(), steps, host, tasks: Vec::new(), batches: Vec::new() },
        stored: HashMap::new(),
        host_users: HashMap::new(),
        host_next: 0,
        tables: VecDeque::new(),
        table_users: HashMap::new(),
        last: VecDeque::new(),
        sequence: 0,
        key_switch_work,
    };
    for (index, work) in works.iter().enumerate() {
        let count = match work {
            Work::Bootstraps(work) => work.sources.len(),
            Work::KeySwitches(work) => work.sources.len(),
            Work::Linear(layer) => match &program.ops[layer.op as usize].kind {
                OpKind::Linear { matrix, .. } => matrix.rows(),
                _ => 0,
            },
        };
        for first in (0..count as u32).step_by(shape.in_flight as usize) {
            let batch = (index, first, (shape.in_flight as u32).min(count as u32 - first));
            match work {
                Work::Bootstraps(work) => writer.bootstraps(work, batch),
                Work::KeySwitches(work) => writer.key_switches(work, batch),
                Work::Linear(layer) => writer.linear(layer, program, batch),
            }
        }
    }
    Ok(writer.tasks)
}

/// Checks that each buffer fits two batches.
fn fits(machine: &Fpt, shape: &Shape, set: &str) -> Result<(), ShapeError> {
    let batches = BUFFERS * shape.in_flight;
    let checks = [
        ("memories.fifo.capacity", machine.fifo, batches * shape.amounts(), "the rotation amounts of two batches"),
        ("memories.outputs.capacity", machine.outputs, batches * shape.large(), "the results of two batches"),
        (
            "memories.hbm.capacity",
            machine.hbm,
            batches * (shape.amounts() + shape.large()),
            "rotation amounts and results of two batches",
        ),
        (
            "memories.host.capacity",
            machine.host_buffer,
            batches * shape.large().max(shape.small()),
            "the ciphertexts of two batches",
        ),
    ];
    for (figure, available, needed, content) in checks {
        if needed > available {
            return Err(ShapeError::Memory { figure, available, needed, content, set: set.to_owned() });
        }
    }
    Ok(())
}

impl Writer<'_> {
    fn task(&mut self, action: Action, unit: Unit, entry: u64, amount: u64, waits: Vec<Wait>) -> u32 {
        cancel::check();
        let mut waits = waits;
        waits.sort_unstable();
        waits.dedup();
        self.tasks.tasks.push(Task { action, unit, entry, table: 0, waits, amount });
        self.tasks.tasks.len() as u32 - 1
    }

    /// Host cycles for `work` multiplications and additions.
    fn host_cycles(&self, work: u64) -> u64 {
        crate::tfhe::channels::cycles(work, self.machine.host_rate) as u64
    }

    fn producers(&self, items: &[Item]) -> Vec<Wait> {
        items.iter().filter_map(|item| self.stored.get(item)).map(|&task| Wait::all(task)).collect()
    }

    /// The next entry of the host's buffer, and the completion that frees it.
    fn host_entry(&mut self) -> (u64, Option<Wait>) {
        let entry = self.host_next % self.tasks.host.entries;
        self.host_next += 1;
        (entry, self.host_users.get(&entry).copied())
    }

    fn batch(&mut self, (work, first, count): (usize, u32, u32), start: u32, tables: Vec<(u32, u64)>) {
        let tasks = start..self.tasks.tasks.len() as u32;
        self.tasks.batches.push(Batch { work, first, count, sequence: self.sequence, tasks, tables });
    }

    /// Loads the tables that are not in the RAM; returns the places and the completions to wait for.
    fn load_tables(&mut self, tables: &[u32]) -> (Vec<(u32, u64)>, Vec<Wait>) {
        let polynomial = self.tasks.shape.polynomial;
        let places = self.machine.tables / polynomial;
        let wanted = distinct(tables);
        let (mut found, mut waits) = (Vec::new(), Vec::new());
        for &table in &wanted {
            if let Some(&(_, place, task)) = self.tables.iter().find(|held| held.0 == table) {
                found.push((table, place));
                waits.push(Wait::all(task));
                continue;
            }
            let place = if (self.tables.len() as u64) < places {
                self.tables.len() as u64
            } else {
                // The oldest table that this batch does not use.
                let oldest = self.tables.iter().position(|held| !wanted.contains(&held.0)).unwrap_or(0);
                self.tables.remove(oldest).map_or(0, |held| held.1)
            };
            let free = self.table_users.get(&place).map(|&task| Wait::all(task));
            let task = self.task(Action::LoadTable, Unit::Hbm, place, polynomial, free.into_iter().collect());
            self.tasks.tasks[task as usize].table = table;
            self.tables.push_back((table, place, task));
            found.push((table, place));
            waits.push(Wait::all(task));
        }
        (found, waits)
    }

    fn bootstraps(&mut self, work: &Bootstraps, batch: (usize, u32, u32)) {
        let shape = self.tasks.shape;
        let (_, first, count) = batch;
        let range = first as usize..(first + count) as usize;
        let start = self.tasks.tasks.len() as u32;
        // The previous batch with the same buffers.
        let before = self.last.iter().rev().nth(BUFFERS as usize - 1).copied();
        let after = |index: usize| before.map(|tasks| Wait::all(tasks[index]));

        let (entry, free) = self.host_entry();
        let mut waits = self.producers(&work.sources[range.clone()]);
        waits.extend(free);
        let cycles = self.host_cycles(shape.lwe_dimension + 1);
        let switched = self.task(Action::ModulusSwitch, Unit::Host, entry, cycles, waits);
        let amounts = u64::from(count) * (shape.lwe_dimension + 1) * AMOUNT_BYTES;
        let alone = self.last.back().filter(|_| !self.machine.overlap).map(|tasks| Wait::all(tasks[3]));
        let waits = [Some(Wait::all(switched)), after(0), alone].into_iter().flatten().collect();
        let sent = self.task(Action::Send, Unit::LinkIn, entry, amounts, waits);
        self.host_users.insert(entry, Wait::all(sent));
        let waits = [Some(Wait::all(sent)), after(1)].into_iter().flatten().collect();
        let prefetched = self.task(Action::Prefetch, Unit::Hbm, 0, amounts, waits);
        let (tables, mut waits) = self.load_tables(&work.tables[range.clone()]);
        waits.push(Wait::all(prefetched));
        waits.extend(after(2));
        let rotated = self.task(Action::Rotate, Unit::Cmux, 0, 0, waits);
        for &(_, place) in &tables {
            self.table_users.insert(place, rotated);
        }
        let results = u64::from(count) * shape.large();
        let waits = [Some(Wait::all(rotated)), after(3)].into_iter().flatten().collect();
        let drained = self.task(Action::Drain, Unit::Hbm, 0, results, waits);
        let returned = self.task(Action::Return, Unit::LinkOut, 0, results, vec![Wait::all(drained)]);
        for &item in &work.extracted[range.clone()] {
            self.stored.insert(item, returned);
        }
        self.last.push_back([prefetched, rotated, drained, returned]);
        if self.last.len() > BUFFERS as usize {
            self.last.pop_front();
        }
        if let Some(results) = &work.switched {
            self.key_switch(&results[range], vec![Wait::all(returned)]);
        }
        self.batch(batch, start, tables);
        self.sequence += 1;
    }

    fn key_switches(&mut self, work: &KeySwitches, batch: (usize, u32, u32)) {
        let start = self.tasks.tasks.len() as u32;
        let range = batch.1 as usize..(batch.1 + batch.2) as usize;
        let waits = self.producers(&work.sources[range.clone()]);
        self.key_switch(&work.results[range], waits);
        self.batch(batch, start, Vec::new());
    }

    fn key_switch(&mut self, results: &[Item], mut waits: Vec<Wait>) {
        let (entry, free) = self.host_entry();
        waits.extend(free);
        let cycles = self.host_cycles(self.key_switch_work);
        let switched = self.task(Action::KeySwitch, Unit::Host, entry, cycles, waits);
        self.store(results, entry, self.tasks.shape.small(), switched);
    }

    /// Stores results of `bytes` each from an entry of the host's buffer.
    fn store(&mut self, results: &[Item], entry: u64, bytes: u64, after: u32) {
        let bytes = results.len() as u64 * bytes;
        let stored = self.task(Action::Store, Unit::HostMemory, entry, bytes, vec![Wait::all(after)]);
        self.host_users.insert(entry, Wait::all(stored));
        for &item in results {
            self.stored.insert(item, stored);
        }
    }

    fn linear(&mut self, layer: &LinearLayer, program: &KernelProgram, batch: (usize, u32, u32)) {
        let OpKind::Linear { matrix, .. } = &program.ops[layer.op as usize].kind else { return };
        let start = self.tasks.tasks.len() as u32;
        let (_, first, count) = batch;
        let rows = first as usize..(first + count) as usize;
        let mut columns: Vec<usize> = rows.clone().flat_map(|row| matrix.row(row).map(|(column, _)| column)).collect();
        columns.sort_unstable();
        columns.dedup();
        let sources: Vec<Item> = columns.into_iter().map(|column| layer.sources[column]).collect();
        let (entry, free) = self.host_entry();
        let mut waits = self.producers(&sources);
        waits.extend(free);
        // All rows take as long as the longest, so that equal batches can be folded into a loop.
        let terms = rows.clone().map(|row| matrix.row(row).count() as u64 + 1).max().unwrap_or(1);
        let cycles = self.host_cycles(terms * (layer.dimension as u64 + 1));
        let computed = self.task(Action::Linear, Unit::Host, entry, cycles, waits);
        let results: Vec<Item> = rows.map(|row| Item { op: layer.op, element: row as u32 }).collect();
        self.store(&results, entry, (layer.dimension as u64 + 1) * ELEMENT_BYTES, computed);
        self.batch(batch, start, Vec::new());
    }
}
