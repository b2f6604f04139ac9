//! The figures that this mapper reads from a machine file.

use super::machine::{Balance, Fpt};
use crate::tfhe::figures::{SCALING, STAGES, depth, stage_spec, stage_widths};
use polyfabric_sim::description::{Description, Dimension, FigureError, FigureSpec, energy, figure, joined};

pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + SCALING.len() }>(&[OWN, SCALING]);

/// Figures that are specific to FPT.
const OWN: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock"),
    figure(
        "units.cmux.fft_unrolled",
        Dimension::Flag,
        0.0,
        1.0,
        "whether the transform or the dot product is unrolled",
    ),
    figure("units.cmux.forward_points", Dimension::Rate, 2.0, 4096.0, "the forward kernel's width, FFT-unrolled"),
    figure("units.cmux.kernel_points", Dimension::Rate, 2.0, 4096.0, "each kernel's width, dot-product-unrolled"),
    figure("units.cmux.batch", Dimension::Count, 1.0, 128.0, "the ciphertexts that the pipeline is deep enough for"),
    figure("units.cmux.log2_radix", Dimension::Count, 1.0, 8.0, "k of the transforms' radix 2^k"),
    figure("units.cmux.largest_ring", Dimension::Count, 32.0, 32768.0, "the largest ring degree of the pipeline"),
    figure("units.pipeline.adder", Dimension::Cycles, 1.0, 64.0, "the registers of an adder"),
    figure("units.pipeline.multiplier", Dimension::Cycles, 1.0, 64.0, "the registers of a multiplier"),
    figure("units.pipeline.memory", Dimension::Cycles, 1.0, 64.0, "the registers of a reordering block"),
    figure(
        "units.pipeline.multiplexer",
        Dimension::Cycles,
        1.0,
        64.0,
        "the registers of a stage of the barrel shifter",
    ),
    figure(
        "units.host.overlap",
        Dimension::Flag,
        0.0,
        1.0,
        "whether the host starts a batch before the previous batch returns",
    ),
    figure("units.host.rate", Dimension::Rate, 0.01, 1e6, "the multiplications and additions of the host"),
    figure("memories.fifo.capacity", Dimension::Bytes, 64.0, 1e12, "the size of the input FIFO"),
    figure("memories.tables.capacity", Dimension::Bytes, 64.0, 1e12, "the size of the test polynomials' RAM"),
    figure("memories.outputs.capacity", Dimension::Bytes, 64.0, 1e12, "the size of the output buffer"),
    figure("memories.hbm.capacity", Dimension::Bytes, 64.0, 1e12, "the size of the ciphertexts' pseudo-channel"),
    figure(
        "memories.host.capacity",
        Dimension::Bytes,
        64.0,
        1e12,
        "the size of the host's buffer for ciphertexts in transit",
    ),
    figure("channels.hbm.key_channels", Dimension::Count, 1.0, 1024.0, "the pseudo-channels of the bootstrapping key"),
    figure("channels.hbm.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of one pseudo-channel"),
    figure("channels.hbm.latency", Dimension::Cycles, 0.0, 1e6, "the latency of the memory"),
    energy("channels.hbm.energy"),
    figure("channels.host_link.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of the host link, each way"),
    figure("channels.host_link.latency", Dimension::Cycles, 0.0, 1e9, "the latency of the host link"),
    figure("channels.host_memory.bandwidth", Dimension::Bandwidth, 1e6, 1e15, "the bandwidth of the host's memory"),
    figure(
        "machine.arithmetic.coefficient",
        Dimension::Bits,
        32.0,
        32.0,
        "the width of an element of a ciphertext outside the pipeline",
    ),
    figure("machine.arithmetic.key", Dimension::Bits, 8.0, 58.0, "the width of a key point's part"),
    figure("machine.arithmetic.forward", Dimension::Bits, 8.0, 58.0, "the width of a part in the forward transform"),
    figure("machine.arithmetic.inverse", Dimension::Bits, 8.0, 60.0, "the width of a part in the inverse transform"),
    stage_spec(STAGES[0]),
    stage_spec(STAGES[1]),
    figure("machine.arithmetic.forward_twiddle", Dimension::Bits, 4.0, 52.0, "the forward twiddle factors' width"),
    figure("machine.arithmetic.inverse_twiddle", Dimension::Bits, 4.0, 52.0, "the inverse twiddle factors' width"),
];

impl Fpt {
    ///
    /// # Errors
    /// [`FigureError`] if a figure is unknown or two contradict each other.
    pub fn new(description: &Description) -> Result<Self, FigureError> {
        let d = description;
        let fft_unrolled = d.flag("units.cmux.fft_unrolled")?;
        let machine = Self {
            clock_hz: d.clock_hz()?,
            balance: if fft_unrolled { Balance::FftUnrolled } else { Balance::DotProductUnrolled },
            forward_points: d.count("units.cmux.forward_points")?,
            kernel_points: d.count("units.cmux.kernel_points")?,
            batch: d.count("units.cmux.batch")?,
            log2_radix: d.count("units.cmux.log2_radix")? as u32,
            largest_ring: d.count("units.cmux.largest_ring")?,
            depth: depth(d)?,
            multiplexer: d.count("units.pipeline.multiplexer")?,
            key_bits: d.count("machine.arithmetic.key")?,
            forward: stage_widths(d, STAGES[0], d.count("machine.arithmetic.forward")? as u32)?,
            inverse: stage_widths(d, STAGES[1], d.count("machine.arithmetic.inverse")? as u32)?,
            forward_twiddle: d.count("machine.arithmetic.forward_twiddle")?,
            inverse_twiddle: d.count("machine.arithmetic.inverse_twiddle")?,
            fifo: d.count("memories.fifo.capacity")?,
            tables: d.count("memories.tables.capacity")?,
            outputs: d.count("memories.outputs.capacity")?,
            hbm: d.count("memories.hbm.capacity")?,
            key_channels: d.count("channels.hbm.key_channels")?,
            channel_bytes: d.bytes_per_cycle("channels.hbm.bandwidth")?,
            memory_latency: d.count("channels.hbm.latency")?,
            link_bytes: d.bytes_per_cycle("channels.host_link.bandwidth")?,
            link_latency: d.count("channels.host_link.latency")?,
            host_rate: d.value("units.host.rate")?,
            overlap: d.flag("units.host.overlap")?,
            host_buffer: d.count("memories.host.capacity")?,
            host_memory: d.bytes_per_cycle("channels.host_memory.bandwidth")?,
        };
        let widths = [
            ("units.cmux.forward_points", machine.forward_points),
            ("units.cmux.kernel_points", machine.kernel_points),
        ];
        let (second, second_value) = ("units.cmux.largest_ring", machine.largest_ring);
        for (first, first_value) in widths {
            if !(first_value.is_power_of_two() && second_value.is_power_of_two()) {
                let cause = "the transforms need powers of two as points per cycle and ring degrees";
                let file = d.file().to_owned();
                return Err(FigureError::Together { file, first, first_value, second, second_value, cause });
            }
        }
        Ok(machine)
    }
}
