//! Do random programs decrypt to exactly the clear result for all parameters, and are impossible ones rejected?

use super::common::{Client, Numbers, integers};
use polyfabric_program::rns::builtin::database::{Entry, Equality, Store, look_up};
use polyfabric_program::rns::homomorphic::{Basis, Builder, Diagonals, NodeId, Polynomial, Program, Scheme, Values};
use polyfabric_program::rns::kernel::OpKind;
use polyfabric_program::rns::lowering::bgv::{BgvError, lower};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

fn vector(client: &Client, slots: usize, numbers: &mut Numbers) -> Values {
    integers((0..slots).map(|_| numbers.below(client.t())))
}

/// The slots of the message with the largest canonical norm near 1: every coefficient is half of t.
fn largest(client: &Client, slots: usize) -> Values {
    let degree = client.parameters.ring().degree().get();
    integers(client.key.encoder().decode(&vec![client.t() / 2; degree], slots).unwrap())
}

/// A program of `steps` random operations on three inputs; products at most `depth` deep.
fn random_program(client: &Client, slots: usize, steps: usize, depth: u32, numbers: &mut Numbers) -> Program {
    let mut builder = Builder::new("random", Scheme::Bgv { plaintext_modulus: client.t() }, slots).unwrap();
    let mut values: Vec<(NodeId, u32)> = ["x", "y", "z"].iter().map(|name| (builder.input(name).unwrap(), 0)).collect();
    for _ in 0..steps {
        let draw = |numbers: &mut Numbers| values[numbers.below(values.len() as u64) as usize];
        let ((a, depth_a), (b, depth_b)) = (draw(numbers), draw(numbers));
        let (deeper, product) = (depth_a.max(depth_b), depth_a.max(depth_b) + 1);
        let next = match numbers.below(10) {
            0 => (builder.add(a, b).unwrap(), deeper),
            1 => (builder.sub(a, b).unwrap(), deeper),
            2 => (builder.neg(a).unwrap(), depth_a),
            3..=5 if product <= depth => (builder.mul(a, b).unwrap(), product),
            6 if depth_a < depth => {
                let public = builder.constant(vector(client, slots, numbers)).unwrap();
                (builder.mul(a, public).unwrap(), depth_a + 1)
            }
            7 => {
                let public = builder.constant(vector(client, slots, numbers)).unwrap();
                (builder.sub(public, a).unwrap(), depth_a)
            }
            8 => (builder.rotate(a, numbers.below(40) as i64 - 20).unwrap(), depth_a),
            9 => (builder.conjugate(a).unwrap(), depth_a),
            _ => {
                let public = builder.constant(Values::integer(&[numbers.below(100) as i64 - 50])).unwrap();
                (builder.add(a, public).unwrap(), depth_a)
            }
        };
        values.push(next);
    }
    for (index, &(value, _)) in values.iter().rev().take(3).enumerate() {
        builder.output(&format!("out{index}"), value).unwrap();
    }
    builder.finish().unwrap()
}

#[test]
fn random_programs_are_exact() {
    let cases = [
        ("bgv-toy-1024", 1024, 3),
        ("bgv-toy-1024", 16, 3),
        ("bgv-toy-1024-t40", 1024, 2),
        ("bgv-toy-1024-listing1", 1024, 2),
        ("bgv-toy-1024-subdigit", 512, 3),
    ];
    for (index, (set, slots, depth)) in cases.into_iter().enumerate() {
        let client = Client::new(set, index as u64);
        let mut numbers = Numbers(0xfeed_beef + index as u64);
        for round in 0..4 {
            let program = random_program(&client, slots, 16, depth, &mut numbers);
            let names = program.inputs().map(|(_, name)| name.to_owned()).collect::<Vec<_>>();
            // Bounds cover every message.
            let mut input = || if round == 3 { largest(&client, slots) } else { vector(&client, slots, &mut numbers) };
            let inputs: HashMap<String, Values> = names.into_iter().map(|name| (name, input())).collect();
            client.check(&program, &client.choice(), &inputs, true);
        }
    }
}

#[test]
fn polynomials_and_matrices() {
    for (set, degree) in
        [("bgv-toy-1024", 7), ("bgv-toy-128-t257", 1), ("bgv-toy-128-t257", 2), ("bgv-toy-128-t257", 37)]
    {
        let client = Client::new(set, 5);
        let mut numbers = Numbers(77);
        let slots = 64;
        let mut builder = Builder::new("larger", Scheme::Bgv { plaintext_modulus: client.t() }, slots).unwrap();
        let x = builder.input("x").unwrap();
        let coefficient = |i: u64| if i % 5 == 3 { 0 } else { numbers.below(client.t()) as i64 };
        let coefficients: Vec<i64> = (0..=degree).map(coefficient).collect();
        let polynomial = Polynomial { basis: Basis::Monomial, coefficients: Values::integer(&coefficients) };
        let value = builder.polynomial(x, Arc::new(polynomial)).unwrap();
        builder.output("polynomial", value).unwrap();
        let by_offset: BTreeMap<i64, Values> =
            [0, 1, -3, 9].map(|offset| (offset, vector(&client, slots, &mut numbers))).into();
        let product = builder.linear_transform(x, Arc::new(Diagonals { by_offset })).unwrap();
        builder.output("matrix", product).unwrap();
        let program = builder.finish().unwrap();
        let inputs = HashMap::from([("x".to_owned(), vector(&client, slots, &mut numbers))]);
        client.check(&program, &client.choice(), &inputs, true);
    }
}

