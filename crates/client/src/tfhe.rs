//! Keys, inputs and outputs of TFHE programs.

use crate::failure::{Failure, Kind};
use crate::storage::{Source, Sources};
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::{Signature, Terminal};
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::{Direction, Port};
use polyfabric_schemes::progress::OnProgress;
use polyfabric_schemes::tfhe::serial::{self, AnyCiphertexts, Content, Storable};
use polyfabric_schemes::tfhe::{
    AnyClientKey, AnyCompressedServerKey, AnyPublicKey, AnyServerKey, ClientKey, CompressedServerKey, KeyUnrolling,
    LweBatch, LweKind, Parameters, PublicKey, ServerKey,
};
use std::collections::BTreeMap;

/// Ciphertext batches by name.
pub type Batches<T> = BTreeMap<String, LweBatch<T>>;

/// Batches over either torus.
#[derive(Clone, Debug)]
pub enum AnyBatches {
    /// q = 2^32.
    Torus32(Batches<u32>),
    /// q = 2^64.
    Torus64(Batches<u64>),
}

/// Ciphertext batches of one key generation.
#[derive(Clone, Debug)]
pub struct Ciphertexts {
    pub batches: AnyBatches,
    /// The secret key that they are encrypted with.
    pub generation: KeyGeneration,
    /// Name in errors: the path of the first file.
    pub name: String,
}

/// The transport form of the evaluation keys of `client`.
pub fn evaluation_key(
    client: &AnyClientKey,
    unrolling: KeyUnrolling,
    hook: OnProgress<'_>,
) -> Result<AnyCompressedServerKey, Failure> {
    let compressed = match client {
        AnyClientKey::Torus32(client) => {
            CompressedServerKey::generate_unrolled(client, unrolling, hook).map(AnyCompressedServerKey::Torus32)
        }
        AnyClientKey::Torus64(client) => {
            CompressedServerKey::generate_unrolled(client, unrolling, hook).map(AnyCompressedServerKey::Torus64)
        }
    };
    compressed.map_err(Failure::of(Kind::Run))
}

/// Encodes and encrypts a program's inputs.
pub fn encrypt(
    client: &AnyClientKey,
    signature: &Signature,
    inputs: &BTreeMap<String, Vec<i64>>,
) -> Result<Ciphertexts, Failure> {
    let batches = match client {
        AnyClientKey::Torus32(client) => AnyBatches::Torus32(encrypted(client, signature, inputs)?),
        AnyClientKey::Torus64(client) => AnyBatches::Torus64(encrypted(client, signature, inputs)?),
    };
    Ok(Ciphertexts { batches, generation: client.generation(), name: "the ciphertexts".to_owned() })
}

fn encrypted<T: Torus>(
    client: &ClientKey<T>,
    signature: &Signature,
    inputs: &BTreeMap<String, Vec<i64>>,
) -> Result<Batches<T>, Failure> {
    let mut batches = Batches::new();
    for Terminal { name, length, key, .. } in &signature.inputs {
        let missing = || Failure::new(Kind::Input, format!("input {name:?} is missing; give {length} values"));
        let values = inputs.get(name).ok_or_else(missing)?;
        let plaintexts: Vec<T> = signature.encode(name, values).map_err(Failure::of(Kind::Input))?;
        let batch = client.encrypt(*key, &plaintexts).map_err(Failure::of(Kind::Run))?;
        batches.insert(name.clone(), batch);
    }
    Ok(batches)
}

/// Encodes and encrypts the input `name` with a public key.
pub fn encrypt_publicly(
    key: &AnyPublicKey,
    signature: &Signature,
    name: &str,
    values: &[i64],
) -> Result<AnyCiphertexts, Failure> {
    if !signature.public {
        let message = format!(
            "{} is not planned for public-key inputs, which have more noise; plan it with public=True (--public)",
            signature.program
        );
        return Err(Failure::new(Kind::Input, message));
    }
    Ok(match key {
        AnyPublicKey::Torus32(key) => AnyCiphertexts::Torus32(compact(key, signature, name, values)?),
        AnyPublicKey::Torus64(key) => AnyCiphertexts::Torus64(compact(key, signature, name, values)?),
    })
}

