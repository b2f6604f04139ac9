//! The meaning of an event: the program's definition derives each value that it writes from the values that it reads.
//!
//! The definition exists once and is evaluated in two domains. The audit counts work, which reveals missing operands. The replay computes
//! with polynomials. For example, a multiplier writes the sum of products after row 3. The body defines it as the sum after row 2 plus a
//! spectrum times a key polynomial. If the event reads the sum after row 2, that value is used. Otherwise its own definition is followed,
//! as long as the unit supports the steps.

use super::labels::{Lookups, Meaning};
use polyfabric_program::tfhe::kernel::{Body, BodyValue, KernelProgram, OpKind, Primitive, ValueId, ValueType};
use polyfabric_sim::function::{BodyUnit, Function, Step};

/// Why an event does not define a value that it writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undefined {
    #[error("{0} is needed, and it is neither read nor computed there")]
    Missing(String),
    #[error("it takes a step that the unit does not do: {0:?}")]
    Step(Step),
    #[error("the program computes it by an operation that the unit does not do")]
    Other,
}

/// A domain in which definitions are evaluated.
pub trait Domain {
    /// Represents a value of the program.
    type Value: Clone;

    /// Why an operation fails.
    type Error: From<Undefined>;

    /// A primitive operation of iteration `iteration`. The last operand is the rotation amounts or the key polynomial, if it needs one.
    fn primitive(
        &self,
        primitive: Primitive,
        iteration: u32,
        operands: &[Self::Value],
    ) -> Result<Self::Value, Self::Error>;

    /// Polynomial `polynomial` of a blind rotation's initial accumulator.
    fn initial(&self, table: Self::Value, amounts: Self::Value, polynomial: u32) -> Result<Self::Value, Self::Error>;

    /// The rotation amounts of a ciphertext.
    fn modulus_switch(&self, ciphertext: Self::Value) -> Result<Self::Value, Self::Error>;

    /// The ciphertext of an accumulator's constant coefficient.
    fn sample_extract(&self, accumulator: &[Self::Value]) -> Result<Self::Value, Self::Error>;

    /// `sum`, or the initial sum of a key switch of `source`, minus the products of `key` with the mask elements that it covers.
    fn key_switch(
        &self,
        source: Self::Value,
        key: Self::Value,
        sum: Option<Self::Value>,
        of: SwitchPart<'_>,
    ) -> Result<Self::Value, Self::Error>;

    /// `sum`, or `bias` as a ciphertext of `length` elements, plus weights times ciphertexts.
    fn linear(
        &self,
        sum: Option<Self::Value>,
        terms: &[(i32, Self::Value)],
        length: u32,
        bias: u64,
    ) -> Result<Self::Value, Self::Error>;
}

/// A part of a key switch.
#[derive(Clone, Copy, Debug)]
pub struct SwitchPart<'a> {
    /// The operations for one mask element.
    pub body: &'a Body,
    /// Number of mask elements.
    pub elements: u32,
}

/// A program and its lookups; resolves the ciphertexts that operations read.
#[derive(Clone, Debug)]
pub struct Definitions<'a> {
    pub program: &'a KernelProgram,
    pub lookups: Lookups,
}

/// Values that an event reads, sorted by meaning. A value that is read several times is listed as often.
pub struct Reads<V>(Vec<(Meaning, V)>);

impl<V: Clone> Reads<V> {
    pub fn new(mut reads: Vec<(Meaning, V)>) -> Self {
        reads.sort_by_key(|&(meaning, _)| meaning);
        Self(reads)
    }

    /// The value with this meaning.
    pub fn get(&self, meaning: Meaning) -> Option<V> {
        let first = self.0.partition_point(|(other, _)| *other < meaning);
        self.0.get(first).filter(|(other, _)| *other == meaning).map(|(_, value)| value.clone())
    }

    /// How often a value with this meaning is read.
    pub fn times(&self, meaning: Meaning) -> usize {
        let first = self.0.partition_point(|(other, _)| *other < meaning);
        self.0[first..].iter().take_while(|(other, _)| *other == meaning).count()
    }

