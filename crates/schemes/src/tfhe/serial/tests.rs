//! Does a file survive a round trip, and does any damage give an error with a remedy, without a panic or a large allocation?

use std::io::Cursor;

use super::*;
use crate::generation::KeyGeneration;
use crate::port::Port;
use crate::serial::{read_from, write_to};
use crate::tfhe::{
    AnyClientKey, AnyCompressedServerKey, AnyPublicKey, AnyServerKey, ClientKey, CompressedServerKey, KeyUnrolling,
    LweBatch, LweKind, Parameters, PublicKey, ServerKey, no_progress, sets,
};

fn bytes<S: Storable>(content: &S) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(content, &mut bytes).expect("a vector takes everything");
    bytes
}

fn read<S: Storable>(bytes: &[u8]) -> Result<S, FormatError> {
    read_from(&mut Cursor::new(bytes), bytes.len() as u64)
}

fn set(name: &str) -> Parameters {
    sets::parameters(name).expect("a known set")
}

fn client(name: &str) -> ClientKey<u32> {
    ClientKey::for_tests(&set(name), 1).expect("a 32-bit set")
}

fn ciphertexts(kind: LweKind) -> AnyCiphertexts {
    let client = client("toy-256");
    let batch = client.encrypt_for_tests(kind, &[1 << 29, 3 << 29, 0], 2);
    let (parameters, generation) = (client.parameters().clone(), client.generation());
    let content = Content::Each { kind, batch };
    AnyCiphertexts::Torus32(Ciphertexts { parameters, generation, port: Port::for_tests(), content })
}

/// Recomputes the checksum, as a forger might.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - 32;
    let checksum = *blake3::hash(&bytes[..content]).as_bytes();
    bytes[content..].copy_from_slice(&checksum);
    bytes
}

/// Offset of the parameter block's first figure after the name, and of the payload length.
fn offsets(bytes: &[u8]) -> (usize, usize) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    (24 + word(20), 20 + word(16))
}

#[test]
fn every_kind_comes_back() {
    let client_32 = client("toy-256");
    let client_64 = ClientKey::<u64>::for_tests(&set("toy-256-t64"), 1).expect("a 64-bit set");
    let compressed_32 = CompressedServerKey::for_tests(&client_32, 2);
    let compressed_64 = CompressedServerKey::for_tests(&client_64, 2);

    let key = AnyClientKey::Torus32(client_32.clone());
    assert_eq!(read::<AnyClientKey>(&bytes(&key)).expect("reads"), key);
    let key = AnyClientKey::Torus64(client_64.clone());
    assert_eq!(read::<AnyClientKey>(&bytes(&key)).expect("reads"), key);
    let key = AnyServerKey::Torus32(ServerKey::for_tests(&client_32, 2));
    assert_eq!(read::<AnyServerKey>(&bytes(&key)).expect("reads"), key);
    let key = AnyServerKey::Torus64(ServerKey::for_tests(&client_64, 2));
    assert_eq!(read::<AnyServerKey>(&bytes(&key)).expect("reads"), key);
    let key = AnyCompressedServerKey::Torus32(compressed_32);
    assert_eq!(read::<AnyCompressedServerKey>(&bytes(&key)).expect("reads"), key);
    let key = AnyCompressedServerKey::Torus64(compressed_64);
    let AnyServerKey::Torus64(expanded) = key.expand(&no_progress) else { panic!("a 64-bit set") };
    assert_eq!(key.expanded_bytes(), expanded.bytes());
    assert_eq!(read::<AnyCompressedServerKey>(&bytes(&key)).expect("reads"), key);
    for kind in [LweKind::Small, LweKind::Large] {
        let batch = ciphertexts(kind);
        assert_eq!(read::<AnyCiphertexts>(&bytes(&batch)).expect("reads"), batch);
    }
    let public = AnyPublicKey::Torus32(PublicKey::for_tests(&client_32, 4));
    assert_eq!(read::<AnyPublicKey>(&bytes(&public)).expect("reads"), public);
    let public = AnyPublicKey::Torus64(PublicKey::for_tests(&client_64, 4));
    assert_eq!(read::<AnyPublicKey>(&bytes(&public)).expect("reads"), public);
    for count in [0, 1, 300] {
        let batch = compact(count);
        assert_eq!(read::<AnyCiphertexts>(&bytes(&batch)).expect("reads"), batch, "{count}");
    }
}

