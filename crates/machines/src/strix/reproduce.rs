//! The model's numbers for the paper's tables and figures, each from a schedule that the checker has passed.

use super::fragmentation::Device;
use crate::contract::{Described, MachineError};
use crate::engine::checker::check;
use crate::engine::report::SimulationError;
use crate::engine::schedule::{Placed, Resource};
use crate::engine::totals::Totals;
use crate::reproduce::prediction::{Basis, Collector, Prediction, ReproduceError, RowFailure};
use crate::torus_pipeline::machine::Pipeline;
use crate::torus_pipeline::streams::accumulation;
use crate::torus_pipeline::{Mapped, map};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{Parameters, sets};
use std::panic::resume_unwind;

/// What the paper published.
pub const PUBLISHED: &str = include_str!("../../../../figures/strix.toml");

const PAPER: &str = "strix";

/// Epochs of a long run. Of look-ups alone, its ends weigh a few parts in a thousand. The last epoch's key switch, which nothing hides, weighs 6 %.
const EPOCHS: u64 = 8;

/// The sets of table V.
const TABLE_V: [(&str, &str); 4] = [("I", "strix-I"), ("II", "strix-II"), ("III", "strix-III"), ("IV", "strix-IV")];

/// TvLP and CLP of table VII.
const TABLE_VII: [(u64, u64); 5] = [(16, 2), (8, 4), (4, 8), (2, 16), (1, 32)];

/// Of the best throughput of table VII, what a point may lack to be as good.
const FULL: f64 = 0.01;

/// Number of simulations, for the progress.
const STEPS: u64 = 4 * 5 + 2 + 5 * 4 + 3;

const BUS: &str = "512 bits for each VMA unit, which is what its eight points of 64 bits take";

/// The sets of table V whose published numbers were seen when [`KEY_BUS`] was chosen.
const SEEN: [&str; 3] = ["I", "II", "III"];

/// The reading of nearly all rows, and what speaks for it besides the results.
const KEY_BUS: (&str, Option<&str>) = (
    "key_bus=each",
    Some("what eight points of 64 bits of a VMA unit take; chosen with the rates of sets I to III in sight"),
);

struct Bench<'a> {
    description: Described,
    table: Collector<'a>,
    /// Throughput and latency of set I, for table VI.
    set_one: Result<(f64, f64), RowFailure>,
}

/// What a checked schedule turned out to take.
struct Timed {
    mapped: Mapped,
    totals: Totals,
    cycles: f64,
}

/// Every number.
///
/// # Errors
/// [`ReproduceError`] when the machine's own file is wrong. A number that cannot be computed is a row that says why.
pub fn predictions(machine: &Described, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    let description = machine.clone();
    let set_one = Err(RowFailure("set I of table V was not computed".to_owned()));
    let table = Collector::new(STEPS, progress);
    // Table VI takes a number of table V's, and nothing else anything: two threads share them.
    let mut rest = Bench { description: description.clone(), table: table.branch(), set_one: set_one.clone() };
    let mut bench = Bench { description, table, set_one };
    let token = cancel::current();
    std::thread::scope(|scope| {
        let rest = scope.spawn(|| {
            if let Some(token) = token {
                token.attach();
            }
            rest.table_vii()?;
            rest.figure_2();
            rest.figure_8()?;
            Ok::<_, ReproduceError>(rest.table)
        });
        bench.table_v()?;
        bench.table_iii();
        bench.memory()?;
        bench.table_vi()?;
        let rest = rest.join().unwrap_or_else(|payload| resume_unwind(payload))?;
        bench.table.take(rest);
        Ok(bench.table.finish())
    })
}

fn failed(cause: impl std::fmt::Display) -> RowFailure {
    RowFailure(cause.to_string())
}

fn parameters(set: &str) -> Result<Parameters, RowFailure> {
    sets::parameters(set).map_err(failed)
}

fn lowering(machine: &Pipeline, parameters: &Parameters) -> TfheLowering {
    let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    let width = parameters.glwe_dimension().get() as u32 + 1;
    choice.accumulation = accumulation(machine, width, parameters.bootstrap_gadget().levels);
    choice
}

fn program(machine: &Pipeline, name: &str, set: &str, batch: u64) -> Result<KernelProgram, RowFailure> {
    let parameters = parameters(set)?;
    let choice = lowering(machine, &parameters);
    let built = builtin::build(name, &parameters, batch as usize, &choice, Transform::Exact);
    Ok(built.map_err(failed)?.kernel)
}

