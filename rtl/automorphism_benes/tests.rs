//! Does the unit compute the kernel's permutations, with the model's latency, for rotations and conjugation of several rings?

use crate::benes::crosses;
use crate::{Tile, described, rng};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_machines::osiris::units::{AutomorphismUnit, Routing, Shape};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;

const WIDTH: usize = 40;

struct Unit {
    lanes: usize,
    tile_bits: usize,
}

impl Unit {
    /// Consecutive automorphisms of two limbs each: one tile by tile, the other in any order, with gaps.
    fn check(&self, automorphisms: impl IntoIterator<Item = (u32, GaloisElement)>) {
        let (lanes, tile_bits) = (self.lanes, self.tile_bits);
        let bench = Bench::new("automorphism_benes").parameter("LANES", lanes as u64);
        let unit = bench.parameter("TILE_BITS", tile_bits as u64).simulate().expect("a unit");
        let columns = Routing::column_count(lanes);
        let column_bits = columns.next_power_of_two().ilog2() as usize;
        let bits_bits = (tile_bits + 1).next_power_of_two().ilog2() as usize;
        let no_write = || Bits::new().field(0, 1 + column_bits + tile_bits).fields(vec![0; lanes / 2], 1);
        let no_tile = |bits: Bits| bits.field(0, 1 + bits_bits + 2 * tile_bits).fields(vec![0; lanes], WIDTH);
        let (mut rng, mut words, mut expected) = (rng(5), Vec::new(), Vec::new());
        for (log2, element) in automorphisms {
            let degree = RingDegree::new(1 << log2).expect("a degree");
            let shape = Shape::new(degree, lanes, log2).expect("a shape");
            // For each place, the one that its value comes from.
            let places = element.places(EvaluationOrder::Streaming { lanes });
            // Of each tile: the one that it becomes, and the lane that each of its lanes comes from.
            let mut moves = vec![(0, Vec::new()); shape.tiles()];
            for (leaving, sources) in places.chunks(lanes).enumerate() {
                moves[sources[0] / lanes] = (leaving, sources.iter().map(|source| source % lanes).collect::<Vec<_>>());
            }
            for (entering, (_, sources)) in moves.iter().enumerate() {
                let routing = Routing::new(sources);
                words.extend((0..columns).map(|column| {
                    let bits =
                        Bits::new().field(1, 1).field(column as u64, column_bits).field(entering as u64, tile_bits);
                    Some(no_tile(bits.fields(crosses(&routing, column, lanes).into_iter().map(i128::from), 1)))
                }));
            }
            let mut tiles: BTreeMap<u64, Tile> = BTreeMap::new();
            let mut shuffled: Vec<usize> = (0..shape.tiles()).collect();
            shuffled.shuffle(&mut rng);
            let mut cycle = 0;
            for (limb, index) in
                (0..shape.tiles()).map(|index| (0, index)).chain(shuffled.into_iter().map(|index| (1, index)))
            {
                let words = (0..lanes).map(|_| rng.random_range(0..1 << WIDTH)).collect();
                tiles.insert(cycle, Tile { limb, index, words });
                cycle += if limb == 0 { 1 } else { rng.random_range(1..4) };
            }
            let latency = AutomorphismUnit::latency(shape);
            let start = words.len() as u64;
            expected.extend(tiles.iter().map(|(cycle, tile)| {
                let (leaving, sources) = &moves[tile.index];
                let words = sources.iter().map(|&lane| tile.words[lane]).collect();
                (start + cycle + latency, Tile { limb: tile.limb, index: *leaving, words })
            }));
            let half = (element.inverse().value() - 1) / 2 % shape.tiles();
            words.extend((0..cycle).map(|cycle| {
                tiles.get(&cycle).map(|tile| {
                    let bits = no_write().field(1, 1).field(shape.tiles().ilog2(), bits_bits);
                    bits.fields([half as u64, tile.index as u64], tile_bits).fields(tile.words.iter().copied(), WIDTH)
                })
            }));
            // Writes the next settings after the last tile.
            words.extend((0..latency).map(|_| None));
        }
        let outputs = unit.run(words, 1).expect("a run");
        assert_eq!(outputs.len(), expected.len());
        for (output, (cycle, tile)) in outputs.iter().zip(&expected) {
            let mut reader = Reader::new(&output.bytes);
            assert_eq!((output.cycle, reader.unsigned(tile_bits) as usize), (*cycle, tile.index));
            let words: Vec<u64> = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!(words, tile.words, "tile {} of limb {}", tile.index, tile.limb);
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn eight_lanes_and_rings_up_to_64() {
    let of = |log2: u32| {
        let degree = RingDegree::new(1 << log2).expect("a degree");
        let rotations = [0, 1, 3, -2].map(|steps| GaloisElement::rotation(degree, steps));
        rotations.into_iter().chain([GaloisElement::conjugation(degree)]).map(move |element| (log2, element))
    };
    Unit { lanes: 8, tile_bits: 3 }.check([6, 5, 4].into_iter().flat_map(of));
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes_and_a_ring_of_65536() {
    let lanes = described("osiris", "units.ntt.lanes") as usize;
    let log2 = described("osiris", "units.ntt.stages") as u32;
    let degree = RingDegree::new(1 << log2).expect("a degree");
    let unit = Unit { lanes, tile_bits: (log2 - lanes.ilog2()) as usize };
    unit.check([(log2, GaloisElement::rotation(degree, 17))]);
}