fn compact<T: Torus>(
    key: &PublicKey<T>,
    signature: &Signature,
    name: &str,
    values: &[i64],
) -> Result<serial::Ciphertexts<T>, Failure> {
    let plaintexts: Vec<T> = signature.encode(name, values).map_err(Failure::of(Kind::Input))?;
    let compact = key.encrypt(&plaintexts).map_err(Failure::of(Kind::Run))?;
    let (parameters, generation) = (key.parameters().clone(), key.generation());
    let port = signature.port(Direction::Input, name);
    Ok(serial::Ciphertexts { parameters, generation, port, content: Content::Compact(compact) })
}

/// Decrypts and decodes a program's outputs with the key `client`, which errors call `name`; rejects values that no execution produces.
pub fn decrypt(
    client: &AnyClientKey,
    name: &str,
    signature: &Signature,
    outputs: &Ciphertexts,
) -> Result<BTreeMap<String, Vec<i64>>, Failure> {
    let same = client.generation().expect(name, outputs.generation, &outputs.name, client.parameters().name());
    same.map_err(Failure::of(Kind::File))?;
    match (client, &outputs.batches) {
        (AnyClientKey::Torus32(client), AnyBatches::Torus32(outputs)) => decrypted(client, signature, outputs),
        (AnyClientKey::Torus64(client), AnyBatches::Torus64(outputs)) => decrypted(client, signature, outputs),
        _ => Err(torus_mismatch()),
    }
}

fn decrypted<T: Torus>(
    client: &ClientKey<T>,
    signature: &Signature,
    outputs: &Batches<T>,
) -> Result<BTreeMap<String, Vec<i64>>, Failure> {
    let mut values = BTreeMap::new();
    for Terminal { name, key, .. } in &signature.outputs {
        let missing = || Failure::new(Kind::Input, format!("the ciphertexts of output {name:?} are missing"));
        let batch = outputs.get(name).ok_or_else(missing)?;
        let phases = client.decrypt_phase(*key, batch).map_err(Failure::of(Kind::Input))?;
        values.insert(name.clone(), signature.decode(name, &phases).map_err(Failure::of(Kind::Input))?);
    }
    Ok(values)
}

/// The error for ciphertexts, keys or programs over different toruses.
pub fn torus_mismatch() -> Failure {
    let message = "the keys and the ciphertexts are over toruses of different width; use keys and ciphertexts of one parameter set";
    Failure::new(Kind::Input, message)
}

impl Ciphertexts {
    /// The content of the file of the input or output `name`.
    pub fn file(
        &self,
        parameters: &Parameters,
        signature: &Signature,
        direction: Direction,
        name: &str,
    ) -> Result<AnyCiphertexts, Failure> {
        let port = signature.port(direction, name);
        Ok(match &self.batches {
            AnyBatches::Torus32(batches) => AnyCiphertexts::Torus32(self.stored(parameters, batches, port)?),
            AnyBatches::Torus64(batches) => AnyCiphertexts::Torus64(self.stored(parameters, batches, port)?),
        })
    }

    fn stored<T: Torus>(
        &self,
        parameters: &Parameters,
        batches: &Batches<T>,
        port: Port,
    ) -> Result<serial::Ciphertexts<T>, Failure> {
        let missing = || Failure::new(Kind::Input, format!("there are no ciphertexts {:?}", port.name));
        let batch = batches.get(&port.name).ok_or_else(missing)?;
        let small = batch.dimension() == parameters.lwe_dimension();
        let kind = if small { LweKind::Small } else { LweKind::Large };
        let content = Content::Each { kind, batch: batch.clone() };
        Ok(serial::Ciphertexts { parameters: parameters.clone(), generation: self.generation, port, content })
    }

