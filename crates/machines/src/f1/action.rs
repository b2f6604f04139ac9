//! What the components of F1 do, and when: the result of compilation.

/// A vector's place in the scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Bank.
    pub bank: u16,
    /// Vector within the bank.
    pub index: u16,
}

/// A vector's place in a cluster's register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// Cluster.
    pub cluster: u16,
    /// Vector within its register file.
    pub index: u16,
}

/// Where a functional unit takes a vector from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A register of its cluster.
    Register(u16),
    /// The scratchpad, through the first crossbar, chunk by chunk as it is consumed (section 3: a bank sends a vector to a unit at
    /// that rate).
    Scratchpad(Frame),
    /// A register of another cluster, through the third crossbar.
    Cluster(Register),
}

/// Where a functional unit puts its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// A register of its cluster.
    Register(u16),
    /// The scratchpad, through the second crossbar, as it is produced.
    Scratchpad(Frame),
}

/// One operation of one component, or one transfer between two. Each moves one vector, a chunk a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// From a memory stack to the scratchpad. `value`: what off-chip memory is asked for.
    Load {
        /// Stack.
        stack: u16,
        /// Where to.
        frame: Frame,
        /// Number of the value.
        value: u32,
    },
    /// From the scratchpad to a memory stack.
    Store {
        /// Stack.
        stack: u16,
        /// Where from.
        frame: Frame,
        /// Number of the value.
        value: u32,
    },
    /// From the scratchpad to a register file, through the first crossbar.
    Fetch {
        /// Where from.
        frame: Frame,
        /// Where to.
        register: Register,
        /// Number of the value.
        value: u32,
    },
    /// From a register file to the scratchpad, through the second crossbar.
    WriteBack {
        /// Where from.
        register: Register,
        /// Where to.
        frame: Frame,
        /// Number of the value.
        value: u32,
    },
    /// From a register file to another one, through the third crossbar.
    Forward {
        /// Where from.
        from: Register,
        /// Where to.
        to: Register,
        /// Number of the value.
        value: u32,
    },
    /// An instruction on a functional unit.
    Execute {
        /// Instruction of the graph.
        instruction: u32,
        /// Cluster.
        cluster: u16,
        /// Unit among those of its kind in the cluster.
        unit: u8,
        /// Its operands; the second repeats the first where there is one.
        operands: [Source; 2],
        /// Its result.
        result: Destination,
    },
}

/// An action and the cycle in which it takes its first chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timed {
    /// Cycle.
    pub cycle: u64,
    /// Action.
    pub action: Action,
}
