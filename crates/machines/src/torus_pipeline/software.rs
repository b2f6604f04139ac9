//! Splits a program's work into epochs of device-level times core-level batch ciphertexts (section IV-C), and writes
//! each epoch as tasks with dependences.
//!
//! A wave is one ciphertext per core: its ciphertexts are loaded, admitted to the local scratchpads, and returned
//! together. A blind rotation waits for all its waves and for the places that it overwrites. At dispatch its steps are
//! placed as early as each wave allows, so the wait costs no cycle. The key switch of an epoch runs on separate
//! clusters during the next epoch's blind rotation.

use super::layout::{Layout, LayoutError, Needs};
use super::machine::Pipeline;
use super::streams::{self, StepsError, steps};
use crate::tfhe::channels::{BURST_BYTES, Items};
use crate::tfhe::dispatcher::{Priority, Task as Scheduled, Wait};
use crate::tfhe::iteration::{PlanError, plan};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::steps::Steps;
use crate::tfhe::workload::{Bootstraps, Item, KeySwitches, LinearLayer, Work, WorkloadError, distinct, read};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};
use std::collections::HashMap;
use std::ops::Range;

/// A resource that executes one task at a time. All cores are in lockstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// The channels for ciphertexts and tables; a task uses all of them.
    Channels,
    /// Point-to-point links, global to local scratchpads.
    Admission,
    Pbs,
    Switch,
    /// Point-to-point links, local to global scratchpad.
    Return,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ciphertexts of a wave, HBM to global scratchpad.
    Load,
    /// Test polynomials of the epoch, HBM to global scratchpad.
    LoadTables,
    /// A wave to the local scratchpads: modulus switch, and the rotated test polynomials.
    Admit,
    /// A wave of ciphertexts under the large key, to the local scratchpads.
    AdmitLarge,
    /// Blind rotation and sample extraction of the epoch.
    Rotate,
    Switch,
    /// A wave of extracted ciphertexts, to the global scratchpad.
    ReturnLarge,
    /// A wave of key-switched ciphertexts, to the global scratchpad.
    ReturnSmall,
    /// Ciphertexts of a wave, global scratchpad to HBM.
    Store,
    /// A block of operands of a linear layer, HBM to global scratchpad.
    LoadOperands,
    /// A block of columns of a linear layer, for a block of rows.
    Linear,
    /// Sums of a linear layer, to the global scratchpad.
    ReturnSums,
    /// Sums of a linear layer, global scratchpad to HBM.
    StoreSums,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub action: Action,
    pub unit: Unit,
    /// Wave of the epoch. In a linear layer: the number of the pass over its rows, or of the row in each core's share.
    pub wave: u64,
    /// Ring entry in the global scratchpad that the task writes or reads.
    pub entry: u64,
    /// First element of the work, or first row of a linear layer's block.
    pub first: u32,
    /// Number of elements or rows.
    pub count: u32,
    /// Columns of a linear layer's block.
    pub columns: Range<usize>,
    /// Whether a linear layer's block is the first and the last of its rows. For a store: whether keys have been
    /// switched.
    pub ends: (bool, bool),
    /// Items of a transfer.
    pub items: Items,
    pub waits: Vec<Wait>,
    /// Cycles that the task occupies the unit, if the machine's state does not determine them.
    pub occupancy: i64,
    pub priority: Priority,
}

impl Scheduled for Task {
    type Unit = Unit;

    fn unit(&self) -> Unit {
        self.unit
    }

    fn priority(&self) -> Priority {
        self.priority
    }
}

/// In a wait for a key switch, this wave means that the key switch has started; its end is then known.
pub const BEGUN: u8 = 0;

/// Ciphertexts processed together.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Index of its work.
    pub work: usize,
    /// First element of the work.
    pub first: u32,
    pub count: u32,
    /// Number of earlier epochs in the program; selects ring entries.
    pub sequence: u64,
    pub tasks: Range<u32>,
    /// Index of the blind-rotation task.
    pub rotation: Option<u32>,
    /// Index of the key-switch task.
    pub switch: Option<u32>,
}

impl Epoch {
    /// Elements, as indices into the work.
    pub fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Number of non-empty waves.
    pub fn waves(&self, machine: &Pipeline) -> u64 {
        u64::from(self.count).div_ceil(machine.cores)
    }

