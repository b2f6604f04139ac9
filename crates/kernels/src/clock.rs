//! Processor time of this process, which other processes do not affect.

/// Processor seconds of this process over all threads; wall-clock seconds where the system does not provide them.
///
/// # Panics
/// If a Unix system has no such clock.
#[cfg(unix)]
pub fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` through a pointer to one.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the system has a processor-time clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Processor seconds of this process over all threads; wall-clock seconds where the system does not provide them.
#[cfg(not(unix))]
pub fn processor_seconds() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
