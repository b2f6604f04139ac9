//! Generates masks of switching keys from their seed (section IV-E), so that half of a key is not loaded from
//! memory.
//!
//! A key's mask is one stream of uniform residues per limb, in the bit-reversed order of values. p consecutive
//! residues are a tile: value c + r·(N/p) is at position rev(c)·p + rev(r), each reversed within its bits. So
//! the generator produces one tile per cycle, with indices rev(0), rev(1), …, and its lanes are wired in
//! reverse order. No buffer is needed, because the other factor is read from a scratchpad in the same order.
//!
//! Numbers that are not residues are rejected, up to half of them for some primes: a residue needs
//! [`KeyGenerator::draws`] numbers on average, up to two. So a generator produces more than 2p numbers per
//! cycle, and a limb never draws for more cycles than it has tiles ([`KeyGenerator::cycles`]).
//!
//! The program determines the sequence of limbs, so the generator draws ahead: a ring stores residues, and the
//! generator stalls when the ring is full. So its latency is visible only before the first limb, and even short
//! limbs leave no gap. An event in a schedule is the latest possible draw of a limb: its first tile is
//! available one latency after its start, and events of one generator are a limb's tiles apart.

use super::Shape;
use polyfabric_kernels::expander::{GROUP, ROUNDS};
use polyfabric_kernels::modular::Modulus;

/// Numbers per residue modulo a prime just above a power of two, the worst case.
const MOST_DRAWS: f64 = 2.0;

/// Numbers of 64 bits in the sixteen words of a block.
const NUMBERS_A_BLOCK: usize = 8;

/// The generator for one limb of one term of a key.
pub struct KeyGenerator;

impl KeyGenerator {
    /// Groups of sixteen blocks that a generator draws per cycle: the fewest that sustain one tile of `lanes`
    /// residues per cycle, modulo any prime.
    pub fn groups(lanes: usize) -> usize {
        (Self::enough(lanes, MOST_DRAWS) / GROUP as f64).ceil() as usize
    }

    /// Numbers per cycle.
    pub fn numbers(lanes: usize) -> usize {
        GROUP * Self::groups(lanes)
    }

    /// ChaCha blocks per cycle of a generator.
    pub fn blocks(lanes: usize) -> usize {
        Self::numbers(lanes) / NUMBERS_A_BLOCK
    }

    /// Cycles from a seed to the first tile: the seed; two registers per round and the last addition;
    /// extraction, comparison and counting; one register per bit of the distance by which a number moves to the
    /// front; the ring.
    pub fn latency(lanes: usize) -> u64 {
        let distances = Self::numbers(lanes).next_power_of_two().ilog2();
        1 + (2 * ROUNDS as u64 + 1) + 2 + u64::from(distances) + 1
    }

    /// Words of the ring: two cycles of numbers, and a tile.
    pub fn ring_words(lanes: usize) -> usize {
        (2 * Self::numbers(lanes) + lanes).next_power_of_two()
    }

    /// Numbers that contain `residues` residues, by eight standard deviations, if a residue needs `draws`
    /// numbers on average. Masks are public, so a seed that needs more, one limb in about 10^15, can be
    /// detected and replaced.
    pub fn enough(residues: usize, draws: f64) -> f64 {
        let mean = residues as f64 * draws;
        mean + 8.0 * (mean * (draws - 1.0)).sqrt()
    }

    /// Cycles in which a limb modulo `modulus` draws.
    pub fn cycles(shape: Shape, modulus: Modulus) -> u64 {
        let numbers = Self::numbers(shape.lanes()) as f64;
        (Self::enough(shape.degree().get(), Self::draws(modulus)) / numbers).ceil() as u64
    }

    /// Average numbers per residue modulo `modulus`: 2^bits/q.
    pub fn draws(modulus: Modulus) -> f64 {
        (1u64 << modulus.bits()) as f64 / modulus.value() as f64
    }
}

#[cfg(test)]
mod tests {
    //! Does a generator keep up with its unit, with as few parts as possible?

    use super::*;
    use polyfabric_kernels::RingDegree;
    use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
    use polyfabric_kernels::primes::PrimeClass;

    fn shape(log2: u32, lanes: usize) -> Shape {
        Shape::new(RingDegree::new(1 << log2).unwrap(), lanes, 16).unwrap()
    }

