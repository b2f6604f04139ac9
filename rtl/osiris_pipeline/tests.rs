//! Does the pipeline compute key switches and rotations that Osiris' mapper scheduled, in the cycles of the schedule, equal to the interpreter word by word?

use crate::base_conversion::montgomery;
use crate::benes::crosses;
use crate::mod_change::{Commands, Mapped, WIDTH, bits_of, osiris, random_inputs, ring};
use crate::montgomery_multiplier::negated_inverse;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_machines::osiris::machine::Osiris;
use polyfabric_machines::osiris::tasks::{Half, Kernel, Pointwise};
use polyfabric_machines::osiris::units::{KeyGenerator, Routing};
use polyfabric_machines::registry;
use polyfabric_machines::rns::leaf::Leaf;
use polyfabric_program::rns::kernel::{Conversion, KernelBuilder, KernelProgram, LimbSet, ValueId, ValueType};
use polyfabric_rtl::{Bits, Reader, Simulation};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{
    Gadget, GadgetLiteral, KeyId, KeyMaker, KeySet, LimbId, NoiseDistribution, Ring, RnsPolynomial, SecretKey,
};
use polyfabric_sim::schedule::{Access, Event, Resource};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Cycles by which reads and writes of the scratchpads are told ahead.
const READ_AHEAD: i64 = 2;
const WRITE_AHEAD: i64 = 1;
/// The first commands of a schedule that starts in cycle 0 come as many cycles earlier, and all filling before them.
const BEFORE: i64 = 8;

/// Limbs through a port, interleaved: number, and places by position.
#[derive(Clone, Debug, Default)]
struct Stream {
    slots: usize,
    limbs: usize,
    places: Vec<u64>,
}

/// What a Hadamard unit multiplies.
#[derive(Clone, Debug, Default)]
struct Multiply {
    stream: Stream,
    divides: bool,
    terms: usize,
    entry: usize,
}

/// Limbs that a Hadamard unit adds.
#[derive(Clone, Debug, Default)]
struct Sum {
    stream: Stream,
    entry: usize,
    /// Of the other addends.
    others: Vec<u64>,
}

/// A limb of a key generator.
#[derive(Clone, Debug)]
struct Seed {
    generator: usize,
    seed: [u8; 32],
    number: u64,
    limb: LimbId,
}

/// What the pipeline is told in a cycle.
#[derive(Clone, Debug, Default)]
struct Cycle {
    change: Commands,
    entry: Option<(usize, [u64; 4])>,
    feed: Option<Stream>,
    keep: Option<Stream>,
    multiply: BTreeMap<usize, Multiply>,
    /// And whether these are quotients.
    result: BTreeMap<usize, (Stream, bool)>,
    add: BTreeMap<usize, Sum>,
    sum: BTreeMap<usize, Stream>,
    /// Of the automorphism's network: column, tile, switches.
    settings: Option<(usize, usize, Vec<bool>)>,
    /// To and from the automorphism unit.
    moves: Option<u64>,
    moved: Option<u64>,
    seed: Option<Seed>,
    /// Place, number, words.
    load: Option<(u64, usize, Vec<u64>)>,
    store: Option<(u64, usize)>,
}

/// A run's outputs.
struct Found {
    lost: bool,
    /// Cycles in which two units access a place.
    clashes: usize,
    /// By cycle.
    stored: BTreeMap<i64, Vec<u64>>,
}

/// A key switch, or a rotation with one, with keys and inputs.
struct Switch {
    mapped: Mapped,
    rotation: Option<GaloisElement>,
    keys: KeySet,
    inputs: Vec<RnsPolynomial>,
    /// By residue, in the order of the units.
    outputs: BTreeMap<u32, Vec<u64>>,
}

