//! Osiris's figures, and the properties that follow from them.

use super::steps::StepSchedules;
use super::tasks::{Kernel, MapError, Task};
use super::units::{
    AutomorphismUnit, BaseConversionArray, HadamardUnit, HeightError, KeyGenerator, LimbExtension, ModChangeUnits,
    NttUnit, PipelineDepth, Routing, Shape, ShapeError,
};
use polyfabric_kernels::RingDegree;
use polyfabric_program::rns::kernel::Conversion;
use polyfabric_program::rns::lowering::{Hoisting, RnsLowering, RotationOrder, Search, StepRates, StepRule, SumOrder};
use polyfabric_schemes::rns::GadgetLiteral;
use polyfabric_sim::description::Dimension::{Bandwidth, Bits, Bytes, Count, Cycles, Flag, Frequency};
use polyfabric_sim::description::{Description, FigureError, energy, figure, flag, optional};
use polyfabric_sim::figures;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Indexed by figure `machine.dataflow.hoisting`.
const HOISTING: [Hoisting; 3] = [Hoisting::None, Hoisting::Single, Hoisting::Double];

/// Indexed by figure `machine.dataflow.steps`.
const STEPS: [StepsBy; 4] = [StepsBy::Products, StepsBy::Rates, StepsBy::Schedules, StepsBy::Diagonals];

/// Indexed by figure `machine.dataflow.products`.
const DATAFLOW: [Dataflow; 3] = [Dataflow::GiantsInTurn, Dataflow::BabySteps, Dataflow::LimbGroups];

const BANDWIDTH: &str = "channels.hbm.bandwidth";
const IN_TURN: &str = "units.ntt.in_turn";

/// Criterion for the numbers of baby and giant steps of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsBy {
    /// The fewest modular products.
    Products,
    /// The shortest time by rates of units and memory.
    Rates,
    /// The shortest checked schedule of the matrix product.
    Schedules,
    /// One rotation per diagonal, without giant steps.
    Diagonals,
}

/// The order of the tiles of several limbs on a port (section IV-B, figures 2 and 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Alternates between limbs tile by tile.
    Interleaved,
    /// All tiles of a limb, then those of the next. Between units, coefficients wait in the scratchpads, as the array needs a tile of each
    /// limb.
    LimbByLimb,
}

/// The order of a matrix's products with rotated ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dataflow {
    /// All baby steps, then one giant step after another.
    GiantsInTurn,
    /// One baby step over all limbs after another, each to the sums of all giant steps.
    BabySteps,
    /// A group of limbs of all baby steps between two changes of modulus, then the next group.
    LimbGroups,
}

