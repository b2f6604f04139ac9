//! Encodes integers modulo t as plaintext polynomials: in two rows of N/2 slots, or as coefficients.
//!
//! For a prime t ≡ 1 mod 2N the ring `Z_t[X]/(X^N + 1)` is isomorphic to N copies of Z_t. A polynomial is given by its values at the
//! N odd powers of ψ, a root of unity of order 2N modulo t (N. Smart, F. Vercauteren, Des. Codes Cryptogr. 71, 2014). For
//! 0 ≤ i < N/2, slot i of row 0 is the value at ψ^(5^i) and slot i of row 1 the value at ψ^(−5^i). Therefore X → X^(5^r) rotates both
//! rows by r (slot i receives slot i + r), and X → X^(−1) swaps the rows.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::{Modulus, ModulusError};
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt, NttError};
use polyfabric_kernels::primes::PrimeClass;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An unchecked plaintext modulus t.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaintextModulusLiteral {
    /// A prime t ≡ 1 mod 2N: vectors of N slots.
    Packed(u64),
    /// t = 2^e: polynomials of coefficients. Bootstrapping uses the constant coefficient only.
    PowerOfTwo(u32),
}

/// A checked plaintext modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaintextModulus {
    literal: PlaintextModulusLiteral,
    modulus: Modulus,
}

/// Why a plaintext modulus is unusable or a plaintext cannot be encoded or decoded.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum EncodingError {
    #[error("plaintext modulus {given} is too large; use t below 2^{max_bits}", max_bits = PlaintextModulus::MAX_BITS)]
    TooLarge { given: u64 },
    #[error("plaintext modulus: {0}")]
    Modulus(#[from] ModulusError),
    #[error("plaintext modulus 2^{0}; use 2^1 to 2^{max_bits}", max_bits = PlaintextModulus::MAX_BITS)]
    Exponent(u32),
    #[error("plaintext modulus {t} has no slots: {source}; {near}", near = moduli_near(*t))]
    NoSlots { t: u64, source: NttError },
    #[error(
        "plaintext modulus {t} is a power of two and has coefficients instead of slots; encode coefficients, or use a prime = 1 mod 2N"
    )]
    CoefficientsOnly { t: u64 },
    #[error(
        "{found} values; a vector has {slots} slots, or a power of two from 2 to {slots} that is then repeated; pad or cut it"
    )]
    Slots { found: usize, slots: usize },
    #[error("{found} coefficients, but the ring has {degree}; pad with zeros")]
    Coefficients { found: usize, degree: usize },
    #[error("value {value} at place {place} is not below the plaintext modulus {t}; reduce it first")]
    Value { place: usize, value: u64, t: u64 },
}

/// [`moduli_near`] suggests primes with slots up to this degree: the largest ring whose programs are not bootstrapped.
const EVERYWHERE: u32 = 15;

/// Suggests plaintext moduli near `t`, in words: powers of two (one number per ciphertext) and primes with slots in all rings.
pub fn moduli_near(t: u64) -> String {
    let t = t.clamp(2, (1 << PlaintextModulus::MAX_BITS) - 1);
    let low = 1u64 << t.ilog2();
    let powers: Vec<u64> =
        [low, low << 1].into_iter().filter(|power| power >> PlaintextModulus::MAX_BITS == 0).collect();
    let Ok(degree) = RingDegree::new(1 << EVERYWHERE) else { return String::new() };
    let class = PrimeClass::of_degree(degree);
    let above = class.above(t).next().filter(|prime| prime >> PlaintextModulus::MAX_BITS == 0);
    let primes: Vec<u64> = class.at_or_below(t).next().into_iter().chain(above).collect();
    let listed = |moduli: &[u64]| moduli.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ");
    let many = if powers.len() == 1 { "power" } else { "powers" };
    let (whose, has) = if primes.len() == 1 { ("prime", "it has") } else { ("primes", "they have") };
    format!(
        "near it are the {many} of two {}, for one number a ciphertext, and for vectors the {whose} {}: {has} slots up to degree {}",
        listed(&powers),
        listed(&primes),
        degree.get()
    )
}

impl PlaintextModulus {
    /// t is below 2 to this power.
    pub const MAX_BITS: u32 = 60;

