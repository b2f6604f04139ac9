//! Plans CKKS and BGV programs: parameter set, lowering, kernel program.

mod cost;
mod facts;
mod key_switch;
mod lookup_work;
mod memory;
mod owners;
pub mod parameters;
mod set_choice;

#[cfg(test)]
mod tests;

pub use key_switch::{KeySwitch, KeySwitchRequest};
pub use lookup_work::lookup_work;
pub use owners::Owners;
pub use set_choice::longest_table;

use crate::memory::expect_memory;
use crate::{DEFAULT_FAILURE_LOG2, Fault, PlanError};
use key_switch::planned;
use memory::{planning_bytes, prepared_bytes};
use owners::owners_in;
use polyfabric_machines::Machine;
use polyfabric_machines::contract::rns;
use polyfabric_program::rns::folding::{Folded, fold};
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Op, Program, Scheme, Values, evaluate_each};
use polyfabric_program::rns::kernel::{KernelProgram, KeyUse, PublicPolynomial};
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::lowering::{
    Lowered, PlaintextEncoder, RnsLowering, SPARE_BITS, Target, bgv, lower_within,
};
use polyfabric_program::rns::noise::{
    Encryption, FitFailure, Interval, NoiseModel, NoiseReport, expect_inputs, expect_intervals,
};
use polyfabric_program::rns::parameters as ckks;
use polyfabric_program::rns::signature::{Signature, WantedKey};
use polyfabric_runtime::rns::key_storage;
use polyfabric_schemes::bgv::BOOTSTRAP_SECRET;
use polyfabric_schemes::rns::{KeyId, KeyStorage, LimbId};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv as bgv_scheme, ckks as ckks_scheme};
use set_choice::{
    bgv_choice, bootstrapping, bootstraps_of, choose_bgv, choose_ckks, choose_ckks_for, choose_ckks_on, has_lookups,
    named_bgv, named_ckks, other_modulus, other_scheme, surer_tables, with_bootstraps,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// Relative error bound of outputs with which no larger set is tried for a machine.
const FINE_ERROR: f64 = 1.0 / 1024.0;

/// Default log2 of the accepted failure probability of a CKKS program on numbers that are no integers: one run in a million. Each output contributes 2^-40; a bootstrap of
/// many slots with a sparse secret and the range used in papers contributes up to 2^-27.
const CKKS_FAILURE_LOG2: f64 = -20.0;

/// Maximum bytes of keys stored with both halves, and of public polynomials stored transformed; bootstrapping keys exceed it.
pub const MOST_PREPARED_BYTES: usize = 4 << 30;

#[derive(Debug)]
pub struct CkksPlan {
    pub parameters: ckks_scheme::Parameters,
    /// The key that encrypts inputs, for the noise analysis.
    encryption: Encryption,
    pub lowered: Lowered,
    pub noise: NoiseReport,
    /// Whether the machine's search for matrix steps is still to do; not needed to compare variants.
    untried: bool,
}

#[derive(Debug)]
pub struct BgvPlan {
    pub parameters: bgv_scheme::Parameters,
    pub lowered: bgv::BgvLowered,
}

/// The scheme-specific part of a plan.
#[derive(Debug)]
pub enum Lowering {
    Ckks(CkksPlan),
    Bgv(BgvPlan),
}

/// A requested parameter set.
#[derive(Clone, Copy, Debug)]
pub enum ParameterRequest<'a> {
    /// The user's own set.
    Set(&'a ParameterSet),
    /// A named set.
    Name(&'a str),
}

/// Options of a plan.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The set; `None` for the smallest sufficient one.
    pub asked: Option<ParameterRequest<'a>>,
    /// Who has the keys. Inputs of several owners are encrypted with the public key.
    pub owners: Owners,
    /// The key that encrypts inputs, for the noise of CKKS. BGV always assumes the public key.
    pub encryption: Encryption,
    /// Whether every encrypted node is an output too, to measure its error.
    pub measured: bool,
    /// The machine; `None` for this computer.
    pub machine: Option<&'a Machine>,
    /// How to choose the key switch.
    pub key_switch: KeySwitchRequest,
    /// Minimum bits of security of an automatically chosen CKKS set.
    pub security: f64,
    /// log2 of the accepted failure probability; by default [`DEFAULT_FAILURE_LOG2`] for BGV, and 2^-20 for CKKS, whose error bounds are
    /// exceeded with probability 2^-40 each.
    pub max_failure: Option<f64>,
    /// Maximum bytes for planning.
    pub memory: Option<u64>,
}

/// A CKKS or BGV program planned for a parameter set.
#[derive(Debug)]
pub struct RnsPlan {
    /// The program as the user wrote it.
    written: Arc<Program>,
    /// The program as executed: with folded linear code, and bootstraps where it needs more levels than the set has.
    folded: Folded,
    /// The scheme-specific part.
    pub lowering: Lowering,
    /// The key switch and the reason for it.
    key_switch: Option<KeySwitch>,
    /// Whether errors will be measured; then a program may run even if bounds leave no precision.
    measured: bool,
    signature: OnceLock<Arc<Signature>>,
}

fn parameter(error: impl std::fmt::Display) -> PlanError {
    PlanError::new(Fault::Parameter, error)
}

fn refused(error: impl std::fmt::Display) -> PlanError {
    PlanError::new(Fault::Program, error)
}

/// `program` with every encrypted node as an additional output.
fn instrumented(program: &Program) -> Result<Program, PlanError> {
    let mut builder = Builder::like(program).map_err(refused)?;
    for (_, node) in program.iter() {
        builder.at(node.location.clone());
        builder.push(node.op.clone(), &node.operands).map_err(refused)?;
    }
    for (id, node) in program.iter() {
        if !node.is_public() && !node.is_selector() && !matches!(node.op, Op::Output { .. }) {
            builder.observe(id);
        }
    }
    builder.finish().map_err(refused)
}

// -- CKKS ---------------------------------------------------------------------------------------------------------------

fn lower_ckks(
    program: &Program,
    parameters: ckks_scheme::Parameters,
    encryption: Encryption,
    observed: bool,
    machine: Option<&Machine>,
    (smudging_bits, compared): (f64, bool),
) -> Result<CkksPlan, PlanError> {
    let encoder = ckks_scheme::Encoder::new(parameters.ring_degree());
    let encoder = ckks::SlotEncoder(&encoder);
    let choice = match machine {
        Some(machine) => rns::ckks_lowering(machine, program.name(), parameters.gadget().literal().clone())
            .map_err(PlanError::of(Fault::Machine))?,
        None => ckks::choice(&parameters),
    };
    let choice = RnsLowering { smudging_bits, ..choice };
    let without = choice.untried().filter(|_| compared);
    let untried = without.is_some();
    let choice = without.unwrap_or(choice);
    let lower = |output_level| {
        let choice = RnsLowering { output_level, ..choice.clone() };
        lowered(program, &parameters, &For { encryption, observed, choice: &choice }, &encoder, &[])
    };
    let (mut lowered, mut noise) = lower(0)?;
    let chain = ckks::chain(&parameters).map_err(parameter)?;
    // Levels chosen by the author stay, even if values do not fit there.
    if let Some(level) = noise.levels_short(&chain)
        && let Ok(higher) = lower(level)
        && higher.1.first_wrapping().is_none()
    {
        (lowered, noise) = higher;
    }
    Ok(CkksPlan { parameters, encryption, lowered, noise, untried })
}

/// Options of a CKKS lowering besides the set.
struct For<'a> {
    encryption: Encryption,
    observed: bool,
    choice: &'a RnsLowering,
}

