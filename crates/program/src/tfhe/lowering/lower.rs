//! Lowers a homomorphic program to a kernel program.
//!
//! Each level of the flattened program becomes one batch, or one batch per number of tables that share a rotation:
//!
//! | key switch | operations of a level |
//! |---|---|
//! | none, after | linear, modulus switch, (gather), blind rotation, sample extraction, (key switch) |
//! | before | linear, key switch, modulus switch, (gather), blind rotation, sample extraction |
//!
//! A level with wide lookups also has, for all their bits: modulus switch, gather, blind rotation, circuit bootstrapping; and for each shape of
//! table: packed lookup, sample extraction, (key switch).
//!
//! The linear step is omitted where a level reads values unchanged. Functions of one combination share its key switch and
//! modulus switch; the gather repeats the indices.

use super::{KeySwitchOrder, LoweringError, TfheLowering};
use crate::location::place;
use crate::tfhe::dataflow::{Dataflow, Level, Lookup, OutputForms, Source, Terms, WideTable, log2_tables};
use crate::tfhe::homomorphic::{NodeId, Program, op_name};
use crate::tfhe::kernel::{
    Body, KernelProgram, Op, OpKind, Output, TableChoice, TestPolynomial, ValueId, ValueType, blind_rotation_body,
    key_switch_body, unrolled_rotation_body,
};
use crate::tfhe::matrix::MatrixBuilder;
use polyfabric_kernels::{Gadget, cancel};
use polyfabric_schemes::tfhe::encoding::TorusStep;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{KeyUnrolling, LweKind, Parameters};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Lowers `program` for `parameters` with `choice`.
///
/// # Errors
/// [`LoweringError`]. The noise is checked separately, by [`crate::tfhe::noise`].
pub fn lower(
    program: &Program,
    parameters: &Parameters,
    choice: &TfheLowering,
) -> Result<KernelProgram, LoweringError> {
    let flow = Dataflow::new(program)?;
    let mut lowering = Lowering::new(program, &flow, parameters, choice)?;
    for (id, name) in &flow.inputs {
        let result = lowering.lwe(program.node(*id).length, lowering.input_kind());
        let value = lowering.push(OpKind::Input { name: name.clone() }, Vec::new(), result, Some(*id));
        lowering.producers.push(Producer { value, count: result.count() });
    }
    let stage = cancel::stage("lowering", flow.levels.len());
    for level in &flow.levels {
        stage.step();
        lowering.level(level)?;
    }
    drop(stage);
    for output in &flow.outputs {
        lowering.output(output)?;
    }
    let lowered = KernelProgram {
        name: program.name().into(),
        parameters: parameters.clone(),
        choice: choice.clone(),
        tables: lowering.tables,
        ops: lowering.ops,
        outputs: lowering.outputs,
    };
    lowered.check()?;
    Ok(lowered)
}

fn choice_of(tables: Vec<u32>) -> TableChoice {
    match tables.iter().all(|&table| table == tables[0]) {
        true => TableChoice::Shared(tables[0]),
        false => TableChoice::PerCiphertext(tables.into()),
    }
}

/// log2 of the coefficients of an entry with so many results.
fn log2_outputs(results: usize) -> u32 {
    results.next_power_of_two().ilog2()
}

/// A value that columns are read from: an input, or a batch of lookup results.
#[derive(Clone, Copy)]
struct Producer {
    value: ValueId,
    count: usize,
}

struct Lowering<'a> {
    program: &'a Program,
    flow: &'a Dataflow,
    parameters: &'a Parameters,
    order: KeySwitchOrder,
    rotation: Arc<Body>,
    switch: Option<Arc<Body>>,
    input_starts: Vec<usize>,
    /// Inputs, then the batches of all levels so far.
    producers: Vec<Producer>,
    tables: Vec<TestPolynomial>,
    table_of_functions: HashMap<Vec<u32>, u32>,
    /// Producer and item of each lookup, by level.
    places: Vec<Vec<(usize, usize)>>,
    /// Producer and first item of each wide lookup, by level.
    wide_places: Vec<Vec<(usize, usize)>>,
    /// First test polynomial of each wide table.
    table_of_wide: HashMap<u32, u32>,
    rounding: PhaseRounding,
    shared_rotations: bool,
    table_index: HashMap<TestPolynomial, u32>,
    ops: Vec<Op>,
    outputs: Vec<Output>,
}

