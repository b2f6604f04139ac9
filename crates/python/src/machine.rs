//! Machines: description, simulation, replay, trace.

use crate::failure::{Failure, Kind};
use crate::kernel::PyKernelProgram;
use crate::keys::{PyCiphertexts, PyServerKey, outputs_of};
use crate::parameters::PyParameters;
use crate::progress::Callback;
use crate::workers::{detached, released};
use polyfabric_client::tfhe::{AnyBatches, torus_mismatch};
use polyfabric_kernels::fixed::TransformSpec;
use polyfabric_machines as machines;
use polyfabric_machines::contract::tfhe::{self, MappedTfhe};
use polyfabric_machines::tfhe::replay::Replay;
use polyfabric_machines::tfhe::widths::Judge;
use polyfabric_planner::tfhe::{DerivedWidths, derive_widths};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_schemes::tfhe::AnyServerKey;
use polyfabric_sim::SimulationReport;
use polyfabric_sim::description::{DescriptionError, LARGEST_FILE};
use polyfabric_sim::listing::listing;
use polyfabric_sim::trace::{TraceOptions, trace};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checked machine description.
#[pyclass(name = "Machine", frozen)]
pub struct PyMachine(Arc<machines::Machine>);

pub fn refused(error: machines::MachineError) -> Failure {
    let kind = match error {
        machines::MachineError::Intractable { .. } => Kind::Intractable,
        _ => Kind::Machine,
    };
    Failure::new(kind, error)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &dyn Display| {
        let message = format!("{}: cannot read the machine file ({error}); check the path", path.display());
        Failure::new(Kind::Machine, message)
    };
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(&error))?;
    if bytes.len() > LARGEST_FILE {
        let file = path.display().to_string();
        return Err(Failure::new(Kind::Machine, DescriptionError::Size { file }));
    }
    String::from_utf8(bytes).map_err(|error| {
        let message = format!("{}: is not UTF-8 text ({error}); save it in that encoding", path.display());
        Failure::new(Kind::Machine, message)
    })
}

pub fn json(data: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(data).map_err(Failure::of(Kind::Internal))
}

/// Names of the built-in machines.
#[pyfunction]
pub fn machine_names() -> Vec<&'static str> {
    machines::names()
}

/// JSON of all mappers' options: values and help by name, with the mapper.
#[pyfunction]
pub fn machine_options() -> PyResult<String> {
    let of = |mapper: &&machines::contract::Mapper| {
        let rows = mapper.options.iter().map(|spec| json!({ "machine": mapper.name, "option": spec }));
        rows.collect::<Vec<_>>()
    };
    Ok(json(&machines::registry::MAPPERS.iter().flat_map(of).collect::<Vec<_>>())?)
}

impl PyMachine {
    fn chosen(machine: &machines::Machine, choices: &[(String, String)]) -> Result<Self, Failure> {
        let choices: Vec<(&str, &str)> = choices.iter().map(|(fact, option)| (&**fact, &**option)).collect();
        Ok(Self(Arc::new(machine.choose(&choices).map_err(refused)?)))
    }

    pub fn description(&self) -> &Arc<machines::Machine> {
        &self.0
    }

    /// The machine's arithmetic for a set.
    fn arithmetic(&self, parameters: &PyParameters) -> Result<Arithmetic, Failure> {
        tfhe::arithmetic(&self.0, &parameters.0).map_err(refused)
    }
}

#[pymethods]
impl PyMachine {
    /// The built-in machine `name` with `choices` of readings (fact, option).
    #[staticmethod]
    fn named(name: &str, choices: Vec<(String, String)>) -> PyResult<Self> {
        Ok(Self::chosen(&machines::description(name).map_err(refused)?, &choices)?)
    }

    /// The text of a machine file, up to the maximum size.
    #[staticmethod]
    fn text_of(py: Python<'_>, path: PathBuf) -> PyResult<String> {
        // Reading a pipe may never end, so Ctrl-C abandons it.
        released(py, move || text_of(&path))
    }

    /// Parses the machine in `text`, read from `file`, with `choices` of readings (fact, option).
    #[staticmethod]
    fn parse(file: &str, text: &str, choices: Vec<(String, String)>) -> PyResult<Self> {
        let machine = machines::parse(file, text).map_err(refused)?;
        Ok(Self::chosen(&machine, &choices)?)
    }

