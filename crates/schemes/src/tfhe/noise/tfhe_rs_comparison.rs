//! Do our formulas reproduce the failure probabilities that tfhe-rs states for its own sets?
//!
//! They do, apart from the error of polynomial products: tfhe-rs fits its own transform's error, and we derive and measure ours
//! (`the_f64_transform_where_it_shows`). With its fit we obtain every stated probability, and with our error nearly the same. Exact products
//! have 5 to 25 % less noise in large rings and long sums.

use super::*;
use crate::tfhe::Secret;
use polyfabric_kernels::{Gadget, RingDegree};

/// A set of tfhe-rs 1.8.2: from `shortint/parameters/v1_0` without noise reduction before the modulus switch, from `v1_4` with centring.
struct Stated {
    name: &'static str,
    /// n, k, N.
    dimensions: [usize; 3],
    /// log2 base and levels of the bootstrapping key, and of the key-switching key.
    gadgets: [[u32; 2]; 2],
    /// log2 of the deviations of LWE and GLWE noise; TUniform of b bits has √((2^(2b+1) + 1)/6).
    noise: [f64; 2],
    /// Factor on a result before the next LUT.
    norm: f64,
    /// Number of message and carry values.
    values: f64,
    /// log2 of the failure probability.
    failure: f64,
    /// Rounding of phases.
    rounding: PhaseRounding,
}

fn stated() -> Vec<Stated> {
    let set = |name, dimensions, gadgets, noise, norm, values, failure| Stated {
        name,
        dimensions,
        gadgets,
        noise,
        norm,
        values,
        failure,
        rounding: PhaseRounding::Nearest,
    };
    let nearest = vec![
        set("1_0, 2M64", [684, 2, 512], [[7, 2], [3, 4]], [-14.3684, -22.8315], 1.0, 2.0, -64.093),
        set("1_1, 2M64", [781, 4, 512], [[23, 1], [4, 3]], [-16.7829, -48.3204], 3.0, 4.0, -64.010),
        set("2_2, 2M64", [833, 1, 2048], [[23, 1], [3, 5]], [-18.0772, -48.3204], 5.0, 16.0, -64.014),
        set("2_2, TUniform, 2M64", [879, 1, 2048], [[23, 1], [3, 5]], [-18.7925, -47.7925], 5.0, 16.0, -72.178),
        set("3_3, 2M64", [977, 1, 8192], [[15, 2], [3, 6]], [-21.6616, -62.0], 9.0, 64.0, -64.177),
        set("1_3, 2M64", [843, 1, 2048], [[23, 1], [3, 5]], [-18.3262, -48.3204], 15.0, 16.0, -64.178),
        set("2_5, 2M64", [1046, 1, 16384], [[15, 2], [2, 10]], [-23.3791, -62.0], 42.0, 128.0, -64.010),
        set("4_4, 2M40", [1096, 1, 32768], [[15, 2], [4, 5]], [-24.6237, -62.0], 17.0, 256.0, -40.107),
        set("4_4, TUniform, 2M40", [1077, 1, 32768], [[15, 2], [3, 7]], [-23.7925, -61.7869], 17.0, 256.0, -41.009),
    ];
    let centred = vec![
        set("1_1, 2M128", [837, 4, 512], [[23, 1], [5, 3]], [-18.1768, -48.3204], 3.0, 4.0, -128.186),
        set("1_3, 2M128", [904, 1, 2048], [[23, 1], [3, 6]], [-19.8445, -48.3204], 15.0, 16.0, -128.103),
        set("2_2, TUniform, 2M128", [918, 1, 2048], [[23, 1], [4, 4]], [-19.7925, -47.7925], 5.0, 16.0, -129.581),
        set("3_2, 2M128", [928, 1, 4096], [[23, 1], [2, 9]], [-20.4419, -62.0], 4.0, 32.0, -128.041),
        set("6_2, 2M128", [1101, 1, 65536], [[15, 2], [3, 7]], [-24.7481, -62.0], 4.0, 256.0, -129.438),
        set("1_7, 2M128", [1104, 1, 65536], [[9, 4], [3, 7]], [-24.8228, -62.0], 255.0, 256.0, -128.787),
        set("2_6, 2M128", [1108, 1, 65536], [[11, 3], [3, 7]], [-24.9224, -62.0], 85.0, 256.0, -129.137),
        set("5_3, 2M128", [1113, 1, 65536], [[15, 2], [3, 7]], [-25.0468, -62.0], 8.0, 256.0, -129.155),
    ];
    let centred = centred.into_iter().map(|set| Stated { rounding: PhaseRounding::Centred, ..set });
    nearest.into_iter().chain(centred).collect()
}

