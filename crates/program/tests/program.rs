//! One program of tests for the crate, since each is linked with all of its dependencies.

mod lanes;
mod rns_programs;
mod tfhe;
mod tfhe_integers;

/// The numbers, names and positions of an error: its words that have a digit or a quotation mark, sorted. Rewording an error leaves them.
fn facts(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().map(|word| word.trim_matches([',', ';', ':', '.', '(', ')']));
    let mut facts: Vec<&str> =
        words.filter(|word| word.contains(['"', '`']) || word.contains(|c: char| c.is_ascii_digit())).collect();
    facts.sort_unstable();
    facts
}
