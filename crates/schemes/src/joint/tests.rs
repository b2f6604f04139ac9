//! Do joint keys have the stated form and errors, do shares decrypt, hide what they must, and are other messages refused?

use super::*;
use crate::gaussian::RoundedGaussian;
use crate::random::{Purpose, Seeds};
use crate::rns::{
    Ciphertext, Domain, KeyErrors, KeyId, KeyStorage, LimbId, Part, RnsPolynomial, SecretPolynomial, SwitchingKey,
};
use crate::serial::{Storable, from_bytes, from_bytes_of, to_bytes};
use crate::set_file::ParameterSet;
use crate::{bgv, ckks};

const GALOIS: [KeyId; 2] = [KeyId::Galois(5), KeyId::GaloisAfter(25)];

fn set(name: &str) -> ParameterSet {
    match ckks::sets::parameters(name) {
        Ok(set) => ParameterSet::Ckks(set),
        Err(_) => ParameterSet::Bgv(bgv::sets::named(name).expect("a set")),
    }
}

fn limbs(set: &ParameterSet) -> Vec<LimbId> {
    match set {
        ParameterSet::Ckks(set) => set.gadget().q().to_vec(),
        ParameterSet::Bgv(set) => set.gadget().q().to_vec(),
    }
}

fn session_of(name: &str, reference: &str) -> Session {
    let set = set(name);
    let key = |id| (id, limbs(&set), KeyStorage::BYTES);
    let keys: Vec<_> = [KeyId::Relinearisation].into_iter().chain(GALOIS).map(key).collect();
    Session::new(&set, &keys, b"a program", reference.as_bytes()).expect("a session")
}

fn parties(session: &Session) -> Vec<Party> {
    (0..session.parties()).map(|index| Party::for_tests(session, index, 100 + index as u64).expect("a party")).collect()
}

struct Run {
    first: Vec<Message>,
    second: Vec<Message>,
    keys: JointKeys,
}

fn run(session: &Session, parties: &mut [Party]) -> Run {
    let first: Vec<Message> = parties.iter().map(|party| party.first().expect("a message")).collect();
    let second: Vec<Message> = parties.iter_mut().map(|party| party.second(&first).expect("a message")).collect();
    let keys = JointKeys::new(session, &first, &second).expect("keys");
    Run { first, second, keys }
}

/// Σ s_i, which no party has.
fn joint_secret(parties: &[Party]) -> Vec<i64> {
    let mut sum = vec![0; parties[0].session().degree().get()];
    for party in parties {
        sum.iter_mut().zip(party.secret().coefficients()).for_each(|(sum, &own)| *sum += i64::from(own));
    }
    sum
}

/// σ_g of coefficients.
fn moved(coefficients: &[i64], element: usize) -> Vec<i64> {
    let count = coefficients.len();
    let mut result = vec![0; count];
    for (exponent, &coefficient) in coefficients.iter().enumerate() {
        let place = exponent * element % (2 * count);
        result[place % count] = if place < count { coefficient } else { -coefficient };
    }
    result
}

/// The mean square of centred coefficients of a polynomial over one limb.
fn mean_square(session: &Session, mut polynomial: RnsPolynomial) -> f64 {
    polynomial.inverse(session.ring());
    let modulus = session.ring().modulus(polynomial.limbs()[0]);
    let squares = polynomial.limb(0).iter().map(|&word| (modulus.centre(word) as f64).powi(2));
    squares.sum::<f64>() / polynomial.degree().get() as f64
}

/// E_d = b_d + a_d·to − g_d·from at a special limb, where g_d is 0.
fn key_error(session: &Session, key: &SwitchingKey, term: usize, to: &[i64]) -> RnsPolynomial {
    let (ring, position) = (session.ring(), key.limbs().len() - 1);
    let limb = [key.limbs()[position]];
    let polynomial = |part| {
        let mut polynomial = RnsPolynomial::zero(ring.degree(), &limb, Domain::Evaluation);
        let mut scratch = vec![0; ring.degree().get()];
        polynomial.limb_mut(0).copy_from_slice(key.limb(part, term, position, &mut scratch));
        polynomial
    };
    let (mut error, mask) = (polynomial(Part::Body), polynomial(Part::Mask));
    error.multiply_add_assign(ring, &mask, SecretPolynomial::from_coefficients(ring, &limb, to).get());
    error
}

