//! Does the unit transpose vectors of every size, at full rate and after any gap, with a latency of G − 1 cycles?

use crate::{rng, spaced};
use polyfabric_kernels::RingDegree;
use polyfabric_machines::f1::units::{Shape, Transpose};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 32;

/// Moves element (chunk r, lane block b, place c) to (chunk c, block b, place r).
fn transposed(shape: Shape, vector: &[u32]) -> Vec<u32> {
    let (lanes, chunks) = (shape.lanes(), shape.chunks());
    let from = |place: usize| {
        let (chunk, lane) = (place / lanes, place % lanes);
        lane % chunks * lanes + lane / chunks * chunks + chunk
    };
    (0..vector.len()).map(|place| vector[from(place)]).collect()
}

/// Vectors of G chunks for G = 2, 4, …, E and back, in one run: the size changes while the unit is empty.
fn vectors_come_out_transposed(lanes: usize, each: usize) {
    let unit = Bench::new("transpose").parameter("LANES", lanes as u64).simulate().expect("a unit");
    let size = lanes.ilog2();
    let mut rng = rng(4);
    let (mut words, mut expected) = (Vec::new(), Vec::new());
    for log2 in (1..=size).chain((1..size).rev()) {
        let shape = Shape::new(RingDegree::new(lanes << log2).expect("a degree"), lanes).expect("a shape");
        let vectors: Vec<Vec<u32>> =
            (0..each).map(|_| (0..lanes * shape.chunks()).map(|_| rng.random()).collect()).collect();
        let chunk = |words: &[u32]| {
            Bits::new().field(log2, (u32::BITS - size.leading_zeros()) as usize).fields(words.iter().copied(), WIDTH)
        };
        let chunks = vectors.iter().map(|vector| vector.chunks(lanes).map(chunk).collect());
        let (stream, starts) = spaced(chunks, &mut rng);
        for (vector, start) in vectors.iter().zip(starts) {
            let transposed = transposed(shape, vector);
            let first = words.len() as u64 + start + Transpose::latency(shape);
            expected.extend(transposed.chunks(lanes).enumerate().map(|(c, chunk)| (first + c as u64, chunk.to_vec())));
        }
        words.extend(stream);
        words.extend(std::iter::repeat_n(None, shape.chunks()));
    }
    let outputs = unit.run(words, 0).expect("a run");
    assert_eq!(outputs.len(), expected.len());
    for (output, (cycle, chunk)) in outputs.iter().zip(&expected) {
        let mut reader = Reader::new(&output.bytes);
        let found: Vec<u32> = (0..lanes).map(|_| reader.unsigned(WIDTH) as u32).collect();
        assert_eq!((output.cycle, &found), (*cycle, chunk));
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn eight_lanes_support_every_size() {
    vectors_come_out_transposed(8, 12);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_is_f1s() {
    vectors_come_out_transposed(crate::described("f1", "units.cluster.lanes") as usize, 4);
}
