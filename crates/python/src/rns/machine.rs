//! Machines for CKKS and BGV: compilation, report, trace, replay.

use super::program::PyRnsProgram;
use super::run::{PyRnsCiphertexts, PyRnsServer};
use crate::failure::{Failure, Kind};
use crate::machine::{PyMachine, json, refused};
use crate::workers::{detached, released};
use polyfabric_machines::contract::rns::{Simulated, ckks_lowering, load, map, mapping_bytes};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::{LevelPolicy, RnsLowering, Target, lower};
use polyfabric_program::rns::noise::Encryption;
use polyfabric_program::rns::parameters;
use polyfabric_program::rns::text::{Fhetch, Given, parse_kernel};
use polyfabric_schemes::ckks::{Encoder, sets};
use polyfabric_schemes::rns::{KeyId, RnsPolynomial};
use polyfabric_sim::trace::TraceOptions;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A CKKS or BGV kernel program.
#[pyclass(name = "RnsKernel", frozen)]
pub struct PyRnsKernel {
    pub kernel: Arc<KernelProgram>,
    pub parameters: String,
}

#[pymethods]
impl PyRnsKernel {
    /// `rounds` of an operation (ntt, automorphism, multiply, permute) on each of `ciphertexts`, of `limbs` limbs and `special` ones
    /// for key switches; random words do, so it has no parameter set.
    #[staticmethod]
    #[pyo3(signature = (name, log2_degree, limbs, ciphertexts, rounds, special = 1))]
    fn microbenchmark(
        name: &str,
        log2_degree: u32,
        limbs: usize,
        ciphertexts: usize,
        rounds: usize,
        special: usize,
    ) -> PyResult<Self> {
        let refused = Failure::of(Kind::Program);
        let operation: Operation = name.parse().map_err(&refused)?;
        let shape = Shape { log2_degree, limbs, special, ciphertexts, rounds };
        let kernel = build(operation, shape).map_err(refused)?;
        Ok(Self { kernel: Arc::new(kernel), parameters: shape.to_string() })
    }

    /// The kernel program that `text` is, of random words.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let kernel = parse_kernel(text).map_err(Failure::of(Kind::Program))?;
        Ok(Self { parameters: kernel.name.to_string(), kernel: Arc::new(kernel) })
    }

    /// A program of CKKS with a named set, lowered for a machine with every operation at the highest level that its operands leave it.
    #[staticmethod]
    fn at_highest_levels(
        py: Python<'_>,
        program: &PyRnsProgram,
        set_name: &str,
        machine: &PyMachine,
    ) -> PyResult<Self> {
        detached(py, || {
            let set = sets::parameters(set_name).map_err(Failure::of(Kind::Parameter))?;
            let gadget = set.gadget().literal().clone();
            let choice = ckks_lowering(machine.description(), program.0.name(), gadget).map_err(refused)?;
            let choice = RnsLowering { levels: LevelPolicy::Highest, ..choice };
            let chain = parameters::chain(&set).map_err(Failure::of(Kind::Parameter))?;
            let (encoder, model) = (Encoder::new(set.ring_degree()), parameters::model(&set, Encryption::Secret));
            let encoder = parameters::SlotEncoder(&encoder);
            let target = Target {
                chain: &chain,
                choice: &choice,
                model,
                encoder: &encoder,
                bootstrapping: None,
                observed: false,
            };
            let kernel = lower(&program.0, &target).map_err(Failure::of(Kind::Program))?.kernel;
            Ok(Self { kernel: Arc::new(kernel), parameters: set.name().to_owned() })
        })
    }

    /// An upper bound of the bytes that mapping it to `machine` takes.
    fn mapping_bytes(&self, machine: &PyMachine) -> PyResult<u64> {
        Ok(mapping_bytes(machine.description(), &self.kernel).map_err(refused)?)
    }

    fn text(&self) -> String {
        self.kernel.to_string()
    }

    /// N, and the program in `.fhetch` with `most` instructions at most; what is given, by kind ("input", "public", "relinearisation", "galois" or
    /// "key") and name, with its addresses; and the addresses of each output.
    fn fhetch(&self, py: Python<'_>, most: usize) -> PyResult<PyFhetch> {
        detached(py, || {
            let fhetch = Fhetch::of(&self.kernel, most).map_err(Failure::of(Kind::Program))?;
            let mut given: Vec<_> = fhetch.given.iter().collect();
            given.sort_by_key(|(given, limb, _)| (given, limb));
            let mut grouped: Vec<(&'static str, String, Vec<u64>)> = Vec::new();
            for (given, _, address) in given {
                let (kind, name) = match given {
                    Given::Input { name, .. } => ("input", name.to_string()),
                    Given::Plaintext { .. } => ("public", String::new()),
                    Given::Key { key: KeyId::Relinearisation, .. } => ("relinearisation", String::new()),
                    Given::Key { key: KeyId::Galois(_) | KeyId::GaloisAfter(_), .. } => ("galois", String::new()),
                    Given::Key { key, .. } => ("key", key.to_string()),
                };
                match grouped.last_mut() {
                    Some((last, known, addresses)) if (*last, &*known) == (kind, &name) => addresses.push(*address),
                    _ => grouped.push((kind, name, vec![*address])),
                }
            }
            let outputs = fhetch.outputs.into_iter().map(|(name, part, addresses)| (name.to_string(), part, addresses));
            Ok((self.kernel.degree.get(), fhetch.text, grouped, outputs.collect()))
        })
    }
}