    /// Checks `literal` for rings of `degree`.
    pub fn new(degree: RingDegree, literal: PlaintextModulusLiteral) -> Result<Self, EncodingError> {
        let modulus = match literal {
            PlaintextModulusLiteral::Packed(t) if t >> Self::MAX_BITS != 0 => {
                return Err(EncodingError::TooLarge { given: t });
            }
            PlaintextModulusLiteral::Packed(t) => {
                let modulus = Modulus::new(t)?;
                Ntt::<u64>::new(degree, modulus).map_err(|source| EncodingError::NoSlots { t, source })?;
                modulus
            }
            PlaintextModulusLiteral::PowerOfTwo(exponent) => {
                if !(1..=Self::MAX_BITS).contains(&exponent) {
                    return Err(EncodingError::Exponent(exponent));
                }
                Modulus::new(1 << exponent)?
            }
        };
        Ok(Self { literal, modulus })
    }

    /// As written.
    pub fn literal(self) -> PlaintextModulusLiteral {
        self.literal
    }

    /// t.
    pub fn value(self) -> u64 {
        self.modulus.value()
    }

    /// Arithmetic modulo t.
    pub fn modulus(self) -> Modulus {
        self.modulus
    }

    /// True for a prime t, false for a power of two.
    pub fn is_packed(self) -> bool {
        matches!(self.literal, PlaintextModulusLiteral::Packed(_))
    }
}

/// Encodes and decodes for one ring degree and one t.
#[derive(Debug)]
pub struct Encoder {
    degree: RingDegree,
    modulus: PlaintextModulus,
    slots: Option<Slots>,
}

#[derive(Debug)]
struct Slots {
    transform: Ntt<u64>,
    /// `places[i]`: position of slot i, row 0 first, in the order of the NTT's values.
    places: Vec<u32>,
}

impl Encoder {
    /// Makes the encoder for polynomials of `degree` modulo t.
    ///
    /// # Errors
    /// [`EncodingError`] if `literal` is no plaintext modulus of the degree.
    pub fn new(degree: RingDegree, literal: PlaintextModulusLiteral) -> Result<Self, EncodingError> {
        let modulus = PlaintextModulus::new(degree, literal)?;
        let slots = modulus.is_packed().then(|| -> Result<Slots, EncodingError> {
            let transform = Ntt::new(degree, modulus.modulus())
                .map_err(|source| EncodingError::NoSlots { t: modulus.value(), source })?;
            let (count, order) = (degree.get(), EvaluationOrder::BitReversed);
            // Bit reversal is its own inverse, so value number k is at place `value_at(k)`.
            let place = |exponent: usize| order.value_at(degree, exponent / 2) as u32;
            let powers: Vec<usize> =
                std::iter::successors(Some(1), |power| Some(power * 5 % (2 * count))).take(count / 2).collect();
            let places = powers.iter().map(|&power| place(power));
            let places = places.chain(powers.iter().map(|&power| place(2 * count - power))).collect();
            Ok(Slots { transform, places })
        });
        Ok(Self { degree, modulus, slots: slots.transpose()? })
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// t.
    pub fn modulus(&self) -> PlaintextModulus {
        self.modulus
    }

    fn slots(&self) -> Result<&Slots, EncodingError> {
        self.slots.as_ref().ok_or(EncodingError::CoefficientsOnly { t: self.modulus.value() })
    }

    fn check(&self, values: &[u64]) -> Result<(), EncodingError> {
        let t = self.modulus.value();
        match values.iter().position(|&value| value >= t) {
            Some(place) => Err(EncodingError::Value { place, value: values[place], t }),
            None => Ok(()),
        }
    }

    /// Encodes a vector of slots, row 0 first, as N coefficients in [−t/2, t/2). A vector of S < N slots is two rows of S/2, each repeated
    /// to fill its row. Modulo a power of two there is one value, the constant coefficient.
    ///
    /// # Errors
    /// [`EncodingError`] if t has no slots, S is no power of two from 2 to N, or a value is not below t.
    pub fn encode(&self, values: &[u64]) -> Result<Vec<i64>, EncodingError> {
        if let ([value], None) = (values, &self.slots) {
            self.check(values)?;
            let mut words = vec![0; self.degree.get()];
            words[0] = *value;
            return Ok(self.centred(&words));
        }
        let (slots, count, found) = (self.slots()?, self.degree.get(), values.len());
        if !found.is_power_of_two() || !(2..=count).contains(&found) {
            return Err(EncodingError::Slots { found, slots: count });
        }
        self.check(values)?;
        let (row, half) = (found / 2, count / 2);
        let mut words = vec![0; count];
        for (slot, &place) in slots.places.iter().enumerate() {
            words[place as usize] = values[slot / half * row + slot % half % row];
        }
        slots.transform.inverse(&mut words);
        Ok(self.centred(&words))
    }

    /// Decodes the first `count` slots, in two rows, of a polynomial with coefficients in [0, t). Modulo a power of two `count` is 1 and
    /// the value is the constant coefficient.
    ///
    /// # Errors
    /// As [`Self::encode`], and if there are not N coefficients.
    pub fn decode(&self, coefficients: &[u64], count: usize) -> Result<Vec<u64>, EncodingError> {
        let (degree, found) = (self.degree.get(), coefficients.len());
        if found != degree {
            return Err(EncodingError::Coefficients { found, degree });
        }
        if count == 1 && self.slots.is_none() {
            return Ok(vec![coefficients[0]]);
        }
        let slots = self.slots()?;
        if !count.is_power_of_two() || !(2..=degree).contains(&count) {
            return Err(EncodingError::Slots { found: count, slots: degree });
        }
        self.check(coefficients)?;
        let mut words = coefficients.to_vec();
        slots.transform.forward(&mut words);
        let row = |row: usize| slots.places[row * degree / 2..].iter().take(count / 2);
        Ok(row(0).chain(row(1)).map(|&place| words[place as usize]).collect())
    }

    /// The plaintext polynomial with these coefficients, centred in [−t/2, t/2).
    ///
    /// # Errors
    /// [`EncodingError`] unless there are N of them, below t.
    pub fn encode_coefficients(&self, coefficients: &[u64]) -> Result<Vec<i64>, EncodingError> {
        let (found, degree) = (coefficients.len(), self.degree.get());
        if found != degree {
            return Err(EncodingError::Coefficients { found, degree });
        }
        self.check(coefficients)?;
        Ok(self.centred(coefficients))
    }

    fn centred(&self, words: &[u64]) -> Vec<i64> {
        words.iter().map(|&word| self.modulus.modulus().centre(word)).collect()
    }
}

#[cfg(test)]
mod tests {
    //! Do slots follow the definition, do products and automorphisms act on them as documented, and is bad input rejected?

