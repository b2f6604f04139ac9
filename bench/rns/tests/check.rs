//! Checks every operation of the benchmark on small versions of its cases, and the benchmark's command line.

use std::process::Command;

#[test]
fn small_cases_are_correct() {
    let output = Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-rns")).arg("--check").output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{errors}");
    assert_eq!(out.trim_end(), "benchmark check: 10 operations of 4 RNS cases are correct");
}

/// A run of the benchmark.
fn bench(words: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_polyfabric-bench-rns")).args(words).output().unwrap()
}

#[test]
fn ignored_options_and_empty_selections_are_rejected() {
    for words in [
        &["--quick", "gpu"][..],
        &["--check", "gpu"],
        &["--lattigo", "peer", "gpu"],
        &["--output", "rows.json", "gpu"],
        &["gpu", "--runs", "0"],
        &["gpu", "--batch", "0"],
    ] {
        let output = bench(words);
        // The exit status of rejected arguments, before anything is measured.
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Runs the benchmark; returns the rows that it writes, and its output.
fn rows(name: &str, words: &[&str]) -> (Vec<serde_json::Value>, String) {
    let path = std::env::temp_dir().join(format!("polyfabric-bench-rns-{name}-{}.json", std::process::id()));
    let output = bench(&[words, &["--quick", "--case", "ntt-12", "--output", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let found = written["rows"].as_array().unwrap().clone();
    (found, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn our_side_runs_without_a_peer() {
    let (rows, printed) = rows("alone", &[]);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert!(row["ours_ms"].as_f64().unwrap() > 0.0 && row.get("peer").is_none(), "{row}");
    assert!(printed.contains("ntt                  N=2^12, 49-bit prime"), "{printed}");
}

/// A peer whose transforms take 10 ms, except one of 8 ms.
#[cfg(unix)]
const PEER: &str = r#"#!/bin/sh
while read -r line; do
    case $line in
    *'"hello"'*) echo '{"version":"a peer"}' ;;
    *'"repetitions":1}') echo '{"ms":[10]}' ;;
    *'"repetitions":25}') echo '{"ms":[10,10,8]}' ;;
    *'"measure"'*) echo "{\"failure\":\"$line\"}" ;;
    *) echo '{"log_q":49}' ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn the_faster_side_is_not_measured_more_often() {
    use std::os::unix::fs::PermissionsExt;
    let program = std::env::temp_dir().join(format!("polyfabric-rns-peer-{}", std::process::id()));
    std::fs::write(&program, PEER).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    // 25 repetitions of both sides are a quarter of a second of the peer's. The peer rejects any other number.
    let (rows, _) = rows("peer", &["--lattigo", program.to_str().unwrap()]);
    std::fs::remove_file(&program).unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let figure = |name: &str| row[name].as_f64().unwrap();
    assert_eq!((row["peer"].as_str(), figure("peer_ms"), figure("peer_median_ms")), (Some("Lattigo"), 8.0, 10.0));
    assert_eq!(figure("ratio"), 8.0 / figure("ours_ms"));
}
