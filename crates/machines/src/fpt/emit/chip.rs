//! Declares the chip's units, channels, memories, operation kinds and value classes to the engine.

use super::super::hardware::load_latency;
use super::super::machine::{AMOUNT_BYTES, Bits, ELEMENT_BYTES, Fpt, Shape};
use super::super::software::BUFFERS;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Resource, ScheduleBuilder, Traffic, WaitCategory,
};

#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    pub load: KindId,
    pub rotate: KindId,
    pub decompose: KindId,
    pub forward: KindId,
    pub multiply: KindId,
    pub inverse: KindId,
    pub accumulate: KindId,
    pub extract: KindId,
    pub modulus_switch: KindId,
    pub key_switch: KindId,
    pub linear: KindId,
    pub key: KindId,
    pub hbm: KindId,
    pub send: KindId,
    pub receive: KindId,
    pub store: KindId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    pub input: ClassId,
    pub lwe: ClassId,
    /// Rotation amounts of a ciphertext.
    pub rotations: ClassId,
    /// One polynomial of an accumulator; `iteration` counts completed iterations.
    pub accumulator: ClassId,
    /// A rotated polynomial minus the original.
    pub rotated: ClassId,
    /// Digits of a step.
    pub digits: ClassId,
    /// Transforms of the digits.
    pub spectrum: ClassId,
    /// Sums of products up to a step, for all columns.
    pub partial: ClassId,
    /// The complete sum of a column.
    pub sum: ClassId,
    /// The sum in the coefficient domain.
    pub product: ClassId,
    /// Bootstrapping key of one step of an iteration.
    pub bootstrap_key: ClassId,
    pub switch_key: ClassId,
    pub table: ClassId,
}

#[derive(Clone, Debug)]
pub struct Chip {
    pub loader: Resource,
    pub rotator: Resource,
    pub decomposer: Resource,
    pub fft: Resource,
    pub mac: Resource,
    pub ifft: Resource,
    pub accumulator: Resource,
    pub extractor: Resource,
    pub host: Resource,
    /// Pseudo-channels for the key.
    pub keys: Vec<Resource>,
    pub hbm_channel: Resource,
    pub link_in: Resource,
    pub link_out: Resource,
    pub host_memory: Resource,
    /// The host's memory, and the keys and test polynomials that stay in HBM.
    pub memory: MemoryId,
    /// Results of the host.
    pub host_buffer: MemoryId,
    /// The pseudo-channel for ciphertexts: rotation amounts of two batches, then results of two.
    pub hbm: MemoryId,
    pub fifo: MemoryId,
    pub tables: MemoryId,
    pub outputs: MemoryId,
    /// Ping-pong buffer of the key.
    pub key_buffer: MemoryId,
    /// Registers of the accumulators in the pipeline.
    pub accumulators: MemoryId,
    /// Reordering block after the barrel shifter, for two groups.
    pub reorder: MemoryId,
    /// The dot products' registers.
    pub partial: MemoryId,
    /// Parallel in, serial out: sums of two ciphertexts.
    pub piso: MemoryId,
    /// Finished accumulators of two ciphertexts, before sample extraction.
    pub finished: MemoryId,
    /// Wire from decomposer to FFT.
    pub digits: MemoryId,
    /// Wire from FFT to multipliers.
    pub spectrum: MemoryId,
    /// Wire from IFFT to accumulation.
    pub product: MemoryId,
    pub kinds: Kinds,
    pub classes: Classes,
}

impl Classes {
    /// Classes of inputs and of all other ciphertexts off the chip.
    pub fn ciphertexts(&self) -> (ClassId, ClassId) {
        (self.input, self.lwe)
    }

    fn declare(b: &mut ScheduleBuilder, widths: &Bits) -> Self {
        let (number, amount) = (8 * ELEMENT_BYTES as u32, 8 * AMOUNT_BYTES as u32);
        let of = |b: &mut ScheduleBuilder, name, bits| b.value_class(name, Traffic::Ciphertexts, false, bits);
        Self {
            input: b.value_class("input ciphertext", Traffic::Ciphertexts, true, number),
            lwe: of(b, "ciphertext", number),
            rotations: of(b, "rotation amounts", amount),
            accumulator: of(b, "accumulator", widths.coefficient),
            rotated: of(b, "rotated difference", widths.coefficient),
            digits: of(b, "digits", widths.digit),
            spectrum: of(b, "spectra", widths.spectrum),
            partial: of(b, "partial sums", widths.sum),
            sum: of(b, "sum of products", widths.sum),
            product: of(b, "products", widths.coefficient),
            bootstrap_key: b.value_class("bootstrapping key", Traffic::BootstrapKey, true, widths.key),
            switch_key: b.value_class("key-switch key", Traffic::KeySwitchKey, true, number),
            table: b.value_class("test polynomial", Traffic::Tables, true, widths.coefficient),
        }
    }
}

