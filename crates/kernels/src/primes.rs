//! Primes: a deterministic test, and searches for chains of moduli.
//!
//! A negacyclic NTT of degree N needs a prime q ≡ 1 mod 2N. F1's multiplier needs q ≡ 1 mod 2^16, which covers every N up to 2^15.

use crate::modular::{Modulus, PrimeForm};
use crate::ring::RingDegree;
use thiserror::Error;

/// Whether `number` is prime.
///
/// The Miller-Rabin test to the first twelve prime bases, which no composite below 3.3·10^24 passes (J. Sorenson and J. Webster, Math. Comp. 86,
/// 2017), so no 64-bit one does.
pub fn is_prime(number: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if number < 2 {
        return false;
    }
    if let Some(divisor) = BASES.into_iter().find(|base| number.is_multiple_of(*base)) {
        return number == divisor;
    }
    let multiply = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(number)) as u64;
    let twos = (number - 1).trailing_zeros();
    BASES.into_iter().all(|base| {
        // base^odd, then squared until it is −1.
        let (mut power, mut square, mut exponent) = (1, base, (number - 1) >> twos);
        while exponent != 0 {
            if exponent & 1 == 1 {
                power = multiply(power, square);
            }
            square = multiply(square, square);
            exponent >>= 1;
        }
        if power == 1 {
            return true;
        }
        for _ in 0..twos {
            if power == number - 1 {
                return true;
            }
            power = multiply(power, power);
        }
        false
    })
}

/// Too few primes of a kind exist.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "only {found} of {wanted} primes = 1 mod {step} exist from {low} to {high}; use another bit size or fewer primes"
)]
pub struct PrimeShortage {
    pub wanted: usize,
    pub found: usize,
    pub step: u64,
    pub low: u64,
    pub high: u64,
}

/// A class of primes: those that are 1 modulo a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimeClass {
    step: u64,
}

impl PrimeClass {
    /// F1's class, q ≡ 1 mod 2^16 (section 5.3; [`PrimeForm`]).
    pub const ONE_MOD_WORD: Self = Self { step: 1 << PrimeForm::WORD_BITS };

    /// Primes with a negacyclic NTT of `degree`: q ≡ 1 mod 2N.
    pub fn of_degree(degree: RingDegree) -> Self {
        Self { step: 2 * degree.get() as u64 }
    }

    /// Primes in both classes.
    pub fn and(self, other: Self) -> Self {
        Self { step: self.step.max(other.step) }
    }

    /// The power of two that the primes are 1 modulo.
    pub fn step(self) -> u64 {
        self.step
    }

    /// Whether `number` is a prime of the class.
    pub fn contains(self, number: u64) -> bool {
        number % self.step == 1 && is_prime(number)
    }

    /// The class's primes ≤ `target`, descending.
    pub fn at_or_below(self, target: u64) -> impl Iterator<Item = u64> {
        let first = target.checked_sub(1).map(|target| target / self.step * self.step + 1);
        std::iter::successors(first, move |number| number.checked_sub(self.step)).filter(|&number| is_prime(number))
    }

    /// The class's primes > `target` that fit a [`Modulus`], ascending.
    pub fn above(self, target: u64) -> impl Iterator<Item = u64> {
        let first = target.saturating_sub(1) / self.step * self.step + 1;
        std::iter::successors(Some(first), move |number| number.checked_add(self.step))
            .take_while(|number| number >> Modulus::MAX_BITS == 0)
            .filter(move |&number| number > target && is_prime(number))
    }

    /// The class's primes by distance from `target` (the smaller of two equally distant ones first).
    pub fn around(self, target: u64) -> impl Iterator<Item = u64> {
        let (mut below, mut above) = (self.at_or_below(target).peekable(), self.above(target).peekable());
        std::iter::from_fn(move || match (below.peek(), above.peek()) {
            (Some(low), Some(high)) if high - target < target - low => above.next(),
            (Some(_), _) => below.next(),
            (None, _) => above.next(),
        })
    }

