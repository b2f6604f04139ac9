//! Divides the memories into ring buffers, and determines the number of resident ciphertexts.

use super::machine::{Morphling, POINT_BYTES};
use crate::tfhe::channels::BURST_BYTES;
use crate::tfhe::sizes::{Ring, Sizes};
use polyfabric_schemes::tfhe::Parameters;
use std::ops::Range;

/// Why a parameter set does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error(
        "`memories.{memory}.capacity` is {available} bytes and {needed} are needed for {content} of set `{set}`: choose a smaller parameter \
         set, or enlarge it in the machine file"
    )]
    Memory { memory: &'static str, available: u64, needed: u64, content: &'static str, set: String },
    #[error(
        "set `{set}` has ring degree N = {ring_degree} and the FFT and IFFT units support rings of up to N = {largest}: choose \
         a set with a smaller ring, or enlarge `units.fft.largest_ring` in the machine file"
    )]
    Ring { set: String, ring_degree: u64, largest: u64 },
}

/// The division of the memories for one parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub sizes: Sizes,
    /// Accumulators per resident ciphertext: one, or two if sums leave the transform domain.
    pub accumulators: u64,
    /// Resident ciphertexts per row: waves of a group.
    pub waves: u64,
    /// Groups in a row's bank; with two, the next group is loaded while one is processed.
    pub halves: u64,
    /// Bytes of one resident ciphertext in its bank.
    pub resident_bytes: u64,
    /// Rows of an XPU that are stored to the Shared buffer together.
    pub store_rows: u64,
    /// Input ring in each bank of the Shared buffer: rotation amounts of the bank's positions of a wave, and a stripe
    /// of the wave's tables.
    pub shared_in: Ring,
    /// Output ring in each bank of the Shared buffer: rotated accumulators of the bank's positions. An entry has
    /// `store_rows` rows of every XPU.
    pub shared_out: Ring,
    pub shared_bank: u64,
    /// Ring in each set of Private-B, at its start: a share of each tile of the key-switch key.
    pub tiles: Ring,
    /// Mask elements per tile of the key-switch key.
    pub tile_elements: u64,
    /// Ring in each set: extracted ciphertexts of its lane group's positions of a wave. This ring and the next three
    /// end with the set, so that keys are in another bank if possible.
    pub large: Ring,
    /// Ring in each set: operands and sums of linear layers.
    pub linear: Ring,
    /// Ring in each set: sums of the key switch, for its lane group's part of a group.
    pub sums: Ring,
    /// Ring in each set: ciphertexts of a wave, as input.
    pub small_in: Ring,
    /// Sets of banks of Private-B, one per lane group.
    pub sets: u64,
    pub set_bytes: u64,
    /// Bytes per bank of Private-A2.
    pub key_bank: u64,
    /// Banks of Private-A2 with keys; each also has a share of the twiddle factors.
    pub key_banks: u64,
    /// Offset of the twiddle factors in each bank, after the key's buffers.
    twiddles_at: u64,
}

/// Contiguous bursts of twiddle factors in a bank of Private-A2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwiddlePiece {
    pub offset: u64,
    pub bursts: u64,
}

/// Bytes of a key-switch-key tile: large enough for long bursts, small enough for two in Private-B.
const TILE_BYTES: u64 = 1 << 18;

/// Part of a polynomial of the bootstrapping key, and its place in Private-A2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPiece {
    /// Row of the GGSW ciphertext.
    pub row: u32,
    /// Column of the GGSW ciphertext.
    pub column: u32,
    pub offset: u64,
    pub bytes: u64,
}

impl Layout {
    /// Divides the memories of `machine` for groups whose waves use at most `tables` distinct tables, with or without
    /// linear layers.
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
        if sizes.ring_degree > machine.largest_ring {
            let (set, ring_degree, largest) = (parameters.name().to_owned(), sizes.ring_degree, machine.largest_ring);
            return Err(LayoutError::Ring { set, ring_degree, largest });
        }
        if sizes.spectrum > machine.poly_acc {
            return Err(fail("poly_acc", machine.poly_acc, sizes.spectrum, "one spectrum"));
        }

        let (resident_bytes, waves, halves) = reside(machine, &sizes, accumulators)
            .map_err(|needed| fail("private_a1", machine.private_a1, needed, "one resident accumulator per row"))?;
        // Each column's keys have a separate bank, which also has a share of the twiddle factors.
        let banks = machine.private_a2_banks;
        let keys = machine.key_buffers * sizes.key_rows * sizes.spectrum;
        let column = keys + twiddle_bursts(&sizes).div_ceil(machine.columns) * BURST_BYTES;
        if column * banks > machine.private_a2 {
            let content = "the key's buffers, one bank per column, and the twiddle factors";
            return Err(fail("private_a2", machine.private_a2, column * banks, content));
        }

