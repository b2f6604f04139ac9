//! Contents and lengths of each kind of file. All begin with the key generation.

use super::{Ckks, Kind};
use crate::ckks::ciphertext::CkksCiphertext;
use crate::ckks::client_key::{ClientKey, PublicEncryptionKey};
use crate::ckks::parameters::Parameters;
use crate::generation::KeyGeneration;
use crate::gsw::{self, GswCiphertext};
use crate::port::Port;
use crate::random::MaskSeed;
use crate::rns::serial::{
    WantedKeys, ciphertext_bytes, key_set_bytes, polynomial_bytes, read_ciphertext, read_key_set, read_polynomial,
    read_secret, write_ciphertext, write_key_set, write_polynomial, write_secret,
};
use crate::rns::{Domain, KeySet, LimbId, PublicKey, Ring, RingError};
use crate::serial::{FormatError, Reader, Sink, Storable, expect_length};
use std::sync::Arc;

/// The switching keys that a program needs, and their parameter set.
#[derive(Clone, Debug)]
pub struct EvaluationKeys {
    /// The parameter set.
    pub parameters: Parameters,
    /// The client's key generation.
    pub generation: KeyGeneration,
    /// The keys. After reading, they are packed and their masks are seeds; [`KeySet::stored`] changes that.
    pub keys: KeySet,
}

/// Ciphertexts and their parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct Ciphertexts {
    /// The parameter set.
    pub parameters: Parameters,
    /// The client's key generation.
    pub generation: KeyGeneration,
    /// The program's input or output.
    pub port: Port,
    pub ciphertexts: Vec<CkksCiphertext>,
}

/// An encrypted bit that selects, and its parameter set.
#[derive(Clone, Debug)]
pub struct Selector {
    /// The parameter set.
    pub parameters: Parameters,
    /// The client's key generation.
    pub generation: KeyGeneration,
    /// The program's input.
    pub port: Port,
    pub ciphertext: GswCiphertext,
}

/// Maximum number of ciphertexts in a file.
const MAX_CIPHERTEXTS: u32 = 1 << 24;

fn ring_of(parameters: &Parameters) -> Result<Arc<Ring>, FormatError> {
    parameters.ring().map_err(|error| FormatError::Parameters(Box::new(error)))
}

fn ring_for_writing(parameters: &Parameters) -> std::io::Result<Arc<Ring>> {
    parameters.ring().map_err(|error: RingError| std::io::Error::other(error))
}

fn top_limbs(parameters: &Parameters) -> Vec<LimbId> {
    LimbId::range(0, parameters.q_limbs())
}

/// The payload is the secret's coefficients, one byte each, then those of the ephemeral secret if the set has one.
impl Storable for ClientKey {
    type Family = Ckks;
    const KIND: Kind = Kind::ClientKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        client_key_bytes(self.parameters())
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.generation().write(sink)?;
        for secret in [Some(self.secret()), self.ephemeral()].into_iter().flatten() {
            write_secret(secret, sink)?;
        }
        Ok(())
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        expect_length("the client key", length, client_key_bytes(&parameters))?;
        let generation = KeyGeneration::read(reader)?;
        let degree = parameters.ring_degree();
        let secret = read_secret(degree, parameters.secret(), reader)?;
        let ephemeral = parameters.ephemeral_secret().map(|kind| read_secret(degree, kind, reader)).transpose()?;
        let key = Self::from_secrets(&parameters, generation, secret, ephemeral);
        key.map_err(|error| FormatError::Parameters(Box::new(error)))
    }
}

fn client_key_bytes(parameters: &Parameters) -> u64 {
    let secrets = 1 + u64::from(parameters.ephemeral_secret().is_some());
    KeyGeneration::BYTES + secrets * parameters.ring_degree().get() as u64
}

/// The payload is the mask's seed and the body.
impl Storable for PublicEncryptionKey {
    type Family = Ckks;
    const KIND: Kind = Kind::PublicKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        public_key_bytes(self.parameters())
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.generation().write(sink)?;
        sink.bytes(&self.key().seed().0)?;
        write_polynomial(&*ring_for_writing(self.parameters())?, self.key().body(), sink)
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        expect_length("the public key", length, public_key_bytes(&parameters))?;
        let generation = KeyGeneration::read(reader)?;
        let ring = ring_of(&parameters)?;
        let mut seed = [0; 32];
        reader.bytes("the mask's seed", &mut seed)?;
        let limbs = top_limbs(&parameters);
        let body = read_polynomial("the public key", &ring, &limbs, Domain::Evaluation, reader)?;
        let key = PublicKey::from_seed(&ring, body, MaskSeed(seed));
        let key = key.ok_or(FormatError::Content("the public key is not in values"))?;
        Self::new(&parameters, generation, key).map_err(|error| FormatError::Parameters(Box::new(error)))
    }
}