/// The errors have the predicted variance to five deviations: the square of a product of two random polynomials varies by twice its squared
/// mean at each of N/2 frequencies, and the secrets' weights add to that. Terms share the secrets.
#[test]
fn joint_keys_switch_from_and_to_the_sum_of_the_secrets() {
    for (name, parties_of) in [("toy-10", 3), ("toy-10", 5), ("bgv-toy-1024", 3)] {
        let session = session_of(&format!("{name}-parties-{parties_of}"), "the reference");
        let mut parties = parties(&session);
        let Run { keys, .. } = run(&session, &mut parties);
        let (secret, count) = (joint_secret(&parties), session.degree().get() as f64);
        let [_, noise] = session.noises();
        let (one, n) = (noise.variance(), parties_of as f64);
        let weight = n * 2.0 / 3.0 * count;
        for key in keys.evaluation.iter() {
            let inverse =
                |element: usize| (1..2 * count as usize).find(|other| other * element % (2 * count as usize) == 1);
            let to = match key.id() {
                KeyId::Galois(element) => moved(&secret, inverse(element).expect("an inverse")),
                _ => secret.clone(),
            };
            let expected = match KeyErrors::of(key.id()) {
                KeyErrors::Drawn => n * one,
                KeyErrors::Relinearisation => n * one * (2.0 * weight + 2.0),
            };
            let terms = key.gadget().terms().len();
            let found = (0..terms).map(|term| mean_square(&session, key_error(&session, key, term, &to))).sum::<f64>();
            let ratio = found / terms as f64 / expected;
            println!("{name}, {parties_of} parties, {}: {ratio:.3} of the predicted variance", key.id());
            assert!((ratio - 1.0).abs() < 5.0 * (5.0 / (count / 2.0)).sqrt(), "{name}, {}: {ratio}", key.id());
        }
    }
}

/// Encrypts the constant `value` times the public key's factor, under the joint public key.
fn encryption(session: &Session, keys: &JointKeys, seed: u64) -> Ciphertext {
    let (key, limbs) = match &keys.public {
        JointPublicKey::Ckks(key) => (key.key(), limbs(session.set())),
        JointPublicKey::Bgv(key) => (key.key(), limbs(session.set())),
    };
    let [noise, _] = session.noises();
    key.encrypt_zero(&limbs[..2], &noise, &Seeds::for_tests(seed)).expect("a ciphertext")
}

/// c_0 + s·c_1 in coefficients, over the first limb.
fn phase_of(session: &Session, ciphertext: &Ciphertext, secret: &[i64]) -> RnsPolynomial {
    let ring = session.ring();
    let mut phase = ciphertext.parts[0].clone();
    let secret = SecretPolynomial::from_coefficients(ring, ciphertext.limbs(), secret);
    phase.multiply_add_assign(ring, &ciphertext.parts[1], secret.get());
    phase.inverse(ring);
    phase
}

fn smudging(log2_deviation: f64) -> Smudging {
    Smudging { bits: Smudging::LEAST_BITS, log2_deviation }
}