/// Skips encoding when only the noise is of interest.
#[derive(Debug)]
struct NoEncoder(Arc<[i64]>);

impl PlaintextEncoder for NoEncoder {
    fn encode(&self, _: &Values, _: Scale) -> Result<PublicPolynomial, String> {
        Ok(PublicPolynomial::Narrow(Arc::clone(&self.0)))
    }

    fn largest_coefficient(&self, values: &Values, scale: Scale) -> Result<f64, String> {
        Ok(values.magnitude() * scale.real())
    }
}

/// Lowers the program and computes its noise, with known bounds `magnitudes` of its messages.
fn lowered(
    program: &Program,
    parameters: &ckks_scheme::Parameters,
    request: &For<'_>,
    encoder: &dyn PlaintextEncoder,
    magnitudes: &[f64],
) -> Result<(Lowered, NoiseReport), PlanError> {
    let &For { encryption, observed, choice } = request;
    let chain = ckks::chain(parameters).map_err(parameter)?;
    let model = ckks::model(parameters, encryption);
    let bootstrapping = bootstrapping(program, parameters, &chain, choice)?;
    let bootstrapping = bootstrapping.as_ref();
    let target = Target { chain: &chain, choice, model, encoder, bootstrapping, observed };
    let lowered = lower_within(program, &target, magnitudes).map_err(refused)?;
    let mut noise = NoiseReport::new(program, &lowered, &chain, &model);
    if model.parties > 1 {
        let exact = NoiseModel { exact_encoding: true, ..model };
        let nothing = NoEncoder(vec![0; parameters.ring_degree().get()].into());
        let target = Target { model: exact, encoder: &nothing, ..target };
        let hidden = lower_within(program, &target, magnitudes).map_err(refused)?;
        let hidden = NoiseReport::new(program, &hidden, &chain, &exact);
        noise.smudge(&hidden, program, &model, choice.smudging_bits);
    }
    Ok((lowered, noise))
}

