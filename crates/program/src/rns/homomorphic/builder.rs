//! Builds a homomorphic program node by node. Each method checks its operands and parameters.

use super::{
    Basis, Diagonals, Node, NodeId, Op, Polynomial, Program, ProgramError, ProgramErrorCause as Cause, Scheme, Table,
    Values, op_name,
};
use crate::{Location, MemoryBudget};
use polyfabric_kernels::cancel;
use polyfabric_schemes::port::name_problem;
use std::collections::HashSet;
use std::sync::Arc;

const MAX_NODES: usize = u32::MAX as usize;

/// Estimated bytes of a node and of its Python counterpart, which takes about 500 of them (measured).
const NODE_BYTES: u64 = 1024;

/// Maximum fractional bits of a factor that uses no level.
const MAX_FACTOR_BITS: u32 = 60;

/// Maximum degree of a polynomial of real or complex slots; planning evaluates the error at as many points.
const MAX_DEGREE: usize = 4095;

/// Maximum degree of a polynomial of integers; suffices for any function modulo 2^16 + 1.
const MAX_INTEGER_DEGREE: usize = 1 << 16;

/// Builds a [`Program`]. Each method appends one node and returns it, or the reason why it cannot.
#[derive(Debug)]
pub struct Builder {
    name: Arc<str>,
    scheme: Scheme,
    slots: usize,
    batch: Option<usize>,
    nodes: Vec<Node>,
    location: Option<Location>,
    memory: MemoryBudget,
    input_names: HashSet<Arc<str>>,
    output_names: HashSet<Arc<str>>,
}

type Result<T> = std::result::Result<T, ProgramError>;

/// Prefix of the names of observed nodes ([`Builder::observe`]), followed by the index. User programs cannot use it.
pub const OBSERVED: &str = "node %";

impl Builder {
    /// An empty program on vectors of `slots` slots.
    ///
    /// # Errors
    /// [`Cause::Name`], [`Cause::Slots`], [`Cause::PlaintextModulus`].
    pub fn new(name: &str, scheme: Scheme, slots: usize) -> Result<Self> {
        let builder = Self {
            name: name.into(),
            scheme,
            slots,
            batch: None,
            nodes: Vec::new(),
            location: None,
            memory: MemoryBudget::default(),
            input_names: HashSet::new(),
            output_names: HashSet::new(),
        };
        if let Some(problem) = name_problem(name) {
            return Err(builder.refuse(Cause::Name { what: "program", name: name.to_owned(), problem }));
        }
        if let Scheme::Bgv { plaintext_modulus: modulus } = scheme
            && !((2..1 << 60).contains(&modulus)
                && (modulus.is_power_of_two() || polyfabric_kernels::primes::is_prime(modulus)))
        {
            return Err(builder.refuse(Cause::PlaintextModulus { modulus }));
        }
        if !scheme.is_packed() && slots != 1 {
            return Err(builder.refuse(Cause::NonPacked { what: "a vector" }));
        }
        let least = scheme.rows();
        let limit = scheme.most_slots();
        if !slots.is_power_of_two() || slots < least || slots > limit {
            return Err(builder.refuse(Cause::Slots { slots, least, limit }));
        }
        Ok(builder)
    }

    /// An empty program with the name, scheme, slots and batch of `program`.
    pub fn like(program: &Program) -> Result<Self> {
        let builder = Self::new(program.name(), program.scheme(), program.slots())?;
        Ok(Self { batch: program.batch(), ..builder })
    }

    /// States that the lanes of the slots hold `batch` inputs of a program on integers.
    ///
    /// # Errors
    /// [`Cause::Batch`] if they cannot.
    pub fn of_batch(&mut self, batch: usize) -> Result<&mut Self> {
        let most = 2 * self.slots;
        if !(1..=most).contains(&batch) {
            return Err(self.refuse(Cause::Batch { batch, slots: self.slots, most }));
        }
        self.batch = Some(batch);
        Ok(self)
    }

    /// Sets the source location of the nodes that follow.
    pub fn at(&mut self, location: Option<Location>) -> &mut Self {
        self.location = location;
        self
    }

