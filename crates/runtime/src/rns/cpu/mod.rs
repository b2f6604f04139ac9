//! The CPU runtime for CKKS and BGV kernel programs, on one or several threads.
//!
//! [`Prepared::new`] prepares a program once: it translates it to steps on single limbs (`rns/steps`), orders them and assigns buffers (`schedule`). An [`Executor`] runs the
//! result with one set of keys, any number of times.

mod effort;
mod execute;
mod inner_product;
mod public;
mod schedule;

pub use effort::{Effort, Rehearsal, efforts};

use super::RunError;
use super::bind::{check_inputs, check_keys, check_ring};
use crate::Progress;
use crate::rns::steps::{Steps, log2_apart};
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::cancel;
use polyfabric_kernels::isa::Isa;
use polyfabric_program::rns::kernel::{KernelProgram, ValueType};
use polyfabric_schemes::rns::{KeySet, LimbId, Ring, RnsPolynomial, SwitchingKey};
use public::Made;
use schedule::ExecutionPlan;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of new limbs that end a window of the schedule. A larger window takes more memory and lets more steps share a key.
const WINDOW_BYTES: usize = 4 << 30;

/// Fewest limbs of a window.
const WINDOW_LIMBS: usize = 64;

/// The largest source of a base conversion that every target limb rereads: a quarter of a 2 MiB second-level cache. A larger one is read once, column by column, for all
/// targets.
const COMBINE_BYTES: usize = 512 << 10;

/// Bytes of buffers that exceed a core's share of the caches: buffers used late are then read from and written to memory.
const SPILLING_BYTES: usize = 32 << 20;

/// Sets of digits multiplied together with one or several keys. More sets save little key traffic, and the digits move further from the core.
const DIGIT_SETS: usize = 4;

/// Internal tuning parameters, not user options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Limbs of a window of the schedule.
    pub window: usize,
    /// [`COMBINE_BYTES`].
    pub combine_bytes: usize,
    /// Number of buffers above which late-used results are written with streaming stores.
    pub spilling: usize,
    /// Maximum sets of digits per group.
    pub digit_sets: usize,
}

impl Tuning {
    fn of(program: &KernelProgram) -> Self {
        let limb_bytes = program.degree.get() * size_of::<u64>();
        let window = (WINDOW_BYTES / limb_bytes).max(WINDOW_LIMBS);
        let spilling = SPILLING_BYTES / limb_bytes;
        Self { window, combine_bytes: COMBINE_BYTES, spilling, digit_sets: DIGIT_SETS }
    }
}

/// [`Executor::buffer_bytes`] of `program` on `threads` threads (0 for several), before keys exist.
///
/// # Errors
/// [`RunError`] if the program is inconsistent.
pub fn buffer_bytes(program: &KernelProgram, threads: usize) -> Result<usize, RunError> {
    program.check()?;
    let tuning = Tuning::of(program);
    let steps = Steps::new(program, tuning.combine_bytes);
    let schedule = ExecutionPlan::new(&steps, tuning, threads != 1);
    Ok(schedule.slots * program.degree.get() * size_of::<u64>())
}

/// Options of the runtime; none changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorOptions {
    /// Threads for preparation and runs; 0 for one per core.
    pub threads: usize,
    /// Stores public polynomials as coefficients and transforms them at each use, instead of once to residues: less memory (one word per coefficient for all limbs),
    /// more time.
    pub compact_plaintexts: bool,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self { threads: 1, compact_plaintexts: false }
    }
}

