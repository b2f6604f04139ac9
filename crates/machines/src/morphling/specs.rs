//! The figures that this mapper reads from a machine file.

use super::machine::{FOLDED_BYTES, Morphling, Network};
use crate::tfhe::figures::{FIXED_POINT, depth};
use polyfabric_sim::description::{Description, Dimension, FigureError, FigureSpec, energy, figure, joined, optional};

/// An optional figure that only components use.
const fn area_rate(key: &'static str, most: f64, meaning: &'static str) -> FigureSpec {
    optional(key, Dimension::Rate, 1.0, most, meaning)
}

const MERGES: &str = "machine.arithmetic.merges";

pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + FIXED_POINT.len() }>(&[OWN, FIXED_POINT]);

/// Figures that are specific to Morphling.
const OWN: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure("units.xpu.count", Dimension::Count, 1.0, 64.0, "the number of XPUs"),
    figure("units.xpu.rows", Dimension::Count, 1.0, 32.0, "the VPE rows of an XPU"),
    figure("units.xpu.columns", Dimension::Count, 2.0, 16.0, "the VPE columns of an XPU"),
    figure("units.xpu.fft_units", Dimension::Count, 1.0, 32.0, "the FFT units of an XPU"),
    figure("units.xpu.ifft_units", Dimension::Count, 1.0, 32.0, "the IFFT units of an XPU: one for each row"),
    figure(
        "units.xpu.decomposition_units",
        Dimension::Count,
        1.0,
        32.0,
        "the decomposition units of an XPU: one for each row",
    ),
    figure(
        "units.xpu.merge_split",
        Dimension::Flag,
        0.0,
        1.0,
        "whether an FFT unit merges the polynomials of its rows",
    ),
    optional(
        MERGES,
        Dimension::Flag,
        0.0,
        1.0,
        "whether the replay computes two polynomials in one complex transform, bit for bit",
    ),
    figure("units.fft.points", Dimension::Rate, 1.0, 256.0, "folded points per cycle of an FFT unit"),
    figure("units.path.points", Dimension::Rate, 1.0, 128.0, "folded points per cycle of a row's path and IFFT unit"),
    area_rate("units.fft.area_points", 256.0, "points per cycle of the FFT unit whose area the file lists"),
    area_rate("units.path.area_points", 128.0, "points per cycle of the path whose area the file lists"),
    figure("units.pipeline.adder", Dimension::Cycles, 1.0, 64.0, "the registers of an adder"),
    figure("units.pipeline.multiplier", Dimension::Cycles, 1.0, 64.0, "the registers of a multiplier"),
    figure("units.pipeline.memory", Dimension::Cycles, 1.0, 64.0, "the registers between a unit and a bank"),
    figure("units.vpu.groups", Dimension::Count, 1.0, 64.0, "the lane groups of the VPU"),
    figure("units.vpu.lanes", Dimension::Count, 1.0, 4096.0, "the lanes of a group"),
    figure("units.vpu.registers", Dimension::Count, 3.0, 1024.0, "the vectors in a group's register file"),
    figure("units.vpu.register_loads", Dimension::Count, 1.0, 64.0, "the vectors per cycle loaded into it"),
    figure(
        "machine.key_switch.multicast",
        Dimension::Flag,
        0.0,
        1.0,
        "whether a row of the key-switch key is read once for all lane groups",
    ),
    figure("units.fft.largest_ring", Dimension::Count, 16.0, 65536.0, "the largest ring degree of the transforms"),
    figure("memories.poly_acc.capacity", Dimension::Bytes, 64.0, 1e9, "the size of one POLY-ACC register"),
    figure("units.xpu.accumulators", Dimension::Count, 1.0, 32.0, "the accumulator adders of an XPU: one for each row"),
    figure("memories.private_a1.streams", Dimension::Count, 3.0, 16.0, "the polynomials that a row reads in parallel"),
    figure("memories.private_a1.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of Private-A1"),
    figure("memories.private_a2.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of Private-A2"),
    figure("memories.private_a2.banks", Dimension::Count, 1.0, 64.0, "the banks of Private-A2, one per VPE column"),
    figure("memories.private_a2.buffers", Dimension::Count, 2.0, 64.0, "the keys of an iteration that fit Private-A2"),
    figure("memories.private_b.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of Private-B"),
    figure("memories.private_b.banks", Dimension::Count, 1.0, 1024.0, "the banks of Private-B"),
    figure("memories.shared.capacity", Dimension::Bytes, 1024.0, 1e12, "the size of the Shared buffer"),
    figure("memories.shared.banks", Dimension::Count, 1.0, 1024.0, "the banks of the Shared buffer"),
    figure(
        "channels.network.row_read",
        Dimension::PortRate,
        8.0,
        65536.0,
        "the width from a bank of Private-A1 to its VPE row",
    ),
    figure("channels.network.row_write", Dimension::PortRate, 8.0, 65536.0, "the width from a VPE row to its bank"),
    figure("channels.network.key", Dimension::PortRate, 8.0, 65536.0, "the width from Private-A2 to a VPE column"),
    figure(
        "channels.network.link",
        Dimension::PortRate,
        1.0,
        65536.0,
        "the width between the Shared buffer and an XPU",
    ),
    figure("channels.network.vector_read", Dimension::PortRate, 1.0, 65536.0, "the width from buffers to a lane group"),
    figure(
        "channels.network.vector_write",
        Dimension::PortRate,
        1.0,
        65536.0,
        "the width from a lane group to buffers",
    ),
    figure("channels.hbm.count", Dimension::Count, 1.0, 1024.0, "the memory channels"),
    figure("channels.hbm.key_channels", Dimension::Count, 1.0, 1024.0, "the channels for the bootstrapping key"),
    figure("channels.hbm.vector_channels", Dimension::Count, 1.0, 1024.0, "the channels for everything else"),
    figure("channels.hbm.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of all channels"),
    figure("channels.hbm.latency", Dimension::Cycles, 0.0, 1e6, "the latency of the memory"),
    energy("channels.hbm.energy"),
    figure(
        "machine.reuse.key_streams",
        Dimension::Count,
        1.0,
        16.0,
        "the ciphertexts of a row that use one key in sequence",
    ),
    figure(
        "machine.arithmetic.coefficient",
        Dimension::Bits,
        32.0,
        32.0,
        "the width of a coefficient on the data path",
    ),
];

