//! Where the cycles of a unit class went: exclusive categories that sum to the total.
//!
//! A unit's time consists of its events and of the gaps before, between and after them. For each gap the checker asks
//! two questions.
//!
//! Which constraint was satisfied last? For the event that ends the gap, the checker computes the earliest start that
//! each operand, each destination and the unit itself allowed. Units of one pipeline (see
//! [`super::schedule::MemoryKind::Wire`]) start together. So the constraints of all of them count for each: a late key
//! at the end of a pipeline also delays its beginning. Cycles after the last constraint were chosen by the schedule
//! alone: slack.
//!
//! Why was that constraint satisfied so late? The gap is read backwards. While the producer of the missing operand was
//! at work, the gap is charged to the producer. Before that, it is charged to the cause of the producer's own wait, and
//! so on. If the operand streams, the consumer follows the producer at a fixed distance, and its gap is the producer's,
//! seen later.

/// Category of a cycle of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stall {
    /// At work at the unit's own rate.
    Busy,
    /// Before the first result reaches the unit, and after its last event.
    FillDrain,
    /// Waiting for a part of the bootstrapping key.
    BootstrapKey,
    /// Waiting for a part of the key-switching key.
    KeySwitchKey,
    /// Waiting for any other transfer over a channel.
    Transfer,
    /// Waiting for the vector unit.
    VectorUnit,
    /// Waiting for a place in a buffer or register to be read out by others.
    Buffer,
    /// Waiting for an earlier result to come out of the pipeline.
    Dependency,
    /// Another unit of the same pipeline is fully busy, or feeds this one below its rate.
    Upstream,
    /// Nothing forced the wait: the schedule chose it.
    Slack,
    /// The unit, or a part of it, has nothing to do in this program.
    Unused,
}

impl Stall {
    /// All categories, in report order.
    pub const ALL: [Stall; 11] = [
        Stall::Busy,
        Stall::FillDrain,
        Stall::BootstrapKey,
        Stall::KeySwitchKey,
        Stall::Transfer,
        Stall::VectorUnit,
        Stall::Buffer,
        Stall::Dependency,
        Stall::Upstream,
        Stall::Slack,
        Stall::Unused,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stall::Busy => "busy",
            Stall::FillDrain => "pipeline_fill_drain",
            Stall::BootstrapKey => "bootstrap_key",
            Stall::KeySwitchKey => "key_switch_key",
            Stall::Transfer => "other_transfer",
            Stall::VectorUnit => "vector_unit",
            Stall::Buffer => "buffer",
            Stall::Dependency => "dependency_latency",
            Stall::Upstream => "upstream_unit",
            Stall::Slack => "scheduler_slack",
            Stall::Unused => "unused_unit",
        }
    }

    /// Rank among constraints that were satisfied in the same cycle: the highest is charged. Waits for the outside of
    /// the machine rank above waits within it.
    pub(crate) fn precedence(self) -> u8 {
        match self {
            Stall::BootstrapKey => 9,
            Stall::KeySwitchKey => 8,
            Stall::Transfer => 7,
            Stall::VectorUnit => 6,
            Stall::Buffer => 5,
            Stall::Dependency => 4,
            Stall::Upstream => 3,
            Stall::FillDrain => 2,
            Stall::Busy => 1,
            Stall::Slack | Stall::Unused => 0,
        }
    }
}

/// Cycles of each category, summed over the units of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally(pub [i64; Stall::ALL.len()]);

impl Tally {
    /// Adds cycles to a category.
    pub fn add(&mut self, stall: Stall, cycles: i64) {
        self.0[stall as usize] += cycles;
    }

    /// Cycles of a category.
    pub fn get(&self, stall: Stall) -> i64 {
        self.0[stall as usize]
    }

    /// Sum over all categories.
    pub fn total(&self) -> i64 {
        self.0.iter().sum()
    }

    pub(crate) fn accumulate(&mut self, other: &Self, times: i64) {
        self.0.iter_mut().zip(&other.0).for_each(|(cycles, other)| *cycles += times * other);
    }
}

/// Stalls of one unit class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassStalls {
    /// Unit class.
    pub class: String,
    /// Number of units.
    pub units: u64,
    /// Cycles summed over the units; their total is `units` times the schedule's cycles.
    pub tally: Tally,
}

impl ClassStalls {
    /// Cycles of a category, averaged over the units.
    pub fn mean(&self, stall: Stall) -> f64 {
        self.tally.get(stall) as f64 / self.units.max(1) as f64
    }
}
