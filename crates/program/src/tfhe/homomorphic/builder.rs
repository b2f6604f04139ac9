//! Builds a homomorphic program node by node. Each method checks its operands' types, lengths and ranges.

use super::{
    ElementType, Gate, Node, NodeId, Op, Program, ProgramError, ProgramErrorCause as Cause, Range, Table, op_name,
    steps,
};
use crate::tfhe::matrix::Matrix;
use crate::{Location, MemoryBudget};
use polyfabric_kernels::cancel;
use polyfabric_schemes::port::name_problem;
use polyfabric_schemes::tfhe::noise::SHARED_TABLES;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum length of a vector.
pub const MAX_LENGTH: usize = 1 << 26;

/// Maximum number of bits that a wide table reads.
pub const MAX_WIDTH: u32 = 16;

const MAX_NODES: usize = u32::MAX as usize;

/// Estimated bytes of a node and of its Python counterpart, which takes about 300 of them (measured).
const NODE_BYTES: u64 = 512;

/// Result type of a lookup table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// 0 or 1.
    Boolean,
    /// Integers; the range is inferred from the entries that the operand can reach.
    Integer,
    /// Multiples of 2^-`bits` modulo 1.
    Torus {
        /// Fractional bits.
        bits: u32,
    },
}

/// Builds a [`Program`]. Each method appends one node and returns it, or the reason why it cannot.
#[derive(Debug)]
pub struct Builder {
    name: Arc<str>,
    nodes: Vec<Node>,
    location: Option<Location>,
    memory: MemoryBudget,
    /// End offsets of the operands of those concatenations from which parts were selected.
    ends: HashMap<NodeId, Vec<usize>>,
    input_names: HashSet<Arc<str>>,
    output_names: HashSet<Arc<str>>,
}

type Result<T> = std::result::Result<T, ProgramError>;

