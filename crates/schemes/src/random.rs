//! Randomness: seeds from the operating system, and ChaCha20 streams from seeds.
//!
//! Secrets and noise come from one seed, the public masks of ciphertexts and keys from another. The seeds are independent, so publishing
//! the mask seed of a transport key reveals nothing about the secret stream. Each row of a key has its own streams (the row's number is
//! the nonce), so rows can be made in any order on any core with the same result.

use polyfabric_kernels::Torus;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{OsRng, RngCore, SeedableRng, TryRngCore};
use thiserror::Error;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The operating system provided no randomness.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the operating system's random generator failed ({0}); keys and encryptions need it, so nothing was made")]
pub struct RandomnessError(String);

/// A public seed, from which anyone can expand the masks of a transport key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSeed(pub [u8; 32]);

/// A secret seed, wiped from memory when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SecretSeed([u8; 32]);

/// Purpose of a stream; streams of different purposes are distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Bits of the secret keys.
    SecretKey = 0,
    /// Rows of the bootstrapping key.
    BootstrapKey = 1,
    /// Rows of the key-switching key.
    KeySwitchKey = 2,
    /// Ciphertexts.
    Encryption = 3,
    /// Public encryption keys of CKKS and BGV.
    PublicKey = 4,
    /// Noise that floods a shared decryption.
    Flooding = 5,
    /// The second secret of a party, which lives as long as the joint relinearisation key is made.
    PartySecret = 6,
    /// Coefficients that hide a secret which is shared among parties.
    Sharing = 7,
    /// Rows of the circuit-bootstrapping key.
    CircuitKey = 8,
}

/// The two seeds, independent of each other, from which keys or ciphertexts are made.
#[derive(Clone)]
pub struct Seeds {
    /// For secrets and noise.
    pub secret: SecretSeed,
    pub mask: MaskSeed,
}

/// An endless stream of uniform words.
pub struct Stream {
    generator: ChaCha20Rng,
}

fn os_bytes() -> Result<[u8; 32], RandomnessError> {
    let mut bytes = [0; 32];
    OsRng.try_fill_bytes(&mut bytes).map_err(|error| RandomnessError(error.to_string()))?;
    Ok(bytes)
}

impl Seeds {
    /// Two independent seeds from the operating system.
    ///
    /// # Errors
    /// [`RandomnessError`] if the operating system gives none.
    pub fn from_os() -> Result<Self, RandomnessError> {
        Ok(Self { secret: SecretSeed(os_bytes()?), mask: MaskSeed(os_bytes()?) })
    }

    /// Reproducible seeds for tests; never for secrets.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(seed: u64) -> Self {
        let derive = |context: &str| blake3::derive_key(context, &seed.to_le_bytes());
        Self {
            secret: SecretSeed(derive("polyfabric schemes 2026 test secret stream")),
            mask: MaskSeed(derive("polyfabric schemes 2026 test mask stream")),
        }
    }
}

fn stream(seed: [u8; 32], purpose: Purpose, row: u64) -> Stream {
    let mut generator = ChaCha20Rng::from_seed(seed);
    // Rows stay below 2^56: a key has at most 2^36 bytes and a batch fits memory.
    generator.set_stream((purpose as u64) << 56 | row);
    Stream { generator }
}

impl MaskSeed {
    /// The stream of one row's masks.
    pub fn stream(&self, purpose: Purpose, row: u64) -> Stream {
        stream(self.0, purpose, row)
    }
}

impl SecretSeed {
    /// Bytes in a file.
    pub(crate) const BYTES: usize = 32;

