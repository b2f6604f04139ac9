//! Declares the chip's units, channels, memories, operation kinds and value classes to the engine.

use crate::declared::declared;
use crate::morphling::array::{KEY_HOP, StepCycles};
use crate::morphling::latency;
use crate::morphling::machine::{Morphling, POINT_BYTES};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use polyfabric_sim::function::{BodyUnit, Function, Step};
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Resource, ScheduleBuilder, Traffic, WaitCategory,
};

declared! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Classes, declare(b: &mut ScheduleBuilder) {
        // A coefficient has half the bits of a point, and a polynomial has N/2 points.
        let bits = 8 * COEFFICIENT_BYTES as u32;
        let ciphertexts = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, bits);
        let parts = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, 0);
        Self {
            /// LWE ciphertext of an input.
            input: ClassId = b.value_class("input ciphertext", Traffic::Ciphertexts, true, bits),
            /// LWE ciphertext of any other operation.
            lwe: ClassId = ciphertexts(b, "ciphertext"),
            rotations: ClassId = ciphertexts(b, "rotation amounts"),
            /// One polynomial of an accumulator; `iteration` counts completed iterations.
            accumulator: ClassId = ciphertexts(b, "accumulator"),
            /// Digits of one level.
            digits: ClassId = ciphertexts(b, "digits"),
            /// Transform of the digits.
            spectrum: ClassId = ciphertexts(b, "spectrum"),
            /// Content of a POLY-ACC register.
            sum: ClassId = ciphertexts(b, "transform-domain sum"),
            /// A product in the coefficient domain.
            product: ClassId = ciphertexts(b, "product"),
            /// Sum of a key switch after a tile.
            key_switch_sum: ClassId = ciphertexts(b, "key-switch sum"),
            /// Sum of a linear layer after a block of operands.
            linear_sum: ClassId = ciphertexts(b, "linear sum"),
            /// A stream of vectors through a vector register or the result register of a lane group.
            operands: ClassId = parts(b, "operands in a register"),
            /// Bootstrapping key of one iteration.
            bootstrap_key: ClassId = b.value_class("bootstrapping key", Traffic::BootstrapKey, true, bits),
            /// Tile of the key-switch key.
            key_switch_key: ClassId = b.value_class("key-switch key", Traffic::KeySwitchKey, true, bits),
            table: ClassId = b.value_class("test polynomial", Traffic::Tables, true, bits),
            twiddles: ClassId = b.value_class("twiddle factors", Traffic::Tables, true, 0),
            /// Instruction words of a group.
            words: ClassId = b.value_class("instruction words", Traffic::Instructions, true, 0),
            /// Token that a wave's accumulators are loaded. A rotation is dispatched when all its waves have theirs.
            loaded: ClassId = parts(b, "loaded wave"),
        }
    }
}

/// Channel classes for the bootstrapping key and for all other data.
fn channel_classes(machine: &Morphling) -> (&'static str, &'static str) {
    if machine.shares_channels() { ("hbm", "hbm") } else { ("hbm.key", "hbm.vector") }
}

