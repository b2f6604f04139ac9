//! The model's numbers for the paper's tables and figures, each from a schedule that the checker has passed.

use super::instruction::Opcode;
use super::machine::Morphling;
use super::map;
use super::software::Unit;
use crate::contract::{MachineError, torus};
use crate::engine::checker::check;
use crate::engine::description::Description;
use crate::registry;
use crate::reproduce::{Kind, Prediction, ReproduceError};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::{Body, KernelProgram, blind_rotation_body, count};
use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::sets;

/// Look-ups of a long run: the ends of the pipeline weigh a few parts in ten thousand.
const MANY: usize = 40 * 64;

/// What the paper published.
pub const PUBLISHED: &str = include_str!("../../../../figures/morphling.toml");

const PAPER: &str = "morphling";

/// The sets of table V, as a 32-bit machine runs them.
const TABLE_V: [(&str, &str); 4] =
    [("I", "morphling-I"), ("II", "morphling-II"), ("III", "morphling-III"), ("IV", "morphling-IV-t32")];

/// The sets of figure 7b.
const FIGURE_7B: [(&str, &str); 3] = [("A", "morphling-A-t32"), ("B", "morphling-B"), ("C", "morphling-C")];

struct Bench<'a> {
    description: Description,
    rows: Vec<Prediction>,
    progress: &'a dyn Progress,
    done: u64,
}

/// Number of simulations, for the progress.
const STEPS: u64 = 4 * 7 + 3 * 4 + 2 + 4 * 2 + 5 * 2 + 1;

/// Every number.
///
/// # Errors
/// [`ReproduceError`] when a program cannot be built, mapped or checked.
pub fn predictions(progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    let description = registry::description(PAPER)?;
    let mut bench = Bench { description, rows: Vec::new(), progress, done: 0 };
    bench.table_v()?;
    bench.table_iv()?;
    bench.figure_3()?;
    bench.figure_7a()?;
    bench.figure_7b()?;
    bench.figure_8a()?;
    bench.figure_8b()?;
    Ok(bench.rows)
}

fn lowering(inputs: InputTransform, sums: Accumulation) -> TfheLowering {
    let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    choice.input_transform = inputs;
    choice.accumulation = sums;
    choice
}

fn both() -> TfheLowering {
    lowering(InputTransform::Shared, Accumulation::TransformDomain)
}

fn program(name: &str, set: &str, batch: usize, choice: &TfheLowering) -> Result<KernelProgram, ReproduceError> {
    let fail = |cause: String| ReproduceError::Program { name: PAPER.to_owned(), cause };
    let parameters = sets::parameters(set).map_err(|error| fail(error.to_string()))?;
    let built = builtin::build(name, &parameters, batch, choice, Transform::Exact);
    Ok(built.map_err(|error| fail(error.to_string()))?.kernel)
}

