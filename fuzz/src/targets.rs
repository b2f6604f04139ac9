//! The readers, and valid input of each.

use std::fs;
use std::path::PathBuf;

use polyfabric_program::{rns, tfhe as programs};
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::{Direction, Port, ProgramHash};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{KeyId, KeyStorage};
use polyfabric_schemes::serial::{Storable, load, save};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::serial::{AnyCiphertexts, Ciphertexts};
use polyfabric_schemes::tfhe::{self, LweKind};
use polyfabric_schemes::{bgv, ckks, set_file};

use crate::mutate::Form;

/// Whether the input was taken.
type Read = Box<dyn FnMut(&[u8]) -> bool>;

/// A reader.
pub struct Target {
    pub name: &'static str,
    pub form: Form,
    pub samples: Vec<Vec<u8>>,
    pub read: Read,
}

/// Names of all targets.
pub fn names() -> Vec<&'static str> {
    all().iter().map(|target| target.name).collect()
}

/// A file of this process.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("polyfabric-fuzz-{}-{name}", std::process::id()))
}

/// The reader of files of `S`, from some valid ones.
fn file<S: Storable>(name: &'static str, samples: Vec<S>) -> Target {
    let path = scratch(name);
    let written = |sample: &S| {
        save(sample, &path).expect("a temporary file");
        fs::read(&path).expect("what was written")
    };
    let samples = samples.iter().map(written).collect();
    let _ = fs::remove_file(&path);
    let read = move |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a temporary file");
        let read = load::<S>(&path).is_ok();
        let _ = fs::remove_file(&path);
        read
    };
    Target { name, form: Form::Hashed, samples, read: Box::new(read) }
}

/// The reader of a text.
fn text<T, E>(name: &'static str, samples: Vec<String>, parse: impl Fn(&str) -> Result<T, E> + 'static) -> Target {
    let samples = samples.into_iter().map(String::into_bytes).collect();
    let read = move |bytes: &[u8]| parse(&String::from_utf8_lossy(bytes)).is_ok();
    Target { name, form: Form::Text, samples, read: Box::new(read) }
}

fn port() -> Port {
    let (program, program_name) = (ProgramHash::of("a program"), "sample".to_owned());
    Port { program, program_name, direction: Direction::Output, name: "y".to_owned() }
}

/// All targets.
pub fn all() -> Vec<Target> {
    let mut targets = tfhe_files();
    targets.extend(ckks_files());
    targets.extend(bgv_files());
    targets.extend(texts());
    targets
}

fn tfhe_files() -> Vec<Target> {
    let parameters = tfhe::sets::parameters("toy-256").expect("a set");
    let client = tfhe::ClientKey::<u32>::for_tests(&parameters, 1).expect("its torus");
    let compressed = tfhe::CompressedServerKey::for_tests(&client, 2);
    let server = tfhe::AnyServerKey::Torus32(compressed.expand(&no_progress));
    let generation: KeyGeneration = client.generation();
    let batch = client.encrypt_for_tests(LweKind::Small, &[1 << 29, 2 << 29], 3);
    let ciphertexts = Ciphertexts { parameters, generation, port: port(), kind: LweKind::Small, batch };
    vec![
        file("tfhe-client-key", vec![tfhe::AnyClientKey::Torus32(client)]),
        file("tfhe-server-key", vec![server]),
        file("tfhe-compressed-key", vec![tfhe::AnyCompressedServerKey::Torus32(compressed)]),
        file("tfhe-ciphertexts", vec![AnyCiphertexts::Torus32(ciphertexts)]),
    ]
}