// -- BGV ----------------------------------------------------------------------------------------------------------------

fn lower_bgv(
    program: &Program,
    parameters: bgv_scheme::Parameters,
    machine: Option<&Machine>,
    smudging_bits: f64,
) -> Result<BgvPlan, PlanError> {
    let literal = parameters.literal();
    let encoder = bgv_scheme::Encoder::new(parameters.ring().degree(), literal.plaintext_modulus).map_err(parameter)?;
    let choice = bgv_choice(program, &parameters, machine, smudging_bits)?;
    let lowered = bgv::lower(program, &parameters, &choice, &encoder).map_err(refused)?;
    Ok(BgvPlan { parameters, lowered })
}

impl BgvPlan {
    fn kernel(&self) -> &KernelProgram {
        &self.lowered.kernel
    }

    /// Checks that it fails with probability at most 2^`accepted`, for the given number of inputs.
    fn accepts(&self, inputs: usize, accepted: f64) -> Result<(), String> {
        let found = self.failure_log2(inputs).map_err(|error| error.to_string())?;
        if found <= accepted {
            return Ok(());
        }
        let limit = accepting_limit(found);
        Err(format!(
            "it may fail with probability 2^{found:.1}, more than 2^{accepted:.1}, unless that is accepted with max_failure={limit} \
             (--max-failure {limit})"
        ))
    }
}

/// The smallest integer `max_failure` that accepts 2^`found`.
fn accepting_limit(found: f64) -> f64 {
    // Avoids -0.0.
    found.ceil() + 0.0
}

impl CkksPlan {
    fn kernel(&self) -> &KernelProgram {
        &self.lowered.kernel
    }

    /// If a message may wrap around, given the inputs' bounds: the modulus bits that would prevent it.
    fn modulus_short(&self) -> Result<Option<f64>, PlanError> {
        let nodes = &self.noise.nodes;
        let short = nodes.iter().map(|node| -node.headroom).fold(0.0, f64::max);
        let chain = ckks::chain(&self.parameters).map_err(parameter)?;
        let start = nodes.iter().map(|node| node.level).max().unwrap_or(0);
        Ok((short > 0.0).then(|| chain.log2_modulus(start) + short))
    }

    /// The largest error bound of an output relative to its values; infinite if a message may wrap around.
    fn relative_error(&self, program: &Program) -> f64 {
        if self.noise.first_wrapping().is_some() {
            return f64::INFINITY;
        }
        let outputs: Vec<NodeId> = program.outputs().map(|(id, _)| id).collect();
        let own = self.noise.nodes.iter().filter(|node| outputs.contains(&node.node) && node.magnitude > 0.0);
        own.map(|node| node.bound / node.magnitude)
            .map(|share| if share.is_nan() { f64::INFINITY } else { share })
            .fold(0.0, f64::max)
    }