declared! {
    #[derive(Clone, Debug)]
    pub struct Kinds, declare(b: &mut ScheduleBuilder, machine: &Morphling, steps: &StepCycles) {
        // A unit with L registers writes in cycle L − 1 after its input, so the next unit reads in cycle L.
        let after = |cycles: i64| (cycles - 1).max(0) as u64;
        let path = machine.path();
        let row = path.row_points as f64;
        let merged = if path.merge_split { path.rows_per_fft as f64 } else { 1.0 };
        let back = path.inverse_points as f64;
        let lane = after(latency::vector_lane(machine.depth) as i64);
        let load = after(latency::register_load(machine.depth) as i64);
        let link = after(2 * machine.depth.memory as i64);
        let lanes = machine.lanes as f64;
        let network = machine.network;
        let link_rate = network.link as f64;
        let load_rate = (machine.register_loads * machine.vector_bytes()).min(network.vector_read);
        let (stream, returned) = (machine.stream_points() as f64, machine.return_points() as f64);
        let elements = |bytes: u64| bytes as f64 / COEFFICIENT_BYTES as f64;
        // The network's links multicast the points of a column in parallel.
        let key_points = (machine.columns * network.key) as f64 / POINT_BYTES as f64;
        let columns = machine.columns as u32;
        let points = row * machine.columns as f64;
        let (key_class, vector_class) = channel_classes(machine);
        let (memory, hop) = (machine.memory_latency, (KEY_HOP - 1) as u64);
        let multiply = b.kind_in_parts("multiply-accumulate", "vpe", points, after(steps.multiply), columns);
        Self {
            decompose: KindId =
                b.kind("rotate and decompose", "decomposition", 2.0 * row.min(stream), after(steps.decomposition)),
            forward: KindId =
                b.kind_in_parts("forward transform", "fft", row * merged, after(steps.forward), merged as u32),
            multiply: KindId = b.with_addends(multiply),
            inverse: KindId = b.kind("inverse transform", "ifft", back, after(steps.backward)),
            accumulate: KindId = b.kind("accumulate", "accumulator", 2.0 * back.min(returned), after(steps.accumulate)),
            link_load: KindId = b.kind("load accumulators", "link", link_rate, link),
            link_store: KindId = b.kind("store accumulators", "link", link_rate, link),
            load_operands: KindId = b.kind("load operands", "vrf", elements(load_rate), load),
            return_results: KindId = b.kind("return results", "results", elements(network.vector_write), 0),
            modulus_switch: KindId = b.kind("modulus switch", "lanes", lanes, lane),
            sample_extract: KindId = b.kind("sample extract", "lanes", lanes, lane),
            key_switch: KindId = b.kind("key switch", "lanes", lanes, lane),
            linear: KindId = b.kind("linear", "lanes", lanes, lane),
            transfer: KindId = b.kind("transfer", vector_class, 1.0, memory),
            key: KindId = b.kind("bootstrapping key", key_class, 1.0, memory),
            multicast: KindId = b.kind_in_parts("multicast key", "multicast", key_points, hop, columns),
            load_twiddles: KindId = b.kind("twiddle factors", key_class, 1.0, memory),
            fill_twiddles: KindId = b.kind_in_parts("fill twiddle buffers", "multicast", key_points, hop, columns),
        }
    }
}

impl Kinds {
    fn functions(&self, machine: &Morphling) -> [(KindId, Function); 14] {
        let transform = |step, merged| Function::Body(BodyUnit { steps: step, twiddles: true, merged });
        let coefficients = Function::Move { element_bytes: COEFFICIENT_BYTES };
        let points = Function::Move { element_bytes: POINT_BYTES };
        [
            (self.decompose, Function::body(&[Step::Rotate, Step::Subtract, Step::Digit])),
            (self.forward, transform(&[Step::ForwardTransform], machine.merges)),
            (self.multiply, Function::body(&[Step::Multiply])),
            (self.inverse, transform(&[Step::InverseTransform], false)),
            (self.accumulate, Function::body(&[Step::Add])),
            (self.link_load, Function::Initialise),
            (self.modulus_switch, Function::ModulusSwitch),
            (self.sample_extract, Function::SampleExtract),
            (self.key_switch, Function::KeySwitch),
            (self.linear, Function::Linear),
            (self.multicast, points),
            (self.load_operands, coefficients),
            (self.return_results, coefficients),
            (self.fill_twiddles, points),
        ]
    }
}

