//! CKKS and BGV programs: construction, text, evaluation in the clear.

use crate::failure::{Failure, Kind};
use crate::workers::detached;
use polyfabric_planner::rns::{longest_table, lookup_work};
use polyfabric_program::rns::homomorphic::{
    Basis, Builder, Complex, Diagonals, NodeId, Op, Polynomial, Program, ProgramError, Scheme, Values,
    evaluate_changed, evaluate_each,
};
use polyfabric_program::rns::text::parse_program;
use polyfabric_program::{Location, MemoryBudget};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

fn refused(error: ProgramError) -> PyErr {
    Failure::new(Kind::Program, error).into()
}

/// Slots exchanged with Python: integers, or real and imaginary parts. Each is a list or, as an argument, an array.
/// Two lists for complex numbers avoid one Python tuple per slot.
#[derive(IntoPyObject)]
pub enum PyValues {
    /// Slots of BGV.
    Integers(Vec<i64>),
    /// Real parts, then imaginary parts, of CKKS slots.
    Complex((Vec<f64>, Vec<f64>)),
}

impl<'py> FromPyObject<'_, 'py> for PyValues {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>() {
            Ok((re, im)) => Ok(Self::Complex((numbers(&re)?, numbers(&im)?))),
            Err(_) => Ok(Self::Integers(numbers(&given)?)),
        }
    }
}

/// The numbers of an array or a list.
pub fn numbers<'py, T: Element>(given: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    Vec<T>: FromPyObjectOwned<'py>,
{
    match PyBuffer::<T>::get(given) {
        Ok(array) => array.to_vec(given.py()),
        Err(_) => given.extract().map_err(Into::into),
    }
}

impl PyValues {
    pub fn read(self) -> Result<Values, Failure> {
        match self {
            Self::Integers(values) => Ok(Values::Integer(values.into())),
            Self::Complex((re, im)) if re.len() == im.len() => {
                Ok(Values::Complex(re.into_iter().zip(im).map(|(re, im)| Complex::new(re, im)).collect()))
            }
            Self::Complex((re, im)) => {
                let message = format!("{} real parts and {} imaginary ones; give as many of both", re.len(), im.len());
                Err(Failure::new(Kind::Input, message))
            }
        }
    }
}

impl From<&Values> for PyValues {
    fn from(values: &Values) -> Self {
        match values {
            Values::Integer(values) => Self::Integers(values.to_vec()),
            Values::Complex(values) => Self::Complex(values.iter().map(|value| (value.re, value.im)).unzip()),
        }
    }
}

pub fn read_all(values: BTreeMap<String, PyValues>) -> Result<HashMap<String, Values>, Failure> {
    values.into_iter().map(|(name, values)| Ok((name, values.read()?))).collect()
}

/// Builds a program node by node. Nodes are identified by index.
#[pyclass(name = "RnsProgramBuilder")]
pub struct PyRnsBuilder {
    builder: Option<Builder>,
}

impl PyRnsBuilder {
    fn open(&mut self) -> PyResult<&mut Builder> {
        let finished = || Failure::new(Kind::Program, "the program is finished; start a new one").into();
        self.builder.as_mut().ok_or_else(finished)
    }

    fn append(&mut self, step: impl FnOnce(&mut Builder) -> Result<NodeId, ProgramError>) -> PyResult<u32> {
        step(self.open()?).map(|node| node.0).map_err(refused)
    }
}

#[pymethods]
impl PyRnsBuilder {
    /// A program on vectors of `slots` slots with at most `memory` bytes: BGV with `plaintext_modulus`, CKKS without.
    #[new]
    #[pyo3(signature = (name, slots, plaintext_modulus = None, memory = None))]
    fn new(name: &str, slots: usize, plaintext_modulus: Option<u64>, memory: Option<u64>) -> PyResult<Self> {
        let bgv = |plaintext_modulus| Scheme::Bgv { plaintext_modulus };
        let mut builder = Builder::new(name, plaintext_modulus.map_or(Scheme::Ckks, bgv), slots).map_err(refused)?;
        builder.within(MemoryBudget::of(memory));
        Ok(Self { builder: Some(builder) })
    }

    /// Sets the source location of the following nodes.
    fn at(&mut self, file: &str, line: u32) -> PyResult<()> {
        self.open()?.at(Some(Location { file: file.into(), line }));
        Ok(())
    }

    /// An encrypted vector whose slots are at most `magnitude` in absolute value.
    #[pyo3(signature = (name, magnitude, level = None))]
    fn input(&mut self, name: &str, magnitude: f64, level: Option<usize>) -> PyResult<u32> {
        self.append(|builder| builder.input_with(name, level, magnitude))
    }

