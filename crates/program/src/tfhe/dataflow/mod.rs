//! Flattens a homomorphic program to lookups of integer linear combinations of independent ciphertexts.
//!
//! All linear operations between lookups are composed into one combination per value read. So the noise of values that share a
//! source is exact, and a layer costs one pass. Equal combinations, and lookups of the same combination by the same function, are
//! computed once; unneeded ones are removed.
//!
//! A *column* is an independent ciphertext: an input element or a lookup result. Lookups are grouped in *levels*: level d reads
//! inputs and results of lower levels.

mod forms;
mod function;
mod prune;
mod size;

pub(crate) use forms::{Forms, Terms};
pub(crate) use function::{Function, FunctionKind};
pub use size::planning_bytes;

use crate::location::place;
use crate::tfhe::homomorphic::steps::{entries_in_units, table_requirement};
use crate::tfhe::homomorphic::{Gate, Node, NodeId, Op, Program, Range, op_name};
use forms::WeightOverflow;
use polyfabric_kernels::cancel;
use polyfabric_schemes::tfhe::noise::SHARED_TABLES;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use thiserror::Error;

/// Origin of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Level of the lookup; 0 for an input.
    pub level: u32,
    /// Index among the level's lookups or wide lookups, or among the elements of all inputs.
    pub index: u32,
    /// The result of a wide lookup.
    pub output: Option<u32>,
}

/// One lookup of one ciphertext.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup {
    /// The combination that it reads, a row of the level.
    pub row: u32,
    /// Index into [`Dataflow::functions`].
    pub function: u32,
    /// Adjacent lookups with equal nonzero group read one combination and can share a bootstrap.
    pub group: u32,
    /// The first node that needs it.
    pub origin: NodeId,
}

/// The entries of a wide table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WideTable {
    /// For each result, the entries in units.
    pub entries: Vec<Vec<i64>>,
    /// P of the results.
    pub step_out: u32,
}

/// One wide lookup of one number.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    /// The bits of the number, least significant first.
    pub bits: Vec<Bit>,
    /// Index into [`Dataflow::wide_tables`].
    pub table: u32,
    /// The first node that needs it.
    pub origin: NodeId,
}

/// A bit that is read as the sign of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bit {
    /// The combination, a row of the level.
    pub row: u32,
    /// Its sign; index into [`Dataflow::functions`].
    pub function: u32,
}

/// Lookups that can run together.
#[derive(Debug)]
pub(crate) struct Level {
    /// The distinct combinations.
    pub terms: Terms,
    /// Constant parts of the combinations, in units.
    pub bias: Vec<i64>,
    /// P of each combination.
    pub steps: Vec<u32>,
    pub lookups: Vec<Lookup>,
    pub wide: Vec<Wide>,
}

#[derive(Debug)]
pub(crate) struct OutputForms {
    pub name: Arc<str>,
    pub node: NodeId,
    pub forms: Forms,
}

#[derive(Debug)]
pub(crate) struct Dataflow {
    /// Node and name of each input; their elements are the first columns.
    pub inputs: Vec<(NodeId, Arc<str>)>,
    /// Origin of each column.
    pub sources: Vec<Source>,
    /// Levels from 1 on.
    pub levels: Vec<Level>,
    pub functions: Vec<Function>,
    pub wide_tables: Vec<WideTable>,
    pub outputs: Vec<OutputForms>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DataflowError {
    #[error(
        "{place}{op} {node}: composed with the linear operations before it, the weight of a ciphertext is {weight}, beyond 32 bits; put a lookup between them or use smaller weights"
    )]
    Weight {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        weight: i64,
    },
    #[error("the program has more than 2^32 - 1 independent ciphertexts; split it")]
    TooLarge,
}

struct Flattener<'a> {
    program: &'a Program,
    flow: Dataflow,
    forms: Vec<Forms>,
    /// Remaining readers of each node; its forms are freed when none remains.
    readers: Vec<u32>,
    depths: Vec<u32>,
    /// Rows of each level by the hash of terms, bias and step.
    rows: HashMap<(u32, u64), Vec<u32>>,
    columns: HashMap<(u32, u32, u32), u32>,
    functions: HashMap<Function, u32>,
    wide_tables: HashMap<WideTable, u32>,
    /// First column of the results of each wide lookup, by level, bits and table.
    wide_columns: HashMap<(u32, Vec<Bit>, u32), u32>,
    groups: u32,
}

