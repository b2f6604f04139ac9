//! Public encryptions of zero and fresh ones derived from them, for public-key encryption and for re-randomising results.
//!
//! The k rows R_i are GLWE encryptions of zero. Let u_i have coefficients −1, 0, 1 (the difference of two bits), and let e be fresh noise on
//! every polynomial. Then Σ_i R_i·u_i + e is another one (V. Lyubashevsky, C. Peikert, O. Regev, EUROCRYPT 2010). Its mask and body hide u by
//! module learning with errors of dimension kN. That is at least as hard as the parameter set's own problem with binary secrets, which
//! reduces to it by subtracting chosen bits.

use polyfabric_kernels::Torus;

use super::client_key::ClientKey;
use super::glwe::{GlweSecretKey, MaskProduct};
use super::lwe::LweKind;
use super::noise::{Formulas, Keys, Noise};
use super::parameters::Parameters;
use super::random::{MaskSeed, Purpose, Seeds, Stream};
use crate::gaussian::RoundedGaussian;

impl Formulas {
    /// Noise of a derived encryption of zero, including the key switch for the small key (`None` without one):
    ///
    /// V = kN/2 · (1 + 6·√(2/kN)) · V_glwe  (u times the rows' noise, whose sum of squares is constant per key: six deviations above its mean
    ///     cover every key)
    ///   + (1 + w') · V_glwe  (fresh noise; that of the masks is multiplied by S_j)
    pub fn public_zero(&self, kind: LweKind, parameters: &Parameters) -> Option<Noise> {
        let (masks, noise) = (self.masks() as f64, self.fresh(LweKind::Large).variance);
        let beyond = if self.keys == Keys::Accepted { 6.0 } else { 0.0 };
        let rows = masks / 2.0 * (1.0 + beyond * (2.0 / masks).sqrt());
        let zero = Noise::random((rows + 1.0 + self.large_weight()) * noise);
        match kind {
            LweKind::Large => Some(zero),
            LweKind::Small => parameters.key_switch_gadget().map(|gadget| zero.plus(self.key_switch(gadget))),
        }
    }
}

/// Bodies of the k public encryptions of zero, `[i][N]`.
pub(crate) fn bodies<T: Torus>(client: &ClientKey<T>, seeds: &Seeds) -> Vec<T> {
    let parameters = client.parameters();
    let (masks, degree) = (parameters.large_lwe_dimension().get(), parameters.ring_degree().get());
    let gaussian = parameters.torus_noise(parameters.glwe_noise_std());
    let product = MaskProduct::new(client.glwe());
    let mut row = vec![T::default(); masks];
    let mut bodies = vec![T::default(); masks];
    for (at, body) in bodies.chunks_exact_mut(degree).enumerate() {
        seeds.mask.stream(Purpose::PublicKey, at as u64).fill_uniform(&mut row);
        product.add(&row, body, &mut product.scratch());
        let mut noise = seeds.secret.stream(Purpose::PublicKey, at as u64);
        for element in body {
            *element = element.wrapping_add(T::from_u64(gaussian.draw(&mut noise) as u64));
        }
    }
    bodies
}

/// The rows of these `bodies`, column by column: `[column in 0..=k][i in 0..k][N]`.
pub(crate) fn expand<T: Torus>(parameters: &Parameters, mask_seed: &MaskSeed, bodies: &[T]) -> Vec<T> {
    let (masks, degree) = (parameters.large_lwe_dimension().get(), parameters.ring_degree().get());
    let mut columns = vec![T::default(); parameters.public_zeros_len()];
    columns[masks * (masks / degree)..].copy_from_slice(bodies);
    let mut row = vec![T::default(); masks];
    for at in 0..masks / degree {
        mask_seed.stream(Purpose::PublicKey, at as u64).fill_uniform(&mut row);
        for (polynomial, column) in row.chunks_exact(degree).zip(columns.chunks_exact_mut(masks)) {
            column[at * degree..(at + 1) * degree].copy_from_slice(polynomial);
        }
    }
    columns
}

/// Draws fresh encryptions of zero.
pub(crate) struct Zeros<'k, T> {
    parameters: &'k Parameters,
    columns: &'k [T],
    noise: RoundedGaussian,
}

impl<'k, T: Torus> Zeros<'k, T> {
    /// From the output of [`expand`].
    pub(crate) fn new(parameters: &'k Parameters, columns: &'k [T]) -> Self {
        Self { parameters, columns, noise: parameters.torus_noise(parameters.glwe_noise_std()) }
    }

    /// One GLWE encryption of zero, (k+1)·N elements, from `stream`.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Vec<T> {
        let (degree, dimension) = (self.parameters.ring_degree(), self.parameters.glwe_dimension());
        let masks = dimension.get() * degree.get();
        let [plus, minus] = [0, 1].map(|_| MaskProduct::new(&GlweSecretKey::generate(dimension, degree, stream)));
        let mut scratch = plus.scratch();
        let mut glwe = vec![T::default(); masks + degree.get()];
        let mut subtracted = vec![T::default(); degree.get()];
        for (rows, sum) in self.columns.chunks_exact(masks).zip(glwe.chunks_exact_mut(degree.get())) {
            subtracted.fill(T::default());
            plus.add(rows, sum, &mut scratch);
            minus.add(rows, &mut subtracted, &mut scratch);
            for (sum, &less) in sum.iter_mut().zip(&subtracted) {
                let noise = T::from_u64(self.noise.draw(stream) as u64);
                *sum = sum.wrapping_sub(less).wrapping_add(noise);
            }
        }
        glwe
    }
}
