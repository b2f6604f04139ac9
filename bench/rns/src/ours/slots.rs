//! CKKS and BGV operations, each as a separate lowered kernel program at the top level, as the peers are measured.

use super::{OnCard, OursError, Place, Prepared};
use crate::protocol::{Answer, Work};
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::homomorphic::{Complex, Values};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::levels::{Chain, Scale};
use polyfabric_program::rns::lowering::{
    CiphertextValue, Lowering, PlaintextEncoder, RnsLowering, bgv as bgv_lowering,
};
use polyfabric_program::rns::noise::{Encryption, NoiseModel};
use polyfabric_program::rns::parameters;
use polyfabric_runtime::rns::cpu::ExecutorOptions;
use polyfabric_schemes::ckks::CkksCiphertext;
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, KeyId, KeySet, KeyStorage, RnsPolynomial};
use polyfabric_schemes::{bgv, ckks};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// One operation: its kernel program, and the scale of its results.
struct Operation {
    kernel: KernelProgram,
    scale: Scale,
}

type Operations = BTreeMap<&'static str, Operation>;

/// Inputs for the lowering of an operation of either scheme.
struct World<'a> {
    chain: &'a Chain,
    choice: RnsLowering,
    model: NoiseModel,
    encoder: &'a dyn PlaintextEncoder,
}

impl World<'_> {
    /// The program that `build` makes from inputs `x` and `y` at the top level; its last result is checked.
    fn operation(
        &self,
        name: &str,
        build: impl FnOnce(
            &mut Lowering<'_>,
            &CiphertextValue,
            &CiphertextValue,
        ) -> polyfabric_program::rns::lowering::Result<Vec<CiphertextValue>>,
    ) -> Result<Operation, OursError> {
        let mut lowering = Lowering::new(name, self.chain, self.choice.clone(), self.model, self.encoder)?;
        let top = self.chain.top();
        let (x, y) = (lowering.input("x", top, 1.0)?, lowering.input("y", top, 1.0)?);
        let results = build(&mut lowering, &x, &y)?;
        for (index, result) in results.iter().enumerate() {
            lowering.output(&format!("result{index}"), result);
        }
        let scale = results.last().map_or(x.scale, |result| result.scale);
        Ok(Operation { kernel: lowering.finish()?, scale })
    }

    /// Operations of both schemes: one rotation, and all rotations of one ciphertext.
    fn rotations(&self, rotations: &[i64]) -> Result<Operations, OursError> {
        let first = rotations.first().copied().unwrap_or(1);
        let rotate = self.operation("rotate", |lowering, x, _| Ok(vec![lowering.rotate(x, first)?]))?;
        let hoisted = self.operation("rotate hoisted", |lowering, x, _| {
            rotations.iter().map(|&steps| lowering.rotate(x, steps)).collect()
        })?;
        Ok(BTreeMap::from([("rotate", rotate), ("rotate hoisted", hoisted)]))
    }
}

fn keys_of(operations: &Operations) -> Vec<KeyId> {
    let ids: BTreeSet<KeyId> = operations.values().flat_map(|operation| operation.kernel.keys().into_keys()).collect();
    ids.into_iter().collect()
}

/// Result of one operation: its times, both parts of its last output, and its work.
struct Measured {
    ms: Vec<f64>,
    result: Ciphertext,
    work: Option<Work>,
    card: Option<OnCard>,
}

/// Runs one operation, after one warm-up run.
fn measured(
    operation: &Operation,
    keys: &KeySet,
    x: &Ciphertext,
    y: &Ciphertext,
    repetitions: usize,
    place: &Place,
) -> Result<Measured, OursError> {
    let mut ready = place.prepare(&operation.kernel, keys, ExecutorOptions::default())?;
    let inputs: Vec<&RnsPolynomial> = operation
        .kernel
        .inputs()
        .map(|(name, part, _, _)| if name == "x" { &x.parts[usize::from(part)] } else { &y.parts[usize::from(part)] })
        .collect();
    ready.run(&inputs)?;
    let ms = (0..repetitions).map(|_| ready.run(&inputs)).collect::<Result<_, _>>()?;
    let (work, card) =
        (ready.work(keys, &inputs, ExecutorOptions::default())?, ready.on_card(&inputs)?.map(OnCard::from));
    let mut outputs = ready.into_outputs();
    Ok(Measured { ms, result: Ciphertext::new(outputs.split_off(outputs.len() - 2)), work, card })
}