impl Bench<'_> {
    fn figures(&self, choices: &[(&str, &str)]) -> Result<Pipeline, ReproduceError> {
        let machine = self.description.choose(choices)?;
        Ok(Pipeline::new(&machine).map_err(MachineError::from)?)
    }

    /// Times a checked schedule.
    fn time(&mut self, machine: &Pipeline, program: &KernelProgram) -> Result<Timed, RowFailure> {
        let description = &self.description;
        self.table.attempt(&format!("simulate {} of {}", program.name, program.parameters.name()), || {
            let mapping = |cause| MachineError::mapping(description, &program.name, cause);
            let mapped = map(machine, program).map_err(mapping)?;
            let illegal = |violation| {
                MachineError::from(SimulationError::Schedule {
                    program: program.name.to_string(),
                    machine: PAPER.to_owned(),
                    violation: Box::new(violation),
                })
            };
            let cycles = check(&mapped.schedule, &[]).map_err(illegal)?.cycles as f64;
            let totals = Totals::of(&mapped.schedule);
            Ok::<_, MachineError>(Timed { mapped, totals, cycles })
        })
    }

    /// Ciphertexts of an epoch of `program`: as many as the local scratchpads hold at a time, which a first mapping says.
    fn epoch(&self, machine: &Pipeline, name: &str, set: &str) -> Result<u64, RowFailure> {
        let most = machine.cores * machine.batch;
        let mapping = |cause| failed(MachineError::mapping(&self.description, name, cause));
        let probe = map(machine, &program(machine, name, set, most)?).map_err(mapping)?;
        Ok(probe.tasks.layout.epoch(machine))
    }

    /// A long run of `program`, and how many ciphertexts it has.
    fn long(&mut self, machine: &Pipeline, name: &str, set: &str) -> Result<(Timed, f64), RowFailure> {
        let count = EPOCHS * self.epoch(machine, name, set)?;
        Ok((self.time(machine, &program(machine, name, set, count)?)?, count as f64))
    }

    /// Ciphertexts a second of `program` without the ends of a run: what one of twice as many epochs takes longer.
    fn steady(&mut self, machine: &Pipeline, name: &str, set: &str) -> Result<f64, RowFailure> {
        let count = EPOCHS / 2 * self.epoch(machine, name, set)?;
        let half = self.time(machine, &program(machine, name, set, count)?)?;
        let whole = self.time(machine, &program(machine, name, set, 2 * count)?)?;
        Ok(count as f64 * machine.clock_hz / (whole.cycles - half.cycles))
    }

    /// Does `work`, which gives the numbers of cells `ids`; those that it did not come to say why.
    fn cells(&mut self, ids: &[String], work: impl FnOnce(&mut Self) -> Result<(), RowFailure>) {
        if let Err(failure) = work(self) {
            for id in ids {
                if !self.table.has(id) {
                    self.table.add(id, Err(failure.clone()), &Basis::under(&[KEY_BUS]), "it could not be computed");
                }
            }
        }
    }

    fn add(&mut self, id: impl Into<String>, value: f64, reason: impl Into<String>) {
        self.table.add(id, Ok(value), &Basis::under(&[KEY_BUS]), reason);
    }

    fn beside(
        &mut self,
        id: impl Into<String>,
        cell: (&'static str, String, &'static str),
        value: f64,
        reason: impl Into<String>,
    ) {
        self.table.beside(id, cell, Ok(value), &Basis::under(&[KEY_BUS]), reason);
    }

    /// Milliseconds of one ciphertext a core, from the first load to the last store, and of them those in which a core's FFT
    /// units are at work.
    fn latency(&mut self, machine: &Pipeline, set: &str) -> Result<(f64, f64), RowFailure> {
        let timed = self.time(machine, &program(machine, "pbs", set, machine.cores)?)?;
        let fft = timed.totals.needed[timed.mapped.chip.cores[0].fft.0 as usize] as f64;
        Ok((timed.cycles / machine.clock_hz * 1e3, fft / machine.clock_hz * 1e3))
    }

    fn table_v(&mut self) -> Result<(), ReproduceError> {
        let base = self.figures(&[])?;
        let shared = self.figures(&[("key_bus", "shared")])?;
        for (name, set) in TABLE_V {
            let ids = [format!("table5.{name}.throughput"), format!("table5.{name}.latency")];
            self.cells(&ids, |bench| bench.set_of_table_v(&base, &shared, name, set));
        }
        Ok(())
    }

    fn set_of_table_v(&mut self, base: &Pipeline, shared: &Pipeline, name: &str, set: &str) -> Result<(), RowFailure> {
        const TABLE: &str = "Table V";
        let (timed, count) = self.long(base, "pbs", set)?;
        let rate = count * base.clock_hz / timed.cycles;
        let waves = timed.mapped.tasks.layout.waves;
        let id = format!("table5.{name}.throughput");
        let reason = format!(
            "{BUS} (key_bus=each; one bus for both gives half, beside it); pbs of {count} ciphertexts, {waves} a core in an epoch, first \
             load to last store"
        );
        // What hangs on the bus and was not known when it was read is predicted.
        let basis = if SEEN.contains(&name) { Basis::CALIBRATED } else { Basis::under(&[KEY_BUS]) };
        self.table.add(&id, Ok(rate), &basis, reason);
        let steady = self.steady(base, "pbs+ks", set)?;
        let cell = (TABLE, format!("Strix, set {name}, throughput of pbs+ks"), "PBS/s");
        let reason = "with the key switch of every look-up, behind the next epoch's blind rotation: what eight epochs take longer than four, so \
                      without the last one's key switch, which nothing hides";
        self.beside(&id, cell, steady, reason);
        let (timed, count) = self.long(shared, "pbs", set)?;
        let cell = (TABLE, format!("Strix, set {name}, throughput, key_bus=shared"), "PBS/s");
        let reason = "one bus of 512 bits for both VMA units feeds half of their multipliers";
        let other = Basis::under(&[("key_bus=shared", Some("one bus of 512 bits"))]);
        self.table.beside(&id, cell, Ok(count * shared.clock_hz / timed.cycles), &other, reason);

        let id = format!("table5.{name}.latency");
        let (latency, fft) = self.latency(base, set)?;
        let steps = timed.mapped.timeline.steps;
        let reason = format!(
            "one ciphertext a core, first load to last store. Every iteration takes its stream and {} cycles until its \
                 accumulator can be read again: forward and inverse transform each give their first point after nearly all of \
                 a polynomial has come, so no pipeline of this structure is as fast as the paper states. What the units' work \
                 explains stands beside it",
            steps.fill()
        );
        self.table.add(&id, Ok(latency), &basis, reason);
        let cell = (TABLE, format!("Strix, set {name}, latency: FFT units at work"), "ms");
        let reason = "the part of the latency in which a core computes: the stream of n iterations";
        self.beside(&id, cell, fft, reason);
        let cell = (TABLE, format!("Strix, set {name}, latency: pipeline, loads and stores"), "ms");
        self.beside(&id, cell, latency - fft, "the rest: n times the pipeline's length, and the ends");
        if name == "I" {
            self.set_one = Ok((rate, latency));
        }
        Ok(())
    }

    fn table_iii(&mut self) {
        for component in self.description.components().to_vec() {
            for (what, value) in [("area", component.area_mm2), ("power", component.power_w)] {
                let Some(value) = value else { continue };
                let id = format!("table3.{}.{what}", component.name);
                self.table.add(id, Ok(value), &Basis::INPUT, "taken in by the machine file");
            }
        }
    }

    fn memory(&mut self) -> Result<(), ReproduceError> {
        let machine = self.figures(&[])?;
        let bytes = machine.global + machine.cores * machine.local;
        let reason =
            "the global scratchpad and one local one a core, which the machine file takes in; a MB has 2^20 bytes";
        self.table.add("section7.memory", Ok(bytes as f64 / f64::from(1 << 20)), &Basis::INPUT, reason);
        Ok(())
    }

    fn table_vi(&mut self) -> Result<(), ReproduceError> {
        let off = self.figures(&[("folding", "off")])?;
        let on = self.set_one.clone();
        let same = "the number of set I in table V";
        self.table.add("table6.on.throughput", on.clone().map(|on| on.0), &Basis::IDENTITY, same);
        self.table.add("table6.on.latency", on.clone().map(|on| on.1), &Basis::IDENTITY, same);
        let ids = ["off.throughput", "off.latency", "improvement.throughput", "improvement.latency"];
        self.cells(&ids.map(|id| format!("table6.{id}")), |bench| {
            let (timed, count) = bench.long(&off, "pbs", "strix-I")?;
            let rate = count * off.clock_hz / timed.cycles;
            let (latency, _) = bench.latency(&off, "strix-I")?;
            let reason = "folding=off: N points, four lanes everywhere; a key of N points a polynomial on the same bus";
            bench.add("table6.off.throughput", rate, reason);
            bench.add("table6.off.latency", latency, reason);
            let (rate_on, latency_on) = on?;
            bench.add("table6.improvement.throughput", rate_on / rate, reason);
            bench.add("table6.improvement.latency", latency / latency_on, reason);
            Ok(())
        });
        Ok(())
    }

    fn table_vii(&mut self) -> Result<(), ReproduceError> {
        let base = self.figures(&[])?;
        let mut points = Vec::new();
        for (cores, lanes) in TABLE_VII {
            let ids = ["throughput", "latency", "bandwidth"].map(|what| format!("table7.{cores}.{lanes}.{what}"));
            self.cells(&ids, |bench| {
                let (rate, latency) = bench.point_of_table_vii(&base, cores, lanes)?;
                points.push((cores, rate, latency));
                Ok(())
            });
        }
        self.best_point(&points);
        Ok(())
    }

    /// TvLP of the best of table VII's points: (TvLP, throughput, latency) of each.
    fn best_point(&mut self, points: &[(u64, f64, f64)]) {
        let best = points.iter().map(|&(_, rate, _)| rate).fold(0.0, f64::max);
        let full = points.iter().filter(|&&(_, rate, _)| rate >= (1.0 - FULL) * best);
        let found = full.min_by(|a, b| a.2.total_cmp(&b.2)).filter(|_| points.len() == TABLE_VII.len());
        let number = found.map(|&(cores, ..)| cores as f64).ok_or_else(|| failed("a point of table VII has no number"));
        let basis = Basis::under(&[
            KEY_BUS,
            (
                "the least latency within 1 % of the best throughput",
                Some(
                    "section VI-C: a high throughput is kept and the latency falls with CLP; how much of it may be lost is a choice",
                ),
            ),
        ]);
        let reason = "of table VII's points. In an epoch ciphertexts of a core share a key, so that in the model four cores with eight lanes are not \
                      held up by memory either, and have half the latency";
        self.table.add("section6.best", number, &basis, reason);
    }

    /// Its throughput and latency.
    fn point_of_table_vii(&mut self, base: &Pipeline, cores: u64, lanes: u64) -> Result<(f64, f64), RowFailure> {
        const TABLE: &str = "Table VII";
        const SET: &str = "strix-IV";
        // The key bus is as wide as the multipliers want it: 512 bits at four lanes.
        let key_bus = base.key_bus * lanes / base.lanes;
        let machine = Pipeline { cores, lanes, key_bus, ..base.clone() };
        let id = |what: &str| format!("table7.{cores}.{lanes}.{what}");
        let (timed, count) = self.long(&machine, "pbs", SET)?;
        let waves = timed.mapped.tasks.layout.waves;
        let reason =
            format!("{BUS}, and as many for each lane; set IV, {waves} ciphertexts a core in an epoch, 300 GB/s");
        let rate = count * machine.clock_hz / timed.cycles;
        self.add(id("throughput"), rate, reason);
        let key = (parameters(SET)?.lwe_dimension().get() as u64 * timed.mapped.tasks.layout.keys.entry_bytes) as f64;
        let (latency, fft) = self.latency(&machine, SET)?;
        self.add(id("latency"), latency, "one ciphertext a core, first load to last store, 300 GB/s");
        let cell = format!("TvLP {cores}, CLP {lanes}, required bandwidth of one that streams without a gap");
        let reason = "the key's bytes over the time in which FFT units work on one ciphertext a core. The one meaning found that meets the text's \
                      four bounds; no schedule of one ciphertext a core is so fast";
        let cell = (TABLE, cell, "GB/s");
        self.table.beside(id("bandwidth"), cell, Ok(key / (1e-3 * fft) / 1e9), &Basis::CALIBRATED, reason);
        for (alone, batch) in [(false, machine.batch), (true, 1)] {
            // What moves in a run that no channel holds up.
            let unlimited = Pipeline { channel_bytes: 1024.0 * machine.channel_bytes, batch, ..machine.clone() };
            let (timed, _) = self.long(&unlimited, "pbs", SET)?;
            let bandwidth = timed.totals.traffic_bytes() as f64 / timed.cycles * machine.clock_hz / 1e9;
            let reason = "bytes between chip and memory over the time of a run whose channels never wait";
            if alone {
                let cell = format!("TvLP {cores}, CLP {lanes}, required bandwidth with one ciphertext a core");
                self.beside(id("bandwidth"), (TABLE, cell, "GB/s"), bandwidth, reason);
            } else {
                self.add(id("bandwidth"), bandwidth, format!("{reason}; {waves} ciphertexts a core share a key"));
            }
        }
        Ok((rate, latency))
    }

    fn figure_2(&mut self) {
        const FIGURE: &str = "Figure 2";
        let gpu = Device::TITAN_RTX;
        let over = |count| gpu.time(count, 1.0) / gpu.time(72, 1.0);
        // The paper's own formulas: no evidence beside them.
        let reason = "formulas (1) and (2) with 72 cores and one ciphertext a core";
        self.table.add("figure2.gpu.73", Ok(over(73)), &Basis::IDENTITY, reason);
        for count in [36, 144, 145, 288] {
            let cell = format!("GPU of 72 cores: blind rotation of {count} ciphertexts over that of 72");
            self.table.beside("figure2.gpu.73", (FIGURE, cell, "x"), Ok(over(count)), &Basis::IDENTITY, reason);
        }
        // On a GPU, a rotation of several ciphertexts a core takes as many times as long.
        let pairs = Device { core_batch: 2, ..gpu };
        let reason = "formulas (1) and (2): half of the rotations, of which each takes twice as long, as the paper says of a GPU";
        let over = pairs.time(144, 2.0) / gpu.time(144, 1.0);
        self.table.add("figure2.gpu.core-batch", Ok(over), &Basis::IDENTITY, reason);
    }

    /// Shares of the time of two iterations, on the first core: of the first two that no load holds up, and of the very first.
    fn figure_8(&mut self) -> Result<(), ReproduceError> {
        let machine = self.figures(&[])?;
        const UNITS: [&str; 8] = ["rotator", "decomposer", "fft", "vma", "ifft", "accumulator", "scratchpad", "hbm"];
        for (waves, first) in [(3, 1), (3, 0), (2, 1)] {
            let ids = UNITS.map(|unit| format!("figure8.{unit}"));
            self.cells(&ids, |bench| bench.iterations(&machine, waves, first));
        }
        Ok(())
    }

    fn iterations(&mut self, machine: &Pipeline, waves: u64, first: u32) -> Result<(), RowFailure> {
        let timed = self.time(machine, &program(machine, "pbs", "strix-I", waves * machine.cores)?)?;
        let core = timed.mapped.chip.cores[0].clone();
        let units = [
            ("rotator", core.rotator),
            ("decomposer", core.decomposer),
            ("fft", core.fft),
            ("vma", core.vma),
            ("ifft", core.ifft),
            ("accumulator", core.accumulator),
        ];
        let reason = format!(
            "busy cycles of core 0 between a unit's first events of iterations {first} and {}; {waves} ciphertexts a core. \
                 Iteration 0 also waits for each ciphertext to come over its link, whose width is an assumption",
            first + 2
        );
        // The text has the first two iterations. Those after the first were taken after these had come out lower.
        let basis = if first == 0 { Basis::under(&[KEY_BUS]) } else { Basis::CALIBRATED };
        let add = |bench: &mut Self, what: &str, share: f64| {
            let id = format!("figure8.{what}");
            if (waves, first) == (3, 1) {
                bench.table.add(id, Ok(100.0 * share), &basis, reason.clone());
            } else {
                let cell = format!("{what}, {waves} ciphertexts a core, iterations {first} and {}", first + 1);
                bench.table.beside(id, ("Figure 8", cell, "%"), Ok(100.0 * share), &basis, reason.clone());
            }
        };
        for (name, unit) in units {
            let window = window(&timed, unit, first);
            let share = busy(&timed, window, |placed| {
                (placed.event.resource == unit)
                    .then_some((placed.start, placed.start + i64::from(placed.event.occupancy)))
            });
            add(self, name, share);
        }
        // The rotator's reads and the accumulators' writes.
        let span = window(&timed, core.rotator, first);
        let accesses = busy(&timed, span, |placed| {
            let event = placed.event;
            let access = if event.resource == core.rotator {
                event.reads.iter().find(|read| read.place.memory == core.local)
            } else if event.resource == core.accumulator {
                event.writes.iter().find(|write| write.place.memory == core.local)
            } else {
                None
            }?;
            Some((placed.start + i64::from(access.first), placed.start + i64::from(access.last) + 1))
        });
        add(self, "scratchpad", accesses);
        let channel = timed.mapped.chip.channels[0];
        let window = window(&timed, channel, first + 2);
        let share = busy(&timed, window, |placed| {
            (placed.event.resource == channel)
                .then_some((placed.start, placed.start + i64::from(placed.event.occupancy)))
        });
        add(self, "hbm", share);
        Ok(())
    }
}

