//! Integers of any width, compiled to lookups on digits.
//!
//! An integer of b bits has ⌈b/2⌉ digits of two bits, least significant first, in two's complement if signed. With an odd width, the
//! last digit has one bit. [`Integers`] appends the lookups of an operation to a [`Builder`]. The result is an ordinary homomorphic
//! program, so every runtime and machine executes it and the noise analysis covers it.
//!
//! - Sums defer carries until a read: four or five addends cost one carry pass.
//! - A lookup reads two packed digits, x · 4 + y: 16 values. A comparison reads differences from −15 to 15 on the whole torus.
//! - A lookup of at most eight values gives two results (a digit and its carry) with one bootstrap.
//! - Digits that a public shift splits, and what wide tables give, also have their bits: exclusive ors of these, and shifts by public amounts, take no
//!   lookup (`bit_sums`).
//!
//! | operation on D digits | lookups |
//! |---|---|
//! | `+`, `-`, negation | D |
//! | `&`, `\|`, `^`; shift by a public odd amount | D |
//! | select | D |
//! | `==` | ⌈D/2⌉ + 1 |
//! | `<` | about 2D/3 |
//! | shift by an encrypted amount of k bits | D·k + ⌈k/2⌉ |
//! | `*` | about 1.5 D² |
//! | overflow of `*` | about 4D more, 8D if signed |
//! | `/` and `%` | about 2 D² |

mod arithmetic;
mod bit_sums;
mod bits;
mod by_table;
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
use std::sync::Arc;
use thiserror::Error;

/// Base of the digits.
pub const BASE: i64 = 4;
/// Bits per digit.
pub const DIGIT_BITS: u32 = 2;
/// Maximum width.
pub const MAX_BITS: u32 = 1 << 12;

/// An integer type modulo 2^bits: from 0, or from −2^(bits − 1) if signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerType {
    pub bits: u32,
    /// Two's complement.
    pub signed: bool,
}

impl IntegerType {
    pub const fn unsigned(bits: u32) -> Self {
        Self { bits, signed: false }
    }

    /// Number of digits.
    pub const fn digits(self) -> usize {
        self.bits.div_ceil(DIGIT_BITS) as usize
    }

    /// Number of values of digit `index`: 4, or 2 for the last digit of an odd width.
    const fn base(self, index: usize) -> i64 {
        if self.bits % 2 == 1 && index + 1 == self.digits() { 2 } else { BASE }
    }
}

impl std::fmt::Display for IntegerType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.signed { "sint" } else { "uint" }, self.bits)
    }
}

/// An integer, or a vector of integers, within an [`Integers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerId(pub u32);

