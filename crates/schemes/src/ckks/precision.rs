//! Compares a decrypted vector with the clear one.

use std::fmt;

use super::encoding::Complex;

/// Errors of a vector of slots. Bits of precision are −log2 of an absolute error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Bits of the worst slot.
    pub min_bits: f64,
    /// Bits of the median slot.
    pub median_bits: f64,
    /// −log2 of the mean absolute error.
    pub mean_bits: f64,
    /// Bits of the best slot; infinite if it is exact.
    pub max_bits: f64,
    /// Largest absolute error.
    pub max_error: f64,
    /// Root of the mean square of the real and imaginary errors.
    pub deviation: f64,
}

impl Precision {
    /// Compares slot by slot. `None` unless both have the same number of slots, at least one.
    pub fn of(found: &[Complex], expected: &[Complex]) -> Option<Self> {
        if found.len() != expected.len() || found.is_empty() {
            return None;
        }
        let mut errors: Vec<f64> =
            found.iter().zip(expected).map(|(found, expected)| (*found - *expected).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len() as f64;
        let bits = |error: f64| -error.log2();
        let max_error = errors[errors.len() - 1];
        Some(Self {
            min_bits: bits(max_error),
            median_bits: bits(errors[errors.len() / 2]),
            mean_bits: bits(errors.iter().sum::<f64>() / count),
            max_bits: bits(errors[0]),
            max_error,
            deviation: (errors.iter().map(|error| error * error).sum::<f64>() / (2.0 * count)).sqrt(),
        })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} bits at least, {:.1} median, {:.1} mean, {:.1} at most",
            self.min_bits, self.median_bits, self.mean_bits, self.max_bits
        )
    }
}

#[cfg(test)]
mod tests {
    //! Are the figures correct for known errors?

    use super::*;

    #[test]
    fn known_errors() {
        let expected = [Complex::from(1.0); 4];
        let off = |error: f64| Complex::new(1.0, error);
        let found = [off(0.25), off(-0.5), off(0.125), off(0.125)];
        let precision = Precision::of(&found, &expected).expect("equal lengths");
        assert_eq!((precision.min_bits, precision.median_bits, precision.max_bits), (1.0, 2.0, 3.0));
        assert_eq!((precision.mean_bits, precision.max_error), (2.0, 0.5));
        let square: f64 = (0.25 + 0.0625 + 2.0 * 0.015625) / 8.0;
        assert_eq!(precision.deviation, square.sqrt());
        assert_eq!(precision.to_string(), "1.0 bits at least, 2.0 median, 2.0 mean, 3.0 at most");
        assert!(Precision::of(&found, &expected[..3]).is_none() && Precision::of(&[], &[]).is_none());
    }
}
