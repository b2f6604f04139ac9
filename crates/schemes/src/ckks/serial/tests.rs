//! Does a file survive a round trip, and does any damage give an error with a remedy, without a panic or a large allocation?

use std::io::Cursor;

use polyfabric_kernels::cancel::{Cancelled, Token};

use super::*;
use crate::ckks::{ClientKey, Complex, PublicEncryptionKey, sets};
use crate::port::Port;
use crate::progress::no_progress;
use crate::rns::{KeyId, KeyStorage, LimbId, WantedKeys};
use crate::serial::{from_bytes_of, read_from, write_to};

fn bytes<S: Storable>(content: &S) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(content, &mut bytes).expect("a vector takes everything");
    bytes
}

fn read<S: Storable>(bytes: &[u8]) -> Result<S, FormatError> {
    read_from(&mut Cursor::new(bytes), bytes.len() as u64)
}

fn client(name: &str) -> ClientKey {
    ClientKey::for_tests(&sets::parameters(name).expect("a set"), 1).expect("keys")
}

fn ciphertexts(client: &ClientKey) -> Ciphertexts {
    let values = [0.5, -1.0, 2.0, 0.0].map(Complex::from);
    let encrypt = |level| client.encrypt_at(&values, level, 2f64.powi(30)).expect("an encryption");
    Ciphertexts {
        parameters: client.parameters().clone(),
        port: Port::for_tests(),
        generation: client.generation(),
        ciphertexts: [1, 2].map(encrypt).to_vec(),
    }
}

fn evaluation_keys(client: &ClientKey, ids: &[KeyId]) -> EvaluationKeys {
    let keys = client.evaluation_keys(ids, KeyStorage::BYTES, None, &no_progress).expect("keys");
    EvaluationKeys { parameters: client.parameters().clone(), generation: client.generation(), keys }
}

/// The keys to and from the ephemeral secret, whose gadgets differ from the set's.
const BOOTSTRAPPING: [KeyId; 2] = [KeyId::Encapsulate, KeyId::Decapsulate];

/// Recomputes the checksum.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 32);
    let checksum = *blake3::hash(&bytes).as_bytes();
    bytes.extend(checksum);
    bytes
}

#[test]
fn everything_comes_back() {
    for name in ["toy-10", "toy-10-pairs", "toy-10-f1", "toy-10-digits", "toy-11-boot"] {
        let client = client(name);
        let back = read::<ClientKey>(&bytes(&client)).expect("a client key");
        assert!(back == client, "{name}");
        let public = client.public_key().expect("a key");
        assert!(read::<PublicEncryptionKey>(&bytes(&public)).expect("a public key") == public, "{name}");
        let mut ids = vec![KeyId::Relinearisation, KeyId::Galois(5), KeyId::GaloisAfter(2047)];
        if client.ephemeral().is_some() {
            ids.extend([KeyId::Encapsulate, KeyId::Decapsulate]);
        }
        let keys = evaluation_keys(&client, &ids);
        let written = bytes(&keys);
        let back = read::<EvaluationKeys>(&written).expect("keys");
        assert!(back.keys.iter().eq(keys.keys.iter()), "{name}");
        assert_eq!(back.keys.bytes(), client.parameters().key_set_bytes(&ids, KeyStorage::TRANSPORT), "{name}");
        // The file is the transport form plus a small header.
        assert!(written.len() - back.keys.bytes() < 2_000, "{name}");
        let ciphertexts = ciphertexts(&client);
        assert!(read::<Ciphertexts>(&bytes(&ciphertexts)).expect("ciphertexts") == ciphertexts, "{name}");
    }
}

