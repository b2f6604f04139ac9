//! Declares the chip's units, channels, memories, operation kinds and value classes to the engine.

use super::super::cluster::{KEY_HOP, SUM_BUFFERS};
use super::super::hardware::link_latency;
use super::super::machine::{Pipeline, Stages, StepCycles};
use crate::declared::declared;
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Resource, ScheduleBuilder, Traffic, WaitCategory,
};

declared! {
    #[derive(Clone, Debug)]
    pub struct Core, declare(b: &mut ScheduleBuilder, machine: &Pipeline, c: u64) {
        let Stages { rotator, decomposer, forward, multiply, inverse, accumulator } = machine.stages;
        let coefficients = |stage, units: u64| units * machine.coefficients_of(stage) * COEFFICIENT_BYTES;
        let points = |stage, units: u64| units * machine.points_of(stage) * machine.point_bytes;
        let (rows, columns, inverses) = (machine.rows, machine.columns, machine.inverses());
        let wire = |bytes: u64| MemoryKind::Wire { bytes_per_cycle: bytes as f64, delay: 1 };
        let polynomial = machine.largest_ring * COEFFICIENT_BYTES;
        let largest_sum = machine.points(machine.largest_ring) * machine.point_bytes * columns;
        let sum_of = match machine.accumulates {
            false => wire(points(multiply, columns)),
            true => on_chip(
                (1 + u64::from(SUM_BUFFERS)) * largest_sum,
                points(multiply, columns) + points(inverse, inverses),
                points(multiply, columns),
            ),
        };
        let back = coefficients(accumulator, inverses);
        let name = |unit: &str| format!("core{c}.{unit}");
        let unit = |b: &mut ScheduleBuilder, of: &str| b.unit(name(of), of, WaitCategory::Pipeline);
        Self {
            rotator: Resource = unit(b, "rotator"),
            decomposer: Resource = unit(b, "decomposer"),
            fft: Resource = unit(b, "fft"),
            vma: Resource = unit(b, "vma"),
            ifft: Resource = unit(b, "ifft"),
            accumulator: Resource = unit(b, "accumulator"),
            extractor: Resource = unit(b, "extractor"),
            switch: Resource = b.unit(name("key_switch"), "key_switch", WaitCategory::VectorUnit),
            admission: Resource = unit(b, "link.in"),
            returns: Resource = unit(b, "link.out"),
            /// Local scratchpad.
            local: MemoryId = b.memory(name("local"), dual_port(machine.local, machine.local_ports())),
            /// The decomposer's buffer, from which it extracts the next levels.
            rotated: MemoryId = b.memory(
                name("decomposer.buffer"),
                on_chip(rows * polynomial, coefficients(decomposer, rows), coefficients(rotator, rows)),
            ),
            /// The accumulators' buffers.
            sums: MemoryId = b.memory(name("accumulator.buffer"), on_chip(columns * polynomial, back, back)),
            /// Wire from decomposer to FFT.
            digits: MemoryId = b.memory(name("digits"), wire(coefficients(decomposer, rows))),
            /// Wire from FFT to multipliers.
            spectrum: MemoryId = b.memory(name("spectrum"), wire(points(forward, rows))),
            /// Wire from global scratchpad to multipliers.
            key: MemoryId = b.memory(name("key"), wire(points(multiply, rows * columns))),
            /// Adder trees to IFFT: a wire, or the buffers of accumulating multipliers.
            sum: MemoryId = b.memory(name("sum"), sum_of),
            /// Wire from IFFT to accumulators.
            product: MemoryId = b.memory(name("product"), wire(back)),
            /// Wire from global scratchpad to key-switch cluster.
            tile: MemoryId = b.memory(name("tile"), wire(machine.switch_bus)),
        }
    }
}