impl Builder {
    /// An empty program.
    ///
    /// # Errors
    /// [`Cause::Name`].
    pub fn new(name: &str) -> Result<Self> {
        let builder = Self {
            name: name.into(),
            nodes: Vec::new(),
            location: None,
            memory: MemoryBudget::default(),
            ends: HashMap::new(),
            input_names: HashSet::new(),
            output_names: HashSet::new(),
        };
        match name_problem(name) {
            Some(problem) => Err(builder.refuse(Cause::Name { what: "program", name: name.to_owned(), problem })),
            None => Ok(builder),
        }
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

    /// # Errors
    /// [`Cause::UnknownNode`].
    pub fn element(&self, node: NodeId) -> Result<ElementType> {
        Ok(self.operand("type", node)?.element)
    }

    fn refuse(&self, cause: Cause) -> ProgramError {
        ProgramError { cause, location: self.location.clone() }
    }

    fn operand(&self, op: &'static str, id: NodeId) -> Result<&Node> {
        self.nodes.get(id.index()).ok_or_else(|| self.refuse(Cause::UnknownNode { op, operand: id.0 }))
    }

    fn push(&mut self, op: Op, operands: Vec<NodeId>, element: ElementType, length: usize) -> Result<NodeId> {
        cancel::check();
        if length == 0 || length > MAX_LENGTH {
            return Err(self.refuse(Cause::Length { op: op_name(&op), length, limit: MAX_LENGTH }));
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(self.refuse(Cause::TooManyNodes { limit: MAX_NODES }));
        }
        let bytes = NODE_BYTES + size_of_val(&*operands) as u64 + op.bytes();
        self.memory.spend(bytes).map_err(|memory| self.refuse(Cause::Memory { memory }))?;
        let id = NodeId(self.nodes.len() as u32);
        let location = self.location.clone();
        self.nodes.push(Node { op, operands, element, length, pinned_step: None, location });
        Ok(id)
    }

    fn check_values(&self, op: &'static str, element: ElementType, values: &[i64]) -> Result<()> {
        match values.iter().position(|&value| !element.holds(value)) {
            Some(index) => Err(self.refuse(Cause::Value { op, value: values[index], index, element })),
            None => Ok(()),
        }
    }

    fn check_element(&self, element: ElementType) -> Result<()> {
        match element {
            ElementType::Torus { bits } if !(1..=30).contains(&bits) => Err(self.refuse(Cause::TorusBits { bits })),
            _ => Ok(()),
        }
    }

    fn same_length(&self, op: &'static str, left: usize, right: usize) -> Result<()> {
        if left == right { Ok(()) } else { Err(self.refuse(Cause::LengthMismatch { op, left, right })) }
    }

    /// An encrypted input vector.
    ///
    /// # Errors
    /// [`Cause::Name`], [`Cause::Length`], [`Cause::TorusBits`].
    pub fn input(&mut self, name: &str, element: ElementType, length: usize) -> Result<NodeId> {
        self.check_element(element)?;
        let name = self.fresh_name("input", name)?;
        let id = self.push(Op::Input { name: name.clone() }, Vec::new(), element, length)?;
        self.input_names.insert(name);
        Ok(id)
    }

    fn fresh_name(&self, what: &'static str, name: &str) -> Result<Arc<str>> {
        let taken = if what == "input" { &self.input_names } else { &self.output_names };
        let problem = if taken.contains(name) { Some("is taken") } else { name_problem(name) };
        match problem {
            Some(problem) => Err(self.refuse(Cause::Name { what, name: name.to_owned(), problem })),
            None => Ok(name.into()),
        }
    }

    /// Public values as trivial ciphertexts. The range of an integer constant is narrowed to its values.
    ///
    /// # Errors
    /// [`Cause::Value`], [`Cause::Length`], [`Cause::TorusBits`].
    pub fn constant(&mut self, element: ElementType, values: &[i64]) -> Result<NodeId> {
        self.check_element(element)?;
        self.check_values("constant", element, values)?;
        let element = match element {
            ElementType::Integer(range) => ElementType::Integer(values_range(values).unwrap_or(range)),
            other => other,
        };
        self.push(Op::Constant { values: values.into() }, Vec::new(), element, values.len())
    }

    /// `a + b`, element by element.
    ///
    /// # Errors
    /// [`Cause::LengthMismatch`], [`Cause::Type`], [`Cause::TypeMismatch`], [`Cause::Overflow`].
    pub fn add(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        self.sum(Op::Add, a, b)
    }

    /// `a - b`, element by element.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        self.sum(Op::Sub, a, b)
    }

    fn sum(&mut self, op: Op, a: NodeId, b: NodeId) -> Result<NodeId> {
        let name = op_name(&op);
        let (left, right) = (self.arithmetic(name, a)?, self.arithmetic(name, b)?);
        self.same_length(name, left.length, right.length)?;
        let length = left.length;
        let sign = if op == Op::Sub { -1 } else { 1 };
        let element = match (left.element, right.element) {
            (ElementType::Integer(x), ElementType::Integer(y)) => {
                let sum = y.checked_mul(sign).and_then(|y| x.checked_add(y));
                ElementType::Integer(sum.ok_or_else(|| self.refuse(Cause::Overflow { op: name }))?)
            }
            (ElementType::Torus { bits }, ElementType::Torus { bits: other }) if bits == other => left.element,
            (left, right) => return Err(self.refuse(Cause::TypeMismatch { op: name, left, right })),
        };
        self.push(op, vec![a, b], element, length)
    }

    /// The operand of an arithmetic operation, which must not be Boolean.
    fn arithmetic(&self, op: &'static str, id: NodeId) -> Result<&Node> {
        let node = self.operand(op, id)?;
        match node.element {
            ElementType::Boolean => Err(self.refuse(Cause::Type {
                op,
                found: node.element,
                expected: "an integer or a torus value",
                remedy: "use a gate, as x & y, or make an integer of each by a lookup, as pf.lookup(x, [0, 1])",
            })),
            _ => Ok(node),
        }
    }