/// The sum of shares is the phase plus noise of the stated deviation, in multiples of the factor; without one share it is uniform.
#[test]
fn shares_decrypt_with_the_stated_noise_and_not_without_one_of_them() {
    for name in ["toy-10-parties-3", "bgv-toy-1024-parties-5"] {
        let session = session_of(name, "the reference");
        let mut parties = parties(&session);
        let Run { keys, .. } = run(&session, &mut parties);
        let secret = joint_secret(&parties);
        let (ring, n) = (session.ring(), session.parties() as f64);
        let (mut squares, mut mean, draws, log2_deviation) = (0.0, 0.0, 8, 9.5);
        for seed in 0..draws {
            let ciphertext = encryption(&session, &keys, seed);
            let outputs = [(ciphertext.clone(), smudging(log2_deviation))];
            let shares: Vec<Message> =
                parties.iter().map(|party| party.share(&outputs, None).expect("a share")).collect();
            let found = phases(&session, keys.generation, std::slice::from_ref(&ciphertext), &shares).expect("phases");
            let mut noise = found[0].clone();
            noise.sub_assign(ring, &phase_of(&session, &ciphertext, &secret));
            let modulus = ring.modulus(noise.limbs()[0]);
            let factor = session.factor() as i64;
            for &word in noise.limb(0) {
                let centred = modulus.centre(word);
                assert_eq!(centred % factor, 0, "noise is a multiple of t");
                squares += ((centred / factor) as f64).powi(2);
                mean += (centred / factor) as f64;
            }
            // All shares but the last: a uniform polynomial, whose mean square is q²/12.
            let missing = phases(&session, keys.generation, std::slice::from_ref(&ciphertext), &shares[1..]);
            assert!(matches!(missing, Err(JointError::Count { .. })));
            let mut partial = found[0].clone();
            partial.sub_assign(ring, &shares[0].polynomials[0]);
            let share = mean_square(&session, partial) * 12.0 / (modulus.value() as f64).powi(2);
            assert!((0.75..1.25).contains(&share), "{share}");
        }
        let count = draws as f64 * session.degree().get() as f64;
        let (ratio, deviation) = (squares / count / (n * (2.0 * log2_deviation).exp2()), (squares / count).sqrt());
        println!("{name}: {ratio:.3} of the stated variance");
        assert!(
            (ratio - 1.0).abs() < 5.0 * (2.0 / count).sqrt() && (mean / count).abs() < 5.0 * deviation / count.sqrt()
        );
    }
}

/// The simulation of the last party's share from the result alone: r + e − c_0 − (the others' shares) for the exact result r. Real shares differ by
/// the ciphertext's error e_c. Both, less what they share, are e + e_c and e: a test of their means in the direction of e_c tells them apart
/// at 2 bits of smudging, and not at 40.
#[test]
fn a_share_is_like_one_that_the_result_alone_gives() {
    let session = session_of("toy-10-parties-3", "the reference");
    let mut parties = parties(&session);
    let Run { keys, .. } = run(&session, &mut parties);
    let secret = joint_secret(&parties);
    let (ring, generation) = (session.ring(), keys.generation);
    let ciphertext = encryption(&session, &keys, 7);
    let error = phase_of(&session, &ciphertext, &secret);
    let modulus = ring.modulus(error.limbs()[0]);
    let centred = |polynomial: &RnsPolynomial| -> Vec<f64> {
        polynomial.limb(0).iter().map(|&word| modulus.centre(word) as f64).collect()
    };
    let error = centred(&error);
    let norm = error.iter().map(|coefficient| coefficient * coefficient).sum::<f64>().sqrt();
    // The number of deviations by which the noise of the last share leans towards the error.
    let lean = |noise: &[f64], deviation: f64| {
        noise.iter().zip(&error).map(|(noise, error)| noise * error).sum::<f64>() / (norm * deviation)
    };
    for bits in [2.0, 40.0] {
        let hiding = Smudging::hiding(norm.log2(), bits);
        let deviation = hiding.log2_deviation.exp2();
        let (mut real, mut simulated, draws) = (0.0, 0.0, 40);
        let gaussian = RoundedGaussian::wide(deviation);
        for draw in 0..draws {
            // A party that draws its noise anew, as for another ciphertext.
            let party = Party::for_tests(&session, 2, 1_000 + draw).expect("a party");
            let mut stream = party.seed().stream(Purpose::Flooding, 1);
            let noise: Vec<f64> =
                gaussian.wide_polynomial(&mut stream, error.len()).iter().map(|&e| e as f64).collect();
            let of_real: Vec<f64> = noise.iter().zip(&error).map(|(noise, error)| noise + error).collect();
            real += lean(&of_real, deviation) / f64::from(draws as u32);
            simulated += lean(&noise, deviation) / f64::from(draws as u32);
        }
        let (spread, bound) = (1.0 / f64::from(draws as u32).sqrt(), -(bits + 1.0));
        println!(
            "{bits} bits: deviation 2^{:.1}, statistical distance at most 2^{bound:.2}, lean {real:.3} and {simulated:.3}",
            deviation.log2()
        );
        // The lean that the shift causes is ‖e_c‖/σ, twice the bound of the distance.
        assert!((real - simulated - 2.0 * bound.exp2()).abs() < 1e-3, "{real} {simulated}");
        assert!(simulated.abs() < 5.0 * spread);
    }
    // The shares of the protocol are those of 40 bits at least.
    for wrong in [39.9, 0.0, f64::NAN, 81.0] {
        let outputs = [(ciphertext.clone(), Smudging { bits: wrong, log2_deviation: 50.0 })];
        assert!(matches!(parties[0].share(&outputs, None), Err(JointError::Smudging { .. })));
    }
    let outputs = [(ciphertext, smudging(50.0))];
    let share = parties[0].share(&outputs, None).expect("a share");
    assert_eq!(share, parties[0].share(&outputs, None).expect("a share"), "one request, one share");
    assert_ne!(
        share.polynomials,
        parties[0].share(&[(outputs[0].0.clone(), smudging(50.1))], None).expect("a share").polynomials
    );
    assert!(phases(&session, generation, &[outputs[0].0.clone()], &[share]).is_err());
}

