//! Where a lowered program runs: on one core of this processor, or on its GPU.

use super::OursError;
use crate::protocol::Work;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::gpu::{Cuda, rns};
use polyfabric_runtime::rns::RunError;
use polyfabric_runtime::rns::cpu::{Effort, Executor, ExecutorOptions, efforts};
use polyfabric_schemes::rns::{KeySet, RnsPolynomial};
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone)]
pub enum Place {
    Processor,
    /// A batch of runs.
    Card {
        card: Arc<Cuda>,
        batch: usize,
    },
}

/// A prepared program.
pub enum Ready {
    Processor { executor: Box<Executor>, outputs: Vec<RnsPolynomial> },
    Card { executor: Box<rns::Executor<Cuda>>, batch: usize, outputs: Vec<RnsPolynomial> },
}

impl Place {
    /// Prepares `kernel` with `keys`; `options` apply to the processor.
    pub fn prepare(&self, kernel: &KernelProgram, keys: &KeySet, options: ExecutorOptions) -> Result<Ready, OursError> {
        Ok(match self {
            Self::Processor => {
                let executor = Box::new(Executor::with_options(kernel, keys, options)?);
                Ready::Processor { outputs: executor.outputs(), executor }
            }
            Self::Card { card, batch } => {
                let executor = Box::new(rns::Executor::batched(card, kernel, keys, *batch)?);
                Ready::Card { executor, batch: *batch, outputs: Vec::new() }
            }
        })
    }
}

impl Ready {
    /// Milliseconds of one run. On a GPU, of the whole batch, without transfers; all of its runs have the same inputs.
    pub fn run(&mut self, inputs: &[&RnsPolynomial]) -> Result<f64, OursError> {
        Ok(1e3
            * match self {
                Self::Processor { executor, outputs } => {
                    let start = Instant::now();
                    executor.run_into(inputs, outputs, &NoProgress)?;
                    start.elapsed().as_secs_f64()
                }
                Self::Card { executor, batch, outputs } => {
                    let mut ran = executor.run(&inputs.repeat(*batch), &NoProgress)?;
                    let of_one = ran.outputs.len() / *batch;
                    let (first, others) = ran.outputs.split_at(of_one);
                    if others.chunks(of_one).any(|other| other != first) {
                        return Err(OursError::Differ { batch: *batch });
                    }
                    ran.outputs.truncate(of_one);
                    *outputs = ran.outputs;
                    ran.on_card.as_secs_f64()
                }
            })
    }

    /// The least work of one run on a processor; `None` on a GPU.
    pub fn work(
        &self,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
        options: ExecutorOptions,
    ) -> Result<Option<Work>, OursError> {
        let Self::Processor { executor, outputs } = self else { return Ok(None) };
        let program = executor.program();
        let degree = program.degree.get() as u64;
        let limbs = efforts(program, options.threads, options.compact_plaintexts, |_| false)?;
        let of = |kinds: &[Effort]| degree * kinds.iter().filter_map(|kind| limbs.get(kind)).sum::<u64>();
        // Public polynomials are transformed before the run, unless they are compact.
        let prepared = if options.compact_plaintexts { 0 } else { of(&[Effort::Narrow, Effort::Wide]) };
        let transformed = of(&[Effort::Forward, Effort::Inverse]).saturating_sub(prepared);
        // A key has two halves.
        let products = of(&[Effort::Multiply, Effort::Convert, Effort::KeyProduct, Effort::KeyProduct]);
        // An input may be another operation's.
        let read = |value| program.ops.iter().any(|op| op.operands.contains(&value));
        let inputs = program.inputs().zip(inputs).filter(|((_, _, value, _), _)| read(*value)).map(|(_, input)| *input);
        let polynomials = inputs.chain(outputs).map(RnsPolynomial::bytes).sum::<usize>();
        let used = program.keys().into_keys().map(|id| Ok(keys.get(id)?.bytes())).sum::<Result<usize, RunError>>()?;
        let bytes = polynomials + used + executor.plaintext_bytes();
        Ok(Some(Work { butterflies: transformed * u64::from(degree.ilog2()) / 2, products, bytes }))
    }

    /// Work and kernel times of one run on a GPU; `None` on a processor.
    pub fn on_card(&self, inputs: &[&RnsPolynomial]) -> Result<Option<(rns::Needs, Vec<rns::Share>)>, RunError> {
        match self {
            Self::Processor { .. } => Ok(None),
            Self::Card { executor, batch, .. } => {
                Ok(Some((executor.needs(), executor.shares(&inputs.repeat(*batch))?)))
            }
        }
    }

    /// The results of the last run.
    pub fn into_outputs(self) -> Vec<RnsPolynomial> {
        match self {
            Self::Processor { outputs, .. } | Self::Card { outputs, .. } => outputs,
        }
    }
}
