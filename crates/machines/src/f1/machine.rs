//! F1's figures, checked, and the latencies that follow from its structure.

use super::action::Source;
use super::graph::{Function, UnitKind};
use super::units::{AutomorphismUnit, Shape, ShapeError, Transpose};
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::RingDegree;

/// Bytes of a residue (section 3: 32-bit words).
pub const WORD_BYTES: u64 = 4;

/// Registers in the arithmetic units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineDepth {
    /// Cycles of a modular multiplier.
    pub multiplier: u64,
    /// Cycles of a modular adder.
    pub adder: u64,
    /// Cycles through a crossbar.
    pub network: u64,
}

/// Units of lower throughput than the paper's own, of which there are as many more (section 8.3, table 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowThroughput {
    /// NTT units that work on one stage of butterflies at a time, as HEAX's do: E/2 butterflies a cycle, so a vector
    /// occupies a unit for log2 N passes of G cycles. It enters in the first pass and leaves in the last.
    Ntt,
    /// Automorphism units that move one element a cycle through a memory. A vector enters and leaves at E elements a cycle,
    /// and occupies a unit for N cycles.
    Automorphism,
}

impl LowThroughput {
    /// Both, in the order of table 5.
    pub const ALL: [Self; 2] = [Self::Ntt, Self::Automorphism];

    /// The kind of unit.
    pub fn kind(self) -> UnitKind {
        match self {
            Self::Ntt => UnitKind::Ntt,
            Self::Automorphism => UnitKind::Automorphism,
        }
    }

    /// How many such units have the throughput of one of the paper's, on vectors of `degree`.
    fn units(self, degree: RingDegree, lanes: usize) -> usize {
        match self {
            Self::Ntt => degree.get().ilog2() as usize,
            Self::Automorphism => lanes,
        }
    }
}

/// One F1.
#[derive(Clone, Debug, PartialEq)]
pub struct F1 {
    /// Clock in Hz.
    pub clock_hz: f64,
    /// Compute clusters.
    pub clusters: usize,
    /// Lanes E of a functional unit, also words a cycle of every port.
    pub lanes: usize,
    /// Units of each kind in a cluster, in the order of [`UnitKind::ALL`].
    pub units: [usize; 4],
    /// Bytes of a cluster's register file.
    pub register_file: u64,
    /// Banks of a register file, over which each vector is striped.
    pub register_banks: usize,
    /// Accesses of a register or scratchpad bank a cycle (memories are double-pumped).
    pub accesses_per_cycle: usize,
    /// Whether a crossbar can send one read of a bank or of a register file to several clusters.
    pub multicast: bool,
    /// Scratchpad banks.
    pub banks: usize,
    /// Bytes of a scratchpad bank.
    pub bank_bytes: u64,
    /// HBM2 stacks, each with its own channel.
    pub stacks: usize,
    /// Bytes a cycle of a stack.
    pub stack_bytes: f64,
    /// Cycles from a request to its first byte, at worst.
    pub memory_latency: u64,
    /// Registers in the arithmetic units.
    pub depth: PipelineDepth,
    /// The kind of unit that has low throughput, if there is one.
    pub low_throughput: Option<LowThroughput>,
}

/// Registers of a cluster, or frames of a bank, that have a number.
const MOST_NUMBERS: u64 = u16::MAX as u64;

/// Frames of the scratchpad that the checker keeps account of: some 450 MiB.
const MOST_FRAMES: u64 = 1 << 20;