// -- CKKS ---------------------------------------------------------------------------------------------------------------

struct CkksSide {
    client: ckks::ClientKey,
    keys: KeySet,
    operations: Operations,
    rotations: Vec<i64>,
    values: [Vec<Complex>; 2],
    ciphertexts: [Ciphertext; 2],
}

/// Keys and inputs of the CKKS set named `set`.
pub fn ckks(set: &str, rotations: &[i64]) -> Result<(Box<dyn Prepared>, Answer), OursError> {
    let parameters = ckks::sets::parameters(set)?;
    let client = ckks::ClientKey::generate(&parameters)?;
    let chain = parameters::chain(&parameters)?;
    let encoder = parameters::SlotEncoder(client.encoder());
    let model = parameters::model(&parameters, Encryption::Secret);
    let world = World { chain: &chain, choice: parameters::choice(&parameters), model, encoder: &encoder };
    let mut random = rand::rng();
    let values = [(); 2].map(|()| {
        let mut value = || random.random_range(-1.0..1.0);
        (0..parameters.max_slots()).map(|_| Complex::new(value(), value())).collect::<Vec<_>>()
    });
    let mut operations = world.rotations(rotations)?;
    let multiply = |lowering: &mut Lowering<'_>, x: &CiphertextValue, y: &CiphertextValue| {
        let product = lowering.multiply(x, y)?;
        Ok(vec![lowering.relinearise_and_rescale(&product)?])
    };
    operations.insert("multiply", world.operation("multiply", multiply)?);
    let public = Values::Complex(values[1].clone().into());
    let plain = world.operation("multiply plain", |lowering, x, _| Ok(vec![lowering.multiply_plain(x, &public)?]))?;
    operations.insert("multiply plain", plain);
    let keys = client.evaluation_keys(&keys_of(&operations), KeyStorage::BYTES, None, &no_progress)?;
    let encrypt = |values: &Vec<Complex>| {
        let values: Vec<_> = values.iter().map(|value| ckks::Complex::new(value.re, value.im)).collect();
        client.encrypt_at(&values, chain.top(), chain.scale(chain.top()).real()).map(CkksCiphertext::into_ciphertext)
    };
    let ciphertexts = [encrypt(&values[0])?, encrypt(&values[1])?];
    let answer = Answer {
        log_q: parameters.log2_q(parameters.max_level()),
        log_p: parameters.log2_p(),
        digits: parameters.gadget().digits().len(),
        ..Answer::default()
    };
    let rotations = rotations.to_vec();
    Ok((Box::new(CkksSide { client, keys, operations, rotations, values, ciphertexts }), answer))
}

impl Prepared for CkksSide {
    fn measure(&mut self, op: &str, repetitions: usize, place: &Place) -> Result<Answer, OursError> {
        let unknown = || OursError::UnknownOp { op: op.to_owned(), scheme: "CKKS" };
        let operation = self.operations.get(op).ok_or_else(unknown)?;
        let [x, y] = &self.ciphertexts;
        let Measured { ms, result, work, card } = measured(operation, &self.keys, x, y, repetitions, place)?;
        let parameters = self.client.parameters();
        let result = CkksCiphertext::new(parameters, result, operation.scale.real(), parameters.max_slots())?;
        let found = self.client.decrypt(&result)?;
        let [x, y] = &self.values;
        let by = rotation_of(op, &self.rotations).rem_euclid(x.len() as i64) as usize;
        let expected = |slot: usize| match op {
            "multiply" | "multiply plain" => x[slot] * y[slot],
            _ => x[(slot + by) % x.len()],
        };
        let off = |(slot, value): (usize, &ckks::Complex)| (Complex::new(value.re, value.im) - expected(slot)).abs();
        let error = found.iter().enumerate().map(off).fold(0.0, f64::max);
        Ok(Answer { ms, error, work, card, ..Answer::default() })
    }
}