    /// Mask elements of the key-switching keys that are read.
    pub fn key_elements(&self) -> u64 {
        let elements = |meaning| match meaning {
            Meaning::SwitchKey { length, .. } => u64::from(length),
            _ => 0,
        };
        self.iter().map(|(meaning, _)| elements(meaning)).sum()
    }

    fn iter(&self) -> impl Iterator<Item = (Meaning, &V)> {
        self.0.iter().map(|(meaning, value)| (*meaning, value))
    }
}

/// One iteration of a lookup, on a unit.
#[derive(Clone, Copy)]
struct Iteration<'a> {
    body: &'a Body,
    unit: BodyUnit,
    lookup: u32,
    iteration: u32,
    /// The value that the event writes.
    result: BodyValue,
}

impl<'a> Definitions<'a> {
    pub fn new(program: &'a KernelProgram) -> Self {
        Self { program, lookups: Lookups::new(program) }
    }

    /// The value that an event with function `function` writes as `result`, from the values that it reads.
    pub fn define<D: Domain>(
        &self,
        domain: &D,
        function: Function,
        reads: &Reads<D::Value>,
        result: Meaning,
    ) -> Result<D::Value, D::Error> {
        match (function, result) {
            (Function::Move { .. }, _) => self.need(reads, result),
            (Function::Body(unit), Meaning::Body { value, lookup, iteration }) => {
                let (op, _) = self.lookups.of(lookup);
                let body = self.body(op).ok_or(Undefined::Other)?;
                let (value, iteration) = yielded(body, value, iteration).ok_or(Undefined::Other)?;
                let place = Iteration { body, unit, lookup, iteration, result: value };
                self.follow(domain, reads, &place, value)
            }
            (Function::Initialise, Meaning::Amounts { .. }) => self.need(reads, result),
            (Function::Initialise, Meaning::Body { value, lookup, iteration: 0 }) => {
                let (op, element) = self.lookups.of(lookup);
                let Some(OpKind::BlindRotation { tables, .. }) = self.op(op) else {
                    return Err(Undefined::Other.into());
                };
                let count = self.program.ops[op as usize].result.count();
                if element as usize >= count {
                    return Err(Undefined::Missing(format!("ciphertext {element} of {count}")).into());
                }
                let table = self.need(reads, Meaning::Table { index: tables.get(element as usize) as u32 })?;
                let amounts = self.need(reads, Meaning::Amounts { lookup })?;
                domain.initial(table, amounts, value.0)
            }
            (Function::ModulusSwitch, Meaning::Amounts { .. }) => {
                domain.modulus_switch(self.need(reads, self.source(result).ok_or(Undefined::Other)?)?)
            }
            (Function::SampleExtract, Meaning::Lwe { op, element }) => {
                if self.op(op) != Some(&OpKind::PLAIN_EXTRACT) {
                    return Err(Undefined::Other.into());
                }
                let (rotation, item) = self.operand(op, element).ok_or(Undefined::Other)?;
                let body = self.body(rotation).ok_or(Undefined::Other)?;
                let (lookup, iteration) = (self.lookups.first(rotation) + item, body.iterations as u32);
                let polynomial = |index| self.need(reads, Meaning::Body { value: BodyValue(index), lookup, iteration });
                let accumulator = (0..body.carried).map(polynomial).collect::<Result<Vec<_>, D::Error>>()?;
                domain.sample_extract(&accumulator)
            }
            (Function::KeySwitch, Meaning::SwitchSum { op, element, done }) => {
                self.switched(domain, reads, result, (op, element, done))
            }
            (Function::KeySwitch, Meaning::Lwe { op, element }) => {
                let whole = self.program.parameters.large_lwe_dimension().get() as u32;
                self.switched(domain, reads, result, (op, element, whole))
            }
            (Function::Linear, Meaning::LinearSum { op, row, done }) => self.summed(domain, reads, (op, row, done)),
            (Function::Linear, Meaning::Lwe { op, element }) => self.summed(domain, reads, (op, element, u32::MAX)),
            _ => Err(Undefined::Other.into()),
        }
    }