/// A machine on rings of one degree: everything in cycles and vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// N of the ring.
    pub degree: RingDegree,
    /// Elements of a vector: N, or E² where a ring is larger and its polynomials are several vectors.
    pub vector: RingDegree,
    /// Lanes and chunks.
    pub shape: Shape,
    /// Cycles that a vector occupies a port or a crossbar: G.
    pub occupancy: u64,
    /// Cycles that a vector occupies a unit of each kind: G, unless its throughput is low.
    unit_occupancy: [u64; 4],
    /// Cycles that a vector occupies the channel of a stack.
    pub transfer: u64,
    /// Cycles from a load's start to its first chunk in the scratchpad. A stack's interface holds back what comes slower than readers
    /// take it (section 3: data that arrives earlier is buffered), so that from then on a chunk is written a cycle.
    pub load_latency: u64,
    /// Vectors in a cluster's register file.
    pub registers: usize,
    /// Vectors in a scratchpad bank.
    pub frames: usize,
    /// Cycles from the first chunk in to the first chunk out: forward and inverse NTT, automorphism, multiply, add.
    latency: [u64; 4],
}

/// Why a ring does not run on a machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GeometryError {
    /// The ring does not fit the units.
    #[error("the ring does not fit the units: {0}")]
    Shape(#[from] ShapeError),
    /// Too few vectors fit a memory.
    #[error(
        "{memory} of {bytes} bytes holds {vectors} vectors of {degree} residues, and at least {needed} are needed: take a \
         smaller ring, or enlarge it in the machine file"
    )]
    Capacity {
        /// Memory.
        memory: &'static str,
        /// Its size.
        bytes: u64,
        /// Vectors that fit.
        vectors: u64,
        /// N.
        degree: usize,
        /// Vectors that are needed.
        needed: u64,
    },
    /// More vectors than have a number, or than a check of schedules keeps account of.
    #[error(
        "{memory} of {bytes} bytes holds {vectors} vectors of {degree} residues, and schedules place {most} at most: take a \
         larger ring, or reduce it in the machine file"
    )]
    Many {
        /// Memory.
        memory: &'static str,
        /// Its size.
        bytes: u64,
        /// Vectors that fit.
        vectors: u64,
        /// Elements of a vector.
        degree: usize,
        /// Vectors that schedules place there.
        most: u64,
    },
    /// More units than have a number.
    #[error("{units} {kind} units of low throughput in a cluster; there are at most 255: take fewer of the full ones")]
    Units {
        /// Kind of unit.
        kind: &'static str,
        /// How many.
        units: usize,
    },
}

impl F1 {
    /// The machine on rings of `degree`.
    ///
    /// # Errors
    /// [`GeometryError`] if vectors of that length do not fit the units, the register files or the scratchpad.
    pub fn geometry(&self, degree: RingDegree) -> Result<Geometry, GeometryError> {
        let vector = self.vector(degree);
        let shape = Shape::new(vector, self.lanes)?;
        let bytes = vector.get() as u64 * WORD_BYTES;
        let fits = |memory, capacity: u64, needed, most| {
            let (vectors, degree) = (capacity / bytes, vector.get());
            if vectors < needed {
                return Err(GeometryError::Capacity { memory, bytes: capacity, vectors, degree, needed });
            }
            if vectors > most {
                return Err(GeometryError::Many { memory, bytes: capacity, vectors, degree, most });
            }
            Ok(vectors as usize)
        };
        // Two operands and a result of one instruction, and room for one vector on its way.
        let registers = fits("a register file", self.register_file, 4, MOST_NUMBERS)?;
        let frames = fits("a scratchpad bank", self.bank_bytes, 1, MOST_NUMBERS)?;
        fits("the scratchpad", self.bank_bytes * self.banks as u64, 4, MOST_FRAMES)?;
        let PipelineDepth { multiplier, adder, .. } = self.depth;
        // log2 layers of butterflies, the multiplication, the transpose, log2 G layers (figure 8).
        let butterfly = multiplier + adder;
        let layers = u64::from(shape.lanes().ilog2() + shape.chunks().ilog2());
        let ntt = layers * butterfly + multiplier + Transpose::<u32>::latency(shape);
        let occupancy = shape.chunks() as u64;
        let mut unit_occupancy = [occupancy; 4];
        let mut latency = [ntt, AutomorphismUnit::latency(shape), multiplier, adder];
        if let Some(variant) = self.low_throughput {
            let kind = variant.kind() as usize;
            let passes = variant.units(vector, self.lanes) as u64;
            unit_occupancy[kind] = passes * occupancy;
            latency[kind] = match variant {
                // The last pass gives a chunk a cycle; every pass goes through a butterfly's registers.
                LowThroughput::Ntt => (passes - 1) * occupancy + passes * butterfly,
                LowThroughput::Automorphism => passes * occupancy,
            };
        }
        let transfer = (bytes as f64 / self.stack_bytes).ceil() as u64;
        Ok(Geometry {
            degree,
            vector,
            shape,
            occupancy,
            unit_occupancy,
            transfer,
            load_latency: self.memory_latency + transfer.saturating_sub(occupancy),
            registers,
            frames,
            latency,
        })
    }

