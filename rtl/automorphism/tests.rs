//! Does every automorphism match the kernel's, in both layouts, at the model's latency?

use crate::{f1, primes, rng, spaced};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_machines::f1::graph::UnitKind;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const WIDTH: usize = 32;

/// The order of a vector's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// In natural order.
    Coefficients,
    /// Values in the order of the four-step unit.
    FourStepValues,
}

const LAYOUTS: [Layout; 2] = [Layout::Coefficients, Layout::FourStepValues];

/// A vector with the unit's settings, and its image.
struct Case {
    factor: usize,
    offset: usize,
    modulus: Modulus,
    vector: Vec<u64>,
    image: Vec<u64>,
}

fn modulus(number: usize) -> Modulus {
    Modulus::new(primes(1 << 15, 32, 3)[number % 3]).expect("a modulus")
}

/// Residues, some of them zero.
fn residues(rng: &mut ChaCha8Rng, modulus: Modulus, count: usize) -> Vec<u64> {
    (0..count).map(|_| rng.random_range(0..modulus.value()) * u64::from(rng.random_ratio(7, 8))).collect()
}

/// The automorphism X → X^`value` of a polynomial of one vector.
fn whole(rng: &mut ChaCha8Rng, number: usize, layout: Layout, (degree, lanes): (usize, usize), value: usize) -> Case {
    let modulus = modulus(number);
    let vector = residues(rng, modulus, degree);
    let element = GaloisElement::new(RingDegree::new(degree).expect("a degree"), value).expect("odd");
    let inverse = element.inverse().value();
    // Destinations of values: k(2j' + 1) = 2j + 1.
    let (factor, offset, image) = match layout {
        Layout::Coefficients => {
            let mut image = vec![0; degree];
            element.apply(modulus, &vector, &mut image);
            (value, 0, image)
        }
        Layout::FourStepValues => {
            let places = element.places(EvaluationOrder::FourStep { vector: lanes });
            (inverse, (inverse - 1) / 2, places.into_iter().map(|place| vector[place]).collect())
        }
    };
    Case { factor, offset, modulus, vector, image }
}

/// The same of the values that are `first` modulo `count`, which are one of `count` vectors of a polynomial.
fn part(number: usize, (degree, lanes, count): (usize, usize, usize), value: usize, first: usize) -> Case {
    let (size, order, modulus) = (degree / count, EvaluationOrder::FourStep { vector: lanes }, modulus(number));
    let [ring, vector] = [degree, size].map(|degree| RingDegree::new(degree).expect("a degree"));
    let element = GaloisElement::new(ring, value).expect("odd");
    let value = |index: usize| index as u64 * 2_654_435_761 % modulus.value();
    // k(2j' + 1) = 2j + 1 moves u of j = count·u + first to k^-1·u plus the carry of the rest.
    let inverse = element.inverse().value();
    let rest = inverse * first + (inverse - 1) / 2;
    let index = |place: usize, first: usize| count * order.value_at(vector, place) + first;
    Case {
        factor: inverse % (2 * size),
        offset: rest / count % size,
        modulus,
        vector: (0..size).map(|place| value(index(place, first))).collect(),
        image: (0..size).map(|place| value(element.source(index(place, rest % count)))).collect(),
    }
}

fn automorphisms_are_the_kernels(lanes: usize, degree: usize, layout: Layout, cases: &[Case]) {
    let chunks = degree / lanes;
    let unit = Bench::new("automorphism")
        .parameter("LANES", lanes as u64)
        .parameter("CHUNKS", chunks as u64)
        .parameter("IN_FOUR_STEPS", layout == Layout::FourStepValues)
        .simulate()
        .expect("a unit");
    let bits = degree.ilog2() as usize;
    let words = |case: &Case| {
        let control = Bits::new().field(case.factor as u64, bits + 1).field(case.offset as u64, bits);
        let control = control.field(case.modulus.value(), WIDTH);
        case.vector.chunks(lanes).map(|words| control.clone().fields(words.iter().copied(), WIDTH)).collect()
    };
    let latency = f1(lanes).geometry(RingDegree::new(degree).expect("a degree")).expect("a ring");
    let latency = latency.latency_of(UnitKind::Automorphism);
    let (words, starts) = spaced(cases.iter().map(words), &mut rng(6));
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), cases.len() * chunks);
    for ((output, start), case) in outputs.chunks(chunks).zip(starts).zip(cases) {
        for ((chunk, expected), cycle) in output.iter().zip(case.image.chunks(lanes)).zip(start + latency..) {
            let mut reader = Reader::new(&chunk.bytes);
            let found: Vec<u64> = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!((chunk.cycle, &found[..]), (cycle, expected), "N {degree}, {lanes} lanes, {layout:?}");
        }
    }
}

fn of_whole_rings(lanes: usize, degree: usize, layout: Layout, values: impl IntoIterator<Item = usize>) {
    let mut rng = rng(5);
    let whole = |(number, value)| whole(&mut rng, number, layout, (degree, lanes), value);
    let cases: Vec<Case> = values.into_iter().enumerate().map(whole).collect();
    automorphisms_are_the_kernels(lanes, degree, layout, &cases);
}

fn of_parts(lanes: usize, size: usize, counts: &[usize]) {
    let mut cases = Vec::new();
    for &count in counts {
        let degree = size * count;
        for value in [3, 5, 2 * degree - 1, (7919 % (2 * degree)) | 1] {
            cases.extend((0..count).map(|first| part(first, (degree, lanes, count), value, first)));
        }
    }
    automorphisms_are_the_kernels(lanes, size, Layout::FourStepValues, &cases);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn all_of_a_small_ring_in_both_layouts() {
    for layout in LAYOUTS {
        of_whole_rings(8, 32, layout, (1..64).step_by(2));
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn parts_of_larger_rings_take_the_same_unit() {
    of_parts(8, 32, &[2, 4]);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_small_rings_of_every_shape() {
    for layout in LAYOUTS {
        for degree in [16, 64] {
            of_whole_rings(8, degree, layout, (1..2 * degree).step_by(2));
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_are_f1s_rings() {
    for layout in LAYOUTS {
        for degree in [1024, 16_384] {
            let values = [1, 3, 5, 25, 2 * degree - 1, degree + 1, (7919 % (2 * degree)) | 1, 2 * degree - 5];
            of_whole_rings(128, degree, layout, values);
        }
    }
    of_parts(128, 16_384, &[2, 4]);
}
