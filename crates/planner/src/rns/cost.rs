//! Estimates the CPU time of a CKKS or BGV program before it runs: each kind of work is timed once and multiplied by its count. For the
//! client it times a few switching keys, and encrypting and decrypting zeros.

use super::RnsPlan;
use crate::measure::usual;
use crate::{ClientSeconds, Fault, PlanError};
use polyfabric_kernels::clock::processor_seconds;
use polyfabric_program::rns::signature::{Encoding, Signature, Terminal, WantedKey};
use polyfabric_runtime::rns::cpu::{Effort, Rehearsal};
use polyfabric_schemes::ckks::{CkksCiphertext, Complex};
use polyfabric_schemes::rns::Ciphertext;
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::tfhe::no_progress;
use polyfabric_schemes::{bgv, ckks};
use std::collections::BTreeMap;

/// Number of switching keys to time.
const TIMED_KEYS: usize = 3;

fn internal(error: impl std::fmt::Display) -> PlanError {
    PlanError::new(Fault::Internal, error)
}

/// Seconds of one unit of work; `None` if it does not exist in this ring.
fn of_effort(rehearsal: &mut Rehearsal, effort: Effort) -> Result<f64, PlanError> {
    let mut done = 0;
    let seconds = usual(
        || Ok(()),
        |()| {
            done = rehearsal.run(effort);
            Ok(())
        },
    )?;
    Ok(if done == 0 { 0.0 } else { seconds / done as f64 })
}

/// Seconds of all work, given the time of one unit of each kind.
pub(super) fn seconds_by(
    efforts: &BTreeMap<Effort, u64>,
    mut once: impl FnMut(Effort) -> Result<f64, PlanError>,
) -> Result<f64, PlanError> {
    let mut seconds = 0.0;
    for (&effort, &count) in efforts.iter().filter(|&(_, &count)| count > 0) {
        seconds += count as f64 * once(effort)?;
    }
    Ok(seconds)
}

enum Client {
    Ckks(ckks::ClientKey),
    Bgv(bgv::ClientKey),
}

impl Client {
    fn generate(set: &ParameterSet) -> Result<Self, PlanError> {
        // A party of several does the work of one owner.
        match set {
            ParameterSet::Ckks(set) => {
                let secret = set.secret().of_party();
                let alone = ckks::ParametersLiteral { secret, ..set.literal().clone() };
                let alone = ckks::Parameters::check(&alone).map_err(internal)?;
                let set = if set.secret() == secret { set } else { &alone };
                ckks::ClientKey::generate(set).map(Self::Ckks).map_err(internal)
            }
            ParameterSet::Bgv(set) => {
                let secret = set.literal().secret.of_party();
                let alone = bgv::ParametersLiteral { secret, ..set.literal().clone() };
                let alone = bgv::Parameters::check(&alone).map_err(internal)?;
                let set = if set.literal().secret == secret { set } else { &alone };
                bgv::ClientKey::generate(set).map(Self::Bgv).map_err(internal)
            }
        }
    }

    /// Generates the switching keys `wanted`.
    fn make(&self, wanted: &[&WantedKey]) -> Result<(), PlanError> {
        match self {
            Self::Ckks(client) => {
                let wanted: Vec<_> = wanted.iter().map(|key| (key.id, key.limbs.clone(), key.storage)).collect();
                client.evaluation_keys_over(&wanted, None, &no_progress).map(drop).map_err(internal)
            }
            Self::Bgv(client) => {
                client.switching_keys(wanted.iter().map(|key| key.id), &no_progress).map(drop).map_err(internal)
            }
        }
    }

    /// An encryption of zeros, in the format of an input or output.
    fn zeros(&self, of: &Terminal, slots: usize) -> Result<Ciphertext, PlanError> {
        match (self, of.encoding) {
            (Self::Ckks(client), Encoding::Ckks { level, scale, .. }) => {
                let zeros = vec![Complex::new(0.0, 0.0); slots];
                Ok(client.encrypt_at(&zeros, level, scale).map_err(internal)?.into_ciphertext())
            }
            (Self::Bgv(client), Encoding::Bgv { .. }) => {
                client.encrypt(&vec![0; slots], of.limbs.len()).map_err(internal)
            }
            (Self::Ckks(client), Encoding::Selector {}) => {
                let rows = client.encrypt_selector(false, &of.limbs).map_err(internal)?;
                Ok(Ciphertext::new(rows.polynomials()))
            }
            (Self::Bgv(client), Encoding::Selector {}) => {
                let rows = client.encrypt_selector(false, &of.limbs).map_err(internal)?;
                Ok(Ciphertext::new(rows.polynomials()))
            }
            _ => Err(internal("a signature's encoding is of another scheme than its set")),
        }
    }

    /// Decrypts a result of [`Self::zeros`].
    fn read(&self, of: &Terminal, slots: usize, ciphertext: &Ciphertext) -> Result<(), PlanError> {
        match (self, of.encoding) {
            (Self::Ckks(client), Encoding::Ckks { scale, .. }) => {
                let whole = CkksCiphertext::new(client.parameters(), ciphertext.clone(), scale, slots);
                client.decrypt(&whole.map_err(internal)?).map(drop).map_err(internal)
            }
            (Self::Bgv(client), Encoding::Bgv { factor, .. }) => {
                client.decrypt_within(ciphertext, factor, slots, f64::INFINITY).map(drop).map_err(internal)
            }
            _ => Err(internal("a signature's encoding is of another scheme than its set")),
        }
    }
}

impl RnsPlan {
    /// CPU seconds of an execution on this computer.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program is inconsistent.
    pub fn execution_seconds(&self) -> Result<f64, PlanError> {
        let begin = processor_seconds();
        let efforts = self.efforts()?;
        // An execution orders its steps as the count does, in the same time.
        let mut seconds = processor_seconds() - begin;
        let mut rehearsal = self.rehearsal()?;
        seconds += seconds_by(&efforts, |effort| of_effort(&mut rehearsal, effort))?;
        Ok(seconds)
    }

    /// CPU seconds of a client on this computer.
    ///
    /// # Errors
    /// As [`Self::signature`]; [`Fault::Internal`] if encryption fails.
    pub fn client_seconds(&self) -> Result<ClientSeconds, PlanError> {
        let signature: &Signature = &*self.signature()?;
        let (slots, outputs) = (signature.slots(), signature.terminals(true));
        let client = Client::generate(signature.set())?;
        let mut keys = usual(|| Ok(()), |()| Client::generate(signature.set()).map(drop))?;
        if !signature.keys().is_empty() {
            // An even sample, because keys have different numbers of limbs.
            let step = signature.keys().len().div_ceil(TIMED_KEYS);
            let some: Vec<&WantedKey> = signature.keys().iter().step_by(step).collect();
            let bytes = |key: &WantedKey| self.key_bytes(key.id, key.storage) as f64;
            let share =
                signature.keys().iter().map(bytes).sum::<f64>() / some.iter().map(|key| bytes(key)).sum::<f64>();
            keys += usual(|| Ok(()), |()| client.make(&some))? * share;
        }
        let inputs = signature.terminals(false);
        let encrypt = usual(|| Ok(()), |()| inputs.iter().try_for_each(|input| client.zeros(input, slots).map(drop)))?;
        let results = outputs.iter().map(|output| client.zeros(output, slots)).collect::<Result<Vec<_>, _>>()?;
        let read = || outputs.iter().zip(&results).try_for_each(|(output, result)| client.read(output, slots, result));
        let decrypt = usual(|| Ok(()), |()| read())?;
        Ok(ClientSeconds { keys, encrypt, decrypt })
    }
}
