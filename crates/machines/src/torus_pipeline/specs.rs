//! The figures that this mapper reads from a machine file.

use super::machine::Pipeline;
use crate::contract::torus::{WIDTHS, width_spec};
use crate::engine::description::{Description, Dimension, FigureError, FigureSpec};
use crate::torus::pipeline::PipelineDepth;

const fn figure(key: &'static str, dimension: Dimension, least: f64, most: f64, meaning: &'static str) -> FigureSpec {
    FigureSpec { key, dimension, least, most, meaning, optional: false }
}

/// Every figure.
pub const SPECS: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure("units.core.count", Dimension::Count, 1.0, 64.0, "the streaming cores, TvLP"),
    figure("units.core.lanes", Dimension::Count, 2.0, 256.0, "the complex points a cycle of a transform, CLP"),
    figure("units.core.rows", Dimension::Count, 1.0, 16.0, "the polynomials side by side, PLP: FFT units"),
    figure("units.core.columns", Dimension::Count, 1.0, 16.0, "the key's columns side by side, CoLP: IFFT units"),
    figure("units.core.folding", Dimension::Flag, 0.0, 1.0, "whether N coefficients become N/2 points"),
    figure("units.core.largest_ring", Dimension::Count, 16.0, 65536.0, "the largest ring degree of the transforms"),
    figure("units.core.batch", Dimension::Count, 1.0, 128.0, "the ciphertexts of a core that share a key, at most"),
    figure("units.pipeline.adder", Dimension::Cycles, 1.0, 64.0, "the registers of an adder"),
    figure("units.pipeline.multiplier", Dimension::Cycles, 1.0, 64.0, "the registers of a multiplier"),
    figure("units.pipeline.memory", Dimension::Cycles, 1.0, 64.0, "the registers on the way to or from a bank"),
    figure("units.switch.lanes", Dimension::Count, 1.0, 256.0, "the digits side by side in a key-switch cluster, CLP"),
    figure("units.switch.columns", Dimension::Count, 1.0, 256.0, "the sums side by side in a key-switch cluster, CoLP"),
    figure("memories.local.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of a core's local scratchpad"),
    figure("memories.global.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of the global scratchpad"),
    figure(
        "memories.global.buffers",
        Dimension::Count,
        2.0,
        2.0,
        "the key iterations that the global scratchpad holds",
    ),
    figure(
        "channels.key_bus.rate",
        Dimension::PortRate,
        1.0,
        65536.0,
        "the width of the bootstrapping key's multicast",
    ),
    figure(
        "channels.switch_bus.rate",
        Dimension::PortRate,
        1.0,
        65536.0,
        "the width of the key-switch key's multicast",
    ),
    figure("channels.link.rate", Dimension::PortRate, 1.0, 65536.0, "the width between global scratchpad and a core"),
    figure("channels.hbm.key_channels", Dimension::Count, 1.0, 1024.0, "the channels for the bootstrapping key"),
    figure("channels.hbm.switch_channels", Dimension::Count, 1.0, 1024.0, "the channels for the key-switch key"),
    figure("channels.hbm.ciphertext_channels", Dimension::Count, 1.0, 1024.0, "the channels for everything else"),
    figure("channels.hbm.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of all channels"),
    figure("channels.hbm.latency", Dimension::Cycles, 0.0, 1e6, "the latency of the memory"),
    figure("channels.hbm.energy", Dimension::EnergyPerBit, 0.0, 1e-6, "the memory's energy"),
    figure(
        "machine.arithmetic.coefficient",
        Dimension::Bits,
        32.0,
        32.0,
        "the width of a coefficient: the data path is of 32 bits",
    ),
    figure("machine.arithmetic.point", Dimension::Bits, 16.0, 128.0, "the width of a complex point of the key"),
    figure("machine.arithmetic.transform", Dimension::Bits, 8.0, 60.0, "the width of a transform value's part"),
    width_spec(WIDTHS[0]),
    width_spec(WIDTHS[1]),
    width_spec(WIDTHS[2]),
    width_spec(WIDTHS[3]),
    width_spec(WIDTHS[4]),
    figure("machine.arithmetic.twiddle", Dimension::Bits, 8.0, 52.0, "the width of a twiddle factor's part"),
    figure(
        "machine.arithmetic.overflow_log2",
        Dimension::Bits,
        1.0,
        256.0,
        "minus log2 of the probability that a value overflows",
    ),
    figure(
        "machine.arithmetic.first_step",
        Dimension::Ratio,
        0.0,
        0.5,
        "the largest step of a test polynomial, as a share of the torus",
    ),
];

impl Pipeline {
    /// The machine of a checked description.
    ///
    /// # Errors
    /// [`FigureError`] when a figure is unknown or two contradict each other.
    pub fn new(description: &Description) -> Result<Self, FigureError> {
        let d = description;
        let (key, switch) = (d.count("channels.hbm.key_channels")?, d.count("channels.hbm.switch_channels")?);
        let ciphertext = d.count("channels.hbm.ciphertext_channels")?;
        let channels = (key + switch + ciphertext) as f64;
        let machine = Self {
            clock_hz: d.clock_hz()?,
            cores: d.count("units.core.count")?,
            lanes: d.count("units.core.lanes")?,
            rows: d.count("units.core.rows")?,
            columns: d.count("units.core.columns")?,
            folding: d.flag("units.core.folding")?,
            depth: PipelineDepth {
                adder: d.count("units.pipeline.adder")?,
                multiplier: d.count("units.pipeline.multiplier")?,
                memory: d.count("units.pipeline.memory")?,
            },
            largest_ring: d.count("units.core.largest_ring")?,
            point_bytes: d.count("machine.arithmetic.point")?.div_ceil(8),
            local: d.count("memories.local.capacity")?,
            global: d.count("memories.global.capacity")?,
            key_buffers: d.count("memories.global.buffers")?,
            key_bus: d.value("channels.key_bus.rate")? as u64,
            switch_bus: d.value("channels.switch_bus.rate")? as u64,
            link: d.value("channels.link.rate")? as u64,
            batch: d.count("units.core.batch")?,
            switch_lanes: d.count("units.switch.lanes")?,
            switch_columns: d.count("units.switch.columns")?,
            key_channels: key,
            switch_channels: switch,
            ciphertext_channels: ciphertext,
            channel_bytes: d.bytes_per_cycle("channels.hbm.bandwidth")? / channels,
            memory_latency: d.count("channels.hbm.latency")?,
        };
        if !(machine.lanes.is_power_of_two() && machine.largest_ring.is_power_of_two()) {
            let (first, second) = ("units.core.lanes", "units.core.largest_ring");
            let (first_value, second_value) = (d.count(first)?, d.count(second)?);
            let cause = "points a cycle and ring degrees are powers of two, as the transforms are";
            let file = d.file().to_owned();
            return Err(FigureError::Together { file, first, first_value, second, second_value, cause });
        }
        Ok(machine)
    }
}
