//! Does every operation that the benchmark measures come out right, on small twins of its cases?

use std::process::Command;

#[test]
fn small_twins_come_out_right() {
    let output = Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-rns")).arg("--check").output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{errors}");
    assert_eq!(out.trim_end(), "benchmark check: 10 operations of 4 RNS cases come out right");
}
