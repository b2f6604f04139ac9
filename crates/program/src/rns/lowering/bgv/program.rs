//! Lowers whole BGV programs.

use super::{BgvError, BgvValue, Evaluator, Held, Result, Rules, State, Steps};
use super::{bootstrap, expand};
use crate::rns::homomorphic::{Node, NodeId, Op, Program, Scheme, Values, op_name};
use crate::rns::kernel::{KernelProgram, KeyUse, LimbSet, PublicPolynomial};
use crate::rns::levels::{Chain, Scale};
use crate::rns::lowering::gsw::GswRows;
use crate::rns::lowering::{Lowering, PlaintextEncoder, RnsLowering};
use crate::rns::noise::{Encryption, NoiseModel as SlotModel};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::bgv::{Encoder, EncodingError, Noise, Parameters};
use polyfabric_schemes::ckks::encoding::SpecialFft;
use polyfabric_schemes::joint::Smudging;
use polyfabric_schemes::rns::KeyId;
use std::collections::BTreeMap;

/// The encryption of an input, or of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct BgvPort {
    pub name: String,
    /// Limbs, correction factor and noise, with that of smudging.
    pub state: State,
    /// The noise that each of several owners adds to an output.
    pub smudging: Option<Smudging>,
}

/// Limbs, correction factors and noise of a whole program.
#[derive(Clone, Debug)]
pub struct BgvPlan {
    /// Encryption of the inputs.
    pub inputs: Vec<BgvPort>,
    /// Limbs of inputs and of selected public vectors: the fewest with which the program decrypts.
    pub limbs: usize,
    /// Encryption of the outputs.
    pub outputs: Vec<BgvPort>,
    /// State of every node that is not public.
    pub nodes: BTreeMap<NodeId, State>,
    /// Homomorphic operations by name and limbs.
    pub steps: Steps,
    /// The weakest guarantees along the execution.
    pub held: Held,
    /// Limbs of the ciphertexts that each selector multiplies; 1 if none.
    pub selectors: BTreeMap<NodeId, usize>,
}

#[derive(Clone, Debug)]
pub struct BgvLowered {
    pub kernel: KernelProgram,
    pub plan: BgvPlan,
    /// The switching keys needed, and their limbs.
    pub keys: BTreeMap<KeyId, KeyUse>,
}

#[derive(Debug)]
pub struct SlotEncoder<'a>(pub &'a Encoder);

impl SlotEncoder<'_> {
    /// The polynomial of `factor` times `values`; a single value fills all slots.
    fn coefficients(&self, values: &[i64], factor: u64) -> std::result::Result<Vec<i64>, EncodingError> {
        let t = self.0.modulus().modulus();
        let residues: Vec<u64> = values.iter().map(|&value| t.multiply(t.reduce_signed(value), factor)).collect();
        match residues[..] {
            [value] => {
                let mut constant = vec![0; self.0.degree().get()];
                constant[0] = t.centre(value);
                Ok(constant)
            }
            _ => self.0.encode(&residues),
        }
    }
}

impl PlaintextEncoder for SlotEncoder<'_> {
    fn encode(&self, values: &Values, scale: Scale) -> std::result::Result<PublicPolynomial, String> {
        let (Values::Integer(values), Scale::Factor(factor)) = (values, scale) else {
            return Err("BGV takes integers; give integer values".to_owned());
        };
        let coefficients = self.coefficients(values, factor).map_err(|error| error.to_string())?;
        Ok(PublicPolynomial::Narrow(coefficients.into()))
    }
}

/// Sizes of the public vectors that multiply a node's operand, in the node's order.
type PublicSizes = BTreeMap<NodeId, Vec<Noise>>;

fn public_sizes(program: &Program, encoder: &Encoder) -> Result<PublicSizes> {
    let (slots, transform) = (SlotEncoder(encoder), SpecialFft::new(encoder.degree().get() / 2));
    let size = |values: &Values| match values {
        Values::Integer(values) => Ok(Noise::of(&slots.coefficients(values, 1)?, &transform)),
        Values::Complex(_) => Err(BgvError::NotBgv),
    };
    let sizes = |node: &Node| match &node.op {
        Op::MulPlain => match &program.node(node.operands[1]).op {
            Op::Constant { values } => Ok(vec![size(values)?]),
            _ => Err(BgvError::NotBgv),
        },
        Op::LinearTransform { diagonals } => diagonals.by_offset.values().map(size).collect(),
        _ => Ok(Vec::new()),
    };
    let encrypted = program.iter().filter(|(_, node)| !node.is_public());
    encrypted.map(|(id, node)| Ok((id, sizes(node).map_err(|source| at(id, node, source))?))).collect()
}