declared! {
    #[derive(Clone, Debug)]
    pub struct Chip, declare(b: &mut ScheduleBuilder, machine: &Morphling, steps: &StepCycles) {
        let vpu = |b: &mut ScheduleBuilder, name: String, class: &str| b.unit(name, class, WaitCategory::VectorUnit);
        let (key_class, vector_class) = channel_classes(machine);
        let class_of = |index: u64| if index < machine.key_channels { key_class } else { vector_class };
        let vector = machine.vector_bytes();
        let in_banks = |capacity: u64, banks: u64| MemoryKind::OnChip {
            capacity,
            banks: banks as u32,
            read_bytes_per_cycle: machine.bank_bytes() as f64,
            write_bytes_per_cycle: machine.bank_bytes() as f64,
            dual_port: false,
        };
        // Each bank of Private-A2 reads one column's points; all channels can write to it.
        let private_a2 = MemoryKind::OnChip {
            capacity: machine.private_a2,
            banks: machine.private_a2_banks as u32,
            read_bytes_per_cycle: point_bytes(machine) as f64,
            write_bytes_per_cycle: machine.key_rate().ceil(),
            dual_port: false,
        };
        Self {
            classes: Classes = Classes::declare(b),
            kinds: Kinds = {
                let kinds = Kinds::declare(b, machine, steps);
                kinds.functions(machine).into_iter().for_each(|(kind, function)| _ = b.does(kind, function));
                kinds
            },
            xpus: Vec<Xpu> = (0..machine.xpus).map(|number| Xpu::declare(b, machine, number)).collect(),
            lanes: Vec<Resource> = each_group(b, machine, |b, g| vpu(b, format!("vpu.lanes{g}"), "lanes")),
            /// Loads of each lane group's vector registers.
            loads: Vec<Resource> = each_group(b, machine, |b, g| vpu(b, format!("vpu.vrf{g}.load"), "vrf")),
            /// Transfers of each lane group's results to the banks.
            returns: Vec<Resource> =
                each_group(b, machine, |b, g| vpu(b, format!("vpu.results{g}.return"), "results")),
            /// Multicast of the key from Private-A2.
            multicast: Resource = b.unit("private_a2.multicast", "multicast", WaitCategory::Pipeline),
            channels: Vec<Resource> = (0..machine.channels)
                .map(|index| b.channel(format!("hbm{index}"), class_of(index), machine.channel_bytes))
                .collect(),
            /// Vector register file of each lane group. In each cycle, each lane reads one operand from every register.
            registers: Vec<MemoryId> = each_group(b, machine, |b, g| {
                let bytes = machine.registers * vector;
                b.memory(format!("vpu.vrf{g}"), on_chip(bytes, bytes, machine.register_loads * vector))
            }),
            /// Result register of each lane group.
            results: Vec<MemoryId> =
                each_group(b, machine, |b, g| b.memory(format!("vpu.results{g}"), on_chip(vector, vector, vector))),
            hbm: MemoryId = b.memory("hbm", MemoryKind::OffChip),
            scheduler: MemoryId = b.memory("scheduler", MemoryKind::Scoreboard),
            private_a2: MemoryId = b.memory("private_a2", private_a2),
            private_b: MemoryId = b.memory("private_b", in_banks(machine.private_b, machine.private_b_banks)),
            shared: MemoryId = b.memory("shared", in_banks(machine.shared, machine.shared_banks)),
        }
    }
}

/// One `T` per lane group.
fn each_group<T>(b: &mut ScheduleBuilder, machine: &Morphling, one: impl Fn(&mut ScheduleBuilder, u64) -> T) -> Vec<T> {
    (0..machine.lane_groups).map(|group| one(b, group)).collect()
}

/// A memory of one bank; `read` and `write` are in bytes per cycle.
fn on_chip(capacity: u64, read: u64, write: u64) -> MemoryKind {
    let (read_bytes_per_cycle, write_bytes_per_cycle) = (read as f64, write as f64);
    MemoryKind::OnChip { capacity, banks: 1, read_bytes_per_cycle, write_bytes_per_cycle, dual_port: false }
}

/// Points per cycle of a row's path or inverse transform, whichever is larger.
fn widest(machine: &Morphling) -> u64 {
    let path = machine.path();
    path.row_points.max(path.inverse_points)
}

