//! Does the unit compute the kernel's transform, in both directions, for every ring and interleaving, each tile in the cycle of the model?

use crate::base_conversion::{depth, moduli};
use crate::twiddle_generator::{Powers, write};
use crate::{Tile, described, rng};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::streaming::StreamingNtt;
use polyfabric_machines::osiris::units::{Direction, NttUnit, Shape};
use polyfabric_rtl::{Bench, Bits, Output, Reader};
use rand::Rng;
use std::collections::BTreeMap;

const WIDTH: usize = 40;

#[derive(Clone, Copy)]
struct Unit {
    lanes: usize,
    stages: u32,
    limbs: usize,
}

/// One pass: a number of limbs of a ring, their tiles `slots` cycles apart, in consecutive groups of limbs.
struct Pass {
    log2: u32,
    direction: Direction,
    limbs: usize,
    slots: usize,
    /// Cycles between groups.
    gaps: Vec<u64>,
}

/// The bus in a cycle.
#[derive(Default)]
struct Word {
    set: Option<(Direction, usize, u32)>,
    write: Option<(usize, usize)>,
    tag: Option<(usize, usize)>,
    tile: Option<Vec<u64>>,
}

fn bits_of(number: usize) -> usize {
    number.next_power_of_two().ilog2() as usize
}

/// Bits of a limb's number; at least one.
fn limb_bits_of(limbs: usize) -> usize {
    bits_of(limbs).max(1)
}

impl Unit {
    fn shape(self, log2: u32) -> Shape {
        Shape::new(RingDegree::new(1 << log2).expect("a degree"), self.lanes, self.stages).expect("a shape")
    }

    fn bus(self, word: &Word, powers: &[[Powers; 2]]) -> Bits {
        let (stages, tile_bits) = (self.stages as usize, self.stages as usize - bits_of(self.lanes));
        let (low, limb_bits) = (stages.div_ceil(2), limb_bits_of(self.limbs));
        let (direction, slots, tiles) = word.set.unwrap_or((Direction::Inverse, 0, 0));
        let bits = Bits::new()
            .field(u64::from(word.set.is_some()), 1)
            .field(u64::from(direction == Direction::Forward), 1)
            .field(slots as u64, bits_of(self.limbs + 1))
            .field(tiles, bits_of(tile_bits + 1));
        let entry = word.write.map(|(limb, address)| (limb, address, &powers[limb]));
        let bits = write(bits, (limb_bits, low, stages - low), entry);
        let (limb, index) = word.tag.unwrap_or_default();
        let bits =
            bits.field(index as u64, tile_bits).field(limb as u64, limb_bits).field(u64::from(word.tag.is_some()), 1);
        match &word.tile {
            Some(words) => bits.fields(words.iter().copied(), WIDTH),
            None => bits.fields(vec![0; self.lanes], WIDTH),
        }
    }

