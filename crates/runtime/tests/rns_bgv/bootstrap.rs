//! Does bootstrapping give exactly the bit that went in, whatever stands beside it, with the noise of the formulas?

use super::common::{Client, Numbers, execute};
use polyfabric_program::rns::lowering::bgv::bootstrap::{INPUT, OUTPUT};
use polyfabric_program::rns::lowering::bgv::lower_bootstrap;
use std::collections::HashMap;

fn bits(set: &str, seed: u64, count: usize, fast: bool) {
    let client = Client::new(set, seed);
    let program = lower_bootstrap(&client.parameters, &client.choice()).unwrap();
    let keys = client.keys(program.keys.keys().copied());
    let degree = client.parameters.ring().degree().get();
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..count {
        // Only coefficient 0 counts; the others are whatever they are.
        let message: Vec<u64> = (0..degree).map(|_| numbers.below(2)).collect();
        let exhausted = client.key.encrypt_coefficients(&message, 1).unwrap();
        let inputs = HashMap::from([(INPUT.to_owned(), exhausted)]);
        let refreshed = &execute(&program.kernel, &keys, &inputs, fast)[OUTPUT];
        assert_eq!(refreshed.limbs().len(), program.output.limbs);
        let decrypted = client.key.decrypt_coefficients(refreshed, program.output.factor).unwrap();
        assert_eq!(decrypted.coefficients[0], message[0], "the bit");
        assert!(decrypted.coefficients[1..].iter().all(|&other| other == 0), "the other coefficients are gone");
        let (measured, bound) = (decrypted.log2_noise, program.output.noise.bound);
        assert!(measured <= bound, "noise 2^{measured} over its bound 2^{bound}");
        assert!(decrypted.budget > 20.0, "{} bits are left", decrypted.budget);
    }
}

#[test]
fn bits_come_back_refreshed() {
    bits("bgv-toy-256-bootstrap", 1, 6, true);
    bits("bgv-toy-1024-bootstrap", 2, 2, true);
}

#[test]
fn the_interpreter_refreshes_too() {
    bits("bgv-toy-256-bootstrap", 3, 1, false);
}