figures! {
    pub struct Osiris, SPECS {
        figure("clock", Frequency, 1e6, 1e11, "the clock") => clock_hz: f64;
        figure("units.group.count", Count, 1.0, 16.0, "the groups of all units below, which share scratchpads and memory") => groups: usize;
        figure("units.ntt.lanes", Count, 2.0, 65536.0, "the lanes of every unit") => lanes: usize;
        figure("units.ntt.stages", Count, 1.0, 24.0, "the stages of an NTT unit") => stages: u32;
        figure("units.ntt.limbs", Count, 1.0, 256.0, "the limbs that an NTT unit's delays can interleave") => limbs: usize;
        optional(IN_TURN, Flag, 0.0, 1.0, "whether an NTT unit may interleave another number of limbs behind a stream (default: when it is empty)");
        figure("units.base_conversion.height", Count, 1.0, 256.0, "the rows of the base conversion array") => height: usize;
        figure("units.hadamard.count", Count, 1.0, 2.0, "the Hadamard units of a group") => hadamard_units: usize;
        figure("units.hadamard.height", Count, 2.0, 64.0, "the cells of a column of a Hadamard unit") => hadamard_height: usize;
        figure("units.pipeline.multiplier", Cycles, 1.0, 64.0, "the registers of a multiplier");
        figure("memories.scratchpad.capacity", Bytes, 1024.0, 1e12, "the scratchpads") => scratchpad: u64;
        figure("memories.scratchpad.reads", Count, 1.0, 256.0, "the tiles read per cycle");
        figure("memories.scratchpad.writes", Count, 1.0, 256.0, "the tiles written per cycle");
        figure("channels.hbm.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of the memory") => memory_bytes: f64;
        figure("channels.hbm.latency", Cycles, 1.0, 1e6, "the latency of the memory") => memory_latency: u64;
        energy("channels.hbm.energy");
        figure("machine.arithmetic.word", Bits, 8.0, 60.0, "the width of a residue") => word_bits: u64;
        figure("machine.dataflow.hoisting", Count, 0.0, (HOISTING.len() - 1) as f64, "what rotations share: 0 nothing, 1 digits, 2 digits and divisions");
        flag("machine.dataflow.limb_extension", "whether diagonals are extended from one limb") => limb_extension: bool;
        figure("machine.dataflow.steps", Count, 0.0, (STEPS.len() - 1) as f64,
            "how steps are chosen: 0 by products, 1 by rates of units and memory, 2 by schedules, 3 one rotation per diagonal");
        figure("machine.dataflow.products", Count, 0.0, (DATAFLOW.len() - 1) as f64,
            "the order of a matrix's products: 0 by giant steps, 1 by baby steps, 2 by groups of limbs");
        flag("machine.dataflow.sums_in_place", "whether a result overwrites an operand that nothing else reads") => sums_in_place: bool;
        flag("machine.dataflow.fused_rescale", "whether the division by P is fused with the rescaling") => fused_rescale: bool;
        flag("machine.dataflow.limb_interleaving", "whether limbs pass interleaved instead of in sequence");
    }
    d => {
        delays_in_turn: bool = d.figures().contains_key(IN_TURN) && d.flag(IN_TURN)?,
        depth: PipelineDepth = PipelineDepth { multiplier: d.count("units.pipeline.multiplier")? as usize },
        /// Tiles read from and written to the scratchpads per cycle.
        port_tiles: (u64, u64) = (d.count("memories.scratchpad.reads")?, d.count("memories.scratchpad.writes")?),
        hoisting: Hoisting = HOISTING[d.count("machine.dataflow.hoisting")? as usize],
        steps: StepsBy = STEPS[d.count("machine.dataflow.steps")? as usize],
        dataflow: Dataflow = DATAFLOW[d.count("machine.dataflow.products")? as usize],
        tiling: Tiling = match d.flag("machine.dataflow.limb_interleaving")? {
            true => Tiling::Interleaved,
            false => Tiling::LimbByLimb,
        },
    }
}

impl Osiris {
    /// Reads and checks the figures.
    pub fn new(d: &Description) -> Result<Self, FigureError> {
        let machine = Self::read(d)?;
        d.together(
            "units.ntt.lanes",
            "units.ntt.stages",
            "lanes must be a power of two and at most the degree of the largest ring",
            machine.lanes.is_power_of_two() && machine.lanes.ilog2() <= machine.stages,
        )?;
        let memory = machine.memory_bytes / machine.tile_bytes();
        let (groups, height) = (machine.groups as f64, machine.hadamard_height as f64);
        let units = machine.hadamard_units as f64;
        // Without interleaving, buffered tiles between the units of a change of modulus are written once more
        // and read once more.
        let waiting = if machine.tiling == Tiling::LimbByLimb { 2.0 + 1.0 } else { 0.0 };
        // Interleaved limbs pass within (N/p − 1)·S + 1 cycles, which for the smallest ring, N/p = 2, is half
        // of S·N/p.
        let reads = groups * (units * (2.0 * height + 2.0 * 5.0) + 2.0 + 1.0 + waiting);
        let writes = groups * (units * (2.0 * 2.0 + 2.0 * 2.0) + 2.0 + 1.0 + waiting);
        let ports = [
            (
                ("memories.scratchpad.reads", machine.port_tiles.0 as f64, reads),
                "units.hadamard.height",
                "all units may read at once: two tiles per cell of each Hadamard unit and five for a diagonal, one each for the first NTT \
                 unit, the automorphism unit and memory; interleaved limbs need twice as many on the smallest ring",
                "the port must serve memory in addition to all units: raise the tiles read per cycle with the bandwidth",
            ),
            (
                ("memories.scratchpad.writes", machine.port_tiles.1 as f64, writes),
                "units.hadamard.count",
                "all units may write at once: two tiles for each of a Hadamard unit's two jobs, one each for the second NTT unit, the \
                 automorphism unit and memory; interleaved limbs need twice as many on the smallest ring",
                "the port must serve memory in addition to all units: raise the tiles written per cycle with the bandwidth",
            ),
        ];
        for ((figure, tiles, of_units), structure, units_cause, memory_cause) in ports {
            d.together(figure, structure, units_cause, tiles >= of_units)?;
            d.together(figure, BANDWIDTH, memory_cause, tiles >= of_units + memory)?;
        }
        Ok(machine)
    }