/// The same in bytes per cycle.
fn point_bytes(machine: &Morphling) -> u64 {
    widest(machine) * POINT_BYTES
}

declared! {
    #[derive(Clone, Debug)]
    pub struct Xpu, declare(b: &mut ScheduleBuilder, machine: &Morphling, number: u64) {
        let unit = |unit: u64| format!("xpu{number}.fft{unit}");
        let ffts = (0..machine.fft_units).map(|u| b.unit(unit(u), "fft", WaitCategory::Pipeline));
        let ffts = ffts.collect::<Vec<Resource>>();
        // Each unit reads every factor once during a polynomial.
        let read = (machine.fft_units + machine.ifft_units) * 2 * point_bytes(machine);
        let buffer = on_chip(machine.largest_ring * POINT_BYTES, read, machine.columns * point_bytes(machine));
        let twiddles = b.memory(format!("xpu{number}.twiddles"), buffer);
        let fft = |row: u64| ffts[(row / machine.path().rows_per_fft) as usize];
        Self {
            rows: Vec<Row> =
                (0..machine.rows).map(|row| Row::declare(b, machine, number, row, fft(row), twiddles)).collect(),
            twiddles: MemoryId = twiddles,
            /// Link to the Shared buffer.
            link: Resource = b.unit(format!("xpu{number}.link"), "link", WaitCategory::Pipeline),
        }
    }
}

declared! {
    #[derive(Clone, Debug)]
    pub struct Row, declare(
        b: &mut ScheduleBuilder, machine: &Morphling, xpu: u64, row: u64, fft: Resource, twiddles: MemoryId
    ) {
        let (path, columns, pipeline) = (machine.path(), machine.columns, WaitCategory::Pipeline);
        let (row_bytes, point_bytes) = (2 * widest(machine) * COEFFICIENT_BYTES, point_bytes(machine));
        let name = |unit: &str| format!("xpu{xpu}.{unit}{row}");
        let skew = if path.merge_split { row } else { row - row % path.rows_per_fft };
        let wire = |bytes: u64, skew: u64| MemoryKind::Wire { bytes_per_cycle: bytes as f64, delay: 1 + skew as u32 };
        // The bank's network links to the row and to the Shared buffer, and one rotation amount per polynomial.
        let read = machine.network.row_read + machine.network.link + COEFFICIENT_BYTES;
        let written = machine.network.row_write + machine.network.link;
        let sums = on_chip(2 * columns * machine.poly_acc, (columns + 1) * point_bytes, columns * point_bytes);
        Self {
            decomposition: Resource = b.unit(name("decomposition"), "decomposition", pipeline),
            fft: Resource = fft,
            vpe: Resource = b.unit(name("vpe_row"), "vpe", pipeline),
            ifft: Resource = b.unit(name("ifft"), "ifft", pipeline),
            accumulator: Resource = b.unit(name("accumulator"), "accumulator", pipeline),
            /// Bank of Private-A1.
            bank: MemoryId = b.memory(name("private_a1.bank"), on_chip(machine.row_bank(), read, written)),
            /// POLY-ACC registers of the row's VPEs.
            poly_acc: MemoryId = b.memory(name("poly_acc"), sums),
            /// Wire from decomposition unit to FFT unit.
            digits: MemoryId = b.memory(name("digits"), wire(row_bytes, 0)),
            /// Wire from FFT unit to VPEs, with the registers of the systolic skew.
            spectrum: MemoryId = b.memory(name("spectrum"), wire(point_bytes, skew)),
            /// Wire from Private-A2 to VPEs, likewise.
            key: MemoryId = b.memory(name("key"), wire(columns * machine.network.key, skew)),
            /// Wire from IFFT unit to Private-A1.
            product: MemoryId = b.memory(name("product"), wire(row_bytes, 0)),
            /// Twiddle buffer of the row's XPU.
            twiddles: MemoryId = twiddles,
        }
    }
}
