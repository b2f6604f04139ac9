//! Labels: the meaning of each value in a TFHE schedule.
//!
//! A value has a label and two coordinates that loops move: a ciphertext number and an iteration. The label is a list of [`Meaning`]s,
//! since a wire may carry two digits side by side. For example, the digits of gadget levels 0 and 1 of lookup 5 in iteration 7 are one
//! value. Its label is "two body values, 0 and 0 apart", and its coordinates are 5 and 7. Rounds of a loop over iterations then share the
//! label, and moving a value is two additions.
//!
//! A mapper makes labels when it emits events ([`Labeler`]); the audit and the replay read them ([`Labels`]). Labels are claims: the audit
//! recomputes what each event computes from the values that it reads.

use super::workload::Item;
use polyfabric_program::tfhe::kernel::{Body, BodyOp, BodyValue, KernelProgram, OpKind, Primitive};
use polyfabric_sim::schedule::{ClassId, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The meaning of a value, in terms of the kernel program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meaning {
    /// Item `element` of the LWE value that operation `op` defines: an operation that computes, or an input.
    Lwe { op: u32, element: u32 },
    /// Rotation amounts of a lookup ([`Lookups`]).
    Amounts { lookup: u32 },
    /// A value of the body of a lookup's blind rotation. A carried value of iteration i is the yield of iteration i - 1.
    Body { value: BodyValue, lookup: u32, iteration: u32 },
    /// A polynomial of the bootstrapping key, by row and column of the iteration's GGSW ciphertext.
    Key { row: u32, column: u32, iteration: u32 },
    /// A test polynomial of the program.
    Table { index: u32 },
    /// Twiddle factors of the ring of a degree N.
    Twiddles { ring_degree: u32 },
    /// The key-switch key's ciphertexts for `length` mask elements from `from` on.
    SwitchKey { from: u32, length: u32 },
    /// Item `element` of key switch `op` after its first `done` mask elements, but not all of them.
    SwitchSum { op: u32, element: u32, done: u32 },
    /// Row `row` of linear layer `op` after at least its first `done` columns.
    LinearSum { op: u32, row: u32, done: u32 },
    /// No value of the program: a token that orders events, or instruction words.
    Token { number: u32, ciphertext: u32 },
}

impl Meaning {
    /// The ciphertext number and the iteration, if it has them.
    fn axes(&mut self) -> [Option<&mut u32>; 2] {
        match self {
            Self::Lwe { element, .. } => [Some(element), None],
            Self::LinearSum { row, .. } => [Some(row), None],
            Self::Amounts { lookup } => [Some(lookup), None],
            Self::Body { lookup, iteration, .. } => [Some(lookup), Some(iteration)],
            Self::Key { iteration, .. } => [None, Some(iteration)],
            Self::SwitchKey { from, .. } => [None, Some(from)],
            Self::SwitchSum { element, done, .. } => [Some(element), Some(done)],
            Self::Token { ciphertext, .. } => [Some(ciphertext), None],
            Self::Table { .. } | Self::Twiddles { .. } => [None, None],
        }
    }

    /// Whether it is a key, a constant or a token, which no event computes.
    pub fn is_given(self) -> bool {
        matches!(
            self,
            Self::Key { .. } | Self::Table { .. } | Self::Twiddles { .. } | Self::SwitchKey { .. } | Self::Token { .. }
        )
    }

    /// The same with `origin` added to its coordinates. Distances are modulo 2^32.
    fn moved(mut self, origin: [u32; 2]) -> Self {
        for (axis, by) in self.axes().into_iter().zip(origin) {
            if let Some(axis) = axis {
                *axis = axis.wrapping_add(by);
            }
        }
        self
    }

    /// A description for messages about the program of `lookups`.
    pub fn in_words(self, lookups: &Lookups) -> String {
        match self {
            Self::Lwe { op, element } => format!("ciphertext {element} of operation %{op}"),
            Self::Amounts { lookup } => {
                let (op, element) = lookups.of(lookup);
                format!("rotation amounts of ciphertext {element} of %{op}")
            }
            Self::Body { value, lookup, iteration } => {
                let (op, element) = lookups.of(lookup);
                format!("value {} of iteration {iteration} of ciphertext {element} of %{op}", value.index())
            }
            Self::Key { row, column, iteration } => {
                format!("bootstrapping key {iteration}, row {row}, column {column}")
            }
            Self::Table { index } => format!("test polynomial {index}"),
            Self::Twiddles { ring_degree } => format!("twiddle factors of the ring of degree {ring_degree}"),
            Self::SwitchKey { from, length } => {
                format!("key-switch key of mask elements {from} to {}", from.saturating_add(length))
            }
            Self::SwitchSum { op, element, done } => {
                format!("ciphertext {element} of %{op} after {done} mask elements")
            }
            Self::LinearSum { op, row, done } => format!("row {row} of %{op} after {done} columns"),
            Self::Token { .. } => "a token".to_owned(),
        }
    }
}

/// The lookups of a program, numbered across all its blind rotations in program order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// First lookup of each blind rotation, and its operation.
    rotations: Vec<(u32, u32)>,
}