impl Morphling {
    ///
    /// # Errors
    /// [`FigureError`] if a figure is unknown or two contradict each other.
    pub fn new(description: &Description) -> Result<Self, FigureError> {
        let d = description;
        let machine = Self {
            clock_hz: d.clock_hz()?,
            xpus: d.count("units.xpu.count")?,
            rows: d.count("units.xpu.rows")?,
            columns: d.count("units.xpu.columns")?,
            fft_units: d.count("units.xpu.fft_units")?,
            ifft_units: d.count("units.xpu.ifft_units")?,
            fft_points: d.count("units.fft.points")?,
            path_points: d.count("units.path.points")?,
            ifft_points: d.count("units.path.points")?,
            merge_split: d.flag("units.xpu.merge_split")?,
            merges: d.figures().contains_key(MERGES) && d.flag(MERGES)?,
            depth: depth(d)?,
            key_streams: d.count("machine.reuse.key_streams")?,
            largest_ring: d.count("units.fft.largest_ring")?,
            poly_acc: d.count("memories.poly_acc.capacity")?,
            private_a1: d.count("memories.private_a1.capacity")?,
            private_a1_streams: d.count("memories.private_a1.streams")?,
            private_a2: d.count("memories.private_a2.capacity")?,
            private_a2_banks: d.count("memories.private_a2.banks")?,
            private_b: d.count("memories.private_b.capacity")?,
            private_b_banks: d.count("memories.private_b.banks")?,
            shared: d.count("memories.shared.capacity")?,
            shared_banks: d.count("memories.shared.banks")?,
            key_buffers: d.count("memories.private_a2.buffers")?,
            network: Network {
                row_read: d.count("channels.network.row_read")?,
                row_write: d.count("channels.network.row_write")?,
                key: d.count("channels.network.key")?,
                link: d.count("channels.network.link")?,
                vector_read: d.count("channels.network.vector_read")?,
                vector_write: d.count("channels.network.vector_write")?,
            },
            lane_groups: d.count("units.vpu.groups")?,
            lanes: d.count("units.vpu.lanes")?,
            registers: d.count("units.vpu.registers")?,
            register_loads: d.count("units.vpu.register_loads")?,
            multicasts_rows: d.flag("machine.key_switch.multicast")?,
            channels: d.count("channels.hbm.count")?,
            key_channels: d.count("channels.hbm.key_channels")?,
            vector_channels: d.count("channels.hbm.vector_channels")?,
            channel_bytes: d.bytes_per_cycle("channels.hbm.bandwidth")? / d.value("channels.hbm.count")?,
            memory_latency: d.count("channels.hbm.latency")?,
        };
        machine.fits_together(d)?;
        Ok(machine)
    }

