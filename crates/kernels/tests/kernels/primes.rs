//! Do the primes match a sieve, and do the searches return the right ones in the right order?

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::*;
fn sieve(limit: usize) -> Vec<bool> {
    let mut prime = vec![true; limit];
    prime[..2].fill(false);
    for factor in 2..limit {
        if prime[factor] {
            (factor * factor..limit).step_by(factor).for_each(|multiple| prime[multiple] = false);
        }
    }
    prime
}

#[test]
fn agrees_with_a_sieve() {
    for (number, &prime) in sieve(200_000).iter().enumerate() {
        assert_eq!(is_prime(number as u64), prime, "{number}");
    }
}

#[test]
fn sees_through_strong_pseudoprimes() {
    // The smallest composites that pass for the first 4, 7, 9 and 11 prime bases (Jaeschke; Jiang and Deng).
    for composite in [3_215_031_751, 341_550_071_728_321, 3_825_123_056_546_413_051, u64::MAX] {
        assert!(!is_prime(composite), "{composite}");
    }
    // Largest primes below 2^61, 2^63 and 2^64.
    for prime in [(1 << 61) - 1, (1 << 63) - 25, u64::MAX - 58] {
        assert!(is_prime(prime), "{prime}");
    }
}

#[test]
fn f1_has_6186_primes() {
    assert_eq!(PrimeClass::ONE_MOD_WORD.at_or_below(u64::from(u32::MAX)).count(), 6_186);
}

#[test]
fn searches_are_ordered_and_complete() {
    let class = PrimeClass::of_degree(RingDegree::new(16).unwrap());
    let prime = sieve(100_000);
    let all: Vec<u64> = (1..100_000u64).step_by(32).filter(|&number| prime[number as usize]).collect();
    for target in [0, 1, 97, 98, 5_000, 50_003] {
        let below: Vec<u64> = all.iter().copied().filter(|&number| number <= target).rev().collect();
        assert_eq!(class.at_or_below(target).collect::<Vec<_>>(), below);
        let above: Vec<u64> = all.iter().copied().filter(|&number| number > target).take(50).collect();
        assert_eq!(class.above(target).take(50).collect::<Vec<_>>(), above);
        let mut around = all.clone();
        around.sort_by_key(|&number| (number.abs_diff(target), number));
        assert_eq!(class.around(target).take(100).collect::<Vec<_>>(), around[..100]);
    }
    let bits = class.of_bits(16, 20).unwrap();
    assert!(bits.iter().all(|&prime| prime >> 15 == 1) && bits.is_sorted_by(|a, b| a > b));
}

#[test]
fn too_few_primes_are_an_error() {
    let shortage = PrimeClass::ONE_MOD_WORD.of_bits(18, 5).unwrap_err();
    assert_eq!((shortage.wanted, shortage.found), (5, 0));
    assert!(PrimeClass::ONE_MOD_WORD.of_bits(62, 1).is_err());
    assert!(PrimeClass::ONE_MOD_WORD.double_prime_scales(2f64.powi(40), 9, 4, &[]).is_err());
}

#[test]
fn pairs_are_disjoint_and_close() {
    let class = PrimeClass::of_degree(RingDegree::new(1 << 14).unwrap()).and(PrimeClass::ONE_MOD_WORD);
    let scale = 2f64.powi(60);
    let first = class.double_prime_scales(scale, 1, 40, &[]).unwrap()[0];
    let pairs = class.double_prime_scales(scale, 12, 40, &[first.high]).unwrap();
    let mut primes: Vec<u64> = pairs.iter().flat_map(|pair| [pair.high, pair.low]).collect();
    assert!(primes.iter().all(|&prime| class.contains(prime) && prime != first.high));
    primes.sort_unstable();
    primes.dedup();
    assert_eq!(primes.len(), 24);
    assert!(pairs.iter().all(|pair| pair.deviation.abs() < 1e-3), "{pairs:?}");
    assert!(first.deviation.abs() <= pairs[0].deviation.abs());
}

#[test]
fn roots_are_primitive() {
    for prime in PrimeClass::ONE_MOD_WORD.at_or_below(1 << 32).take(20) {
        let modulus = Modulus::new(prime).unwrap();
        let root = primitive_root(modulus, 1 << 16).unwrap();
        assert_eq!(modulus.power(root, 1 << 15), prime - 1);
        assert_eq!(primitive_root(modulus, 3), None);
    }
    assert_eq!(primitive_root(Modulus::new(97).unwrap(), 64), None);
}
