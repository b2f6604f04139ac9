//! Places bootstraps in a program that needs more levels than its parameters have.
//!
//! A cut separates depths, measured in levels from the inputs. Every value from before a cut that is read after it is bootstrapped.
//! Dynamic programming finds the cuts with the fewest bootstraps such that no operation between two cuts lacks levels. Afterwards,
//! each bootstrap that the levels suffice without is removed.

use super::plan::{highest_levels, levels_used};
use super::{LevelError, PlanRules};
use crate::rns::homomorphic::{Builder, NodeId, Op, Program, ProgramError};
use polyfabric_kernels::cancel;
use std::collections::BTreeSet;

/// Maximum number of bootstraps for which removing each one is tried.
const MOST_TRIED: usize = 64;

#[derive(Clone, Debug)]
pub struct Placed {
    /// The program.
    pub program: Program,
    /// For each original node, the node with its value, before a bootstrap.
    pub nodes: Vec<NodeId>,
    /// Number of bootstraps added.
    pub bootstraps: usize,
}

/// Places bootstraps in `program`, in addition to the author's. `None` if no placement suffices: one operation uses more levels than
/// a bootstrapping restores, or the parameters have no bootstrapping.
///
/// # Errors
/// [`ProgramError`] cannot occur for a checked program.
pub fn place_bootstraps(program: &Program, rules: &PlanRules) -> Result<Option<Placed>, ProgramError> {
    let Some(cuts) = Cuts::new(program, rules) else { return Ok(None) };
    let Some(mut kept) = cuts.values() else { return Ok(None) };
    if kept.len() <= MOST_TRIED {
        for value in kept.clone() {
            let fewer: BTreeSet<NodeId> = kept.iter().copied().filter(|&other| other != value).collect();
            if highest_levels(&cuts.rebuilt(&fewer)?.program, rules).is_ok() {
                kept = fewer;
            }
        }
    }
    let placed = cuts.rebuilt(&kept)?;
    Ok(highest_levels(&placed.program, rules).is_ok().then_some(placed))
}

/// Whether more bootstraps may fix `error`.
pub fn is_mended_by_bootstraps(error: &LevelError) -> bool {
    matches!(error, LevelError::Exhausted { .. } | LevelError::Raised { .. })
}

struct Cuts<'a> {
    program: &'a Program,
    rules: &'a PlanRules,
    /// Levels that a bootstrapping's operand needs and its result has.
    needed: usize,
    restored: usize,
    /// Levels from the inputs, by node; 0 for constants.
    depth: Vec<usize>,
    /// Depth of each node's deepest reader.
    last_read: Vec<usize>,
    /// Encrypted nodes by depth.
    at_depth: Vec<Vec<NodeId>>,
    /// The chosen cuts, by depth.
    chosen: Vec<usize>,
}

/// The best sequence of cuts that ends with a given one.
#[derive(Clone, Copy)]
struct Way {
    bootstraps: usize,
    /// The preceding cut, if any.
    before: Option<usize>,
}

impl<'a> Cuts<'a> {
    fn new(program: &'a Program, rules: &'a PlanRules) -> Option<Self> {
        let (needed, restored) = rules.bootstrapping?;
        let count = program.nodes().len();
        let (mut depth, mut last_read) = (vec![0; count], vec![0; count]);
        for (id, node) in program.iter().filter(|(_, node)| !node.is_public()) {
            let below = node.operands.iter().map(|operand| depth[operand.index()]).max().unwrap_or(0);
            depth[id.index()] = below + levels_used(program, id);
            for operand in &node.operands {
                last_read[operand.index()] = last_read[operand.index()].max(depth[id.index()]);
            }
        }
        let mut at_depth = vec![Vec::new(); depth.iter().max().map_or(1, |&deepest| deepest + 1)];
        for (id, _) in program.iter().filter(|(_, node)| !node.is_public()) {
            at_depth[depth[id.index()]].push(id);
        }
        let cuts = Self { program, rules, needed, restored, depth, last_read, at_depth, chosen: Vec::new() };
        cuts.choose()
    }

    /// Levels of the nodes if the last cut is at `after`, and the depth up to which they suffice. Earlier nodes have the levels of a
    /// bootstrapping's result.
    fn levels(&self, after: Option<usize>) -> (Vec<usize>, usize) {
        let mut levels = vec![self.restored; self.depth.len()];
        for depth in after.map_or(0, |cut| cut + 1)..self.at_depth.len() {
            cancel::check();
            for &id in &self.at_depth[depth] {
                let node = self.program.node(id);
                let operands = node.operands.iter().filter(|operand| !self.program.node(**operand).is_public());
                let available = operands.map(|operand| levels[operand.index()]).min().unwrap_or(0);
                let level = match &node.op {
                    Op::Input { level, .. } => Some(level.unwrap_or(self.rules.top)),
                    Op::Selector { .. } => Some(self.rules.top),
                    Op::ModSwitch { level } => (*level <= available).then_some(*level),
                    Op::Bootstrap { .. } | Op::Lookup { .. } => (available >= self.needed).then_some(self.restored),
                    _ => available.checked_sub(levels_used(self.program, id)),
                };
                match level {
                    Some(level) => levels[id.index()] = level,
                    None => return (levels, depth),
                }
            }
        }
        (levels, self.at_depth.len())
    }