    fn fits_together(&self, d: &Description) -> Result<(), FigureError> {
        let together = |first, second, cause, holds: bool| {
            if holds {
                return Ok(());
            }
            let (first_value, second_value) = (d.count(first)?, d.count(second)?);
            Err(FigureError::Together { file: d.file().to_owned(), first, first_value, second, second_value, cause })
        };
        let rows = self.rows;
        together(
            "units.xpu.rows",
            "units.xpu.fft_units",
            "the rows divide evenly among the FFT units",
            rows.is_multiple_of(self.fft_units),
        )?;
        together("units.xpu.rows", "units.xpu.ifft_units", "each row has its IFFT unit", rows == self.ifft_units)?;
        together(
            "units.xpu.rows",
            "units.xpu.decomposition_units",
            "each row has its decomposition unit",
            rows == d.count("units.xpu.decomposition_units")?,
        )?;
        together(
            "units.xpu.rows",
            "units.xpu.accumulators",
            "each row has its accumulator adder",
            rows == d.count("units.xpu.accumulators")?,
        )?;
        together(
            "memories.private_a1.streams",
            "channels.network.row_read",
            "each stream of a row has at least a folded point, 8 bytes, a cycle",
            self.private_a1_streams * FOLDED_BYTES <= self.network.row_read,
        )?;
        let (all, key, vector) = (self.channels, self.key_channels, self.vector_channels);
        together(
            "channels.hbm.key_channels",
            "channels.hbm.vector_channels",
            "the key's channels and the others are either apart, and all channels together, or both all of them; see \
             `channels.hbm.count`",
            key + vector == all || (key == all && vector == all),
        )?;
        together(
            "units.xpu.columns",
            "memories.private_a2.banks",
            "each VPE column has its bank of Private-A2",
            self.columns <= self.private_a2_banks,
        )?;
        together(
            "units.xpu.count",
            "units.vpu.groups",
            "the positions of a wave divide evenly among the lane groups",
            self.positions().is_multiple_of(self.lane_groups),
        )?;
        together(
            "units.vpu.groups",
            "memories.private_b.banks",
            "each lane group has as many banks of Private-B as any other",
            self.private_b_banks.is_multiple_of(self.lane_groups),
        )?;
        together(
            "units.xpu.count",
            "memories.shared.banks",
            "the positions of a wave divide evenly among the banks of the Shared buffer",
            self.positions().is_multiple_of(self.shared_banks),
        )?;
        together(
            "units.fft.points",
            "units.path.points",
            "the transforms need powers of two as points per cycle",
            self.fft_points.is_power_of_two() && self.path_points.is_power_of_two(),
        )
    }
}
