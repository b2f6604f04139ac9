//! Osiris under the contract of a machine.

use super::arithmetic::Units;
use super::chip::Chip;
use super::labels::labelled;
use super::machine::{Osiris, SPECS};
use super::schedule::{Scheduled, schedule};
use super::tasks::{Kernel, MapError, Tasks};
use crate::contract::estimate::Estimate;
use crate::contract::options::Given;
use crate::contract::rns::{MappedRns, RnsMachine};
use crate::contract::{Figures, MachineError, Mapper, Target};
use crate::rns::arithmetic::{Arithmetic, ReplayError};
use crate::rns::labels::Labels;
use crate::rns::leaf::Leaf;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::RnsLowering;
use polyfabric_schemes::rns::GadgetLiteral;
use polyfabric_sim::description::Description;
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{Resources, ScheduleBuilder};
use std::sync::Arc;

/// Osiris, and machines of systolic units like its own.
pub static MAPPER: Mapper = Mapper {
    quantities: |machine| Ok(Osiris::new(machine)?.quantities()),
    ..Mapper::new("rns-systolic", SPECS, |description| {
        Ok(Target::Rns(Arc::new(Figures::read(description, Osiris::new)?)))
    })
};

/// A program on a machine.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The schedule.
    pub scheduled: Scheduled,
    labels: Labels,
    program: KernelProgram,
}

impl RnsMachine for Figures<Osiris> {
    fn description(&self) -> &Description {
        self.description()
    }

    fn word_bits(&self) -> Result<u32, MachineError> {
        Ok(self.get()?.word_bits as u32)
    }

    /// As for CKKS.
    fn bgv_lowering(&self, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
        self.ckks_lowering(gadget)
    }

    fn ckks_lowering(&self, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
        Ok(self.get()?.lowering(gadget))
    }

    fn estimate(&self, program: &KernelProgram) -> Result<Estimate, MachineError> {
        let figures = self.get()?;
        let failed = |cause: MapError| MachineError::mapping(self.description(), &program.name, cause);
        let units = figures.units(program.degree).map_err(|cause| failed(cause.into()))?;
        let tasks = Tasks::of(program, figures).map_err(failed)?;
        let (tiles, limb) = (units.shape.tiles() as f64, figures.limb_bytes(program.degree));
        let [mut first, mut array, mut second, mut hadamard, mut automorphism] = [0.0; 5];
        for task in &tasks.tasks {
            // What will be refused is no candidate for the choice of a key switch.
            figures.holds(task).map_err(failed)?;
            match &task.kernel {
                Kernel::ModChange { sources, targets, division, .. } => {
                    let stream = tiles * sources.len().max(targets.len()) as f64;
                    (first, array, second) = (first + stream, array + stream, second + stream);
                    hadamard += if division.is_some() { tiles * targets.len() as f64 } else { 0.0 };
                }
                Kernel::Inverse { sources, .. } => first += tiles * sources.len() as f64,
                Kernel::Convert { sources, targets, .. } => array += tiles * sources.len().max(targets.len()) as f64,
                Kernel::Forward { targets, division, .. } => {
                    second += tiles * targets.len() as f64;
                    hadamard += if division.is_some() { tiles * targets.len() as f64 } else { 0.0 };
                }
                Kernel::KeyProduct { .. } => hadamard += tiles,
                Kernel::Pointwise { limbs, diagonal, .. } => {
                    hadamard += tiles * limbs.len() as f64;
                    // Either NTT unit makes diagonals.
                    let made = if diagonal.is_some() { tiles * limbs.len() as f64 / 2.0 } else { 0.0 };
                    (first, second) = (first + made, second + made);
                }
                Kernel::Automorphism { .. } => automorphism += tiles,
            }
        }
        let is_hint = |leaf: &&Leaf| matches!(leaf, Leaf::Hint { .. });
        let (hints, others): (Vec<&Leaf>, Vec<&Leaf>) = tasks.leaves.iter().flatten().partition(is_hint);
        let outputs: usize = tasks.outputs.iter().map(Vec::len).sum();
        let (hint_bytes, other_bytes) = (hints.len() as u64 * limb, (others.len() + outputs) as u64 * limb);
        let groups = figures.groups as f64;
        let loads = vec![
            ("ntt", f64::max(first, second) / groups),
            ("base_conversion", array / groups),
            ("hadamard", hadamard / groups / figures.hadamard_units as f64),
            ("automorphism", automorphism / groups),
            ("hbm", (hint_bytes + other_bytes) as f64 / figures.memory_bytes),
        ];
        let cycles = loads.iter().map(|&(_, load)| load).fold(0.0, f64::max);
        Ok(Estimate { loads, cycles, hint_bytes, hint_bytes_once: hint_bytes, other_bytes })
    }

    fn resources(&self, program: &KernelProgram, _options: &Given) -> Result<Resources, MachineError> {
        let figures = self.get()?;
        let units = figures
            .units(program.degree)
            .map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, figures, &units);
        Ok(builder.resources().clone())
    }

    fn map(&self, program: &KernelProgram, _options: &Given) -> Result<Box<dyn MappedRns>, MachineError> {
        let figures = self.get()?;
        let mut scheduled = schedule(figures, program)
            .map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        let labels = labelled(&mut scheduled, program);
        Ok(Box::new(Mapped { scheduled, labels, program: program.clone() }))
    }

    fn primary(&self) -> &'static [&'static str] {
        &["ntt", "base_conversion", "hadamard.keys", "hadamard.diagonals", "automorphism"]
    }
}

impl MappedRns for Mapped {
    fn events(&self) -> Box<dyn EventList + '_> {
        Box::new(&self.scheduled.schedule)
    }

    fn labels(&self) -> &Labels {
        &self.labels
    }

    fn arithmetic(&self) -> Result<Box<dyn Arithmetic + '_>, ReplayError> {
        Ok(Box::new(Units::new(&self.scheduled, &self.program)?))
    }
}
