//! Contents and lengths of each kind of file.

use polyfabric_kernels::Torus;
use zeroize::Zeroizing;

use super::{Kind, Tfhe};
use crate::generation::KeyGeneration;
use crate::port::Port;
use crate::serial::{FormatError, Reader, Sink, Storable, expect_length};
use crate::tfhe::client_key::{AnyClientKey, ClientKey};
use crate::tfhe::glwe::GlweSecretKey;
use crate::tfhe::lwe::{LweBatch, LweKind, LweSecretKey};
use crate::tfhe::parameters::Parameters;
use crate::tfhe::public_key::{AnyPublicKey, CompactBatch, PublicKey};
use crate::tfhe::random::MaskSeed;
use crate::tfhe::secret::Secret;
use crate::tfhe::server_key::{AnyCompressedServerKey, AnyServerKey, CompressedServerKey, ServerKey};
use crate::tfhe::unrolling::KeyUnrolling;

/// Ciphertexts, their key and parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct Ciphertexts<T> {
    /// The parameter set.
    pub parameters: Parameters,
    /// Their key generation.
    pub generation: KeyGeneration,
    /// The program's input or output.
    pub port: Port,
    /// The ciphertexts.
    pub content: Content<T>,
}

/// The format of ciphertexts.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<T> {
    /// LWE ciphertexts, as a client or a server writes them.
    Each {
        /// Their key.
        kind: LweKind,
        /// The ciphertexts; their dimension is that of `kind`.
        batch: LweBatch<T>,
    },
    /// Coefficients of GLWE ciphertexts, as a public key encrypts them.
    Compact(CompactBatch<T>),
}

impl<T: Torus> Content<T> {
    /// Number of messages.
    pub fn len(&self) -> usize {
        match self {
            Self::Each { batch, .. } => batch.len(),
            Self::Compact(compact) => compact.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn data(&self) -> &[T] {
        match self {
            Self::Each { batch, .. } => batch.data(),
            Self::Compact(compact) => compact.data(),
        }
    }

    /// The byte of the format.
    fn code(&self) -> u8 {
        match self {
            Self::Each { kind: LweKind::Small, .. } => 0,
            Self::Each { kind: LweKind::Large, .. } => 1,
            Self::Compact(_) => COMPACT,
        }
    }
}

/// The code of [`Content::Compact`].
const COMPACT: u8 = 2;

/// Ciphertexts over either torus.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyCiphertexts {
    /// q = 2^32.
    Torus32(Ciphertexts<u32>),
    /// q = 2^64.
    Torus64(Ciphertexts<u64>),
}

/// Bytes of the key unrolling in a server key's payload.
const UNROLLING_BYTES: u64 = 4;

fn torus_bytes(parameters: &Parameters) -> u64 {
    u64::from(parameters.torus_bits() / 8)
}

fn secret_bits(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u8>, FormatError> {
    let mut bits = Zeroizing::new(vec![0; count]);
    reader.bytes("the secret key", &mut bits)?;
    if bits.iter().any(|&bit| bit > 1) {
        return Err(FormatError::Content("a secret key bit is neither 0 nor 1"));
    }
    Ok(std::mem::take(&mut *bits))
}

/// The payload is the key generation, then n + kN bytes, one key bit each.
impl Storable for AnyClientKey {
    type Family = Tfhe;
    const KIND: Kind = Kind::ClientKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        client_key_bytes(self.parameters())
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        let (small, glwe) = match self {
            Self::Torus32(key) => (key.lwe(LweKind::Small), key.glwe()),
            Self::Torus64(key) => (key.lwe(LweKind::Small), key.glwe()),
        };
        self.generation().write(sink)?;
        sink.bytes(small.bits())?;
        sink.bytes(glwe.bits())
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        expect_length("the client key", length, client_key_bytes(&parameters))?;
        let generation = KeyGeneration::read(reader)?;
        let small = LweSecretKey::from_bits(secret_bits(reader, parameters.lwe_dimension().get())?);
        // Wiped when dropped, as the small key is.
        let glwe = GlweSecretKey::from_bits(
            secret_bits(reader, parameters.large_lwe_dimension().get())?,
            parameters.ring_degree(),
        );
        let secret = parameters.secret();
        if !secret.has(small.bits()) {
            return Err(FormatError::Content("a block of the small key has two set bits"));
        }
        if !secret.is_light(small.bits()) || !Secret::Binary.is_light(glwe.bits()) {
            return Err(FormatError::Content("a secret key has more set bits than any valid one"));
        }
        if !secret.turns(small.bits()) {
            return Err(FormatError::Content("a secret key ends in more zeros than any valid one"));
        }
        Ok(if parameters.torus_bits() == 32 {
            Self::Torus32(ClientKey::from_secrets(parameters, generation, small, glwe))
        } else {
            Self::Torus64(ClientKey::from_secrets(parameters, generation, small, glwe))
        })
    }
}

fn client_key_bytes(parameters: &Parameters) -> u64 {
    KeyGeneration::BYTES + (parameters.lwe_dimension().get() + parameters.large_lwe_dimension().get()) as u64
}

/// The payload is the key generation, the key unrolling (four bytes), the bootstrapping key, the key-switching and the circuit-bootstrapping
/// key if the set has them, and the public encryptions of zero.
impl Storable for AnyServerKey {
    type Family = Tfhe;
    const KIND: Kind = Kind::ServerKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        let unrolling = match self {
            Self::Torus32(key) => key.unrolling,
            Self::Torus64(key) => key.unrolling,
        };
        server_key_bytes(self.parameters(), unrolling)
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        fn write<T: Torus>(key: &ServerKey<T>, sink: &mut Sink<'_>) -> std::io::Result<()> {
            if key.public_zeros.is_empty() {
                return Err(std::io::Error::other(
                    "a file has public encryptions of zero, but a server key from another library has none",
                ));
            }
            key.generation.write(sink)?;
            sink.bytes(&key.unrolling.bits().to_le_bytes())?;
            sink.torus(key.bootstrap_key())?;
            key.key_switch_key().map_or(Ok(()), |key| sink.torus(key))?;
            sink.torus(key.circuit_key())?;
            sink.torus(&key.public_zeros)
        }
        match self {
            Self::Torus32(key) => write(key, sink),
            Self::Torus64(key) => write(key, sink),
        }
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        fn read<T: Torus>(
            parameters: Parameters,
            (generation, unrolling): (KeyGeneration, KeyUnrolling),
            reader: &mut Reader<'_>,
        ) -> Result<ServerKey<T>, FormatError> {
            let length = parameters.unrolled_bootstrap_key_len(unrolling);
            let bootstrap_key = reader.torus("the bootstrapping key", length)?;
            let key_switch_key = parameters
                .key_switch_key_len()
                .map(|length| reader.torus("the key-switching key", length))
                .transpose()?;
            let circuit_key = reader.torus("the circuit-bootstrapping key", parameters.circuit_key_len())?;
            let public_zeros = reader.torus("the public encryptions of zero", parameters.public_zeros_len())?;
            Ok(ServerKey {
                parameters,
                generation,
                unrolling,
                bootstrap_key,
                key_switch_key,
                circuit_key,
                public_zeros,
            })
        }
        let generation = KeyGeneration::read(reader)?;
        let unrolling = key_unrolling(&parameters, reader)?;
        expect_length("the server key", length, server_key_bytes(&parameters, unrolling))?;
        if parameters.torus_bits() == 32 {
            read(parameters, (generation, unrolling), reader).map(Self::Torus32)
        } else {
            read(parameters, (generation, unrolling), reader).map(Self::Torus64)
        }
    }
}

