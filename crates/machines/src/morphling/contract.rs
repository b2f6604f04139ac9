//! Morphling under the contract of a machine.

use super::emit::resources::Chip;
use super::machine::Morphling;
use super::software::Unit;
use super::{Mapped, machine, map};
use crate::contract::tfhe::{Decisions, Instruction, MappedTfhe, TfheMachine};
use crate::contract::{Figures, MachineError, Mapper, Target};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::Description;
use polyfabric_sim::schedule::{Resources, ScheduleBuilder};
use std::collections::BTreeMap;
use std::sync::Arc;

pub static MAPPER: Mapper = Mapper::new("morphling", machine::SPECS, |description| {
    Ok(Target::Tfhe(Arc::new(Figures::read(description, Morphling::new)?)))
});

impl TfheMachine for Figures<Morphling> {
    fn description(&self) -> &Description {
        self.description()
    }

    fn resources(&self, parameters: &Parameters) -> Result<Resources, MachineError> {
        let figures = self.get()?;
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, figures, &figures.steps(&figures.sizes(parameters)));
        Ok(builder.resources().clone())
    }

    fn map(&self, program: &KernelProgram) -> Result<MappedTfhe, MachineError> {
        let figures = self.get()?;
        let Mapped { schedule, labels, .. } =
            map(figures, program).map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        Ok(MappedTfhe { schedule, labels, primary: &["fft", "vpe", "lanes"] })
    }

    fn decisions(&self, program: &KernelProgram) -> Result<Decisions, MachineError> {
        let Mapped { streams, timeline, .. } = map(self.get()?, program)
            .map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        let unit = |unit| match unit {
            Unit::Dma | Unit::KeyDma => "dma",
            Unit::Link => "link",
            Unit::Array => "array",
            Unit::Lanes(_) => "lanes",
        };
        let timed = streams.nodes.iter().zip(&timeline.starts).zip(&timeline.ends);
        let instructions = timed.map(|((node, &start), &end)| {
            let (unit, action) = (unit(node.unit), node.instruction.opcode.name());
            Instruction { unit, action, start, end }
        });
        Ok(Decisions { quantities: BTreeMap::new(), instructions: instructions.collect() })
    }
}
