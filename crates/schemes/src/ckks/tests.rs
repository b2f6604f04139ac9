//! Do encryptions decrypt at every level and packing, and are errors reported before work begins?

use super::*;
use crate::progress::no_progress;
use crate::rns::{Ciphertext, KeyId, KeyStorage};

fn values(count: usize, seed: u64) -> Vec<Complex> {
    let mut stream = crate::random::Seeds::for_tests(seed).secret.stream(crate::random::Purpose::SecretKey, 2);
    (0..count).map(|_| Complex::new(stream.normal(), stream.normal())).collect()
}

/// Variance of rounding a coefficient to an integer.
const ENCODING: f64 = 1.0 / 12.0;

/// Variance of a coefficient's error after encryption with the secret key: V_e.
fn fresh_secret(parameters: &Parameters) -> f64 {
    parameters.noise().variance()
}

/// The same with the public key, e·v + e_0 + e_1·s with v uniform ternary: V_e·(2N/3 + 1 + h), with h the secret's expected weight.
fn fresh_public(parameters: &Parameters) -> f64 {
    let degree = parameters.ring_degree();
    let weight = parameters.secret().expected_weight(degree);
    fresh_secret(parameters) * (2.0 * degree.get() as f64 / 3.0 + 1.0 + weight)
}

fn client(name: &str) -> ClientKey {
    ClientKey::for_tests(&sets::parameters(name).expect("a set"), 1).expect("keys")
}

/// `deviations` standard deviations of a slot's error, for N coefficients of `variance` at `scale`.
fn slot_bound(client: &ClientKey, deviations: f64, variance: f64, scale: f64) -> f64 {
    deviations * (client.parameters().ring_degree().get() as f64 * variance).sqrt() / scale
}

#[test]
fn encryptions_decrypt_at_every_level_and_packing() {
    for name in ["toy-10", "toy-10-pairs", "toy-10-f1", "toy-10-digits", "toy-10-one-digit", "toy-11-boot"] {
        let client = client(name);
        let public = client.public_key().expect("a key");
        let parameters = client.parameters().clone();
        for level in [0, 1, parameters.max_level()] {
            let scale = parameters.scale().min((parameters.log2_q(level) - 8.0).exp2());
            for slots in [1, 4, parameters.max_slots()] {
                let clear = values(slots, slots as u64);
                let direct = client.encrypt_at(&clear, level, scale).expect("an encryption");
                let indirect = public.encrypt_at(&clear, level, scale).expect("an encryption");
                // With one noise polynomial a slot is Gaussian and exceeds six deviations with probability e^-36. With a public key it is
                // a product of two, which exceeds t deviations with probability about e^-2t.
                for (ciphertext, deviations, variance) in [
                    (direct, 6.0, fresh_secret(&parameters) + ENCODING),
                    (indirect, 18.0, fresh_public(&parameters) + ENCODING),
                ] {
                    assert_eq!((ciphertext.level(), ciphertext.slots(), ciphertext.scale()), (level, slots, scale));
                    let found = client.decrypt(&ciphertext).expect("a decryption");
                    let bound = slot_bound(&client, deviations, variance, scale);
                    let worst = found.iter().zip(&clear).map(|(a, b)| (*a - *b).abs()).fold(0.0, f64::max);
                    assert!(worst <= bound + 1e-11, "{name}, level {level}, {slots} slots: {worst} > {bound}");
                    let precision = client.precision(&ciphertext, &clear).expect("a decryption").expect("one length");
                    assert!((precision.max_error - worst).abs() <= f64::EPSILON);
                }
            }
        }
    }
}

#[test]
fn two_encryptions_of_one_vector_differ() {
    let client = client("toy-10");
    let public = client.public_key().expect("a key");
    let clear = values(8, 1);
    let encrypt = |_| client.encrypt(&clear).expect("an encryption").into_ciphertext();
    let [a, b] = [0, 1].map(encrypt);
    assert!(a.parts[1] != b.parts[1] && a.parts[0] != b.parts[0]);
    let encrypt = |_| public.encrypt(&clear).expect("an encryption").into_ciphertext();
    let [a, b] = [0, 1].map(encrypt);
    assert!(a.parts[1] != b.parts[1] && a.parts[0] != b.parts[0]);
}

/// Sums and products of parts by the definition of the phase: three parts decrypt too, and dropping limbs changes nothing.
#[test]
fn arithmetic_of_phases() {
    let client = client("toy-10");
    let (x, y) = (values(512, 1), values(512, 2));
    let encrypt = |clear: &[Complex]| client.encrypt(clear).expect("an encryption");
    let (a, b) = (encrypt(&x), encrypt(&y));
    let ring = client.ring();
    let (left, right) = (a.ciphertext(), b.ciphertext());
    let product = |i: usize, j: usize| {
        let mut product = left.parts[i].clone();
        product.multiply_assign(ring, &right.parts[j]);
        product
    };
    let mut middle = product(0, 1);
    middle.add_assign(ring, &product(1, 0));
    let square = Ciphertext::new(vec![product(0, 0), middle, product(1, 1)]);
    let scale = a.scale() * b.scale();
    let square = CkksCiphertext::new(client.parameters(), square, scale, 512).expect("a ciphertext");
    let expected: Vec<Complex> = x.iter().zip(&y).map(|(x, y)| *x * *y).collect();
    let precision = client.precision(&square, &expected).expect("a decryption").expect("one length");
    assert!(precision.min_bits > 22.0, "{precision}");
    let lower = a.at_level(client.parameters(), 1).expect("a lower level");
    assert_eq!((lower.level(), lower.ciphertext().limbs().len()), (1, 2));
    assert!(client.precision(&lower, &x).expect("a decryption").expect("one length").min_bits > 25.0);
    assert!(lower.at_level(client.parameters(), 2).is_none());
}

