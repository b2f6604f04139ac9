//! Lookup tables on slots: are results exact, chained too, and do errors follow the stated law?

use super::common::{ChainLiteral, Client};
use polyfabric_program::rns::approximation::modular_reduction::{Method, Nodes, ReductionLiteral};
use polyfabric_program::rns::homomorphic::{Builder, Complex, Program, Scheme, Table, Values, evaluate};
use polyfabric_program::rns::lowering::bootstrap::{
    BootstrapOrder, Bootstrapping, BootstrappingLiteral, BootstrappingSecret,
};
use polyfabric_program::rns::lowering::{Hoisting, LoweringError, Port, Target, lower};
use polyfabric_program::rns::noise::{FitFailure, NoiseReport, expect_inputs};
use polyfabric_schemes::rns::{KeyStorage, LimbId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const EPHEMERAL: usize = 32;

/// Bits of the primes by phase, from the bottom up.
#[derive(Clone, Copy)]
struct Bits {
    to_coefficients: u32,
    table: u32,
    exponential: u32,
    to_slots: u32,
}

/// A ring with tables of `levels` levels, and its bootstrapping.
fn set(log_degree: u32, levels: usize, bits: Bits) -> (Client, Bootstrapping) {
    let slots = 1 << (log_degree - 1);
    let mut primes = vec![vec![bits.to_coefficients + 2]];
    primes.extend(vec![vec![bits.to_coefficients]; 3]);
    primes.extend(vec![vec![bits.table]; levels]);
    primes.extend(vec![vec![bits.exponential]; 8]);
    primes.extend(vec![vec![bits.to_slots]; 2]);
    let literal = ChainLiteral {
        log_degree,
        levels: primes,
        special: vec![bits.exponential + 1; 5],
        digit: 5,
        scale_log2: f64::from(bits.to_coefficients),
        hoisting: Hoisting::Double,
    };
    let client = Client::new(&literal, 128, EPHEMERAL);
    // Long tables are sensitive to the exponential's truncation; both take eight levels.
    let (degree, doublings) = if levels > 5 { (55, 2) } else { (31, 3) };
    let special = vec![LimbId(literal.limbs() as u16)];
    let bootstrapping = BootstrappingLiteral {
        order: BootstrapOrder::Slim,
        slots,
        secret: BootstrappingSecret::Encapsulated { hamming_weight: EPHEMERAL, special },
        coefficients_to_slots: 2,
        slots_to_coefficients: 2,
        reduction: ReductionLiteral {
            method: Method::Tables { levels: levels as u32 },
            range: 17,
            degree,
            doublings,
            nodes: Nodes::Interval,
            arcsine_degree: 0,
            largest_message: 0.25,
        },
    };
    let plan = Bootstrapping::new(bootstrapping, &client.chain, &client.choice).unwrap();
    (client, plan)
}

/// Numbers below `modulus`, by a linear congruence.
fn numbers(count: usize, modulus: u32, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(modulus)) as u32
    };
    (0..count).map(next).collect()
}

fn table(length: usize, modulus: u32, seed: u64) -> Arc<Table> {
    Arc::new(Table::new(&numbers(length, modulus, seed), modulus).unwrap())
}

fn encoded(values: &[(u32, u32)], modulus: u32) -> Vec<Complex> {
    values.iter().map(|&(a, b)| Complex::new(Table::fraction(a, modulus), Table::fraction(b, modulus))).collect()
}

/// Outputs of an execution, decoded, by name, and the largest border of a rounding.
fn outputs(
    client: &Client,
    plan: &Bootstrapping,
    program: &Program,
    inputs: &[(&str, Vec<Complex>)],
) -> (HashMap<String, Vec<Complex>>, f64) {
    let target = Target {
        chain: &client.chain,
        choice: &client.choice,
        model: client.model,
        encoder: &client.encoder,
        bootstrapping: Some(plan),
        observed: false,
    };
    let lowered = lower(program, &target).unwrap();
    assert!(lowered.failure_log2 < -120.0, "{}", lowered.failure_log2);
    let report = NoiseReport::new(program, &lowered, &client.chain, &client.model);
    let fit = |inputs: &[(&str, Vec<Complex>)]| {
        let named = inputs.iter().map(|(name, values)| ((*name).to_owned(), Values::Complex(values.clone().into())));
        expect_inputs(program, &client.chain, &report, &named.collect(), &BTreeMap::new(), |_, _| {})
    };
    fit(inputs).unwrap();
    let mut between = inputs.to_vec();
    between[0].1[1].im += 0.01;
    let border = lowered.nodes.values().map(|node| node.border).fold(0.0, f64::max);
    assert_eq!(matches!(fit(&between), Err(FitFailure::NoInteger { slot: 1, .. })), border == 0.0);
    let keys = client.keys(&lowered.kernel, Some(plan), KeyStorage::BYTES);
    let encrypted: Vec<_> = lowered
        .inputs
        .iter()
        .map(|port| {
            let (_, values) = inputs.iter().find(|(name, _)| *name == port.name).unwrap();
            client.encrypt(values, port.level, 9)
        })
        .collect();
    let found = client.run(&lowered.kernel, &keys, &encrypted.iter().collect::<Vec<_>>());
    let decoded = |(port, parts): (&Port, &[_])| {
        (port.name.clone(), client.decrypt(parts.to_vec(), port.scale.real(), program.slots()))
    };
    (lowered.outputs.iter().zip(found.chunks(2)).map(decoded).collect(), border)
}