declared! {
    #[derive(Clone, Copy, Debug)]
    pub struct Kinds, declare(b: &mut ScheduleBuilder, machine: &Pipeline, steps: &StepCycles, sizes: &Sizes) {
        // A unit with L registers writes in cycle L − 1 after its input, so the next unit reads in cycle L.
        let after = |cycles: i64| (cycles - 1).max(0) as u64;
        let Stages { rotator, decomposer, forward, multiply, inverse, accumulator } = machine.stages;
        let (rows, columns, inverses) = (machine.rows as u32, machine.columns as u32, machine.inverses() as u32);
        let coefficients = |stage, units: u32| machine.coefficients_of(stage) as f64 * f64::from(units);
        let points = |stage, units: u32| machine.folded_points_of(stage) * f64::from(units);
        let multipliers = rows * columns;
        // A digit stays at its lane for its products with all columns; the rate counts the digit and these products.
        let row = sizes.lwe_dimension + 1;
        let passes = row.div_ceil(machine.switch_columns);
        let digits = (machine.switch_lanes * (1 + row)) as f64 / passes as f64;
        let products = (machine.switch_lanes * machine.switch_columns) as f64;
        let link = link_latency(machine) as u64;
        let rate = machine.link as f64;
        let (memory, switch, hop) = (machine.memory_latency, after(steps.switch), (KEY_HOP - 1) as u64);
        Self {
            rotate: KindId =
                b.kind_in_parts("rotate and subtract", "rotator", coefficients(rotator, rows), after(steps.rotate), rows),
            decompose: KindId =
                b.kind_in_parts("decompose", "decomposer", coefficients(decomposer, rows), after(steps.decompose), rows),
            forward: KindId =
                b.kind_in_parts("forward transform", "fft", points(forward, rows), after(steps.forward), rows),
            multiply: KindId = b.kind_in_parts(
                "multiply and add", "vma", points(multiply, multipliers), after(steps.multiply), multipliers,
            ),
            inverse: KindId =
                b.kind_in_parts("inverse transform", "ifft", points(inverse, inverses), after(steps.backward), inverses),
            accumulate: KindId = b.kind_in_parts(
                "accumulate", "accumulator", coefficients(accumulator, inverses), after(steps.accumulate), inverses,
            ),
            extract: KindId = b.kind("sample extract", "extractor", coefficients(accumulator, columns), 1),
            key_switch: KindId = b.kind("key switch", "key_switch", digits, switch),
            linear: KindId = b.kind("linear", "key_switch", products, switch),
            modulus_switch: KindId = b.kind("modulus switch", "link.in", rate / COEFFICIENT_BYTES as f64, link),
            /// One polynomial is transferred and initializes all polynomials of the accumulator.
            load_accumulators: KindId = b.kind("load accumulators", "link.in", rate * sizes.polynomials as f64, link),
            admit: KindId = b.kind("load ciphertext", "link.in", rate, link),
            send: KindId = b.kind("store ciphertext", "link.out", rate, link),
            transfer: KindId = b.kind("transfer", "hbm.ciphertexts", 1.0, memory),
            key: KindId = b.kind("bootstrapping key", "hbm.key", 1.0, memory),
            switch_key: KindId = b.kind("key-switch key", "hbm.switch", 1.0, memory),
            multicast: KindId = b.kind("multicast key", "key_bus", machine.key_bus as f64, hop),
            multicast_switch: KindId = b.kind("multicast tile", "switch_bus", machine.switch_bus as f64, hop),
        }
    }
}

impl Kinds {
    fn functions(&self) -> impl Iterator<Item = (KindId, Function)> + use<> {
        let &Self { rotate, decompose, forward, multiply, inverse, accumulate, .. } = self;
        let others = [
            (self.extract, Function::SampleExtract),
            (self.key_switch, Function::KeySwitch),
            (self.linear, Function::Linear),
            (self.modulus_switch, Function::ModulusSwitch),
            (self.load_accumulators, Function::Initialise),
        ];
        [rotate, decompose, forward, multiply, inverse, accumulate].into_iter().zip(Function::CMUX).chain(others)
    }
}

