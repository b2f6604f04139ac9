//! Does the measured error of every operation match its formula to five deviations?
//!
//! The operations follow their definition here, with big integers: digits by the Chinese remainder theorem, division with rounding to
//! nearest. These tests compare the size of errors; `crates/runtime/tests/rns_exact` compares the lowering with the definition exactly.

use super::*;
use crate::ckks::{ClientKey, Complex, MeasuredNoise, sets};
use crate::rns::encryption::phase;
use crate::rns::reconstruct::{Reconstruction, SignedInteger};
use crate::rns::{Ciphertext, Domain, KeyId, Part, Ring, RnsPolynomial, SwitchingKey};

/// Number of keys to average over; `POLYFABRIC_FULL` in the environment gives enough for 5 %.
fn keys() -> u64 {
    if std::env::var_os("POLYFABRIC_FULL").is_some() { 96 } else { 16 }
}

fn clients(name: &str) -> impl Iterator<Item = ClientKey> {
    let parameters = sets::parameters(name).expect("a set");
    (1..=keys()).map(move |seed| ClientKey::for_tests(&parameters, seed).expect("keys"))
}

/// Asserts that `ratio`, the mean over all keys of measured variance over the formula for a key of average weight, is 1 to five
/// deviations.
///
/// An error is a sum of R products of random polynomials, digits times noise or a rounding times the secret. At each of N/2 frequencies
/// its square varies by 1 + 2/R of its squared mean, at most three. The weight of a ternary secret varies by √(1/2N) and adds a
/// twelfth. With `windows`, the last window of a digit is not centred: the means of all windows multiply one sum of errors by
/// 1 + X + … + X^(N−1). The mean square of that over the coefficients varies by √(2/3) and is up to three sevenths of the variance.
fn assert_formula(what: &str, degree: usize, ratio: f64, windows: bool) {
    let mean = if windows { 3.0 / 7.0 * (2.0f64 / 3.0).sqrt() } else { 0.0 };
    let width = 5.0 * ((3.25 / (degree as f64 / 2.0) + mean * mean) / keys() as f64).sqrt();
    println!("{what}: {ratio:.3} within {width:.3} of 1");
    assert!((ratio - 1.0).abs() < width, "{what}: {ratio} within {width} of 1");
}

fn values(count: usize, seed: u64) -> Vec<Complex> {
    let mut stream = crate::random::Seeds::for_tests(seed).secret.stream(crate::random::Purpose::SecretKey, 3);
    (0..count).map(|_| Complex::new(stream.normal(), stream.normal())).collect()
}

fn integers(ring: &Ring, polynomial: &RnsPolynomial) -> Vec<SignedInteger> {
    let mut polynomial = polynomial.clone();
    polynomial.inverse(ring);
    let moduli: Vec<_> = polynomial.limbs().iter().map(|&limb| ring.modulus(limb)).collect();
    let reconstruction = Reconstruction::new(&moduli);
    let residues = |place: usize| (0..moduli.len()).map(move |at| (at, place));
    (0..ring.degree().get())
        .map(|place| reconstruction.integer(residues(place).map(|(at, place)| polynomial.limb(at)[place])))
        .collect()
}

fn lift(ring: &Ring, integers: &[SignedInteger], limbs: &[LimbId]) -> RnsPolynomial {
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, Domain::Coefficient);
    for (position, &limb) in limbs.iter().enumerate() {
        for (word, integer) in polynomial.limb_mut(position).iter_mut().zip(integers) {
            *word = integer.residue(ring.modulus(limb));
        }
    }
    polynomial.forward(ring);
    polynomial
}

/// The centred digits of a polynomial over `limbs`, or their signed windows of b bits, one per gadget term.
fn digits(ring: &Ring, gadget: &Gadget, polynomial: &RnsPolynomial) -> Vec<Vec<SignedInteger>> {
    let mut terms = Vec::new();
    for digit in gadget.digits() {
        let present: Vec<LimbId> = digit.iter().copied().filter(|limb| polynomial.limbs().contains(limb)).collect();
        if present.is_empty() {
            break;
        }
        let Some(bits) = gadget.sub_digit_bits() else {
            terms.push(integers(ring, &polynomial.select(&present).expect("its limbs")));
            continue;
        };
        let mut residue = polynomial.select(&present).expect("its limbs");
        residue.inverse(ring);
        let mut rest: Vec<i64> = residue.limb(0).iter().map(|&word| word as i64).collect();
        let count = ring.modulus(present[0]).bits().div_ceil(bits);
        for window in 0..count {
            let last = window + 1 == count;
            let take = |rest: &mut i64| {
                let base = 1i64 << bits;
                let low = *rest & (base - 1);
                let low = if last {
                    *rest
                } else if low >= base / 2 {
                    low - base
                } else {
                    low
                };
                *rest = (*rest - low) >> bits;
                SignedInteger { negative: low < 0, magnitude: vec![low.unsigned_abs()] }
            };
            terms.push(rest.iter_mut().map(take).collect());
        }
    }
    terms
}