/// Asserts that every slot of `found` is `wanted`, and returns the largest distance in steps.
fn assert_exact(found: &[Complex], wanted: impl Fn(usize) -> (u32, u32), modulus: u32, what: &str) -> f64 {
    let mut largest = 0.0f64;
    for (slot, value) in found.iter().enumerate() {
        let (first, second) = wanted(slot);
        for (part, wanted) in [(value.re, first), (value.im, second)] {
            let (integer, distance) = Table::nearest(part, modulus);
            assert_eq!(integer, wanted, "{what}, slot {slot}: {part}");
            largest = largest.max(distance);
        }
    }
    largest
}

/// Four lookups after each other, a second table of each operand, and a sum, of vectors of `slots` slots.
fn check_chained(log_degree: u32, p: u32, bits: Bits, slots: usize) {
    let levels = p.next_power_of_two().ilog2() as usize;
    let (mut client, plan) = set(log_degree, levels, bits);
    client.model.failure_log2 = Some(-128.0);
    let tables: Vec<Arc<Table>> = (0..8).map(|seed| table(p as usize, p, seed)).collect();
    let mut builder = Builder::new("chained", Scheme::Ckks, slots).unwrap();
    let mut x = builder.input("x").unwrap();
    for round in 0..4 {
        let first = builder.lookup(x, Arc::clone(&tables[2 * round])).unwrap();
        let second = builder.lookup(x, Arc::clone(&tables[2 * round + 1])).unwrap();
        x = builder.add(first, second).unwrap();
        builder.output(&format!("y{round}"), x).unwrap();
    }
    let program = builder.finish().unwrap();
    let input: Vec<(u32, u32)> = numbers(slots, p, 77).into_iter().zip(numbers(slots, p, 78)).collect();
    let (found, _) = outputs(&client, &plan, &program, &[("x", encoded(&input, p))]);
    let mut expected = input.clone();
    for round in 0..4 {
        let sum = |k: u32| {
            let entry = |index: usize| tables[index].entries()[k as usize];
            (entry(2 * round) + entry(2 * round + 1)) % p
        };
        expected = expected.iter().map(|&(a, b)| (sum(a), sum(b))).collect();
        let largest = assert_exact(&found[&format!("y{round}")], |slot| expected[slot], p, &format!("round {round}"));
        println!(
            "N = 2^{log_degree}, p = {p}, {slots} slots, round {round}: error up to 2^{:.1} steps",
            largest.log2()
        );
    }
    // The evaluation in the clear is the same, up to whole turns.
    let clear = evaluate(&program, &[("x".to_owned(), Values::Complex(encoded(&input, p).into()))].into()).unwrap();
    let Values::Complex(clear) = clear.outputs(&program)["y3"].clone() else { panic!("complex slots") };
    assert_exact(&clear, |slot| expected[slot], p, "in the clear");
}

const WIDE: Bits = Bits { to_coefficients: 34, table: 36, exponential: 40, to_slots: 38 };

#[test]
fn chained_lookups_are_exact() {
    for p in [2, 3, 5, 16] {
        check_chained(10, p, WIDE, 512);
    }
}

#[test]
fn real_numbers_are_rounded_outside_of_their_borders() {
    for (p, levels, narrowest) in
        [(8, 3, [0.15, 0.08, 0.04]), (16, 4, [0.06, 0.01, 0.003]), (5, 4, [0.06, 0.01, 0.003])]
    {
        let slots = 512;
        let (mut client, plan) = set(10, levels, WIDE);
        client.model.failure_log2 = Some(-128.0);
        for (stages, narrowest) in (1..=3).zip(narrowest) {
            let table = Table::new(&numbers(p as usize, p, 9), p).unwrap().of_rounded(stages).unwrap();
            let mut builder = Builder::new("rounded", Scheme::Ckks, slots).unwrap();
            let x = builder.input("x").unwrap();
            let y = builder.lookup(x, Arc::new(table.clone())).unwrap();
            builder.output("y", y).unwrap();
            let program = builder.finish().unwrap();
            // From -1/2 to p - 1/2 steps, evenly.
            let at = |index: usize| f64::from(p) * ((index * 389 % 1024) as f64 + 0.5) / 1024.0 - 0.5;
            let turns = |steps: f64| steps / f64::from(p);
            let input = (0..slots).map(|slot| Complex::new(turns(at(slot)), turns(at(slot + slots)))).collect();
            let (found, border) = outputs(&client, &plan, &program, &[("x", input)]);
            assert!(border < narrowest, "p = {p}, {stages} stages: {border}");
            let (mut compared, mut far) = (0, 0.0f64);
            for (slot, value) in found["y"].iter().enumerate() {
                for (part, steps) in [(value.re, at(slot)), (value.im, at(slot + slots))] {
                    let nearest = steps.round();
                    if 0.5 - (steps - nearest).abs() > border {
                        let (integer, distance) = Table::nearest(part, p);
                        assert_eq!(integer, table.entries()[nearest as usize % p as usize], "{steps}");
                        far = far.max(distance);
                        compared += 1;
                    }
                }
            }
            println!(
                "p = {p}, {stages} stages: border {border:.4}, {compared} of 1024 decided, error up to 2^{:.1}",
                far.log2()
            );
            assert!(compared as f64 > (1.0 - 2.0 * border) * 1000.0 && far < 0.02, "{compared} {far}");
        }
    }
}

