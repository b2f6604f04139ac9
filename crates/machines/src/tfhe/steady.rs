//! Loops with a steady state: simulated iteration by iteration until two successive pairs differ by one shift in time.
//!
//! Every start time of such a loop is a maximum of earlier times plus constants. So once two successive pairs of iterations differ by one
//! shift, all later pairs do, and they are stored as one repeated block. Pairs are compared because buffers alternate.

/// A loop that can be run iteration by iteration.
pub trait Iterate {
    /// Start times of one iteration.
    type Times: Clone;

    /// Runs the next iteration.
    fn iteration(&mut self) -> Self::Times;

    /// The shift, if `later` is `earlier` shifted by one amount, in the same buffers.
    fn shift_between(earlier: &Self::Times, later: &Self::Times) -> Option<i64>;

    /// Advances the state by `cycles`, as if iterations that only shift had run.
    fn skip(&mut self, cycles: i64);
}

/// Iterations `first .. first + 2 · rounds`. The first two are given, and each next two start `period` later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steady<T> {
    /// Index of the first iteration.
    pub first: usize,
    /// Times of the first two.
    pub pair: [T; 2],
    /// Cycles of two iterations.
    pub period: i64,
    /// Number of pairs.
    pub rounds: usize,
}

/// All iterations of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled<T> {
    /// Iterations before the steady state.
    pub prologue: Vec<T>,
    /// The steady state.
    pub steady: Option<Steady<T>>,
    /// Iterations after it.
    pub epilogue: Vec<T>,
}

pub fn settle<L: Iterate>(run: &mut L, iterations: usize) -> Settled<L::Times> {
    let mut times: Vec<L::Times> = Vec::new();
    let mut steady = None;
    let mut epilogue = Vec::new();
    let mut done = 0;
    while done < iterations {
        times.push(run.iteration());
        done += 1;
        let remaining = iterations - done;
        // The first iteration is separate: it waits for resources that no other waits for.
        if let [_, .., a, b, c, d] = times.as_slice()
            && remaining >= 2
            && let (Some(period), Some(second)) = (L::shift_between(a, c), L::shift_between(b, d))
            && period == second
        {
            let extra = remaining / 2;
            let pair = [a.clone(), b.clone()];
            times.truncate(times.len() - 4);
            run.skip(period * extra as i64);
            steady = Some(Steady { first: times.len(), pair, period, rounds: extra + 2 });
            for _ in 0..remaining % 2 {
                epilogue.push(run.iteration());
            }
            done = iterations;
        }
    }
    Settled { prologue: times, steady, epilogue }
}

#[cfg(test)]
mod tests {
    //! Does the folded loop equal the iterations that it omits?

    use super::*;

    /// A loop whose iteration waits for itself and for a slower resource with two buffers.
    #[derive(Clone)]
    struct Toy {
        own: i64,
        buffers: [i64; 2],
        next: usize,
    }

    impl Iterate for Toy {
        type Times = (i64, usize);

        fn iteration(&mut self) -> (i64, usize) {
            let start = self.own.max(self.buffers[self.next]);
            let times = (start, self.next);
            self.own = start + 3;
            self.buffers[self.next] = start + 10 + self.next as i64;
            self.next = 1 - self.next;
            times
        }

        fn shift_between(earlier: &Self::Times, later: &Self::Times) -> Option<i64> {
            (earlier.1 == later.1).then(|| later.0 - earlier.0)
        }

        fn skip(&mut self, cycles: i64) {
            self.own += cycles;
            self.buffers.iter_mut().for_each(|time| *time += cycles);
        }
    }

    #[test]
    fn folded_is_unfolded() {
        let new = || Toy { own: 5, buffers: [0, 40], next: 0 };
        for count in 1..30 {
            let mut plain = new();
            let expected: Vec<_> = (0..count).map(|_| plain.iteration()).collect();
            let mut run = new();
            let settled = settle(&mut run, count);
            let mut found = settled.prologue.clone();
            if let Some(Steady { pair, period, rounds, .. }) = &settled.steady {
                for round in 0..*rounds as i64 {
                    found.extend(pair.iter().map(|&(start, buffer)| (start + round * period, buffer)));
                }
            }
            found.extend(settled.epilogue);
            assert_eq!(found, expected, "{count} iterations");
            assert_eq!((run.own, run.buffers), (plain.own, plain.buffers), "the state after {count}");
        }
    }
}
