//! Does every automorphism match the model's unit and the kernel, in both layouts, at the model's latency?

use crate::{f1, primes, rng, spaced};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::f1::graph::UnitKind;
use polyfabric_machines::f1::units::{AutomorphismUnit, Layout, Shape};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 32;

/// One vector for each of `values`, with some zero words, in chunks of `lanes`.
fn automorphisms_are_the_models(lanes: usize, degree: usize, layout: Layout, values: impl IntoIterator<Item = usize>) {
    let unit = Bench::new("automorphism")
        .parameter("LANES", lanes as u64)
        .parameter("CHUNKS", (degree / lanes) as u64)
        .parameter("IN_FOUR_STEPS", layout == Layout::FourStepValues)
        .simulate()
        .expect("a unit");
    let ring = RingDegree::new(degree).expect("a degree");
    let (shape, bits) = (Shape::new(ring, lanes).expect("a shape"), degree.ilog2() as usize);
    let moduli: Vec<Modulus> =
        primes(1 << 15, 32, 3).into_iter().map(|q| Modulus::new(q).expect("a modulus")).collect();
    let mut rng = rng(5);
    let (mut chunks, mut results) = (Vec::new(), Vec::new());
    for (number, value) in values.into_iter().enumerate() {
        let modulus = moduli[number % moduli.len()];
        let vector: Vec<u64> =
            (0..degree).map(|_| rng.random_range(0..modulus.value()) * u64::from(rng.random_ratio(7, 8))).collect();
        let element = GaloisElement::new(ring, value).expect("odd");
        let inverse = element.inverse().value();
        // Destinations of values: k(2j' + 1) = 2j + 1.
        let (factor, offset) = match layout {
            Layout::Coefficients => (value, 0),
            Layout::FourStepValues => (inverse, (inverse - 1) / 2),
        };
        let control =
            Bits::new().field(factor as u64, bits + 1).field(offset as u64, bits).field(modulus.value(), WIDTH);
        chunks.push(vector.chunks(lanes).map(|words| control.clone().fields(words.iter().copied(), WIDTH)).collect());
        results.push(AutomorphismUnit::new(shape, element).apply(modulus, layout, &vector));
        if layout == Layout::Coefficients {
            let mut expected = vec![0; degree];
            element.apply(modulus, &vector, &mut expected);
            assert!(results.last() == Some(&expected), "k {value}: the model's unit differs from the kernel");
        }
    }
    let latency = f1(lanes).geometry(ring).expect("a ring").latency_of(UnitKind::Automorphism);
    let (words, starts) = spaced(chunks, &mut rng);
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), results.len() * shape.chunks());
    for ((output, start), result) in outputs.chunks(shape.chunks()).zip(starts).zip(&results) {
        for ((chunk, expected), cycle) in output.iter().zip(result.chunks(lanes)).zip(start + latency..) {
            let mut reader = Reader::new(&chunk.bytes);
            let found: Vec<u64> = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
            assert_eq!((chunk.cycle, &found[..]), (cycle, expected), "N {degree}, {lanes} lanes, {layout:?}");
        }
    }
}

const LAYOUTS: [Layout; 2] = [Layout::Coefficients, Layout::FourStepValues];

#[test]
#[ignore = "needs Verilator: make rtl"]
fn all_of_a_small_ring_in_both_layouts() {
    for layout in LAYOUTS {
        automorphisms_are_the_models(8, 32, layout, (1..64).step_by(2));
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_small_rings_of_every_shape() {
    for layout in LAYOUTS {
        for degree in [16, 64] {
            automorphisms_are_the_models(8, degree, layout, (1..2 * degree).step_by(2));
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_are_f1s_rings() {
    for layout in LAYOUTS {
        for degree in [1024, 16_384] {
            let values = [1, 3, 5, 25, 2 * degree - 1, degree + 1, (7919 % (2 * degree)) | 1, 2 * degree - 5];
            automorphisms_are_the_models(128, degree, layout, values);
        }
    }
}
