//! Security level of RLWE with ternary secrets, from published tables (`security.toml`).
//!
//! A table gives the largest log2 of the modulus Q·P for a ring degree and level. The cost of lattice attacks grows about as N / log Q, so
//! 1/λ is interpolated linearly in log Q between two levels of a degree; the tables' three levels lie on such a line to three percent. A
//! smaller lattice estimate (`estimates.toml`, interpolated alike) takes precedence. Below 128 bits the line is continued, which only says
//! "weak"; the result is capped at 256. For degrees with a row at 128 bits only, the other levels are scaled from degree 2^15.
//!
//! A sparse secret is more vulnerable to attacks that guess some of its coefficients (hybrid attacks). The table has the largest modulus at
//! 128 bits for some weights; a weight between two of them counts as the lower one. Smaller moduli count as 128 bits, no more. Larger
//! moduli are scaled by the ratio to the uniform bound. Without a row, the level is the lattice estimate for this degree and weight with this
//! modulus or the next larger one that was estimated, at most 128 bits. Otherwise it is unknown: 0.
//!
//! From weight N/4 on, guessing gains nothing, but the coefficients are not uniform: weight w has deviation √(w/N) instead of √(2/3).
//! Attacks scale the secret to the noise, which is equivalent to a modulus √(2N/3w) times as large, or √(8/3) at w = N/4. With weight N all
//! coefficients are ±1, so s = 2b − 1 for bits b of deviation 1/2, equivalent to the same factor. Every weight from N/4 to N counts as that
//! larger modulus.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use polyfabric_kernels::RingDegree;
use serde::Deserialize;

use super::secret::SecretDistribution;
use crate::estimates;
use crate::level::shown;

/// Sets with fewer bits of security are used only by name, with a warning.
pub const STANDARD_SECURITY_BITS: f64 = 128.0;

/// A security level and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// λ in bits against classical attacks; 0 if unknown.
    pub bits: f64,
    /// The table's row, or *unknown* and why.
    pub source: String,
}

