//! Exact and quantised twiddle factors of a transform.

use super::structure::Structure;
use crate::fft::node_twiddle;

/// e^(2πi · `numerator` / 2^`log2`), with the angle reduced in integers to an eighth of a turn, so that trivial factors are exact.
pub(super) fn root((numerator, log2): (usize, u32)) -> (f64, f64) {
    let numerator = numerator & ((1 << log2) - 1);
    // In eighths: octant and remainder.
    let scaled = numerator << 3;
    let (octant, rest) = (scaled >> log2, scaled & ((1 << log2) - 1));
    let part = |rest: usize| (std::f64::consts::FRAC_PI_4 * rest as f64 / (1u64 << log2) as f64).sin_cos();
    let (sine, cosine) = part(if octant % 2 == 0 { rest } else { (1 << log2) - rest });
    match octant {
        0 => (cosine, sine),
        1 => (sine, cosine),
        2 => (-sine, cosine),
        3 => (-cosine, sine),
        4 => (-cosine, -sine),
        5 => (-sine, -cosine),
        6 => (sine, -cosine),
        _ => (cosine, -sine),
    }
}

/// `part` of a factor with `fraction_bits` fraction bits, in units of the last.
pub(super) fn quantised(part: f64, fraction_bits: u32) -> i64 {
    (part * (1i64 << fraction_bits) as f64).round() as i64
}

/// One value per twiddle factor, arranged as the stages multiply.
#[derive(Clone, Debug)]
pub(super) enum Factors<T> {
    /// M/2 per stage, for the points that its butterflies multiply.
    Merged(Vec<Vec<T>>),
    Twisted {
        /// M, before the first forward stage.
        twist: Vec<T>,
        /// M after each forward stage that is followed by a rotation.
        rotations: Vec<Option<Vec<T>>>,
    },
}

impl Factors<(f64, f64)> {
    /// Exact factors of a transform of M = `points`.
    pub fn exact(structure: Structure, points: usize) -> Self {
        let log2_points = points.ilog2();
        match structure {
            Structure::Merged => {
                let stages = (0..log2_points).map(|depth| {
                    let nodes: Vec<(f64, f64)> = (0..1usize << depth).map(|b| node_twiddle(depth, b)).collect();
                    (0..points / 2).map(|i| nodes[i & (nodes.len() - 1)]).collect()
                });
                Self::Merged(stages.collect())
            }
            Structure::Twisted { .. } => {
                // ζ = e^(iπ/2M).
                let twist = (0..points).map(|j| root((j, log2_points + 2))).collect();
                let rotation = |stage| {
                    let rotation = structure.rotation(log2_points, stage)?;
                    Some((0..points).map(|p| root(rotation.turn(p))).collect())
                };
                Self::Twisted { twist, rotations: (0..log2_points).map(rotation).collect() }
            }
        }
    }
}

impl<T> Factors<T> {
    /// Applies `of` to each factor.
    pub fn map<U>(&self, of: impl Fn(&T) -> U) -> Factors<U> {
        let each = |factors: &Vec<T>| factors.iter().map(&of).collect::<Vec<U>>();
        match self {
            Self::Merged(stages) => Factors::Merged(stages.iter().map(each).collect()),
            Self::Twisted { twist, rotations } => Factors::Twisted {
                twist: each(twist),
                rotations: rotations.iter().map(|rotation| rotation.as_ref().map(each)).collect(),
            },
        }
    }
}
