//! Converts the timeline to a schedule; equal epochs become loops.

mod clusters;
pub(crate) mod resources;
mod transfers;

use super::hardware::Timeline;
use super::machine::Pipeline;
use super::software::{Action, Epoch, Tasks};
use crate::tfhe::channels::Part;
use crate::tfhe::groups::EmitGroups;
use crate::tfhe::labels::{Labeler, Labels, Lookups, Meaning};
use crate::tfhe::workload::{Item, Work};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_sim::schedule::{Emit, Schedule, ScheduleBuilder, Value};
use resources::Chip;

pub(crate) struct Emitter<'a> {
    machine: &'a Pipeline,
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
    machine: &Pipeline,
    program: &KernelProgram,
    tasks: &Tasks,
    timeline: &Timeline,
) -> (Schedule, Labels, Chip) {
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &program.parameters);
    let (labels, lookups) = (Labeler::default(), Lookups::new(program));
    let mut emitter = Emitter { machine, program, tasks, timeline, chip, builder, labels, lookups };
    for epochs in tasks.epochs.chunk_by(|one, next| one.work == next.work) {
        emitter.groups(epochs, |emitter, one, other| emitter.alike(&epochs[one], &epochs[other]));
    }
    (emitter.builder.finish(), emitter.labels.finish(), emitter.chip)
}

impl Emit for Emitter<'_> {
    fn builder(&mut self) -> &mut ScheduleBuilder {
        &mut self.builder
    }
}

impl EmitGroups for Emitter<'_> {
    type Group = Epoch;

    fn base(&self, epoch: &Epoch) -> i64 {
        self.timeline.starts[epoch.tasks.start as usize]
    }

    fn first(epoch: &Epoch) -> u32 {
        epoch.first
    }

    fn group(&mut self, epoch: &Epoch, base: i64) {
        for index in epoch.tasks.clone() {
            let start = self.timeline.starts[index as usize] - base;
            match self.tasks.tasks[index as usize].action {
                Action::Rotate => self.rotation(epoch, index, base),
                Action::Switch => self.key_switch(epoch, index, base),
                Action::Admit => self.admit(epoch, index, start),
                Action::AdmitLarge => self.admit_large(epoch, index, start),
                Action::Linear => self.linear(epoch, index, start),
                Action::ReturnLarge | Action::ReturnSmall | Action::ReturnSums => self.send(epoch, index, start),
                Action::Load | Action::LoadTables | Action::Store | Action::LoadOperands | Action::StoreSums => {
                    self.transfer(epoch, index, base);
                }
            }
        }
    }
}

impl Emitter<'_> {
    fn sources(&self, epoch: &Epoch) -> &[Item] {
        self.tasks.works[epoch.work].sources(epoch.range())
    }

    fn tables(&self, epoch: &Epoch) -> &[u32] {
        self.tasks.works[epoch.work].tables(epoch.range())
    }

    /// Whether two epochs differ only in their ciphertexts and their start.
    fn alike(&self, one: &Epoch, other: &Epoch) -> bool {
        let tasks = |epoch: &Epoch| {
            let (base, first) = (self.base(epoch), epoch.first);
            epoch.tasks.clone().map(move |index| {
                let task = &self.tasks.tasks[index as usize];
                let parts = self.timeline.parts.get(&index).map_or(&[][..], Vec::as_slice);
                let parts: Vec<Part> = parts.iter().map(|part| Part { start: part.start - base, ..*part }).collect();
                let what = (task.action, task.wave, task.entry, task.first - first, task.count, task.ends);
                (what, self.timeline.starts[index as usize] - base, parts)
            })
        };
        let sources = |epoch: &Epoch| {
            let first = i64::from(epoch.first);
            self.sources(epoch).iter().map(move |item| (item.op, i64::from(item.element) - first))
        };
        let rotation = |epoch: &Epoch| Some(self.timeline.rotations[&epoch.rotation?].before(self.base(epoch)));
        let switch = |epoch: &Epoch| Some(self.timeline.switches[&epoch.switch?].before(self.base(epoch)));
        matches!(self.tasks.works[one.work], Work::Bootstraps(_) | Work::KeySwitches(_))
            && one.count == other.count
            && self.tables(one) == self.tables(other)
            && sources(one).eq(sources(other))
            && tasks(one).eq(tasks(other))
            && rotation(one) == rotation(other)
            && switch(one) == switch(other)
    }

    fn lwe(&self, item: Item) -> Value {
        self.labels.ciphertext(self.program, (self.chip.classes.input, self.chip.classes.lwe), item)
    }

    fn amounts(&self, operation: u32, element: u32) -> Value {
        let lookup = self.lookups.first(operation) + element;
        self.labels.value(self.chip.classes.rotations, [Meaning::Amounts { lookup }])
    }

    /// The elements of a wave, with their cores.
    fn assignments(&self, epoch: &Epoch, wave: u64) -> impl Iterator<Item = (usize, u32)> + use<> {
        epoch.elements(self.machine, wave).enumerate()
    }
}
