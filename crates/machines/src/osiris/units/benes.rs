//! A Beneš network: any permutation of p words through 2·log2 p − 1 columns of p/2 switches (section IV-D,
//! figure 7).
//!
//! The network with p inputs is a column of switches, two parallel networks with p/2 inputs, and a column of
//! switches; with two inputs it is one switch. The settings follow loops (V. Beneš, 1964; D. Opferman and N.
//! Tsao-Wu, Bell System Technical Journal 50, 1971): the two words of a switch use different halves, both at
//! the input and at the output.

/// Settings of the switches: by column, then by switch from the top; `true` crosses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    columns: Vec<Vec<bool>>,
    inputs: usize,
}

impl Routing {
    /// The setting that routes input `source[o]` to output o.
    ///
    /// # Panics
    /// If `source` is not a permutation of a power of two of at least two numbers.
    pub fn new(source: &[usize]) -> Self {
        let inputs = source.len();
        assert!(inputs >= 2 && inputs.is_power_of_two(), "a network of a power of two of inputs");
        let mut seen = vec![false; inputs];
        source.iter().for_each(|&from| seen[from] = true);
        assert!(seen.iter().all(|&seen| seen), "a permutation");
        let mut routing = Self { columns: vec![vec![false; inputs / 2]; Self::column_count(inputs)], inputs };
        routing.route(source, 0, 0);
        routing
    }

    pub fn column_count(inputs: usize) -> usize {
        2 * inputs.ilog2() as usize - 1
    }

    pub fn switch_count(inputs: usize) -> usize {
        Self::column_count(inputs) * inputs / 2
    }

    /// Sets the sub-network of `source.len()` inputs in column `depth`, from input `first` on.
    fn route(&mut self, source: &[usize], depth: usize, first: usize) {
        let (count, last) = (source.len(), self.columns.len() - 1 - depth);
        if count == 2 {
            self.columns[depth][first / 2] = source[0] == 1;
            return;
        }
        let mut output_of = vec![0; count];
        source.iter().enumerate().for_each(|(output, &from)| output_of[from] = output);
        // The half that each output's word uses.
        let mut lower = vec![None; count];
        for start in 0..count {
            let mut output = start;
            while lower[output].is_none() {
                // This output uses the upper half, the other one of its switch the lower half; so the input
                // next to the lower one's uses the upper half.
                lower[output] = Some(false);
                lower[output ^ 1] = Some(true);
                output = output_of[source[output ^ 1] ^ 1];
            }
        }
        let mut halves = [vec![0; count / 2], vec![0; count / 2]];
        for output in 0..count {
            let half = usize::from(lower[output] == Some(true));
            // If a switch crosses, its upper output comes from the lower half, or its upper input goes there.
            self.columns[last][(first + output) / 2] |= output.is_multiple_of(2) && half == 1;
            let input = source[output];
            self.columns[depth][(first + input) / 2] |= input.is_multiple_of(2) && half == 1;
            halves[half][output / 2] = input / 2;
        }
        for (half, source) in halves.iter().enumerate() {
            self.route(source, depth + 1, first + half * count / 2);
        }
    }

    /// The words after column `column` and the wires to the next one.
    ///
    /// # Panics
    /// If the number of words is not p, or there is no such column.
    pub fn pass(&self, column: usize, words: &mut Vec<u64>) {
        assert_eq!(words.len(), self.inputs, "a word for each input");
        for (pair, &crosses) in words.chunks_exact_mut(2).zip(&self.columns[column]) {
            if crosses {
                pair.swap(0, 1);
            }
        }
        let middle = self.columns.len() / 2;
        if column + 1 == self.columns.len() {
            return;
        }
        let block = if column < middle { self.inputs >> column } else { 4 << (column - middle) };
        let wired = words.chunks_exact(block).flat_map(|words| {
            (0..block).map(move |place| match column < middle {
                // Upper outputs to the upper half, lower ones to the lower.
                true => words[place % (block / 2) * 2 + place / (block / 2)],
                false => words[place / 2 + place % 2 * (block / 2)],
            })
        });
        *words = wired.collect();
    }

    /// The words after the whole network.
    ///
    /// # Panics
    /// If the number of words is not p.
    pub fn apply(&self, words: &[u64]) -> Vec<u64> {
        let mut words = words.to_vec();
        (0..self.columns.len()).for_each(|column| self.pass(column, &mut words));
        words
    }
}

#[cfg(test)]
mod tests {
    //! Does the network route every permutation?

    use super::*;
    use proptest::prelude::*;

    fn check(source: &[usize]) {
        let words: Vec<u64> = (0..source.len() as u64).map(|word| word * 3 + 1).collect();
        let expected: Vec<u64> = source.iter().map(|&from| words[from]).collect();
        assert_eq!(Routing::new(source).apply(&words), expected, "{source:?}");
    }

    #[test]
    fn every_permutation_of_two_four_and_eight() {
        fn permutations(count: usize) -> Vec<Vec<usize>> {
            if count == 0 {
                return vec![vec![]];
            }
            let insert = |shorter: Vec<usize>| {
                (0..count).map(move |place| {
                    let mut longer = shorter.clone();
                    longer.insert(place, count - 1);
                    longer
                })
            };
            permutations(count - 1).into_iter().flat_map(insert).collect()
        }
        for count in [2, 4, 8] {
            permutations(count).iter().for_each(|source| check(source));
        }
    }

    proptest! {
        #[test]
        fn permutations_of_the_machines_lanes(source in Just((0..512usize).collect::<Vec<_>>()).prop_shuffle()) {
            check(&source);
        }
    }

    #[test]
    fn the_machines_network() {
        assert_eq!((Routing::column_count(512), Routing::switch_count(512)), (17, 17 * 256));
    }
}
