//! The figures that this mapper reads from a machine file.

use super::machine::{F1, PipelineDepth};
use polyfabric_sim::description::{Description, Dimension, FigureError, FigureSpec, energy, figure};

pub const SPECS: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure("units.cluster.count", Dimension::Count, 1.0, 32.0, "the number of compute clusters"),
    figure("units.cluster.lanes", Dimension::Count, 2.0, 1024.0, "the lanes of a functional unit"),
    figure("units.ntt.count", Dimension::Count, 1.0, 64.0, "the NTT units of a cluster"),
    figure("units.automorphism.count", Dimension::Count, 1.0, 64.0, "the automorphism units of a cluster"),
    figure("units.multiply.count", Dimension::Count, 1.0, 64.0, "the multipliers of a cluster"),
    figure("units.add.count", Dimension::Count, 1.0, 64.0, "the adders of a cluster"),
    figure("units.pipeline.multiplier", Dimension::Cycles, 1.0, 64.0, "the registers of a multiplier"),
    figure("units.pipeline.adder", Dimension::Cycles, 1.0, 64.0, "the registers of an adder"),
    figure("units.pipeline.network", Dimension::Cycles, 1.0, 64.0, "the registers of a crossbar"),
    figure("units.crossbar.multicast", Dimension::Flag, 0.0, 1.0, "whether several clusters can receive one read"),
    figure("memories.register_file.capacity", Dimension::Bytes, 1024.0, 268435456.0, "a cluster's register file"),
    figure("memories.register_file.banks", Dimension::Count, 1.0, 64.0, "the banks of a register file"),
    figure("memories.register_file.accesses", Dimension::Count, 1.0, 8.0, "the accesses of a memory bank per cycle"),
    figure("memories.scratchpad.bank", Dimension::Bytes, 1024.0, 134217728.0, "a scratchpad bank"),
    figure("memories.scratchpad.banks", Dimension::Count, 1.0, 256.0, "the scratchpad banks"),
    figure("channels.hbm.count", Dimension::Count, 1.0, 64.0, "the memory stacks"),
    figure("channels.hbm.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of all stacks"),
    figure("channels.hbm.latency", Dimension::Cycles, 1.0, 1e6, "the latency of the memory"),
    energy("channels.hbm.energy"),
];

impl F1 {
    ///
    /// # Errors
    /// [`FigureError`] if a figure is unknown or two contradict each other.
    pub fn new(description: &Description) -> Result<Self, FigureError> {
        let d = description;
        let count = |key| d.count(key).map(|value| value as usize);
        let machine = Self {
            clock_hz: d.clock_hz()?,
            clusters: count("units.cluster.count")?,
            lanes: count("units.cluster.lanes")?,
            units: [
                count("units.ntt.count")?,
                count("units.automorphism.count")?,
                count("units.multiply.count")?,
                count("units.add.count")?,
            ],
            register_file: d.count("memories.register_file.capacity")?,
            register_banks: count("memories.register_file.banks")?,
            accesses_per_cycle: count("memories.register_file.accesses")?,
            multicast: d.flag("units.crossbar.multicast")?,
            banks: count("memories.scratchpad.banks")?,
            bank_bytes: d.count("memories.scratchpad.bank")?,
            stacks: count("channels.hbm.count")?,
            stack_bytes: d.bytes_per_cycle("channels.hbm.bandwidth")? / d.value("channels.hbm.count")?,
            memory_latency: d.count("channels.hbm.latency")?,
            depth: PipelineDepth {
                multiplier: d.count("units.pipeline.multiplier")?,
                adder: d.count("units.pipeline.adder")?,
                network: d.count("units.pipeline.network")?,
            },
            low_throughput: None,
        };
        let together = |first, second, cause, holds: bool| {
            if holds {
                return Ok(());
            }
            let (first_value, second_value) = (d.count(first)?, d.count(second)?);
            Err(FigureError::Together { file: d.file().to_owned(), first, first_value, second, second_value, cause })
        };
        together(
            "units.cluster.lanes",
            "memories.register_file.banks",
            "lanes are a power of two, as the transforms are, and the banks divide them",
            machine.lanes.is_power_of_two() && machine.lanes.is_multiple_of(machine.register_banks),
        )?;
        together(
            "memories.register_file.banks",
            "memories.register_file.accesses",
            "two operands and a result of one instruction need three accesses per cycle",
            machine.register_banks * machine.accesses_per_cycle >= 3 && machine.accesses_per_cycle >= 2,
        )?;
        Ok(machine)
    }
}
