//! Does the unit do both jobs, in parallel and separately, with the model's latencies?

use crate::base_conversion::{depth, moduli, montgomery};
use crate::montgomery_multiplier::negated_inverse;
use crate::{described, rng};
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::osiris::units::HadamardUnit;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;
use std::collections::BTreeMap;

const WIDTH: usize = 40;

/// Two tiles that leave together.
type Pair = [Vec<u64>; 2];

/// Tiles of one inner product with a switching key.
struct KeyProduct {
    limb: usize,
    /// For each cell from the top: digit, body, mask.
    terms: Vec<[Vec<u64>; 3]>,
}

impl KeyProduct {
    fn result(&self, q: Modulus) -> Pair {
        let lanes = self.terms[0][0].len();
        [1, 2].map(|half| {
            let sum = |lane: usize| {
                let products = self.terms.iter().map(|term| q.multiply(term[0][lane], term[half][lane]));
                products.fold(0, |sum, product| q.add(sum, product))
            };
            (0..lanes).map(sum).collect()
        })
    }
}

/// Tiles of one multiplication by a diagonal: partial sums + diagonal · parts of a ciphertext.
struct DiagonalProduct {
    limb: usize,
    diagonal: Vec<u64>,
    parts: Pair,
    partials: Pair,
}

impl DiagonalProduct {
    fn result(&self, q: Modulus) -> Pair {
        let sum = |half: usize, lane: usize| {
            q.add(self.partials[half][lane], q.multiply(self.diagonal[lane], self.parts[half][lane]))
        };
        [0, 1].map(|half| (0..self.diagonal.len()).map(|lane| sum(half, lane)).collect())
    }
}

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
        let latencies = [HadamardUnit::key_latency(self.height, depth()), HadamardUnit::diagonal_latency(depth())];
        let (mut words, mut expected) = (Vec::new(), BTreeMap::<u64, [Option<Pair>; 2]>::new());
        for cycle in 0..cycles {
            // Both jobs in every cycle at first, then each occasionally, finally none.
            let busy = |rng: &mut rand_chacha::ChaCha8Rng| cycle < cycles / 2 || rng.random();
            let key = busy(&mut rng).then(|| {
                let limb = rng.random_range(0..moduli.len());
                let digits = rng.random_range(1..=self.height);
                let terms = (0..digits).map(|_| [0; 3].map(|_| self.tile(&mut rng, moduli[limb]))).collect();
                KeyProduct { limb, terms }
            });
            let diagonal = busy(&mut rng).then(|| {
                let limb = rng.random_range(0..moduli.len());
                let mut pair = || [0; 2].map(|_| self.tile(&mut rng, moduli[limb]));
                let [[diagonal, _], parts, partials] = [pair(), pair(), pair()];
                DiagonalProduct { limb, diagonal, parts, partials }
            });
            words.push(
                (key.is_some() || diagonal.is_some())
                    .then(|| self.diagonal_bits(self.key_bits(&moduli, key.as_ref()), &moduli, diagonal.as_ref())),
            );
            let key = key.map(|product| product.result(moduli[product.limb]));
            let diagonal = diagonal.map(|product| product.result(moduli[product.limb]));
            for (job, (result, latency)) in [key, diagonal].into_iter().zip(latencies).enumerate() {
                if result.is_some() {
                    expected.entry(cycle as u64 + latency).or_default()[job] = result;
                }
            }
        }
        let outputs = unit.run(words, latencies[0] as usize).expect("a run");
        assert_eq!(outputs.len(), expected.len());
        for (output, (cycle, results)) in outputs.iter().zip(&expected) {
            assert_eq!(output.cycle, *cycle);
            let mut reader = Reader::new(&output.bytes);
            for pair in results {
                let valid = reader.unsigned(1) == 1;
                assert_eq!(valid, pair.is_some(), "cycle {cycle}");
                let halves = [0; 2].map(|_| (0..self.lanes).map(|_| reader.unsigned(WIDTH) as u64).collect::<Vec<_>>());
                if let Some(pair) = pair {
                    assert_eq!(halves, *pair, "cycle {cycle}");
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