impl Bench<'_> {
    fn tick(&mut self, what: &str) {
        self.done += 1;
        self.progress.update(&format!("simulate {what}"), self.done.min(STEPS), STEPS);
    }

    fn figures(&self) -> Result<Morphling, ReproduceError> {
        Ok(Morphling::new(&self.description).map_err(MachineError::from)?)
    }

    /// Cycles of a checked schedule.
    fn cycles(&mut self, machine: &Morphling, program: &KernelProgram) -> Result<u64, ReproduceError> {
        self.tick(&format!("{} of {}", program.name, program.parameters.name()));
        let mapping = |cause| MachineError::mapping(&self.description, &program.name, cause);
        let mapped = map(machine, program).map_err(mapping)?;
        let illegal = |violation| {
            MachineError::from(crate::engine::report::SimulationError::Schedule {
                program: program.name.to_string(),
                machine: PAPER.to_owned(),
                violation: Box::new(violation),
            })
        };
        Ok(check(&mapped.schedule, &[]).map_err(illegal)?.cycles)
    }

    fn add(&mut self, id: impl Into<String>, value: f64, reason: impl Into<String>) {
        let (id, reason) = (id.into(), reason.into());
        self.rows.push(Prediction { id, beside: None, value, kind: Kind::Predicted, reason });
    }

    fn beside(
        &mut self,
        id: impl Into<String>,
        (table, cell, unit): (&'static str, String, &'static str),
        value: f64,
        reason: impl Into<String>,
    ) {
        let (id, reason) = (id.into(), reason.into());
        let beside = Some((table.to_owned(), cell, unit.to_owned()));
        self.rows.push(Prediction { id, beside, value, kind: Kind::Predicted, reason });
    }

    fn table_v(&mut self) -> Result<(), ReproduceError> {
        const TABLE: &str = "Table V";
        let base = self.figures()?;
        let literal = registry::choose(&self.description, &[("fft_rate", "literal")])?;
        let literal = Morphling::new(&literal).map_err(MachineError::from)?;
        let all = registry::choose(&self.description, &[("key_channels", "all")])?;
        let all = Morphling::new(&all).map_err(MachineError::from)?;
        let clock = base.clock_hz;
        let positions = base.positions() as f64;
        for (name, set) in TABLE_V {
            let many = program("pbs", set, MANY, &both())?;
            let cycles = self.cycles(&base, &many)? as f64;
            let rate = MANY as f64 * clock / cycles;
            let id = format!("table5.{name}.throughput");
            self.add(
                &id,
                rate,
                "reading fft_rate=published, program pbs, 2,560 ciphertexts in groups of 64. The rows stream without a gap, \
                 so n(k+1)l·N/16 cycles a ciphertext and row remain; the paper states some 2,070 cycles more for 16 \
                 look-ups in both sets of N = 1024, a cost that its text does not name",
            );
            let group = program("pbs", set, 64, &both())?;
            let cycles = self.cycles(&base, &group)? as f64;
            let cell = |what: &str, unit| (TABLE, format!("Morphling, set {name}, {what}"), unit);
            let throughput = cell("throughput of one batch of 64, first load to last store", "BS/s");
            self.beside(&id, throughput, 64.0 * clock / cycles, "the same, filling and draining counted");
            let latency_64 = cycles / clock * 1e3;
            let many_literal = program("pbs", set, MANY, &both())?;
            let cycles = self.cycles(&literal, &many_literal)? as f64;
            let throughput = cell("throughput, fft_rate=literal", "BS/s");
            let reason =
                "two literal 8-lane FFT units give half: folding and merge-split cannot both halve one transform";
            self.beside(&id, throughput, MANY as f64 * clock / cycles, reason);
            let switched = program("pbs+ks", set, 10 * 64, &both())?;
            let cycles = self.cycles(&base, &switched)? as f64;
            let throughput = cell("throughput of pbs+ks", "BS/s");
            let reason =
                "a key switch at the library's levels occupies the VPU longer than the XPUs take: two programs";
            self.beside(&id, throughput, 640.0 * clock / cycles, reason);

            let id = format!("table5.{name}.latency");
            self.add(
                &id,
                positions / rate * 1e3,
                "reading: the time that the XPUs spend on 16 ciphertexts, one a row, while three other slots hide their \
                 latency. It is 16 over the throughput above and no second piece of evidence; no ciphertext passes in that \
                 time, see the batches of 16 and 64. Published with two digits",
            );
            let alone = program("pbs", set, positions as usize, &both())?;
            let cycles = self.cycles(&all, &alone)? as f64;
            let latency = cell("latency of a batch of 16, key_channels=all", "ms");
            let reason =
                "first load to last store; alone in its row, a ciphertext waits for FFT and IFFT in every iteration";
            self.beside(&id, latency, cycles / clock * 1e3, reason);
            let cycles = self.cycles(&base, &alone)? as f64;
            let latency = cell("latency of a batch of 16, key_channels=two", "ms");
            let reason = "first load to last store; an iteration takes the longer of the ciphertext's way through the pipeline and of the \
                          key's way through two channels";
            self.beside(&id, latency, cycles / clock * 1e3, reason);
            let latency = cell("latency of a batch of 64", "ms");
            self.beside(&id, latency, latency_64, "first load to last store; four slots share each key");
            if name == "I" {
                let reason = "set I of table V";
                self.add("abstract.throughput", rate, reason);
            }
        }
        Ok(())
    }

    fn table_iv(&mut self) -> Result<(), ReproduceError> {
        let components = self.description.components().to_vec();
        let xpus = self.figures()?.xpus as f64;
        let mut sums = [0.0; 4];
        for component in &components {
            let count = component.count;
            let inside = if count > 1.0 { 1.0 } else { 0.0 };
            let both = [("area", component.area_mm2), ("power", component.power_w)];
            for (at, (what, value)) in both.into_iter().enumerate() {
                let Some(value) = value else { continue };
                sums[at] += value;
                sums[2 + at] += inside * value;
                let one = value / count;
                self.rows.push(Prediction {
                    id: format!("table4.{}.{what}", component.name),
                    beside: None,
                    value: one,
                    kind: Kind::Input,
                    reason: "taken in by the machine file".to_owned(),
                });
            }
        }
        let names = [("total", sums[0], sums[1]), ("xpus", sums[2], sums[3]), ("xpu", sums[2] / xpus, sums[3] / xpus)];
        for (name, area, power) in names {
            for (what, value) in [("area", area), ("power", power)] {
                self.rows.push(Prediction {
                    id: format!("table4.{name}.{what}"),
                    beside: None,
                    value,
                    kind: Kind::Input,
                    reason: "sum of the parts that the machine file takes in; the printed parts are rounded".to_owned(),
                });
            }
        }
        let many = program("pbs", TABLE_V[0].1, MANY, &both())?;
        self.tick("energy");
        let report = torus::simulate(&self.description, &many)?;
        for component in &report.components {
            let Some(energy) = component.energy_j else { continue };
            let cell = (
                "Table IV",
                format!(
                    "{}, all of them, mean power in pbs of set I from activity {:.2}",
                    component.name, component.activity
                ),
                "W",
            );
            let reason = format!("power of table IV times activity; {}", component.idle_source);
            self.beside(format!("table4.{}.power", component.name), cell, energy / report.seconds, reason);
        }
        if let Some(power) = report.power_w {
            let cell =
                ("Table IV", "total, mean power in pbs of set I from activity, HBM stack included".to_owned(), "W");
            let reason =
                "predicted from activity; table IV states the power of every part at work, without the HBM stack";
            self.beside("table4.total.power", cell, power, reason);
        }
        if let Some(energy) = report.energy_j {
            let cell = ("Table IV", "energy of a look-up, pbs of set I".to_owned(), "mJ");
            self.beside("table4.total.power", cell, energy / MANY as f64 * 1e3, "mean power over throughput");
        }
        Ok(())
    }

    fn figure_3(&mut self) -> Result<(), ReproduceError> {
        let transforms = |body: &Body| (count::iteration(body).transforms() * body.iterations as u64) as f64;
        let n = sets::parameters("morphling-C").map_or(0, |set| set.lwe_dimension().get());
        for k in 1..=3usize {
            for l in 1..=3u32 {
                let of = |inputs, sums| transforms(&blind_rotation_body(k, l, n, &lowering(inputs, sums)));
                let none = of(InputTransform::PerProduct, Accumulation::CoefficientDomain);
                let input = of(InputTransform::Shared, Accumulation::CoefficientDomain);
                let full = of(InputTransform::Shared, Accumulation::TransformDomain);
                let reason = format!("counted in the blind-rotation bodies, n = {n}");
                let variants = [("input", input, "input reuse"), ("both", full, "input and output reuse")];
                for (id, count, text) in variants {
                    let id = format!("figure3.reduction.{k}.{l}.{id}");
                    let reduction = 100.0 * (1.0 - count / none);
                    if (k == l as usize && k != 2) && !(k == 1 && id.ends_with("both")) {
                        self.add(id, reduction, reason.clone());
                    } else {
                        let cell = ("Figure 3", format!("reduction at (k, l) = ({k}, {l}), {text}"), "%");
                        self.beside(id, cell, reduction, reason.clone());
                    }
                }
                if (k, l) == (3, 3) {
                    self.add("figure3.transforms.3.3.none", none, reason);
                }
            }
        }
        Ok(())
    }

    fn figure_7a(&mut self) -> Result<(), ReproduceError> {
        let machine = self.figures()?;
        for (name, set) in [("pbs", "morphling-I"), ("pbs+ks", "morphling-I")] {
            let program = program(name, set, 64, &both())?;
            self.cycles(&machine, &program)?;
            let mapping = |cause| MachineError::mapping(&self.description, name, cause);
            let mapped = map(&machine, &program).map_err(mapping)?;
            let mut spans: Vec<(&str, i64, i64)> = Vec::new();
            for (index, node) in mapped.streams.nodes.iter().enumerate() {
                let part = match (node.unit, node.instruction.opcode) {
                    (Unit::Array, _) => "XPU",
                    (Unit::Lanes(_), Opcode::KeySwitch) => "VPU, key switch",
                    (Unit::Lanes(_), _) => "VPU, modulus switch and sample extraction",
                    (Unit::Link, _) => "NoC",
                    (Unit::Dma, _) => "DMA",
                };
                spans.push((part, mapped.timeline.starts[index], mapped.timeline.ends[index]));
            }
            let shares = exclusive(&spans, mapped.timeline.cycles);
            for (part, share) in shares {
                let reason = "one batch of 64 from first load to last store; a cycle in which several parts work counts for the first \
                              of XPU, VPU, NoC, DMA";
                if part == "XPU" && name == "pbs" {
                    self.add("figure7a.xpu", 100.0 * share, format!("program pbs, set I, {reason}"));
                } else {
                    let cell = ("Figure 7a", format!("{name} of set I: share of {part} in the latency"), "%");
                    self.beside("figure7a.xpu", cell, 100.0 * share, reason);
                }
            }
        }
        Ok(())
    }

    fn figure_7b(&mut self) -> Result<(), ReproduceError> {
        let merged = self.figures()?;
        // Without merge-split a unit takes one polynomial at a time, on its own lanes.
        let single = Morphling { merge_split: false, fft_points: merged.path_points, ..merged.clone() };
        const BATCH: usize = 6 * 64;
        for (name, set) in FIGURE_7B {
            let mut cycles = Vec::new();
            let variants = [
                (&single, InputTransform::PerProduct, Accumulation::CoefficientDomain),
                (&single, InputTransform::Shared, Accumulation::CoefficientDomain),
                (&single, InputTransform::Shared, Accumulation::TransformDomain),
                (&merged, InputTransform::Shared, Accumulation::TransformDomain),
            ];
            for (machine, inputs, sums) in variants {
                let program = program("pbs", set, BATCH, &lowering(inputs, sums))?;
                cycles.push(self.cycles(machine, &program)? as f64);
            }
            let reason = "speed-up of schedules of 384 look-ups on the same 2 FFT and 4 IFFT units an XPU, which stay what they are; \
                          without merge-split unless it is named";
            self.add(format!("figure7b.{name}.input"), cycles[0] / cycles[1], reason);
            self.add(format!("figure7b.{name}.both"), cycles[0] / cycles[2], reason);
            self.add(format!("figure7b.{name}.merge_split"), cycles[2] / cycles[3], reason);
            self.add(format!("figure7b.{name}.all"), cycles[0] / cycles[3], reason);
            let clock = merged.clock_hz;
            let labels = ["no reuse", "input reuse", "input and output reuse", "both reuses and merge-split"];
            for (label, cycles) in labels.into_iter().zip(cycles) {
                let cell = ("Figure 7b", format!("set {name}: throughput, {label}"), "BS/s");
                self.beside(format!("figure7b.{name}.all"), cell, BATCH as f64 * clock / cycles, reason);
            }
        }
        Ok(())
    }

    fn figure_8a(&mut self) -> Result<(), ReproduceError> {
        let base = self.figures()?;
        for (name, set, knee) in [("A", "morphling-A-t32", true), ("I", "morphling-I", false)] {
            let mut found = Vec::new();
            for kib in [1024u64, 2048, 4096, 8192] {
                let machine = Morphling { private_a1: kib << 10, ..base.clone() };
                let program = program("pbs", set, 10 * 64, &both())?;
                let cycles = self.cycles(&machine, &program)? as f64;
                let rate = 640.0 * base.clock_hz / cycles;
                found.push((kib, rate));
                let cell = ("Figure 8a", format!("set {name}: throughput with Private-A1 of {kib} KiB"), "BS/s");
                self.beside("figure8a.knee", cell, rate, "the paper names no set; 640 look-ups");
            }
            let best = found.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
            let smallest = found.iter().find(|&&(_, rate)| rate >= 0.99 * best).map_or(0, |&(kib, _)| kib);
            if knee {
                self.add(
                    "figure8a.knee",
                    smallest as f64,
                    "set A, the largest ring of table III, within 1 % of the best: 2 MiB hold three resident ciphertexts a row, 4 MiB all \
                     four, and 8 MiB let a group load while one runs. Smaller rings need less",
                );
            } else {
                let cell =
                    ("Figure 8a", format!("set {name}: smallest Private-A1 buffer of full performance swept"), "KiB");
                self.beside("figure8a.knee", cell, smallest as f64, "sizes below 1024 KiB are not swept");
            }
        }
        Ok(())
    }

    fn figure_8b(&mut self) -> Result<(), ReproduceError> {
        let base = self.figures()?;
        for (name, set, knee) in [("C", "morphling-C", true), ("I", "morphling-I", false)] {
            let mut found: Vec<(u64, f64)> = Vec::new();
            for xpus in [1u64, 2, 4, 8, 16] {
                // 64 ciphertexts share a key, however many rows they lie in (section IV-C).
                let streams = (base.positions() * base.key_streams / (xpus * base.rows)).max(1);
                let machine = Morphling { xpus, key_streams: streams, ..base.clone() };
                let program = program("pbs", set, 10 * 64, &both())?;
                let cycles = self.cycles(&machine, &program)? as f64;
                let rate = 640.0 * base.clock_hz / cycles;
                found.push((xpus, rate));
                let cell = ("Figure 8b", format!("set {name}: throughput with {xpus} XPUs"), "BS/s");
                let reason = "64 resident ciphertexts share each key, spread over all rows; Private-A1 stays at 4 MiB";
                self.beside("figure8b.knee", cell, rate, reason);
            }
            // Growth stops where twice the XPUs give less than a tenth more.
            let stops = found.windows(2).find(|pair| pair[1].1 < 1.1 * pair[0].1).map_or(16, |pair| pair[0].0);
            let reason = "the first number of XPUs whose double gives less than a tenth more; set C needs nearly all of the two \
                          key channels with four XPUs";
            if knee {
                self.add("figure8b.knee", stops as f64, reason);
            } else {
                let cell = ("Figure 8b", format!("set {name}: XPUs at which throughput stops growing"), "XPUs");
                self.beside("figure8b.knee", cell, stops as f64, reason);
            }
        }
        Ok(())
    }
}

/// Share of the cycles in which a part works and none before it in the order of precedence does.
fn exclusive(spans: &[(&'static str, i64, i64)], cycles: i64) -> Vec<(&'static str, f64)> {
    let order = ["XPU", "VPU, key switch", "VPU, modulus switch and sample extraction", "NoC", "DMA"];
    let mut taken: Vec<(i64, i64)> = Vec::new();
    let mut shares = Vec::new();
    let covered = |taken: &[(i64, i64)]| {
        let mut sorted = taken.to_vec();
        sorted.sort_unstable();
        let (mut end, mut sum) = (0, 0);
        for (from, to) in sorted {
            sum += (to - from.max(end)).max(0);
            end = end.max(to);
        }
        sum
    };
    for part in order {
        let before = covered(&taken);
        taken.extend(spans.iter().filter(|span| span.0 == part).map(|&(_, from, to)| (from, to)));
        let share = (covered(&taken) - before) as f64 / cycles.max(1) as f64;
        if share > 0.0 {
            shares.push((part, share));
        }
    }
    shares
}
