//! The model's numbers for the paper's tables; every time is from a schedule that the checker has passed.

use super::machine::{Osiris, Structure};
use super::schedule::{Scheduled, schedule};
use crate::contract::{Described, MachineError};
use crate::engine::checker::check;
use crate::engine::totals::Totals;
use crate::reproduce::prediction::{Basis, Collector, Prediction, ReproduceError, RowFailure};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::homomorphic::{Builder, Diagonals, NodeId, Program, ProgramError, Scheme, Values};
use polyfabric_program::rns::kernel::{Conversion, KernelBuilder, KernelProgram, LimbSet, ValueType};
use polyfabric_program::rns::lowering::{Hoisting, LevelPolicy, RnsLowering, Target, lower};
use polyfabric_program::rns::noise::Encryption;
use polyfabric_program::rns::parameters;
use polyfabric_runtime::Progress;
use polyfabric_schemes::ckks::{Complex, Encoder, Parameters, sets};
use std::sync::Arc;

/// What the paper published.
pub const PUBLISHED: &str = include_str!("../../../../figures/osiris.toml");

/// Simulations, for the progress.
const STEPS: u64 = 2 + 3 + 3 * 2 + 1;

/// Bandwidths of tables III and IV and of figure 12, as the readings of the machine file name them.
const BANDWIDTHS: [&str; 3] = ["1TB", "2TB", "4TB"];

/// The set and the number of diagonals of the matrix that figure 11 is about; its levels are printed for the residual part only.
const MATRIX: (&str, i64) = ("osiris-III", 64);

/// The change of modulus whose rate is measured: source limbs, and the limbs of its result.
const RAISE: (usize, usize) = (14, 40);

/// Parts of the machine file that are in none of the paper's counts.
const UNPRINTED: [&str; 4] = ["limb_extension", "automorphism_settings", "mask_blocks", "mask_rings"];

const TWO_HADAMARD: (&str, Option<&str>) = (
    "hadamard=two",
    Some("section V: Hadamard units on each side, so that diagonals of both NTT units are multiplied at once"),
);

const SPLIT_FIRST_PRIME: (&str, Option<&str>) =
    ("q_0 of 48 bits is two primes", Some("section VI: words have 40 bits at most"));

struct Bench<'a> {
    description: Described,
    figures: Osiris,
    table: Collector<'a>,
}

fn failed(cause: impl std::fmt::Display) -> RowFailure {
    RowFailure(cause.to_string())
}

/// Every number.
///
/// # Errors
/// [`ReproduceError`] when the machine's own file is wrong. A number that cannot be computed is a row that says why.
pub fn predictions(machine: &Described, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
    let description = machine.clone();
    let figures = Osiris::new(&description).map_err(MachineError::from)?;
    let mut bench = Bench { description, figures, table: Collector::new(STEPS, progress) };
    bench.structure()?;
    bench.components();
    bench.sets();
    bench.rate();
    bench.key_switch();
    bench.matrices();
    Ok(bench.table.finish())
}

/// A program of CKKS on `set`, as the machine wants it.
fn lowered(program: &Program, set: &Parameters, figures: &Osiris) -> Result<KernelProgram, RowFailure> {
    let chain = parameters::chain(set).map_err(failed)?;
    let choice = figures.lowering(set.gadget().literal().clone());
    let choice = RnsLowering { levels: LevelPolicy::Highest, ..choice };
    let (encoder, model) = (Encoder::new(set.ring_degree()), parameters::model(set, Encryption::Secret));
    let encoder = parameters::SlotEncoder(&encoder);
    let target =
        Target { chain: &chain, choice: &choice, model, encoder: &encoder, bootstrapping: None, observed: false };
    Ok(lower(program, &target).map_err(failed)?.kernel)
}

/// A ciphertext at the top of `set`, and what is made of it.
fn on_top(
    set: &Parameters,
    fill: impl FnOnce(&mut Builder, NodeId) -> Result<NodeId, ProgramError>,
) -> Result<Program, RowFailure> {
    let slots = set.ring_degree().get() / 2;
    let top = parameters::chain(set).map_err(failed)?.top();
    let mut builder = Builder::new("kernel", Scheme::Ckks, slots).map_err(failed)?;
    let x = builder.input_with("x", Some(top), 1.0).map_err(failed)?;
    let y = fill(&mut builder, x).map_err(failed)?;
    builder.output("y", y).map_err(failed)?;
    builder.finish().map_err(failed)
}

