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
    assert_eq!(error, "no published figures of \"none\" are in the project; it has f1, morphling, strix");
}

#[test]
fn f1_meets_what_it_is_held_to() {
    let rows = reproduce("f1", Vec::new(), &NoProgress).expect("every table can be computed");
    let find = |table: &str, cell: &str| {
        let row = rows.iter().find(|row| row.table == table && row.cell == cell);
        row.unwrap_or_else(|| panic!("{table}: {cell}"))
    };
    for row in &rows {
        assert!(!row.reason.is_empty(), "{}", row.cell);
        assert_ne!(row.kind, Kind::Calibrated, "{}", row.cell);
        if row.table == "Table 2" {
            // The sums are of parts that are printed with two decimals.
            assert_eq!(row.kind, Kind::Input);
            assert!(
                row.deviation.is_some_and(|deviation| deviation.abs() < 0.002),
                "{}: {:?}",
                row.cell,
                row.deviation
            );
        }
    }
    for (table, cell) in [
        ("Section 5.3", "prime moduli that the multiplier serves"),
        ("Section 5.2", "multipliers of an NTT unit"),
        ("Section 4.2", "all hints of listing 2"),
        ("Section 4.2", "sets of hints of listing 2"),
        ("Section 2.4", "key-switch hints at L = 16, N = 16K"),
        ("Section 2.4", "NTTs of a key switch at L = 16: L^2"),
    ] {
        assert_eq!(find(table, cell).deviation, Some(0.0), "{cell}");
    }
    // The transforms of a permutation at N = 2^13, at their units' rate, are the published time.
    assert_eq!(find("Table 4", "permute, N = 2^13: bound of the ntt units").model, Some(224.0));
    let permutation = find("Table 4", "homomorphic permutation, N = 2^13, log Q = 218");
    assert!(permutation.model.is_some_and(|model| (224.0..500.0).contains(&model)), "{:?}", permutation.model);
    assert!(rows.iter().any(|row| row.published.is_none() && row.model.is_some()), "withheld cells are predicted");
}

#[test]
fn strix_meets_what_it_is_held_to() {
    let rows = reproduce("strix", Vec::new(), &NoProgress).expect("every table can be computed");
    for row in &rows {
        println!(
            "{:10} {:90} {:>12} {:>12} {:>8} {}",
            row.table,
            row.cell,
            row.published.map_or("-".into(), |value| format!("{value:.2}")),
            row.model.map_or("-".into(), |value| format!("{value:.4}")),
            row.deviation.map_or("-".into(), |value| format!("{:+.2}%", 100.0 * value)),
            row.unit,
        );
        assert!(!row.reason.is_empty(), "{}", row.cell);
    }
    let model = |cell: &str| {
        let row = rows.iter().find(|row| row.cell.starts_with(cell)).unwrap_or_else(|| panic!("{cell}"));
        (row.model.expect("a number"), row.published)
    };
    for set in ["I", "II", "III"] {
        let (rate, published) = model(&format!("Strix, set {set}, throughput"));
        let published = published.expect("a published rate");
        assert!((rate / published - 1.0).abs() < 0.01, "set {set}: {rate} a second, published {published}");
        // The units' work fits into the published latency; a whole pass through the pipeline in every iteration does not.
        let (latency, published) = model(&format!("Strix, set {set}, latency"));
        let published = published.expect("a published latency");
        let (work, _) = model(&format!("Strix, set {set}, latency: FFT units at work"));
        assert!(work < published && published < latency, "set {set}: {work}, {published} and {latency} ms");
    }
    // Three ciphertexts a core fill the pipeline, two do not.
    assert!((model("rotator, share").0 - 50.0).abs() < 1.0);
    assert!(model("FFT, share").0 > 99.0 && model("fft, 2 ciphertexts a core").0 < 90.0);
}