/// Averages over 16 keys and tests to five deviations. A secret-key encryption has the second moment of N independent coefficients. A
/// public-key encryption has two products of random polynomials, v·e + s·e'. Their square varies by twice its squared mean at each of N/2
/// frequencies, and the weights of v and s add a fifth.
#[test]
fn measured_noise_is_that_of_fresh_encryptions() {
    const KEYS: u64 = 16;
    for name in ["toy-12", "toy-11-boot"] {
        let parameters = sets::parameters(name).expect("a set");
        let mut ratios = [0.0; 2];
        for seed in 1..=KEYS {
            let client = ClientKey::for_tests(&parameters, seed).expect("keys");
            let public = client.public_key().expect("a key");
            let clear = values(client.parameters().max_slots(), seed);
            let direct = client.measure_noise(&client.encrypt(&clear).expect("an encryption"), &clear).expect("noise");
            let indirect =
                client.measure_noise(&public.encrypt(&clear).expect("an encryption"), &clear).expect("noise");
            // The same rounded message is subtracted, so its rounding cancels.
            ratios[0] += direct.variance / fresh_secret(&parameters) / KEYS as f64;
            ratios[1] += indirect.variance / fresh_public(&parameters) / KEYS as f64;
        }
        let frequencies = KEYS as f64 * parameters.ring_degree().get() as f64 / 2.0;
        let widths = [1.0, 2.5].map(|squares: f64| 5.0 * (squares / frequencies).sqrt());
        println!("{name}: {ratios:.3?} within {widths:.3?}");
        assert!(
            ratios.iter().zip(widths).all(|(ratio, width)| (ratio - 1.0).abs() < width),
            "{name}: {ratios:?} within {widths:?} of 1"
        );
    }
}

#[test]
fn shared_decryptions_warn_and_flood() {
    let client = client("toy-10");
    let clear = values(4, 1);
    let ciphertext = client.encrypt(&clear).expect("an encryption");
    let bare = client.decrypt_to_share(&ciphertext, None, None).expect("a decryption");
    assert!(bare.warning.contains("can learn the secret key"), "{}", bare.warning);
    assert_eq!(bare.values, client.decrypt(&ciphertext).expect("a decryption"));
    let flooded = client.decrypt_to_share(&ciphertext, Some(25.0), None).expect("a decryption");
    assert!(flooded.warning.contains("2^-15.0"), "{}", flooded.warning);
    for wrong in [-1.0, 49.0, f64::NAN] {
        assert!(matches!(client.decrypt_to_share(&ciphertext, Some(wrong), None), Err(ClientError::Flooding { .. })));
    }
}

