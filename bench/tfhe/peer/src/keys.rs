//! Keys and lookup tables of both of the peer's backends.

use crate::protocol::Dimensions;
use crate::side::{MESSAGES, SLOT_BITS, table};
use tfhe::core_crypto::commons::math::torus::UnsignedTorus;
use tfhe::core_crypto::prelude::*;

/// Torus elements of the benchmark.
pub trait Element: UnsignedTorus + CastFrom<usize> + CastInto<usize> + CastFrom<u64> + Send + Sync {}
impl Element for u32 {}
impl Element for u64 {}

/// A set's secret keys and its encryption.
pub struct Secrets<T: Element> {
    pub small_key: LweSecretKeyOwned<T>,
    pub glwe_key: GlweSecretKeyOwned<T>,
    pub encryption: EncryptionRandomGenerator<DefaultRandomGenerator>,
}

impl<T: Element> Secrets<T> {
    pub fn new(set: &Dimensions) -> Self {
        let mut seeder = new_seeder();
        let seeder = seeder.as_mut();
        let mut secrets = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        let encryption = EncryptionRandomGenerator::new(seeder.seed(), seeder);
        let degree = PolynomialSize(set.ring_degree);
        let small_key = LweSecretKey::generate_new_binary(LweDimension(set.lwe_dimension), &mut secrets);
        let glwe_key = GlweSecretKey::generate_new_binary(GlweDimension(set.glwe_dimension), degree, &mut secrets);
        Self { small_key, glwe_key, encryption }
    }
}

/// Encryption noise of standard deviation `deviation`, a fraction of the torus.
pub fn noise(deviation: f64) -> Gaussian<f64> {
    Gaussian::from_dispersion_parameter(StandardDev(deviation), 0.0)
}

/// The accumulator that evaluates the benchmark's table.
pub fn accumulator<T: Element>(set: &Dimensions) -> GlweCiphertextOwned<T> {
    generate_programmable_bootstrap_glwe_lut(
        PolynomialSize(set.ring_degree),
        GlweDimension(set.glwe_dimension).to_glwe_size(),
        MESSAGES,
        CiphertextModulus::new_native(),
        slot::<T>(1),
        |message: T| T::cast_from(table(message.cast_into())),
    )
}

pub fn random_messages(batch: usize) -> Vec<usize> {
    let mut seeder = new_seeder();
    (0..batch).map(|_| (seeder.seed().0 as u64 % MESSAGES as u64) as usize).collect()
}

pub fn slot<T: Element>(message: usize) -> T {
    T::cast_from(message) << (T::BITS - SLOT_BITS as usize)
}

pub fn error_of<T: Element>(phase: T, expected: T) -> f64 {
    let error: f64 = phase.wrapping_sub(expected).into_torus();
    if error >= 0.5 { error - 1.0 } else { error }
}