#[test]
fn messages_of_other_rounds_runs_and_ciphertexts_are_refused() {
    let session = session_of("toy-10-parties-3", "the reference");
    let mut parties = parties(&session);
    let Run { first, second, keys } = run(&session, &mut parties);
    let swapped = |messages: &[Message], with: &Message| {
        let mut messages = messages.to_vec();
        messages[1] = with.clone();
        messages
    };
    let joined = |first: &[Message], second: &[Message]| JointKeys::new(&session, first, second).map(|_| ());
    assert!(joined(&first, &second).is_ok());
    let reversed: Vec<Message> = first.iter().rev().cloned().collect();
    assert!(joined(&reversed, &second).is_ok(), "in any order");
    assert!(matches!(joined(&first[1..], &second), Err(JointError::Count { .. })));
    assert!(matches!(joined(&swapped(&first, &second[1]), &second), Err(JointError::Round { .. })));
    assert!(matches!(joined(&first, &swapped(&second, &first[1])), Err(JointError::Round { .. })));
    assert!(matches!(joined(&swapped(&first, &first[0]), &second), Err(JointError::Twice { .. })));
    // Of another reference, and of a party that was made anew.
    let other = session_of("toy-10-parties-3", "another reference");
    let foreign = Party::for_tests(&other, 1, 101).expect("a party").first().expect("a message");
    assert!(matches!(joined(&swapped(&first, &foreign), &second), Err(JointError::Session { .. })));
    let anew = Party::for_tests(&session, 1, 999).expect("a party").first().expect("a message");
    assert!(matches!(joined(&swapped(&first, &anew), &second), Err(JointError::Subject { .. })));
    assert!(matches!(parties[0].second(&swapped(&first, &anew)), Err(JointError::Answered(0))));
    assert_eq!(parties[0].second(&first).expect("the same message"), second[0]);
    let mut short = first[1].clone();
    short.polynomials.pop();
    assert!(matches!(joined(&swapped(&first, &short), &second), Err(JointError::Form { .. })));
    let mut index = first[1].clone();
    index.party = 3;
    assert!(matches!(joined(&swapped(&first, &index), &second), Err(JointError::Index { .. })));
    // Shares.
    let [one, two] = [7, 8].map(|seed| encryption(&session, &keys, seed));
    let share = |party: &Party, ciphertext: &Ciphertext| {
        party.share(&[(ciphertext.clone(), smudging(20.0))], None).expect("a share")
    };
    let shares: Vec<Message> = parties.iter().map(|party| share(party, &one)).collect();
    let opened = |shares: &[Message], of: &Ciphertext| {
        phases(&session, keys.generation, std::slice::from_ref(of), shares).map(|_| ())
    };
    assert!(opened(&shares, &one).is_ok());
    assert!(matches!(opened(&shares, &two), Err(JointError::Subject { .. })));
    assert!(matches!(opened(&swapped(&shares, &share(&parties[1], &two)), &one), Err(JointError::Subject { .. })));
    assert!(matches!(
        Party::for_tests(&session, 0, 1).expect("a party").share(&[], None),
        Err(JointError::Unfinished(0))
    ));
    assert!(matches!(Party::new(&session, 3), Err(JointError::Index { .. })));
    let three = Ciphertext::new(vec![one.parts[0].clone(); 3]);
    assert!(matches!(parties[0].share(&[(three, smudging(20.0))], None), Err(JointError::Parts(3))));
}

