//! A running unit: one word in and one word out per cycle, through a program's standard streams.

use crate::Bits;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Names a folder in which each unit's first run leaves its first cycles, for the pictures of the units' pages.
const WAVES: &str = "POLYFABRIC_RTL_WAVES";
/// Names a folder in which each run leaves its waveform, all signals of the first cycles as a VCD file.
pub(crate) const VCD: &str = "POLYFABRIC_RTL_VCD";
/// Runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);
/// Cycles kept from the first input, before the first output and after it.
const KEPT: [usize; 3] = [12, 3, 9];
/// Bytes kept of a word, the lowest.
const KEPT_BYTES: usize = 4;

/// Why a simulation failed.
#[derive(Debug, Error)]
pub enum SimulationError {
    #[error("the simulation {program}: {cause}")]
    Program { program: PathBuf, cause: io::Error },
    #[error("a word of {word} bits for a bus of {bus} bytes")]
    Width { word: usize, bus: usize },
}

/// A valid output word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Cycles since the first word went in.
    pub cycle: u64,
    /// The bus, lowest bits first.
    pub bytes: Vec<u8>,
}

/// A built unit.
#[derive(Clone, Debug)]
pub struct Simulation {
    program: PathBuf,
}

impl Simulation {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Feeds `words` after reset, one per cycle, where `None` is a cycle without a valid word, followed by `idle` cycles. Returns the valid outputs in order.
    ///
    /// # Errors
    /// [`SimulationError`] for a word that does not fit the bus, or if the program fails.
    pub fn run(
        &self,
        words: impl IntoIterator<Item = Option<Bits>>,
        idle: usize,
    ) -> Result<Vec<Output>, SimulationError> {
        let failed = |cause| SimulationError::Program { program: self.program.clone(), cause };
        let mut command = Command::new(&self.program);
        if let Some(folder) = std::env::var_os(VCD) {
            command.arg(Path::new(&folder).join(format!(
                "{}-{}.vcd",
                self.name(),
                RUNS.fetch_add(1, Ordering::Relaxed)
            )));
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (mut to, mut from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let [width_in, width_out] = widths(&mut from).map_err(failed)?;
        let mut stream = Vec::new();
        for word in words.into_iter().chain(std::iter::repeat_n(None, idle)) {
            push(&mut stream, word.as_ref(), width_in)?;
        }
        // A thread writes, because a full pipe on either side would block the other.
        let sent = &stream;
        let out = std::thread::scope(|scope| {
            let writer = scope.spawn(move || to.write_all(sent));
            let mut out = Vec::new();
            from.read_to_end(&mut out)?;
            writer.join().expect("no panic").map(|()| out)
        })
        .map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        if !status.success() {
            return Err(failed(io::Error::other(status.to_string())));
        }
        if let Some(folder) = std::env::var_os(WAVES) {
            self.keep(Path::new(&folder), [(&stream, width_in), (&out, width_out)]).map_err(failed)?;
        }
        Ok(outputs(&out, width_out))
    }

    /// Writes the kept cycles of a built unit's first run to a file: cycle, then for each bus its width in bytes, valid flag and lowest bytes.
    fn keep(&self, folder: &Path, buses: [(&[u8], usize); 2]) -> io::Result<()> {
        let Ok(mut file) = File::create_new(folder.join(self.name()).with_extension("txt")) else { return Ok(()) };
        let (out, width) = buses[1];
        let valid = |(bus, width): (&[u8], usize)| bus.chunks_exact(1 + width).position(|word| word[0] != 0);
        let (given, first) = (valid(buses[0]).unwrap_or(0), valid(buses[1]).unwrap_or(0));
        let [start, before, after] = KEPT;
        let mut text = String::new();
        for cycle in 0..out.len() / (1 + width) {
            if (given..given + start).contains(&cycle) || (first.saturating_sub(before)..first + after).contains(&cycle)
            {
                write!(text, "{cycle}").expect("a text");
                for (stream, width) in buses {
                    let word = &stream[cycle * (1 + width)..][..1 + width];
                    write!(text, " {width} {} ", word[0]).expect("a text");
                    for byte in word[1..=width.min(KEPT_BYTES)].iter().rev() {
                        write!(text, "{byte:02x}").expect("a text");
                    }
                }
                text.push('\n');
            }
        }
        file.write_all(text.as_bytes())
    }

    /// The unit, and a hash of its sources and parameters.
    fn name(&self) -> &str {
        self.program.parent().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default()
    }

    pub fn program(&self) -> &Path {
        &self.program
    }
}

fn widths(from: &mut impl Read) -> io::Result<[usize; 2]> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    let (first, second) = bytes.split_at(4);
    Ok([first, second].map(|half| u32::from_le_bytes(half.try_into().expect("four bytes")) as usize))
}

/// A cycle's bytes: valid flag and bus, a whole number of the simulator's words.
fn push(stream: &mut Vec<u8>, word: Option<&Bits>, width: usize) -> Result<(), SimulationError> {
    let bytes = word.map_or(&[][..], Bits::bytes);
    if bytes.len() > width || word.is_some() && bytes.len() + 4 <= width {
        return Err(SimulationError::Width { word: bytes.len() * 8, bus: width });
    }
    stream.push(u8::from(word.is_some()));
    stream.extend_from_slice(bytes);
    stream.resize(stream.len() + width - bytes.len(), 0);
    Ok(())
}

fn outputs(stream: &[u8], width: usize) -> Vec<Output> {
    let valid = stream.chunks_exact(1 + width).enumerate().filter(|(_, word)| word[0] != 0);
    valid.map(|(cycle, word)| Output { cycle: cycle as u64, bytes: word[1..].to_vec() }).collect()
}
