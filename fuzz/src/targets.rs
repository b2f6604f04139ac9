//! The readers, with valid samples for each.

use polyfabric_client::{Specification, pack, unpack};
use polyfabric_kernels::Torus;
use polyfabric_machines::f1::{compile::compile, machine::F1, saved};
use polyfabric_program::rns::builtin::microbenchmark;
use polyfabric_program::rns::signature as slots;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Signature, Table};
use polyfabric_program::{rns, tfhe as programs};
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::{Direction, Port, ProgramHash};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, Domain, KeyId, KeyStorage, LimbId, Ring, RnsPolynomial};
use polyfabric_schemes::serial::{Storable, from_bytes, from_bytes_of, to_bytes};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::serial::{AnyCiphertexts, Ciphertexts, Content};
use polyfabric_schemes::tfhe::{self, LweKind};
use polyfabric_schemes::{bgv, ckks, joint, set_file};

use crate::mutate::Form;

/// Returns whether the input was accepted.
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

/// A reader of files of `S`, with valid samples.
fn file<S: Storable>(name: &'static str, samples: Vec<S>) -> Target {
    let samples = samples.iter().map(|sample| to_bytes(sample, name).expect("memory")).collect();
    let read = move |bytes: &[u8]| from_bytes::<S>(bytes, name).is_ok();
    Target { name, form: Form::Hashed, samples, read: Box::new(read) }
}

/// A reader of texts.
fn text<T, E>(name: &'static str, samples: Vec<String>, parse: impl Fn(&str) -> Result<T, E> + 'static) -> Target {
    let samples = samples.into_iter().map(String::into_bytes).collect();
    let read = move |bytes: &[u8]| parse(&String::from_utf8_lossy(bytes)).is_ok();
    Target { name, form: Form::Text, samples, read: Box::new(read) }
}

/// A reader of bytes without a hash.
fn raw<T, E>(name: &'static str, sample: Vec<u8>, parse: impl Fn(&[u8]) -> Result<T, E> + 'static) -> Target {
    Target { name, form: Form::Raw, samples: vec![sample], read: Box::new(move |bytes| parse(bytes).is_ok()) }
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
    targets.extend(joint_files());
    targets.extend(texts());
    targets.extend(specifications());
    targets.extend(machines());
    targets
}

/// The smallest ring: readers treat all sizes alike, and small files take more inputs a second.
const RING_DEGREE: usize = 16;

/// Files that a TFHE client writes.
struct OfTfhe<T> {
    client: tfhe::ClientKey<T>,
    server: tfhe::ServerKey<T>,
    compressed: tfhe::CompressedServerKey<T>,
    ciphertexts: [Ciphertexts<T>; 2],
    public: tfhe::PublicKey<T>,
}

impl<T: Torus> OfTfhe<T> {
    fn new(set: &str) -> Self {
        let set = tfhe::sets::literal(set).expect("a set");
        let literal = tfhe::ParametersLiteral { ring_degree: RING_DEGREE, lwe_dimension: 4, ..set.clone() };
        let parameters = tfhe::Parameters::check(&literal).expect("a set");
        let client = tfhe::ClientKey::<T>::for_tests(&parameters, 1).expect("its torus");
        let compressed = tfhe::CompressedServerKey::for_tests(&client, 2);
        let server = compressed.expand(&no_progress);
        let generation: KeyGeneration = client.generation();
        let messages = [1, 2].map(|message| T::from_fraction(f64::from(message) / 8.0));
        let batch = client.encrypt_for_tests(LweKind::Small, &messages, 3);
        let public = tfhe::PublicKey::for_tests(&client, 4);
        let each = Content::Each { kind: LweKind::Small, batch };
        let compact = Content::Compact(public.encrypt_for_tests(&messages, 5));
        let ciphertexts = [each, compact].map(|content| Ciphertexts {
            parameters: parameters.clone(),
            generation,
            port: port(),
            content,
        });
        Self { client, server, compressed, ciphertexts, public }
    }
}

