//! Checks our side of the benchmark on the sets of a short run; `make bench-check` also checks the peer.

use std::process::Command;

#[test]
fn our_side_decrypts_right() {
    let output = Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-tfhe")).arg("--check").output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{errors}");
    assert_eq!(out.trim_end(), "benchmark check: 108 results of 3 sets decrypt correctly on our side");
}

#[test]
fn ignored_options_and_empty_selections_are_rejected() {
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
        // The exit status of rejected arguments, before anything is measured.
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
