//! Transfers as events: their items in order, and the part of each channel.

use super::channels::Part;
use polyfabric_sim::schedule::{Access, MemoryId, Order, Place, Value};

/// An access to `bytes` at `offset`, whose elements move between cycles `span.0` and `span.1`.
pub fn access(memory: MemoryId, offset: u64, bytes: u64, value: Value, span: (i64, i64), order: Order) -> Access {
    Access {
        place: Place { memory, offset, bytes },
        value,
        first: span.0 as u32,
        last: span.1.max(span.0) as u32,
        order,
        bytes,
    }
}

/// The same access in other cycles.
pub fn between(mut access: Access, span: (i64, i64)) -> Access {
    (access.first, access.last) = (span.0 as u32, span.1 as u32);
    access
}

/// Items with consecutive places.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where all of them are read.
    pub read: Access,
    /// Where all of them are written.
    pub write: Access,
    /// Number of items.
    pub items: u64,
}

/// The accesses of `part` to `pieces`, with `bytes` per item; the caller sets the cycles. Returns reads and writes.
pub fn part_of(pieces: &[Piece], part: &Part, bytes: u64) -> (Vec<Access>, Vec<Access>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let mut first = 0;
    for piece in pieces {
        let from = part.first.max(first);
        let to = (part.first + part.count).min(first + piece.items);
        if from < to {
            let cut = |access| section(access, (from - first) * bytes, (to - from) * bytes);
            let whole = to - from == piece.items;
            reads.push(if whole { piece.read } else { cut(piece.read) });
            writes.push(if whole { piece.write } else { cut(piece.write) });
        }
        first += piece.items;
    }
    (reads, writes)
}

/// The part of an access that starts at byte `first`, with `bytes` bytes.
fn section(mut access: Access, first: u64, bytes: u64) -> Access {
    access.place.offset += first;
    (access.place.bytes, access.bytes) = (bytes, bytes);
    access
}
