//! Declares the machine's units, channels, memories, value classes and operation kinds to the engine.

use super::machine::Osiris;
use super::mod_change::ModChangeUnits;
use super::tasks::{Residue, Tasks};
use super::units::{BaseConversionArray, Direction, HadamardUnit, LimbExtension, NttUnit};
use crate::rns::leaf::Leaf;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    ClassId, KindId, MemoryId, MemoryKind, Mode, OpRef, Resource, ScheduleBuilder, Traffic, Value, WaitCategory,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// The two NTT units of a change of modulus: inverse, then forward.
    pub ntt: [Resource; 2],
    pub array: Resource,
    /// For each Hadamard unit, the half of each cell's multipliers that multiplies digits by keys. The first
    /// unit follows the second NTT unit.
    pub keys: Vec<Resource>,
    /// The other half, for diagonals and all other arithmetic.
    pub diagonals: Vec<Resource>,
    /// Key generators of each Hadamard unit, one per cell.
    pub generators: Vec<Vec<Resource>>,
    pub automorphism: Resource,
    pub channel: Resource,
    pub scratchpad: MemoryId,
    pub off_chip: MemoryId,
    /// From the first NTT unit to the array, to the second NTT unit, to the Hadamard unit.
    pub wires: [MemoryId; 3],
    /// From each generator.
    pub mask_wires: Vec<Vec<MemoryId>>,
    /// To each Hadamard unit from its NTT unit: diagonals extended from one limb.
    pub diagonal_wires: Vec<MemoryId>,
    pub kinds: Kinds,
    classes: Classes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Classes {
    input: ClassId,
    key: ClassId,
    table: ClassId,
    computed: ClassId,
    stream: ClassId,
    carried: ClassId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Kinds {
    /// By number of interleaved limbs, minus one.
    inverse: Vec<KindId>,
    forward: Vec<KindId>,
    /// Limbs extended from one limb, then transformed.
    extension: Vec<KindId>,
    /// By number of source limbs, minus one.
    conversion: Vec<KindId>,
    /// The unit's mode for each kind.
    modes: Vec<Option<Mode>>,
    /// The division at the end of a change of modulus.
    pub division: KindId,
    /// Of digits and key rows.
    pub inner_product: KindId,
    /// Other element-wise arithmetic on one polynomial.
    pub pointwise: KindId,
    /// The same on two polynomials with a common factor.
    pub both: KindId,
    /// Masks of a key's rows.
    pub masks: KindId,
    pub automorphism: KindId,
    pub load: KindId,
    pub store: KindId,
}

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

impl Kinds {
    fn declare(builder: &mut ScheduleBuilder, machine: &Osiris, units: &ModChangeUnits) -> Self {
        let ModChangeUnits { shape, height, depth } = *units;
        let lanes = machine.lanes as f64;
        let mut transforms = |what: &str, direction: Direction, ahead: u64| -> Vec<KindId> {
            let interleaved = 1..=machine.limbs;
            let of = |interleaved| {
                let latency = ahead + NttUnit::latency(shape, interleaved, depth);
                let kind = builder.kind(format!("{what}, {interleaved} limbs interleaved"), "ntt", lanes, latency);
                // The direction and the length of the delays.
                builder.in_mode(kind, Mode((interleaved << 1 | usize::from(direction == Direction::Forward)) as u16))
            };
            interleaved.map(of).collect()
        };
        let inverse = transforms("inverse transform", Direction::Inverse, 0);
        let forward = transforms("transform", Direction::Forward, 0);
        let extension = transforms("limb extension and transform", Direction::Forward, LimbExtension::latency(depth));
        let mut kind = |name: String, class: &str, latency| builder.kind(name, class, lanes, latency);
        let conversion = |alpha| {
            let latency = BaseConversionArray::latency(height, shape.lanes(), alpha, depth);
            kind(format!("base conversion, {alpha} source limbs"), "base_conversion", latency)
        };
        let conversion = (1..=height).map(conversion).collect();
        let key_latency = HadamardUnit::key_latency(machine.hadamard_height, depth);
        let diagonal_latency = HadamardUnit::diagonal_latency(depth);
        let mut kinds = Self {
            inverse,
            forward,
            extension,
            conversion,
            modes: Vec::new(),
            division: kind("division".to_owned(), "hadamard.keys", key_latency),
            inner_product: kind("inner product".to_owned(), "hadamard.keys", key_latency),
            pointwise: kind("pointwise".to_owned(), "hadamard.diagonals", diagonal_latency),
            both: kind("pointwise, two polynomials".to_owned(), "hadamard.diagonals", diagonal_latency),
            masks: kind("masks".to_owned(), "key_generator", machine.generator_latency()),
            automorphism: kind("automorphism".to_owned(), "automorphism", machine.automorphism_latency(shape)),
            load: kind("load".to_owned(), "hbm", machine.memory_latency),
            store: kind("store".to_owned(), "hbm", 0),
        };
        kinds.modes = builder.resources().kinds.iter().map(|kind| kind.mode).collect();
        let sums = |together, terms| Function::Sums { together, terms };
        for (of, function) in [
            (&*kinds.inverse, Function::Compute(&["intt"])),
            (&*kinds.forward, Function::Compute(&["ntt"])),
            (&*kinds.extension, Function::Compute(&["extension"])),
            (&*kinds.conversion, Function::Compute(&["conversion"])),
            (&[kinds.division, kinds.pointwise], sums(1, 2)),
            (&[kinds.both], sums(2, 2)),
            (&[kinds.inner_product], sums(2, machine.hadamard_height)),
            (&[kinds.masks], Function::Compute(&["mask"])),
            (&[kinds.automorphism], Function::Compute(&["aut"])),
        ] {
            of.iter().for_each(|&kind| _ = builder.does(kind, function));
        }
        kinds
    }

    /// The mode that the unit needs for operations of `kind`, if any.
    pub fn mode(&self, kind: KindId) -> Option<Mode> {
        self.modes.get(usize::from(kind.0)).copied().flatten()
    }

    /// Inverse transform, conversion and transform of `alpha` source limbs, with `interleaved` limbs
    /// interleaved.
    pub fn mod_change(&self, alpha: usize, interleaved: usize) -> [KindId; 3] {
        [self.inverse[interleaved - 1], self.conversion[alpha - 1], self.forward[interleaved - 1]]
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

    /// All kinds that are not listed move data.
    pub fn does(&self, kind: KindId) -> Does {
        let among = |kinds: &[KindId]| kinds.first() <= Some(&kind) && Some(&kind) <= kinds.last();
        let single = [
            (self.division, Does::Division),
            (self.inner_product, Does::InnerProduct),
            (self.pointwise, Does::Pointwise),
            (self.both, Does::Both),
            (self.masks, Does::Masks),
            (self.automorphism, Does::Automorphism),
        ];
        let runs = [
            (&self.inverse, Does::Inverse),
            (&self.forward, Does::Forward),
            (&self.extension, Does::Extension),
            (&self.conversion, Does::Conversion),
        ];
        let run = runs.into_iter().find(|(kinds, _)| among(kinds)).map(|(_, does)| does);
        run.or_else(|| single.into_iter().find(|&(own, _)| own == kind).map(|(_, does)| does)).unwrap_or(Does::Move)
    }
}

impl Chip {
    pub fn declare(builder: &mut ScheduleBuilder, machine: &Osiris, units: &ModChangeUnits) -> Self {
        let mut unit = |name: String, class: &str| builder.unit(name, class, WaitCategory::Pipeline);
        let ntt = [0, 1].map(|number| unit(format!("ntt{number}"), "ntt"));
        let array = unit("base_conversion".to_owned(), "base_conversion");
        let mut sides = |what: &str| -> Vec<Resource> {
            let class = format!("hadamard.{what}");
            (0..machine.hadamard_units).map(|side| unit(format!("hadamard{side}.{what}"), &class)).collect()
        };
        let (keys, diagonals) = (sides("keys"), sides("diagonals"));
        let generators = (0..machine.hadamard_units)
            .map(|side| {
                let cells = 0..machine.hadamard_height;
                cells.map(|cell| unit(format!("hadamard{side}.generator{cell}"), "key_generator")).collect()
            })
            .collect();
        let automorphism = unit("automorphism".to_owned(), "automorphism");
        let channel = builder.channel("hbm", "hbm", machine.memory_bytes);
        let tile = machine.tile_bytes();
        let scratchpad = MemoryKind::OnChip {
            capacity: machine.scratchpad,
            banks: 1,
            read_bytes_per_cycle: tile * machine.port_tiles.0 as f64,
            write_bytes_per_cycle: tile * machine.port_tiles.1 as f64,
        };
        let scratchpad = builder.memory("scratchpad", scratchpad);
        let off_chip = builder.memory("hbm", MemoryKind::OffChip);
        let mut wire = |name: String| builder.memory(name, MemoryKind::Wire { bytes_per_cycle: tile, delay: 1 });
        let wires = ["coefficients", "converted", "remainders"].map(|name| wire(name.to_owned()));
        let mask_wires = (0..machine.hadamard_units)
            .map(|side| (0..machine.hadamard_height).map(|cell| wire(format!("masks{side}.{cell}"))).collect())
            .collect();
        let diagonal_wires = (0..machine.hadamard_units).map(|side| wire(format!("diagonals{side}"))).collect();
        let bits = machine.word_bits as u32;
        let classes = Classes {
            input: builder.value_class("input", Traffic::Ciphertexts, true, bits),
            key: builder.value_class("switching key", Traffic::KeySwitchKey, true, bits),
            table: builder.value_class("public polynomial", Traffic::Tables, true, bits),
            computed: builder.value_class("polynomial", Traffic::Ciphertexts, false, bits),
            stream: builder.value_class("stream", Traffic::Ciphertexts, false, bits),
            carried: builder.value_class("polynomial between rounds", Traffic::Ciphertexts, false, bits),
        };
        let kinds = Kinds::declare(builder, machine, units);
        Self {
            ntt,
            array,
            keys,
            diagonals,
            generators,
            automorphism,
            channel,
            scratchpad,
            off_chip,
            wires,
            mask_wires,
            diagonal_wires,
            kinds,
            classes,
        }
    }

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

    /// The cell of the key generator that executes `op`, if any.
    pub fn cell(&self, op: OpRef) -> Option<usize> {
        (op.kind == self.kinds.masks).then_some(op.iteration as usize)
    }
}
