//! Does a file survive a round trip, and does any damage give an error without a panic?

use std::io::Cursor;

use super::*;
use crate::bgv::{BgvPublicKey, ClientKey, sets};
use crate::gsw::GswCiphertext;
use crate::port::Port;
use crate::progress::no_progress;
use crate::rns::KeyId;
use crate::serial::{read_from, write_to};

fn bytes<S: Storable>(content: &S) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(content, &mut bytes).expect("a vector takes everything");
    bytes
}

fn read<S: Storable>(bytes: &[u8]) -> Result<S, FormatError> {
    read_from(&mut Cursor::new(bytes), bytes.len() as u64)
}

fn client(name: &str) -> ClientKey {
    ClientKey::for_tests(&sets::named(name).expect("a set"), 1).expect("keys")
}

fn ciphertexts(client: &ClientKey) -> Ciphertexts {
    let values: Vec<u64> = (0..client.parameters().ring().degree().get() as u64).map(|i| i % 2).collect();
    let t = client.parameters().plaintext_modulus().value();
    let encrypt = |limbs| (client.encrypt_coefficients(&values, limbs).expect("an encryption"), limbs as u64 % t);
    Ciphertexts {
        parameters: client.parameters().clone(),
        port: Port::for_tests(),
        generation: client.generation(),
        ciphertexts: [1, 3].map(encrypt).to_vec(),
    }
}

fn keys(client: &ClientKey) -> EvaluationKeys {
    let keys = client.switching_keys([KeyId::Relinearisation, KeyId::Galois(5)], &no_progress).expect("keys");
    EvaluationKeys { parameters: client.parameters().clone(), generation: client.generation(), keys }
}

fn selector(client: &ClientKey, limbs: usize) -> Selector {
    let ciphertext = client.encrypt_selector(true, &client.parameters().limbs(limbs)).expect("an encryption");
    let (parameters, generation) = (client.parameters().clone(), client.generation());
    Selector { parameters, generation, port: Port::for_tests(), ciphertext }
}

/// Recomputes the checksum.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 32);
    let checksum = *blake3::hash(&bytes).as_bytes();
    bytes.extend(checksum);
    bytes
}

#[test]
fn everything_comes_back() {
    for name in ["bgv-toy-1024", "bgv-toy-1024-t40", "bgv-toy-1024-bootstrap"] {
        let client = client(name);
        let back = read::<ClientKey>(&bytes(&client)).expect("a client key");
        assert!(back.secret() == client.secret() && back.parameters() == client.parameters(), "{name}");
        let public = client.public_key().expect("a key");
        let back = read::<BgvPublicKey>(&bytes(&public)).expect("a public key");
        assert!(back == public && back.generation() == client.generation(), "{name}");
        let keys = keys(&client);
        let back = read::<EvaluationKeys>(&bytes(&keys)).expect("keys");
        assert!(back.keys.iter().eq(keys.keys.iter()), "{name}");
        for limbs in [1, client.parameters().q_limbs()] {
            let written = selector(&client, limbs);
            let back = read::<Selector>(&bytes(&written)).expect("a selector").ciphertext.polynomials();
            assert!(back == written.ciphertext.polynomials(), "{name}");
            let (ring, gadget) = (client.parameters().ring(), client.parameters().gadget_over(back[0].limbs()));
            let unseeded = GswCiphertext::of_polynomials(ring, &gadget, &back).expect("its polynomials");
            let written = Selector { ciphertext: unseeded, ..written };
            let again = read::<Selector>(&bytes(&written)).expect("a selector").ciphertext.polynomials();
            assert!(again == back && GswCiphertext::of_polynomials(ring, &gadget, &back[1..]).is_none(), "{name}");
        }
        let written = ciphertexts(&client);
        assert!(read::<Ciphertexts>(&bytes(&written)).expect("ciphertexts") == written, "{name}");
    }
}