/// Linear combinations to compute: rows of weights, constants in units, and P of each row.
struct Combinations<'a> {
    terms: &'a Terms,
    bias: &'a [i64],
    step: &'a dyn Fn(usize) -> u32,
    kind: LweKind,
    origin: NodeId,
}

impl<'a> Lowering<'a> {
    fn new(
        program: &'a Program,
        flow: &'a Dataflow,
        parameters: &'a Parameters,
        choice: &TfheLowering,
    ) -> Result<Self, LoweringError> {
        let unrolling = parameters.unrolling(Some(choice.key_unrolling))?;
        let large = parameters.large_lwe_dimension().get();
        let order = match choice.key_switch {
            KeySwitchOrder::None => None,
            KeySwitchOrder::Before => Some("before the blind rotation"),
            KeySwitchOrder::After => Some("after it"),
        };
        let switch = match (order, parameters.key_switch_gadget()) {
            (None, _) => None,
            (Some(_), Some(gadget)) => Some(key_switch_body(large, gadget.levels)),
            (Some(order), None) => {
                return Err(LoweringError::NoKeySwitchKey { set: parameters.name().to_owned(), order });
            }
        };
        let (k, levels) = (parameters.glwe_dimension().get(), parameters.bootstrap_gadget().levels);
        let rotation = match unrolling {
            KeyUnrolling::ONE => blind_rotation_body(k, levels, parameters.lwe_dimension().get(), choice),
            _ => {
                let iterations = unrolling.iterations(parameters.lwe_dimension());
                unrolled_rotation_body(k, levels, (iterations, unrolling), choice)
            }
        };
        let mut input_starts = vec![0];
        for (id, _) in &flow.inputs {
            input_starts.push(input_starts[input_starts.len() - 1] + program.node(*id).length);
        }
        Ok(Self {
            program,
            flow,
            parameters,
            order: choice.key_switch,
            rotation,
            switch,
            input_starts,
            producers: Vec::new(),
            tables: Vec::new(),
            table_of_functions: HashMap::new(),
            places: Vec::new(),
            wide_places: Vec::new(),
            table_of_wide: HashMap::new(),
            rounding: choice.rounding,
            shared_rotations: choice.shared_rotations,
            table_index: HashMap::new(),
            ops: Vec::new(),
            outputs: Vec::new(),
        })
    }

    fn input_kind(&self) -> LweKind {
        if self.order == KeySwitchOrder::Before { LweKind::Large } else { LweKind::Small }
    }

    fn lwe(&self, count: usize, kind: LweKind) -> ValueType {
        let dimension = match kind {
            LweKind::Small => self.parameters.lwe_dimension(),
            LweKind::Large => self.parameters.large_lwe_dimension(),
        };
        ValueType::Lwe { count, kind, dimension: dimension.get() }
    }

    fn indices(&self, count: usize) -> ValueType {
        ValueType::Indices {
            count,
            dimension: self.parameters.lwe_dimension().get(),
            log2_modulus: self.parameters.ring_degree().log2() + 1,
        }
    }

    fn push(&mut self, kind: OpKind, operands: Vec<ValueId>, result: ValueType, origin: Option<NodeId>) -> ValueId {
        self.ops.push(Op { kind, operands, result, origin });
        ValueId(self.ops.len() as u32 - 1)
    }

    /// Index of the producer of `source`, and the item within it.
    fn locate(&self, source: Source) -> (usize, usize) {
        let index = source.index as usize;
        if let Some(output) = source.output {
            let (producer, first) = self.wide_places[source.level as usize - 1][index];
            (producer, first + output as usize)
        } else if source.level == 0 {
            let input = self.input_starts.partition_point(|&start| start <= index) - 1;
            (input, index - self.input_starts[input])
        } else {
            self.places[source.level as usize - 1][index]
        }
    }