    use super::*;
    use polyfabric_kernels::automorphism::GaloisElement;
    use polyfabric_kernels::modular::reference;
    use polyfabric_kernels::primes::PrimeClass;
    use proptest::prelude::*;

    fn packed(log2: u32, bits: u32) -> Encoder {
        let degree = RingDegree::new(1 << log2).unwrap();
        let t = PrimeClass::of_degree(degree).of_bits(bits, 1).unwrap()[0];
        Encoder::new(degree, PlaintextModulusLiteral::Packed(t)).unwrap()
    }

    fn residues(encoder: &Encoder, coefficients: &[i64]) -> Vec<u64> {
        coefficients.iter().map(|&c| encoder.modulus().modulus().reduce_signed(c)).collect()
    }

    fn negacyclic(modulus: Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
        let count = a.len();
        let mut product = vec![0; count];
        for (i, &a) in a.iter().enumerate() {
            for (j, &b) in b.iter().enumerate() {
                let term = reference::multiply(modulus, a, b);
                let place = (i + j) % count;
                product[place] =
                    if i + j < count { modulus.add(product[place], term) } else { modulus.sub(product[place], term) };
            }
        }
        product
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn slots_multiply_rotate_and_swap(seed in any::<u64>(), bits in prop::sample::select(vec![12u32, 17, 40, 60]), steps in 0i64..32) {
            let encoder = packed(6, bits);
            let (t, modulus, count) = (encoder.modulus().value(), encoder.modulus().modulus(), 64);
            let draw = |from: u64| -> Vec<u64> { (0..count).map(|i| (seed ^ from).wrapping_mul(2 * i + 1).wrapping_add(seed >> 7) % t).collect() };
            let (x, y) = (draw(1), draw(0x9e37_79b9));
            let (a, b) = (residues(&encoder, &encoder.encode(&x).unwrap()), residues(&encoder, &encoder.encode(&y).unwrap()));
            prop_assert_eq!(&encoder.decode(&a, 64).unwrap(), &x);
            let product = encoder.decode(&negacyclic(modulus, &a, &b), 64).unwrap();
            for slot in 0..64 {
                prop_assert_eq!(product[slot], reference::multiply(modulus, x[slot], y[slot]));
            }
            let rotated = encoder.decode(&GaloisElement::rotation(encoder.degree(), steps).apply_reference(modulus, &a), 64).unwrap();
            let swapped = encoder.decode(&GaloisElement::conjugation(encoder.degree()).apply_reference(modulus, &a), 64).unwrap();
            for slot in 0..64 {
                prop_assert_eq!(rotated[slot], x[slot / 32 * 32 + (slot % 32 + steps as usize) % 32]);
                prop_assert_eq!(swapped[slot], x[(slot + 32) % 64]);
            }
        }
    }

