//! Kernel records: numbers, and locations of words.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::DigitWindow;
use polyfabric_schemes::rns::{LimbId, Part};

/// The memory indexed by a value of a [`Record`]; [`Space::Number`] for a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Number,
    /// Defined by nodes: a register here, a slot after planning.
    Register,
    Input,
    Plaintext,
    Key,
    /// Single words: constants of base conversions.
    Table,
}

/// N words on the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub space: Space,
    pub index: u32,
}

/// One limb of one polynomial of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeyLimb {
    /// Index into [`Steps::keys`].
    pub key: u32,
    pub row: u16,
    pub part: Part,
    pub limb: LimbId,
    /// Bytes of its words above their lower 32 bits, which inner products read separately; 0 for whole words, as other kernels read them.
    pub upper_bytes: usize,
}

impl KeyLimb {
    /// Its bytes in a ring of `degree`.
    pub(super) fn bytes(&self, degree: RingDegree) -> usize {
        let of_word = if self.upper_bytes == 0 { size_of::<u64>() } else { size_of::<u32>() + self.upper_bytes };
        degree.get() * of_word
    }
}

/// Least number of bytes, in a size that kernels support, above the lower 32 bits of residues modulo `modulus`.
pub(super) fn upper_bytes(modulus: Modulus) -> usize {
    match modulus.value() >> 32 {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        _ => 4,
    }
}

/// A kernel record: words and their spaces.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub words: Vec<u64>,
    pub spaces: Vec<Space>,
    /// Word products per word of a limb, without butterflies.
    pub products: usize,
}

impl Record {
    pub(super) fn number(&mut self, word: u64) {
        self.words.push(word);
        self.spaces.push(Space::Number);
    }

    pub(super) fn location(&mut self, location: Location) {
        self.words.push(u64::from(location.index));
        self.spaces.push(location.space);
    }

    pub(super) fn limb(&mut self, limb: LimbId) {
        self.number(u64::from(limb.0));
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.words.extend(&other.words);
        self.spaces.extend(&other.spaces);
        self.products += other.products;
    }
}

/// One summand; kinds as in `kernels/words.cu`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub factor: Factor,
    pub negative: bool,
    /// Automorphism of the first factor.
    pub element: Option<GaloisElement>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Factor {
    Word(Location),
    Product(Location, Location),
    Scaled(Location, u64),
    Constant(u64),
    /// Added to the first word only.
    FirstConstant(u64),
}

/// Methods of computing coefficients from other polynomials, as in `kernels/residues.h`.
#[derive(Clone, Debug)]
pub(super) enum Load {
    Words(Location),
    Reduced { source: Location, from: Modulus, centred: bool },
    Digit { source: Location, window: DigitWindow },
    Substituted { source: Location, element: GaloisElement },
}

/// ⌊w · 2^64/q⌋.
pub(super) fn quotient(factor: u64, modulus: Modulus) -> u64 {
    ((u128::from(factor) << 64) / u128::from(modulus.value())) as u64
}

impl Term {
    /// Whether it is an unmodified polynomial.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.factor, Factor::Word(_) | Factor::Scaled(..)) && self.element.is_none()
    }

    pub(super) fn through(self, element: GaloisElement) -> Self {
        Self { element: Some(element), ..self }
    }

    pub(super) fn record(self, record: &mut Record) {
        let kind = match self.factor {
            Factor::Word(a) => {
                record.location(a);
                record.number(0);
                0
            }
            Factor::Product(a, b) => {
                record.location(a);
                record.location(b);
                record.products += 1;
                1
            }
            Factor::Scaled(a, constant) => {
                record.location(a);
                record.number(constant);
                record.products += 1;
                2
            }
            Factor::Constant(constant) => {
                record.number(0);
                record.number(constant);
                3
            }
            Factor::FirstConstant(constant) => {
                record.number(0);
                record.number(constant);
                4
            }
        };
        let element = self.element.map_or(0, |element| element.value() as u64);
        record.number(kind | u64::from(self.negative) << 4 | element << 8);
    }
}

impl Load {
    /// Appends the method for coefficients modulo `modulus`.
    pub(super) fn record(self, record: &mut Record, modulus: Modulus) {
        match self {
            Self::Words(location) => {
                record.number(0);
                record.location(location);
            }
            Self::Reduced { source, from, centred } => {
                record.number(1);
                record.location(source);
                record.number(if centred { from.value().div_ceil(2) } else { u64::MAX });
                record.number(modulus.reduce(from.value()));
            }
            Self::Digit { source, window: DigitWindow { bits, index, count } } => {
                let half = 1u64 << (bits - 1);
                let last = index == count - 1;
                record.number(2);
                record.location(source);
                record.number((0..count - 1).map(|digit| half << (digit * bits)).sum());
                record.number(u64::from(index * bits));
                record.number(if last { u64::MAX } else { (half << 1) - 1 });
                record.number(if last { 0 } else { modulus.reduce(half) });
            }
            Self::Substituted { source, element } => {
                record.number(3);
                record.location(source);
                record.number(element.inverse().value() as u64);
            }
        }
    }
}