    /// A value with the wanted combinations: an existing one if possible, otherwise a gather or a linear operation.
    fn combine(&mut self, wanted: &Combinations<'_>) -> Result<ValueId, LoweringError> {
        let rows = wanted.terms.rows();
        let mut used = vec![false; self.producers.len()];
        let mut plain = true;
        for row in 0..rows {
            let (columns, weights) = wanted.terms.row(row);
            cancel::check();
            plain &= weights == [1] && wanted.bias[row] == 0;
            for &column in columns {
                used[self.locate(self.flow.sources[column as usize]).0] = true;
            }
        }
        let mut starts = vec![0; self.producers.len()];
        let mut operands = Vec::new();
        let mut total = 0;
        for (index, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            starts[index] = total;
            total += self.producers[index].count;
            operands.push(self.producers[index].value);
        }
        let position = |column: u32| {
            let (producer, item) = self.locate(self.flow.sources[column as usize]);
            starts[producer] + item
        };
        let result = self.lwe(rows, wanted.kind);
        if plain {
            let indices: Vec<u32> = (0..rows).map(|row| position(wanted.terms.row(row).0[0]) as u32).collect();
            let whole = operands.len() == 1 && total == rows;
            if whole && indices.iter().enumerate().all(|(at, &index)| at == index as usize) {
                return Ok(operands[0]);
            }
            return Ok(self.push(OpKind::Gather { indices: indices.into() }, operands, result, Some(wanted.origin)));
        }
        let mut builder = MatrixBuilder::new(total).map_err(|_| crate::tfhe::DataflowError::TooLarge)?;
        for row in 0..rows {
            let (columns, weights) = wanted.terms.row(row);
            cancel::check();
            let terms = columns.iter().zip(weights).map(|(&column, &weight)| (position(column), i64::from(weight)));
            // Cannot fail for weights: columns are distinct and weights have 32 bits.
            builder.push_row(terms).map_err(|_| crate::tfhe::DataflowError::TooLarge)?;
        }
        let bias = (0..rows).map(|row| self.torus(wanted.bias[row], (wanted.step)(row))).collect();
        let kind = OpKind::Linear { matrix: Arc::new(builder.finish()), bias };
        Ok(self.push(kind, operands, result, Some(wanted.origin)))
    }

    fn torus(&self, units: i64, step: u32) -> u64 {
        let step = TorusStep { denominator: step };
        match self.parameters.torus_bits() {
            32 => u64::from(step.encode::<u32>(units)),
            _ => step.encode::<u64>(units),
        }
    }

    fn level(&mut self, level: &Level) -> Result<(), LoweringError> {
        // Pruning removed empty levels.
        let origins = level.lookups.iter().map(|lookup| lookup.origin).chain(level.wide.iter().map(|wide| wide.origin));
        let origin = origins.min().unwrap_or(NodeId(0));
        let chained = self.producers.len() > self.flow.inputs.len();
        if self.order == KeySwitchOrder::None && chained && !self.parameters.has_one_lwe_key() {
            let node = self.program.node(origin);
            let place = place(node.location.as_ref());
            return Err(LoweringError::Chained { place, op: op_name(&node.op), node: origin });
        }
        let mut value = self.combine(&Combinations {
            terms: &level.terms,
            bias: &level.bias,
            step: &|row| level.steps[row],
            kind: self.input_kind(),
            origin,
        })?;
        let rows = level.bias.len();
        if let (KeySwitchOrder::Before, Some(body)) = (self.order, self.switch.clone()) {
            let result = self.lwe(rows, LweKind::Small);
            value = self.push(OpKind::KeySwitch { body }, vec![value], result, Some(origin));
        }
        // Batches rotations that have equally many tables.
        let mut rotations: BTreeMap<usize, Vec<&[Lookup]>> = BTreeMap::new();
        for lookups in level.rotations(self.shared_rotations) {
            rotations.entry(lookups.len()).or_default().push(lookups);
        }
        let mut places = vec![(0, 0); level.lookups.len()];
        let mut rest = level.lookups.iter().enumerate();
        let mut next = vec![0; rotations.len()];
        for lookups in level.rotations(self.shared_rotations) {
            let batch = rotations.keys().position(|&tables| tables == lookups.len()).unwrap_or(0);
            for (at, _) in rest.by_ref().take(lookups.len()) {
                places[at] = (self.producers.len() + batch, next[batch]);
                next[batch] += 1;
            }
        }
        self.places.push(places);
        for (tables, rotations) in rotations {
            self.rotate(value, rows, tables, &rotations, origin);
        }
        self.wide(value, level)
    }

