//! Wall-clock time and processor time.

use serde::{Deserialize, Serialize};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    Wall,
    /// Processor time of all threads of this process: steadier on a machine that is busy with other work.
    Processor,
}

impl Clock {
    /// Seconds of `work`.
    pub fn seconds(self, work: impl FnOnce()) -> f64 {
        match self {
            Self::Wall => {
                let start = Instant::now();
                work();
                start.elapsed().as_secs_f64()
            }
            Self::Processor => {
                let start = processor_seconds();
                work();
                processor_seconds() - start
            }
        }
    }
}

/// Wall-clock and processor seconds of `work`, and its result.
pub fn both_seconds<R>(work: impl FnOnce() -> R) -> (f64, f64, R) {
    let (start, processor) = (Instant::now(), processor_seconds());
    let result = work();
    (start.elapsed().as_secs_f64(), processor_seconds() - processor, result)
}

fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` through a valid pointer.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the system has a clock of processor time");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
