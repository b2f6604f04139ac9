//! Damages valid input.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Format of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file that ends in the hash of the preceding bytes.
    Hashed,
    /// Bytes without a hash.
    Raw,
    Text,
}

/// Bytes of the hash.
const HASH: usize = 32;

/// Numbers at which lengths and counts often fail.
const EDGES: [u64; 10] = [0, 1, 2, 16, 255, 65_535, 1 << 31, u32::MAX as u64, 1 << 61, u64::MAX];

/// One of `samples` with damage in one to four places.
pub fn mutated(samples: &[Vec<u8>], form: Form, random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = samples[random.random_range(0..samples.len())].clone();
    for _ in 0..random.random_range(1..=4) {
        damage(&mut bytes, samples, form, random);
    }
    if form == Form::Hashed && random.random_bool(0.75) && bytes.len() >= HASH {
        let end = bytes.len() - HASH;
        let hash = blake3::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(hash.as_bytes());
    }
    bytes
}

/// A position in `bytes`: anywhere, or near the start, where headers are.
fn place(bytes: &[u8], random: &mut ChaCha8Rng) -> usize {
    let end = if random.random_bool(0.6) { bytes.len().min(300) } else { bytes.len() };
    random.random_range(0..end.max(1))
}

fn damage(bytes: &mut Vec<u8>, samples: &[Vec<u8>], form: Form, random: &mut ChaCha8Rng) {
    if bytes.is_empty() {
        bytes.push(0);
    }
    let at = place(bytes, random);
    match random.random_range(0..8) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at] = random.random(),
        2 => {
            // A number of four or eight bytes, or its digits.
            let edge = EDGES[random.random_range(0..EDGES.len())];
            let (little, digits) = (edge.to_le_bytes(), edge.to_string());
            let number =
                if form == Form::Text { digits.as_bytes() } else { &little[..if random.random() { 4 } else { 8 }] };
            let end = (at + number.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&number[..end - at]);
        }
        3 => bytes.truncate(at),
        4 => {
            let end = (at + random.random_range(1..64)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => {
            let end = (at + random.random_range(1..64)).min(bytes.len());
            let part = bytes[at..end].to_vec();
            let to = place(bytes, random);
            bytes.splice(to..to, part);
        }
        6 => {
            let other = &samples[random.random_range(0..samples.len())];
            let from = random.random_range(0..other.len());
            let part = other[from..(from + random.random_range(1..200)).min(other.len())].to_vec();
            bytes.splice(at..at, part);
        }
        _ => bytes.extend((0..random.random_range(1..40)).map(|_| random.random::<u8>())),
    }
}