    /// Checks that no error is much larger than with the set's own key switch.
    fn accepts(&self, own: Option<&NoiseReport>) -> Result<(), String> {
        let like = |own| self.noise.require_like(own, SPARE_BITS).map_err(|failure| failure.to_string());
        own.map_or(Ok(()), like)
    }
}

// -- both ---------------------------------------------------------------------------------------------------------------

impl RnsPlan {
    /// Plans `program` with the options of `request`.
    ///
    /// # Errors
    /// [`PlanError`]: no set supports the program, or a set or machine does not; with cause, location and fix.
    pub fn new(program: &Arc<Program>, request: Request<'_>) -> Result<Self, PlanError> {
        let Request { asked, owners, encryption, measured, machine, key_switch: wanted, security, max_failure, memory } =
            request;
        // The name of a set for several owners gives their number.
        let owners = if owners.several() { owners } else { Owners { parties: owners_in(asked), ..owners } };
        owners.expect(program, bootstraps_of(program) > 0, measured)?;
        let encryption = if owners.several() { Encryption::Public } else { encryption };
        let smudging_bits = owners.smudging_bits;
        let room = |program: &Program, degree| expect_memory(program.name(), planning_bytes(program, degree), memory);
        // The smallest ring that fits the slots needs the least memory.
        room(program, program.slots())?;
        let (written, mut folded) = (program, fold(program).map_err(refused)?);
        let (lowering, key_switch) = match program.scheme() {
            Scheme::Ckks => {
                let program = Arc::clone(&folded.program);
                let (parameters, larger) = match asked {
                    Some(ParameterRequest::Name(name)) => {
                        (owners.ckks(&program, named_ckks(&program, name)?)?, Vec::new())
                    }
                    Some(ParameterRequest::Set(ParameterSet::Ckks(set))) => {
                        (owners.ckks(&program, set.clone())?, Vec::new())
                    }
                    Some(ParameterRequest::Set(other)) => return Err(other_scheme(&program, other)),
                    None if owners.several() => choose_ckks_for(&program, owners, security)?,
                    None => match machine {
                        Some(machine) => {
                            // Lower as later, when the set is named: with its own key switch.
                            let takes = |set: &ckks_scheme::Parameters| {
                                if room(&program, set.ring_degree().get()).is_err() {
                                    return false;
                                }
                                let own = lower_ckks(
                                    &program,
                                    set.clone(),
                                    encryption,
                                    measured,
                                    Some(machine),
                                    (smudging_bits, false),
                                );
                                own.is_ok_and(|plan| {
                                    let mapping = rns::mapping_bytes(machine, plan.kernel());
                                    mapping.is_ok_and(|bytes| expect_memory(program.name(), bytes, memory).is_ok())
                                        && rns::estimate(machine, plan.kernel()).is_ok()
                                })
                            };
                            choose_ckks_on(&program, machine, security, takes)?
                        }
                        None => {
                            let chosen = choose_ckks(&program, security, 0.0)?;
                            let surer = surer_tables(&program, &chosen, security);
                            (chosen, surer)
                        }
                    },
                };
                if let Some(placed) = with_bootstraps(&program, &parameters)? {
                    folded = folded.then(placed.program, &placed.nodes);
                }
                let program = &*folded.program;
                let place = (program.name(), machine, memory);
                // Variants are compared without a search for steps, which takes long and differs little between variants.
                let compared = wanted == KeySwitchRequest::Compiler;
                let lower = |set: ckks_scheme::Parameters| {
                    room(program, set.ring_degree().get())?;
                    lower_ckks(program, set, encryption, measured, machine, (smudging_bits, compared))
                };
                let noise = |plan: &CkksPlan| plan.noise.clone();
                let of = |set| {
                    let (plan, chosen) =
                        planned(set, place, wanted.clone(), lower, noise, CkksPlan::accepts, CkksPlan::kernel)?;
                    let tried = if plan.untried {
                        lower_ckks(program, plan.parameters, encryption, measured, machine, (smudging_bits, false))?
                    } else {
                        plan
                    };
                    Ok::<_, PlanError>((tried, chosen))
                };
                let error = |tried: &Result<(CkksPlan, _), _>| {
                    tried.as_ref().map_or(f64::INFINITY, |(plan, _)| plan.relative_error(program))
                };
                let mut found = of(parameters);
                for set in larger {
                    // Lookups are exact, or refused.
                    if error(&found) <= FINE_ERROR || (has_lookups(program) && found.is_ok()) {
                        break;
                    }
                    let next = of(set);
                    if found.is_err() && next.is_ok() || error(&next) < error(&found) {
                        found = next;
                    }
                }
                let (mut plan, mut chosen) = found?;
                if asked.is_none()
                    && machine.is_none()
                    && !owners.several()
                    && let Some(log2_modulus) = plan.modulus_short()?
                    && let Ok(set) = choose_ckks(program, security, log2_modulus)
                    && let Ok(larger) = of(set)
                    && larger.0.noise.first_wrapping().is_none()
                {
                    (plan, chosen) = larger;
                }
                (Lowering::Ckks(plan), chosen)
            }
            Scheme::Bgv { plaintext_modulus } => {
                let parameters = match asked {
                    Some(ParameterRequest::Name(name)) => {
                        let of_ckks = || ckks_scheme::sets::parameters(name).map(ParameterSet::Ckks);
                        let named = named_bgv(name, plaintext_modulus)
                            .map_err(|unknown| of_ckks().map_or(unknown, |set| other_scheme(program, &set)))?;
                        owners.bgv(program, named)?
                    }
                    Some(ParameterRequest::Set(ParameterSet::Bgv(set))) => owners.bgv(program, set.clone())?,
                    Some(ParameterRequest::Set(other)) => return Err(other_scheme(program, other)),
                    None => choose_bgv(program, plaintext_modulus, machine, owners)?,
                };
                let program = &*folded.program;
                let place = (program.name(), machine, memory);
                let body = if measured { &instrumented(program)? } else { program };
                let lower = |set: bgv_scheme::Parameters| {
                    room(body, set.ring().degree().get())?;
                    lower_bgv(body, set, machine, smudging_bits)
                };
                // The lowering rejects excessive noise.
                let (inputs, accepted) = (program.inputs().count(), max_failure.unwrap_or(DEFAULT_FAILURE_LOG2));
                let accepts = |plan: &BgvPlan, _: Option<&()>| plan.accepts(inputs, accepted);
                let (plan, chosen) = planned(parameters, place, wanted, lower, |_| (), accepts, BgvPlan::kernel)
                    .map_err(|error| {
                        match other_modulus(plaintext_modulus).filter(|_| error.fault == Fault::Noise) {
                            Some(other) => PlanError::new(Fault::Noise, format!("{error}; {other}")),
                            None => error,
                        }
                    })?;
                (Lowering::Bgv(plan), chosen)
            }
        };
        let plan =
            Self { written: Arc::clone(written), folded, lowering, key_switch, measured, signature: OnceLock::new() };
        if let Lowering::Ckks(own) = &plan.lowering {
            let too_large = |failure| PlanError::new(Fault::Noise, failure);
            own.noise.require_encodable(plan.program()).map_err(too_large)?;
        }
        plan.expect_failure(max_failure)?;
        Ok(plan)
    }