/// ModDown: divides `polynomial` by the product of the limbs not in `keep`, rounding to nearest: (x − \[x\]_B)/B.
fn divide(ring: &Ring, polynomial: &RnsPolynomial, keep: &[LimbId]) -> RnsPolynomial {
    let dropped: Vec<LimbId> = polynomial.limbs().iter().copied().filter(|limb| !keep.contains(limb)).collect();
    let mut kept = polynomial.select(keep).expect("its limbs");
    if dropped.is_empty() {
        return kept;
    }
    let remainder = integers(ring, &polynomial.select(&dropped).expect("its limbs"));
    kept.sub_assign(ring, &lift(ring, &remainder, keep));
    for (position, &limb) in keep.iter().enumerate() {
        let modulus = ring.modulus(limb);
        let product =
            dropped.iter().fold(1, |product, &p| modulus.multiply(product, modulus.reduce(ring.modulus(p).value())));
        ring.limb(limb).scale_assign(kept.limb_mut(position), modulus.inverse(product).expect("distinct primes"));
    }
    kept
}

/// (u_0, u_1) over the polynomial's limbs with u_0 + u_1·s ≈ polynomial·s'.
fn switch(ring: &Ring, key: &SwitchingKey, polynomial: &RnsPolynomial) -> [RnsPolynomial; 2] {
    let gadget = key.gadget();
    let limbs: Vec<LimbId> = polynomial.limbs().iter().chain(gadget.special()).copied().collect();
    let zero = RnsPolynomial::zero(ring.degree(), &limbs, Domain::Evaluation);
    let mut sums = [zero.clone(), zero];
    for (term, digit) in digits(ring, gadget, polynomial).iter().enumerate() {
        let digit = lift(ring, digit, &limbs);
        for (sum, part) in sums.iter_mut().zip([Part::Body, Part::Mask]) {
            let mut row = RnsPolynomial::zero(ring.degree(), &limbs, Domain::Evaluation);
            let mut scratch = vec![0; ring.degree().get()];
            for (position, limb) in limbs.iter().enumerate() {
                let at = key.limbs().iter().position(|other| other == limb).expect("a limb of the key");
                row.limb_mut(position).copy_from_slice(key.limb(part, term, at, &mut scratch));
            }
            sum.multiply_add_assign(ring, &digit, &row);
        }
    }
    sums.map(|sum| divide(ring, &sum, polynomial.limbs()))
}

/// A uniform polynomial, like the mask of a ciphertext.
fn uniform(ring: &Ring, limbs: &[LimbId], seed: u64) -> RnsPolynomial {
    let mask = crate::random::Seeds::for_tests(seed).mask;
    crate::rns::sample::mask(ring, &mask, 0, limbs, Domain::Evaluation)
}

fn measured(client: &ClientKey, error: &RnsPolynomial) -> MeasuredNoise {
    MeasuredNoise::of(&client.encoder().decode_coefficients(client.ring(), error, 1.0))
}

#[test]
fn key_switches_of_every_gadget() {
    let names =
        ["toy-10", "toy-11", "toy-10-pairs", "toy-10-f1", "toy-10-f1-limb", "toy-10-digits", "toy-10-one-digit"];
    for name in names {
        let clients: Vec<ClientKey> = clients(name).collect();
        let parameters = clients[0].parameters();
        for id in [KeyId::Relinearisation, KeyId::GaloisAfter(5)] {
            for level in [0, parameters.max_level() / 2, parameters.max_level()] {
                let limbs = parameters.limbs_at(level).expect("a level");
                let expected = key_switch(parameters, parameters.gadget(), &limbs, Representative::Centred);
                // A toy's error may exceed its lowest modulus: it cannot be measured, as the formula predicts.
                if expected.sqrt() * 8.0 > (parameters.log2_q(level) - 1.0).exp2() {
                    continue;
                }
                let errors = (1..).zip(&clients).map(|(seed, client)| switch_error(client, id, &limbs, seed));
                let found: f64 = errors.sum();
                let ratio = found / clients.len() as f64 / expected;
                let windows = parameters.gadget().sub_digit_bits().is_some();
                assert_formula(&format!("{name}, {id}, level {level}"), parameters.ring_degree().get(), ratio, windows);
            }
        }
    }
}

