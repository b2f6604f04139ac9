//! Encryption of a program's inputs, and decryption of its outputs.

use super::{Ciphertexts, Origin, PublicKey, SecretKey, foreign, run_failure};
use crate::failure::{Failure, Kind};
use polyfabric_program::rns::homomorphic::{Complex, OBSERVED, Values, centred};
use polyfabric_program::rns::signature::{Encoding, Signature, Terminal};
use polyfabric_schemes::ckks;
use polyfabric_schemes::ckks::CkksCiphertext;
use polyfabric_schemes::gsw::GswCiphertext;
use polyfabric_schemes::rns::{Ciphertext, LimbId, RnsPolynomial};
use polyfabric_schemes::set_file::ParameterSet;
use std::collections::{BTreeMap, HashMap};

fn missing(name: &str) -> Failure {
    Failure::new(Kind::Input, format!("input {name:?} is missing"))
}

/// An encrypted input.
pub enum Encrypted {
    Vector(Ciphertext),
    Selector(GswCiphertext),
}

impl Encrypted {
    pub fn into_polynomials(self) -> Vec<RnsPolynomial> {
        match self {
            Self::Vector(ciphertext) => ciphertext.parts,
            Self::Selector(ciphertext) => ciphertext.polynomials(),
        }
    }
}

/// The secret or the public key, for encryption.
pub trait Encrypter {
    fn ckks(&self, values: &[ckks::Complex], level: usize, scale: f64) -> Result<Ciphertext, Failure>;
    fn bgv(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, Failure>;
    fn selector(&self, name: &str, bit: bool, limbs: &[LimbId]) -> Result<GswCiphertext, Failure>;
}

impl Encrypter for SecretKey {
    fn ckks(&self, values: &[ckks::Complex], level: usize, scale: f64) -> Result<Ciphertext, Failure> {
        let Self::Ckks(key) = self else { return Err(foreign()) };
        Ok(key.encrypt_at(values, level, scale).map_err(run_failure)?.into_ciphertext())
    }

    fn bgv(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, Failure> {
        let Self::Bgv(key) = self else { return Err(foreign()) };
        key.encrypt(values, limbs).map_err(run_failure)
    }

    fn selector(&self, _: &str, bit: bool, limbs: &[LimbId]) -> Result<GswCiphertext, Failure> {
        match self {
            Self::Ckks(key) => key.encrypt_selector(bit, limbs).map_err(run_failure),
            Self::Bgv(key) => key.encrypt_selector(bit, limbs).map_err(run_failure),
        }
    }
}

impl Encrypter for PublicKey {
    fn ckks(&self, values: &[ckks::Complex], level: usize, scale: f64) -> Result<Ciphertext, Failure> {
        let Self::Ckks(key) = self else { return Err(foreign()) };
        Ok(key.encrypt_at(values, level, scale).map_err(run_failure)?.into_ciphertext())
    }