    /// The machine's units for rings of `degree`.
    pub fn units(&self, degree: RingDegree) -> Result<ModChangeUnits, ShapeError> {
        let shape = Shape::new(degree, self.lanes, self.stages)?;
        Ok(ModChangeUnits { shape, height: self.height, depth: self.depth })
    }

    /// Whether the array has enough rows for `task`.
    pub fn holds(&self, task: &Task) -> Result<(), MapError> {
        match &task.kernel {
            Kernel::ModChange { sources, .. } | Kernel::Convert { sources, .. } if sources.len() > self.height => {
                let cause = HeightError { sources: sources.len(), height: self.height };
                Err(MapError::Height { op: task.op, cause })
            }
            Kernel::ModChange { .. }
            | Kernel::Inverse { .. }
            | Kernel::Convert { .. }
            | Kernel::Forward { .. }
            | Kernel::KeyProduct { .. }
            | Kernel::Pointwise { .. }
            | Kernel::Automorphism { .. } => Ok(()),
        }
    }

    pub fn tile_bytes(&self) -> f64 {
        (self.lanes as u64 * self.word_bits) as f64 / 8.0
    }

    /// Bytes of a limb of N = `degree` residues.
    pub fn limb_bytes(&self, degree: RingDegree) -> u64 {
        (degree.get() as u64 * self.word_bits).div_ceil(8)
    }

    /// The lowering of CKKS programs for the machine, with key switches according to `gadget`.
    ///
    /// Digits are lifted approximately: the first row of the array has one additional multiplier (section IV-C)
    /// but no adder. A division rounds to nearest, as the mean of a truncation error would be multiplied by the
    /// secret. Rotations switch keys first, as hoisting requires (section III). A division by P after a product
    /// is fused with the rescaling (section VI). Diagonals for limb extension are encoded with coefficients
    /// that fit the limb.
    pub fn lowering(&self, gadget: GadgetLiteral) -> RnsLowering {
        RnsLowering {
            conversion: Conversion::Approximate,
            division: Conversion::Balanced,
            rotation: RotationOrder::SwitchFirst,
            hoisting: self.hoisting,
            steps: match self.steps {
                StepsBy::Products => StepRule::Products,
                StepsBy::Diagonals => StepRule::Diagonals,
                StepsBy::Rates => StepRule::Rates(self.step_rates()),
                StepsBy::Schedules => StepRule::Search(Search(Arc::new(StepSchedules::new(self.clone())))),
            },
            diagonal_bits: self.limb_extension.then_some(self.word_bits as u32 - 1),
            sums: match self.dataflow {
                Dataflow::GiantsInTurn => SumOrder::ByGiantSteps,
                Dataflow::BabySteps | Dataflow::LimbGroups => SumOrder::ByBabySteps,
            },
            fused_rescale: self.fused_rescale,
            ..RnsLowering::new(gadget)
        }
    }

