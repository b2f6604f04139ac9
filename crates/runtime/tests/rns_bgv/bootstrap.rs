//! Does bootstrapping return exactly the input number, whatever the other coefficients and operations, with the predicted noise?

use super::common::{Client, Numbers, execute, integers};
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Program, Scheme};
use polyfabric_program::rns::lowering::bgv::lower;
use std::collections::HashMap;

fn scheme(client: &Client) -> Scheme {
    Scheme::Bgv { plaintext_modulus: client.t() }
}

/// An exhausted ciphertext, of one limb, refreshed.
fn refresh(client: &Client) -> Program {
    let mut builder = Builder::new("refresh", scheme(client), 1).unwrap();
    let exhausted = builder.input_with("exhausted", Some(0), 1.0).unwrap();
    let refreshed = builder.bootstrap(exhausted).unwrap();
    builder.output("refreshed", refreshed).unwrap();
    builder.finish().unwrap()
}

fn numbers(set: &str, seed: u64, count: usize, fast: bool) {
    let client = Client::new(set, seed);
    let lowered = client.lower(&refresh(&client), &client.choice());
    let keys = client.keys(lowered.keys.keys().copied());
    let (input, output) = (&lowered.plan.inputs[0].state, &lowered.plan.outputs[0].state);
    assert_eq!(input.limbs, 1);
    let degree = client.parameters.ring().degree().get();
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..count {
        // Only coefficient 0 counts; the others are arbitrary.
        let message: Vec<u64> = (0..degree).map(|_| numbers.below(client.t())).collect();
        let exhausted = client.key.encrypt_coefficients(&message, 1).unwrap();
        let inputs = HashMap::from([("exhausted".to_owned(), exhausted)]);
        let refreshed = &execute(&lowered.kernel, &keys, &inputs, fast)["refreshed"];
        assert_eq!(refreshed.limbs().len(), output.limbs);
        let decrypted = client.key.decrypt_coefficients(refreshed, output.factor).unwrap();
        assert_eq!(decrypted.coefficients[0], message[0], "the number");
        assert!(decrypted.coefficients[1..].iter().all(|&other| other == 0), "the other coefficients are gone");
        let (measured, bound) = (decrypted.log2_noise, output.noise.bound);
        assert!(measured <= bound, "noise 2^{measured} above its bound 2^{bound}");
        assert!(decrypted.budget > 20.0, "{} bits are left", decrypted.budget);
    }
}

#[test]
fn numbers_come_back_refreshed() {
    numbers("bgv-toy-256-bootstrap", 1, 6, true);
    numbers("bgv-toy-256-bootstrap-t8", 4, 12, true);
    numbers("bgv-toy-1024-bootstrap", 2, 2, true);
}

#[test]
fn the_interpreter_refreshes_too() {
    numbers("bgv-toy-256-bootstrap", 3, 1, false);
}

/// Twice: products, sums with public numbers, bootstrapping.
fn rounds(client: &Client) -> Program {
    let mut builder = Builder::new("rounds", scheme(client), 1).unwrap();
    let (x, y) = (builder.input("x").unwrap(), builder.input("y").unwrap());
    let [three, five] = [3, 5].map(|value| builder.constant(super::common::integers([value])).unwrap());
    let mut round = |value: NodeId| {
        let product = builder.mul(value, y).unwrap();
        let larger = builder.mul(product, three).unwrap();
        let sum = builder.add(larger, five).unwrap();
        let exhausted = builder.sub(sum, x).unwrap();
        builder.bootstrap(exhausted).unwrap()
    };
    let once = round(x);
    let twice = round(once);
    builder.output("twice", twice).unwrap();
    builder.finish().unwrap()
}

#[test]
fn programs_compute_before_and_after() {
    for set in ["bgv-toy-256-bootstrap", "bgv-toy-256-bootstrap-t8"] {
        let client = Client::new(set, 5);
        let (program, t) = (rounds(&client), client.t());
        let cases = [(1, 1), (t - 1, t / 2 + 1), (0, 1), (t / 2, t - 1)];
        for (x, y) in cases {
            let inputs = HashMap::from([("x".to_owned(), integers([x])), ("y".to_owned(), integers([y]))]);
            client.check(&program, &client.choice(), &inputs, true);
        }
    }
}

#[test]
fn impossible_refreshes_are_rejected() {
    let packed = Client::new("bgv-toy-1024", 6);
    let mut builder = Builder::new("packed", scheme(&packed), 8).unwrap();
    let x = builder.input("x").unwrap();
    let refreshed = builder.bootstrap(x).unwrap();
    builder.output("refreshed", refreshed).unwrap();
    let program = builder.finish().unwrap();
    let error = lower(&program, &packed.parameters, &packed.choice(), packed.key.encoder()).unwrap_err().to_string();
    assert!(error.contains("node %1"), "{error}");
    // Noise that still decrypts, but leaves too little for the rounding.
    let client = Client::new("bgv-toy-256-bootstrap", 7);
    let mut builder = Builder::new("noisy", scheme(&client), 1).unwrap();
    let mut x = builder.input_with("x", Some(0), 1.0).unwrap();
    for _ in 0..20 {
        x = builder.add(x, x).unwrap();
    }
    let refreshed = builder.bootstrap(x).unwrap();
    builder.output("refreshed", refreshed).unwrap();
    let program = builder.finish().unwrap();
    let error = lower(&program, &client.parameters, &client.choice(), client.key.encoder()).unwrap_err().to_string();
    assert!(error.contains("8 are needed; bootstrap after fewer operations"), "{error}");
    let refused = Builder::new("slots", scheme(&client), 2).unwrap_err().to_string();
    assert!(refused.contains("power of two") && refused.contains("one number"), "{refused}");
}
