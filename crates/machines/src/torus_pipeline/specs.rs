//! The figures that this mapper reads from a machine file.

use super::machine::{Pipeline, Stage, Stages};
use crate::engine::description::{Description, Dimension, FigureError, FigureSpec, energy, figure, joined, optional};
use crate::torus::figures::{FIXED_POINT, WIDTHS, depth};

const ACCUMULATES: &str = "units.multiply.accumulates";
const INVERSES: &str = "units.inverse.count";

const fn lanes(key: &'static str, meaning: &'static str) -> FigureSpec {
    optional(key, Dimension::Count, 1.0, 65536.0, meaning)
}

const fn latency(key: &'static str) -> FigureSpec {
    let meaning = "the cycles from an element in to the element out, if they do not follow from the stage's structure";
    optional(key, Dimension::Cycles, 1.0, 1e6, meaning)
}

const fn port(key: &'static str) -> FigureSpec {
    optional(key, Dimension::PortRate, 1.0, 1e9, "the width of a memory's port, if not as wide as its units want it")
}

/// Every figure.
pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + FIXED_POINT.len() }>(&[OWN, FIXED_POINT]);

/// Those that other machines of the family do not have, or not alike.
const OWN: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure("units.core.count", Dimension::Count, 1.0, 64.0, "the streaming cores, TvLP"),
    figure("units.core.lanes", Dimension::Count, 2.0, 256.0, "the complex points a cycle of a transform, CLP"),
    figure("units.core.rows", Dimension::Count, 1.0, 16.0, "the polynomials side by side, PLP: FFT units"),
    figure("units.core.columns", Dimension::Count, 1.0, 16.0, "the key's columns side by side, CoLP: IFFT units"),
    figure("units.core.folding", Dimension::Flag, 0.0, 1.0, "whether N coefficients become N/2 points"),
    figure("units.core.largest_ring", Dimension::Count, 16.0, 65536.0, "the largest ring degree of the transforms"),
    figure("units.core.batch", Dimension::Count, 1.0, 128.0, "the ciphertexts of a core that share a key, at most"),
    lanes("units.rotator.lanes", "the coefficients a cycle of a rotator, if not as many as a transform takes"),
    lanes("units.decomposer.lanes", "the coefficients a cycle of a decomposer, if not as many as a transform takes"),
    lanes("units.forward.lanes", "the points a cycle of a forward transform, if not CLP"),
    lanes("units.multiply.lanes", "the points a cycle of a multiplier, if not CLP"),
    lanes("units.inverse.lanes", "the points a cycle of an inverse transform, if not CLP"),
    lanes("units.accumulator.lanes", "the coefficients a cycle of an accumulator, if not as many as a transform gives"),
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
        "whether the multipliers sum all rows of the key, in buffers behind them; each step's alone if not given",
    ),
    optional(
        INVERSES,
        Dimension::Count,
        1.0,
        16.0,
        "the inverse transforms, with an accumulator each, behind multipliers that accumulate; as many as columns if not given",
    ),
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
        1.0,
        2.0,
        "the key iterations that the global scratchpad holds: two where one is filled while the other is read",
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
        "whether one read of a key goes to all cores; else each has buses of its own. Yes if not given",
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
fn given<T>(
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
        let of = |what: &str| given(d, &format!("units.{name}.{what}"), count);
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
            stages: stages(d)?,
            accumulates: given(d, ACCUMULATES, |d, key| Ok(d.flag(key)?))?.unwrap_or(false),
            inverses: given(d, INVERSES, count)?,
            depth: depth(d)?,
            largest_ring: d.count("units.core.largest_ring")?,
            point_bytes: d.count("machine.arithmetic.point")?.div_ceil(8),
            local: d.count("memories.local.capacity")?,
            global: d.count("memories.global.capacity")?,
            key_buffers: d.count("memories.global.buffers")?,
            ports: [
                (given(d, "memories.local.read_rate", count)?, given(d, "memories.local.write_rate", count)?),
                (given(d, "memories.global.read_rate", count)?, given(d, "memories.global.write_rate", count)?),
            ],
            multicast: given(d, "channels.key_bus.multicast", |d, key| Ok(d.flag(key)?))?.unwrap_or(true),
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
                let cause = "points a cycle and ring degrees are powers of two, as the transforms are";
                return Err(together(width, largest, cause));
            }
        }
        if let Some(inverses) = self.inverses {
            let accumulates = (ACCUMULATES, u64::from(self.accumulates));
            if !self.accumulates {
                let cause = "multipliers that sum a step's rows alone give every column to an inverse transform of its own: remove the \
                             count, or let the multipliers accumulate";
                return Err(together((INVERSES, inverses), accumulates, cause));
            }
            if inverses > self.columns {
                let cause = "an inverse transform without a column has nothing to do: give at most as many as columns";
                return Err(together((INVERSES, inverses), ("units.core.columns", self.columns), cause));
            }
        }
        let key = if d.figures().contains_key(WIDTHS[0]) { WIDTHS[0] } else { "machine.arithmetic.transform" };
        let (point, width) = (("machine.arithmetic.point", d.count("machine.arithmetic.point")?), (key, d.count(key)?));
        if point.1 < 2 * width.1 {
            let cause =
                "a point of the key is a real and an imaginary part of this width: give it at least twice the bits";
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
                let cause = "bytes a cycle: the units, buses and links on it would collide. Give a wider port, fewer lanes or slower links";
                return Err(FigureError::TooSmall { file: file(), key, value, needed, cause });
            }
        }
        Ok(())
    }
}
