//! A program with the parameters that carry it and its kernel program: what is known before anything is encrypted.

use super::choice::{
    bgv_choice, bootstrapping, bootstraps_of, choose_bgv, choose_ckks, named_bgv, named_ckks, other_scheme,
    with_bootstraps,
};
use super::key_switch::{KeySwitch, Wanted, planned};
use super::machine::PyResidueKernel;
use super::memory::{Memory, prepared_bytes};
use super::parameters::{self, Asked, PySlotParameters};
use super::program::{Clear, PySlotProgram, PyValues, read_all};
use super::signature::PySlotSignature;
use crate::failure::{Failure, Kind, detached};
use crate::machine::PyMachine;
use polyfabric_program::rns::folding::{Folded, fold};
use polyfabric_program::rns::homomorphic::{NodeId, Op, Program, Scheme, Values, evaluate_each, op_name};
use polyfabric_program::rns::kernel::{KernelProgram, KeyUse, LimbOps, LimbSet, OpKind, PublicPolynomial};
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::lowering::{
    Lowered, PlaintextEncoder, RnsLowering, SPARE_BITS, StepRule, Target, TriedMatrix, TriedWidth, bgv, lower_within,
};
use polyfabric_program::rns::noise::{
    CKKS_BEYOND_LOG2, Encryption, FitFailure, Interval, NodeReport, NoiseReport, bgv_failure_log2, expect_inputs,
    expect_intervals,
};
use polyfabric_program::rns::parameters as ckks;
use polyfabric_program::rns::signature::{Signature, WantedKey};
use polyfabric_runtime::rns::key_storage;
use polyfabric_schemes::bgv::BOOTSTRAP_SECRET;
use polyfabric_schemes::rns::{KeyId, KeyStorage, LimbId};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv as bgv_scheme, ckks as ckks_scheme};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Most bytes of keys of which both halves are kept, and of public polynomials that are kept transformed; the keys of a bootstrapping are more.
pub const MOST_PREPARED_BYTES: usize = 4 << 30;

/// A lowered CKKS program.
pub struct CkksPlan {
    pub parameters: ckks_scheme::Parameters,
    /// With which key inputs are encrypted, as the errors are followed.
    encryption: Encryption,
    pub lowered: Lowered,
    pub noise: NoiseReport,
    /// Whether a machine has yet to try the steps of its matrices, as it was lowered to be compared with others.
    untried: bool,
}

/// A lowered BGV program.
pub struct BgvPlan {
    pub parameters: bgv_scheme::Parameters,
    pub lowered: bgv::BgvLowered,
}

/// The scheme's half of a plan.
pub enum Lowering {
    Ckks(CkksPlan),
    Bgv(BgvPlan),
}

/// A lowered program.
pub struct SlotPlan {
    /// As the user wrote it.
    written: Arc<Program>,
    /// As it is executed: its linear code folded, and bootstraps placed where it is deeper than the set.
    folded: Folded,
    pub lowering: Lowering,
    /// Which key switch it has on its machine, and why.
    key_switch: Option<KeySwitch>,
    signature: OnceLock<Arc<Signature>>,
}

pub fn parameter(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Parameter, error)
}

pub fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Program, error)
}

