//! Declares the machine's units, channels, memories, value classes and operation kinds to the engine.

use super::machine::Osiris;
use super::tasks::{Residue, Tasks};
use super::units::{BaseConversionArray, Direction, HadamardUnit, LimbExtension, ModChangeUnits, NttUnit};
use crate::declared::declared;
use crate::rns::leaf::Leaf;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Mode, Resource, ScheduleBuilder, Traffic, Value, WaitCategory,
};

/// The operation of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Values to coefficients.
    Inverse,
    /// Coefficients to values.
    Forward,
    /// Coefficients of one limb to values of others.
    Extension,
    Conversion,
    /// The division at the end of a change of modulus.
    Division,
    InnerProduct,
    /// Other element-wise arithmetic on one polynomial.
    Pointwise,
    /// The same on two polynomials with a common factor.
    Both,
    Masks,
    Automorphism,
    Move,
}

declared! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct Kinds, declare(b: &mut ScheduleBuilder, machine: &Osiris, units: &ModChangeUnits) {
        let ModChangeUnits { shape, height, depth } = *units;
        let lanes = machine.lanes as f64;
        let transforms = |b: &mut ScheduleBuilder, what: &str, direction: Direction, ahead: u64| -> Vec<KindId> {
            let of = |interleaved| {
                let latency = ahead + NttUnit::latency(shape, interleaved, depth);
                let kind = b.kind(format!("{what}, {interleaved} limbs interleaved"), "ntt", lanes, latency);
                // The direction and the length of the delays.
                b.in_mode(kind, Mode((interleaved << 1 | usize::from(direction == Direction::Forward)) as u16))
            };
            (1..=machine.limbs).map(of).collect()
        };
        let conversions = |b: &mut ScheduleBuilder, alpha: usize| {
            let latency = BaseConversionArray::latency(height, shape.lanes(), alpha, depth);
            b.kind(format!("base conversion, {alpha} source limbs"), "base_conversion", lanes, latency)
        };
        let key_latency = HadamardUnit::key_latency(machine.hadamard_height, depth);
        let diagonal_latency = HadamardUnit::diagonal_latency(depth);
        Self {
            /// By number of interleaved limbs, minus one.
            inverse: Vec<KindId> = transforms(b, "inverse transform", Direction::Inverse, 0),
            forward: Vec<KindId> = transforms(b, "transform", Direction::Forward, 0),
            /// Limbs extended from one limb, then transformed.
            extension: Vec<KindId> =
                transforms(b, "limb extension and transform", Direction::Forward, LimbExtension::latency(depth)),
            /// By number of source limbs, minus one.
            conversion: Vec<KindId> = (1..=height).map(|alpha| conversions(b, alpha)).collect(),
            /// The division at the end of a change of modulus.
            division: KindId = b.kind("division", "hadamard.keys", lanes, key_latency),
            /// Of digits and key rows.
            inner_product: KindId = b.kind("inner product", "hadamard.keys", lanes, key_latency),
            /// Other element-wise arithmetic on one polynomial.
            pointwise: KindId = b.kind("pointwise", "hadamard.diagonals", lanes, diagonal_latency),
            /// The same on two polynomials with a common factor.
            both: KindId = b.kind("pointwise, two polynomials", "hadamard.diagonals", lanes, diagonal_latency),
            /// Masks of a key's rows.
            masks: KindId = b.kind("masks", "key_generator", lanes, machine.generator_latency()),
            automorphism: KindId = b.kind("automorphism", "automorphism", lanes, machine.automorphism_latency(shape)),
            load: KindId = b.kind("load", "hbm", lanes, machine.memory_latency),
            store: KindId = b.kind("store", "hbm", lanes, 0),
            /// The unit's mode for each kind.
            modes: Vec<Option<Mode>> = b.resources().kinds.iter().map(|kind| kind.mode).collect(),
            /// The operation of each kind.
            does: Vec<Does> = vec![Does::Move; b.resources().kinds.len()],
        }
    }
}

