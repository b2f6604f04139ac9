//! Consistency checks of kernel programs, for results of the lowering and parsed text alike.

use super::{Body, BodyType, KernelProgram, Op, OpKind, Primitive, TableChoice, ValueId, ValueType};
use crate::tfhe::homomorphic::MAX_WIDTH;
use crate::tfhe::lowering::Arithmetic;
use polyfabric_kernels::cancel;
use polyfabric_schemes::tfhe::{KeyUnrolling, LweKind};
use thiserror::Error;

/// An inconsistency of a kernel program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KernelError {
    #[error("operation {at}: operand {operand} is not defined before it; order the operations")]
    Operand { at: ValueId, operand: ValueId },
    #[error("operation {at} ({op}): {problem}; correct its operands")]
    Operands { at: ValueId, op: &'static str, problem: String },
    #[error("operation {at} ({op}): its result is {found:?}, but the operation gives {expected:?}; correct the type")]
    Result { at: ValueId, op: &'static str, found: ValueType, expected: ValueType },
    #[error("table {table}: {problem}; correct the table")]
    Table { table: usize, problem: String },
    #[error("operation {at}: in its body, {problem}; correct the body")]
    Body { at: ValueId, problem: String },
    #[error("output {name:?} is {value}, which is no LWE value of the program; name one")]
    Output { name: String, value: ValueId },
    #[error("the {what} name {name:?} is used twice; rename one")]
    Name {
        /// "input" or "output".
        what: &'static str,
        name: String,
    },
}

/// Name in the text form and in messages.
pub fn op_name(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::Input { .. } => "input",
        OpKind::Linear { .. } => "linear",
        OpKind::Gather { .. } => "gather",
        OpKind::KeySwitch { .. } => "key_switch",
        OpKind::ModulusSwitch { .. } => "modulus_switch",
        OpKind::BlindRotation { .. } => "blind_rotation",
        OpKind::SampleExtract { .. } => "sample_extract",
        OpKind::CircuitBootstrap => "circuit_bootstrap",
        OpKind::PackedLookup { .. } => "packed_lookup",
    }
}

impl KernelProgram {
    pub fn lwe_type(&self, count: usize, kind: LweKind) -> ValueType {
        let dimension = match kind {
            LweKind::Small => self.parameters.lwe_dimension(),
            LweKind::Large => self.parameters.large_lwe_dimension(),
        };
        ValueType::Lwe { count, kind, dimension: dimension.get() }
    }

    pub fn indices_type(&self, count: usize) -> ValueType {
        ValueType::Indices {
            count,
            dimension: self.parameters.lwe_dimension().get(),
            log2_modulus: self.parameters.ring_degree().log2() + 1,
        }
    }

    /// Checks operands, types, tables, bodies and names.
    ///
    /// # Errors
    /// The first [`KernelError`], in program order.
    pub fn check(&self) -> Result<(), KernelError> {
        let degree = self.parameters.ring_degree().get() as u64;
        for (table, polynomial) in self.tables.iter().enumerate() {
            cancel::check();
            let found = polynomial.degree();
            if found != degree {
                let problem = format!("it has {found} coefficients, the ring degree is {degree}");
                return Err(KernelError::Table { table, problem });
            }
        }
        let mut checked_bodies = std::collections::HashSet::new();
        for (index, op) in self.ops.iter().enumerate() {
            cancel::check();
            let at = ValueId(index as u32);
            if let Some(&operand) = op.operands.iter().find(|operand| operand.index() >= index) {
                return Err(KernelError::Operand { at, operand });
            }
            let expected = self.result_type(at, op)?;
            if op.result != expected {
                return Err(KernelError::Result { at, op: op_name(&op.kind), found: op.result, expected });
            }
            if let OpKind::KeySwitch { body } | OpKind::BlindRotation { body, .. } = &op.kind {
                let rotation = matches!(op.kind, OpKind::BlindRotation { .. });
                // Operations share bodies: check each only once.
                let key = (std::ptr::from_ref::<Body>(body), rotation);
                if checked_bodies.insert(key) {
                    self.check_body(body, rotation).map_err(|problem| KernelError::Body { at, problem })?;
                }
            }
        }
        let mut names = std::collections::HashSet::new();
        if let Some((name, ..)) = self.inputs().find(|(name, ..)| !names.insert(*name)) {
            return Err(KernelError::Name { what: "input", name: name.to_owned() });
        }
        names.clear();
        for output in &self.outputs {
            let lwe = self.ops.get(output.value.index()).is_some_and(|op| matches!(op.result, ValueType::Lwe { .. }));
            if !lwe {
                return Err(KernelError::Output { name: output.name.to_string(), value: output.value });
            }
            if !names.insert(&output.name) {
                return Err(KernelError::Name { what: "output", name: output.name.to_string() });
            }
        }
        Ok(())
    }

