//! Several executions of one program as one, so that their lookups form larger batches.

use super::Executor;
use crate::Progress;
use crate::tfhe::RunError;
use crate::tfhe::interpreter::check_inputs;
use crate::tfhe::operations::batch;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_schemes::tfhe::LweBatch;
use std::collections::BTreeMap;

type Inputs<T> = BTreeMap<String, LweBatch<T>>;

impl<T: Torus> Executor<'_, T> {
    /// [`Executor::run`] for each of `requests`, with the same results. Wrong inputs are an error of their own request only.
    ///
    /// # Errors
    /// [`RunError`] of all requests together; [`RunError::TooMany`] if there are more ciphertexts than a program can have.
    pub fn run_together(
        &self,
        program: &KernelProgram,
        requests: &[&Inputs<T>],
        progress: &dyn Progress,
    ) -> Result<Vec<Result<Inputs<T>, RunError>>, RunError> {
        let checks: Vec<_> = requests.iter().map(|inputs| check_inputs(program, self.key, inputs)).collect();
        let right: Vec<_> =
            requests.iter().zip(&checks).filter(|(_, check)| check.is_ok()).map(|(own, _)| *own).collect();
        let mut outputs = match right[..] {
            [] => Vec::new(),
            [one] => vec![self.run(program, one, progress)?],
            _ => {
                let all = program.repeated(right.len()).map_err(|_| RunError::TooMany { executions: right.len() })?;
                divided(self.run(&all, &joined(&right), progress)?, right.len())
            }
        }
        .into_iter();
        Ok(checks.into_iter().filter_map(|check| check.map(|()| outputs.next()).transpose()).collect())
    }
}

/// The inputs of all requests, which have equal names and sizes, one after the other under each name.
fn joined<T: Torus>(requests: &[&Inputs<T>]) -> Inputs<T> {
    let all = |(name, first): (&String, &LweBatch<T>)| {
        let data: Vec<&[T]> = requests.iter().map(|request| request[name].data()).collect();
        (name.clone(), batch(first.dimension(), data.concat()))
    };
    requests[0].iter().map(all).collect()
}

/// The outputs of each of `count` executions.
fn divided<T: Torus>(outputs: Inputs<T>, count: usize) -> Vec<Inputs<T>> {
    let one = |index: usize| {
        let own = |(name, all): (&String, &LweBatch<T>)| {
            let size = all.data().len() / count;
            (name.clone(), batch(all.dimension(), all.data()[index * size..][..size].to_vec()))
        };
        outputs.iter().map(own).collect()
    };
    (0..count).map(one).collect()
}