/// So many changes of modulus of polynomials that have nothing to do with each other.
fn raises(count: usize, (sources, limbs): (usize, usize), log2_degree: u32) -> Result<KernelProgram, RowFailure> {
    let degree = RingDegree::new(1 << log2_degree).map_err(failed)?;
    let primes = PrimeClass::of_degree(degree).of_bits(40, limbs).map_err(failed)?;
    let moduli: Vec<Modulus> = primes.into_iter().map(Modulus::new).collect::<Result<_, _>>().map_err(failed)?;
    let mut builder = KernelBuilder::new("changes of modulus", degree, &moduli).map_err(failed)?;
    let (own, all) = (LimbSet::range(0..sources as u16), LimbSet::range(0..limbs as u16));
    for number in 0..count {
        let name = format!("x{number}");
        let x = builder.input(name.as_str(), 0, ValueType::evaluation(own.clone())).map_err(failed)?;
        let raised = builder.mod_up(x, own.clone(), all.clone(), Conversion::Balanced).map_err(failed)?;
        builder.output(name, 0, raised);
    }
    builder.finish().map_err(failed)
}

/// The cycles of a schedule that the checker has passed.
fn checked(scheduled: &Scheduled) -> Result<u64, RowFailure> {
    check(&scheduled.schedule, &[]).map(|checked| checked.cycles).map_err(failed)
}