        let (shared_in, shared_out, store_rows) = share(machine, &sizes, tables, waves)
            .map_err(|needed| fail("shared", machine.shared, needed, "one wave's tables and one row's results"))?;

        let private_b = divide(machine, &sizes, waves, linear_layers)
            .map_err(|needed| fail("private_b", machine.private_b, needed, "a group's extracted ciphertexts"))?;
        let PrivateB { sets, set_bytes, tiles, tile_elements, large, linear, sums, small_in } = private_b;
        Ok(Self {
            sizes,
            accumulators,
            waves,
            halves,
            resident_bytes,
            store_rows,
            shared_in,
            shared_out,
            shared_bank: machine.shared / machine.shared_banks,
            tiles,
            tile_elements,
            large,
            linear,
            sums,
            small_in,
            sets,
            set_bytes,
            key_bank: machine.private_a2 / machine.private_a2_banks,
            key_banks: machine.columns,
            twiddles_at: keys,
        })
    }

    /// Offset in Private-B of byte `offset` of set `set`.
    pub fn in_set(&self, set: u64, offset: u64) -> u64 {
        set * self.set_bytes + offset
    }

    /// Bytes of a test polynomial per bank of the Shared buffer; the last banks may have fewer.
    pub fn table_stripe(&self, machine: &Morphling) -> u64 {
        table_stripe(machine, &self.sizes)
    }

    /// Rows of a tile of the key-switch key in set `set`. A row is the key's product for one mask element and level.
    pub fn tile_rows(&self, set: u64) -> Range<u64> {
        let rows = self.tile_elements * self.sizes.key_switch_levels;
        set * rows / self.sets..(set + 1) * rows / self.sets
    }

    /// The twiddle factors in Private-A2: one share in the bank of each column.
    pub fn twiddles(&self) -> Vec<TwiddlePiece> {
        let bursts = twiddle_bursts(&self.sizes);
        let share = |bank: u64| {
            let (from, to) = (bank * bursts / self.key_banks, (bank + 1) * bursts / self.key_banks);
            TwiddlePiece { offset: bank * self.key_bank + self.twiddles_at, bursts: to - from }
        };
        (0..self.key_banks).map(share).filter(|piece| piece.bursts > 0).collect()
    }

    /// Byte offset in Private-A2 of column `column` of the key in buffer `buffer`. Its rows are contiguous.
    pub fn key_column(&self, buffer: u64, column: u64) -> u64 {
        column * self.key_bank + buffer * self.sizes.key_rows * self.sizes.spectrum
    }

    /// Stripe `index` of `stripes` of a key in column-major order: its parts of the key's polynomials, with their
    /// places in buffer `buffer`.
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

/// Bytes of a resident ciphertext in a row's bank of Private-A1, waves per group, and groups per bank.
///
/// # Errors
/// The minimum size of the whole memory in bytes.
fn reside(machine: &Morphling, sizes: &Sizes, accumulators: u64) -> Result<(u64, u64, u64), u64> {
    let resident_bytes = accumulators * sizes.accumulator + sizes.rotations;
    let capacity = machine.row_bank() / resident_bytes;
    if capacity == 0 {
        return Err(resident_bytes * machine.positions());
    }
    let waves = capacity.min(machine.key_streams);
    Ok((resident_bytes, waves, if capacity >= 2 * waves { 2 } else { 1 }))
}

/// The division of Private-B; see the fields of [`Layout`] with the same names.
struct PrivateB {
    sets: u64,
    set_bytes: u64,
    tiles: Ring,
    tile_elements: u64,
    large: Ring,
    linear: Ring,
    sums: Ring,
    small_in: Ring,
}

