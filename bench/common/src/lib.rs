//! Code that both benchmarks against other libraries share: child processes that answer requests, least times, result files and plots.

mod floor;
mod process;

pub use floor::{Floor, Limit, bandwidth, read};
pub use process::Process;

use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// With an even number of samples, the mean of the middle two.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

pub fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Writes `results` as JSON to a temporary file and renames it, so that a reader never sees a partial file.
pub fn write(results: &impl Serialize, path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let partial = path.with_extension("json.partial");
    std::fs::write(&partial, serde_json::to_string_pretty(results)?)?;
    std::fs::rename(&partial, path)
}

/// A row, with where it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured<R> {
    #[serde(flatten)]
    pub row: R,
    #[serde(flatten)]
    pub origin: Origin,
}

/// Where a row was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Origin {
    pub processor: String,
    /// The instruction set of our kernels.
    pub isa: String,
    /// The commit of the sources; a + means that files differed from it. "unknown" without git.
    pub commit: String,
}

impl Origin {
    /// This processor and these sources, with kernels in `isa`.
    pub fn here(isa: String) -> Self {
        let git = |words: &[&str]| {
            let done = Command::new("git").args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
            done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let sources = ["status", "--porcelain", "--", ":/crates", ":/bench"];
        let changed = git(&sources).is_some_and(|changed| !changed.is_empty());
        Self { processor: processor_name(), isa, commit: commit + if changed { "+" } else { "" } }
    }

    pub fn with<R>(&self, row: R) -> Measured<R> {
        Measured { row, origin: self.clone() }
    }
}

/// A bar for each value, the longest for the largest.
pub fn bars(title: &str, values: &[(String, f64)]) -> String {
    const LENGTH: f64 = 40.0;
    let largest = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let width = values.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let bar = |value: f64| "█".repeat((LENGTH * value / largest).round() as usize);
    let lines = values.iter().map(|(label, value)| format!("\n{label:width$}  {} {value:.2}x", bar(*value)));
    format!("\n{title}{}", lines.collect::<String>())
}

/// Seconds since 1970.
pub fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs())
}

/// The processor's model name, if the system reports it.
pub fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(':').nth(1));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Floor, Limit, Origin, bars, least, median, write};

    #[test]
    fn medians_and_least_ones() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert_eq!(least(&[3.0, 1.0, 2.0]), 1.0);
    }

    #[test]
    fn the_longest_bar_is_of_the_largest_value() {
        let text = bars("speed-up", &[("one".to_owned(), 1.5), ("batch".to_owned(), 3.0)]);
        let lengths: Vec<_> = text.lines().map(|line| line.matches('█').count()).collect();
        assert_eq!(lengths, [0, 0, 20, 40]);
    }

    #[test]
    fn a_row_says_where_it_was_measured() {
        #[derive(serde::Serialize)]
        struct Row {
            threads: usize,
        }
        let row = serde_json::to_value(Origin::here("avx2".to_owned()).with(Row { threads: 2 })).unwrap();
        assert_eq!((row["threads"].as_u64(), row["isa"].as_str()), (Some(2), Some("avx2")));
        assert!(["processor", "commit"].iter().all(|name| !row[name].as_str().unwrap().is_empty()), "{row}");
    }

    #[test]
    fn the_slower_resource_is_the_limit() {
        let [first, second] = [Floor::of(2.0, 1.0), Floor::of(1.0, 3.0)];
        assert_eq!((first.seconds, first.limit), (2.0, Limit::Arithmetic));
        assert_eq!((second.seconds, second.limit), (3.0, Limit::Memory));
    }

    #[test]
    fn a_file_is_replaced_whole_and_its_folder_made() {
        let folder = std::env::temp_dir().join(format!("polyfabric-bench-common-{}", std::process::id()));
        let path = folder.join("rows.json");
        write(&[1], &path).unwrap();
        write(&[2, 3], &path).unwrap();
        let found: Vec<u32> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let files = std::fs::read_dir(&folder).unwrap().count();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((found, files), (vec![2, 3], 1));
    }
}
