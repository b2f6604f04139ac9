//! The model's numbers for the paper's tables and figures: times from schedules that the checker has passed, formats from the measured
//! method, resources from the count of multipliers.

use super::machine::{Fpt, Shape};
use super::resources::{Products, Transform, dsp, key_buffer_bits};
use super::{Mapped, map};
use crate::contract::{Described, MachineError};
use crate::engine::checker::check;
use crate::engine::report::SimulationError;
use crate::engine::totals::Totals;
use crate::reproduce::prediction::{Basis, Collector, Prediction, ReproduceError, RowFailure};
use crate::torus::widths::{Derived, Format, Judge, Setting, derive};
use polyfabric_kernels::fixed::Structure;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::noise::Transform as Noise;
use polyfabric_schemes::tfhe::{Parameters, sets};

/// What the paper published.
pub const PUBLISHED: &str = include_str!("../../../../figures/fpt.toml");

const PAPER: &str = "fpt";
const SETS: [(&str, &str); 2] = [("I", "fpt-I"), ("II", "fpt-II")];
/// Batches of a long run: its ends weigh a few parts in a thousand.
const BATCHES: u64 = 400;
/// Look-ups of a board update: 64 cells of 44 gates (section 6.3).
const BOARD: u64 = 64 * 44;
/// Points a cycle of figure 3's transforms.
const WIDTHS: [u64; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
/// Number of simulations and derivations, for the progress.
const STEPS: u64 = 14;

/// The reading under which the method gives table 2, and what speaks for it beside set I, which was seen when it was chosen.
const COEFFICIENT: &str = "noise=coefficient";
const SET_ONE: &str = "the three formats of set I in table 2";

/// Assumptions of the machine file for what the paper leaves out, made with its times in sight.
const LINK: (&str, Option<&str>) = (
    "host link of 50 us each way",
    Some(
        "an assumption of the machine file, made with the published times in sight: section 5.2 names the host's runtime and no time of it",
    ),
);
const HOST: (&str, Option<&str>) = (
    "host of 3.2e9 operations a second",
    Some("an assumption of the machine file, made with the published times in sight: of the host no rate is published"),
);

struct Bench<'a> {
    description: Described,
    machine: Fpt,
    /// DSP blocks of each set's pipeline.
    blocks: Vec<u64>,
    table: Collector<'a>,
    progress: &'a dyn Progress,
}

struct Timed {
    mapped: Mapped,
    totals: Totals,
    cycles: f64,
}

impl Timed {
    /// Percent of the time in which the pipeline works: its forward transform, as all of it while a batch is in it.
    fn active(&self) -> f64 {
        100.0 * self.totals.needed[self.mapped.chip.fft.0 as usize] as f64 / self.cycles
    }
}

/// Every number.
///
/// # Errors
/// [`ReproduceError`] when the machine's own file is wrong. A number that cannot be computed is a row that says why.
pub fn predictions(machine: &Described, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    // Times do not depend on the widths but by the key's bytes: as printed.
    let description = machine.choose(&[("widths", "printed")])?;
    let machine = Fpt::new(&description).map_err(MachineError::from)?;
    let mut bench =
        Bench { description, machine, blocks: Vec::new(), table: Collector::new(STEPS, progress), progress };
    for (name, set) in SETS {
        let ids = [format!("table2.{name}.key.width"), format!("table4.{name}.throughput")];
        bench.cells(&ids, |bench| bench.set(name, set));
    }
    bench.cells(&["section6.dsp".to_owned()], Bench::most_blocks);
    let rows = ["with.bootstrap", "with.switch", "with", "with.idle", "without", "without.bootstrap", "without.active"];
    let mut rows: Vec<String> = rows.iter().map(|row| format!("table5.fpt.{row}")).collect();
    rows.extend(["table5.throughput", "section6.one-key"].map(str::to_owned));
    bench.cells(&rows, Bench::board);
    bench.kernels();
    let power = bench.description.components().iter().find_map(|component| component.power_w);
    let power = power.ok_or_else(|| failed("the machine file has no power"));
    bench.table.add("section6.power", power, &Basis::INPUT, "taken in by the machine file");
    Ok(bench.table.finish())
}

/// The reading of whatever a key's or a transform's width makes: formats of [`COEFFICIENT`], chosen when set I's had been seen.
fn table_2_widths() -> Basis {
    Basis::under(&[("widths of table 2", None)])
}

