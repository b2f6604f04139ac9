//! The chip's units, channels, memories, operation kinds and value classes, as the engine's resources.

use super::super::cluster::KEY_HOP;
use super::super::hardware::link_latency;
use super::super::machine::{Pipeline, StepCycles};
use crate::engine::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Resource, ScheduleBuilder, Traffic, WaitCategory,
};
use crate::torus::sizes::COEFFICIENT_BYTES;
use polyfabric_schemes::tfhe::Parameters;

/// One streaming core.
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
    /// The decomposer's buffer: what its next levels are taken from.
    pub rotated: MemoryId,
    /// The accumulators' buffers.
    pub sums: MemoryId,
    /// Decomposer to FFT.
    pub digits: MemoryId,
    /// FFT to multipliers.
    pub spectrum: MemoryId,
    /// Global scratchpad to multipliers.
    pub key: MemoryId,
    /// Adder trees to IFFT.
    pub sum: MemoryId,
    /// IFFT to accumulators.
    pub product: MemoryId,
    /// Global scratchpad to the key-switch cluster.
    pub tile: MemoryId,
}

/// Operation kinds.
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

/// Value classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// LWE ciphertext of an input: `index` is its operation, `ciphertext` its element.
    pub input: ClassId,
    /// LWE ciphertext of any other operation.
    pub lwe: ClassId,
    /// Rotation amounts of a ciphertext.
    pub rotations: ClassId,
    /// One polynomial of an accumulator: `iteration` counts completed iterations.
    pub accumulator: ClassId,
    /// A rotated polynomial minus itself.
    pub rotated: ClassId,
    /// Digits of a step.
    pub digits: ClassId,
    /// Their transforms.
    pub spectrum: ClassId,
    /// Sums of a step, in the transform domain.
    pub sum: ClassId,
    /// The same back in coefficients.
    pub product: ClassId,
    /// Sum of a column over steps.
    pub partial: ClassId,
    /// Sum of a key switch: `iteration` counts its tiles.
    pub switch_sum: ClassId,
    /// Sum of a linear layer: `iteration` counts its passes.
    pub linear_sum: ClassId,
    /// Bootstrapping key of one step of an iteration.
    pub bootstrap_key: ClassId,
    /// Tile of the key-switch key: `iteration` is its number.
    pub switch_key: ClassId,
    /// Test polynomial.
    pub table: ClassId,
    /// Operands of a pass of a linear layer, side by side: `iteration` is its number.
    pub operands: ClassId,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Chip {
    pub cores: Vec<Core>,
    /// Multicast of the bootstrapping key.
    pub key_bus: Resource,
    /// Multicast of the key-switch key and of operands.
    pub switch_bus: Resource,
    /// Memory channels: the bootstrapping key's, the key-switch key's, the others'.
    pub channels: Vec<Resource>,
    pub hbm: MemoryId,
    pub global: MemoryId,
    pub kinds: Kinds,
    pub classes: Classes,
}

impl Classes {
    fn declare(b: &mut ScheduleBuilder) -> Self {
        let ciphertexts = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false);
        Self {
            input: b.value_class("input ciphertext", Traffic::Ciphertexts, true),
            lwe: ciphertexts(b, "ciphertext"),
            rotations: ciphertexts(b, "rotation amounts"),
            accumulator: ciphertexts(b, "accumulator"),
            rotated: ciphertexts(b, "rotated difference"),
            digits: ciphertexts(b, "digits"),
            spectrum: ciphertexts(b, "spectra"),
            sum: ciphertexts(b, "transform-domain sums"),
            product: ciphertexts(b, "products"),
            partial: ciphertexts(b, "coefficient-domain sum"),
            switch_sum: ciphertexts(b, "key-switch sum"),
            linear_sum: ciphertexts(b, "linear sum"),
            bootstrap_key: b.value_class("bootstrapping key", Traffic::BootstrapKey, true),
            switch_key: b.value_class("key-switch key", Traffic::KeySwitchKey, true),
            table: b.value_class("test polynomial", Traffic::Tables, true),
            operands: ciphertexts(b, "operands"),
        }
    }
}

