//! Morphling's figures, checked, under one choice of readings.

use super::array::{PathRates, StepCycles};
use crate::torus::channels;
use crate::torus::pipeline::PipelineDepth;
use crate::torus::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_schemes::tfhe::Parameters;

/// Bytes of a complex transform value: 32 bits each for the real and the imaginary part (section V-A).
pub const POINT_BYTES: u64 = 8;

/// Bytes of a folded point's two coefficients.
pub const FOLDED_BYTES: u64 = 2 * COEFFICIENT_BYTES;

/// Widths of the links of the network on chip (section V-D), in bytes a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// From a bank of Private-A1 to its VPE row: all streams together.
    pub row_read: u64,
    /// From a VPE row to its bank.
    pub row_write: u64,
    /// From a bank of Private-A2 to its column of every XPU.
    pub key: u64,
    /// Between the Shared buffer and the banks of one XPU.
    pub link: u64,
    /// From Private-B and the Shared buffer to a lane group.
    pub vector_read: u64,
    /// From a lane group to them.
    pub vector_write: u64,
}

/// One Morphling.
#[derive(Clone, Debug, PartialEq)]
pub struct Morphling {
    /// Clock in Hz.
    pub clock_hz: f64,
    /// External product units.
    pub xpus: u64,
    /// VPE rows of an XPU: ciphertexts at a time.
    pub rows: u64,
    /// VPE columns of an XPU: polynomials of the accumulator.
    pub columns: u64,
    /// FFT units of an XPU.
    pub fft_units: u64,
    /// IFFT units of an XPU.
    pub ifft_units: u64,
    /// Folded points a cycle of an FFT unit.
    pub fft_points: u64,
    /// Folded points a cycle of a row's path.
    pub path_points: u64,
    /// Folded points a cycle of a row's IFFT unit.
    pub ifft_points: u64,
    /// Whether FFT units merge two polynomials.
    pub merge_split: bool,
    /// Whether the arithmetic of a merged transform is that of one complex transform of both polynomials, bit for bit; else each is
    /// folded alone, as in the interpreter.
    pub merges: bool,
    /// Registers in the arithmetic units.
    pub depth: PipelineDepth,
    /// Ciphertexts that use a key one after the other in a row, at most.
    pub key_streams: u64,
    /// Largest ring degree that the transforms have stages and the registers have room for.
    pub largest_ring: u64,
    /// Bytes of one POLY-ACC register.
    pub poly_acc: u64,
    /// Bytes of Private-A1, of one bank for each row.
    pub private_a1: u64,
    /// Polynomials that a row reads from its bank at a time.
    pub private_a1_streams: u64,
    /// Bytes of Private-A2.
    pub private_a2: u64,
    /// Banks of Private-A2: VPE column c has its key in bank c.
    pub private_a2_banks: u64,
    /// Bytes of Private-B.
    pub private_b: u64,
    /// Banks of Private-B: equal sets of them, one for each lane group.
    pub private_b_banks: u64,
    /// Bytes of the Shared buffer.
    pub shared: u64,
    /// Banks of the Shared buffer, each for equally many positions of a wave.
    pub shared_banks: u64,
    /// Key iterations that Private-A2 holds.
    pub key_buffers: u64,
    /// Links of the network on chip.
    pub network: Network,
    /// VPU lane groups.
    pub lane_groups: u64,
    /// Lanes of a group.
    pub lanes: u64,
    /// Vectors that a group's vector register file holds.
    pub registers: u64,
    /// Vectors a cycle that come to it.
    pub register_loads: u64,
    /// Whether a row of the key-switch key is read once for all lane groups; else each has an order of rows of its own.
    pub multicasts_rows: bool,
    /// HBM channels.
    pub channels: u64,
    /// Channels that bring the bootstrapping key: the first ones.
    pub key_channels: u64,
    /// Channels for everything else: the last ones. Apart from the key's, or the same.
    pub vector_channels: u64,
    /// Bytes a cycle of one channel.
    pub channel_bytes: f64,
    /// Cycles from a request to its first byte.
    pub memory_latency: u64,
}

impl Morphling {
    /// Ciphertexts that all rows take at a time.
    pub fn positions(&self) -> u64 {
        self.xpus * self.rows
    }