/// Files on both tori.
fn tfhe_files() -> Vec<Target> {
    let (narrow, wide) = (OfTfhe::<u32>::new("toy-256"), OfTfhe::<u64>::new("toy-256-t64"));
    let ciphertexts = narrow.ciphertexts.into_iter().map(AnyCiphertexts::Torus32);
    let ciphertexts = ciphertexts.chain(wide.ciphertexts.into_iter().map(AnyCiphertexts::Torus64)).collect();
    let compressed = vec![
        tfhe::AnyCompressedServerKey::Torus32(narrow.compressed),
        tfhe::AnyCompressedServerKey::Torus64(wide.compressed),
    ];
    vec![
        file(
            "tfhe-client-key",
            vec![tfhe::AnyClientKey::Torus32(narrow.client), tfhe::AnyClientKey::Torus64(wide.client)],
        ),
        file(
            "tfhe-server-key",
            vec![tfhe::AnyServerKey::Torus32(narrow.server), tfhe::AnyServerKey::Torus64(wide.server)],
        ),
        file("tfhe-compressed-key", compressed),
        file("tfhe-ciphertexts", ciphertexts),
        file(
            "tfhe-public-key",
            vec![tfhe::AnyPublicKey::Torus32(narrow.public), tfhe::AnyPublicKey::Torus64(wide.public)],
        ),
    ]
}

fn ckks_files() -> Vec<Target> {
    let set = ckks::sets::parameters("toy-10").expect("a set");
    let literal = ckks::ParametersLiteral { ring_degree: RING_DEGREE, ..set.literal().clone() };
    let parameters = ckks::Parameters::check(&literal).expect("a set");
    let client = ckks::ClientKey::for_tests(&parameters, 1).expect("keys");
    let ids = [KeyId::Relinearisation, KeyId::Galois(5)];
    let keys = client.evaluation_keys(&ids, KeyStorage::BYTES, None, &no_progress).expect("keys");
    let ciphertext = client.encrypt_at(&[ckks::Complex::from(0.5)], 1, 2f64.powi(30)).expect("an encryption");
    let generation = client.generation();
    let selector = ckks::serial::Selector {
        parameters: parameters.clone(),
        generation,
        port: port(),
        ciphertext: client.encrypt_selector(true, &parameters.limbs_at(1).expect("limbs")).expect("an encryption"),
    };
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
        file("ckks-selector", vec![selector]),
    ]
}

fn bgv_files() -> Vec<Target> {
    let set = bgv::sets::named("bgv-toy-1024").expect("a set");
    let literal = bgv::ParametersLiteral { ring_degree: RING_DEGREE, ..set.literal().clone() };
    let parameters = bgv::Parameters::check(&literal).expect("a set");
    let client = bgv::ClientKey::for_tests(&parameters, 1).expect("keys");
    let keys = client.switching_keys([KeyId::Relinearisation], &no_progress).expect("keys");
    let ciphertext = client.encrypt(&[1, 2, 3, 4], 2).expect("an encryption");
    let generation = client.generation();
    let selector = bgv::serial::Selector {
        parameters: parameters.clone(),
        generation,
        port: port(),
        ciphertext: client.encrypt_selector(true, &parameters.limbs(2)).expect("an encryption"),
    };
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
        file("bgv-selector", vec![selector]),
    ]
}

