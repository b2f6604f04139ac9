//! Lowers a whole CKKS program to a kernel program.
//!
//! Each node's value is stored as its operation produced it, possibly a product of three parts that is not rescaled yet. Forms that
//! readers need (two parts, the level's scale, a lower level) are computed at the first use and cached.

use super::bootstrap::{Bootstrapping, BootstrappingLiteral};
use super::gsw::GswRows;
use super::regions::Regions;
use super::{
    CiphertextValue, Lowering, LoweringError, PlaintextEncoder, Relinearisation, Rescaling, Result, RnsLowering,
};
use crate::location::place;
use crate::rns::homomorphic::{Node, NodeId, OBSERVED, Op, Program, Scheme, Table, Values, op_name};
use crate::rns::kernel::{KernelProgram, KeyUse, LimbSet, OpKind};
use crate::rns::levels::{Chain, Plan, PlanRules, Scale, integer_factor, levels_used};
use crate::rns::noise::{NoiseModel, ckks_failure_log2};
use polyfabric_kernels::cancel;
use polyfabric_schemes::rns::{KeyId, KeySet, MissingKey};
use polyfabric_schemes::tfhe::noise::sum_log2;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use thiserror::Error;

/// The encryption of an input, or of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    pub name: String,
    pub level: usize,
    pub limbs: LimbSet,
    /// Factor of its slots.
    pub scale: Scale,
    /// Polynomials of the ciphertext.
    pub parts: usize,
}

/// Noise state of a node's value.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    /// Level by its limbs; for a product, before the rescaling.
    pub level: usize,
    pub scale: Scale,
    /// Error in a slot in units of the message; see [`super::Noise`] for the three parts.
    pub deviation: f64,
    pub systematic: f64,
    /// As there.
    pub concentrated: f64,
    /// Bound of the message.
    pub magnitude: f64,
    /// For a table of rounded numbers: the distance from a border, in steps, up to which a number may be rounded either way. Otherwise 0.
    pub border: f64,
}

#[derive(Clone, Debug)]
pub struct Lowered {
    pub kernel: KernelProgram,
    /// Encryption of the inputs, except unused ones.
    pub inputs: Vec<Port>,
    /// Encryption of the outputs. Their parts are consecutive in the kernel program's outputs, followed by the observed nodes'.
    pub outputs: Vec<Port>,
    /// Encryption of observed nodes, if the target requests them. A product has three parts, and its scale before the rescaling.
    pub observed: Vec<(NodeId, Port)>,
    /// The parameters of its lowering.
    pub choice: RnsLowering,
    /// The switching keys needed, and their limbs.
    pub keys: BTreeMap<KeyId, KeyUse>,
    /// State of every live node that is not public.
    pub nodes: BTreeMap<NodeId, NodeState>,
    /// log2 of a bound of the probability that an output or a lookup exceeds its error bound, or that the integer parts of a bootstrapping or
    /// lookup leave their range ([`Bootstrapping::failure_probability_log2`]).
    pub failure_log2: f64,
}

/// The target of lowering a CKKS program.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub chain: &'a Chain,
    pub choice: &'a RnsLowering,
    pub model: NoiseModel,
    /// Encoder of public vectors.
    pub encoder: &'a dyn PlaintextEncoder,
    /// The bootstrapping, if the parameters have one.
    pub bootstrapping: Option<&'a Bootstrapping>,
    /// Whether every node's value is an output too, so that its error can be measured.
    pub observed: bool,
}

impl Target<'_> {
    /// The rules of the level plan. Inputs are at the top, or at the highest level of a bootstrapping with usual scales.
    pub fn rules(&self) -> PlanRules {
        PlanRules {
            levels: self.choice.levels,
            rescaling: self.choice.rescaling,
            top: self.bootstrapping.map_or(self.chain.top(), Bootstrapping::highest_level),
            bootstrapping: self.bootstrapping.map(|plan| (plan.input_level(), plan.output_level())),
            output: self.choice.output_level,
        }
    }
}

/// Lowers the CKKS program `program` for `target`.
///
/// # Errors
/// [`LoweringError::Levels`] if it does not fit the chain, [`LoweringError::Node`] if one of its nodes cannot be lowered,
/// [`LoweringError::NotLowered`] for a BGV program; [`super::bgv::lower`] lowers those.
pub fn lower(program: &Program, target: &Target<'_>) -> Result<Lowered> {
    lower_within(program, target, &[])
}

