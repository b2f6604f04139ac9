//! Names of programs and of their inputs and outputs: what is a file's name everywhere, and stands in texts as it is.

/// What a name may be.
pub const NAMES: &str = "one has up to 256 letters, digits and _ - + . alone";

/// What is wrong with a name, if anything is.
pub fn name_problem(name: &str) -> Option<&'static str> {
    let printable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > 256 {
        Some("is longer than 256 bytes")
    } else if !name.chars().all(printable) {
        Some("holds characters other than letters, digits and _ - + .")
    } else {
        None
    }
}
