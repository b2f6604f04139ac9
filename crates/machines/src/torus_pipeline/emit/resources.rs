//! Declares the chip's units, channels, memories, operation kinds and value classes to the engine.

use super::super::cluster::{KEY_HOP, SUM_BUFFERS};
use super::super::hardware::link_latency;
use super::super::machine::{Pipeline, Stages, StepCycles};
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Resource, ScheduleBuilder, Traffic, WaitCategory,
};

#[derive(Clone, Debug)]
pub struct Core {
    pub rotator: Resource,
    pub decomposer: Resource,
    pub fft: Resource,
    pub vma: Resource,
    pub ifft: Resource,
    pub accumulator: Resource,
    pub extractor: Resource,
    pub switch: Resource,
    pub admission: Resource,
    pub returns: Resource,
    /// Local scratchpad.
    pub local: MemoryId,
    /// The decomposer's buffer, from which it extracts the next levels.
    pub rotated: MemoryId,
    /// The accumulators' buffers.
    pub sums: MemoryId,
    /// Wire from decomposer to FFT.
    pub digits: MemoryId,
    /// Wire from FFT to multipliers.
    pub spectrum: MemoryId,
    /// Wire from global scratchpad to multipliers.
    pub key: MemoryId,
    /// Adder trees to IFFT: a wire, or the buffers of accumulating multipliers.
    pub sum: MemoryId,
    /// Wire from IFFT to accumulators.
    pub product: MemoryId,
    /// Wire from global scratchpad to key-switch cluster.
    pub tile: MemoryId,
}

#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    pub rotate: KindId,
    pub decompose: KindId,
    pub forward: KindId,
    pub multiply: KindId,
    pub inverse: KindId,
    pub accumulate: KindId,
    pub extract: KindId,
    pub key_switch: KindId,
    pub linear: KindId,
    pub modulus_switch: KindId,
    pub load_accumulators: KindId,
    pub admit: KindId,
    pub send: KindId,
    pub transfer: KindId,
    pub key: KindId,
    pub switch_key: KindId,
    pub multicast: KindId,
    pub multicast_switch: KindId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// LWE ciphertext of an input.
    pub input: ClassId,
    /// LWE ciphertext of any other operation.
    pub lwe: ClassId,
    pub rotations: ClassId,
    /// One polynomial of an accumulator; `iteration` counts completed iterations.
    pub accumulator: ClassId,
    /// A rotated polynomial minus the original.
    pub rotated: ClassId,
    /// Digits of a step.
    pub digits: ClassId,
    /// Transforms of the digits.
    pub spectrum: ClassId,
    /// Sums of a drain, in the transform domain.
    pub sum: ClassId,
    /// Sums of all columns up to a step, if the multipliers accumulate.
    pub running: ClassId,
    /// Sums in the coefficient domain.
    pub product: ClassId,
    /// Sum of a column over drains.
    pub partial: ClassId,
    pub switch_sum: ClassId,
    pub linear_sum: ClassId,
    /// Bootstrapping key of one step of an iteration.
    pub bootstrap_key: ClassId,
    /// Tile of the key-switch key.
    pub switch_key: ClassId,
    pub table: ClassId,
    /// Operands of a pass of a linear layer.
    pub operands: ClassId,
}

#[derive(Clone, Debug)]
pub struct Chip {
    pub cores: Vec<Core>,
    /// Buses for the bootstrapping key: one to all cores, or one per core.
    pub key_buses: Vec<Resource>,
    /// Buses for the key-switch key and operands.
    pub switch_buses: Vec<Resource>,
    /// Memory channels for the bootstrapping key, the key-switch key, and other data, in this order.
    pub channels: Vec<Resource>,
    pub hbm: MemoryId,
    pub global: MemoryId,
    pub kinds: Kinds,
    pub classes: Classes,
}

impl Classes {
    /// Classes of inputs and of all other ciphertexts off the chip.
    pub fn ciphertexts(&self) -> (ClassId, ClassId) {
        (self.input, self.lwe)
    }

