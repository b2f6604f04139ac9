//! Random homomorphic programs and inputs, from a seed.

use polyfabric_program::Location;
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, Gate, LookupResult, NodeId, Program, Range, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// SplitMix64 (Steele, Lea, Flood 2014): a small deterministic stream.
pub struct Stream(u64);

impl Stream {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `lo` to `hi`, inclusive.
    pub fn between(&mut self, lo: i64, hi: i64) -> i64 {
        lo + (self.next() % (hi - lo + 1) as u64) as i64
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn vector(&mut self, length: usize, lo: i64, hi: i64) -> Vec<i64> {
        (0..length).map(|_| self.between(lo, hi)).collect()
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Limits of a random program.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Operations between inputs and outputs.
    pub operations: usize,
    /// Widest range of an integer.
    pub width: i64,
    /// Longest vector.
    pub length: usize,
    /// Whether to use every operation, including torus values and pinned steps, or only those that an execution with a toy set can check.
    pub everything: bool,
}

/// A random program of operations that the builder accepts.
pub fn program(stream: &mut Stream, limits: Limits) -> Program {
    let mut builder = Builder::new("random").unwrap();
    let mut nodes = Vec::new();
    for index in 0..stream.between(1, 3) {
        let element = match stream.below(if limits.everything { 4 } else { 3 }) {
            0 => ElementType::Boolean,
            3 => ElementType::Torus { bits: stream.between(1, 30) as u32 },
            _ => {
                let lo = stream.between(-2, 1);
                let stride = stream.between(1, 2);
                ElementType::Integer(Range::with_stride(lo, lo + stream.between(0, 3), stride).unwrap())
            }
        };
        let length = stream.between(1, limits.length as i64) as usize;
        nodes.push(builder.input(&format!("in{index}"), element, length).unwrap());
    }
    let mut made = 0;
    for attempt in 0..limits.operations * 20 {
        if made == limits.operations {
            break;
        }
        if limits.everything && attempt % 3 == 0 {
            let file = stream.pick(&["a.py", "dir/b \"quoted\" \\.py"]).into();
            builder.at(Some(Location { file, line: stream.between(1, 99) as u32 }));
        }
        if let Some(node) = operation(stream, &mut builder, &nodes, limits) {
            nodes.push(node);
            made += 1;
        }
    }
    for index in 0..stream.between(1, 3) {
        let node = if index == 0 { nodes[nodes.len() - 1] } else { stream.pick(&nodes) };
        builder.output(&format!("out{index}"), node).unwrap();
    }
    if limits.everything && stream.below(2) == 0 {
        let node = stream.pick(&nodes);
        if matches!(builder.nodes()[node.index()].element, ElementType::Integer(_)) {
            builder.pin_step(node, 1 << 20).unwrap();
        }
    }
    builder.finish().unwrap()
}

/// One operation on random operands; `None` if its result is too wide for a lookup.
fn operation(stream: &mut Stream, builder: &mut Builder, nodes: &[NodeId], limits: Limits) -> Option<NodeId> {
    let a = stream.pick(nodes);
    let node = builder.nodes()[a.index()].clone();
    let same = |other: &&NodeId| {
        let candidate = &builder.nodes()[other.index()];
        let alike = std::mem::discriminant(&candidate.element) == std::mem::discriminant(&node.element);
        candidate.length == node.length && (alike && !is_torus(node.element) || candidate.element == node.element)
    };
    let partners: Vec<NodeId> = nodes.iter().filter(same).copied().collect();
    let b = stream.pick(&partners);
    let length = node.length;
    let fits = |builder: &Builder, made: NodeId| match builder.nodes()[made.index()].element {
        ElementType::Integer(range) => range.hi() - range.lo() <= limits.width,
        _ => true,
    };
    let made = match node.element {
        ElementType::Boolean => boolean(stream, builder, a, b, &partners, length),
        ElementType::Integer(range) => integer(stream, builder, a, b, range, length, limits),
        ElementType::Torus { .. } => torus(stream, builder, a, b, length),
    };
    // A value that is too wide stays in the program without readers.
    fits(builder, made).then_some(made)
}

fn is_torus(element: ElementType) -> bool {
    matches!(element, ElementType::Torus { .. })
}

fn indices(stream: &mut Stream, length: usize) -> Vec<u32> {
    (0..stream.between(1, length as i64)).map(|_| stream.below(length) as u32).collect()
}

fn boolean(
    stream: &mut Stream,
    builder: &mut Builder,
    a: NodeId,
    b: NodeId,
    partners: &[NodeId],
    length: usize,
) -> NodeId {
    let gates = [Gate::And, Gate::Nand, Gate::Or, Gate::Nor, Gate::Xor, Gate::Xnor];
    match stream.below(8) {
        0..=2 => builder.gate(stream.pick(&gates), a, b).unwrap(),
        3 => builder.not(a).unwrap(),
        4 => builder.mux(a, b, stream.pick(partners)).unwrap(),
        5 => {
            let chosen = indices(stream, length);
            builder.select(a, &chosen).unwrap()
        }
        6 => builder.sign(a, stream.below(2) == 0).unwrap(),
        _ => {
            let table = Table::new(0, stream.vector(2, -2, 2)).unwrap();
            builder.lookup(a, vec![table], None, LookupResult::Integer).unwrap()
        }
    }
}

fn integer(
    stream: &mut Stream,
    builder: &mut Builder,
    a: NodeId,
    b: NodeId,
    range: Range,
    length: usize,
    limits: Limits,
) -> NodeId {
    match stream.below(if limits.everything { 13 } else { 11 }) {
        0 => builder.add(a, b).unwrap(),
        1 => builder.sub(a, b).unwrap(),
        2 => builder.neg(a).unwrap(),
        3 => builder.add_clear(a, &stream.vector(length, -2, 2)).unwrap(),
        4 => builder.mul_clear(a, &stream.vector(length, -2, 2)).unwrap(),
        5 => {
            let rows = stream.between(1, 3) as usize;
            let dense: Vec<Vec<i64>> = (0..rows).map(|_| stream.vector(length, -1, 1)).collect();
            let matrix = Arc::new(Matrix::from_dense(&dense).unwrap());
            builder.linear(a, matrix, &stream.vector(rows, -1, 1)).unwrap()
        }
        6 => builder.sign(a, stream.below(2) == 0).unwrap(),
        7 => {
            let chosen = indices(stream, length);
            builder.select(a, &chosen).unwrap()
        }
        8 => builder.concat(&[a, b]).unwrap(),
        9 | 10 => {
            let entries = (range.hi() - range.lo() + 1) as usize;
            let boolean = stream.below(4) == 0;
            let (lo, hi) = if boolean { (0, 1) } else { (-2, 3) };
            let count = stream.between(1, 2) as usize;
            let table = |stream: &mut Stream| Table::new(range.lo(), stream.vector(entries, lo, hi)).unwrap();
            let tables: Vec<Table> = (0..count).map(|_| table(stream)).collect();
            let choice = (count > 1).then(|| (0..length).map(|_| stream.below(count) as u32).collect());
            let result = if boolean { LookupResult::Boolean } else { LookupResult::Integer };
            match stream.below(3) {
                // On the whole torus, values half a torus apart need negated results: any table on half the torus, or the sign with its zero.
                0 if boolean || count > 1 => builder.lookup_whole(a, tables, choice, result).unwrap(),
                0 => {
                    let sign = Table::tabulate(range, i64::signum).unwrap();
                    builder.lookup_whole(a, vec![sign], None, result).unwrap()
                }
                1 => builder.lookup_each(a, tables, result).unwrap(),
                _ => builder.lookup(a, tables, choice, result).unwrap(),
            }
        }
        11 => builder.assume(a, range).unwrap(),
        _ => {
            let entries = (range.hi() - range.lo() + 1) as usize;
            let table = Table::new(range.lo(), stream.vector(entries, -8, 7)).unwrap();
            builder.lookup(a, vec![table], None, LookupResult::Torus { bits: 4 }).unwrap()
        }
    }
}

fn torus(stream: &mut Stream, builder: &mut Builder, a: NodeId, b: NodeId, length: usize) -> NodeId {
    match stream.below(4) {
        0 => builder.add(a, b).unwrap(),
        1 => builder.sub(a, b).unwrap(),
        2 => builder.mul_clear(a, &stream.vector(length, -5, 5)).unwrap(),
        _ => builder.add_clear(a, &stream.vector(length, -5, 5)).unwrap(),
    }
}

/// Random inputs for `program`.
pub fn inputs(stream: &mut Stream, program: &Program) -> BTreeMap<String, Vec<i64>> {
    let mut inputs = BTreeMap::new();
    for (id, name) in program.inputs() {
        let node = program.node(id);
        let mut value = || match node.element {
            ElementType::Boolean => stream.between(0, 1),
            ElementType::Integer(range) => {
                let values: Vec<i64> = range.values().collect();
                stream.pick(&values)
            }
            ElementType::Torus { bits } => stream.between(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        };
        let values = (0..node.length).map(|_| value()).collect();
        inputs.insert(name.to_owned(), values);
    }
    inputs
}
