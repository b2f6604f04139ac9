//! Integers of any width, compiled to look-ups on digits.
//!
//! An integer of b bits is ⌈b/2⌉ digits of two bits, least significant first, two's complement if signed; an odd width has one bit in its
//! last digit. [`Integers`] appends the look-ups of an operation to a [`Builder`], so what comes out is an ordinary homomorphic program:
//! every runtime and every machine executes it, and its noise is checked as that of any other.
//!
//! - Sums carry nothing until something reads them: up to four or five addends cost one pass of carries.
//! - Two digits of two bits side by side, x · 4 + y, are what one look-up reads: 16 values. A comparison reads differences of four bits, from
//!   −15 to 15, on the whole torus.
//! - A look-up of at most eight values gives two results (a digit and its carry) by one bootstrap.
//!
//! | operation on D digits | look-ups |
//! |---|---|
//! | `+`, `-`, negation | D |
//! | `&`, `\|`, `^`; shift by a public odd amount | D |
//! | select | D |
//! | `==` | ⌈D/2⌉ + 1 |
//! | `<` | about 2D/3 |
//! | shift by an encrypted amount of k bits | D·k + ⌈k/2⌉ |
//! | `*` | about 1.5 D² |
//! | whether `*` overflows | about 4 D more, of signed ones 8 D |
//! | `/` and `%` | about 2 D² |

mod arithmetic;
mod bits;
mod carry;
mod compare;
mod digit;
mod divide;
mod shift;
mod table;
mod vector;

pub use arithmetic::Weighted;
pub use bits::BitOperation;
pub use compare::Comparison;
pub use digit::{CAPACITY, NORM_LIMIT};
pub use shift::{Amount, Direction};

use crate::tfhe::homomorphic::{Builder, ElementType, NodeId, ProgramError, Range, TableError};
use crate::tfhe::matrix::MatrixError;
use carry::Columns;
use digit::{Circuit, Digit};
use std::collections::HashMap;
use thiserror::Error;

/// Of a digit.
pub const BASE: i64 = 4;
/// Bits of a digit.
pub const DIGIT_BITS: u32 = 2;
/// Widest integer.
pub const MAX_BITS: u32 = 1 << 12;

/// What an integer is: modulo 2^bits, from 0 up, or from −2^(bits − 1) up if signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerType {
    /// Its width.
    pub bits: u32,
    /// Whether it is in two's complement.
    pub signed: bool,
}

impl IntegerType {
    /// An unsigned integer.
    pub const fn unsigned(bits: u32) -> Self {
        Self { bits, signed: false }
    }

    /// Number of digits.
    pub const fn digits(self) -> usize {
        self.bits.div_ceil(DIGIT_BITS) as usize
    }

    /// Values of digit `index`: 4, or 2 for the last one of an odd width.
    const fn base(self, index: usize) -> i64 {
        if self.bits % 2 == 1 && index + 1 == self.digits() { 2 } else { BASE }
    }
}

impl std::fmt::Display for IntegerType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.signed { "sint" } else { "uint" }, self.bits)
    }
}

/// An integer, or a vector of them, of one [`Integers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerId(pub u32);

