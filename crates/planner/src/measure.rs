//! Processor time of work that is done to be timed.
//!
//! Times are of processors, added up over all of them, which other work on the computer does not lengthen.

use crate::PlanError;
use polyfabric_kernels::clock::processor_seconds;

/// Of each measurement.
const ROUNDS: usize = 3;

/// Processor time of what a client does for one run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientSeconds {
    /// Its own key's generation, and its server's keys'.
    pub keys: f64,
    /// Encryption of all inputs.
    pub encrypt: f64,
    /// Decryption of all outputs.
    pub decrypt: f64,
}

/// The times of some rounds by `clock`, each on what `prepare` gives it, the shortest first.
fn rounds<T>(
    mut clock: impl FnMut() -> f64,
    mut prepare: impl FnMut() -> Result<T, PlanError>,
    mut work: impl FnMut(T) -> Result<(), PlanError>,
) -> Result<[f64; ROUNDS], PlanError> {
    let mut times = [0.0; ROUNDS];
    for time in &mut times {
        let given = prepare()?;
        let begin = clock();
        work(given)?;
        *time = clock() - begin;
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The processor time of the shortest of some rounds, each on what `prepare` gives it.
///
/// # Errors
/// The work's.
pub fn shortest<T>(
    prepare: impl FnMut() -> Result<T, PlanError>,
    work: impl FnMut(T) -> Result<(), PlanError>,
) -> Result<f64, PlanError> {
    Ok(rounds(processor_seconds, prepare, work)?[0])
}

/// The processor time of the middle one of some rounds: work of one kind takes what most of it takes.
///
/// # Errors
/// The work's.
pub fn usual<T>(
    prepare: impl FnMut() -> Result<T, PlanError>,
    work: impl FnMut(T) -> Result<(), PlanError>,
) -> Result<f64, PlanError> {
    Ok(rounds(processor_seconds, prepare, work)?[ROUNDS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_timed_without_what_prepares_them_and_in_order() {
        // Rounds of 5, 1 and 2 seconds, between which other work takes some.
        let mut clock = [0.0, 5.0, 10.0, 11.0, 20.0, 22.0].into_iter();
        let (mut prepared, mut done) = (0, Vec::new());
        let prepare = || {
            prepared += 1;
            Ok(prepared)
        };
        let work = |given| {
            done.push(given);
            Ok(())
        };
        assert_eq!(rounds(|| clock.next().unwrap(), prepare, work).unwrap(), [1.0, 2.0, 5.0]);
        assert_eq!(done, [1, 2, 3]);
    }

    #[test]
    fn work_that_fails_says_so() {
        let failed = usual(|| Ok(()), |()| Err(PlanError::new(crate::Fault::Internal, "no"))).unwrap_err();
        assert_eq!(failed.to_string(), "no");
    }
}
