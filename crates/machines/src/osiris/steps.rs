//! Chooses the numbers of baby and giant steps of a matrix by scheduling.
//!
//! The paper optimizes the ratio of baby to giant steps for each level and bandwidth (section VII-C). So the
//! product of a matrix and a ciphertext is lowered with each power-of-two width, scheduled and checked, and the
//! width with the fewest cycles wins. Sums that do not fit the scratchpads are spilled, at their cost in the
//! schedule. So the number of giant steps is unbounded. (Section V bounds it by four, since "we find it more
//! efficient to simply reduce the number of giant steps".)
//!
//! A product's schedule depends on the diagonals' positions but not on their values, so it is scheduled with
//! empty diagonals. Results are cached for the life of the process, since programs use the same matrices
//! repeatedly.

use super::machine::Osiris;
use super::schedule::schedule;
use super::tasks::{Kernel, Tasks};
use crate::rns::leaf::Leaf;
use polyfabric_program::rns::homomorphic::{Complex, Diagonals, Values};
use polyfabric_program::rns::kernel::{KernelProgram, PublicPolynomial};
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::lowering::{
    Lowering, LoweringError, MatrixProduct, PlaintextEncoder, RnsLowering, StepRule, StepSearch, Steps, TriedMatrix,
    TriedWidth,
};
use polyfabric_program::rns::noise::{Encryption, NoiseModel};
use polyfabric_sim::checker::check;
use polyfabric_sim::stalls::Stall;
use polyfabric_sim::totals::Totals;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Results of this process, by machine and product.
type Known = Mutex<HashMap<String, Arc<TriedMatrix>>>;

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(Known::default)
}

/// Chooses steps by scheduling products on one machine.
#[derive(Debug)]
pub struct StepSchedules {
    machine: Osiris,
    asked: Mutex<Vec<Arc<TriedMatrix>>>,
}

/// Modular multiplications of a program, by the paper's kernels (figure 11). A butterfly counts twice, as it
/// has a second multiplier for its twiddle factor (section IV-B).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Multiplications {
    /// Decompositions: transforms and conversions.
    pub decompose: f64,
    /// Divisions by P and by dropped primes.
    pub mod_down: f64,
    /// Inner products with keys.
    pub keys: f64,
    /// Products with diagonals, and the transforms of limb extension.
    pub diagonals: f64,
    /// Other products of residues.
    pub others: f64,
}

impl Multiplications {
    /// For `tasks` on rings of `degree`.
    pub fn of(tasks: &Tasks, degree: usize) -> Self {
        let (n, stages) = (degree as f64, f64::from(degree.ilog2()));
        let transform = n * stages;
        let mut sum = Self::default();
        // For a change of modulus whose last part follows.
        let mut begun = 0.0;
        for task in &tasks.tasks {
            match &task.kernel {
                Kernel::ModChange { sources, targets, division, .. } => {
                    let (from, to) = (sources.len() as f64, targets.len() as f64);
                    let stream = (from + to) * transform + from * (to + 1.0) * n;
                    match division {
                        Some(_) => sum.mod_down += stream + to * n,
                        None => sum.decompose += stream,
                    }
                }
                Kernel::Inverse { sources, .. } => begun += sources.len() as f64 * transform,
                Kernel::Convert { sources, targets, .. } => {
                    begun += sources.len() as f64 * (targets.len() as f64 + 1.0) * n;
                }
                Kernel::Forward { targets, division, .. } => {
                    let (to, stream) = (targets.len() as f64, std::mem::take(&mut begun));
                    match division {
                        Some(_) => sum.mod_down += stream + to * transform + to * n,
                        None => sum.decompose += stream + to * transform,
                    }
                }
                Kernel::KeyProduct { terms, .. } => sum.keys += 2.0 * terms.len() as f64 * n,
                Kernel::Pointwise { what, diagonal, halves, .. } => {
                    use super::tasks::Pointwise::{Multiply, MultiplyAdd, Scale};
                    let products = what.iter().filter(|what| matches!(what, Multiply | MultiplyAdd | Scale(_))).count();
                    let products = (products * halves.len()) as f64 * n;
                    match diagonal {
                        Some(_) => sum.diagonals += products + what.len() as f64 * transform,
                        None => sum.others += products,
                    }
                }
                Kernel::Automorphism { .. } => {}
            }
        }
        sum
    }

    pub fn total(&self) -> f64 {
        self.decompose + self.mod_down + self.keys + self.diagonals + self.others
    }
}

/// Stands in for diagonals: coefficients that fit a limb.
#[derive(Debug)]
struct Empty(Arc<[i64]>);

impl PlaintextEncoder for Empty {
    fn encode(&self, _: &Values, _: Scale) -> Result<PublicPolynomial, String> {
        Ok(PublicPolynomial::Narrow(Arc::clone(&self.0)))
    }

