//! CKKS and BGV programs before execution: text, evaluation in the clear, levels, lowering, error messages.

mod clear;
mod fit;
mod kernel_text;
mod levels;
mod lookups;
mod lowering;
mod text;

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::homomorphic::Values;
use polyfabric_program::rns::kernel::PublicPolynomial;
use polyfabric_program::rns::levels::{Chain, Scale};
use polyfabric_program::rns::lowering::PlaintextEncoder;

/// N = 2^10, `levels` primes of 40 bits above one of 50, and two special primes of 50 bits.
pub fn chain(levels: usize) -> Chain {
    let degree = RingDegree::new(1 << 10).expect("a degree");
    let class = PrimeClass::of_degree(degree);
    let wide = class.of_bits(50, 3).expect("primes");
    let narrow = class.of_bits(40, levels).expect("primes");
    let primes = wide[..1].iter().chain(&narrow).chain(&wide[1..]);
    let moduli: Vec<Modulus> = primes.map(|&prime| Modulus::new(prime).expect("a modulus")).collect();
    let limbs_at: Vec<usize> = (1..=levels + 1).collect();
    Chain::ckks(degree, &moduli, &limbs_at, 40f64.exp2()).expect("a chain")
}

/// Encodes everything as zero, since the structure of a lowered program does not depend on values.
#[derive(Debug)]
pub struct Zeros;

impl PlaintextEncoder for Zeros {
    fn encode(&self, _: &Values, _: Scale) -> Result<PublicPolynomial, String> {
        Ok(PublicPolynomial::Narrow(vec![0; 1 << 10].into()))
    }
}