    /// Elements of wave `wave`, as indices into the work.
    pub fn elements(&self, machine: &Pipeline, wave: u64) -> Range<u32> {
        let start = self.first + (wave * machine.cores) as u32;
        start..(start + machine.cores as u32).min(self.first + self.count)
    }
}

/// A program's tasks, and the data to dispatch them.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub works: Vec<Work>,
    /// The steps of each blind rotation.
    pub steps: HashMap<u32, Steps>,
    pub layout: Layout,
    /// In program order.
    pub tasks: Vec<Task>,
    /// In program order.
    pub epochs: Vec<Epoch>,
}

/// Why a program does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoftwareError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Steps(#[from] StepsError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// A buffer entry that several tasks reuse.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Resident(u64),
    Large(u64),
    Sums(u64),
    Incoming(u64),
    Tables(u64),
    Outgoing(u64),
    Operands(u64),
    LinearSums,
}

struct Writer<'a> {
    machine: &'a Pipeline,
    tasks: Tasks,
    /// The task that stores each item; inputs have none.
    stored: HashMap<Item, u32>,
    /// Tasks that must finish before a place is overwritten.
    users: HashMap<Place, Vec<Wait>>,
    sequence: u64,
    incoming: u64,
    outgoing: u64,
    operands: u64,
}

pub fn schedule(machine: &Pipeline, program: &KernelProgram) -> Result<Tasks, SoftwareError> {
    let works = read(program)?;
    let mut needs = Needs::default();
    let mut by_operation = HashMap::new();
    needs.switches = works.iter().any(|work| match work {
        Work::Bootstraps(work) => work.switched.is_some(),
        Work::KeySwitches(_) => true,
        Work::Linear(_) => false,
    });
    for work in &works {
        match work {
            Work::Bootstraps(bootstraps) => {
                let op = &program.ops[bootstraps.blind_rotation as usize];
                if let OpKind::BlindRotation { body, .. } = &op.kind {
                    let plan = plan(body, machine.columns as u32)?;
                    by_operation.insert(bootstraps.blind_rotation, steps(machine, &plan)?);
                }
                needs.ciphertexts = needs.ciphertexts.max(bootstraps.sources.len() as u64);
                // Distinct tables of the largest possible epoch.
                let most = (machine.cores * machine.batch) as usize;
                let tables = bootstraps.tables.chunks(most).map(|tables| distinct(tables).len() as u64).max();
                needs.tables = needs.tables.max(tables.unwrap_or(1));
            }
            Work::KeySwitches(switches) => needs.ciphertexts = needs.ciphertexts.max(switches.sources.len() as u64),
            Work::Linear(layer) => needs.linear = needs.linear.max(bytes_of(layer)),
        }
    }
    let layout = Layout::new(machine, &program.parameters, needs)?;
    if !by_operation.is_empty() {
        streams::passes(&machine.steps(&program.parameters), program.parameters.name())?;
    }
    let mut writer = Writer {
        machine,
        tasks: Tasks { works: works.clone(), steps: by_operation, layout, tasks: Vec::new(), epochs: Vec::new() },
        stored: HashMap::new(),
        users: HashMap::new(),
        sequence: 0,
        incoming: 0,
        outgoing: 0,
        operands: 0,
    };
    for (index, work) in works.iter().enumerate() {
        match work {
            Work::Bootstraps(work) => {
                writer.in_epochs(index, work.sources.len(), |writer, epoch| writer.bootstraps(work, epoch));
            }
            Work::KeySwitches(work) => {
                writer.in_epochs(index, work.sources.len(), |writer, epoch| writer.switches(work, epoch));
            }
            Work::Linear(layer) => {
                let OpKind::Linear { matrix, .. } = &program.ops[layer.op as usize].kind else { continue };
                let rows = matrix.rows();
                writer.epoch(index, 0, rows as u32, |writer, _| writer.linear(layer, matrix));
            }
        }
    }
    Ok(writer.tasks)
}

/// Bytes of a ciphertext of a linear layer.
pub fn bytes_of(layer: &LinearLayer) -> u64 {
    (layer.dimension as u64 + 1) * COEFFICIENT_BYTES
}

/// The share of `rows` that core `core` computes.
pub fn core_rows(machine: &Pipeline, rows: Range<usize>, core: u64) -> Range<usize> {
    let share = rows.len().div_ceil(machine.cores as usize);
    let start = (rows.start + share * core as usize).min(rows.end);
    start..(start + share).min(rows.end)
}

