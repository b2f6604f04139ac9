//! Does the unit match the model in both jobs, in every cycle, in parallel and separately?

use crate::base_conversion::{depth, moduli, montgomery};
use crate::montgomery_multiplier::negated_inverse;
use crate::{described, rng};
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::osiris::units::{DiagonalProduct, HadamardUnit, KeyProduct};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 40;

#[derive(Clone, Copy)]
struct Unit {
    lanes: usize,
    height: usize,
}

impl Unit {
    /// One tile of words below q: occasionally all of them the largest.
    fn tile(self, rng: &mut impl Rng, q: Modulus) -> Vec<u64> {
        let ends = rng.random_range(0..4) == 0;
        (0..self.lanes).map(|_| if ends { q.value() - 1 } else { rng.random_range(0..q.value()) }).collect()
    }

    fn key_bits(self, moduli: &[Modulus], key: Option<&KeyProduct>) -> Bits {
        let Some(key) = key else {
            return Bits::new().field(0, 1).fields(vec![0; 2 + 3 * self.height * self.lanes], WIDTH);
        };
        let q = moduli[key.limb];
        let zeros = vec![0; self.lanes];
        let term = |cell: usize, part: usize| key.terms.get(cell).map_or(&zeros, |term| &term[part]).iter().copied();
        let digits = (0..self.height).flat_map(|cell| term(cell, 0));
        let rows = (0..self.height).flat_map(|cell| [1, 2].map(|part| term(cell, part))).flatten();
        let bits = Bits::new().field(1, 1).fields([q.value(), negated_inverse(q.value(), WIDTH)], WIDTH);
        bits.fields(digits, WIDTH).fields(rows.map(|word| montgomery(q).enter(word)), WIDTH)
    }

    fn diagonal_bits(self, bits: Bits, moduli: &[Modulus], product: Option<&DiagonalProduct>) -> Bits {
        let Some(product) = product else { return bits.field(0, 1).fields(vec![0; 2 + 5 * self.lanes], WIDTH) };
        let q = moduli[product.limb];
        let bits = bits.field(1, 1).fields([q.value(), negated_inverse(q.value(), WIDTH)], WIDTH);
        let bits = bits.fields(product.diagonal.iter().map(|&word| montgomery(q).enter(word)), WIDTH);
        let both = product.parts.iter().chain(&product.partials);
        bits.fields(both.flatten().copied(), WIDTH)
    }

    fn check(self, cycles: usize) {
        let bench = Bench::new("hadamard").parameter("LANES", self.lanes as u64);
        let unit = bench.parameter("HEIGHT", self.height as u64).simulate().expect("a unit");
        let (mut rng, moduli) = (rng(self.lanes as u64), moduli(1 << 14, 3));
        let mut model = HadamardUnit::new(moduli.clone(), self.height, depth());
        let latencies = [HadamardUnit::key_latency(self.height, depth()), HadamardUnit::diagonal_latency(depth())];
        let (mut words, mut expected, mut firsts) = (Vec::new(), Vec::new(), [None; 2]);
        for cycle in 0..cycles + latencies[0] as usize {
            // Both jobs in every cycle at first, then each occasionally, finally none.
            let busy = |rng: &mut rand_chacha::ChaCha8Rng| cycle < cycles / 2 || cycle < cycles && rng.random();
            let key = busy(&mut rng).then(|| {
                let limb = rng.random_range(0..moduli.len());
                let digits = rng.random_range(1..=self.height);
                let terms = (0..digits).map(|_| [0; 3].map(|_| self.tile(&mut rng, moduli[limb]))).collect();
                KeyProduct { index: cycle, limb, terms }
            });
            let diagonal = busy(&mut rng).then(|| {
                let limb = rng.random_range(0..moduli.len());
                let mut pair = || [0; 2].map(|_| self.tile(&mut rng, moduli[limb]));
                let [[diagonal, _], parts, partials] = [pair(), pair(), pair()];
                DiagonalProduct { index: cycle, limb, diagonal, parts, partials }
            });
            words.push(
                (key.is_some() || diagonal.is_some())
                    .then(|| self.diagonal_bits(self.key_bits(&moduli, key.as_ref()), &moduli, diagonal.as_ref())),
            );
            let results = <[_; 2]>::from(model.step(key, diagonal));
            for (first, result) in firsts.iter_mut().zip(&results) {
                *first = first.or(result.is_some().then_some(cycle as u64));
            }
            if results.iter().any(Option::is_some) {
                expected.push((cycle as u64, results));
            }
        }
        assert_eq!(firsts, latencies.map(Some));
        let outputs = unit.run(words, 0).expect("a run");
        assert_eq!(outputs.len(), expected.len());
        for (output, (cycle, results)) in outputs.iter().zip(&expected) {
            assert_eq!(output.cycle, *cycle);
            let mut reader = Reader::new(&output.bytes);
            for pair in results {
                let valid = reader.unsigned(1) == 1;
                assert_eq!(valid, pair.is_some(), "cycle {cycle}");
                let halves = [0; 2].map(|_| (0..self.lanes).map(|_| reader.unsigned(WIDTH) as u64).collect::<Vec<_>>());
                if let Some(tiles) = pair {
                    assert_eq!(halves, tiles.clone().map(|tile| tile.words), "cycle {cycle}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_lanes_of_three_cells() {
    Unit { lanes: 2, height: 3 }.check(100);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_lanes_of_one_cell() {
    Unit { lanes: 2, height: 1 }.check(40);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes_of_three_cells() {
    let height = described("osiris", "units.hadamard.height") as usize;
    Unit { lanes: described("osiris", "units.ntt.lanes") as usize, height }.check(12);
}
