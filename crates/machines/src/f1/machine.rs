//! F1's figures, and the latencies that follow from its structure.

use super::action::Source;
use super::graph::{Function, UnitKind};
use super::units::{AutomorphismUnit, Shape, ShapeError, Transpose};
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::RingDegree;
use polyfabric_sim::description::Dimension::{Bandwidth, Bytes, Count, Cycles, Frequency};
use polyfabric_sim::description::{Description, FigureError, energy, figure, flag};
use polyfabric_sim::figures;

/// Bytes of a residue (section 3: 32-bit words).
pub const WORD_BYTES: u64 = 4;

/// Pipeline registers of the arithmetic units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineDepth {
    pub multiplier: u64,
    pub adder: u64,
    /// Cycles through a crossbar.
    pub network: u64,
}

/// Units with a lower throughput than the paper's, in a correspondingly larger number (section 8.3, table 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowThroughput {
    /// NTT units that process one stage of butterflies at a time, as in HEAX. At E/2 butterflies per cycle, a
    /// vector occupies a unit for log2 N passes of G cycles. It enters in the first pass and leaves in the
    /// last.
    Ntt,
    /// Automorphism units that move one element per cycle through a memory. A vector enters and leaves at E
    /// elements per cycle, and occupies a unit for N cycles.
    Automorphism,
}

impl LowThroughput {
    /// Both, in the order of table 5.
    pub const ALL: [Self; 2] = [Self::Ntt, Self::Automorphism];

    pub fn kind(self) -> UnitKind {
        match self {
            Self::Ntt => UnitKind::Ntt,
            Self::Automorphism => UnitKind::Automorphism,
        }
    }

    /// Number of such units with the throughput of one full unit, on vectors of `degree`.
    fn units(self, degree: RingDegree, lanes: usize) -> usize {
        match self {
            Self::Ntt => degree.get().ilog2() as usize,
            Self::Automorphism => lanes,
        }
    }
}

figures! {
    pub struct F1, SPECS {
        figure("clock", Frequency, 1e6, 1e11, "the clock") => clock_hz: f64;
        figure("units.cluster.count", Count, 1.0, 32.0, "the number of compute clusters") => clusters: usize;
        figure("units.cluster.lanes", Count, 2.0, 1024.0, "the lanes of a functional unit") => lanes: usize;
        figure("units.ntt.count", Count, 1.0, 64.0, "the NTT units of a cluster");
        figure("units.automorphism.count", Count, 1.0, 64.0, "the automorphism units of a cluster");
        figure("units.multiply.count", Count, 1.0, 64.0, "the multipliers of a cluster");
        figure("units.add.count", Count, 1.0, 64.0, "the adders of a cluster");
        figure("units.pipeline.multiplier", Cycles, 1.0, 64.0, "the registers of a multiplier");
        figure("units.pipeline.adder", Cycles, 1.0, 64.0, "the registers of an adder");
        figure("units.pipeline.network", Cycles, 1.0, 64.0, "the registers of a crossbar");
        flag("units.crossbar.multicast", "whether several clusters can receive one read") => multicast: bool;
        figure("memories.register_file.capacity", Bytes, 1024.0, 268435456.0, "a cluster's register file") => register_file: u64;
        figure("memories.register_file.banks", Count, 1.0, 64.0, "the banks of a register file") => register_banks: usize;
        figure("memories.register_file.accesses", Count, 1.0, 8.0, "the accesses of a memory bank per cycle") => accesses_per_cycle: usize;
        figure("memories.scratchpad.bank", Bytes, 1024.0, 134217728.0, "a scratchpad bank") => bank_bytes: u64;
        figure("memories.scratchpad.banks", Count, 1.0, 256.0, "the scratchpad banks") => banks: usize;
        figure("channels.hbm.count", Count, 1.0, 64.0, "the memory stacks") => stacks: usize;
        figure("channels.hbm.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of all stacks");
        figure("channels.hbm.latency", Cycles, 1.0, 1e6, "the latency of the memory") => memory_latency: u64;
        energy("channels.hbm.energy");
    }
    d => {
        /// Units of each kind in a cluster, in the order of [`UnitKind::ALL`].
        units: [usize; 4] = {
            let count = |kind: &str| d.count(&format!("units.{kind}.count")).map(|value| value as usize);
            [count("ntt")?, count("automorphism")?, count("multiply")?, count("add")?]
        },
        /// Bytes per cycle of a stack.
        stack_bytes: f64 = d.bytes_per_cycle("channels.hbm.bandwidth")? / d.value("channels.hbm.count")?,
        depth: PipelineDepth = PipelineDepth {
            multiplier: d.count("units.pipeline.multiplier")?,
            adder: d.count("units.pipeline.adder")?,
            network: d.count("units.pipeline.network")?,
        },
        /// The kind of unit with low throughput, if any.
        low_throughput: Option<LowThroughput> = None,
    }
}

/// Maximum number of registers in a cluster, or of frames in a bank, as their numbers have 16 bits.
const MOST_NUMBERS: u64 = u16::MAX as u64;

/// Maximum number of scratchpad frames that the checker supports, with some 450 MiB.
const MOST_FRAMES: u64 = 1 << 20;

/// A machine on rings of one degree, in cycles and vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// N of the ring.
    pub degree: RingDegree,
    /// Elements of a vector: N, or E² if a ring is larger and its polynomials are several vectors.
    pub vector: RingDegree,
    /// Lanes and chunks.
    pub shape: Shape,
    /// Cycles that a vector occupies a port or a crossbar: G.
    pub occupancy: u64,
    /// Cycles that a vector occupies a unit of each kind: G, unless its throughput is low.
    unit_occupancy: [u64; 4],
    /// Cycles that a vector occupies the channel of a stack.
    pub transfer: u64,
    /// Cycles from a load's start to its first chunk in the scratchpad. If the channel is slower than readers, a
    /// stack's interface delays the data (section 3: data that arrives earlier is buffered), so that afterwards one
    /// chunk is written per cycle.
    pub load_latency: u64,
    /// Vectors per cluster's register file.
    pub registers: usize,
    /// Vectors per scratchpad bank.
    pub frames: usize,
    /// Cycles from the first chunk in to the first chunk out: NTT, automorphism, multiply, add.
    latency: [u64; 4],
}

