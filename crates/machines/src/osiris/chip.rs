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
                // The direction, and the length of the delays unless it changes behind a stream's last element. Then a stream of fewer
                // limbs must not overtake: no operation of a mode leaves before an earlier one.
                let delays = if machine.delays_in_turn { 0 } else { interleaved };
                b.in_mode(kind, Mode((delays << 1 | usize::from(direction == Direction::Forward)) as u16))
            };
            (1..=machine.limbs).map(of).collect()
        };
        let conversions = |b: &mut ScheduleBuilder, alpha: usize| {
            let latency = BaseConversionArray::latency(height, shape.lanes(), alpha, depth);
            let kind = b.kind(format!("base conversion, {alpha} source limbs"), "base_conversion", lanes, latency);
            // One mode, in which no block overtakes another: the array's last column would get both at once.
            b.in_mode(kind, Mode(0))
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
        let sums = |together, terms, products| Function::Sums { together, terms, products };
        for (kinds, does, name) in [
            (&self.inverse, Does::Inverse, "intt"),
            (&self.forward, Does::Forward, "ntt"),
            (&self.extension, Does::Extension, "extension"),
        ] {
            for (limbs, &kind) in (1..).zip(kinds) {
                b.does(kind, Function::Interleaved { name, limbs });
                self.does[usize::from(kind.0)] = does;
            }
        }
        for (sources, &kind) in (1..).zip(&self.conversion) {
            b.does(kind, Function::Conversion { sources });
            self.does[usize::from(kind.0)] = Does::Conversion;
        }
        // Keys' masks are drawn in an order of their own, and a rotation exchanges tiles.
        b.shuffles(self.inner_product, [true; 2]);
        b.shuffles(self.automorphism, [false, true]);
        for (kinds, does, function) in [
            (vec![self.division], Does::Division, sums(1, 2, 0)),
            (vec![self.pointwise], Does::Pointwise, sums(1, 2, 1)),
            (vec![self.both], Does::Both, sums(2, 2, 1)),
            (vec![self.inner_product], Does::InnerProduct, sums(2, machine.hadamard_height, machine.hadamard_height)),
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
        }
    }
}

declared! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct Chip, declare(b: &mut ScheduleBuilder, machine: &Osiris, units: &ModChangeUnits) {
        let unit = |b: &mut ScheduleBuilder, name: &str, class: &str| b.unit(name, class, WaitCategory::Pipeline);
        let of_group = |group: usize| if machine.groups == 1 { String::new() } else { format!("group{group}.") };
        // Hadamard units are numbered through all groups.
        let of_side = |side: usize| (of_group(side / machine.hadamard_units), side % machine.hadamard_units);
        let all_sides = || 0..machine.groups * machine.hadamard_units;
        let sides = |b: &mut ScheduleBuilder, what: &str| -> Vec<Resource> {
            let class = format!("hadamard.{what}");
            let one = |side| {
                let (group, side) = of_side(side);
                unit(b, &format!("{group}hadamard{side}.{what}"), &class)
            };
            all_sides().map(one).collect()
        };
        let groups = |b: &mut ScheduleBuilder, name: &str, class: &str| -> Vec<Resource> {
            (0..machine.groups).map(|group| unit(b, &format!("{}{name}", of_group(group)), class)).collect()
        };
        let tile = machine.tile_bytes();
        // Between two units of a group.
        let wire = |b: &mut ScheduleBuilder, group: &str, name: &str, from: &str, to: &str| {
            let memory = b.memory(format!("{group}{name}"), MemoryKind::Wire { bytes_per_cycle: tile, delay: 1 });
            let [from, to] = [from, to].map(|unit| b.named(&format!("{group}{unit}")));
            b.connects(memory, from, to)
        };
        let scratchpads = MemoryKind::OnChip {
            capacity: machine.scratchpad,
            banks: 1,
            read_bytes_per_cycle: tile * machine.port_tiles.0 as f64,
            write_bytes_per_cycle: tile * machine.port_tiles.1 as f64,
            dual_port: false,
        };
        let cells = || all_sides().map(|side| (of_side(side), 0..machine.hadamard_height));
        Self {
            /// The two NTT units of a group: inverse, then forward.
            ntt: Vec<[Resource; 2]> = (0..machine.groups)
                .map(|group| ["ntt0", "ntt1"].map(|name| unit(b, &format!("{}{name}", of_group(group)), "ntt")))
                .collect(),
            /// By group.
            array: Vec<Resource> = groups(b, "base_conversion", "base_conversion"),
            /// For each Hadamard unit, the half of each cell's multipliers that multiplies digits by keys. The first
            /// unit of a group follows its second NTT unit.
            keys: Vec<Resource> = sides(b, "keys"),
            /// The other half, for diagonals and all other arithmetic.
            diagonals: Vec<Resource> = sides(b, "diagonals"),
            /// Key generators of each Hadamard unit, one per cell.
            generators: Vec<Vec<Resource>> = cells()
                .map(|((group, side), cells)| {
                    let one = |cell| unit(b, &format!("{group}hadamard{side}.generator{cell}"), "key_generator");
                    cells.map(one).collect()
                })
                .collect(),
            /// By group.
            automorphism: Vec<Resource> = groups(b, "automorphism", "automorphism"),
            channel: Resource = b.channel("hbm", "hbm", machine.memory_bytes),
            scratchpad: MemoryId = b.memory("scratchpad", scratchpads),
            off_chip: MemoryId = b.memory("hbm", MemoryKind::OffChip),
            /// Of each group, from the first NTT unit to the array, to the second NTT unit, to the Hadamard unit.
            wires: Vec<[MemoryId; 3]> = (0..machine.groups)
                .map(|group| {
                    let ends = [
                        ("coefficients", "ntt0", "base_conversion"),
                        ("converted", "base_conversion", "ntt1"),
                        ("remainders", "ntt1", "hadamard0.keys"),
                    ];
                    ends.map(|(name, from, to)| wire(b, &of_group(group), name, from, to))
                })
                .collect(),
            /// From each generator.
            mask_wires: Vec<Vec<MemoryId>> = cells()
                .map(|((group, side), cells)| {
                    let one = |cell| {
                        let (from, to) = (format!("hadamard{side}.generator{cell}"), format!("hadamard{side}.keys"));
                        wire(b, &group, &format!("masks{side}.{cell}"), &from, &to)
                    };
                    cells.map(one).collect()
                })
                .collect(),
            /// To each Hadamard unit from its NTT unit: diagonals extended from one limb.
            diagonal_wires: Vec<MemoryId> = all_sides()
                .map(|side| {
                    let (group, side) = of_side(side);
                    let (from, to) = (format!("ntt{}", 1 - side), format!("hadamard{side}.diagonals"));
                    wire(b, &group, &format!("diagonals{side}"), &from, &to)
                })
                .collect(),
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

    /// The value of a stream on a wire.
    pub fn stream(&self, number: u32) -> Value {
        Value { class: self.classes.stream, ciphertext: Value::NONE, iteration: Value::NONE, index: number }
    }
}