    fn largest_coefficient(&self, values: &Values, scale: Scale) -> Result<f64, String> {
        Ok(values.magnitude() * scale.real())
    }
}

impl StepSchedules {
    pub fn new(machine: Osiris) -> Self {
        Self { machine, asked: Mutex::default() }
    }

    /// All widths to try for `matrix`.
    fn candidates(matrix: &MatrixProduct<'_>) -> Vec<Steps> {
        let mut all = Steps::candidates(matrix.offsets);
        // Wider runs may not reduce the number of steps.
        let size = |steps: &Steps| (steps.babies.len(), steps.giants.len());
        all.dedup_by(|later, earlier| size(later) == size(earlier));
        all
    }

    /// Schedules the product with `width` baby steps: seconds, and the quantities of figure 11.
    fn timed(&self, matrix: &MatrixProduct<'_>, width: i64) -> Option<(f64, Vec<(&'static str, f64)>)> {
        let program = product(matrix, width).ok()?;
        let scheduled = schedule(&self.machine, &program).ok()?;
        let checked = check(&scheduled.schedule, &["ntt".to_owned()]).ok()?;
        let cycles = checked.cycles as f64;
        let waits = |stall| checked.stalls.iter().map(|ntt| ntt.mean(stall)).sum::<f64>();
        let work = Multiplications::of(&scheduled.tasks, program.degree.get());
        let keys = scheduled.tasks.leaves.iter().flatten().filter(|leaf| matches!(leaf, Leaf::Hint { .. })).count();
        let key_bytes = (keys as u64 * self.machine.limb_bytes(program.degree)) as f64;
        let traffic = Totals::of(&scheduled.schedule).traffic_bytes() as f64;
        let multipliers = self.machine.multipliers();
        let figures = vec![
            ("multiplications", work.total()),
            ("decompose", work.decompose),
            ("mod_down", work.mod_down),
            ("keys", work.keys),
            ("diagonals", work.diagonals),
            ("key_bytes", key_bytes),
            ("traffic_bytes", traffic),
            ("utilisation", work.total() / multipliers / cycles),
            ("memory_busy", traffic / self.machine.memory_bytes / cycles),
            ("memory_waits", (waits(Stall::KeySwitchKey) + waits(Stall::Transfer)) / cycles),
            ("key_waits", waits(Stall::KeySwitchKey) / cycles),
        ];
        Some((cycles / self.machine.clock_hz, figures))
    }

    fn search(&self, matrix: &MatrixProduct<'_>) -> TriedMatrix {
        let mut tried = Vec::new();
        let mut best: Option<(f64, i64)> = None;
        let candidates = Self::candidates(matrix);
        let fallback = candidates.last().map_or(1, |steps| steps.width);
        for steps in candidates {
            let found = self.timed(matrix, steps.width);
            let seconds = found.as_ref().map(|&(seconds, _)| seconds);
            if let Some(seconds) = seconds.filter(|&seconds| best.is_none_or(|(least, _)| seconds < least)) {
                best = Some((seconds, steps.width));
            }
            let figures = found.map(|(_, figures)| figures).unwrap_or_default();
            let (babies, giants) = (steps.babies.len(), steps.giants.len());
            tried.push(TriedWidth { width: steps.width, babies, giants, seconds, figures });
        }
        TriedMatrix {
            diagonals: matrix.offsets.len(),
            level: matrix.level,
            limbs: matrix.chain.limbs(matrix.level).len(),
            // If no width fits, mapping the program reports the cause.
            width: best.map_or(fallback, |(_, width)| width),
            tried,
        }
    }
}

impl StepSearch for StepSchedules {
    fn width(&self, matrix: &MatrixProduct<'_>) -> i64 {
        let (chain, choice) = (matrix.chain, matrix.choice);
        let moduli: Vec<u64> = chain.moduli().iter().map(|modulus| modulus.value()).collect();
        let plain = RnsLowering { steps: StepRule::Products, ..choice.clone() };
        let key = format!(
            "{:?} {:?} {moduli:?} {} {} {plain:?} {} {:?}",
            self.machine,
            chain.degree(),
            matrix.level,
            chain.limbs(matrix.level).len(),
            matrix.period,
            matrix.offsets
        );
        let lookup = || known().lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let found = lookup().unwrap_or_else(|| Arc::new(self.search(matrix)));
        known().lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&found));
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if !asked.iter().any(|known| Arc::ptr_eq(known, &found)) {
            asked.push(Arc::clone(&found));
        }
        found.width
    }

    fn untried(&self) -> StepRule {
        StepRule::Rates(self.machine.step_rates())
    }

    fn tried(&self) -> Vec<Arc<TriedMatrix>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// `matrix` times a ciphertext, from memory to memory.