impl Switch {
    /// With slots rotated by `steps`, if it is not 0.
    fn new(machine: Osiris, log2: u32, (limbs, digit): (usize, usize), steps: i64) -> Self {
        let ring = ring(log2, limbs + digit);
        let mut literal = GadgetLiteral::hybrid(limbs, digit, digit);
        if limbs == 1 {
            // The first prime is the longer one.
            std::mem::swap(&mut literal.digits[0], &mut literal.special);
        }
        let gadget = Gadget::new(&ring, literal).expect("a gadget");
        let rotation = (steps != 0).then(|| GaloisElement::rotation(ring.degree(), steps));
        let program = key_switch(&ring, &gadget, rotation);
        let secret: Vec<i8> = (0..1 << log2).map(|place| [1, 0, -1][place % 3]).collect();
        let secret = SecretKey::from_coefficients(ring.degree(), secret).expect("a secret");
        let noise = NoiseDistribution::new(3.2, 1);
        let maker = KeyMaker { ring: &ring, secret: &secret, sparse: None, noise: &noise };
        let mut keys = KeySet::new(ring.clone());
        keys.insert(maker.for_tests(key(rotation), &Arc::new(gadget), 5).expect("a key"));
        let inputs = random_inputs(&ring, &program);
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &given, &NoProgress).expect("it runs");
        let mapped = Mapped::new(machine, program);
        let mut outputs = BTreeMap::new();
        for (limbs, polynomial) in mapped.scheduled.tasks.outputs.iter().zip(&expected) {
            for &(limb, residue) in limbs {
                let position = polynomial.position(limb).expect("a limb");
                outputs.insert(residue.0, mapped.streamed(polynomial.limb(position)));
            }
        }
        Self { mapped, rotation, keys, inputs, outputs }
    }

    fn limb_bytes(&self) -> u64 {
        self.mapped.machine.limb_bytes(self.mapped.program.degree)
    }

    fn place(&self, access: &Access) -> u64 {
        access.place.offset / self.limb_bytes()
    }

    /// Places that the schedule uses.
    fn places(&self) -> u64 {
        let (events, scratchpad) = (self.mapped.events(), self.mapped.scheduled.chip.scratchpad);
        let accesses = events.iter().flat_map(|event| event.reads.iter().chain(&event.writes));
        let own = accesses.filter(|access| access.place.memory == scratchpad);
        own.map(|access| self.place(access) + 1).max().expect("places")
    }

    /// Number of the first constants of a conversion's targets. Those of single moduli come first.
    fn entry(&self, conversion: usize) -> usize {
        let before = self.mapped.conversions[..conversion].iter().map(|converts| converts.targets.len());
        self.mapped.tables() + before.sum::<usize>()
    }

    fn entries(&self) -> Vec<[u64; 4]> {
        let mapped = &self.mapped;
        let head = |q: u64| [q, negated_inverse(q, WIDTH)];
        let moduli = mapped.program.moduli.iter().map(|modulus| {
            let [q, inverse] = head(modulus.value());
            [q, inverse, montgomery(*modulus).enter(1), 0]
        });
        let quotients = mapped.conversions.iter().flat_map(|converts| {
            converts.targets.iter().map(|&limb| {
                let (q, own) = (mapped.program.modulus(limb), montgomery(mapped.program.modulus(limb)));
                let dropped = converts.sources.iter().map(|&limb| q.reduce(mapped.program.modulus(limb).value()));
                let factor = q.inverse(dropped.fold(1, |a, b| q.multiply(a, b))).expect("other primes");
                // Sums of products with keys lack the factor of Montgomery's form.
                let kept = own.enter(factor);
                let kept = if converts.of_sums { own.enter(kept) } else { kept };
                let [modulus, inverse] = head(q.value());
                [modulus, inverse, kept, own.enter(q.neg(factor))]
            })
        });
        moduli.chain(quotients).collect()
    }

    /// The settings of the automorphism unit.
    fn settings(&self) -> Vec<(usize, usize, Vec<bool>)> {
        let Some(element) = self.rotation else { return Vec::new() };
        let lanes = self.mapped.machine.lanes;
        let places = element.places(EvaluationOrder::Streaming { lanes });
        let settings = places.chunks(lanes).flat_map(|sources| {
            let routing = Routing::new(&sources.iter().map(|source| source % lanes).collect::<Vec<_>>());
            let entering = sources[0] / lanes;
            (0..Routing::column_count(lanes)).map(move |column| (column, entering, crosses(&routing, column, lanes)))
        });
        settings.collect()
    }

    fn simulate(&self) -> Simulation {
        let machine = &self.mapped.machine;
        let bench = self.mapped.bench("osiris_pipeline").compact();
        bench
            .parameter("SIDES", machine.hadamard_units as u64)
            .parameter("CELLS", machine.hadamard_height as u64)
            .parameter("GROUPS", KeyGenerator::groups(machine.lanes) as u64)
            .parameter("CONSTANTS", self.entries().len() as u64)
            .parameter("PLACES", self.places())
            .simulate()
            .expect("a unit")
    }

    /// A limb in memory, in the order of the units.
    fn leaf(&self, leaf: Leaf) -> Vec<u64> {
        match leaf {
            Leaf::Input { index, limb } => {
                let own = &self.inputs[index];
                self.mapped.streamed(own.limb(own.position(limb).expect("a limb")))
            }
            Leaf::Hint { key, row, part, limb } => {
                let key = self.keys.get(key).expect("a key");
                let position = key.limbs().iter().position(|&held| held == limb).expect("a limb");
                let mut scratch = vec![0; self.mapped.program.degree.get()];
                self.mapped.streamed(key.limb(part, usize::from(row), position, &mut scratch))
            }
            Leaf::Plaintext { .. } => panic!("a key switch has none"),
        }
    }

    /// The events as commands, each as many cycles ahead as its port needs, and the limbs of key generators.
    fn commands(&self, events: &[Event]) -> (BTreeMap<i64, Cycle>, Vec<Seed>) {
        let mapped = &self.mapped;
        let (chip, tiles, lanes) = (&mapped.scheduled.chip, mapped.shape().tiles(), mapped.machine.lanes);
        let changes = mapped.commands(events).into_iter();
        let mut cycles: BTreeMap<i64, Cycle> =
            changes.map(|(cycle, change)| (cycle, Cycle { change, ..Cycle::default() })).collect();
        let mut seeds = Vec::new();
        let stream = |slots: usize, accesses: &[Access]| {
            let places: Vec<u64> = accesses.iter().map(|access| self.place(access)).collect();
            Stream { slots, limbs: places.len(), places }
        };
        for event in events {
            let start = event.start;
            let first = |accesses: &[Access]| start + i64::from(accesses[0].first);
            if event.resource == chip.channel {
                let tile_cycles = mapped.machine.tile_bytes() / mapped.machine.memory_bytes;
                let (read, write) = (&event.reads[0], &event.writes[0]);
                if write.place.memory == chip.scratchpad {
                    let leaf = mapped.scheduled.tasks.leaves[read.value.index as usize].expect("in memory");
                    let latency = mapped.machine.memory_latency as i64;
                    for (index, words) in self.leaf(leaf).chunks(lanes).enumerate() {
                        let arrived = ((index + 1) as f64 * tile_cycles - 1e-9).ceil() as i64 - 1;
                        let cycle = cycles.entry(start + latency + arrived).or_default();
                        let before = cycle.load.replace((self.place(write), index, words.to_vec()));
                        assert!(before.is_none(), "the channel brings one tile a cycle");
                    }
                } else {
                    for index in 0..tiles {
                        let wanted = (index as f64 * tile_cycles + 1e-9).floor() as i64;
                        cycles.entry(start + wanted - 1).or_default().store = Some((self.place(read), index));
                    }
                }
                continue;
            }
            let on = |units: &[Resource]| units.iter().position(|unit| *unit == event.resource);
            let side = on(&chip.keys).or(on(&chip.diagonals));
            match (mapped.kernel(event), side) {
                (Some(Kernel::ModChange { sources, targets, .. }), None) => {
                    let slots = sources.len().max(targets.len());
                    if event.resource == chip.ntt[0][0] {
                        let cycle = cycles.entry(start - READ_AHEAD).or_default();
                        cycle.feed = Some(stream(slots, &event.reads));
                    } else if event.writes[0].place.memory == chip.scratchpad {
                        let cycle = cycles.entry(first(&event.writes) - WRITE_AHEAD).or_default();
                        cycle.keep = Some(stream(slots, &event.writes));
                    }
                }
                (Some(kernel @ Kernel::ModChange { sources, targets, .. }), Some(side)) => {
                    let slots = sources.len().max(targets.len());
                    let converts = mapped.converts(kernel).expect("a conversion");
                    let number = mapped.conversions.iter().position(|other| *other == converts);
                    let entry = self.entry(number.expect("with constants"));
                    let stream = |accesses: &[Access]| stream(slots, accesses);
                    let multiply = Multiply { stream: stream(&event.reads[1..]), divides: true, terms: 2, entry };
                    cycles.entry(start - READ_AHEAD).or_default().multiply.insert(side, multiply);
                    let cycle = cycles.entry(first(&event.writes) - WRITE_AHEAD).or_default();
                    cycle.result.insert(side, (stream(&event.writes), true));
                }
                (Some(Kernel::KeyProduct { limb, terms, .. }), Some(side)) => {
                    let operands = stream(1, &event.reads[..2 * terms.len()]);
                    let stream = |stream: Stream| Stream { limbs: 1, ..stream };
                    let entry = usize::from(limb.0);
                    let multiply = Multiply { stream: stream(operands), divides: false, terms: terms.len(), entry };
                    cycles.entry(start - READ_AHEAD).or_default().multiply.insert(side, multiply);
                    let places = event.writes.iter().map(|access| self.place(access)).collect();
                    let results = Stream { slots: 1, limbs: 1, places };
                    let cycle = cycles.entry(first(&event.writes) - WRITE_AHEAD).or_default();
                    cycle.result.insert(side, (results, false));
                }
                (Some(Kernel::KeyProduct { key, limb, terms, .. }), None) => {
                    let units = chip.generators.iter().flatten();
                    let generator =
                        units.enumerate().find(|(_, unit)| **unit == event.resource).expect("a generator").0;
                    let (row, ..) = terms[event.op.iteration as usize];
                    let seed = self.keys.get(*key).expect("a key").seed().expect("a seed").0;
                    let number = u64::from(row) << 16 | u64::from(limb.0);
                    seeds.push(Seed { generator, seed, number, limb: *limb });
                }
                (Some(Kernel::Pointwise { limbs, what, diagonal: None, halves }), Some(side)) => {
                    let [Half { operands, .. }] = &halves[..] else { panic!("a sum") };
                    assert!(what.iter().all(|what| *what == Pointwise::Add) && operands.len() == 2);
                    // Constants by position.
                    let entry = usize::from(limbs.as_slice()[0].0);
                    assert!(limbs.iter().enumerate().all(|(position, limb)| usize::from(limb.0) == entry + position));
                    let (addends, others) = event.reads.split_at(limbs.len());
                    let others = others.iter().map(|access| self.place(access)).collect();
                    let add = Sum { stream: stream(limbs.len(), addends), entry, others };
                    cycles.entry(start - READ_AHEAD).or_default().add.insert(side, add);
                    let cycle = cycles.entry(first(&event.writes) - WRITE_AHEAD).or_default();
                    cycle.sum.insert(side, stream(limbs.len(), &event.writes));
                }
                (Some(Kernel::Automorphism { .. }), None) => {
                    cycles.entry(start - READ_AHEAD).or_default().moves = Some(self.place(&event.reads[0]));
                    let cycle = cycles.entry(first(&event.writes) - WRITE_AHEAD).or_default();
                    cycle.moved = Some(self.place(&event.writes[0]));
                }
                other => panic!("a rotation has no {other:?}"),
            }
        }
        (cycles, seeds)
    }

    /// The bus of a cycle.
    fn bus(&self, cycle: &Cycle) -> Bits {
        let (mapped, places) = (&self.mapped, bits_of(self.places() as usize));
        let (most, slots, tile_bits) = (mapped.machine.limbs, mapped.slot_bits(), mapped.tile_bits());
        let (cells, entries) = (mapped.machine.hadamard_height, bits_of(self.entries().len()));
        let flag = u8::from;
        let bits = mapped.bus(&cycle.change).field(flag(cycle.entry.is_some()), 1);
        let (number, words) = cycle.entry.unwrap_or_default();
        let bits = bits.field(number as u64, entries).fields(words, WIDTH);
        let stream = |bits: Bits, stream: Option<&Stream>| {
            let bits = bits.field(flag(stream.is_some()), 1);
            let stream = stream.cloned().unwrap_or_default();
            let bits = bits.fields([stream.slots as u64, stream.limbs as u64], slots);
            bits.fields(stream.places.iter().copied().chain(std::iter::repeat(0)).take(most), places)
        };
        let mut bits = stream(stream(bits, cycle.feed.as_ref()), cycle.keep.as_ref());
        for side in 0..mapped.machine.hadamard_units {
            let command = cycle.multiply.get(&side);
            bits = stream(bits, command.map(|command| &command.stream));
            let command = command.cloned().unwrap_or_default();
            bits = bits.field(flag(command.divides), 1).field(command.terms as u64, bits_of(cells + 1));
            bits = bits.field(command.entry as u64, entries);
            let result = cycle.result.get(&side);
            bits = stream(bits, result.map(|(stream, _)| stream));
            bits = bits.field(flag(result.is_some_and(|&(_, divides)| divides)), 1);
            let command = cycle.add.get(&side);
            bits = stream(bits, command.map(|command| &command.stream));
            let command = command.cloned().unwrap_or_default();
            bits = bits.fields(command.others.into_iter().chain(std::iter::repeat(0)).take(most), places);
            bits = bits.field(command.entry as u64, entries);
            bits = stream(bits, cycle.sum.get(&side));
        }
        let lanes = mapped.machine.lanes;
        let (column, tile, switches) = cycle.settings.clone().unwrap_or((0, 0, vec![false; lanes / 2]));
        bits = bits.field(flag(cycle.settings.is_some()), 1);
        bits = bits.field(column as u64, bits_of(Routing::column_count(lanes))).field(tile as u64, tile_bits);
        bits = bits.fields(switches.into_iter().map(flag), 1);
        let half = self.rotation.map_or(0, |element| (element.inverse().value() - 1) / 2 % mapped.shape().tiles());
        bits = bits.field(flag(cycle.moves.is_some()), 1).field(half as u64, tile_bits);
        bits = bits.field(cycle.moves.unwrap_or(0), places);
        bits = bits.field(flag(cycle.moved.is_some()), 1).field(cycle.moved.unwrap_or(0), places);
        let generators = bits_of(mapped.machine.hadamard_units * cells);
        let bits = match &cycle.seed {
            None => bits.field(0, 1 + generators).fields([0u8; 40], 8).fields([0u64; 2], WIDTH).field(0, tile_bits + 2),
            Some(Seed { generator, seed, number, limb }) => {
                let q = mapped.program.modulus(*limb);
                bits.field(1, 1)
                    .field(*generator as u64, generators)
                    .fields(*seed, 8)
                    .field(*number, 64)
                    .fields([q.value(), (1u64 << q.bits()) - 1], WIDTH)
                    .field(KeyGenerator::cycles(mapped.shape(), q), tile_bits + 2)
            }
        };
        let (to, index, words) = cycle.load.clone().unwrap_or_default();
        let bits = bits.field(flag(cycle.load.is_some()), 1).field(to, places).field(index as u64, tile_bits);
        let (from, index) = cycle.store.unwrap_or_default();
        let bits = bits.field(flag(cycle.store.is_some()), 1).field(from, places).field(index as u64, tile_bits);
        bits.fields(words.into_iter().chain(std::iter::repeat(0)).take(mapped.machine.lanes), WIDTH)
    }

    /// The pipeline on the schedule's events, or changed ones.
    fn run(&self, unit: &Simulation, events: &[Event]) -> Found {
        let mapped = &self.mapped;
        let (cycles, seeds) = self.commands(events);
        let fill = mapped.fill().into_iter().map(|change| Cycle { change, ..Cycle::default() });
        let entries = self.entries().into_iter().enumerate();
        let fill = fill.chain(entries.map(|entry| Cycle { entry: Some(entry), ..Cycle::default() }));
        let settings = self.settings().into_iter();
        let fill = fill.chain(settings.map(|settings| Cycle { settings: Some(settings), ..Cycle::default() }));
        let fill: Vec<Cycle> =
            fill.chain(seeds.into_iter().map(|seed| Cycle { seed: Some(seed), ..Cycle::default() })).collect();
        let origin = fill.len() as i64 + BEFORE;
        let last = *cycles.keys().last().expect("commands");
        let schedule = (-BEFORE..=last).map(|cycle| cycles.get(&cycle));
        let stream = fill.iter().map(Some).chain(schedule).map(|cycle| Some(self.bus(cycle?)));
        let (mut found, lanes) = (Found { lost: false, clashes: 0, stored: BTreeMap::new() }, mapped.machine.lanes);
        for output in unit.run(stream, 2).expect("a run") {
            let mut reader = Reader::new(&output.bytes);
            found.lost |= reader.unsigned(1) == 1;
            found.clashes += reader.unsigned(1) as usize;
            if reader.unsigned(1) == 1 {
                let words = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
                found.stored.insert(output.cycle as i64 - origin, words);
            }
        }
        found
    }

    /// The tiles that the schedule's stores read, by cycle.
    fn expected(&self, events: &[Event]) -> BTreeMap<i64, Vec<u64>> {
        let (machine, chip) = (&self.mapped.machine, &self.mapped.scheduled.chip);
        let tile_cycles = machine.tile_bytes() / machine.memory_bytes;
        let stores = events
            .iter()
            .filter(|event| event.resource == chip.channel && event.writes[0].place.memory != chip.scratchpad);
        let tiles = stores.flat_map(|event| {
            let words = self.outputs[&event.reads[0].value.index].chunks(machine.lanes).enumerate();
            words.map(|(index, words)| {
                (event.start + (index as f64 * tile_cycles + 1e-9).floor() as i64, words.to_vec())
            })
        });
        tiles.collect()
    }
}

