//! Chains of moduli as literals, and the primes that they determine.

use polyfabric_kernels::modular::{Modulus, ModulusError};
use polyfabric_kernels::primes::{PrimeClass, PrimeShortage, is_prime};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A run of levels of a chain, with one modulus or two per level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "WrittenLink")]
pub enum ChainLink {
    /// `count` levels of one prime: the largest of exactly `bits` bits.
    Bits {
        /// Bits of the primes.
        bits: u32,
        /// How many.
        count: usize,
    },
    /// `count` levels of two primes each, whose product is close to 2^`pair_bits`: double-prime scales.
    Pairs {
        /// log2 of a pair's product.
        pair_bits: u32,
        /// How many pairs.
        count: usize,
    },
    /// One level with this prime.
    Prime { prime: u64 },
}

/// Any combination of fields, before validation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLink {
    bits: Option<u32>,
    pair_bits: Option<u32>,
    prime: Option<u64>,
    count: Option<usize>,
}

impl TryFrom<WrittenLink> for ChainLink {
    type Error = &'static str;

    fn try_from(link: WrittenLink) -> Result<Self, Self::Error> {
        let count = link.count.unwrap_or(1);
        match link {
            WrittenLink { bits: Some(bits), pair_bits: None, prime: None, .. } => Ok(Self::Bits { bits, count }),
            WrittenLink { bits: None, pair_bits: Some(pair_bits), prime: None, .. } => {
                Ok(Self::Pairs { pair_bits, count })
            }
            WrittenLink { bits: None, pair_bits: None, prime: Some(prime), count: None } => Ok(Self::Prime { prime }),
            _ => Err(
                "some moduli are { bits = 40, count = 3 }, { pair_bits = 60, count = 2 } or { prime = 1099510054913 }: \
                 give one of the three, and a count with the first two only",
            ),
        }
    }
}

impl ChainLink {
    fn levels(self) -> usize {
        match self {
            Self::Bits { count, .. } | Self::Pairs { count, .. } => count,
            Self::Prime { .. } => 1,
        }
    }

    fn primes_per_level(self) -> usize {
        if matches!(self, Self::Pairs { .. }) { 2 } else { 1 }
    }
}

/// Why a chain determines no primes.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ChainError {
    #[error(transparent)]
    Shortage(#[from] PrimeShortage),
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    #[error("{0} is not prime; give primes, or bits instead")]
    NotPrime(u64),
    #[error(
        "the prime {number} is not 1 modulo {step}, as the ring's transform requires; use one that is, or give bits"
    )]
    NotOfClass { number: u64, step: u64 },
    #[error("pairs of primes of {given} bits together; use {} to {}", PAIR_BITS.start(), PAIR_BITS.end())]
    PairBits { given: u32 },
    #[error("the prime {0} is given twice; give distinct primes")]
    Repeated(u64),
    #[error("the chain has {given} moduli, more than {max}; give fewer")]
    TooLong { given: usize, max: usize },
}

/// Bits of a pair's product: two primes of 16 to 60 bits.
const PAIR_BITS: std::ops::RangeInclusive<u32> = 32..=120;

/// Moduli level by level.
pub type Levels = Vec<Vec<Modulus>>;