    /// The `count` largest of exactly `bits` bits, descending.
    ///
    /// # Errors
    /// [`PrimeShortage`] if there are fewer, or `bits` is not from 2 to 61.
    pub fn of_bits(self, bits: u32, count: usize) -> Result<Vec<u64>, PrimeShortage> {
        let served = (2..=Modulus::MAX_BITS).contains(&bits);
        let (low, high) = if served { (1 << (bits - 1), (1 << bits) - 1) } else { (0, 0) };
        let primes: Vec<u64> = self.at_or_below(high).take_while(|&prime| prime >= low).take(count).collect();
        if primes.len() < count {
            return Err(PrimeShortage { wanted: count, found: primes.len(), step: self.step, low, high });
        }
        Ok(primes)
    }

    /// `count` disjoint pairs with products close to `scale`, closest first: the two primes that one double-prime rescaling drops.
    ///
    /// Candidates are the `candidates` primes around the square root of `scale`, excluding `used`. The pair with the closest ratio is chosen, its primes
    /// are removed, and so on.
    ///
    /// # Errors
    /// [`PrimeShortage`] if there are fewer pairs.
    pub fn double_prime_scales(
        self,
        scale: f64,
        count: usize,
        candidates: usize,
        used: &[u64],
    ) -> Result<Vec<PrimePair>, PrimeShortage> {
        let root = scale.abs().sqrt().clamp(2.0, (1u64 << Modulus::MAX_BITS) as f64 - 1.0) as u64;
        let primes: Vec<u64> = self.around(root).filter(|prime| !used.contains(prime)).take(candidates).collect();
        let mut pairs: Vec<PrimePair> = Vec::new();
        for (index, &a) in primes.iter().enumerate() {
            pairs.extend(primes[index + 1..].iter().map(|&b| PrimePair::new(a, b, scale)));
        }
        pairs.sort_by(|x, y| x.deviation.abs().total_cmp(&y.deviation.abs()));
        let mut chosen: Vec<PrimePair> = Vec::new();
        for pair in pairs {
            if chosen.len() < count && chosen.iter().all(|other| !other.shares(pair)) {
                chosen.push(pair);
            }
        }
        if chosen.len() < count {
            let (low, high) = (primes.iter().min().copied().unwrap_or(0), primes.iter().max().copied().unwrap_or(0));
            return Err(PrimeShortage { wanted: 2 * count, found: 2 * chosen.len(), step: self.step, low, high });
        }
        Ok(chosen)
    }
}

/// Two primes whose product represents a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrimePair {
    /// The larger prime.
    pub high: u64,
    /// The smaller prime.
    pub low: u64,
    /// high·low / scale − 1.
    pub deviation: f64,
}

impl PrimePair {
    fn new(a: u64, b: u64, scale: f64) -> Self {
        Self { high: a.max(b), low: a.min(b), deviation: a as f64 * b as f64 / scale - 1.0 }
    }

    fn shares(self, other: Self) -> bool {
        [self.high, self.low].iter().any(|prime| [other.high, other.low].contains(prime))
    }
}

/// A primitive `order`-th root of unity modulo a prime, for a power of two `order` that divides q − 1: the first x^((q−1)/order) over x = 2, 3, … whose
/// (order/2)-th power is −1. `None` if `order` does not divide q − 1, or if q is composite and no candidate below 1,000 works.
pub fn primitive_root(modulus: Modulus, order: u64) -> Option<u64> {
    let q = modulus.value();
    if !order.is_power_of_two() || order < 2 || !(q - 1).is_multiple_of(order) {
        return None;
    }
    // Half of all x work: those that are not squares.
    (2..q.min(1_000)).map(|x| modulus.power(x, (q - 1) / order)).find(|&root| modulus.power(root, order / 2) == q - 1)
}
