//! Test polynomials, stored as runs of equal coefficients: a table of a few messages has few runs.

use polyfabric_kernels::Torus;

/// `length` consecutive coefficients equal to `value`, which uses the low torus-width bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConstantRun {
    /// At least 1.
    pub length: u32,
    pub value: u64,
}

/// The polynomial v of a blind rotation. The result for phase p / 2N is v_p for p < N, and -v_(p - N) from N on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TestPolynomial {
    runs: Vec<ConstantRun>,
}

impl TestPolynomial {
    pub fn from_coefficients(coefficients: impl IntoIterator<Item = u64>) -> Self {
        let mut runs: Vec<ConstantRun> = Vec::new();
        for value in coefficients {
            match runs.last_mut() {
                Some(run) if run.value == value => run.length += 1,
                _ => runs.push(ConstantRun { length: 1, value }),
            }
        }
        Self { runs }
    }

    /// A polynomial from runs in order; adjacent runs of equal value are merged.
    pub fn from_runs(given: impl IntoIterator<Item = ConstantRun>) -> Self {
        let mut runs: Vec<ConstantRun> = Vec::new();
        for run in given.into_iter().filter(|run| run.length > 0) {
            match runs.last_mut() {
                Some(last) if last.value == run.value => {
                    last.length = last.length.saturating_add(run.length);
                }
                _ => runs.push(run),
            }
        }
        Self { runs }
    }

    /// Interleaves `parts`: coefficient i of part j becomes coefficient t·i + j of a polynomial of degree `degree`, where t is the next
    /// power of two from the number of parts; unused coefficients are 0. After a rotation by a multiple of t, the first coefficients
    /// are each part's results.
    pub fn in_turns(parts: &[Self], degree: usize) -> Self {
        if let [only] = parts {
            return only.clone();
        }
        let turns = parts.len().next_power_of_two();
        let parts: Vec<Vec<u64>> = parts.iter().map(Self::coefficients).collect();
        let at = |place: usize| parts.get(place % turns).and_then(|part| part.get(place / turns)).copied().unwrap_or(0);
        Self::from_coefficients((0..degree).map(at))
    }

    /// The polynomials of a packed table: entry v of output `o` is coefficient v·2^`log2_outputs` + o of them all; unused coefficients are 0.
    pub fn packed(outputs: &[Vec<u64>], log2_outputs: u32, degree: usize) -> Vec<Self> {
        let entries = outputs.first().map_or(0, Vec::len);
        let at = |place: usize| {
            let (entry, output) = (place >> log2_outputs, place & ((1 << log2_outputs) - 1));
            outputs.get(output).and_then(|entries| entries.get(entry)).copied().unwrap_or(0)
        };
        let polynomials = (entries << log2_outputs).div_ceil(degree);
        (0..polynomials).map(|p| Self::from_coefficients((p * degree..(p + 1) * degree).map(at))).collect()
    }

    /// Runs from the constant coefficient up.
    pub fn runs(&self) -> &[ConstantRun] {
        &self.runs
    }

    pub fn degree(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.length)).sum()
    }

    pub fn coefficients<T: Torus>(&self) -> Vec<T> {
        let run = |run: &ConstantRun| std::iter::repeat_n(T::from_u64(run.value), run.length as usize);
        self.runs.iter().flat_map(run).collect()
    }
}
