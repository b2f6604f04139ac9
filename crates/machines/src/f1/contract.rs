//! F1 and its mapper under their contracts.
//!
//! The mapper is `rns-vector`: clusters of vector units for RNS programs, composed in a machine file. F1 is one such machine.

use super::arithmetic::Units;
use super::compile::{CompileError, Compiled, Scheduler, scheduled};
use super::estimate::{Estimate as GroupEstimate, RESOURCES};
use super::expand;
use super::machine;
use super::machine::{F1, GeometryError, LowThroughput, WORD_BYTES};
use super::order::order;
use super::saved::{SavedError, load as load_saved, save};
use super::stream::{encode, text};
use super::translate::{TranslationError, translate};
use crate::contract::estimate::Estimate;
use crate::contract::options::{Given, OptionError, OptionSpec, OptionValues, seconds};
use crate::contract::rns::{Group, Instructed, MAPPER_BYTES, MappedRns, RnsMachine};
use crate::contract::{Figures, MachineError, Mapper, Target};
use crate::rns::arithmetic::{Arithmetic, ReplayError};
use crate::rns::labels::Labels;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, LimbOps};
use polyfabric_program::rns::lowering::{Hoisting, Rescaling, RnsLowering, RotationOrder};
use polyfabric_schemes::rns::GadgetLiteral;
use polyfabric_sim::description::Description;
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::Resources;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Machines of clusters of vector units.
pub static MAPPER: Mapper = Mapper {
    quantities: |machine| Ok(BTreeMap::from([("ntt_multipliers", F1::new(machine)?.ntt_multipliers() as f64)])),
    options: OPTIONS,
    ..Mapper::new("rns-vector", machine::SPECS, |description| {
        Ok(Target::Rns(Arc::new(Figures::read(description, F1::new)?)))
    })
};

/// Name of the option for the algorithm of phase 2.
pub const SCHEDULER: &str = "scheduler";
/// Name of the option for that algorithm's time limit.
pub const TIME_LIMIT: &str = "time-limit";
/// Name of the option for low-throughput units.
pub const LOW_THROUGHPUT: &str = "low-throughput";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: SCHEDULER,
        values: OptionValues::Words(&["priority", "csr"]),
        help: "who decides what is on chip when: by priority, as the paper has it, or csr, Goodman and Hsu's that minimises register \
               usage, for comparison",
    },
    OptionSpec {
        name: TIME_LIMIT,
        values: OptionValues::Seconds,
        help: "when --scheduler csr gives up; never without it",
    },
    OptionSpec {
        name: LOW_THROUGHPUT,
        values: OptionValues::Words(&["ntt", "automorphism"]),
        help: "slower units of this kind, as many more (section 8.3)",
    },
];

/// Bytes for each instruction while a program is ordered, scheduled and checked. Measured: 110 to 190.
const INSTRUCTION_BYTES: u64 = 250;

/// How a program is compiled, in addition to the machine file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The algorithm of phase 2.
    pub scheduler: Scheduler,
    /// Low-throughput units instead of the machine's own.
    pub low_throughput: Option<LowThroughput>,
}

impl Options {
    /// Reads the options from `given`, whose values were checked against their lists.
    fn of(given: &Given) -> Result<Self, OptionError> {
        let limit = given.get(TIME_LIMIT).and_then(|text| seconds(text));
        let scheduler = match given.get(SCHEDULER).map(String::as_str) {
            Some("csr") => Scheduler::Csr { limit },
            _ if limit.is_some() => {
                let message = "--time-limit is of --scheduler csr; the other scheduler needs none";
                return Err(OptionError::Together(message));
            }
            _ => Scheduler::Priority,
        };
        let kind = given.get(LOW_THROUGHPUT);
        let low_throughput =
            kind.and_then(|name| LowThroughput::ALL.into_iter().find(|variant| variant.kind().name() == name));
        Ok(Self { scheduler, low_throughput })
    }
}

/// A program on a machine.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The compiled program.
    pub compiled: Compiled,
    labels: Labels,
    machine: F1,
}

impl Mapped {
    fn new(compiled: Compiled, machine: F1) -> Box<Self> {
        Box::new(Self { labels: compiled.labels(), compiled, machine })
    }
}

/// The lowering of programs for F1; `gadget` is the decomposition of key switches. Rotations start with the automorphism, each with
/// separate digits (listing 1), which are lifted without correction. Divisions round to the nearest: truncated parts would have a mean,
/// which the secret multiplies at the root next to 1. The mean of a digit only multiplies the key's errors.
pub fn lowering(gadget: GadgetLiteral) -> RnsLowering {
    RnsLowering {
        conversion: Conversion::Approximate,
        division: Conversion::Balanced,
        rotation: RotationOrder::AutomorphismFirst,
        hoisting: Hoisting::None,
        ..RnsLowering::new(gadget)
    }
}

impl RnsMachine for Figures<F1> {
    fn description(&self) -> &Description {
        self.description()
    }

    fn word_bits(&self) -> Result<u32, MachineError> {
        self.get()?;
        Ok(8 * WORD_BYTES as u32)
    }

    fn bgv_lowering(&self, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
        Ok(lowering(gadget))
    }

    /// The scales of CKKS are almost as large as the machine's words. Rotations come before rescalings, so that the error of a key switch
    /// is not added at the smaller scale.
    fn ckks_lowering(&self, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
        Ok(RnsLowering { rescaling: Rescaling::AfterRotations, ..lowering(gadget) })
    }