fn at(node: NodeId, of: &Node, source: BgvError) -> BgvError {
    BgvError::At { node, location: of.location.clone(), source: Box::new(source) }
}

fn t_of(program: &Program, parameters: &Parameters) -> Result<Modulus> {
    let Scheme::Bgv { plaintext_modulus: program_t } = program.scheme() else {
        return Err(BgvError::NotBgv);
    };
    let t = parameters.plaintext_modulus();
    if t.value() != program_t {
        return Err(BgvError::PlaintextModulus { program: program_t, parameters: t.value() });
    }
    let degree = parameters.ring().degree().get();
    if program.slots() > degree {
        return Err(BgvError::Slots { slots: program.slots(), degree });
    }
    Ok(t.modulus())
}

/// The chain of `parameters` with one level per limb, for messages modulo `t`.
///
/// # Errors
/// [`BgvError::Chain`] if t has a factor in common with a modulus.
pub fn chain(parameters: &Parameters, t: u64) -> Result<Chain> {
    let modulus = Modulus::new(t).map_err(|_| BgvError::NotBgv)?;
    let limbs_at: Vec<usize> = (1..=parameters.q_limbs()).collect();
    Ok(Chain::bgv(parameters.ring().degree(), parameters.ring().moduli(), &limbs_at, modulus)?)
}

/// The noise rules of `parameters` with `choice`.
///
/// # Errors
/// As [`chain`].
pub fn rules(parameters: &Parameters, choice: &RnsLowering) -> Result<Rules> {
    let chain = chain(parameters, parameters.key_noise_factor())?;
    let log2_key_t = (parameters.key_noise_factor() as f64).log2();
    Ok(Rules::new(&chain, choice, parameters.noise_model(), log2_key_t))
}

/// Limbs, factors and noise of `program`. Inputs are encrypted with the public key, over the fewest sufficient limbs.
///
/// # Errors
/// [`BgvError`] if all limbs of the parameters are too few, with the node and its location.
pub fn plan(program: &Program, parameters: &Parameters, choice: &RnsLowering) -> Result<BgvPlan> {
    t_of(program, parameters)?;
    let encoder = Encoder::new(parameters.ring().degree(), parameters.plaintext_modulus().literal())?;
    plan_with(program, parameters, choice, &public_sizes(program, &encoder)?)
}

fn plan_with(program: &Program, parameters: &Parameters, choice: &RnsLowering, sizes: &PublicSizes) -> Result<BgvPlan> {
    let chain = chain(parameters, parameters.key_noise_factor())?;
    let rules = rules(parameters, choice)?;
    let run = |limbs: usize| {
        let mut evaluator = Evaluator::dry(&chain, &rules)?;
        walk(program, &mut evaluator, limbs, parameters, sizes, BTreeMap::new())
    };
    // The budget increases with the limbs, so bisect for the fewest.
    let most = run(rules.limbs())?;
    let (mut fails, mut works, mut plan) = (0, rules.limbs(), most);
    while works - fails > 1 {
        let limbs = usize::midpoint(works, fails);
        match run(limbs) {
            Ok(found) => (works, plan) = (limbs, found),
            Err(_) => fails = limbs,
        }
    }
    Ok(plan)
}