    /// All passes in one run: each is set up when the previous one has left, `early` cycles before that, or later if its ring needs other tables. Returns the outputs, and the model's latency of each tile.
    fn run(self, passes: &[Pass], early: u64) -> (Vec<Output>, Vec<(u64, Tile, u64)>) {
        let bench =
            Bench::new("mdc_ntt").parameter("LANES", self.lanes as u64).parameter("STAGES", u64::from(self.stages));
        let unit = bench.parameter("LIMBS", self.limbs as u64).simulate().expect("a unit");
        let mut rng = rng(u64::from(self.stages));
        let moduli = moduli(1 << self.stages, self.limbs);
        let (mut buses, mut expected) = (BTreeMap::new(), Vec::new());
        // Factors are computed while the previous tile is in the butterflies: an entry of each table, a product.
        let (mut now, lead) = (0, 1 + depth().multiplier as u64);
        // Ring and limbs of the loaded tables.
        let mut tables = (0, 0);
        // The cycle in which the model's unit is empty.
        let mut empty: Option<u64> = None;
        for pass in passes {
            let shape = self.shape(pass.log2);
            let of_limb =
                |&q: &Modulus| [Direction::Inverse, Direction::Forward].map(|way| Powers::new(q, pass.log2, way));
            let powers: Vec<[Powers; 2]> = moduli.iter().map(of_limb).collect();
            let moduli = &moduli[..pass.limbs];
            let mut words: BTreeMap<u64, Word> = BTreeMap::new();
            let same_tables = tables.0 == pass.log2 && tables.1 >= pass.limbs;
            if !same_tables {
                tables = (pass.log2, pass.limbs);
                let addresses = 1 << self.stages.div_ceil(2);
                let limbs = (0..pass.limbs).flat_map(|limb| (0..addresses).map(move |address| (limb, address)));
                for (limb, address) in limbs {
                    words.entry(now).or_default().write = Some((limb, address));
                    now += 1;
                }
            }
            let set = if same_tables { now - 1 - lead - early } else { now };
            words.entry(set).or_default().set = Some((pass.direction, pass.slots, shape.tiles().ilog2()));
            let start = set + 1 + lead;
            if let Some(empty) = empty.filter(|_| same_tables) {
                assert_eq!(start + early, empty, "the model sets the unit up in another cycle");
            }
            let tiles = self.tiles(shape, moduli, pass, &mut rng);
            for (cycle, tile) in &tiles {
                words.entry(start + cycle - lead).or_default().tag = Some((tile.limb, tile.index));
                words.entry(start + cycle).or_default().tile = Some(tile.words.clone());
            }
            let latency = NttUnit::latency(shape, pass.slots, depth());
            let transformed = transformed(shape, moduli, pass.direction, &tiles);
            let occupied = pass.gaps.iter().map(|gap| gap + (pass.slots * shape.tiles()) as u64).sum::<u64>();
            // Unused slots at the end are empty.
            empty = (pass.limbs == pass.slots).then_some(start + occupied + latency);
            expected.extend(transformed.into_iter().map(|(cycle, tile)| (start + cycle + latency, tile, latency)));
            now = expected.last().expect("tiles").0 + 1;
            buses.extend(words.into_iter().map(|(cycle, word)| (cycle, self.bus(&word, &powers))));
        }
        let last = *buses.keys().last().expect("words");
        let outputs = unit.run((0..=last).map(|cycle| buses.remove(&cycle)), (now - last) as usize).expect("a run");
        (outputs, expected)
    }