/// Reads the secret bits per iteration, which follow the key generation.
fn key_unrolling(parameters: &Parameters, reader: &mut Reader<'_>) -> Result<KeyUnrolling, FormatError> {
    let mut bits = [0; UNROLLING_BYTES as usize];
    reader.bytes("the key unrolling", &mut bits)?;
    let unrolling = parameters.unrolling(Some(u32::from_le_bytes(bits)));
    unrolling.map_err(|_| FormatError::Content("keys of this parameter set are not made for this key unrolling"))
}

fn server_key_bytes(parameters: &Parameters, unrolling: KeyUnrolling) -> u64 {
    let switch = parameters.key_switch_key_len().unwrap_or(0);
    let circuit = parameters.circuit_key_len();
    let elements = parameters.unrolled_bootstrap_key_len(unrolling) + switch + circuit + parameters.public_zeros_len();
    KeyGeneration::BYTES + UNROLLING_BYTES + elements as u64 * torus_bytes(parameters)
}

/// The payload is the key generation, the key unrolling (four bytes), the mask seed, the bootstrapping bodies, the key-switching and
/// circuit-bootstrapping bodies if the set has them, and the bodies of the public encryptions of zero.
impl Storable for AnyCompressedServerKey {
    type Family = Tfhe;
    const KIND: Kind = Kind::CompressedServerKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        let unrolling = match self {
            Self::Torus32(key) => key.unrolling,
            Self::Torus64(key) => key.unrolling,
        };
        compressed_server_key_bytes(self.parameters(), unrolling)
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        fn write<T: Torus>(key: &CompressedServerKey<T>, sink: &mut Sink<'_>) -> std::io::Result<()> {
            key.generation.write(sink)?;
            sink.bytes(&key.unrolling.bits().to_le_bytes())?;
            sink.bytes(&key.mask_seed.0)?;
            sink.torus(&key.bootstrap_bodies)?;
            key.key_switch_bodies.as_ref().map_or(Ok(()), |bodies| sink.torus(bodies))?;
            sink.torus(&key.circuit_bodies)?;
            sink.torus(&key.zero_bodies)
        }
        match self {
            Self::Torus32(key) => write(key, sink),
            Self::Torus64(key) => write(key, sink),
        }
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        fn read<T: Torus>(
            parameters: Parameters,
            (generation, unrolling): (KeyGeneration, KeyUnrolling),
            reader: &mut Reader<'_>,
        ) -> Result<CompressedServerKey<T>, FormatError> {
            let mut seed = [0; 32];
            reader.bytes("the mask seed", &mut seed)?;
            let (bootstrap, key_switch) = body_lengths(&parameters, unrolling);
            let bootstrap_bodies = reader.torus("the bootstrapping bodies", bootstrap)?;
            let key_switch_bodies =
                key_switch.map(|length| reader.torus("the key-switching bodies", length)).transpose()?;
            let circuit = parameters.circuit_key_rows() * parameters.ring_degree().get();
            let circuit_bodies = reader.torus("the circuit-bootstrapping bodies", circuit)?;
            let zero_bodies = reader.torus("the bodies of zero", parameters.large_lwe_dimension().get())?;
            let mask_seed = MaskSeed(seed);
            Ok(CompressedServerKey {
                parameters,
                generation,
                unrolling,
                mask_seed,
                bootstrap_bodies,
                key_switch_bodies,
                circuit_bodies,
                zero_bodies,
            })
        }
        let generation = KeyGeneration::read(reader)?;
        let unrolling = key_unrolling(&parameters, reader)?;
        expect_length("the compressed server key", length, compressed_server_key_bytes(&parameters, unrolling))?;
        if parameters.torus_bits() == 32 {
            read(parameters, (generation, unrolling), reader).map(Self::Torus32)
        } else {
            read(parameters, (generation, unrolling), reader).map(Self::Torus64)
        }
    }
}