/// Files of one client key name the same key generation; another client with the same parameters has another.
#[test]
fn files_of_two_key_generations_are_distinguished() {
    let parameters = sets::parameters("toy-10").expect("a set");
    let generations = [3, 4].map(|seed| {
        let client = ClientKey::for_tests(&parameters, seed).expect("keys");
        let key = read::<ClientKey>(&bytes(&client)).expect("a client key").generation();
        let public = read::<PublicEncryptionKey>(&bytes(&client.public_key().expect("a key"))).expect("a key");
        let keys = read::<EvaluationKeys>(&bytes(&evaluation_keys(&client, &[KeyId::Galois(5)]))).expect("keys");
        let ciphertexts = read::<Ciphertexts>(&bytes(&ciphertexts(&client))).expect("ciphertexts");
        assert_eq!([public.generation(), keys.generation, ciphertexts.generation], [key; 3]);
        key
    });
    let [one, two] = generations;
    assert_eq!(one.expect("client.key", one, "server.key", "toy-10"), Ok(()));
    let error = one.expect("client.key", two, "server.key", "toy-10").expect_err("two generations");
    assert_eq!((&*error.first, &*error.second, &*error.parameters), ("client.key", "server.key", "toy-10"));
    // Without test seeds, generations are random.
    let fresh = || ClientKey::generate(&parameters).expect("keys").generation();
    assert_ne!(fresh(), fresh());
}

/// Keys without a seed carry their masks.
#[test]
fn keys_of_given_masks_come_back() {
    use crate::rns::{Domain, KeySet, RnsPolynomial, SwitchingKey};
    let client = client("toy-10");
    let (ring, gadget) = (client.ring(), client.parameters().gadget());
    let zero = RnsPolynomial::zero(ring.degree(), gadget.qp(), Domain::Evaluation);
    let half = || vec![zero.clone(); gadget.terms().len()];
    let mut keys = KeySet::new(ring.clone());
    keys.insert(SwitchingKey::new(ring.clone(), KeyId::Other(7), gadget.clone(), half(), half()));
    let content = EvaluationKeys { parameters: client.parameters().clone(), generation: client.generation(), keys };
    let back = read::<EvaluationKeys>(&bytes(&content)).expect("keys");
    assert!(back.keys.iter().eq(content.keys.iter()));
}