/// Why an operation on integers is refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum IntegerError {
    /// Two operands of different types.
    #[error("{op}: {left} and {right} are different types; cast one to the other")]
    Types {
        /// The operation.
        op: &'static str,
        /// Of the first operand.
        left: IntegerType,
        /// Of the other.
        right: IntegerType,
    },
    /// Vectors of different lengths.
    #[error("{op}: the operands have {left} and {right} elements; make the lengths equal")]
    Lengths {
        /// The operation.
        op: &'static str,
        /// Of the first operand.
        left: usize,
        /// Of the other.
        right: usize,
    },
    /// A width without meaning here.
    #[error("{op}: {bits} bits; give {least} to {most}")]
    Bits {
        /// The operation.
        op: &'static str,
        /// The bits asked for.
        bits: u32,
        /// Fewest.
        least: u32,
        /// Most.
        most: u32,
    },
    /// An operand of another type than the operation has.
    #[error("{op} takes {expected}, not {found}; cast it")]
    Needs {
        /// The operation.
        op: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        found: IntegerType,
    },
    /// A value of the program that is no integer.
    #[error("the operand is {found}, but an integer is needed; declare it as one, as pf.Int(0, 15) or pf.UInt(8)")]
    Operand {
        /// Its type.
        found: String,
    },
    /// A value of the program of more values than one look-up reads.
    #[error(
        "the operand ranges from {lo} to {hi}, and one look-up makes digits of {most} values at most; give it as digits"
    )]
    Range {
        /// Smallest value.
        lo: i64,
        /// Greatest.
        hi: i64,
        /// Values that one look-up reads.
        most: i64,
    },
    /// A value of the program whose range the type does not hold.
    #[error("the operand ranges from {lo} to {hi}, which {kind} does not hold; give a wider type")]
    NotHeld {
        /// Smallest value.
        lo: i64,
        /// Greatest.
        hi: i64,
        /// The type.
        kind: IntegerType,
    },
    /// A public number that is not of the type.
    #[error("a public number of {digits} digits is no {kind}; give one within its range")]
    Public {
        /// Digits given.
        digits: usize,
        /// The type.
        kind: IntegerType,
    },
    /// A table whose length is not that of its index.
    #[error("a table of {entries} entries with an index of {bits} bits; give 2^{bits} of them")]
    Entries {
        /// Entries given.
        entries: usize,
        /// Bits of the index.
        bits: u32,
    },
    /// An element that there is not.
    #[error("element {index} of a vector of {length}; correct the index")]
    Index {
        /// The index.
        index: usize,
        /// Elements there are.
        length: usize,
    },
    /// No such integer.
    #[error("integer {0} is not of this program")]
    Unknown(u32),
    /// The program refuses a step.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A table cannot be made.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A matrix cannot be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

type Result<T> = std::result::Result<T, IntegerError>;

#[derive(Clone, Debug)]
struct Integer {
    kind: IntegerType,
    /// Elements of the vector.
    count: usize,
    /// From 0 up to at most [`CAPACITY`] less four each; those of a carried integer are below their base.
    digits: Vec<Digit>,
    /// The digits once carried: what reads them need not do so again.
    carried: Option<Vec<Digit>>,
}

/// The integers of one program.
#[derive(Debug)]
pub struct Integers {
    values: Vec<Integer>,
    /// The elements of public vectors in which they differ.
    public: HashMap<IntegerId, Vec<Vec<u8>>>,
    norms: HashMap<NodeId, f64>,
    lanes: usize,
}

impl Integers {
    /// For a place where `lanes` look-ups take the time of one: carries go by a parallel prefix where that saves time.
    pub fn new(lanes: usize) -> Self {
        Self { values: Vec::new(), public: HashMap::new(), norms: HashMap::new(), lanes: lanes.max(1) }
    }

    /// [`Self::new`]'s `lanes`, for the operations that follow.
    pub fn set_lanes(&mut self, lanes: usize) {
        self.lanes = lanes.max(1);
    }

    fn get(&self, id: IntegerId) -> Result<&Integer> {
        self.values.get(id.0 as usize).ok_or(IntegerError::Unknown(id.0))
    }

    /// The type of `id`.
    ///
    /// # Errors
    /// [`IntegerError::Unknown`].
    pub fn kind(&self, id: IntegerId) -> Result<IntegerType> {
        Ok(self.get(id)?.kind)
    }

    /// The number of elements of `id`.
    ///
    /// # Errors
    /// [`IntegerError::Unknown`].
    pub fn count(&self, id: IntegerId) -> Result<usize> {
        Ok(self.get(id)?.count)
    }

    fn add_value(&mut self, kind: IntegerType, count: usize, digits: Vec<Digit>) -> IntegerId {
        self.values.push(Integer { kind, count, digits, carried: None });
        IntegerId(self.values.len() as u32 - 1)
    }

    fn circuit<'a>(&'a mut self, builder: &'a mut Builder, count: usize) -> Circuit<'a> {
        Circuit { builder, norms: &mut self.norms, count }
    }

