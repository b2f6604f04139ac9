//! Bootstrapping of all slots, at one of two operating points.

use super::{OursError, Prepared};
use crate::protocol::Answer;
use polyfabric_program::rns::approximation::modular_reduction::{Nodes, ReductionLiteral};
use polyfabric_program::rns::kernel::{Conversion, KernelProgram};
use polyfabric_program::rns::lowering::bootstrap::{
    Bootstrapping, BootstrappingLiteral, BootstrappingOrder, BootstrappingSecret,
};
use polyfabric_program::rns::lowering::{Hoisting, Lowering, RnsLowering};
use polyfabric_program::rns::parameters;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::ckks::{CkksCiphertext, ClientKey, Complex, Parameters, ParametersLiteral};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::key_maker::KeyRequest;
use polyfabric_schemes::rns::{Ciphertext, Gadget, GadgetLiteral, KeyId, KeySet, KeyStorage, LimbId, RnsPolynomial};
use rand::Rng;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Weight of the secret and of the sparse ephemeral one, as in the peer's set.
const WEIGHTS: (usize, usize) = (192, 32);
const SCALE_LOG2: i32 = 40;

/// Bits of the primes of each level, by phase from the bottom: residual, slots to coefficients, modular reduction,
/// coefficients to slots. All primes are below 2^50; two of 37 bits in one level carry its scale together.
const RESIDUAL: &[&[u32]] = &[&[48], &[40], &[40], &[40], &[40], &[40], &[40], &[40], &[40], &[40]];
const TO_COEFFICIENTS: &[&[u32]] = &[&[41], &[41], &[41]];
const REDUCTION: &[&[u32]] = &[&[49], &[37, 37], &[49], &[37, 37], &[49], &[37, 37], &[49], &[37, 37]];
const TO_SLOTS: &[&[u32]] = &[&[35, 35], &[49], &[49], &[49]];
const SPECIAL: &[u32] = &[47; 6];
const DIGIT_LIMBS: usize = 6;

struct Bootstrap {
    client: ClientKey,
    kernel: KernelProgram,
    keys: KeySet,
    options: ExecutorOptions,
    input_scale: f64,
    output_scale: f64,
    levels_left: usize,
}

fn links(levels: &[&[u32]]) -> Vec<serde_json::Value> {
    let link = |level: &&[u32]| match **level {
        [bits] => json!({ "bits": bits, "count": 1 }),
        _ => json!({ "pair_bits": level.iter().sum::<u32>(), "count": 1 }),
    };
    levels.iter().map(link).collect()
}

/// The set: as secure as the peer's, with its levels left.
fn set() -> Result<Parameters, OursError> {
    let q: Vec<_> = [RESIDUAL, TO_COEFFICIENTS, REDUCTION, TO_SLOTS].iter().flat_map(|phase| links(phase)).collect();
    let literal: ParametersLiteral = serde_json::from_value(json!({
        "name": "bench-bootstrapping",
        "ring_degree": 1 << 16,
        "q": q,
        "p": [{ "bits": SPECIAL[0], "count": SPECIAL.len() }],
        "gadget": { "hybrid": { "digit_limbs": DIGIT_LIMBS } },
        "scale_log2": SCALE_LOG2,
        "secret": { "sparse-ternary": WEIGHTS.0 },
        "ephemeral_weight": WEIGHTS.1,
        "noise_std": 3.2,
    }))
    .map_err(|error| OursError::Set(error.to_string()))?;
    Ok(Parameters::check(&literal)?)
}

