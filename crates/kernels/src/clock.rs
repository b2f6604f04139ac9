//! Time that a process spends on processors, which other work on the computer does not lengthen.

/// Seconds that this process has spent on processors, all threads together; on a system that does not tell them, seconds that have passed.
///
/// # Panics
/// If a Unix has no such clock.
#[cfg(unix)]
pub fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` through a pointer to one.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the system has a clock of processor time");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds that this process has spent on processors, all threads together; on a system that does not tell them, seconds that have passed.
#[cfg(not(unix))]
pub fn processor_seconds() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