/// A kernel program prepared for any keys of its ring: all that does not depend on them.
#[derive(Debug)]
pub struct Prepared {
    program: KernelProgram,
    ring: Arc<Ring>,
    steps: Steps,
    schedule: ExecutionPlan,
    options: ExecutorOptions,
    /// For the limbs of [`Steps::plaintexts`], log2 of the power of X that each is a polynomial in ([`log2_apart`]).
    apart: Vec<u32>,
    /// Those limbs, with each value once; empty if they are made at each use.
    plaintexts: Vec<AlignedTorus<u64>>,
    outputs: Vec<ValueType>,
    /// The buffers of an earlier run, whose pages are already mapped. Runs at the same time have their own, and one of them stays.
    arena: Mutex<Option<Arena>>,
    /// Unused limbs of public polynomials made at their use: one per thread.
    unused: Mutex<Vec<Made>>,
}

impl Prepared {
    /// Prepares `program` for keys of `ring`.
    ///
    /// # Errors
    /// [`RunError`] if the program is inconsistent or has another ring, or if the system refuses the threads.
    pub fn new(program: &KernelProgram, ring: &Arc<Ring>, options: ExecutorOptions) -> Result<Self, RunError> {
        Self::with_tuning(program, ring, options, Tuning::of(program))
    }

    fn with_tuning(
        program: &KernelProgram,
        ring: &Arc<Ring>,
        options: ExecutorOptions,
        tuning: Tuning,
    ) -> Result<Self, RunError> {
        program.check()?;
        check_ring(program, ring)?;
        let pool = pool(options.threads)?;
        let steps = Steps::new(program, tuning.combine_bytes);
        let schedule = ExecutionPlan::new(&steps, tuning, pool.is_some());
        let apart = log2_apart(program, &steps.plaintexts);
        let plaintexts = if options.compact_plaintexts {
            Vec::new()
        } else {
            public::prepared(program, ring, &steps.plaintexts, &apart, pool.as_ref())
        };
        let outputs = program.outputs.iter().map(|output| program.value(output.value).clone()).collect();
        let (program, ring) = (program.clone(), Arc::clone(ring));
        let (arena, unused) = (Mutex::default(), Mutex::default());
        Ok(Self { program, ring, steps, schedule, options, apart, plaintexts, outputs, arena, unused })
    }

    /// Its options.
    pub fn options(&self) -> ExecutorOptions {
        self.options
    }

    /// Bytes of a run's buffers, in addition to inputs, outputs, keys and plaintexts. They are reused by later runs.
    pub fn buffer_bytes(&self) -> usize {
        self.schedule.slots * self.program.degree.get() * size_of::<u64>()
    }

    /// The bytes of the prepared public polynomials.
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintexts.iter().map(|words| size_of_val(&words[..])).sum()
    }
}

/// The threads of a run; `None` for one.
fn pool(threads: usize) -> Result<Option<rayon::ThreadPool>, RunError> {
    if threads == 1 {
        return Ok(None);
    }
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(cancel::Token::on_threads());
    builder.build().map(Some).map_err(|error| RunError::Threads { threads, cause: error.to_string() })
}

/// A kernel program prepared for one set of keys.
#[derive(Debug)]
pub struct Executor {
    prepared: Arc<Prepared>,
    /// The keys of [`Steps::keys`], with the position of each of the ring's limbs in the key.
    keys: Vec<(Arc<SwitchingKey>, Vec<Option<usize>>)>,
    /// Its threads have the caller's cancellation.
    pool: Option<rayon::ThreadPool>,
}

/// The consecutive buffers of one run.
type Arena = AlignedTorus<u64>;

impl Executor {
    /// Prepares `program` for `keys`, on one thread.
    ///
    /// # Errors
    /// [`RunError`] if the program is inconsistent or keys are missing.
    pub fn new(program: &KernelProgram, keys: &KeySet) -> Result<Self, RunError> {
        Self::with_options(program, keys, ExecutorOptions::default())
    }

    /// [`Self::new`] with options.
    ///
    /// # Errors
    /// As [`Self::new`], and [`RunError::Threads`] if the system refuses the threads.
    pub fn with_options(program: &KernelProgram, keys: &KeySet, options: ExecutorOptions) -> Result<Self, RunError> {
        Self::with_tuning(program, keys, options, Tuning::of(program))
    }