    /// The wide lookups of `level`, whose combinations are `value`.
    fn wide(&mut self, value: ValueId, level: &Level) -> Result<(), LoweringError> {
        let mut places = vec![(0, 0); level.wide.len()];
        let bits = level.bits();
        let Some(first) = level.wide.first().filter(|_| !bits.is_empty()) else {
            self.wide_places.push(places);
            return Ok(());
        };
        let origin = Some(first.origin);
        let Some(gadgets) = self.parameters.circuit() else {
            let node = self.program.node(first.origin);
            let (place, set) = (place(node.location.as_ref()), self.parameters.name().to_owned());
            return Err(LoweringError::NoCircuit { place, op: op_name(&node.op), node: first.origin, set });
        };
        let log2_tables = log2_tables(gadgets.ggsw.levels as usize);
        let switch = OpKind::ModulusSwitch { rounding: self.rounding, log2_tables };
        let rows = level.bias.len();
        let mut made = self.push(switch, vec![value], self.indices(rows), origin);
        if rows != bits.len() || bits.iter().enumerate().any(|(at, bit)| bit.row as usize != at) {
            let indices = bits.iter().map(|bit| bit.row).collect();
            made = self.push(OpKind::Gather { indices }, vec![made], self.indices(bits.len()), origin);
        }
        let tables: Vec<u32> = bits.iter().map(|bit| self.bit_table(bit.function, gadgets.ggsw)).collect();
        let rotation = OpKind::BlindRotation { tables: choice_of(tables), body: self.rotation.clone() };
        made = self.push(rotation, vec![made], ValueType::Glwe { count: bits.len() }, origin);
        made = self.push(OpKind::CircuitBootstrap, vec![made], ValueType::Ggsw { count: bits.len() }, origin);
        // Batches tables of one shape.
        let mut shapes: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (at, wide) in level.wide.iter().enumerate() {
            let results = self.flow.wide_tables[wide.table as usize].entries.len();
            shapes.entry((wide.bits.len(), results)).or_default().push(at);
        }
        for ((width, results), lookups) in shapes {
            let mut items = Vec::with_capacity(width * lookups.len());
            let mut tables = Vec::with_capacity(lookups.len());
            for (item, &at) in lookups.iter().enumerate() {
                let wide = &level.wide[at];
                // Every bit is among the distinct ones, which are sorted.
                items.extend(wide.bits.iter().map(|bit| bits.partition_point(|known| known < bit) as u32));
                tables.push(self.wide_table(wide.table));
                places[at] = (self.producers.len(), item * results);
            }
            let (count, log2_outputs) = (lookups.len(), log2_outputs(results));
            let kind = OpKind::PackedLookup {
                width: width as u32,
                log2_outputs,
                bits: items.into(),
                tables: choice_of(tables),
            };
            let read = self.push(kind, vec![made], ValueType::Glwe { count }, origin);
            self.extract(read, count * results, results, origin);
        }
        self.wide_places.push(places);
        Ok(())
    }

    /// Index of the test polynomial for the sign `function`, with the multiples of a bit in turns.
    fn bit_table(&mut self, function: u32, ggsw: Gadget) -> u32 {
        let degree = self.parameters.ring_degree().get();
        let bits = self.parameters.torus_bits();
        let turns = 1 << log2_tables(ggsw.levels as usize);
        let of = |level: u32| {
            let half = 1 << (bits - ggsw.log2_base * (level + 1) - 1);
            self.flow.functions[function as usize].signs(degree / turns, bits, half)
        };
        let parts: Vec<TestPolynomial> = (0..ggsw.levels).map(of).collect();
        self.known_table(TestPolynomial::in_turns(&parts, degree))
    }

    /// Index of the first polynomial of a wide table.
    fn wide_table(&mut self, table: u32) -> u32 {
        if let Some(&first) = self.table_of_wide.get(&table) {
            return first;
        }
        let WideTable { entries, step_out } = &self.flow.wide_tables[table as usize];
        let torus = |entries: &Vec<i64>| entries.iter().map(|&entry| self.torus(entry, *step_out)).collect();
        let outputs: Vec<Vec<u64>> = entries.iter().map(torus).collect();
        let first = self.tables.len() as u32;
        let degree = self.parameters.ring_degree().get();
        self.tables.extend(TestPolynomial::packed(&outputs, log2_outputs(outputs.len()), degree));
        self.table_of_wide.insert(table, first);
        first
    }

