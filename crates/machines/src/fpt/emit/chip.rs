//! Declares the chip's units, channels, memories, operation kinds and value classes to the engine.

use super::super::hardware::load_latency;
use super::super::machine::{AMOUNT_BYTES, Bits, ELEMENT_BYTES, Fpt, Shape};
use super::super::software::BUFFERS;
use crate::declared::declared;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Resource, ScheduleBuilder, Traffic, WaitCategory,
};

declared! {
    #[derive(Clone, Copy, Debug)]
    pub struct Kinds, declare(b: &mut ScheduleBuilder, machine: &Fpt, s: &Shape) {
        // A unit with L registers writes in cycle L − 1 after its input, so the next unit reads in cycle L.
        let after = |cycles: i64| (cycles - 1).max(0) as u64;
        let by_group = |count: u64| count as f64 / s.group as f64;
        let coefficients = by_group(s.ring_degree * s.side);
        let by_step = |count: u64| count as f64 / s.step as f64;
        let (points, columns) = (by_step(s.points) * s.side_rows as f64, s.polynomials as f64);
        let inverse = (s.points * s.side) as f64 / s.inverse_cycles as f64;
        let (memory, link) = (machine.memory_latency, machine.link_latency);
        let on_host = |b: &mut ScheduleBuilder, name: &str| {
            let kind = b.kind(name, "host", machine.host_rate, 1);
            b.off_chip(kind)
        };
        let multiply = b.kind("multiply and add", "mac", points * columns, after(s.multiply + s.add));
        Self {
            load: KindId = b.kind("load accumulators", "loader", by_group(s.side * s.polynomial), load_latency(s) as u64),
            rotate: KindId = b.kind("rotate and subtract", "rotator", coefficients, after(s.rotate)),
            decompose: KindId =
                b.kind("decompose", "decomposer", s.ring_degree as f64 * s.side_rows as f64 / s.step as f64, after(s.decompose)),
            forward: KindId = b.kind("forward transform", "fft", points, after(s.forward)),
            multiply: KindId = b.with_addends(multiply),
            inverse: KindId = b.kind("inverse transform", "ifft", inverse, after(s.inverse)),
            accumulate: KindId = b.kind("accumulate", "accumulator", coefficients, after(s.accumulate)),
            extract: KindId = b.kind("sample extract", "extractor", coefficients, 1),
            modulus_switch: KindId = on_host(b, "modulus switch"),
            key_switch: KindId = on_host(b, "key switch"),
            linear: KindId = on_host(b, "linear"),
            key: KindId = b.kind("bootstrapping key", "hbm.key", 1.0, memory),
            hbm: KindId = b.kind("transfer", "hbm.ciphertexts", 1.0, memory),
            send: KindId = b.kind("send", "host_link.in", 1.0, link),
            receive: KindId = b.kind("receive", "host_link.out", 1.0, link),
            store: KindId = b.kind("store", "host_memory", 1.0, 1),
        }
    }
}

impl Kinds {
    fn functions(&self) -> impl Iterator<Item = (KindId, Function)> + use<> {
        let &Self { rotate, decompose, forward, multiply, inverse, accumulate, .. } = self;
        let others = [
            (self.load, Function::Initialise),
            (self.extract, Function::SampleExtract),
            (self.modulus_switch, Function::ModulusSwitch),
            (self.key_switch, Function::KeySwitch),
            (self.linear, Function::Linear),
        ];
        [rotate, decompose, forward, multiply, inverse, accumulate].into_iter().zip(Function::CMUX).chain(others)
    }
}

declared! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Classes, declare(b: &mut ScheduleBuilder, widths: &Bits) {
        let (number, amount) = (8 * ELEMENT_BYTES as u32, 8 * AMOUNT_BYTES as u32);
        let of = |b: &mut ScheduleBuilder, name, bits| b.value_class(name, Traffic::Ciphertexts, false, bits);
        Self {
            input: ClassId = b.value_class("input ciphertext", Traffic::Ciphertexts, true, number),
            lwe: ClassId = of(b, "ciphertext", number),
            /// Rotation amounts of a ciphertext.
            rotations: ClassId = of(b, "rotation amounts", amount),
            /// One polynomial of an accumulator; `iteration` counts completed iterations.
            accumulator: ClassId = of(b, "accumulator", widths.coefficient),
            /// A rotated polynomial minus the original.
            rotated: ClassId = of(b, "rotated difference", widths.coefficient),
            /// Digits of a step.
            digits: ClassId = of(b, "digits", widths.digit),
            /// Transforms of the digits.
            spectrum: ClassId = of(b, "spectra", widths.spectrum),
            /// Sums of products up to a step, for all columns.
            partial: ClassId = of(b, "partial sums", widths.sum),
            /// The complete sum of a column.
            sum: ClassId = of(b, "sum of products", widths.sum),
            /// The sum in the coefficient domain.
            product: ClassId = of(b, "products", widths.coefficient),
            /// Bootstrapping key of one step of an iteration.
            bootstrap_key: ClassId = b.value_class("bootstrapping key", Traffic::BootstrapKey, true, widths.key),
            switch_key: ClassId = b.value_class("key-switch key", Traffic::KeySwitchKey, true, number),
            table: ClassId = b.value_class("test polynomial", Traffic::Tables, true, widths.coefficient),
        }
    }
}