    fn result_type(&self, at: ValueId, op: &Op) -> Result<ValueType, KernelError> {
        let name = op_name(&op.kind);
        let wrong = |problem: String| KernelError::Operands { at, op: name, problem };
        let types: Vec<ValueType> = op.operands.iter().map(|operand| self.op(*operand).result).collect();
        let total: usize = types.iter().map(|value| value.count()).sum();
        let one = || match types[..] {
            [only] => Ok(only),
            _ => Err(wrong(format!("{} operands, but one is needed", types.len()))),
        };
        let same = || {
            let first = types.first().copied();
            let alike = |value: &ValueType| first.is_some_and(|first| with_count(first, 0) == with_count(*value, 0));
            if types.iter().all(alike) { Ok(()) } else { Err(wrong("the operands have different types".to_owned())) }
        };
        if op.result.count() == 0 {
            return Err(wrong("an empty batch".to_owned()));
        }
        match &op.kind {
            OpKind::Input { .. } if !types.is_empty() => Err(wrong("an input has no operand".to_owned())),
            OpKind::Input { .. } => match op.result {
                ValueType::Lwe { count, kind, .. } => Ok(self.lwe_type(count, kind)),
                other => Err(wrong(format!("an input is an LWE batch, not {other:?}"))),
            },
            OpKind::Linear { matrix, bias } => {
                same()?;
                let ValueType::Lwe { kind, .. } = op.result else {
                    return Err(wrong("the result is no LWE batch".to_owned()));
                };
                if matrix.columns() != total || matrix.rows() != bias.len() {
                    return Err(wrong(format!(
                        "a matrix of {} x {} and {} biases for {total} operand ciphertexts",
                        matrix.rows(),
                        matrix.columns(),
                        bias.len()
                    )));
                }
                let result = self.lwe_type(bias.len(), kind);
                match types.first() {
                    Some(first) if with_count(*first, 0) != with_count(result, 0) => {
                        Err(wrong("operands and result are under different keys".to_owned()))
                    }
                    _ => Ok(result),
                }
            }
            OpKind::Gather { indices } => {
                same()?;
                match (types.first(), indices.iter().find(|&&index| index as usize >= total)) {
                    (_, Some(index)) => Err(wrong(format!("index {index} is beyond the {total} operand items"))),
                    (None | Some(ValueType::Glwe { .. } | ValueType::Ggsw { .. }), _) => {
                        Err(wrong("no LWE or index operand".to_owned()))
                    }
                    (Some(first), _) => Ok(with_count(*first, indices.len())),
                }
            }
            OpKind::KeySwitch { .. } => match one()? {
                ValueType::Lwe { count, kind: LweKind::Large, .. } => Ok(self.lwe_type(count, LweKind::Small)),
                other => Err(wrong(format!("the operand is {other:?}, not under the large key"))),
            },
            OpKind::ModulusSwitch { log2_tables, .. } if *log2_tables >= self.parameters.ring_degree().log2() => {
                Err(wrong(format!("2^{log2_tables} tables, more than the ring degree")))
            }
            OpKind::ModulusSwitch { .. } => match one()? {
                ValueType::Lwe { count, kind: LweKind::Small, .. } => Ok(self.indices_type(count)),
                other => Err(wrong(format!("the operand is {other:?}, not under the small key"))),
            },
            OpKind::BlindRotation { tables, .. } => match one()? {
                ValueType::Indices { count, .. } => {
                    self.check_tables((at, "blind_rotation"), tables, (count, 1))?;
                    Ok(ValueType::Glwe { count })
                }
                other => Err(wrong(format!("the operand is {other:?}, not a batch of indices"))),
            },
            &OpKind::SampleExtract { coefficients }
                if coefficients == 0 || coefficients as usize > self.parameters.ring_degree().get() =>
            {
                Err(wrong(format!(
                    "{coefficients} coefficients, of a ring that has {}",
                    self.parameters.ring_degree().get()
                )))
            }
            OpKind::CircuitBootstrap if self.parameters.circuit().is_none() => {
                Err(wrong("the parameter set has no circuit bootstrapping".to_owned()))
            }
            OpKind::CircuitBootstrap => match one()? {
                ValueType::Glwe { count } => Ok(ValueType::Ggsw { count }),
                other => Err(wrong(format!("the operand is {other:?}, not a GLWE batch"))),
            },
            OpKind::PackedLookup { width, log2_outputs, bits, tables } => {
                let ValueType::Ggsw { count: given } = one()? else {
                    return Err(wrong("the operand is no GGSW batch".to_owned()));
                };
                let log2_degree = self.parameters.ring_degree().log2();
                if !(1..=MAX_WIDTH).contains(width) || *log2_outputs > log2_degree {
                    return Err(wrong(format!("a table of {width} bits, with 2^{log2_outputs} outputs")));
                }
                let count = bits.len() / *width as usize;
                if !bits.len().is_multiple_of(*width as usize) {
                    return Err(wrong(format!("{} bits are not {width} for each result", bits.len())));
                }
                if let Some(bit) = bits.iter().find(|&&bit| bit as usize >= given) {
                    return Err(wrong(format!("bit {bit} is beyond the {given} operand items")));
                }
                let polynomials = OpKind::packed_polynomials(*width, *log2_outputs, log2_degree);
                self.check_tables((at, name), tables, (count, polynomials))?;
                Ok(ValueType::Glwe { count })
            }
            OpKind::SampleExtract { coefficients } => match one()? {
                ValueType::Glwe { count } => {
                    Ok(self.lwe_type(count.saturating_mul(*coefficients as usize), self.parameters.extracted_key()))
                }
                other => Err(wrong(format!("the operand is {other:?}, not a GLWE batch"))),
            },
        }
    }