    /// An encrypted bit for `select`.
    fn selector(&mut self, name: &str) -> PyResult<u32> {
        self.append(|builder| builder.selector_input(name))
    }

    /// `one` if the selector `bit` is 1, otherwise `zero`; both may be public.
    fn select(&mut self, bit: u32, one: u32, zero: u32) -> PyResult<u32> {
        self.append(|builder| builder.select(NodeId(bit), NodeId(one), NodeId(zero)))
    }

    /// A public vector; a single value fills all slots.
    fn constant(&mut self, values: PyValues) -> PyResult<u32> {
        let values = values.read()?;
        self.append(|builder| builder.constant(values))
    }

    fn add(&mut self, a: u32, b: u32) -> PyResult<u32> {
        self.append(|builder| builder.add(NodeId(a), NodeId(b)))
    }

    fn sub(&mut self, a: u32, b: u32) -> PyResult<u32> {
        self.append(|builder| builder.sub(NodeId(a), NodeId(b)))
    }

    fn mul(&mut self, a: u32, b: u32) -> PyResult<u32> {
        self.append(|builder| builder.mul(NodeId(a), NodeId(b)))
    }

    /// `a` times the public `b`, rounded to `bits` fractional bits, without using a level.
    fn mul_plain_scaled(&mut self, a: u32, b: u32, bits: u32) -> PyResult<u32> {
        self.append(|builder| builder.mul_plain_scaled(NodeId(a), NodeId(b), bits))
    }

    fn neg(&mut self, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.neg(NodeId(a)))
    }

    fn rotate(&mut self, a: u32, steps: i64) -> PyResult<u32> {
        self.append(|builder| builder.rotate(NodeId(a), steps))
    }

    fn conjugate(&mut self, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.conjugate(NodeId(a)))
    }

    fn rescale(&mut self, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.rescale(NodeId(a)))
    }

    fn mod_switch(&mut self, a: u32, level: usize) -> PyResult<u32> {
        self.append(|builder| builder.mod_switch(NodeId(a), level))
    }

    fn relinearise(&mut self, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.relinearise(NodeId(a)))
    }

    /// Bootstraps `a`; with `slots`, a value that repeats every `slots` slots.
    #[pyo3(signature = (a, slots = None))]
    fn bootstrap(&mut self, a: u32, slots: Option<usize>) -> PyResult<u32> {
        self.append(|builder| match slots {
            Some(slots) => builder.bootstrap_slots(NodeId(a), slots),
            None => builder.bootstrap(NodeId(a)),
        })
    }

    /// The matrix with these generalized diagonals, times `a`.
    ///
    /// Diagonals are read one by one, so that a generator can produce them: together they are the largest part of many programs.
    fn linear_transform(&mut self, a: u32, diagonals: &Bound<'_, PyAny>) -> PyResult<u32> {
        let (mut by_offset, mut bytes) = (BTreeMap::new(), 0);
        for diagonal in diagonals.try_iter()? {
            let (offset, values): (i64, PyValues) = diagonal?.extract()?;
            let values = values.read()?;
            bytes += values.bytes() as u64;
            self.open()?.expect_memory(bytes).map_err(refused)?;
            by_offset.insert(offset, values);
        }
        self.append(|builder| builder.linear_transform(NodeId(a), Arc::new(Diagonals { by_offset })))
    }

    /// A polynomial with coefficients from the constant up: Chebyshev on `interval`, or monomial without it.
    #[pyo3(signature = (a, coefficients, interval = None))]
    fn polynomial(&mut self, a: u32, coefficients: PyValues, interval: Option<(f64, f64)>) -> PyResult<u32> {
        let basis = interval.map_or(Basis::Monomial, |(lo, hi)| Basis::Chebyshev { lo, hi });
        let coefficients = coefficients.read()?;
        self.append(|builder| builder.polynomial(NodeId(a), Arc::new(Polynomial { basis, coefficients })))
    }

    fn output(&mut self, name: &str, a: u32) -> PyResult<u32> {
        self.append(|builder| builder.output(name, NodeId(a)))
    }

    /// Returns the checked program; the builder cannot be used afterward.
    fn finish(&mut self) -> PyResult<PyRnsProgram> {
        self.open()?;
        let finished = self.builder.take().map(Builder::finish).transpose().map_err(refused)?;
        let spent = || PyErr::from(Failure::new(Kind::Internal, "the program is finished already"));
        finished.map(|program| PyRnsProgram(Arc::new(program))).ok_or_else(spent)
    }
}

/// A checked CKKS or BGV program.
#[pyclass(name = "RnsProgram", frozen)]
pub struct PyRnsProgram(pub Arc<Program>);