impl Kinds {
    /// With the computation of each kind.
    fn with_functions(mut self, b: &mut ScheduleBuilder, machine: &Osiris) -> Self {
        let sums = |together, terms| Function::Sums { together, terms };
        for (kinds, does, function) in [
            (self.inverse.clone(), Does::Inverse, Function::Compute(&["intt"])),
            (self.forward.clone(), Does::Forward, Function::Compute(&["ntt"])),
            (self.extension.clone(), Does::Extension, Function::Compute(&["extension"])),
            (self.conversion.clone(), Does::Conversion, Function::Compute(&["conversion"])),
            (vec![self.division], Does::Division, sums(1, 2)),
            (vec![self.pointwise], Does::Pointwise, sums(1, 2)),
            (vec![self.both], Does::Both, sums(2, 2)),
            (vec![self.inner_product], Does::InnerProduct, sums(2, machine.hadamard_height)),
            (vec![self.masks], Does::Masks, Function::Compute(&["mask"])),
            (vec![self.automorphism], Does::Automorphism, Function::Compute(&["aut"])),
        ] {
            for kind in kinds {
                b.does(kind, function);
                self.does[usize::from(kind.0)] = does;
            }
        }
        self
    }

    /// The mode that the unit needs for operations of `kind`, if any.
    pub fn mode(&self, kind: KindId) -> Option<Mode> {
        self.modes.get(usize::from(kind.0)).copied().flatten()
    }

    pub fn inverse(&self, interleaved: usize) -> KindId {
        self.inverse[interleaved - 1]
    }

    pub fn conversion(&self, alpha: usize) -> KindId {
        self.conversion[alpha - 1]
    }

    pub fn transform(&self, interleaved: usize) -> KindId {
        self.forward[interleaved - 1]
    }

    /// Transform of `interleaved` limbs that are extended from one limb.
    pub fn extension(&self, interleaved: usize) -> KindId {
        self.extension[interleaved - 1]
    }

    pub fn does(&self, kind: KindId) -> Does {
        self.does.get(usize::from(kind.0)).copied().unwrap_or(Does::Move)
    }
}

declared! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Classes, declare(b: &mut ScheduleBuilder, bits: u32) {
        let computed = |b: &mut ScheduleBuilder, name| b.value_class(name, Traffic::Ciphertexts, false, bits);
        Self {
            input: ClassId = b.value_class("input", Traffic::Ciphertexts, true, bits),
            key: ClassId = b.value_class("switching key", Traffic::KeySwitchKey, true, bits),
            table: ClassId = b.value_class("public polynomial", Traffic::Tables, true, bits),
            computed: ClassId = computed(b, "polynomial"),
            stream: ClassId = computed(b, "stream"),
            carried: ClassId = computed(b, "polynomial between rounds"),
        }
    }
}