/// As [`lower`], with known bounds `magnitudes` of the nodes' messages by index, such as for given inputs. The error bounds then use them
/// instead of the inputs' declared bounds. An empty slice means no known bounds.
///
/// # Errors
/// As [`lower`].
pub fn lower_within(program: &Program, target: &Target<'_>, magnitudes: &[f64]) -> Result<Lowered> {
    if program.scheme() != Scheme::Ckks {
        let problem = "this is the CKKS lowering; lower BGV programs with the BGV lowering";
        return Err(LoweringError::NotLowered { op: "program", problem });
    }
    let plan = Plan::new(program, target.chain, &target.rules())?;
    let lowering = Lowering::new(program.name(), target.chain, target.choice.clone(), target.model, target.encoder)?;
    let mut pass = Pass {
        program,
        plan,
        lowering,
        bootstrapping: target.bootstrapping,
        sparse: HashMap::new(),
        magnitudes,
        regions: Regions::new(program),
        values: vec![None; program.nodes().len()],
        plain: HashMap::new(),
        linear: HashMap::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        nodes: BTreeMap::new(),
        lookups: HashMap::new(),
        borders: HashMap::new(),
        selectors: HashMap::new(),
        overflow_log2: f64::NEG_INFINITY,
    };
    let stage = cancel::stage("lowering", program.nodes().len());
    for (id, node) in program.iter() {
        stage.step();
        if !pass.plan.node(id).live || node.is_public() {
            continue;
        }
        pass.lowering.set_origin(Some(id));
        pass.node(id).map_err(|cause| LoweringError::Node {
            place: place(node.location.as_ref()),
            op: op_name(&node.op),
            node: id,
            cause: Box::new(cause),
        })?;
    }
    drop(stage);
    let observed = if target.observed { pass.observe() } else { Vec::new() };
    let kernel = pass.lowering.finish()?;
    let keys = kernel.keys();
    let Pass { inputs, outputs, nodes, overflow_log2, .. } = pass;
    let lookups = nodes.keys().filter_map(|&id| match &program.node(id).op {
        Op::Lookup { table } => Some(1 + table.stages() as usize),
        _ => None,
    });
    let lookups: usize = lookups.sum();
    let beyond = target.model.failure_log2.unwrap_or(0.0);
    let failure_log2 = ckks_failure_log2(outputs.len() + lookups * BOUNDS_OF_A_LOOKUP, beyond, overflow_log2);
    Ok(Lowered { kernel, inputs, outputs, observed, choice: target.choice.clone(), keys, nodes, failure_log2 })
}

/// A switching key that a program needs is missing or incomplete.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "{place}{op} {node}: {problem}; generate the keys for the execution's exact configuration: the same set (--params), machine (--on), key switch \
     (--key-switch) and readings (--reading: a machine's hoisting decides which rotations have keys)"
)]
pub struct KeyFailure {
    /// "file:line: ", or an empty string.
    pub place: String,
    pub op: &'static str,
    pub node: NodeId,
    pub problem: String,
}

/// Checks that `keys` has all keys, rows and limbs that `kernel`, the lowering of `program`, reads.
///
/// # Errors
/// [`KeyFailure`] at the first node that lacks one.
pub fn check_keys(program: &Program, kernel: &KernelProgram, keys: &KeySet) -> std::result::Result<(), KeyFailure> {
    for op in &kernel.ops {
        let OpKind::InnerProduct { key, rows } = &op.kind else { continue };
        let limbs = &kernel.value(op.results[0]).limbs;
        let last = rows.iter().max().map_or(0, |&row| usize::from(row) + 1);
        let problem = match keys.get(*key) {
            Err(MissingKey { available, .. }) => Some(format!("{key} is missing; the set has {available} keys")),
            Ok(found) => match limbs.iter().find(|limb| !found.limbs().contains(limb)) {
                _ if found.gadget().terms().len() < last => {
                    Some(format!("{key} has {} rows, but {last} are needed", found.gadget().terms().len()))
                }
                Some(limb) => Some(format!("{key} lacks limb {limb}")),
                None => None,
            },
        };
        if let Some(problem) = problem {
            let id = op.origin.unwrap_or(NodeId(0));
            let node = program.node(id);
            let (place, op) = (place(node.location.as_ref()), op_name(&node.op));
            return Err(KeyFailure { place, op, node: id, problem });
        }
    }
    Ok(())
}

