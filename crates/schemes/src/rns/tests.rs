//! Does every switching key encrypt its gadget's multiples under the right secrets, in every storage?

use std::sync::Arc;

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;

use super::*;
use crate::progress::no_progress;
use crate::random::{Purpose, Seeds};

const Q_LIMBS: usize = 5;

/// Five limbs of 40 bits, then five of 45, of degree 64.
fn ring() -> Arc<Ring> {
    let degree = RingDegree::new(64).expect("a degree");
    let class = PrimeClass::of_degree(degree);
    let primes = [class.of_bits(40, Q_LIMBS), class.of_bits(45, Q_LIMBS)].map(|primes| primes.expect("primes"));
    let moduli: Vec<Modulus> =
        primes.into_iter().flatten().map(|prime| Modulus::new(prime).expect("a modulus")).collect();
    Ring::new(degree, &moduli).expect("a ring")
}

fn secret(ring: &Ring, distribution: SecretDistribution, seed: u64) -> SecretKey {
    SecretKey::generate(ring.degree(), distribution, &mut Seeds::for_tests(seed).secret.stream(Purpose::SecretKey, 0))
}

fn gadgets(ring: &Ring) -> Vec<Arc<Gadget>> {
    let literals = [
        GadgetLiteral::hybrid(Q_LIMBS, 2, 2),
        GadgetLiteral::hybrid(Q_LIMBS, 1, 1),
        GadgetLiteral::hybrid(3, 1, 0),
        GadgetLiteral::per_limb(Q_LIMBS),
        GadgetLiteral::one_digit(Q_LIMBS, Q_LIMBS),
        GadgetLiteral::sub_limb(Q_LIMBS, 13, 0),
        GadgetLiteral::sub_limb(Q_LIMBS, 20, 1),
    ];
    literals.into_iter().map(|literal| Arc::new(Gadget::new(ring, literal).expect("a gadget"))).collect()
}

/// Product of the coefficients by definition, over the integers.
fn product(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut product = vec![0; a.len()];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let place = i + j;
            product[place % a.len()] += if place < a.len() { x * y } else { -x * y };
        }
    }
    product
}

fn coefficients(secret: &SecretKey) -> Vec<i64> {
    secret.coefficients().iter().map(|&coefficient| i64::from(coefficient)).collect()
}

/// Centred coefficients of b_d + a_d·to − g_d·from at one limb, by schoolbook multiplication.
fn error(key: &SwitchingKey, term: usize, position: usize, from: &[i64], to: &[i64]) -> Vec<i64> {
    let ring = key.ring();
    let (limb, gadget) = (key.limbs()[position], key.gadget());
    let modulus = ring.modulus(limb);
    let coefficients = |part| {
        let mut scratch = vec![0; ring.degree().get()];
        let mut words = key.limb(part, term, position, &mut scratch).to_vec();
        ring.ntt(limb).inverse(&mut words);
        words
    };
    let (body, mask) = (coefficients(Part::Body), coefficients(Part::Mask));
    let entry = gadget.terms()[term];
    let mut factor = 0;
    if gadget.digits()[entry.digit].contains(&limb) {
        factor = modulus.reduce(1 << entry.shift);
        for &p in gadget.special() {
            factor = modulus.multiply(factor, modulus.reduce(ring.modulus(p).value()));
        }
    }
    let mut sum: Vec<u64> = body;
    for (i, &a) in mask.iter().enumerate() {
        for (j, &s) in to.iter().enumerate() {
            let signed = if i + j < to.len() { s } else { -s };
            let place = (i + j) % to.len();
            sum[place] = modulus.add(sum[place], modulus.multiply(a, modulus.reduce_signed(signed)));
        }
    }
    let message = from.iter().map(|&s| modulus.multiply(factor, modulus.reduce_signed(s)));
    sum.iter().zip(message).map(|(&sum, message)| modulus.centre(modulus.sub(sum, message))).collect()
}