    pub(super) fn with_tuning(
        program: &KernelProgram,
        keys: &KeySet,
        options: ExecutorOptions,
        tuning: Tuning,
    ) -> Result<Self, RunError> {
        Self::of(Arc::new(Prepared::with_tuning(program, keys.ring(), options, tuning)?), keys)
    }

    /// A prepared program with `keys`.
    ///
    /// # Errors
    /// As [`Self::with_options`].
    pub fn of(prepared: Arc<Prepared>, keys: &KeySet) -> Result<Self, RunError> {
        Isa::selected()?;
        check_ring(&prepared.program, keys.ring())?;
        check_keys(&prepared.program, keys)?;
        let limbs = keys.ring().limb_ids();
        let place = |key: &Arc<SwitchingKey>| {
            let position = |&limb: &LimbId| key.limbs().iter().position(|&other| other == limb);
            (Arc::clone(key), limbs.iter().map(position).collect())
        };
        let bound = prepared.steps.keys.iter().map(|&id| Ok(place(keys.get(id)?))).collect::<Result<_, RunError>>()?;
        let pool = pool(prepared.options.threads)?;
        Ok(Self { prepared, keys: bound, pool })
    }

    pub fn program(&self) -> &KernelProgram {
        &self.prepared.program
    }

    /// [`Prepared::buffer_bytes`].
    pub fn buffer_bytes(&self) -> usize {
        self.prepared.buffer_bytes()
    }

    /// [`Prepared::plaintext_bytes`].
    pub fn plaintext_bytes(&self) -> usize {
        self.prepared.plaintext_bytes()
    }

    /// Limbs of keys, with all rows of both halves, that a run reads or expands: once for all inner products of a group.
    pub fn key_limbs_read(&self) -> usize {
        self.prepared.schedule.key_limbs_read(&self.prepared.steps)
    }

    /// Zero polynomials of the outputs' types, for [`Self::run_into`].
    pub fn outputs(&self) -> Vec<RnsPolynomial> {
        let zero =
            |value: &ValueType| RnsPolynomial::zero(self.prepared.program.degree, value.limbs.as_slice(), value.domain);
        self.prepared.outputs.iter().map(zero).collect()
    }

    /// Runs the program on `inputs`, one polynomial per program input, and returns the outputs in order.
    ///
    /// # Errors
    /// [`RunError`] if the inputs do not match.
    pub fn run(&self, inputs: &[&RnsPolynomial], progress: &dyn Progress) -> Result<Vec<RnsPolynomial>, RunError> {
        let mut outputs = self.outputs();
        self.run_into(inputs, &mut outputs, progress)?;
        Ok(outputs)
    }

    /// [`Self::run`] into existing polynomials, from [`Self::outputs`] or an earlier run: saves the system from providing memory.
    ///
    /// # Panics
    /// If `outputs` have other types than [`Self::outputs`].
    pub fn run_into(
        &self,
        inputs: &[&RnsPolynomial],
        outputs: &mut [RnsPolynomial],
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        check_inputs(&self.prepared.program, &self.prepared.ring, inputs)?;
        let types = self.prepared.outputs.iter().map(|value| (value.limbs.as_slice(), value.domain));
        let given = outputs.iter().map(|output| (output.limbs(), output.domain()));
        assert!(types.eq(given), "outputs of the program's types");
        let words = self.prepared.program.degree.get();
        let held = || self.prepared.arena.lock().unwrap_or_else(PoisonError::into_inner);
        let arena = held().take();
        let mut arena = arena.unwrap_or_else(|| Arena::zeros(self.prepared.schedule.slots * words));
        match &self.pool {
            Some(pool) => pool.install(|| self.execute(inputs, outputs, &mut arena, progress)),
            None => self.execute(inputs, outputs, &mut arena, progress),
        }
        *held() = Some(arena);
        Ok(())
    }
}
