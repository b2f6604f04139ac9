//! Where things lie: how many ciphertexts stay resident, and the ring buffers in each memory, from capacities in bytes.

use super::machine::{Morphling, POINT_BYTES};
use crate::torus::channels::BURST_BYTES;
use crate::torus::sizes::{Ring, Sizes};
use polyfabric_schemes::tfhe::Parameters;

/// A parameter set that does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A memory is too small.
    #[error(
        "{memory} holds {available} bytes and {needed} are needed for {content} of set `{set}`: choose a smaller parameter \
         set, or enlarge `{memory}` in the machine file"
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
        "set `{set}` has ring degree N = {ring_degree} and the FFT and IFFT units hold rings of up to N = {largest}: choose \
         a set with a smaller ring, or enlarge `units.fft.largest_ring` in the machine file"
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

/// The memories' division for look-ups of one parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sizes of the objects.
    pub sizes: Sizes,
    /// Accumulators that each resident ciphertext holds: one, or two when sums leave the transform domain.
    pub accumulators: u64,
    /// Resident ciphertexts of a row: slots of a group.
    pub slots: u64,
    /// Groups of slots in a row's bank: two let the next group load while one runs.
    pub halves: u64,
    /// Bytes of one resident ciphertext in its bank.
    pub resident_bytes: u64,
    /// Rows of an XPU that leave for the Shared buffer together.
    pub store_rows: u64,
    /// Shared buffer: rotation amounts and tables of a slot, on the way in.
    pub shared_in: Ring,
    /// Shared buffer: rotated accumulators, on the way out; an entry holds `store_rows` rows of every XPU.
    pub shared_out: Ring,
    /// Private-B: ciphertexts of a slot, on the way in.
    pub small_in: Ring,
    /// Private-B: extracted ciphertexts of a slot.
    pub large: Ring,
    /// Private-B: sums of the key switch, for a group.
    pub sums: Ring,
    /// Private-B: tiles of the key-switch key.
    pub tiles: Ring,
    /// Mask elements of a tile of the key-switch key.
    pub tile_elements: u64,
    /// Private-B: operands and sums of linear layers.
    pub linear: Ring,
    /// Bytes of a bank of Private-A2.
    pub key_bank: u64,
    /// Banks of Private-A2 that hold the key, and a share of the twiddle factors each.
    pub key_banks: u64,
    /// Offset of the twiddle factors in each of them: behind the key's buffers.
    twiddles_at: u64,
}

/// Bursts of twiddle factors that lie together in a bank of Private-A2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwiddlePiece {
    /// First byte.
    pub offset: u64,
    /// Number of bursts.
    pub bursts: u64,
}

/// Bytes of a key-switch-key tile: long enough a burst, small enough to lie twice in Private-B.
const TILE_BYTES: u64 = 1 << 18;