declared! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Classes, declare(b: &mut ScheduleBuilder, spectrum_bits: u32) {
        let bits = 8 * COEFFICIENT_BYTES as u32;
        let ciphertexts = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, bits);
        let transformed = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, spectrum_bits);
        Self {
            /// LWE ciphertext of an input.
            input: ClassId = b.value_class("input ciphertext", Traffic::Ciphertexts, true, bits),
            /// LWE ciphertext of any other operation.
            lwe: ClassId = ciphertexts(b, "ciphertext"),
            rotations: ClassId = ciphertexts(b, "rotation amounts"),
            /// One polynomial of an accumulator; `iteration` counts completed iterations.
            accumulator: ClassId = ciphertexts(b, "accumulator"),
            /// A rotated polynomial minus the original.
            rotated: ClassId = ciphertexts(b, "rotated difference"),
            /// Digits of a step.
            digits: ClassId = ciphertexts(b, "digits"),
            /// Transforms of the digits.
            spectrum: ClassId = transformed(b, "spectra"),
            /// Sums of a drain, in the transform domain.
            sum: ClassId = transformed(b, "transform-domain sums"),
            /// Sums of all columns up to a step, if the multipliers accumulate.
            running: ClassId = transformed(b, "transform-domain sums so far"),
            /// Sums in the coefficient domain.
            product: ClassId = ciphertexts(b, "products"),
            /// Sum of a column over drains.
            partial: ClassId = ciphertexts(b, "coefficient-domain sum"),
            switch_sum: ClassId = ciphertexts(b, "key-switch sum"),
            linear_sum: ClassId = ciphertexts(b, "linear sum"),
            /// Bootstrapping key of one step of an iteration.
            bootstrap_key: ClassId = b.value_class("bootstrapping key", Traffic::BootstrapKey, true, spectrum_bits),
            /// Tile of the key-switch key.
            switch_key: ClassId = b.value_class("key-switch key", Traffic::KeySwitchKey, true, bits),
            table: ClassId = b.value_class("test polynomial", Traffic::Tables, true, bits),
            /// Operands of a pass of a linear layer.
            operands: ClassId = ciphertexts(b, "operands"),
        }
    }
}

declared! {
    #[derive(Clone, Debug)]
    pub struct Chip, declare(b: &mut ScheduleBuilder, machine: &Pipeline, parameters: &Parameters) {
        let buses = |b: &mut ScheduleBuilder, name: &str| -> Vec<Resource> {
            let mut bus = |number: &dyn std::fmt::Display| {
                b.unit(format!("global.{name}{number}"), name, WaitCategory::Pipeline)
            };
            if machine.multicast { vec![bus(&"")] } else { (0..machine.cores).map(|core| bus(&core)).collect() }
        };
        let channels_of = |b: &mut ScheduleBuilder, name: &str, count: u64| -> Vec<Resource> {
            let channel = |index| b.channel(format!("hbm.{name}{index}"), format!("hbm.{name}"), machine.channel_bytes);
            (0..count).map(channel).collect()
        };
        let ports = machine.global_ports();
        Self {
            cores: Vec<Core> = (0..machine.cores).map(|c| Core::declare(b, machine, c)).collect(),
            /// Buses for the bootstrapping key: one to all cores, or one per core.
            key_buses: Vec<Resource> = buses(b, "key_bus"),
            /// Buses for the key-switch key and operands.
            switch_buses: Vec<Resource> = buses(b, "switch_bus"),
            /// Memory channels for the bootstrapping key, the key-switch key, and other data, in this order.
            channels: Vec<Resource> = [
                channels_of(b, "key", machine.key_channels),
                channels_of(b, "switch", machine.switch_channels),
                channels_of(b, "ciphertexts", machine.ciphertext_channels),
            ].concat(),
            hbm: MemoryId = b.memory("hbm", MemoryKind::OffChip),
            global: MemoryId = b.memory("global", on_chip(machine.global, ports.0, ports.1)),
            kinds: Kinds = {
                let kinds = Kinds::declare(b, machine, &machine.steps(parameters), &machine.sizes(parameters));
                kinds.functions().for_each(|(kind, function)| _ = b.does(kind, function));
                kinds
            },
            classes: Classes = Classes::declare(b, machine.spectrum_bits()),
        }
    }
}

/// A scratchpad with ports that read or write, of `bytes_per_cycle` in total. It counts as one bank, because every polynomial is spread over all banks.
fn dual_port(capacity: u64, bytes_per_cycle: u64) -> MemoryKind {
    let half = bytes_per_cycle as f64 / 2.0;
    MemoryKind::OnChip { capacity, banks: 1, read_bytes_per_cycle: half, write_bytes_per_cycle: half, dual_port: true }
}

/// A memory of one bank on the chip.
fn on_chip(capacity: u64, read: u64, write: u64) -> MemoryKind {
    let (read_bytes_per_cycle, write_bytes_per_cycle) = (read as f64, write as f64);
    MemoryKind::OnChip { capacity, banks: 1, read_bytes_per_cycle, write_bytes_per_cycle, dual_port: false }
}