/// `program` with an output more for every encrypted node.
fn instrumented(program: &Program) -> Result<Program, Failure> {
    let mut builder =
        polyfabric_program::rns::homomorphic::Builder::new(program.name(), program.scheme(), program.slots())
            .map_err(refused)?;
    for (_, node) in program.iter() {
        builder.at(node.location.clone());
        builder.push(node.op.clone(), &node.operands).map_err(refused)?;
    }
    for (id, node) in program.iter() {
        if !node.is_public() && !matches!(node.op, Op::Output { .. }) {
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
    machine: Option<&PyMachine>,
    compared: bool,
) -> Result<CkksPlan, Failure> {
    let encoder = ckks_scheme::Encoder::new(parameters.ring_degree());
    let encoder = ckks::SlotEncoder(&encoder);
    let choice = match machine {
        Some(machine) => machine.ckks_lowering(program.name(), parameters.gadget().literal().clone())?,
        None => ckks::choice(&parameters),
    };
    let without = choice.untried().filter(|_| compared);
    let untried = without.is_some();
    let choice = without.unwrap_or(choice);
    let lower = |output_level| {
        let choice = RnsLowering { output_level, ..choice.clone() };
        lowered(program, &parameters, &Request { encryption, observed, choice: &choice }, &encoder, &[])
    };
    let (mut lowered, mut noise) = lower(0)?;
    let chain = ckks::chain(&parameters).map_err(parameter)?;
    // What its author keeps at a level stays there, whatever the room.
    if let Some(level) = noise.levels_short(&chain)
        && let Ok(higher) = lower(level)
        && higher.1.first_wrapping().is_none()
    {
        (lowered, noise) = higher;
    }
    Ok(CkksPlan { parameters, encryption, lowered, noise, untried })
}

/// What a CKKS program is lowered for, beside its set.
struct Request<'a> {
    encryption: Encryption,
    observed: bool,
    choice: &'a RnsLowering,
}

/// For errors alone, which no encoded vector is needed for.
#[derive(Debug)]
struct Nothing(Arc<[i64]>);

impl PlaintextEncoder for Nothing {
    fn encode(&self, _: &Values, _: Scale) -> Result<PublicPolynomial, String> {
        Ok(PublicPolynomial::Narrow(Arc::clone(&self.0)))
    }

    fn largest_coefficient(&self, values: &Values, scale: Scale) -> Result<f64, String> {
        Ok(values.magnitude() * scale.real())
    }
}

/// The lowered program and its errors, `magnitudes` being known of its messages.
fn lowered(
    program: &Program,
    parameters: &ckks_scheme::Parameters,
    request: &Request<'_>,
    encoder: &dyn PlaintextEncoder,
    magnitudes: &[f64],
) -> Result<(Lowered, NoiseReport), Failure> {
    let &Request { encryption, observed, choice } = request;
    let chain = ckks::chain(parameters).map_err(parameter)?;
    let model = ckks::model(parameters, encryption);
    let bootstrapping = bootstrapping(program, parameters, &chain, choice)?;
    let bootstrapping = bootstrapping.as_ref();
    let target = Target { chain: &chain, choice, model, encoder, bootstrapping, observed };
    let lowered = lower_within(program, &target, magnitudes).map_err(refused)?;
    let noise = NoiseReport::new(program, &lowered, &chain, &model);
    Ok((lowered, noise))
}

// -- BGV ----------------------------------------------------------------------------------------------------------------

fn lower_bgv(
    program: &Program,
    parameters: bgv_scheme::Parameters,
    machine: Option<&PyMachine>,
) -> Result<BgvPlan, Failure> {
    let literal = parameters.literal();
    let encoder = bgv_scheme::Encoder::new(parameters.ring().degree(), literal.plaintext_modulus).map_err(parameter)?;
    let choice = bgv_choice(program, &parameters, machine)?;
    let lowered = bgv::lower(program, &parameters, &choice, &encoder).map_err(refused)?;
    Ok(BgvPlan { parameters, lowered })
}

impl BgvPlan {
    fn kernel(&self) -> &KernelProgram {
        &self.lowered.kernel
    }
}

impl CkksPlan {
    fn kernel(&self) -> &KernelProgram {
        &self.lowered.kernel
    }

    /// If a message may wrap around, by the bounds of the inputs: bits of a modulus with which none would.
    fn modulus_short(&self) -> Result<Option<f64>, Failure> {
        let nodes = &self.noise.nodes;
        let short = nodes.iter().map(|node| -node.headroom).fold(0.0, f64::max);
        let chain = ckks::chain(&self.parameters).map_err(parameter)?;
        let start = nodes.iter().map(|node| node.level).max().unwrap_or(0);
        Ok((short > 0.0).then(|| chain.log2_modulus(start) + short))
    }

    /// Whether no error is much larger than with the set's own key switch.
    fn bears(&self, own: &NoiseReport) -> Result<(), String> {
        self.noise.require_like(own, SPARE_BITS).map_err(|failure| failure.to_string())
    }
}

// -- both ---------------------------------------------------------------------------------------------------------------

impl SlotPlan {
    /// Lowers `program` for the set that is asked for, or for the smallest that carries it, of CKKS one of `security` bits; with every
    /// encrypted node an output too if it is `measured`; for this computer, or for `machine` with a key switch. Limbs are chosen for BGV's
    /// inputs as if they were encrypted with the public key, with CKKS errors are followed for the key of `encryption`.
    fn make(
        program: &Arc<Program>,
        asked: Option<&Asked>,
        encryption: Encryption,
        measured: bool,
        machine: Option<&PyMachine>,
        wanted: Wanted,
        security: f64,
    ) -> Result<Self, Failure> {
        let (written, mut folded) = (program, fold(program).map_err(refused)?);
        let (lowering, key_switch) = match program.scheme() {
            Scheme::Ckks => {
                let program = Arc::clone(&folded.program);
                let parameters = match asked {
                    Some(Asked::Name(name)) => named_ckks(&program, name)?,
                    Some(Asked::Set(PySlotParameters(ParameterSet::Ckks(set)))) => set.clone(),
                    Some(Asked::Set(PySlotParameters(other))) => return Err(other_scheme(&program, other)),
                    None if machine.is_some() => {
                        let message = "a machine of 32-bit words needs a set of its primes; name one of the f1-* sets";
                        return Err(Failure::new(Kind::Parameter, message));
                    }
                    None => choose_ckks(&program, security, 0.0)?,
                };
                if let Some(placed) = with_bootstraps(&program, &parameters)? {
                    folded = folded.then(placed.program, &placed.nodes);
                }
                let program = &*folded.program;
                let place = (program.name(), machine);
                // Variants of a key switch are compared with steps by rates: what is tried for one says little of another, and takes long.
                let compared = wanted == Wanted::Compiler;
                let lower = |set| lower_ckks(program, set, encryption, measured, machine, compared);
                let noise = |plan: &CkksPlan| plan.noise.clone();
                let of = |set| {
                    let (plan, chosen) =
                        planned(set, place, wanted.clone(), lower, noise, CkksPlan::bears, CkksPlan::kernel)?;
                    let tried = if plan.untried {
                        lower_ckks(program, plan.parameters, encryption, measured, machine, false)?
                    } else {
                        plan
                    };
                    Ok::<_, Failure>((tried, chosen))
                };
                let (mut plan, mut chosen) = of(parameters)?;
                if asked.is_none()
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
                    Some(Asked::Name(name)) => {
                        let of_ckks = || ckks_scheme::sets::parameters(name).map(ParameterSet::Ckks);
                        named_bgv(name, plaintext_modulus)
                            .map_err(|unknown| of_ckks().map_or(unknown, |set| other_scheme(program, &set)))?
                    }
                    Some(Asked::Set(PySlotParameters(ParameterSet::Bgv(set)))) => set.clone(),
                    Some(Asked::Set(PySlotParameters(other))) => return Err(other_scheme(program, other)),
                    None => choose_bgv(program, plaintext_modulus, machine)?,
                };
                let program = &*folded.program;
                let place = (program.name(), machine);
                let body = if measured { &instrumented(program)? } else { program };
                let lower = |set| lower_bgv(body, set, machine);
                // Too much noise is refused by the lowering.
                let (plan, chosen) =
                    planned(parameters, place, wanted, lower, |_| (), |_, ()| Ok(()), BgvPlan::kernel)?;
                (Lowering::Bgv(plan), chosen)
            }
        };
        Ok(Self { written: Arc::clone(written), folded, lowering, key_switch, signature: OnceLock::new() })
    }

    /// The program as it is executed.
    pub fn program(&self) -> &Arc<Program> {
        &self.folded.program
    }

    /// Its parameter set.
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

    pub fn keys(&self) -> &BTreeMap<KeyId, KeyUse> {
        match &self.lowering {
            Lowering::Ckks(plan) => &plan.lowered.keys,
            Lowering::Bgv(plan) => &plan.lowered.keys,
        }
    }

    /// What a client knows of it.
    pub fn signature(&self) -> Result<Arc<Signature>, Failure> {
        if let Some(known) = self.signature.get() {
            return Ok(Arc::clone(known));
        }
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
        let missing = || Failure::new(Kind::Internal, "an input or an output of the program is not known in its plan");
        let made = Arc::new(made.ok_or_else(missing)?);
        Ok(Arc::clone(self.signature.get_or_init(|| made)))
    }

    /// How keys are kept: both halves of each, or where that takes more than [`MOST_PREPARED_BYTES`], of those that fit.
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

    fn parameters(&self) -> Value {
        match &self.lowering {
            Lowering::Ckks(plan) => parameters::of_ckks(&plan.parameters),
            Lowering::Bgv(plan) => parameters::of_bgv(&plan.parameters),
        }
    }

    /// What is known of every encrypted node of the program: place, level, scale, and the bound of its error.
    fn nodes(&self) -> Vec<Value> {
        let describe = |id: NodeId, figures: Value| {
            let node = self.program().node(id);
            let mut value = json!({
                "node": id.0,
                "op": op_name(&node.op),
                "place": node.location.as_ref().map(ToString::to_string),
            });
            if let (Some(value), Value::Object(figures)) = (value.as_object_mut(), figures) {
                value.extend(figures);
            }
            value
        };
        match &self.lowering {
            Lowering::Ckks(plan) => {
                let figures = |node: &NodeReport| {
                    json!({
                        "level": node.level,
                        "limbs": plan.parameters.level_limbs()[node.level],
                        "scale_log2": node.scale.real().log2(),
                        "bound": node.bound,
                        "spread_bound": node.spread_bound,
                        "magnitude": node.magnitude,
                        "headroom_bits": node.headroom,
                    })
                };
                plan.noise.nodes.iter().map(|node| describe(node.node, figures(node))).collect()
            }
            Lowering::Bgv(plan) => {
                let ring = plan.parameters.ring();
                let figures = |state: &bgv::State| {
                    let log2_q = ring.log2_product(&plan.parameters.limbs(state.limbs));
                    json!({
                        "level": state.limbs - 1,
                        "limbs": state.limbs,
                        "factor": plan.parameters.plaintext_modulus().modulus().reduce(state.factor),
                        "noise_log2": state.noise.bound,
                        "budget_bits": log2_q - 1.0 - state.noise.bound,
                    })
                };
                // A measured program has more outputs, behind its own nodes.
                let own = plan.lowered.plan.nodes.iter().filter(|(id, _)| id.index() < self.program().nodes().len());
                own.map(|(id, state)| describe(*id, figures(state))).collect()
            }
        }
    }

    /// Whether public polynomials are transformed at every use: where keys are kept small, or they would be too many to keep.
    pub fn compact_plaintexts(&self) -> bool {
        self.has_seeded_keys() || prepared_bytes(self.kernel()) > MOST_PREPARED_BYTES
    }

    /// Bytes of all keys.
    pub fn bytes_of_keys(&self) -> usize {
        self.key_storage().iter().map(|(&id, &storage)| self.key_bytes(id, storage)).sum()
    }

    /// Whether some key has masks that are drawn at each use.
    pub fn has_seeded_keys(&self) -> bool {
        self.key_storage().values().any(|storage| storage.seeded)
    }

    /// How often each key is used, by the limbs of Q that the ciphertext has then.
    fn key_switches(&self) -> Vec<Value> {
        let gadget = match &self.lowering {
            Lowering::Ckks(plan) => plan.parameters.gadget(),
            Lowering::Bgv(plan) => plan.parameters.gadget(),
        };
        let special = LimbSet::new(gadget.special().iter().copied());
        let kernel = self.kernel();
        let mut uses = BTreeMap::<(KeyId, usize), usize>::new();
        for op in &kernel.ops {
            if let OpKind::InnerProduct { key, .. } = &op.kind {
                let limbs = kernel.value(op.results[0]).limbs.difference(&special).len();
                *uses.entry((*key, limbs)).or_default() += 1;
            }
        }
        let row = |((key, limbs), count): ((KeyId, usize), usize)| json!({ "key": key.to_string(), "limbs": limbs, "count": count });
        uses.into_iter().map(row).collect()
    }

    /// What a machine tried for the steps of each matrix, highest level first.
    fn steps(&self) -> Vec<Value> {
        let Lowering::Ckks(plan) = &self.lowering else { return Vec::new() };
        let StepRule::Search(search) = &plan.lowered.choice.steps else { return Vec::new() };
        let width = |tried: &TriedWidth| {
            let figures: BTreeMap<&str, f64> = tried.figures.iter().copied().collect();
            json!({ "width": tried.width, "babies": tried.babies, "giants": tried.giants, "seconds": tried.seconds, "figures": figures })
        };
        let mut matrices = search.0.tried();
        matrices.sort_by_key(|matrix| std::cmp::Reverse(matrix.level));
        let row = |matrix: &Arc<TriedMatrix>| {
            json!({
                "diagonals": matrix.diagonals,
                "level": matrix.level,
                "limbs": matrix.limbs,
                "width": matrix.width,
                "tried": matrix.tried.iter().map(width).collect::<Vec<_>>(),
            })
        };
        matrices.iter().map(row).collect()
    }

    /// log2 of the probability that a bound of the plan is passed: of BGV, that it fails.
    fn failure_log2(&self, operations: &LimbOps) -> f64 {
        match &self.lowering {
            Lowering::Ckks(_) => CKKS_BEYOND_LOG2 + (self.program().outputs().count() as f64).log2(),
            Lowering::Bgv(plan) => {
                // Every digit and every remainder is transformed once at least; an encryption brings four.
                let polynomials = operations.ntts() + operations.key_limbs + 4 * self.program().inputs().count() as u64;
                bgv_failure_log2(&plan.lowered.plan.held, polynomials, plan.parameters.ring().degree().get())
            }
        }
    }

    fn describe(&self) -> Result<Value, Failure> {
        let kernel = self.kernel();
        let counts = kernel.counts().map_err(Failure::of(Kind::Internal))?;
        let ops = &counts.limb_ops;
        let storage = self.key_storage();
        let key_bytes = |id| self.key_bytes(id, storage[&id]);
        let keys: Vec<_> =
            self.keys().keys().map(|&id| json!({ "key": id.to_string(), "bytes": key_bytes(id) })).collect();
        let memory = Memory::of(self)?;
        Ok(json!({
            "parameters": self.parameters(),
            "start_level": self.nodes().iter().filter(|node| node["op"] == "input").filter_map(|node| node["level"].as_u64()).max(),
            "bootstraps": { "in_all": bootstraps_of(self.program()), "placed": bootstraps_of(self.program()) - bootstraps_of(&self.written) },
            "keys": keys,
            "key_bytes": memory.keys,
            "input_bytes": memory.inputs,
            "output_bytes": memory.outputs,
            "plaintext_bytes": memory.plaintexts,
            "memory_bytes": memory.peak,
            "log2_failure": self.failure_log2(ops),
            "operations": counts.ops,
            "limb_operations": {
                "ntts": ops.ntts(),
                "multiplies": ops.multiplies + ops.multiply_adds,
                "adds": ops.adds,
                "automorphisms": ops.automorphisms,
                "key_limbs": ops.key_limbs,
            },
            "key_switches": self.key_switches(),
            "key_switch": self.key_switch.as_ref().map(KeySwitch::to_json),
            "steps": self.steps(),
            "nodes": self.nodes(),
        }))
    }
}