    /// The machine with changed figures, each in the unit of its file, and its area and power adapted.
    fn changed(&self, changes: Vec<(String, f64)>) -> PyResult<Self> {
        Ok(Self(Arc::new(self.0.changed(&changes).map_err(refused)?)))
    }

    /// The value of a figure in the unit of its file, if known.
    fn figure(&self, key: &str) -> Option<f64> {
        self.0.figures().get(key)?.written.value.as_f64()
    }

    /// Keys of the figures that have a value.
    fn figure_keys(&self) -> Vec<String> {
        self.0.figures().iter().filter(|(_, figure)| figure.value.is_some()).map(|(key, _)| key.clone()).collect()
    }

    /// What follows from its figures, by name, as JSON: counts of parts and bytes that they hold.
    fn quantities(&self) -> PyResult<String> {
        let found = (self.0.mapped_by().quantities)(&self.0).map_err(|error| refused(error.into()))?;
        Ok(json(&found)?)
    }

    /// The machine with other values of any figures, each in the unit of its file, and of unknown area and power.
    fn varied(&self, changes: Vec<(String, f64)>) -> PyResult<Self> {
        Ok(Self(Arc::new(self.0.varied(&changes).map_err(refused)?)))
    }

    /// Its clock.
    fn clock_hz(&self) -> PyResult<f64> {
        Ok(self.0.clock_hz().map_err(Failure::of(Kind::Machine))?)
    }

    /// Its components, as JSON: name, count, area and power of all of them.
    fn components(&self) -> PyResult<String> {
        Ok(json(&self.0.components())?)
    }

    /// Area in mm² of all components; `None` if one is unknown, or none is described.
    fn area(&self) -> Option<f64> {
        self.0.area_mm2()
    }

    /// Why the area is unknown despite the file's components: a figure was changed that they depend on.
    fn area_cause(&self) -> Option<String> {
        self.0.area_cause().map(str::to_owned)
    }

    /// Power in W of all components at full activity; `None` if one is unknown or none is described.
    fn power(&self) -> Option<f64> {
        self.0.power_w()
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Whether it executes CKKS and BGV; otherwise TFHE.
    #[getter]
    fn on_slots(&self) -> bool {
        self.0.family() == machines::Family::Rns
    }

    /// The chosen option of every reading.
    #[getter]
    fn readings(&self) -> Vec<(String, String)> {
        self.0.readings().iter().map(|(fact, option)| (fact.clone(), option.clone())).collect()
    }

    /// The file's content as JSON: figures with units and sources, components, readings.
    fn to_json(&self) -> PyResult<String> {
        Ok(json(self.0.literal())?)
    }

    /// JSON of the bits, including sign, of each number in its transforms for a set; `null` if products are exact or in f64.
    fn widths(&self, parameters: &PyParameters) -> PyResult<String> {
        let spec = match self.arithmetic(parameters)? {
            Arithmetic::Fixed(spec) => spec,
            Arithmetic::ExactInteger | Arithmetic::F64 => return Ok(json(&())?),
        };
        let widest = |transform: &TransformSpec| transform.stages.iter().map(|stage| stage.width).max();
        let key = spec.key.stages.last().map(|stage| stage.width);
        Ok(json(&json!({
            "key": key, "forward": widest(&spec.digits), "inverse": widest(&spec.inverse),
            "forward_twiddle": spec.digits.twiddle_bits, "inverse_twiddle": spec.inverse.twiddle_bits,
        }))?)
    }

    /// JSON of the effect of the machine's widths on each set over its torus.
    fn findings(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || json(&machines::findings(&self.0).map_err(refused)?))
    }

    /// Executes `lookups` lookups of a set by the machine's schedule, under fresh keys, with messages of `bits` bits or as many as the set
    /// supports. Returns JSON.
    #[pyo3(signature = (parameters, lookups, bits = None, progress = None))]
    fn trial(
        &self,
        py: Python<'_>,
        parameters: &PyParameters,
        lookups: u64,
        bits: Option<u32>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let callback = Callback::new(progress);
        detached(py, || json(&machines::trial(&self.0, &parameters.0, lookups, bits, &callback).map_err(refused)?))
    }