#[test]
fn keys_of_every_gadget_hold_their_secret() {
    let ring = ring();
    let dense = secret(&ring, SecretDistribution::UniformTernary, 1);
    let sparse = secret(&ring, SecretDistribution::SparseTernary(8), 2);
    let noise = NoiseDistribution::new(3.2, 1);
    let maker = KeyMaker { ring: &ring, secret: &dense, sparse: Some(&sparse), noise: &noise };
    let (s, z) = (coefficients(&dense), coefficients(&sparse));
    let element = GaloisElement::rotation(ring.degree(), 3);
    let rotated = |element: GaloisElement| coefficients(&dense.automorphism(element));
    let cases = [
        (KeyId::Relinearisation, product(&s, &s), s.clone()),
        (KeyId::Galois(element.value()), s.clone(), rotated(element.inverse())),
        (KeyId::GaloisAfter(element.value()), rotated(element), s.clone()),
        (KeyId::Encapsulate, s.clone(), z.clone()),
        (KeyId::Decapsulate, z, s),
    ];
    for gadget in gadgets(&ring) {
        for (id, from, to) in &cases {
            let key = maker.for_tests(*id, &gadget, 7).expect("a key");
            for term in 0..gadget.terms().len() {
                let errors: Vec<_> = (0..key.limbs().len()).map(|at| error(&key, term, at, from, to)).collect();
                assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{id}, term {term}: one error in all limbs");
                assert!(errors[0].iter().all(|error| error.abs() <= 28), "{id}, term {term}: {:?}", errors[0]);
                assert!(errors[0].iter().any(|&error| error != 0));
            }
        }
    }
}

#[test]
fn noise_of_bgv_keys_is_a_multiple() {
    let ring = ring();
    let dense = secret(&ring, SecretDistribution::UniformTernary, 1);
    let noise = NoiseDistribution::new(3.2, 65_537);
    let maker = KeyMaker { ring: &ring, secret: &dense, sparse: None, noise: &noise };
    let s = coefficients(&dense);
    let gadget = &gadgets(&ring)[0];
    let key = maker.for_tests(KeyId::Relinearisation, gadget, 7).expect("a key");
    let error = error(&key, 1, 0, &product(&s, &s), &s);
    assert!(error.iter().all(|error| error % 65_537 == 0 && error.abs() <= 28 * 65_537));
    let missing = maker.switching_key(KeyId::Encapsulate, gadget).expect_err("no sparse secret");
    assert_eq!(missing, KeyMakerError::NoSparseSecret(KeyId::Encapsulate));
}

#[test]
fn storage_changes_bytes_and_nothing_else() {
    let ring = ring();
    let dense = secret(&ring, SecretDistribution::UniformTernary, 1);
    let noise = NoiseDistribution::new(3.2, 1);
    let maker = KeyMaker { ring: &ring, secret: &dense, sparse: None, noise: &noise };
    let forms = [(false, false), (false, true), (true, false), (true, true)];
    for gadget in gadgets(&ring) {
        let key = maker.for_tests(KeyId::Relinearisation, &gadget, 3).expect("a key");
        for (packed, seeded) in forms {
            let storage = KeyStorage { packed, seeded };
            let stored = key.clone().stored(storage);
            assert!(stored == key);
            assert_eq!(stored.bytes(), storage.key_bytes(&ring, &gadget));
            for (packed, seeded) in forms {
                let again = stored.clone().stored(KeyStorage { packed, seeded });
                assert!(again == key);
                assert_eq!(again.bytes(), KeyStorage { packed, seeded }.key_bytes(&ring, &gadget));
            }
        }
        let limbs =
            |bits: f64| gadget.qp().iter().filter(|limb| (limb.index() < Q_LIMBS) == (bits == 5.0)).count() as f64;
        let transport = 64.0 * gadget.terms().len() as f64 * (limbs(5.0) * 5.0 + limbs(6.25) * 6.25);
        assert_eq!(KeyStorage::TRANSPORT.key_bytes(&ring, &gadget) as f64, transport);
    }
}