impl Switch {
    fn is_right(&self, found: &Found) -> bool {
        !found.lost && found.stored == self.expected(&self.mapped.events())
    }

    fn holds(&self, unit: &Simulation) {
        let events = self.mapped.events();
        let found = self.run(unit, &events);
        assert!(!found.lost, "a tile that a unit awaits in another cycle");
        assert!(self.is_right(&found), "other words");
        assert_eq!(found.clashes, self.clashes(&self.commands(&events).0), "cycles with two accesses to a place");
    }

    /// Cycles in which two units read a place, or two write it.
    fn clashes(&self, cycles: &BTreeMap<i64, Cycle>) -> usize {
        let tiles = self.mapped.shape().tiles();
        // By cycle: places read and written.
        let mut ports: BTreeMap<i64, [Vec<u64>; 2]> = BTreeMap::new();
        let mut stream = |ready: i64, way: usize, stream: &Stream, together: usize| {
            for (tile, limb) in (0..tiles).flat_map(|tile| (0..stream.limbs).map(move |limb| (tile, limb))) {
                let own = &mut ports.entry(ready + (tile * stream.slots + limb) as i64).or_default()[way];
                own.extend(&stream.places[limb..limb + together]);
            }
        };
        for (&cycle, told) in cycles {
            let next = cycle + 1;
            told.feed.iter().for_each(|feed| stream(next, 0, feed, 1));
            told.keep.iter().for_each(|keep| stream(next, 1, keep, 1));
            for Multiply { stream: operands, divides, terms, .. } in told.multiply.values() {
                stream(next, 0, operands, if *divides { 1 } else { 2 * terms });
            }
            for (results, divides) in told.result.values() {
                stream(next, 1, results, if *divides { 1 } else { 2 });
            }
            for Sum { stream: addends, others, .. } in told.add.values() {
                stream(next, 0, addends, 1);
                stream(next, 0, &Stream { places: others.clone(), ..*addends }, 1);
            }
            told.sum.values().for_each(|sum| stream(next, 1, sum, 1));
            let mut limb = |way, place: Option<u64>| {
                place
                    .iter()
                    .for_each(|&place| stream(next, way, &Stream { slots: 1, limbs: 1, places: vec![place] }, 1));
            };
            limb(0, told.moves);
            limb(1, told.moved);
        }
        for (&cycle, told) in cycles {
            let own = ports.entry(cycle).or_default();
            own[0].extend(told.store.map(|(place, _)| place));
            own[1].extend(told.load.as_ref().map(|&(place, ..)| place));
        }
        let twice = |places: &Vec<u64>| places.iter().collect::<BTreeSet<_>>().len() < places.len();
        ports.values().filter(|ways| ways.iter().any(twice)).count()
    }
}

