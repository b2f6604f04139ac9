//! Plans of CKKS and BGV programs.

use super::machine::PyRnsKernel;
use super::parameters::ParameterRequest;
use super::prepared::{Kept, let_go_but};
use super::program::{Clear, PyRnsProgram, PyValues, read_all};
use super::signature::PyRnsSignature;
use crate::machine::PyMachine;
use crate::workers::{detached, released};
use polyfabric_planner::ClientSeconds;
use polyfabric_planner::rns::{KeySwitchRequest, Owners, Request, RnsPlan};
use polyfabric_program::rns::homomorphic::{NodeId, Values};
use polyfabric_program::rns::noise::{Encryption, Interval};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

#[pyclass(name = "RnsPlan", frozen)]
pub struct PyRnsPlan {
    pub plan: Arc<RnsPlan>,
    /// For its executions on the CPU.
    pub kept: Arc<Kept>,
}

#[pymethods]
impl PyRnsPlan {
    /// Plans `program`.
    ///
    /// `parameters` is a set or its name; without it, the smallest sufficient set with 128 bits of security (CKKS: `security` bits).
    /// `measured`: every encrypted node is an output too. `machine`: uses its lowering and word size. `key_switch` is the set's (`set`), the
    /// cheapest (`auto`), or a named variant. `public`: inputs are encrypted with the public key. Fails if the failure probability exceeds
    /// 2^`max_failure` (by default 2^-128 for BGV), or if planning needs more than `memory` bytes. The keys have `parties` owners; with several,
    /// they hide errors with smudging noise of `smudging` bits.
    #[staticmethod]
    #[pyo3(signature = (program, parameters = None, measured = false, machine = None, key_switch = "set", security = 0.0, public = false, max_failure = None, memory = None, parties = 1, smudging = 40.0))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn make(
        py: Python<'_>,
        program: &PyRnsProgram,
        parameters: Option<ParameterRequest>,
        measured: bool,
        machine: Option<&PyMachine>,
        key_switch: &str,
        security: f64,
        public: bool,
        max_failure: Option<f64>,
        memory: Option<u64>,
        parties: usize,
        smudging: f64,
    ) -> PyResult<Self> {
        let (program, key_switch) = (Arc::clone(&program.0), key_switch.to_owned());
        let machine = machine.map(|machine| Arc::clone(machine.description()));
        released(py, move || {
            let request = Request {
                asked: parameters.as_ref().map(ParameterRequest::as_ref),
                owners: Owners { parties, smudging_bits: smudging },
                encryption: if public { Encryption::Public } else { Encryption::Secret },
                measured,
                machine: machine.as_deref(),
                key_switch: KeySwitchRequest::from(&*key_switch),
                security,
                max_failure,
                memory,
            };
            Ok(Self { plan: Arc::new(RnsPlan::new(&program, request)?), kept: Arc::default() })
        })
    }

    /// CKKS: error bounds by node for messages up to `magnitudes`, such as a run's, instead of the inputs' declared bounds.
    fn bounds(&self, py: Python<'_>, magnitudes: Vec<f64>) -> PyResult<BTreeMap<u32, f64>> {
        detached(py, || Ok(self.plan.bounds(&magnitudes)?.into_iter().map(|(node, bound)| (node.0, bound)).collect()))
    }

    /// Evaluates the program in the clear: (outputs, largest absolute value of every node). Fails if decryption would be wrong: an output would
    /// be only noise, or inputs leave a polynomial's interval or the modulus. `mapped` lists polynomials whose operand was mapped to [-1, 1]:
    /// the original vector, its interval, and the number of slots.
    fn evaluate(
        &self,
        py: Python<'_>,
        inputs: BTreeMap<String, PyValues>,
        mapped: BTreeMap<u32, (u32, f64, f64, usize)>,
    ) -> PyResult<(BTreeMap<String, PyValues>, Vec<f64>)> {
        let interval = |(operand, lo, hi, slots)| Interval { operand: NodeId(operand), lo, hi, slots };
        let mapped = mapped.into_iter().map(|(node, of)| (NodeId(node), interval(of))).collect();
        let (plan, inputs) = (&*self.plan, read_all(inputs)?);
        detached(py, || {
            let (mut clear, mut executed) = (Clear::new(plan.written()), Clear::new(plan.program()));
            let (read_written, read_executed) = (
                |id: NodeId, values: &Values| clear.read(id, values),
                |id: NodeId, values: &Values| executed.read(id, values),
            );
            plan.evaluate(&inputs, mapped, read_written, read_executed)?;
            // The expected outputs are those of the program as written.
            let outputs = if plan.is_changed() { clear.outputs } else { executed.outputs };
            Ok((outputs, executed.magnitudes))
        })
    }

    /// The public interface for a client.
    fn signature(&self, py: Python<'_>) -> PyResult<PyRnsSignature> {
        detached(py, || Ok(PyRnsSignature(self.plan.signature()?)))
    }

    /// CPU seconds of an execution on this computer.
    fn execution_seconds(&self, py: Python<'_>) -> PyResult<f64> {
        detached(py, || Ok(self.plan.execution_seconds()?))
    }

    /// CPU seconds of a client on this computer: (generation of secret and evaluation keys, encryption, decryption).
    fn client_seconds(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        detached(py, || {
            let ClientSeconds { keys, encrypt, decrypt } = self.plan.client_seconds()?;
            Ok((keys, encrypt, decrypt))
        })
    }

    fn kernel(&self) -> PyRnsKernel {
        PyRnsKernel { kernel: Arc::new(self.plan.kernel().clone()), parameters: self.plan.set().name().to_owned() }
    }

    /// Bytes of its program as an earlier execution on the CPU prepared it, which the next one reads. Lets go of any other program's.
    fn prepared_bytes(&self) -> usize {
        let_go_but(Some(&self.kept));
        self.kept.bytes()
    }

    /// JSON of parameters, keys and their sizes, operations, and level, scale and error bound of every node.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.plan.facts()?.to_string()))
    }
}