    /// From the operating system.
    ///
    /// # Errors
    /// [`RandomnessError`] if the operating system gives none.
    pub fn from_os() -> Result<Self, RandomnessError> {
        Ok(Self(os_bytes()?))
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// A seed that reveals neither this one nor those of other labels: BLAKE3 with this seed as key.
    pub fn derive(&self, label: &[u8]) -> Self {
        Self(*blake3::keyed_hash(&self.0, label).as_bytes())
    }

    /// The stream of one row's noise, or of a key's bits.
    pub fn stream(&self, purpose: Purpose, row: u64) -> Stream {
        stream(self.0, purpose, row)
    }
}

impl Drop for Stream {
    /// Overwrites the generator, whose state would reveal the secret stream.
    fn drop(&mut self) {
        self.generator = ChaCha20Rng::from_seed([0; 32]);
        std::hint::black_box(self);
    }
}

impl Stream {
    /// Fills `masks` with uniform torus elements.
    pub fn fill_uniform<T: Torus>(&mut self, masks: &mut [T]) {
        if T::BITS == 32 {
            masks.iter_mut().for_each(|mask| *mask = T::from_u64(u64::from(self.generator.next_u32())));
        } else {
            masks.iter_mut().for_each(|mask| *mask = T::from_u64(self.generator.next_u64()));
        }
    }

    /// 64 uniform bits.
    pub fn word(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A uniform number below `bound`, not 0, by rejection: words are cut to the bits of the bound until one is below it.
    pub fn below(&mut self, bound: u64) -> u64 {
        let mask = u64::MAX >> (bound - 1).max(1).leading_zeros();
        loop {
            let word = self.word() & mask;
            if word < bound {
                return word;
            }
        }
    }

    /// `len` uniform bits, one per byte.
    pub fn bits(&mut self, len: usize) -> Vec<u8> {
        let mut bits = Vec::with_capacity(len);
        while bits.len() < len {
            let mut word = self.generator.next_u64();
            bits.extend((0..64.min(len - bits.len())).map(|position| (word >> position & 1) as u8));
            word.zeroize();
        }
        bits
    }

    /// A standard normal sample for tests (Box-Muller; not constant-time).
    #[cfg(test)]
    pub fn normal(&mut self) -> f64 {
        let mut uniform = || ((self.word() >> 11) + 1) as f64 / 2f64.powi(53);
        let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), std::f64::consts::TAU * uniform());
        radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    //! Are the streams uniform and distinct?
    use super::*;

    #[test]
    fn streams_of_different_purposes_rows_and_seeds_differ() {
        let seeds = Seeds::for_tests(1);
        let first = |mut stream: Stream| {
            let mut words = [0u64; 4];
            stream.fill_uniform(&mut words);
            words
        };
        let mut seen = Vec::new();
        for purpose in [Purpose::SecretKey, Purpose::BootstrapKey, Purpose::KeySwitchKey, Purpose::Encryption] {
            for row in [0, 1, 1 << 40] {
                seen.push(first(seeds.mask.stream(purpose, row)));
                seen.push(first(seeds.secret.stream(purpose, row)));
            }
        }
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn the_operating_system_gives_two_independent_seeds() {
        let (a, b) = (Seeds::from_os().expect("randomness"), Seeds::from_os().expect("randomness"));
        assert!(a.mask != b.mask && a.secret.0 != b.secret.0 && a.mask.0 != a.secret.0);
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut stream = Seeds::for_tests(4).secret.stream(Purpose::SecretKey, 0);
        for bound in [1u64, 2, 3, 5, 8, 13] {
            let mut counts = vec![0f64; bound as usize];
            (0..26_000).for_each(|_| counts[stream.below(bound) as usize] += 1.0);
            let share = 26_000.0 / bound as f64;
            assert!(counts.iter().all(|count| (count - share).abs() < 5.0 * share.sqrt()), "{bound}: {counts:?}");
        }
    }

    #[test]
    fn bits_are_balanced() {
        let bits = Seeds::for_tests(2).secret.stream(Purpose::SecretKey, 0).bits(100_001);
        assert_eq!(bits.len(), 100_001);
        let ones = bits.iter().map(|&bit| usize::from(bit)).sum::<usize>() as f64;
        // Five standard deviations of √n/2 = 158.
        assert!((ones - 50_000.0).abs() < 800.0, "{ones}");
    }
}