/// Bounds that a lookup relies on: its result's, and for both parts those of the angle and of the radius.
const BOUNDS_OF_A_LOOKUP: usize = 5;

struct Pass<'a> {
    program: &'a Program,
    plan: Plan,
    lowering: Lowering<'a>,
    bootstrapping: Option<&'a Bootstrapping>,
    /// Bootstrappings for fewer slots, created on demand.
    sparse: HashMap<usize, Arc<Bootstrapping>>,
    /// Known bounds of the nodes' messages.
    magnitudes: &'a [f64],
    /// Nodes whose errors are followed at points.
    regions: Regions,
    /// Values as the operations produced them.
    values: Vec<Option<CiphertextValue>>,
    /// Values with two parts and their level's scale, by level.
    plain: HashMap<NodeId, BTreeMap<usize, CiphertextValue>>,
    /// Products with two parts, not rescaled yet.
    linear: HashMap<NodeId, CiphertextValue>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    nodes: BTreeMap<NodeId, NodeState>,
    /// Results of lookups whose operand other tables were applied to before.
    lookups: HashMap<NodeId, CiphertextValue>,
    /// [`NodeState::border`] of lookups.
    borders: HashMap<NodeId, f64>,
    selectors: HashMap<NodeId, GswRows>,
    overflow_log2: f64,
}

fn constant(program: &Program, id: NodeId) -> Result<&Values> {
    match &program.node(id).op {
        Op::Constant { values } => Ok(values),
        op => {
            let problem = "a public vector is needed; build the program anew";
            Err(LoweringError::NotLowered { op: op_name(op), problem })
        }
    }
}

/// Relative rounding error of a node's value in the clear evaluation, which is the reference of measured errors, in units of f64 rounding.
fn clear_roundings(program: &Program, id: NodeId) -> f64 {
    match &program.node(id).op {
        // Three roundings per complex product, one per sum.
        Op::LinearTransform { diagonals } => 4.0 * diagonals.by_offset.len() as f64,
        Op::Polynomial { polynomial } => 4.0 * (polynomial.coefficients.len() as f64).powi(2),
        _ => 4.0,
    }
}