impl Estimate {
    /// A warning for users of the set `name`, if its security is below 128 bits or unknown.
    pub fn warning(&self, name: &str) -> Option<String> {
        let (bits, source) = (self.bits, &self.source);
        let has = if bits == 0.0 {
            format!("unknown security ({source})")
        } else {
            let bits = shown(bits);
            format!("about {bits} bits of security ({source}), not {STANDARD_SECURITY_BITS}")
        };
        (bits < STANDARD_SECURITY_BITS).then(|| format!("parameter set {name} has {has}: use it for experiments only"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Uniform {
    level: f64,
    source: String,
    bounds: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sparse {
    ring_degree: usize,
    weight: usize,
    bound: f64,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    uniform: Vec<Uniform>,
    sparse: Vec<Sparse>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("security.toml")).expect("the committed table parses; a test checks this")
});

/// For degrees without rows at higher levels, this degree's ratios to the 128-bit bound are used.
const MODEL_DEGREE: usize = 1 << 15;

fn row(degree: usize, level: f64) -> Option<(&'static Uniform, f64)> {
    let rows = TABLE.uniform.iter().filter(|row| row.level == level);
    rows.filter_map(|row| row.bounds.get(&degree.to_string()).map(|&bound| (row, bound))).next()
}

/// (level, largest log2 modulus) of a degree by increasing level, and the first row's source; `None` without a row.
fn curve(degree: usize) -> Option<(Vec<(f64, f64)>, &'static str)> {
    let (first, bound) = row(degree, STANDARD_SECURITY_BITS)?;
    let mut points = vec![(STANDARD_SECURITY_BITS, bound)];
    for level in [192.0, 256.0] {
        let share = || Some(row(MODEL_DEGREE, level)?.1 / row(MODEL_DEGREE, STANDARD_SECURITY_BITS)?.1 * bound);
        points.push((level, row(degree, level).map(|(_, bound)| bound).or_else(share)?));
    }
    Some((points, &first.source))
}

/// (ring degree, secret, level, largest log2 of the modulus) of every row.
#[cfg(test)]
pub(crate) fn bounds() -> Vec<(usize, SecretDistribution, f64, f64)> {
    let uniform = TABLE.uniform.iter().flat_map(|row| {
        row.bounds.iter().map(|(degree, &bound)| {
            let degree = degree.parse().expect("a degree");
            (degree, SecretDistribution::UniformTernary, row.level, bound)
        })
    });
    let sparse = TABLE
        .sparse
        .iter()
        .map(|row| (row.ring_degree, SecretDistribution::SparseTernary(row.weight), STANDARD_SECURITY_BITS, row.bound));
    uniform.chain(sparse).collect()
}

/// log2 of the equivalent factor on the modulus for a secret of fixed weight from N/4 to N: ½·log2(8/3).
fn fixed_weight_log2() -> f64 {
    0.5 * (8.0f64 / 3.0).log2()
}

/// Largest log2 of Q·P at 128 bits, if a table covers degree and secret.
pub fn largest_log2_modulus(degree: RingDegree, secret: SecretDistribution) -> Option<f64> {
    match secret {
        SecretDistribution::SparseTernary(weight) if weight < degree.get() / 4 => {
            sparse_row(degree.get(), weight).map(|row| row.bound)
        }
        SecretDistribution::SparseTernary(_) => {
            row(degree.get(), STANDARD_SECURITY_BITS).map(|(_, bound)| bound - fixed_weight_log2())
        }
        SecretDistribution::UniformTernary | SecretDistribution::JointTernary(_) => {
            row(degree.get(), STANDARD_SECURITY_BITS).map(|(_, bound)| bound)
        }
    }
}

fn sparse_row(degree: usize, weight: usize) -> Option<&'static Sparse> {
    let rows = TABLE.sparse.iter().filter(|row| row.ring_degree == degree && row.weight <= weight);
    rows.max_by_key(|row| row.weight)
}

/// Security of RLWE of `degree` modulo 2^`log2_modulus` with secrets of `secret` and noise of deviation `sigma`.
///
/// The tables assume deviations of 3.19 and 3.2; less than 3.1 is not covered, and more counts as 3.2.
pub fn estimate(degree: RingDegree, log2_modulus: f64, secret: SecretDistribution, sigma: f64) -> Estimate {
    let unknown = |why: &str| Estimate { bits: 0.0, source: format!("unknown: {why}") };
    let Some((points, source)) = curve(degree.get()) else {
        return unknown("no table covers this ring degree");
    };
    if sigma < 3.1 {
        return unknown("the tables are for noise of deviation 3.19 and more");
    }
    match secret {
        SecretDistribution::SparseTernary(weight) if weight < degree.get() / 4 => {
            let Some(row) = sparse_row(degree.get(), weight) else {
                let Some(instance) = estimates::find_covering(degree.get(), secret, log2_modulus, sigma.log2()) else {
                    return unknown("no table covers secrets of this weight at this degree");
                };
                let (attack, bits) = instance.least();
                let modulus = instance.log2_modulus;
                let source = format!("the lattice estimator for logQP {modulus} (estimates.toml), attack {attack}");
                return Estimate { bits: bits.min(STANDARD_SECURITY_BITS), source };
            };
            // Maps this modulus to the uniform modulus at the same ratio to its bound.
            let bits = interpolate(&points, log2_modulus * points[0].1 / row.bound).min(STANDARD_SECURITY_BITS);
            Estimate { bits, source: row.source.clone() }
        }
        SecretDistribution::SparseTernary(_) => {
            let more = fixed_weight_log2();
            let Estimate { bits, source } = uniform_estimate(degree.get(), &points, source, log2_modulus + more);
            Estimate {
                bits,
                source: format!("{source}; a secret of fixed weight counts as a modulus {more:.2} bits larger"),
            }
        }
        SecretDistribution::UniformTernary => uniform_estimate(degree.get(), &points, source, log2_modulus),
        // All other parties' parts may be known.
        SecretDistribution::JointTernary(_) => estimate(degree, log2_modulus, secret.of_party(), sigma),
    }
}

/// Uniform secrets: the smaller of the published curve `points` and the estimate.
fn uniform_estimate(degree: usize, points: &[(f64, f64)], source: &str, log2_modulus: f64) -> Estimate {
    let bits = interpolate(points, log2_modulus);
    // Noise above that of the estimates counts as theirs.
    let (secret, noise) = (SecretDistribution::UniformTernary, estimates::STANDARD_NOISE_LOG2);
    let estimated = estimates::estimated(degree, secret, log2_modulus, noise);
    match estimated.or_else(|| estimates::at_most(degree, secret, log2_modulus, noise)) {
        Some(estimated) if estimated < bits => {
            let source = "the lattice estimator (estimates.toml), less than the published table".to_owned();
            Estimate { bits: estimated, source }
        }
        _ => Estimate { bits, source: source.to_owned() },
    }
}

/// λ at `log2_modulus` of the curve.
fn interpolate(points: &[(f64, f64)], log2_modulus: f64) -> f64 {
    let (highest, least) = points[points.len() - 1];
    if log2_modulus <= least {
        return highest;
    }
    // The last pair also serves below its lower end, the first above its upper end.
    let pair = points.windows(2).rfind(|pair| log2_modulus <= pair[0].1).unwrap_or(&points[..2]);
    let ((low, large), (high, small)) = (pair[0], pair[1]);
    let position = (large - log2_modulus) / (large - small);
    (low.recip() + position * (high.recip() - low.recip())).recip()
}

#[cfg(test)]
mod tests {
    //! Does the level follow the published tables, and decrease with the modulus and with sparsity?

    use super::*;

    fn degree(log2: u32) -> RingDegree {
        RingDegree::new(1 << log2).expect("a degree")
    }

    fn uniform(log2: u32, log2_modulus: f64) -> f64 {
        estimate(degree(log2), log2_modulus, SecretDistribution::UniformTernary, 3.2).bits
    }

    #[test]
    fn the_tables_values() {
        // The estimator matches the bounds of 2024, and gives up to 6 % less for those of 2018 at the higher levels.
        for (log2, bound) in [(10, 26.0), (11, 53.0), (12, 106.0), (13, 214.0), (14, 430.0), (15, 868.0), (16, 1747.0)]
        {
            assert!((uniform(log2, bound) - 128.0).abs() < 1e-3, "{log2}, {bound}: {}", uniform(log2, bound));
        }
        assert!((127.8..128.0).contains(&uniform(17, 3523.0)), "{}", uniform(17, 3523.0));
        for (log2, bound, level) in
            [(10, 19.0, 192.0), (12, 75.0, 192.0), (15, 611.0, 192.0), (12, 58.0, 256.0), (15, 476.0, 256.0)]
        {
            assert!((0.93 * level..level).contains(&uniform(log2, bound)), "{log2}, {bound}");
        }
        for (log2, weight, bound) in
            [(16, 192, 1553.0), (15, 192, 768.0), (14, 192, 390.0), (16, 32, 121.0), (16, 1024, 1630.0)]
        {
            let estimate = estimate(degree(log2), bound, SecretDistribution::SparseTernary(weight), 3.2);
            assert!((estimate.bits - 128.0).abs() < 1e-9, "{estimate:?}");
        }
    }

    /// The premise of the interpolation: λ·log Q / N is almost constant over all rows.
    #[test]
    fn rows_lie_on_a_hyperbola() {
        for log2 in 11..=15 {
            let (points, _) = curve(1 << log2).expect("a row");
            let constants: Vec<f64> =
                points.iter().map(|(level, bound)| level * bound / f64::from(1 << log2)).collect();
            assert!(constants.iter().all(|constant| (3.2..3.8).contains(constant)), "{log2}: {constants:?}");
        }
    }

    #[test]
    fn the_level_is_monotone() {
        for log2 in 10..=17 {
            let levels: Vec<f64> = (10..4_000).map(|modulus| uniform(log2, f64::from(modulus))).collect();
            assert!(levels.is_sorted_by(|a, b| a >= b), "{log2}");
        }
        for modulus in 13..=17 {
            let levels: Vec<f64> = (10..=17).map(|log2| uniform(log2, f64::from(modulus * 20))).collect();
            assert!(levels.is_sorted(), "{levels:?}");
        }
        let at = |weight| estimate(degree(16), 1_400.0, SecretDistribution::SparseTernary(weight), 3.2).bits;
        let levels: Vec<f64> = [16, 32, 100, 192, 500, 1024, 20_000].map(at).to_vec();
        assert!(levels.is_sorted(), "{levels:?}");
        assert_eq!(at(20_000), uniform(16, 1_400.0 + fixed_weight_log2()));
        assert_eq!(at(16), 0.0);
    }

    /// Secrets with N/4 to N coefficients ±1 are weaker than uniform ones, by their smaller deviation.
    #[test]
    fn a_fixed_weight_is_weaker_than_a_uniform_secret() {
        for weight in [512, 1_000, 2_048] {
            let secret = SecretDistribution::SparseTernary(weight);
            let fixed = estimate(degree(11), 53.0, secret, 3.2);
            assert!((120.0..128.0).contains(&fixed.bits) && fixed.bits < uniform(11, 53.0), "{weight}: {fixed:?}");
            assert!(
                fixed.source.ends_with("; a secret of fixed weight counts as a modulus 0.71 bits larger"),
                "{fixed:?}"
            );
            let bound = largest_log2_modulus(degree(11), secret).expect("a row");
            assert!((bound - 52.29).abs() < 0.01 && estimate(degree(11), bound, secret, 3.2).bits > 127.99, "{bound}");
        }
    }

    #[test]
    fn uncovered_problems_have_unknown_security() {
        assert!(estimate(degree(9), 20.0, SecretDistribution::UniformTernary, 3.2).source.starts_with("unknown"));
        assert!(estimate(degree(13), 200.0, SecretDistribution::UniformTernary, 1.0).source.starts_with("unknown"));
        let unknown = estimate(degree(13), 200.0, SecretDistribution::UniformTernary, 1.0).warning("mine");
        assert!(unknown.is_some_and(|text| text.contains("mine") && text.contains("unknown: ")));
        let weak = estimate(degree(13), 400.0, SecretDistribution::UniformTernary, 3.2).warning("mine");
        assert!(weak.is_some_and(|text| text.contains("mine") && text.contains("about")));
        assert_eq!(estimate(degree(13), 200.0, SecretDistribution::UniformTernary, 3.2).warning("mine"), None);
        assert!(estimate(degree(13), 200.0, SecretDistribution::SparseTernary(192), 3.2).source.starts_with("unknown"));
        // No row, but estimated: F1's bootstrapping with a secret of weight 64. Smaller moduli have at least as many bits.
        let estimated = |modulus| estimate(degree(14), modulus, SecretDistribution::SparseTernary(64), 3.2);
        assert!(estimated(822.0).bits < 70.0 && estimated(822.0).source.contains("lattice estimator"));
        assert_eq!(estimated(758.0).bits, estimated(822.0).bits);
        assert!(estimated(300.0).bits >= estimated(758.0).bits && estimated(300.0).bits <= 128.0);
        assert!(estimated(2_000.0).source.starts_with("unknown"));
    }
}
