//! What a run of a program of CKKS or BGV takes of this computer's processors, told before it runs: of each kind of work that its steps are, as often
//! as it occurs; and of its client's a few switching keys, and zeros encrypted and decrypted as its inputs and outputs are.

use super::SlotPlan;
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

/// Switching keys that are made to time all of a program.
const TIMED_KEYS: usize = 3;

fn internal(error: impl std::fmt::Display) -> PlanError {
    PlanError::new(Fault::Internal, error)
}

/// Seconds that work of a kind takes, once; none, if the ring has none of it.
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

/// Seconds that all work takes, by what each kind that occurs takes once.
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

/// A client of either scheme.
enum Client {
    Ckks(ckks::ClientKey),
    Bgv(bgv::ClientKey),
}

impl Client {
    fn generate(set: &ParameterSet) -> Result<Self, PlanError> {
        match set {
            ParameterSet::Ckks(set) => ckks::ClientKey::generate(set).map(Self::Ckks).map_err(internal),
            ParameterSet::Bgv(set) => bgv::ClientKey::generate(set).map(Self::Bgv).map_err(internal),
        }
    }

    /// Makes the switching keys `wanted`.
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

    /// Zeros in all slots, as an input or an output has them.
    fn zeros(&self, of: &Terminal, slots: usize) -> Result<Ciphertext, PlanError> {
        match (self, of.encoding) {
            (Self::Ckks(client), Encoding::Ckks { level, scale, .. }) => {
                let zeros = vec![Complex::new(0.0, 0.0); slots];
                Ok(client.encrypt_at(&zeros, level, scale).map_err(internal)?.into_ciphertext())
            }
            (Self::Bgv(client), Encoding::Bgv { .. }) => {
                client.encrypt(&vec![0; slots], of.limbs.len()).map_err(internal)
            }
            _ => Err(internal("a signature's encoding is of another scheme than its set")),
        }
    }

    /// Decrypts what [`Self::zeros`] gave of the same output.
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

impl SlotPlan {
    /// Seconds of processor time that an execution here takes.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program is not consistent.
    pub fn execution_seconds(&self) -> Result<f64, PlanError> {
        let begin = processor_seconds();
        let efforts = self.efforts()?;
        // An execution finds its steps and their order as the count does.
        let mut seconds = processor_seconds() - begin;
        let mut rehearsal = self.rehearsal()?;
        seconds += seconds_by(&efforts, |effort| of_effort(&mut rehearsal, effort))?;
        Ok(seconds)
    }

    /// Seconds of processor time that a client takes here.
    ///
    /// # Errors
    /// As [`Self::signature`]; [`Fault::Internal`] if nothing can be encrypted so.
    pub fn client_seconds(&self) -> Result<ClientSeconds, PlanError> {
        let signature: &Signature = &*self.signature()?;
        let (slots, outputs) = (signature.slots(), signature.terminals(true));
        let client = Client::generate(signature.set())?;
        let mut keys = usual(|| Ok(()), |()| Client::generate(signature.set()).map(drop))?;
        if !signature.keys().is_empty() {
            // Evenly from all, which are over more limbs and over fewer.
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
