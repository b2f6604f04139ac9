//! The CPU runtime: kernel programs at speed, on one thread or several.
//!
//! A program is prepared once ([`Executor::new`]): translated to steps on single limbs (`rns/steps`), which are put into an order and into
//! buffers (`schedule`), then run as often as wanted (`execute`).

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
use polyfabric_schemes::rns::{KeySet, Ring, RnsPolynomial, SwitchingKey};
use public::Made;
use schedule::ExecutionPlan;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of new limbs after which the schedule begins a new window: what the steps that run early may take, and what finds others that use
/// its keys.
const WINDOW_BYTES: usize = 4 << 30;

/// Fewest limbs of a window.
const WINDOW_LIMBS: usize = 64;

/// The largest source of a base conversion that every target limb reads anew: a quarter of a second-level cache of 2 MiB. A larger
/// one is read once, column by column, for all targets.
const COMBINE_BYTES: usize = 512 << 10;

/// Bytes of buffers that no cache of one core's share holds: those that are used late come from memory then, and are written there.
const SPILLING_BYTES: usize = 32 << 20;

/// Sets of digits that are multiplied with a key, or several, at the same time. More save little of the key's way from memory, and their
/// digits go further from the core meanwhile.
const DIGIT_SETS: usize = 4;

/// How the runtime cuts its work; no choice of a user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Limbs of a window of the schedule.
    pub window: usize,
    /// [`COMBINE_BYTES`].
    pub combine_bytes: usize,
    /// Buffers from which on those that are used late are written past the cache.
    pub spilling: usize,
    /// Sets of digits that go together.
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

/// [`Executor::buffer_bytes`] of `program` on `threads` threads (0 for several), known before there are keys.
///
/// # Errors
/// [`RunError`] if the program is not consistent.
pub fn buffer_bytes(program: &KernelProgram, threads: usize) -> Result<usize, RunError> {
    program.check()?;
    let tuning = Tuning::of(program);
    let steps = Steps::new(program, tuning.combine_bytes);
    let schedule = ExecutionPlan::new(&steps, tuning, threads != 1);
    Ok(schedule.slots * program.degree.get() * size_of::<u64>())
}

/// Choices of the runtime, none of which changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorOptions {
    /// Threads, of the preparation and of runs; 0 is one for each core.
    pub threads: usize,
    /// Whether public polynomials are kept as coefficients and transformed at each use, not once as residues: less memory (one
    /// word a coefficient for all limbs), more time.
    pub compact_plaintexts: bool,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self { threads: 1, compact_plaintexts: false }
    }
}

/// A kernel program, prepared to run with one set of keys.
#[derive(Debug)]
pub struct Executor {
    program: KernelProgram,
    ring: Arc<Ring>,
    steps: Steps,
    schedule: ExecutionPlan,
    /// The keys of [`Steps::keys`], and for each limb of the ring's table its place in the key.
    keys: Vec<(Arc<SwitchingKey>, Vec<Option<usize>>)>,
    /// Of the limbs of [`Steps::plaintexts`], the power of two that each is a polynomial in ([`log2_apart`]).
    apart: Vec<u32>,
    /// Those limbs, each of their values once; none if they are made at each use.
    plaintexts: Vec<AlignedTorus<u64>>,
    outputs: Vec<ValueType>,
    pool: Option<rayon::ThreadPool>,
    /// Buffers of earlier runs: their pages are there already.
    arenas: Mutex<Vec<Arena>>,
    /// Limbs of public polynomials that were made where they are used: one for each thread.
    unused: Mutex<Vec<Made>>,
}

/// The buffers of one run, one after the other.
type Arena = AlignedTorus<u64>;

impl Executor {
    /// Prepares `program` for `keys`, on one thread.
    ///
    /// # Errors
    /// [`RunError`] if the program is not consistent or the keys are not those it reads.
    pub fn new(program: &KernelProgram, keys: &KeySet) -> Result<Self, RunError> {
        Self::with_options(program, keys, ExecutorOptions::default())
    }

