//! FPT under the contract of a machine.

use super::emit::chip::Chip;
use super::machine::Fpt;
use super::{Mapped, machine, map};
use crate::contract::tfhe::{Decisions, MappedTfhe, TfheMachine};
use crate::contract::{Figures, MachineError, Mapper, Target};
use crate::tfhe::figures::fixed_point;
use polyfabric_kernels::fixed::Structure;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::Description;
use polyfabric_sim::schedule::{Resources, ScheduleBuilder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// FPT.
pub static MAPPER: Mapper =
    Mapper::new("fpt", machine::SPECS, |description| Ok(Target::Tfhe(Arc::new(Figures::read(description, Fpt::new)?))));

/// Bytes of the events of one iteration of one blind rotation, which has them to itself. Measured: 160.
const ITERATION_BYTES: u64 = 240;

impl TfheMachine for Figures<Fpt> {
    fn description(&self) -> &Description {
        self.description()
    }

    fn rotation_bytes(&self, parameters: &Parameters) -> u64 {
        ITERATION_BYTES * parameters.lwe_dimension().get() as u64
    }

    fn structure(&self) -> Result<Structure, MachineError> {
        Ok(Structure::Twisted { log2_radix: self.get()?.log2_radix })
    }

    fn arithmetic(&self, parameters: &Parameters) -> Result<Arithmetic, MachineError> {
        self.holds(parameters)?;
        let mut spec = fixed_point(self.description(), parameters)?.with_structure(self.structure()?);
        // What decomposition would round away is not carried along (section 3.5).
        let kept = parameters.bootstrap_gadget().kept_bits();
        if kept < parameters.torus_bits() {
            spec = spec.with_result_bits(kept);
        }
        Ok(Arithmetic::Fixed(Box::new(spec)))
    }

    fn resources(&self, parameters: &Parameters) -> Result<Resources, MachineError> {
        let figures = self.get()?;
        let shape = figures
            .shape(parameters)
            .map_err(|cause| MachineError::mapping(self.description(), parameters.name(), cause))?;
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, figures, &shape);
        Ok(builder.resources().clone())
    }

    fn map(&self, program: &KernelProgram) -> Result<MappedTfhe, MachineError> {
        let figures = self.get()?;
        let Mapped { schedule, labels, .. } =
            map(figures, program).map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        Ok(MappedTfhe { schedule, labels, primary: &["fft", "mac", "ifft"] })
    }

    fn decisions(&self, program: &KernelProgram) -> Result<Decisions, MachineError> {
        let shape = self
            .get()?
            .shape(&program.parameters)
            .map_err(|cause| MachineError::mapping(self.description(), &program.name, cause))?;
        let quantities = BTreeMap::from([
            ("points", shape.points as f64),
            ("forward_points", shape.widths.0 as f64),
            ("inverse_points", shape.widths.1 as f64),
            ("forward_kernels", shape.side_rows as f64),
            ("inverse_kernels", shape.side as f64),
            ("multipliers", shape.macs() as f64),
            ("cmux_cycles", shape.cmux as f64),
            ("depth_cycles", shape.depth as f64),
            ("ciphertexts", shape.in_flight as f64),
            ("period_cycles", shape.period as f64),
            ("iterations", shape.lwe_dimension as f64),
            ("key_bytes", shape.key() as f64),
        ]);
        Ok(Decisions { quantities, instructions: Vec::new() })
    }
}