declared! {
    #[derive(Clone, Debug)]
    pub struct Chip, declare(b: &mut ScheduleBuilder, machine: &Fpt, s: &Shape) {
        let unit = |b: &mut ScheduleBuilder, name: &str| b.unit(name, name, WaitCategory::Pipeline);
        let memory = |b: &mut ScheduleBuilder, name: &str, capacity: u64, read: f64, write: f64| {
            let (read_bytes_per_cycle, write_bytes_per_cycle) = (read, write);
            let kind =
                MemoryKind::OnChip { capacity, banks: 1, read_bytes_per_cycle, write_bytes_per_cycle, dual_port: false };
            b.memory(name, kind)
        };
        let wire = |b: &mut ScheduleBuilder, name: &str, bytes: u64, cycles: i64| {
            b.memory(name, MemoryKind::Wire { bytes_per_cycle: bytes as f64 / cycles as f64, delay: 1 })
        };
        // Bytes per cycle of a group's coefficients, in each direction.
        let by_group = (s.side * s.polynomial) as f64 / s.group as f64;
        let sums = s.polynomials * s.sum;
        let by_step = |bytes: u64| bytes as f64 / s.step as f64;
        let channel = machine.channel_bytes;
        let (amount, link) = (AMOUNT_BYTES as f64, machine.link_bytes);
        // A result of the host is at most as long as its operands.
        let computed = machine.host_rate * ELEMENT_BYTES as f64;
        Self {
            loader: Resource = unit(b, "loader"),
            rotator: Resource = unit(b, "rotator"),
            decomposer: Resource = unit(b, "decomposer"),
            fft: Resource = unit(b, "fft"),
            mac: Resource = unit(b, "mac"),
            ifft: Resource = unit(b, "ifft"),
            accumulator: Resource = unit(b, "accumulator"),
            extractor: Resource = unit(b, "extractor"),
            host: Resource = b.unit("host", "host", WaitCategory::VectorUnit),
            /// Pseudo-channels for the key.
            keys: Vec<Resource> =
                (0..machine.key_channels).map(|index| b.channel(format!("hbm.key{index}"), "hbm.key", channel)).collect(),
            hbm_channel: Resource = b.channel("hbm.ciphertexts", "hbm.ciphertexts", channel),
            link_in: Resource = b.channel("host_link.in", "host_link.in", link),
            link_out: Resource = b.channel("host_link.out", "host_link.out", link),
            host_memory: Resource = b.channel("host_memory", "host_memory", machine.host_memory),
            /// The host's memory, and the keys and test polynomials that stay in HBM.
            memory: MemoryId = b.memory("memory", MemoryKind::OffChip),
            /// Results of the host.
            host_buffer: MemoryId = memory(b, "host", machine.host_buffer, link + machine.host_memory, computed),
            /// The pseudo-channel for ciphertexts: rotation amounts of two batches, then results of two.
            hbm: MemoryId = memory(b, "hbm", machine.hbm, channel + link, channel + link),
            /// Read by the loader and the rotator.
            fifo: MemoryId = memory(b, "fifo", machine.fifo, 2.0 * amount, channel),
            tables: MemoryId = memory(b, "tables", machine.tables, s.polynomial as f64 / s.group as f64, channel),
            outputs: MemoryId = memory(b, "outputs", machine.outputs, channel, s.large() as f64 / s.cmux as f64),
            /// Ping-pong buffer of the key.
            key_buffer: MemoryId =
                memory(b, "key", BUFFERS * s.key(), by_step(s.step_key()), channel * machine.key_channels as f64),
            /// Registers of the accumulators in the pipeline. Reads: the rotator and the old accumulator. Writes: the new
            /// accumulator and the loader.
            accumulators: MemoryId =
                memory(b, "accumulators", s.in_flight * s.accumulator(), 2.0 * by_group, 2.0 * by_group),
            /// Reordering block after the barrel shifter, for two groups.
            reorder: MemoryId =
                memory(b, "reorder", BUFFERS * s.side * s.polynomial, by_step(s.side * s.polynomial), by_group),
            /// The dot products' registers.
            partial: MemoryId = memory(b, "partial", sums, by_step(sums), by_step(sums)),
            /// Parallel in, serial out: sums of two ciphertexts.
            piso: MemoryId =
                memory(b, "piso", BUFFERS * sums, (s.side * s.sum) as f64 / s.inverse_cycles as f64, by_step(sums)),
            /// Finished accumulators of two ciphertexts, before sample extraction.
            finished: MemoryId = memory(b, "finished", BUFFERS * s.accumulator(), by_group, by_group),
            /// Wire from decomposer to FFT.
            digits: MemoryId = wire(b, "digits", s.side_rows * s.digits, s.step),
            /// Wire from FFT to multipliers.
            spectrum: MemoryId = wire(b, "spectrum", s.side_rows * s.spectrum, s.step),
            /// Wire from IFFT to accumulation.
            product: MemoryId = wire(b, "product", s.side * s.polynomial, s.inverse_cycles),
            kinds: Kinds = {
                let kinds = Kinds::declare(b, machine, s);
                kinds.functions().for_each(|(kind, function)| _ = b.does(kind, function));
                kinds
            },
            classes: Classes = Classes::declare(b, &s.bits),
        }
    }
}
