//! Divides the local and the global scratchpad into sections.

use super::machine::Pipeline;
use crate::tfhe::sizes::{Ring, Sizes};
use polyfabric_schemes::tfhe::Parameters;

/// The sizes that a program needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ciphertexts of the largest batch.
    pub ciphertexts: u64,
    /// Maximum number of distinct test polynomials per epoch.
    pub tables: u64,
    /// Whether the program switches keys.
    pub switches: bool,
    /// Bytes of the largest ciphertext of a linear layer, or 0.
    pub linear: u64,
}

/// Why a parameter set does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error(
        "`memories.{memory}.capacity` is {available} bytes and {needed} are needed for {content} of set `{set}`: choose a \
         smaller parameter set, or enlarge it in the machine file"
    )]
    Memory { memory: &'static str, available: u64, needed: u64, content: &'static str, set: String },
    #[error(
        "set `{set}` has ring degree N = {ring_degree} and the transforms support rings of up to N = {largest}: choose a set with \
         a smaller ring, or enlarge `units.core.largest_ring` in the machine file"
    )]
    Ring { set: String, ring_degree: u64, largest: u64 },
}

/// The sections of the scratchpads for one parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub sizes: Sizes,
    /// Ciphertexts per core in an epoch: the core-level batch.
    pub waves: u64,
    /// Local, PBS cluster: accumulator and rotation amounts of each ciphertext.
    pub resident: Ring,
    /// Local, key-switch cluster: extracted ciphertexts under the large key.
    pub large: Ring,
    /// Local, key-switch cluster: sums of the key switch.
    pub sums: Ring,
    /// Local, key-switch cluster: sums of linear layers.
    pub linear: Ring,
    /// Global: the bootstrapping key of one iteration per entry.
    pub keys: Ring,
    /// Global: tiles of the key-switch key.
    pub tiles: Ring,
    /// Mask elements per tile of the key-switch key, or 0.
    pub tile_elements: u64,
    /// Global: ciphertexts to be processed, one wave per entry.
    pub incoming: Ring,
    /// Global: test polynomials of an epoch.
    pub tables: Ring,
    /// Global: results, one wave per entry.
    pub outgoing: Ring,
    /// Global: operands of linear layers.
    pub operands: Ring,
}

/// Maximum bytes of a tile of the key-switch key: enough for long bursts, and many tiles fit the global scratchpad.
const TILE_BYTES: u64 = 1 << 20;

/// Maximum bytes of a block of operands of a linear layer.
const OPERAND_BYTES: u64 = 1 << 20;

impl Layout {
    pub fn new(machine: &Pipeline, parameters: &Parameters, needs: Needs) -> Result<Self, LayoutError> {
        let ring_degree = parameters.ring_degree().get() as u64;
        let sizes = machine.sizes(parameters);
        let set = || parameters.name().to_owned();
        if ring_degree > machine.largest_ring {
            return Err(LayoutError::Ring { set: set(), ring_degree, largest: machine.largest_ring });
        }
        let fail =
            |memory, available, needed, content| LayoutError::Memory { memory, available, needed, content, set: set() };
        let resident = sizes.accumulator + sizes.rotations;
        let switched = if needs.switches { sizes.small } else { 0 };
        // Linear layers get an eighth for their sums, which stay while operands stream.
        let linear = if needs.linear > 0 { machine.local / 8 } else { 0 };
        let per_wave = resident + sizes.large + switched;
        let fitting = machine.local.saturating_sub(linear) / per_wave;
        if fitting == 0 {
            return Err(fail("local", machine.local, per_wave + linear, "one ciphertext a core"));
        }
        if needs.linear > linear {
            return Err(fail("local", machine.local, 8 * needs.linear, "one sum of a linear layer in an eighth of it"));
        }
        let waves = fitting.min(machine.batch).min(needs.ciphertexts.div_ceil(machine.cores).max(1));
        let mut local = 0;
        let mut section = |entry_bytes: u64, entries: u64| {
            let ring = Ring { offset: local, entry_bytes, entries };
            local = ring.end();
            ring
        };
        let resident = section(resident, waves);
        let large = section(sizes.large, waves);
        let sums = section(switched, if switched > 0 { waves } else { 0 });
        let linear = section(linear, u64::from(linear > 0));

        let element_bytes = if needs.switches { sizes.key_switch_levels * sizes.small } else { 0 };
        let tile_elements = match TILE_BYTES.min(machine.global / 8).checked_div(element_bytes) {
            None => 0,
            Some(fitting) => 1 << fitting.max(1).ilog2().min(ring_degree.ilog2()),
        };
        let mut global = 0;
        let mut section = |entry_bytes: u64, entries: u64| {
            let ring = Ring { offset: global, entry_bytes, entries };
            global = ring.end();
            ring
        };
        let keys = section(sizes.key, machine.key_buffers);
        let tiles = section(tile_elements * element_bytes, if element_bytes > 0 { machine.key_buffers } else { 0 });
        // Two epochs: one is processed while the next one is loaded.
        let incoming = section(machine.cores * sizes.large.max(sizes.small), 2 * waves);
        let tables = section(needs.tables.max(1) * sizes.polynomial, 2);
        let outgoing = section(machine.cores * sizes.large.max(sizes.small), waves);
        let operand_bytes = if needs.linear > 0 { OPERAND_BYTES.min(machine.global / 8).max(needs.linear) } else { 0 };
        let operands = section(operand_bytes, if needs.linear > 0 { 2 } else { 0 });
        if global > machine.global {
            let content = "keys, ciphertexts, test polynomials and operands";
            return Err(fail("global", machine.global, global, content));
        }
        Ok(Self {
            sizes,
            waves,
            resident,
            large,
            sums,
            linear,
            keys,
            tiles,
            tile_elements,
            incoming,
            tables,
            outgoing,
            operands,
        })
    }

    /// Ciphertexts per epoch: device-level times core-level batch.
    pub fn epoch(&self, machine: &Pipeline) -> u64 {
        machine.cores * self.waves
    }

    /// Byte offset of the rotation amounts in resident entry `wave`.
    pub fn rotations(&self, wave: u64) -> u64 {
        self.resident.entry(wave) + self.sizes.accumulator
    }

    /// Number of ciphertexts of `bytes` each in a block of operands.
    pub fn operand_block(&self, bytes: u64) -> u64 {
        (self.operands.entry_bytes / bytes).max(1)
    }

    /// Number of sums of `bytes` each of a linear layer that fit one core.
    pub fn linear_rows(&self, bytes: u64) -> u64 {
        (self.linear.entry_bytes / bytes).max(1)
    }
}
