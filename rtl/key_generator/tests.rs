//! Are the tiles those of the kernel's stream in the order of the other units, in the cycles in which Osiris' schedules need them?

use crate::{described, rng};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::expander::UniformStream;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_kernels::ntt::order::reverse_bits;
use polyfabric_machines::osiris::units::{KeyGenerator, Shape};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use rand::Rng;

const WIDTH: usize = 40;
const TILE_BITS: usize = 7;

/// A limb of a mask, and the number of drawing cycles after which the next one should follow.
struct Limb {
    shape: Shape,
    seed: [u8; 32],
    stream: u64,
    modulus: Modulus,
    expected: u64,
}

#[derive(Clone, Copy)]
struct Unit {
    lanes: usize,
}

impl Unit {
    fn simulate(self) -> Simulation {
        let bench = Bench::new("key_generator").compact().parameter("WIDTH", WIDTH as u64);
        let bench =
            bench.parameter("LANES", self.lanes as u64).parameter("GROUPS", KeyGenerator::groups(self.lanes) as u64);
        bench.parameter("TILE_BITS", TILE_BITS as u64).simulate().expect("a unit")
    }

    fn latency(self) -> u64 {
        KeyGenerator::latency(self.lanes)
    }

    /// A limb of a ring of degree 2^`log2`, with the number of cycles that the model expects.
    fn limb(self, rng: &mut impl Rng, log2: u32, modulus: u64) -> Limb {
        let shape = Shape::new(RingDegree::new(1 << log2).expect("a degree"), self.lanes, 16).expect("a shape");
        let modulus = Modulus::new(modulus).expect("a modulus");
        let expected = KeyGenerator::cycles(shape, modulus);
        Limb { shape, seed: rng.random(), stream: rng.random(), modulus, expected }
    }

    /// The same with `more` cycles than the average, or with one only.
    fn misjudged(self, rng: &mut impl Rng, log2: u32, modulus: u64, more: Option<f64>) -> Limb {
        let limb = self.limb(rng, log2, modulus);
        let numbers = KeyGenerator::numbers(self.lanes) as f64;
        let average = KeyGenerator::draws(limb.modulus) * f64::from(1 << log2) / numbers;
        Limb { expected: more.map_or(1, |more| (average + more).ceil() as u64), ..limb }
    }

    fn bits(self, limb: Option<&Limb>, waits: bool) -> Bits {
        let bits = Bits::new().field(u8::from(waits), 1).field(u8::from(limb.is_some()), 1);
        let sizes = (TILE_BITS + 1).next_power_of_two().ilog2() as usize;
        let Some(limb) = limb else {
            return bits.fields([0u8; 40], 8).fields([0u64; 2], WIDTH).field(0, sizes + TILE_BITS + 2);
        };
        bits.fields(limb.seed, 8)
            .field(limb.stream, 64)
            .field(limb.modulus.value(), WIDTH)
            .field((1u64 << limb.modulus.bits()) - 1, WIDTH)
            .field(limb.shape.tiles().ilog2(), sizes)
            .field(limb.expected, TILE_BITS + 2)
    }

    /// The tiles of `limbs`: those of the kernel's residues, in the order of reversed indices.
    fn expected(self, limbs: &[(usize, Limb)]) -> Vec<Vec<u64>> {
        let of_limb = |limb: &Limb| -> Vec<Vec<u64>> {
            let (shape, order) = (limb.shape, EvaluationOrder::Streaming { lanes: self.lanes });
            let mut residues = vec![0; shape.degree().get()];
            UniformStream::new(&limb.seed, limb.stream, limb.modulus).fill(&mut residues);
            let values = EvaluationOrder::BitReversed.convert(order, shape.degree(), &residues);
            let tile = |number: usize| reverse_bits(number, shape.tiles().ilog2());
            (0..shape.tiles()).map(|number| values[tile(number) * self.lanes..][..self.lanes].to_vec()).collect()
        };
        limbs.iter().flat_map(|(_, limb)| of_limb(limb)).collect()
    }

