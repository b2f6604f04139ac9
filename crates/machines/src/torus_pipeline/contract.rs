//! The mapper under the contract.

use super::emit::resources::Chip;
use super::machine::Pipeline;
use super::streams::accumulation;
use super::{Mapped, map, specs};
use crate::contract::torus::{MappedTorus, TorusMachine};
use crate::contract::{MachineError, Mapper, Programs};
use crate::engine::description::{Description, FigureError, FigureSpec};
use crate::engine::schedule::{Resources, ScheduleBuilder};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::Parameters;

/// Machines composed of streaming cores.
pub static MAPPER: TorusPipeline = TorusPipeline;

/// See [`MAPPER`].
pub struct TorusPipeline;

impl Mapper for TorusPipeline {
    fn name(&self) -> &'static str {
        "torus-pipeline"
    }

    fn specs(&self) -> &'static [FigureSpec] {
        specs::SPECS
    }

    fn check(&self, machine: &Description) -> Result<(), FigureError> {
        Pipeline::new(machine).map(|_| ())
    }

    fn programs(&self) -> Programs {
        Programs::Torus(&MAPPER)
    }
}

impl TorusMachine for TorusPipeline {
    fn lowering(
        &self,
        machine: &Description,
        parameters: &Parameters,
        key_switch: KeySwitchOrder,
    ) -> Result<TfheLowering, MachineError> {
        let figures = Pipeline::new(machine)?;
        let width = parameters.glwe_dimension().get() as u32 + 1;
        let mut choice = TfheLowering::new(key_switch, self.arithmetic(machine, parameters)?);
        choice.accumulation = accumulation(&figures, width, parameters.bootstrap_gadget().levels);
        Ok(choice)
    }

    fn resources(&self, machine: &Description, parameters: &Parameters) -> Result<Resources, MachineError> {
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, &Pipeline::new(machine)?, parameters);
        Ok(builder.resources().clone())
    }

    fn map(&self, machine: &Description, program: &KernelProgram) -> Result<MappedTorus, MachineError> {
        let figures = Pipeline::new(machine)?;
        let Mapped { schedule, labels, .. } =
            map(&figures, program).map_err(|cause| MachineError::mapping(machine, &program.name, cause))?;
        Ok(MappedTorus { schedule, labels, primary: &["fft", "vma", "key_switch"] })
    }
}