fn failed(cause: impl std::fmt::Display) -> RowFailure {
    RowFailure(cause.to_string())
}

/// DSP blocks of an Alveo U280 (section 5).
const CARD: u64 = 9024;

fn parameters(set: &str) -> Result<Parameters, RowFailure> {
    sets::parameters(set).map_err(failed)
}

fn program(name: &str, parameters: &Parameters, batch: u64) -> Result<KernelProgram, RowFailure> {
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    let built = builtin::build(name, parameters, batch as usize, &choice, Noise::Exact);
    Ok(built.map_err(failed)?.kernel)
}

impl Bench<'_> {
    /// Does `work`, which gives the numbers of cells `ids` and others; those that it did not come to say why.
    fn cells(&mut self, ids: &[String], work: impl FnOnce(&mut Self) -> Result<(), RowFailure>) {
        if let Err(failure) = work(self) {
            for id in ids {
                if !self.table.has(id) {
                    self.table.add(id, Err(failure.clone()), &Basis::PREDICTED, "it could not be computed");
                }
            }
        }
    }

    fn add(&mut self, id: impl Into<String>, value: f64, basis: &Basis, reason: impl Into<String>) {
        self.table.add(id, Ok(value), basis, reason);
    }

    fn time(&mut self, machine: &Fpt, program: &KernelProgram) -> Result<Timed, RowFailure> {
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

    fn set(&mut self, name: &str, set: &str) -> Result<(), RowFailure> {
        let parameters = parameters(set)?;
        let derived = self.table_2(name, &parameters)?;
        let [key, forward, inverse] = [0, 1, 2].map(|part: usize| derived.formats[part].width);
        let machine = self.machine.with_widths(key, forward, inverse);
        let shape = machine.shape(&parameters).map_err(failed)?;
        self.structure(name, &machine, &parameters, &shape)?;
        self.table_3(name, &machine, &shape);
        self.table_4(name, &machine, &parameters, &shape)
    }

    fn table_2(&mut self, name: &str, parameters: &Parameters) -> Result<Derived, RowFailure> {
        let structure = Structure::Twisted { log2_radix: self.machine.log2_radix };
        let setting = Setting { structure, overflow_log2: 64.0 };
        let progress = self.progress;
        let what = |judge: Judge| format!("widths of {} by {}", parameters.name(), judge.name());
        let judge = Judge::Coefficient;
        let derived = self.table.attempt(&what(judge), || derive(parameters, judge, setting, progress))?;
        let judge = Judge::Phase;
        let phase = self.table.attempt(&what(judge), || derive(parameters, judge, setting, progress))?;
        for (index, part) in ["key", "forward", "inverse"].into_iter().enumerate() {
            let (format, needed) = (&derived.formats[index], &phase.formats[index]);
            let id = |what: &str| format!("table2.{name}.{part}.{what}");
            // Set I was seen when the reading was chosen; its most significant bits follow from equation (8) alone.
            let basis = match name {
                "I" => Basis::CALIBRATED,
                _ => Basis::under(&[(COEFFICIENT, Some(SET_ONE))]),
            };
            let reason = lsb_reason(&derived, format);
            self.add(id("width"), f64::from(format.width), &basis, reason.clone());
            let reason_msb = "equation (8) on the measured variance, with an overflow probability of 2^-64";
            self.add(id("integer"), f64::from(format.measured_integer_bits), &Basis::PREDICTED, reason_msb);
            self.add(id("fraction"), f64::from(format.fraction_bits), &basis, reason);
            let cell = ("Table 2", format!("set {name}, {part}, width that the error of a phase needs"), "bits");
            let reason = "the error of a mask's coefficient meets the key, so a phase has 1 + kN/2 times a coefficient's; held \
                          against the noise of an external product, with room for a test polynomial's first step";
            self.table.beside(id("width"), cell, Ok(f64::from(needed.width)), &Basis::PREDICTED, reason);
        }
        let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
        for (derived, which) in [(&derived, "coefficient"), (&phase, "phase")] {
            let cell = ("Table 2", format!("set {name}, log2 of a look-up's failure with widths by {which}"), "1");
            let built = builtin::build("pbs", parameters, 1, &choice, derived.transform());
            let number = built.map(|built| built.log2_failure).map_err(failed);
            let reason = "the noise formulas with the measured error of the transform";
            self.table.beside(format!("table2.{name}.key.width"), cell, number, &Basis::PREDICTED, reason);
        }
        Ok(derived)
    }

    fn structure(
        &mut self,
        name: &str,
        machine: &Fpt,
        parameters: &Parameters,
        shape: &Shape,
    ) -> Result<(), RowFailure> {
        let cycles = "N/2 points of each of (k+1) l rows at the forward kernel's width";
        self.add(format!("section5.{name}.cmux"), shape.cmux as f64, &Basis::PREDICTED, cycles);
        let reason = format!(
            "twelve ciphertexts of {} cycles, the batch of the machine file; the structure itself takes {} cycles, so {} registers \
             fill it up",
            shape.cmux,
            shape.depth,
            shape.period - shape.depth
        );
        self.add(format!("section5.{name}.latency"), shape.period as f64, &Basis::INPUT, reason);
        let reason = "a complex multiplier for each point of a cycle and column of the key";
        self.add(format!("table3.{name}.macs"), shape.macs() as f64, &Basis::PREDICTED, reason);
        let bandwidth = |key: u64, cycles: i64| key as f64 * machine.clock_hz / cycles as f64 / 1e9;
        let reason = "the key of one iteration in the time that a batch takes for it";
        self.add(format!("section5.{name}.bandwidth"), bandwidth(shape.key(), shape.period), &table_2_widths(), reason);
        let reason = "the key of a CMUX in its cycles. The paper's figure is of neither set by name";
        self.add(format!("section3.{name}.bandwidth"), bandwidth(shape.key(), shape.cmux), &table_2_widths(), reason);
        let deeper = Fpt { batch: 16, ..machine.clone() }.shape(parameters).map_err(failed)?;
        let reason = format!(
            "the key of one iteration in the time of a batch of {}; the paper gives no bandwidth of DDR4",
            deeper.in_flight
        );
        self.add(
            format!("section3.{name}.batch-16"),
            bandwidth(deeper.key(), deeper.period),
            &table_2_widths(),
            reason,
        );
        let reason = format!(
            "n (k+1)^2 l polynomials of N/2 points of twice {} bits. The paper gives one approximate figure for both sets",
            machine.key_bits
        );
        let megabytes = (shape.key() * shape.lwe_dimension) as f64 / 1e6;
        self.add(format!("section5.{name}.key"), megabytes, &table_2_widths(), reason);
        Ok(())
    }

    fn table_3(&mut self, name: &str, machine: &Fpt, shape: &Shape) {
        let count = dsp(machine, shape);
        let basis = table_2_widths();
        let reason = "three real products a complex one, tiles of 27 by 18 bits; lanes whose factor never changes and is a quarter turn \
                      have none, an eighth two";
        let rows = [("mac", count.mac), ("forward", count.forward), ("inverse", count.inverse)];
        for (unit, blocks) in rows {
            self.add(format!("table3.{name}.{unit}.dsp"), blocks as f64, &basis, reason);
        }
        self.blocks.push(count.total());
        let whole = "the sum of multiply-accumulate units and transforms";
        self.add(format!("table3.{name}.cmux.dsp"), count.total() as f64, &Basis::IDENTITY, whole);
        let beyond = match count.total() > CARD {
            true => format!("{whole}; the card has {CARD}, so that some of what is counted here must be built of LUTs"),
            false => whole.to_owned(),
        };
        self.add(format!("table3.{name}.fpt.dsp"), count.total() as f64, &Basis::IDENTITY, beyond);
        let share = 100.0 * count.total() as f64 / CARD as f64;
        self.add(
            format!("table3.{name}.fpt.dsp.share"),
            share,
            &Basis::IDENTITY,
            format!("the same, of the card's {CARD}"),
        );
        self.add(format!("table4.{name}.dsp"), count.total() as f64, &Basis::IDENTITY, "that of table 3");
        if name == "I" {
            let derived = self
                .description
                .choose(&[("widths", "derived")])
                .and_then(|own| Ok(Fpt::new(&own)?))
                .map(|own| dsp(&own, shape).total() as f64)
                .map_err(failed);
            let cell = ("Table 3", "set I with the derived widths of the machine file, FPT, DSP".to_owned(), "blocks");
            let reason = format!(
                "widths with which a phase keeps within its bound; the card has {CARD}, so that machine would need a larger one, or \
                 products in LUTs"
            );
            self.table.beside("table3.I.fpt.dsp", cell, derived, &Basis::PREDICTED, reason);
        }
        // A block of 36 Kb is 72 bits wide and deep enough for any lane.
        let words = shape.macs() * 2 * machine.key_bits;
        let reason = format!(
            "words of {} bits of {} units side by side in blocks 72 bits wide; the buffer's {} bits would fill {}. What the published \
             units store beside the key is not said",
            2 * machine.key_bits,
            shape.macs(),
            key_buffer_bits(shape),
            key_buffer_bits(shape).div_ceil(36 * 1024)
        );
        self.add(format!("table3.{name}.mac.bram"), words.div_ceil(72) as f64, &basis, reason);
        if name == "II" {
            let dot = Fpt { balance: super::machine::Balance::DotProductUnrolled, ..machine.clone() };
            let number = parameters("fpt-II")
                .and_then(|parameters| dot.shape(&parameters).map_err(failed))
                .map(|shape| (dsp(&dot, &shape).total() as f64 / count.total() as f64 - 1.0) * 100.0);
            let reason = "as many multipliers of the same widths; the published number averages DSP blocks and LUTs";
            let what = "set II, DSP of the dot-product-unrolled architecture over the FFT-unrolled one";
            let cell = ("Section 5", what.to_owned(), "%");
            self.table.beside("section5.II.dot-product.dsp", cell, number, &Basis::PREDICTED, reason);
        }
    }

    fn most_blocks(&mut self) -> Result<(), RowFailure> {
        let most = self.blocks.iter().max().filter(|_| self.blocks.len() == SETS.len());
        let most = *most.ok_or_else(|| failed("the blocks of a set were not counted"))?;
        let reason =
            "the larger of the sets' sums in table 3; beyond 100, some of what is counted must be built of LUTs";
        self.add("section6.dsp", 100.0 * most as f64 / CARD as f64, &Basis::IDENTITY, reason);
        Ok(())
    }

    fn table_4(&mut self, name: &str, machine: &Fpt, parameters: &Parameters, shape: &Shape) -> Result<(), RowFailure> {
        let count = BATCHES * shape.in_flight;
        let timed = self.time(machine, &program("pbs", parameters, count)?)?;
        let rate = count as f64 * machine.clock_hz / timed.cycles / 1e3;
        let reason =
            format!("a run of {count} look-ups from the first modulus switch to the last result in the host's memory");
        self.add(format!("table4.{name}.throughput"), rate, &Basis::PREDICTED, reason);
        let clock = machine.clock_hz / 1e6;
        self.add(format!("table4.{name}.clock"), clock, &Basis::INPUT, "taken in by the machine file");
        if name == "I" {
            let fft = timed.totals.needed[timed.mapped.chip.fft.0 as usize] as f64;
            let pipeline = count as f64 / shape.in_flight as f64 * (shape.lwe_dimension as i64 * shape.period) as f64;
            let reason = "the forward transform's cycles of work in the cycles that batches take in the pipeline: 100 wherever a batch \
                          fills it, as the machine file's does";
            self.add("section5.utilisation", fft / pipeline * 100.0, &Basis::IDENTITY, reason);
            let daily = rate * 1e3 * 86_400.0 / 1e6;
            let reason = "the throughput times a day: the published throughput gives 2,454 too, so table 6 assumes less than table 4";
            self.add("table6.operations", daily, &Basis::IDENTITY, reason);
        }
        let whole = self.time(machine, &program("pbs", parameters, shape.in_flight)?)?;
        let ms = |cycles: f64| cycles / machine.clock_hz * 1e3;
        let rotation = (shape.lwe_dimension as i64 * shape.period) as f64;
        let id = format!("table4.{name}.latency");
        let reason = "a batch of twelve from the first modulus switch to the last result in the host's memory. The host's share is an assumption \
                      of the machine file (channels.host_link.latency, each way) and stands beside it: the paper gives none";
        let assumed = Basis::under(&[LINK]);
        self.add(&id, ms(whole.cycles), &assumed, reason);
        if name == "I" {
            let reason = "latency and throughput of table 4; the host's rate and the link's latency are assumptions of the machine file";
            self.add("section6.I.host", ms(whole.cycles) - shape.in_flight as f64 / rate, &assumed, reason);
        }
        let alone = self.time(machine, &program("pbs", parameters, 1)?)?;
        let cell = ("Table 4", format!("FPT, set {name}, latency of one ciphertext alone"), "ms");
        let reason = "one ciphertext in the place of a batch: the pipeline takes as long, the host and the link less";
        self.table.beside(&id, cell, Ok(ms(alone.cycles)), &assumed, reason);
        for (what, value, reason, basis) in [
            ("blind rotation", rotation, "n iterations of a batch in the pipeline", &Basis::PREDICTED),
            (
                "host, link and HBM",
                whole.cycles - rotation,
                "modulus switch, both ways of the link, FIFO and output buffer",
                &assumed,
            ),
        ] {
            let cell = ("Table 4", format!("FPT, set {name}, latency: {what}"), "ms");
            self.table.beside(&id, cell, Ok(ms(value)), basis, reason);
        }
        Ok(())
    }

    /// The Game of Life: 2816 look-ups a board, batch after batch, as the paper's integration does not overlap them.
    fn board(&mut self) -> Result<(), RowFailure> {
        let with = parameters("fpt-I")?;
        let machine = Fpt { overlap: false, ..self.machine.clone() };
        let seconds = |cycles: f64| cycles / machine.clock_hz;
        let assumed = Basis::under(&[LINK]);
        let one = self.time(&machine, &program("pbs", &with, BOARD)?)?;
        let bootstraps = seconds(one.cycles);
        let reason = "the schedule of 2816 look-ups in batches that do not overlap (reading kernels=one-at-a-time)";
        self.add("table5.fpt.with.bootstrap", bootstraps, &assumed, reason);
        self.add("table5.throughput", BOARD as f64 / bootstraps / 1e3, &assumed, "2816 look-ups in that time");
        let overlapping = self.time(&self.machine.clone(), &program("pbs", &with, BOARD)?)?;
        let cell = ("Table 5", "FPT, bootstraps of a board update, kernels overlapping".to_owned(), "s");
        let reason = "the schedule of 2816 look-ups without the limit of the integration";
        self.table.beside("table5.fpt.with.bootstrap", cell, Ok(seconds(overlapping.cycles)), &assumed, reason);
        let both = Basis::under(&[LINK, HOST]);
        let switched = self.time(&machine, &program("pbs+ks", &with, BOARD)?)?;
        let host = switched.mapped.chip.host.0 as usize;
        let switches = seconds((switched.totals.needed[host] - one.totals.needed[host]) as f64);
        let rate = Basis::under(&[HOST]);
        let reason = "the host's cycles in the schedule of 2816 look-ups with key switches, less those without: products of the key \
                      switch at the host's rate, an assumption of the machine file";
        self.add("table5.fpt.with.switch", switches, &rate, reason);
        let reason = "the schedule of 2816 look-ups with their key switches, none waiting for another: the host switches keys of one \
                      batch while the card has the next";
        self.add("table5.fpt.with", seconds(switched.cycles), &both, reason);
        let cell = (
            "Table 5",
            "FPT, board update with key switch, all bootstraps before the first key switch".to_owned(),
            "s",
        );
        let reason = "the sum of the two rows, as the table's columns may have been measured";
        self.table.beside("table5.fpt.with", cell, Ok(bootstraps + switches), &both, reason);
        let pipeline = "That a card is active while its pipeline works was read off the published numbers. The host's other \
                        operations are not timed";
        let reason = format!(
            "the rest of the time in which the forward transform works in the schedule with key switches. {pipeline}"
        );
        self.add("table5.fpt.with.idle", 100.0 - switched.active(), &Basis::CALIBRATED, reason);
        let cell =
            "FPT, share of a board update with key switch in which the card has neither a batch nor its transfers";
        let cell = ("Section 6.3", cell.to_owned(), "%");
        let idle = 100.0 * (1.0 - one.cycles / switched.cycles);
        let reason = "the time in which look-ups alone are done, in that of the schedule with key switches";
        self.table.beside("table5.fpt.with.idle", cell, Ok(idle), &both, reason);
        let without = self.time(&machine, &program("pbs", &parameters("fpt-I-one-key")?, BOARD)?)?;
        let reason = "the schedule of 2816 look-ups of n = kN = 1024 in batches that do not overlap; no key switch, and none of the host's \
                      other operations, of which TFHE-rs takes 0.1 s (section 6.3)";
        self.add("table5.fpt.without", seconds(without.cycles), &assumed, reason);
        let reason = "the same schedule: nothing but look-ups is timed";
        self.add("table5.fpt.without.bootstrap", seconds(without.cycles), &Basis::IDENTITY, reason);
        let work = |timed: &Timed| timed.totals.needed[timed.mapped.chip.fft.0 as usize] as f64;
        let reason =
            "cycles of the forward transform in the schedules of 2816 look-ups, of n = kN = 1024 and of n = 586";
        self.add("section6.one-key", work(&without) / work(&one), &Basis::PREDICTED, reason);
        let cell = "FPT, bootstraps of a board update without key switch over those with one";
        let cell = ("Section 6.3", cell.to_owned(), "x");
        let reason = "of the schedules' times in table 5: the link's latency between batches is in both";
        self.table.beside("section6.one-key", cell, Ok(without.cycles / one.cycles), &Basis::IDENTITY, reason);
        let reason = format!(
            "the time in which the forward transform works in that schedule; between batches the link's latency. {pipeline}: they would \
             lower it"
        );
        self.add("table5.fpt.without.active", without.active(), &Basis::CALIBRATED, reason);
        Ok(())
    }

    /// Section 3.4 and figures 3 and 4, from the count of multipliers.
    fn kernels(&mut self) {
        let cyclic = |width, log2_radix| Transform { points: 256, width, log2_radix, negacyclic: false };
        let ours = |width, log2_radix| cyclic(width, log2_radix).dsp(Products::Three, |_| 29, 25) as f64;
        let saved = |width| {
            let theirs = cyclic(width, 2).dsp(Products::Four, |_| 31, 31) as f64;
            (1.0 - ours(width, 4) / theirs) * 100.0
        };
        let before = "31 bits, radix 4, four products before";
        let of = (before, Some("section 3.4, equation (6), caption of figure 3"));
        let at = ("64 points a cycle", Some("section 5: the inverse transform's width"));
        let reason = "three products for four, twiddle factors of 25 bits that fit a tile, radix 2^4 for 4";
        self.add("figure3a.cyclic", saved(64), &Basis::under(&[of, at]), reason);
        let negacyclic = |width, data| {
            let transform = Transform { points: 256, width, log2_radix: 4, negacyclic: true };
            transform.dsp(Products::Three, |_| data, data - 4) as f64
        };
        for width in WIDTHS {
            let cell = ("Figure 3a", format!("DSP blocks saved in cyclic transforms, {width} points a cycle"), "%");
            self.table.beside("figure3a.cyclic", cell, Ok(saved(width)), &Basis::under(&[of]), reason);
            let cell = ("Figure 3a", format!("negacyclic transform of 256 points, {width} a cycle, DSP"), "blocks");
            let reason = "count of its multipliers at 29 bits";
            self.table.beside("figure3a.cyclic", cell, Ok(negacyclic(width, 29)), &Basis::PREDICTED, reason);
        }
        let fewer = WIDTHS.map(|width| (1.0 - ours(width, 4) / ours(width, 2)) * 100.0);
        let reason = format!(
            "the mean over 2 to 256 points a cycle, of which each has {:.1} to {:.1} %: a wide transform of radix 2^4 has more lanes without \
             a multiplier, in a narrow one its general factor leaves none. Against radix 4 alone, the only one of the two that the count has",
            fewer.into_iter().fold(f64::INFINITY, f64::min),
            fewer.into_iter().fold(f64::NEG_INFINITY, f64::max)
        );
        let basis = Basis::under(&[(
            "cyclic transforms of 256 points and 29 bits, three products",
            Some("section 3.4 and figure 3"),
        )]);
        self.add("section3.radix.dsp", fewer.iter().sum::<f64>() / fewer.len() as f64, &basis, reason);
        let each = |width: u64| width as f64 / negacyclic(width, 29);
        let reason = "256 points a cycle against 2; constant factors in LUTs instead of DSP blocks would widen it";
        self.add("figure3b.dsp", (each(256) / each(2) - 1.0) * 100.0, &Basis::PREDICTED, reason);
        let share = |data| negacyclic(128, data) / negacyclic(128, 53) * 100.0;
        let reason = "tiles of 27 by 18 bits step, as the points beside it show, and synthesis tools need more of them for wide products than \
                      the count's least";
        let basis = Basis::under(&[("23 bits, the most below 24", Some("section 4, by the letter"))]);
        self.add("figure4.dsp", share(23), &basis, reason);
        for data in [18u64, 22, 23, 24, 27, 29, 31, 36, 40, 44, 48, 53] {
            let cell = ("Figure 4", format!("DSP at {data} bits over 53"), "%");
            let reason = "count of its multipliers, 128 points a cycle";
            self.table.beside("figure4.dsp", cell, Ok(share(data)), &Basis::PREDICTED, reason);
        }
    }
}

