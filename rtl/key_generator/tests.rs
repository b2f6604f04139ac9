//! Are the tiles those of Osiris' model, which are the kernel's stream, one each cycle?

use crate::{described, primes, rng};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::expander::UniformStream;
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::osiris::units::{KeyGenerator, Shape};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use rand::Rng;

const WIDTH: usize = 40;
const TILE_BITS: usize = 7;

/// A limb of a mask, and after how many cycles of drawing the next one should follow.
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
    groups: usize,
}

impl Unit {
    fn simulate(self) -> Simulation {
        let bench = Bench::new("key_generator").compact().parameter("WIDTH", WIDTH as u64);
        let bench = bench.parameter("LANES", self.lanes as u64).parameter("GROUPS", self.groups as u64);
        bench.parameter("TILE_BITS", TILE_BITS as u64).simulate().expect("a unit")
    }

    /// The latency, of which the machine's description has the rounds alone: then the seed comes, the first words are added, numbers are cut and
    /// compared, counted, moved to the front, and written into the ring.
    fn latency(self) -> u64 {
        let numbers = (128 * self.groups).next_power_of_two();
        1 + described("osiris", "units.key_generator.latency") + 1 + 2 + u64::from(numbers.ilog2()) + 1
    }

    /// A limb of a ring of degree 2^`log2`, with so many cycles more than it draws for on average, or one alone.
    fn limb(self, rng: &mut impl Rng, log2: u32, modulus: u64, more: Option<f64>) -> Limb {
        let shape = Shape::new(RingDegree::new(1 << log2).expect("a degree"), self.lanes, 16).expect("a shape");
        let modulus = Modulus::new(modulus).expect("a modulus");
        let average = KeyGenerator::draws(modulus) * f64::from(1 << log2) / (128 * self.groups) as f64;
        let expected = more.map_or(1, |more| (average + more).ceil() as u64);
        Limb { shape, seed: rng.random(), stream: rng.random(), modulus, expected }
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

    /// Limbs that come in the cycles given, tiles taken at once or now and then left for a while. The cycle of each tile.
    fn tiles_are_the_models(self, unit: &Simulation, limbs: &[(usize, Limb)], waits: bool) -> Vec<u64> {
        let mut rng = rng(18);
        let mut expected = Vec::new();
        for (_, limb) in limbs {
            let stream = || UniformStream::new(&limb.seed, limb.stream, limb.modulus);
            let mut generator = KeyGenerator::new(limb.shape, 0, stream());
            let of_limb: Vec<_> = std::iter::from_fn(|| generator.step()).collect();
            // The kernel's own residues: value c + r N/p is tile c's lane r.
            let mut residues = vec![0; limb.shape.degree().get()];
            stream().fill(&mut residues);
            for (number, tile) in of_limb.iter().enumerate() {
                let mut own: Vec<u64> = residues[number * self.lanes..][..self.lanes].to_vec();
                let mut found = tile.words.clone();
                own.sort_unstable();
                found.sort_unstable();
                assert_eq!(own, found);
            }
            expected.extend(of_limb);
        }
        // Half as many cycles again as tiles, for what is drawn in vain, and for those that are left.
        let cycles = limbs.last().expect("a limb").0 + 3 * expected.len() + 60 * limbs.len() + 100;
        let stream = (0..cycles).map(|cycle| {
            let limb = limbs.iter().find(|(at, _)| *at == cycle).map(|(_, limb)| limb);
            let waits = waits && rng.random_bool(0.3);
            (limb.is_some() || waits).then(|| self.bits(limb, waits))
        });
        let outputs = unit.run(stream, 0).expect("a run");
        assert_eq!(outputs.len(), expected.len());
        for (number, (output, tile)) in outputs.iter().zip(&expected).enumerate() {
            let mut reader = Reader::new(&output.bytes);
            let found: Vec<u64> = (0..self.lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!(found, tile.words, "tile {number} of all");
        }
        outputs.iter().map(|output| output.cycle).collect()
    }

    /// Limbs of the machine's primes, one after the other: a tile each cycle, from the latency on.
    fn a_tile_each_cycle(self, unit: &Simulation, log2: u32, limbs: usize) {
        let mut rng = rng(19);
        let moduli = primes(1 << 14, WIDTH as u32, limbs);
        let limbs: Vec<_> = (0..).zip(moduli).map(|(at, q)| (at, self.limb(&mut rng, log2, q, Some(1.0)))).collect();
        let cycles = self.tiles_are_the_models(unit, &limbs, false);
        for (number, cycle) in cycles.iter().enumerate() {
            assert_eq!(*cycle, self.latency() + number as u64);
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn limbs_of_64_lanes() {
    let unit = Unit { lanes: 64, groups: 1 };
    let simulation = unit.simulate();
    unit.a_tile_each_cycle(&simulation, 12, 4);
    // Primes that leave half of the numbers out, and others; rings of one tile, too; too few cycles expected, or as many as it takes mostly.
    let mut rng = rng(20);
    for waits in [false, true] {
        let mut at = 0;
        let limbs: Vec<_> = (0..30)
            .map(|number| {
                let modulus = [(1 << 32) + 15, primes(1 << 14, 36, 1)[0], 65537, primes(1 << 14, 40, 1)[0]][number % 4];
                let more = [Some(2.0), Some(0.0), None][rng.random_range(0..3)];
                let limb = unit.limb(&mut rng, [10, 6, 8, 12][number / 4 % 4], modulus, more);
                at += if number < 10 { 1 } else { rng.random_range(1..80) };
                (at, limb)
            })
            .collect();
        unit.tiles_are_the_models(&simulation, &limbs, waits);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes() {
    // A quarter more numbers than residues: the machine's primes have nearly 40 bits.
    let unit = Unit { lanes: described("osiris", "units.ntt.lanes") as usize, groups: 5 };
    unit.a_tile_each_cycle(&unit.simulate(), 16, 2);
}
