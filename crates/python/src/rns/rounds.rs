//! Programs that repeat on machines: bodies one by one, then the schedule of all rounds.

use super::machine::PyResidueKernel;
use crate::failure::{Failure, Kind};
use crate::machine::{PyMachine, json, refused};
use crate::workers::detached;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_machines::contract::rounds::{RoundsMapper, SimulatedRounds};
use polyfabric_machines::engine::trace::TraceOptions;
use polyfabric_program::rns::kernel::Round;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The bodies of a program that repeats, on a machine.
#[pyclass(name = "RoundsMapper", frozen)]
pub struct PyRoundsMapper(Mutex<Option<RoundsMapper>>);

/// The schedule of all rounds, checked.
#[pyclass(name = "MappedRounds", frozen)]
pub struct PyMappedRounds(SimulatedRounds);

#[pymethods]
impl PyMachine {
    /// For rounds of bodies that are given one after the other: of each the number of its body, and rotations that it has in the place of the
    /// body's, from first, in rings of degree 2^`log2_degree`.
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
    fn given_away() -> Failure {
        Failure::new(Kind::Internal, "the rounds have been put together; map the bodies anew")
    }
}

#[pymethods]
impl PyRoundsMapper {
    /// Schedules the next body and holds it against `kernel`, of which nothing is kept.
    fn body(&self, py: Python<'_>, kernel: &PyResidueKernel) -> PyResult<()> {
        let program = Arc::clone(&kernel.kernel);
        detached(py, || {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.as_mut().ok_or_else(Self::given_away)?.body(&program).map_err(refused)
        })
    }

    /// The schedule of all rounds, checked.
    fn finish(&self, py: Python<'_>) -> PyResult<PyMappedRounds> {
        detached(py, || {
            let mapper = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mapper = mapper.ok_or_else(Self::given_away)?;
            Ok(PyMappedRounds(mapper.finish().map_err(refused)?))
        })
    }
}

#[pymethods]
impl PyMappedRounds {
    /// The report of the schedule, as JSON.
    fn report(&self) -> PyResult<String> {
        Ok(json(&self.0.report)?)
    }

    /// Of each body its share, as JSON.
    fn parts(&self) -> PyResult<String> {
        Ok(json(&self.0.parts)?)
    }

    /// Events that the schedule holds: those of each body once.
    #[getter]
    fn held_events(&self) -> u64 {
        self.0.held_events
    }

    /// The schedule as Chrome trace-event JSON; of a long one, its beginning and its end.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || json(&self.0.trace(TraceOptions::default())))
    }
}