impl Bench<'_> {
    /// Multipliers and memory, as they follow from the units.
    fn structure(&mut self) -> Result<(), ReproduceError> {
        let megabytes = |bytes: f64| Ok(bytes / 1e6);
        let of: Structure = self.figures.structure();
        let input = |id: &str, value: f64, table: &mut Collector<'_>| {
            table.add(id, Ok(value), &Basis::INPUT, "taken in by the machine file");
        };
        let table = &mut self.table;
        table.add(
            "section4.buffers",
            megabytes(of.delay_bytes / 2.0),
            &Basis::INPUT,
            "N - p words of 40 bits a limb; that 40 limbs are interleaved is taken from the printed size",
        );
        table.add(
            "section6.delays",
            megabytes(of.delay_bytes),
            &Basis::IDENTITY,
            "twice the delays of one NTT unit; that they are made for 40 limbs is taken from there",
        );
        // The two printed sizes are met with two ways to count, which nothing else speaks for.
        let limbs = self.figures.limbs;
        let reason = format!(
            "tables of {limbs} limbs, the printed delays' number, of one direction; those of two tables count both"
        );
        table.add("section4.twiddles.whole", megabytes(of.whole_twiddle_bytes), &Basis::CALIBRATED, reason);
        let reason = format!(
            "tables of {limbs} limbs, the printed delays' number, of both directions; those of all factors count one"
        );
        table.add("section4.twiddles", megabytes(of.twiddle_bytes), &Basis::CALIBRATED, reason);
        let cell = ("Section IV-B", "twiddle factors from two tables of sqrt(N), one direction".to_owned(), "MB");
        let reason =
            "counted as all N factors are; whether the paper counts each group of 16 lanes' tables is not printed";
        table.beside("section4.twiddles", cell, megabytes(of.twiddle_bytes / 2.0), &Basis::CALIBRATED, reason);
        let cell =
            "twiddle factors from two tables of sqrt(N), as each stage of both NTT units reads them in every cycle";
        let reason = "both directions, of each stage the powers that it multiplies by; how often lanes of a stage have them, for which the paper has groups of 16, comes on top";
        let cell = ("Section IV-B", cell.to_owned(), "MB");
        table.beside("section4.twiddles", cell, megabytes(of.stage_twiddle_bytes), &Basis::CALIBRATED, reason);
        let cell = ("Section IV-D", "settings of the Benes network for one rotation at N = 2^16".to_owned(), "MB");
        let reason = "a bit a switch for each tile; the paper prints no memory for them, nor how they come there";
        table.beside("section6.scratchpads", cell, megabytes(of.setting_bytes), &Basis::PREDICTED, reason);
        input("section6.scratchpads", of.scratchpad_bytes / 1e6, table);
        input("table4.osiris.width", self.figures.word_bits as f64, table);
        let reason = "scratchpads, which the machine file takes in, and the delays of both NTT units";
        table.add("table4.osiris.sram", megabytes(of.memory_bytes()), &Basis::INPUT, reason);
        let reason = format!(
            "NTT units {}, base conversion {}, Hadamard units {}: two a butterfly, one a cell and one more in the first row, four a cell. \
             No whole number of such units gives the printed count",
            of.ntt_multipliers, of.base_conversion_multipliers, of.hadamard_multipliers
        );
        let count = of.multipliers() as f64;
        table.add("table4.osiris.multipliers", Ok(count), &Basis::under(&[TWO_HADAMARD]), reason);
        let one = self.description.choose(&[("hadamard", "one")])?;
        let one = Osiris::new(&one).map_err(MachineError::from)?.structure();
        let cell = ("Table IV", "Osiris, modular multipliers with one Hadamard unit".to_owned(), "units");
        let basis = Basis::under(&[("hadamard=one", Some("section IV-E: \"this Hadamard unit\", in the singular"))]);
        let reason = "two a lane less than printed: those of one cell's diagonal job";
        table.beside("table4.osiris.multipliers", cell, Ok(one.multipliers() as f64), &basis, reason);
        let cell = ("Table IV", "Osiris, modular multipliers that can be at work at once".to_owned(), "units");
        let at_work = of.multipliers() - of.hadamard_multipliers + of.hadamard_multipliers_at_work;
        let reason = format!(
            "Hadamard units {} of {}: a diagonal's job, one tile a cycle, takes two a lane; what those of the other cells do the paper does not say",
            of.hadamard_multipliers_at_work, of.hadamard_multipliers
        );
        table.beside("table4.osiris.multipliers", cell, Ok(at_work as f64), &Basis::under(&[TWO_HADAMARD]), reason);
        let cell = ("Table IV", "Osiris, modular multipliers with those that extend limbs".to_owned(), "units");
        let extending = (of.multipliers() + of.limb_extension_multipliers) as f64;
        let reason = "one a lane before each NTT unit, to reduce coefficients of one limb for the others; the paper's count has none";
        table.beside("table4.osiris.multipliers", cell, Ok(extending), &Basis::under(&[TWO_HADAMARD]), reason);
        let cell = "Osiris, modular multipliers with one Hadamard unit, and one cell's for diagonals on the other side";
        let cell = ("Table IV", cell.to_owned(), "units");
        let reason = "chosen as it gives the printed count; every utilisation here is of two whole units";
        let other_side = one.multipliers() + 2 * self.figures.lanes;
        table.beside("table4.osiris.multipliers", cell, Ok(other_side as f64), &Basis::CALIBRATED, reason);
        Ok(())
    }

    /// Areas and powers that the machine file takes in, and their sums.
    fn components(&mut self) {
        let parts = self.description.components().to_vec();
        let part = |name: &str| parts.iter().find(|part| part.name == name);
        let missing = |name: &str| RowFailure(format!("the machine file has no component {name:?}"));
        let value = |name: &str, of: &dyn Fn(&crate::engine::description::Component) -> Option<f64>| {
            part(name).and_then(of).ok_or_else(|| missing(name))
        };
        let reason = "taken in by the machine file";
        let table = &mut self.table;
        table.add("table5.sram.area", value("scratchpad", &|part| part.area_mm2), &Basis::INPUT, reason);
        table.add("table5.sram.power", value("scratchpad", &|part| part.power_w), &Basis::INPUT, reason);
        let interface =
            "taken in by the machine file as the memory's interface, two PHYs, which is inferred: the heading is lost";
        table.add("table5.column2.power", value("hbm_phy", &|part| part.power_w), &Basis::INPUT, interface);
        let each = |of: f64, count: f64| of / count;
        let area = value("ntt_multipliers", &|part| Some(each(part.area_mm2?, part.count) * 1e6));
        table.add("section6.multiplier.area", area, &Basis::INPUT, reason);
        let power = value("ntt_multipliers", &|part| Some(each(part.power_w?, part.count) * 1e3));
        table.add("section6.multiplier.power", power, &Basis::INPUT, reason);
        let sum = |of: &dyn Fn(&crate::engine::description::Component) -> Option<f64>, printed: bool| {
            let parts = parts.iter().filter(|part| !(printed && UNPRINTED.contains(&&*part.name)));
            parts.map(|part| of(part).ok_or_else(|| missing(&part.name))).sum::<Result<f64, _>>()
        };
        let reason =
            "sum of the parts that the machine file takes in; one of them is what the printed sum leaves for it";
        let area = sum(&|part| part.area_mm2, true);
        table.add("table4.osiris.area", area.clone(), &Basis::INPUT, reason);
        table.add("table4.osiris.power", sum(&|part| part.power_w, true), &Basis::INPUT, reason);
        let reason = "limb extension before the NTT units, two rotations' settings of the Benes network, and blocks and rings of the key generators, on top: \
             assumptions, as the paper's counts of multipliers and memory have none of them";
        let cell = |what: &str, unit| ("Table IV", format!("Osiris, {what} with what the paper does not count"), unit);
        let whole = sum(&|part| part.area_mm2, false);
        table.beside("table4.osiris.area", cell("area", "mm2"), whole, &Basis::INPUT, reason);
        let whole = sum(&|part| part.power_w, false);
        table.beside("table4.osiris.power", cell("power", "W"), whole, &Basis::INPUT, reason);
        let array = value("base_conversion", &|part| part.area_mm2);
        let share = array.and_then(|array| area.map(|area| 100.0 * array / area));
        table.add("section7.array.area", share, &Basis::INPUT, "taken in by the machine file");
        let array = value("base_conversion", &|part| part.power_w);
        let cell = ("Section VII-B", "base conversion, power over ResNet-20".to_owned(), "W");
        let reason = "11.3% of 116.0 W, which the machine file takes in; no column of table V is that";
        table.beside("section7.array.power", cell, array, &Basis::INPUT, reason);
    }

    /// Digits of the residual sets, and the modulus of those with the levels of a bootstrapping.
    fn sets(&mut self) {
        for name in ["I", "II", "III", "IV"] {
            let set = sets::parameters(&format!("osiris-{name}")).map_err(failed);
            let shape = set.as_ref().map(|set| {
                let widest = set.gadget().digits().iter().map(Vec::len).max().unwrap_or(0);
                (set.gadget().digits().len(), set.q_limbs(), widest)
            });
            let split = matches!(name, "III" | "IV");
            let reason = shape.as_ref().map_or(String::new(), |&(digits, limbs, widest)| {
                let other = (limbs - 1).div_ceil(widest.max(1));
                let of_one =
                    if split { format!("; with q_0 as one limb {} and {other}", limbs - 1) } else { String::new() };
                format!("{limbs} limbs of Q in digits of alpha = {widest}: {digits}{of_one}")
            });
            let basis = if split { Basis::under(&[SPLIT_FIRST_PRIME]) } else { Basis::IDENTITY };
            let digits = shape.map(|(digits, ..)| digits as f64).map_err(Clone::clone);
            self.table.add(format!("table2.{name}.dnum"), digits, &basis, reason);
        }
        let modulus = |name: &str| {
            let set = sets::parameters(name).map_err(failed)?;
            Ok(set.log2_q(set.max_level()) + set.log2_p())
        };
        let largest = modulus("osiris-bootstrap").and_then(|third| Ok(third.max(modulus("osiris-bootstrap-IV")?)));
        let reason = "the pairs of primes of bootstrapping's levels are as wide as the printed modulus leaves them: the sets were made to it";
        self.table.add("table2.modulus", largest, &Basis::CALIBRATED, reason);
    }

    /// What a further change of modulus takes, a limb.
    fn rate(&mut self) {
        // Memory, which brings and takes every limb, must not set the time.
        let figures = Osiris { memory_bytes: 1e6, port_tiles: (1024, 1024), ..self.figures.clone() };
        let mut cycles = |count: usize| {
            self.table.attempt(&format!("schedule {count} changes of modulus"), || {
                let program = raises(count, RAISE, figures.stages)?;
                checked(&schedule(&figures, &program).map_err(failed)?)
            })
        };
        let rate = cycles(2).and_then(|two| Ok((cycles(4)? - two) as f64 / (2 * (RAISE.1 - RAISE.0)) as f64));
        let (sources, limbs) = RAISE;
        let reason = format!(
            "what two further changes of modulus take, by {} limbs of each: {sources} limbs to {limbs}, memory fast enough",
            limbs - sources
        );
        self.table.add("section5.rate", rate, &Basis::PREDICTED, reason);
    }

    /// The machine with a bandwidth of the paper.
    fn at(&self, bandwidth: &str) -> Result<Osiris, RowFailure> {
        let chosen = self.description.choose(&[("bandwidth", bandwidth)]).map_err(failed)?;
        Osiris::new(&chosen).map_err(failed)
    }

    /// One rotation with its key from memory.
    fn key_switch(&mut self) {
        for bandwidth in BANDWIDTHS {
            let figures = self.at(bandwidth);
            let milliseconds = figures.and_then(|figures| {
                self.table.attempt(&format!("rotate at {bandwidth}/s"), || {
                    let set = sets::parameters(MATRIX.0).map_err(failed)?;
                    let program = on_top(&set, |builder, x| builder.rotate(x, 5))?;
                    let program = lowered(&program, &set, &figures)?;
                    let cycles = checked(&schedule(&figures, &program).map_err(failed)?)?;
                    Ok::<_, RowFailure>(cycles as f64 / figures.clock_hz * 1e6)
                })
            });
            let cell = ("Section VII", format!("rotation on set III's highest residual level, {bandwidth}/s"), "us");
            let reason = "from the first load to the last store, key included; the paper prints no such number";
            self.table.beside("kernel.rotation", cell, milliseconds, &Basis::PREDICTED, reason);
        }
    }

    /// A matrix of figure 11's diagonals times a vector, with each hoisting.
    fn matrices(&mut self) {
        let diagonal = |offset: i64| {
            let factors = (0..1 << 15).map(|slot| Complex::new(((slot + offset * 5) % 11) as f64 / 40.0, 0.0));
            (offset, Values::Complex(factors.collect()))
        };
        let program = self.table.attempt("matrix", || {
            let set = sets::parameters(MATRIX.0).map_err(failed)?;
            let matrix = Arc::new(Diagonals { by_offset: (0..MATRIX.1).map(diagonal).collect() });
            let program = on_top(&set, |builder, x| builder.linear_transform(x, matrix))?;
            Ok::<_, RowFailure>((program, set))
        });
        let modes = [("no", Hoisting::None), ("single", Hoisting::Single), ("double", Hoisting::Double)];
        for (name, hoisting) in modes {
            for bandwidth in &BANDWIDTHS[..2] {
                let figures = self.at(bandwidth);
                let found = program.clone().and_then(|(program, set)| {
                    let figures = figures?;
                    self.table.attempt(&format!("matrix, {name} hoisting, {bandwidth}/s"), || {
                        let figures = Osiris { hoisting, ..figures };
                        let program = lowered(&program, &set, &figures)?;
                        let scheduled = schedule(&figures, &program).map_err(failed)?;
                        let cycles = checked(&scheduled)?;
                        let bytes = Totals::of(&scheduled.schedule).traffic_bytes() as f64;
                        let memory = bytes / figures.memory_bytes / cycles as f64;
                        Ok::<_, RowFailure>((cycles as f64 / figures.clock_hz * 1e6, memory))
                    })
                });
                let cell = (
                    "Figure 11",
                    format!("{} diagonals, set III's highest residual level, {name} hoisting, {bandwidth}/s", MATRIX.1),
                    "us",
                );
                let busy = found.as_ref().map_or(0.0, |&(_, memory)| 100.0 * memory);
                let reason = format!(
                    "from the first load to the last store; memory is at work {busy:.0} % of the time. The figure is of bootstrapping's \
                     levels, whose primes are not printed"
                );
                let basis = Basis::under(&[("limb_extension=on_the_fly", Some("section V")), TWO_HADAMARD]);
                self.table.beside("kernel.matrix", cell, found.map(|(time, _)| time), &basis, reason);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Do rows whose count was chosen by the printed one say so, and stand beside those that count alike?

    const PAPER: &str = "osiris";

    use super::*;
    use crate::reproduce::prediction::Kind;
    use polyfabric_runtime::NoProgress;

    #[test]
    fn counts_that_were_chosen_are_calibrated() {
        let description = crate::registry::description(PAPER).expect("it comes with the project");
        let figures = Osiris::new(&description).expect("a machine");
        let mut bench = Bench { description, figures, table: Collector::new(STEPS, &NoProgress) };
        bench.structure().expect("the file is right");
        let rows = bench.table.finish();
        let of = |id: &str| {
            let own = rows.iter().filter(|row| row.id == id);
            own.map(|row| (row.value.expect("a number"), row.basis.kind())).collect::<Vec<_>>()
        };
        // 40 limbs of words of five bytes: N of one direction, 2 sqrt(N) of both, and of one.
        for (id, words) in
            [("section4.twiddles.whole", &[65536.0][..]), ("section4.twiddles", &[1024.0, 512.0, 4.0 * 1785.0])]
        {
            let found = of(id);
            assert_eq!(found.len(), words.len(), "{id}");
            for (&(value, kind), words) in found.iter().zip(words) {
                assert!((value - words * 40.0 * 5.0 / 1e6).abs() < 1e-9 && kind == Kind::Calibrated, "{id} {value}");
            }
        }
        // 32 a lane in NTT units, 17 in the array, 12 in a Hadamard unit, of which 8 can be at work, and two for a diagonal; two that extend limbs.
        let under = Kind::PredictedUnderReading;
        let counts = [(73, under), (61, under), (65, under), (75, under), (63, Kind::Calibrated)];
        let counts = counts.map(|(a_lane, kind)| (f64::from(512 * a_lane), kind));
        assert_eq!(of("table4.osiris.multipliers"), counts);
    }
}
