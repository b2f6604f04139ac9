//! Formatting of security levels.

/// `bits` with one decimal, rounded down so that the level is never overstated.
pub fn shown(bits: f64) -> String {
    // A remainder this far below a tenth comes from the rounding of interpolation.
    format!("{:.1}", (bits * 10.0 + 1e-6).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    //! Is a level never overstated?
    use super::shown;

    #[test]
    fn levels_are_rounded_down() {
        let shown_as = |bits| shown(bits);
        assert_eq!(
            [127.59, 127.99, 128.0, 127.999_999_99, 8.7].map(shown_as),
            ["127.5", "127.9", "128.0", "128.0", "8.7"]
        );
    }
}