fn public_key_bytes(parameters: &Parameters) -> u64 {
    let degree = parameters.ring_degree().get();
    KeyGeneration::BYTES + 32 + polynomial_bytes(degree, parameters.moduli(), &top_limbs(parameters))
}

/// The payload is written by `write_key_set`.
impl Storable for EvaluationKeys {
    type Family = Ckks;
    const KIND: Kind = Kind::EvaluationKeys;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn payload_bytes(&self) -> u64 {
        KeyGeneration::BYTES + key_set_bytes(&self.keys)
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.generation.write(sink)?;
        write_key_set(&self.keys, sink)
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        Self::read(parameters, length, None, reader)
    }
}

impl EvaluationKeys {
    /// As [`Storable::read_payload`], but the keys must be exactly those of `wanted` if it is given.
    ///
    /// # Errors
    /// [`FormatError`]; [`FormatError::Keys`] before an unwanted or incomplete key is read.
    #[doc(hidden)]
    pub fn read(
        parameters: Parameters,
        length: u64,
        wanted: Option<&WantedKeys<'_>>,
        reader: &mut Reader<'_>,
    ) -> Result<Self, FormatError> {
        let before = reader.left();
        let generation = KeyGeneration::read(reader)?;
        let ring = ring_of(&parameters)?;
        let keys = read_key_set(&ring, |id| Arc::clone(parameters.gadget_of(id)), wanted, reader)?;
        expect_length("the evaluation keys", length, before - reader.left())?;
        Ok(Self { parameters, generation, keys })
    }
}

/// The payload is the port, the number of ciphertexts, then the level, slots, scale and parts of each.
impl Storable for Ciphertexts {
    type Family = Ckks;
    const KIND: Kind = Kind::Ciphertexts;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn payload_bytes(&self) -> u64 {
        let each =
            |ciphertext: &CkksCiphertext| 16 + ciphertext_bytes(self.parameters.moduli(), ciphertext.ciphertext());
        KeyGeneration::BYTES + self.port.bytes() + 4 + self.ciphertexts.iter().map(each).sum::<u64>()
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        let ring = ring_for_writing(&self.parameters)?;
        self.generation.write(sink)?;
        self.port.write(sink)?;
        sink.bytes(&(self.ciphertexts.len() as u32).to_le_bytes())?;
        for ciphertext in &self.ciphertexts {
            sink.bytes(&(ciphertext.level() as u32).to_le_bytes())?;
            sink.bytes(&(ciphertext.slots() as u32).to_le_bytes())?;
            sink.bytes(&ciphertext.scale().to_le_bytes())?;
            write_ciphertext(&ring, ciphertext.ciphertext(), sink)?;
        }
        Ok(())
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let before = reader.left();
        let generation = KeyGeneration::read(reader)?;
        let port = Port::read(reader)?;
        let count = reader.u32("the number of ciphertexts")?;
        if count > MAX_CIPHERTEXTS {
            return Err(FormatError::Content("there are more than 2^24 ciphertexts"));
        }
        let ring = ring_of(&parameters)?;
        let mut ciphertexts = Vec::new();
        for _ in 0..count {
            let (level, slots) = (reader.u32("a level")?, reader.u32("the slots")?);
            let mut scale = [0; 8];
            reader.bytes("a scale", &mut scale)?;
            let limbs = parameters
                .limbs_at(level as usize)
                .ok_or(FormatError::Content("a ciphertext's level is above the parameters' highest"))?;
            let ciphertext = read_ciphertext(&ring, &limbs, reader)?;
            let ciphertext = CkksCiphertext::new(&parameters, ciphertext, f64::from_le_bytes(scale), slots as usize);
            ciphertexts.push(ciphertext.map_err(|error| FormatError::Parameters(Box::new(error)))?);
        }
        expect_length("the ciphertexts", length, before - reader.left())?;
        Ok(Self { parameters, generation, port, ciphertexts })
    }
}

/// The payload is the port, then the rows as switching keys.
impl Storable for Selector {
    type Family = Ckks;
    const KIND: Kind = Kind::Selector;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn payload_bytes(&self) -> u64 {
        KeyGeneration::BYTES + self.port.bytes() + self.ciphertext.file_bytes()
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.generation.write(sink)?;
        self.port.write(sink)?;
        self.ciphertext.write(sink)
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let before = reader.left();
        let generation = KeyGeneration::read(reader)?;
        let port = Port::read(reader)?;
        let ring = ring_of(&parameters)?;
        let ciphertext = GswCiphertext::read(&ring, parameters.gadget_of(gsw::ID), reader)?;
        expect_length("the selector", length, before - reader.left())?;
        Ok(Self { parameters, generation, port, ciphertext })
    }
}