    /// An encrypted vector of `count` integers that the caller gives: all first digits, then all second ones, and so on.
    ///
    /// # Errors
    /// [`IntegerError::Bits`], and those of [`Builder::input`].
    pub fn input(&mut self, builder: &mut Builder, name: &str, kind: IntegerType, count: usize) -> Result<IntegerId> {
        check_bits("input", kind.bits)?;
        let top = kind.base(kind.digits() - 1);
        let digit = |base: i64| Range::new(0, base - 1).unwrap_or(Range::point(0));
        let widest = if kind.digits() == 1 { top } else { BASE };
        let all = builder.input(name, ElementType::Integer(digit(widest)), kind.digits() * count)?;
        let mut digits = Vec::new();
        for index in 0..kind.digits() {
            let elements: Vec<u32> = (index * count..(index + 1) * count).map(|element| element as u32).collect();
            let node = builder.select(all, &elements)?;
            let circuit = self.circuit(builder, count);
            digits.push(circuit.existing(node)?.within(0, kind.base(index) - 1));
        }
        Ok(self.add_value(kind, count, digits))
    }

    /// Gives the integer back to the caller, as [`Self::input`] takes it.
    ///
    /// # Errors
    /// Those of [`Builder::output`].
    pub fn output(&mut self, builder: &mut Builder, name: &str, id: IntegerId) -> Result<NodeId> {
        let (digits, count) = (self.carried(builder, id)?, self.get(id)?.count);
        let mut circuit = self.circuit(builder, count);
        let nodes = digits.iter().map(|digit| circuit.node(digit)).collect::<Result<Vec<_>>>()?;
        let all = builder.concat(&nodes)?;
        Ok(builder.output(name, all)?)
    }

    /// A public vector: for each element its digits, least significant first (two's complement if signed).
    ///
    /// # Errors
    /// [`IntegerError::Public`].
    pub fn public(&mut self, builder: &mut Builder, kind: IntegerType, elements: &[Vec<u8>]) -> Result<IntegerId> {
        check_bits("public number", kind.bits)?;
        for digits in elements {
            let fits = |(index, digit): (usize, &u8)| i64::from(*digit) < kind.base(index);
            if digits.len() != kind.digits() || !digits.iter().enumerate().all(fits) {
                return Err(IntegerError::Public { digits: digits.len(), kind });
            }
        }
        let mut digits = Vec::new();
        for index in 0..kind.digits() {
            let values: Vec<i64> = elements.iter().map(|digits| i64::from(digits[index])).collect();
            let same = values.iter().all(|value| *value == values[0]);
            digits.push(if same {
                Digit::constant(values.first().copied().unwrap_or(0))
            } else {
                let range = Range::new(0, BASE - 1).unwrap_or(Range::point(0));
                let node = builder.constant(ElementType::Integer(range), &values)?;
                self.circuit(builder, elements.len()).existing(node)?
            });
        }
        let made = self.add_value(kind, elements.len(), digits);
        if elements.windows(2).any(|pair| pair[0] != pair[1]) {
            self.public.insert(made, elements.to_vec());
        }
        Ok(made)
    }

    /// A vector of small integers of the program, of at most [`CAPACITY`] values, as integers of `kind`.
    ///
    /// # Errors
    /// [`IntegerError::Range`] if there are more values or the type does not hold them, [`IntegerError::Operand`].
    pub fn from_node(&mut self, builder: &mut Builder, node: NodeId, kind: IntegerType) -> Result<IntegerId> {
        check_bits("cast", kind.bits)?;
        let element = builder.element(node)?;
        let count = builder.nodes()[node.index()].length;
        let boolean = element == ElementType::Boolean;
        let node = match element {
            // A Boolean as 0 or 1.
            ElementType::Boolean => {
                let bit = crate::tfhe::homomorphic::Table::new(0, vec![0, 1])?;
                builder.lookup(node, vec![bit], None, crate::tfhe::homomorphic::LookupResult::Integer)?
            }
            _ => node,
        };
        let mut circuit = self.circuit(builder, count);
        let value = circuit.existing(node)?;
        let (lo, hi) = (value.lo(), value.hi());
        let held = match (kind.signed, kind.bits) {
            (_, bits) if bits > 40 => lo >= 0 || kind.signed,
            (true, bits) => lo >= -(1 << (bits - 1)) && hi < 1 << (bits - 1),
            (false, bits) => lo >= 0 && hi < 1 << bits,
        };
        if hi - lo >= CAPACITY {
            return Err(IntegerError::Range { lo, hi, most: CAPACITY });
        }
        if !held {
            return Err(IntegerError::NotHeld { lo, hi, kind });
        }
        let mut digits = Vec::new();
        for index in 0..kind.digits() {
            let (shift, base) = (DIGIT_BITS as usize * index, kind.base(index));
            digits.push(match boolean && index == 0 {
                true => value.clone(),
                false => circuit.lookup(&value, &|value| (value >> shift.min(62)).rem_euclid(base))?,
            });
        }
        Ok(self.add_value(kind, count, digits))
    }