    fn bgv(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, Failure> {
        let Self::Bgv(key) = self else { return Err(foreign()) };
        key.encrypt(values, limbs).map_err(run_failure)
    }

    fn selector(&self, name: &str, _: bool, _: &[LimbId]) -> Result<GswCiphertext, Failure> {
        let message = format!(
            "input {name:?} is a selector, which the public key cannot encrypt: it has no limbs of P; encrypt it with the client's key"
        );
        Err(Failure::new(Kind::Input, message))
    }
}

/// `values` for all slots; a single value is repeated.
fn spread<T: Clone>(mut values: Vec<T>, slots: usize) -> Vec<T> {
    if let [value] = &values[..] {
        values = vec![value.clone(); slots];
    }
    values
}

/// Encodes and encrypts the input `name` in the format that the program reads.
pub fn encrypt_one(
    key: &impl Encrypter,
    signature: &Signature,
    name: &str,
    values: &Values,
) -> Result<Encrypted, Failure> {
    let slots = signature.slots();
    let terminal = signature.terminal(false, name).ok_or_else(|| missing(name))?;
    match (signature.set(), terminal.encoding, values) {
        (ParameterSet::Ckks(_), Encoding::Ckks { level, scale, .. }, Values::Complex(values)) => {
            let values = values.iter().map(|value| ckks::Complex::new(value.re, value.im)).collect();
            key.ckks(&spread(values, slots), level, scale).map(Encrypted::Vector)
        }
        (ParameterSet::Bgv(set), Encoding::Bgv { .. }, Values::Integer(values)) => {
            let t = set.plaintext_modulus().modulus();
            let values = values.iter().map(|&value| t.reduce_signed(value)).collect();
            key.bgv(&spread(values, slots), terminal.limbs.len()).map(Encrypted::Vector)
        }
        (_, Encoding::Selector {}, values) => {
            let found = format!("input {name:?} is a selector; give one bit, 0 or 1");
            let bit = values.bit().ok_or_else(|| Failure::new(Kind::Input, found))?;
            key.selector(name, bit, &terminal.limbs).map(Encrypted::Selector)
        }
        _ => Err(missing(name)),
    }
}

/// Encrypts a program's inputs with a key of `origin`.
pub fn encrypt(
    key: &impl Encrypter,
    origin: &Origin,
    signature: &Signature,
    inputs: &HashMap<String, Values>,
) -> Result<Ciphertexts, Failure> {
    origin.expect_set(signature.set())?;
    let origin = Origin { name: "the inputs".to_owned(), ..origin.clone() };
    Ok(Ciphertexts { polynomials: encrypt_all(key, signature, inputs)?, origin })
}

/// One ciphertext per input, with parts in the order of the kernel program's inputs.
fn encrypt_all(
    key: &impl Encrypter,
    signature: &Signature,
    inputs: &HashMap<String, Values>,
) -> Result<Vec<RnsPolynomial>, Failure> {
    let mut polynomials = Vec::new();
    for terminal in signature.terminals(false) {
        let name = &terminal.name;
        let values = inputs.get(name).ok_or_else(|| missing(name))?;
        let parts = encrypt_one(key, signature, name, values)?.into_polynomials();
        if parts.len() != terminal.parts {
            return Err(missing(name));
        }
        polynomials.extend(parts);
    }
    Ok(polynomials)
}

/// The parts of each output, by ascending power of the secret.
pub fn gathered(signature: &Signature, polynomials: &[RnsPolynomial]) -> Result<Vec<Ciphertext>, Failure> {
    let terminals = signature.terminals(true);
    let needed: usize = terminals.iter().map(|terminal| terminal.parts).sum();
    if polynomials.len() != needed {
        let given = polynomials.len();
        let message = format!("{given} polynomials, but the program has {needed} outputs; give those of one execution");
        return Err(Failure::new(Kind::Input, message));
    }
    let mut rest = polynomials;
    let ciphertext = |terminal: &Terminal| {
        let (own, behind) = rest.split_at(terminal.parts);
        rest = behind;
        Ciphertext::new(own.to_vec())
    };
    Ok(terminals.iter().map(ciphertext).collect())
}

/// Adds the name of an output to an error.
pub fn of_output<E: std::fmt::Display>(name: &str) -> impl Fn(E) -> Failure {
    move |error| run_failure(format!("output {name:?}: {error}"))
}

/// The recipient of a decryption.
pub enum Reader {
    /// Only the client.
    Own,
    /// Others too; noise of `deviation` is added in every slot unless it is 0.
    Others {
        deviation: f64,
        /// Warnings for the client.
        warnings: Vec<String>,
    },
}

impl Reader {
    fn decrypt(
        &mut self,
        client: &ckks::ClientKey,
        ciphertext: &CkksCiphertext,
        expected: &ckks::Expected,
    ) -> Result<Vec<ckks::Complex>, ckks::ClientError> {
        let Self::Others { deviation, warnings } = self else { return client.decrypt_expected(ciphertext, expected) };
        // Two coefficients per slot add up in each slot.
        let coefficient = *deviation * ciphertext.scale() / (2.0 * ciphertext.slots() as f64).sqrt();
        let flooding = (*deviation != 0.0).then(|| coefficient.log2());
        let shared = client.decrypt_to_share(ciphertext, flooding, Some(expected))?;
        warnings.push(shared.warning);
        Ok(shared.values)
    }
}

/// Decrypts and decodes a program's outputs with the key `client` of `origin`, all slots of each. CKKS outputs named in `real` must be real.
/// Rejects values that no execution produces; without `real`, which is for measuring errors, accepts all.
pub fn decrypt(
    client: &SecretKey,
    origin: &Origin,
    signature: &Signature,
    outputs: &Ciphertexts,
    real: Option<&[String]>,
    reader: &mut Reader,
) -> Result<BTreeMap<String, Values>, Failure> {
    origin.expect_set(signature.set())?;
    origin.expect(&outputs.origin)?;
    let slots = signature.slots();
    let mut values = BTreeMap::new();
    for (terminal, ciphertext) in signature.terminals(true).iter().zip(gathered(signature, &outputs.polynomials)?) {
        let name = &terminal.name;
        let found = match (client, terminal.encoding) {
            (SecretKey::Ckks(client), Encoding::Ckks { scale, magnitude, error, .. }) => {
                let ciphertext = CkksCiphertext::new(client.parameters(), ciphertext, scale, slots);
                let ciphertext = ciphertext.map_err(run_failure)?;
                // Observed nodes are only for measurements.
                let own = &mut Reader::Own;
                let reader = if name.starts_with(OBSERVED) { own } else { &mut *reader };
                let decrypted = match real {
                    Some(real) => {
                        let expected = ckks::Expected { magnitude, error, real: real.contains(name) };
                        reader.decrypt(client, &ciphertext, &expected)
                    }
                    None => client.decrypt(&ciphertext),
                };
                let decrypted = decrypted.map_err(of_output(name))?;
                Values::Complex(decrypted.iter().map(|value| Complex::new(value.re, value.im)).collect())
            }
            (SecretKey::Bgv(client), Encoding::Bgv { factor, log2_phase }) => {
                let t = client.parameters().plaintext_modulus().value();
                let bound = if real.is_some() { log2_phase } else { f64::INFINITY };
                let decrypted = client.decrypt_within(&ciphertext, factor, slots, bound);
                let decrypted = decrypted.map_err(of_output(name))?;
                Values::Integer(decrypted.iter().map(|&value| centred(value, t)).collect())
            }
            _ => return Err(foreign()),
        };
        values.insert(name.clone(), found);
    }
    Ok(values)
}
