use std::collections::VecDeque;

/// A line of registers.
#[derive(Clone, Debug)]
pub(super) struct DelayLine<T>(VecDeque<Option<T>>);

impl<T> DelayLine<T> {
    /// `cycles` empty registers.
    pub(super) fn new(cycles: usize) -> Self {
        Self((0..cycles).map(|_| None).collect())
    }

    /// One cycle.
    pub(super) fn step(&mut self, item: Option<T>) -> Option<T> {
        self.0.push_back(item);
        self.0.pop_front().flatten()
    }
}