/// Chooses distinct primes of `class` for `q` and `p`, level by level from the bottom. Explicit primes are reserved first, then pairs, which
/// need the best fit, then the others in order.
pub fn choose(class: PrimeClass, q: &[ChainLink], p: &[ChainLink]) -> Result<(Levels, Levels), ChainError> {
    let links: Vec<ChainLink> = q.iter().chain(p).copied().collect();
    let given =
        links.iter().map(|link| link.levels().saturating_mul(link.primes_per_level())).fold(0, usize::saturating_add);
    if given > super::ring::MAX_LIMBS {
        return Err(ChainError::TooLong { given, max: super::ring::MAX_LIMBS });
    }
    let mut used = Vec::new();
    let mut levels: Vec<Vec<Vec<u64>>> = vec![Vec::new(); links.len()];
    for (link, levels) in links.iter().zip(&mut levels) {
        if let ChainLink::Prime { prime } = *link {
            Modulus::new(prime)?;
            if !is_prime(prime) {
                return Err(ChainError::NotPrime(prime));
            }
            if !class.contains(prime) {
                return Err(ChainError::NotOfClass { number: prime, step: class.step() });
            }
            if used.contains(&prime) {
                return Err(ChainError::Repeated(prime));
            }
            used.push(prime);
            levels.push(vec![prime]);
        }
    }
    for (link, levels) in links.iter().zip(&mut levels) {
        if let ChainLink::Pairs { pair_bits, count } = *link {
            if !PAIR_BITS.contains(&pair_bits) {
                return Err(ChainError::PairBits { given: pair_bits });
            }
            let pairs = class.double_prime_scales(f64::from(pair_bits).exp2(), count, 6 * count + 16, &used)?;
            for pair in pairs {
                used.extend([pair.high, pair.low]);
                levels.push(vec![pair.high, pair.low]);
            }
        }
    }
    for (link, levels) in links.iter().zip(&mut levels) {
        if let ChainLink::Bits { bits, count } = *link {
            let taken = used.iter().filter(|&&prime| u64::BITS - prime.leading_zeros() == bits).count();
            let primes = class.of_bits(bits, count + taken)?;
            for prime in primes.into_iter().filter(|prime| !used.contains(prime)).take(count).collect::<Vec<_>>() {
                used.push(prime);
                levels.push(vec![prime]);
            }
        }
    }
    let moduli = |levels: &[Vec<Vec<u64>>]| -> Result<Levels, ModulusError> {
        let level = |primes: &Vec<u64>| primes.iter().map(|&prime| Modulus::new(prime)).collect();
        levels.iter().flatten().map(level).collect()
    };
    Ok((moduli(&levels[..q.len()])?, moduli(&levels[q.len()..])?))
}

#[cfg(test)]
mod tests {
    //! Do primes match the request, and are they distinct?

    use super::*;
    use polyfabric_kernels::RingDegree;

    fn class() -> PrimeClass {
        PrimeClass::of_degree(RingDegree::new(1 << 12).expect("a degree"))
    }

    #[test]
    fn chains_are_distinct_and_sized() {
        let prime = class().of_bits(40, 3).expect("primes")[1];
        let q = [
            ChainLink::Bits { bits: 45, count: 1 },
            ChainLink::Prime { prime },
            ChainLink::Bits { bits: 40, count: 4 },
            ChainLink::Pairs { pair_bits: 60, count: 5 },
            ChainLink::Bits { bits: 30, count: 3 },
        ];
        let (levels, special) = choose(class(), &q, &[ChainLink::Bits { bits: 45, count: 2 }]).expect("a chain");
        assert_eq!(levels.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1]);
        assert_eq!(levels[1][0].value(), prime);
        let mut all: Vec<u64> = levels.iter().chain(&special).flatten().map(|modulus| modulus.value()).collect();
        assert!(levels[2..6].iter().all(|level| level[0].bits() == 40));
        for pair in &levels[6..11] {
            let deviation = pair[0].value() as f64 * pair[1].value() as f64 / 60f64.exp2() - 1.0;
            assert!(deviation.abs() < 1e-3, "{deviation}");
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 21);
    }

    #[test]
    fn impossible_chains_are_rejected() {
        let error = |q: &[ChainLink]| choose(class(), q, &[]).expect_err("no chain");
        assert_eq!(error(&[ChainLink::Prime { prime: 15 }]), ChainError::NotPrime(15));
        assert_eq!(error(&[ChainLink::Prime { prime: 17 }]), ChainError::NotOfClass { number: 17, step: 8192 });
        let prime = class().of_bits(40, 1).expect("a prime")[0];
        assert_eq!(error(&[ChainLink::Prime { prime }; 2]), ChainError::Repeated(prime));
        assert!(matches!(error(&[ChainLink::Bits { bits: 14, count: 9 }]), ChainError::Shortage(_)));
        assert!(matches!(error(&[ChainLink::Bits { bits: 62, count: 1 }]), ChainError::Shortage(_)));
        let endless = ChainLink::Pairs { pair_bits: 60, count: usize::MAX };
        assert!(matches!(error(&[endless]), ChainError::TooLong { .. }));
        assert!(matches!(error(&[ChainLink::Prime { prime: u64::MAX }]), ChainError::Modulus(_)));
    }
}