#[test]
fn damage_is_found() {
    let client = client("bgv-toy-1024");
    let whole = bytes(&ciphertexts(&client));
    for length in (0..whole.len()).step_by(997) {
        assert!(matches!(read::<Ciphertexts>(&whole[..length]), Err(FormatError::Truncated { .. })), "{length}");
    }
    for place in (0..500).chain((500..whole.len()).step_by(1_009)) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x41;
        assert!(read::<Ciphertexts>(&damaged).is_err(), "byte {place}");
        // A forger can fix the checksum: reading must give an error or other content, not a panic.
        let _ = read::<Ciphertexts>(&with_checksum(damaged));
    }
    let public = bytes(&client.public_key().expect("a key"));
    for place in (0..500).chain((500..public.len()).step_by(1_009)) {
        let mut damaged = public.clone();
        damaged[place] ^= 0x41;
        assert!(read::<BgvPublicKey>(&damaged).is_err() && read::<BgvPublicKey>(&public[..place]).is_err(), "{place}");
        let _ = read::<BgvPublicKey>(&with_checksum(damaged));
    }
    let bit = bytes(&selector(&client, 2));
    for place in (0..900).chain((900..bit.len()).step_by(10_007)) {
        let mut damaged = bit.clone();
        damaged[place] ^= 0x41;
        assert!(read::<Selector>(&damaged).is_err() && read::<Selector>(&bit[..place]).is_err(), "{place}");
        let _ = read::<Selector>(&with_checksum(damaged));
    }
    let error = read::<ClientKey>(&public).expect_err("no secret").to_string();
    assert!(error.contains("a BGV public key, not a BGV client key"), "{error}");
    let error = read::<ClientKey>(&whole).expect_err("another kind").to_string();
    assert!(error.contains("BGV ciphertexts, not a BGV client key"), "{error}");
    let error = read::<crate::ckks::serial::Ciphertexts>(&whole).expect_err("another family").to_string();
    assert!(error.contains("this is a file of BGV, but one of CKKS is needed"), "{error}");
}

#[test]
fn content_that_no_writer_produces_is_rejected() {
    let client = client("bgv-toy-1024");
    let mut content = ciphertexts(&client);
    content.ciphertexts[0].1 = 0;
    let error = read::<Ciphertexts>(&bytes(&content)).expect_err("a factor of 0");
    assert!(matches!(error, FormatError::Content("a correction factor has no inverse modulo t")), "{error}");
    let mut whole = bytes(&client);
    let payload = whole.len() - 32 - 1024;
    whole[payload] = 2;
    let error = read::<ClientKey>(&with_checksum(whole)).expect_err("a digit of 2");
    assert!(matches!(error, FormatError::Content("a secret's coefficient is not -1, 0 or 1")), "{error}");
}

/// A small file that names the largest ring allocates little: transform tables are made at first use.
#[test]
fn a_small_file_of_a_large_ring_makes_no_tables() {
    let size = |set: &&sets::Entry| set.parameters.ring_degree * set.parameters.q_bits.len();
    let literal = &sets::all().iter().max_by_key(size).expect("a set").parameters;
    // Rebuilt, so that it shares nothing with the cached set.
    let literal = crate::bgv::ParametersLiteral { name: "large".to_owned(), ..literal.clone() };
    let parameters = crate::bgv::Parameters::check(&literal).expect("a set");
    let generation = client("bgv-toy-1024").generation();
    let keys = crate::rns::KeySet::new(parameters.ring().clone());
    let none = EvaluationKeys { parameters: parameters.clone(), generation, keys };
    let file = bytes(&none);
    assert!(file.len() < 8 << 10, "{} bytes", file.len());
    let back = read::<EvaluationKeys>(&file).expect("no keys");
    assert_eq!(back.parameters.ring().table_bytes() + back.keys.ring().table_bytes(), 0);
    let none = Ciphertexts { parameters, generation, port: Port::for_tests(), ciphertexts: Vec::new() };
    let back = read::<Ciphertexts>(&bytes(&none)).expect("no ciphertexts");
    assert_eq!(back.parameters.ring().table_bytes(), 0);
}
