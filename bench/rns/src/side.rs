//! A side of the comparison, as the harness sees it: a process that answers requests.

use crate::protocol::{Answer, Request};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

#[derive(Debug, thiserror::Error)]
pub enum SideError {
    #[error(
        "{side} cannot be started ({source}); make bench-rns builds it, and without --lattigo or --openfhe it is left out"
    )]
    Start { side: String, source: std::io::Error },
    #[error("{side} does not answer: {reason}; its own words, if any, are above")]
    Silent { side: String, reason: String },
    #[error("{side} refuses: {reason}")]
    Refused { side: String, reason: String },
}

/// How a side is started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub name: String,
    pub program: String,
    pub arguments: Vec<String>,
}

impl Launch {
    /// Starts the process, on one thread as far as its library can be told.
    pub fn start(&self) -> Result<Side, SideError> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| SideError::Start { side: self.name.clone(), source })?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or_else(|| self.silent("its streams are closed"))?;
        Ok(Side { launch: self.clone(), child, input, output: BufReader::new(output) })
    }

    fn silent(&self, reason: impl ToString) -> SideError {
        SideError::Silent { side: self.name.clone(), reason: reason.to_string() }
    }
}

/// A running side. It ends when this is dropped.
pub struct Side {
    launch: Launch,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Side {
    pub fn name(&self) -> &str {
        &self.launch.name
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, SideError> {
        let mut line = serde_json::to_string(request).map_err(|error| self.launch.silent(error))?;
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(|error| self.launch.silent(error))?;
        let mut text = String::new();
        let read = self.output.read_line(&mut text).map_err(|error| self.launch.silent(error))?;
        if read == 0 {
            return Err(self.launch.silent("its process has ended"));
        }
        let answer: Answer = serde_json::from_str(&text).map_err(|error| self.launch.silent(error))?;
        match answer.failure {
            Some(reason) => Err(SideError::Refused { side: self.launch.name.clone(), reason }),
            None => Ok(answer),
        }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // A side that has ended by itself is no matter: its answers are in.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