#[test]
fn sets_of_one_owner_and_keys_of_bootstrapping_are_refused() {
    let alone = set("toy-10");
    assert!(matches!(Session::new(&alone, &[], b"", b""), Err(JointError::Alone(_))));
    let joint = set("toy-10-parties-3");
    let key = (KeyId::Encapsulate, limbs(&joint), KeyStorage::BYTES);
    assert!(matches!(Session::new(&joint, &[key], b"", b""), Err(JointError::Key(_))));
    for name in ["toy-11-boot-parties-3", "toy-10-parties-1", "toy-10-parties-65", "none-parties-3"] {
        assert!(ckks::sets::parameters(name).is_err(), "{name}");
    }
    let ParameterSet::Ckks(joint) = joint else { panic!("a set of CKKS") };
    assert!(matches!(ckks::ClientKey::generate(&joint), Err(ckks::ClientError::Joint { parties: 3, .. })));
    let ParameterSet::Ckks(alone) = alone else { panic!("a set of CKKS") };
    assert_eq!(joint.security().bits, alone.security().bits, "that of one party's secret");
}

#[test]
fn messages_and_parties_come_back_from_their_files_and_damaged_ones_do_not() {
    let session = session_of("toy-10-parties-3", "the reference");
    let mut parties = parties(&session);
    let Run { first, second, keys } = run(&session, &mut parties);
    let ciphertext = encryption(&session, &keys, 7);
    let share = parties[0].share(&[(ciphertext.clone(), smudging(20.0))], None).expect("a share");
    for message in [&first[0], &second[0], &share] {
        let bytes = to_bytes(message, "a message").expect("bytes");
        assert_eq!(from_bytes::<Message>(&bytes, "it").expect("a message"), *message);
        for place in (0..bytes.len()).step_by(bytes.len() / 61 + 1) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(from_bytes::<Message>(&damaged, "it").is_err(), "byte {place}");
            assert!(from_bytes::<Message>(&bytes[..place], "it").is_err(), "cut at {place}");
        }
    }
    let bytes = to_bytes(&parties[0], "a party").expect("bytes");
    let read = |session: &Session| {
        from_bytes_of::<Party>(&bytes, "it", session.set(), |_, length, reader| Party::read(session, length, reader))
    };
    let mut again = read(&session).expect("the party");
    assert_eq!(again.secret(), parties[0].secret());
    assert_eq!(again.share(&[(ciphertext, smudging(20.0))], None).expect("a share"), share);
    let anew = Party::for_tests(&session, 1, 999).expect("a party").first().expect("a message");
    assert!(again.second(&[first[0].clone(), anew, first[2].clone()]).is_err(), "it remembers what it answered");
    assert!(read(&session_of("toy-10-parties-3", "another reference")).is_err());
    assert_eq!(Party::KIND.to_string(), "a party's secret");
}

/// Bits and cut-offs of wide noise.
#[test]
fn wide_noise_has_its_deviation_and_its_bound() {
    for log2 in [3.0, 20.0, 61.0, 64.5, 90.0, 112.0] {
        let gaussian = RoundedGaussian::wide(f64::exp2(log2));
        let count = 60_000;
        let draws = gaussian.wide_polynomial(&mut Seeds::for_tests(3).secret.stream(Purpose::Flooding, 0), count);
        let scaled: Vec<f64> = draws.iter().map(|&draw| draw as f64 / log2.exp2()).collect();
        let moment = |power: i32| scaled.iter().map(|draw| draw.powi(power)).sum::<f64>() / count as f64;
        let root = (count as f64).sqrt();
        assert!(moment(1).abs() < 5.0 / root && (moment(2) - 1.0).abs() < 5.0 * 2f64.sqrt() / root, "{log2}");
        assert!((moment(4) - 3.0).abs() < 5.0 * 96f64.sqrt() / root, "{log2}: {}", moment(4));
    }
    // Sums of three polynomials at a root: |Σ|² of N·n·σ² on average, within the bound of 2^-20 always.
    let (degree, hiding) = (session_of("toy-10-parties-3", "").degree(), Smudging::hiding(10.0, 40.0));
    let bound = (hiding.bound_log2(3, degree, -20.0) - hiding.log2_deviation).exp2();
    assert!((bound / (3.0 * 1024f64 * 30.0 * std::f64::consts::LN_2).sqrt() - 1.0).abs() < 1e-9);
}

