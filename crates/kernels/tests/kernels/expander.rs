//! Are the residues uniform, equal in every implementation, and ChaCha's?

use polyfabric_kernels::expander::*;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

fn seed(number: u8) -> [u8; 32] {
    std::array::from_fn(|index| number.wrapping_mul(31).wrapping_add(index as u8))
}

fn moduli() -> Vec<Modulus> {
    let mut values: Vec<u64> =
        (18..=61).filter_map(|bits| PrimeClass::ONE_MOD_WORD.at_or_below((1 << bits) - 1).next()).collect();
    // Just above a power of two, where half of the numbers are rejected, and below F1's class.
    values.extend([2, 3, 5, 17, 257, (1 << 32) + 15, (1 << 50) + 55]);
    values.into_iter().map(|value| Modulus::new(value).unwrap()).collect()
}

#[test]
fn follows_an_independent_chacha() {
    for modulus in moduli() {
        let mut fast = vec![0; 1_000];
        UniformStream::new(&seed(1), 7, modulus).fill(&mut fast);
        let mut portable = vec![0; 1_000];
        UniformStream::new(&seed(1), 7, modulus).fill_portable(&mut portable);
        assert_eq!(fast, portable, "{modulus:?}");
        let mut generator = ChaCha8Rng::from_seed(seed(1));
        generator.set_stream(7);
        let mut expected = Vec::new();
        while expected.len() < 1_000 {
            let blocks: Vec<[u32; 16]> = (0..16).map(|_| std::array::from_fn(|_| generator.next_u32())).collect();
            for word in 0..16 {
                for pair in blocks.chunks_exact(2) {
                    let number = u64::from(pair[0][word]) | u64::from(pair[1][word]) << 32;
                    let number = number % (1 << modulus.bits());
                    expected.extend(modulus.holds(number).then_some(number));
                }
            }
        }
        assert_eq!(fast, expected[..1_000], "{modulus:?}");
    }
}

#[test]
fn streams_and_seeds_differ_and_lengths_agree() {
    let modulus = Modulus::new(PrimeClass::ONE_MOD_WORD.of_bits(40, 1).unwrap()[0]).unwrap();
    let draw = |number: u8, stream: u64, length: usize| {
        let mut residues = vec![0; length];
        UniformStream::new(&seed(number), stream, modulus).fill(&mut residues);
        residues
    };
    let long = draw(1, 0, 5_000);
    for length in [0, 1, 7, 8, 127, 128, 129, 255, 1_024, 4_999] {
        assert_eq!(draw(1, 0, length), long[..length]);
        // In chunks of that length, in either implementation.
        for portable in [false, true] {
            let mut stream = UniformStream::new(&seed(1), 0, modulus);
            let mut pieces = vec![0; 5_000];
            for piece in pieces.chunks_mut(length.max(1)) {
                if portable { stream.fill_portable(piece) } else { stream.fill(piece) }
            }
            assert_eq!(pieces, long, "{length}");
        }
    }
    for (number, stream) in [(1, 1), (1, 1 << 32), (2, 0)] {
        let other = draw(number, stream, 5_000);
        assert!(other.iter().zip(&long).filter(|(a, b)| a == b).count() < 2);
    }
}

/// χ² of 64 equal cells over 2^18 draws, below its mean 63 plus six standard deviations (√126).
#[test]
fn residues_are_uniform() {
    for modulus in moduli().into_iter().filter(|modulus| modulus.value() > 1 << 20) {
        let mut residues = vec![0; 1 << 18];
        UniformStream::new(&seed(3), modulus.value(), modulus).fill(&mut residues);
        let mut cells = [0f64; 64];
        for residue in residues {
            cells[(u128::from(residue) * 64 / u128::from(modulus.value())) as usize] += 1.0;
        }
        let expected = f64::from(1 << 18) / 64.0;
        let chi: f64 = cells.iter().map(|count| (count - expected).powi(2) / expected).sum();
        assert!(chi < 63.0 + 6.0 * 126f64.sqrt(), "{modulus:?}: {chi}");
    }
}
