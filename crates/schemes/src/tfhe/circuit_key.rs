//! The key of circuit bootstrapping, which makes GGSW ciphertexts from the accumulators of blind rotations.
//!
//! An accumulator encrypts s·g in its constant coefficient and anything elsewhere, for a bit s and the weight g of a level. The trace
//! (Chen, Dai, Kim, Song, "Efficient homomorphic conversion between (ring) LWE ciphertexts", ACNS 2021, section 3.2) removes the other
//! coefficients: Y ← Y + Y(X^(2^i + 1)) for i = 1, …, log2 N. Each sum doubles what it keeps, so Y is halved before it: the bit of weight
//! q/2 that halving may leave in a coefficient doubles to q, or vanishes in the trace with its coefficient. The result (A, B) is the row
//! of level t for the body. The row for the mask encrypts −s·g·S = A·S² − B·S, which is (B, 0) plus A times an encryption of S² (Wang et al.,
//! "Circuit bootstrapping: faster and smaller", Eurocrypt 2024, section 3).
//!
//! For k = 1 the rows are GLWE encryptions, `[i][t]` of −S(X^(2^i + 1))·q/β_t^(t+1) and then `[t]` of S²·q/β_s^(t+1). They encrypt functions of the
//! key S under S, as the bootstrapping key's rows do for the mask; security against this is the same assumption.

use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::{Gadget, RingDegree, Torus, cancel};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::client_key::ClientKey;
use super::glwe::MaskProduct;
use super::random::{Purpose, Seeds};
use super::server_key::{OnProgress, gadget_weight, row_noise};
use crate::progress::Counter;

/// X → X^(2^i + 1) for i = 1, …, log2 N, in the order of the trace.
///
/// In this order every coefficient that a later sum keeps is fixed by the earlier automorphisms, so that halving is exact on it.
pub fn automorphisms(degree: RingDegree) -> impl Iterator<Item = GaloisElement> {
    (1..=degree.log2()).map(move |i| match GaloisElement::new(degree, (1 << i) + 1) {
        Ok(element) => element,
        Err(_) => unreachable!("2^i + 1 is odd, and at most N + 1"),
    })
}

/// The message of the rows of one gadget, in units of its weights.
struct Message {
    gadget: Gadget,
    coefficients: Zeroizing<Vec<i64>>,
}

/// The messages of all rows.
fn messages(secret: &[u8], degree: RingDegree, trace: Gadget, square: Gadget) -> Vec<Message> {
    let count = degree.get();
    let image = |element: GaloisElement| {
        let mut coefficients = Zeroizing::new(vec![0; count]);
        for (place, &bit) in secret.iter().enumerate() {
            let exponent = place * element.value() % (2 * count);
            let bit = i64::from(bit);
            coefficients[exponent % count] = if exponent < count { -bit } else { bit };
        }
        Message { gadget: trace, coefficients }
    };
    let mut all: Vec<Message> = automorphisms(degree).map(image).collect();
    let mut product = Zeroizing::new(vec![0i64; count]);
    for (i, &a) in secret.iter().enumerate() {
        for (j, &b) in secret.iter().enumerate() {
            // Without a branch on a secret bit.
            let term = i64::from(a & b);
            let place = i + j;
            product[place % count] += if place < count { term } else { -term };
        }
    }
    all.push(Message { gadget: square, coefficients: product });
    all
}

/// Bodies of all rows, `[row][N]`; none for a set without circuit bootstrapping.
pub(crate) fn bodies<T: Torus>(client: &ClientKey<T>, seeds: &Seeds, progress: OnProgress<'_>) -> Vec<T> {
    let parameters = client.parameters();
    let Some(gadgets) = parameters.circuit() else { return Vec::new() };
    let degree = parameters.ring_degree();
    let messages = messages(client.glwe().bits(), degree, gadgets.trace, gadgets.square);
    let rows: Vec<(&Message, u32)> =
        messages.iter().flat_map(|message| (0..message.gadget.levels).map(move |level| (message, level))).collect();
    let gaussian = parameters.torus_noise(parameters.glwe_noise_std());
    let product = MaskProduct::new(client.glwe());
    let counter = Counter::new(progress, "generating the circuit-bootstrapping key", rows.len());
    let mut bodies = vec![T::default(); rows.len() * degree.get()];
    bodies.par_chunks_exact_mut(degree.get()).zip(rows).enumerate().for_each_init(
        || (vec![T::default(); degree.get()], product.scratch()),
        |(masks, scratch), (index, (body, (message, level)))| {
            cancel::check();
            seeds.mask.stream(Purpose::CircuitKey, index as u64).fill_uniform(masks);
            product.add(masks, body, scratch);
            let mut stream = row_noise((&seeds.secret, 0), Purpose::CircuitKey, index);
            let weight = gadget_weight::<T>(message.gadget, level);
            for (b, &coefficient) in body.iter_mut().zip(message.coefficients.iter()) {
                let noise = gaussian.draw(&mut stream);
                let encrypted = weight.wrapping_mul_signed(coefficient).wrapping_add(T::from_u64(noise as u64));
                *b = b.wrapping_add(encrypted);
            }
            counter.row();
        },
    );
    bodies
}