    /// `spectrum`: bits of a transformed polynomial per coefficient.
    fn declare(b: &mut ScheduleBuilder, spectrum: u32) -> Self {
        let bits = 8 * COEFFICIENT_BYTES as u32;
        let ciphertexts = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, bits);
        let transformed = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, spectrum);
        Self {
            input: b.value_class("input ciphertext", Traffic::Ciphertexts, true, bits),
            lwe: ciphertexts(b, "ciphertext"),
            rotations: ciphertexts(b, "rotation amounts"),
            accumulator: ciphertexts(b, "accumulator"),
            rotated: ciphertexts(b, "rotated difference"),
            digits: ciphertexts(b, "digits"),
            spectrum: transformed(b, "spectra"),
            sum: transformed(b, "transform-domain sums"),
            running: transformed(b, "transform-domain sums so far"),
            product: ciphertexts(b, "products"),
            partial: ciphertexts(b, "coefficient-domain sum"),
            switch_sum: ciphertexts(b, "key-switch sum"),
            linear_sum: ciphertexts(b, "linear sum"),
            bootstrap_key: b.value_class("bootstrapping key", Traffic::BootstrapKey, true, spectrum),
            switch_key: b.value_class("key-switch key", Traffic::KeySwitchKey, true, bits),
            table: b.value_class("test polynomial", Traffic::Tables, true, bits),
            operands: ciphertexts(b, "operands"),
        }
    }
}

impl Kinds {
    /// A unit with L registers writes in cycle L − 1 after its input, so the next unit reads in cycle L.
    fn declare(b: &mut ScheduleBuilder, machine: &Pipeline, steps: &StepCycles, sizes: &Sizes) -> Self {
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
        let memory = machine.memory_latency;
        let switch = after(steps.switch);
        let kinds = Self {
            rotate: b.kind_in_parts(
                "rotate and subtract",
                "rotator",
                coefficients(rotator, rows),
                after(steps.rotate),
                rows,
            ),
            decompose: b.kind_in_parts(
                "decompose",
                "decomposer",
                coefficients(decomposer, rows),
                after(steps.decompose),
                rows,
            ),
            forward: b.kind_in_parts("forward transform", "fft", points(forward, rows), after(steps.forward), rows),
            multiply: b.kind_in_parts(
                "multiply and add",
                "vma",
                points(multiply, multipliers),
                after(steps.multiply),
                multipliers,
            ),
            inverse: b.kind_in_parts(
                "inverse transform",
                "ifft",
                points(inverse, inverses),
                after(steps.backward),
                inverses,
            ),
            accumulate: b.kind_in_parts(
                "accumulate",
                "accumulator",
                coefficients(accumulator, inverses),
                after(steps.accumulate),
                inverses,
            ),
            extract: b.kind("sample extract", "extractor", coefficients(accumulator, columns), 1),
            key_switch: b.kind("key switch", "key_switch", digits, switch),
            linear: b.kind("linear", "key_switch", products, switch),
            modulus_switch: b.kind("modulus switch", "link.in", rate / COEFFICIENT_BYTES as f64, link),
            // One polynomial is transferred and initializes all polynomials of the accumulator.
            load_accumulators: b.kind("load accumulators", "link.in", rate * sizes.polynomials as f64, link),
            admit: b.kind("load ciphertext", "link.in", rate, link),
            send: b.kind("store ciphertext", "link.out", rate, link),
            transfer: b.kind("transfer", "hbm.ciphertexts", 1.0, memory),
            key: b.kind("bootstrapping key", "hbm.key", 1.0, memory),
            switch_key: b.kind("key-switch key", "hbm.switch", 1.0, memory),
            multicast: b.kind("multicast key", "key_bus", machine.key_bus as f64, (KEY_HOP - 1) as u64),
            multicast_switch: b.kind("multicast tile", "switch_bus", machine.switch_bus as f64, (KEY_HOP - 1) as u64),
        };
        let Self { rotate, decompose, forward, multiply, inverse, accumulate, .. } = kinds;
        let pipeline = [rotate, decompose, forward, multiply, inverse, accumulate];
        let others = [
            (kinds.extract, Function::SampleExtract),
            (kinds.key_switch, Function::KeySwitch),
            (kinds.linear, Function::Linear),
            (kinds.modulus_switch, Function::ModulusSwitch),
            (kinds.load_accumulators, Function::Initialise),
        ];
        for (kind, function) in pipeline.into_iter().zip(Function::CMUX).chain(others) {
            b.does(kind, function);
        }
        kinds
    }
}

