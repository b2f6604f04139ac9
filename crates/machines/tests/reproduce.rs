//! Does the model meet the published results that it is held to, and say why where it does not?

use polyfabric_machines::{Kind, Row, reproduce};
use polyfabric_runtime::NoProgress;

/// A row says what it is worth: a reason, readings where it is predicted under some, and a kind where it has a number.
fn stands(row: &Row) {
    assert_eq!(row.failure, None, "{}", row.cell);
    assert!(!row.reason.is_empty(), "{}", row.cell);
    assert_eq!(row.kind == Some(Kind::PredictedUnderReading), !row.readings.is_empty(), "{}", row.cell);
    assert_eq!(row.kind.is_some_and(|kind| kind != Kind::NotModelled), row.model.is_some(), "{}", row.cell);
}

/// The kind of a row.
fn kind(rows: &[Row], table: &str, cell: &str) -> Option<Kind> {
    let row = rows.iter().find(|row| row.table == table && row.cell.contains(cell));
    row.unwrap_or_else(|| panic!("{table}: {cell}")).kind
}

#[test]
fn an_unknown_paper_is_named() {
    let error = reproduce("none", None, &NoProgress).expect_err("there is no such paper").to_string();
    assert_eq!(error, "no published figures of \"none\" are in the project; it has f1, fpt, morphling, osiris, strix");
}

/// Forty seconds: with `POLYFABRIC_FULL` in the environment. The numbers of its smallest rings are beside the model.
#[test]
fn f1_meets_what_it_is_held_to() {
    if std::env::var_os("POLYFABRIC_FULL").is_none() {
        return;
    }
    let rows = reproduce("f1", None, &NoProgress).expect("every table can be computed");
    let find = |table: &str, cell: &str| {
        let row = rows.iter().find(|row| row.table == table && row.cell == cell);
        row.unwrap_or_else(|| panic!("{table}: {cell}"))
    };
    for row in &rows {
        stands(row);
        if row.table == "Table 2" {
            // The sums are of parts that are printed with two decimals.
            assert_eq!(row.kind, Some(Kind::Input));
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
    let fetched = find("Section 3", "instruction fetches' share of the memory traffic");
    assert!(fetched.deviation.is_some(), "{fetched:?}");
    assert_eq!(kind(&rows, "Table 1", "Barrett multiplier, area"), Some(Kind::NotModelled));
    assert_eq!(kind(&rows, "Table 4", "homomorphic permutation"), Some(Kind::PredictedUnderReading));
    // The transforms of a permutation at N = 2^13, at their units' rate, are the published time.
    assert_eq!(find("Table 4", "permute, N = 2^13: bound of the ntt units").model, Some(224.0));
    let permutation = find("Table 4", "homomorphic permutation, N = 2^13, log Q = 218");
    assert!(permutation.model.is_some_and(|model| (224.0..500.0).contains(&model)), "{:?}", permutation.model);
    assert!(rows.iter().any(|row| row.published.is_none() && row.model.is_some()), "withheld cells are predicted");
}

#[test]
fn fpt_meets_what_it_is_held_to() {
    let rows = reproduce("fpt", None, &NoProgress).expect("every table can be computed");
    rows.iter().for_each(stands);
    let deviation = |table: &str, cell: &str| {
        let row = rows.iter().find(|row| row.table == table && row.cell.starts_with(cell));
        let row = row.unwrap_or_else(|| panic!("{table}: {cell}"));
        (row.kind, row.deviation.expect("a published number and one of the model").abs())
    };
    for (table, cell, limit) in [
        ("Table 4", "FPT, set I, throughput", 0.01),
        ("Section 5", "set I, cycles of a CMUX", 0.0),
        ("Section 5", "set II, cycles of a CMUX", 0.0),
        ("Table 3", "set I, multiply-accumulate units", 0.0),
        ("Table 3", "set II, multiply-accumulate units", 0.0),
        ("Table 3", "set I, FFT, DSP", 0.05),
        ("Table 3", "set I, IFFT, DSP", 0.05),
    ] {
        let (_, off) = deviation(table, cell);
        assert!(off <= limit, "{table}, {cell}: {off}");
    }
    // The reading of the noise was chosen by set I's widths, and the power is the machine file's.
    for (table, cell, expected) in [
        ("Table 2", "set I, BK, width", Kind::Calibrated),
        ("Section 6.2", "estimated power", Kind::Input),
        ("Table 4", "FPT, set I, latency", Kind::PredictedUnderReading),
    ] {
        assert_eq!(deviation(table, cell).0, Some(expected), "{table}, {cell}");
    }
    // What the model contradicts is shown.
    assert!(deviation("Figure 3b", "throughput per DSP block").1 > 0.5);
}
