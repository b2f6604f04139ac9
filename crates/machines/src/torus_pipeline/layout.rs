//! Where things lie: the sections of the local and the global scratchpad, from capacities in bytes.

use super::machine::Pipeline;
use crate::torus::sizes::{Ring, Sizes};
use polyfabric_schemes::tfhe::Parameters;

/// What a program needs room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ciphertexts of the largest batch.
    pub ciphertexts: u64,
    /// Different test polynomials of an epoch, at most.
    pub tables: u64,
    /// Whether keys are switched.
    pub switches: bool,
    /// Bytes of the largest ciphertext of a linear layer, 0 without one.
    pub linear: u64,
}

/// A parameter set that does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A memory is too small.
    #[error(
        "`memories.{memory}.capacity` is {available} bytes and {needed} are needed for {content} of set `{set}`: choose a \
         smaller parameter set, or enlarge it in the machine file"
    )]
    Memory {
        /// The memory.
        memory: &'static str,
        /// Its bytes.
        available: u64,
        /// Bytes needed at least.
        needed: u64,
        /// What for.
        content: &'static str,
        /// Name of the set.
        set: String,
    },
    /// The transforms have too few stages.
    #[error(
        "set `{set}` has ring degree N = {ring_degree} and the transforms hold rings of up to N = {largest}: choose a set with \
         a smaller ring, or enlarge `units.core.largest_ring` in the machine file"
    )]
    Ring {
        /// Name of the set.
        set: String,
        /// Its ring degree.
        ring_degree: u64,
        /// Largest ring degree of the machine.
        largest: u64,
    },
}

/// The scratchpads' division for one parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sizes of the objects.
    pub sizes: Sizes,
    /// Ciphertexts of a core in an epoch: the core-level batch.
    pub waves: u64,
    /// Local: accumulator and rotation amounts of each ciphertext; the PBS cluster's section.
    pub resident: Ring,
    /// Local: extracted ciphertexts, under the large key; the key-switch cluster's section, as the next two.
    pub large: Ring,
    /// Local: sums of the key switch.
    pub sums: Ring,
    /// Local: sums of linear layers.
    pub linear: Ring,
    /// Global: keys of the bootstrapping key's iterations.
    pub keys: Ring,
    /// Global: tiles of the key-switch key.
    pub tiles: Ring,
    /// Mask elements of a tile of the key-switch key, 0 without one.
    pub tile_elements: u64,
    /// Global: ciphertexts on their way in, a wave of every core an entry.
    pub incoming: Ring,
    /// Global: test polynomials of an epoch.
    pub tables: Ring,
    /// Global: ciphertexts on their way out, a wave of every core an entry.
    pub outgoing: Ring,
    /// Global: operands of linear layers.
    pub operands: Ring,
}

/// Bytes of a tile of the key-switch key, at most: long bursts, and many tiles in the global scratchpad.
const TILE_BYTES: u64 = 1 << 20;

/// Bytes of a block of operands of a linear layer, at most.
const OPERAND_BYTES: u64 = 1 << 20;

impl Layout {
    /// Divides the scratchpads of `machine`.
    ///
    /// # Errors
    /// [`LayoutError`] when not even one ciphertext a core fits.
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
        // An eighth for linear layers: their sums stay while operands stream by.
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
        // A wave of all cores an entry; one epoch's while the next one's come.
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

    /// Ciphertexts of an epoch: device-level times core-level batch.
    pub fn epoch(&self, machine: &Pipeline) -> u64 {
        machine.cores * self.waves
    }

    /// Byte offset of the rotation amounts in the resident entry `wave`.
    pub fn rotations(&self, wave: u64) -> u64 {
        self.resident.entry(wave) + self.sizes.accumulator
    }

    /// Ciphertexts of `bytes` each in a block of operands.
    pub fn operand_block(&self, bytes: u64) -> u64 {
        (self.operands.entry_bytes / bytes).max(1)
    }

    /// Sums of `bytes` each that a core holds of a linear layer.
    pub fn linear_rows(&self, bytes: u64) -> u64 {
        (self.linear.entry_bytes / bytes).max(1)
    }
}