/// A program, its parameters, its kernel program.
#[pyclass(name = "SlotPlan", frozen)]
pub struct PySlotPlan(pub Arc<SlotPlan>);

#[pymethods]
impl PySlotPlan {
    /// For `parameters`, a set or a set's name, or the smallest one of 128 bits that carries the program, of CKKS one of `security` bits. With
    /// `measured`, every encrypted node is an output too. With `machine`, as that lowers it, in its words; and with the set's key switch (`set`), the one
    /// that the machine's compiler chooses (`auto`), or a named one. With
    /// `public`, errors are those of inputs that are encrypted with the public key.
    #[staticmethod]
    #[pyo3(signature = (program, parameters = None, measured = false, machine = None, key_switch = "set", security = 0.0, public = false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn make(
        py: Python<'_>,
        program: &PySlotProgram,
        parameters: Option<Asked>,
        measured: bool,
        machine: Option<&PyMachine>,
        key_switch: &str,
        security: f64,
        public: bool,
    ) -> PyResult<Self> {
        let (program, asked, wanted) = (&program.0, parameters.as_ref(), Wanted::from(key_switch));
        let encryption = if public { Encryption::Public } else { Encryption::Secret };
        let make = || SlotPlan::make(program, asked, encryption, measured, machine, wanted, security);
        detached(py, || Ok(Self(Arc::new(make()?))))
    }

    /// With CKKS, bounds of the errors by node where values are no larger than `magnitudes`, those of a run's inputs, in place of all
    /// inputs within their bounds.
    fn bounds(&self, py: Python<'_>, magnitudes: Vec<f64>) -> PyResult<BTreeMap<u32, f64>> {
        let plan = &*self.0;
        detached(py, || {
            let Lowering::Ckks(ckks) = &plan.lowering else { return Ok(BTreeMap::new()) };
            let nothing = Nothing(vec![0; ckks.parameters.ring_degree().get()].into());
            let request = Request { encryption: ckks.encryption, observed: false, choice: &ckks.lowered.choice };
            let (_, noise) = lowered(plan.program(), &ckks.parameters, &request, &nothing, &magnitudes)?;
            Ok(noise.nodes.iter().map(|node| (node.node.0, node.bound)).collect())
        })
    }

    /// The outputs in the clear and the largest absolute value of every node. Fails where the program would decrypt to something else,
    /// which BGV's lowering has ruled out: nothing would be left of an output, or these inputs lead out of a polynomial's interval or out of
    /// the modulus. `mapped` has of polynomials whose operand was mapped to [-1, 1] before: what it was, its interval, in how many slots.
    fn evaluate(
        &self,
        py: Python<'_>,
        inputs: BTreeMap<String, PyValues>,
        mapped: BTreeMap<u32, (u32, f64, f64, usize)>,
    ) -> PyResult<(BTreeMap<String, PyValues>, Vec<f64>)> {
        let SlotPlan { written, folded, lowering, .. } = &*self.0;
        let program = &folded.program;
        let interval = |(operand, lo, hi, slots)| Interval { operand: NodeId(operand), lo, hi, slots };
        let mapped = folded.mapped(mapped.into_iter().map(|(node, of)| (NodeId(node), interval(of))).collect());
        let inputs = read_all(inputs)?;
        detached(py, || {
            let (mut clear, mut executed) = (Clear::new(written), Clear::new(program));
            match lowering {
                Lowering::Ckks(plan) => {
                    plan.noise.require_something_left(program).map_err(Failure::of(Kind::Noise))?;
                    let chain = ckks::chain(&plan.parameters).map_err(parameter)?;
                    let failed = |failure: FitFailure| {
                        let kind = if matches!(failure, FitFailure::Wraps { .. }) { Kind::Noise } else { Kind::Input };
                        Failure::new(kind, failure)
                    };
                    if folded.is_changed() {
                        let read = |id: NodeId, values: &Values| clear.read(id, values);
                        let programs = (&**written, folded);
                        expect_intervals(programs, &plan.noise, &inputs, &mapped, read).map_err(failed)?;
                    }
                    let mapped = folded.intervals(&mapped);
                    let read = |id: NodeId, values: &Values| executed.read(id, values);
                    expect_inputs(program, &chain, &plan.noise, &inputs, &mapped, read).map_err(failed)?;
                }
                Lowering::Bgv(_) => {
                    let read = |id: NodeId, values: Values| executed.read(id, &values);
                    evaluate_each(program, &inputs, read).map_err(Failure::of(Kind::Input))?;
                    if folded.is_changed() {
                        let read = |id: NodeId, values: Values| clear.read(id, &values);
                        evaluate_each(written, &inputs, read).map_err(Failure::of(Kind::Input))?;
                    }
                }
            }
            // What is expected is what the program as it was written gives.
            let outputs = if folded.is_changed() { clear.outputs } else { executed.outputs };
            Ok((outputs, executed.magnitudes))
        })
    }

    /// What a client knows of it.
    fn signature(&self, py: Python<'_>) -> PyResult<PySlotSignature> {
        detached(py, || Ok(PySlotSignature(self.0.signature()?)))
    }

    /// The kernel program, for machines.
    fn kernel(&self) -> PyResidueKernel {
        PyResidueKernel { kernel: Arc::new(self.0.kernel().clone()), parameters: self.0.set().name().to_owned() }
    }

    /// Parameters, keys and their sizes, operations, and level, scale and error bound of every node, as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.0.describe()?.to_string()))
    }
}