    /// Reads a program's inputs or outputs. All must belong to `parameters`, to this program, and to one key generation. The keys of `server`
    /// switch public-key inputs to the key that the program expects.
    pub fn load(
        parameters: &Parameters,
        signature: &Signature,
        direction: Direction,
        sources: Sources<'_>,
        server: Option<&AnyServerKey>,
    ) -> Result<Self, Failure> {
        let (of32, of64) = match server {
            Some(AnyServerKey::Torus32(key)) => (Some(key), None),
            Some(AnyServerKey::Torus64(key)) => (None, Some(key)),
            None => (None, None),
        };
        let (mut narrow, mut wide) = (Batches::new(), Batches::new());
        let mut first: Option<(String, KeyGeneration)> = None;
        for (name, source) in sources {
            let (content, generation) = own(signature, direction, &name, &source)?;
            let path = source.name();
            let found = Storable::parameters(&content);
            if found != parameters {
                let (found, expected) = (found.name(), parameters.name());
                let message = format!(
                    "{path}: the ciphertexts are of parameter set {found}, the keys of {expected}; use ciphertexts and keys of one set"
                );
                return Err(Failure::new(Kind::File, message));
            }
            match &first {
                Some((of, own)) => {
                    own.expect(of, generation, &path, found.name()).map_err(Failure::of(Kind::File))?;
                }
                None => first = Some((path, generation)),
            }
            match content {
                AnyCiphertexts::Torus32(own) => {
                    let batch = taken(own.content, signature, &name, of32)?;
                    narrow.insert(name, batch);
                }
                AnyCiphertexts::Torus64(own) => {
                    let batch = taken(own.content, signature, &name, of64)?;
                    wide.insert(name, batch);
                }
            }
        }
        let torus32 = parameters.torus_bits() == 32;
        let batches = if torus32 { AnyBatches::Torus32(narrow) } else { AnyBatches::Torus64(wide) };
        let nothing = || Failure::new(Kind::Input, "no file of ciphertexts is named; name one for each batch");
        let (name, generation) = first.ok_or_else(nothing)?;
        Ok(Self { batches, generation, name })
    }
}

/// Reads the ciphertexts of the input or output `name`. Fails if they belong to another program, whatever its set.
pub fn own(
    signature: &Signature,
    direction: Direction,
    name: &str,
    source: &Source<'_>,
) -> Result<(AnyCiphertexts, KeyGeneration), Failure> {
    let content: AnyCiphertexts = source.read().map_err(Failure::of(Kind::File))?;
    let (generation, port) = match &content {
        AnyCiphertexts::Torus32(content) => (content.generation, &content.port),
        AnyCiphertexts::Torus64(content) => (content.generation, &content.port),
    };
    signature.port(direction, name).expect(port, &source.name()).map_err(Failure::of(Kind::File))?;
    Ok((content, generation))
}

/// The ciphertexts of input or output `name` in the format that the program reads.
fn taken<T: Torus>(
    content: Content<T>,
    signature: &Signature,
    name: &str,
    server: Option<&ServerKey<T>>,
) -> Result<LweBatch<T>, Failure> {
    let compact = match content {
        Content::Each { batch, .. } => return Ok(batch),
        Content::Compact(compact) => compact,
    };
    let refused = |message: String| Err(Failure::new(Kind::File, message));
    let Some(server) = server else {
        return refused(format!(
            "{name:?} is encrypted with a public key, but results are not; use the server's response"
        ));
    };
    if !signature.public {
        return refused(format!(
            "input {name:?} is encrypted with a public key, but {} is not planned for its noise; plan it with public=True (--public)",
            signature.program
        ));
    }
    let terminal = signature.input(name).map_err(Failure::of(Kind::Input))?;
    // Check before unpacking, which enlarges a message a thousandfold.
    if compact.len() != terminal.length {
        let (found, length) = (compact.len(), terminal.length);
        return refused(format!("input {name:?} has {length} elements, but the file has {found}; use another file"));
    }
    server.receive(&compact, terminal.key).map_err(Failure::of(Kind::Run))
}