    /// `value`, either read or derived by its definition.
    fn follow<D: Domain>(
        &self,
        domain: &D,
        reads: &Reads<D::Value>,
        place: &Iteration<'_>,
        value: BodyValue,
    ) -> Result<D::Value, D::Error> {
        let &Iteration { body, unit, lookup, iteration, result } = place;
        let named = Meaning::Body { value, lookup, iteration };
        if let Some(read) = reads.get(named) {
            return Ok(read);
        }
        let Some(index) = value.index().checked_sub(body.carried as usize) else { return self.need(reads, named) };
        let op = &body.ops[index];
        let step = Step::of(op.primitive);
        if !unit.steps.contains(&step) {
            // If a step within the definition is not the unit's, the error names the value that should have been read.
            return Err(if value == result { Undefined::Step(step) } else { self.missing(named) }.into());
        }
        let operands = op.operands.iter().map(|&operand| self.follow(domain, reads, place, operand));
        let mut operands = operands.collect::<Result<Vec<_>, D::Error>>()?;
        match op.primitive {
            Primitive::Rotate => operands.push(self.need(reads, Meaning::Amounts { lookup })?),
            Primitive::Multiply { row, column } | Primitive::MultiplyAccumulate { row, column } => {
                operands.push(self.need(reads, Meaning::Key { row, column, iteration })?);
            }
            _ => {}
        }
        domain.primitive(op.primitive, iteration, &operands)
    }

    /// Continues a key switch from the last sum that is read, with the key that is read, to `done` mask elements.
    fn switched<D: Domain>(
        &self,
        domain: &D,
        reads: &Reads<D::Value>,
        result: Meaning,
        (op, element, done): (u32, u32, u32),
    ) -> Result<D::Value, D::Error> {
        let Some(OpKind::KeySwitch { body }) = self.op(op) else {
            return Err(Undefined::Missing(format!("a key switch %{op}")).into());
        };
        let source = self.source(result).ok_or_else(|| Undefined::Missing("an operand of the program".to_owned()))?;
        let source = self.need(reads, source)?;
        let key = reads.iter().find_map(|(meaning, key)| match meaning {
            Meaning::SwitchKey { from, length } if length > 0 && from.checked_add(length) == Some(done) => {
                Some((from, length, key.clone()))
            }
            _ => None,
        });
        let key = key.ok_or_else(|| Undefined::Missing(format!("key-switch key up to mask element {done}")))?;
        let (from, elements, key) = key;
        let sum = match from {
            0 => None,
            from => Some(self.need(reads, Meaning::SwitchSum { op, element, done: from })?),
        };
        domain.key_switch(source, key, sum, SwitchPart { body, elements })
    }

    /// Continues a row of a linear layer from the furthest sum that is read to `done` columns.
    fn summed<D: Domain>(
        &self,
        domain: &D,
        reads: &Reads<D::Value>,
        (op, row, done): (u32, u32, u32),
    ) -> Result<D::Value, D::Error> {
        let (sum, columns) = self.columns(reads, (op, row, done))?;
        let term = |(column, weight): (u32, i32)| {
            let source = self.column(op, column).ok_or_else(|| Undefined::Missing(format!("column {column}")))?;
            Ok((weight, self.need(reads, source)?))
        };
        let terms = columns.map(term).collect::<Result<Vec<_>, D::Error>>()?;
        let (Some(OpKind::Linear { bias, .. }), ValueType::Lwe { dimension, .. }) =
            (self.op(op), self.program.ops[op as usize].result)
        else {
            return Err(Undefined::Other.into());
        };
        domain.linear(sum, &terms, dimension as u32 + 1, bias[row as usize])
    }