fn key(rotation: Option<GaloisElement>) -> KeyId {
    rotation.map_or(KeyId::Relinearisation, |element| KeyId::Galois(element.value()))
}

/// Both parts of a key switch's result, divided by the special primes; of a rotation, added to the ciphertext's body and permuted, in the order of Osiris' lowering.
fn key_switch(ring: &Ring, gadget: &Gadget, rotation: Option<GaloisElement>) -> KernelProgram {
    let limbs = |limbs: &[LimbId]| LimbSet::new(limbs.iter().copied());
    let (q, special) = (limbs(gadget.q()), limbs(gadget.special()));
    let mut builder = KernelBuilder::new("key switch", ring.degree(), ring.moduli()).expect("moduli");
    let a = builder.input("a", 0, ValueType::evaluation(q.clone())).expect("an input");
    let raise = |digit: &Vec<LimbId>| builder.mod_up(a, limbs(digit), q.union(&special), Conversion::Approximate);
    let digits: Vec<ValueId> = gadget.digits().iter().map(raise).collect::<Result<_, _>>().expect("digits");
    let (body, mask) = builder.inner_product(key(rotation), &digits).expect("a key");
    for (part, sum) in (0..).zip([body, mask]) {
        let mut result = builder.mod_down(sum, special.clone(), Conversion::Balanced, None).expect("a division");
        if let Some(element) = rotation {
            if part == 0 {
                let b = builder.input("b", 0, ValueType::evaluation(q.clone())).expect("an input");
                result = builder.add(b, result).expect("a sum");
            }
            result = builder.automorphism(result, element).expect("an automorphism");
        }
        builder.output("switched", part, result);
    }
    builder.finish().expect("a program")
}

