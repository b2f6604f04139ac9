//! Does our side of the benchmark come out right, on the sets that fit a short run? The peer's side is beside it in `make bench-check`.

use std::process::Command;

#[test]
fn our_side_decrypts_right() {
    let output = Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-tfhe")).arg("--check").output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{errors}");
    assert_eq!(out.trim_end(), "benchmark check: 108 results of 3 sets decrypt right on our side");
}