    /// The cycle of each tile, for limbs that arrive in the given cycles, and tiles that wait in those of `waits`.
    fn tiles_are_the_kernels(
        self,
        unit: &Simulation,
        limbs: &[(usize, Limb)],
        mut waits: impl FnMut(usize) -> bool,
    ) -> Vec<u64> {
        let expected = self.expected(limbs);
        // 50 % more cycles than tiles, for dropped numbers and waiting tiles.
        let cycles = limbs.last().expect("a limb").0 + 3 * expected.len() + 60 * limbs.len() + 100;
        let stream = (0..cycles).map(|cycle| {
            let limb = limbs.iter().find(|(at, _)| *at == cycle).map(|(_, limb)| limb);
            let waits = waits(cycle);
            (limb.is_some() || waits).then(|| self.bits(limb, waits))
        });
        let outputs = unit.run(stream, 0).expect("a run");
        assert_eq!(outputs.len(), expected.len());
        for (number, (output, tile)) in outputs.iter().zip(&expected).enumerate() {
            let mut reader = Reader::new(&output.bytes);
            let found: Vec<u64> = (0..self.lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!(found, *tile, "tile {number} of all");
        }
        outputs.iter().map(|output| output.cycle).collect()
    }

    /// Consecutive limbs: a tile per cycle, starting exactly at the latency.
    fn a_tile_each_cycle(self, unit: &Simulation, log2: u32, moduli: &[u64]) {
        let mut rng = rng(19);
        let limbs: Vec<_> = moduli.iter().enumerate().map(|(at, &q)| (at, self.limb(&mut rng, log2, q))).collect();
        let cycles = self.tiles_are_the_kernels(unit, &limbs, |_| false);
        for (number, cycle) in cycles.iter().enumerate() {
            assert_eq!(*cycle, self.latency() + number as u64, "rings of degree 2^{log2}");
        }
    }

    /// A schedule: limbs are announced, their generator's events are at least as many cycles apart as they have tiles, and a limb's tiles are read from the event's latency on. Each must be available in its cycle, however long the generator was idle.
    fn as_scheduled(self, unit: &Simulation, log2: u32, limbs: usize) {
        let mut rng = rng(u64::from(log2));
        let (mut start, mut taken) = (0, Vec::new());
        let limbs: Vec<_> = (0..limbs)
            .map(|number| {
                let modulus = MODULI[rng.random_range(0..MODULI.len())];
                let limb = self.limb(&mut rng, log2, modulus);
                let tiles = limb.shape.tiles();
                assert!(limb.expected as usize <= tiles, "no more cycles than tiles");
                taken.extend((0..tiles).map(|tile| start + self.latency() as usize + tile));
                start += tiles + if rng.random_bool(0.3) { rng.random_range(1..100) } else { 0 };
                (number, limb)
            })
            .collect();
        let cycles = self.tiles_are_the_kernels(unit, &limbs, |cycle| taken.binary_search(&cycle).is_err());
        assert_eq!(cycles, taken.iter().map(|&cycle| cycle as u64).collect::<Vec<_>>());
    }
}

/// Two that reject half of the numbers, one that rejects a sixteenth, and one that hardly rejects any.
const MODULI: [u64; 4] = [(1 << 32) + 15, 65537, 0xf_0002_8001, 0xff_ffe8_0001];

#[test]
#[ignore = "needs Verilator: make rtl"]
fn limbs_of_64_lanes() {
    let unit = Unit { lanes: 64 };
    let simulation = unit.simulate();
    // As in the machine's rings, and with one or two tiles, fewer than the cycles of the latency.
    for log2 in [6, 7, 9, 12] {
        for q in MODULI {
            unit.a_tile_each_cycle(&simulation, log2, &[q; 40][..if log2 > 9 { 4 } else { 40 }]);
        }
        unit.as_scheduled(&simulation, log2, if log2 > 9 { 6 } else { 60 });
    }
    // Late and misjudged limbs: too few expected cycles, or mostly enough.
    let mut rng = rng(20);
    for leaves in [0.0, 0.3] {
        let mut at = 0;
        let limbs: Vec<_> = (0..30)
            .map(|number| {
                let more = [Some(2.0), Some(0.0), None][rng.random_range(0..3)];
                let limb = unit.misjudged(&mut rng, [10, 6, 8, 12][number / 4 % 4], MODULI[number % 4], more);
                at += if number < 10 { 1 } else { rng.random_range(1..80) };
                (at, limb)
            })
            .collect();
        unit.tiles_are_the_kernels(&simulation, &limbs, |_| rng.random_bool(leaves));
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes() {
    let unit = Unit { lanes: described("osiris", "units.ntt.lanes") as usize };
    let simulation = unit.simulate();
    unit.a_tile_each_cycle(&simulation, 16, &MODULI[1..3]);
    unit.as_scheduled(&simulation, 10, 20);
}