    /// Elements of the vectors that polynomials of `degree` are.
    fn vector(&self, degree: RingDegree) -> RingDegree {
        RingDegree::new(self.lanes.saturating_mul(self.lanes)).map_or(degree, |longest| degree.min(longest))
    }

    /// The machine with units of low throughput, as many as have the throughput of the full ones on vectors of `degree`.
    ///
    /// # Errors
    /// [`GeometryError::Units`] if a cluster has too many of them.
    pub fn with_low_throughput(&self, variant: LowThroughput, degree: RingDegree) -> Result<Self, GeometryError> {
        let mut machine = Self { low_throughput: Some(variant), ..self.clone() };
        let (kind, units) = (variant.kind(), &mut machine.units[variant.kind() as usize]);
        *units *= variant.units(self.vector(degree), self.lanes);
        match *units {
            0..=255 => Ok(machine),
            units => Err(GeometryError::Units { kind: kind.name(), units }),
        }
    }

    /// Multipliers of an NTT unit that is built as section 5.2 describes it: a butterfly's in each of log2 E layers of both networks, as the
    /// negacyclic transform of either direction has a factor in all of them; one for each lane between the networks; and in the first layer one
    /// for each operand that its butterfly does not multiply, which reduces residues of another limb.
    pub fn ntt_multipliers(&self) -> u64 {
        let (lanes, layers) = (self.lanes as u64, u64::from(self.lanes.ilog2()));
        2 * layers * (lanes / 2) + lanes + lanes / 2
    }

    /// Units of a kind on the chip.
    pub fn unit_count(&self, kind: UnitKind) -> usize {
        self.units[kind as usize] * self.clusters
    }
}

impl Geometry {
    /// The vectors of a polynomial.
    pub fn subpolynomials(&self) -> Subpolynomials {
        Subpolynomials::new(self.degree, self.vector)
    }

    /// Cycles from the first chunk in to the first chunk out.
    pub fn latency(&self, function: Function) -> u64 {
        self.latency_of(function.unit())
    }

    /// The same of a kind of unit.
    pub fn latency_of(&self, kind: UnitKind) -> u64 {
        self.latency[kind as usize]
    }

    /// Lines of the scratchpad and of all register files.
    pub(super) fn lines(&self, machine: &F1) -> usize {
        machine.banks * self.frames + machine.clusters * self.registers
    }

    /// The line that a crossbar takes a vector from, numbered through a scratchpad of so many `banks` and then the register files; none
    /// for a unit's own register file.
    pub(super) fn line(&self, of: Source, banks: usize) -> Option<usize> {
        match of {
            Source::Register(_) => None,
            Source::Scratchpad(frame) => Some(usize::from(frame.bank) * self.frames + usize::from(frame.index)),
            Source::Cluster(from) => {
                Some(banks * self.frames + usize::from(from.cluster) * self.registers + usize::from(from.index))
            }
        }
    }

    /// Cycles that a vector occupies a unit of a kind.
    pub fn occupancy_of(&self, kind: UnitKind) -> u64 {
        self.unit_occupancy[kind as usize]
    }
}