#[test]
fn files_on_disk() {
    let folder = std::env::temp_dir().join(format!("polyfabric-ckks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let client = client("toy-10");
    let path = folder.join("client.key");
    save(&client, &path).expect("saved");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(load::<ClientKey>(&path).expect("a client key") == client);
    let error = load::<Ciphertexts>(&path).expect_err("another kind").to_string();
    assert!(error.ends_with("this file holds a CKKS client key, not CKKS ciphertexts; give the other file"), "{error}");
    let error = load::<crate::tfhe::AnyClientKey>(&path).expect_err("another family").to_string();
    assert!(error.contains("this is a file of CKKS, but one of TFHE is needed"), "{error}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_cancelled_write_leaves_no_file() {
    let client = client("toy-10");
    let own = format!("polyfabric-given-up-{}.ckks", std::process::id());
    let path = std::env::temp_dir().join(&own);
    let (token, place) = (Token::new(), path.clone());
    token.cancel();
    let writer = std::thread::spawn(move || {
        token.attach();
        let _ = save(&client, &place);
    });
    assert!(writer.join().is_err_and(|payload| payload.is::<Cancelled>()));
    let left = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&own);
    let files = std::fs::read_dir(std::env::temp_dir()).expect("a folder");
    assert_eq!(files.flatten().filter(left).count(), 0, "neither {} nor a part of it", path.display());
}

#[test]
fn files_cut_at_any_length_are_rejected() {
    let small = client("toy-10");
    let whole = [
        bytes(&ciphertexts(&small)),
        bytes(&evaluation_keys(&small, &[KeyId::Galois(5)])),
        bytes(&evaluation_keys(&client("toy-11-boot"), &BOOTSTRAPPING)),
    ];
    for (index, whole) in whole.iter().enumerate() {
        for length in (0..whole.len()).step_by(997).chain(whole.len() - 40..whole.len()) {
            let cut = &whole[..length];
            let error = if index == 0 { read::<Ciphertexts>(cut).err() } else { read::<EvaluationKeys>(cut).err() };
            assert!(matches!(error, Some(FormatError::Truncated { .. })), "{length}: {error:?}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        let error = if index == 0 { read::<Ciphertexts>(&longer).err() } else { read::<EvaluationKeys>(&longer).err() };
        assert!(matches!(error, Some(FormatError::Trailing(1))), "{error:?}");
    }
}

/// Changing any one byte gives an error, never a panic.
#[test]
fn every_damaged_byte_is_found() {
    let client = client("toy-10");
    let whole = bytes(&ciphertexts(&client));
    for place in (0..600).chain((600..whole.len()).step_by(1_009)) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x41;
        assert!(read::<Ciphertexts>(&damaged).is_err(), "byte {place}");
        // A forger can fix the checksum: reading must give an error or other content, not a panic.
        let _ = read::<Ciphertexts>(&with_checksum(damaged));
    }
    let bootstrapping = super::tests::client("toy-11-boot");
    for whole in [
        bytes(&evaluation_keys(&client, &[KeyId::Galois(5)])),
        bytes(&bootstrapping),
        bytes(&evaluation_keys(&bootstrapping, &BOOTSTRAPPING)),
    ] {
        // Each read recomputes the checksum, so large files, which have the same header, are tested in fewer places.
        let (near, far) = if whole.len() < 1 << 20 { (1, 4_001) } else { (11, whole.len() / 100) };
        for place in (0..1_500).step_by(near).chain((1_500..whole.len()).step_by(far)) {
            let mut damaged = whole.clone();
            damaged[place.min(whole.len() - 1)] ^= 0x82;
            assert!(read::<EvaluationKeys>(&damaged).is_err(), "byte {place}");
            assert!(read::<ClientKey>(&damaged).is_err(), "byte {place}");
            let forged = with_checksum(damaged);
            let _ = (read::<EvaluationKeys>(&forged), read::<ClientKey>(&forged));
        }
    }
}

#[test]
fn content_that_no_writer_produces_is_rejected() {
    let client = client("toy-11-boot");
    let mut whole = bytes(&client);
    let payload = whole.len() - 32 - 2 * 2048;
    whole[payload] = 2;
    let error = read::<ClientKey>(&with_checksum(whole.clone())).expect_err("a digit of 2");
    assert!(matches!(error, FormatError::Content("a secret's coefficient is not -1, 0 or 1")), "{error}");
    let one = whole[payload..].iter().position(|&byte| byte == 1).expect("a coefficient of 1");
    whole[payload] = 0;
    whole[payload + one] = 0;
    let error = read::<ClientKey>(&with_checksum(whole)).expect_err("another weight");
    assert!(matches!(error, FormatError::Content(text) if text.contains("weight differs")), "{error}");

    let mut whole = bytes(&ciphertexts(&client));
    let end = whole.len() - 32;
    whole[end - 5..end].fill(0xff);
    let error = read::<Ciphertexts>(&with_checksum(whole)).expect_err("a residue of 2^40 - 1");
    assert!(matches!(error, FormatError::Content("a residue is not below its modulus")), "{error}");
}

/// A key of another gadget with as many rows and limbs would decrypt to noise.
#[test]
fn a_key_of_another_gadget_is_refused() {
    use crate::rns::{Gadget, GadgetLiteral, KeyRequest};
    use std::sync::Arc;
    let client = client("toy-10");
    let (ring, own) = (client.ring(), client.parameters().gadget());
    let file = |literal: GadgetLiteral| {
        let gadget = Arc::new(Gadget::new(ring, literal).expect("a gadget"));
        let request = KeyRequest { id: KeyId::Galois(5), gadget, storage: KeyStorage::BYTES };
        let keys = client.key_maker().key_set(&[request], &no_progress).expect("keys");
        let (parameters, generation) = (client.parameters().clone(), client.generation());
        bytes(&EvaluationKeys { parameters, generation, keys })
    };
    // Fewer limbs of Q.
    let fewer = own.over(&own.q()[..own.q().len() - 1]);
    assert!(read::<EvaluationKeys>(&file(own.literal().clone())).is_ok());
    assert!(read::<EvaluationKeys>(&file(fewer)).is_ok());
    let turned = {
        let mut literal = own.literal().clone();
        literal.digits.reverse();
        literal
    };
    let one_each = GadgetLiteral { digits: own.q().iter().map(|&limb| vec![limb]).collect(), ..own.literal().clone() };
    let cut = GadgetLiteral { sub_digit_bits: Some(20), ..one_each.clone() };
    let without = GadgetLiteral { special: Vec::new(), ..one_each.clone() };
    for other in [turned, one_each, cut, without].into_iter().filter(|other| other != own.literal()) {
        let error = read::<EvaluationKeys>(&file(other)).map(drop).expect_err("another gadget");
        assert!(matches!(error, FormatError::Content("a key has other digits than its parameter set")), "{error}");
    }
}

/// A file of 7 kB that names the largest ring allocates 7 kB: transform tables are made at first use.
#[test]
fn a_small_file_of_a_large_ring_makes_no_tables() {
    let (_, parameters) =
        sets::all().max_by_key(|(_, set)| set.ring_degree().get() * set.moduli().len()).expect("a set");
    // Rebuilt, so that it shares nothing with the cached set.
    let literal = crate::ckks::ParametersLiteral { name: "large".to_owned(), ..parameters.literal().clone() };
    let parameters = crate::ckks::Parameters::check(&literal).expect("a set");
    let keys = crate::rns::KeySet::new(parameters.ring().expect("a ring"));
    let generation = client("toy-10").generation();
    let none = EvaluationKeys { parameters: parameters.clone(), generation, keys };
    let back = read::<EvaluationKeys>(&bytes(&none)).expect("no keys");
    assert_eq!(back.keys.ring().table_bytes(), 0);
    let none = Ciphertexts { parameters, generation, port: Port::for_tests(), ciphertexts: Vec::new() };
    let back = read::<Ciphertexts>(&bytes(&none)).expect("no ciphertexts");
    assert_eq!(back.parameters.ring().expect("a ring").table_bytes(), 0);
}

/// Reads keys as a server that expects `wanted` with the limbs of the set `expected`.
fn read_wanted(bytes: &[u8], expected: &Parameters, wanted: &[KeyId]) -> Result<EvaluationKeys, FormatError> {
    let gadgets: Vec<_> = wanted.iter().map(|&id| (id, expected.gadget_of(id))).collect();
    let wanted: WantedKeys<'_> = gadgets.iter().map(|(id, gadget)| (*id, gadget.qp())).collect();
    from_bytes_of(bytes, "the keys", expected, |parameters, length, reader| {
        EvaluationKeys::read(parameters, length, Some(&wanted), reader)
    })
    .map_err(|error| error.cause)
}

#[test]
fn keys_that_a_program_does_not_read_are_rejected_before_reading() {
    let client = client("toy-10");
    let set = client.parameters();
    let [first, second, third] = [KeyId::Relinearisation, KeyId::Galois(5), KeyId::Galois(7)];
    let mut written = bytes(&evaluation_keys(&client, &[first, second]));
    assert!(read_wanted(&written, set, &[second, first]).is_ok());
    // The bodies of the second key are invalid residues: reading them would fail differently.
    let end = written.len() - 32;
    written[end - 1000..end].fill(0xff);
    let written = with_checksum(written);
    assert!(matches!(read_wanted(&written, set, &[first, second]), Err(FormatError::Content(_))));
    for wanted in [&[][..], &[first], &[first, third], &[second, third], &[first, second, third]] {
        let refused = read_wanted(&written, set, wanted);
        assert!(matches!(refused, Err(FormatError::Keys(_))), "{wanted:?}: {refused:?}");
    }
    let limbs = [&[LimbId(0)][..], set.gadget_of(first).special()].concat();
    let request = [(first, limbs, KeyStorage::BYTES)];
    let keys = client.evaluation_keys_over(&request, None, &no_progress).expect("keys");
    let shorter = EvaluationKeys { keys, parameters: set.clone(), generation: client.generation() };
    assert!(matches!(read_wanted(&bytes(&shorter), set, &[first]), Err(FormatError::Keys(_))));
}

#[test]
fn another_set_is_refused_before_it_is_checked() {
    let client = client("toy-10");
    let (set, other) = (client.parameters(), sets::parameters("toy-10-pairs").expect("a set"));
    let ids = [KeyId::Relinearisation];
    let written = bytes(&evaluation_keys(&client, &ids));
    let refused = read_wanted(&written, &other, &ids);
    assert!(matches!(&refused, Err(FormatError::Set { found, .. }) if found == "toy-10"), "{refused:?}");
    // The ring's degree follows the name: this set is none, and nobody finds out.
    let mut changed = written;
    let degree = 24 + set.name().len();
    changed[degree..degree + 4].copy_from_slice(&1_000_003u32.to_le_bytes());
    let changed = with_checksum(changed);
    assert!(matches!(read_wanted(&changed, set, &ids), Err(FormatError::Set { .. })));
    assert!(matches!(read::<EvaluationKeys>(&changed), Err(FormatError::Parameters(_))));
}