impl Kinds {
    /// A unit with L registers writes in cycle L − 1 after its input, so the next unit reads in cycle L.
    fn declare(b: &mut ScheduleBuilder, machine: &Fpt, s: &Shape) -> Self {
        let after = |cycles: i64| (cycles - 1).max(0) as u64;
        let coefficients = (s.ring_degree * s.side) as f64 / s.group as f64;
        let points = s.points as f64 / s.step as f64;
        let (rows, columns) = (s.side_rows as f64, s.polynomials as f64);
        let inverse = (s.points * s.side) as f64 / s.inverse_cycles as f64;
        let rate = machine.host_rate;
        let link = machine.link_latency;
        let on_host = |b: &mut ScheduleBuilder, name: &str| {
            let kind = b.kind(name, "host", rate, 1);
            b.off_chip(kind)
        };
        let multiply = b.kind("multiply and add", "mac", points * rows * columns, after(s.multiply + s.add));
        let kinds = Self {
            load: b.kind(
                "load accumulators",
                "loader",
                (s.side * s.polynomial) as f64 / s.group as f64,
                load_latency(s) as u64,
            ),
            rotate: b.kind("rotate and subtract", "rotator", coefficients, after(s.rotate)),
            decompose: b.kind(
                "decompose",
                "decomposer",
                s.ring_degree as f64 * rows / s.step as f64,
                after(s.decompose),
            ),
            forward: b.kind("forward transform", "fft", points * rows, after(s.forward)),
            multiply: b.with_addends(multiply),
            inverse: b.kind("inverse transform", "ifft", inverse, after(s.inverse)),
            accumulate: b.kind("accumulate", "accumulator", coefficients, after(s.accumulate)),
            extract: b.kind("sample extract", "extractor", coefficients, 1),
            modulus_switch: on_host(b, "modulus switch"),
            key_switch: on_host(b, "key switch"),
            linear: on_host(b, "linear"),
            key: b.kind("bootstrapping key", "hbm.key", 1.0, machine.memory_latency),
            hbm: b.kind("transfer", "hbm.ciphertexts", 1.0, machine.memory_latency),
            send: b.kind("send", "host_link.in", 1.0, link),
            receive: b.kind("receive", "host_link.out", 1.0, link),
            store: b.kind("store", "host_memory", 1.0, 1),
        };
        let Self { rotate, decompose, forward, multiply, inverse, accumulate, .. } = kinds;
        let pipeline = [rotate, decompose, forward, multiply, inverse, accumulate];
        let others = [
            (kinds.load, Function::Initialise),
            (kinds.extract, Function::SampleExtract),
            (kinds.modulus_switch, Function::ModulusSwitch),
            (kinds.key_switch, Function::KeySwitch),
            (kinds.linear, Function::Linear),
        ];
        for (kind, function) in pipeline.into_iter().zip(Function::CMUX).chain(others) {
            b.does(kind, function);
        }
        kinds
    }
}

impl Chip {
    pub fn declare(b: &mut ScheduleBuilder, machine: &Fpt, s: &Shape) -> Self {
        let classes = Classes::declare(b, &s.bits);
        let kinds = Kinds::declare(b, machine, s);
        let unit = |b: &mut ScheduleBuilder, name: &str| b.unit(name, name, WaitCategory::Pipeline);
        let [loader, rotator, decomposer, fft, mac, ifft, accumulator, extractor] =
            ["loader", "rotator", "decomposer", "fft", "mac", "ifft", "accumulator", "extractor"]
                .map(|name| unit(b, name));
        let host = b.unit("host", "host", WaitCategory::VectorUnit);
        let keys = (0..machine.key_channels)
            .map(|index| b.channel(format!("hbm.key{index}"), "hbm.key", machine.channel_bytes))
            .collect();
        let hbm_channel = b.channel("hbm.ciphertexts", "hbm.ciphertexts", machine.channel_bytes);
        let link_in = b.channel("host_link.in", "host_link.in", machine.link_bytes);
        let link_out = b.channel("host_link.out", "host_link.out", machine.link_bytes);
        let host_memory = b.channel("host_memory", "host_memory", machine.host_memory);
        let memory = |b: &mut ScheduleBuilder, name: &str, capacity: u64, read: f64, write: f64| {
            let (read_bytes_per_cycle, write_bytes_per_cycle) = (read, write);
            b.memory(name, MemoryKind::OnChip { capacity, banks: 1, read_bytes_per_cycle, write_bytes_per_cycle })
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
            loader,
            rotator,
            decomposer,
            fft,
            mac,
            ifft,
            accumulator,
            extractor,
            host,
            keys,
            hbm_channel,
            link_in,
            link_out,
            host_memory,
            memory: b.memory("memory", MemoryKind::OffChip),
            host_buffer: memory(b, "host", machine.host_buffer, link + machine.host_memory, computed),
            hbm: memory(b, "hbm", machine.hbm, channel + link, channel + link),
            // Amounts of the loader and the rotator.
            fifo: memory(b, "fifo", machine.fifo, 2.0 * amount, channel),
            tables: memory(b, "tables", machine.tables, s.polynomial as f64 / s.group as f64, channel),
            outputs: memory(b, "outputs", machine.outputs, channel, s.large() as f64 / s.cmux as f64),
            key_buffer: memory(
                b,
                "key",
                BUFFERS * s.key(),
                by_step(s.step_key()),
                channel * machine.key_channels as f64,
            ),
            // Reads: the rotator and the old accumulator. Writes: the new accumulator and the loader.
            accumulators: memory(b, "accumulators", s.in_flight * s.accumulator(), 2.0 * by_group, 2.0 * by_group),
            reorder: memory(b, "reorder", BUFFERS * s.side * s.polynomial, by_step(s.side * s.polynomial), by_group),
            partial: memory(b, "partial", sums, by_step(sums), by_step(sums)),
            piso: memory(b, "piso", BUFFERS * sums, (s.side * s.sum) as f64 / s.inverse_cycles as f64, by_step(sums)),
            finished: memory(b, "finished", BUFFERS * s.accumulator(), by_group, by_group),
            digits: wire(b, "digits", s.side_rows * s.digits, s.step),
            spectrum: wire(b, "spectrum", s.side_rows * s.spectrum, s.step),
            product: wire(b, "product", s.side * s.polynomial, s.inverse_cycles),
            kinds,
            classes,
        }
    }
}