/// Why an operation on integers is invalid.
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
    Lengths { op: &'static str, left: usize, right: usize },
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
    Operand { found: String },
    #[error(
        "the operand ranges from {lo} to {hi}, and one lookup makes digits of {most} values at most; give it as digits"
    )]
    Range {
        /// Smallest value.
        lo: i64,
        /// Greatest.
        hi: i64,
        /// Values that one lookup reads.
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
    Public { digits: usize, kind: IntegerType },
    #[error("a table of {entries} entries with an index of {bits} bits; give 2^{bits} of them")]
    Entries { entries: usize, bits: u32 },
    #[error("element {index} of a vector of {length}; correct the index")]
    Index { index: usize, length: usize },
    #[error("integer {0} is not of this program")]
    Unknown(u32),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

type Result<T> = std::result::Result<T, IntegerError>;

#[derive(Clone, Debug)]
struct Integer {
    kind: IntegerType,
    count: usize,
    /// Nonnegative digits of at most [`CAPACITY`] − 4; below their base if carried. `None` until an operation needs them, if there are `bits`.
    digits: Option<Vec<Digit>>,
    /// Cache of the carried digits.
    carried: Option<Vec<Digit>>,
    /// All bits, as sums that count modulo 2, if something gave them.
    bits: Option<Vec<Digit>>,
}

/// The integers of one program.
#[derive(Debug)]
pub struct Integers {
    values: Vec<Integer>,
    /// Elements of public vectors whose elements differ.
    public: HashMap<IntegerId, Vec<Vec<u8>>>,
    norms: HashMap<NodeId, f64>,
    lanes: usize,
    /// Entries of the tables on slots; `None` for TFHE.
    slot_tables: Option<i64>,
    wide_tables: bool,
    /// Wide tables of operations, if there may be any; `None` for those whose lookups cost less.
    tables: Option<HashMap<by_table::Signature, Option<Arc<by_table::Tables>>>>,
    /// Whether a wide table would take less than lookups that were built.
    replaceable: bool,
}

impl Integers {
    /// For hardware that runs `lanes` lookups in the time of one. Carries use a parallel prefix if it saves time.
    pub fn new(lanes: usize) -> Self {
        let (values, public, norms) = (Vec::new(), HashMap::new(), HashMap::new());
        let (slot_tables, tables) = (None, None);
        Self { values, public, norms, lanes: lanes.max(1), slot_tables, wide_tables: false, tables, replaceable: false }
    }

    /// Sets the `lanes` of [`Self::new`] for the following operations.
    pub fn set_lanes(&mut self, lanes: usize) {
        self.lanes = lanes.max(1);
    }

    /// The following operations are for tables of `entries` entries on slots instead of TFHE. Signs of up to 2·[`CAPACITY`] − 1 values, on the
    /// whole torus, are then not available. A table whose index has at most `entries` values is read at once.
    pub fn set_slot_tables(&mut self, entries: i64) {
        self.slot_tables = Some(entries);
    }

    /// The following tables are read by circuit bootstrapping; with `operations` so are products, powers, quotients and shifts by encrypted amounts, where a
    /// table takes less than their lookups with the same parameter set.
    pub fn set_wide_tables(&mut self, operations: bool) {
        self.wide_tables = true;
        self.tables = operations.then(HashMap::new);
    }

    /// Whether a table or an operation was built of lookups that take more than a wide table with the same parameter set.
    pub fn has_replaceable_lookups(&self) -> bool {
        self.replaceable
    }

    /// Whether an operation became a wide table.
    pub fn has_operations_by_table(&self) -> bool {
        self.tables.iter().flat_map(HashMap::values).any(Option::is_some)
    }

    fn get(&self, id: IntegerId) -> Result<&Integer> {
        self.values.get(id.0 as usize).ok_or(IntegerError::Unknown(id.0))
    }

    /// # Errors
    /// [`IntegerError::Unknown`].
    pub fn kind(&self, id: IntegerId) -> Result<IntegerType> {
        Ok(self.get(id)?.kind)
    }

    /// # Errors
    /// [`IntegerError::Unknown`].
    pub fn count(&self, id: IntegerId) -> Result<usize> {
        Ok(self.get(id)?.count)
    }

    fn add_value(&mut self, kind: IntegerType, count: usize, digits: Vec<Digit>) -> IntegerId {
        self.add_forms(kind, count, Some(digits), None)
    }

    /// An integer by its digits, its bits, or both.
    fn add_forms(
        &mut self,
        kind: IntegerType,
        count: usize,
        digits: Option<Vec<Digit>>,
        bits: Option<Vec<Digit>>,
    ) -> IntegerId {
        // Public bits are public digits.
        let public = |bits: &Vec<Digit>| bits.iter().map(Digit::public).collect::<Option<Vec<i64>>>();
        let number = |pair: &[i64]| Digit::constant(pair.iter().rev().fold(0, |sum, bit| 2 * sum + bit));
        let digits = digits.or_else(|| Some(public(bits.as_ref()?)?.chunks(DIGIT_BITS as usize).map(number).collect()));
        self.values.push(Integer { kind, count, digits, carried: None, bits });
        IntegerId(self.values.len() as u32 - 1)
    }

    fn circuit<'a>(&'a mut self, builder: &'a mut Builder, count: usize) -> Circuit<'a> {
        let (whole_torus, wide_tables) = (self.slot_tables.is_none(), self.wide_tables);
        Circuit { builder, norms: &mut self.norms, count, whole_torus, wide_tables }
    }

    /// An encrypted input of `count` integers: all first digits, then all second digits, and so on.
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

    /// Declares an output, with digits in the order of [`Self::input`].
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

    /// A public vector. Each element is given by its digits, least significant first (two's complement if signed).
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

    /// Converts a vector of small integers, with at most [`CAPACITY`] values, to `kind`.
    ///
    /// # Errors
    /// [`IntegerError::Range`] if it has more values, [`IntegerError::NotHeld`] if the type does not contain them, [`IntegerError::Operand`].
    pub fn from_node(&mut self, builder: &mut Builder, node: NodeId, kind: IntegerType) -> Result<IntegerId> {
        check_bits("cast", kind.bits)?;
        let element = builder.element(node)?;
        let count = builder.nodes()[node.index()].length;
        let boolean = element == ElementType::Boolean;
        let node = match element {
            // A Boolean becomes 0 or 1.
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

    /// The digits of `id`: the carried ones if they exist, because they have narrower ranges and independent noise.
    fn digits(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<Digit>> {
        let Integer { kind, count, digits, carried, bits } = self.get(id)?.clone();
        if let Some(digits) = carried.or(digits) {
            return Ok(digits);
        }
        let digits = self.circuit(builder, count).digits_of(kind, &bits.unwrap_or_default())?;
        self.values[id.0 as usize].digits = Some(digits.clone());
        Ok(digits)
    }

    /// The carried digits of `id`, each below its base.
    fn carried(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<Digit>> {
        let Integer { kind, count, carried, .. } = self.get(id)?.clone();
        if let Some(carried) = carried {
            return Ok(carried);
        }
        let (lanes, digits) = (self.lanes, self.digits(builder, id)?);
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

    /// Carried digits of two operands of equal type and length; a scalar is broadcast.
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

    /// Both operands, broadcast to equal length.
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

/// Common type and length of an operation's operands.
#[derive(Clone, Copy)]
struct Operands {
    kind: IntegerType,
    count: usize,
}

impl Circuit<'_> {
    /// `digits` fitted to `kind`: the last digit of an odd width is reduced modulo 2.
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