    #[test]
    fn a_limb_draws_for_at_most_as_many_cycles_as_it_has_tiles() {
        // Including primes just above a power of two, as half of a pair of primes is.
        let modulus = |value: u64| Modulus::new(value).unwrap();
        for (lanes, log2) in [(2, 6), (32, 8), (64, 6), (512, 9), (512, 12), (512, 16), (2048, 16), (65536, 16)] {
            let shape = shape(log2, lanes);
            for q in [65537, (1 << 32) + 15, 0xff_ffe8_0001].map(modulus) {
                let cycles = KeyGenerator::cycles(shape, q);
                assert!((1..=shape.tiles() as u64).contains(&cycles), "N = 2^{log2}, modulo {}: {cycles}", q.value());
                // More than the average, but not a multiple of it.
                let needed = shape.degree().get() as f64 * KeyGenerator::draws(q) / KeyGenerator::numbers(lanes) as f64;
                assert!((1.0..=2.0).contains(&KeyGenerator::draws(q)));
                assert!(cycles as f64 >= needed && (cycles as f64) < 1.3 * needed + 1.0);
            }
        }
    }

    #[test]
    fn a_generator_has_the_fewest_groups_that_keep_up() {
        // The unit as in the RTL, with the paper's lanes: 160 blocks, and 32 cycles.
        assert_eq!(
            (KeyGenerator::groups(512), KeyGenerator::latency(512), KeyGenerator::ring_words(512)),
            (10, 32, 4096)
        );
        assert_eq!(KeyGenerator::blocks(512), 160);
        // 2p numbers and eight deviations: for 32 lanes, exactly the 128 of one group.
        let of = [2, 32, 64, 1024, 2048].map(KeyGenerator::groups);
        assert_eq!(of, [1, 1, 2, 19, 36]);
        for lanes in (1..=16).map(|log2| 1 << log2) {
            let enough = KeyGenerator::enough(lanes, 2.0);
            let groups = KeyGenerator::groups(lanes);
            assert!(enough <= (GROUP * groups) as f64 && enough > (GROUP * (groups - 1)) as f64, "{lanes} lanes");
        }
    }

    /// A Montgomery product of two words is x·y/R, and rows of keys, such as generated masks, are used without conversion. So all sums over Q
    /// and P lack a factor R, in both halves. The constants of a division by P restore it: R in the factor of each source, 1/R in the
    /// weights, R in 1/P.
    #[test]
    fn constants_of_a_division_restore_the_montgomery_factor() {
        let primes = PrimeClass::of_degree(RingDegree::new(64).unwrap()).of_bits(40, 5).unwrap();
        let moduli: Vec<Modulus> = primes.into_iter().map(|prime| Modulus::new(prime).unwrap()).collect();
        let (p, q) = moduli.split_at(2);
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).unwrap();
        let converter = BaseConverter::new(basis(p), basis(q));
        let inverse = |modulus: Modulus, word: u64| modulus.power(word, modulus.value() - 2);
        let r = |modulus: Modulus| modulus.power(2, 40);
        let over_r = |modulus: Modulus| inverse(modulus, r(modulus));
        let of_p = |modulus: Modulus| {
            inverse(modulus, p.iter().fold(1, |product, p| modulus.multiply(product, modulus.reduce(p.value()))))
        };
        let one = |_: Modulus| 1;
        type Factor<'a> = &'a dyn Fn(Modulus) -> u64;
        // A division of a number by P, with factors for the constants of the sources, of the weights, and 1/P.
        let divided = |sums: &[u64], balanced: bool, [source, weight, last]: [Factor<'_>; 3]| -> Vec<u64> {
            let weigh = |(place, &p): (usize, &Modulus)| {
                let (factor, addend) = converter.weight(place);
                p.add(p.multiply(sums[place], p.multiply(factor, source(p))), if balanced { addend } else { 0 })
            };
            let weighed: Vec<u64> = p.iter().enumerate().map(weigh).collect();
            let quotient = |(place, &q): (usize, &Modulus)| {
                let (weights, constant) = converter.combination(place);
                let constant = if balanced { q.multiply(constant, weight(q)) } else { 0 };
                let remainder = weights.iter().zip(&weighed).fold(constant, |sum, (&factor, &word)| {
                    q.add(sum, q.multiply(q.reduce(word), q.multiply(factor, weight(q))))
                });
                q.multiply(q.sub(sums[2 + place], remainder), last(q))
            };
            q.iter().enumerate().map(quotient).collect()
        };
        let restored = |modulus: Modulus| modulus.multiply(of_p(modulus), r(modulus));
        for number in 2..200u64 {
            let sums: Vec<u64> = moduli.iter().map(|&q| q.power(q.reduce(number), 1_000_003 + number)).collect();
            let smaller: Vec<u64> = moduli.iter().zip(&sums).map(|(&q, &sum)| q.multiply(sum, over_r(q))).collect();
            for balanced in [false, true] {
                let wanted = divided(&sums, balanced, [&one, &one, &of_p]);
                assert_ne!(divided(&smaller, balanced, [&r, &over_r, &of_p]), wanted);
                assert_eq!(divided(&smaller, balanced, [&r, &over_r, &restored]), wanted);
            }
        }
    }
}