/// Why a ring does not run on a machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GeometryError {
    #[error("the ring does not fit the units: {0}")]
    Shape(#[from] ShapeError),
    #[error(
        "{memory} of {bytes} bytes has space for {vectors} vectors of {degree} residues, and at least {needed} are needed: use a \
         smaller ring, or enlarge it in the machine file"
    )]
    Capacity { memory: &'static str, bytes: u64, vectors: u64, degree: usize, needed: u64 },
    #[error(
        "{memory} of {bytes} bytes has space for {vectors} vectors of {degree} residues, and schedules place {most} at most: use a \
         larger ring, or reduce it in the machine file"
    )]
    Many { memory: &'static str, bytes: u64, vectors: u64, degree: usize, most: u64 },
    #[error("{units} {kind} units of low throughput in a cluster; at most 255 are supported: use fewer full units")]
    Units { kind: &'static str, units: usize },
}

impl F1 {
    /// Reads and checks the figures.
    pub fn new(d: &Description) -> Result<Self, FigureError> {
        let machine = Self::read(d)?;
        d.together(
            "units.cluster.lanes",
            "memories.register_file.banks",
            "lanes are a power of two, as the transforms are, and the banks divide them",
            machine.lanes.is_power_of_two() && machine.lanes.is_multiple_of(machine.register_banks),
        )?;
        d.together(
            "memories.register_file.banks",
            "memories.register_file.accesses",
            "two operands and a result of one instruction need three accesses per cycle",
            machine.register_banks * machine.accesses_per_cycle >= 3 && machine.accesses_per_cycle >= 2,
        )?;
        Ok(machine)
    }

    /// The machine on rings of `degree`.
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
        // Two operands and a result of one instruction, and one vector in transit.
        let registers = fits("a register file", self.register_file, 4, MOST_NUMBERS)?;
        let frames = fits("a scratchpad bank", self.bank_bytes, 1, MOST_NUMBERS)?;
        fits("the scratchpad", self.bank_bytes * self.banks as u64, 4, MOST_FRAMES)?;
        let PipelineDepth { multiplier, adder, .. } = self.depth;
        // log2 layers of butterflies, the multiplication, the transpose, log2 G layers (figure 8).
        let butterfly = multiplier + adder;
        let layers = u64::from(shape.lanes().ilog2() + shape.chunks().ilog2());
        let ntt = layers * butterfly + multiplier + Transpose::latency(shape);
        let occupancy = shape.chunks() as u64;
        let mut unit_occupancy = [occupancy; 4];
        let mut latency = [ntt, AutomorphismUnit::latency(shape), multiplier, adder];
        if let Some(variant) = self.low_throughput {
            let kind = variant.kind() as usize;
            let passes = variant.units(vector, self.lanes) as u64;
            unit_occupancy[kind] = passes * occupancy;
            latency[kind] = match variant {
                // The last pass produces one chunk per cycle; every pass uses a butterfly's registers.
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

    /// Elements per vector for polynomials of `degree`.
    fn vector(&self, degree: RingDegree) -> RingDegree {
        RingDegree::new(self.lanes.saturating_mul(self.lanes)).map_or(degree, |longest| degree.min(longest))
    }

    /// The machine with low-throughput units, in the number that preserves the throughput on vectors of
    /// `degree`.
    pub fn with_low_throughput(&self, variant: LowThroughput, degree: RingDegree) -> Result<Self, GeometryError> {
        let mut machine = Self { low_throughput: Some(variant), ..self.clone() };
        let (kind, units) = (variant.kind(), &mut machine.units[variant.kind() as usize]);
        *units *= variant.units(self.vector(degree), self.lanes);
        match *units {
            0..=255 => Ok(machine),
            units => Err(GeometryError::Units { kind: kind.name(), units }),
        }
    }

    /// Multipliers of an NTT unit as section 5.2 describes it. Each of the log2 E layers of both networks has
    /// one per butterfly, as the negacyclic transform has a factor in all layers, in both directions. There is
    /// one per lane between the networks. The first layer has one for each operand that its butterfly does not
    /// multiply, to reduce residues of another limb.
    pub fn ntt_multipliers(&self) -> u64 {
        let (lanes, layers) = (self.lanes as u64, u64::from(self.lanes.ilog2()));
        2 * layers * (lanes / 2) + lanes + lanes / 2
    }

    /// Number of units of a kind on the chip.
    pub fn unit_count(&self, kind: UnitKind) -> usize {
        self.units[kind as usize] * self.clusters
    }
}

impl Geometry {
    pub fn subpolynomials(&self) -> Subpolynomials {
        Subpolynomials::new(self.degree, self.vector)
    }

    /// Cycles from the first chunk in to the first chunk out.
    pub fn latency(&self, function: Function) -> u64 {
        self.latency_of(function.unit())
    }

    pub fn latency_of(&self, kind: UnitKind) -> u64 {
        self.latency[kind as usize]
    }

    /// Number of lines of the scratchpad and all register files.
    pub(super) fn lines(&self, machine: &F1) -> usize {
        machine.banks * self.frames + machine.clusters * self.registers
    }

    /// The line from which a crossbar reads a vector, numbered through a scratchpad of `banks` banks and then
    /// the register files; `None` for a unit's local register file.
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
