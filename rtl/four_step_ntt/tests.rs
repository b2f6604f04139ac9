//! Does the unit match the kernels' four-step transform, forward and inverse, with several primes at once, at the model's latency?

use crate::{f1, primes, rng, spaced};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::{Modulus, PrimeForm};
use polyfabric_kernels::ntt::four_step::FourStep;
use polyfabric_kernels::primes::primitive_root;
use polyfabric_machines::f1::graph::UnitKind;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 32;

/// The twiddle memories for one modulus and direction, as documented in the unit's source: middle factors by chunk, the first network's, the second's.
pub(crate) fn rows(modulus: Modulus, lanes: usize, chunks: usize, inverse: bool) -> Vec<Vec<u64>> {
    let count = lanes * chunks;
    let root = primitive_root(modulus, 2 * count as u64).expect("a root");
    let root = if inverse { modulus.inverse(root).expect("a unit") } else { root };
    let scale = if inverse { modulus.inverse(count as u64).expect("a unit") } else { 1 };
    let reversed = |number: usize, count: usize| match count {
        1 => 0,
        _ => number.reverse_bits() >> (usize::BITS - count.ilog2()),
    };
    let negacyclic = |size: usize| (0..size).map(move |i| count / size * reversed(i, size)).collect::<Vec<_>>();
    // Group i of m; factor 0 is 1.
    let cyclic = |size: usize| {
        let factor = |number: usize| match number {
            0 => 0,
            _ => {
                let groups = 1 << number.ilog2();
                count / groups * reversed(number - groups, groups)
            }
        };
        (0..size).map(factor).collect::<Vec<_>>()
    };
    let middle = |b: usize| (0..lanes).map(move |k| if inverse { (2 * b + 1) * k } else { (2 * k + 1) * b });
    let power = |exponent: usize| modulus.power(root, exponent as u64);
    let [first, second] = match inverse {
        false => [negacyclic(lanes), cyclic(chunks)],
        true => [cyclic(lanes), negacyclic(chunks)],
    };
    let mut rows: Vec<Vec<u64>> =
        (0..chunks).map(|b| middle(b).map(|exponent| modulus.multiply(power(exponent), scale)).collect()).collect();
    rows.extend([first, second].map(|exponents| exponents.into_iter().map(power).collect()));
    rows
}

/// Vectors in random directions, modulo two primes.
fn transforms_are_the_kernels(lanes: usize, degree: usize, vectors: usize) {
    let chunks = degree / lanes;
    let unit = Bench::new("four_step_ntt")
        .parameter("LANES", lanes as u64)
        .parameter("CHUNKS", chunks as u64)
        .parameter("TABLES", 4u64)
        .simulate()
        .expect("a unit");
    let ring = RingDegree::new(degree).expect("a degree");
    let limbs: Vec<(PrimeForm, FourStep)> = [32, 28]
        .map(|bits| Modulus::new(primes(1 << 15, bits, 1)[0]).expect("a modulus"))
        .map(|q| (PrimeForm::new(q).expect("of the form"), FourStep::new(ring, q, lanes).expect("a transform")))
        .into();
    let row_bits = ((chunks + 1).ilog2() + 1) as usize;
    let bus = |row: Option<usize>, table: usize, limb: usize, words: &[u64]| {
        let control = Bits::new().field(u8::from(row.is_some()), 1).field(row.unwrap_or(0) as u64, row_bits);
        let high = limbs[limb].0.modulus().value() >> PrimeForm::WORD_BITS;
        let words = words.iter().copied().chain(std::iter::repeat_n(0, lanes - words.len()));
        control.field(table as u64, 2).field(high, WIDTH - 16).fields(words, WIDTH)
    };
    // Table 2·limb + direction.
    let mut words = Vec::new();
    for table in 0..4 {
        let multiplier = limbs[table / 2].0;
        for (number, row) in rows(multiplier.modulus(), lanes, chunks, table % 2 == 1).iter().enumerate() {
            let entered: Vec<u64> = row.iter().map(|&factor| multiplier.enter(factor)).collect();
            words.push(Some(bus(Some(number), table, table / 2, &entered)));
        }
    }
    let loaded = words.len() as u64;
    let mut rng = rng(6);
    let (mut given, mut results) = (Vec::new(), Vec::new());
    for number in 0..vectors {
        let table = if number < 4 { number } else { rng.random_range(0..4) };
        let (multiplier, transform) = &limbs[table / 2];
        // Any 32-bit words: the unit reduces its inputs.
        let words: Vec<u64> = match number {
            4 => vec![u64::from(u32::MAX); degree],
            _ => (0..degree).map(|_| u64::from(rng.random::<u32>())).collect(),
        };
        let elements: Vec<u64> = words.iter().map(|&word| multiplier.modulus().reduce(word)).collect();
        let result = match table % 2 {
            0 => transform.forward(&elements),
            _ => {
                // The kernel reads values in its output order, the unit in its input order.
                let places: Vec<u64> =
                    (0..degree).map(|p| elements[transform.output_at(p / lanes, p % lanes)]).collect();
                transform.inverse(&places)
            }
        };
        let chunk = |cycle: usize| {
            let lane = |lane: usize| words[transform.input_at(cycle, lane)];
            bus(None, table, table / 2, &(0..lanes).map(lane).collect::<Vec<_>>())
        };
        given.push((0..chunks).map(chunk).collect());
        results.push(result);
    }
    let latency = f1(lanes).geometry(ring).expect("a ring").latency_of(UnitKind::Ntt);
    let (stream, starts) = spaced(given, &mut rng);
    words.extend(stream);
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), results.len() * chunks);
    for ((output, start), result) in outputs.chunks(chunks).zip(starts).zip(&results) {
        for ((chunk, expected), cycle) in output.iter().zip(result.chunks(lanes)).zip(loaded + start + latency..) {
            let mut reader = Reader::new(&chunk.bytes);
            let found: Vec<u64> = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!((chunk.cycle, &found[..]), (cycle, expected), "N {degree}, {lanes} lanes");
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn fewer_chunks_than_lanes() {
    transforms_are_the_kernels(8, 32, 20);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_small_shapes() {
    for degree in [16, 64] {
        transforms_are_the_kernels(8, degree, 20);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_is_f1s_for_its_longest_vectors() {
    transforms_are_the_kernels(128, 16_384, 6);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_is_f1s_for_its_shortest_vectors() {
    transforms_are_the_kernels(128, 1024, 12);
}

#[test]
fn chunks_leave_with_their_input_elements_only_for_as_many_chunks_as_lanes() {
    let modulus = Modulus::new(primes(1 << 15, 32, 1)[0]).expect("a modulus");
    for (degree, lanes, same) in [(64, 8, true), (16_384, 128, true), (32, 8, false), (1024, 128, false)] {
        let unit = FourStep::new(RingDegree::new(degree).expect("a degree"), modulus, lanes).expect("a transform");
        let elements = |of: &dyn Fn(usize) -> usize| {
            let mut elements: Vec<usize> = (0..lanes).map(of).collect();
            elements.sort_unstable();
            elements
        };
        let of_a_kind = (0..degree / lanes)
            .all(|cycle| elements(&|lane| unit.input_at(cycle, lane)) == elements(&|lane| unit.output_at(cycle, lane)));
        assert_eq!(of_a_kind, same, "N {degree}, {lanes} lanes");
    }
}