/// Bodies of the bootstrapping and of the key-switching key.
fn body_lengths(parameters: &Parameters, unrolling: KeyUnrolling) -> (usize, Option<usize>) {
    let bootstrap =
        parameters.unrolled_bootstrap_key_len(unrolling) / parameters.glwe_dimension().ciphertext_polynomials();
    let key_switch = parameters.key_switch_key_len().map(|length| length / parameters.lwe_dimension().ciphertext_len());
    (bootstrap, key_switch)
}

fn compressed_server_key_bytes(parameters: &Parameters, unrolling: KeyUnrolling) -> u64 {
    let (bootstrap, key_switch) = body_lengths(parameters, unrolling);
    let circuit = parameters.circuit_key_rows() * parameters.ring_degree().get();
    let bodies = bootstrap + key_switch.unwrap_or(0) + circuit + parameters.large_lwe_dimension().get();
    KeyGeneration::BYTES + UNROLLING_BYTES + 32 + bodies as u64 * torus_bytes(parameters)
}

/// Bytes before the ciphertexts: key generation, port and format.
fn head_bytes(port: &Port) -> u64 {
    KeyGeneration::BYTES + port.bytes() + 1
}

/// The payload is the key generation, the port, the format (one byte) and the ciphertexts: under the small key (0), the large one (1), or
/// compact (2) after their number (four bytes).
impl Storable for AnyCiphertexts {
    type Family = Tfhe;
    const KIND: Kind = Kind::Ciphertexts;

    fn parameters(&self) -> &Parameters {
        match self {
            Self::Torus32(ciphertexts) => &ciphertexts.parameters,
            Self::Torus64(ciphertexts) => &ciphertexts.parameters,
        }
    }

