//! The model's numbers for the paper's tables and figures; every time is from a schedule that the checker has passed.

use super::compile::{Compiled, compile};
use super::contract::lowering;
use super::graph::UnitKind;
use super::machine::{F1, WORD_BYTES};
use super::report::limits;
use super::translate::Leaf;
use crate::contract::MachineError;
use crate::engine::description::Description;
use crate::registry;
use crate::reproduce::{Kind, Prediction, ReproduceError};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::builtin::matrix_vector::matrix_vector;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::homomorphic::Scheme;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::bgv;
use polyfabric_runtime::Progress;
use polyfabric_schemes::bgv::{Encoder, sets};
use std::collections::BTreeSet;

/// What the paper published.
pub const PUBLISHED: &str = include_str!("../../../../figures/f1.toml");

const PAPER: &str = "f1";

/// log2 N of table 4, limbs of a ciphertext beside the special one (log Q of 109, 218 and 438 bits in words of 32), and key switches of
/// each: so many that memory, which brings every ciphertext once, is not in the way; as many again take what the table states.
const SIZES: [(u32, usize, usize); 3] = [(12, 3, 16), (13, 6, 8), (14, 13, 4)];

/// The most ciphertexts of a microbenchmark: four for each cluster.
const CIPHERTEXTS: usize = 64;

/// The same for operations without key switch.
const LIGHT_ROUNDS: usize = 64;

/// Compilations, for the progress.
const STEPS: u64 = 4 * 3 * 2 + 2 * 2 + 1;

struct Bench<'a> {
    description: Description,
    figures: F1,
    rows: Vec<Prediction>,
    progress: &'a dyn Progress,
    done: u64,
}

/// Every number.
///
/// # Errors
/// [`ReproduceError`] when a program cannot be built, compiled or checked.
pub fn predictions(progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    let description = registry::description(PAPER)?;
    let figures = F1::new(&description).map_err(MachineError::from)?;
    let mut bench = Bench { description, figures, rows: Vec::new(), progress, done: 0 };
    bench.table_2();
    bench.table_4()?;
    bench.sections()?;
    Ok(bench.rows)
}

fn failed(cause: impl std::fmt::Display) -> ReproduceError {
    ReproduceError::Program { name: PAPER.to_owned(), cause: cause.to_string() }
}

