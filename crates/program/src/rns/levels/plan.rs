//! Assigns levels to all nodes, in three passes.
//!
//! 1. Forward: the highest level that each node can have. If it falls below 0, the program is rejected at that node.
//! 2. Backward: the level that the readers need. With [`LevelPolicy::Lowest`] every operation runs there; a value that two operations
//!    read at different levels is computed at the higher one. Inputs are encrypted no higher than needed.
//! 3. Forward: the values that stay unrescaled products. A sum does if both operands do, at one level.
//!
//! The level of a node is that of its rescaled value. A product at level ℓ is computed over the limbs of level ℓ + 1.

use super::{Chain, LevelError};
use crate::location::place;
use crate::rns::homomorphic::{Basis, NodeId, Op, Polynomial, Program, Scheme, Values, op_name};
use crate::rns::lowering::{LevelPolicy, Rescaling, polynomial_depth};

/// The largest integer factor that uses no level.
const MAX_FREE_FACTOR: f64 = 1024.0;

/// Parameters of the plan besides program and chain.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRules {
    /// Level at which operations run.
    pub levels: LevelPolicy,
    /// When products are rescaled.
    pub rescaling: Rescaling,
    /// The highest level of an input: the chain's top, or the level below those reserved for bootstrapping.
    pub top: usize,
    /// Levels of a bootstrapping's operand and result, if the parameters have bootstrapping.
    pub bootstrapping: Option<(usize, usize)>,
    /// Level of outputs that no [`Op::ModSwitch`] determines.
    pub output: usize,
}

impl PlanRules {
    /// The rules for parameters with `levels` more levels.
    fn raised(&self, levels: usize) -> Self {
        let bootstrapping = self.bootstrapping.map(|(operand, result)| (operand, result + levels));
        Self { top: self.top + levels, bootstrapping, ..self.clone() }
    }
}

/// The level of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLevel {
    /// Whether an output depends on it.
    pub live: bool,
    /// Level of its rescaled value.
    pub level: usize,
    /// Whether it stays a product until an operation needs it rescaled; it then has the limbs of `level` + 1.
    pub rescale_due: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    nodes: Vec<NodeLevel>,
}

/// The integer if `values` is one in all slots; the product with it uses no level.
pub fn integer_factor(values: &Values) -> Option<i64> {
    match values {
        Values::Complex(values) => match **values {
            [value] if value.im == 0.0 && value.re.fract() == 0.0 && value.re.abs() <= MAX_FREE_FACTOR => {
                Some(value.re as i64)
            }
            _ => None,
        },
        Values::Integer(values) => match **values {
            [value] if value.unsigned_abs() as f64 <= MAX_FREE_FACTOR => Some(value),
            _ => None,
        },
    }
}

/// Levels from an operation's operand to its rescaled result.
pub fn levels_used(program: &Program, node: NodeId) -> usize {
    let node = program.node(node);
    match &node.op {
        Op::Mul | Op::LinearTransform { .. } => 1,
        Op::MulPlain => usize::from(factor(program, node.operands[1]).and_then(integer_factor).is_none()),
        Op::Polynomial { polynomial } => polynomial_levels(polynomial),
        _ => 0,
    }
}

fn factor(program: &Program, constant: NodeId) -> Option<&Values> {
    match &program.node(constant).op {
        Op::Constant { values } => Some(values),
        _ => None,
    }
}

/// Levels of a polynomial: its depth, and one for mapping a Chebyshev interval to \[−1, 1\].
pub fn polynomial_levels(polynomial: &Polynomial) -> usize {
    let depth = polynomial_depth(polynomial.degree());
    match polynomial.basis {
        Basis::Monomial => depth,
        Basis::Chebyshev { lo, hi } => depth + usize::from(lo != -1.0 || hi != 1.0),
    }
}

