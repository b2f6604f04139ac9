//! Measures CPU time, summed over all processors, so that other load on the computer does not change it.

use crate::PlanError;
use polyfabric_kernels::clock::processor_seconds;

/// Repetitions of each measurement.
const ROUNDS: usize = 3;

/// CPU seconds of a client for one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientSeconds {
    /// Generation of the secret and the evaluation keys.
    pub keys: f64,
    /// Encryption of all inputs.
    pub encrypt: f64,
    /// Decryption of all outputs.
    pub decrypt: f64,
}

/// Times of the repetitions by `clock`, each on a fresh result of `prepare`, in ascending order.
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

/// CPU time of the shortest repetition, each on a fresh result of `prepare`.
///
/// # Errors
/// The error of `prepare` or `work`.
pub fn shortest<T>(
    prepare: impl FnMut() -> Result<T, PlanError>,
    work: impl FnMut(T) -> Result<(), PlanError>,
) -> Result<f64, PlanError> {
    Ok(rounds(processor_seconds, prepare, work)?[0])
}

/// CPU time of the median repetition, for work of little variation.
///
/// # Errors
/// The error of `prepare` or `work`.
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
    fn preparation_is_not_timed_and_times_are_sorted() {
        // Rounds of 5, 1 and 2 seconds, with other work in between.
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
    fn errors_of_the_work_are_returned() {
        let failed = usual(|| Ok(()), |()| Err(PlanError::new(crate::Fault::Internal, "no"))).unwrap_err();
        assert_eq!(failed.to_string(), "no");
    }
}
