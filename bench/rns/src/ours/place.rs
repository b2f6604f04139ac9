//! Where a lowered program runs: on one core of this processor, or on its card.

use super::OursError;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::gpu::{Cuda, rns};
use polyfabric_runtime::rns::RunError;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::rns::{KeySet, RnsPolynomial};
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone)]
pub enum Place {
    Processor,
    Card(Arc<Cuda>),
}

/// A program that is ready to run there.
pub enum Ready {
    Processor { executor: Box<Executor>, outputs: Vec<RnsPolynomial> },
    Card { executor: Box<rns::Executor<Cuda>>, outputs: Vec<RnsPolynomial> },
}

impl Place {
    /// Prepares `kernel` with `keys`; `options` are the processor's.
    pub fn prepare(&self, kernel: &KernelProgram, keys: &KeySet, options: ExecutorOptions) -> Result<Ready, OursError> {
        Ok(match self {
            Self::Processor => {
                let executor = Box::new(Executor::with_options(kernel, keys, options)?);
                Ready::Processor { outputs: executor.outputs(), executor }
            }
            Self::Card(card) => {
                let executor = Box::new(rns::Executor::new(card, kernel, keys)?);
                Ready::Card { executor, outputs: Vec::new() }
            }
        })
    }
}

impl Ready {
    /// Milliseconds of a run; on a card from when the inputs are there to when the outputs are.
    pub fn run(&mut self, inputs: &[&RnsPolynomial]) -> Result<f64, RunError> {
        Ok(1e3
            * match self {
                Self::Processor { executor, outputs } => {
                    let start = Instant::now();
                    executor.run_into(inputs, outputs, &NoProgress)?;
                    start.elapsed().as_secs_f64()
                }
                Self::Card { executor, outputs } => {
                    let ran = executor.run(inputs, &NoProgress)?;
                    *outputs = ran.outputs;
                    ran.on_card.as_secs_f64()
                }
            })
    }

    /// What a card does in a run, and where its time goes; nothing of a processor.
    pub fn on_card(&self, inputs: &[&RnsPolynomial]) -> Result<Option<(rns::Needs, Vec<rns::Share>)>, RunError> {
        match self {
            Self::Processor { .. } => Ok(None),
            Self::Card { executor, .. } => Ok(Some((executor.needs(), executor.shares(inputs)?))),
        }
    }

    /// The results of the last run.
    pub fn into_outputs(self) -> Vec<RnsPolynomial> {
        match self {
            Self::Processor { outputs, .. } | Self::Card { outputs, .. } => outputs,
        }
    }
}
