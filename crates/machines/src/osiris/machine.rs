//! Osiris's figures, checked, and what follows from them.

use super::mod_change::ModChangeUnits;
use super::steps::StepSchedules;
use super::tasks::{Kernel, MapError, Task};
use super::tiling::Tiling;
use super::units::base_conversion::HeightError;
use super::units::ntt::NttUnit;
use super::units::{
    AutomorphismUnit, BaseConversionArray, HadamardUnit, KeyGenerator, LimbExtension, PipelineDepth, Routing, Shape,
    ShapeError,
};
use crate::engine::description::{Description, Dimension, FigureError, FigureSpec, energy, figure};
use polyfabric_kernels::RingDegree;
use polyfabric_program::rns::kernel::Conversion;
use polyfabric_program::rns::lowering::{Hoisting, RnsLowering, RotationOrder, Search, StepRates, StepRule, SumOrder};
use polyfabric_schemes::rns::GadgetLiteral;
use std::sync::Arc;

/// Every figure that the mapper reads from a machine file.
pub const SPECS: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure("units.ntt.lanes", Dimension::Count, 2.0, 65536.0, "the lanes of every unit"),
    figure("units.ntt.stages", Dimension::Count, 1.0, 24.0, "the stages of an NTT unit"),
    figure("units.ntt.limbs", Dimension::Count, 1.0, 256.0, "the limbs that an NTT unit's delays can interleave"),
    figure("units.base_conversion.height", Dimension::Count, 1.0, 256.0, "the rows of the base conversion array"),
    figure("units.hadamard.count", Dimension::Count, 1.0, 2.0, "the Hadamard units"),
    figure("units.hadamard.height", Dimension::Count, 2.0, 64.0, "the cells of a column of a Hadamard unit"),
    figure("units.pipeline.multiplier", Dimension::Cycles, 1.0, 64.0, "the registers of a multiplier"),
    figure("memories.scratchpad.capacity", Dimension::Bytes, 1024.0, 1e12, "the scratchpads"),
    figure("memories.scratchpad.reads", Dimension::Count, 1.0, 256.0, "the tiles that are read a cycle"),
    figure("memories.scratchpad.writes", Dimension::Count, 1.0, 256.0, "the tiles that are written a cycle"),
    figure("channels.hbm.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of the memory"),
    figure("channels.hbm.latency", Dimension::Cycles, 1.0, 1e6, "the latency of the memory"),
    energy("channels.hbm.energy"),
    figure("machine.arithmetic.word", Dimension::Bits, 8.0, 60.0, "the width of a residue"),
    figure(
        "machine.dataflow.hoisting",
        Dimension::Count,
        0.0,
        (HOISTING.len() - 1) as f64,
        "what rotations share: 0 nothing, 1 digits, 2 divisions too",
    ),
    figure("machine.dataflow.limb_extension", Dimension::Flag, 0.0, 1.0, "whether diagonals are made of one limb"),
    figure(
        "machine.dataflow.steps",
        Dimension::Count,
        0.0,
        (STEPS.len() - 1) as f64,
        "by what steps are chosen: 0 products, 1 rates of units and memory, 2 schedules, 3 none but a rotation for each diagonal",
    ),
    figure(
        "machine.dataflow.giant_step_centric",
        Dimension::Flag,
        0.0,
        1.0,
        "whether each rotated ciphertext is added to the sums of all giant steps at once",
    ),
    figure(
        "machine.dataflow.fused_rescale",
        Dimension::Flag,
        0.0,
        1.0,
        "whether products are divided by P and rescaled at once",
    ),
    figure(
        "machine.dataflow.limb_interleaving",
        Dimension::Flag,
        0.0,
        1.0,
        "whether limbs pass interleaved, or one after the other",
    ),
];

/// By figure `machine.dataflow.hoisting`: what rotations share.
const HOISTING: [Hoisting; 3] = [Hoisting::None, Hoisting::Single, Hoisting::Double];

/// By figure `machine.dataflow.steps`: how steps are chosen.
const STEPS: [StepsBy; 4] = [StepsBy::Products, StepsBy::Rates, StepsBy::Schedules, StepsBy::Diagonals];

/// The figure that is no count among those that have to go together.
const BANDWIDTH: &str = "channels.hbm.bandwidth";

/// By what the numbers of baby and giant steps of a matrix are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsBy {
    /// The fewest modular products.
    Products,
    /// The least time by rates of units and memory.
    Rates,
    /// The shortest checked schedule of the product alone.
    Schedules,
    /// A rotation for each diagonal, and no giant step.
    Diagonals,
}