impl Plan {
    /// Levels of `program` on `chain`.
    ///
    /// # Errors
    /// [`LevelError`] at the first node that does not fit.
    pub fn new(program: &Program, chain: &Chain, rules: &PlanRules) -> Result<Self, LevelError> {
        check_ring(program, chain)?;
        let highest = highest_levels(program, rules)?;
        let live = live_nodes(program);
        let mut levels = match rules.levels {
            LevelPolicy::Highest => highest,
            LevelPolicy::Lowest => lowest_levels(program, rules, &highest, &live),
        };
        for (id, node) in program.iter() {
            if node.is_public() {
                levels[id.index()] = 0;
            }
        }
        let mut nodes: Vec<NodeLevel> = Vec::with_capacity(levels.len());
        for (id, node) in program.iter() {
            let level = levels[id.index()];
            let stays = |operand: &NodeId| {
                let operand = nodes[operand.index()];
                operand.rescale_due && operand.level == level
            };
            let rescale_due = rules.rescaling != Rescaling::Eager
                && match &node.op {
                    Op::Mul => true,
                    Op::MulPlainScaled { .. } => stays(&node.operands[0]),
                    Op::Rotate { .. } | Op::Conjugate => {
                        rules.rescaling == Rescaling::AfterRotations && stays(&node.operands[0])
                    }
                    Op::MulPlain => levels_used(program, id) > 0 || stays(&node.operands[0]),
                    Op::Add | Op::Sub => node.operands.iter().all(stays),
                    Op::Neg | Op::Relinearise => stays(&node.operands[0]),
                    _ => false,
                };
            nodes.push(NodeLevel { live: live[id.index()], level, rescale_due });
        }
        Ok(Self { nodes })
    }

    pub fn node(&self, node: NodeId) -> NodeLevel {
        self.nodes[node.index()]
    }

    /// The highest level of any input.
    pub fn start(&self, program: &Program) -> usize {
        program.inputs().map(|(id, _)| self.node(id)).filter(|node| node.live).map(|node| node.level).max().unwrap_or(0)
    }
}

fn check_ring(program: &Program, chain: &Chain) -> Result<(), LevelError> {
    if program.scheme() != chain.scheme() {
        return Err(LevelError::Scheme {
            program: program.name().to_owned(),
            found: program.scheme().to_string(),
            expected: chain.scheme().to_string(),
        });
    }
    let degree = chain.degree().get();
    let slots_of = |degree: usize| match program.scheme() {
        Scheme::Ckks => degree / 2,
        Scheme::Bgv { .. } => degree,
    };
    if program.slots() > slots_of(degree) {
        return Err(LevelError::Slots {
            program: program.name().to_owned(),
            slots: program.slots(),
            degree,
            available: slots_of(degree),
            scheme: program.scheme().to_string(),
            remedy: degree * program.slots() / slots_of(degree),
        });
    }
    Ok(())
}

fn live_nodes(program: &Program) -> Vec<bool> {
    let mut live = vec![false; program.nodes().len()];
    for (index, node) in program.nodes().iter().enumerate().rev() {
        if matches!(node.op, Op::Output { .. }) || live[index] {
            live[index] = true;
            for operand in &node.operands {
                live[operand.index()] = true;
            }
        }
    }
    live
}