    /// The furthest sum of row `row` that is read, and the columns from there to `done`, with their weights.
    pub fn columns<V: Clone>(
        &self,
        reads: &Reads<V>,
        (op, row, done): (u32, u32, u32),
    ) -> Result<(Option<V>, impl Iterator<Item = (u32, i32)>), Undefined> {
        let (Some(OpKind::Linear { matrix, .. }), true) = (self.op(op), self.holds(op, row)) else {
            return Err(Undefined::Missing(format!("row {row} of a linear layer %{op}")));
        };
        let (columns, weights) = matrix.row_slices(row as usize);
        let sums = reads.iter().filter_map(|(meaning, sum)| match meaning {
            Meaning::LinearSum { op: of, row: other, done: before } if (of, other) == (op, row) && before < done => {
                Some((before, sum))
            }
            _ => None,
        });
        let sum = sums.max_by_key(|&(before, _)| before);
        // Columns increase within a row.
        let before = |end: u32| columns.partition_point(|&column| column < end);
        let terms = before(sum.map_or(0, |(before, _)| before))..before(done);
        let terms = terms.start.min(terms.end)..terms.end;
        let taken = columns[terms.clone()].iter().copied().zip(weights[terms].iter().copied());
        Ok((sum.map(|(_, sum)| sum.clone()), taken))
    }

    /// The ciphertext of column `column` of linear layer `op`.
    pub fn column(&self, op: u32, column: u32) -> Option<Meaning> {
        self.operand(op, column).map(|(op, element)| Meaning::Lwe { op, element })
    }

    /// The ciphertext from which a modulus switch or a key switch computes `result`.
    pub fn source(&self, result: Meaning) -> Option<Meaning> {
        let (op, element) = match result {
            Meaning::Amounts { lookup } => {
                let (rotation, element) = self.lookups.of(lookup);
                let (op, element) = self.operand(rotation, element)?;
                (self.op(op) == Some(&OpKind::PLAIN_SWITCH)).then_some((op, element))?
            }
            Meaning::SwitchSum { op, element, .. } | Meaning::Lwe { op, element } => (op, element),
            _ => return None,
        };
        self.column(op, element)
    }

    fn need<V: Clone, E: From<Undefined>>(&self, reads: &Reads<V>, meaning: Meaning) -> Result<V, E> {
        reads.get(meaning).ok_or_else(|| self.missing(meaning).into())
    }

    fn missing(&self, meaning: Meaning) -> Undefined {
        Undefined::Missing(meaning.in_words(&self.lookups))
    }

    /// Operation `op`, if it exists.
    pub fn op(&self, op: u32) -> Option<&'a OpKind> {
        self.program.ops.get(op as usize).map(|op| &op.kind)
    }

    /// Whether operation `op` has an item `element`.
    fn holds(&self, op: u32, element: u32) -> bool {
        self.program.ops.get(op as usize).is_some_and(|op| (element as usize) < op.result.count())
    }

    /// The body of blind rotation `op`.
    pub fn body(&self, op: u32) -> Option<&'a Body> {
        match self.op(op)? {
            OpKind::BlindRotation { body, .. } => Some(body),
            _ => None,
        }
    }

    /// The source of item `element` of the concatenated operands of `op`: operation and item, with gathers resolved.
    pub fn operand(&self, op: u32, element: u32) -> Option<(u32, u32)> {
        let mut left = element as usize;
        for &operand in &self.program.ops.get(op as usize)?.operands {
            let count = self.program.op(operand).result.count();
            if left < count {
                return self.producer(operand, left as u32);
            }
            left -= count;
        }
        None
    }

    /// The source of item `element` of `value`: operation and item.
    pub fn producer(&self, value: ValueId, element: u32) -> Option<(u32, u32)> {
        match &self.program.op(value).kind {
            OpKind::Gather { indices } => self.operand(value.0, *indices.get(element as usize)?),
            _ => Some((value.0, element)),
        }
    }
}

/// The body value and iteration that define `value` in iteration `iteration`: a carried value is the yield of the previous iteration.
/// `None` if the body has no such value, or carries it into the first iteration.
pub fn yielded(body: &Body, value: BodyValue, iteration: u32) -> Option<(BodyValue, u32)> {
    let (value, iteration) = match body.yields.get(value.index()) {
        Some(&yielded) => (yielded, iteration.checked_sub(1)?),
        None => (value, iteration),
    };
    (value.index() < body.carried as usize + body.ops.len()).then_some((value, iteration))
}