impl Writer<'_> {
    fn in_epochs(&mut self, work: usize, count: usize, mut body: impl FnMut(&mut Self, &mut Epoch)) {
        let size = self.tasks.layout.epoch(self.machine) as u32;
        for first in (0..count as u32).step_by(size as usize) {
            self.epoch(work, first, size.min(count as u32 - first), &mut body);
            self.sequence += 1;
        }
    }

    fn epoch(&mut self, work: usize, first: u32, count: u32, body: impl FnOnce(&mut Self, &mut Epoch)) {
        let start = self.tasks.tasks.len() as u32;
        let sequence = self.sequence;
        let mut epoch = Epoch { work, first, count, sequence, tasks: start..start, rotation: None, switch: None };
        body(self, &mut epoch);
        epoch.tasks.end = self.tasks.tasks.len() as u32;
        self.tasks.epochs.push(epoch);
    }

    fn push(&mut self, mut task: Task) -> u32 {
        cancel::check();
        task.waits.sort_unstable();
        task.waits.dedup();
        self.tasks.tasks.push(task);
        self.tasks.tasks.len() as u32 - 1
    }

    fn task(&self, action: Action, unit: Unit, elements: Range<u32>) -> Task {
        Task {
            action,
            unit,
            wave: 0,
            entry: 0,
            first: elements.start,
            count: elements.end - elements.start,
            columns: 0..0,
            ends: (false, false),
            items: Items { count: 0, bytes: 0 },
            waits: Vec::new(),
            occupancy: 0,
            priority: Priority::Rest,
        }
    }

    fn free(&self, place: Place) -> Vec<Wait> {
        self.users.get(&place).cloned().unwrap_or_default()
    }

    fn producers(&self, items: &[Item]) -> impl Iterator<Item = Wait> {
        items
            .iter()
            .filter_map(|item| self.stored.get(item))
            .map(|&task| Wait::all(task))
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn link_cycles(&self, bytes: u64) -> i64 {
        bytes.div_ceil(self.machine.link) as i64
    }

    /// Loads a wave's ciphertexts, `bytes` each, into the global scratchpad.
    fn load(&mut self, items: &[Item], epoch: &Epoch, wave: u64, bytes: u64) -> u32 {
        let elements = epoch.elements(self.machine, wave);
        let entry = self.incoming % self.tasks.layout.incoming.entries;
        self.incoming += 1;
        let mut task = self.task(Action::Load, Unit::Channels, elements.clone());
        (task.wave, task.entry, task.priority) = (wave, entry, Priority::Rotation);
        task.items = Items { count: u64::from(task.count), bytes };
        task.waits = self.free(Place::Incoming(entry));
        task.waits.extend(self.producers(&items[elements.start as usize..elements.end as usize]));
        self.push(task)
    }

    fn bootstraps(&mut self, work: &Bootstraps, epoch: &mut Epoch) {
        let layout = self.tasks.layout;
        let sizes = layout.sizes;
        let table_entry = epoch.sequence % layout.tables.entries;
        let tables = distinct(&work.tables[epoch.range()]).len() as u64;
        let mut task = self.task(Action::LoadTables, Unit::Channels, epoch.first..epoch.first + epoch.count);
        (task.entry, task.priority) = (table_entry, Priority::Rotation);
        task.items = Items { count: tables * sizes.polynomial / BURST_BYTES, bytes: BURST_BYTES };
        task.waits = self.free(Place::Tables(table_entry));
        let tabled = self.push(task);
        let mut admitted = Vec::new();
        for wave in 0..epoch.waves(self.machine) {
            let loaded = self.load(&work.sources, epoch, wave, sizes.small);
            let entry = self.tasks.tasks[loaded as usize].entry;
            let mut task = self.task(Action::Admit, Unit::Admission, epoch.elements(self.machine, wave));
            (task.wave, task.entry, task.priority) = (wave, entry, Priority::Rotation);
            task.waits = self.free(Place::Resident(wave));
            task.waits.extend([Wait::all(loaded), Wait::all(tabled)]);
            task.occupancy = self.link_cycles(sizes.small) + self.link_cycles(sizes.polynomial);
            let task = self.push(task);
            self.users.insert(Place::Incoming(entry), vec![Wait::all(task)]);
            admitted.push(Wait::all(task));
        }
        self.users.insert(Place::Tables(table_entry), admitted.clone());
        let mut rotate = self.task(Action::Rotate, Unit::Pbs, epoch.first..epoch.first + epoch.count);
        rotate.priority = Priority::Rotation;
        rotate.waits = admitted;
        for wave in 0..epoch.waves(self.machine) {
            rotate.waits.extend(self.free(Place::Large(wave)));
        }
        let rotation = self.push(rotate);
        epoch.rotation = Some(rotation);
        for wave in 0..epoch.waves(self.machine) {
            self.users.insert(Place::Resident(wave), vec![Wait { node: rotation, wave: Some(wave as u8) }]);
            self.users.insert(Place::Large(wave), Vec::new());
        }
        if work.keeps_extracted {
            for wave in 0..epoch.waves(self.machine) {
                let ready = vec![Wait { node: rotation, wave: Some(wave as u8) }];
                let returned = self.send(Action::ReturnLarge, epoch, wave, &work.extracted, sizes.large, ready);
                self.users.entry(Place::Large(wave)).or_default().push(Wait::all(returned));
            }
        }
        if let Some(switched) = &work.switched {
            self.switch(switched, epoch, vec![Wait::all(rotation)]);
        }
    }

    fn switches(&mut self, work: &KeySwitches, epoch: &mut Epoch) {
        let sizes = self.tasks.layout.sizes;
        let mut admitted = Vec::new();
        for wave in 0..epoch.waves(self.machine) {
            let loaded = self.load(&work.sources, epoch, wave, sizes.large);
            let entry = self.tasks.tasks[loaded as usize].entry;
            let mut task = self.task(Action::AdmitLarge, Unit::Admission, epoch.elements(self.machine, wave));
            (task.wave, task.entry) = (wave, entry);
            task.waits = self.after_switch(Place::Large(wave));
            task.waits.push(Wait::all(loaded));
            task.occupancy = self.link_cycles(sizes.large);
            let task = self.push(task);
            self.users.insert(Place::Incoming(entry), vec![Wait::all(task)]);
            self.users.insert(Place::Large(wave), Vec::new());
            admitted.push(Wait::all(task));
        }
        self.switch(&work.results, epoch, admitted);
    }

    /// The waits for `place` if the start of a key switch does not suffice.
    fn after_switch(&self, place: Place) -> Vec<Wait> {
        self.free(place).into_iter().map(|wait| Wait::all(wait.node)).collect()
    }

    fn switch(&mut self, results: &[Item], epoch: &mut Epoch, ready: Vec<Wait>) {
        let mut task = self.task(Action::Switch, Unit::Switch, epoch.first..epoch.first + epoch.count);
        task.priority = Priority::KeySwitchKey;
        task.waits = ready;
        for wave in 0..epoch.waves(self.machine) {
            task.waits.extend(self.free(Place::Sums(wave)));
        }
        let switch = self.push(task);
        epoch.switch = Some(switch);
        for wave in 0..epoch.waves(self.machine) {
            self.users.entry(Place::Large(wave)).or_default().push(Wait { node: switch, wave: Some(BEGUN) });
            let small = self.tasks.layout.sizes.small;
            let returned = self.send(Action::ReturnSmall, epoch, wave, results, small, vec![Wait::all(switch)]);
            self.users.insert(Place::Sums(wave), vec![Wait::all(returned)]);
        }
    }

    /// Sends a wave's `results`, `bytes` each, to the global scratchpad and to HBM; returns the first of the two tasks.
    fn send(
        &mut self,
        action: Action,
        epoch: &Epoch,
        wave: u64,
        results: &[Item],
        bytes: u64,
        ready: Vec<Wait>,
    ) -> u32 {
        let elements = epoch.elements(self.machine, wave);
        let entry = self.outgoing % self.tasks.layout.outgoing.entries;
        self.outgoing += 1;
        let mut task = self.task(action, Unit::Return, elements.clone());
        (task.wave, task.entry) = (wave, entry);
        task.waits = self.free(Place::Outgoing(entry));
        task.waits.extend(ready);
        task.occupancy = self.link_cycles(bytes);
        let returned = self.push(task);
        let mut task = self.task(Action::Store, Unit::Channels, elements.clone());
        (task.wave, task.entry) = (wave, entry);
        task.items = Items { count: u64::from(task.count), bytes };
        task.waits = vec![Wait::all(returned)];
        task.ends = (action == Action::ReturnSmall, false);
        let stored = self.push(task);
        self.users.insert(Place::Outgoing(entry), vec![Wait::all(stored)]);
        for item in &results[elements.start as usize..elements.end as usize] {
            self.stored.insert(*item, stored);
        }
        returned
    }

    /// A linear layer on the key-switch clusters: weights replace digits, and operands replace the key.
    fn linear(&mut self, layer: &LinearLayer, matrix: &Matrix) {
        let layout = self.tasks.layout;
        let bytes = bytes_of(layer);
        let block = layout.operand_block(bytes) as usize;
        let rows_at_a_time = (layout.linear_rows(bytes) * self.machine.cores) as usize;
        let mut number = 0;
        for first in (0..matrix.rows()).step_by(rows_at_a_time) {
            let rows = first..(first + rows_at_a_time).min(matrix.rows());
            let range = rows.start as u32..rows.end as u32;
            let mut blocks: Vec<usize> =
                rows.clone().flat_map(|row| matrix.row(row).map(|(column, _)| column / block)).collect();
            blocks.sort_unstable();
            blocks.dedup();
            // Rows without weights need one pass for their bias.
            let passes = blocks.len().max(1);
            let share = core_rows(self.machine, rows.clone(), 0).len() as u64;
            let mut last = self.free(Place::LinearSums);
            for pass in 0..passes {
                let columns = blocks
                    .get(pass)
                    .map_or(0..0, |&number| number * block..((number + 1) * block).min(layer.sources.len()));
                let entry = self.operands % layout.operands.entries.max(1);
                let mut waits = last;
                if !columns.is_empty() {
                    self.operands += 1;
                    let mut load = self.task(Action::LoadOperands, Unit::Channels, range.clone());
                    (load.entry, load.columns) = (entry, columns.clone());
                    load.items = Items { count: columns.len() as u64, bytes };
                    load.waits = self.free(Place::Operands(entry));
                    load.waits.extend(self.producers(&layer.sources[columns.clone()]));
                    waits.push(Wait::all(self.push(load)));
                }
                let mut task = self.task(Action::Linear, Unit::Switch, range.clone());
                (task.entry, task.columns) = (entry, columns.clone());
                task.wave = number;
                number += 1;
                task.ends = (pass == 0, pass + 1 == passes);
                task.waits = waits;
                // A first pass without columns sets the sums to the bias.
                task.occupancy =
                    self.machine.switch_cycles((columns.len() as u64).max(1), layer.dimension as u64 + 1, share);
                let task = self.push(task);
                self.users.insert(Place::Operands(entry), vec![Wait::all(task)]);
                last = vec![Wait::all(task)];
            }
            let sent = self.send_sums(layer, rows, last);
            self.users.insert(Place::LinearSums, vec![Wait::all(sent)]);
        }
    }

    /// Sends the sums, one row per core at a time; returns the last task that reads them.
    fn send_sums(&mut self, layer: &LinearLayer, rows: Range<usize>, ready: Vec<Wait>) -> u32 {
        let bytes = bytes_of(layer);
        let share = core_rows(self.machine, rows.clone(), 0).len();
        let mut last = 0;
        for number in 0..share {
            let entry = self.outgoing % self.tasks.layout.outgoing.entries;
            self.outgoing += 1;
            let count =
                (0..self.machine.cores).filter(|&core| number < core_rows(self.machine, rows.clone(), core).len());
            let count = count.count() as u64;
            let mut task = self.task(Action::ReturnSums, Unit::Return, rows.start as u32..rows.end as u32);
            (task.wave, task.entry) = (number as u64, entry);
            task.waits = self.free(Place::Outgoing(entry));
            task.waits.extend(ready.iter().copied());
            task.occupancy = self.link_cycles(bytes);
            last = self.push(task);
            let mut task = self.task(Action::StoreSums, Unit::Channels, rows.start as u32..rows.end as u32);
            (task.wave, task.entry) = (number as u64, entry);
            task.items = Items { count, bytes };
            task.waits = vec![Wait::all(last)];
            let stored = self.push(task);
            self.users.insert(Place::Outgoing(entry), vec![Wait::all(stored)]);
            for core in 0..self.machine.cores {
                if let Some(row) = core_rows(self.machine, rows.clone(), core).nth(number) {
                    self.stored.insert(Item { op: layer.op, element: row as u32 }, stored);
                }
            }
        }
        last
    }
}