#[test]
fn fewer_slots_than_the_ring_has() {
    for slots in [4, 64] {
        check_chained(10, 8, WIDE, slots);
    }
}

#[test]
fn errors_follow_the_law() {
    // None of these figures was used to derive it.
    for (log_degree, levels, p, bits) in [
        (10, 4, 16, Bits { to_coefficients: 28, table: 29, exponential: 33, to_slots: 31 }),
        (11, 3, 8, Bits { to_coefficients: 28, table: 29, exponential: 31, to_slots: 31 }),
        (10, 2, 4, Bits { to_coefficients: 28, table: 30, exponential: 30, to_slots: 30 }),
        (10, 4, 16, Bits { to_coefficients: 33, table: 33, exponential: 36, to_slots: 34 }),
        (10, 5, 32, Bits { to_coefficients: 30, table: 31, exponential: 38, to_slots: 35 }),
        (10, 8, 256, Bits { to_coefficients: 44, table: 46, exponential: 52, to_slots: 44 }),
    ] {
        let slots = 1 << (log_degree - 1);
        let (mut client, plan) = set(log_degree, levels, bits);
        let input: Vec<(u32, u32)> = numbers(slots, p, 5).into_iter().zip(numbers(slots, p, 6)).collect();
        let tables: Vec<Arc<Table>> = (0..4).map(|seed| table(p as usize, p, seed)).collect();
        let tables: Vec<&Table> = tables.iter().map(Arc::as_ref).collect();
        let mut deviations = Vec::new();
        let mut run = None;
        for failure_log2 in [None, Some(-40.0)] {
            client.model.failure_log2 = failure_log2;
            let mut lowering = client.lowering("lookup");
            let a = lowering.input("x", plan.input_level(), 1.0).unwrap();
            let results = match lowering.lookup(&a, &plan, &tables) {
                Ok((results, _)) => results,
                Err(error @ LoweringError::Table { .. }) => {
                    println!("p = {p}: {error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let tail = client.model.tail();
            deviations
                .push(results.iter().map(|value| value.noise.bound(tail) / value.scale.real()).collect::<Vec<f64>>());
            if failure_log2.is_none() {
                results.iter().enumerate().for_each(|(index, value)| lowering.output(&format!("y{index}"), value));
                run = Some((results, lowering.finish().unwrap()));
            }
        }
        let (results, program) = run.unwrap();
        let keys = client.keys(&program, Some(&plan), KeyStorage::BYTES);
        let found = client.run(&program, &keys, &[&client.encrypt(&encoded(&input, p), plan.input_level(), 3)]);
        for (index, (value, parts)) in results.iter().zip(found.chunks(2)).enumerate() {
            let slots = client.decrypt(parts.to_vec(), value.scale.real(), slots);
            let entry = |k: u32| Table::fraction(tables[index].entries()[k as usize], p);
            let errors = slots.iter().zip(&input).map(|(slot, &(a, b))| (slot.re - entry(a)).hypot(slot.im - entry(b)));
            let errors: Vec<f64> = errors.collect();
            let largest = errors.iter().copied().fold(0.0, f64::max);
            let measured = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt();
            let expected = value.noise.deviation / value.scale.real();
            println!(
                "N = 2^{log_degree}, p = {p}, table {index}: deviation 2^{:.2} steps, expected 2^{:.2}, ratio {:.2}; largest 2^{:.1}, bound 2^{:.1}",
                (measured * f64::from(p)).log2(),
                (expected * f64::from(p)).log2(),
                measured / expected,
                (largest * f64::from(p)).log2(),
                (deviations.get(1).map_or(f64::NAN, |bounds| bounds[index]) * f64::from(p)).log2(),
            );
            // The exponential's deviation is the largest over its interval, which overstates that of degree 55 more.
            let least = if p > 32 { 0.5 } else { 0.75 };
            assert!((least..1.25).contains(&(measured / expected)));
            assert!(deviations.get(1).is_none_or(|bounds| largest <= bounds[index]));
        }
    }
}
