//! A child process that answers requests: one JSON request per line in, one JSON answer per line out.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Killed when dropped.
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or_else(|| Error::other("its streams are closed"))?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Sends a request and waits for its answer.
    pub fn ask<A: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<A> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        self.input.write_all(line.as_bytes())?;
        let mut text = String::new();
        if self.output.read_line(&mut text)? == 0 {
            return Err(Error::other("its process has ended"));
        }
        Ok(serde_json::from_str(&text)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already: its answers have been read.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
