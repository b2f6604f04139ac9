//! Removes lookups that no output needs, and combinations that no lookup reads.

use super::{Dataflow, Level, Terms};

impl Dataflow {
    /// Removes dead lookups and empty levels. Columns of removed lookups remain, unread.
    pub(super) fn prune(&mut self) {
        let mut live = vec![false; self.sources.len()];
        for output in &self.outputs {
            mark(&output.forms.terms, 0..output.forms.terms.rows(), &mut live);
        }
        let mut columns: Vec<Vec<u32>> = self.levels.iter().map(|level| vec![0; level.lookups.len()]).collect();
        for (column, source) in self.sources.iter().enumerate().filter(|(_, source)| source.level > 0) {
            columns[source.level as usize - 1][source.index as usize] = column as u32;
        }
        // Levels read only lower levels, so one pass from the top suffices.
        for (level, columns) in self.levels.iter_mut().zip(&columns).rev() {
            let needed: Vec<bool> = columns.iter().map(|&column| live[column as usize]).collect();
            if needed.iter().all(|needed| *needed) {
                mark(&level.terms, 0..level.terms.rows(), &mut live);
            } else {
                let rows = keep(level, &needed);
                mark(&level.terms, 0..rows, &mut live);
                let kept = columns.iter().zip(&needed).filter(|(_, needed)| **needed);
                for (index, (&column, _)) in kept.enumerate() {
                    self.sources[column as usize].index = index as u32;
                }
            }
        }
        // Level d becomes the number of remaining levels up to d.
        let mut renumbered = vec![0];
        for level in &self.levels {
            renumbered.push(renumbered[renumbered.len() - 1] + u32::from(!level.lookups.is_empty()));
        }
        self.sources.iter_mut().for_each(|source| source.level = renumbered[source.level as usize]);
        self.levels.retain(|level| !level.lookups.is_empty());
    }
}

fn mark(terms: &Terms, rows: std::ops::Range<usize>, live: &mut [bool]) {
    for row in rows {
        terms.row(row).0.iter().for_each(|&column| live[column as usize] = true);
    }
}

/// Keeps the needed lookups of `level` and their rows; returns the number of rows.
fn keep(level: &mut Level, needed: &[bool]) -> usize {
    let mut new_row: Vec<Option<u32>> = vec![None; level.bias.len()];
    let mut kept = Level { terms: Terms::new(), bias: Vec::new(), steps: Vec::new(), lookups: Vec::new() };
    for (lookup, _) in level.lookups.iter().zip(needed).filter(|(_, needed)| **needed) {
        let row = lookup.row as usize;
        let row = *new_row[row].get_or_insert_with(|| {
            let (columns, weights) = level.terms.row(row);
            kept.terms.push(columns, weights);
            kept.bias.push(level.bias[row]);
            kept.steps.push(level.steps[row]);
            kept.bias.len() as u32 - 1
        });
        kept.lookups.push(super::Lookup { row, ..*lookup });
    }
    *level = kept;
    level.bias.len()
}
