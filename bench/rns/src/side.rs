//! A side of the comparison, as the harness sees it: a process that answers requests.

use crate::protocol::{Answer, Request};
use polyfabric_bench_common::Process;
use std::process::Command;

#[derive(Debug, thiserror::Error)]
pub enum SideError {
    #[error(
        "{side} cannot be started ({source}); make bench-rns builds it, and without --lattigo or --openfhe it is left out"
    )]
    Start { side: String, source: std::io::Error },
    #[error("{side} does not answer: {reason}; its messages are above")]
    Silent { side: String, reason: String },
    #[error("{side} refuses: {reason}")]
    Refused { side: String, reason: String },
}

/// The command that starts a side.
#[derive(Clone, Debug)]
pub struct Launch {
    pub name: String,
    pub program: String,
    pub arguments: Vec<String>,
}

impl Launch {
    /// Starts the process with one thread, if its library has such a setting.
    pub fn start(&self) -> Result<Side, SideError> {
        let mut command = Command::new(&self.program);
        let process = Process::start(command.args(&self.arguments).env("OMP_NUM_THREADS", "1"))
            .map_err(|source| SideError::Start { side: self.name.clone(), source })?;
        Ok(Side { launch: self.clone(), process })
    }

    fn silent(&self, reason: impl ToString) -> SideError {
        SideError::Silent { side: self.name.clone(), reason: reason.to_string() }
    }
}

/// A running side, which ends when dropped.
pub struct Side {
    launch: Launch,
    process: Process,
}

impl Side {
    pub fn name(&self) -> &str {
        &self.launch.name
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, SideError> {
        let answer: Answer = self.process.ask(request).map_err(|error| self.launch.silent(error))?;
        match answer.failure {
            Some(reason) => Err(SideError::Refused { side: self.launch.name.clone(), reason }),
            None => Ok(answer),
        }
    }
}
