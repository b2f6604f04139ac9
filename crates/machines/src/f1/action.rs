//! Actions of F1's components with their cycles: the compiler's output.

/// A vector's place in the scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    pub bank: u16,
    /// Vector within the bank.
    pub index: u16,
}

/// A vector's place in a cluster's register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    pub cluster: u16,
    /// Vector within its register file.
    pub index: u16,
}

/// The source of a functional unit's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A register of its cluster.
    Register(u16),
    /// The scratchpad, through the first crossbar, chunk by chunk as it is consumed (section 3: a bank sends a
    /// vector to a unit at that rate).
    Scratchpad(Frame),
    /// A register of another cluster, through the third crossbar.
    Cluster(Register),
}

/// The destination of a functional unit's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// A register of its cluster.
    Register(u16),
    /// The scratchpad, through the second crossbar, as it is produced.
    Scratchpad(Frame),
}

/// An operation of a component, or a transfer between two. Each processes one vector, one chunk per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// From a memory stack to the scratchpad.
    Load { stack: u16, frame: Frame, value: u32 },
    /// From the scratchpad to a memory stack.
    Store { stack: u16, frame: Frame, value: u32 },
    /// From the scratchpad to a register file, through the first crossbar.
    Fetch { frame: Frame, register: Register, value: u32 },
    /// From a register file to the scratchpad, through the second crossbar.
    WriteBack { register: Register, frame: Frame, value: u32 },
    /// From a register file to another one, through the third crossbar.
    Forward { from: Register, to: Register, value: u32 },
    /// An instruction on a functional unit.
    Execute {
        /// Index in the graph.
        instruction: u32,
        cluster: u16,
        /// Unit among those of its kind in the cluster.
        unit: u8,
        /// A unary instruction repeats its operand.
        operands: [Source; 2],
        result: Destination,
    },
}

/// An action and the cycle of its first chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timed {
    pub cycle: u64,
    pub action: Action,
}
