//! The figures that this mapper reads from a machine file.

use super::machine::{Pipeline, Stage, Stages};
use crate::tfhe::figures::{FIXED_POINT, WIDTHS, depth};
use polyfabric_sim::description::{Description, Dimension, FigureError, FigureSpec, energy, figure, joined, optional};

const ACCUMULATES: &str = "units.multiply.accumulates";
const INVERSES: &str = "units.inverse.count";

const fn lanes(key: &'static str, meaning: &'static str) -> FigureSpec {
    optional(key, Dimension::Count, 1.0, 65536.0, meaning)
}

const fn latency(key: &'static str) -> FigureSpec {
    let meaning = "the latency of the stage, if it does not follow from the stage's structure";
    optional(key, Dimension::Cycles, 1.0, 1e6, meaning)
}

const fn port(key: &'static str) -> FigureSpec {
    optional(key, Dimension::PortRate, 1.0, 1e9, "the width of a memory's port, if not as wide as its units need")
}

pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + FIXED_POINT.len() }>(&[OWN, FIXED_POINT]);

/// Figures that are specific to this mapper.
const OWN: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure("units.core.count", Dimension::Count, 1.0, 64.0, "the streaming cores, TvLP"),
    figure("units.core.lanes", Dimension::Count, 2.0, 256.0, "the complex points per cycle of a transform, CLP"),
    figure("units.core.rows", Dimension::Count, 1.0, 16.0, "the polynomials in parallel, PLP: FFT units"),
    figure("units.core.columns", Dimension::Count, 1.0, 16.0, "the key's columns in parallel, CoLP: IFFT units"),
    figure("units.core.folding", Dimension::Flag, 0.0, 1.0, "whether N coefficients become N/2 points"),
    figure("units.core.largest_ring", Dimension::Count, 16.0, 65536.0, "the largest ring degree of the transforms"),
    figure(
        "units.core.batch",
        Dimension::Count,
        1.0,
        128.0,
        "the largest number of ciphertexts per core that share a key",
    ),
    lanes("units.rotator.lanes", "the coefficients per cycle of a rotator, if not those of a transform"),
    lanes("units.decomposer.lanes", "the coefficients per cycle of a decomposer, if not those of a transform"),
    lanes("units.forward.lanes", "the points per cycle of a forward transform, if not CLP"),
    lanes("units.multiply.lanes", "the points per cycle of a multiplier, if not CLP"),
    lanes("units.inverse.lanes", "the points per cycle of an inverse transform, if not CLP"),
    lanes("units.accumulator.lanes", "the coefficients per cycle of an accumulator, if not those of a transform"),
    latency("units.rotator.latency"),
    latency("units.decomposer.latency"),
    latency("units.forward.latency"),
    latency("units.multiply.latency"),
    latency("units.inverse.latency"),
    latency("units.accumulator.latency"),
    optional(
        ACCUMULATES,
        Dimension::Flag,
        0.0,
        1.0,
        "whether the multipliers accumulate all rows of the key in buffers (default: only the rows of a step)",
    ),
    optional(
        INVERSES,
        Dimension::Count,
        1.0,
        16.0,
        "the inverse transforms, each with an accumulator, after accumulating multipliers (default: the number of columns)",
    ),
    figure("units.pipeline.adder", Dimension::Cycles, 1.0, 64.0, "the registers of an adder"),
    figure("units.pipeline.multiplier", Dimension::Cycles, 1.0, 64.0, "the registers of a multiplier"),
    figure("units.pipeline.memory", Dimension::Cycles, 1.0, 64.0, "the registers between a unit and a bank"),
    figure("units.switch.lanes", Dimension::Count, 1.0, 256.0, "the digits in parallel in a key-switch cluster, CLP"),
    figure("units.switch.columns", Dimension::Count, 1.0, 256.0, "the sums in parallel in a key-switch cluster, CoLP"),
    figure("memories.local.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of a core's local scratchpad"),
    figure("memories.global.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of the global scratchpad"),
    figure(
        "memories.global.buffers",
        Dimension::Count,
        1.0,
        2.0,
        "the keys of an iteration in the global scratchpad: two for a double buffer",
    ),
    port("memories.local.read_rate"),
    port("memories.local.write_rate"),
    port("memories.global.read_rate"),
    port("memories.global.write_rate"),
    figure(
        "channels.key_bus.rate",
        Dimension::PortRate,
        1.0,
        65536.0,
        "the width of the bootstrapping key's bus to a core",
    ),
    optional(
        "channels.key_bus.multicast",
        Dimension::Flag,
        0.0,
        1.0,
        "whether one read of a key goes to all cores (default), instead of a separate bus per core",
    ),
    figure(
        "channels.switch_bus.rate",
        Dimension::PortRate,
        1.0,
        65536.0,
        "the width of the key-switch key's bus to a core",
    ),
    figure("channels.link.rate", Dimension::PortRate, 1.0, 65536.0, "the width between global scratchpad and a core"),
    figure("channels.hbm.key_channels", Dimension::Count, 1.0, 1024.0, "the channels for the bootstrapping key"),
    figure("channels.hbm.switch_channels", Dimension::Count, 1.0, 1024.0, "the channels for the key-switch key"),
    figure("channels.hbm.ciphertext_channels", Dimension::Count, 1.0, 1024.0, "the channels for everything else"),
    figure("channels.hbm.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of all channels"),
    figure("channels.hbm.latency", Dimension::Cycles, 0.0, 1e6, "the latency of the memory"),
    energy("channels.hbm.energy"),
    figure(
        "machine.arithmetic.coefficient",
        Dimension::Bits,
        32.0,
        32.0,
        "the width of a coefficient on the data path",
    ),
    figure("machine.arithmetic.point", Dimension::Bits, 16.0, 128.0, "the width of a complex point of the key"),
];