    /// Derives widths for a set by FPT's design method, by the criterion "phase" or "coefficient". Returns JSON, and the machine file with these
    /// widths.
    #[pyo3(signature = (parameters, judge, progress = None))]
    fn derive_widths(
        &self,
        py: Python<'_>,
        parameters: &PyParameters,
        judge: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, String)> {
        let callback = Callback::new(progress);
        let unknown = || {
            Failure::new(Kind::Input, format!("unknown criterion {judge:?} for widths; use `phase` or `coefficient`"))
        };
        let judge = Judge::named(judge).ok_or_else(unknown)?;
        detached(py, || {
            let DerivedWidths { widths, log2_failure, file } = derive_widths(&self.0, &parameters.0, judge, &callback)?;
            Ok((json(&json!({ "widths": widths, "log2_failure": log2_failure }))?, file))
        })
    }

    /// Upper bound of the bytes for mapping `kernel`.
    fn mapping_bytes(&self, kernel: &PyKernelProgram) -> PyResult<u64> {
        Ok(tfhe::mapping_bytes(&self.0, &kernel.0).map_err(refused)?)
    }

    /// Cycles of the checked schedule of `kernel`, which is not held against the program.
    fn cycles(&self, py: Python<'_>, kernel: &PyKernelProgram) -> PyResult<u64> {
        let (machine, kernel) = (Arc::clone(&self.0), Arc::clone(&kernel.0));
        released(py, move || tfhe::cycles(&machine, &kernel).map_err(refused))
    }

    /// What the mapper decides of `kernel`, as JSON: quantities by name, and when instructions run, if the machine has some.
    fn mapping(&self, py: Python<'_>, kernel: &PyKernelProgram) -> PyResult<String> {
        let (machine, kernel) = (Arc::clone(&self.0), Arc::clone(&kernel.0));
        released(py, move || json(&tfhe::decisions(&machine, &kernel).map_err(refused)?))
    }

    /// The events of `units` that start before cycle `end` in the schedule of `kernel`, as JSON.
    fn events(&self, py: Python<'_>, kernel: &PyKernelProgram, units: Vec<String>, end: i64) -> PyResult<String> {
        let (machine, kernel) = (Arc::clone(&self.0), Arc::clone(&kernel.0));
        released(py, move || {
            let mapped = tfhe::map(&machine, &kernel).map_err(refused)?;
            json(&listing(&mapped.schedule, &units, end))
        })
    }

    /// `kernel` on the machine, mapped once and checked.
    fn map(&self, py: Python<'_>, kernel: &PyKernelProgram) -> PyResult<PyMappedKernel> {
        let (machine, kernel) = (Arc::clone(&self.0), Arc::clone(&kernel.0));
        released(py, move || {
            let mapped = tfhe::map(&machine, &kernel).map_err(refused)?;
            let report = tfhe::report(&machine, &kernel, &mapped).map_err(refused)?;
            Ok(PyMappedKernel { machine, kernel, mapped, report })
        })
    }
}

/// A TFHE program on a machine, with its checked schedule.
#[pyclass(name = "MappedTfhe", frozen)]
pub struct PyMappedKernel {
    machine: Arc<machines::Machine>,
    kernel: Arc<KernelProgram>,
    mapped: MappedTfhe,
    report: SimulationReport,
}

#[pymethods]
impl PyMappedKernel {
    /// The report of the schedule, as JSON.
    fn report(&self) -> PyResult<String> {
        Ok(json(&self.report)?)
    }

    /// The schedule as Chrome trace-event JSON, with only the first and last iterations of loops.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || {
            let clock = self.machine.clock_hz().map_err(Failure::of(Kind::Machine))?;
            json(&trace(&self.mapped.schedule, clock, TraceOptions::default()))
        })
    }

    /// Executes the schedule on ciphertexts. Returns (outputs, number of saturated values).
    #[pyo3(signature = (server, inputs, progress = None))]
    fn replay(
        &self,
        py: Python<'_>,
        server: &PyServerKey,
        inputs: &PyCiphertexts,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(PyCiphertexts, u64)> {
        let callback = Callback::new(progress);
        server.expect_own(inputs)?;
        let generation = inputs.0.generation;
        let (AnyServerKey::Torus32(server), AnyBatches::Torus32(inputs)) = (server.key(), &inputs.0.batches) else {
            return Err(Failure::from(torus_mismatch()).into());
        };
        detached(py, || {
            let Replay { outputs, saturations, .. } =
                tfhe::replay(&self.kernel, &self.mapped, server, inputs, &callback).map_err(refused)?;
            let outputs = outputs_of(AnyBatches::Torus32(outputs), generation);
            Ok((outputs, saturations))
        })
    }
}