#[test]
fn each_product_of_a_polynomial_is_relinearised_at_most_once() {
    let client = Client::new("bgv-toy-128-t257", 5);
    let mut builder = Builder::new("polynomial", Scheme::Bgv { plaintext_modulus: client.t() }, 64).unwrap();
    let x = builder.input("x").unwrap();
    let coefficients: Vec<i64> = (1..=38).collect();
    let polynomial = Polynomial { basis: Basis::Monomial, coefficients: Values::integer(&coefficients) };
    let value = builder.polynomial(x, Arc::new(polynomial)).unwrap();
    builder.output("value", value).unwrap();
    let lowered = client.lower(&builder.finish().unwrap(), &client.choice());
    let product = |op: &str| ["square", "multiply"].contains(&op);
    let products: usize = lowered.plan.steps.iter().filter(|((op, _), _)| product(op)).map(|(_, count)| count).sum();
    let switches = lowered.kernel.ops.iter().filter(|op| matches!(op.kind, OpKind::InnerProduct { .. })).count();
    assert!(products > 8, "{products}");
    // A sum of products is relinearised as one: x^32 times the highest block and, below, x^16 times two others.
    assert!(switches < products, "{switches} key switches for {products} products");
}

#[test]
fn impossible_programs_are_rejected_before_they_run() {
    let client = Client::new("bgv-toy-1024", 6);
    let of = |make: &dyn Fn(&mut Builder, NodeId) -> NodeId, t: u64, slots: usize| {
        let mut builder = Builder::new("deep", Scheme::Bgv { plaintext_modulus: t }, slots).unwrap();
        let x = builder.input("x").unwrap();
        let result = make(&mut builder, x);
        builder.output("result", result).unwrap();
        let program = builder.finish().unwrap();
        lower(&program, &client.parameters, &client.choice(), client.key.encoder()).unwrap_err()
    };
    let deep = |builder: &mut Builder, x: NodeId| (0..20).fold(x, |x, _| builder.square(x).unwrap());
    let error = of(&deep, client.t(), 1024);
    let noise = matches!(&error, BgvError::At { source, .. } if matches!(**source, BgvError::Noise { op: "mul", .. }));
    assert!(noise, "{error}");
    assert!(error.to_string().contains("take parameters with more or larger limbs"), "{error}");
    let same = |_: &mut Builder, x: NodeId| x;
    assert!(matches!(of(&same, 12289, 1024), BgvError::PlaintextModulus { program: 12289, parameters: 65537 }));
    assert!(matches!(of(&same, client.t(), 2048), BgvError::Slots { slots: 2048, degree: 1024 }));
    let bootstrap = |builder: &mut Builder, x: NodeId| builder.bootstrap(x).unwrap();
    let error = of(&bootstrap, client.t(), 1024);
    let unsupported = matches!(&error, BgvError::At { source, .. } if matches!(**source, BgvError::Unsupported { .. }));
    assert!(unsupported, "{error}");
    let raised = |builder: &mut Builder, x: NodeId| {
        let low = builder.mod_switch(x, 1).unwrap();
        builder.mod_switch(low, 3).unwrap()
    };
    assert!(of(&raised, client.t(), 1024).to_string().contains("levels only fall"));
}

#[test]
fn an_encrypted_store_returns_the_value_of_the_key() {
    let client = Client::new("bgv-toy-128-t257", 8);
    for (key, equality, characters) in
        [(2, Equality::Fermat, 16), (2, Equality::Alphabet(16), 16), (8, Equality::Bits, 2)]
    {
        let store = Store { slots: 128, key, value: 2, equality };
        let digits = |mut number: u64| -> Vec<u64> {
            let mut digit = || (number % characters, number /= characters).0;
            (0..key).map(|_| digit()).collect()
        };
        let mut numbers = Numbers(4);
        let entries: Vec<Entry> = (1..100)
            .map(|number| (digits(number), vec![numbers.below(client.t()), numbers.below(client.t())]))
            .collect();
        let program = store.program(client.t()).unwrap();
        // One that exists, one that does not.
        for wanted in [42, 200] {
            let query = digits(wanted);
            let inputs = store.inputs(&entries, &query, client.t()).unwrap();
            let outcomes = client.check(&program, &client.choice(), &inputs, true);
            for (outcome, &character) in outcomes.iter().zip(&look_up(&entries, &query, 2)) {
                assert!(outcome.slots.iter().all(|&slot| slot == character), "{equality:?}: {wanted}");
            }
        }
    }
}
