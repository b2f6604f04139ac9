//! TFHE programs: construction, text, evaluation in the clear.

use crate::failure::{Failure, Kind};
use crate::workers::detached;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, Gate, LookupResult, NodeId, Op, Program, ProgramError, Range, Table, evaluate,
};
use polyfabric_program::tfhe::integers::Integers;
use polyfabric_program::tfhe::text::parse_program;
use polyfabric_program::tfhe::{Convolution, Extent, MatrixBuilder};
use polyfabric_program::{Location, MemoryBudget};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Default number of lookups that take the time of one on a CPU: two cores.
const LANES: usize = 2;

fn refused(error: ProgramError) -> PyErr {
    Failure::new(Kind::Program, error).into()
}

/// The type of a vector's elements.
#[pyclass(name = "ElementType", frozen, from_py_object)]
#[derive(Clone, Copy)]
pub struct PyElementType(pub ElementType);

#[pymethods]
impl PyElementType {
    /// 0 or 1.
    #[staticmethod]
    fn boolean() -> Self {
        Self(ElementType::Boolean)
    }

    /// lo, lo + stride, .., hi.
    #[staticmethod]
    #[pyo3(signature = (lo, hi, stride = 1))]
    fn integer(lo: i64, hi: i64, stride: i64) -> PyResult<Self> {
        let range = Range::with_stride(lo, hi, stride);
        let message = || format!("{lo} to {hi} by {stride} is no range of integers within ±2^40; correct the bounds");
        range
            .map(|range| Self(ElementType::Integer(range)))
            .ok_or_else(|| Failure::new(Kind::Program, message()).into())
    }

    /// A multiple of 2^-bits modulo 1.
    #[staticmethod]
    fn torus(bits: u32) -> Self {
        Self(ElementType::Torus { bits })
    }