/// Lowers `program` for `parameters` with `choice`.
///
/// # Errors
/// As [`plan`], and if a public vector cannot be encoded.
pub fn lower(
    program: &Program,
    parameters: &Parameters,
    choice: &RnsLowering,
    encoder: &Encoder,
) -> Result<BgvLowered> {
    t_of(program, parameters)?;
    let sizes = public_sizes(program, encoder)?;
    let plan = plan_with(program, parameters, choice, &sizes)?;
    let chain = chain(parameters, parameters.key_noise_factor())?;
    let rules = rules(parameters, choice)?;
    let encoder = SlotEncoder(encoder);
    let model = rules.model();
    let slots = SlotModel {
        error_deviation: model.error_deviation,
        secret_weight: model.secret_weight,
        parties: model.parties,
        encryption: Encryption::Secret,
        ..SlotModel::ternary(model.degree)
    };
    let mut lowering = Lowering::new(program.name(), &chain, choice.clone(), slots, &encoder)?;
    let mut evaluator = Evaluator::emitting(&mut lowering, &rules)?;
    let plan = walk(program, &mut evaluator, plan.limbs, parameters, &sizes, plan.selectors)?;
    let kernel = lowering.finish()?;
    let keys = kernel.keys();
    Ok(BgvLowered { kernel, plan, keys })
}

fn walk(
    program: &Program,
    evaluator: &mut Evaluator<'_, '_>,
    limbs: usize,
    parameters: &Parameters,
    sizes: &PublicSizes,
    selectors: BTreeMap<NodeId, usize>,
) -> Result<BgvPlan> {
    let mut walk = Walk {
        program,
        parameters,
        t: parameters.plaintext_modulus().modulus(),
        values: vec![None; program.nodes().len()],
        rows: BTreeMap::new(),
        plan: BgvPlan {
            inputs: Vec::new(),
            limbs,
            outputs: Vec::new(),
            nodes: BTreeMap::new(),
            steps: Steps::new(),
            held: evaluator.held(),
            selectors,
        },
    };
    let most = evaluator.rules().limbs();
    let is_low = |(_, node): (NodeId, &Node)| matches!(node.op, Op::Input { level: Some(level), .. } if level.saturating_add(1) < most);
    let low = program.iter().any(is_low);
    for (id, node) in program.iter() {
        if node.is_public() {
            continue;
        }
        if let Some(lowering) = evaluator.lowering() {
            lowering.set_origin(Some(id));
        }
        evaluator.name(op_name(&node.op));
        if let Op::Selector { name } = &node.op {
            let limbs = *walk.plan.selectors.entry(id).or_insert(1);
            let rows = evaluator.selector(name, limbs).map_err(|source| at(id, node, source))?;
            walk.rows.insert(id, rows);
            continue;
        }
        let sizes = sizes.get(&id).map_or(&[][..], Vec::as_slice);
        let adapted = |source: BgvError| if low { source.below_the_top() } else { source };
        let value = walk.node(evaluator, node, sizes).map_err(|source| at(id, node, adapted(source)))?;
        walk.plan.nodes.insert(id, value.state);
        walk.values[id.index()] = Some(value);
    }
    (walk.plan.steps, walk.plan.held) = (evaluator.steps().clone(), evaluator.held());
    Ok(walk.plan)
}

struct Walk<'p> {
    program: &'p Program,
    parameters: &'p Parameters,
    t: Modulus,
    values: Vec<Option<BgvValue>>,
    /// Those of the selectors.
    rows: BTreeMap<NodeId, GswRows>,
    plan: BgvPlan,
}