impl Level {
    /// The distinct bits of all wide lookups.
    pub fn bits(&self) -> Vec<Bit> {
        let mut bits: Vec<Bit> = self.wide.iter().flat_map(|wide| wide.bits.iter().copied()).collect();
        bits.sort_unstable();
        bits.dedup();
        bits
    }

    /// The lookups of each bootstrap: a whole group if `shared`, otherwise one.
    pub fn rotations(&self, shared: bool) -> impl Iterator<Item = &[Lookup]> {
        self.lookups.chunk_by(move |a, b| shared && a.group != 0 && a.group == b.group)
    }
}

/// log2 of the distance between neighboring coefficients of one table, if `tables` share a test polynomial.
pub(crate) fn log2_tables(tables: usize) -> u32 {
    tables.next_power_of_two().trailing_zeros()
}

impl Dataflow {
    /// Level and group of the bootstrap that produces `source`, if it produces several results.
    pub(crate) fn rotation_of(&self, source: Source) -> Option<(u32, u32)> {
        let level = self.levels.get((source.level as usize).wrapping_sub(1)).filter(|_| source.output.is_none())?;
        let lookup = level.lookups.get(source.index as usize)?;
        (lookup.group != 0).then_some((source.level, lookup.group))
    }

    pub fn new(program: &Program) -> Result<Self, DataflowError> {
        let flow = Self {
            inputs: Vec::new(),
            sources: Vec::new(),
            levels: Vec::new(),
            functions: Vec::new(),
            wide_tables: Vec::new(),
            outputs: Vec::new(),
        };
        let mut flattener = Flattener {
            program,
            flow,
            forms: Vec::with_capacity(program.nodes().len()),
            readers: vec![0; program.nodes().len()],
            depths: Vec::with_capacity(program.nodes().len()),
            rows: HashMap::new(),
            columns: HashMap::new(),
            functions: HashMap::new(),
            wide_tables: HashMap::new(),
            wide_columns: HashMap::new(),
            groups: 0,
        };
        // Inputs come first, in the caller's order.
        for (id, name) in program.inputs() {
            flattener.flow.inputs.push((id, name.into()));
        }
        let mut input_columns = HashMap::new();
        for (id, _) in program.inputs() {
            let start = flattener.flow.sources.len();
            let length = program.node(id).length;
            u32::try_from(start + length).map_err(|_| DataflowError::TooLarge)?;
            let columns = start as u32..(start + length) as u32;
            flattener.flow.sources.extend(columns.clone().map(|index| Source { level: 0, index, output: None }));
            input_columns.insert(id, columns);
        }
        for operand in program.nodes().iter().flat_map(|node| &node.operands) {
            flattener.readers[operand.index()] += 1;
        }
        for (index, node) in program.nodes().iter().enumerate() {
            let id = NodeId(index as u32);
            let depth = node.operands.iter().map(|operand| flattener.depths[operand.index()]).max();
            flattener.depths.push(depth.unwrap_or(0));
            let forms = match input_columns.remove(&id) {
                Some(columns) => Forms::selection(columns.collect()),
                None => flattener.node(id, node)?,
            };
            flattener.forms.push(forms);
            // Free forms early; otherwise a sum in a loop would keep all its partial sums.
            for operand in &node.operands {
                let readers = &mut flattener.readers[operand.index()];
                *readers -= 1;
                if *readers == 0 {
                    flattener.forms[operand.index()] = Forms::constant(Vec::new());
                }
            }
        }
        flattener.flow.prune();
        Ok(flattener.flow)
    }
}