    /// The values that a cut at depth `cut`, with the last one at `after`, bootstraps; `None` if one of them lacks levels for that.
    fn crossing(&self, levels: &[usize], after: Option<usize>, cut: usize) -> Option<Vec<NodeId>> {
        let between = after.map_or(0, |after| after + 1)..=cut;
        let crossing = between.flat_map(|depth| &self.at_depth[depth]).copied();
        let spent = crossing.filter(|id| self.last_read[id.index()] > cut && levels[id.index()] < self.restored);
        spent.map(|id| (levels[id.index()] >= self.needed).then_some(id)).collect()
    }

    /// Chooses the cuts with the fewest bootstraps.
    fn choose(mut self) -> Option<Self> {
        let end = self.at_depth.len();
        let mut ways: Vec<Option<Way>> = vec![None; end];
        let mut last: Option<Way> = None;
        for from in std::iter::once(None).chain((0..end).map(Some)) {
            let so_far = match from {
                None => 0,
                Some(cut) => match ways[cut] {
                    Some(way) => way.bootstraps,
                    None => continue,
                },
            };
            let (levels, reach) = self.levels(from);
            let first = from.map_or(0, |from| from + 1);
            for (cut, way) in ways.iter_mut().enumerate().take(reach).skip(first) {
                cancel::check();
                let Some(crossing) = self.crossing(&levels, from, cut) else { continue };
                let bootstraps = so_far + crossing.len();
                if way.is_none_or(|way| bootstraps < way.bootstraps) {
                    *way = Some(Way { bootstraps, before: from });
                }
            }
            if reach == end && last.is_none_or(|way| so_far < way.bootstraps) {
                last = Some(Way { bootstraps: so_far, before: from });
            }
        }
        let mut at = last?.before;
        while let Some(cut) = at {
            self.chosen.push(cut);
            at = ways[cut]?.before;
        }
        self.chosen.reverse();
        Some(self)
    }

    /// The values that the chosen cuts bootstrap.
    fn values(&self) -> Option<BTreeSet<NodeId>> {
        let mut values = BTreeSet::new();
        let mut from = None;
        for &cut in &self.chosen {
            let (levels, _) = self.levels(from);
            values.extend(self.crossing(&levels, from, cut)?);
            from = Some(cut);
        }
        Some(values)
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.chosen.iter().any(|cut| (from..to).contains(cut))
    }

    /// The program in which readers after a cut use bootstrapped copies of `values`.
    fn rebuilt(&self, values: &BTreeSet<NodeId>) -> Result<Placed, ProgramError> {
        let program = self.program;
        let mut builder = Builder::like(program)?;
        let mut nodes: Vec<NodeId> = Vec::with_capacity(program.nodes().len());
        let mut restored: Vec<Option<NodeId>> = Vec::with_capacity(program.nodes().len());
        for (id, node) in program.iter() {
            builder.at(node.location.clone());
            let operand = |operand: &NodeId| {
                let cut = self.is_cut(self.depth[operand.index()], self.depth[id.index()]);
                restored[operand.index()].filter(|_| cut).unwrap_or(nodes[operand.index()])
            };
            let operands: Vec<NodeId> = node.operands.iter().map(operand).collect();
            nodes.push(builder.push(node.op.clone(), &operands)?);
            let value = nodes[id.index()];
            restored.push(values.contains(&id).then(|| builder.bootstrap(value)).transpose()?);
        }
        Ok(Placed { program: builder.finish()?, nodes, bootstraps: values.len() })
    }
}

#[cfg(test)]
mod tests {
    //! Has every operation enough levels, with the fewest bootstraps?

    use super::*;
    use crate::rns::homomorphic::{Basis, Polynomial, Scheme, Values, evaluate};
    use crate::rns::lowering::{LevelPolicy, Rescaling};
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::sync::Arc;

    const RULES: PlanRules = PlanRules {
        levels: LevelPolicy::Lowest,
        rescaling: Rescaling::Eager,
        top: 9,
        bootstrapping: Some((0, 9)),
        output: 0,
    };

    fn program(make: impl FnOnce(&mut Builder, NodeId) -> NodeId) -> Program {
        let mut builder = Builder::new("deep", Scheme::Ckks, 8).expect("a program");
        let x = builder.input("x").expect("an input");
        let result = make(&mut builder, x);
        builder.output("result", result).expect("an output");
        builder.finish().expect("a program")
    }