    /// Checks that `tables` names tables for `count` ciphertexts, each with `each` consecutive polynomials.
    fn check_tables(
        &self,
        (at, op): (ValueId, &'static str),
        tables: &TableChoice,
        (count, each): (usize, usize),
    ) -> Result<(), KernelError> {
        let missing = |table: u32| table as usize + each > self.tables.len();
        let problem = match tables {
            TableChoice::PerCiphertext(given) if given.len() != count => {
                Some(format!("{} table indices for {count} ciphertexts", given.len()))
            }
            TableChoice::PerCiphertext(given) => {
                let beyond = given.iter().find(|&&table| missing(table));
                beyond.map(|table| format!("there is no table {table}"))
            }
            TableChoice::Shared(table) if missing(*table) => Some(format!("there is no table {table}")),
            TableChoice::Shared(_) => None,
        };
        problem.map_or(Ok(()), |problem| Err(KernelError::Operands { at, op, problem }))
    }

    fn check_body(&self, body: &Body, rotation: bool) -> Result<(), String> {
        let parameters = &self.parameters;
        let unrolling = parameters.unrolling(Some(self.choice.key_unrolling)).map_err(|error| error.to_string())?;
        let patterns = unrolling.patterns();
        let fixed = matches!(self.choice.arithmetic, Arithmetic::Fixed(_));
        let (iterations, carries, carried, levels) = if rotation {
            let carried = parameters.glwe_dimension().ciphertext_polynomials();
            let levels = parameters.bootstrap_gadget().levels;
            (unrolling.iterations(parameters.lwe_dimension()), BodyType::Polynomial, carried, levels)
        } else {
            let gadget = parameters.key_switch_gadget().ok_or("the parameter set has no key-switch gadget")?;
            (parameters.large_lwe_dimension().get(), BodyType::Lwe, 1, gadget.levels)
        };
        if (body.iterations, body.carries, body.carried as usize) != (iterations, carries, carried) {
            return Err(format!(
                "{} iterations carry {} values of {:?}; the parameters give {iterations}, {carried} and {carries:?}",
                body.iterations, body.carried, body.carries
            ));
        }
        let rows = parameters.ggsw_rows() * patterns;
        for (index, op) in body.ops.iter().enumerate() {
            let (operands, _) = op.primitive.signature();
            let defined = carried + index;
            if let Some(operand) = op.operands.iter().find(|operand| operand.index() >= defined) {
                return Err(format!("operation {index} uses value {} before it is defined", operand.0));
            }
            let types: Vec<_> = op.operands.iter().map(|&operand| body.value_type(operand)).collect();
            if types != operands {
                return Err(format!("operation {index} takes {operands:?}, not {types:?}"));
            }
            if fixed && matches!(op.primitive, Primitive::RotateProduct { .. }) {
                return Err(format!(
                    "operation {index} rotates a product in the transform domain, which fixed-point arithmetic does not have; \
                     rotate after the inverse transform"
                ));
            }
            let in_range = |(name, number): (&str, u32)| match name {
                "level" => number < levels,
                "row" => (number as usize) < rows,
                "column" => (number as usize) < carried,
                "pattern" => unrolling.masks().any(|mask| mask == number),
                _ => false,
            };
            let switches = matches!(op.primitive.signature().1, BodyType::Lwe | BodyType::Digit);
            let in_range = rotation != switches
                && (op.primitive != Primitive::Rotate || unrolling == KeyUnrolling::ONE)
                && op.primitive.numbers().into_iter().all(in_range);
            if !in_range {
                return Err(format!("operation {index}, {:?}, does not exist for these parameters", op.primitive));
            }
        }
        let total = carried + body.ops.len();
        let yields = |value: &super::BodyValue| value.index() < total && body.value_type(*value) == carries;
        if body.yields.len() != carried || !body.yields.iter().all(yields) {
            return Err(format!("it does not yield {carried} values of {carries:?}"));
        }
        Ok(())
    }
}

fn with_count(value: ValueType, count: usize) -> ValueType {
    match value {
        ValueType::Lwe { kind, dimension, .. } => ValueType::Lwe { count, kind, dimension },
        ValueType::Indices { dimension, log2_modulus, .. } => ValueType::Indices { count, dimension, log2_modulus },
        ValueType::Glwe { .. } => ValueType::Glwe { count },
        ValueType::Ggsw { .. } => ValueType::Ggsw { count },
    }
}