fn product(matrix: &MatrixProduct<'_>, width: i64) -> Result<KernelProgram, LoweringError> {
    let &MatrixProduct { chain, choice, level, offsets, period } = matrix;
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    let choice = RnsLowering { steps: StepRule::Width(width), ..choice.clone() };
    // Errors are irrelevant here.
    let model =
        NoiseModel { secret_weight: 1.0, encryption: Encryption::Secret, ..NoiseModel::ternary(chain.degree()) };
    let empty = Empty(vec![0; chain.degree().get()].into());
    let mut lowering = Lowering::new("product", chain, choice, model, &empty)?;
    let by_offset = offsets.iter().map(|&offset| (offset, Values::Complex([Complex::from(1.0)].into()))).collect();
    let x = lowering.input("x", level, 1.0)?;
    let y = lowering.linear_transform(&x, &Diagonals { by_offset }, period)?;
    lowering.output("y", &y);
    lowering.finish()
}

#[cfg(test)]
mod tests {
    //! Do steps have the shortest schedule, are they searched once, and do the figures match the kernels?

    use super::*;
    use crate::osiris::machine::StepsBy;
    use crate::registry;
    use polyfabric_program::rns::lowering::Hoisting;
    use polyfabric_program::rns::parameters;
    use polyfabric_schemes::ckks::sets;

    fn tried(hoisting: Hoisting) -> (Arc<TriedMatrix>, Arc<TriedMatrix>) {
        let machine = Osiris::new(&registry::description("osiris").expect("a file")).expect("a machine");
        assert_eq!(machine.steps, StepsBy::Schedules);
        let set = sets::parameters("osiris-I").expect("a set");
        let chain = parameters::chain(&set).expect("a chain");
        let choice = RnsLowering { hoisting, ..machine.lowering(set.gadget().literal().clone()) };
        let offsets: Vec<i64> = (0..8).collect();
        let matrix = MatrixProduct { chain: &chain, choice: &choice, level: 5, offsets: &offsets, period: 8192 };
        let ask = || {
            let search = StepSchedules::new(machine.clone());
            let width = search.width(&matrix);
            let found = search.tried().pop().expect("what was tried");
            assert_eq!((found.width, search.tried().len()), (width, 1));
            found
        };
        (ask(), ask())
    }

    #[test]
    fn the_shortest_schedule_wins_and_is_cached() {
        for hoisting in [Hoisting::None, Hoisting::Single, Hoisting::Double] {
            let (first, again) = tried(hoisting);
            assert!(Arc::ptr_eq(&first, &again), "{hoisting:?}");
            assert_eq!((first.diagonals, first.limbs), (8, 6));
            assert_eq!(first.tried.iter().map(|way| way.width).collect::<Vec<_>>(), [1, 2, 4, 8]);
            let seconds = |way: &TriedWidth| way.seconds.expect("it fits");
            let least = first.tried.iter().map(seconds).fold(f64::INFINITY, f64::min);
            let chosen = first.tried.iter().find(|way| way.width == first.width).expect("a width");
            assert!((seconds(chosen) - least).abs() < 1e-12, "{hoisting:?}");
        }
    }

    #[test]
    fn figures_match_the_kernels() {
        let (matrix, _) = tried(Hoisting::Double);
        let (n, limbs, special, digits) = (16384.0, 6.0, 2.0, 3.0);
        for way in &matrix.tried {
            let figure = |name: &str| way.figures.iter().find(|(other, _)| *other == name).expect("a figure").1;
            let keys = (way.babies + way.giants - 2) as f64;
            assert!((figure("keys") - keys * 2.0 * digits * (limbs + special) * n).abs() < 0.5, "{way:?}");
            // The other half of a key is generated from its seed.
            assert!((figure("key_bytes") - keys * digits * (limbs + special) * n * 5.0).abs() < 0.5, "{way:?}");
            // Diagonals are also over P, except those of the unrotated vector.
            let rotated = (8 - way.giants) as f64 * (limbs + special) + way.giants as f64 * limbs;
            assert!((figure("diagonals") - rotated * n * (2.0 + 14.0)).abs() < 0.5, "{way:?}");
            assert!(figure("utilisation") > 0.0 && figure("utilisation") < 1.0);
            // Operands are loaded first, and stalled units are not busy.
            assert!(figure("memory_waits") > 0.0 && figure("memory_waits") < 1.0 - figure("utilisation"));
            assert!((0.0..=figure("memory_waits")).contains(&figure("key_waits")));
        }
        // Without hoisting, each rotated ciphertext's division waits for the rotation's key.
        let (none, _) = tried(Hoisting::None);
        let mut figures = none.tried.iter().flat_map(|way| &way.figures);
        assert!(figures.any(|&(name, share)| name == "key_waits" && share > 0.0), "{none:?}");
    }
}
