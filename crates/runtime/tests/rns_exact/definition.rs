//! The operations by definition, in big integers.

use num_bigint::BigInt;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::homomorphic::Values;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, PublicPolynomial};
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::lowering::{PlaintextEncoder, RnsLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::key_maker::{KeyMaker, NoiseDistribution};
use polyfabric_schemes::rns::secret::{SecretDistribution, SecretKey};
use polyfabric_schemes::rns::{Domain, Gadget, GadgetLiteral, KeyId, KeySet, LimbId, Part, Ring, RnsPolynomial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// Coefficients, starting with that of X^0.
pub type Poly = Vec<BigInt>;

/// x in [0, modulus).
pub fn modulo(x: &BigInt, modulus: &BigInt) -> BigInt {
    ((x % modulus) + modulus) % modulus
}

fn inverse(x: &BigInt, prime: &BigInt) -> BigInt {
    modulo(x, prime).modpow(&(prime - 2), prime)
}

pub fn each(a: &Poly, f: impl Fn(&BigInt) -> BigInt) -> Poly {
    a.iter().map(f).collect()
}

pub fn add(a: &Poly, b: &Poly) -> Poly {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

pub fn sub(a: &Poly, b: &Poly) -> Poly {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

pub fn scale(a: &Poly, factor: &BigInt) -> Poly {
    each(a, |a| a * factor)
}

/// a·b modulo X^N + 1.
pub fn multiply(a: &Poly, b: &Poly) -> Poly {
    let count = a.len();
    let mut product = vec![BigInt::ZERO; count];
    for (i, a) in a.iter().enumerate().filter(|(_, a)| **a != BigInt::ZERO) {
        for (j, b) in b.iter().enumerate() {
            if i + j < count {
                product[i + j] += a * b;
            } else {
                product[i + j - count] -= a * b;
            }
        }
    }
    product
}

/// a(X^g) modulo X^N + 1.
pub fn automorphism(a: &Poly, element: GaloisElement) -> Poly {
    let count = a.len();
    let mut result = vec![BigInt::ZERO; count];
    for (j, a) in a.iter().enumerate() {
        let exponent = j * element.value() % (2 * count);
        result[exponent % count] = if exponent < count { a.clone() } else { -a };
    }
    result
}

/// A ring, keys and a choice: the inputs of a key switch's definition.
pub struct World {
    pub ring: Arc<Ring>,
    pub choice: RnsLowering,
    /// t; divisions preserve messages modulo it.
    pub plaintext_modulus: Option<u64>,
    pub secret: SecretKey,
    pub sparse: SecretKey,
}

impl World {
    /// N = 2^`log2_degree`, with moduli in groups (bits, count) of distinct primes.
    pub fn new(log2_degree: u32, groups: &[(u32, usize)], choice: RnsLowering, plaintext_modulus: Option<u64>) -> Self {
        let degree = RingDegree::new(1 << log2_degree).expect("a degree");
        let mut moduli: Vec<Modulus> = Vec::new();
        for &(bits, count) in groups {
            let found = PrimeClass::of_degree(degree).of_bits(bits, count + moduli.len()).expect("primes");
            let found = found.into_iter().map(|prime| Modulus::new(prime).expect("a modulus"));
            let new: Vec<Modulus> = found.filter(|modulus| !moduli.contains(modulus)).take(count).collect();
            moduli.extend(new);
        }
        let ring = Ring::new(degree, &moduli).expect("a ring");
        let secret = |row| {
            let mut stream = polyfabric_schemes::random::Seeds::for_tests(7)
                .secret
                .stream(polyfabric_schemes::random::Purpose::SecretKey, row);
            SecretKey::generate(degree, SecretDistribution::SparseTernary(8), &mut stream)
        };
        Self { ring, choice, plaintext_modulus, secret: secret(0), sparse: secret(1) }
    }

    pub fn prime(&self, limb: LimbId) -> BigInt {
        BigInt::from(self.ring.modulus(limb).value())
    }

    pub fn product(&self, limbs: &[LimbId]) -> BigInt {
        limbs.iter().map(|&limb| self.prime(limb)).product()
    }

    pub fn special(&self) -> &[LimbId] {
        &self.choice.gadget.special
    }

    /// A uniform polynomial over `limbs`.
    pub fn uniform(&self, limbs: &[LimbId], generator: &mut StdRng) -> RnsPolynomial {
        let mut polynomial = RnsPolynomial::zero(self.ring.degree(), limbs, Domain::Evaluation);
        for (limb, words) in polynomial.iter_mut() {
            words.fill_with(|| generator.random_range(0..self.ring.modulus(limb).value()));
        }
        polynomial
    }

    /// Its coefficients in [0, Q), by the Chinese remainder theorem.
    pub fn integers(&self, polynomial: &RnsPolynomial) -> Poly {
        let mut polynomial = polynomial.clone();
        polynomial.inverse(&self.ring);
        let modulus = self.product(polynomial.limbs());
        let weight = |&limb: &LimbId| {
            let prime = self.prime(limb);
            let rest = &modulus / &prime;
            &rest * inverse(&rest, &prime)
        };
        let weights: Vec<BigInt> = polynomial.limbs().iter().map(weight).collect();
        let coefficient = |at: usize| {
            let terms = weights.iter().enumerate().map(|(limb, weight)| weight * polynomial.limb(limb)[at]);
            terms.sum::<BigInt>() % &modulus
        };
        (0..self.ring.degree().get()).map(coefficient).collect()
    }

    /// The representative of x modulo the product B of `limbs` that the conversion produces, as documented at [`Conversion`].
    pub fn representative(&self, x: &BigInt, limbs: &[LimbId], conversion: Conversion) -> BigInt {
        let modulus = self.product(limbs);
        let least = modulo(x, &modulus);
        let sum = |balanced: bool| {
            let term = |&limb: &LimbId| {
                let prime = self.prime(limb);
                let rest = &modulus / &prime;
                let y = modulo(&(&least * inverse(&rest, &prime)), &prime);
                // From [0, b) to [−floor(b/2), b − floor(b/2)).
                let half: BigInt = &prime / 2;
                let y = if balanced && y >= &prime - &half { y - &prime } else { y };
                y * rest
            };
            limbs.iter().map(term).sum::<BigInt>()
        };
        let count = BigInt::from(limbs.len());
        match conversion {
            Conversion::Centred if &least * 2 > modulus => least - modulus,
            Conversion::Centred => least,
            Conversion::Approximate => {
                let found = sum(false);
                let wraps = &found - &least;
                assert_eq!(&wraps % &modulus, BigInt::ZERO);
                assert!(wraps >= BigInt::ZERO && wraps / &modulus < count, "more multiples than documented");
                found
            }
            Conversion::Balanced => {
                let found = sum(true);
                assert_eq!(modulo(&found, &modulus), least);
                assert!(
                    &found * 2 <= &count * &modulus && &found * -2 <= count * &modulus,
                    "beyond the documented bound"
                );
                found
            }
        }
    }

    /// (a − δ)/B modulo the rest of `limbs`, with δ as documented at `ModDown`; a is modulo `limbs`, B the product of `drop`.
    pub fn divide(&self, a: &Poly, limbs: &[LimbId], drop: &[LimbId]) -> Poly {
        if drop.is_empty() {
            return a.clone();
        }
        let (modulus, divisor) = (self.product(limbs), self.product(drop));
        let kept = &modulus / &divisor;
        let t = BigInt::from(self.plaintext_modulus.unwrap_or(1));
        // t^-1 modulo B: prime by prime, because t need not be prime.
        let t_inverse = t.modinv(&divisor).expect("without a common factor");
        each(a, |a| {
            let a = modulo(a, &modulus);
            let remainder = &t * self.representative(&(&a * &t_inverse), drop, self.choice.division);
            let numerator = a - remainder;
            assert_eq!(&numerator % &divisor, BigInt::ZERO);
            modulo(&(numerator / &divisor), &kept)
        })
    }

    /// Key row and integers for each digit of a, which is modulo `limbs`: Σ digit·g = P·a.
    pub fn digits(&self, a: &Poly, limbs: &[LimbId]) -> Vec<(usize, Poly)> {
        let gadget = &self.choice.gadget;
        let (mut digits, mut row) = (Vec::new(), 0);
        for digit in &gadget.digits {
            let present: Vec<LimbId> = digit.iter().copied().filter(|limb| limbs.contains(limb)).collect();
            let Some(bits) = gadget.sub_digit_bits else {
                if !present.is_empty() {
                    digits.push((row, each(a, |a| self.representative(a, &present, self.choice.conversion))));
                }
                row += 1;
                continue;
            };
            for &limb in digit {
                let count = self.ring.modulus(limb).bits().div_ceil(bits) as usize;
                if present.contains(&limb) {
                    let mut rest = each(a, |a| modulo(a, &self.prime(limb)));
                    let base = BigInt::from(1u64 << bits);
                    for window in 0..count {
                        let low = |rest: &BigInt| {
                            let low = modulo(rest, &base);
                            if window + 1 == count {
                                rest.clone()
                            } else if &low * 2 >= base {
                                low - &base
                            } else {
                                low
                            }
                        };
                        let digit = each(&rest, low);
                        rest = sub(&rest, &digit).iter().map(|rest| rest / &base).collect();
                        digits.push((row + window, digit));
                    }
                }
                row += count;
            }
        }
        digits
    }

    /// Part `part` of row `row` of a key, over `limbs`.
    pub fn row(&self, keys: &KeySet, id: KeyId, part: Part, row: usize, limbs: &[LimbId]) -> Poly {
        let key = keys.get(id).expect("a key");
        let mut polynomial = RnsPolynomial::zero(self.ring.degree(), limbs, Domain::Evaluation);
        let mut scratch = vec![0; self.ring.degree().get()];
        for (position, limb) in limbs.iter().enumerate() {
            let at = key.limbs().iter().position(|other| other == limb).expect("a limb of the key");
            polynomial.limb_mut(position).copy_from_slice(key.limb(part, row, at, &mut scratch));
        }
        self.integers(&polynomial)
    }

    /// Σ digit·row for both parts, modulo `limbs` of Q and P.
    pub fn inner_product(&self, keys: &KeySet, id: KeyId, digits: &[(usize, Poly)], limbs: &[LimbId]) -> [Poly; 2] {
        let modulus = self.product(limbs);
        [Part::Body, Part::Mask].map(|part| {
            let zero = vec![BigInt::ZERO; self.ring.degree().get()];
            let sum = digits
                .iter()
                .fold(zero, |sum, (row, digit)| add(&sum, &multiply(digit, &self.row(keys, id, part, *row, limbs))));
            each(&sum, |x| modulo(x, &modulus))
        })
    }

    /// `limbs` and P's limbs.
    pub fn raised(&self, limbs: &[LimbId]) -> Vec<LimbId> {
        [limbs, self.special()].concat()
    }

    /// The contribution of a under the key's source secret to the parts under its target, modulo `limbs`.
    pub fn key_switch(&self, keys: &KeySet, id: KeyId, a: &Poly, limbs: &[LimbId]) -> [Poly; 2] {
        let raised = self.raised(limbs);
        let sums = self.inner_product(keys, id, &self.digits(a, limbs), &raised);
        sums.map(|sum| self.divide(&sum, &raised, self.special()))
    }

    /// Relinearises three parts to two.
    pub fn relinearise(&self, keys: &KeySet, parts: &[Poly], limbs: &[LimbId]) -> Vec<Poly> {
        let [body, mask] = self.key_switch(keys, KeyId::Relinearisation, &parts[2], limbs);
        vec![add(&parts[0], &body), add(&parts[1], &mask)]
    }

    /// Relinearises three parts to two, and divides by P and `drop` at once.
    pub fn relinearise_and_divide(
        &self,
        keys: &KeySet,
        parts: &[Poly],
        limbs: &[LimbId],
        drop: &[LimbId],
    ) -> Vec<Poly> {
        let (raised, special) = (self.raised(limbs), self.product(self.special()));
        let sums = self.inner_product(keys, KeyId::Relinearisation, &self.digits(&parts[2], limbs), &raised);
        let drop = [drop, self.special()].concat();
        let divided = sums.iter().zip(parts).map(|(sum, part)| {
            // In the order of the limbs, on which the sum of a conversion does not depend.
            self.divide(&add(sum, &scale(part, &special)), &raised, &drop)
        });
        divided.collect()
    }

    /// Key switch, then X → X^g.
    pub fn switch_first(&self, keys: &KeySet, parts: &[Poly], element: GaloisElement, limbs: &[LimbId]) -> Vec<Poly> {
        let [body, mask] = self.key_switch(keys, KeyId::Galois(element.value()), &parts[1], limbs);
        vec![automorphism(&add(&parts[0], &body), element), automorphism(&mask, element)]
    }

    /// X → X^g, then key switch.
    pub fn automorphism_first(
        &self,
        keys: &KeySet,
        parts: &[Poly],
        element: GaloisElement,
        limbs: &[LimbId],
    ) -> Vec<Poly> {
        let [moved, mask] = [&parts[0], &parts[1]].map(|part| automorphism(part, element));
        let [body, mask] = self.key_switch(keys, KeyId::GaloisAfter(element.value()), &mask, limbs);
        vec![add(&moved, &body), mask]
    }

    /// In the order of the choice.
    pub fn moved(&self, keys: &KeySet, parts: &[Poly], element: GaloisElement, limbs: &[LimbId]) -> Vec<Poly> {
        use polyfabric_program::rns::lowering::RotationOrder;
        match self.choice.rotation {
            RotationOrder::SwitchFirst => self.switch_first(keys, parts, element, limbs),
            RotationOrder::AutomorphismFirst => self.automorphism_first(keys, parts, element, limbs),
        }
    }

    /// The keys that `program` reads; those between the secrets of bootstrapping have their own gadgets.
    pub fn keys(&self, program: &KernelProgram, encapsulation: Option<&GadgetLiteral>) -> KeySet {
        let noise = NoiseDistribution::new(3.2, self.plaintext_modulus.unwrap_or(1));
        let maker = KeyMaker { ring: &self.ring, secret: &self.secret, sparse: Some(&self.sparse), noise: &noise };
        let mut keys = KeySet::new(Arc::clone(&self.ring));
        for (&id, seed) in program.keys().keys().zip(1..) {
            let literal = match (id, encapsulation) {
                (KeyId::Encapsulate, Some(literal)) => literal,
                _ => &self.choice.gadget,
            };
            let gadget = Arc::new(Gadget::new(&self.ring, literal.clone()).expect("a gadget"));
            keys.insert(maker.for_tests(id, &gadget, seed).expect("a key"));
        }
        keys
    }

    /// Runs `program` on uniform inputs; returns their integers, the keys, and the integers of the outputs.
    pub fn run(
        &self,
        program: &KernelProgram,
        encapsulation: Option<&GadgetLiteral>,
    ) -> (Vec<Poly>, KeySet, Vec<Poly>) {
        let mut generator = StdRng::seed_from_u64(42);
        let keys = self.keys(program, encapsulation);
        let inputs: Vec<RnsPolynomial> =
            program.inputs().map(|(_, _, _, value)| self.uniform(value.limbs.as_slice(), &mut generator)).collect();
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let outputs = interpreter::run(program, &keys, &given, &NoProgress).expect("a run");
        let all = |polynomials: &[RnsPolynomial]| polynomials.iter().map(|one| self.integers(one)).collect();
        (all(&inputs), keys, all(&outputs))
    }
}

/// An arbitrary but deterministic polynomial for public values; encoding is not tested here.
#[derive(Debug)]
pub struct Coefficients(pub RingDegree);

impl PlaintextEncoder for Coefficients {
    fn encode(&self, values: &Values, scale: Scale) -> Result<PublicPolynomial, String> {
        let coefficient = |at: usize| match (values, scale) {
            (Values::Complex(values), Scale::Real(scale)) => {
                let value = values[at % values.len()];
                Ok(((value.re + at as f64 * value.im) * scale).round() as i128)
            }
            (Values::Integer(values), Scale::Factor(factor)) => {
                Ok(i128::from(values[at % values.len()]) * i128::from(factor) + at as i128)
            }
            _ => Err("values of another scheme".to_owned()),
        };
        let coefficients = (0..self.0.get()).map(coefficient).collect::<Result<Vec<i128>, String>>()?;
        Ok(PublicPolynomial::Wide(coefficients.into()))
    }
}

impl Coefficients {
    pub fn integers(&self, values: &Values, scale: Scale) -> Poly {
        match self.encode(values, scale).expect("an encoding") {
            PublicPolynomial::Wide(coefficients) => coefficients.iter().map(|&x| BigInt::from(x)).collect(),
            _ => Vec::new(),
        }
    }
}

/// Asserts equality modulo `modulus`, naming the first coefficient that differs.
pub fn assert_equal(name: &str, found: &[Poly], expected: &[Poly], modulus: &BigInt) {
    assert_eq!(found.len(), expected.len(), "{name}: parts");
    for (part, (found, expected)) in found.iter().zip(expected).enumerate() {
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, &modulo(expected, modulus), "{name}: coefficient {at} of part {part}");
        }
    }
}
