//! The mapper under the contract.

use super::emit::resources::Chip;
use super::machine::Pipeline;
use super::streams::accumulation;
use super::{Mapped, machine, map};
use crate::contract::tfhe::{Decisions, MappedTfhe, TfheMachine};
use crate::contract::{Figures, MachineError, Mapper, Target};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::Description;
use polyfabric_sim::schedule::{Resources, ScheduleBuilder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Machines composed of streaming cores.
pub static MAPPER: Mapper = Mapper::new("torus-pipeline", machine::SPECS, |description| {
    Ok(Target::Tfhe(Arc::new(Figures::read(description, Pipeline::new)?)))
});

impl TfheMachine for Figures<Pipeline> {
    fn description(&self) -> &Description {
        self.description()
    }

    fn lowering(&self, parameters: &Parameters, key_switch: KeySwitchOrder) -> Result<TfheLowering, MachineError> {
        let figures = self.get()?;
        let width = parameters.glwe_dimension().get() as u32 + 1;
        let mut choice = TfheLowering::new(key_switch, self.arithmetic(parameters)?);
        choice.accumulation = accumulation(figures, width, parameters.bootstrap_gadget().levels);
        Ok(choice)
    }

    fn resources(&self, parameters: &Parameters) -> Result<Resources, MachineError> {
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, self.get()?, parameters);
        Ok(builder.resources().clone())
    }

    fn map(&self, program: &KernelProgram) -> Result<MappedTfhe, MachineError> {
        let figures = self.get()?;
        let Mapped { schedule, labels, .. } =
            map(figures, program).map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        Ok(MappedTfhe { schedule, labels, primary: &["fft", "vma", "key_switch"] })
    }

    fn decisions(&self, program: &KernelProgram) -> Result<Decisions, MachineError> {
        let Mapped { tasks, timeline, .. } = map(self.get()?, program)
            .map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        let quantities = BTreeMap::from([
            ("ciphertexts_a_core", tasks.layout.waves as f64),
            ("cycles_to_accumulator", timeline.steps.fill() as f64),
        ]);
        Ok(Decisions { quantities, instructions: Vec::new() })
    }
}