/// Why a format has its bits.
fn lsb_reason(derived: &Derived, format: &Format) -> String {
    let noise =
        format.curve.iter().find(|point| point.width == format.width).map_or(f64::NAN, |point| point.log2_noise);
    format!(
        "the error of a coefficient, 2^{noise:.2}, against a sixth of the bound of Chillotti et al., 2^{:.2}, within the sampling error \
         of {:.0} %; the reading was chosen on set I",
        derived.log2_limit,
        100.0 * derived.tolerance
    )
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
                .expect("every table can be computed"),
        );
        let deviation = |table: &str, cell: &str| {
            let row = rows.iter().find(|row| row.table == table && row.cell.starts_with(cell));
            let row = row.unwrap_or_else(|| panic!("{table}: {cell}"));
            (row.kind, row.deviation.expect("a published number and one of the model").abs())
        };
        for (table, cell, limit) in [
            ("Table 4", "FPT, set I, throughput", 0.01),
            ("Section 5", "set I, cycles of a CMUX", 0.0),
            ("Section 5", "set II, cycles of a CMUX", 0.0),
            ("Table 3", "set I, multiply-accumulate units", 0.0),
            ("Table 3", "set II, multiply-accumulate units", 0.0),
            ("Table 3", "set I, FFT, DSP", 0.05),
            ("Table 3", "set I, IFFT, DSP", 0.05),
            ("Section 5.1", "set II, the whole bootstrapping key", 0.02),
            ("Table 3", "set I, FPT, DSP of those that the card has", 0.01),
            ("Abstract", "set I, time of a bootstrap at full throughput", 0.01),
            ("Section 6.2", "set I, throughput over CONCRETE's", 0.01),
            ("Section 6.2", "set II, throughput over MATCHA's", 0.01),
            ("Section 6.3", "set I, cost of a bootstrap with n = kN", 0.01),
            ("Section 6.3", "FPT, share of a board update with key switch in which the card is idle", 0.01),
        ] {
            let (_, off) = deviation(table, cell);
            assert!(off <= limit, "{table}, {cell}: {off}");
        }
        // The reading of the noise was chosen by set I's widths, the power is the machine file's, and what is active was read off the result.
        for (table, cell, expected) in [
            ("Table 2", "set I, BK, width", Kind::Calibrated),
            ("Section 6.2", "estimated power", Kind::Input),
            ("Table 4", "FPT, set I, latency", Kind::PredictedUnderReading),
            ("Section 6.3", "FPT, share of a board update without key switch", Kind::Calibrated),
            ("Figure 4", "DSP blocks at widths below 24 bits", Kind::PredictedUnderReading),
            ("Section 6.2", "set II, throughput over YKP's", Kind::Identity),
            ("Section 6.2", "set I, latency beyond that of twelve", Kind::PredictedUnderReading),
            ("Section 6.3", "set I, cost of a bootstrap with n = kN", Kind::Predicted),
            ("Table 6", "FPT on an Alveo U280 of one's own, million operations a dollar", Kind::Identity),
        ] {
            assert_eq!(deviation(table, cell).0, Some(expected), "{table}, {cell}");
        }
        // What the model contradicts is shown.
        assert!(deviation("Figure 3b", "throughput per DSP block").1 > 0.5);
        assert!(deviation("Section 3.4", "transforms of radix 2^4").1 > 0.5);
        assert!(deviation("Section 6.3", "board update without key switch, TFHE-rs' over FPT's").1 > 0.4);
    }
}
