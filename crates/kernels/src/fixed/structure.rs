//! Arrangement of a transform's stages: the position of the twist, and the products with twiddle factors between stages.

use super::error::FixedSpecError;
use serde::{Deserialize, Serialize};

/// Arrangement of a folded negacyclic transform of M complex points. All give the same points in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structure {
    /// Radix 2, with the twist merged into the butterflies' twiddle factors.
    #[default]
    Merged,
    /// A twist, then a cyclic transform in groups of `log2_radix` radix-2 stages (FPT, section 3.4: radix 2^4).
    Twisted {
        /// Stages of a group: k of radix 2^k.
        log2_radix: u32,
    },
}

/// Maximum stages of a group.
const MOST_STAGES: u32 = 8;

/// The rotation after one forward stage of a cyclic transform, which precedes the same stage of the inverse.
///
/// A transform of stages `first .. end` splits into those up to `stage` and those after it. Let K be the number formed by the output bits of the
/// former and R that of the input bits of the latter. Then the point in between is rotated by K R / 2^(end - first) of a full turn (Cooley and
/// Tukey). Groups of radix 2^k are split off first, and a group is halved recursively. So of the four stages of radix 2^4, only the last is followed
/// by general factors; inside there are quarter turns and sixteenths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// log2 M.
    log2_points: u32,
    /// First stage of the transform that splits here.
    first: u32,
    /// The stage that the rotation follows.
    stage: u32,
    /// One after the last stage.
    end: u32,
}

impl Rotation {
    /// Numerator and log2 of the denominator of the rotation of point `position`. A position's top bits are the input bits that no stage has consumed,
    /// its other bits those of the output, the first stage's highest.
    pub fn turn(&self, position: usize) -> (usize, u32) {
        let outputs = self.stage + 1 - self.first;
        let low = position & ((1 << outputs) - 1);
        let output = (0..outputs).fold(0, |sum, bit| sum << 1 | (low >> bit & 1));
        let input = position >> (self.log2_points + self.stage + 1 - self.end);
        (output * input, self.end - self.first)
    }

    /// Stages of the transform that splits here: factors are powers of a root of unity of order 2 to this power.
    pub fn order_log2(&self) -> u32 {
        self.end - self.first
    }

    /// Number of a position's output and input bits on which the factor depends.
    pub fn bits(&self) -> (u32, u32) {
        (self.stage + 1 - self.first, self.end - self.stage - 1)
    }

    /// Whether a rotation needs no product: a multiple of a quarter turn.
    pub fn is_trivial((numerator, log2): (usize, u32)) -> bool {
        (numerator << 2).is_multiple_of(1 << log2)
    }
}

impl Structure {
    pub(super) fn check(self) -> Result<(), FixedSpecError> {
        match self {
            Self::Twisted { log2_radix } if !(1..=MOST_STAGES).contains(&log2_radix) => {
                Err(FixedSpecError::Radix { log2_radix, most: MOST_STAGES })
            }
            _ => Ok(()),
        }
    }

    /// The rotation after forward stage `stage` of a transform of 2^`log2_points` points; `None` after the last, and where butterflies multiply.
    pub fn rotation(self, log2_points: u32, stage: u32) -> Option<Rotation> {
        let Self::Twisted { log2_radix } = self else { return None };
        if stage + 1 >= log2_points {
            return None;
        }
        let (mut first, mut end) = (0, log2_points);
        loop {
            let stages = end - first;
            let split = first + if stages > log2_radix { log2_radix } else { stages.div_ceil(2) };
            match split.cmp(&(stage + 1)) {
                std::cmp::Ordering::Equal => return Some(Rotation { log2_points, first, stage, end }),
                std::cmp::Ordering::Less => first = split,
                std::cmp::Ordering::Greater => end = split,
            }
        }
    }

    /// Share of the points that the rotation after forward stage `stage` multiplies.
    pub fn turned(self, log2_points: u32, stage: u32) -> f64 {
        self.rotation(log2_points, stage).map_or(0.0, |rotation| {
            let points = 1usize << log2_points;
            (0..points).filter(|&p| !Rotation::is_trivial(rotation.turn(p))).count() as f64 / points as f64
        })
    }
}