#[cfg(test)]
mod tests {
    //! Do the rows encrypt the documented polynomials, with the set's noise, and in both forms?
    use super::*;
    use crate::tfhe::{CompressedServerKey, LweKind, ServerKey, no_progress, sets};

    /// p·S by definition.
    fn times(polynomial: &[i64], secret: &[u8]) -> Vec<i64> {
        let count = polynomial.len();
        let mut product = vec![0; count];
        for (i, &a) in polynomial.iter().enumerate() {
            for (j, &b) in secret.iter().enumerate() {
                product[(i + j) % count] += if i + j < count { a * i64::from(b) } else { -a * i64::from(b) };
            }
        }
        product
    }

    #[test]
    fn rows_encrypt_images_and_the_square_of_the_key() {
        let parameters = sets::parameters("toy-256-circuit").expect("a known set");
        let gadgets = parameters.circuit().expect("it has circuit bootstrapping");
        let client = ClientKey::<u64>::for_tests(&parameters, 5).expect("64 bits");
        let server = ServerKey::for_tests(&client, 6);
        assert_eq!(server.circuit_key().len(), parameters.circuit_key_len());
        let (degree, secret) = (256, client.glwe().bits());
        let own: Vec<i64> = secret.iter().map(|&bit| i64::from(bit)).collect();
        let image = |i: u32| {
            // S(X^g), as a sum of powers of X^g.
            let mut image = vec![0; degree];
            for (place, &bit) in own.iter().enumerate() {
                let exponent = place * ((1 << i) + 1);
                image[exponent % degree] += if (exponent / degree).is_multiple_of(2) { -bit } else { bit };
            }
            (gadgets.trace, image)
        };
        let messages: Vec<_> = (1..=8).map(image).chain([(gadgets.square, times(&own, secret))]).collect();
        let rows = messages.iter().flat_map(|(gadget, message)| (0..gadget.levels).map(move |t| (gadget, t, message)));
        let mut worst: f64 = 0.0;
        for (row, (gadget, level, message)) in server.circuit_key().chunks_exact(2 * degree).zip(rows) {
            let weight = gadget_weight::<u64>(*gadget, level);
            for (phase, &message) in client.glwe().phase(row).into_iter().zip(message) {
                worst = worst.max(phase.wrapping_sub(weight.wrapping_mul_signed(message)).to_fraction().abs());
            }
        }
        assert!((2.0..7.0).contains(&(worst / parameters.glwe_noise_std())), "{worst:e}");
        assert_ne!(client.lwe(LweKind::Small).bits().len(), degree);
    }

    #[test]
    fn sizes_count_the_key() {
        let parameters = sets::parameters("toy-256-circuit").expect("a known set");
        let client = ClientKey::<u64>::for_tests(&parameters, 5).expect("64 bits");
        let compressed = CompressedServerKey::for_tests(&client, 6);
        let server = compressed.expand(&no_progress);
        assert!(server == ServerKey::for_tests(&client, 6));
        let unrolling = compressed.unrolling();
        assert_eq!(compressed.bytes(), parameters.compressed_key_bytes(unrolling));
        assert_eq!(server.bytes(), parameters.server_key_bytes(unrolling));
        // Eight automorphisms of five levels, and the square's four.
        assert_eq!(parameters.circuit_key_rows(), 44);
    }

    #[test]
    fn gadgets_that_fit_no_ring_or_torus_are_refused() {
        use crate::tfhe::{ParameterError, Parameters};
        let literal = sets::literal("toy-256-circuit").expect("a known set");
        let refused = |change: &dyn Fn(&mut crate::tfhe::ParametersLiteral)| {
            let mut changed = literal.clone();
            change(&mut changed);
            Parameters::check(&changed).expect_err("it does not fit")
        };
        let ggsw =
            |log2_base, levels| refused(&|set| set.circuit.as_mut().expect("some").ggsw = Gadget { log2_base, levels });
        assert!(matches!(ggsw(1, 17), ParameterError::CircuitLevels { most: 16, .. }));
        assert!(matches!(ggsw(16, 4), ParameterError::CircuitLevels { most: 3, .. }));
        assert!(matches!(ggsw(0, 4), ParameterError::GadgetRange { gadget: "circuit.ggsw", .. }));
        let two = refused(&|set| set.glwe_dimension = 2);
        assert!(matches!(two, ParameterError::CircuitDimension { glwe_dimension: 2, .. }));
    }
}