impl Core {
    fn declare(b: &mut ScheduleBuilder, machine: &Pipeline, c: u64) -> Self {
        let pipeline = WaitCategory::Pipeline;
        let Stages { decomposer, forward, multiply, inverse, accumulator, .. } = machine.stages;
        let coefficients = |stage, units: u64| units * machine.coefficients_of(stage) * COEFFICIENT_BYTES;
        let points = |stage, units: u64| units * machine.points_of(stage) * machine.point_bytes;
        let (rows, columns, inverses) = (machine.rows, machine.columns, machine.inverses());
        let ports = machine.port_widths()[0];
        let wire = |bytes: u64| MemoryKind::Wire { bytes_per_cycle: bytes as f64, delay: 1 };
        let polynomial = machine.largest_ring * COEFFICIENT_BYTES;
        let largest_sum = machine.points(machine.largest_ring) * machine.point_bytes * columns;
        let sum = match machine.accumulates {
            false => wire(points(multiply, columns)),
            true => on_chip(
                (1 + u64::from(SUM_BUFFERS)) * largest_sum,
                points(multiply, columns) + points(inverse, inverses),
                points(multiply, columns),
            ),
        };
        let name = |unit: &str| format!("core{c}.{unit}");
        Self {
            rotator: b.unit(name("rotator"), "rotator", pipeline),
            decomposer: b.unit(name("decomposer"), "decomposer", pipeline),
            fft: b.unit(name("fft"), "fft", pipeline),
            vma: b.unit(name("vma"), "vma", pipeline),
            ifft: b.unit(name("ifft"), "ifft", pipeline),
            accumulator: b.unit(name("accumulator"), "accumulator", pipeline),
            extractor: b.unit(name("extractor"), "extractor", pipeline),
            switch: b.unit(name("key_switch"), "key_switch", WaitCategory::VectorUnit),
            admission: b.unit(name("link.in"), "link.in", pipeline),
            returns: b.unit(name("link.out"), "link.out", pipeline),
            local: b.memory(name("local"), on_chip(machine.local, ports.0, ports.1)),
            rotated: b.memory(
                name("decomposer.buffer"),
                on_chip(rows * polynomial, coefficients(decomposer, rows), coefficients(machine.stages.rotator, rows)),
            ),
            sums: b.memory(
                name("accumulator.buffer"),
                on_chip(columns * polynomial, coefficients(accumulator, inverses), coefficients(accumulator, inverses)),
            ),
            digits: b.memory(name("digits"), wire(coefficients(decomposer, rows))),
            spectrum: b.memory(name("spectrum"), wire(points(forward, rows))),
            key: b.memory(name("key"), wire(points(multiply, rows * columns))),
            sum: b.memory(name("sum"), sum),
            product: b.memory(name("product"), wire(coefficients(accumulator, inverses))),
            tile: b.memory(name("tile"), wire(machine.switch_bus)),
        }
    }
}

/// A memory of one bank on the chip.
fn on_chip(capacity: u64, read: u64, write: u64) -> MemoryKind {
    MemoryKind::OnChip { capacity, banks: 1, read_bytes_per_cycle: read as f64, write_bytes_per_cycle: write as f64 }
}

impl Chip {
    pub fn declare(b: &mut ScheduleBuilder, machine: &Pipeline, parameters: &Parameters) -> Self {
        let steps = &machine.steps(parameters);
        let classes = Classes::declare(b, machine.spectrum_bits());
        let kinds = Kinds::declare(b, machine, steps, &machine.sizes(parameters));
        let pipeline = WaitCategory::Pipeline;
        let cores = (0..machine.cores).map(|c| Core::declare(b, machine, c)).collect();
        let mut buses = |name: &str| match machine.multicast {
            true => vec![b.unit(format!("global.{name}"), name, pipeline)],
            false => (0..machine.cores).map(|c| b.unit(format!("global.{name}{c}"), name, pipeline)).collect(),
        };
        let (key_buses, switch_buses) = (buses("key_bus"), buses("switch_bus"));
        let classes_of = [
            ("key", "hbm.key", machine.key_channels),
            ("switch", "hbm.switch", machine.switch_channels),
            ("ciphertexts", "hbm.ciphertexts", machine.ciphertext_channels),
        ];
        let mut channels = Vec::new();
        for (name, class, count) in classes_of {
            for index in 0..count {
                channels.push(b.channel(format!("hbm.{name}{index}"), class, machine.channel_bytes));
            }
        }
        let ports = machine.port_widths()[1];
        let global = on_chip(machine.global, ports.0, ports.1);
        Self {
            cores,
            key_buses,
            switch_buses,
            channels,
            hbm: b.memory("hbm", MemoryKind::OffChip),
            global: b.memory("global", global),
            kinds,
            classes,
        }
    }
}
