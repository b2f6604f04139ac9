//! Does our side of the benchmark come out right, on the sets that fit a short run? The peer's side is beside it in `make bench-check`.

use std::process::Command;

#[test]
fn our_side_decrypts_right() {
    let output = Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-tfhe")).arg("--check").output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{errors}");
    assert_eq!(out.trim_end(), "benchmark check: 108 results of 3 sets decrypt right on our side");
}

#[test]
fn what_would_be_ignored_or_measure_nothing_is_refused() {
    for words in [
        &["--quick", "integers"][..],
        &["--check", "gpu"],
        &["--processor-time", "integers"],
        &["--set", "fpt-I", "gpu"],
        &["--output", "rows.json", "gpu"],
        &["gpu", "--repetitions", "3"],
        &["--repetitions", "0"],
        &["integers", "--repetitions", "0"],
        &["integers", "--threads", "0"],
        &["gpu", "--batch", "0"],
        &["gpu", "--runs", "0"],
        &["gpu", "--peer-key-bits", "0"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-tfhe")).args(words).output().unwrap();
        // The status of words that are refused, before anything is measured.
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