    /// Rejects a plan with an unacceptable failure probability.
    fn expect_failure(&self, max_failure: Option<f64>) -> Result<(), PlanError> {
        let (what, default, other) = match &self.lowering {
            Lowering::Ckks(_) if has_lookups(self.program()) => (
                "may be wrong",
                DEFAULT_FAILURE_LOG2,
                "each lookup and each output adds 2^-144 and what its set leaves: use fewer".to_owned(),
            ),
            Lowering::Ckks(_) => (
                "may be wrong",
                CKKS_FAILURE_LOG2,
                "each output adds 2^-40 and each bootstrap what its set leaves: use fewer, or choose a set with a sparse ephemeral secret"
                    .to_owned(),
            ),
            Lowering::Bgv(plan) => {
                let other = other_modulus(plan.parameters.plaintext_modulus().value());
                ("may fail", DEFAULT_FAILURE_LOG2, other.unwrap_or_else(|| "choose another set".to_owned()))
            }
        };
        let (found, accepted) = (self.failure_log2()?, max_failure.unwrap_or(default));
        if found <= accepted {
            return Ok(());
        }
        let (name, set, limit) = (self.program().name(), self.set(), accepting_limit(found));
        let message = format!(
            "{name}: with parameter set {} it {what} with probability 2^{found:.1}, more than 2^{accepted:.1}; {other}, or \
             accept it with max_failure={limit} (--max-failure {limit})",
            set.name()
        );
        Err(PlanError::new(Fault::Noise, message))
    }

