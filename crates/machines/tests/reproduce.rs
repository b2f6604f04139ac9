//! Does the model meet the published results that it is held to, and say why where it does not?

use polyfabric_machines::{Kind, reproduce};
use polyfabric_runtime::NoProgress;

#[test]
fn morphling_meets_its_tables() {
    let rows = reproduce("morphling", Vec::new(), &NoProgress).expect("every table can be computed");
    let mut wrong = Vec::new();
    for row in &rows {
        println!(
            "{:10} {:90} {:>12} {:>12} {:>8} {:?}",
            row.table,
            row.cell,
            row.published.map_or("-".into(), |value| format!("{value:.2}")),
            row.model.map_or("-".into(), |value| format!("{value:.4}")),
            row.deviation.map_or("-".into(), |value| format!("{:+.2}%", 100.0 * value)),
            row.kind,
        );
        assert!(!row.reason.is_empty(), "{}", row.cell);
        assert_ne!(row.kind, Kind::Calibrated, "{}", row.cell);
        let limit = match row.table.as_str() {
            "Table V" if row.cell.ends_with("throughput") => 0.025,
            "Table V" if row.cell.ends_with("latency") => 0.05,
            // Printed with a decimal.
            "Figure 3" => 0.001,
            "Table IV" if row.kind == Kind::Input && !row.reason.contains("sum") => 1e-9,
            _ => continue,
        };
        if row.deviation.is_some_and(|deviation| deviation.abs() > limit) {
            wrong.push(format!("{}, {}: {:?}", row.table, row.cell, row.deviation));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.iter().any(|row| row.published.is_none() && row.model.is_some()), "withheld cells are predicted");
}

#[test]
fn an_unknown_paper_is_named() {
    let error = reproduce("none", Vec::new(), &NoProgress).expect_err("there is no such paper").to_string();
    assert_eq!(error, "no published figures of \"none\" are in the project; it has morphling");
}