pub(super) fn highest_levels(program: &Program, rules: &PlanRules) -> Result<Vec<usize>, LevelError> {
    let mut levels: Vec<usize> = Vec::with_capacity(program.nodes().len());
    for (id, node) in program.iter() {
        let place = || place(node.location.as_ref());
        let op = op_name(&node.op);
        let raised = |wanted, highest| LevelError::Raised { place: place(), op, node: id, wanted, highest };
        let operands = node.operands.iter().filter(|&&operand| !program.node(operand).is_public());
        let lowest = operands.copied().min_by_key(|operand| levels[operand.index()]);
        let available = lowest.map_or(0, |operand| levels[operand.index()]);
        let level = match &node.op {
            Op::Input { level: Some(level), .. } if *level > rules.top => return Err(raised(*level, rules.top)),
            Op::Input { level, .. } => level.unwrap_or(rules.top),
            Op::Selector { .. } => rules.top,
            Op::Constant { .. } => 0,
            Op::ModSwitch { level } if *level > available => return Err(raised(*level, available)),
            Op::ModSwitch { level } => *level,
            Op::Bootstrap { .. } | Op::Lookup { .. } => match rules.bootstrapping {
                Some((operand, _)) if available < operand => return Err(raised(operand, available)),
                Some((_, level)) => level,
                None => return Err(LevelError::NoBootstrapping { place: place(), node: id }),
            },
            _ => {
                let needed = levels_used(program, id);
                available.checked_sub(needed).ok_or_else(|| {
                    let short = missing_levels(program, rules);
                    LevelError::Exhausted {
                        place: place(),
                        op,
                        node: id,
                        operand: lowest.unwrap_or(id),
                        level: available,
                        needed,
                        start: highest_start(program, &levels, rules),
                        short,
                        remedies: [missing_levels(program, &rules.raised(short)) > 0, rules.bootstrapping.is_some()],
                    }
                })?
            }
        };
        levels.push(level);
    }
    Ok(levels)
}

/// Levels that inputs and bootstrappings lack for the whole program, rather than for its first failing node.
fn missing_levels(program: &Program, rules: &PlanRules) -> usize {
    let mut levels: Vec<i64> = Vec::with_capacity(program.nodes().len());
    for (id, node) in program.iter() {
        let operands = node.operands.iter().filter(|&&operand| !program.node(operand).is_public());
        let available = operands.map(|operand| levels[operand.index()]).min().unwrap_or(0);
        levels.push(match (&node.op, rules.bootstrapping) {
            (Op::Input { level, .. }, _) => level.unwrap_or(rules.top) as i64,
            (Op::Selector { .. }, _) => rules.top as i64,
            (Op::Constant { .. }, _) => 0,
            (Op::ModSwitch { level }, _) => available.min(*level as i64),
            (Op::Bootstrap { .. } | Op::Lookup { .. }, Some((_, level))) => level as i64,
            _ => available - levels_used(program, id) as i64,
        });
    }
    usize::try_from(-levels.iter().copied().min().unwrap_or(0)).unwrap_or(0)
}

fn highest_start(program: &Program, levels: &[usize], rules: &PlanRules) -> usize {
    let known = program.inputs().filter_map(|(id, _)| levels.get(id.index()));
    known.copied().max().unwrap_or(rules.top)
}

/// The level that each node's readers need; feasible because [`highest_levels`] succeeded.
fn lowest_levels(program: &Program, rules: &PlanRules, highest: &[usize], live: &[bool]) -> Vec<usize> {
    let mut levels = vec![0; program.nodes().len()];
    for (index, node) in program.nodes().iter().enumerate().rev() {
        let fixed = match &node.op {
            Op::Input { level, .. } => *level,
            Op::ModSwitch { level } => Some(*level),
            Op::Bootstrap { .. } | Op::Lookup { .. } => rules.bootstrapping.map(|(_, level)| level),
            // A level chosen by the author determines the output's.
            Op::Output { .. } => Some(match program.node(node.operands[0]).op {
                Op::ModSwitch { level } => level,
                _ => rules.output.min(highest[index]),
            }),
            _ => None,
        };
        if let Some(level) = fixed {
            levels[index] = level;
        }
        if !live[index] {
            continue;
        }
        let needed = match &node.op {
            Op::Bootstrap { .. } | Op::Lookup { .. } => rules.bootstrapping.map_or(0, |(operand, _)| operand),
            _ => levels[index] + levels_used(program, NodeId(index as u32)),
        };
        for operand in &node.operands {
            let level = &mut levels[operand.index()];
            *level = (*level).max(needed);
        }
    }
    levels
}
