//! The double-pointer rotation inside Private-A1 (section V-C).
//!
//! A row's bank has as many columns (w) as its path has coefficients: coefficient i is in column i mod w, line i / w.
//! The first pointer reads a line, one coefficient per column. The second pointer reads w consecutive coefficients of
//! X^a · p; these too are one per column, from any offset. The reorder unit rotates them to the positions of the first
//! pointer's. So no pointer reads a column twice in a cycle, for any amount, and both sustain the path's rate.

/// The second pointer's read in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// For each column, the line of its coefficient, and whether it is negated because it wrapped around X^N.
    pub lines: Vec<(usize, bool)>,
    /// The column of the first coefficient.
    pub first: usize,
}

/// The addresses in cycle `cycle` for a polynomial of degree N = `ring_degree`, rotated by `amount` below 2N, in
/// `columns` columns.
pub fn addresses(ring_degree: usize, amount: usize, columns: usize, cycle: usize) -> Rotated {
    let source = |place: usize| (cycle * columns + place + 2 * ring_degree - amount) % (2 * ring_degree);
    let mut lines = vec![(0, false); columns];
    for place in 0..columns {
        let (index, negated) = (source(place) % ring_degree, source(place) >= ring_degree);
        lines[index % columns] = (index / columns, negated);
    }
    Rotated { lines, first: source(0) % columns }
}

/// X^`amount` · `polynomial` as computed by the second pointer and the reorder unit, `columns` coefficients per cycle.
pub fn rotate(polynomial: &[u32], amount: u32, columns: usize) -> Vec<u32> {
    let columns = columns.min(polynomial.len());
    let mut rotated = Vec::with_capacity(polynomial.len());
    for cycle in 0..polynomial.len() / columns {
        let Rotated { lines, first } = addresses(polynomial.len(), amount as usize, columns, cycle);
        for place in 0..columns {
            let column = (first + place) % columns;
            let (line, negated) = lines[column];
            let coefficient = polynomial[line * columns + column];
            rotated.push(if negated { coefficient.wrapping_neg() } else { coefficient });
        }
    }
    rotated
}

#[cfg(test)]
mod tests {
    //! Does every amount run at the full rate, with one read per column and cycle?

    use super::*;

    #[test]
    fn every_amount_is_a_rotation_without_a_conflict() {
        let (degree, columns) = (64, 16);
        let polynomial: Vec<u32> = (1..=degree as u32).collect();
        for amount in 0..2 * degree {
            let mut expected = vec![0; degree];
            for (index, &coefficient) in polynomial.iter().enumerate() {
                let to = (index + amount) % (2 * degree);
                expected[to % degree] = if to < degree { coefficient } else { coefficient.wrapping_neg() };
            }
            assert_eq!(rotate(&polynomial, amount as u32, columns), expected, "X^{amount}");
            for cycle in 0..degree / columns {
                // If two positions shared a column, another column's line would be wrong in the comparison above.
                let mut lines: Vec<usize> =
                    addresses(degree, amount, columns, cycle).lines.into_iter().map(|(line, _)| line).collect();
                lines.sort_unstable();
                lines.dedup();
                assert!(lines.len() <= 2, "X^{amount} takes {lines:?} in cycle {cycle}");
            }
        }
    }
}
