//! Runs the kernels on the processor, with the emulator of the runtime's tests.

use super::peaks::Peaks;
use super::transforms::Transform;
use super::{Results, Row};
use emulator::{Emulator, ThreadOrder};
use polyfabric_runtime::gpu::{Call, Device, GpuError, Launch, Source};

#[path = "../../../../crates/runtime/src/gpu/emulator.rs"]
mod emulator;

const PEAKS: Peaks = Peaks {
    multiply_adds: 1.0,
    single_multiply_adds: 1.0,
    integer_multiply_adds: 1.0,
    upper_halves: 1.0,
    shared_bytes: 1.0,
    cache_bytes: 1.0,
};

#[test]
fn a_run_without_supported_sets_fails_with_the_reasons() {
    let mut results = Results {
        card: "a card".to_owned(),
        time: 0,
        peaks: PEAKS,
        transforms: Vec::new(),
        rows: Vec::new(),
        peer: None,
        peer_rows: Vec::new(),
        refused: vec![("strix-IV".to_owned(), "its ring is too large".to_owned())],
    };
    let refused = results.expect_rows().expect_err("there are no rows").to_string();
    assert_eq!(refused, "nothing was measured: strix-IV: its ring is too large");
    results.rows.push(Row {
        set: "fpt-I".to_owned(),
        key_bits: 1,
        batch: 1,
        bootstrap_seconds: 1.0,
        key_switch_seconds: 1.0,
        seconds_with_transfers: 3.0,
        per_second: 0.5,
        multiply_add_share: 0.5,
        noise: 0.01,
        wrong: 0,
    });
    assert!(results.expect_rows().is_ok());
}

#[test]
fn butterflies_stay_within_their_error_bounds() {
    for order in [ThreadOrder::Forwards, ThreadOrder::Backwards] {
        let measured = Transform::measure(&Emulator { order }, &PEAKS, 1).expect("a C compiler");
        let [double, fixed, split] = measured.as_slice() else { panic!("{measured:?}") };
        for transform in &measured {
            println!("{transform}");
            assert!(transform.is_right() && transform.bound < 1e-5, "{transform}");
        }
        assert!(double.error.max(split.error) < fixed.error / 1024.0);
    }
}