/// The variance of one key switch's error, of a uniform polynomial over `limbs`.
fn switch_error(client: &ClientKey, id: KeyId, limbs: &[LimbId], seed: u64) -> f64 {
    let ring = client.ring();
    let key = client.key_maker().for_tests(id, client.parameters().gadget(), seed).expect("a key");
    let input = uniform(ring, limbs, seed);
    let [body, mask] = switch(ring, &key, &input);
    let mut error = phase(ring, &Ciphertext::new(vec![body, mask]), client.secret());
    let source = match id {
        KeyId::Relinearisation => client.secret().values(ring, limbs).square(ring),
        _ => {
            let element = polyfabric_kernels::automorphism::GaloisElement::new(ring.degree(), 5);
            client.secret().automorphism(element.expect("odd")).values(ring, limbs)
        }
    };
    let mut exact = input;
    exact.multiply_assign(ring, source.get());
    exact.inverse(ring);
    error.sub_assign(ring, &exact);
    measured(client, &error).variance
}

/// The module's claim on toy sets: at L = 4, N = 1024 whole-limb digits swamp a one-limb scale; two limbs or digits of 8 bits do not.
#[test]
fn listing_1_swamps_a_one_limb_scale() {
    let bits_left = |name: &str| {
        let parameters = sets::parameters(name).expect("a set");
        let limbs = parameters.limbs_at(parameters.max_level()).expect("a level");
        let variance = key_switch(&parameters, parameters.gadget(), &limbs, Representative::Centred);
        parameters.scale().log2() - variance.log2() / 2.0
    };
    assert!(bits_left("toy-10-f1-limb") < 0.0);
    assert!(bits_left("toy-10-digits") > 15.0);
    assert!(bits_left("toy-10-f1") > 10.0);
    let f1 = ["f1-14-L16", "f1-14-L16-pairs", "f1-14-L16-digits"].map(bits_left);
    // The module's rounded numbers.
    assert!((-10.5..-9.0).contains(&f1[0]) && (18.0..22.0).contains(&f1[1]) && (12.0..14.0).contains(&f1[2]), "{f1:?}");
}

#[test]
fn rescaling_adds_its_rounding() {
    for name in ["toy-11", "toy-10-pairs", "toy-11-boot"] {
        let ratios = clients(name).map(|client| {
            let (parameters, ring) = (client.parameters(), client.ring());
            let top = parameters.max_level();
            let clear = values(parameters.max_slots(), 1);
            let scale = parameters.scale() * parameters.rescale_factor(top);
            let ciphertext =
                client.encrypt_at(&clear, top, scale.min((parameters.log2_q(top) - 8.0).exp2())).expect("fits");
            let limbs = parameters.limbs_at(top - 1).expect("a level");
            let parts = ciphertext.ciphertext().parts.iter().map(|part| divide(ring, part, &limbs)).collect();
            let divided = phase(ring, &Ciphertext::new(parts), client.secret());
            // Compared with the previous phase divided without rounding, in f64, whose error is far below one half.
            let factor = parameters.rescale_factor(top);
            let before = client.phase(&ciphertext).expect("a phase");
            let before = integers(ring, &before);
            let after = integers(ring, &divided);
            let factor_words = factor_words(parameters, top);
            let error: Vec<f64> =
                before.iter().zip(&after).map(|(x, y)| difference(x, y, factor_words) / factor).collect();
            MeasuredNoise::of(&error).variance / division(parameters, 1, Representative::Centred)
        });
        let ratio = ratios.sum::<f64>() / keys() as f64;
        assert_formula(name, sets::parameters(name).expect("a set").ring_degree().get(), ratio, false);
    }
}

fn factor_words(parameters: &Parameters, level: usize) -> u128 {
    let limbs = parameters.level_limbs();
    parameters.moduli()[limbs[level - 1]..limbs[level]].iter().map(|modulus| u128::from(modulus.value())).product()
}

/// y·factor − x of multi-word integers, computed exactly, as an f64.
fn difference(x: &SignedInteger, y: &SignedInteger, factor: u128) -> f64 {
    let modulus = polyfabric_kernels::modular::Modulus::new((1 << 61) - 1).expect("a prime");
    // |y·factor − x| is below 2^60·N, hence determined by residues modulo two primes of 61 and 60 bits.
    let other = polyfabric_kernels::modular::Modulus::new((1 << 60) - 93).expect("a modulus");
    let residue =
        |q: polyfabric_kernels::modular::Modulus| q.sub(q.multiply(y.residue(q), q.reduce_wide(factor)), x.residue(q));
    Reconstruction::new(&[modulus, other]).integer([residue(modulus), residue(other)].into_iter()).to_f64()
}

#[test]
fn products_with_plaintexts_and_ciphertexts() {
    let mut ratios = [0.0; 2];
    for (seed, client) in (1..).zip(clients("toy-11")) {
        for (ratio, one) in ratios.iter_mut().zip(product_errors(&client, seed)) {
            *ratio += one / keys() as f64;
        }
    }
    for (what, ratio) in ["a plaintext", "a ciphertext"].into_iter().zip(ratios) {
        assert_formula(what, 2048, ratio, false);
    }
}