    /// [`Self::new`] with choices.
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
        Isa::selected()?;
        program.check()?;
        let ring = Arc::clone(keys.ring());
        check_ring(program, &ring)?;
        check_keys(program, keys)?;
        let pool = match options.threads {
            1 => None,
            threads => {
                let built = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .start_handler(cancel::Token::on_threads())
                    .build();
                Some(built.map_err(|error| RunError::Threads { threads, cause: error.to_string() })?)
            }
        };
        let steps = Steps::new(program, tuning.combine_bytes);
        let schedule = ExecutionPlan::new(&steps, tuning, pool.is_some());
        let place = |key: &Arc<SwitchingKey>| {
            let position = |limb| key.limbs().iter().position(|&other| other == limb);
            (Arc::clone(key), ring.limb_ids().into_iter().map(position).collect())
        };
        let bound = steps.keys.iter().map(|&id| Ok(place(keys.get(id)?))).collect::<Result<_, RunError>>()?;
        let apart = log2_apart(program, &steps.plaintexts);
        let plaintexts = if options.compact_plaintexts {
            Vec::new()
        } else {
            public::prepared(program, &ring, &steps.plaintexts, &apart, pool.as_ref())
        };
        let outputs = program.outputs.iter().map(|output| program.value(output.value).clone()).collect();
        let program = program.clone();
        let (arenas, unused) = (Mutex::default(), Mutex::default());
        Ok(Self { program, ring, steps, schedule, keys: bound, apart, plaintexts, outputs, pool, arenas, unused })
    }

    /// The program.
    pub fn program(&self) -> &KernelProgram {
        &self.program
    }

    /// The bytes that one run takes beyond inputs and outputs, keys and plaintexts: those of its buffers. It keeps them for the next.
    pub fn buffer_bytes(&self) -> usize {
        self.schedule.slots * self.program.degree.get() * size_of::<u64>()
    }

    /// The bytes of the prepared public polynomials.
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintexts.iter().map(|words| size_of_val(&words[..])).sum()
    }

    /// Limbs of keys, all rows of both halves, that a run reads from memory or expands: one for all the inner products that go together.
    pub fn key_limbs_read(&self) -> usize {
        self.schedule.key_limbs_read(&self.steps)
    }

    /// Zeros of the outputs' types, to be given to [`Self::run_into`].
    pub fn outputs(&self) -> Vec<RnsPolynomial> {
        let zero = |value: &ValueType| RnsPolynomial::zero(self.program.degree, value.limbs.as_slice(), value.domain);
        self.outputs.iter().map(zero).collect()
    }

    /// Runs the program on `inputs`, one polynomial for each of its inputs, in order; the outputs in order.
    ///
    /// # Errors
    /// [`RunError`] if the inputs are not what it takes.
    pub fn run(&self, inputs: &[&RnsPolynomial], progress: &dyn Progress) -> Result<Vec<RnsPolynomial>, RunError> {
        let mut outputs = self.outputs();
        self.run_into(inputs, &mut outputs, progress)?;
        Ok(outputs)
    }

    /// [`Self::run`] into polynomials that are there already, from [`Self::outputs`] or an earlier run: saves the system the work of
    /// providing memory.
    ///
    /// # Errors
    /// As [`Self::run`].
    ///
    /// # Panics
    /// If `outputs` are of other types than [`Self::outputs`].
    pub fn run_into(
        &self,
        inputs: &[&RnsPolynomial],
        outputs: &mut [RnsPolynomial],
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        check_inputs(&self.program, &self.ring, inputs)?;
        let types = self.outputs.iter().map(|value| (value.limbs.as_slice(), value.domain));
        let given = outputs.iter().map(|output| (output.limbs(), output.domain()));
        assert!(types.eq(given), "outputs of the program's types");
        let words = self.program.degree.get();
        let arena = self.arenas.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut arena = arena.unwrap_or_else(|| Arena::zeros(self.schedule.slots * words));
        match &self.pool {
            Some(pool) => pool.install(|| self.execute(inputs, outputs, &mut arena, progress)),
            None => self.execute(inputs, outputs, &mut arena, progress),
        }
        self.arenas.lock().unwrap_or_else(PoisonError::into_inner).push(arena);
        Ok(())
    }
}