    #[test]
    fn few_slots_are_repeated_within_their_row() {
        let encoder = packed(5, 20);
        let values: Vec<u64> = (100..108).collect();
        let coefficients = residues(&encoder, &encoder.encode(&values).unwrap());
        assert_eq!(encoder.decode(&coefficients, 8).unwrap(), values);
        let all = encoder.decode(&coefficients, 32).unwrap();
        assert!((0..32).all(|slot| all[slot] == values[slot / 16 * 4 + slot % 4]));
    }

    #[test]
    fn powers_of_two_have_coefficients() {
        let degree = RingDegree::new(16).unwrap();
        let encoder = Encoder::new(degree, PlaintextModulusLiteral::PowerOfTwo(4)).unwrap();
        let values: Vec<u64> = (0..16).collect();
        let coefficients = encoder.encode_coefficients(&values).unwrap();
        assert!(coefficients.iter().zip(0..).all(|(&c, value)| c == if value < 8 { value } else { value - 16 }));
        assert_eq!(encoder.encode(&values), Err(EncodingError::CoefficientsOnly { t: 16 }));
        let one = encoder.encode(&[9]).unwrap();
        assert!(one[0] == -7 && one[1..].iter().all(|&c| c == 0));
        assert_eq!(encoder.decode(&values, 1), Ok(vec![0]));
        assert_eq!(encoder.decode(&values, 16), Err(EncodingError::CoefficientsOnly { t: 16 }));
        let value = encoder.encode_coefficients(&[16; 16]).unwrap_err();
        assert_eq!(value.to_string(), "value 16 at place 0 is not below the plaintext modulus 16; reduce it first");
    }

    #[test]
    fn the_moduli_near_a_number_are_moduli() {
        let largest = RingDegree::new(1 << EVERYWHERE).unwrap();
        for t in [0, 2, 3, 12, 97, 65_536, 65_538, 1_000_000_007, (1 << 60) - 1] {
            let text = moduli_near(t);
            let numbers: Vec<u64> = text.split([' ', ',', ':']).filter_map(|word| word.parse().ok()).collect();
            let (moduli, degree) = numbers.split_at(numbers.len() - 1);
            assert_eq!(degree, [largest.get() as u64], "{text}");
            assert!(moduli.len() >= 2, "{text}");
            for &modulus in moduli {
                let literal = match modulus.is_power_of_two() {
                    true => PlaintextModulusLiteral::PowerOfTwo(modulus.ilog2()),
                    false => PlaintextModulusLiteral::Packed(modulus),
                };
                assert!(PlaintextModulus::new(largest, literal).is_ok(), "{t}: {modulus}");
            }
            let wider = |kind: fn(&&u64) -> bool| moduli.iter().filter(kind).any(|&modulus| modulus >= t.min(1 << 59));
            assert!(wider(|modulus| modulus.is_power_of_two()), "{text}");
        }
    }

    #[test]
    fn bad_input_is_rejected() {
        let degree = RingDegree::new(1024).unwrap();
        let of = |literal| Encoder::new(degree, literal).unwrap_err().to_string();
        let near = "the powers of two 65536 or 131072, for one number a ciphertext, and for vectors the primes 65537 or 786433: they have slots";
        assert!(of(PlaintextModulusLiteral::Packed(65539)).contains(near));
        assert!(of(PlaintextModulusLiteral::Packed(1 << 60)).contains("below 2^60"));
        assert!(of(PlaintextModulusLiteral::PowerOfTwo(0)).contains("2^1 to 2^60"));
        assert!(of(PlaintextModulusLiteral::Packed(1)).contains("plaintext modulus: "));
        let encoder = packed(5, 20);
        assert!(matches!(encoder.encode(&[0; 12]), Err(EncodingError::Slots { found: 12, slots: 32 })));
        assert!(matches!(encoder.decode(&[0; 31], 32), Err(EncodingError::Coefficients { found: 31, degree: 32 })));
        assert!(matches!(encoder.encode_coefficients(&[0; 3]), Err(EncodingError::Coefficients { .. })));
    }
}
