//! The double-pointer rotation inside Private-A1 (section V-C).
//!
//! A row's bank is as many columns as its path has coefficients: coefficient i lies in column i mod w, line i / w. The first pointer
//! reads a line, one coefficient of each column. The second reads w consecutive coefficients of X^a · p, which are still one of each
//! column, from any place on; the reorder unit turns them to the places of the first. So no column is asked twice by a pointer in
//! a cycle, whatever the amount, and both keep the path's rate.

/// What the second pointer reads in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// For each column, the line that its coefficient comes from, and whether it is negated: it has passed X^N.
    pub lines: Vec<(usize, bool)>,
    /// The column whose coefficient comes first.
    pub turn: usize,
}

/// The addresses of cycle `cycle` for a polynomial of degree N = `ring_degree`, rotated by `amount` below 2N, of `columns` columns.
pub fn addresses(ring_degree: usize, amount: usize, columns: usize, cycle: usize) -> Rotated {
    let source = |place: usize| (cycle * columns + place + 2 * ring_degree - amount) % (2 * ring_degree);
    let mut lines = vec![(0, false); columns];
    for place in 0..columns {
        let (index, negated) = (source(place) % ring_degree, source(place) >= ring_degree);
        lines[index % columns] = (index / columns, negated);
    }
    Rotated { lines, turn: source(0) % columns }
}

/// X^`amount` · `polynomial`, as the second pointer and the reorder unit bring it, `columns` coefficients a cycle.
pub fn rotate(polynomial: &[u32], amount: u32, columns: usize) -> Vec<u32> {
    let columns = columns.min(polynomial.len());
    let mut rotated = Vec::with_capacity(polynomial.len());
    for cycle in 0..polynomial.len() / columns {
        let Rotated { lines, turn } = addresses(polynomial.len(), amount as usize, columns, cycle);
        for place in 0..columns {
            let column = (turn + place) % columns;
            let (line, negated) = lines[column];
            let coefficient = polynomial[line * columns + column];
            rotated.push(if negated { coefficient.wrapping_neg() } else { coefficient });
        }
    }
    rotated
}

#[cfg(test)]
mod tests {
    //! Does any amount come at the full rate, from each column once?

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
                // Were two places of a cycle from one column, another would have given none: its line would be the wrong one above.
                let mut lines: Vec<usize> =
                    addresses(degree, amount, columns, cycle).lines.into_iter().map(|(line, _)| line).collect();
                lines.sort_unstable();
                lines.dedup();
                assert!(lines.len() <= 2, "X^{amount} takes {lines:?} in cycle {cycle}");
            }
        }
    }
}