    fn payload_bytes(&self) -> u64 {
        fn bytes<T: Torus>(ciphertexts: &Ciphertexts<T>) -> u64 {
            let count = if ciphertexts.content.code() == COMPACT { 4 } else { 0 };
            head_bytes(&ciphertexts.port) + count + size_of_val(ciphertexts.content.data()) as u64
        }
        match self {
            Self::Torus32(ciphertexts) => bytes(ciphertexts),
            Self::Torus64(ciphertexts) => bytes(ciphertexts),
        }
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        fn write<T: Torus>(ciphertexts: &Ciphertexts<T>, sink: &mut Sink<'_>) -> std::io::Result<()> {
            let content = &ciphertexts.content;
            ciphertexts.generation.write(sink)?;
            ciphertexts.port.write(sink)?;
            sink.bytes(&[content.code()])?;
            if content.code() == COMPACT {
                sink.bytes(&(content.len() as u32).to_le_bytes())?;
            }
            sink.torus(content.data())
        }
        match self {
            Self::Torus32(ciphertexts) => write(ciphertexts, sink),
            Self::Torus64(ciphertexts) => write(ciphertexts, sink),
        }
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        fn content<T: Torus>(
            parameters: &Parameters,
            code: u8,
            (head, bytes): (u64, u64),
            reader: &mut Reader<'_>,
        ) -> Result<Content<T>, FormatError> {
            let kind = match code {
                0 => LweKind::Small,
                1 => LweKind::Large,
                COMPACT => return compact(parameters, bytes, reader),
                _ => return Err(FormatError::Content("the format of the ciphertexts is none of 0, 1 and 2")),
            };
            let dimension = match kind {
                LweKind::Small => parameters.lwe_dimension(),
                LweKind::Large => parameters.large_lwe_dimension(),
            };
            let word = torus_bytes(parameters);
            let each = dimension.ciphertext_len() as u64 * word;
            if !bytes.is_multiple_of(each) {
                let (found, expected) = (head + bytes, head + bytes / each * each);
                return Err(FormatError::Length { what: "the batch of ciphertexts", found, expected });
            }
            let batch = LweBatch::from_data(dimension, reader.torus("the ciphertexts", (bytes / word) as usize)?)
                .map_err(|_| FormatError::Content("not a whole number of ciphertexts"))?;
            Ok(Content::Each { kind, batch })
        }
        fn compact<T: Torus>(
            parameters: &Parameters,
            bytes: u64,
            reader: &mut Reader<'_>,
        ) -> Result<Content<T>, FormatError> {
            let count = reader.u32("the number of ciphertexts")? as usize;
            let elements = CompactBatch::<T>::elements(parameters, count);
            expect_length("the compact ciphertexts", bytes, 4 + elements as u64 * torus_bytes(parameters))?;
            let data = reader.torus("the compact ciphertexts", elements)?;
            let compact = CompactBatch::from_data(parameters, count, data);
            Ok(Content::Compact(compact.ok_or(FormatError::Content("not a whole number of ciphertexts"))?))
        }
        let mut code = [0];
        let generation = KeyGeneration::read(reader)?;
        let port = Port::read(reader)?;
        let head = head_bytes(&port);
        let Some(bytes) = length.checked_sub(head) else {
            return Err(FormatError::Content("the port or the format of the ciphertexts is missing"));
        };
        reader.bytes("the format of the ciphertexts", &mut code)?;
        Ok(if parameters.torus_bits() == 32 {
            let content = content(&parameters, code[0], (head, bytes), reader)?;
            Self::Torus32(Ciphertexts { parameters, generation, port, content })
        } else {
            let content = content(&parameters, code[0], (head, bytes), reader)?;
            Self::Torus64(Ciphertexts { parameters, generation, port, content })
        })
    }
}

/// The payload is the key generation, the seed of the masks, and the bodies.
impl Storable for AnyPublicKey {
    type Family = Tfhe;
    const KIND: Kind = Kind::PublicKey;

    fn parameters(&self) -> &Parameters {
        self.parameters()
    }

    fn payload_bytes(&self) -> u64 {
        public_key_bytes(self.parameters())
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        fn write<T: Torus>(key: &PublicKey<T>, sink: &mut Sink<'_>) -> std::io::Result<()> {
            key.generation.write(sink)?;
            sink.bytes(&key.mask_seed.0)?;
            sink.torus(&key.bodies)
        }
        match self {
            Self::Torus32(key) => write(key, sink),
            Self::Torus64(key) => write(key, sink),
        }
    }

    fn read_payload(parameters: Parameters, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        fn read<T: Torus>(
            parameters: Parameters,
            generation: KeyGeneration,
            reader: &mut Reader<'_>,
        ) -> Result<PublicKey<T>, FormatError> {
            let mut seed = [0; 32];
            reader.bytes("the mask's seed", &mut seed)?;
            let bodies = reader.torus("the public key", parameters.large_lwe_dimension().get())?;
            Ok(PublicKey { parameters, generation, mask_seed: MaskSeed(seed), bodies })
        }
        expect_length("the public key", length, public_key_bytes(&parameters))?;
        let generation = KeyGeneration::read(reader)?;
        if parameters.torus_bits() == 32 {
            read(parameters, generation, reader).map(Self::Torus32)
        } else {
            read(parameters, generation, reader).map(Self::Torus64)
        }
    }
}

fn public_key_bytes(parameters: &Parameters) -> u64 {
    KeyGeneration::BYTES + 32 + parameters.large_lwe_dimension().get() as u64 * torus_bytes(parameters)
}