impl Stated {
    fn formulas(&self) -> Formulas {
        let [n, k, degree] = self.dimensions;
        let [log2_base, levels] = self.gadgets[0];
        Formulas {
            torus_bits: 64,
            lwe_dimension: n,
            secret: Secret::Binary,
            glwe_dimension: k,
            ring_degree: RingDegree::new(degree).expect("a power of two"),
            bootstrap_gadget: Gadget { log2_base, levels },
            lwe_noise_log2: self.noise[0],
            glwe_noise_log2: self.noise[1],
            keys: Keys::Average,
        }
    }

    /// tfhe-rs's error of the products in one external product, in a phase: its fit for 53-bit numbers
    /// (`core_crypto/commons/noise_formulas/lwe_programmable_bootstrap`).
    fn fit(&self) -> f64 {
        let [_, k, degree] = self.dimensions.map(|size| size as f64);
        let [log2_base, levels] = self.gadgets[0].map(f64::from);
        0.00705
            * (2.0 * (64.0 - 53.0) + 2.0 * log2_base - 128.0).exp2()
            * levels.powf(1.01827)
            * k.powf(1.22003)
            * degree.powf(2.22003)
            * (k + 1.0).powf(1.01827)
    }

    /// Variance of a PBS's input after key switch and modulus switch, with products computed by `transform`. Excludes the rounding of the
    /// body, which tfhe-rs omits when centring.
    fn variance(&self, transform: Transform) -> f64 {
        let formulas = self.formulas();
        let [log2_base, levels] = self.gadgets[1];
        let switch = formulas.key_switch(Gadget { log2_base, levels });
        let mut rounding = formulas.modulus_switch(self.rounding, 0).second_moment();
        if self.rounding == PhaseRounding::Centred {
            rounding *= 1.0 - 1.0 / (1.0 + formulas.lwe_dimension as f64 / 4.0);
        }
        let result = formulas.blind_rotation(transform).second_moment();
        self.norm * self.norm * result + switch.second_moment() + rounding
    }

    fn failure(&self, variance: f64) -> f64 {
        failure_probability_log2(variance, 0.25 / self.values)
    }

    /// A transform whose error in a phase is tfhe-rs's fit.
    fn with_fit(&self) -> Transform {
        let masks = self.formulas().masks() as f64;
        Transform::Measured { coefficient_variance: self.fit() / (1.0 + masks / 2.0), concentration: 0.0, log2_unit: 0 }
    }
}

#[test]
fn with_the_fit_of_its_transform_every_stated_probability_comes_out() {
    for set in stated() {
        let found = set.failure(set.variance(set.with_fit()));
        assert!((found - set.failure).abs() < 0.05, "{}: {found} for {}", set.name, set.failure);
    }
}

/// Our error is larger where it matters, by at most 5 % of the variance. Exact products would lack exactly that in large rings and long sums.
#[test]
fn the_difference_is_the_transforms() {
    let mut lacking = 0f64;
    for set in stated() {
        let [theirs, ours, exact] = [set.with_fit(), Transform::F64, Transform::Exact].map(|by| set.variance(by));
        println!(
            "{}: {:+.1} % variance, 2^{:.2} for 2^{:.2}; {:+.1} % with exact products",
            set.name,
            100.0 * (ours / theirs - 1.0),
            set.failure(ours),
            set.failure,
            100.0 * (exact / theirs - 1.0)
        );
        assert!((0.999..1.05).contains(&(ours / theirs)), "{}", set.name);
        lacking = lacking.max(1.0 - exact / theirs);
    }
    assert!((0.2..0.3).contains(&lacking), "{lacking}");
}
