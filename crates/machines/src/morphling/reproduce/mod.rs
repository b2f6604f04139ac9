//! The model's numbers for the paper's tables and figures, each from a schedule that the checker has passed.

mod figures;
#[cfg(test)]
mod tests;

use super::instruction::Opcode;
use super::machine::Morphling;
use super::map;
use super::software::Unit;
use crate::contract::{Described, MachineError, torus};
use crate::engine::checker::check;
use crate::reproduce::prediction::{Basis, Collector, Number, Point, Prediction, ReproduceError, RowFailure};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::{Body, KernelProgram, blind_rotation_body, count};
use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::sets;

/// Look-ups of a long run: the ends of the pipeline weigh a few parts in ten thousand.
const MANY: usize = 40 * 64;

/// What the paper published.
pub const PUBLISHED: &str = include_str!("../../../../../figures/morphling.toml");

const PAPER: &str = "morphling";

/// The sets of table V, as a 32-bit machine runs them.
const TABLE_V: [(&str, &str); 4] =
    [("I", "morphling-I"), ("II", "morphling-II"), ("III", "morphling-III"), ("IV", "morphling-IV-t32")];

/// The sets of figure 7b.
const FIGURE_7B: [(&str, &str); 3] = [("A", "morphling-A-t32"), ("B", "morphling-B"), ("C", "morphling-C")];

/// The sets whose curves figure 8 may be: those of section VI's other experiments, and the first of table V.
const FIGURE_8: [(&str, &str); 4] =
    [("A", "morphling-A-t32"), ("B", "morphling-B"), ("C", "morphling-C"), ("I", "morphling-I")];

/// Which sets figures are computed for.
struct Sets {
    figure_7b: &'static [(&'static str, &'static str)],
    /// Of figure 7a's long runs too.
    figure_8: &'static [(&'static str, &'static str)],
}

/// The sets whose throughput was seen when [`FFT_RATE`] and [`KEY_SWITCH_HIDDEN`] were chosen.
const SEEN: [&str; 2] = ["I", "II"];

/// What speaks for the readings besides the results that they are compared with.
const FFT_RATE: (&str, Option<&str>) = (
    "fft_rate=published",
    Some(
        "sections V-A and V-A.3: four rows of eight complex elements a cycle are fed by two units, whose throughput merge-split doubles; \
         chosen after the throughput of sets I and II in table V was seen",
    ),
);
const KEY_SWITCH_HIDDEN: (&str, Option<&str>) = (
    "key switch not counted",
    Some(
        "section VI-C: the throughput is primarily determined by the XPU; chosen after the throughput of sets I and II in table V was seen",
    ),
);
const KEY_CHANNELS_TWO: (&str, Option<&str>) = ("key_channels=two", Some("section VI-B: 2 of 8 channels for the XPUs"));
const KEY_CHANNELS_ALL: (&str, Option<&str>) =
    ("key_channels=all", Some("section VI-B speaks of priorities, not of a fixed division"));
const IDLE_SHARE: (&str, Option<&str>) =
    ("three tenths of a component's power always flow", Some("an assumption: nothing published divides the power"));

struct Bench<'a> {
    description: Described,
    sets: Sets,
    table: Collector<'a>,
}

/// Number of simulations, for the progress.
const STEPS: u64 = 4 * 7 + 1 + 3 + 2 * 5 + 3 * 8 + 4 * 12 * 2 + 4 * 5;

/// Every number.
///
/// # Errors
/// [`ReproduceError`] when the machine's own file is wrong. A number that cannot be computed is a row that says why.
pub fn predictions(machine: &Described, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    predictions_of(machine, Sets { figure_7b: &FIGURE_7B, figure_8: &FIGURE_8 }, progress)
}