/// Osiris with 2^`stages` values at most on some lanes, and arrays for digits of two limbs.
fn machine(lanes: usize, stages: u32) -> Osiris {
    Osiris { limbs: 8, stages, memory_latency: 20, ..osiris(lanes, 2) }
}

fn small() -> Switch {
    Switch::new(machine(4, 6), 6, (5, 2), 0)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn a_key_switch_of_a_small_ring() {
    let switch = small();
    let unit = switch.simulate();
    switch.holds(&unit);
    let (events, chip) = (switch.mapped.events(), &switch.mapped.scheduled.chip);
    // A unit a cycle before its neighbors, or loads a cycle later.
    let units = [chip.ntt[0][0], chip.array[0], chip.ntt[0][1]].map(|unit| (unit, -1));
    for (unit_moved, by) in units.into_iter().chain([(chip.channel, 1)]) {
        let is_load = |event: &Event| event.writes[0].place.memory == chip.scratchpad;
        let first = events.iter().position(|event| event.resource == unit_moved).expect("an event");
        let moved = events.iter().enumerate().map(|(number, event)| {
            let own = if unit_moved == chip.channel {
                event.resource == unit_moved && is_load(event)
            } else {
                number == first
            };
            Event { start: event.start + if own { by } else { 0 }, ..event.clone() }
        });
        let moved: Vec<Event> = moved.collect();
        assert!(!switch.is_right(&switch.run(&unit, &moved)), "{unit_moved:?} moved by {by}");
    }
    // Bodies of two rows exchanged, and masks of another row.
    let mut wrong = events.clone();
    let product = |event: &&mut Event| chip.keys.contains(&event.resource) && event.writes.len() == 2;
    let read = wrong.iter_mut().find(product).expect("a product");
    read.reads.swap(1, 3);
    assert!(!switch.is_right(&switch.run(&unit, &wrong)), "other operands");
    let mut wrong = events.clone();
    let generated = |event: &&mut Event| chip.generators[0].contains(&event.resource);
    let masks = wrong.iter_mut().find(generated).expect("masks");
    masks.op.iteration = (masks.op.iteration + 1) % 3;
    assert!(!switch.is_right(&switch.run(&unit, &wrong)), "another row's masks");
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn a_rotation_of_a_small_ring() {
    let switch = Switch::new(machine(4, 6), 6, (5, 2), 3);
    let unit = switch.simulate();
    switch.holds(&unit);
    let (events, chip) = (switch.mapped.events(), &switch.mapped.scheduled.chip);
    // The automorphism unit reads a sum in the cycle after it is there.
    for (unit_moved, by) in [(chip.automorphism[0], -1), (chip.diagonals[0], 1)] {
        let mut moved = events.clone();
        let first = moved.iter_mut().find(|event| event.resource == unit_moved).expect("an event");
        first.start += by;
        assert!(!switch.is_right(&switch.run(&unit, &moved)), "{unit_moved:?} moved by {by}");
    }
    let mut wrong = events.clone();
    let adds: Vec<usize> = (0..wrong.len()).filter(|&event| chip.diagonals.contains(&wrong[event].resource)).collect();
    wrong[adds[0]].reads[1] = events[adds[1]].reads[1];
    assert!(!switch.is_right(&switch.run(&unit, &wrong)), "sums of other limbs");
}

#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_a_rotation_of_a_ring_of_8192() {
    let switch = Switch::new(machine(32, 13), 13, (5, 2), 3);
    switch.holds(&switch.simulate());
}

/// Of one limb, with a special one.
#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_a_rotation_of_a_ring_of_65536() {
    let switch = Switch::new(machine(32, 16), 16, (1, 1), 3);
    switch.holds(&switch.simulate());
}

/// Each limb has a bank with a port for reading and another for writing. At the machine's own size that suffices for a key switch, and for a rotation whose results do not overwrite operands: else the next unit reads a result while the operand is still read.
#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_two_units_read_a_place_at_once_only_behind_results_in_place() {
    let paper = Osiris::new(&registry::description("osiris").expect("a machine")).expect("its figures");
    let found = |sums_in_place: bool, steps: i64| {
        let switch = Switch::new(Osiris { sums_in_place, ..paper.clone() }, 13, (5, 2), steps);
        let events = switch.mapped.events();
        let end = events.iter().map(|event| event.start + i64::from(event.occupancy)).max().expect("events");
        (switch.clashes(&switch.commands(&events).0), end)
    };
    let [(of_switch, _), (in_place, cycles), (apart, not_slower)] = [found(true, 0), found(true, 3), found(false, 3)];
    assert_eq!([of_switch, in_place, apart], [0, 12, 0]);
    assert_eq!(cycles, not_slower);
}
