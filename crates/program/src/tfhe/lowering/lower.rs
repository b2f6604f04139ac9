//! From the homomorphic program to the kernel program.
//!
//! Each level of the flattened program becomes one batch:
//!
//! | key switch | operations of a level |
//! |---|---|
//! | none, after | linear, modulus switch, (gather), blind rotation, sample extraction, (key switch) |
//! | before | linear, key switch, modulus switch, (gather), blind rotation, sample extraction |
//!
//! The linear step disappears where a level reads values as they are. Where several functions read one combination,
//! its key switch and modulus switch are done once, and the gather repeats the indices.

use super::{KeySwitchOrder, LoweringError, TfheLowering};
use crate::location::place;
use crate::tfhe::dataflow::{Dataflow, Level, OutputForms, Source, Terms};
use crate::tfhe::homomorphic::{NodeId, Program, op_name};
use crate::tfhe::kernel::{
    Body, KernelProgram, Op, OpKind, Output, TableChoice, TestPolynomial, ValueId, ValueType, blind_rotation_body,
    key_switch_body, unrolled_rotation_body,
};
use crate::tfhe::matrix::MatrixBuilder;
use polyfabric_schemes::tfhe::encoding::TorusStep;
use polyfabric_schemes::tfhe::{KeyUnrolling, LweKind, Parameters};
use std::collections::HashMap;
use std::sync::Arc;

/// Lowers `program` for `parameters` with `choice`.
///
/// # Errors
/// [`LoweringError`]; the noise is not checked here, see [`crate::tfhe::noise`].
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
    for level in &flow.levels {
        lowering.level(level)?;
    }
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

/// A value that holds columns: an input, or the results of a level.
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
    /// Inputs, then levels.
    producers: Vec<Producer>,
    tables: Vec<TestPolynomial>,
    table_of_function: Vec<Option<u32>>,
    table_index: HashMap<TestPolynomial, u32>,
    ops: Vec<Op>,
    outputs: Vec<Output>,
}

/// Combinations to compute: rows of weights, constants in units, and P of each row.
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
        let unrolling = KeyUnrolling::new(choice.key_unrolling)?;
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
            _ => unrolled_rotation_body(k, levels, unrolling.iterations(parameters.lwe_dimension()), choice),
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
            table_of_function: vec![None; flow.functions.len()],
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
        if source.level == 0 {
            let input = self.input_starts.partition_point(|&start| start <= index) - 1;
            (input, index - self.input_starts[input])
        } else {
            (self.flow.inputs.len() + source.level as usize - 1, index)
        }
    }

    /// A value that holds the combinations, made by as little as possible.
    fn combine(&mut self, wanted: &Combinations<'_>) -> Result<ValueId, LoweringError> {
        let rows = wanted.terms.rows();
        let mut used = vec![false; self.producers.len()];
        let mut plain = true;
        for row in 0..rows {
            let (columns, weights) = wanted.terms.row(row);
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
            let terms = columns.iter().zip(weights).map(|(&column, &weight)| (position(column), i64::from(weight)));
            // Weights are distinct columns' 32-bit weights already.
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
        // A level has a look-up: empty ones are removed.
        let origin = level.lookups[0].origin;
        let chained = self.producers.len() > self.flow.inputs.len();
        if self.order == KeySwitchOrder::None && chained {
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
        let count = level.lookups.len();
        if let (KeySwitchOrder::Before, Some(body)) = (self.order, self.switch.clone()) {
            let result = self.lwe(rows, LweKind::Small);
            value = self.push(OpKind::KeySwitch { body }, vec![value], result, Some(origin));
        }
        value = self.push(OpKind::ModulusSwitch, vec![value], self.indices(rows), Some(origin));
        let in_order = |(at, lookup): (usize, &crate::tfhe::dataflow::Lookup)| at == lookup.row as usize;
        if rows != count || !level.lookups.iter().enumerate().all(in_order) {
            let indices = level.lookups.iter().map(|lookup| lookup.row).collect();
            value = self.push(OpKind::Gather { indices }, vec![value], self.indices(count), Some(origin));
        }
        let tables: Vec<u32> = level.lookups.iter().map(|lookup| self.table(lookup.function)).collect();
        let tables = match tables.iter().all(|&table| table == tables[0]) {
            true => TableChoice::Shared(tables[0]),
            false => TableChoice::PerCiphertext(tables.into()),
        };
        let rotation = OpKind::BlindRotation { tables, body: self.rotation.clone() };
        value = self.push(rotation, vec![value], ValueType::Glwe { count }, Some(origin));
        let large = self.lwe(count, LweKind::Large);
        value = self.push(OpKind::SampleExtract, vec![value], large, Some(origin));
        if let (KeySwitchOrder::After, Some(body)) = (self.order, self.switch.clone()) {
            let result = self.lwe(count, LweKind::Small);
            value = self.push(OpKind::KeySwitch { body }, vec![value], result, Some(origin));
        }
        self.producers.push(Producer { value, count });
        Ok(())
    }

    fn table(&mut self, function: u32) -> u32 {
        if let Some(table) = self.table_of_function[function as usize] {
            return table;
        }
        let degree = self.parameters.ring_degree().get();
        let bits = self.parameters.torus_bits();
        let polynomial = self.flow.functions[function as usize].test_polynomial(degree, bits);
        let next = self.tables.len() as u32;
        let table = *self.table_index.entry(polynomial).or_insert_with_key(|polynomial| {
            self.tables.push(polynomial.clone());
            next
        });
        self.table_of_function[function as usize] = Some(table);
        table
    }

    fn output(&mut self, output: &OutputForms) -> Result<(), LoweringError> {
        let mut kind = self.input_kind();
        if self.order == KeySwitchOrder::None {
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