/// Parties who have dealt with `threshold`, and their keys.
fn dealt(name: &str, threshold: usize) -> (Session, Vec<Party>, JointKeys) {
    let session = session_of(name, "the reference");
    let mut parties = parties(&session);
    let Run { keys, .. } = run(&session, &mut parties);
    let deals: Vec<Vec<Deal>> = parties.iter().map(|party| party.deal(threshold).expect("deals")).collect();
    for (index, party) in parties.iter_mut().enumerate() {
        let own: Vec<Deal> = deals.iter().map(|deals| deals[index].clone()).collect();
        party.take(&own).expect("one deal of each");
    }
    (session, parties, keys)
}

fn holding(party: &Party) -> &super::threshold::Holding {
    party.holding().expect("a shared secret")
}

/// Mean squares of the noise are those of t parties to five deviations.
#[test]
fn any_t_parties_decrypt_with_the_noise_of_t() {
    for (name, sets) in [
        ("toy-10-parties-3", vec![vec![0, 1], vec![2, 0], vec![1, 2]]),
        ("bgv-toy-1024-parties-5", vec![vec![0, 2, 4], vec![3, 2, 1]]),
    ] {
        let threshold = sets[0].len();
        let (session, parties, keys) = dealt(name, threshold);
        let (ring, secret) = (session.ring(), joint_secret(&parties));
        let limbs = session.public_limbs();
        for among in sets {
            let mut ordered = among.clone();
            ordered.sort_unstable();
            let mut sum = RnsPolynomial::zero(ring.degree(), &limbs, Domain::Evaluation);
            for &index in &among {
                let share = holding(&parties[index]).share(ring, index, &ordered, &limbs).expect("a share of s");
                sum.add_assign(ring, share.get());
            }
            assert_eq!(sum, *SecretPolynomial::from_coefficients(ring, &limbs, &secret).get(), "the secret, {among:?}");
            let (draws, log2_deviation) = (6, 9.5);
            let mut squares = 0.0;
            for seed in 0..draws {
                let ciphertext = encryption(&session, &keys, seed);
                let outputs = [(ciphertext.clone(), smudging(log2_deviation))];
                let share = |&index: &usize| parties[index].share(&outputs, Some(&among)).expect("a share");
                let shares: Vec<Message> = among.iter().map(share).collect();
                let opened =
                    |shares: &[Message]| phases(&session, keys.generation, std::slice::from_ref(&ciphertext), shares);
                let mut noise = opened(&shares).expect("phases")[0].clone();
                noise.sub_assign(ring, &phase_of(&session, &ciphertext, &secret));
                let modulus = ring.modulus(noise.limbs()[0]);
                let factor = session.factor() as i64;
                for &word in noise.limb(0) {
                    assert_eq!(modulus.centre(word) % factor, 0, "noise is a multiple of t");
                    squares += ((modulus.centre(word) / factor) as f64).powi(2);
                }
                assert!(opened(&shares[1..]).is_err());
                assert!(matches!(opened(&[]), Err(JointError::Count { found: 0, .. })));
                let twice = [&shares[..], &shares[..1]].concat();
                assert!(matches!(opened(&twice), Err(JointError::Twice { .. })));
            }
            let count = f64::from(draws as u32) * session.degree().get() as f64;
            let ratio = squares / count / (threshold as f64 * (2.0 * log2_deviation).exp2());
            println!("{name}, {among:?}: {ratio:.3} of the stated variance");
            assert!((ratio - 1.0).abs() < 5.0 * (2.0 / count).sqrt());
        }
    }
}