    /// Costs of the steps of a matrix, in cycles on the largest ring.
    pub fn step_rates(&self) -> StepRates {
        let limb_bytes = (self.word_bits << self.stages) as f64 / 8.0;
        let limb = ((1u64 << self.stages) / self.lanes as u64) as f64;
        let of_group = limb / self.groups as f64;
        // Half of a key is generated from its seed, and each NTT unit extends diagonals for its Hadamard unit.
        let diagonal =
            if self.limb_extension { of_group / self.hadamard_units as f64 } else { limb_bytes / self.memory_bytes };
        StepRates {
            key_limb: limb_bytes / self.memory_bytes,
            diagonal_limb: diagonal,
            raised_limb: of_group,
            automorphism_limb: of_group,
            limbs_at_hand: (self.scratchpad as f64 / limb_bytes) as usize,
        }
    }

    /// Multipliers, switches and bytes of storage that the units imply, by name.
    pub fn quantities(&self) -> BTreeMap<&'static str, f64> {
        let word_bytes = |words: usize| words as f64 * self.word_bits as f64 / 8.0;
        let largest = RingDegree::new(1 << self.stages).ok();
        let largest_shape = largest.and_then(|degree| Shape::new(degree, self.lanes, self.stages).ok());
        let by_limb = |words: fn(Shape) -> usize| word_bytes(self.limbs * largest_shape.map_or(0, words));
        let (groups, units) = (self.groups, self.groups * self.hadamard_units);
        let cells = units * self.hadamard_height;
        let at_work = HadamardUnit::multipliers_at_work(self.lanes, self.hadamard_height);
        BTreeMap::from([
            ("ntt_multipliers", (2 * groups * NttUnit::multipliers(self.lanes, self.stages)) as f64),
            (
                "base_conversion_multipliers",
                (groups * BaseConversionArray::multipliers(self.height, self.lanes)) as f64,
            ),
            ("hadamard_multipliers", (units * HadamardUnit::multipliers(self.lanes, self.hadamard_height)) as f64),
            ("hadamard_multipliers_at_work", (units * at_work) as f64),
            // Before the NTT units; the paper does not count them.
            ("limb_extension_multipliers", (units * LimbExtension::multipliers(self.lanes)) as f64),
            ("switches", (groups * Routing::switch_count(self.lanes)) as f64),
            // Of all switches for one rotation of the largest ring; the paper has no memory for them.
            ("setting_bytes", groups as f64 * largest_shape.map_or(0.0, AutomorphismUnit::setting_bytes)),
            // Of all key generators; the paper gives no parts of a generator.
            ("mask_ring_bytes", cells as f64 * word_bytes(KeyGenerator::ring_words(self.lanes))),
            // ChaCha blocks per cycle of all key generators.
            ("mask_blocks", (cells * KeyGenerator::blocks(self.lanes)) as f64),
            ("delay_bytes", 2.0 * groups as f64 * by_limb(|shape| NttUnit::buffer_words(shape, 1))),
            // Two tables of factors per limb and direction, stored once; then with a copy for each stage of both units.
            ("twiddle_bytes", 2.0 * by_limb(NttUnit::table_words)),
            ("stage_twiddle_bytes", 2.0 * 2.0 * groups as f64 * by_limb(NttUnit::table_words_by_stage)),
            // Tables of all factors of one direction, for comparison.
            ("whole_twiddle_bytes", by_limb(|shape| shape.degree().get())),
            // Registers before and after the base conversion array.
            ("skew_bytes", groups as f64 * word_bytes(BaseConversionArray::skew_words(self.lanes))),
            ("scratchpad_bytes", self.scratchpad as f64),
        ])
    }

    /// All modular multipliers that the paper counts.
    pub fn multipliers(&self) -> f64 {
        let of = self.quantities();
        of["ntt_multipliers"] + of["base_conversion_multipliers"] + of["hadamard_multipliers"]
    }

    /// Cycles from a seed to its first residues.
    pub fn generator_latency(&self) -> u64 {
        KeyGenerator::latency(self.lanes)
    }

    /// Latency of the automorphism unit on rings of `shape`.
    pub fn automorphism_latency(&self, shape: Shape) -> u64 {
        AutomorphismUnit::latency(shape)
    }
}
