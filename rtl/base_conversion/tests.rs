//! Does the array compute the kernel's conversion, each tile in the cycle that the model's latency gives?

use crate::montgomery_multiplier::negated_inverse;
use crate::{Tile, described, primes, rng};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{Modulus, Montgomery};
use polyfabric_machines::osiris::units::{BaseConversionArray, PipelineDepth};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use rand::Rng;
use std::collections::BTreeMap;

const WIDTH: usize = 40;

/// Alternately long and short primes, so that residues of one are not residues of the next.
pub(crate) fn moduli(degree: usize, count: usize) -> Vec<Modulus> {
    let [long, short] = [WIDTH as u32, 36].map(|bits| primes(degree, bits, count.div_ceil(2)));
    let both = long.into_iter().zip(short).flat_map(|(long, short)| [long, short]);
    both.take(count).map(|prime| Modulus::new(prime).expect("a modulus")).collect()
}

pub(crate) fn montgomery(modulus: Modulus) -> Montgomery {
    Montgomery::new(modulus, WIDTH as u32).expect("a multiplier")
}

pub(crate) fn depth() -> PipelineDepth {
    PipelineDepth { multiplier: described("osiris", "units.pipeline.multiplier") as usize }
}

#[derive(Clone, Copy)]
struct Array {
    height: usize,
    lanes: usize,
}

impl Array {
    fn unit(self) -> Simulation {
        let bench = Bench::new("base_conversion").parameter("WIDTH", WIDTH as u64);
        bench.parameter("HEIGHT", self.height as u64).parameter("LANES", self.lanes as u64).simulate().expect("a unit")
    }

    /// A tile with its limb's constants, or a cycle without one.
    fn tile(self, converter: &BaseConverter, balanced: bool, tile: Option<&Tile>) -> Bits {
        let limb_bits = (self.height + 1).next_power_of_two().ilog2() as usize;
        let Some(tile) = tile else {
            return Bits::new().field(0, 1 + limb_bits).fields(vec![0; 4 + self.lanes], WIDTH);
        };
        let q = converter.from().moduli()[tile.limb];
        let (factor, addend) = converter.weight(tile.limb);
        let addend = if balanced { addend } else { 0 };
        let of_limb = [q.value(), negated_inverse(q.value(), WIDTH), montgomery(q).enter(factor), addend];
        let bits = Bits::new().field(1, 1).field(tile.limb as u64, limb_bits).fields(of_limb, WIDTH);
        bits.fields(tile.words.iter().copied(), WIDTH)
    }

    /// The constants of a target limb: limb i's weight for row α − 1 − i.
    fn constants(self, bits: Bits, converter: &BaseConverter, balanced: bool, target: Option<usize>) -> Bits {
        let Some(target) = target else { return bits.field(0, 2).fields(vec![0; 3 + self.height], WIDTH) };
        let p = converter.to().moduli()[target];
        let (weights, constant) = converter.combination(target);
        let initial = if balanced { constant } else { 0 };
        let bits = bits.field(1, 1).field(u64::from(target == 0), 1);
        let bits = bits.fields([p.value(), negated_inverse(p.value(), WIDTH), initial], WIDTH);
        let rows = weights.iter().rev().map(|&weight| montgomery(p).enter(weight));
        bits.fields(rows.chain(std::iter::repeat(0)).take(self.height), WIDTH)
    }

    /// `blocks` blocks, each as soon as the previous one has passed or slightly later.
    fn check(self, unit: &Simulation, (alpha, beta): (usize, usize), balanced: bool, blocks: usize, gaps: bool) {
        let Self { height, lanes } = self;
        let mut rng = rng((alpha * 100 + beta) as u64);
        let moduli = moduli(1 << 14, alpha + beta);
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).expect("a basis");
        let converter = BaseConverter::new(basis(&moduli[..alpha]), basis(&moduli[alpha..]));
        let latency = BaseConversionArray::latency(height, lanes, alpha, depth());

        let (mut tiles, mut targets, mut start) = (BTreeMap::new(), BTreeMap::new(), 0);
        let mut expected = Vec::new();
        for index in 0..blocks {
            for (limb, q) in moduli[..alpha].iter().enumerate() {
                let word = |lane: usize| match (index, lane) {
                    (0, 0) => q.value() - 1,
                    (0, 1) => 0,
                    _ => rng.random_range(0..q.value()),
                };
                tiles.insert(start + limb as u64, Tile { limb, index, words: (0..lanes).map(word).collect() });
            }
            let constants = start + (depth().multiplier + alpha) as u64;
            targets.extend((0..beta).map(|target| (constants + target as u64, target)));
            expected.extend((0..beta).map(|target| (start + latency + target as u64, target, index)));
            start += (alpha.max(beta) + if gaps { rng.random_range(0..3) } else { 0 }) as u64;
        }

        let last = *targets.keys().last().expect("a target");
        let words = (0..=last).map(|cycle| {
            let (tile, target) = (tiles.get(&cycle), targets.get(&cycle).copied());
            (tile.is_some() || target.is_some())
                .then(|| self.constants(self.tile(&converter, balanced, tile), &converter, balanced, target))
        });
        let outputs = unit.run(words, latency as usize).expect("a run");
        assert_eq!(outputs.len(), blocks * beta);
        for (output, (cycle, target, index)) in outputs.iter().zip(expected) {
            assert_eq!(output.cycle, cycle, "target {target} of block {index}");
            let mut reader = Reader::new(&output.bytes);
            let of_one_limb = BaseConversionArray::latency(height, lanes, 1, depth());
            assert_eq!(reader.unsigned(32) as u64, of_one_limb, "what latency.sv says");
            let converted: Vec<u64> = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            let wanted = kernels(&converter, balanced, &tiles, (target, index), lanes);
            assert_eq!(converted, wanted, "target {target} of block {index}");
        }
    }
}

/// One tile of the kernel's conversion.
fn kernels(
    converter: &BaseConverter,
    balanced: bool,
    tiles: &BTreeMap<u64, Tile>,
    (target, index): (usize, usize),
    lanes: usize,
) -> Vec<u64> {
    let block: Vec<&[u64]> = tiles.values().filter(|tile| tile.index == index).map(|tile| &tile.words[..]).collect();
    let mut all = vec![vec![0; lanes]; converter.to().moduli().len()];
    let mut limbs: Vec<&mut [u64]> = all.iter_mut().map(|limb| &mut limb[..]).collect();
    match balanced {
        true => converter.convert_balanced(&block, &mut limbs, NextUse::Soon),
        false => converter.convert(&block, &mut limbs, NextUse::Soon),
    }
    all.swap_remove(target)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_rows_of_four_lanes() {
    let array = Array { height: 3, lanes: 4 };
    let unit = array.unit();
    for limbs in [(1, 1), (2, 6), (2, 3), (3, 3), (3, 1), (3, 8)] {
        for (balanced, gaps) in [(false, false), (true, true)] {
            array.check(&unit, limbs, balanced, 12, gaps);
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn one_row_of_two_lanes() {
    let array = Array { height: 1, lanes: 2 };
    let unit = array.unit();
    for (limbs, balanced, gaps) in [((1, 1), false, false), ((1, 3), true, true)] {
        array.check(&unit, limbs, balanced, 12, gaps);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_16_rows_of_512_lanes() {
    let array = Array {
        height: described("osiris", "units.base_conversion.height") as usize,
        lanes: described("osiris", "units.ntt.lanes") as usize,
    };
    let unit = array.unit();
    array.check(&unit, (16, 5), false, 4, false);
    array.check(&unit, (14, 26), true, 3, true);
}