impl Bench<'_> {
    fn add(&mut self, id: impl Into<String>, value: f64, kind: Kind, reason: impl Into<String>) {
        self.rows.push(Prediction { id: id.into(), beside: None, value, kind, reason: reason.into() });
    }

    fn compile(&mut self, program: &KernelProgram, parameters: &str) -> Result<Compiled, ReproduceError> {
        self.done += 1;
        self.progress.update(&format!("compile {} of {parameters}", program.name), self.done.min(STEPS), STEPS);
        compile(&self.figures, program).map_err(failed)
    }

    fn table_2(&mut self) {
        let components = self.description.components().to_vec();
        let mut sums = [[0.0; 2]; 3];
        for component in &components {
            let inside = usize::from(component.count <= 1.0);
            for (at, (what, value)) in
                [("area", component.area_mm2), ("power", component.power_w)].into_iter().enumerate()
            {
                let Some(value) = value else { continue };
                sums[inside][at] += value;
                sums[2][at] += value;
                let id = format!("table2.{}.{what}", component.name);
                self.add(id, value / component.count, Kind::Input, "taken in by the machine file");
            }
        }
        let clusters = self.figures.clusters as f64;
        let cluster = sums[0].map(|sum| sum / clusters);
        for (name, sums) in [("cluster", cluster), ("compute", sums[0]), ("memory", sums[1]), ("total", sums[2])] {
            for (what, value) in ["area", "power"].into_iter().zip(sums) {
                let reason = "sum of the parts that the machine file takes in; the printed parts are rounded";
                self.add(format!("table2.{name}.{what}"), value, Kind::Input, reason);
            }
        }
    }

    /// As many ciphertexts as the scratchpad holds beside the hint, all inputs of each counted, so that memory does not set the time.
    fn ciphertexts(&self, operation: Operation, log2_degree: u32, limbs: usize) -> Result<usize, ReproduceError> {
        let degree = RingDegree::new(1 << log2_degree).map_err(failed)?;
        let vectors = self.figures.geometry(degree).map_err(failed)?.slots * self.figures.banks;
        let (inputs, hints) = match operation {
            Operation::Multiply => (2, 2 * limbs * (limbs + 1)),
            Operation::Permute => (1, 2 * limbs * (limbs + 1)),
            Operation::Ntt | Operation::Automorphism => (1, 0),
        };
        Ok((vectors.saturating_sub(hints) / (inputs * 2 * limbs)).clamp(1, CIPHERTEXTS))
    }

    /// Nanoseconds that a further operation takes, and those of the busiest units alone.
    fn further(&mut self, operation: Operation, shape: Shape) -> Result<(f64, f64, &'static str), ReproduceError> {
        let mut found = Vec::new();
        for rounds in [shape.rounds, 2 * shape.rounds] {
            let program = build(operation, Shape { rounds, ..shape }).map_err(failed)?;
            let compiled = self.compile(&program, &shape.to_string())?;
            let limits = limits(&compiled, &self.figures);
            found.push((compiled.checked.cycles, UnitKind::ALL.map(|kind| (limits[kind.name()], kind.name()))));
        }
        let count = (shape.ciphertexts * shape.rounds) as f64;
        let nanoseconds = |cycles: u64| cycles as f64 / count / self.figures.clock_hz * 1e9;
        let units = (0..4).map(|unit| (found[1].1[unit].0 - found[0].1[unit].0, found[1].1[unit].1));
        let (bound, by) = units.max_by_key(|&(cycles, _)| cycles).unwrap_or((0, ""));
        Ok((nanoseconds(found[1].0.saturating_sub(found[0].0)), nanoseconds(bound), by))
    }

    fn table_4(&mut self) -> Result<(), ReproduceError> {
        for (name, operation) in Operation::ALL {
            for (log2_degree, limbs, key_switches) in SIZES {
                let heavy = matches!(operation, Operation::Multiply | Operation::Permute);
                let rounds = if heavy { key_switches } else { LIGHT_ROUNDS };
                let ciphertexts = self.ciphertexts(operation, log2_degree, limbs)?;
                let shape = Shape { log2_degree, limbs, special: 1, ciphertexts, rounds };
                let (time, bound, by) = self.further(operation, shape)?;
                let id = format!("table4.{name}.{log2_degree}");
                let held_up = match heavy {
                    _ if time < 1.01 * bound => "they are busy all the time",
                    true => {
                        "the schedule is held up by registers and crossbars, over which a hint's two vectors reach a cluster for each transform"
                    }
                    false => {
                        "the ciphertexts fill the clusters unevenly, or their vectors pass the scratchpad between rounds"
                    }
                };
                let reason = format!(
                    "what a further operation takes when {ciphertexts} ciphertexts go through {rounds} to {} of them; {limbs} limbs and a \
                     special one for key switches, as the sets of log Q have it. The {by} units alone would take {bound:.1} ns: {held_up}",
                    2 * rounds
                );
                self.add(id.clone(), time, Kind::Predicted, reason);
                let cell = (
                    "Table 4".to_owned(),
                    format!("{name}, N = 2^{log2_degree}: bound of the {by} units"),
                    "ns".to_owned(),
                );
                let reason = "work of the busiest units at their rate; no schedule is faster".to_owned();
                self.rows.push(Prediction {
                    id: id.clone(),
                    beside: Some(cell),
                    value: bound,
                    kind: Kind::Predicted,
                    reason,
                });
                if log2_degree == 13 && matches!(operation, Operation::Multiply | Operation::Permute) {
                    let shape = Shape { limbs: limbs + 1, special: 0, ..shape };
                    let (time, bound, by) = self.further(operation, shape)?;
                    let cell = (
                        "Table 4".to_owned(),
                        format!("{name}, N = 2^{log2_degree}: listing 1, no special prime"),
                        "ns".to_owned(),
                    );
                    let reason = format!(
                        "the other reading: {} limbs, all of them the ciphertext's; bound {bound:.1} ns ({by})",
                        limbs + 1
                    );
                    self.rows.push(Prediction { id, beside: Some(cell), value: time, kind: Kind::Predicted, reason });
                }
            }
        }
        Ok(())
    }

    fn sections(&mut self) -> Result<(), ReproduceError> {
        // Section 5.3's class of primes below the word's end.
        let primes = PrimeClass::ONE_MOD_WORD.at_or_below(u64::from(u32::MAX)).count() as f64;
        self.add(
            "section5.primes",
            primes,
            Kind::Predicted,
            "counted: 1 modulo 2^16, below 2^32; the paper prints -1, which has no NTT",
        );
        let lanes = self.figures.lanes as f64;
        let layers = lanes.log2();
        let multipliers = 2.0 * (lanes * (layers - 1.0) / 2.0) + lanes;
        self.add(
            "section5.multipliers",
            multipliers,
            Kind::Predicted,
            "two transforms of E points and E twiddle multipliers between them",
        );
        let figures = &self.figures;
        let port = figures.lanes as f64 * WORD_BYTES as f64 * figures.clock_hz * 1e-12;
        let network = 3.0 * figures.clusters as f64 * port;
        let registers = (figures.register_banks * figures.accesses_per_cycle * figures.clusters) as f64 * port;
        self.add(
            "section6.network",
            network,
            Kind::Predicted,
            "a port of each crossbar for every cluster; the paper counts in binary",
        );
        self.add(
            "section6.registers",
            registers,
            Kind::Predicted,
            "all banks of all register files; the paper counts in binary",
        );
        // Listing 2 at its N and L.
        let parameters = sets::named("f1-listing2").map_err(failed)?;
        let (t, limbs) = (parameters.plaintext_modulus().value(), parameters.q_limbs());
        let degree: RingDegree = parameters.ring().degree();
        let scheme = Scheme::Bgv { plaintext_modulus: t };
        let program = matrix_vector(scheme, degree.get(), 4, Some(limbs - 1)).map_err(failed)?;
        let choice = lowering(parameters.gadget().literal().clone());
        let encoder = Encoder::new(degree, parameters.literal().plaintext_modulus).map_err(failed)?;
        let kernel = bgv::lower(&program, &parameters, &choice, &encoder).map_err(failed)?.kernel;
        let compiled = self.compile(&kernel, parameters.name())?;
        let hints = compiled.translation.leaves.iter().filter_map(|of| match of.leaf {
            Leaf::Hint { key, .. } => Some(key),
            _ => None,
        });
        let keys: Vec<_> = hints.collect();
        let sets: BTreeSet<_> = keys.iter().copied().collect();
        let vector = degree.get() as f64 * WORD_BYTES as f64 / f64::from(1 << 20);
        let largest = sets.iter().map(|set| keys.iter().filter(|key| *key == set).count()).max().unwrap_or(0);
        let reason = "vectors that listing 2's schedule loads";
        self.add("section4.sets", sets.len() as f64, Kind::Predicted, reason);
        self.add("section4.hints", keys.len() as f64 * vector, Kind::Predicted, reason);
        self.add("section2.hints", largest as f64 * vector, Kind::Predicted, reason);
        let switches = sets.len() as f64 * 4.0;
        let transforms = compiled.translation.graph.counts()[UnitKind::Ntt as usize] as f64;
        self.add(
            "section2.ntts",
            transforms / switches,
            Kind::Predicted,
            "transforms of listing 2 over its 60 key switches",
        );
        let milliseconds = compiled.checked.cycles as f64 / self.figures.clock_hz * 1e3;
        let cell = ("Section 4.2".to_owned(), "listing 2, time".to_owned(), "ms".to_owned());
        let reason = format!(
            "every hint is loaded {:.2} times",
            compiled.checked.off_chip[0] as f64 / compiled.translation.leaves.len() as f64
        );
        self.rows.push(Prediction {
            id: "section4.hints".to_owned(),
            beside: Some(cell),
            value: milliseconds,
            kind: Kind::Predicted,
            reason,
        });
        Ok(())
    }
}