fn ckks_files() -> Vec<Target> {
    let parameters = ckks::sets::parameters("toy-10").expect("a set");
    let client = ckks::ClientKey::for_tests(&parameters, 1).expect("keys");
    let ids = [KeyId::Relinearisation, KeyId::Galois(5)];
    let keys = client.evaluation_keys(&ids, KeyStorage::BYTES, None, &no_progress).expect("keys");
    let ciphertext = client.encrypt_at(&[ckks::Complex::from(0.5)], 1, 2f64.powi(30)).expect("an encryption");
    let generation = client.generation();
    let ciphertexts = ckks::serial::Ciphertexts {
        parameters: parameters.clone(),
        generation,
        port: port(),
        ciphertexts: vec![ciphertext],
    };
    vec![
        file("ckks-public-key", vec![client.public_key().expect("a key")]),
        file("ckks-client-key", vec![client]),
        file("ckks-evaluation-keys", vec![ckks::serial::EvaluationKeys { parameters, generation, keys }]),
        file("ckks-ciphertexts", vec![ciphertexts]),
    ]
}

fn bgv_files() -> Vec<Target> {
    let parameters = bgv::sets::named("bgv-toy-1024").expect("a set");
    let client = bgv::ClientKey::for_tests(&parameters, 1).expect("keys");
    let keys = client.switching_keys([KeyId::Relinearisation], &no_progress).expect("keys");
    let ciphertext = client.encrypt(&[1, 2, 3, 4], 2).expect("an encryption");
    let generation = client.generation();
    let ciphertexts = bgv::serial::Ciphertexts {
        parameters: parameters.clone(),
        generation,
        port: port(),
        ciphertexts: vec![(ciphertext, 1)],
    };
    vec![
        file("bgv-public-key", vec![client.public_key().expect("a key")]),
        file("bgv-client-key", vec![client]),
        file("bgv-evaluation-keys", vec![bgv::serial::EvaluationKeys { parameters, generation, keys }]),
        file("bgv-ciphertexts", vec![ciphertexts]),
    ]
}

fn texts() -> Vec<Target> {
    let sets = [include_str!("../../examples/own-ckks.toml"), include_str!("../../examples/own-bgv.toml")];
    let machines = [include_str!("../../machines/morphling.toml"), include_str!("../../machines/f1.toml")];
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let parameters = tfhe::sets::parameters("toy-256").expect("a set");
    let choice = programs::lowering::TfheLowering::new(
        programs::lowering::KeySwitchOrder::None,
        programs::lowering::Arithmetic::F64,
    );
    let built =
        |name| programs::builtin::build(name, &parameters, 2, &choice, Transform::F64).expect("a built-in program");
    let built = ["pbs", "pbs+ks", "keyswitch"].map(built);
    let slots = slot_programs();
    vec![
        text("parameter-set", owned(&sets), |text| set_file::parse("set.toml", text)),
        text("machine", owned(&machines), |text| polyfabric_machines::parse("machine.toml", text).map_err(Box::new)),
        text("tfhe-program", built.iter().map(|one| one.program.to_string()).collect(), programs::text::parse_program),
        text("tfhe-kernel", built.iter().map(|one| one.kernel.to_string()).collect(), programs::text::parse_kernel),
        text("slot-program", slots.0, rns::text::parse_program),
        text("slot-kernel", slots.1, rns::text::parse_kernel),
    ]
}

/// Texts of a small BGV program, and of what it is lowered to.
fn slot_programs() -> (Vec<String>, Vec<String>) {
    let parameters = bgv::sets::named("bgv-toy-1024").expect("a set");
    let t = parameters.plaintext_modulus().value();
    let scheme = rns::homomorphic::Scheme::Bgv { plaintext_modulus: t };
    let mut builder = rns::homomorphic::Builder::new("sample", scheme, 1024).expect("a name");
    let x = builder.input("x").expect("an input");
    let turned = builder.rotate(x, 1).expect("a rotation");
    let product = builder.mul(x, turned).expect("a product");
    builder.output("y", product).expect("an output");
    let program = builder.finish().expect("a program");
    let encoder = bgv::Encoder::new(parameters.ring().degree(), parameters.literal().plaintext_modulus);
    let choice = rns::lowering::RnsLowering::new(parameters.gadget().literal().clone());
    let lowered = rns::lowering::bgv::lower(&program, &parameters, &choice, &encoder.expect("an encoder"));
    (vec![program.to_string()], vec![lowered.expect("a kernel program").kernel.to_string()])
}
