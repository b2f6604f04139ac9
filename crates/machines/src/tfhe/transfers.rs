//! Transfers as events: what they move, item after item, and which part of it each channel takes.

use super::channels::Part;
use crate::engine::schedule::{Access, MemoryId, Order, Place, Value};

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

/// The same access between other cycles.
pub fn between(mut access: Access, span: (i64, i64)) -> Access {
    (access.first, access.last) = (span.0 as u32, span.1 as u32);
    access
}

/// Consecutive items that lie together.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where they are read.
    pub read: Access,
    /// Where they are written.
    pub write: Access,
    /// Their number.
    pub items: u64,
}

/// What `part` reads and writes of `pieces`, whose items have `bytes` each; the cycles are still to be set.
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

/// The part of an access that begins at byte `first` and has `bytes`.
fn section(mut access: Access, first: u64, bytes: u64) -> Access {
    access.place.offset += first;
    (access.place.bytes, access.bytes) = (bytes, bytes);
    access
}
