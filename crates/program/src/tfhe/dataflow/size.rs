//! Estimates, before flattening a program, the memory that planning it needs.

use crate::tfhe::homomorphic::{Node, NodeId, Op, Program};

/// Bytes of a term: column and weight, in a vector that grows by doubling.
const TERM: f64 = 16.0;

/// Bytes of a row without its terms.
const ROW: f64 = 40.0;

/// Bytes per lookup besides its combination: hash map entry, row in the kernel program, noise. Measured: 250 to 330.
const LOOKUP: f64 = 360.0;

/// Copies of each lookup's or output's combination: in the flow and in the kernel program.
const COPIES: f64 = 2.0;

/// Upper bound of the size of a node's combinations.
#[derive(Clone, Copy)]
struct Size {
    rows: f64,
    terms: f64,
    /// Terms of the longest row.
    longest: f64,
}

impl Size {
    fn bytes(self) -> f64 {
        self.rows * ROW + self.terms * TERM
    }

    fn plus(self, other: Self) -> Self {
        Self { rows: self.rows, terms: self.terms + other.terms, longest: self.longest + other.longest }
    }
}

/// Upper bound of the bytes that planning `program` needs: live combinations, and lookups.
pub fn planning_bytes(program: &Program) -> u64 {
    let nodes = program.nodes();
    let mut last = vec![0; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        node.operands.iter().for_each(|operand| last[operand.index()] = index);
    }
    let mut sizes: Vec<Size> = Vec::with_capacity(nodes.len());
    let (mut columns, mut live, mut most, mut kept) = (0.0, 0.0, 0.0f64, 0.0);
    for (index, node) in nodes.iter().enumerate() {
        let operand = |at: usize| sizes[node.operands[at].index()];
        let mut size = combined(node, operand);
        // A row has each column at most once.
        size.longest = size.longest.min(columns);
        size.terms = size.terms.min(size.rows * size.longest);
        // Number of new ciphertexts per element, and whether they are lookup results.
        let (made, looked_up) = match &node.op {
            Op::Input { .. } => (1.0, false),
            Op::Lookup { .. } | Op::LookupEach { .. } | Op::Sign | Op::Gate(_) => (1.0, true),
            Op::Mux => (2.0, true),
            Op::LookupWide { .. } => (1.0, true),
            _ => (0.0, false),
        };
        let rows = node.length as f64;
        if let Op::LookupWide { widths, .. } = &node.op {
            // A combination for each bit.
            let bits = f64::from(widths.iter().sum::<u32>()) / widths.len() as f64;
            kept += (COPIES * size.bytes() + size.rows * LOOKUP) * bits;
        } else if looked_up || matches!(node.op, Op::Output { .. }) {
            kept += COPIES * size.bytes();
        }
        if made > 0.0 {
            kept += if looked_up { made * rows * LOOKUP } else { 0.0 };
            columns += made * rows;
            size = Size { rows, terms: made * rows, longest: made };
        }
        live += size.bytes();
        most = most.max(live + kept);
        sizes.push(size);
        let mut operands: Vec<NodeId> = node.operands.clone();
        operands.dedup();
        live -= operands.iter().filter(|id| last[id.index()] == index).map(|id| sizes[id.index()].bytes()).sum::<f64>();
    }
    most as u64
}

/// Size of the combinations that a node derives from its operands', or that it reads if it is a lookup.
fn combined(node: &Node, operand: impl Fn(usize) -> Size) -> Size {
    let rows = node.length as f64;
    match &node.op {
        Op::Input { .. } | Op::Constant { .. } => Size { rows, terms: 0.0, longest: 0.0 },
        Op::Add | Op::Sub | Op::Gate(_) => operand(0).plus(operand(1)),
        Op::Mux => {
            let (then, otherwise) = (operand(0).plus(operand(1)), operand(0).plus(operand(2)));
            then.plus(otherwise)
        }
        Op::Linear { matrix, .. } => {
            let longest = (0..matrix.rows()).map(|row| matrix.row(row).len()).max().unwrap_or(0) as f64;
            let each = operand(0).longest;
            Size { rows, terms: matrix.terms() as f64 * each, longest: longest * each }
        }
        Op::Select { .. } => Size { rows, terms: rows * operand(0).longest, longest: operand(0).longest },
        Op::Concat => {
            let parts = (0..node.operands.len()).map(operand);
            parts.fold(Size { rows, terms: 0.0, longest: 0.0 }, |all, part| Size {
                rows,
                terms: all.terms + part.terms,
                longest: all.longest.max(part.longest),
            })
        }
        _ => operand(0),
    }
}

#[cfg(test)]
mod tests {
    //! Does the estimate grow with the program, and with the terms that a lookup reads?

    use super::*;
    use crate::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Table};

    fn bit() -> ElementType {
        ElementType::Integer(Range::new(0, 1).unwrap())
    }

    /// x[0] + x[1] + .., from left to right.
    fn chain(count: u32) -> Program {
        let mut builder = Builder::new("chain").unwrap();
        let x = builder.input("x", bit(), count as usize).unwrap();
        let mut sum = builder.select(x, &[0]).unwrap();
        for element in 1..count {
            let next = builder.select(x, &[element]).unwrap();
            sum = builder.add(sum, next).unwrap();
        }
        builder.output("sum", sum).unwrap();
        builder.finish().unwrap()
    }

    #[test]
    fn a_sum_in_a_loop_grows_as_its_addends() {
        let [small, large] = [chain(1000), chain(4000)].map(|program| planning_bytes(&program));
        assert!(large <= 4 * small, "{small} bytes, then {large}");
    }

    #[test]
    fn each_look_up_counts_and_so_do_its_terms() {
        let planned = |length: usize, terms: usize| {
            let mut builder = Builder::new("sums").unwrap();
            let mut sum = builder.input("x0", bit(), length).unwrap();
            for index in 1..terms {
                let next = builder.input(&format!("x{index}"), bit(), length).unwrap();
                sum = builder.add(sum, next).unwrap();
            }
            let table = Table::tabulate(Range::new(0, terms as i64).unwrap(), |value| value).unwrap();
            let found = builder.lookup(sum, vec![table], None, LookupResult::Integer).unwrap();
            builder.output("y", found).unwrap();
            planning_bytes(&builder.finish().unwrap())
        };
        assert!(planned(2000, 1) >= 2000 * LOOKUP as u64);
        assert!(planned(2000, 8) >= planned(2000, 1) + 2000 * 7 * 8);
    }
}
