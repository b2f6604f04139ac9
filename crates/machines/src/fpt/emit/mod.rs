//! From the timeline to the engine's schedule: every task's events, and a repeat wherever batches repeat.

pub(crate) mod chip;
mod pipeline;
mod transfers;

use super::hardware::Timeline;
use super::machine::{Fpt, Shape};
use super::software::{Action, Batch, Tasks};
use crate::engine::schedule::{ClassId, KindId, OpRef, Schedule, ScheduleBuilder, Shift, Value};
use crate::torus::groups;
use crate::torus::workload::{Item, Work, index};
use chip::Chip;
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};

pub(crate) struct Emitter<'a> {
    machine: &'a Fpt,
    shape: Shape,
    program: &'a KernelProgram,
    tasks: &'a Tasks,
    timeline: &'a Timeline,
    chip: Chip,
    builder: ScheduleBuilder,
}

/// The schedule of `tasks` as `timeline` ran them.
pub(crate) fn emit(machine: &Fpt, program: &KernelProgram, tasks: &Tasks, timeline: &Timeline) -> (Schedule, Chip) {
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &tasks.shape);
    let mut emitter = Emitter { machine, shape: tasks.shape, program, tasks, timeline, chip, builder };
    let batches = &tasks.batches;
    let mut first = 0;
    while first < batches.len() {
        let work = batches[first].work;
        let end = first + batches[first..].iter().take_while(|batch| batch.work == work).count();
        emitter.work(&batches[first..end]);
        first = end;
    }
    (emitter.builder.finish(), emitter.chip)
}

impl Emitter<'_> {
    fn base(&self, batch: &Batch) -> i64 {
        self.timeline.times.starts[batch.tasks.start as usize]
    }

    fn sources(&self, batch: &Batch) -> &[Item] {
        self.tasks.works[batch.work].sources(batch.range())
    }

    /// Iterations of all batches before this one: selects the buffers that take turns.
    fn iterations_before(&self, batch: &Batch) -> u64 {
        batch.sequence * self.shape.lwe_dimension
    }

    /// Whether two batches are the same but for their ciphertexts and their time.
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
        let turns = |batch: &Batch| (batch.sequence % 2, self.iterations_before(batch) % 2);
        matches!(self.tasks.works[one.work], Work::Bootstraps(_) | Work::KeySwitches(_))
            && one.count == other.count
            && one.tables == other.tables
            && turns(one) == turns(other)
            && tables(one) == tables(other)
            && sources(one).eq(sources(other))
            && tasks(one).eq(tasks(other))
    }

    fn work(&mut self, batches: &[Batch]) {
        let bases: Vec<i64> = batches.iter().map(|batch| self.base(batch)).collect();
        for run in groups::runs(&bases, |one, other| self.alike(&batches[one], &batches[other])) {
            let (first, span) = (run.first, run.span);
            if run.rounds == 1 {
                self.batch(&batches[first], 0);
                continue;
            }
            let base = bases[first];
            let period = (bases[first + span] - base) as u64;
            let moved = batches[first + span].first - batches[first].first;
            let shift = Shift::ciphertexts(i64::from(moved));
            self.repeated(base, run.rounds as u64, period, shift, |emitter| {
                for batch in &batches[first..first + span] {
                    emitter.batch(batch, base);
                }
            });
        }
    }

    /// Adds a repeat whose body `fill` adds.
    fn repeated(&mut self, start: i64, count: u64, period: u64, shift: Shift, fill: impl FnOnce(&mut Self)) {
        let mut builder = std::mem::take(&mut self.builder);
        builder.repeat(start, count, period, shift, |inner| {
            std::mem::swap(inner, &mut self.builder);
            fill(self);
            std::mem::swap(inner, &mut self.builder);
        });
        self.builder = builder;
    }

    /// Events of a batch, relative to cycle `base`.
    fn batch(&mut self, batch: &Batch, base: i64) {
        for index in batch.tasks.clone() {
            let start = self.timeline.times.starts[index as usize] - base;
            match self.tasks.tasks[index as usize].action {
                Action::Rotate => self.rotation(batch, start),
                Action::ModulusSwitch | Action::KeySwitch | Action::Linear => self.on_host(batch, index, start),
                _ => self.transfer(batch, index, start),
            }
        }
    }

    /// Name of an LWE ciphertext.
    fn lwe(&self, item: Item) -> Value {
        let is_input = matches!(self.program.ops[item.op as usize].kind, OpKind::Input { .. });
        let class = if is_input { self.chip.classes.input } else { self.chip.classes.lwe };
        Value { class, ciphertext: item.element, iteration: Value::NONE, index: item.op }
    }

    fn named(&self, class: ClassId, ciphertext: u32, iteration: u32, index: u32) -> Value {
        Value { class, ciphertext, iteration, index }
    }

    fn op(&self, kind: KindId, kernel_op: u32, ciphertext: u32) -> OpRef {
        OpRef { kind, kernel_op, body_op: Value::NONE, ciphertext, iteration: Value::NONE }
    }

    /// Rotation amounts of element `element` of blind rotation `operation`.
    fn amounts(&self, operation: u32, element: u32) -> Value {
        self.named(self.chip.classes.rotations, element, Value::NONE, index(operation, 0))
    }
}