/// A `.fhetch` trace: N, text, groups of given polynomials, outputs.
type PyFhetch = (usize, String, Vec<(&'static str, String, Vec<u64>)>, Vec<(String, u16, Vec<u64>)>);

/// A kernel program mapped to a machine.
#[pyclass(name = "MappedRns", frozen)]
pub struct PyMapped {
    simulated: Simulated,
    kernel: Arc<KernelProgram>,
}

#[pymethods]
impl PyMachine {
    /// Compiles `kernel` for the machine with its mapper's `options`, and checks the schedule.
    fn compile(&self, py: Python<'_>, kernel: &PyRnsKernel, options: BTreeMap<String, String>) -> PyResult<PyMapped> {
        let (program, parameters) = (Arc::clone(&kernel.kernel), kernel.parameters.clone());
        let machine = Arc::clone(self.description());
        released(py, move || {
            let simulated = map(&machine, &program, &parameters, &options).map_err(refused)?;
            Ok(PyMapped { simulated, kernel: program })
        })
    }

    /// Restores a compilation of `kernel` that [`PyMapped::save`] wrote, and checks it again.
    fn load(
        &self,
        py: Python<'_>,
        kernel: &PyRnsKernel,
        data: &[u8],
        options: BTreeMap<String, String>,
    ) -> PyResult<PyMapped> {
        let (program, parameters) = (&kernel.kernel, &kernel.parameters);
        detached(py, || {
            let simulated = load(self.description(), program, parameters, &options, data).map_err(refused)?;
            Ok(PyMapped { simulated, kernel: Arc::clone(program) })
        })
    }
}

#[pymethods]
impl PyMapped {
    /// JSON of the schedule's report.
    fn report(&self) -> PyResult<String> {
        Ok(json(self.simulated.report())?)
    }

    /// The schedule as Chrome trace-event JSON; only the beginning and end of a long one.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || json(&self.simulated.trace(TraceOptions::default())))
    }

    /// The compilation result, for `Machine.load`.
    fn save(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.simulated.instructed().map_err(refused)?.save()))
    }

    /// The instruction streams of all components in binary form.
    fn streams(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.simulated.instructed().map_err(refused)?.streams()))
    }

    /// The instruction streams as text.
    fn streams_text(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.simulated.instructed().map_err(refused)?.streams_text()))
    }

    /// JSON of the compiler's first phase: groups of operations that share a hint.
    fn groups(&self) -> PyResult<String> {
        Ok(json(&self.simulated.instructed().map_err(refused)?.groups())?)
    }

    /// Executes the schedule on ciphertexts.
    fn replay(&self, py: Python<'_>, keys: &PyRnsServer, inputs: &PyRnsCiphertexts) -> PyResult<PyRnsCiphertexts> {
        detached(py, || {
            keys.origin.expect(&inputs.0.origin)?;
            let inputs: Vec<&RnsPolynomial> = inputs.0.polynomials.iter().collect();
            let outputs = self.simulated.replay(&self.kernel, &keys.keys, &inputs).map_err(refused)?;
            Ok(keys.results(outputs))
        })
    }
}