/// `count` messages of a public key.
fn compact(count: usize) -> AnyCiphertexts {
    let client = client("toy-256");
    let content = Content::Compact(PublicKey::for_tests(&client, 4).encrypt_for_tests(&vec![1 << 29; count], 5));
    let (parameters, generation) = (client.parameters().clone(), client.generation());
    AnyCiphertexts::Torus32(Ciphertexts { parameters, generation, port: Port::for_tests(), content })
}

/// A number of messages that contradicts the length is rejected before unpacking.
#[test]
fn compact_ciphertexts_of_another_number_are_refused() {
    let whole = bytes(&compact(3));
    let place = whole.windows(5).position(|window| window == [2, 3, 0, 0, 0]).expect("the number") + 1;
    for count in [0u32, 2, 4, 257, u32::MAX] {
        let mut damaged = whole.clone();
        damaged[place..place + 4].copy_from_slice(&count.to_le_bytes());
        let error = read::<AnyCiphertexts>(&with_checksum(damaged)).expect_err("another number").to_string();
        assert!(error.contains("compact ciphertexts"), "{count}: {error}");
    }
    for length in 0..whole.len() {
        assert!(read::<AnyCiphertexts>(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn a_known_set_gets_its_sources_back_and_an_unknown_one_survives() {
    let key = AnyClientKey::Torus32(client("toy-256"));
    assert!(!read::<AnyClientKey>(&bytes(&key)).expect("reads").parameters().literal().sources.is_empty());
    let mut literal = set("toy-256").literal().clone();
    literal.name = "mine".to_owned();
    literal.lwe_dimension = 17;
    literal.key_switch_gadget = None;
    let parameters = Parameters::check(&literal).expect("fine");
    let key = AnyClientKey::Torus32(ClientKey::for_tests(&parameters, 1).expect("32 bits"));
    assert_eq!(read::<AnyClientKey>(&bytes(&key)).expect("reads"), key);
}

#[test]
fn every_prefix_is_refused() {
    let whole = bytes(&ciphertexts(LweKind::Small));
    for length in 0..whole.len() {
        let error = read::<AnyCiphertexts>(&whole[..length]).expect_err("a prefix");
        assert!(matches!(error, FormatError::Truncated { .. }), "{length}: {error}");
    }
    let mut longer = whole;
    longer.push(0);
    assert!(matches!(read::<AnyCiphertexts>(&longer), Err(FormatError::Trailing(1))));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let whole = bytes(&ciphertexts(LweKind::Small));
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read::<AnyCiphertexts>(&damaged).is_err(), "bit {bit}");
        // With a valid checksum the other checks remain: any result, but no panic.
        let _ = read::<AnyCiphertexts>(&with_checksum(damaged));
    }
}

#[test]
fn random_headers_neither_panic_nor_allocate() {
    use rand_chacha::rand_core::{RngCore, SeedableRng};
    let whole = bytes(&ciphertexts(LweKind::Small));
    let header = offsets(&whole).1 + 8;
    let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    for _ in 0..20_000 {
        let mut damaged = whole.clone();
        for _ in 0..1 + generator.next_u32() % 6 {
            let at = 12 + generator.next_u32() as usize % (header - 12);
            damaged[at] = generator.next_u32() as u8;
        }
        // The file of 300 bytes bounds every allocation; a large one would show in time and memory.
        let _ = read::<AnyCiphertexts>(&with_checksum(damaged.clone()));
        damaged[12] = 2;
        let _ = read::<AnyServerKey>(&with_checksum(damaged));
    }
}

#[test]
fn huge_lengths_are_refused_before_allocation() {
    let whole = bytes(&ciphertexts(LweKind::Small));
    let (figures, payload) = offsets(&whole);
    let mut damaged = whole.clone();
    damaged[payload..payload + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(read::<AnyCiphertexts>(&damaged), Err(FormatError::Truncated { .. })));
    // A parameter block that requires a key of gigabytes, in a file of a few hundred bytes.
    let mut damaged = whole.clone();
    damaged[12..16].copy_from_slice(&(Kind::ServerKey as u32).to_le_bytes());
    damaged[figures + 4..figures + 8].copy_from_slice(&2000u32.to_le_bytes());
    let unrolling = payload + 8 + KeyGeneration::BYTES as usize;
    damaged[unrolling..unrolling + 4].copy_from_slice(&1u32.to_le_bytes());
    assert!(matches!(read::<AnyServerKey>(&with_checksum(damaged)), Err(FormatError::Length { .. })));
    // And one that no set may have.
    let mut damaged = whole;
    damaged[figures + 4..figures + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(read::<AnyCiphertexts>(&with_checksum(damaged)), Err(FormatError::Parameters(_))));
}

#[test]
fn secret_bits_are_bits() {
    let mut whole = bytes(&AnyClientKey::Torus32(client("toy-256")));
    let secret = offsets(&whole).1 + 8 + KeyGeneration::BYTES as usize;
    whole[secret] = 2;
    assert!(matches!(read::<AnyClientKey>(&with_checksum(whole)), Err(FormatError::Content(_))));
}

#[test]
fn messages_name_cause_values_and_remedy() {
    let whole = bytes(&ciphertexts(LweKind::Small));
    let message = |damaged: &[u8]| read::<AnyCiphertexts>(damaged).expect_err("damaged").to_string();
    assert_eq!(
        message(&whole[..104]),
        "the file has 5 bytes left, but the content and its checksum needs 288; it was cut off, bring a fresh copy"
    );
    assert_eq!(
        message(b"PK\x03\x04 something else entirely"),
        "this is not a Polyfabric file (it does not start with PLYFTFHE); give one that Polyfabric wrote"
    );
    let mut other = whole.clone();
    other[8] = 9;
    assert_eq!(
        message(&other),
        "format version 9, but this Polyfabric reads version 7 only; write the file again with this version, or read it with the one that wrote it"
    );
    let mut other = whole.clone();
    *other.last_mut().expect("not empty") ^= 1;
    assert_eq!(message(&other), "the checksum does not match: the content was damaged; bring a fresh copy");
    assert_eq!(
        read::<AnyClientKey>(&whole).expect_err("another kind").to_string(),
        "this file holds ciphertexts, not a client key; give the other file"
    );
}

#[test]
fn saving_is_atomic() {
    let directory = std::env::temp_dir().join(format!("polyfabric-serial-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let path = directory.join("client.key");
    let key = AnyClientKey::Torus32(client("toy-256"));
    save(&key, &path).expect("saves");
    save(&key, &path).expect("replaces");
    assert_eq!(load::<AnyClientKey>(&path).expect("loads"), key);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).expect("exists").permissions().mode() & 0o777, 0o600);
    }
    // Special files are not replaced.
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let socket = directory.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        let error = save(&key, &socket).expect_err("a socket").to_string();
        assert!(error.contains("the path is a device or a pipe; choose another one"), "{error}");
        assert!(std::fs::metadata(&socket).expect("still there").file_type().is_socket());
    }
    // A file cannot replace a directory: the failure leaves nothing behind.
    let error = save(&key, &directory).expect_err("a directory").to_string();
    assert!(error.contains("cannot move the finished file to its name"), "{error}");
    let left: Vec<_> = std::fs::read_dir(directory.parent().expect("has one"))
        .expect("readable")
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("polyfabric-serial") && name.ends_with(".part"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    let missing = load::<AnyClientKey>(&directory.join("absent")).expect_err("absent").to_string();
    assert!(missing.contains("absent: cannot open the file"), "{missing}");
    std::fs::remove_dir_all(&directory).expect("removable");
}

#[test]
fn an_empty_batch_is_a_batch() {
    let parameters = set("toy-256");
    let (batch, generation) = (LweBatch::zeros(parameters.lwe_dimension(), 0), client("toy-256").generation());
    let empty = AnyCiphertexts::Torus32(Ciphertexts {
        parameters,
        generation,
        port: Port::for_tests(),
        content: Content::Each { kind: LweKind::Small, batch },
    });
    assert_eq!(read::<AnyCiphertexts>(&bytes(&empty)).expect("reads"), empty);
}

/// Files of different client keys are distinguishable.
#[test]
fn files_name_their_key_generation() {
    let [own, other] = [1, 2].map(|seed| ClientKey::<u32>::for_tests(&set("toy-256"), seed).expect("32 bits"));
    assert_ne!(own.generation(), other.generation());
    let compressed = AnyCompressedServerKey::Torus32(CompressedServerKey::for_tests(&own, 2));
    let AnyCompressedServerKey::Torus32(read_back) = read(&bytes(&compressed)).expect("reads") else {
        panic!("32 bits")
    };
    assert_eq!(read_back.expand(&no_progress).generation(), own.generation());
    let AnyCiphertexts::Torus32(batch) = read(&bytes(&ciphertexts(LweKind::Small))).expect("reads") else {
        panic!("32 bits")
    };
    assert_eq!(batch.generation, own.generation());
    let refused = own.generation().expect("the keys", other.generation(), "the ciphertexts", "toy-256");
    assert!(refused.expect_err("another").to_string().contains("use files of one key generation"));
}

#[test]
fn unrolled_server_keys_come_back_and_say_their_unrolling() {
    let client = client("toy-256");
    for unrolling in [KeyUnrolling::TWO, KeyUnrolling::FOUR] {
        let compressed = CompressedServerKey::for_tests_unrolled(&client, unrolling, 2);
        let key = AnyServerKey::Torus32(compressed.expand(&no_progress));
        let written = bytes(&key);
        assert_eq!(read::<AnyServerKey>(&written).expect("reads"), key);
        let compressed = AnyCompressedServerKey::Torus32(compressed);
        assert_eq!(read::<AnyCompressedServerKey>(&bytes(&compressed)).expect("reads"), compressed);

        let unrolling_at = offsets(&written).1 + 8 + KeyGeneration::BYTES as usize;
        assert_eq!(u32::from(written[unrolling_at]), unrolling.bits());
        for (bits, problem) in [(3, "are not made for this key unrolling"), (1, "the parameters require")] {
            let mut damaged = written.clone();
            damaged[unrolling_at] = bits;
            let message = read::<AnyServerKey>(&with_checksum(damaged)).expect_err("another key").to_string();
            assert!(message.contains(problem), "{message}");
        }
    }
}

/// A block-binary set's files say so, and a key with two 1s in a block is damaged.
#[test]
fn block_binary_keys_come_back() {
    let client = client("toy-256-block3");
    let server = AnyServerKey::Torus32(CompressedServerKey::for_tests(&client, 2).expand(&no_progress));
    let written = bytes(&server);
    assert_eq!(read::<AnyServerKey>(&written).expect("reads"), server);
    let unrolling_at = offsets(&written).1 + 8 + KeyGeneration::BYTES as usize;
    assert_eq!(written[unrolling_at], 3);
    for bits in [0, 2, 4] {
        let mut damaged = written.clone();
        damaged[unrolling_at] = bits;
        let refused = read::<AnyServerKey>(&with_checksum(damaged)).expect_err("another key");
        assert!(matches!(refused, FormatError::Content(_)), "{refused}");
    }
    let secret = AnyClientKey::Torus32(client.clone());
    let written = bytes(&secret);
    assert_eq!(read::<AnyClientKey>(&written).expect("reads"), secret);
    let bits_at = offsets(&written).1 + 8 + KeyGeneration::BYTES as usize;
    let block = client.lwe(LweKind::Small).bits().chunks(3).position(|block| block.contains(&1)).expect("a set bit");
    let mut damaged = written.clone();
    damaged[bits_at + 3 * block..][..3].copy_from_slice(&[1, 1, 0]);
    let refused = read::<AnyClientKey>(&with_checksum(damaged)).expect_err("two bits");
    assert!(matches!(refused, FormatError::Content(what) if what.contains("two set bits")), "{refused}");
    // The word after n says blocks of three; others are no set, and as uniform bits it is another one.
    let block_at = offsets(&written).0 + 8;
    assert_eq!(written[block_at], 3);
    for block in [0, 4, 255] {
        let mut damaged = written.clone();
        damaged[block_at] = block;
        let refused = read::<AnyClientKey>(&with_checksum(damaged)).expect_err("no set");
        assert!(matches!(refused, FormatError::Parameters(_)), "{refused}");
    }
    let mut uniform = written;
    uniform[block_at] = 1;
    let uniform = read::<AnyClientKey>(&with_checksum(uniform)).expect("a set of the user's");
    assert_ne!(uniform.parameters(), secret.parameters());
}

/// Names appear in messages on terminals, so invalid ones are rejected.
#[test]
fn an_invalid_name_is_rejected() {
    let AnyCiphertexts::Torus32(own) = ciphertexts(LweKind::Small) else { panic!("a 32-bit set") };
    for name in ["\x1b[2J", "a b", "", "ä"] {
        let of_program = Port { program_name: name.to_owned(), ..own.port.clone() };
        let of_input = Port { name: name.to_owned(), ..own.port.clone() };
        for port in [of_program, of_input] {
            let written = bytes(&AnyCiphertexts::Torus32(Ciphertexts { port, ..own.clone() }));
            let refused = read::<AnyCiphertexts>(&written).expect_err("no name");
            assert!(
                matches!(refused, FormatError::Content(what) if what.starts_with("a name is empty")),
                "{name:?}: {refused}"
            );
        }
    }
}