/// Divides each lane group's set of Private-B for groups of `waves` waves, with or without linear layers.
///
/// # Errors
/// The minimum size of the whole memory in bytes.
fn divide(machine: &Morphling, sizes: &Sizes, waves: u64, linear_layers: bool) -> Result<PrivateB, u64> {
    let (sets, set_bytes) = (machine.lane_groups, machine.private_b / machine.lane_groups);
    let served = machine.group_positions();
    // Linear layers get a quarter: their operands stream, so more would only lengthen the bursts.
    let linear_bytes = if linear_layers { set_bytes / 4 } else { 0 };
    let switches = u64::from(sizes.key_switch_levels > 0);
    let contents = [
        (served * sizes.large, waves),
        (linear_bytes, u64::from(linear_layers)),
        (served * waves * sizes.small * switches, switches),
        (served * sizes.small, 2),
    ];
    let own: u64 = contents.iter().map(|(bytes, entries)| bytes * entries).sum();
    let left = set_bytes.saturating_sub(own);
    let mut offset = left;
    let [large, linear, sums, small_in] = contents.map(|(entry_bytes, entries)| {
        let ring = Ring { offset, entry_bytes, entries };
        offset = ring.end();
        ring
    });
    // The tiles divide the kN mask elements evenly: kN is k times a power of two.
    let rows = (left / 2).min(TILE_BYTES / sets) / sizes.small;
    let tile_elements = match (rows * sets).checked_div(sizes.key_switch_levels) {
        None | Some(0) => 0,
        Some(fitting) => 1 << fitting.ilog2().min(sizes.ring_degree.ilog2()),
    };
    let rows = (tile_elements.max(switches) * sizes.key_switch_levels).div_ceil(sets);
    let tiles = Ring { offset: 0, entry_bytes: rows * sizes.small, entries: 2 * switches };
    if own + tiles.end() > set_bytes {
        return Err((own + tiles.end()) * sets);
    }
    Ok(PrivateB { sets, set_bytes, tiles, tile_elements, large, linear, sums, small_in })
}

/// The rings of a bank of the Shared buffer, for waves of `tables` tables and groups of `waves` waves, and the number
/// of rows of an XPU stored together, as many as fit.
///
/// # Errors
/// The minimum size of the whole buffer in bytes.
fn share(machine: &Morphling, sizes: &Sizes, tables: u64, waves: u64) -> Result<(Ring, Ring, u64), u64> {
    let (banks, bank) = (machine.shared_banks, machine.shared / machine.shared_banks);
    let in_bytes = positions_in_bank(machine) * sizes.rotations + tables * table_stripe(machine, sizes);
    let out_bytes = |rows: u64| stored(machine, rows) * sizes.accumulator;
    let mut store_rows = machine.rows;
    while store_rows > 1 && in_bytes + out_bytes(store_rows) > bank {
        store_rows /= 2;
    }
    let out_bytes = out_bytes(store_rows);
    let (mut entries_in, mut entries_out) = (2, waves.next_power_of_two().max(1));
    while entries_in * in_bytes + entries_out * out_bytes > bank && entries_out > 1 {
        entries_out /= 2;
    }
    if entries_in * in_bytes + entries_out * out_bytes > bank {
        entries_in = 1;
    }
    if in_bytes + out_bytes > bank {
        return Err((in_bytes + out_bytes) * banks);
    }
    let shared_in = Ring { offset: 0, entry_bytes: in_bytes, entries: entries_in };
    Ok((shared_in, Ring { offset: shared_in.end(), entry_bytes: out_bytes, entries: entries_out }, store_rows))
}

/// Bytes of a test polynomial per bank of the Shared buffer, in whole bursts.
fn table_stripe(machine: &Morphling, sizes: &Sizes) -> u64 {
    (sizes.polynomial / BURST_BYTES).div_ceil(machine.shared_banks) * BURST_BYTES
}

/// Positions of a wave per bank of the Shared buffer.
pub fn positions_in_bank(machine: &Morphling) -> u64 {
    machine.positions() / machine.shared_banks
}

/// Maximum number of accumulators that one store of `store_rows` rows of every XPU writes to a bank of the Shared
/// buffer.
fn stored(machine: &Morphling, store_rows: u64) -> u64 {
    (0..machine.positions()).map(|position| stored_before(machine, store_rows, position) + 1).max().unwrap_or(0)
}

/// Number of positions before `position` in the same bank of the Shared buffer and the same store.
pub fn stored_before(machine: &Morphling, store_rows: u64, position: u64) -> u64 {
    let of_bank = positions_in_bank(machine);
    let part = |position: u64| position % machine.rows / store_rows;
    let earlier = position / of_bank * of_bank..position;
    earlier.filter(|&earlier| part(earlier) == part(position)).count() as u64
}

/// Bytes of a ring's twiddle factors: N/2 factors for the fold and N/2 for the butterflies.
pub fn twiddle_bytes(sizes: &Sizes) -> u64 {
    sizes.ring_degree * POINT_BYTES
}

/// Twiddle factors in bursts of a channel.
fn twiddle_bursts(sizes: &Sizes) -> u64 {
    twiddle_bytes(sizes).div_ceil(BURST_BYTES)
}