    /// Bytes of Private-A1 for one row.
    pub fn row_bank(&self) -> u64 {
        self.private_a1 / self.positions()
    }

    /// Bytes of a vector of a lane group.
    pub fn vector_bytes(&self) -> u64 {
        self.lanes * COEFFICIENT_BYTES
    }

    /// Bytes a cycle that a bank of Private-B or of the Shared buffer is read, and as many that it is written: a vector, or what
    /// one channel or link moves.
    pub fn bank_bytes(&self) -> u64 {
        self.vector_bytes().max(self.channel_bytes.ceil() as u64).max(self.network.link)
    }

    /// Positions of a wave that a lane group serves.
    pub fn group_positions(&self) -> u64 {
        self.positions() / self.lane_groups
    }

    /// Whether the key's channels serve the VPU too.
    pub fn shares_channels(&self) -> bool {
        self.key_channels + self.vector_channels > self.channels
    }

    /// Bytes a cycle for the bootstrapping key.
    pub fn key_rate(&self) -> f64 {
        self.channel_bytes * self.key_channels as f64
    }

    /// Cycles of `bytes` on one channel.
    pub fn channel_cycles(&self, bytes: u64) -> i64 {
        channels::cycles(bytes, self.channel_bytes)
    }

    /// Cycles of a key iteration of `bytes` on the key's channels, in equal stripes.
    pub fn key_cycles(&self, bytes: u64) -> i64 {
        self.channel_cycles(bytes.div_ceil(self.key_channels))
    }

    /// Cycles in which `vectors` come to a lane group's registers: over its link of the network, and into the register file.
    pub fn load_cycles(&self, vectors: u64) -> u64 {
        let bytes = vectors * self.vector_bytes();
        bytes.div_ceil((self.register_loads * self.vector_bytes()).min(self.network.vector_read))
    }

    /// Cycles in which `vectors` leave a lane group for the banks.
    pub fn return_cycles(&self, vectors: u64) -> u64 {
        (vectors * self.vector_bytes()).div_ceil(self.network.vector_write)
    }

    /// Folded points a cycle of one stream from a bank of Private-A1 to its row, as far as their link goes.
    pub fn stream_points(&self) -> u64 {
        self.network.row_read / self.private_a1_streams / FOLDED_BYTES
    }

    /// Folded points a cycle of the stream back, which is added to one that comes.
    pub fn return_points(&self) -> u64 {
        self.stream_points().min(self.network.row_write / FOLDED_BYTES)
    }

    /// Rates at which polynomials pass a row: those of its units, or of the network's links where these are narrower.
    pub fn streams(&self) -> PathRates {
        let path = self.path();
        let row_points = path.row_points.min(self.stream_points()).min(self.network.key / POINT_BYTES).max(1);
        let inverse_points = path.inverse_points.min(self.return_points()).max(1);
        PathRates { row_points, fft_points: row_points, inverse_points, ..path }
    }

    /// Rates of a row's units.
    pub fn path(&self) -> PathRates {
        let rows_per_fft = self.rows.div_ceil(self.fft_units);
        // Merged, the rows of a unit share its points at the same time; else each has all of them in turn.
        let share = if self.merge_split { self.fft_points / rows_per_fft } else { self.fft_points };
        PathRates {
            row_points: share.min(self.path_points).max(1),
            inverse_points: self.ifft_points,
            fft_points: share.min(self.path_points).max(1),
            merge_split: self.merge_split,
            rows_per_fft,
            rows: self.rows,
            columns: self.columns,
        }
    }

    /// Bytes of everything that a parameter set has.
    pub fn sizes(&self, parameters: &Parameters) -> Sizes {
        Sizes::new(parameters, parameters.ring_degree().get() as u64 / 2 * POINT_BYTES)
    }

    /// Cycles of every step for the `sizes` of a parameter set.
    pub fn steps(&self, sizes: &Sizes) -> StepCycles {
        let key = self.key_cycles(sizes.key);
        // Where the key shares its channels, one item of another transfer may pass between two iterations' keys.
        let gap = if self.shares_channels() { self.channel_cycles(sizes.large.max(sizes.small)) } else { 0 };
        StepCycles::new(sizes.ring_degree, &self.streams(), self.depth, (key, gap), self.memory_latency)
    }
}