impl Walk<'_> {
    fn select(&mut self, evaluator: &mut Evaluator<'_, '_>, node: &Node) -> Result<BgvValue> {
        let [bit, one, zero] = node.operands[..] else { return Err(BgvError::NotBgv) };
        let encrypted = |id: NodeId| self.values[id.index()].as_ref();
        let public = |id: NodeId| match &self.program.node(id).op {
            Op::Constant { values } => Some(values),
            _ => None,
        };
        let log2_t = (self.t.value() as f64).log2();
        let fresh = State { limbs: self.plan.limbs, factor: 1, noise: Noise::NONE, log2_t, quadratic: false };
        // Public choices get the state of the encrypted one, if there is one.
        let like = encrypted(one).or(encrypted(zero)).map_or(fresh, |value| value.state);
        let mut choice = |id: NodeId| match public(id) {
            Some(values) => evaluator.public(values, like),
            None => encrypted(id).cloned().ok_or(BgvError::NotBgv),
        };
        let chosen = choice(one)?;
        let other = match public(zero) {
            Some(Values::Integer(values)) if **values == [0] => None,
            _ => Some(choice(zero)?),
        };
        let rows = self.rows.get(&bit).ok_or(BgvError::NotBgv)?;
        let value = evaluator.select(rows, &chosen, other.as_ref())?;
        let limbs = self.plan.selectors.entry(bit).or_insert(1);
        *limbs = value.state.limbs.max(*limbs);
        Ok(value)
    }

    fn node(&mut self, evaluator: &mut Evaluator<'_, '_>, node: &Node, sizes: &[Noise]) -> Result<BgvValue> {
        let degree = evaluator.rules().model().degree;
        let operand = |index: usize| {
            // The builder ensures that operands are encrypted where required and defined earlier.
            self.values[node.operands[index].index()].as_ref().ok_or(BgvError::NotBgv)
        };
        let public = |index: usize| match &self.program.node(node.operands[index]).op {
            Op::Constant { values } => Ok(values),
            _ => Err(BgvError::NotBgv),
        };
        let rotation = |steps: i64| GaloisElement::rotation(degree, steps.rem_euclid(self.program.row() as i64));
        match &node.op {
            Op::Input { name, level, .. } => {
                let (limbs, most) =
                    (level.map_or(self.plan.limbs, |level| level.saturating_add(1)), evaluator.rules().limbs());
                if limbs > most {
                    return Err(BgvError::Limbs { wanted: limbs, limbs: most });
                }
                let noise = evaluator.rules().model().fresh_public((self.t.value() as f64).log2());
                let value = evaluator.input(name, self.t, limbs, noise)?;
                self.plan.inputs.push(BgvPort { name: name.to_string(), state: value.state, smudging: None });
                Ok(value)
            }
            Op::Selector { .. } | Op::Constant { .. } | Op::MulPlainScaled { .. } | Op::Lookup { .. } => {
                Err(BgvError::NotBgv)
            }
            Op::Add => evaluator.add(operand(0)?, operand(1)?, false),
            Op::Sub => evaluator.add(operand(0)?, operand(1)?, true),
            Op::Neg => evaluator.negate(operand(0)?),
            Op::Mul if node.operands[0] == node.operands[1] => evaluator.square(operand(0)?),
            Op::Mul => evaluator.multiply(operand(0)?, operand(1)?),
            Op::AddPlain => evaluator.add_public(operand(0)?, public(1)?, false),
            Op::SubPlain => evaluator.add_public(operand(0)?, public(1)?, true),
            Op::MulPlain => {
                let size = sizes.first().ok_or(BgvError::NotBgv)?;
                evaluator.multiply_public(operand(0)?, public(1)?, *size)
            }
            Op::Rotate { steps } => evaluator.automorphism(operand(0)?, rotation(*steps)),
            Op::Conjugate => evaluator.automorphism(operand(0)?, GaloisElement::conjugation(degree)),
            Op::Rescale => {
                let value = operand(0)?;
                match value.state.limbs {
                    1 => Err(BgvError::Level { op: "rescale", wanted: 0, level: 0 }),
                    limbs => evaluator.switch(value, limbs - 1),
                }
            }
            Op::ModSwitch { level } => {
                let value = operand(0)?;
                if *level >= value.state.limbs {
                    return Err(BgvError::Level { op: "mod_switch", wanted: *level, level: value.state.limbs - 1 });
                }
                evaluator.switch(value, level + 1)
            }
            Op::Relinearise => evaluator.linear(operand(0)?),
            Op::LinearTransform { diagonals } => {
                expand::linear_transform(evaluator, operand(0)?, diagonals, sizes, rotation)
            }
            Op::Polynomial { polynomial } => match &polynomial.coefficients {
                Values::Integer(coefficients) => expand::polynomial(evaluator, operand(0)?, coefficients, self.t),
                Values::Complex(_) => Err(BgvError::NotBgv),
            },
            Op::Select => self.select(evaluator, node),
            Op::Bootstrap { .. } => bootstrap::refresh(evaluator, operand(0)?, self.parameters),
            Op::Output { name } => {
                let (mut value, smudging) = evaluator.output(name, operand(0)?)?;
                value.state.factor = self.t.reduce(value.state.factor);
                self.plan.outputs.push(BgvPort { name: name.to_string(), state: value.state, smudging });
                Ok(value)
            }
        }
    }
}

impl BgvPlan {
    pub fn limbs(state: &State) -> LimbSet {
        LimbSet::range(0..state.limbs as u16)
    }
}