#[pymethods]
impl PyRnsProgram {
    /// Parses the result of `text`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        detached(py, || Ok(Self(Arc::new(parse_program(text).map_err(Failure::of(Kind::Program))?))))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Most entries of a lookup table; 0 without lookups.
    #[getter]
    fn longest_table(&self) -> usize {
        longest_table(&self.0)
    }

    /// Word products of all lookups, with the smallest set that has their tables.
    fn lookup_work(&self, py: Python<'_>) -> PyResult<f64> {
        detached(py, || lookup_work(&self.0).map_err(Failure::from))
    }

    /// "ckks" or "bgv".
    #[getter]
    fn scheme(&self) -> &'static str {
        match self.0.scheme() {
            Scheme::Ckks => "ckks",
            Scheme::Bgv { .. } => "bgv",
        }
    }

    /// t of BGV.
    #[getter]
    fn plaintext_modulus(&self) -> Option<u64> {
        match self.0.scheme() {
            Scheme::Ckks => None,
            Scheme::Bgv { plaintext_modulus } => Some(plaintext_modulus),
        }
    }

    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Name and largest absolute value of every input; `None` for a selector.
    #[getter]
    fn inputs(&self) -> Vec<(String, Option<f64>)> {
        let magnitude = |id| match self.0.node(id).op {
            Op::Input { magnitude, .. } => Some(magnitude),
            _ => None,
        };
        self.0.inputs().map(|(id, name)| (name.to_owned(), magnitude(id))).collect()
    }

    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.0.outputs().map(|(_, name)| name.to_owned()).collect()
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    /// Evaluates the program in the clear; returns all slots of each output.
    fn evaluate(&self, py: Python<'_>, inputs: BTreeMap<String, PyValues>) -> PyResult<BTreeMap<String, PyValues>> {
        let inputs = read_all(inputs)?;
        detached(py, || {
            let mut clear = Clear::new(&self.0);
            evaluate_each(&self.0, &inputs, |id, values| clear.read(id, &values)).map_err(Failure::of(Kind::Input))?;
            Ok(clear.outputs)
        })
    }

    /// Evaluates the program in the clear with exact functions instead of their approximations. By the last node of each approximation: the
    /// node of its argument, the slots concerned, and the function of real numbers.
    fn evaluate_functions(
        &self,
        py: Python<'_>,
        inputs: BTreeMap<String, PyValues>,
        functions: BTreeMap<u32, (u32, usize, Py<PyAny>)>,
    ) -> PyResult<BTreeMap<String, PyValues>> {
        let inputs = read_all(inputs)?;
        let operands: HashSet<u32> = functions.values().map(|&(operand, ..)| operand).collect();
        let mut read: HashMap<u32, Vec<f64>> = HashMap::new();
        let mut failed = Ok(());
        let change = |id: NodeId, values: &mut [Complex]| {
            if let Some((operand, slots, function)) = functions.get(&id.0)
                && let Some(numbers) = read.get(operand)
            {
                let numbers = numbers[..(*slots).min(numbers.len())].to_vec();
                let found = function.call1(py, (numbers,)).and_then(|found| found.extract::<Vec<f64>>(py));
                match found {
                    Ok(found) => values.iter_mut().zip(found).for_each(|(value, number)| *value = number.into()),
                    Err(error) if failed.is_ok() => failed = Err(error),
                    Err(_) => {}
                }
            }
            if operands.contains(&id.0) {
                read.insert(id.0, values.iter().map(|value| value.re).collect());
            }
        };
        let mut clear = Clear::new(&self.0);
        let done = |id, values: Values| clear.read(id, &values);
        evaluate_changed(&self.0, &inputs, change, done).map_err(Failure::of(Kind::Input))?;
        failed.map(|()| clear.outputs)
    }
}

/// Results of evaluating a program in the clear.
pub struct Clear<'a> {
    names: HashMap<NodeId, &'a str>,
    /// All slots of each output.
    pub outputs: BTreeMap<String, PyValues>,
    /// Largest absolute value of every node.
    pub magnitudes: Vec<f64>,
}

impl<'a> Clear<'a> {
    pub fn new(program: &'a Program) -> Self {
        let magnitudes = vec![0.0; program.nodes().len()];
        Self { names: program.outputs().collect(), outputs: BTreeMap::new(), magnitudes }
    }

    /// Records the values of a node.
    pub fn read(&mut self, id: NodeId, values: &Values) {
        self.magnitudes[id.index()] = values.magnitude();
        if let Some(&name) = self.names.get(&id) {
            self.outputs.insert(name.to_owned(), PyValues::from(values));
        }
    }
}