/// A party before and after it took secret shares, one of them, and its message of the first round, which has all kinds of polynomials.
fn joint_files() -> Vec<Target> {
    let set = ckks::sets::parameters("toy-10-parties-3").expect("a set");
    let literal = ckks::ParametersLiteral { ring_degree: RING_DEGREE, ..set.literal().clone() };
    let set = ParameterSet::Ckks(ckks::Parameters::check(&literal).expect("a set"));
    let key = |id| (id, vec![LimbId(0), LimbId(1)], KeyStorage::BYTES);
    let keys = [KeyId::Relinearisation, KeyId::Galois(5)].map(key);
    let session = joint::Session::new(&set, &keys, b"a program", b"a reference").expect("a session");
    let party = |index| joint::Party::for_tests(&session, index, index as u64).expect("a party");
    let mut parties = [0, 1, 2].map(party);
    let first = parties.each_ref().map(|party| party.first().expect("a message"));
    let sample = |party: &joint::Party| to_bytes(party, "joint-party").expect("memory");
    let mut samples = vec![sample(&parties[1])];
    parties.iter_mut().for_each(|party| drop(party.second(&first).expect("a message")));
    let deals = parties.each_ref().map(|party| party.deal(2).expect("secret shares").remove(1));
    parties[1].take(&deals).expect("one of each party");
    samples.push(sample(&parties[1]));
    let [_, message, _] = first;
    let [deal, ..] = deals;
    let read = move |bytes: &[u8]| {
        let read = from_bytes_of::<joint::Party>(bytes, "joint-party", session.set(), |_, length, reader| {
            joint::Party::read(&session, length, reader)
        });
        read.is_ok()
    };
    vec![
        file("joint-message", vec![message]),
        file("joint-deal", vec![deal]),
        Target { name: "joint-party", form: Form::Hashed, samples, read: Box::new(read) },
    ]
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn texts() -> Vec<Target> {
    let sets = [include_str!("../../examples/own-ckks.toml"), include_str!("../../examples/own-bgv.toml")];
    let parameters = tfhe::sets::parameters("toy-256").expect("a set");
    let choice = programs::lowering::TfheLowering::new(
        programs::lowering::KeySwitchOrder::None,
        programs::lowering::Arithmetic::F64,
    );
    let built =
        |name| programs::builtin::build(name, &parameters, 2, &choice, Transform::F64).expect("a built-in program");
    let built = ["pbs", "pbs+ks", "keyswitch"].map(built);
    let (of_integers, lowered) = integers(&parameters);
    let programs = built.iter().map(|one| one.program.to_string()).chain([of_integers.to_string()]).collect();
    let kernels = built.iter().map(|one| one.kernel.to_string()).chain([lowered.to_string()]).collect();
    let slots = slot_programs();
    vec![
        text("parameter-set", owned(&sets), |text| set_file::parse("set.toml", text)),
        text("tfhe-program", programs, programs::text::parse_program),
        text("tfhe-kernel", kernels, programs::text::parse_kernel),
        text("slot-program", slots.0, rns::text::parse_program),
        text("slot-kernel", slots.1, rns::text::parse_kernel),
    ]
}

/// A program with all integer operations: LUTs on the whole torus, several of one value, weights, a selection; and its lowering for a processor.
fn integers(parameters: &tfhe::Parameters) -> (programs::homomorphic::Program, programs::kernel::KernelProgram) {
    let range = Range::new(0, 3).expect("a range");
    let table = |more: i64| Table::tabulate(range, move |value| (value + more) % 4).expect("a table");
    let mut builder = Builder::new("sample").expect("a name");
    let x = builder.input("x", ElementType::Integer(range), 4).expect("an input");
    let both = builder.lookup_each(x, vec![table(0), table(1)], LookupResult::Integer).expect("lookups");
    let low = builder.select(both, &[0, 2, 4, 6]).expect("a selection");
    let sign = builder.sign(low, true).expect("a sign");
    builder.output("y", low).expect("an output");
    builder.output("sign", sign).expect("an output");
    let program = builder.finish().expect("a program");
    let choice = programs::lowering::TfheLowering::processor(programs::lowering::KeySwitchOrder::After);
    let lowered = programs::lowering::lower(&program, parameters, &choice).expect("a kernel program");
    (program, lowered)
}

/// The parts of a program's specification that clients read. An accepted one must encrypt and decrypt without a panic.
fn specifications() -> Vec<Target> {
    let parameters = tfhe::sets::parameters("toy-256").expect("a set");
    let (program, kernel) = integers(&parameters);
    let bounds = ["y", "sign"].map(|name| (name.to_owned(), 0.01)).into();
    let signature = Signature::of(&program, &kernel, &bounds).expect("inputs and outputs");
    let set = serde_json::to_string(parameters.literal()).expect("text");
    let integer = serde_json::json!({
        "bits": 4, "signed": false, "range": [0, 9, 3], "length": 2, "scalar": false, "text": false, "bitwise": false,
    });
    let specification = serde_json::json!({
        "format": "polyfabric-specification", "version": 2, "program": "sample", "scheme": "tfhe", "signature": signature,
        "parameters": parameters.literal(), "shapes": { "scalars": [], "integers": { "x": integer } },
    });
    let specification = specification.to_string();
    assert!(Specification::read(specification.as_bytes()).is_ok(), "the sample is valid");
    let parts = [("x".to_owned(), vec![1, 2, 3]), ("y".to_owned(), Vec::new())];
    let message = pack(&parts, Direction::Input).expect("a message");
    vec![
        text("tfhe-signature", vec![serde_json::to_string(&signature).expect("text")], |text| {
            let signature = Signature::from_json(text).map_err(drop)?;
            for input in signature.inputs.iter().filter(|input| input.length <= 16) {
                let _ = signature.encode::<u64>(&input.name, &vec![0; input.length]);
            }
            for output in signature.outputs.iter().filter(|output| output.length <= 16) {
                let _ = signature.decode::<u64>(&output.name, &vec![1 << 63; output.length]);
            }
            Ok::<(), ()>(())
        }),
        text("slot-signature", slot_signatures(), |text| {
            let signature = slots::Signature::check(serde_json::from_str(text).map_err(drop)?).map_err(drop)?;
            for (outputs, direction) in [(false, Direction::Input), (true, Direction::Output)] {
                for terminal in signature.terminals(outputs) {
                    let _ = (signature.port(direction, &terminal.name), terminal.limb_set());
                }
            }
            encrypt_and_decrypt(&signature);
            Ok::<(), ()>(())
        }),
        text("specification", vec![specification], |text| {
            let read = Specification::read(text.as_bytes()).map_err(drop)?;
            Ok::<_, ()>((read.security_bits(), read.key_bytes()))
        }),
        raw("message", message, |bytes| unpack(bytes).map(drop)),
        text("tfhe-parameters", vec![set], |text| {
            let literal: tfhe::ParametersLiteral = serde_json::from_str(text).map_err(drop)?;
            tfhe::Parameters::check(&literal).map_err(drop)
        }),
    ]
}

/// Encrypts and decrypts zeros according to `signature`, if its ring is small.
fn encrypt_and_decrypt(signature: &slots::Signature) {
    let slots = signature.slots();
    let ciphertext = |ring: &Ring, terminal: &slots::Terminal| {
        let zero = RnsPolynomial::zero(ring.degree(), &terminal.limbs, Domain::Evaluation);
        Ciphertext::new(vec![zero; terminal.parts])
    };
    match signature.set() {
        ParameterSet::Ckks(set) if set.ring_degree().get() <= 1024 => {
            let Ok(client) = ckks::ClientKey::for_tests(set, 1) else { return };
            for terminal in signature.terminals(false) {
                if let slots::Encoding::Ckks { level, scale, .. } = terminal.encoding {
                    let _ = client.encrypt_at(&vec![ckks::Complex::from(0.0); slots], level, scale);
                }
            }
            for terminal in signature.terminals(true) {
                let slots::Encoding::Ckks { scale, magnitude, error, .. } = terminal.encoding else { continue };
                let given = ciphertext(client.ring(), terminal);
                if let Ok(given) = ckks::CkksCiphertext::new(set, given, scale, slots) {
                    let _ = client.decrypt_expected(&given, &ckks::Expected { magnitude, error, real: true });
                }
            }
        }
        ParameterSet::Bgv(set) if set.ring().degree().get() <= 1024 => {
            let Ok(client) = bgv::ClientKey::for_tests(set, 1) else { return };
            for terminal in signature.terminals(false) {
                let _ = client.encrypt(&vec![0; slots], terminal.limbs.len());
            }
            for terminal in signature.terminals(true) {
                let slots::Encoding::Bgv { factor, log2_phase } = terminal.encoding else { continue };
                let given = ciphertext(set.ring(), terminal);
                let _ = client.decrypt_within(&given, factor, slots, log2_phase);
            }
        }
        _ => {}
    }
}

/// Machine files, and files that machines write and read.
fn machines() -> Vec<Target> {
    let files = [
        include_str!("../../machines/f1.toml"),
        include_str!("../../machines/fpt.toml"),
        include_str!("../../machines/morphling.toml"),
        include_str!("../../machines/osiris.toml"),
        include_str!("../../machines/strix.toml"),
        include_str!("../../examples/own-rns-machine.toml"),
        include_str!("../../examples/own-tfhe-machine.toml"),
    ];
    let shape = microbenchmark::Shape { log2_degree: 10, limbs: 2, special: 1, ciphertexts: 1, rounds: 1 };
    let program = microbenchmark::build(microbenchmark::Operation::Permute, shape).expect("a program");
    let description = polyfabric_machines::description("f1").expect("a machine");
    let f1 = F1::new(&description).expect("its figures");
    let saved = saved::save(&compile(&f1, &program).expect("it compiles"));
    vec![
        text("machine", owned(&files), |text| {
            let machine = polyfabric_machines::parse("machine.toml", text).map_err(drop)?;
            let _ = (machine.area_mm2(), machine.family());
            Ok::<(), ()>(())
        }),
        raw("f1-compiled", saved, move |bytes| saved::load(bytes, &f1, &program)),
    ]
}

/// Texts of a small BGV program and of its lowering.
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

/// Specifications for clients of a CKKS and a BGV program.
fn slot_signatures() -> Vec<String> {
    let ckks = ckks::sets::parameters("toy-10").expect("a set");
    let bgv = bgv::sets::named("bgv-toy-1024").expect("a set");
    let of_ckks = slots::Encoding::Ckks { level: 1, scale: 2f64.powi(30), magnitude: 1.0, error: 1e-6 };
    let of_bgv = slots::Encoding::Bgv { factor: 1, log2_phase: 40.0 };
    let (ckks, bgv) = (Box::new(ckks.literal().clone()), Box::new(bgv.literal().clone()));
    let sets = [(slots::SetLiteral::Ckks(ckks), of_ckks), (slots::SetLiteral::Bgv(bgv), of_bgv)];
    let written = sets.map(|(parameters, encoding)| {
        let limbs = vec![LimbId(0), LimbId(1)];
        let terminal = |name: &str, parts| {
            let (name, limbs) = (name.to_owned(), limbs.clone());
            slots::Terminal { name, parts, limbs, evaluated: true, encoding, smudging: None }
        };
        let ids = [KeyId::Relinearisation, KeyId::Galois(5)];
        let key = |id| slots::WantedKey { id, limbs: limbs.clone(), storage: KeyStorage::BYTES };
        let literal = slots::SignatureLiteral {
            program: "sample".to_owned(),
            hash: ProgramHash::of("a program"),
            slots: 512,
            parameters,
            inputs: vec![terminal("x", 2)],
            outputs: vec![terminal("y", 3)],
            keys: ids.map(key).to_vec(),
        };
        slots::Signature::check(literal.clone()).expect("what a program has");
        serde_json::to_string(&literal).expect("text")
    });
    written.to_vec()
}