    /// Rejects a plan if the error bound of an output exceeds its values, unless errors will be measured. The BGV lowering already excludes
    /// this.
    fn expect_results(&self) -> Result<(), PlanError> {
        match &self.lowering {
            Lowering::Ckks(_) if self.measured => Ok(()),
            Lowering::Ckks(plan) => {
                let other = "bounds are worst cases, so measure the actual precision with measure=True (--measure)";
                let failed = |failure| PlanError::new(Fault::Noise, format!("{failure}; {other}"));
                plan.noise.require_something_left(self.program()).map_err(failed)
            }
            Lowering::Bgv(_) => Ok(()),
        }
    }

    /// The program as executed.
    pub fn program(&self) -> &Arc<Program> {
        &self.folded.program
    }

    pub fn set(&self) -> ParameterSet {
        match &self.lowering {
            Lowering::Ckks(plan) => ParameterSet::Ckks(plan.parameters.clone()),
            Lowering::Bgv(plan) => ParameterSet::Bgv(plan.parameters.clone()),
        }
    }

    pub fn kernel(&self) -> &KernelProgram {
        match &self.lowering {
            Lowering::Ckks(plan) => plan.kernel(),
            Lowering::Bgv(plan) => plan.kernel(),
        }
    }

    /// The switching keys needed, and their limbs.
    pub fn keys(&self) -> &BTreeMap<KeyId, KeyUse> {
        match &self.lowering {
            Lowering::Ckks(plan) => &plan.lowered.keys,
            Lowering::Bgv(plan) => &plan.lowered.keys,
        }
    }

    /// The public interface for a client.
    ///
    /// # Errors
    /// [`Fault::Noise`] if an output would have no precision; [`Fault::Internal`] if the plan lacks an input or output.
    pub fn signature(&self) -> Result<Arc<Signature>, PlanError> {
        if let Some(known) = self.signature.get() {
            return Ok(Arc::clone(known));
        }
        self.expect_results()?;
        let storage = self.key_storage();
        let key = |(&id, used): (&KeyId, &KeyUse)| WantedKey {
            id,
            limbs: used.limbs.iter().collect(),
            storage: storage[&id],
        };
        let keys = self.keys().iter().map(key).collect();
        let made = match &self.lowering {
            Lowering::Ckks(plan) => {
                Signature::of_ckks(self.program(), &plan.parameters, &plan.lowered, &plan.noise, keys)
            }
            Lowering::Bgv(plan) => Signature::of_bgv(self.program(), &plan.parameters, &plan.lowered, keys),
        };
        let missing =
            || PlanError::new(Fault::Internal, "an input or an output of the program is not known in its plan");
        let made = Arc::new(made.ok_or_else(missing)?);
        Ok(Arc::clone(self.signature.get_or_init(|| made)))
    }

    /// Storage of keys: both halves of each, or of as many as fit in [`MOST_PREPARED_BYTES`].
    fn key_storage(&self) -> BTreeMap<KeyId, KeyStorage> {
        key_storage(self.keys(), MOST_PREPARED_BYTES, |id, storage| self.key_bytes(id, storage))
    }

    fn key_bytes(&self, id: KeyId, storage: KeyStorage) -> usize {
        match &self.lowering {
            Lowering::Ckks(plan) => {
                let limbs: Vec<LimbId> = self.keys()[&id].limbs.iter().collect();
                let (degree, moduli) = (plan.parameters.ring_degree(), plan.parameters.moduli());
                storage.key_bytes_of(degree, moduli, &plan.parameters.gadget_over(id, &limbs))
            }
            // One row, an encryption of the secret, over the limbs of Q.
            Lowering::Bgv(plan) if id == KeyId::Other(BOOTSTRAP_SECRET) => {
                2 * plan.parameters.q_limbs() * self.polynomial_bytes(1)
            }
            Lowering::Bgv(plan) => plan.parameters.key_bytes(storage),
        }
    }