/// One Osiris.
#[derive(Clone, Debug, PartialEq)]
pub struct Osiris {
    /// Clock in Hz.
    pub clock_hz: f64,
    /// p: lanes of every unit.
    pub lanes: usize,
    /// Stages of an NTT unit: log2 of the largest ring.
    pub stages: u32,
    /// Limbs that the delays of an NTT unit can interleave.
    pub limbs: usize,
    /// Rows of the base conversion array.
    pub height: usize,
    /// Hadamard units.
    pub hadamard_units: usize,
    /// Cells of a column of one: the most digits of a key switch.
    pub hadamard_height: usize,
    /// Registers in the arithmetic.
    pub depth: PipelineDepth,
    /// Bits of a residue.
    pub word_bits: u64,
    /// Bytes of the scratchpads.
    pub scratchpad: u64,
    /// Tiles that are read from the scratchpads, and written to them, in a cycle.
    pub port_tiles: (u64, u64),
    /// Bytes a cycle from memory.
    pub memory_bytes: f64,
    /// Cycles from a request to its first byte.
    pub memory_latency: u64,
    /// What rotations share.
    pub hoisting: Hoisting,
    /// Whether public polynomials that multiply are made of one limb.
    pub limb_extension: bool,
    /// By what the numbers of baby and giant steps are chosen.
    pub steps: StepsBy,
    /// Whether a rotated ciphertext is used up before the next one is made.
    pub giant_step_centric: bool,
    /// Whether a division by P after a product divides by the dropped primes too.
    pub fused_rescale: bool,
    /// How limbs pass.
    pub tiling: Tiling,
}

impl Osiris {
    /// The machine of a checked description.
    ///
    /// # Errors
    /// [`FigureError`] when a figure is unknown or two contradict each other.
    pub fn new(d: &Description) -> Result<Self, FigureError> {
        let count = |key| d.count(key).map(|value| value as usize);
        let machine = Self {
            clock_hz: d.clock_hz()?,
            lanes: count("units.ntt.lanes")?,
            stages: d.count("units.ntt.stages")? as u32,
            limbs: count("units.ntt.limbs")?,
            height: count("units.base_conversion.height")?,
            hadamard_units: count("units.hadamard.count")?,
            hadamard_height: count("units.hadamard.height")?,
            depth: PipelineDepth { multiplier: count("units.pipeline.multiplier")? },
            word_bits: d.count("machine.arithmetic.word")?,
            scratchpad: d.count("memories.scratchpad.capacity")?,
            port_tiles: (d.count("memories.scratchpad.reads")?, d.count("memories.scratchpad.writes")?),
            memory_bytes: d.bytes_per_cycle("channels.hbm.bandwidth")?,
            memory_latency: d.count("channels.hbm.latency")?,
            hoisting: HOISTING[count("machine.dataflow.hoisting")?],
            limb_extension: d.flag("machine.dataflow.limb_extension")?,
            steps: STEPS[count("machine.dataflow.steps")?],
            giant_step_centric: d.flag("machine.dataflow.giant_step_centric")?,
            fused_rescale: d.flag("machine.dataflow.fused_rescale")?,
            tiling: match d.flag("machine.dataflow.limb_interleaving")? {
                true => Tiling::Interleaved,
                false => Tiling::LimbByLimb,
            },
        };
        let together = |first, second, cause, holds: bool| {
            if holds {
                return Ok(());
            }
            let second_value = match second {
                BANDWIDTH => (machine.memory_bytes * machine.clock_hz) as u64,
                count => d.count(count)?,
            };
            let (file, first_value) = (d.file().to_owned(), d.count(first)?);
            Err(FigureError::Together { file, first, first_value, second, second_value, cause })
        };
        together(
            "units.ntt.lanes",
            "units.ntt.stages",
            "lanes are a power of two, as the transforms are, and at most as many as the largest ring has residues",
            machine.lanes.is_power_of_two() && machine.lanes.ilog2() <= machine.stages,
        )?;
        let memory = machine.memory_bytes / machine.tile_bytes();
        let (units, height) = (machine.hadamard_units as f64, machine.hadamard_height as f64);
        // What waits between the units of a change of modulus is written and read twice more, if limbs pass one after the other.
        let waiting = if machine.tiling == Tiling::LimbByLimb { 2.0 + 1.0 } else { 0.0 };
        // Interleaved limbs pass within (N/p - 1)·S + 1 cycles, which of the smallest ring, N/p = 2, are half of S·N/p.
        let reads = units * (2.0 * height + 2.0 * 5.0) + 2.0 + 1.0 + waiting;
        let writes = units * (2.0 * 2.0 + 2.0 * 2.0) + 2.0 + 1.0 + waiting;
        let ports = [
            (
                ("memories.scratchpad.reads", machine.port_tiles.0 as f64, reads),
                "units.hadamard.height",
                "all units may read at once: two tiles a cell of each Hadamard unit and five for a diagonal, one each the first NTT unit and the \
                 automorphism unit, and memory; those of interleaved limbs twice on the smallest ring",
                "what memory takes in a cycle is read beside all that the units may read at once: raise the tiles that are read with the bandwidth",
            ),
            (
                ("memories.scratchpad.writes", machine.port_tiles.1 as f64, writes),
                "units.hadamard.count",
                "all units may write at once: two tiles for each of a Hadamard unit's two jobs, one each the second NTT unit and the automorphism \
                 unit, and memory; those of interleaved limbs twice on the smallest ring",
                "what memory brings in a cycle is written beside all that the units may write at once: raise the tiles that are written with the \
                 bandwidth",
            ),
        ];
        for ((figure, tiles, of_units), structure, units_cause, memory_cause) in ports {
            together(figure, structure, units_cause, tiles >= of_units)?;
            together(figure, BANDWIDTH, memory_cause, tiles >= of_units + memory)?;
        }
        Ok(machine)
    }