    /// "boolean", "integer" or "torus".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            ElementType::Boolean => "boolean",
            ElementType::Integer(_) => "integer",
            ElementType::Torus { .. } => "torus",
        }
    }

    /// (lo, hi, stride) of the clear values; stride 1 for a single value.
    #[getter]
    fn bounds(&self) -> (i64, i64, i64) {
        match self.0 {
            ElementType::Boolean => (0, 1, 1),
            ElementType::Integer(range) => (range.lo(), range.hi(), range.slot()),
            ElementType::Torus { bits } => {
                let half = 1i64 << bits.saturating_sub(1).min(62);
                (-half, half - 1, 1)
            }
        }
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// Builds a program node by node. Nodes are identified by index.
#[pyclass(name = "TfheProgramBuilder")]
pub struct PyProgramBuilder {
    builder: Option<Builder>,
    integers: Integers,
    /// "file:line: " of the following nodes.
    pub place: String,
}

fn gate_of(name: &str) -> Result<Gate, Failure> {
    Ok(match name {
        "and" => Gate::And,
        "nand" => Gate::Nand,
        "or" => Gate::Or,
        "nor" => Gate::Nor,
        "xor" => Gate::Xor,
        "xnor" => Gate::Xnor,
        other => {
            let message = format!("there is no gate {other:?}; the gates are and, nand, or, nor, xor, xnor");
            return Err(Failure::new(Kind::Program, message));
        }
    })
}

impl PyProgramBuilder {
    fn open(&mut self) -> PyResult<&mut Builder> {
        Ok(self.integers()?.1)
    }

    /// The integers and the builder of the program.
    pub fn integers(&mut self) -> PyResult<(&mut Integers, &mut Builder)> {
        let finished = || PyErr::from(Failure::new(Kind::Program, "the program is finished; start a new one"));
        let builder = self.builder.as_mut().ok_or_else(finished)?;
        Ok((&mut self.integers, builder))
    }

    fn append(&mut self, step: impl FnOnce(&mut Builder) -> Result<NodeId, ProgramError>) -> PyResult<u32> {
        step(self.open()?).map(|node| node.0).map_err(refused)
    }
}

#[pymethods]
impl PyProgramBuilder {
    /// A program of at most `memory` bytes.
    #[new]
    #[pyo3(signature = (name, memory = None))]
    fn new(name: &str, memory: Option<u64>) -> PyResult<Self> {
        let mut builder = Builder::new(name).map_err(refused)?;
        builder.within(MemoryBudget::of(memory));
        Ok(Self { builder: Some(builder), integers: Integers::new(LANES), place: String::new() })
    }

    /// Sets the source location of the following nodes.
    fn at(&mut self, file: &str, line: u32) -> PyResult<()> {
        self.open()?.at(Some(Location { file: file.into(), line }));
        self.place = format!("{file}:{line}: ");
        Ok(())
    }

    fn element(&mut self, node: u32) -> PyResult<PyElementType> {
        self.open()?.element(NodeId(node)).map(PyElementType).map_err(refused)
    }

    fn length(&mut self, node: u32) -> PyResult<usize> {
        let nodes = self.open()?.nodes();
        let unknown = || Failure::new(Kind::Program, format!("there is no node %{node}")).into();
        nodes.get(node as usize).map(|node| node.length).ok_or_else(unknown)
    }

    fn input(&mut self, name: &str, element: PyElementType, length: usize) -> PyResult<u32> {
        self.append(|builder| builder.input(name, element.0, length))
    }

    fn constant(&mut self, element: PyElementType, values: Vec<i64>) -> PyResult<u32> {
        self.append(|builder| builder.constant(element.0, &values))
    }

    fn add(&mut self, a: u32, b: u32) -> PyResult<u32> {
        self.append(|builder| builder.add(NodeId(a), NodeId(b)))
    }

    fn sub(&mut self, a: u32, b: u32) -> PyResult<u32> {
        self.append(|builder| builder.sub(NodeId(a), NodeId(b)))
    }

    fn neg(&mut self, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.neg(NodeId(a)))
    }

    fn add_clear(&mut self, a: u32, values: Vec<i64>) -> PyResult<u32> {
        self.append(|builder| builder.add_clear(NodeId(a), &values))
    }

    fn mul_clear(&mut self, a: u32, values: Vec<i64>) -> PyResult<u32> {
        self.append(|builder| builder.mul_clear(NodeId(a), &values))
    }

    /// `rows` iterates over (columns, weights) of each row's terms, possibly a generator.
    fn linear(&mut self, a: u32, columns: usize, rows: &Bound<'_, PyAny>, bias: Vec<i64>) -> PyResult<u32> {
        let wrong = |error| PyErr::from(Failure::new(Kind::Program, error));
        let mut matrix = MatrixBuilder::new(columns).map_err(wrong)?;
        for row in rows.try_iter()? {
            let (columns, weights): (Vec<usize>, Vec<i64>) = row?.extract()?;
            matrix.push_row(columns.into_iter().zip(weights)).map_err(wrong)?;
            self.open()?.expect_memory(matrix.bytes() as u64).map_err(refused)?;
        }
        let matrix = matrix.finish();
        self.append(|builder| builder.linear(NodeId(a), Arc::new(matrix), &bias))
    }

    /// The operand is an image of (height, width, channels); weights are (filters, height, width).
    #[pyo3(signature = (a, image, kernel, weights, stride, padding, bias))]
    #[allow(clippy::too_many_arguments)]
    fn convolution(
        &mut self,
        a: u32,
        image: (usize, usize, usize),
        kernel: (usize, usize, usize),
        weights: Vec<i64>,
        stride: usize,
        padding: usize,
        bias: Vec<i64>,
    ) -> PyResult<u32> {
        let place = self.place.clone();
        let refused = |error| PyErr::from(Failure::new(Kind::Program, format!("{place}{error}")));
        let ((height, width, channels), (filters, kernel_height, kernel_width)) = (image, kernel);
        let shape = Convolution {
            image: Extent { height, width },
            channels,
            filters,
            kernel: Extent { height: kernel_height, width: kernel_width },
            stride,
            padding,
        };
        let bytes = shape.bytes(&weights).map_err(refused)?;
        self.open()?.expect_memory(bytes).map_err(crate::program::refused)?;
        let matrix = shape.matrix(&weights).map_err(refused)?;
        // One bias per filter.
        let bias: Vec<i64> = bias.iter().copied().cycle().take(matrix.rows()).collect();
        self.append(|builder| builder.linear(NodeId(a), Arc::new(matrix), &bias))
    }

    /// Each table is (first operand, entries). `result` is the type of the entries; the range of integers is inferred. With `whole`, uses the
    /// whole torus, where values half a torus apart have negated results.
    #[pyo3(signature = (a, tables, choice, result, whole = false))]
    fn lookup(
        &mut self,
        a: u32,
        tables: Vec<(i64, Vec<i64>)>,
        choice: Option<Vec<u32>>,
        result: PyElementType,
        whole: bool,
    ) -> PyResult<u32> {
        let tables: Result<Vec<_>, _> = tables.into_iter().map(|(first, values)| Table::new(first, values)).collect();
        let tables = tables.map_err(|error| PyErr::from(Failure::new(Kind::Program, error)))?;
        let result = result_of(result);
        self.append(|builder| match whole {
            true => builder.lookup_whole(NodeId(a), tables, choice, result),
            false => builder.lookup(NodeId(a), tables, choice, result),
        })
    }

    fn sign(&mut self, a: u32, boolean: bool) -> PyResult<u32> {
        self.append(|builder| builder.sign(NodeId(a), boolean))
    }

    fn gate(&mut self, gate: &str, a: u32, b: u32) -> PyResult<u32> {
        let gate = gate_of(gate)?;
        self.append(|builder| builder.gate(gate, NodeId(a), NodeId(b)))
    }

    fn not_(&mut self, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.not(NodeId(a)))
    }

    fn mux(&mut self, condition: u32, then: u32, otherwise: u32) -> PyResult<u32> {
        self.append(|builder| builder.mux(NodeId(condition), NodeId(then), NodeId(otherwise)))
    }

    fn select(&mut self, a: u32, indices: Vec<u32>) -> PyResult<u32> {
        self.append(|builder| builder.select(NodeId(a), &indices))
    }

    fn concat(&mut self, operands: Vec<u32>) -> PyResult<u32> {
        let operands: Vec<_> = operands.into_iter().map(NodeId).collect();
        self.append(|builder| builder.concat(&operands))
    }

    fn assume(&mut self, a: u32, element: PyElementType) -> PyResult<u32> {
        let ElementType::Integer(range) = element.0 else {
            return Err(Failure::new(Kind::Program, "assume() takes a range of integers; give an integer type").into());
        };
        self.append(|builder| builder.assume(NodeId(a), range))
    }

    fn output(&mut self, name: &str, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.output(name, NodeId(a)))
    }

    fn pin_step(&mut self, a: u32, denominator: u32) -> PyResult<()> {
        self.open()?.pin_step(NodeId(a), denominator).map_err(refused)
    }

    /// Returns the checked program; the builder cannot be used afterward.
    fn finish(&mut self) -> PyResult<PyProgram> {
        self.open()?;
        let finished = self.builder.take().map(Builder::finish).transpose().map_err(refused)?;
        let spent = || PyErr::from(Failure::new(Kind::Internal, "the program is finished already"));
        finished.map(|program| PyProgram(Arc::new(program))).ok_or_else(spent)
    }
}

