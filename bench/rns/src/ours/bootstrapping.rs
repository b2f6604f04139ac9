//! Bootstrapping of all slots, at one of three operating points.

use super::{OnCard, OursError, Place, Prepared};
use crate::protocol::Answer;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::Lowering;
use polyfabric_program::rns::noise::Encryption;
use polyfabric_program::rns::parameters;
use polyfabric_runtime::rns::cpu::ExecutorOptions;
use polyfabric_runtime::rns::key_storage;
use polyfabric_schemes::ckks::{CkksCiphertext, ClientKey, Complex, sets};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, KeyId, KeySet, KeyStorage, LimbId, RnsPolynomial};
use rand::Rng;

/// Data that is derived at each use instead of stored.
struct Point {
    /// Memory for all keys, as a multiple of their bodies; the masks that are read most are stored within it.
    keys: f64,
    /// Whether public vectors are transformed at each use.
    compact_plaintexts: bool,
}

impl Point {
    fn of(op: &str) -> Option<Self> {
        let (keys, compact_plaintexts) = match op {
            "bootstrap" => (2.0, false),
            "bootstrap half" => (1.5, false),
            "bootstrap compact" => (1.0, true),
            _ => return None,
        };
        Some(Self { keys, compact_plaintexts })
    }
}

struct Bootstrap {
    client: ClientKey,
    kernel: KernelProgram,
    keys: KeySet,
    options: ExecutorOptions,
    input_scale: f64,
    output_scale: f64,
    levels_left: usize,
}

/// Keys of `set` for the operating point named `op`.
pub fn prepare(set: &str, op: &str) -> Result<(Box<dyn Prepared>, Answer), OursError> {
    let point = Point::of(op).ok_or_else(|| OursError::UnknownOp { op: op.to_owned(), scheme: "bootstrapping" })?;
    let parameters = sets::parameters(set)?;
    let client = ClientKey::generate(&parameters)?;
    let chain = parameters::chain(&parameters)?;
    let choice = parameters::choice(&parameters);
    let plan = parameters::bootstrapping(&parameters, &chain, &choice, parameters.max_slots())?
        .ok_or_else(|| OursError::NoBootstrapping { set: set.to_owned() })?;
    let encoder = parameters::SlotEncoder(client.encoder());
    let mut lowering =
        Lowering::new("bootstrap", &chain, choice, parameters::model(&parameters, Encryption::Secret), &encoder)?;
    let exhausted = lowering.input("x", 0, 1.0)?;
    let fresh = lowering.bootstrap(&exhausted, &plan)?;
    lowering.output("y", &fresh);
    let kernel = lowering.finish()?;
    let used = kernel.keys();
    let limbs = |id: KeyId| used[&id].limbs.iter().collect::<Vec<LimbId>>();
    let bytes = |id: KeyId, storage: KeyStorage| {
        storage.key_bytes_of(parameters.ring_degree(), parameters.moduli(), &parameters.gadget_over(id, &limbs(id)))
    };
    let bodies: usize = used.keys().map(|&id| bytes(id, KeyStorage { seeded: true, ..KeyStorage::BYTES })).sum();
    let storage = key_storage(&used, (point.keys * bodies as f64) as usize, bytes);
    let wanted: Vec<_> = storage.into_iter().map(|(id, storage)| (id, limbs(id), storage)).collect();
    let keys = client.evaluation_keys_over(&wanted, None, &no_progress)?;
    let answer = Answer {
        log_q: parameters.log2_q(parameters.max_level()),
        log_p: parameters.log2_p(),
        digits: parameters.gadget().digits().len(),
        ..Answer::default()
    };
    let options = ExecutorOptions { compact_plaintexts: point.compact_plaintexts, ..ExecutorOptions::default() };
    let (input_scale, output_scale) = (exhausted.scale.real(), fresh.scale.real());
    let levels_left = fresh.level;
    Ok((Box::new(Bootstrap { client, kernel, keys, options, input_scale, output_scale, levels_left }), answer))
}

impl Prepared for Bootstrap {
    fn measure(&mut self, _: &str, repetitions: usize, place: &Place) -> Result<Answer, OursError> {
        let mut ready = place.prepare(&self.kernel, &self.keys, self.options)?;
        let parameters = self.client.parameters();
        let mut random = rand::rng();
        let mut value = || random.random_range(-1.0..1.0);
        let values: Vec<_> = (0..parameters.max_slots()).map(|_| Complex::new(value(), value())).collect();
        let input = self.client.encrypt_at(&values, 0, self.input_scale)?.into_ciphertext();
        let parts: Vec<&RnsPolynomial> =
            self.kernel.inputs().map(|(_, part, _, _)| &input.parts[usize::from(part)]).collect();
        // One bootstrapping is long enough on a processor to need no warm-up.
        if let Place::Card { .. } = place {
            ready.run(&parts)?;
        }
        let ms = (0..repetitions).map(|_| ready.run(&parts)).collect::<Result<_, _>>()?;
        let (work, card) = (ready.work(&self.keys, &parts, self.options)?, ready.on_card(&parts)?.map(OnCard::from));
        let outputs = ready.into_outputs();
        let result = CkksCiphertext::new(parameters, Ciphertext::new(outputs), self.output_scale, values.len())?;
        let found = self.client.decrypt(&result)?;
        let parts = found.iter().zip(&values).flat_map(|(a, b)| [a.re - b.re, a.im - b.im]);
        let errors: Vec<f64> = parts.map(|part| part.abs().max(f64::exp2(-60.0))).collect();
        let error = errors.iter().copied().fold(0.0, f64::max);
        let mean = -errors.iter().map(|error| error.log2()).sum::<f64>() / errors.len() as f64;
        let levels_left = self.levels_left;
        let precision_min = -error.log2();
        Ok(Answer { ms, error, precision_min, precision_mean: mean, levels_left, work, card, ..Answer::default() })
    }
}