    fn squared(builder: &mut Builder, x: NodeId, times: usize) -> NodeId {
        (0..times).fold(x, |x, _| builder.square(x).expect("a square"))
    }

    fn placed(program: &Program, rules: &PlanRules) -> Placed {
        let placed = place_bootstraps(program, rules).expect("a program").expect("a placement");
        highest_levels(&placed.program, rules).expect("levels for all");
        placed
    }

    #[test]
    fn a_chain_has_the_fewest_bootstraps() {
        for (depth, bootstraps) in [(9, 0), (10, 1), (18, 1), (19, 2), (45, 4), (46, 5)] {
            let program = program(|builder, x| squared(builder, x, depth));
            assert_eq!(placed(&program, &RULES).bootstraps, bootstraps, "{depth}");
        }
    }

    #[test]
    fn cuts_are_at_narrow_depths() {
        // Six wide steps, in the middle of which nine values would need bootstraps, between narrow steps.
        let program = program(|builder, x| {
            let x = squared(builder, x, 5);
            let wide: Vec<NodeId> = (0..9)
                .map(|step| {
                    let rotated = builder.rotate(x, step).expect("a rotation");
                    squared(builder, rotated, 6)
                })
                .collect();
            let sum = wide.into_iter().reduce(|a, b| builder.add(a, b).expect("a sum")).expect("values");
            squared(builder, sum, 5)
        });
        assert_eq!(placed(&program, &RULES).bootstraps, 2);
    }

    #[test]
    fn an_input_that_is_read_late_needs_no_bootstrap() {
        // The input is read again at the end and still has its levels.
        let program = program(|builder, x| {
            let deep = squared(builder, x, 12);
            builder.mul(deep, x).expect("a product")
        });
        assert_eq!(placed(&program, &RULES).bootstraps, 1);
    }

    #[test]
    fn the_authors_bootstraps_stay() {
        let program = program(|builder, x| {
            let deep = squared(builder, x, 4);
            let restored = builder.bootstrap(deep).expect("a bootstrap");
            squared(builder, restored, 12)
        });
        let placed = placed(&program, &RULES);
        assert_eq!((placed.bootstraps, placed.program.nodes().len()), (1, program.nodes().len() + 1));
    }

    #[test]
    fn an_operation_deeper_than_a_bootstrapping_has_no_placement() {
        let program = program(|builder, x| {
            let coefficients = Values::real(&vec![0.5; 1024]);
            let polynomial = Polynomial { basis: Basis::Chebyshev { lo: -1.0, hi: 1.0 }, coefficients };
            builder.polynomial(x, Arc::new(polynomial)).expect("a polynomial")
        });
        assert!(place_bootstraps(&program, &RULES).expect("a program").is_none());
        assert!(place_bootstraps(&program, &PlanRules { bootstrapping: None, ..RULES }).expect("a program").is_none());
    }

    proptest! {
        #[test]
        fn every_operation_has_its_levels(
            steps in prop::collection::vec((0u8..4, any::<u16>(), any::<u16>()), 1..60),
            top in 3usize..12, needed in 0usize..2, restored in 3usize..10,
        ) {
            let program = program(|builder, x| {
                let mut nodes = vec![x];
                for &(kind, a, b) in &steps {
                    // Mostly recent values, so that programs are deep.
                    let a = nodes[nodes.len() - 1 - usize::from(a) % nodes.len().min(3)];
                    let b = nodes[usize::from(b) % nodes.len()];
                    nodes.push(match kind {
                        0 => builder.add(a, b),
                        1 => builder.rotate(a, 1),
                        _ => builder.mul(a, b),
                    }.expect("a node"));
                }
                nodes[nodes.len() - 1]
            });
            let rules = PlanRules { top, bootstrapping: Some((needed, restored)), ..RULES };
            let placed = placed(&program, &rules);
            let found = placed.program.nodes().iter().filter(|node| matches!(node.op, Op::Bootstrap { .. })).count();
            prop_assert_eq!(found, placed.bootstraps);
            prop_assert!(highest_levels(&program, &rules).is_err() || found == 0);
            // All nodes keep their values. Compare them as text, because sums of powers overflow and NaN differs from itself.
            let inputs = HashMap::from([("x".to_owned(), Values::real(&[0.5, -0.25, 0.125, 1.0, -1.0, 0.75, 0.0, 0.3]))]);
            let (before, after) = (evaluate(&program, &inputs).expect("inputs"), evaluate(&placed.program, &inputs).expect("inputs"));
            for (id, node) in program.iter().filter(|(_, node)| !matches!(node.op, Op::Output { .. })) {
                let (before, after) = (before.values(id), after.values(placed.nodes[id.index()]));
                prop_assert_eq!(format!("{before:?}"), format!("{after:?}"), "{:?}", node.op);
            }
        }
    }
}
