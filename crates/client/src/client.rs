//! A client of one program: the holder of its secret key.

use crate::archive::{pack, unpack};
use crate::failure::{Failure, Kind};
use crate::specification::{Interface, Limits, Specification};
use crate::storage::{Source, Sources, bytes};
use crate::{rns, tfhe};
use polyfabric_schemes::port::Direction;
use polyfabric_schemes::progress::OnProgress;
use polyfabric_schemes::tfhe::{AnyClientKey, KeyUnrolling};
use serde_json::Value;

/// Name of the secret key in errors.
const KEY: &str = "the client key";

/// Encrypts a program's inputs and decrypts its outputs, with a secret key and without the program.
pub struct Client {
    specification: Specification,
    key: Key,
}

enum Key {
    Tfhe(AnyClientKey),
    Rns { key: rns::SecretKey, origin: rns::Origin },
}

fn rns_key(key: rns::SecretKey) -> Key {
    let origin = key.origin(KEY.to_owned());
    Key::Rns { key, origin }
}

impl Client {
    /// Generates a secret key with the operating system's randomness.
    pub fn generate(specification: Specification, limits: &Limits) -> Result<Self, Failure> {
        specification.expect(limits)?;
        let key = match &specification.interface {
            Interface::Elements { parameters, .. } => {
                Key::Tfhe(AnyClientKey::generate(parameters).map_err(Failure::of(Kind::Run))?)
            }
            Interface::Slots { signature, .. } => rns_key(rns::SecretKey::generate(signature)?),
        };
        Ok(Self { specification, key })
    }

    /// The client with a secret key from `save`, the content of a `client.key`.
    pub fn load(specification: Specification, key: &[u8], limits: &Limits) -> Result<Self, Failure> {
        specification.expect(limits)?;
        let source = Source::Bytes(key);
        let other = |found: &str, wanted: &str| {
            let message = format!(
                "{KEY} belongs to parameter set {found}, but the specification needs {wanted}; bring the key that was made for it"
            );
            Failure::new(Kind::Input, message)
        };
        let key = match &specification.interface {
            Interface::Elements { parameters, .. } => {
                let key: AnyClientKey = source.read().map_err(Failure::of(Kind::File))?;
                if key.parameters() != parameters {
                    return Err(other(key.parameters().name(), parameters.name()));
                }
                Key::Tfhe(key)
            }
            Interface::Slots { signature, .. } => {
                let bgv = signature.set().scheme().eq_ignore_ascii_case("bgv");
                let key = rns::SecretKey::load(&source, bgv).map_err(Failure::of(Kind::File))?;
                let found = key.origin(KEY.to_owned()).set;
                if found != *signature.set() {
                    return Err(other(found.name(), signature.set().name()));
                }
                rns_key(key)
            }
        };
        Ok(Self { specification, key })
    }

    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The secret key, as the content of a `client.key`.
    pub fn save(&self) -> Result<Vec<u8>, Failure> {
        match &self.key {
            Key::Tfhe(key) => bytes(key),
            Key::Rns { key, .. } => Ok(key.save(None)?.unwrap_or_default()),
        }
    }

    /// A fresh evaluation key, as the content of a `server.key`.
    pub fn evaluation_key(&self, hook: OnProgress<'_>) -> Result<Vec<u8>, Failure> {
        match (&self.key, &self.specification.interface) {
            (Key::Tfhe(key), _) => {
                let unrolling = KeyUnrolling::of(key.parameters().secret());
                bytes(&tfhe::evaluation_key(key, unrolling, hook)?)
            }
            (Key::Rns { key, origin }, Interface::Slots { signature, .. }) => {
                let keys = key.evaluation_keys(signature, hook)?;
                Ok(rns::save_evaluation_keys(&keys, origin, None)?.unwrap_or_default())
            }
            (Key::Rns { .. }, Interface::Elements { .. }) => Err(rns::foreign()),
        }
    }

    /// A request with encrypted inputs, which are given as a JSON object by name.
    pub fn encrypt(&self, inputs: &str) -> Result<Vec<u8>, Failure> {
        let given = match serde_json::from_str(inputs) {
            Ok(Value::Object(given)) => given,
            Ok(_) => return Err(Failure::new(Kind::Input, "inputs are a JSON object, with a value for each name")),
            Err(error) => return Err(Failure::new(Kind::Input, format!("the inputs are not JSON: {error}"))),
        };
        let mut parts = Vec::new();
        match (&self.specification.interface, &self.key) {
            (Interface::Elements { signature, parameters, shapes }, Key::Tfhe(key)) => {
                let ciphertexts = tfhe::encrypt(key, signature, &shapes.flatten(&given)?)?;
                for input in &signature.inputs {
                    let file = ciphertexts.file(parameters, signature, Direction::Input, &input.name)?;
                    parts.push((input.name.clone(), bytes(&file)?));
                }
            }
            (Interface::Slots { signature, shapes }, Key::Rns { key, origin }) => {
                let ciphertexts = rns::encrypt(key, origin, signature, &shapes.flatten(&given)?)?;
                for input in signature.terminals(false) {
                    let file = ciphertexts.save(signature, Direction::Input, &input.name, None)?;
                    parts.push((input.name.clone(), file.unwrap_or_default()));
                }
            }
            _ => return Err(rns::foreign()),
        }
        pack(&parts, Direction::Input)
    }

    /// The values in a server's answer, as a JSON object by name. Rejects values that no execution of the program produces.
    pub fn decrypt(&self, answer: &[u8]) -> Result<String, Failure> {
        let (direction, parts) = unpack(answer)?;
        if direction != Direction::Output {
            let message = "these are encrypted inputs; give the server's answer, which has the outputs";
            return Err(Failure::new(Kind::File, message));
        }
        let sources: Sources<'_> = parts.into_iter().map(|(name, data)| (name, Source::Bytes(data))).collect();
        let shaped = match (&self.specification.interface, &self.key) {
            (Interface::Elements { signature, parameters, shapes }, Key::Tfhe(key)) => {
                let outputs = tfhe::Ciphertexts::load(parameters, signature, Direction::Output, sources, None)?;
                shapes.shaped(&tfhe::decrypt(key, KEY, signature, &outputs)?)
            }
            (Interface::Slots { signature, shapes }, Key::Rns { key, origin }) => {
                let outputs = rns::Ciphertexts::load(signature, Direction::Output, &sources)?;
                let real = Some(shapes.real());
                let values = rns::decrypt(key, origin, signature, &outputs, real, &mut rns::Reader::Own)?;
                shapes.shaped(&values)?
            }
            _ => return Err(rns::foreign()),
        };
        Ok(Value::Object(shaped).to_string())
    }
}