declared! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct Chip, declare(b: &mut ScheduleBuilder, machine: &Osiris, units: &ModChangeUnits) {
        let unit = |b: &mut ScheduleBuilder, name: &str, class: &str| b.unit(name, class, WaitCategory::Pipeline);
        let sides = |b: &mut ScheduleBuilder, what: &str| -> Vec<Resource> {
            let class = format!("hadamard.{what}");
            (0..machine.hadamard_units).map(|side| unit(b, &format!("hadamard{side}.{what}"), &class)).collect()
        };
        let tile = machine.tile_bytes();
        let wire = |b: &mut ScheduleBuilder, name: &str| {
            b.memory(name, MemoryKind::Wire { bytes_per_cycle: tile, delay: 1 })
        };
        let scratchpads = MemoryKind::OnChip {
            capacity: machine.scratchpad,
            banks: 1,
            read_bytes_per_cycle: tile * machine.port_tiles.0 as f64,
            write_bytes_per_cycle: tile * machine.port_tiles.1 as f64,
            dual_port: false,
        };
        let cells = || (0..machine.hadamard_units).map(|side| (side, 0..machine.hadamard_height));
        Self {
            /// The two NTT units of a change of modulus: inverse, then forward.
            ntt: [Resource; 2] = ["ntt0", "ntt1"].map(|name| unit(b, name, "ntt")),
            array: Resource = unit(b, "base_conversion", "base_conversion"),
            /// For each Hadamard unit, the half of each cell's multipliers that multiplies digits by keys. The first
            /// unit follows the second NTT unit.
            keys: Vec<Resource> = sides(b, "keys"),
            /// The other half, for diagonals and all other arithmetic.
            diagonals: Vec<Resource> = sides(b, "diagonals"),
            /// Key generators of each Hadamard unit, one per cell.
            generators: Vec<Vec<Resource>> = cells()
                .map(|(side, cells)| {
                    cells.map(|cell| unit(b, &format!("hadamard{side}.generator{cell}"), "key_generator")).collect()
                })
                .collect(),
            automorphism: Resource = unit(b, "automorphism", "automorphism"),
            channel: Resource = b.channel("hbm", "hbm", machine.memory_bytes),
            scratchpad: MemoryId = b.memory("scratchpad", scratchpads),
            off_chip: MemoryId = b.memory("hbm", MemoryKind::OffChip),
            /// From the first NTT unit to the array, to the second NTT unit, to the Hadamard unit.
            wires: [MemoryId; 3] = ["coefficients", "converted", "remainders"].map(|name| wire(b, name)),
            /// From each generator.
            mask_wires: Vec<Vec<MemoryId>> = cells()
                .map(|(side, cells)| cells.map(|cell| wire(b, &format!("masks{side}.{cell}"))).collect())
                .collect(),
            /// To each Hadamard unit from its NTT unit: diagonals extended from one limb.
            diagonal_wires: Vec<MemoryId> =
                (0..machine.hadamard_units).map(|side| wire(b, &format!("diagonals{side}"))).collect(),
            kinds: Kinds = Kinds::declare(b, machine, units).with_functions(b, machine),
            classes: Classes = Classes::declare(b, machine.word_bits as u32),
        }
    }
}

impl Chip {
    /// The value of a limb in the schedule.
    pub fn value(&self, tasks: &Tasks, residue: Residue) -> Value {
        let class = match tasks.leaves[residue.0 as usize] {
            Some(Leaf::Input { .. }) => self.classes.input,
            Some(Leaf::Plaintext { .. }) => self.classes.table,
            Some(Leaf::Hint { .. }) => self.classes.key,
            None => self.classes.computed,
        };
        Value { class, ciphertext: Value::NONE, iteration: Value::NONE, index: residue.0 }
    }

    /// The value of limb `index` that one round passes to the next, as the producing or (if `given`) the
    /// consuming round labels it.
    pub fn carried(&self, index: u32, given: bool) -> Value {
        let ciphertext = u32::from(given);
        Value { class: self.classes.carried, ciphertext, iteration: Value::NONE, index }
    }

    /// The value of limb `index` of the program's inputs.
    pub fn input(&self, index: u32) -> Value {
        Value { class: self.classes.input, ciphertext: Value::NONE, iteration: Value::NONE, index }
    }

    /// The value of limb `index` among the keys that all rounds share.
    pub fn shared_key(&self, index: u32) -> Value {
        Value { class: self.classes.key, ciphertext: Value::NONE, iteration: Value::NONE, index }
    }

    /// The value of a stream on a wire.
    pub fn stream(&self, number: u32) -> Value {
        Value { class: self.classes.stream, ciphertext: Value::NONE, iteration: Value::NONE, index: number }
    }

    /// The inverse of [`Self::stream`].
    pub fn stream_number(&self, value: Value) -> Option<usize> {
        (value.class == self.classes.stream).then_some(value.index as usize)
    }
}