    /// The carried digits of `id`, each below its base.
    fn carried(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<Digit>> {
        let Integer { kind, count, digits, carried } = self.get(id)?.clone();
        if let Some(carried) = carried {
            return Ok(carried);
        }
        let lanes = self.lanes;
        let own = |(index, digit): (usize, &Digit)| digit.lo() >= 0 && digit.hi() < kind.base(index);
        let carried = if digits.iter().enumerate().all(own) {
            digits
        } else {
            let mut columns = Columns::new(digits.len());
            digits.into_iter().enumerate().for_each(|(index, digit)| columns.add(index, digit));
            let mut circuit = self.circuit(builder, count);
            let sums = circuit.carried(columns, lanes)?;
            circuit.fitted(kind, sums)?
        };
        self.values[id.0 as usize].carried = Some(carried.clone());
        Ok(carried)
    }

    /// Carried digits of two operands of one type and length; a single one is repeated for a vector.
    fn pair(
        &mut self,
        builder: &mut Builder,
        op: &'static str,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<(Operands, Vec<Digit>, Vec<Digit>)> {
        let (a, b, operands) = self.matched(builder, op, a, b)?;
        Ok((operands, self.carried(builder, a)?, self.carried(builder, b)?))
    }

    fn matched(
        &mut self,
        builder: &mut Builder,
        op: &'static str,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<(IntegerId, IntegerId, Operands)> {
        let (left, right) = (self.kind(a)?, self.kind(b)?);
        if left != right {
            return Err(IntegerError::Types { op, left, right });
        }
        let (a, b, count) = self.stretched(builder, op, a, b)?;
        Ok((a, b, Operands { kind: left, count }))
    }

    /// Both operands with as many elements.
    fn stretched(
        &mut self,
        builder: &mut Builder,
        op: &'static str,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<(IntegerId, IntegerId, usize)> {
        let (left, right) = (self.count(a)?, self.count(b)?);
        Ok(match (left, right) {
            _ if left == right => (a, b, left),
            (1, _) => (self.take(builder, a, &vec![0; right])?, b, right),
            (_, 1) => (a, self.take(builder, b, &vec![0; left])?, left),
            _ => return Err(IntegerError::Lengths { op, left, right }),
        })
    }
}

/// What the operands of an operation have in common.
#[derive(Clone, Copy)]
struct Operands {
    kind: IntegerType,
    count: usize,
}

impl Circuit<'_> {
    /// `digits` of an integer of `kind`: a last one of an odd width is taken modulo 2.
    fn fitted(&mut self, kind: IntegerType, mut digits: Vec<Digit>) -> Result<Vec<Digit>> {
        if let Some(last) = digits.pop() {
            let base = kind.base(kind.digits() - 1);
            digits.push(if last.hi() < base { last } else { self.lookup(&last, &|value| value.rem_euclid(base))? });
        }
        Ok(digits)
    }
}

fn check_bits(op: &'static str, bits: u32) -> Result<()> {
    if (1..=MAX_BITS).contains(&bits) { Ok(()) } else { Err(IntegerError::Bits { op, bits, least: 1, most: MAX_BITS }) }
}
