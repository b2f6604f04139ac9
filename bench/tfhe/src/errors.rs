//! Errors of decrypted results.

use crate::side::MARGIN;

/// Errors as fractions of the torus.
#[derive(Clone, Debug, Default)]
pub struct Errors(pub Vec<f64>);

impl Errors {
    /// Standard deviation about zero, so that a bias counts as noise.
    pub fn standard_deviation(&self) -> f64 {
        (self.0.iter().map(|error| error * error).sum::<f64>() / self.0.len().max(1) as f64).sqrt()
    }

    /// Number of results that decrypt to another message.
    pub fn wrong(&self) -> usize {
        self.0.iter().filter(|error| error.abs() >= MARGIN).count()
    }
}

/// Whether `wrong` of `decrypted` results are more than chance explains, if one fails with probability 2^`log2_failure`.
/// By Chernoff's bound, correct arithmetic is rejected with a probability of at most 2^-20.
pub fn more_than_chance(wrong: usize, decrypted: usize, log2_failure: f64) -> bool {
    let (share, count) = (wrong as f64 / decrypted.max(1) as f64, decrypted as f64);
    let chance = log2_failure.exp2();
    if share <= chance {
        return false;
    }
    let failures = share * (share.log2() - log2_failure);
    let others = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - chance)).log2() } else { 0.0 };
    count * (failures + others) > 20.0
}

#[cfg(test)]
mod tests {
    use super::more_than_chance;

    #[test]
    fn a_wrong_result_is_an_error_unless_the_set_allows_it() {
        assert!(!more_than_chance(0, 192, -140.0));
        assert!(more_than_chance(1, 192, -140.0) && more_than_chance(3, 3, f64::NEG_INFINITY));
        // One of a thousand fails: 3 of 192 are plausible, 20 are not.
        assert!(!more_than_chance(3, 192, -10.0) && more_than_chance(20, 192, -10.0));
        // Two thirds of the key switches of `morphling-B` fail: 141 of 192 are plausible, 192 are not.
        assert!(!more_than_chance(141, 192, -0.6) && !more_than_chance(3, 3, -0.6) && more_than_chance(192, 192, -0.6));
        assert!(!more_than_chance(192, 192, 0.0));
    }
}
