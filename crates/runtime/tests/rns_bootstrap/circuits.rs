//! Linear transforms and polynomials, compared with clear ones.

use super::common::{ChainLiteral, Client, precision, random_slots};
use polyfabric_program::rns::approximation::ChebyshevSeries;
use polyfabric_program::rns::homomorphic::{Basis, Complex, Diagonals, Polynomial, Values};
use polyfabric_program::rns::lowering::Hoisting;
use polyfabric_schemes::rns::KeyStorage;

fn client(hoisting: Hoisting, levels: usize) -> Client {
    let mut primes = vec![vec![50]];
    primes.extend(vec![vec![40]; levels]);
    let literal =
        ChainLiteral { log_degree: 11, levels: primes, special: vec![50, 50], digit: 2, scale_log2: 40.0, hoisting };
    Client::new(&literal, 64, 16)
}

#[test]
fn linear_transforms_with_every_hoisting() {
    let shapes: [(usize, Vec<i64>); 3] =
        [(1024, vec![-3, -1, 0, 1, 2, 7, 512]), (16, (0..16).collect()), (64, vec![5])];
    for (slots, offsets) in shapes {
        let diagonals = Diagonals {
            by_offset: offsets.iter().map(|&d| (d, Values::Complex(random_slots(slots, d as u64).into()))).collect(),
        };
        let input = random_slots(slots, 99);
        let mut wanted = vec![Complex::default(); slots];
        for (&offset, values) in &diagonals.by_offset {
            let Values::Complex(values) = values else { unreachable!() };
            for (row, target) in wanted.iter_mut().enumerate() {
                *target = *target + values[row] * input[(row as i64 + offset).rem_euclid(slots as i64) as usize];
            }
        }
        for hoisting in [Hoisting::None, Hoisting::Single, Hoisting::Double] {
            let client = client(hoisting, 2);
            let mut lowering = client.lowering("transform");
            let a = lowering.input("x", 2, 1.5).unwrap();
            let product = lowering.linear_transform(&a, &diagonals, slots).unwrap();
            lowering.output("y", &product);
            let program = lowering.finish().unwrap();
            let keys = client.keys(&program, None, KeyStorage::BYTES);
            let outputs = client.run(&program, &keys, &[&client.encrypt(&input, 2, 5)]);
            let found = client.decrypt(outputs, product.scale.real(), slots);
            let (worst, mean) = precision(&found, &wanted);
            let [bound, _] = client.bounds(&product);
            let count = offsets.len();
            println!(
                "{slots} slots, {count} diagonals, {hoisting:?}: {worst:.1} bits, mean {mean:.1}, bound {bound:.1}"
            );
            assert!(worst >= bound && worst < bound + 13.0, "{hoisting:?}: {worst} bits, bound {bound}");
        }
    }
}

#[test]
fn polynomials_of_many_degrees() {
    let slots = 1024;
    let input: Vec<Complex> = random_slots(slots, 3).iter().map(|value| Complex::from(0.99 * value.re)).collect();
    type Function = fn(f64) -> f64;
    let cosine: Function = |x| (5.0 * x).cos();
    for (name, function) in [("exp", f64::exp as Function), ("cos 5x", cosine)] {
        for degree in [1, 2, 3, 5, 7, 8, 13, 15, 24, 31] {
            let series = ChebyshevSeries::interpolate(function, -1.0, 1.0, degree).unwrap();
            let depth = (degree + 1).next_power_of_two().ilog2() as usize;
            let client = client(Hoisting::Single, depth + 1);
            let mut lowering = client.lowering("polynomial");
            let a = lowering.input("x", depth + 1, 1.0).unwrap();
            let polynomial = Polynomial {
                basis: Basis::Chebyshev { lo: -1.0, hi: 1.0 },
                coefficients: Values::real(series.coefficients()),
            };
            let value = lowering.polynomial(&a, &polynomial).unwrap();
            assert_eq!(value.level, 1);
            assert_eq!(value.scale, client.chain.scale(1));
            lowering.output("y", &value);
            let program = lowering.finish().unwrap();
            let keys = client.keys(&program, None, KeyStorage::BYTES);
            let outputs = client.run(&program, &keys, &[&client.encrypt(&input, depth + 1, 6)]);
            let found = client.decrypt(outputs, value.scale.real(), slots);
            let wanted: Vec<Complex> = input.iter().map(|x| series.evaluate(x.re).into()).collect();
            let (worst, mean) = precision(&found, &wanted);
            let [bound, _] = client.bounds(&value);
            println!("{name}, degree {degree}: {worst:.1} bits, mean {mean:.1}, bound {bound:.1}");
            assert!(worst > 20.0, "{name}, degree {degree}: {worst} bits");
            // An even function of degree 1 is a constant: the bound is that of any polynomial of its size.
            let slack = if degree == 1 { f64::INFINITY } else { 6.0 };
            assert!(worst >= bound && worst < bound + slack, "{name}, degree {degree}: {worst} bits, bound {bound}");
        }
    }
}

#[test]
fn polynomials_in_powers_share_them() {
    let slots = 1024;
    let unit = |angle: f64| Complex::new(angle.cos(), angle.sin());
    let input: Vec<Complex> = random_slots(slots, 4).iter().map(|value| unit(3.0 * value.re)).collect();
    for degree in [1, 2, 5, 15, 22] {
        let depth = (degree + 1usize).next_power_of_two().ilog2() as usize;
        let client = client(Hoisting::Single, depth + 1);
        let mut lowering = client.lowering("powers");
        let a = lowering.input("x", depth + 1, 1.0).unwrap();
        let polynomials: Vec<Vec<Complex>> = (0..3).map(|seed| random_slots(degree + 1, seed)).collect();
        let slices: Vec<&[Complex]> = polynomials.iter().map(Vec::as_slice).collect();
        let values = lowering.power_sums(&a, &slices, client.chain.scale(1).real()).unwrap();
        for (index, value) in values.iter().enumerate() {
            assert_eq!((value.level, value.scale), (1, client.chain.scale(1)));
            lowering.output(&format!("y{index}"), value);
        }
        let program = lowering.finish().unwrap();
        let keys = client.keys(&program, None, KeyStorage::BYTES);
        let outputs = client.run(&program, &keys, &[&client.encrypt(&input, depth + 1, 7)]);
        for ((polynomial, value), parts) in polynomials.iter().zip(&values).zip(outputs.chunks(2)) {
            let wanted: Vec<Complex> = input
                .iter()
                .map(|&x| polynomial.iter().rev().fold(Complex::default(), |sum, &c| sum * x + c))
                .collect();
            let (worst, _) = precision(&client.decrypt(parts.to_vec(), value.scale.real(), slots), &wanted);
            let [bound, _] = client.bounds(value);
            assert!(worst > 16.0 && worst >= bound, "degree {degree}: {worst} bits, bound {bound}");
        }
    }
}