    /// `-a`, element by element.
    ///
    /// # Errors
    /// [`Cause::Type`].
    pub fn neg(&mut self, a: NodeId) -> Result<NodeId> {
        let node = self.arithmetic("neg", a)?;
        let element = self.scaled("neg", node.element, Range::point(-1))?;
        let length = node.length;
        self.push(Op::Neg, vec![a], element, length)
    }

    fn scaled(&self, op: &'static str, element: ElementType, factors: Range) -> Result<ElementType> {
        let ElementType::Integer(range) = element else { return Ok(element) };
        let overflow = || self.refuse(Cause::Overflow { op });
        let low = range.checked_mul(factors.lo()).ok_or_else(overflow)?;
        let high = range.checked_mul(factors.hi()).ok_or_else(overflow)?;
        Ok(ElementType::Integer(low.union(high)))
    }

    /// `a + values`, element by element.
    ///
    /// # Errors
    /// [`Cause::LengthMismatch`], [`Cause::Type`], [`Cause::Overflow`].
    pub fn add_clear(&mut self, a: NodeId, values: &[i64]) -> Result<NodeId> {
        let node = self.arithmetic("add_clear", a)?;
        self.same_length("add_clear", node.length, values.len())?;
        let element = match (node.element, values_range(values)) {
            (ElementType::Integer(range), Some(addends)) => {
                let sum = checked_range(values).and_then(|_| range.checked_add(addends));
                ElementType::Integer(sum.ok_or_else(|| self.refuse(Cause::Overflow { op: "add_clear" }))?)
            }
            (element, _) => element,
        };
        self.push(Op::AddClear { values: values.into() }, vec![a], element, values.len())
    }

    /// `a · values`, element by element.
    ///
    /// # Errors
    /// [`Cause::LengthMismatch`], [`Cause::Type`], [`Cause::Overflow`].
    pub fn mul_clear(&mut self, a: NodeId, values: &[i64]) -> Result<NodeId> {
        let node = self.arithmetic("mul_clear", a)?;
        self.same_length("mul_clear", node.length, values.len())?;
        if let Some(index) = values.iter().position(|&value| i32::try_from(value).is_err()) {
            let (row, weight) = (index, values[index]);
            let cause = crate::tfhe::matrix::MatrixError::Weight { row, column: index, weight };
            return Err(self.refuse(Cause::Matrix(cause)));
        }
        let mut element = node.element;
        if let ElementType::Integer(range) = node.element {
            let mut all: Option<Range> = None;
            for &value in values {
                let scaled = range.checked_mul(value);
                let scaled = scaled.ok_or_else(|| self.refuse(Cause::Overflow { op: "mul_clear" }))?;
                all = Some(all.map_or(scaled, |all| all.union(scaled)));
            }
            element = ElementType::Integer(all.unwrap_or(range));
        }
        self.push(Op::MulClear { values: values.into() }, vec![a], element, values.len())
    }

    /// `matrix · a + bias`.
    ///
    /// # Errors
    /// [`Cause::LengthMismatch`] (columns against `a`, rows against `bias`), [`Cause::Type`], [`Cause::Overflow`].
    pub fn linear(&mut self, a: NodeId, matrix: Arc<Matrix>, bias: &[i64]) -> Result<NodeId> {
        let node = self.arithmetic("linear", a)?;
        self.same_length("linear", node.length, matrix.columns())?;
        self.same_length("linear", matrix.rows(), bias.len())?;
        let mut element = node.element;
        if let ElementType::Integer(range) = node.element {
            let mut all: Option<Range> = None;
            for (row, &bias) in bias.iter().enumerate() {
                let overflow = || self.refuse(Cause::Overflow { op: "linear" });
                let mut sum = checked_range(&[bias]).ok_or_else(overflow)?;
                for (_, weight) in matrix.row(row) {
                    let term = range.checked_mul(i64::from(weight)).ok_or_else(overflow)?;
                    sum = sum.checked_add(term).ok_or_else(overflow)?;
                }
                all = Some(all.map_or(sum, |all| all.union(sum)));
            }
            element = ElementType::Integer(all.unwrap_or(range));
        }
        self.push(Op::Linear { matrix, bias: bias.into() }, vec![a], element, bias.len())
    }

