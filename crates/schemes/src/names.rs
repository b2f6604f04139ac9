//! Suggests similar names for an unknown one.

/// A hint for the unknown name `given`: the other scheme that has it (`(scheme, names)`), else up to three similar `names`.
pub(crate) fn nearest_names(given: &str, names: &[&str], (scheme, others): (&str, &[&str])) -> String {
    if others.contains(&given) {
        return format!(
            "it is one of {scheme}; name one of the program's own scheme (polyfabric params --scheme tfhe, ckks or bgv)"
        );
    }
    let mut by_distance: Vec<_> = names.iter().map(|&name| (edit_distance(given, name), name)).collect();
    by_distance.sort();
    let near: Vec<_> =
        by_distance.iter().filter(|(distance, _)| *distance <= 3).take(3).map(|&(_, name)| name).collect();
    if near.is_empty() {
        "polyfabric params lists all sets".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    }
}

/// Levenshtein distance, by bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