impl Flattener<'_> {
    fn node(&mut self, id: NodeId, node: &Node) -> Result<Forms, DataflowError> {
        let overflow = |WeightOverflow { weight }| DataflowError::Weight {
            place: place(node.location.as_ref()),
            op: op_name(&node.op),
            node: id,
            weight,
        };
        let operand = |index: usize| &self.forms[node.operands[index].index()];
        let steps = |index: usize| self.program.step(node.operands[index]);
        Ok(match &node.op {
            // Input columns exist already.
            Op::Input { .. } => Forms::constant(Vec::new()),
            Op::Constant { values } => {
                Forms::constant(values.iter().map(|&value| node.element.to_units(value)).collect())
            }
            Op::Add | Op::Sub => {
                let sign = if node.op == Op::Add { 1 } else { -1 };
                let [a, b] = [node.operands[0].index(), node.operands[1].index()];
                if self.readers[a] == 1 {
                    let mut sum = std::mem::replace(&mut self.forms[a], Forms::constant(Vec::new()));
                    if sum.append(&self.forms[b], sign).map_err(overflow)? {
                        return Ok(sum);
                    }
                    self.forms[a] = sum;
                }
                self.forms[a].combine(|_| 1, Some((&self.forms[b], sign))).map_err(overflow)?
            }
            Op::Neg | Op::Not => operand(0).combine(|_| -1, None).map_err(overflow)?,
            Op::AddClear { values } => {
                let Forms { terms, bias } = operand(0).clone();
                let bias = bias.iter().zip(values.iter()).map(|(a, b)| a.wrapping_add(*b)).collect();
                Forms { terms, bias }
            }
            Op::MulClear { values } => operand(0).combine(|row| values[row], None).map_err(overflow)?,
            Op::Linear { matrix, bias } => operand(0).apply(matrix, bias).map_err(overflow)?,
            Op::Select { indices } => operand(0).select(indices.iter().map(|&index| index as usize)),
            Op::Concat => Forms::concat(node.operands.iter().map(|operand| &self.forms[operand.index()])),
            Op::Assume => operand(0).clone(),
            Op::Output { name } => {
                let forms = operand(0).clone();
                self.flow.outputs.push(OutputForms { name: name.clone(), node: id, forms: forms.clone() });
                forms
            }
            Op::Sign => {
                let domain = self.units(node.operands[0]);
                let (forms, step_in) = (operand(0).clone(), steps(0));
                self.sign(id, &forms, domain, step_in, self.program.step(id))?
            }
            Op::Lookup { tables, choice, whole } => {
                let read = self.program.node(node.operands[0]).element;
                let (forms, step_in) = (operand(0).clone(), steps(0));
                let domain = self.units(node.operands[0]);
                let half = !*whole || u64::from(step_in) >= table_requirement(domain);
                let mut functions = Vec::new();
                for table in tables.iter() {
                    let entries = entries_in_units(table, read, node.element);
                    let kind = if half { FunctionKind::Table(entries) } else { FunctionKind::Whole(entries) };
                    let step_out = self.program.step(id);
                    functions.push(self.function(Function { domain, step_in, step_out, kind }));
                }
                let function = |row: usize| match choice {
                    Some(choice) => functions[choice[row] as usize],
                    None => functions[0],
                };
                self.lookups(id, &forms, step_in, |row, _| function(row), 1)?
            }
            Op::LookupEach { tables } => {
                let read = self.program.node(node.operands[0]).element;
                let (step_in, step_out) = (steps(0), self.program.step(id));
                let domain = self.units(node.operands[0]);
                // Tables that share a test polynomial make phases coarser, so spread the values over the whole available torus.
                let spread = (u64::from(step_in) / table_requirement(domain)).max(1) as i64;
                let forms = operand(0).combine(|_| spread, None).map_err(overflow)?;
                let domain = domain.checked_mul(spread).unwrap_or(domain);
                let mut functions = Vec::new();
                for table in tables.iter() {
                    let kind = FunctionKind::Table(entries_in_units(table, read, node.element));
                    functions.push(self.function(Function { domain, step_in, step_out, kind }));
                }
                self.lookups(id, &forms, step_in, |_, table| functions[table], functions.len())?
            }
            Op::LookupWide { widths, tables } => {
                let (forms, step_in) = (operand(0).clone(), steps(0));
                let entries = tables.iter().map(|table| table.values().to_vec()).collect();
                self.wide(id, &forms, (widths, step_in), WideTable { entries, step_out: self.program.step(id) })?
            }
            Op::Gate(gate) => {
                let (factor, bias) = match gate {
                    Gate::And => (1, -1),
                    Gate::Nand => (-1, 1),
                    Gate::Or => (1, 1),
                    Gate::Nor => (-1, -1),
                    Gate::Xor => (2, 2),
                    Gate::Xnor => (-2, -2),
                };
                self.gate(id, node.operands[0], node.operands[1], [factor, factor, bias]).map_err(|e| e.or(overflow))?
            }
            Op::Mux => {
                let [condition, then, otherwise] = [node.operands[0], node.operands[1], node.operands[2]];
                let taken = self.gate(id, condition, then, [1, 1, -1]).map_err(|e| e.or(overflow))?;
                let other = self.gate(id, condition, otherwise, [-1, 1, -1]).map_err(|e| e.or(overflow))?;
                // At most one of the two is +1, so their sum plus one unit is ±1.
                let mut sum = taken.combine(|_| 1, Some((&other, 1))).map_err(overflow)?;
                sum.bias.iter_mut().for_each(|bias| *bias += 1);
                sum
            }
        })
    }

    fn units(&self, node: NodeId) -> Range {
        // The builder rejects torus values as operands of lookups.
        self.program.node(node).element.units().unwrap_or(Range::point(0))
    }

    /// sign(factors[0] · a + factors[1] · b + factors[2]) for Booleans a and b.
    fn gate(&mut self, id: NodeId, a: NodeId, b: NodeId, factors: [i64; 3]) -> Result<Forms, GateError> {
        let [left, right, bias] = factors;
        let (x, y) = (&self.forms[a.index()], &self.forms[b.index()]);
        let mut sum = x.combine(|_| left, Some((y, right))).map_err(GateError::Weight)?;
        sum.bias.iter_mut().for_each(|value| *value += bias);
        // Values are factor · {-2, 0, 2} + bias.
        let magnitude = left.abs();
        let lo = bias - 2 * magnitude;
        let domain = Range::with_stride(lo, bias + 2 * magnitude, 2 * magnitude).unwrap_or(Range::sign());
        let step = self.program.step(id);
        self.sign(id, &sum, domain, step, step).map_err(GateError::Flow)
    }

    fn sign(
        &mut self,
        id: NodeId,
        forms: &Forms,
        domain: Range,
        step_in: u32,
        step_out: u32,
    ) -> Result<Forms, DataflowError> {
        let function = self.function(Function { domain, step_in, step_out, kind: FunctionKind::Sign });
        self.lookups(id, forms, step_in, |_, _| function, 1)
    }

    fn function(&mut self, function: Function) -> u32 {
        let next = self.flow.functions.len() as u32;
        *self.functions.entry(function).or_insert_with_key(|function| {
            self.flow.functions.push(function.clone());
            next
        })
    }

    fn lookups(
        &mut self,
        id: NodeId,
        forms: &Forms,
        step: u32,
        function: impl Fn(usize, usize) -> u32,
        tables: usize,
    ) -> Result<Forms, DataflowError> {
        let level = self.new_level(id);
        let mut columns = vec![0; forms.len() * tables];
        for index in 0..forms.len() {
            let row = self.row(level, forms.terms.row(index), forms.bias[index], step);
            for table in 0..tables {
                // Evaluation keys support at most SHARED_TABLES tables per bootstrap.
                self.groups += u32::from(tables > 1 && table % SHARED_TABLES == 0);
                let group = if tables > 1 { self.groups } else { 0 };
                let function = function(index, table);
                let next = u32::try_from(self.flow.sources.len()).map_err(|_| DataflowError::TooLarge)?;
                let column = *self.columns.entry((level, row, function)).or_insert(next);
                if column == next {
                    let lookups = &mut self.flow.levels[level as usize - 1].lookups;
                    self.flow.sources.push(Source { level, index: lookups.len() as u32, output: None });
                    lookups.push(Lookup { row, function, group, origin: id });
                }
                columns[table * forms.len() + index] = column;
            }
        }
        Ok(Forms::selection(columns))
    }

    /// The level of node `id`, which reads results of the levels below.
    fn new_level(&mut self, id: NodeId) -> u32 {
        let below = self.program.node(id).operands.iter().map(|operand| self.depths[operand.index()]).max();
        let level = below.unwrap_or(0) + 1;
        self.depths[id.index()] = level;
        while self.flow.levels.len() < level as usize {
            let (terms, bias, steps) = (Terms::new(), Vec::new(), Vec::new());
            self.flow.levels.push(Level { terms, bias, steps, lookups: Vec::new(), wide: Vec::new() });
        }
        level
    }

    /// Wide lookups of the numbers whose digits are `forms`, with step 1/P = 1/`step`, a power of two.
    ///
    /// Digit v times P/2^(j+1) is v/2^(j+1) modulo 1: the bits of v up to bit j, with bit j as the sign of v·P/2^(j+1) − P/2.
    fn wide(
        &mut self,
        id: NodeId,
        forms: &Forms,
        (widths, step): (&[u32], u32),
        table: WideTable,
    ) -> Result<Forms, DataflowError> {
        let level = self.new_level(id);
        let (count, results) = (forms.len() / widths.len(), table.entries.len());
        let next = self.flow.wide_tables.len() as u32;
        let table = *self.wide_tables.entry(table).or_insert_with_key(|table| {
            self.flow.wide_tables.push(table.clone());
            next
        });
        let half = i64::from(step) / 2;
        // Weights count modulo P; the least have the least noise.
        let centered = |value: i64| (value + half).rem_euclid(i64::from(step)) - half;
        let mut columns = vec![0; count * results];
        for element in 0..count {
            let mut bits = Vec::new();
            for (digit, &width) in widths.iter().enumerate() {
                let place = digit * count + element;
                for bit in 0..width {
                    let factor = half >> bit;
                    let (sources, weights) = forms.terms.row(place);
                    let scaled = sources.iter().zip(weights);
                    let scaled = scaled.map(|(&source, &weight)| (source, centered(i64::from(weight) * factor)));
                    let (sources, weights): (Vec<u32>, Vec<i32>) = scaled
                        .filter(|(_, weight)| *weight != 0)
                        .map(|(source, weight)| (source, weight as i32))
                        .unzip();
                    let bias = centered(forms.bias[place].wrapping_mul(factor) - half);
                    let row = self.row(level, (&sources, &weights), bias, step);
                    let domain = Range::with_stride(-half, half - factor, factor).unwrap_or(Range::point(0));
                    let kind = FunctionKind::Sign;
                    let function = self.function(Function { domain, step_in: step, step_out: step, kind });
                    bits.push(Bit { row, function });
                }
            }
            let next = self.flow.sources.len();
            u32::try_from(next + results).map_err(|_| DataflowError::TooLarge)?;
            let first = *self.wide_columns.entry((level, bits.clone(), table)).or_insert(next as u32);
            if first as usize == next {
                let wide = &mut self.flow.levels[level as usize - 1].wide;
                let index = wide.len() as u32;
                let made = (0..results as u32).map(|output| Source { level, index, output: Some(output) });
                self.flow.sources.extend(made);
                wide.push(Wide { bits, table, origin: id });
            }
            for result in 0..results {
                columns[result * count + element] = first + result as u32;
            }
        }
        Ok(Forms::selection(columns))
    }

    /// The row of `level` with these terms, created if missing.
    fn row(&mut self, level: u32, (columns, weights): (&[u32], &[i32]), bias: i64, step: u32) -> u32 {
        cancel::check();
        let mut hasher = DefaultHasher::new();
        (columns, weights, bias, step).hash(&mut hasher);
        let target = &mut self.flow.levels[level as usize - 1];
        let candidates = self.rows.entry((level, hasher.finish())).or_default();
        let same = |&&row: &&u32| {
            let row = row as usize;
            target.terms.row(row) == (columns, weights) && target.bias[row] == bias && target.steps[row] == step
        };
        if let Some(&row) = candidates.iter().find(same) {
            return row;
        }
        let row = target.bias.len() as u32;
        target.terms.push(columns, weights);
        target.bias.push(bias);
        target.steps.push(step);
        candidates.push(row);
        row
    }
}

enum GateError {
    Weight(WeightOverflow),
    Flow(DataflowError),
}

impl GateError {
    fn or(self, overflow: impl Fn(WeightOverflow) -> DataflowError) -> DataflowError {
        match self {
            Self::Weight(weight) => overflow(weight),
            Self::Flow(error) => error,
        }
    }
}