/// Party 0 sees the shares of parties 1 and 2 for an answer with the exact result 0, and knows S_0. A simulator knows the result alone: it takes a
/// uniform polynomial for the first share, and for the second what remains of the result, less c_0, with noise. Coupled with the same noise,
/// the sum of the real shares differs by the ciphertext's error e_c, which the noise hides to ‖e_c‖/2σ; and what a real share has besides
/// λ·S·c_1 is uniform, so that nothing but the sum tells anything.
#[test]
fn shares_of_t_parties_are_like_those_that_the_result_alone_gives() {
    let (session, parties, keys) = dealt("toy-10-parties-3", 2);
    let (ring, secret) = (session.ring(), joint_secret(&parties));
    let ciphertext = encryption(&session, &keys, 7);
    let error = phase_of(&session, &ciphertext, &secret);
    let log2_deviation = 8.0;
    let outputs = [(ciphertext.clone(), smudging(log2_deviation))];
    let (among, limbs) = ([1, 2], ciphertext.limbs());
    let shares =
        among.map(|index| parties[index].share(&outputs, Some(&among)).expect("a share").polynomials.remove(0));
    let modulus = ring.modulus(limbs[0]);
    let uniform = (modulus.value() as f64).powi(2) / 12.0;
    let residue = |place: usize| {
        let own = holding(&parties[among[place]]).share(ring, among[place], &among, limbs).expect("a share of s");
        let mut product = ciphertext.parts[1].clone();
        product.multiply_assign(ring, own.get());
        product.inverse(ring);
        let mut residue = shares[place].clone();
        residue.sub_assign(ring, &product);
        residue
    };
    let residues = [residue(0), residue(1)];
    let mut noise = residues[0].clone();
    noise.add_assign(ring, &residues[1]);
    for residue in residues {
        let ratio = mean_square(&session, residue) / uniform;
        assert!((ratio - 1.0).abs() < 0.2, "{ratio} of a uniform polynomial's mean square");
    }
    let ratio = mean_square(&session, noise.clone()) / (2.0 * (2.0 * log2_deviation).exp2());
    assert!((ratio - 1.0).abs() < 0.25, "{ratio} of the variance of two parties' noise");
    // The simulator's shares.
    let first = crate::rns::sample::mask(ring, &Seeds::for_tests(5).mask, 0, limbs, Domain::Coefficient);
    let mut second = noise;
    let mut body = ciphertext.parts[0].clone();
    body.inverse(ring);
    second.sub_assign(ring, &body);
    second.sub_assign(ring, &first);
    let mut difference = shares[0].clone();
    difference.add_assign(ring, &shares[1]);
    difference.sub_assign(ring, &first);
    difference.sub_assign(ring, &second);
    assert_eq!(difference, error, "real and simulated views differ by the error of the ciphertext");
    // Another set of parties, and all of them, have other noise and masks.
    let again = |among: Option<&[usize]>| parties[1].share(&outputs, among).expect("a share").polynomials.remove(0);
    assert_eq!(again(Some(&[2, 1])), shares[0], "one request, one share");
    assert_ne!(again(Some(&[0, 1])), shares[0]);
    assert_ne!(again(None), shares[0]);
    for wrong in [39.9, f64::NAN] {
        let outputs = [(ciphertext.clone(), Smudging { bits: wrong, log2_deviation: 50.0 })];
        assert!(matches!(parties[1].share(&outputs, Some(&among)), Err(JointError::Smudging { .. })));
    }
}