    /// The machine's units on rings of `degree`.
    ///
    /// # Errors
    /// [`ShapeError`] if the ring does not fit them.
    pub fn units(&self, degree: RingDegree) -> Result<ModChangeUnits, ShapeError> {
        let shape = Shape::new(degree, self.lanes, self.stages)?;
        Ok(ModChangeUnits { shape, height: self.height, depth: self.depth })
    }

    /// Whether array and Hadamard units are high enough for `task`.
    ///
    /// # Errors
    /// [`MapError::Height`], [`MapError::Digits`].
    pub fn holds(&self, task: &Task) -> Result<(), MapError> {
        match &task.kernel {
            Kernel::ModChange { sources, .. } | Kernel::Convert { sources, .. } if sources.len() > self.height => {
                let cause = HeightError { sources: sources.len(), height: self.height };
                Err(MapError::Height { op: task.op, cause })
            }
            Kernel::KeyProduct { terms, .. } if terms.len() > self.hadamard_height => {
                Err(MapError::Digits { op: task.op, digits: terms.len(), height: self.hadamard_height })
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

    /// Bytes of a tile.
    pub fn tile_bytes(&self) -> f64 {
        (self.lanes as u64 * self.word_bits) as f64 / 8.0
    }

    /// Bytes of a limb of N = `degree` residues.
    pub fn limb_bytes(&self, degree: RingDegree) -> u64 {
        (degree.get() as u64 * self.word_bits).div_ceil(8)
    }

    /// How CKKS programs are lowered for the machine, with key switches as `gadget` cuts them.
    ///
    /// Digits are lifted as they are: the array has one multiplier more in its first row (section IV-C), no adder. A division rounds to the
    /// nearest, since the mean of what it would cut off is multiplied by the secret. Rotations switch first, as hoisting wants it (section
    /// III). A division by P after a product is fused with the rescaling (section VI). Diagonals that are made of one limb are encoded so
    /// that their coefficients fit it.
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
            sums: if self.giant_step_centric { SumOrder::ByBabySteps } else { SumOrder::ByGiantSteps },
            fused_rescale: self.fused_rescale,
            ..RnsLowering::new(gadget)
        }
    }

    /// What the steps of a matrix take, in cycles on the largest ring.
    pub fn step_rates(&self) -> StepRates {
        let limb_bytes = (self.word_bits << self.stages) as f64 / 8.0;
        let limb = ((1u64 << self.stages) / self.lanes as u64) as f64;
        // Half of a key comes from a seed, and either NTT unit makes diagonals for the Hadamard unit beside it.
        let diagonal =
            if self.limb_extension { limb / self.hadamard_units as f64 } else { limb_bytes / self.memory_bytes };
        StepRates {
            key_limb: limb_bytes / self.memory_bytes,
            diagonal_limb: diagonal,
            raised_limb: limb,
            automorphism_limb: limb,
            limbs_at_hand: (self.scratchpad as f64 / limb_bytes) as usize,
        }
    }

    /// What the units are made of.
    pub fn structure(&self) -> Structure {
        let word_bytes = |words: usize| words as f64 * self.word_bits as f64 / 8.0;
        let largest = RingDegree::new(1 << self.stages).ok();
        let largest_shape = largest.and_then(|degree| Shape::new(degree, self.lanes, self.stages).ok());
        let words = |words: fn(Shape) -> usize| largest_shape.map_or(0, words);
        Structure {
            ntt_multipliers: 2 * NttUnit::multipliers(self.lanes, self.stages),
            base_conversion_multipliers: BaseConversionArray::multipliers(self.height, self.lanes),
            hadamard_multipliers: self.hadamard_units * HadamardUnit::multipliers(self.lanes, self.hadamard_height),
            hadamard_multipliers_at_work: self.hadamard_units
                * HadamardUnit::multipliers_at_work(self.lanes, self.hadamard_height),
            limb_extension_multipliers: self.hadamard_units * LimbExtension::multipliers(self.lanes),
            switches: Routing::switch_count(self.lanes),
            setting_bytes: largest_shape.map_or(0.0, AutomorphismUnit::setting_bytes),
            mask_ring_bytes: (self.hadamard_units * self.hadamard_height) as f64
                * word_bytes(KeyGenerator::ring_words(self.lanes)),
            mask_blocks: self.hadamard_units * self.hadamard_height * KeyGenerator::blocks(self.lanes),
            delay_bytes: 2.0 * word_bytes(self.limbs * words(|shape| NttUnit::buffer_words(shape, 1))),
            twiddle_bytes: 2.0 * word_bytes(self.limbs * words(NttUnit::table_words)),
            stage_twiddle_bytes: 2.0 * 2.0 * word_bytes(self.limbs * words(NttUnit::table_words_by_stage)),
            whole_twiddle_bytes: word_bytes(self.limbs * words(|shape| shape.degree().get())),
            skew_bytes: word_bytes(BaseConversionArray::skew_words(self.lanes)),
            scratchpad_bytes: self.scratchpad as f64,
        }
    }

    /// Cycles from a seed to its first residues.
    pub fn generator_latency(&self) -> u64 {
        KeyGenerator::latency(self.lanes)
    }

    /// Cycles through the automorphism unit on rings of `shape`.
    pub fn automorphism_latency(&self, shape: Shape) -> u64 {
        AutomorphismUnit::latency(shape)
    }
}

/// Multipliers, switches and words of storage, as they follow from the units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Structure {
    /// Modular multipliers of both NTT units.
    pub ntt_multipliers: usize,
    /// Of the base conversion array.
    pub base_conversion_multipliers: usize,
    /// Of the Hadamard units.
    pub hadamard_multipliers: usize,
    /// Of these the ones that can be at work.
    pub hadamard_multipliers_at_work: usize,
    /// Before the NTT units, beside each Hadamard unit, to make limbs of one: in none of the paper's counts.
    pub limb_extension_multipliers: usize,
    /// Two-by-two switches of the automorphism unit.
    pub switches: usize,
    /// Settings of all switches for one rotation of the largest ring: the paper has no memory for them.
    pub setting_bytes: f64,
    /// The rings of all key generators: the paper has no generator's parts.
    pub mask_ring_bytes: f64,
    /// Blocks of ChaCha that all key generators make a cycle.
    pub mask_blocks: usize,
    /// Delays of both NTT units.
    pub delay_bytes: f64,
    /// Two tables of factors a limb, for each direction, once.
    pub twiddle_bytes: f64,
    /// The same with what each stage of both NTT units reads for itself.
    pub stage_twiddle_bytes: f64,
    /// What tables of all factors of one direction would take.
    pub whole_twiddle_bytes: f64,
    /// Registers before and behind the base conversion array.
    pub skew_bytes: f64,
    /// The scratchpads.
    pub scratchpad_bytes: f64,
}

impl Structure {
    /// All modular multipliers that the paper counts.
    pub fn multipliers(&self) -> usize {
        self.ntt_multipliers + self.base_conversion_multipliers + self.hadamard_multipliers
    }

    /// Scratchpads and delays: what the paper counts as SRAM.
    pub fn memory_bytes(&self) -> f64 {
        self.scratchpad_bytes + self.delay_bytes
    }
}