#[test]
fn key_sets_hold_the_requested_keys_and_report_missing_ones() {
    let ring = ring();
    let dense = secret(&ring, SecretDistribution::UniformTernary, 1);
    let noise = NoiseDistribution::new(3.2, 1);
    let maker = KeyMaker { ring: &ring, secret: &dense, sparse: None, noise: &noise };
    let gadget = &gadgets(&ring)[0];
    let requests = [KeyId::Galois(5), KeyId::Relinearisation].map(|id| KeyRequest {
        id,
        gadget: Arc::clone(gadget),
        storage: KeyStorage::TRANSPORT,
    });
    let keys = maker.key_set(&requests, &no_progress).expect("keys");
    assert_eq!(keys.ids().collect::<Vec<_>>(), [KeyId::Relinearisation, KeyId::Galois(5)]);
    assert_eq!(keys.bytes(), 2 * KeyStorage::TRANSPORT.key_bytes(&ring, gadget));
    let missing = keys.get(KeyId::Galois(25)).expect_err("a key that was not asked for");
    assert_eq!(missing, MissingKey { wanted: KeyId::Galois(25), available: 2 });
    // Two keys never share a seed.
    let (one, two) = (keys.get(KeyId::Galois(5)), keys.get(KeyId::Relinearisation));
    assert_ne!(one.expect("a key").seed().map(|seed| seed.0), two.expect("a key").seed().map(|seed| seed.0));
}

#[test]
fn gadgets_are_checked() {
    let ring = ring();
    let error = |literal| Gadget::new(&ring, literal).expect_err("not a gadget");
    let empty = GadgetLiteral { digits: vec![], sub_digit_bits: None, special: vec![] };
    assert_eq!(error(empty), GadgetError::Empty(0));
    assert_eq!(error(GadgetLiteral::per_limb(11)), GadgetError::Unknown { limb: LimbId(10), count: 10 });
    let repeated =
        GadgetLiteral { digits: vec![vec![LimbId(0)], vec![LimbId(0)]], sub_digit_bits: None, special: vec![] };
    assert_eq!(error(repeated), GadgetError::Repeated(LimbId(0)));
    let small = GadgetError::SpecialTooSmall { digit: 0, digit_bits: 80, special_bits: 44 };
    assert_eq!(error(GadgetLiteral::hybrid(Q_LIMBS, 2, 1)), small);
    let wide = GadgetLiteral { sub_digit_bits: Some(8), ..GadgetLiteral::hybrid(4, 2, 2) };
    assert_eq!(error(wide), GadgetError::SubDigit { digit: 0, limbs: 2, bits: 8 });
    assert_eq!(error(GadgetLiteral::sub_limb(2, 0, 0)), GadgetError::SubDigitBits(0));
    let hybrid = Gadget::new(&ring, GadgetLiteral::hybrid(Q_LIMBS, 2, 2)).expect("a gadget");
    assert_eq!([1, 2, 3, 5].map(|limbs| hybrid.terms_at(&LimbId::range(0, limbs))), [1, 1, 2, 3]);
}

#[test]
fn encryptions_of_zero_are_small() {
    let ring = ring();
    let dense = secret(&ring, SecretDistribution::UniformTernary, 1);
    let noise = NoiseDistribution::new(3.2, 1);
    let limbs = LimbId::range(0, Q_LIMBS);
    let public = PublicKey::generate(&ring, &limbs, &dense, &noise, &Seeds::for_tests(1));
    let few = LimbId::range(0, 2);
    let direct = encryption::encrypt_zero(&ring, &few, &dense, &noise, &Seeds::for_tests(2), Purpose::Encryption);
    let indirect = public.encrypt_zero(&few, &noise, &Seeds::for_tests(3)).expect("limbs of the key");
    for (zero, bound) in [(&direct, 28), (&indirect, 28 * (2 * 64 + 1))] {
        let phase = encryption::phase(&ring, zero, &dense);
        let centred = |position: usize| -> Vec<i64> {
            phase.limb(position).iter().map(|&word| ring.modulus(few[position]).centre(word)).collect()
        };
        assert_eq!(centred(0), centred(1));
        assert!(centred(0).iter().all(|error| error.abs() <= bound));
    }
    assert!(public.encrypt_zero(&ring.limb_ids(), &noise, &Seeds::for_tests(3)).is_none());
    let again = PublicKey::from_seed(&ring, public.body().clone(), public.seed()).expect("values");
    assert_eq!(again, public);
}