/// All slots of 32 decryptions: 5 % of the variance, whose estimate from 32·1024 coefficients varies by 0.8 %.
#[test]
fn floods_are_as_wide_as_asked_for() {
    let client = client("toy-10");
    let slots = client.parameters().max_slots();
    let clear = values(slots, 1);
    let ciphertext = client.encrypt(&clear).expect("an encryption");
    let squares = (0..32).map(|_| {
        let flooded = client.decrypt_to_share(&ciphertext, Some(25.0), None).expect("a decryption");
        Precision::of(&flooded.values, &clear).expect("one length").deviation.powi(2)
    });
    // Each half of a slot is a sum of N = 2n coefficients times numbers whose mean square is one half.
    let expected = slots as f64 * (2.0 * (25.0f64 - 40.0)).exp2();
    let ratio = squares.sum::<f64>() / 32.0 / expected;
    println!("{ratio:.3}");
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn memory_is_checked_before_keys_are_made() {
    let client = client("toy-10");
    let ids = [KeyId::Relinearisation, KeyId::Galois(5), KeyId::Galois(25)];
    let bytes = client.parameters().key_set_bytes(&ids, KeyStorage::BYTES);
    let error = client.evaluation_keys(&ids, KeyStorage::BYTES, Some(bytes - 1), &no_progress).expect_err("too many");
    let text = error.to_string();
    assert!(text.starts_with("3 switching keys of parameter set toy-10 take"), "{text}");
    let keys = client.evaluation_keys(&ids, KeyStorage::BYTES, Some(bytes), &no_progress).expect("keys");
    assert_eq!(keys.bytes(), bytes);
    let made = std::sync::atomic::AtomicU64::new(0);
    let count = |progress: crate::progress::KeyProgress| {
        assert_eq!(progress.total, 3);
        made.fetch_max(progress.done, std::sync::atomic::Ordering::Relaxed);
    };
    client.evaluation_keys(&ids, KeyStorage::TRANSPORT, None, &count).expect("keys");
    assert_eq!(made.into_inner(), 3);
}

#[test]
fn errors_name_values_and_remedies() {
    let (small, large) = (client("toy-10"), client("toy-11"));
    let clear = values(4, 1);
    let ciphertext = small.encrypt(&clear).expect("an encryption");
    let texts = [
        small.encrypt_at(&clear, 9, 2.0).expect_err("no level").to_string(),
        small.encrypt(&values(1024, 1)).expect_err("no slots").to_string(),
        large.decrypt(&ciphertext).expect_err("other parameters").to_string(),
        sets::parameters("toy-13").expect_err("no set").to_string(),
    ];
    let parts = [
        "level 9, but parameter set toy-10 has levels 0 to 4",
        "1024 values, but a ring of degree 1024 has 512 slots",
        "the ciphertext has degree 1024, but parameter set toy-11 has 2048",
        "did you mean toy-10 or toy-11 or toy-12?",
    ];
    for (text, part) in texts.iter().zip(parts) {
        assert!(text.contains(part), "{text}");
    }
    let bits = |scale| CkksCiphertext::new(small.parameters(), ciphertext.ciphertext().clone(), scale, 4);
    assert_eq!(bits(-1.0).expect_err("a scale"), CiphertextError::Scale(-1.0));
}

/// Flips bits of every part and limb: decryption fails with numbers for one limb and several, full and sparse packing, degree 1 and 2.
#[test]
fn damaged_ciphertexts_are_refused() {
    let client = client("toy-10");
    let parameters = client.parameters().clone();
    let ring = parameters.ring().expect("a ring");
    for (level, slots) in [(0, 4), (0, parameters.max_slots()), (1, 4), (parameters.max_level(), 1)] {
        let scale = parameters.scale().min((parameters.log2_q(level) - 8.0).exp2());
        let clear: Vec<Complex> = values(slots, 7).iter().map(|value| Complex::from(value.re)).collect();
        let magnitude = clear.iter().map(|value| value.abs()).fold(0.0, f64::max);
        let variance = fresh_secret(&parameters) + ENCODING;
        let expected = Expected { magnitude, error: slot_bound(&client, 6.0, variance, scale), real: true };
        let whole = client.encrypt_at(&clear, level, scale).expect("an encryption").into_ciphertext();
        // The same phase in three parts, as a product before relinearisation.
        let third = crate::rns::RnsPolynomial::zero(ring.degree(), whole.limbs(), whole.domain());
        let three = Ciphertext::new([whole.parts.clone(), vec![third]].concat());
        for whole in [whole, three] {
            let decrypt = |ciphertext: Ciphertext| {
                let ciphertext = CkksCiphertext::new(&parameters, ciphertext, scale, slots).expect("a ciphertext");
                client.decrypt_expected(&ciphertext, &expected)
            };
            decrypt(whole.clone()).expect("what was encrypted");
            for (part, limb, bit) in (0..whole.parts.len()).flat_map(|part| {
                (0..whole.limbs().len()).flat_map(move |limb| [0, 13, 27].map(|bit| (part, limb, bit)))
            }) {
                let mut damaged = whole.clone();
                let modulus = ring.modulus(whole.limbs()[limb]);
                let word = &mut damaged.parts[part].limb_mut(limb)[17 * bit + 3];
                *word = modulus.reduce(*word ^ 1 << bit);
                let error = decrypt(damaged).expect_err("another phase");
                assert!(matches!(error, ClientError::Implausible(_)), "part {part}, limb {limb}, bit {bit}: {error}");
            }
        }
    }
}

/// In a full vector imaginary parts reveal the damage, in a sparse one the coefficients in between, before any slot is too large.
#[test]
fn every_known_bound_on_a_phase_is_checked() {
    let expected = Expected { magnitude: 1.0, error: 0.01, real: true };
    let values = [Complex::new(0.5, 0.0), Complex::new(-1.0, 0.03)];
    assert_eq!(expected.check(&[0.0; 4], &values), Ok(()));
    assert_eq!(
        expected.check(&[0.0; 4], &[values[0], Complex::new(0.1, 0.05)]).expect_err("no real number").to_string(),
        "the largest imaginary part of a real message is 5.000e-2, but the plan allows at most 4.000e-2: the ciphertext was damaged or altered, or comes from another computation or other keys, so nothing of it is shown; bring the outputs of one execution of this program"
    );
    let what = |failure: Result<(), Implausible>| failure.expect_err("too much").what;
    assert_eq!(what(expected.check(&[0.0; 4], &[values[0], Complex::from(1.05)])), "the largest slot");
    let mut between = [0.0; 8];
    between[6] = 0.5;
    assert_eq!(expected.check(&between, &values), Ok(()));
    between[5] = 0.05;
    assert_eq!(what(expected.check(&between, &values)), "the largest coefficient between those of the message");
    assert_eq!(Expected { real: false, ..expected }.check(&[0.0; 4], &[values[0], Complex::new(0.1, 0.05)]), Ok(()));
}
