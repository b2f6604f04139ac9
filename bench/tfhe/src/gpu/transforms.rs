//! Butterflies of a transform in three number formats, each compared with the GPU's peak: would another format be faster?

use super::peaks::{PRODUCTS, Peaks, rate};
use polyfabric_runtime::gpu::{Device, GpuError, Launch, Source};
use serde::Serialize;
use std::f64::consts::PI;
use std::fmt;

/// Number format of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    Double,
    /// Words of 32 bits, with the scaling and the twiddle factors of FPT (section 3.4).
    Fixed,
    /// Sums of two f32.
    Split,
}

/// Butterflies in one number format.
#[derive(Clone, Debug, Serialize)]
pub struct Transform {
    pub arithmetic: Arithmetic,
    /// Butterflies per second of the whole GPU.
    pub butterflies: f64,
    /// Seconds of their operations at the GPU's measured peak, divided by the measured seconds.
    pub peak_share: f64,
    /// Largest error of a result, as a fraction of the norm of its 16 points, after [`Self::levels`] levels.
    pub error: f64,
    /// Bound of `error`.
    pub bound: f64,
    pub levels: u64,
}

const BLOCK: u32 = 256;
/// Blocks per multiprocessor: a multiple of the one to three that run at once.
const BLOCKS: u32 = 6;
/// Threads with different points; the others repeat these.
const LANES: usize = 32;
const POINTS: usize = 16;
/// Rounds of four levels per stretch; a kernel that does not scale each round scales after a stretch.
const STRETCH: u64 = 32;
/// Fraction bits of fixed-point data: points below 1 stay below 2^31 for √2 · √32 times their norm.
const DATA_FRACTION: i32 = 28;
/// Fraction bits of a factor of 28 bits, four fewer than the data, with a sign and one integer bit.
const FACTOR_FRACTION: i32 = 26;

type Complex = (f64, f64);
type Points = [Complex; POINTS];

impl Arithmetic {
    const ALL: [Self; 3] = [Self::Double, Self::Fixed, Self::Split];

    /// Seconds of one butterfly's operations on the whole GPU at `peaks`. In fixed point, only products count: additions and
    /// shifts have other units.
    fn butterfly_seconds(self, peaks: &Peaks) -> f64 {
        match self {
            Self::Double => 6.0 / peaks.multiply_adds,
            Self::Fixed => 4.0 / peaks.upper_halves,
            Self::Split => 76.0 / peaks.single_multiply_adds,
        }
    }

    /// Largest error of one level, as a fraction of the norm.
    fn error(self) -> f64 {
        let power = |exponent: i32| 2f64.powi(exponent);
        match self {
            // Three roundings of a sum, and the reference's error: sums of 16 in each round of four levels.
            Self::Double => 32.0 * power(-53),
            // Up to 1 1/2 units of data, for points whose norm is at least √32 times half the largest, and half a unit in both parts of a factor.
            Self::Fixed => 1.5 * 2.0 * power(-DATA_FRACTION) + power(-FACTOR_FRACTION),
            // Products of two low parts are dropped, and low parts are rounded about eight times.
            Self::Split => 16.0 * power(-48),
        }
    }

    fn bytes(self, value: f64, fixed: impl Fn(f64) -> i32) -> Vec<u8> {
        match self {
            Self::Double => value.to_ne_bytes().to_vec(),
            Self::Fixed => fixed(value).to_ne_bytes().to_vec(),
            Self::Split => {
                let high = value as f32;
                let low = (value - f64::from(high)) as f32;
                [high.to_ne_bytes(), low.to_ne_bytes()].concat()
            }
        }
    }

    fn numbers(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Self::Double => bytes.as_chunks().0.iter().map(|&number| f64::from_ne_bytes(number)).collect(),
            Self::Fixed => {
                let unit = 2f64.powi(-DATA_FRACTION);
                bytes.as_chunks().0.iter().map(|&number| f64::from(i32::from_ne_bytes(number)) * unit).collect()
            }
            Self::Split => {
                let parts = bytes.as_chunks().0.iter().map(|&part| f64::from(f32::from_ne_bytes(part)));
                parts.collect::<Vec<_>>().as_chunks().0.iter().map(|[high, low]| high + low).collect()
            }
        }
    }
}

/// The angle of the factor of block `block` of level `level`: x^m − v² splits into x^(m/2) − v and x^(m/2) + v, from x^16 − i on.
fn angle(level: u32, block: usize) -> f64 {
    match level {
        0 => PI / 4.0,
        _ => angle(level - 1, block / 2) / 2.0 + (block % 2) as f64 * PI / 2.0,
    }
}

/// Points below 1 that all three formats represent exactly.
fn inputs() -> Vec<Points> {
    let mut state = 1u64;
    let mut part = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 35) as f64 * 2f64.powi(-DATA_FRACTION) - 1.0
    };
    (0..LANES).map(|_| [(); POINTS].map(|()| (part(), part()))).collect()
}