/// Ratios of measured variance to the formulas: product with a plaintext, product with a ciphertext.
fn product_errors(client: &ClientKey, seed: u64) -> [f64; 2] {
    let (parameters, ring) = (client.parameters(), client.ring());
    let (scale, slots) = (parameters.scale(), parameters.max_slots());
    let (x, y) = (values(slots, 2 * seed), values(slots, 2 * seed + 1));
    let mean_square = |values: &[Complex]| values.iter().map(|z| z.abs().powi(2)).sum::<f64>() / slots as f64;
    let energy = |values: &[Complex]| plaintext_energy(parameters, mean_square(values), scale);
    let fresh = fresh_secret(parameters);
    let a = client.encrypt(&x).expect("an encryption");
    let limbs = a.ciphertext().limbs().to_vec();
    let encode = |values: &[Complex]| {
        client.encoder().encode(ring, &limbs, Domain::Evaluation, values, scale).expect("an encoding")
    };
    let (message_x, message_y) = (encode(&x), encode(&y));
    // The energy of the coefficients themselves.
    let squares = MeasuredNoise::of(&client.encoder().decode_coefficients(ring, &message_y, 1.0)).variance;
    assert!((squares * 2.0 * slots as f64 / energy(&y) - 1.0).abs() < 1e-6);

    let product = |parts: &[&RnsPolynomial; 2]| {
        let mut product = parts[0].clone();
        product.multiply_assign(ring, parts[1]);
        product
    };
    let parts = a.ciphertext().parts.iter().map(|part| product(&[part, &message_y])).collect();
    let mut error = phase(ring, &Ciphertext::new(parts), client.secret());
    let mut exact = product(&[&message_x, &message_y]);
    exact.inverse(ring);
    error.sub_assign(ring, &exact);
    // Both sides use the rounded plaintext, so only the first term appears.
    let plaintext = measured(client, &error).variance / multiply_plaintext(fresh, 0.0, energy(&y));

    let b = client.encrypt(&y).expect("an encryption");
    let (left, right) = (&a.ciphertext().parts, &b.ciphertext().parts);
    let mut middle = product(&[&left[0], &right[1]]);
    middle.add_assign(ring, &product(&[&left[1], &right[0]]));
    let parts = vec![product(&[&left[0], &right[0]]), middle, product(&[&left[1], &right[1]])];
    let mut error = phase(ring, &Ciphertext::new(parts), client.secret());
    error.sub_assign(ring, &exact);
    let ciphertext = measured(client, &error).variance / multiply(parameters, fresh, energy(&x), fresh, energy(&y));
    [plaintext, ciphertext]
}

#[test]
fn rounding_of_encodings() {
    let client = ClientKey::for_tests(&sets::parameters("toy-12").expect("a set"), 1).expect("keys");
    let (parameters, encoder) = (client.parameters(), client.encoder());
    let scale = 30f64.exp2();
    let errors: Vec<f64> = (0..8)
        .flat_map(|seed| {
            let clear = values(parameters.max_slots(), seed);
            let mut exact = clear.clone();
            encoder.fft().inverse(&mut exact);
            let rounded = encoder.coefficients(&clear, scale).expect("fits");
            exact.into_iter().zip(rounded).map(move |(exact, rounded)| rounded as f64 - exact.re * scale)
        })
        .collect();
    let ratio = MeasuredNoise::of(&errors).variance / ENCODING;
    // The square of a uniform number varies by 4/5 of its squared mean.
    assert!((ratio - 1.0).abs() < 5.0 * (0.8 / errors.len() as f64).sqrt(), "{ratio}");
}

/// Second moments of conversions compared with sums of uniform draws.
#[test]
fn representatives() {
    let mut stream = crate::random::Seeds::for_tests(1).secret.stream(crate::random::Purpose::SecretKey, 4);
    let mut uniform = || (stream.word() >> 11) as f64 / 2f64.powi(53);
    for primes in [1, 3, 5] {
        let draws = 100_000;
        let mut sums = [0.0; 2];
        for _ in 0..draws {
            let sum: f64 = (0..primes).map(|_| uniform()).sum();
            sums[0] += sum * sum;
            sums[1] += (sum - primes as f64 / 2.0).powi(2);
        }
        let representatives = [Representative::Approximate, Representative::Balanced];
        for (sum, representative) in sums.into_iter().zip(representatives) {
            let ratio = sum / f64::from(draws) / representative.second_moment(primes);
            assert!((0.97..1.03).contains(&ratio), "{representative:?}, {primes}: {ratio}");
        }
    }
    assert_eq!(Representative::Centred.second_moment(4), Representative::Balanced.second_moment(1));
}