impl Lookups {
    /// The lookups of `program`.
    pub fn new(program: &KernelProgram) -> Self {
        let (mut rotations, mut first) = (Vec::new(), 0);
        for (op, kernel) in (0..).zip(&program.ops) {
            if matches!(kernel.kind, OpKind::BlindRotation { .. }) {
                rotations.push((first, op));
                first += kernel.result.count() as u32;
            }
        }
        Self { rotations }
    }

    /// Number of the first lookup of blind rotation `op`.
    pub fn first(&self, op: u32) -> u32 {
        let index = self.rotations.partition_point(|&(_, rotation)| rotation < op);
        self.rotations.get(index).map_or(0, |&(first, _)| first)
    }

    /// The blind rotation of lookup `number`, and its element there.
    pub fn of(&self, number: u32) -> (u32, u32) {
        let index = self.rotations.partition_point(|&(first, _)| first <= number).saturating_sub(1);
        self.rotations.get(index).map_or((0, number), |&(first, op)| (op, number - first))
    }
}

/// The labels of a schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// By number: the meanings relative to the value's coordinates.
    lists: Vec<Box<[Meaning]>>,
}

impl Labels {
    /// The meanings of `value`: several if it packs several, none if the schedule has no such label.
    pub fn meanings(&self, value: Value) -> impl Iterator<Item = Meaning> {
        let list = self.lists.get(value.index as usize).map_or(&[][..], |list| list);
        let origin = [value.ciphertext, value.iteration].map(|at| if at == Value::NONE { 0 } else { at });
        list.iter().map(move |meaning| meaning.moved(origin))
    }
}

/// Makes the values of a schedule, and their labels.
#[derive(Debug, Default)]
pub struct Labeler {
    known: RefCell<Known>,
}

/// Labels, and the number of each by its hash. If two labels have the same hash, both are stored, but only the first one is found again.
/// There is no list per hash, because a network has millions of labels.
#[derive(Debug, Default)]
struct Known {
    labels: Labels,
    by_hash: HashMap<u64, u32>,
}

impl Labeler {
    /// The value of class `class` that packs `meanings`.
    pub fn value(&self, class: ClassId, meanings: impl IntoIterator<Item = Meaning>) -> Value {
        let mut list: Vec<Meaning> = meanings.into_iter().collect();
        let mut origin = [Value::NONE; 2];
        for meaning in &mut list {
            for (at, axis) in origin.iter_mut().zip(meaning.axes()) {
                let Some(axis) = axis else { continue };
                if *at == Value::NONE {
                    *at = *axis;
                }
                *axis = axis.wrapping_sub(*at);
            }
        }
        let [ciphertext, iteration] = origin;
        Value { class, ciphertext, iteration, index: self.number(list) }
    }

