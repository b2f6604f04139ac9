//! Code that both benchmarks against other libraries share: child processes that answer requests, and result files.

mod process;

pub use process::Process;

use serde::Serialize;
use std::path::Path;

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
    use super::{least, median, write};

    #[test]
    fn medians_and_least_ones() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert_eq!(least(&[3.0, 1.0, 2.0]), 1.0);
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
