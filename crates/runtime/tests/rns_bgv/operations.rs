//! Is the result of every single operation exact, with the noise of its formula?

use super::common::{Client, Numbers, integers, mean_of_windows};
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Scheme, Values};
use polyfabric_program::rns::lowering::{Relinearisation, RotationOrder};
use std::collections::HashMap;

const SLOTS: usize = 1024;

type Make = fn(&mut Builder, NodeId, NodeId, &Values) -> NodeId;

const OPERATIONS: [(&str, Make); 10] = [
    ("add", |b, x, y, _| b.add(x, y).unwrap()),
    ("sub", |b, x, y, _| b.sub(x, y).unwrap()),
    ("neg", |b, x, _, _| b.neg(x).unwrap()),
    ("mul", |b, x, y, _| b.mul(x, y).unwrap()),
    ("square", |b, x, _, _| b.square(x).unwrap()),
    ("mul_plain", |b, x, _, v| {
        let v = b.constant(v.clone()).unwrap();
        b.mul(x, v).unwrap()
    }),
    ("add_plain", |b, x, _, v| {
        let v = b.constant(v.clone()).unwrap();
        b.sub(v, x).unwrap()
    }),
    ("rotate", |b, x, _, _| b.rotate(x, 5).unwrap()),
    ("swap", |b, x, _, _| b.conjugate(x).unwrap()),
    ("mod_switch", |b, x, _, _| b.mod_switch(x, 1).unwrap()),
];

fn vectors(t: u64, numbers: &mut Numbers) -> Vec<u64> {
    (0..SLOTS).map(|_| numbers.below(t)).collect()
}

/// Number of keys to average over; `POLYFABRIC_FULL` in the environment gives enough for a few percent.
fn keys() -> u64 {
    if std::env::var_os("POLYFABRIC_FULL").is_some() { 200 } else { 12 }
}

/// Five deviations of a mean over all keys, for a variance with relative square `squares` at each of the 512 frequencies of a ring of 1024.
///
/// Errors are sums of R products of random polynomials, at each frequency too: its square varies by 1 + 2/R of its squared mean. That is 2 for a fresh public-key ciphertext,
/// v e + s e', from which every operation starts, and 3 for a single product, a division's rounding times the secret.
fn five_deviations(squares: f64) -> f64 {
    5.0 * (squares / (SLOTS / 2) as f64 / keys() as f64).sqrt()
}

#[test]
fn every_operation_is_exact_with_the_predicted_noise() {
    for set in ["bgv-toy-1024", "bgv-toy-1024-t40", "bgv-toy-1024-listing1", "bgv-toy-1024-subdigit"] {
        for (name, make) in OPERATIONS {
            let ratio = (0..keys()).map(|seed| variance_ratio(set, name, make, seed)).sum::<f64>() / keys() as f64;
            let (mean, width) = match name {
                // Two public-key encryptions share the public key's error and the secret, so their product is noisier than that of independent ones: on average by 3/2 in variance,
                // and depending on the key by a fifth either way. The noise of a key switch by whole limbs dominates this.
                "mul" | "square" if set != "bgv-toy-1024-listing1" => (1.5, five_deviations(20.0)),
                // A sum of two products times the vector: 2 · 3 for the mean fourth power, of which 1 is the squared mean.
                "mul_plain" => (1.0, five_deviations(5.0)),
                // The topmost part of a digit that is cut is not balanced; see `mean_of_windows`.
                "rotate" | "swap" if set == "bgv-toy-1024-subdigit" => (1.0, mean_of_windows(keys())),
                _ => (1.0, five_deviations(3.0)),
            };
            println!("{set}, {name}: {ratio:.3} for {mean}, within {width:.3} of it");
            assert!(
                (ratio / mean - 1.0).abs() < width,
                "{set}, {name}: {ratio} of the predicted variance, expected {mean} within {width}"
            );
        }
    }
}

/// Ratio of the variance of one operation's result to the prediction. The interpreter runs those of the first key.
fn variance_ratio(set: &str, name: &str, make: Make, seed: u64) -> f64 {
    let client = Client::new(set, 11 + seed);
    let mut numbers = Numbers(0x1234_5678_9abc_def1 + seed);
    let constant = integers(vectors(client.t(), &mut numbers));
    let inputs: HashMap<String, Values> =
        ["x", "y"].map(|name| (name.to_owned(), integers(vectors(client.t(), &mut numbers)))).into();
    let top = client.parameters.q_limbs() - 1;
    let scheme = Scheme::Bgv { plaintext_modulus: client.t() };
    let mut builder = Builder::new(name, scheme, SLOTS).unwrap();
    let x = builder.input_with("x", Some(top), 1.0).unwrap();
    let y = builder.input_with("y", Some(top), 1.0).unwrap();
    let result = make(&mut builder, x, y, &constant);
    builder.output("result", result).unwrap();
    let program = builder.finish().unwrap();
    let outcome = client.check(&program, &client.choice(), &inputs, seed > 0).remove(0);
    (2.0 * (outcome.decrypted.log2_deviation - outcome.port.state.noise.deviation)).exp2()
}

#[test]
fn rotation_and_relinearisation_choices_agree() {
    let client = Client::new("bgv-toy-1024", 12);
    let mut numbers = Numbers(99);
    let inputs: HashMap<String, Values> =
        ["x", "y"].map(|name| (name.to_owned(), integers(vectors(client.t(), &mut numbers)))).into();
    let mut builder = Builder::new("sum", Scheme::Bgv { plaintext_modulus: client.t() }, SLOTS).unwrap();
    let (x, y) = (builder.input("x").unwrap(), builder.input("y").unwrap());
    let (xy, xx) = (builder.mul(x, y).unwrap(), builder.square(x).unwrap());
    let sum = builder.add(xy, xx).unwrap();
    let left = builder.rotate(sum, 3).unwrap();
    let right = builder.rotate(sum, -7).unwrap();
    let both = builder.add(left, right).unwrap();
    builder.output("both", both).unwrap();
    let program = builder.finish().unwrap();
    for rotation in [RotationOrder::SwitchFirst, RotationOrder::AutomorphismFirst] {
        let mut choice = client.choice();
        choice.rotation = rotation;
        choice.relinearisation = Relinearisation::Lazy;
        client.check(&program, &choice, &inputs, false);
    }
}