    /// Applies a table to each element of `a`. `choice` gives each element's table and may be omitted if there is one table.
    /// A Boolean operand counts as 0 or 1.
    ///
    /// # Errors
    /// [`Cause::Table`], [`Cause::Type`], [`Cause::Index`], [`Cause::Value`], [`Cause::LengthMismatch`].
    pub fn lookup(
        &mut self,
        a: NodeId,
        tables: Vec<Table>,
        choice: Option<Vec<u32>>,
        result: LookupResult,
    ) -> Result<NodeId> {
        self.lookup_of(false, a, tables, choice, result)
    }

    /// As [`Self::lookup`], but on the whole torus: the operand's range may be twice as wide if values half a torus apart have
    /// negated results (±1 for Booleans). The sign with zero and the test for 0 are such functions. Other tables need the same
    /// torus step as in [`Self::lookup`].
    ///
    /// # Errors
    /// As [`Self::lookup`].
    pub fn lookup_whole(
        &mut self,
        a: NodeId,
        tables: Vec<Table>,
        choice: Option<Vec<u32>>,
        result: LookupResult,
    ) -> Result<NodeId> {
        self.lookup_of(true, a, tables, choice, result)
    }

    /// Applies each of `tables` to each element of `a`, with one bootstrap per element. The result has `tables.len()` times as many
    /// elements, the first table's results first. Needs a ring that distinguishes 2^⌈log2(tables)⌉ times as many values.
    ///
    /// # Errors
    /// As [`Self::lookup`].
    pub fn lookup_each(&mut self, a: NodeId, tables: Vec<Table>, result: LookupResult) -> Result<NodeId> {
        let node = self.operand("lookup_each", a)?;
        let length = node.length.saturating_mul(tables.len());
        let domain = self.readable("lookup_each", node)?;
        let element = self.lookup_element("lookup_each", domain, &tables, result)?;
        self.push(Op::LookupEach { tables: tables.into() }, vec![a], element, length)
    }

    /// Applies each of `tables` to numbers in digits, by circuit bootstrapping: digit 0 of all elements, then digit 1, and so on. Digit d is read
    /// modulo 2^`widths[d]`, so that carries need not be removed before. Entry i of a table is for the number whose bits are i. The result has the
    /// first table's results for all elements, then the second's. Needs a parameter set with circuit bootstrapping.
    ///
    /// # Errors
    /// [`Cause::Type`], [`Cause::Wide`].
    pub fn lookup_wide(&mut self, a: NodeId, widths: Vec<u32>, tables: Vec<Table>) -> Result<NodeId> {
        let node = self.operand("lookup_wide", a)?;
        let ElementType::Integer(_) = node.element else {
            return Err(self.refuse(Cause::Type {
                op: "lookup_wide",
                found: node.element,
                expected: "an integer",
                remedy: "make an integer of it by a lookup, as pf.lookup(x, [0, 1])",
            }));
        };
        let refuse = |problem: String| Err(self.refuse(Cause::Wide { problem }));
        // Each width counts at most 17, so that the sum cannot overflow for a vector that fits memory.
        let width: u64 = widths.iter().map(|&width| u64::from(width.min(MAX_WIDTH + 1))).sum();
        if widths.contains(&0) || width == 0 || width > u64::from(MAX_WIDTH) {
            return refuse(format!("digits of {widths:?} bits; give each at least 1, and 1 to {MAX_WIDTH} together"));
        }
        if !node.length.is_multiple_of(widths.len()) {
            let (length, digits) = (node.length, widths.len());
            return refuse(format!("{length} elements are not {digits} digits of each number; concatenate the digits"));
        }
        if tables.is_empty() || tables.len() > SHARED_TABLES {
            return refuse(format!("{} tables; give 1 to {SHARED_TABLES}", tables.len()));
        }
        let entries = 1usize << width;
        if let Some(table) = tables.iter().find(|table| table.first() != 0 || table.values().len() != entries) {
            let (first, found) = (table.first(), table.values().len());
            return refuse(format!(
                "a table from {first} with {found} entries for {width} bits; give {entries} from 0"
            ));
        }
        let length = (node.length / widths.len()).saturating_mul(tables.len());
        let domain = Range::new(0, entries as i64 - 1).unwrap_or(Range::point(0));
        let element = self.lookup_element("lookup_wide", domain, &tables, LookupResult::Integer)?;
        self.push(Op::LookupWide { widths: widths.into(), tables: tables.into() }, vec![a], element, length)
    }