/// The first events of iteration `from` and of the second after it on a unit or channel.
fn window(timed: &Timed, resource: Resource, from: u32) -> (i64, i64) {
    let to = from + 2;
    let first = |iteration: u32| {
        let mut events = timed.mapped.schedule.events();
        events
            .find(|placed| placed.event.resource == resource && placed.op().iteration == iteration)
            .map_or(0, |p| p.start)
    };
    (first(from), first(to))
}

/// Share of a window in which what `span` gives of the events is under way.
fn busy(timed: &Timed, window: (i64, i64), span: impl Fn(&Placed<'_>) -> Option<(i64, i64)>) -> f64 {
    let (from, to) = window;
    let mut taken = vec![false; (to - from).max(0) as usize];
    // What begins before the window may reach into it.
    for placed in timed.mapped.schedule.events().take_while(|placed| placed.start < to) {
        if let Some((first, past)) = span(&placed) {
            let range = (first.clamp(from, to) - from) as usize..(past.clamp(from, to) - from) as usize;
            taken[range].fill(true);
        }
    }
    taken.iter().filter(|&&taken| taken).count() as f64 / taken.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::prediction::Kind;
    use crate::reproduce::standing;
    use polyfabric_runtime::NoProgress;

    #[test]
    fn it_meets_what_it_is_held_to() {
        let rows = standing(
            PAPER,
            &predictions(&crate::registry::description(PAPER).expect("its file"), &NoProgress)
                .expect("the project's machine"),
        );
        let model = |cell: &str| {
            let row = rows.iter().find(|row| row.cell.starts_with(cell)).unwrap_or_else(|| panic!("{cell}"));
            (row.model.expect("a number"), row.published)
        };
        for set in ["I", "II", "III"] {
            let (rate, published) = model(&format!("Strix, set {set}, throughput"));
            let published = published.expect("a published rate");
            assert!((rate / published - 1.0).abs() < 0.01, "set {set}: {rate} a second, published {published}");
            // The units' work fits into the published latency; a whole pass through the pipeline in every iteration does not.
            let (latency, published) = model(&format!("Strix, set {set}, latency"));
            let published = published.expect("a published latency");
            let (work, _) = model(&format!("Strix, set {set}, latency: FFT units at work"));
            assert!(work < published && published < latency, "set {set}: {work}, {published} and {latency} ms");
        }
        let kind = |cell: &str| rows.iter().find(|row| row.cell.starts_with(cell)).and_then(|row| row.kind);
        // The bus was read with the numbers of the first three sets in sight, and who is told so reads it beside every number that hangs on it.
        for what in ["throughput", "latency"] {
            let kinds = ["I", "II", "III", "IV"].map(|set| kind(&format!("Strix, set {set}, {what}")));
            let seen = Some(Kind::Calibrated);
            assert_eq!(kinds, [seen, seen, seen, Some(Kind::PredictedUnderReading)], "{what}");
        }
        let readings = rows.iter().flat_map(|row| &row.readings).filter(|reading| reading.name == "key_bus=each");
        assert!(readings.clone().count() > 20);
        for reading in readings {
            let evidence = reading.evidence.as_deref().expect("what speaks for it");
            assert!(evidence.ends_with("chosen with the rates of sets I to III in sight"), "{evidence}");
        }
        // A key switch is hidden in sets I to III, up to the ends of a run of look-ups alone.
        for set in ["I", "II", "III"] {
            let of = |what: &str| model(&format!("Strix, set {set}, throughput{what}")).0;
            assert!((of(" of pbs+ks") / of("") - 1.0).abs() < 0.01, "set {set}");
        }
        // The memory is the machine file's, and other machines' numbers are no evidence; where four cores are best, the paper takes eight.
        assert_eq!((model("memory on the chip"), kind("memory on the chip")), ((26.0, Some(26.0)), Some(Kind::Input)));
        assert_eq!(kind("set I, throughput over MATCHA's"), Some(Kind::Identity));
        assert_eq!(model("TvLP of the best performance"), (4.0, Some(8.0)));
        assert_eq!(kind("TvLP of the best performance"), Some(Kind::PredictedUnderReading));
        // Three ciphertexts a core fill the pipeline, two do not.
        assert!((model("rotator, share").0 - 50.0).abs() < 1.0);
        assert!(model("FFT, share").0 > 99.0 && model("fft, 2 ciphertexts a core").0 < 90.0);
    }
}
