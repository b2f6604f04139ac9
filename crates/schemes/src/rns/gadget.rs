//! Decomposition of polynomials for a key switch: one type for all variants.
//!
//! Q's limbs are grouped into digits D_1, D_2, …; Q_d is the product of digit d's primes, and P the product of the special primes (1 without
//! any). Let E_d be the idempotent that is 1 modulo digit d's primes and 0 modulo Q's other primes. Then x = Σ_d \[x\]_{Q_d}·E_d mod Q, and
//! a switching key encrypts
//!
//! g_d·s' = P·E_d·s' mod Q·P,
//!
//! with residue P·s' at digit d's limbs and 0 at all others, including those of P. A key is therefore independent of the level: a
//! ciphertext with fewer limbs uses the corresponding limbs of the key.
//!
//! | variant | digits | special primes | after the inner product |
//! |---|---|---|---|
//! | hybrid (K. Han, D. Ki, CT-RSA 2020) | groups of α limbs, dnum of them | k, P ≥ max Q_d | division by P |
//! | per limb: F1, Listing 1 | one per limb | 0 | nothing: the full digits multiply the key's noise |
//! | sub-limb digits | one per limb, cut into digits of b bits | any | as without cutting |
//! | one digit, hints growing with L (C. Gentry, S. Halevi, N. Smart, CRYPTO 2012) | one of all limbs | as many as Q has, P ≥ Q | division by P |
//!
//! Digits of b bits: \[x\]_{q_i} = Σ_k 2^(bk)·x_{i,k}, and the gadget of (i, k) is 2^(bk)·P·E_i. Key terms are ordered by limb, then by k
//! from the lowest bits. A digit is read in [0, 2^b) or, with carries, in [−2^(b−1), 2^(b−1)]; both use the same key.

use polyfabric_kernels::modular::Modulus;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::limb::LimbId;
use super::ring::Ring;

/// An unchecked gadget.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GadgetLiteral {
    /// Q's limbs, cut into digits, in order.
    pub digits: Vec<Vec<LimbId>>,
    /// b: the digit of each limb is cut into digits of b bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_digit_bits: Option<u32>,
    /// P's limbs.
    pub special: Vec<LimbId>,
}

impl GadgetLiteral {
    /// Hybrid: limbs 0 to `q_limbs` − 1 in digits of `digit_limbs` (the last may be shorter), followed by `special` limbs for P.
    pub fn hybrid(q_limbs: usize, digit_limbs: usize, special: usize) -> Self {
        let q = LimbId::range(0, q_limbs);
        let digits = q.chunks(digit_limbs.max(1)).map(<[LimbId]>::to_vec).collect();
        Self { digits, sub_digit_bits: None, special: LimbId::range(q_limbs, special) }
    }

    /// F1's Listing 1: one digit per limb, no special primes.
    pub fn per_limb(q_limbs: usize) -> Self {
        Self::hybrid(q_limbs, 1, 0)
    }

    /// One digit of all limbs, with `special` limbs for P: hints of 2·(L + special) limbs.
    pub fn one_digit(q_limbs: usize, special: usize) -> Self {
        Self::hybrid(q_limbs, q_limbs, special)
    }

    /// One digit per limb, cut into digits of `bits` bits.
    pub fn sub_limb(q_limbs: usize, bits: u32, special: usize) -> Self {
        Self { sub_digit_bits: Some(bits), ..Self::hybrid(q_limbs, 1, special) }
    }
}

/// Why a gadget is unusable with a ring.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GadgetError {
    #[error("digit {0} of the gadget has no limb; give every digit at least one, and at least one digit")]
    Empty(usize),
    #[error("the gadget names limb {limb}, but the ring has {count} (0 to {}); use one of them", count - 1)]
    Unknown { limb: LimbId, count: usize },
    #[error("the gadget names limb {0} twice; a limb is in one digit, or special")]
    Repeated(LimbId),
    #[error("digit {digit} has {limbs} limbs, but digits of {bits} bits are cut from one limb; use one limb per digit")]
    SubDigit { digit: usize, limbs: usize, bits: u32 },
    #[error("digits of {0} bits; use 1 to 60")]
    SubDigitBits(u32),
    #[error(
        "the special primes have {special_bits} bits in all, digit {digit} has {digit_bits}; use more or larger special primes, or smaller digits"
    )]
    SpecialTooSmall { digit: usize, digit_bits: u32, special_bits: u32 },
}

/// One term of a gadget, represented by one pair of a switching key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GadgetTerm {
    /// The digit, an index into [`Gadget::digits`].
    pub digit: usize,
    /// log2 of the factor of P·E_d: b·k.
    pub shift: u32,
}

