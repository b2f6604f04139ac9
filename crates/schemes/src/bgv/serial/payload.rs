//! Contents and lengths of each kind of file. All begin with the key generation.

use super::{Bgv, Kind};
use crate::bgv::client_key::{BgvPublicKey, ClientKey};
use crate::bgv::parameters::Parameters;
use crate::generation::KeyGeneration;
use crate::gsw::GswCiphertext;
use crate::port::Port;
use crate::random::MaskSeed;
use crate::rns::serial::{
    WantedKeys, ciphertext_bytes, key_set_bytes, polynomial_bytes, read_ciphertext, read_key_set, read_polynomial,
    read_secret, write_ciphertext, write_key_set, write_polynomial, write_secret,
};
use crate::rns::{Ciphertext, Domain, KeySet, PublicKey};
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

/// Ciphertexts, each with its correction factor, and their parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct Ciphertexts {
    /// The parameter set.
    pub parameters: Parameters,
    /// The client's key generation.
    pub generation: KeyGeneration,
    /// The program's input or output.
    pub port: Port,
    /// The ciphertexts, each over the first limbs of Q, and their correction factors, coprime to t.
    pub ciphertexts: Vec<(Ciphertext, u64)>,
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

/// The payload is the secret's coefficients, one byte each.
impl Storable for ClientKey {
    type Family = Bgv;
    const KIND: Kind = Kind::ClientKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        client_key_bytes(self.parameters())
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.generation().write(sink)?;
        write_secret(self.secret(), sink)
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        expect_length("the client key", length, client_key_bytes(&parameters))?;
        let generation = KeyGeneration::read(reader)?;
        let secret = read_secret(parameters.ring().degree(), parameters.literal().secret, reader)?;
        Self::from_secret(&parameters, generation, secret).map_err(|error| FormatError::Parameters(Box::new(error)))
    }
}

fn client_key_bytes(parameters: &Parameters) -> u64 {
    KeyGeneration::BYTES + parameters.ring().degree().get() as u64
}

/// The payload is the mask's seed and the body.
impl Storable for BgvPublicKey {
    type Family = Bgv;
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
        write_polynomial(self.parameters().ring(), self.key().body(), sink)
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        expect_length("the public key", length, public_key_bytes(&parameters))?;
        let generation = KeyGeneration::read(reader)?;
        let mut seed = [0; 32];
        reader.bytes("the mask's seed", &mut seed)?;
        let (ring, limbs) = (parameters.ring(), parameters.gadget().q());
        let body = read_polynomial("the public key", ring, limbs, Domain::Evaluation, reader)?;
        let key = PublicKey::from_seed(ring, body, MaskSeed(seed));
        let key = key.ok_or(FormatError::Content("the public key is not in values"))?;
        Self::new(&parameters, generation, key).map_err(|error| FormatError::Parameters(Box::new(error)))
    }
}

fn public_key_bytes(parameters: &Parameters) -> u64 {
    let (degree, moduli) = (parameters.ring().degree().get(), parameters.ring().moduli());
    KeyGeneration::BYTES + 32 + polynomial_bytes(degree, moduli, parameters.gadget().q())
}

/// The payload is written by `write_key_set`.
impl Storable for EvaluationKeys {
    type Family = Bgv;
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
        let keys = read_key_set(parameters.ring(), |id| Arc::clone(parameters.gadget_of(id)), wanted, reader)?;
        expect_length("the evaluation keys", length, before - reader.left())?;
        Ok(Self { parameters, generation, keys })
    }
}

/// The payload is the port, the number of ciphertexts, then the limbs, correction factor and parts of each.
impl Storable for Ciphertexts {
    type Family = Bgv;
    const KIND: Kind = Kind::Ciphertexts;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn payload_bytes(&self) -> u64 {
        let moduli = self.parameters.ring().moduli();
        let each = |(ciphertext, _): &(Ciphertext, u64)| 12 + ciphertext_bytes(moduli, ciphertext);
        KeyGeneration::BYTES + self.port.bytes() + 4 + self.ciphertexts.iter().map(each).sum::<u64>()
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.generation.write(sink)?;
        self.port.write(sink)?;
        sink.bytes(&(self.ciphertexts.len() as u32).to_le_bytes())?;
        for (ciphertext, factor) in &self.ciphertexts {
            sink.bytes(&(ciphertext.limbs().len() as u32).to_le_bytes())?;
            sink.bytes(&factor.to_le_bytes())?;
            write_ciphertext(self.parameters.ring(), ciphertext, sink)?;
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
        let t = parameters.plaintext_modulus().modulus();
        let mut ciphertexts = Vec::new();
        for _ in 0..count {
            let (limbs, factor) = (reader.u32("a number of limbs")? as usize, reader.u64("a correction factor")?);
            if !(1..=parameters.q_limbs()).contains(&limbs) {
                return Err(FormatError::Content("a ciphertext has no limb, or more than the parameters"));
            }
            if !t.holds(factor) || t.inverse(factor).is_none() {
                return Err(FormatError::Content("a correction factor has no inverse modulo t"));
            }
            let ciphertext = read_ciphertext(parameters.ring(), &parameters.limbs(limbs), reader)?;
            if ciphertext.parts.len() < 2 {
                return Err(FormatError::Content("a ciphertext has one part; it has at least two"));
            }
            ciphertexts.push((ciphertext, factor));
        }
        expect_length("the ciphertexts", length, before - reader.left())?;
        Ok(Self { parameters, generation, port, ciphertexts })
    }
}

/// The payload is the port, then the rows as switching keys.
impl Storable for Selector {
    type Family = Bgv;
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
        let ciphertext = GswCiphertext::read(parameters.ring(), parameters.gadget(), reader)?;
        expect_length("the selector", length, before - reader.left())?;
        Ok(Self { parameters, generation, port, ciphertext })
    }
}