    /// Extracts `results` of `value`, `each` of every ciphertext, up to the key switch.
    fn extract(&mut self, value: ValueId, results: usize, each: usize, origin: Option<NodeId>) {
        let extract = OpKind::SampleExtract { coefficients: each as u32 };
        let mut value = self.push(extract, vec![value], self.lwe(results, self.parameters.extracted_key()), origin);
        if let (KeySwitchOrder::After, Some(body)) = (self.order, self.switch.clone()) {
            let result = self.lwe(results, LweKind::Small);
            value = self.push(OpKind::KeySwitch { body }, vec![value], result, origin);
        }
        self.producers.push(Producer { value, count: results });
    }

    /// Blind rotations of the rows of `value`, each for the lookups in `rotations[i]`, up to the key switch.
    fn rotate(&mut self, value: ValueId, rows: usize, tables: usize, rotations: &[&[Lookup]], origin: NodeId) {
        let (count, results) = (rotations.len(), rotations.len() * tables);
        let switch = OpKind::ModulusSwitch { rounding: self.rounding, log2_tables: log2_tables(tables) };
        let mut value = self.push(switch, vec![value], self.indices(rows), Some(origin));
        let in_order = |(at, lookups): (usize, &&[Lookup])| at == lookups[0].row as usize;
        if rows != count || !rotations.iter().enumerate().all(in_order) {
            let indices = rotations.iter().map(|lookups| lookups[0].row).collect();
            value = self.push(OpKind::Gather { indices }, vec![value], self.indices(count), Some(origin));
        }
        let tables_of = |lookups: &&[Lookup]| self.table(lookups.iter().map(|lookup| lookup.function).collect());
        let chosen: Vec<u32> = rotations.iter().map(tables_of).collect();
        let rotation = OpKind::BlindRotation { tables: choice_of(chosen), body: self.rotation.clone() };
        value = self.push(rotation, vec![value], ValueType::Glwe { count }, Some(origin));
        self.extract(value, results, tables, Some(origin));
    }

    /// Index of the test polynomial that interleaves `functions`.
    fn table(&mut self, functions: Vec<u32>) -> u32 {
        if let Some(&table) = self.table_of_functions.get(&functions) {
            return table;
        }
        let degree = self.parameters.ring_degree().get();
        let bits = self.parameters.torus_bits();
        let turns = 1 << log2_tables(functions.len());
        let of = |&function: &u32| self.flow.functions[function as usize].test_polynomial(degree / turns, bits);
        let polynomial = TestPolynomial::in_turns(&functions.iter().map(of).collect::<Vec<_>>(), degree);
        let table = self.known_table(polynomial);
        self.table_of_functions.insert(functions, table);
        table
    }

    /// Index of `polynomial` among the tables.
    fn known_table(&mut self, polynomial: TestPolynomial) -> u32 {
        let next = self.tables.len() as u32;
        *self.table_index.entry(polynomial).or_insert_with_key(|polynomial| {
            self.tables.push(polynomial.clone());
            next
        })
    }

    fn output(&mut self, output: &OutputForms) -> Result<(), LoweringError> {
        let mut kind = self.input_kind();
        if self.order == KeySwitchOrder::None && !self.parameters.has_one_lwe_key() {
            let (mut inputs, mut results) = (false, false);
            for row in 0..output.forms.terms.rows() {
                for &column in output.forms.terms.row(row).0 {
                    let input = self.flow.sources[column as usize].level == 0;
                    inputs |= input;
                    results |= !input;
                }
            }
            if inputs && results {
                let place = place(self.program.node(output.node).location.as_ref());
                return Err(LoweringError::MixedKeys { place, name: output.name.to_string() });
            }
            if results {
                kind = LweKind::Large;
            }
        }
        let step = self.program.step(output.node);
        let (terms, bias) = (&*output.forms.terms, &output.forms.bias[..]);
        let value = self.combine(&Combinations { terms, bias, step: &|_| step, kind, origin: output.node })?;
        self.outputs.push(Output { name: output.name.clone(), value });
        Ok(())
    }
}