    fn lookup_of(
        &mut self,
        whole: bool,
        a: NodeId,
        tables: Vec<Table>,
        choice: Option<Vec<u32>>,
        result: LookupResult,
    ) -> Result<NodeId> {
        let node = self.operand("lookup", a)?;
        let length = node.length;
        let domain = self.readable("lookup", node)?;
        let choice = match choice {
            None if tables.len() == 1 => None,
            given => Some(given.unwrap_or_default()),
        };
        if let Some(choice) = &choice {
            self.same_length("lookup", length, choice.len())?;
            let beyond = choice.iter().find(|&&index| index as usize >= tables.len());
            if let Some(&index) = beyond {
                let cause = Cause::Index { op: "lookup", index: index.into(), length: tables.len() };
                return Err(self.refuse(cause));
            }
        }
        let element = self.lookup_element("lookup", domain, &tables, result)?;
        self.push(Op::Lookup { tables: tables.into(), choice: choice.map(Into::into), whole }, vec![a], element, length)
    }

    /// The narrowest type that contains every result of `tables` on `domain`.
    fn lookup_element(
        &self,
        op: &'static str,
        domain: Range,
        tables: &[Table],
        result: LookupResult,
    ) -> Result<ElementType> {
        let mut image: Option<Range> = None;
        for table in tables {
            let reached = table.image(domain).map_err(|error| self.refuse(error.into()))?;
            image = Some(image.map_or(reached, |image| image.union(reached)));
        }
        let image = image.unwrap_or(Range::point(0));
        let element = match result {
            LookupResult::Boolean => ElementType::Boolean,
            LookupResult::Integer => ElementType::Integer(image),
            LookupResult::Torus { bits } => ElementType::Torus { bits },
        };
        self.check_element(element)?;
        self.check_values(op, element, &[image.lo(), image.hi()])?;
        Ok(element)
    }

    /// The clear values of an operand that a lookup table can index.
    fn readable(&self, op: &'static str, node: &Node) -> Result<Range> {
        match node.element {
            ElementType::Integer(range) => Ok(range),
            ElementType::Boolean => Ok(Range::point(0).union(Range::point(1))),
            found @ ElementType::Torus { .. } => Err(self.refuse(Cause::Type {
                op,
                found,
                expected: "an integer or a Boolean",
                remedy: "a torus value has no bounded range to tabulate; carry it as an integer",
            })),
        }
    }

    /// +1 where `a` ≥ 0, otherwise -1, on the whole torus; a Boolean operand gives +1 for true.
    /// With `boolean`, the result is Boolean instead.
    ///
    /// # Errors
    /// [`Cause::Type`].
    pub fn sign(&mut self, a: NodeId, boolean: bool) -> Result<NodeId> {
        let node = self.operand("sign", a)?;
        self.readable("sign", node)?;
        let length = node.length;
        let element = if boolean { ElementType::Boolean } else { ElementType::Integer(Range::sign()) };
        self.push(Op::Sign, vec![a], element, length)
    }