/// The rotation whose result is checked.
fn rotation_of(op: &str, rotations: &[i64]) -> i64 {
    let checked = if op == "rotate hoisted" { rotations.last() } else { rotations.first() };
    checked.copied().unwrap_or(1)
}

// -- BGV ----------------------------------------------------------------------------------------------------------------

struct BgvSide {
    client: bgv::ClientKey,
    keys: KeySet,
    operations: Operations,
    rotations: Vec<i64>,
    t: Modulus,
    values: [Vec<u64>; 2],
    ciphertexts: [Ciphertext; 2],
}

/// Keys and inputs of the BGV set named `set`.
pub fn bgv(set: &str, rotations: &[i64]) -> Result<(Box<dyn Prepared>, Answer), OursError> {
    let parameters = bgv::sets::named(set)?;
    let t = parameters.plaintext_modulus().modulus();
    let client = bgv::ClientKey::generate(&parameters)?;
    let chain = bgv_lowering::chain(&parameters, t.value())?;
    let encoder = bgv_lowering::SlotEncoder(client.encoder());
    let choice = RnsLowering::new(parameters.gadget().literal().clone());
    let model = NoiseModel::ternary(parameters.ring().degree());
    let world = World { chain: &chain, choice, model, encoder: &encoder };
    let mut operations = world.rotations(rotations)?;
    let multiply = |lowering: &mut Lowering<'_>, x: &CiphertextValue, y: &CiphertextValue| {
        let product = lowering.multiply(x, y)?;
        Ok(vec![lowering.relinearise(&product)?])
    };
    operations.insert("multiply", world.operation("multiply", multiply)?);
    let keys = client.switching_keys(keys_of(&operations), &no_progress)?;
    let mut random = rand::rng();
    let slots = parameters.ring().degree().get();
    let values = [(); 2].map(|()| (0..slots).map(|_| random.random_range(0..t.value())).collect::<Vec<_>>());
    let limbs = parameters.q_limbs();
    let ciphertexts = [client.encrypt(&values[0], limbs)?, client.encrypt(&values[1], limbs)?];
    let answer = Answer {
        log_q: parameters.log2_q(),
        log_p: parameters.log2_qp() - parameters.log2_q(),
        digits: parameters.gadget().digits().len(),
        ..Answer::default()
    };
    let rotations = rotations.to_vec();
    Ok((Box::new(BgvSide { client, keys, operations, rotations, t, values, ciphertexts }), answer))
}

impl Prepared for BgvSide {
    fn measure(&mut self, op: &str, repetitions: usize, place: &Place) -> Result<Answer, OursError> {
        let unknown = || OursError::UnknownOp { op: op.to_owned(), scheme: "BGV" };
        let operation = self.operations.get(op).ok_or_else(unknown)?;
        let [x, y] = &self.ciphertexts;
        let Measured { ms, result, work, card } = measured(operation, &self.keys, x, y, repetitions, place)?;
        let [x, y] = &self.values;
        let Scale::Factor(factor) = operation.scale else { return Err(unknown()) };
        let found = self.client.decrypt(&result, factor, x.len())?;
        let row = x.len() / 2;
        let by = rotation_of(op, &self.rotations).rem_euclid(row as i64) as usize;
        let expected = |slot: usize| match op {
            "multiply" => self.t.multiply(x[slot], y[slot]),
            _ => x[slot - slot % row + (slot + by) % row],
        };
        let wrong = found.iter().enumerate().filter(|&(slot, &value)| value != expected(slot)).count();
        Ok(Answer { ms, error: wrong as f64, work, card, ..Answer::default() })
    }
}