/// The same, of figures 7 and 8 the numbers of `sets`.
fn predictions_of(machine: &Described, sets: Sets, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    let description = machine.clone();
    let mut bench = Bench { description, sets, table: Collector::new(STEPS, progress) };
    bench.table_v()?;
    bench.table_iv()?;
    bench.figure_1();
    bench.network()?;
    bench.units()?;
    bench.figure_3();
    bench.figure_7a()?;
    bench.figure_7b()?;
    bench.figure_8a()?;
    bench.figure_8b()?;
    Ok(bench.table.finish())
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

/// What speaks for the set that a figure is of, where the paper does not name one.
const NO_SET: &str = "the figure names no set";

/// A program of table V or of a figure: its name, set and ciphertexts.
type Timing<'a> = (&'a str, &'a str, usize);

/// (n, k, N, l_b, l_k) of a set, of which keys and operations are counted.
struct Sizes {
    lwe: usize,
    glwe: usize,
    degree: usize,
    levels: u32,
    switch_levels: u32,
}

impl Sizes {
    /// Figure 1's, as its caption prints it.
    const CAPTION: Self = Self { lwe: 481, glwe: 2, degree: 1024, levels: 4, switch_levels: 9 };

    /// Polynomial products of a bootstrap.
    fn products(&self) -> f64 {
        (self.lwe * (self.glwe + 1).pow(2)) as f64 * f64::from(self.levels)
    }

    /// Bytes of the bootstrapping key, in words of 64 bits.
    fn bootstrapping_key(&self) -> f64 {
        self.products() * self.degree as f64 * 8.0
    }

    /// Bytes of the key-switching key, in words of 32 bits.
    fn key_switching_key(&self) -> f64 {
        self.key_switch() * 4.0
    }

    /// Multiplications of numbers in the transforms, two for each product. A complex product is four of numbers; folded, a transform twists N/2 points
    /// and takes log2(N/2) layers of N/4 products.
    fn transforms(&self) -> f64 {
        let points = (self.degree / 2) as f64;
        2.0 * self.products() * 4.0 * (points + points.log2() * points / 2.0)
    }

    /// Those of the products in the transform domain.
    fn pointwise(&self) -> f64 {
        self.products() * (self.degree / 2) as f64 * 4.0
    }

    /// Those of the key switch.
    fn key_switch(&self) -> f64 {
        (self.glwe * self.degree * (self.lwe + 1)) as f64 * f64::from(self.switch_levels)
    }

    /// Digits of all decompositions.
    fn digits(&self) -> f64 {
        (self.lwe * (self.glwe + 1) * self.degree) as f64 * f64::from(self.levels)
    }
}

impl Bench<'_> {
    fn figures(&self) -> Result<Morphling, ReproduceError> {
        Ok(Morphling::new(&self.description).map_err(MachineError::from)?)
    }

    fn reading(&self, fact: &str, option: &str) -> Result<Morphling, ReproduceError> {
        let chosen = self.description.choose(&[(fact, option)])?;
        Ok(Morphling::new(&chosen).map_err(MachineError::from)?)
    }

    /// Cycles of a checked schedule.
    fn cycles(&mut self, machine: &Morphling, (name, set, batch): Timing, choice: &TfheLowering) -> Number {
        let description = &self.description;
        self.table.attempt(&format!("simulate {name} of {set}"), || {
            let program = program(name, set, batch, choice)?;
            let mapping = |cause| MachineError::mapping(description, name, cause);
            let mapped = map(machine, &program).map_err(mapping)?;
            let illegal = |violation| {
                MachineError::from(crate::engine::report::SimulationError::Schedule {
                    program: name.to_owned(),
                    machine: PAPER.to_owned(),
                    violation: Box::new(violation),
                })
            };
            Ok::<_, ReproduceError>(check(&mapped.schedule, &[]).map_err(illegal)?.cycles as f64)
        })
    }

    fn table_v(&mut self) -> Result<(), ReproduceError> {
        const TABLE: &str = "Table V";
        let base = self.figures()?;
        let literal = self.reading("fft_rate", "literal")?;
        let all = self.reading("key_channels", "all")?;
        let clock = base.clock_hz;
        let positions = base.positions() as usize;
        let published = Basis::under(&[FFT_RATE, KEY_SWITCH_HIDDEN]);
        for (name, set) in TABLE_V {
            // The rate of a transform was chosen when these had been seen.
            let rated = if SEEN.contains(&name) { Basis::CALIBRATED } else { published.clone() };
            let cell = |what: &str, unit| (TABLE, format!("Morphling, set {name}, {what}"), unit);
            let throughput = |count: usize, cycles: Number| cycles.map(|cycles| count as f64 * clock / cycles);
            let milliseconds = |cycles: Number| cycles.map(|cycles| cycles / clock * 1e3);
            let id = format!("table5.{name}.throughput");
            let rate = throughput(MANY, self.cycles(&base, ("pbs", set, MANY), &both()));
            self.table.add(
                &id,
                rate.clone(),
                &rated,
                "program pbs, 2,560 ciphertexts in groups of 64. The rows stream without a gap, \
                 so n(k+1)l·N/16 cycles a ciphertext and row remain, with fft_rate=published, which was chosen after the throughput of sets I \
                 and II was seen; the paper states some 2,070 cycles more for 16 \
                 look-ups in both sets of N = 1024, a cost that its text does not name",
            );
            let group = self.cycles(&base, ("pbs", set, 64), &both());
            let place = cell("throughput of one batch of 64, first load to last store", "BS/s");
            let reason = "the same, filling and draining counted";
            self.table.beside(&id, place, throughput(64, group.clone()), &published, reason);
            let rate_literal = throughput(MANY, self.cycles(&literal, ("pbs", set, MANY), &both()));
            let place = cell("throughput, fft_rate=literal", "BS/s");
            let basis = Basis::under(&[
                ("fft_rate=literal", Some("section V-A: data paths of eight 32-bit coefficients, an FFT of as many")),
                KEY_SWITCH_HIDDEN,
            ]);
            let reason =
                "two literal 8-lane FFT units give half: folding and merge-split cannot both halve one transform";
            self.table.beside(&id, place, rate_literal, &basis, reason);
            let switched = throughput(640, self.cycles(&base, ("pbs+ks", set, 640), &both()));
            let place = cell("throughput of pbs+ks", "BS/s");
            let basis = Basis::under(&[
                FFT_RATE,
                ("key switch counted", Some("algorithm 1, line 6: it is part of bootstrapping")),
            ]);
            let reason =
                "a key switch at the library's levels occupies the VPU longer than the XPUs take: two programs";
            self.table.beside(&id, place, switched, &basis, reason);
            if name == "I" {
                self.table.add("abstract.throughput", rate.clone(), &Basis::IDENTITY, "the number of set I in table V");
            }

            let id = format!("table5.{name}.latency");
            self.table.add(
                &id,
                rate.map(|rate| positions as f64 / rate * 1e3),
                &Basis::IDENTITY,
                "the time that the XPUs spend on 16 ciphertexts, one a row, while three other waves hide their \
                 latency: 16 over the throughput above. No ciphertext passes in that \
                 time, see the batches of 16 and 64. Published with two digits",
            );
            let place = cell("latency of a batch of 16, key_channels=all", "ms");
            let time = milliseconds(self.cycles(&all, ("pbs", set, positions), &both()));
            let reason =
                "first load to last store; alone in its row, a ciphertext waits for FFT and IFFT in every iteration";
            let basis = Basis::under(&[FFT_RATE, KEY_SWITCH_HIDDEN, KEY_CHANNELS_ALL]);
            self.table.beside(&id, place, time, &basis, reason);
            let basis = Basis::under(&[FFT_RATE, KEY_SWITCH_HIDDEN, KEY_CHANNELS_TWO]);
            let place = cell("latency of a batch of 16, key_channels=two", "ms");
            let time = milliseconds(self.cycles(&base, ("pbs", set, positions), &both()));
            let reason = "first load to last store; an iteration takes the longer of the ciphertext's way through the pipeline and of the \
                          key's way through two channels";
            self.table.beside(&id, place, time, &basis, reason);
            let place = cell("latency of a batch of 64", "ms");
            let reason = "first load to last store; four waves share each key";
            self.table.beside(&id, place, milliseconds(group), &basis, reason);
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
                let id = format!("table4.{}.{what}", component.name);
                self.table.add(id, Ok(value / count), &Basis::INPUT, "taken in by the machine file");
            }
        }
        let names = [("total", sums[0], sums[1]), ("xpus", sums[2], sums[3]), ("xpu", sums[2] / xpus, sums[3] / xpus)];
        for (name, area, power) in names {
            for (what, value) in [("area", area), ("power", power)] {
                let reason = "sum of the parts that the machine file takes in; the printed parts are rounded";
                self.table.add(format!("table4.{name}.{what}"), Ok(value), &Basis::INPUT, reason);
            }
        }
        let description = &self.description;
        let simulated = self.table.attempt("simulate the energy of pbs", || {
            let many = program("pbs", TABLE_V[0].1, MANY, &both())?;
            Ok::<_, ReproduceError>(torus::simulate(description, &many)?)
        });
        let basis = Basis::under(&[FFT_RATE, IDLE_SHARE]);
        let report = match simulated {
            Ok(report) => report,
            Err(failure) => {
                let cell = ("Table IV", "mean power in pbs of set I".to_owned(), "W");
                self.table.beside("table4.total.power", cell, Err(failure), &basis, "from activity");
                return Ok(());
            }
        };
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
            let id = format!("table4.{}.power", component.name);
            self.table.beside(id, cell, Ok(energy / report.seconds), &basis, reason);
        }
        if let Some(power) = report.power_w {
            let cell =
                ("Table IV", "total, mean power in pbs of set I from activity, HBM stack included".to_owned(), "W");
            let reason = "from activity; table IV states the power of every part at work, without the HBM stack";
            self.table.beside("table4.total.power", cell, Ok(power), &basis, reason);
        }
        if let Some(energy) = report.energy_j {
            let cell = ("Table IV", "energy of a look-up, pbs of set I".to_owned(), "mJ");
            let reason = "mean power over throughput";
            self.table.beside("table4.total.power", cell, Ok(energy / MANY as f64 * 1e3), &basis, reason);
        }
        Ok(())
    }

    /// Sizes of the keys that figure 1 breaks down, and what section III counts of its set.
    fn figure_1(&mut self) {
        // As memory is counted: with 10^6 bytes neither size comes near.
        let mebi = f64::from(1 << 20);
        let set = Sizes::CAPTION;
        let reason = "n(k+1)^2 l_b polynomials of N words of 64 bits, with the caption's n = 481, k = 2, N = 1024, l_b = 4. With three levels it \
                      would be 101.46, so the figure contradicts its caption. Words and the size of a MB were chosen with both sizes of the figure in sight";
        self.table.add("figure1.bsk", Ok(set.bootstrapping_key() / mebi), &Basis::CALIBRATED, reason);
        let reason = "kN l_k rows of n + 1 words with the caption's l_k = 9, in 2^20 bytes; of 32 bits, as 64 bits give twice the figure";
        self.table.add("figure1.ksk", Ok(set.key_switching_key() / mebi), &Basis::CALIBRATED, reason);
        self.section_3(&set);
        self.keys_of_sets();
    }

    /// What section III says of the operations of figure 1's set.
    fn section_3(&mut self, set: &Sizes) {
        self.table.add("section3.products", Ok(set.products()), &Basis::PREDICTED, "n(k+1)^2 l_b of figure 1's set");
        let choice = lowering(InputTransform::PerProduct, Accumulation::CoefficientDomain);
        let body = blind_rotation_body(set.glwe, set.levels, set.lwe, &choice);
        let transforms = (count::iteration(&body).transforms() * body.iterations as u64) as f64;
        let reason = "counted in the blind-rotation body of figure 1's set, over n(k+1)^2 l_b";
        self.table.add("section3.doubled", Ok(transforms / set.products()), &Basis::PREDICTED, reason);
        let (transforms, pointwise, switch) = (set.transforms(), set.pointwise(), set.key_switch());
        let all = transforms + pointwise + switch;
        let share = |of: f64| Ok(100.0 * of / all);
        let reason = "multiplications of numbers, as section III counts operations: n(k+1)^2 l_b products with two transforms each, as the section says, \
                      folded and of radix 2, which was chosen with the shares in sight; and kN l_k (n + 1) of the key switch. Decomposition and \
                      modulus switch, 1 % in the figure, are not counted";
        self.table.add("section3.transforms", share(transforms), &Basis::CALIBRATED, reason);
        self.table.add("section3.key_switch", share(switch), &Basis::CALIBRATED, reason);
        self.table.add("section1.rotation", share(transforms + pointwise), &Basis::CALIBRATED, reason);
        let letter =
            Basis::under(&[("nothing but multiplications", Some("section III: an operation is a multiplication"))]);
        let reason = "n + 1 of the modulus switch, in those counted for the other shares: a decomposition slices bits and rounds, and a sample \
                      extraction moves words (section II-B), so by its own words the paper counts more here";
        self.table.add("section3.others", share(set.lwe as f64 + 1.0), &letter, reason);
        let cell = "share of decomposition, modulus switch and sample extraction, with one operation for each digit of a decomposition";
        let reason = "n(k+1) l_b N digits beside the modulus switch: chosen with the figure's 1 % in sight";
        let digits = share(set.digits() + set.lwe as f64 + 1.0);
        self.table.beside("section3.others", ("Section III", cell.to_owned(), "%"), digits, &Basis::CALIBRATED, reason);
        let rotation = (transforms + pointwise) / set.bootstrapping_key();
        let reason = "operations as counted for the shares, over the keys of figure 1's caption as counted above: bytes of other data are left out";
        let intensity = rotation / (switch / set.key_switching_key());
        self.table.add("section3.intensity", Ok(intensity), &Basis::CALIBRATED, reason);
    }

    /// The keys of other sets beside those of figure 1, on 64-bit words, with l_k levels and n + 1 words a row of the key-switching key.
    fn keys_of_sets(&mut self) {
        const MEGA: f64 = 1e-6;
        for name in ["A", "B", "IV"] {
            let set = format!("morphling-{name}");
            let sizes = self.table.attempt(&format!("keys of {set}"), || {
                let set = sets::parameters(&set)?;
                let of = Sizes {
                    lwe: set.lwe_dimension().get(),
                    glwe: set.glwe_dimension().get(),
                    degree: set.ring_degree().get(),
                    levels: set.bootstrap_gadget().levels,
                    switch_levels: set.key_switch_gadget().map_or(0, |gadget| gadget.levels),
                };
                // The key-switching key has 32-bit words in figure 1.
                let switch = 2.0 * of.key_switching_key() * MEGA;
                Ok::<_, polyfabric_schemes::tfhe::ParameterError>((of.bootstrapping_key() * MEGA, switch))
            });
            let cell = |key: &str| ("Figure 1", format!("{key} of set {name}, on 64-bit words"), "MB");
            let (bootstrap, switch) = (sizes.clone().map(|sizes| sizes.0), sizes.map(|sizes| sizes.1));
            let reason = "n(k+1)^2 l_b N words: table III has all of these";
            self.table.beside("figure1.bsk", cell("BSK"), bootstrap, &Basis::PREDICTED, reason);
            let levels = Basis::under(&[("l_k of the set's library", Some("table III has no l_k"))]);
            let reason = "kN l_k (n + 1) words";
            self.table.beside("figure1.ksk", cell("KSK"), switch, &levels, reason);
        }
    }

    /// What the chip has of units, as section VI-C counts it.
    fn units(&mut self) -> Result<(), ReproduceError> {
        let machine = self.figures()?;
        let reason = "XPUs by their FFT and IFFT units, all of which the machine file takes in";
        let transforms = machine.xpus * (machine.fft_units + machine.ifft_units);
        self.table.add("section6.transforms", Ok(transforms as f64), &Basis::INPUT, reason);
        let reason = "XPUs by rows, which the machine file takes in: a ciphertext in each row";
        self.table.add("section6.cores", Ok((machine.xpus * machine.rows) as f64), &Basis::INPUT, reason);
        Ok(())
    }

    /// What the connections between buffers and units carry at most.
    fn network(&mut self) -> Result<(), ReproduceError> {
        let machine = self.figures()?;
        let network = machine.network;
        let rows = machine.positions() * (network.row_read + network.row_write);
        let keys = machine.xpus * machine.columns * network.key;
        let links = 2 * machine.xpus * network.link;
        let lanes = machine.lane_groups * (network.vector_read + network.vector_write);
        let terabytes = |bytes: u64| Ok(bytes as f64 * machine.clock_hz * 1e-12);
        let id = "section5.network";
        let reason = "sum of the widths of all links between buffers and units, with which schedules are made: rows of Private-A1, the key to each XPU, \
                      XPUs and Shared, lane groups. \
                      The paper does not say what it counts";
        let basis = Basis::under(&[
            FFT_RATE,
            ("both directions of every connection count", Some("an assumption: section V-D gives the sum alone")),
        ]);
        self.table.add(id, terabytes(rows + keys + links + lanes), &basis, reason);
        for (what, bytes) in
            [("rows of Private-A1", rows), ("key to the XPUs", keys), ("links", links), ("lanes", lanes)]
        {
            let cell = ("Section V-D", format!("bandwidth on chip: {what}"), "TB/s");
            self.table.beside(id, cell, terabytes(bytes), &basis, "a part of the sum");
        }
        Ok(())
    }

    fn figure_3(&mut self) {
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
                    let reduction = Ok(100.0 * (1.0 - count / none));
                    if (k == l as usize && k != 2) && !(k == 1 && id.ends_with("both")) {
                        self.table.add(id, reduction, &Basis::PREDICTED, reason.clone());
                    } else {
                        let cell = ("Figure 3", format!("reduction at (k, l) = ({k}, {l}), {text}"), "%");
                        self.table.beside(id, cell, reduction, &Basis::PREDICTED, reason.clone());
                    }
                }
                if (k, l) == (3, 3) {
                    self.table.add("figure3.transforms.3.3.none", Ok(none), &Basis::PREDICTED, reason);
                }
            }
        }
    }
}
