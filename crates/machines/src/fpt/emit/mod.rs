//! Converts the timeline to a schedule; equal batches become loops.

pub(crate) mod chip;
mod pipeline;
mod transfers;

use super::hardware::Timeline;
use super::machine::{Fpt, Shape};
use super::software::{Action, Batch, Tasks};
use crate::tfhe::groups::EmitGroups;
use crate::tfhe::labels::{Labeler, Labels, Lookups, Meaning};
use crate::tfhe::workload::{Item, Work};
use chip::Chip;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_sim::schedule::{Emit, KindId, OpRef, Schedule, ScheduleBuilder, Value};

pub(crate) struct Emitter<'a> {
    machine: &'a Fpt,
    shape: Shape,
    program: &'a KernelProgram,
    tasks: &'a Tasks,
    timeline: &'a Timeline,
    chip: Chip,
    builder: ScheduleBuilder,
    labels: Labeler,
    lookups: Lookups,
}

/// The schedule of `tasks` at the cycles of `timeline`, and the meaning of its values.
pub(crate) fn emit(
    machine: &Fpt,
    program: &KernelProgram,
    tasks: &Tasks,
    timeline: &Timeline,
) -> (Schedule, Labels, Chip) {
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &tasks.shape);
    let (labels, lookups) = (Labeler::default(), Lookups::new(program));
    let mut emitter = Emitter { machine, shape: tasks.shape, program, tasks, timeline, chip, builder, labels, lookups };
    for batches in tasks.batches.chunk_by(|one, next| one.work == next.work) {
        emitter.groups(batches, |emitter, one, other| emitter.alike(&batches[one], &batches[other]));
    }
    (emitter.builder.finish(), emitter.labels.finish(), emitter.chip)
}

impl Emit for Emitter<'_> {
    fn builder(&mut self) -> &mut ScheduleBuilder {
        &mut self.builder
    }
}

impl EmitGroups for Emitter<'_> {
    type Group = Batch;

    fn base(&self, batch: &Batch) -> i64 {
        self.timeline.times.starts[batch.tasks.start as usize]
    }

    fn first(batch: &Batch) -> u32 {
        batch.first
    }

    fn group(&mut self, batch: &Batch, base: i64) {
        for index in batch.tasks.clone() {
            let start = self.timeline.times.starts[index as usize] - base;
            match self.tasks.tasks[index as usize].action {
                Action::Rotate => self.rotation(batch, start),
                Action::ModulusSwitch | Action::KeySwitch | Action::Linear => self.on_host(batch, index, start),
                _ => self.transfer(batch, index, start),
            }
        }
    }
}

impl Emitter<'_> {
    fn sources(&self, batch: &Batch) -> &[Item] {
        self.tasks.works[batch.work].sources(batch.range())
    }

    /// Iterations of all earlier batches; selects one half of each double buffer.
    fn iterations_before(&self, batch: &Batch) -> u64 {
        batch.sequence * self.shape.lwe_dimension
    }

    /// Whether two batches differ only in their ciphertexts and their start.
    fn alike(&self, one: &Batch, other: &Batch) -> bool {
        let tasks = |batch: &Batch| {
            let base = self.base(batch);
            batch.tasks.clone().map(move |index| {
                let task = &self.tasks.tasks[index as usize];
                (task.action, task.entry, task.table, task.amount, self.timeline.times.starts[index as usize] - base)
            })
        };
        let sources = |batch: &Batch| {
            let first = i64::from(batch.first);
            self.sources(batch).iter().map(move |item| (item.op, i64::from(item.element) - first))
        };
        let tables = |batch: &Batch| self.tasks.works[batch.work].tables(batch.range());
        let halves = |batch: &Batch| (batch.sequence % 2, self.iterations_before(batch) % 2);
        matches!(self.tasks.works[one.work], Work::Bootstraps(_) | Work::KeySwitches(_))
            && one.count == other.count
            && one.tables == other.tables
            && halves(one) == halves(other)
            && tables(one) == tables(other)
            && sources(one).eq(sources(other))
            && tasks(one).eq(tasks(other))
    }

    fn lwe(&self, item: Item) -> Value {
        self.labels.ciphertext(self.program, (self.chip.classes.input, self.chip.classes.lwe), item)
    }

    fn table(&self, index: u32) -> Value {
        self.labels.value(self.chip.classes.table, [Meaning::Table { index }])
    }

    fn op(&self, kind: KindId, kernel_op: u32, ciphertext: u32) -> OpRef {
        OpRef { kind, kernel_op, body_op: Value::NONE, ciphertext, iteration: Value::NONE }
    }

    fn amounts(&self, operation: u32, element: u32) -> Value {
        let lookup = self.lookups.first(operation) + element;
        self.labels.value(self.chip.classes.rotations, [Meaning::Amounts { lookup }])
    }
}
