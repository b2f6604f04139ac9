//! The instruction-level dataflow graph: one instruction per residue vector, in order of priority (section
//! 4.2).
//!
//! Instruction i defines one value and has priority i; smaller is sooner. Its operands are results of earlier
//! instructions, and leaves, which are in off-chip memory from the start. All phases read the same graph, with
//! 20 bytes per instruction and 4 per operand.

pub use crate::rns::function::Function;
use polyfabric_kernels::cancel;
use std::collections::HashMap;

/// The kinds of functional unit in a cluster (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum UnitKind {
    /// Four-step NTT, both directions.
    Ntt,
    Automorphism,
    /// Modular multiplier.
    Multiply,
    /// Modular adder.
    Add,
}

impl UnitKind {
    /// All kinds, in report order.
    pub const ALL: [Self; 4] = [Self::Ntt, Self::Automorphism, Self::Multiply, Self::Add];

    /// Name in reports and machine files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntt => "ntt",
            Self::Automorphism => "automorphism",
            Self::Multiply => "multiply",
            Self::Add => "add",
        }
    }
}

impl Function {
    /// The unit that executes the function.
    pub fn unit(self) -> UnitKind {
        match self {
            Self::ForwardNtt { .. } | Self::InverseNtt { .. } => UnitKind::Ntt,
            Self::Automorphism { .. } => UnitKind::Automorphism,
            Self::Multiply { .. } | Self::MultiplyConstant { .. } => UnitKind::Multiply,
            Self::Add { .. } | Self::Subtract { .. } | Self::Negate { .. } | Self::AddConstant { .. } => UnitKind::Add,
        }
    }
}

/// Class of a leaf, for traffic by class (figure 9a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum LeafClass {
    /// A vector of a key-switch hint.
    Hint,
    /// A vector of an input ciphertext or of a plaintext.
    Input,
}

/// A value: a leaf, or the result of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vector(u32);

/// Flag of a [`Vector`] that is a leaf.
const LEAF: u32 = 1 << 31;

/// Maximum number of instructions, and of leaves: a value has 32 bits, of which one distinguishes the two.
pub const MOST: usize = LEAF as usize - 1;

impl Vector {
    fn leaf(index: usize) -> Self {
        Self(LEAF | index as u32)
    }

    fn result(instruction: usize) -> Self {
        Self(instruction as u32)
    }

    /// Index of the leaf, if the value is one.
    pub fn as_leaf(self) -> Option<usize> {
        (self.0 & LEAF != 0).then_some((self.0 & !LEAF) as usize)
    }

    /// Index of the defining instruction, if there is one.
    pub fn as_result(self) -> Option<usize> {
        (self.0 & LEAF == 0).then_some(self.0 as usize)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    functions: Vec<Function>,
    /// For each instruction, the index of its function.
    function: Vec<u32>,
    operands: Vec<[Vector; 2]>,
    leaves: Vec<LeafClass>,
    outputs: Vec<Vector>,
    /// Users of each value (results first, then leaves), in order, and the start of each value's users.
    users: Vec<u32>,
    starts: Vec<u32>,
}

impl Graph {
    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.function.len()
    }

    pub fn is_empty(&self) -> bool {
        self.function.is_empty()
    }

    /// Number of values: results and leaves.
    pub fn values(&self) -> usize {
        self.len() + self.leaves.len()
    }

    /// Number of a value; results come first.
    pub fn number(&self, vector: Vector) -> usize {
        match vector.as_leaf() {
            Some(leaf) => self.len() + leaf,
            None => vector.0 as usize,
        }
    }

    /// The value with a number.
    pub fn vector(&self, number: usize) -> Vector {
        if number < self.len() { Vector::result(number) } else { Vector::leaf(number - self.len()) }
    }

    pub fn function(&self, index: usize) -> Function {
        self.functions[self.function[index] as usize]
    }

    /// Index of instruction `index`'s function in [`Self::functions`].
    pub fn function_number(&self, index: usize) -> usize {
        self.function[index] as usize
    }

    pub fn operands(&self, index: usize) -> &[Vector] {
        &self.operands[index][..self.function(index).operands()]
    }

    /// Operands without duplicates.
    pub fn distinct_operands(&self, index: usize) -> &[Vector] {
        let operands = self.operands(index);
        if operands.len() == 2 && operands[0] == operands[1] { &operands[..1] } else { operands }
    }

    /// The distinct functions.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Classes of the leaves.
    pub fn leaves(&self) -> &[LeafClass] {
        &self.leaves
    }

    /// The values that must be stored off chip.
    pub fn outputs(&self) -> &[Vector] {
        &self.outputs
    }

    /// The instructions that read a value, in order, without duplicates.
    pub fn users(&self, number: usize) -> &[u32] {
        &self.users[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// Number of instructions of each kind of unit, in the order of [`UnitKind::ALL`].
    pub fn counts(&self) -> [u64; 4] {
        let mut counts = [0; 4];
        for &function in &self.function {
            counts[self.functions[function as usize].unit() as usize] += 1;
        }
        counts
    }
}

/// Builds a [`Graph`], instruction by instruction in order of priority.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    graph: Graph,
    known: HashMap<Function, u32>,
}

impl GraphBuilder {
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    pub fn is_empty(&self) -> bool {
        self.graph.is_empty()
    }

    /// Adds a vector in off-chip memory.
    pub fn leaf(&mut self, class: LeafClass) -> Vector {
        self.graph.leaves.push(class);
        Vector::leaf(self.graph.leaves.len() - 1)
    }

    /// Adds an instruction; returns its result.
    ///
    /// # Panics
    /// If the number of operands is wrong, or one is not yet defined.
    pub fn push(&mut self, function: Function, operands: &[Vector]) -> Vector {
        cancel::check();
        assert_eq!(operands.len(), function.operands());
        let graph = &mut self.graph;
        for operand in operands {
            let defined = match operand.as_leaf() {
                Some(leaf) => leaf < graph.leaves.len(),
                None => (operand.0 as usize) < graph.function.len(),
            };
            assert!(defined, "an operand is not defined before its user");
        }
        let next = graph.functions.len() as u32;
        let index = *self.known.entry(function).or_insert_with(|| {
            graph.functions.push(function);
            next
        });
        graph.function.push(index);
        graph.operands.push([operands[0], operands.get(1).copied().unwrap_or(operands[0])]);
        Vector::result(graph.function.len() - 1)
    }

    /// Marks a value as a result of the program.
    pub fn output(&mut self, vector: Vector) {
        self.graph.outputs.push(vector);
    }

    /// The graph, with the users of every value.
    pub fn finish(self) -> Graph {
        let mut graph = self.graph;
        let mut starts = vec![0u32; graph.values() + 1];
        for index in 0..graph.len() {
            for &operand in graph.distinct_operands(index) {
                starts[graph.number(operand) + 1] += 1;
            }
        }
        for number in 0..graph.values() {
            starts[number + 1] += starts[number];
        }
        let mut next = starts.clone();
        let mut users = vec![0; starts[graph.values()] as usize];
        for index in 0..graph.len() {
            for &operand in graph.distinct_operands(index) {
                let entry = &mut next[graph.number(operand)];
                users[*entry as usize] = index as u32;
                *entry += 1;
            }
        }
        graph.users = users;
        graph.starts = starts;
        graph
    }
}