impl Pass<'_> {
    fn node(&mut self, id: NodeId) -> Result<()> {
        let program = self.program;
        let node = program.node(id);
        let level = self.plan.node(id).level;
        let operand = |index: usize| node.operands[index];
        let value = match &node.op {
            Op::Constant { .. } => return Ok(()),
            Op::Selector { name } => {
                if self.lowering.model().parties > 1 {
                    let problem = "only the owner of the whole secret key encrypts selectors; use keys of one owner";
                    return Err(LoweringError::NotLowered { op: "selector", problem });
                }
                let limbs = self.lowering.chain().limbs(level);
                self.selectors.insert(id, self.lowering.gsw_input(name, &limbs)?);
                return Ok(());
            }
            Op::Input { name, magnitude, .. } => {
                let value = self.lowering.input(name, level, *magnitude)?;
                self.inputs.push(self.port(name, &value));
                value
            }
            Op::Add | Op::Sub => {
                let (a, b) = self.summands(id)?;
                if node.op == Op::Add { self.lowering.add(&a, &b)? } else { self.lowering.sub(&a, &b)? }
            }
            Op::Neg => {
                let a = self.summand(id, operand(0))?;
                self.lowering.negate(&a)?
            }
            Op::Relinearise => {
                let a = self.summand(id, operand(0))?;
                self.lowering.relinearise(&a)?
            }
            Op::Mul => {
                let a = self.at(operand(0), level + 1)?;
                let b = self.at(operand(1), level + 1)?;
                self.lowering.multiply(&a, &b)?
            }
            Op::AddPlain | Op::SubPlain => {
                let a = self.at(operand(0), level)?;
                let values = constant(program, operand(1))?;
                self.lowering.add_plain(&a, values, node.op == Op::SubPlain)?
            }
            Op::MulPlain => {
                let values = constant(program, operand(1))?;
                match integer_factor(values) {
                    Some(factor) => {
                        let a = self.summand(id, operand(0))?;
                        self.lowering.multiply_integer(&a, factor.into())?
                    }
                    None => {
                        let a = self.at(operand(0), level + 1)?;
                        self.lowering.multiply_plain(&a, values)?
                    }
                }
            }
            Op::MulPlainScaled { bits } => {
                let values = constant(program, operand(1))?;
                let a = self.summand(id, operand(0))?;
                let product = self.lowering.multiply_plain_at(&a, values, Scale::Real(f64::from(*bits).exp2()))?;
                CiphertextValue { rescale_due: a.rescale_due, ..product }
            }
            Op::Rotate { steps } => {
                let a = self.rotated(id, operand(0))?;
                self.lowering.rotate(&a, steps.rem_euclid(program.row() as i64))?
            }
            Op::Conjugate => {
                let a = self.rotated(id, operand(0))?;
                self.lowering.conjugate(&a)?
            }
            Op::Rescale | Op::ModSwitch { .. } => self.at(operand(0), level)?,
            Op::LinearTransform { diagonals } => {
                let a = self.at(operand(0), level + 1)?;
                self.lowering.linear_transform(&a, diagonals, program.row())?
            }
            Op::Polynomial { polynomial } => {
                let mut a = self.at(operand(0), level + levels_used(program, id))?;
                if !self.regions.is_function(id) {
                    a.noise = a.noise.settled();
                }
                let value = self.lowering.polynomial(&a, polynomial)?;
                self.lowering.lower_to(&value, level)?
            }
            Op::Bootstrap { slots } => {
                let slots = slots.unwrap_or_else(|| program.slots());
                let value = self.refreshed(id, slots, |lowering, a, plan| lowering.bootstrap(a, plan))?;
                if value.level > level { self.lowering.lower_to(&value, level)? } else { value }
            }
            Op::Lookup { .. } => {
                if !self.lookups.contains_key(&id) {
                    self.look_up(id)?;
                }
                let problem = "its operand was not looked up; build the program anew";
                let value = self.lookups.remove(&id).ok_or(LoweringError::NotLowered { op: "lookup", problem })?;
                if value.level > level { self.lowering.lower_to(&value, level)? } else { value }
            }
            Op::Select => {
                let mut choice = |index: usize| match &program.node(operand(index)).op {
                    Op::Constant { values } => self.lowering.public(values, level),
                    _ => self.at(operand(index), level),
                };
                let one = choice(1)?;
                let zero = match &program.node(operand(2)).op {
                    Op::Constant { values: Values::Complex(values) } if **values == [0.0.into()] => None,
                    _ => Some(choice(2)?),
                };
                let problem = "its selector has no rows; build the program anew";
                let rows =
                    self.selectors.get(&operand(0)).ok_or(LoweringError::NotLowered { op: "select", problem })?;
                self.lowering.select_slots(rows, &one, zero.as_ref())?
            }
            Op::Output { name } => {
                let value = self.at(operand(0), level)?;
                self.lowering.output(name, &value);
                self.outputs.push(self.port(name, &value));
                value
            }
        };
        let mut value = self.eager(id, value)?;
        let scale = value.scale;
        let twin =
            clear_roundings(program, id) * self.lowering.model().f64_rounding() * scale.real() * value.noise.magnitude;
        value.noise = value.noise.with_systematic(twin, self.lowering.source());
        if let Some(&known) = self.magnitudes.get(id.index()) {
            value.noise.magnitude = value.noise.magnitude.min(known);
        }
        self.nodes.insert(
            id,
            NodeState {
                level: value.level,
                scale,
                deviation: value.noise.deviation / scale.real(),
                systematic: value.noise.systematic / scale.real(),
                concentrated: value.noise.concentrated / scale.real(),
                magnitude: value.noise.magnitude,
                border: self.borders.get(&id).copied().unwrap_or(0.0),
            },
        );
        self.follow(id, &mut value);
        self.values[id.index()] = Some(value);
        Ok(())
    }

    /// Applies `apply` to the operand of `id` and to the bootstrapping of `slots` slots.
    fn refreshed<T>(
        &mut self,
        id: NodeId,
        slots: usize,
        apply: impl FnOnce(&mut Lowering<'_>, &CiphertextValue, &Bootstrapping) -> Result<T>,
    ) -> Result<T> {
        let node = self.program.node(id);
        let Some(plan) = self.bootstrapping else {
            let problem = "the parameters have no bootstrapping; choose a set that has";
            return Err(LoweringError::NotLowered { op: op_name(&node.op), problem });
        };
        let a = self.at(node.operands[0], plan.input_level())?;
        let own;
        let plan = if slots == plan.literal().slots {
            plan
        } else {
            own = self.bootstrapping_of(slots, plan)?;
            &own
        };
        self.overflow_log2 = sum_log2(self.overflow_log2, plan.failure_probability_log2());
        apply(&mut self.lowering, &a, plan)
    }

    /// Applies the tables of all lookups with the operand of `id` at once.
    fn look_up(&mut self, id: NodeId) -> Result<()> {
        let program = self.program;
        let operands = &program.node(id).operands;
        let Op::Lookup { table: first } = &program.node(id).op else { return Ok(()) };
        let lookup = |(other, node): (NodeId, &'_ Node)| match &node.op {
            Op::Lookup { table }
                if node.operands == *operands && table.reading() == first.reading() && self.plan.node(other).live =>
            {
                Some((other, Arc::clone(table)))
            }
            _ => None,
        };
        let (ids, tables): (Vec<NodeId>, Vec<Arc<Table>>) = program.iter().filter_map(lookup).unzip();
        let tables: Vec<&Table> = tables.iter().map(Arc::as_ref).collect();
        // Shorter vectors repeat, so the bootstrapping of all slots is theirs too, and needs no level to join the parts.
        let slots = self.lowering.ring_slots();
        // Each step of a rounding is another bootstrapping.
        let overflow = self.bootstrapping.map_or(f64::NEG_INFINITY, Bootstrapping::failure_probability_log2);
        for _ in 0..first.stages() {
            self.overflow_log2 = sum_log2(self.overflow_log2, overflow);
        }
        let (found, border) = self.refreshed(id, slots, |lowering, a, plan| lowering.lookup(a, plan, &tables))?;
        self.borders.extend(ids.iter().map(|&id| (id, border)));
        self.lookups.extend(ids.into_iter().zip(found));
        Ok(())
    }

    /// `plan` adapted to vectors of period `slots`.
    fn bootstrapping_of(&mut self, slots: usize, plan: &Bootstrapping) -> Result<Arc<Bootstrapping>> {
        if let Some(known) = self.sparse.get(&slots) {
            return Ok(Arc::clone(known));
        }
        let literal = BootstrappingLiteral { slots, ..plan.literal().clone() };
        let made = Bootstrapping::new(literal, self.lowering.chain(), self.lowering.choice());
        let made = Arc::new(made.map_err(|cause| LoweringError::Bootstrapping { slots, cause: cause.to_string() })?);
        self.sparse.insert(slots, Arc::clone(&made));
        Ok(made)
    }

    /// Starts, continues or ends following the error of `id` at points.
    fn follow(&mut self, id: NodeId, value: &mut CiphertextValue) {
        let noise = value.noise.clone();
        let operands = &self.program.node(id).operands;
        value.noise = if let Some(variable) = self.regions.variable(id) {
            let error = noise.bound(self.lowering.model().tail()) / value.scale.real();
            let points = variable.points(noise.magnitude).around(error, true);
            noise.settled().at_points(points, self.lowering.source())
        } else if self.regions.is_function(id) && noise.profile.is_some() {
            let mut shared = BTreeSet::new();
            for &operand in operands {
                for form in self.forms(operand) {
                    shared.extend(form.noise.profile.iter().flat_map(|profile| profile.sources().collect::<Vec<_>>()));
                }
            }
            noise.compacted(&shared, self.lowering.source())
        } else {
            noise.settled()
        };
        // Points need much memory: drop them after the last reader.
        for &operand in operands {
            if self.regions.is_function(operand) && self.regions.is_read_last(operand, id) {
                for form in self.forms(operand) {
                    form.noise.profile = None;
                }
            }
        }
    }

    /// All cached forms of the value of `id`.
    fn forms(&mut self, id: NodeId) -> Vec<&mut CiphertextValue> {
        let own = self.values[id.index()].iter_mut().chain(self.linear.get_mut(&id));
        own.chain(self.plain.get_mut(&id).into_iter().flat_map(BTreeMap::values_mut)).collect()
    }

    /// Relinearizes and rescales a product immediately if the lowering is eager.
    fn eager(&mut self, id: NodeId, value: CiphertextValue) -> Result<CiphertextValue> {
        let choice = self.lowering.choice();
        let relinearise = choice.relinearisation == Relinearisation::Eager && value.parts.len() > 2;
        let rescale = choice.rescaling == Rescaling::Eager && value.rescale_due;
        assert!(!rescale || !self.plan.node(id).rescale_due);
        match (relinearise, rescale) {
            (true, true) => self.lowering.relinearise_and_rescale(&value),
            (true, false) => self.lowering.relinearise(&value),
            (false, true) => self.lowering.rescale(&value),
            (false, false) => Ok(value),
        }
    }

    /// Declares every node's value as an output, named by the node.
    fn observe(&mut self) -> Vec<(NodeId, Port)> {
        let mut observed = Vec::new();
        for (id, node) in self.program.iter() {
            let Some(value) = self.values[id.index()].clone() else { continue };
            if !matches!(node.op, Op::Output { .. }) {
                let name = format!("{OBSERVED}{}", id.0);
                self.lowering.output(&name, &value);
                observed.push((id, self.port(&name, &value)));
            }
        }
        observed
    }

    fn port(&self, name: &str, value: &CiphertextValue) -> Port {
        Port {
            name: name.to_owned(),
            level: value.level,
            limbs: self.lowering.chain().limbs(value.level),
            scale: value.scale,
            parts: value.parts.len(),
        }
    }

    /// The value of `id` as its operation produced it.
    fn raw(&self, id: NodeId) -> Result<&CiphertextValue> {
        let problem = "an operand has no value; build the program anew";
        self.values[id.index()].as_ref().ok_or(LoweringError::NotLowered { op: "operand", problem })
    }

    /// The value of `id` with two parts, rescaled, at `level`.
    fn at(&mut self, id: NodeId, level: usize) -> Result<CiphertextValue> {
        if let Some(known) = self.plain.get(&id).and_then(|levels| levels.get(&level)) {
            return Ok(known.clone());
        }
        let raw = self.linear.get(&id).map_or_else(|| self.raw(id), Ok)?.clone();
        let own = raw.level - usize::from(raw.rescale_due);
        let value = if level < own {
            let value = self.at(id, own)?;
            self.lowering.lower_to(&value, level)?
        } else if raw.rescale_due {
            self.lowering.relinearise_and_rescale(&raw)?
        } else {
            self.lowering.relinearise(&raw)?
        };
        self.plain.entry(id).or_default().insert(level, value.clone());
        Ok(value)
    }

    /// An operand of an addition: not relinearized, and not rescaled if the node `id` stays a product.
    fn summand(&mut self, id: NodeId, operand: NodeId) -> Result<CiphertextValue> {
        let node = self.plan.node(id);
        let raw = self.raw(operand)?.clone();
        if node.rescale_due || (!raw.rescale_due && raw.level == node.level) {
            return Ok(raw);
        }
        self.at(operand, node.level)
    }

    /// An operand of a rotation: two parts, and not rescaled if the node `id` stays a product.
    fn rotated(&mut self, id: NodeId, operand: NodeId) -> Result<CiphertextValue> {
        let node = self.plan.node(id);
        if !node.rescale_due {
            return self.at(operand, node.level);
        }
        if let Some(known) = self.linear.get(&operand) {
            return Ok(known.clone());
        }
        let raw = self.raw(operand)?.clone();
        let linear = self.lowering.relinearise(&raw)?;
        self.linear.insert(operand, linear.clone());
        Ok(linear)
    }

    fn summands(&mut self, id: NodeId) -> Result<(CiphertextValue, CiphertextValue)> {
        let operands = &self.program.node(id).operands;
        let (first, second) = (operands[0], operands[1]);
        Ok((self.summand(id, first)?, self.summand(id, second)?))
    }
}
