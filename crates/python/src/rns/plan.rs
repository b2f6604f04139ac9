//! What is known of a program before anything is encrypted.

use super::machine::PyResidueKernel;
use super::parameters::ParameterRequest;
use super::program::{Clear, PySlotProgram, PyValues, read_all};
use super::signature::PySlotSignature;
use crate::machine::PyMachine;
use crate::workers::{detached, released};
use polyfabric_planner::ClientSeconds;
use polyfabric_planner::slots::{KeySwitchRequest, Request, SlotPlan};
use polyfabric_program::rns::homomorphic::{NodeId, Values};
use polyfabric_program::rns::noise::{Encryption, Interval};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program, its parameters, its kernel program.
#[pyclass(name = "SlotPlan", frozen)]
pub struct PySlotPlan(pub Arc<SlotPlan>);

#[pymethods]
impl PySlotPlan {
    /// For `parameters`, a set or a set's name, or the smallest one of 128 bits that carries the program, of CKKS one of `security` bits. With
    /// `measured`, every encrypted node is an output too. With `machine`, as that lowers it, in its words; and with the set's key switch (`set`), the one
    /// that the machine's compiler chooses (`auto`), or a named one. With
    /// `public`, errors are those of inputs that are encrypted with the public key. A plan that fails with more than 2^`max_failure`, of BGV 2^-128
    /// without it, is refused; so is one that takes more than `memory` bytes.
    #[staticmethod]
    #[pyo3(signature = (program, parameters = None, measured = false, machine = None, key_switch = "set", security = 0.0, public = false, max_failure = None, memory = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn make(
        py: Python<'_>,
        program: &PySlotProgram,
        parameters: Option<ParameterRequest>,
        measured: bool,
        machine: Option<&PyMachine>,
        key_switch: &str,
        security: f64,
        public: bool,
        max_failure: Option<f64>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let (program, key_switch) = (Arc::clone(&program.0), key_switch.to_owned());
        let machine = machine.map(|machine| Arc::clone(machine.description()));
        released(py, move || {
            let request = Request {
                asked: parameters.as_ref().map(ParameterRequest::as_ref),
                encryption: if public { Encryption::Public } else { Encryption::Secret },
                measured,
                machine: machine.as_deref(),
                key_switch: KeySwitchRequest::from(&*key_switch),
                security,
                max_failure,
                memory,
            };
            Ok(Self(Arc::new(SlotPlan::new(&program, request)?)))
        })
    }

    /// With CKKS, bounds of the errors by node where values are no larger than `magnitudes`, those of a run's inputs, in place of all
    /// inputs within their bounds.
    fn bounds(&self, py: Python<'_>, magnitudes: Vec<f64>) -> PyResult<BTreeMap<u32, f64>> {
        detached(py, || Ok(self.0.bounds(&magnitudes)?.into_iter().map(|(node, bound)| (node.0, bound)).collect()))
    }

    /// The outputs in the clear and the largest absolute value of every node. Fails where the program would decrypt to something else,
    /// which BGV's lowering has ruled out: nothing would be left of an output, or these inputs lead out of a polynomial's interval or out of
    /// the modulus. `mapped` has of polynomials whose operand was mapped to [-1, 1] before: what it was, its interval, in how many slots.
    fn evaluate(
        &self,
        py: Python<'_>,
        inputs: BTreeMap<String, PyValues>,
        mapped: BTreeMap<u32, (u32, f64, f64, usize)>,
    ) -> PyResult<(BTreeMap<String, PyValues>, Vec<f64>)> {
        let interval = |(operand, lo, hi, slots)| Interval { operand: NodeId(operand), lo, hi, slots };
        let mapped = mapped.into_iter().map(|(node, of)| (NodeId(node), interval(of))).collect();
        let (plan, inputs) = (&*self.0, read_all(inputs)?);
        detached(py, || {
            let (mut clear, mut executed) = (Clear::new(plan.written()), Clear::new(plan.program()));
            let (read_written, read_executed) = (
                |id: NodeId, values: &Values| clear.read(id, values),
                |id: NodeId, values: &Values| executed.read(id, values),
            );
            plan.evaluate(&inputs, mapped, read_written, read_executed)?;
            // What is expected is what the program as it was written gives.
            let outputs = if plan.is_changed() { clear.outputs } else { executed.outputs };
            Ok((outputs, executed.magnitudes))
        })
    }

    /// What a client knows of it.
    fn signature(&self, py: Python<'_>) -> PyResult<PySlotSignature> {
        detached(py, || Ok(PySlotSignature(self.0.signature()?)))
    }

    /// Seconds of processor time that an execution here takes.
    fn execution_seconds(&self, py: Python<'_>) -> PyResult<f64> {
        detached(py, || Ok(self.0.execution_seconds()?))
    }

    /// Seconds of processor time that a client takes here: keys, its own and its server's, encryption, decryption.
    fn client_seconds(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        detached(py, || {
            let ClientSeconds { keys, encrypt, decrypt } = self.0.client_seconds()?;
            Ok((keys, encrypt, decrypt))
        })
    }

    /// The kernel program, for machines.
    fn kernel(&self) -> PyResidueKernel {
        PyResidueKernel { kernel: Arc::new(self.0.kernel().clone()), parameters: self.0.set().name().to_owned() }
    }

    /// Parameters, keys and their sizes, operations, and level, scale and error bound of every node, as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.0.facts()?.to_string()))
    }
}
