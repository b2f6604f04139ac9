//! How likely a program's bounds are passed.
//!
//! *BGV.* Bounds hold but where a random polynomial is larger than κ deviations at one of the N roots, which it is with a probability of e·κ²·e^(−κ²)
//! (`polyfabric_schemes::bgv`'s noise model, κ = [`KAPPA`]). What is not used of the modulus makes κ larger: a bound is a sum of terms that
//! have κ in at most its d-th power, so with b spare bits it holds for κ·2^(b/d) too, and for the smallest such factor of all nodes.
//!
//! *CKKS.* Errors stay below their bounds but for 2^-40 ([`super::NoiseModel::tail`]), of each output.

use crate::rns::homomorphic::{NodeId, Op, Program};
use polyfabric_schemes::bgv::KAPPA;
use std::collections::BTreeMap;

/// log2 of the probability that a bound of CKKS is passed in some slot of one ciphertext.
pub const CKKS_BEYOND_LOG2: f64 = -40.0;

/// In which power κ is in the bounds of each node of a BGV program at most; none for one whose node has parts with bounds of their own.
fn powers(program: &Program) -> Option<BTreeMap<NodeId, f64>> {
    let mut powers = BTreeMap::<NodeId, f64>::new();
    for (id, node) in program.iter() {
        let of = |at: usize| node.operands.get(at).and_then(|operand| powers.get(operand)).copied().unwrap_or(0.0);
        let power = match node.op {
            Op::Polynomial { .. } | Op::Bootstrap { .. } => return None,
            Op::Constant { .. } => continue,
            Op::Mul => of(0) + of(1),
            _ => of(0).max(of(1)),
        };
        // Two deviations are in what encryption under a public key, a key switch, and the rounding of a division bring.
        powers.insert(id, power.max(2.0));
    }
    Some(powers)
}

/// log2 of the probability that some bound of a BGV program on rings of degree `degree` is passed: that it decrypts to a wrong result, or is
/// refused. `spare` has the bits that each encrypted node leaves of its modulus, `polynomials` is how many random ones its execution meets, at
/// most.
pub fn bgv_failure_log2(program: &Program, spare: &BTreeMap<NodeId, f64>, polynomials: u64, degree: usize) -> f64 {
    let room = powers(program).map_or(0.0, |powers| {
        let of_node = |(id, bits): (&NodeId, &f64)| bits / powers.get(id).copied().unwrap_or(2.0);
        spare.iter().map(of_node).fold(f64::INFINITY, f64::min).max(0.0)
    });
    let square = (KAPPA * room.exp2()).powi(2);
    let one = (1.0 + square.ln() - square) * std::f64::consts::LOG2_E;
    (one + (polynomials as f64 * degree as f64).log2()).min(0.0)
}

#[cfg(test)]
mod tests {
    //! Is the probability that of κ where nothing is spare, and does room make it smaller, less where products are?

    use super::*;
    use crate::rns::homomorphic::{Builder, Scheme};

    fn program(product: bool) -> Program {
        let mut builder = Builder::new("p", Scheme::Bgv { plaintext_modulus: 65537 }, 4).expect("a program");
        let x = builder.input("x").expect("an input");
        let y = if product { builder.mul(x, x) } else { builder.add(x, x) };
        builder.output("y", y.expect("an operation")).expect("an output");
        builder.finish().expect("a program")
    }

    #[test]
    fn spare_bits_make_failures_rarer() {
        let at = |program: &Program, bits: f64| {
            let spare = [(NodeId(0), 100.0), (NodeId(1), bits), (NodeId(2), bits)].into();
            bgv_failure_log2(program, &spare, 1 << 10, 1 << 12)
        };
        let (sum, product) = (program(false), program(true));
        // e·36·e^-36 for 2^22 numbers.
        assert!((at(&sum, 0.0) + 45.33 - 22.0).abs() < 0.01, "{}", at(&sum, 0.0));
        assert_eq!(at(&sum, -1.0), at(&sum, 0.0));
        // Two bits are a factor of 2 to κ in a sum, and of √2 in a product.
        assert!(
            at(&sum, 2.0) < -170.0 && (-85.0..-70.0).contains(&at(&product, 2.0)),
            "{} {}",
            at(&sum, 2.0),
            at(&product, 2.0)
        );
    }
}