    /// All passes in one run, each as early as possible.
    fn check(self, passes: &[Pass]) {
        let tile_bits = self.stages as usize - bits_of(self.lanes);
        let (outputs, expected) = self.run(passes, 0);
        assert_eq!(outputs.len(), expected.len());
        for (output, (cycle, tile, latency)) in outputs.iter().zip(&expected) {
            let mut reader = Reader::new(&output.bytes);
            assert_eq!(reader.unsigned(32) as u64, *latency, "what latency.sv says");
            let index = reader.unsigned(tile_bits) as usize;
            let limb = reader.unsigned(limb_bits_of(self.limbs)) as usize;
            assert_eq!((output.cycle, limb, index), (*cycle, tile.limb, tile.index));
            let words: Vec<u64> = (0..self.lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!(words, tile.words, "tile {index} of limb {limb}, cycle {cycle}");
        }
    }

    fn tiles(self, shape: Shape, moduli: &[Modulus], pass: &Pass, rng: &mut impl Rng) -> BTreeMap<u64, Tile> {
        let (mut tiles, mut start) = (BTreeMap::new(), 0);
        for (group, gap) in pass.gaps.iter().enumerate() {
            start += gap;
            for index in 0..shape.tiles() {
                for (limb, q) in moduli.iter().enumerate() {
                    // The first group has extreme words.
                    let mut word = || match (group, rng.random_range(0..3)) {
                        (0, 0) => q.value() - 1,
                        (0, 1) => 0,
                        _ => rng.random_range(0..q.value()),
                    };
                    let words = (0..self.lanes).map(|_| word()).collect();
                    tiles.insert(start + (index * pass.slots + limb) as u64, Tile { limb, index, words });
                }
            }
            start += (pass.slots * shape.tiles()) as u64;
        }
        tiles
    }
}

/// The kernel's transform of every limb in `tiles`, in their cycles.
fn transformed(
    shape: Shape,
    moduli: &[Modulus],
    direction: Direction,
    tiles: &BTreeMap<u64, Tile>,
) -> BTreeMap<u64, Tile> {
    let mut all = BTreeMap::new();
    for (limb, &q) in moduli.iter().enumerate() {
        let kernel = StreamingNtt::new(shape.degree(), q, shape.lanes()).expect("a transform");
        let of_limb: Vec<(u64, &Tile)> =
            tiles.iter().filter(|(_, tile)| tile.limb == limb).map(|(&cycle, tile)| (cycle, tile)).collect();
        for whole in of_limb.chunks(shape.tiles()) {
            let input: Vec<u64> = whole.iter().flat_map(|(_, tile)| tile.words.clone()).collect();
            let output = match direction {
                Direction::Forward => kernel.forward(&input),
                Direction::Inverse => kernel.inverse(&input),
            };
            for ((cycle, tile), words) in whole.iter().zip(output.chunks(shape.lanes())) {
                all.insert(*cycle, Tile { words: words.to_vec(), ..**tile });
            }
        }
    }
    all
}

fn both_ways(passes: impl IntoIterator<Item = (u32, usize, usize, Vec<u64>)>) -> Vec<Pass> {
    let way = |direction, (log2, limbs, slots, gaps): (u32, usize, usize, Vec<u64>)| Pass {
        log2,
        direction,
        limbs,
        slots,
        gaps,
    };
    passes
        .into_iter()
        .flat_map(|pass| [Direction::Inverse, Direction::Forward].map(|direction| way(direction, pass.clone())))
        .collect()
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn four_lanes_and_rings_up_to_32() {
    let passes = [
        // Consecutive limbs, five interleaved, and spare slots; groups without a gap and with some.
        (5, 1, 1, vec![0, 0, 0, 7, 1]),
        (5, 5, 5, vec![0, 0, 3]),
        (5, 3, 4, vec![0, 0, 13, 1, 2]),
        (4, 2, 3, vec![0, 0, 1]),
        (4, 5, 5, vec![0, 2]),
    ];
    Unit { lanes: 4, stages: 5, limbs: 5 }.check(&both_ways(passes));
}

/// One ring, so that only the unit's contents delay a pass: its tables are loaded.
fn changes() -> Vec<Pass> {
    use Direction::{Forward, Inverse};
    let passes = [(Inverse, 5), (Forward, 5), (Forward, 2), (Inverse, 2), (Inverse, 4), (Forward, 1), (Inverse, 1)];
    passes.map(|(direction, limbs)| Pass { log2: 5, direction, limbs, slots: limbs, gaps: vec![0, 0] }).into()
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn four_lanes_can_be_set_up_in_the_cycle_in_which_the_model_is_empty() {
    Unit { lanes: 4, stages: 5, limbs: 5 }.check(&changes());
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn four_lanes_that_are_set_up_a_cycle_early_lose_a_tile() {
    let (outputs, expected) = Unit { lanes: 4, stages: 5, limbs: 5 }.run(&changes()[..2], 1);
    assert_eq!(outputs.len(), expected.len() - 1);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_lanes_and_one_limb_at_a_time() {
    let passes = [(5, 1, 1, vec![0, 0, 3]), (4, 1, 1, vec![0, 0])];
    Unit { lanes: 2, stages: 5, limbs: 1 }.check(&both_ways(passes));
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes_and_rings_up_to_65536() {
    let unit = Unit {
        lanes: described("osiris", "units.ntt.lanes") as usize,
        stages: described("osiris", "units.ntt.stages") as u32,
        limbs: described("osiris", "units.ntt.limbs") as usize,
    };
    unit.check(&both_ways([(16, 2, 3, vec![0, 0]), (14, 3, unit.limbs, vec![0])]));
}