/// A checked gadget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gadget {
    literal: GadgetLiteral,
    q: Vec<LimbId>,
    qp: Vec<LimbId>,
    terms: Vec<GadgetTerm>,
}

impl Gadget {
    /// How much smaller than a digit P may be, in bits: primes of one nominal size differ by less.
    const SLACK_BITS: f64 = 1.0;

    /// Checks `literal` for `ring`.
    pub fn new(ring: &Ring, literal: GadgetLiteral) -> Result<Self, GadgetError> {
        Self::of_moduli(ring.moduli(), literal)
    }

    /// Checks `literal` for a ring with this table of moduli.
    pub fn of_moduli(moduli: &[Modulus], literal: GadgetLiteral) -> Result<Self, GadgetError> {
        if literal.digits.is_empty() {
            return Err(GadgetError::Empty(0));
        }
        if let Some(bits) = literal.sub_digit_bits.filter(|bits| !(1..=60).contains(bits)) {
            return Err(GadgetError::SubDigitBits(bits));
        }
        let q: Vec<LimbId> = literal.digits.iter().flatten().copied().collect();
        let qp: Vec<LimbId> = q.iter().chain(&literal.special).copied().collect();
        for (index, &limb) in qp.iter().enumerate() {
            if limb.index() >= moduli.len() {
                return Err(GadgetError::Unknown { limb, count: moduli.len() });
            }
            if qp[..index].contains(&limb) {
                return Err(GadgetError::Repeated(limb));
            }
        }
        let log2_product =
            |limbs: &[LimbId]| -> f64 { limbs.iter().map(|limb| (moduli[limb.index()].value() as f64).log2()).sum() };
        let special_bits = log2_product(&literal.special);
        let mut terms = Vec::new();
        for (digit, limbs) in literal.digits.iter().enumerate() {
            if limbs.is_empty() {
                return Err(GadgetError::Empty(digit));
            }
            let digit_bits = log2_product(limbs);
            let Some(bits) = literal.sub_digit_bits else {
                if !literal.special.is_empty() && special_bits + Self::SLACK_BITS < digit_bits {
                    let (digit_bits, special_bits) = (digit_bits.ceil() as u32, special_bits as u32);
                    return Err(GadgetError::SpecialTooSmall { digit, digit_bits, special_bits });
                }
                terms.push(GadgetTerm { digit, shift: 0 });
                continue;
            };
            if limbs.len() != 1 {
                return Err(GadgetError::SubDigit { digit, limbs: limbs.len(), bits });
            }
            let count = moduli[limbs[0].index()].bits().div_ceil(bits);
            terms.extend((0..count).map(|k| GadgetTerm { digit, shift: k * bits }));
        }
        Ok(Self { literal, q, qp, terms })
    }

    /// As written.
    pub fn literal(&self) -> &GadgetLiteral {
        &self.literal
    }

    pub fn digits(&self) -> &[Vec<LimbId>] {
        &self.literal.digits
    }

    /// The gadget restricted to `limbs` in its digits, for a key over fewer limbs of Q.
    pub fn over(&self, limbs: &[LimbId]) -> GadgetLiteral {
        let mut literal = self.literal.clone();
        for digit in &mut literal.digits {
            digit.retain(|limb| limbs.contains(limb));
        }
        literal.digits.retain(|digit| !digit.is_empty());
        literal
    }

    /// b, if digits are smaller than a limb.
    pub fn sub_digit_bits(&self) -> Option<u32> {
        self.literal.sub_digit_bits
    }

    /// Q's limbs, in the digits' order.
    pub fn q(&self) -> &[LimbId] {
        &self.q
    }

    /// P's limbs.
    pub fn special(&self) -> &[LimbId] {
        &self.literal.special
    }

    /// Q's limbs, then P's: those of a key.
    pub fn qp(&self) -> &[LimbId] {
        &self.qp
    }

    /// The meaning of a key's pairs, in order: one per digit, or ceil(bits of q / b) per limb.
    pub fn terms(&self) -> &[GadgetTerm] {
        &self.terms
    }

    /// How many leading terms a ciphertext over `limbs` needs: those whose digit has one of them. The limbs are a prefix of Q's.
    pub fn terms_at(&self, limbs: &[LimbId]) -> usize {
        let used = |term: &GadgetTerm| self.literal.digits[term.digit].iter().any(|limb| limbs.contains(limb));
        self.terms.iter().take_while(|&term| used(term)).count()
    }
}
