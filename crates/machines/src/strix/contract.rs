//! Strix under the contract of a machine.

use super::emit::resources::Chip;
use super::machine::Strix;
use super::meaning::Names;
use super::streams::accumulation;
use super::{Mapped, map, reproduce, specs};
use crate::audit::Meaning;
use crate::contract::torus::{MappedTorus, ReplayedOutputs, TorusMachine};
use crate::contract::{Machine, MachineError, Mapper};
use crate::engine::description::{Description, FigureSpec};
use crate::engine::schedule::{Resources, Schedule, ScheduleBuilder};
use crate::reproduce::{Prediction, ReproduceError};
use crate::torus::replay::Replay;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::{LweBatch, Parameters, ServerKey};
use std::collections::BTreeMap;

/// Machines of Strix's kind.
pub static KIND: StrixKind = StrixKind;

/// See [`KIND`].
pub struct StrixKind;

impl Machine for StrixKind {
    fn name(&self) -> &'static str {
        "strix"
    }

    fn file(&self) -> &'static str {
        include_str!("../../../../machines/strix.toml")
    }

    fn published(&self) -> &'static str {
        reproduce::PUBLISHED
    }

    fn specs(&self) -> &'static [FigureSpec] {
        specs::SPECS
    }

    fn family(&self) -> Mapper {
        Mapper::Torus(&KIND)
    }

    fn predictions(&self, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
        reproduce::predictions(progress)
    }
}

impl TorusMachine for StrixKind {
    fn lowering(
        &self,
        machine: &Description,
        parameters: &Parameters,
        key_switch: KeySwitchOrder,
    ) -> Result<TfheLowering, MachineError> {
        let figures = Strix::new(machine)?;
        let width = parameters.glwe_dimension().get() as u32 + 1;
        let mut choice = TfheLowering::new(key_switch, self.arithmetic(machine, parameters)?);
        choice.accumulation = accumulation(&figures, width, parameters.bootstrap_gadget().levels);
        Ok(choice)
    }

    fn resources(&self, machine: &Description, parameters: &Parameters) -> Result<Resources, MachineError> {
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, &Strix::new(machine)?, parameters);
        Ok(builder.resources().clone())
    }

    fn map(&self, machine: &Description, program: &KernelProgram) -> Result<Box<dyn MappedTorus>, MachineError> {
        let figures = Strix::new(machine)?;
        let mapped = map(&figures, program).map_err(|cause| MachineError::mapping(machine, &program.name, cause))?;
        Ok(Box::new(mapped))
    }
}

impl MappedTorus for Mapped {
    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn meaning<'a>(&'a self, program: &'a KernelProgram) -> Box<dyn Meaning + 'a> {
        Box::new(Names::new(program, &self.tasks, &self.chip))
    }

    fn primary(&self) -> &'static [&'static str] {
        &["fft", "vma", "key_switch"]
    }

    fn replay(
        &self,
        schedule: &Schedule,
        program: &KernelProgram,
        key: &ServerKey<u32>,
        inputs: &BTreeMap<String, LweBatch<u32>>,
        progress: &dyn Progress,
    ) -> Result<ReplayedOutputs, MachineError> {
        let replayed = self.carry_out(schedule, program, key, inputs, progress);
        let Replay { outputs, saturations, .. } = replayed.map_err(|error| MachineError::Replay(Box::new(error)))?;
        Ok(ReplayedOutputs { outputs, saturations })
    }
}
