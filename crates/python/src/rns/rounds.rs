//! Programs of repeated rounds on machines: maps the bodies one by one, then schedules all rounds.

use super::machine::PyRnsKernel;
use crate::failure::{Failure, Kind};
use crate::machine::{PyMachine, json, refused};
use crate::workers::detached;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_machines::contract::rounds::{RoundsMapper, SimulatedRounds};
use polyfabric_program::rns::kernel::Round;
use polyfabric_sim::trace::TraceOptions;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maps the bodies of a program of rounds to a machine.
#[pyclass(name = "RoundsMapper", frozen)]
pub struct PyRoundsMapper(Mutex<Option<RoundsMapper>>);

/// The checked schedule of all rounds.
#[pyclass(name = "MappedRounds", frozen)]
pub struct PyMappedRounds(SimulatedRounds);

#[pymethods]
impl PyMachine {
    /// Starts a program of rounds: for each round, the index of its body, and its replacements of the body's rotations as (from, to). The ring
    /// degree is 2^`log2_degree`. Bodies follow by `body`.
    fn rounds(
        &self,
        name: &str,
        parameters: &str,
        log2_degree: u32,
        rounds: Vec<(usize, Vec<(i64, i64)>)>,
        options: BTreeMap<String, String>,
    ) -> PyResult<PyRoundsMapper> {
        let degree = RingDegree::new(1 << log2_degree.min(30)).map_err(Failure::of(Kind::Input))?;
        let turn = |steps| GaloisElement::rotation(degree, steps);
        let round = |(body, steps): (usize, Vec<(i64, i64)>)| Round {
            elements: steps.into_iter().map(|(from, to)| (turn(from), turn(to))).collect(),
            ..Round::of(body)
        };
        let rounds = rounds.into_iter().map(round).collect();
        let mapper = RoundsMapper::new(self.description(), name, parameters, &options, rounds).map_err(refused)?;
        Ok(PyRoundsMapper(Mutex::new(Some(mapper))))
    }
}

impl PyRoundsMapper {
    fn already_finished() -> Failure {
        Failure::new(Kind::Internal, "the rounds are finished already; map the bodies again")
    }
}

#[pymethods]
impl PyRoundsMapper {
    /// Schedules the next body and audits it against `kernel`; keeps nothing of the kernel.
    fn body(&self, py: Python<'_>, kernel: &PyRnsKernel) -> PyResult<()> {
        let program = Arc::clone(&kernel.kernel);
        detached(py, || {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.as_mut().ok_or_else(Self::already_finished)?.body(&program).map_err(refused)
        })
    }

    /// Returns the checked schedule of all rounds.
    fn finish(&self, py: Python<'_>) -> PyResult<PyMappedRounds> {
        detached(py, || {
            let mapper = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mapper = mapper.ok_or_else(Self::already_finished)?;
            Ok(PyMappedRounds(mapper.finish().map_err(refused)?))
        })
    }
}

#[pymethods]
impl PyMappedRounds {
    /// JSON of the schedule's report.
    fn report(&self) -> PyResult<String> {
        Ok(json(&self.0.report)?)
    }

    /// JSON of each body's share.
    fn parts(&self) -> PyResult<String> {
        Ok(json(&self.0.parts)?)
    }

    /// Number of stored events; each body's events are stored once.
    #[getter]
    fn held_events(&self) -> u64 {
        self.0.held_events
    }

    /// The schedule as Chrome trace-event JSON; only the beginning and end of a long one.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || json(&self.0.trace(TraceOptions::default())))
    }
}