impl Kinds {
    /// An output that leaves a unit of L registers lands in cycle L - 1 after its input: the next unit reads it in cycle L.
    fn declare(b: &mut ScheduleBuilder, machine: &Pipeline, steps: &StepCycles, polynomials: u64) -> Self {
        let after = |cycles: i64| (cycles - 1).max(0) as u64;
        let coefficients = machine.coefficient_lanes() as f64;
        let (rows, columns) = (machine.rows as u32, machine.columns as u32);
        let (by_row, by_column) = (coefficients * f64::from(rows), coefficients * f64::from(columns));
        let points = machine.folded_lanes();
        let products = rows * columns;
        // Its decomposer's lanes, and its multipliers.
        let cluster = (machine.switch_lanes * (1 + machine.switch_columns)) as f64;
        let link = link_latency(machine) as u64;
        let rate = machine.link as f64;
        let memory = machine.memory_latency;
        let switch = after(steps.switch);
        Self {
            rotate: b.kind_in_parts("rotate and subtract", "rotator", by_row, after(steps.rotate), rows),
            decompose: b.kind_in_parts("decompose", "decomposer", by_row, after(steps.decompose), rows),
            forward: b.kind_in_parts("forward transform", "fft", points * f64::from(rows), after(steps.forward), rows),
            multiply: b.kind_in_parts(
                "multiply and add",
                "vma",
                points * f64::from(products),
                after(steps.multiply),
                products,
            ),
            inverse: b.kind_in_parts(
                "inverse transform",
                "ifft",
                points * f64::from(columns),
                after(steps.backward),
                columns,
            ),
            accumulate: b.kind_in_parts("accumulate", "accumulator", by_column, after(steps.accumulate), columns),
            extract: b.kind("sample extract", "extractor", by_column, 1),
            key_switch: b.kind("key switch", "key_switch", cluster, switch),
            linear: b.kind("linear", "key_switch", cluster, switch),
            modulus_switch: b.kind("modulus switch", "link.in", rate / COEFFICIENT_BYTES as f64, link),
            // One polynomial comes, and all of the accumulator are set.
            load_accumulators: b.kind("load accumulators", "link.in", rate * polynomials as f64, link),
            admit: b.kind("load ciphertext", "link.in", rate, link),
            send: b.kind("store ciphertext", "link.out", rate, link),
            transfer: b.kind("transfer", "hbm.ciphertexts", 1.0, memory),
            key: b.kind("bootstrapping key", "hbm.key", 1.0, memory),
            switch_key: b.kind("key-switch key", "hbm.switch", 1.0, memory),
            multicast: b.kind("multicast key", "key_bus", machine.key_bus as f64, (KEY_HOP - 1) as u64),
            multicast_switch: b.kind("multicast tile", "switch_bus", machine.switch_bus as f64, (KEY_HOP - 1) as u64),
        }
    }
}

impl Chip {
    /// Declares `machine` for programs with `parameters`.
    pub fn declare(b: &mut ScheduleBuilder, machine: &Pipeline, parameters: &Parameters) -> Self {
        let steps = &machine.steps(parameters);
        let polynomials = machine.sizes(parameters).polynomials;
        let classes = Classes::declare(b);
        let kinds = Kinds::declare(b, machine, steps, polynomials);
        let pipeline = WaitCategory::Pipeline;
        let coefficients = machine.coefficient_lanes() * COEFFICIENT_BYTES;
        let (by_row, by_column) = (machine.rows * coefficients, machine.columns * coefficients);
        let point = machine.lanes * machine.point_bytes;
        let onchip = |capacity: u64, read: u64, write: u64| MemoryKind::OnChip {
            capacity,
            banks: 1,
            read_bytes_per_cycle: read as f64,
            write_bytes_per_cycle: write as f64,
        };
        let wire = |bytes: u64| MemoryKind::Wire { bytes_per_cycle: bytes as f64, delay: 1 };
        let polynomial = machine.largest_ring * COEFFICIENT_BYTES;
        let cluster = (machine.switch_lanes + machine.switch_columns) * COEFFICIENT_BYTES;
        let mut cores = Vec::new();
        for c in 0..machine.cores {
            let name = |unit: &str| format!("core{c}.{unit}");
            cores.push(Core {
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
                // The rotator's two pointers with a rotation amount each, the old accumulator, the extractor, the key-switch
                // cluster, the links. All polynomials of an accumulator are set while one comes over the link.
                local: b.memory(
                    name("local"),
                    onchip(
                        machine.local,
                        2 * by_row + machine.rows * COEFFICIENT_BYTES + 2 * by_column + cluster + 2 * machine.link,
                        2 * by_column + cluster + machine.columns * machine.link,
                    ),
                ),
                rotated: b.memory(name("decomposer.buffer"), onchip(machine.rows * polynomial, by_row, by_row)),
                sums: b.memory(name("accumulator.buffer"), onchip(machine.columns * polynomial, by_column, by_column)),
                digits: b.memory(name("digits"), wire(by_row)),
                spectrum: b.memory(name("spectrum"), wire(machine.rows * point)),
                key: b.memory(name("key"), wire(machine.rows * machine.columns * point)),
                sum: b.memory(name("sum"), wire(machine.columns * point)),
                product: b.memory(name("product"), wire(by_column)),
                tile: b.memory(name("tile"), wire(machine.switch_bus)),
            });
        }
        let key_bus = b.unit("global.key_bus", "key_bus", pipeline);
        let switch_bus = b.unit("global.switch_bus", "switch_bus", pipeline);
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
        let transfers = (machine.channel_bytes * channels.len() as f64).ceil() as u64;
        let links = machine.cores * machine.link;
        let global =
            onchip(machine.global, machine.key_bus + machine.switch_bus + links + transfers, links + transfers);
        Self {
            cores,
            key_bus,
            switch_bus,
            channels,
            hbm: b.memory("hbm", MemoryKind::OffChip),
            global: b.memory("global", global),
            kinds,
            classes,
        }
    }
}