fn result_of(element: PyElementType) -> LookupResult {
    match element.0 {
        ElementType::Boolean => LookupResult::Boolean,
        ElementType::Integer(_) => LookupResult::Integer,
        ElementType::Torus { bits } => LookupResult::Torus { bits },
    }
}

/// A checked homomorphic program.
#[pyclass(name = "TfheProgram", frozen)]
pub struct PyProgram(pub Arc<Program>);

#[pymethods]
impl PyProgram {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Parses the result of `text`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        detached(py, || Ok(Self(Arc::new(parse_program(text).map_err(Failure::of(Kind::Program))?))))
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    /// (name, element type, length) of each input.
    /// Whether it reads tables by circuit bootstrapping.
    #[getter]
    fn has_wide_tables(&self) -> bool {
        self.0.nodes().iter().any(|node| matches!(node.op, Op::LookupWide { .. }))
    }

    #[getter]
    fn inputs(&self) -> Vec<(String, PyElementType, usize)> {
        signature(&self.0, self.0.inputs())
    }

    /// (name, element type, length) of each output.
    #[getter]
    fn outputs(&self) -> Vec<(String, PyElementType, usize)> {
        signature(&self.0, self.0.outputs())
    }

    /// Evaluates the program in the clear; returns its outputs.
    fn evaluate(&self, py: Python<'_>, inputs: BTreeMap<String, Vec<i64>>) -> PyResult<BTreeMap<String, Vec<i64>>> {
        detached(py, || {
            let evaluation = evaluate(&self.0, &inputs).map_err(Failure::of(Kind::Input))?;
            Ok(evaluation.outputs(&self.0))
        })
    }
}

fn signature<'a>(
    program: &Program,
    ends: impl Iterator<Item = (NodeId, &'a str)>,
) -> Vec<(String, PyElementType, usize)> {
    ends.map(|(id, name)| {
        let node = program.node(id);
        (name.to_owned(), PyElementType(node.element), node.length)
    })
    .collect()
}