    /// Limits the memory that the program may use.
    pub fn within(&mut self, memory: MemoryBudget) -> &mut Self {
        self.memory = memory;
        self
    }

    /// Checks that `bytes` more are available, before the caller allocates them.
    ///
    /// # Errors
    /// [`Cause::Memory`] if not.
    pub fn expect_memory(&self, bytes: u64) -> Result<()> {
        self.memory.expect(bytes).map_err(|memory| self.refuse(Cause::Memory { memory }))
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Slots per vector.
    pub fn slots(&self) -> usize {
        self.slots
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    fn refuse(&self, cause: Cause) -> ProgramError {
        ProgramError { cause, location: self.location.clone() }
    }

    fn operand(&self, op: &'static str, id: NodeId) -> Result<&Node> {
        match self.nodes.get(id.index()) {
            None => Err(self.refuse(Cause::UnknownNode { op, operand: id })),
            Some(node) if matches!(node.op, Op::Output { .. }) => {
                Err(self.refuse(Cause::OutputRead { op, operand: id }))
            }
            Some(node) => Ok(node),
        }
    }

    fn encrypted(&self, op: &'static str, id: NodeId) -> Result<()> {
        if self.operand(op, id)?.is_public() {
            let remedy = "combine public values before the program, or use the operation on a public operand";
            let (found, expected) = ("public", "an encrypted vector");
            return Err(self.refuse(Cause::Kind { op, operand: id, found, expected, remedy }));
        }
        self.vector(op, id)
    }

    /// Rejects a selector.
    fn vector(&self, op: &'static str, id: NodeId) -> Result<()> {
        if self.operand(op, id)?.is_selector() {
            let remedy = "select one of two vectors with it";
            let (found, expected) = ("a selector", "a vector");
            return Err(self.refuse(Cause::Kind { op, operand: id, found, expected, remedy }));
        }
        Ok(())
    }

    fn selector(&self, op: &'static str, id: NodeId) -> Result<()> {
        if !self.operand(op, id)?.is_selector() {
            let remedy = "declare the bit as a selector";
            let (found, expected) = ("a vector", "a selector");
            return Err(self.refuse(Cause::Kind { op, operand: id, found, expected, remedy }));
        }
        Ok(())
    }

    fn public(&self, op: &'static str, id: NodeId) -> Result<()> {
        if !self.operand(op, id)?.is_public() {
            let remedy = "use the operation on two encrypted vectors";
            let (found, expected) = ("encrypted", "a public vector");
            return Err(self.refuse(Cause::Kind { op, operand: id, found, expected, remedy }));
        }
        Ok(())
    }

    /// Checks and appends any node. All other methods and the parser use it.
    ///
    /// # Errors
    /// [`ProgramError`] with the cause.
    pub fn push(&mut self, op: Op, operands: &[NodeId]) -> Result<NodeId> {
        cancel::check();
        let name = op_name(&op);
        let expected = match &op {
            Op::Input { .. } | Op::Selector { .. } | Op::Constant { .. } => 0,
            Op::Select => 3,
            Op::Add | Op::Sub | Op::Mul | Op::AddPlain | Op::SubPlain | Op::MulPlain | Op::MulPlainScaled { .. } => 2,
            _ => 1,
        };
        if operands.len() != expected {
            return Err(self.refuse(Cause::OperandCount { op: name, found: operands.len(), expected }));
        }
        if op == Op::Select {
            self.selector(name, operands[0])?;
            self.vector(name, operands[1])?;
            self.vector(name, operands[2])?;
        } else if let Some(&first) = operands.first() {
            self.encrypted(name, first)?;
        }
        if !self.scheme.is_packed() && matches!(op, Op::Rotate { .. } | Op::Conjugate | Op::LinearTransform { .. }) {
            return Err(self.refuse(Cause::NonPacked { what: name }));
        }
        match &op {
            Op::Input { name, magnitude, .. } => {
                self.fresh_name("input", name)?;
                if !(magnitude.is_finite() && *magnitude > 0.0) {
                    return Err(self.refuse(Cause::Magnitude { magnitude: *magnitude }));
                }
            }
            Op::Selector { name } => self.fresh_name("input", name)?,
            Op::Output { name } => self.fresh_name("output", name)?,
            Op::Constant { values } => self.check_values(name, values, false)?,
            Op::Add | Op::Sub | Op::Mul => self.encrypted(name, operands[1])?,
            Op::AddPlain | Op::SubPlain | Op::MulPlain => self.public(name, operands[1])?,
            Op::MulPlainScaled { bits } => {
                self.public(name, operands[1])?;
                let problem = match self.scheme {
                    Scheme::Bgv { .. } => Some("integers modulo t have no bits after the point; use mul_plain"),
                    Scheme::Ckks if *bits > MAX_FACTOR_BITS => Some("it has more than 60 bits; give fewer"),
                    Scheme::Ckks => None,
                };
                if let Some(problem) = problem {
                    return Err(self.refuse(Cause::Factor { bits: *bits, problem }));
                }
            }
            Op::LinearTransform { diagonals } => {
                if diagonals.by_offset.is_empty() {
                    return Err(self.refuse(Cause::NoDiagonal));
                }
                for values in diagonals.by_offset.values() {
                    self.check_values(name, values, false)?;
                }
            }
            Op::Polynomial { polynomial } => self.check_polynomial(polynomial)?,
            Op::Lookup { .. } if self.scheme != Scheme::Ckks => {
                let (scheme, remedy) = ("BGV", "use a polynomial modulo t, or CKKS");
                return Err(self.refuse(Cause::NotInScheme { op: name, scheme, remedy }));
            }
            Op::Bootstrap { slots: Some(slots) } => {
                let limit = if self.scheme == Scheme::Ckks { self.slots } else { 0 };
                if !slots.is_power_of_two() || *slots > limit {
                    return Err(self.refuse(Cause::Period { slots: *slots, limit }));
                }
            }
            _ => {}
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(self.refuse(Cause::TooManyNodes { limit: MAX_NODES }));
        }
        self.memory.spend(NODE_BYTES + op.bytes()).map_err(|memory| self.refuse(Cause::Memory { memory }))?;
        match &op {
            Op::Input { name, .. } | Op::Selector { name } => self.input_names.insert(name.clone()),
            Op::Output { name } => self.output_names.insert(name.clone()),
            _ => true,
        };
        Ok(self.append(op, operands))
    }

    fn append(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { op, operands: operands.to_vec(), location: self.location.clone() });
        id
    }

    fn check_values(&self, op: &'static str, values: &Values, any_length: bool) -> Result<()> {
        if !any_length && values.len() != self.slots && !values.is_scalar() {
            return Err(self.refuse(Cause::Length { op, found: values.len(), slots: self.slots }));
        }
        let finite = |value: &super::Complex| value.re.is_finite() && value.im.is_finite();
        let wrong = match (self.scheme, values) {
            (Scheme::Ckks, Values::Complex(values)) => {
                values.iter().position(|value| !finite(value)).map(|index| (index, "is not finite; correct the data"))
            }
            (Scheme::Bgv { .. }, Values::Integer(_)) => None,
            (Scheme::Ckks, Values::Integer(_)) => {
                Some((0, "is an integer modulo t; CKKS takes real or complex values"))
            }
            (Scheme::Bgv { .. }, Values::Complex(_)) => Some((0, "is a real or complex number; BGV takes integers")),
        };
        match wrong {
            Some((index, problem)) => Err(self.refuse(Cause::Value { op, index, problem })),
            None => Ok(()),
        }
    }

    fn check_polynomial(&self, polynomial: &Polynomial) -> Result<()> {
        self.check_values("polynomial", &polynomial.coefficients, true)?;
        if polynomial.coefficients.len() < 2 {
            let problem = "it is constant; use a public vector instead";
            return Err(self.refuse(Cause::Polynomial { problem }));
        }
        let most = match self.scheme {
            Scheme::Ckks => MAX_DEGREE,
            Scheme::Bgv { .. } => MAX_INTEGER_DEGREE,
        };
        if polynomial.degree() > most {
            return Err(self.refuse(Cause::Degree { degree: polynomial.degree(), most }));
        }
        if let Basis::Chebyshev { lo, hi } = polynomial.basis {
            if self.scheme != Scheme::Ckks {
                let problem = "Chebyshev polynomials need real slots; give monomial coefficients";
                return Err(self.refuse(Cause::Polynomial { problem }));
            }
            if !(lo.is_finite() && hi.is_finite() && lo < hi) {
                let problem = "its interval is empty or not finite; give a lower end below the upper one";
                return Err(self.refuse(Cause::Polynomial { problem }));
            }
        }
        Ok(())
    }

    fn fresh_name(&self, what: &'static str, name: &str) -> Result<()> {
        let taken = if what == "input" { &self.input_names } else { &self.output_names };
        let problem = if taken.contains(name) { Some("is taken") } else { name_problem(name) };
        match problem {
            Some(problem) => Err(self.refuse(Cause::Name { what, name: name.to_owned(), problem })),
            None => Ok(()),
        }
    }

    /// An encrypted input with slots up to 1, at the lowest level that the program needs.
    ///
    /// # Errors
    /// [`Cause::Name`].
    pub fn input(&mut self, name: &str) -> Result<NodeId> {
        self.input_with(name, None, 1.0)
    }

    /// An encrypted input at `level`, with slots up to `magnitude`.
    ///
    /// # Errors
    /// [`Cause::Name`], [`Cause::Magnitude`].
    pub fn input_with(&mut self, name: &str, level: Option<usize>, magnitude: f64) -> Result<NodeId> {
        self.push(Op::Input { name: name.into(), level, magnitude }, &[])
    }

    /// An encrypted bit for [`Self::select`].
    ///
    /// # Errors
    /// [`Cause::Name`].
    pub fn selector_input(&mut self, name: &str) -> Result<NodeId> {
        self.push(Op::Selector { name: name.into() }, &[])
    }

    /// A public vector: one value per slot, or one for all.
    ///
    /// # Errors
    /// [`Cause::Length`], [`Cause::Value`].
    pub fn constant(&mut self, values: Values) -> Result<NodeId> {
        self.push(Op::Constant { values }, &[])
    }

    fn is_public(&self, op: &'static str, id: NodeId) -> Result<bool> {
        Ok(self.operand(op, id)?.is_public())
    }

    /// `a + b`; either may be public.
    ///
    /// # Errors
    /// [`Cause::Kind`] if both are public.
    pub fn add(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        match (self.is_public("add", a)?, self.is_public("add", b)?) {
            (_, true) => self.push(Op::AddPlain, &[a, b]),
            (true, false) => self.push(Op::AddPlain, &[b, a]),
            (false, false) => self.push(Op::Add, &[a, b]),
        }
    }

    /// `a - b`; either may be public.
    ///
    /// # Errors
    /// [`Cause::Kind`] if both are public.
    pub fn sub(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        match (self.is_public("sub", a)?, self.is_public("sub", b)?) {
            (_, true) => self.push(Op::SubPlain, &[a, b]),
            (true, false) => {
                let negated = self.neg(b)?;
                self.push(Op::AddPlain, &[negated, a])
            }
            (false, false) => self.push(Op::Sub, &[a, b]),
        }
    }

    /// `a · b`, slotwise; either may be public.
    ///
    /// # Errors
    /// [`Cause::Kind`] if both are public.
    pub fn mul(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        match (self.is_public("mul", a)?, self.is_public("mul", b)?) {
            (_, true) => self.push(Op::MulPlain, &[a, b]),
            (true, false) => self.push(Op::MulPlain, &[b, a]),
            (false, false) => self.push(Op::Mul, &[a, b]),
        }
    }

    /// `a · b` for a public `b` rounded to `bits` fractional bits, without using a level.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public or `b` is not, [`Cause::Factor`] with BGV or more than 60 bits.
    pub fn mul_plain_scaled(&mut self, a: NodeId, b: NodeId, bits: u32) -> Result<NodeId> {
        self.push(Op::MulPlainScaled { bits }, &[a, b])
    }

    /// `a²`, slotwise.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn square(&mut self, a: NodeId) -> Result<NodeId> {
        self.push(Op::Mul, &[a, a])
    }