/// Result of `rounds` rounds on `points`: each evaluates a polynomial at the 16 roots of x^16 − i and divides by 4.
fn reference(points: &Points, rounds: u64) -> Points {
    let power = |root: usize, j: usize| (j as f64 * (angle(3, root / 2) + (root % 2) as f64 * PI)).sin_cos();
    let matrix: Vec<[Complex; POINTS]> = (0..POINTS)
        .map(|root| {
            std::array::from_fn(|j| {
                let (sine, cosine) = power(root, j);
                (cosine / 4.0, sine / 4.0)
            })
        })
        .collect();
    (0..rounds).fold(*points, |points, _| {
        std::array::from_fn(|root| {
            points
                .iter()
                .zip(&matrix[root])
                .fold((0.0, 0.0), |(re, im), (a, b)| (re + a.0 * b.0 - a.1 * b.1, im + a.0 * b.1 + a.1 * b.0))
        })
    })
}

impl Transform {
    /// Measures all three formats on `device` and compares every result with the reference.
    pub fn measure<D: Device>(device: &D, peaks: &Peaks, stretches: u64) -> Result<Vec<Self>, GpuError> {
        let (inputs, rounds) = (inputs(), stretches * STRETCH);
        let expected: Vec<Points> = inputs.iter().map(|points| reference(points, rounds)).collect();
        let each = |arithmetic| Self::of(arithmetic, device, peaks, stretches, &inputs, &expected);
        Arithmetic::ALL.into_iter().map(each).collect()
    }

    fn of<D: Device>(
        arithmetic: Arithmetic,
        device: &D,
        peaks: &Peaks,
        stretches: u64,
        inputs: &[Points],
        expected: &[Points],
    ) -> Result<Self, GpuError> {
        let kernels = device.compile(&Source {
            definitions: vec![("ARITHMETIC", arithmetic as u64)],
            files: vec![PRODUCTS, ("transforms.cu", include_str!("transforms.cu"))],
            kernels: vec!["butterflies"],
        })?;
        let data = |value: f64| arithmetic.bytes(value, |value| (value * 2f64.powi(DATA_FRACTION)) as i32);
        let lanes: Vec<u8> = inputs.iter().flatten().flat_map(|&(re, im)| [data(re), data(im)].concat()).collect();
        let points = lanes.repeat(BLOCK as usize / LANES);
        let quantised =
            |value: f64| (value * 2f64.powi(FACTOR_FRACTION)).round() as i32 * (1 << (31 - FACTOR_FRACTION));
        let factor = |value: f64| arithmetic.bytes(value, quantised);
        let blocks_of = |level: u32| (0..1 << level).step_by(2).map(move |block| angle(level, block).sin_cos());
        let factors: Vec<u8> =
            (0..4).flat_map(blocks_of).flat_map(|(im, re)| [factor(re), factor(im)].concat()).collect();
        let blocks = device.multiprocessors() as u32 * BLOCKS;
        let mut results = vec![0; blocks as usize * points.len()];
        let (points, factors) = (device.upload(&points, "points")?, device.upload(&factors, "factors")?);
        let out = device.allocate(results.len(), "results")?;
        let launch = Launch { kernel: "butterflies", blocks, threads: BLOCK, shared_bytes: 0 };
        let arguments = [device.address(&out), device.address(&points), device.address(&factors), stretches];
        let levels = 4 * STRETCH * stretches;
        let work = f64::from(blocks * BLOCK) * (levels * POINTS as u64 / 2) as f64;
        // SAFETY: 16 points a thread, those of a block and of all blocks, and eight factors.
        let butterflies = rate(device, work, || unsafe { device.launch(&kernels, launch, &arguments) })?;
        device.download(&out, &mut results)?;
        let results = arithmetic.numbers(&results);
        let error = results.chunks_exact(2 * POINTS).zip(expected.iter().cycle()).map(|(points, expected)| {
            let norm = expected.iter().map(|(re, im)| re * re + im * im).sum::<f64>().sqrt();
            let parts = points.iter().zip(expected.iter().flat_map(|&(re, im)| [re, im]));
            // Infinities and NaN must fail.
            parts
                .map(|(got, part)| (got - part).abs() / norm)
                .fold(0.0, |most, off| if off <= most { most } else { off.min(f64::MAX) })
        });
        Ok(Self {
            arithmetic,
            butterflies,
            peak_share: butterflies * arithmetic.butterfly_seconds(peaks),
            error: error.fold(0.0, f64::max),
            bound: arithmetic.error() * levels as f64,
            levels,
        })
    }

    pub fn is_right(&self) -> bool {
        self.error <= self.bound
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arithmetic = match self.arithmetic {
            Arithmetic::Double => "f64",
            Arithmetic::Fixed => "32 bits in fixed point",
            Arithmetic::Split => "two f32",
        };
        write!(
            f,
            "{arithmetic}: {:.2} T butterflies per second, {:.1}% of the peak; error 2^{:.1} after {} levels, bound 2^{:.1}",
            self.butterflies / 1e12,
            self.peak_share * 100.0,
            self.error.log2(),
            self.levels,
            self.bound.log2()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_evaluates_at_the_roots_and_keeps_norms() {
        let norm = |points: &Points| points.iter().map(|(re, im)| re * re + im * im).sum::<f64>();
        for points in inputs() {
            let after = reference(&points, 3);
            assert!((norm(&after) / norm(&points) - 1.0).abs() < 1e-12);
        }
        // The polynomial x has the roots as values; their 16th powers are i.
        let mut x = [(0.0, 0.0); POINTS];
        x[1] = (1.0, 0.0);
        for (re, im) in reference(&x, 1) {
            let angle = 16.0 * im.atan2(re);
            assert!(angle.cos().abs() < 1e-12 && (angle.sin() - 1.0).abs() < 1e-12);
        }
    }
}
