//! Are the results of every machine equal to the recorded ones, number for number?
//!
//! The files `tests/golden/*.json` hold the results for each machine and program. They are the report, hashes of all events and of the
//! replay's output words, and the verdicts of checker and audit on changed schedules. After a change that is meant to affect them, record
//! them again and inspect the difference:
//!
//!     POLYFABRIC_RECORD=1 cargo test -p polyfabric-machines --test golden
//!
//! The hash of the events does not depend on how a schedule packs its names: see [`labels`].

mod common;

#[path = "golden/labels.rs"]
mod labels;
#[path = "golden/rns.rs"]
mod rns;
#[path = "golden/tfhe.rs"]
mod tfhe;
#[path = "golden/verdicts.rs"]
mod verdicts;

use polyfabric_sim::report::SimulationReport;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Results by machine and program.
type Records = BTreeMap<String, Record>;

/// The compared results of one program on one machine.
#[derive(Serialize)]
struct Record {
    cycles: u64,
    latency_s: String,
    critical_path: Option<u64>,
    limits: BTreeMap<String, u64>,
    events: u64,
    /// Number of events that the checker processed one by one.
    looked_at: u64,
    stalls: BTreeMap<String, BTreeMap<&'static str, f64>>,
    traffic_bytes: BTreeMap<&'static str, u64>,
    not_compulsory_bytes: Option<u64>,
    energy_j: Option<String>,
    /// Hash of all events, with loops unrolled.
    schedule: Option<String>,
    /// Hash of the words of the replay's outputs.
    words: Option<String>,
    /// Hash of the compiled program, as `examples/f1_compile` prints it.
    compiled: Option<String>,
}

impl Record {
    fn of(report: &SimulationReport) -> Self {
        let stalls = report.stalls_by_class.iter().map(|stalls| {
            let some = stalls.cycles.iter().filter(|&(_, &cycles)| cycles != 0.0);
            (stalls.class.clone(), some.map(|(&name, &cycles)| (name, cycles)).collect())
        });
        Self {
            cycles: report.cycles,
            latency_s: rounded(report.latency_s),
            critical_path: report.limits.get("critical path").copied(),
            limits: report.limits.clone(),
            events: report.events,
            looked_at: report.replayed_events,
            stalls: stalls.collect(),
            traffic_bytes: report.traffic_bytes.clone(),
            not_compulsory_bytes: report.not_compulsory_bytes,
            energy_j: report.energy_j.map(rounded),
            schedule: None,
            words: None,
            compiled: None,
        }
    }
}

/// Twelve digits: further ones depend on the processor.
fn rounded(number: f64) -> String {
    format!("{number:.11e}")
}

/// The 64-bit hash of Fowler, Noll and Vo.
fn hash(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Compares `found` with the file of this name, or records it.
fn compare(name: &str, found: &impl Serialize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
    let found = serde_json::to_string_pretty(found).expect("it is data") + "\n";
    if std::env::var_os("POLYFABRIC_RECORD").is_some() {
        return std::fs::write(&path, found).expect("the folder is there");
    }
    let recorded = std::fs::read_to_string(&path).expect("it was recorded");
    let lines = (1..).zip(recorded.lines().zip(found.lines()));
    let other: Vec<_> = lines.filter(|(_, (recorded, found))| recorded != found).take(20).collect();
    assert!(recorded == found, "{}: line, (recorded, found): {other:#?}", path.display());
}

#[test]
fn results_of_tfhe_machines_are_the_recorded_ones() {
    compare("tfhe", &tfhe::records());
}

#[test]
fn sums_in_place_and_limb_groups_give_the_same_words_on_osiris() {
    rns::compare_orders_of_osiris();
}

#[test]
fn results_of_rns_machines_are_the_recorded_ones() {
    compare("rns", &rns::records());
}

#[test]
fn verdicts_on_changed_schedules_are_the_recorded_ones() {
    compare("verdicts-tfhe", &verdicts::of_tfhe());
    compare("verdicts-rns", &verdicts::of_rns());
}