    /// The value of class `class` that packs all meanings of `values`.
    pub fn together(&self, class: ClassId, values: impl IntoIterator<Item = Value>) -> Value {
        let meanings: Vec<Meaning> = {
            let known = self.known.borrow();
            values.into_iter().flat_map(|value| known.labels.meanings(value)).collect()
        };
        self.value(class, meanings)
    }

    /// An LWE ciphertext of `program`: of the first class if it is an input, otherwise of the second.
    pub fn ciphertext(&self, program: &KernelProgram, (input, other): (ClassId, ClassId), item: Item) -> Value {
        let is_input = matches!(program.ops[item.op as usize].kind, OpKind::Input { .. });
        self.value(if is_input { input } else { other }, [Meaning::Lwe { op: item.op, element: item.element }])
    }

    fn number(&self, list: Vec<Meaning>) -> u32 {
        let mut hasher = DefaultHasher::new();
        list.hash(&mut hasher);
        let Known { labels: Labels { lists }, by_hash } = &mut *self.known.borrow_mut();
        let next = lists.len() as u32;
        let number = *by_hash.entry(hasher.finish()).or_insert(next);
        match lists.get(number as usize) {
            Some(known) if **known == *list => number,
            _ => {
                lists.push(list.into());
                next
            }
        }
    }

    /// The labels made so far.
    pub fn finish(self) -> Labels {
        self.known.into_inner().labels
    }
}

/// A blind rotation. Finds the values of its body by the operations and products of a data path.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// The operation.
    pub op: u32,
    /// Its first lookup.
    pub first: u32,
    pub body: &'a Body,
}

impl<'a> Rotation<'a> {
    /// Blind rotation `op` of `program`; `None` if it is another operation.
    pub fn new(program: &'a KernelProgram, lookups: &Lookups, op: u32) -> Option<Self> {
        match &program.ops.get(op as usize)?.kind {
            OpKind::BlindRotation { body, .. } => Some(Self { op, first: lookups.first(op), body }),
            _ => None,
        }
    }

    /// The result of operation `op`.
    pub fn result(self, op: u32) -> BodyValue {
        BodyValue(self.body.carried + op)
    }

    /// The first operand of `value`; `value` itself if it has none.
    fn operand(self, value: BodyValue) -> BodyValue {
        let index = value.index().checked_sub(self.body.carried as usize);
        index.and_then(|index| self.body.ops[index].operands.first().copied()).unwrap_or(value)
    }

    /// The digits that forward transform `op` takes.
    pub fn digits(self, op: u32) -> BodyValue {
        self.operand(self.result(op))
    }

    /// The polynomial of these digits: the rotated one minus the original.
    pub fn rotated(self, op: u32) -> BodyValue {
        self.operand(self.digits(op))
    }

    /// The sum that inverse transform `op` takes.
    pub fn sum(self, op: u32) -> BodyValue {
        self.operand(self.result(op))
    }

    /// The sum of products up to the one with key polynomial (`row`, `column`).
    pub fn product(self, row: u32, column: u32) -> BodyValue {
        let here = |op: &BodyOp| match op.primitive {
            Primitive::Multiply { row: r, column: c } | Primitive::MultiplyAccumulate { row: r, column: c } => {
                (r, c) == (row, column)
            }
            _ => false,
        };
        self.position(here)
    }

    /// The accumulator's polynomial after the result of inverse transform `op` was added.
    pub fn added(self, op: u32) -> BodyValue {
        let product = self.result(op);
        self.position(|op: &BodyOp| op.primitive == Primitive::Add && op.operands.contains(&product))
    }

    /// The result of the first operation for which `wanted` holds. If there is none, a value that the body does not have.
    fn position(self, wanted: impl Fn(&BodyOp) -> bool) -> BodyValue {
        let position = self.body.ops.iter().position(wanted).unwrap_or(self.body.ops.len());
        self.result(position as u32)
    }
}