    fn boolean(&self, op: &'static str, id: NodeId) -> Result<usize> {
        let node = self.operand(op, id)?;
        match node.element {
            ElementType::Boolean => Ok(node.length),
            found => Err(self.refuse(Cause::Type {
                op,
                found,
                expected: "a Boolean",
                remedy: "compare the value first, or use a lookup with Boolean result",
            })),
        }
    }

    /// The gate `gate` of two Boolean vectors; one bootstrap per element.
    ///
    /// # Errors
    /// [`Cause::Type`], [`Cause::LengthMismatch`].
    pub fn gate(&mut self, gate: Gate, a: NodeId, b: NodeId) -> Result<NodeId> {
        let name = op_name(&Op::Gate(gate));
        let (left, right) = (self.boolean(name, a)?, self.boolean(name, b)?);
        self.same_length(name, left, right)?;
        self.push(Op::Gate(gate), vec![a, b], ElementType::Boolean, left)
    }

    /// Boolean negation; no bootstrap.
    ///
    /// # Errors
    /// [`Cause::Type`].
    pub fn not(&mut self, a: NodeId) -> Result<NodeId> {
        let length = self.boolean("not", a)?;
        self.push(Op::Not, vec![a], ElementType::Boolean, length)
    }

    /// `condition ? then : otherwise`; two bootstraps per element.
    ///
    /// # Errors
    /// [`Cause::Type`], [`Cause::LengthMismatch`].
    pub fn mux(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> Result<NodeId> {
        let length = self.boolean("mux", condition)?;
        for operand in [then, otherwise] {
            let other = self.boolean("mux", operand)?;
            self.same_length("mux", length, other)?;
        }
        self.push(Op::Mux, vec![condition, then, otherwise], ElementType::Boolean, length)
    }

    /// The elements `indices` of `a`.
    ///
    /// # Errors
    /// [`Cause::Index`], [`Cause::Length`].
    pub fn select(&mut self, a: NodeId, indices: &[u32]) -> Result<NodeId> {
        let node = self.operand("select", a)?;
        if let Some(&index) = indices.iter().find(|&&index| index as usize >= node.length) {
            let cause = Cause::Index { op: "select", index: index.into(), length: node.length };
            return Err(self.refuse(cause));
        }
        if node.op == Op::Concat && !self.ends.contains_key(&a) {
            let lengths = node.operands.iter().map(|operand| self.nodes[operand.index()].length);
            let ends = lengths.scan(0, |end, length| Some(*end + length).inspect(|&sum| *end = sum)).collect();
            self.ends.insert(a, ends);
        }
        let node = self.operand("select", a)?;
        let element = self.selected(a, node, indices).unwrap_or(node.element);
        self.push(Op::Select { indices: indices.into() }, vec![a], element, indices.len())
    }

    /// The element type of `indices` of `node`, narrower than the node's if they come from one operand of a concatenation.
    fn selected(&self, id: NodeId, node: &Node, indices: &[u32]) -> Option<ElementType> {
        let (Some(&least), Some(&most)) = (indices.iter().min(), indices.iter().max()) else { return None };
        let (first, last) = (least as usize, most as usize);
        match &node.op {
            Op::LookupEach { tables } if matches!(node.element, ElementType::Integer(_)) => {
                let operand = self.nodes.get(node.operands[0].index())?;
                let domain = self.readable("select", operand).ok()?;
                let mut parts = first / operand.length..=last / operand.length;
                let image = |part: usize| tables.get(part)?.image(domain).ok();
                let start = image(parts.next()?)?;
                Some(ElementType::Integer(parts.try_fold(start, |all, part| Some(all.union(image(part)?)))?))
            }
            Op::Concat => {
                let ends = self.ends.get(&id)?;
                let part = ends.partition_point(|&end| end <= first);
                let inside = *ends.get(part)? > last;
                inside.then(|| self.nodes[node.operands[part].index()].element)
            }
            _ => None,
        }
    }

    /// Concatenates all operands.
    ///
    /// # Errors
    /// [`Cause::OperandCount`], [`Cause::TypeMismatch`], [`Cause::Length`].
    pub fn concat(&mut self, operands: &[NodeId]) -> Result<NodeId> {
        let mut joined: Option<(ElementType, usize)> = None;
        for &operand in operands {
            let node = self.operand("concat", operand)?;
            joined = Some(match joined {
                None => (node.element, node.length),
                Some((left, length)) => match (left, node.element) {
                    (ElementType::Integer(x), ElementType::Integer(y)) => {
                        (ElementType::Integer(x.union(y)), length + node.length)
                    }
                    (x, y) if x == y => (x, length + node.length),
                    (left, right) => {
                        return Err(self.refuse(Cause::TypeMismatch { op: "concat", left, right }));
                    }
                },
            });
        }
        let none = || self.refuse(Cause::OperandCount { op: "concat", found: 0, expected: 1 });
        let (element, length) = joined.ok_or_else(none)?;
        self.push(Op::Concat, operands.to_vec(), element, length)
    }

    /// `a` with the caller's promise that it lies in `range`.
    ///
    /// # Errors
    /// [`Cause::Type`] unless `a` is an integer.
    pub fn assume(&mut self, a: NodeId, range: Range) -> Result<NodeId> {
        let node = self.operand("assume", a)?;
        let length = node.length;
        if !matches!(node.element, ElementType::Integer(_)) {
            return Err(self.refuse(Cause::Type {
                op: "assume",
                found: node.element,
                expected: "an integer",
                remedy: "only integers have a range to narrow",
            }));
        }
        self.push(Op::Assume, vec![a], ElementType::Integer(range), length)
    }

    /// Declares `a` as the output `name`.
    ///
    /// # Errors
    /// [`Cause::Name`].
    pub fn output(&mut self, name: &str, a: NodeId) -> Result<NodeId> {
        let node = self.operand("output", a)?;
        let (element, length) = (node.element, node.length);
        let name = self.fresh_name("output", name)?;
        let id = self.push(Op::Output { name: name.clone() }, vec![a], element, length)?;
        self.output_names.insert(name);
        Ok(id)
    }

    /// Requires the torus step 1/`denominator` for the component of `a`. Checked by [`Self::finish`].
    ///
    /// # Errors
    /// [`Cause::UnknownNode`].
    pub fn pin_step(&mut self, a: NodeId, denominator: u32) -> Result<()> {
        self.operand("step", a)?;
        self.nodes[a.index()].pinned_step = Some(denominator);
        Ok(())
    }

    /// Checks the program as a whole and infers the torus steps.
    ///
    /// # Errors
    /// [`Cause::NoOutput`], [`Cause::Step`], [`Cause::StepConflict`], [`Cause::TooFine`], [`Cause::Value`].
    pub fn finish(self) -> Result<Program> {
        if self.output_names.is_empty() {
            let cause = Cause::NoOutput { name: self.name.to_string() };
            return Err(ProgramError { cause, location: None });
        }
        let steps = steps::infer(&self.nodes)?;
        Ok(Program { name: self.name, nodes: self.nodes, steps })
    }
}

/// The range of values already known to lie within ±2^40.
fn values_range(values: &[i64]) -> Option<Range> {
    values.iter().map(|&value| Range::point(value)).reduce(Range::union)
}

/// The range of `values`; `None` beyond ±2^40.
fn checked_range(values: &[i64]) -> Option<Range> {
    let range = values_range(values)?;
    values.iter().all(|&value| range.contains(value)).then_some(range)
}
