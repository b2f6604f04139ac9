//! The kernels on the processor, with the emulator of the runtime's tests.

use super::peaks::Peaks;
use super::transforms::Transform;
use emulator::{Emulator, Turns};
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
fn butterflies_are_as_exact_as_their_arithmetic_can_be() {
    for turns in [Turns::Forwards, Turns::Backwards] {
        let measured = Transform::measure(&Emulator { turns }, &PEAKS, 1).expect("a C compiler");
        let [double, fixed, split] = measured.as_slice() else { panic!("{measured:?}") };
        for transform in &measured {
            println!("{transform}");
            assert!(transform.is_right() && transform.bound < 1e-5, "{transform}");
        }
        assert!(double.error.max(split.error) < fixed.error / 1024.0);
    }
}