    fn polynomial_bytes(&self, limbs: usize) -> usize {
        limbs * self.kernel().degree.get() * size_of::<u64>()
    }

    /// Whether public polynomials are transformed at each use: if keys are stored compactly, or the transforms would be too large.
    pub fn compact_plaintexts(&self) -> bool {
        self.has_seeded_keys() || prepared_bytes(self.kernel()) > MOST_PREPARED_BYTES
    }

    pub fn bytes_of_keys(&self) -> usize {
        self.key_storage().iter().map(|(&id, &storage)| self.key_bytes(id, storage)).sum()
    }

    /// Whether the masks of some keys are regenerated at each use.
    pub fn has_seeded_keys(&self) -> bool {
        self.key_storage().values().any(|storage| storage.seeded)
    }

    /// CKKS: error bounds by node for messages up to `magnitudes`, such as a run's, instead of the inputs' declared bounds. Empty for BGV.
    ///
    /// # Errors
    /// [`Fault::Program`] if the lowering fails.
    pub fn bounds(&self, magnitudes: &[f64]) -> Result<BTreeMap<NodeId, f64>, PlanError> {
        let Lowering::Ckks(ckks) = &self.lowering else { return Ok(BTreeMap::new()) };
        let nothing = NoEncoder(vec![0; ckks.parameters.ring_degree().get()].into());
        let request = For { encryption: ckks.encryption, observed: false, choice: &ckks.lowered.choice };
        let (_, noise) = lowered(self.program(), &ckks.parameters, &request, &nothing, magnitudes)?;
        Ok(noise.nodes.iter().map(|node| (node.node, node.bound)).collect())
    }

    /// Evaluates the program in the clear on a run's inputs. `written` receives the values of each node as written, `executed` of each node as
    /// executed. `mapped` lists polynomials whose operand was mapped to [-1, 1]: the original vector, its interval, and the number of slots.
    ///
    /// # Errors
    /// [`PlanError`] if decryption would be wrong: an output would be only noise, or inputs leave a polynomial's interval or the modulus. The
    /// BGV lowering already excludes this.
    pub fn evaluate(
        &self,
        inputs: &HashMap<String, Values>,
        mapped: BTreeMap<NodeId, Interval>,
        mut written: impl FnMut(NodeId, &Values),
        mut executed: impl FnMut(NodeId, &Values),
    ) -> Result<(), PlanError> {
        let program = self.program();
        self.expect_results()?;
        match &self.lowering {
            Lowering::Ckks(plan) => {
                let chain = ckks::chain(&plan.parameters).map_err(parameter)?;
                let failed = |failure: FitFailure| {
                    let fault = if matches!(failure, FitFailure::Wraps { .. }) { Fault::Noise } else { Fault::Input };
                    PlanError::new(fault, failure)
                };
                let mapped = self.folded.mapped(mapped);
                if self.folded.is_changed() {
                    let programs = (&*self.written, &self.folded);
                    expect_intervals(programs, &plan.noise, inputs, &mapped, &mut written).map_err(failed)?;
                }
                let mapped = self.folded.intervals(&mapped);
                expect_inputs(program, &chain, &plan.noise, inputs, &mapped, &mut executed).map_err(failed)
            }
            Lowering::Bgv(_) => {
                let clear = PlanError::of(Fault::Input);
                evaluate_each(program, inputs, |id, values| executed(id, &values)).map_err(&clear)?;
                if self.folded.is_changed() {
                    evaluate_each(&self.written, inputs, |id, values| written(id, &values)).map_err(&clear)?;
                }
                Ok(())
            }
        }
    }

    /// The program as written by the user.
    pub fn written(&self) -> &Program {
        &self.written
    }

    /// Whether the executed program differs from the written one.
    pub fn is_changed(&self) -> bool {
        self.folded.is_changed()
    }
}