#[test]
fn secret_shares_of_others_and_other_sets_of_parties_are_refused() {
    let (session, mut parties, keys) = dealt("toy-10-parties-3", 2);
    let own = |parties: &[Party], to: usize| -> Vec<Deal> {
        parties.iter().map(|party| party.deal(2).expect("deals")[to].clone()).collect()
    };
    let right = own(&parties, 1);
    for threshold in [0, 1, 3, usize::MAX] {
        assert!(matches!(parties[0].deal(threshold), Err(JointError::Threshold { .. })));
    }
    let fresh = || Party::for_tests(&session, 1, 5).expect("a party");
    assert!(matches!(fresh().deal(2), Err(JointError::Unfinished(1))));
    assert!(matches!(fresh().take(&right), Err(JointError::Unfinished(1))));
    let outputs = [(encryption(&session, &keys, 7), smudging(20.0))];
    let with = |change: &dyn Fn(&mut Deal)| {
        let mut deals = right.clone();
        change(&mut deals[0]);
        deals
    };
    let others = own(&parties, 0);
    let mut take = |deals: &[Deal]| parties[1].take(deals);
    assert!(matches!(take(&right[1..]), Err(JointError::Count { .. })));
    assert!(matches!(take(&others), Err(JointError::Receiver { .. })));
    assert!(matches!(take(&with(&|deal| deal.threshold = 3)), Err(JointError::Threshold { .. })));
    assert!(matches!(take(&with(&|deal| deal.from = 2)), Err(JointError::Twice { .. })));
    assert!(matches!(take(&with(&|deal| deal.from = 3)), Err(JointError::Index { .. })));
    assert!(matches!(take(&with(&|deal| deal.subject[0] = [0; 32])), Err(JointError::Session { .. })));
    assert!(matches!(take(&with(&|deal| deal.subject[1] = [0; 32])), Err(JointError::Subject { .. })));
    let mut reversed = right.clone();
    reversed.reverse();
    assert!(take(&reversed).is_ok(), "in any order");
    for among in [&[1][..], &[0, 2], &[1, 1], &[1, 3], &[0, 1, 2], &[]] {
        assert!(matches!(parties[1].share(&outputs, Some(among)), Err(JointError::Among { .. })), "{among:?}");
    }
    // Shares for different sets of parties.
    let [one, two] = [(1, [0, 1]), (2, [1, 2])].map(|(index, among)| parties[index].share(&outputs, Some(&among)));
    let shares = [one.expect("a share"), two.expect("a share")];
    let opened = phases(&session, keys.generation, &[outputs[0].0.clone()], &shares);
    assert!(matches!(opened, Err(JointError::Subject { .. })));
    // Files.
    let bytes = to_bytes(&right[0], "a secret share").expect("bytes");
    let again = from_bytes::<Deal>(&bytes, "it").expect("a secret share");
    assert_eq!((again.value.get(), again.seed.bytes()), (right[0].value.get(), right[0].seed.bytes()));
    for place in (0..bytes.len()).step_by(bytes.len() / 61 + 1) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        assert!(from_bytes::<Deal>(&damaged, "it").is_err(), "byte {place}");
        assert!(from_bytes::<Deal>(&bytes[..place], "it").is_err(), "cut at {place}");
    }
    let bytes = to_bytes(&parties[1], "a party").expect("bytes");
    let read =
        from_bytes_of::<Party>(&bytes, "it", session.set(), |_, length, reader| Party::read(&session, length, reader));
    let again = read.expect("the party");
    let share = |party: &Party| party.share(&outputs, Some(&[0, 1])).expect("a share");
    assert_eq!(share(&again), share(&parties[1]));
    assert!(matches!(fresh().share(&outputs, Some(&[0, 1])), Err(JointError::Unfinished(1))));
}

/// Every three of five points give a polynomial's constant, by fractions of integers: not by our own inverses.
#[test]
fn values_are_of_a_polynomial_with_the_secret_as_its_constant() {
    let session = session_of("toy-10-parties-5", "the reference");
    let (ring, limbs) = (session.ring(), session.public_limbs());
    let secret: Vec<i64> = (0..ring.degree().get() as i64).map(|place| place % 3 - 1).collect();
    let secret = SecretPolynomial::from_coefficients(ring, &limbs, &secret);
    let values = super::threshold::values(ring, &secret, 3, 5, &Seeds::for_tests(9).secret);
    for (place, &limb) in limbs.iter().enumerate() {
        let q = i128::from(ring.modulus(limb).value());
        for at in [0, 1, 1000] {
            let value = |party: i128| i128::from(values[party as usize - 1].get().limb(place)[at]);
            for [a, b, c] in [[1, 2, 3], [1, 3, 5], [2, 4, 5]] {
                // Lagrange at 0, times (b − a)(c − a)(c − b).
                let [x, y, z] = [b * c * (c - b), -a * c * (c - a), a * b * (b - a)];
                let found = x * value(a) + y * value(b) + z * value(c);
                let expected = (b - a) * (c - a) * (c - b) * i128::from(secret.get().limb(place)[at]);
                assert_eq!((found - expected).rem_euclid(q), 0);
            }
        }
        assert_ne!(values[0].get().limb(place), values[1].get().limb(place));
    }
}