/// Part of a polynomial of the bootstrapping key, and its place in Private-A2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPiece {
    /// Row of the GGSW ciphertext.
    pub row: u32,
    /// Column of the GGSW ciphertext.
    pub column: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Layout {
    /// Divides the memories of `machine` for groups whose slots use at most `tables` different tables; with or without room
    /// for linear layers.
    ///
    /// # Errors
    /// [`LayoutError`] when not even one ciphertext a row fits.
    pub fn new(
        machine: &Morphling,
        parameters: &Parameters,
        accumulators: u64,
        tables: u64,
        linear_layers: bool,
    ) -> Result<Self, LayoutError> {
        let sizes = machine.sizes(parameters);
        let fail = |memory, available, needed, content| LayoutError::Memory {
            memory,
            available,
            needed,
            content,
            set: parameters.name().to_owned(),
        };
        let positions = machine.positions();
        if sizes.ring_degree > machine.largest_ring {
            let (set, ring_degree, largest) = (parameters.name().to_owned(), sizes.ring_degree, machine.largest_ring);
            return Err(LayoutError::Ring { set, ring_degree, largest });
        }
        if sizes.spectrum > machine.poly_acc {
            return Err(fail("poly_acc", machine.poly_acc, sizes.spectrum, "one spectrum"));
        }

        let resident_bytes = accumulators * sizes.accumulator + sizes.rotations;
        let capacity = machine.row_bank() / resident_bytes;
        if capacity == 0 {
            let needed = resident_bytes * positions;
            return Err(fail("private_a1", machine.private_a1, needed, "one resident accumulator a row"));
        }
        let slots = capacity.min(machine.key_streams);
        let halves = if capacity >= 2 * slots { 2 } else { 1 };
        // Each column's keys lie in a bank of their own, beside its share of the twiddle factors.
        let banks = machine.private_a2_banks;
        let keys = machine.key_buffers * sizes.key_rows * sizes.spectrum;
        let column = keys + twiddle_bursts(&sizes).div_ceil(machine.columns) * BURST_BYTES;
        if column * banks > machine.private_a2 {
            let content = "the key's buffers, one bank a column, and the twiddle factors";
            return Err(fail("private_a2", machine.private_a2, column * banks, content));
        }

        let in_bytes = positions * sizes.rotations + tables * sizes.polynomial;
        let mut store_rows = machine.rows;
        while store_rows > 1 && in_bytes + store_rows * machine.xpus * sizes.accumulator > machine.shared {
            store_rows /= 2;
        }
        let out_bytes = store_rows * machine.xpus * sizes.accumulator;
        let (mut entries_in, mut entries_out) = (2, slots.next_power_of_two().max(1));
        while entries_in * in_bytes + entries_out * out_bytes > machine.shared && entries_out > 1 {
            entries_out /= 2;
        }
        if entries_in * in_bytes + entries_out * out_bytes > machine.shared {
            entries_in = 1;
        }
        let needed = in_bytes + out_bytes;
        if needed > machine.shared {
            return Err(fail("shared", machine.shared, needed, "one slot's tables and one row's results"));
        }
        let shared_in = Ring { offset: 0, entry_bytes: in_bytes, entries: entries_in };
        let shared_out = Ring { offset: shared_in.end(), entry_bytes: out_bytes, entries: entries_out };

        let small_in = Ring { offset: 0, entry_bytes: positions * sizes.small, entries: 2 };
        let sums_bytes = if sizes.key_switch_levels > 0 { positions * slots * sizes.small } else { 0 };
        let sums = Ring { offset: small_in.end(), entry_bytes: sums_bytes, entries: u64::from(sums_bytes > 0) };
        let element_bytes = sizes.key_switch_levels * sizes.small;
        let large_bytes = positions * sizes.large;
        let large = Ring { offset: sums.end(), entry_bytes: large_bytes, entries: slots };
        // A quarter for linear layers: their operands stream through, so more would only lengthen the bursts.
        let linear_bytes = if linear_layers { machine.private_b / 4 } else { 0 };
        let linear = Ring { offset: large.end(), entry_bytes: linear_bytes, entries: u64::from(linear_layers) };
        let left = machine.private_b.saturating_sub(linear.end());
        // The tiles divide the kN mask elements evenly: kN is k times a power of two.
        let tile_elements = match (left / 2).min(TILE_BYTES).checked_div(element_bytes) {
            None | Some(0) => 0,
            Some(fitting) => 1 << fitting.ilog2().min(sizes.ring_degree.ilog2()),
        };
        let tiles = Ring {
            offset: linear.end(),
            entry_bytes: tile_elements.max(u64::from(element_bytes > 0)) * element_bytes,
            entries: 2 * u64::from(element_bytes > 0),
        };
        if tiles.end() > machine.private_b {
            return Err(fail("private_b", machine.private_b, tiles.end(), "a group's extracted ciphertexts"));
        }
        Ok(Self {
            sizes,
            accumulators,
            slots,
            halves,
            resident_bytes,
            store_rows,
            shared_in,
            shared_out,
            small_in,
            large,
            sums,
            tiles,
            tile_elements,
            linear,
            key_bank: machine.private_a2 / machine.private_a2_banks,
            key_banks: machine.columns,
            twiddles_at: keys,
        })
    }

    /// The twiddle factors in Private-A2: a share in the bank of each column.
    pub fn twiddles(&self) -> Vec<TwiddlePiece> {
        let bursts = twiddle_bursts(&self.sizes);
        let share = |bank: u64| {
            let (from, to) = (bank * bursts / self.key_banks, (bank + 1) * bursts / self.key_banks);
            TwiddlePiece { offset: bank * self.key_bank + self.twiddles_at, bursts: to - from }
        };
        (0..self.key_banks).map(share).filter(|piece| piece.bursts > 0).collect()
    }

    /// Byte offset in Private-A2 of column `column` of the key in buffer `buffer`: its rows follow one another.
    pub fn key_column(&self, buffer: u64, column: u64) -> u64 {
        column * self.key_bank + buffer * self.sizes.key_rows * self.sizes.spectrum
    }

    /// Stripe `index` of `stripes` of a key, column after column and in each row after row: the parts of the key's polynomials that
    /// it holds, with their places in buffer `buffer`.
    pub fn key_stripe(&self, buffer: u64, index: u64, stripes: u64) -> Vec<KeyPiece> {
        let Sizes { key, key_rows, spectrum, polynomials, .. } = self.sizes;
        let length = key.div_ceil(stripes);
        let (begin, end) = ((index * length).min(key), ((index + 1) * length).min(key));
        let places = (0..polynomials).flat_map(|column| (0..key_rows).map(move |row| (row, column)));
        let pieces = places.map(|(row, column)| {
            let first = (column * key_rows + row) * spectrum;
            let (from, to) = (begin.max(first), end.min(first + spectrum));
            let offset = self.key_column(buffer, column) + row * spectrum + from.saturating_sub(first);
            KeyPiece { row: row as u32, column: column as u32, offset, bytes: to.saturating_sub(from) }
        });
        pieces.filter(|piece| piece.bytes > 0).collect()
    }
}

/// Bytes of a ring's twiddle factors: N/2 factors for the fold and N/2 for the butterflies.
pub fn twiddle_bytes(sizes: &Sizes) -> u64 {
    sizes.ring_degree * POINT_BYTES
}

/// The same in bursts of a channel.
fn twiddle_bursts(sizes: &Sizes) -> u64 {
    twiddle_bytes(sizes).div_ceil(BURST_BYTES)
}