/// Keys of the operating point: "fast", or "compact" with half of every key drawn from its seed at each use and public
/// vectors transformed at each use.
pub fn prepare(point: &str) -> Result<(Box<dyn Prepared>, Answer), OursError> {
    let compact = point == "compact";
    let parameters = set()?;
    let client = ClientKey::generate(&parameters)?;
    let chain = parameters::chain(&parameters)?;
    let choice =
        RnsLowering { hoisting: Hoisting::Double, conversion: Conversion::Centred, ..parameters::choice(&parameters) };
    let first_special = parameters.q_limbs() as u16;
    let ratio = f64::from(SCALE_LOG2 - RESIDUAL[0].iter().sum::<u32>() as i32).exp2();
    let literal = BootstrappingLiteral {
        order: BootstrappingOrder::Full,
        slots: parameters.max_slots(),
        secret: BootstrappingSecret::Encapsulated {
            hamming_weight: WEIGHTS.1,
            special: vec![LimbId(first_special), LimbId(first_special + 1)],
        },
        coefficients_to_slots: TO_SLOTS.len(),
        slots_to_coefficients: TO_COEFFICIENTS.len(),
        reduction: ReductionLiteral {
            range: 17,
            degree: 30,
            doublings: 3,
            nodes: Nodes::Integers { radius: ratio, hamming_weight: WEIGHTS.1, floor_log2: -24.0 },
            arcsine_degree: 0,
            largest_message: ratio,
        },
    };
    let plan = Bootstrapping::new(literal, &chain, &choice).map_err(|error| OursError::Set(error.to_string()))?;
    let encoder = parameters::SlotEncoder(client.encoder());
    let mut lowering = Lowering::new("bootstrap", &chain, choice, parameters::model(&parameters), &encoder)?;
    let exhausted = lowering.input("x", 0, 1.0)?;
    let fresh = lowering.bootstrap(&exhausted, &plan)?;
    lowering.output("y", &fresh);
    let kernel = lowering.finish()?;
    let storage = KeyStorage { seeded: compact, ..KeyStorage::WORDS };
    let requests = requests(&client, &kernel, &plan)?;
    let keys = client.key_maker().key_set(&requests, storage, &no_progress)?;
    let answer = Answer {
        log_q: parameters.log2_q(parameters.max_level()),
        log_p: parameters.log2_p(),
        digits: parameters.gadget().digits().len(),
        ..Answer::default()
    };
    let options = ExecutorOptions { compact_plaintexts: compact, ..ExecutorOptions::default() };
    let (input_scale, output_scale) = (exhausted.scale.real(), fresh.scale.real());
    let levels_left = fresh.level;
    Ok((Box::new(Bootstrap { client, kernel, keys, options, input_scale, output_scale, levels_left }), answer))
}

/// The keys that the program reads, each with the limbs that it reads.
fn requests(client: &ClientKey, kernel: &KernelProgram, plan: &Bootstrapping) -> Result<Vec<KeyRequest>, OursError> {
    let whole = client.parameters().gadget().literal();
    let mut gadgets: HashMap<GadgetLiteral, Arc<Gadget>> = HashMap::new();
    let mut requests = Vec::new();
    for (id, used) in kernel.keys() {
        let mut literal = whole.clone();
        match (id, plan.encapsulation()) {
            (KeyId::Encapsulate, Some(encapsulation)) => literal = encapsulation.clone(),
            _ => {
                literal.digits.iter_mut().for_each(|digit| digit.retain(|&limb| used.limbs.contains(limb)));
                literal.digits.retain(|digit| !digit.is_empty());
            }
        }
        let gadget = match gadgets.get(&literal) {
            Some(gadget) => Arc::clone(gadget),
            None => Arc::new(Gadget::new(client.ring(), literal.clone())?),
        };
        gadgets.insert(literal, Arc::clone(&gadget));
        requests.push((id, gadget));
    }
    Ok(requests)
}

impl Prepared for Bootstrap {
    fn measure(&mut self, _: &str, repetitions: usize) -> Result<Answer, OursError> {
        let executor = Executor::with_options(&self.kernel, &self.keys, self.options)?;
        let parameters = self.client.parameters();
        let mut random = rand::rng();
        let mut value = || random.random_range(-1.0..1.0);
        let values: Vec<_> = (0..parameters.max_slots()).map(|_| Complex::new(value(), value())).collect();
        let input = self.client.encrypt_at(&values, 0, self.input_scale)?.into_ciphertext();
        let parts: Vec<&RnsPolynomial> =
            self.kernel.inputs().map(|(_, part, _, _)| &input.parts[usize::from(part)]).collect();
        let mut outputs = executor.outputs();
        let mut ms = Vec::new();
        // One bootstrapping takes long enough to need no warming up.
        for _ in 0..repetitions {
            let start = Instant::now();
            executor.run_into(&parts, &mut outputs, &NoProgress)?;
            ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let result = CkksCiphertext::new(parameters, Ciphertext::new(outputs), self.output_scale, values.len())?;
        let found = self.client.decrypt(&result)?;
        let parts = found.iter().zip(&values).flat_map(|(a, b)| [a.re - b.re, a.im - b.im]);
        let errors: Vec<f64> = parts.map(|part| part.abs().max(f64::exp2(-60.0))).collect();
        let error = errors.iter().copied().fold(0.0, f64::max);
        let mean = -errors.iter().map(|error| error.log2()).sum::<f64>() / errors.len() as f64;
        let levels_left = self.levels_left;
        Ok(Answer { ms, error, precision_min: -error.log2(), precision_mean: mean, levels_left, ..Answer::default() })
    }
}