    /// `-a`.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn neg(&mut self, a: NodeId) -> Result<NodeId> {
        self.push(Op::Neg, &[a])
    }

    /// Slot i takes slot i + `steps`, cyclically within a row.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn rotate(&mut self, a: NodeId, steps: i64) -> Result<NodeId> {
        self.push(Op::Rotate { steps }, &[a])
    }

    /// CKKS: complex conjugation. BGV: swaps the two rows.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn conjugate(&mut self, a: NodeId) -> Result<NodeId> {
        self.push(Op::Conjugate, &[a])
    }

    /// Rescales `a` here, overriding the automatic placement.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn rescale(&mut self, a: NodeId) -> Result<NodeId> {
        self.push(Op::Rescale, &[a])
    }

    /// Brings `a` to `level`, overriding the automatic placement.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn mod_switch(&mut self, a: NodeId, level: usize) -> Result<NodeId> {
        self.push(Op::ModSwitch { level }, &[a])
    }

    /// Relinearizes `a` here, overriding the automatic placement.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn relinearise(&mut self, a: NodeId) -> Result<NodeId> {
        self.push(Op::Relinearise, &[a])
    }

    /// The product of a matrix, given by its diagonals, with `a`.
    ///
    /// # Errors
    /// [`Cause::NoDiagonal`], [`Cause::Length`], [`Cause::Value`].
    pub fn linear_transform(&mut self, a: NodeId, diagonals: Arc<Diagonals>) -> Result<NodeId> {
        self.push(Op::LinearTransform { diagonals }, &[a])
    }

    /// A polynomial of `a`, slotwise.
    ///
    /// # Errors
    /// [`Cause::Polynomial`], [`Cause::Value`].
    pub fn polynomial(&mut self, a: NodeId, polynomial: Arc<Polynomial>) -> Result<NodeId> {
        self.push(Op::Polynomial { polynomial }, &[a])
    }

    /// Bootstraps `a`: restores its levels.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public.
    pub fn bootstrap(&mut self, a: NodeId) -> Result<NodeId> {
        self.push(Op::Bootstrap { slots: None }, &[a])
    }

    /// Bootstraps `a`, whose values repeat every `slots` slots.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public, [`Cause::Period`].
    pub fn bootstrap_slots(&mut self, a: NodeId, slots: usize) -> Result<NodeId> {
        self.push(Op::Bootstrap { slots: Some(slots) }, &[a])
    }

    /// Applies `table` to `a`, whose slots hold integers as fractions.
    ///
    /// # Errors
    /// [`Cause::Kind`] if `a` is public, [`Cause::NotInScheme`] with BGV.
    pub fn lookup(&mut self, a: NodeId, table: Arc<Table>) -> Result<NodeId> {
        self.push(Op::Lookup { table }, &[a])
    }

    /// `one` if the selector `bit` is 1, `zero` if it is 0; both may be public.
    ///
    /// # Errors
    /// [`Cause::Kind`] unless `bit` is a selector and the others are not.
    pub fn select(&mut self, bit: NodeId, one: NodeId, zero: NodeId) -> Result<NodeId> {
        self.push(Op::Select, &[bit, one, zero])
    }

    /// Declares `a` as the output `name`.
    ///
    /// # Errors
    /// [`Cause::Name`].
    pub fn output(&mut self, name: &str, a: NodeId) -> Result<NodeId> {
        self.push(Op::Output { name: name.into() }, &[a])
    }

    /// Declares the encrypted node `a` as an extra output, named [`OBSERVED`] and its index, so that it can be measured.
    pub fn observe(&mut self, a: NodeId) -> NodeId {
        self.append(Op::Output { name: format!("{OBSERVED}{}", a.0).into() }, &[a])
    }

    /// Checks and returns the program.
    ///
    /// # Errors
    /// [`Cause::NoOutput`].
    pub fn finish(self) -> Result<Program> {
        if self.output_names.is_empty() {
            return Err(self.refuse(Cause::NoOutput { name: self.name.to_string() }));
        }
        Ok(Program { name: self.name, scheme: self.scheme, slots: self.slots, batch: self.batch, nodes: self.nodes })
    }
}