    fn estimate(&self, program: &KernelProgram) -> Result<Estimate, MachineError> {
        let figures = self.get()?;
        let failed = |cause: CompileError| MachineError::mapping(self.description(), &program.name, cause);
        let geometry = figures.geometry(program.degree).map_err(|cause| failed(cause.into()))?;
        let translation = translate(program, geometry.subpolynomials()).map_err(|cause| failed(cause.into()))?;
        let estimate = GroupEstimate::new(&order(translation, figures, &geometry), figures, &geometry);
        Ok(Estimate {
            loads: RESOURCES.into_iter().zip(estimate.cycles()).collect(),
            cycles: estimate.total(),
            hint_bytes: estimate.hint_bytes,
            hint_bytes_once: estimate.hint_bytes_once,
            other_bytes: estimate.other_bytes,
        })
    }

    /// A conversion between bases and a transform of several vectors take many instructions for each limb.
    fn mapping_bytes(&self, program: &KernelProgram) -> Result<u64, MachineError> {
        let failed = |cause: CompileError| MachineError::mapping(self.description(), &program.name, cause);
        let geometry = self.get()?.geometry(program.degree).map_err(|cause| failed(cause.into()))?;
        let vectors = geometry.subpolynomials().count() as u64;
        let limb_ops = program.counts().map_err(|cause| failed(TranslationError::from(cause).into()))?.limb_ops;
        let LimbOps { multiplies, multiply_adds, adds, reductions, automorphisms, .. } = limb_ops;
        let each = multiplies + 2 * multiply_adds + adds + reductions + automorphisms;
        // Butterflies between vectors take three instructions for each two of them, in every layer.
        let transform = vectors + 3 * (vectors / 2) * u64::from(vectors.ilog2());
        Ok(MAPPER_BYTES + INSTRUCTION_BYTES * (each * vectors + limb_ops.ntts() * transform))
    }

    fn resources(&self, program: &KernelProgram, options: &Given) -> Result<Resources, MachineError> {
        let figures = self.variant(program, Options::of(options)?.low_throughput)?;
        let geometry = figures.geometry(program.degree);
        let failed = |cause| MachineError::mapping(self.description(), &program.name, CompileError::from(cause));
        Ok(expand::resources(&figures, &geometry.map_err(failed)?))
    }

    fn primary(&self) -> &'static [&'static str] {
        &["ntt", "automorphism", "multiply", "add"]
    }

    fn map(&self, program: &KernelProgram, options: &Given) -> Result<Box<dyn MappedRns>, MachineError> {
        let options = Options::of(options)?;
        let figures = self.variant(program, options.low_throughput)?;
        let failed = |cause| match cause {
            CompileError::Intractable(cause) => MachineError::intractable(self.description(), &program.name, cause),
            cause => MachineError::mapping(self.description(), &program.name, cause),
        };
        let compiled = scheduled(&figures, program, options.scheduler).map_err(failed)?;
        Ok(Mapped::new(compiled, figures))
    }

    fn load(&self, program: &KernelProgram, options: &Given, bytes: &[u8]) -> Result<Box<dyn MappedRns>, MachineError> {
        let Options { low_throughput, .. } = Options::of(options)?;
        let figures = self.variant(program, low_throughput)?;
        let failed =
            |cause: SavedError| MachineError::Saved { program: program.name.to_string(), cause: Box::new(cause) };
        let compiled = load_saved(bytes, &figures, program).map_err(failed)?.compiled;
        Ok(Mapped::new(compiled, figures))
    }
}

impl Figures<F1> {
    /// The figures, with low-throughput units if they are selected.
    fn variant(&self, program: &KernelProgram, low_throughput: Option<LowThroughput>) -> Result<F1, MachineError> {
        let figures = self.get()?;
        let Some(variant) = low_throughput else { return Ok(figures.clone()) };
        let failed =
            |cause: GeometryError| MachineError::mapping(self.description(), &program.name, CompileError::from(cause));
        figures.with_low_throughput(variant, program.degree).map_err(failed)
    }
}

impl MappedRns for Mapped {
    fn events(&self) -> Box<dyn EventList + '_> {
        Box::new(self.compiled.events(&self.machine))
    }

    fn labels(&self) -> &Labels {
        &self.labels
    }

    fn arithmetic(&self) -> Result<Box<dyn Arithmetic + '_>, ReplayError> {
        let Compiled { translation, geometry, .. } = &self.compiled;
        Ok(Box::new(Units::new(&self.machine, geometry, &translation.moduli)?))
    }

    fn replaced(&self) -> Option<&'static str> {
        self.machine.low_throughput.map(|variant| variant.kind().name())
    }

    fn instructed(&self) -> Option<&dyn Instructed> {
        Some(self)
    }
}

impl Instructed for Mapped {
    fn instructions(&self) -> u64 {
        self.compiled.translation.graph.len() as u64
    }

    fn save(&self) -> Vec<u8> {
        save(&self.compiled)
    }

    fn streams(&self) -> Vec<u8> {
        encode(&self.compiled.streams(&self.machine))
    }

    fn streams_text(&self) -> String {
        text(&self.compiled.streams(&self.machine))
    }

    fn groups(&self) -> Vec<Group> {
        let group = |group: &super::order::Group| Group {
            hint: group.hint.map(|hint| hint.to_string()),
            operations: group.operations as u64,
            instructions: group.instructions as u64,
        };
        self.compiled.groups.iter().map(group).collect()
    }
}