/// The optional figure `key`.
fn optional_figure<T>(
    d: &Description,
    key: &str,
    value: impl Fn(&Description, &str) -> Result<T, FigureError>,
) -> Result<Option<T>, FigureError> {
    if d.figures().contains_key(key) { value(d, key).map(Some) } else { Ok(None) }
}

fn count(d: &Description, key: &str) -> Result<u64, FigureError> {
    Ok(d.count(key)?)
}

fn stages(d: &Description) -> Result<Stages, FigureError> {
    let stage = |name: &str| -> Result<Stage, FigureError> {
        let of = |what: &str| optional_figure(d, &format!("units.{name}.{what}"), count);
        Ok(Stage { lanes: of("lanes")?, latency: of("latency")? })
    };
    Ok(Stages {
        rotator: stage("rotator")?,
        decomposer: stage("decomposer")?,
        forward: stage("forward")?,
        multiply: stage("multiply")?,
        inverse: stage("inverse")?,
        accumulator: stage("accumulator")?,
    })
}

impl Pipeline {
    ///
    /// # Errors
    /// [`FigureError`] if a figure is unknown or two contradict each other.
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
            stages: stages(d)?,
            accumulates: optional_figure(d, ACCUMULATES, |d, key| Ok(d.flag(key)?))?.unwrap_or(false),
            inverses: optional_figure(d, INVERSES, count)?,
            depth: depth(d)?,
            largest_ring: d.count("units.core.largest_ring")?,
            point_bytes: d.count("machine.arithmetic.point")?.div_ceil(8),
            local: d.count("memories.local.capacity")?,
            global: d.count("memories.global.capacity")?,
            key_buffers: d.count("memories.global.buffers")?,
            ports: [
                (
                    optional_figure(d, "memories.local.read_rate", count)?,
                    optional_figure(d, "memories.local.write_rate", count)?,
                ),
                (
                    optional_figure(d, "memories.global.read_rate", count)?,
                    optional_figure(d, "memories.global.write_rate", count)?,
                ),
            ],
            multicast: optional_figure(d, "channels.key_bus.multicast", |d, key| Ok(d.flag(key)?))?.unwrap_or(true),
            key_bus: d.count("channels.key_bus.rate")?,
            switch_bus: d.count("channels.switch_bus.rate")?,
            link: d.count("channels.link.rate")?,
            batch: d.count("units.core.batch")?,
            switch_lanes: d.count("units.switch.lanes")?,
            switch_columns: d.count("units.switch.columns")?,
            key_channels: key,
            switch_channels: switch,
            ciphertext_channels: ciphertext,
            channel_bytes: d.bytes_per_cycle("channels.hbm.bandwidth")? / channels,
            memory_latency: d.count("channels.hbm.latency")?,
        };
        machine.fits_together(d)?;
        Ok(machine)
    }

    fn fits_together(&self, d: &Description) -> Result<(), FigureError> {
        let file = || d.file().to_owned();
        let together = |(first, first_value), (second, second_value), cause| FigureError::Together {
            file: file(),
            first,
            first_value,
            second,
            second_value,
            cause,
        };
        let largest = ("units.core.largest_ring", self.largest_ring);
        let (forward, inverse) = (self.points_of(self.stages.forward), self.points_of(self.stages.inverse));
        let widths =
            [("units.core.lanes", self.lanes), ("units.forward.lanes", forward), ("units.inverse.lanes", inverse)];
        for width in widths {
            if !(width.1.is_power_of_two() && largest.1.is_power_of_two()) {
                let cause = "the transforms need powers of two as points per cycle and ring degrees";
                return Err(together(width, largest, cause));
            }
        }
        if let Some(inverses) = self.inverses {
            let accumulates = (ACCUMULATES, u64::from(self.accumulates));
            if !self.accumulates {
                let cause = "multipliers that do not accumulate need one inverse transform per column: remove the \
                             count, or let the multipliers accumulate";
                return Err(together((INVERSES, inverses), accumulates, cause));
            }
            if inverses > self.columns {
                let cause = "an inverse transform without a column would idle: use at most one per column";
                return Err(together((INVERSES, inverses), ("units.core.columns", self.columns), cause));
            }
        }
        let key = if d.figures().contains_key(WIDTHS[0]) { WIDTHS[0] } else { "machine.arithmetic.transform" };
        let (point, width) = (("machine.arithmetic.point", d.count("machine.arithmetic.point")?), (key, d.count(key)?));
        if point.1 < 2 * width.1 {
            let cause =
                "a point of the key has a real and an imaginary part of this width: use at least twice the bits";
            return Err(together(point, width, cause));
        }
        let ports = [
            ("memories.local.read_rate", self.ports[0].0, self.working_ports()[0].0),
            ("memories.local.write_rate", self.ports[0].1, self.working_ports()[0].1),
            ("memories.global.read_rate", self.ports[1].0, self.working_ports()[1].0),
            ("memories.global.write_rate", self.ports[1].1, self.working_ports()[1].1),
        ];
        for (key, own, needed) in ports {
            if let Some(own) = own.filter(|&own| own < needed) {
                let (key, value, needed) = (key.to_owned(), own as f64, needed as f64);
                let cause = "bytes per cycle: its units, buses and links would collide. Use a wider port, fewer lanes or slower links";
                return Err(FigureError::TooSmall { file: file(), key, value, needed, cause });
            }
        }
        Ok(())
    }
}
